"""The ordinal SVM, eq. (12): for each present stage one weight vector, with ordered thresholds.

f_{t′,t}(x) = wᵀx − Σ_{l=t′+1..t} b_l with b_l ≥ 0 for l > t′ + 1: parallel hyperplanes, as in Shashua and
Levin (2002), so that f falls with t. Nothing ties the weight vectors of different present stages to each
other.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from symscreen.multistage.options import positive
from symscreen.multistage.pairs import observed_pairs, stage_pairs
from symscreen.multistage.rivals.base import ChainRival
from symscreen.multistage.rivals.svm import linear_svm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen.multistage.rivals.encoding import Rows

    Values = NDArray[np.float64]

__all__ = ["OrdinalStageSVM"]


class OrdinalStageSVM(ChainRival):
    """Fit a support vector machine with ordered thresholds for each present stage.

    Parameters
    ----------
    stages, user, item, reached, class_weight, user_effects, item_effects, extra_features
        As for `MonotoneChainRecommender`.
    cost : float
        C > 0: ½(‖w‖² + ‖b‖²) + C Σ V(y f).
    random_state : int, RandomState or None
        Of the order in which the solver visits rows.

    Attributes
    ----------
    weights_ : float64 array, shape (T, D)
        w of each present stage.
    thresholds_ : float64 array, shape (P,)
        Σ b_l of each pair, which does not fall with t.
    stages_, pairs_, users_, items_
        As of `MonotoneChainRecommender`.

    Notes
    -----
    Where every row tells all later stages, the hinge loss orders the thresholds by itself. Where it does not,
    a step b_l that came out below 0 counts as 0.

    Examples
    --------
    >>> from symscreen.multistage import simulate_chains
    >>> made = simulate_chains(n_users=20, n_items=20, random_state=0)
    >>> f = OrdinalStageSVM(made.stages).fit(made.table).decision_function(made.table)
    >>> bool((f[:, 0] >= f[:, 1]).all())
    True
    """

    def __init__(
        self,
        stages: Sequence[str] = (),
        *,
        cost: float = 1.0,
        user: str = "user",
        item: str = "item",
        reached: str | None = None,
        class_weight: str | None = None,
        user_effects: bool = True,
        item_effects: bool = True,
        extra_features: str = "error",
        random_state: Any = None,
    ) -> None:
        self.stages = stages
        self.cost = cost
        self.user = user
        self.item = item
        self.reached = reached
        self.class_weight = class_weight
        self.user_effects = user_effects
        self.item_effects = item_effects
        self.extra_features = extra_features
        self.random_state = random_state

    def _learn(self, rows: Rows, outcomes: NDArray[np.int8], weights: Values) -> None:
        cost, rng = positive("cost", self.cost), check_random_state(self.random_state)
        last = outcomes.shape[1] - 1
        counted, pairs = observed_pairs(outcomes), stage_pairs(last)
        self.weights_ = np.zeros((last, rows.x.shape[1]))
        self.thresholds_ = np.zeros(len(pairs))
        for present in range(last):
            mine = [p for p, pair in enumerate(pairs) if pair[0] == present]
            row, place = np.nonzero(counted[:, mine])
            y = outcomes[row, present + 1 + place]
            by_class = weights[np.array(mine)[place], (y > 0).astype(np.int64)]
            learnt = _parallel(rows.x[row], place, len(mine), y, by_class, cost, rng)
            self.weights_[present], self.thresholds_[mine] = learnt

    def _scores(self, rows: Rows, pair: int) -> Values:
        present = stage_pairs(len(self.stages_) - 1)[pair][0]
        return np.asarray(rows.x @ self.weights_[present] - self.thresholds_[pair])


def _parallel(
    x: Any,
    place: NDArray[np.int64],
    later: int,
    y: NDArray[np.int8],
    weights: Values,
    cost: float,
    rng: np.random.RandomState,
) -> tuple[Values, Values]:
    """Fit w and the thresholds of all later stages; `place` says which stage a term is about."""
    from scipy.sparse import csr_array, hstack

    if len(np.unique(y)) < 2:
        return np.zeros(x.shape[1]), np.full(later, 1.0 if not len(y) or y[0] < 0 else -1.0)
    steps = -(np.arange(later) <= place[:, None]).astype(np.float64)
    learner = linear_svm(cost).set_params(fit_intercept=False, random_state=int(rng.randint(2**31)))
    with warnings.catch_warnings():  # a grid has ends at which iterations are not enough
        warnings.simplefilter("ignore", ConvergenceWarning)
        learner.fit(hstack([x, csr_array(steps)], format="csr"), y, sample_weight=weights)
    found = learner.coef_[0]
    b = found[x.shape[1] :].copy()
    b[1:] = np.maximum(b[1:], 0.0)
    return found[: x.shape[1]], np.cumsum(b)

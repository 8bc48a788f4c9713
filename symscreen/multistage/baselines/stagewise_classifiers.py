"""A linear support vector machine, by scikit-learn (liblinear).

One classifier for each pair of stages, eq. (11): nothing ties one to another.

Gradient boosting of few stages, by scikit-learn.

A network of rectified linear units, by scikit-learn.

The ordinal SVM, eq. (12): for each present stage one weight vector, with ordered thresholds.

f_{t′,t}(x) = wᵀx − Σ_{l=t′+1..t} b_l with b_l ≥ 0 for l > t′ + 1: parallel hyperplanes, as in Shashua and
Levin (2002), so that f falls with t. Nothing ties the weight vectors of different present stages to each
other.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from symscreen.multistage.baselines.base import ChainBaseline
from symscreen.multistage.option_checks import check_positive
from symscreen.targets.stages import list_stage_pairs, mask_observed_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.multistage.baselines.base import EncodedRows


__all__ = [
    "OrdinalStageSVM",
    "StagePairClassifier",
    "make_boosted_trees",
    "make_linear_svm",
    "make_relu_network",
]


def make_linear_svm(cost: float = 1.0) -> Any:
    """Make a linear SVM with the hinge loss.

    Parameters
    ----------
    cost : float
        C > 0: ½‖β‖² + C Σ V(y f).

    Returns
    -------
    LinearSVC
        Not fitted.

    Examples
    --------
    >>> make_linear_svm(0.5).C
    0.5
    """
    from sklearn.svm import LinearSVC

    return LinearSVC(C=cost, loss="hinge", dual=True)


class StagePairClassifier(ChainBaseline):
    """Fit a classifier of its own for each pair of stages.

    Parameters
    ----------
    stages, user, item, reached, class_weight, user_effects, item_effects, extra_features
        As for `MonotoneChainRecommender`. A learner that takes no weights is shown balanced classes by
        drawing rows of the smaller one again.
    learner : scikit-learn classifier, optional
        Cloned for each pair; `make_linear_svm()` by default.
    random_state : int, RandomState or None
        Of learners that have one, and of rows drawn again.

    Attributes
    ----------
    models_ : list
        One a pair: a fitted learner, or +1 or −1 where training showed no other class (−1 where it showed
        nothing).
    stages_, pairs_, users_, items_
        As of `MonotoneChainRecommender`.

    Examples
    --------
    >>> from symscreen.multistage import simulate_chains
    >>> made = simulate_chains(n_users=20, n_items=20, random_state=0)
    >>> model = StagePairClassifier(made.stages, learner=make_linear_svm(0.1)).fit(made.table)
    >>> model.predict(made.table[["user", "item"]]).shape, model.get_params()["learner__C"]
    ((400, 3), 0.1)
    """

    def __init__(
        self,
        stages: Sequence[str] = (),
        *,
        learner: Any = None,
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
        self.learner = learner
        self.user = user
        self.item = item
        self.reached = reached
        self.class_weight = class_weight
        self.user_effects = user_effects
        self.item_effects = item_effects
        self.extra_features = extra_features
        self.random_state = random_state

    def _fit_rows(self, rows: EncodedRows, outcomes: NDArray[np.int8], weights: Values) -> None:
        rng = check_random_state(self.random_state)
        counted = mask_observed_pairs(outcomes)
        self.models_ = []
        for p, (_, later) in enumerate(list_stage_pairs(outcomes.shape[1] - 1)):
            own = np.flatnonzero(counted[:, p])
            y = outcomes[own, later]
            self.models_.append(self._fit_pair(rows.x[own], y, weights[p, (y > 0).astype(np.int64)], rng))

    def _fit_pair(self, x: Any, y: NDArray[np.int8], weights: Values, rng: np.random.RandomState) -> Any:
        if len(np.unique(y)) < 2:
            return float(y[0]) if len(y) else -1.0
        learner = clone(make_linear_svm() if self.learner is None else self.learner)
        if "random_state" in learner.get_params():
            learner.set_params(random_state=int(rng.randint(2**31)))
        with warnings.catch_warnings():  # a grid has ends at which iterations are not enough
            warnings.simplefilter("ignore", ConvergenceWarning)
            if self.class_weight is None:
                return learner.fit(x, y)
            if has_fit_parameter(learner, "sample_weight"):
                return learner.fit(x, y, sample_weight=weights)
            drawn = _draw_balanced_rows(y, rng)
            return learner.fit(x[drawn], y[drawn])

    def _score_rows(self, rows: EncodedRows, pair: int) -> Values:
        model = self.models_[pair]
        if isinstance(model, float):
            return np.full(len(rows.user), model)
        if hasattr(model, "decision_function"):
            return np.asarray(model.decision_function(rows.x), dtype=np.float64)
        return np.asarray(model.predict_proba(rows.x)[:, 1] - 0.5, dtype=np.float64)


def _draw_balanced_rows(y: NDArray[np.int8], rng: np.random.RandomState) -> NDArray[np.int64]:
    """Draw rows of the smaller class again until both are as large."""
    classes = sorted((np.flatnonzero(y == sign) for sign in (-1, 1)), key=len)
    more = rng.choice(classes[0], size=len(classes[1]) - len(classes[0]))
    return np.sort(np.concatenate([*classes, more]))


def make_boosted_trees(feature_share: float = 1.0, *, n_rounds: int = 10) -> Any:
    """Make boosted trees as the paper has them: 10 stages, splits of 2 rows, leaves of 1.

    Parameters
    ----------
    share : float
        Of the features looked at for each split, in (0, 1].
    rounds : int
        Boosting stages.

    Returns
    -------
    GradientBoostingClassifier
        Not fitted; what the paper does not tell (depth 3, steps of 0.1) is as scikit-learn has it.

    Examples
    --------
    >>> make_boosted_trees(0.2).n_estimators
    10
    """
    from sklearn.ensemble import GradientBoostingClassifier

    return GradientBoostingClassifier(
        n_estimators=n_rounds, max_features=float(feature_share), min_samples_split=2, min_samples_leaf=1
    )


def make_relu_network(depth: int = 1, *, width: int = 32, epochs: int = 200) -> Any:
    """Make a ReLU network with layers of one width.

    Parameters
    ----------
    depth : int
        Hidden layers.
    width : int
        Units in each.
    epochs : int
        Rounds through the rows, at most.

    Returns
    -------
    MLPClassifier
        Not fitted; trained by Adam on the logistic loss, as scikit-learn has it.

    Examples
    --------
    >>> make_relu_network(3).hidden_layer_sizes
    (32, 32, 32)
    """
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier(hidden_layer_sizes=(width,) * depth, activation="relu", max_iter=epochs)


class OrdinalStageSVM(ChainBaseline):
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

    def _fit_rows(self, rows: EncodedRows, outcomes: NDArray[np.int8], weights: Values) -> None:
        cost, rng = check_positive("cost", self.cost), check_random_state(self.random_state)
        last = outcomes.shape[1] - 1
        counted, pairs = mask_observed_pairs(outcomes), list_stage_pairs(last)
        self.weights_ = np.zeros((last, rows.x.shape[1]))
        self.thresholds_ = np.zeros(len(pairs))
        for present in range(last):
            mine = [p for p, pair in enumerate(pairs) if pair[0] == present]
            row, place = np.nonzero(counted[:, mine])
            y = outcomes[row, present + 1 + place]
            by_class = weights[np.array(mine)[place], (y > 0).astype(np.int64)]
            learnt = _fit_parallel_hyperplanes(rows.x[row], place, len(mine), y, by_class, cost, rng)
            self.weights_[present], self.thresholds_[mine] = learnt

    def _score_rows(self, rows: EncodedRows, pair: int) -> Values:
        present = list_stage_pairs(len(self.stages_) - 1)[pair][0]
        return np.asarray(rows.x @ self.weights_[present] - self.thresholds_[pair])


def _fit_parallel_hyperplanes(
    x: Any,
    stage_index: NDArray[np.int64],
    n_later_stages: int,
    y: NDArray[np.int8],
    weights: Values,
    cost: float,
    rng: np.random.RandomState,
) -> tuple[Values, Values]:
    """Fit w and the thresholds of all later stages; `place` says which stage a term is about."""
    from scipy.sparse import csr_array, hstack

    if len(np.unique(y)) < 2:
        return np.zeros(x.shape[1]), np.full(n_later_stages, 1.0 if not len(y) or y[0] < 0 else -1.0)
    steps = -(np.arange(n_later_stages) <= stage_index[:, None]).astype(np.float64)
    learner = make_linear_svm(cost).set_params(fit_intercept=False, random_state=int(rng.randint(2**31)))
    with warnings.catch_warnings():  # a grid has ends at which iterations are not enough
        warnings.simplefilter("ignore", ConvergenceWarning)
        learner.fit(hstack([x, csr_array(steps)], format="csr"), y, sample_weight=weights)
    found = learner.coef_[0]
    b = found[x.shape[1] :].copy()
    b[1:] = np.maximum(b[1:], 0.0)
    return found[: x.shape[1]], np.cumsum(b)

"""One classifier for each pair of stages, eq. (11): nothing ties one to another."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from symscreen.multistage.pairs import observed_pairs, stage_pairs
from symscreen.multistage.rivals.base import ChainRival
from symscreen.multistage.rivals.svm import linear_svm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen.multistage.rivals.encoding import Rows

    Values = NDArray[np.float64]

__all__ = ["StagePairClassifier"]


class StagePairClassifier(ChainRival):
    """Fit a classifier of its own for each pair of stages.

    Parameters
    ----------
    stages, user, item, reached, class_weight, user_effects, item_effects, extra_features
        As for `MonotoneChainRecommender`. A learner that takes no weights is shown balanced classes by
        drawing rows of the smaller one again.
    learner : scikit-learn classifier, optional
        Cloned for each pair; `linear_svm()` by default.
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
    >>> model = StagePairClassifier(made.stages, learner=linear_svm(0.1)).fit(made.table)
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

    def _learn(self, rows: Rows, outcomes: NDArray[np.int8], weights: Values) -> None:
        rng = check_random_state(self.random_state)
        counted = observed_pairs(outcomes)
        self.models_ = []
        for p, (_, later) in enumerate(stage_pairs(outcomes.shape[1] - 1)):
            own = np.flatnonzero(counted[:, p])
            y = outcomes[own, later]
            self.models_.append(self._fitted(rows.x[own], y, weights[p, (y > 0).astype(np.int64)], rng))

    def _fitted(self, x: Any, y: NDArray[np.int8], weights: Values, rng: np.random.RandomState) -> Any:
        if len(np.unique(y)) < 2:
            return float(y[0]) if len(y) else -1.0
        learner = clone(linear_svm() if self.learner is None else self.learner)
        if "random_state" in learner.get_params():
            learner.set_params(random_state=int(rng.randint(2**31)))
        with warnings.catch_warnings():  # a grid has ends at which iterations are not enough
            warnings.simplefilter("ignore", ConvergenceWarning)
            if self.class_weight is None:
                return learner.fit(x, y)
            if has_fit_parameter(learner, "sample_weight"):
                return learner.fit(x, y, sample_weight=weights)
            drawn = _balanced(y, rng)
            return learner.fit(x[drawn], y[drawn])

    def _scores(self, rows: Rows, pair: int) -> Values:
        model = self.models_[pair]
        if isinstance(model, float):
            return np.full(len(rows.user), model)
        if hasattr(model, "decision_function"):
            return np.asarray(model.decision_function(rows.x), dtype=np.float64)
        return np.asarray(model.predict_proba(rows.x)[:, 1] - 0.5, dtype=np.float64)


def _balanced(y: NDArray[np.int8], rng: np.random.RandomState) -> NDArray[np.int64]:
    """Draw rows of the smaller class again until both are as large."""
    classes = sorted((np.flatnonzero(y == sign) for sign in (-1, 1)), key=len)
    more = rng.choice(classes[0], size=len(classes[1]) - len(classes[0]))
    return np.sort(np.concatenate([*classes, more]))

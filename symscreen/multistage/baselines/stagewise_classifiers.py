"""Baselines that classify pairs of stages: one scikit-learn classifier per pair, or ordinal SVMs.

`StagePairClassifier` fits an independent classifier for each pair of stages, eq. (11): a linear SVM, boosted
trees, a ReLU network or any other classifier.

`OrdinalStageSVM` fits, for each earlier stage t′, one weight vector with ordered thresholds, eq. (12)::

    f_{t′,t}(x) = wᵀx − Σ_{l=t′+1..t} b_l   with b_l ≥ 0 for l > t′ + 1

These are parallel hyperplanes as in Shashua and Levin (2002), so f decreases in t. The weight vectors of
different earlier stages are independent.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from symscreen._parameters import POSITIVE
from symscreen.multistage.base import ChainEstimator
from symscreen.targets.stages import list_stage_pairs, mask_observed_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._parameters import Constraints
    from symscreen._typing import Values
    from symscreen.multistage.base import TrainingRows
    from symscreen.multistage.entity_encoding import EncodedColumn, EncodedEntities, EntityEncoder


def make_linear_svm(cost: float = 1.0) -> Any:
    """Make a linear SVM with the hinge loss (liblinear).

    Parameters
    ----------
    cost : float
        C > 0 in ½‖β‖² + C Σ V(y f).

    Returns
    -------
    LinearSVC
        Unfitted classifier.

    Examples
    --------
    >>> make_linear_svm(0.5).C
    0.5
    """
    from sklearn.svm import LinearSVC

    return LinearSVC(C=cost, loss="hinge", dual=True)


def encode_one_hot(encoder: EntityEncoder, encoded: EncodedEntities) -> Any:
    """Encode users or items as numbers: 0 or 1 for each level, then the numerical features.

    Parameters
    ----------
    encoder : EntityEncoder
        Fitted encoder with the levels of d categorical variables, L_1 … L_d in number.
    encoded : EncodedEntities
        n users or items.

    Returns
    -------
    CSR matrix, shape (n, Σ L_h + p)
        Values in [0, 1]. A level unseen in training is all 0.

    Examples
    --------
    >>> from symscreen.multistage.entity_encoding import fit_entity_encoder
    >>> names, queries = (np.array(list(letters), dtype=object) for letters in ("ba", "abc"))
    >>> encoder, _ = fit_entity_encoder(
    ...     "user", names, None, name_column="user", has_name_effects=True, ignore_extra=False
    ... )
    >>> encode_one_hot(encoder, encoder.encode(queries, None)).toarray().tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    """
    from scipy.sparse import csr_array, hstack

    n = len(encoded.level_codes)
    parts = []
    for h, levels in enumerate(encoder.known_levels):
        rows = np.flatnonzero(encoded.level_codes[:, h] >= 0)
        cells = (rows, encoded.level_codes[rows, h])
        parts.append(csr_array((np.ones(len(rows)), cells), shape=(n, len(levels))))
    return hstack([*parts, csr_array(encoded.numeric)], format="csr")


def _stack_columns(matrices: list[Any]) -> Any:
    """Stack CSR matrices of R rows side by side."""
    from scipy.sparse import csr_array, hstack

    stacked = hstack(matrices, format="csr")
    # scikit-learn's trees accept only int32 indices
    indices, row_starts = stacked.indices.astype(np.int32), stacked.indptr.astype(np.int32)
    return csr_array((stacked.data, indices, row_starts), shape=stacked.shape)


@dataclass(eq=False, repr=False)
class OneHotEstimator(ChainEstimator):
    """Base class of baselines that learn from one-hot rows."""

    def _encode_training(self, rows: TrainingRows) -> Any:
        """Encode training rows as a CSR matrix (R, D)."""
        return _stack_columns(
            [
                encode_one_hot(rows.users, rows.users.encoded)[rows.user],
                encode_one_hot(rows.items, rows.items.encoded)[rows.item],
            ]
        )

    def _score_rows(self, users: EncodedColumn, items: EncodedColumn, pairs: list[int]) -> Values:
        """Score R rows for some pairs of stages, (R, pairs)."""
        x = _stack_columns(
            [
                encode_one_hot(self.users_, users.entities)[users.codes],
                encode_one_hot(self.items_, items.entities)[items.codes],
            ]
        )
        return np.stack([self._score_pair(x, p) for p in pairs], axis=1)

    @abstractmethod
    def _score_pair(self, x: Any, pair: int) -> Values:
        """Score one-hot rows (R, D) for one pair of stages, (R,)."""


@dataclass(eq=False, repr=False, kw_only=True)
class StagePairClassifier(OneHotEstimator):
    """An independent classifier for each pair of stages.

    Parameters
    ----------
    stages, user, item, reached, class_weight, user_effects, item_effects, extra_features
        See `MonotoneChainRecommender`. If the learner does not support weights, classes are balanced by
        resampling rows of the smaller class.
    learner : scikit-learn classifier, optional
        Cloned for each pair. Default: `make_linear_svm()`.
    random_state : int, RandomState or None
        Seed of the learners and of the resampling.

    Attributes
    ----------
    models_ : list
        One per pair: a fitted learner, or a constant if training had one class (+1 or −1) or no rows (−1).
    stages_, pairs_, users_, items_
        See `MonotoneChainRecommender`.

    Examples
    --------
    >>> from symscreen.multistage import simulate_chains
    >>> chains = simulate_chains(n_users=20, n_items=20, random_state=0)
    >>> model = StagePairClassifier(chains.stages, learner=make_linear_svm(0.1)).fit(chains.table)
    >>> model.predict(chains.table[["user", "item"]]).shape, model.get_params()["learner__C"]
    ((400, 3), 0.1)
    """

    learner: Any = None

    def _fit_rows(self, rows: TrainingRows) -> None:
        """Fit one classifier per pair of stages."""
        self._store_encoders(rows)
        x, outcomes, rng = self._encode_training(rows), rows.outcomes, check_random_state(self.random_state)
        observed = mask_observed_pairs(outcomes)
        self.models_ = []
        for p, (_, later) in enumerate(list_stage_pairs(outcomes.shape[1] - 1)):
            indices = np.flatnonzero(observed[:, p])
            y = outcomes[indices, later]
            weights = rows.weights[p, (y > 0).astype(np.int64)]
            self.models_.append(self._fit_pair(x[indices], y, weights, rng))

    def _fit_pair(self, x: Any, y: NDArray[np.int8], weights: Values, rng: np.random.RandomState) -> Any:
        """Fit one pair of stages to x (n, D), y (n,) and class weights (n,)."""
        if len(np.unique(y)) < 2:
            return float(y[0]) if len(y) else -1.0
        learner = clone(make_linear_svm() if self.learner is None else self.learner)
        if "random_state" in learner.get_params():
            learner.set_params(random_state=int(rng.randint(2**31)))
        with warnings.catch_warnings():  # the ends of a grid may not converge
            warnings.simplefilter("ignore", ConvergenceWarning)
            if self.class_weight is None:
                return learner.fit(x, y)
            if has_fit_parameter(learner, "sample_weight"):
                return learner.fit(x, y, sample_weight=weights)
            indices = _draw_balanced_rows(y, rng)
            return learner.fit(x[indices], y[indices])

    def _score_pair(self, x: Any, pair: int) -> Values:
        """Score R rows by the decision function, or the probability minus ½, (R,)."""
        model = self.models_[pair]
        if isinstance(model, float):
            return np.full(x.shape[0], model)
        if hasattr(model, "decision_function"):
            return np.asarray(model.decision_function(x), dtype=np.float64)
        return np.asarray(model.predict_proba(x)[:, 1] - 0.5, dtype=np.float64)


def _draw_balanced_rows(y: NDArray[np.int8], rng: np.random.RandomState) -> NDArray[np.int64]:
    """Resample rows of the smaller class until both classes have equal size; return row indices."""
    classes = sorted((np.flatnonzero(y == sign) for sign in (-1, 1)), key=len)
    extra = rng.choice(classes[0], size=len(classes[1]) - len(classes[0]))
    return np.sort(np.concatenate([*classes, extra]))


def make_boosted_trees(feature_share: float = 1.0, *, n_rounds: int = 10) -> Any:
    """Make boosted trees with the settings of the paper: 10 rounds, splits of ≥ 2 rows, leaves of ≥ 1 row.

    Parameters
    ----------
    feature_share : float
        Fraction of the features considered at each split, in (0, 1].
    n_rounds : int
        Number of boosting rounds.

    Returns
    -------
    GradientBoostingClassifier
        Unfitted classifier. Settings that the paper does not state (depth 3, learning rate 0.1) are the
        defaults of scikit-learn.

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
    """Make a ReLU network with hidden layers of equal width.

    Parameters
    ----------
    depth : int
        Number of hidden layers.
    width : int
        Units per layer.
    epochs : int
        Maximum number of epochs.

    Returns
    -------
    MLPClassifier
        Unfitted classifier, trained by Adam on the logistic loss (the defaults of scikit-learn).

    Examples
    --------
    >>> make_relu_network(3).hidden_layer_sizes
    (32, 32, 32)
    """
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier(hidden_layer_sizes=(width,) * depth, activation="relu", max_iter=epochs)


@dataclass(eq=False, repr=False, kw_only=True)
class OrdinalStageSVM(OneHotEstimator):
    """A support vector machine with ordered thresholds for each earlier stage.

    Parameters
    ----------
    stages, user, item, reached, class_weight, user_effects, item_effects, extra_features
        See `MonotoneChainRecommender`.
    cost : float
        C > 0 in ½(‖w‖² + ‖b‖²) + C Σ V(y f).
    random_state : int, RandomState or None
        Seed of the order in which the solver visits rows.

    Attributes
    ----------
    weights_ : float64 array, shape (T, D)
        Weight vector w of each earlier stage.
    thresholds_ : float64 array, shape (P,)
        Σ b_l of each pair. It never decreases in t.
    stages_, pairs_, users_, items_
        See `MonotoneChainRecommender`.

    Notes
    -----
    If all later stages of every row are observed, the hinge loss orders the thresholds. Otherwise a negative
    step b_l is set to 0.

    Examples
    --------
    >>> from symscreen.multistage import simulate_chains
    >>> chains = simulate_chains(n_users=20, n_items=20, random_state=0)
    >>> f = OrdinalStageSVM(chains.stages).fit(chains.table).decision_function(chains.table)
    >>> bool((f[:, 0] >= f[:, 1]).all())
    True
    """

    cost: float = 1.0

    _parameter_constraints: ClassVar[Constraints] = {
        "cost": [POSITIVE],
    }

    def _fit_rows(self, rows: TrainingRows) -> None:
        """Fit one weight vector with ordered thresholds per earlier stage, eq. (12)."""
        self._store_encoders(rows)
        x, outcomes, rng = self._encode_training(rows), rows.outcomes, check_random_state(self.random_state)
        last = outcomes.shape[1] - 1
        observed, pairs = mask_observed_pairs(outcomes), list_stage_pairs(last)
        self.weights_ = np.zeros((last, x.shape[1]))
        self.thresholds_ = np.zeros(len(pairs))
        for present in range(last):
            own_pairs = [p for p, pair in enumerate(pairs) if pair[0] == present]
            row, stage_index = np.nonzero(observed[:, own_pairs])
            y = outcomes[row, present + 1 + stage_index]
            row_weights = rows.weights[np.array(own_pairs)[stage_index], (y > 0).astype(np.int64)]
            fitted = _fit_parallel_hyperplanes(
                x[row], stage_index, len(own_pairs), y, row_weights, self.cost, rng
            )
            self.weights_[present], self.thresholds_[own_pairs] = fitted

    def _score_pair(self, x: Any, pair: int) -> Values:
        """Score R rows, (R,)."""
        present = list_stage_pairs(len(self.stages_) - 1)[pair][0]
        return np.asarray(x @ self.weights_[present] - self.thresholds_[pair])


def _fit_parallel_hyperplanes(
    x: Any,
    stage_index: NDArray[np.int64],
    n_later_stages: int,
    y: NDArray[np.int8],
    weights: Values,
    cost: float,
    rng: np.random.RandomState,
) -> tuple[Values, Values]:
    """Fit w (D,) and thresholds (n_later_stages,) to n terms; `stage_index` (n,) is their later stage."""
    from scipy.sparse import csr_array, hstack

    if len(np.unique(y)) < 2:
        return np.zeros(x.shape[1]), np.full(n_later_stages, 1.0 if not len(y) or y[0] < 0 else -1.0)
    steps = -(np.arange(n_later_stages) <= stage_index[:, None]).astype(np.float64)
    learner = make_linear_svm(cost).set_params(fit_intercept=False, random_state=int(rng.randint(2**31)))
    with warnings.catch_warnings():  # the ends of a grid may not converge
        warnings.simplefilter("ignore", ConvergenceWarning)
        learner.fit(hstack([x, csr_array(steps)], format="csr"), y, sample_weight=weights)
    coefficients = learner.coef_[0]
    b = coefficients[x.shape[1] :].copy()
    b[1:] = np.maximum(b[1:], 0.0)
    return coefficients[: x.shape[1]], np.cumsum(b)

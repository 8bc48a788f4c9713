"""Shared parts of the estimators of stage chains: reading tables, signs of scores, and error measures.

Predictions are an array of ±1 with one column per pair of stages (t′, t), in the order of `list_stage_pairs`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from symscreen._parameters import Learner
from symscreen.errors import DataError, InputError, OptionError
from symscreen.messages import escape_control_chars
from symscreen.multistage.chains import format_value, read_chains, read_known_outcomes, read_name_column
from symscreen.multistage.entity_encoding import fit_entity_encoder
from symscreen.multistage.factor_model import compute_class_weights, select_pairs
from symscreen.targets.stages import list_stage_pairs, mask_observed_pairs, parse_pair_weights

if TYPE_CHECKING:
    from typing import Self

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from symscreen._parameters import Constraints
    from symscreen._typing import Integers, Outcomes, Values
    from symscreen.multistage.chains import Chains
    from symscreen.multistage.entity_encoding import EncodedColumn, EntityEncoder


class Inconsistency(NamedTuple):
    """Counts of predictions that violate monotonicity, eq. (3)."""

    share: float  # fraction of rows with at least one violation
    rows: int  # number of such rows
    forward: int  # comparisons (t′, t), (t′, t + 1) where t + 1 is predicted and t is not
    backward: int  # comparisons (t′, t), (t′ + 1, t) where t is predicted from t′ and not from t′ + 1


class ErrorRates(NamedTuple):
    """Misclassification rates."""

    by_pair: Values  # (P,): NaN for a pair without observations
    overall: float  # over all observations of all pairs
    balanced_by_pair: Values  # (P,): mean of the rates of the two classes
    balanced: float  # mean of `balanced_by_pair` over the observed pairs


def count_inconsistencies(predicted: ArrayLike) -> Inconsistency:
    """Count predictions that contradict each other, eq. (3) of the paper.

    A row predicted to reach t + 1 from t′ must be predicted to reach t (forward). A row predicted to reach t
    from t′ must be predicted to reach t from t′ + 1 (backward).

    Parameters
    ----------
    predicted : array-like, shape (R, P)
        Predictions ±1, before any is set to −1 because its present stage was not reached.

    Returns
    -------
    Inconsistency
        Counts of violations and of rows.

    Raises
    ------
    DataError
        If the number of columns is not T(T + 1)/2 for an integer T, or an entry is not ±1.

    Examples
    --------
    >>> count_inconsistencies([[1, -1, 1], [-1, 1, 1], [1, 1, -1]])  # columns (0, 1), (0, 2), (1, 2)
    Inconsistency(share=0.6666666666666666, rows=2, forward=1, backward=1)
    """
    signs = _to_sign_array(predicted)
    columns = {pair: p for p, pair in enumerate(_find_pairs(signs))}
    is_inconsistent = np.zeros(len(signs), dtype=np.bool_)
    counts = [0, 0]
    for (present, later), p in columns.items():
        for direction, other in enumerate([(present, later - 1), (present + 1, later)]):
            if other in columns:
                violated = signs[:, p] > signs[:, columns[other]]  # eq. (3)
                is_inconsistent |= violated
                counts[direction] += int(violated.sum())
    n_rows = int(is_inconsistent.sum())
    return Inconsistency(n_rows / max(len(signs), 1), n_rows, *counts)


def compute_error_rates(predicted: ArrayLike, outcomes: ArrayLike) -> ErrorRates:
    """Compare predictions with outcomes, for the rows with Y_t′ = +1 and Y_t observed.

    Parameters
    ----------
    predicted : array-like, shape (R, P)
        Predictions ±1.
    outcomes : array-like, shape (R, T + 1)
        Outcomes Y: ±1, or 0 if missing.

    Returns
    -------
    ErrorRates
        Rates per pair and overall, plain and class-balanced.

    Raises
    ------
    DataError
        If the shapes do not match or an entry is invalid.

    Examples
    --------
    >>> y = np.array([[1, 1, -1], [1, -1, -1]], dtype=np.int8)
    >>> rates = compute_error_rates([[1, -1, 1], [1, -1, -1]], y)
    >>> rates.by_pair.tolist(), rates.overall
    ([0.5, 0.0, 1.0], 0.4)
    """
    signs = _to_sign_array(predicted)
    pairs = _find_pairs(signs)
    outcomes = _check_outcomes(outcomes)
    if outcomes.shape != (len(signs), pairs[-1][1] + 1):
        raise DataError(
            f"predictions of shape {signs.shape} and outcomes of shape {outcomes.shape} do not fit: "
            f"give {len(signs)} rows of {pairs[-1][1] + 1} stages"
        )
    observed = mask_observed_pairs(outcomes)
    truth = np.stack([outcomes[:, later] for _, later in pairs], axis=1)
    wrong = observed & (signs != truth)
    # class sizes, errors and error rates, (2, P)
    sizes = np.stack([(observed & (truth == sign)).sum(axis=0) for sign in (-1, 1)])
    errors = np.stack([(wrong & (truth == sign)).sum(axis=0) for sign in (-1, 1)])
    has_class = sizes > 0
    rates = np.where(has_class, errors / np.maximum(sizes, 1), 0.0)
    n_classes = has_class.sum(axis=0)
    total = sizes.sum(axis=0)
    by_pair = np.where(total > 0, errors.sum(axis=0) / np.maximum(total, 1), np.nan)
    balanced_by_pair = np.where(n_classes > 0, rates.sum(axis=0) / np.maximum(n_classes, 1), np.nan)
    overall = float(errors.sum() / total.sum()) if total.any() else float("nan")
    balanced = float(balanced_by_pair[n_classes > 0].mean()) if n_classes.any() else float("nan")
    return ErrorRates(by_pair, overall, balanced_by_pair, balanced)


def _to_sign_array(predicted: Any) -> NDArray[Any]:
    """Convert predictions to an array; raise DataError for ragged rows."""
    try:
        return np.asarray(predicted)
    except ValueError:  # numpy raises it for rows of different lengths
        raise DataError("rows of the predictions differ in length: give one column per pair") from None


def _check_outcomes(outcomes: Any) -> Outcomes:
    """Convert outcomes (R, T + 1) to int8; raise DataError for entries other than −1, 0 and +1."""
    try:
        values = np.asarray(outcomes)
    except ValueError:
        raise DataError("rows of the outcomes differ in length: give one column per stage") from None
    invalid = ~np.isin(values, (-1, 0, 1))
    if invalid.any():
        row = int(np.nonzero(invalid)[0][0])
        raise DataError(f"row {row + 1} of the outcomes holds a value other than −1, 0 and +1")
    return values.astype(np.int8)


def _find_pairs(signs: NDArray[np.generic]) -> list[tuple[int, int]]:
    """Return the pairs of stages of the columns of predictions (R, P), after checking the predictions."""
    if signs.ndim == 2:
        last = 1
        while last * (last + 1) // 2 < signs.shape[1]:
            last += 1
        if last * (last + 1) // 2 == signs.shape[1]:
            valid = np.isin(signs, (-1, 1)).all(axis=1)
            if not valid.all():
                row = int(np.flatnonzero(~valid)[0])
                raise DataError(f"row {row + 1} of the predictions holds a value other than −1 and +1")
            return list_stage_pairs(last)
    raise DataError(
        f"predictions have shape {signs.shape}: give one column for each pair of stages, T(T + 1)/2 columns"
    )


class TrainingRows(NamedTuple):
    """R rows: encoders, index of the user and of the item (R,), outcomes (R, T + 1), weights (P, 2)."""

    users: EntityEncoder
    items: EntityEncoder
    user: Integers
    item: Integers
    outcomes: Outcomes
    weights: Values
    stages: tuple[str, ...]


def compute_training_weights(chains: Chains, stage_weight: Any, class_weight: str | None) -> Values:
    """Compute w_{t′t} times the weights of Y_t = −1 and of Y_t = +1, shape (P, 2).

    Raises
    ------
    DataError
        If no row observes a stage, or none observes it after an earlier one.
    OptionError
        If the weights of stages are not valid.
    """
    weights = _read_stage_weights(stage_weight, chains.stages)
    for t, name in enumerate(chains.stages):
        if not chains.outcomes[:, t].any():
            raise DataError(
                f"nothing is observed at stage {escape_control_chars(name)!r}: "
                "leave the stage out, or give rows where it is observed"
            )
    observed = mask_observed_pairs(chains.outcomes)
    pairs = list_stage_pairs(len(chains.stages) - 1)
    for t, name in enumerate(chains.stages[1:], start=1):
        later_pairs = [p for p, (_, later) in enumerate(pairs) if later >= t and weights[p] > 0]
        stage_pairs = [p for p, (_, later) in enumerate(pairs) if later == t]
        if not observed[:, stage_pairs].any() or not (later_pairs and observed[:, later_pairs].any()):
            raise DataError(
                f"nothing is observed at stage {escape_control_chars(name)!r} for rows that reached an "
                "earlier one: leave the stage out, or give rows where it is observed"
            )
    by_class = compute_class_weights(chains.outcomes) if class_weight else np.ones((len(pairs), 2))
    return weights[:, None] * by_class


def _read_stage_weights(stage_weight: Any, stages: tuple[str, ...]) -> Values:
    """Parse w_{t′t} to an array (P,); report values that are not numbers as an OptionError."""
    try:
        return parse_pair_weights(stage_weight, stages)
    except InputError:
        raise
    except (TypeError, ValueError):  # numpy raises them for values that are not numbers
        raise OptionError(f"stage_weight is {format_value(stage_weight)}: give numbers ≥ 0") from None


@dataclass(eq=False, repr=False)
class ChainEstimator(Learner, ABC):
    """Base class of estimators of stage chains: `fit` reads and encodes a long table, `predict` signs scores.

    A subclass implements `_fit_rows` and `_score_rows`.
    """

    stages: Any = ()
    _: KW_ONLY
    user: str = "user"
    item: str = "item"
    reached: str | None = None
    class_weight: str | None = None
    user_effects: bool = True
    item_effects: bool = True
    extra_features: str = "error"
    random_state: Any = None

    _parameter_constraints: ClassVar[Constraints] = {
        "class_weight": [StrOptions({"balanced"}), None],
        "user_effects": ["boolean"],
        "item_effects": ["boolean"],
        "extra_features": [StrOptions({"error", "ignore"})],
    }

    def fit(
        self,
        X: pd.DataFrame,  # noqa: N803  # scikit-learn's name
        y: None = None,  # noqa: ARG002
        *,
        user_features: pd.DataFrame | None = None,
        item_features: pd.DataFrame | None = None,
    ) -> Self:
        """Fit the model to a long table.

        Parameters
        ----------
        X : data frame
            One row for each meeting of a user with an item; see `read_chains`.
        y : None
            Ignored. The stages are columns of `X`.
        user_features, item_features : data frame, optional
            One row per user or item of the table. The names are in a column with the same name as in `X`, or
            in the index. Numbers are numerical features, all other columns are categorical.

        Returns
        -------
        ChainEstimator
            The fitted estimator.

        Raises
        ------
        InputError
            If the table, the features or an option is invalid. The message names the first such row.
        """
        chains = self._read_table(X)
        self._validate_params()
        weights = compute_training_weights(chains, getattr(self, "stage_weight", "all"), self.class_weight)
        sides = (
            ("user", chains.users, user_features, self.user, self.user_effects),
            ("item", chains.items, item_features, self.item, self.item_effects),
        )
        (users, user), (items, item) = (
            fit_entity_encoder(
                kind,
                names,
                features,
                name_column=column,
                has_name_effects=has_effects,
                ignore_extra=self.extra_features == "ignore",
            )
            for kind, names, features, column, has_effects in sides
        )
        # sort the rows, so that their order in the table does not matter
        order = np.lexsort((*chains.outcomes.T[::-1], item, user))
        self._fit_rows(
            TrainingRows(
                users, items, user[order], item[order], chains.outcomes[order], weights, chains.stages
            )
        )
        return self

    def decision_function(
        self,
        X: pd.DataFrame,  # noqa: N803  # scikit-learn's name
        *,
        present: Any = None,
        stage: Any = None,
        user_features: pd.DataFrame | None = None,
        item_features: pd.DataFrame | None = None,
    ) -> Values:
        """Compute the scores f_{t′,t}, eq. (8).

        Parameters
        ----------
        X : data frame
            Table with the columns of users and items, R rows.
        present, stage : str or int, optional
            Earlier stage t′ and later stage t, by name or index from 0. Default: all.
        user_features, item_features : data frame, optional
            Features of users and items unseen in training.

        Returns
        -------
        float64 array, shape (R, P), or (R,) if both stages are given
            One column per selected pair, in the order of `pairs_`.

        Raises
        ------
        InputError
            If a new user or item has no features, or a stage is unknown.
        """
        check_is_fitted(self)
        pairs = select_pairs(present, stage, self.stages_)
        scores = self._score_rows(
            self.users_.encode_column(read_name_column(X, self.user), user_features),
            self.items_.encode_column(read_name_column(X, self.item), item_features),
            pairs,
        )
        return scores if present is None or stage is None else scores[:, 0]

    @abstractmethod
    def _fit_rows(self, rows: TrainingRows) -> None:
        """Fit to training rows in canonical order; set the fitted attributes."""

    @abstractmethod
    def _score_rows(self, users: EncodedColumn, items: EncodedColumn, pairs: list[int]) -> Values:
        """Score R rows for some pairs of stages, (R, pairs)."""

    def predict(
        self,
        X: pd.DataFrame,  # noqa: N803  # scikit-learn's name
        *,
        present: Any = None,
        stage: Any = None,
        user_features: pd.DataFrame | None = None,
        item_features: pd.DataFrame | None = None,
    ) -> Outcomes:
        """Predict whether later stages are reached.

        Parameters
        ----------
        X, present, stage, user_features, item_features
            See `decision_function`. If `X` has the column of a present stage, and a row did not reach that
            stage or an earlier one, the predictions from that stage are −1.

        Returns
        -------
        int8 array, shape (R, P), or (R,) if both stages are given
            +1 where f > 0, else −1.

        Raises
        ------
        InputError
            See `decision_function`; also if the stages in `X` violate the order of the chain.
        """
        features = {"user_features": user_features, "item_features": item_features}
        f = self.decision_function(X, present=present, stage=stage, **features)
        signs = np.where(f > 0, 1, -1).astype(np.int8)
        known = read_known_outcomes(X, self.stages_, self.reached)
        for column, p in enumerate(select_pairs(present, stage, self.stages_)):
            start = list_stage_pairs(len(self.stages_) - 1)[p][0]
            predictions = signs if signs.ndim == 1 else signs[:, column]
            predictions[known[:, start] == -1] = -1
        return signs

    def score(
        self,
        X: pd.DataFrame,  # noqa: N803  # scikit-learn's name
        y: None = None,  # noqa: ARG002
        *,
        user_features: pd.DataFrame | None = None,
        item_features: pd.DataFrame | None = None,
    ) -> float:
        """Return 1 minus the misclassification error over all pairs of stages.

        The error is class-balanced if `class_weight` is "balanced".

        Parameters
        ----------
        X : data frame
            Long table; see `fit`.
        y : None
            Ignored. The stages are columns of `X`.
        user_features, item_features : data frame, optional
            See `decision_function`.

        Returns
        -------
        float
            Score in [0, 1].

        Raises
        ------
        InputError
            See `decision_function`; also if no row has an observed stage after a reached one.
        """
        outcomes = self._read_table(X).outcomes
        if not mask_observed_pairs(outcomes).any():
            raise DataError("no row has an observed stage after a reached one: give rows that have")
        predicted = self.predict(X, user_features=user_features, item_features=item_features)
        errors = compute_error_rates(predicted, outcomes)
        return 1.0 - (errors.balanced if self.class_weight == "balanced" else errors.overall)

    def _read_table(self, table: pd.DataFrame) -> Chains:
        """Read a long table of R rows with the columns that the parameters name."""
        return read_chains(table, stages=self.stages, user=self.user, item=self.item, reached=self.reached)

    def _store_encoders(self, rows: TrainingRows) -> None:
        """Set the fitted attributes that all estimators of chains share."""
        self.stages_, self.users_, self.items_ = rows.stages, rows.users, rows.items
        self.pairs_ = [(rows.stages[a], rows.stages[b]) for a, b in list_stage_pairs(len(rows.stages) - 1)]
        self.n_features_in_ = sum(
            len(encoder.numeric_names) + len(encoder.categorical_names)
            for encoder in (rows.users, rows.items)
        )

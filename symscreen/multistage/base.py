"""What predictions for all pairs of stages are worth: do they contradict themselves, and how often they err.

Predictions are an array of ±1 with one column a pair (t′, t), in the order of `list_stage_pairs`.

What every estimator of chains shares: its table, predictions as signs of scores, and their error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from symscreen.errors import DataError
from symscreen.multistage.chains import Chains, read_chains, read_known_outcomes
from symscreen.multistage.factor_model import select_pairs
from symscreen.targets.stages import list_stage_pairs, mask_observed_pairs

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from symscreen._typing import Outcomes, Values

    Signs = NDArray[np.int8]

__all__ = ["ChainEstimator", "ErrorRates", "Inconsistency", "compute_error_rates", "count_inconsistencies"]


class Inconsistency(NamedTuple):
    """How many predictions break monotonicity, eq. (3)."""

    share: float  # of the rows: those with at least one contradiction
    rows: int
    forward: int  # comparisons (t′, t), (t′, t + 1) of which only the later stage is predicted
    backward: int  # comparisons (t′, t), (t′ + 1, t) of which only the earlier start predicts t


class ErrorRates(NamedTuple):
    """Shares of wrong predictions."""

    by_pair: Values  # (P,): NaN where a pair was never observed
    overall: float  # of all observations of all pairs
    balanced_by_pair: Values  # (P,): the mean over the two classes
    balanced: float  # the mean over pairs of the balanced ones


def count_inconsistencies(predicted: ArrayLike) -> Inconsistency:
    """Count predictions that contradict each other, eq. (3) of the paper.

    Whoever is predicted to reach t + 1 from t′ must be predicted to reach t (forward); whoever is predicted
    to reach t from t′ must be predicted to do so from t′ + 1, having come further (backward).

    Parameters
    ----------
    predicted : array-like, shape (R, P)
        Signs, ±1, before anything is set to −1 because its present stage was not reached.

    Returns
    -------
    Inconsistency
        Counts, and the share of rows.

    Raises
    ------
    TableError
        If columns are no P = T(T + 1)/2, or an entry is no sign.

    Examples
    --------
    >>> inconsistency([[1, -1, 1], [-1, 1, 1], [1, 1, -1]])  # columns (0, 1), (0, 2), (1, 2)
    Inconsistency(share=0.6666666666666666, rows=2, forward=1, backward=1)
    """
    signs = _to_sign_array(predicted)
    pairs = _find_pairs(signs)
    place = {pair: p for p, pair in enumerate(pairs)}
    broken = np.zeros(len(signs), dtype=np.bool_)
    counts = [0, 0]
    for (present, later), p in place.items():
        for kind, other in enumerate([(present, later - 1), (present + 1, later)]):
            if other in place:
                worse = signs[:, p] > signs[:, place[other]]
                broken |= worse
                counts[kind] += int(worse.sum())
    rows = int(broken.sum())
    return Inconsistency(rows / max(len(signs), 1), rows, *counts)


def compute_error_rates(predicted: ArrayLike, outcomes: ArrayLike) -> ErrorRates:
    """Compare predictions with outcomes, where Y_t′ = +1 and Y_t is observed.

    Parameters
    ----------
    predicted : array-like, shape (R, P)
        Signs, ±1.
    outcomes : array-like, shape (R, T + 1)
        Y: ±1, or 0 where missing.

    Returns
    -------
    Errors
        For each pair and overall, plain and class-balanced.

    Raises
    ------
    TableError
        If the two do not fit, or an entry has no meaning.

    Examples
    --------
    >>> y = np.array([[1, 1, -1], [1, -1, -1]], dtype=np.int8)
    >>> found = compute_error_rates([[1, -1, 1], [1, -1, -1]], y)
    >>> found.pairs.tolist(), found.overall
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
    counted = mask_observed_pairs(outcomes)
    truth = np.stack([outcomes[:, later] for _, later in pairs], axis=1)
    wrong = counted & (signs != truth)
    # rates of the two classes, (2, P)
    sizes = np.stack([(counted & (truth == sign)).sum(axis=0) for sign in (-1, 1)])
    errors = np.stack([(wrong & (truth == sign)).sum(axis=0) for sign in (-1, 1)])
    seen = sizes > 0
    rates = np.where(seen, errors / np.maximum(sizes, 1), 0.0)
    several = seen.sum(axis=0)
    total = sizes.sum(axis=0)
    plain = np.where(total > 0, errors.sum(axis=0) / np.maximum(total, 1), np.nan)
    balanced = np.where(several > 0, rates.sum(axis=0) / np.maximum(several, 1), np.nan)
    every = float(errors.sum() / total.sum()) if total.any() else float("nan")
    mean = float(balanced[several > 0].mean()) if several.any() else float("nan")
    return ErrorRates(plain, every, balanced, mean)


def _to_sign_array(predicted: Any) -> NDArray[Any]:
    try:
        return np.asarray(predicted)
    except ValueError:  # numpy's word for rows of different lengths
        raise DataError("rows of the predictions differ in length: give one column for each pair") from None


def _check_outcomes(outcomes: Any) -> Outcomes:
    try:
        found = np.asarray(outcomes)
    except ValueError:
        raise DataError("rows of the outcomes differ in length: give one column for each stage") from None
    wrong = ~np.isin(found, (-1, 0, 1))
    if wrong.any():
        row = int(np.nonzero(wrong)[0][0])
        raise DataError(f"row {row + 1} of the outcomes holds something else than −1, 0 and +1")
    return found.astype(np.int8)


def _find_pairs(signs: NDArray[np.generic]) -> list[tuple[int, int]]:
    if signs.ndim == 2:
        last = 1
        while last * (last + 1) // 2 < signs.shape[1]:
            last += 1
        if last * (last + 1) // 2 == signs.shape[1]:
            if not np.isin(signs, (-1, 1)).all():
                row = int(np.flatnonzero(~np.isin(signs, (-1, 1)).all(axis=1))[0])
                raise DataError(f"row {row + 1} of the predictions holds something else than −1 and +1")
            return list_stage_pairs(last)
    raise DataError(
        f"predictions have shape {signs.shape}: give one column for each pair of stages, T(T + 1)/2 of them"
    )


class ChainEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """The part of an estimator that comes after its scores f_{t′,t}.

    A subclass has the parameters `stages`, `user`, `item`, `reached` and `class_weight`, and the methods
    `fit`, which sets `stages_`, and `decision_function`.
    """

    stages: Any
    user: str
    item: str
    reached: str | None
    class_weight: str | None
    stages_: tuple[str, ...]

    def decision_function(
        self,
        X: pd.DataFrame,  # noqa: N803  # scikit-learn's name
        *,
        present: Any = None,
        stage: Any = None,
        user_features: pd.DataFrame | None = None,
        item_features: pd.DataFrame | None = None,
    ) -> Values:
        """Compute f_{t′,t}: a subclass says how."""
        raise NotImplementedError

    def predict(
        self,
        X: pd.DataFrame,  # noqa: N803  # scikit-learn's name
        *,
        present: Any = None,
        stage: Any = None,
        user_features: pd.DataFrame | None = None,
        item_features: pd.DataFrame | None = None,
    ) -> Signs:
        """Predict whether later stages are reached.

        Parameters
        ----------
        X, present, stage, user_features, item_features
            As for `decision_function`. Where the table has the column of a present stage and says that it was
            not reached, or that one before it was not, no later one is.

        Returns
        -------
        int8 array, shape (R, P), or (R,) if both stages are given
            +1 where f > 0, else −1.

        Raises
        ------
        InputError
            As `decision_function` does, and if what the table tells of stages breaks the chain.
        """
        given = {"user_features": user_features, "item_features": item_features}
        f = self.decision_function(X, present=present, stage=stage, **given)
        signs = np.where(f > 0, 1, -1).astype(np.int8)
        known = read_known_outcomes(X, self.stages_, self.reached)
        for column, p in enumerate(select_pairs(present, stage, self.stages_)):
            start = list_stage_pairs(len(self.stages_) - 1)[p][0]
            target = signs if signs.ndim == 1 else signs[:, column]
            target[known[:, start] == -1] = -1
        return signs

    def score(
        self,
        X: pd.DataFrame,  # noqa: N803  # scikit-learn's name
        y: None = None,  # noqa: ARG002
        *,
        user_features: pd.DataFrame | None = None,
        item_features: pd.DataFrame | None = None,
    ) -> float:
        """Return 1 less the misclassification error over all pairs, class-balanced if the fit was.

        Parameters
        ----------
        X : data frame
            As for `fit`.
        y : None
            Not used.
        user_features, item_features : data frame, optional
            As for `decision_function`.

        Returns
        -------
        float
            In [0, 1].

        Raises
        ------
        InputError
            As `decision_function` does, and if the table tells of no stage after one that was reached.
        """
        outcomes = self._read_table(X).outcomes
        if not mask_observed_pairs(outcomes).any():
            raise DataError("the rows tell of no stage after one that was reached: give rows that do")
        predicted = self.predict(X, user_features=user_features, item_features=item_features)
        errors = compute_error_rates(predicted, outcomes)
        return 1.0 - (errors.balanced if self.class_weight == "balanced" else errors.overall)

    def _read_table(self, table: pd.DataFrame) -> Chains:
        return read_chains(table, stages=self.stages, user=self.user, item=self.item, reached=self.reached)

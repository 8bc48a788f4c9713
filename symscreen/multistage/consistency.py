"""What predictions for all pairs of stages are worth: do they contradict themselves, and how often they err.

Predictions are an array of ±1 with one column a pair (t′, t), in the order of `stage_pairs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from symscreen.errors import TableError
from symscreen.multistage.pairs import observed_pairs, stage_pairs

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Values = NDArray[np.float64]
    Outcomes = NDArray[np.int8]

__all__ = ["Errors", "Inconsistency", "inconsistency", "misclassification"]


class Inconsistency(NamedTuple):
    """How many predictions break monotonicity, eq. (3)."""

    share: float  # of the rows: those with at least one contradiction
    rows: int
    forward: int  # comparisons (t′, t), (t′, t + 1) of which only the later stage is predicted
    backward: int  # comparisons (t′, t), (t′ + 1, t) of which only the earlier start predicts t


class Errors(NamedTuple):
    """Shares of wrong predictions."""

    pairs: Values  # (P,): NaN where a pair was never observed
    overall: float  # of all observations of all pairs
    balanced_pairs: Values  # (P,): the mean over the two classes
    balanced: float  # the mean over pairs of the balanced ones


def inconsistency(predicted: ArrayLike) -> Inconsistency:
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
    signs = _signs(predicted)
    pairs = _pairs_of(signs)
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


def misclassification(predicted: ArrayLike, outcomes: ArrayLike) -> Errors:
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
    >>> found = misclassification([[1, -1, 1], [1, -1, -1]], y)
    >>> found.pairs.tolist(), found.overall
    ([0.5, 0.0, 1.0], 0.4)
    """
    signs = _signs(predicted)
    pairs = _pairs_of(signs)
    outcomes = _outcomes(outcomes)
    if outcomes.shape != (len(signs), pairs[-1][1] + 1):
        raise TableError(
            f"predictions of shape {signs.shape} and outcomes of shape {outcomes.shape} do not fit: "
            f"give {len(signs)} rows of {pairs[-1][1] + 1} stages"
        )
    counted = observed_pairs(outcomes)
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
    return Errors(plain, every, balanced, mean)


def _signs(predicted: Any) -> NDArray[Any]:
    try:
        return np.asarray(predicted)
    except ValueError:  # numpy's word for rows of different lengths
        raise TableError("rows of the predictions differ in length: give one column for each pair") from None


def _outcomes(given: Any) -> Outcomes:
    try:
        found = np.asarray(given)
    except ValueError:
        raise TableError("rows of the outcomes differ in length: give one column for each stage") from None
    wrong = ~np.isin(found, (-1, 0, 1))
    if wrong.any():
        row = int(np.nonzero(wrong)[0][0])
        raise TableError(f"row {row + 1} of the outcomes holds something else than −1, 0 and +1")
    return found.astype(np.int8)


def _pairs_of(signs: NDArray[np.generic]) -> list[tuple[int, int]]:
    if signs.ndim == 2:
        last = 1
        while last * (last + 1) // 2 < signs.shape[1]:
            last += 1
        if last * (last + 1) // 2 == signs.shape[1]:
            if not np.isin(signs, (-1, 1)).all():
                row = int(np.flatnonzero(~np.isin(signs, (-1, 1)).all(axis=1))[0])
                raise TableError(f"row {row + 1} of the predictions holds something else than −1 and +1")
            return stage_pairs(last)
    raise TableError(
        f"predictions have shape {signs.shape}: give one column for each pair of stages, T(T + 1)/2 of them"
    )

"""The best subset of every size: exchanges find a good one, branch and bound proves it best or beats it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.statistics.branch_and_bound import search_subsets
from symscreen.statistics.stepwise import TIE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["BestSubsets", "best_subsets"]


@dataclass(frozen=True, eq=False)
class BestSubsets:
    """The best models of size 0, 1, ….

    Parameters
    ----------
    models : tuple of int64 arrays
        The features of each model, ascending, by size from 0.
    rss : float64 array, shape (sizes,)
        As a share of the response's sum of squares.
    proven : int
        Models of up to this size are proven best; those of larger sizes are the best found.
    work : int
        Nodes visited; one that needed dual vectors anew counts once more for each of its free features.
    """

    models: tuple[Whole, ...]
    rss: Values
    proven: int
    work: int


def best_subsets(
    features: Values, target: Values, most: int, tolerance: Values, floor: float, budget: int
) -> BestSubsets:
    """Find the linearly independent set of features with the least RSS, for every size.

    Parameters
    ----------
    features : float64 array, shape (q, n)
        Of mean 0 and mean square 1, or all zero.
    target : float64 array, shape (n,)
        Of mean 0 and mean square 1.
    most : int
        The largest size.
    tolerance : float64 array, shape (q,)
        How short a rest puts a feature in the span of others (`stepwise.span_tolerance`).
    floor : float
        RSS from which down nothing is left to explain: larger sizes are not tried.
    budget : int
        The most `work` to do, over all sizes; beyond it models are the best found so far. Below 0, nothing
        is searched, and models are those that no single exchange betters.

    Returns
    -------
    BestSubsets
        Fewer sizes than `most` where no more features are independent, or the floor is reached. Of models
        whose RSS is equal to 12 digits, one in which no member can be exchanged for an earlier feature.

    Examples
    --------
    >>> x = np.array([[1.0, 1.0, -1.0, -1.0], [1.0, -1.0, 1.0, -1.0], [1.0, -1.0, -1.0, 1.0]])
    >>> y = np.array([3.0, -1.0, -1.0, -1.0]) / 3**0.5
    >>> found = best_subsets(x, y, 2, np.full(3, 1e-7), 1e-24, 1000)
    >>> [model.tolist() for model in found.models], found.rss.round(6).tolist()
    ([[], [0], [0, 1]], [1.0, 0.666667, 0.333333])
    """
    vectors, aim = _coordinates(features, target)
    distinct = _distinct(vectors, tolerance)
    vectors, tolerance = np.ascontiguousarray(vectors[:, distinct]), tolerance[distinct]
    models, rss = [np.empty(0, dtype=np.int64)], [float(aim @ aim)]
    proven = work = 0
    while len(models) <= most and rss[-1] > floor:
        start = _extended(vectors, aim, models[-1], tolerance)
        if start.size < len(models):
            break
        model, least = _exchanged(vectors, aim, start, tolerance)
        if least > floor and work <= budget:
            work += search_subsets(vectors, aim, tolerance, least, model, budget - work)
        if work <= budget:
            proven = len(models)
        model, least = _earliest(vectors, aim, model, tolerance, floor)
        models.append(np.sort(model))
        rss.append(least)
    return BestSubsets(tuple(distinct[model] for model in models), np.array(rss), proven, work)


def _coordinates(features: Values, target: Values) -> tuple[Values, Values]:
    """Rotate features, as columns, and response into few coordinates: R and Qᵀy of Z = QR.

    The last coordinate is the length of what all the features leave of the response.
    """
    n = target.size
    across, triangle = np.linalg.qr(features.T / np.sqrt(n))
    aim = across.T @ target / np.sqrt(n)
    rest = target / np.sqrt(n) - across @ aim
    return np.vstack([triangle, np.zeros((1, len(features)))]), np.append(aim, np.sqrt(rest @ rest))


def _distinct(vectors: Values, tolerance: Values) -> Whole:
    """Leave out copies of earlier features: no model is better for having the copy instead."""
    kept: list[int] = []
    for j, limit in enumerate(tolerance):
        earlier, vector = vectors[:, kept], vectors[:, j]
        rests = vector[:, None] - earlier * (vector @ earlier)
        limits = np.maximum(limit, tolerance[kept])
        if not (np.einsum("ij,ij->j", rests, rests) <= limits * limits).any():
            kept.append(j)
    return np.array(kept, dtype=np.int64)


def _gains(vectors: Values, aim: Values, model: Whole, tolerance: Values) -> tuple[Values, float]:
    """Compute by how much each further feature lowers RSS, −1 where it cannot enter; and RSS."""
    across, _ = np.linalg.qr(vectors[:, model])
    rest, left = aim, vectors
    for _ in range(2):
        rest = rest - across @ (across.T @ rest)
        left = left - across @ (across.T @ left)
    squares = np.einsum("ij,ij->j", left, left)
    limits = np.maximum(tolerance, tolerance[model].max(initial=0.0))
    enters = squares > limits * limits
    enters[model] = False
    gains = np.where(enters, (rest @ left) ** 2 / np.where(enters, squares, 1.0), -1.0)
    return gains, float(rest @ rest)


def _extended(vectors: Values, aim: Values, model: Whole, tolerance: Values) -> Whole:
    """Add the feature that lowers RSS most, if any can enter."""
    gains, _ = _gains(vectors, aim, model, tolerance)
    best = int(np.argmax(gains))
    return model if gains[best] < 0.0 else np.append(model, best)


def _exchanged(vectors: Values, aim: Values, model: Whole, tolerance: Values) -> tuple[Whole, float]:
    """Exchange one member at a time as long as that lowers RSS: a good model for the search to beat."""
    _, least = _gains(vectors, aim, model, tolerance)
    improved = True
    while improved:
        improved = False
        for member in model.copy():
            others = model[model != member]
            gains, rss = _gains(vectors, aim, others, tolerance)
            best = int(np.argmax(gains))
            less = max(rss - float(gains[best]), 0.0)  # the rounding of an exact fit may lie below 0
            if gains[best] >= 0.0 and less < least * (1.0 - TIE):
                model, least, improved = np.append(others, best), less, True
    return model, least


def _earliest(
    vectors: Values, aim: Values, model: Whole, tolerance: Values, floor: float
) -> tuple[Whole, float]:
    """Exchange members for earlier features that do as well, so that ties fall to the first."""
    _, least = _gains(vectors, aim, model, tolerance)
    enough = least + max(TIE * least, floor)
    settled = False
    while not settled:
        settled = True
        for member in np.sort(model)[::-1]:
            others = model[model != member]
            gains, rss = _gains(vectors, aim, others, tolerance)
            equal = (gains[:member] >= 0.0) & (rss - gains[:member] <= enough)
            if equal.any():
                model, settled = np.append(others, int(np.argmax(equal))), False
    return model, _gains(vectors, aim, model, tolerance)[1]

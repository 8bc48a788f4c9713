"""Search models of more than four features by greedy and LASSO paths, and by exchanging features.

Exchanges are sequential replacement (Miller 2002, Subset Selection in Regression, 2nd ed., section 3.3).
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from symscreen.linear_models.gram import MIN_PIVOT, GramMatrix, compute_gram, compute_unexplained_shares
from symscreen.linear_models.lasso_path import standardize_features
from symscreen.linear_models.model_criteria import EXACT_SHARE, round_unexplained_share
from symscreen.linear_models.stepwise_selection import compute_span_tolerance, select_forward_by_projection
from symscreen.screeners.joint.lasso import compute_lasso_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray


_MAX_EXCHANGE_ROUNDS = 20  # passes over the terms; usually a few are enough
# difference in R² to the best feature below which features are compared by an accurate fit
_GAIN_TOLERANCE = 1e-10
_MAX_TIED_FEATURES = 20  # features that are compared by an accurate fit


def find_path_models(
    values: NDArray[np.float64],
    target: NDArray[np.float64],
    complexity: NDArray[np.int64],
    *,
    min_terms: int,
    max_terms: int,
    starts: Sequence[tuple[int, ...]] = (),
) -> dict[tuple[int, ...], float]:
    """Fit the models along forward-selection and LASSO paths, and improve them by exchanging features.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        The features.
    target : float64 array, shape (n,) or (K, n)
        One target, or K targets that share one model. Its features come from the paths of all targets.
    complexity : int64 array, shape (q,)
        Complexity of the features. If exchanges have the same share, the simplest is made.
    min_terms, max_terms : int
        Range of model sizes.
    starts : sequence of tuple of int
        Smaller good models. Each is extended by the best feature repeatedly, with exchanges at every size.

    Returns
    -------
    dict of tuple of int to float
        Models as ascending indices, with their unexplained shares (mean over K targets). No exchange of one
        feature improves the best model of a size, or makes it simpler with the same share.
    """
    gram = compute_gram(values, target)
    models: dict[tuple[int, ...], float] = {}
    for members in chain.from_iterable(
        _iterate_path_models(values, candidate, max_terms) for candidate in np.atleast_2d(target)
    ):
        if min_terms <= len(members) <= max_terms:
            share = _compute_member_share(gram, members)
            if np.isfinite(share):
                models[tuple(sorted(members.tolist()))] = share
    for size in sorted(set(map(len, models))):
        best = min(
            (candidate for candidate in models if len(candidate) == size),
            key=lambda candidate: (models[candidate], candidate),
        )
        improved = _exchange_terms(gram, np.array(best, dtype=np.int64), complexity)
        models[tuple(sorted(improved.tolist()))] = _compute_member_share(gram, improved)
    for start in starts:
        members = np.array(start, dtype=np.int64)
        while len(members) < min(max_terms, len(values)):
            members = np.append(members, _find_best_addition(gram, members, complexity))
            if not np.isfinite(_compute_member_share(gram, members)):
                break
            members = _exchange_terms(gram, members, complexity)
            if len(members) >= min_terms:
                models[tuple(sorted(members.tolist()))] = _compute_member_share(gram, members)
    return models


def _compute_member_share(gram: GramMatrix, members: NDArray[np.int64]) -> float:
    """Return the unexplained share of a model, given as indices of shape (k,)."""
    order = members[np.argsort(-gram.strength[members], kind="stable")]
    return float(compute_unexplained_shares(gram.columns, gram.target, order[None, :])[0])


def _exchange_terms(
    gram: GramMatrix, members: NDArray[np.int64], complexity: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Replace one feature after the other by the best alternative, until nothing improves."""
    members, share = members.copy(), _compute_member_share(gram, members)
    for _ in range(_MAX_EXCHANGE_ROUNDS):
        previous = members.tolist()
        for position in np.argsort(-complexity[members], kind="stable").tolist():
            changed = members.copy()
            changed[position] = _find_best_addition(gram, np.delete(members, position), complexity)
            new_share = _compute_member_share(gram, changed)
            is_simpler = complexity[changed[position]] < complexity[members[position]]
            if round_unexplained_share(new_share) < round_unexplained_share(share) or (
                round_unexplained_share(new_share) == round_unexplained_share(share) and is_simpler
            ):
                members, share = changed, new_share
        if members.tolist() == previous:
            break
    return members


def _find_best_addition(gram: GramMatrix, others: NDArray[np.int64], complexity: NDArray[np.int64]) -> int:
    """Find the feature that improves a model most; of those that improve it equally, the simplest."""
    q, _ = np.linalg.qr(gram.columns[others].T)
    columns, residuals = gram.columns, gram.target.T
    for _ in range(2):  # twice, because the first pass leaves rounding errors relative to what it removes
        columns = columns - (columns @ q) @ q.T
        residuals = residuals - q @ (q.T @ residuals)
    squares = (columns * columns).sum(axis=1)
    independent = squares > MIN_PIVOT
    explained = ((columns @ residuals) ** 2).sum(axis=1)
    gains = np.where(independent, explained / np.where(independent, squares, 1.0), -1.0)
    best = np.flatnonzero(gains >= gains.max() - _GAIN_TOLERANCE)
    best = best[np.lexsort((best, complexity[best]))][:_MAX_TIED_FEATURES]
    shares = [
        round_unexplained_share(_compute_member_share(gram, np.append(others, feature)))
        for feature in best.tolist()
    ]
    return int(best[shares.index(min(shares))])


def _iterate_path_models(
    values: NDArray[np.float64], target: NDArray[np.float64], max_terms: int
) -> Iterator[NDArray[np.int64]]:
    """Yield the models, as index arrays, along the forward-selection path and the LASSO path."""
    standardized = standardize_features(values, target)
    target_std = float(np.sqrt((standardized.target**2).mean()))
    tolerance = compute_span_tolerance(standardized.centers, standardized.scales)
    order = select_forward_by_projection(
        standardized.features, standardized.target / target_std, max_terms, tolerance, EXACT_SHARE
    )
    for size in range(1, len(order) + 1):
        yield order[:size]
    for coefficients in compute_lasso_path(values, target).coefficients:
        selected = np.flatnonzero(coefficients)
        if len(selected) > max_terms:
            return
        if len(selected):
            yield selected

"""Models of more than four features, beyond exhaustive search: greedy and LASSO paths, and exchanges.

Exchanges are sequential replacement (Miller 2002, Subset Selection in Regression, 2nd ed., section 3.3).
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from symscreen.models.search import EXACT
from symscreen.screeners.lasso import lasso_path
from symscreen.statistics.gram import PIVOT, gram_of
from symscreen.statistics.least_squares import unexplained_shares
from symscreen.statistics.standard import standardised
from symscreen.statistics.stepwise import forward_order, span_tolerance

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen.statistics.gram import Gram

__all__ = ["models_on_paths"]

_ROUNDS = 20  # of exchanges: a few are enough
_SAME = 9  # digits, as where models are chosen
_BLUR = 1e-10  # of R²: what is found by projections is fitted again on the columns
_LOOKED_AT = 20


def models_on_paths(
    values: NDArray[np.float64],
    target: NDArray[np.float64],
    complexity: NDArray[np.int64],
    *,
    least: int,
    most: int,
    starts: Sequence[tuple[int, ...]] = (),
) -> dict[tuple[int, ...], float]:
    """Fit the models that forward selection and the LASSO pass through, and what exchanges make of them.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        The features.
    target : float64 array, shape (n,) or (K, n)
        The response, or K responses that are to have one model: its features come from the paths of each.
    complexity : int64 array, shape (q,)
        Of the features: of exchanges that leave as much the simplest is made.
    least, most : int
        The sizes of model wanted.
    starts : sequence of tuple of int
        Smaller models known to be good: each is grown by what is best to add, with exchanges at every size.

    Returns
    -------
    dict of tuple of int to float
        Models as ascending places, each with the share of variance that least squares leaves, of K responses
        on the mean. Of the best of each size no exchange of one feature for another leaves less, or as much
        and is simpler.
    """
    gram = gram_of(values, target)
    found: dict[tuple[int, ...], float] = {}
    for members in chain.from_iterable(_passed(values, one, most) for one in np.atleast_2d(target)):
        if least <= len(members) <= most:
            share = _share(gram, members)
            if np.isfinite(share):
                found[tuple(sorted(members.tolist()))] = share
    for size in sorted(set(map(len, found))):
        best = min((one for one in found if len(one) == size), key=lambda one: (found[one], one))
        better = _exchanged(gram, np.array(best, dtype=np.int64), complexity)
        found[tuple(sorted(better.tolist()))] = _share(gram, better)
    for start in starts:
        members = np.array(start, dtype=np.int64)
        while len(members) < min(most, len(values)):
            members = np.append(members, _instead(gram, members, complexity))
            if not np.isfinite(_share(gram, members)):
                break
            members = _exchanged(gram, members, complexity)
            if len(members) >= least:
                found[tuple(sorted(members.tolist()))] = _share(gram, members)
    return found


def _share(gram: Gram, members: NDArray[np.int64]) -> float:
    order = members[np.argsort(-gram.strength[members], kind="stable")]
    return float(unexplained_shares(gram.columns, gram.target, order[None, :])[0])


def _exchanged(gram: Gram, members: NDArray[np.int64], complexity: NDArray[np.int64]) -> NDArray[np.int64]:
    """Exchange one feature after the other for the best instead of it, until none is better."""
    members, share = members.copy(), _share(gram, members)
    for _ in range(_ROUNDS):
        before = members.tolist()
        for place in np.argsort(-complexity[members], kind="stable").tolist():
            tried = members.copy()
            tried[place] = _instead(gram, np.delete(members, place), complexity)
            new = _share(gram, tried)
            simpler = complexity[tried[place]] < complexity[members[place]]
            if _rounded(new) < _rounded(share) or (_rounded(new) == _rounded(share) and simpler):
                members, share = tried, new
        if members.tolist() == before:
            break
    return members


def _instead(gram: Gram, others: NDArray[np.int64], complexity: NDArray[np.int64]) -> int:
    """Find the feature that beside the others leaves least; of those that leave as much the simplest."""
    basis, _ = np.linalg.qr(gram.columns[others].T)
    columns, left = gram.columns, gram.target.T
    for _ in range(2):  # twice: the first pass leaves rounding of the size of what it removes
        columns = columns - (columns @ basis) @ basis.T
        left = left - basis @ (basis.T @ left)
    squares = (columns * columns).sum(axis=1)
    able = squares > PIVOT
    along = (columns @ left) ** 2
    explained = along if along.ndim == 1 else along.sum(axis=1)
    gains = np.where(able, explained / np.where(able, squares, 1.0), -1.0)
    near = np.flatnonzero(gains >= gains.max() - _BLUR)
    near = near[np.lexsort((near, complexity[near]))][:_LOOKED_AT]
    shares = [_rounded(_share(gram, np.append(others, one))) for one in near.tolist()]
    return int(near[shares.index(min(shares))])


def _rounded(share: float) -> float:
    """Round what decides, so that rounding does not; what an exact model leaves is nothing."""
    return 0.0 if share <= EXACT else float(f"{share:.{_SAME}g}")


def _passed(
    values: NDArray[np.float64], target: NDArray[np.float64], most: int
) -> Iterator[NDArray[np.int64]]:
    standard = standardised(values, target)
    spread = float(np.sqrt((standard.target**2).mean()))
    tolerance = span_tolerance(standard.centres, standard.scales)
    order = forward_order(standard.features, standard.target / spread, most, tolerance, EXACT)
    for size in range(1, len(order) + 1):
        yield order[:size]
    for coefficients in lasso_path(values, target).coefficients:
        inside = np.flatnonzero(coefficients)
        if len(inside) > most:
            return
        if len(inside):
            yield inside

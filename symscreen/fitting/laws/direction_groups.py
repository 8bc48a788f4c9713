"""Compare formulas of a pool by direction, after nuisance columns and a response are projected out.

Directions are compared in a few random projections with a constant seed, so that equal ones are found by
sorting. One pass over the pool gives the inner products with all vectors that may be projected out later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from symscreen.fitting.laws.parallel import map_in_threads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from symscreen._typing import Values

    FormulaBlock: TypeAlias = tuple[NDArray[np.int64], Values]


N_DIRECTIONS = 6
"""Number of random directions in which formulas are compared."""

_MAX_CANDIDATES = 50  # partners in a sum that are compared for each formula, on average
_MAX_EQUAL_PAIRS = 100_000  # after which no further block is compared
_BLOCK_CANDIDATES = 2_000_000  # candidates that are compared together
_ROUNDING = 1e-15  # relative error of a value
_MAX_ERROR = 1e-7  # formulas whose directions are less exact are not compared


class FormulaBlocks(Protocol):
    """Blocks of formulas, such as a list; a block may be computed when it is taken."""

    def __len__(self) -> int:
        """Return the number of blocks."""

    def __getitem__(self, place: int, /) -> FormulaBlock:
        """Return the indices of formulas, shape (b,), and their values, shape (b, m)."""


@dataclass(frozen=True, eq=False)
class Projections:
    """Inner products of formulas with a few vectors that are orthogonal to some nuisance columns.

    Parameters
    ----------
    indices : int64 array, shape (q,)
        The formulas of the pool.
    values : float64 array, shape (k, q)
        Inner products of the vectors with the formulas, which are scaled to largest absolute value 1.
    products : float64 array, shape (k, k)
        Inner products of the vectors. The first ones are random directions.
    errors : float64 array, shape (q,)
        Bounds of the rounding of `values`.
    """

    indices: NDArray[np.int64]
    values: Values
    products: Values
    errors: Values

    def take(self, places: NDArray[np.int64]) -> Projections:
        """Return some of the formulas."""
        return Projections(self.indices[places], self.values[:, places], self.products, self.errors[places])

    def remove(self, vector: int, kept: int | None = None) -> Projections:
        """Project a vector out of the formulas and of the other vectors, the random ones and the kept one."""
        vectors = np.r_[: N_DIRECTIONS if kept is None else N_DIRECTIONS + 1]
        vectors[N_DIRECTIONS:] = kept or 0
        direction = self.products[vector, vectors] / self.products[vector, vector]
        return Projections(
            self.indices,
            self.values[vectors] - direction[:, None] * self.values[vector],
            self.products[np.ix_(vectors, vectors)] - np.outer(self.products[vectors, vector], direction),
            self.errors,
        )

    @property
    def norms(self) -> Values:
        """Norms of the formulas in the random directions, shape (q,)."""
        return np.asarray(np.sqrt((self.values[:N_DIRECTIONS] ** 2).sum(axis=0)))

    def find_zeros(self) -> NDArray[np.int64]:
        """Return the formulas that are zero up to rounding, in ascending order."""
        return np.asarray(self.indices[self.norms <= self.errors])

    def merge_copies(self) -> tuple[Projections, list[NDArray[np.int64]]]:
        """Keep the first of the formulas with equal directions, and none that is rounding.

        Returns
        -------
        Projections
            The formulas that are kept.
        list of int64 array
            Each group of formulas with equal directions; the first one is kept.
        """
        is_kept = self.errors < _MAX_ERROR * self.norms
        groups = self.group()
        for group in groups:
            is_kept[group[1:]] = False
        return self.take(np.flatnonzero(is_kept)), [self.indices[group] for group in groups]

    def group(self) -> list[NDArray[np.int64]]:
        """List the groups of two or more formulas with equal directions, each in ascending order."""
        norms = self.norms
        places = np.flatnonzero(self.errors < _MAX_ERROR * norms)
        if not len(places):
            return []
        errors = self.errors[places] / norms[places]
        key = np.abs(self.values[0, places] / norms[places])
        order = np.argsort(key, kind="stable")
        key, errors = key[order], errors[order]
        # most formulas have no neighbour within the errors
        is_near = key[1:] - errors[1:] <= np.maximum.accumulate(key + errors)[:-1]
        order = order[np.r_[is_near, False] | np.r_[False, is_near]]
        order.sort()
        places = places[order]
        if not len(places):
            return []
        directions = (self.values[:N_DIRECTIONS, places] / norms[places]).T
        groups = _group_directions(directions, self.errors[places] / norms[places])
        order = np.argsort(groups, kind="stable")
        parts = np.split(places[order], np.flatnonzero(np.diff(groups[order])) + 1)
        return [part for part in parts if len(part) > 1]


def _group_directions(directions: Values, errors: Values) -> NDArray[np.int64]:
    """Group unit vectors that agree up to sign and errors; a group is named by its first member.

    Vectors of one group lie side by side when they are sorted by the size of their first coordinate, but
    others may lie between them. In each round, the first vector of a run of neighbours is compared with all
    of it; the rest of the run waits for the next round.
    """
    groups = np.arange(len(directions))
    key = np.abs(directions[:, 0])
    waiting = np.argsort(key, kind="stable")
    while len(waiting):
        reach = np.maximum.accumulate(key[waiting] + errors[waiting])
        is_start = np.r_[True, key[waiting[1:]] - errors[waiting[1:]] > reach[:-1]]
        runs = np.cumsum(is_start) - 1
        leaders = waiting[is_start][runs]
        products = (directions[waiting] * directions[leaders]).sum(axis=1)
        signs = np.where(products < 0.0, -1.0, 1.0)
        distances = np.abs(directions[waiting] - signs[:, None] * directions[leaders]).max(axis=1)
        is_equal = distances <= errors[waiting] + errors[leaders]
        members, member_runs = waiting[is_equal], runs[is_equal]
        first = np.full(int(runs[-1]) + 1, len(directions))
        np.minimum.at(first, member_runs, members)
        groups[members] = first[member_runs]
        waiting = waiting[~is_equal]
    return groups


def project_formulas(blocks: FormulaBlocks, nuisance: Values, vectors: Values, jobs: int = 1) -> Projections:
    """Project formulas on random directions and given vectors, without the nuisance columns.

    Parameters
    ----------
    blocks : FormulaBlocks
        Formulas with values on m rows.
    nuisance : float64 array, shape (m, r)
        Columns that are projected out.
    vectors : float64 array, shape (m, k)
        The vectors.
    jobs : int
        Number of threads.
    """
    random = np.random.default_rng(0).standard_normal((len(nuisance), N_DIRECTIONS))
    directions = _project_out(nuisance, np.column_stack([random, vectors]))
    norms = np.linalg.norm(directions, axis=0)
    directions = directions / np.where(norms > 0.0, norms, 1.0)

    def project(place: int) -> FormulaBlock:
        """Return the formulas of a block, and their inner products with the vectors."""
        indices, values = blocks[place]
        sizes = np.maximum(values.max(axis=1), -values.min(axis=1))
        # the vectors are orthogonal to the nuisance columns, so that the formulas need not be projected
        return indices, directions.T @ values.T / np.where(sizes > 0.0, sizes, 1.0)

    found = map_in_threads(project, range(len(blocks)), jobs)
    indices = np.concatenate([part for part, _ in found])
    return Projections(
        indices,
        np.concatenate([part for _, part in found], axis=1),
        directions.T @ directions,
        np.full(len(indices), _ROUNDING * np.sqrt(len(nuisance))),
    )


def find_sums(
    blocks: FormulaBlocks, response: Values, nuisance: Values, jobs: int = 1
) -> tuple[list[tuple[int, int]], dict[int, NDArray[np.int64]]]:
    """Find pairs of formulas with ±A ± B = y plus a combination of the nuisance columns.

    Parameters
    ----------
    blocks : FormulaBlocks
        Formulas with values on m rows.
    response : float64 array, shape (m,)
        The response y.
    nuisance : float64 array, shape (m, r)
        Columns that are free.
    jobs : int
        Number of threads.

    Returns
    -------
    list of (int, int)
        The pairs. If formulas have equal values apart from the nuisance columns, only the first is used.
    dict of int to int64 array
        For each formula of a pair, all formulas with equal values, in ascending order.
    """
    random = np.random.default_rng(0).standard_normal((len(nuisance), N_DIRECTIONS))
    directions = _project_out(nuisance, random)

    def project(place: int) -> tuple[NDArray[np.int64], Values, Values]:
        """Return the formulas of a block, their inner products with the directions, and their sizes."""
        numbers, values = blocks[place]
        return numbers, values @ directions, np.maximum(values.max(axis=1), -values.min(axis=1))

    found = map_in_threads(project, range(len(blocks)), jobs)
    indices, sums, errors = (np.concatenate(parts) for parts in zip(*found, strict=True))
    rounding = _ROUNDING * len(nuisance)
    wanted = response @ directions
    order = np.lexsort((indices, sums[:, 0]))
    indices, sums, errors = indices[order], sums[order], rounding * errors[order]
    is_copy = (np.abs(np.diff(sums, axis=0)) <= errors[1:, None]).all(axis=1)
    is_first = np.r_[True, ~is_copy]
    is_used = is_first & (np.abs(sums).max(axis=1) > errors)
    starts, ordered = np.r_[np.flatnonzero(is_first), len(indices)], indices
    runs = np.cumsum(is_first)[is_used] - 1
    # rounding decides the order of copies, so the smallest index represents them
    indices = np.minimum.reduceat(indices, starts[:-1])[runs]
    sums, errors = sums[is_used], errors[is_used]
    # B is not larger than A and y together, and so is its error
    tolerances = 2.0 * (errors + rounding * np.abs(response).max())
    pairs: set[tuple[int, int]] = set()
    for sign, own_sign in ((1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)):
        partners = sign * wanted + own_sign * sums
        low = np.searchsorted(sums[:, 0], partners[:, 0] - tolerances)
        counts = np.searchsorted(sums[:, 0], partners[:, 0] + tolerances, side="right") - low
        for block in _split_counts(counts):
            first = np.repeat(np.arange(block.start, block.stop), counts[block])
            own = counts[block]
            second = np.arange(len(first)) + np.repeat(low[block] - np.cumsum(own) + own, own)
            is_equal = (np.abs(partners[first] - sums[second]) <= tolerances[first, None]).all(axis=1)
            both = np.column_stack([indices[first[is_equal]], indices[second[is_equal]]])
            pairs |= {(a, b) for a, b in np.sort(both, axis=1).tolist() if a != b}
            if len(pairs) > _MAX_EQUAL_PAIRS:
                break
    members = np.unique(np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2))
    places = np.flatnonzero(np.isin(indices, members)).tolist()
    copies = {
        int(indices[place]): np.sort(ordered[starts[runs[place]] : starts[runs[place] + 1]])
        for place in places
    }
    return sorted(pairs), copies


def _split_counts(counts: NDArray[np.int64]) -> Iterator[slice]:
    """Yield blocks of formulas with few candidates together; none after a number of candidates per formula.

    There are that many only if most rows have no weight.
    """
    ends = np.cumsum(counts)
    start = 0
    n_used = int(np.searchsorted(ends, _MAX_CANDIDATES * len(counts), side="right"))
    while start < n_used:
        reached = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, reached + _BLOCK_CANDIDATES, side="right")))
        yield slice(start, min(stop, n_used))
        start = stop


def _project_out(nuisance: Values, vectors: Values) -> Values:
    """Project columns out of vectors."""
    basis = np.linalg.qr(nuisance)[0]
    for _ in range(2):  # once more, against the rounding of the first projection
        vectors = vectors - basis @ (basis.T @ vectors)
    return vectors

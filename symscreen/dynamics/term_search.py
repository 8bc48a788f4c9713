"""Search right-hand sides: sums of few terms that fit the rows of a regression problem.

All pairs of terms are tried. The best are extended term by term (a beam), and each step keeps the best sums
by the EBIC, which counts the rows, the coefficients and the number of terms that each one was chosen from.
Few flexible terms often fit nearly as well as the right ones and would crowd them out of the beam. Therefore
all sums of two or three basic terms are extended, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from symscreen._typing import Integers, Values


_BEAM = 100  # sums of each size that are kept
_PER_COMPLEXITY = 8  # sums of each size and complexity that are kept in any case
_N_BASIC = {2: 30, 3: 16}  # basic terms whose sums of this size are extended
_ADDED = 20  # terms that a sum is extended by
_SIMPLE = 3  # complexity of a simple term
_BLOCK = 500  # terms whose pairs are tried together
_MIN_ANGLE = 1e-9  # squared sine of the angle between a term and the others of a sum
_SMALLEST_SHARE = 1e-16  # unexplained share that counts as rounding


@dataclass(frozen=True, slots=True)
class TermSum:
    """A sum of terms.

    Parameters
    ----------
    members : tuple of int
        The terms, ascending.
    score : float
        The EBIC; lower is better.
    share : float
        Unexplained share of the squared target.
    """

    members: tuple[int, ...]
    score: float
    share: float


def search_sums(
    rows: Values,
    target: Values,
    search_costs: Values,
    complexities: Integers,
    max_terms: int,
    basic: Sequence[int] = (),
) -> list[TermSum]:
    """Search sums of up to `max_terms` terms.

    Parameters
    ----------
    rows : float64 array, shape (q, k)
        The terms.
    target : float64 array, shape (k,)
        The target.
    search_costs : float64 array, shape (q,)
        Logarithm of the number of terms that each one was chosen from.
    complexities : int64 array, shape (q,)
        Complexities of the terms.
    max_terms : int
        The largest number of terms.
    basic : sequence of int
        Places of basic terms, the simplest first.

    Returns
    -------
    list of TermSum
        The best sums of each size, and of each size and complexity; best first.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(9, 50))
    >>> search_sums(rows, 2 * rows[3] - rows[7], np.zeros(9), np.ones(9, dtype=int), 2)[0].members
    (3, 7)
    """
    norms = np.linalg.norm(rows, axis=1)
    is_used = np.isfinite(norms) & (norms > 0.0)
    places = np.flatnonzero(is_used)
    unit = rows[places] / norms[places, None]
    total = float(target @ target)
    costs = 2.0 * search_costs[places] + np.log(len(target))
    if not len(places) or total == 0.0:
        return []
    search = _BeamSearch(unit, target / np.sqrt(total), costs, complexities[places])
    own = {place: number for number, place in enumerate(places.tolist())}
    seeds = [own[place] for place in basic if place in own]
    found = search.try_singles()
    if max_terms > 1:
        beam = search.try_pairs()
        found += beam
        for size in range(2, max_terms):
            chosen = [each.members for each in beam]
            if size in _N_BASIC:
                chosen += [tuple(sorted(each)) for each in combinations(seeds[: _N_BASIC[size]], size)]
            beam = search.extend(sorted(set(chosen)))
            found += beam
    renumbered = [
        TermSum(tuple(places[list(each.members)].tolist()), each.score, each.share) for each in found
    ]
    return sorted(renumbered, key=lambda each: (each.score, each.members))


class _BeamSearch:
    """The search over terms with norm 1 and a target with norm 1."""

    def __init__(self, unit: Values, target: Values, costs: Values, complexities: Integers) -> None:
        self.unit, self.target, self.costs, self.complexities = unit, target, costs, complexities
        self.products = unit @ target

    def compute_scores(self, shares: Values, costs: Values) -> Values:
        """Return the EBIC of sums with given unexplained shares."""
        return np.asarray(len(self.target) * np.log(np.maximum(shares, _SMALLEST_SHARE)) + costs)

    def keep_best(self, found: list[TermSum]) -> list[TermSum]:
        """Return the best sums, and the best of each complexity; best first."""
        ordered = sorted(found, key=lambda each: (each.score, each.members))
        counts: dict[int, int] = {}
        kept = []
        for place, each in enumerate(ordered):
            complexity = int(self.complexities[list(each.members)].sum())
            counts[complexity] = counts.get(complexity, 0) + 1
            if place < _BEAM or counts[complexity] <= _PER_COMPLEXITY:
                kept.append(each)
        return kept

    def try_singles(self) -> list[TermSum]:
        """Return the best single terms."""
        shares = 1.0 - self.products**2
        scores = self.compute_scores(shares, self.costs)
        found = [
            TermSum((place,), float(scores[place]), float(shares[place])) for place in range(len(scores))
        ]
        return self.keep_best(found)

    def try_pairs(self) -> list[TermSum]:
        """Return the best pairs of all terms."""
        n, found = len(self.unit), list[TermSum]()
        for start in range(0, n, _BLOCK):
            block = slice(start, min(start + _BLOCK, n))
            cosines = self.unit[block] @ self.unit.T
            own, other = self.products[block, None], self.products[None]
            angles = 1.0 - cosines**2
            with np.errstate(all="ignore"):
                gains = (own**2 + other**2 - 2.0 * cosines * own * other) / angles
            is_pair = (np.arange(n)[None] > np.arange(n)[block, None]) & (angles > _MIN_ANGLE)
            shares = np.where(is_pair, 1.0 - gains, 1.0)
            scores = self.compute_scores(shares, self.costs[block, None] + self.costs[None])
            # simple pairs, too, which junk of many complex terms would crowd out
            simple = np.where(self.complexities[None] <= _SIMPLE, scores, np.inf)[
                self.complexities[block] <= _SIMPLE
            ]
            rows = np.flatnonzero(self.complexities[block] <= _SIMPLE)
            places = _find_smallest(scores, _BEAM)
            places |= {(int(rows[first]), second) for first, second in _find_smallest(simple, _BEAM)}
            for first, second in sorted(places):
                if is_pair[first, second]:
                    members = (start + first, second)
                    share = float(shares[first, second])
                    found.append(TermSum(members, float(scores[first, second]), share))
        return self.keep_best(found)

    def extend(self, sums: Sequence[tuple[int, ...]]) -> list[TermSum]:
        """Add the best terms to each of many sums of the same size."""
        used = np.unique(sums)
        cosines = self.unit[used] @ self.unit.T
        rows = dict(zip(used.tolist(), range(len(used)), strict=True))
        found: dict[tuple[int, ...], TermSum] = {}
        for members in sums:
            own = cosines[[rows[each] for each in members]]
            try:
                # the inverse of this factor of the products makes the terms an orthonormal basis
                triangle = np.linalg.cholesky(own[:, members])
            except np.linalg.LinAlgError:
                continue
            inverse = np.linalg.inv(triangle)
            explained = inverse @ self.products[list(members)]
            share = 1.0 - float(explained @ explained)
            inside = inverse @ own
            for new in self._extend_sum(members, inside, self.products - explained @ inside, share):
                found[new.members] = new
        return self.keep_best([*found.values()])

    def _extend_sum(
        self, members: tuple[int, ...], inside: Values, outside: Values, share: float
    ) -> Iterator[TermSum]:
        """Yield a sum with each of the best terms added.

        Parameters
        ----------
        members : tuple of int
            The k terms of the sum.
        inside : float64 array, shape (k, q)
            Products of all terms with an orthonormal basis of the sum.
        outside : float64 array, shape (q,)
            Products of all terms with the residual of the sum.
        share : float
            The squared residual.
        """
        angles = 1.0 - (inside**2).sum(axis=0)
        with np.errstate(all="ignore"):
            gains = np.where(angles > _MIN_ANGLE, outside**2 / angles, 0.0)
        scores = self.compute_scores(share - gains, self.costs + self.costs[list(members)].sum())
        simple = np.where(self.complexities <= _SIMPLE, scores, np.inf)
        places = {place for _, place in _find_smallest(scores[None], _ADDED)}
        places |= {place for _, place in _find_smallest(simple[None], _ADDED)}
        for place in sorted(places):
            extended = tuple(sorted((*members, place)))
            if len(set(extended)) == len(extended) and gains[place] > 0.0:
                yield TermSum(extended, float(scores[place]), float(share - gains[place]))


def _find_smallest(scores: Values, count: int) -> set[tuple[int, int]]:
    """Return the rows and columns of the smallest scores of a matrix."""
    if not scores.size:
        return set()
    flat = np.argpartition(scores.ravel(), min(count, scores.size - 1))[:count]
    rows, columns = np.unravel_index(flat, scores.shape)
    return set(zip(rows.tolist(), columns.tolist(), strict=True))

"""Powers of inputs that have a given unit: a lattice, with one point if the units decide all exponents.

Let the rows of a matrix U be the exponents of the base units of each input. The product Π xᵢ^aᵢ has the unit
u exactly when Uᵀ·a = u. The solutions are one of them plus the null space of Uᵀ, which holds the
dimensionless groups (Buckingham, Phys. Rev. 4, 345, 1914). So a search for laws has only the free directions
to fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from math import comb, lcm
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.fitting.laws.power_expressions import normalize_exponents
from symscreen.grammar.dimensions import EXPONENT_DENOMINATOR
from symscreen.units import compute_dimensions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Flags, Values
    from symscreen.expressions.tree import Expression
    from symscreen.units import Units


_MAX_COMBINATIONS = 5_000  # largest number of combinations of inputs that are examined
_MAX_POWER = 4  # largest exponent of an input in a group
_MAX_GROUPS = 12
_MAX_FACTORS = 3  # largest number of groups in a product of groups
_SINGLE_POWERS = tuple(Fraction(p, 2) for p in range(-8, 9) if p)
_DOUBLE_POWERS = tuple(Fraction(p, 2) for p in range(-4, 5) if p)
_TOLERANCE = 1e-9  # largest difference of equal exponents
_MAX_DENOMINATOR = 12  # largest denominator of an exponent of the simplest product


@dataclass(frozen=True, eq=False)
class UnitLattice:
    """The exponents a of the products Π xᵢ^aᵢ with a given unit.

    Parameters
    ----------
    names : tuple of str
        The k inputs.
    vectors : float64 array, shape (k, D)
        Exponents of the D base units of each input.
    target : float64 array, shape (D,), or None
        Exponents of the unit of the target, if it is known.
    units : Units
        The units of all columns.
    """

    names: tuple[str, ...]
    vectors: Values
    target: Values | None
    units: Units

    @lockfree_cached_property
    def inverse(self) -> Values:
        """Matrix that maps a unit to one solution, shape (D, k)."""
        return invert_rows(self.vectors)

    @lockfree_cached_property
    def free_directions(self) -> Values:
        """Orthonormal basis of the exponents of dimensionless products, shape (k, d)."""
        return find_null_space(self.vectors)

    @property
    def decides_target(self) -> bool:
        """Whether the unit of the target is known, and a product of the inputs has it."""
        return self.target is not None and self.find_powers(self.target) is not None

    def find_powers(self, unit: Values) -> Values | None:
        """Return the shortest vector of real exponents with a unit, shape (k,); None if there is none."""
        powers = unit @ self.inverse
        return powers if bool((np.abs(powers @ self.vectors - unit) <= _TOLERANCE).all()) else None

    def select_dimensionless(self, exponents: NDArray[np.int64]) -> Flags:
        """Return which exponents, shape (m, k), are those of dimensionless products; shape (m,)."""
        return self.select_unit(exponents, np.zeros(self.vectors.shape[1]))

    def select_unit(self, exponents: NDArray[Any], unit: Values) -> Flags:
        """Return which exponents, shape (m, k), are those of products with a unit; shape (m,)."""
        return np.asarray((np.abs(exponents @ self.vectors - unit) <= _TOLERANCE).all(axis=1))

    def compute_unit(self, expression: Expression) -> Values | None:
        """Return the exponents of the unit of a formula, shape (D,); None if it has no unit."""
        dimensions = compute_dimensions(expression, self.units)
        return dimensions.exponents / EXPONENT_DENOMINATOR if dimensions.valid else None

    def has_unit(self, expression: Expression) -> bool:
        """Return whether a formula has any unit."""
        return self.compute_unit(expression) is not None

    def compute_units(self, expressions: Sequence[Expression]) -> Values:
        """Return the exponents of the units of formulas, shape (q, D); NaN for formulas without a unit."""
        missing = np.full(self.vectors.shape[1], np.nan)
        units = [self.compute_unit(expression) for expression in expressions]
        found = [missing if unit is None else unit for unit in units]
        return np.array(found).reshape(len(found), self.vectors.shape[1])

    @lockfree_cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The simplest dimensionless groups, at most 12."""
        exact = [[Fraction(value).limit_denominator(2520) for value in row] for row in self.vectors.tolist()]
        return tuple(list_dimensionless_groups(exact)[:_MAX_GROUPS])

    @lockfree_cached_property
    def independent_groups(self) -> Values:
        """The simplest groups that are independent, shape (s, k)."""
        kept: list[tuple[int, ...]] = []
        for group in self.groups:
            if np.linalg.matrix_rank(np.array([*kept, group])) > len(kept):
                kept.append(group)
        return np.array(kept, dtype=np.float64).reshape(len(kept), len(self.names))

    def iterate_group_products(self) -> Iterator[tuple[int, ...]]:
        """Yield the exponents of products of up to three groups, without common factors; some repeatedly.

        A product and its inverse count as one, and the one whose first power is positive is yielded.
        """
        for size in range(1, min(_MAX_FACTORS, len(self.groups)) + 1):
            for chosen in combinations(self.groups, size):
                for powers in product((1, -1, 2, -2), repeat=size):
                    vector = (np.array(powers) @ np.array(chosen)).tolist()
                    if powers[0] > 0 and any(vector):
                        yield normalize_exponents(vector)

    @lockfree_cached_property
    def _bases(self) -> list[tuple[tuple[int, ...], Values]]:
        """Inputs with independent units that span all, each with the inverse of their matrix."""
        rank = int(np.linalg.matrix_rank(self.vectors)) if self.vectors.size else 0
        if comb(len(self.names), rank) > _MAX_COMBINATIONS:
            return []
        bases = []
        for chosen in combinations(range(len(self.names)), rank):
            rows = self.vectors[list(chosen)]
            if rank and np.linalg.matrix_rank(rows) == rank:
                bases.append((chosen, invert_rows(rows)))
        return bases

    def find_simplest_powers(self, unit: Values) -> list[Fraction] | None:
        """Return the exponents with a unit whose absolute values have the smallest sum, or None.

        The smallest sum is that of a product of inputs with independent units (a vertex of the linear
        program).
        """
        if not np.abs(unit).max(initial=0.0) > _TOLERANCE:
            return [Fraction(0)] * len(self.names)
        if self.find_powers(unit) is None or not self._bases:
            return None
        candidates = []
        for chosen, inverse in self._bases:
            powers = unit @ inverse
            candidates.append((round(float(np.abs(powers).sum()), 9), chosen, powers))
        _, chosen, powers = min(candidates, key=lambda each: each[:2])
        exponents = [Fraction(0)] * len(self.names)
        for place, power in zip(chosen, powers.tolist(), strict=True):
            exponents[place] = Fraction(power).limit_denominator(_MAX_DENOMINATOR)
        return exponents

    def list_powers(self, unit: Values, limit: int) -> list[list[Fraction]]:
        """List the exponents of simple products with a unit, simplest first, at most `limit`.

        These are the simplest product, times powers from −4 to 4 of one or from −2 to 2 of two of the
        simplest groups. Equally simple products are all in the list or all left out.
        """
        simplest = self.find_simplest_powers(unit)
        if simplest is None:
            return []
        found = {tuple(simplest)}
        for size, powers in ((1, _SINGLE_POWERS), (2, _DOUBLE_POWERS)):
            for chosen in combinations(self.groups, size):
                for exponents in product(powers, repeat=size):
                    shift = [
                        sum((p * group[k] for p, group in zip(exponents, chosen, strict=True)), Fraction(0))
                        for k in range(len(self.names))
                    ]
                    found.add(tuple(a + b for a, b in zip(simplest, shift, strict=True)))
        sizes = {powers: sum(map(abs, powers)) for powers in found}
        ordered = sorted(found, key=lambda powers: (sizes[powers], [-power for power in powers]))
        if len(ordered) > limit:
            ordered = [powers for powers in ordered if sizes[powers] < sizes[ordered[limit]]]
        return [list(powers) for powers in ordered]

    def find_coordinates(self, exponents: Sequence[Fraction], unit: Values) -> list[Fraction] | None:
        """Return the powers of the independent groups in a product, besides the simplest product of a unit.

        None if the product has another unit, or the groups do not span all.
        """
        simplest = self.find_simplest_powers(unit)
        if simplest is None:
            return None
        rest = np.array([float(a - b) for a, b in zip(exponents, simplest, strict=True)])
        groups = self.independent_groups
        if not len(groups):
            return [] if np.abs(rest).max(initial=0.0) <= _TOLERANCE else None
        solution = np.linalg.lstsq(groups.T, rest, rcond=None)[0]
        if np.abs(solution @ groups - rest).max() > _TOLERANCE:
            return None
        return [Fraction(value).limit_denominator(_MAX_DENOMINATOR) for value in solution.tolist()]


@lru_cache(maxsize=64)
def build_unit_lattice(units: Units, names: tuple[str, ...]) -> UnitLattice:
    """Build the lattice of the products of some inputs; inputs without a unit are pure numbers.

    Examples
    --------
    >>> from symscreen.units import Units, parse_unit
    >>> units = {name: parse_unit(text) for name, text in zip("mlg", ["kg", "m", "m/s^2"])}
    >>> lattice = build_unit_lattice(Units(units, target=parse_unit("s")), ("m", "l", "g"))
    >>> print(*lattice.find_simplest_powers(lattice.target))
    0 1/2 -1/2
    """
    zeros = np.zeros(len(units.symbols))
    known = [units.columns.get(name) for name in names]
    rows = [zeros if unit is None else units.get_exponents(unit) / EXPONENT_DENOMINATOR for unit in known]
    target = None if units.target is None else units.get_exponents(units.target) / EXPONENT_DENOMINATOR
    return UnitLattice(names, np.array(rows).reshape(len(names), len(zeros)), target, units)


def invert_rows(vectors: Values) -> Values:
    """Return the pseudoinverse of exponents, shape (D, k), for vectors of shape (k, D)."""
    if not vectors.size:
        return np.zeros(vectors.shape[::-1])
    return np.asarray(np.linalg.pinv(vectors), dtype=np.float64)


def find_null_space(vectors: Values) -> Values:
    """Return an orthonormal basis of all a with Σ aᵢ·vectorsᵢ = 0, shape (k, d)."""
    k = len(vectors)
    if not vectors.any():
        return np.eye(k)
    left, sizes, _ = np.linalg.svd(vectors)
    rank = int((sizes > _TOLERANCE * sizes[0]).sum())
    return np.ascontiguousarray(left[:, rank:])


def list_dimensionless_groups(exponents: Sequence[Sequence[Fraction]]) -> list[tuple[int, ...]]:
    """List the dimensionless groups that contain no smaller group, simplest first.

    Parameters
    ----------
    exponents : sequence of k sequences of D Fractions
        The exponents of the base units of each input.

    Returns
    -------
    list of tuple of int
        The k powers of the inputs in each group, without a common factor, the first one positive. Groups with
        powers beyond ±4, or with too many combinations of inputs, are left out.

    Examples
    --------
    >>> list_dimensionless_groups([[0, 0], [1, -1], [1, 0], [0, 1]])  # an angle, a speed, a length, a time
    [(1, 0, 0, 0), (0, 1, -1, 1)]
    """
    k = len(exponents)
    found: list[tuple[int, ...]] = []
    n_examined = 0
    for size in range(1, k + 1):
        n_examined += comb(k, size)
        if n_examined > _MAX_COMBINATIONS:
            break
        supports = [{place for place, power in enumerate(group) if power} for group in found]
        for chosen in combinations(range(k), size):
            if any(support <= set(chosen) for support in supports):
                continue
            powers = _solve_homogeneous([exponents[place] for place in chosen])
            if powers is not None:
                group = [0] * k
                for place, power in zip(chosen, powers, strict=True):
                    group[place] = power
                found.append(tuple(group))
    simple = [group for group in found if max(map(abs, group)) <= _MAX_POWER]
    return sorted(simple, key=lambda group: (sum(map(abs, group)), [-abs(power) for power in group], group))


def _solve_homogeneous(vectors: Sequence[Sequence[Fraction]]) -> tuple[int, ...] | None:
    """Return the smallest whole powers with Σ powerᵢ·vectorᵢ = 0; None if the vectors are independent.

    All proper subsets of the vectors must be independent.
    """
    known = [list(map(Fraction, vector)) for vector in vectors]
    n = len(known)
    traces = [[Fraction(row == column) for column in range(n)] for row in range(n)]
    used: list[int] = []
    for row in range(n):
        for other, pivot in zip(
            used, [next(i for i, x in enumerate(known[o]) if x) for o in used], strict=True
        ):
            if ratio := known[row][pivot] / known[other][pivot]:
                known[row] = [a - ratio * b for a, b in zip(known[row], known[other], strict=True)]
                traces[row] = [a - ratio * b for a, b in zip(traces[row], traces[other], strict=True)]
        if any(known[row]):
            used.append(row)
            continue
        scale = lcm(*(power.denominator for power in traces[row]))
        return normalize_exponents([int(power * scale) for power in traces[row]])
    return None

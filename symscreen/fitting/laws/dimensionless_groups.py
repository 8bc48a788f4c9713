"""Find laws y = c · Π xᵢ^aᵢ · h(π₁, π₂, …) of the dimensionless groups πⱼ of inputs with units.

By the theorem of Buckingham (Phys. Rev. 4, 345, 1914), a law with units is a product of powers times a
function h of dimensionless groups. The groups are fewer and simpler arguments than the inputs, so a pool of
formulas of the groups contains much longer formulas h than a pool of formulas of the inputs.

The groups are those that contain no smaller group. They do not depend on a choice of reference quantities.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import comb, gcd, lcm
from typing import TYPE_CHECKING

from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import Column
from symscreen.fitting.laws.formula_pool import grow_formula_pool
from symscreen.fitting.laws.power_expressions import build_power_product
from symscreen.fitting.laws.power_products import compute_log_scale, find_best_factors
from symscreen.fitting.laws.single_index import invert_quotients

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen.fitting.laws.law import Law, LawData


_MAX_COMBINATIONS = 5_000  # combinations of inputs that are examined for groups
_MAX_POWER = 4  # of an input in a group
_MAX_GROUPS = 12
_POOL_LIMIT = 20_000  # formulas h


def find_laws_of_groups(data: LawData) -> list[Law]:
    """Find the best laws of the form y = c · Π xᵢ^aᵢ · h^p with a formula h of dimensionless groups.

    Parameters
    ----------
    data : LawData
        Inputs, target, grammar and units. Without units, and without products and quotients among the
        operators of the grammar, there are no laws of this form.

    Returns
    -------
    list of Law
        Best first; laws without an intercept.

    Examples
    --------
    >>> from symscreen.fitting.laws.law import LawData
    >>> from symscreen.grammar import load_grammar
    >>> from symscreen.units import Units, parse_unit
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> columns = dict(zip("cmv", rng.uniform([[3], [1], [1]], [[9], [5], [2]], (3, 300))))
    >>> target = columns["m"] * columns["v"] / np.sqrt(1 - (columns["v"] / columns["c"]) ** 2)
    >>> units = Units({name: parse_unit(text) for name, text in zip("cmv", ["m/s", "kg", "m/s"])})
    >>> laws = find_laws_of_groups(LawData(columns, target, load_grammar("standard"), units=units))
    >>> np.allclose(evaluate_expression(laws[0].terms[0], columns), target)
    True
    """
    scale = compute_log_scale(data.columns, data.target)
    has_products = {"mul", "div"} <= {operator.name for operator in data.grammar.binary}
    too_few_rows = len(data.target) <= scale.design.shape[1] + 2
    if data.units is None or not has_products or too_few_rows or not scale.weights.any():
        return []
    names = tuple(data.columns)
    exponents = [
        [] if unit is None else data.units.get_exponents(unit).tolist()
        for unit in map(data.units.columns.get, names)
    ]
    width = len(data.units.symbols)
    matrix = [list(map(Fraction, row or [0] * width)) for row in exponents]
    groups = [
        group
        for group in list_dimensionless_groups(matrix)
        if sum(map(bool, group)) == 1
        or all(name in scale.names for name, power in zip(names, group, strict=True) if power)
    ][:_MAX_GROUPS]
    if not groups or not any(map(any, matrix)):  # without any unit, the groups are the inputs
        return []
    leaves = tuple(
        build_power_product(
            [(Column(name), Fraction(power)) for name, power in zip(names, group, strict=True) if power]
        )
        for group in groups
    )
    columns = {name: values[data.pool_rows] for name, values in data.columns.items()}
    values = {str(leaf): evaluate_expression(leaf, columns) for leaf in leaves}
    pool = grow_formula_pool(values, data.grammar, _POOL_LIMIT)
    pool = replace(pool, leaves=(*leaves, *pool.leaves[len(leaves) :]))
    laws = find_best_factors(pool, 1.0, data, scale)
    return [replace(law, terms=tuple(map(invert_quotients, law.terms))) for law in laws]


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
        powers beyond ±4, or of so many inputs that there are too many combinations, are left out.

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
        powers = [int(power * scale) for power in traces[row]]
        divisor = gcd(*powers) * (1 if next(filter(None, powers)) > 0 else -1)
        return tuple(power // divisor for power in powers)
    return None

"""Find laws y = c · Π xᵢ^aᵢ · h(π₁, π₂, …) of the dimensionless groups πⱼ of inputs with units.

By the theorem of Buckingham (Phys. Rev. 4, 345, 1914), a law with units is a product of powers times a
function h of dimensionless groups. The groups are fewer and simpler arguments than the inputs, so a pool of
formulas of the groups contains much longer formulas h than a pool of formulas of the inputs.

The groups are those that contain no smaller group. They do not depend on a choice of reference quantities.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from symscreen.expressions.traversal import evaluate_expression
from symscreen.fitting.laws.formula_pool import grow_formula_pool
from symscreen.fitting.laws.group_products import find_group_products
from symscreen.fitting.laws.log_scale import compute_log_scale
from symscreen.fitting.laws.power_expressions import build_power_product, invert_quotients, list_column_powers
from symscreen.fitting.laws.power_products import find_best_factors
from symscreen.fitting.laws.unit_lattice import build_unit_lattice

if TYPE_CHECKING:
    from symscreen.fitting.laws.law import Law, LawData


_MAX_INVERTED = 3  # groups whose inverses are also variables of h
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
    scale = compute_log_scale(data.columns, data.target, data.units)
    too_few_rows = len(data.target) <= scale.design.shape[1] + 2
    if data.units is None or not data.has_products or too_few_rows or not scale.weights.any():
        return []
    names = tuple(data.columns)
    lattice = build_unit_lattice(data.units, names)
    groups = [
        group
        for group in lattice.groups
        if sum(map(bool, group)) == 1
        or all(name in scale.names for name, power in zip(names, group, strict=True) if power)
    ]
    if not groups or not lattice.vectors.any():  # without any unit, the groups are the inputs
        return []
    # the inverse of a group is as simple as the group
    inverses = [tuple(-power for power in group) for group in groups] if len(groups) <= _MAX_INVERTED else []
    leaves = tuple(
        build_power_product(list_column_powers(zip(names, group, strict=True)))
        for group in (*groups, *(each for each in inverses if sum(map(bool, each)) > 1))
    )
    columns = {name: values[data.pool_rows] for name, values in data.columns.items()}
    values = {str(leaf): evaluate_expression(leaf, columns) for leaf in leaves}
    pool = grow_formula_pool(values, data.grammar, _POOL_LIMIT)
    pool = replace(pool, leaves=(*leaves, *pool.leaves[len(leaves) :]))
    laws = [*find_group_products(pool, data, scale.names), *find_best_factors(pool, 1.0, data, scale)]
    return [replace(law, terms=tuple(map(invert_quotients, law.terms))) for law in laws]

"""Find laws y = c · M · h with a formula h of dimensionless groups and a power product M, on the scale of y.

Where the units are known, M is one of few products: those with the unit of the target. Each is combined with
each formula h, and the best c follows from inner products. No exponent is fitted and no logarithm is taken,
so noise disturbs less than in the search on the scale of logarithms, and y may have any sign.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen.expressions.traversal import evaluate_expression
from symscreen.fitting.laws.law import Law
from symscreen.fitting.laws.law_selection import FORM_SHARE_DIGITS
from symscreen.fitting.laws.power_expressions import build_power_product, list_column_powers
from symscreen.fitting.laws.unit_lattice import build_unit_lattice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.formula_pool import FormulaPool
    from symscreen.fitting.laws.law import LawData


_MAX_PRODUCTS = 60  # largest number of products M
_MAX_ROOT = 2  # largest denominator of an exponent in M
_BLOCK_FORMULAS = 1_024  # formulas that are compared together
_N_COMPARED = 200  # laws of each complexity of h that are compared on more rows
_MAX_COMPARED_ROWS = 4_000
_N_LAWS = 8  # number of laws for each complexity of h
_MAX_LAWS = 60
_FORMS_PER_FIT = 2  # number of laws with equal shares that are kept
_SMALLEST_SHARE = 1e-20


class _GroupProduct(NamedTuple):
    """A formula h and a product M, by their places, and what they leave of Σ y²."""

    share: float
    formula: int
    product: int


def find_group_products(pool: FormulaPool, data: LawData, names: Sequence[str]) -> list[Law]:
    """Find the best laws y = c · M · h.

    Parameters
    ----------
    pool : FormulaPool
        The dimensionless formulas h, with values on `LawData.pool_rows`.
    data : LawData
        Inputs, target and units.
    names : sequence of str
        The inputs of M; they have no zeros.

    Returns
    -------
    list of Law
        Laws without an intercept, at most 8 for each complexity of h and 60 in all. There are none if the
        unit of the target is not given, or no product has it.
    """
    powers = list_products(data, names)
    if not powers:
        return []
    products = [build_power_product(list_column_powers(each)) for each in powers]
    candidates = _scan(pool, products, data)
    rows = data.select_rows(_MAX_COMPARED_ROWS)
    if len(rows) > len(data.pool_rows):
        candidates = _compare_again(candidates, pool, products, data, rows)
    sizes = _count_not_larger([sum(abs(power) for _, power in each) for each in powers])
    counts = _count_not_larger(pool.complexity.tolist())
    laws: list[tuple[float, Law]] = []
    n_found: dict[int, int] = {}
    for each in candidates:
        complexity = int(pool.complexity[each.formula])
        if n_found.get(complexity, 0) >= _N_LAWS:
            continue
        term = _multiply(powers[each.product], pool.build_expression(each.formula))
        law = Law((term,), has_intercept=False, search_size=counts[each.formula] * sizes[each.product])
        if np.isfinite(evaluate_expression(term, data.columns)).all() and data.allows(law):
            n_found[complexity] = n_found.get(complexity, 0) + 1
            laws.append((each.share, law))
    laws.sort(key=lambda each: each[0])
    return [law for _, law in laws[:_MAX_LAWS]]


def list_products(data: LawData, names: Sequence[str]) -> list[list[tuple[str, Fraction]]]:
    """Return the exponents of the simplest products with the unit of the target, simplest first."""
    lattice, unit = build_unit_lattice(data.units, tuple(names)) if data.units else None, data.target_unit
    if lattice is None or unit is None:
        return []
    listed = lattice.list_powers(unit, _MAX_PRODUCTS)
    return [
        list(zip(names, powers, strict=True))
        for powers in listed
        if all(power.denominator <= _MAX_ROOT for power in powers)
    ]


def _multiply(powers: Sequence[tuple[str, Fraction]], formula: Expression) -> Expression:
    """Build M·h."""
    return build_power_product([*list_column_powers(powers), (formula, Fraction(1))])


def _scan(pool: FormulaPool, products: Sequence[Expression], data: LawData) -> list[_GroupProduct]:
    """Compare all formulas with all products on the rows of the pool; the best of each complexity."""
    columns = {name: values[data.pool_rows] for name, values in data.columns.items()}
    target = data.target[data.pool_rows]
    factors = _evaluate(products, columns, len(target))
    found: list[_GroupProduct] = []
    for complexity in np.unique(pool.complexity).tolist():
        places = np.flatnonzero(pool.complexity == complexity)
        candidates: list[_GroupProduct] = []
        for start in range(0, len(places), _BLOCK_FORMULAS):
            block = places[start : start + _BLOCK_FORMULAS]
            shares = _compute_shares(pool.values[block], factors, target)
            flat = shares.ravel()
            best = np.argpartition(flat, min(_N_COMPARED, len(flat) - 1))[:_N_COMPARED]
            rows, columns_of_best = np.unravel_index(best, shares.shape)
            candidates += map(
                _GroupProduct, flat[best].tolist(), block[rows].tolist(), columns_of_best.tolist()
            )
        found += _keep_best(candidates, _N_COMPARED)
    return found


def _compare_again(
    candidates: Sequence[_GroupProduct],
    pool: FormulaPool,
    products: Sequence[Expression],
    data: LawData,
    rows: NDArray[np.int64],
) -> list[_GroupProduct]:
    """Compare candidates on other rows; the best of each complexity first."""
    columns = {name: values[rows] for name, values in data.columns.items()}
    target = data.target[rows]
    factors = _evaluate(products, columns, len(rows))
    again: dict[int, list[_GroupProduct]] = {}
    for each in candidates:
        values = evaluate_expression(pool.build_expression(each.formula), columns) * np.ones(len(rows))
        share = float(_compute_shares(values[None], factors[each.product][None], target)[0, 0])
        again.setdefault(int(pool.complexity[each.formula]), []).append(each._replace(share=share))
    return [each for group in again.values() for each in _keep_best(group, _N_COMPARED)]


def _evaluate(products: Sequence[Expression], columns: dict[str, Values], n: int) -> Values:
    """Evaluate the products, shape (m, n), relative to their largest values."""
    values = np.array([evaluate_expression(each, columns) * np.ones(n) for each in products])
    return np.asarray(values / np.abs(values).max(axis=1, keepdims=True))


def _compute_shares(values: Values, factors: Values, target: Values) -> Values:
    """Return the share of Σ y² that y = c·M·h leaves for each formula and product, shape (q, m)."""
    with np.errstate(all="ignore"):
        scaled = values / np.abs(values).max(axis=1, keepdims=True)
        products = scaled @ (factors * target).T
        squares = scaled**2 @ (factors**2).T
        shares = 1.0 - products**2 / squares / float(target @ target)
    return np.where(np.isfinite(shares), np.maximum(shares, _SMALLEST_SHARE), np.inf)


def _keep_best(candidates: Sequence[_GroupProduct], limit: int) -> list[_GroupProduct]:
    """Return the candidates with the smallest shares; few of those with equal shares."""
    n_forms: dict[float, int] = {}
    kept = []
    for each in sorted(candidates):
        share = float(f"{each.share:.{FORM_SHARE_DIGITS}g}")
        n_forms[share] = n_forms.get(share, 0) + 1
        if np.isfinite(share) and n_forms[share] <= _FORMS_PER_FIT:
            kept.append(each)
        if len(kept) >= limit:
            break
    return kept


def _count_not_larger(sizes: Sequence[Fraction | int]) -> list[float]:
    """Count for each of the sizes how many are not larger."""
    ordered = np.sort([float(size) for size in sizes])
    return [float(np.searchsorted(ordered, float(size), side="right")) for size in sizes]

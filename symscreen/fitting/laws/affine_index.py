"""Find laws y = M(x) · (c + d·h(θ)^p), such as the kinetic energy m·c²·(1/√(1 − v²/c²) − 1).

θ and M are products of powers of the inputs, as in `symscreen.fitting.laws.single_index`. M alone is
projected out of y and of all products M·h(θ)^p. What is left of y is then compared with what is left of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import Constant
from symscreen.fitting.laws.exponents import count_allowed_exponents
from symscreen.fitting.laws.law import Law
from symscreen.fitting.laws.law_selection import round_share
from symscreen.fitting.laws.power_expressions import build_power_product, list_column_powers
from symscreen.fitting.laws.scaled_index import FUNCTION_POWERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from symscreen._typing import Values
    from symscreen.fitting.laws.formula_pool import FormulaPool
    from symscreen.fitting.laws.law import LawData
    from symscreen.fitting.laws.log_scale import LogScale


_INDEX_POWERS = tuple(map(Fraction, (0, 1, -1, 2)))  # exponents of θ by which M may differ from its estimate
_N_FORMULAS = 1_000  # number of functions h, the simplest ones
_N_PER_POWER, _N_FITTED = 10, 8
_MIN_LEFT = 1e-12  # share of a product's square that M must leave


@dataclass(frozen=True, eq=False)
class _IndexFunction:
    """A function h by its index in the pool, p, the exponents in M, and the share of Σ y² that is left."""

    formula: int
    power: Fraction
    outer: list[Fraction]
    share: float


def find_affine_index_laws(
    pool: FormulaPool,
    index: Sequence[Fraction],
    outer: Sequence[Fraction],
    n_indices: float,
    data: LawData,
    scale: LogScale,
) -> list[Law]:
    """Find the best laws y = c·M + d·M·h(θ)^p.

    Parameters
    ----------
    pool : FormulaPool
        The functions h(θ), with values on `LawData.pool_rows`.
    index : sequence of Fraction
        Exponents in θ of the inputs without zeros; at least one is not 0.
    outer : sequence of Fraction
        Exponents in M, which is determined up to a power of θ.
    n_indices : float
        Number of products θ that this one was chosen from.
    data : LawData
        Inputs, target and grammar.
    scale : LogScale
        The logarithms of target and inputs.

    Returns
    -------
    list of Law
        At most eight laws, best first. They have two terms, or one and an intercept if M is the number 1.
    """
    candidates: list[_IndexFunction] = []
    for index_power in _INDEX_POWERS:
        powers = [own + index_power * power for own, power in zip(outer, index, strict=True)]
        if all(power.denominator <= 2 for power in powers):
            candidates += _compare_functions(pool, powers, data, scale)
    best: dict[float, _IndexFunction] = {}  # one of each share, since (1/θ)² and θ² with p = -1 are equal
    for each in sorted(candidates, key=lambda each: (each.share, pool.complexity[each.formula])):
        best.setdefault(round_share(each.share), each)
    laws = (_build_law(each, pool, n_indices, data, scale) for each in islice(best.values(), _N_FITTED))
    return [law for law in laws if law is not None]


def _compare_functions(
    pool: FormulaPool, outer: list[Fraction], data: LawData, scale: LogScale
) -> Iterator[_IndexFunction]:
    """Yield the best functions of each exponent p for one M."""
    rows = data.pool_rows
    columns = {name: values[rows] for name, values in data.columns.items()}
    product = build_power_product(list_column_powers(zip(scale.names, outer, strict=True)))
    factor = evaluate_expression(product, columns) * np.ones(len(rows))
    norm = float(np.linalg.norm(factor))
    if not np.isfinite(norm) or norm == 0.0:
        return
    direction = factor / norm
    target = _project_out(data.target[rows][None], direction)[0]
    total, square = float(target @ target), float(data.target[rows] @ data.target[rows])
    if total == 0.0:
        return
    for power in FUNCTION_POWERS:
        with np.errstate(all="ignore"):
            products = pool.values[:_N_FORMULAS] ** float(power) * factor
            squares = (products**2).sum(axis=1)
            remainders = _project_out(products, direction)
            remaining_squares = (remainders**2).sum(axis=1)
            shares = (total - (remainders @ target) ** 2 / remaining_squares) / square
        is_usable = np.isfinite(shares) & (remaining_squares > _MIN_LEFT * squares)
        shares = np.where(is_usable, np.maximum(shares, 0.0), np.inf)
        for formula in np.argsort(shares, kind="stable")[:_N_PER_POWER].tolist():
            if np.isfinite(shares[formula]):
                yield _IndexFunction(formula, power, outer, float(shares[formula]))


def _project_out(rows: Values, direction: Values) -> Values:
    """Project a direction of norm 1 out of rows, shape (k, n)."""
    return np.asarray(rows - (rows @ direction)[:, None] * direction)


def _build_law(
    candidate: _IndexFunction, pool: FormulaPool, n_indices: float, data: LawData, scale: LogScale
) -> Law | None:
    """Write a candidate as a law; None if it is undefined in a row or not allowed."""
    inputs = list_column_powers(zip(scale.names, candidate.outer, strict=True))
    function = pool.build_expression(candidate.formula)
    terms = [build_power_product([*inputs, (function, candidate.power)]), build_power_product(inputs)]
    has_intercept = terms[1] == Constant(1)
    if has_intercept:
        terms = terms[:1]
    n_functions = min(len(pool), _N_FORMULAS) * len(FUNCTION_POWERS) * len(_INDEX_POWERS)
    law = Law(
        tuple(terms),
        has_intercept=has_intercept,
        search_size=n_indices * n_functions * count_allowed_exponents(candidate.outer, scale),
    )
    values = [evaluate_expression(term, data.columns) for term in terms]
    return law if np.isfinite(values).all() and data.allows(law) else None

"""Terms of right-hand sides: formulas of the grammar, and terms with a constant inside.

The formulas are the simplest ones of the pool that `symscreen.fit` grows, without the constants of the
grammar, because each term gets a coefficient. Terms with a constant inside are a saturation, f/(c + g), and a
function of a scaled column, such as exp(c·x). Their constants are first tried on a grid and fitted later.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.traversal import (
    collect_columns,
    compute_complexity,
    evaluate_expression,
    iterate_constants,
)
from symscreen.expressions.tree import Call, Column, Constant, apply_operator
from symscreen.fitting.laws.formula_pool import grow_formula_pool
from symscreen.grammar import OPERATORS
from symscreen.statistics.spread_places import select_spread_places

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from symscreen._typing import Integers, Values
    from symscreen.expressions.tree import Expression
    from symscreen.grammar import Grammar


# values of constants, relative to the size of what they are added to
_GRID = np.geomspace(0.01, 10.0, 19).tolist()
_SCALES = (0.3, 0.5, 1.5, 2.0, 3.0)  # factors inside a function that are tried besides 1
_SCALED_FUNCTIONS = ("exp", "sin", "cos", "tanh")
_MAX_CYCLES = 40.0  # largest number of cycles of a wave in time
# largest complexity of a formula; otherwise few operators would give ever longer formulas
_MAX_COMPLEXITY = 9
_MIN_CARRYING = 10.0  # smallest number of nodes, about, on which a term is not near 0
_N_COMPARED, _COMPARED_DIGITS = 48, 9  # nodes on which terms are compared, and digits of these values
_MAX_SQUARE = 1e16  # largest mean square of the values of a term
_MAX_FACTOR, _MAX_PRODUCT = 3, 6  # largest complexities of a factor, and of a product of two factors
_MAX_WRONG_SIGN = 0.1  # largest share of the nodes at which noise may give the other sign
_MAX_DEGREE = 3  # largest degree of a basic term
_MAX_NUMERATOR, _MAX_SATURATED = 3, 2  # largest complexities of f and of g in f/(c + g)
_MUL, _DIV, _ADD = (OPERATORS[name] for name in ("mul", "div", "add"))


@dataclass(frozen=True, eq=False)
class TermLibrary:
    """Terms with their values at the nodes of a regression problem.

    Parameters
    ----------
    expressions : tuple of Expression
        The terms, length q; the first is the constant 1.
    values : float64 array, shape (q, m)
        Their values.
    complexities : int64 array, shape (q,)
        Their complexities.
    search_costs : float64 array, shape (q,)
        Logarithm of the number of terms that are not more complex; trial constants are not counted.
    """

    expressions: tuple[Expression, ...]
    values: Values
    complexities: Integers
    search_costs: Values


def build_term_library(
    columns: Mapping[str, Values], grammar: Grammar, n_formulas: int, time: str | None = None
) -> TermLibrary:
    """Build the terms from the columns of a system.

    Parameters
    ----------
    columns : mapping of str to float64 array, shape (m,)
        The states and inputs at the nodes.
    grammar : Grammar
        The operators; its constants are left out.
    n_formulas : int
        How many formulas of the pool are taken.
    time : str, optional
        The column of time, if it is an input: waves in time are tried with many frequencies.

    Returns
    -------
    TermLibrary
    """
    limit = min(grammar.max_complexity or _MAX_COMPLEXITY, _MAX_COMPLEXITY)
    terms = replace(grammar, constants=(), max_complexity=limit)
    pool = grow_formula_pool(columns, terms, n_formulas)
    formulas: list[Expression] = []
    sizes: list[int] = []
    for index in range(len(pool.complexity)):
        formula = pool.build_expression(index)
        if not _is_sum(formula):
            formulas.append(formula)
            sizes.append(compute_complexity(formula))
    with_constants = [*_list_saturations(formulas, sizes, columns, grammar)]
    with_constants += _list_scaled_functions(columns, grammar, time)
    expressions: list[Expression] = [Constant(1)]
    values = [np.ones(pool.values.shape[1])]
    for expression in [*formulas, *_list_products(formulas), *with_constants]:
        column = evaluate_expression(expression, columns)
        if np.isfinite(column).all() and np.ptp(column) > 0.0:
            values.append(column)
            expressions.append(expression)
    stacked = np.array(values)
    with np.errstate(all="ignore"):
        square = (stacked**2).mean(axis=1)
        n_carrying = square**2 / (stacked**4).mean(axis=1) * stacked.shape[1]
    is_usable = np.isfinite(n_carrying) & (n_carrying >= _MIN_CARRYING) & (square < _MAX_SQUARE)
    kept = _drop_multiples(stacked, np.flatnonzero(is_usable))
    expressions = [expressions[place] for place in kept]
    complexities = np.array([compute_complexity(each) for each in expressions])
    shares = np.array([1.0 / len(_GRID) if _has_fitted_constants(each) else 1.0 for each in expressions])
    order = np.argsort(complexities, kind="stable")
    totals = np.concatenate(([0.0], np.cumsum(shares[order])))
    counts = totals[np.searchsorted(complexities[order], complexities, side="right")]
    return TermLibrary(tuple(expressions), stacked[kept], complexities, np.log(np.maximum(counts, 1.0)))


def _has_fitted_constants(expression: Expression) -> bool:
    """Return whether a formula has a fitted constant inside."""
    return any(each.fitted for each in iterate_constants(expression))


def _drop_multiples(values: Values, places: Integers) -> Integers:
    """Keep the first of terms that are multiples of each other."""
    rows = select_spread_places(values.shape[1], _N_COMPARED)
    compared = values[places][:, rows]
    norms = np.linalg.norm(compared, axis=1)
    places, compared = places[norms > 0.0], compared[norms > 0.0] / norms[norms > 0.0, None]
    largest = np.argmax(np.abs(compared).round(_COMPARED_DIGITS), axis=1)
    signs = np.sign(compared[np.arange(len(compared)), largest])
    keys = (compared * signs[:, None]).round(_COMPARED_DIGITS) + 0.0
    return np.asarray(places[np.sort(np.unique(keys, axis=0, return_index=True)[1])])


def _list_saturations(
    formulas: Sequence[Expression],
    complexities: Sequence[int],
    columns: Mapping[str, Values],
    grammar: Grammar,
) -> Iterator[Expression]:
    """Yield the terms f/(c + g) with simple f and g of one sign, and constants c of this sign.

    Noise may give few values of g the other sign.
    """
    if not any(operator.name == "div" for operator in grammar.binary):
        return
    numerators = [each for each, size in zip(formulas, complexities, strict=True) if size <= _MAX_NUMERATOR]
    saturated = [each for each, size in zip(formulas, complexities, strict=True) if size <= _MAX_SATURATED]
    products = [each for each in numerators if _is_product(each)]
    for inner in [each for each in saturated if _is_product(each)]:
        values = evaluate_expression(inner, columns)
        size, sign = float(np.median(np.abs(values))), 1.0 if np.median(values) > 0.0 else -1.0
        if size == 0.0 or np.quantile(sign * values, _MAX_WRONG_SIGN) < 0.0:
            continue
        least = max(0.0, -2.0 * float((sign * values).min()))  # keeps the denominator away from 0
        for constant in [relative * size for relative in _GRID if relative * size > least]:
            denominator = apply_operator(_ADD, Constant(sign * constant, fitted=True), inner)
            for numerator in (Constant(1), *products):
                yield apply_operator(_DIV, numerator, denominator)


def _is_sum(expression: Expression) -> bool:
    """Return whether a formula is a sum when it is expanded; the terms of a sum are terms of their own."""
    if not isinstance(expression, Call):
        return False
    name, arguments = expression.operator.name, expression.arguments
    if name in {"add", "sub", "neg"}:
        return True
    if name == "mul":
        return any(map(_is_sum, arguments))
    return name in {"square", "cube", "div"} and _is_sum(arguments[0])


def list_basic_terms(library: TermLibrary) -> list[int]:
    """List the places of monomials up to degree 3, and of waves of one column; the simplest first."""
    found = []
    for place, term in enumerate(library.expressions):
        degree = _find_degree(term)
        is_wave = isinstance(term, Call) and term.operator.name in {"sin", "cos"}
        if is_wave and isinstance(term, Call) and isinstance(term.arguments[0], Column):
            found.append((2, place))
        elif degree is not None and degree <= _MAX_DEGREE:
            found.append((degree, place))
    return [place for _, place in sorted(found)]


def _find_degree(expression: Expression) -> int | None:
    """Return the degree of a monomial; None for other formulas."""
    if isinstance(expression, Column):
        return 1
    if isinstance(expression, Constant):
        return 0 if expression == Constant(1) else None
    degrees = [_find_degree(each) for each in expression.arguments]
    factor = {"mul": 1, "square": 2, "cube": 3}.get(expression.operator.name)
    if factor is None or None in degrees:
        return None
    return factor * sum(each for each in degrees if each is not None)


def _list_products(formulas: Sequence[Expression]) -> Iterator[Expression]:
    """Yield the products of two simple functions of one column each, such as sin(x)*cos(y)**2."""
    factors = []
    for formula in formulas:
        names, size = collect_columns(formula), compute_complexity(formula)
        if len(names) == 1 and size <= _MAX_FACTOR:
            factors.append((formula, names, size))
    for (first, own, size), (second, other, other_size) in combinations(factors, 2):
        if own != other and size + other_size < _MAX_PRODUCT:
            yield apply_operator(_MUL, first, second)


def _is_product(expression: Expression) -> bool:
    """Return whether a formula is a column, a power or a product."""
    if isinstance(expression, Column):
        return True
    return not isinstance(expression, Constant) and expression.operator.name in {"mul", "square", "cube"}


def _list_scaled_functions(
    columns: Mapping[str, Values], grammar: Grammar, time: str | None
) -> Iterator[Expression]:
    """Yield functions of a column with a factor, such as exp(c·x) and cos(c·t)."""
    functions = [operator for operator in grammar.unary if operator.name in _SCALED_FUNCTIONS]
    for name, values in columns.items():
        span = float(np.ptp(values))
        for operator in functions:
            is_wave = operator.name in {"sin", "cos"}
            factors: Sequence[float] = _SCALES
            if name == time and is_wave and span > 0.0:
                factors = (2.0 * np.pi / span * np.arange(0.5, _MAX_CYCLES, 0.5)).tolist()
            elif operator.name == "exp":
                unit = 1.0 / span if span > 0.0 else 1.0
                factors = [sign * unit * factor for factor in (0.5, 1.0, 2.0, 4.0) for sign in (1.0, -1.0)]
            for factor in factors:
                scaled = apply_operator(_MUL, Constant(factor, fitted=True), Column(name))
                yield apply_operator(operator, scaled)

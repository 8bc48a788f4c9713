"""Candidates for the terms of a model of groups: formulas of a pool or a space, and products of factors.

The factors are powers, and functions of one input whose constant has a few values over the range of the
input, such as exp(−c·x). The constants of the best candidates are fitted afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.grammar_rules import is_expressible
from symscreen.expressions.traversal import (
    collect_columns,
    compute_complexity,
    evaluate_expression,
    iterate_constants,
    rebuild_expression,
)
from symscreen.expressions.tree import Call, Column, Constant, apply_operator
from symscreen.fitting.laws.formula_pool import grow_formula_pool
from symscreen.fitting.laws.power_expressions import build_power_product
from symscreen.grammar import OPERATORS
from symscreen.screening.scoring.best_features import find_simplest_features

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.expansion import Space
    from symscreen.expressions.tree import Expression
    from symscreen.grammar import Grammar


_RATES = (0.35, 0.7, 1.2, 2.0, 3.5, 6.0)  # rates of exponentials, relative to the inverse of an input's range
# rates of hyperbolic tangents and bell curves, relative to the inverse of an input's range
_SATURATIONS = (0.7, 2.0, 6.0)
_FREQUENCIES = (1.5, 3.0, 5.0, 8.0, 12.0)  # frequencies of waves: radians over the range of an input
_SHIFTS = (0.1, 0.5, 2.0)  # shifts c in 1/(x + c) and log(x + c), relative to the range of the input
_POWERS = (Fraction(1), Fraction(-1), Fraction(2), Fraction(-2), Fraction(1, 2), Fraction(-1, 2), Fraction(3))
_MAX_VALUE = 1e100
_SIGNATURE_DIGITS = 9  # number of digits to which equal values agree
_SCALED_FUNCTIONS = frozenset({"exp", "sin", "cos", "tan", "tanh"})  # functions whose argument gets a factor


@dataclass(frozen=True, eq=False)
class CandidateTerms:
    """Candidates for terms, simplest first.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        Their values, finite.
    complexity : int64 array, shape (q,)
        Their complexity.
    build : tuple of callable
        Builds the expression of each.
    """

    values: Values
    complexity: NDArray[np.int64]
    build: tuple[Callable[[], Expression], ...]

    def __len__(self) -> int:
        return len(self.complexity)

    def count_as_simple(self, complexity: int) -> float:
        """Count the candidates that are not more complex, at least 1."""
        return max(1.0, float((self.complexity <= complexity).sum()))


def list_pool_terms(columns: Mapping[str, Values], grammar: Grammar, limit: int) -> CandidateTerms:
    """List the simplest formulas of a grammar; see `symscreen.fitting.laws.formula_pool`."""
    pool = grow_formula_pool(columns, grammar, limit)
    kept = np.flatnonzero(np.ptp(pool.values, axis=1) > 0.0)
    build = tuple(_make_builder(pool.build_expression, index) for index in kept.tolist())
    return CandidateTerms(pool.values[kept], pool.complexity[kept], build)


def list_space_terms(space: Space, limit: int) -> CandidateTerms:
    """List the simplest features of a space."""
    numbers = find_simplest_features(space, limit)
    complexity = space.get_metadata(numbers).complexity.astype(np.int64)
    order = np.argsort(complexity, kind="stable")
    build = tuple(_make_builder(space.build_expression, number) for number in numbers[order].tolist())
    return CandidateTerms(space.compute_values(numbers[order]), complexity[order], build)


def _make_builder(build: Callable[[int], Expression], number: int) -> Callable[[], Expression]:
    return lambda: build(number)


def list_given_terms(expressions: Sequence[Expression], columns: Mapping[str, Values]) -> CandidateTerms:
    """List terms that were given as expressions."""
    n = len(next(iter(columns.values())))
    values = np.array([evaluate_expression(each, columns) for each in expressions]).reshape(-1, n)
    complexity = np.array([compute_complexity(each) for each in expressions], dtype=np.int64)
    return CandidateTerms(values, complexity, tuple(_make_constant(each) for each in expressions))


def _make_constant(expression: Expression) -> Callable[[], Expression]:
    return lambda: expression


def list_factor_products(columns: Mapping[str, Values], grammar: Grammar, limit: int) -> CandidateTerms:
    """List functions of one input, and products of two or three factors, with fitted constants.

    Parameters
    ----------
    columns : mapping of str to float64 array, shape (n,)
        The inputs by name.
    grammar : Grammar
        Only products that it can express are listed.
    limit : int
        About the largest number of products; simple ones come first.

    Returns
    -------
    CandidateTerms

    Examples
    --------
    >>> from symscreen.grammar import load_grammar
    >>> columns = {"x": np.array([1.0, 2.0, 3.0]), "z": np.array([2.0, 1.0, 5.0])}
    >>> terms = list_factor_products(columns, load_grammar("standard"), 5000)
    >>> any(str(build()) == "x*exp(-0.5*z)" for build in terms.build)
    True
    """
    powers: list[tuple[Expression, ...]] = []
    functions: list[Expression] = []
    for name, values in columns.items():
        own = [_build_power(name, power) for power in _POWERS]
        powers.append(tuple(each for each in own if is_expressible(each, grammar)))
        functions += [each for each in _list_functions(name, values) if is_expressible(each, grammar)]
    factors = [each for own in powers for each in own] + functions
    known = {each: evaluate_expression(each, columns) for each in factors}
    products: list[tuple[int, int, tuple[Expression, ...]]] = []
    for parts in _iterate_products(powers, functions):
        complexity = sum(map(compute_complexity, parts)) + len(parts) - 1
        products.append((complexity, len(products), parts))
    products.sort(key=lambda each: each[:2])
    kept_values, complexities, builders = [], [], []
    for complexity, _, parts in products[:limit]:
        values = known[parts[0]]
        for part in parts[1:]:
            values = values * known[part]
        kept_values.append(values)
        complexities.append(complexity)
        builders.append(_make_product_builder(parts))
    n = len(next(iter(columns.values())))
    return CandidateTerms(
        np.array(kept_values).reshape(-1, n), np.array(complexities, dtype=np.int64), tuple(builders)
    )


def _build_power(name: str, power: Fraction) -> Expression:
    return build_power_product([(Column(name), power)])


def _list_functions(name: str, values: Values) -> Iterator[Expression]:
    """List functions of an input with a constant, at a few values of the constant."""
    column, spread = Column(name), float(np.ptp(values))
    if not 0.0 < spread < np.inf:
        return
    yield apply_operator(OPERATORS["log"], column)
    for rate in _RATES:
        for sign in (-1.0, 1.0):
            yield _apply_scaled("exp", sign * rate / spread, column)
    for rate in _SATURATIONS:
        yield _apply_scaled("tanh", rate / spread, column)
    for frequency in _FREQUENCIES:
        yield _apply_scaled("sin", frequency / spread, column)
        yield _apply_scaled("cos", frequency / spread, column)
    square = apply_operator(OPERATORS["square"], column)
    largest = float(np.abs(values).max())
    for rate in _SATURATIONS:
        yield _apply_scaled("exp", -rate / (spread * largest), square)
    for shift in _SHIFTS:
        if values.min() + shift * spread > 0.0:
            shifted = apply_operator(OPERATORS["add"], column, Constant(shift * spread, fitted=True))
            yield apply_operator(OPERATORS["inv"], shifted)
            yield apply_operator(OPERATORS["log"], shifted)


def _apply_scaled(operator: str, factor: float, argument: Expression) -> Expression:
    scaled = apply_operator(OPERATORS["mul"], Constant(factor, fitted=True), argument)
    return apply_operator(OPERATORS[operator], scaled)


def _iterate_products(
    powers: Sequence[tuple[Expression, ...]], functions: Sequence[Expression]
) -> Iterator[tuple[Expression, ...]]:
    """Yield functions, and products of two or three powers and functions."""
    all_powers = [each for own in powers for each in own]
    for function in functions:
        yield (function,)
    yield from product(all_powers, functions)
    for left, right in combinations(functions, 2):
        if collect_columns(left) != collect_columns(right):
            yield left, right
    for first, second in combinations(range(len(powers)), 2):
        yield from product(powers[first], powers[second])
        for function in functions:  # the two simplest powers of each
            for pair in product(powers[first][:2], powers[second][:2]):
                yield *pair, function
    for chosen in combinations(powers, 3):
        yield from product(*(own[:3] for own in chosen))


def _make_product_builder(parts: Sequence[Expression]) -> Callable[[], Expression]:
    return lambda: _build_product(parts)


def _build_product(parts: Sequence[Expression]) -> Expression:
    """Multiply factors as one fraction; inverses go below the line.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(_build_product([parse_expression("1/x"), parse_expression("exp(z)")]))
    exp(z)/x
    """
    powers: list[tuple[Expression, Fraction]] = []
    for part in parts:
        base, power = part, Fraction(1)
        while isinstance(base, Call) and base.operator.name in _FACTORS_OF_POWERS:
            power *= _FACTORS_OF_POWERS[base.operator.name]
            base = base.arguments[0]
        powers.append((base, power))
    return build_power_product(powers)


_FACTORS_OF_POWERS = {
    "inv": Fraction(-1),
    "square": Fraction(2),
    "cube": Fraction(3),
    "sqrt": Fraction(1, 2),
}


def merge_candidates(parts: Sequence[CandidateTerms], n_rows: int) -> CandidateTerms:
    """Merge candidates, simplest first; of those with proportional values, only the simplest is kept."""
    values = np.vstack([np.empty((0, n_rows)), *(part.values for part in parts)])
    complexity = np.concatenate([np.empty(0, dtype=np.int64), *(part.complexity for part in parts)])
    build = [each for part in parts for each in part.build]
    with np.errstate(all="ignore"):
        usable = np.flatnonzero((np.abs(values) < _MAX_VALUE).all(axis=1) & (values != 0.0).any(axis=1))
    order = usable[np.argsort(complexity[usable], kind="stable")]
    leads = np.abs(values[order]).argmax(axis=1)
    scaled = values[order] / values[order, leads][:, None]
    signatures = scaled.round(_SIGNATURE_DIGITS) + 0.0
    known = dict[bytes, int]()
    for index, signature in zip(order.tolist(), signatures, strict=True):
        known.setdefault(signature.tobytes(), index)
    kept = np.array(list(known.values()), dtype=np.int64)
    return CandidateTerms(values[kept], complexity[kept], tuple(build[index] for index in kept.tolist()))


def add_inner_factors(term: Expression) -> Expression | None:
    """Multiply the arguments of exponentials and waves by fitted constants, which start at 1.

    Returns
    -------
    Expression or None
        None if there is no such function, or if it has a fitted constant.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(add_inner_factors(parse_expression("x*exp(y/z)")))
    x*exp(1.0*y/z)
    """
    if any(each.fitted for each in iterate_constants(term)):
        return None
    n_added = 0

    def build_call(call: Call, arguments: list[Expression]) -> Expression:
        nonlocal n_added
        if call.operator.name in _SCALED_FUNCTIONS and collect_columns(call):
            n_added += 1
            arguments = [_multiply_first_factor(arguments[0])]
        return Call(call.operator, tuple(arguments))

    scaled = rebuild_expression(rebuild_expression(term, call=build_call), call=_multiply_exponential)
    return scaled if n_added else None


def _multiply_exponential(call: Call, arguments: list[Expression]) -> Expression:
    """Apply an operator; a quotient by exp(c·u) with a fitted c becomes a product with exp(−c·u)."""
    divisor = arguments[-1]
    if call.operator.name not in {"div", "inv"} or not isinstance(divisor, Call):
        return Call(call.operator, tuple(arguments))
    negated = _negate_first_factor(divisor.arguments[0]) if divisor.operator.name == "exp" else None
    if negated is None:
        return Call(call.operator, tuple(arguments))
    factor = Call(divisor.operator, (negated,))
    if call.operator.name == "inv" or arguments[0] == Constant(1):
        return factor
    return apply_operator(OPERATORS["mul"], arguments[0], factor)


def _negate_first_factor(term: Expression) -> Expression | None:
    """Change the sign of the fitted constant that a term begins with; None without one."""
    match term:
        case Constant(value) if term.fitted:
            return Constant(-value, fitted=True)
        case Call(operator, (left, right)) if operator.name in {"mul", "div"}:
            negated = _negate_first_factor(left)
            return None if negated is None else Call(operator, (negated, right))
    return None


def _multiply_first_factor(term: Expression) -> Expression:
    """Multiply the first factor of a term by a fitted constant of 1."""
    match term:
        case Constant(value):
            return Constant(float(value), fitted=True)
        case Call(operator, (argument,)) if operator.name == "inv":
            return apply_operator(OPERATORS["div"], Constant(1.0, fitted=True), argument)
        case Call(operator, (left, right)) if operator.name in {"mul", "div"}:
            return apply_operator(operator, _multiply_first_factor(left), right)
    return apply_operator(OPERATORS["mul"], Constant(1.0, fitted=True), term)

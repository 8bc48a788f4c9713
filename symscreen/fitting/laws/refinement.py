"""Fit the constants inside the terms of a law on the scale of the target, and make them simple numbers.

The outer coefficients of a law are optimal for given inner constants, so only the inner ones are searched
(variable projection, as in `symscreen.fitting.constants`). Then the constants become simple numbers one after
the other, simplest first. After each one the others are fitted again, and an F test against the fit without
restrictions decides. Its level is lower for numbers that are hardly near by chance, see
`find_simple_numbers`. For an exact law, the residuals must stay at the size of rounding errors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.expressions.traversal import (
    collect_columns,
    evaluate_expression,
    iterate_constants,
    iterate_postorder,
    rebuild_expression,
)
from symscreen.expressions.tree import Call, Column, Constant, apply_operator
from symscreen.fitting.constants import negate_leading_number
from symscreen.fitting.laws.power_expressions import build_power_product
from symscreen.fitting.laws.simple_numbers import (
    EVIDENT_LEVEL,
    find_simple_numbers,
    measure_number,
    write_number,
)
from symscreen.grammar import OPERATORS
from symscreen.linear_models.row_weights import scale_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from symscreen._typing import Flags, Values
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.law import Law, LawData


_LEVEL = 0.95  # confidence level of the F test
_EXACT_RESIDUAL = 1e-9  # root mean square of an exact law's residuals, relative to that of the target
_RELATIVE_RADIUS = 1e-7  # largest relative rounding error of a constant of an exact law
_ROUNDING = 1e-13  # size of an addend that is rounding, relative to the other addend
_MAX_EVALUATIONS = 60
_MIN_PIVOT = 1e-13
# exponents of powers that have a notation of their own
_NAMED_POWERS = frozenset({-1.0, 0.5, 1.0, 2.0, 3.0})
_DIVISORS = {0.5: 2, 0.25: 4, 0.125: 8}  # decimals that are written as divisions


@dataclass(frozen=True, eq=False)
class _Fit:
    """Fitted constants, the sum of squared residuals, and the derivatives of the residuals, shape (n, p)."""

    constants: Values
    square: float
    jacobian: Values


def refine_law(law: Law, data: LawData) -> Law | None:
    """Fit the inner constants of a law, and replace them by simple numbers where the data allow it.

    Parameters
    ----------
    law : Law
        A law whose inner constants are marked as fitted. They are the start of the fit.
    data : LawData
        The inputs and the target.

    Returns
    -------
    Law or None
        The law with other constants. Constants that became simple are no longer marked as fitted. They count
        as constants, or by the numbers that are as simple, which multiply the search size, if this costs
        less. None if the law is undefined in some row or the data do not determine its constants.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> from symscreen.fitting.laws.law import Law, LawData
    >>> from symscreen.grammar import load_grammar
    >>> x, z = np.random.default_rng(0).uniform(1, 3, (2, 100))
    >>> start = rebuild_expression(parse_expression("sqrt(x + 1.8*z)"), number=lambda number: Constant(
    ...     number.value, fitted=True))
    >>> data = LawData({"x": x, "z": z}, 5 * np.sqrt(x + 2 * z), load_grammar("basic"))
    >>> print(refine_law(Law((start,), False, 1.0, 1), data).terms[0])
    sqrt(x + 2*z)
    """
    start = _list_fitted_constants(law)
    with np.errstate(all="ignore"):
        model = _Model(law, data)
        if not len(start):
            return law if model.is_defined(start) else None
        fit = model.fit(start, np.ones(len(start), dtype=bool))
        if fit is None:
            return None
        constants, is_free = _snap(model, fit)
        if not model.is_defined(constants):
            return None
        refined = _replace_constants(law, constants, is_free, len(data.target))
        is_exact = fit.square <= _compute_exact_square(model.target)
        return drop_rounding_addends(refined, data) if is_exact else refined


def fit_inner_constants(law: Law, data: LawData) -> Law:
    """Fit the inner constants of a law without making them simple; the law itself if that is not possible."""
    start = _list_fitted_constants(law)
    if not len(start):
        return law
    with np.errstate(all="ignore"):
        model, is_free = _Model(law, data), np.ones(len(start), dtype=bool)
        fit = model.fit(start, is_free)
        if fit is None or not model.is_defined(fit.constants):
            return law
        return _replace_constants(law, fit.constants, is_free, len(data.target))


def _list_fitted_constants(law: Law) -> Values:
    """Return the fitted constants inside the terms from left to right, shape (p,)."""
    return np.array(
        [constant.value for term in law.terms for constant in iterate_constants(term) if constant.fitted]
    )


def free_numbers(law: Law, data: LawData) -> Law:
    """Mark the numbers inside a law that are not in the grammar as fitted, so that they can be fitted again.

    What they cost is counted as `refine_law` counts it, in the opposite direction.
    """
    known = data.known_numbers
    freed: list[float] = []

    def free(number: Constant) -> Constant:
        if number.fitted or abs(float(number.value)) in known:
            return number
        freed.append(float(number.value))
        return Constant(float(number.value), fitted=True)

    terms = tuple(rebuild_expression(term, number=free) for term in law.terms)
    cheap = _list_cheap_bits(freed, len(data.target))
    return replace(
        law,
        terms=terms,
        n_constants=law.n_constants + len(cheap),
        search_size=max(law.search_size / 2.0 ** sum(cheap), 1.0),
    )


def _list_cheap_bits(numbers: Sequence[float], n: int) -> list[float]:
    """List the bits of the numbers that cost less by their bits than a fitted constant does with n rows."""
    bits = [measure_number(number) for number in numbers]
    return [each for each in bits if 2.0 * each * np.log(2.0) <= np.log(n)]


class _Model:
    """The residuals of a law as a function of its inner constants."""

    def __init__(self, law: Law, data: LawData) -> None:
        self.row_weights = data.row_weights
        target = scale_rows(data.target, data.row_weights)
        # The gradient at which a fit ends is absolute. A power of two is an exact scale.
        _, exponent = np.frexp(np.abs(target).max(initial=0.0))
        self.target = np.ldexp(target, -int(exponent))
        self.columns: dict[str, Values] = {"": np.empty(len(self.target))}
        numbers = count()
        self.terms = [self._prepare(term, data.columns, numbers) for term in law.terms]
        self.intercept = [np.ones(len(self.target))] if law.has_intercept else []
        self.is_exponent = [each for term in law.terms for each in _find_exponents(term)]

    def _prepare(self, term: Expression, columns: Mapping[str, Values], numbers: Iterator[int]) -> Expression:
        """Replace the largest parts without fitted constants by columns of their values."""
        if not any(constant.fitted for constant in iterate_constants(term)):
            name = str(next(numbers))
            self.columns[name] = evaluate_expression(term, columns)
            return Column(name)
        if isinstance(term, Call):
            arguments = [self._prepare(argument, columns, numbers) for argument in term.arguments]
            return Call(term.operator, tuple(arguments))
        return term

    def compute_residuals(self, constants: Values) -> Values:
        """Return the residuals, shape (n,), with the best outer coefficients; NaN if they are not determined.

        A term counts as 0 in rows where it is undefined, because noise may move some rows out of its domain.
        """
        design = self._evaluate_design(constants)
        design = np.where(np.isfinite(design), design, 0.0)
        magnitude = np.abs(design).max(axis=0)
        if not magnitude.all():
            return np.full(len(self.target), np.nan)
        q, r = np.linalg.qr(design / magnitude)
        diagonal = np.abs(np.diag(r))
        if diagonal.min() < _MIN_PIVOT * diagonal.max():
            return np.full(len(self.target), np.nan)
        residuals = self.target - q @ (q.T @ self.target)
        return np.asarray(residuals - q @ (q.T @ residuals))

    def _evaluate_design(self, constants: Values) -> Values:
        """Evaluate the intercept and the terms, shape (n, k); NaN where a term is undefined."""
        values = iter(constants.tolist())
        terms = [_substitute(term, values) for term in self.terms]
        columns = [*self.intercept, *(evaluate_expression(term, self.columns) for term in terms)]
        return np.column_stack([scale_rows(values, self.row_weights) for values in columns])

    def is_defined(self, constants: Values) -> bool:
        """Return whether all terms are defined in all rows."""
        return bool(np.isfinite(self._evaluate_design(constants)).all())

    def fit(self, start: Values, is_free: Flags) -> _Fit | None:
        """Fit the free constants; None if the residuals are undefined at the start or have no derivative."""
        from scipy.optimize import least_squares

        def complete(free: Values) -> Values:
            constants = start.copy()
            constants[is_free] = free
            return constants

        def compute_residuals(free: Values) -> Values:
            residuals = self.compute_residuals(complete(free))
            return np.where(np.isfinite(residuals), residuals, self.worst)

        initial = self.compute_residuals(start)
        if not np.isfinite(initial).all():
            return None
        if not is_free.any():
            return _Fit(start, float(initial @ initial), np.empty((len(initial), 0)))
        # a step to constants for which the law is undefined is rejected, since it increases the square
        self.worst = 1e3 * (np.abs(self.target).max() + 1.0)
        solution: Any = least_squares(
            compute_residuals,
            start[is_free],
            jac="3-point",
            method="trf",
            x_scale=np.where(start[is_free] == 0.0, 1.0, np.abs(start[is_free])),
            ftol=1e-15,
            xtol=1e-15,
            gtol=1e-15,
            max_nfev=_MAX_EVALUATIONS,
        )
        if not np.isfinite(solution.jac).all():
            return None
        return _Fit(complete(solution.x), float(solution.fun @ solution.fun), solution.jac)


def _substitute(term: Expression, values: Iterator[float]) -> Expression:
    """Replace fitted constants from left to right."""
    return rebuild_expression(
        term, number=lambda number: replace(number, value=next(values)) if number.fitted else number
    )


def _compute_exact_square(target: Values) -> float:
    """Return the sum of squared residuals up to which a law of a target, shape (n,), is exact."""
    return float(_EXACT_RESIDUAL**2 * (target @ target))


def drop_rounding_addends(law: Law, data: LawData) -> Law:
    """Leave out addends that are as small as rounding errors of the other addend in all rows.

    The search finds x·log(z + 1) also as 1e-17·x + x·log(z + 1).

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> from symscreen.fitting.laws.law import Law, LawData
    >>> from symscreen.grammar import load_grammar
    >>> x, z = np.random.default_rng(0).uniform(1, 3, (2, 100))
    >>> term = parse_expression("x*exp(1e-17*x + log(z + 1))")
    >>> law = Law((term,), has_intercept=False, search_size=1.0)
    >>> data = LawData({"x": x, "z": z}, x * (z + 1), load_grammar("basic"))
    >>> print(drop_rounding_addends(law, data).terms[0])
    x*exp(log(z + 1))
    """

    def drop(call: Call, arguments: Sequence[Expression]) -> Expression:
        """Apply an operator; a sum with an addend without effect becomes the other addend."""
        if call.operator.name in {"add", "sub"}:
            first, second = (np.abs(evaluate_expression(each, data.columns)) for each in arguments)
            if (second <= _ROUNDING * first).all():
                return arguments[0]
            if call.operator.name == "add" and (first <= _ROUNDING * second).all():
                return arguments[1]
        return apply_operator(call.operator, *arguments)

    terms = tuple(rebuild_expression(term, call=drop) for term in law.terms)
    if terms == law.terms:
        return law
    n_left_out = sum(map(count_fitted_constants, law.terms)) - sum(map(count_fitted_constants, terms))
    return replace(law, terms=terms, n_constants=law.n_constants - n_left_out)


def _find_exponents(expression: Expression) -> list[bool]:
    """Return whether each fitted constant, from left to right, is the exponent of a power."""
    is_exponent: list[bool] = []
    for part in iterate_postorder(expression):
        if isinstance(part, Constant) and part.fitted:
            is_exponent.append(False)
        elif isinstance(part, Call) and part.operator.name == "pow":
            exponent = part.arguments[1]
            if isinstance(exponent, Constant) and exponent.fitted:
                is_exponent[-1] = True  # the exponent comes directly before its power
    return is_exponent


def count_fitted_constants(expression: Expression) -> int:
    """Count the fitted constants of an expression."""
    return sum(constant.fitted for constant in iterate_constants(expression))


@dataclass(frozen=True, eq=False)
class _Allowance:
    """How far constants may move: radius and standard error, shape (p,), and limits of the sum of squares.

    The wide limit holds for numbers outside of the radius.
    """

    radius: Values
    errors: Values
    limit: float
    wide_limit: float


def _snap(model: _Model, fit: _Fit) -> tuple[Values, Flags]:
    """Replace constants by simple numbers one by one; return all constants and which are still fitted."""
    from scipy.special import fdtri

    n, n_outer = len(model.target), len(model.terms) + len(model.intercept)
    n_freedom = n - n_outer - len(fit.constants)
    is_free = np.ones(len(fit.constants), dtype=bool)
    exact_square = _compute_exact_square(model.target)
    is_exact = fit.square <= exact_square
    if n_freedom <= 0:
        return fit.constants, is_free
    current = fit
    for n_snapped in range(1, len(fit.constants) + 1):
        if is_exact:
            allowance = _Allowance(
                _RELATIVE_RADIUS * np.abs(current.constants),
                np.zeros(len(is_free)),
                exact_square,
                exact_square,
            )
        else:
            variance = fit.square / n_freedom
            limit, wide_limit = (
                fit.square + n_snapped * float(fdtri(n_snapped, n_freedom, level)) * variance
                for level in (_LEVEL, EVIDENT_LEVEL)
            )
            factors = _compute_error_factors(current, is_free)
            radius = np.sqrt(max(limit - current.square, 0.0)) * factors
            allowance = _Allowance(radius, np.sqrt(variance) * factors, limit, wide_limit)
        choice = _choose_number(model, current, is_free, allowance)
        if choice is None:
            break
        place, current = choice
        is_free[place] = False
    return current.constants, is_free


def _compute_error_factors(fit: _Fit, is_free: Flags) -> Values:
    """Return the change of each constant that adds 1 to the sum of squares; 0 for fixed constants."""
    factors = np.zeros(len(is_free))
    norms = np.linalg.norm(fit.jacobian, axis=0)
    if norms.all():
        r = np.linalg.qr(fit.jacobian / norms, mode="r")
        if np.abs(np.diag(r)).min() > _MIN_PIVOT:
            factors[is_free] = np.sqrt((np.linalg.inv(r) ** 2).sum(axis=1)) / norms
    return factors


def _choose_number(
    model: _Model, fit: _Fit, is_free: Flags, allowance: _Allowance
) -> tuple[int, _Fit] | None:
    """Return the constant that becomes the simplest number without exceeding its limit, and the new fit."""
    proposals = []
    for place in np.flatnonzero(is_free).tolist():
        value, radius = float(fit.constants[place]), float(allowance.radius[place])
        error, is_exponent = float(allowance.errors[place]), model.is_exponent[place]
        numbers = find_simple_numbers(value, radius, error=error, is_rational=is_exponent)
        proposals += [(rank, abs(number), place, number) for rank, number in enumerate(numbers)]
    for _, _, place, number in sorted(proposals):
        start, rest = fit.constants.copy(), is_free.copy()
        start[place], rest[place] = number, False
        changed = model.fit(start, rest)
        is_near = abs(number - fit.constants[place]) <= allowance.radius[place]
        if changed is not None and changed.square <= (allowance.limit if is_near else allowance.wide_limit):
            return place, changed
    return None


def _replace_constants(law: Law, constants: Values, is_free: Flags, n: int) -> Law:
    """Write the constants into the terms; those that are not free are plain numbers.

    A plain number counts in the search size, unless a fitted constant costs less in the criterion.
    """
    pairs = iter(zip(constants.tolist(), is_free.tolist(), strict=True))

    def replace_number(number: Constant) -> Expression:
        if not number.fitted:
            return number
        value, fitted = next(pairs)
        return Constant(value, fitted=True) if fitted else write_number(value)

    terms = tuple(_simplify(rebuild_expression(term, number=replace_number)) for term in law.terms)
    cheap = _list_cheap_bits(constants[~is_free].tolist(), n)
    # plain numbers of an earlier refinement stay counted
    n_before = max(law.n_constants - len(constants), 0)
    n_constants = n_before + len(constants) - len(cheap)
    return replace(law, terms=terms, n_constants=n_constants, search_size=law.search_size * 2.0 ** sum(cheap))


def _simplify(expression: Expression) -> Expression:
    """Turn negative factors of summands into signs, and leave out factors 1.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> product = apply_operator(OPERATORS["mul"], Constant(-1), Column("y"))
    >>> print(_simplify(apply_operator(OPERATORS["add"], parse_expression("1*x"), product)))
    x - y
    """
    return rebuild_expression(rebuild_expression(expression, call=_merge_sign), call=_omit_one)


def _merge_sign(call: Call, arguments: Sequence[Expression]) -> Expression:
    """Apply an operator; x + (−2)·y becomes x − 2·y."""
    name = call.operator.name
    negated = negate_leading_number(arguments[1]) if name in {"add", "sub"} else None
    if negated is None:
        return Call(call.operator, tuple(arguments))
    return apply_operator(OPERATORS["sub" if name == "add" else "add"], arguments[0], negated)


def _omit_one(call: Call, arguments: Sequence[Expression]) -> Expression:
    """Apply an operator; 1·x becomes x, (p/q)·x becomes p·x/q, and 0.5·x becomes x/2."""
    left, name = arguments[0], call.operator.name
    if name == "pow":
        return _write_power(call, arguments)
    if name in {"mul", "div"} and left == Constant(1):
        return arguments[1] if name == "mul" else apply_operator(OPERATORS["inv"], arguments[1])
    moved = _move_divisor(left, arguments[1]) if name == "mul" else None
    return Call(call.operator, tuple(arguments)) if moved is None else moved


def _move_divisor(left: Expression, right: Expression) -> Expression | None:
    """Write 0.5·x as x/2, and (p/q)·x or (p·w/q)·x with the division last; None for other factors."""
    if isinstance(left, Constant) and not left.fitted and float(left.value) in _DIVISORS:
        return apply_operator(OPERATORS["div"], right, Constant(_DIVISORS[float(left.value)]))
    if not isinstance(left, Call) or left.operator.name not in {"inv", "div"}:
        return None
    divisor = left.arguments[-1]
    if not isinstance(divisor, Constant) and collect_columns(left):
        return None
    numerator = right
    if left.operator.name == "div":
        numerator = apply_operator(OPERATORS["mul"], left.arguments[0], right)
    return apply_operator(OPERATORS["div"], numerator, divisor)


def _write_power(call: Call, arguments: Sequence[Expression]) -> Expression:
    """Raise to a power; x^1 becomes x, and x^0.5 becomes √x."""
    base, exponent = arguments
    if isinstance(exponent, Constant) and not exponent.fitted and float(exponent.value) in _NAMED_POWERS:
        return build_power_product([(base, Fraction(float(exponent.value)))])
    return Call(call.operator, tuple(arguments))

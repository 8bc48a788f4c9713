"""Constants inside a formula, fitted by least squares: the a of exp(−a·x), the b of 1/(x + b).

A model c₀ + Σ_k c_k f_k(x; θ) is linear in c and not in θ. For any θ the best c is a projection, so θ alone
is searched: variable projection (Golub and Pereyra 1973, SIAM Journal on Numerical Analysis 10, 413-432)
minimises ‖r(θ)‖² with r(θ) = y − Q Qᵀ y, where Q is an orthonormal basis of the centred f_k(x; θ). Several
targets share θ and have c of their own: r(θ) is then that of all of them, one after another.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import chain, product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import TableError
from symscreen.expression import Apply, Constant, apply, evaluate
from symscreen.grammar.define import checked, finite_or_nan, plain_number, written_out
from symscreen.statistics.gram import DETERMINANT, PIVOT, unit_rows, unit_target, unit_tile
from symscreen.statistics.least_squares import unexplained_shares

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.expression import Expression
    from symscreen.grammar.operator import Family, Operator

    Values = NDArray[np.float64]

__all__ = ["constants_in", "with_fitted_constants", "with_own_constants"]

_MOST_STARTS = 1000  # combinations of starts of which the fit is looked at
_FOLLOWED = 12  # the best of them, from which a search sets out
_EXPLAINED = 1e-24  # a share left unexplained that is rounding: (1e-12)², of the response's own digits
_LARGEST = 1e300  # of a term: beyond, the length of its column overflows, and it has no coefficient
_OPPOSITE = {"add": "sub", "sub": "add"}
_ROUNDING = 64 * float(np.finfo(np.float64).eps)  # in differences of r, which is of norm 1 at most
_PULL = 1e-7  # its square, 1e-14, is what it adds to ‖r‖² a start's length away
_STEP = float(np.cbrt(np.finfo(np.float64).eps))  # of central differences: rounding and curvature in balance


def constants_in(expression: Expression) -> int:
    """Count the constants that a fit of an expression would find.

    Parameters
    ----------
    expression : Expression
        Each occurrence of an operator with parameters has constants of its own.

    Returns
    -------
    int

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> from symscreen.grammar.built_in import OPERATORS
    >>> from symscreen.grammar.define import define_family
    >>> (decay,) = define_family("decay", "exp(-a*x)", {"a": [1]}, OPERATORS)
    >>> constants_in(parse("decay(x1)*decay(sin(x2))", OPERATORS | {"decay": decay}))
    2
    """
    return sum(len(family.parameters) for family in _families(expression))


def with_fitted_constants(
    terms: Sequence[Expression], columns: Mapping[str, Values], target: Values
) -> tuple[tuple[Expression, ...], float]:
    """Fit the constants inside the terms of a linear model.

    Parameters
    ----------
    terms : sequence of Expression
        At least one. The model is target ≈ c₀ + Σ_k c_k·term_k, with coefficients that are free.
    columns : mapping of str to float64 array, shape (n,)
        The inputs by name; at least one.
    target : float64 array, shape (n,) or (K, n)
        Finite, not constant.

    Returns
    -------
    terms : tuple of Expression
        Each operator with parameters is replaced by the formula that defines it, with numbers in it, and
        `parse` reads the text back to the same tree. Terms without parameters come back as they are.
    share_unexplained : float
        RSS/‖target − mean‖² of the model in [0, 1], of K targets the mean. Infinite where the model cannot be
        fitted: a term is undefined in some row, beyond 1e300 or constant, or the terms are collinear, from
        whatever start; the operators then have their own values.

    Raises
    ------
    TableError
        If the target is constant.
    FormulaError
        If a column is missing.

    Notes
    -----
    The fit is looked at for every combination of the occurrences' starting values (of more than 1000, for a
    fixed sample), and a trust region search sets out from each of the best 12. A search stays where all terms
    are defined in all rows. A constant that the data do not tell, such as a factor of a whole term, stays
    where it started. The answer is a function of the arguments alone. BLAS runs on one thread meanwhile,
    which is a setting of the whole process: calls that overlap in threads should stand under a limit of the
    caller's.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> from symscreen.grammar.built_in import OPERATORS
    >>> from symscreen.grammar.define import define_family
    >>> (shifted,) = define_family("shifted", "1/(x + b)", {"b": [1]}, OPERATORS)
    >>> x = np.linspace(0, 4, 20)
    >>> fitted, share = with_fitted_constants(
    ...     [parse("shifted(x1)", {"shifted": shifted})], {"x1": x}, 3 - 2 / (x + 2.5)
    ... )
    >>> round(fitted[0].arguments[0].arguments[1].value, 9), share < 1e-20
    (2.5, True)
    """
    from threadpoolctl import threadpool_limits

    aim = unit_target(np.asarray(target, dtype=np.float64))
    if not aim.any(axis=-1).all():
        raise TableError("the target is constant: no constants can be fitted to it; give one that varies")
    if families := [family for term in terms for family in _families(term)]:
        own = np.array([value for family in families for value in family.values], dtype=np.float64)
        model = _model(terms, columns)
        with threadpool_limits(1), np.errstate(all="ignore"):
            theta = _searched(lambda at: _left(model(at), aim.T), _starts(families), otherwise=own)
        found = iter([plain_number(value) for value in theta.tolist()])
        terms = [_with_constants(term, found) for term in terms]
    return tuple(terms), _share(np.array([evaluate(term, columns) for term in terms]), aim)


def with_own_constants(expression: Expression) -> Expression:
    """Write out the operators with parameters, with the values that they have.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> from symscreen.grammar.built_in import OPERATORS
    >>> from symscreen.grammar.define import define_family
    >>> (decay,) = define_family("decay", "exp(-a*x)", {"a": [1.5]}, OPERATORS)
    >>> print(with_own_constants(parse("2*decay(x1)", OPERATORS | {"decay": decay})))
    2*exp(-1.5*x1)
    """
    values = (plain_number(value) for family in _families(expression) for value in family.values)
    return _with_constants(expression, values)


def _families(expression: Expression) -> Iterator[Family]:
    """Yield the family of each occurrence, outer before inner, left before right."""
    if isinstance(expression, Apply):
        if expression.operator.family is not None:
            yield expression.operator.family
        for argument in expression.arguments:
            yield from _families(argument)


def _model(terms: Sequence[Expression], columns: Mapping[str, Values]) -> Callable[[Values], Values]:
    """Make a function of θ that gives the terms' values, shape (s, n)."""
    places = iter(range(sum(map(constants_in, terms))))
    parts = [_part(term, columns, places) for term in terms]
    return lambda theta: np.array([part(theta) for part in parts])


def _part(
    expression: Expression, columns: Mapping[str, Values], places: Iterator[int]
) -> Callable[[Values], Values]:
    if not isinstance(expression, Apply) or not constants_in(expression):
        values = evaluate(expression, columns)
        return lambda _: values
    operator, family = expression.operator, expression.operator.family
    own = [next(places) for _ in family.parameters] if family else []
    numeric = written_out(family, checked, np.float64) if family else operator.numeric
    parts = [_part(argument, columns, places) for argument in expression.arguments]
    return lambda theta: finite_or_nan(numeric(*(part(theta) for part in parts), *theta[own]))


def _with_constants(expression: Expression, found: Iterator[float]) -> Expression:
    """Write out the operators with parameters, with the constants in the order of `_families`."""
    if not isinstance(expression, Apply) or not constants_in(expression):
        return expression
    operator, family = expression.operator, expression.operator.family
    own = [Constant(next(found), fitted=True) for _ in family.parameters] if family else []
    arguments = [_with_constants(argument, found) for argument in expression.arguments]
    if family is None:
        return apply(operator, *arguments)
    return _written(family, arguments, own)


def _written(family: Family, arguments: Sequence[Expression], values: Sequence[Constant]) -> Expression:
    def form(operator: Operator) -> Callable[..., Expression]:
        return partial(_signed, family.operators, operator)

    written: Expression = written_out(family, form, Constant)(*arguments, *values)
    return written


def _signed(operators: Mapping[str, Operator], operator: Operator, *arguments: Expression) -> Expression:
    """Apply an operator, minus signs taken out of numbers: x − 2 for x + (−2), to the bit the same value."""
    if operator.family is not None:
        return _written(operator.family, arguments, [Constant(value) for value in operator.family.values])
    last = arguments[-1]
    if operator.name == "neg" and isinstance(last, Constant):
        return replace(last, value=-last.value)
    turned = _turned(last)
    if turned is not None and operator.name == "neg":
        return turned
    if turned is not None and (other := operators.get(_OPPOSITE.get(operator.name, ""))):
        return apply(other, arguments[0], turned)
    return apply(operator, *arguments)


def _turned(expression: Expression) -> Expression | None:
    """Return −e for an e that begins with a negative number."""
    match expression:
        case Constant(value) if value < 0:
            return replace(expression, value=-value)
        case Apply(operator, (first, second)) if operator.name in {"mul", "div"}:
            turned = _turned(first)
            return None if turned is None else Apply(operator, (turned, second))
    return None


def _left(values: Values, aim: Values) -> Values:
    """Return what least squares leaves of unit targets, all in one row; NaN where the fit is not defined."""
    s, n = values.shape
    nothing = np.full(aim.size, np.nan)
    if not np.isfinite(values).all():
        return nothing
    columns = np.empty((n, s))
    unit_tile(values, columns)
    basis, triangle = np.linalg.qr(columns)
    shares = np.diag(triangle) ** 2
    if shares.min() < PIVOT or shares.prod() < DETERMINANT:
        return nothing
    # twice: the first pass leaves rounding of the size of the target's own digits
    left = aim - basis @ (basis.T @ aim)
    return np.ravel(left - basis @ (basis.T @ left))


def _share(values: Values, aim: Values) -> float:
    if not (np.abs(values) <= _LARGEST).all():
        return np.inf
    return float(unexplained_shares(unit_rows(values), aim, np.arange(len(values))[None])[0])


def _starts(families: Sequence[Family]) -> Values:
    """Combine the starts of all occurrences, shape (k, constants)."""
    lists = [family.starts for family in families]
    if prod(map(len, lists)) <= _MOST_STARTS:
        combinations = list(product(*lists))
    else:
        sizes = list(map(len, lists))
        drawn = np.random.default_rng(0).integers(0, sizes, size=(_MOST_STARTS - 1, len(sizes))).tolist()
        combinations = [tuple(family.values for family in families)]
        combinations += [tuple(map(tuple.__getitem__, lists, places)) for places in drawn]
    return np.array([list(chain(*one)) for one in combinations], dtype=np.float64)


def _searched(residual: Callable[[Values], Values], starts: Values, otherwise: Values) -> Values:
    """Minimise ‖r(θ)‖² from the best starts; `otherwise` where r is defined at none."""
    squares = np.array([np.square(residual(start)).sum() for start in starts])
    sizes = np.abs(starts).max(axis=0)
    descend = partial(_descended, residual, np.where(sizes > 0, sizes, 1.0))
    best, least = otherwise, np.inf
    for place in np.argsort(squares, kind="stable")[:_FOLLOWED]:
        if np.isnan(squares[place]) or least < _EXPLAINED:
            break
        found, square = descend(starts[place], 1e-8, 50)
        if square < least:
            best, least = found, square
    return best if np.isinf(least) else descend(best, 1e-15, 200)[0]


def _descended(
    residual: Callable[[Values], Values], sizes: Values, start: Values, tolerance: float, most: int
) -> tuple[Values, float]:
    """Go downhill within a region of trust; a step to where r is NaN is refused, and the region shrinks."""
    from scipy.optimize import least_squares

    # a pull too weak to be seen in the fit holds the constants that the data do not tell; the last descent
    # begins where the best one ended, so that it leaves nothing of the pull in those that they do tell
    pull = _PULL / sizes

    def held(theta: Values) -> Values:
        return np.concatenate([residual(theta), pull * (theta - start)])

    def slopes(theta: Values) -> Values:
        return np.vstack([_slopes(residual, sizes, theta), np.diag(pull)])

    found: Any = least_squares(
        held, start, slopes, x_scale="jac", ftol=tolerance, xtol=tolerance, gtol=1e-15, max_nfev=most
    )
    return np.asarray(found.x), float(np.square(residual(found.x)).sum())


def _slopes(residual: Callable[[Values], Values], sizes: Values, theta: Values) -> Values:
    """Return ∂r/∂θ, shape (n, constants), by central differences; one-sided where r ends on one side."""
    here = residual(theta)
    steps = _STEP * np.maximum(np.abs(theta), 1e-3 * sizes)
    differences, widths = np.zeros((here.size, theta.size)), np.ones(theta.size)
    for j, step in enumerate(steps):
        sides = []
        for side in (-step, step):
            at = theta.copy()
            at[j] += side
            r = residual(at)
            sides.append((theta[j], here) if np.isnan(r[0]) else (at[j], r))
        (low, below), (high, above) = sides
        if high > low:
            differences[:, j], widths[j] = above - below, high - low
    # along a direction in which r changes by rounding alone the constants would wander
    left, spread, right = np.linalg.svd(differences, full_matrices=False)
    spread[spread < _ROUNDING] = 0.0
    return np.asarray((left * spread) @ right / widths)

"""Constants inside a formula, fitted by least squares: the a of exp(−a·x), the b of 1/(x + b).

A model c₀ + Σ_k c_k f_k(x; θ) is linear in c and not in θ. For any θ the best c is a projection, so θ alone
is searched: variable projection (Golub and Pereyra 1973, SIAM Journal on Numerical Analysis 10, 413-432)
minimises ‖r(θ)‖² with r(θ) = y − Q Qᵀ y, where Q is an orthonormal basis of the centred f_k(x; θ). Several
targets share θ and have c of their own: r(θ) is then that of all of them, one after another.

Constants inside the best models, fitted once per formula and not once per start.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import chain, product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import DataError
from symscreen.expressions.tree import (
    Call,
    Constant,
    apply_operator,
    compute_complexity,
    compute_key,
    evaluate_expression,
)
from symscreen.fitting.feature_dictionary import TermDictionary
from symscreen.grammar.custom_operators import (
    compose_form,
    make_finite_numeric,
    replace_infinities,
    to_plain_number,
)
from symscreen.linear_models.gram import (
    MIN_DETERMINANT,
    MIN_PIVOT,
    compute_unexplained_shares,
    fill_normalized_tile,
    normalize_rows,
    normalize_target,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.grammar.operator import Operator, OperatorFamily

    ModelShares = dict[tuple[int, ...], float]

__all__ = ["count_constants", "fit_constants", "inline_start_constants", "refine_constants"]

_MAX_STARTS = 1000  # combinations of starts of which the fit is looked at
_N_DESCENTS = 12  # the best of them, from which a search sets out
_NEGLIGIBLE_SHARE = 1e-24  # a share left unexplained that is rounding: (1e-12)², of the response's own digits
_MAX_TERM_VALUE = 1e300  # of a term: beyond, the length of its column overflows, and it has no coefficient
_OPPOSITE_OPERATORS = {"add": "sub", "sub": "add"}
_SINGULAR_VALUE_TOLERANCE = 64 * float(
    np.finfo(np.float64).eps
)  # in differences of r, which is of norm 1 at most
_REGULARIZATION = 1e-7  # its square, 1e-14, is what it adds to ‖r‖² a start's length away
_RELATIVE_STEP = float(
    np.cbrt(np.finfo(np.float64).eps)
)  # of central differences: rounding and curvature in balance


def count_constants(expression: Expression) -> int:
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
    >>> from symscreen.expressions.tree import parse_expression
    >>> from symscreen.grammar.builtin_operators import OPERATORS
    >>> from symscreen.grammar.custom_operators import define_family
    >>> (decay,) = define_family("decay", "exp(-a*x)", {"a": [1]}, OPERATORS)
    >>> count_constants(parse_expression("decay(x1)*decay(sin(x2))", OPERATORS | {"decay": decay}))
    2
    """
    return sum(len(family.parameters) for family in _iterate_families(expression))


def fit_constants(
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
    >>> from symscreen.expressions.tree import parse_expression
    >>> from symscreen.grammar.builtin_operators import OPERATORS
    >>> from symscreen.grammar.custom_operators import define_family
    >>> (shifted,) = define_family("shifted", "1/(x + b)", {"b": [1]}, OPERATORS)
    >>> x = np.linspace(0, 4, 20)
    >>> fitted, share = fit_constants(
    ...     [parse_expression("shifted(x1)", {"shifted": shifted})], {"x1": x}, 3 - 2 / (x + 2.5)
    ... )
    >>> round(fitted[0].arguments[0].arguments[1].value, 9), share < 1e-20
    (2.5, True)
    """
    from threadpoolctl import threadpool_limits

    aim = normalize_target(np.asarray(target, dtype=np.float64))
    if not aim.any(axis=-1).all():
        raise DataError("the target is constant: no constants can be fitted to it; give one that varies")
    if families := [family for term in terms for family in _iterate_families(term)]:
        own = np.array([value for family in families for value in family.values], dtype=np.float64)
        model = _build_model_function(terms, columns)
        with threadpool_limits(1), np.errstate(all="ignore"):
            theta = _minimize(
                lambda at: _compute_unit_residual(model(at), aim.T), _combine_starts(families), fallback=own
            )
        found = iter([to_plain_number(value) for value in theta.tolist()])
        terms = [_substitute_constants(term, found) for term in terms]
    return tuple(terms), _compute_share(np.array([evaluate_expression(term, columns) for term in terms]), aim)


def inline_start_constants(expression: Expression) -> Expression:
    """Write out the operators with parameters, with the values that they have.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> from symscreen.grammar.builtin_operators import OPERATORS
    >>> from symscreen.grammar.custom_operators import define_family
    >>> (decay,) = define_family("decay", "exp(-a*x)", {"a": [1.5]}, OPERATORS)
    >>> print(inline_start_constants(parse_expression("2*decay(x1)", OPERATORS | {"decay": decay})))
    2*exp(-1.5*x1)
    """
    values = (to_plain_number(value) for family in _iterate_families(expression) for value in family.values)
    return _substitute_constants(expression, values)


def _iterate_families(expression: Expression) -> Iterator[OperatorFamily]:
    """Yield the family of each occurrence, outer before inner, left before right."""
    if isinstance(expression, Call):
        if expression.operator.family is not None:
            yield expression.operator.family
        for argument in expression.arguments:
            yield from _iterate_families(argument)


def _build_model_function(
    terms: Sequence[Expression], columns: Mapping[str, Values]
) -> Callable[[Values], Values]:
    """Make a function of θ that gives the terms' values, shape (s, n)."""
    places = iter(range(sum(map(count_constants, terms))))
    parts = [_build_term_function(term, columns, places) for term in terms]
    return lambda theta: np.array([part(theta) for part in parts])


def _build_term_function(
    expression: Expression, columns: Mapping[str, Values], constant_indices: Iterator[int]
) -> Callable[[Values], Values]:
    if not isinstance(expression, Call) or not count_constants(expression):
        values = evaluate_expression(expression, columns)
        return lambda _: values
    operator, family = expression.operator, expression.operator.family
    own = [next(constant_indices) for _ in family.parameters] if family else []
    numeric = compose_form(family, make_finite_numeric, np.float64) if family else operator.numeric
    parts = [_build_term_function(argument, columns, constant_indices) for argument in expression.arguments]
    return lambda theta: replace_infinities(numeric(*(part(theta) for part in parts), *theta[own]))


def _substitute_constants(expression: Expression, values: Iterator[float]) -> Expression:
    """Write out the operators with parameters, with the constants in the order of `_families`."""
    if not isinstance(expression, Call) or not count_constants(expression):
        return expression
    operator, family = expression.operator, expression.operator.family
    own = [Constant(next(values), fitted=True) for _ in family.parameters] if family else []
    arguments = [_substitute_constants(argument, values) for argument in expression.arguments]
    if family is None:
        return apply_operator(operator, *arguments)
    return _expand_family(family, arguments, own)


def _expand_family(
    family: OperatorFamily, arguments: Sequence[Expression], values: Sequence[Constant]
) -> Expression:
    def make_builder(operator: Operator) -> Callable[..., Expression]:
        return partial(_apply_merging_signs, family.operators, operator)

    written: Expression = compose_form(family, make_builder, Constant)(*arguments, *values)
    return written


def _apply_merging_signs(
    operators: Mapping[str, Operator], operator: Operator, *arguments: Expression
) -> Expression:
    """Apply an operator, minus signs taken out of numbers: x − 2 for x + (−2), to the bit the same value."""
    if operator.family is not None:
        return _expand_family(
            operator.family, arguments, [Constant(value) for value in operator.family.values]
        )
    last = arguments[-1]
    if operator.name == "neg" and isinstance(last, Constant):
        return replace(last, value=-last.value)
    turned = _negate_leading_number(last)
    if turned is not None and operator.name == "neg":
        return turned
    if turned is not None and (other := operators.get(_OPPOSITE_OPERATORS.get(operator.name, ""))):
        return apply_operator(other, arguments[0], turned)
    return apply_operator(operator, *arguments)


def _negate_leading_number(expression: Expression) -> Expression | None:
    """Return −e for an e that begins with a negative number."""
    match expression:
        case Constant(value) if value < 0:
            return replace(expression, value=-value)
        case Call(operator, (first, second)) if operator.name in {"mul", "div"}:
            turned = _negate_leading_number(first)
            return None if turned is None else Call(operator, (turned, second))
    return None


def _compute_unit_residual(values: Values, target: Values) -> Values:
    """Return what least squares leaves of unit targets, all in one row; NaN where the fit is not defined."""
    s, n = values.shape
    nothing = np.full(target.size, np.nan)
    if not np.isfinite(values).all():
        return nothing
    columns = np.empty((n, s))
    fill_normalized_tile(values, columns)
    basis, triangle = np.linalg.qr(columns)
    shares = np.diag(triangle) ** 2
    if shares.min() < MIN_PIVOT or shares.prod() < MIN_DETERMINANT:
        return nothing
    # twice: the first pass leaves rounding of the size of the target's own digits
    left = target - basis @ (basis.T @ target)
    return np.ravel(left - basis @ (basis.T @ left))


def _compute_share(values: Values, target: Values) -> float:
    if not (np.abs(values) <= _MAX_TERM_VALUE).all():
        return np.inf
    return float(compute_unexplained_shares(normalize_rows(values), target, np.arange(len(values))[None])[0])


def _combine_starts(families: Sequence[OperatorFamily]) -> Values:
    """Combine the starts of all occurrences, shape (k, constants)."""
    lists = [family.start_values for family in families]
    if prod(map(len, lists)) <= _MAX_STARTS:
        combinations = list(product(*lists))
    else:
        sizes = list(map(len, lists))
        drawn = np.random.default_rng(0).integers(0, sizes, size=(_MAX_STARTS - 1, len(sizes))).tolist()
        combinations = [tuple(family.values for family in families)]
        combinations += [tuple(map(tuple.__getitem__, lists, places)) for places in drawn]
    return np.array([list(chain(*one)) for one in combinations], dtype=np.float64)


def _minimize(compute_residual: Callable[[Values], Values], starts: Values, fallback: Values) -> Values:
    """Minimise ‖r(θ)‖² from the best starts; `otherwise` where r is defined at none."""
    squares = np.array([np.square(compute_residual(start)).sum() for start in starts])
    sizes = np.abs(starts).max(axis=0)
    descend = partial(_descend, compute_residual, np.where(sizes > 0, sizes, 1.0))
    best, least = fallback, np.inf
    for place in np.argsort(squares, kind="stable")[:_N_DESCENTS]:
        if np.isnan(squares[place]) or least < _NEGLIGIBLE_SHARE:
            break
        found, square = descend(starts[place], 1e-8, 50)
        if square < least:
            best, least = found, square
    return best if np.isinf(least) else descend(best, 1e-15, 200)[0]


def _descend(
    compute_residual: Callable[[Values], Values],
    scales: Values,
    start: Values,
    tolerance: float,
    max_evaluations: int,
) -> tuple[Values, float]:
    """Go downhill within a region of trust; a step to where r is NaN is refused, and the region shrinks."""
    from scipy.optimize import least_squares

    # a pull too weak to be seen in the fit holds the constants that the data do not tell; the last descent
    # begins where the best one ended, so that it leaves nothing of the pull in those that they do tell
    pull = _REGULARIZATION / scales

    def compute_penalized_residual(theta: Values) -> Values:
        return np.concatenate([compute_residual(theta), pull * (theta - start)])

    def compute_penalized_jacobian(theta: Values) -> Values:
        return np.vstack([_compute_jacobian(compute_residual, scales, theta), np.diag(pull)])

    found: Any = least_squares(
        compute_penalized_residual,
        start,
        compute_penalized_jacobian,
        x_scale="jac",
        ftol=tolerance,
        xtol=tolerance,
        gtol=1e-15,
        max_nfev=max_evaluations,
    )
    return np.asarray(found.x), float(np.square(compute_residual(found.x)).sum())


def _compute_jacobian(compute_residual: Callable[[Values], Values], scales: Values, theta: Values) -> Values:
    """Return ∂r/∂θ, shape (n, constants), by central differences; one-sided where r ends on one side."""
    here = compute_residual(theta)
    steps = _RELATIVE_STEP * np.maximum(np.abs(theta), 1e-3 * scales)
    differences, widths = np.zeros((here.size, theta.size)), np.ones(theta.size)
    for j, step in enumerate(steps):
        sides = []
        for side in (-step, step):
            at = theta.copy()
            at[j] += side
            r = compute_residual(at)
            sides.append((theta[j], here) if np.isnan(r[0]) else (at[j], r))
        (low, below), (high, above) = sides
        if high > low:
            differences[:, j], widths[j] = above - below, high - low
    # along a direction in which r changes by rounding alone the constants would wander
    left, spread, right = np.linalg.svd(differences, full_matrices=False)
    spread[spread < _SINGULAR_VALUE_TOLERANCE] = 0.0
    return np.asarray((left * spread) @ right / widths)


_EXACT_FIT_SHARE = 1e-24  # a share left unexplained that is rounding: nothing simpler is to come
_N_BEST, _N_SIMPLE = 3, 3  # of each size: those that leave least, and the simplest of the front
_MAX_CONSTANTS = 3  # in a model: with more the fit is slow, and its answer a matter of the starts


def refine_constants(
    terms: TermDictionary,
    models: Mapping[tuple[int, ...], float],
    inputs: Mapping[str, NDArray[np.float64]],
    target: NDArray[np.float64],
    refined_templates: set[object],
    *,
    is_allowed: Callable[[Expression], bool] | None = None,
) -> tuple[TermDictionary, ModelShares]:
    """Fit the constants inside the best models of each size, and add what comes of it.

    A start is near the constant and not at it, so that a sum of several features can fit better than the one
    true feature at its best start: models of every size are refined, and simple ones beside good ones.

    Parameters
    ----------
    terms : Dictionary
        The features of the models.
    models : mapping of tuple of int to float
        Models with the share that each leaves.
    inputs : mapping of str to float64 array, shape (n,)
        The columns by name.
    target : float64 array, shape (n,) or (K, n)
        The response, or the responses.
    known : set
        The formulas refined before, starts apart; changed in place.
    allowed : callable, optional
        Which terms may come of it; the constants inside others stay as they are. None for any.

    Returns
    -------
    Dictionary
        With the new terms behind the others.
    dict of tuple of int to float
        With the new models.
    """
    models, open_constants = dict(models), np.array([count_constants(one) for one in terms.expressions])
    if not open_constants.any() or min(models.values()) <= _EXACT_FIT_SHARE:
        return terms, models
    for members in _select_promising(terms, models, open_constants, refined_templates):
        old = [terms.expressions[place] for place in members]
        new, share = fit_constants(old, inputs, target)
        if is_allowed is not None and not all(map(is_allowed, new)):
            new, share = _fit_some_constants(old, [is_allowed(one) for one in new], inputs, target)
        if share < models[members]:
            terms, places = _add_changed_terms(terms, members, new, open_constants, inputs)
            if len(set(places)) == len(members):
                models[tuple(sorted(places))] = share
        if share <= _EXACT_FIT_SHARE:
            break
    return terms, models


def _fit_some_constants(
    old_terms: list[Expression],
    is_free: list[bool],
    inputs: Mapping[str, NDArray[np.float64]],
    target: NDArray[np.float64],
) -> tuple[tuple[Expression, ...], float]:
    """Fit the constants inside some of the terms, the others as they are."""
    tried = [one if own else inline_start_constants(one) for one, own in zip(old_terms, is_free, strict=True)]
    new, share = fit_constants(tried, inputs, target)
    return tuple(
        one if own else other for one, other, own in zip(new, old_terms, is_free, strict=True)
    ), share


def _select_promising(
    terms: TermDictionary,
    models: ModelShares,
    open_constants: NDArray[np.int64],
    refined_templates: set[object],
) -> list[tuple[int, ...]]:
    """Choose the models to refine, simple ones first, and note them as known."""
    chosen: list[tuple[int, ...]] = []
    rows = terms.values.shape[1]
    for size in range(1, max(map(len, models)) + 1):
        fitting = min(_MAX_CONSTANTS, rows - size - 2)
        able = [
            members
            for members in models
            if len(members) == size and 1 <= open_constants[list(members)].sum() <= fitting
        ]
        able.sort(key=lambda members: (models[members], _sum_complexity(terms, members), members))
        templates: dict[object, tuple[int, ...]] = {}
        for members in able:
            templates.setdefault(
                tuple(sorted(_format_template(terms.expressions[m]) for m in members)), members
            )
        first = list(templates)[:_N_BEST]
        own = dict.fromkeys([*first, *_find_template_front(terms, models, templates)[:_N_SIMPLE]])
        chosen += [templates[one] for one in own if one not in refined_templates]
        refined_templates.update(own)
    return sorted(chosen, key=lambda members: (len(members), _sum_complexity(terms, members), members))


def _find_template_front(
    terms: TermDictionary, models: ModelShares, templates: Mapping[object, tuple[int, ...]]
) -> list[object]:
    """Return the templates that no simpler one beats, the simplest first."""
    front: list[object] = []
    least = np.inf
    for one, members in sorted(
        templates.items(), key=lambda pair: (_sum_complexity(terms, pair[1]), models[pair[1]], pair[1])
    ):
        if models[members] < least:
            front.append(one)
            least = models[members]
    return front


def _sum_complexity(terms: TermDictionary, members: tuple[int, ...]) -> int:
    return int(terms.complexity[list(members)].sum())


def _format_template(expression: Expression) -> str:
    """Write a formula with operators that differ in their starts alone under one name."""
    if not isinstance(expression, Call):
        return repr(expression)
    operator = expression.operator
    name = operator.name if operator.family is None else f"{operator.family.name} of any start"
    return f"{name}({', '.join(map(_format_template, expression.arguments))})"


def _add_changed_terms(
    terms: TermDictionary,
    members: tuple[int, ...],
    new_terms: tuple[Expression, ...],
    open_constants: NDArray[np.int64],
    inputs: Mapping[str, NDArray[np.float64]],
) -> tuple[TermDictionary, list[int]]:
    """Put the terms that have changed behind the others; return the places of all."""
    places = list(members)
    for number, (place, term) in enumerate(zip(members, new_terms, strict=True)):
        if term is not terms.expressions[place]:
            places[number] = len(terms)
            one = TermDictionary(
                (term,),
                evaluate_expression(term, inputs)[None, :],
                np.array([compute_complexity(term)], dtype=np.int64),
                terms.search_sizes[[place]],
                np.array([compute_key(term)], dtype=np.uint64).reshape(1, 2),
                open_constants[[place]],
            )
            terms = terms.concatenate(one)
    return terms, places

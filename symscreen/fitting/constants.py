"""Fit constants inside formulas by least squares, such as a in exp(−a·x) or b in 1/(x + b).

A model c₀ + Σ_k c_k f_k(x; θ) is linear in c and nonlinear in θ. For a given θ the optimal c is a projection,
so only θ is searched. Variable projection (Golub and Pereyra 1973, SIAM Journal on Numerical Analysis 10,
413-432) minimises ‖r(θ)‖² with r(θ) = y − Q Qᵀ y, where Q is an orthonormal basis of the centred f_k(x; θ).
Several targets share θ but have separate c. r(θ) then concatenates their residuals.

`refine_constants` applies this to the best models of a search. Models that differ only in the starting
values of their constants are fitted once.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import chain, product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import DataError
from symscreen.expressions.traversal import compute_complexity, compute_key, evaluate_expression
from symscreen.expressions.tree import Call, Constant, apply_operator
from symscreen.fitting.feature_dictionary import TermDictionary
from symscreen.grammar.custom_operators import (
    compose_form,
    make_finite_numeric,
    replace_infinities,
    to_plain_number,
)
from symscreen.linear_models._kernels import fill_normalized_tile
from symscreen.linear_models.gram import (
    MIN_DETERMINANT,
    MIN_PIVOT,
    compute_unexplained_shares,
    normalize_rows,
    normalize_target,
)
from symscreen.linear_models.model_criteria import EXACT_SHARE
from symscreen.linear_models.row_weights import rotate_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.grammar.operator import Operator, OperatorFamily
    from symscreen.linear_models.row_weights import RowWeights

    ModelShares = dict[tuple[int, ...], float]


_MAX_STARTS = 1000  # largest number of combinations of starting values that are evaluated
_N_DESCENTS = 12  # best combinations from which a search starts
_MAX_TERM_VALUE = 1e300  # largest value of a term whose column has a finite norm
_OPPOSITE_OPERATORS = {"add": "sub", "sub": "add"}
# smallest singular value of differences of r, which has a norm of at most 1
_SINGULAR_VALUE_TOLERANCE = 64 * float(np.finfo(np.float64).eps)
_REGULARIZATION = 1e-7  # its square, 1e-14, is added to ‖r‖² at a distance of one start's magnitude
# step of central differences that balances both errors
_RELATIVE_STEP = float(np.cbrt(np.finfo(np.float64).eps))


def count_constants(expression: Expression) -> int:
    """Count the constants of an expression that can be fitted.

    Parameters
    ----------
    expression : Expression
        The formula. Each occurrence of an operator with parameters has separate constants.

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
    terms: Sequence[Expression],
    columns: Mapping[str, Values],
    target: Values,
    row_weights: RowWeights | None = None,
) -> tuple[tuple[Expression, ...], float]:
    """Fit the constants inside the terms of a linear model.

    Parameters
    ----------
    terms : sequence of Expression
        At least one term. The model is target ≈ c₀ + Σ_k c_k·term_k, with free coefficients.
    columns : mapping of str to float64 array, shape (n,)
        The inputs by name; at least one.
    target : float64 array, shape (n,) or (K, n)
        One or K targets, finite and not constant.
    row_weights : RowWeights, optional
        Weights of the rows.

    Returns
    -------
    terms : tuple of Expression
        The terms. Each operator with parameters is replaced by the formula that defines it, with the fitted
        constants. `parse_expression` reads the text back to the same tree. Terms without parameters are
        returned unchanged.
    share_unexplained : float
        RSS/‖target − mean‖² of the model in [0, 1], averaged over K targets. Infinite if the model cannot be
        fitted from any start, because a term is undefined in some row, exceeds 1e300 or is constant, or the
        terms are collinear. The constants then have the starting values of the operators.

    Raises
    ------
    DataError
        If the target is constant.
    FormulaError
        If a column is missing.

    Notes
    -----
    The fit is evaluated for every combination of the starting values, or for a fixed sample if there are
    more than 1000. A trust-region search starts from each of the best 12. It stays in the region where all
    terms are defined in all rows. A constant that the data do not determine, such as a factor of a whole
    term, keeps its starting value. The result is a deterministic function of the arguments. BLAS is limited
    to one thread meanwhile, which is a setting of the whole process. Callers that run several fits in
    threads should set the same limit around them.

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

    unit_target = normalize_target(rotate_rows(np.asarray(target, dtype=np.float64), row_weights))
    if not unit_target.any(axis=-1).all():
        raise DataError(
            "the target is constant, so no constants can be fitted to it; choose a target that varies"
        )
    if families := [family for term in terms for family in _iterate_families(term)]:
        start_values = np.array([value for family in families for value in family.values], dtype=np.float64)
        model = _build_model_function(terms, columns)
        with threadpool_limits(1), np.errstate(all="ignore"):
            solution = _minimize(
                lambda constants: _compute_unit_residual(
                    rotate_rows(model(constants), row_weights), unit_target.T
                ),
                _combine_starts(families),
                fallback=start_values,
            )
        fitted = iter([to_plain_number(value) for value in solution.tolist()])
        terms = [_substitute_constants(term, fitted) for term in terms]
    return tuple(terms), _compute_share(
        np.array([evaluate_expression(term, columns) for term in terms]), unit_target, row_weights
    )


def inline_start_constants(expression: Expression) -> Expression:
    """Replace operators with parameters by their formulas, with the current values of the constants.

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
    """Yield the operator family of each occurrence, outer before inner, left before right."""
    if isinstance(expression, Call):
        if expression.operator.family is not None:
            yield expression.operator.family
        for argument in expression.arguments:
            yield from _iterate_families(argument)


def _build_model_function(
    terms: Sequence[Expression], columns: Mapping[str, Values]
) -> Callable[[Values], Values]:
    """Build a function that maps θ to the values of the terms, shape (s, n)."""
    constant_indices = iter(range(sum(map(count_constants, terms))))
    parts = [_build_term_function(term, columns, constant_indices) for term in terms]
    return lambda theta: np.array([part(theta) for part in parts])


def _build_term_function(
    expression: Expression, columns: Mapping[str, Values], constant_indices: Iterator[int]
) -> Callable[[Values], Values]:
    """Build a function that maps θ to the values of a term, shape (n,)."""
    if not isinstance(expression, Call) or not count_constants(expression):
        values = evaluate_expression(expression, columns)
        return lambda _: values
    operator, family = expression.operator, expression.operator.family
    indices = [next(constant_indices) for _ in family.parameters] if family else []
    numeric = compose_form(family, make_finite_numeric, np.float64) if family else operator.numeric
    parts = [_build_term_function(argument, columns, constant_indices) for argument in expression.arguments]
    return lambda theta: replace_infinities(numeric(*(part(theta) for part in parts), *theta[indices]))


def _substitute_constants(expression: Expression, values: Iterator[float]) -> Expression:
    """Replace operators with parameters by their formulas; constants follow `_iterate_families`."""
    if not isinstance(expression, Call) or not count_constants(expression):
        return expression
    operator, family = expression.operator, expression.operator.family
    constants = [Constant(next(values), fitted=True) for _ in family.parameters] if family else []
    arguments = [_substitute_constants(argument, values) for argument in expression.arguments]
    if family is None:
        return apply_operator(operator, *arguments)
    return _expand_family(family, arguments, constants)


def _expand_family(
    family: OperatorFamily, arguments: Sequence[Expression], values: Sequence[Constant]
) -> Expression:
    """Build the formula that defines an operator with parameters."""

    def make_builder(operator: Operator) -> Callable[..., Expression]:
        return partial(_apply_merging_signs, family.operators, operator)

    expanded: Expression = compose_form(family, make_builder, Constant)(*arguments, *values)
    return expanded


def _apply_merging_signs(
    operators: Mapping[str, Operator], operator: Operator, *arguments: Expression
) -> Expression:
    """Apply an operator and merge minus signs into numbers: x − 2 for x + (−2); values do not change."""
    if operator.family is not None:
        return _expand_family(
            operator.family, arguments, [Constant(value) for value in operator.family.values]
        )
    last = arguments[-1]
    if operator.name == "neg" and isinstance(last, Constant):
        return replace(last, value=-last.value)
    negated = negate_leading_number(last)
    if negated is not None and operator.name == "neg":
        return negated
    if negated is not None and (opposite := operators.get(_OPPOSITE_OPERATORS.get(operator.name, ""))):
        return apply_operator(opposite, arguments[0], negated)
    return apply_operator(operator, *arguments)


def negate_leading_number(expression: Expression) -> Expression | None:
    """Return −e if e begins with a negative number, else None."""
    match expression:
        case Constant(value) if value < 0:
            return replace(expression, value=-value)
        case Call(operator, (first, second)) if operator.name in {"mul", "div"}:
            negated = negate_leading_number(first)
            return None if negated is None else Call(operator, (negated, second))
    return None


def _compute_unit_residual(values: Values, target: Values) -> Values:
    """Return the concatenated residuals of unit targets, shape (K·n,); NaN if the fit is undefined."""
    s, n = values.shape
    undefined = np.full(target.size, np.nan)
    if not np.isfinite(values).all():
        return undefined
    columns = np.empty((n, s))
    fill_normalized_tile(values, columns)
    q, r = np.linalg.qr(columns)
    shares = np.diag(r) ** 2
    if shares.min() < MIN_PIVOT or shares.prod() < MIN_DETERMINANT:
        return undefined
    # twice, because the first pass leaves rounding errors relative to the target
    residuals = target - q @ (q.T @ target)
    return np.ravel(residuals - q @ (q.T @ residuals))


def _compute_share(values: Values, target: Values, row_weights: RowWeights | None) -> float:
    """Return the unexplained share of a model; infinite if a term exceeds `_MAX_TERM_VALUE`."""
    if not (np.abs(values) <= _MAX_TERM_VALUE).all():
        return np.inf
    return float(
        compute_unexplained_shares(
            normalize_rows(rotate_rows(values, row_weights)), target, np.arange(len(values))[None]
        )[0]
    )


def _combine_starts(families: Sequence[OperatorFamily]) -> Values:
    """Combine the starting values of all occurrences, shape (n_starts, n_constants)."""
    value_lists = [family.start_values for family in families]
    if prod(map(len, value_lists)) <= _MAX_STARTS:
        combinations = list(product(*value_lists))
    else:
        sizes = list(map(len, value_lists))
        samples = np.random.default_rng(0).integers(0, sizes, size=(_MAX_STARTS - 1, len(sizes))).tolist()
        combinations = [tuple(family.values for family in families)]
        combinations += [tuple(map(tuple.__getitem__, value_lists, indices)) for indices in samples]
    return np.array([list(chain(*combination)) for combination in combinations], dtype=np.float64)


def _minimize(compute_residual: Callable[[Values], Values], starts: Values, fallback: Values) -> Values:
    """Minimise ‖r(θ)‖² from the best starts; return `fallback` if r is undefined at all of them."""
    squares = np.array([np.square(compute_residual(start)).sum() for start in starts])
    sizes = np.abs(starts).max(axis=0)
    descend = partial(_descend, compute_residual, np.where(sizes > 0, sizes, 1.0))
    best, lowest = fallback, np.inf
    for index in np.argsort(squares, kind="stable")[:_N_DESCENTS]:
        if np.isnan(squares[index]) or lowest < EXACT_SHARE:
            break
        solution, square = descend(starts[index], 1e-8, 50)
        if square < lowest:
            best, lowest = solution, square
    return best if np.isinf(lowest) else descend(best, 1e-15, 200)[0]


def _descend(
    compute_residual: Callable[[Values], Values],
    scales: Values,
    start: Values,
    tolerance: float,
    max_evaluations: int,
) -> tuple[Values, float]:
    """Run a trust-region search; a step to a θ where r is NaN is rejected, and the region shrinks."""
    from scipy.optimize import least_squares

    # a very weak penalty fixes constants that the data do not determine; the last descent starts where the
    # best one ended, so the penalty does not bias the other constants
    penalty = _REGULARIZATION / scales

    def compute_penalized_residual(theta: Values) -> Values:
        return np.concatenate([compute_residual(theta), penalty * (theta - start)])

    def compute_penalized_jacobian(theta: Values) -> Values:
        return np.vstack([_compute_jacobian(compute_residual, scales, theta), np.diag(penalty)])

    solution: Any = least_squares(
        compute_penalized_residual,
        start,
        compute_penalized_jacobian,
        x_scale="jac",
        ftol=tolerance,
        xtol=tolerance,
        gtol=1e-15,
        max_nfev=max_evaluations,
    )
    return np.asarray(solution.x), float(np.square(compute_residual(solution.x)).sum())


def _compute_jacobian(compute_residual: Callable[[Values], Values], scales: Values, theta: Values) -> Values:
    """Return ∂r/∂θ, shape (K·n, n_constants), by central differences (one-sided at a border)."""
    center = compute_residual(theta)
    steps = _RELATIVE_STEP * np.maximum(np.abs(theta), 1e-3 * scales)
    differences, widths = np.zeros((center.size, theta.size)), np.ones(theta.size)
    for j, step in enumerate(steps):
        points = []
        for offset in (-step, step):
            shifted = theta.copy()
            shifted[j] += offset
            r = compute_residual(shifted)
            points.append((theta[j], center) if np.isnan(r[0]) else (shifted[j], r))
        (low, below), (high, above) = points
        if high > low:
            differences[:, j], widths[j] = above - below, high - low
    # without this, constants would drift along directions in which r changes only by rounding
    u, singular_values, vt = np.linalg.svd(differences, full_matrices=False)
    singular_values[singular_values < _SINGULAR_VALUE_TOLERANCE] = 0.0
    return np.asarray((u * singular_values) @ vt / widths)


_N_BEST, _N_SIMPLE = 3, 3  # models to refine per size: the best ones, and the simplest of the Pareto front
# largest number of constants in a model; with more, the fit is slow and depends on its start
_MAX_CONSTANTS = 3


def refine_constants(
    terms: TermDictionary,
    models: Mapping[tuple[int, ...], float],
    inputs: Mapping[str, NDArray[np.float64]],
    target: NDArray[np.float64],
    refined_templates: set[object],
    *,
    is_allowed: Callable[[Expression], bool] | None = None,
    row_weights: RowWeights | None = None,
) -> tuple[TermDictionary, ModelShares]:
    """Fit the constants inside the best models of each size, and add the fitted models.

    A starting value is close to the constant, but not equal to it. A sum of several features may therefore
    fit better than the single true feature at its best starting value. So models of every size are refined,
    and simple models as well as good ones.

    Parameters
    ----------
    terms : TermDictionary
        The features of the models.
    models : mapping of tuple of int to float
        Models with their unexplained shares.
    inputs : mapping of str to float64 array, shape (n,)
        The columns by name.
    target : float64 array, shape (n,) or (K, n)
        One or K targets.
    refined_templates : set
        Models that were refined before, without their starting values. Changed in place.
    is_allowed : callable, optional
        Decides which fitted terms are allowed. Constants inside other terms are not fitted. Default: all
        terms are allowed.
    row_weights : RowWeights, optional
        Weights of the rows.

    Returns
    -------
    TermDictionary
        The terms, followed by new ones.
    dict of tuple of int to float
        The models, including new ones.
    """
    models, open_constants = dict(models), np.array([count_constants(term) for term in terms.expressions])
    if not open_constants.any() or min(models.values()) <= EXACT_SHARE:
        return terms, models
    for members in _select_promising(terms, models, open_constants, refined_templates):
        old_terms = [terms.expressions[place] for place in members]
        new_terms, share = fit_constants(old_terms, inputs, target, row_weights)
        if is_allowed is not None and not all(map(is_allowed, new_terms)):
            new_terms, share = _fit_some_constants(
                old_terms, [is_allowed(term) for term in new_terms], inputs, target, row_weights
            )
        if share < models[members]:
            terms, indices = _add_changed_terms(terms, members, new_terms, open_constants, inputs)
            if len(set(indices)) == len(members):
                models[tuple(sorted(indices))] = share
        if share <= EXACT_SHARE:
            break
    return terms, models


def _fit_some_constants(
    old_terms: list[Expression],
    is_free: list[bool],
    inputs: Mapping[str, NDArray[np.float64]],
    target: NDArray[np.float64],
    row_weights: RowWeights | None,
) -> tuple[tuple[Expression, ...], float]:
    """Fit the constants inside the free terms, and keep those inside the others."""
    start_terms = [
        term if free else inline_start_constants(term) for term, free in zip(old_terms, is_free, strict=True)
    ]
    fitted_terms, share = fit_constants(start_terms, inputs, target, row_weights)
    return tuple(
        term if free else old_term
        for term, old_term, free in zip(fitted_terms, old_terms, is_free, strict=True)
    ), share


def _select_promising(
    terms: TermDictionary,
    models: ModelShares,
    open_constants: NDArray[np.int64],
    refined_templates: set[object],
) -> list[tuple[int, ...]]:
    """Select the models to refine, simple ones first, and add them to `refined_templates`."""
    selected: list[tuple[int, ...]] = []
    n_rows = terms.values.shape[1]
    for size in range(1, max(map(len, models)) + 1):
        max_constants = min(_MAX_CONSTANTS, n_rows - size - 2)
        candidates = [
            members
            for members in models
            if len(members) == size and 1 <= open_constants[list(members)].sum() <= max_constants
        ]
        candidates.sort(key=lambda members: (models[members], _sum_complexity(terms, members), members))
        templates: dict[object, tuple[int, ...]] = {}
        for members in candidates:
            templates.setdefault(
                tuple(sorted(_format_template(terms.expressions[index]) for index in members)), members
            )
        best = list(templates)[:_N_BEST]
        picked = dict.fromkeys([*best, *_find_template_front(terms, models, templates)[:_N_SIMPLE]])
        selected += [templates[template] for template in picked if template not in refined_templates]
        refined_templates.update(picked)
    return sorted(selected, key=lambda members: (len(members), _sum_complexity(terms, members), members))


def _find_template_front(
    terms: TermDictionary, models: ModelShares, templates: Mapping[object, tuple[int, ...]]
) -> list[object]:
    """Return the templates on the Pareto front, simplest first."""
    front: list[object] = []
    lowest = np.inf
    for template, members in sorted(
        templates.items(), key=lambda pair: (_sum_complexity(terms, pair[1]), models[pair[1]], pair[1])
    ):
        if models[members] < lowest:
            front.append(template)
            lowest = models[members]
    return front


def _sum_complexity(terms: TermDictionary, members: tuple[int, ...]) -> int:
    """Return the total complexity of the terms of a model."""
    return int(terms.complexity[list(members)].sum())


def _format_template(expression: Expression) -> str:
    """Format a formula so that operators that differ only in their starting values have the same name."""
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
    """Append the changed terms to the dictionary; return it and the indices of all terms of the model."""
    indices = list(members)
    for position, (index, term) in enumerate(zip(members, new_terms, strict=True)):
        if term is not terms.expressions[index]:
            indices[position] = len(terms)
            entry = TermDictionary(
                (term,),
                evaluate_expression(term, inputs)[None, :],
                np.array([compute_complexity(term)], dtype=np.int64),
                terms.search_sizes[[index]],
                np.array([compute_key(term)], dtype=np.uint64).reshape(1, 2),
                open_constants[[index]],
            )
            terms = terms.concatenate(entry)
    return terms, indices

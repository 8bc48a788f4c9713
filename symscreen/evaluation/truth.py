"""True formulas and the criteria by which features are correct.

`parse_truth` finds the active inputs of a formula (not x2 in x1 + x2 − x2) and its additive terms: products
are expanded by sympy, and coefficients and constants are dropped. There are three criteria of correctness,
each stricter than the previous one:

``active``
    The feature depends on at least one input, and only on active inputs of the truth (Luo and Li 2024,
    section 6.1). Use it for ablations, and for data whose formula is not known in more detail. It ignores the
    form: x1 and exp(exp(x1)) are both correct, and so is a feature of one of several active inputs.
``terms``
    f = a + b·Σ_{s ∈ S} c_s·t_s with b ≠ 0 for some set S of the additive terms t_s of the truth, where the
    c_s are either all the coefficients of the truth or all their signs. Use it for a screen before a sparse
    linear model, which estimates the coefficients. It does not check whether all terms are found, and it
    excludes features that merely contain a term, such as its square.
``exact``
    f = a + b·θ with b ≠ 0 for the whole truth θ. Use it for symbolic regression, where the screen has to find
    the complete law. If all terms are found separately, nothing is correct.

Signs and coefficients are not mixed within a sum; otherwise correctness would depend on the unit of the
target. For ``2*x1**3 + 5*x3 + 10`` the criterion `terms` accepts ``2*x1**3 + 5*x3``, ``x1**3 + x3`` and each
term, but not ``2*x1**3 + x3``. For ``2*x1 - 3*cos(x2)/x1`` it accepts ``x1 - cos(x2)/x1``, but not
``x1 + cos(x2)/x1``.

Formulas are compared as functions, where both are defined (`symscreen.evaluation.affine_equivalence`), never
as text. An input that cancels, such as x2 in ``x1*x2/x2`` and in sin²x2 + cos²x2, is not part of a feature;
√x·√x is x; and |x| is not x, although they agree on positive data. Every feature that is correct by ``exact``
is correct by ``terms``, and every feature that is correct by ``terms`` is correct by ``active``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import combinations, product, repeat
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from symscreen.errors import FormulaError, OptionError
from symscreen.evaluation.affine_equivalence import BLOCK_EXPRESSIONS, find_any_affine_copies
from symscreen.evaluation.mp_evaluation import (
    N_SAMPLE_ROWS,
    WIDE_ROWS,
    bound_numerical_error,
    build_graph,
    compute_node_residues,
    compute_node_values,
    compute_precise_value,
    draw_residues,
    draw_rows,
    select_rows_to_check,
)
from symscreen.expressions.printing import to_text
from symscreen.expressions.sympy_conversion import (
    build_exact_form,
    build_number,
    from_sympy,
    recover_fraction,
)
from symscreen.expressions.traversal import collect_columns, compute_complexity, evaluate_expression
from symscreen.expressions.tree import Column, apply_operator, parse_expression
from symscreen.grammar import OPERATORS
from symscreen.messages import suggest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.evaluation.mp_evaluation import ExpressionGraph, PreciseValue, ValueCache
    from symscreen.expressions.tree import Expression
    from symscreen.grammar import Operator


MAX_TERMS = 64  # most additive terms of a truth
# an inactive input is set to the first of these values at which the formula is defined
_PLACEHOLDER_VALUES = (1, 2, -1, 3, 5)

# exceptions of sympy for forms that it cannot sort, compare or evaluate, such as asin(sin(1e108)); the
# FormulaError for a form that cannot be expressed is a ValueError
_SYMPY_ERRORS = (ArithmeticError, AttributeError, RuntimeError, TypeError, ValueError)

_RELATIVE_TOLERANCE = 1e-6  # of double-precision values that agree

_MIN_ROWS = 4  # fewest random points at which a truth has a real value

Criterion = Literal["active", "terms", "exact"]

CRITERIA: dict[str, str] = {
    "active": "contains inputs of the truth, and no others",
    "terms": "equal, up to an affine map, to a term of the truth or a sum of some of them",
    "exact": "equal, up to an affine map, to the whole truth",
}

_MAX_SUMMED_TERMS = 10  # most terms for comparing all their sums


def find_additive_terms(
    expression: Expression, active_inputs: Sequence[str]
) -> list[tuple[Expression, float]]:
    """Split a formula into additive terms.

    Parameters
    ----------
    expression : Expression
        Formula.
    active_inputs : sequence of str
        Inputs on which its values depend; at least one.

    Returns
    -------
    list of (term, coefficient)
        Terms in ascending order of complexity with non-zero coefficients. The formula itself, with
        coefficient 1, if sympy produces a form that cannot be expressed. Empty if there are more than
        `MAX_TERMS` terms.

    Notes
    -----
    Sums, products and integer powers of sums at the top level are expanded, and quotients by their
    numerators. The arguments of functions and the denominators are not changed.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> terms = find_additive_terms(parse_expression("(cos(x2)**2 + 0.1*sin(x2)**2)*sin(x1) + 3"), ["x1",
    ...     "x2"])
    >>> [(str(term), coefficient) for term, coefficient in terms]
    [('sin(x1)*cos(x2)**2', 1.0), ('sin(x1)*sin(x2)**2', 0.1)]
    """
    import sympy

    # sympy sorts terms by symbol name: these names have the order of the column names
    inputs = sorted(collect_columns(expression))
    symbols = {name: sympy.Symbol(f"x{index:05d}") for index, name in enumerate(inputs)}
    columns = {symbols[name]: Column(name) for name in active_inputs}
    substitutions: dict[str, Any] = {**symbols, **_choose_placeholders(expression, active_inputs)}
    try:
        terms = _split_coefficients(_expand_terms(build_exact_form(expression, substitutions)), columns)
    except _TooManyTermsError:
        return []
    except _SYMPY_ERRORS:
        return [(expression, 1.0)]
    return sorted(terms, key=lambda pair: (compute_complexity(pair[0]), to_text(pair[0])))


class _TooManyTermsError(Exception):
    """More terms than `MAX_TERMS`."""


def _choose_placeholders(expression: Expression, active_inputs: Sequence[str]) -> dict[str, Any]:
    """Choose a number for the inactive inputs at which the formula is defined, to eliminate them."""
    import sympy

    inactive = sorted(collect_columns(expression) - set(active_inputs))
    for number in _PLACEHOLDER_VALUES:
        rows = {name: draw_rows(name) for name in active_inputs} | {
            name: np.full(N_SAMPLE_ROWS, float(number)) for name in inactive
        }
        if np.isfinite(evaluate_expression(expression, rows)).any():
            return dict.fromkeys(inactive, sympy.Integer(number))
    return {}


def _expand_terms(form: Any) -> tuple[Any, ...]:
    """Return the terms of a form, expanded until nothing changes: √a·√a may produce a new sum."""
    import sympy

    def check_size(form: Any) -> Any:
        if len(sympy.Add.make_args(form)) > MAX_TERMS:
            raise _TooManyTermsError
        return form

    def multiply(left: Any, right: Any) -> Any:
        pairs = product(sympy.Add.make_args(left), sympy.Add.make_args(right))
        return check_size(sympy.Add(*(left_term * right_term for left_term, right_term in pairs)))

    def expand(part: Any) -> Any:
        if part.is_Add:
            return check_size(sympy.Add(*map(expand, part.args)))
        if part.is_Mul:
            return reduce(multiply, map(expand, part.args))
        if part.is_Pow and part.exp.is_Integer and part.exp > 1 and part.base.is_Add:
            return reduce(multiply, repeat(expand(part.base), int(part.exp)))
        return part

    while (expanded := expand(form)) != form:
        form = expanded
    terms: tuple[Any, ...] = sympy.Add.make_args(form)
    return terms


def _split_coefficients(
    summands: Sequence[Any], columns: Mapping[Any, Expression]
) -> list[tuple[Expression, float]]:
    """Split each summand into coefficient and term, and add the coefficients of equal terms."""
    coefficients: dict[Any, Any] = {}
    for summand in summands:
        coefficient, term = summand.as_independent(*columns, as_Add=False)
        coefficients[term] = coefficients.get(term, 0) + coefficient
    return [
        (from_sympy(term, columns), value)
        for term, coefficient in coefficients.items()
        if term.free_symbols and (value := _to_float(coefficient))
    ]


def _to_float(number: Any) -> float:
    """Convert a number to float; 0 if it is 0 up to rounding errors, such as sin²1 + cos²1 − 1."""
    if number.is_Rational:
        return float(Fraction(int(number.p), int(number.q)))
    graph = build_graph([from_sympy(number, {})])
    result = compute_precise_value(graph, int(graph.roots[0]), 0, {})
    if result is None:
        raise FormulaError(f"the coefficient {number} is not a real number")
    value, peak = result
    return 0.0 if abs(value) <= bound_numerical_error(peak) else float(value)


def find_independent_expressions(
    expressions: Sequence[Expression], input_filters: Sequence[Callable[[str], bool]]
) -> NDArray[np.bool_]:
    """Find the formulas whose values do not change if some inputs change.

    Parameters
    ----------
    expressions : sequence of Expression, length k
        Formulas.
    input_filters : sequence of callable, length s
        Each maps an input name to whether this input changes.

    Returns
    -------
    bool array, shape (s, k)
        Decided by residues, which prove it, or by digits where the formula is defined for the old and the new
        values (see `symscreen.evaluation.affine_equivalence`).

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> formulas = [parse_expression("x1 + x2 - x2"), parse_expression("x1 + x2"),
    ...     parse_expression("sin(x2)**2 + cos(x2)**2")]
    >>> find_independent_expressions(formulas, [lambda name: name == "x2", lambda _: True]).tolist()
    [[True, False, True], [False, False, True]]
    """
    is_independent = np.zeros((len(input_filters), len(expressions)), dtype=np.bool_)
    for start in range(0, len(expressions), BLOCK_EXPRESSIONS):
        graph = build_graph(expressions[start : start + BLOCK_EXPRESSIONS])
        distinct, inverse = np.unique(graph.roots, return_inverse=True)
        old = _sample_nodes(graph, distinct)
        for input_filter, row in zip(input_filters, is_independent, strict=True):
            new = _sample_nodes(graph, distinct, input_filter)
            row[start : start + BLOCK_EXPRESSIONS] = _find_unchanged(graph, distinct, old, new)[inverse]
    return is_independent


@dataclass(frozen=True, eq=False)
class _NodeSample:
    """Values of some nodes of a graph for one draw of the inputs.

    Parameters
    ----------
    draw_column : callable
        Maps an input name to its values.
    values : float64 array, shape (q, N_SAMPLE_ROWS)
    residues : uint64 array, shape (q, 2, 2)
    cache : dict
        Cache of `compute_precise_value`.
    """

    draw_column: Callable[[str], NDArray[np.float64]]
    values: NDArray[np.float64]
    residues: NDArray[np.uint64]
    cache: ValueCache


def _sample_nodes(
    graph: ExpressionGraph, nodes: NDArray[np.int64], input_filter: Callable[[str], bool] = lambda _: False
) -> _NodeSample:
    """Evaluate nodes of a graph; inputs that pass the filter have other values."""

    def draw_column(name: str) -> NDArray[np.float64]:
        return draw_rows(name, int(input_filter(name)))

    def draw_column_residues(name: str) -> NDArray[np.uint64]:
        return draw_residues(name, int(input_filter(name)))

    return _NodeSample(
        draw_column,
        compute_node_values(graph, draw_column)[nodes],
        compute_node_residues(graph, draw_column_residues)[nodes],
        {},
    )


def _find_unchanged(
    graph: ExpressionGraph, nodes: NDArray[np.int64], old: _NodeSample, new: _NodeSample
) -> NDArray[np.bool_]:
    """Find the nodes whose values agree for both samples, shape (q,)."""
    defined = np.isfinite(old.values) & np.isfinite(new.values)
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.maximum(np.abs(old.values), np.abs(new.values))
        differs = defined & (np.abs(old.values - new.values) > _RELATIVE_TOLERANCE * size)
    # At wide rows rounding errors separate equal formulas, such as cosh²x − sinh²x: only the last test
    # uses them.
    moderate = slice(0, WIDE_ROWS.start)
    is_tested = defined[:, moderate].any(axis=1)
    by_value = defined.any(axis=1) & ~np.where(
        is_tested, differs[:, moderate].any(axis=1), differs.any(axis=1)
    )
    is_unchanged: NDArray[np.bool_] = (old.residues == new.residues).all(axis=(1, 2))
    for index in np.flatnonzero(by_value & ~is_unchanged):
        node = int(nodes[index])
        is_unchanged[index] = not any(
            _is_different(
                compute_precise_value(graph, node, row, old.cache, old.draw_column),
                compute_precise_value(graph, node, row, new.cache, new.draw_column),
            )
            for row in select_rows_to_check(defined[index])
        )
    return is_unchanged


def _is_different(old: PreciseValue, new: PreciseValue) -> bool:
    """Test whether two precise values differ by more than their rounding errors."""
    return (
        old is not None
        and new is not None
        and bool(abs(old[0] - new[0]) > bound_numerical_error(old[1]) + bound_numerical_error(new[1]))
    )


@dataclass(frozen=True, slots=True)
class Truth:
    """A known formula with its inputs and terms.

    Parameters
    ----------
    expression : Expression
        Formula.
    active_inputs : tuple of str
        Inputs on which its values depend, in ascending order: only x1 for ``x1 + 0*x2`` and ``x1 + x2 - x2``.
    terms : tuple of Expression
        Additive terms after expanding products, without coefficients and constants, in ascending order of
        complexity. Quotients, functions and non-integer powers are not expanded. Empty if there are more than
        64 terms.
    coefficients : tuple of float
        Non-zero coefficient of each term.

    Examples
    --------
    >>> truth = parse_truth("x1*(4 - x1 - x2/(1 + x1)) + 7")
    >>> truth.active_inputs, [str(term) for term in truth.terms], truth.coefficients
    (('x1', 'x2'), ['x1', 'x1**2', 'x1*x2/(x1 + 1)'], (4.0, -1.0, -1.0))
    """

    expression: Expression
    active_inputs: tuple[str, ...]
    terms: tuple[Expression, ...]
    coefficients: tuple[float, ...]


def parse_truth(
    text: str, names: Collection[str] | None = None, operators: Mapping[str, Operator] = OPERATORS
) -> Truth:
    """Parse a true formula and split it into terms.

    Parameters
    ----------
    text : str
        Formula, such as ``2*x1**3 + 5*x3 + 10``.
    names : collection of str, optional
        Names of the columns. By default every name except ``pi`` is a column.
    operators : mapping, optional
        Operators by name. The definitions of user-defined operators are expanded.

    Returns
    -------
    Truth

    Raises
    ------
    FormulaError
        If the text is invalid, or contains an unknown operator or column; if the formula is constant up to
        double precision, or has a real value at fewer than 4 of the `N_SAMPLE_ROWS` random points.

    Notes
    -----
    Active inputs are determined by value, with hundreds of digits, where the formula is defined. A formula
    for which sympy produces a form that cannot be expressed, such as ``abs(exp(sqrt(x)))``, is a single term.

    Examples
    --------
    >>> parse_truth("2*x1**3 + 5*x3 + 10").active_inputs
    ('x1', 'x3')
    """
    expression = parse_expression(text, operators, names)
    inputs = sorted(collect_columns(expression))
    if not inputs:
        raise FormulaError(f"the truth {text!r} contains no column; give a formula that depends on an input")
    _check_defined(expression, text, inputs)
    is_inactive = find_independent_expressions([expression], [name.__eq__ for name in inputs])[:, 0]
    active_inputs = tuple(name for name, inactive in zip(inputs, is_inactive, strict=True) if not inactive)
    if not active_inputs:
        raise FormulaError(
            f"the truth {text!r} is constant in double precision (its columns cancel, or their contribution "
            "is too small); give a formula that depends on an input"
        )
    weighted_terms = find_additive_terms(expression, active_inputs)
    terms, coefficients = (
        tuple(term for term, _ in weighted_terms),
        tuple(coefficient for _, coefficient in weighted_terms),
    )
    return Truth(expression, active_inputs, terms, coefficients)


def _check_defined(expression: Expression, text: str, inputs: Sequence[str]) -> None:
    """Raise `FormulaError` unless the formula has enough real values."""
    values = evaluate_expression(expression, {name: draw_rows(name) for name in inputs})
    if np.isfinite(values).sum() < _MIN_ROWS:
        raise FormulaError(
            f"the truth {text!r} has a real value at {np.isfinite(values).sum()} of {N_SAMPLE_ROWS} random "
            f"points of both signs and magnitudes from 0.001 to a million; at least {_MIN_ROWS} are needed"
        )


def find_correct_features(
    expressions: Sequence[Expression], truth: Truth, criterion: Criterion
) -> NDArray[np.bool_]:
    """Find the correct features.

    Parameters
    ----------
    expressions : sequence of Expression, length k
        Features.
    truth : Truth
        Result of `parse_truth`.
    criterion : {"active", "terms", "exact"}
        Criterion of correctness; see the module docstring.

    Returns
    -------
    bool array, shape (k,)

    Raises
    ------
    OptionError
        If the criterion is unknown.
    FormulaError
        If the criterion is `terms` and the truth has more than 10 terms.

    Examples
    --------
    >>> from symscreen.evaluation.truth import parse_truth
    >>> from symscreen.expressions.tree import parse_expression
    >>> truth = parse_truth("2*x1**3 + 5*x3 + 10")
    >>> features = [parse_expression(text) for text in ("x1*x3", "x1**3", "x1**3 + x3", "4*x1**3 + 10*x3",
    ...     "x2")]
    >>> [find_correct_features(features, truth, criterion).tolist() for criterion in CRITERIA]
    [[True, True, True, True, False], [False, True, True, True, False], [False, False, False, True, False]]
    """
    match criterion:
        case "active":
            return _find_active_features(expressions, frozenset(truth.active_inputs))
        case "terms":
            return find_any_affine_copies(expressions, list_term_sums(truth))
        case "exact":
            return find_affine_copies(expressions, truth.expression)
    raise OptionError(f"unknown criterion {criterion!r}{suggest(str(criterion), CRITERIA)}")


def find_affine_copies(expressions: Sequence[Expression], formula: Expression) -> NDArray[np.bool_]:
    """Find the formulas that equal a + b times another formula with b ≠ 0, by algebra and by value.

    Parameters
    ----------
    expressions : sequence of Expression, length k
        Formulas to test.
    formula : Expression
        Reference formula. A constant has no copies.

    Returns
    -------
    bool array, shape (k,)

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> shear = parse_expression("cos(x1)/tan(x2)")
    >>> find_affine_copies([parse_expression("2 - cos(x1)*cos(x2)/sin(x2)"),
    ...     parse_expression("cos(x1)*tan(x2)")], shear).tolist()
    [True, False]
    """
    return find_any_affine_copies(expressions, (formula,))


@lru_cache(maxsize=32)
def list_term_sums(truth: Truth) -> tuple[Expression, ...]:
    """List the formulas whose affine copies are correct by the criterion `terms`.

    Parameters
    ----------
    truth : Truth
        Truth with at most 10 terms.

    Returns
    -------
    tuple of Expression
        The terms, then sums of two terms, of three terms, and so on: with the signs of the coefficients and,
        if this is another formula, with the coefficients. The last one is the truth itself.

    Raises
    ------
    FormulaError
        If the truth has more terms.

    Examples
    --------
    >>> from symscreen.evaluation.truth import parse_truth
    >>> [str(total) for total in list_term_sums(parse_truth("2*x1**3 + 5*x3 + 10"))]
    ['x3', 'x1**3', 'x3 + x1**3', '2*x1**3 + 5*x3 + 10']
    """
    if not 0 < len(truth.terms) <= _MAX_SUMMED_TERMS:
        raise FormulaError(
            f"the truth {truth.expression} has {len(truth.terms) or 'too many'} terms, but the criterion "
            f"'terms' compares all sums of at most {_MAX_SUMMED_TERMS}; use 'active' or 'exact'"
        )
    weighted_terms = list(zip(truth.terms, map(recover_fraction, truth.coefficients), strict=True))
    sums: list[Expression] = []
    for size in range(1, len(weighted_terms) + 1):
        for subset in combinations(weighted_terms, size):
            has_equal_weights = len({abs(weight) for _, weight in subset}) == 1
            if size < len(weighted_terms) or not has_equal_weights:
                sums.append(_build_sum([(term, weight / abs(weight)) for term, weight in subset]))
            if size < len(weighted_terms) and not has_equal_weights:
                sums.append(_build_sum(subset))
    return (*sums, truth.expression)


def _build_sum(parts: Sequence[tuple[Expression, Fraction]]) -> Expression:
    """Build the sum of weighted terms up to its sign, with a positive first term."""
    (first, weight), *remaining = parts
    total = _scale_term(abs(weight), first)
    for term, other_weight in remaining:
        operator = OPERATORS["add" if other_weight * weight > 0 else "sub"]
        total = apply_operator(operator, total, _scale_term(abs(other_weight), term))
    return total


def _scale_term(weight: Fraction, term: Expression) -> Expression:
    """Multiply a term by a positive number."""
    return term if weight == 1 else apply_operator(OPERATORS["mul"], build_number(weight), term)


def _find_active_features(
    expressions: Sequence[Expression], active_inputs: frozenset[str]
) -> NDArray[np.bool_]:
    """Find the features that depend on inputs, all of them active, shape (k,)."""
    ignores_inactive, is_constant = find_independent_expressions(
        expressions, (lambda name: name not in active_inputs, lambda _: True)
    )
    found: NDArray[np.bool_] = ignores_inactive & ~is_constant
    return found

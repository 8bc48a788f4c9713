"""A formula as a sum of terms: products multiplied out by sympy, coefficients stripped, constants dropped.

On which inputs a formula really depends: not on x2 in x1 + x2 − x2.

What there is to know of a true formula: its active inputs, its additive terms, its exact form.

When a feature counts as correct: three criteria, each stricter than the one before.

``active``
    The feature depends on at least one input, and on active inputs of the truth only (Luo and Li 2024, §6.1).
    For ablations and for data of which no more is known. It cannot see form: x1 and exp(exp(x1)) count alike,
    and so does a feature of one of several active inputs.
``terms``
    f = a + b·Σ_{s ∈ S} c_s·t_s with b ≠ 0 for some set S of the truth's additive terms t_s, where the c_s are
    either all the truth's coefficients or all their signs. For a screen in front of a sparse linear model,
    which finds the numbers itself. It cannot see whether all terms are there for such a model to find, and it
    does not count what merely contains a term, such as its square.
``exact``
    f = a + b·θ with b ≠ 0 for the whole truth θ. For symbolic regression, where the screen is to name the
    law. It cannot see a near miss: all terms may be there one by one, and nothing counts.

Signs and coefficients do not mix within a sum: whether a feature counts would else hang on the unit of the
response. `terms` takes ``2*x1**3 + 5*x3``, ``x1**3 + x3`` and each term of ``2*x1**3 + 5*x3 + 10``, but not
``2*x1**3 + x3``; and ``x1 - cos(x2)/x1``, but not ``x1 + cos(x2)/x1``.

Formulas are compared as functions, where both are defined (`symscreen.evaluation.affine_equivalence`), never
as text. So
an input that cancels, as x2 does in ``x1*x2/x2`` and in sin²x2 + cos²x2, is no part of a feature; √x·√x is x;
|x| is not x, though it is on a table of positive numbers. What is correct by `exact` is so by `terms`, and
what is by `terms` is by `active`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import combinations, product, repeat
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from symscreen.errors import FormulaError, OptionError, suggest
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
from symscreen.expressions.sympy_conversion import (
    build_exact_form,
    build_number,
    from_sympy,
    recover_fraction,
)
from symscreen.expressions.tree import (
    Column,
    apply_operator,
    collect_columns,
    compute_complexity,
    evaluate_expression,
    parse_expression,
    to_text,
)
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.evaluation.mp_evaluation import ExpressionGraph, PreciseValue, ValueCache
    from symscreen.expressions.tree import Expression
    from symscreen.grammar import Operator


__all__ = [
    "CRITERIA",
    "MAX_TERMS",
    "Criterion",
    "Truth",
    "find_additive_terms",
    "find_affine_copies",
    "find_correct_features",
    "find_independent_expressions",
    "list_term_sums",
    "parse_truth",
]

MAX_TERMS = 64
# an input on which nothing depends is put to the first of these at which the formula has a value
_PLACEHOLDER_VALUES = (1, 2, -1, 3, 5)


def find_additive_terms(
    expression: Expression, active_inputs: Sequence[str]
) -> list[tuple[Expression, float]]:
    """Take a formula apart into terms.

    Parameters
    ----------
    expression : Expression
        The formula.
    active : sequence of str
        The inputs on which its values depend; at least one.

    Returns
    -------
    list of (term, coefficient)
        The simplest term first; no coefficient is 0. The formula itself, with coefficient 1, where sympy
        brings it to a form that the one notation has no words for. Empty where there are more than
        `MAX_TERMS`.

    Notes
    -----
    Taken apart are sums, products and whole powers of sums, at the top of the formula; quotients are by their
    numerators. What stands inside functions and denominators stays.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> terms = find_additive_terms(parse_expression("(cos(x2)**2 + 0.1*sin(x2)**2)*sin(x1) + 3"), ["x1",
    ...     "x2"])
    >>> [(str(term), coefficient) for term, coefficient in terms]
    [('sin(x1)*cos(x2)**2', 1.0), ('sin(x1)*sin(x2)**2', 0.1)]
    """
    import sympy

    # names of our own, in the order of the columns': sympy puts its terms in the order of the names
    inputs = sorted(collect_columns(expression))
    symbols = {name: sympy.Symbol(f"x{place:05d}") for place, name in enumerate(inputs)}
    columns = {symbols[name]: Column(name) for name in active_inputs}
    filling: dict[str, Any] = {**symbols, **_choose_placeholders(expression, active_inputs)}
    try:
        found = _split_coefficients(_expand_terms(build_exact_form(expression, filling)), columns)
    except _TooManyTermsError:
        return []
    except _SYMPY_ERRORS:
        return [(expression, 1.0)]
    return sorted(found, key=lambda pair: (compute_complexity(pair[0]), to_text(pair[0])))


class _TooManyTermsError(Exception):
    """More terms than `MAX_TERMS`."""


# what came of forms that it cannot order, compare or evaluate, such as asin(sin(1e108)); FormulaError, which
# says that a form has no words, is a ValueError
_SYMPY_ERRORS = (ArithmeticError, AttributeError, RuntimeError, TypeError, ValueError)


def _choose_placeholders(expression: Expression, active_inputs: Sequence[str]) -> dict[str, Any]:
    """Choose a number for the inputs on which nothing depends, so that no term of theirs is left."""
    import sympy

    idle = sorted(collect_columns(expression) - set(active_inputs))
    for number in _PLACEHOLDER_VALUES:
        rows = {name: draw_rows(name) for name in active_inputs} | {
            name: np.full(N_SAMPLE_ROWS, float(number)) for name in idle
        }
        if np.isfinite(evaluate_expression(expression, rows)).any():
            return dict.fromkeys(idle, sympy.Integer(number))
    return {}


def _expand_terms(form: Any) -> tuple[Any, ...]:
    """Return the terms of a form, multiplied out until nothing changes: √a·√a may bring a new sum."""
    import sympy

    def check_size(form: Any) -> Any:
        if len(sympy.Add.make_args(form)) > MAX_TERMS:
            raise _TooManyTermsError
        return form

    def multiply(left: Any, right: Any) -> Any:
        pairs = product(sympy.Add.make_args(left), sympy.Add.make_args(right))
        return check_size(sympy.Add(*(one * other for one, other in pairs)))

    def expand(part: Any) -> Any:
        if part.is_Add:
            return check_size(sympy.Add(*map(expand, part.args)))
        if part.is_Mul:
            return reduce(multiply, map(expand, part.args))
        if part.is_Pow and part.exp.is_Integer and part.exp > 1 and part.base.is_Add:
            return reduce(multiply, repeat(expand(part.base), int(part.exp)))
        return part

    while (further := expand(form)) != form:
        form = further
    terms: tuple[Any, ...] = sympy.Add.make_args(form)
    return terms


def _split_coefficients(
    summands: Sequence[Any], columns: Mapping[Any, Expression]
) -> list[tuple[Expression, float]]:
    """Part each summand into a number and the rest, and add up the numbers of equal rests."""
    numbers: dict[Any, Any] = {}
    for summand in summands:
        number, rest = summand.as_independent(*columns, as_Add=False)
        numbers[rest] = numbers.get(rest, 0) + number
    return [
        (from_sympy(rest, columns), coefficient)
        for rest, number in numbers.items()
        if rest.free_symbols and (coefficient := _to_float(number))
    ]


def _to_float(number: Any) -> float:
    """Return a number as a double; 0 where it is 0 but for rounding, as sin²1 + cos²1 − 1 is."""
    if number.is_Rational:
        return float(Fraction(int(number.p), int(number.q)))
    graph = build_graph([from_sympy(number, {})])
    pair = compute_precise_value(graph, int(graph.roots[0]), 0, {})
    if pair is None:
        raise FormulaError(f"the coefficient {number} is not a real number")
    value, peak = pair
    return 0.0 if abs(value) <= bound_numerical_error(peak) else float(value)


_RELATIVE_TOLERANCE = 1e-6


def find_independent_expressions(
    expressions: Sequence[Expression], input_filters: Sequence[Callable[[str], bool]]
) -> NDArray[np.bool_]:
    """Say which formulas keep their values while some inputs take others.

    Parameters
    ----------
    expressions : sequence of Expression, length k
        The formulas.
    moves : sequence of callable, length s
        Each says of an input, by its name, whether it takes other values.

    Returns
    -------
    bool array, shape (s, k)
        By residues, which prove it; else by digits, where the formula is defined for the old values and for
        the new (`symscreen.evaluation.affine_equivalence` on both).

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> formulas = [parse_expression("x1 + x2 - x2"), parse_expression("x1 + x2"),
    ...     parse_expression("sin(x2)**2 + cos(x2)**2")]
    >>> find_independent_expressions(formulas, [lambda name: name == "x2", lambda _: True]).tolist()
    [[True, False, True], [False, False, True]]
    """
    found = np.zeros((len(input_filters), len(expressions)), dtype=np.bool_)
    for start in range(0, len(expressions), BLOCK_EXPRESSIONS):
        graph = build_graph(expressions[start : start + BLOCK_EXPRESSIONS])
        distinct, which = np.unique(graph.roots, return_inverse=True)
        old = _sample_nodes(graph, distinct)
        for move, unmoved in zip(input_filters, found, strict=True):
            new = _sample_nodes(graph, distinct, move)
            unmoved[start : start + BLOCK_EXPRESSIONS] = _find_unchanged(graph, distinct, old, new)[which]
    return found


@dataclass(frozen=True, eq=False)
class _NodeSample:
    """Some nodes of a graph for one draw of the inputs.

    Parameters
    ----------
    rows : callable
        Gives an input's values.
    values : float64 array, shape (q, ROWS)
    residues : uint64 array, shape (q, 2, 2)
    memory : dict
        Of `compute_precise_value`.
    """

    draw_column: Callable[[str], NDArray[np.float64]]
    values: NDArray[np.float64]
    residues: NDArray[np.uint64]
    cache: ValueCache


def _sample_nodes(
    graph: ExpressionGraph, nodes: NDArray[np.int64], input_filter: Callable[[str], bool] = lambda _: False
) -> _NodeSample:
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
    defined = np.isfinite(old.values) & np.isfinite(new.values)
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.maximum(np.abs(old.values), np.abs(new.values))
        apart = defined & (np.abs(old.values - new.values) > _RELATIVE_TOLERANCE * size)
    # far out rounding drives apart what is equal, as cosh²x − sinh²x: those rows are for the last test
    near = slice(0, WIDE_ROWS.start)
    spoken = defined[:, near].any(axis=1)
    by_value = defined.any(axis=1) & ~np.where(spoken, apart[:, near].any(axis=1), apart.any(axis=1))
    found: NDArray[np.bool_] = (old.residues == new.residues).all(axis=(1, 2))
    for place in np.flatnonzero(by_value & ~found):
        node = int(nodes[place])
        found[place] = not any(
            _is_different(
                compute_precise_value(graph, node, row, old.cache, old.draw_column),
                compute_precise_value(graph, node, row, new.cache, new.draw_column),
            )
            for row in select_rows_to_check(defined[place])
        )
    return found


def _is_different(old: PreciseValue, new: PreciseValue) -> bool:
    return (
        old is not None
        and new is not None
        and bool(abs(old[0] - new[0]) > bound_numerical_error(old[1]) + bound_numerical_error(new[1]))
    )


_MIN_ROWS = 4


@dataclass(frozen=True, slots=True)
class Truth:
    """A known formula, taken apart.

    Parameters
    ----------
    expression : Expression
        The formula.
    active : tuple of str
        The inputs on which its values depend, ascending: x1 alone of ``x1 + 0*x2`` and ``x1 + x2 - x2``.
    terms : tuple of Expression
        What it is a sum of once products are multiplied out, without coefficients and constants, the simplest
        first. Quotients, functions and other powers than whole ones are not taken apart. Empty where there
        are more than 64.
    coefficients : tuple of float
        One a term, not 0.

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
    """Read a true formula and take it apart.

    Parameters
    ----------
    text : str
        In the one notation, such as ``2*x1**3 + 5*x3 + 10``.
    names : collection of str, optional
        The columns there are; without it any name is taken for a column, save ``pi``.
    operators : mapping, optional
        The operators that may be called, by name; a user's own are taken apart as what they stand for.

    Returns
    -------
    Truth

    Raises
    ------
    FormulaError
        If the text does not parse, calls an unknown operator or names an unknown column; if the formula is
        constant, as far as double precision tells, or has no real value at (nearly) all of `ROWS` random
        points.

    Notes
    -----
    Whether an input is active is decided by value, to hundreds of digits, where the formula is defined
    (`symscreen.evaluation.truth`). A formula that sympy brings to a form outside the notation, such as
    ``abs(exp(sqrt(x)))``, is one term.

    Examples
    --------
    >>> parse_truth("2*x1**3 + 5*x3 + 10").active_inputs
    ('x1', 'x3')
    """
    expression = parse_expression(text, operators, names)
    inputs = sorted(collect_columns(expression))
    if not inputs:
        raise FormulaError(f"the truth {text!r} contains no column, and a constant has nothing to be found")
    _check_defined(expression, text, inputs)
    idle = find_independent_expressions([expression], [name.__eq__ for name in inputs])[:, 0]
    active = tuple(name for name, unmoved in zip(inputs, idle, strict=True) if not unmoved)
    if not active:
        raise FormulaError(
            f"the truth {text!r} is constant as far as its values tell (its columns cancel, or what they add "
            "is beyond double precision); give a formula that depends on one"
        )
    parts = find_additive_terms(expression, active)
    terms, coefficients = tuple(term for term, _ in parts), tuple(number for _, number in parts)
    return Truth(expression, active, terms, coefficients)


def _check_defined(expression: Expression, text: str, inputs: Sequence[str]) -> None:
    values = evaluate_expression(expression, {name: draw_rows(name) for name in inputs})
    if np.isfinite(values).sum() < _MIN_ROWS:
        raise FormulaError(
            f"the truth {text!r} has a real value at {np.isfinite(values).sum()} of {N_SAMPLE_ROWS} points "
            "tried, of "
            f"both signs and sizes from 0.001 to a million; it takes {_MIN_ROWS} to compare with"
        )


Criterion = Literal["active", "terms", "exact"]

CRITERIA: dict[str, str] = {
    "active": "contains inputs of the truth, and no others",
    "terms": "equal, up to an affine map, to a term of the truth or a sum of some of them",
    "exact": "equal, up to an affine map, to the whole truth",
}

_MAX_SUMMED_TERMS = 10


def find_correct_features(
    expressions: Sequence[Expression], truth: Truth, criterion: Criterion
) -> NDArray[np.bool_]:
    """Say which features are correct.

    Parameters
    ----------
    expressions : sequence of Expression, length k
        The features.
    truth : Truth
        From `symscreen.evaluation.truth.parse_truth`.
    criterion : {"active", "terms", "exact"}
        What counts; see this module's head.

    Returns
    -------
    bool array, shape (k,)

    Raises
    ------
    OptionError
        If there is no such criterion.
    FormulaError
        If the criterion is `terms` and the truth has more than 10.

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
    raise OptionError(f"there is no criterion {criterion!r}{suggest(str(criterion), CRITERIA)}")


def find_affine_copies(expressions: Sequence[Expression], formula: Expression) -> NDArray[np.bool_]:
    """Say which formulas are a + b times another, b ≠ 0, by algebra and by value.

    Parameters
    ----------
    expressions : sequence of Expression, length k
        The formulas.
    of : Expression
        The other; one that is constant has no copies.

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
    """List the formulas of which the features that are correct by `terms` are affine copies.

    Parameters
    ----------
    truth : Truth
        Of at most 10 terms.

    Returns
    -------
    tuple of Expression
        The terms, then sums of two, of three, …: with the coefficients' signs and, where that is another
        formula, with the coefficients. The last is the truth itself.

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
            f"the truth {truth.expression} has {len(truth.terms) or 'too many'} terms, and the criterion "
            f"'terms' tries all sums of at most {_MAX_SUMMED_TERMS}; take 'active' or 'exact'"
        )
    pairs = list(zip(truth.terms, map(recover_fraction, truth.coefficients), strict=True))
    sums: list[Expression] = []
    for size in range(1, len(pairs) + 1):
        for some in combinations(pairs, size):
            alike = len({abs(weight) for _, weight in some}) == 1
            if size < len(pairs) or not alike:
                sums.append(_build_sum([(term, weight / abs(weight)) for term, weight in some]))
            if size < len(pairs) and not alike:
                sums.append(_build_sum(some))
    return (*sums, truth.expression)


def _build_sum(parts: Sequence[tuple[Expression, Fraction]]) -> Expression:
    (first, weight), *others = parts
    total = _scale_term(abs(weight), first)
    for term, other in others:
        # turned, if need be, so that it begins with a plus: a sum and its negative are affine copies
        operator = OPERATORS["add" if other * weight > 0 else "sub"]
        total = apply_operator(operator, total, _scale_term(abs(other), term))
    return total


def _scale_term(weight: Fraction, term: Expression) -> Expression:
    return term if weight == 1 else apply_operator(OPERATORS["mul"], build_number(weight), term)


def _find_active_features(
    expressions: Sequence[Expression], active_inputs: frozenset[str]
) -> NDArray[np.bool_]:
    by_idle, by_any = find_independent_expressions(
        expressions, (lambda name: name not in active_inputs, lambda _: True)
    )
    found: NDArray[np.bool_] = by_idle & ~by_any
    return found

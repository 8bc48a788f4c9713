"""Evaluate formulas at random rows, in double precision, modulo a prime, and with hundreds of digits.

Each column has its own random values, seeded by its name, so the values of a formula depend on nothing else.
The rows have four ranges, so that logarithms, roots and inverse sines are defined in some of them:

========  =====================================  ===================================================
range     values                                 for
========  =====================================  ===================================================
normal    N(0, 1) times ½, 1, 1 or 2             signs, |x|, odd and even functions
positive  e^N(0, 1) times ⅓, 1, 1 or 3           log, sqrt, powers
unit      (0, 1) times 1, 1, ⅓ or ⅒              asin, acos, sqrt(1 − x² − y²)
wide      ±10^u, u uniform on (−3, 6)            functions such as max(x, 100)
========  =====================================  ===================================================

The factor depends on the row, not on the column, so that sums of many columns are small in some rows. Each
value is a rational number with 21 binary digits, which is exact in every precision.

Formulas are stored as one graph of distinct subexpressions and evaluated level by level. High-precision
values are computed from the sympy forms of the operators. The value of a node has a peak: the largest
magnitude of any number in its computation. If the double-precision value is finite, no such number exceeds
10³⁰⁸. Of `DIGITS` = 400 digits the last 40 are reserved for rounding errors, so a value is accurate to 10⁻³⁶⁰
times its peak: to 10⁻⁵² at worst, and to about 350 decimals for moderate numbers.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.expressions.sympy_conversion import build_operator_form
from symscreen.expressions.tree import Call, Column
from symscreen.grammar import fingerprint as fp
from symscreen.grammar.custom_operators import replace_infinities

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.expressions.tree import Expression
    from symscreen.grammar.operator import Operator

    ArraySampler = Callable[[str], NDArray[Any]]
    ColumnSampler = Callable[[str], Any]
    CompiledForm = Callable[[Sequence[Any], list[Any]], Any]


_ROWS_PER_RANGE = 24
_CHECKED_ROWS_PER_RANGE = 8  # rows of a moderate range for the comparison by digits
N_SAMPLE_ROWS = 4 * _ROWS_PER_RANGE
MODERATE_ROWS = (
    slice(0, _ROWS_PER_RANGE),
    slice(_ROWS_PER_RANGE, 2 * _ROWS_PER_RANGE),
    slice(2 * _ROWS_PER_RANGE, 3 * _ROWS_PER_RANGE),
)
WIDE_ROWS = slice(3 * _ROWS_PER_RANGE, N_SAMPLE_ROWS)

# (operator number, first argument, last argument, None) for an operation, where a unary operator repeats its
# argument; (−1, −1, −1, leaf) for a leaf, a column name or a number
Node = tuple[int, int, int, str | float | None]

DIGITS = 400  # decimal digits of the arithmetic
_ERROR_DIGITS = 360  # decimal digits that are accurate relative to the peak

# a value and its peak, or None if the value is undefined
PreciseValue = tuple[Any, Any] | None
ValueCache = dict[tuple[int, int], PreciseValue]

# exceptions of mpmath at a pole or far outside the domain of a function
_EVALUATION_ERRORS = (ArithmeticError, ValueError)

# functions of one argument with the same name in sympy and mpmath
_SHARED_FUNCTIONS = frozenset({
    "exp", "log", "sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "coth",
    "asin", "acos", "atan", "asinh", "erf", "erfc", "sign", "floor",
})  # fmt: skip


@lru_cache(maxsize=4096)
def draw_rows(name: str, salt: int = 0) -> NDArray[np.float64]:
    """Draw the random values of a column.

    Parameters
    ----------
    name : str
        Name of the column; any text.
    salt : int
        Another salt gives other values in the same ranges.

    Returns
    -------
    float64 array, shape (N_SAMPLE_ROWS,), read-only
        Finite and non-zero.

    Examples
    --------
    >>> bool((draw_rows("x1") == draw_rows("x1")).all()), bool((draw_rows("x1") == draw_rows("x2")).any())
    (True, False)
    """
    # a column name may contain unpaired surrogates
    data = f"{salt} {name}".encode("utf-8", "surrogatepass")
    seed = int.from_bytes(hashlib.blake2b(data, digest_size=8, person=b"rows").digest(), "little")
    rng = np.random.default_rng(seed)
    by_row = _ROWS_PER_RANGE // 4
    values = np.concatenate(
        (
            rng.standard_normal(_ROWS_PER_RANGE) * np.tile((0.5, 1.0, 1.0, 2.0), by_row),
            np.exp(rng.standard_normal(_ROWS_PER_RANGE)) * np.tile((1 / 3, 1.0, 1.0, 3.0), by_row),
            (1 - rng.random(_ROWS_PER_RANGE)) * np.tile((1.0, 1.0, 1 / 3, 0.1), by_row),
            rng.choice((-1.0, 1.0), _ROWS_PER_RANGE) * 10 ** rng.uniform(-3, 6, _ROWS_PER_RANGE),
        )
    )
    mantissa, exponent = np.frexp(values)
    values = np.asarray(np.ldexp(np.rint(mantissa * 2.0**21), exponent - 21))
    values.flags.writeable = False
    return values


@lru_cache(maxsize=4096)
def draw_residues(name: str, salt: int = 0) -> NDArray[np.uint64]:
    """Draw the coordinates of a column at four random points modulo p (`symscreen.grammar.fingerprint`).

    Parameters
    ----------
    name : str
        Name of the column.
    salt : int
        Another salt gives other points.

    Returns
    -------
    uint64 array, shape (2, 2)
        Two fingerprints, each a pair of residues.
    """
    return np.stack([fp.encode_column(f"{salt} {half} {name}") for half in "ab"])


def select_rows_to_check(defined: NDArray[np.bool_]) -> list[int]:
    """Select the rows for the comparison by digits: some rows of each moderate range and all wide rows.

    Parameters
    ----------
    defined : bool array, shape (N_SAMPLE_ROWS,)
        Rows in which the formulas are defined.

    Returns
    -------
    list of int
        Row indices in ascending order.

    Examples
    --------
    >>> len(select_rows_to_check(np.ones(N_SAMPLE_ROWS, dtype=np.bool_)))
    48
    """
    moderate = [
        rows.start + np.flatnonzero(defined[rows])[:_CHECKED_ROWS_PER_RANGE] for rows in MODERATE_ROWS
    ]
    wide = WIDE_ROWS.start + np.flatnonzero(defined[WIDE_ROWS])
    return [int(row) for row in np.concatenate((*moderate, wide))]


@dataclass(frozen=True, eq=False)
class ExpressionGraph:
    """Distinct subexpressions of formulas.

    Parameters
    ----------
    nodes : tuple of Node
        Arguments precede the operations on them.
    operators : tuple of Operator
        Operators by their number in the nodes.
    levels : tuple of (int, int64 array)
        Order of evaluation: the number of an operator and the nodes it is applied to in one step.
    roots : int64 array, shape (k,)
        Node of each formula.
    """

    nodes: tuple[Node, ...]
    operators: tuple[Operator, ...]
    levels: tuple[tuple[int, NDArray[np.int64]], ...]
    roots: NDArray[np.int64]


def build_graph(expressions: Sequence[Expression]) -> ExpressionGraph:
    """Build the graph of the distinct subexpressions of formulas.

    Parameters
    ----------
    expressions : sequence of Expression, length k
        Formulas.

    Returns
    -------
    ExpressionGraph

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> graph = build_graph([parse_expression("sin(x) + y"), parse_expression("y + sin(x)"),
    ...     parse_expression("sin(x)")])
    >>> len(graph.nodes), graph.roots.tolist()
    (5, [3, 4, 1])
    """
    indices: dict[Node, int] = {}
    heights: list[int] = []
    # by identity, because comparing operators compares all their fields
    codes: dict[int, int] = {}
    operators: list[Operator] = []

    # called for millions of nodes: creates as few objects as possible
    def add_node(expression: Expression) -> int:
        node: Node
        if isinstance(expression, Call):
            code = codes.get(id(expression.operator))
            if code is None:
                code = codes[id(expression.operator)] = len(operators)
                operators.append(expression.operator)
            arguments = expression.arguments
            left = add_node(arguments[0])
            right = add_node(arguments[1]) if len(arguments) > 1 else left
            node = (code, left, right, None)
        else:
            node = (-1, -1, -1, expression.name if isinstance(expression, Column) else expression.value)
        index = indices.get(node)
        if index is None:
            index = indices[node] = len(heights)
            heights.append(0 if node[0] < 0 else 1 + max(heights[node[1]], heights[node[2]]))
        return index

    roots = np.array([add_node(expression) for expression in expressions], dtype=np.int64)
    nodes = tuple(indices)
    return ExpressionGraph(nodes, tuple(operators), tuple(_group_levels(nodes, heights)), roots)


def _group_levels(nodes: Sequence[Node], heights: Sequence[int]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Group the operation nodes by height and operator."""
    codes, height = np.array([node[0] for node in nodes], dtype=np.int64), np.array(heights)
    order = np.lexsort((codes, height))
    order = order[codes[order] >= 0]
    if order.size:
        is_new_group = (np.diff(height[order]) != 0) | (np.diff(codes[order]) != 0)
        for indices in np.split(order, np.flatnonzero(is_new_group) + 1):
            yield int(codes[indices[0]]), indices


def compute_node_values(graph: ExpressionGraph, sampler: ArraySampler) -> NDArray[np.float64]:
    """Compute the values of all nodes in double precision, like `evaluate_expression`.

    Parameters
    ----------
    graph : ExpressionGraph
        Graph of m nodes.
    sampler : callable
        Maps a column name to its values, shape (N_SAMPLE_ROWS,).

    Returns
    -------
    float64 array, shape (m, N_SAMPLE_ROWS)
        NaN where any step of the formula is undefined or not finite.
    """
    out = np.empty((len(graph.nodes), N_SAMPLE_ROWS))
    for index, leaf in _iterate_leaves(graph):
        out[index] = sampler(leaf) if isinstance(leaf, str) else leaf
    with np.errstate(all="ignore"):
        for operator, arguments, indices in _iterate_operations(graph):
            out[indices] = replace_infinities(operator.numeric(*(out[argument] for argument in arguments)))
    return out


def compute_node_residues(graph: ExpressionGraph, sampler: ArraySampler) -> NDArray[np.uint64]:
    """Compute the fingerprints of all nodes.

    Parameters
    ----------
    graph : ExpressionGraph
        Graph of m nodes.
    sampler : callable
        Maps a column name to its residues, shape (2, 2).

    Returns
    -------
    uint64 array, shape (m, 2, 2)
    """
    out = np.empty((len(graph.nodes), 2, 2), dtype=np.uint64)
    for index, leaf in _iterate_leaves(graph):
        out[index] = sampler(leaf) if isinstance(leaf, str) else fp.encode_number(leaf)
    for operator, arguments, indices in _iterate_operations(graph):
        out[indices] = operator.compute_fingerprint(*(out[argument] for argument in arguments))
    return out


def _iterate_leaves(graph: ExpressionGraph) -> Iterator[tuple[int, str | float]]:
    """Yield the index and the column name or number of each leaf."""
    for index, (_, _, _, leaf) in enumerate(graph.nodes):
        if leaf is not None:
            yield index, leaf


def _iterate_operations(
    graph: ExpressionGraph,
) -> Iterator[tuple[Operator, tuple[NDArray[np.int64], ...], NDArray[np.int64]]]:
    """Yield each operator with its argument nodes and its result nodes, in the order of evaluation."""
    left = np.array([node[1] for node in graph.nodes], dtype=np.int64)
    right = np.array([node[2] for node in graph.nodes], dtype=np.int64)
    for code, indices in graph.levels:
        operator = graph.operators[code]
        arguments = (left[indices],) if operator.arity == 1 else (left[indices], right[indices])
        yield operator, arguments, indices


def compute_precise_value(
    graph: ExpressionGraph, node: int, row: int, cache: ValueCache, sampler: ColumnSampler = draw_rows
) -> PreciseValue:
    """Compute the value of a node in one row with high precision.

    Parameters
    ----------
    graph : ExpressionGraph
        Graph of the formulas.
    node, row : int
        Indices of the node and of the row.
    cache : dict
        Values already computed for this graph and sampler; new values are added.
    sampler : callable
        Maps a column name to its values.

    Returns
    -------
    (value, peak) : pair of mpmath.mpf, or None
        None if any step of the formula is not a real number.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> graph = build_graph([parse_expression("sin(x)**2 + cos(x)**2 - 1")])
    >>> value, peak = compute_precise_value(graph, int(graph.roots[0]), 0, {})
    >>> bool(abs(value) < bound_numerical_error(peak))
    True
    """
    if (node, row) not in cache:
        cache[node, row] = _compute_node(graph, node, row, cache, sampler)
    return cache[node, row]


def bound_numerical_error(peak: Any) -> Any:
    """Compute the bound on the rounding error of a value from its peak."""
    return peak * _get_context().mpf(10) ** -_ERROR_DIGITS


def _compute_node(
    graph: ExpressionGraph, node: int, row: int, cache: ValueCache, sampler: ColumnSampler
) -> PreciseValue:
    """Compute the value and the peak of a node in one row."""
    code, left, right, leaf = graph.nodes[node]
    if code < 0:
        number = float(sampler(leaf)[row]) if isinstance(leaf, str) else leaf
        value = _to_mpf(number or 0)
        return value, abs(value)
    operator = graph.operators[code]
    arguments, peaks = [], []
    for argument in (left, right)[: operator.arity]:
        result = compute_precise_value(graph, argument, row, cache, sampler)
        if result is None:
            return None
        arguments.append(result[0])
        peaks.append(result[1])
    try:
        value = _compile_operator(operator)(arguments, peaks)
    except _EVALUATION_ERRORS:
        return None
    return value, max(peaks)


@lru_cache(maxsize=1)
def _get_context() -> Any:
    """Return the mpmath context of this module; the precision of the shared context belongs to the user."""
    import mpmath

    context = mpmath.MPContext()
    context.dps = DIGITS
    return context


def _to_mpf(value: float) -> Any:
    """Convert a float to its shortest decimal, or π, with high precision."""
    if value == math.pi:
        return +_get_context().pi
    fraction = Fraction(str(value))
    return _get_context().mpf(fraction.numerator) / fraction.denominator


@lru_cache(maxsize=1024)
def _compile_operator(operator: Operator) -> CompiledForm:
    """Compile the sympy form of an operator."""
    symbols, body = build_operator_form(operator)
    return _compile_form(body, {symbol: index for index, symbol in enumerate(symbols)})


def _compile_form(body: Any, argument_indices: Mapping[Any, int]) -> CompiledForm:
    """Compile a sympy form to a function that computes its value and appends all magnitudes to a list."""
    if body in argument_indices:
        index = argument_indices[body]
        return lambda arguments, _: arguments[index]
    context = _get_context()
    if body.is_Rational:
        constant = context.mpf(body.p) / body.q
        return lambda *_: constant
    if body.is_NumberSymbol:
        constant = context.mpf(body.evalf(DIGITS)._mpf_)
        return lambda *_: constant
    parts = [_compile_form(part, argument_indices) for part in body.args]
    combine = _get_function(body.func)

    def compute(arguments: Sequence[Any], magnitudes: list[Any]) -> Any:
        value = combine(*(part(arguments, magnitudes) for part in parts))
        if not isinstance(value, context.mpf) or not context.isfinite(value):
            raise ArithmeticError
        magnitudes.append(abs(value))
        return value

    return compute


def _get_function(sympy_function: Any) -> Callable[..., Any]:
    """Return the numeric function of a sympy function, sum, product or power."""
    context = _get_context()
    functions: dict[str, Callable[..., Any]] = {
        "Add": lambda *terms: sum(terms, context.zero),
        "Mul": lambda *factors: math.prod(factors, start=context.one),
        "Pow": _compute_power,
        "Abs": abs,
        "Max": max,
        "Min": min,
        "ceiling": context.ceil,
        # of real arguments
        "re": lambda a: a,
        "conjugate": lambda a: a,
        "im": lambda _: context.zero,
    }
    if sympy_function.__name__ in functions:
        return functions[sympy_function.__name__]
    function = getattr(context, sympy_function.__name__, None)
    return (
        function
        if callable(function) and sympy_function.__name__ in _SHARED_FUNCTIONS
        else _wrap_sympy_function(sympy_function)
    )


def _wrap_sympy_function(sympy_function: Any) -> Callable[..., Any]:
    """Return a numeric function that evaluates a sympy function."""
    import sympy

    context = _get_context()

    def compute(*arguments: Any) -> Any:
        value = sympy_function(*(sympy.Float(argument, DIGITS) for argument in arguments)).evalf(DIGITS)
        if not (value.is_Float or value.is_Rational):
            raise ArithmeticError
        return context.mpf(sympy.Float(value, DIGITS)._mpf_)

    return compute


def _compute_power(base: Any, exponent: Any) -> Any:
    """Compute a real power."""
    context = _get_context()
    if context.isint(exponent):
        return context.power(base, int(exponent))
    if base < 0:
        raise ArithmeticError  # a complex number
    return context.sqrt(base) if exponent == 0.5 else context.power(base, exponent)

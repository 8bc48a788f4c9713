"""The random rows at which formulas are compared where no table is at hand.

Every column has its own draws, seeded by its name, so a formula's values depend on nothing else. The rows
stand in four ranges, so that logarithms, roots and inverse sines are defined somewhere:

========  =====================================  ===================================================
range     values                                 for
========  =====================================  ===================================================
normal    N(0, 1) times ½, 1, 1 or 2             signs, |x|, odd and even functions
positive  e^N(0, 1) times ⅓, 1, 1 or 3           log, sqrt, powers
unit      (0, 1) times 1, 1, ⅓ or ⅒              asin, acos, sqrt(1 − x² − y²)
wide      ±10^u, u uniform on (−3, 6)            what begins or ends far out, such as max(x, 100)
========  =====================================  ===================================================

The factor belongs to the row, whatever the column, so that sums of many columns come small as well. Each
value is a rational number of 21 binary digits, the same in double precision as in any other.

Many formulas as one graph, in which what they share stands once, computed level by level.

A formula's values to hundreds of digits, computed from its operators' sympy forms.

Where double precision has a value at all, no number on the way to it exceeds 10³⁰⁸. With the value comes its
peak, the largest of them. Of `DIGITS` = 400 digits the last 40 are given up as rounding, so a value is known
to 10⁻³⁶⁰ times its peak: to 10⁻⁵² at worst, and to 350 places where numbers are moderate.
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

__all__ = [
    "DIGITS",
    "MODERATE_ROWS",
    "N_SAMPLE_ROWS",
    "WIDE_ROWS",
    "ExpressionGraph",
    "Node",
    "PreciseValue",
    "ValueCache",
    "bound_numerical_error",
    "build_graph",
    "compute_node_residues",
    "compute_node_values",
    "compute_precise_value",
    "draw_residues",
    "draw_rows",
    "select_rows_to_check",
]

_ROWS_PER_RANGE = 24
_CHECKED_ROWS_PER_RANGE = 8
N_SAMPLE_ROWS = 4 * _ROWS_PER_RANGE
MODERATE_ROWS = (
    slice(0, _ROWS_PER_RANGE),
    slice(_ROWS_PER_RANGE, 2 * _ROWS_PER_RANGE),
    slice(2 * _ROWS_PER_RANGE, 3 * _ROWS_PER_RANGE),
)
WIDE_ROWS = slice(3 * _ROWS_PER_RANGE, N_SAMPLE_ROWS)


@lru_cache(maxsize=4096)
def draw_rows(name: str, salt: int = 0) -> NDArray[np.float64]:
    """Draw a column's values.

    Parameters
    ----------
    name : str
        The column; any text.
    salt : int
        Another number gives other values, in the same ranges row by row.

    Returns
    -------
    float64 array, shape (ROWS,), not to be written to
        Finite and not 0.

    Examples
    --------
    >>> bool((draw_rows("x1") == draw_rows("x1")).all()), bool((draw_rows("x1") == draw_rows("x2")).any())
    (True, False)
    """
    # a column's name may be any text, halves of surrogate pairs included
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
    """Draw a column's coordinates in four random points modulo p (`symscreen.grammar.fingerprint`).

    Parameters
    ----------
    name : str
        The column.
    salt : int
        Another number gives another four.

    Returns
    -------
    uint64 array, shape (2, 2)
        In pairs, as fingerprints come.
    """
    return np.stack([fp.encode_column(f"{salt} {half} {name}") for half in "ab"])


def select_rows_to_check(defined: NDArray[np.bool_]) -> list[int]:
    """Choose the rows to look at digit by digit: some of each moderate range, all of the wide one.

    Parameters
    ----------
    defined : bool array, shape (ROWS,)
        Where there is something to see.

    Returns
    -------
    list of int
        The rows, ascending.

    Examples
    --------
    >>> len(select_rows_to_check(np.ones(ROWS, dtype=np.bool_)))
    48
    """
    moderate = [
        rows.start + np.flatnonzero(defined[rows])[:_CHECKED_ROWS_PER_RANGE] for rows in MODERATE_ROWS
    ]
    wide = WIDE_ROWS.start + np.flatnonzero(defined[WIDE_ROWS])
    return [int(row) for row in np.concatenate((*moderate, wide))]


# an operator's number and the places of its arguments (a unary one's twice); or −1 three times and a leaf,
# which is a column's name or a number
Node = tuple[int, int, int, str | float | None]


@dataclass(frozen=True, eq=False)
class ExpressionGraph:
    """Formulas and all that they are made of.

    Parameters
    ----------
    nodes : tuple of Node
        Arguments before what is made of them.
    operators : tuple of Operator
        What the numbers mean.
    levels : tuple of (int, int64 array)
        The order of the work: an operator and the places it can be applied at together.
    roots : int64 array, shape (k,)
        The place of each of the formulas asked for.
    """

    nodes: tuple[Node, ...]
    operators: tuple[Operator, ...]
    levels: tuple[tuple[int, NDArray[np.int64]], ...]
    roots: NDArray[np.int64]


def build_graph(expressions: Sequence[Expression]) -> ExpressionGraph:
    """Collect the distinct parts of formulas.

    Parameters
    ----------
    expressions : sequence of Expression, length k
        The formulas.

    Returns
    -------
    Graph

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> graph = build_graph([parse_expression("sin(x) + y"), parse_expression("y + sin(x)"),
    ...     parse_expression("sin(x)")])
    >>> len(graph.nodes), graph.roots.tolist()
    (5, [3, 4, 1])
    """
    places: dict[Node, int] = {}
    heights: list[int] = []
    # by identity: an operator's own comparison reads all that is known of it
    codes: dict[int, int] = {}
    operators: list[Operator] = []

    # a million nodes pass through here: no more is made than must be
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
        found = places.get(node)
        if found is None:
            found = places[node] = len(heights)
            heights.append(0 if node[0] < 0 else 1 + max(heights[node[1]], heights[node[2]]))
        return found

    roots = np.array([add_node(expression) for expression in expressions], dtype=np.int64)
    nodes = tuple(places)
    return ExpressionGraph(nodes, tuple(operators), tuple(_group_levels(nodes, heights)), roots)


def _group_levels(nodes: Sequence[Node], heights: Sequence[int]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    codes, height = np.array([node[0] for node in nodes], dtype=np.int64), np.array(heights)
    order = np.lexsort((codes, height))
    order = order[codes[order] >= 0]
    if order.size:
        step = (np.diff(height[order]) != 0) | (np.diff(codes[order]) != 0)
        for places in np.split(order, np.flatnonzero(step) + 1):
            yield int(codes[places[0]]), places


def compute_node_values(graph: ExpressionGraph, sampler: ArraySampler) -> NDArray[np.float64]:
    """Compute the values of all nodes, as `symscreen.expressions.tree.evaluate` does.

    Parameters
    ----------
    graph : Graph
        The formulas, m nodes.
    draw : callable
        Gives a column's values by its name, shape (`ROWS`,).

    Returns
    -------
    float64 array, shape (m, ROWS)
        NaN where a formula, at any step, is undefined or not finite.
    """
    out = np.empty((len(graph.nodes), N_SAMPLE_ROWS))
    for place, leaf in _iterate_leaves(graph):
        out[place] = sampler(leaf) if isinstance(leaf, str) else leaf
    with np.errstate(all="ignore"):
        for operator, arguments, places in _iterate_operations(graph):
            out[places] = replace_infinities(operator.numeric(*(out[argument] for argument in arguments)))
    return out


def compute_node_residues(graph: ExpressionGraph, sampler: ArraySampler) -> NDArray[np.uint64]:
    """Compute the fingerprints of all nodes.

    Parameters
    ----------
    graph : Graph
        The formulas, m nodes.
    draw : callable
        Gives a column's residues by its name, shape (2, 2).

    Returns
    -------
    uint64 array, shape (m, 2, 2)
    """
    out = np.empty((len(graph.nodes), 2, 2), dtype=np.uint64)
    for place, leaf in _iterate_leaves(graph):
        out[place] = sampler(leaf) if isinstance(leaf, str) else fp.encode_number(leaf)
    for operator, arguments, places in _iterate_operations(graph):
        out[places] = operator.compute_fingerprint(*(out[argument] for argument in arguments))
    return out


def _iterate_leaves(graph: ExpressionGraph) -> Iterator[tuple[int, str | float]]:
    for place, (_, _, _, leaf) in enumerate(graph.nodes):
        if leaf is not None:
            yield place, leaf


def _iterate_operations(
    graph: ExpressionGraph,
) -> Iterator[tuple[Operator, tuple[NDArray[np.int64], ...], NDArray[np.int64]]]:
    left = np.array([node[1] for node in graph.nodes], dtype=np.int64)
    right = np.array([node[2] for node in graph.nodes], dtype=np.int64)
    for code, places in graph.levels:
        operator = graph.operators[code]
        arguments = (left[places],) if operator.arity == 1 else (left[places], right[places])
        yield operator, arguments, places


DIGITS = 400
_ERROR_DIGITS = 360

# a value and its peak, or nothing where there is no value
PreciseValue = tuple[Any, Any] | None
ValueCache = dict[tuple[int, int], PreciseValue]


def compute_precise_value(
    graph: ExpressionGraph, node: int, row: int, cache: ValueCache, sampler: ColumnSampler = draw_rows
) -> PreciseValue:
    """Compute a node of a graph in one row.

    Parameters
    ----------
    graph : Graph
        The formulas.
    node, row : int
        Which.
    memory : dict
        What has been computed already of this graph with this `draw`; it is added to.
    draw : callable
        Gives a column's values by its name.

    Returns
    -------
    (value, peak) : pair of mpmath.mpf, or None
        None where the formula, at any step, is not a real number.

    Examples
    --------
    >>> from symscreen.evaluation.mp_evaluation import build_graph
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
    """Bound the rounding error of a value by its peak."""
    return peak * _get_context().mpf(10) ** -_ERROR_DIGITS


def _compute_node(
    graph: ExpressionGraph, node: int, row: int, cache: ValueCache, sampler: ColumnSampler
) -> PreciseValue:
    code, left, right, leaf = graph.nodes[node]
    if code < 0:
        number = float(sampler(leaf)[row]) if isinstance(leaf, str) else leaf
        value = _to_mpf(number or 0)
        return value, abs(value)
    operator = graph.operators[code]
    arguments, peaks = [], []
    for place in (left, right)[: operator.arity]:
        pair = compute_precise_value(graph, place, row, cache, sampler)
        if pair is None:
            return None
        arguments.append(pair[0])
        peaks.append(pair[1])
    try:
        value = _compile_operator(operator)(arguments, peaks)
    except _EVALUATION_ERRORS:
        return None
    return value, max(peaks)


# what mpmath raises where a function has no value: at a pole, or far outside its domain
_EVALUATION_ERRORS = (ArithmeticError, ValueError)


@lru_cache(maxsize=1)
def _get_context() -> Any:
    # sympy's own arithmetic; a context of our own, for the precision of the shared one belongs to the user
    import mpmath

    context = mpmath.MPContext()
    context.dps = DIGITS
    return context


def _to_mpf(value: float) -> Any:
    if value == math.pi:
        return +_get_context().pi
    fraction = Fraction(str(value))
    return _get_context().mpf(fraction.numerator) / fraction.denominator


@lru_cache(maxsize=1024)
def _compile_operator(operator: Operator) -> CompiledForm:
    symbols, body = build_operator_form(operator)
    return _compile_form(body, {symbol: place for place, symbol in enumerate(symbols)})


def _compile_form(body: Any, argument_indices: Mapping[Any, int]) -> CompiledForm:
    """Turn a sympy form into a function that computes it and adds every size met to a list."""
    if body in argument_indices:
        place = argument_indices[body]
        return lambda arguments, _: arguments[place]
    numbers = _get_context()
    if body.is_Rational:
        constant = numbers.mpf(body.p) / body.q
        return lambda *_: constant
    if body.is_NumberSymbol:
        constant = numbers.mpf(body.evalf(DIGITS)._mpf_)
        return lambda *_: constant
    parts = [_compile_form(part, argument_indices) for part in body.args]
    combine = _get_function(body.func)

    def compute(arguments: Sequence[Any], magnitudes: list[Any]) -> Any:
        value = combine(*(part(arguments, magnitudes) for part in parts))
        if not isinstance(value, numbers.mpf) or not numbers.isfinite(value):
            raise ArithmeticError
        magnitudes.append(abs(value))
        return value

    return compute


def _get_function(sympy_function: Any) -> Callable[..., Any]:
    """Return the function of numbers that a sympy function, sum, product or power is."""
    numbers = _get_context()
    known: dict[str, Callable[..., Any]] = {
        "Add": lambda *terms: sum(terms, numbers.zero),
        "Mul": lambda *factors: math.prod(factors, start=numbers.one),
        "Pow": _compute_power,
        "Abs": abs,
        "Max": max,
        "Min": min,
        "ceiling": numbers.ceil,
        # a real number's
        "re": lambda a: a,
        "conjugate": lambda a: a,
        "im": lambda _: numbers.zero,
    }
    if sympy_function.__name__ in known:
        return known[sympy_function.__name__]
    own = getattr(numbers, sympy_function.__name__, None)
    return (
        own
        if callable(own) and sympy_function.__name__ in _SHARED_FUNCTIONS
        else _wrap_sympy_function(sympy_function)
    )


# the functions that sympy and mpmath call alike, of one argument
_SHARED_FUNCTIONS = frozenset({"exp", "log", "sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "coth",
                     "asin", "acos", "atan", "asinh", "erf", "erfc", "sign", "floor"})  # fmt: skip


def _wrap_sympy_function(sympy_function: Any) -> Callable[..., Any]:
    import sympy

    numbers = _get_context()

    def compute(*arguments: Any) -> Any:
        value = sympy_function(*(sympy.Float(argument, DIGITS) for argument in arguments)).evalf(DIGITS)
        if not (value.is_Float or value.is_Rational):
            raise ArithmeticError
        return numbers.mpf(sympy.Float(value, DIGITS)._mpf_)

    return compute


def _compute_power(base: Any, exponent: Any) -> Any:
    numbers = _get_context()
    if numbers.isint(exponent):
        return numbers.power(base, int(exponent))
    if base < 0:
        raise ArithmeticError  # a complex number
    return numbers.sqrt(base) if exponent == 0.5 else numbers.power(base, exponent)

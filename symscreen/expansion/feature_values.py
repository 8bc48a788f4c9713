"""Compute values of features: nodes of a pool, candidates of a layer, and error bounds.

`compute_node_values` recomputes nodes from the inputs if their values are not stored. A feature is a small
tree, so recomputing it is cheaper than storing it for all rows. Each required node is computed once per tile
of rows, together with all nodes of the same layer and operator.

`evaluate_range` and `evaluate_candidates` compute the candidates of a layer, in blocks that fit the cache.

`compute_error_bound` bounds the distance of computed values from exact ones. `compute_exact_value_ids`
identifies rows with the same exact value.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion._kernels import CandidateStatus, filter_by_range
from symscreen.expansion.nodes import COLUMN, CONSTANT
from symscreen.expansion.validity import is_cancellation_noise
from symscreen.expressions.traversal import fold_expression
from symscreen.grammar import fingerprint as fp
from symscreen.grammar.error_propagation import BoundedValue, bound_number, make_error_propagator
from symscreen.statistics.column_arithmetic import ARITHMETIC_UFUNCS, combine_columns, compute_bounds
from symscreen.statistics.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from symscreen._typing import Residues, Values
    from symscreen.expansion.candidates import Candidates, OperatorRange
    from symscreen.expansion.nodes import NodeArray, SymbolTable
    from symscreen.expansion.pool import Pool
    from symscreen.expressions.tree import Constant, Expression
    from symscreen.grammar import Operator
    from symscreen.statistics.ranks.sorted_block import MonotoneParents

    Inputs = Mapping[str, Values]
    CandidateTest = Callable[[OperatorRange, NDArray[np.int64]], NDArray[np.bool_]]


_TILE_BYTES = 1 << 20  # bytes of the values of all required nodes, so that they fit the cache
_MIN_ROWS = 16  # rows per tile
_BATCH_NODES = 1 << 12  # requested nodes that are computed together

# smaller blocks wait for the interpreter lock more often, larger ones exceed the processor's cache
_BLOCK_BYTES = 1 << 22
_MIN_BLOCK_FEATURES = 4  # features per block if there are many rows
_BYTES_PER_VALUE = 80  # bytes per value of a block: arguments, values, order, ranks and keys

_TILE_ROWS = 1 << 13  # rows processed together, so that tens of arrays fit the cache
_MAX_DECIMAL_PLACES = 22  # 10^22 is the largest power of ten that a double represents exactly
_MAX_EXACT_INTEGER = 2.0**53  # integer up to which all integers are exact in float64


def compute_node_values(
    symbols: SymbolTable, nodes: NodeArray, node_indices: NDArray[np.int64], columns: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Compute the values of nodes.

    Parameters
    ----------
    symbols : SymbolTable
        The symbols that the nodes refer to.
    nodes : NodeArray
        All nodes.
    node_indices : int64 array, shape (m,)
        Indices of the nodes to compute, in any order. Repeats are allowed.
    columns : float64 array, shape (d, n)
        Values of the inputs in the requested rows.

    Returns
    -------
    float64 array, shape (m, n), C-contiguous
        Bit-identical to the values that a layer computes, for any selection of nodes and rows.
    """
    out = np.empty((len(node_indices), columns.shape[1]))
    for first in range(0, len(node_indices), _BATCH_NODES):
        part = slice(first, first + _BATCH_NODES)
        _run_plan(out[part], symbols, _plan_evaluation(nodes, node_indices[part]), columns)
    return out


@dataclass(frozen=True, eq=False)
class _EvaluationPlan:
    """The nodes to compute, in the order of their layers.

    Parameters
    ----------
    steps : list of (int, int, int)
        Operator code, start and stop of each run of nodes with the same layer and operator.
    left, right : int64 arrays, shape (k,)
        Positions of the arguments in the plan. For leaves, the index of the name or constant.
    output_indices : int64 array, shape (m,)
        Positions of the requested nodes in the plan.
    """

    steps: list[tuple[int, int, int]]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    output_indices: NDArray[np.int64]


def _plan_evaluation(nodes: NodeArray, node_indices: NDArray[np.int64]) -> _EvaluationPlan:
    """Plan the evaluation of nodes and of all their arguments."""
    needed = frontier = np.unique(node_indices)
    while len(calls := frontier[nodes.operator[frontier] >= 0]):
        arguments = np.unique(np.concatenate((nodes.left[calls], nodes.right[calls]))).astype(np.int64)
        frontier = np.setdiff1d(arguments, needed, assume_unique=True)
        needed = np.union1d(needed, frontier)
    operator, layer = nodes.operator[needed], nodes.layer[needed]
    # arguments belong to older layers, so the nodes of one layer do not depend on each other
    order = np.lexsort((operator, layer))
    position = np.empty(len(needed), dtype=np.int64)
    position[order] = np.arange(len(needed))
    operator, layer = operator[order], layer[order]
    left, right = nodes.left[needed[order]].astype(np.int64), nodes.right[needed[order]].astype(np.int64)
    is_call = operator >= 0
    left[is_call] = position[np.searchsorted(needed, left[is_call])]
    right[is_call] = position[np.searchsorted(needed, right[is_call])]
    run_starts = np.flatnonzero((operator[1:] != operator[:-1]) | (layer[1:] != layer[:-1])) + 1
    bounds = [0, *run_starts.tolist(), len(needed)]
    steps = [(int(operator[a]), a, b) for a, b in pairwise(bounds) if a < b]
    return _EvaluationPlan(steps, left, right, position[np.searchsorted(needed, node_indices)])


def _run_plan(
    out: NDArray[np.float64], symbols: SymbolTable, plan: _EvaluationPlan, columns: NDArray[np.float64]
) -> None:
    """Fill `out`, shape (m, n), tile by tile."""
    n_nodes, n_rows = len(plan.left), columns.shape[1]
    constants = np.array(symbols.constants, dtype=np.float64)
    tile_rows = max(_MIN_ROWS, _TILE_BYTES // (8 * max(1, n_nodes)))
    buffer = np.empty(n_nodes * min(tile_rows, n_rows))
    for first in range(0, n_rows, tile_rows):
        last = min(first + tile_rows, n_rows)
        tile = buffer[: n_nodes * (last - first)].reshape(n_nodes, last - first)
        with np.errstate(all="ignore"):
            for code, a, b in plan.steps:
                left, right = plan.left[a:b], plan.right[a:b]
                if code == COLUMN:
                    tile[a:b] = columns[left, first:last]
                elif code == CONSTANT:
                    tile[a:b] = constants[left, None]
                elif symbols.operators[code].arity == 1:
                    tile[a:b] = symbols.operators[code].numeric(tile[left])
                else:
                    tile[a:b] = symbols.operators[code].numeric(tile[left], tile[right])
        out[:, first:last] = tile[plan.output_indices]


@dataclass(frozen=True, eq=False)
class FeatureBlock:
    """Candidates with their values.

    Parameters
    ----------
    numbers : int64 array, shape (m,)
        Candidate numbers.
    values : float64 array, shape (m, n)
        Values, finite and not constant.
    n_invalid : dict of CandidateStatus to int
        Number of other candidates of the block that are undefined or constant.
    monotone_parents : MonotoneParents or None
        Pool members whose row order the candidates may reuse, if known.
    bounds : pair of float64 arrays, shape (m,), or None
        The smallest and the largest value of each candidate, if known.
    """

    numbers: NDArray[np.int64]
    values: NDArray[np.float64]
    n_invalid: dict[CandidateStatus, int]
    monotone_parents: MonotoneParents | None = None
    bounds: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None


def compute_block_size(n_rows: int) -> int:
    """Return the number of features of n rows to compute at a time: about four megabytes of values."""
    return max(_MIN_BLOCK_FEATURES, _BLOCK_BYTES // (8 * n_rows))


def estimate_block_bytes(n_rows: int) -> int:
    """Estimate the memory in bytes that one thread needs to compute and sort a block."""
    return 0 if n_rows == 0 else _BYTES_PER_VALUE * n_rows * compute_block_size(n_rows)


def evaluate_range(
    candidates: Candidates,
    pool: Pool,
    statuses: NDArray[np.uint8],
    start: int,
    stop: int,
    *,
    workspace: Workspace | None = None,
    is_needed: CandidateTest | None = None,
) -> Iterator[FeatureBlock]:
    """Evaluate the kept candidates of a range, block by block.

    Parameters
    ----------
    candidates : Candidates
        The layer.
    pool : Pool
        The pool that the layer is applied to, with values.
    statuses : uint8 array, shape (candidates.total,)
        Result of `filter_candidates`.
    start, stop : int
        Range of candidate numbers.
    workspace : Workspace, optional
        Scratch arrays. The values of a block are overwritten by the next block.
    is_needed : callable, optional
        Maps an operator's range and numbers of its kept candidates, shape (m,), to which of them are
        evaluated, shape (m,). By default all are.

    Yields
    ------
    FeatureBlock
        In the order of the candidate numbers. The values of a feature do not depend on its block.
    """
    for operator_range, first, last in candidates.split_range(start, stop):
        numbers = first + np.flatnonzero(statuses[first:last] == CandidateStatus.KEPT)
        if is_needed is not None and len(numbers):
            numbers = numbers[is_needed(operator_range, numbers)]
        yield from _evaluate_blocks(operator_range, pool, numbers, workspace)


def evaluate_candidates(
    candidates: Candidates, pool: Pool, numbers: NDArray[np.int64]
) -> Iterator[FeatureBlock]:
    """Evaluate given candidates, block by block.

    Parameters
    ----------
    candidates, pool
        See `evaluate_range`.
    numbers : int64 array, shape (m,), ascending
        Candidate numbers.

    Yields
    ------
    FeatureBlock
        In the order of the candidate numbers.
    """
    for operator_range in candidates.operator_ranges:
        first, last = np.searchsorted(numbers, (operator_range.start, operator_range.stop))
        yield from _evaluate_blocks(operator_range, pool, numbers[first:last], None)


def _evaluate_blocks(
    operator_range: OperatorRange, pool: Pool, numbers: NDArray[np.int64], workspace: Workspace | None
) -> Iterator[FeatureBlock]:
    """Evaluate candidates of one operator, block by block."""
    block_size = compute_block_size(pool.n_rows)
    operator = pool.symbols.operators[operator_range.code]
    for first in range(0, len(numbers), block_size):
        block_numbers = numbers[first : first + block_size]
        yield _evaluate_block(
            operator, operator_range, pool, block_numbers, Workspace() if workspace is None else workspace
        )


def _evaluate_block(
    operator: Operator,
    operator_range: OperatorRange,
    pool: Pool,
    numbers: NDArray[np.int64],
    workspace: Workspace,
) -> FeatureBlock:
    """Evaluate candidates of one operator, shape (m,), and drop the invalid ones."""
    left, right = operator_range.decode(numbers)
    argument_values, left_rows, right_rows = pool.get_operands(left, right)
    values, low, high = _apply_operator(operator, argument_values, left_rows, right_rows, workspace)
    valid, suspect = (workspace.get_array(name, low.shape, np.bool_) for name in ("good", "suspect"))
    magnitude = np.maximum(pool.max_abs[left], pool.max_abs[right]) if operator.cancels else low
    n_undefined, n_constant, n_suspects = filter_by_range(
        low, high, magnitude, operator.cancels, valid, suspect
    )
    if n_suspects:
        suspect_indices = np.flatnonzero(suspect)
        a, b = argument_values[left_rows[suspect_indices]], argument_values[right_rows[suspect_indices]]
        noise = is_cancellation_noise(values[suspect_indices], np.maximum(np.abs(a), np.abs(b)))
        valid[suspect_indices[noise]] = False
        n_constant += int(noise.sum())
    n_invalid = {CandidateStatus.UNDEFINED: n_undefined, CandidateStatus.CONSTANT: n_constant}
    if n_undefined or n_constant:
        numbers, left, values = numbers[valid], left[valid], values[valid]
        low, high = low[valid], high[valid]
    parents = pool.find_monotone_parents(left, operator)
    return FeatureBlock(numbers, values, n_invalid, parents, (low, high))


def _apply_operator(
    operator: Operator,
    argument_values: NDArray[np.float64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    workspace: Workspace,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Apply an operator to rows of values; return the new values and the minimum and maximum of each."""
    low, high = (workspace.get_array(name, left.shape, np.float64) for name in ("least", "largest"))
    columns = [
        workspace.get_array(f"argument {k}", (len(left), argument_values.shape[1]), np.float64)
        for k in range(operator.arity)
    ]
    numeric = operator.numeric
    if isinstance(numeric, np.ufunc) and numeric in ARITHMETIC_UFUNCS:
        combine_columns(numeric, argument_values, (left, right), columns[0], (low, high))
        return columns[0], low, high
    for column, indices in zip(columns, (left, right), strict=False):
        # the default mode makes an additional copy
        np.take(argument_values, indices, axis=0, out=column, mode="clip")
    with np.errstate(all="ignore"):
        if isinstance(numeric, np.ufunc):
            values = numeric(*columns, out=columns[0])
        else:
            values = np.ascontiguousarray(numeric(*columns), dtype=np.float64)
    compute_bounds(values, low, high)
    return values, low, high


def compute_error_bound(
    expression: Expression, columns: Inputs, errors: Inputs | None = None
) -> BoundedValue:
    """Compute a feature and an error bound in each row.

    Parameters
    ----------
    expression : Expression
        The formula.
    columns : mapping of str to float64 array, shape (n,)
        The inputs by name; at least one.
    errors : mapping of str to float64 array, shape (n,), optional
        Bound of the error of each input, see `compute_decimal_error`. By default, inputs are exact.

    Returns
    -------
    BoundedValue
        The values equal those of `symscreen.expressions.traversal.evaluate_expression`. The error is at least
        their distance from the exact values of the formula, whose constants are exact decimals. It is
        infinite where the exact value may be undefined.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> rows = {"a": np.array([3.0, 1e20]), "b": np.array([0.5, 1.0])}
    >>> compute_error_bound(parse_expression("(a + b) - a"), rows).error.tolist()
    [0.0, 1.0000000000000142]
    """
    n_rows = len(next(iter(columns.values())))
    result = BoundedValue(np.empty(n_rows), np.empty(n_rows))
    for first in range(0, n_rows, _TILE_ROWS):
        part = slice(first, first + _TILE_ROWS)
        inputs = {
            name: BoundedValue(
                column[part], np.zeros_like(column[part]) if errors is None else errors[name][part]
            )
            for name, column in columns.items()
        }
        tile = _propagate_bound(expression, inputs, len(result.values[part]))
        result.values[part], result.error[part] = tile.values, tile.error
    return result


def _propagate_bound(
    expression: Expression, columns: Mapping[str, BoundedValue], n_rows: int
) -> BoundedValue:
    """Compute a formula with its error bounds over one tile of rows."""

    def fill(constant: Constant) -> BoundedValue:
        number = bound_number(constant.value)
        return BoundedValue(np.full(n_rows, number.values), np.full(n_rows, number.error))

    return fold_expression(
        expression,
        column=columns.__getitem__,
        number=fill,
        call=lambda call, arguments: make_error_propagator(call.operator)(*arguments),
    )


def compute_exact_value_ids(expression: Expression, columns: Inputs) -> Residues:
    """Compute an id of the exact value of a feature in each row: rows with equal ids have equal values.

    Parameters
    ----------
    expression : Expression
        The formula.
    columns : mapping of str to float64 array, shape (n,)
        The inputs by name; at least one.

    Returns
    -------
    uint64 array, shape (n,)
        Fingerprint of the formula at the values of each row. A value is read as the shortest decimal that
        rounds to it, so 0.1 + 0.2 has the id of 0.3. Equal values may have different ids: √4 and 2 do.
        Values with more than 15 digits have equal ids only if they are the same double. Two different
        values have the same id with a probability of about 10⁻¹⁸.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> rows = {"a": np.array([0.1, 0.3, 0.25]), "b": np.array([0.2, 0.0, 0.1])}
    >>> names = compute_exact_value_ids(parse_expression("cos(-(a + b))"), rows)
    >>> bool(names[0] == names[1]), bool(names[0] == names[2])
    (True, False)
    """
    fingerprints = fold_expression(
        expression,
        column=lambda name: np.repeat(_compute_number_fingerprints(columns[name])[:, None], 2, axis=1),
        number=lambda constant: fp.encode_number(constant.value)[None, :],
        call=lambda call, arguments: call.operator.compute_fingerprint(*np.broadcast_arrays(*arguments)),
    )
    # fingerprints have two points, because formulas of user-defined operators may contain constants
    n_rows = len(next(iter(columns.values())))
    return np.ascontiguousarray(np.broadcast_to(fingerprints, (n_rows, 2))[:, 0])


def compute_decimal_error(values: Values) -> Values:
    """Bound the distance of numbers from the decimals they were read from.

    Parameters
    ----------
    values : float64 array, shape (n,)
        Finite.

    Returns
    -------
    float64 array, shape (n,)
        Half a unit in the last place for decimals with a fraction, such as 0.1. 0 for integers, and for
        numbers with more than 15 digits, which are taken as exact. 0 for all numbers if most have more than
        15 digits, because one in a hundred random doubles has 15 digits by chance.

    Examples
    --------
    >>> compute_decimal_error(np.array([0.1, 2.0, 0.7, 1 / 3])) > 0
    array([ True, False,  True, False])
    """
    _, places = _find_decimals(values)
    if 2 * np.count_nonzero(places < 0) > len(values):
        return np.zeros(len(values))
    return np.where(places > 0, np.spacing(np.abs(values)) / 2, 0.0)


def _find_decimals(values: Values) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return m and the lowest k such that m·10^−k rounds to the number; k is −1 if there is none."""
    digits, places = np.zeros(len(values), dtype=np.int64), np.full(len(values), -1)
    pending = np.arange(len(values))
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(_MAX_DECIMAL_PLACES + 1):
            scaled = np.rint(values[pending] * 10.0**k)
            # m and 10^k are exact, so their correctly rounded quotient is the double of the decimal
            is_decimal = (np.abs(scaled) < _MAX_EXACT_INTEGER) & (scaled / 10.0**k == values[pending])
            digits[pending[is_decimal]], places[pending[is_decimal]] = scaled[is_decimal].astype(np.int64), k
            pending = pending[~is_decimal & (np.abs(scaled) < _MAX_EXACT_INTEGER)]
    # with more than 15 digits, every double is such a decimal
    too_long = (places > 0) & (np.abs(digits) >= 10**15)
    return digits, np.where(too_long, -1, places)


def _compute_number_fingerprints(values: Values) -> Residues:
    """Return ids of numbers, shape (n,): m·10^−k modulo p for decimals, a hash of the bits for others."""
    digits, places = _find_decimals(values)
    residues = np.where(digits < 0, digits + fp.PRIME, digits).astype(np.uint64)
    inverse_powers = np.array(
        [pow(10, -k, fp.PRIME) for k in range(_MAX_DECIMAL_PLACES + 1)], dtype=np.uint64
    )
    hashes = fp.make_opaque_hash("value")((values + 0.0).view(np.uint64))  # maps −0 to 0
    return np.where(places < 0, hashes, fp.multiply(residues, inverse_powers[np.maximum(places, 0)]))

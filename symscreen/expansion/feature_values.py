"""Nodes to values: features computed again from the inputs, where they are not held.

A feature of a pool is a small tree, so that to compute it is cheaper than to hold it for all rows. Each node
that is needed is computed once for a tile of rows, together with all others of its layer and operator.

Candidates to values: the layer in numbered chunks, each evaluated in blocks that fit the cache.

How far a feature's values may be from exact ones, and which rows have the same exact value.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion.nodes import COLUMN, CONSTANT
from symscreen.expansion.pruning import CandidateStatus
from symscreen.expansion.validity import filter_by_range, is_cancellation_noise
from symscreen.expressions.tree import Column, Constant
from symscreen.grammar import fingerprint as fp
from symscreen.grammar.error_propagation import BoundedValue, bound_number, make_error_propagator
from symscreen.statistics.column_arithmetic import ARITHMETIC_UFUNCS, combine_columns, compute_bounds
from symscreen.statistics.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from symscreen._typing import Residues, Values
    from symscreen.expansion.candidates import Candidates, OperatorRange
    from symscreen.expansion.nodes import NodeArray, SymbolTable
    from symscreen.expansion.pool import Pool
    from symscreen.expressions.tree import Expression
    from symscreen.grammar import Operator
    from symscreen.statistics.ranks.monotone_order import MonotoneParents

    Inputs = Mapping[str, Values]

__all__ = [
    "FeatureBlock",
    "compute_block_size",
    "compute_decimal_error",
    "compute_error_bound",
    "compute_exact_value_ids",
    "compute_node_values",
    "estimate_block_bytes",
    "evaluate_candidates",
    "evaluate_range",
]

_TILE_BYTES = 1 << 20  # of values of all nodes needed: they fit the cache
_MIN_ROWS = 16
_BATCH_NODES = 1 << 12  # nodes asked for that are computed together


def compute_node_values(
    symbols: SymbolTable, nodes: NodeArray, node_indices: NDArray[np.int64], columns: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Compute nodes' values.

    Parameters
    ----------
    structure : Structure
        What the nodes refer to.
    nodes : Nodes
        All nodes.
    wanted : int64 array, shape (m,)
        The places of those whose values are wanted; in any order, and more than once.
    columns : float64 array, shape (d, n)
        The inputs, over the rows that are wanted.

    Returns
    -------
    float64 array, shape (m, n), C-contiguous
        To the bit what a layer computed of them, whatever else is wanted and whichever rows.
    """
    out = np.empty((len(node_indices), columns.shape[1]))
    for first in range(0, len(node_indices), _BATCH_NODES):
        part = slice(first, first + _BATCH_NODES)
        _run_plan(out[part], symbols, _plan_evaluation(nodes, node_indices[part]), columns)
    return out


@dataclass(frozen=True, eq=False)
class _EvaluationPlan:
    """What is computed on the way, the nodes needed in the order of their layers.

    Parameters
    ----------
    steps : list of (int, int, int)
        An operator's code, and from where to where nodes are made by it, all of one layer.
    left, right : int64 arrays, shape (k,)
        Where among the nodes needed the arguments are; for leaves the place of the name or constant.
    goal : int64 array, shape (m,)
        Where those wanted are.
    """

    steps: list[tuple[int, int, int]]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    output_indices: NDArray[np.int64]


def _plan_evaluation(nodes: NodeArray, node_indices: NDArray[np.int64]) -> _EvaluationPlan:
    needed = fringe = np.unique(node_indices)
    while len(inner := fringe[nodes.operator[fringe] >= 0]):
        arguments = np.unique(np.concatenate((nodes.left[inner], nodes.right[inner]))).astype(np.int64)
        fringe = np.setdiff1d(arguments, needed, assume_unique=True)
        needed = np.union1d(needed, fringe)
    operator, layer = nodes.operator[needed], nodes.layer[needed]
    # arguments are of older layers, so that one layer's nodes do not wait for each other
    order = np.lexsort((operator, layer))
    place = np.empty(len(needed), dtype=np.int64)
    place[order] = np.arange(len(needed))
    operator, layer = operator[order], layer[order]
    left, right = nodes.left[needed[order]].astype(np.int64), nodes.right[needed[order]].astype(np.int64)
    made = operator >= 0
    left[made] = place[np.searchsorted(needed, left[made])]
    right[made] = place[np.searchsorted(needed, right[made])]
    new = np.flatnonzero((operator[1:] != operator[:-1]) | (layer[1:] != layer[:-1])) + 1
    ends = [0, *new.tolist(), len(needed)]
    steps = [(int(operator[a]), a, b) for a, b in pairwise(ends) if a < b]
    return _EvaluationPlan(steps, left, right, place[np.searchsorted(needed, node_indices)])


def _run_plan(
    out: NDArray[np.float64], symbols: SymbolTable, plan: _EvaluationPlan, columns: NDArray[np.float64]
) -> None:
    """Take the walk, some rows at a time."""
    nodes, n = len(plan.left), columns.shape[1]
    constants = np.array(symbols.constants, dtype=np.float64)
    rows = max(_MIN_ROWS, _TILE_BYTES // (8 * max(1, nodes)))
    space = np.empty(nodes * min(rows, n))
    for first in range(0, n, rows):
        last = min(first + rows, n)
        tile = space[: nodes * (last - first)].reshape(nodes, last - first)
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


_BLOCK_BYTES = 1 << 21  # fewer make threads wait for the interpreter; more do not fit the cache of a core
_MIN_BLOCK_FEATURES = 4  # features in a block of very many rows
_BYTES_PER_VALUE = 80  # of a block: its arguments, its values, their order, ranks and keys


@dataclass(frozen=True, eq=False)
class FeatureBlock:
    """Some candidates with their values.

    Parameters
    ----------
    numbers : int64 array, shape (m,)
        The candidates.
    values : float64 array, shape (m, n)
        Finite and not constant.
    lost : dict of Fate to int
        How many candidates beside these turned out undefined or constant.
    following : Following or None
        The members of the pool whose order they may follow, where that is known.
    """

    numbers: NDArray[np.int64]
    values: NDArray[np.float64]
    n_invalid: dict[CandidateStatus, int]
    monotone_parents: MonotoneParents | None = None


def compute_block_size(n_rows: int) -> int:
    """Return how many features of n rows are computed at a time: about two megabytes of values."""
    return max(_MIN_BLOCK_FEATURES, _BLOCK_BYTES // (8 * n_rows))


def estimate_block_bytes(n_rows: int) -> int:
    """Predict the memory that one thread takes to compute and to order a block, in bytes."""
    return 0 if n_rows == 0 else _BYTES_PER_VALUE * n_rows * compute_block_size(n_rows)


def evaluate_range(
    candidates: Candidates,
    pool: Pool,
    statuses: NDArray[np.uint8],
    start: int,
    stop: int,
    *,
    workspace: Workspace | None = None,
) -> Iterator[FeatureBlock]:
    """Evaluate the kept candidates of a range, block by block.

    Parameters
    ----------
    candidates : Candidates
        The layer.
    pool : Pool
        The pool it is applied to, with values.
    fates : uint8 array, shape (candidates.total,)
        What `judge` decided.
    start, stop : int
        The range of numbers.
    room : Room, optional
        Where values are put; those of a block are overwritten by the next.

    Yields
    ------
    Block
        In the order of the numbers. A feature's values do not depend on the block it is in.
    """
    for segment, first, last in candidates.split_range(start, stop):
        yield from _evaluate_blocks(
            segment, pool, first + np.flatnonzero(statuses[first:last] == CandidateStatus.KEPT), workspace
        )


def evaluate_candidates(
    candidates: Candidates, pool: Pool, numbers: NDArray[np.int64]
) -> Iterator[FeatureBlock]:
    """Evaluate some candidates, block by block.

    Parameters
    ----------
    candidates, pool
        As of `evaluate_range`.
    numbers : int64 array, ascending
        The candidates.

    Yields
    ------
    Block
        In the order of the numbers.
    """
    for segment in candidates.operator_ranges:
        first, last = np.searchsorted(numbers, (segment.start, segment.start + segment.count))
        yield from _evaluate_blocks(segment, pool, numbers[first:last], None)


def _evaluate_blocks(
    operator_range: OperatorRange, pool: Pool, numbers: NDArray[np.int64], workspace: Workspace | None
) -> Iterator[FeatureBlock]:
    rows = compute_block_size(pool.n_rows)
    operator = pool.symbols.operators[operator_range.code]
    for place in range(0, len(numbers), rows):
        some = numbers[place : place + rows]
        yield _evaluate_block(
            operator, operator_range, pool, some, Workspace() if workspace is None else workspace
        )


def _evaluate_block(
    operator: Operator,
    operator_range: OperatorRange,
    pool: Pool,
    numbers: NDArray[np.int64],
    workspace: Workspace,
) -> FeatureBlock:
    left, right = operator_range.decode(numbers)
    held, first, second = pool.get_operands(left, right)
    values, low, high = _apply_operator(operator, held, first, second, workspace)
    good, suspect = (
        workspace.get_array("good", low.shape, np.bool_),
        workspace.get_array("suspect", low.shape, np.bool_),
    )
    size = np.maximum(pool.max_abs[left], pool.max_abs[right]) if operator.cancels else low
    undefined, still, suspects = filter_by_range(low, high, size, operator.cancels, good, suspect)
    if suspects:
        places = np.flatnonzero(suspect)
        a, b = held[first[places]], held[second[places]]
        noise = is_cancellation_noise(values[places], np.maximum(np.abs(a), np.abs(b)))
        good[places[noise]] = False
        still += int(noise.sum())
    lost = {CandidateStatus.UNDEFINED: undefined, CandidateStatus.CONSTANT: still}
    if undefined or still:
        numbers, left, values = numbers[good], left[good], values[good]
    return FeatureBlock(numbers, values, lost, pool.find_monotone_parents(left, operator))


def _apply_operator(
    operator: Operator,
    argument_values: NDArray[np.float64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    workspace: Workspace,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Apply an operator to rows of values; return the new ones, the least and the largest of each."""
    low, high = (
        workspace.get_array("least", left.shape, np.float64),
        workspace.get_array("largest", left.shape, np.float64),
    )
    columns = [
        workspace.get_array(f"argument {place}", (len(left), argument_values.shape[1]), np.float64)
        for place in range(operator.arity)
    ]
    numeric = operator.numeric
    if isinstance(numeric, np.ufunc) and numeric in ARITHMETIC_UFUNCS:
        combine_columns(numeric, argument_values, (left, right), columns[0], (low, high))
        return columns[0], low, high
    for column, places in zip(columns, (left, right), strict=False):
        np.take(argument_values, places, axis=0, out=column, mode="clip")  # the default would copy once more
    with np.errstate(all="ignore"):
        if isinstance(numeric, np.ufunc):
            values = numeric(*columns, out=columns[0])
        else:
            values = np.ascontiguousarray(numeric(*columns), dtype=np.float64)
    compute_bounds(values, low, high)
    return values, low, high


_TILE_ROWS = 1 << 13  # rows looked at together: some tens of arrays of them fit the cache
_MAX_DECIMAL_PLACES = 22  # 10^22 is the last power of ten that a double holds
_MAX_EXACT_INTEGER = 2.0**53


def compute_error_bound(
    expression: Expression, columns: Inputs, errors: Inputs | None = None
) -> BoundedValue:
    """Compute a feature and a bound of its error in each row.

    Parameters
    ----------
    expression : Expression
        The formula.
    columns : mapping of str to float64 array, shape (n,)
        The inputs by name; at least one.
    errors : mapping of str to float64 array, shape (n,), optional
        How far each input may be from the exact one, as `as_written` tells; without it inputs are exact.

    Returns
    -------
    Bounded
        The values are those of `symscreen.expressions.tree.evaluate`. The error is at least their distance
        from the
        formula's exact values, numbers in it being what was written; infinite where these may be undefined.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> rows = {"a": np.array([3.0, 1e20]), "b": np.array([0.5, 1.0])}
    >>> compute_error_bound(parse_expression("(a + b) - a"), rows).error.tolist()
    [0.0, 1.0000000000000142]
    """
    rows = len(next(iter(columns.values())))
    whole = BoundedValue(np.empty(rows), np.empty(rows))
    for first in range(0, rows, _TILE_ROWS):
        part = slice(first, first + _TILE_ROWS)
        inputs = {
            name: BoundedValue(
                column[part], np.zeros_like(column[part]) if errors is None else errors[name][part]
            )
            for name, column in columns.items()
        }
        own = _propagate_bound(expression, inputs)
        whole.values[part], whole.error[part] = own.values, own.error
    return whole


def _propagate_bound(expression: Expression, columns: Mapping[str, BoundedValue]) -> BoundedValue:
    if isinstance(expression, Column):
        return columns[expression.name]
    if isinstance(expression, Constant):
        number, rows = bound_number(expression.value), len(next(iter(columns.values())).values)
        return BoundedValue(np.full(rows, number.values), np.full(rows, number.error))
    arguments = [_propagate_bound(argument, columns) for argument in expression.arguments]
    return make_error_propagator(expression.operator)(*arguments)


def compute_exact_value_ids(expression: Expression, columns: Inputs) -> Residues:
    """Name the exact value of a feature in each row: rows of one name have one value.

    Parameters
    ----------
    expression : Expression
        The formula.
    columns : mapping of str to float64 array, shape (n,)
        The inputs by name; at least one.

    Returns
    -------
    uint64 array, shape (n,)
        The formula's fingerprint where each input is the number of that row, as the shortest decimal that
        reads back as it: 0.1 + 0.2 is 0.3. Not all equal values have one name: √4 and 2 have not. Numbers
        that take more than 15 digits to write are alike only where they are equal. Different values share a
        name with a probability of 10⁻¹⁸ for each two.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> rows = {"a": np.array([0.1, 0.3, 0.25]), "b": np.array([0.2, 0.0, 0.1])}
    >>> names = compute_exact_value_ids(parse_expression("cos(-(a + b))"), rows)
    >>> bool(names[0] == names[1]), bool(names[0] == names[2])
    (True, False)
    """
    rows = len(next(iter(columns.values())))
    # at both points of a fingerprint, for operators whose formulas hold numbers
    return np.ascontiguousarray(
        np.broadcast_to(_compute_row_fingerprints(expression, columns), (rows, 2))[:, 0]
    )


def _compute_row_fingerprints(expression: Expression, columns: Inputs) -> Residues:
    if isinstance(expression, Column):
        return np.repeat(_compute_number_fingerprints(columns[expression.name])[:, None], 2, axis=1)
    if isinstance(expression, Constant):
        return fp.encode_number(expression.value)[None, :]
    names = np.broadcast_arrays(
        *(_compute_row_fingerprints(argument, columns) for argument in expression.arguments)
    )
    return expression.operator.compute_fingerprint(*names)


def compute_decimal_error(values: Values) -> Values:
    """Bound how far numbers are from the decimals that they were written as.

    Parameters
    ----------
    values : float64 array, shape (n,)
        Finite.

    Returns
    -------
    float64 array, shape (n,)
        Half a unit in the last place of decimals with a fraction, such as 0.1; 0 of whole numbers, and of
        numbers that take more than 15 digits to write, which are taken as they are. 0 of all where most are
        such: one in a hundred of any numbers has 15 digits by chance.

    Examples
    --------
    >>> as_written(np.array([0.1, 2.0, 0.7, 1 / 3])) > 0
    array([ True, False,  True, False])
    """
    _, places = _find_decimals(values)
    if 2 * np.count_nonzero(places < 0) > len(values):
        return np.zeros(len(values))
    return np.where(places > 0, np.spacing(np.abs(values)) / 2, 0.0)


def _find_decimals(values: Values) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return m and the least k with the number being the double next to m·10^−k; k is −1 of others."""
    digits, places = np.zeros(len(values), dtype=np.int64), np.full(len(values), -1)
    rest = np.arange(len(values))
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(_MAX_DECIMAL_PLACES + 1):
            whole = np.rint(values[rest] * 10.0**k)
            # m and 10^k are exact, so their quotient is the double that the decimal is read as
            found = (np.abs(whole) < _MAX_EXACT_INTEGER) & (whole / 10.0**k == values[rest])
            digits[rest[found]], places[rest[found]] = whole[found].astype(np.int64), k
            rest = rest[~found & (np.abs(whole) < _MAX_EXACT_INTEGER)]
    # of more than 15 digits every number is a decimal of that many places
    many = (places > 0) & (np.abs(digits) >= 10**15)
    return digits, np.where(many, -1, places)


def _compute_number_fingerprints(values: Values) -> Residues:
    """Name numbers, shape (n,): m·10^−k modulo p of decimals, a hash of the bits of others."""
    digits, places = _find_decimals(values)
    whole = np.where(digits < 0, digits + fp.PRIME, digits).astype(np.uint64)
    tenths = np.array([pow(10, -k, fp.PRIME) for k in range(_MAX_DECIMAL_PLACES + 1)], dtype=np.uint64)
    other = fp.make_opaque_hash("value")((values + 0.0).view(np.uint64))  # −0 is 0
    return np.where(places < 0, other, fp.multiply(whole, tenths[np.maximum(places, 0)]))

"""Prepare each operator of a layer: nesting rules, unit checks and key arithmetic for all its candidates.

`NestingRules` holds the grammar's rules on nesting and columns as bit sets. They apply to whole arrays of
features at once.

`PoolUnits` groups the members of a pool by unit. Whether an operator accepts two units is a comparison of
two small integers for the built-in operators, and a lookup in a table of unit pairs for operators that are
defined by formulas.

`OperatorTask` combines both with what is computed once per operator: key words, costs and argument flags.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.expansion import _kernels
from symscreen.expansion.nodes import COLUMN, CONSTANT, build_operator_mask
from symscreen.grammar import fingerprint as fp
from symscreen.grammar.dimensions import Dimensions, propagate_dimensions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from symscreen._typing import Flags, Numbers, Residues
    from symscreen.expansion.candidates import Candidates, OperatorRange
    from symscreen.expansion.nodes import NodeArray, SymbolTable
    from symscreen.grammar import Grammar, Operator
    from symscreen.units import Units

    Bits = NDArray[np.uint64]
    Bytes = NDArray[np.uint8]
    Exponents = NDArray[np.int64]
    UnitIds = NDArray[np.int32]

_BATCH_PAIRS = 1 << 20  # pairs of unit ids whose units are computed together

_KEY_BLOCK_SIZE = 1 << 14  # candidates whose keys are computed together, so that they fit the cache
_NO_WORDS = np.empty((2, 2, 0), dtype=np.uint64)
_NO_KEYS = np.empty((0, 2), dtype=np.uint64)


@dataclass(frozen=True, slots=True)
class NestingRules:
    """The operators that must not occur inside each operator.

    Parameters
    ----------
    forbidden_within : tuple of int
        For each operator of the symbol table, the bit set of operators that must not occur anywhere inside
        it.
    forbidden_directly : tuple of int
        The same for operators that must not be its direct argument.
    """

    forbidden_within: tuple[int, ...]
    forbidden_directly: tuple[int, ...]

    def is_forbidden(
        self, code: int, operator_mask: Bits, allowed_mask: Bits, root_operators: NDArray[np.integer]
    ) -> NDArray[np.bool_]:
        """Return for each feature whether a rule excludes it as an argument of an operator.

        Parameters
        ----------
        code : int
            Index of the operator in the symbol table.
        operator_mask, allowed_mask : uint64 arrays, shape (m,)
            See `NodeArray`.
        root_operators : integer array, shape (m,)
            Outermost operator of each feature. Negative for leaves.

        Returns
        -------
        bool array, shape (m,)
        """
        leaf = root_operators < 0
        bit = np.where(leaf, 0, root_operators).astype(np.uint64)
        directly = ~leaf & ((np.uint64(self.forbidden_directly[code]) >> bit) & np.uint64(1)).astype(np.bool_)
        not_allowed = (allowed_mask & np.uint64(1 << code)) == 0
        return np.asarray(
            not_allowed | ((operator_mask & np.uint64(self.forbidden_within[code])) != 0) | directly
        )

    def count_forbidden(
        self, operator_mask: Bits, allowed_mask: Bits, root_operators: NDArray[np.integer]
    ) -> NDArray[np.int32]:
        """Count, for each feature, the operators that the rules exclude; shape (m,)."""
        total = np.zeros(len(operator_mask), dtype=np.int32)
        for code in range(len(self.forbidden_within)):
            total += self.is_forbidden(code, operator_mask, allowed_mask, root_operators)
        return total


def compile_rules(grammar: Grammar, symbols: SymbolTable) -> NestingRules:
    """Compile the grammar's nesting rules for the operators of a symbol table."""

    def build_masks(rules: dict[str, frozenset[str]]) -> tuple[int, ...]:
        no_operators: frozenset[str] = frozenset()
        return tuple(
            int(build_operator_mask(rules.get(operator.name, no_operators), symbols))
            for operator in symbols.operators
        )

    return NestingRules(build_masks(dict(grammar.forbid_within)), build_masks(dict(grammar.forbid)))


@dataclass(frozen=True, eq=False)
class PoolUnits:
    """The units of a pool's members.

    Parameters
    ----------
    unit_ids : int32 array, shape (q,)
        Unit id of each member. Members with the same unit and, for constants, the same value have the same
        id.
    exponents : int64 array, shape (k, D)
        Dimension exponents of each unit id, see `Dimensions`.
    constant_values : float64 array, shape (k,)
        Value of each unit id that represents a constant. NaN for the others.
    target_exponents : int64 array, shape (D,), or None
        Dimension exponents that a result must have.
    """

    unit_ids: UnitIds
    exponents: Exponents
    constant_values: NDArray[np.float64]
    target_exponents: Exponents | None

    @property
    def matches_target(self) -> NDArray[np.bool_]:
        """Whether each member has the units of the target; shape (q,)."""
        assert self.target_exponents is not None  # noqa: S101  # callers check this first
        return np.asarray((self.exponents == self.target_exponents).all(axis=1)[self.unit_ids])

    def build_unit_check(self, operator: Operator) -> UnitCheck | None:
        """Build the unit check of an operator; None if all arguments pass."""
        n_ids, target = len(self.exponents), self.target_exponents
        unit_rule = operator.units.kind
        if operator.arity == 1:
            dimensions = propagate_dimensions(operator, self._get_dimensions(np.arange(n_ids)))
            id_statuses = self._compute_statuses(dimensions)
            if not id_statuses.any():
                return None
            return UnitCheck(
                np.zeros((2, len(self.unit_ids)), np.int32), _kernels.NO_UNIT, id_statuses[self.unit_ids]
            )
        if unit_rule == "like":
            target_statuses = np.zeros(n_ids, dtype=np.uint8)
            if target is not None:
                target_statuses[(self.exponents != target).any(axis=1)] = _kernels.OTHER_UNITS
            units = _number_rows(self.exponents)[0][self.unit_ids]
            return UnitCheck(np.stack([units, units]), _kernels.NO_UNIT, target_statuses[self.unit_ids])
        if unit_rule in {"product", "quotient"}:
            if target is None:
                return None
            # a·b has the target unit T if unit(a) = T / unit(b), and a/b if unit(a) = T · unit(b)
            needed = target - self.exponents if unit_rule == "product" else target + self.exponents
            units = _number_rows(np.concatenate((self.exponents, needed)))[0]
            sides = np.stack([units[:n_ids][self.unit_ids], units[n_ids:][self.unit_ids]])
            return UnitCheck(sides, _kernels.OTHER_UNITS, np.zeros(len(self.unit_ids), dtype=np.uint8))
        return UnitCheck(
            np.stack([self.unit_ids] * 2), _kernels.NO_UNIT, None, self._build_status_table(operator)
        )

    def _get_dimensions(self, unit_ids: NDArray[np.integer]) -> Dimensions:
        """Return the dimensions of unit ids, shape (m,)."""
        return Dimensions(
            self.exponents[unit_ids], self.constant_values[unit_ids], np.ones(len(unit_ids), dtype=np.bool_)
        )

    def _compute_statuses(self, dimensions: Dimensions) -> Bytes:
        """Return the statuses of candidates with these dimensions."""
        target = self.target_exponents
        matches = True if target is None else (dimensions.exponents == target).all(axis=-1)
        statuses = np.where(matches, _kernels.KEPT, _kernels.OTHER_UNITS)
        return np.where(dimensions.valid, statuses, _kernels.NO_UNIT).astype(np.uint8)

    def _build_status_table(self, operator: Operator) -> Bytes:
        """Compute the statuses of all pairs of unit ids, shape (2, k, k), in both argument orders."""
        n_ids = len(self.exponents)
        table = np.empty((n_ids, n_ids), dtype=np.uint8)
        for first in range(0, n_ids, step := max(1, _BATCH_PAIRS // max(1, n_ids))):
            left = np.arange(first, min(first + step, n_ids))
            pairs = np.meshgrid(left, np.arange(n_ids), indexing="ij")
            dimensions = propagate_dimensions(operator, *(self._get_dimensions(ids.ravel()) for ids in pairs))
            pair_statuses = self._compute_statuses(dimensions)
            table[left] = np.broadcast_to(pair_statuses, pairs[0].size).reshape(pairs[0].shape)
        return np.stack([table.T, table])


@dataclass(frozen=True, eq=False)
class UnitCheck:
    """Decides which candidates of an operator have valid units.

    Parameters
    ----------
    unit_ids : int32 array, shape (2, q)
        The ids to compare: those of each member as the left and as the right argument. With a status table,
        the unit ids of the members as left and as right argument.
    unequal_status : int
        Status of candidates whose argument ids differ.
    equal_statuses : uint8 array, shape (q,), or None
        Status of the other candidates, by the argument that moves along a run.
    status_table : uint8 array, shape (2, k, k), or None
        If given, used instead: status by the unit ids of the fixed and of the moving argument, for a moving
        left and for a moving right argument.
    """

    unit_ids: UnitIds
    unequal_status: int
    equal_statuses: Bytes | None
    status_table: Bytes | None = None

    def apply(self, first: int, stop: int, pairing: int, statuses: Bytes) -> None:
        """Update the statuses of a range of the operator's pair numbers."""
        if self.status_table is not None:
            _kernels.look_up_statuses(first, stop, pairing, self.unit_ids, self.status_table, statuses)
        elif self.equal_statuses is not None:
            _kernels.compare_units(
                first, stop, pairing, self.unit_ids, self.unequal_status, self.equal_statuses, statuses
            )


def compute_pool_units(
    units: Units, symbols: SymbolTable, nodes: NodeArray, members: NDArray[np.int64]
) -> PoolUnits:
    """Compute the units of a pool's members.

    Parameters
    ----------
    units : Units
        Units of the inputs.
    symbols : SymbolTable
        The symbols that the nodes refer to.
    nodes : NodeArray
        All nodes. Each must have a unit.
    members : int64 array, shape (q,)
        Indices of the members among the nodes.

    Returns
    -------
    PoolUnits
    """
    constant_values = np.full(len(nodes), np.nan)
    exponents = np.zeros((len(nodes), len(units.symbols)), dtype=np.int64)
    columns, constants = nodes.operator == COLUMN, nodes.operator == CONSTANT
    input_units = [units.columns.get(name) for name in symbols.input_names]
    input_exponents = np.array(
        [exponents[0] if unit is None else units.get_exponents(unit) for unit in input_units]
    )
    exponents[columns] = input_exponents.reshape(len(input_units), -1)[nodes.left[columns]]
    constant_values[constants] = np.array(symbols.constants, dtype=np.float64)[nodes.left[constants]]
    calls = np.flatnonzero(nodes.operator >= 0)
    steps = nodes.layer[calls].astype(np.int64) * len(symbols.operators) + nodes.operator[calls]
    for step in np.unique(steps):  # arguments belong to earlier layers
        step_nodes = calls[steps == step]
        operator = symbols.operators[int(nodes.operator[step_nodes[0]])]
        arguments = (nodes.left[step_nodes], nodes.right[step_nodes])[: operator.arity]
        valid = np.ones(len(step_nodes), dtype=np.bool_)
        dimensions = propagate_dimensions(
            operator,
            *(Dimensions(exponents[argument], constant_values[argument], valid) for argument in arguments),
        )
        exponents[step_nodes] = dimensions.exponents
    identities = np.column_stack(
        (exponents[members], np.nan_to_num(constant_values[members], nan=-0.5).view(np.int64))
    )
    unit_ids, first = _number_rows(identities)
    target = None if units.target is None else units.get_exponents(units.target)
    return PoolUnits(unit_ids, exponents[members[first]], constant_values[members[first]], target)


def _number_rows(rows: Exponents) -> tuple[UnitIds, NDArray[np.int64]]:
    """Give equal rows the same id; return the id of each row and the first row of each id."""
    rows = np.column_stack((np.zeros(len(rows), dtype=np.int64), rows))  # numpy rejects rows of length 0
    _, first, numbers = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return numbers.reshape(-1).astype(np.int32), first


def compute_tie_break_rank(
    complexity: NDArray[np.int32], n_forbidden: NDArray[np.int32] | None = None
) -> NDArray[np.int32]:
    """Return the rank that decides which of several equal features is kept: the lowest.

    Parameters
    ----------
    complexity : int32 array, shape (m,)
        Complexity of the features, compared first.
    n_forbidden : int32 array, shape (m,), optional
        Number of operators (at most 64) that the rules exclude for each feature. Compared between features of
        equal complexity.

    Returns
    -------
    int32 array, shape (m,)
    """
    return complexity * np.int32(65) + (0 if n_forbidden is None else n_forbidden)


@dataclass(frozen=True, eq=False)
class OperatorTask:
    """One operator of a layer, prepared for all its candidates.

    Parameters
    ----------
    operator_range : OperatorRange
        Candidates of the operator.
    operator : Operator
        The operator.
    pool : NodeArray
        Nodes of the pool.
    right_keys : uint64 array, shape (q, 2)
        Keys of the nodes as right arguments.
    key_source : {PRECOMPUTED, SUM, PRODUCT}
        How the keys of the candidates are computed, see `_kernels.apply_rules`.
    key_words : uint64 array, shape (2, 2, q)
        Key words of the arguments. Empty if the keys are precomputed.
    argument_costs : int32 array, shape (2, q)
        Complexity that each node adds as left and as right argument.
    max_argument_cost : int
        Maximum complexity that the arguments may add.
    argument_flags : uint8 array, shape (2, q)
        Flags of each node as left and as right argument, see `_kernels.apply_rules`.
    rules : NestingRules or None
        Rules of the next layer's operators. None if no layer follows.
    unit_check : UnitCheck or None
        Unit check of the candidates. None if all candidates pass.
    """

    operator_range: OperatorRange
    operator: Operator
    pool: NodeArray
    right_keys: Residues
    key_source: int
    key_words: Residues
    argument_costs: NDArray[np.int32]
    max_argument_cost: int
    argument_flags: NDArray[np.uint8]
    rules: NestingRules | None
    unit_check: UnitCheck | None = None

    def apply_rules(
        self, first: int, stop: int, statuses: NDArray[np.uint8], shift: int, counts: NDArray[np.int32]
    ) -> None:
        """Apply the rules to a range of candidates and count kept keys by leading bits."""
        if self.unit_check is not None:
            first_pair = self.operator_range.first_pair_number
            self.unit_check.apply(
                first - first_pair, stop - first_pair, self.operator_range.pairing_code, statuses[first:stop]
            )
        for start, end, *keys in self._split_range(first, stop):
            _kernels.apply_rules(
                *keys, self.argument_costs, self.max_argument_cost, self.argument_flags,
                statuses[start:end], shift, counts,
            )  # fmt: skip

    def fill_buckets(
        self, first: int, stop: int, statuses: NDArray[np.uint8], first_id: int, id_bits: int, shift: int,
        lowest_bucket: int, bucket_ends: Numbers, entries: Residues,
    ) -> None:  # fmt: skip
        """Distribute the kept candidates of a range over buckets; candidate 0 has id `first_id`."""
        for start, end, *keys in self._split_range(first, stop):
            _kernels.fill_buckets(
                *keys,
                statuses[start:end],
                first_id + start,
                id_bits,
                shift,
                lowest_bucket,
                bucket_ends,
                entries,
            )

    def recompute_keys(
        self, indices: Numbers, numbers: Numbers, keys: Residues, tie_break_ranks: NDArray[np.int32]
    ) -> None:
        """Fill in the keys and tie-break ranks of the candidates at `indices`.

        The rank counts the operators that the rules exclude only if a layer follows.
        """
        left, right = np.empty((2, len(indices)), dtype=np.int64)
        complexity = np.empty(len(indices), dtype=np.int32)
        _kernels.recompute_keys(
            indices, numbers, self.operator_range.first_pair_number, self.operator_range.pairing_code,
            self.key_source, self.key_words, self.argument_costs,
            keys, complexity, left, right,
        )  # fmt: skip
        if self.key_source == _kernels.PRECOMPUTED:
            keys[indices] = self._compute_keys(left, right)
        n_forbidden = None
        if self.rules is not None:
            code, pool = self.operator_range.code, self.pool
            operator_mask = pool.operator_mask[left] | pool.operator_mask[right] | np.uint64(1 << code)
            allowed_mask = pool.allowed_mask[left] & pool.allowed_mask[right]
            n_forbidden = self.rules.count_forbidden(operator_mask, allowed_mask, np.full(len(left), code))
        tie_break_ranks[indices] = compute_tie_break_rank(
            complexity + np.int32(self.operator.cost), n_forbidden
        )

    def _split_range(self, first: int, stop: int) -> Iterator[tuple[Any, ...]]:
        """Yield blocks (start, end, kernel arguments); blocks are small if their keys must be precomputed."""
        precomputed, step, first_pair = _NO_KEYS, stop - first, self.operator_range.first_pair_number
        if self.key_source == _kernels.PRECOMPUTED:
            step = _KEY_BLOCK_SIZE
        for start in range(first, stop, step):
            end = min(start + step, stop)
            if self.key_source == _kernels.PRECOMPUTED:
                keys = self._compute_keys(*self.operator_range.decode(np.arange(start, end)))
                precomputed = np.require(keys, requirements=["C", "W"])
            pairs = start - first_pair, end - first_pair, self.operator_range.pairing_code
            yield start, end, *pairs, self.key_source, self.key_words, precomputed

    def _compute_keys(self, left: Numbers, right: Numbers) -> Residues:
        """Compute the keys, shape (m, 2), of the operator applied to members."""
        if self.operator.arity == 1:
            return self.operator.fingerprint(self.right_keys.take(left, axis=0))
        return self.operator.fingerprint(
            self.pool.keys.take(left, axis=0), self.right_keys.take(right, axis=0)
        )


def build_operator_tasks(
    candidates: Candidates,
    symbols: SymbolTable,
    pool: NodeArray,
    grammar: Grammar,
    *,
    domain_masks: Mapping[str, tuple[Flags, Flags]],
    range_masks: Mapping[str, Flags],
    has_next_layer: bool,
    units: PoolUnits | None = None,
) -> list[OperatorTask]:
    """Prepare the operators of a layer; the arguments are those of `filter_candidates`."""
    rules = compile_rules(grammar, symbols)
    max_complexity = np.iinfo(np.int32).max if grammar.max_complexity is None else grammar.max_complexity
    costs_by_arity = {
        1: np.stack([pool.complexity, np.zeros_like(pool.complexity)]),
        2: np.stack([pool.complexity, pool.complexity]),
    }
    tasks = []
    for operator_range in candidates.operator_ranges:
        operator = symbols.operators[operator_range.code]
        right_keys = pool.keys if operator.prepare_right is None else operator.prepare_right(pool.keys)
        key_source, key_words = _find_key_source(operator, pool.keys, right_keys)
        forbidden = rules.is_forbidden(
            operator_range.code, pool.operator_mask, pool.allowed_mask, pool.operator
        )
        flags = np.stack([forbidden, forbidden]) * np.uint8(_kernels.FORBIDDEN_FLAG)
        if operator.name in domain_masks:
            flags |= ~np.stack(domain_masks[operator.name]) * np.uint8(_kernels.OUT_OF_DOMAIN_FLAG)
        if operator.name in range_masks:
            flags |= ~range_masks[operator.name] * np.uint8(_kernels.WIDE_RANGE_FLAG)
        tasks.append(
            OperatorTask(
                operator_range=operator_range,
                operator=operator,
                pool=pool,
                right_keys=right_keys,
                key_source=key_source,
                key_words=key_words,
                argument_costs=costs_by_arity[operator.arity],
                max_argument_cost=max_complexity - operator.cost,
                argument_flags=flags,
                rules=rules if has_next_layer else None,
                unit_check=None if units is None else units.build_unit_check(operator),
            )
        )
    return tasks


def _find_key_source(operator: Operator, left: Residues, right: Residues) -> tuple[int, Residues]:
    """Return how the keys are computed and, for sums and products, the key words by side."""
    if operator.arity == 1 or operator.fingerprint not in {fp.add, fp.subtract, fp.multiply}:
        return _kernels.PRECOMPUTED, _NO_WORDS
    right = fp.negate(right) if operator.fingerprint is fp.subtract else right
    key_source = _kernels.PRODUCT if operator.fingerprint is fp.multiply else _kernels.SUM
    return key_source, np.ascontiguousarray(np.stack([left.T, right.T]))

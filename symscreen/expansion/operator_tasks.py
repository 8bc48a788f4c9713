"""The grammar's rules on nestings and columns as bit sets, for whole arrays of features at once.

Which candidates have a unit: a layer's operators before the units of a pool's members.

Members with the same unit are one kind. Whether an operator may take two kinds comes to comparing two small
integers for the shipped operators, and to a table of kinds by kinds for those that formulas define.

Operators of a layer before the pool, each with what is worked out once for all its candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen._numba import compile_kernel
from symscreen.expansion import _kernels as walk
from symscreen.expansion._kernels import KEPT, locate_run
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
    Kinds = NDArray[np.int32]

__all__ = [
    "NO_UNIT",
    "OTHER_UNITS",
    "NestingRules",
    "OperatorTask",
    "PoolUnits",
    "UnitCheck",
    "build_operator_tasks",
    "compile_rules",
    "compute_pool_units",
    "compute_tie_break_rank",
]


@dataclass(frozen=True, slots=True)
class NestingRules:
    """What may not stand inside each operator.

    Parameters
    ----------
    within : tuple of int
        For each operator of the structure, the bit set of those that may stand nowhere inside it.
    direct : tuple of int
        The same for those that may not stand directly inside it.
    """

    forbidden_within: tuple[int, ...]
    forbidden_directly: tuple[int, ...]

    def is_forbidden(
        self, code: int, operator_mask: Bits, allowed_mask: Bits, root_operators: NDArray[np.integer]
    ) -> NDArray[np.bool_]:
        """Say of each feature whether a rule keeps an operator from it.

        Parameters
        ----------
        code : int
            The operator's place in the structure.
        inside, allowed : uint64 arrays, shape (m,)
            As of `Nodes`.
        outermost : integer array, shape (m,)
            The features' own operators; negative for leaves.

        Returns
        -------
        bool array, shape (m,)
        """
        leaf = root_operators < 0
        place = np.where(leaf, 0, root_operators).astype(np.uint64)
        directly = ~leaf & ((np.uint64(self.forbidden_directly[code]) >> place) & np.uint64(1)).astype(
            np.bool_
        )
        out_of_reach = (allowed_mask & np.uint64(1 << code)) == 0
        return np.asarray(
            out_of_reach | ((operator_mask & np.uint64(self.forbidden_within[code])) != 0) | directly
        )

    def count_forbidden(
        self, operator_mask: Bits, allowed_mask: Bits, root_operators: NDArray[np.integer]
    ) -> NDArray[np.int32]:
        """Count, for each feature, the operators that rules keep from it."""
        total = np.zeros(len(operator_mask), dtype=np.int32)
        for code in range(len(self.forbidden_within)):
            total += self.is_forbidden(code, operator_mask, allowed_mask, root_operators)
        return total


def compile_rules(grammar: Grammar, symbols: SymbolTable) -> NestingRules:
    """Collect a grammar's rules for the operators of a structure."""

    def build_masks(rules: dict[str, frozenset[str]]) -> tuple[int, ...]:
        none: frozenset[str] = frozenset()
        return tuple(
            int(build_operator_mask(rules.get(one.name, none), symbols)) for one in symbols.operators
        )

    return NestingRules(build_masks(dict(grammar.forbid_within)), build_masks(dict(grammar.forbid)))


NO_UNIT, OTHER_UNITS = 8, 9  # as of `CandidateStatus`
_BATCH_PAIRS = 1 << 20  # pairs of kinds whose units are worked out together


@dataclass(frozen=True, eq=False)
class PoolUnits:
    """The units of a pool's members.

    Parameters
    ----------
    kinds : int32 array, shape (q,)
        Each member's kind: a unit or, for constants, a number.
    exponents : int64 array, shape (k, D)
        Of each kind, as of `Dimensions`.
    number : float64 array, shape (k,)
        Of each kind.
    target : int64 array, shape (D,), or None
        The unit asked for.
    """

    unit_ids: Kinds
    exponents: Exponents
    constant_values: NDArray[np.float64]
    target_exponents: Exponents | None

    @property
    def matches_target(self) -> NDArray[np.bool_]:
        """Whether each member has the unit asked for; shape (q,)."""
        assert self.target_exponents is not None  # noqa: S101  # else nobody asks
        return np.asarray((self.exponents == self.target_exponents).all(axis=1)[self.unit_ids])

    def build_unit_check(self, operator: Operator) -> UnitCheck | None:
        """Say which members an operator may take; None for all of them."""
        kinds, target = len(self.exponents), self.target_exponents
        rule = operator.units.kind
        if operator.arity == 1:
            fates = self._compute_statuses(
                propagate_dimensions(operator, self._get_dimensions(np.arange(kinds)))
            )
            return (
                UnitCheck(_make_equal_ids(self.unit_ids), NO_UNIT, fates[self.unit_ids])
                if fates.any()
                else None
            )
        if rule == "like":
            other = np.zeros(kinds, dtype=np.uint8)
            if target is not None:
                other[(self.exponents != target).any(axis=1)] = OTHER_UNITS
            units = _number_rows(self.exponents)[0][self.unit_ids]
            return UnitCheck(np.stack([units, units]), NO_UNIT, other[self.unit_ids])
        if rule in {"product", "quotient"}:
            if target is None:
                return None
            # a·b is in T where the unit of a is T less that of b; a/b, where it is T and that of b
            partner = target - self.exponents if rule == "product" else target + self.exponents
            units = _number_rows(np.concatenate((self.exponents, partner)))[0]
            sides = np.stack([units[:kinds][self.unit_ids], units[kinds:][self.unit_ids]])
            return UnitCheck(sides, OTHER_UNITS, np.zeros(len(self.unit_ids), dtype=np.uint8))
        return UnitCheck(np.stack([self.unit_ids] * 2), NO_UNIT, None, self._build_status_table(operator))

    def _get_dimensions(self, unit_ids: NDArray[np.integer]) -> Dimensions:
        return Dimensions(
            self.exponents[unit_ids], self.constant_values[unit_ids], np.ones(len(unit_ids), dtype=np.bool_)
        )

    def _compute_statuses(self, dimensions: Dimensions) -> Bytes:
        """Say what becomes of candidates with these units."""
        right = (
            True
            if self.target_exponents is None
            else (dimensions.exponents == self.target_exponents).all(axis=-1)
        )
        return np.where(dimensions.valid, np.where(right, KEPT, OTHER_UNITS), NO_UNIT).astype(np.uint8)

    def _build_status_table(self, operator: Operator) -> Bytes:
        """Work out the fates of all pairs of kinds, by left and right, and by right and left."""
        kinds = len(self.exponents)
        table = np.empty((kinds, kinds), dtype=np.uint8)
        for first in range(0, kinds, step := max(1, _BATCH_PAIRS // kinds)):
            left = np.arange(first, min(first + step, kinds))
            pairs = np.meshgrid(left, np.arange(kinds), indexing="ij")
            found = propagate_dimensions(operator, *(self._get_dimensions(each.ravel()) for each in pairs))
            fates = self._compute_statuses(found)
            table[left] = np.broadcast_to(fates, pairs[0].size).reshape(pairs[0].shape)
        return np.stack([table.T, table])


@dataclass(frozen=True, eq=False)
class UnitCheck:
    """What units say of an operator's candidates.

    Parameters
    ----------
    kinds : int32 array, shape (2, q)
        What is compared, of each member as left and as right argument.
    unequal : int
        The fate of candidates whose arguments differ in it.
    equal : uint8 array, shape (q,), or None
        The fates of the others, by the left argument or, where arguments have like units, by either.
    table : uint8 array, shape (2, k, k), or None
        Instead: fates by the kinds of the argument that stays and of the one that moves along a run, where
        the left one moves and where the right one does.
    """

    unit_ids: Kinds
    unequal_status: int
    equal_statuses: Bytes | None
    status_table: Bytes | None = None

    def apply(self, first: int, stop: int, pairing: int, statuses: Bytes) -> None:
        """Fill in what becomes of a range of candidates, counted from the operator's first pair."""
        if self.status_table is not None:
            _look_up_statuses(first, stop, pairing, self.unit_ids, self.status_table, statuses)
        elif self.equal_statuses is not None:
            _compare_units(
                first, stop, pairing, self.unit_ids, self.unequal_status, self.equal_statuses, statuses
            )


def compute_pool_units(
    units: Units, symbols: SymbolTable, nodes: NodeArray, members: NDArray[np.int64]
) -> PoolUnits:
    """Work out the units of a pool's members.

    Parameters
    ----------
    units : Units
        Those of the inputs.
    structure : Structure
        What the nodes refer to.
    nodes : Nodes
        All nodes, each with a unit.
    members : int64 array, shape (q,)
        The places of the members among them.

    Returns
    -------
    PoolUnits
    """
    number = np.full(len(nodes), np.nan)
    exponents = np.zeros((len(nodes), len(units.symbols)), dtype=np.int64)
    columns, constants = nodes.operator == COLUMN, nodes.operator == CONSTANT
    own = [units.columns.get(name) for name in symbols.input_names]
    vectors = np.array([exponents[0] if unit is None else units.get_exponents(unit) for unit in own])
    exponents[columns] = vectors.reshape(len(own), -1)[nodes.left[columns]]
    number[constants] = np.array(symbols.constants, dtype=np.float64)[nodes.left[constants]]
    made = np.flatnonzero(nodes.operator >= 0)
    steps = nodes.layer[made].astype(np.int64) * len(symbols.operators) + nodes.operator[made]
    for step in np.unique(steps):  # arguments are of earlier layers
        places = made[steps == step]
        operator = symbols.operators[int(nodes.operator[places[0]])]
        sides = [nodes.left[places]] if operator.arity == 1 else [nodes.left[places], nodes.right[places]]
        sound = np.ones(len(places), dtype=np.bool_)
        found = propagate_dimensions(
            operator, *(Dimensions(exponents[side], number[side], sound) for side in sides)
        )
        exponents[places] = found.exponents
    whole = np.column_stack((exponents[members], np.nan_to_num(number[members], nan=-0.5).view(np.int64)))
    kinds, first = _number_rows(whole)
    target = None if units.target is None else units.get_exponents(units.target)
    return PoolUnits(kinds, exponents[members[first]], number[members[first]], target)


def _number_rows(rows: Exponents) -> tuple[Kinds, NDArray[np.int64]]:
    """Give equal rows one number; return each row's, and the first row of each number."""
    rows = np.column_stack((np.zeros(len(rows), dtype=np.int64), rows))  # numpy refuses rows of nothing
    _, first, numbers = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return numbers.reshape(-1).astype(np.int32), first


def _make_equal_ids(unit_ids: Kinds) -> Kinds:
    return np.zeros((2, len(unit_ids)), dtype=np.int32)


@compile_kernel
def _compare_units(
    first: int,
    stop: int,
    pairing: int,
    unit_ids: Kinds,
    unequal_status: int,
    equal_statuses: Bytes,
    statuses: Bytes,
) -> None:
    t = first
    while t < stop:
        side, moving, staying, n = locate_run(pairing, t)
        n, done = min(n, stop - t), t - first
        kind = unit_ids[1 - side, staying]
        moves, otherwise, found = unit_ids[side, moving:], equal_statuses[moving:], statuses[done : done + n]
        for k in range(n):
            fate = otherwise[k] if moves[k] == kind else np.uint8(unequal_status)
            found[k] = fate if found[k] == KEPT else found[k]
        t += n


@compile_kernel
def _look_up_statuses(
    first: int, stop: int, pairing: int, unit_ids: Kinds, status_table: Bytes, statuses: Bytes
) -> None:
    t = first
    while t < stop:
        side, moving, staying, n = locate_run(pairing, t)
        n, done = min(n, stop - t), t - first
        row, moves, found = (
            status_table[side, unit_ids[1 - side, staying]],
            unit_ids[side, moving:],
            statuses[done : done + n],
        )
        for k in range(n):
            found[k] = row[moves[k]] if found[k] == KEPT else found[k]
        t += n


_KEY_BLOCK_SIZE = (
    1 << 14
)  # candidates whose keys are composed at a time; they and what leads to them fit the cache
_PAIRING_CODES = {"one": walk.ONE, "unordered": walk.UNORDERED, "ordered": walk.ORDERED}
_NO_WORDS = np.empty((2, 2, 0), dtype=np.uint64)
_NO_KEYS = np.empty((0, 2), dtype=np.uint64)


def compute_tie_break_rank(
    complexity: NDArray[np.int32], n_forbidden: NDArray[np.int32] | None = None
) -> NDArray[np.int32]:
    """Return what decides between equal features, the lower the better.

    Parameters
    ----------
    complexity : int32 array, shape (m,)
        Decides first.
    barred : int32 array, shape (m,), optional
        How many operators, at most 64, rules keep from each; decides between equally simple ones.

    Returns
    -------
    int32 array, shape (m,)
    """
    return complexity * np.int32(65) + (0 if n_forbidden is None else n_forbidden)


@dataclass(frozen=True, eq=False)
class OperatorTask:
    """One operator of a layer before the pool.

    Parameters
    ----------
    segment : Segment
        Its candidates.
    operator : Operator
        The operator.
    pool : Nodes
        The nodes of the pool.
    right_keys : uint64 array, shape (q, 2)
        Their keys as its right argument.
    source, words
        Where the candidates' keys come from, as of `walk.sift`.
    costs : int32 array, shape (2, q)
        What each node adds to the complexity as left and as right argument.
    cap : int
        The most that arguments may add.
    flags : uint8 array, shape (2, q)
        What bars each node as left and as right argument, as of `walk.sift`.
    rules : Rules or None
        What operators of further layers may not contain, where one follows.
    meaning : Meaning or None
        Which candidates have a unit, where that matters.
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
        """Decide by rule about a range of candidates, and count the keys of the kept by leading bits."""
        if self.unit_check is not None:
            ends = first - self._first_pair_number, stop - self._first_pair_number
            self.unit_check.apply(*ends, _PAIRING_CODES[self.operator_range.pairing], statuses[first:stop])
        for start, end, *keys in self._split_range(first, stop):
            walk.apply_rules(
                *keys,
                self.argument_costs,
                self.max_argument_cost,
                self.argument_flags,
                statuses[start:end],
                shift,
                counts,
            )

    def fill_buckets(
        self, first: int, stop: int, statuses: NDArray[np.uint8], first_id: int, id_bits: int, shift: int,
        lowest_bucket: int, bucket_ends: Numbers, entries: Residues,
    ) -> None:  # fmt: skip
        """Sort the kept candidates of a range into buckets; candidate 0 is called `name`."""
        for start, end, *keys in self._split_range(first, stop):
            walk.fill_buckets(
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
        """Fill in, in some places, the keys of candidates and what decides between equal ones.

        The burden is the complexity and, where a further layer follows, how many operators rules bar.
        """
        left, right = np.empty((2, len(indices)), dtype=np.int64)
        complexity = np.empty(len(indices), dtype=np.int32)
        walk.recompute_keys(
            indices, numbers, self._first_pair_number, _PAIRING_CODES[self.operator_range.pairing],
            self.key_source, self.key_words, self.argument_costs,
            keys, complexity, left, right,
        )  # fmt: skip
        if self.key_source == walk.PRECOMPUTED:
            keys[indices] = self._compute_keys(left, right)
        barred = None
        if self.rules is not None:
            code, pool = self.operator_range.code, self.pool
            inside = pool.operator_mask[left] | pool.operator_mask[right] | np.uint64(1 << code)
            allowed = pool.allowed_mask[left] & pool.allowed_mask[right]
            barred = self.rules.count_forbidden(inside, allowed, np.full(len(left), code))
        tie_break_ranks[indices] = compute_tie_break_rank(complexity + np.int32(self.operator.cost), barred)

    @property
    def _first_pair_number(self) -> int:
        """The number from which its pairs are counted."""
        return self.operator_range.start - self.operator_range.n_applied

    def _split_range(self, first: int, stop: int) -> Iterator[tuple[Any, ...]]:
        """Cut a range up where its keys have to be given; with each part, say where its keys come from."""
        given, step = _NO_KEYS, stop - first
        if self.key_source == walk.PRECOMPUTED:
            step = _KEY_BLOCK_SIZE
        for start in range(first, stop, step):
            end = min(start + step, stop)
            if self.key_source == walk.PRECOMPUTED:
                keys = self._compute_keys(*self.operator_range.decode(np.arange(start, end)))
                given = np.require(keys, requirements=["C", "W"])
            ends = start - self._first_pair_number, end - self._first_pair_number
            yield (
                start,
                end,
                *ends,
                _PAIRING_CODES[self.operator_range.pairing],
                self.key_source,
                self.key_words,
                given,
            )

    def _compute_keys(self, left: Numbers, right: Numbers) -> Residues:
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
    has_next_layer: bool,
    units: PoolUnits | None = None,
) -> list[OperatorTask]:
    """Put a layer's operators before the pool; the arguments are those of `judge`."""
    rules = compile_rules(grammar, symbols)
    most = np.iinfo(np.int32).max if grammar.max_complexity is None else grammar.max_complexity
    by_arity = {
        1: np.stack([pool.complexity, np.zeros_like(pool.complexity)]),
        2: np.stack([pool.complexity, pool.complexity]),
    }
    cases = []
    for segment in candidates.operator_ranges:
        operator = symbols.operators[segment.code]
        right_keys = pool.keys if operator.prepare_right is None else operator.prepare_right(pool.keys)
        source, words = _find_key_source(operator, pool.keys, right_keys)
        barred = rules.is_forbidden(segment.code, pool.operator_mask, pool.allowed_mask, pool.operator)
        flags = np.stack([barred, barred]) * np.uint8(walk.FORBIDDEN_FLAG)
        if operator.name in domain_masks:
            flags |= ~np.stack(domain_masks[operator.name]) * np.uint8(walk.OUT_OF_DOMAIN_FLAG)
        cases.append(
            OperatorTask(
                operator_range=segment,
                operator=operator,
                pool=pool,
                right_keys=right_keys,
                key_source=source,
                key_words=words,
                argument_costs=by_arity[operator.arity],
                max_argument_cost=most - operator.cost,
                argument_flags=flags,
                rules=rules if has_next_layer else None,
                unit_check=None if units is None else units.build_unit_check(operator),
            )
        )
    return cases


def _find_key_source(operator: Operator, left: Residues, right: Residues) -> tuple[int, Residues]:
    """Recognise operators whose keys are sums or products of words, and lay the words out by side."""
    if operator.arity == 1 or operator.fingerprint not in {fp.add, fp.subtract, fp.multiply}:
        return walk.PRECOMPUTED, _NO_WORDS
    right = fp.negate(right) if operator.fingerprint is fp.subtract else right
    source = walk.PRODUCT if operator.fingerprint is fp.multiply else walk.SUM
    return source, np.ascontiguousarray(np.stack([left.T, right.T]))

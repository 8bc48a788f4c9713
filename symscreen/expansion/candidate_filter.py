"""Filter the candidates of a layer by structure, before any values are computed.

The rules of the grammar exclude candidates first. Then algebraic duplicates are removed: candidates, and
features that the space already has, with equal canonical keys.

Keys are never stored, because a hundred million of them would need gigabytes. Candidates are distributed
over buckets by the leading bits of the first word of their keys, a range of buckets at a time, as 64-bit
entries. An entry holds the id of the candidate and as many of the following bits of the word as fit. Entries
with the same bits in one bucket collide. Only for collisions are both words recomputed and compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen._limits import ignore_deadline
from symscreen.expansion import _kernels
from symscreen.expansion._kernels import CandidateStatus, find_collisions, pick_representatives
from symscreen.expansion.operator_tasks import build_operator_tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen._limits import DeadlineCheck
    from symscreen._typing import Flags, Numbers
    from symscreen.expansion.candidates import Candidates
    from symscreen.expansion.nodes import NodeArray, SymbolTable
    from symscreen.expansion.operator_tasks import OperatorTask, PoolUnits
    from symscreen.grammar import Grammar

    MapFunction = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]


_PASS_ENTRIES = 1 << 24  # entries that a pass stores, if memory is scarce
_MAX_PASS_ENTRIES = 1 << 28  # entries that a pass stores at most; every pass computes all keys again
_PASS_MEMORY_SHARE = 0.5  # share of the free memory that the entries of a pass may take
_MAX_COLLISIONS = 1 << 16  # entries that one thread compares at a time
_ENTRY_BYTES = 8
_BUCKET_ENTRIES = 1 << 13  # maximum mean number of entries per bucket
_MAX_BUCKET_BITS = 16  # largest number of bits of a bucket's number
_WORD_BITS = 61  # bits of a key word
_MAX_TASKS = 32  # tasks per stage
_MIN_TASK_SIZE = 1 << 16  # candidates or entries per task; smaller tasks do not pay for a thread
_CHECK_INTERVAL = 1 << 20  # candidates between two checks of the deadline

_REPRESENTATIVE = 255  # temporary status of a kept candidate that has duplicates
_SCAN_SIZE = 1 << 20  # statuses processed together; a multiple of 8


def estimate_duplicate_search_bytes(n_candidates: int) -> int:
    """Estimate the memory in bytes of a duplicate search among n candidates."""
    return (
        n_candidates // 8 + 10 * min(n_candidates, _PASS_ENTRIES) + 250 * min(n_candidates, _MAX_COLLISIONS)
    )


def choose_pass_entries(n_candidates: int, free_bytes: int | None) -> int:
    """Choose how many entries a pass of the duplicate search stores.

    Parameters
    ----------
    n_candidates : int
        Number of candidates.
    free_bytes : int or None
        Memory in bytes that the search may take in addition to its minimum; None if it is not known.

    Returns
    -------
    int
        More entries mean fewer passes. The result of the search does not depend on it.
    """
    extra = 0 if free_bytes is None else int(_PASS_MEMORY_SHARE * free_bytes) // _ENTRY_BYTES
    return min(max(extra, _PASS_ENTRIES), _MAX_PASS_ENTRIES, max(n_candidates, _PASS_ENTRIES))


@dataclass(frozen=True, eq=False)
class DuplicateFinder:
    """A search for equal keys.

    Parameters
    ----------
    operator_tasks : sequence of OperatorTask
        The operators of the layer.
    statuses : uint8 array, shape (total,)
        Status of each candidate. Filled in by `apply_rules`.
    existing_keys : uint64 array, shape (k, 2)
        Keys of features that the space already has.
    tie_break_ranks : int32 array, shape (k,)
        Their tie-break ranks, see `compute_tie_break_rank`.
    map_function : callable
        Maps a function over tasks, in order, like the built-in `map`.
    check_deadline : callable, optional
        Called repeatedly. An exception that it raises ends the search.
    pass_entries : int, optional
        Number of entries that a pass stores, see `choose_pass_entries`; by default as if memory is scarce.
    """

    operator_tasks: Sequence[OperatorTask]
    statuses: NDArray[np.uint8]
    existing_keys: NDArray[np.uint64]
    tie_break_ranks: NDArray[np.int32]
    map_function: MapFunction
    check_deadline: DeadlineCheck = ignore_deadline
    pass_entries: int | None = None

    # existing feature k has id k + 1; the candidates have the ids after those
    @property
    def _first_candidate_id(self) -> int:
        return len(self.existing_keys) + 1

    @property
    def _id_bits(self) -> int:
        return (self._first_candidate_id + len(self.statuses)).bit_length()

    @property
    def _shift(self) -> int:
        n_buckets = -(-(len(self.existing_keys) + len(self.statuses)) // _BUCKET_ENTRIES)
        return _WORD_BITS - min(_MAX_BUCKET_BITS, max(n_buckets - 1, 0).bit_length())

    @property
    def _n_buckets(self) -> int:
        return 1 << (_WORD_BITS - self._shift)

    @property
    def _task_ranges(self) -> list[tuple[int, int]]:
        """The ranges of candidates that are processed as separate tasks."""
        total = len(self.statuses)
        step = max(_MIN_TASK_SIZE, -(-total // _MAX_TASKS))
        return [(first, min(first + step, total)) for first in range(0, total, step)]

    def apply_rules(self) -> NDArray[np.int32]:
        """Apply the rules to all candidates whose status is `KEPT`.

        Returns
        -------
        int32 array, shape (n_ranges, n_buckets)
            Number of kept candidates of each task range and bucket.
        """
        counts = np.empty((len(self._task_ranges), self._n_buckets), dtype=np.int32)
        range_counts = self.map_function(self._apply_rules_to_range, self._task_ranges)
        for row, bucket_counts in enumerate(range_counts):
            counts[row] = bucket_counts
        return counts

    def _apply_rules_to_range(self, task_range: tuple[int, int]) -> NDArray[np.int32]:
        counts = np.zeros(self._n_buckets, dtype=np.int32)
        for operator_task, first, stop in self._split_by_operator(task_range):
            operator_task.apply_rules(first, stop, self.statuses, self._shift, counts)
        return counts

    def _split_by_operator(self, task_range: tuple[int, int]) -> Iterator[tuple[OperatorTask, int, int]]:
        for operator_task in self.operator_tasks:
            operator_range = operator_task.operator_range
            first, stop = max(task_range[0], operator_range.start), min(task_range[1], operator_range.stop)
            for start in range(first, stop, _CHECK_INTERVAL):
                self.check_deadline()
                yield operator_task, start, min(start + _CHECK_INTERVAL, stop)

    def find_duplicates(self, counts: NDArray[np.int32]) -> Iterator[tuple[Numbers, Numbers]]:
        """Find all equal keys, except the representative of each group.

        Parameters
        ----------
        counts : int32 array, shape (n_ranges, n_buckets)
            Result of `apply_rules`.

        Yields
        ------
        int64 array, shape (m,)
            Duplicates: candidate numbers, and existing features as −1, −2, …
        int64 array, shape (m,)
            Representative of each duplicate, numbered in the same way.
        """
        buckets = (self.existing_keys[:, 0] >> np.uint64(self._shift)).astype(np.int64)
        existing_counts = np.bincount(buckets, minlength=self._n_buckets)
        bounds = np.concatenate(([0], np.cumsum(existing_counts + counts.sum(axis=0, dtype=np.int64))))
        groups = list(_group_buckets(bounds, self.pass_entries or _PASS_ENTRIES))
        entries = np.empty(max(int(bounds[stop] - bounds[start]) for start, stop in groups), dtype=np.uint64)
        for start, stop in groups:
            offsets = bounds[start : stop + 1] - bounds[start]
            ends = (
                np.concatenate((existing_counts[None, start:stop], counts[:, start:stop])).cumsum(axis=0)
                + offsets[:-1]
            )
            self._fill_existing_keys(start, offsets[:-1].copy(), entries)
            tasks = [
                (task_range, start, range_ends.copy(), entries)
                for task_range, range_ends in zip(self._task_ranges, ends, strict=False)
            ]
            for _ in self.map_function(self._fill_buckets, tasks):
                pass
            step = max(_MIN_TASK_SIZE, -(-int(offsets[-1]) // _MAX_TASKS))
            for duplicates in self.map_function(
                self._compare_entries,
                [(entries, offsets, *bucket_range) for bucket_range in _group_buckets(offsets, step)],
            ):
                yield from duplicates

    def _fill_existing_keys(
        self, lowest_bucket: int, bucket_ends: Numbers, entries: NDArray[np.uint64]
    ) -> None:
        statuses = np.full(len(self.existing_keys), _kernels.KEPT, dtype=np.uint8)
        _kernels.fill_buckets(
            0, len(statuses), _kernels.ONE, _kernels.PRECOMPUTED, np.empty((2, 2, 0), dtype=np.uint64),
            self.existing_keys, statuses, 1,
            self._id_bits, self._shift, lowest_bucket, bucket_ends, entries,
        )  # fmt: skip

    def _fill_buckets(self, task: tuple[tuple[int, int], int, Numbers, NDArray[np.uint64]]) -> None:
        task_range, lowest_bucket, bucket_ends, entries = task
        for operator_task, first, stop in self._split_by_operator(task_range):
            operator_task.fill_buckets(
                first, stop, self.statuses, self._first_candidate_id,
                self._id_bits, self._shift, lowest_bucket, bucket_ends, entries,
            )  # fmt: skip

    def _compare_entries(
        self, task: tuple[NDArray[np.uint64], Numbers, int, int]
    ) -> list[tuple[Numbers, Numbers]]:
        entries, bounds, start, stop = task
        largest = int(np.diff(bounds[start : stop + 1]).max())
        table = np.empty(1 << (2 * largest).bit_length(), dtype=np.uint64)
        ids = np.empty(max(largest, min(_MAX_COLLISIONS, int(bounds[stop] - bounds[start]))), dtype=np.int64)
        duplicates = []
        while start < stop:
            self.check_deadline()
            start, n_ids = find_collisions(entries, bounds, start, stop, self._id_bits, table, ids)
            duplicates.append(self._find_equal_keys(ids[:n_ids]))
        return duplicates

    def _find_equal_keys(self, ids: Numbers) -> tuple[Numbers, Numbers]:
        """Compare both key words of entries; return duplicates and their representatives, each shape (m,)."""
        numbers = np.where(ids < self._first_candidate_id, -ids, ids - self._first_candidate_id)
        keys, tie_break_ranks = np.empty((len(ids), 2), dtype=np.uint64), np.empty(len(ids), dtype=np.int32)
        starts = [operator_task.operator_range.start for operator_task in self.operator_tasks]
        task_numbers = np.searchsorted(starts, numbers, side="right")
        existing = np.flatnonzero(task_numbers == 0)
        keys[existing] = self.existing_keys[ids[existing] - 1]
        tie_break_ranks[existing] = self.tie_break_ranks[ids[existing] - 1]
        for task_number, operator_task in enumerate(self.operator_tasks, start=1):
            task_indices = np.flatnonzero(task_numbers == task_number)
            if len(task_indices):
                operator_task.recompute_keys(task_indices, numbers, keys, tie_break_ranks)
        representatives = np.empty(len(ids), dtype=np.int64)
        pick_representatives(keys, tie_break_ranks, ids, representatives)
        duplicates = np.flatnonzero(representatives != np.arange(len(ids)))
        return numbers[duplicates], numbers[representatives[duplicates]]


def _group_buckets(bounds: Numbers, max_entries: int) -> Iterator[tuple[int, int]]:
    """Group adjacent buckets so that a group has at most `max_entries` entries, or is one bucket."""
    start = 0
    while start < len(bounds) - 1:
        stop = int(np.searchsorted(bounds, bounds[start] + max_entries, side="right")) - 1
        start, group_range = max(stop, start + 1), (start, max(stop, start + 1))
        yield group_range


def estimate_filter_bytes(n_candidates: int) -> int:
    """Estimate the memory in bytes to filter n candidates."""
    return n_candidates + estimate_duplicate_search_bytes(n_candidates)


@dataclass(frozen=True, eq=False)
class FilterResult:
    """Result of `filter_candidates`.

    Parameters
    ----------
    statuses : uint8 array, shape (candidates.total,)
        A `CandidateStatus` for each candidate. If several candidates have the same key, the simplest is kept.
        Ties are broken by the number of operators that the rules exclude, if another layer follows, and then
        by the candidate number.
    replaced_by : int64 array, shape (k,)
        For each existing feature, the number of the simpler candidate that is equal to it. −1 if it is kept.
    representatives : uint8 array, shape (ceil(candidates.total / 8),)
        The kept candidates that have duplicates, as bits packed by `numpy.packbits`. Their duplicates may be
        dropped only if the values of the representatives are valid.
    """

    statuses: NDArray[np.uint8]
    replaced_by: NDArray[np.int64]
    representatives: NDArray[np.uint8]


def filter_candidates(
    candidates: Candidates,
    symbols: SymbolTable,
    pool: NodeArray,
    grammar: Grammar,
    *,
    domain_masks: Mapping[str, tuple[Flags, Flags]],
    range_masks: Mapping[str, Flags],
    existing_keys: NDArray[np.uint64],
    tie_break_ranks: NDArray[np.int32],
    has_next_layer: bool,
    excluded: Mapping[int, CandidateStatus],
    units: PoolUnits | None = None,
    map_function: MapFunction = map,
    check_deadline: DeadlineCheck = ignore_deadline,
    pass_entries: int | None = None,
) -> FilterResult:
    """Decide by structure, and by the domains of the pool's features, which candidates to compute.

    Parameters
    ----------
    candidates : Candidates
        The layer.
    symbols : SymbolTable
        Defines the operator codes.
    pool : NodeArray
        Nodes of the pool, in its order.
    grammar : Grammar
        The rules.
    domain_masks : mapping of operator name to two bool arrays, shape (q,)
        For each operator with a domain, which members of the pool may be its left and right argument.
    range_masks : mapping of operator name to bool array, shape (q,)
        For each operator in `Grammar.max_range`, which members have a range that is not too wide.
    existing_keys : uint64 array, shape (k, 2)
        Keys of features that the space already has.
    tie_break_ranks : int32 array, shape (k,)
        Their tie-break ranks, see `compute_tie_break_rank`. −1 for a feature that must not be replaced.
    has_next_layer : bool
        Whether another layer follows. If so, ties are broken by what the rules will exclude.
    excluded : mapping of int to CandidateStatus
        Candidates with invalid values. They are never representatives.
    units : PoolUnits or None
        Units of the pool's members, if formulas must have a unit.
    map_function : callable
        Maps a function over tasks, in order, like the built-in `map`; possibly in threads.
    check_deadline : callable, optional
        Called repeatedly. An exception that it raises ends the search for duplicates.
    pass_entries : int, optional
        See `DuplicateFinder`.

    Returns
    -------
    FilterResult
    """
    statuses = np.zeros(candidates.total, dtype=np.uint8)
    statuses[list(excluded)] = list(excluded.values())
    operator_tasks = build_operator_tasks(
        candidates,
        symbols,
        pool,
        grammar,
        domain_masks=domain_masks,
        range_masks=range_masks,
        has_next_layer=has_next_layer,
        units=units,
    )
    finder = DuplicateFinder(
        operator_tasks,
        statuses,
        existing_keys,
        tie_break_ranks,
        map_function,
        check_deadline,
        pass_entries,
    )
    replaced_by = np.full(len(existing_keys), -1)
    for duplicates, kept in finder.find_duplicates(finder.apply_rules()):
        statuses[duplicates[duplicates >= 0]] = CandidateStatus.DUPLICATE
        statuses[kept[kept >= 0]] = _REPRESENTATIVE
        replaced_by[-1 - duplicates[duplicates < 0]] = kept[duplicates < 0]
    representatives = np.empty(-(-candidates.total // 8), dtype=np.uint8)
    for first in range(0, candidates.total, _SCAN_SIZE):
        part = statuses[first : first + _SCAN_SIZE]
        is_representative = part == _REPRESENTATIVE
        representatives[first // 8 : (first + _SCAN_SIZE) // 8] = np.packbits(is_representative)
        part[is_representative] = CandidateStatus.KEPT
    return FilterResult(statuses, replaced_by, representatives)

"""Algebraic duplicates: candidates, and known features, whose canonical keys are equal.

Keys are never held, for a hundred million of them would take gigabytes. Candidates are sorted into buckets by
the leading bits of their keys' first words, some buckets at a time, as entries of 64 bits: the candidate's
name, and as many more bits of the word as there is room for. Those whose bits occur more than once in their
bucket are suspects; only of suspects both words are worked out again and compared.

What becomes of each candidate before any value is computed: kept, or left out for a reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen._limits import ignore_deadline
from symscreen.expansion import _kernels as walk
from symscreen.expansion._kernels import find_collisions, pick_representatives
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

__all__ = [
    "EXCLUSION_REASONS",
    "CandidateStatus",
    "DuplicateFinder",
    "FilterResult",
    "estimate_duplicate_search_bytes",
    "estimate_filter_bytes",
    "filter_candidates",
]

_PASS_ENTRIES = 1 << 24  # entries held at a time
_MAX_COLLISIONS = 1 << 16  # compared at a time, by each thread
_BUCKET_ENTRIES = 1 << 13  # entries, on average, at most
_MAX_BUCKET_BITS = 16
_WORD_BITS = 61
_MAX_TASKS = 32  # that a stage is cut into, at most
_MIN_TASK_SIZE = 1 << 16  # candidates or entries in a task, at least; fewer are not worth a thread
_CHECK_INTERVAL = 1 << 20  # candidates walked before it is asked again whether there is time


def estimate_duplicate_search_bytes(n_candidates: int) -> int:
    """Predict the memory that a search among so many candidates takes, in bytes."""
    return (
        n_candidates // 8 + 10 * min(n_candidates, _PASS_ENTRIES) + 250 * min(n_candidates, _MAX_COLLISIONS)
    )


@dataclass(frozen=True, eq=False)
class DuplicateFinder:
    """A search for equal keys.

    Parameters
    ----------
    cases : sequence of Case
        The layer's operators.
    fates : uint8 array, shape (total,)
        What is decided about the candidates; filled by `sift`.
    known : uint64 array, shape (k, 2)
        Keys of features that the space already has.
    burdens : int32 array, shape (k,)
        Their burdens.
    spread : callable
        Maps a function over tasks, in order, as the built-in `map` does.
    check : callable, optional
        Called again and again; what it raises ends the search.
    """

    operator_tasks: Sequence[OperatorTask]
    statuses: NDArray[np.uint8]
    existing_keys: NDArray[np.uint64]
    tie_break_ranks: NDArray[np.int32]
    map_function: MapFunction
    check_deadline: DeadlineCheck = ignore_deadline

    # known feature k is called k + 1, and the candidates are called by the names that follow
    @property
    def _first_candidate_id(self) -> int:
        return len(self.existing_keys) + 1

    @property
    def _id_bits(self) -> int:
        return (self._first_candidate_id + len(self.statuses)).bit_length()

    @property
    def _shift(self) -> int:
        average = -(-(len(self.existing_keys) + len(self.statuses)) // _BUCKET_ENTRIES)
        return _WORD_BITS - min(_MAX_BUCKET_BITS, max(average - 1, 0).bit_length())

    @property
    def _n_buckets(self) -> int:
        return 1 << (_WORD_BITS - self._shift)

    @property
    def _task_ranges(self) -> list[tuple[int, int]]:
        """The ranges of candidates that are walked as tasks of their own."""
        total = len(self.statuses)
        step = max(_MIN_TASK_SIZE, -(-total // _MAX_TASKS))
        return [(first, min(first + step, total)) for first in range(0, total, step)]

    def _map_tasks(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterable[Any]:
        # a single task is not worth a thread
        return (self.map_function if len(tasks) > 1 else map)(function, tasks)

    def apply_rules(self) -> NDArray[np.int32]:
        """Decide by rule about all candidates that nothing is decided about.

        Returns
        -------
        int32 array, shape (spans, buckets)
            How many candidates of each range are kept and go into each bucket.
        """
        counts = np.empty((len(self._task_ranges), self._n_buckets), dtype=np.int32)
        for place, own in enumerate(self._map_tasks(self._apply_rules_to_range, self._task_ranges)):
            counts[place] = own
        return counts

    def _apply_rules_to_range(self, task_range: tuple[int, int]) -> NDArray[np.int32]:
        counts = np.zeros(self._n_buckets, dtype=np.int32)
        for case, first, stop in self._split_by_operator(task_range):
            case.apply_rules(first, stop, self.statuses, self._shift, counts)
        return counts

    def _split_by_operator(self, task_range: tuple[int, int]) -> Iterator[tuple[OperatorTask, int, int]]:
        for case in self.operator_tasks:
            first, stop = (
                max(task_range[0], case.operator_range.start),
                min(task_range[1], case.operator_range.start + case.operator_range.count),
            )
            for start in range(first, stop, _CHECK_INTERVAL):
                self.check_deadline()
                yield case, start, min(start + _CHECK_INTERVAL, stop)

    def find_duplicates(self, counts: NDArray[np.int32]) -> Iterator[tuple[Numbers, Numbers]]:
        """Find all but the least burdened, first, of equal keys.

        Parameters
        ----------
        counts : int32 array, shape (spans, buckets)
            As `sift` returns them.

        Yields
        ------
        int64 array, shape (m,)
            Candidates, and known features as −1, −2, …, that are equal to others.
        int64 array, shape (m,)
            The one of those that stays.
        """
        buckets = (self.existing_keys[:, 0] >> np.uint64(self._shift)).astype(np.int64)
        old = np.bincount(buckets, minlength=self._n_buckets)
        bounds = np.concatenate(([0], np.cumsum(old + counts.sum(axis=0, dtype=np.int64))))
        groups = list(_group_buckets(bounds, _PASS_ENTRIES))
        entries = np.empty(max(int(bounds[stop] - bounds[start]) for start, stop in groups), dtype=np.uint64)
        for start, stop in groups:
            inside = bounds[start : stop + 1] - bounds[start]
            ends = np.concatenate((old[None, start:stop], counts[:, start:stop])).cumsum(axis=0) + inside[:-1]
            self._fill_existing_keys(start, inside[:-1].copy(), entries)
            tasks = [
                (span, start, own.copy(), entries) for span, own in zip(self._task_ranges, ends, strict=False)
            ]
            for _ in self._map_tasks(self._fill_buckets, tasks):
                pass
            step = max(_MIN_TASK_SIZE, -(-int(inside[-1]) // _MAX_TASKS))
            for found in self._map_tasks(
                self._compare_entries, [(entries, inside, *part) for part in _group_buckets(inside, step)]
            ):
                yield from found

    def _fill_existing_keys(
        self, lowest_bucket: int, bucket_ends: Numbers, entries: NDArray[np.uint64]
    ) -> None:
        kept = np.full(len(self.existing_keys), walk.KEPT, dtype=np.uint8)
        walk.fill_buckets(
            0, len(kept), walk.ONE, walk.PRECOMPUTED, np.empty((2, 2, 0), dtype=np.uint64),
            self.existing_keys, kept, 1,
            self._id_bits, self._shift, lowest_bucket, bucket_ends, entries,
        )  # fmt: skip

    def _fill_buckets(self, task: tuple[tuple[int, int], int, Numbers, NDArray[np.uint64]]) -> None:
        span, lowest, ends, entries = task
        for case, first, stop in self._split_by_operator(span):
            case.fill_buckets(
                first,
                stop,
                self.statuses,
                self._first_candidate_id,
                self._id_bits,
                self._shift,
                lowest,
                ends,
                entries,
            )

    def _compare_entries(
        self, task: tuple[NDArray[np.uint64], Numbers, int, int]
    ) -> list[tuple[Numbers, Numbers]]:
        entries, bounds, start, stop = task
        largest = int(np.diff(bounds[start : stop + 1]).max())
        table = np.empty(1 << (2 * largest).bit_length(), dtype=np.uint64)
        names = np.empty(
            max(largest, min(_MAX_COLLISIONS, int(bounds[stop] - bounds[start]))), dtype=np.int64
        )
        found = []
        while start < stop:
            self.check_deadline()
            start, size = find_collisions(entries, bounds, start, stop, self._id_bits, table, names)
            found.append(self._find_equal_keys(names[:size]))
        return found

    def _find_equal_keys(self, ids: Numbers) -> tuple[Numbers, Numbers]:
        numbers = np.where(ids < self._first_candidate_id, -ids, ids - self._first_candidate_id)
        keys, burdens = np.empty((len(ids), 2), dtype=np.uint64), np.empty(len(ids), dtype=np.int32)
        owner = np.searchsorted(
            [case.operator_range.start for case in self.operator_tasks], numbers, side="right"
        )
        old = np.flatnonzero(owner == 0)
        keys[old], burdens[old] = self.existing_keys[ids[old] - 1], self.tie_break_ranks[ids[old] - 1]
        for place, case in enumerate(self.operator_tasks, start=1):
            mine = np.flatnonzero(owner == place)
            if len(mine):
                case.recompute_keys(mine, numbers, keys, burdens)
        simplest = np.empty(len(ids), dtype=np.int64)
        pick_representatives(keys, burdens, ids, simplest)
        copies = np.flatnonzero(simplest != np.arange(len(ids)))
        return numbers[copies], numbers[simplest[copies]]


def _group_buckets(bounds: Numbers, max_entries: int) -> Iterator[tuple[int, int]]:
    """Group neighbouring buckets so that each group, or its only bucket, has so many entries at most."""
    start = 0
    while start < len(bounds) - 1:
        stop = int(np.searchsorted(bounds, bounds[start] + max_entries, side="right")) - 1
        start, group = max(stop, start + 1), (start, max(stop, start + 1))
        yield group


_REPRESENTATIVE = 255  # what is kept and stands for others, while duplicates are looked for
_SCAN_SIZE = 1 << 20  # fates looked at together; a multiple of 8


class CandidateStatus(IntEnum):
    """What becomes of a candidate."""

    KEPT = 0
    FORBIDDEN = 1
    TOO_COMPLEX = 2
    CONSTANT = 3
    UNDEFINED = 4
    DUPLICATE = 5
    NUMERIC_DUPLICATE = 6
    PRUNED = 7
    NO_UNIT = 8
    OTHER_UNITS = 9


EXCLUSION_REASONS: dict[CandidateStatus, str] = {
    CandidateStatus.NO_UNIT: "no unit",
    CandidateStatus.OTHER_UNITS: "other units than the target's",
    CandidateStatus.FORBIDDEN: "forbidden by rule",
    CandidateStatus.TOO_COMPLEX: "over the complexity cap",
    CandidateStatus.CONSTANT: "constant",
    CandidateStatus.UNDEFINED: "undefined on the data",
    CandidateStatus.DUPLICATE: "algebraic duplicate",
    CandidateStatus.NUMERIC_DUPLICATE: "numeric duplicate",
    CandidateStatus.PRUNED: "cut between layers",
}


def estimate_filter_bytes(n_candidates: int) -> int:
    """Predict the memory that judging so many candidates takes, in bytes."""
    return n_candidates + estimate_duplicate_search_bytes(n_candidates)


@dataclass(frozen=True, eq=False)
class FilterResult:
    """What `judge` decides.

    Parameters
    ----------
    fates : uint8 array, shape (candidates.total,)
        A `CandidateStatus` for each candidate. Of several with one key the simplest is kept; of equally
        simple ones the
        one from which rules bar the fewest operators, where another layer follows; then the first.
    replaced_by : int64 array, shape (k,)
        For each known feature the number of the simpler candidate that is equal to it; −1 where it stays.
    winners : uint8 array, shape (ceil(candidates.total / 8),)
        The candidates that stand for others, packed as bits by `numpy.packbits`. That these be left out for
        good, the winners must prove computable.
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
    existing_keys: NDArray[np.uint64],
    tie_break_ranks: NDArray[np.int32],
    has_next_layer: bool,
    excluded: Mapping[int, CandidateStatus],
    units: PoolUnits | None = None,
    map_function: MapFunction = map,
    check_deadline: DeadlineCheck = ignore_deadline,
) -> FilterResult:
    """Decide by structure, and by the domains of the pool's features, which candidates are worth computing.

    Parameters
    ----------
    candidates : Candidates
        The layer.
    structure : Structure
        What the codes mean.
    pool : Nodes
        The nodes of the pool, in its order.
    grammar : Grammar
        The rules.
    defined : mapping of operator name to two bool arrays, shape (q,)
        For each operator with a domain, which features of the pool may be its left and right argument.
    known : uint64 array, shape (k, 2)
        Keys of features that the space already has.
    burdens : int32 array, shape (k,)
        What `burden` says of them; −1 for one that nothing shall replace.
    grows : bool
        Whether another layer follows, so that it matters what rules will bar.
    banned : mapping of int to Fate
        Candidates whose values are known to be of no use; they stand for nobody.
    units : PoolUnits or None
        Those of the pool's features, where formulas must have a unit.
    spread : callable
        Maps a function over tasks, in order, as the built-in `map` does; in threads, where there are some.
    check : callable, optional
        Called again and again; what it raises ends the search for duplicates.

    Returns
    -------
    Judgement
    """
    fates = np.zeros(candidates.total, dtype=np.uint8)
    fates[list(excluded)] = list(excluded.values())
    cases = build_operator_tasks(
        candidates,
        symbols,
        pool,
        grammar,
        domain_masks=domain_masks,
        has_next_layer=has_next_layer,
        units=units,
    )
    search = DuplicateFinder(cases, fates, existing_keys, tie_break_ranks, map_function, check_deadline)
    replaced_by = np.full(len(existing_keys), -1)
    for copies, simplest in search.find_duplicates(search.apply_rules()):
        fates[copies[copies >= 0]] = CandidateStatus.DUPLICATE
        fates[simplest[simplest >= 0]] = _REPRESENTATIVE
        replaced_by[-1 - copies[copies < 0]] = simplest[copies < 0]
    winners = np.empty(-(-candidates.total // 8), dtype=np.uint8)
    for first in range(0, candidates.total, _SCAN_SIZE):
        part = fates[first : first + _SCAN_SIZE]
        stands = part == _REPRESENTATIVE
        winners[first // 8 : (first + _SCAN_SIZE) // 8] = np.packbits(stands)
        part[stands] = CandidateStatus.KEPT
    return FilterResult(fates, replaced_by, winners)

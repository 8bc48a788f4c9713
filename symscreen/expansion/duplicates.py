"""Algebraic duplicates: candidates, and known features, whose canonical keys are equal.

Keys are never held, for a hundred million of them would take gigabytes. Candidates are sorted into buckets by
the leading bits of their keys' first words, some buckets at a time, as entries of 64 bits: the candidate's
name, and as many more bits of the word as there is room for. Those whose bits occur more than once in their
bucket are suspects; only of suspects both words are worked out again and compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.expansion import walk
from symscreen.expansion.copies import simplest_of_equals, suspects
from symscreen.expansion.in_time import untimed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen.expansion.cases import Case
    from symscreen.expansion.in_time import Check

    Numbers = NDArray[np.int64]
    Spread = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]

__all__ = ["Search", "searching_bytes"]

_PASS = 1 << 24  # entries held at a time
_SUSPECTS = 1 << 16  # compared at a time, by each thread
_BUCKET = 1 << 13  # entries, on average, at most
_MOST_BITS = 16
_WORD_BITS = 61
_TASKS = 32  # that a stage is cut into, at most
_SPAN = 1 << 16  # candidates or entries in a task, at least; fewer are not worth a thread
_PIECE = 1 << 20  # candidates walked before it is asked again whether there is time


def searching_bytes(total: int) -> int:
    """Predict the memory that a search among so many candidates takes, in bytes."""
    return total // 8 + 10 * min(total, _PASS) + 250 * min(total, _SUSPECTS)


@dataclass(frozen=True, eq=False)
class Search:
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

    cases: Sequence[Case]
    fates: NDArray[np.uint8]
    known: NDArray[np.uint64]
    burdens: NDArray[np.int32]
    spread: Spread
    check: Check = untimed

    # known feature k is called k + 1, and the candidates are called by the names that follow
    @property
    def _first_name(self) -> int:
        return len(self.known) + 1

    @property
    def _name_bits(self) -> int:
        return (self._first_name + len(self.fates)).bit_length()

    @property
    def _shift(self) -> int:
        average = -(-(len(self.known) + len(self.fates)) // _BUCKET)
        return _WORD_BITS - min(_MOST_BITS, max(average - 1, 0).bit_length())

    @property
    def _buckets(self) -> int:
        return 1 << (_WORD_BITS - self._shift)

    @property
    def _spans(self) -> list[tuple[int, int]]:
        """The ranges of candidates that are walked as tasks of their own."""
        total = len(self.fates)
        step = max(_SPAN, -(-total // _TASKS))
        return [(first, min(first + step, total)) for first in range(0, total, step)]

    def _mapped(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterable[Any]:
        # a single task is not worth a thread
        return (self.spread if len(tasks) > 1 else map)(function, tasks)

    def sift(self) -> NDArray[np.int32]:
        """Decide by rule about all candidates that nothing is decided about.

        Returns
        -------
        int32 array, shape (spans, buckets)
            How many candidates of each range are kept and go into each bucket.
        """
        counts = np.empty((len(self._spans), self._buckets), dtype=np.int32)
        for place, own in enumerate(self._mapped(self._sifted, self._spans)):
            counts[place] = own
        return counts

    def _sifted(self, span: tuple[int, int]) -> NDArray[np.int32]:
        counts = np.zeros(self._buckets, dtype=np.int32)
        for case, first, stop in self._parts(span):
            case.sift(first, stop, self.fates, self._shift, counts)
        return counts

    def _parts(self, span: tuple[int, int]) -> Iterator[tuple[Case, int, int]]:
        for case in self.cases:
            first, stop = (
                max(span[0], case.segment.start),
                min(span[1], case.segment.start + case.segment.count),
            )
            for start in range(first, stop, _PIECE):
                self.check()
                yield case, start, min(start + _PIECE, stop)

    def copies(self, counts: NDArray[np.int32]) -> Iterator[tuple[Numbers, Numbers]]:
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
        buckets = (self.known[:, 0] >> np.uint64(self._shift)).astype(np.int64)
        old = np.bincount(buckets, minlength=self._buckets)
        bounds = np.concatenate(([0], np.cumsum(old + counts.sum(axis=0, dtype=np.int64))))
        groups = list(_grouped(bounds, _PASS))
        entries = np.empty(max(int(bounds[stop] - bounds[start]) for start, stop in groups), dtype=np.uint64)
        for start, stop in groups:
            inside = bounds[start : stop + 1] - bounds[start]
            ends = np.concatenate((old[None, start:stop], counts[:, start:stop])).cumsum(axis=0) + inside[:-1]
            self._gather_known(start, inside[:-1].copy(), entries)
            tasks = [(span, start, own.copy(), entries) for span, own in zip(self._spans, ends, strict=False)]
            for _ in self._mapped(self._gathered, tasks):
                pass
            step = max(_SPAN, -(-int(inside[-1]) // _TASKS))
            for found in self._mapped(
                self._compared, [(entries, inside, *part) for part in _grouped(inside, step)]
            ):
                yield from found

    def _gather_known(self, lowest: int, ends: Numbers, entries: NDArray[np.uint64]) -> None:
        kept = np.full(len(self.known), walk.KEPT, dtype=np.uint8)
        walk.gather(
            0, len(kept), walk.ONE, walk.GIVEN, np.empty((2, 2, 0), dtype=np.uint64), self.known, kept, 1,
            self._name_bits, self._shift, lowest, ends, entries,
        )  # fmt: skip

    def _gathered(self, task: tuple[tuple[int, int], int, Numbers, NDArray[np.uint64]]) -> None:
        span, lowest, ends, entries = task
        for case, first, stop in self._parts(span):
            case.gather(
                first, stop, self.fates, self._first_name, self._name_bits, self._shift, lowest, ends, entries
            )

    def _compared(self, task: tuple[NDArray[np.uint64], Numbers, int, int]) -> list[tuple[Numbers, Numbers]]:
        entries, bounds, start, stop = task
        largest = int(np.diff(bounds[start : stop + 1]).max())
        table = np.empty(1 << (2 * largest).bit_length(), dtype=np.uint64)
        names = np.empty(max(largest, min(_SUSPECTS, int(bounds[stop] - bounds[start]))), dtype=np.int64)
        found = []
        while start < stop:
            self.check()
            start, size = suspects(entries, bounds, start, stop, self._name_bits, table, names)
            found.append(self._equal(names[:size]))
        return found

    def _equal(self, names: Numbers) -> tuple[Numbers, Numbers]:
        numbers = np.where(names < self._first_name, -names, names - self._first_name)
        keys, burdens = np.empty((len(names), 2), dtype=np.uint64), np.empty(len(names), dtype=np.int32)
        owner = np.searchsorted([case.segment.start for case in self.cases], numbers, side="right")
        old = np.flatnonzero(owner == 0)
        keys[old], burdens[old] = self.known[names[old] - 1], self.burdens[names[old] - 1]
        for place, case in enumerate(self.cases, start=1):
            mine = np.flatnonzero(owner == place)
            if len(mine):
                case.revisit(mine, numbers, keys, burdens)
        simplest = np.empty(len(names), dtype=np.int64)
        simplest_of_equals(keys, burdens, names, simplest)
        copies = np.flatnonzero(simplest != np.arange(len(names)))
        return numbers[copies], numbers[simplest[copies]]


def _grouped(bounds: Numbers, most: int) -> Iterator[tuple[int, int]]:
    """Group neighbouring buckets so that each group, or its only bucket, has so many entries at most."""
    start = 0
    while start < len(bounds) - 1:
        stop = int(np.searchsorted(bounds, bounds[start] + most, side="right")) - 1
        start, group = max(stop, start + 1), (start, max(stop, start + 1))
        yield group

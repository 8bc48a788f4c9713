"""Operators of a layer before the pool, each with what is worked out once for all its candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.expansion import walk
from symscreen.expansion.rules import rules_of
from symscreen.grammar import fingerprint as fp

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from symscreen.expansion.candidates import Candidates, Segment
    from symscreen.expansion.meanings import Meaning, PoolUnits
    from symscreen.expansion.nodes import Nodes, Structure
    from symscreen.expansion.rules import Rules
    from symscreen.grammar import Grammar, Operator

    Flags = NDArray[np.bool_]
    Numbers = NDArray[np.int64]
    Residues = NDArray[np.uint64]

__all__ = ["Case", "burden", "cases_of"]

_BLOCK = 1 << 14  # candidates whose keys are composed at a time; they and what leads to them fit the cache
_PAIRS = {"one": walk.ONE, "unordered": walk.UNORDERED, "ordered": walk.ORDERED}
_UNCOMBINED = np.empty((2, 2, 0), dtype=np.uint64)
_NOT_GIVEN = np.empty((0, 2), dtype=np.uint64)


def burden(complexity: NDArray[np.int32], barred: NDArray[np.int32] | None = None) -> NDArray[np.int32]:
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
    return complexity * np.int32(65) + (0 if barred is None else barred)


@dataclass(frozen=True, eq=False)
class Case:
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

    segment: Segment
    operator: Operator
    pool: Nodes
    right_keys: Residues
    source: int
    words: Residues
    costs: NDArray[np.int32]
    cap: int
    flags: NDArray[np.uint8]
    rules: Rules | None
    meaning: Meaning | None = None

    def sift(
        self, first: int, stop: int, fates: NDArray[np.uint8], shift: int, counts: NDArray[np.int32]
    ) -> None:
        """Decide by rule about a range of candidates, and count the keys of the kept by leading bits."""
        if self.meaning is not None:
            ends = first - self._from, stop - self._from
            self.meaning.mark(*ends, _PAIRS[self.segment.pairs], fates[first:stop])
        for start, end, *keys in self._parts(first, stop):
            walk.sift(*keys, self.costs, self.cap, self.flags, fates[start:end], shift, counts)

    def gather(
        self, first: int, stop: int, fates: NDArray[np.uint8], name: int, name_bits: int, shift: int,
        lowest: int, ends: Numbers, entries: Residues,
    ) -> None:  # fmt: skip
        """Sort the kept candidates of a range into buckets; candidate 0 is called `name`."""
        for start, end, *keys in self._parts(first, stop):
            walk.gather(*keys, fates[start:end], name + start, name_bits, shift, lowest, ends, entries)

    def revisit(self, places: Numbers, numbers: Numbers, keys: Residues, burdens: NDArray[np.int32]) -> None:
        """Fill in, in some places, the keys of candidates and what decides between equal ones.

        The burden is the complexity and, where a further layer follows, how many operators rules bar.
        """
        left, right = np.empty((2, len(places)), dtype=np.int64)
        complexity = np.empty(len(places), dtype=np.int32)
        walk.revisit(
            places, numbers, self._from, _PAIRS[self.segment.pairs], self.source, self.words, self.costs,
            keys, complexity, left, right,
        )  # fmt: skip
        if self.source == walk.GIVEN:
            keys[places] = self._keys(left, right)
        barred = None
        if self.rules is not None:
            code, pool = self.segment.code, self.pool
            inside = pool.inside[left] | pool.inside[right] | np.uint64(1 << code)
            allowed = pool.allowed[left] & pool.allowed[right]
            barred = self.rules.count(inside, allowed, np.full(len(left), code))
        burdens[places] = burden(complexity + np.int32(self.operator.cost), barred)

    @property
    def _from(self) -> int:
        """The number from which its pairs are counted."""
        return self.segment.start - self.segment.tried

    def _parts(self, first: int, stop: int) -> Iterator[tuple[Any, ...]]:
        """Cut a range up where its keys have to be given; with each part, say where its keys come from."""
        given, step = _NOT_GIVEN, stop - first
        if self.source == walk.GIVEN:
            step = _BLOCK
        for start in range(first, stop, step):
            end = min(start + step, stop)
            if self.source == walk.GIVEN:
                keys = self._keys(*self.segment.decode(np.arange(start, end)))
                given = np.require(keys, requirements=["C", "W"])
            ends = start - self._from, end - self._from
            yield start, end, *ends, _PAIRS[self.segment.pairs], self.source, self.words, given

    def _keys(self, left: Numbers, right: Numbers) -> Residues:
        if self.operator.arity == 1:
            return self.operator.fingerprint(self.right_keys.take(left, axis=0))
        return self.operator.fingerprint(
            self.pool.keys.take(left, axis=0), self.right_keys.take(right, axis=0)
        )


def cases_of(
    candidates: Candidates,
    structure: Structure,
    pool: Nodes,
    grammar: Grammar,
    *,
    defined: Mapping[str, tuple[Flags, Flags]],
    grows: bool,
    units: PoolUnits | None = None,
) -> list[Case]:
    """Put a layer's operators before the pool; the arguments are those of `judge`."""
    rules = rules_of(grammar, structure)
    most = np.iinfo(np.int32).max if grammar.max_complexity is None else grammar.max_complexity
    by_arity = {
        1: np.stack([pool.complexity, np.zeros_like(pool.complexity)]),
        2: np.stack([pool.complexity, pool.complexity]),
    }
    cases = []
    for segment in candidates.segments:
        operator = structure.operators[segment.code]
        right_keys = pool.keys if operator.prepare_right is None else operator.prepare_right(pool.keys)
        source, words = _combined(operator, pool.keys, right_keys)
        barred = rules.barred(segment.code, pool.inside, pool.allowed, pool.operator)
        flags = np.stack([barred, barred]) * np.uint8(walk.BARRED)
        if operator.name in defined:
            flags |= ~np.stack(defined[operator.name]) * np.uint8(walk.OUTSIDE)
        cases.append(
            Case(
                segment=segment,
                operator=operator,
                pool=pool,
                right_keys=right_keys,
                source=source,
                words=words,
                costs=by_arity[operator.arity],
                cap=most - operator.cost,
                flags=flags,
                rules=rules if grows else None,
                meaning=None if units is None else units.meaning(operator),
            )
        )
    return cases


def _combined(operator: Operator, left: Residues, right: Residues) -> tuple[int, Residues]:
    """Recognise operators whose keys are sums or products of words, and lay the words out by side."""
    if operator.arity == 1 or operator.fingerprint not in {fp.add, fp.subtract, fp.multiply}:
        return walk.GIVEN, _UNCOMBINED
    right = fp.negate(right) if operator.fingerprint is fp.subtract else right
    source = walk.PRODUCT if operator.fingerprint is fp.multiply else walk.SUM
    return source, np.ascontiguousarray(np.stack([left.T, right.T]))

"""What becomes of each candidate before any value is computed: kept, or left out for a reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion.rules import rules_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.expansion.candidates import Candidates, Segment
    from symscreen.expansion.nodes import Nodes, Structure
    from symscreen.expansion.rules import Rules
    from symscreen.grammar import Grammar, Operator

    Flags = NDArray[np.bool_]

__all__ = ["REASONS", "Fate", "Judgement", "burden", "judge", "judging_bytes"]

_BLOCK = 1 << 18  # candidates judged at a time
_PASS = 1 << 22  # keys held at a time while duplicates are found


class Fate(IntEnum):
    """What becomes of a candidate."""

    KEPT = 0
    FORBIDDEN = 1
    COMPLEX = 2
    CONSTANT = 3
    UNDEFINED = 4
    DUPLICATE = 5
    NUMERIC_DUPLICATE = 6
    CUT = 7


REASONS: dict[Fate, str] = {
    Fate.FORBIDDEN: "forbidden by rule",
    Fate.COMPLEX: "over the complexity cap",
    Fate.CONSTANT: "constant",
    Fate.UNDEFINED: "undefined on the data",
    Fate.DUPLICATE: "algebraic duplicate",
    Fate.NUMERIC_DUPLICATE: "numeric duplicate",
    Fate.CUT: "cut between layers",
}


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


def judging_bytes(total: int) -> int:
    """Predict the memory that judging so many candidates takes, in bytes."""
    return total + 100 * min(total, _PASS) + 300 * min(total, _BLOCK)


@dataclass(frozen=True, eq=False)
class _Case:
    """One operator of the layer before the pool, with what is worked out once for all its candidates."""

    segment: Segment
    operator: Operator
    pool: Nodes
    barred: Flags
    right_keys: NDArray[np.uint64]
    cap: int | None
    rules: Rules
    grows: bool
    defined: tuple[Flags, Flags] | None

    def keys(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.uint64]:
        if self.operator.arity == 1:
            return self.operator.fingerprint(self.right_keys[left])
        return self.operator.fingerprint(self.pool.keys[left], self.right_keys[right])

    def complexity(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int32]:
        inner = self.pool.complexity[left]
        if self.operator.arity == 2:
            inner = inner + self.pool.complexity[right]
        return inner + np.int32(self.operator.cost)

    def burden(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return what decides between equal features: complexity, then how many operators rules bar."""
        complexity = self.complexity(left, right)
        if not self.grows:
            return burden(complexity)
        inside = self.pool.inside[left] | self.pool.inside[right] | np.uint64(1 << self.segment.code)
        allowed = self.pool.allowed[left] & self.pool.allowed[right]
        return burden(complexity, self.rules.count(inside, allowed, np.full(len(left), self.segment.code)))

    def by_rule(self, numbers: NDArray[np.int64]) -> NDArray[np.uint8]:
        left, right = self.segment.decode(numbers)
        fates = np.zeros(len(numbers), dtype=np.uint8)
        if self.cap is not None:
            fates[self.complexity(left, right) > self.cap] = Fate.COMPLEX
        fates[self.barred[left] | self.barred[right]] = Fate.FORBIDDEN
        # a constant is called constant wherever it is defined
        open_ = np.flatnonzero(fates == Fate.KEPT)
        keys = self.keys(left[open_], right[open_])
        if self.defined is not None:
            good_left, good_right = self.defined
            fates[open_[~(good_left[left[open_]] & good_right[right[open_]])]] = Fate.UNDEFINED
        fates[open_[keys[:, 0] == keys[:, 1]]] = Fate.CONSTANT
        return fates


@dataclass(frozen=True, eq=False)
class Judgement:
    """What `judge` decides.

    Parameters
    ----------
    fates : uint8 array, shape (candidates.total,)
        A `Fate` for each candidate. Of several with one key the simplest is kept; of equally simple ones the
        one from which rules bar the fewest operators, where another layer follows; then the first.
    replaced_by : int64 array, shape (k,)
        For each known feature the number of the simpler candidate that is equal to it; −1 where it stays.
    winners : int64 array
        The candidates that stand for others, in order. That these be left out for good, the winners must
        prove computable.
    """

    fates: NDArray[np.uint8]
    replaced_by: NDArray[np.int64]
    winners: NDArray[np.int64]


def judge(
    candidates: Candidates,
    structure: Structure,
    pool: Nodes,
    grammar: Grammar,
    *,
    defined: Mapping[str, tuple[Flags, Flags]],
    known: NDArray[np.uint64],
    burdens: NDArray[np.int32],
    grows: bool,
    banned: Mapping[int, Fate],
) -> Judgement:
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

    Returns
    -------
    Judgement
    """
    fates = np.zeros(candidates.total, dtype=np.uint8)
    rules = rules_of(grammar, structure)
    cases = [
        _case(segment, structure, pool, grammar, rules, grows=grows, defined=defined)
        for segment in candidates.segments
    ]
    for case, numbers in _blocks(cases):
        fates[numbers] = case.by_rule(numbers)
    fates[list(banned)] = list(banned.values())
    # equal keys are found in passes, each over one part of the keys, so that memory stays bounded
    passes = max(1, -(-candidates.total // _PASS))
    replaced_by, winners = np.full(len(known), -1), [np.zeros(0, dtype=np.int64)]
    for part in range(passes):
        here = np.flatnonzero(known[:, 0] % np.uint64(passes) == part)
        numbers, keys, own = _with_keys_in(cases, fates, passes, part)
        # known features come first, with negative numbers −1, −2, …
        numbers = np.concatenate((-1 - here, numbers))
        copies, simplest = _copies(np.concatenate((known[here], keys)), np.concatenate((burdens[here], own)))
        copies, simplest = numbers[copies], numbers[simplest]
        fates[copies[copies >= 0]] = Fate.DUPLICATE
        replaced_by[-1 - copies[copies < 0]] = simplest[copies < 0]
        winners.append(np.unique(simplest[simplest >= 0]))
    return Judgement(fates, replaced_by, np.sort(np.concatenate(winners)))


def _case(
    segment: Segment,
    structure: Structure,
    pool: Nodes,
    grammar: Grammar,
    rules: Rules,
    *,
    grows: bool,
    defined: Mapping[str, tuple[Flags, Flags]],
) -> _Case:
    operator = structure.operators[segment.code]
    right_keys = pool.keys if operator.prepare_right is None else operator.prepare_right(pool.keys)
    barred = rules.barred(segment.code, pool.inside, pool.allowed, pool.operator)
    return _Case(
        segment=segment,
        operator=operator,
        pool=pool,
        barred=barred,
        right_keys=right_keys,
        cap=grammar.max_complexity,
        rules=rules,
        grows=grows,
        defined=defined.get(operator.name),
    )


def _blocks(cases: Sequence[_Case]) -> Iterator[tuple[_Case, NDArray[np.int64]]]:
    for case in cases:
        stop = case.segment.start + case.segment.count
        for first in range(case.segment.start, stop, _BLOCK):
            yield case, np.arange(first, min(first + _BLOCK, stop))


def _with_keys_in(
    cases: Sequence[_Case], fates: NDArray[np.uint8], passes: int, part: int
) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.int32]]:
    """Collect the numbers, keys and burdens of the candidates whose keys are in one part."""
    numbers, keys = [np.zeros(0, dtype=np.int64)], [np.zeros((0, 2), dtype=np.uint64)]
    burdens = [np.zeros(0, dtype=np.int32)]
    for case, block in _blocks(cases):
        alive = block[fates[block] == Fate.KEPT]
        left, right = case.segment.decode(alive)
        found = case.keys(left, right)
        chosen = found[:, 0] % np.uint64(passes) == part
        numbers.append(alive[chosen])
        keys.append(found[chosen])
        burdens.append(case.burden(left[chosen], right[chosen]))
    return np.concatenate(numbers), np.concatenate(keys), np.concatenate(burdens)


def _copies(
    keys: NDArray[np.uint64], burdens: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of all but the least burdened, first, of equal keys, and that one's for each."""
    order = np.argsort(keys[:, 0])
    first = keys[order, 0]
    repeated = first[1:] == first[:-1]
    suspect = np.zeros(len(keys), dtype=np.bool_)
    suspect[1:] = repeated
    suspect[:-1] |= repeated
    suspects = order[suspect]
    suspects = suspects[np.lexsort((suspects, burdens[suspects], keys[suspects, 1], keys[suspects, 0]))]
    again = np.zeros(len(suspects), dtype=np.bool_)
    again[1:] = (keys[suspects[1:]] == keys[suspects[:-1]]).all(axis=1)
    simplest = suspects[~again][np.cumsum(~again) - 1]
    return suspects[again], simplest[again]

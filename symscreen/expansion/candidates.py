"""Which operator meets which features of the pool: numbered candidates, no arrays of values.

A layer's candidates are numbered from 0, operator by operator. Pairs are numbered by the later of the two
features, so that what an earlier layer with the same operator has tried already (a prefix of a cumulative
pool) is a prefix of the numbers and is left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from symscreen._numba import compile_kernel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from symscreen._typing import Numbers
    from symscreen.expansion.nodes import SymbolTable
    from symscreen.grammar import Layer, Operator


__all__ = ["Candidates", "OperatorRange", "enumerate_candidates"]

ArgumentPairing = Literal["one", "unordered", "ordered"]


def _count_pairs(pairing: ArgumentPairing, size: int) -> int:
    """Count the pairs among the first features; those whose later one comes next are numbered from there."""
    if pairing == "one":
        return size
    return size * (size + 1) // 2 if pairing == "unordered" else size * size


@dataclass(frozen=True, slots=True)
class OperatorRange:
    """The candidates of one operator.

    Parameters
    ----------
    code : int
        The operator's place in the structure.
    pairs : {"one", "unordered", "ordered"}
        What it is applied to: each feature, each pair with repetition, each ordered pair.
    start : int
        The number of the first candidate.
    count : int
        How many there are.
    tried : int
        How many an earlier layer has tried; they are left out.
    """

    code: int
    pairing: ArgumentPairing
    start: int
    count: int
    n_applied: int

    def decode(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Turn candidates' numbers into the places of their arguments in the pool."""
        t = numbers - self.start + self.n_applied
        if self.pairing == "one":
            return t, t
        left, right = np.empty_like(t), np.empty_like(t)
        _decode_pairs(t, self.pairing == "unordered", left, right)
        return left, right


@compile_kernel
def _decode_pairs(pair_numbers: Numbers, unordered: bool, left: Numbers, right: Numbers) -> None:
    for place in range(pair_numbers.size):
        number = pair_numbers[place]
        later = np.int64(math.sqrt(float(2 * number if unordered else number)))
        # the root is at most one too large, and never too small
        if (later * (later + 1) // 2 if unordered else later * later) > number:
            later -= 1
        rest = number - (later * (later + 1) // 2 if unordered else later * later)
        if unordered or rest <= later:
            left[place], right[place] = rest, later
        else:
            left[place], right[place] = later, rest - later - 1


@dataclass(frozen=True, slots=True)
class Candidates:
    """All candidates of a layer.

    Parameters
    ----------
    segments : tuple of Segment
        One for each operator, in the order of the layer.
    total : int
        How many candidates there are.
    """

    operator_ranges: tuple[OperatorRange, ...]
    total: int

    def split_range(self, start: int, stop: int) -> list[tuple[OperatorRange, int, int]]:
        """Split a range of numbers by operator."""
        found = []
        for segment in self.operator_ranges:
            first, last = max(start, segment.start), min(stop, segment.start + segment.count)
            if first < last:
                found.append((segment, first, last))
        return found

    def rebase(self, first: int) -> Candidates:
        """Return the candidates with their numbers counted from one of them, so that it is number 0."""
        moved = (replace(segment, start=segment.start - first) for segment in self.operator_ranges)
        return Candidates(tuple(moved), self.total - first)

    def locate(
        self, numbers: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return candidates' operator codes and the places of their arguments in the pool."""
        codes, left, right = (np.empty(len(numbers), dtype=np.int64) for _ in range(3))
        for segment in self.operator_ranges:
            mine = (numbers >= segment.start) & (numbers < segment.start + segment.count)
            codes[mine] = segment.code
            left[mine], right[mine] = segment.decode(numbers[mine])
        return codes, left, right


def enumerate_candidates(
    layer: Layer, symbols: SymbolTable, n_members: int, applied_counts: Mapping[Operator, int]
) -> Candidates:
    """Give a layer's candidates their numbers.

    Parameters
    ----------
    layer : Layer
        The operators.
    structure : Structure
        Where their codes come from.
    size : int
        Features (and constants) in the pool.
    tried : mapping of Operator to int
        For operators used before, the size of the pool that they were applied to, a prefix of this one.

    Returns
    -------
    Candidates
    """
    segments = []
    start = 0
    for operator in layer.operators:
        pairs: ArgumentPairing = (
            "one" if operator.arity == 1 else "unordered" if operator.commutative else "ordered"
        )
        before = _count_pairs(pairs, applied_counts.get(operator, 0))
        count = _count_pairs(pairs, n_members) - before
        segments.append(OperatorRange(symbols.get_code(operator), pairs, start, count, before))
        start += count
    return Candidates(tuple(segments), start)

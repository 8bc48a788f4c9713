"""Enumerate the candidates of a layer: which operator is applied to which features of the pool.

The candidates of a layer are numbered from 0, operator by operator, without storing any arrays. Pairs are
numbered by the later of the two features. In a cumulative pool, the pairs that an earlier layer with the
same operator has tried therefore have the lowest numbers, and are skipped by an offset.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from symscreen.expansion._kernels import ONE, ORDERED, UNORDERED, decode_pairs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from symscreen.expansion.nodes import SymbolTable
    from symscreen.grammar import Layer, Operator


ArgumentPairing = Literal["one", "unordered", "ordered"]
_PAIRING_CODES = {"one": ONE, "unordered": UNORDERED, "ordered": ORDERED}


def _count_pairs(pairing: ArgumentPairing, size: int) -> int:
    """Count the pairs among the first `size` features; pairs with a later feature have higher numbers."""
    if pairing == "one":
        return size
    return size * (size + 1) // 2 if pairing == "unordered" else size * size


@dataclass(frozen=True, slots=True)
class OperatorRange:
    """The candidates of one operator.

    Parameters
    ----------
    code : int
        Index of the operator in the symbol table.
    pairing : {"one", "unordered", "ordered"}
        What the operator is applied to: each feature, each pair with repetition, or each ordered pair.
    start : int
        Number of the first candidate.
    count : int
        Number of candidates.
    n_applied : int
        Number of pairs that an earlier layer has tried. They are skipped.
    """

    code: int
    pairing: ArgumentPairing
    start: int
    count: int
    n_applied: int

    @property
    def stop(self) -> int:
        """Number of the last candidate plus 1."""
        return self.start + self.count

    @property
    def first_pair_number(self) -> int:
        """Candidate number at which the pair numbers of the operator are 0."""
        return self.start - self.n_applied

    @property
    def pairing_code(self) -> int:
        """The pairing as a number for kernels."""
        return _PAIRING_CODES[self.pairing]

    def decode(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the left and right argument indices in the pool, shape (m,), of candidate numbers."""
        pair_numbers = numbers - self.first_pair_number
        if self.pairing == "one":
            return pair_numbers, pair_numbers
        left, right = np.empty_like(pair_numbers), np.empty_like(pair_numbers)
        decode_pairs(pair_numbers, self.pairing_code, left, right)
        return left, right


@dataclass(frozen=True, slots=True)
class Candidates:
    """All candidates of a layer.

    Parameters
    ----------
    operator_ranges : tuple of OperatorRange
        One range per operator, in the order of the layer.
    total : int
        Number of candidates.
    """

    operator_ranges: tuple[OperatorRange, ...]
    total: int

    def split_range(self, start: int, stop: int) -> list[tuple[OperatorRange, int, int]]:
        """Split a range of candidate numbers by operator."""
        parts = []
        for operator_range in self.operator_ranges:
            first, last = max(start, operator_range.start), min(stop, operator_range.stop)
            if first < last:
                parts.append((operator_range, first, last))
        return parts

    def locate(
        self, numbers: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the operator codes and the left and right argument indices of candidates."""
        if len(numbers) == 1:  # such as for the formula of one feature
            return self._locate_one(int(numbers[0]))
        codes, left, right = (np.empty(len(numbers), dtype=np.int64) for _ in range(3))
        for operator_range in self.operator_ranges:
            in_range = (numbers >= operator_range.start) & (numbers < operator_range.stop)
            if not in_range.any():
                continue
            codes[in_range] = operator_range.code
            left[in_range], right[in_range] = operator_range.decode(numbers[in_range])
        return codes, left, right

    def _locate_one(self, number: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Do what `locate` does for one candidate, shape (1,)."""
        operator_range = next(one for one in self.operator_ranges if one.start <= number < one.stop)
        return np.array([operator_range.code]), *operator_range.decode(np.array([number]))


def enumerate_candidates(
    layer: Layer, symbols: SymbolTable, n_members: int, applied_counts: Mapping[Operator, int]
) -> Candidates:
    """Assign numbers to the candidates of a layer.

    Parameters
    ----------
    layer : Layer
        The operators to apply.
    symbols : SymbolTable
        Provides the operator codes.
    n_members : int
        Number of members of the pool: features and constants.
    applied_counts : mapping of Operator to int
        For operators that were applied before, the size of the prefix of the pool they were applied to.

    Returns
    -------
    Candidates
    """
    ranges = []
    start = 0
    for operator in layer.operators:
        pairing: ArgumentPairing = (
            "one" if operator.arity == 1 else "unordered" if operator.commutative else "ordered"
        )
        n_applied = _count_pairs(pairing, applied_counts.get(operator, 0))
        count = _count_pairs(pairing, n_members) - n_applied
        ranges.append(OperatorRange(symbols.get_code(operator), pairing, start, count, n_applied))
        start += count
    return Candidates(tuple(ranges), start)

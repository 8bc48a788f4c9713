"""The grammar's rules on nestings and columns as bit sets, for whole arrays of features at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion.nodes import bits_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.expansion.nodes import Structure
    from symscreen.grammar import Grammar

    Bits = NDArray[np.uint64]

__all__ = ["Rules", "rules_of"]


@dataclass(frozen=True, slots=True)
class Rules:
    """What may not stand inside each operator.

    Parameters
    ----------
    within : tuple of int
        For each operator of the structure, the bit set of those that may stand nowhere inside it.
    direct : tuple of int
        The same for those that may not stand directly inside it.
    """

    within: tuple[int, ...]
    direct: tuple[int, ...]

    def barred(
        self, code: int, inside: Bits, allowed: Bits, outermost: NDArray[np.integer]
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
        leaf = outermost < 0
        place = np.where(leaf, 0, outermost).astype(np.uint64)
        directly = ~leaf & ((np.uint64(self.direct[code]) >> place) & np.uint64(1)).astype(np.bool_)
        out_of_reach = (allowed & np.uint64(1 << code)) == 0
        return np.asarray(out_of_reach | ((inside & np.uint64(self.within[code])) != 0) | directly)

    def count(self, inside: Bits, allowed: Bits, outermost: NDArray[np.integer]) -> NDArray[np.int32]:
        """Count, for each feature, the operators that rules keep from it."""
        total = np.zeros(len(inside), dtype=np.int32)
        for code in range(len(self.within)):
            total += self.barred(code, inside, allowed, outermost)
        return total


def rules_of(grammar: Grammar, structure: Structure) -> Rules:
    """Collect a grammar's rules for the operators of a structure."""

    def bits(rules: dict[str, frozenset[str]]) -> tuple[int, ...]:
        none: frozenset[str] = frozenset()
        return tuple(int(bits_of(rules.get(one.name, none), structure)) for one in structure.operators)

    return Rules(bits(dict(grammar.forbid_within)), bits(dict(grammar.forbid)))

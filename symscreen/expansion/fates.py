"""What becomes of each candidate before any value is computed: kept, or left out for a reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion.cases import cases_of
from symscreen.expansion.duplicates import Search, searching_bytes
from symscreen.expansion.in_time import untimed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from symscreen.expansion.candidates import Candidates
    from symscreen.expansion.duplicates import Spread
    from symscreen.expansion.in_time import Check
    from symscreen.expansion.meanings import PoolUnits
    from symscreen.expansion.nodes import Nodes, Structure
    from symscreen.grammar import Grammar

    Flags = NDArray[np.bool_]

__all__ = ["REASONS", "Fate", "Judgement", "judge", "judging_bytes"]


_STANDS = 255  # what is kept and stands for others, while duplicates are looked for
_SCANNED = 1 << 20  # fates looked at together; a multiple of 8


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
    NO_UNIT = 8
    OTHER_UNITS = 9


REASONS: dict[Fate, str] = {
    Fate.NO_UNIT: "no unit",
    Fate.OTHER_UNITS: "other units than the target's",
    Fate.FORBIDDEN: "forbidden by rule",
    Fate.COMPLEX: "over the complexity cap",
    Fate.CONSTANT: "constant",
    Fate.UNDEFINED: "undefined on the data",
    Fate.DUPLICATE: "algebraic duplicate",
    Fate.NUMERIC_DUPLICATE: "numeric duplicate",
    Fate.CUT: "cut between layers",
}


def judging_bytes(total: int) -> int:
    """Predict the memory that judging so many candidates takes, in bytes."""
    return total + searching_bytes(total)


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
    winners : uint8 array, shape (ceil(candidates.total / 8),)
        The candidates that stand for others, packed as bits by `numpy.packbits`. That these be left out for
        good, the winners must prove computable.
    """

    fates: NDArray[np.uint8]
    replaced_by: NDArray[np.int64]
    winners: NDArray[np.uint8]


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
    units: PoolUnits | None = None,
    spread: Spread = map,
    check: Check = untimed,
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
    fates[list(banned)] = list(banned.values())
    cases = cases_of(candidates, structure, pool, grammar, defined=defined, grows=grows, units=units)
    search = Search(cases, fates, known, burdens, spread, check)
    replaced_by = np.full(len(known), -1)
    for copies, simplest in search.copies(search.sift()):
        fates[copies[copies >= 0]] = Fate.DUPLICATE
        fates[simplest[simplest >= 0]] = _STANDS
        replaced_by[-1 - copies[copies < 0]] = simplest[copies < 0]
    winners = np.empty(-(-candidates.total // 8), dtype=np.uint8)
    for first in range(0, candidates.total, _SCANNED):
        part = fates[first : first + _SCANNED]
        stands = part == _STANDS
        winners[first // 8 : (first + _SCANNED) // 8] = np.packbits(stands)
        part[stands] = Fate.KEPT
    return Judgement(fates, replaced_by, winners)

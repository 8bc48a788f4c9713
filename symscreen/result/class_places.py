"""How many classes of a space stand before a feature: counted exactly while they are few, else estimated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.result.classes import signatures_of
from symscreen.result.kept import rounded
from symscreen.statistics.order import order_features

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.any_response import AnyResponse
    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.screeners import Screener, Sign

    Keys = NDArray[np.uint64]

__all__ = ["class_place"]

_COUNTED = 1 << 14  # classes counted exactly; beyond, the relative error is about 1/√_COUNTED
_TIE = 1e-9  # copies of one feature share their loss up to rounding


@dataclass(frozen=True, eq=False)
class _Better:
    """Finds the classes of a range that stand before a loss."""

    space: Space
    response: AnyResponse
    screener: Screener
    sign: Sign
    loss: float
    own: np.uint64
    most: int

    def __call__(self, chunk: tuple[int, int]) -> tuple[Keys, bool]:
        """Return the least hashes of their signatures, ascending, and whether the class itself is here."""
        hashes, here = [np.zeros(0, dtype=np.uint64)], False
        for block in self.space.blocks(*chunk):
            if not len(block.numbers):
                continue
            ordered = order_features(block.values)
            statistics = self.screener.statistic(ordered, self.response)
            loss = rounded(self.screener.loss(statistics, self.response, self.sign))
            near = np.flatnonzero(loss <= self.loss + _TIE)
            if not len(near):
                continue
            mirrored = self.sign == "free"
            signatures = signatures_of(ordered.take(near), self.screener.blind_to, mirrored=mirrored)
            here = here or bool((signatures == self.own).any())
            before = (loss[near] < self.loss) & (signatures != self.own)
            hashes = [np.unique(np.concatenate((hashes[0], _hashed(signatures[before]))))[: self.most]]
        return hashes[0], here


def _hashed(signatures: Keys) -> Keys:
    """Spread signatures evenly over 64 bits: the finaliser of splitmix64, one to one."""
    state = (signatures ^ (signatures >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def class_place(
    space: Space,
    response: AnyResponse,
    screener: Screener,
    sign: Sign,
    values: NDArray[np.float64],
    *,
    backend: Backend,
    chunk_size: int,
    counted: int = _COUNTED,
) -> float:
    """Find the place of a feature's class among the classes of a space.

    Parameters
    ----------
    space : Space
        The features.
    response : Response or RankingResponse
        What they are scored against.
    screener : Screener
        Who scores them.
    sign : {"free", "positive"}
        As in a screen.
    values : float64 array, shape (n,)
        The feature.
    backend : Backend
        Where chunks are scored.
    chunk_size : int
        Candidates a task.
    counted : int
        How many classes are counted exactly.

    Returns
    -------
    float
        One plus the number of other classes whose loss is less; those that tie share the best place. A whole
        number up to `counted`; beyond, (k − 1)/u with u the k-th least of evenly spread hashes in (0, 1]
        (k = `counted`; Bar-Yossef et al. 2002), which is off by about 1/√k of itself. Infinite where the
        space has no member of the class.
    """
    ordered = order_features(np.ascontiguousarray(values[None]))
    loss = rounded(screener.loss(screener.statistic(ordered, response), response, sign))
    own = signatures_of(ordered, screener.blind_to, mirrored=sign == "free")[0]
    better = _Better(space, response, screener, sign, float(loss[0]), own, counted)
    hashes, here = np.zeros(0, dtype=np.uint64), False
    for some, found in backend.map(better, space.chunks(chunk_size)):
        hashes, here = np.unique(np.concatenate((hashes, some)))[:counted], here or found
    if not here:
        return float("inf")
    if len(hashes) < counted:
        return 1.0 + len(hashes)
    return 1.0 + round((counted - 1) / ((float(hashes[-1]) + 1.0) / 2.0**64))

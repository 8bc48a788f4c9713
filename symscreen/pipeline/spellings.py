"""Other ways in which a space writes a feature: candidates that were left out as equal to it by algebra."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion import Fate
from symscreen.expression import to_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Space

    Found = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]

__all__ = ["spellings_of"]

_AT_A_TIME = 1 << 16


@dataclass(frozen=True, eq=False)
class _Speller:
    """Finds the duplicates of some features in a range of candidates."""

    space: Space
    keys: NDArray[np.uint64]  # ascending by their first word

    def __call__(self, span: tuple[int, int]) -> Found:
        """Return places among the keys, numbers and complexities."""
        start, stop = span
        numbers = self.space.at_hand + start + np.flatnonzero(self.space.fates[start:stop] == Fate.DUPLICATE)
        if not len(numbers):
            return np.zeros(0, dtype=np.int64), numbers, np.zeros(0, dtype=np.int32)
        features = self.space.features(numbers)
        places = np.full(len(numbers), -1)
        at = np.searchsorted(self.keys[:, 0], features.keys[:, 0], side="left")
        while (inside := at < len(self.keys)).any():
            same = inside.copy()
            same[inside] = self.keys[at[inside], 0] == features.keys[inside, 0]
            if not same.any():
                break
            equal = same.copy()
            equal[same] = self.keys[at[same], 1] == features.keys[same, 1]
            places[equal] = at[equal]
            at = np.where(same, at + 1, len(self.keys))
        good = places >= 0
        return places[good], numbers[good], features.complexity[good]


def spellings_of(space: Space, numbers: NDArray[np.int64], limit: int, backend: Backend) -> list[list[str]]:
    """List other ways in which the last layer writes some features.

    Parameters
    ----------
    space : Space
        The features.
    numbers : int64 array, shape (m,)
        Those asked about.
    limit : int
        How many ways to list for each at most: the simplest, then by their place in the layer.
    backend : Backend
        Where candidates are looked at.

    Returns
    -------
    list of list of str, length m
        Formulas equal by algebra, which the space has left out as duplicates. Those of earlier layers are not
        kept, and not listed.
    """
    keys = space.features(numbers).keys
    order = np.argsort(keys[:, 0], kind="stable")
    total = space.candidates.total
    spans = [(start, min(start + _AT_A_TIME, total)) for start in range(0, total, _AT_A_TIME)]
    speller = _Speller(space, keys[order])
    found: list[list[tuple[int, int]]] = [[] for _ in order]
    for places, others, complexity in backend.map(speller, spans):
        for place, number, cost in zip(places.tolist(), others.tolist(), complexity.tolist(), strict=True):
            own = found[order[place]]
            own.append((cost, number))
            if len(own) > 2 * limit:
                own[:] = sorted(own)[:limit]
    pairs = zip(found, numbers.tolist(), strict=True)
    return [list(_texts(space, sorted(own), number, limit)) for own, number in pairs]


def _texts(space: Space, found: list[tuple[int, int]], feature: int, limit: int) -> Iterator[str]:
    """Write them, leaving out what is written as the feature is, or as another one."""
    seen = {to_text(space.expression(feature))}
    for _, number in found[:limit]:
        text = to_text(space.expression(number))
        if text not in seen:
            seen.add(text)
            yield text

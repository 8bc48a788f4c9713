"""How many features of a space stand before given ones: their place, without a ranking that holds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.result.kept import rounded
from symscreen.statistics.order import order_features

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.response.kinds import AnyResponse
    from symscreen.screeners import Screener, Sign

__all__ = ["places_in"]


@dataclass(frozen=True, eq=False)
class _Counter:
    """Counts the features of a range that stand before each of some losses."""

    space: Space
    response: AnyResponse
    screener: Screener
    sign: Sign
    losses: NDArray[np.float64]

    def __call__(self, chunk: tuple[int, int]) -> NDArray[np.int64]:
        """Count in a range of numbers; shape (k,)."""
        before = np.zeros(len(self.losses), dtype=np.int64)
        for block in self.space.blocks(*chunk):
            if len(block.numbers):
                statistics = self.screener.statistic(order_features(block.values), self.response)
                found = np.sort(rounded(self.screener.loss(statistics, self.response, self.sign)))
                before += np.searchsorted(found, self.losses, side="left")
        return before


def places_in(
    space: Space,
    response: AnyResponse,
    screener: Screener,
    sign: Sign,
    values: NDArray[np.float64],
    *,
    backend: Backend,
    chunk_size: int,
) -> NDArray[np.int64]:
    """Find the places of features among all of a space.

    Parameters
    ----------
    space : Space
        All features.
    response : Response, RankingResponse or StagesResponse
        What they are scored against.
    screener : Screener
        Who scores them.
    sign : {"free", "positive"}
        As in a screen.
    values : float64 array, shape (k, n)
        The features whose places are wanted.
    backend : Backend
        Where chunks are scored.
    chunk_size : int
        Candidates a task.

    Returns
    -------
    int64 array, shape (k,)
        One plus the number of features that stand before each; features that tie share the best place.
    """
    if not len(values):
        return np.zeros(0, dtype=np.int64)
    statistics = screener.statistic(order_features(values), response)
    losses = rounded(screener.loss(statistics, response, sign))
    counter = _Counter(space, response, screener, sign, losses)
    before = np.zeros(len(losses), dtype=np.int64)
    for found in backend.map(counter, space.chunks(chunk_size)):
        before += found
    return before + 1

"""The best, or the simplest, features of a space, affine copies merged: what models are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.response.several import SeveralResponse
from symscreen.result.kept import united
from symscreen.result.scoring import Keep, Scorer
from symscreen.result.stream import chunk_size_for, final_classes, streamed, with_margin
from symscreen.screeners import PEARSON, T0, XI, Screener, across_targets
from symscreen.statistics.signature import affine_signatures

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.response.kinds import NumericResponse

__all__ = ["best_of", "simplest_of"]

_AT_A_TIME = 1 << 17
_VALUED_AT_A_TIME = 256
_COPIES = 4  # formulas looked at for each feature wanted: with numbers in the pool half of them are copies


def best_of(space: Space, response: NumericResponse, limit: int, backend: Backend) -> NDArray[np.int64]:
    """Find the best features of a space by Pearson's correlation, T0 and ξ, united.

    Parameters
    ----------
    space : Space
        With values.
    response : Response or SeveralResponse
        The response; of several the mean of the losses counts.
    limit : int
        How many at most.
    backend : Backend
        Where chunks are scored.

    Returns
    -------
    int64 array, shape (k,)
        Their numbers, best first; of affine copies the simplest.
    """
    screeners: tuple[Screener, ...] = (PEARSON, T0, XI)
    if isinstance(response, SeveralResponse):
        screeners = tuple(across_targets(one, "mean") for one in screeners)
    keeps = tuple(Keep(by, "affine", mirrored=True, limit=with_margin(limit)) for by in range(len(screeners)))
    scorer = Scorer(space, response, screeners, "free", keeps)
    found = streamed(scorer, backend, chunk_size_for(space.rows))
    return united([final_classes(kept, space, limit) for kept in found.kept], limit).number


def simplest_of(space: Space, limit: int) -> NDArray[np.int64]:
    """Find the simplest features of a space.

    Parameters
    ----------
    space : Space
        With values.
    limit : int
        How many at most.

    Returns
    -------
    int64 array, shape (k,)
        Their numbers, by complexity and then by canonical key, of affine copies the first; looked for
        among the 4·limit simplest formulas.
    """
    chosen = np.zeros(0, dtype=np.int64)
    usable = space.numbers
    for start in range(0, len(usable), _AT_A_TIME):
        several = np.concatenate((chosen, usable[start : start + _AT_A_TIME]))
        features = space.features(several)
        order = np.lexsort((features.keys[:, 1], features.keys[:, 0], features.complexity))
        chosen = several[order[: _COPIES * limit]]
    return _distinct(space, chosen, limit)


def _distinct(space: Space, numbers: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """Return the first features that are defined and no affine copies of earlier ones."""
    good: list[int] = []
    seen: set[int] = set()
    for start in range(0, len(numbers), _VALUED_AT_A_TIME):
        # what is undefined or constant shows only in its values
        several = [
            next(space.blocks(number, number + 1))
            for number in numbers[start : start + _VALUED_AT_A_TIME].tolist()
        ]
        values = np.concatenate([block.values for block in several])
        found = np.concatenate([block.numbers for block in several]).tolist()
        for number, kind in zip(found, affine_signatures(values, mirrored=True).tolist(), strict=True):
            if kind not in seen:
                seen.add(kind)
                good.append(number)
        if len(good) >= limit:
            break
    return np.array(good[:limit], dtype=np.int64)

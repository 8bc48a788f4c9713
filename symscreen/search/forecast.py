"""How long a search would look, and how many features it would leave to be scored over all rows."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion import Fate
from symscreen.search.glance import glance_at
from symscreen.search.modes import fewest_left
from symscreen.search.sieve import first_look

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.response import Response
    from symscreen.search.sieve import Wanted

__all__ = ["seconds_of_looks"]

_SPENT = 0.2  # seconds on the calibration
_LOOKS = 2.5  # the time of all looks in that of the first: each later one sees an eighth, four times as long
_LEFT = 2  # a last round may leave up to twice what is enough


def seconds_of_looks(
    space: Space, response: Response, wanted: Sequence[Wanted], features: int, backend: Backend
) -> tuple[float, int]:
    """Forecast a sieve of a space from a small one of the same table.

    Parameters
    ----------
    space : Space
        The small one, with values.
    response : Response
        The response.
    wanted : sequence of Wanted
        What would be wanted.
    features : int
        How many features the large space has.
    backend : Backend
        Where features would be computed.

    Returns
    -------
    seconds : float
        Of all looks together.
    survivors : int
        How many features would be scored over all rows.
    """
    rng = np.random.default_rng(0)
    numbers = np.flatnonzero(space.fates == Fate.KEPT)
    seconds, survivors = 0.0, 0
    for one in wanted:
        survivors += _LEFT * fewest_left(one)
        look = first_look(space, response, one, rng)
        if look is None or not len(numbers):
            continue
        numbers = np.resize(numbers, max(len(numbers), 1 << 15))
        numbers.sort()
        glance_at(space, numbers[:1], look, backend)  # compiles, or loads what was compiled before
        done, start = 0, perf_counter()
        while (spent := perf_counter() - start) < _SPENT:
            glance_at(space, numbers, look, backend)
            done += len(numbers)
        seconds += _LOOKS * spent / max(done, 1) * features
    return seconds, survivors

"""What every generator is told: how many rows, and what draws them."""

from __future__ import annotations

from typing import Any

import numpy as np

from symscreen.errors import OptionError
from symscreen.ranking.growing import is_whole

__all__ = ["check_drawing"]


def check_drawing(rng: Any, n: Any = 0) -> None:
    """Refuse what draws nothing, and numbers of rows that are none.

    Parameters
    ----------
    rng : numpy.random.Generator
        Anything else is refused: a seed would give the same draws at every call.
    n : int
        Rows wanted, ≥ 0.

    Raises
    ------
    OptionError
        If one of them is something else.

    Examples
    --------
    >>> check_drawing(np.random.default_rng(0), 3)
    >>> check_drawing(0)
    Traceback (most recent call last):
    ...
    symscreen.errors.OptionError: rng is 0: give a numpy generator, numpy.random.default_rng(0)
    """
    if not is_whole(n) or n < 0:
        raise OptionError(f"n is {n!r}: give a whole number of rows of at least 0")
    if not isinstance(rng, np.random.Generator):
        seed = rng if is_whole(rng) else 0
        raise OptionError(f"rng is {rng!r}: give a numpy generator, numpy.random.default_rng({seed})")

"""The null distribution of T0: one table for all features of a response."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.statistics.linear_rank import draw, enumerate_all, linear_rank, walker
from symscreen.statistics.null_table import RESOLUTION, table_of_sample
from symscreen.statistics.umbrella import joined, tilted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.response import Response
    from symscreen.screeners.base import Sign
    from symscreen.statistics.null_table import NullTable
    from symscreen.statistics.order import Ordered

__all__ = ["T0Null", "t0_null", "table_of_scores"]

_EXACT = 9  # rows up to which all permutations are enumerated
_DIRECT = 64  # rows up to which whole permutations are drawn
_WHOLE = 300  # rows up to which whole permutations are walked
_PERMUTATIONS = 1_000_000
_MOVES, _FIRST_TILT = 400_000, 0.8
_PLAIN, _TILTED = 1, 2  # streams of random numbers


@dataclass(frozen=True, eq=False)
class T0Null:
    """P-values of Δ − T0 for one response: `symscreen.statistics.nulls.Null`.

    Parameters
    ----------
    table : NullTable
        Of the standardised statistic of untied features.
    scale : float
        The standard deviation of Δ − T0 of an untied feature over all permutations, in the response's unit.
    """

    table: NullTable
    scale: float

    def __call__(self, ordered: Ordered, statistics: NDArray[np.float64], sign: Sign) -> NDArray[np.float64]:
        """Compute the p-values of a block; of features with ties, upper bounds of them."""
        return self.table.p_values(statistics / self.scale, ordered.tied, sign)


def t0_null(response: Response, seed: int) -> T0Null:
    """Prepare the null distribution of T0 for one response.

    Parameters
    ----------
    response : Response
        n rows.
    seed : int
        Not negative.

    Returns
    -------
    T0Null
    """
    centred, exponent = response.centred
    n = response.n
    squares = float((response.group_sizes * centred * centred).sum())
    deviation = math.sqrt(squares * n * (n + 1.0) / 12.0)  # of Σ y_i R_i, exactly, with ties in y
    scale = math.ldexp(4.0 / (n * (n - 1.0)) * deviation, exponent)
    return T0Null(table_of_scores(centred[response.group], seed), scale)


def table_of_scores(scores: NDArray[np.float64], seed: int) -> NullTable:
    """Tabulate |Σ a_i π_i|, standardised.

    Parameters
    ----------
    scores : float64 array, shape (n,)
        a, not constant.
    seed : int
        Not negative; it plays no part at n ≤ 9.

    Returns
    -------
    NullTable
    """
    n = len(scores)
    least = math.exp(max(math.log(2.0) - math.lgamma(n + 1.0), -690.0))
    whole = linear_rank(scores, light=0.0, most=n)
    if n <= _EXACT:
        z = enumerate_all(whole)
        return table_of_sample(z, np.ones(len(z)), least=least)
    law = whole if n <= _DIRECT else linear_rank(scores, light=0.02, most=32)
    plain = draw(law, _PERMUTATIONS, (seed, _PLAIN))
    law = whole if n <= _WHOLE else linear_rank(scores, light=0.005, most=256)
    walk, worth = walker(law, _MOVES, (seed, _TILTED))
    walks = tilted(walk, first=_FIRST_TILT)
    z, mass = joined(plain, walks, worth, folded=True)
    return table_of_sample(z, mass, slope=walks[-1].tilt, least=least, resolution=RESOLUTION)

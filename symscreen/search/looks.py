"""Looks: some rows at which features are computed, and what their values there tell of a loss.

A look at pairs of rows tells of T0 what a coin's throws tell of its chance (`symscreen.search.pairs`); of any
other statistic, its value on a sample of rows, stratified over the response, is the estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.response import Response
from symscreen.search.arithmetic import discordance_of_arithmetic, is_arithmetic
from symscreen.search.pairs import UNDEFINED, doubled_discordance, draw_pairs
from symscreen.statistics.order import order_features

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from symscreen.grammar import Operator
    from symscreen.screeners import Screener, Sign

    Places = NDArray[np.int64]
    Values = NDArray[np.float64]

__all__ = ["Look", "look_at_pairs", "look_at_rows"]


_BLOCK_BYTES = 1 << 18
_FEWEST_OTHER = 32  # rows of a sample whose response is not the commonest


@dataclass(frozen=True, eq=False)
class Look:
    """Rows to look at, and how to read what is seen.

    Parameters
    ----------
    rows : tuple of int64 arrays, shape (m,)
        Batches of rows, each computed at once.
    size : int
        How many pairs, or rows, there are in all.
    tell : callable
        (operator, members of a pool at a batch's rows, shape (q, m), places of its left arguments, of its
        right ones, shape (k,)) to what adds up over batches, shape (k,); NaN where a value is not finite.
    settle : callable
        The sums to estimates of the loss.
    """

    rows: tuple[NDArray[np.int64], ...]
    size: int
    tell: Callable[[Operator, Values, Places, Places], Values]
    settle: Callable[[Values], Values]


def look_at_pairs(
    response: Response, count: int, rng: np.random.Generator, *, mirrored: bool, most: int, before: int = 0
) -> Look:
    """Look at pairs of rows, for T0.

    Parameters
    ----------
    response : Response
        The response.
    count : int
        How many pairs to draw.
    rng : numpy.random.Generator
        What draws.
    mirrored : bool
        Whether falling with the response is as good as rising.
    most : int
        The most pairs in a batch.
    before : int
        How many pairs there were in earlier looks, whose sums are added to this one's.

    Returns
    -------
    Look
        What it tells is twice the number of discordant pairs; the estimate is that of T0/Δ, or of
        min(T0/Δ, 2 − T0/Δ).
    """
    pairs = draw_pairs(response, count, rng)
    total = before + count

    def settle(doubled: Values) -> Values:
        return (np.minimum(doubled, 2.0 * total - doubled) if mirrored else doubled) / total

    batches = tuple(pairs.between(start, start + most).rows for start in range(0, count, most))
    return Look(batches, total, _discordance, settle)


def _blocks(operator: Operator, pool: Values, left: Places, right: Places) -> Iterator[tuple[slice, Values]]:
    """Compute an operator's values, so many features at a time as fit the cache."""
    step = max(16, _BLOCK_BYTES // (8 * pool.shape[1]))
    for start in range(0, len(left), step):
        part = slice(start, start + step)
        with np.errstate(all="ignore"):
            if operator.arity == 1:
                yield part, operator.numeric(pool[left[part]])
            else:
                yield part, operator.numeric(pool[left[part]], pool[right[part]])


def _discordance(operator: Operator, pool: Values, left: Places, right: Places) -> Values:
    if is_arithmetic(operator.numeric):
        doubled = discordance_of_arithmetic(operator.numeric, pool, left, right)
    else:
        doubled = np.empty(len(left), dtype=np.int64)
        for part, values in _blocks(operator, pool, left, right):
            doubled[part] = doubled_discordance(values)
    return np.where(doubled == UNDEFINED, np.nan, doubled.astype(np.float64))


def look_at_rows(
    response: Response, count: int, rng: np.random.Generator, screener: Screener, sign: Sign
) -> Look | None:
    """Look at a sample of rows, one from each of equal parts of the response's order.

    Parameters
    ----------
    response : Response
        The response, n rows.
    count : int
        How many rows, below n.
    rng : numpy.random.Generator
        What draws.
    screener : Screener
        Whose loss is estimated.
    sign : {"free", "positive"}
        As in a screen.

    Returns
    -------
    Look or None
        None where the response hardly varies on the sample, as that of a rare class: it would tell nothing.
    """
    edges = np.arange(count + 1) * response.n // count
    rows = edges[:-1] + (rng.random(count) * np.diff(edges)).astype(np.int64)
    _, counts = np.unique(response.values[rows], return_counts=True)
    if count - counts.max() < _FEWEST_OTHER:
        return None
    sample = Response(response.values[rows], response.name)

    def tell(operator: Operator, pool: Values, left: Places, right: Places) -> Values:
        told = np.full(len(left), np.nan)
        for part, values in _blocks(operator, pool, left, right):
            defined = np.flatnonzero(np.isfinite(values).all(axis=1))
            if len(defined):
                with np.errstate(all="ignore"):
                    statistics = screener.statistic(order_features(values[defined]), sample)
                    losses = screener.loss(statistics, sample, sign)
                # a feature that is constant on the sample may be the best of all
                still = values[defined].min(axis=1) == values[defined].max(axis=1)
                told[part][defined] = np.where(still | np.isnan(losses), -np.inf, losses)
        return told

    return Look((rows,), count, tell, lambda told: told)

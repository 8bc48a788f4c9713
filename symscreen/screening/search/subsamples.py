"""Pairs of rows drawn so that T0 is a share: how often a feature orders them against the response.

T0 is a mean over pairs of rows of |y_i − y_j|·(1 − s), with s = sign(θ_i − θ_j)·sign(y_i − y_j) (Luo and Li
2024, eq. 18). Draw a pair with a probability in proportion to |y_i − y_j|, and the weight is gone::

    T0(θ) = Δ · E[1 − s] = 2Δ · p,    p = P(θ orders the pair against y) + P(θ ties the pair)/2

So N pairs tell of T0 what N throws tell of a coin: no sorting, and no response is so skewed that a few rows
decide. The rows of the first of each pair are stratified over y, which only makes the share more certain.

Sums, differences, products and quotients at pairs of rows, counted as they are computed.

A first look is so short that fetching the operands and storing the values would cost more than the
arithmetic. For these four operators nothing is fetched or stored; the values are those that numpy computes.

Looks: some rows at which features are computed, and what their values there tell of a loss.

A look at pairs of rows tells of T0 what a coin's throws tell of its chance
(`symscreen.screening.search.subsamples`); of any
other statistic, its value on a sample of rows, stratified over the response, is the estimate.

Candidates at a few rows: computed without the rest, and read through a look.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen._numba import compile_kernel
from symscreen.expansion import CandidateStatus
from symscreen.statistics.column_arithmetic import ARITHMETIC_UFUNCS
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.targets import NumericTarget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from symscreen._typing import Numbers, Values
    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.grammar import Operator
    from symscreen.screeners import Screener, Sign

    Counts = NDArray[np.int64]
    Indices = NDArray[np.int64]

__all__ = [
    "UNDEFINED",
    "RowPairs",
    "Subsample",
    "SubsampleScores",
    "compute_max_subsample_rows",
    "count_arithmetic_discordance",
    "count_doubled_discordance",
    "count_feature_discordance",
    "draw_pairs",
    "filter_on_subsample",
    "is_numpy_arithmetic",
    "make_pair_subsample",
    "make_row_subsample",
    "score_on_subsample",
]

UNDEFINED = -1


@dataclass(frozen=True, eq=False)
class RowPairs:
    """Pairs of rows.

    Parameters
    ----------
    low, high : int64 arrays, shape (N,)
        Row numbers; the response is smaller in `low`.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.low)

    @property
    def rows(self) -> NDArray[np.int64]:
        """All rows, those of `low` before those of `high`; shape (2N,)."""
        return np.concatenate((self.low, self.high))

    def take_slice(self, start: int, stop: int) -> RowPairs:
        """Return some of the pairs."""
        return RowPairs(self.low[start:stop], self.high[start:stop])


def draw_pairs(target: NumericTarget, n_pairs: int, rng: np.random.Generator) -> RowPairs:
    """Draw pairs of rows, each with a probability in proportion to |y_i − y_j|.

    Parameters
    ----------
    response : Response
        The response, n rows.
    count : int
        N, how many; they are independent.
    rng : numpy.random.Generator
        What draws.

    Returns
    -------
    Pairs
        The k-th has its first row in the k-th of N equal parts of the rows' weights Σ_j |y_i − y_j|, in the
        order of y; over all N together each pair of rows has its due share. Rows that tie never pair.

    Examples
    --------
    >>> from symscreen.targets import NumericTarget
    >>> pairs = draw_pairs(NumericTarget(np.array([0.0, 0.0, 1.0])), 4, np.random.default_rng(0))
    >>> pairs.high.tolist(), set(pairs.low.tolist()) <= {0, 1}
    ([2, 2, 2, 2], True)
    """
    n = target.n
    centred, _ = target.centered_values
    y, group, sizes = centred[target.tie_groups], target.tie_groups, target.tie_group_sizes
    below = np.cumsum(sizes)[group] - sizes[group]  # how many rows have a smaller response
    above = below + sizes[group]  # the first row with a larger one
    sums = np.concatenate(([0.0], np.cumsum(y)))
    lower = np.where(group > 0, below * y - sums[below], 0.0)  # Σ y_i − y_j over smaller y_j
    upper = np.where(above < n, sums[n] - sums[np.minimum(above, n)] - (n - above) * y, 0.0)
    weights = np.cumsum(lower + upper)
    place = (np.arange(n_pairs) + rng.random(n_pairs)) / n_pairs * weights[-1]
    first = np.minimum(np.searchsorted(weights, place, side="right"), n - 1)
    rest = rng.random(n_pairs) * (lower[first] + upper[first])
    down = (rest < lower[first]) & (group[first] > 0) | (above[first] == n)
    rest = np.where(down, rest, rest - lower[first])
    # of Σ_{j<t} |y_i − y_j|, which grows with t, the place where it passes what was drawn
    start, stop = np.where(down, 0, above[first]), np.where(down, below[first], n)
    left, right = start.copy(), stop - 1
    while (left < right).any():
        middle = (left + right) // 2
        size = np.abs((middle + 1 - start) * y[first] - (sums[middle + 1] - sums[start]))
        beyond = size > rest
        left, right = np.where(beyond, left, np.minimum(middle + 1, right)), np.where(beyond, middle, right)
    return RowPairs(np.where(down, left, first), np.where(down, first, left))


def count_doubled_discordance(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Count the pairs that each feature orders against the response, ties half.

    Parameters
    ----------
    values : float64 array, shape (m, 2N)
        Features at the rows of N pairs, `RowPairs.rows`.

    Returns
    -------
    int64 array, shape (m,)
        Twice the count, from 0 to 2N; `UNDEFINED` where a value is not finite. Over 2N it is an unbiased
        estimate of T0 / (2Δ).

    Examples
    --------
    >>> count_doubled_discordance(np.array([[1.0, 2.0, 3.0, 3.0, 1.0, 3.0]])).tolist()
    [3]
    """
    out = np.empty(len(values), dtype=np.int64)
    _fill_doubled_discordance(values, out)
    return out


@compile_kernel
def _fill_doubled_discordance(values: Values, out: Counts) -> None:
    for f in range(len(values)):
        out[f] = count_feature_discordance(values[f])


@compile_kernel
def count_feature_discordance(z: Values) -> np.int64:
    """Count for one feature; whole numbers only, so that several pairs are compared in one instruction."""
    pairs = z.size // 2
    doubled = np.int64(0)
    undefined = np.int64(0)
    for k in range(pairs):
        low, high = z[k], z[pairs + k]
        doubled += np.int64(low > high) + np.int64(low >= high)
        undefined |= np.int64(low - low != 0.0) | np.int64(high - high != 0.0)
    return np.int64(UNDEFINED) if undefined else doubled


def is_numpy_arithmetic(numeric: Any) -> bool:
    """Say whether an operator's numeric form is one of numpy's four."""
    return isinstance(numeric, np.ufunc) and numeric in ARITHMETIC_UFUNCS


def count_arithmetic_discordance(
    numeric: Any, pool: NDArray[np.float64], left: NDArray[np.int64], right: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Count discordant pairs of rows for an operator applied to members of a pool.

    Parameters
    ----------
    numeric : numpy.ufunc
        One for which `is_numpy_arithmetic` holds.
    pool : float64 array, shape (q, 2N)
        Members at the rows of N pairs, those with the smaller response first.
    left, right : int64 arrays, shape (m,)
        The arguments' places in the pool.

    Returns
    -------
    int64 array, shape (m,)
        As `symscreen.screening.search.subsamples.count_doubled_discordance` of the values.

    Examples
    --------
    >>> pool = np.array([[1.0, 2.0], [3.0, 0.5]])
    >>> count_arithmetic_discordance(np.multiply, pool, np.array([0]), np.array([1])).tolist()
    [2]
    """
    out = np.empty(len(left), dtype=np.int64)
    _fill_arithmetic_discordance(ARITHMETIC_UFUNCS.index(numeric), pool, left, right, out)
    return out


@compile_kernel
def _fill_arithmetic_discordance(
    operator_index: int, pool: Values, left: Indices, right: Indices, out: Indices
) -> None:
    pairs = pool.shape[1] // 2
    for f in range(left.size):
        a, b = pool[left[f]], pool[right[f]]
        doubled = np.int64(0)
        undefined = np.int64(0)
        if operator_index == 0:
            for k in range(pairs):
                low, high = a[k] + b[k], a[pairs + k] + b[pairs + k]
                doubled += np.int64(low > high) + np.int64(low >= high)
                undefined |= np.int64(low - low != 0.0) | np.int64(high - high != 0.0)
        elif operator_index == 1:
            for k in range(pairs):
                low, high = a[k] - b[k], a[pairs + k] - b[pairs + k]
                doubled += np.int64(low > high) + np.int64(low >= high)
                undefined |= np.int64(low - low != 0.0) | np.int64(high - high != 0.0)
        elif operator_index == 2:
            for k in range(pairs):
                low, high = a[k] * b[k], a[pairs + k] * b[pairs + k]
                doubled += np.int64(low > high) + np.int64(low >= high)
                undefined |= np.int64(low - low != 0.0) | np.int64(high - high != 0.0)
        else:
            for k in range(pairs):
                low, high = a[k] / b[k], a[pairs + k] / b[pairs + k]
                doubled += np.int64(low > high) + np.int64(low >= high)
                undefined |= np.int64(low - low != 0.0) | np.int64(high - high != 0.0)
        out[f] = UNDEFINED if undefined else doubled


_BLOCK_BYTES = 1 << 18
_MIN_UNCOMMON_ROWS = 32  # rows of a sample whose response is not the commonest


@dataclass(frozen=True, eq=False)
class Subsample:
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
    accumulate: Callable[[Operator, Values, Indices, Indices], Values]
    finalize: Callable[[Values], Values]


def make_pair_subsample(
    target: NumericTarget,
    n_pairs: int,
    rng: np.random.Generator,
    *,
    sign_free: bool,
    max_pairs: int,
    n_previous_pairs: int = 0,
) -> Subsample:
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
    pairs = draw_pairs(target, n_pairs, rng)
    total = n_previous_pairs + n_pairs

    def finalize(doubled: Values) -> Values:
        return (np.minimum(doubled, 2.0 * total - doubled) if sign_free else doubled) / total

    batches = tuple(pairs.take_slice(start, start + max_pairs).rows for start in range(0, n_pairs, max_pairs))
    return Subsample(batches, total, _accumulate_discordance, finalize)


def _compute_blocks(
    operator: Operator, pool: Values, left: Indices, right: Indices
) -> Iterator[tuple[slice, Values]]:
    """Compute an operator's values, so many features at a time as fit the cache."""
    step = max(16, _BLOCK_BYTES // (8 * pool.shape[1]))
    for start in range(0, len(left), step):
        part = slice(start, start + step)
        with np.errstate(all="ignore"):
            if operator.arity == 1:
                yield part, operator.numeric(pool[left[part]])
            else:
                yield part, operator.numeric(pool[left[part]], pool[right[part]])


def _accumulate_discordance(operator: Operator, pool: Values, left: Indices, right: Indices) -> Values:
    if is_numpy_arithmetic(operator.numeric):
        doubled = count_arithmetic_discordance(operator.numeric, pool, left, right)
    else:
        doubled = np.empty(len(left), dtype=np.int64)
        for part, values in _compute_blocks(operator, pool, left, right):
            doubled[part] = count_doubled_discordance(values)
    return np.where(doubled == UNDEFINED, np.nan, doubled.astype(np.float64))


def make_row_subsample(
    target: NumericTarget, n_rows: int, rng: np.random.Generator, screener: Screener, sign: Sign
) -> Subsample | None:
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
    edges = np.arange(n_rows + 1) * target.n // n_rows
    rows = edges[:-1] + (rng.random(n_rows) * np.diff(edges)).astype(np.int64)
    _, counts = np.unique(target.values[rows], return_counts=True)
    if n_rows - counts.max() < _MIN_UNCOMMON_ROWS:
        return None
    sample = NumericTarget(target.values[rows], target.name)

    def accumulate(operator: Operator, pool: Values, left: Indices, right: Indices) -> Values:
        told = np.full(len(left), np.nan)
        for part, values in _compute_blocks(operator, pool, left, right):
            defined = np.flatnonzero(np.isfinite(values).all(axis=1))
            if len(defined):
                with np.errstate(all="ignore"):
                    statistics = screener.statistic(sort_block(values[defined]), sample)
                    losses = screener.loss(statistics, sample, sign)
                # a feature that is constant on the sample may be the best of all
                still = values[defined].min(axis=1) == values[defined].max(axis=1)
                told[part][defined] = np.where(still | np.isnan(losses), -np.inf, losses)
        return told

    return Subsample((rows,), n_rows, accumulate, lambda told: told)


_CANDIDATES_PER_TASK = 1 << 15  # candidates a task, of all
_SURVIVORS_PER_TASK = 1 << 12  # of those that are left, at many more rows
_POOL_BYTES = 1 << 26  # up to which the whole pool is held at the rows of a look
_POOL_PART_BYTES = 1 << 24  # of the members of a pool that are computed as they are needed


@dataclass(frozen=True, eq=False)
class SubsampleScores:
    """What a look tells of some candidates.

    Parameters
    ----------
    numbers : int64 array, shape (k,)
        Their numbers in the layer, ascending.
    told : float64 array, shape (k,)
        What the look told of each, summed over its batches.
    """

    numbers: NDArray[np.int64]
    sums: NDArray[np.float64]

    def take(self, selection: NDArray[np.bool_] | NDArray[np.int64]) -> SubsampleScores:
        """Return some of them."""
        return SubsampleScores(self.numbers[selection], self.sums[selection])


def compute_max_subsample_rows(space: Space) -> int:
    """Return at how many rows the whole pool can be held at a time."""
    return max(64, _POOL_BYTES // (8 * max(1, len(space.pool))))


def score_on_subsample(space: Space, numbers: Numbers, subsample: Subsample, backend: Backend) -> Values:
    """Look at some candidates.

    Parameters
    ----------
    space : Space
        With values.
    numbers : int64 array, shape (k,)
        Candidates of its last layer, ascending.
    look : Look
        What to look at.
    backend : Backend
        Where candidates are computed.

    Returns
    -------
    float64 array, shape (k,)
        What the look tells, summed over its batches; NaN where a value is not finite. The same for every
        backend.
    """
    told = np.zeros(len(numbers))
    slices = [
        (start, min(start + _SURVIVORS_PER_TASK, len(numbers)))
        for start in range(0, len(numbers), _SURVIVORS_PER_TASK)
    ]
    for rows in subsample.rows:
        seer = _make_evaluator(space, rows, subsample)

        def score_slice(bounds: tuple[int, int], evaluator: _SubsampleEvaluator = seer) -> Values:
            return evaluator.compute_sums(numbers[bounds[0] : bounds[1]])

        for (start, stop), found in zip(slices, backend.map(score_slice, slices), strict=True):
            told[start:stop] += found
    return told


def filter_on_subsample(
    space: Space, subsample: Subsample, max_loss: float, backend: Backend
) -> tuple[SubsampleScores, int]:
    """Look at all candidates of a space, and keep those that look good enough.

    Parameters
    ----------
    space : Space
        With values.
    look : Look
        Of one batch.
    limit : float
        The largest loss that stays.
    backend : Backend
        Where candidates are computed.

    Returns
    -------
    Glanced
        Those that stay.
    int
        How many candidates were looked at and defined.
    """
    (rows,) = subsample.rows
    seer = _make_evaluator(space, rows, subsample)
    total = space.candidates.total

    def filter_range(bounds: tuple[int, int]) -> tuple[SubsampleScores, int]:
        numbers = bounds[0] + np.flatnonzero(space.statuses[bounds[0] : bounds[1]] == CandidateStatus.KEPT)
        told = seer.compute_sums(numbers)
        with np.errstate(invalid="ignore"):
            stay = np.flatnonzero(subsample.finalize(told) <= max_loss)
        return SubsampleScores(numbers[stay], told[stay]), int((~np.isnan(told)).sum())

    ranges = [
        (start, min(start + _CANDIDATES_PER_TASK, total)) for start in range(0, total, _CANDIDATES_PER_TASK)
    ]
    found = list(backend.map(filter_range, ranges))
    numbers = [part.numbers for part, _ in found]
    told = [part.sums for part, _ in found]
    none = np.zeros(0)
    kept = SubsampleScores(np.concatenate([none.astype(np.int64), *numbers]), np.concatenate([none, *told]))
    return kept, sum(seen for _, seen in found)


@dataclass(frozen=True, eq=False)
class _SubsampleEvaluator:
    """Computes candidates at some rows.

    Parameters
    ----------
    space : Space
        Where they come from.
    rows : int64 array, shape (m,)
        The rows.
    pool : float64 array, shape (q, m), or None
        The whole pool at these rows; None where that would be large, and is computed as it is needed.
    look : Look
        What reads them.
    """

    space: Space
    rows: Numbers
    pool: Values | None
    subsample: Subsample

    def compute_sums(self, numbers: Numbers) -> Values:
        """Return what the look tells of candidates, in their order."""
        parts = [np.zeros(0)]
        step = (
            _CANDIDATES_PER_TASK
            if self.pool is not None
            else max(16, _POOL_PART_BYTES // (16 * len(self.rows)))
        )
        operators = self.space.pool.symbols.operators
        for segment in self.space.candidates.operator_ranges:
            first, last = np.searchsorted(numbers, (segment.start, segment.start + segment.count)).tolist()
            for start in range(first, last, step):
                left, right = segment.decode(numbers[start : min(start + step, last)])
                pool = self.pool
                if pool is None:
                    places, which = np.unique(np.concatenate((left, right)), return_inverse=True)
                    pool = self.space.pool.compute_at_rows(self.rows, places)
                    left, right = which[: len(left)], which[len(left) :]
                parts.append(self.subsample.accumulate(operators[segment.code], pool, left, right))
        return np.concatenate(parts)


def _make_evaluator(space: Space, rows: Numbers, subsample: Subsample) -> _SubsampleEvaluator:
    large = len(space.pool) * len(rows) * 8 > _POOL_BYTES
    return _SubsampleEvaluator(space, rows, None if large else space.pool.compute_at_rows(rows), subsample)

"""Estimate losses of candidates on subsamples: random pairs of rows (for T0) or stratified samples of rows.

T0 is a mean over pairs of rows of |y_i − y_j|·(1 − s) with s = sign(θ_i − θ_j)·sign(y_i − y_j) (Luo and Li
2024, eq. 18). If pairs are drawn with probability proportional to |y_i − y_j|, the weight cancels::

    T0(θ) = Δ · E[1 − s] = 2Δ · p,    p = P(θ orders the pair against y) + P(θ ties the pair)/2

N pairs therefore estimate T0 as N Bernoulli trials estimate p. No sorting is needed, and a skewed target does
not let a few rows dominate. The first rows of the pairs are stratified over y, which only reduces the
variance. Any other statistic is estimated by its value on a sample of rows that is stratified over the
target.

The first subsample is so small that loading operands and storing values would cost more than the arithmetic.
For sums, differences, products and quotients, discordant pairs are therefore counted while the values are
computed (`count_arithmetic_discordance`). The values are the same as numpy's.
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

    from symscreen._typing import Flags, Integers, Numbers, Values
    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.grammar import Operator
    from symscreen.screeners import Screener, Sign


UNDEFINED = -1  # count of a feature with a value that is not finite

_BLOCK_BYTES = 1 << 18  # size of a block of values, which fits the cache
_MIN_UNCOMMON_ROWS = 32  # minimum number of sampled rows whose target is not the most frequent value

_CANDIDATES_PER_TASK = 1 << 15  # candidates per task in the first round
_SURVIVORS_PER_TASK = 1 << 12  # candidates per task in later rounds, on many more rows
_POOL_BYTES = 1 << 26  # maximum size of the pool at the rows of a batch, held as a whole
_POOL_PART_BYTES = 1 << 24  # size of the pool members computed at a time, if the pool is larger


@dataclass(frozen=True, eq=False)
class RowPairs:
    """Pairs of rows.

    Parameters
    ----------
    low, high : int64 arrays, shape (N,)
        Row indices of each pair; the target is smaller in `low`.
    """

    low: Integers
    high: Integers

    def __len__(self) -> int:
        return len(self.low)

    @property
    def rows(self) -> Integers:
        """Row indices of all pairs, shape (2N,): `low`, then `high`."""
        return np.concatenate((self.low, self.high))

    def take_slice(self, start: int, stop: int) -> RowPairs:
        """Return the pairs from `start` to `stop`."""
        return RowPairs(self.low[start:stop], self.high[start:stop])


def draw_pairs(target: NumericTarget, n_pairs: int, rng: np.random.Generator) -> RowPairs:
    """Draw pairs of rows with probability proportional to |y_i − y_j|.

    Parameters
    ----------
    target : NumericTarget
        The target, n rows.
    n_pairs : int
        N, the number of independent pairs.
    rng : numpy.random.Generator
        Random number generator.

    Returns
    -------
    RowPairs
        The first row of pair k lies in the k-th of N equal parts of the row weights Σ_j |y_i − y_j|, in the
        order of y. Over all N pairs, each pair of rows has its proportional probability. Tied rows never form
        a pair.

    Examples
    --------
    >>> from symscreen.targets import NumericTarget
    >>> pairs = draw_pairs(NumericTarget(np.array([0.0, 0.0, 1.0])), 4, np.random.default_rng(0))
    >>> pairs.high.tolist(), set(pairs.low.tolist()) <= {0, 1}
    ([2, 2, 2, 2], True)
    """
    n = target.n
    centered, _ = target.centered_values
    y, group, sizes = centered[target.tie_groups], target.tie_groups, target.tie_group_sizes
    below = np.cumsum(sizes)[group] - sizes[group]  # number of rows with a smaller target
    above = below + sizes[group]  # first row with a larger target
    sums = np.concatenate(([0.0], np.cumsum(y)))
    lower = np.where(group > 0, below * y - sums[below], 0.0)  # Σ_j (y_i − y_j) over smaller y_j
    upper = np.where(above < n, sums[n] - sums[np.minimum(above, n)] - (n - above) * y, 0.0)
    weights = np.cumsum(lower + upper)
    position = (np.arange(n_pairs) + rng.random(n_pairs)) / n_pairs * weights[-1]
    first = np.minimum(np.searchsorted(weights, position, side="right"), n - 1)
    drawn_weight = rng.random(n_pairs) * (lower[first] + upper[first])
    is_down = (drawn_weight < lower[first]) & (group[first] > 0) | (above[first] == n)
    drawn_weight = np.where(is_down, drawn_weight, drawn_weight - lower[first])
    # Bisection for the second row: the smallest t at which Σ_{j≤t} |y_i − y_j| exceeds the drawn weight.
    start, stop = np.where(is_down, 0, above[first]), np.where(is_down, below[first], n)
    left, right = start.copy(), stop - 1
    while (left < right).any():
        middle = (left + right) // 2
        weight = np.abs((middle + 1 - start) * y[first] - (sums[middle + 1] - sums[start]))
        beyond = weight > drawn_weight
        left, right = np.where(beyond, left, np.minimum(middle + 1, right)), np.where(beyond, middle, right)
    return RowPairs(np.where(is_down, left, first), np.where(is_down, first, left))


def count_doubled_discordance(values: Values) -> Integers:
    """Count the pairs that each feature orders against the target; a tie counts half.

    Parameters
    ----------
    values : float64 array, shape (m, 2N)
        Features at the rows of N pairs (`RowPairs.rows`).

    Returns
    -------
    int64 array, shape (m,)
        Twice the count, from 0 to 2N; `UNDEFINED` if a value is not finite. Divided by 2N it is an unbiased
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
def _fill_doubled_discordance(values: Values, out: Integers) -> None:
    """Write twice the number of discordant pairs of features (m, 2N) to `out` (m,)."""
    for f in range(len(values)):
        out[f] = count_feature_discordance(values[f])


# These two are inlined into every loop below, which still vectorise.
@compile_kernel
def _count_doubled(low: float, high: float) -> np.int64:
    """Return 2 if a pair is ordered against the target, 1 for a tie in the feature, else 0."""
    return np.int64(low > high) + np.int64(low >= high)


@compile_kernel
def _detect_undefined(low: float, high: float) -> np.int64:
    """Return 1 if a value is not finite, else 0."""
    return np.int64(low - low != 0.0) | np.int64(high - high != 0.0)


@compile_kernel
def count_feature_discordance(z: Values) -> np.int64:
    """Count twice the discordant pairs of one feature (2N,); integer arithmetic lets the loop vectorise."""
    n_pairs = z.size // 2
    doubled = np.int64(0)
    undefined = np.int64(0)
    for k in range(n_pairs):
        low, high = z[k], z[n_pairs + k]
        doubled += _count_doubled(low, high)
        undefined |= _detect_undefined(low, high)
    return np.int64(UNDEFINED) if undefined else doubled


def is_numpy_arithmetic(numeric: Any) -> bool:
    """Return whether an operator's numeric form is one of numpy's add, subtract, multiply and divide."""
    return isinstance(numeric, np.ufunc) and numeric in ARITHMETIC_UFUNCS


def count_arithmetic_discordance(numeric: Any, pool: Values, left: Integers, right: Integers) -> Integers:
    """Count discordant pairs of rows for an arithmetic operator applied to pool members.

    Parameters
    ----------
    numeric : numpy.ufunc
        A ufunc for which `is_numpy_arithmetic` is true.
    pool : float64 array, shape (q, 2N)
        Pool members at the rows of N pairs (`RowPairs.rows`).
    left, right : int64 arrays, shape (m,)
        Indices of the arguments in the pool.

    Returns
    -------
    int64 array, shape (m,)
        The result of `count_doubled_discordance` for the values.

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
    operator_index: int, pool: Values, left: Integers, right: Integers, out: Integers
) -> None:
    """Write twice the number of discordant pairs of `pool[left] ∘ pool[right]` to `out` (m,)."""
    n_pairs = pool.shape[1] // 2
    for f in range(left.size):
        a, b = pool[left[f]], pool[right[f]]
        doubled = np.int64(0)
        undefined = np.int64(0)
        if operator_index == 0:
            for k in range(n_pairs):
                low, high = a[k] + b[k], a[n_pairs + k] + b[n_pairs + k]
                doubled += _count_doubled(low, high)
                undefined |= _detect_undefined(low, high)
        elif operator_index == 1:
            for k in range(n_pairs):
                low, high = a[k] - b[k], a[n_pairs + k] - b[n_pairs + k]
                doubled += _count_doubled(low, high)
                undefined |= _detect_undefined(low, high)
        elif operator_index == 2:
            for k in range(n_pairs):
                low, high = a[k] * b[k], a[n_pairs + k] * b[n_pairs + k]
                doubled += _count_doubled(low, high)
                undefined |= _detect_undefined(low, high)
        else:
            for k in range(n_pairs):
                low, high = a[k] / b[k], a[n_pairs + k] / b[n_pairs + k]
                doubled += _count_doubled(low, high)
                undefined |= _detect_undefined(low, high)
        out[f] = UNDEFINED if undefined else doubled


@dataclass(frozen=True, eq=False)
class Subsample:
    """Rows on which features are evaluated, and how their values give estimates of the loss.

    Parameters
    ----------
    rows : tuple of int64 arrays, shape (m,)
        Batches of row indices; each batch is computed at once.
    size : int
        Total number of pairs or rows.
    accumulate : callable
        Maps (operator, pool members at the rows of a batch, shape (q, m), indices of the left and right
        arguments, shape (k,)) to values that add up over batches, shape (k,); NaN if a value is not finite.
    finalize : callable
        Maps the sums to estimates of the loss.
    """

    rows: tuple[Integers, ...]
    size: int
    accumulate: Callable[[Operator, Values, Integers, Integers], Values]
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
    """Make a subsample of row pairs, for T0.

    Parameters
    ----------
    target : NumericTarget
        The target, n rows.
    n_pairs : int
        Number of pairs to draw.
    rng : numpy.random.Generator
        Draws the pairs.
    sign_free : bool
        Whether a decreasing relation counts as much as an increasing one.
    max_pairs : int
        Maximum number of pairs per batch.
    n_previous_pairs : int
        Number of pairs in earlier subsamples whose sums are added to those of this one.

    Returns
    -------
    Subsample
        It accumulates twice the number of discordant pairs. The estimate is T0/Δ, or min(T0/Δ, 2 − T0/Δ) if
        `sign_free`.
    """
    pairs = draw_pairs(target, n_pairs, rng)
    n_total = n_previous_pairs + n_pairs

    def finalize(doubled: Values) -> Values:
        return (np.minimum(doubled, 2.0 * n_total - doubled) if sign_free else doubled) / n_total

    batches = tuple(pairs.take_slice(start, start + max_pairs).rows for start in range(0, n_pairs, max_pairs))
    return Subsample(batches, n_total, _accumulate_discordance, finalize)


def _compute_blocks(
    operator: Operator, pool: Values, left: Integers, right: Integers
) -> Iterator[tuple[slice, Values]]:
    """Compute an operator's values in blocks of features that fit the cache; yield slices and values."""
    step = max(16, _BLOCK_BYTES // (8 * pool.shape[1]))
    for start in range(0, len(left), step):
        block = slice(start, start + step)
        with np.errstate(all="ignore"):
            if operator.arity == 1:
                yield block, operator.numeric(pool[left[block]])
            else:
                yield block, operator.numeric(pool[left[block]], pool[right[block]])


def _accumulate_discordance(operator: Operator, pool: Values, left: Integers, right: Integers) -> Values:
    """Return twice the number of discordant pairs of each feature, shape (k,); NaN where undefined."""
    if is_numpy_arithmetic(operator.numeric):
        doubled = count_arithmetic_discordance(operator.numeric, pool, left, right)
    else:
        doubled = np.empty(len(left), dtype=np.int64)
        for block, values in _compute_blocks(operator, pool, left, right):
            doubled[block] = count_doubled_discordance(values)
    return np.where(doubled == UNDEFINED, np.nan, doubled.astype(np.float64))


def make_row_subsample(
    target: NumericTarget, n_rows: int, rng: np.random.Generator, screener: Screener, sign: Sign
) -> Subsample | None:
    """Make a stratified sample of rows, one from each of `n_rows` equal parts of the target's order.

    Parameters
    ----------
    target : NumericTarget
        The target, n rows.
    n_rows : int
        Number of rows to draw, below n.
    rng : numpy.random.Generator
        Draws the rows.
    screener : Screener
        The screener whose loss is estimated.
    sign : {"free", "positive"}
        Whether decreasing relations count as well as increasing ones.

    Returns
    -------
    Subsample or None
        None if the target hardly varies on the sample, as with a rare class: the estimate would be useless.
    """
    edges = np.arange(n_rows + 1) * target.n // n_rows
    rows = edges[:-1] + (rng.random(n_rows) * np.diff(edges)).astype(np.int64)
    _, counts = np.unique(target.values[rows], return_counts=True)
    if n_rows - counts.max() < _MIN_UNCOMMON_ROWS:
        return None
    sample = NumericTarget(target.values[rows], target.name)

    def accumulate(operator: Operator, pool: Values, left: Integers, right: Integers) -> Values:
        estimates = np.full(len(left), np.nan)
        for block, values in _compute_blocks(operator, pool, left, right):
            defined = np.flatnonzero(np.isfinite(values).all(axis=1))
            if len(defined):
                with np.errstate(all="ignore"):
                    statistics = screener.statistic(sort_block(values[defined]), sample)
                    losses = screener.loss(statistics, sample, sign)
                # A feature that is constant on the sample may be the best on all rows, so it is kept.
                is_constant = values[defined].min(axis=1) == values[defined].max(axis=1)
                estimates[block][defined] = np.where(is_constant | np.isnan(losses), -np.inf, losses)
        return estimates

    return Subsample((rows,), n_rows, accumulate, lambda estimates: estimates)


@dataclass(frozen=True, eq=False)
class SubsampleScores:
    """Accumulated values of some candidates on a subsample.

    Parameters
    ----------
    numbers : int64 array, shape (k,)
        Candidate numbers in the layer, ascending.
    sums : float64 array, shape (k,)
        Accumulated value of each candidate, summed over batches.
    """

    numbers: Integers
    sums: Values

    def take(self, selection: Flags | Integers) -> SubsampleScores:
        """Return the selected candidates."""
        return SubsampleScores(self.numbers[selection], self.sums[selection])


def compute_max_subsample_rows(space: Space) -> int:
    """Return the number of rows at which the whole pool fits the memory limit of a batch."""
    return max(64, _POOL_BYTES // (8 * max(1, len(space.pool))))


def score_on_subsample(space: Space, numbers: Numbers, subsample: Subsample, backend: Backend) -> Values:
    """Evaluate some candidates on a subsample.

    Parameters
    ----------
    space : Space
        The space, with values.
    numbers : int64 array, shape (k,)
        Candidates of the last layer, ascending.
    subsample : Subsample
        The rows to evaluate on.
    backend : Backend
        Computes the candidates.

    Returns
    -------
    float64 array, shape (k,)
        Accumulated values, summed over batches; NaN if a value is not finite. The result is the same for
        every backend.
    """
    sums = np.zeros(len(numbers))
    slices = [
        (start, min(start + _SURVIVORS_PER_TASK, len(numbers)))
        for start in range(0, len(numbers), _SURVIVORS_PER_TASK)
    ]
    for rows in subsample.rows:
        batch_evaluator = _make_evaluator(space, rows, subsample)

        def score_slice(bounds: tuple[int, int], evaluator: _SubsampleEvaluator = batch_evaluator) -> Values:
            return evaluator.compute_sums(numbers[bounds[0] : bounds[1]])

        for (start, stop), slice_sums in zip(slices, backend.map(score_slice, slices), strict=True):
            sums[start:stop] += slice_sums
    return sums


def filter_on_subsample(
    space: Space, subsample: Subsample, max_loss: float, backend: Backend
) -> tuple[SubsampleScores, int]:
    """Evaluate all candidates of a space on a subsample and keep those with a small estimated loss.

    Parameters
    ----------
    space : Space
        The space, with values.
    subsample : Subsample
        A subsample of one batch.
    max_loss : float
        The largest estimated loss to keep.
    backend : Backend
        Computes the candidates.

    Returns
    -------
    scores : SubsampleScores
        The candidates kept.
    n_defined : int
        Number of candidates that were evaluated and defined.
    """
    (rows,) = subsample.rows
    evaluator = _make_evaluator(space, rows, subsample)
    total = space.candidates.total

    def filter_range(bounds: tuple[int, int]) -> tuple[SubsampleScores, int]:
        numbers = bounds[0] + np.flatnonzero(space.statuses[bounds[0] : bounds[1]] == CandidateStatus.KEPT)
        sums = evaluator.compute_sums(numbers)
        with np.errstate(invalid="ignore"):
            selected = np.flatnonzero(subsample.finalize(sums) <= max_loss)
        return SubsampleScores(numbers[selected], sums[selected]), int((~np.isnan(sums)).sum())

    ranges = [
        (start, min(start + _CANDIDATES_PER_TASK, total)) for start in range(0, total, _CANDIDATES_PER_TASK)
    ]
    parts = list(backend.map(filter_range, ranges))
    numbers = np.concatenate([np.zeros(0, dtype=np.int64), *(scores.numbers for scores, _ in parts)])
    sums = np.concatenate([np.zeros(0), *(scores.sums for scores, _ in parts)])
    return SubsampleScores(numbers, sums), sum(n_defined for _, n_defined in parts)


@dataclass(frozen=True, eq=False)
class _SubsampleEvaluator:
    """Evaluate candidates at the rows of a batch; `pool`, shape (q, m), is None if it is too large."""

    space: Space
    rows: Numbers
    pool: Values | None
    subsample: Subsample

    def compute_sums(self, numbers: Numbers) -> Values:
        """Return the accumulated values of candidates, shape (k,), in their order."""
        parts = [np.zeros(0)]
        step = _CANDIDATES_PER_TASK
        if self.pool is None:
            step = max(16, _POOL_PART_BYTES // (16 * len(self.rows)))
        operators = self.space.pool.symbols.operators
        for operator_range in self.space.candidates.operator_ranges:
            first, last = np.searchsorted(
                numbers, (operator_range.start, operator_range.start + operator_range.count)
            ).tolist()
            for start in range(first, last, step):
                left, right = operator_range.decode(numbers[start : min(start + step, last)])
                pool = self.pool
                if pool is None:
                    members, positions = np.unique(np.concatenate((left, right)), return_inverse=True)
                    pool = self.space.pool.compute_at_rows(self.rows, members)
                    left, right = positions[: len(left)], positions[len(left) :]
                parts.append(self.subsample.accumulate(operators[operator_range.code], pool, left, right))
        return np.concatenate(parts)


def _make_evaluator(space: Space, rows: Numbers, subsample: Subsample) -> _SubsampleEvaluator:
    """Make an evaluator that holds the pool at the given rows, unless the pool is too large."""
    is_large = len(space.pool) * len(rows) * 8 > _POOL_BYTES
    return _SubsampleEvaluator(space, rows, None if is_large else space.pool.compute_at_rows(rows), subsample)

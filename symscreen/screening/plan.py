"""`symscreen.plan`: predict the features per layer, the peak memory and the time of a screen."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from time import perf_counter
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from symscreen._limits import format_bytes
from symscreen.config.fields import describe_options, list_options
from symscreen.config.parsing import parse_memory_limit
from symscreen.config.screen_options import ScreenOptions, make_screen_options
from symscreen.expansion import compute_feature_stats, estimate_space_size, expand
from symscreen.expressions.tree import Column
from symscreen.report.html_listings import format_listing_html, format_listing_text
from symscreen.report.terminal.listings import build_plan_table
from symscreen.screeners import JointScreener
from symscreen.screening.memory_estimate import estimate_memory, estimate_scoring_bytes
from symscreen.screening.preparation import prepare_screen
from symscreen.screening.scoring.finalists import (
    CLASSES_PER_GROUP,
    GROUPS_PER_FEATURE,
    compute_on_all_rows,
    count_threads,
    estimate_finalist_bytes,
)
from symscreen.screening.scoring.score_space import make_scorer, make_search_goals
from symscreen.screening.search.modes import estimate_search_cost
from symscreen.screening.space_generation import should_recompute_pool
from symscreen.statistics.ranks.sorted_block import sort_block

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from symscreen.config.keyword_types import ScreenKeywords
    from symscreen.data.large_tables.large_table import LargeTable
    from symscreen.expansion import LayerCount, Space, SpaceSizeEstimate
    from symscreen.screening.task import ScreeningTask

_CALIBRATION_S = 0.5  # seconds
_TASKS_PER_THREAD = 8  # tasks of the calibration at a time, for each thread
_MIN_CALIBRATION_FEATURES = 64  # features per task of the calibration
_MAX_CALIBRATION_INPUTS = 300  # inputs of the space that is timed
_BLOCK_REPEATS = 5  # how often the statistics of a block of the pool are computed
_MEMBER_COST_FACTOR = 1.5  # time of a pool member, relative to that of its statistics


@dataclass(frozen=True)
class LargeTablePlan:
    """The passes over a table that is larger than the memory allows.

    Parameters
    ----------
    n_rows, n_sample_rows : int
        Numbers of rows of the table and of the sample.
    disk_bytes : int
        Size of the columns that the first pass puts onto the disk.
    read_seconds : float
        The time that the first pass took for this plan.
    n_finalists : int
        The most features that the second pass scores on all rows.
    finalist_seconds : float
        The time of the second pass, from that of one feature.
    n_threads : int
        Number of threads of the second pass, each with the memory for one feature.
    """

    n_rows: int
    n_sample_rows: int
    disk_bytes: int
    read_seconds: float
    n_finalists: int
    finalist_seconds: float
    n_threads: int


@dataclass(frozen=True)
class ScreenPlan:
    """What a screen would do.

    Parameters
    ----------
    layers : tuple of LayerCount
        Counts of the inputs and of each layer.
    n_exact_layers : int
        Number of these, from the first, that were counted. The others are estimates: their layers are too
        long to be counted in a moment, or follow pruning. The number of candidates of the first of the others
        is exact.
    n_features : int
        Number of features of the space. If all layers were counted, it is exact by structure, and an upper
        bound, because values can only exclude more.
    max_features : int or None
        Upper bound of the number of features. None after pruning that keeps any number of features.
    has_pruning : bool
        Whether a layer is pruned before the next one is applied. The target decides which features stay.
    pool_bytes : int
        Memory of the values of the pool, at most; 0 if they are recomputed from the inputs.
    peak_bytes : int
        Peak memory of the process, at most; approximate if the number of features is estimated.
    seconds : pair of float
        The least and the most time on this machine. They differ for a race only, because the target decides
        how early features are dropped. Joint screeners, also those that prune, and null distributions are not
        included.
    jobs : int
        Number of threads.
    budget : mapping or None
        What the budget requires, as the record of a screen has it; None if exact scoring is within it. The
        other fields then describe the screen that is chosen instead.
    exact_seconds : float
        The time that exact scoring would take on this machine.
    notices : tuple of str
        Notices about the data.
    large_table : LargeTablePlan or None
        The passes over a table that is larger than the memory allows; None for other tables. The other fields
        then include them.
    """

    layers: tuple[LayerCount, ...]
    n_exact_layers: int
    n_features: int
    max_features: int | None
    has_pruning: bool
    pool_bytes: int
    peak_bytes: int
    seconds: tuple[float, float]
    jobs: int
    budget: Mapping[str, Any] | None
    exact_seconds: float
    notices: tuple[str, ...]
    large_table: LargeTablePlan | None = None

    def __repr__(self) -> str:
        return format_listing_text(build_plan_table(self), self.notices)

    def _repr_html_(self) -> str:
        return format_listing_html(build_plan_table(self), self.notices)


def build_plan(task: ScreeningTask, *, read_seconds: float = 0.0) -> ScreenPlan:
    """Plan a screen.

    Parameters
    ----------
    task : ScreeningTask
        The screen.
    read_seconds : float
        The time that reading the data took.

    Returns
    -------
    ScreenPlan
        Counts by structure, estimates for long layers, and a prediction of the peak memory, the same in every
        run; and the time, from a calibration of about a second on features of the table's own inputs. Joint
        screeners, also those that prune, and null distributions are not included.

    Raises
    ------
    MemoryLimitError
        If even the exact part cannot be counted within the memory limit.
    """
    start = perf_counter()
    pool_sizes, n_rows = task.options.pool_sizes, task.target.n
    size = estimate_space_size(
        task.dataset.names,
        task.grammar,
        task.layers,
        task.options.pool,
        max_bytes=task.max_bytes,
        map_function=task.backend.map,
        units=task.units,
        also=task.formulas,
        keep_older=any(isinstance(screener, JointScreener) for screener in task.pool_screeners),
        options=task.options,
    )
    has_pruning = bool(task.pool_screeners) and (
        "inputs" in (pool_sizes or {})
        or any(pool_sizes is None or layer.kind in pool_sizes for layer in task.layers[:-1])
    )
    is_bounded = not has_pruning or pool_sizes is not None  # else the target decides how many stay
    filter_seconds = (perf_counter() - start) / max(1, size.n_filtered)
    recomputes_pool = should_recompute_pool(size.n_members, task, estimate_scoring_bytes(n_rows, task))
    max_bytes = task.max_bytes if task.large_table is None else parse_memory_limit(task.options.max_ram)
    peak_bytes = estimate_memory(size, n_rows, task, recompute_pool=recomputes_pool).compute_peak(
        task.max_bytes
    )
    # two halves of the rows take as long as all of them
    n_repeats = task.options.rounds + (task.options.stability or 0)
    choice = task.budget_choice
    exact_size = size if choice is None else choice.size
    low, high, exact = _estimate_seconds(task, size, exact_size, filter_seconds)
    passes, pass_seconds = None, 0.0
    if task.large_table is not None:
        passes = _plan_passes(task, task.large_table, read_seconds)
        pass_seconds = passes.read_seconds + passes.finalist_seconds
        peak_bytes = max(peak_bytes, estimate_finalist_bytes(task.large_table, passes.n_threads))
    return ScreenPlan(
        layers=size.layer_counts,
        n_exact_layers=size.n_exact if is_bounded else 1,
        n_features=size.n_features,
        max_features=size.max_features if is_bounded else None,
        has_pruning=has_pruning,
        pool_bytes=0 if recomputes_pool else size.n_members * n_rows * 8,
        peak_bytes=peak_bytes,
        seconds=(n_repeats * low + pass_seconds, n_repeats * high + pass_seconds),
        jobs=task.backend.jobs,
        budget=None if choice is None else choice.record,
        exact_seconds=n_repeats * exact,
        notices=(*task.dataset.notices, *_format_memory_notices(peak_bytes, max_bytes)),
        large_table=passes,
    )


def _plan_passes(task: ScreeningTask, table: LargeTable, read_seconds: float) -> LargeTablePlan:
    """Time one feature on all rows, and count those of the second pass."""
    n_threads, n_finalists = (
        count_threads(table, task),
        GROUPS_PER_FEATURE * CLASSES_PER_GROUP * (task.limit or 0),
    )
    (screener,) = task.column_screeners
    _ = table.target.gini_mean_difference  # computed once, and not for each feature
    start = perf_counter()
    values = compute_on_all_rows(Column(table.names[0]), table)
    assert values is not None  # noqa: S101  # an input is defined everywhere
    screener.statistic(sort_block(values), table.target)
    seconds = perf_counter() - start
    return LargeTablePlan(
        n_rows=table.target.n,
        n_sample_rows=task.target.n,
        disk_bytes=table.size.n_bytes,
        read_seconds=read_seconds,
        n_finalists=n_finalists,
        finalist_seconds=n_finalists * seconds / n_threads,
        n_threads=n_threads,
    )


def _format_memory_notices(peak_bytes: int, max_bytes: int | None) -> list[str]:
    if max_bytes is None or peak_bytes <= max_bytes:
        return []
    allowed, peak = format_bytes(max_bytes), format_bytes(peak_bytes)
    return [f"the predicted peak of {peak} is more than the {allowed} allowed: screen may refuse"]


def _estimate_seconds(
    task: ScreeningTask, size: SpaceSizeEstimate, exact_size: SpaceSizeEstimate, filter_seconds: float
) -> tuple[float, float, float]:
    """Time the scoring of a small space, and scale it up.

    Returns the least and the most seconds of the screen, whose space has the size `size`, and the seconds of
    exact scoring of a space of the size `exact_size`. `filter_seconds` are those of a candidate.
    """
    space = expand(
        task.dataset.names[:_MAX_CALIBRATION_INPUTS],
        task.dataset.columns[:_MAX_CALIBRATION_INPUTS],
        task.grammar,
        task.layers[-1:],
        task.options.pool,
        options=task.options,
    )
    per_feature = _time_feature_scoring(space, task)
    per_member = _time_pool_member(space)

    def scale_generation(size: SpaceSizeEstimate) -> float:
        n_candidates = sum(count.n_generated for count in size.layer_counts[1:])
        return filter_seconds * n_candidates + size.n_members * per_member

    generation = scale_generation(size)
    high, exact = (scale_generation(each) + per_feature * each.n_features for each in (size, exact_size))
    if task.search == "exact":
        return high, high, exact
    search, survivors = estimate_search_cost(
        space, task.dataset.numeric_target, make_search_goals(task), size.n_features, task.backend
    )
    low = generation + search + per_feature * min(size.n_features, survivors)
    return low, low if task.search == "sieve" else max(low, high), exact


def _time_pool_member(space: Space) -> float:
    """Return the seconds that a member of a pool takes: its values and their statistics."""
    block = next(space.evaluate_range(0, space.total), None)
    if block is None or not len(block.numbers):
        return 0.0
    compute_feature_stats(block.values)
    start = perf_counter()
    for _ in range(_BLOCK_REPEATS):
        compute_feature_stats(block.values)
    seconds = (perf_counter() - start) / _BLOCK_REPEATS
    return _MEMBER_COST_FACTOR * seconds / len(block.numbers)


def _time_feature_scoring(space: Space, task: ScreeningTask) -> float:
    """Return the seconds that a feature takes in all threads together."""
    scorer = make_scorer(space, task)
    chunks = space.split_chunks(max(_MIN_CALIBRATION_FEATURES, min(task.chunk_size, space.total)))
    scorer(chunks[0])  # compiles the kernels or loads them from the cache
    cycled_chunks, n_scored = cycle(chunks), 0
    start = perf_counter()
    while (seconds := perf_counter() - start) < _CALIBRATION_S or not n_scored:
        some_chunks = [next(cycled_chunks) for _ in range(_TASKS_PER_THREAD * task.backend.jobs)]
        n_found = sum(result.n_scored for result in task.backend.map(scorer, some_chunks))
        if not n_found and seconds > _CALIBRATION_S:
            return 0.0  # no feature of the small space is defined
        n_scored += n_found
    return float(np.divide(seconds, n_scored)) if seconds else 0.0


@describe_options(list_options(ScreenOptions))
def plan(
    X: Any,  # noqa: N803  # as in `screen`
    y: ArrayLike | None = None,
    **options: Unpack[ScreenKeywords],
) -> ScreenPlan:
    """Count what `screen` would do with the same options, and predict what it would take.

    Parameters
    ----------
    X, y
        As in `screen`.
    **options : object
        All options of `screen`. Those that do not change the plan (`class_members`, `intervals`,
        `checkpoint`, `time_limit` and others) are checked and have no further effect.

    Returns
    -------
    ScreenPlan
        Counts by structure: rules, complexity, constants and duplicates that algebra shows. Values can only
        exclude more (domains, features that are equal on the data), so later layers may turn out smaller.
        Layers of more than 8 million candidates, and the layers after them, are estimated from the same
        layers over fewer inputs; see `ScreenPlan.n_exact_layers`. The peak memory is predicted from the
        counts. The time comes from a calibration of about a second, so it differs from run to run; joint
        screeners, null distributions and `max_correlation` are not included. After pruning (`pool_size`,
        `prune_by`) counts are estimates, because the features that stay may have fewer duplicates than usual:
        `ScreenPlan.n_features` may be too small, `ScreenPlan.max_features` is not.

    Raises
    ------
    InputError
        As in `screen`.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.make_additive(n=10)
    >>> symscreen.plan(data.frame, operators="ablation", layers="ub", pool="strict").n_features
    42
    """
    start = perf_counter()
    task = prepare_screen(X, y, make_screen_options(options, verb="plan"), samples_large_tables=True)
    try:
        return build_plan(task, read_seconds=perf_counter() - start)
    finally:
        if task.large_table is not None:
            task.large_table.close()

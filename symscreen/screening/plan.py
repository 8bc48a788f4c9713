"""What a screen would do: features per layer, the memory at its peak, and how long it would take.

What a screen would do and take: counted or estimated by structure, predicted, timed on a small space.

What a screen would do and take, told before it runs: table → grammar → counts by structure.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from time import perf_counter
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from symscreen._limits import format_bytes
from symscreen.config.fields import describe_options, list_options
from symscreen.config.screen_options import ScreenOptions, make_screen_options
from symscreen.expansion import compute_feature_stats, estimate_space_size, expand
from symscreen.screening.memory_estimate import estimate_memory_from_size
from symscreen.screening.preparation import prepare_screen
from symscreen.screening.residual_rounds import make_generation_config
from symscreen.screening.scoring.score_space import make_scorer, make_search_goals
from symscreen.screening.search.modes import estimate_search_cost
from symscreen.screening.space_generation import should_recompute_pool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from symscreen.config.keyword_types import ScreenKeywords
    from symscreen.data import Dataset
    from symscreen.expansion import LayerCount, Space, SpaceSizeEstimate
    from symscreen.grammar import Layer
    from symscreen.screening.scoring.score_space import ScoringConfig
    from symscreen.screening.space_generation import GenerationConfig


@dataclass(frozen=True)
class ScreenPlan:
    """What a screen would do.

    Parameters
    ----------
    layers : tuple of LayerCount
        The inputs and each layer.
    exact : int
        How many of these, from the first, were counted; the rest are estimates of what is too long to be
        counted in a moment, or stands behind a cut. What the first of the rest generates is exact.
    features : int
        Features of the space: exact for structure where all layers are, an upper bound for what values will
        prune.
    most : int or None
        Features of the space are no more, whatever is left out; None where nobody can tell, behind a cut
        that keeps as many as it likes.
    cut : bool
        Whether a layer is cut before the next is applied; what stays depends on the response.
    memory : int
        Bytes that the values of the pool would take at most; 0 where they would be computed again from the
        inputs.
    peak : int
        Bytes that the process would hold at most; roughly, where features are estimated.
    seconds : pair of float
        From how long to how long it would take on this machine. The two differ for a race only: how early
        features drop out depends on the response. Without joint screeners, those that cut among them, and
        null tables of p-values.
    jobs : int
        In how many threads.
    notices : tuple of str
        What a reader should know of the data.
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
    notices: tuple[str, ...]


_CALIBRATION_S = 0.5  # seconds
_TASKS_PER_THREAD = 8  # of the calibration at a time, for each thread
_MIN_CALIBRATION_FEATURES = 64  # features of which the calibration is made
_BLOCK_REPEATS = 5  # times that a block of the pool is looked through
_MEMBER_COST_FACTOR = 1.5  # what a member takes beside, its values and what is put down of it


def build_plan(
    dataset: Dataset,
    generation: GenerationConfig,
    layers: Sequence[Layer],
    scoring: ScoringConfig,
    n_repeats: int = 1,
) -> ScreenPlan:
    """Plan a screen.

    Parameters
    ----------
    table : Table
        The data.
    growth : Growth
        How the space would be grown.
    layers : sequence of Layer
        What would be applied.
    request : Request
        What would be asked of it.
    times : int
        How often the whole of it would be done.

    Returns
    -------
    Plan
        Counts by structure, those of long layers estimated, and a prediction of the peak of memory, the same
        on every run; and a time, from a calibration of about a second on features of the table's own inputs.
        Joint screeners, those that cut among them, and null tables of p-values are not in it.

    Raises
    ------
    SpaceError
        If not even what is counted could be judged in the memory allowed.
    """
    start = perf_counter()
    seen = estimate_space_size(
        dataset.names,
        generation.grammar,
        layers,
        generation.pool_kind,
        max_bytes=generation.max_bytes,
        map_function=generation.map_function,
        units=generation.units,
        also=generation.user_expressions,
        pool_sizes=None if generation.pruning_config is None else generation.pool_sizes,
        keep_older=generation.pruning_config is not None and bool(generation.pruning_config.joint_screeners),
    )
    cut = generation.pruning_config is not None and any(
        generation.pool_sizes is None or layer.kind in generation.pool_sizes for layer in layers[:-1]
    )
    known = not cut or generation.pool_sizes is not None  # else only the response tells how many stay
    judging = (perf_counter() - start) * _count_candidates(seen) / max(1, seen.n_filtered)
    rows = dataset.target.n
    thin = generation.is_approximate and should_recompute_pool(seen.n_members, rows, generation)
    peak = estimate_memory_from_size(seen, rows, scoring, recompute_pool=thin).compute_peak(
        generation.max_bytes
    )
    low, high = _estimate_seconds(
        dataset,
        generation,
        layers,
        scoring,
        pool_size=seen.n_members,
        n_features=seen.n_features,
        filter_seconds=judging,
    )
    return ScreenPlan(
        layers=seen.layer_counts,
        n_exact_layers=seen.n_exact if known else 1,
        n_features=seen.n_features,
        max_features=seen.max_features if known else None,
        has_pruning=cut,
        pool_bytes=0 if thin else seen.n_members * rows * 8,
        peak_bytes=peak,
        seconds=(n_repeats * low, n_repeats * high),
        jobs=scoring.jobs,
        notices=(*dataset.notices, *_format_memory_notices(peak, generation)),
    )


def _count_candidates(size_estimate: SpaceSizeEstimate) -> int:
    return sum(count.n_generated for count in size_estimate.layer_counts[1:])


def _format_memory_notices(peak_bytes: int, generation: GenerationConfig) -> list[str]:
    if generation.max_bytes is None or peak_bytes <= generation.max_bytes:
        return []
    allowed = format_bytes(generation.max_bytes)
    peak = format_bytes(peak_bytes)
    return [f"the predicted peak of {peak} is more than the {allowed} allowed: screen may refuse"]


def _estimate_seconds(
    dataset: Dataset,
    generation: GenerationConfig,
    layers: Sequence[Layer],
    scoring: ScoringConfig,
    *,
    pool_size: int,
    n_features: int,
    filter_seconds: float,
) -> tuple[float, float]:
    """Time the scoring of a small space, and scale it up."""
    small = expand(dataset.names, dataset.columns, generation.grammar, layers[-1:], generation.pool_kind)
    each = _time_feature_scoring(small, dataset, scoring)
    growing = filter_seconds + pool_size * _time_pool_member(small)
    whole = growing + each * n_features
    if scoring.search.mode == "exact":
        return whole, whole
    wanted = make_search_goals(scoring)
    looks, survivors = estimate_search_cost(
        small, dataset.numeric_target, wanted, n_features, scoring.backend
    )
    early = growing + looks + each * min(n_features, survivors)
    return early, early if scoring.search.mode == "sieve" else max(early, whole)


def _time_pool_member(space: Space) -> float:
    """Return the seconds that a member of a pool takes: its values, and what is learnt of them."""
    block = next(space.evaluate_range(0, space.total), None)
    if block is None or not len(block.numbers):
        return 0.0
    compute_feature_stats(block.values)
    start = perf_counter()
    for _ in range(_BLOCK_REPEATS):
        compute_feature_stats(block.values)
    spent = (perf_counter() - start) / _BLOCK_REPEATS
    return _MEMBER_COST_FACTOR * spent / len(block.numbers)


def _time_feature_scoring(space: Space, dataset: Dataset, scoring: ScoringConfig) -> float:
    """Return the seconds that a feature takes in all threads together."""
    scorer = make_scorer(space, dataset.target, scoring)
    several = max(_MIN_CALIBRATION_FEATURES, min(scoring.chunk_size, space.total))
    chunks = space.split_chunks(several)
    scorer(chunks[0])  # compiles, or loads what was compiled before
    tasks = cycle(chunks)
    scored = 0
    start = perf_counter()
    while (spent := perf_counter() - start) < _CALIBRATION_S or not scored:
        some = [next(tasks) for _ in range(_TASKS_PER_THREAD * scoring.jobs)]
        found = sum(outcome.n_scored for outcome in scoring.backend.map(scorer, some))
        if not found and spent > _CALIBRATION_S:
            return 0.0  # nothing of the small space is defined
        scored += found
    return float(np.divide(spent, scored)) if spent else 0.0


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
        As in `screen`, all of them, so that one can be put in the place of the other. Those that change
        nothing of what is planned (`members`, `intervals`, `checkpoint`, `time_limit` and the like) are
        checked and have no further effect.

    Returns
    -------
    Plan
        Counts by structure: rules, complexity, constants and duplicates that algebra shows. Values can only
        prune more (domains, features equal on the data), so later layers may turn out smaller. Layers of more
        than 8 million candidates are estimated from the same layers over fewer inputs, and those behind them
        too; `ScreenPlan.n_exact_layers` tells which. Nothing large is held. The peak of
        memory is predicted from them; the time from a calibration of about a second, so it alone differs
        from run to run. What joint screeners, null distributions and `distinct` take is not in it. After a
        cut (`keep`, `cut`) counts are estimates, too: what stays may have fewer duplicates than is usual, so
        that `ScreenPlan.n_features` may be too small, and `ScreenPlan.max_features` is not.

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
    ready = prepare_screen(X, y, make_screen_options(options, verb="plan"))
    growth = make_generation_config(ready.dataset, ready.config)
    halves = 0 if ready.half_sampling is None else ready.half_sampling.n_pairs
    times = ready.rounds + halves  # two halves of the rows take as long as all of them
    return build_plan(ready.dataset, growth, ready.config.layers, ready.config.scoring, times)

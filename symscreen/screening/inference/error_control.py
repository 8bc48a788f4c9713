"""Error control over a whole space: p-values, q-values and max-T p-values.

While a space streams by, an `InferenceAccumulator` counts the p-value of every feature and tracks the best
statistic under each permutation of the target. Where no null distribution is known, the permutations give the
p-values and the q-values, too. The states are merged over chunks, and the figures of the features shown are
computed at the end (`symscreen.screening.inference.error_control_columns`).

The p-values of a screen are valid for features that were fixed before the target was seen. So there are none
if the target chose the space (pruning between layers, later rounds), and none if some features were not
scored on all rows (race, sieve).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from symscreen.config.parsing import MAX_P_VALUE_CELLS
from symscreen.errors import OptionError
from symscreen.messages import name_option
from symscreen.screeners import SCREENERS, Screener
from symscreen.screening.inference.permuted_rows import permute_rows
from symscreen.statistics.inference.max_t import permute_target
from symscreen.statistics.inference.p_value_counts import (
    PValueCounts,
    count_keys,
    encode_p_values,
    merge_p_value_counts,
)
from symscreen.statistics.inference.statistic_counts import (
    StatisticCounter,
    StatisticCounts,
    compute_permutation_p_values,
    count_exceeding,
    merge_statistic_counts,
)
from symscreen.statistics.nulls.correlation_nulls import PearsonNull
from symscreen.statistics.nulls.pearson_keys import encode_correlations
from symscreen.targets.registry import TARGET_TYPES, require_numeric_target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen.config.screen_options import ScreenOptions
    from symscreen.results.screen_verdict import Obstacle
    from symscreen.screeners import AnyScreener, Sign
    from symscreen.screening.inference.permuted_rows import PermutedRows
    from symscreen.screening.search.modes import SearchMode
    from symscreen.statistics.inference.max_t import PermutedTarget
    from symscreen.statistics.inference.p_value_counts import FdrMethod
    from symscreen.statistics.nulls.null_table import NullDistribution
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.statistics.workspace import Workspace
    from symscreen.targets import Target, TargetType


PValueSource = Literal["null distribution", "permutations"]

_MAX_WAITING_COUNTS = 1 << 20  # distinct p-values and levels in states that are not merged yet
_MAX_PARTS = 256  # states that are not merged yet


@dataclass(frozen=True, eq=False)
class InferenceConfig:
    """What is accumulated over all features.

    Parameters
    ----------
    screener : Screener
        The ranking (first) screener, whose statistic is used.
    sign : {"free", "positive"}
        Whether decreasing relations count as well as increasing ones.
    null : NullDistribution or None
        Distribution of the statistic under independence; None if no p-values are wanted.
    permuted_target : PermutedTarget, PermutedRows or None
        Permutations of the target, or of the rows of features; None if no max-T p-values are wanted.
    counts_permutations : bool
        Whether p- and q-values come from the permutations. There is no null distribution then.
    """

    screener: Screener
    sign: Sign
    null: NullDistribution | None
    permuted_target: PermutedTarget | PermutedRows | None
    counts_permutations: bool = False

    @property
    def has_p_values(self) -> bool:
        """Whether the p-value of every feature is counted."""
        return self.null is not None or self.counts_permutations

    @property
    def needs_correlations_only(self) -> bool:
        """Whether everything follows from Pearson's correlations, without the values of the features."""
        has_pearson_null = self.null is None or isinstance(self.null, PearsonNull)
        return has_pearson_null and self.permuted_target is None

    def compute_p_values(self, block: SortedBlock, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the p-values of a block of features, shape (m,); requires a null distribution."""
        assert self.null is not None  # noqa: S101  # the callers check this
        return self.null(block, statistics, self.sign)

    def encode_p_values(self, block: SortedBlock, statistics: NDArray[np.float64]) -> NDArray[np.int32]:
        """Encode the p-values of a block of features, shape (m,); requires a null distribution."""
        if isinstance(self.null, PearsonNull):
            return self.null.encode(statistics, self.sign)
        return encode_p_values(self.compute_p_values(block, statistics))

    def permute(
        self, block: SortedBlock, workspace: Workspace
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
        """Compute permutation p-values of a block, encoded, shape (m,), and the statistics that give them.

        The statistics have the shapes (m,) and (m, B): see `PermutedTarget.compute_permuted_statistics`.
        """
        assert self.permuted_target is not None  # noqa: S101  # the callers check this
        own, permuted = self.permuted_target.compute_permuted_statistics(block, workspace)
        p_values = compute_permutation_p_values(count_exceeding(own, permuted), permuted.shape[1])
        return encode_p_values(p_values), own, permuted


@dataclass(frozen=True, eq=False)
class InferenceState:
    """Accumulated statistics of some features.

    Parameters
    ----------
    p_value_counts : PValueCounts
        Counts of their p-values; empty if none are wanted.
    max_statistics : float64 array, shape (B,), or None
        Maximum statistic of these features under each of B permutations.
    statistic_counts : StatisticCounts, optional
        Counts of the statistics, of the data and of all permutations, if q-values come from permutations.
    """

    p_value_counts: PValueCounts
    max_statistics: NDArray[np.float64] | None
    statistic_counts: StatisticCounts | None = None

    @property
    def size(self) -> int:
        """The number of counts."""
        levels = () if self.statistic_counts is None else self.statistic_counts.levels
        return len(self.p_value_counts.keys) + len(levels)


EMPTY_INFERENCE_STATE = InferenceState(merge_p_value_counts([]), None)


class InferenceAccumulator:
    """Accumulate the statistics of the blocks of one range of features.

    Parameters
    ----------
    inference : InferenceConfig
        What is accumulated.
    workspace : Workspace
        Scratch arrays of the thread.
    """

    def __init__(self, inference: InferenceConfig, workspace: Workspace) -> None:
        self._inference, self._workspace = inference, workspace
        self._keys = [np.zeros(0, dtype=np.int32)]
        permuted_target = inference.permuted_target
        self._max_statistics = None if permuted_target is None else permuted_target.initial_max
        self._counter: StatisticCounter | None = None
        if inference.counts_permutations and permuted_target is not None:
            self._counter = StatisticCounter(permuted_target.level_scale)

    def update(self, block: SortedBlock, statistics: NDArray[np.float64]) -> None:
        """Add a block of m features with their statistics, shape (m,)."""
        if self._inference.null is not None:
            self._keys.append(self._inference.encode_p_values(block, statistics))
        if self._inference.permuted_target is None or self._max_statistics is None:
            return
        if self._counter is None:
            self._inference.permuted_target.update_max(block, self._max_statistics, self._workspace)
            return
        keys, own, permuted = self._inference.permute(block, self._workspace)
        self._keys.append(keys)
        self._counter.update(own, permuted)
        np.maximum(self._max_statistics, permuted.max(axis=0), out=self._max_statistics)

    def add_correlations(self, r: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Count p-values by Pearson's correlations, which are known up to an error, shape (m,).

        The null distribution must be that of Pearson's r.

        Returns
        -------
        bool array, shape (m,)
            Whether the p-value of each was counted. The values of the others are needed.
        """
        n_rows = cast("PearsonNull", self._inference.null).n_rows
        keys, is_decided = encode_correlations(r, errors, n_rows, self._inference.sign)
        self._keys.append(keys[is_decided])
        return is_decided

    @property
    def state(self) -> InferenceState:
        """The accumulated state."""
        statistic_counts = None if self._counter is None else self._counter.counts
        return InferenceState(count_keys(np.concatenate(self._keys)), self._max_statistics, statistic_counts)


def merge_inference_states(parts: Sequence[InferenceState]) -> InferenceState:
    """Merge the states of any number of parts of a space; the order does not matter.

    Parameters
    ----------
    parts : sequence of InferenceState
        States of one `InferenceConfig`.

    Returns
    -------
    InferenceState
    """
    maxima = [part.max_statistics for part in parts if part.max_statistics is not None]
    maximum = np.maximum.reduce(maxima) if maxima else None
    levels = [part.statistic_counts for part in parts if part.statistic_counts is not None]
    return InferenceState(
        merge_p_value_counts([part.p_value_counts for part in parts]),
        maximum,
        merge_statistic_counts(levels) if levels else None,
    )


def merge_inference_states_if_due(parts: list[InferenceState]) -> list[InferenceState]:
    """Merge states once the later ones exceed twice the size of the first (amortised constant cost)."""
    n_waiting = sum(part.size for part in parts[1:])
    is_due = n_waiting > max(_MAX_WAITING_COUNTS, 2 * parts[0].size) or len(parts) > _MAX_PARTS
    return [merge_inference_states(parts)] if is_due else parts


@dataclass(frozen=True, slots=True)
class ErrorControl:
    """Settings of error control.

    Parameters
    ----------
    p_values : bool
        Whether p- and q-values are computed.
    method : {"bh", "by"}
        Method of the q-values: Benjamini and Hochberg, or Benjamini and Yekutieli.
    fdr : float or None
        False discovery rate that the features shown must pass; None to show the best regardless.
    is_requested : bool
        Whether the user asked for p-values. Otherwise they are left out where they cost too much.
    permutations : int
        Number B of permutations for max-T p-values; 0 for none.
    groups : int64 array, shape (n,), optional
        Group number of each row; permutations keep groups together.
    runs : tuple of int64 array, optional
        The rows of each run in the order of time; permutations are circular shifts of runs.
    source : {"null distribution", "permutations"}
        What p- and q-values are computed from.
    """

    p_values: bool = True
    method: FdrMethod = "bh"
    fdr: float | None = None
    permutations: int = 0
    groups: NDArray[np.int64] | None = field(default=None, compare=False)
    is_requested: bool = False
    runs: tuple[NDArray[np.int64], ...] | None = field(default=None, compare=False, repr=False)
    source: PValueSource = "null distribution"


def parse_error_control(
    options: ScreenOptions, *, ranking_screener: AnyScreener, target_type: TargetType, has_pruning: bool
) -> tuple[ErrorControl | None, Obstacle | None]:
    """Decide which p-values a screen computes.

    Parameters
    ----------
    options : ScreenOptions
        A false discovery rate implies p-values. `p_values` None computes them if they are valid.
    ranking_screener : Screener or JointScreener
        The first screener, which ranks the features.
    target_type : TargetType
        The type of the target.
    has_pruning : bool
        Whether the pool is pruned between layers.

    Returns
    -------
    control : ErrorControl or None
        None if nothing is computed.
    obstacle : Obstacle or None
        Why there are no p-values; None if they are computed.

    Raises
    ------
    OptionError
        If what an option requests would not be valid.

    Examples
    --------
    >>> from symscreen.config.screen_options import ScreenOptions
    >>> options = ScreenOptions(permutations=200, p_values=False)
    >>> screener = SCREENERS["t0"]
    >>> parse_error_control(options, ranking_screener=screener, target_type="numeric", has_pruning=False)
    (ErrorControl(p_values=False, method='bh', fdr=None, permutations=200, groups=None, is_requested=False,
    source='null distribution'), 'off')
    """
    fdr, n_permutations, is_requested = options.fdr, options.permutations or 0, bool(options.p_values)
    search = options.search or "exact"
    obstacle = _find_obstacle(ranking_screener, target_type, search, has_pruning=has_pruning)
    has_null = isinstance(ranking_screener, Screener) and ranking_screener.null_distribution is not None
    p_value_obstacle: Obstacle | None = obstacle or (None if has_null else "null")
    has_losses = not TARGET_TYPES[target_type].combines_outputs  # one loss for each feature
    permutation_obstacle = None if obstacle == "target" and has_losses else obstacle
    source: PValueSource = "null distribution"
    if p_value_obstacle is not None and permutation_obstacle is None and n_permutations:
        source, p_value_obstacle = "permutations", None
    if is_requested or fdr is not None:
        option = name_option("p_values") if fdr is None else name_option("fdr", fdr)
        _check_available(option, p_value_obstacle, ranking_screener, target_type, search)
        if fdr is not None and options.rounds > 1:
            raise OptionError(
                f"{option} is not available: later rounds screen residuals that were fitted to the target, "
                f"use {name_option('rounds', 1)}"
            )
        is_requested = True
    if n_permutations:
        option = name_option("permutations", n_permutations)
        _check_available(option, permutation_obstacle, ranking_screener, target_type, search)
    if p_value_obstacle is None and options.p_values is False and fdr is None:
        p_value_obstacle = "off"
    if p_value_obstacle is not None and not n_permutations:
        return None, p_value_obstacle
    control = ErrorControl(
        p_value_obstacle is None,
        options.fdr_method,
        fdr,
        n_permutations,
        is_requested=is_requested,
        source=source,
    )
    return control, p_value_obstacle


def limit_cost(
    error_control: ErrorControl | None, n_features: int, n_rows: int
) -> tuple[ErrorControl | None, Obstacle | None]:
    """Leave out p-values that were not asked for if features times rows exceed `MAX_P_VALUE_CELLS`.

    Those of permutations stay, because the permutations were asked for.

    Returns
    -------
    control : ErrorControl or None
        None if nothing is left to compute.
    obstacle : Obstacle or None
        ``"cost"`` if p-values are left out.
    """
    is_costly = n_features * n_rows > MAX_P_VALUE_CELLS
    if error_control is None or not error_control.p_values or not is_costly:
        return error_control, None
    if error_control.is_requested or error_control.source == "permutations":
        return error_control, None
    return (replace(error_control, p_values=False) if error_control.permutations else None), "cost"


def _check_available(
    option: str,
    obstacle: Obstacle | None,
    screener: AnyScreener,
    target_type: TargetType,
    search: SearchMode,
) -> None:
    """Refuse an option that needs p-values or permutations where there is an obstacle."""
    if obstacle is None:
        return
    target = TARGET_TYPES[target_type]
    remedy = f"add {name_option('permutations', 200)}"
    reasons = {
        "joint": f"{screener.name} judges features together, put a column screener such as t0 first",
        "target": f"the target is {target.description}{'' if target.combines_outputs else f', {remedy}'}",
        "search": f"{name_option('search', search)} does not score every feature over all rows, use "
        f"{name_option('search', 'exact')}",
        "pruning": "pruning between layers chose the features by the same target; leave out "
        f"{name_option('pool_size')} and {name_option('prune_by')}",
        "null": f"the null distribution of {screener.name} is unknown, put "
        f"{_list_screeners_with_null()} first, or {remedy}",
    }
    raise OptionError(f"{option} is not available: {reasons[obstacle]}")


def _find_obstacle(
    ranking_screener: AnyScreener, target_type: TargetType, search: SearchMode, *, has_pruning: bool
) -> Obstacle | None:
    """Return the reason why p-values would not be valid for any screener, or None."""
    if not isinstance(ranking_screener, Screener):
        return "joint"
    if not TARGET_TYPES[target_type].supports_inference:
        return "target"
    if search != "exact":
        return "search"
    return "pruning" if has_pruning else None


def _list_screeners_with_null() -> str:
    """List the names of the screeners whose null distribution is known."""
    screeners = SCREENERS.values()
    return " or ".join(
        each.name for each in screeners if getattr(each, "null_distribution", None) is not None
    )


def build_inference(
    error_control: ErrorControl | None, target: Target, ranking_screener: AnyScreener, sign: Sign, seed: int
) -> InferenceConfig | None:
    """Build the configuration of what is accumulated over all features.

    Parameters
    ----------
    error_control : ErrorControl or None
        Settings of error control.
    target : Target
        The target, n rows.
    ranking_screener : Screener or JointScreener
        The first screener, which ranks the features.
    sign : {"free", "positive"}
        Whether decreasing relations count as well as increasing ones.
    seed : int
        Seed of the null distribution and the permutations.

    Returns
    -------
    InferenceConfig or None
        None if nothing is accumulated.
    """
    if error_control is None or not isinstance(ranking_screener, Screener):
        return None
    null, has_null = None, error_control.source == "null distribution"
    if error_control.p_values and has_null and ranking_screener.null_distribution is not None:
        null = ranking_screener.null_distribution(require_numeric_target(target, "p-values"), seed)
    permuted_target = _permute_target(error_control, target, ranking_screener, sign, seed)
    counts_permutations = error_control.p_values and not has_null and permuted_target is not None
    return InferenceConfig(ranking_screener, sign, null, permuted_target, counts_permutations)


def _permute_target(
    error_control: ErrorControl, target: Target, screener: Screener, sign: Sign, seed: int
) -> PermutedTarget | PermutedRows | None:
    """Draw the permutations of max-T p-values; None if none are wanted."""
    count, groups, runs = error_control.permutations, error_control.groups, error_control.runs
    if not count:
        return None
    if screener.rank_weights is None or not target.supports_inference:
        return permute_rows(screener, target, count, seed=seed, sign=sign, groups=groups, runs=runs)
    weights = screener.rank_weights(require_numeric_target(target, "permutations"))
    return permute_target(weights, count, seed=seed, sign_free=sign == "free", groups=groups, runs=runs)

"""What is seen of every feature while a space streams by: its p-value, and how good noise gets.

Error control over a whole space: which figures were asked for, which of them would be honest, and these.

The p-values of a screen hold for features that were fixed before the response was looked at. So there are
none where the response chose the space (cuts between layers, later rounds), and none where not every feature
was scored over all rows (race, sieve).
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.config.parsing import check_positive_int
from symscreen.errors import OptionError, suggest
from symscreen.screeners import SCREENERS, Screener
from symscreen.statistics.inference.max_t import (
    compute_max_t_p_values,
    compute_z_scores,
    count_exchangeable_groups,
    permute_target,
)
from symscreen.statistics.inference.p_value_counts import (
    PValueCounts,
    compute_q_values,
    count_p_values,
    count_p_values_per_bin,
    count_rejections,
    decode_p_values,
    encode_p_values,
    merge_p_value_counts,
)
from symscreen.targets import TARGET_TYPE_DESCRIPTIONS
from symscreen.targets.registry import require_numeric_target

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen.screeners import AnyScreener, Sign
    from symscreen.screening.search.modes import SearchMode
    from symscreen.statistics.inference.max_t import PermutedTarget
    from symscreen.statistics.inference.p_value_counts import FdrMethod
    from symscreen.statistics.nulls.null_table import NullDistribution
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.statistics.workspace import Workspace
    from symscreen.targets import TargetType
    from symscreen.targets.registry import Target


__all__ = [
    "EMPTY_INFERENCE_STATE",
    "ErrorControl",
    "InferenceAccumulator",
    "InferenceConfig",
    "InferenceState",
    "build_inference",
    "compute_error_control",
    "compute_feature_p_values",
    "limit_blas_threads",
    "merge_inference_states",
    "merge_inference_states_if_due",
    "parse_error_control",
]

_MAX_WAITING_COUNTS = 1 << 20  # counts that wait to be added up
_MAX_PARTS = 256


@dataclass(frozen=True, eq=False)
class InferenceConfig:
    """What is to be seen of every feature.

    Parameters
    ----------
    screener : Screener
        Whose statistic it is, the first one's.
    sign : {"free", "positive"}
        Whether falling with the response is as good as rising with it.
    null : Null or None
        Its distribution under independence, where p-values are wanted.
    shuffles : Shuffles or None
        The response permuted, where the best of the space under permutations is wanted.
    """

    screener: Screener
    sign: Sign
    null: NullDistribution | None
    permuted_target: PermutedTarget | None

    def compute_p_values(self, block: SortedBlock, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute p-values of features, shape (m,); only where there is a null distribution."""
        assert self.null is not None  # noqa: S101  # who asks has looked
        return self.null(block, statistics, self.sign)


@contextmanager
def limit_blas_threads(inference: InferenceConfig | None) -> Iterator[None]:
    """Keep BLAS, where a watch uses it, from starting threads under our own."""
    if inference is None or inference.permuted_target is None:
        yield
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


@dataclass(frozen=True, eq=False)
class InferenceState:
    """What was seen of some features.

    Parameters
    ----------
    tally : Tally
        Their p-values; empty where none were wanted.
    best : float64 array, shape (B,), or None
        The best of them under each permutation.
    """

    p_value_counts: PValueCounts
    max_statistics: NDArray[np.float64] | None


EMPTY_INFERENCE_STATE = InferenceState(merge_p_value_counts([]), None)


class InferenceAccumulator:
    """Sees the blocks of one range, one after the other.

    Parameters
    ----------
    watch : Watch
        What is to be seen.
    room : Room
        Of the thread.
    """

    def __init__(self, inference: InferenceConfig, workspace: Workspace) -> None:
        self._inference, self._workspace = inference, workspace
        self._p_values = [np.zeros(0)]
        self._max_statistics = (
            None if inference.permuted_target is None else inference.permuted_target.initial_max
        )

    def update(self, block: SortedBlock, statistics: NDArray[np.float64]) -> None:
        """See a block of features, whose statistics are known."""
        if self._inference.null is not None:
            self._p_values.append(self._inference.compute_p_values(block, statistics))
        if self._inference.permuted_target is not None and self._max_statistics is not None:
            self._inference.permuted_target.update_max(block, self._max_statistics, self._workspace)

    @property
    def state(self) -> InferenceState:
        """What has been seen so far."""
        return InferenceState(count_p_values(np.concatenate(self._p_values)), self._max_statistics)


def merge_inference_states(parts: Sequence[InferenceState]) -> InferenceState:
    """Add up what was seen of several parts of a space; none or more, in any order.

    Parameters
    ----------
    parts : sequence of Seen
        Of one watch.

    Returns
    -------
    Seen
    """
    bests = [part.max_statistics for part in parts if part.max_statistics is not None]
    best = np.maximum.reduce(bests) if bests else None
    return InferenceState(merge_p_value_counts([part.p_value_counts for part in parts]), best)


def merge_inference_states_if_due(parts: list[InferenceState]) -> list[InferenceState]:
    """Add parts up once they have outgrown what was added up before, so that each time pays for itself."""
    waiting = sum(len(part.p_value_counts.keys) for part in parts[1:])
    due = waiting > max(_MAX_WAITING_COUNTS, 2 * len(parts[0].p_value_counts.keys)) or len(parts) > _MAX_PARTS
    return [merge_inference_states(parts)] if due else parts


def compute_feature_p_values(
    inference: InferenceConfig, inference_state: InferenceState, blocks: Iterator[SortedBlock], target: Target
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Look at the features that are shown once more.

    Parameters
    ----------
    watch : Watch
        As while they streamed by.
    seen : Seen
        Of the whole space.
    blocks : iterator of Ordered
        The features shown, in their order.
    response : Response or RankingResponse
        The response.

    Returns
    -------
    keys : int32 array, shape (k,) or (0,)
        Their p-values, as the tally writes them; empty where none were wanted.
    family : float64 array, shape (k,) or (0,)
        Their max-T p-values; the same.
    """
    keys, family = [np.zeros(0, dtype=np.int32)], [np.zeros(0)]
    for ordered in blocks:
        if inference.null is not None:
            keys.append(
                encode_p_values(
                    inference.compute_p_values(ordered, inference.screener.statistic(ordered, target))
                )
            )
        if inference.permuted_target is not None and inference_state.max_statistics is not None:
            family.append(
                compute_max_t_p_values(
                    compute_z_scores(ordered, inference.permuted_target), inference_state.max_statistics
                )
            )
    return np.concatenate(keys), np.concatenate(family)


_METHODS: dict[str, FdrMethod] = {"bh": "bh", "by": "by"}
_PRUNING_REASON = "the cuts between layers chose the features by the same response"


@dataclass(frozen=True, slots=True)
class ErrorControl:
    """What is asked of the control of errors.

    Parameters
    ----------
    p_values : bool
        Whether there are p- and q-values: the first screener knows its null distribution.
    method : {"bh", "by"}
        Benjamini and Hochberg's q-values, or Benjamini and Yekutieli's.
    fdr : float or None
        The false discovery rate that what is shown must pass; None for showing the best whatever it is.
    permutations : int
        B of max-T; 0 for none.
    groups : int64 array, shape (n,), optional
        The number of each row's group, where permutations leave groups together.
    """

    p_values: bool = True
    method: FdrMethod = "bh"
    fdr: float | None = None
    permutations: int = 0
    groups: NDArray[np.int64] | None = field(default=None, compare=False)


def parse_error_control(
    *,
    p_values: bool | None,
    fdr: object,
    method: str,
    permutations: object,
    ranking_screener: AnyScreener,
    target_type: TargetType,
    search: SearchMode,
    rounds: int,
    has_pruning: bool,
) -> tuple[ErrorControl | None, tuple[str, ...]]:
    """Read the options of error control.

    Parameters
    ----------
    p_values : bool or None
        Whether p- and q-values are asked for; None for having them where they can be had.
    fdr, method, permutations : object
        As they were given; a false discovery rate asks for p-values.
    first : Screener or JointScreener
        The one that ranks.
    kind : Kind
        What the response is.
    search : {"exact", "race", "sieve"}
        Which features are scored over all rows.
    rounds : int
        Of the screen.
    cut : bool
        Whether there are cuts between layers.

    Returns
    -------
    control : ErrorControl or None
        None where there can be no honest figures.
    notices : tuple of str
        What is left out, and why, where it would be there else.

    Raises
    ------
    OptionError
        If an option is out of its range, or asks for what cannot be had.

    Examples
    --------
    >>> given = {"p_values": False, "fdr": None, "method": "bh", "permutations": 200}
    >>> plain = {"kind": "numeric", "search": "exact", "rounds": 1, "cut": False}
    >>> parse_error_control(first=SCREENERS["t0"], **given, **plain)[0].permutations
    200
    """
    if method not in _METHODS:
        raise OptionError(f"fdr_method is {method!r}{suggest(str(method), _METHODS)}")
    if fdr is not None and (isinstance(fdr, bool) or not isinstance(fdr, float) or not 0.0 < fdr < 1.0):
        raise OptionError(f"fdr is {fdr!r}; give a rate between 0 and 1, such as 0.05")
    many = 0 if permutations is None else check_positive_int("permutations", permutations)
    why = _find_obstacle(ranking_screener, target_type, search, has_pruning=has_pruning)
    has_null = isinstance(ranking_screener, Screener) and ranking_screener.null_distribution is not None
    if p_values or fdr is not None:
        asked = "--p-values" if fdr is None else f"--fdr {fdr:g}"
        known = f"the null distribution of {ranking_screener.name} is not known, put {_list_screeners_with('null')} first"
        _check_available(asked, why or (None if has_null else known))
        if fdr is not None and rounds > 1:
            _check_available(
                asked, "rounds after the first screen what was fitted to the response, use --rounds 1"
            )
    if many:
        linear = isinstance(ranking_screener, Screener) and ranking_screener.rank_weights is not None
        known = f"{ranking_screener.name} is no linear rank statistic, put {_list_screeners_with('weights')} first"
        _check_available(f"--permutations {many}", why or (None if linear else known))
    wanted = has_null and (p_values is not False or fdr is not None)
    notices: tuple[str, ...] = ()
    if wanted and why == _PRUNING_REASON:
        notices = (f"p- and q-values are left out: {_PRUNING_REASON}",)
    elif wanted and why is None and rounds > 1:
        notices = (
            "p- and q-values are given for round 1: later ones screen what was fitted to the response",
        )
    wanted = wanted and why is None
    control = ErrorControl(wanted, _METHODS[method], fdr, many) if wanted or many else None
    return control, notices


def _check_available(option: str, reason: str | None) -> None:
    if reason is not None:
        raise OptionError(f"{option} cannot be had: {reason}")


def _find_obstacle(
    ranking_screener: AnyScreener, target_type: TargetType, search: SearchMode, *, has_pruning: bool
) -> str | None:
    """Say what keeps any screener's figures from being honest."""
    if not isinstance(ranking_screener, Screener):
        return f"{ranking_screener.name} judges features together, put a column screener such as t0 first"
    if target_type != "numeric":
        return f"the response is {TARGET_TYPE_DESCRIPTIONS[target_type]}"
    if search != "exact":
        return f"--search {search} does not score every feature over all rows, use --search exact"
    return _PRUNING_REASON if has_pruning else None


def _list_screeners_with(attribute: str) -> str:
    return " or ".join(one.name for one in SCREENERS.values() if getattr(one, attribute, None) is not None)


def build_inference(
    error_control: ErrorControl | None, target: Target, ranking_screener: AnyScreener, sign: Sign, seed: int
) -> InferenceConfig | None:
    """Say what is to be seen of every feature while a space streams by.

    Parameters
    ----------
    control : ErrorControl or None
        What is asked.
    response : Response or RankingResponse
        The response.
    first : Screener or JointScreener
        The one that ranks.
    sign : {"free", "positive"}
        Whether falling with the response is as good as rising with it.
    seed : int
        Of the null distribution and the permutations.

    Returns
    -------
    Watch or None
    """
    if error_control is None or not isinstance(ranking_screener, Screener):
        return None
    known, null, shuffles = require_numeric_target(target, "error control"), None, None
    if error_control.p_values and ranking_screener.null_distribution is not None:
        null = ranking_screener.null_distribution(known, seed)
    if error_control.permutations and ranking_screener.rank_weights is not None:
        shuffles = permute_target(
            ranking_screener.rank_weights(known),
            error_control.permutations,
            seed=seed,
            sign_free=sign == "free",
            groups=error_control.groups,
        )
    return InferenceConfig(ranking_screener, sign, null, shuffles)


def compute_error_control(
    inference: InferenceConfig,
    error_control: ErrorControl,
    inference_state: InferenceState,
    blocks: Iterator[SortedBlock],
    target: Target,
) -> tuple[dict[str, NDArray[np.float64]], dict[str, Any]]:
    """Compute the figures of the features that are shown.

    Parameters
    ----------
    watch : Watch
        What was to be seen.
    control : ErrorControl
        What is asked.
    seen : Seen
        What was seen of all features.
    blocks : iterator of Ordered
        The k features shown, in their order.
    response : Response or RankingResponse
        The response.

    Returns
    -------
    columns : dict of str to float64 array, shape (k,)
        ``p_value`` and ``q_value``, ``p_family``: those asked for.
    record : dict
        What was done, for the run's record.
    """
    keys, family = compute_feature_p_values(inference, inference_state, blocks, target)
    columns: dict[str, NDArray[np.float64]] = {}
    record: dict[str, Any] = {}
    if inference.null is not None:
        q = compute_q_values(inference_state.p_value_counts, error_control.method)
        columns = {
            "p_value": decode_p_values(keys),
            "q_value": q[np.searchsorted(inference_state.p_value_counts.keys, keys)],
        }
        record = {
            "method": error_control.method,
            "tests": inference_state.p_value_counts.total,
            "histogram": count_p_values_per_bin(inference_state.p_value_counts).tolist(),
        }
        if error_control.fdr is not None:
            record |= {
                "fdr": error_control.fdr,
                "passing": count_rejections(
                    inference_state.p_value_counts, error_control.method, error_control.fdr
                ),
                "least_q": float(q[0]) if len(q) else None,
            }
    if inference.permuted_target is not None:
        columns["p_family"] = family
        record["permutations"] = error_control.permutations
        if error_control.groups is not None:
            moved, units = (
                count_exchangeable_groups(error_control.groups),
                int(error_control.groups.max()) + 1,
            )
            record["groups"] = {"units": units, "trade_places": moved}
    return columns, record

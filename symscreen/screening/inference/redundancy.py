"""Leave near-duplicates out of a ranking: the best feature represents those with nearly the same ranks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import MemoryLimitError, OptionError
from symscreen.expressions.printing import to_text
from symscreen.messages import name_option
from symscreen.screening.residual_rounds import run_rounds
from symscreen.statistics.ranks.sorted_block import sort_block

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.data import Dataset
    from symscreen.expansion import Space
    from symscreen.screening.residual_rounds import RoundResult, ScreenConfig
    from symscreen.screening.scoring.top_features import FeatureTable


_INITIAL_WIDENING = (
    16  # classes examined per wanted class in the first attempt; each further one has 8 times more
)
_MAX_CLASSES = 1 << 16  # classes examined at most
_MAX_LISTED = 100  # near-duplicates that the record lists for one feature
_MAX_EXACT_ROWS = 1 << 20  # up to here, sums of products of doubled ranks stay below 2⁶³
_BLOCK_VALUES = 1 << 20  # feature values computed at a time


def check_max_correlation(
    max_correlation: float | None, top: int | str, rounds: int, stability: int | None
) -> None:
    """Check the option `distinct`, the maximum rank correlation between features shown.

    Parameters
    ----------
    max_correlation : float or None
        The option `distinct`, in (0, 1).
    top, rounds, stability
        Other options of the same screen.

    Raises
    ------
    OptionError
        If the value is not between 0 and 1, or the option cannot be combined with the others.
    """
    if max_correlation is None:
        return
    if (
        isinstance(max_correlation, bool)
        or not isinstance(max_correlation, int | float)
        or not 0.0 < max_correlation < 1.0
    ):
        raise OptionError(
            f"distinct is {max_correlation!r}; give a rank correlation between 0 and 1, such as 0.99"
        )
    if top == "all":
        raise OptionError(
            f"{name_option('top', 'all')} shows every feature, but {name_option('distinct')} omits some: "
            f"give {name_option('top')} a number"
        )
    if rounds != 1:
        raise OptionError(
            f"{name_option('distinct')} cannot be combined with {name_option('rounds', rounds)}: it "
            "applies to one round; leave one of them out"
        )
    if stability is not None:
        raise OptionError(
            f"{name_option('stability')} requires the whole ranking, but {name_option('distinct')} omits "
            "features: leave one of them out"
        )


def run_non_redundant_rounds(
    dataset: Dataset, config: ScreenConfig, rounds: int, max_correlation: float | None
) -> tuple[list[RoundResult], dict[str, Any] | None]:
    """Screen a dataset; if a maximum correlation is given, omit redundant features from the result.

    Parameters
    ----------
    dataset : Dataset
        The data.
    config : ScreenConfig
        The screen.
    rounds : int
        Maximum number of rounds; 1 if `max_correlation` is given.
    max_correlation : float or None
        Maximum absolute Spearman correlation of two features that are shown; None for no limit.

    Returns
    -------
    round_results : list of RoundResult
        With a limit, the features shown have a column ``stands_for``: the number of features that each
        represents.
    record : dict or None
        With a limit, the number of classes examined and the features that each feature represents.

    Notes
    -----
    The classes are examined from best to worst. A class is shown unless it correlates above the limit with a
    better class that is shown; the best of those then represents it. Classes are examined until K are shown,
    up to 65,536, so the result is the same as for the whole ranking.
    """
    if max_correlation is None:
        return run_rounds(dataset, config, rounds), None
    result, n_wanted = screen_until_filled(dataset, config, max_correlation), config.scoring.limit
    round_result = result.round_result
    assert n_wanted is not None  # noqa: S101  # checked with the options
    notices = _format_redundancy_notices(
        len(result.selected_indices),
        n_wanted,
        len(round_result.scoring_result.features),
        max_correlation,
        result.limit_reason,
    )
    # If a false discovery rate is given, shown_indices are the features that pass it.
    shown = np.intersect1d(result.selected_indices, round_result.shown_indices)
    marked = _mark_representatives(round_result, shown, result.representatives, notices)
    return [marked], _build_redundancy_record(round_result, shown, result.representatives, max_correlation)


@dataclass(frozen=True, eq=False)
class RedundancyResult:
    """A ranking whose redundant features were identified.

    Parameters
    ----------
    round_result : RoundResult
        The classes that were examined, and perhaps more.
    selected_indices : int64 array, shape (k,)
        Indices of the classes to show, ascending.
    representatives : int64 array, shape (m,)
        Index of the representative of each class examined.
    limit_reason : str
        The limit that stopped the examination early; empty if none did.
    """

    round_result: RoundResult
    selected_indices: NDArray[np.int64]
    representatives: NDArray[np.int64]
    limit_reason: str


def screen_until_filled(dataset: Dataset, config: ScreenConfig, max_correlation: float) -> RedundancyResult:
    """Examine a ranking until the wanted number of features can be shown.

    Parameters
    ----------
    dataset, config
        See `run_non_redundant_rounds`.
    max_correlation : float
        Maximum absolute rank correlation, in (0, 1).

    Returns
    -------
    RedundancyResult
    """
    n_wanted = config.scoring.limit
    assert n_wanted is not None  # noqa: S101  # checked with the options
    rounds: list[RoundResult] = []
    limit, limit_reason = min(_INITIAL_WIDENING * n_wanted, max(_MAX_CLASSES, n_wanted)), ""
    while True:
        try:
            rounds = run_rounds(dataset, replace(config, scoring=replace(config.scoring, limit=limit)), 1)
        except MemoryLimitError:
            if not rounds:
                raise
            limit_reason = "memory limit"
            break
        features = rounds[0].scoring_result.features
        selected, representatives = filter_redundant(rounds[0].space, features, n_wanted, max_correlation)
        if len(selected) == n_wanted or len(features) < limit:
            break
        if limit >= _MAX_CLASSES:
            limit_reason = "maximum length of a ranking"
            break
        limit = min(8 * limit, _MAX_CLASSES)
    return RedundancyResult(rounds[0], selected, representatives, limit_reason)


def filter_redundant(
    space: Space, features: FeatureTable, n_wanted: int, max_correlation: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Select features from best to worst so that no two correlate above a limit.

    Parameters
    ----------
    space : Space
        The space of the features, n rows.
    features : FeatureTable
        Equivalence classes, best first.
    n_wanted : int
        Maximum number of features to select.
    max_correlation : float
        Maximum absolute rank correlation, in (0, 1).

    Returns
    -------
    selected : int64 array, shape (k,)
        Indices of the selected classes, ascending.
    representatives : int64 array, shape (m,)
        Index of the representative of each class examined, up to the last one selected.
    """
    n = space.n_rows
    dtype = np.int64 if n <= _MAX_EXACT_ROWS else np.float64
    ranks, norms = np.empty((n_wanted, n), dtype=dtype), np.empty(n_wanted)
    selected, representatives = list[int](), list[int]()
    step = max(1, _BLOCK_VALUES // max(1, n))
    for start in range(0, len(features), step):
        values = space.compute_values(features.number[start : start + step])
        for centered_ranks in sort_block(values).doubled_ranks.astype(dtype) - (n + 1):
            norm = float((centered_ranks * centered_ranks).sum()) ** 0.5
            products = (ranks[: len(selected)] * centered_ranks).sum(axis=1)
            correlations = np.round(np.abs(products) / (norms[: len(selected)] * norm), 12)
            correlated = np.flatnonzero(correlations > max_correlation)
            representatives.append(selected[correlated[0]] if len(correlated) else len(representatives))
            if len(correlated):
                continue
            ranks[len(selected)], norms[len(selected)] = centered_ranks, norm
            selected.append(len(representatives) - 1)
            if len(selected) == n_wanted:
                return np.array(selected), np.array(representatives)
    return np.array(selected, dtype=np.int64), np.array(representatives, dtype=np.int64)


def _mark_representatives(
    round_result: RoundResult,
    shown_indices: NDArray[np.int64],
    representatives: NDArray[np.int64],
    notices: tuple[str, ...],
) -> RoundResult:
    """Show the selected features, and add the number of features that each represents."""
    counts = np.zeros(len(round_result.scoring_result.features), dtype=np.int64)
    counts[: len(representatives)] = np.bincount(representatives, minlength=len(representatives))
    columns = round_result.scoring_result.extra_columns | {"stands_for": counts - 1}
    return replace(
        round_result,
        scoring_result=replace(round_result.scoring_result, extra_columns=columns),
        shown_indices=shown_indices,
        notices=(*round_result.notices, *notices),
    )


def _format_redundancy_notices(
    n_shown: int, n_wanted: int, n_examined: int, max_correlation: float, limit_reason: str
) -> tuple[str, ...]:
    if n_shown == n_wanted:
        return ()
    if limit_reason:
        reason = f"only the best {n_examined:,} classes were examined ({limit_reason})"
        return (f"distinct: {n_shown} of {n_wanted} are shown, because {reason}",)
    condition = f"have no rank correlation above {max_correlation:g}"
    return (f"distinct: of {n_examined:,} classes only {n_shown} {condition}",)


def _build_redundancy_record(
    round_result: RoundResult,
    shown_indices: NDArray[np.int64],
    representatives: NDArray[np.int64],
    max_correlation: float,
) -> dict[str, Any]:
    """Build the record of the features that each shown feature represents."""
    listed = []
    for rank, index in enumerate(shown_indices.tolist(), start=1):
        others = np.flatnonzero(representatives == index)
        others = others[others != index]
        if len(others):
            numbers = round_result.scoring_result.features.number[others[:_MAX_LISTED]].tolist()
            texts = [to_text(round_result.space.build_expression(number)) for number in numbers]
            places = (others[:_MAX_LISTED] + 1).tolist()
            redundant = [
                {"place": place, "expression": text} for place, text in zip(places, texts, strict=True)
            ]
            listed.append({"rank": rank, "stands_for": len(others), "features": redundant})
    return {"cap": max_correlation, "classes_looked_at": len(representatives), "shown": listed}

"""Near-duplicates left out of a ranking: where ranks nearly agree, the best feature stands for the others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import MemoryLimitError, OptionError
from symscreen.expressions.tree import to_text
from symscreen.screening.residual_rounds import run_rounds
from symscreen.statistics.ranks.sorted_block import sort_block

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.data import Dataset
    from symscreen.expansion import Space
    from symscreen.screening.residual_rounds import RoundResult, ScreenConfig
    from symscreen.screening.scoring.top_features import FeatureTable


__all__ = [
    "RedundancyResult",
    "check_max_correlation",
    "filter_redundant",
    "run_non_redundant_rounds",
    "screen_until_filled",
]

_INITIAL_WIDENING = 16  # classes looked at first for each one wanted; then eight times as many, and so on
_MAX_CLASSES = 1 << 16
_MAX_LISTED = 100  # near-duplicates that the record names for one feature
_MAX_EXACT_ROWS = 1 << 20  # sums of products of twice the ranks stay below 2⁶³
_BLOCK_VALUES = 1 << 20


def check_max_correlation(
    max_correlation: float | None, top: int | str, rounds: int, stability: int | None
) -> None:
    """Refuse a cap on rank correlations that has no meaning.

    Parameters
    ----------
    cap : float or None
        The option `distinct`.
    top, rounds, stability
        Of the same screen.

    Raises
    ------
    OptionError
        If the cap is not between 0 and 1, or something else is asked for that does not go with it.
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
        raise OptionError("--top all shows every feature, --distinct leaves some out: give --top a number")
    if rounds != 1:
        raise OptionError(f"--distinct thins one round, and --rounds is {rounds}: leave one of them out")
    if stability is not None:
        raise OptionError(
            "--stability counts places in the whole ranking, which --distinct thins: leave one of them out"
        )


def run_non_redundant_rounds(
    dataset: Dataset, config: ScreenConfig, rounds: int, max_correlation: float | None
) -> tuple[list[RoundResult], dict[str, Any] | None]:
    """Screen a table, and thin what is shown where a cap is given.

    Parameters
    ----------
    table : Table
        The data.
    job : Job
        What to do.
    rounds : int
        How many rounds at most; 1 where there is a cap.
    cap : float or None
        The largest |Spearman's rank correlation| that two features shown may have; None for any.

    Returns
    -------
    list of Round
        With a cap, features that are shown have a column ``stands_for``: for how many left out.
    dict or None
        For the record, with a cap: how many classes were looked at, and who stands for whom.

    Notes
    -----
    The ranking of classes is gone through from the best down. A class is shown if no better one that is shown
    correlates with it above the cap; else the best of those stands for it. So many classes are looked at that
    K are shown, if the space has them, up to 65,536: what is shown is what the whole ranking would give.
    """
    if max_correlation is None:
        return run_rounds(dataset, config, rounds), None
    found, wanted = screen_until_filled(dataset, config, max_correlation), config.scoring.limit
    own = found.round_result
    assert wanted is not None  # noqa: S101  # the options were refused otherwise
    notices = _format_redundancy_notices(
        len(found.selected_indices),
        wanted,
        len(own.scoring_result.features),
        max_correlation,
        found.limit_reason,
    )
    # what passes the false discovery rate, where one is asked for
    shown = np.intersect1d(found.selected_indices, own.shown_indices)
    return [_mark_representatives(own, shown, found.representatives, notices)], _build_redundancy_record(
        own, shown, found.representatives, max_correlation
    )


@dataclass(frozen=True, eq=False)
class RedundancyResult:
    """A ranking that was looked through from the best down.

    Parameters
    ----------
    found : Round
        The classes that were looked at, and perhaps more.
    chosen : int64 array
        Places of those shown, ascending.
    stands_in : int64 array, shape (m,)
        For each class looked at the place of the one that stands for it.
    bound : str
        What kept it from looking further; empty where nothing did.
    """

    round_result: RoundResult
    selected_indices: NDArray[np.int64]
    representatives: NDArray[np.int64]
    limit_reason: str


def screen_until_filled(dataset: Dataset, config: ScreenConfig, max_correlation: float) -> RedundancyResult:
    """Look through so much of a ranking that as many features as wanted are shown.

    Parameters
    ----------
    table, job
        As of `run_non_redundant_rounds`.
    cap : float
        Between 0 and 1.

    Returns
    -------
    Thinned
    """
    wanted = config.scoring.limit
    assert wanted is not None  # noqa: S101  # the options were refused otherwise
    found: list[RoundResult] = []
    wide, notice = min(_INITIAL_WIDENING * wanted, max(_MAX_CLASSES, wanted)), ""
    while True:
        request = replace(config.scoring, limit=wide)
        try:
            found = run_rounds(dataset, replace(config, scoring=request), 1)
        except MemoryLimitError:
            if not found:
                raise
            notice = "the memory allowed"
            break
        kept = found[0].scoring_result.features
        shown, stands_in = filter_redundant(found[0].space, kept, wanted, max_correlation)
        if len(shown) == wanted or len(kept) < wide:
            break
        if wide >= _MAX_CLASSES:
            notice = "what is kept of a ranking"
            break
        wide = min(8 * wide, _MAX_CLASSES)
    return RedundancyResult(found[0], shown, stands_in, notice)


def filter_redundant(
    space: Space, features: FeatureTable, n_wanted: int, max_correlation: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Choose features from the best down, none of which correlates with a better chosen one above a cap.

    Parameters
    ----------
    space : Space
        The features.
    kept : Kept
        Classes, best first.
    wanted : int
        How many to choose at most.
    cap : float
        Between 0 and 1.

    Returns
    -------
    chosen : int64 array
        Places, ascending.
    stands_in : int64 array, shape (m,)
        For each class looked at, up to the last one chosen, the place of the one that stands for it.
    """
    n = space.n_rows
    kind = np.int64 if n <= _MAX_EXACT_ROWS else np.float64
    ranks, spread = np.empty((n_wanted, n), dtype=kind), np.empty(n_wanted)
    chosen, stands_in = list[int](), list[int]()
    step = max(1, _BLOCK_VALUES // max(1, n))
    for start in range(0, len(features), step):
        values = space.compute_values(features.number[start : start + step])
        for own in sort_block(values).doubled_ranks.astype(kind) - (n + 1):
            size = float((own * own).sum()) ** 0.5
            products = (ranks[: len(chosen)] * own).sum(axis=1)
            near = np.flatnonzero(
                np.round(np.abs(products) / (spread[: len(chosen)] * size), 12) > max_correlation
            )
            stands_in.append(chosen[near[0]] if len(near) else len(stands_in))
            if len(near):
                continue
            ranks[len(chosen)], spread[len(chosen)] = own, size
            chosen.append(len(stands_in) - 1)
            if len(chosen) == n_wanted:
                return np.array(chosen), np.array(stands_in)
    return np.array(chosen, dtype=np.int64), np.array(stands_in, dtype=np.int64)


def _mark_representatives(
    round_result: RoundResult,
    shown_indices: NDArray[np.int64],
    representatives: NDArray[np.int64],
    notices: tuple[str, ...],
) -> RoundResult:
    """Show what was chosen, and count what each stands for."""
    counts = np.zeros(len(round_result.scoring_result.features), dtype=np.int64)
    counts[: len(representatives)] = np.bincount(representatives, minlength=len(representatives))
    screened = replace(
        round_result.scoring_result,
        extra_columns=round_result.scoring_result.extra_columns | {"stands_for": counts - 1},
    )
    return replace(
        round_result,
        scoring_result=screened,
        shown_indices=shown_indices,
        notices=(*round_result.notices, *notices),
    )


def _format_redundancy_notices(
    n_shown: int, n_wanted: int, n_examined: int, max_correlation: float, limit_reason: str
) -> tuple[str, ...]:
    if n_shown == n_wanted:
        return ()
    if limit_reason:
        few = f"no more than the best {n_examined:,} classes were looked at ({limit_reason})"
        return (f"distinct: {n_shown} of {n_wanted} are shown, for {few}",)
    return (
        f"distinct: of {n_examined:,} classes only {n_shown} have no rank correlation above "
        f"{max_correlation:g}",
    )


def _build_redundancy_record(
    round_result: RoundResult,
    shown_indices: NDArray[np.int64],
    representatives: NDArray[np.int64],
    max_correlation: float,
) -> dict[str, Any]:
    """Write down who stands for whom."""
    listed = []
    for rank, place in enumerate(shown_indices.tolist(), start=1):
        others = np.flatnonzero(representatives == place)
        others = others[others != place]
        if len(others):
            numbers = round_result.scoring_result.features.number[others[:_MAX_LISTED]].tolist()
            texts = [to_text(round_result.space.build_expression(number)) for number in numbers]
            places = (others[:_MAX_LISTED] + 1).tolist()
            near = [{"place": at, "expression": text} for at, text in zip(places, texts, strict=True)]
            listed.append({"rank": rank, "stands_for": len(others), "features": near})
    return {"cap": max_correlation, "classes_looked_at": len(representatives), "shown": listed}

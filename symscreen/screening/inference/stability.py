"""Stability selection: how often the class of a feature is among the best on half-samples of the rows.

Complementary pairs: the rows are split at random into two halves, B times, and both halves of each pair are
screened (Shah and Samworth 2013, Variable selection with error control: another look at stability selection).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import InputError, OptionError
from symscreen.messages import name_option, name_option_column
from symscreen.screening.inference.row_subsets import find_shown_classes, take_task_rows
from symscreen.screening.residual_rounds import run_round

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symscreen._typing import Integers
    from symscreen.config.screen_options import ScreenOptions
    from symscreen.data import Dataset
    from symscreen.screening.residual_rounds import RoundResult
    from symscreen.screening.task import RowGroups, ScreeningTask

_HALVES_RANDOM_STREAM = 2  # random stream of a seed
_MIN_GROUPS = 4  # groups of a table
_MIN_ROWS = 10  # rows of a table
_THRESHOLDS = (0.6, 0.7, 0.8, 0.9, 1.0)  # selection shares for which the record gives bounds


@dataclass(frozen=True, eq=False)
class HalfSampling:
    """How half-samples are drawn.

    Parameters
    ----------
    n_pairs : int
        B, the number of complementary pairs.
    group_ids : int64 array, shape (n,)
        For each row the number (from 0) of its group, which is never split. Without groups it is the row
        itself.
    column : str or None
        Name of the column of groups.
    """

    n_pairs: int
    group_ids: Integers
    column: str | None

    def __post_init__(self) -> None:
        n_groups, n_rows = int(self.group_ids.max(initial=-1)) + 1, len(self.group_ids)
        if self.column is not None and n_groups < _MIN_GROUPS:
            raise OptionError(
                f"{name_option_column('groups', self.column)} has {n_groups} groups, too few to halve: "
                f"give at least {_MIN_GROUPS}"
            )
        if n_rows < _MIN_ROWS:
            raise OptionError(
                f"{name_option('stability')}: {n_rows} rows are too few to halve; give at least {_MIN_ROWS}"
            )


def build_half_sampling(
    dataset: Dataset, options: ScreenOptions, row_groups: RowGroups | None
) -> HalfSampling | None:
    """Build the half-sampling of a screen; None without stability selection.

    Raises
    ------
    OptionError
        If the target is not numeric, or there are too few rows or groups to halve.
    """
    if options.stability is None:
        return None
    if not dataset.target.supports_inference:
        raise OptionError(
            f"{name_option('stability')} requires a numeric target, but {dataset.target.name!r} is "
            f"{dataset.target.description}"
        )
    if row_groups is None:
        return HalfSampling(options.stability, np.arange(dataset.target.n), None)
    return HalfSampling(options.stability, row_groups.group_ids, row_groups.column)


def draw_half_samples(half_sampling: HalfSampling, seed: int) -> Iterator[Integers]:
    """Draw complementary pairs of half-samples.

    Parameters
    ----------
    half_sampling : HalfSampling
        The number of pairs and the groups.
    seed : int
        Seed of the screen.

    Yields
    ------
    int64 array, shape (m,)
        Row indices, ascending; the two halves of a pair follow each other. Each half has half of the groups,
        rounded down. If the number of groups is odd, one group is in neither half of a pair.

    Examples
    --------
    >>> from symscreen.screening.inference.stability import HalfSampling
    >>> first, second = draw_half_samples(HalfSampling(1, np.arange(10), None), seed=0)
    >>> sorted([*first.tolist(), *second.tolist()]) == list(range(10))
    True
    """
    n_groups = int(half_sampling.group_ids.max()) + 1
    for pair in range(half_sampling.n_pairs):
        seeds = np.random.SeedSequence((seed, _HALVES_RANDOM_STREAM, pair))
        permutation = np.random.default_rng(seeds).permutation(n_groups)
        for start in (0, n_groups // 2):
            is_selected = np.zeros(n_groups, dtype=np.bool_)
            is_selected[permutation[start : start + n_groups // 2]] = True
            yield np.flatnonzero(is_selected[half_sampling.group_ids])


def bound_false_selections(n_selected: float, n_features: int, threshold: float) -> float:
    """Bound the expected number of selected features that have a low selection probability.

    Parameters
    ----------
    n_selected : float
        q, the average number of features that a half-sample selects.
    n_features : int
        p, the number of features.
    threshold : float
        τ > 1/2, the share of half-samples from which a feature counts as selected.

    Returns
    -------
    float
        q²/((2τ − 1)p), Theorem 1 of Shah and Samworth (2013) with θ = q/p. It holds for any selection
        procedure and any dependence between features, without assumptions on the distribution of the
        selection shares. A feature has a low selection probability if a half-sample selects it with
        probability at most q/p, as a random choice would.

    Examples
    --------
    >>> round(bound_false_selections(20, 10_000, 0.9), 6)
    0.05
    """
    return n_selected**2 / ((2 * threshold - 1) * n_features)


def add_stability(task: ScreeningTask, round_result: RoundResult) -> tuple[RoundResult, dict[str, Any]]:
    """Screen half-samples and compute how often the class of each shown feature is among the best K.

    Returns
    -------
    round_result : RoundResult
        The result with a column ``stability``.
    record : dict
        Pairs, groups, q, p and the bounds by threshold, for the record.

    Raises
    ------
    OptionError
        If a half cannot be screened; the message gives the reason.

    Notes
    -----
    A feature counts as selected in a half if the screen of that half shows a feature of the same equivalence
    class there. Each half is screened from scratch: its space is grown and pruned with the rows of the half.
    """
    half_sampling = build_half_sampling(task.dataset, task.options, task.row_groups)
    assert half_sampling is not None  # noqa: S101  # the option is given
    expressions = round_result.expressions
    counts, n_selected = np.zeros(len(expressions), dtype=np.int64), []
    for number, rows in enumerate(draw_half_samples(half_sampling, task.options.seed), start=1):
        try:
            half = take_task_rows(task, rows)
            half_result = run_round(half).scoring_result
        except InputError as error:
            raise OptionError(
                f"{name_option('stability')}: half {number} cannot be screened: {error.template}"
            ) from error
        counts[find_shown_classes(half_result, expressions, half.dataset) >= 0] += 1
        n_selected.append(int(half_result.features.class_size.sum()))
    q, p = float(np.mean(n_selected)), round_result.scoring_result.n_scored
    bounds = {f"{threshold:g}": bound_false_selections(q, p, threshold) for threshold in _THRESHOLDS if p}
    record = {
        "pairs": half_sampling.n_pairs,
        "groups": half_sampling.column,
        "units": int(half_sampling.group_ids.max()) + 1,
        "features_selected": q,
        "features": p,
        "false_at_most": bounds,
        "bound": "q^2/((2 tau - 1) p), Shah and Samworth 2013, Theorem 1: no assumption on shapes",
    }
    shares = np.full(len(round_result.scoring_result.features), np.nan)
    shares[round_result.shown_indices] = counts / (2 * half_sampling.n_pairs)
    return round_result.add_columns({"stability": shares}), record

"""Stability selection: how often a feature's class is among the best on halves of the rows.

Complementary pairs: the rows are cut into two halves at random, again and again, and both halves of each pair
are screened (Shah and Samworth 2013, Variable selection with error control: another look).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.config.parsing import check_positive_int
from symscreen.data import take_rows
from symscreen.errors import FormulaError, InputError, OptionError
from symscreen.expansion import evaluate_user_formulas
from symscreen.expressions.tree import evaluate_expression
from symscreen.screening.residual_rounds import run_rounds
from symscreen.screening.run_control import DEFAULT_RUN_CONTROL
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.targets import TARGET_TYPE_DESCRIPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from symscreen.data import Dataset
    from symscreen.screening.preparation import RowGroups
    from symscreen.screening.residual_rounds import RoundResult, ScreenConfig

    RowIndices = NDArray[np.int64]

__all__ = [
    "HalfSampling",
    "add_stability",
    "bound_false_selections",
    "build_half_sampling",
    "draw_half_samples",
]

_HALVES_RANDOM_STREAM = 2  # which of the streams of random numbers of a seed
_MIN_GROUPS = 4
_MIN_ROWS = 10
_THRESHOLDS = (0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True, eq=False)
class HalfSampling:
    """How rows are halved.

    Parameters
    ----------
    pairs : int
        B: how many times the rows are cut into two halves.
    unit : int64 array, shape (n,)
        For each row of the table the number of the unit that is never cut, from 0 up: itself, or its group.
    column : str or None
        The column that tells the groups.
    """

    n_pairs: int
    group_ids: RowIndices
    column: str | None

    def __post_init__(self) -> None:
        units, rows = int(self.group_ids.max(initial=-1)) + 1, len(self.group_ids)
        if self.column is not None and units < _MIN_GROUPS:
            raise OptionError(
                f"--groups {self.column} has {units} groups, too few to halve: give at least {_MIN_GROUPS}"
            )
        if rows < _MIN_ROWS:
            raise OptionError(f"--stability: {rows} rows are too few to halve; give at least {_MIN_ROWS}")


def build_half_sampling(
    dataset: Dataset, n_pairs: int | None, *, row_groups: RowGroups | None, top: int | str, rounds: int
) -> HalfSampling | None:
    """Say how rows are halved for stability selection, or refuse it where it has no meaning.

    Parameters
    ----------
    table : Table
        The data.
    pairs : int or None
        B; None for no stability selection.
    grouping : Grouping or None
        Rows that stay together.
    top, rounds
        As of `symscreen.screen`.

    Returns
    -------
    Halving or None

    Raises
    ------
    OptionError
        If there is no K, several rounds or a ranking, or if rows or groups are too few.
    """
    if n_pairs is None:
        return None
    check_positive_int("stability", n_pairs)
    if dataset.target.target_type != "numeric":
        what = TARGET_TYPE_DESCRIPTIONS[dataset.target.target_type]
        raise OptionError(f"--stability needs a numeric response, and {dataset.target.name!r} is {what}")
    if top == "all":
        raise OptionError("--stability counts how often a feature is among the best K: give --top a number")
    if rounds != 1:
        raise OptionError(f"--stability looks at one round, and --rounds is {rounds}: leave one of them out")
    if row_groups is None:
        return HalfSampling(n_pairs, np.arange(dataset.target.n), None)
    return HalfSampling(n_pairs, row_groups.group_ids, row_groups.column)


def draw_half_samples(half_sampling: HalfSampling, seed: int) -> Iterator[RowIndices]:
    """Draw complementary pairs of half-samples.

    Parameters
    ----------
    halving : Halving
        How.
    seed : int
        Of the screen.

    Yields
    ------
    int64 array
        Rows, ascending; one half after the other. Each has half of the units, rounded down: of an odd number
        one unit is in neither half of a pair.

    Examples
    --------
    >>> from symscreen.screening.inference.stability import HalfSampling
    >>> first, second = draw_half_samples(HalfSampling(1, np.arange(10), None), seed=0)
    >>> sorted([*first.tolist(), *second.tolist()]) == list(range(10))
    True
    """
    units = int(half_sampling.group_ids.max()) + 1
    for pair in range(half_sampling.n_pairs):
        seeds = np.random.SeedSequence((seed, _HALVES_RANDOM_STREAM, pair))
        mixed = np.random.default_rng(seeds).permutation(units)
        for start in (0, units // 2):
            inside = np.zeros(units, dtype=np.bool_)
            inside[mixed[start : start + units // 2]] = True
            yield np.flatnonzero(inside[half_sampling.group_ids])


def bound_false_selections(n_selected: float, n_features: int, threshold: float) -> float:
    """Bound how many features of low chance are expected among those selected.

    Parameters
    ----------
    chosen : float
        q, how many features a half-sample selects on average.
    features : int
        p, how many there are.
    level : float
        τ, above 1/2: the share of half-samples from which on a feature counts as selected.

    Returns
    -------
    float
        q²/((2τ − 1)p): Theorem 1 of Shah and Samworth (2013) with θ = q/p. It holds whatever selects and
        however the features depend on each other: no shape of the distribution of the shares is assumed. Of
        low chance are features that a half-sample selects with a probability of at most q/p, as a choice at
        random would.

    Examples
    --------
    >>> round(bound_false_selections(20, 10_000, 0.9), 6)
    0.05
    """
    return n_selected**2 / ((2 * threshold - 1) * n_features)


def add_stability(
    dataset: Dataset, config: ScreenConfig, round_result: RoundResult, half_sampling: HalfSampling
) -> tuple[RoundResult, dict[str, Any]]:
    """Screen half-samples, and tell how often the class of each feature shown is among the best K.

    Parameters
    ----------
    table : Table
        The data.
    job : Job
        The screen; K is its limit.
    found : Round
        What it found in all rows.
    halving : Halving
        How rows are halved.

    Returns
    -------
    Round
        With a column ``stability``.
    dict
        For the record: pairs, groups, q, p, and the bounds by share.

    Raises
    ------
    OptionError
        If a half cannot be screened, with the reason.

    Notes
    -----
    A feature counts as selected in a half if the screen of that half shows it, or a feature that it cannot
    tell from it there. Each half is screened anew: a space grows, and is cut, by the rows of the half.
    """
    expressions = round_result.expressions
    counts, chosen = np.zeros(len(expressions), dtype=np.int64), []
    for number, rows in enumerate(draw_half_samples(half_sampling, config.scoring.seed), start=1):
        try:
            part = take_rows(dataset, rows)
            half = run_rounds(part, _make_half_config(config, part), 1)[0]
        except InputError as error:
            raise OptionError(f"--stability: half {number} cannot be screened: {error}") from error
        by_name = dict(zip(part.names, part.columns, strict=True))
        values = np.array([evaluate_expression(one, by_name) for one in expressions]).reshape(
            len(expressions), -1
        )
        varied = np.flatnonzero(values.min(axis=1) < values.max(axis=1)) if len(values) else np.arange(0)
        places = half.scoring_result.classes.find_positions(sort_block(np.ascontiguousarray(values[varied])))
        counts[varied[places >= 0]] += 1
        chosen.append(int(half.scoring_result.features.class_size.sum()))
    columns = round_result.scoring_result.extra_columns | {"stability": counts / (2 * half_sampling.n_pairs)}
    q, p = float(np.mean(chosen)), round_result.scoring_result.n_scored
    told = {
        "pairs": half_sampling.n_pairs,
        "groups": half_sampling.column,
        "units": int(half_sampling.group_ids.max()) + 1,
        "features_selected": q,
        "features": p,
        "false_at_most": {f"{level:g}": bound_false_selections(q, p, level) for level in _THRESHOLDS}
        if p
        else {},
        "bound": "q^2/((2 tau - 1) p), Shah and Samworth 2013, Theorem 1: no assumption on shapes",
    }
    return replace(
        round_result, scoring_result=replace(round_result.scoring_result, extra_columns=columns)
    ), told


def _make_half_config(config: ScreenConfig, half: Dataset) -> ScreenConfig:
    """Return the screen of a half: silent, and without formulas of the user's that are constant there."""
    by_name = dict(zip(half.names, half.columns, strict=True))
    none = np.zeros((0, 2), dtype=np.uint64)

    def is_varying(index: int) -> bool:
        try:
            evaluate_user_formulas([config.user_expressions[index]], by_name, none)
        except FormulaError:
            return False
        return True

    also = [one for at, one in enumerate(config.user_expressions) if is_varying(at)]
    return replace(
        config,
        user_expressions=also,
        scoring=replace(config.scoring, run_control=DEFAULT_RUN_CONTROL, error_control=None),
    )

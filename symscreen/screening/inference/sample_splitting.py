"""Sample splitting: rows that the screen does not use test the formulas that it shows.

A p-value of a formula that was chosen because of its score is too small. Rows that had no part in the choice
know nothing of it, so their p-values are valid for the formula chosen (Cox 1975, A note on data-splitting for
the evaluation of significance levels). A correction for the number K of formulas shown is enough. It depends
neither on the number of formulas that were scored nor on how they were chosen.

One split: the screen uses one part of the rows, and the other part tests its list by Holm's method.
B splits: the screen uses all rows. In each split, a formula has K times the p-value of the held-out rows if a
screen of the other rows shows it, and 1 otherwise. Twice the median over the splits is a p-value for all
formulas together (Meinshausen, Meier and Bühlmann 2009, P-values for high-dimensional regression, eq. 2.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.config.parsing import DEFAULT_LEVEL
from symscreen.data import take_rows
from symscreen.errors import InputError, OptionError
from symscreen.expressions.traversal import evaluate_expression
from symscreen.messages import name_option
from symscreen.screeners import T0, Screener
from symscreen.screening.inference.row_subsets import find_shown_classes, take_task_rows
from symscreen.screening.residual_rounds import run_round
from symscreen.statistics.inference.step_down import adjust_holm
from symscreen.statistics.inference.t0_interval import compute_t0_intervals
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.targets.registry import require_numeric_target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen._typing import Integers, Values
    from symscreen.config.screen_options import ScreenOptions
    from symscreen.data import Dataset
    from symscreen.expressions.tree import Expression
    from symscreen.screening.residual_rounds import RoundResult
    from symscreen.screening.task import ScreeningTask
    from symscreen.targets import Target


SPLIT_COLUMNS = ("split_p", "split_gini", "split_low", "split_high")

_SPLITS_RANDOM_STREAM = 5  # random stream of a seed
_DEFAULT_SHARE = 0.5  # share of the rows that test, if only the number of splits is given
_MIN_SEARCH_ROWS, _MIN_TEST_ROWS = 10, 10


@dataclass(frozen=True, eq=False)
class RowSplit:
    """A split of the rows of a dataset: indices of those of the screen and of those that test, ascending."""

    search_rows: Integers
    test_rows: Integers


def draw_row_splits(n_rows: int, options: ScreenOptions) -> list[RowSplit]:
    """Draw the splits of a screen; none without the options `split` and `splits`.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    options : ScreenOptions
        The share, the number of splits and the seed.

    Returns
    -------
    list of RowSplit

    Raises
    ------
    OptionError
        If one of the parts has fewer than ten rows.

    Examples
    --------
    >>> from symscreen.config.screen_options import ScreenOptions
    >>> (split,) = draw_row_splits(40, ScreenOptions(split=0.25))
    >>> len(split.search_rows), len(split.test_rows)
    (30, 10)
    """
    if not options.split and options.splits is None:
        return []
    share = options.split or _DEFAULT_SHARE
    n_test = round(n_rows * share)
    if n_test < _MIN_TEST_ROWS or n_rows - n_test < _MIN_SEARCH_ROWS:
        raise OptionError(
            f"{name_option('split', share)} leaves {n_rows - n_test} of {n_rows} rows for the screen and "
            f"{n_test} for the test; each needs at least {_MIN_TEST_ROWS}"
        )
    splits = []
    for number in range(options.splits or 1):
        seeds = np.random.SeedSequence((options.seed, _SPLITS_RANDOM_STREAM, number))
        permutation = np.random.default_rng(seeds).permutation(n_rows)
        splits.append(RowSplit(np.sort(permutation[n_test:]), np.sort(permutation[:n_test])))
    return splits


def check_splits(options: ScreenOptions, target: Target) -> None:
    """Refuse splits of a target without intervals; only numeric targets have them.

    Raises
    ------
    OptionError
        If splits are requested for such a target.
    """
    if options.split or options.splits is not None:
        name = name_option("splits" if options.splits is not None else "split")
        if not target.supports_inference:
            raise OptionError(
                f"{name} requires a numeric target, but {target.name!r} is {target.description}"
            )


def add_test_columns(task: ScreeningTask, round_result: RoundResult) -> tuple[RoundResult, dict[str, Any]]:
    """Test the formulas shown, which were chosen on the other rows, on the rows kept for it.

    Returns
    -------
    round_result : RoundResult
        The result with the columns `SPLIT_COLUMNS`: the p-value by Holm's method over the formulas shown, Γ,
        and the ends of its interval. A formula that is undefined or constant in these rows has the p-value 1
        and no Γ.
    record : dict
        Rows, level and method, for the record.
    """
    assert task.test_dataset is not None  # noqa: S101  # the option is given
    dataset, level = task.test_dataset, float(task.options.intervals or DEFAULT_LEVEL)
    shown, features = round_result.shown_indices, round_result.scoring_result.features
    screener = _find_test_screener(task)
    columns = np.full((len(SPLIT_COLUMNS), len(features)), np.nan)
    p_values, values, usable = _compute_p_values(
        screener, round_result.expressions, features.direction[shown].astype(np.int64), dataset, task
    )
    columns[0, shown] = adjust_holm(p_values)
    if len(usable):
        target = require_numeric_target(dataset.target, name_option("split"))
        t0 = compute_t0_intervals(values[usable], target, level, None)
        places = shown[usable]
        scores = T0.score(T0.statistic(sort_block(values[usable]), target), target)
        columns[1, places] = 1.0 - scores / target.gini_mean_difference
        columns[2:, places] = t0.gini_low, t0.gini_high
    record = {
        "share": task.options.split,
        "test_rows": dataset.target.n,
        "screener": screener.name,
        "level": level,
        "method": "Holm over the formulas shown",
    }
    return round_result.add_columns(dict(zip(SPLIT_COLUMNS, columns, strict=True))), record


def add_combined_p_values(
    task: ScreeningTask, round_result: RoundResult
) -> tuple[RoundResult, dict[str, Any]]:
    """Test the formulas shown in repeated splits, and combine the p-values.

    Returns
    -------
    round_result : RoundResult
        The result with the column ``split_p``.
    record : dict
        Splits, rows and method, for the record.

    Raises
    ------
    OptionError
        If the rows of a split cannot be screened; the message gives the reason.
    """
    splits = draw_row_splits(task.dataset.target.n, task.options)
    screener, expressions = _find_test_screener(task), round_result.expressions
    corrected = np.ones((len(splits), len(expressions)))
    for number, split in enumerate(splits):
        try:
            part = take_task_rows(task, split.search_rows)
            found = run_round(part).scoring_result
            test_dataset = take_rows(task.dataset, split.test_rows)
        except InputError as error:
            raise OptionError(
                f"{name_option('splits')}: split {number + 1} cannot be screened: {error.template}"
            ) from error
        positions = find_shown_classes(found, expressions, part.dataset)
        chosen = np.flatnonzero(positions >= 0)
        own = [expressions[index] for index in chosen.tolist()]
        directions = _find_directions(screener, own, part.dataset)
        p_values, _, _ = _compute_p_values(screener, own, directions, test_dataset, task)
        corrected[number, chosen] = np.minimum(1.0, len(found.features) * p_values)
    # the upper median, so that the factor 2 is enough for an even number of splits, too
    medians = np.sort(corrected, axis=0)[len(splits) // 2]
    combined = np.full(len(round_result.scoring_result.features), np.nan)
    combined[round_result.shown_indices] = np.minimum(1.0, 2.0 * medians)
    record = {
        "share": task.options.split or _DEFAULT_SHARE,
        "splits": len(splits),
        "test_rows": len(splits[0].test_rows),
        "screener": screener.name,
        "method": "twice the median of Bonferroni's p-values (Meinshausen, Meier and Bühlmann 2009)",
    }
    return round_result.add_columns({"split_p": combined}), record


def _find_test_screener(task: ScreeningTask) -> Screener:
    """Return the screener that tests: the one that ranks if its null distribution is known, otherwise T0."""
    first = task.screeners[0]
    has_null = isinstance(first, Screener) and first.null_distribution is not None
    return first if isinstance(first, Screener) and has_null else T0


def _compute_p_values(
    screener: Screener,
    expressions: Sequence[Expression],
    directions: Integers,
    dataset: Dataset,
    task: ScreeningTask,
) -> tuple[Values, Values, Integers]:
    """Compute the p-values of formulas on rows that did not choose them, one-sided in their directions.

    Return the p-values, shape (k,), which are 1 for formulas that cannot be evaluated; the values, shape
    (k, n); and the indices of the formulas that can be evaluated.
    """
    values, usable = _evaluate(expressions, dataset)
    p_values = np.ones(len(expressions))
    null = (
        None
        if screener.null_distribution is None
        else screener.null_distribution(dataset.target, task.options.seed)
    )
    if null is None or not len(usable):
        return p_values, values, usable
    for direction in (1, -1, 0):
        own = usable[directions[usable] == direction]
        if len(own):
            block = sort_block(np.ascontiguousarray(values[own] * (direction or 1)))
            statistics = screener.statistic(block, dataset.target)
            p_values[own] = null(block, statistics, "positive" if direction else task.options.sign)
    return np.minimum(p_values, 1.0), values, usable


def _find_directions(screener: Screener, expressions: Sequence[Expression], dataset: Dataset) -> Integers:
    """Return the directions of formulas, shape (k,): 1, −1, or 0 if unknown or undefined."""
    values, usable = _evaluate(expressions, dataset)
    directions = np.zeros(len(expressions), dtype=np.int64)
    if len(usable):
        statistics = screener.statistic(sort_block(np.ascontiguousarray(values[usable])), dataset.target)
        directions[usable] = screener.direction(statistics)
    return directions


def _evaluate(expressions: Sequence[Expression], dataset: Dataset) -> tuple[Values, Integers]:
    """Evaluate formulas, shape (k, n); return also the indices of those that are finite and vary."""
    columns, n_rows = dataset.columns_by_name, dataset.target.n
    values = np.empty((len(expressions), n_rows))
    with np.errstate(all="ignore"):
        for row, expression in enumerate(expressions):
            values[row] = evaluate_expression(expression, columns)
    is_usable = np.isfinite(values).all(axis=1) & (values.min(axis=1) < values.max(axis=1))
    return values, np.flatnonzero(is_usable)

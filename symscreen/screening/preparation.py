"""From the data and the options of a screen to a task that is ready to run.

Every use case that screens begins with `prepare_screen`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.config.conflicts import check_conflicts, check_weight_conflicts
from symscreen.config.option_record import build_options_record
from symscreen.config.parsing import parse_memory_limit, parse_names, to_tuple
from symscreen.config.space_options import format_unused_rule_notices, read_grammar
from symscreen.data import (
    detect_target_type,
    is_ranking,
    read_dataset,
    read_frame,
    read_frame_with_column,
    read_row_groups,
    read_row_weights,
)
from symscreen.data.categories import build_category_record, encode_categoricals, find_categorical_features
from symscreen.errors import OptionError
from symscreen.expressions.tree import parse_expression
from symscreen.messages import name_option
from symscreen.screeners import (
    JointScreener,
    Screener,
    check_target_support,
    make_multioutput_screener,
    parse_screeners,
    select_prescreeners,
)
from symscreen.screening.inference.error_control import parse_error_control
from symscreen.screening.inference.intervals import check_intervals
from symscreen.screening.inference.stability import build_half_sampling
from symscreen.screening.run_control import build_run_control, parse_backend
from symscreen.screening.task import RowGroups, ScreeningTask
from symscreen.statistics.inference.max_t import count_exchangeable_groups
from symscreen.statistics.inference.t0_interval import MIN_UNITS
from symscreen.targets import TARGET_TYPE_DESCRIPTIONS
from symscreen.targets.registry import count_labels
from symscreen.units import check_formula_units, read_units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from symscreen.config.screen_options import ScreenOptions
    from symscreen.data import Dataset
    from symscreen.screeners import AnyScreener
    from symscreen.targets import TargetType

# T0 alone would remove features that are not monotone, such as exp(a) - exp(b)
_DEFAULT_POOL_SCREENERS: dict[TargetType, str] = {
    "numeric": "t0,xi",
    "classes": "t0,xi",
    "several": "t0,xi",
    "ranking": "t0",
    "stages": "t0",
    "survival": "t0",
    "weighted": "t0",
}
_UNSIGNED_TARGET_TYPES: dict[TargetType, tuple[str, str]] = {
    "ranking": ("--ranking", "with an order"),
    "stages": ("--stages", "with all pairs of stages alike"),
    "classes": ("classes", "with several of them alike; give two as the numbers 0 and 1"),
    "several": ("several targets", "with all of them alike"),
}


def prepare_screen(X: Any, y: ArrayLike | None, options: ScreenOptions) -> ScreeningTask:  # noqa: N803  # as in `screen`
    """Read the data and the options of a screen.

    Parameters
    ----------
    X, y
        See `symscreen.screen`.
    options : ScreenOptions
        The options.

    Returns
    -------
    ScreeningTask

    Raises
    ------
    InputError
        If the data, the grammar, a formula or an option cannot be used; see its subclasses.
    """
    check_conflicts(options)
    source, data_options = encode_categoricals(X, y, options)
    source, target_type = _find_target_type(source, y, data_options)
    source, weights, target_type = read_sample_weights(source, data_options, target_type)
    screeners, pool_screeners = _read_screeners(options, target_type)
    check_options_for_target(options, target_type)
    check_search(options, screeners)
    backend, run_control = parse_backend(options), build_run_control(options)
    error_control, notices = parse_error_control(
        options, ranking_screener=screeners[0], target_type=target_type, has_pruning=bool(pool_screeners)
    )
    max_bytes = parse_memory_limit(options.max_ram)
    dataset = read_screen_dataset(source, y, data_options, target_type, weights)
    row_groups = build_row_groups(dataset, source, options)
    build_half_sampling(dataset, options, row_groups)
    if error_control is not None and row_groups is not None:
        # permutations shuffle whole groups; there are no null distributions that do
        error_control = (
            replace(error_control, p_values=False, groups=row_groups.group_ids)
            if error_control.permutations
            else None
        )
    check_intervals(options, screeners, dataset.target)
    if options.prescreen is not None:
        check_prescreen_size(
            (*screeners, *pool_screeners), options.prescreen, dataset.target.n, count_labels(dataset.target)
        )
    grammar, layers = read_grammar(options)
    notices = (
        *dataset.notices,
        *format_unused_rule_notices(grammar, layers, dataset.names),
        *notices,
        *format_group_notices(row_groups, options),
    )
    formulas = [parse_expression(text, grammar.operators, dataset.names) for text in to_tuple(options.also)]
    derived = find_categorical_features(source, dataset.names, options.categorical)
    dataset, units = read_units(
        replace(dataset, notices=notices), options.units, options.target_units, derived
    )
    if units is not None:
        check_formula_units(formulas, units)
    task = ScreeningTask(
        dataset=dataset,
        grammar=grammar,
        layers=layers,
        screeners=screeners,
        backend=backend,
        options=options,
        formulas=formulas,
        units=units,
        pool_screeners=pool_screeners,
        max_bytes=max_bytes,
        run_control=run_control,
        error_control=error_control,
        row_groups=row_groups,
    )
    return replace(task, record=build_options_record(task) | build_category_record(source, options))


def _find_target_type(source: Any, y: Any, options: ScreenOptions) -> tuple[Any, TargetType]:
    """Return the source, which can be read again, and the type of the target."""
    if options.event is not None and is_ranking(y):
        raise OptionError(f"y has several columns, and {name_option('event')} goes with one column of times")
    if options.groups is not None:
        source = read_frame_with_column(source, options.groups)  # standard input can be read only once
    if options.stages is not None:
        return source, "stages"
    if options.ranking is not None:
        return source, "ranking"
    if options.event is not None:
        return source, "survival"
    if y is not None and options.target_kind is None and np.ndim(y) != 1:
        return source, "ranking" if is_ranking(y) else "numeric"
    source = read_frame(source)
    return source, detect_target_type(
        source, y, options.target, _find_excluded_columns(options), options.target_kind
    )


def read_sample_weights(
    source: Any, options: ScreenOptions, target_type: TargetType
) -> tuple[Any, NDArray[np.float64] | None, TargetType]:
    """Read the weights of the rows.

    Returns
    -------
    source : object
        The source, which can be read again.
    weights : float64 array, shape (n,), or None
        Weights by row of the source. None without a column of weights, and if all weights are equal.
    target_type : TargetType
        ``"weighted"`` if rows with a positive weight have different weights.

    Raises
    ------
    OptionError
        If weights differ, and the target is not numeric, or an option assumes that all rows count alike.
    TableError
        If there is no such column, or it contains other values than weights.
    """
    name = options.weights
    if name is None:
        return source, None, target_type
    frame = read_frame_with_column(source, name, "--weights")
    weights = read_row_weights(frame, name)
    if (weights == weights[0]).all():
        return frame, None, target_type
    if target_type != "numeric":
        raise OptionError(
            f"--weights {name} cannot be had with {TARGET_TYPE_DESCRIPTIONS[target_type]}: only of a "
            "numeric response it is known what "
            "they mean; leave it out"
        )
    check_weight_conflicts(options)
    positive = weights[weights > 0.0]
    return frame, weights, "numeric" if (positive == positive[0]).all() else "weighted"


def _read_screeners(
    options: ScreenOptions, target_type: TargetType
) -> tuple[tuple[AnyScreener, ...], tuple[AnyScreener, ...]]:
    """Return the screeners that rank, and those that prune the pool."""
    pool_screeners = parse_pool_screeners(options, target_type)
    shorthand = {"rule": options.rule, "engine": options.engine}
    screeners = parse_screeners(options.screener, shorthand, other_screeners=pool_screeners)
    check_target_support(screeners, target_type)
    if target_type != "several":
        return screeners, pool_screeners
    return adapt_to_multi_output(screeners, options), adapt_to_multi_output(pool_screeners, options)


def adapt_to_multi_output(
    screeners: tuple[AnyScreener, ...], options: ScreenOptions
) -> tuple[AnyScreener, ...]:
    """Let every screener score against all targets at once; joint screeners were refused before."""
    return tuple(
        make_multioutput_screener(screener, options.across)
        for screener in screeners
        if isinstance(screener, Screener)
    )


def parse_pool_screeners(
    options: ScreenOptions, target_type: TargetType = "numeric"
) -> tuple[AnyScreener, ...]:
    """Read the screeners that prune the pool between layers; none without pruning.

    A joint screener keeps the features that it selects, so it has its pruning form.
    """
    if options.cut is None and options.keep is None:
        return ()
    cut = _DEFAULT_POOL_SCREENERS[target_type] if options.cut is None else options.cut
    screeners = parse_screeners(cut, {"rule": options.rule, "engine": options.engine}, allow_unused=True)
    check_target_support(screeners, target_type)
    if options.keep is None and any(isinstance(screener, Screener) for screener in screeners):
        names = ", ".join(screener.name for screener in screeners if isinstance(screener, Screener))
        raise OptionError(f"cut by {names}: say how many features stay, for instance --keep 200")
    screeners = tuple(
        screener if isinstance(screener, Screener) else screener.pruning_screener for screener in screeners
    )
    for screener in screeners:
        if isinstance(screener, JointScreener) and screener.all_settings.get("rule") == "none":
            raise OptionError(f"cut by {screener.name}: with rule=none it selects nothing; name a rule")
    return screeners


def check_prescreen_size(
    screeners: Sequence[AnyScreener], prescreen: int, n_rows: int, n_labels: int = 2
) -> None:
    """Refuse a shortlist that is longer than a joint screener can take."""
    ranking = f" that rank {n_labels} labels" if n_labels > 2 else ""
    for screener in screeners:
        if isinstance(screener, JointScreener) and prescreen > (
            most := screener.compute_max_features(n_rows, n_labels)
        ):
            raise OptionError(
                f"prescreen is {prescreen:,}, but {screener.name} takes at most {most:,} features of "
                f"{n_rows:,} rows{ranking}"
            )


def check_search(options: ScreenOptions, screeners: Sequence[AnyScreener]) -> None:
    """Refuse a risk without a race, and a race of screeners for which no bound is known."""
    if options.search != "race":
        if options.risk is not None:
            raise OptionError(
                f"risk is {options.risk!r}, but {options.search} takes none: only --search race states a risk"
            )
        return
    leaders = select_prescreeners(screeners)
    if not all(screener.is_pairwise for screener in leaders):
        names = ", ".join(screener.name for screener in leaders)
        raise OptionError(
            f"--search race has no bound for {names}: put t0 first among the column screeners, or use "
            "--search sieve"
        )


def check_options_for_target(options: ScreenOptions, target_type: TargetType) -> None:
    """Refuse options that have no meaning unless the target is numeric."""
    if target_type == "numeric":
        return
    if options.sign == "positive" and target_type not in {"survival", "weighted"}:
        option, whose = _UNSIGNED_TARGET_TYPES[target_type]
        raise OptionError(
            f"--sign positive has no meaning with {option}: a feature does not rise or fall {whose}; "
            "leave it out"
        )
    described, search = TARGET_TYPE_DESCRIPTIONS[target_type], options.search
    if search == "race":
        raise OptionError(
            f"--search race has no bound for {described}, only for a numeric response: use --search exact"
        )
    if search != "exact":
        raise OptionError(
            f"--search {search} drops features by a sample of the rows of a numeric response, and "
            f"{described} is none: use --search exact"
        )
    if options.rounds > 1:
        raise OptionError(
            f"--rounds {options.rounds} needs a numeric response, of which a model leaves something; "
            f"{described} is screened in one round"
        )


def read_screen_dataset(
    source: Any,
    y: ArrayLike | None,
    options: ScreenOptions,
    target_type: TargetType,
    weights: NDArray[np.float64] | None,
) -> Dataset:
    """Read the dataset; columns of groups and weights are not inputs."""
    return read_dataset(
        source,
        target=options.target,
        inputs=options.inputs,
        exclude=_find_excluded_columns(options),
        missing=options.missing,
        y=y,
        ranking=options.ranking,
        stages=None if options.stages is None else parse_names(options.stages),
        stage_weight=options.stage_weight,
        event=options.event,
        weights=weights,
        target_type=target_type,
    )


def _find_excluded_columns(options: ScreenOptions) -> Sequence[str]:
    """Return the columns to leave out, with those of groups and weights."""
    more = [name for name in (options.groups, options.weights) if name is not None]
    if not more:
        return options.exclude
    return [*([options.exclude] if isinstance(options.exclude, str) else options.exclude), *more]


def build_row_groups(dataset: Dataset, source: Any, options: ScreenOptions) -> RowGroups | None:
    """Read the groups of rows; refuse them if no option uses them, or if there are fewer than four."""
    name = options.groups
    if name is None:
        return None
    if not any((options.stability, options.intervals, options.permutations)):
        raise OptionError(
            f"groups is {name!r}, but nothing heeds it: give --stability, --intervals or --permutations, too"
        )
    row_groups = RowGroups(name, read_row_groups(read_frame(source), name, dataset.source_rows))
    if row_groups.n_groups < MIN_UNITS:
        raise OptionError(
            f"--groups {name} has {row_groups.n_groups} groups, too few to tell how they differ: give at "
            f"least {MIN_UNITS}"
        )
    return row_groups


def format_group_notices(row_groups: RowGroups | None, options: ScreenOptions) -> tuple[str, ...]:
    """Say what is left out because of groups, and which groups keep their places under permutations."""
    if row_groups is None:
        return ()
    notices = []
    if options.p_values is None:
        notices.append(
            "p- and q-values are left out: null distributions take rows for exchangeable, and those of one "
            f"group by {row_groups.column} are not"
        )
    n_moved, n_groups = count_exchangeable_groups(row_groups.group_ids), row_groups.n_groups
    if options.permutations is not None and n_moved < n_groups:
        notices.append(
            f"permutations: {n_groups - n_moved:,} of {n_groups:,} groups by {row_groups.column} have a "
            "number of rows of their own and keep their places: their rows are shuffled within them only, "
            "which finds less"
        )
    return tuple(notices)

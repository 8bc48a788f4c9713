"""Prepare a screen: read its data and its options, check them, and build a task that is ready to run.

Every use case that screens begins with `prepare_screen`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from symscreen._option_values import split_column_names
from symscreen.config.conflicts import check_conflicts, check_split_conflicts, check_weight_conflicts
from symscreen.config.option_record import build_options_record
from symscreen.config.parsing import parse_memory_limit, to_tuple
from symscreen.config.space_options import format_unused_rule_notices, read_grammar
from symscreen.config.target_argument import read_target_argument
from symscreen.data import (
    TargetSource,
    check_target_options,
    detect_target_type,
    read_frame,
    read_frame_with_column,
    read_row_groups,
    read_row_weights,
    read_source,
    take_rows,
)
from symscreen.data.categories import build_category_record, encode_categoricals
from symscreen.data.missing_values import build_imputation_record
from symscreen.data.time_columns import build_time_record, encode_time_columns, exclude_order_columns
from symscreen.errors import OptionError
from symscreen.expressions.input_ranges import build_box
from symscreen.expressions.traversal import define_columns
from symscreen.expressions.tree import parse_expression
from symscreen.messages import name_option, name_option_column, name_subject, quote, suggest
from symscreen.screeners import (
    JointScreener,
    Screener,
    check_target_support,
    make_multioutput_screener,
    parse_screeners,
    select_prescreeners,
)
from symscreen.screening.budget import choose_search
from symscreen.screening.inference.error_control import parse_error_control
from symscreen.screening.inference.intervals import check_intervals
from symscreen.screening.inference.sample_splitting import check_splits, draw_row_splits
from symscreen.screening.inference.stability import build_half_sampling
from symscreen.screening.large_tables import (
    describe_sample,
    draw_sample,
    measure_source,
    open_large_table,
    reserve_memory,
    suggest_sampling_limit,
)
from symscreen.screening.run_control import build_run_control, parse_backend
from symscreen.screening.task import RowGroups, ScreeningTask
from symscreen.statistics.inference.max_t import count_exchangeable_groups
from symscreen.statistics.inference.t0_interval import MIN_UNITS
from symscreen.targets.registry import TARGET_TYPES
from symscreen.units import check_formula_units, read_units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from symscreen.config.screen_options import ScreenOptions
    from symscreen.data import Dataset
    from symscreen.data.large_tables.large_table import LargeTable
    from symscreen.expressions.tree import Expression
    from symscreen.grammar import Grammar
    from symscreen.results.screen_verdict import Obstacle
    from symscreen.screeners import AnyScreener
    from symscreen.targets import Target, TargetType


def prepare_screen(
    X: Any,  # noqa: N803  # as in `screen`
    y: ArrayLike | None,
    options: ScreenOptions,
    *,
    samples_large_tables: bool = False,
) -> ScreeningTask:
    """Read the data and the options of a screen.

    Parameters
    ----------
    X, y
        See `symscreen.screen`.
    options : ScreenOptions
        The options.
    samples_large_tables : bool
        Whether a table that is larger than the memory allows is screened on a sample of its rows.

    Returns
    -------
    ScreeningTask

    Raises
    ------
    InputError
        If the data, the grammar, a formula or an option cannot be used; see its subclasses.
    """
    y, options = read_target_argument(X, y, options)
    check_conflicts(options)
    check_split_conflicts(options)
    if (options.ranking, options.stages) != (None, None):
        _check_before_reading(X, y, options)
    size = measure_source(X, options) if samples_large_tables else None
    if size is None:
        return _prepare_task(X, y, options, None)
    large_table = open_large_table(size, y, options)
    if large_table is None:
        task = _prepare_task(X, y, options, None)
        return replace(task, sampling_limit=suggest_sampling_limit(size, y, options))
    try:
        return _prepare_task(X, y, replace(options, search=options.search or "sieve"), large_table)
    except BaseException:
        large_table.close()
        raise


def _prepare_task(
    X: Any,  # noqa: N803  # as in `screen`
    y: ArrayLike | None,
    options: ScreenOptions,
    large_table: LargeTable | None,
) -> ScreeningTask:
    """Read the data, or a sample of a large table, and build the task."""
    grammar, layers = read_grammar(options)
    frame, data_options = _read_columns(X, y, options, grammar, large_table)
    options = replace(
        options, categorical=data_options.categorical, categorical_as=data_options.categorical_as
    )
    source, target_class = read_target_source(frame, y, data_options)
    screeners, pool_screeners = _read_screeners(options, target_class)
    target_class.check_options(options.sign, options.search or "exact", options.rounds)
    check_search(options, screeners)
    backend, run_control = parse_backend(options), build_run_control(options)
    max_bytes = parse_memory_limit(options.max_ram)
    error_control, p_value_obstacle = parse_error_control(
        options,
        ranking_screener=screeners[0],
        target_type=target_class.target_type,
        has_pruning=bool(pool_screeners),
    )
    dataset = read_source(source, target_class, inputs=data_options.inputs, missing=data_options.missing)
    if large_table is not None:
        dataset = describe_sample(dataset, large_table, options)
        max_bytes = reserve_memory(max_bytes, large_table)
    row_groups = build_row_groups(dataset, source.frame, options)
    _check_against_rows(options, screeners, pool_screeners, dataset, row_groups)
    formulas = _read_formulas(options, grammar, dataset)
    box = build_input_box(dataset, options)
    notices = (
        *dataset.notices,
        *format_unused_rule_notices(grammar, layers, dataset.names),
        *format_group_notices(row_groups, options),
    )
    dataset, units = read_units(replace(dataset, notices=notices), options.units, options.target_units)
    if units is not None:
        check_formula_units(formulas, units)
    dataset, test_dataset = _keep_test_rows(dataset, options)
    task = ScreeningTask(
        dataset=dataset,
        test_dataset=test_dataset,
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
        p_value_obstacle=p_value_obstacle,
        large_table=large_table,
        row_groups=row_groups,
        row_order=source.frame.row_order,
        box=box,
    )
    task = _apply_budget(_respect_dependence(task))
    columns_record = build_category_record(source.frame, data_options) | _build_derived_record(dataset)
    return replace(task, record=build_options_record(task) | columns_record)


def _build_derived_record(dataset: Dataset) -> dict[str, Any]:
    """Build the record of filled columns and of columns in time."""
    return build_imputation_record(dataset.indicators) | build_time_record(dataset.indicators)


def _keep_test_rows(dataset: Dataset, options: ScreenOptions) -> tuple[Dataset, Dataset | None]:
    """Return the rows of the screen, and those that test its formulas; None with no split, or several."""
    check_splits(options, dataset.target)
    splits = draw_row_splits(dataset.target.n, options)
    if not splits or options.splits is not None:
        return dataset, None
    (split,) = splits
    return take_rows(dataset, split.search_rows), take_rows(dataset, split.test_rows)


def _read_columns(
    X: Any,  # noqa: N803  # as in `screen`
    y: ArrayLike | None,
    options: ScreenOptions,
    grammar: Grammar,
    large_table: LargeTable | None,
) -> tuple[Any, ScreenOptions]:
    """Append columns of categories and of operators of time to the data, or to a sample of a large table."""
    if large_table is None:
        frame, data_options = encode_categoricals(X, y, exclude_order_columns(options))
    else:
        frame, data_options = draw_sample(large_table, options)
    return encode_time_columns(frame, y, data_options, grammar.time_operators)


def _respect_dependence(task: ScreeningTask) -> ScreeningTask:
    """Permute whole groups of rows, or shift runs in time: p-values come from these permutations alone."""
    error_control, runs = task.error_control, task.runs
    if error_control is None or (task.row_groups is None and runs is None):
        return task
    if not error_control.permutations:
        cause: Obstacle = "groups" if runs is None else "time"
        obstacle = cause if error_control.p_values else task.p_value_obstacle
        return replace(task, error_control=None, p_value_obstacle=obstacle)
    groups = None if task.row_groups is None else task.row_groups.group_ids
    changed = replace(error_control, groups=groups, runs=runs, source="permutations")
    return replace(task, error_control=changed)


def _check_against_rows(
    options: ScreenOptions,
    screeners: Sequence[AnyScreener],
    pool_screeners: Sequence[AnyScreener],
    dataset: Dataset,
    row_groups: RowGroups | None,
) -> None:
    """Refuse halves, intervals and shortlists for which the rows are too few."""
    build_half_sampling(dataset, options, row_groups)
    check_intervals(options, screeners, dataset.target)
    if options.prescreen is not None:
        check_prescreen_size(
            (*screeners, *pool_screeners), options.prescreen, dataset.target.n, dataset.target.n_labels
        )


def _read_formulas(options: ScreenOptions, grammar: Grammar, dataset: Dataset) -> list[Expression]:
    """Read the formulas that the user adds to the space."""
    return [
        define_columns(parse_expression(text, grammar.operators, dataset.names), dataset.indicators)
        for text in to_tuple(options.also)
    ]


def _apply_budget(task: ScreeningTask) -> ScreeningTask:
    """Put the search and the pruning into the options that the budget requires."""
    choice = choose_search(task)
    if choice is None or choice.search is None:
        return replace(task, budget_choice=choice)
    options, pool_screeners = replace(task.options, search=choice.search), task.pool_screeners
    if choice.pool_sizes is not None:
        options = replace(options, pool_size=choice.pool_sizes)
        _, pool_screeners = _read_screeners(options, type(task.target))
    error_control, p_value_obstacle = parse_error_control(
        options,
        ranking_screener=task.screeners[0],
        target_type=task.target.target_type,
        has_pruning=bool(pool_screeners),
    )
    task = replace(
        task,
        options=options,
        pool_screeners=pool_screeners,
        error_control=error_control,
        p_value_obstacle=p_value_obstacle,
        budget_choice=choice,
    )
    return _respect_dependence(task)


def _check_before_reading(X: Any, y: ArrayLike | None, options: ScreenOptions) -> None:  # noqa: N803  # as in `screen`
    """Refuse options that have no meaning with a ranking or stages before any data are read."""
    _, target_class = read_target_source(X, y, replace(options, groups=None, weights=None))
    screeners, _ = _read_screeners(options, target_class)
    target_class.check_options(options.sign, options.search or "exact", options.rounds)
    check_search(options, screeners)


def build_input_box(dataset: Dataset, options: ScreenOptions) -> dict[str, list[float]]:
    """Build the box of the inputs of a dataset, in its own units, from the option `ranges` and the rows.

    The range of a column that a level gates is given by its name, and then contains 0.

    Raises
    ------
    OptionError
        If a range is given for something that is not an input.
    """
    given = dict(options.ranges or {})
    gated = {
        name: indicator.gated_column
        for name, indicator in dataset.indicators.items()
        if indicator.gated_column is not None
    }
    known = [*dict.fromkeys((*(name for name in dataset.names if name not in gated), *gated.values()))]
    for name in given:
        if name not in known:
            raise OptionError(f"{name_option('ranges')} names {quote(name)}, no input{suggest(name, known)}")
    for name, column in gated.items():
        if column in given:
            low, high = given[column]
            given[name] = [min(low, 0.0), max(high, 0.0)]
    return build_box(dataset.columns_by_name, given)


def read_target_source(
    X: Any,  # noqa: N803  # as in `screen`
    y: ArrayLike | None,
    options: ScreenOptions,
) -> tuple[TargetSource, type[Target]]:
    """Read the source, with row weights if a column has them, and decide the type of the target.

    Equal weights count as no weights.

    Raises
    ------
    OptionError
        If rows have different weights, and the target or another option has no meaning with them.
    DataError
        If the column of weights does not exist, or holds anything but weights.
    """
    stages = None if options.stages is None else split_column_names(options.stages, "stages")
    described = {name: getattr(options, name) for name in ("ranking", "stage_weight", "event")}
    check_target_options(target=options.target, y=y, stages=stages, **described)
    if options.groups is not None:
        X = read_frame_with_column(X, options.groups)  # noqa: N806  # standard input can be read only once
    weights = None
    if options.weights is not None:
        X = read_frame_with_column(X, options.weights, "weights")  # noqa: N806  # as above
        weights = read_row_weights(X, options.weights)
        if (weights == weights[0]).all():
            weights = None
    source = TargetSource(
        X,
        y,
        options.target,
        options.target_type,
        stages=stages,
        **described,
        weights=weights,
        exclude=_find_excluded_columns(options),
    )
    found = detect_target_type(source)
    if weights is not None:
        if not found.accepts_weights:
            raise OptionError(
                f"{name_option('weights', options.weights)} cannot be combined with {found.description}: "
                "only of a numeric target it is known what they mean; leave it out"
            )
        check_weight_conflicts(options)
    return source, found


def _read_screeners(
    options: ScreenOptions, target_class: type[Target]
) -> tuple[tuple[AnyScreener, ...], tuple[AnyScreener, ...]]:
    """Return the screeners that rank, and those that prune the pool."""
    target_type = target_class.target_type
    pool_screeners = parse_pool_screeners(options, target_type)
    shorthand = {"rule": options.rule, "engine": options.engine}
    screeners = parse_screeners(options.screener, shorthand, other_screeners=pool_screeners)
    check_target_support(screeners, target_type)
    if not target_class.combines_outputs:
        return screeners, pool_screeners
    return adapt_to_multi_output(screeners, options), adapt_to_multi_output(pool_screeners, options)


def adapt_to_multi_output(
    screeners: tuple[AnyScreener, ...], options: ScreenOptions
) -> tuple[AnyScreener, ...]:
    """Let every screener score against all targets at once; joint screeners were refused before."""
    return tuple(
        make_multioutput_screener(screener, options.aggregate)
        for screener in screeners
        if isinstance(screener, Screener)
    )


def parse_pool_screeners(
    options: ScreenOptions, target_type: TargetType = "numeric"
) -> tuple[AnyScreener, ...]:
    """Read the screeners that prune the pool between layers; none without pruning.

    A joint screener keeps the features that it selects, so it has its pruning form.

    Raises
    ------
    OptionError
        If a screener is not valid for pruning: a column screener needs the number of features that stay, and
        a joint screener needs a rule.
    """
    if options.prune_by is None and options.pool_size is None:
        return ()
    spec = TARGET_TYPES[target_type].pool_screeners if options.prune_by is None else options.prune_by
    screeners = parse_screeners(spec, {"rule": options.rule, "engine": options.engine}, allow_unused=True)
    check_target_support(screeners, target_type)
    if options.pool_size is None and any(isinstance(screener, Screener) for screener in screeners):
        names = ", ".join(screener.name for screener in screeners if isinstance(screener, Screener))
        raise OptionError(
            f"pruned by {names}: say how many features stay, for instance {name_option('pool_size', 200)}"
        )
    screeners = tuple(
        screener if isinstance(screener, Screener) else screener.pruning_screener for screener in screeners
    )
    for screener in screeners:
        if isinstance(screener, JointScreener) and screener.all_settings.get("rule") == "none":
            raise OptionError(f"pruned by {screener.name}: with rule=none it selects nothing; name a rule")
    return screeners


def check_prescreen_size(
    screeners: Sequence[AnyScreener], prescreen: int, n_rows: int, n_labels: int = 2
) -> None:
    """Refuse a shortlist that is longer than a joint screener can take.

    Raises
    ------
    OptionError
        If the shortlist is too long for a joint screener.
    """
    ranking = f" that rank {n_labels} labels" if n_labels > 2 else ""
    for screener in screeners:
        if isinstance(screener, JointScreener) and prescreen > (
            most := screener.compute_max_features(n_rows, n_labels)
        ):
            raise OptionError(
                f"{name_subject('prescreen')} is {prescreen:,}, but {screener.name} takes at most {most:,} "
                f"features of {n_rows:,} rows{ranking}: give at most {most:,}"
            )


def check_search(options: ScreenOptions, screeners: Sequence[AnyScreener]) -> None:
    """Refuse a risk without a race, and a race of screeners for which no bound is known.

    Raises
    ------
    OptionError
        If the risk or the race is refused.
    """
    if options.search != "race":
        if options.risk is not None:
            raise OptionError(
                f"{name_subject('risk')} is {options.risk!r}, but {options.search or 'exact'} takes none; "
                f"leave it out, or use {name_option('search', 'race')}"
            )
        return
    leaders = select_prescreeners(screeners)
    if not all(screener.is_pairwise for screener in leaders):
        names = ", ".join(screener.name for screener in leaders)
        raise OptionError(
            f"{name_option('search', 'race')} has no bound for {names}: put t0 first among the column "
            f"screeners, or use {name_option('search', 'sieve')}"
        )


def _find_excluded_columns(options: ScreenOptions) -> Sequence[str]:
    """Return the columns to leave out, with those of groups and weights."""
    named = [options.exclude] if isinstance(options.exclude, str) else options.exclude
    more = [name for name in (options.groups, options.weights) if name is not None]
    return list(dict.fromkeys(map(str, [*named, *more])))


def build_row_groups(dataset: Dataset, source: Any, options: ScreenOptions) -> RowGroups | None:
    """Read the groups of rows.

    Raises
    ------
    OptionError
        If no option uses the groups, or there are fewer than four of them.
    """
    name = options.groups
    if name is None:
        return None
    if not any((options.stability, options.intervals, options.permutations)):
        raise OptionError(
            f"{name_option_column('groups', name)} is not used: give {name_option('stability')}, "
            f"{name_option('intervals')} or {name_option('permutations')}, too"
        )
    row_groups = RowGroups(name, read_row_groups(read_frame(source), name, dataset.source_rows))
    if row_groups.n_groups < MIN_UNITS:
        raise OptionError(
            f"{name_option_column('groups', name)} has {row_groups.n_groups} groups, too few to estimate how "
            f"they differ: give at least {MIN_UNITS}"
        )
    return row_groups


def format_group_notices(row_groups: RowGroups | None, options: ScreenOptions) -> tuple[str, ...]:
    """Say which groups keep their places under permutations."""
    if row_groups is None:
        return ()
    notices = []
    n_moved, n_groups = count_exchangeable_groups(row_groups.group_ids), row_groups.n_groups
    if options.permutations is not None and n_moved < n_groups:
        notices.append(
            f"permutations: {n_groups - n_moved:,} of {n_groups:,} groups by {row_groups.column} have a "
            "number of rows of their own and keep their places: their rows are shuffled within them only, "
            "which finds less"
        )
    return tuple(notices)

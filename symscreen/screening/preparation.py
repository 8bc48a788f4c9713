"""From options to a screen that is ready to run: dataset, grammar, what to score, weights and groups of rows.

Every verb that screens begins with `prepare_screen`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from symscreen.config.conflicts import check_conflicts, check_weight_conflicts
from symscreen.config.option_record import build_options_record
from symscreen.config.parsing import (
    DEFAULT_PRESCREEN,
    check_positive_int,
    check_sign,
    parse_memory_limit,
    parse_names,
    parse_top,
    to_tuple,
)
from symscreen.config.space_options import format_unused_rule_notices, parse_pool_sizes, read_grammar
from symscreen.data import (
    TargetSource,
    check_target_options,
    detect_target_type,
    read_frame,
    read_frame_with_column,
    read_row_groups,
    read_row_weights,
    read_source,
)
from symscreen.data.categories import build_category_record, encode_categoricals, find_categorical_features
from symscreen.errors import OptionError
from symscreen.expressions.tree import parse_expression
from symscreen.messages import name_option, name_option_column, suggest
from symscreen.screeners import (
    Screener,
    TargetAggregation,
    check_target_support,
    make_multioutput_screener,
    parse_screeners,
)
from symscreen.screening.inference.error_control import parse_error_control
from symscreen.screening.inference.intervals import parse_confidence_level
from symscreen.screening.inference.redundancy import check_max_correlation
from symscreen.screening.inference.stability import build_half_sampling
from symscreen.screening.residual_rounds import ScreenConfig
from symscreen.screening.run_control import build_run_control, check_time_limit, parse_backend
from symscreen.screening.scoring.score_space import ScoringConfig
from symscreen.screening.scoring.streaming import compute_chunk_size
from symscreen.screening.scoring_options import (
    check_prescreen_size,
    parse_pool_screeners,
    parse_search,
)
from symscreen.statistics.inference.max_t import count_exchangeable_groups
from symscreen.statistics.inference.t0_interval import MIN_UNITS
from symscreen.targets.registry import TARGET_TYPES
from symscreen.units import check_formula_units, read_units

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from symscreen.config.screen_options import ScreenOptions
    from symscreen.data import Dataset
    from symscreen.screeners import AnyScreener
    from symscreen.screening.inference.stability import HalfSampling
    from symscreen.targets import Target, TargetType

    ScreenerSpec = str | Sequence[str | AnyScreener]


def read_target_source(
    X: Any,  # noqa: N803  # as in `screen`
    y: ArrayLike | None,
    options: ScreenOptions,
) -> tuple[TargetSource, type[Target]]:
    """Read the source, with row weights if a column has them, and decide the type of the target.

    Equal weights are no weights. OptionError if rows weigh differently and the target, or another option, has
    no meaning with that; DataError if the column does not exist or holds anything but weights.
    """
    stages = None if options.stages is None else parse_names(options.stages)
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
        options.target_kind,
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
                "only of a numeric response it is known what they mean; leave it out"
            )
        check_weight_conflicts(options)
    return source, found


@dataclass(frozen=True, eq=False)
class RowGroups:
    """Rows that belong together.

    Parameters
    ----------
    column : str
        The column that tells the groups.
    group_ids : int64 array, shape (n,)
        For each row of the table the number of its group, from 0 up.
    """

    column: str
    group_ids: NDArray[np.int64]

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return int(self.group_ids.max(initial=-1)) + 1


def build_row_groups(dataset: Dataset, source: Any, options: ScreenOptions) -> RowGroups | None:
    """Read the groups of rows, or refuse them where no option uses them.

    Parameters
    ----------
    dataset : Table
        The data.
    source : object
        Where they come from.
    options : ScreenOptions
        Of the screen.

    Returns
    -------
    Grouping or None

    Raises
    ------
    OptionError
        If no option uses groups, or if there are fewer than four groups.
    TableError
        If the groups cannot be read.
    """
    name = options.groups
    if name is None:
        return None
    if not any((options.stability, options.intervals, options.permutations)):
        raise OptionError(
            f"{name_option_column('groups', name)} is not used: give {name_option('stability')}, "
            f"{name_option('intervals')} or {name_option('permutations')}, too"
        )
    found = RowGroups(name, read_row_groups(read_frame(source), name, dataset.source_rows))
    if found.n_groups < MIN_UNITS:
        raise OptionError(
            f"{name_option_column('groups', name)} has {found.n_groups} groups, too few to tell how they "
            f"differ: give at least {MIN_UNITS}"
        )
    return found


def format_group_notices(row_groups: RowGroups | None, options: ScreenOptions) -> tuple[str, ...]:
    """Say what groups leave out, and which of them cannot trade places when the response is permuted.

    Parameters
    ----------
    row_groups : Grouping or None
        Of the rows.
    options : ScreenOptions
        Of the screen.

    Returns
    -------
    tuple of str
    """
    if row_groups is None:
        return ()
    notices = []
    if options.p_values is None:
        notices.append(
            "p- and q-values are left out: null distributions take rows for exchangeable, and those of one "
            f"group by {row_groups.column} are not"
        )
    moved, units = count_exchangeable_groups(row_groups.group_ids), row_groups.n_groups
    if options.permutations is not None and moved < units:
        notices.append(
            f"permutations: {units - moved:,} of {units:,} groups by {row_groups.column} have a number of "
            "rows "
            "of their own and keep their places: their rows are shuffled within them only, which finds less"
        )
    return tuple(notices)


_MAX_ROUNDS = 5


@dataclass(frozen=True, eq=False)
class PreparedScreen:
    """A screen that is ready to run.

    Parameters
    ----------
    dataset : Table
        The data, with notices of what was left out.
    config : Job
        What is to be done.
    rounds : int
        How many rounds at most.
    options : dict
        For the record: the options, read.
    members : int or None
        How many members of each class shown the record holds at most; None for none.
    max_correlation : float or None
        The largest |rank correlation| of two features shown; None for any.
    half_sampling : Halving or None
        How rows are halved for stability selection; None for none.
    checkpoint_path : Path or None
        The folder that keeps how far it came.
    confidence_level : float or None
        Of the intervals of what is shown; None for none.
    row_groups : Grouping or None
        Rows that belong together; None where each stands for itself.
    """

    dataset: Dataset
    config: ScreenConfig
    rounds: int
    options: dict[str, Any]
    members: int | None = None
    max_correlation: float | None = None
    half_sampling: HalfSampling | None = None
    checkpoint_path: Path | None = None
    confidence_level: float | None = None
    row_groups: RowGroups | None = None


def prepare_screen(X: Any, y: ArrayLike | None, options: ScreenOptions) -> PreparedScreen:  # noqa: N803  # as in `screen`
    """Read the data and the options of a screen.

    Parameters
    ----------
    X, y
        As of `symscreen.screen`.
    options : ScreenOptions
        The options.

    Returns
    -------
    Prepared

    Raises
    ------
    InputError
        If the data, the grammar, a formula or an option cannot be used; see its subclasses.
    """
    shorthand = {"rule": options.rule, "engine": options.engine}
    check_conflicts(options)
    check_aggregation(options)
    given = options
    X, options = encode_categoricals(X, y, options)  # noqa: N806  # a frame with more columns
    source, target_class = read_target_source(X, y, options)
    kind = target_class.target_type
    cutters, keeps = (
        parse_pool_screeners(options.cut, options.keep, shorthand, kind),
        parse_pool_sizes(options.keep),
    )
    asked = parse_screeners(options.screener, shorthand, other_screeners=cutters)
    if check_positive_int("rounds", options.rounds) > _MAX_ROUNDS:
        raise OptionError(f"rounds is {options.rounds}; give at most {_MAX_ROUNDS}")
    if options.max_complexity is not None:
        check_positive_int("max_complexity", options.max_complexity)
    request = build_scoring_config(options, asked, kind)
    if target_class.combines_outputs:
        request, cutters = _adapt_to_multi_output(request, cutters, options.across)
    control, left_out = parse_error_control(
        p_values=options.p_values,
        fdr=options.fdr,
        method=options.fdr_method,
        permutations=options.permutations,
        ranking_screener=asked[0],
        target_type=kind,
        search=request.search.mode,
        rounds=options.rounds,
        has_pruning=bool(cutters),
    )
    check_max_correlation(options.distinct, options.top, options.rounds, options.stability)
    max_bytes = parse_memory_limit(options.max_ram)
    table = read_source(source, target_class, inputs=options.inputs, missing=options.missing)
    X = source.frame  # noqa: N806  # standard input can be read only once
    grouping = build_row_groups(table, X, options)
    halving = build_half_sampling(
        table, options.stability, row_groups=grouping, top=options.top, rounds=options.rounds
    )
    if control is not None and grouping is not None:
        # permutations take groups as wholes; there are no null distributions that do
        control = (
            replace(control, p_values=False, groups=grouping.group_ids) if control.permutations else None
        )
    left_out = (*left_out, *format_group_notices(grouping, options))
    level = parse_confidence_level(options.intervals, asked, table.target, options.rounds)
    size = request.chunk_size or compute_chunk_size(table.target.n)
    request = replace(request, chunk_size=size, error_control=control)
    if options.prescreen is not None:
        check_prescreen_size((*asked, *cutters), request.prescreen, table.target.n, table.target.n_labels)
    grammar, parsed = read_grammar(
        options.operators, options.layers, options.unary, options.binary, options.max_complexity
    )
    idle = format_unused_rule_notices(grammar, parsed, table.names)
    table = replace(table, notices=(*table.notices, *idle, *left_out))
    formulas = [parse_expression(text, grammar.operators, table.names) for text in to_tuple(options.also)]
    derived = find_categorical_features(X, table.names)
    table, units = read_units(table, options.units, options.target_units, derived)
    if units is not None:
        check_formula_units(formulas, units)
    job = ScreenConfig(grammar, parsed, options.pool, formulas, request, cutters, keeps, max_bytes, units)
    members = None if options.members is None else check_positive_int("members", options.members)
    told = build_options_record(given, table, job)
    told |= {} if level is None else {"intervals": level}
    told |= build_category_record(X, given)
    kept = None if options.checkpoint is None else Path(options.checkpoint)
    return PreparedScreen(
        table, job, options.rounds, told, members, options.distinct, halving, kept, level, grouping
    )


def check_aggregation(options: ScreenOptions) -> None:
    """Check how the losses of several outputs are combined."""
    if options.across not in get_args(TargetAggregation):
        raise OptionError(
            f"across is {options.across!r}{suggest(str(options.across), get_args(TargetAggregation))}"
        )


def _adapt_to_multi_output(
    scoring: ScoringConfig, pool_screeners: tuple[AnyScreener, ...], across: TargetAggregation
) -> tuple[ScoringConfig, tuple[AnyScreener, ...]]:
    """Let every screener score against all targets at once; joint ones have been refused."""
    both = [
        tuple(make_multioutput_screener(one, across) for one in some if isinstance(one, Screener))
        for some in (scoring.screeners, pool_screeners)
    ]
    return replace(scoring, screeners=both[0]), both[1]


def _find_excluded_columns(options: ScreenOptions) -> Sequence[str]:
    """Return the columns to leave out: those of groups and weights are no inputs."""
    named = [options.exclude] if isinstance(options.exclude, str) else options.exclude
    apart = [name for name in (options.groups, options.weights) if name is not None]
    return list(dict.fromkeys(map(str, [*named, *apart])))


def build_scoring_config(
    options: ScreenOptions, screeners: tuple[AnyScreener, ...], target_type: TargetType
) -> ScoringConfig:
    """Say what is asked of the space; a chunk size of 0 where none was given."""
    check_target_support(screeners, target_type)
    check_sign(options.sign)
    TARGET_TYPES[target_type].check_options(options.sign, options.search, options.rounds)
    limit = parse_top(options.top)
    backend = parse_backend(options.backend, options.scheduler, options.jobs)
    beside = {name: getattr(options, name) for name in ("distinct", "stability", "members")}
    check_time_limit(options.time_limit, options.search, options.rounds, beside)
    size, prescreen = options.chunk_size, options.prescreen
    return ScoringConfig(
        screeners=screeners,
        sign=options.sign,
        limit=limit,
        prescreen=DEFAULT_PRESCREEN if prescreen is None else check_positive_int("prescreen", prescreen),
        seed=options.seed,
        jobs=backend.jobs,
        backend=backend,
        chunk_size=0 if size is None else check_positive_int("chunk_size", size),
        run_control=build_run_control(
            options.progress, options.on_progress, options.time_limit, quiet=options.quiet
        ),
        search=parse_search(options.search, options.risk, screeners),
        target_type=target_type,
    )

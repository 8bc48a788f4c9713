"""What a screen is asked to do, read: options → table, grammar, job. Every verb that screens begins here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from symscreen.errors import OptionError, nearest
from symscreen.expression import parse
from symscreen.options import (
    PRESCREEN,
    at_least_1,
    check_capacity,
    check_kind,
    check_sign,
    formula_texts,
    idle_rules,
    list_of_names,
    read_cutters,
    read_grammar,
    read_keep,
    read_limit,
    read_memory,
    read_search,
)
from symscreen.pipeline.categories import derived_inputs, levels_told, with_categorical
from symscreen.pipeline.confidence import level_of
from symscreen.pipeline.grouping import grouping_of, notices_of
from symscreen.pipeline.options_running import check_limit, read_backend, read_course
from symscreen.pipeline.rounds import Job
from symscreen.pipeline.stability import halving_of
from symscreen.pipeline.thinning import check_distinct
from symscreen.pipeline.weighing import weighed
from symscreen.pipeline.written_options import written
from symscreen.response.kinds import labels_of
from symscreen.result import Request, chunk_size_for, read_control
from symscreen.screeners import (
    Across,
    Screener,
    across_targets,
    require_accepting,
    screeners_asked,
)
from symscreen.table import frame_with, is_ranking, kind_of_target, read_frame, read_table
from symscreen.units import checked_formulas, given_units

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from symscreen.pipeline.grouping import Grouping
    from symscreen.pipeline.screen_options import ScreenOptions
    from symscreen.pipeline.stability import Halving
    from symscreen.response import Kind
    from symscreen.screeners import AnyScreener
    from symscreen.table import Table

    Names = str | Sequence[str]
    Progress = Callable[[int, int], None]
    Screeners = str | Sequence[str | AnyScreener]

__all__ = ["Prepared", "prepared"]

_MOST_ROUNDS = 5


@dataclass(frozen=True, eq=False)
class Prepared:
    """A screen that is ready to run.

    Parameters
    ----------
    table : Table
        The data, with notices of what was left out.
    job : Job
        What is to be done.
    rounds : int
        How many rounds at most.
    options : dict
        For the record: the options, read.
    members : int or None
        How many members of each class shown the record holds at most; None for none.
    distinct : float or None
        The largest |rank correlation| of two features shown; None for any.
    halving : Halving or None
        How rows are halved for stability selection; None for none.
    checkpoint : Path or None
        The folder that keeps how far it came.
    level : float or None
        Of the intervals of what is shown; None for none.
    grouping : Grouping or None
        Rows that belong together; None where each stands for itself.
    """

    table: Table
    job: Job
    rounds: int
    options: dict[str, Any]
    members: int | None = None
    distinct: float | None = None
    halving: Halving | None = None
    checkpoint: Path | None = None
    level: float | None = None
    grouping: Grouping | None = None


def prepared(X: Any, y: ArrayLike | None, options: ScreenOptions) -> Prepared:  # noqa: N803  # as in `screen`
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
    check_target_options(y, options)
    given = options
    X, options = with_categorical(X, y, options)  # noqa: N806  # a frame with more columns
    kind = kind_of(y, options)
    if options.groups is not None:
        X = frame_with(X, options.groups)  # noqa: N806  # once: standard input can be read only once
    if kind is None:
        X = read_frame(X)  # noqa: N806  # as here
        kind = kind_of_target(X, y, options.target, _excluded(options), options.target_kind)
    X, weights, kind = weighed(X, options, kind)  # noqa: N806  # as here
    cutters, keeps = read_cutters(options.cut, options.keep, shorthand, kind), read_keep(options.keep)
    asked = screeners_asked(options.screener, shorthand, beside=cutters)
    if at_least_1("rounds", options.rounds) > _MOST_ROUNDS:
        raise OptionError(f"rounds is {options.rounds}; give at most {_MOST_ROUNDS}")
    if options.max_complexity is not None:
        at_least_1("max_complexity", options.max_complexity)
    request = request_of(options, asked, kind)
    if kind == "several":
        request, cutters = _of_targets(request, cutters, options.across)
    control, left_out = read_control(
        p_values=options.p_values,
        fdr=options.fdr,
        method=options.fdr_method,
        permutations=options.permutations,
        first=asked[0],
        kind=kind,
        search=request.search.mode,
        rounds=options.rounds,
        cut=bool(cutters),
    )
    check_distinct(options.distinct, options.top, options.rounds, options.stability)
    max_bytes = read_memory(options.max_ram)
    table = table_of(X, y, options, kind, weights)
    grouping = grouping_of(table, X, options)
    halving = halving_of(table, options.stability, grouping=grouping, top=options.top, rounds=options.rounds)
    if control is not None and grouping is not None:
        # permutations take groups as wholes; there are no null distributions that do
        control = replace(control, p_values=False, groups=grouping.unit) if control.permutations else None
    left_out = (*left_out, *notices_of(grouping, options))
    level = level_of(options.intervals, asked, table.response, options.rounds)
    size = request.chunk_size or chunk_size_for(table.response.n)
    request = replace(request, chunk_size=size, control=control)
    if options.prescreen is not None:
        check_capacity((*asked, *cutters), request.prescreen, table.response.n, labels_of(table.response))
    grammar, parsed = read_grammar(
        options.operators, options.layers, options.unary, options.binary, options.max_complexity
    )
    idle = idle_rules(grammar, parsed, table.names)
    table = replace(table, notices=(*table.notices, *idle, *left_out))
    formulas = [parse(text, grammar.operators, table.names) for text in formula_texts(options.also)]
    derived = derived_inputs(X, table.names, given.categorical)
    table, units = given_units(table, options.units, options.target_units, derived)
    if units is not None:
        checked_formulas(formulas, units)
    job = Job(grammar, parsed, options.pool, formulas, request, cutters, keeps, max_bytes, units)
    members = None if options.members is None else at_least_1("members", options.members)
    told = written(given, table, job)
    told |= {} if level is None else {"intervals": level}
    told |= levels_told(X, given)
    kept = None if options.checkpoint is None else Path(options.checkpoint)
    return Prepared(
        table, job, options.rounds, told, members, options.distinct, halving, kept, level, grouping
    )


def kind_of(y: Any, options: ScreenOptions) -> Kind | None:
    """Tell what a response is before it is read; None where that takes a look."""
    if options.stages is not None:
        return "stages"
    if options.ranking is not None:
        return "ranking"
    if options.event is not None:
        return "survival"
    if y is None or options.target_kind is not None or np.ndim(y) == 1:
        return None
    return "ranking" if is_ranking(y) else "numeric"


def check_target_options(y: Any, options: ScreenOptions) -> None:
    """Refuse what does not go with the kind of target that other options name."""
    for name, value in (("ranking", options.ranking), ("stages", options.stages), ("event", options.event)):
        if value is not None and options.target_kind is not None:
            raise OptionError(
                f"both --{name} and --target-kind {options.target_kind} are given: the response is one of "
                "them, not both"
            )
    if options.event is not None and is_ranking(y):
        raise OptionError("y has several columns, and --event goes with one column of times")
    if options.across not in get_args(Across):
        raise OptionError(f"across is {options.across!r}{nearest(str(options.across), get_args(Across))}")


def _of_targets(
    request: Request, cutters: tuple[AnyScreener, ...], across: Across
) -> tuple[Request, tuple[AnyScreener, ...]]:
    """Let every screener score against all targets at once; joint ones have been refused."""
    both = [
        tuple(across_targets(one, across) for one in some if isinstance(one, Screener))
        for some in (request.screeners, cutters)
    ]
    return replace(request, screeners=both[0]), both[1]


def table_of(
    X: Any,  # noqa: N803  # as in `screen`
    y: ArrayLike | None,
    options: ScreenOptions,
    kind: Kind,
    weights: NDArray[np.float64] | None,
) -> Table:
    """Read the data."""
    return read_table(
        X,
        target=options.target,
        inputs=options.inputs,
        exclude=_excluded(options),
        missing=options.missing,
        y=y,
        ranking=options.ranking,
        stages=None if options.stages is None else list_of_names(options.stages),
        stage_weight=options.stage_weight,
        event=options.event,
        weights=weights,
        kind=kind,
    )


def _excluded(options: ScreenOptions) -> Sequence[str]:
    """Return the columns to leave out: those of groups and weights are no inputs."""
    apart = [name for name in (options.groups, options.weights) if name is not None]
    if not apart:
        return options.exclude
    named = [options.exclude] if isinstance(options.exclude, str) else options.exclude
    return [*named, *apart]


def request_of(options: ScreenOptions, asked: tuple[AnyScreener, ...], kind: Kind) -> Request:
    """Say what is asked of the space; a chunk size of 0 where none was given."""
    require_accepting(asked, kind)
    check_sign(options.sign)
    check_kind(kind, options.sign, options.search, options.rounds)
    limit = read_limit(options.top)
    backend = read_backend(options.backend, options.scheduler, options.jobs)
    beside = {name: getattr(options, name) for name in ("distinct", "stability", "members")}
    check_limit(options.time_limit, options.search, options.rounds, beside)
    size, prescreen = options.chunk_size, options.prescreen
    return Request(
        screeners=asked,
        sign=options.sign,
        limit=limit,
        prescreen=PRESCREEN if prescreen is None else at_least_1("prescreen", prescreen),
        seed=options.seed,
        jobs=backend.jobs,
        backend=backend,
        chunk_size=0 if size is None else at_least_1("chunk_size", size),
        course=read_course(options.progress, options.on_progress, options.time_limit, quiet=options.quiet),
        search=read_search(options.search, options.risk, asked, limit, options.rounds),
        kind=kind,
    )

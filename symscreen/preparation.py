"""What a screen is asked to do, read: options → table, grammar, job. Every verb that screens begins here."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from symscreen.any_response import labels_of
from symscreen.categories import with_categorical
from symscreen.confidence import level_of
from symscreen.errors import OptionError, nearest
from symscreen.expression import parse
from symscreen.grammar import grammar_names
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
from symscreen.options_running import check_limit, read_backend, read_course
from symscreen.plugins import origins
from symscreen.result import Request, chunk_size_for, read_control
from symscreen.rounds import Job
from symscreen.screeners import (
    SCREENERS,
    Across,
    JointScreener,
    Screener,
    across_targets,
    require_accepting,
    screeners_asked,
)
from symscreen.several_response import SeveralResponse
from symscreen.stability import halving_of
from symscreen.table import frame_with, is_ranking, kind_of_target, read_frame, read_table
from symscreen.thinning import check_distinct
from symscreen.units import checked_formulas, given_units

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike

    from symscreen.expansion import PoolKind
    from symscreen.response import Kind
    from symscreen.result import Standing
    from symscreen.screeners import AnyScreener, Sign
    from symscreen.search import Mode
    from symscreen.stability import Halving
    from symscreen.statistics.tally import Method
    from symscreen.table import Table
    from symscreen.table.categories import CategoricalAs

    Names = str | Sequence[str]
    Progress = Callable[[int, int], None]
    Screeners = str | Sequence[str | AnyScreener]

__all__ = ["Prepared", "ScreenOptions", "options_of", "prepared"]

_MOST_ROUNDS = 5


@dataclass(frozen=True, kw_only=True)
class ScreenOptions:
    """The options of `symscreen.screen` as they were given, with its names and defaults."""

    target: str | Sequence[str] | None = None
    target_kind: str | None = None
    event: str | None = None
    across: Across = "mean"
    ranking: str | Sequence[str] | None = None
    stages: Names | None = None
    stage_weight: Any = "all"
    inputs: Sequence[str] | None = None
    categorical: str | Sequence[str] = ()
    categorical_as: CategoricalAs = "gate"
    exclude: Sequence[str] = ()
    missing: Literal["refuse", "drop"] = "refuse"
    layers: str | None = None
    operators: str | Path = "basic"
    unary: Names | None = None
    binary: Names | None = None
    pool: PoolKind = "cumulative"
    screener: Screeners = "t0"
    prescreen: int | None = None
    rule: str | None = None
    engine: str | None = None
    sign: Sign = "free"
    top: int | Literal["all"] = 20
    max_complexity: int | None = None
    also: Names = ()
    units: str | Path | Mapping[str, str] | None = None
    target_units: str | None = None
    keep: int | str | Mapping[str, int] | None = None
    cut: Screeners | None = None
    rounds: int = 1
    search: Mode = "exact"
    risk: float | None = None
    p_values: bool | None = False
    fdr: float | None = None
    fdr_method: Method = "bh"
    permutations: int | None = None
    distinct: float | None = None
    members: int | None = None
    stability: int | None = None
    groups: str | None = None
    intervals: bool | float = False
    seed: int = 0
    max_ram: str | int | None = None
    jobs: int | None = None
    chunk_size: int | None = None
    progress: Progress | bool | None = None
    on_progress: Callable[[Standing], None] | None = None
    time_limit: str | float | None = None
    backend: str | None = None
    scheduler: str | None = None
    checkpoint: str | Path | None = None


def options_of(given: Mapping[str, Any], *, verb: str) -> ScreenOptions:
    """Take the options of a screen from keywords.

    Parameters
    ----------
    given : mapping of str to object
        As of `symscreen.screen`.
    verb : str
        Who takes them, for the message.

    Returns
    -------
    ScreenOptions

    Raises
    ------
    OptionError
        If a keyword is none of the options, with near matches.

    Examples
    --------
    >>> options_of({"layers": "ub"}, verb="why").layers
    'ub'
    """
    known = [field.name for field in fields(ScreenOptions)]
    for name in given:
        if name not in known:
            raise OptionError(f"{verb} has no option {name!r}{nearest(name, known)}")
    return ScreenOptions(**given)


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
    table = table_of(X, y, options, kind)
    halving = halving_of(
        table, X, options.stability, groups=options.groups, top=options.top, rounds=options.rounds
    )
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
    table, units = given_units(table, options.units, options.target_units)
    if units is not None:
        checked_formulas(formulas, units)
    job = Job(grammar, parsed, options.pool, formulas, request, cutters, keeps, max_bytes, units)
    members = None if options.members is None else at_least_1("members", options.members)
    written, folder = _written(given, table, job), options.checkpoint
    written |= {} if level is None else {"intervals": level}
    kept = None if folder is None else Path(folder)
    return Prepared(table, job, options.rounds, written, members, options.distinct, halving, kept, level)


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
        raise OptionError(
            f"across is {options.across!r}{nearest(str(options.across), get_args(Across))}; "
            "give mean or worst"
        )


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
        kind=kind,
    )


def _excluded(options: ScreenOptions) -> Sequence[str]:
    """Return the columns to leave out: the one of groups is no input."""
    if options.groups is None:
        return options.exclude
    named = [options.exclude] if isinstance(options.exclude, str) else options.exclude
    return [*named, options.groups]


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
        course=read_course(options.progress, options.on_progress, options.time_limit),
        search=read_search(options.search, options.risk, asked, limit, options.rounds),
        kind=kind,
    )


def _written(options: ScreenOptions, table: Table, job: Job) -> dict[str, Any]:
    """Write the options for the record, defaults filled in."""
    ranking, request = options.ranking, job.request
    several = isinstance(table.response, SeveralResponse)
    asked: dict[str, Any] = {
        "target_kind": options.target_kind,
        "event": options.event,
        "across": options.across if several else None,
        "categorical": _list_of(options.categorical) or None,
        "categorical_as": options.categorical_as if options.categorical else None,
        "distinct": options.distinct,
        "stability": options.stability,
        "groups": options.groups,
        "plugins": _from_other_packages(options, job) or None,
        "units": None if job.units is None else {name: one.given for name, one in job.units.columns.items()},
        "target_units": options.target_units,
    }
    return {
        "target": list(table.response.names)
        if isinstance(table.response, SeveralResponse)
        else table.response.name,
        "ranking": None if ranking is None else [ranking] if isinstance(ranking, str) else list(ranking),
        **_written_stages(options),
        "inputs": None if options.inputs is None else list(options.inputs),
        "exclude": list(options.exclude),
        "missing": options.missing,
        "layers": " ".join(map(str, job.layers)),
        "operators": str(options.operators),
        "pool": options.pool,
        "screener": [one.name for one in request.screeners],
        "settings": _settings(request.screeners),
        "prescreen": request.prescreen,
        "sign": options.sign,
        "top": "all" if request.limit is None else request.limit,
        "max_complexity": options.max_complexity,
        "also": list(formula_texts(options.also)),
        "keep": job.keeps,
        "cut": [one.name for one in job.cutters],
        "cut_settings": _settings(job.cutters),
        "rounds": int(options.rounds),
        "search": request.search.mode,
        "risk": request.search.risk if request.search.mode == "race" else None,
        "p_values": request.control is not None and request.control.p_values,
        "fdr": options.fdr,
        "fdr_method": options.fdr_method,
        "permutations": options.permutations,
        "seed": int(options.seed),
        "jobs": None if options.jobs is None else int(options.jobs),
        "chunk_size": options.chunk_size,
        # later options are written only where they are given, so that other records stay as they were
        **{name: value for name, value in asked.items() if value is not None},
    }


def _list_of(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _from_other_packages(options: ScreenOptions, job: Job) -> dict[str, str]:
    """Return the origin of each screener and grammar that another package brought."""
    names = [one.name for one in (*job.request.screeners, *job.cutters)]
    grammars = [name for name in (str(options.operators),) if not name.endswith(".toml")]
    return origins("screener", names, SCREENERS) | origins("grammar", grammars, grammar_names())


def _written_stages(options: ScreenOptions) -> dict[str, Any]:
    """Write the stages, in their order; of weights that have no name the record holds those of each pair."""
    if options.stages is None:
        return {"stages": None, "stage_weight": None}
    weight = options.stage_weight
    return {
        "stages": [str(name) for name in list_of_names(options.stages)],
        "stage_weight": weight if isinstance(weight, str) else "given",
    }


def _settings(screeners: Sequence[AnyScreener]) -> dict[str, dict[str, Any]]:
    """Return every setting of the joint screeners, given or not: defaults may change."""
    return {one.name: dict(one.all_settings) for one in screeners if isinstance(one, JointScreener)}

"""A source and the user's options into a `Table`, or the columns of new rows for formulas already chosen."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from symscreen.errors import OptionError, TableError
from symscreen.label_ranking.notation import first_repeated
from symscreen.response.stage_chains import pair_weights, stage_names
from symscreen.table.arrange import arranged_classes, arranged_several, arranged_survival, arranged_weighted
from symscreen.table.categories import derived_column
from symscreen.table.choose import choose_inputs, choose_target, require, target_named
from symscreen.table.column import python_column
from symscreen.table.complete import FEWEST_ROWS, complete_rows
from symscreen.table.rankings import by_case_alone, given_ranking, is_ranking, ranking_in
from symscreen.table.record import arranged, arranged_rankings, arranged_stages
from symscreen.table.source import read_frame
from symscreen.table.stages import idle_pairs, stages_in
from symscreen.table.targets import (
    Survival,
    classes_in,
    events_in,
    given_targets,
    refuse_many_classes,
    target_names,
    targets_in,
)
from symscreen.table.weights import rows_that_weigh
from symscreen.table.wording import count, quoted

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Mapping, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from symscreen.response import Kind
    from symscreen.response.stages import StagesResponse
    from symscreen.table.column import Column
    from symscreen.table.record import Table
    from symscreen.table.source import Frame

    Needed = tuple[dict[str, NDArray[np.float64]], Callable[..., Table]]
    Source = str | os.PathLike[str] | pd.DataFrame | Mapping[Any, ArrayLike] | NDArray[Any]

__all__ = ["frame_columns", "read_table"]


def read_table(
    source: Source,
    *,
    target: str | Sequence[str] | None = None,
    inputs: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    missing: Literal["refuse", "drop"] = "refuse",
    y: ArrayLike | None = None,
    ranking: str | Sequence[str] | None = None,
    stages: Sequence[str] | None = None,
    stage_weight: Any = "all",
    event: str | None = None,
    weights: NDArray[np.float64] | None = None,
    kind: Kind | None = None,
) -> Table:
    """Read a table and bring it into canonical order.

    Parameters
    ----------
    source : path, ``"-"``, pandas DataFrame, dict of columns, or array of shape (n, d)
        A path ends in .csv, .tsv, .parquet, .feather or .arrow; ``"-"`` is standard input, in any of
        these formats. The columns of an array are named x1 to xd. Labels of other types become text.
        At least 5 rows.
    target : str or sequence of str, optional
        The response's column. Left out: ``target``, ``label`` or ``y``, in that order, else the last. Several
        columns where the kind is ``"several"``.
    inputs : sequence of str, optional
        The input columns. Left out: all numeric columns, without the target and without identifiers
        (columns named like ``id``, ``row`` or ``user_id`` that hold distinct integers).
    exclude : sequence of str, optional
        Columns to leave out.
    missing : {"refuse", "drop"}
        What to do with rows in which a used column has no value.
    y : array_like, shape (n,) or (n, k), optional
        The response, where the source does not carry it; a Series keeps its name. Of several columns it is a
        ranking: ranks or scores, NaN where a label is missing.
    ranking : str or sequence of str, optional
        The response is a ranking: a column of texts such as ``a>b=c``, or the columns of ranks or scores of
        two or more labels. A row that lacks some labels is no row with missing values; one that ranks none
        is.
    stages : sequence of str, optional
        The response is a chain of stages: columns of 1 (reached), 0 (not reached) or nothing (not observed),
        the first stage first. Rows that are at no stage from which a later one was observed are left out.
    stage_weight : {"all", "next", "last"}, mapping or array-like
        What each pair of stages weighs, as `symscreen.response.stage_chains.pair_weights` reads it.
    event : str, optional
        The response is a time until an event, and this column tells whether it was met then (1), or the row
        was seen no longer (0).
    weights : float64 array, shape (n,), optional
        What the rows of the source weigh, of a numeric response; rows of weight 0 are left out, whatever
        stands in them. The others'
        weights are kept where the kind is ``"weighted"``.
    kind : Kind, optional
        What the response is, as `symscreen.table.targets.kind_of_target` tells: ``"classes"`` or
        ``"several"`` where it is no column of numbers.

    Returns
    -------
    Table

    Raises
    ------
    TableError
        If the source cannot be read, a column is missing or not numeric, values are missing or
        infinite, or rows are too few. The message is one line: what, where, how to mend it.
    OptionError
        If `missing` is neither of its values, or more than one of `target`, `ranking`, `stages` and
        `y` is given, the ranking names a column twice, or stages are fewer than two.

    Examples
    --------
    >>> columns = {"b": [1, 2, 3, 4, 5], "a": [2, 4, 6, 8, 0], "name": list("pqrst")}
    >>> table = read_table(columns, y=[9, 8, 7, 6, 5])
    >>> table.names, table.response.name, table.response.values.tolist()
    (('a', 'b'), 'y', [5.0, 6.0, 7.0, 8.0, 9.0])
    >>> table.notices
    ("left out: 'name' (text)",)
    """
    if missing not in {"refuse", "drop"}:
        raise OptionError(f"--missing {missing!r} is unknown: choose refuse or drop")
    _check_one_response({"--ranking": ranking, "--stages": stages, "--target": target, "y": y})
    _check_one_response({"--ranking": ranking, "--stages": stages, "--event": event})
    if stages is None and not (isinstance(stage_weight, str) and stage_weight == "all"):
        raise OptionError("stage_weight is given without --stages: name the stages too, or leave it out")
    chain = None if stages is None else stage_names([str(name) for name in stages])
    of_pairs = None if chain is None else pair_weights(stage_weight, chain)
    frame = read_frame(source)
    if not frame.n:
        raise TableError(f"{frame.where} has a header but no rows: at least {FEWEST_ROWS} are needed")
    picked, excluded = None if inputs is None else _names(inputs), _names(exclude)
    if chain is not None and of_pairs is not None:
        return _with_stages(frame, chain, of_pairs, picked=picked, excluded=excluded, missing=missing)
    if event is not None or kind in {"classes", "several"}:
        return _with_targets(frame, y, target, event, picked=picked, excluded=excluded, missing=missing)
    if ranking is not None or is_ranking(y):
        return _with_ranking(frame, y, ranking, picked=picked, excluded=excluded, missing=missing)
    if y is None:
        names = target_names(frame, target)
        if len(names) > 1:
            raise OptionError(
                f"--target names {len(names)} columns, and one is needed here: only screen, plan and fit "
                "take several"
            )
        name, notices = choose_target(frame, names[0] if names else None, excluded)
        response = _numbers(frame, name)
        chosen, more = choose_inputs(frame, [name], picked, excluded)
    else:
        notices = []
        chosen, more = choose_inputs(frame, [], picked, excluded)
        name, response = _given_numbers(y, frame, chosen)
    used = {each: _numbers(frame, each) for each in chosen}
    needed = {name: response} | used
    kept, dropped = (
        complete_rows(frame, needed, missing)
        if weights is None
        else rows_that_weigh(frame, needed, weights, missing)
    )
    told = [*notices, *more, *dropped]
    try:
        if weights is not None and kind == "weighted":
            return arranged_weighted(used, response, name, weights, kept=kept, notices=told)
        return arranged(used, response, name, kept=kept, notices=told)
    except TableError as error:
        raise TableError(f"{frame.where}: {error}") from error


def _check_one_response(given: Mapping[str, object]) -> None:
    both = [name for name, value in given.items() if value is not None]
    if len(both) > 1:
        raise OptionError(f"both {both[0]} and {both[1]} are given: the response is one of them, not both")


def _with_ranking(
    frame: Frame,
    y: ArrayLike | None,
    ranking: str | Sequence[str] | None,
    *,
    picked: Collection[str] | None,
    excluded: Collection[str],
    missing: str,
) -> Table:
    """Read a table whose response is a ranking."""
    if ranking is None:
        chosen, notices = choose_inputs(frame, [], picked, excluded)
        ranked = given_ranking(cast("ArrayLike", y), frame, chosen)
    else:
        repeated = None if isinstance(ranking, str) else first_repeated([str(name) for name in ranking])
        if repeated is not None:
            raise OptionError(f"--ranking names {quoted(repeated)} twice: name every column once")
        names = _names(ranking)
        if not names:
            raise OptionError(
                "--ranking names no column: name one of texts such as a>b>c, or several of ranks"
            )
        ranked = ranking_in(frame, names, excluded)
        chosen, notices = choose_inputs(frame, names, picked, excluded, said="--ranking")
        notices += by_case_alone(ranked) if len(names) == 1 else []
    used = {each: _numbers(frame, each) for each in chosen}
    kept, dropped = complete_rows(frame, {ranked.name: ranked.shown} | used, missing)
    try:
        return arranged_rankings(used, ranked, kept=kept, notices=[*notices, *dropped])
    except TableError as error:
        raise TableError(f"{frame.where}: {error}") from error


def _with_stages(
    frame: Frame,
    stages: tuple[str, ...],
    weights: NDArray[np.float64],
    *,
    picked: Collection[str] | None,
    excluded: Collection[str],
    missing: str,
) -> Table:
    """Read a table whose response is a chain of stages."""
    staged = stages_in(frame, stages, weights, excluded)
    chosen, notices = choose_inputs(frame, stages, picked, excluded, said="--stages")
    used = {each: _numbers(frame, each) for each in chosen}
    complete, dropped = complete_rows(frame, used, missing)
    kept = complete & staged.met
    idle = int((complete & ~staged.met).sum())
    what = f"{count(idle, 'row')} of {frame.n} at no stage from which a later one was observed"
    if kept.sum() < FEWEST_ROWS:
        left = f"{count(int(kept.sum()), 'row')} after leaving out {what}"
        raise TableError(f"{frame.where} has {left}: at least {FEWEST_ROWS} are needed")
    try:
        table = arranged_stages(used, staged, kept=kept, notices=[*notices, *dropped])
    except TableError as error:
        raise TableError(f"{frame.where}: {error}") from error
    more = [f"left out: {what}"] if idle else []
    more += idle_pairs(cast("StagesResponse", table.response))
    return replace(table, notices=(*table.notices, *more))


def _with_targets(
    frame: Frame,
    y: ArrayLike | None,
    target: str | Sequence[str] | None,
    event: str | None,
    *,
    picked: Collection[str] | None,
    excluded: Collection[str],
    missing: str,
) -> Table:
    """Read a table whose response is a class, several targets, or a time until an event."""
    names, notices = list(target_names(frame, target)), list[str]()
    if y is None and len(names) < 2:
        name, notices = target_named(frame, names[0] if names else None, excluded)
        names = [name]
    if event is not None and len(names) > 1:
        raise OptionError(f"--target names {len(names)} columns, and --event {event} goes with one of times")
    taken = [*names, event] if event is not None else names
    chosen, more = choose_inputs(frame, taken, picked, excluded)
    if event is not None:
        needed, arrange = _survival(frame, y, names, event, chosen, excluded=excluded)
    elif len(names) > 1 or is_ranking(y):
        needed, arrange = _several(frame, y, names, chosen, excluded)
    else:
        needed, arrange = _classes(frame, y, names, chosen)
    used = {each: _numbers(frame, each) for each in chosen}
    kept, dropped = complete_rows(frame, needed | used, missing)
    try:
        return arrange(used, kept=kept, notices=[*notices, *more, *dropped])
    except TableError as error:
        raise TableError(f"{frame.where}: {error}") from error


def _classes(frame: Frame, y: ArrayLike | None, names: list[str], inputs: list[str]) -> Needed:
    name, column = (names[0], frame.columns[names[0]]) if y is None else _given_response(y, frame, inputs)
    given = classes_in(frame, name, column)
    refuse_many_classes(frame, given)
    return {name: given.codes}, lambda used, **told: arranged_classes(used, given, **told)


def _several(frame: Frame, y: Any, names: list[str], inputs: list[str], excluded: Collection[str]) -> Needed:
    given = targets_in(frame, names, excluded) if y is None else given_targets(y, frame, inputs)
    return dict(given), lambda used, **told: arranged_several(used, given, **told)


def _survival(
    frame: Frame,
    y: ArrayLike | None,
    names: list[str],
    event: str,
    inputs: list[str],
    *,
    excluded: Collection[str],
) -> Needed:
    events = events_in(frame, event, names[0] if names else None, excluded)
    if y is None:
        name, _ = choose_target(frame, names[0], excluded)
        times = _numbers(frame, name)
    else:
        name, times = _given_numbers(y, frame, inputs)
    if (times < 0).any():
        row = int(np.flatnonzero(times < 0)[0])
        raise TableError(
            f"{frame.where}: row {row + 1} of {quoted(name)} holds {times[row]:g}, and a time until an event "
            "is not negative: mend it, or name the column of times with --target"
        )
    given = Survival(name, event, times, events)
    needed = {name: times, event: events}
    return needed, lambda used, **told: arranged_survival(used, given, **told)


def frame_columns(rows: Source, names: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Read the named columns of new rows, in the rows' own order.

    Parameters
    ----------
    rows : path, ``"-"``, pandas DataFrame, dict of columns, or array of shape (n, d)
        As for `read_table`, of any number of rows.
    names : sequence of str
        The columns needed; others may hold anything. Those that categories come to are computed from their
        column (`symscreen.table.categories`).

    Returns
    -------
    dict of str to float64 array, each of shape (n,)
        In the order of `names`; NaN where a value is missing. The arrays are copies.

    Raises
    ------
    TableError
        If the source cannot be read, or a column is missing or not numeric.

    Examples
    --------
    >>> frame_columns({"b": [1, 2], "a": [None, 0.5]}, ["a"])
    {'a': array([nan, 0.5])}
    """
    frame = read_frame(rows)
    needed = _names(names)
    made = {name: derived_column(frame, name) for name in needed if name not in frame.columns}
    frame = replace(
        frame, columns=frame.columns | {name: own for name, own in made.items() if own is not None}
    )
    require(frame, needed, "the screen")
    return {name: _numbers(frame, name) + 0.0 for name in needed}  # -0.0 + 0.0 is 0.0, as in a Table


def _names(given: Sequence[str]) -> Collection[str]:
    """Take names once each, in order; a lone text is one name, and other labels are text as in a frame."""
    return dict.fromkeys([given] if isinstance(given, str) else map(str, given))


def _numbers(frame: Frame, name: str) -> NDArray[np.float64]:
    column = frame.columns[name]
    if column.numbers is None:
        raise TableError(f"{frame.where}: the column {quoted(name)} holds {column.holds}; numbers are needed")
    return column.numbers


def _given_numbers(y: ArrayLike, frame: Frame, inputs: Sequence[str]) -> tuple[str, NDArray[np.float64]]:
    """Check numbers that come beside the source, and name them."""
    name, column = _given_response(y, frame, inputs)
    if column.numbers is None or not column.numeric:
        raise TableError(f"y holds {column.holds}: numbers are needed")
    return name, column.numbers


def _given_response(y: ArrayLike, frame: Frame, inputs: Sequence[str]) -> tuple[str, Column]:
    """Check the shape of a response that comes beside the source, and name it."""
    cells: Any = y if hasattr(y, "shape") else np.array(y, dtype=object)
    if cells.shape != (frame.n,):
        raise TableError(
            f"y has shape {cells.shape}: one value is needed for each of the {frame.n} rows of {frame.where}"
        )
    column = python_column(cells)
    label = getattr(y, "name", None)
    if label is None:
        name = "y"
        while name in inputs:
            name += "_"
        return name, column
    if str(label) in inputs:
        raise TableError(
            f"{quoted(label)} is the name of y and of a column of {frame.where}: "
            "leave that column out with --exclude, or rename one"
        )
    return str(label), column

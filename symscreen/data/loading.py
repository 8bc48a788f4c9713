"""A source and the user's options into a `Dataset`, or the columns of new rows for formulas already chosen."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from symscreen.data.categories import compute_categorical_column
from symscreen.data.column_selection import (
    choose_inputs,
    choose_numeric_target,
    choose_target_column,
    require_columns,
)
from symscreen.data.column_types import convert_python_column
from symscreen.data.dataset import (
    build_multi_output_dataset,
    build_multiclass_dataset,
    build_numeric_dataset,
    build_ranking_dataset,
    build_stages_dataset,
    build_survival_dataset,
    build_weighted_dataset,
)
from symscreen.data.files import read_frame
from symscreen.data.row_columns import MIN_ROWS, find_complete_rows, find_weighted_rows
from symscreen.data.target_columns import (
    SurvivalData,
    check_class_count,
    check_y_outputs,
    check_y_ranking,
    describe_case_conflicts,
    describe_uninformative_pairs,
    is_ranking,
    parse_target_names,
    read_classes,
    read_events,
    read_outputs,
    read_ranking_columns,
    read_stages,
)
from symscreen.errors import DataError, OptionError, format_count, quote
from symscreen.targets.ranking_notation import find_duplicate
from symscreen.targets.stages import check_stage_names, parse_pair_weights

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Mapping, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from symscreen.data.column_types import SourceColumn
    from symscreen.data.dataset import Dataset
    from symscreen.data.files import SourceFrame
    from symscreen.targets import TargetType
    from symscreen.targets.stages import StagesTarget

    PreparedTarget = tuple[dict[str, NDArray[np.float64]], Callable[..., Dataset]]
    Source = str | os.PathLike[str] | pd.DataFrame | Mapping[Any, ArrayLike] | NDArray[Any]

__all__ = ["read_columns", "read_dataset"]


def read_dataset(
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
    target_type: TargetType | None = None,
) -> Dataset:
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
        What each pair of stages weighs, as `symscreen.targets.stages.parse_pair_weights` reads it.
    event : str, optional
        The response is a time until an event, and this column tells whether it was met then (1), or the row
        was seen no longer (0).
    weights : float64 array, shape (n,), optional
        What the rows of the source weigh, of a numeric response; rows of weight 0 are left out, whatever
        stands in them. The others'
        weights are kept where the kind is ``"weighted"``.
    kind : Kind, optional
        What the response is, as `symscreen.data.target_columns.detect_target_type` tells: ``"classes"`` or
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
    >>> table = read_dataset(columns, y=[9, 8, 7, 6, 5])
    >>> table.names, table.target.name, table.target.values.tolist()
    (('a', 'b'), 'y', [5.0, 6.0, 7.0, 8.0, 9.0])
    >>> table.notices
    ("left out: 'name' (text)",)
    """
    if missing not in {"refuse", "drop"}:
        raise OptionError(f"--missing {missing!r} is unknown: choose refuse or drop")
    _check_single_target({"--ranking": ranking, "--stages": stages, "--target": target, "y": y})
    _check_single_target({"--ranking": ranking, "--stages": stages, "--event": event})
    if stages is None and not (isinstance(stage_weight, str) and stage_weight == "all"):
        raise OptionError("stage_weight is given without --stages: name the stages too, or leave it out")
    chain = None if stages is None else check_stage_names([str(name) for name in stages])
    of_pairs = None if chain is None else parse_pair_weights(stage_weight, chain)
    frame = read_frame(source)
    if not frame.n:
        raise DataError(f"{frame.source} has a header but no rows: at least {MIN_ROWS} are needed")
    picked, excluded = None if inputs is None else _to_unique_names(inputs), _to_unique_names(exclude)
    if chain is not None and of_pairs is not None:
        return _read_stages_dataset(frame, chain, of_pairs, inputs=picked, exclude=excluded, missing=missing)
    if event is not None or target_type in {"classes", "several"}:
        return _read_dataset_by_target_type(
            frame, y, target, event, inputs=picked, exclude=excluded, missing=missing
        )
    if ranking is not None or is_ranking(y):
        return _read_ranking_dataset(frame, y, ranking, inputs=picked, exclude=excluded, missing=missing)
    if y is None:
        names = parse_target_names(frame, target)
        if len(names) > 1:
            raise OptionError(
                f"--target names {len(names)} columns, and one is needed here: only screen, plan and fit "
                "take several"
            )
        name, notices = choose_numeric_target(frame, names[0] if names else None, excluded)
        response = _get_numbers(frame, name)
        chosen, more = choose_inputs(frame, [name], picked, excluded)
    else:
        notices = []
        chosen, more = choose_inputs(frame, [], picked, excluded)
        name, response = _check_y_numbers(y, frame, chosen)
    used = {each: _get_numbers(frame, each) for each in chosen}
    needed = {name: response} | used
    kept, dropped = (
        find_complete_rows(frame, needed, missing)
        if weights is None
        else find_weighted_rows(frame, needed, weights, missing)
    )
    told = [*notices, *more, *dropped]
    try:
        if weights is not None and target_type == "weighted":
            return build_weighted_dataset(used, response, name, weights, row_mask=kept, notices=told)
        return build_numeric_dataset(used, response, name, row_mask=kept, notices=told)
    except DataError as error:
        raise DataError(f"{frame.source}: {error}") from error


def _check_single_target(options: Mapping[str, object]) -> None:
    both = [name for name, value in options.items() if value is not None]
    if len(both) > 1:
        raise OptionError(f"both {both[0]} and {both[1]} are given: the response is one of them, not both")


def _read_ranking_dataset(
    frame: SourceFrame,
    y: ArrayLike | None,
    ranking: str | Sequence[str] | None,
    *,
    inputs: Collection[str] | None,
    exclude: Collection[str],
    missing: str,
) -> Dataset:
    """Read a table whose response is a ranking."""
    if ranking is None:
        chosen, notices = choose_inputs(frame, [], inputs, exclude)
        ranked = check_y_ranking(cast("ArrayLike", y), frame, chosen)
    else:
        repeated = None if isinstance(ranking, str) else find_duplicate([str(name) for name in ranking])
        if repeated is not None:
            raise OptionError(f"--ranking names {quote(repeated)} twice: name every column once")
        names = _to_unique_names(ranking)
        if not names:
            raise OptionError(
                "--ranking names no column: name one of texts such as a>b>c, or several of ranks"
            )
        ranked = read_ranking_columns(frame, names, exclude)
        chosen, notices = choose_inputs(frame, names, inputs, exclude, target_option="--ranking")
        notices += describe_case_conflicts(ranked) if len(names) == 1 else []
    used = {each: _get_numbers(frame, each) for each in chosen}
    kept, dropped = find_complete_rows(frame, {ranked.name: ranked.missing_indicator} | used, missing)
    try:
        return build_ranking_dataset(used, ranked, row_mask=kept, notices=[*notices, *dropped])
    except DataError as error:
        raise DataError(f"{frame.source}: {error}") from error


def _read_stages_dataset(
    frame: SourceFrame,
    stages: tuple[str, ...],
    weights: NDArray[np.float64],
    *,
    inputs: Collection[str] | None,
    exclude: Collection[str],
    missing: str,
) -> Dataset:
    """Read a table whose response is a chain of stages."""
    staged = read_stages(frame, stages, weights, exclude)
    chosen, notices = choose_inputs(frame, stages, inputs, exclude, target_option="--stages")
    used = {each: _get_numbers(frame, each) for each in chosen}
    complete, dropped = find_complete_rows(frame, used, missing)
    kept = complete & staged.informative_rows
    idle = int((complete & ~staged.informative_rows).sum())
    what = f"{format_count(idle, 'row')} of {frame.n} at no stage from which a later one was observed"
    if kept.sum() < MIN_ROWS:
        left = f"{format_count(int(kept.sum()), 'row')} after leaving out {what}"
        raise DataError(f"{frame.source} has {left}: at least {MIN_ROWS} are needed")
    try:
        table = build_stages_dataset(used, staged, row_mask=kept, notices=[*notices, *dropped])
    except DataError as error:
        raise DataError(f"{frame.source}: {error}") from error
    more = [f"left out: {what}"] if idle else []
    more += describe_uninformative_pairs(cast("StagesTarget", table.target))
    return replace(table, notices=(*table.notices, *more))


def _read_dataset_by_target_type(
    frame: SourceFrame,
    y: ArrayLike | None,
    target: str | Sequence[str] | None,
    event: str | None,
    *,
    inputs: Collection[str] | None,
    exclude: Collection[str],
    missing: str,
) -> Dataset:
    """Read a table whose response is a class, several targets, or a time until an event."""
    names, notices = list(parse_target_names(frame, target)), list[str]()
    if y is None and len(names) < 2:
        name, notices = choose_target_column(frame, names[0] if names else None, exclude)
        names = [name]
    if event is not None and len(names) > 1:
        raise OptionError(f"--target names {len(names)} columns, and --event {event} goes with one of times")
    taken = [*names, event] if event is not None else names
    chosen, more = choose_inputs(frame, taken, inputs, exclude)
    if event is not None:
        needed, arrange = _prepare_survival(frame, y, names, event, chosen, exclude=exclude)
    elif len(names) > 1 or is_ranking(y):
        needed, arrange = _prepare_outputs(frame, y, names, chosen, exclude)
    else:
        needed, arrange = _prepare_classes(frame, y, names, chosen)
    used = {each: _get_numbers(frame, each) for each in chosen}
    kept, dropped = find_complete_rows(frame, needed | used, missing)
    try:
        return arrange(used, row_mask=kept, notices=[*notices, *more, *dropped])
    except DataError as error:
        raise DataError(f"{frame.source}: {error}") from error


def _prepare_classes(
    frame: SourceFrame, y: ArrayLike | None, names: list[str], inputs: list[str]
) -> PreparedTarget:
    name, column = (names[0], frame.columns[names[0]]) if y is None else _check_y_column(y, frame, inputs)
    given = read_classes(frame, name, column)
    check_class_count(frame, given)
    return {name: given.codes}, lambda used, **told: build_multiclass_dataset(used, given, **told)


def _prepare_outputs(
    frame: SourceFrame, y: Any, names: list[str], inputs: list[str], exclude: Collection[str]
) -> PreparedTarget:
    given = read_outputs(frame, names, exclude) if y is None else check_y_outputs(y, frame, inputs)
    return dict(given), lambda used, **told: build_multi_output_dataset(used, given, **told)


def _prepare_survival(
    frame: SourceFrame,
    y: ArrayLike | None,
    names: list[str],
    event: str,
    inputs: list[str],
    *,
    exclude: Collection[str],
) -> PreparedTarget:
    events = read_events(frame, event, names[0] if names else None, exclude)
    if y is None:
        name, _ = choose_numeric_target(frame, names[0], exclude)
        times = _get_numbers(frame, name)
    else:
        name, times = _check_y_numbers(y, frame, inputs)
    if (times < 0).any():
        row = int(np.flatnonzero(times < 0)[0])
        raise DataError(
            f"{frame.source}: row {row + 1} of {quote(name)} holds {times[row]:g}, and a time until an event "
            "is not negative: mend it, or name the column of times with --target"
        )
    given = SurvivalData(name, event, times, events)
    needed = {name: times, event: events}
    return needed, lambda used, **told: build_survival_dataset(used, given, **told)


def read_columns(rows: Source, names: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Read the named columns of new rows, in the rows' own order.

    Parameters
    ----------
    rows : path, ``"-"``, pandas DataFrame, dict of columns, or array of shape (n, d)
        As for `read_dataset`, of any number of rows.
    names : sequence of str
        The columns needed; others may hold anything. Those that categories come to are computed from their
        column (`symscreen.data.categories`).

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
    >>> read_columns({"b": [1, 2], "a": [None, 0.5]}, ["a"])
    {'a': array([nan, 0.5])}
    """
    frame = read_frame(rows)
    needed = _to_unique_names(names)
    made = {name: compute_categorical_column(frame, name) for name in needed if name not in frame.columns}
    frame = replace(
        frame, columns=frame.columns | {name: own for name, own in made.items() if own is not None}
    )
    require_columns(frame, needed, "the screen")
    return {name: _get_numbers(frame, name) + 0.0 for name in needed}  # -0.0 + 0.0 is 0.0, as in a Table


def _to_unique_names(names: Sequence[str]) -> Collection[str]:
    """Take names once each, in order; a lone text is one name, and other labels are text as in a frame."""
    return dict.fromkeys([names] if isinstance(names, str) else map(str, names))


def _get_numbers(frame: SourceFrame, name: str) -> NDArray[np.float64]:
    column = frame.columns[name]
    if column.numbers is None:
        raise DataError(
            f"{frame.source}: the column {quote(name)} holds {column.description}; numbers are needed"
        )
    return column.numbers


def _check_y_numbers(
    y: ArrayLike, frame: SourceFrame, inputs: Sequence[str]
) -> tuple[str, NDArray[np.float64]]:
    """Check numbers that come beside the source, and name them."""
    name, column = _check_y_column(y, frame, inputs)
    if column.numbers is None or not column.is_numeric:
        raise DataError(f"y holds {column.description}: numbers are needed")
    return name, column.numbers


def _check_y_column(y: ArrayLike, frame: SourceFrame, inputs: Sequence[str]) -> tuple[str, SourceColumn]:
    """Check the shape of a response that comes beside the source, and name it."""
    cells: Any = y if hasattr(y, "shape") else np.array(y, dtype=object)
    if cells.shape != (frame.n,):
        raise DataError(
            f"y has shape {cells.shape}: one value is needed for each of the {frame.n} rows of {frame.source}"
        )
    column = convert_python_column(cells)
    label = getattr(y, "name", None)
    if label is None:
        name = "y"
        while name in inputs:
            name += "_"
        return name, column
    if str(label) in inputs:
        raise DataError(
            f"{quote(label)} is the name of y and of a column of {frame.source}: "
            "leave that column out with --exclude, or rename one"
        )
    return str(label), column

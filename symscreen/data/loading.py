"""Read a source into a `Dataset`, or read the columns of new rows for existing formulas."""

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
from symscreen.errors import DataError, OptionError
from symscreen.messages import format_count, hint_option, name_option, quote
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
    """Read a source and sort it into canonical order.

    Parameters
    ----------
    source : path, ``"-"``, pandas DataFrame, dict of columns, or array of shape (n, d)
        A path has the suffix .csv, .tsv, .parquet, .feather or .arrow; ``"-"`` is standard input, in any of
        these formats. The columns of an array are named x1 to xd. Column labels are converted to text.
        At least 5 rows are required.
    target : str or sequence of str, optional
        The target column. By default ``target``, ``label`` or ``y``, in that order, else the last column.
        Several columns require the target type ``"several"``.
    inputs : sequence of str, optional
        The input columns. By default all numeric columns except the target and identifiers (columns with
        names like ``id``, ``row`` or ``user_id`` that contain distinct integers).
    exclude : sequence of str, optional
        Columns to exclude.
    missing : {"refuse", "drop"}
        ``"refuse"`` raises an error if a used column has missing values, ``"drop"`` drops these rows.
    y : array_like, shape (n,) or (n, k), optional
        The target, if it is not a column of the source. A Series keeps its name. Several columns are a
        ranking by default: ranks or scores, NaN where a label is missing.
    ranking : str or sequence of str, optional
        Makes the target a ranking: one column of texts such as ``a>b=c``, or two or more columns of ranks or
        scores, one per label. A row counts as missing only if it ranks no label.
    stages : sequence of str, optional
        Makes the target a chain of stages: columns of 1 (reached), 0 (not reached) or missing (not observed),
        first stage first. Rows without an observed transition are left out.
    stage_weight : {"all", "next", "last"}, mapping or array-like
        Weights of the pairs of stages, see `symscreen.targets.stages.parse_pair_weights`.
    event : str, optional
        Makes the target a time until an event: a column of 1 (event observed) and 0 (row censored).
    weights : float64 array, shape (n,), optional
        Nonnegative row weights for a numeric target. Rows of weight 0 are left out, even if they contain
        missing values. The other weights are stored only for the target type ``"weighted"``.
    target_type : TargetType, optional
        The target type, see `symscreen.data.detect_target_type`. Required for ``"classes"`` and
        ``"several"``.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        If the source cannot be read, a column is missing or not numeric, values are missing or infinite, or
        there are fewer than 5 rows. The message is one line with the problem, its place and a remedy.
    OptionError
        If `missing` has another value, more than one of `target`, `ranking`, `stages` and `y` is given, the
        ranking names a column twice, or there are fewer than two stages.

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
        raise OptionError(f"{name_option('missing', missing)} is unknown: choose refuse or drop")
    _check_single_target({"ranking": ranking, "stages": stages, "target": target, "y": y})
    _check_single_target({"ranking": ranking, "stages": stages, "event": event})
    if stages is None and not (isinstance(stage_weight, str) and stage_weight == "all"):
        raise OptionError(
            f"{name_option('stage_weight')} requires {name_option('stages')}: name the stages too, or "
            "leave it out"
        )
    stage_names = None if stages is None else check_stage_names([str(name) for name in stages])
    pair_weights = None if stage_names is None else parse_pair_weights(stage_weight, stage_names)
    frame = read_frame(source)
    if not frame.n:
        raise DataError(f"{frame.source} has a header but no rows: at least {MIN_ROWS} are needed")
    input_names, excluded_names = (
        None if inputs is None else _to_unique_names(inputs),
        _to_unique_names(exclude),
    )
    if stage_names is not None and pair_weights is not None:
        return _read_stages_dataset(
            frame, stage_names, pair_weights, inputs=input_names, exclude=excluded_names, missing=missing
        )
    if event is not None or target_type in {"classes", "several"}:
        return _read_dataset_by_target_type(
            frame, y, target, event, inputs=input_names, exclude=excluded_names, missing=missing
        )
    if ranking is not None or is_ranking(y):
        return _read_ranking_dataset(
            frame, y, ranking, inputs=input_names, exclude=excluded_names, missing=missing
        )
    if y is None:
        names = parse_target_names(frame, target)
        if len(names) > 1:
            raise OptionError(
                f"there are {len(names)} targets{hint_option('target', names)}, but one is needed here: only "
                "screen, plan and fit accept several"
            )
        name, notices = choose_numeric_target(frame, names[0] if names else None, excluded_names)
        target_values = _get_numbers(frame, name)
        input_columns, input_notices = choose_inputs(frame, [name], input_names, excluded_names)
    else:
        notices = []
        input_columns, input_notices = choose_inputs(frame, [], input_names, excluded_names)
        name, target_values = _check_y_numbers(y, frame, input_columns)
    columns = {column: _get_numbers(frame, column) for column in input_columns}
    required_columns = {name: target_values} | columns
    row_mask, row_notices = (
        find_complete_rows(frame, required_columns, missing)
        if weights is None
        else find_weighted_rows(frame, required_columns, weights, missing)
    )
    all_notices = [*notices, *input_notices, *row_notices]
    try:
        if weights is not None and target_type == "weighted":
            return build_weighted_dataset(
                columns, target_values, name, weights, row_mask=row_mask, notices=all_notices
            )
        return build_numeric_dataset(columns, target_values, name, row_mask=row_mask, notices=all_notices)
    except DataError as error:
        raise DataError(f"{frame.source}: {error.template}") from error


def _check_single_target(options: Mapping[str, object]) -> None:
    """Check that at most one of the options is given."""
    used = [name for name, value in options.items() if value is not None]
    if len(used) > 1:
        first, second = (name if name == "y" else name_option(name) for name in used[:2])
        raise OptionError(f"both {first} and {second} are given: the target is one of them, not both")


def _read_ranking_dataset(
    frame: SourceFrame,
    y: ArrayLike | None,
    ranking: str | Sequence[str] | None,
    *,
    inputs: Collection[str] | None,
    exclude: Collection[str],
    missing: str,
) -> Dataset:
    """Read a dataset whose target is a ranking."""
    if ranking is None:
        input_columns, notices = choose_inputs(frame, [], inputs, exclude)
        ranking_data = check_y_ranking(cast("ArrayLike", y), frame, input_columns)
    else:
        duplicate = None if isinstance(ranking, str) else find_duplicate([str(name) for name in ranking])
        if duplicate is not None:
            raise OptionError(
                f"{name_option('ranking')} names {quote(duplicate)} twice: name every column once"
            )
        names = _to_unique_names(ranking)
        if not names:
            raise OptionError(
                f"{name_option('ranking')} names no column: name one column of texts such as a>b>c, or "
                "several of ranks"
            )
        ranking_data = read_ranking_columns(frame, names, exclude)
        input_columns, notices = choose_inputs(frame, names, inputs, exclude, target_option="ranking")
        notices += describe_case_conflicts(ranking_data) if len(names) == 1 else []
    columns = {column: _get_numbers(frame, column) for column in input_columns}
    row_mask, row_notices = find_complete_rows(
        frame, {ranking_data.name: ranking_data.missing_indicator} | columns, missing
    )
    try:
        return build_ranking_dataset(
            columns, ranking_data, row_mask=row_mask, notices=[*notices, *row_notices]
        )
    except DataError as error:
        raise DataError(f"{frame.source}: {error.template}") from error


def _read_stages_dataset(
    frame: SourceFrame,
    stages: tuple[str, ...],
    weights: NDArray[np.float64],
    *,
    inputs: Collection[str] | None,
    exclude: Collection[str],
    missing: str,
) -> Dataset:
    """Read a dataset whose target is a chain of stages."""
    stage_data = read_stages(frame, stages, weights, exclude)
    input_columns, notices = choose_inputs(frame, stages, inputs, exclude, target_option="stages")
    columns = {column: _get_numbers(frame, column) for column in input_columns}
    complete, row_notices = find_complete_rows(frame, columns, missing)
    row_mask = complete & stage_data.informative_rows
    n_uninformative = int((complete & ~stage_data.informative_rows).sum())
    uninformative_rows = (
        f"{format_count(n_uninformative, 'row')} of {frame.n} without an observed transition between stages"
    )
    if row_mask.sum() < MIN_ROWS:
        rows_left = f"{format_count(int(row_mask.sum()), 'row')} after leaving out {uninformative_rows}"
        raise DataError(f"{frame.source} has {rows_left}: at least {MIN_ROWS} are needed")
    try:
        dataset = build_stages_dataset(
            columns, stage_data, row_mask=row_mask, notices=[*notices, *row_notices]
        )
    except DataError as error:
        raise DataError(f"{frame.source}: {error.template}") from error
    more_notices = [f"left out: {uninformative_rows}"] if n_uninformative else []
    more_notices += describe_uninformative_pairs(cast("StagesTarget", dataset.target))
    return replace(dataset, notices=(*dataset.notices, *more_notices))


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
    """Read a dataset whose target is a class, several outputs, or a time until an event."""
    names, notices = list(parse_target_names(frame, target)), list[str]()
    if y is None and len(names) < 2:
        name, notices = choose_target_column(frame, names[0] if names else None, exclude)
        names = [name]
    if event is not None and len(names) > 1:
        raise OptionError(
            f"there are {len(names)} targets{hint_option('target', names)}, and "
            f"{name_option('event', event)} requires one column of times"
        )
    target_columns = [*names, event] if event is not None else names
    input_columns, input_notices = choose_inputs(frame, target_columns, inputs, exclude)
    if event is not None:
        required_columns, build_dataset = _prepare_survival(
            frame, y, names, event, input_columns, exclude=exclude
        )
    elif len(names) > 1 or is_ranking(y):
        required_columns, build_dataset = _prepare_outputs(frame, y, names, input_columns, exclude)
    else:
        required_columns, build_dataset = _prepare_classes(frame, y, names, input_columns)
    columns = {column: _get_numbers(frame, column) for column in input_columns}
    row_mask, row_notices = find_complete_rows(frame, required_columns | columns, missing)
    try:
        return build_dataset(columns, row_mask=row_mask, notices=[*notices, *input_notices, *row_notices])
    except DataError as error:
        raise DataError(f"{frame.source}: {error.template}") from error


def _prepare_classes(
    frame: SourceFrame, y: ArrayLike | None, names: list[str], inputs: list[str]
) -> PreparedTarget:
    """Read the classes; return the required columns and a function that builds the dataset."""
    name, column = (names[0], frame.columns[names[0]]) if y is None else _check_y_column(y, frame, inputs)
    class_data = read_classes(frame, name, column)
    check_class_count(frame, class_data)
    return {name: class_data.codes}, lambda columns, **kwargs: build_multiclass_dataset(
        columns, class_data, **kwargs
    )


def _prepare_outputs(
    frame: SourceFrame, y: Any, names: list[str], inputs: list[str], exclude: Collection[str]
) -> PreparedTarget:
    """Read several outputs; return the required columns and a function that builds the dataset."""
    outputs = read_outputs(frame, names, exclude) if y is None else check_y_outputs(y, frame, inputs)
    return dict(outputs), lambda columns, **kwargs: build_multi_output_dataset(columns, outputs, **kwargs)


def _prepare_survival(
    frame: SourceFrame,
    y: ArrayLike | None,
    names: list[str],
    event: str,
    inputs: list[str],
    *,
    exclude: Collection[str],
) -> PreparedTarget:
    """Read times and events; return the required columns and a function that builds the dataset."""
    events = read_events(frame, event, names[0] if names else None, exclude)
    if y is None:
        name, _ = choose_numeric_target(frame, names[0], exclude)
        times = _get_numbers(frame, name)
    else:
        name, times = _check_y_numbers(y, frame, inputs)
    if (times < 0).any():
        row = int(np.flatnonzero(times < 0)[0])
        raise DataError(
            f"{frame.source}: row {row + 1} of {quote(name)} holds {times[row]:g}, but a time until an event "
            f"cannot be negative: correct it, or name another column of times{hint_option('target')}"
        )
    survival_data = SurvivalData(name, event, times, events)
    required_columns = {name: times, event: events}
    return required_columns, lambda columns, **kwargs: build_survival_dataset(
        columns, survival_data, **kwargs
    )


def read_columns(rows: Source, names: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Read named columns of new rows, in the order of the rows.

    Parameters
    ----------
    rows : path, ``"-"``, pandas DataFrame, dict of columns, or array of shape (n, d)
        A source as for `read_dataset`, with any number of rows.
    names : sequence of str
        The required columns. Derived columns such as ``c = level`` are computed from the categorical column
        (see `symscreen.data.categories`). Other columns of the source are not checked.

    Returns
    -------
    dict of str to float64 array, each of shape (n,)
        Copies of the columns in the order of `names`, NaN where a value is missing.

    Raises
    ------
    DataError
        If the source cannot be read, or a column is missing or not numeric.

    Examples
    --------
    >>> read_columns({"b": [1, 2], "a": [None, 0.5]}, ["a"])
    {'a': array([nan, 0.5])}
    """
    frame = read_frame(rows)
    unique_names = _to_unique_names(names)
    derived = {
        name: compute_categorical_column(frame, name) for name in unique_names if name not in frame.columns
    }
    frame = replace(
        frame,
        columns=frame.columns | {name: column for name, column in derived.items() if column is not None},
    )
    require_columns(frame, unique_names, "the screen")
    return {
        name: _get_numbers(frame, name) + 0.0 for name in unique_names
    }  # + 0.0 replaces −0.0 by 0.0, as in a Dataset


def _to_unique_names(names: Sequence[str]) -> Collection[str]:
    """Convert names to text and remove duplicates, keeping the order; a single text is one name."""
    return dict.fromkeys([names] if isinstance(names, str) else map(str, names))


def _get_numbers(frame: SourceFrame, name: str) -> NDArray[np.float64]:
    """Return the values of a numeric column; shape (n,)."""
    column = frame.columns[name]
    if column.numbers is None:
        raise DataError(
            f"{frame.source}: the column {quote(name)} holds {column.description}; numbers are needed"
        )
    return column.numbers


def _check_y_numbers(
    y: ArrayLike, frame: SourceFrame, inputs: Sequence[str]
) -> tuple[str, NDArray[np.float64]]:
    """Check a separate numeric target of shape (n,); return its name and values."""
    name, column = _check_y_column(y, frame, inputs)
    if column.numbers is None or not column.is_numeric:
        raise DataError(f"y holds {column.description}: numbers are needed")
    return name, column.numbers


def _check_y_column(y: ArrayLike, frame: SourceFrame, inputs: Sequence[str]) -> tuple[str, SourceColumn]:
    """Check the shape of a separate target; return its name and column."""
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
            f"leave that column out{hint_option('exclude')}, or rename one"
        )
    return str(label), column

"""Read a source into a `Dataset`, or read the columns of new rows for existing formulas."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from symscreen.data.column_selection import ask_for_categories, choose_inputs, require_columns
from symscreen.data.column_types import NO_INDICATORS, FilledColumn
from symscreen.data.dataset import build_dataset
from symscreen.data.derived_columns import compute_derived_column
from symscreen.data.missing_values import MISSING_POLICIES, fill_inputs, find_rows_with_values
from symscreen.data.row_columns import find_used_rows
from symscreen.data.sources import read_frame
from symscreen.data.target_source import TargetSource, check_target_options, detect_target_type
from symscreen.errors import DataError, OptionError
from symscreen.messages import name_option, quote
from symscreen.targets.registry import TARGET_TYPES

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Mapping, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from symscreen._typing import Flags, Values
    from symscreen.data.column_types import DerivedColumn
    from symscreen.data.dataset import Dataset
    from symscreen.data.missing_values import MissingPolicy
    from symscreen.data.source_frame import SourceFrame
    from symscreen.targets import Target, TargetType

    Source = str | os.PathLike[str] | pd.DataFrame | Mapping[Any, ArrayLike] | NDArray[Any]


def read_dataset(
    source: Source,
    *,
    target: str | Sequence[str] | None = None,
    inputs: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    missing: MissingPolicy | None = None,
    y: ArrayLike | None = None,
    ranking: str | Sequence[str] | None = None,
    stages: Sequence[str] | None = None,
    stage_weight: Any = "all",
    event: str | None = None,
    weights: Values | None = None,
    target_type: TargetType | None = None,
) -> Dataset:
    """Read a source and sort it into canonical order.

    Parameters
    ----------
    source : path, ``"-"``, data frame, dict of columns, or array of shape (n, d)
        A file, a folder, a table of a database, standard input or a Python object, see `read_frame`. At
        least 5 rows are required.
    target : str or sequence of str, optional
        The target column. By default ``target``, ``label`` or ``y``, in that order, else the last column.
        Several columns require the target type ``"several"``.
    inputs : sequence of str, optional
        The input columns. By default all numeric columns except the target and identifiers (columns with
        names like ``id``, ``row`` or ``user_id`` that contain distinct integers).
    exclude : sequence of str, optional
        Columns to exclude.
    missing : {"refuse", "drop", "impute", "indicator"}, optional
        ``"refuse"`` raises an error if a used column has missing values, ``"drop"`` drops these rows.
        ``"impute"`` fills inputs with their medians, ``"indicator"`` also adds a column ``x is missing`` of 0
        and 1; rows without a target are dropped. By default rows are dropped if they are at most a tenth of
        all; otherwise it is an error.
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
        The target type; detected by default, see `symscreen.data.detect_target_type`.

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
    if missing is not None and missing not in MISSING_POLICIES:
        raise OptionError(
            f"{name_option('missing', missing)} is unknown: choose refuse, drop, impute or indicator"
        )
    check_target_options(
        target=target, y=y, ranking=ranking, stages=stages, stage_weight=stage_weight, event=event
    )
    target_source = TargetSource(
        source,
        y,
        target,
        target_type,
        ranking=ranking,
        stages=stages,
        stage_weight=stage_weight,
        event=event,
        weights=weights,
        exclude=_to_unique_names(exclude),
    )
    return read_source(
        target_source,
        detect_target_type(target_source) if target_type is None else TARGET_TYPES[target_type],
        inputs=inputs,
        missing=missing,
    )


def read_source(
    source: TargetSource,
    target_type: type[Target],
    *,
    inputs: Sequence[str] | None,
    missing: MissingPolicy | None,
) -> Dataset:
    """Read a source whose target type is known, see `read_dataset`.

    Raises
    ------
    DataError
        If the columns cannot be read as a target of this type and its inputs, or there are too few rows.
    """
    frame = source.frame
    names, notices = target_type.list_columns(source)
    input_columns, input_notices = choose_inputs(
        frame,
        names,
        None if inputs is None else _to_unique_names(inputs),
        source.exclude,
        target_option=target_type.option,
    )
    if inputs is None:
        input_notices = [*input_notices, *ask_for_categories(frame, input_columns)]
    columns = target_type.read(replace(source, data=frame, columns=names, inputs=input_columns))
    values = {name: _get_numbers(frame, name) for name in input_columns}
    definitions: dict[str, DerivedColumn] = {
        name: definition for name in values if (definition := frame.columns[name].indicator) is not None
    }
    fill_notices: list[str] = []
    missing_cells: dict[str, Flags] = {}
    if missing in {"impute", "indicator"}:
        has_target = find_rows_with_values(columns.required, frame.n)
        if columns.row_filter is not None:
            has_target &= columns.row_filter.is_used
        values, fill_definitions, fill_notices, missing_cells = fill_inputs(
            frame, values, has_target, with_indicators=missing == "indicator"
        )
        definitions |= fill_definitions
        missing = "drop"
    row_mask, row_notices = find_used_rows(frame, {**columns.required, **values}, missing, columns.row_filter)
    try:
        dataset = build_dataset(
            values,
            columns.build,
            row_mask,
            [*frame.notices, *notices, *input_notices, *columns.notices, *fill_notices, *row_notices],
        )
    except DataError as error:
        raise DataError(f"{frame.source}: {error.template}") from error
    return replace(
        dataset,
        indicators={name: definitions[name] for name in dataset.names if name in definitions},
        filled_cells={name: cells[dataset.source_rows] for name, cells in missing_cells.items()},
    )


def read_columns(
    rows: Source, names: Sequence[str], indicators: Mapping[str, DerivedColumn] = NO_INDICATORS
) -> dict[str, Values]:
    """Read named columns of new rows, in the order of the rows.

    Parameters
    ----------
    rows : path, ``"-"``, data frame, dict of columns, or array of shape (n, d)
        A source as for `read_dataset`, with any number of rows.
    names : sequence of str
        The required columns. Other columns of the source are not checked.
    indicators : mapping of str to LevelIndicator, FilledColumn or MissingIndicator
        How to compute the columns that are derived from others, where the source does not contain them;
        missing values are filled if the definition has a fill.

    Returns
    -------
    dict of str to float64 array, each of shape (n,)
        Copies of the columns in the order of `names`, NaN where a value is missing and not filled.

    Raises
    ------
    DataError
        If the source cannot be read, or a column is missing or not numeric.

    Examples
    --------
    >>> read_columns({"b": [1, 2], "a": [None, 0.5]}, ["a"])
    {'a': array([nan, 0.5])}
    >>> from symscreen.data import LevelIndicator
    >>> read_columns({"c": ["p", "q"]}, ["c = q"], {"c = q": LevelIndicator("c", "q")})
    {'c = q': array([0., 1.])}
    >>> read_columns({"a": [None, 0.5]}, ["a"], {"a": FilledColumn("a", 2.5)})
    {'a': array([2.5, 0.5])}
    """
    frame = read_frame(rows)
    unique_names = _to_unique_names(names)
    derived = {
        name: compute_derived_column(frame, indicators[name])
        for name in unique_names
        if name in indicators and (name not in frame.columns or isinstance(indicators[name], FilledColumn))
    }
    frame = replace(
        frame,
        columns=frame.columns | {name: column for name, column in derived.items() if column is not None},
    )
    require_columns(frame, unique_names, "the formulas")
    # + 0.0 replaces −0.0 by 0.0, as in a Dataset
    return {name: _get_numbers(frame, name) + 0.0 for name in unique_names}


def _to_unique_names(names: Sequence[str]) -> Collection[str]:
    """Convert names to text and remove duplicates, keeping the order; a single text is one name."""
    return dict.fromkeys([names] if isinstance(names, str) else map(str, names))


def _get_numbers(frame: SourceFrame, name: str) -> Values:
    """Return the values of a numeric column; shape (n,)."""
    column = frame.columns[name]
    if column.numbers is None:
        raise DataError(
            f"{frame.source}: the column {quote(name)} holds {column.description}; numbers are needed"
        )
    return column.numbers

"""Compute the derived columns of new rows from their definitions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.data.categories import compute_categorical_column
from symscreen.data.column_types import FilledColumn, LevelIndicator, SourceColumn, TimeColumn
from symscreen.data.time_columns import compute_time_column

if TYPE_CHECKING:
    from symscreen.data.column_types import DerivedColumn
    from symscreen.data.source_frame import SourceFrame


def compute_derived_column(frame: SourceFrame, definition: DerivedColumn) -> SourceColumn | None:
    """Compute a derived column.

    Parameters
    ----------
    frame : SourceFrame
        New rows.
    definition : LevelIndicator, FilledColumn, MissingIndicator or TimeColumn
        How the column is defined.

    Returns
    -------
    SourceColumn or None
        None if the rows lack a column that it is computed from. A column without values counts as missing in
        every row.

    Raises
    ------
    DataError
        If a categorical column cannot be read as levels, or the order of the rows cannot be read.

    Examples
    --------
    >>> from symscreen.data import read_frame
    >>> compute_derived_column(read_frame({"x": [1.0, None]}), FilledColumn("x", 2.5)).numbers.tolist()
    [1.0, 2.5]
    """
    if isinstance(definition, LevelIndicator):
        return compute_categorical_column(frame, definition)
    if isinstance(definition, TimeColumn):
        return compute_time_column(frame, definition)
    column = frame.columns.get(definition.column)
    if column is None or column.numbers is None:
        return column
    is_missing = np.isnan(column.numbers)
    if isinstance(definition, FilledColumn):
        return replace(column, kind="numbers", numbers=np.where(is_missing, definition.fill, column.numbers))
    return SourceColumn("numbers", is_missing.astype(np.float64))

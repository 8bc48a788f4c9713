"""Errors of scikit-learn about cells of X, written in one line that says how to correct the table."""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import DataError
from symscreen.messages import format_names, name_option, quote

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray


@contextmanager
def explain_input_errors(
    X: Any,  # noqa: N803  # scikit-learn's name
    names: Sequence[str] | None = None,
) -> Iterator[None]:
    """Replace scikit-learn's errors about texts and about cells that are not finite.

    Parameters
    ----------
    X : array or data frame of shape (n, d)
        The table that is checked.
    names : sequence of str, length d, optional
        The names of its columns in messages; by default those of a data frame, or x1, x2 and so on.

    Raises
    ------
    DataError
        Instead of a ValueError with several lines, or without the name of a column. It has the words that
        scikit-learn's checks look for.
    """
    try:
        yield
    except ValueError as error:
        explanation = _explain(str(error), X, names)
        if explanation is None:
            raise
        raise DataError(explanation) from error


def _explain(text: str, X: Any, names: Sequence[str] | None) -> str | None:  # noqa: N803
    """Return the explanation of one of scikit-learn's errors; None if it is about something else."""
    is_about_texts = "could not convert string to float" in text
    cells = np.asarray(X, dtype=object)
    if not (is_about_texts or "NaN" in text or "infinity" in text) or cells.ndim != 2:
        return None
    if names is None:
        names = list(map(str, getattr(X, "columns", [f"x{i + 1}" for i in range(cells.shape[1])])))
    return _describe_texts(cells, names) if is_about_texts else _describe_missing_cells(cells, names)


def _describe_missing_cells(cells: NDArray[np.object_], names: Sequence[str]) -> str:
    """Say which columns have cells that are missing or infinite."""
    values = np.array([[_to_number(cell) for cell in row] for row in cells], dtype=np.float64)
    has_missing = bool(np.isnan(values).any())
    is_affected = np.asarray(np.isnan(values) if has_missing else np.isinf(values))
    affected = [names[i] for i in np.flatnonzero(is_affected.any(axis=0)).tolist()]
    columns = f"the {'column' if len(affected) == 1 else 'columns'} {format_names(affected)}"
    what = "NaN" if has_missing else "infinity"
    filled = f"use {name_option('missing', 'impute')}, put a SimpleImputer before this step"
    remedy = filled if has_missing else "correct these cells"
    n_rows = int(is_affected.any(axis=1).sum())
    return (
        f"Input X contains {what} in {n_rows} of {len(cells)} rows, in {columns}: {remedy}, or leave these "
        "rows out"
    )


def _describe_texts(cells: NDArray[np.object_], names: Sequence[str]) -> str:
    """Say which column has texts, and quote one of them."""
    for name, column in zip(names, cells.T, strict=True):
        text = next((cell for cell in column if isinstance(cell, str) and math.isnan(_to_number(cell))), None)
        if text is not None:
            return (
                f"X has texts in the column {quote(name)}, such as {quote(text)}: name the column in "
                f"{name_option('categorical', [name])}, or encode it as numbers"
            )
    return f"X has texts: name their columns in {name_option('categorical')}, or encode them as numbers"


def _to_number(cell: Any) -> float:
    """Convert a cell to a number; what is none becomes NaN."""
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return math.nan

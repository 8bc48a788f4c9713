"""Functions of one column: those of the grammar for formulas, and polynomials for models.

Formulas of an input are compared by correlation, so each function is centred and has length 1. Polynomials
of ranks are bounded, so a few large values cannot rule a model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.printing import to_text
from symscreen.expressions.tree import Column, apply_operator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Integers, Values
    from symscreen.grammar import Operator

MODEL_DEGREE = 6  # largest degree of a polynomial of one column
_MAX_SIMILARITY = 0.98  # correlation above which a second function of a column says nothing new
_MIN_SPREAD = 1e-9  # spread of a function, relative to its largest value, below which only rounding varies


@dataclass(frozen=True, eq=False)
class ColumnFunctions:
    """Functions of single columns.

    Parameters
    ----------
    values : float32 array, shape (f, n)
        The functions, centred and of length 1.
    owners : int array, shape (f,)
        The column of each function, ascending.
    formulas : tuple of str
        The functions as formulas.
    """

    values: NDArray[np.float32]
    owners: Integers
    formulas: tuple[str, ...]


def build_column_functions(
    columns: Values, names: Sequence[str], operators: Sequence[Operator]
) -> ColumnFunctions:
    """Build the columns (d, n) themselves and unary functions of them.

    A function that is undefined or constant on the rows is left out, and so is one that nearly equals an
    earlier one of its column.
    """
    rows: list[NDArray[np.float32]] = []
    owners: list[int] = []
    formulas: list[str] = []
    for index, (values, name) in enumerate(zip(columns, names, strict=True)):
        kept: list[NDArray[np.float32]] = []
        for operator in (None, *operators):
            raw = values if operator is None else _apply_function(operator, values)
            unit = _normalize(raw)
            if unit is None or any(abs(float(unit @ other)) > _MAX_SIMILARITY for other in kept):
                continue
            kept.append(unit)
            owners.append(index)
            column = Column(name)
            formulas.append(to_text(column if operator is None else apply_operator(operator, column)))
        rows += kept
    stacked = np.stack(rows) if rows else np.zeros((0, columns.shape[1]), dtype=np.float32)
    return ColumnFunctions(stacked, np.array(owners, dtype=np.int64), tuple(formulas))


def _apply_function(operator: Operator, values: Values) -> Values:
    """Compute a unary operator of a column, shape (n,); it may have values that are not finite."""
    with np.errstate(all="ignore"):
        return np.asarray(operator.numeric(values), dtype=np.float64)


def _normalize(values: Values) -> NDArray[np.float32] | None:
    """Centre values (n,) and give them length 1; None if they are not finite or constant."""
    if not np.isfinite(values).all():
        return None
    largest = float(np.abs(values).max())
    if largest == 0.0:
        return None
    scaled = values / largest
    centered = scaled - scaled.mean()
    length = float(np.sqrt((centered * centered).sum()))
    if length < _MIN_SPREAD * np.sqrt(len(values)):
        return None
    return np.asarray(centered / length, dtype=np.float32)


def build_polynomials(columns: Values, degree: int = MODEL_DEGREE) -> Values:
    """Build Legendre polynomials of the ranks of columns (d, n).

    Returns an array of shape (d, degree, n). The mean square of a polynomial is 1 where ranks have no ties.
    """
    from scipy.stats import rankdata

    n = columns.shape[1]
    ranks = 2.0 * (rankdata(columns, axis=1) - 0.5) / n - 1.0
    terms = np.polynomial.legendre.legvander(ranks, degree)[..., 1:]
    return np.ascontiguousarray((terms * np.sqrt(2.0 * np.arange(1, degree + 1) + 1.0)).transpose(0, 2, 1))

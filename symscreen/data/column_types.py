"""`SourceColumn`: a column of a source as float64, or as texts or times with a description for messages.

Conversion to float64 keeps ranks: a column whose distinct exact values (integers, decimals) become equal in
double precision is not converted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from symscreen.data.time_operators import parse_time_operator
from symscreen.errors import GrammarError
from symscreen.messages import quote

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from symscreen.data.text_cells import TextCells
    from symscreen.data.time_cells import TimeCells


MAX_EXACT_INTEGER = 2.0**53  # all integers up to it are exact in float64
_BLANKS = r"[\t\n\f\r ]*"
_EXPONENT = "(?:[eE][+-]?[0-9]+)?"
_NUMBER = re.compile(rf"{_BLANKS}[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+){_EXPONENT}{_BLANKS}")
_COMMA_NUMBER = re.compile(rf"{_BLANKS}[+-]?[0-9]+(?:,[0-9]+)?{_EXPONENT}{_BLANKS}")

ColumnKind = Literal["numbers", "empty", "text", "numeric text", "times", "too fine", "other"]
_DESCRIPTIONS: Mapping[ColumnKind, str] = {
    "numbers": "numbers",
    "empty": "no values",
    "text": "text",
    "times": "dates or times",
    "too fine": "distinct integers or decimals that are equal in double precision (subtract an offset)",
}

NO_INDICATORS: Mapping[str, DerivedColumn] = {}  # a plain dict, which can be pickled


@dataclass(frozen=True, slots=True)
class LevelIndicator:
    """A column derived from a categorical column: ``1[column = level]``, optionally times a numeric column.

    Parameters
    ----------
    column : str
        The categorical column.
    level : str or float
        The level: an exact text, or a number.
    gated_column : str or None
        The numeric column that the indicator multiplies; None for a plain 0/1 indicator.
    fill : float or None
        What replaces missing values of that numeric column: its median in the training rows.

    Examples
    --------
    >>> LevelIndicator("c", "p").name, LevelIndicator("n", 2.0, "x").name
    ('c = p', 'x·1[n = 2]')
    """

    column: str
    level: str | float
    gated_column: str | None = None
    fill: float | None = None

    @property
    def level_text(self) -> str:
        """The level as a text; numbers are written in the shortest exact form."""
        if isinstance(self.level, str):
            return self.level
        short = f"{self.level:g}"
        return short if float(short) == self.level else repr(float(self.level))

    @property
    def name(self) -> str:
        """The name of the derived column: ``c = level`` or ``x·1[c = level]``."""
        condition = f"{self.column} = {self.level_text}"
        return condition if self.gated_column is None else f"{self.gated_column}·1[{condition}]"


@dataclass(frozen=True, slots=True)
class FilledColumn:
    """A column of numbers whose missing values are replaced by a number.

    Parameters
    ----------
    column : str
        The column.
    fill : float
        What replaces missing values: the median of the training rows.

    Examples
    --------
    >>> FilledColumn("x", 2.5).name
    'x'
    """

    column: str
    fill: float

    @property
    def name(self) -> str:
        """The name, which is that of the column."""
        return self.column

    @property
    def gated_column(self) -> None:
        """None: no other column is needed."""


@dataclass(frozen=True, slots=True)
class MissingIndicator:
    """A column that is 1 where another one is missing, and 0 elsewhere.

    Parameters
    ----------
    column : str
        The other column.

    Examples
    --------
    >>> MissingIndicator("x").name
    'x is missing'
    """

    column: str

    @property
    def name(self) -> str:
        """The name of the derived column: ``x is missing``."""
        return f"{self.column} is missing"

    @property
    def gated_column(self) -> None:
        """None: no other column is needed."""


@dataclass(frozen=True, slots=True)
class TimeColumn:
    """A column that an operator of time computes from another one, such as its value in the row before.

    Parameters
    ----------
    column : str
        The other column.
    operator : str
        The name of the operator, see `symscreen.data.time_operators`.
    time : str
        The column that orders the rows.
    trajectory : str or None
        The column that distinguishes runs; None if the rows are one run.

    Raises
    ------
    GrammarError
        If there is no such operator.

    Examples
    --------
    >>> TimeColumn("x", "lag1", "t").name
    'lag1(x)'
    """

    column: str
    operator: str
    time: str
    trajectory: str | None = None

    def __post_init__(self) -> None:
        if parse_time_operator(self.operator) is None:
            raise GrammarError(
                f"there is no operator of time {quote(self.operator)}; lag1, diff and mean7 are some"
            )

    @property
    def name(self) -> str:
        """The name of the derived column: ``lag1(x)``."""
        return f"{self.operator}({self.column})"

    @property
    def gated_column(self) -> None:
        """None: no other column is needed."""


DerivedColumn = LevelIndicator | FilledColumn | MissingIndicator | TimeColumn


@dataclass(frozen=True, eq=False)
class SourceColumn:
    """A column of a source: its values if numeric, else its cells and what it holds.

    Parameters
    ----------
    kind : {"numbers", "empty", "text", "numeric text", "times", "too fine", "other"}
        What the column holds. A numeric text looks like a damaged column of numbers; distinct values of a
        column that is too fine are equal in double precision.
    numbers : float64 array of shape (n,), or None
        The values, NaN where missing; None if the column is not numeric.
    texts : TextCells or None
        The n cells of a text column.
    times : TimeCells or None
        The n cells of a column of dates or times.
    indicator : LevelIndicator, TimeColumn or None
        How the column is derived from another one; None for a column of the source.
    detail : str
        What a numeric text or other content is, for messages; empty for the other kinds.
    mixed_texts : TextCells or None
        The n cells of a column of Python numbers and texts, each as text.
    damage : str
        What a few cells of a column of numbers hold instead; empty for other columns.
    part_of : str or None
        The column of dates that the column is computed from.
    is_redundant : bool
        Whether a part of dates adds nothing to the other parts, and is not an input by default.

    Examples
    --------
    >>> [make_numeric_column(np.array(values)).description for values in ([1.0, np.nan], [np.nan])]
    ['numbers', 'no values']
    """

    kind: ColumnKind
    numbers: NDArray[np.float64] | None = None
    texts: TextCells | None = None
    times: TimeCells | None = None
    indicator: LevelIndicator | TimeColumn | None = None
    detail: str = ""
    mixed_texts: TextCells | None = None
    damage: str = ""
    part_of: str | None = None
    is_redundant: bool = False

    @property
    def cells(self) -> TextCells | None:
        """The cells as text, if some of them are text."""
        return self.mixed_texts if self.texts is None else self.texts

    @property
    def description(self) -> str:
        """What the column holds, for messages."""
        return self.detail or _DESCRIPTIONS[self.kind]

    @property
    def is_numeric(self) -> bool:
        """Whether the column contains at least one number and nothing else."""
        return self.kind == "numbers"


def make_numeric_column(values: NDArray[np.float64]) -> SourceColumn:
    """Wrap float64 values of shape (n,), NaN where missing."""
    return SourceColumn("empty" if np.isnan(values).all() else "numbers", values)


def has_float_collisions(exact: NDArray[Any], floats: NDArray[np.float64]) -> bool:
    """Check whether distinct values become equal in double precision, which would lose their ranks.

    Parameters
    ----------
    exact : array, shape (n,)
        The exact values; any dtype with an order.
    floats : float64 array, shape (n,)
        The same values converted to float64.

    Returns
    -------
    bool

    Examples
    --------
    >>> whole = np.array([2**60, 2**60 + 1])
    >>> has_float_collisions(whole, whole.astype(np.float64)), has_float_collisions(whole // 256,
    ...     (whole // 256).astype(np.float64))
    (True, False)
    """
    if exact.dtype.kind in "iu" and (
        exact.dtype.itemsize < 8 or np.abs(floats).max(initial=0.0) <= MAX_EXACT_INTEGER
    ):
        return False
    order = np.argsort(exact, kind="stable")
    values, rounded = exact[order], floats[order]
    return bool(((values[1:] != values[:-1]) & (rounded[1:] == rounded[:-1])).any())


def make_text_column(cells: TextCells) -> SourceColumn:
    """Wrap n cells of text, and describe them: numbers with a bad cell or a decimal comma are pointed out.

    Parameters
    ----------
    cells : TextCells
        The cells.

    Returns
    -------
    SourceColumn

    Examples
    --------
    >>> from symscreen.data.text_cells import TextCells
    >>> make_text_column(TextCells.from_objects(["1", "2", "c"])).description
    "text: 2 of 3 cells are numbers, but row 3 holds 'c'"
    """
    if cells.n_missing == len(cells):
        return make_numeric_column(np.full(len(cells), np.nan))
    detail = _describe_numeric_text(cells)
    return SourceColumn("numeric text" if detail else "text", texts=cells, detail=detail)


def _describe_numeric_text(cells: TextCells) -> str:
    """Describe numbers with a bad cell or a decimal comma; empty for other texts."""
    n_present = len(cells) - cells.n_missing
    is_number = [_NUMBER.fullmatch(text) is not None for text in cells.distinct]
    n_numbers = int(cells.count_cells()[:-1][is_number].sum())
    if n_numbers == n_present:
        return "numbers stored as text"
    row = cells.find_first_row([not each for each in is_number])
    cell = cells.distinct[cells.codes[row]]
    if all(map(_COMMA_NUMBER.fullmatch, cells.distinct)):
        return f"text: numbers with a decimal comma, such as {quote(cell)} in row {row + 1}"
    flaw = describe_flaw(n_numbers, n_present, row, cell)
    return f"text: {flaw}" if flaw else ""


def describe_flaw(n_numbers: int, n_present: int, row: int, cell: object) -> str:
    """Name the first bad cell if more than half of the cells are numbers; else empty."""
    if 2 * n_numbers <= n_present:
        return ""
    return f"{n_numbers} of {n_present} cells are numbers, but row {row + 1} holds {quote(cell)}"

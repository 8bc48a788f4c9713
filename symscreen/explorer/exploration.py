"""Open a stored result for the page. Every kind of result answers the same questions (`Exploration`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from symscreen.errors import DataError, FormulaError, OptionError
from symscreen.export.formats import EXPORT_FORMATS
from symscreen.results.ranking_files import TABLE_SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Sequence


CSV_FORMAT = "csv"
_BUTTONS = {  # in the order of the page: the text of a button, and the suffix of its file
    CSV_FORMAT: ("CSV", ".csv"),
    "numpy": ("Python", ".py"),
    "sql": ("SQL", ".sql"),
    "excel": ("Excel", ".txt"),
    "latex": ("LaTeX", ".tex"),
}


@dataclass(frozen=True, slots=True)
class ExportedText:
    """An exported text, and the name under which the browser saves it."""

    text: str
    file_name: str


class Exploration(Protocol):
    """A stored result as the page shows it. Formulas are numbered from 0. No method changes the result."""

    def describe(self) -> dict[str, Any]:
        """Return the list of formulas, and what is said of the result."""

    def trace(self, number: int) -> dict[str, Any] | None:
        """Return the points of a formula, see `symscreen.explorer.row_points`; None without rows."""

    def explain(self, text: str) -> dict[str, Any]:
        """Say where a typed formula stands; raises InputError if it cannot be read."""

    def export(self, format_name: str, number: int) -> ExportedText:
        """Write a formula, or the list, in a format; raises InputError if that is impossible."""


def open_exploration(path: str, data: str | None = None) -> Exploration:
    """Open a file of `screen` or `fit` for the page.

    Parameters
    ----------
    path : str
        A ranking, or a bundle with a model.
    data : str, optional
        The data that the result was made from; without them no rows are shown.

    Raises
    ------
    DataError, FormulaError
        If the file is neither, is damaged, or the data are others than those that were screened.
    OptionError
        If the bundle holds neither a model nor models of several targets.
    """
    from symscreen.explorer.model_exploration import open_model
    from symscreen.explorer.ranking_exploration import open_ranking

    if Path(path).suffix.lower() in TABLE_SUFFIXES:
        return open_ranking(path, data)
    try:
        return open_model(path, data)
    except FormulaError as error:
        try:  # a ranking may be a .json too
            return open_ranking(path, data)
        except DataError as other:
            raise (other if _is_ranking(path) else error) from None


def _is_ranking(path: str) -> bool:
    """Return whether a file is a ranking, so that what is wrong are its data."""
    from symscreen.results.ranking_reader import read_ranking

    try:
        read_ranking(path)
    except DataError:
        return False
    return True


def list_exports(names: Sequence[str]) -> list[dict[str, str]]:
    """List the buttons of the formats with these names, in the order of the page."""
    labels = {name: label for name, (label, _) in _BUTTONS.items() if name in names}
    summaries = {name: EXPORT_FORMATS[name].summary if name in EXPORT_FORMATS else "" for name in labels}
    return [{"name": name, "label": label, "summary": summaries[name]} for name, label in labels.items()]


def check_export(format_name: str, number: int, names: Sequence[str], n_formulas: int) -> str:
    """Check what the page asks to export, and return the suffix of the file.

    Raises
    ------
    OptionError
        If there is no such format or formula.

    Examples
    --------
    >>> check_export("sql", 0, ("csv", "sql"), 3)
    '.sql'
    """
    if format_name not in names or format_name not in _BUTTONS:
        raise OptionError(f"there is no format {format_name!r}; there are {', '.join(names)}")
    check_number(number, n_formulas)
    return _BUTTONS[format_name][1]


def check_number(number: int, n_formulas: int) -> None:
    """Check that there is a formula with this number.

    Raises
    ------
    OptionError
        If there is no such formula.
    """
    if not 0 <= number < n_formulas:
        raise OptionError(f"there is no formula {number}; there are 0 to {n_formulas - 1}")

"""A fit's result for the terminal: the formula, its coefficients, the front, the rivals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from symscreen.errors import printable
from symscreen.report.terminal import add_row, table_of

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import RenderableType

    from symscreen.models import FitResult, SharedFitResult

__all__ = ["equation_of", "show_fit", "show_models", "told_of_rows"]

_DIGITS = 6
_MOST_FRONT = 8
_MOST_RIVALS = 5


def equation_of(result: FitResult) -> str:
    """Write ``target = formula`` on one line, in the one notation, numbers to six digits.

    Parameters
    ----------
    result : FitResult
        What `symscreen.fit` returned.

    Returns
    -------
    str
        Without control characters.
    """
    return printable(result.formula.rounded(_DIGITS).equation)


def show_fit(result: FitResult) -> RenderableType:
    """Lay out what stands below the formula: its coefficients, the front, the rivals.

    Parameters
    ----------
    result : FitResult
        What `symscreen.fit` returned.

    Returns
    -------
    rich renderable
        For `print_table`.
    """
    left = f"R2 = {result.r2:.6g}, 1 - R2 = {1 - result.r2:.3g}"
    told = Text(f"{left}; {told_of_rows(result)}.")
    return Group(Text(""), _coefficients(result), Text(""), told, Text(""), *show_models(result))


def show_models(result: FitResult | SharedFitResult) -> list[RenderableType]:
    """Lay out the front around the model chosen, and its rivals.

    Parameters
    ----------
    result : FitResult or SharedFitResult
        What `symscreen.fit` returned.

    Returns
    -------
    list of rich renderables
    """
    record = result.record
    parts: list[RenderableType] = [
        Text("error against complexity (* the formula chosen):"),
        _models(_middle(result.front)),
    ]
    if len(result.rivals):
        parts += [Text(""), Text("others that fit about as well:"), _models(result.rivals.head(_MOST_RIVALS))]
    parts.append(Text(""))
    parts.append(
        Text(
            f"{record['models']:,} models of {record['searched']:,} features tried; chosen by "
            f"{record['criterion']}. same: how many more models of as many terms leave as much."
        )
    )
    return parts


def _coefficients(result: FitResult) -> RenderableType:
    level = f"{100 * result.record['level']:g} %"
    measured = [("unit", "right")] if "unit" in result.terms else []
    numbers = [("coefficient", "right"), (f"from ({level})", "right"), ("to", "right")]
    table = table_of(("term", "fold"), *numbers, *measured)
    for row in result.terms.to_dict("records"):
        cells = [f"{row[name]:.{_DIGITS}g}" for name in ("coefficient", "low", "high")]
        add_row(table, (row["term"], *cells, *(row[name] for name, _ in measured)))
    return table


def told_of_rows(result: FitResult | SharedFitResult) -> str:
    """Say which rows chose the terms, and which gave the coefficients."""
    record = result.record
    if record["split"]:
        return (
            f"{record['rows_choosing']:,} rows chose the terms, {record['rows_estimating']:,} others "
            "gave the coefficients and this R2"
        )
    return f"the same {record['rows_choosing']:,} rows chose the terms"


def _middle(front: pd.DataFrame) -> pd.DataFrame:
    """Return the part of the front around the model chosen."""
    place = int(front["chosen"].to_numpy().argmax())
    start = max(0, min(place - _MOST_FRONT // 2, len(front) - _MOST_FRONT))
    return front.iloc[start : start + _MOST_FRONT]


def _models(models: pd.DataFrame) -> RenderableType:
    what = "formula" if "formula" in models else "features"
    table = table_of(("compl.", "right"), ("1 - R2", "right"), ("same", "right"), (what, "fold"))
    for row in models.to_dict("records"):
        star = "* " if row.get("chosen") else ""
        left = f"{max(1.0 - row['r2'], 0.0):.3g}"
        add_row(table, (row["complexity"], left, row["rewritings"], star + row[what]))
    return table

"""A fit of several targets for the terminal: one column of coefficients for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.text import Text

from symscreen.errors import printable
from symscreen.report.fitted import show_models, told_of_rows
from symscreen.report.terminal import add_row, table_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from rich.console import RenderableType
    from rich.table import Table

    from symscreen.models import SharedFitResult

__all__ = ["equations_of", "show_shared_fit"]

_DIGITS = 6
_MOST_SIDE_BY_SIDE = 3  # targets: more do not fit into 80 columns beside the terms
_NAME = 18  # letters of a target's name above its column


def equations_of(result: SharedFitResult) -> tuple[str, ...]:
    """Write ``target = formula`` of each target, as `equation_of` does of one."""
    return tuple(map(printable, result.formula.rounded(_DIGITS).equations))


def show_shared_fit(result: SharedFitResult) -> RenderableType:
    """Lay out what stands below the formulas: the coefficients of each target, the front, the rivals.

    Parameters
    ----------
    result : SharedFitResult
        What `symscreen.fit` returned.

    Returns
    -------
    rich renderable
        For `print_table`.
    """
    level = f"{100 * result.record['level']:g} %"
    parts: list[RenderableType] = [Text("")]
    for start in range(0, len(result.targets), _MOST_SIDE_BY_SIDE):
        parts += [_coefficients(result, result.targets[start : start + _MOST_SIDE_BY_SIDE]), Text("")]
    parts += [
        Text(f"{printable(name)}: R2 = {share:.6g}, 1 - R2 = {1 - share:.3g}")
        for name, share in result.r2.items()
    ]
    told = f"{told_of_rows(result)}. Below, 1 - R2 is the mean over targets."
    parts += [Text(f"± is half of a {level} interval; {told}"), Text("")]
    return Group(*parts, *show_models(result))


def _coefficients(result: SharedFitResult, targets: Sequence[str]) -> Table:
    table = table_of(("term", "fold"), *((_short(name), "right") for name in targets))
    measured = f"unit[{targets[0]}]" in result.terms
    for row in result.terms.to_dict("records"):
        add_row(table, (row["term"], *(_cell(row, name) for name in targets)))
        if measured:
            add_row(table, ("", *(row[f"unit[{name}]"] for name in targets)))
    return table


def _cell(row: dict[Hashable, Any], name: str) -> str:
    number, half = row[f"coefficient[{name}]"], (row[f"high[{name}]"] - row[f"low[{name}]"]) / 2
    return f"{number:.{_DIGITS}g} ± {half:.2g}"


def _short(name: str) -> str:
    shown = printable(name)
    return shown if len(shown) <= _NAME else f"{shown[: _NAME - 1]}…"

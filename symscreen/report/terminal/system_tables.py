"""Terminal tables below the equations of a system: constants, and other systems that fit about as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from symscreen.report.terminal.listings import add_row, make_table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from symscreen.dynamics.result import OdeResult


_MAX_ALTERNATIVES = 5


def build_system_tables(result: OdeResult) -> RenderableType:
    """Build the tables below the equations: what is known of the errors, the constants, and alternatives."""
    constants = make_table(
        ("equation", "left"),
        ("constant", "fold"),
        ("value", "right"),
        ("low", "right"),
        ("high", "right"),
        ("stability", "right"),
    )
    for row in result.constants.to_dict("records"):
        place = f"of {row['term']}" if row["place"] == "coefficient" else "inside a term"
        numbers = (f"{row[name]:.6g}" for name in ("value", "low", "high"))
        share = f"{row['stability']:.2f}" if row["place"] == "coefficient" else ""
        add_row(constants, (row["equation"], place, *numbers, share))
    parts: list[RenderableType] = [Text("\n".join(["", *result.statements])), Text(""), constants]
    others = result.alternative_systems.iloc[1 : 1 + _MAX_ALTERNATIVES]
    if len(others):
        table = make_table(("score", "right"), ("complexity", "right"), ("equations", "fold"))
        for row in others.to_dict("records"):
            add_row(table, (f"+{row['difference']:.1f}", row["complexity"], row["equations"]))
        parts += [Text(""), Text("other systems, by what their score is worse (10 points are clear):"), table]
    return Group(*parts)

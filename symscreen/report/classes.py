"""The members of classes as a table for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from symscreen.report.files import frame_as_csv, inert
from symscreen.report.terminal import add_row, table_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from rich.console import RenderableType

__all__ = ["members_as_csv", "show_classes"]


def show_classes(members: pd.DataFrame, meanings: Mapping[str, str]) -> RenderableType:
    """Lay out the members of classes.

    Parameters
    ----------
    members : pandas.DataFrame
        What `symscreen.classes` returned.
    meanings : mapping of str to str
        What each relation means, in a few words.

    Returns
    -------
    rich renderable
        For `print_table`.
    """
    if not len(members):
        return Text("no class is shown.")
    table = table_of(
        ("rank", "right"),
        ("class", "right"),
        ("expression", "fold"),
        ("compl.", "right"),
        ("dir.", "left"),
        ("relation", "left"),
    )
    for row in members.to_dict("records"):
        head = row["member"] == 1
        add_row(
            table,
            (
                f"{row['rank']}" if head else "",
                f"{row['class_size']:,}" if head else "",
                row["expression"],
                row["complexity"],
                row["direction"],
                row["relation"],
            ),
        )
        for text in row.get("also_written", ()):
            add_row(table, ("", "", f"= {text}", "", "", ""))
    return Group(table, Text(""), Text("\n".join(_reading(members, meanings))))


def members_as_csv(members: pd.DataFrame) -> str:
    """Return the members of classes as CSV text, formulas inert for spreadsheets.

    Parameters
    ----------
    members : pandas.DataFrame
        What `symscreen.classes` returned.

    Returns
    -------
    str
        Other ways of writing a member stand in one cell, with semicolons between them.
    """
    told = members.assign(expression=list(map(inert, members.expression)))
    if "also_written" in told:
        told["also_written"] = ["; ".join(map(inert, texts)) for texts in told["also_written"]]
    return frame_as_csv(told)


def _reading(members: pd.DataFrame, meanings: Mapping[str, str]) -> list[str]:
    """Say what the relations mean, and what is not listed."""
    occur = set(members.relation)
    lines = [f"{name}: {meaning}." for name, meaning in meanings.items() if name in occur]
    if "also_written" in members and members.also_written.map(len).any():
        lines.append("=: another way of writing it, equal by algebra, and so left out of the space.")
    in_all = int(members.loc[members.member == 1, "class_size"].sum())
    if in_all > len(members):
        lines.append(f"{len(members):,} of {in_all:,} members are listed; --members K lists more.")
    return lines

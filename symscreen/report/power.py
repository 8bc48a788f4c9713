"""What data can find, as a table for the terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from symscreen.errors import printable
from symscreen.report.terminal import add_row, table_of

if TYPE_CHECKING:
    from rich.console import RenderableType

    from symscreen.result import Power

__all__ = ["show_power"]

_HALF = 0.5


def show_power(power: Power) -> RenderableType:
    """Lay out how often a planted formula is found.

    Parameters
    ----------
    power : Power
        What `symscreen.power` returned.

    Returns
    -------
    rich renderable
        For `print_table`.
    """
    size = "features" if power.features is None else f"{power.features:,} features"
    among = f"the best {power.top:,} classes of {size} by {power.screener}"
    head = [
        f"planted: {printable(power.truth)}, on {power.rows:,} rows",
        f"looked for: {printable(power.feature)}, among {among}",
    ]
    if power.held_as and power.held_as != power.feature:
        head.append(f"the space holds it as {printable(power.held_as)} ({power.relation})")
    table = table_of(
        ("noise ratio", "right"),
        ("repeats", "right"),
        ("found", "right"),
        ("95 % interval", "left"),
        ("median rank", "right"),
        ("mean rank", "right"),
    )
    for row in power.table.to_dict("records"):
        interval = f"{row['low']:.3f} to {row['high']:.3f}" if row["low"] < row["high"] else "certain"
        ranks = (_rank(row["median_rank"]), _rank(row["mean_rank"]))
        add_row(
            table, (f"{row['noise_ratio']:g}", row["repeats"], f"{row['probability']:.3f}", interval, *ranks)
        )
    return Group(Text("\n".join(head)), Text(""), table, Text(""), Text("\n".join(_reading(power))))


def _rank(place: float) -> str:
    return "cut" if math.isinf(place) else f"{place:,.1f}".removesuffix(".0")


def _reading(power: Power) -> list[str]:
    found = "found: the share of repeats in which its class is among the best"
    noise = "noise ratio: the noise's standard deviation over the root mean square of the planted values"
    lines = [f"{found}; {noise}."]
    if power.lost_at is None:
        return [*lines, "not lost: it is found in at least half of the repeats at every noise ratio tried."]
    low, high = power.lost_at
    chances = power.table["probability"]
    if high == 0.0:
        lines.append("not found even without noise: other classes fit the truth as well, or better.")
        if (chances >= _HALF).any():
            lines.append("what finds it at larger noise is chance: many classes are among the best there.")
    elif low == high:
        lines.append(
            f"lost at a noise ratio of about {low:.3g}: beyond, less than half of the repeats find it."
        )
    elif low == 0.0 and high == power.table["noise_ratio"].iloc[0]:
        every = bool((chances < _HALF).all())
        lines.append(
            f"lost at every noise ratio tried, from {high:g} on."
            if every
            else f"lost at {high:g}, the smallest noise ratio tried, and found at larger ones by chance only."
        )
    else:
        lines.append(f"lost between the noise ratios {low:g} and {high:g}: try some between them.")
    if any(map(math.isinf, power.table["median_rank"])):
        lines.append("cut: a cut between layers (--keep) has lost it.")
    return lines

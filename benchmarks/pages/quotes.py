"""What pages quote, computed from the measurements of each results file.

A function of ``QUOTES`` maps the content of one results file to texts by name. Times of repeated runs are the
fastest run's, as in the tables of the benchmarks; ratios are medians.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from measurement import format_number, format_table
from pages.reproduction_quotes import REPRODUCTION_QUOTES

if TYPE_CHECKING:
    from collections.abc import Callable

Results = dict[str, Any]


def quote_million(found: Results) -> dict[str, str]:
    """Quote times a feature with two threads."""
    rows = {(one["rows"], one["screener"], one["jobs"]): one for one in found["rows"]}
    counts = sorted({count for count, _, _ in rows})

    def collect(label: str, screener: str, key: str, *, middle: bool = False) -> list[str]:
        unit = " ×" if middle else ""
        pick = statistics.median if middle else min
        return [label, *(format_number(pick(rows[n, screener, 2][key])) + unit for n in counts)]

    table = [
        collect("T0", "T0", "us_each"),
        collect("T0 and ξ", "T0 and ξ", "us_each"),
        collect("Pearson's r", "Pearson's r", "us_each"),
        collect("T0 and ξ, against the sort", "T0 and ξ", "against_sort", middle=True),
        collect("T0, faster than with one thread", "T0", "gain", middle=True),
        collect("T0 and ξ, faster than with one thread", "T0 and ξ", "gain", middle=True),
    ]
    head = ["µs a feature, two threads", *(f"{n:,} rows" for n in counts)]
    each = {n: format_number(min(rows[n, "T0", 2]["us_each"]), 2) for n in counts}
    return {"two_threads": format_table(head, table)} | {f"t0_{n}": value for n, value in each.items()}


QUOTES: dict[str, Callable[[Results], dict[str, str]]] = {"million": quote_million} | REPRODUCTION_QUOTES

"""A space of a million features, screened exactly, compared with the bare sort of packed keys.

Two layers of + − × ÷ on a few inputs; long columns have fewer features. The sort is numpy's, of 64-bit keys,
in as many threads as the screen; one thread is timed by processor time. The absolute figures depend on the
machine; the ratio to the sort, taken in the same process, is what to compare. Every screen is a process of
its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from measurement import (
    compute_ratios,
    describe_machine,
    format_number,
    format_spread,
    format_table,
    make_parser,
    save_results,
    screen_in_process,
)
from tables import RATIONAL, get_input_count

if TYPE_CHECKING:
    from collections.abc import Sequence

FEATURES = {100: 1_000_000, 400: 1_000_000, 1000: 1_000_000, 10_000: 100_000, 100_000: 10_000}
SORTED = {100: 200_000, 400: 40_000, 1000: 10_000, 10_000: 1000, 100_000: 64}
SCREENERS = {"T0": ["t0"], "T0 and ξ": ["t0", "xi"], "Pearson's r": ["pearson"]}


def main(arguments: Sequence[str]) -> None:
    """Measure each in turn, several times."""
    parser = make_parser(__doc__)
    parser.add_argument("--rows", default="100,400,1000,10000", help="with commas between them")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(arguments)
    found: dict[str, Any] = {"machine": describe_machine(), "rows": []}
    for rows in map(int, options.rows.split(",")):
        outcome: dict[tuple[str, int], list[dict[str, Any]]] = {}
        task = {"kind": "strong", "rows": rows, "inputs": get_input_count(FEATURES[rows])}
        for _ in range(options.repeats):
            for name, screener in SCREENERS.items():
                for jobs in (1, 2):
                    one = screen_in_process(
                        task,
                        layers=f"{RATIONAL} {RATIONAL}",
                        screener=screener,
                        search="exact",  # long columns are above the budget
                        jobs=jobs,
                        sort=SORTED[rows],
                    )
                    outcome.setdefault((name, jobs), []).append(one)
        for (name, jobs), runs in outcome.items():
            # one thread by processor time, as its sort: less of what else the machine does is in it
            clock = "processor_seconds" if jobs == 1 else "seconds"
            each = [1e6 * one[clock] / one["features"] for one in runs]
            sort = [one["sort_us"][jobs - 1] for one in runs]
            found["rows"].append(
                {
                    "rows": rows,
                    "screener": name,
                    "jobs": jobs,
                    "features": runs[0]["features"],
                    "us_each": each,
                    "wall_us": [1e6 * one["seconds"] / one["features"] for one in runs],
                    "sort_us": sort,
                    "against_sort": [own / bare for own, bare in zip(each, sort, strict=True)],
                    "gain": compute_ratios(
                        [one["seconds"] for one in outcome[name, 1]], [one["seconds"] for one in runs]
                    ),
                    "sort_gain": compute_ratios(
                        [one["sort_us"][0] for one in runs], [one["sort_us"][1] for one in runs]
                    ),
                    "peak_mb": max(one["peak_mb"] for one in runs),
                }
            )
            print(lines(found["rows"][-1:]), flush=True)
    head = (
        "rows",
        "scored by",
        "threads",
        "features",
        "µs each",
        "sort, µs",
        "against the sort",
        "faster than with one thread",
        "the sort",
        "peak MB",
    )
    save_results("million", found, format_table(head, lines(found["rows"])), options.results)


def lines(records: list[dict[str, Any]]) -> list[list[object]]:
    """Return a table's rows."""
    return [
        [
            f"{one['rows']:,}",
            one["screener"],
            one["jobs"],
            f"{one['features']:,}",
            format_number(min(one["us_each"])),
            format_number(min(one["sort_us"])),
            format_spread(one["against_sort"]),
            format_spread(one["gain"]) if one["jobs"] > 1 else "",
            format_spread(one["sort_gain"]) if one["jobs"] > 1 else "",
            f"{one['peak_mb']:,.0f}",
        ]
        for one in records
    ]

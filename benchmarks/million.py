"""A space of a million features, screened exactly, beside the bare sort of as many columns of packed keys.

Two layers of + − × ÷ on a few inputs; long columns have fewer features. The sort is numpy's, of 64-bit keys,
in as many threads as the screen; one thread is timed by processor time. The absolute figures depend on the
machine; the ratio to the sort, taken in the same process, is what to compare. Every screen is a process of
its own.

Run with ``make bench``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from measured import RESULTS, machine, markdown, number, ours, ratio_of, save, spread
from tables import RATIONAL, inputs_for

FEATURES = {100: 1_000_000, 400: 1_000_000, 1000: 1_000_000, 10_000: 100_000, 100_000: 10_000}
SORTED = {100: 200_000, 400: 40_000, 1000: 10_000, 10_000: 1000, 100_000: 64}
SCREENERS = {"T0": ["t0"], "T0 and ξ": ["t0", "xi"], "Pearson's r": ["pearson"]}


def main() -> None:
    """Measure each in turn, several times."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", default="100,400,1000,10000", help="with commas between them")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--results", type=Path, default=RESULTS)
    asked = parser.parse_args()
    found: dict[str, Any] = {"machine": machine(), "rows": []}
    for rows in map(int, asked.rows.split(",")):
        told: dict[tuple[str, int], list[dict[str, Any]]] = {}
        task = {"kind": "strong", "rows": rows, "inputs": inputs_for(FEATURES[rows])}
        for _ in range(asked.repeats):
            for name, screener in SCREENERS.items():
                for jobs in (1, 2):
                    one = ours(
                        task, layers=f"{RATIONAL} {RATIONAL}", screener=screener, jobs=jobs, sort=SORTED[rows]
                    )
                    told.setdefault((name, jobs), []).append(one)
        for (name, jobs), those in told.items():
            # one thread by processor time, as its sort: less of what else the machine does is in it
            clock = "processor_seconds" if jobs == 1 else "seconds"
            each = [1e6 * one[clock] / one["features"] for one in those]
            sort = [one["sort_us"][jobs - 1] for one in those]
            found["rows"].append(
                {
                    "rows": rows,
                    "screener": name,
                    "jobs": jobs,
                    "features": those[0]["features"],
                    "us_each": each,
                    "wall_us": [1e6 * one["seconds"] / one["features"] for one in those],
                    "sort_us": sort,
                    "against_sort": [own / bare for own, bare in zip(each, sort, strict=True)],
                    "gain": ratio_of(
                        [one["seconds"] for one in told[name, 1]], [one["seconds"] for one in those]
                    ),
                    "sort_gain": ratio_of(
                        [one["sort_us"][0] for one in those], [one["sort_us"][1] for one in those]
                    ),
                    "peak_mb": max(one["peak_mb"] for one in those),
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
    save("million", found, markdown(head, lines(found["rows"])), asked.results)


def lines(records: list[dict[str, Any]]) -> list[list[object]]:
    """Return a table's rows."""
    return [
        [
            f"{one['rows']:,}",
            one["screener"],
            one["jobs"],
            f"{one['features']:,}",
            number(min(one["us_each"])),
            number(min(one["sort_us"])),
            spread(one["against_sort"]),
            spread(one["gain"]) if one["jobs"] > 1 else "",
            spread(one["sort_gain"]) if one["jobs"] > 1 else "",
            f"{one['peak_mb']:,.0f}",
        ]
        for one in records
    ]


if __name__ == "__main__":
    main()

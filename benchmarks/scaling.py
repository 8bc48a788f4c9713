"""Time and peak memory against rows, features and threads, of the three ways to search.

Spaces are two layers of + − × ÷ on a few inputs, scored by T0. Every point is a process of its own; one that
is foretold to take longer than the limit, from the point before it, is left out and marked.

Run with ``python benchmarks/scaling.py``; ``scaling_picture.py`` draws what it wrote.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from measured import RESULTS, FailedError, machine, markdown, number, ours, save
from tables import RATIONAL, inputs_for

ROWS = (100, 1000, 10_000, 100_000)
FEATURES = (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
MODES = ("exact", "race", "sieve")
REPEATED = 20.0  # seconds: shorter points are measured three times


def point(features: int, rows: int, mode: str, jobs: int, limit: float) -> dict[str, Any]:
    """Measure one point."""
    task = {"kind": "strong", "rows": rows, "inputs": inputs_for(features)}
    told = []
    while len(told) < 3:
        layers = f"{RATIONAL} {RATIONAL}"
        told.append(ours(task, layers=layers, screener="t0", search=mode, jobs=jobs, limit=3 * limit))
        if told[-1]["seconds"] > REPEATED:
            break
    return {
        "features": told[0]["features"],
        "survivors": told[0]["survivors"],
        "seconds": min(one["seconds"] for one in told),
        "peak_mb": max(one["peak_mb"] for one in told),
        "repeats": len(told),
    }


def series(
    along: str, mode: str, jobs: int, limit: float, *, rows: int, features: int
) -> list[dict[str, Any]]:
    """Measure along one axis, until the next point would take too long."""
    found: list[dict[str, Any]] = []
    last, foretold = 0.0, 0.0
    for value in ROWS if along == "rows" else FEATURES:
        name = {"mode": mode, "jobs": jobs, "along": along, "asked": features, "rows": rows, along: value}
        name["asked"] = value if along == "features" else features
        name["rows"] = value if along == "rows" else rows
        if foretold > limit:
            found.append(name | {"skipped": f"foretold: {number(foretold, 2)} s"})
            foretold *= 10.0
            continue
        try:
            found.append(name | point(name["asked"], name["rows"], mode, jobs, limit))
        except FailedError as failed:
            found.append(name | {"skipped": str(failed)})
            foretold = 10.0 * limit
            continue
        seconds = found[-1]["seconds"]
        growth = 10.0 if mode == "exact" or along == "features" or not last else max(1.0, seconds / last)
        last, foretold = seconds, seconds * growth
        print(lines(found[-1:])[0], flush=True)
    return found


def lines(records: list[dict[str, Any]]) -> list[list[object]]:
    """Return a table's rows."""
    return [
        [
            one["mode"],
            one["jobs"],
            f"{one['rows']:,}",
            f"{one.get('features', one['asked']):,}" if "skipped" not in one else f"about {one['asked']:,}",
            number(one["seconds"]) if "seconds" in one else f"left out ({one['skipped']})",
            number(1e6 * one["seconds"] / one["features"]) if "seconds" in one else "",
            f"{one['peak_mb']:,.0f}" if "seconds" in one else "",
        ]
        for one in records
    ]


def main() -> None:
    """Measure both axes, print the table, write the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--limit", type=float, default=120.0, help="seconds a point may be foretold to take")
    parser.add_argument("--jobs", default="1,2", help="with a comma between them")
    parser.add_argument("--results", type=Path, default=RESULTS)
    asked = parser.parse_args()
    found: dict[str, Any] = {"machine": machine(), "points": []}
    for mode in MODES:
        for jobs in map(int, asked.jobs.split(",")):
            found["points"] += series("rows", mode, jobs, asked.limit, rows=0, features=1_000_000)
            for rows in (100, 1000, 100_000):
                if rows == 100_000 and (mode == "exact" or jobs == 1):
                    continue
                found["points"] += series("features", mode, jobs, asked.limit, rows=rows, features=0)
    head = ("search", "threads", "rows", "features", "seconds", "µs each", "peak MB")
    table = markdown(head, lines(found["points"]))
    print(table)
    print(save("scaling", found, asked.results))


if __name__ == "__main__":
    main()

"""Time and peak memory against rows, features and threads, of the three ways to search.

Spaces are two layers of + − × ÷ on a few inputs, scored by T0. Every point is a process of its own; one that
is foretold to take longer than the limit, from the point before it, is left out and marked.

Run with ``python benchmarks/scaling.py``; ``scaling_picture.py`` draws what it wrote.
"""

from __future__ import annotations

import argparse
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measured import RESULTS, FailedError, machine, markdown, number, ours, save
from tables import RATIONAL, inputs_for

if TYPE_CHECKING:
    from collections.abc import Sequence

MODES = ("exact", "race", "sieve")
_FEATURES = (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
SLOW = (10_000_000, 100_000)
SHAPES = (
    [(features, 100) for features in _FEATURES],
    [(features, 1000) for features in _FEATURES],
    [(1_000_000, rows) for rows in (100, 1000, 10_000, 100_000)],
    [(1_000_000, 100_000), SLOW],
)
REPEATED = 20.0  # seconds: shorter points are measured three times


@cache
def point(features: int, rows: int, mode: str, jobs: int, limit: float) -> dict[str, Any]:
    """Measure one point, the shorter ones three times."""
    task = {"kind": "strong", "rows": rows, "inputs": inputs_for(features)}
    options = {"layers": f"{RATIONAL} {RATIONAL}", "screener": "t0", "search": mode, "jobs": jobs}
    told = [ours(task, limit=3 * limit, **options)]
    while told[-1]["seconds"] < REPEATED and len(told) < 3:
        told.append(ours(task, limit=3 * limit, **options))
    return {
        "features": told[0]["features"],
        "survivors": told[0]["survivors"],
        "seconds": min(one["seconds"] for one in told),
        "peak_mb": max(one["peak_mb"] for one in told),
        "repeats": len(told),
    }


def series(mode: str, jobs: int, shapes: Sequence[tuple[int, int]], limit: float) -> list[dict[str, Any]]:
    """Measure along a line of (features, rows), until the next point would take too long."""
    found: list[dict[str, Any]] = []
    foretold, before = 0.0, shapes[0]
    for features, rows in shapes:
        one: dict[str, Any] = {"mode": mode, "jobs": jobs, "about": features, "rows": rows}
        # rows cost a search little: from 10,000 on the exact scores of its survivors
        growth = features / before[0] * (rows / before[1]) ** (1.0 if mode == "exact" else 0.7)
        foretold, before = foretold * growth, (features, rows)
        if foretold > limit:
            one["skipped"] = f"foretold: {number(foretold, 2)} s"
        else:
            try:
                one |= point(features, rows, mode, jobs, limit)
                foretold = one["seconds"]
            except FailedError as failed:
                one["skipped"] = str(failed)
                foretold = 3 * limit
        found.append(one)
        print(*lines([one])[0], sep="  ", flush=True)
    return found


def lines(records: list[dict[str, Any]]) -> list[list[object]]:
    """Return a table's rows."""
    return [
        [
            one["mode"],
            one["jobs"],
            f"{one['rows']:,}",
            f"{one['features']:,}" if "seconds" in one else f"about {one['about']:,}",
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
    parser.add_argument("--modes", default=",".join(MODES), help="with commas between them")
    parser.add_argument("--add", action="store_true", help="to the points of an earlier run on this machine")
    parser.add_argument("--results", type=Path, default=RESULTS)
    asked = parser.parse_args()
    found: dict[str, Any] = {"machine": machine(), "points": []}
    if asked.add:
        found["points"] = json.loads((asked.results / "scaling.json").read_text())["points"]
    for mode in asked.modes.split(","):
        for jobs in map(int, asked.jobs.split(",")):
            for shapes in SHAPES:
                if SLOW not in shapes or (jobs > 1 and mode != "exact"):
                    found["points"] += series(mode, jobs, shapes, asked.limit)
                    write(found, asked.results)


def write(found: dict[str, Any], where: Path) -> None:
    """Write what has been measured so far: what one line of points left out another may have measured."""
    found["points"].sort(key=lambda one: "seconds" in one)
    unique = {(one["mode"], one["jobs"], one["rows"], one["about"]): one for one in found["points"]}
    found["points"] = [unique[key] for key in sorted(unique)]
    head = ("search", "threads", "rows", "features", "seconds", "µs each", "peak MB")
    save("scaling", found, markdown(head, lines(found["points"])), where)


if __name__ == "__main__":
    main()

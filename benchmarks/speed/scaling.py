"""Time and peak memory against rows, features and threads, of the three ways to search.

Spaces are two layers of + − × ÷ on a few inputs, scored by T0. Every point is a process of its own; one that
is predicted to take longer than the limit, from the point before it, is left out and marked.

The picture needs matplotlib (the extra ``plot``).
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from measurement import (
    ProcessError,
    describe_machine,
    format_number,
    format_table,
    make_parser,
    save_results,
    screen_in_process,
)
from tables import RATIONAL, get_input_count

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

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
    task = {"kind": "strong", "rows": rows, "inputs": get_input_count(features)}
    options = {"layers": f"{RATIONAL} {RATIONAL}", "screener": "t0", "search": mode, "jobs": jobs}
    runs = [screen_in_process(task, limit=3 * limit, **options)]
    while runs[-1]["seconds"] < REPEATED and len(runs) < 3:
        runs.append(screen_in_process(task, limit=3 * limit, **options))
    return {
        "features": runs[0]["features"],
        "survivors": runs[0]["survivors"],
        "seconds": min(one["seconds"] for one in runs),
        "peak_mb": max(one["peak_mb"] for one in runs),
        "repeats": len(runs),
    }


def series(mode: str, jobs: int, shapes: Sequence[tuple[int, int]], limit: float) -> list[dict[str, Any]]:
    """Measure along a line of (features, rows), until the next point would take too long."""
    found: list[dict[str, Any]] = []
    predicted, before = 0.0, shapes[0]
    for features, rows in shapes:
        one: dict[str, Any] = {"mode": mode, "jobs": jobs, "about": features, "rows": rows}
        # rows cost a search little: from 10,000 on the exact scores of its survivors
        growth = features / before[0] * (rows / before[1]) ** (1.0 if mode == "exact" else 0.7)
        predicted, before = predicted * growth, (features, rows)
        if predicted > limit:
            one["skipped"] = f"predicted: {format_number(predicted, 2)} s"
        else:
            try:
                one |= point(features, rows, mode, jobs, limit)
                predicted = one["seconds"]
            except ProcessError as failed:
                one["skipped"] = str(failed)
                predicted = 3 * limit
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
            format_number(one["seconds"]) if "seconds" in one else f"left out ({one['skipped']})",
            format_number(1e6 * one["seconds"] / one["features"]) if "seconds" in one else "",
            f"{one['peak_mb']:,.0f}" if "seconds" in one else "",
        ]
        for one in records
    ]


def main(arguments: Sequence[str]) -> None:
    """Measure both axes, print the table, write the results."""
    parser = make_parser(__doc__)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds a point may be predicted to take")
    parser.add_argument("--jobs", default="1,2", help="with a comma between them")
    parser.add_argument("--modes", default=",".join(MODES), help="with commas between them")
    parser.add_argument("--draw", action="store_true", help="only draw the results of an earlier run")
    parser.add_argument("--add", action="store_true", help="to the points of an earlier run on this machine")
    options = parser.parse_args(arguments)
    found: dict[str, Any] = {"machine": describe_machine(), "points": []}
    if options.add or options.draw:
        earlier = json.loads((options.results / "scaling.json").read_text())
        if options.draw:
            draw_results(earlier, options.results / "scaling.png")
            return
        found["points"] = earlier["points"]
    for mode in options.modes.split(","):
        for jobs in map(int, options.jobs.split(",")):
            for shapes in SHAPES:
                if SLOW not in shapes or (jobs > 1 and mode != "exact"):
                    found["points"] += series(mode, jobs, shapes, options.limit)
                    write(found, options.results)
    draw_results(found, options.results / "scaling.png")


def write(found: dict[str, Any], where: Path) -> None:
    """Write what has been measured so far: what one line of points left out another may have measured."""
    found["points"].sort(key=lambda one: "seconds" in one)
    unique = {(one["mode"], one["jobs"], one["rows"], one["about"]): one for one in found["points"]}
    found["points"] = [unique[key] for key in sorted(unique)]
    head = ("search", "threads", "rows", "features", "seconds", "µs each", "peak MB")
    save_results("scaling", found, format_table(head, lines(found["points"])), where)


# Okabe and Ito's colours, distinct for every kind of colour vision; the markers differ, too
COLORS = {"exact": "#000000", "race": "#D55E00", "sieve": "#0072B2"}
MARKERS = {"exact": "o", "race": "s", "sieve": "^"}
LINES = {1: ":", 2: "-"}


def draw_panel(axes: Axes, points: Sequence[dict[str, Any]], across: str, up: str) -> None:
    """Draw the lines of one panel: a colour a mode, a dash a number of threads."""
    for mode, color in COLORS.items():
        for jobs, dash in LINES.items():
            those = sorted(
                (one[across], one[up])
                for one in points
                if one["mode"] == mode and one["jobs"] == jobs and up in one
            )
            if those:
                axes.loglog(
                    *zip(*those, strict=True),
                    dash,
                    color=color,
                    marker=MARKERS[mode],
                    markersize=5,
                    label=f"{mode}, {jobs} thread{'s' if jobs > 1 else ''}",
                )
    axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def draw_results(found: dict[str, Any], path: Path) -> None:
    """Draw three columns of panels, time above memory."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    points = [one for one in found["points"] if "seconds" in one]
    columns = [
        ("features, of 100 rows", "features", {"rows": 100}),
        ("features, of 1,000 rows", "features", {"rows": 1000}),
        ("rows, of a million features", "rows", {"about": 1_000_000}),
    ]
    plain = FuncFormatter(lambda value, _: f"{value:,.10g}")
    figure = Figure(figsize=(12, 7), layout="constrained")
    grid = figure.subplots(2, len(columns), sharex="col", sharey="row")
    for column, (label, across, where) in enumerate(columns):
        those = [one for one in points if all(one[key] == value for key, value in where.items())]
        draw_panel(grid[0, column], those, across, "seconds")
        draw_panel(grid[1, column], those, across, "peak_mb")
        grid[1, column].set_xlabel(label)
    for axis in (grid[0, 0].yaxis, grid[1, 0].yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if axis is grid[1, 0].yaxis else (1.0,)))
        axis.set_major_formatter(plain)
        axis.set_minor_formatter(NullFormatter())
    grid[1, 0].set_ylim(bottom=100.0)
    grid[0, 0].set_ylabel("seconds")
    grid[1, 0].set_ylabel("peak memory of the process, MB")
    handles, labels = grid[0, 1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    named = found["machine"]
    figure.suptitle(
        "Screening by T0: time and peak memory\n"
        f"{named['cpu']}, {named['cores']} cores, Python {named['python']}, {named['date']}",
        fontsize=12,
    )
    figure.savefig(path, dpi=130)

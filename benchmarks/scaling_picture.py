"""The picture of what ``scaling.py`` wrote: time and peak memory against features and rows.

Run with ``python benchmarks/scaling_picture.py``; needs matplotlib (the extra ``plot``).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measured import RESULTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

# Okabe and Ito's colours, told apart by every kind of colour vision; shapes tell the modes apart as well
COLOURS = {"exact": "#000000", "race": "#D55E00", "sieve": "#0072B2"}
MARKERS = {"exact": "o", "race": "s", "sieve": "^"}
LINES = {1: ":", 2: "-"}


def draw(axes: Axes, points: Sequence[dict[str, Any]], across: str, up: str) -> None:
    """Draw the lines of one panel: a colour a mode, a dash a number of threads."""
    for mode, colour in COLOURS.items():
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
                    color=colour,
                    marker=MARKERS[mode],
                    markersize=5,
                    label=f"{mode}, {jobs} thread{'s' if jobs > 1 else ''}",
                )
    axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def picture(found: dict[str, Any], path: Path) -> None:
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
        draw(grid[0, column], those, across, "seconds")
        draw(grid[1, column], those, across, "peak_mb")
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


def main() -> None:
    """Draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=RESULTS)
    folder = parser.parse_args().results
    picture(json.loads((folder / "scaling.json").read_text()), folder / "scaling.png")
    print(folder / "scaling.png")


if __name__ == "__main__":
    main()

"""Draw the pictures of the README from results files and from a screen: docs/pictures/*.svg.

``overview.svg`` shows what symscreen does with a shipped table, ``speed.svg`` the time of screens against the
number of formulas, beside other tools, and ``recovery.svg`` the laws found in SRBench's problems, beside
published rates. Their colours follow the reader's preference for light or dark pages. Each picture names a
digest of what it shows, so that a test can tell whether it is up to date.
"""

from __future__ import annotations

import argparse
import json
import re
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measurement import BENCHMARKS, RESULTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Shown = list[Any]
    Drawers = Mapping[str, Callable[[], tuple[Figure, Shown]]]

ROOT = BENCHMARKS.parent
PICTURES = ROOT / "docs" / "pictures"
INK, MUTED, FAINT, OURS, SECOND = "#1f2937", "#6b7280", "#d8dce3", "#1d5fd1", "#b45309"
_DARK = {INK: "#e6eaf0", MUTED: "#a3acb9", FAINT: "#3a4352", OURS: "#6ea8fe", SECOND: "#f0b255"}
_NAMES = {INK: "ink", MUTED: "muted", FAINT: "faint", OURS: "ours", SECOND: "second"}
_TABLE = ROOT / "data" / "strogatz" / "glider2.csv"
_OURS_STYLE = {"color": OURS, "linewidth": 2.4, "markersize": 6}
_OTHER_STYLE = {"color": MUTED, "linewidth": 1.1, "markersize": 3.5}
_LABEL_GAP = 5.5  # between the labels of lines, in percent
_SPEED_ROWS = 100  # rows of the columns in the picture of speed
_NOISE_RATIOS = (0, 0.001, 0.01, 0.1)
_METHODS = (
    "PSE",
    "uDSR",
    "RILS-ROLS",
    "PySR",
    "AIFeynman",
    "Operon",
    "gplearn",
)  # the best, and well-known ones


def main(arguments: Sequence[str]) -> None:
    """Draw the pictures that are named, or all of them."""
    draw_pictures(arguments, DRAWERS, __doc__.splitlines()[0])


def draw_pictures(arguments: Sequence[str], drawers: Drawers, summary: str) -> None:
    """Read names of pictures and a folder from the command line, and draw these pictures."""
    parser = argparse.ArgumentParser(description=summary)
    parser.add_argument("name", nargs="*", metavar="NAME", help="pictures; by default all")
    parser.add_argument("--out", type=Path, default=PICTURES, help="the folder to write to")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.name or drawers:
        save_picture(*drawers[name](), options.out / f"{name}.svg")


def compute_digest(shown: Shown) -> str:
    """Compute the digest of what a picture shows."""
    return sha256(json.dumps(shown).encode()).hexdigest()[:16]


def save_picture(figure: Figure, shown: Shown, path: Path) -> None:
    """Write a picture whose colours follow the reader's preference, with the same bytes each time."""
    import matplotlib as mpl

    settings = {"svg.hashsalt": path.stem, "svg.fonttype": "path"}
    metadata = {"Date": None, "Creator": "symscreen", "Description": f"data {compute_digest(shown)}"}
    with mpl.rc_context(settings):
        figure.savefig(path, format="svg", transparent=True, metadata=metadata)
    text = path.read_text(encoding="utf-8")
    for color, name in _NAMES.items():
        text = text.replace(color, f"var(--{name})")
    light = "".join(f"--{name}:{color};" for color, name in _NAMES.items())
    dark = "".join(f"--{_NAMES[color]}:{replaced};" for color, replaced in _DARK.items())
    style = f"<style>svg{{{light}}}@media (prefers-color-scheme: dark){{svg{{{dark}}}}}</style>"
    text = re.sub(r"(<svg [^>]*>)", rf"\1{style}", text, count=1)
    path.write_text("\n".join(line.rstrip() for line in text.splitlines()) + "\n", encoding="utf-8")


def make_figure(
    width: float,
    height: float,
    font_size: float = 10.5,
    mosaic: Sequence[Sequence[str]] | None = None,
    **options: Any,
) -> tuple[Figure, Any]:
    """Make a figure in inches, with its axes in the colours of the pictures.

    With a mosaic of names, axes extend over the places with the same name.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    colors = dict.fromkeys(
        ("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.edgecolor", "axes.titlecolor"),
        INK,
    )
    with mpl.rc_context(
        {
            **colors,
            "font.size": font_size,
            "legend.framealpha": 0,
            "axes.spines.top": False,
            "axes.spines.right": False,
        }
    ):
        figure = Figure(figsize=(width, height), layout="constrained")
        if mosaic is None:
            return figure, figure.subplots(**options)
        return figure, list(figure.subplot_mosaic(mosaic, **options).values())


def draw_overview() -> tuple[Figure, Shown]:
    """Draw a table, its formulas by layer, the best of them, and the law of the glider, side by side."""
    figure, axes = make_figure(10.4, 3.1, ncols=4, width_ratios=[0.8, 1, 1.25, 1])
    return figure, _show_steps(axes)


def draw_narrow_overview() -> tuple[Figure, Shown]:
    """Draw the overview for narrow screens: the table beside its formulas, the other two steps below."""
    places = [["table", "layers"], ["best", "best"], ["law", "law"]]
    figure, axes = make_figure(5.0, 7.6, mosaic=places, width_ratios=[0.8, 1], height_ratios=[1.2, 1, 1])
    return figure, _show_steps(axes)


def _show_steps(axes: Sequence[Axes]) -> Shown:
    """Show the four steps from the table of the glider to its law; return what they show."""
    import pandas as pd

    import symscreen

    frame = pd.read_csv(_TABLE)
    settings: dict[str, Any] = {"layers": "ubb", "unary": ["cos", "id"], "binary": ["sub", "div"]}
    result = symscreen.screen(frame, top=5, **settings)
    _show_table(axes[0], frame)
    _show_layers(axes[1], result)
    _show_ranking(axes[2], result.table)
    best = result.transform(frame).iloc[:, 0]
    axes[3].plot(best, frame.target, ".", color=OURS, markersize=3)
    axes[3].set_xlabel(str(result.table.expression[0]))
    axes[3].set_ylabel("target")
    titles = ("1  a table", "2  its formulas", "3  the best, with error rates", "4  the law")
    for one, title in zip(axes, titles, strict=True):
        one.set_title(title, loc="left", fontweight="bold", fontsize=11)
    counts = [layer["features"] for layer in result.record["layers"]]
    return [counts, list(result.table.expression), [f"{q:.0e}" for q in result.table.q_value]]


def _show_table(axes: Axes, frame: Any) -> None:
    """Show the first rows of a table as text."""
    axes.axis("off")
    rows = [list(frame.columns), *[[f"{value:.2f}" for value in row] for row in frame.head(7).to_numpy()]]
    for line, row in enumerate(rows):
        for place, text in enumerate(row):
            axes.text(
                0.27 + 0.34 * place, 0.94 - 0.115 * line, text, ha="right", va="top", family="monospace",
                fontsize=9, color=MUTED if line else INK, transform=axes.transAxes,
            )  # fmt: skip
    axes.text(0.0, 0.0, f"… {len(frame)} rows", color=MUTED, fontsize=9, transform=axes.transAxes)


def _show_layers(axes: Axes, result: Any) -> None:
    """Show how many formulas each layer makes."""
    layers = [layer for layer in result.record["layers"] if layer["layer"] > 0]
    counts = [layer["features"] for layer in layers]
    places = range(len(counts))
    axes.bar(places, counts, color=OURS, width=0.6)
    for place, count in zip(places, counts, strict=True):
        axes.text(place, count, f"{count:,}", ha="center", va="bottom", fontsize=9.5, color=INK)
    axes.set_ylim(0, 1.12 * max(counts))
    names = {"u": "f(x)", "b": "x ∘ z"}
    axes.set_xticks(list(places), [f"layer {layer['layer']}\n{names[layer['kind']]}" for layer in layers])
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)


def _show_ranking(axes: Axes, table: Any) -> None:
    """Show the best formulas with the size of their Gini correlation and their q-value."""
    sizes = table.gini.abs().to_numpy()
    places = range(len(sizes))[::-1]
    axes.barh(list(places), sizes, color=FAINT, height=0.72)
    for place, expression, size, q in zip(places, table.expression, sizes, table.q_value, strict=True):
        axes.text(0.02, place, expression, va="center", fontsize=8.8, color=INK)
        axes.text(1.03, place, f"{size:.3f}", va="center", fontsize=8.8, color=MUTED)
        axes.text(1.25, place, f"{q:.0e}", va="center", fontsize=8.8, color=MUTED)
    for place, name in ((1.03, "Gini"), (1.25, "q")):
        axes.text(place, len(sizes) - 0.55, name, fontsize=8.8, color=MUTED)
    axes.set(xlim=(0, 1.5), ylim=(-0.5, len(sizes)))
    axes.axis("off")


def draw_speed() -> tuple[Figure, Shown]:
    """Draw the time of exact screens against the number of formulas, other tools, and the bare sort."""
    figure, axes = make_figure(7.6, 4.2)
    points = json.loads((RESULTS / "scaling.json").read_text())["points"]
    ours = [
        p
        for p in points
        if (p["mode"], p["jobs"], p["rows"]) == ("exact", 2, _SPEED_ROWS) and p.get("seconds")
    ]
    axes.plot(
        [p["features"] for p in ours],
        [p["seconds"] for p in ours],
        "o-",
        color=OURS,
        label=f"symscreen, T0, {_SPEED_ROWS} rows",
    )
    rows = json.loads((RESULTS / "million.json").read_text())["rows"]
    sort = min(min(r["sort_us"]) for r in rows if r["rows"] == _SPEED_ROWS and r["jobs"] == 2)
    ends = [p["features"] for p in ours]
    axes.plot(
        ends, [1e-6 * sort * n for n in ends], "--", color=MUTED, label=f"the bare sort, {_SPEED_ROWS} rows"
    )
    peers = json.loads((RESULTS / "peers.json").read_text())["rows"]
    names = {"torchsisso": "TorchSISSO", "autofeat": "autofeat", "gplearn": "gplearn"}
    for comparison, name in names.items():
        row = next(r for r in peers if r["comparison"] == comparison and r["ours"].startswith("T0, exact"))
        for side, marker, color in (("peer", "s", SECOND), ("ours", "o", OURS)):
            axes.plot(
                row["features"][side], min(row["seconds"][side]), marker, color=color, markerfacecolor="none"
            )
        place = (row["features"]["peer"], min(row["seconds"]["peer"]))
        axes.annotate(name, place, xytext=(7, 4), textcoords="offset points", color=SECOND)
    axes.plot([], [], "s", color=SECOND, markerfacecolor="none", label="other tools, 400 rows")
    axes.plot([], [], "o", color=OURS, markerfacecolor="none", label="symscreen on the same tables, 400 rows")
    axes.set(xscale="log", yscale="log", xlabel="formulas", ylabel="seconds, two threads")
    axes.grid(color=FAINT, linewidth=0.6)
    axes.legend(frameon=False, labelcolor=INK, fontsize=9.5)
    return figure, [list(map(list, line.get_xydata().tolist())) for line in axes.lines]


def draw_recovery() -> tuple[Figure, Shown]:
    """Draw the share of SRBench's 130 problems that are solved, by noise, beside published rates."""
    published = json.loads((RESULTS / "reproduction" / "srbench.json").read_text())["outputs"]["published"]
    rates = {row["method"]: row for row in published if row["problems"] == "all" and row["units"] == "False"}
    figure, axes = make_figure(7.6, 3.6)
    places = range(len(_NOISE_RATIOS))
    ends: dict[str, float] = {}
    for method in ("symscreen", *_METHODS):
        values = [rates[method][f"percent_{noise:g}"] for noise in _NOISE_RATIOS]
        style = _OURS_STYLE if method == "symscreen" else _OTHER_STYLE
        axes.plot(places, values, "o-", **style)
        ends[method] = values[-1]
    for method, height in _spread(ends).items():
        color = OURS if method == "symscreen" else MUTED
        axes.text(len(places) - 0.92, height, method, va="center", color=color, fontsize=9.5)
    axes.set_xticks(list(places), ["none", "0.1 %", "1 %", "10 %"])
    axes.set(xlim=(-0.2, 3.75), ylim=(0, 102), xlabel="noise in the target", ylabel="laws found, %")
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
    return figure, [line.get_ydata().tolist() for line in axes.lines]


def _spread(heights: dict[str, float]) -> dict[str, float]:
    """Move labels up so that none covers another."""
    spread: dict[str, float] = {}
    lowest = _LABEL_GAP / 2
    for name, height in sorted(heights.items(), key=lambda item: item[1]):
        spread[name] = max(height, lowest)
        lowest = spread[name] + _LABEL_GAP
    return spread


DRAWERS: Drawers = {
    "overview": draw_overview,
    "overview-narrow": draw_narrow_overview,
    "speed": draw_speed,
    "recovery": draw_recovery,
}

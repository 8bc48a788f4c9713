"""Draw the pictures of docs/trust.md: what each figure of trust says, on tables that are simulated here.

Each picture is computed by the functions that users call. The tables have fixed seeds, so the pictures are
the same each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pages.picture_style import FAINT, INK, MUTED, OURS, SECOND, make_figure

import symscreen

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    Shown = list[Any]
    Values = NDArray[np.float64]

_SIZE = (6.6, 2.7)  # inches
_ROWS, _INPUTS, _PERMUTATIONS, _TABLES = 80, 4, 60, 30
_DOT = {"markersize": 4, "alpha": 0.75}


def _make_table(seed: int, noise: float | None, n: int = _ROWS) -> tuple[Values, Values]:
    """Make inputs (n, d), and a target that follows x1·x2 with noise, or that is noise alone."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.5, 3.0, (n, _INPUTS))
    law = x[:, 0] * x[:, 1] if noise is not None else np.zeros(n)
    return x, law + (1.0 if noise is None else noise) * rng.normal(size=n)


def draw_verdict() -> tuple[Figure, Shown]:
    """Draw the p-values of a space against a target of noise, and against one with a law."""
    figure, axes = make_figure(*_SIZE, ncols=2)
    shown: Shown = []
    for one, noise, title in zip(axes, (None, 1.0), ("noise alone", "one true law"), strict=True):
        result = symscreen.screen(*_make_table(2, noise), layers="ub", top=3)
        counts = result.record["error_control"]["histogram"]
        one.bar((np.arange(len(counts)) + 0.5) / len(counts), counts, width=0.9 / len(counts), color=OURS)
        one.axhline(sum(counts) / len(counts), color=SECOND, linestyle="--", linewidth=1.2)
        one.set(xlabel="p-value", ylabel="formulas", xlim=(0, 1))
        kind = result.record["verdict"]["kind"]
        one.set_title(f"{title}: verdict “{kind}”", loc="left", fontsize=11)
        shown.append([counts, kind])
    axes[0].text(0.98, 0.93, "dashed: by chance", color=SECOND, ha="right", transform=axes[0].transAxes)
    return figure, shown


def draw_family() -> tuple[Figure, Shown]:
    """Draw the best score under each permutation of the target, beside the score that was found."""
    figure, axes = make_figure(*_SIZE, ncols=2, sharex=True)
    shown: Shown = []
    for one, noise, title in zip(axes, (None, 2.0), ("noise alone", "one true law"), strict=True):
        x, y = _make_table(4, noise)
        found = symscreen.screen(x, y, layers="ub", top=1, permutations=199).table.iloc[0]
        rng = np.random.default_rng(0)
        best = [
            abs(
                float(
                    symscreen.screen(x, rng.permutation(y), layers="ub", top=1, p_values=False).table.gini[0]
                )
            )
            for _ in range(_PERMUTATIONS)
        ]
        one.hist(best, bins=12, color=FAINT)
        one.axvline(abs(found.gini), color=OURS, linewidth=2.2)
        one.set(xlabel="|Gini| of the best formula", ylabel="permutations", xlim=(0.1, 0.8))
        one.set_title(f"{title}: p_family {found.p_family:.2g}", loc="left", fontsize=11)
        shown.append([[round(each, 9) for each in best], float(found.p_family)])
    axes[0].text(0.98, 0.93, "grey: permuted targets", color=MUTED, ha="right", transform=axes[0].transAxes)
    axes[0].text(0.98, 0.83, "blue: the data", color=OURS, ha="right", transform=axes[0].transAxes)
    return figure, shown


def draw_intervals() -> tuple[Figure, Shown]:
    """Draw the intervals of the best formulas, with few rows and with many."""
    figure, axes = make_figure(*_SIZE, ncols=2, sharex=True)
    shown: Shown = []
    for one, n in zip(axes, (40, 400), strict=True):
        table = symscreen.screen(*_make_table(1, 1.5, n), layers="ub", top=5, intervals=True).table
        places = np.arange(len(table))[::-1]
        columns = table[["gini", "gini_low", "gini_high"]].to_numpy(dtype=float)
        one.hlines(places, columns[:, 1], columns[:, 2], color=OURS, linewidth=2)
        one.plot(columns[:, 0], places, "o", color=OURS, markersize=5)
        one.set_yticks(places, table.expression, fontsize=9.5)
        one.set(xlabel="Gini correlation", xlim=(0.0, 1.0), ylim=(-0.6, len(table) - 0.4))
        one.set_title(f"{n} rows", loc="left", fontsize=11)
        shown.append([list(table.expression), columns.round(9).tolist()])
    return figure, shown


def draw_split() -> tuple[Figure, Shown]:
    """Draw the score of the formula chosen on the rows that chose it, and on the rows kept."""
    figure, axes = make_figure(*_SIZE, ncols=2, sharey=True)
    shown: Shown = []
    for one, noise, title in zip(axes, (None, 1.0), ("noise alone", "one true law"), strict=True):
        pairs = []
        for seed in range(_TABLES):
            result = symscreen.screen(
                *_make_table(100 + seed, noise), layers="ub", top=1, split=0.5, seed=seed
            )
            best = result.table.iloc[0]
            pairs.append([abs(best.gini), float(np.sign(best.gini) * best.split_gini)])
        values = np.array(pairs)
        spread = np.random.default_rng(0).uniform(-0.16, 0.16, values.shape)
        for place in range(2):
            one.plot(
                place + spread[:, place], values[:, place], "o", color=(SECOND, OURS)[place],
                markeredgewidth=0, **_DOT,
            )  # fmt: skip
        one.axhline(0.0, color=MUTED, linewidth=0.8)
        one.set_xticks([0, 1], ["rows that chose it", "rows kept"])
        one.set(xlim=(-0.5, 1.5), ylim=(-0.5, 1.05))
        one.set_title(title, loc="left", fontsize=11)
        shown.append(values.round(9).tolist())
    axes[0].set_ylabel("Gini of the formula chosen")
    return figure, shown


def draw_stability() -> tuple[Figure, Shown]:
    """Draw how often other rows would choose each of the best formulas."""
    figure, axes = make_figure(*_SIZE)
    table = symscreen.screen(*_make_table(1, 1.5), layers="ub", top=6, stability=50).table
    places = np.arange(len(table))[::-1]
    shares = 100.0 * table.stability.to_numpy(dtype=float)
    axes.barh(places, shares, color=OURS, height=0.6)
    for place, share in zip(places, shares, strict=True):
        axes.text(share + 1.0, place, f"{share:.0f} %", va="center", color=MUTED)
    axes.set_yticks(places, table.expression)
    axes.set(xlabel="halves of the rows that list the formula, %", xlim=(0, 112))
    return figure, [list(table.expression), shares.tolist()]


def draw_new_rows() -> tuple[Figure, Shown]:
    """Draw a formula that is defined in all rows, and has a pole between them."""
    figure, axes = make_figure(*_SIZE)
    x = np.array([-2.6, -2.1, -1.7, -1.2, -0.8, 0.9, 1.3, 1.8, 2.2, 2.7])
    margin = 0.1 * float(np.ptp(x))
    low, high = float(x.min()) - margin, float(x.max()) + margin
    axes.axvspan(low, high, color=FAINT, alpha=0.5, linewidth=0)
    for start, end in ((low, -0.12), (0.12, high)):
        line = np.linspace(start, end, 200)
        axes.plot(line, 1.0 / line, color=SECOND, linewidth=1.6)
    axes.plot(x, 1.0 / x, "o", color=OURS, markersize=6)
    axes.text(low + 0.1, 4.4, "the box of the input", color=MUTED)
    axes.text(0.35, 4.4, "1/x: unsafe, a pole", color=SECOND)
    axes.set(xlabel="x", ylabel="formula", ylim=(-6, 6), xlim=(low - 0.4, high + 0.4))
    return figure, [x.tolist(), low, high]


def draw_band() -> tuple[Figure, Shown]:
    """Draw the band of a fit, and fresh rows."""
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(0.5, 4.0, 240))
    y = 2.0 * np.sqrt(x) + 0.25 * rng.normal(size=len(x))
    fresh = rng.uniform(0.6, 3.9, 60)
    target = 2.0 * np.sqrt(fresh) + 0.25 * rng.normal(size=len(fresh))
    fitted = symscreen.fit({"x": x, "y": y}, target="y", effort="quick", bands="split", split=0.5)
    grid = np.linspace(float(x.min()), float(x.max()), 100)
    band = np.asarray(fitted.predict_interval({"x": grid}))
    inside = np.asarray(fitted.predict_interval({"x": fresh}))
    is_held = (inside[:, 0] <= target) & (target <= inside[:, 1])
    figure, axes = make_figure(*_SIZE)
    axes.fill_between(grid, band[:, 0], band[:, 1], color=FAINT)
    axes.plot(grid, band.mean(axis=1), color=INK, linewidth=1.4)
    axes.plot(fresh[is_held], target[is_held], "o", color=OURS, markeredgewidth=0, **_DOT)
    axes.plot(fresh[~is_held], target[~is_held], "o", color=SECOND, markeredgewidth=0, **_DOT)
    axes.set(xlabel="x", ylabel="y")
    label = f"{is_held.sum()} of {len(fresh)} fresh rows are in the band"
    axes.text(0.03, 0.92, label, color=MUTED, transform=axes.transAxes)
    return figure, [band.round(6).tolist(), int(is_held.sum())]


DRAWERS: dict[str, Callable[[], tuple[Figure, Shown]]] = {
    "trust-verdict": draw_verdict,
    "trust-family": draw_family,
    "trust-intervals": draw_intervals,
    "trust-split": draw_split,
    "trust-stability": draw_stability,
    "trust-new-rows": draw_new_rows,
    "trust-band": draw_band,
}

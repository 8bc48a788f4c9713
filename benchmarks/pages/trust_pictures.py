"""Draw the pictures of docs/trust.md from screens and fits of small made tables: docs/pictures/trust-*.svg.

Each picture shows one figure of trust. The tables are drawn with fixed seeds, so that a picture can be drawn
again and compared. The seeds of the pictures of the verdict, p_family, the band and rounding were chosen
among several, because their tables show the idea well. So these pictures are examples, and measure nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pages.pictures import FAINT, INK, MUTED, OURS, SECOND, draw_pictures, make_figure

import symscreen
from symscreen.expansion.feature_values import compute_error_bound
from symscreen.expressions.tree import parse_expression
from symscreen.statistics.inference.order_uncertainty import find_separated_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pages.pictures import Drawers, Shown

    from symscreen._typing import Values

_WIDTH, _HEIGHT, _FONT_SIZE = 6.67, 2.7, 13.0  # inches and points: 640 by 259 pixels, letters of 17 pixels
_WIDE_INPUTS = "abcdefghijklmnop"
_PERMUTATIONS = 199
_REPEATS = 20  # each splits the rows into two halves
_TABLES = 20
_POPULATION = 50_000


def main(arguments: Sequence[str]) -> None:
    """Draw the pictures that are named, or all of them."""
    draw_pictures(arguments, DRAWERS, __doc__.splitlines()[0])


def _make_table(seed: int, n: int, *, inputs: str = "abcd", noise: float = 1.0, has_law: bool = True) -> Any:
    """Make a table (n rows) whose target is a*b plus noise, or noise alone."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.uniform(0.5, 3, size=(n, len(inputs))), columns=list(inputs))
    return frame.assign(target=has_law * frame.a * frame.b + noise * rng.normal(size=n))


def _make_axes(**options: Any) -> tuple[Figure, Any]:
    """Make the axes of a picture of this page."""
    return make_figure(_WIDTH, _HEIGHT, _FONT_SIZE, **options)


def _round_all(values: Any) -> list[float]:
    """Round numbers to three digits, so that a digest is the same on every machine."""
    return [float(f"{value:.3g}") for value in np.ravel(values)]


def _write(axes: Axes, x: float, y: float, text: str, color: str = INK, **options: Any) -> None:
    """Write a text in the letters of the pictures, at a place in the units of the data."""
    axes.text(x, y, text, color=color, fontsize=_FONT_SIZE, **options)


def _write_title(axes: Axes, text: str, color: str = INK) -> None:
    axes.set_title(text, loc="left", fontsize=_FONT_SIZE, color=color)


def _hide_sides(axes: Axes, *sides: str) -> None:
    """Remove sides of the frame, and the marks of the vertical axis."""
    axes.tick_params(left=False)
    for side in sides:
        axes.spines[side].set_visible(False)


def _compute_truth(values: Values, y: Values) -> Any:
    """Compute the Gini correlations of columns, (n,) or (n, q), with a target (n,)."""
    mean_difference = symscreen.t0(-y, y) / 2  # T0 of the mirrored target is 2Δ
    return 1 - symscreen.t0(values, y) / mean_difference


def _screen_all(frame: Any, **options: Any) -> Any:
    """Screen the sums, differences, products and quotients of two inputs."""
    return symscreen.screen(frame, target="target", layers="b", operators="basic", **options)


def draw_verdict() -> tuple[Figure, Shown]:
    """Draw the p-values of a space against noise alone, and with one law."""
    figure, both = _make_axes(ncols=2, sharey=True)
    shown: Shown = []
    edges = np.linspace(0, 1, 21)
    for axes, has_law in zip(both, (False, True), strict=True):
        frame = _make_table(9, 60, inputs=_WIDE_INPUTS, has_law=has_law)
        found = _screen_all(frame, top="all", max_correlation=1)
        percents = 100 * np.histogram(found.table.p_value, edges)[0] / len(found.table)
        axes.bar(edges[:-1], percents, width=0.045, align="edge", color=[OURS, *[MUTED] * (len(edges) - 2)])
        axes.axhline(100 / len(percents), color=INK, linewidth=1, linestyle="--")
        _write_title(axes, "a law and noise" if has_law else "noise alone")
        kind = found.record["verdict"]["kind"]
        _write(axes, 0.17, 17, f"verdict: {kind}\nbest q: {found.table.q_value.min():.1g}", OURS, va="center")
        axes.set(xlabel="p-value", xlim=(-0.02, 1))
        axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        shown += [kind, *_round_all(percents)]
    _write(both[0], 0.17, 8.2, "even share", va="bottom")
    both[0].set_ylabel("% of formulas")
    return figure, shown


def draw_family() -> tuple[Figure, Shown]:
    """Draw the best score of a space under permutations, and where two formulas of the data stand."""
    frame = _make_table(2, 60, inputs=_WIDE_INPUTS, noise=2.0)
    found = _screen_all(frame, top="all", max_correlation=1)
    y, values = frame.target.to_numpy(), found.transform(frame).to_numpy()
    rng = np.random.default_rng(0)
    best = np.array([np.abs(_compute_truth(values, rng.permutation(y))).max() for _ in range(_PERMUTATIONS)])
    sizes, formulas = found.table.gini.abs().to_numpy(), list(found.table.expression)
    unrelated = next(place for place, formula in enumerate(formulas) if not set("ab") & set(formula))
    figure, axes = _make_axes()
    counts, *_ = axes.hist(best, bins=24, color=FAINT)
    top = counts.max()
    shown: Shown = _round_all(best)
    for place, color in ((unrelated, SECOND), (0, OURS)):
        p_family = (1 + (best >= sizes[place]).sum()) / (1 + _PERMUTATIONS)
        p_value = found.table.p_value[place]
        axes.vlines(sizes[place], 0, 1.1 * top, color=color, linewidth=2.4)
        text = f"{formulas[place]}\np_value {p_value:.1g}\np_family {p_family:.2g}"
        _write(axes, sizes[place], 1.15 * top, text, color, ha="center", va="bottom", linespacing=1.1)
        shown += [formulas[place], *_round_all([p_family, p_value])]
    _write(axes, 0.12, 0.6 * top, f"target permuted:\nthe best of\n{len(sizes)} formulas", va="center")
    axes.set(xlabel="size of the Gini correlation", yticks=[], ylim=(0, 1.85 * top), xlim=(0.12, 0.65))
    axes.set_xticks([0.2, 0.3, 0.4, 0.5, 0.6])
    _hide_sides(axes, "left")
    return figure, shown


def draw_intervals() -> tuple[Figure, Shown]:
    """Draw intervals from tables of noise: of a formula that was fixed beforehand, and of the best one."""
    frames = [_make_table(seed, 60, inputs=_WIDE_INPUTS, has_law=False) for seed in range(_TABLES)]
    fixed, best = [], []
    for frame in frames:
        interval = symscreen.t0_interval((frame.a * frame.b).to_numpy(), frame.target.to_numpy())
        fixed.append(np.ravel([interval.gini_low, interval.gini, interval.gini_high]))
        row = _screen_all(frame, top=1, intervals=0.95, p_values=False).table.iloc[0]
        best.append(sorted(np.sign(row.gini) * row[["gini_low", "gini", "gini_high"]].to_numpy(dtype=float)))
    figure, both = _make_axes(ncols=2, sharey=True)
    shown: Shown = []
    titles = ("a*b, fixed before", "the best of many")
    for axes, limits, title in zip(both, (fixed, best), titles, strict=True):
        low, middle, high = np.array(limits).T
        holds = (low <= 0) & (high >= 0)
        places = np.arange(_TABLES)
        for chosen, color in ((holds, OURS), (~holds, SECOND)):
            axes.vlines(places[chosen], low[chosen], high[chosen], color=color, linewidth=2.4)
            axes.plot(places[chosen], middle[chosen], "o", color=color, markersize=4.5)
        axes.axhline(0, color=INK, linewidth=1, linestyle="--")
        _write_title(axes, title)
        axes.set_xlabel(f"{holds.sum()} of {_TABLES} hold the truth")
        axes.set_xticks([])
        shown += _round_all(limits)
    both[0].set(ylabel="Gini correlation", yticks=[-0.5, 0, 0.5], ylim=(-0.6, 0.85))
    _write(both[1], 9, -0.06, "truth", va="top")
    return figure, shown


def draw_split() -> tuple[Figure, Shown]:
    """Draw the interval of a chosen formula on the rows that chose it and on other rows, and the truth."""
    figure, (scheme, axes) = _make_axes(ncols=2, width_ratios=[0.5, 1])
    for first, color, text in ((0.5, MUTED, "half of the\nrows choose"), (0, OURS, "the others\ntest")):
        for line in range(8):
            scheme.axhspan(first + line / 16 + 0.008, first + line / 16 + 0.05, 0, 0.24, color=color)
        _write(scheme, 0.3, first + 0.25, text, color, va="center")
    scheme.set(xlim=(0, 1), ylim=(0, 1))
    scheme.axis("off")
    shown: Shown = []
    names = ("a law", "noise")
    for place, (seed, has_law) in enumerate(((8, True), (11, False))):
        frame, fresh = (
            _make_table(*table, inputs="abcdef", noise=1.5, has_law=has_law)
            for table in ((seed, 100), (0, _POPULATION))
        )
        found = symscreen.screen(frame, target="target", layers="ub", top=5, split=0.5, intervals=0.95)
        row = found.table.iloc[0]
        sign = np.sign(row.gini)
        truth = sign * _compute_truth(found.transform(fresh).iloc[:, 0].to_numpy(), fresh.target.to_numpy())
        for columns, shift, color in (
            (["gini_low", "gini", "gini_high"], 0.17, MUTED),
            (["split_low", "split_gini", "split_high"], -0.17, OURS),
        ):
            low, middle, high = sorted(sign * row[columns].to_numpy(dtype=float))
            axes.hlines(1 - place + shift, low, high, color=color, linewidth=2.4)
            axes.plot(middle, 1 - place + shift, "o", color=color, markersize=7)
            shown += _round_all([low, middle, high])
        axes.vlines(truth, 0.62 - place, 1.38 - place, color=SECOND, linewidth=2)
        _write(axes, high + 0.04, 0.83 - place, f"split_p {row.split_p:.1g}", OURS, va="center")
        shown += [names[place], row.expression, *_round_all([truth, row.split_p])]
    axes.set_yticks([1, 0], names)
    _write(axes, truth, -0.42, "truth", SECOND, ha="center", va="top")
    axes.set(xlabel="Gini correlation", ylim=(-0.8, 1.45), xlim=(-0.35, 1.5), xticks=[0, 0.5, 1])
    _hide_sides(axes, "left")
    return figure, shown


def draw_stability() -> tuple[Figure, Shown]:
    """Draw how many half-samples show the first formulas, with a law and with noise alone."""
    figure, both = _make_axes(ncols=2)
    shown: Shown = []
    for axes, has_law in zip(both, (True, False), strict=True):
        frame = _make_table(3, 60, inputs="abcdefgh", has_law=has_law)
        found = _screen_all(frame, top=4, stability=_REPEATS, p_values=False)
        percents = 100 * found.table.stability.to_numpy()
        places = np.arange(len(percents))[::-1]
        axes.barh(places, 100, color=FAINT, height=0.62)
        axes.barh(places, percents, color=OURS if has_law else MUTED, height=0.62)
        for place, percent in zip(places, percents, strict=True):
            _write(axes, 105, place, f"{percent:.0f} %", va="center")
        axes.set_yticks(places, found.table.expression)
        axes.set(xlim=(0, 150), xticks=[])
        _hide_sides(axes, "left", "bottom")
        _write_title(axes, "a law and noise" if has_law else "noise alone")
        shown += [*found.table.expression, *_round_all(percents)]
    figure.supxlabel("share of the half-samples that show the formula", fontsize=_FONT_SIZE, color=INK)
    return figure, shown


def draw_new_rows() -> tuple[Figure, Shown]:
    """Draw a formula with a pole in the box of its input, and one without, with the rows of the data."""
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.uniform(-2, -0.4, 12), rng.uniform(0.4, 2, 12)])
    frame = pd.DataFrame({"x": x, "target": 1 / x + x**2 + 0.1 * rng.normal(size=len(x))})
    found = symscreen.screen(
        frame, target="target", layers="u", unary=["inv", "square"], top="all", max_correlation=1
    )
    reasons = dict(zip(found.table.expression, found.table.unsafe, strict=True))
    low, high = found.record["box"]["x"]
    line = np.linspace(low, high, 801)
    curves = {"1/x": (1 / line, 1 / x), "x**2": (line**2, x**2)}
    figure, both = _make_axes(ncols=2)
    for axes, (formula, (curve, values)) in zip(both, curves.items(), strict=True):
        reason = reasons[formula]
        axes.axvspan(low, high, color=FAINT, linewidth=0)
        axes.plot(line, np.where(np.abs(curve) > 12, np.nan, curve), color=INK, linewidth=1.6)
        axes.plot(x, values, "o", color=OURS, markersize=5.5)
        _write_title(
            axes, f"{formula}  !  {reason}" if reason else f"{formula}  safe", SECOND if reason else INK
        )
        axes.set(xlim=(low - 0.7, high + 0.7), ylim=(-8, 8) if reason else (-1, 8), yticks=[], xlabel="x")
        axes.set_xticks([-2, 0, 2])
        _write(axes, low + 0.15, axes.get_ylim()[1] * 0.95, "box", va="top")
    both[0].axvline(0, color=SECOND, linewidth=2, linestyle="--")
    _write(both[0], 0.2, -4.5, "a new row\nmay lie here", SECOND, va="center")
    _write(both[1], 0, 3, "rows of\nthe data", OURS, ha="center", va="center")
    return figure, [reasons, *_round_all([low, high]), *_round_all(x)]


def draw_band() -> tuple[Figure, Shown]:
    """Draw the rows of a table, the fitted formula, its band, and new rows inside and outside of the band."""
    frame, fresh = _make_curve(3, 120, 0), _make_curve(6, 40, 0.1)
    found = symscreen.fit(
        frame, target="target", operators="basic", effort="quick", split=0.5, bands="split", seed=1
    )
    x = np.linspace(frame.x.min(), frame.x.max(), 61)
    line, limits = found.predict({"x": x}), found.predict_interval({"x": x})
    figure, axes = _make_axes()
    axes.fill_between(x, *limits.T, color=FAINT, linewidth=0)
    axes.plot(x, line, color=INK, linewidth=1.6)
    axes.plot(frame.x, frame.target, ".", color=MUTED, markersize=4)
    low, high = found.predict_interval({"x": fresh.x.to_numpy()}).T
    is_inside = ((low <= fresh.target) & (fresh.target <= high)).to_numpy()
    for chosen, color in ((is_inside, OURS), (~is_inside, SECOND)):
        axes.plot(fresh.x[chosen], fresh.target[chosen], "o", color=color, markersize=6)
    texts = (
        ("rows of the table", MUTED),
        (f"{is_inside.sum()} new rows in the band", OURS),
        (f"{(~is_inside).sum()} new rows outside", SECOND),
    )
    for place, (text, color) in enumerate(texts):
        _write(axes, 0.1, 11.8 - 1.8 * place, text, color, va="top")
    axes.set(
        xlabel="x", ylabel="target", xlim=(0, 3), ylim=(-3, 12.5), xticks=[0, 1, 2, 3], yticks=[0, 5, 10]
    )
    return figure, [_round_all(line), _round_all(limits), int(is_inside.sum())]


def _make_curve(seed: int, n: int, margin: float) -> Any:
    """Make a table (n rows) whose target is x² plus noise, for x from the margin to 3 less the margin."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(margin, 3 - margin, size=n)
    return pd.DataFrame({"x": x, "target": x**2 + rng.normal(size=n)})


def draw_rounding() -> tuple[Figure, Shown]:
    """Draw values of a formula with bounds of their rounding errors, and rows whose order is not known."""
    rng = np.random.default_rng(7)
    columns = {name: np.exp(rng.uniform(16.8, 17.5, size=7)) for name in "ab"}
    bound = compute_error_bound(parse_expression("sin(a*b)"), columns)
    order = np.argsort(bound.values)
    values, errors = bound.values[order], bound.error[order]  # noqa: PD011  # no frame
    runs = find_separated_runs(values, errors)
    is_uncertain = np.bincount(runs)[runs] > 1
    figure, axes = _make_axes()
    places = np.arange(1, len(values) + 1)
    for run in np.unique(runs[is_uncertain]):
        low, high = (values - errors)[runs == run].min(), (values + errors)[runs == run].max()
        axes.axvspan(low, high, color=FAINT, linewidth=0)
    for chosen, color in ((~is_uncertain, OURS), (is_uncertain, SECOND)):
        ends = (values - errors)[chosen], (values + errors)[chosen]
        axes.hlines(places[chosen], *ends, color=color, linewidth=3)
        axes.plot(values[chosen], places[chosen], "o", color=color, markersize=7)
    _write(axes, 1.14, 2.6, "the order is certain", OURS, ha="right", va="center")
    _write(axes, 1.14, 1.6, "it is not known", SECOND, ha="right", va="center")
    axes.set(
        xlabel="sin(a*b), and where its exact value may lie", ylabel="place of the row", yticks=[1, 4, 7]
    )
    return figure, [_round_all(values), _round_all(errors), is_uncertain.tolist()]


DRAWERS: Drawers = {
    "trust-verdict": draw_verdict,
    "trust-family": draw_family,
    "trust-intervals": draw_intervals,
    "trust-split": draw_split,
    "trust-stability": draw_stability,
    "trust-new-rows": draw_new_rows,
    "trust-band": draw_band,
    "trust-rounding": draw_rounding,
}

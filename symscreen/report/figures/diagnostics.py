"""The funnel: of what each layer generated, what was pruned for which reason, and what was kept.

A histogram of p-values: flat where nothing is related to the response.

The scores of the best features, with their intervals where a screener gave any.

Squares of shades: how far screeners agree, and how alike features are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError
from symscreen.expansion import EXCLUSION_REASONS
from symscreen.report.figures.feature import evaluate_feature, get_dataset
from symscreen.report.figures.style import (
    CURVE,
    FAINT,
    INK,
    MARK,
    PLAIN_TEXT,
    REASON_COLOURS,
    despine,
    shorten_label,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.results.screen_result import ScreenResult


__all__ = [
    "MAX_REDUNDANCY_FEATURES",
    "MAX_SCORES",
    "build_agreement_matrix",
    "compute_p_value_histogram",
    "compute_rank_correlations",
    "count_kept",
    "draw_agreement",
    "draw_funnel",
    "draw_p_values",
    "draw_redundancy",
    "draw_scores",
    "find_interval_columns",
    "list_reasons",
]


def list_reasons(record: dict[str, Any]) -> list[str]:
    """Name the reasons for which a run pruned anything, in their own order."""
    met = {reason for layer in record["layers"] for reason, count in layer["pruned"].items() if count}
    known = [reason for reason in EXCLUSION_REASONS.values() if reason in met]
    return known + sorted(met.difference(known))


def count_kept(layer: dict[str, Any]) -> int:
    """Count what a layer generated and did not prune."""
    kept: int = layer["generated"] - sum(layer["pruned"].values())
    return max(0, kept)


def draw_funnel(axes: Axes, record: dict[str, Any]) -> None:
    """Draw a bar for each layer, as shares of what it generated; the counts stand beside it.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where to draw.
    record : dict
        The record of a screen.
    """
    reasons, layers = list_reasons(record), record["layers"]
    colours = {reason: REASON_COLOURS[place % len(REASON_COLOURS)] for place, reason in enumerate(reasons)}
    begins = [0.0] * len(layers)
    parts = {"kept": [count_kept(layer) for layer in layers]}
    parts |= {reason: [layer["pruned"].get(reason, 0) for layer in layers] for reason in reasons}
    totals = [max(1, sum(part[place] for part in parts.values())) for place in range(len(layers))]
    for name, counts in parts.items():
        shares = [100.0 * count / total for count, total in zip(counts, totals, strict=True)]
        drawn = [place for place, count in enumerate(counts) if count]
        axes.barh(
            drawn, [shares[place] for place in drawn], left=[begins[place] for place in drawn],
            height=0.62, color=colours.get(name, MARK), label=name,
        )  # fmt: skip
        begins = [begin + share for begin, share in zip(begins, shares, strict=True)]
    for place, layer in enumerate(layers):
        text = f"{layer['generated']:,} generated, {count_kept(layer):,} kept"
        axes.text(0.0, place - 0.4, text, va="bottom", ha="left", color=INK, fontsize="small")
    names = ["inputs" if layer["kind"] == "inputs" else _format_layer_name(layer) for layer in layers]
    axes.set_yticks(range(len(layers)), names)
    axes.set_ylim(len(layers) - 0.5, -0.75)
    axes.set_xlim(0.0, 100.0)
    axes.set_xlabel("% of what the layer generated", color=INK)
    despine(axes)
    axes.xaxis.grid(visible=True, color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.22 - 0.35 / len(layers)), ncols=3, frameon=False,
        fontsize="small", labelcolor=INK,
    )  # fmt: skip


def _format_layer_name(layer: dict[str, Any]) -> str:
    return f"layer {layer['layer']} ({layer['kind']})"


_N_BINS = 20


def compute_p_value_histogram(result: ScreenResult) -> tuple[NDArray[np.int64], bool]:
    """Count p-values in bins of equal width from 0 to 1.

    Parameters
    ----------
    result : ScreenResult
        A result with p-values.

    Returns
    -------
    counts : int64 array
    whole : bool
        Whether they are those of the whole space, ``histogram`` under ``error_control`` of the record; else
        of the features shown.

    Raises
    ------
    OptionError
        If no p-values were computed.
    """
    told = result.record.get("error_control", {}).get("histogram")
    if told:
        return np.asarray(told, dtype=np.int64), True
    if "p_value" not in result.table:
        raise OptionError("no p-values were computed")
    known = result.table["p_value"].to_numpy(dtype=float)
    return np.histogram(known[~np.isnan(known)], bins=_N_BINS, range=(0.0, 1.0))[0].astype(np.int64), False


def draw_p_values(axes: Axes, result: ScreenResult) -> None:
    """Draw the histogram; of a whole space with the height that chance alone would give."""
    counts, whole = compute_p_value_histogram(result)
    width = 1.0 / len(counts)
    axes.bar(np.arange(len(counts)) * width, counts, width=0.92 * width, align="edge", color=MARK)
    if whole:
        axes.axhline(counts.sum() * width, color=CURVE, linewidth=1.0, linestyle=(0, (4, 3)))
    axes.set_xlim(0.0, 1.0)
    axes.set_xlabel("p-value", color=INK)
    axes.set_ylabel("features" if whole else "features shown", color=INK)
    despine(axes)


MAX_SCORES = 20


def find_interval_columns(result: ScreenResult, name: str) -> tuple[str, str] | None:
    """Name the two columns of a screener's intervals, where the table has them."""
    low, high = f"{name}_low", f"{name}_high"
    return (low, high) if {low, high} <= set(result.table.columns) else None


def draw_scores(axes: Axes, result: ScreenResult) -> None:
    """Draw a point for each of the best features, best at the top.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where to draw.
    result : ScreenResult
        A result; its first 20 features are drawn.
    """
    name = result.record["options"]["screener"][0]
    best = result.table.head(MAX_SCORES)
    scores = best[name].to_numpy(dtype=float)
    places = np.arange(len(best))
    # T0 of a falling feature is near 2Δ: it is turned round, so that the best stand together
    turned = (scores > result.scale) & (name == "t0") & (result.record["options"]["sign"] == "free")
    low, high = _compute_bounds(result, name, turned)
    axes.hlines(places, low, high, color=MARK, linewidth=1.2)
    scores = np.where(turned, 2.0 * result.scale - scores, scores)
    for marked, face in ((~turned, MARK), (turned, "none")):
        axes.plot(
            scores[marked],
            places[marked],
            linestyle="",
            marker="o",
            markersize=5,
            color=MARK,
            markerfacecolor=face,
        )
    _mark_no_relation(axes, result, name)
    texts = [
        f"{rank}. {shorten_label(text)}" for rank, text in zip(best["rank"], best["expression"], strict=True)
    ]
    axes.set_yticks(places, texts, **PLAIN_TEXT)
    axes.set_ylim(len(best) - 0.4, -0.6)
    axes.set_xlabel(
        f"{name}; hollow: of falling features 2Δ − {name}" if turned.any() else shorten_label(name),
        **PLAIN_TEXT,
    )
    despine(axes)
    axes.yaxis.grid(visible=True, color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)


def _compute_bounds(result: ScreenResult, name: str, is_mirrored: NDArray[np.bool_]) -> tuple[Values, Values]:
    """Return where intervals begin and end; NaN where there are none.

    Of features that are turned round they are gamma's, as Δ(1 − |γ|): T0 itself, near 2Δ, is as unsure as Δ.
    """
    best, columns = result.table.head(MAX_SCORES), find_interval_columns(result, name)
    gammas = find_interval_columns(result, "gamma")
    low, high = np.full((2, len(best)), np.nan)
    if columns is not None:
        low, high = (np.where(is_mirrored, np.nan, best[column].to_numpy(dtype=float)) for column in columns)
    if gammas is not None:
        own = (result.scale * (1.0 - np.abs(best[column].to_numpy(dtype=float))) for column in gammas)
        low, high = (
            np.where(is_mirrored, theirs, bound) for theirs, bound in zip(own, (low, high), strict=True)
        )
    return low, high


def _mark_no_relation(axes: Axes, result: ScreenResult, name: str) -> None:
    """Mark where features stand that tell nothing of the response: for T0 that is Δ."""
    if name != "t0":
        return
    axes.axvline(result.scale, color=CURVE, linewidth=1.0, linestyle=(0, (4, 3)))
    axes.text(
        result.scale, 1.0, "no relation", transform=axes.get_xaxis_transform(), color=CURVE,
        fontsize="small", ha="center", va="bottom",
    )  # fmt: skip


MAX_REDUNDANCY_FEATURES = 30  # features of a map
_MAX_ROWS = 5000
_CORRELATION_DIGITS = 3
_N_SHADES, _MAX_OPACITY = 16, 0.75  # letters stay readable on the fullest
_SQUARE_CORNERS = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5)])


def compute_rank_correlations(result: ScreenResult, max_features: int) -> Values:
    """Compute how alike the first features are.

    Parameters
    ----------
    result : ScreenResult
        A result with its rows.
    most : int
        How many features at most.

    Returns
    -------
    float64 array, shape (k, k)
        |Spearman's rank correlation|, to three digits; of many rows over 5000, spread over the response.
    """
    from scipy.stats import rankdata

    n, shown = get_dataset(result).target.n, min(max_features, len(result))
    rows = np.linspace(0, n - 1, min(n, _MAX_ROWS)).round().astype(np.int64)
    ranks = np.empty((shown, len(rows)))
    for place in range(shown):
        ranks[place] = rankdata(evaluate_feature(result, place)[rows])
    ranks -= ranks.mean(axis=1, keepdims=True)
    norms = np.sqrt((ranks**2).sum(axis=1))
    with np.errstate(invalid="ignore"):
        alike: Values = np.abs(np.einsum("in,jn->ij", ranks, ranks) / (norms[:, None] * norms[None, :]))
    return alike.round(_CORRELATION_DIGITS)


def build_agreement_matrix(result: ScreenResult) -> tuple[list[str], Values]:
    """Lay out how far screeners agree.

    Parameters
    ----------
    result : ScreenResult
        A result of several screeners.

    Returns
    -------
    names : list of str
        The screeners.
    square : float64 array, shape (s, s)
        Above the diagonal Kendall's τ of two rankings, below it the overlap of their heads; NaN on it.

    Raises
    ------
    OptionError
        If there was one screener only.
    """
    pairs = result.agreement
    if pairs is None or not len(pairs):
        raise OptionError(
            "one screener has nothing to agree with: ask for several, --screener t0,xi,spearman"
        )
    names: list[str] = list(result.record["options"]["screener"])
    square = np.full((len(names), len(names)), np.nan)
    for pair in pairs.to_dict("records"):
        i, j = names.index(pair["first"]), names.index(pair["second"])
        square[i, j], square[j, i] = pair["kendall"], pair["overlap"]
    return names, square


def draw_agreement(axes: Axes, result: ScreenResult) -> None:
    """Draw the square of `build_agreement_matrix` with its numbers."""
    names, square = build_agreement_matrix(result)
    _draw_shades(axes, np.nan_to_num(np.abs(square)), [shorten_label(name, 20) for name in names])
    for i, j in np.ndindex(square.shape):
        if i != j:
            text = "–" if np.isnan(square[i, j]) else f"{square[i, j]:.2f}"
            axes.text(j, i, text, ha="center", va="center", color=INK, fontsize="small")
    axes.set_title("above: Kendall's τ; below: overlap of the best", fontsize="small", color=INK)


def draw_redundancy(axes: Axes, result: ScreenResult) -> None:
    """Draw how alike the first features are, by their ranks."""
    alike = compute_rank_correlations(result, MAX_REDUNDANCY_FEATURES)
    ranks = [str(rank) for rank in range(1, len(alike) + 1)]
    _draw_shades(axes, np.nan_to_num(alike), ranks)
    axes.tick_params(labelsize="x-small")
    axes.set_xlabel("rank", color=INK)
    axes.set_ylabel("rank", color=INK)


def _draw_shades(axes: Axes, values: Values, names: Sequence[str]) -> None:
    """Draw a square, the fuller the nearer to 1."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    steps = np.round(values * _N_SHADES).astype(int)
    for step in range(1, _N_SHADES + 1):
        corners = [_SQUARE_CORNERS + np.array((j, i)) for i, j in np.argwhere(steps == step)]
        if corners:
            squares = Path.make_compound_path(*(Path(each, closed=True) for each in corners))
            axes.add_patch(
                PathPatch(squares, facecolor=MARK, alpha=_MAX_OPACITY * step / _N_SHADES, linewidth=0)
            )
    places = range(len(names))
    axes.set_xticks(places, names, **PLAIN_TEXT)
    axes.set_yticks(places, names, **PLAIN_TEXT)
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_aspect("equal")
    despine(axes)

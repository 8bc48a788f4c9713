"""Diagnostic figures of a screen: pruning funnel, p-values, scores, agreement and redundancy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError
from symscreen.expansion import EXCLUSION_REASONS
from symscreen.messages import name_option
from symscreen.report.columns import find_interval_columns, get_screener_names
from symscreen.report.figures.feature import evaluate_feature, get_dataset
from symscreen.report.figures.style import (
    CURVE,
    FAINT,
    FIGURE_WIDTH,
    INK,
    MARK,
    PLAIN_TEXT,
    REASON_COLORS,
    despine,
    shorten_label,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.results.screen_result import ScreenResult

_N_BINS = 20  # bins of p-values from 0 to 1

MAX_SCORES = 20  # features in the figure of scores
_ROW_HEIGHT = 0.34  # inches of a feature: its name and its score

MAX_REDUNDANCY_FEATURES = 30  # features in the redundancy map
_RANK_STEP = 5  # ranks between two labels of the redundancy map
_MAX_ROWS = 5000  # rows from which correlations are computed
_CORRELATION_DIGITS = 3  # decimals
_N_SHADES, _MAX_OPACITY = 16, 0.75  # text stays readable on the strongest shade
_SQUARE_CORNERS = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5)])


def list_reasons(record: dict[str, Any]) -> list[str]:
    """List the reasons for which candidates were pruned in a run, in a fixed order."""
    found = {reason for layer in record["layers"] for reason, count in layer["pruned"].items() if count}
    known = [reason for reason in EXCLUSION_REASONS.values() if reason in found]
    return known + sorted(found.difference(known))


def count_kept(layer: dict[str, Any]) -> int:
    """Return the number of candidates that a layer generated and did not prune."""
    n_kept: int = layer["generated"] - sum(layer["pruned"].values())
    return max(0, n_kept)


def draw_funnel(axes: Axes, record: dict[str, Any]) -> None:
    """Draw a bar per layer with the shares kept and pruned, and the counts above it.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        The axes to draw on.
    record : dict
        The record of a screen.
    """
    reasons, layers = list_reasons(record), record["layers"]
    colors = {reason: REASON_COLORS[index % len(REASON_COLORS)] for index, reason in enumerate(reasons)}
    starts = [0.0] * len(layers)
    parts = {"kept": [count_kept(layer) for layer in layers]}
    parts |= {reason: [layer["pruned"].get(reason, 0) for layer in layers] for reason in reasons}
    totals = [max(1, sum(part[index] for part in parts.values())) for index in range(len(layers))]
    for name, counts in parts.items():
        shares = [100.0 * count / total for count, total in zip(counts, totals, strict=True)]
        nonzero = [index for index, count in enumerate(counts) if count]
        axes.barh(
            nonzero, [shares[index] for index in nonzero], left=[starts[index] for index in nonzero],
            height=0.62, color=colors.get(name, MARK), label=name,
        )  # fmt: skip
        starts = [start + share for start, share in zip(starts, shares, strict=True)]
    for index, layer in enumerate(layers):
        text = f"{layer['generated']:,} generated, {count_kept(layer):,} kept"
        axes.text(0.0, index - 0.4, text, va="bottom", ha="left", color=INK, fontsize="small")
    names = ["inputs" if layer["kind"] == "inputs" else _format_layer_name(layer) for layer in layers]
    axes.set_yticks(range(len(layers)), names)
    axes.set_ylim(len(layers) - 0.5, -0.75)
    axes.set_xlim(0.0, 100.0)
    axes.set_xlabel("% of what the layer generated", color=INK)
    despine(axes)
    axes.xaxis.grid(visible=True, color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.22 - 0.35 / len(layers)), ncols=2, frameon=False,
        fontsize="small", labelcolor=INK,
    )  # fmt: skip


def _format_layer_name(layer: dict[str, Any]) -> str:
    return f"layer {layer['layer']} ({layer['kind']})"


def compute_p_value_histogram(result: ScreenResult) -> tuple[NDArray[np.int64], bool]:
    """Count p-values in bins of equal width from 0 to 1.

    Parameters
    ----------
    result : ScreenResult
        A result with p-values.

    Returns
    -------
    counts : int64 array, shape (b,)
        Number of p-values per bin.
    is_whole_space : bool
        Whether the counts are those of the whole space (``histogram`` under ``error_control`` of the record),
        or only of the features shown.

    Raises
    ------
    OptionError
        If no p-values were computed.
    """
    counts = result.record.get("error_control", {}).get("histogram")
    if counts:
        return np.asarray(counts, dtype=np.int64), True
    if "p_value" not in result.table:
        raise OptionError("no p-values were computed")
    p_values = result.table["p_value"].to_numpy(dtype=float)
    return np.histogram(p_values[~np.isnan(p_values)], bins=_N_BINS, range=(0.0, 1.0))[0].astype(
        np.int64
    ), False


def draw_p_values(axes: Axes, result: ScreenResult) -> None:
    """Draw the histogram of p-values; for a whole space with the height expected by chance."""
    counts, is_whole_space = compute_p_value_histogram(result)
    width = 1.0 / len(counts)
    axes.bar(np.arange(len(counts)) * width, counts, width=0.92 * width, align="edge", color=MARK)
    if is_whole_space:
        axes.axhline(counts.sum() * width, color=CURVE, linewidth=1.0, linestyle=(0, (4, 3)))
    axes.set_xlim(0.0, 1.0)
    axes.set_xlabel("p-value", color=INK)
    axes.set_ylabel("features" if is_whole_space else "features shown", color=INK)
    despine(axes)


def get_funnel_size(record: dict[str, Any]) -> tuple[float, float]:
    """Return the width and height in inches of a figure with a bar for each layer."""
    return FIGURE_WIDTH, 1.8 + 0.5 * len(record["layers"])


def get_scores_size(n_features: int) -> tuple[float, float]:
    """Return the width and height in inches of a figure with the scores of the best of some features."""
    return FIGURE_WIDTH, 0.8 + _ROW_HEIGHT * min(MAX_SCORES, n_features)


def draw_scores(axes: Axes, result: ScreenResult) -> None:
    """Draw the scores of the best 20 features, best at the top.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        The axes to draw on.
    result : ScreenResult
        The result.
    """
    name = get_screener_names(result)[0]
    best = result.table.head(MAX_SCORES)
    column = "gini" if name == "t0" else name
    scores = best[column].to_numpy(dtype=float)
    positions = np.arange(len(best))
    bounds = find_interval_columns(result, column)
    if bounds is not None:
        low, high = (best[bound].to_numpy(dtype=float) for bound in bounds)
        axes.hlines(positions, low, high, color=MARK, linewidth=1.2)
    axes.plot(scores, positions, linestyle="", marker="o", markersize=5, color=MARK)
    if column == "gini":
        _mark_no_relation(axes)
    # Names beside the axes would leave no room for the scores on a narrow page.
    for position, rank, text in zip(positions, best["rank"], best["expression"], strict=True):
        axes.text(
            0.0, position - 0.12, f"{rank}. {shorten_label(text)}", transform=axes.get_yaxis_transform(),
            ha="left", va="bottom", fontsize="small", **PLAIN_TEXT,
        )  # fmt: skip
    axes.set_yticks(positions, [""] * len(best))
    axes.tick_params(axis="y", length=0.0)
    axes.set_ylim(len(best) - 0.6, -0.9)
    axes.set_xlabel("Gini correlation" if column == "gini" else shorten_label(name), **PLAIN_TEXT)
    despine(axes)
    axes.yaxis.grid(visible=True, color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)


def _mark_no_relation(axes: Axes) -> None:
    """Mark the Gini correlation of features unrelated to the target."""
    axes.axvline(0.0, color=CURVE, linewidth=1.0, linestyle=(0, (4, 3)))
    axes.text(
        0.0, 1.0, "no relation", transform=axes.get_xaxis_transform(), color=CURVE,
        fontsize="small", ha="center", va="bottom",
    )  # fmt: skip


def compute_rank_correlations(result: ScreenResult, max_features: int) -> Values:
    """Compute the rank correlations of the first features.

    Parameters
    ----------
    result : ScreenResult
        A result with its data.
    max_features : int
        Maximum number of features.

    Returns
    -------
    float64 array, shape (k, k)
        Absolute Spearman correlations, to three decimals. Of a large table 5000 rows are used, spread evenly
        over the target.
    """
    from scipy.stats import rankdata

    n, n_features = get_dataset(result).target.n, min(max_features, len(result))
    rows = np.linspace(0, n - 1, min(n, _MAX_ROWS)).round().astype(np.int64)
    ranks = np.empty((n_features, len(rows)))
    for index in range(n_features):
        ranks[index] = rankdata(evaluate_feature(result, index)[rows])
    ranks -= ranks.mean(axis=1, keepdims=True)
    norms = np.sqrt((ranks**2).sum(axis=1))
    with np.errstate(invalid="ignore"):
        correlations: Values = np.abs(
            np.einsum("in,jn->ij", ranks, ranks) / (norms[:, None] * norms[None, :])
        )
    return correlations.round(_CORRELATION_DIGITS)


def build_agreement_matrix(result: ScreenResult) -> tuple[list[str], Values]:
    """Build the matrix of the agreement of screeners.

    Parameters
    ----------
    result : ScreenResult
        A result of several screeners.

    Returns
    -------
    names : list of str
        The screeners.
    matrix : float64 array, shape (s, s)
        Kendall's τ of two rankings above the diagonal, the overlap of their best features below it, NaN on
        it.

    Raises
    ------
    OptionError
        If there is only one screener.
    """
    pairs = result.agreement
    if pairs is None or not len(pairs):
        raise OptionError(
            f"agreement requires several screeners: use {name_option('screener', 't0,xi,spearman')}"
        )
    names = get_screener_names(result)
    matrix = np.full((len(names), len(names)), np.nan)
    for pair in pairs.to_dict("records"):
        i, j = names.index(pair["first"]), names.index(pair["second"])
        matrix[i, j], matrix[j, i] = pair["kendall"], pair["overlap"]
    return names, matrix


def draw_agreement(axes: Axes, result: ScreenResult) -> None:
    """Draw the matrix of `build_agreement_matrix` with its numbers."""
    names, matrix = build_agreement_matrix(result)
    _draw_shades(axes, np.nan_to_num(np.abs(matrix)), [shorten_label(name, 20) for name in names])
    for i, j in np.ndindex(matrix.shape):
        if i != j:
            text = "–" if np.isnan(matrix[i, j]) else f"{matrix[i, j]:.2f}"
            axes.text(j, i, text, ha="center", va="center", color=INK, fontsize="small")
    axes.set_title("above: Kendall's τ; below: overlap of the best", fontsize="small", color=INK)
    _draw_color_bar(axes, "|τ|, or overlap")


def draw_redundancy(axes: Axes, result: ScreenResult) -> None:
    """Draw the rank correlations of the first features as a matrix."""
    correlations = compute_rank_correlations(result, MAX_REDUNDANCY_FEATURES)
    ranks = [str(rank) for rank in range(1, len(correlations) + 1)]
    _draw_shades(axes, np.nan_to_num(correlations), ranks)
    shown = [0, *range(_RANK_STEP - 1, len(ranks), _RANK_STEP)]
    axes.set_xticks(shown, [ranks[each] for each in shown], **PLAIN_TEXT)
    axes.set_yticks(shown, [ranks[each] for each in shown], **PLAIN_TEXT)
    axes.set_xlabel("rank in the list", color=INK)
    axes.set_ylabel("rank in the list", color=INK)
    _draw_color_bar(axes, "|rank correlation|")


def _draw_color_bar(axes: Axes, label: str) -> None:
    """Draw the shades of `_draw_shades` as a bar from 0 to 1 beside the axes."""
    bar = axes.inset_axes((1.04, 0.0, 0.04, 1.0))
    heights = (np.arange(_N_SHADES + 1) + 0.5) / _N_SHADES
    for shade in range(1, _N_SHADES + 1):
        low, high = heights[shade - 1], min(heights[shade], 1.0)
        bar.axhspan(low, high, facecolor=MARK, alpha=_MAX_OPACITY * shade / _N_SHADES, linewidth=0)
    bar.set_xlim(0.0, 1.0)
    bar.set_ylim(0.0, 1.0)
    bar.set_xticks([])
    bar.yaxis.tick_right()
    bar.yaxis.set_label_position("right")
    bar.set_ylabel(label, color=INK)
    bar.spines[:].set_color(FAINT)
    bar.tick_params(colors=INK, labelcolor=INK, labelsize="small")


def _draw_shades(axes: Axes, values: Values, names: Sequence[str]) -> None:
    """Draw a matrix of values in [0, 1], shape (k, k), as squares of increasing opacity."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    shades = np.round(values * _N_SHADES).astype(int)
    for shade in range(1, _N_SHADES + 1):
        corners = [_SQUARE_CORNERS + np.array((j, i)) for i, j in np.argwhere(shades == shade)]
        if corners:
            squares = Path.make_compound_path(*(Path(each, closed=True) for each in corners))
            axes.add_patch(
                PathPatch(squares, facecolor=MARK, alpha=_MAX_OPACITY * shade / _N_SHADES, linewidth=0)
            )
    positions = range(len(names))
    axes.set_xticks(positions, names, **PLAIN_TEXT)
    axes.set_yticks(positions, names, **PLAIN_TEXT)
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_aspect("equal")
    despine(axes)

"""The funnel: of what each layer generated, what was pruned for which reason, and what was kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symscreen.expansion import REASONS
from symscreen.report.pictures.style import FAINT, INK, MARK, REASON_COLOURS, bare

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_funnel", "kept_of", "reasons_in"]


def reasons_in(record: dict[str, Any]) -> list[str]:
    """Name the reasons for which a run pruned anything, in their own order."""
    met = {reason for layer in record["layers"] for reason, count in layer["pruned"].items() if count}
    known = [reason for reason in REASONS.values() if reason in met]
    return known + sorted(met.difference(known))


def kept_of(layer: dict[str, Any]) -> int:
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
    reasons, layers = reasons_in(record), record["layers"]
    colours = {reason: REASON_COLOURS[place % len(REASON_COLOURS)] for place, reason in enumerate(reasons)}
    begins = [0.0] * len(layers)
    parts = {"kept": [kept_of(layer) for layer in layers]}
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
        text = f"{layer['generated']:,} generated, {kept_of(layer):,} kept"
        axes.text(0.0, place - 0.4, text, va="bottom", ha="left", color=INK, fontsize="small")
    names = ["inputs" if layer["kind"] == "inputs" else _name(layer) for layer in layers]
    axes.set_yticks(range(len(layers)), names)
    axes.set_ylim(len(layers) - 0.5, -0.75)
    axes.set_xlim(0.0, 100.0)
    axes.set_xlabel("% of what the layer generated", color=INK)
    bare(axes)
    axes.xaxis.grid(visible=True, color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.22 - 0.35 / len(layers)), ncols=3, frameon=False,
        fontsize="small", labelcolor=INK,
    )  # fmt: skip


def _name(layer: dict[str, Any]) -> str:
    return f"layer {layer['layer']} ({layer['kind']})"

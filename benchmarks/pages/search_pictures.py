"""Draw the picture of docs/how-fit-searches.md from the list of searches: docs/pictures/search-stages.svg.

The boxes on the left are the stages of the package in their order, so that a new stage cannot be forgotten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pages.pictures import FAINT, INK, MUTED, OURS, SECOND, draw_pictures, make_figure

from symscreen.fitting.effort import EFFORTS
from symscreen.fitting.laws.search import list_stage_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pages.pictures import Drawers, Shown

_POOL = f"{EFFORTS['default'].pool_formulas:,}"
_FORMS = {
    "power products": ("y = c·Πxᵢ^aᵢ·A^p", f"A: one of {_POOL} formulas"),
    "dimensionless groups": ("y = c·Πxᵢ^aᵢ·h(π₁, π₂, …)", "with units only; h: one of 20,000 formulas"),
    "single index": ("y = M·h(θ), y = M·(c + d·h(θ))", "M, θ: products of powers; h: any function"),
    "factor products": ("y = c·Πxᵢ^aᵢ·A^p·B^q·C^r", "A, B, C: sums of two products, simple formulas"),
    "transformed sums": ("g(y) = Σ bₖ·mₖ", "g: 1/y, y², √y, log y, … ; m: products of powers, waves"),
    "curves": ("g(y) = Σ bₖ·Bₖ + b·A·φ(x)", "φ: a curve with up to three constants inside"),
    "sums of inputs": ("y = M·h((x₁ ± x₂)·θ), y = M·sin(s)", "x₁ ± x₂: one more input; s: a sum of products"),
    "rational forms": ("y = Σ aₖ·mₖ / (1 + Σ bₖ·mₖ)", "up to four terms besides the 1"),
    "algebraic relations": ("y = C·P/Q, y = C·(a·T ± √S)", "without noise; up to ten terms"),
    "matched pairs": ("y = c₀ + c₁·A + c₂·B, y = c·A·B", f"A, B: any two of {_POOL} formulas"),
}
_LAST = (
    "spaces and subsets",
    "y = c₀ + Σ cₖ·fₖ",
    "all subsets of up to four; longer along paths",
)
_CANDIDATES = (
    "candidates of every stage",
    "numbers fitted again on the scale of y,",
    "and made simple where the data allow it;",
    "one criterion: EBIC",
)
_QUESTION = (
    "enough, after each stage?",
    "exact; or simple, a clear winner, and",
    "no test finds anything in the residuals:",
    "the search for laws ends",
)
_RESULT = ("result", "formula, verdict, Pareto front,", "alternatives, table of terms")
_BOX_WIDTH, _BOX_HEIGHT, _STEP = 5.4, 0.86, 1.08
_LEFT, _RIGHT, _RIGHT_WIDTH = 0.0, 6.4, 4.9


def main(arguments: Sequence[str]) -> None:
    """Draw the pictures that are named, or all of them."""
    draw_pictures(arguments, DRAWERS, __doc__.splitlines()[0])


def draw_stages() -> tuple[Figure, Shown]:
    """Draw the stages of a fit one below the other, and what becomes of their candidates on the right."""
    boxes = [(name, *_FORMS[name]) for name in list_stage_names()] + [_LAST]
    height = len(boxes) * _STEP
    figure, axes = make_figure(7.9, 0.78 * height, font_size=10)
    axes.set_xlim(-0.05, 11.35)
    axes.set_ylim(-height + 0.15, 0.1)
    axes.axis("off")
    for place, lines in enumerate(boxes):
        top = -place * _STEP
        color = MUTED if lines is _LAST else OURS
        _draw_box(axes, (_LEFT, top), lines, color)
        middle = top - _BOX_HEIGHT / 2
        axes.plot([_BOX_WIDTH, 5.9], [middle, middle], color=FAINT, linewidth=1.2)
        if place:
            _draw_arrow(axes, _BOX_WIDTH / 2, top + _STEP - _BOX_HEIGHT, top)
    bottom = -(len(boxes) - 1) * _STEP
    axes.plot([5.9, 5.9], [-_BOX_HEIGHT / 2, bottom - _BOX_HEIGHT / 2], color=FAINT, linewidth=1.2)
    tops = (-0.5, -3.2, bottom)
    for top, lines, color in zip(
        tops, (_CANDIDATES, _QUESTION, _RESULT), (SECOND, SECOND, OURS), strict=True
    ):
        _draw_box(axes, (_RIGHT, top), lines, color)
    axes.annotate(
        "",
        (_RIGHT, -1.1),
        (5.9, -1.1),
        arrowprops={"arrowstyle": "->", "color": MUTED, "shrinkA": 0, "shrinkB": 0},
    )
    for above, below in zip(((tops[0], _CANDIDATES), (tops[1], _QUESTION)), tops[1:], strict=True):
        _draw_arrow(axes, _RIGHT + _RIGHT_WIDTH / 2, above[0] - _compute_height(above[1]), below)
    return figure, [list(lines) for lines in (*boxes, _CANDIDATES, _QUESTION, _RESULT)]


def _compute_height(lines: Sequence[str]) -> float:
    """Return the height of a box with a title and lines of text."""
    return _BOX_HEIGHT + 0.27 * (len(lines) - 3)


def _draw_box(axes: Axes, corner: tuple[float, float], lines: Sequence[str], color: str) -> None:
    """Draw a box with a title and lines of text, from its upper left corner."""
    from matplotlib.patches import FancyBboxPatch

    (left, top), height = corner, _compute_height(lines)
    width = _BOX_WIDTH if left == _LEFT else _RIGHT_WIDTH
    style = "round,pad=0,rounding_size=0.08"
    axes.add_patch(
        FancyBboxPatch((left, top - height), width, height, boxstyle=style, fill=False, edgecolor=color)
    )
    title = lines[0][0].upper() + lines[0][1:]
    axes.text(left + 0.14, top - 0.2, title, color=INK, fontweight="bold", va="center")
    for place, line in enumerate(lines[1:]):
        options: dict[str, Any] = {"color": INK if place == 0 else MUTED, "fontsize": 9, "va": "center"}
        axes.text(left + 0.14, top - 0.45 - 0.25 * place, line, **options)


def _draw_arrow(axes: Axes, x: float, start: float, end: float) -> None:
    """Draw an arrow downwards."""
    arrow = {"arrowstyle": "->", "color": MUTED, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (x, end), (x, start), arrowprops=arrow)


DRAWERS: Drawers = {"search-stages": draw_stages}

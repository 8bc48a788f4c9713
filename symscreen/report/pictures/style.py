"""The colours and axes that all pictures of a result share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symscreen.errors import OptionError, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CURVE", "FAINT", "INK", "MARK", "PLAIN", "REASON_COLOURS", "axes_or_new", "bare", "label"]

# The light palette; a page puts its own colours in their place, which follow the reader's theme.
INK, FAINT, MARK, CURVE = "#1f2328", "#c9ced6", "#0b62b8", "#c2410c"
# Told apart without colour vision (Okabe and Ito 2008), and seen on white and on black.
REASON_COLOURS = ("#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#8a8f98")
_LONGEST_LABEL = 44


def axes_or_new(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return the axes given, or those of a new figure, which a notebook shows.

    Raises
    ------
    OptionError
        If matplotlib is not installed.
    """
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise OptionError("pictures need matplotlib: pip install 'symscreen[plot]'") from None
    _, axes = plt.subplots(figsize=size, layout="constrained")
    return axes


def bare(axes: Axes) -> None:
    """Take away the frame above and at the right, which holds no information."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(INK)
    axes.tick_params(colors=INK, labelcolor=INK)


def label(text: str, longest: int = _LONGEST_LABEL) -> str:
    """Make a name fit beside an axis: one line, not too long."""
    text = printable(text)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


#: for texts that hold names: a dollar sign is no mathematics
PLAIN: dict[str, Any] = {"parse_math": False, "color": INK}

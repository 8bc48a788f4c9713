"""Colours and axes of all figures of a result, and figures as small ``<svg>`` elements for an HTML page."""

from __future__ import annotations

import io
import json
import re
import warnings
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from symscreen.errors import OptionError
from symscreen.messages import escape_control_chars
from symscreen.report.figures.precision_recall_curves import use_default_style

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from matplotlib.axes import Axes


# The light palette. An HTML page replaces these colours by its own, which follow the reader's theme.
INK, FAINT, MARK, CURVE = "#1f2328", "#c9ced6", "#0b62b8", "#c2410c"
# Distinguishable without colour vision (Okabe and Ito 2008), and visible on white and on black.
REASON_COLORS = ("#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#8a8f98")
FIGURE_WIDTH = 4.4  # inches: on a phone, letters are still ten pixels high
_MAX_LABEL_LENGTH = 44  # characters
_POWER_LIMITS = (-4, 4)  # of values that are written without a power of ten

#: Text settings for names, in which a dollar sign does not start mathematics.
PLAIN_TEXT: dict[str, Any] = {"parse_math": False, "color": INK}

_NUMBER = re.compile(r"-?\d+\.\d+")
# matplotlib escapes < and > in texts and values, so that these patterns match tags only.
_TAG = re.compile(r"<[^>]*>")
_SPACE = re.compile(r">\s+<")
# A style sheet would apply to the whole page; nothing reaches beyond the axes.
_REMOVED = re.compile(r"<style.*?</style>|<clipPath.*?</clipPath>", re.DOTALL)
_COORDINATES = re.compile(r' (?:d|x|y|transform)="[^"]*"')
_INVISIBLE = re.compile(r'<defs></defs>|<path d="[^"]*" style="fill: none"/>|<g/>')
_PATH = re.compile(r' d="[^"]*"')
_PATH_SPACE = re.compile(r"\s*\n\s*|(?<=[A-Za-z])\s+(?=[-\d.])")
_DOT = re.compile(r"M(\S+ \S+)L\1(?=[A-Za-z\"])")  # a line without length, which a round end shows
_UNUSED = re.compile(r'(?<=^<g) id="[^"]*"| clip-path="[^"]*"')
_FONT = re.compile(r'font-family: [^;"]*')
# an HTML page that is not ours has its own colour of text, and none of the other variables
_NOTEBOOK_STYLE = {
    "ink": "currentColor",
    "faint": "#8c959f",
    "mark": "#2f81d0",
    "curve": "#d9622b",
    "font": "sans-serif",
}
_NOTEBOOK_SIZE = 4.0, 3.0  # inches
_THEME = {INK: "var(--ink)", FAINT: "var(--faint)", MARK: "var(--mark)", CURVE: "var(--curve)"}
_MAX_PIXELS_PER_INCH = 110  # so that letters are not larger than those of the page
_UNLABELED_AXES = (0.03, 0.04, 0.95, 0.94)  # left, bottom, width, height as shares of the figure


def get_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return the given axes, or those of a new figure, which a notebook shows.

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


def draw_on_axes(ax: Axes | None, size: tuple[float, float], draw: Callable[[Axes], None]) -> Axes:
    """Draw on the given or on new axes; a new figure is closed if there is nothing to draw."""
    axes = get_axes(ax, size)
    try:
        draw(axes)
    except OptionError:
        if ax is None:
            import matplotlib.pyplot as plt
            from matplotlib.figure import Figure

            if isinstance(figure := axes.get_figure(), Figure):
                plt.close(figure)
        raise
    return axes


def despine(axes: Axes) -> None:
    """Hide the upper and right frame lines, and draw the others in the ink colour, with powers as ×10⁴."""
    from matplotlib.ticker import ScalarFormatter

    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(INK)
    axes.tick_params(colors=INK, labelcolor=INK)
    for axis in (axes.xaxis, axes.yaxis):
        formatter = axis.get_major_formatter()
        if isinstance(formatter, ScalarFormatter):
            formatter.set_useMathText(True)  # a plain 1e10 beside the axis looks like a value
            formatter.set_powerlimits(_POWER_LIMITS)


def shorten_label(text: str, max_length: int = _MAX_LABEL_LENGTH, *, unit: str = "") -> str:
    """Shorten a name to one line of at most `max_length` characters, and add its unit in brackets."""
    text = escape_control_chars(text)
    text = text if len(text) <= max_length else f"{text[: max_length - 1]}…"
    return f"{text} [{unit}]" if unit else text


def get_unit(record: Mapping[str, Any], name: str) -> str:
    """Return the base unit of a column or a target from the record of a result; empty if there are none."""
    units = record.get("units") or {}
    found = {**units.get("columns", {}), **units.get("targets", {})}.get(name)
    return "" if found is None else escape_control_chars(str(found["base"]))


def draw_inline_svg(
    draw: Callable[[Axes], object],
    size: tuple[float, float],
    title: str,
    *,
    is_labeled: bool = True,
    is_traced: bool = False,
) -> str:
    """Draw a figure as an ``<svg>`` element.

    Parameters
    ----------
    draw : callable
        Draws on the axes that it gets.
    size : pair of float
        Width and height in inches.
    title : str
        Alternative text for screen readers.
    is_labeled : bool
        Whether to leave space for axis labels.
    is_traced : bool
        Whether the page shows the values of the point under the pointer. The attribute ``data-axes`` then has
        what its script needs, see `describe_axes`.

    Returns
    -------
    str
        An ``<svg>`` element. Its colours are CSS variables of the page: ``--ink``, ``--faint``, ``--mark``
        and ``--curve``.

    Raises
    ------
    OptionError
        If matplotlib is not installed.
    """
    content = io.BytesIO()
    with use_default_style(), warnings.catch_warnings():
        from matplotlib import rcParams
        from matplotlib.figure import Figure

        # The browser draws the text, including characters that matplotlib's font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        rcParams["svg.fonttype"] = "none"
        rcParams["svg.hashsalt"] = title  # the ids of the figures of a page differ
        figure = Figure(figsize=size, layout="constrained" if is_labeled else None)
        draw(figure.add_subplot() if is_labeled else figure.add_axes(_UNLABELED_AXES))
        metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(content, format="svg", transparent=True, metadata=metadata)
    data = f' data-axes="{escape(json.dumps(describe_axes(figure.axes[0])))}"' if is_traced else ""
    style = f' style="max-width:{_MAX_PIXELS_PER_INCH * size[0]:.0f}px"' if is_labeled else ""
    svg = content.getvalue().decode()
    view_box = re.search('viewBox="[^"]*"', svg)
    inner = _TAG.sub(_shorten_tag, _SPACE.sub("><", _REMOVED.sub("", svg[svg.index("<svg") :])))
    root = f'<svg{style}{data} {view_box[0] if view_box else ""} role="img" aria-label="{escape(title)}">'
    return root + _INVISIBLE.sub("", inner.partition(">")[2])


def draw_notebook_picture(draw: Callable[[Axes], object], title: str) -> str:
    """Draw a small figure for the view of a result in a notebook.

    Parameters
    ----------
    draw : callable
        Draws on the axes that it gets.
    title : str
        Alternative text for screen readers.

    Returns
    -------
    str
        HTML, in which lines and texts have the colour of the notebook's text. Empty if matplotlib is not
        installed, since a view needs no picture.
    """
    if find_spec("matplotlib") is None:
        return ""
    style = ";".join(f"--{name}:{value}" for name, value in _NOTEBOOK_STYLE.items())
    return f'<div style="{style}">{draw_inline_svg(draw, _NOTEBOOK_SIZE, title)}</div>'


def describe_axes(axes: Axes) -> list[dict[str, Any]]:
    """Describe how positions in an SVG of a figure become values: first the horizontal axis.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Drawn axes with linear or logarithmic scales.

    Returns
    -------
    list of dict
        For each axis its ``label``, its ``limits``, their positions ``at`` in points from the upper left
        corner, and whether it ``is_log``.
    """
    width, height = (72.0 * pixels / axes.figure.dpi for pixels in axes.figure.bbox.size)
    box = axes.get_position()
    horizontal = [box.x0 * width, box.x1 * width]
    vertical = [(1.0 - box.y0) * height, (1.0 - box.y1) * height]
    sides = ((axes.xaxis, axes.get_xlim(), horizontal), (axes.yaxis, axes.get_ylim(), vertical))
    return [
        {
            "label": axis.get_label_text(),
            "limits": [float(f"{limit:.10g}") for limit in limits],
            "at": [round(position, 2) for position in positions],
            "is_log": axis.get_scale() == "log",
        }
        for axis, limits, positions in sides
    ]


def _shorten_tag(match: re.Match[str]) -> str:
    """Shorten a tag of an SVG: coordinates to a tenth of a point, no spaces in paths, colours of the page."""
    tag = _COORDINATES.sub(lambda attribute: _NUMBER.sub(_round_to_tenth, attribute[0]), match[0])
    tag = _PATH.sub(lambda attribute: _DOT.sub(r"M\1h0", _PATH_SPACE.sub("", attribute[0])), tag)
    tag = _FONT.sub("font-family:var(--font)", _UNUSED.sub("", tag)).replace(" xlink:href=", " href=")
    for color, variable in _THEME.items():
        tag = tag.replace(color, variable)
    return tag


def _round_to_tenth(match: re.Match[str]) -> str:
    return f"{round(float(match[0]), 1) + 0.0:g}"  # + 0.0 turns −0 into 0

"""Colours and axes of all figures of a result, and figures as small ``<svg>`` elements for an HTML page."""

from __future__ import annotations

import io
import re
import warnings
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

from symscreen.errors import OptionError
from symscreen.messages import escape_control_chars
from symscreen.report.figures.precision_recall_curves import use_default_style

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes


# The light palette. An HTML page replaces these colours by its own, which follow the reader's theme.
INK, FAINT, MARK, CURVE = "#1f2328", "#c9ced6", "#0b62b8", "#c2410c"
# Distinguishable without colour vision (Okabe and Ito 2008), and visible on white and on black.
REASON_COLOURS = ("#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#8a8f98")
_MAX_LABEL_LENGTH = 44  # characters


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


def despine(axes: Axes) -> None:
    """Hide the upper and right frame lines, and draw the others in the ink colour."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(INK)
    axes.tick_params(colors=INK, labelcolor=INK)


def shorten_label(text: str, max_length: int = _MAX_LABEL_LENGTH) -> str:
    """Shorten a name to one line of at most `max_length` characters."""
    text = escape_control_chars(text)
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"


#: Text settings for names, in which a dollar sign does not start mathematics.
PLAIN_TEXT: dict[str, Any] = {"parse_math": False, "color": INK}


_NAMESPACE = re.compile(r"^\{[^}]*\}")
_NUMBER = re.compile(r"-?\d+\.\d+")
_ZERO_LENGTH_LINE = re.compile(r"M([-.\d]+) ([-.\d]+)L\1 \2(?=[A-Z]|$)")
_THEME = {INK: "var(--ink)", FAINT: "var(--faint)", MARK: "var(--mark)", CURVE: "var(--curve)"}
_MAX_PIXELS_PER_INCH = 110  # so that letters are not larger than those of the page
_UNLABELLED_AXES = (0.03, 0.04, 0.95, 0.94)  # left, bottom, width, height as shares of the figure
_DEFAULT_STYLES = {"stroke-linejoin": "miter", "stroke-width": "0", "font-style": "normal"}


def draw_inline_svg(
    draw: Callable[[Axes], None], size: tuple[float, float], title: str, *, is_labelled: bool = True
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
    is_labelled : bool
        Whether to leave space for axis labels.

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
        figure = Figure(figsize=size, layout="constrained" if is_labelled else None)
        draw(figure.add_subplot() if is_labelled else figure.add_axes(_UNLABELLED_AXES))
        metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(content, format="svg", transparent=True, metadata=metadata)
    style = f' style="max-width:{_MAX_PIXELS_PER_INCH * size[0]:.0f}px"' if is_labelled else ""
    return minify_svg(content.getvalue().decode(), title).replace("<svg", f"<svg{style}", 1)


def minify_svg(svg: str, title: str) -> str:
    """Minify an SVG figure so that several fit on one HTML page.

    Parameters
    ----------
    svg : str
        The output of matplotlib.
    title : str
        Alternative text for screen readers.

    Returns
    -------
    str
        The figure without ids, metadata and clip paths, with coordinates to a tenth of a point and the
        colours of the page.
    """
    root = ET.fromstring(svg)  # noqa: S314  # the output of matplotlib
    for element in root.iter():
        element.tag = _NAMESPACE.sub("", element.tag)
        element.attrib = {_NAMESPACE.sub("", name): value for name, value in element.attrib.items()}
        element.tail = None
        if element.tag != "text" and not (element.text or "").strip():
            element.text = None
    _flatten(root)
    for element in root.iter():
        _minify_element(element)
    root.attrib = {"viewBox": root.get("viewBox", ""), "role": "img", "aria-label": title}
    return ET.tostring(root, encoding="unicode", short_empty_elements=False)


def _flatten(root: ET.Element) -> None:
    """Inline markers where they are used, and remove definitions, metadata, backgrounds and plain groups."""
    elements = {f"#{element.get('id')}": element for element in root.iter() if element.get("id")}
    for parent in list(root.iter()):
        for index, child in reversed(list(enumerate(parent))):
            if child.tag in {"metadata", "defs"}:
                parent.remove(child)
            elif child.tag == "use":
                parent[index] = _inline_marker(child, elements[child.get("href", "")])
            elif child.tag == "path" and child.get("style", "").strip(" ;") == "fill: none":
                parent.remove(child)  # an invisible background
    for parent in list(root.iter()):
        _remove_plain_groups(parent)


def _inline_marker(use: ET.Element, marker: ET.Element) -> ET.Element:
    """Return a marker as a path at the position of its use."""
    transform = f"translate({use.get('x', '0')} {use.get('y', '0')})"
    style = f"{marker.get('style', '')};{use.get('style', '')}"
    return ET.Element("path", {"d": marker.get("d", ""), "transform": transform, "style": style})


def _remove_plain_groups(parent: ET.Element) -> None:
    """Replace groups without attributes by their children."""
    children: list[ET.Element] = []
    for child in parent:
        is_plain = child.tag == "g" and not set(child.attrib) - {"id", "clip-path"}
        if is_plain:
            _remove_plain_groups(child)
        children += list(child) if is_plain else [child]
    parent[:] = children


def _minify_element(element: ET.Element) -> None:
    """Remove ids, round coordinates and minify the style of one element."""
    for name in ("id", "clip-path"):
        element.attrib.pop(name, None)
    if (path := element.get("d")) is not None:
        path = re.sub(r"\s*([A-Za-z])\s*", r"\1", _NUMBER.sub(_round_to_tenth, path)).strip()
        element.set("d", _ZERO_LENGTH_LINE.sub(r"M\1 \2h0", path))
    if element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]
    for name in ("x", "y", "transform"):
        if name in element.attrib:
            element.set(name, _NUMBER.sub(_round_to_tenth, element.attrib[name]))
    if (style := element.get("style")) is not None:
        element.set("style", _minify_style(style))


def _round_to_tenth(match: re.Match[str]) -> str:
    return f"{round(float(match[0]), 1) + 0.0:g}"  # + 0.0 turns −0 into 0


def _minify_style(style: str) -> str:
    """Drop default values of a style and replace colours and fonts by those of the page."""
    declarations = {}
    for part in style.split(";"):
        name, _, value = (item.strip() for item in part.partition(":"))
        if name and _DEFAULT_STYLES.get(name) != value:
            declarations[name] = "var(--font)" if name == "font-family" else value
    text = ";".join(f"{name}:{value}" for name, value in declarations.items())
    for colour, variable in _THEME.items():
        text = text.replace(colour, variable)
    return text

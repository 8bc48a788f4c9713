"""The colours and axes that all pictures of a result share.

A picture as a small ``<svg>`` element for a page: matplotlib draws it, what a page does not need goes.
"""

from __future__ import annotations

import io
import re
import warnings
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

from symscreen.errors import OptionError, escape_control_chars
from symscreen.report.figures.precision_recall_curves import use_default_style

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes


__all__ = [
    "CURVE",
    "FAINT",
    "INK",
    "MARK",
    "PLAIN_TEXT",
    "REASON_COLOURS",
    "despine",
    "draw_inline_svg",
    "get_axes",
    "minify_svg",
    "shorten_label",
]

# The light palette; a page puts its own colours in their place, which follow the reader's theme.
INK, FAINT, MARK, CURVE = "#1f2328", "#c9ced6", "#0b62b8", "#c2410c"
# Told apart without colour vision (Okabe and Ito 2008), and seen on white and on black.
REASON_COLOURS = ("#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#8a8f98")
_MAX_LABEL_LENGTH = 44


def get_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
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


def despine(axes: Axes) -> None:
    """Take away the frame above and at the right, which holds no information."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(INK)
    axes.tick_params(colors=INK, labelcolor=INK)


def shorten_label(text: str, max_length: int = _MAX_LABEL_LENGTH) -> str:
    """Make a name fit beside an axis: one line, not too long."""
    text = escape_control_chars(text)
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"


#: for texts that hold names: a dollar sign is no mathematics
PLAIN_TEXT: dict[str, Any] = {"parse_math": False, "color": INK}


_NAMESPACE = re.compile(r"^\{[^}]*\}")
_NUMBER = re.compile(r"-?\d+\.\d+")
_ZERO_LENGTH_LINE = re.compile(r"M([-.\d]+) ([-.\d]+)L\1 \2(?=[A-Z]|$)")
_THEME = {INK: "var(--ink)", FAINT: "var(--faint)", MARK: "var(--mark)", CURVE: "var(--curve)"}
_MAX_PIXELS_PER_INCH = 110  # an inch, at most
_UNLABELLED_AXES = (0.03, 0.04, 0.95, 0.94)
_DEFAULT_STYLES = {"stroke-linejoin": "miter", "stroke-width": "0", "font-style": "normal"}


def draw_inline_svg(
    draw: Callable[[Axes], None], size: tuple[float, float], title: str, *, is_labelled: bool = True
) -> str:
    """Draw a picture for a page.

    Parameters
    ----------
    draw : callable
        Draws on axes.
    size : pair of float
        Width and height in inches.
    title : str
        What a screen reader says instead of the picture.
    words : bool
        Whether there are words beside the axes, for which room is made.

    Returns
    -------
    str
        An ``<svg>`` element. Its colours are the page's own: ``--ink``, ``--faint``, ``--mark``, ``--curve``.

    Raises
    ------
    OptionError
        If matplotlib is not installed.
    """
    content = io.BytesIO()
    with use_default_style(), warnings.catch_warnings():
        from matplotlib import rcParams
        from matplotlib.figure import Figure

        # the reader's browser draws the letters, also those that matplotlib's own font lacks
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        rcParams["svg.fonttype"] = "none"
        figure = Figure(figsize=size, layout="constrained" if is_labelled else None)
        draw(figure.add_subplot() if is_labelled else figure.add_axes(_UNLABELLED_AXES))
        metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(content, format="svg", transparent=True, metadata=metadata)
    widest = (
        f' style="max-width:{_MAX_PIXELS_PER_INCH * size[0]:.0f}px"' if is_labelled else ""
    )  # letters no larger than the page's
    return minify_svg(content.getvalue().decode(), title).replace("<svg", f"<svg{widest}", 1)


def minify_svg(svg: str, title: str) -> str:
    """Make a picture small and fit to stand in a page beside others.

    Parameters
    ----------
    svg : str
        What matplotlib wrote.
    title : str
        Its words.

    Returns
    -------
    str
        Without what only an editor needs, coordinates to a tenth of a point, colours named by the page.
    """
    root = ET.fromstring(svg)  # noqa: S314  # matplotlib wrote it a moment ago
    for element in root.iter():
        element.tag = _NAMESPACE.sub("", element.tag)
        element.attrib = {_NAMESPACE.sub("", name): value for name, value in element.attrib.items()}
        element.tail = None
        if element.tag != "text" and not (element.text or "").strip():
            element.text = None
    _flatten(root)
    for element in root.iter():
        _minify_element(element)
    box = root.get("viewBox", "")
    root.attrib = {"viewBox": box, "role": "img", "aria-label": title}
    return ET.tostring(root, encoding="unicode", short_empty_elements=False)


def _flatten(root: ET.Element) -> None:
    """Put markers where they are used, and take away what defines, clips or describes."""
    known = {f"#{element.get('id')}": element for element in root.iter() if element.get("id")}
    for parent in list(root.iter()):
        for place, child in reversed(list(enumerate(parent))):
            if child.tag in {"metadata", "defs"}:
                parent.remove(child)
            elif child.tag == "use":
                parent[place] = _inline_marker(child, known[child.get("href", "")])
            elif child.tag == "path" and child.get("style", "").strip(" ;") == "fill: none":
                parent.remove(child)  # a background that is not drawn
    for parent in list(root.iter()):
        _remove_plain_groups(parent)


def _inline_marker(use: ET.Element, marker: ET.Element) -> ET.Element:
    where = f"translate({use.get('x', '0')} {use.get('y', '0')})"
    style = f"{marker.get('style', '')};{use.get('style', '')}"
    return ET.Element("path", {"d": marker.get("d", ""), "transform": where, "style": style})


def _remove_plain_groups(parent: ET.Element) -> None:
    """Take away groups that say nothing of what is in them."""
    lifted: list[ET.Element] = []
    for child in parent:
        plain = child.tag == "g" and not set(child.attrib) - {"id", "clip-path"}
        if plain:
            _remove_plain_groups(child)
        lifted += list(child) if plain else [child]
    parent[:] = lifted


def _minify_element(element: ET.Element) -> None:
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
    return f"{round(float(match[0]), 1) + 0.0:g}"  # + 0.0: no minus before a zero


def _minify_style(style: str) -> str:
    kept = {}
    for part in style.split(";"):
        name, _, value = (each.strip() for each in part.partition(":"))
        if name and _DEFAULT_STYLES.get(name) != value:
            kept[name] = "var(--font)" if name == "font-family" else value
    text = ";".join(f"{name}:{value}" for name, value in kept.items())
    for colour, own in _THEME.items():
        text = text.replace(colour, own)
    return text

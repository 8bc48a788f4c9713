"""A picture as a small ``<svg>`` element for a page: matplotlib draws it, what a page does not need goes."""

from __future__ import annotations

import io
import re
import warnings
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from symscreen.report.curves import plain_style
from symscreen.report.pictures.style import CURVE, FAINT, INK, MARK

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

__all__ = ["inline_svg", "slimmed"]

_NAMESPACE = re.compile(r"^\{[^}]*\}")
_NUMBER = re.compile(r"-?\d+\.\d+")
_DOT = re.compile(r"M([-.\d]+) ([-.\d]+)L\1 \2(?=[A-Z]|$)")
_THEME = {INK: "var(--ink)", FAINT: "var(--faint)", MARK: "var(--mark)", CURVE: "var(--curve)"}
_PIXELS = 110  # an inch, at most
_WITHOUT_WORDS = (0.03, 0.04, 0.95, 0.94)
_NEEDLESS_STYLES = {"stroke-linejoin": "miter", "stroke-width": "0", "font-style": "normal"}


def inline_svg(
    draw: Callable[[Axes], None], size: tuple[float, float], title: str, *, words: bool = True
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
    with plain_style(), warnings.catch_warnings():
        from matplotlib import rcParams
        from matplotlib.figure import Figure

        # the reader's browser draws the letters, also those that matplotlib's own font lacks
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        rcParams["svg.fonttype"] = "none"
        figure = Figure(figsize=size, layout="constrained" if words else None)
        draw(figure.add_subplot() if words else figure.add_axes(_WITHOUT_WORDS))
        metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(content, format="svg", transparent=True, metadata=metadata)
    widest = (
        f' style="max-width:{_PIXELS * size[0]:.0f}px"' if words else ""
    )  # letters no larger than the page's
    return slimmed(content.getvalue().decode(), title).replace("<svg", f"<svg{widest}", 1)


def slimmed(svg: str, title: str) -> str:
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
        _slim(element)
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
                parent[place] = _used(child, known[child.get("href", "")])
            elif child.tag == "path" and child.get("style", "").strip(" ;") == "fill: none":
                parent.remove(child)  # a background that is not drawn
    for parent in list(root.iter()):
        _lift(parent)


def _used(use: ET.Element, marker: ET.Element) -> ET.Element:
    where = f"translate({use.get('x', '0')} {use.get('y', '0')})"
    style = f"{marker.get('style', '')};{use.get('style', '')}"
    return ET.Element("path", {"d": marker.get("d", ""), "transform": where, "style": style})


def _lift(parent: ET.Element) -> None:
    """Take away groups that say nothing of what is in them."""
    lifted: list[ET.Element] = []
    for child in parent:
        plain = child.tag == "g" and not set(child.attrib) - {"id", "clip-path"}
        if plain:
            _lift(child)
        lifted += list(child) if plain else [child]
    parent[:] = lifted


def _slim(element: ET.Element) -> None:
    for name in ("id", "clip-path"):
        element.attrib.pop(name, None)
    if (path := element.get("d")) is not None:
        path = re.sub(r"\s*([A-Za-z])\s*", r"\1", _NUMBER.sub(_tenth, path)).strip()
        element.set("d", _DOT.sub(r"M\1 \2h0", path))
    if element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]
    for name in ("x", "y", "transform"):
        if name in element.attrib:
            element.set(name, _NUMBER.sub(_tenth, element.attrib[name]))
    if (style := element.get("style")) is not None:
        element.set("style", _restyled(style))


def _tenth(match: re.Match[str]) -> str:
    return f"{round(float(match[0]), 1) + 0.0:g}"  # + 0.0: no minus before a zero


def _restyled(style: str) -> str:
    kept = {}
    for part in style.split(";"):
        name, _, value = (each.strip() for each in part.partition(":"))
        if name and _NEEDLESS_STYLES.get(name) != value:
            kept[name] = "var(--font)" if name == "font-family" else value
    text = ";".join(f"{name}:{value}" for name, value in kept.items())
    for colour, own in _THEME.items():
        text = text.replace(colour, own)
    return text

"""Pictures of precision against recall, and any picture as bytes that are the same on every run.

Figures are built without pyplot: no window, no global state. What a user has set for matplotlib does not
change them, and matplotlib (the extra ``plot``) is imported only when one is drawn.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from symscreen.errors import OptionError, OutputError, escape_control_chars

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from symscreen._typing import Values


__all__ = ["CurvePoints", "check_picture", "draw_curves", "encode_figure", "encode_png", "use_default_style"]

_PICTURE_SUFFIXES = (".png", ".svg")
_REPRODUCIBLE_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
}
# Dark and light in turn, told apart by the dashes and markers where there is no colour (Okabe and Ito 2008).
_COLOURS = ("#000000", "#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_DASHES: tuple[Any, ...] = (
    "-",
    (0, (6, 2)),
    (0, (2, 1.5)),
    (0, (7, 2, 1.5, 2)),
    (0, (4, 1.5, 1, 1.5, 1, 1.5)),
)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p")
_MAX_POINTS = 2000


class CurvePoints(Protocol):
    """A curve: such as a `PrecisionRecallCurve`, or the mean of several."""

    @property
    def recall(self) -> Values:
        """Ascending to 1; NaN where no feature is correct."""
        ...

    @property
    def precision(self) -> Values:
        """What belongs to each recall."""
        ...


def draw_curves(
    curves: Mapping[str, CurvePoints],
    correct_share: float,
    *,
    errors: Mapping[str, float] | None = None,
    title: str = "",
) -> Figure:
    """Draw precision against recall for several screeners.

    Parameters
    ----------
    curves : mapping of str to Points
        By screener, in the order of the legend. Drawn as steps: a precision holds from the recall before up
        to its own, so the area under the line is the average precision, which the legend states.
    share : float
        The share of correct features, where all orders end and a random one stays near: the dotted line.
    errors : mapping of str to float, optional
        The standard errors of average precisions over repeats, for the legend.
    title : str
        Above the picture.

    Returns
    -------
    matplotlib.figure.Figure
        To be saved by `encode_figure`, or shown by a notebook.

    Raises
    ------
    OptionError
        If matplotlib is not installed.
    """
    known = errors or {}
    with use_default_style():
        from matplotlib.figure import Figure

        rows = -(-(len(curves) + 1) // 2)
        figure = Figure(figsize=(6.0, 4.0 + 0.24 * rows), dpi=150, layout="constrained")
        axes = figure.add_subplot()
        lines, texts = [], []
        for place, (name, points) in enumerate(curves.items()):
            lines.append(_draw_curve(axes, points, place))
            texts.append(
                f"{escape_control_chars(name)}: "
                f"{_format_average_precision(points, known.get(name, float('nan')))}"
            )
        lines.append(axes.axhline(correct_share, color="0.35", linestyle=(0, (1, 2)), linewidth=1.2))
        texts.append(f"share of correct features: {correct_share:.3g}")
        axes.set_xlim(0.0, 1.0)
        axes.set_ylim(0.0, 1.03)
        axes.set_xlabel("recall")
        axes.set_ylabel("precision")
        # a name may hold a dollar sign or begin with an underscore, which matplotlib would interpret
        axes.set_title(escape_control_chars(title), parse_math=False)
        legend = figure.legend(
            lines, [str(place) for place in range(len(lines))],
            loc="outside lower center", ncols=2, frameon=False, handlelength=4.0, fontsize=9,
        )  # fmt: skip
        for entry, text in zip(legend.get_texts(), texts, strict=True):
            entry.set_parse_math(False)
            entry.set_text(text)
    return figure


def check_picture(path: str | Path) -> None:
    """Refuse, before any work is done, a picture that could not be drawn after it.

    Parameters
    ----------
    path : str or Path
        Where it is to go.

    Raises
    ------
    OutputError
        If the ending is neither ``.png`` nor ``.svg``.
    OptionError
        If matplotlib is not installed.

    Examples
    --------
    >>> check_picture("curves.jpg")
    Traceback (most recent call last):
    ...
    symscreen.errors.OutputError: curves.jpg: the ending says how to draw it; use one of .png, .svg
    """
    if Path(path).suffix.lower() not in _PICTURE_SUFFIXES:
        raise OutputError(
            f"{path}: the ending says how to draw it; use one of {', '.join(_PICTURE_SUFFIXES)}"
        )
    use_default_style()


def encode_figure(figure: Figure, path: str | Path) -> bytes:
    """Return a figure as the bytes of a file: the same for the same figure, with no date in them.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        What is drawn.
    path : str or Path
        Where it is to go; the ending says in which form. Nothing is written.

    Returns
    -------
    bytes

    Raises
    ------
    OutputError
        If the ending is neither ``.png`` nor ``.svg``.
    OptionError
        If matplotlib is not installed.
    """
    check_picture(path)
    kind = Path(path).suffix.lower()[1:]
    content = io.BytesIO()
    with use_default_style():
        figure.savefig(content, format=kind, metadata=_REPRODUCIBLE_METADATA[kind])
    return content.getvalue()


def encode_png(figure: Figure) -> bytes:
    """Return a figure as the bytes of a PNG file; see `encode_figure`."""
    return encode_figure(figure, "picture.png")


def use_default_style() -> AbstractContextManager[None]:
    """Draw with matplotlib's own defaults, whatever the user has set, for as long as the context lasts.

    Returns
    -------
    context manager
        Within it figures are built and saved as on any other machine; what was set comes back after it.

    Raises
    ------
    OptionError
        If matplotlib is not installed, or its settings keep it from being loaded.
    """
    try:
        from matplotlib import style
    except ImportError:
        raise OptionError("pictures need matplotlib: pip install 'symscreen[plot]'") from None
    except ValueError as error:  # of a setting that it reads while it is imported, such as MPLBACKEND
        raise OptionError(f"matplotlib cannot be loaded: {error}; mend its settings") from None
    # names inside an SVG are drawn from its content and this word, instead of at random
    return style.context(["default", {"svg.hashsalt": "symscreen"}])


def _draw_curve(axes: Axes, points: CurvePoints, index: int) -> Line2D:
    recall, precision = _compute_steps(points)
    (line,) = axes.plot(
        recall,
        precision,
        drawstyle="steps-pre",
        color=_COLOURS[index % len(_COLOURS)],
        linestyle=_DASHES[index % len(_DASHES)],
        linewidth=1.6,
        marker=_MARKERS[index % len(_MARKERS)],
        markersize=4.5,
        markevery=(0.04 + 0.037 * (index % 6), 0.22),  # apart, where curves lie on each other
        clip_on=False,
        zorder=3 + len(_COLOURS) - index % len(_COLOURS),
    )
    return line


def _compute_steps(points: CurvePoints) -> tuple[Values, Values]:
    """Return the corners of the steps: from recall 0, only where the recall grows, and not too many."""
    if not points.recall.size or np.isnan(points.recall).any():
        return np.empty(0), np.empty(0)
    grows = np.flatnonzero(np.diff(points.recall, prepend=0.0) > 0.0)
    if grows.size > _MAX_POINTS:
        levels = np.linspace(0.0, 1.0, _MAX_POINTS + 1)[1:]
        grows = np.unique(grows[np.searchsorted(points.recall[grows], levels - 1e-12)])
    recall, precision = points.recall[grows], points.precision[grows]
    return np.concatenate(([0.0], recall)), np.concatenate((precision[:1], precision))


def _format_average_precision(points: CurvePoints, error: float) -> str:
    """Write the average precision, Σ (R_g − R_{g−1}) · P_g, with its standard error where there is one."""
    if not points.recall.size or np.isnan(points.recall).any():
        return "no correct feature"
    area = float((np.diff(points.recall, prepend=0.0) * points.precision).sum())
    return f"AP {area:.3f}" + ("" if np.isnan(error) else f" ± {error:.3f}")

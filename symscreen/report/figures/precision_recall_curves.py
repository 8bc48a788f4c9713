"""Precision-recall curves, and encoding of any figure as bytes that are the same on every run.

Figures are built without pyplot: they open no window and have no global state. The user's matplotlib settings
do not change them. matplotlib (the extra ``plot``) is imported only when a figure is drawn.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from symscreen.errors import OptionError, OutputError
from symscreen.messages import escape_control_chars

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from symscreen._typing import Values


_PICTURE_SUFFIXES = (".png", ".svg")
_REPRODUCIBLE_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
}
# Colours of Okabe and Ito (2008), dark and light in turn. Dashes and markers distinguish the curves in print.
_COLORS = ("#000000", "#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_DASHES: tuple[Any, ...] = (
    "-",
    (0, (6, 2)),
    (0, (2, 1.5)),
    (0, (7, 2, 1.5, 2)),
    (0, (4, 1.5, 1, 1.5, 1, 1.5)),
)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p")
_MAX_POINTS = 2000  # steps of a curve


class CurvePoints(Protocol):
    """A precision-recall curve, such as a `PrecisionRecallCurve` or the mean of several."""

    @property
    def recall(self) -> Values:
        """Recall, ascending to 1, shape (g,); NaN if no feature is correct."""
        ...

    @property
    def precision(self) -> Values:
        """Precision at each recall, shape (g,)."""
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
    curves : mapping of str to CurvePoints
        Curves by screener, in the order of the legend. They are drawn as steps: each precision applies from
        the previous recall to its own, so the area under the line is the average precision, which the legend
        states.
    correct_share : float
        The share of correct features, drawn as a dotted line. All curves end there, and a random order stays
        near it.
    errors : mapping of str to float, optional
        Standard errors of the average precision over repeats, for the legend.
    title : str
        The title of the figure.

    Returns
    -------
    matplotlib.figure.Figure
        Save it with `encode_figure`, or show it in a notebook.

    Raises
    ------
    OptionError
        If matplotlib is not installed.
    """
    with use_default_style():
        from matplotlib.figure import Figure

        rows = -(-(len(curves) + 1) // 2)
        figure = Figure(figsize=(6.0, 4.0 + 0.24 * rows), dpi=150, layout="constrained")
        axes = figure.add_subplot()
        lines, texts = [], []
        for index, (name, points) in enumerate(curves.items()):
            lines.append(_draw_curve(axes, points, index))
            error = (errors or {}).get(name, float("nan"))
            texts.append(f"{escape_control_chars(name)}: {_format_average_precision(points, error)}")
        lines.append(axes.axhline(correct_share, color="0.35", linestyle=(0, (1, 2)), linewidth=1.2))
        texts.append(f"share of correct features: {correct_share:.3g}")
        axes.set_xlim(0.0, 1.0)
        axes.set_ylim(0.0, 1.03)
        axes.set_xlabel("recall")
        axes.set_ylabel("precision")
        # Set texts without parsing: matplotlib interprets dollar signs and leading underscores in names.
        axes.set_title(escape_control_chars(title), parse_math=False)
        legend = figure.legend(
            lines, [str(index) for index in range(len(lines))],
            loc="outside lower center", ncols=2, frameon=False, handlelength=4.0, fontsize=9,
        )  # fmt: skip
        for entry, text in zip(legend.get_texts(), texts, strict=True):
            entry.set_parse_math(False)
            entry.set_text(text)
    return figure


def check_picture(path: str | Path) -> None:
    """Check, before any work is done, that a picture can be drawn.

    Parameters
    ----------
    path : str or Path
        The file name.

    Raises
    ------
    OutputError
        If the suffix is neither ``.png`` nor ``.svg``.
    OptionError
        If matplotlib is not installed.

    Examples
    --------
    >>> check_picture("curves.jpg")
    Traceback (most recent call last):
    ...
    symscreen.errors.OutputError: curves.jpg: the suffix determines the format; use one of .png, .svg
    """
    if Path(path).suffix.lower() not in _PICTURE_SUFFIXES:
        raise OutputError(
            f"{path}: the suffix determines the format; use one of {', '.join(_PICTURE_SUFFIXES)}"
        )
    use_default_style()


def encode_figure(figure: Figure, path: str | Path) -> bytes:
    """Encode a figure as the bytes of a file. Equal figures give identical bytes, without dates.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    path : str or Path
        The file name; its suffix determines the format. Nothing is written.

    Returns
    -------
    bytes

    Raises
    ------
    OutputError
        If the suffix is neither ``.png`` nor ``.svg``.
    OptionError
        If matplotlib is not installed.
    """
    check_picture(path)
    file_format = Path(path).suffix.lower()[1:]
    content = io.BytesIO()
    with use_default_style():
        figure.savefig(content, format=file_format, metadata=_REPRODUCIBLE_METADATA[file_format])
    return content.getvalue()


def encode_png(figure: Figure) -> bytes:
    """Encode a figure as the bytes of a PNG file; see `encode_figure`."""
    return encode_figure(figure, "picture.png")


def use_default_style() -> AbstractContextManager[None]:
    """Return a context in which figures are drawn with matplotlib's default settings.

    Returns
    -------
    context manager
        Within it figures are the same on every machine. Afterwards the user's settings are restored.

    Raises
    ------
    OptionError
        If matplotlib is not installed, or its settings prevent it from being loaded.
    """
    try:
        from matplotlib import style
    except ImportError:
        raise OptionError("pictures need matplotlib: pip install 'symscreen[plot]'") from None
    except ValueError as error:  # an invalid setting that is read on import, such as MPLBACKEND
        raise OptionError(f"matplotlib cannot be loaded: {error}; fix its settings") from None
    # With a hash salt, the ids inside an SVG depend on its content instead of being random.
    return style.context(["default", {"svg.hashsalt": "symscreen"}])


def _draw_curve(axes: Axes, points: CurvePoints, index: int) -> Line2D:
    """Draw one curve as steps; `index` determines colour, dashes and marker."""
    recall, precision = _compute_steps(points)
    (line,) = axes.plot(
        recall,
        precision,
        drawstyle="steps-pre",
        color=_COLORS[index % len(_COLORS)],
        linestyle=_DASHES[index % len(_DASHES)],
        linewidth=1.6,
        marker=_MARKERS[index % len(_MARKERS)],
        markersize=4.5,
        markevery=(0.04 + 0.037 * (index % 6), 0.22),  # shifted, so that markers of overlapping curves differ
        clip_on=False,
        zorder=3 + len(_COLORS) - index % len(_COLORS),
    )
    return line


def _compute_steps(points: CurvePoints) -> tuple[Values, Values]:
    """Return the corners of the steps: from recall 0, only where recall increases, at most `_MAX_POINTS`."""
    if not points.recall.size or np.isnan(points.recall).any():
        return np.empty(0), np.empty(0)
    increases = np.flatnonzero(np.diff(points.recall, prepend=0.0) > 0.0)
    if increases.size > _MAX_POINTS:
        levels = np.linspace(0.0, 1.0, _MAX_POINTS + 1)[1:]
        increases = np.unique(increases[np.searchsorted(points.recall[increases], levels - 1e-12)])
    recall, precision = points.recall[increases], points.precision[increases]
    return np.concatenate(([0.0], recall)), np.concatenate((precision[:1], precision))


def _format_average_precision(points: CurvePoints, error: float) -> str:
    """Format the average precision, Σ_g (R_g − R_{g−1}) · P_g, with its standard error if there is one."""
    if not points.recall.size or np.isnan(points.recall).any():
        return "no correct feature"
    area = float((np.diff(points.recall, prepend=0.0) * points.precision).sum())
    return f"AP {area:.3f}" + ("" if np.isnan(error) else f" ± {error:.3f}")

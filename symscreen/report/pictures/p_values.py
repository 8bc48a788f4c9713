"""A histogram of p-values: flat where nothing is related to the response."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError
from symscreen.report.pictures.style import CURVE, INK, MARK, bare

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from symscreen.result import ScreenResult

__all__ = ["draw_p_values", "histogram_of"]

_BINS = 20


def histogram_of(result: ScreenResult) -> tuple[NDArray[np.int64], bool]:
    """Count p-values in bins of equal width from 0 to 1.

    Parameters
    ----------
    result : ScreenResult
        A result with p-values.

    Returns
    -------
    counts : int64 array
    whole : bool
        Whether they are those of the whole space, ``histogram`` under ``error_control`` of the record; else
        of the features shown.

    Raises
    ------
    OptionError
        If no p-values were computed.
    """
    told = result.record.get("error_control", {}).get("histogram")
    if told:
        return np.asarray(told, dtype=np.int64), True
    if "p_value" not in result.table:
        raise OptionError("no p-values were computed")
    known = result.table["p_value"].to_numpy(dtype=float)
    return np.histogram(known[~np.isnan(known)], bins=_BINS, range=(0.0, 1.0))[0].astype(np.int64), False


def draw_p_values(axes: Axes, result: ScreenResult) -> None:
    """Draw the histogram; of a whole space with the height that chance alone would give."""
    counts, whole = histogram_of(result)
    width = 1.0 / len(counts)
    axes.bar(np.arange(len(counts)) * width, counts, width=0.92 * width, align="edge", color=MARK)
    if whole:
        axes.axhline(counts.sum() * width, color=CURVE, linewidth=1.0, linestyle=(0, (4, 3)))
    axes.set_xlim(0.0, 1.0)
    axes.set_xlabel("p-value", color=INK)
    axes.set_ylabel("features" if whole else "features shown", color=INK)
    bare(axes)

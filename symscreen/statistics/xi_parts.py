"""The null distribution of ξ for more rows than are permuted: by the saddlepoint, from that of fewer.

A sum of independent parts has their cumulant functions' sum. ξ of n rows is treated as that of n/m parts of m
rows with the same shares of ties; with mean and variance those of the n rows, the third cumulant and those
beyond are off by a part in m. The tail follows by Lugannani and Rice (1980).
"""

from __future__ import annotations

import math

import numpy as np

from symscreen.statistics.null_table import NullTable

__all__ = ["table_of_more"]

_FARTHEST, _STEPS = 9.0, 16384
_TILTS = 400


def table_of_more(table: NullTable, times: float, lowest: float) -> NullTable:
    """Return the table of the sum of so many independent parts, each as one table has it.

    Parameters
    ----------
    table : NullTable
        Of z − lowest, z standardised.
    times : float
        How many parts, at least 1.
    lowest : float
        Where z is counted from, < 0.

    Returns
    -------
    NullTable
        Of z − lowest, z the standardised sum; of a statistic without jumps.
    """
    from scipy.special import log_ndtr  # not at the top: it would slow every start

    mass = -np.diff(table.upper, append=0.0)
    # of the statistics between a knot and the next
    z = -np.diff(table.upper * table.means, append=0.0) / np.maximum(mass, 1e-300) + lowest
    z -= float((mass * z).sum())
    mass, z = mass[mass > 0], z[mass > 0] / math.sqrt(float((mass * z * z).sum()))
    tilts = np.linspace(-6.0, 11.0, _TILTS) / math.sqrt(times)  # of one part
    tilts = tilts[tilts != 0]
    cumulants, means, spreads = (np.empty(len(tilts)) for _ in range(3))
    for j, tilt in enumerate(tilts):
        weights = mass * np.exp(tilt * z)
        total = float(weights.sum())
        means[j] = float((weights * z).sum()) / total
        spreads[j] = float((weights * (z - means[j]) ** 2).sum()) / total
        cumulants[j] = math.log(total)
    # K_n(t) = times · K(t / √times)
    w = np.sign(tilts) * np.sqrt(2.0 * times * np.maximum(tilts * means - cumulants, 0.0))
    u = tilts * np.sqrt(times * spreads)
    logs = log_ndtr(-(w + np.log(u / w) / w))  # of the form of Barndorff-Nielsen 1986, never negative
    at = means * math.sqrt(times)
    grid = np.linspace(0.0, _FARTHEST - lowest, _STEPS + 1)
    far = (logs[-1] - logs[-2]) / (at[-1] - at[-2])
    upper = np.interp(grid + lowest, at, logs)
    upper = np.where(grid + lowest > at[-1], logs[-1] + far * (grid + lowest - at[-1]), upper)
    upper = np.minimum.accumulate(np.exp(np.where(grid + lowest < at[0], 0.0, upper)))
    # what lies between two knots stands at the upper one, and beyond the last a little further
    sums = np.cumsum((-np.diff(upper, append=0.0) * np.append(grid[1:], grid[-1] - 1.0 / far))[::-1])[::-1]
    return NullTable(
        grid, upper, np.maximum.accumulate(sums / upper), float(grid[-1]), -float(far), 1e-300, 0.0
    )

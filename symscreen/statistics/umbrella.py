"""The tail of a null distribution, to any depth: walks under ever stronger tilts, joined into one density.

At tilt t permutations come with a chance in proportion to exp(t · Z), so that a few thousand of them tell of
tails that plain permutations would meet once in 10¹⁵. With H_j the counts on a grid of z at tilt t_j, N_j of
them, and c_j the unknown constants, the density that makes all counts most likely is::

    g(z) = Σ_j H_j(z) / Σ_j N_j exp(t_j z − c_j),    exp(c_j) = Σ_z g(z) exp(t_j z)

(Ferrenberg and Swendsen 1989). Plain permutations are the counts at tilt 0 and decide where they are many.
Where Z is symmetric |z| is counted, and cosh(t z) stands for exp(t z).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Values = NDArray[np.float64]

__all__ = ["Tilted", "joined", "tilted"]

_DEEPEST = -38.0  # log of the tail where the tilts end: about 3e-17
_MOST_TILTS = 40
_APART = 1.0  # neighbouring tilts move the mean by about so many standard deviations
_TOGETHER = 16  # steps of the grid that make one of the coarser
_ROUNDS, _SETTLED = 3000, 2e-6
_SETTLE = 0.15  # of a walk, which is not counted


@dataclass(frozen=True, eq=False)
class Tilted:
    """Counts of |Z| under one tilt.

    Parameters
    ----------
    tilt : float
        t ≥ 0.
    constant : float
        log E exp(t Z), as far as known.
    counts : float64 array, shape (steps,)
        On the grid of |z|; of as many independent statistics.
    """

    tilt: float
    constant: float
    counts: NDArray[np.float64]


def tilted(
    walk: Callable[[float], Values], worth: float, steps: int, width: float, *, first: float
) -> list[Tilted]:
    """Walk under ever stronger tilts.

    Parameters
    ----------
    walk : callable
        A tilt to the statistics noted on a walk under it, which goes on where the last one ended.
    worth : float
        How many independent statistics a noted one is worth, at most 1.
    steps, width : int, float
        Of the grid.
    first : float
        The first tilt; the statistic has variance 1.

    Returns
    -------
    list of Tilted
        By ascending tilt, until the tail is below 3e-17 or the largest statistic is reached.
    """
    found: list[Tilted] = []
    tilt, constant, before, mean_before = first, 0.0, 0.0, None
    while len(found) < _MOST_TILTS:
        z = walk(tilt)
        z = z[int(_SETTLE * len(z)) :]
        mean, spread = float(z.mean()), float(z.std())
        if mean_before is None:
            mean_before = mean - tilt
        constant += 0.5 * (tilt - before) * (mean + mean_before)
        counts = np.bincount(np.minimum((np.abs(z) / width).astype(np.int64), steps - 1), minlength=steps)
        found.append(Tilted(tilt, constant, counts.astype(np.float64) * worth))
        depth = constant - tilt * mean - math.log(max(tilt * spread * 2.5, 1.0))
        if depth < _DEEPEST or spread < 2.0 * width:
            break
        before, mean_before = tilt, mean
        tilt += _APART / spread
    return found


def joined(
    plain: NDArray[np.float64], walks: list[Tilted], width: float, *, folded: bool
) -> NDArray[np.float64]:
    """Put counts of plain permutations and of tilted walks together.

    Parameters
    ----------
    plain : float64 array, shape (steps,)
        Counts without a tilt.
    walks : list of Tilted
        On the same grid.
    width : float
        Of a step.
    folded : bool
        Whether the counts are of |Z| and Z is symmetric.

    Returns
    -------
    float64 array, shape (steps,)
        The mass of each step, of sum 1.
    """
    seen: Values = plain + sum(walk.counts for walk in walks)
    tilts = np.array([0.0, *(walk.tilt for walk in walks)])
    totals = np.array([plain.sum(), *(walk.counts.sum() for walk in walks)])
    constants = np.array([0.0, *(walk.constant for walk in walks)])
    at = (np.arange(len(seen), dtype=np.float64) + 0.5) * np.float64(width)
    coarse, moments = (part.reshape(-1, _TOGETHER).sum(axis=1) for part in (seen, seen * at))
    filled = np.flatnonzero(coarse)
    bias = _bias(tilts, moments[filled] / coarse[filled], folded=folded)
    # the constants are found on a coarser grid, since it takes many rounds
    peak = bias.max(axis=1, keepdims=True)
    own = np.exp(bias - peak)
    shifted = constants - peak[:, 0]
    _solve(own, totals, coarse[filled], shifted)
    constants = shifted + peak[:, 0]
    places = np.flatnonzero(seen)
    each = _bias(tilts, at[places], folded=folded) + (np.log(totals) - constants)[:, None]
    top = each.max(axis=0)
    density = np.log(seen[places]) - top - np.log(np.exp(each - top).sum(axis=0))
    mass = np.zeros(len(plain))
    mass[places] = np.exp(density - density.max())
    return np.asarray(mass / mass.sum())


def _bias(tilts: Values, z: Values, *, folded: bool) -> Values:
    """Return t z, or log cosh(t z) so that it does not overflow."""
    product = tilts[:, None] * z
    return np.asarray(product + np.log1p(np.exp(-2.0 * product)) - math.log(2.0)) if folded else product


@kernel
def _solve(own: Values, totals: Values, hits: Values, constants: Values) -> None:
    """Iterate the two equations until no constant moves; they are relative to the first."""
    tilts, places = own.shape
    density = np.empty(places)
    for _ in range(_ROUNDS):
        for z in range(places):
            expected = 0.0
            for j in range(tilts):
                expected += totals[j] * own[j, z] * math.exp(-constants[j])
            density[z] = hits[z] / expected
        moved = 0.0
        first = 0.0
        for j in range(tilts):
            total = 0.0
            for z in range(places):
                total += own[j, z] * density[z]
            found = math.log(total)
            if j == 0:
                first = found - constants[0]
            moved = max(moved, abs(found - first - constants[j]))
            constants[j] = found - first
        if moved < _SETTLED:
            break

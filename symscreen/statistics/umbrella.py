"""The tail of a null distribution, to any depth: walks under ever stronger tilts, joined with plain draws.

At tilt t permutations come with a chance in proportion to exp(t · Z), so that a few thousand of them tell of
tails that plain permutations would meet once in 10¹⁵. With N_j statistics drawn at tilt t_j and c_j the
unknown constants, the likeliest distribution has at each statistic z that was drawn, at whatever tilt, the
mass::

    w(z) = 1 / Σ_j N_j exp(t_j z − c_j),    exp(c_j) = Σ_z w(z) exp(t_j z)

(Ferrenberg and Swendsen 1989; without a grid: Shirts and Chodera 2008). Plain permutations are those at tilt
0 and decide where they are many. No grid lies under it, for one gross outlier parts the distribution into
clusters 10⁻⁹ of its range wide, each with a shape and a tail of its own. Where Z is symmetric |z| is kept,
and cosh(t z) stands for exp(t z).
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
    Whole = NDArray[np.int64]

__all__ = ["Tilted", "joined", "tilted"]

_DEEPEST = -38.0  # log of the tail where the tilts end: about 3e-17
_MOST_TILTS = 40
_APART = 1.0  # neighbouring tilts move the mean by about so many standard deviations
_SETTLE = 0.15  # of a walk, which is not counted
_STILL = 1e-12  # a walk whose spread is this share of its mean stands on the largest statistic
_CELLS, _NARROW = 1024, 0.05  # for the constants: of equal counts, and no wider than so much of t · z
_TOGETHER, _STRAIGHT = 64, 0.02  # statistics whose log weights lie on a line, if they differ by no more
_ROUNDS, _HALVINGS, _SETTLED = 100, 20, 1e-4  # the last of the log likelihood, which is known to about 1
_GONE = 40.0  # exp(−40) of a sum is less than its rounding


@dataclass(frozen=True, eq=False)
class Tilted:
    """Statistics drawn under one tilt.

    Parameters
    ----------
    tilt : float
        t ≥ 0.
    constant : float
        log E exp(t Z), as far as known.
    z : float64 array, shape (notes,)
        |Z|, ascending.
    """

    tilt: float
    constant: float
    z: NDArray[np.float64]


def tilted(walk: Callable[[float], Values], *, first: float) -> list[Tilted]:
    """Walk under ever stronger tilts.

    Parameters
    ----------
    walk : callable
        A tilt to the statistics noted on a walk under it, which goes on where the last one ended.
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
        found.append(Tilted(tilt, constant, np.sort(np.abs(z))))
        depth = constant - tilt * mean - math.log(max(tilt * spread * 2.5, 1.0))
        if depth < _DEEPEST or spread <= _STILL * abs(mean):
            break
        before, mean_before = tilt, mean
        tilt += _APART / spread
    return found


def joined(
    plain: NDArray[np.float64], walks: list[Tilted], worth: float, *, folded: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Put plain permutations and tilted walks together.

    Parameters
    ----------
    plain : float64 array, shape (count,)
        Statistics without a tilt, ≥ 0.
    walks : list of Tilted
        At least one.
    worth : float
        How many independent statistics one of a walk is worth, at most 1.
    folded : bool
        Whether they are |Z| of a symmetric Z.

    Returns
    -------
    z : float64 array, shape (all,)
        All statistics, ascending.
    mass : float64 array, shape (all,)
        Of each, of sum 1.
    """
    parts = [np.sort(plain), *(walk.z for walk in walks)]
    sizes = np.array([len(part) for part in parts])
    tilts = np.array([0.0, *(walk.tilt for walk in walks)])
    counts = sizes * np.where(tilts > 0, worth, 1.0)
    pooled = np.concatenate(parts)
    order = np.argsort(pooled, kind="stable")  # which merges what is sorted already
    z = pooled[order]
    own = np.repeat(tilts, sizes)[order]
    each = np.where(own > 0, worth, 1.0)
    starts = _cells(z, own, max(len(z) // _CELLS, 1))
    hits = np.add.reduceat(each, starts)
    at = np.add.reduceat(each * z, starts) / hits
    constants = _constants(_bias(tilts, at, folded=folded), counts, hits, [walk.constant for walk in walks])
    mass = np.empty(len(z))
    _log_sums(z, tilts, np.log(counts) - constants, folded, mass)
    mass = each * np.exp(mass.min() - mass)
    return z, np.asarray(mass / mass.sum())


def _bias(tilts: Values, z: Values, *, folded: bool) -> Values:
    """Return t z, or log cosh(t z) so that it does not overflow."""
    product = tilts[:, None] * z
    return np.asarray(product + np.log1p(np.exp(-2.0 * product)) - math.log(2.0)) if folded else product


def _constants(bias: Values, counts: Values, hits: Values, guess: list[float]) -> Values:
    """Solve for c, c_0 = 0: the least of Σ_z hits log Σ_j N_j exp(bias_j − c_j) + Σ_j N_j c_j, by Newton."""

    def cost(c: Values) -> tuple[float, Values]:
        logs = bias + (np.log(counts) - c)[:, None]
        top = logs.max(axis=0)
        shares = np.exp(logs - top)
        total = shares.sum(axis=0)
        return float((hits * (top + np.log(total))).sum() + (counts * c).sum()), shares / total

    c = np.array([0.0, *guess])
    value, shares = cost(c)
    for _ in range(_ROUNDS):
        met = shares * hits
        slope = counts - met.sum(axis=1)
        # not met @ shares.T: BLAS may split sums by its threads, and the last bit would follow their number
        curve = np.diag(met.sum(axis=1)) - np.einsum("iz,jz->ij", met, shares)
        curve[np.diag_indices(len(c))] += 1e-12 * counts
        step = np.concatenate([[0.0], np.linalg.solve(curve[1:, 1:], slope[1:])])
        for _ in range(_HALVINGS):  # the cost is convex: some part of a step lessens it
            there, shares_there = cost(c - step)
            if there <= value:
                break
            step *= 0.5
        else:
            break
        gain = value - there
        c, value, shares = c - step, there, shares_there
        if gain < _SETTLED:
            break
    return c


@kernel
def _cells(z: Values, own: Values, most: int) -> Whole:
    """Part ascending statistics so that within a cell exp(t z) hardly changes for any tilt met in it."""
    starts = np.empty(z.size, dtype=np.int64)
    starts[0] = 0
    cells = 1
    strongest = own[0]
    for i in range(1, z.size):
        first = starts[cells - 1]
        strongest = max(strongest, own[i])
        if i - first >= most or strongest * (z[i] - z[first]) > _NARROW:
            starts[cells] = i
            cells += 1
            strongest = own[i]
    return starts[:cells].copy()


@kernel
def _log_sum(z: float, tilts: Values, shifts: Values, folded: bool) -> float:
    """Return log Σ_j exp(t_j z + shift_j), or with cosh."""
    top = -np.inf
    for j in range(tilts.size):
        top = max(top, tilts[j] * z + shifts[j])
    total = 0.0
    for j in range(tilts.size):
        product = tilts[j] * z
        under = product + shifts[j] - top
        if under > -_GONE:
            mirrored = math.exp(-2.0 * product) if folded and product < _GONE else 0.0
            total += math.exp(under) * ((1.0 + mirrored) * 0.5 if folded else 1.0)
    return top + math.log(total)


@kernel
def _log_sums(z: Values, tilts: Values, shifts: Values, folded: bool, out: Values) -> None:
    last = z.size - 1
    there = _log_sum(z[0], tilts, shifts, folded)
    for start in range(0, z.size, _TOGETHER):
        end = min(start + _TOGETHER, last)
        here, there = there, _log_sum(z[end], tilts, shifts, folded)
        straight = abs(there - here) <= _STRAIGHT
        slope = (there - here) / (z[end] - z[start]) if z[end] > z[start] else 0.0
        for i in range(start, min(start + _TOGETHER, z.size)):
            if straight:
                out[i] = here + slope * (z[i] - z[start])
            else:
                out[i] = _log_sum(z[i], tilts, shifts, folded)

"""The p-values of a whole space, counted: what the control of false discoveries needs of them.

A p-value is written with four significant digits, rounded up: 0.083333 is 0.08334. So it is never too small,
and all p-values of a space, however many, are a table of few numbers and their counts. Tables add up: the
sum is the same in whatever parts a space is read, and what is computed from it is exactly what all p-values
in memory would give. Those below 1e-300 count as 1e-300.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "MOST_KEYS",
    "Method",
    "Tally",
    "adjusted",
    "harmonic",
    "histogram",
    "keys_of",
    "p_values_of",
    "passing",
    "tally_of",
    "together",
]

Method = Literal["bh", "by"]

_SMALLEST = 1e-300
_LOW, _HIGH = 1000, 10_000  # four digits
_A_DECADE = _HIGH - _LOW
_DECADES = 300
MOST_KEYS = (_DECADES + 1) * _A_DECADE  # of a key
_POWERS = np.array([float(f"1e{k}") for k in range(_DECADES + 4)])
_SLACK = 1.0 - 1e-12  # 0.1 is 1.000e-1, whatever the last bit of its product with 10⁴


@dataclass(frozen=True, eq=False)
class Tally:
    """How often each p-value occurs.

    Parameters
    ----------
    keys : int32 array, shape (k,)
        The p-values that occur, as `keys_of` writes them; ascending.
    counts : int64 array, shape (k,)
        How often each does, at least once.
    """

    keys: NDArray[np.int32]
    counts: NDArray[np.int64]

    @property
    def total(self) -> int:
        """How many p-values there are in all."""
        return int(self.counts.sum())


def keys_of(p: NDArray[np.float64]) -> NDArray[np.int32]:
    """Write p-values with four significant digits, rounded up, as whole numbers in the same order.

    Parameters
    ----------
    p : float64 array, shape (m,)
        In (0, 1].

    Returns
    -------
    int32 array, shape (m,)

    Examples
    --------
    >>> p_values_of(keys_of(np.array([1.0, 0.1, 1 / 12, 0.000999951, 3e-320]))).tolist()
    [1.0, 0.1, 0.08334, 0.001, 1e-300]
    """
    p = np.maximum(p, _SMALLEST)
    power = 3 - np.floor(np.log10(p)).astype(np.int64)
    # a logarithm may be off by a bit where a decade ends: this very product shall lie in [1000, 10000)
    power += p * _POWERS[power] < _LOW
    power -= p * _POWERS[power - 1] >= _LOW
    digits = np.ceil(p * _POWERS[power] * _SLACK).astype(np.int64)
    # 10000 of one decade is 1000 of the next
    keys = (_DECADES + 3 - power) * _A_DECADE + digits - _LOW
    return np.asarray(keys, dtype=np.int32)


def p_values_of(keys: NDArray[np.int32]) -> NDArray[np.float64]:
    """Read p-values back: the floats nearest to the four digits.

    Parameters
    ----------
    keys : int32 array, shape (m,)
        As `keys_of` writes them.

    Returns
    -------
    float64 array, shape (m,)
        In (0, 1].
    """
    p = np.empty(len(keys))
    decades, places = np.divmod(keys, _A_DECADE)
    for decade in np.unique(decades).tolist():
        own = decades == decade
        p[own] = _decade(decade)[places[own]]
    return p


@lru_cache(maxsize=_DECADES + 1)
def _decade(decade: int) -> NDArray[np.float64]:
    power = _DECADES + 3 - decade
    if power <= 22:  # then 10^power is a float64, and the quotient the nearest one
        return np.asarray(np.arange(_LOW, _HIGH) / _POWERS[power])
    return np.array([float(f"{digits}e-{power}") for digits in range(_LOW, _HIGH)])


def tally_of(p: NDArray[np.float64]) -> Tally:
    """Count p-values.

    Parameters
    ----------
    p : float64 array, shape (m,)
        In (0, 1].

    Returns
    -------
    Tally
    """
    keys = np.sort(keys_of(p))
    first = np.flatnonzero(np.diff(keys, prepend=np.int32(-1)))
    return Tally(keys[first], np.diff(first, append=len(keys)))


def together(tallies: Sequence[Tally]) -> Tally:
    """Add tallies up; the sum does not depend on how the p-values were shared out among them.

    Parameters
    ----------
    tallies : sequence of Tally
        None or more.

    Returns
    -------
    Tally

    Examples
    --------
    >>> both = together([tally_of(np.array([0.5, 0.02])), tally_of(np.array([0.02]))])
    >>> p_values_of(both.keys).tolist(), both.counts.tolist()
    ([0.02, 0.5], [2, 1])
    """
    if not tallies:
        return Tally(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64))
    keys = np.concatenate([one.keys for one in tallies])
    low, high = keys.min(initial=MOST_KEYS), keys.max(initial=0)
    counts = np.zeros(max(0, high - low + 1), dtype=np.int64)  # 22 MB where p-values of every size occur
    np.add.at(counts, keys - low, np.concatenate([one.counts for one in tallies]))
    occurring = np.flatnonzero(counts)
    return Tally((occurring + low).astype(np.int32), counts[occurring])


def adjusted(tally: Tally, method: Method) -> NDArray[np.float64]:
    """Compute the q-value of every p-value of a tally.

    q(p) = min over t ≥ p of c · N · t / #{p ≤ t}, at most 1, with c = 1 (Benjamini and Hochberg 1995, J. R.
    Stat. Soc. B 57, 289-300: the share of false among those found is kept in mean where the p-values are
    independent, or depend positively) or c = Σ 1/k over k = 1 … N (Benjamini and Yekutieli 2001, Ann. Stat.
    29, 1165-1188, theorem 1.3: whatever their dependence).

    Parameters
    ----------
    tally : Tally
        All p-values of a space.
    method : {"bh", "by"}
        Which.

    Returns
    -------
    float64 array, shape (k,)
        Ascending with the p-values, in (0, 1].

    Examples
    --------
    >>> adjusted(tally_of(np.array([0.01, 0.02, 0.03, 0.9])), "bh").round(4).tolist()
    [0.04, 0.04, 0.04, 0.9]
    """
    many = tally.total
    scale = many * (harmonic(many) if method == "by" else 1.0)
    q = scale * p_values_of(tally.keys) / np.cumsum(tally.counts)
    return np.minimum(np.minimum.accumulate(q[::-1])[::-1], 1.0)


def harmonic(many: int) -> float:
    """Compute Σ 1/k over k = 1 … N, the N-th harmonic number, to rounding.

    Parameters
    ----------
    many : int
        N, at least 0.

    Returns
    -------
    float

    Examples
    --------
    >>> round(harmonic(4), 12) == round(1 + 1 / 2 + 1 / 3 + 1 / 4, 12)
    True
    """
    from scipy.special import digamma

    return float(digamma(many + 1.0) + np.euler_gamma)


def passing(tally: Tally, method: Method, rate: float) -> int:
    """Count the p-values whose q-value is at most a rate.

    Parameters
    ----------
    tally : Tally
        All p-values of a space.
    method : {"bh", "by"}
        As in `adjusted`.
    rate : float
        The false discovery rate.

    Returns
    -------
    int
    """
    return int(tally.counts[adjusted(tally, method) <= rate].sum())


def histogram(tally: Tally, bins: int = 20) -> NDArray[np.int64]:
    """Count p-values in bins of equal width from 0 to 1.

    Parameters
    ----------
    tally : Tally
        The p-values.
    bins : int
        How many bins, at least 1; a value on an edge counts in the bin below it.

    Returns
    -------
    int64 array, shape (bins,)
        Flat, but for chance, where no feature is related to the response.

    Examples
    --------
    >>> histogram(tally_of(np.array([0.001, 0.05, 0.051, 1.0]))).tolist()
    [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    """
    # four digits: rounding takes away what the last bit of a product would add to an edge
    place = np.ceil(np.round(p_values_of(tally.keys) * bins, 9)).astype(np.int64) - 1
    counts = np.zeros(bins, dtype=np.int64)
    np.add.at(counts, np.maximum(place, 0), tally.counts)
    return counts

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
    "MAX_KEYS",
    "FdrMethod",
    "PValueCounts",
    "compute_harmonic_number",
    "compute_q_values",
    "count_p_values",
    "count_p_values_per_bin",
    "count_rejections",
    "decode_p_values",
    "encode_p_values",
    "merge_p_value_counts",
]

FdrMethod = Literal["bh", "by"]

_MIN_P_VALUE = 1e-300
_DIGITS_START, _DIGITS_STOP = 1000, 10_000  # four digits
_KEYS_PER_DECADE = _DIGITS_STOP - _DIGITS_START
_N_DECADES = 300
MAX_KEYS = (_N_DECADES + 1) * _KEYS_PER_DECADE  # of a key
_POWERS_OF_TEN = np.array([float(f"1e{k}") for k in range(_N_DECADES + 4)])
_ROUNDING_FACTOR = 1.0 - 1e-12  # 0.1 is 1.000e-1, whatever the last bit of its product with 10⁴


@dataclass(frozen=True, eq=False)
class PValueCounts:
    """How often each p-value occurs.

    Parameters
    ----------
    keys : int32 array, shape (k,)
        The p-values that occur, as `encode_p_values` writes them; ascending.
    counts : int64 array, shape (k,)
        How often each does, at least once.
    """

    keys: NDArray[np.int32]
    counts: NDArray[np.int64]

    @property
    def total(self) -> int:
        """How many p-values there are in all."""
        return int(self.counts.sum())


def encode_p_values(p: NDArray[np.float64]) -> NDArray[np.int32]:
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
    >>> decode_p_values(encode_p_values(np.array([1.0, 0.1, 1 / 12, 0.000999951, 3e-320]))).tolist()
    [1.0, 0.1, 0.08334, 0.001, 1e-300]
    """
    p = np.maximum(p, _MIN_P_VALUE)
    power = 3 - np.floor(np.log10(p)).astype(np.int64)
    # a logarithm may be off by a bit where a decade ends: this very product shall lie in [1000, 10000)
    power += p * _POWERS_OF_TEN[power] < _DIGITS_START
    power -= p * _POWERS_OF_TEN[power - 1] >= _DIGITS_START
    digits = np.ceil(p * _POWERS_OF_TEN[power] * _ROUNDING_FACTOR).astype(np.int64)
    # 10000 of one decade is 1000 of the next
    keys = (_N_DECADES + 3 - power) * _KEYS_PER_DECADE + digits - _DIGITS_START
    return np.asarray(keys, dtype=np.int32)


def decode_p_values(keys: NDArray[np.int32]) -> NDArray[np.float64]:
    """Read p-values back: the floats nearest to the four digits.

    Parameters
    ----------
    keys : int32 array, shape (m,)
        As `encode_p_values` writes them.

    Returns
    -------
    float64 array, shape (m,)
        In (0, 1].
    """
    p = np.empty(len(keys))
    decades, places = np.divmod(keys, _KEYS_PER_DECADE)
    for decade in np.unique(decades).tolist():
        own = decades == decade
        p[own] = _compute_decade_values(decade)[places[own]]
    return p


@lru_cache(maxsize=_N_DECADES + 1)
def _compute_decade_values(decade: int) -> NDArray[np.float64]:
    power = _N_DECADES + 3 - decade
    if power <= 22:  # then 10^power is a float64, and the quotient the nearest one
        return np.asarray(np.arange(_DIGITS_START, _DIGITS_STOP) / _POWERS_OF_TEN[power])
    return np.array([float(f"{digits}e-{power}") for digits in range(_DIGITS_START, _DIGITS_STOP)])


def count_p_values(p: NDArray[np.float64]) -> PValueCounts:
    """Count p-values.

    Parameters
    ----------
    p : float64 array, shape (m,)
        In (0, 1].

    Returns
    -------
    Tally
    """
    keys = np.sort(encode_p_values(p))
    first = np.flatnonzero(np.diff(keys, prepend=np.int32(-1)))
    return PValueCounts(keys[first], np.diff(first, append=len(keys)))


def merge_p_value_counts(parts: Sequence[PValueCounts]) -> PValueCounts:
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
    >>> both = together([count_p_values(np.array([0.5, 0.02])), count_p_values(np.array([0.02]))])
    >>> decode_p_values(both.keys).tolist(), both.counts.tolist()
    ([0.02, 0.5], [2, 1])
    """
    if not parts:
        return PValueCounts(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64))
    keys = np.concatenate([one.keys for one in parts])
    low, high = keys.min(initial=MAX_KEYS), keys.max(initial=0)
    counts = np.zeros(max(0, high - low + 1), dtype=np.int64)  # 22 MB where p-values of every size occur
    np.add.at(counts, keys - low, np.concatenate([one.counts for one in parts]))
    occurring = np.flatnonzero(counts)
    return PValueCounts((occurring + low).astype(np.int32), counts[occurring])


def compute_q_values(p_value_counts: PValueCounts, method: FdrMethod) -> NDArray[np.float64]:
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
    >>> compute_q_values(count_p_values(np.array([0.01, 0.02, 0.03, 0.9])), "bh").round(4).tolist()
    [0.04, 0.04, 0.04, 0.9]
    """
    many = p_value_counts.total
    scale = many * (compute_harmonic_number(many) if method == "by" else 1.0)
    q = scale * decode_p_values(p_value_counts.keys) / np.cumsum(p_value_counts.counts)
    return np.minimum(np.minimum.accumulate(q[::-1])[::-1], 1.0)


def compute_harmonic_number(n: int) -> float:
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
    >>> round(compute_harmonic_number(4), 12) == round(1 + 1 / 2 + 1 / 3 + 1 / 4, 12)
    True
    """
    from scipy.special import digamma

    return float(digamma(n + 1.0) + np.euler_gamma)


def count_rejections(p_value_counts: PValueCounts, method: FdrMethod, rate: float) -> int:
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
    return int(p_value_counts.counts[compute_q_values(p_value_counts, method) <= rate].sum())


def count_p_values_per_bin(p_value_counts: PValueCounts, n_bins: int = 20) -> NDArray[np.int64]:
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
    >>> count_p_values_per_bin(count_p_values(np.array([0.001, 0.05, 0.051, 1.0]))).tolist()
    [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    """
    # four digits: rounding takes away what the last bit of a product would add to an edge
    place = np.ceil(np.round(decode_p_values(p_value_counts.keys) * n_bins, 9)).astype(np.int64) - 1
    counts = np.zeros(n_bins, dtype=np.int64)
    np.add.at(counts, np.maximum(place, 0), p_value_counts.counts)
    return counts

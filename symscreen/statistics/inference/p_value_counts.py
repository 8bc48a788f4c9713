"""Counts of the p-values of a whole space, as needed to control the false discovery rate.

A p-value is rounded up to four significant digits (0.083333 becomes 0.08334), so it is never too small. All
p-values of a space are then a short table of values and their counts. Tables can be added, and the sum does
not depend on how the space is partitioned. Results computed from the table are exactly those of all (rounded)
p-values in memory. p-values below 1e-300 count as 1e-300.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


FdrMethod = Literal["bh", "by"]

MIN_P_VALUE = 1e-300
"""Smaller p-values count as this one, whose key is 0."""

_DIGITS_START, _DIGITS_STOP = 1000, 10_000  # range of the four digits, as an integer
KEYS_PER_DECADE = _DIGITS_STOP - _DIGITS_START
N_DECADES = 300
MAX_KEYS = (N_DECADES + 1) * KEYS_PER_DECADE  # number of different keys
_POWERS_OF_TEN = np.array([float(f"1e{k}") for k in range(N_DECADES + 4)])
_MAX_EXACT_POWER = 22
_N_PARSED = 1000  # number of p-values of a decade above which all of the decade are computed once
_ROUNDING_FACTOR = 1.0 - 1e-12  # keeps 0.1 at 1.000e-1 if its product with 10⁴ is rounded up


@dataclass(frozen=True, eq=False)
class PValueCounts:
    """The number of occurrences of each p-value.

    Parameters
    ----------
    keys : int32 array, shape (k,)
        The p-values that occur, encoded by `encode_p_values`; ascending.
    counts : int64 array, shape (k,)
        The number of occurrences of each, at least 1.
    """

    keys: NDArray[np.int32]
    counts: NDArray[np.int64]

    @property
    def total(self) -> int:
        """The number of p-values."""
        return int(self.counts.sum())


def encode_p_values(p: NDArray[np.float64]) -> NDArray[np.int32]:
    """Encode p-values with four significant digits, rounded up, as integers in the same order.

    Parameters
    ----------
    p : float64 array, shape (m,)
        p-values in (0, 1].

    Returns
    -------
    int32 array, shape (m,)
        Keys in [0, `MAX_KEYS`).

    Examples
    --------
    >>> decode_p_values(encode_p_values(np.array([1.0, 0.1, 1 / 12, 0.000999951, 3e-320]))).tolist()
    [1.0, 0.1, 0.08334, 0.001, 1e-300]
    """
    p = np.maximum(p, MIN_P_VALUE)
    power = 3 - np.floor(np.log10(p)).astype(np.int64)
    # The logarithm may be inexact at the ends of a decade: correct the power until the product is in [1000,
    # 10000).
    power += p * _POWERS_OF_TEN[power] < _DIGITS_START
    power -= p * _POWERS_OF_TEN[power - 1] >= _DIGITS_START
    digits = np.ceil(p * _POWERS_OF_TEN[power] * _ROUNDING_FACTOR).astype(np.int64)
    # 10000 in one decade is 1000 in the next.
    keys = (N_DECADES + 3 - power) * KEYS_PER_DECADE + digits - _DIGITS_START
    return np.asarray(keys, dtype=np.int32)


def decode_p_values(keys: NDArray[np.int32]) -> NDArray[np.float64]:
    """Decode p-values: the floats nearest to the four digits.

    Parameters
    ----------
    keys : int32 array, shape (m,)
        Keys from `encode_p_values`.

    Returns
    -------
    float64 array, shape (m,)
        p-values in (0, 1].
    """
    p = np.empty(len(keys))
    decades, digits = np.divmod(keys, KEYS_PER_DECADE)
    digits += _DIGITS_START
    powers = N_DECADES + 3 - decades
    exact = powers <= _MAX_EXACT_POWER  # 10^power is a float64, so that the quotient is correctly rounded
    p[exact] = digits[exact] / _POWERS_OF_TEN[powers[exact]]
    for power in np.unique(powers[~exact]).tolist():
        in_decade = powers == power
        own = digits[in_decade]
        if len(own) < _N_PARSED:
            p[in_decade] = _parse_p_values(own.tolist(), power)
        else:
            p[in_decade] = _compute_decade_values(power)[own - _DIGITS_START]
    return p


def _parse_p_values(digits: Sequence[int], power: int) -> NDArray[np.float64]:
    """Return the floats nearest to digits · 10^−power."""
    return np.array([float(f"{each}e-{power}") for each in digits])


@lru_cache(maxsize=N_DECADES + 1)
def _compute_decade_values(power: int) -> NDArray[np.float64]:
    """Compute all p-values of four digits with a power, shape (KEYS_PER_DECADE,)."""
    return _parse_p_values(range(_DIGITS_START, _DIGITS_STOP), power)


def count_p_values(p: NDArray[np.float64]) -> PValueCounts:
    """Count p-values.

    Parameters
    ----------
    p : float64 array, shape (m,)
        p-values in (0, 1].

    Returns
    -------
    PValueCounts
    """
    return count_keys(encode_p_values(p))


def count_keys(keys: NDArray[np.int32]) -> PValueCounts:
    """Count encoded p-values, shape (m,)."""
    keys = np.sort(keys)
    first = np.flatnonzero(np.diff(keys, prepend=np.int32(-1)))
    return PValueCounts(keys[first], np.diff(first, append=len(keys)))


def merge_p_value_counts(parts: Sequence[PValueCounts]) -> PValueCounts:
    """Add counts. The sum does not depend on the partition of the p-values.

    Parameters
    ----------
    parts : sequence of PValueCounts
        The counts to add; may be empty.

    Returns
    -------
    PValueCounts

    Examples
    --------
    >>> both = merge_p_value_counts([count_p_values(np.array([0.5, 0.02])), count_p_values(np.array([0.02]))])
    >>> decode_p_values(both.keys).tolist(), both.counts.tolist()
    ([0.02, 0.5], [2, 1])
    """
    if not parts:
        return PValueCounts(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64))
    keys = np.concatenate([part.keys for part in parts])
    low, high = keys.min(initial=MAX_KEYS), keys.max(initial=0)
    counts = np.zeros(max(0, high - low + 1), dtype=np.int64)  # 22 MB if p-values of every size occur
    np.add.at(counts, keys - low, np.concatenate([part.counts for part in parts]))
    occurring = np.flatnonzero(counts)
    return PValueCounts((occurring + low).astype(np.int32), counts[occurring])


def compute_q_values(p_value_counts: PValueCounts, method: FdrMethod) -> NDArray[np.float64]:
    """Compute the q-value of each p-value.

    q(p) = min over t ≥ p of c · N · t / #{p ≤ t}, at most 1. With c = 1 (Benjamini and Hochberg 1995, J. R.
    Stat. Soc. B 57, 289-300) the expected share of false discoveries is controlled if the p-values are
    independent or positively dependent. With c = Σ 1/k over k = 1 … N (Benjamini and Yekutieli 2001, Ann.
    Stat. 29, 1165-1188, theorem 1.3) it is controlled under any dependence.

    Parameters
    ----------
    p_value_counts : PValueCounts
        All p-values of a space.
    method : {"bh", "by"}
        Benjamini-Hochberg or Benjamini-Yekutieli.

    Returns
    -------
    float64 array, shape (k,)
        q-values in (0, 1], ascending like the p-values.

    Examples
    --------
    >>> compute_q_values(count_p_values(np.array([0.01, 0.02, 0.03, 0.9])), "bh").round(4).tolist()
    [0.04, 0.04, 0.04, 0.9]
    """
    n_p_values = p_value_counts.total
    scale = n_p_values * (compute_harmonic_number(n_p_values) if method == "by" else 1.0)
    q = scale * decode_p_values(p_value_counts.keys) / np.cumsum(p_value_counts.counts)
    return np.minimum(np.minimum.accumulate(q[::-1])[::-1], 1.0)


def compute_harmonic_number(n: int) -> float:
    """Compute Σ 1/k over k = 1 … n, the n-th harmonic number, to machine precision.

    Parameters
    ----------
    n : int
        Number of terms, at least 0.

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
    p_value_counts : PValueCounts
        All p-values of a space.
    method : {"bh", "by"}
        Benjamini-Hochberg or Benjamini-Yekutieli.
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
    p_value_counts : PValueCounts
        The p-values.
    n_bins : int
        Number of bins, at least 1. A value on an edge counts in the lower bin.

    Returns
    -------
    int64 array, shape (n_bins,)
        Approximately uniform if no feature is related to the target.

    Examples
    --------
    >>> count_p_values_per_bin(count_p_values(np.array([0.001, 0.05, 0.051, 1.0]))).tolist()
    [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    """
    # p-values have four digits: rounding removes the error of the product at bin edges.
    bins = np.ceil(np.round(decode_p_values(p_value_counts.keys) * n_bins, 9)).astype(np.int64) - 1
    counts = np.zeros(n_bins, dtype=np.int64)
    np.add.at(counts, np.maximum(bins, 0), p_value_counts.counts)
    return counts

"""Encode p-values of Pearson's r without evaluating the incomplete beta function for each.

With n rows, a = (n − 2)/2 and s = 1 − r², the two-sided p-value is I_s(a, 1/2) = s^a · q(r). The factor q is
smooth in |r|, so cubic interpolation between 4,096 nodes gives it to a relative error near 10⁻¹¹. A screen
needs four significant digits of a p-value, rounded up (`encode_p_values`). They are decided unless a multiple
of the last digit lies within the error of the interpolated p-value. The few that are not decided are computed
exactly, so all keys are those of the exact p-values.

The error is measured when the table is built: at the middle between all nodes, against the exact function,
with a safety factor. A correlation with an error ε changes p by at most the factor 1 ± |d log p/dr|·ε, where
dp/dr = −2·s^(a−1)/B(a, 1/2).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen._numba import compile_kernel
from symscreen.statistics.inference.p_value_counts import KEYS_PER_DECADE, MIN_P_VALUE, N_DECADES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Flags, Values
    from symscreen.screeners.base import Sign

    Keys = NDArray[np.int32]


_N_NODES = 4096
_LARGEST_R = 0.9999  # q is not tabulated beyond, where s loses digits
_SAFETY_FACTOR = 8.0  # factor for the error at the middle between nodes
_FUNCTION_ERROR = 1e-11  # smallest relative error of the exact function and of the arithmetic
_MAX_CHANGE = 1e-3  # largest relative change of p by the error of r, for which the bound is of first order
_EPSILON, _SQRT_EPSILON = 2.0**-51, 2.0**-25
_MIN_ROWS = 5  # number of rows from which on q is smooth enough

_LOG10 = math.log(10.0)
_LARGEST_UNROUNDED = 0.9999 * (1.0 + 1e-9)  # largest p-value that is not rounded up to 1
_LEAST_DIGITS = 1000  # the four digits of a key, as an integer; 10,000 are the least of the next decade


class _KeyTable(NamedTuple):
    """The interpolation of q, with what the kernel needs of n."""

    factors: Values  # q at the nodes −1, 0, …, N + 1; q(−r) is not that of |r|, so the first is extrapolated
    step: float
    exponent: float  # a
    slope: float  # 2/B(a, 1/2)
    error: float  # relative error of an interpolated p-value
    largest_r: float  # end of the table
    is_complete: bool  # whether all p-values beyond are below the smallest that is counted


def encode_correlations(r: Values, errors: Values, n_rows: int, sign: Sign) -> tuple[Keys, Flags]:
    """Encode the p-values of correlations that are known up to an error.

    Parameters
    ----------
    r : float64 array, shape (m,)
        Correlations in [−1, 1].
    errors : float64 array, shape (m,)
        What they may differ by from the exact ones.
    n_rows : int
        Number of rows.
    sign : {"free", "positive"}
        Two-sided, or one-sided for a positive correlation.

    Returns
    -------
    keys : int32 array, shape (m,)
        Those of `encode_p_values`; arbitrary where they are not decided.
    is_decided : bool array, shape (m,)
        Whether all correlations within the error have this key. With fewer than five rows, none is decided.

    Examples
    --------
    >>> from symscreen.statistics.inference.p_value_counts import decode_p_values
    >>> keys, is_decided = encode_correlations(np.array([0.5, 0.2]), np.zeros(2), 30, "free")
    >>> decode_p_values(keys).tolist(), is_decided.tolist()
    ([0.0049, 0.2894], [True, True])
    """
    keys, is_decided = np.zeros(len(r), dtype=np.int32), np.zeros(len(r), dtype=np.bool_)
    if n_rows >= _MIN_ROWS:
        _encode(r, errors, sign == "free", _build_key_table(n_rows), keys, is_decided)
    return keys, is_decided


@lru_cache(maxsize=8)
def _build_key_table(n_rows: int) -> _KeyTable:
    """Tabulate q, and measure the error of its interpolation."""
    from scipy.special import betainc, betaln

    a = (n_rows - 2.0) / 2.0
    # where s^a is below the smallest p-value, p is, too: q ≤ 1
    limit = math.sqrt(-math.expm1(math.log(MIN_P_VALUE / 4.0) / a))
    largest_r = min(limit, _LARGEST_R)
    step = largest_r / _N_NODES

    def compute_factor(r: Values) -> Values:
        s = (1.0 - r) * (1.0 + r)
        with np.errstate(all="ignore"):
            return np.asarray(betainc(a, 0.5, s) / np.exp(a * np.log(s)))

    nodes: Values = step * np.arange(_N_NODES + 1, dtype=np.float64)
    inside = compute_factor(nodes)
    first = 4.0 * inside[0] - 6.0 * inside[1] + 4.0 * inside[2] - inside[3]
    last = 4.0 * inside[-1] - 6.0 * inside[-2] + 4.0 * inside[-3] - inside[-4]
    factors = np.concatenate([[first], inside, [last]])
    middles: Values = np.asarray(nodes[:-1] + step / 2.0)
    exact = compute_factor(middles)
    interpolated = (9.0 * (factors[1:-2] + factors[2:-1]) - factors[:-3] - factors[3:]) / 16.0
    usable = np.isfinite(exact) & (exact > 0.0)
    deviation = np.abs(interpolated[usable] / exact[usable] - 1.0).max()
    rounding = 8.0 * a * float(np.finfo(np.float64).eps)  # error of s^a by that of s
    error = _SAFETY_FACTOR * float(deviation) + rounding + _FUNCTION_ERROR
    slope = 2.0 * math.exp(-float(betaln(a, 0.5)))
    return _KeyTable(factors, step, a, slope, error, largest_r, limit <= _LARGEST_R)


@compile_kernel
def _encode(
    r: Values, errors: Values, is_free: bool, table: _KeyTable, keys: Keys, is_decided: Flags
) -> None:
    """Write keys and whether they are decided, shape (m,)."""
    for k in range(r.size):
        size = abs(r[k])
        if size + errors[k] >= table.largest_r:
            if table.is_complete and size - errors[k] >= table.largest_r:
                is_small = is_free or r[k] > 0.0
                keys[k], is_decided[k] = (0 if is_small else N_DECADES * KEYS_PER_DECADE), True
            continue
        place = size / table.step
        node = int(place)
        t = place - node
        factor = (
            table.factors[node] * (t * (1.0 - t) * (t - 2.0) / 6.0)
            + table.factors[node + 1] * ((t + 1.0) * (t - 1.0) * (t - 2.0) / 2.0)
            + table.factors[node + 2] * ((t + 1.0) * t * (2.0 - t) / 2.0)
            + table.factors[node + 3] * ((t + 1.0) * t * (t - 1.0) / 6.0)
        )
        s = (1.0 - size) * (1.0 + size)
        p = factor * math.exp(table.exponent * math.log(s))
        # the exact function takes s, whose rounding is an error of r
        error = errors[k] + min(_EPSILON / size if size > 0.0 else 1.0, _SQRT_EPSILON)
        change = table.slope / (s * factor) * error
        if not change < _MAX_CHANGE or not p > 0.0:
            continue
        if not is_free:
            p = 0.5 * p if r[k] > 0.0 else 1.0 - 0.5 * p
        keys[k], is_decided[k] = _find_key(p, 2.0 * change + table.error)


@compile_kernel
def _find_key(p: float, error: float) -> tuple[int, bool]:
    """Return the key of a p-value that is known up to a relative error, and whether it is decided."""
    if p * (1.0 + error) < MIN_P_VALUE:
        return 0, True
    if p * (1.0 - error) > _LARGEST_UNROUNDED:
        return N_DECADES * KEYS_PER_DECADE, True
    decade = math.floor(math.log(p) / _LOG10)
    digits = p / 10.0**decade * _LEAST_DIGITS
    low, high = math.ceil(digits * (1.0 - error)), math.ceil(digits * (1.0 + error))
    key = (N_DECADES + decade) * KEYS_PER_DECADE + int(low) - _LEAST_DIGITS
    return key, low == high and _LEAST_DIGITS < low <= 10 * _LEAST_DIGITS

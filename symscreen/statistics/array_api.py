"""T0, its intervals and ξ of plain arrays: what `symscreen.t0`, `t0_interval` and `xi` are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.data.column_types import has_float_collisions
from symscreen.errors import DataError
from symscreen.statistics.inference.t0_interval import compute_t0_intervals as intervals_of
from symscreen.statistics.ranks.sorted_block import SortedBlock, sort_block
from symscreen.statistics.ranks.t0 import compute_t0
from symscreen.statistics.ranks.xi import compute_xi
from symscreen.targets import NumericTarget

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from symscreen.statistics.inference.t0_interval import T0Intervals


__all__ = ["t0", "t0_interval", "xi"]


def t0(Z: ArrayLike, y: ArrayLike) -> NDArray[np.float64] | float:  # noqa: N803  # the paper's symbol
    """Concordant divergence T0 between features and a response (Luo and Li 2024, eq. 18).

    Parameters
    ----------
    Z : array_like, shape (n, q) or (n,)
        Features in columns, or one feature; finite.
    y : array_like, shape (n,)
        The response; finite, not constant, n ≥ 2.

    Returns
    -------
    float64 array, shape (q,), or float for one feature
        In [0, 2Δ], in the unit of y, where Δ is Gini's mean difference of y: 0 where the feature orders the
        rows as y does, 2Δ where it reverses them, Δ on average under independence. Ties in the feature count
        half. Accurate to 1e-12·Δ; the order of the rows does not matter.

    Raises
    ------
    TableError
        If shapes do not agree, a value is not finite, or y is constant.

    Notes
    -----
    O(n log n) for each feature, by the closed form 4/(n(n−1)) · Σ y_i (R_i(y) − R_i(θ)) with mid-ranks R.

    Examples
    --------
    >>> from symscreen import t0
    >>> t0([1.0, 2.0, 3.0], [1.0, 2.0, 4.0]), t0([3.0, 2.0, 1.0], [1.0, 2.0, 4.0])
    (0.0, 4.0)
    """
    return _compute_statistic(compute_t0, Z, y)


def t0_interval(Z: ArrayLike, y: ArrayLike, level: float = 0.95) -> T0Intervals:  # noqa: N803  # as above
    """Compute standard errors and intervals for T0 and Γ = 1 − T0/Δ of features.

    Parameters
    ----------
    Z : array_like, shape (n, q) or (n,)
        Features in columns, or one feature; finite.
    y : array_like, shape (n,)
        The response; finite, not constant, n ≥ 4 rows, drawn independently of each other.
    level : float
        The share of intervals that shall hold the truth, in (0, 1). They are of features chosen beforehand;
        of one chosen as the best of many they are too hopeful.

    Returns
    -------
    T0Intervals
        Arrays of shape (q,), of shape (1,) for one feature: ``error``, ``low``, ``high`` of T0 in the unit of
        y; ``gamma``, ``gamma_low``, ``gamma_high`` in [−1, 1]. The order of the rows does not matter.

    Raises
    ------
    TableError
        If shapes do not agree, a value is not finite, or y is constant.
    OptionError
        If the level is not between 0 and 1, or there are fewer than four rows.

    Notes
    -----
    By leaving out one row at a time, in O(n log n) for each feature: see
    `symscreen.statistics.inference.t0_interval`.
    Where all but a few pairs of rows agree (or disagree) they are wider: n rows in full agreement bound the
    share of pairs that disagree by 1 − α^(1/⌊n/2⌋), α the chance allowed on either side.

    Examples
    --------
    >>> import numpy as np
    >>> from symscreen import t0_interval
    >>> x = np.random.default_rng(0).normal(size=(200, 2))
    >>> found = t0_interval(x[:, 0], x.sum(axis=1))
    >>> bool(found.gamma_low[0] < np.sqrt(0.5) < found.gamma_high[0])
    True
    """
    values, response, _ = _check_arrays(Z, y)
    return intervals_of(values, response, level)


def xi(Z: ArrayLike, y: ArrayLike) -> NDArray[np.float64] | float:  # noqa: N803  # the paper's symbol
    """Chatterjee's coefficient ξ(θ → y) of features and a response (Chatterjee 2021).

    Parameters
    ----------
    Z : array_like, shape (n, q) or (n,)
        Features in columns, or one feature; finite.
    y : array_like, shape (n,)
        The response; finite, not constant, n ≥ 2.

    Returns
    -------
    float64 array, shape (q,), or float for one feature
        At most 1; near 0 under independence, near 1 where y is a function of the feature. Ties in the
        feature are averaged over all ways to break them, so the order of the rows does not matter.

    Raises
    ------
    TableError
        If shapes do not agree, a value is not finite, or y is constant.

    Examples
    --------
    >>> from symscreen import xi
    >>> xi([1.0, 2.0, 3.0, 4.0], [1.0, 4.0, 9.0, 16.0])
    0.4
    """
    return _compute_statistic(compute_xi, Z, y)


def _compute_statistic(
    statistic: Callable[[SortedBlock, NumericTarget], NDArray[np.float64]], features: ArrayLike, y: ArrayLike
) -> NDArray[np.float64] | float:
    values, target, single = _check_arrays(features, y)
    scores = statistic(sort_block(values), target)
    return float(scores[0]) if single else scores


def _check_arrays(features: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NumericTarget, bool]:
    """Return features as rows, in the order of the response; the response; whether there is one feature."""
    block, target = _to_floats(features, "Z"), _to_floats(y, "y")
    if target.ndim != 1:
        raise DataError(f"y has shape {target.shape}; one dimension is needed")
    if block.ndim not in {1, 2} or block.shape[0] != target.size:
        raise DataError(
            f"Z has shape {block.shape} and y {target.shape}; Z must be (n, q) or (n,) with the n of y"
        )
    if not np.isfinite(block).all():
        raise DataError("Z holds NaN or infinity: drop or correct these rows")
    _check_precision(features, block, "Z")
    _check_precision(y, target, "y")
    rows = np.argsort(target, kind="stable")
    values = np.ascontiguousarray(block.reshape(target.size, -1)[rows].T)
    return values, NumericTarget(target[rows]), block.ndim == 1


def _to_floats(array: ArrayLike, name: str) -> NDArray[np.float64]:
    if isinstance(array, np.ma.MaskedArray) and np.ma.getmaskarray(array).any():
        raise DataError(f"{name} holds masked values: drop these rows")
    values = np.asarray(array)
    words = f"{name} holds {values.dtype.name}, and not all of it is a real number"
    if values.dtype.kind not in "biufO":
        raise DataError(words)
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(words) from None


def _check_precision(array: ArrayLike, floats: NDArray[np.float64], name: str) -> None:
    """Refuse numbers of more than 53 bits whose order double precision would lose."""
    values = np.asarray(array)
    if values.dtype.kind not in "iuO":
        return
    rows = len(values)
    for exact, rounded in zip(values.reshape(rows, -1).T, floats.reshape(rows, -1).T, strict=True):
        if has_float_collisions(exact, rounded):
            raise DataError(
                f"{name} holds whole numbers or decimals that double precision cannot tell apart: subtract "
                "an offset first"
            )

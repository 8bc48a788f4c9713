"""T0, its intervals and ξ of plain arrays: the public functions `symscreen.t0`, `t0_interval` and `xi`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.data.column_types import has_float_collisions
from symscreen.errors import DataError
from symscreen.statistics.inference.t0_interval import compute_t0_intervals
from symscreen.statistics.ranks.sorted_block import SortedBlock, sort_block
from symscreen.statistics.ranks.t0 import compute_t0
from symscreen.statistics.ranks.xi import compute_xi
from symscreen.targets import NumericTarget

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from symscreen.statistics.inference.t0_interval import T0Intervals


def t0(Z: ArrayLike, y: ArrayLike) -> NDArray[np.float64] | float:  # noqa: N803  # the paper's symbol
    """Concordant divergence T0 between features and a target (Luo and Li 2024, eq. 18).

    Parameters
    ----------
    Z : array_like, shape (n, q) or (n,)
        Features in columns, or one feature; finite.
    y : array_like, shape (n,)
        The target; finite, not constant, n ≥ 2.

    Returns
    -------
    float64 array, shape (q,), or float for one feature
        In [0, 2Δ], in the unit of y, where Δ is Gini's mean difference of y. T0 is 0 if the feature orders
        the rows as y does, 2Δ if it reverses them, and Δ on average under independence. Ties in the feature
        count half. Accurate to 1e-12·Δ. Does not depend on the order of the rows.

    Raises
    ------
    DataError
        If shapes do not agree, a value is not finite, or y is constant.

    Notes
    -----
    O(n log n) per feature, by the closed form 4/(n(n−1)) · Σ y_i (R_i(y) − R_i(θ)) with mid-ranks R.

    Examples
    --------
    >>> from symscreen import t0
    >>> t0([1.0, 2.0, 3.0], [1.0, 2.0, 4.0]), t0([3.0, 2.0, 1.0], [1.0, 2.0, 4.0])
    (0.0, 4.0)
    """
    return _compute_statistic(compute_t0, Z, y)


def t0_interval(Z: ArrayLike, y: ArrayLike, level: float = 0.95) -> T0Intervals:  # noqa: N803  # as above
    """Compute standard errors and confidence intervals of T0 and Γ = 1 − T0/Δ.

    Parameters
    ----------
    Z : array_like, shape (n, q) or (n,)
        Features in columns, or one feature; finite.
    y : array_like, shape (n,)
        The target; finite, not constant, n ≥ 4 independent rows.
    level : float
        The coverage probability, in (0, 1). It holds for features that were chosen in advance. For the best
        of many features the intervals are too optimistic.

    Returns
    -------
    T0Intervals
        Arrays of shape (q,), or (1,) for one feature: ``error``, ``low``, ``high`` of T0 in the unit of y;
        ``gini``, ``gini_low``, ``gini_high`` in [−1, 1]. Does not depend on the order of the rows.

    Raises
    ------
    DataError
        If shapes do not agree, a value is not finite, or y is constant.
    OptionError
        If the level is not between 0 and 1, or there are fewer than four rows.

    Notes
    -----
    The jackknife over rows, in O(n log n) per feature: see `symscreen.statistics.inference.t0_interval`. If
    all but a few pairs of rows agree (or disagree), the intervals are wider: n rows in full agreement bound
    the share of disagreeing pairs by 1 − α^(1/⌊n/2⌋), where α is the error probability in each tail.

    Examples
    --------
    >>> import numpy as np
    >>> from symscreen import t0_interval
    >>> x = np.random.default_rng(0).normal(size=(200, 2))
    >>> intervals = t0_interval(x[:, 0], x.sum(axis=1))
    >>> bool(intervals.gini_low[0] < np.sqrt(0.5) < intervals.gini_high[0])
    True
    """
    values, target, _ = _check_arrays(Z, y)
    return compute_t0_intervals(values, target, level)


def xi(Z: ArrayLike, y: ArrayLike) -> NDArray[np.float64] | float:  # noqa: N803  # the paper's symbol
    """Chatterjee's coefficient ξ(θ → y) of features and a target (Chatterjee 2021).

    Parameters
    ----------
    Z : array_like, shape (n, q) or (n,)
        Features in columns, or one feature; finite.
    y : array_like, shape (n,)
        The target; finite, not constant, n ≥ 2.

    Returns
    -------
    float64 array, shape (q,), or float for one feature
        At most 1; near 0 under independence, near 1 if y is a function of the feature. Ties in the feature
        are averaged over all ways to break them, so the result does not depend on the order of the rows.

    Raises
    ------
    DataError
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
    """Compute a statistic; a float if `features` is one-dimensional."""
    values, target, single = _check_arrays(features, y)
    scores = statistic(sort_block(values), target)
    return float(scores[0]) if single else scores


def _check_arrays(features: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NumericTarget, bool]:
    """Return features, shape (q, n), and target, both sorted by y, and whether Z is one-dimensional."""
    block, target = _to_floats(features, "Z"), _to_floats(y, "y")
    if target.ndim != 1:
        raise DataError(f"y has shape {target.shape}; it must have one dimension")
    if block.ndim not in {1, 2} or block.shape[0] != target.size:
        raise DataError(
            f"Z has shape {block.shape} and y {target.shape}; Z must be (n, q) or (n,) with the n of y"
        )
    if not np.isfinite(block).all():
        raise DataError("Z contains NaN or infinity: drop or correct these rows")
    _check_precision(features, block, "Z")
    _check_precision(y, target, "y")
    rows = np.argsort(target, kind="stable")
    values = np.ascontiguousarray(block.reshape(target.size, -1)[rows].T)
    return values, NumericTarget(target[rows]), block.ndim == 1


def _to_floats(array: ArrayLike, name: str) -> NDArray[np.float64]:
    """Convert to float64, and raise an error for masked, complex and other unsupported values."""
    if isinstance(array, np.ma.MaskedArray) and np.ma.getmaskarray(array).any():
        raise DataError(f"{name} contains masked values: drop these rows")
    values = np.asarray(array)
    message = f"{name} has the type {values.dtype.name}, and not all of its values are real numbers"
    if values.dtype.kind not in "biufO":
        raise DataError(message)
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(message) from None


def _check_precision(array: ArrayLike, floats: NDArray[np.float64], name: str) -> None:
    """Raise an error if different numbers of more than 53 bits are equal in double precision."""
    values = np.asarray(array)
    if values.dtype.kind not in "iuO":
        return
    rows = len(values)
    for exact, rounded in zip(values.reshape(rows, -1).T, floats.reshape(rows, -1).T, strict=True):
        if has_float_collisions(exact, rounded):
            raise DataError(
                f"{name} contains integers or decimals that are different but equal in double precision: "
                "subtract an offset first"
            )

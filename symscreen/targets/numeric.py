"""Numeric targets and the quantities of them that rank statistics need.

Rows are sorted in ascending order of the target, so statistics do not depend on the order of the source.
The other target types are in their own modules, see `symscreen.targets.registry`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.errors import DataError
from symscreen.messages import hint_option

if TYPE_CHECKING:
    from numpy.typing import NDArray


TargetType = Literal["numeric", "ranking", "stages", "classes", "several", "survival", "weighted"]
TARGET_TYPE_DESCRIPTIONS: dict[TargetType, str] = {
    "numeric": "a numeric target",
    "ranking": "a ranking",
    "stages": "a chain of stages",
    "classes": "a class",
    "several": "several targets",
    "survival": "a time until an event",
    "weighted": "a target with weights",
}

_MAX_MAGNITUDE = 4e307  # of a target value; T0 can reach 2Δ, four times the largest magnitude


@dataclass(frozen=True, eq=False)
class NumericTarget:
    """A numeric target with its rows in ascending order.

    Parameters
    ----------
    values : float64 array, shape (n,)
        Finite, ascending and not constant; n ≥ 2.
    name : str
        Name of the column, for messages and results.

    Raises
    ------
    DataError
        If the values are not finite, not ascending, constant, larger than 4e307 in magnitude, or fewer than
        two.

    Examples
    --------
    >>> y = NumericTarget(np.array([1.0, 2.0, 2.0, 5.0]), "y")
    >>> y.tie_groups.tolist(), y.doubled_ranks.tolist()
    ([0, 1, 1, 2], [2, 5, 5, 8])
    """

    values: NDArray[np.float64]
    name: str = "y"
    target_type: ClassVar[TargetType] = "numeric"

    def __post_init__(self) -> None:
        values = self.values
        if values.ndim != 1 or values.size < 2:
            raise DataError(
                f"the target {self.name!r} has shape {values.shape}: a column of at least 2 rows is needed"
            )
        if not np.isfinite(values).all():
            raise DataError(f"the target {self.name!r} holds NaN or infinity: drop or correct these rows")
        if np.abs(values).max() > _MAX_MAGNITUDE:
            raise DataError(
                f"the target {self.name!r} reaches {np.abs(values).max():g}: differences would overflow; "
                "scale it down"
            )
        if (np.diff(values) < 0).any():
            raise DataError(f"the rows are not in ascending order of the target {self.name!r}")
        if values[0] == values[-1]:
            raise DataError(
                f"the target {self.name!r} is constant ({values[0]:g} in all {values.size} rows): "
                f"nothing can be ranked against it; choose another{hint_option('target')}"
            )

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.values.size)

    @lockfree_cached_property
    def tie_groups(self) -> NDArray[np.int64]:
        """Index of the group of tied values of each row, from 0; shape (n,)."""
        return np.concatenate(([0], np.cumsum(np.diff(self.values) > 0))).astype(np.int64)

    @lockfree_cached_property
    def tie_group_sizes(self) -> NDArray[np.int64]:
        """Number of rows of each group of tied values; shape (n_groups,)."""
        return np.bincount(self.tie_groups).astype(np.int64)

    @property
    def is_untied(self) -> bool:
        """Whether all values are distinct."""
        return bool(self.tie_groups[-1] == self.n - 1)

    @lockfree_cached_property
    def doubled_ranks(self) -> NDArray[np.int64]:
        """Twice the mid-rank of each row, an integer; shape (n,)."""
        last = np.cumsum(self.tie_group_sizes)
        first = last - self.tie_group_sizes + 1
        return (first + last)[self.tie_groups]

    @lockfree_cached_property
    def counts_at_most(self) -> NDArray[np.int64]:
        """r_i of Chatterjee's ξ, the number of rows j with y_j ≤ y_i; shape (n,)."""
        return np.cumsum(self.tie_group_sizes)[self.tie_groups]

    @lockfree_cached_property
    def counts_at_least(self) -> NDArray[np.int64]:
        """l_i of Chatterjee's ξ, the number of rows j with y_j ≥ y_i; shape (n,)."""
        return np.asarray(self.n - np.cumsum(self.tie_group_sizes) + self.tie_group_sizes)[self.tie_groups]

    @lockfree_cached_property
    def centered_values(self) -> tuple[NDArray[np.float64], int]:
        """Distinct values, scaled and centred so that sums over them neither cancel nor overflow.

        Returns
        -------
        values : float64 array, shape (n_groups,)
            y · 2^−e − c for each group of tied values, where c is the mean of y · 2^−e. The scaling is exact.
        exponent : int
            e, the smallest integer with |y| · 2^−e < 1.
        """
        starts = np.cumsum(self.tie_group_sizes) - self.tie_group_sizes
        distinct = self.values[starts]
        _, exponent = np.frexp(np.abs(distinct).max())
        scaled = np.ldexp(distinct, -int(exponent))
        # Not np.dot: BLAS may split the sum between threads, and the last bit would depend on their number.
        mean = float(np.sum(scaled * self.tie_group_sizes) / self.n)
        return scaled - mean, int(exponent)

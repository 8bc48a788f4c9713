"""Numeric targets, with one number per row.

Rows are sorted in ascending order of the target, so statistics do not depend on the order of the source. Ties
are ordered by the inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from symscreen.errors import DataError
from symscreen.messages import Message, hint_option, name_option, quote
from symscreen.statistics.ranks.sorted_values import SortedValues
from symscreen.targets.base import Target, TargetColumns, sort_canonically

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen._typing import Values
    from symscreen.data.target_source import TargetSource
    from symscreen.statistics.inference.order_uncertainty import OrderUncertainty
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.targets.base import RowIndices


_MIN_CODES, _MAX_CODES = 3, 10  # distinct integers from 0 or 1 on, which may be codes of classes
_MIN_ROWS_PER_CODE = 5
_N_FIRST_ROWS = 1_000  # rows that show of most columns that they are not integers
_MAX_MAGNITUDE = 4e307  # largest magnitude of a target; T0 can reach 2Δ, four times this magnitude


@dataclass(frozen=True, eq=False)
class NumericTarget(SortedValues, Target):
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

    name: str = "y"
    target_type: ClassVar[str] = "numeric"
    description: ClassVar[str] = "a numeric target"
    refusal: ClassVar[str] = "supports only {supported}, and this target is numeric"
    pool_screeners: ClassVar[str] = "t0,xi"  # T0 alone would prune what is not monotone: exp(a) - exp(b)
    supports_inference: ClassVar[bool] = True
    accepts_weights: ClassVar[bool] = True

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

    @classmethod
    def matches(cls, source: TargetSource) -> bool:
        """Return False: a target is numeric if no other type matches."""
        del source
        return False

    @classmethod
    def read(cls, source: TargetSource) -> TargetColumns:
        """Read a column of numbers."""
        name, values = source.read_numbers()
        return TargetColumns(
            {name: values},
            lambda inputs, rows: cls.build(inputs, values[rows], name),
            row_filter=source.weight_filter,
            notices=_ask_for_classes(name, values) if source.requested is None else (),
        )

    @classmethod
    def build(cls, inputs: Sequence[Values], values: Values, name: str) -> tuple[RowIndices, Self]:
        """Sort values of shape (n,), ties by the inputs; return the order and the target."""
        order = sort_canonically(inputs, values)
        return order, cls(values[order] + 0.0, name)

    def take_rows(self, inputs: Sequence[Values], rows: RowIndices) -> tuple[RowIndices, NumericTarget]:
        """Build the target of some of the rows."""
        return self.build(inputs, self.values[rows], self.name)

    @classmethod
    def build_example(cls, z: Values) -> NumericTarget:
        """Build a target that a feature determines."""
        return cls(np.asarray(z))

    def replace_values(self, values: Sequence[Values]) -> NumericTarget:
        """Return the target with other values in the same order; one array of shape (n,)."""
        return NumericTarget(values[0], self.name)

    @property
    def data(self) -> Values:
        """The values; shape (n,)."""
        return self.values

    @property
    def gini_mean_difference(self) -> float:
        """Δ, the mean of |y_i − y_j| over pairs of distinct rows."""
        from symscreen.statistics.ranks.t0 import compute_gini_mean_difference

        return compute_gini_mean_difference(self)

    def compute_ranking_metric(self, ordered: SortedBlock) -> Values:
        """Compute Δ − T0 of m features."""
        from symscreen.statistics.ranks.t0 import compute_ranking_metric

        return compute_ranking_metric(ordered, self)

    def compute_xi(self, ordered: SortedBlock) -> Values:
        """Compute ξ of m features."""
        from symscreen.statistics.ranks.xi import compute_xi

        return compute_xi(ordered, self)

    def compute_spearman(self, ordered: SortedBlock) -> Values:
        """Compute Spearman's ρ of m features."""
        from symscreen.statistics.ranks.correlations import compute_spearman

        return compute_spearman(ordered, self)

    def compute_pearson(self, ordered: SortedBlock) -> Values:
        """Compute Pearson's r of m features."""
        from symscreen.statistics.ranks.correlations import compute_pearson

        return compute_pearson(ordered, self)

    def compute_alignment(self, ordered: SortedBlock) -> Values:
        """Compute |Pearson's r| of m features."""
        return np.abs(self.compute_pearson(ordered))

    def bound_t0(self, uncertainty: OrderUncertainty) -> tuple[float, float]:
        """Return the smallest and largest T0 of a feature whose order is uncertain."""
        from symscreen.statistics.inference.order_uncertainty import compute_t0_bounds

        return compute_t0_bounds(uncertainty, self)


def find_codes(values: Values) -> Values | None:
    """Return the distinct values of shape (n,) if they may be codes of classes, else None.

    They may be if they are 3 to 10 integers from 0 or 1 on, with at least five rows for each.
    """
    head = values[:_N_FIRST_ROWS]
    if ((head != np.floor(head)) & ~np.isnan(head)).any():
        return None
    codes = np.unique(values[~np.isnan(values)])
    if not _MIN_CODES <= codes.size <= _MAX_CODES or values.size < _MIN_ROWS_PER_CODE * codes.size:
        return None
    if codes[0] not in {0.0, 1.0} or not np.array_equal(codes, codes[0] + np.arange(codes.size)):
        return None
    return codes


def _ask_for_classes(name: str, values: Values) -> tuple[str, ...]:
    """Ask whether values of shape (n,) are classes, if they are the first few integers."""
    codes = find_codes(values)
    if codes is None:
        return ()
    return (
        Message(
            f"target: {quote(name)} has the integers {codes[0]:g} to {codes[-1]:g} only, and is "
            f"scored as a number; if they are classes, say so: {name_option('target_type', 'classes')}"
        ),
    )

"""Numeric targets with row weights. Only the ratios of the weights matter.

A pair of rows has the weight w_i·w_j. A row of weight 3 is therefore equivalent to three equal rows: it
forms three pairs with every other row, and the pairs among the three carry no information. Rows are sorted by
the target, then by the inputs, then by the weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.errors import DataError
from symscreen.messages import escape_control_chars
from symscreen.statistics.ranks.sorted_values import WeightedValues
from symscreen.targets.base import Target, TargetColumns, sort_canonically
from symscreen.targets.numeric import NumericTarget

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen._typing import Values
    from symscreen.data.target_source import TargetSource
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.targets.base import RowIndices


MAX_WEIGHT_RATIO = 1e18  # largest to smallest weight; Pearson's r loses digits for larger ratios
# largest sum of integer weights; integers up to twice this value are computed exactly
_MAX_INTEGER_SUM = 2.0**51


@dataclass(frozen=True, eq=False)
class WeightedTarget(WeightedValues, Target):
    """A numeric target with its rows in ascending order, and the weight of each row.

    Parameters
    ----------
    sorted_values : NumericTarget
        The target.
    weights : float64 array, shape (n,)
        Positive weights; the largest is at most 10¹⁸ times the smallest.

    Raises
    ------
    DataError
        If the weights are not valid.

    Examples
    --------
    >>> y = WeightedTarget(NumericTarget(np.array([1.0, 2.0, 4.0])), np.array([1.0, 3.0, 2.0]))
    >>> y.weight_sum, y.pair_weight_sum  # 6² − 1² − 3² − 2²
    (6.0, 22.0)
    """

    sorted_values: NumericTarget
    target_type: ClassVar[str] = "weighted"
    description: ClassVar[str] = "a target with weights"
    refusal: ClassVar[str] = "does not support row weights"
    accepts_weights: ClassVar[bool] = True

    def __post_init__(self) -> None:
        w = self.weights
        if w.shape != (self.n,) or not (w > 0.0).all() or w.max() > MAX_WEIGHT_RATIO * w.min():
            raise DataError(
                f"the weights of {escape_control_chars(repr(self.name))} must be one positive number per "
                f"row, the largest at most {MAX_WEIGHT_RATIO:g} times the smallest"
            )

    @classmethod
    def matches(cls, source: TargetSource) -> bool:
        """Return whether row weights differ among the rows of positive weight."""
        return source.has_unequal_weights

    @classmethod
    def read(cls, source: TargetSource) -> TargetColumns:
        """Read a column of numbers and the weights of its rows."""
        name, values = source.read_numbers()
        weights = source.get_weights()
        return TargetColumns(
            {name: values},
            lambda inputs, rows: cls.build(inputs, values[rows], weights[rows], name),
            row_filter=source.weight_filter,
        )

    @classmethod
    def build(
        cls, inputs: Sequence[Values], values: Values, weights: Values, name: str
    ) -> tuple[RowIndices, WeightedTarget]:
        """Sort values and weights of shape (n,); return the order and the target."""
        normalized = normalize_weights(weights)
        order = sort_canonically([*inputs, normalized], values)
        return order, cls(NumericTarget(values[order] + 0.0, name), normalized[order])

    def take_rows(self, inputs: Sequence[Values], rows: RowIndices) -> tuple[RowIndices, WeightedTarget]:
        """Build the target of some of the rows."""
        return self.build(inputs, self.values[rows], self.weights[rows], self.name)

    @classmethod
    def build_example(cls, z: Values) -> WeightedTarget:
        """Build a target that a feature determines."""
        return cls(NumericTarget(z), np.arange(z.size) % 8 + np.ones(z.size))

    @property
    def name(self) -> str:
        """Name of the target, for messages and results."""
        return self.sorted_values.name

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.sorted_values.n

    @property
    def values(self) -> Values:
        """Values of the target; shape (n,)."""
        return self.sorted_values.values

    @property
    def is_untied(self) -> bool:
        """Whether all values are distinct."""
        return self.sorted_values.is_untied

    @property
    def data(self) -> Values:
        """Values and weights; shape (2, n)."""
        return np.stack([self.values, self.weights])

    @property
    def digest_metadata(self) -> list[object]:
        """The type, which no name shows."""
        return ["weighted"]

    @property
    def record(self) -> dict[str, Any]:
        """The effective number of rows."""
        return {"weighted": {"effective_rows": self.effective_sample_size}}

    @classmethod
    def describe_target(cls, data: Mapping[str, Any], options: Mapping[str, Any]) -> list[str]:
        """Describe the weights of the rows."""
        rows = f"{data['rows']:,} rows with weights {escape_control_chars(options['weights'])}"
        n_effective = data["weighted"]["effective_rows"]
        return [f"{rows}: equivalent to {n_effective:,.1f} rows of equal weight."]

    @lockfree_cached_property
    def gini_mean_difference(self) -> float:
        """Δ, the mean of |y_i − y_j| over pairs of distinct rows with weights w_i w_j."""
        from symscreen.statistics.ranks.weighted_ranks import compute_weighted_gini_mean_difference

        return compute_weighted_gini_mean_difference(self)

    def compute_ranking_metric(self, ordered: SortedBlock) -> Values:
        """Compute Δ − T0 of m features."""
        from symscreen.statistics.ranks.weighted_ranks import compute_weighted_ranking_metric

        return compute_weighted_ranking_metric(ordered, self)

    def compute_spearman(self, ordered: SortedBlock) -> Values:
        """Compute Spearman's ρ of m features."""
        from symscreen.statistics.ranks.weighted_ranks import compute_weighted_spearman

        return compute_weighted_spearman(ordered, self)

    def compute_pearson(self, ordered: SortedBlock) -> Values:
        """Compute Pearson's r of m features."""
        from symscreen.statistics.ranks.weighted_ranks import compute_weighted_pearson

        return compute_weighted_pearson(ordered, self)

    def compute_alignment(self, ordered: SortedBlock) -> Values:
        """Compute |Pearson's r| of m features."""
        return np.abs(self.compute_pearson(ordered))


def normalize_weights(weights: Values) -> Values:
    """Scale weights to a form that depends only on their ratios, without rounding.

    Parameters
    ----------
    weights : float64 array, shape (n,)
        Positive, finite weights.

    Returns
    -------
    float64 array, shape (n,)
        Integers whose sum is at most 2⁵¹ are divided by their greatest common divisor. Other weights are
        multiplied by a power of two such that the largest is in [½, 1).

    Examples
    --------
    >>> normalize_weights(np.array([2.0, 4.0, 6.0])).tolist()
    [1.0, 2.0, 3.0]
    >>> normalize_weights(np.array([3.0, 0.5])).tolist()
    [0.75, 0.125]
    """
    if (weights == np.floor(weights)).all() and weights.sum() <= _MAX_INTEGER_SUM:
        return np.asarray(weights / float(np.gcd.reduce(weights.astype(np.int64))))
    _, exponent = np.frexp(weights.max())
    return np.asarray(np.ldexp(weights, -int(exponent)))

"""The null distribution of ξ for features with ties: Pearson's type III with exact moments.

ξ of a feature with ties is 1 − c · Q̄, where Q̄ is the mean of Σ |r_{k+1} − r_k| over all ways to break the
ties (`symscreen.statistics.ranks.xi`). It is a sum over pairs of rows, Q̄ = ½ Σ_ij w_ij |r_i − r_j|, with
weights that depend on the groups of tied rows only. Under independence the rows of r are permuted, so Q̄ is a
quadratic permutation statistic (Mantel 1967). Its k-th moment is a sum over the ways in which k pairs can
share rows::

    E (Σ w_ij d_π(i)π(j))^k = Σ_ways (number of ways) · (Σ of products of w) · (mean of products of d)

Both run over distinct rows. Let d be the distances minus their mean. Then the first moment is 0, and the
second and third are central. Two pairs are equal, share a row, or share none. Three pairs make one of eight
figures.

With few groups Q̄ compares the groups, as an analysis of variance does, and its distribution is that of a sum
of squares: skew, even with many rows. Pearson's type III, a shifted gamma distribution, with the exact mean,
variance and skewness describes it. A feature with few ties has nearly the variance of an untied one, and the
shape of the untied table. If feature and target have two values each, Q̄ depends on one count, whose
hypergeometric distribution is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.statistics.nulls._tie_kernels import (
    combine_figure_sums,
    fill_tied_xi_moments,
    find_tie_patterns,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Integers, Values
    from symscreen.statistics.ranks.sorted_block import SortedBlock


# The figures that two and three pairs make, in the order of the kernels: the number of ordered tuples of
# ordered pairs that make it, and its number of rows.
_FIGURES = {
    "equal": (2, 2),
    "path of two": (4, 3),
    "disjoint": (1, 4),
    "three equal": (4, 2),
    "two equal, one that shares a row": (24, 3),
    "triangle": (8, 3),
    "star": (8, 4),
    "path of three": (24, 4),
    "two equal, one disjoint": (6, 4),
    "path of two, one disjoint": (12, 5),
    "three disjoint": (1, 6),
}
_MIN_ROWS = 20  # number of rows from which on three moments describe the distribution
# variance, relative to that of an untied feature, from which the untied shape is used
_MIN_VARIANCE_RATIO = 0.85
_MIN_SKEWNESS = 1e-3  # skewness below which a normal distribution is used
_EQUAL = 1e-9  # relative difference of equal statistics


def sum_products(r: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum the products of centred distances over all figures of two and three pairs of rows, in O(n).

    Parameters
    ----------
    r : float64 array, shape (n,)
        Ascending.

    Returns
    -------
    float64 array, shape (11,)
        A sum over tuples of distinct rows for each figure, with d_ij = |r_i − r_j| minus its mean.
    """
    n, x = len(r), r - r.mean()
    low, high = _sum_powers_of_differences(x), [sums[::-1] for sums in _sum_powers_of_differences(-x[::-1])]
    distances, squares, cubes = (before + after for before, after in zip(low, high, strict=True))
    mean = float(distances.sum()) / (n * (n - 1.0))
    rho = distances - (n - 1.0) * mean
    sigma = squares - 2.0 * mean * distances + (n - 1.0) * mean**2
    cube = cubes - 3.0 * mean * squares + 3.0 * mean**2 * distances - (n - 1.0) * mean**3
    triangles = 6.0 * float((low[1] * high[0] + low[0] * high[1]).sum())
    triangles -= 3.0 * mean * float((distances * distances - squares).sum())
    triangles += n * (n - 1.0) * (n - 2.0) * 2.0 * mean**3
    ends = 2.0 * float((rho * (x * _sum_before(rho) - _sum_before(rho * x))).sum())
    ends += mean * float((rho * rho).sum())  # Σ ρ is 0
    sums = np.empty(len(_FIGURES))
    combine_figure_sums(
        0.0,
        float(sigma.sum()),
        float(cube.sum()),
        triangles,
        float((rho**3 - 3.0 * rho * sigma + 2.0 * cube).sum()),
        ends - 2.0 * float((sigma * rho).sum()) + float(cube.sum()),
        float((rho * rho - sigma).sum()),
        float((rho * sigma).sum()),
        ends,
        float(((rho * rho - sigma) * rho).sum()),
        sums,
    )
    return sums


def _sum_powers_of_differences(x: Values) -> list[Values]:
    """Compute Σ (x_i − x_j)^k over the rows j before i, for k = 1, 2, 3; each of shape (n,)."""
    count, one, two, three = (_sum_before(x**k) for k in range(4))
    return [
        count * x - one,
        count * x**2 - 2.0 * x * one + two,
        count * x**3 - 3.0 * x**2 * one + 3.0 * x * two - three,
    ]


def _sum_before(x: Values) -> Values:
    """Compute the sum of all elements before each one, shape (n,)."""
    return np.concatenate(([0.0], np.cumsum(x[:-1])))


@dataclass(frozen=True, eq=False)
class TiedXiNull:
    """P-values of ξ of features with ties for one target.

    Parameters
    ----------
    counts_at_most : int64 array, shape (n,)
        r, the number of rows with at most each value of the target, ascending.
    scale : float
        c in ξ = 1 − c · Q̄.
    mean : float
        The mean of ξ over all permutations, the same for all features.
    deviation : float
        The standard deviation of ξ of an untied feature.
    """

    counts_at_most: NDArray[np.int64]
    scale: float
    mean: float
    deviation: float

    @lockfree_cached_property
    def _distance_means(self) -> Values:
        """The mean products of centred distances for each figure, shape (11,)."""
        n = len(self.counts_at_most)
        n_tuples = [float(np.prod(n - np.arange(rows, dtype=np.float64))) for _, rows in _FIGURES.values()]
        return np.asarray(sum_products(self.counts_at_most.astype(np.float64)) / np.array(n_tuples))

    def compute_moments(
        self, ordered: SortedBlock, features: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Compute the standard deviation and the skewness of ξ.

        Parameters
        ----------
        ordered : SortedBlock
            A block of features.
        features : int64 array, shape (m,)
            Those of the block that have ties.

        Returns
        -------
        deviations, skewness : float64 arrays, shape (m,)
        """
        moments = np.empty((len(features), 2))
        counts = np.array([float(count) for count, _ in _FIGURES.values()])
        fill_tied_xi_moments(ordered.order, ordered.values, features, self._distance_means, counts, moments)
        # the sum over ordered pairs is 2 Q̄, and ξ falls where Q̄ rises
        return 0.5 * self.scale * np.sqrt(np.maximum(moments[:, 0], 0.0)), -moments[:, 1]

    def compute_z_scores_and_p_values(
        self, ordered: SortedBlock, features: NDArray[np.int64], statistics: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Compute P(ξ at least as large), or the z-score to look up in the untied table.

        Parameters
        ----------
        ordered : SortedBlock
            A block of features.
        features : int64 array, shape (m,)
            Those of the block that have ties.
        statistics : float64 array, shape (m,)
            Their ξ.

        Returns
        -------
        z : float64 array, shape (m,)
            The standardised ξ where the untied table has the shape of the distribution; NaN elsewhere.
        p_values : float64 array, shape (m,)
            NaN where the untied table is to be used, or where only a bound is known.
        """
        z, p_values = np.full(len(features), np.nan), np.full(len(features), np.nan)
        if len(self.counts_at_most) < _MIN_ROWS:
            return z, p_values
        deviations, skewness = self.compute_moments(ordered, features)
        scores = (statistics - self.mean) / np.maximum(deviations, 1e-300)
        has_untied_shape = deviations**2 >= _MIN_VARIANCE_RATIO * self.deviation**2
        z[has_untied_shape] = scores[has_untied_shape]
        others = np.flatnonzero(~has_untied_shape & (deviations > 0.0))
        p_values[others] = compute_type_iii_sf(scores[others], skewness[others])
        if len(np.unique(self.counts_at_most)) == 2:
            self._fill_two_valued(ordered, features, statistics, z, p_values)
        return z, p_values

    def _fill_two_valued(
        self, ordered: SortedBlock, features: Integers, statistics: Values, z: Values, p_values: Values
    ) -> None:
        """Overwrite the p-values of features with two values, if the target has two values; shape (m,)."""
        n = len(self.counts_at_most)
        sizes = np.empty(len(features), dtype=np.int64)
        is_mirrored = np.zeros(len(features), dtype=np.bool_)
        find_tie_patterns(ordered.order, ordered.values, is_mirrored, features, 0, n, 0, sizes)
        n_lower = int(self.counts_at_most[0])  # rows with the lower value of the target
        for size in np.unique(sizes[sizes > 0]).tolist():
            chosen = np.flatnonzero(sizes == size)
            counts, chances = _compute_hypergeometric(n, n_lower, size)
            other = n - size
            # rows with the lower and the upper value of the target, in the lower and the upper group
            low_low, low_up, up_low, up_up = counts, size - counts, n_lower - counts, other - n_lower + counts
            steps = 2.0 * low_low * low_up / size + 2.0 * up_low * up_up / other
            steps += (low_low * up_up + low_up * up_low) / (size * float(other))
            xi = 1.0 - self.scale * (n - n_lower) * steps
            reached = xi[None, :] >= statistics[chosen][:, None] - _EQUAL
            p_values[chosen] = np.minimum((reached * chances).sum(axis=1), 1.0)
            z[chosen] = np.nan


def _compute_hypergeometric(n: int, n_marked: int, size: int) -> tuple[Values, Values]:
    """Return the possible numbers of marked rows among `size` of n rows, and their probabilities."""
    from scipy.stats import hypergeom  # imported here to keep start-up fast

    counts = np.arange(max(0, size + n_marked - n), min(size, n_marked) + 1)
    return counts.astype(np.float64), np.asarray(hypergeom(n, n_marked, size).pmf(counts))


def compute_type_iii_sf(z: NDArray[np.float64], skewness: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute P(Z ≥ z) of Pearson's type III with mean 0 and variance 1.

    Parameters
    ----------
    z, skewness : float64 arrays, shape (m,)
        With skewness γ > 0, Z is a gamma variable of shape 4/γ², shifted and scaled. With γ < 0 it is −Z of
        the skewness −γ.

    Returns
    -------
    float64 array, shape (m,)
        Probabilities in [0, 1].

    Examples
    --------
    >>> compute_type_iii_sf(np.array([1.0, 1.0, 1.0]), np.array([2.0, 0.0, -2.0])).round(4).tolist()
    [0.1353, 0.1587, 0.0]
    """
    from scipy.special import gammainc, gammaincc, ndtr  # imported here to keep start-up fast

    is_normal = np.abs(skewness) < _MIN_SKEWNESS
    size = np.where(is_normal, 1.0, np.abs(skewness))
    shape = 4.0 / (size * size)
    argument = np.maximum(shape + np.where(skewness > 0.0, z, -z) * np.sqrt(shape), 0.0)
    tail = np.where(skewness > 0.0, gammaincc(shape, argument), gammainc(shape, argument))
    return np.asarray(np.where(is_normal, ndtr(-z), tail))

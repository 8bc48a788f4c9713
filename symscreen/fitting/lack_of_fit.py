"""Test whether a model leaves anything of a target that its inputs explain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.linear_models.row_weights import scale_rows
from symscreen.statistics.ranks.sorted_values import compute_midranks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen._typing import Values
    from symscreen.linear_models.row_weights import RowWeights


_MIN_ROWS, _MAX_ROWS = 10, 5_000  # rows whose neighbours are compared


def compute_lack_of_fit(
    columns: Sequence[Values], residuals: Values, row_weights: RowWeights | None = None
) -> float:
    """Compute the p-value of the hypothesis that residuals do not depend on the inputs.

    Parameters
    ----------
    columns : sequence of float64 array, shape (n,)
        The inputs; at least one.
    residuals : float64 array, shape (n,)
        Residuals of a model.
    row_weights : RowWeights, optional
        Weights of the rows. Each residual is multiplied by the root of its weight.

    Returns
    -------
    float
        One-sided p-value in [0, 1]. A small value says that the model lacks a part of the relation. 1 if
        there are fewer than ten rows, or all residuals are 0.

    Notes
    -----
    Rows with similar inputs have similar values of any smooth function that the model lacks. Let r̃ᵢ be the
    residual of the nearest neighbour of row i. Without such a function, the products rᵢ·r̃ᵢ have mean 0.
    Their sum, divided by the root of the sum of their squares, is then asymptotically normal, also if the
    variance of the noise depends on the inputs. Pairs that are neighbours of each other count twice, and so
    do their squares. The inputs are replaced by their ranks, so that units and skewed distributions have no
    effect.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.uniform(size=300), rng.normal(size=300)
    >>> compute_lack_of_fit([x], np.sin(6 * x) + noise) < 0.001 < compute_lack_of_fit([x], noise)
    True
    """
    from scipy.spatial import KDTree
    from scipy.special import ndtr  # importing scipy.stats takes longer than a small fit

    residuals = scale_rows(residuals, row_weights)
    n = len(residuals)
    # the order of the rows in the table must have no effect
    order = np.lexsort((residuals, *columns))
    rows = order[np.unique(np.linspace(0, n - 1, min(n, _MAX_ROWS)).astype(np.int64))]
    scale = np.abs(residuals[rows]).max(initial=0.0)
    if n < _MIN_ROWS or scale == 0.0:
        return 1.0
    points = np.column_stack([compute_midranks(values[rows]) for values in columns])
    neighbours = KDTree(points).query(points, k=2)[1]
    itself = np.arange(len(rows))
    # with equal inputs, a row may be listed as the second neighbour of itself
    neighbour = np.where(neighbours[:, 0] == itself, neighbours[:, 1], neighbours[:, 0])
    scaled = residuals[rows] / scale
    products = scaled * scaled[neighbour]
    is_mutual = neighbour[neighbour] == itself
    spread = float(np.sqrt((products**2 * (1 + is_mutual)).sum()))
    return 1.0 if spread == 0.0 else float(ndtr(-products.sum() / spread))

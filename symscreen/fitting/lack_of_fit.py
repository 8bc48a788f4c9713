"""Test whether a model leaves anything of a target that its inputs explain.

`compute_lack_of_fit` compares rows with similar inputs. `compute_formula_lack_of_fit` compares rows with
similar values of a formula of the inputs, such as x/z. It finds a missing part that depends on one such
formula also where many inputs keep neighbours far apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.fitting.laws.formula_pool import grow_formula_pool
from symscreen.linear_models.row_weights import scale_rows
from symscreen.statistics.ranks.sorted_values import compute_midranks
from symscreen.statistics.spread_places import select_spread_places

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.grammar import Grammar
    from symscreen.linear_models.row_weights import RowWeights


_MIN_ROWS, _MAX_ROWS = 10, 5_000  # rows whose neighbours are compared
_N_FORMULAS, _MAX_FORMULA_ROWS = 1_000, 2_000  # formulas by which rows are sorted, and rows


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
        there are fewer than ten different rows, or all residuals are 0.

    Notes
    -----
    Rows with similar inputs have similar values of any smooth function that the model lacks. Let r̃ᵢ be the
    residual of the nearest neighbour of row i. Without such a function, the products rᵢ·r̃ᵢ have mean 0.
    Their sum, divided by the root of the sum of their squares, is then asymptotically normal, also if the
    variance of the noise depends on the inputs. Pairs that are neighbours of each other count twice, and so
    do their squares. The inputs are replaced by their ranks, so that units and skewed distributions have no
    effect. Copies of a row are left out.

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
    rows = _order_rows(columns, residuals)
    rows = rows[select_spread_places(len(rows), _MAX_ROWS)]
    scale = np.abs(residuals[rows]).max(initial=0.0)
    if len(rows) < _MIN_ROWS or scale == 0.0:
        return 1.0
    points = np.column_stack([compute_midranks(values[rows]) for values in columns])
    neighbors = KDTree(points).query(points, k=2)[1]
    itself = np.arange(len(rows))
    # with equal inputs, a row may be listed as the second neighbour of itself
    neighbor = np.where(neighbors[:, 0] == itself, neighbors[:, 1], neighbors[:, 0])
    scaled = residuals[rows] / scale
    products = scaled * scaled[neighbor]
    is_mutual = neighbor[neighbor] == itself
    spread = float(np.sqrt((products**2 * (1 + is_mutual)).sum()))
    return 1.0 if spread == 0.0 else float(ndtr(-products.sum() / spread))


def _order_rows(columns: Sequence[Values], residuals: Values) -> NDArray[np.int64]:
    """Order the rows without regard to their order in the table, and leave out copies; shape (m,)."""
    order = np.lexsort((residuals, *columns))
    is_new = np.ones(len(order), dtype=bool)
    # a copied row has the error of its original: it says nothing of the inputs
    is_new[1:] = np.any([np.diff(values[order]) != 0.0 for values in (residuals, *columns)], axis=0)
    return np.asarray(order[is_new])


def compute_formula_lack_of_fit(
    columns: Mapping[str, Values], residuals: Values, grammar: Grammar, row_weights: RowWeights | None = None
) -> float:
    """Compute the p-value of the hypothesis that residuals do not depend on a simple formula of the inputs.

    Parameters
    ----------
    columns : mapping of str to float64 array, shape (n,)
        The inputs by name; at least one.
    residuals : float64 array, shape (n,)
        Residuals of a model.
    grammar : Grammar
        The grammar of the formulas. The 1,000 simplest are tried, on at most 2,000 rows.
    row_weights : RowWeights, optional
        Weights of the rows. Each residual is multiplied by the root of its weight.

    Returns
    -------
    float
        In [0, 1]. The smallest one-sided p-value of all formulas, multiplied by their number (Bonferroni). 1
        with fewer than ten rows or if all residuals are 0.

    Notes
    -----
    Let the rows be sorted by a formula. Neighbours have similar values of any smooth function of it. The
    statistic is Σrᵢ·rᵢ₊₁ / √Σ(rᵢ·rᵢ₊₁)², which is asymptotically normal if the residuals do not depend on the
    inputs. This is the ratio of von Neumann (1941, Annals of Mathematical Statistics 12, 367-395), with a
    variance that holds for errors of any size.

    Examples
    --------
    >>> from symscreen.grammar import load_grammar
    >>> rng = np.random.default_rng(0)
    >>> x, z, noise = *rng.uniform(1, 3, (2, 300)), rng.normal(size=300)
    >>> columns, grammar = {"x": x, "z": z}, load_grammar("basic")
    >>> compute_formula_lack_of_fit(columns, np.sin(9 * x / z), grammar) < 1e-9
    True
    >>> compute_formula_lack_of_fit(columns, noise, grammar) > 0.01
    True
    """
    from scipy.special import ndtr

    residuals = scale_rows(residuals, row_weights)
    rows = _order_rows([*columns.values()], residuals)
    # rows with equal values of a formula must not lie in the order of their residuals
    rows = np.random.default_rng(0).permutation(rows)[:_MAX_FORMULA_ROWS]
    scale = np.abs(residuals[rows]).max(initial=0.0)
    if len(rows) < _MIN_ROWS or scale == 0.0:
        return 1.0
    scaled = residuals[rows] / scale
    pool = grow_formula_pool({name: values[rows] for name, values in columns.items()}, grammar, _N_FORMULAS)
    largest = 0.0
    for values in pool.values[: len(pool)]:
        in_order = scaled[np.argsort(values, kind="stable")]
        products = in_order[1:] * in_order[:-1]
        spread = float(np.sqrt(products @ products))
        if spread > 0.0:
            largest = max(largest, float(products.sum()) / spread)
    return min(1.0, len(pool) * float(ndtr(-largest)))

"""Models of more than four features, where no exhaustive search reaches: greedy and LASSO paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.models.search import EXACT
from symscreen.screeners.lasso import lasso_path
from symscreen.statistics.gram import gram_of
from symscreen.statistics.least_squares import unexplained_shares
from symscreen.statistics.standard import standardised
from symscreen.statistics.stepwise import forward_order, span_tolerance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["models_on_paths"]


def models_on_paths(
    values: NDArray[np.float64], target: NDArray[np.float64], least: int, most: int
) -> dict[tuple[int, ...], float]:
    """Fit the models that forward selection and the LASSO's path pass through.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        The features.
    target : float64 array, shape (n,)
        The response.
    least, most : int
        The sizes of model wanted.

    Returns
    -------
    dict of tuple of int to float
        Models as ascending places, each with the share of variance that least squares leaves.
    """
    gram = gram_of(values, target)
    found = {}
    for members in _passed(values, target, most):
        if least <= len(members) <= most:
            order = members[np.argsort(-np.abs(gram.with_target[members]), kind="stable")]
            share = float(unexplained_shares(gram.columns, gram.target, order[None, :])[0])
            if np.isfinite(share):
                found[tuple(sorted(members.tolist()))] = share
    return found


def _passed(
    values: NDArray[np.float64], target: NDArray[np.float64], most: int
) -> Iterator[NDArray[np.int64]]:
    standard = standardised(values, target)
    spread = float(np.sqrt((standard.target**2).mean()))
    tolerance = span_tolerance(standard.centres, standard.scales)
    order = forward_order(standard.features, standard.target / spread, most, tolerance, EXACT)
    for size in range(1, len(order) + 1):
        yield order[:size]
    for coefficients in lasso_path(values, target).coefficients:
        inside = np.flatnonzero(coefficients)
        if len(inside) > most:
            return
        if len(inside):
            yield inside

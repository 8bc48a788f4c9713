"""Find products y = c · Π xᵢ^aᵢ · A^p · B^q of formulas of a pool and the inputs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.traversal import evaluate_expression
from symscreen.fitting.laws.direction_groups import N_DIRECTIONS
from symscreen.fitting.laws.law import Law
from symscreen.fitting.laws.log_scale import compute_log_scale, linearize_log_scale
from symscreen.fitting.laws.pair_search import MoreRows, PairSearch, select_more_rows
from symscreen.fitting.laws.power_expressions import build_power_product
from symscreen.fitting.laws.power_products import compute_share_without_intercept, fit_power_product

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.law import LawData
    from symscreen.fitting.laws.log_scale import LogScale


_N_RANKED = 60  # pairs that are fitted on all rows if none is exact: their fit is an iteration
_NOISE_RATIO = 2.0  # targets that are larger by this factor than the noise keep most of their weight


def prepare_products(
    data: LawData,
    *,
    with_inputs: bool = True,
    noise: float | None = 0.0,
    prediction: Values | None = None,
) -> PairSearch | None:
    """Prepare the search for products; None if there are too few rows, or no products in the grammar.

    Parameters
    ----------
    data : LawData
        Inputs, target and grammar.
    with_inputs : bool
        Whether powers of all inputs are further factors.
    noise : float or None
        Standard deviation of the noise of the target, as far as known. None for a target without noise: the
        logarithms then have equal errors in at least half of the rows, and so equal weights.
    prediction : float64 array, shape (n,), optional
        Predictions of the target about which its logarithm is linear; see `linearize_log_scale`.
    """
    scale = compute_log_scale(data.columns, data.target, data.units)
    if prediction is not None:
        scale = linearize_log_scale(scale, data.target, prediction)
    if not with_inputs:
        scale = replace(scale, design=scale.design[:, :1], names=())
    rows = _weigh_rows(data, scale, data.pool_rows, noise)
    if not data.has_products or (rows.weights > 0.0).sum() < rows.design.shape[1] + N_DIRECTIONS + 3:
        return None
    further = select_more_rows(data)
    more_rows = None
    if further is not None:
        more = _weigh_rows(data, scale, further, noise)
        columns = {name: values[further] for name, values in data.columns.items()}
        more_rows = MoreRows(columns, *_build_log_scale(more))

    def fit(
        indices: Sequence[int], n_choices: float, signs: Sequence[int] | None = None
    ) -> tuple[float, Law] | None:
        formulas = [data.pool.build_expression(index) for index in indices]
        if signs is None:
            fitted = fit_power_product(formulas, n_choices, data, scale)
        else:
            fitted = _fit_product(formulas, signs, n_choices, data)
        return fitted if fitted is not None and data.allows(fitted[1]) else None

    return PairSearch(
        data.pool,
        *_build_log_scale(rows),
        np.arange(0),
        _N_RANKED,
        len(data.target),
        fit,
        has_copies=not with_inputs,
        max_ranked=data.max_ranked_formulas,
        more_rows=more_rows,
        jobs=data.jobs,
    )


def _weigh_rows(data: LawData, scale: LogScale, rows: NDArray[np.int64], noise: float | None) -> LogScale:
    """Return the logarithms of some rows with the weights that follow from the noise."""
    taken = scale.take(rows)
    return _level_weights(taken) if noise is None else _lower_weights(taken, data.target[rows], noise)


def _build_log_scale(
    rows: LogScale,
) -> tuple[Callable[[Values], tuple[NDArray[np.bool_], Values]], Values, Values]:
    """Return how formulas are mapped to the scale of logarithms, the response, and the nuisance columns."""
    is_used = rows.weights > 0.0

    def take_logarithms(values: Values) -> tuple[NDArray[np.bool_], Values]:
        is_usable = ((values != 0.0) | ~is_used).all(axis=1)
        magnitudes = np.where(is_used, np.abs(values[is_usable]), 1.0)
        return is_usable, np.log(magnitudes) * rows.weights

    return take_logarithms, rows.target * rows.weights, rows.design * rows.weights[:, None]


def _fit_product(
    formulas: Sequence[Expression], signs: Sequence[int], n_choices: float, data: LawData
) -> tuple[float, Law] | None:
    """Fit the coefficient of a product with the exponents 1 and −1."""
    powers = [(formula, Fraction(sign)) for formula, sign in zip(formulas, signs, strict=True)]
    term = build_power_product(powers)
    values = evaluate_expression(term, data.columns)
    if not np.isfinite(values).all() or not values.any():
        return None
    law = Law((term,), has_intercept=False, search_size=n_choices * 2.0 ** len(signs))
    return compute_share_without_intercept(values, data.target), law


def _level_weights(scale: LogScale) -> LogScale:
    """Give the larger half of the targets equal weights; smaller ones may have errors by cancellation."""
    middle = np.median(scale.weights)
    if middle == 0.0:  # most targets are 0, and have no logarithm
        middle = np.median(scale.weights[scale.weights > 0.0])
    return replace(scale, weights=np.minimum(scale.weights / middle, 1.0))


def _lower_weights(scale: LogScale, target: Values, noise: float) -> LogScale:
    """Lower the weights of targets that are hardly larger than the noise, whose logarithms are wrong."""
    squares = target**2
    return (
        scale
        if noise == 0.0
        else replace(scale, weights=scale.weights * squares / (squares + (_NOISE_RATIO * noise) ** 2))
    )

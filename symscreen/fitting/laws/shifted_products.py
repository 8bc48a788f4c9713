"""Find power products with an intercept: y = c₀ + c · Π xᵢ^aᵢ.

The logarithm of such a law is not linear, so the exponents come from a nonlinear least-squares fit on the
scale of y. For small exponents, c·Π xᵢ^aᵢ is nearly linear in the logarithms of the inputs. So a linear
regression gives the ratios of the exponents, and a few multiples of them are tried as starts. The fitted
exponents are rounded to simple fractions where their standard errors allow. The cost does not depend on a
pool of formulas, so the law is found with any number of inputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import Column
from symscreen.fitting.laws.exponents import (
    count_allowed_exponents,
    list_roots,
    restrict_exponents,
    simplify_exponents,
)
from symscreen.fitting.laws.gauss_newton import estimate_robust_covariance, improve_fit, solve_least_squares
from symscreen.fitting.laws.law import Law
from symscreen.fitting.laws.log_scale import compute_log_scale
from symscreen.fitting.laws.power_expressions import build_power_product

if TYPE_CHECKING:
    from symscreen._typing import Values
    from symscreen.fitting.laws.law import LawData


_MAX_ROWS = 4_000  # largest number of rows on which the exponents are fitted
_START_MULTIPLES = (-2.0, -1.0, -0.5, 0.5, 1.0, 2.0)  # largest exponents of the starts
_N_STARTS = 2  # number of starts from which the fit goes on
_MIN_ERRORS = 4.0  # smallest distance of the intercept from 0, in standard errors
_MIN_INTERCEPT = 1e-8  # smallest intercept, relative to the target; less is rounding


def find_shifted_products(data: LawData) -> list[Law]:
    """Find the law y = c₀ + c · Π xᵢ^aᵢ.

    Parameters
    ----------
    data : LawData
        Inputs, target and grammar. Products and quotients must be among its operators, else there are no laws
        of this form. Inputs with values that are not positive take no part.

    Returns
    -------
    list of Law
        One law with an intercept; none if the exponents are not simple, or the intercept does not differ from
        0.

    Examples
    --------
    >>> from symscreen.fitting.laws.law import LawData
    >>> from symscreen.grammar import load_grammar
    >>> rng = np.random.default_rng(0)
    >>> m, v, r = rng.uniform(1, 5, (3, 200))
    >>> target = 7 + 3 * m * v**2 / np.sqrt(r) + rng.normal(size=200)
    >>> data = LawData({"m": m, "r": r, "v": v}, target, load_grammar("physics"))
    >>> print(find_shifted_products(data)[0].terms[0])
    m*v**2/sqrt(r)
    """
    columns = {name: values for name, values in data.columns.items() if (values > 0.0).all()}
    if not data.has_products or not columns or len(data.target) <= len(columns) + 3:
        return []
    scale = compute_log_scale(columns, data.target, data.units)
    base, directions = restrict_exponents((), scale)
    if directions is None or not directions.shape[1]:
        return []
    rows = data.select_rows(_MAX_ROWS)
    logs = scale.design[rows, 1:]
    with np.errstate(all="ignore"):  # overflow gives worse fits, or values that are not finite
        fitted = _fit_shifted_product(logs @ base, logs @ directions, data.target[rows])
    if fitted is None:
        return []
    free_exponents, covariance = fitted
    _, simple = simplify_exponents(
        base + directions @ free_exponents,
        directions @ covariance @ directions.T,
        list_roots(data.grammar),
        has_decided=scale.lattice is not None,
    )
    powers = [power for power in simple if power is not None]
    if len(powers) < len(simple) or not any(powers):
        return []
    factors = zip(map(Column, scale.names), powers, strict=True)
    term = build_power_product([(factor, power) for factor, power in factors if power])
    if not np.isfinite(evaluate_expression(term, data.columns)).all():
        return []
    law = Law((term,), has_intercept=True, search_size=count_allowed_exponents(powers, scale))
    return [law] if data.allows(law) else []


def _fit_shifted_product(offset: Values, logs: Values, target: Values) -> tuple[Values, Values] | None:
    """Fit y = c₀ + c·exp(offset + logs·b); return b and its covariance, None if c₀ does not differ from 0.

    Parameters
    ----------
    offset : float64 array, shape (n,)
        Logarithm of the part of the product that is given.
    logs : float64 array, shape (n, d)
        Logarithms whose factors b are fitted.
    target : float64 array, shape (n,)
        The target.
    """
    ones = np.ones(len(target))
    slopes = solve_least_squares(np.vstack([ones, logs.T]), target)
    if slopes is None or not slopes[1:].any():
        return None
    direction = slopes[1:] / np.abs(slopes[1:]).max()
    starts = []
    for multiple in _START_MULTIPLES:
        product = np.exp(offset + logs @ (multiple * direction))
        linear = solve_least_squares(np.vstack([ones, product]), target)
        if linear is not None:
            residuals = target - linear[0] - linear[1] * product
            starts.append((float(residuals @ residuals), np.concatenate([linear, multiple * direction])))

    def predict(parameters: Values) -> Values:
        return np.asarray(parameters[0] + parameters[1] * np.exp(offset + logs @ parameters[2:]))

    def differentiate(parameters: Values) -> Values:
        product = np.exp(offset + logs @ parameters[2:])
        return np.vstack([ones, product, parameters[1] * product * logs.T])

    best = sorted(starts, key=lambda pair: pair[0])[:_N_STARTS]
    fits = [improve_fit(predict, differentiate, start, target) for _, start in best]
    if not fits:
        return None
    parameters, _ = min(fits, key=lambda pair: pair[1])
    covariance = estimate_robust_covariance(differentiate(parameters).T, target - predict(parameters))
    if covariance is None:
        return None
    rounding = _MIN_INTERCEPT * np.abs(target).max()
    if abs(parameters[0]) <= max(_MIN_ERRORS * np.sqrt(covariance[0, 0]), rounding):
        return None
    return parameters[2:], covariance[2:, 2:]

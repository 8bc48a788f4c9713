"""Compare an exact formula of one input with a polynomial that fits as well, by the length of their numbers.

Where an input varies little, every smooth function equals a short polynomial up to rounding. So does some sum
of a few functions with free coefficients, which then says nothing of the relation. The shorter description
wins (minimum description length, Rissanen 1978, Automatica 14, 465-471).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.traversal import (
    collect_columns,
    compute_complexity,
    iterate_calls,
    iterate_constants,
)
from symscreen.fitting.coefficients import get_input_columns, get_targets
from symscreen.fitting.laws.simple_numbers import measure_number

if TYPE_CHECKING:
    from symscreen._typing import Values
    from symscreen.data import Dataset
    from symscreen.expressions.linear_formula import Formula


_MAX_DEGREE = 20
_ROWS_PER_COEFFICIENT = 3
_EPSILON = float(np.finfo(np.float64).eps)
_MAX_RESIDUAL = 64.0  # largest residual of the regression, in roundings of the largest target
_MIN_COEFFICIENT = 4.0  # smallest coefficient, in these roundings; less is an error of the regression
_BITS_OF_SYMBOL = 4.0  # bits for the choice of an operator, a column or a number
_POLYNOMIAL_OPERATORS = frozenset({"add", "sub", "mul", "neg", "square", "cube"})


def find_shorter_polynomial(formula: Formula, dataset: Dataset) -> int | None:
    """Find the degree of a polynomial that fits as well as a formula and has shorter numbers.

    Parameters
    ----------
    formula : Formula
        A formula that leaves nothing but rounding.
    dataset : Dataset
        The rows that it was fitted on.

    Returns
    -------
    int or None
        None if the formula has several inputs or is a polynomial itself, if no polynomial up to degree 20
        fits up to rounding, or if the formula is shorter.
    """
    names = collect_columns(*formula.terms)
    operators = {call.operator.name for term in formula.terms for call in iterate_calls(term)}
    if len(names) != 1 or operators <= _POLYNOMIAL_OPERATORS:
        return None
    values = get_input_columns(dataset)[min(names)]
    values = values / np.abs(values).max()  # huge values have no squares
    target = get_targets(dataset)[formula.target]
    found = []
    for power in (1, 2):  # an even function is a shorter polynomial of the square
        measured = _measure_polynomial(values**power, target)
        if measured is not None:
            found.append((measured[1], power * measured[0]))
    n_bits, degree = min(found, default=(np.inf, 0))
    return degree if n_bits < _measure_formula(formula) else None


def _measure_polynomial(values: Values, target: Values) -> tuple[int, float] | None:
    """Return the degree and the bits of the polynomial that fits up to rounding; None if there is none.

    A coefficient has as many bits as it is larger than the rounding of the target.
    """
    n_different = len(np.unique(values))
    degree = min(_MAX_DEGREE, n_different // _ROWS_PER_COEFFICIENT - 1)
    size = float(np.abs(target).max())
    if degree < 1 or size == 0.0:
        return None
    middle, half = (values.max() + values.min()) / 2.0, float(np.ptp(values)) / 2.0
    design = np.polynomial.chebyshev.chebvander((values - middle) / half, degree)
    coefficients = np.linalg.lstsq(design, target / size, rcond=None)[0]
    if np.abs(design @ coefficients - target / size).max() > _MAX_RESIDUAL * _EPSILON:
        return None
    bits = np.log2(np.maximum(np.abs(coefficients) / _EPSILON, 1.0))
    used = np.flatnonzero(bits > np.log2(_MIN_COEFFICIENT))
    return int(used[-1]), float(bits[used].sum()) + np.log2(_MAX_DEGREE)


def _measure_formula(formula: Formula) -> float:
    """Return the bits of a formula: those of its numbers, and of the choice of its symbols."""
    numbers = [number for number in (formula.intercept, *formula.coefficients) if number]
    bits = sum(map(measure_number, numbers))
    for term in formula.terms:
        inner = [float(constant.value) for constant in iterate_constants(term)]
        bits += sum(map(measure_number, inner)) + _BITS_OF_SYMBOL * compute_complexity(term)
    return bits

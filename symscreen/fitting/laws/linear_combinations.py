"""Find laws with a curve of a linear combination of the inputs, such as 1/(1 + exp(−0.4 − 1.3·x + 0.7·z)).

The slopes of a linear regression are proportional to the weights of the combination for any curve, if the
inputs are independent and normal (Brillinger 1983, A Festschrift for E. L. Lehmann, 97-114). Else they are
a start. Curves of this combination are searched as if it were the only input, see
`symscreen.fitting.laws.curves`. The best of them are then fitted with all weights. The search is left out if
a polynomial of the combination explains much less than a quadratic or cubic polynomial of all inputs.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.traversal import iterate_postorder, rebuild_expression
from symscreen.expressions.tree import Column, Constant, apply_operator
from symscreen.fitting.laws.curves import find_curves
from symscreen.fitting.laws.gauss_newton import estimate_with_errors
from symscreen.fitting.laws.refinement import refine_law
from symscreen.fitting.laws.sum_laws import build_weighted_sum

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen._typing import Values
    from symscreen.expressions.tree import Call, Expression
    from symscreen.fitting.laws.law import Law, LawData


_NAME = "u"  # name of the combination while curves are searched
_MIN_ROWS_PER_INPUT = 8
_MIN_SLOPE = 0.02  # smallest slope of a standardised input, relative to the largest one
_MIN_ERRORS = 3.0  # standard errors by which a slope must differ from 0
_MIN_EXPLAINED = 0.3  # share of the variance that the linear regression must explain
_DEGREE = 5  # degree of the polynomial of the combination
_MAX_LEFT = 0.002  # share of the variance that this polynomial may always leave
_MAX_LEFT_RATIO = 1.3  # share that it may leave, relative to what a polynomial of all inputs leaves
_MIN_ROWS_PER_TERM = 10  # rows per term of a cubic polynomial of all inputs; with fewer rows it is quadratic
_N_REFINED = 3  # number of curves with each number of constants that are refined
_MAX_CONSTANTS = 4  # largest number of constants of a curve besides the weights


def find_laws_of_linear_combination(data: LawData) -> list[Law]:
    """Find the best laws y = g(c + b·φ(Σ wᵢ·xᵢ)) with a curve φ and fitted weights wᵢ.

    Parameters
    ----------
    data : LawData
        Inputs, target and grammar. With units there are no laws, because the numbers inside would have units.

    Returns
    -------
    list of Law
        Laws whose inner constants are marked as fitted; those with the fewest constants first.

    Examples
    --------
    >>> from symscreen.fitting.laws.law import LawData
    >>> from symscreen.grammar import load_grammar
    >>> x, z = np.random.default_rng(0).uniform(-2, 2, (2, 200))
    >>> data = LawData({"x": x, "z": z}, 1 / (1 + np.exp(1 - 1.3 * x + 2.6 * z)), load_grammar("standard"))
    >>> laws = find_laws_of_linear_combination(data)
    >>> any("exp(2.6*z - 1.3*x)" in str(law.terms[0]) for law in laws)
    True
    """
    names = [name for name, values in data.columns.items() if np.ptp(values) > 0.0]
    if data.units is not None or len(names) < 2 or len(data.target) < _MIN_ROWS_PER_INPUT * len(names):
        return []
    weights = _estimate_weights(names, data)
    if len(weights) < 2:
        return []
    combined = np.asarray(sum(weight * data.columns[name] for name, weight in weights.items()))
    if not is_function_promising(combined, [data.columns[name] for name in names], data.target):
        return []
    alone = replace(data, columns={_NAME: combined}, is_allowed=None, required_inputs=None)
    counts: dict[int, int] = {}
    found = []
    for law in find_curves(alone):
        if law.n_constants > _MAX_CONSTANTS or sum(map(_count_columns, law.terms)) > 1:
            continue
        counts[law.n_constants] = counts.get(law.n_constants, 0) + 1
        if counts[law.n_constants] <= _N_REFINED:
            terms = tuple(_substitute(term, weights) for term in law.terms)
            n_constants = law.n_constants + len(weights) - 1
            refined = refine_law(replace(law, terms=terms, n_constants=n_constants), data)
            if refined is not None and data.allows(refined):
                found.append(refined)
    return sorted(found, key=lambda law: law.n_constants)


def _estimate_weights(names: Sequence[str], data: LawData) -> dict[str, float]:
    """Estimate the weights of a combination; that of its first input is 1.

    There are none if the linear regression explains too little. Constant inputs and those with a negligible
    slope are left out.
    """
    names = [name for name in names if np.ptp(data.columns[name])]
    if not names:
        return {}
    columns = np.array([data.columns[name] for name in names])
    scales = columns.std(axis=1)
    design = np.column_stack([np.ones(len(data.target)), ((columns.T - columns.mean(axis=1)) / scales)])
    target = (data.target - data.target.mean()) / data.target.std()
    fitted = estimate_with_errors(design, target) if len(design) > design.shape[1] else None
    if fitted is None:
        return {}
    slopes, errors = fitted[0][1:], fitted[1][1:]
    residuals = target - design[:, 1:] @ slopes
    if float(residuals @ residuals) > (1.0 - _MIN_EXPLAINED) * len(target):
        return {}
    sizes = np.abs(slopes)
    used = np.flatnonzero((sizes > _MIN_ERRORS * errors) & (sizes > _MIN_SLOPE * sizes.max()))
    raw = slopes / scales
    return {names[place]: float(raw[place] / raw[used[0]]) for place in used.tolist()}


def is_function_promising(
    variable: Values, inputs: Sequence[Values], target: Values, factor: Values | None = None
) -> bool:
    """Return whether a polynomial of one variable explains nearly as much as one of all inputs.

    Parameters
    ----------
    variable : float64 array, shape (n,)
        The variable.
    inputs : sequence of float64 array, shape (n,)
        The inputs. Constant ones do not count.
    target : float64 array, shape (n,)
        The target.
    factor : float64 array, shape (n,), optional
        Multiplies the polynomial of the variable.
    """
    if not np.ptp(variable):
        return False
    varying = [each for each in inputs if np.ptp(each)]
    columns = [(each - each.mean()) / each.std() for each in (variable, *varying)]
    powers = np.array([columns[0] ** power for power in range(_DEGREE + 1)])
    factors = (np.ones(len(target)), *columns[1:])
    degree = 3 if comb(len(factors) + 2, 3) <= len(target) / _MIN_ROWS_PER_TERM else 2
    products = [np.prod(each, axis=0) for each in combinations_with_replacement(factors, degree)]
    own = _compute_left(powers if factor is None else powers * factor, target)
    return own <= max(_MAX_LEFT, _MAX_LEFT_RATIO * _compute_left(np.array(products), target))


def _compute_left(rows: Values, target: Values) -> float:
    """Compute the share of the variance of a target, shape (n,), that rows, shape (k, n), leave."""
    residuals = target - rows.T @ np.linalg.lstsq(rows.T, target, rcond=None)[0]
    return float(residuals @ residuals) / float(np.var(target) * len(target))


def _count_columns(term: Expression) -> int:
    """Count how often columns occur in a term."""
    return sum(isinstance(part, Column) for part in iterate_postorder(term))


def _substitute(term: Expression, weights: Mapping[str, float]) -> Expression:
    """Replace the column of the combination in a term by the combination.

    A multiple of it becomes a sum of multiples, such as 0.9·x − 0.7·z.
    """
    columns, numbers = [Column(name) for name in weights], list(weights.values())
    combination = build_weighted_sum(columns, numbers, {0})

    def build_call(call: Call, arguments: list[Expression]) -> Expression:
        factor = arguments[0]
        if call.operator.name == "mul" and isinstance(factor, Constant) and arguments[1] == combination:
            return build_weighted_sum(columns, [factor.value * number for number in numbers], set())
        return apply_operator(call.operator, *arguments)

    return rebuild_expression(
        term, column=lambda column: combination if column.name == _NAME else column, call=build_call
    )

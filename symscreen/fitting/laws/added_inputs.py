"""Find laws y = c·x + M with an input x that is only added, such as E − R·T/F·log(a/b).

In a quadratic regression of y, an input that is only added has a slope but no products with the others. Its
slope is then near c. For simple numbers c, the power products of the other inputs are searched for y − c·x.
If an input T only multiplies y − c·x, another one may be only added to (y − c·x)/T: H − T·(S − R·log(Q)).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.tree import Column, apply_operator
from symscreen.fitting.laws.gauss_newton import estimate_with_errors
from symscreen.fitting.laws.law import Law, build_law_data
from symscreen.fitting.laws.power_expressions import build_power_product
from symscreen.fitting.laws.power_products import find_power_products
from symscreen.fitting.laws.simple_numbers import find_simple_numbers
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen._typing import Values
    from symscreen.fitting.laws.law import LawData


_MIN_INPUTS = 3
_MIN_ROWS_PER_TERM = 3  # number of rows per term of the quadratic regression
_MAX_ERRORS = 3.5  # standard errors above which a product is in the law, and below which a slope is not
_MAX_ADDED = 2  # largest number of inputs that are tried, those with the clearest slopes first
_N_NUMBERS = 2  # simple numbers c that are tried for each input
_N_LAWS = 10
_POOL_LIMIT = 20_000


def find_laws_with_added_inputs(data: LawData) -> list[Law]:
    """Find the best laws y = c·x + d·Π xᵢ^aᵢ · A^p with an input x that is only added.

    Parameters
    ----------
    data : LawData
        Inputs, target and grammar. With units there are no laws of this form.

    Returns
    -------
    list of Law
        Laws of two terms without an intercept, the best for each input first.

    Examples
    --------
    >>> from symscreen.fitting.laws.law import LawData
    >>> from symscreen.grammar import load_grammar
    >>> a, b, t, v = np.random.default_rng(0).uniform(1, 5, (4, 300))
    >>> columns = {"a": a, "b": b, "t": t, "v": v}
    >>> data = build_law_data(columns, v - 0.3 * t * np.log(a / b), load_grammar("standard"))
    >>> sorted(map(str, find_laws_with_added_inputs(data)[0].terms))
    ['t*log(a/b)', 'v']
    """
    if data.units is not None or len(data.columns) < _MIN_INPUTS or data.row_weights is not None:
        return []
    return _find_laws(data, can_factor=True)


def _find_laws(data: LawData, *, can_factor: bool) -> list[Law]:
    """Find the laws; with `can_factor`, also those with another input added to a factor."""
    laws = []
    for name, numbers in _find_added_inputs(data):
        others = {other: values for other, values in data.columns.items() if other != name}
        for number in numbers:
            rest = data.target - number * data.columns[name]
            if data.is_over or np.ptp(rest) == 0.0:
                continue
            reduced = build_law_data(others, rest, data.grammar, pool_limit=_POOL_LIMIT, jobs=data.jobs)
            found = find_power_products(reduced)[:_N_LAWS]
            if can_factor:
                found += _find_laws_times_factor(reduced)
            for law in found:
                whole = replace(
                    law,
                    terms=(Column(name), *law.terms),
                    has_intercept=False,
                    search_size=law.search_size * len(data.columns),
                )
                if data.allows(whole):
                    laws.append(whole)
    return laws


def _find_laws_times_factor(data: LawData) -> list[Law]:
    """Find laws y = x_f·(c·x + M) or (c·x + M)/x_f with an input x_f that only multiplies or divides y."""
    laws = []
    for name, values in data.columns.items():
        rest = {other: own for other, own in data.columns.items() if other != name}
        if len(rest) < _MIN_INPUTS or not values.all():
            continue
        for power in (Fraction(1), Fraction(-1)):
            target = data.target / values ** int(power)
            if not _is_independent(target, name, data):
                continue
            factor = build_power_product([(Column(name), power)])
            inner = build_law_data(rest, target, data.grammar, pool_limit=_POOL_LIMIT, jobs=data.jobs)
            laws += [
                replace(
                    law,
                    terms=tuple(apply_operator(OPERATORS["mul"], factor, term) for term in law.terms),
                    search_size=law.search_size * 2.0 * len(data.columns),
                )
                for law in _find_laws(inner, can_factor=False)
            ]
    return laws


def _is_independent(target: Values, name: str, data: LawData) -> bool:
    """Return whether no term with an input is in the quadratic regression of a target."""
    regression = _fit_quadratic(data.columns, target)
    return (
        regression is not None
        and name in regression.names
        and regression.ratios[1 + regression.names.index(name)] <= _MAX_ERRORS
        and bool((regression.get_product_ratios(name) <= _MAX_ERRORS).all())
    )


@dataclass(frozen=True, eq=False)
class _QuadraticRegression:
    """A quadratic regression on centred inputs of standard deviation 1.

    Parameters
    ----------
    names : list of str
        The k inputs that vary.
    slopes, errors : float64 array, shape (1 + k + k·(k + 1)/2,)
        Coefficients of 1, the inputs and their products, and standard errors.
    pairs : list of (int, int)
        The inputs of each product.
    """

    names: list[str]
    slopes: Values
    errors: Values
    pairs: list[tuple[int, int]]

    @property
    def ratios(self) -> Values:
        """The coefficients in absolute value, in units of their standard errors."""
        return np.abs(self.slopes) / self.errors

    def get_product_ratios(self, name: str) -> Values:
        """Return the ratios of the products with an input."""
        place, first = self.names.index(name), 1 + len(self.names)
        return self.ratios[[first + k for k, pair in enumerate(self.pairs) if place in pair]]


def _fit_quadratic(columns: Mapping[str, Values], target: Values) -> _QuadraticRegression | None:
    """Fit the regression; None if there are too few rows, or an exact fit."""
    names = [name for name, values in columns.items() if np.ptp(values) > 0.0]
    pairs = list(combinations_with_replacement(range(len(names)), 2))
    linear = np.array([(columns[name] - columns[name].mean()) / columns[name].std() for name in names])
    design = np.column_stack([np.ones(len(target)), *linear, *(linear[i] * linear[j] for i, j in pairs)])
    if len(design) < _MIN_ROWS_PER_TERM * design.shape[1]:
        return None
    fitted = estimate_with_errors(design, target)
    if fitted is None or not fitted[1].all():
        return None
    return _QuadraticRegression(names, *fitted, pairs)


def _find_added_inputs(data: LawData) -> list[tuple[str, list[float]]]:
    """Return inputs without products with others, with the simple numbers near their slopes."""
    regression = _fit_quadratic(data.columns, data.target)
    if regression is None:
        return []
    found = []
    for place, name in enumerate(regression.names, start=1):
        ratio = float(regression.ratios[place])
        if ratio > _MAX_ERRORS and (regression.get_product_ratios(name) <= _MAX_ERRORS).all():
            spread = float(data.columns[name].std())
            slope, error = regression.slopes[place] / spread, regression.errors[place] / spread
            numbers = find_simple_numbers(float(slope), _MAX_ERRORS * float(error), keep=_N_NUMBERS)
            if numbers:
                found.append((ratio, name, numbers))
    found.sort(key=lambda each: (-each[0], each[1]))
    return [(name, numbers) for _, name, numbers in found[:_MAX_ADDED]]

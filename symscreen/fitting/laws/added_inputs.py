"""Find laws y = c·x + M with an input x that is only added, such as E − R·T/F·log(a/b).

In a quadratic regression of y, an input that is only added has a slope but no products with the others. Its
slope is then near c. For simple numbers c, the power products of the other inputs are searched for y − c·x.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.tree import Column
from symscreen.fitting.laws.gauss_newton import estimate_with_errors
from symscreen.fitting.laws.law import Law, build_law_data
from symscreen.fitting.laws.power_products import find_power_products
from symscreen.fitting.laws.simple_numbers import find_simple_numbers

if TYPE_CHECKING:
    from symscreen.fitting.laws.law import LawData


_MIN_INPUTS = 3
_MIN_ROWS_PER_TERM = 3  # of the quadratic regression
_MAX_ERRORS = 3.5  # standard errors: products with larger ones are there, slopes with smaller ones are not
_MAX_ADDED = 2  # inputs that are tried, those with the clearest slopes
_N_NUMBERS = 2  # simple numbers c that are tried for each
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
    laws = []
    for name, numbers in _find_added_inputs(data):
        others = {other: values for other, values in data.columns.items() if other != name}
        for number in numbers:
            rest = data.target - number * data.columns[name]
            if data.is_over or np.ptp(rest) == 0.0:
                continue
            reduced = build_law_data(others, rest, data.grammar, pool_limit=_POOL_LIMIT, jobs=data.jobs)
            for law in find_power_products(reduced)[:_N_LAWS]:
                found = replace(
                    law,
                    terms=(Column(name), *law.terms),
                    has_intercept=False,
                    search_size=law.search_size * len(data.columns),
                )
                if data.allows(found):
                    laws.append(found)
    return laws


def _find_added_inputs(data: LawData) -> list[tuple[str, list[float]]]:
    """Return inputs without products with others, with the simple numbers near their slopes."""
    names = [name for name, values in data.columns.items() if np.ptp(values) > 0.0]
    scaled = {name: (data.columns[name] - data.columns[name].mean()) for name in names}
    spreads = {name: float(values.std()) for name, values in scaled.items()}
    pairs = list(combinations_with_replacement(range(len(names)), 2))
    linear = np.array([scaled[name] / spreads[name] for name in names])
    design = np.column_stack([np.ones(len(data.target)), *linear, *(linear[i] * linear[j] for i, j in pairs)])
    if len(design) < _MIN_ROWS_PER_TERM * design.shape[1]:
        return []
    fitted = estimate_with_errors(design, data.target)
    if fitted is None or not fitted[1].all():
        return []
    slopes, errors = fitted
    ratios = np.abs(slopes) / errors
    found = []
    for place, name in enumerate(names):
        products = [1 + len(names) + k for k, pair in enumerate(pairs) if place in pair]
        if ratios[1 + place] > _MAX_ERRORS and (ratios[products] <= _MAX_ERRORS).all():
            slope, error = slopes[1 + place] / spreads[name], errors[1 + place] / spreads[name]
            numbers = find_simple_numbers(float(slope), 2.0 * float(error), keep=_N_NUMBERS)
            if numbers:
                found.append((float(ratios[1 + place]), name, numbers))
    found.sort(key=lambda each: (-each[0], each[1]))
    return [(name, numbers) for _, name, numbers in found[:_MAX_ADDED]]

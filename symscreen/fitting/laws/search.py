"""Run the searches for laws, cheapest first, and fit what they find on the scale of the target."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import log
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from symscreen.expressions.traversal import compute_complexity, evaluate_expression, iterate_constants
from symscreen.expressions.tree import apply_operator
from symscreen.fitting.coefficients import estimate_coefficients
from symscreen.fitting.effort import EFFORTS
from symscreen.fitting.feature_dictionary import make_empty_dictionary
from symscreen.fitting.laws.common_factors import move_common_factors, negate_term
from symscreen.fitting.laws.deep_pool import DEEP_POOL, find_laws_of_deep_pool
from symscreen.fitting.laws.dimensionless_groups import find_laws_of_groups
from symscreen.fitting.laws.fitted_laws import FittedLaw, add_laws, fit_laws
from symscreen.fitting.laws.input_sums import find_laws_of_input_sums
from symscreen.fitting.laws.matched_pairs import find_matched_pairs
from symscreen.fitting.laws.power_products import find_power_products
from symscreen.fitting.laws.rational_forms import find_rational_forms
from symscreen.fitting.laws.refinement import refine_law
from symscreen.fitting.laws.simple_numbers import find_simple_numbers, measure_number, write_number
from symscreen.fitting.laws.single_index import find_single_index_laws
from symscreen.fitting.laws.sufficiency import is_law_sufficient
from symscreen.fitting.laws.sum_laws import build_weighted_sum, is_usable
from symscreen.fitting.laws.transformed_sums import find_transformed_sums
from symscreen.fitting.laws.two_factors import find_two_factor_products
from symscreen.fitting.search_monitor import SearchMonitor
from symscreen.fitting.subset_search import EXACT_SHARE, ModelSearchResult
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symscreen.expressions.tree import Expression
    from symscreen.fitting.effort import Effort
    from symscreen.fitting.laws.law import Law, LawData

    _Stage: TypeAlias = tuple[str, Callable[[LawData], list[Law]]]


_STAGES: tuple[_Stage, ...] = (
    ("power products", find_power_products),
    ("single index", find_single_index_laws),
    ("two factors", find_two_factor_products),
    ("sums of inputs", find_laws_of_input_sums),
    ("transformed sums", find_transformed_sums),
    ("rational forms", find_rational_forms),
    ("matched pairs", find_matched_pairs),
)


# points of the criterion that a clear winner may pay for its search and inner constants; the more stages have
# run, the less likely is a simpler law
_MAX_COST, _COST_PER_STAGE = 20.0, 10.0
_MAX_MERGED = 3  # sums of a stage that are also written as one term
_MAX_UNDEFINED = 2  # undefined laws of each number of constants that are refined


def find_laws(
    data: LawData, effort: Effort = EFFORTS["default"], monitor: SearchMonitor | None = None
) -> list[FittedLaw]:
    """Find candidates for the law behind a target; the stages end once a clear winner explains all.

    Parameters
    ----------
    data : LawData
        Inputs, target and grammar.
    effort : Effort
        Which stages run, and whether they end early.
    monitor : SearchMonitor, optional
        Reports the stages and the best law, and starts no stage after a time limit.

    Returns
    -------
    list of FittedLaw
        In the order of the stages.
    """
    monitor = SearchMonitor() if monitor is None else monitor
    nothing = ModelSearchResult(make_empty_dictionary(len(data.target)), {}, 0, 0)
    found: list[FittedLaw] = []
    for place, (name, find_stage_laws) in list_law_stages(data, effort, monitor.should_stop):
        if not monitor.start(name):
            continue
        laws = refine_undefined_laws(find_stage_laws(data), data)
        fitted = fit_laws(laws, data.columns, data.target, data.row_weights)
        fitted += fit_laws(merge_terms(fitted, data), data.columns, data.target, data.row_weights)
        refined = refine_best_laws(fitted, data, effort.n_refined_laws)
        simplified = [_simplify_law(each, data) for each in refined]
        limited = [(each, _limit_search_size(each.law, data)) for each in simplified]
        found += [replace(each, law=replace(law, stage=name)) for each, law in limited]
        found = _merge_equal_laws(found)
        monitor.report(add_laws(nothing, found))
        max_cost = _MAX_COST + place * _COST_PER_STAGE
        if effort.ends_early and is_law_sufficient(found, data, max_cost=max_cost):
            break
    return found


def list_law_stages(
    data: LawData,
    effort: Effort = EFFORTS["default"],
    should_stop: Callable[[], bool] | None = None,
) -> tuple[tuple[int, _Stage], ...]:
    """Return the searches for laws with their names, each with the number of searches that are simpler.

    With units, the search for laws of groups is the second. It does not count in the numbers of the others.
    If the effort has a deep pool, its search is the last.
    """
    stages: tuple[tuple[int, _Stage], ...] = tuple(enumerate(_STAGES[: effort.n_law_stages]))
    if effort.deep_pool_formulas:
        find_deep = partial(
            find_laws_of_deep_pool, n_formulas=effort.deep_pool_formulas, should_stop=should_stop
        )
        stages = (*stages, (len(stages), (DEEP_POOL, find_deep)))
    return (
        stages
        if data.units is None
        else (*stages[:1], (0, ("dimensionless groups", find_laws_of_groups)), *stages[1:])
    )


def _merge_equal_laws(fitted: Sequence[FittedLaw]) -> list[FittedLaw]:
    """Keep one of equal laws, with the smallest search size: the cheapest search would have been enough."""
    merged: dict[tuple[frozenset[str], bool], FittedLaw] = {}
    for each in fitted:
        key = (frozenset(map(str, each.law.terms)), each.law.has_intercept)
        known = merged.get(key)
        if known is None or each.law.search_size < known.law.search_size:
            merged[key] = each
    return list(merged.values())


def refine_undefined_laws(laws: Sequence[Law], data: LawData) -> list[Law]:
    """Refine the best laws whose fitted constants leave the domain of a function in some rows.

    Noise makes the constant of √(a² + b² − 2.01·a·b·cos θ) a little too large, where the simple number 2 is
    possible. Such laws that stay undefined are left out.
    """
    kept: list[Law] = []
    n_refined: dict[int, int] = {}
    for law in laws:
        values = [evaluate_expression(term, data.columns) for term in law.terms]
        if all(np.isfinite(each).all() for each in values):
            kept.append(law)
        elif law.n_constants and n_refined.get(law.n_constants, 0) < _MAX_UNDEFINED:
            n_refined[law.n_constants] = n_refined.get(law.n_constants, 0) + 1
            refined = refine_law(law, data)
            if refined is not None and data.allows(refined):
                kept.append(refined)
    return kept


def merge_terms(fitted: Sequence[FittedLaw], data: LawData) -> list[Law]:
    """Write the best sums without an intercept as one term, c·(f₁ + b₂·f₂ + …).

    Each is written with fitted constants b, and with the simplest numbers near them, so that the criterion
    decides. I₁ + I₂ + 2·√(I₁·I₂)·cos δ then has one coefficient rather than three.
    """
    sums = [each for each in fitted if len(each.law.terms) > 1 and not each.law.has_intercept]
    laws = []
    for each in sorted(sums, key=lambda each: _compute_score(each, len(data.target)))[:_MAX_MERGED]:
        estimates = estimate_coefficients(
            each.values, data.target, has_intercept=False, row_weights=data.row_weights
        )
        coefficients = estimates.coefficients[1:]
        if not all(map(is_usable, coefficients.tolist())):
            continue
        lead = next((k for k, value in enumerate(coefficients.tolist()) if value > 0.0), 0)
        law, numbers = _limit_search_size(each.law, data), (coefficients / coefficients[lead]).tolist()
        n_constants = law.n_constants + len(numbers) - 1
        merged = [
            replace(law, terms=(build_weighted_sum(law.terms, numbers, {lead}),), n_constants=n_constants)
        ]
        errors = ((estimates.high - estimates.low)[1:] / np.abs(coefficients)).tolist()
        simple = [
            find_simple_numbers(number, abs(number) * (error + errors[lead]), keep=1)
            for number, error in zip(numbers, errors, strict=True)
            if np.isfinite(error + errors[lead]) and error + errors[lead] > 0.0
        ]
        if len(simple) == len(numbers) and all(simple):
            chosen = [1.0 if k == lead else each[0] for k, each in enumerate(simple)]
            term = write_simple_sum(law.terms, chosen)
            n_numbers = 2.0 ** sum(map(measure_number, chosen))
            merged.append(replace(law, terms=(term,), search_size=law.search_size * n_numbers))
        laws += [each for each in merged if data.allows(each)]
    return laws


def write_simple_sum(terms: Sequence[Expression], numbers: Sequence[float]) -> Expression:
    """Build Σ numberₖ·termₖ with plain numbers, positive terms first; the first positive one starts.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(write_simple_sum([parse_expression("x"), parse_expression("y")], [-2.0, 1.0]))
    y - 2*x
    """
    order = sorted(range(len(terms)), key=lambda k: (numbers[k] < 0.0, k))
    total: Expression | None = None
    for k in order:
        number = numbers[k] if total is None else abs(numbers[k])
        part = terms[k]
        if number != 1.0:
            part = apply_operator(OPERATORS["mul"], write_number(number), part)
        name = "add" if numbers[k] > 0.0 else "sub"
        total = part if total is None else apply_operator(OPERATORS[name], total, part)
    assert total is not None  # noqa: S101  # there are terms
    return total


def _compute_score(fitted: FittedLaw, n: int) -> float:
    """Return the EBIC of a law: with its share alone, forms with too many constants would be the best."""
    law = fitted.law
    n_parameters = len(law.terms) + law.has_intercept + law.n_constants
    penalty = 2.0 * log(law.search_size) + n_parameters * log(n)
    return n * log(max(fitted.unexplained_share, EXACT_SHARE)) + penalty


def refine_best_laws(fitted: Sequence[FittedLaw], data: LawData, n_refined: int) -> list[FittedLaw]:
    """Fit the constants inside the best laws on the scale of y, and make them simple numbers if possible.

    Laws whose constants cannot be fitted stay as they are.
    """
    n = len(data.target)

    with_constants = [each for each in fitted if each.law.n_constants]
    best = sorted(with_constants, key=lambda each: _compute_score(each, n))[:n_refined]
    unchanged = [each for each in fitted if not any(each is other for other in best)]
    laws = []
    for each in best:
        refined = refine_law(each.law, data)
        if refined is None or not data.allows(refined):
            unchanged.append(each)
        else:
            laws.append(refined)
    return [*fit_laws(laws, data.columns, data.target, data.row_weights), *unchanged]


def _simplify_law(fitted: FittedLaw, data: LawData) -> FittedLaw:
    """Write the terms of a law in their simplest form, a single one with a positive coefficient."""
    law = fitted.law
    terms = [move_common_factors(term, data.columns) for term in law.terms]
    values = fitted.values
    if len(terms) == 1 and not law.has_intercept and float(values[0] @ data.target) < 0.0:
        negated = negate_term(terms[0])
        if negated is not None:
            terms, values = [negated], -values
    simplified = replace(law, terms=tuple(terms))
    return replace(fitted, law=simplified, values=values) if data.allows(simplified) else fitted


def _limit_search_size(law: Law, data: LawData) -> Law:
    """Limit the cost of a law to the number of formulas whose terms and numbers are not more complex.

    A law is thus as probable as its form is simple, whichever stage finds it.
    """
    n_formulas = 1.0
    known = {abs(float(value)) for value in data.grammar.constants}
    unit = data.target_unit
    for term in law.terms:
        n_formulas *= data.pool.estimate_count(compute_complexity(term), unit)
        for number in iterate_constants(term):
            if not number.fitted and abs(float(number.value)) not in known:
                n_formulas *= 2.0 ** measure_number(float(number.value))
    return replace(law, search_size=min(law.search_size, n_formulas))

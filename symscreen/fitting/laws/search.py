"""Run the searches for laws, cheapest first, and fit what they find on the scale of the target."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from symscreen.expressions.traversal import evaluate_expression
from symscreen.fitting.effort import EFFORTS
from symscreen.fitting.feature_dictionary import make_empty_dictionary
from symscreen.fitting.laws.added_inputs import find_laws_with_added_inputs
from symscreen.fitting.laws.algebraic_relations import find_algebraic_relations
from symscreen.fitting.laws.chosen_inputs import count_all_inputs
from symscreen.fitting.laws.curve_pairs import find_curve_pairs
from symscreen.fitting.laws.curves import find_curves
from symscreen.fitting.laws.deep_pool import find_laws_of_deep_pool
from symscreen.fitting.laws.dimensionless_groups import find_laws_of_groups
from symscreen.fitting.laws.exponential_products import merge_exponentials
from symscreen.fitting.laws.factor_products import find_factor_products
from symscreen.fitting.laws.fitted_laws import FittedLaw, add_laws, fit_laws
from symscreen.fitting.laws.input_sums import find_laws_of_input_sums
from symscreen.fitting.laws.law_forms import (
    compute_law_score,
    limit_search_size,
    merge_terms,
    simplify_law,
    write_power_terms,
    write_readable_terms,
)
from symscreen.fitting.laws.law_selection import compute_law_complexity, round_share
from symscreen.fitting.laws.linear_combinations import find_laws_of_linear_combination
from symscreen.fitting.laws.matched_pairs import find_matched_pairs
from symscreen.fitting.laws.nested_laws import charge_added_terms
from symscreen.fitting.laws.power_products import find_power_products
from symscreen.fitting.laws.rational_forms import search_rational_forms
from symscreen.fitting.laws.refinement import refine_law
from symscreen.fitting.laws.shifted_products import find_shifted_products
from symscreen.fitting.laws.single_index import search_single_index_laws
from symscreen.fitting.laws.sufficiency import is_law_sufficient
from symscreen.fitting.laws.transformed_sums import search_transformed_sums
from symscreen.fitting.laws.two_powers import find_sums_of_two_powers
from symscreen.fitting.laws.wave_sums import find_waves_of_sums
from symscreen.fitting.search_monitor import SearchMonitor
from symscreen.fitting.stage_names import DEEP_POOL
from symscreen.fitting.subset_search import ModelSearchResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from symscreen.fitting.effort import Effort
    from symscreen.fitting.laws.law import Law, LawData

    # A search gives its laws in rounds; a later round may contain laws of those before.
    _Search: TypeAlias = Callable[[LawData], Iterator[list[Law]]]


def find_all_power_products(data: LawData) -> list[Law]:
    """Find power products without and with an intercept."""
    return [*find_power_products(data), *find_shifted_products(data)]


def make_one_round_search(find: Callable[[LawData], list[Law]]) -> _Search:
    """Return a search whose only round has all laws that a function finds."""

    def search(data: LawData) -> Iterator[list[Law]]:
        yield find(data)

    return search


def search_index_laws(data: LawData) -> Iterator[list[Law]]:
    """Search laws of one product of powers: functions of it and sums of two of its powers, then curves.

    Curves have many numbers, so they can be better by chance than a function that is enough.
    """
    rounds = search_single_index_laws(data)
    yield [*next(rounds, []), *find_sums_of_two_powers(data)]
    yield from rounds


def find_all_curves(data: LawData) -> list[Law]:
    """Find curves of one input, pairs of curves of two, and curves of a linear combination of inputs."""
    return [*find_curves(data), *find_curve_pairs(data), *find_laws_of_linear_combination(data)]


def find_all_sums_of_inputs(data: LawData) -> list[Law]:
    """Find functions of a sum of inputs, waves of a sum of products, and sums of an input and a product."""
    return [
        *find_laws_of_input_sums(data),
        *find_waves_of_sums(data),
        *find_laws_with_added_inputs(data),
    ]


class _Stage(NamedTuple):
    """A search with its name, and whether it ends after a round with a law that leaves nothing to explain."""

    name: str
    search: _Search
    ends_if_sufficient: bool = False


_STAGES = (
    _Stage("power products", make_one_round_search(find_all_power_products)),
    _Stage("single index", search_index_laws, ends_if_sufficient=True),
    _Stage("factor products", make_one_round_search(find_factor_products)),
    _Stage("transformed sums", search_transformed_sums),
    _Stage("curves", make_one_round_search(find_all_curves)),
    _Stage("sums of inputs", make_one_round_search(find_all_sums_of_inputs)),
    _Stage("rational forms", search_rational_forms),
    _Stage("algebraic relations", make_one_round_search(find_algebraic_relations)),
    _Stage("matched pairs", make_one_round_search(find_matched_pairs)),
)
_DIMENSIONLESS_GROUPS = _Stage("dimensionless groups", make_one_round_search(find_laws_of_groups))


# points of the criterion that a clear winner may pay for its search and inner constants; the more stages have
# run, the less likely is a simpler law
_MAX_COST, _COST_PER_STAGE = 20.0, 10.0
_MAX_SIMPLIFIED = 10  # laws of each round, best first, that are written in their simplest form
_MAX_UNDEFINED = 2  # undefined laws of each number of constants that are refined


def find_laws(
    data: LawData,
    effort: Effort = EFFORTS["default"],
    monitor: SearchMonitor | None = None,
    *,
    only_stage: str | None = None,
) -> list[FittedLaw]:
    """Find candidates for the law of a target; the stages end once a clear winner explains all.

    Parameters
    ----------
    data : LawData
        Inputs, target and grammar.
    effort : Effort
        Which stages run, and whether they end early.
    monitor : SearchMonitor, optional
        Reports the stages and the best law, and starts no stage after a time limit.
    only_stage : str, optional
        Name of the one stage that runs.

    Returns
    -------
    list of FittedLaw
        In the order of the stages.
    """
    monitor = SearchMonitor() if monitor is None else monitor
    nothing = ModelSearchResult(make_empty_dictionary(len(data.target)), {}, 0, 0)
    found: list[FittedLaw] = []
    for place, stage in list_law_stages(data, effort, monitor.should_stop):
        if (only_stage is not None and stage.name != only_stage) or not monitor.start(stage.name):
            continue
        known: set[Law] = set()
        for laws in stage.search(data):
            new = [law for law in laws if law not in known]
            known.update(new)
            fitted = fit_found_laws(new, data, effort.n_refined_laws)
            found += [replace(each, law=replace(each.law, stage=stage.name)) for each in fitted]
            found = charge_added_terms(_share_search_sizes(_merge_equal_laws(found)), data)
            if monitor.reports_models:
                monitor.report(add_laws(nothing, found))
            max_cost = _MAX_COST + place * _COST_PER_STAGE
            if effort.ends_early and is_law_sufficient(found, data, max_cost=max_cost):
                return found
            if stage.ends_if_sufficient and is_law_sufficient(found, data):
                break
    return found


def fit_found_laws(laws: Sequence[Law], data: LawData, n_refined: int) -> list[FittedLaw]:
    """Fit the laws of a search, the best with inner constants also inside, and write them in simple forms."""
    defined = refine_undefined_laws([write_power_terms(law, data) for law in laws], data)
    defined += merge_exponentials(defined, data)
    fitted = fit_laws(defined, data.columns, data.target, data.row_weights)
    fitted += fit_laws(merge_terms(fitted, data), data.columns, data.target, data.row_weights)
    refined = refine_best_laws(fitted, data, n_refined)
    simplified = simplify_best_laws(refined, data)
    limited = [(each, count_all_inputs(limit_search_size(each.law, data), data)) for each in simplified]
    return [replace(each, law=write_readable_terms(law, data)) for each, law in limited]


def simplify_best_laws(fitted: Sequence[FittedLaw], data: LawData) -> list[FittedLaw]:
    """Write the best laws in their simplest form: those with the best scores with and without their search.

    A simple form lowers the cost of a search, so a law may be the best because of it. The other laws stay as
    they are: all forms take longer to write than the search that found them.
    """
    n = len(data.target)
    orders = (
        lambda each: compute_law_score(each, n),
        lambda each: compute_law_score(replace(each, law=replace(each.law, search_size=1.0)), n),
    )
    best = {id(each) for order in orders for each in sorted(fitted, key=order)[:_MAX_SIMPLIFIED]}
    return [simplify_law(each, data) if id(each) in best else each for each in fitted]


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
        stages = (*stages, (len(stages), _Stage(DEEP_POOL, make_one_round_search(find_deep))))
    return stages if data.units is None else (*stages[:1], (0, _DIMENSIONLESS_GROUPS), *stages[1:])


def list_stage_names() -> list[str]:
    """Return the names of the searches of the default effort in their order, with that of the groups."""
    return [stage.name for stage in (*_STAGES[:1], _DIMENSIONLESS_GROUPS, *_STAGES[1:])]


def _merge_equal_laws(fitted: Sequence[FittedLaw]) -> list[FittedLaw]:
    """Keep one of equal laws, with the smallest search size: the cheapest search would have been enough."""
    merged: dict[tuple[frozenset[str], bool], FittedLaw] = {}
    for each in fitted:
        key = (frozenset(map(str, each.law.terms)), each.law.has_intercept)
        known = merged.get(key)
        if known is None or each.law.search_size < known.law.search_size:
            merged[key] = each
    return list(merged.values())


def _share_search_sizes(fitted: Sequence[FittedLaw]) -> list[FittedLaw]:
    """Give forms of one function, whose shares are equal, the smallest of their search sizes.

    Otherwise E/(c + 1/S) of one search would count as less probable than E*S/(S + c) of another.
    """
    keys = [_build_share_key(each) for each in fitted]
    smallest: dict[tuple[int, bool, float], float] = {}
    for key, each in zip(keys, fitted, strict=True):
        smallest[key] = min(smallest.get(key, np.inf), each.law.search_size)
    return [
        each
        if each.is_exact or each.law.search_size == smallest[key]
        else replace(each, law=replace(each.law, search_size=smallest[key]))
        for key, each in zip(keys, fitted, strict=True)
    ]


def _build_share_key(fitted: FittedLaw) -> tuple[int, bool, float]:
    """Return what forms of one function have in common."""
    law = fitted.law
    return len(law.terms), law.has_intercept, round_share(fitted.unexplained_share)


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


def refine_best_laws(fitted: Sequence[FittedLaw], data: LawData, n_refined: int) -> list[FittedLaw]:
    """Fit the constants inside the best laws on the scale of y, and make them simple numbers if possible.

    Laws whose constants cannot be fitted stay as they are.
    """
    n = len(data.target)

    with_constants = [each for each in fitted if each.law.n_constants]

    def get_order(each: FittedLaw) -> tuple[float, float]:
        """Return what orders laws: exact ones come first, the simplest first, as in the final choice."""
        score, complexity = compute_law_score(each, n), compute_law_complexity(each.law)
        return (-np.inf, complexity) if each.is_exact else (score, complexity)

    best = sorted(with_constants, key=get_order)[:n_refined]
    unchanged = [each for each in fitted if not any(each is other for other in best)]
    laws = []
    for each in best:
        refined = refine_law(each.law, data)
        if refined is None or not data.allows(refined):
            unchanged.append(each)
        else:
            laws.append(refined)
    return [*fit_laws(laws, data.columns, data.target, data.row_weights), *unchanged]

"""Search models among all small subsets of features, space by space.

In a small space, all subsets of one to three features are tried, and subsets of four among the best. In a
large space, every feature is tried alone and with every subset of one or two features of a core of simple
features, because an exact formula usually has one complex term and a few simple ones. If the effort allows,
all pairs of the space are tried, too. The best of these are added to the features of the small spaces, and
all subsets are tried again. Affine copies of a feature give the same model, so only the simplest copy takes
part.

With several targets, one model with the same features is searched, with separate coefficients for each. Its
unexplained share is the mean of the shares of the targets, so it does not depend on their units.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from symscreen.backends.threads import Threads
from symscreen.expansion import sort_features
from symscreen.fitting.constants import refine_constants
from symscreen.fitting.feature_dictionary import (
    TermDictionary,
    build_dictionary,
    make_empty_dictionary,
    select_terms,
)
from symscreen.linear_models.exhaustive_subsets import (
    CoreSubsetModels,
    find_best_models,
    merge_core_models,
    search_core_subsets,
)
from symscreen.linear_models.feature_pair_search import find_best_pairs
from symscreen.linear_models.gram import GramMatrix, compute_gram
from symscreen.linear_models.model_criteria import EXACT_SHARE
from symscreen.linear_models.row_weights import rotate_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.exclusion import Exclusion
    from symscreen.fitting.required_inputs import RequiredInputs
    from symscreen.fitting.search_monitor import SearchMonitor
    from symscreen.linear_models.exhaustive_subsets import RequiredParts
    from symscreen.linear_models.row_weights import RowWeights
    from symscreen.targets.registry import RegressionTarget


_BATCH_VALUES = 1 << 21  # feature values that a thread computes together
MAX_PAIR_VALUES = 50_000_000
"""Maximum number of values of a space whose pairs are all tried; its columns are copied three times."""

_FINALISTS_PER_FEATURE = 3  # candidates per requested feature of a large space; about half are affine copies


@dataclass(frozen=True, eq=False)
class FitData:
    """The data that models are fitted to.

    Parameters
    ----------
    inputs : mapping of str to float64 array, shape (n,)
        The columns by name. Used to fit constants inside formulas.
    target : NumericTarget or MultiOutputTarget
        One or K targets. Several targets share the terms, but have separate coefficients.
    is_allowed : callable, optional
        Decides which terms with fitted constants are allowed. With units, these are the terms that have a
        unit: x² has one, but x to the power of 1.7019 does not.
    required_inputs : RequiredInputs, optional
        Inputs that every model must have.
    guesses : TermDictionary, optional
        Formulas of the user, which take part in all subsets.
    row_weights : RowWeights, optional
        Weights of the rows.
    """

    inputs: Mapping[str, NDArray[np.float64]]
    target: RegressionTarget
    is_allowed: Callable[[Expression], bool] | None = None
    required_inputs: RequiredInputs | None = None
    guesses: TermDictionary | None = None
    row_weights: RowWeights | None = None

    def rotate(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map columns, shape (…, n), so that a plain fit of them is the weighted fit."""
        return rotate_rows(values, self.row_weights)

    def compute_gram(self, values: NDArray[np.float64]) -> GramMatrix:
        """Compute the weighted inner products of features, shape (q, n), and the target."""
        return compute_gram(self.rotate(values), self.rotate(self.target.values))


@dataclass(frozen=True, slots=True)
class ModelSearchBudget:
    """Limits of a search.

    Parameters
    ----------
    max_terms : int
        Maximum number of features in a model, 1 to 4. It is reduced to n − 2 for n rows, because some model
        of n − 1 features always interpolates n points.
    exhaustive_features : int
        Maximum size of a space that is searched exhaustively. A larger space contributes this many features.
    core_features : int
        Number of simple features that each feature of a large space is combined with.
    pair_features : int
        Maximum size of a space whose pairs are all tried, if their values are at most `MAX_PAIR_VALUES`.
    four_term_features : int
        Number of features whose subsets of four are all tried.
    models_per_size : int
        Number of models of each size that are kept at every step.
    ends_early : bool
        Whether an exact model ends the search.
    """

    max_terms: int = 4
    exhaustive_features: int = 500
    core_features: int = 40
    pair_features: int = 0
    four_term_features: int = 100
    models_per_size: int = 100
    ends_early: bool = True


@dataclass(frozen=True, eq=False)
class ModelSearchResult:
    """Result of a search.

    Parameters
    ----------
    terms : TermDictionary
        The features of all models.
    models : dict of tuple of int to float
        Unexplained share, 1 − R², of each model, given as ascending term indices. 0 if the share is rounding.
        With several targets, the mean of their shares.
    n_features : int
        Number of features tried.
    n_models : int
        Number of models tried.
    models_without_intercept : frozenset of tuple of int
        The models that have no intercept; 1 − R² of such a model is RSS divided by the sum of squares around
        the mean, too.
    stages : dict of tuple of int to str
        Name of the stage that found a model. Other models were found as subsets.
    exclusion : Exclusion or None
        Which simple formulas the search has excluded, if it searched for laws.
    """

    terms: TermDictionary
    models: dict[tuple[int, ...], float]
    n_features: int
    n_models: int
    models_without_intercept: frozenset[tuple[int, ...]] = frozenset()
    stages: dict[tuple[int, ...], str] = field(default_factory=dict)
    exclusion: Exclusion | None = None

    @property
    def has_exact_model(self) -> bool:
        """Whether some model is exact up to rounding."""
        return any(share <= EXACT_SHARE for share in self.models.values())


def merge_search_results(first: ModelSearchResult, second: ModelSearchResult) -> ModelSearchResult:
    """Merge the results of two searches on the same rows.

    Terms that are affine copies count as one. A term of both searches was chosen from the smaller number.
    """
    terms, indices = first.terms.merge(second.terms)
    terms.search_sizes[indices] = np.minimum(terms.search_sizes[indices], second.terms.search_sizes)
    models = {
        tuple(sorted(indices[list(members)].tolist())): share for members, share in second.models.items()
    }
    return ModelSearchResult(
        terms, models | first.models, first.n_features + second.n_features, first.n_models + second.n_models
    )


def compute_rounding_share(targets: NDArray[np.float64]) -> float:
    """Return the share of the variance of a target that is rounding of its values, at least `EXACT_SHARE`.

    A target far from zero, such as a year, has few digits left for its variance. The shape is (n,), or (K, n)
    for several targets, whose mean share is returned.

    Examples
    --------
    >>> compute_rounding_share(np.array([1.0, 2.0, 3.0]))
    1e-24
    >>> compute_rounding_share(1e9 + np.array([1.0, 2.0, 3.0])) > 1e-14
    True
    """
    return float(np.mean([_compute_rounding(values) for values in np.atleast_2d(targets)]))


def drop_rounding(
    models: Mapping[tuple[int, ...], float], targets: NDArray[np.float64]
) -> dict[tuple[int, ...], float]:
    """Set unexplained shares that are only rounding to 0."""
    rounding = compute_rounding_share(targets)
    return {members: 0.0 if share <= rounding else share for members, share in models.items()}


def _compute_rounding(target: NDArray[np.float64]) -> float:
    """Return the share of the variance of one target, shape (n,), that is rounding."""
    _, exponent = np.frexp(np.abs(target).max())
    values = np.ldexp(target, -int(exponent))
    centered = values - values.mean()
    spacing = 16 * float(np.finfo(np.float64).eps)
    return float(max(EXACT_SHARE, min(spacing**2 * target.size / (centered * centered).sum(), 1.0)))


def search_models(
    spaces: Iterable[Space],
    data: FitData,
    backend: Backend,
    budget: ModelSearchBudget,
    *,
    is_law_found: bool = False,
    monitor: SearchMonitor | None = None,
) -> ModelSearchResult:
    """Search spaces for models with few features, smaller spaces first.

    Parameters
    ----------
    spaces : iterable of Space
        Spaces with values, consumed one by one. Once a model is exact, spaces larger than
        `budget.exhaustive_features` are not searched.
    data : FitData
        Inputs and target for the same rows.
    backend : Backend
        Where chunks are scored. Its threads also try models.
    budget : ModelSearchBudget
        Limits of the search.
    is_law_found : bool
        Whether an earlier stage has found a law that needs no better one. Large spaces are then not searched.
    monitor : SearchMonitor, optional
        Reports the best model, and ends the scan of a large space at a time limit.

    Returns
    -------
    ModelSearchResult
    """
    budget = _limit_budget(budget, data)
    terms, guessed = make_empty_dictionary(data.target.n).merge(get_guesses(data))
    result = ModelSearchResult(terms, {}, 0, 0)
    refined_templates: set[object] = set()
    for space in spaces:
        is_enough = is_law_found or (result.has_exact_model and budget.ends_early)
        if is_enough and space.size > budget.exhaustive_features:
            break
        new_terms = select_terms(space, data.target, budget.exhaustive_features, backend)
        terms, active = result.terms.merge(new_terms)
        result = ModelSearchResult(terms, result.models, result.n_features + space.size, result.n_models)
        if space.size > budget.exhaustive_features:
            result, finalists = _scan_space(result, space, data, backend, budget, monitor=monitor)
            active = np.concatenate((active, finalists))
            if _has_few_pairs(space, budget):
                result, finalists = _scan_pairs(result, space, data, backend, budget, monitor=monitor)
                active = np.concatenate((active, finalists))
        active = np.concatenate((active, guessed))
        result = _search_active_subsets(result, np.unique(active), data, backend, budget)
        result = _finalize(result, data, refined_templates)
        if monitor is not None:
            monitor.report(result)
    return result


def search_all_subsets(
    terms: TermDictionary, n_features: int, data: FitData, backend: Backend, budget: ModelSearchBudget
) -> ModelSearchResult:
    """Try all subsets of a few features.

    Parameters
    ----------
    terms : TermDictionary
        The features.
    n_features : int
        Number of features that they were chosen from.
    data, backend, budget
        See `search_models`.

    Returns
    -------
    ModelSearchResult
    """
    terms, active = make_empty_dictionary(data.target.n).merge(get_guesses(data).concatenate(terms))
    result = ModelSearchResult(terms, {}, n_features, 0)
    result = _search_active_subsets(result, np.unique(active), data, backend, _limit_budget(budget, data))
    return _finalize(result, data, set())


def get_guesses(data: FitData) -> TermDictionary:
    """Return the guesses of the user, which may be none."""
    return make_empty_dictionary(data.target.n) if data.guesses is None else data.guesses


def _limit_budget(budget: ModelSearchBudget, data: FitData) -> ModelSearchBudget:
    """Keep the number of terms below the size at which some model interpolates all points."""
    return replace(budget, max_terms=max(1, min(budget.max_terms, data.target.n - 2)))


def _finalize(
    search_result: ModelSearchResult, data: FitData, refined_templates: set[object]
) -> ModelSearchResult:
    """Set shares that are rounding to 0, and fit the constants inside the best models."""
    target = data.target.values
    terms, models = refine_constants(
        search_result.terms,
        drop_rounding(search_result.models, target),
        data.inputs,
        target,
        refined_templates,
        is_allowed=data.is_allowed,
        row_weights=data.row_weights,
    )
    return replace(search_result, terms=terms, models=drop_rounding(models, target))


def _scan_space(
    search_result: ModelSearchResult,
    space: Space,
    data: FitData,
    backend: Backend,
    budget: ModelSearchBudget,
    *,
    monitor: SearchMonitor | None,
) -> tuple[ModelSearchResult, NDArray[np.int64]]:
    """Try every feature of a large space alone and with each small subset of the core.

    Returns
    -------
    ModelSearchResult
        With the best models and their features.
    int64 array
        Indices of these features among the terms.
    """
    core = _select_core(search_result, data, budget)
    gram = data.compute_gram(search_result.terms.values[core])
    core_terms = [search_result.terms.expressions[index] for index in core.tolist()]
    sizes = tuple(range(min(budget.max_terms, 3)))
    best = [
        CoreSubsetModels(np.zeros(0, np.int64), np.zeros((0, size), np.int32), np.zeros(0)) for size in sizes
    ]
    n_kept = _FINALISTS_PER_FEATURE * budget.models_per_size

    def scan_range(bounds: tuple[int, int]) -> tuple[int, list[CoreSubsetModels]]:
        """Scan the features of a range; return their number and the best models for each size."""
        # The models so far only save work, so it does not matter how many ranges they come from.
        numbers, values = _compute_features(space, *bounds)
        if not len(numbers):
            return 0, []
        required_parts = _find_required_parts(data, core_terms, space, numbers)
        found = search_core_subsets(
            data.rotate(values),
            gram,
            sizes=sizes,
            keep=n_kept,
            max_unexplained=[_get_worst_share(models, n_kept) for models in best],
            required_parts=required_parts,
        )
        return len(numbers), [replace(models, features=numbers[models.features]) for models in found]

    n_scanned, is_cut_short = 0, False
    ranges = space.split_chunks(max(1, _BATCH_VALUES // max(1, space.n_rows)))
    for n_features, found in Threads(backend.jobs).map(scan_range, ranges):
        if found:
            best[:] = [merge_core_models(pair, n_kept) for pair in zip(best, found, strict=True)]
        n_scanned += n_features
        if n_scanned < space.size and monitor is not None and monitor.should_stop():
            is_cut_short = True
            break
    models, finalists = dict(search_result.models), []
    terms = search_result.terms
    for size_models in best:
        terms, indices = _add_finalists(
            terms, build_dictionary(space, size_models.features, float(space.size))
        )
        distinct = list(dict.fromkeys(indices.tolist()))[: budget.models_per_size]
        finalists.append(np.array(distinct, dtype=np.int64))
        for index, subset, share in zip(
            indices.tolist(), core[size_models.subsets], size_models.unexplained, strict=True
        ):
            members = tuple(sorted({index, *subset.tolist()}))
            if len(members) == len(subset) + 1:
                models.setdefault(members, float(share))
    n_subsets = sum(comb(len(core), size) for size in sizes)
    n_left_out = space.size - n_scanned if is_cut_short else 0
    return ModelSearchResult(
        terms,
        models,
        search_result.n_features - n_left_out,
        search_result.n_models + (space.size - n_left_out) * n_subsets,
    ), np.concatenate(finalists)


def _has_few_pairs(space: Space, budget: ModelSearchBudget) -> bool:
    """Return whether all pairs of a space are to be tried."""
    has_pairs = budget.max_terms >= 2 and space.size <= budget.pair_features
    return has_pairs and space.size * space.n_rows <= MAX_PAIR_VALUES


def _scan_pairs(
    search_result: ModelSearchResult,
    space: Space,
    data: FitData,
    backend: Backend,
    budget: ModelSearchBudget,
    *,
    monitor: SearchMonitor | None,
) -> tuple[ModelSearchResult, NDArray[np.int64]]:
    """Try all pairs of a large space; return the result with the best, and their features' indices."""
    numbers, values = _compute_features(space, 0, space.total)
    values = data.rotate(values)
    parts = _find_required_parts(data, [], space, numbers)
    found = find_best_pairs(
        values,
        data.rotate(data.target.values),
        _FINALISTS_PER_FEATURE * budget.models_per_size,
        jobs=backend.jobs,
        required_parts=None if parts is None else replace(parts, parts=parts.streamed_parts),
        should_stop=(lambda: False) if monitor is None else monitor.should_stop,
    )
    features, places = np.unique(found.members, return_inverse=True)
    terms, indices = _add_finalists(
        search_result.terms, build_dictionary(space, numbers[features], float(space.size))
    )
    pairs = np.sort(indices[places.reshape(found.members.shape)], axis=1)
    models: dict[tuple[int, ...], float] = {}
    for pair, share in zip(map(tuple, pairs.tolist()), found.unexplained.tolist(), strict=True):
        if pair[0] < pair[1] and len(models) < budget.models_per_size:
            models.setdefault(pair, share)
    finalists = np.unique(np.array(list(models), dtype=np.int64))
    n_models = search_result.n_models + found.n_tried
    return replace(
        search_result, terms=terms, models=models | search_result.models, n_models=n_models
    ), finalists


def _find_required_parts(
    data: FitData,
    terms: Sequence[Expression],
    space: Space | None = None,
    numbers: NDArray[np.int64] | None = None,
) -> RequiredParts | None:
    """Return the inputs that models must have, for subsets of terms and of features of a space."""
    if data.required_inputs is None:
        return None
    streamed = None
    if space is not None and numbers is not None:
        streamed = data.required_inputs.find_feature_parts(space, numbers)
    return data.required_inputs.find_required_parts(terms, streamed)


def _add_finalists(
    terms: TermDictionary, finalists: TermDictionary
) -> tuple[TermDictionary, NDArray[np.int64]]:
    """Add features to the terms; of affine copies the simplest is kept."""
    indices = np.empty(len(finalists), dtype=np.int64)
    order = sort_features(finalists.keys, finalists.complexity)
    terms, indices[order] = terms.merge(finalists.take(order))
    return terms, indices


def _compute_features(space: Space, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Compute the features of a range; return their numbers, shape (m,), and values, shape (m, n)."""
    blocks = list(space.evaluate_range(start, stop))
    numbers = [np.zeros(0, dtype=np.int64), *(block.numbers for block in blocks)]
    values = [np.zeros((0, space.n_rows)), *(block.values for block in blocks)]
    return np.concatenate(numbers), np.concatenate(values)


def _get_worst_share(models: CoreSubsetModels, n_kept: int) -> float:
    """Return the unexplained share that a further model must not exceed to be kept."""
    return float(models.unexplained[-1]) if len(models.features) == n_kept else np.inf


def _select_core(
    search_result: ModelSearchResult, data: FitData, budget: ModelSearchBudget
) -> NDArray[np.int64]:
    """Select the simplest features; of equally simple ones, those most correlated with the target."""
    gram = data.compute_gram(search_result.terms.values)
    order = np.lexsort((-gram.strength.round(9), search_result.terms.complexity))
    return np.sort(order[: budget.core_features])


def _search_active_subsets(
    search_result: ModelSearchResult,
    active: NDArray[np.int64],
    data: FitData,
    backend: Backend,
    budget: ModelSearchBudget,
) -> ModelSearchResult:
    """Try all subsets of the active features, and of ever fewer and simpler ones, to find simple models."""
    find_best = partial(_find_best_subsets, n_models=budget.models_per_size, jobs=backend.jobs)
    models, n_models = dict(search_result.models), search_result.n_models
    simple = active[np.argsort(search_result.terms.complexity[active], kind="stable")]
    for size in range(1, min(budget.max_terms, 3) + 1):
        count = len(simple)
        while count >= size:
            selected = np.sort(simple[:count])
            models |= find_best(search_result.terms, selected, data, size=size)
            n_models += comb(count, size)
            count //= 2
    selected = _select_four_term_pool(models, search_result.terms, simple, budget.four_term_features)
    if budget.max_terms == 4 and len(selected) >= 4:
        models |= find_best(search_result.terms, selected, data, size=4)
        n_models += comb(len(selected), 4)
    return ModelSearchResult(search_result.terms, models, search_result.n_features, n_models)


def _find_best_subsets(
    terms: TermDictionary,
    chosen: NDArray[np.int64],
    data: FitData,
    *,
    size: int,
    n_models: int,
    jobs: int,
) -> dict[tuple[int, ...], float]:
    """Return the best subsets of one size with their unexplained shares."""
    gram = data.compute_gram(terms.values[chosen])
    required_parts = _find_required_parts(data, [terms.expressions[index] for index in chosen.tolist()])
    members, unexplained = find_best_models(gram, size, n_models, jobs, required_parts)
    return {
        tuple(indices): float(share)
        for indices, share in zip(chosen[members].tolist(), unexplained, strict=True)
    }


def _select_four_term_pool(
    models: Mapping[tuple[int, ...], float],
    terms: TermDictionary,
    simple_terms: NDArray[np.int64],
    limit: int,
) -> NDArray[np.int64]:
    """Return the features of the best models so far, without fitted constants, then simple ones."""
    selected: dict[int, None] = {}
    for members in sorted(models, key=lambda members: (models[members], len(members), members)):
        selected |= dict.fromkeys(index for index in members if not terms.n_constants[index])
        if len(selected) >= limit:
            break
    selected |= dict.fromkeys(simple_terms.tolist())
    return np.sort(np.array(list(selected)[:limit], dtype=np.int64))

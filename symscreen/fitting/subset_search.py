"""The search for models: space by space, each feature and each small set of features tried.

In a small space all subsets of one to three features are tried, and of four among the best. In a large one,
every feature is tried alone and with every subset of one or two of a core of simple features, for an exact
formula is as a rule one deep term and a few simple ones; the best of these join the small space's features,
and all subsets are tried again. To a model affine copies of a feature are the same, so of each only the
simplest takes part, and copies take nobody's place.

Of several responses one model is wanted, with the same features and coefficients for each: what it leaves is
the mean of what it leaves of each, as a share of its variance, so that the units of none of them matter.

Models of more than four features, beyond exhaustive search: greedy and LASSO paths, and exchanges.

Exchanges are sequential replacement (Miller 2002, Subset Selection in Regression, 2nd ed., section 3.3).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from math import comb
from typing import TYPE_CHECKING

import numpy as np

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
from symscreen.linear_models.gram import MIN_PIVOT, GramMatrix, compute_gram, compute_unexplained_shares
from symscreen.linear_models.lasso_path import standardize_features
from symscreen.linear_models.stepwise_selection import compute_span_tolerance, select_forward
from symscreen.screeners.joint.lasso import compute_lasso_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import FeatureBlock, Space
    from symscreen.expressions.tree import Expression
    from symscreen.targets.registry import RegressionTarget


__all__ = [
    "EXACT_SHARE",
    "FitData",
    "ModelSearchBudget",
    "ModelSearchResult",
    "compute_rounding_share",
    "find_path_models",
    "search_all_subsets",
    "search_models",
]

_BATCH_VALUES = 1 << 23
_FINALISTS_PER_FEATURE = (
    3  # finalists of a large space for each that is wanted: about half of them are copies of others
)

EXACT_SHARE = 1e-24
"""A share of the response's variance, left unexplained, that is rounding: (1e-12)²."""


@dataclass(frozen=True, eq=False)
class FitData:
    """What models are fitted to.

    Parameters
    ----------
    inputs : mapping of str to float64 array, shape (n,)
        The columns by name: constants inside formulas are fitted on them.
    response : Response or SeveralResponse
        The response, or K of them that are to have the same terms, with coefficients of their own.
    allowed : callable, optional
        Which terms may come of fitting the constants inside others: under units those that have one, as
        x² may and x to the power of 1.7019 may not.
    """

    inputs: Mapping[str, NDArray[np.float64]]
    target: RegressionTarget
    is_allowed: Callable[[Expression], bool] | None = None


@dataclass(frozen=True, slots=True)
class ModelSearchBudget:
    """How far a search goes.

    Parameters
    ----------
    terms : int
        The most features in a model, 1 to 4; at most two fewer than there are rows, for through n points
        some model of n − 1 features always passes.
    small : int
        A space of so many features is searched exhaustively; of a larger one so many join the dictionary.
    core : int
        How many simple features each feature of a large space is tried with.
    four : int
        Among how many features all subsets of four are tried.
    keep : int
        How many models of each size are kept at every step.
    """

    max_terms: int = 4
    exhaustive_limit: int = 500
    core_size: int = 40
    four_term_pool: int = 100
    models_per_size: int = 100


@dataclass(frozen=True, eq=False)
class ModelSearchResult:
    """What a search found.

    Parameters
    ----------
    terms : Dictionary
        The features of all models.
    models : dict of tuple of int to float
        Models, as ascending places among the terms, with the share of variance that each leaves: 0 where it
        is rounding. Of several responses it is the mean of the shares, 1 − R², that the model leaves of each.
    searched : int
        How many features were tried.
    tried : int
        How many models.
    """

    terms: TermDictionary
    models: dict[tuple[int, ...], float]
    n_features: int
    n_models: int

    @property
    def has_exact_model(self) -> bool:
        """Whether some model leaves nothing but rounding."""
        return any(share <= EXACT_SHARE for share in self.models.values())


def compute_rounding_share(target: RegressionTarget) -> float:
    """Return the share of the response's variance that is rounding of its own digits, at least `EXACT`.

    A response far from zero, such as years, has few digits left for its variance. Of several the mean.

    Examples
    --------
    >>> from symscreen.targets import NumericTarget
    >>> compute_rounding_share(NumericTarget(np.array([1.0, 2.0, 3.0])))
    1e-24
    >>> compute_rounding_share(NumericTarget(1e9 + np.array([1.0, 2.0, 3.0]))) > 1e-14
    True
    """
    return float(np.mean([_compute_rounding(values) for values in np.atleast_2d(target.values)]))


def _compute_rounding(target: NDArray[np.float64]) -> float:
    _, exponent = np.frexp(np.abs(target).max())
    values = np.ldexp(target, -int(exponent))
    around = values - values.mean()
    spacing = 16 * float(np.finfo(np.float64).eps)
    return float(max(EXACT_SHARE, min(spacing**2 * target.size / (around * around).sum(), 1.0)))


def search_models(
    spaces: Iterable[Space], data: FitData, backend: Backend, budget: ModelSearchBudget
) -> ModelSearchResult:
    """Search spaces for models of few features, the smaller spaces first.

    Parameters
    ----------
    spaces : iterable of Space
        With values; taken one by one. Once a model is exact no larger space than `effort.small` is searched.
    data : Data
        Over the same rows.
    backend : Backend
        Where chunks are scored; its threads try models.
    effort : Effort
        How far to go.

    Returns
    -------
    Found
    """
    budget = _limit_budget(budget, data)
    found = ModelSearchResult(make_empty_dictionary(data.target.n), {}, 0, 0)
    known: set[object] = set()
    for space in spaces:
        if found.has_exact_model and space.size > budget.exhaustive_limit:
            break
        fresh = select_terms(space, data.target, budget.exhaustive_limit, backend)
        terms, active = found.terms.merge(fresh)
        found = ModelSearchResult(terms, found.models, found.n_features + space.size, found.n_models)
        if space.size > budget.exhaustive_limit:
            found, finalists = _scan_space(found, space, data.target, backend, budget)
            active = np.concatenate((active, finalists))
        found = _search_active_subsets(found, np.unique(active), data.target, backend, budget)
        found = _finalize(found, data, known)
    return found


def search_all_subsets(
    terms: TermDictionary, n_features: int, data: FitData, backend: Backend, budget: ModelSearchBudget
) -> ModelSearchResult:
    """Try all subsets of a few features.

    Parameters
    ----------
    terms : Dictionary
        The features.
    searched : int
        How many they were chosen from.
    data, backend, effort
        As of `search`.

    Returns
    -------
    Found
    """
    terms, active = make_empty_dictionary(data.target.n).merge(terms)
    found = ModelSearchResult(terms, {}, n_features, 0)
    found = _search_active_subsets(
        found, np.unique(active), data.target, backend, _limit_budget(budget, data)
    )
    return _finalize(found, data, set())


def _limit_budget(budget: ModelSearchBudget, data: FitData) -> ModelSearchBudget:
    """Stay below the size at which some model passes through all points."""
    return replace(budget, max_terms=max(1, min(budget.max_terms, data.target.n - 2)))


def _finalize(
    search_result: ModelSearchResult, data: FitData, refined_templates: set[object]
) -> ModelSearchResult:
    """Take rounding for nothing, and fit the constants inside the best models."""
    rounding = compute_rounding_share(data.target)
    models = {members: 0.0 if share <= rounding else share for members, share in search_result.models.items()}
    aim = data.target.values
    terms, models = refine_constants(
        search_result.terms, models, data.inputs, aim, refined_templates, is_allowed=data.is_allowed
    )
    models = {members: 0.0 if share <= rounding else share for members, share in models.items()}
    return replace(search_result, terms=terms, models=models)


def _scan_space(
    search_result: ModelSearchResult,
    space: Space,
    target: RegressionTarget,
    backend: Backend,
    budget: ModelSearchBudget,
) -> tuple[ModelSearchResult, NDArray[np.int64]]:
    """Try every feature of a large space alone and with each small subset of the core.

    Returns
    -------
    Found
        With the best models and their features.
    int64 array
        The places of these features among the terms.
    """
    core = _select_core(search_result, target, budget)
    gram = compute_gram(search_result.terms.values[core], target.values)
    sizes = tuple(range(min(budget.max_terms, 3)))
    best = [
        CoreSubsetModels(np.zeros(0, np.int64), np.zeros((0, size), np.int32), np.zeros(0)) for size in sizes
    ]
    for block in _iterate_batches(space):
        best = _scan_batch(block, gram, best, _FINALISTS_PER_FEATURE * budget.models_per_size, backend.jobs)
    models, finalists = dict(search_result.models), []
    terms = search_result.terms
    for part in best:
        terms, places = _add_finalists(terms, build_dictionary(space, part.features, float(space.size)))
        distinct = list(dict.fromkeys(places.tolist()))[: budget.models_per_size]
        finalists.append(np.array(distinct, dtype=np.int64))
        for place, subset, share in zip(places.tolist(), core[part.subsets], part.unexplained, strict=True):
            members = tuple(sorted({place, *subset.tolist()}))
            if len(members) == len(subset) + 1:
                models.setdefault(members, float(share))
    subsets = sum(comb(len(core), size) for size in sizes)
    return ModelSearchResult(
        terms, models, search_result.n_features, search_result.n_models + space.size * subsets
    ), np.concatenate(finalists)


def _add_finalists(
    terms: TermDictionary, finalists: TermDictionary
) -> tuple[TermDictionary, NDArray[np.int64]]:
    """Add finalists to the terms, of affine copies the simplest."""
    keys, places = finalists.keys, np.empty(len(finalists), dtype=np.int64)
    simple = np.lexsort((keys[:, 1], keys[:, 0], finalists.complexity))
    terms, places[simple] = terms.merge(finalists.take(simple))
    return terms, places


def _iterate_batches(space: Space) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Compute a space in blocks large enough that threads have work and few finalists are fitted again."""
    parts: list[FeatureBlock] = []
    waiting = 0
    for block in space.evaluate_range(0, space.total):
        parts.append(block)
        waiting += len(block.numbers)
        if waiting * space.n_rows >= _BATCH_VALUES:
            yield _join_blocks(parts)
            parts, waiting = [], 0
    if waiting:
        yield _join_blocks(parts)


def _join_blocks(parts: list[FeatureBlock]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    numbers = np.concatenate([block.numbers for block in parts])
    return numbers, np.concatenate([block.values for block in parts])


def _scan_batch(
    block: tuple[NDArray[np.int64], NDArray[np.float64]],
    core: GramMatrix,
    best: list[CoreSubsetModels],
    models_per_size: int,
    jobs: int,
) -> list[CoreSubsetModels]:
    """Try a block's features with the core, and merge the best of them with those of earlier blocks."""
    numbers, values = block
    bars = [float(part.unexplained[-1]) if len(part.features) == models_per_size else np.inf for part in best]
    fresh = search_core_subsets(
        values, core, sizes=range(len(best)), keep=models_per_size, max_unexplained=bars, jobs=jobs
    )
    fresh = [CoreSubsetModels(numbers[part.features], part.subsets, part.unexplained) for part in fresh]
    return [merge_core_models(pair, models_per_size) for pair in zip(best, fresh, strict=True)]


def _select_core(
    search_result: ModelSearchResult, target: RegressionTarget, budget: ModelSearchBudget
) -> NDArray[np.int64]:
    """Choose the core: the simplest features, among equally simple ones those nearest to the response."""
    gram = compute_gram(search_result.terms.values, target.values)
    order = np.lexsort((-gram.strength.round(9), search_result.terms.complexity))
    return np.sort(order[: budget.core_size])


def _search_active_subsets(
    search_result: ModelSearchResult,
    active: NDArray[np.int64],
    target: RegressionTarget,
    backend: Backend,
    budget: ModelSearchBudget,
) -> ModelSearchResult:
    """Try all subsets of the active features, and of ever fewer, simpler ones: simple models count, too."""
    models, tried = dict(search_result.models), search_result.n_models
    simple = active[np.argsort(search_result.terms.complexity[active], kind="stable")]
    for size in range(1, min(budget.max_terms, 3) + 1):
        count = len(simple)
        while count >= size:
            chosen = np.sort(simple[:count])
            gram = compute_gram(search_result.terms.values[chosen], target.values)
            models |= _find_best_subsets(gram, chosen, size, budget, backend.jobs)
            tried += comb(count, size)
            count //= 2
    chosen = _select_four_term_pool(models, search_result.terms, simple, budget.four_term_pool)
    if budget.max_terms == 4 and len(chosen) >= 4:
        gram = compute_gram(search_result.terms.values[chosen], target.values)
        models |= _find_best_subsets(gram, chosen, 4, budget, backend.jobs)
        tried += comb(len(chosen), 4)
    return ModelSearchResult(search_result.terms, models, search_result.n_features, tried)


def _find_best_subsets(
    gram: GramMatrix, chosen: NDArray[np.int64], size: int, budget: ModelSearchBudget, jobs: int
) -> dict[tuple[int, ...], float]:
    members, unexplained = find_best_models(gram, size, budget.models_per_size, jobs)
    return {
        tuple(places): float(share)
        for places, share in zip(chosen[members].tolist(), unexplained, strict=True)
    }


def _select_four_term_pool(
    models: Mapping[tuple[int, ...], float],
    terms: TermDictionary,
    simple_terms: NDArray[np.int64],
    limit: int,
) -> NDArray[np.int64]:
    """Return the features of the best models so far, fitted ones left aside; then simple ones."""
    wanted: dict[int, None] = {}
    for members in sorted(models, key=lambda members: (models[members], len(members), members)):
        wanted |= dict.fromkeys(place for place in members if not terms.n_constants[place])
        if len(wanted) >= limit:
            break
    wanted |= dict.fromkeys(simple_terms.tolist())
    return np.sort(np.array(list(wanted)[:limit], dtype=np.int64))


_MAX_EXCHANGE_ROUNDS = 20  # of exchanges: a few are enough
_PATH_SHARE_DIGITS = 9  # digits, as where models are chosen
_GAIN_TOLERANCE = 1e-10  # of R²: what is found by projections is fitted again on the columns
_MAX_TIED_FEATURES = 20


def find_path_models(
    values: NDArray[np.float64],
    target: NDArray[np.float64],
    complexity: NDArray[np.int64],
    *,
    min_terms: int,
    max_terms: int,
    starts: Sequence[tuple[int, ...]] = (),
) -> dict[tuple[int, ...], float]:
    """Fit the models that forward selection and the LASSO pass through, and what exchanges make of them.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        The features.
    target : float64 array, shape (n,) or (K, n)
        The response, or K responses that are to have one model: its features come from the paths of each.
    complexity : int64 array, shape (q,)
        Of the features: of exchanges that leave as much the simplest is made.
    least, most : int
        The sizes of model wanted.
    starts : sequence of tuple of int
        Smaller models known to be good: each is grown by what is best to add, with exchanges at every size.

    Returns
    -------
    dict of tuple of int to float
        Models as ascending places, each with the share of variance that least squares leaves, of K responses
        on the mean. Of the best of each size no exchange of one feature for another leaves less, or as much
        and is simpler.
    """
    gram = compute_gram(values, target)
    found: dict[tuple[int, ...], float] = {}
    for members in chain.from_iterable(
        _iterate_path_models(values, one, max_terms) for one in np.atleast_2d(target)
    ):
        if min_terms <= len(members) <= max_terms:
            share = _compute_member_share(gram, members)
            if np.isfinite(share):
                found[tuple(sorted(members.tolist()))] = share
    for size in sorted(set(map(len, found))):
        best = min((one for one in found if len(one) == size), key=lambda one: (found[one], one))
        better = _exchange_terms(gram, np.array(best, dtype=np.int64), complexity)
        found[tuple(sorted(better.tolist()))] = _compute_member_share(gram, better)
    for start in starts:
        members = np.array(start, dtype=np.int64)
        while len(members) < min(max_terms, len(values)):
            members = np.append(members, _find_best_addition(gram, members, complexity))
            if not np.isfinite(_compute_member_share(gram, members)):
                break
            members = _exchange_terms(gram, members, complexity)
            if len(members) >= min_terms:
                found[tuple(sorted(members.tolist()))] = _compute_member_share(gram, members)
    return found


def _compute_member_share(gram: GramMatrix, members: NDArray[np.int64]) -> float:
    order = members[np.argsort(-gram.strength[members], kind="stable")]
    return float(compute_unexplained_shares(gram.columns, gram.target, order[None, :])[0])


def _exchange_terms(
    gram: GramMatrix, members: NDArray[np.int64], complexity: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Exchange one feature after the other for the best instead of it, until none is better."""
    members, share = members.copy(), _compute_member_share(gram, members)
    for _ in range(_MAX_EXCHANGE_ROUNDS):
        before = members.tolist()
        for place in np.argsort(-complexity[members], kind="stable").tolist():
            tried = members.copy()
            tried[place] = _find_best_addition(gram, np.delete(members, place), complexity)
            new = _compute_member_share(gram, tried)
            simpler = complexity[tried[place]] < complexity[members[place]]
            if _round_share(new) < _round_share(share) or (
                _round_share(new) == _round_share(share) and simpler
            ):
                members, share = tried, new
        if members.tolist() == before:
            break
    return members


def _find_best_addition(gram: GramMatrix, others: NDArray[np.int64], complexity: NDArray[np.int64]) -> int:
    """Find the feature that beside the others leaves least; of those that leave as much the simplest."""
    basis, _ = np.linalg.qr(gram.columns[others].T)
    columns, left = gram.columns, gram.target.T
    for _ in range(2):  # twice: the first pass leaves rounding of the size of what it removes
        columns = columns - (columns @ basis) @ basis.T
        left = left - basis @ (basis.T @ left)
    squares = (columns * columns).sum(axis=1)
    able = squares > MIN_PIVOT
    along = (columns @ left) ** 2
    explained = along if along.ndim == 1 else along.sum(axis=1)
    gains = np.where(able, explained / np.where(able, squares, 1.0), -1.0)
    near = np.flatnonzero(gains >= gains.max() - _GAIN_TOLERANCE)
    near = near[np.lexsort((near, complexity[near]))][:_MAX_TIED_FEATURES]
    shares = [_round_share(_compute_member_share(gram, np.append(others, one))) for one in near.tolist()]
    return int(near[shares.index(min(shares))])


def _round_share(share: float) -> float:
    """Round what decides, so that rounding does not; what an exact model leaves is nothing."""
    return 0.0 if share <= EXACT_SHARE else float(f"{share:.{_PATH_SHARE_DIGITS}g}")


def _iterate_path_models(
    values: NDArray[np.float64], target: NDArray[np.float64], max_terms: int
) -> Iterator[NDArray[np.int64]]:
    standard = standardize_features(values, target)
    spread = float(np.sqrt((standard.target**2).mean()))
    tolerance = compute_span_tolerance(standard.centres, standard.scales)
    order = select_forward(standard.features, standard.target / spread, max_terms, tolerance, EXACT_SHARE)
    for size in range(1, len(order) + 1):
        yield order[:size]
    for coefficients in compute_lasso_path(values, target).coefficients:
        inside = np.flatnonzero(coefficients)
        if len(inside) > max_terms:
            return
        if len(inside):
            yield inside

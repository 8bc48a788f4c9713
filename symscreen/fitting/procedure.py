"""What a fit is asked to do, its options read.

From a table to a formula: search, choose, fit the constants, and say how sure the numbers are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.data import take_rows
from symscreen.errors import MemoryLimitError, OptionError
from symscreen.expansion import CandidateStatus
from symscreen.expressions.linear_formula import build_shared_formula
from symscreen.fitting.coefficients import (
    build_model_table,
    build_term_table,
    compute_unexplained_share,
    evaluate_terms,
    fit_formulas,
    get_input_columns,
    get_targets,
    is_identifiable,
    predict_on_dataset,
)
from symscreen.fitting.feature_dictionary import build_dictionary, make_empty_dictionary
from symscreen.fitting.model_selection import find_alternatives, find_pareto_front, score_models, select_model
from symscreen.fitting.subset_search import (
    EXACT_SHARE,
    FitData,
    ModelSearchBudget,
    ModelSearchResult,
    compute_rounding_share,
    find_path_models,
    search_all_subsets,
    search_models,
)
from symscreen.grammar import OPERATORS
from symscreen.linear_models.model_criteria import assign_folds
from symscreen.results.fit_result import FitResult, SharedFitResult
from symscreen.screeners import parse_screeners
from symscreen.screening.scoring.score_space import score_space
from symscreen.screening.space_generation import GenerationConfig, generate_space, select_inputs
from symscreen.targets.multioutput import MultiOutputTarget
from symscreen.units import compute_unit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.data import Dataset
    from symscreen.expansion import PoolKind, Space
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.model_selection import Criterion, ScoredModel
    from symscreen.grammar import Grammar, Layer
    from symscreen.screening.scoring.score_space import ScoringConfig
    from symscreen.targets.registry import RegressionTarget
    from symscreen.units import Units


__all__ = ["FitConfig", "run_fit"]


@dataclass(frozen=True, eq=False)
class FitConfig:
    """A fit, its options read.

    Parameters
    ----------
    grammar : Grammar
        The rules.
    schedule : tuple of tuple of Layer
        The spaces to search, smaller ones first.
    asked : bool
        Whether the user named the layers; spaces of the default schedule may be left out for their size.
    pool_kind : {"cumulative", "strict"}
        As in `expand`.
    terms : int
        The most terms in a formula.
    choose : {"ebic", "bic", "aic", "cv"}
        What decides between models.
    folds : int
        Of the nested cross-validation.
    split : float
        The share of rows kept from the search for honest intervals; 0 for none.
    level : float
        Coverage of the intervals.
    snap : bool
        Whether to try simple numbers for the coefficients.
    seed : int
        For folds and the split.
    backend : Backend
        Where the work runs.
    max_bytes : int or None
        The memory allowed.
    cut, keeps
        As of `Growth`.
    ibart : bool
        Whether to follow iBART (Ye, Senftle and Li 2021): the inputs are cut, too, and of the space grown
        between cuts the LASSO chooses the features whose subsets are tried.
    units : Units or None
        As of `Growth`; the table is in base units then.
    told_units : mapping or None
        What the record tells of the units of columns and targets.
    told_categories : mapping or None
        What it tells of columns of categories, in the places where the record of a screen does.
    """

    grammar: Grammar
    layer_schedule: tuple[tuple[Layer, ...], ...]
    has_user_layers: bool
    pool_kind: PoolKind
    terms: int
    choose: Criterion | str
    folds: int
    split: float
    level: float
    snap: bool
    seed: int
    backend: Backend
    max_bytes: int | None
    pruning_config: ScoringConfig | None = None
    pool_sizes: Mapping[str, int] | None = None
    ibart: bool = False
    units: Units | None = None
    units_record: Mapping[str, Any] | None = None
    categories_record: Mapping[str, Any] | None = None

    @property
    def generation(self) -> GenerationConfig:
        """How spaces are grown."""
        return GenerationConfig(
            self.grammar,
            self.pool_kind,
            (),
            self.pruning_config,
            self.pool_sizes,
            self.max_bytes,
            self.backend.map,
            units=self.units,
        )


# of a layer that nobody asked for: seconds, not minutes
_MAX_CANDIDATES = 3_000_000
_MAX_VALUES = 1_200_000_000
_CRITERION_MARGIN = 10.0  # of the criterion: e^5 = 148 to 1 against a rival at the margin
_MAX_ALTERNATIVES = 10
_MAX_PATH_FEATURES = 300  # features that greedy and LASSO paths choose from
_MAX_PATH_STARTS = 5  # models of four terms that longer ones are grown from
_MIN_CHOOSING_ROWS, _MIN_ESTIMATING_ROWS = 5, 3  # rows


def run_fit(dataset: Dataset, config: FitConfig) -> FitResult | SharedFitResult:
    """Find a formula for a table's response, or formulas of the same terms for several targets.

    Parameters
    ----------
    table : Table
        The data.
    job : FitJob
        What to do.

    Returns
    -------
    FitResult or SharedFitResult
    """
    from threadpoolctl import threadpool_limits

    # sums that BLAS cuts up for its threads would follow their number
    with threadpool_limits(1):
        return _fit_in_one_thread(dataset, config)


def _fit_in_one_thread(dataset: Dataset, config: FitConfig) -> FitResult | SharedFitResult:
    choosing, holding = _split_rows(dataset, config)
    estimating = choosing if holding is None else holding
    notices: list[str] = []
    found = _search_models(choosing, config, notices)
    criterion: Criterion = "ebic" if config.choose == "cv" else config.choose  # type: ignore[assignment]
    candidates = score_models(found, choosing.target.n, criterion, len(get_targets(dataset)))
    errors = _compute_nested_errors(choosing, config, criterion) if config.choose == "cv" else None
    chosen = _choose_model(found, candidates, errors, estimating)
    notices += _format_fit_notices(chosen, config)
    expressions = tuple(found.terms.expressions[place] for place in chosen.term_indices)
    fits = fit_formulas(expressions, estimating, config.level, snap=config.snap)
    if config.snap and (left := [formula.target for formula, _, simple in fits if not simple]):
        whose = f" of {', '.join(left)}" if len(fits) > 1 else ""
        notices.append(f"the coefficients{whose} are as fitted: the data do not allow simple numbers for all")
    shown = _add_chosen_model(find_pareto_front(candidates), chosen)
    rivals = find_alternatives(chosen, candidates, _CRITERION_MARGIN, _MAX_ALTERNATIVES)
    told: dict[str, Any] = {
        "terms": build_term_table(fits, config.units),
        "front": build_model_table(found, choosing.regression_target, shown, criterion, chosen),
        "alternatives": build_model_table(found, choosing.regression_target, rivals, criterion),
        "notices": (*dataset.notices, *notices),
        "record": _build_fit_record(found, config, choosing.target.n, estimating.target.n, errors),
        "operators": {
            name: operator for name, operator in config.grammar.operators.items() if name not in OPERATORS
        },
    }
    r2 = {
        formula.target: 1.0
        - (compute_unexplained_share(formula, estimating) if simple else estimates.unexplained_share)
        for formula, estimates, simple in fits
    }
    formulas = [formula for formula, _, _ in fits]
    if isinstance(dataset.target, MultiOutputTarget):
        return SharedFitResult(formula=build_shared_formula(formulas), r2=r2, **told)
    return FitResult(formula=formulas[0], r2=r2[formulas[0].target], **told)


def _build_fit_record(
    search_result: ModelSearchResult,
    config: FitConfig,
    n_choosing_rows: int,
    n_estimating_rows: int,
    cv_errors: list[float | None] | None,
) -> dict[str, Any]:
    """Tell how a fit was made, and how many rows chose its terms and gave its coefficients."""
    return {
        "searched": search_result.n_features,
        "models": search_result.n_models,
        "criterion": config.choose,
        "split": config.split,
        "folds": config.folds if config.choose == "cv" else None,
        "seed": int(config.seed),
        "level": config.level,
        "rows_choosing": n_choosing_rows,
        "rows_estimating": n_estimating_rows,
        "cv_error": cv_errors,
        "cut": [] if config.pruning_config is None else [one.name for one in config.pruning_config.screeners],
        "keep": None if config.pool_sizes is None else dict(config.pool_sizes),
        **({} if config.units_record is None else {"units": config.units_record}),
        **(config.categories_record or {}),
    }


def _split_rows(dataset: Dataset, config: FitConfig) -> tuple[Dataset, Dataset | None]:
    """Keep some rows from the search, drawn without a look at the response: only so are intervals honest."""
    if config.split == 0:
        return dataset, None
    n = dataset.target.n
    held = np.zeros(n, dtype=np.bool_)
    held[np.random.default_rng(config.seed).permutation(n)[: max(1, round(n * config.split))]] = True
    if held.sum() < _MIN_ESTIMATING_ROWS or (~held).sum() < _MIN_CHOOSING_ROWS:
        raise OptionError(
            f"{n} rows are too few to keep a share of {config.split:g} from the search: at least "
            f"{_MIN_CHOOSING_ROWS} must choose and {_MIN_ESTIMATING_ROWS} estimate"
        )
    return take_rows(dataset, np.flatnonzero(~held)), take_rows(dataset, np.flatnonzero(held))


def _choose_model(
    search_result: ModelSearchResult,
    candidates: Sequence[ScoredModel],
    cv_errors: Sequence[float | None] | None,
    dataset: Dataset,
) -> ScoredModel:
    """Choose among the models whose coefficients these rows determine, as they do of the mean."""
    while True:
        one = (
            select_model(candidates)
            if cv_errors is None
            else _select_by_error(candidates, cv_errors, dataset.regression_target)
        )
        if is_identifiable(
            evaluate_terms([search_result.terms.expressions[place] for place in one.term_indices], dataset)
        ):
            return one
        candidates = [other for other in candidates if other is not one]


def _format_fit_notices(chosen_model: ScoredModel, config: FitConfig) -> list[str]:
    if not chosen_model.term_indices:
        return ["no formula searched is better than the mean: the rows show no relation, or are too few"]
    if config.split == 0 and chosen_model.unexplained_share > EXACT_SHARE:
        told = (
            "the intervals take the terms as given, but the same rows chose them: they are too narrow by an "
            "unknown amount; split=0.5 gives honest ones"
        )
        return [told]
    return []


def _add_chosen_model(front_models: Sequence[ScoredModel], chosen_model: ScoredModel) -> list[ScoredModel]:
    """Put the model chosen among those of the front, where a criterion has put another before it."""
    if any(one is chosen_model for one in front_models):
        return list(front_models)
    return sorted([*front_models, chosen_model], key=lambda one: one.complexity)


def _search_models(dataset: Dataset, config: FitConfig, notices: list[str]) -> ModelSearchResult:
    effort = ModelSearchBudget(max_terms=min(config.terms, 4))
    data = FitData(
        get_input_columns(dataset),
        dataset.regression_target,
        None if config.units is None else partial(_has_unit, config.units),
    )
    if config.ibart:
        found = _search_lasso_subsets(dataset, config, data, effort)
    else:
        found = search_models(_generate_spaces(dataset, config, notices), data, config.backend, effort)
    most = min(config.terms, dataset.target.n - 2)
    if most > 4 and len(found.terms) > 4 and not found.has_exact_model:
        ranked = score_models(found, dataset.target.n, "bic", len(get_targets(dataset)))
        wanted = list(dict.fromkeys(place for one in ranked for place in one.term_indices))[
            :_MAX_PATH_FEATURES
        ]
        places = np.array(sorted(wanted), dtype=np.int64)
        terms = found.terms.take(places)
        place_of = {place: number for number, place in enumerate(places.tolist())}
        fours = [
            one.term_indices
            for one in ranked
            if len(one.term_indices) == 4 and set(one.term_indices) <= set(place_of)
        ]
        longer = find_path_models(
            terms.values,
            dataset.regression_target.values,
            terms.complexity,
            min_terms=5,
            max_terms=most,
            starts=[tuple(place_of[place] for place in members) for members in fours[:_MAX_PATH_STARTS]],
        )
        rounding = compute_rounding_share(dataset.regression_target)
        more = {
            tuple(places[list(members)].tolist()): 0.0 if share <= rounding else share
            for members, share in longer.items()
        }
        found = replace(found, models=found.models | more)
    return found


def _has_unit(units: Units, term: Expression) -> bool:
    """Say whether a term has a unit, and the one that was asked for."""
    found = compute_unit(term, units)
    return found is not None and (units.target is None or found == units.target.base)


def _search_lasso_subsets(
    dataset: Dataset, config: FitConfig, data: FitData, effort: ModelSearchBudget
) -> ModelSearchResult:
    """Grow one space between cuts, and try all subsets of what the LASSO selects there."""
    assert config.pruning_config is not None  # noqa: S101  # the preset says who cuts
    nothing = ModelSearchResult(make_empty_dictionary(dataset.target.n), {}, len(dataset.names), 0)
    best = select_inputs(dataset, config.generation)
    if best is None:
        return nothing
    space, _ = generate_space(best, config.generation, config.layer_schedule[-1])
    request = replace(config.pruning_config, screeners=parse_screeners("lasso"), limit=1)
    judged = score_space(space, dataset.target, request).joint_results
    if "lasso" not in judged or not judged["lasso"].scores.selected.any():
        return replace(nothing, n_features=space.size)
    shown = judged["lasso"].shortlist.features.number
    chosen = np.sort(shown[judged["lasso"].scores.selected])
    return search_all_subsets(
        build_dictionary(space, chosen, float(space.size)), space.size, data, config.backend, effort
    )


def _generate_spaces(dataset: Dataset, config: FitConfig, notices: list[str]) -> Iterator[Space]:
    """Grow the spaces of the schedule one by one."""
    pools: dict[tuple[Layer, ...], int] = {(): len(dataset.names)}
    for layers in config.layer_schedule:
        space = None
        if (
            config.has_user_layers
            or len(pools) == 1
            or _is_affordable(layers[-1], pools.get(layers[:-1]), dataset, config)
        ):
            try:
                space, _ = generate_space(dataset, config.generation, layers)
            except MemoryLimitError:
                if config.has_user_layers or len(pools) == 1:
                    raise
        if space is None:
            kinds = "".join(layer.kind for layer in layers)
            notices.append(f"the layers {kinds} were not searched, for their size; ask with layers={kinds!r}")
            continue
        pools[layers] = _bound_pruned_pool(_count_pool(space), layers[-1], dataset, config)
        if space.size:
            yield space


def _count_pool(space: Space) -> int:
    """Count what the next layer would be applied to: what is not in the target's units, too."""
    return space.size + space.layer_counts[-1].n_excluded.get(CandidateStatus.OTHER_UNITS, 0)


def _is_affordable(layer: Layer, pool_size: int | None, dataset: Dataset, config: FitConfig) -> bool:
    """Say whether a layer that nobody asked for takes seconds; the pool is None where it was too large."""
    if pool_size is None:
        return False
    candidates = _count_candidates(layer, pool_size + len(config.grammar.constants))
    return candidates <= _MAX_CANDIDATES and candidates * dataset.target.n <= _MAX_VALUES


def _bound_pruned_pool(pool_size: int, layer: Layer, dataset: Dataset, config: FitConfig) -> int:
    """Bound the pool that the next layer is applied to; inputs stay beside what is kept."""
    if config.pruning_config is None:
        return pool_size
    keeps = {layer.kind: config.pruning_config.prescreen} if config.pool_sizes is None else config.pool_sizes
    return min(pool_size, keeps.get(layer.kind, pool_size) + len(dataset.names))


def _count_candidates(layer: Layer, pool_size: int) -> int:
    each = {1: pool_size, 2: pool_size * pool_size}
    return sum(each[operator.arity] // (1 + operator.commutative) for operator in layer.operators)


def _compute_nested_errors(dataset: Dataset, config: FitConfig, criterion: Criterion) -> list[float | None]:
    """Repeat the whole search without each fold in turn, and predict it, for each number of terms.

    Returns
    -------
    list of float or None
        The mean squared error by number of terms, from 0, of several targets the mean of their shares of each
        one's variance; None where a fold has no such model, or one that is
        undefined in its rows.
    """
    n = dataset.target.n
    dealt = assign_folds(n, config.folds, config.seed)
    if n - np.bincount(dealt).max() < _MIN_CHOOSING_ROWS:
        raise OptionError(
            f"{n} rows are too few to choose by cross-validation in {config.folds} folds: "
            f"{_MIN_CHOOSING_ROWS} must stay in each; take another criterion, or more folds"
        )
    squares = np.zeros((config.terms + 1, n))
    for fold in range(int(dealt.max()) + 1):
        inside, outside = (np.flatnonzero(part) for part in (dealt != fold, dealt == fold))
        squares[:, outside] = _compute_squared_errors(take_rows(dataset, inside), dataset, config, criterion)[
            :, outside
        ]
    return [float(error) if np.isfinite(error) else None for error in squares.mean(axis=1)]


def _compute_squared_errors(
    training_dataset: Dataset, dataset: Dataset, config: FitConfig, criterion: Criterion
) -> NDArray[np.float64]:
    """Return the squared errors on all rows of the best models of each size; shape (terms + 1, n)."""
    found = _search_models(training_dataset, config, [])
    best = score_models(found, training_dataset.target.n, criterion, len(get_targets(dataset)))
    squares = np.full((config.terms + 1, dataset.target.n), np.nan)
    actual = np.atleast_2d(dataset.regression_target.values)
    for size in range(config.terms + 1):
        model = next((one for one in best if len(one.term_indices) == size), None)
        if model is not None:
            terms = [found.terms.expressions[place] for place in model.term_indices]
            fits = fit_formulas(terms, training_dataset, config.level, snap=False)
            away = np.stack([predict_on_dataset(formula, dataset) for formula, _, _ in fits]) - actual
            squares[size] = (away**2 / _compute_scales(dataset.regression_target)[:, None]).mean(axis=0)
    return squares


def _compute_scales(target: RegressionTarget) -> NDArray[np.float64]:
    """Return what squared errors are divided by: of several targets the variance of each."""
    if isinstance(target, MultiOutputTarget):
        return np.asarray(target.values.var(axis=1))
    return np.ones(1)


def _select_by_error(
    candidates: Sequence[ScoredModel], cv_errors: Sequence[float | None], target: RegressionTarget
) -> ScoredModel:
    """Return the best model of the size with the least error, the smaller of sizes that are all but exact."""
    variance = np.mean(np.atleast_2d(target.values).var(axis=1) / _compute_scales(target))
    rounding = compute_rounding_share(target) * float(variance)
    known = [np.inf if error is None else max(error, rounding) for error in cv_errors]
    sizes = np.argsort(known, kind="stable").tolist()
    return min(candidates, key=lambda one: sizes.index(len(one.term_indices)))

"""Run a fit: search models, select one, estimate its coefficients and build the result.

`run_fit` splits the rows if requested, searches the spaces of the layer schedule from small to large, scores
the models and selects one. It then fits the coefficients on the rows kept for estimation.
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


@dataclass(frozen=True, eq=False)
class FitConfig:
    """Configuration of a fit.

    Parameters
    ----------
    grammar : Grammar
        The rules.
    layer_schedule : tuple of tuple of Layer
        Layers of the spaces to search, smaller spaces first.
    has_user_layers : bool
        Whether the user chose the layers. Large spaces of the default schedule may be skipped.
    pool_kind : {"cumulative", "strict"}
        See `expand`.
    terms : int
        Maximum number of terms in a formula.
    choose : {"ebic", "bic", "aic", "cv"}
        Criterion that selects a model.
    folds : int
        Number of folds of the nested cross-validation.
    split : float
        Share of rows, in [0, 1), that is kept from the search to obtain valid intervals. 0 for none.
    level : float
        Coverage of the intervals.
    snap : bool
        Whether to replace coefficients by simple numbers if possible.
    seed : int
        Seed of folds and split.
    backend : Backend
        Where the work runs.
    max_bytes : int or None
        Memory limit in bytes.
    pruning_config, pool_sizes
        See `GenerationConfig`.
    ibart : bool
        Whether to follow iBART (Ye, Senftle and Li 2021): inputs are pruned too, the LASSO selects features
        of the final space, and all subsets of these are tried.
    units : Units or None
        See `GenerationConfig`. The dataset is then in base units.
    units_record : mapping or None
        Record of the units of columns and targets.
    categories_record : mapping or None
        Record of categorical columns, with the same keys as in the record of a screen.
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
        """Configuration of the spaces."""
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


# limits of a layer of the default schedule, so that it takes seconds rather than minutes
_MAX_CANDIDATES = 3_000_000
_MAX_VALUES = 1_200_000_000
_CRITERION_MARGIN = 10.0  # points of the criterion; at the margin, an alternative has odds of 1 to e^5 = 148
_MAX_ALTERNATIVES = 10  # models in the table of alternatives
_MAX_PATH_FEATURES = 300  # features that greedy and LASSO paths choose from
_MAX_PATH_STARTS = 5  # models of four terms that are extended to longer ones
_MIN_CHOOSING_ROWS, _MIN_ESTIMATING_ROWS = 5, 3  # rows


def run_fit(dataset: Dataset, config: FitConfig) -> FitResult | SharedFitResult:
    """Find a formula for the target of a dataset, or formulas with the same terms for several targets.

    Parameters
    ----------
    dataset : Dataset
        The data.
    config : FitConfig
        Configuration of the fit.

    Returns
    -------
    FitResult or SharedFitResult
    """
    from threadpoolctl import threadpool_limits

    # otherwise the rounding of BLAS sums would depend on the number of threads
    with threadpool_limits(1):
        return _fit_in_one_thread(dataset, config)


def _fit_in_one_thread(dataset: Dataset, config: FitConfig) -> FitResult | SharedFitResult:
    """Run a fit; BLAS must be limited to one thread."""
    search_rows, held_out_rows = _split_rows(dataset, config)
    estimation_rows = search_rows if held_out_rows is None else held_out_rows
    notices: list[str] = []
    search_result = _search_models(search_rows, config, notices)
    criterion: Criterion = "ebic" if config.choose == "cv" else config.choose  # type: ignore[assignment]
    models = score_models(search_result, search_rows.target.n, criterion, len(get_targets(dataset)))
    errors = _compute_nested_errors(search_rows, config, criterion) if config.choose == "cv" else None
    selected = _choose_model(search_result, models, errors, estimation_rows)
    notices += _format_fit_notices(selected, config)
    expressions = tuple(search_result.terms.expressions[place] for place in selected.term_indices)
    fits = fit_formulas(expressions, estimation_rows, config.level, snap=config.snap)
    if config.snap and (not_snapped := [formula.target for formula, _, snapped in fits if not snapped]):
        suffix = f" of {', '.join(not_snapped)}" if len(fits) > 1 else ""
        notices.append(
            f"the coefficients{suffix} are as fitted: the data do not allow simple numbers for all"
        )
    front = _add_chosen_model(find_pareto_front(models), selected)
    alternatives = find_alternatives(selected, models, _CRITERION_MARGIN, _MAX_ALTERNATIVES)
    shared_fields: dict[str, Any] = {
        "terms": build_term_table(fits, config.units),
        "front": build_model_table(search_result, search_rows.regression_target, front, criterion, selected),
        "alternatives": build_model_table(
            search_result, search_rows.regression_target, alternatives, criterion
        ),
        "notices": (*dataset.notices, *notices),
        "record": _build_fit_record(
            search_result, config, search_rows.target.n, estimation_rows.target.n, errors
        ),
        "operators": {
            name: operator for name, operator in config.grammar.operators.items() if name not in OPERATORS
        },
    }
    r2 = {
        formula.target: 1.0
        - (compute_unexplained_share(formula, estimation_rows) if snapped else estimates.unexplained_share)
        for formula, estimates, snapped in fits
    }
    formulas = [formula for formula, _, _ in fits]
    if dataset.target.combines_outputs:
        return SharedFitResult(formula=build_shared_formula(formulas), r2=r2, **shared_fields)
    return FitResult(formula=formulas[0], r2=r2[formulas[0].target], **shared_fields)


def _build_fit_record(
    search_result: ModelSearchResult,
    config: FitConfig,
    n_choosing_rows: int,
    n_estimating_rows: int,
    cv_errors: list[float | None] | None,
) -> dict[str, Any]:
    """Build the record of a fit: settings, size of the search and numbers of rows."""
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
        "cut": []
        if config.pruning_config is None
        else [screener.name for screener in config.pruning_config.screeners],
        "keep": None if config.pool_sizes is None else dict(config.pool_sizes),
        **({} if config.units_record is None else {"units": config.units_record}),
        **(config.categories_record or {}),
    }


def _split_rows(dataset: Dataset, config: FitConfig) -> tuple[Dataset, Dataset | None]:
    """Draw the rows that are kept from the search, without using the target, so that intervals are valid."""
    if config.split == 0:
        return dataset, None
    n = dataset.target.n
    is_held_out = np.zeros(n, dtype=np.bool_)
    is_held_out[np.random.default_rng(config.seed).permutation(n)[: max(1, round(n * config.split))]] = True
    if is_held_out.sum() < _MIN_ESTIMATING_ROWS or (~is_held_out).sum() < _MIN_CHOOSING_ROWS:
        raise OptionError(
            f"{n} rows are too few to keep a share of {config.split:g} from the search: it needs at least "
            f"{_MIN_CHOOSING_ROWS} rows, and the estimates at least {_MIN_ESTIMATING_ROWS}"
        )
    return take_rows(dataset, np.flatnonzero(~is_held_out)), take_rows(dataset, np.flatnonzero(is_held_out))


def _choose_model(
    search_result: ModelSearchResult,
    candidates: Sequence[ScoredModel],
    cv_errors: Sequence[float | None] | None,
    dataset: Dataset,
) -> ScoredModel:
    """Select the best model whose coefficients the rows determine; the mean always qualifies."""
    while True:
        model = (
            select_model(candidates)
            if cv_errors is None
            else _select_by_error(candidates, cv_errors, dataset.regression_target)
        )
        if is_identifiable(
            evaluate_terms([search_result.terms.expressions[index] for index in model.term_indices], dataset)
        ):
            return model
        candidates = [other for other in candidates if other is not model]


def _format_fit_notices(chosen_model: ScoredModel, config: FitConfig) -> list[str]:
    """Return notices about the selected model."""
    if not chosen_model.term_indices:
        return ["no formula is better than the mean: the rows show no relation, or there are too few"]
    if config.split == 0 and chosen_model.unexplained_share > EXACT_SHARE:
        notice = (
            "the intervals ignore that the terms were selected on the same rows, so they are too narrow by "
            "an unknown amount; split=0.5 gives honest intervals"
        )
        return [notice]
    return []


def _add_chosen_model(front_models: Sequence[ScoredModel], chosen_model: ScoredModel) -> list[ScoredModel]:
    """Add the selected model to the models of the front if it is not among them."""
    if any(model is chosen_model for model in front_models):
        return list(front_models)
    return sorted([*front_models, chosen_model], key=lambda model: model.complexity)


def _search_models(dataset: Dataset, config: FitConfig, notices: list[str]) -> ModelSearchResult:
    """Search models of up to four terms exhaustively, and longer ones along paths."""
    budget = ModelSearchBudget(max_terms=min(config.terms, 4))
    data = FitData(
        get_input_columns(dataset),
        dataset.regression_target,
        None if config.units is None else partial(_has_unit, config.units),
    )
    if config.ibart:
        result = _search_lasso_subsets(dataset, config, data, budget)
    else:
        result = search_models(_generate_spaces(dataset, config, notices), data, config.backend, budget)
    max_terms = min(config.terms, dataset.target.n - 2)
    if max_terms > 4 and len(result.terms) > 4 and not result.has_exact_model:
        ranked = score_models(result, dataset.target.n, "bic", len(get_targets(dataset)))
        best_indices = list(dict.fromkeys(index for model in ranked for index in model.term_indices))[
            :_MAX_PATH_FEATURES
        ]
        indices = np.array(sorted(best_indices), dtype=np.int64)
        terms = result.terms.take(indices)
        positions = {index: position for position, index in enumerate(indices.tolist())}
        four_term_models = [
            model.term_indices
            for model in ranked
            if len(model.term_indices) == 4 and set(model.term_indices) <= set(positions)
        ]
        path_models = find_path_models(
            terms.values,
            dataset.regression_target.values,
            terms.complexity,
            min_terms=5,
            max_terms=max_terms,
            starts=[
                tuple(positions[index] for index in members)
                for members in four_term_models[:_MAX_PATH_STARTS]
            ],
        )
        rounding = compute_rounding_share(dataset.regression_target)
        longer_models = {
            tuple(indices[list(members)].tolist()): 0.0 if share <= rounding else share
            for members, share in path_models.items()
        }
        result = replace(result, models=result.models | longer_models)
    return result


def _has_unit(units: Units, term: Expression) -> bool:
    """Return whether a term has a unit and, if a target unit is given, that unit."""
    unit = compute_unit(term, units)
    return unit is not None and (units.target is None or unit == units.target.base)


def _search_lasso_subsets(
    dataset: Dataset, config: FitConfig, data: FitData, effort: ModelSearchBudget
) -> ModelSearchResult:
    """Grow one space with pruning, and try all subsets of the features that the LASSO selects."""
    assert config.pruning_config is not None  # noqa: S101  # the preset defines the screeners
    empty = ModelSearchResult(make_empty_dictionary(dataset.target.n), {}, len(dataset.names), 0)
    best_inputs = select_inputs(dataset, config.generation)
    if best_inputs is None:
        return empty
    space, _ = generate_space(best_inputs, config.generation, config.layer_schedule[-1])
    request = replace(config.pruning_config, screeners=parse_screeners("lasso"), limit=1)
    joint_results = score_space(space, dataset.target, request).joint_results
    if "lasso" not in joint_results or not joint_results["lasso"].scores.selected.any():
        return replace(empty, n_features=space.size)
    shortlist = joint_results["lasso"].shortlist.features.number
    selected = np.sort(shortlist[joint_results["lasso"].scores.selected])
    return search_all_subsets(
        build_dictionary(space, selected, float(space.size)), space.size, data, config.backend, effort
    )


def _generate_spaces(dataset: Dataset, config: FitConfig, notices: list[str]) -> Iterator[Space]:
    """Grow the spaces of the schedule one by one."""
    pool_sizes: dict[tuple[Layer, ...], int] = {(): len(dataset.names)}
    for layers in config.layer_schedule:
        space = None
        if (
            config.has_user_layers
            or len(pool_sizes) == 1
            or _is_affordable(layers[-1], pool_sizes.get(layers[:-1]), dataset, config)
        ):
            try:
                space, _ = generate_space(dataset, config.generation, layers)
            except MemoryLimitError:
                if config.has_user_layers or len(pool_sizes) == 1:
                    raise
        if space is None:
            kinds = "".join(layer.kind for layer in layers)
            notices.append(
                f"the layers {kinds} were not searched (too large); layers={kinds!r} searches them"
            )
            continue
        pool_sizes[layers] = _bound_pruned_pool(_count_pool(space), layers[-1], dataset, config)
        if space.size:
            yield space


def _count_pool(space: Space) -> int:
    """Count the features that the next layer is applied to, including those without the target units."""
    return space.size + space.layer_counts[-1].n_excluded.get(CandidateStatus.OTHER_UNITS, 0)


def _is_affordable(layer: Layer, pool_size: int | None, dataset: Dataset, config: FitConfig) -> bool:
    """Return whether a layer of the default schedule takes seconds; its pool is None if too large."""
    if pool_size is None:
        return False
    candidates = _count_candidates(layer, pool_size + len(config.grammar.constants))
    return candidates <= _MAX_CANDIDATES and candidates * dataset.target.n <= _MAX_VALUES


def _bound_pruned_pool(pool_size: int, layer: Layer, dataset: Dataset, config: FitConfig) -> int:
    """Bound the size of the pool that the next layer is applied to; inputs are always kept."""
    if config.pruning_config is None:
        return pool_size
    sizes = {layer.kind: config.pruning_config.prescreen} if config.pool_sizes is None else config.pool_sizes
    return min(pool_size, sizes.get(layer.kind, pool_size) + len(dataset.names))


def _count_candidates(layer: Layer, pool_size: int) -> int:
    """Count the candidates of a layer over a pool of a given size."""
    pairs_by_arity = {1: pool_size, 2: pool_size * pool_size}
    return sum(pairs_by_arity[operator.arity] // (1 + operator.commutative) for operator in layer.operators)


def _compute_nested_errors(dataset: Dataset, config: FitConfig, criterion: Criterion) -> list[float | None]:
    """Compute the cross-validation error of the whole search for each number of terms.

    Returns
    -------
    list of float or None
        Mean squared error by number of terms, from 0. With several targets, the mean over targets, each
        relative to its variance. None if a fold has no such model, or one that is undefined in its rows.
    """
    n = dataset.target.n
    folds = assign_folds(n, config.folds, config.seed)
    if n - np.bincount(folds).max() < _MIN_CHOOSING_ROWS:
        raise OptionError(
            f"{n} rows are too few for cross-validation with {config.folds} folds: at least "
            f"{_MIN_CHOOSING_ROWS} must remain without each fold; use another criterion or more folds"
        )
    squares = np.zeros((config.terms + 1, n))
    for fold in range(int(folds.max()) + 1):
        training_rows, test_rows = (np.flatnonzero(mask) for mask in (folds != fold, folds == fold))
        squares[:, test_rows] = _compute_squared_errors(
            take_rows(dataset, training_rows), dataset, config, criterion
        )[:, test_rows]
    return [float(error) if np.isfinite(error) else None for error in squares.mean(axis=1)]


def _compute_squared_errors(
    training_dataset: Dataset, dataset: Dataset, config: FitConfig, criterion: Criterion
) -> NDArray[np.float64]:
    """Return the squared errors, shape (terms + 1, n), of the best model of each size on all rows."""
    result = _search_models(training_dataset, config, [])
    models = score_models(result, training_dataset.target.n, criterion, len(get_targets(dataset)))
    squares = np.full((config.terms + 1, dataset.target.n), np.nan)
    actual = np.atleast_2d(dataset.regression_target.values)
    for size in range(config.terms + 1):
        model = next((candidate for candidate in models if len(candidate.term_indices) == size), None)
        if model is not None:
            terms = [result.terms.expressions[place] for place in model.term_indices]
            fits = fit_formulas(terms, training_dataset, config.level, snap=False)
            errors = np.stack([predict_on_dataset(formula, dataset) for formula, _, _ in fits]) - actual
            squares[size] = (errors**2 / _compute_scales(dataset.regression_target)[:, None]).mean(axis=0)
    return squares


def _compute_scales(target: RegressionTarget) -> NDArray[np.float64]:
    """Return the divisors of squared errors, shape (K,): the variance of each of several targets."""
    return np.asarray(target.values.var(axis=1)) if target.combines_outputs else np.ones(1)


def _select_by_error(
    candidates: Sequence[ScoredModel], cv_errors: Sequence[float | None], target: RegressionTarget
) -> ScoredModel:
    """Return the best model of the size with the lowest error; of sizes that are exact, the smallest."""
    variance = np.mean(np.atleast_2d(target.values).var(axis=1) / _compute_scales(target))
    rounding = compute_rounding_share(target) * float(variance)
    floored_errors = [np.inf if error is None else max(error, rounding) for error in cv_errors]
    sizes = np.argsort(floored_errors, kind="stable").tolist()
    return min(candidates, key=lambda model: sizes.index(len(model.term_indices)))

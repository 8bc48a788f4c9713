"""The search for models: guesses of the user, searches for laws, and searches of spaces.

`run_model_search` first fits the guesses, then runs the searches for laws of `symscreen.fitting.laws.search`,
and then the searches of `list_space_searches`, in their order. Each of the last is a function of one
`SearchTask` that returns the models found so far and new ones. To add one, write such a function and add it
to `list_space_searches`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.config.fit_options import FitOptions
from symscreen.config.space_options import build_layer_schedule
from symscreen.errors import MemoryLimitError
from symscreen.expansion import CandidateStatus
from symscreen.fitting.coefficients import get_input_columns, get_targets
from symscreen.fitting.effort import EFFORTS, limit_effort
from symscreen.fitting.feature_dictionary import build_dictionary, make_empty_dictionary
from symscreen.fitting.guesses import build_guess_dictionary, list_guess_laws
from symscreen.fitting.laws.chosen_inputs import choose_law_inputs
from symscreen.fitting.laws.deep_pool import check_deep_memory
from symscreen.fitting.laws.exclusion import compute_exclusion
from symscreen.fitting.laws.fitted_laws import FittedLaw, add_laws, fit_laws
from symscreen.fitting.laws.law import Law, build_law_data
from symscreen.fitting.laws.refinement import (
    count_fitted_constants,
    fit_inner_constants,
    free_numbers,
    refine_law,
)
from symscreen.fitting.laws.search import find_laws
from symscreen.fitting.laws.sufficiency import is_law_sufficient
from symscreen.fitting.model_selection import score_models
from symscreen.fitting.path_search import find_path_models
from symscreen.fitting.required_inputs import keep_required_inputs
from symscreen.fitting.search_monitor import SearchMonitor
from symscreen.fitting.stage_names import GUESSES, LASSO_SUBSETS, PATHS, name_layer_stage
from symscreen.fitting.subset_search import (
    FitData,
    ModelSearchBudget,
    ModelSearchResult,
    drop_rounding,
    merge_search_results,
    search_all_subsets,
    search_models,
)
from symscreen.linear_models.row_weights import build_row_weights, count_effective_rows
from symscreen.messages import Message, name_option
from symscreen.screeners import parse_screeners
from symscreen.screening.scoring.score_space import score_space
from symscreen.screening.space_generation import generate_space, select_inputs
from symscreen.screening.task import ScreeningTask
from symscreen.units import compute_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from symscreen._typing import Values
    from symscreen.data import Dataset
    from symscreen.expansion import Space
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.effort import Effort
    from symscreen.fitting.grouped.grouped_rows import FitGroups
    from symscreen.fitting.laws.law import LawData
    from symscreen.fitting.model_selection import ScoredModel
    from symscreen.fitting.required_inputs import RequiredInputs
    from symscreen.fitting.search_monitor import FitProgressListener
    from symscreen.fitting.search_part import SearchPart
    from symscreen.grammar import Grammar, Layer
    from symscreen.linear_models.row_weights import RowWeights
    from symscreen.units import Units


_MAX_SUBSET_TERMS = 4  # models of more terms are found along paths
_MAX_PATH_FEATURES = 300  # features that greedy and LASSO paths choose from
_MAX_GUESS_COST = 20.0  # points of the criterion that a sufficient guess pays for its inner constants
_MAX_WITHOUT_INTERCEPT = 30  # sums of features that are also fitted without an intercept
_MAX_PATH_STARTS = 5  # models of four terms that are extended to longer ones


@dataclass(frozen=True, eq=False, kw_only=True)
class FitTask(ScreeningTask):
    """All that a fit needs; the dataset is in base units if there are units.

    Parameters
    ----------
    options : FitOptions
        The options as the user gave them. If `layers` is not given, large spaces of the default schedule may
        be skipped. With the preset ``"ibart"`` (Ye, Senftle and Li 2024) inputs are pruned too, the LASSO
        selects features of the final space, and all subsets of these are tried.
    layer_schedule : tuple of tuple of Layer
        Layers of the spaces to search, smaller spaces first.
    narrow_grammar : Grammar or None
        Fewer operators and constants, for the layers of the default schedule that would be large with all.
    units_record : mapping or None
        Record of the units of columns and targets.
    categories_record : mapping or None
        Record of categorical columns, with the same keys as in the record of a screen.
    input_ranges : mapping of str to list of float, or None
        The lowest and the highest value of each column in all rows, in original units. By default those of
        the dataset.
    required_inputs : RequiredInputs or None
        Inputs that every model must have.
    guesses : tuple of Expression
        Formulas of the user.
    source_weights : float64 array or None
        The weight of each row of the source, positive in the rows of the dataset.
    has_estimated_weights : bool
        Whether the weights are estimates of 1/variance, so that each row counts as one.
    groups : FitGroups or None
        The groups that have constants of their own.
    search_part : SearchPart or None
        The only part of the search that runs, with the pools and subsets of a quick one; None for all of it.
    on_progress : callable or None
        Called with a `FitProgress` when a stage starts, and when there is a better formula.
    """

    options: FitOptions = field(default_factory=FitOptions)
    layer_schedule: tuple[tuple[Layer, ...], ...]
    narrow_grammar: Grammar | None = None
    units_record: Mapping[str, Any] | None = None
    categories_record: Mapping[str, Any] | None = None
    input_ranges: Mapping[str, list[float]] | None = None
    required_inputs: RequiredInputs | None = None
    guesses: tuple[Expression, ...] = ()
    source_weights: Values | None = None
    has_estimated_weights: bool = False
    groups: FitGroups | None = None
    search_part: SearchPart | None = None
    on_progress: FitProgressListener | None = None

    @property
    def effort(self) -> Effort:
        """The limits of the search."""
        effort = EFFORTS[self.options.effort]
        return effort if self.search_part is None else limit_effort(effort)

    def count_rows(self, dataset: Dataset) -> float:
        """Return the number of rows of a dataset; with weights of the user, the effective number."""
        if self.has_estimated_weights:
            return dataset.target.n
        return count_effective_rows(dataset.target.n, self.get_row_weights(dataset))

    def get_row_weights(self, dataset: Dataset) -> RowWeights | None:
        """Return the weights of the rows of a dataset, with mean 1; None if they are equal."""
        return (
            None
            if self.source_weights is None
            else build_row_weights(self.source_weights[dataset.source_rows])
        )


@dataclass(frozen=True, eq=False)
class SearchTask:
    """What a stage of the search needs.

    Parameters
    ----------
    fit : FitTask
        The fit; its dataset has the rows of the search.
    notices : list of str
        Notices for the user. Stages append to it.
    found : ModelSearchResult
        The models of the stages before.
    laws : tuple of FittedLaw
        Candidates for the law of the target.
    is_law_found : bool
        Whether the best law leaves nothing that the inputs explain. Large spaces are then not searched.
    monitor : SearchMonitor
        Reports the stages, and ends the search at a time limit.
    """

    fit: FitTask
    notices: list[str]
    found: ModelSearchResult
    laws: tuple[FittedLaw, ...] = ()
    is_law_found: bool = False
    monitor: SearchMonitor = field(default_factory=SearchMonitor)

    @property
    def data(self) -> FitData:
        """Inputs and target of the rows, and the terms that the units allow."""
        dataset, units = self.fit.dataset, self.fit.units
        is_allowed = None if units is None else partial(_has_unit, units)
        inputs = get_input_columns(dataset)
        guesses = build_guess_dictionary(self.fit.guesses, inputs) if self.fit.guesses else None
        return FitData(
            inputs,
            dataset.regression_target,
            is_allowed,
            self.fit.required_inputs,
            guesses,
            self.fit.get_row_weights(dataset),
        )

    @property
    def budget(self) -> ModelSearchBudget:
        """Limits of the search of subsets."""
        effort = self.fit.effort
        return ModelSearchBudget(
            max_terms=min(self.fit.options.max_terms, _MAX_SUBSET_TERMS),
            exhaustive_features=effort.exhaustive_features,
            core_features=effort.core_features,
            pair_features=effort.pair_features,
            four_term_features=effort.four_term_features,
            ends_early=effort.ends_early,
        )


def list_space_searches(fit: FitTask) -> tuple[Callable[[SearchTask], ModelSearchResult], ...]:
    """Return the searches of spaces in their order; the searches for laws and the guesses come before."""
    if fit.options.preset == "ibart":
        return (search_lasso_subsets, extend_along_paths)
    return (search_spaces, extend_along_paths)


def run_model_search(
    fit: FitTask, notices: list[str], monitor: SearchMonitor | None = None
) -> ModelSearchResult:
    """Run the search on the rows of a dataset; notices for the user are appended to `notices`."""
    monitor = SearchMonitor() if monitor is None else monitor
    nothing = ModelSearchResult(make_empty_dictionary(fit.target.n), {}, 0, 0)
    task = SearchTask(fit, notices, nothing, monitor=monitor)
    if fit.search_part is not None:
        return _run_search_part(task, fit.search_part)
    exclusion = None
    if _searches_laws(fit):
        space, _ = generate_space(fit, fit.layer_schedule[0])  # refuses too little memory
        if fit.effort.deep_pool_formulas:
            check_deep_memory(fit.effort.deep_pool_formulas, fit.max_bytes, has_units=fit.units is not None)
        if monitor.has_listener:  # a first answer before the long searches
            monitor.start(name_layer_stage(_join_kinds(fit.layer_schedule[0])), is_needed=True)
            search_models([space], task.data, fit.backend, task.budget, monitor=monitor)
    if _searches_laws(fit) or _has_guesses(fit):
        data = task.data
        law_data = _build_law_data(fit, data)
        is_law_found = False
        found = _fit_guesses(fit, law_data)
        if _searches_laws(fit):
            ends_early = fit.effort.ends_early
            if not (ends_early and is_law_sufficient(found, law_data, max_cost=_MAX_GUESS_COST)):
                found += find_laws(_choose_law_inputs(task, law_data), fit.effort, monitor)
                if not any(each.is_exact for each in found):
                    exclusion = compute_exclusion(law_data)
            is_law_found = ends_early and is_law_sufficient(found, law_data)
        laws = fit_laws([each.law for each in found], data.inputs, data.target.values, data.row_weights)
        task = replace(task, laws=tuple(laws), is_law_found=is_law_found)
    for search in list_space_searches(fit):
        task = replace(task, found=search(task))
    if _searches_laws(fit):
        task = replace(task, laws=(*task.laws, *drop_intercepts(task)))
    merged = replace(add_laws(task.found, task.laws), exclusion=exclusion)
    return keep_required_inputs(merged, fit.required_inputs)


def _run_search_part(task: SearchTask, part: SearchPart) -> ModelSearchResult:
    """Run one stage of a search: spaces up to the size of the part, or one search for laws."""
    fit, data, laws = task.fit, task.data, list[FittedLaw]()
    if part.stage is not None and (not part.searches_spaces or _has_guesses(fit)):
        law_data = _build_law_data(fit, data)
        laws = _fit_guesses(fit, law_data)
        if not part.searches_spaces:
            laws += find_laws(_choose_law_inputs(task, law_data), fit.effort, only_stage=part.stage)
        laws = fit_laws([each.law for each in laws], data.inputs, data.target.values, data.row_weights)
    if part.searches_spaces:
        for search in list_space_searches(fit):
            task = replace(task, found=search(task))
        if _searches_laws(fit):
            laws += drop_intercepts(task)
    return keep_required_inputs(add_laws(task.found, laws), fit.required_inputs)


def _has_guesses(fit: FitTask) -> bool:
    """Return whether there are formulas of the user that may be laws."""
    return bool(fit.guesses) and len(get_targets(fit.dataset)) == 1


def _build_law_data(fit: FitTask, data: FitData) -> LawData:
    """Build what the searches for laws read."""
    return build_law_data(
        data.inputs,
        data.target.values,
        fit.grammar,
        data.is_allowed,
        pool_limit=fit.effort.pool_formulas,
        required_inputs=fit.required_inputs,
        row_weights=data.row_weights,
        units=fit.units,
        jobs=fit.backend.jobs,
    )


def _choose_law_inputs(task: SearchTask, law_data: LawData) -> LawData:
    """Choose the inputs that laws are searched among, and say so if they are not all."""
    chosen = choose_law_inputs(law_data, task.fit.backend)
    if chosen.all_columns is not None:
        n_chosen, n_all = len(chosen.columns), len(chosen.all_columns)
        task.notices.append(
            Message(
                f"the searches for laws used {n_chosen} of {n_all:,} inputs, those that explain most of the "
                f"target; the searches of layers used all; {name_option('inputs')} chooses other inputs"
            )
        )
    return chosen


def _fit_guesses(fit: FitTask, law_data: LawData) -> list[FittedLaw]:
    """Fit the formulas of the user as laws."""
    laws = [replace(law, stage=GUESSES) for law in list_guess_laws(fit.guesses, law_data)]
    return fit_laws(laws, law_data.columns, law_data.target, law_data.row_weights)


def drop_intercepts(task: SearchTask) -> list[FittedLaw]:
    """Fit the best sums of features also without an intercept, so that the criterion decides about it.

    Only where no sum is exact: the intercept of an exact formula is known.
    """
    found, data = task.found, task.data
    if found.has_exact_model:
        return []
    ranked = score_models(found, task.fit.count_rows(task.fit.dataset), "ebic")
    laws = [
        replace(build_law(found, model), has_intercept=False)
        for model in ranked[:_MAX_WITHOUT_INTERCEPT]
        if model.term_indices and model.has_intercept
    ]
    return fit_laws(laws, data.inputs, data.target.values, data.row_weights)


def refine_models(fit: FitTask, found: ModelSearchResult, models: Iterable[ScoredModel]) -> ModelSearchResult:
    """Add models whose numbers inside terms are fitted again with the weights of the rows.

    The numbers of a search are those of rows with equal weights, and so is what made them simple.
    """
    data = SearchTask(fit, [], found).data
    law_data = _build_law_data(fit, data)
    freed = [free_numbers(build_law(found, model), law_data) for model in models if model.term_indices]
    refined = [refine_law(law, law_data) for law in freed if any(map(count_fitted_constants, law.terms))]
    laws = [law for law in refined if law is not None and law_data.allows(law)]
    return add_laws(found, fit_laws(laws, data.inputs, data.target.values, data.row_weights))


def refit_terms(fit: FitTask, found: ModelSearchResult, model: ScoredModel) -> tuple[Expression, ...]:
    """Return the terms of a model with their fitted constants for the rows of the task."""
    law = build_law(found, model)
    return fit_inner_constants(law, _build_law_data(fit, SearchTask(fit, [], found).data)).terms


def build_law(found: ModelSearchResult, model: ScoredModel) -> Law:
    """Build a law from a model of a search; the mean has no terms."""
    members = list(model.term_indices)
    return Law(
        tuple(found.terms.expressions[index] for index in members),
        has_intercept=model.has_intercept,
        search_size=float(np.prod(found.terms.search_sizes[members])),
        n_constants=int(found.terms.n_constants[members].sum()),
        stage=model.stage or "",
    )


def _searches_laws(fit: FitTask) -> bool:
    """Return whether laws are searched: not with given layers, a preset or several targets."""
    options = fit.options
    return options.layers is None and options.preset is None and len(get_targets(fit.dataset)) == 1


def search_spaces(task: SearchTask) -> ModelSearchResult:
    """Search the spaces of the layer schedule for models of up to four terms, small spaces exhaustively.

    If there is a narrow grammar, the small spaces of the whole grammar are searched first. Then, unless a
    model is exact or a law leaves nothing to explain, the schedule is searched with the narrow grammar.
    """
    fit, narrow_grammar = task.fit, task.fit.narrow_grammar
    broad_kinds, narrow_kinds = list[str](), list[str]()
    share = 1.0 if narrow_grammar is None else fit.effort.broad_share
    monitor = task.monitor
    broad_spaces = _generate_spaces(fit, broad_kinds, monitor, share=share)
    found = search_models(
        broad_spaces, task.data, fit.backend, task.budget, is_law_found=task.is_law_found, monitor=monitor
    )
    if task.is_law_found:
        return found
    if narrow_grammar is None:
        task.notices.extend(map(_format_skipped_layers, broad_kinds))
    ends_early = found.has_exact_model and fit.effort.ends_early
    if narrow_grammar is None or ends_early:
        return found
    schedule = build_layer_schedule(narrow_grammar, None)
    narrow_fit = replace(fit, grammar=narrow_grammar, layer_schedule=schedule)
    narrow_spaces = _generate_spaces(narrow_fit, narrow_kinds, monitor, suffix=f" of {narrow_grammar.name}")
    narrow_found = search_models(narrow_spaces, task.data, fit.backend, task.budget, monitor=monitor)
    task.notices.extend(map(_format_skipped_layers, narrow_kinds))
    narrowed = [kinds for kinds in broad_kinds if kinds not in narrow_kinds]
    if narrowed and not narrow_found.has_exact_model:
        task.notices.append(
            Message(
                f"the layers {' and '.join(narrowed)} were searched with the operators of "
                f"{narrow_grammar.name} alone; {name_option('layers', narrowed[0])} searches them with all"
            )
        )
    return merge_search_results(narrow_found, found)


def search_lasso_subsets(task: SearchTask) -> ModelSearchResult:
    """Grow one space with pruning, and try all subsets of the features that the LASSO selects.

    As in iBART, all inputs are kept if none is selected.
    """
    task.monitor.start(LASSO_SUBSETS, is_needed=True)
    best_inputs = select_inputs(task.fit)
    dataset = task.fit.dataset if best_inputs is None else best_inputs
    fit = replace(task.fit, dataset=dataset, screeners=parse_screeners("lasso"))
    space, prunings = generate_space(fit, fit.layer_schedule[-1])
    joint_results = score_space(space, fit.change_options(top=1)).joint_results
    shown = selected = space.pool_indices[:0]
    if "lasso" in joint_results:
        shown = joint_results["lasso"].shortlist.features.number
        selected = np.sort(shown[joint_results["lasso"].scores.selected])
    n_selected_inputs = 0 if best_inputs is None else len(best_inputs.names)
    task.notices.append(
        _format_selections(task.fit, n_selected_inputs, prunings)
        + f"; the LASSO selected {len(selected):,} of {len(shown):,} features"
    )
    if not len(selected):
        return replace(task.found, n_features=space.size)
    terms = build_dictionary(space, selected, float(space.size))
    return search_all_subsets(terms, space.size, task.data, fit.backend, task.budget)


def _format_selections(fit: FitTask, n_selected_inputs: int, prunings: Sequence[Mapping[str, Any]]) -> str:
    """Say how many inputs the screeners selected, and how many features were kept after each pruned layer."""
    names = ", ".join(screener.name for screener in fit.pool_screeners)
    kinds = [layer.kind for layer in fit.layer_schedule[-1]]
    parts = [f"{names} selected {n_selected_inputs} of {len(fit.dataset.names)} inputs"]
    if not n_selected_inputs:
        parts = [f"{names} selected none of the {len(fit.dataset.names)} inputs, so all were kept"]
    parts += [
        f"{pruning['chosen']:,} of {pruning['scored']:,} features were kept after layer "
        f"{''.join(kinds[: pruning['layer']])}"
        for pruning in prunings
    ]
    return ", ".join(parts)


def extend_along_paths(task: SearchTask) -> ModelSearchResult:
    """Add models of more than four terms along greedy and LASSO paths, unless a model is exact."""
    found, dataset = task.found, task.fit.dataset
    target = dataset.regression_target
    max_terms = min(task.fit.options.max_terms, dataset.target.n - 2)
    if (
        max_terms <= _MAX_SUBSET_TERMS
        or len(found.terms) <= _MAX_SUBSET_TERMS
        or (found.has_exact_model and task.fit.effort.ends_early)
        or task.is_law_found
        or not task.monitor.start(PATHS)
    ):
        return found
    ranked = score_models(found, task.fit.count_rows(dataset), "bic", len(get_targets(dataset)))
    best_indices = dict.fromkeys(index for model in ranked for index in model.term_indices)
    indices = np.array(sorted(list(best_indices)[:_MAX_PATH_FEATURES]), dtype=np.int64)
    positions = {index: position for position, index in enumerate(indices.tolist())}
    starts = [
        tuple(positions[index] for index in model.term_indices)
        for model in ranked
        if len(model.term_indices) == _MAX_SUBSET_TERMS and set(model.term_indices) <= set(positions)
    ]
    terms = found.terms.take(indices)
    path_models = find_path_models(
        task.data.rotate(terms.values),
        task.data.rotate(target.values),
        terms.complexity,
        min_terms=_MAX_SUBSET_TERMS + 1,
        max_terms=max_terms,
        starts=starts[:_MAX_PATH_STARTS],
    )
    longer_models = {
        tuple(indices[list(members)].tolist()): share
        for members, share in drop_rounding(path_models, target.values).items()
    }
    stages = dict.fromkeys(longer_models, PATHS) | found.stages
    longer = replace(found, models=found.models | longer_models, stages=stages)
    task.monitor.report(longer)
    return longer


def _has_unit(units: Units, term: Expression) -> bool:
    """Return whether a term has a unit and, if a target unit is given, that unit."""
    unit = compute_unit(term, units)
    return unit is not None and (units.target is None or unit == units.target.base)


def _format_skipped_layers(kinds: str) -> str:
    return Message(
        f"the layers {kinds} were not searched (too large); {name_option('layers', kinds)} searches them"
    )


def _generate_spaces(
    fit: FitTask, skipped: list[str], monitor: SearchMonitor, *, share: float = 1.0, suffix: str = ""
) -> Iterator[Space]:
    """Grow the spaces of the schedule one by one; layers beyond a share of the limits go to `skipped`.

    The first space is grown even if the time is over, unless it is that of a narrow grammar, with a suffix.
    If only a part of a search is run, spaces that are larger than this part are left out.
    """
    pool_sizes: dict[tuple[Layer, ...], int] = {(): len(fit.dataset.names)}
    has_user_layers = fit.options.layers is not None
    for place, layers in enumerate(fit.layer_schedule):
        kinds = _join_kinds(layers)
        stage = name_layer_stage(kinds, suffix)
        if monitor.is_over and (place or suffix):
            monitor.leave_out(stage)
            continue
        space = None
        if (
            has_user_layers
            or len(pool_sizes) == 1
            or _is_affordable(layers[-1], pool_sizes.get(layers[:-1]), fit, share)
        ):
            monitor.start(stage, is_needed=True)
            try:
                space, _ = generate_space(fit, layers)
            except MemoryLimitError:
                if has_user_layers or len(pool_sizes) == 1:
                    raise
        if space is None:
            skipped.append(kinds)
            continue
        if space.stopped_at_layer is not None:
            monitor.leave_out(stage)
            if place:
                continue
        pool_sizes[layers] = _bound_pruned_pool(_count_pool(space), layers[-1], fit)
        if space.size:
            yield space
        if fit.search_part is not None and space.size >= fit.search_part.n_features:
            return


def _join_kinds(layers: Sequence[Layer]) -> str:
    """Return the kinds of layers as one text, such as ``"ub"``."""
    return "".join(layer.kind for layer in layers)


def _count_pool(space: Space) -> int:
    """Count the features that the next layer is applied to, including those without the target units."""
    return space.size + space.layer_counts[-1].n_excluded.get(CandidateStatus.OTHER_UNITS, 0)


def _is_affordable(layer: Layer, pool_size: int | None, fit: FitTask, share: float) -> bool:
    """Return whether a layer keeps to a share of the limits; its pool is None if too large."""
    if pool_size is None:
        return False
    candidates = _count_candidates(layer, pool_size + len(fit.grammar.constants))
    max_candidates, max_values = fit.effort.layer_candidates, fit.effort.layer_values
    return candidates <= share * max_candidates and candidates * fit.target.n <= share * max_values


def _bound_pruned_pool(pool_size: int, layer: Layer, fit: FitTask) -> int:
    """Bound the size of the pool that the next layer is applied to; inputs are always kept."""
    if not fit.pool_screeners:
        return pool_size
    sizes = fit.options.pool_sizes
    if sizes is None:
        sizes = {layer.kind: fit.prescreen}
    return min(pool_size, sizes.get(layer.kind, pool_size) + len(fit.dataset.names))


def _count_candidates(layer: Layer, pool_size: int) -> int:
    """Count the candidates of a layer over a pool of a given size."""
    pairs_by_arity = {1: pool_size, 2: pool_size * pool_size}
    return sum(pairs_by_arity[operator.arity] // (1 + operator.commutative) for operator in layer.operators)

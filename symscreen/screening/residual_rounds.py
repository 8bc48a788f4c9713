"""Screening rounds: generate the space, prune it between layers, score it, and screen the residual again.

Round 1 screens the target. After round r, the best linear model of r of the features found so far is fitted
by least squares, and round r + 1 screens its residual. This is iterated sure independence screening (Fan and
Lv 2008) with the model selection of SISSO (Ouyang et al. 2018).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen._limits import check_memory, has_memory_for
from symscreen.data import replace_target
from symscreen.expansion import presort_pool
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import evaluate_expression
from symscreen.linear_models.exhaustive_subsets import find_best_models
from symscreen.linear_models.gram import compute_gram
from symscreen.logs import log_event
from symscreen.messages import name_option
from symscreen.screeners import JointScreener, Screener
from symscreen.screening.memory_estimate import estimate_presort_bytes, estimate_scoring_bytes
from symscreen.screening.scoring.rank_counting import compute_ranks
from symscreen.screening.scoring.score_space import score_space
from symscreen.screening.scoring.streaming import add_margin
from symscreen.screening.space_generation import GenerationConfig, generate_space

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.data import Dataset
    from symscreen.expansion import PoolKind, Space
    from symscreen.expressions.tree import Expression
    from symscreen.grammar import Grammar, Layer
    from symscreen.screeners import AnyScreener
    from symscreen.screening.inference.error_control import ErrorControl
    from symscreen.screening.scoring.score_space import ScoringConfig, ScoringResult
    from symscreen.screening.space_generation import PruningCallback
    from symscreen.targets import Target
    from symscreen.units import Units


_NEGLIGIBLE_SHARE = 1e-24  # unexplained share of the variance that is rounding error: (1e-12)²


def compute_residual(
    values: NDArray[np.float64], target: NDArray[np.float64], max_terms: int, jobs: int = 1
) -> tuple[NDArray[np.float64], NDArray[np.int32]] | None:
    """Fit the best linear model of a given size by least squares and return its residual.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        Values of the features found so far.
    target : float64 array, shape (n,)
        Values of the target.
    max_terms : int
        Number of features in the model, 1 to 4. It is smaller if there are fewer independent features.
    jobs : int
        Number of threads.

    Returns
    -------
    residual : float64 array, shape (n,)
        Residual of mean 0.
    members : int32 array, shape (terms,)
        Row indices in `values` of the features of the model.
        None is returned instead of both if nothing is left to explain, because a residual of rounding errors
        cannot rank features.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(5, 40))
    >>> residual, members = compute_residual(x, 3 * x[2] + 0.1 * x[4], max_terms=1)
    >>> members.tolist(), round(float(np.corrcoef(residual, x[4])[0, 1]), 1)
    ([2], 1.0)
    """
    gram = compute_gram(values, target)
    for n_terms in range(min(max_terms, len(values)), 0, -1):
        members, unexplained = find_best_models(gram, n_terms, keep=1, jobs=jobs)
        if len(members):
            if unexplained[0] < _NEGLIGIBLE_SHARE:
                return None
            # an orthonormal basis is accurate even if features are nearly collinear; project twice
            basis, _ = np.linalg.qr(gram.columns[members[0]].T)
            (unit_target,) = gram.target
            residual = unit_target - basis @ (basis.T @ unit_target)
            residual = residual - basis @ (basis.T @ residual)
            scale = float(np.abs(target - target.mean()).max())
            return residual / np.abs(unit_target).max() * scale, members[0]
    return None


@dataclass(frozen=True, eq=False)
class ScreenConfig:
    """Parsed options of a screen.

    Parameters
    ----------
    grammar : Grammar
        Operators and rules.
    layers : tuple of Layer
        The layers that are applied.
    pool_kind : {"cumulative", "strict"}
        See `expand`.
    user_expressions : sequence of Expression
        Formulas that the user adds to the space.
    scoring : ScoringConfig
        Screeners and the size of the result.
    pool_screeners : tuple of Screener or JointScreener
        Screeners that prune the pool between layers; empty for no pruning.
    pool_sizes : mapping of str to int, or None
        Number of features to keep after each kind of layer. A kind that is missing is not pruned. None keeps
        what joint screeners select.
    max_bytes : int or None
        Memory limit in bytes.
    units : Units or None
        Units of the columns. If given, every formula must have a unit.
    """

    grammar: Grammar
    layers: tuple[Layer, ...]
    pool_kind: PoolKind
    user_expressions: Sequence[Expression]
    scoring: ScoringConfig
    pool_screeners: tuple[AnyScreener, ...]
    pool_sizes: Mapping[str, int] | None
    max_bytes: int | None
    units: Units | None = None


@dataclass(frozen=True, eq=False)
class RoundResult:
    """Result of one round.

    Parameters
    ----------
    space : Space
        The space that was screened.
    scoring_result : ScoringResult
        Its ranking and scores.
    pruning_records : tuple of dict
        Record of each pruning between layers.
    shown_indices : int64 array, ascending
        Indices of the features that the result reports for this round. A feature that several rounds found is
        reported in the round that ranks it highest.
    target : Target
        The target, or the residual that this round screened.
    inputs : float64 array, shape (d, n)
        Values of the inputs, in the row order of the round.
    model : tuple of Expression
        Terms of the model whose residual this round screened; empty in the first round.
    notices : tuple of str
        Notices for the user.
    target_ranks : int64 array, shape (k,), optional
        Only in the last of several rounds: rank by the original target of each reported feature of all
        rounds.
    """

    space: Space
    scoring_result: ScoringResult
    pruning_records: tuple[dict[str, Any], ...]
    shown_indices: NDArray[np.int64]
    target: Target
    inputs: NDArray[np.float64]
    model: tuple[Expression, ...] = ()
    notices: tuple[str, ...] = ()
    target_ranks: NDArray[np.int64] | None = None

    @property
    def expressions(self) -> list[Expression]:
        """The reported features, best first."""
        return [
            self.space.build_expression(number)
            for number in self.scoring_result.features.number[self.shown_indices].tolist()
        ]


def run_rounds(dataset: Dataset, config: ScreenConfig, rounds: int) -> list[RoundResult]:
    """Screen a dataset, then the residual of the best model of the features found, and so on.

    Parameters
    ----------
    dataset : Dataset
        The data.
    config : ScreenConfig
        Options of the screen.
    rounds : int
        Maximum number of rounds.

    Returns
    -------
    list of RoundResult
        Stops early, with a notice in the last round, if a model fits the target to machine precision or no
        feature was found.
    """
    results = [_run_round(dataset, config)]
    by_name = dict(zip(dataset.names, dataset.columns, strict=True))
    while len(results) < rounds:
        expressions = _collect_expressions(results)
        values = np.array([evaluate_expression(expression, by_name) for expression in expressions])
        fit = (
            compute_residual(values, dataset.numeric_target.values, len(results), config.scoring.jobs)
            if expressions
            else None
        )
        if fit is None:
            reason = "the features found leave nothing to explain" if expressions else "no feature was found"
            results[-1] = replace(results[-1], notices=(f"round {len(results) + 1} was not run: {reason}",))
            break
        residual, members = fit
        # p-values would be invalid: the residual depends on the features found
        config = replace(config, scoring=replace(config.scoring, error_control=None))
        model = tuple(expressions[member] for member in members.tolist())
        results.append(replace(_run_round(replace_target(dataset, residual), config), model=model))
    if len(results) == 1:
        return results
    results = _assign_features_to_rounds(results)
    if isinstance(config.scoring.screeners[0], Screener):
        shown = [expression for result in results for expression in result.expressions]
        target_ranks = _compute_target_ranks(dataset, config, results[0].space, shown, by_name)
        results[-1] = replace(results[-1], target_ranks=target_ranks)
    return results


def _assign_features_to_rounds(round_results: Sequence[RoundResult]) -> list[RoundResult]:
    """Report each feature in the round that ranks it highest; in the earlier one of two equal rounds."""
    best: dict[tuple[int, ...], tuple[int, int]] = {}
    for round_index, result in enumerate(round_results):
        for index, key in enumerate(map(tuple, result.scoring_result.features.keys.tolist())):
            best[key] = min(best.get(key, (index, round_index)), (index, round_index))
    by_round: list[list[int]] = [[] for _ in round_results]
    for index, round_index in best.values():
        by_round[round_index].append(index)
    return [
        replace(result, shown_indices=np.array(sorted(indices), dtype=np.int64))
        for result, indices in zip(round_results, by_round, strict=True)
    ]


def _collect_expressions(round_results: Sequence[RoundResult]) -> list[Expression]:
    """Return the features of all rounds without repetitions, in the order in which they were found."""
    expressions: dict[tuple[int, ...], Expression] = {}
    for result in round_results:
        features = result.scoring_result.features
        for key, number in zip(map(tuple, features.keys.tolist()), features.number.tolist(), strict=True):
            if key not in expressions:
                expressions[key] = result.space.build_expression(number)
    return list(expressions.values())


def _compute_target_ranks(
    dataset: Dataset,
    config: ScreenConfig,
    space: Space,
    expressions: Sequence[Expression],
    by_name: Mapping[str, NDArray[np.float64]],
) -> NDArray[np.int64]:
    """Return the rank of each expression by the original target, shape (k,)."""
    values = np.array([evaluate_expression(expression, by_name) for expression in expressions])
    scoring = config.scoring
    return compute_ranks(
        space,
        dataset.target,
        scoring.prescreeners[0],
        scoring.sign,
        values.reshape(len(expressions), -1),
        backend=scoring.backend,
        chunk_size=scoring.chunk_size,
    )


def make_generation_config(dataset: Dataset, config: ScreenConfig) -> GenerationConfig:
    """Build the configuration for generating the space of a screen.

    Parameters
    ----------
    dataset : Dataset
        The data.
    config : ScreenConfig
        Options of the screen.

    Returns
    -------
    GenerationConfig
    """
    pruning = replace(config.scoring, screeners=config.pool_screeners) if config.pool_screeners else None
    return GenerationConfig(
        config.grammar,
        config.pool_kind,
        config.user_expressions,
        pruning,
        config.pool_sizes,
        config.max_bytes,
        map_function=config.scoring.backend.map,
        reserved_bytes=estimate_scoring_bytes(dataset.target.n, config.scoring),
        is_approximate=config.scoring.search.mode != "exact",
        units=config.units,
        deadline=config.scoring.run_control.generation_deadline,
    )


def build_space(
    dataset: Dataset, config: ScreenConfig, on_prune: PruningCallback | None = None
) -> tuple[Space, tuple[dict[str, Any], ...]]:
    """Generate the space that a round scores.

    Parameters
    ----------
    dataset : Dataset
        The data.
    config : ScreenConfig
        Options of the screen.
    on_prune : callable, optional
        Called with each space that is pruned and the result of the pruning; see `GenerationConfig`.

    Returns
    -------
    Space
        The space, ready to be scored.
    tuple of dict
        Record of each pruning.

    Raises
    ------
    MemoryLimitError
        If scoring the space would exceed the memory limit.
    """
    space, pruning_records = generate_space(
        dataset, replace(make_generation_config(dataset, config), on_prune=on_prune), config.layers
    )
    log_event("grown", features=space.size, pool=len(space.pool), candidates=space.candidates.total)
    _check_memory(space, config)
    return _presort_pool(space, config), pruning_records


def _run_round(dataset: Dataset, config: ScreenConfig) -> RoundResult:
    """Generate and score the space of one round."""
    space, pruning_records = build_space(dataset, config)
    result = score_space(space, dataset.target, config.scoring)
    shown_indices = _select_shown(result, config.scoring.error_control)
    return RoundResult(space, result, pruning_records, shown_indices, dataset.target, dataset.columns)


def _select_shown(scoring_result: ScoringResult, error_control: ErrorControl | None) -> NDArray[np.int64]:
    """Return the indices of features within the requested false discovery rate, or of all if none is."""
    every = np.arange(len(scoring_result.features))
    if error_control is None or error_control.fdr is None:
        return every
    passing = np.flatnonzero(scoring_result.extra_columns["q_value"] <= error_control.fdr)
    return passing if len(passing) else every


def _check_memory(space: Space, config: ScreenConfig) -> None:
    """Raise an error if the ranking would exceed the memory limit, now that the space's size is known."""
    scoring = config.scoring
    required_bytes = _estimate_scoring_bytes(space, scoring)
    n_kept = space.size if scoring.limit is None else min(space.size, add_margin(scoring.limit))
    has_permutations = scoring.error_control is not None and scoring.error_control.permutations
    permutations = f"{name_option('permutations')}, " if has_permutations else ""
    remedies = (
        f"ask for fewer with {permutations}{name_option('top')} or {name_option('prescreen')}",
        f"use {name_option('jobs', 1)}" if scoring.jobs > 1 else "use fewer operators, inputs or layers",
    )
    check_memory(required_bytes, config.max_bytes, f"keeping {n_kept:,} features", remedies)


def _presort_pool(space: Space, config: ScreenConfig) -> Space:
    """Sort the rows of the pool's features once, if that saves time and fits into memory."""
    scoring = config.scoring
    order_bytes = 0 if space.pool.values is None else estimate_presort_bytes(space, space.n_rows, scoring)
    scoring_bytes = _estimate_scoring_bytes(space, scoring)
    if not order_bytes or not has_memory_for(order_bytes + scoring_bytes, config.max_bytes):
        return space
    return presort_pool(space, scoring.backend.map)


def _estimate_scoring_bytes(space: Space, scoring: ScoringConfig) -> int:
    """Estimate the memory of scoring a generated space."""
    return estimate_scoring_bytes(
        space.n_rows, scoring, n_features=space.size, n_candidates=space.candidates.total
    )


def build_extra_record(round_results: Sequence[RoundResult], config: ScreenConfig) -> dict[str, Any]:
    """Build the parts of the record that only some runs have: joint screeners, pruning, rounds and others.

    Parameters
    ----------
    round_results : sequence of RoundResult
        The rounds of the screen.
    config : ScreenConfig
        Options of the screen.

    Returns
    -------
    dict
        Parts of the run's record, by key.
    """
    record: dict[str, Any] = {}
    first = round_results[0].scoring_result
    if config.scoring.joint_screeners:
        prescreener_names = [screener.name for screener in config.scoring.prescreeners]
        record["joint"] = {
            screener.name: _build_joint_record(screener, first, prescreener_names)
            for screener in config.scoring.joint_screeners
        }
    if first.search_record is not None:
        record["search"] = first.search_record
    if first.error_control_record is not None:
        record["error_control"] = first.error_control_record
    if config.units is not None:
        record["units"] = config.units.record
    if config.pool_screeners:
        record["cuts"] = [pruning for result in round_results for pruning in result.pruning_records]
    if len(round_results) > 1:
        record["rounds"] = [
            {"model": [to_text(term) for term in result.model], "scored": result.scoring_result.n_scored}
            for result in round_results
        ]
    return record


def _build_joint_record(
    screener: JointScreener, scoring_result: ScoringResult, prescreener_names: list[str]
) -> dict[str, Any]:
    """Return the record of one joint screener."""
    if screener.name not in scoring_result.joint_results:
        return {"shown": 0}
    joint_result = scoring_result.joint_results[screener.name]
    return {
        "shown": len(joint_result.shortlist.features),
        "chosen_by": prescreener_names,
        "merged": {"ranks": "same or mirrored ranks", "affine": "affine copies"}[screener.equivalence],
        "settings": dict(screener.all_settings),
        **joint_result.scores.record,
    }

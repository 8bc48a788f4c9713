"""Screening rounds: generate the space, prune it between layers, score it, and screen the residual again.

Round 1 screens the target. After round r, the best linear model of r of the features found so far is fitted
by least squares, and round r + 1 screens its residual. This is iterated sure independence screening (Fan and
Lv 2008) with the model selection of SISSO (Ouyang et al. 2018).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.data import replace_target
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import evaluate_expression
from symscreen.linear_models.exhaustive_subsets import find_best_models
from symscreen.linear_models.gram import compute_gram
from symscreen.linear_models.model_criteria import EXACT_SHARE
from symscreen.screeners import JointScreener, Screener
from symscreen.screening.inference.feature_safety import merge_safety_records
from symscreen.screening.scoring.rank_counting import compute_ranks
from symscreen.screening.scoring.score_space import score_space
from symscreen.screening.space_generation import generate_presorted_space

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.data import Dataset
    from symscreen.expansion import Space
    from symscreen.expressions.tree import Expression
    from symscreen.screening.scoring.score_space import ScoringResult
    from symscreen.screening.task import ScreeningTask


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
        Row indices in `values` of the features of the model. None is returned instead of both if nothing is
        left to explain, because a residual of rounding errors cannot rank features.

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
            if unexplained[0] < EXACT_SHARE:
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
    dataset : Dataset
        The data of the round: its target is the residual of the model.
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
    dataset: Dataset
    model: tuple[Expression, ...] = ()
    notices: tuple[str, ...] = ()
    target_ranks: NDArray[np.int64] | None = None

    @property
    def expressions(self) -> list[Expression]:
        """The reported features, best first."""
        return list(self.iterate_expressions())

    def iterate_expressions(self, limit: int | None = None) -> Iterator[Expression]:
        """Yield the reported features, or the first ones, best first."""
        for number in self.scoring_result.features.number[self.shown_indices[:limit]].tolist():
            yield self.space.build_expression(number)

    def add_columns(self, columns: Mapping[str, Any]) -> RoundResult:
        """Return the result with more columns of its features, shape (k,) each."""
        extra_columns = self.scoring_result.extra_columns | dict(columns)
        return replace(self, scoring_result=replace(self.scoring_result, extra_columns=extra_columns))


def run_rounds(task: ScreeningTask) -> list[RoundResult]:
    """Screen a dataset, then the residual of the best model of the features found, and so on.

    Stops before the requested number of rounds, with a notice in the last one, if a model fits the target to
    machine precision or no feature was found.
    """
    dataset, results = task.dataset, [run_round(task)]
    while len(results) < task.options.rounds:
        expressions = _collect_expressions(results)
        values = np.array([evaluate_expression(each, dataset.columns_by_name) for each in expressions])
        fit = (
            compute_residual(values, dataset.numeric_target.values, len(results), task.backend.jobs)
            if expressions
            else None
        )
        if fit is None:
            reason = "the features found leave nothing to explain" if expressions else "no feature was found"
            results[-1] = replace(
                results[-1],
                notices=(
                    *results[-1].notices,
                    f"round {len(results) + 1} was not run: {reason}",
                ),
            )
            break
        residual, members = fit
        # p-values would be invalid: the residual depends on the features found
        round_task = replace(task, dataset=replace_target(dataset, residual), error_control=None)
        model = tuple(expressions[member] for member in members.tolist())
        results.append(replace(run_round(round_task), model=model))
    if len(results) == 1:
        return results
    results = _assign_features_to_rounds(results)
    if isinstance(task.screeners[0], Screener):
        shown = [expression for result in results for expression in result.expressions]
        values = np.array([evaluate_expression(each, dataset.columns_by_name) for each in shown])
        ranks = compute_ranks(
            results[0].space,
            dataset.target,
            task.prescreeners[0],
            task.options.sign,
            values.reshape(len(shown), dataset.target.n),
            backend=task.backend,
            chunk_size=task.chunk_size,
        )
        results[-1] = replace(results[-1], target_ranks=ranks)
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


def run_round(task: ScreeningTask) -> RoundResult:
    """Generate the space of one round and score it."""
    return score_round(*generate_presorted_space(task), task)


def score_round(
    space: Space, pruning_records: tuple[dict[str, Any], ...], task: ScreeningTask
) -> RoundResult:
    """Score a space; the features within the requested false discovery rate are shown, or all if none is."""
    result = score_space(space, task)
    shown = np.arange(len(result.features))
    if task.error_control is not None and task.error_control.fdr is not None:
        passing = np.flatnonzero(result.extra_columns["q_value"] <= task.error_control.fdr)
        shown = passing if len(passing) else shown
    return RoundResult(space, result, pruning_records, shown, task.dataset)


def build_extra_record(round_results: Sequence[RoundResult], task: ScreeningTask) -> dict[str, Any]:
    """Build the parts of the record that only some runs have: joint screeners, pruning, rounds and others."""
    record: dict[str, Any] = {}
    first = round_results[0].scoring_result
    if task.joint_screeners:
        prescreener_names = [screener.name for screener in task.prescreeners]
        record["joint"] = {
            screener.name: _build_joint_record(screener, first, prescreener_names)
            for screener in task.joint_screeners
        }
    if first.search_record is not None:
        record["search"] = first.search_record
    record |= first.selection_record
    if "safety" in first.selection_record:
        record |= merge_safety_records([each.scoring_result.selection_record for each in round_results])
    if first.error_control_record is not None:
        record["error_control"] = first.error_control_record
    if task.units is not None:
        record["units"] = task.units.record
    if task.pool_screeners:
        record["pool_pruning"] = [pruning for result in round_results for pruning in result.pruning_records]
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

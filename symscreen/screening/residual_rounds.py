"""What the best model of a few of the features found so far leaves unexplained.

One screen: grow the space, cut it between layers, score it, and screen again what the best leave.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen._limits import check_memory, has_memory_for
from symscreen.data import replace_target
from symscreen.expansion import presort_pool
from symscreen.expressions.tree import evaluate_expression, to_text
from symscreen.linear_models.exhaustive_subsets import find_best_models
from symscreen.linear_models.gram import compute_gram
from symscreen.logs import log_event
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
    from symscreen.targets.registry import Target
    from symscreen.units import Units


__all__ = [
    "RoundResult",
    "ScreenConfig",
    "build_extra_record",
    "build_space",
    "compute_residual",
    "make_generation_config",
    "run_rounds",
]

_NEGLIGIBLE_SHARE = 1e-24
"""A share left unexplained that is rounding: (1e-12)², of the response's own digits."""


def compute_residual(
    values: NDArray[np.float64], target: NDArray[np.float64], max_terms: int, jobs: int = 1
) -> tuple[NDArray[np.float64], NDArray[np.int32]] | None:
    """Fit the best model of a size by least squares and return what it leaves.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        The features found.
    target : float64 array, shape (n,)
        The response.
    size : int
        Features in the model, 1 to 4; fewer where there are fewer.
    jobs : int
        Threads.

    Returns
    -------
    residual : float64 array, shape (n,)
        Of mean 0.
    members : int32 array, shape (size,)
        The features of the model.
        None instead of both where nothing is left to explain: a residual of rounding alone ranks nothing.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(5, 40))
    >>> residual, members = compute_residual(x, 3 * x[2] + 0.1 * x[4], size=1)
    >>> members.tolist(), round(float(np.corrcoef(residual, x[4])[0, 1]), 1)
    ([2], 1.0)
    """
    gram = compute_gram(values, target)
    for terms in range(min(max_terms, len(values)), 0, -1):
        members, unexplained = find_best_models(gram, terms, keep=1, jobs=jobs)
        if len(members):
            if unexplained[0] < _NEGLIGIBLE_SHARE:
                return None
            # orthonormal columns: near copies among the features cost no digits
            basis, _ = np.linalg.qr(gram.columns[members[0]].T)
            left = gram.target - basis @ (basis.T @ gram.target)
            left = left - basis @ (basis.T @ left)
            scale = float(np.abs(target - target.mean()).max())
            return left / np.abs(gram.target).max() * scale, members[0]
    return None


@dataclass(frozen=True, eq=False)
class ScreenConfig:
    """A screen, its options read.

    Parameters
    ----------
    grammar : Grammar
        The rules.
    layers : tuple of Layer
        What is applied.
    pool_kind : {"cumulative", "strict"}
        As in `expand`.
    also : sequence of Expression
        The user's own formulas.
    request : Request
        Who scores, and what is returned.
    cutters : tuple of Screener or JointScreener
        Who cuts between layers; empty for no cuts.
    keeps : mapping of str to int, or None
        How many features stay after each kind of layer; a kind that is not named is not cut. None to keep
        what joint screeners select.
    max_bytes : int or None
        The memory allowed.
    units : Units or None
        Those of the columns, where every formula must have one.
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
    """What a round found.

    Parameters
    ----------
    space : Space
        What it screened.
    screened : Screened
        What it found there.
    cuts : tuple of dict
        What the record tells of the cuts between layers.
    model : tuple of Expression
        The model whose residual this round screened; empty in the first.
    notices : tuple of str
        For people.
    shown : int64 array
        The places of the features that the result shows of this round: one found in several rounds is shown
        in the one that puts it first.
    response : Response or RankingResponse
        What it was screened against.
    inputs : float64 array, shape (d, n)
        The inputs, in the order of its rows.
    places : int64 array, shape (k,), optional
        In the last of several rounds: where each feature of all rounds stands by the response itself.
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
        """The features shown, best first."""
        return [
            self.space.build_expression(number)
            for number in self.scoring_result.features.number[self.shown_indices].tolist()
        ]


def run_rounds(dataset: Dataset, config: ScreenConfig, rounds: int) -> list[RoundResult]:
    """Screen a table, then what the best model of the features found leaves unexplained, and so on.

    Parameters
    ----------
    table : Table
        The data.
    job : Job
        What to do.
    rounds : int
        How many rounds at most. After round r the best model of r features is fitted by least squares, among
        all subsets of the features found so far (sure independence screening, Fan and Lv 2008; the choice of
        the model is that of SISSO, Ouyang et al. 2018).

    Returns
    -------
    list of Round
        Fewer than asked for where a model explains the response to rounding; the last then says so.
    """
    found = [_run_round(dataset, config)]
    by_name = dict(zip(dataset.names, dataset.columns, strict=True))
    while len(found) < rounds:
        known = _collect_expressions(found)
        values = np.array([evaluate_expression(expression, by_name) for expression in known])
        left = (
            compute_residual(values, dataset.numeric_target.values, len(found), config.scoring.jobs)
            if known
            else None
        )
        if left is None:
            why = "the features found leave nothing to explain" if known else "no feature was found"
            found[-1] = replace(found[-1], notices=(f"round {len(found) + 1} was not run: {why}",))
            break
        residual, members = left
        config = replace(
            config, scoring=replace(config.scoring, error_control=None)
        )  # it was fitted to the response
        model = tuple(known[member] for member in members.tolist())
        found.append(replace(_run_round(replace_target(dataset, residual), config), model=model))
    if len(found) == 1:
        return found
    found = _assign_features_to_rounds(found)
    if isinstance(config.scoring.screeners[0], Screener):
        shown = [expression for each in found for expression in each.expressions]
        found[-1] = replace(
            found[-1], target_ranks=_compute_target_ranks(dataset, config, found[0].space, shown, by_name)
        )
    return found


def _assign_features_to_rounds(round_results: Sequence[RoundResult]) -> list[RoundResult]:
    """Show each feature in the round that puts it first, in the earlier one of two that do."""
    best: dict[tuple[int, ...], tuple[int, int]] = {}
    for number, each in enumerate(round_results):
        for place, own in enumerate(map(tuple, each.scoring_result.features.keys.tolist())):
            best[own] = min(best.get(own, (place, number)), (place, number))
    by_round: list[list[int]] = [[] for _ in round_results]
    for place, number in best.values():
        by_round[number].append(place)
    return [
        replace(each, shown_indices=np.array(sorted(places), dtype=np.int64))
        for each, places in zip(round_results, by_round, strict=True)
    ]


def _collect_expressions(round_results: Sequence[RoundResult]) -> list[Expression]:
    """Return what the rounds found, each feature once, in the order in which it was found."""
    expressions: dict[tuple[int, ...], Expression] = {}
    for each in round_results:
        kept = each.scoring_result.features
        for own, number in zip(map(tuple, kept.keys.tolist()), kept.number.tolist(), strict=True):
            if own not in expressions:
                expressions[own] = each.space.build_expression(number)
    return list(expressions.values())


def _compute_target_ranks(
    dataset: Dataset,
    config: ScreenConfig,
    space: Space,
    expressions: Sequence[Expression],
    by_name: Mapping[str, NDArray[np.float64]],
) -> NDArray[np.int64]:
    values = np.array([evaluate_expression(expression, by_name) for expression in expressions])
    request, leader = config.scoring, config.scoring.prescreeners[0]
    return compute_ranks(
        space,
        dataset.target,
        leader,
        request.sign,
        values.reshape(len(expressions), -1),
        backend=request.backend,
        chunk_size=request.chunk_size,
    )


def make_generation_config(dataset: Dataset, config: ScreenConfig) -> GenerationConfig:
    """Say how the space of a job is grown.

    Parameters
    ----------
    table : Table
        The data.
    job : Job
        What to do.

    Returns
    -------
    Growth
    """
    cut = replace(config.scoring, screeners=config.pool_screeners) if config.pool_screeners else None
    return GenerationConfig(
        config.grammar,
        config.pool_kind,
        config.user_expressions,
        cut,
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
    """Grow the space that a round scores.

    Parameters
    ----------
    table : Table
        The data.
    job : Job
        What to do.
    watch : callable, optional
        As of `Growth`.

    Returns
    -------
    Space
        Ready to be scored.
    tuple of dict
        What the run's record tells of each cut.

    Raises
    ------
    SpaceError
        If scoring it would take more memory than is allowed.
    """
    space, cuts = generate_space(
        dataset, replace(make_generation_config(dataset, config), on_prune=on_prune), config.layers
    )
    log_event("grown", features=space.size, pool=len(space.pool), candidates=space.candidates.total)
    _check_memory(space, config)
    return _presort_pool(space, config), cuts


def _run_round(dataset: Dataset, config: ScreenConfig) -> RoundResult:
    space, cuts = build_space(dataset, config)
    found = score_space(space, dataset.target, config.scoring)
    return RoundResult(
        space,
        found,
        cuts,
        _select_shown(found, config.scoring.error_control),
        dataset.target,
        dataset.columns,
    )


def _select_shown(scoring_result: ScoringResult, error_control: ErrorControl | None) -> NDArray[np.int64]:
    """Choose what passes the false discovery rate asked for, or everything where nothing does."""
    if error_control is None or error_control.fdr is None:
        return np.arange(len(scoring_result.features))
    passing = np.flatnonzero(scoring_result.extra_columns["q_value"] <= error_control.fdr)
    return passing if len(passing) else np.arange(len(scoring_result.features))


def _check_memory(space: Space, config: ScreenConfig) -> None:
    """Refuse a ranking that would not fit, now that it is known how many features there are."""
    request = config.scoring
    needed = estimate_scoring_bytes(
        space.n_rows,
        request,
        n_features=space.size,
        n_candidates=space.candidates.total,
    )
    shown = space.size if request.limit is None else min(space.size, add_margin(request.limit))
    other = "use --jobs 1" if request.jobs > 1 else "use fewer operators, inputs or layers"
    shuffled = request.error_control is not None and request.error_control.permutations
    ways = (f"ask for fewer with {'--permutations, ' if shuffled else ''}--top or --prescreen", other)
    check_memory(needed, config.max_bytes, f"keeping {shown:,} features", ways)


def _presort_pool(space: Space, config: ScreenConfig) -> Space:
    """Put the pool's rows in order for the functions of its members, where that saves time and fits."""
    request, rows = config.scoring, space.n_rows
    needed = 0 if space.pool.values is None else estimate_presort_bytes(space, rows, request)
    beside = estimate_scoring_bytes(rows, request, n_features=space.size, n_candidates=space.candidates.total)
    if not needed or not has_memory_for(needed + beside, config.max_bytes):
        return space
    return presort_pool(space, request.backend.map)


def build_extra_record(round_results: Sequence[RoundResult], config: ScreenConfig) -> dict[str, Any]:
    """Collect what only runs with joint screeners, cuts or several rounds have to tell.

    Parameters
    ----------
    found : sequence of Round
        What the rounds found.
    job : Job
        What was done.

    Returns
    -------
    dict
        For the run's record.
    """
    further: dict[str, Any] = {}
    first = round_results[0]
    if config.scoring.joint_screeners:
        leaders = [one.name for one in config.scoring.prescreeners]
        further["joint"] = {
            one.name: _build_joint_record(one, first.scoring_result, leaders)
            for one in config.scoring.joint_screeners
        }
    if first.scoring_result.search_record is not None:
        further["search"] = first.scoring_result.search_record
    if first.scoring_result.error_control_record is not None:
        further["error_control"] = first.scoring_result.error_control_record
    if config.units is not None:
        further["units"] = config.units.record
    if config.pool_screeners:
        further["cuts"] = [record for each in round_results for record in each.pruning_records]
    if len(round_results) > 1:
        further["rounds"] = [
            {"model": [to_text(term) for term in each.model], "scored": each.scoring_result.n_scored}
            for each in round_results
        ]
    return further


def _build_joint_record(
    screener: JointScreener, scoring_result: ScoringResult, prescreener_names: list[str]
) -> dict[str, Any]:
    if screener.name not in scoring_result.joint_results:
        return {"shown": 0}
    judged = scoring_result.joint_results[screener.name]
    return {
        "shown": len(judged.shortlist.features),
        "chosen_by": prescreener_names,
        "merged": {"ranks": "same or mirrored ranks", "affine": "affine copies"}[screener.equivalence],
        "settings": dict(screener.all_settings),
        **judged.scores.record,
    }

"""Screen ODE-Strogatz tables, and find the ranks of the terms of the truth among all features of a space."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from symscreen import datasets
from symscreen.backends import Threads
from symscreen.data import read_dataset
from symscreen.evaluation import (
    Truth,
    average_precision,
    compute_first_correct_rank,
    compute_recall_at,
    find_affine_copies,
    find_affine_copies_in_space,
    find_correct_features,
    list_term_sums,
    parse_truth,
)
from symscreen.experiments.strogatz.fits import GRAMMAR
from symscreen.expressions.printing import to_text
from symscreen.fitting import get_input_columns
from symscreen.grammar import load_grammar
from symscreen.screeners import PEARSON, T0, XI, parse_screeners
from symscreen.screeners.column.correlation import SPEARMAN
from symscreen.screening.scoring.score_space import ScoringConfig, score_space
from symscreen.screening.scoring.streaming import compute_chunk_size
from symscreen.screening.space_generation import GenerationConfig, generate_space
from symscreen.statistics.ranks.sorted_block import sort_block

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from symscreen.data import Dataset
    from symscreen.expansion import Space
    from symscreen.screening.scoring.joint_screening import JointResult
    from symscreen.targets import NumericTarget


COLUMN_SCREENERS = (T0, XI, PEARSON, SPEARMAN)
JOINT_SCREENER = "lasso"
_SHORTLIST_SIZE = 1000  # best features by T0 that the joint screener receives
_LOSS_DIGITS = 12  # decimals: rounding noise must not break ties


@dataclass(frozen=True, eq=False)
class CorrectFeatures:
    """The correct features of a space.

    Parameters
    ----------
    n_features : int
        Number of features, including undefined and constant ones of the last layer.
    truth : Truth
        The truth of the table.
    correct : int64 array, shape (c,), ascending
        Numbers of the features that are correct by the criterion ``terms``.
    formulas : tuple of str, length c
        Their formulas.
    term_copies : tuple of int64 array
        For each additive term of the truth, the numbers of its affine copies; empty if the space has none.
    """

    n_features: int
    truth: Truth
    correct: NDArray[np.int64]
    formulas: tuple[str, ...]
    term_copies: tuple[NDArray[np.int64], ...]


@dataclass(frozen=True, eq=False)
class ScreenerPerformance:
    """Ranking of a space by one screener.

    Parameters
    ----------
    average_precision, recall_20, recall_100 : float
        Measures by the criterion ``terms``; NaN if the space has no correct feature.
    ranks : tuple of float
        Rank of the best feature of each term of the truth (mid-rank of ties); NaN if there is none.
    class_ranks : tuple of float
        The same, with tied features counted as one.
    """

    average_precision: float
    recall_20: float
    recall_100: float
    ranks: tuple[float, ...]
    class_ranks: tuple[float, ...]


@lru_cache(maxsize=64)
def list_correct_features(system: str, layers: str) -> CorrectFeatures:
    """Find the terms of the truth in a space of the noise-free table. Noise does not change the features.

    Parameters
    ----------
    system : str
        Name from `symscreen.datasets.list_strogatz_names`.
    layers : str
        Layers of the space.

    Returns
    -------
    CorrectFeatures
        The correct features.
    """
    data = datasets.load_strogatz(system)
    table = _read_dataset(data.frame)
    return _match_truth(_generate_space(table, layers), table, parse_truth(data.truth))


def _match_truth(space: Space, dataset: Dataset, truth: Truth) -> CorrectFeatures:
    """Find the features of a space that are correct, and the copies of each term."""
    candidates = find_affine_copies_in_space(space, list_term_sums(truth), get_input_columns(dataset))
    expressions = [space.build_expression(number) for number in candidates.tolist()]
    correct_indices = np.flatnonzero(find_correct_features(expressions, truth, "terms"))
    expressions = [expressions[i] for i in correct_indices.tolist()]
    return CorrectFeatures(
        n_features=space.size,
        truth=truth,
        correct=candidates[correct_indices],
        formulas=tuple(map(to_text, expressions)),
        term_copies=tuple(
            candidates[correct_indices][find_affine_copies(expressions, term)] for term in truth.terms
        ),
    )


def screen_space(
    system: str, frame: pd.DataFrame, layers: str, *, joint: bool, seed: int
) -> tuple[dict[str, ScreenerPerformance], float]:
    """Score every feature of a space on one thread, and evaluate the rankings.

    Parameters
    ----------
    system : str
        Name of the table.
    frame : pandas.DataFrame
        The table, with or without noise.
    layers : str
        Layers of the space.
    joint : bool
        Whether to run the joint screener on the best thousand features by T0.
    seed : int
        Seed of the folds of the joint screener.

    Returns
    -------
    dict of str to ScreenerPerformance
        Performance by screener, with free sign.
    float
        Seconds to generate and score the space.
    """
    correct_features = list_correct_features(system, layers)
    table = _read_dataset(frame)
    start = time.perf_counter()
    space = _generate_space(table, layers)
    joint_result = _run_joint_screener(space, table.numeric_target, seed) if joint else None
    numbers, losses = _score_blocks(space, table.numeric_target, joint_result)
    seconds = time.perf_counter() - start
    if correct_features.formulas != tuple(
        to_text(space.build_expression(number)) for number in correct_features.correct.tolist()
    ):
        # the numbers of the features differ only if rounding merged other features
        correct_features = _match_truth(space, table, correct_features.truth)
    return {
        name: _measure_screener(loss, numbers, correct_features) for name, loss in losses.items()
    }, seconds


def _read_dataset(frame: pd.DataFrame) -> Dataset:
    """Read a table with all inputs."""
    return read_dataset(frame, target="target", inputs=None, exclude=(), missing="refuse", y=None)


def _generate_space(dataset: Dataset, layers: str) -> Space:
    """Generate a space with cumulative pools."""
    grammar = load_grammar(GRAMMAR)
    growth = GenerationConfig(grammar, "cumulative", (), None, None, None)
    return generate_space(dataset, growth, grammar.resolve_layers(layers))[0]


def _score_blocks(
    space: Space, target: NumericTarget, joint_result: JointResult | None
) -> tuple[NDArray[np.int64], dict[str, NDArray[np.float64]]]:
    """Score the features block by block; return their numbers (q,) and the losses by screener, (q,) each.

    The loss of the joint screener is NaN for features without an equivalent in its shortlist.
    """
    numbers: list[NDArray[np.int64]] = []
    losses: dict[str, list[NDArray[np.float64]]] = defaultdict(list)
    for block in space.evaluate_range(0, space.total):
        if not len(block.numbers):
            continue
        numbers.append(block.numbers)
        ordered = sort_block(block.values)
        for screener in COLUMN_SCREENERS:
            loss = screener.loss(screener.statistic(ordered, target), target, "free")
            losses[screener.name].append(np.round(loss, _LOSS_DIGITS))
        if joint_result is not None:
            positions = joint_result.shortlist.find_positions(ordered)
            losses[JOINT_SCREENER].append(
                np.where(positions >= 0, joint_result.scores.loss[positions], np.nan)
            )
    return np.concatenate(numbers), {name: np.concatenate(parts) for name, parts in losses.items()}


def _run_joint_screener(space: Space, target: NumericTarget, seed: int) -> JointResult:
    """Run the joint screener on a shortlist."""
    config = ScoringConfig(
        screeners=parse_screeners(("t0", JOINT_SCREENER)),
        sign="free",
        limit=1,
        prescreen=_SHORTLIST_SIZE,
        seed=seed,
        jobs=1,
        backend=Threads(1),
        chunk_size=compute_chunk_size(target.n),
    )
    return score_space(space, target, config).joint_results[JOINT_SCREENER]


def _measure_screener(
    loss: NDArray[np.float64], numbers: NDArray[np.int64], correct_features: CorrectFeatures
) -> ScreenerPerformance:
    """Evaluate the ranking of the features `numbers` (q,) by their losses (q,)."""
    is_correct = np.isin(numbers, correct_features.correct)
    is_copy = [np.isin(numbers, term) for term in correct_features.term_copies]
    _, class_index = np.unique(loss, return_inverse=True)
    return ScreenerPerformance(
        average_precision=average_precision(loss, is_correct),
        recall_20=compute_recall_at(loss, is_correct, 20),
        recall_100=compute_recall_at(loss, is_correct, 100),
        ranks=tuple(compute_first_correct_rank(loss, term) for term in is_copy),
        class_ranks=tuple(
            float(1 + class_index[term].min()) if term.any() else float("nan") for term in is_copy
        ),
    )

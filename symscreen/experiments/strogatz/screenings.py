"""One ODE-Strogatz table screened: where the truth's terms stand among all features of a space."""

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
from symscreen.expressions.tree import to_text
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


__all__ = [
    "COLUMN_SCREENERS",
    "JOINT_SCREENER",
    "CorrectFeatures",
    "ScreenerPerformance",
    "list_correct_features",
    "screen_space",
]

COLUMN_SCREENERS = (T0, XI, PEARSON, SPEARMAN)
JOINT_SCREENER = "lasso"
_SHORTLIST_SIZE = 1000  # the best by T0: what the joint screener is shown
_LOSS_DIGITS = 12


@dataclass(frozen=True, eq=False)
class CorrectFeatures:
    """What there is to find in a space.

    Parameters
    ----------
    features : int
        How many features there are, undefined and constant ones of the last layer included.
    truth : Truth
        The table's.
    correct : int64 array, shape (c,), ascending
        The features that are correct by the criterion ``terms``.
    texts : tuple of str, length c
        Their formulas.
    terms : tuple of int64 array
        For each additive term of the truth the features that are affine copies of it; none where the space
        does not hold it.
    """

    n_features: int
    truth: Truth
    correct: NDArray[np.int64]
    formulas: tuple[str, ...]
    term_copies: tuple[NDArray[np.int64], ...]


@dataclass(frozen=True, eq=False)
class ScreenerPerformance:
    """How one screener orders a space.

    Parameters
    ----------
    average_precision, recall_20, recall_100 : float
        By the criterion ``terms``; NaN where the space holds nothing that is correct.
    ranks : tuple of float
        Of the best feature of each of the truth's terms, tied ones at their middle; NaN where there is none.
    classes : tuple of float
        The same with tied features counted as one.
    """

    average_precision: float
    recall_20: float
    recall_100: float
    ranks: tuple[float, ...]
    class_ranks: tuple[float, ...]


@lru_cache(maxsize=64)
def list_correct_features(system: str, layers: str) -> CorrectFeatures:
    """Find the truth's terms in a space of the table without noise, which has the same features as with it.

    Parameters
    ----------
    system : str
        A name of `symscreen.datasets.list_strogatz_names`.
    layers : str
        The space.

    Returns
    -------
    Answers
    """
    data = datasets.load_strogatz(system)
    table = _read_dataset(data.frame)
    return _match_truth(_generate_space(table, layers), table, parse_truth(data.truth))


def _match_truth(space: Space, dataset: Dataset, truth: Truth) -> CorrectFeatures:
    near = find_affine_copies_in_space(space, list_term_sums(truth), get_input_columns(dataset))
    expressions = [space.build_expression(number) for number in near.tolist()]
    good = np.flatnonzero(find_correct_features(expressions, truth, "terms"))
    expressions = [expressions[place] for place in good.tolist()]
    return CorrectFeatures(
        n_features=space.size,
        truth=truth,
        correct=near[good],
        formulas=tuple(map(to_text, expressions)),
        term_copies=tuple(near[good][find_affine_copies(expressions, term)] for term in truth.terms),
    )


def screen_space(
    system: str, frame: pd.DataFrame, layers: str, *, joint: bool, seed: int
) -> tuple[dict[str, ScreenerPerformance], float]:
    """Score every feature of a space, on one thread, and look up what is correct.

    Parameters
    ----------
    system : str
        Whose truth.
    frame : pandas.DataFrame
        Its table, with or without noise.
    layers : str
        The space.
    joint : bool
        Whether the joint screener is asked, too; it is shown the best thousand features by T0.
    seed : int
        For the joint screener's folds.

    Returns
    -------
    dict of str to Screening
        By screener; falling with the response is as good as rising.
    float
        Seconds for growing the space and scoring it.
    """
    answers = list_correct_features(system, layers)
    table = _read_dataset(frame)
    start = time.perf_counter()
    space = _generate_space(table, layers)
    judged = _run_joint_screener(space, table.numeric_target, seed) if joint else None
    numbers, losses = _score_blocks(space, table.numeric_target, judged)
    seconds = time.perf_counter() - start
    if answers.formulas != tuple(
        to_text(space.build_expression(number)) for number in answers.correct.tolist()
    ):
        # features are numbered alike whatever the order of the rows, unless rounding has merged others
        answers = _match_truth(space, table, answers.truth)
    return {name: _measure_screener(loss, numbers, answers) for name, loss in losses.items()}, seconds


def _read_dataset(frame: pd.DataFrame) -> Dataset:
    return read_dataset(frame, target="target", inputs=None, exclude=(), missing="refuse", y=None)


def _generate_space(dataset: Dataset, layers: str) -> Space:
    grammar = load_grammar(GRAMMAR)
    growth = GenerationConfig(grammar, "cumulative", (), None, None, None)
    return generate_space(dataset, growth, grammar.resolve_layers(layers))[0]


def _score_blocks(
    space: Space, target: NumericTarget, joint_result: JointResult | None
) -> tuple[NDArray[np.int64], dict[str, NDArray[np.float64]]]:
    """Score block by block: all read the same order of the rows, and no table is built.

    Parameters
    ----------
    space : Space
        With values.
    response : Response
        The response.
    judged : Judged or None
        The joint screener's verdict, where it is asked.

    Returns
    -------
    int64 array, shape (q,)
        The features, ascending.
    dict of str to float64 array, shape (q,)
        Their losses by screener; NaN where the joint one was not shown a feature or a copy of it.
    """
    numbers: list[NDArray[np.int64]] = []
    losses: dict[str, list[NDArray[np.float64]]] = defaultdict(list)
    for block in space.evaluate_range(0, space.total):
        if not len(block.numbers):
            continue
        numbers.append(block.numbers)
        ordered = sort_block(block.values)
        for one in COLUMN_SCREENERS:
            loss = one.loss(one.statistic(ordered, target), target, "free")
            losses[one.name].append(np.round(loss, _LOSS_DIGITS))
        if joint_result is not None:
            place = joint_result.shortlist.find_positions(ordered)
            losses[JOINT_SCREENER].append(np.where(place >= 0, joint_result.scores.loss[place], np.nan))
    return np.concatenate(numbers), {name: np.concatenate(parts) for name, parts in losses.items()}


def _run_joint_screener(space: Space, target: NumericTarget, seed: int) -> JointResult:
    request = ScoringConfig(
        screeners=parse_screeners(("t0", JOINT_SCREENER)),
        sign="free",
        limit=1,
        prescreen=_SHORTLIST_SIZE,
        seed=seed,
        jobs=1,
        backend=Threads(1),
        chunk_size=compute_chunk_size(target.n),
    )
    return score_space(space, target, request).joint_results[JOINT_SCREENER]


def _measure_screener(
    loss: NDArray[np.float64], numbers: NDArray[np.int64], correct_features: CorrectFeatures
) -> ScreenerPerformance:
    good = np.isin(numbers, correct_features.correct)
    each = [np.isin(numbers, term) for term in correct_features.term_copies]
    _, place = np.unique(loss, return_inverse=True)
    return ScreenerPerformance(
        average_precision=average_precision(loss, good),
        recall_20=compute_recall_at(loss, good, 20),
        recall_100=compute_recall_at(loss, good, 100),
        ranks=tuple(compute_first_correct_rank(loss, term) for term in each),
        class_ranks=tuple(float(1 + place[term].min()) if term.any() else float("nan") for term in each),
    )

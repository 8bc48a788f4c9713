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
from symscreen.evaluation import (
    Truth,
    affine_copies,
    average_precision,
    correct,
    first_correct,
    like_one_of,
    read_truth,
    recall_at,
    sums_of_terms,
)
from symscreen.experiments.strogatz_recovery import GRAMMAR
from symscreen.expression import to_text
from symscreen.grammar import load_grammar
from symscreen.models import columns_of
from symscreen.pipeline.growth import Growth, grown
from symscreen.result import Request, chunk_size_for, screened
from symscreen.screeners import PEARSON, T0, XI, screeners_asked
from symscreen.screeners.correlation import SPEARMAN
from symscreen.statistics.order import order_features
from symscreen.table import read_table

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from symscreen.expansion import Space
    from symscreen.response import Response
    from symscreen.result.joint import Judged
    from symscreen.table import Table

__all__ = ["COLUMN_SCREENERS", "JOINT_SCREENER", "Answers", "Screening", "answers_in", "screening"]

COLUMN_SCREENERS = (T0, XI, PEARSON, SPEARMAN)
JOINT_SCREENER = "lasso"
_SHOWN = 1000  # the best by T0: what the joint screener is shown
_DIGITS = 12


@dataclass(frozen=True, eq=False)
class Answers:
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

    features: int
    truth: Truth
    correct: NDArray[np.int64]
    texts: tuple[str, ...]
    terms: tuple[NDArray[np.int64], ...]


@dataclass(frozen=True, eq=False)
class Screening:
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
    classes: tuple[float, ...]


@lru_cache(maxsize=64)
def answers_in(system: str, layers: str) -> Answers:
    """Find the truth's terms in a space of the table without noise, which has the same features as with it.

    Parameters
    ----------
    system : str
        A name of `symscreen.datasets.strogatz_names`.
    layers : str
        The space.

    Returns
    -------
    Answers
    """
    data = datasets.strogatz(system)
    table = _table(data.frame)
    return _answers(_space(table, layers), table, read_truth(data.truth))


def _answers(space: Space, table: Table, truth: Truth) -> Answers:
    near = like_one_of(space, sums_of_terms(truth), columns_of(table))
    expressions = [space.expression(number) for number in near.tolist()]
    good = np.flatnonzero(correct(expressions, truth, "terms"))
    expressions = [expressions[place] for place in good.tolist()]
    return Answers(
        features=space.size,
        truth=truth,
        correct=near[good],
        texts=tuple(map(to_text, expressions)),
        terms=tuple(near[good][affine_copies(expressions, term)] for term in truth.terms),
    )


def screening(
    system: str, frame: pd.DataFrame, layers: str, *, joint: bool, seed: int
) -> tuple[dict[str, Screening], float]:
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
    answers = answers_in(system, layers)
    table = _table(frame)
    start = time.perf_counter()
    space = _space(table, layers)
    judged = _judged(space, table.numeric, seed) if joint else None
    numbers, losses = _scored(space, table.numeric, judged)
    seconds = time.perf_counter() - start
    if answers.texts != tuple(to_text(space.expression(number)) for number in answers.correct.tolist()):
        # features are numbered alike whatever the order of the rows, unless rounding has merged others
        answers = _answers(space, table, answers.truth)
    return {name: _screening(loss, numbers, answers) for name, loss in losses.items()}, seconds


def _table(frame: pd.DataFrame) -> Table:
    return read_table(frame, target="target", inputs=None, exclude=(), missing="refuse", y=None)


def _space(table: Table, layers: str) -> Space:
    grammar = load_grammar(GRAMMAR)
    growth = Growth(grammar, "cumulative", (), None, None, None)
    return grown(table, growth, grammar.parsed_layers(layers))[0]


def _scored(
    space: Space, response: Response, judged: Judged | None
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
    for block in space.blocks(0, space.total):
        if not len(block.numbers):
            continue
        numbers.append(block.numbers)
        ordered = order_features(block.values)
        for one in COLUMN_SCREENERS:
            loss = one.loss(one.statistic(ordered, response), response, "free")
            losses[one.name].append(np.round(loss, _DIGITS))
        if judged is not None:
            place = judged.showing.places_of(ordered)
            losses[JOINT_SCREENER].append(np.where(place >= 0, judged.verdict.loss[place], np.nan))
    return np.concatenate(numbers), {name: np.concatenate(parts) for name, parts in losses.items()}


def _judged(space: Space, response: Response, seed: int) -> Judged:
    request = Request(
        screeners=screeners_asked(("t0", JOINT_SCREENER)),
        sign="free",
        limit=1,
        prescreen=_SHOWN,
        seed=seed,
        jobs=1,
        backend=Threads(1),
        chunk_size=chunk_size_for(response.n),
    )
    return screened(space, response, request).judged[JOINT_SCREENER]


def _screening(loss: NDArray[np.float64], numbers: NDArray[np.int64], answers: Answers) -> Screening:
    good = np.isin(numbers, answers.correct)
    each = [np.isin(numbers, term) for term in answers.terms]
    _, place = np.unique(loss, return_inverse=True)
    return Screening(
        average_precision=average_precision(loss, good),
        recall_20=recall_at(loss, good, 20),
        recall_100=recall_at(loss, good, 100),
        ranks=tuple(first_correct(loss, term) for term in each),
        classes=tuple(float(1 + place[term].min()) if term.any() else float("nan") for term in each),
    )

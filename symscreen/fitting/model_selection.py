"""Which of the models found to believe: criteria that count the search, the front, and the rivals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log
from typing import TYPE_CHECKING, Literal

import numpy as np

from symscreen.fitting.subset_search import EXACT_SHARE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from symscreen.fitting.subset_search import ModelSearchResult


__all__ = [
    "Criterion",
    "ScoredModel",
    "find_alternatives",
    "find_pareto_front",
    "score_models",
    "select_model",
]

Criterion = Literal["ebic", "bic", "aic"]

_CRITERION_TOLERANCE = 2.0
_MIN_ROWS_PER_PARAMETER = 5
_SHARE_DIGITS = 9  # digits: models whose unexplained shares agree so far span the same space


@dataclass(frozen=True, slots=True)
class ScoredModel:
    """A model with its price.

    Parameters
    ----------
    members : tuple of int
        Places among the terms, ascending.
    share : float
        Of the response's variance, what the model leaves unexplained: 1 − R².
    complexity : int
        The terms' complexity, and one for each coefficient; 0 for the mean.
    score : float
        The criterion, lower is better.
    shape : tuple of int
        The terms' complexities, the largest first: of equally complex models the one with simpler terms is
        better.
    rewritings : int
        How many other models of as many terms leave exactly as much: other ways to write the same formula,
        or, where nothing is left, other exact formulas.
    """

    term_indices: tuple[int, ...]
    unexplained_share: float
    complexity: int
    score: float
    term_complexities: tuple[int, ...] = ()
    n_rewritings: int = 0


def score_models(
    search_result: ModelSearchResult, n_rows: int, criterion: Criterion, n_targets: int = 1
) -> list[ScoredModel]:
    """Score the models found, and the mean; of those that leave exactly as much only the simplest.

    Parameters
    ----------
    found : Found
        What a search found.
    rows : int
        n, how many rows it saw.
    criterion : {"ebic", "bic", "aic"}
        With k terms, c constants fitted inside them and an intercept: n·log(1 − R²) + (k + c + 1)·log n for
        BIC (Schwarz 1978), 2·(k + c + 1) instead for AIC (Akaike 1974). EBIC adds 2·Σ log p_j, p_j being the
        number of features that term j was chosen from (Chen and Chen 2008, Biometrika 95, 759-771, with
        γ = 1): a search over many formulas fits noise, and only this one counts how many it went through.
    targets : int
        K, of how many responses the shares are the mean. The first term is then n·K·log of the mean share,
        the likelihood of n·K errors of one variance, each response in units of its own standard deviation;
        there are K·(k + 1) + c numbers, and the terms are chosen once: Σ log p_j counts once.

    Returns
    -------
    list of Candidate
        Best first; exact formulas before all others, the simplest of them first. Unless it is exact, a model
        of more than one term has at least five values of a response for each of its numbers: the criteria
        hold for many rows, and with few they prefer what passes through all points.
    """
    alike: dict[tuple[int, float], list[ScoredModel]] = {}
    for members, share in [((), 1.0), *search_result.models.items()]:
        numbers = n_targets * (1 + len(members)) + int(search_result.terms.n_constants[list(members)].sum())
        if (
            share > EXACT_SHARE
            and len(members) > 1
            and _MIN_ROWS_PER_PARAMETER * numbers > n_targets * n_rows
        ):
            continue
        shape = tuple(sorted((int(search_result.terms.complexity[place]) for place in members), reverse=True))
        score = n_targets * n_rows * log(max(share, EXACT_SHARE)) + _compute_penalty(
            search_result, members, numbers, n_rows, criterion
        )
        one = ScoredModel(members, share, sum(shape) + len(shape), score, shape)
        same = 0.0 if share <= EXACT_SHARE else float(f"{share:.{_SHARE_DIGITS}g}")
        alike.setdefault((len(members), same), []).append(one)
    chosen = [
        replace(min(group, key=_build_simplicity_key), n_rewritings=len(group) - 1)
        for group in alike.values()
    ]
    return sorted(chosen, key=_build_rank_key)


def _build_rank_key(model: ScoredModel) -> tuple[float, tuple[int, tuple[int, ...], tuple[int, ...]]]:
    # exact formulas come first, and nothing but its length speaks for one or another of them
    return -np.inf if model.unexplained_share <= EXACT_SHARE else round(
        model.score, 6
    ), _build_simplicity_key(model)


def _build_simplicity_key(model: ScoredModel) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    return model.complexity, model.term_complexities, model.term_indices


def _compute_penalty(
    search_result: ModelSearchResult,
    term_indices: tuple[int, ...],
    n_parameters: int,
    n_rows: int,
    criterion: Criterion,
) -> float:
    if criterion == "aic":
        return 2.0 * n_parameters
    searched = (
        2 * sum(log(search_result.terms.search_sizes[place]) for place in term_indices)
        if criterion == "ebic"
        else 0.0
    )
    return n_parameters * log(n_rows) + searched


def select_model(models: Sequence[ScoredModel]) -> ScoredModel:
    """Return the simplest of the models that the criterion cannot tell from the best.

    Parameters
    ----------
    candidates : sequence of Candidate
        Best first, as `score_models` returns them.

    Returns
    -------
    Candidate
        Among those within 2 points, which is "not worth more than a bare mention" (Kass and Raftery 1995,
        J. Am. Stat. Assoc. 90, 773-795), the least complex, and of equally complex ones the best; of exact
        formulas the first.
    """
    best = models[0]
    if best.unexplained_share <= EXACT_SHARE:
        return best
    near = (one for one in models if one.score <= best.score + _CRITERION_TOLERANCE)
    return min(near, key=lambda one: (one.complexity, _build_rank_key(one)))


def find_pareto_front(models: Iterable[ScoredModel]) -> list[ScoredModel]:
    """Return the Pareto front of error against complexity, the simplest first.

    Examples
    --------
    >>> simple, worse = ScoredModel((0,), 0.5, 2, 0.0), ScoredModel((1,), 0.6, 3, 0.0)
    >>> [one.complexity for one in find_pareto_front([worse, simple])]
    [2]
    """
    best: list[ScoredModel] = []
    for one in sorted(
        models,
        key=lambda one: (
            one.complexity,
            max(one.unexplained_share, EXACT_SHARE),
            one.term_complexities,
            one.term_indices,
        ),
    ):
        if not best or max(one.unexplained_share, EXACT_SHARE) < max(
            best[-1].unexplained_share, EXACT_SHARE
        ) * (1 - 1e-9):
            best.append(one)
    return best


def find_alternatives(
    selected: ScoredModel, models: Sequence[ScoredModel], margin: float, limit: int
) -> list[ScoredModel]:
    """Return the other models that the criterion can hardly tell from the one chosen.

    Parameters
    ----------
    chosen : Candidate
        The model chosen.
    candidates : sequence of Candidate
        All, best first.
    margin : float
        How much worse a rival may score: e^(−margin/2) is its posterior odds beside the best.
    limit : int
        How many at most.

    Returns
    -------
    list of Candidate
        Best first.
    """
    near = [one for one in models if one is not selected and one.score <= selected.score + margin]
    if selected.unexplained_share <= EXACT_SHARE:
        # an exact formula with terms added to it is the same formula, and rounding
        near = [one for one in near if not set(selected.term_indices) < set(one.term_indices)]
    return near[:limit]

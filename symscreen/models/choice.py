"""Which of the models found to believe: criteria that count the search, the front, and the rivals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log
from typing import TYPE_CHECKING, Literal

import numpy as np

from symscreen.models.search import EXACT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from symscreen.models.search import Found

__all__ = ["Candidate", "Criterion", "candidates_in", "front", "preferred", "rivals_of"]

Criterion = Literal["ebic", "bic", "aic"]

_BARE_MENTION = 2.0
_ROWS_EACH = 5
_SAME = 9  # digits: models whose unexplained shares agree so far span the same space


@dataclass(frozen=True, slots=True)
class Candidate:
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

    members: tuple[int, ...]
    share: float
    complexity: int
    score: float
    shape: tuple[int, ...] = ()
    rewritings: int = 0


def candidates_in(found: Found, rows: int, criterion: Criterion, targets: int = 1) -> list[Candidate]:
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
    alike: dict[tuple[int, float], list[Candidate]] = {}
    for members, share in [((), 1.0), *found.models.items()]:
        numbers = targets * (1 + len(members)) + int(found.terms.constants[list(members)].sum())
        if share > EXACT and len(members) > 1 and _ROWS_EACH * numbers > targets * rows:
            continue
        shape = tuple(sorted((int(found.terms.complexity[place]) for place in members), reverse=True))
        score = targets * rows * log(max(share, EXACT)) + _price(found, members, numbers, rows, criterion)
        one = Candidate(members, share, sum(shape) + len(shape), score, shape)
        same = 0.0 if share <= EXACT else float(f"{share:.{_SAME}g}")
        alike.setdefault((len(members), same), []).append(one)
    chosen = [replace(min(group, key=_simplicity), rewritings=len(group) - 1) for group in alike.values()]
    return sorted(chosen, key=_rank)


def _rank(one: Candidate) -> tuple[float, tuple[int, tuple[int, ...], tuple[int, ...]]]:
    # exact formulas come first, and nothing but its length speaks for one or another of them
    return -np.inf if one.share <= EXACT else round(one.score, 6), _simplicity(one)


def _simplicity(one: Candidate) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    return one.complexity, one.shape, one.members


def _price(found: Found, members: tuple[int, ...], numbers: int, rows: int, criterion: Criterion) -> float:
    if criterion == "aic":
        return 2.0 * numbers
    searched = 2 * sum(log(found.terms.rivals[place]) for place in members) if criterion == "ebic" else 0.0
    return numbers * log(rows) + searched


def preferred(candidates: Sequence[Candidate]) -> Candidate:
    """Return the simplest of the models that the criterion cannot tell from the best.

    Parameters
    ----------
    candidates : sequence of Candidate
        Best first, as `candidates_in` returns them.

    Returns
    -------
    Candidate
        Among those within 2 points, which is "not worth more than a bare mention" (Kass and Raftery 1995,
        J. Am. Stat. Assoc. 90, 773-795), the least complex, and of equally complex ones the best; of exact
        formulas the first.
    """
    best = candidates[0]
    if best.share <= EXACT:
        return best
    near = (one for one in candidates if one.score <= best.score + _BARE_MENTION)
    return min(near, key=lambda one: (one.complexity, _rank(one)))


def front(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the Pareto front of error against complexity, the simplest first.

    Examples
    --------
    >>> simple, worse = Candidate((0,), 0.5, 2, 0.0), Candidate((1,), 0.6, 3, 0.0)
    >>> [one.complexity for one in front([worse, simple])]
    [2]
    """
    best: list[Candidate] = []
    for one in sorted(
        candidates, key=lambda one: (one.complexity, max(one.share, EXACT), one.shape, one.members)
    ):
        if not best or max(one.share, EXACT) < max(best[-1].share, EXACT) * (1 - 1e-9):
            best.append(one)
    return best


def rivals_of(
    chosen: Candidate, candidates: Sequence[Candidate], margin: float, limit: int
) -> list[Candidate]:
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
    near = [one for one in candidates if one is not chosen and one.score <= chosen.score + margin]
    if chosen.share <= EXACT:
        # an exact formula with terms added to it is the same formula, and rounding
        near = [one for one in near if not set(chosen.members) < set(one.members)]
    return near[:limit]

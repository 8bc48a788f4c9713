"""Which of the models found to believe: criteria that count the search, the front, and the rivals."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Literal

from symscreen.models.search import EXACT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from symscreen.models.search import Found

__all__ = ["Candidate", "Criterion", "candidates_in", "front", "rivals_of"]

Criterion = Literal["ebic", "bic", "aic"]

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
        The terms' complexity, and one for each coefficient.
    score : float
        The criterion, lower is better.
    rewritings : int
        How many other models of as many terms leave exactly as much: other ways to write the same formula,
        or, where nothing is left, other exact formulas.
    """

    members: tuple[int, ...]
    share: float
    complexity: int
    score: float
    rewritings: int = 0


def candidates_in(found: Found, rows: int, criterion: Criterion) -> list[Candidate]:
    """Score the models found, of those that leave exactly as much only the simplest.

    Parameters
    ----------
    found : Found
        What a search found.
    rows : int
        n, how many rows it saw.
    criterion : {"ebic", "bic", "aic"}
        With k terms and an intercept: n·log(1 − R²) + (k + 1)·log n for BIC (Schwarz 1978), 2(k + 1) instead
        for AIC (Akaike 1974). EBIC adds 2·Σ log p_j, p_j being the number of features that term j was chosen
        from (Chen and Chen 2008, Biometrika 95, 759-771, with γ = 1): a search over many formulas fits noise,
        and only this one counts how many it went through.

    Returns
    -------
    list of Candidate
        Best first.
    """
    alike: dict[tuple[int, float], list[tuple[int, tuple[int, ...]]]] = {}
    for members, share in found.models.items():
        complexity = sum(int(found.terms.complexity[place]) + 1 for place in members)
        same = 0.0 if share <= EXACT else float(f"{share:.{_SAME}g}")
        alike.setdefault((len(members), same), []).append((complexity, members))
    chosen = []
    for group in alike.values():
        complexity, members = min(group)
        share = found.models[members]
        chosen.append(
            Candidate(members, share, complexity, _score(found, members, rows, criterion), len(group) - 1)
        )
    return sorted(chosen, key=lambda one: (round(one.score, 6), one.complexity, one.members))


def _score(found: Found, members: tuple[int, ...], rows: int, criterion: Criterion) -> float:
    fit = rows * log(max(found.models[members], EXACT))
    k = len(members) + 1
    if criterion == "aic":
        return fit + 2 * k
    searched = 2 * sum(log(found.terms.rivals[place]) for place in members) if criterion == "ebic" else 0.0
    return fit + k * log(rows) + searched


def front(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the Pareto front of error against complexity, the simplest first.

    Examples
    --------
    >>> simple, worse = Candidate((0,), 0.5, 2, 0.0), Candidate((1,), 0.6, 3, 0.0)
    >>> [one.complexity for one in front([worse, simple])]
    [2]
    """
    best: list[Candidate] = []
    for one in sorted(candidates, key=lambda one: (one.complexity, one.share, one.members)):
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
    return near[:limit]

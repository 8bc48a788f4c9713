"""What a screener is: a record that says how features are scored, ordered, and which it cannot tell apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from symscreen.response import Kind, Response
    from symscreen.response.kinds import AnyResponse
    from symscreen.statistics.nulls import Null
    from symscreen.statistics.order import Ordered

    Scores = NDArray[np.float64]

__all__ = ["Screener", "Sign", "by_magnitude", "by_sign"]

Sign = Literal["free", "positive"]


def _as_they_are(statistics: Scores, response: AnyResponse) -> Scores:
    del response
    return statistics


def _of_coefficient(scores: Scores, scale: float, sign: Sign) -> Scores:
    del scale  # a coefficient needs none
    return 1.0 - (np.abs(scores) if sign == "free" else scores)


@dataclass(frozen=True, slots=True)
class Screener:
    """A rule that gives every feature a score.

    Parameters
    ----------
    name : str
        As users type it, and the name of its column.
    sees : {"column", "joint"}
        Whether it sees one feature at a time or many together.
    statistic : callable
        (features in order, response) to a number for each feature, shape (m,): a pure function of that
        feature alone, and for a rank statistic exactly the negative, or the same, for mirrored ranks.
    loss : callable
        (statistics, response, sign) to what features are ordered by, ascending: 0 the best there can be,
        about 1 under independence.
    direction : callable
        Statistics to +1 where the feature rises with the response, −1 where it falls, 0 where the statistic
        does not say; int8, shape (m,).
    blind_to : {"ranks", "affine"}
        What it cannot tell apart: features with the same ranks, or affine copies.
    summary, assumes, fails, cost, source : str
        One line each, for people.
    score : callable
        (statistics, response) to the scores that are shown; by default the statistics themselves.
    loss_of_score : callable
        (scores as shown, Δ, sign) to the loss, for rankings that were written and read back; Δ is Gini's
        mean difference of the response. By default that of a coefficient in [−1, 1].
    by_pairs : bool
        Whether the loss is twice the chance that a feature orders against the response a pair of rows that
        is drawn with a probability in proportion to |y_i − y_j|, ties counting half. Then a few pairs tell of
        it at a known risk, and it can be raced (`symscreen.search`). Of a numeric response.
    accepts : tuple of str
        The kinds of responses that it scores against, of `symscreen.response.KINDS`: what it is given is a
        `Response`, `RankingResponse` and so on; ``"weighted"`` says that it takes weights of rows, of which
        only the ratios may count. The sign is free but for numbers and survival, and only there
        `direction` is asked: a ranking has none, and of stages, and of two classes, it is the one that all
        pairs agree on. One that sees columns and takes numbers takes several targets, too
        (`symscreen.screeners.several`).
    null : callable, optional
        (numeric response, seed) to the distribution of the statistic under independence, which gives
        features their p-values: `symscreen.statistics.nulls.Null`. None where it is not known.
    weights : callable, optional
        Of a linear rank statistic: a numeric response to w, shape (n,), of moderate size, such that the loss
        falls, among features with one pattern of ties, with Σ w_i R_i (where the sign is free: with its
        distance from its mean), R the mid-ranks of the feature. Then the best of a space can be compared with
        the best under permutations of the response (`symscreen.statistics.max_t`).
    """

    name: str
    sees: Literal["column", "joint"]
    statistic: Callable[[Ordered, Any], Scores]
    loss: Callable[[Scores, Any, Sign], Scores]
    direction: Callable[[Scores], NDArray[np.int8]]
    blind_to: Literal["ranks", "affine"]
    summary: str
    assumes: str
    fails: str
    cost: str
    source: str
    score: Callable[[Scores, Any], Scores] = _as_they_are
    loss_of_score: Callable[[Scores, float, Sign], Scores] = _of_coefficient
    by_pairs: bool = False
    accepts: tuple[Kind, ...] = ("numeric",)
    null: Callable[[Any, int], Null] | None = None
    weights: Callable[[Response], Scores] | None = None

    def __repr__(self) -> str:
        return f"<Screener {self.name}: {self.summary}>"


def by_sign(statistics: Scores) -> NDArray[np.int8]:
    """Read a direction off a coefficient's sign; zero counts as rising.

    Examples
    --------
    >>> by_sign(np.array([-0.9, 0.5])).tolist()
    [-1, 1]
    """
    return np.where(statistics >= 0, 1, -1).astype(np.int8)


def by_magnitude(statistics: Scores, response: AnyResponse, sign: Sign) -> Scores:
    """Turn a coefficient in [−1, 1] into a loss: 1 − |r| where the sign is free, else 1 − r.

    Examples
    --------
    >>> by_magnitude(np.array([-0.9, 0.5]), None, "free").round(6).tolist()
    [0.1, 0.5]
    """
    del response  # a coefficient needs no scale
    return 1.0 - (np.abs(statistics) if sign == "free" else statistics)

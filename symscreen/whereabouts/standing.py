"""Where a feature stands in a whole space, in the screen's own order, whatever the list shows of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion.prune import copies_among, projection
from symscreen.result.classes import signatures_of
from symscreen.result.kept import best_classes, joined, rounded
from symscreen.result.scoring import Scorer
from symscreen.result.thin import merge_numeric_copies
from symscreen.statistics.order import order_features

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen.expansion import Space
    from symscreen.response.kinds import AnyResponse
    from symscreen.result import Request
    from symscreen.result.kept import Kept
    from symscreen.result.scoring import Keep, Scored
    from symscreen.screeners import Screener

__all__ = ["Standing", "standing_of"]

# one feature computed in two ways may fall into two classes of slightly different loss, one of which stands
# for both: classes that are worse by so much are looked at too; a loss is 0 at best and about 1 by chance
_SLACK = 0.01
_VALUES_AT_A_TIME = 1 << 22


@dataclass(frozen=True, eq=False)
class Standing:
    """Where a feature stands.

    Parameters
    ----------
    rank : int
        Its class's place among all classes, from 1; those that are equal up to rounding are one.
    place : int
        Its own place among all features, unmerged, from 1.
    features : int
        How many were scored.
    number : int
        The member that stands for its class.
    class_size : int
        How many members there are.
    direction : int
        +1, −1 or 0.
    scores : tuple of float
        By each screener.
    better : Kept
        The classes up to its own, best first.
    """

    rank: int
    place: int
    features: int
    number: int
    class_size: int
    direction: int
    scores: tuple[float, ...]
    better: Kept


@dataclass(frozen=True, eq=False)
class _UpTo:
    """Scores a range and keeps the members of one class, and of better classes the best member."""

    scorer: Scorer
    signature: np.uint64

    def __call__(self, chunk: tuple[int, int]) -> tuple[Scored, Kept, Kept]:
        """Return what was scored, the other classes, and the class's own members."""
        found = self.scorer(chunk)
        own = found.kept[0].signature == self.signature
        others = found.kept[0].take(np.flatnonzero(~own))
        mine = found.kept[0].take(np.flatnonzero(own))
        return replace(found, kept=()), best_classes(others, len(others)), mine


def standing_of(
    space: Space,
    number: int,
    response: AnyResponse,
    *,
    request: Request,
    keep: Keep,
    screeners: Sequence[Screener],
) -> Standing:
    """Find where a feature stands in a list that would keep everything.

    Parameters
    ----------
    space : Space
        All features.
    number : int
        The feature.
    response : Response or RankingResponse
        What they are scored against.
    request : Request
        Sign, backend and chunk size.
    keep : Keep
        Who orders the list and what is merged in it; its limit is not used.
    screeners : sequence of Screener
        Those who score what is kept; `keep` names one of them by its place.

    Returns
    -------
    Standing
        As in a screen that shows every class: the order is that of `symscreen.result.kept`.
    """
    ordered = order_features(space.values(np.array([number])))
    leader = screeners[keep.by]
    sign = "free" if keep.mirrored else request.sign
    loss = rounded(leader.loss(leader.statistic(ordered, response), response, sign))[0]
    signature = signatures_of(ordered, keep.merged, mirrored=keep.mirrored)[0]
    scorer = Scorer(
        space,
        response,
        tuple(screeners),
        request.sign,
        (replace(keep, limit=None),),
        bars=(float(loss) + _SLACK,),
    )
    features = 0
    others: list[Kept] = []
    mine: list[Kept] = []
    for scored, better, own in request.backend.map(
        _UpTo(scorer, signature), space.chunks(request.chunk_size)
    ):
        features += scored.scored
        others.append(better)
        mine.append(own)
    apart = joined(others)
    own = joined(mine)
    own = own.take(own.member_order())
    first = replace(own.first(1), class_size=np.array([len(own)]))
    classes = joined([best_classes(apart, len(apart)), first])
    classes = classes.take(classes.member_order())
    at = int(np.flatnonzero(classes.signature == signature)[0])
    within = int(np.flatnonzero(own.number == number)[0])
    merged, stands_for = _merged(classes, space)
    rank = int(np.flatnonzero(merged.number == classes.number[stands_for[at]])[0])
    return Standing(
        rank=rank + 1,
        place=int(classes.class_size[:at].sum()) + within + 1,
        features=features,
        number=int(merged.number[rank]),
        class_size=int(merged.class_size[rank]),
        direction=int(own.direction[within]),
        scores=tuple(own.scores[within].tolist()),
        better=merged.first(rank + 1),
    )


def _merged(classes: Kept, space: Space) -> tuple[Kept, NDArray[np.int64]]:
    """Merge classes whose shown members are equal up to rounding, as `symscreen.result.thin` does."""
    step = max(1, _VALUES_AT_A_TIME // max(1, space.rows))
    numbers = classes.number
    line = np.concatenate(
        [projection(space.values(numbers[first : first + step])) for first in range(0, len(numbers), step)]
    )
    preference = np.empty(len(classes), dtype=np.int64)
    order = np.lexsort((classes.keys[:, 1], classes.keys[:, 0], classes.complexity))
    preference[order] = np.arange(len(classes))
    stands_for = copies_among(line, lambda places: space.values(numbers[places]), space.rows, preference)
    return merge_numeric_copies(classes, stands_for), stands_for

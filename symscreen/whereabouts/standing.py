"""Where a feature stands in a whole space, in the screen's own order, whatever the list shows of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion import resident
from symscreen.expansion.prune import copies_among, projection
from symscreen.result import scoring_bytes, with_margin
from symscreen.result.classes import signatures_of
from symscreen.result.kept import best_classes, joined, none_kept
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
    from symscreen.result.scoring import Keep
    from symscreen.screeners import Screener

__all__ = ["Standing", "classes_that_fit", "standing_of"]

# one feature computed in two ways may fall into two classes of slightly different loss, one of which stands
# for both: classes that are worse by so much are looked at too; a loss is 0 at best and about 1 by chance
_SLACK = 0.01
_VALUES_AT_A_TIME = 1 << 22
_FEWEST_MERGED = 1 << 14
_COPIES = 6  # of a class while lists are joined, put in order and merged
_ENTRY, _SCORE = 64, 8  # bytes of one, and of each of its scores


@dataclass(frozen=True, eq=False)
class Standing:
    """Where a feature stands.

    Parameters
    ----------
    rank : int or None
        Its class's place among all classes, from 1; those that are equal up to rounding are one. None where
        more classes stand before it than may be held.
    ahead : int
        How many classes are known to stand before it.
    place : int or None
        Its own place among all features, unmerged, from 1; None where its rank is not known.
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
    """

    rank: int | None
    ahead: int
    place: int | None
    features: int
    number: int
    class_size: int
    direction: int
    scores: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class _Part:
    """What came of a range: how many features were scored, the classes before one, and this class's members.

    Of these the best stands for them, `class_size` of them, `before` of which come before the feature.
    """

    scored: int
    others: Kept
    own: Kept
    before: int


@dataclass(frozen=True, eq=False)
class _UpTo:
    """Scores a range and keeps the best member of one class, and of better classes the best members."""

    scorer: Scorer
    signature: np.uint64
    itself: Kept

    def __call__(self, chunk: tuple[int, int]) -> _Part:
        """Return what came of a range."""
        found = self.scorer(chunk)
        mine = found.kept[0].signature == self.signature
        others = found.kept[0].take(np.flatnonzero(~mine))
        own = found.kept[0].take(np.flatnonzero(mine))
        both = joined([self.itself, own.take(np.flatnonzero(own.number != self.itself.number[0]))])
        before = int(np.flatnonzero(both.member_order() == 0)[0])
        return _Part(found.scored, best_classes(others, len(others)), best_classes(own, 1), before)


class _Best:
    """The best classes of what has come so far, merged whenever as much waits as is held."""

    def __init__(self, screeners: int, most: int) -> None:
        self._held, self._most = none_kept(screeners), most
        self._waiting: list[Kept] = []
        self.cut = False  # whether classes had to be let go

    def add(self, part: Kept) -> None:
        """Add classes, of which members may have come before."""
        self._waiting.append(part)
        if sum(map(len, self._waiting)) >= max(len(self._held), _FEWEST_MERGED):
            self.settle()

    def settle(self) -> Kept:
        """Return the best classes so far."""
        together = joined([self._held, *self._waiting])
        self._waiting.clear()
        self._held = best_classes(together, self._most)
        self.cut |= bool(self._held.class_size.sum() < together.class_size.sum())
        return self._held


def standing_of(
    space: Space,
    number: int,
    response: AnyResponse,
    *,
    request: Request,
    keep: Keep,
    screeners: Sequence[Screener],
    most: int,
) -> Standing:
    """Find where a feature stands in a list that would keep everything.

    Parameters
    ----------
    space : Space
        All features.
    number : int
        The feature.
    response : AnyResponse
        What they are scored against.
    request : Request
        Sign, backend and chunk size.
    keep : Keep
        Who orders the list and what is merged in it; its limit is not used.
    screeners : sequence of Screener
        Those who score what is kept; `keep` names one of them by its place.
    most : int
        How many classes may be held at a time.

    Returns
    -------
    Standing
        As in a screen that shows every class: the order is that of `symscreen.result.kept`.
    """
    ordered = order_features(space.values(np.array([number])))
    signature = signatures_of(ordered, keep.merged, mirrored=keep.mirrored)[0]
    keep = replace(keep, limit=None)
    scorer = Scorer(space, response, tuple(screeners), request.sign, (keep,))
    itself = scorer.entries(keep, np.array([number]), ordered)
    loss = float(itself.loss[0])
    scorer = replace(scorer, bars=(loss + _SLACK,))
    best, own, features, before = _Best(len(screeners), most), [none_kept(len(screeners))], 0, 0
    task = _UpTo(scorer, signature, itself)
    for part in request.backend.map(task, space.chunks(request.chunk_size)):
        features += part.scored
        before += part.before
        best.add(part.others)
        own = [best_classes(joined([*own, part.own]), 1)]
    apart, first = best.settle(), own[0]
    known = Standing(
        rank=None,
        ahead=0,
        place=None,
        features=features,
        number=int(first.number[0]),
        class_size=int(first.class_size[0]),
        direction=int(itself.direction[0]),
        scores=tuple(itself.scores[0].tolist()),
    )
    # what was let go has at least the loss of the last that was not
    if best.cut and float(apart.loss.max()) <= loss:
        merged, _ = _merged(apart, space)
        return replace(known, ahead=int((merged.loss < loss).sum()))
    classes = joined([apart, first])
    classes = classes.take(classes.member_order())
    at = int(np.flatnonzero(classes.signature == signature)[0])
    merged, stands_for = _merged(classes, space)
    rank = int(np.flatnonzero(merged.number == classes.number[stands_for[at]])[0])
    return replace(
        known,
        rank=rank + 1,
        ahead=rank,
        place=int(classes.class_size[:at].sum()) + before + 1,
        number=int(merged.number[rank]),
        class_size=int(merged.class_size[rank]),
    )


def classes_that_fit(space: Space, request: Request, screeners: int, max_bytes: int | None) -> int:
    """Say how many classes may be held while a space streams by, a power of two.

    Parameters
    ----------
    space : Space
        What is scored.
    request : Request
        What is asked of it.
    screeners : int
        How many scores a class has.
    max_bytes : int or None
        The memory allowed.

    Returns
    -------
    int
        At least as many as the screen itself holds.
    """
    least = with_margin(request.limit or request.prescreen)
    if max_bytes is None:
        return max(least, space.size)
    needed = scoring_bytes(space.rows, request, features=space.size, candidates=space.candidates.total)
    room = (max_bytes - resident() - needed) // (_COPIES * (_ENTRY + _SCORE * screeners))
    # not to the last byte: what the process holds differs a little from run to run
    return max(least, 1 << (room.bit_length() - 1) if room > 0 else 0)


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

"""Which features stay between two layers: the best of a layer by one or more screeners."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.expansion import Cut, Fate, OutOfTime, untimed
from symscreen.result.course import Course
from symscreen.result.joint import judged, show
from symscreen.result.kept import united
from symscreen.result.scoring import Keep, Scorer
from symscreen.result.stream import final_classes, streamed, with_margin
from symscreen.screeners import Screener
from symscreen.statistics.order import order_features

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.response.kinds import AnyResponse
    from symscreen.result.joint import Judged, Showing
    from symscreen.result.kept import Kept
    from symscreen.result.screened import Request

__all__ = ["Chosen", "cut_of", "uncut"]


@dataclass(frozen=True, eq=False)
class Chosen:
    """A cut and what the run's record tells of it.

    Parameters
    ----------
    cut : Cut
        What stays.
    record : dict
        The layer, how many features were scored and chosen, by which screeners, and of joint ones what they
        were shown and say.
    """

    cut: Cut
    record: dict[str, Any]


def cut_of(space: Space, response: AnyResponse, request: Request, keep: int | None) -> Chosen:
    """Choose the features of a space that the next layer is applied to.

    Parameters
    ----------
    space : Space
        What the layers so far have made.
    response : Response, RankingResponse or StagesResponse
        The response.
    request : Request
        The screeners that cut, and how they work; its limit is not used.
    keep : int or None
        How many features to keep at most; None for as many as there are. Column screeners keep their best,
        affine copies merged, and of several the union by the best place in any; joint screeners keep what
        they select, and all that an earlier cut has kept.

    Returns
    -------
    Chosen

    Raises
    ------
    OutOfTime
        If the time for growing was over before all features were scored.
    """
    joint = request.joint
    columns = tuple(one for one in request.screeners if isinstance(one, Screener))
    leaders = request.leaders
    used = columns or leaders
    most = space.size if keep is None else keep
    limit = with_margin(most)
    keeps = [Keep(place, "affine", mirrored=True, limit=limit) for place in range(len(columns))]
    kinds = sorted({"affine", *(one.blind_to for one in joint)}) if joint else []
    margin = with_margin(request.prescreen)
    keeps += [Keep(by, kind, mirrored=True, limit=margin) for kind in kinds for by in range(len(leaders))]
    scorer = Scorer(space, response, used, request.sign, tuple(keeps))
    asked = request.course
    course = Course(progress=asked.progress, tell=asked.tell, until=asked.growing_until)
    outcome = streamed(scorer, request.backend, request.chunk_size, course)
    if not outcome.complete:
        raise OutOfTime
    lists = iter(outcome.kept)
    own = [final_classes(next(lists), space, most) for _ in columns]
    showings = {kind: show([next(lists) for _ in leaders], space, request.prescreen, kind) for kind in kinds}
    told = {}
    for one in joint:
        showing = showings[one.blind_to]
        if len(showing.kept):
            ruling = judged(one, showing, response, seed=request.seed, jobs=request.jobs)
            own.append(_selected(ruling, showings["affine"]))
            told[one.name] = {
                "shown": len(ruling.showing.kept),
                "settings": dict(one.all_settings),
                **ruling.verdict.record,
            }
    chosen = united(own, most).number if own else space.base[:0]
    if joint:
        chosen = np.union1d(np.arange(len(space.base)), chosen)
    record = {
        "layer": len(space.counts) - 1,
        "screeners": [one.name for one in request.screeners],
        "scored": outcome.scored,
        "chosen": len(chosen),
        "verdicts": told,
    }
    return Chosen(Cut(chosen, outcome.lost), record)


def uncut(space: Space, backend: Backend, chunk_size: int, check: Callable[[], None] = untimed) -> Cut:
    """Keep every feature of a space, for a layer that is not to be cut.

    Parameters
    ----------
    space : Space
        What the layers so far have made.
    backend : Backend
        Where chunks are computed.
    chunk_size : int
        Candidates a task.
    check : callable, optional
        Called after each task; it may raise `OutOfTime`.

    Returns
    -------
    Cut
    """
    useful, lost = [space.base[:0]], Counter[Fate]()
    for numbers, useless in backend.map(_Useful(space), space.chunks(chunk_size)):
        check()
        useful.append(numbers)
        lost.update(useless)
    return Cut(np.concatenate(useful), lost)


@dataclass(frozen=True, eq=False)
class _Useful:
    """Tells which features of a range have values that are defined and not constant."""

    space: Space

    def __call__(self, chunk: tuple[int, int]) -> tuple[NDArray[np.int64], Counter[Fate]]:
        """Return their numbers, and how many others have no use."""
        numbers, lost = [self.space.base[:0]], Counter[Fate]()
        for block in self.space.blocks(*chunk):
            numbers.append(block.numbers)
            lost.update(block.lost)
        return np.concatenate(numbers), lost


def _selected(ruling: Judged, distinct: Showing) -> Kept:
    """Return what a joint screener selects, best first: every distinct member of a class that it selects.

    Trees cannot tell x from exp(x), but the next layer can: exp(x1) - exp(x2) is no function of x1 - x2.
    """
    places = ruling.showing.places_of(order_features(distinct.values))
    selected = np.flatnonzero((places >= 0) & ruling.verdict.selected[places])
    kept = replace(distinct.kept, loss=np.where(places >= 0, ruling.verdict.loss[places], np.inf))
    kept = kept.take(selected)
    return kept.take(kept.member_order())

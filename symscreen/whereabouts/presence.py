"""Where a feature of a space stands in the screen that was asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.expansion import Fate
from symscreen.expression import columns_of, to_text
from symscreen.response.kinds import numeric
from symscreen.result import places_in, screened, wanted_of
from symscreen.result.safety import safety_of
from symscreen.result.scoring import Keep
from symscreen.screeners import Screener
from symscreen.search import EXACT, searched
from symscreen.statistics.order import order_features
from symscreen.whereabouts.standing import classes_that_fit, standing_of

if TYPE_CHECKING:
    from symscreen.expansion import Space
    from symscreen.result import Request, Screened
    from symscreen.whereabouts.grown import Grown

__all__ = ["presence_of"]


def presence_of(number: int, grown: Grown) -> dict[str, Any]:
    """Find where a feature stands.

    Parameters
    ----------
    number : int
        The feature.
    grown : Grown
        Its space.

    Returns
    -------
    dict
        Facts of a `Why`, its answer among them: ``ranked``, ``dropped`` or ``not shown``.
    """
    facts = _standing(number, grown)
    if facts["answer"] == "ranked":
        request, expression = grown.job.request, grown.space.expression(number)
        values = grown.space.values(np.array([number]))[0]
        columns = {name: grown.columns[name] for name in columns_of(expression)}
        safety = safety_of(expression, values, columns, grown.table.response, request.screeners)
        facts |= {"unsafe_rows": safety.rows, "unsafe_by": safety.by}
    return facts


def _standing(number: int, grown: Grown) -> dict[str, Any]:
    space, response, request = grown.space, grown.table.response, grown.job.request
    if request.search.mode != "exact":
        known = numeric(response, "a search that drops features")
        left = searched(
            space, known, wanted_of(request), request.search, seed=request.seed, backend=request.backend
        ).space
        if number >= space.at_hand and left.fates[number - space.at_hand] != Fate.KEPT:
            places = _places(number, space, grown, request)
            return {"answer": "dropped", "places": places, "features": space.size}
        space, request = left, replace(request, search=EXACT)
    if isinstance(request.screeners[0], Screener):
        return _among_all(number, space, grown, request)
    return _among_shown(number, space, grown, request)


def _among_all(number: int, space: Space, grown: Grown, request: Request) -> dict[str, Any]:
    """Find the place in a list that a column screener orders."""
    first = request.columns[0]
    keep = Keep(0, first.blind_to, mirrored=request.sign == "free", limit=None)
    response = grown.table.response
    most = classes_that_fit(space, request, len(request.columns), grown.job.max_bytes)
    found = standing_of(
        space, number, response, request=request, keep=keep, screeners=request.columns, most=most
    )
    facts: dict[str, Any] = {
        "answer": "ranked",
        "rank": found.place if request.limit is None else found.rank,
        "bar": request.limit,
        "features": found.features,
        "stands_for": to_text(space.expression(found.number)),
        "class_size": found.class_size,
        "direction": found.direction,
        "scores": dict(zip((one.name for one in request.columns), found.scores, strict=True)),
    }
    if found.rank is None:
        facts |= {"ahead": found.ahead, "places": _places(number, space, grown, request)}
    if request.joint:
        _add_verdicts(facts, number, space, screened(space, response, request), request)
    return facts


def _among_shown(number: int, space: Space, grown: Grown, request: Request) -> dict[str, Any]:
    """Find the place in a list that a joint screener orders, of what it was shown."""
    first = request.screeners[0]
    limit = None if request.limit is None else max(request.limit, request.prescreen)
    found = screened(space, grown.table.response, replace(request, limit=limit))
    facts: dict[str, Any] = {"features": found.scored, "bar": request.limit}
    _add_verdicts(facts, number, space, found, request)
    row = _row(number, space, found, request)
    if first.name not in facts["selected"] or row is None:
        # what was not shown has no rank
        places = _places(number, space, grown, request)
        return facts | {"answer": "not shown", "places": places, "bar": request.prescreen}
    kept = found.kept
    for place, one in enumerate(request.screeners):
        if isinstance(one, Screener):
            facts["scores"][one.name] = float(kept.scores[row, place])
    return facts | {
        "answer": "ranked",
        "rank": row + 1,
        "stands_for": to_text(space.expression(int(kept.number[row]))),
        "class_size": int(kept.class_size[row]),
        "direction": int(kept.direction[row]),
    }


def _row(number: int, space: Space, found: Screened, request: Request) -> int | None:
    """Find the row of a ranking of all that was shown, or of all features, in which one stands."""
    first = request.screeners[0].name
    if first not in found.judged:
        return None
    if request.limit is not None:
        showing = found.judged[first].showing
        place = int(showing.places_of(order_features(space.values(np.array([number]))))[0])
        if place < 0:
            return None
        number = int(showing.kept.number[place])
    rows = np.flatnonzero(found.kept.number == number)
    return int(rows[0]) if len(rows) else None


def _add_verdicts(
    facts: dict[str, Any], number: int, space: Space, found: Screened, request: Request
) -> None:
    """Add what each joint screener says."""
    facts.setdefault("scores", {})
    facts["selected"] = {}
    ordered = order_features(space.values(np.array([number])))
    for one in request.joint:
        facts["scores"][one.name] = float("nan")
        if one.name in found.judged:
            ruling = found.judged[one.name]
            place = int(ruling.showing.places_of(ordered)[0])
            if place >= 0:
                facts["scores"][one.name] = float(ruling.verdict.score[place])
                facts["selected"][one.name] = bool(ruling.verdict.selected[place])


def _places(number: int, space: Space, grown: Grown, request: Request) -> dict[str, int]:
    """Find its place among all features by those who choose what is shown, or what is raced for."""
    wanted = request.columns[:1] if isinstance(request.screeners[0], Screener) else request.leaders
    return {
        one.name: int(
            places_in(
                space,
                grown.table.response,
                one,
                "free" if request.joint else request.sign,
                space.values(np.array([number])),
                backend=request.backend,
                chunk_size=request.chunk_size,
            )[0]
        )
        for one in wanted
    }

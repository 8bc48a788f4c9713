"""Whether a screen shows a feature that it ranks: near-duplicates and what does not pass are left out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expression import evaluate, parse, to_text
from symscreen.pipeline.thinning import looked_through
from symscreen.result import UNATTENDED, screened
from symscreen.result.error_control import controlled, watch_of
from symscreen.statistics.order import order_features

if TYPE_CHECKING:
    from symscreen.pipeline.preparation import Prepared
    from symscreen.result import ErrorControl
    from symscreen.whereabouts.answer import Why
    from symscreen.whereabouts.grown import Grown

__all__ = ["as_listed"]


def as_listed(found: Why, grown: Grown, ready: Prepared, control: ErrorControl | None) -> Why:
    """Say whether the list of a screen holds a feature, where options leave some out.

    Parameters
    ----------
    found : Why
        Where the feature stands in the whole ranking; other answers are returned as they are.
    grown : Grown
        The space.
    ready : Prepared
        The screen, without error control.
    control : ErrorControl or None
        The screen's error control.

    Returns
    -------
    Why
        Its answer ``thinned`` or ``not passing`` where that is so.
    """
    if found.answer not in {"ranked", "duplicate"}:
        return found
    if ready.distinct is not None:
        found = _thinned(found, ready, ready.distinct)
    if found.answer != "thinned" and control is not None and control.fdr is not None:
        found = _passing(found, grown, replace(control, permutations=0), control.fdr)
    return found


def _thinned(found: Why, ready: Prepared, cap: float) -> Why:
    """Thin the ranking as the screen does, and find the feature's class in it."""
    if found.rank is None:  # more classes stand before it than memory holds
        return replace(found, beyond=True)
    thinned = looked_through(ready.table, ready.job, cap)
    place, kept = found.rank - 1, thinned.found.screened.kept
    if place >= len(thinned.stands_in):
        return replace(found, beyond=True)
    shown = int(thinned.stands_in[place])
    if shown == place:
        return replace(found, listed=int(np.flatnonzero(thinned.chosen == place)[0]) + 1)
    stand_in = to_text(thinned.found.space.expression(int(kept.number[shown])))
    return replace(found, answer="thinned", stand_in=stand_in)


def _passing(found: Why, grown: Grown, control: ErrorControl, rate: float) -> Why:
    """Compute the q-value of the feature; where something passes, what does not is left out."""
    request = replace(grown.job.request, control=control, course=UNATTENDED)  # of the whole space
    response = grown.table.response
    whole = screened(grown.space, response, request)
    watch = watch_of(control, response, request.screeners[0], request.sign, request.seed)
    assert watch is not None  # noqa: S101  # the options were refused otherwise
    assert whole.outcome is not None  # noqa: S101  # it was streamed just now
    made = parse(found.found_as, grown.job.grammar.operators, grown.table.names)
    own = order_features(evaluate(made, grown.columns)[None])
    columns, _ = controlled(watch, control, whole.outcome.seen, iter([own]), response)
    found = replace(found, q_value=float(columns["q_value"][0]))
    some_pass = bool((whole.columns["q_value"] <= rate).any())
    return replace(found, answer="not passing") if some_pass and columns["q_value"][0] > rate else found

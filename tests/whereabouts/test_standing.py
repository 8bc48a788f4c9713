"""The rank pass of `why`: what it holds at a time, and what it says where that is not enough."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.pipeline.preparation import prepared
from symscreen.pipeline.rounds import space_of
from symscreen.pipeline.screen_options import ScreenOptions
from symscreen.result.scoring import Keep
from symscreen.whereabouts import standing
from symscreen.whereabouts.standing import classes_that_fit, standing_of

OPTIONS = {"layers": "ub", "unary": "sin,square,exp", "binary": "mul,add,sub", "jobs": 1, "chunk_size": 100}
LARGER = OPTIONS | {"layers": "ubb", "unary": "sin", "binary": "mul,add"}


@pytest.fixture
def asked(frame):
    """A space with copies up to rounding, for x1 + x2 is there twice, and its features' standings."""
    frame["total"] = frame.x1 + frame.x2
    ready = prepared(frame, None, ScreenOptions(**LARGER, target="target"))
    space, _ = space_of(ready.table, ready.job)
    keep = Keep(0, "ranks", mirrored=True, limit=None)

    def ask(number, most):
        request = ready.job.request
        return standing_of(
            space,
            number,
            ready.table.response,
            request=request,
            keep=keep,
            screeners=request.columns,
            most=most,
        )

    return space, ask


def test_what_may_be_held_changes_no_rank_that_is_told(asked, monkeypatch, rng):
    monkeypatch.setattr(standing, "_FEWEST_MERGED", 16)
    space, ask = asked
    told = 0
    for number in rng.choice(space.numbers, 6, replace=False).tolist():
        whole = ask(number, 10**6)
        assert whole.ahead == whole.rank - 1
        for most in (8, 64, 256):
            bounded = ask(number, most)
            if bounded.rank is None:
                assert bounded.ahead < whole.rank
                assert bounded.ahead >= min(most // 2, 1)
                assert (bounded.direction, bounded.scores) == (whole.direction, whole.scores)
                assert bounded.features == whole.features
                assert whole.rank > most // 2
            else:
                told += 1
                assert repr(bounded) == repr(whole)
    assert told


def test_it_holds_no_more_than_it_may(asked, monkeypatch):
    monkeypatch.setattr(standing, "_FEWEST_MERGED", 16)
    sizes = []
    own = standing.joined

    def counted(parts):
        sizes.append(sum(map(len, parts)))
        return own(parts)

    monkeypatch.setattr(standing, "joined", counted)
    space, ask = asked
    last = int(space.numbers[-1])
    ask(last, 64)
    bounded = max(sizes)
    sizes.clear()
    assert ask(last, 10**6).rank > 100
    assert bounded <= 2 * (64 + OPTIONS["chunk_size"]) < max(sizes)


def test_how_many_fit_follows_from_the_memory_allowed(asked, frame):
    space, _ = asked
    request = prepared(frame, None, ScreenOptions(**OPTIONS, target="target", top=5)).job.request
    many = [classes_that_fit(space, request, 1, most) for most in (10**6, 4 * 10**9, 8 * 10**9)]
    assert many[0] == 26  # what a list of five holds while it streams
    assert many[1] & (many[1] - 1) == 0
    assert 2 * many[1] <= many[2] <= 4 * many[1]
    assert classes_that_fit(space, request, 1, None) == space.size


def test_the_answer_tells_what_is_known(frame, monkeypatch):
    whole = symscreen.why(frame, "x2*sin(x3)", **OPTIONS)
    every = symscreen.screen(frame, **OPTIONS, top="all")
    monkeypatch.setattr("symscreen.whereabouts.presence.classes_that_fit", lambda *_: 30)
    found = symscreen.why(frame, "x2*sin(x3)", **OPTIONS)
    assert (found.answer, found.rank) == ("ranked", None)
    assert 0 < found.ahead < whole.rank
    loss = np.round(np.minimum(every.table.t0, 2 * every.scale - every.table.t0), 12)
    own = loss[every.table.expression == "x2*sin(x3)"].iloc[0]
    assert found.places == {"t0": (loss < own).sum() + 1}
    lines = found.text.splitlines()
    assert lines[0] == (f"x2*sin(x3) is there: behind {found.ahead} classes, and more than --max-ram holds.")
    assert lines[1].endswith("features. More --max-ram would tell its rank.")
    assert lines[2:] == whole.text.splitlines()[1 : len(lines) - 1]
    alone = symscreen.why(frame, "x2*sin(x3)", **OPTIONS, top="all")
    assert alone.rank is None


def test_a_place_in_a_cut_is_bounded_too(frame, monkeypatch):
    options = {**OPTIONS, "keep": "u:3"}
    whole = symscreen.why(frame, "x2*sin(x3)", **options)
    monkeypatch.setattr("symscreen.whereabouts.absence.classes_that_fit", lambda *_: 2)
    found = symscreen.why(frame, "x2*sin(x3)", **options)
    assert (found.answer, set(found.places)) == ("cut", set(whole.places))
    assert all(1 <= found.places[name] <= place for name, place in whole.places.items())


def test_screens_and_ranks_agree_where_several_classes_tie(rng):
    steps = pd.DataFrame(rng.integers(0, 3, (30, 3)).astype(float) + 1, columns=["a", "b", "c"])
    steps["target"] = rng.integers(0, 4, 30).astype(float)
    options = {"layers": "ub", "unary": "square", "binary": "mul,add", "chunk_size": 40}
    table = symscreen.screen(steps, **options, top=1000).table
    for row in table.iloc[:: max(1, len(table) // 12)].to_dict("records"):
        assert symscreen.why(steps, row["expression"], **options).rank == row["rank"]

"""The rank pass of `why`: what it holds at a time, and what it says where that is not enough."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.config.screen_options import ScreenOptions
from symscreen.explain import rank_position
from symscreen.explain.rank_position import compute_max_classes, compute_rank_position
from symscreen.screening.preparation import prepare_screen
from symscreen.screening.scoring.block_scoring import TopKSpec
from symscreen.screening.space_generation import generate_presorted_space

OPTIONS = {"layers": "ub", "unary": "sin,square,exp", "binary": "mul,add,sub", "jobs": 1, "chunk_size": 100}
OPTIONS |= {"max_correlation": 1, "p_values": False}
LARGER = OPTIONS | {"layers": "ubb", "unary": "sin", "binary": "mul,add"}


@pytest.fixture
def asked(frame):
    """A space with copies up to rounding, for x1 + x2 is there twice, and its features' standings."""
    frame["total"] = frame.x1 + frame.x2
    ready = prepare_screen(frame, None, ScreenOptions(**LARGER, target="target"))
    space, _ = generate_presorted_space(ready)
    keep = TopKSpec(0, "ranks", mirrored=True, limit=None)

    def ask(number, most):
        return compute_rank_position(
            space,
            number,
            ready,
            spec=keep,
            screeners=ready.column_screeners,
            max_classes=most,
        )

    return space, ask


@pytest.mark.slow
def test_what_may_be_held_changes_no_rank_that_is_told(asked, monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(rank_position, "_MIN_MERGE_SIZE", 16)
    space, ask = asked
    told = 0
    for number in [*rng.choice(space.numbers, 3, replace=False).tolist(), *space.numbers[:3].tolist()]:
        whole = ask(number, 10**6)
        assert whole.n_better == whole.rank - 1
        for most in (8, 1024):
            bounded = ask(number, most)
            if bounded.rank is None:
                assert bounded.n_better < whole.rank
                assert bounded.n_better >= min(most // 2, 1)
                assert (bounded.direction, bounded.scores) == (whole.direction, whole.scores)
                assert bounded.n_features == whole.n_features
                assert whole.rank > most // 2
            else:
                told += 1
                assert repr(bounded) == repr(whole)
    assert told


def test_it_holds_no_more_than_it_may(asked, monkeypatch):
    monkeypatch.setattr(rank_position, "_MIN_MERGE_SIZE", 16)
    sizes = []
    own = rank_position.concatenate_features

    def counted(parts):
        sizes.append(sum(map(len, parts)))
        return own(parts)

    monkeypatch.setattr(rank_position, "concatenate_features", counted)
    space, ask = asked
    last = int(space.numbers[-1])
    ask(last, 64)
    bounded = max(sizes)
    sizes.clear()
    assert ask(last, 10**6).rank > 100
    assert bounded <= 2 * (64 + OPTIONS["chunk_size"]) < max(sizes)


def test_how_many_fit_follows_from_the_memory_allowed(asked, frame):
    space, _ = asked
    request = prepare_screen(frame, None, ScreenOptions(**OPTIONS, target="target", top=5))
    many = [
        compute_max_classes(space, replace(request, max_bytes=most), 1)
        for most in (10**6, 4 * 10**9, 8 * 10**9)
    ]
    assert many[0] == 26  # what a list of five holds while it streams
    assert many[1] & (many[1] - 1) == 0
    assert 2 * many[1] <= many[2] <= 4 * many[1]
    assert compute_max_classes(space, replace(request, max_bytes=None), 1) == space.size


def test_the_answer_tells_what_is_known(frame, monkeypatch):
    whole = symscreen.why(frame, "x2*sin(x3)", **OPTIONS)
    every = symscreen.screen(frame, **OPTIONS, top="all")
    monkeypatch.setattr("symscreen.explain.rank_position.compute_max_classes", lambda *_: 30)
    found = symscreen.why(frame, "x2*sin(x3)", **OPTIONS)
    assert (found.status, found.rank) == ("ranked", None)
    assert 0 < found.n_better < whole.rank
    loss = np.round(np.minimum(every.table.t0, 2 * every.scale - every.table.t0), 12)
    own = loss[every.table.expression == "x2*sin(x3)"].iloc[0]
    assert found.screener_ranks == {"t0": (loss < own).sum() + 1}
    lines = found.text.splitlines()
    limited = "or more (limited by max_ram=)"
    assert lines[0] == f"x2*sin(x3) is in the space: after {found.n_better} equivalence classes {limited}."
    assert lines[1].endswith("features. With more max_ram= its rank is computed.")
    assert lines[2:] == whole.text.splitlines()[1 : len(lines) - 1]
    alone = symscreen.why(frame, "x2*sin(x3)", **OPTIONS, top="all")
    assert alone.rank is None


def test_a_place_in_a_cut_is_bounded_too(frame, monkeypatch):
    options = {**OPTIONS, "pool_size": "u:3"}
    whole = symscreen.why(frame, "x2*sin(x3)", **options)
    monkeypatch.setattr("symscreen.explain.rank_position.compute_max_classes", lambda *_: 2)
    found = symscreen.why(frame, "x2*sin(x3)", **options)
    assert (found.status, set(found.screener_ranks)) == ("pruned", set(whole.screener_ranks))
    assert all(1 <= found.screener_ranks[name] <= place for name, place in whole.screener_ranks.items())


@pytest.mark.slow
def test_screens_and_ranks_agree_where_several_classes_tie(rng):
    steps = pd.DataFrame(rng.integers(0, 3, (30, 3)).astype(float) + 1, columns=["a", "b", "c"])
    steps["target"] = rng.integers(0, 4, 30).astype(float)
    options = {"layers": "ub", "unary": "square", "binary": "mul,add", "chunk_size": 40, "max_correlation": 1}
    table = symscreen.screen(steps, **options, top=1000).table
    for row in table.iloc[:: max(1, len(table) // 12)].to_dict("records"):
        assert symscreen.why(steps, row["expression"], **options).rank == row["rank"]

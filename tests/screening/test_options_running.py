from __future__ import annotations

import pytest

import symscreen
from symscreen.backends import Dask, Threads
from symscreen.config.screen_options import ScreenOptions
from symscreen.errors import OptionError
from symscreen.screening.run_control import Progress, build_run_control, parse_backend, parse_seconds

STANDING = Progress(
    n_done=500,
    n_total=1000,
    n_scored=400,
    seconds=2.0,
    rate=250.0,
    seconds_left=2.0,
    best_formula="a*b",
    best_score=0.25,
    screener="t0",
)


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("60s", 60),
        ("5m", 300),
        ("5 min", 300),
        ("0.5h", 1800),
        ("1d", 86400),
        ("7", 7),
        (2.5, 2.5),
        (None, None),
    ],
)
def test_times_are_read(given, seconds):
    assert parse_seconds(given) == seconds


@pytest.mark.parametrize(
    "given", ["", "0s", "-3s", "1e3", "inf", "5 weeks", "٣s", True, 0, float("nan"), "9" * 400]
)
def test_what_is_no_time_is_refused(given):
    with pytest.raises(OptionError, match=r"time_limit=.* is not a time above 0, such as 60s"):
        parse_seconds(given)


def test_backends_are_read_and_misspelt_ones_refused():
    assert parse_backend(ScreenOptions(backend="threads", jobs=3)) == Threads(3)
    assert parse_backend(ScreenOptions(backend="dask", jobs=3)) == Dask(3)
    assert parse_backend(ScreenOptions(scheduler="tcp://a:1", jobs=2)) == Dask(2, "tcp://a:1")
    with pytest.raises(OptionError, match="did you mean 'dask'"):
        parse_backend(ScreenOptions(backend="dusk", jobs=1))
    with pytest.raises(OptionError, match="omit one of the two"):
        parse_backend(ScreenOptions(backend="threads", scheduler="tcp://a:1", jobs=1))


@pytest.mark.parametrize(
    ("others", "why"),
    [
        ({"search": "sieve"}, "search='sieve'"),
        ({"rounds": 2}, "rounds=2"),
        ({"class_members": 3}, "members="),
        ({"progress": 3}, "progress is 3; give a function"),
    ],
)
def test_a_time_limit_is_refused_beside_what_needs_the_whole_space(frame, others, why):
    with pytest.raises(OptionError, match=why):
        symscreen.screen(frame, time_limit=5, **others)


def test_progress_is_a_line_that_grows_over_itself(capsys):
    course = build_run_control(ScreenOptions(progress=True))
    course.on_progress(STANDING)
    course.on_progress(STANDING)  # too soon after the first
    assert capsys.readouterr().err == "\r500 of 1,000, 250/s, 2 s left, best t0 0.25: a*b"


def test_a_program_is_told_how_far_it_is_and_what_is_best(frame):
    reports = []
    result = symscreen.screen(frame, layers="ub", top=3, chunk_size=100, jobs=1, on_progress=reports.append)
    assert reports[-1].n_done == reports[-1].n_total
    assert reports[-1].n_scored == result.n_scored
    assert (reports[-1].best_formula, reports[-1].best_score) == (
        result.table.expression[0],
        result.table.t0[0],
    )
    assert [one.n_done for one in reports] == sorted(one.n_done for one in reports)
    assert reports[-1].seconds_left == 0


def test_the_last_standing_names_the_best_of_all_features_too(frame):
    reports = []
    result = symscreen.screen(frame, layers="b", top="all", jobs=1, on_progress=reports.append)
    assert reports[-1].best_formula == result.table.expression[0]


@pytest.mark.slow
def test_quiet_writes_nothing_and_still_calls_what_was_given(frame, capfd, monkeypatch):
    silenced, reports = [], []
    monkeypatch.setattr("symscreen._numba.COMPILE_NOTICE.mute", lambda: silenced.append(1))
    asked = {"layers": "u", "unary": "sin", "top": 2}
    loud = symscreen.screen(frame, progress=True, **asked)
    assert " of " in capfd.readouterr().err
    assert not silenced
    quiet = symscreen.screen(frame, progress=True, on_progress=reports.append, quiet=True, **asked)
    assert capfd.readouterr().err == ""
    assert reports
    assert len(silenced) == 1
    assert quiet.record == loud.record
    assert symscreen.plan(frame, layers="u", quiet=True).n_features
    assert symscreen.why(frame, "x1", quiet=True, **asked).rank
    assert symscreen.fit(frame, layers="u", unary="sin", max_terms=1, quiet=True).formula.terms
    assert capfd.readouterr().err == ""
    assert len(silenced) == 4

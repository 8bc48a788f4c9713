"""One fit of the protocol, and its row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from symscreen.experiments.srbench import trials
from symscreen.experiments.srbench.judge import Judgement, apply_rule
from symscreen.experiments.srbench.problems import SEEDS, find_problems
from symscreen.experiments.srbench.trials import compute_r2, run_trial

(SPRING,) = find_problems(["I_14_4"])
(VDP,) = find_problems(["vdp2"])


class _Judge:
    """The rule in this process, so that a test needs no other."""

    def __init__(self):
        self.asked = 0

    def judge_formula(self, model, truth):
        self.asked += 1
        return apply_rule(model, truth)


def _run(problem, judge, noise_ratio=0.0, **settings):
    settings = {"units": False, "table_seed": 0, "commit": "c", "jobs": 1} | settings
    return run_trial(problem, noise_ratio, SEEDS[0], judge, **settings)


@pytest.fixture
def small_rows(monkeypatch):
    monkeypatch.setattr("symscreen.experiments.srbench.problems._N_TABLE_ROWS", 400)


@pytest.fixture
def quick_fit(monkeypatch):
    """Search one layer of products and squares."""
    original = trials.fit
    monkeypatch.setattr(
        trials,
        "fit",
        lambda rows, **options: original(rows, unary=["square"], binary=["mul"], layers="ub", **options),
    )


@pytest.mark.usefixtures("small_rows", "quick_fit")
def test_a_law_is_found_and_judged():
    row = _run(SPRING, _Judge())
    assert (row.solved, row.cause, row.problem, row.group, row.commit) == (True, "", "I_14_4", "Feynman", "c")
    assert row.reason == "difference"
    assert row.r2 == pytest.approx(1.0)
    assert row.truth == SPRING.truth
    assert row.seconds > 0
    assert row.stage == "subsets"
    assert row.verdict == "exact"


@pytest.mark.usefixtures("small_rows", "quick_fit")
def test_the_row_does_not_depend_on_the_threads():
    one, two = (_run(VDP, _Judge(), 0.1, jobs=jobs) for jobs in (1, 2))
    assert (one.formula, one.r2, one.solved) == (two.formula, two.r2, two.solved)


@pytest.mark.usefixtures("small_rows")
def test_a_fit_that_fails_is_a_row_with_its_error(monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("the reason")

    monkeypatch.setattr(trials, "fit", fail)
    row = _run(SPRING, _Judge())
    assert (row.solved, row.cause, row.formula) == (False, "error", "ZeroDivisionError: the reason")
    assert row.verdict == ""


@pytest.mark.usefixtures("small_rows", "quick_fit")
def test_a_poor_formula_is_not_judged():
    judge = _Judge()
    row = _run(replace(SPRING, truth="sin(9*x*k_spring)"), judge)
    assert (row.solved, judge.asked, row.reason, row.cause) == (False, 0, "", "not found")
    assert row.r2 < 0.5


@pytest.mark.usefixtures("small_rows", "quick_fit")
def test_a_law_that_the_judge_refuses_is_not_recognised(monkeypatch):
    judge = _Judge()
    monkeypatch.setattr(judge, "judge_formula", lambda *_: Judgement(solved=False, reason="time"))
    row = _run(SPRING, judge)
    assert (row.solved, row.reason, row.cause) == (False, "time", "not recognised")


@pytest.mark.usefixtures("small_rows")
def test_units_reach_the_fit(monkeypatch):
    given = {}

    def record(_, **options):
        given.update(options)
        raise ValueError

    monkeypatch.setattr(trials, "fit", record)
    _run(SPRING, _Judge(), units=True)
    assert given["units"] == {"k_spring": "s**-2*kg", "x": "m", "U": "m**2*s**-2*kg"}
    assert given["target_units"] == "m**2*s**-2*kg"
    given.clear()
    _run(SPRING, _Judge())
    assert not {"units", "target_units"} & set(given)


def test_r2_is_none_where_a_prediction_is_undefined():
    assert compute_r2(np.array([1.0, np.nan]), np.array([1.0, 2.0])) is None
    assert compute_r2(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])) == 1.0

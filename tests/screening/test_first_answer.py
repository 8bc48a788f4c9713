"""The default answer on a few of the tables of `benchmarks/inference/first_answer.py`."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import symscreen

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def first_answer(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("inference.first_answer")


@pytest.mark.slow
def test_noise_is_said_to_be_noise(first_answer):
    verdicts = [first_answer.judge_noise(key)["verdict"] for key in first_answer.list_keys("noise", 6)]
    assert verdicts.count("noise") >= 5


@pytest.mark.slow
def test_a_planted_law_comes_first_and_does_better_than_noise(first_answer):
    judged = [first_answer.judge_planted(key) for key in first_answer.list_keys("planted", 6)]
    assert sum(one["is_found"] for one in judged) >= 5


@pytest.mark.parametrize("name", ["diabetes", "wine", "friedman2", "correlated"])
def test_the_formulas_shown_are_distinct(first_answer, name):
    frame = dict(first_answer.load_tables())[name]
    result = symscreen.screen(frame, target="target", p_values=False)
    assert len(result) == 20
    assert first_answer.count_distinct(result, frame) >= 18

"""Efforts: counted limits of the search of a fit."""

from __future__ import annotations

import json
import re
from dataclasses import astuple, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import symscreen
from symscreen._option_values import EffortName
from symscreen.config.fit_options import FitOptions
from symscreen.errors import OptionError
from symscreen.fitting.effort import EFFORTS
from symscreen.fitting.laws.law import build_law_data
from symscreen.fitting.laws.search import list_law_stages
from symscreen.grammar import load_grammar

LAYERS = {"operators": "ablation", "layers": "ub"}
N = 60


def draw_columns(rng):
    return dict(zip(("u", "v"), rng.uniform(1.0, 4.0, (2, N)), strict=True))


def draw_target(columns, rng):
    return np.sin(columns["u"]) * columns["v"] + np.sqrt(columns["v"]) + 0.1 * rng.normal(size=N)


def shrink_efforts(monkeypatch):
    """Make all efforts smaller, with the same order and the same ends, so that tests take seconds."""
    for size, (name, effort) in enumerate([*EFFORTS.items()], start=1):
        smaller = replace(
            effort,
            pool_formulas=100 * size,
            deep_pool_formulas=500 * (size == len(EFFORTS)),
            n_refined_laws=1 + size,
            layer_candidates=5 * 8**size,
            broad_share=1.0,
            exhaustive_features=20 * size,
            core_features=5 * size,
            four_term_features=10 * size,
        )
        monkeypatch.setitem(EFFORTS, name, smaller)


def describe(result):
    """Return everything that a result shows."""
    return (
        result.formula,
        result.verdict,
        result.notices,
        result.terms.to_csv(),
        result.front.to_csv(),
        result.alternatives.to_csv(),
        json.dumps(result.record),
    )


def test_every_effort_has_its_limits_and_default_is_the_default():
    assert tuple(EFFORTS) == get_args(EffortName)
    assert FitOptions().effort == "default"


def test_an_unknown_effort_is_refused():
    with pytest.raises(OptionError, match="effort is 'much'; known: quick, default, thorough"):
        FitOptions(effort="much")


@pytest.mark.parametrize(("small", "large"), [*pairwise(EFFORTS.values())])
def test_an_effort_has_no_limit_below_those_of_a_smaller_effort(small, large):
    for field in fields(small):
        values = [getattr(each, field.name) for each in (small, large)]
        if field.name == "ends_early":
            assert values != [False, True]
        else:
            low, high = (np.inf if value is None else value for value in values)
            assert low <= high, field.name


def test_the_searches_for_laws_of_an_effort_begin_with_those_of_a_smaller_effort(rng):
    columns = draw_columns(rng)
    data = build_law_data(columns, columns["u"] * columns["v"], load_grammar("basic"))
    for small, large in pairwise(list_law_stages(data, effort) for effort in EFFORTS.values()):
        assert len(small) <= len(large)
        assert large[: len(small)] == small


def test_the_pool_of_an_effort_begins_with_that_of_a_smaller_effort(rng):
    columns = draw_columns(rng)
    pools = [
        build_law_data(columns, columns["u"], load_grammar("basic"), pool_limit=effort.pool_formulas).pool
        for effort in (EFFORTS["quick"], EFFORTS["default"])
    ]
    n = len(pools[0])
    assert n == EFFORTS["quick"].pool_formulas < len(pools[1]) == EFFORTS["default"].pool_formulas
    for name in ("values", "complexity", "operator_indices", "left", "right"):
        assert np.array_equal(*(getattr(pool, name)[:n] for pool in pools))


@pytest.fixture(scope="module")
def noisy_table():
    rng = np.random.default_rng(5)
    columns = draw_columns(rng)
    return columns, draw_target(columns, rng)


@pytest.fixture(scope="module")
def results(noisy_table):
    with pytest.MonkeyPatch.context() as monkeypatch:
        shrink_efforts(monkeypatch)
        return {
            name: symscreen.fit(*noisy_table, effort=name, operators="ablation", jobs=1) for name in EFFORTS
        }


@pytest.mark.slow
def test_a_larger_effort_searches_more_and_explains_no_less(results):
    results = [*results.values()]
    assert [result.record["effort"] for result in results] == list(EFFORTS)
    for small, large in pairwise(results):
        assert small.record["searched"] < large.record["searched"]
        assert small.front.r2.max() <= large.front.r2.max() + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", ["quick", "default", "thorough"])
def test_an_effort_gives_the_same_result_for_any_number_of_jobs_and_order_of_rows(
    name, noisy_table, results, rng, monkeypatch
):
    shrink_efforts(monkeypatch)
    (columns, target), order = noisy_table, rng.permutation(N)
    shuffled = {column: values[order] for column, values in reversed(columns.items())}
    again = symscreen.fit(shuffled, target[order], effort=name, operators="ablation", jobs=2)
    assert describe(again) == describe(results[name])


def test_the_page_has_the_limits_of_each_effort():
    page = (Path(__file__).resolve().parents[2] / "docs" / "fit.md").read_text(encoding="utf-8")
    (_, *rows) = re.findall(r"^\| (.*) \|$", page[page.index("## Effort") :].split("\n## ")[0], re.MULTILINE)
    table = [row.split(" | ")[1:] for row in rows[1:]]
    words = {None: "all", True: "yes", False: "no"}
    shown = [
        [
            words[value] if value is None or isinstance(value, bool) else f"{value:,}"
            for value in astuple(effort)
        ]
        for effort in EFFORTS.values()
    ]
    assert [*zip(*table, strict=True)] == [tuple(each) for each in shown]


@pytest.mark.parametrize(
    ("name", "n_runs"), [("quick", 1), ("default", 1), pytest.param("thorough", None, marks=pytest.mark.slow)]
)
def test_only_thorough_goes_on_after_a_law_that_is_exact(name, n_runs, rng, monkeypatch):
    from symscreen.fitting.laws import search

    shrink_efforts(monkeypatch)
    runs = []
    first, *later = search._STAGES  # the first finds the law, and what others would find is of no matter
    finds = [first.search, *(lambda _: iter(()) for _ in later)]
    stages = [
        stage._replace(search=lambda data, find=find: runs.append(find) or find(data))
        for stage, find in zip(search._STAGES, finds, strict=True)
    ]
    monkeypatch.setattr(search, "_STAGES", stages)
    columns = draw_columns(rng)
    target = 3.0 * columns["u"] / columns["v"]
    result = symscreen.fit(columns, target, effort=name, operators="basic")
    assert len(runs) == (len(stages) if n_runs is None else n_runs)
    assert str(result.formula.terms[0]) == "u/v"


@pytest.mark.parametrize("name", [*EFFORTS])
def test_given_layers_are_searched_at_every_effort(name, rng, monkeypatch):
    monkeypatch.setitem(EFFORTS, name, replace(EFFORTS[name], layer_candidates=1))
    columns = draw_columns(rng)
    result = symscreen.fit(columns, 2.0 * columns["u"] ** 3 + columns["v"], effort=name, **LAYERS)
    assert result.verdict.startswith("exact")
    assert not any("not searched" in notice for notice in result.notices)


def test_the_regressor_has_an_effort(rng):
    columns = np.column_stack([*draw_columns(rng).values()])
    model = symscreen.SymbolicRegressor(effort="quick").fit(columns, columns[:, 0] * columns[:, 1])
    assert model.result_.record["effort"] == "quick"
    assert str(model.formula_.terms[0]) == "x1*x2"

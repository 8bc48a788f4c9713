from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from helpers.statistic_oracles import q_in_memory

import symscreen
from symscreen.errors import OptionError
from symscreen.screeners.registry import SCREENERS
from symscreen.screening.inference.error_control import (
    ErrorControl,
    InferenceAccumulator,
    build_inference,
    merge_inference_states,
)
from symscreen.screening.inference.error_control_columns import compute_error_control
from symscreen.screening.inference.permuted_rows import permute_rows
from symscreen.statistics.inference.max_t import compute_max_t_p_values, draw_permutations
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.statistics.workspace import Workspace
from symscreen.targets.registry import TARGET_TYPES

T0 = SCREENERS["t0"]
TYPES = [name for name, target in TARGET_TYPES.items() if not target.combines_outputs]


def make_features(m, n, rng):
    """Draw features, every third one with ties."""
    values = rng.normal(size=(m, n))
    values[::3] = np.round(values[::3])
    return values


@pytest.mark.parametrize("sign", ["free", "positive"])
@pytest.mark.parametrize("target_type", TYPES)
def test_maxima_are_those_of_features_whose_rows_are_permuted_and_sorted_anew(target_type, sign, rng):
    target = TARGET_TYPES[target_type].build_example(np.sort(rng.normal(size=40)))
    values = make_features(12, target.n, rng)
    permuted = permute_rows(T0, target, 7, seed=3, sign=sign)
    expected = []
    for rows in permuted.rows:
        block = sort_block(np.ascontiguousarray(values[:, rows]))
        expected.append(-T0.loss(T0.statistic(block, target), target, sign).min())
    found = permuted.initial_max
    for start in (0, 5):  # in two blocks
        permuted.update_max(sort_block(values[start : 5 + 7 * (start > 0)]), found, Workspace())
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert permuted.are_possible(found, has_features=True)
    assert not permuted.are_possible(found[1:], has_features=True)
    assert not permuted.are_possible(permuted.initial_max, has_features=True)


def test_groups_keep_together_and_the_first_permutations_do_not_depend_on_their_number(rng):
    target = TARGET_TYPES["classes"].build_example(np.sort(rng.normal(size=24)))
    groups = np.repeat(np.arange(6), 4)
    few, more = (permute_rows(T0, target, b, seed=1, sign="free", groups=groups) for b in (3, 9))
    assert few.rows.tolist() == more.rows[:3].tolist()
    for rows in more.rows:
        assert all(len(set(groups[rows[groups == group]].tolist())) == 1 for group in range(6))


@pytest.mark.slow
@pytest.mark.parametrize("target_type", TYPES)
def test_noise_is_called_better_than_noise_in_five_percent_of_tables(target_type, rng):
    n_tables, n_found = 500, 0
    for table in range(n_tables):
        target = TARGET_TYPES[target_type].build_example(np.sort(rng.normal(size=30)))
        block = sort_block(make_features(15, target.n, rng))
        permuted = permute_rows(T0, target, 19, seed=table, sign="free")
        maxima = permuted.initial_max
        permuted.update_max(block, maxima, Workspace())
        n_found += compute_max_t_p_values(permuted.compute_statistics(block), maxima).min() <= 0.05
    assert abs(n_found / n_tables - 0.05) < 4.0 * np.sqrt(0.05 * 0.95 / n_tables)


def list_configurations(rng):
    """List targets of every type, and what permutes them: rows alone, groups of rows, runs in time."""
    for target_type in TYPES:
        yield target_type, TARGET_TYPES[target_type].build_example(np.sort(rng.normal(size=36))), {}
    numeric = TARGET_TYPES["numeric"].build_example(np.sort(rng.normal(size=36)))
    yield "groups", numeric, {"groups": rng.permutation(np.repeat(np.arange(9), 4))}
    yield "time", numeric, {"runs": tuple(rng.permutation(36).reshape(2, 18))}


@pytest.mark.parametrize("sign", ["free", "positive"])
@pytest.mark.parametrize("method", ["bh", "by"])
@pytest.mark.parametrize("kind", [*TYPES, "groups", "time"])
def test_p_and_q_values_are_those_of_all_permutations_computed_one_by_one(kind, method, sign, rng):
    _, target, options = next(each for each in list_configurations(rng) if each[0] == kind)
    values, n_permutations = make_features(30, target.n, rng), 11
    values[:3] = np.linspace(-1, 1, target.n) + rng.normal(size=(3, target.n)) * [[0.02], [0.5], [1.0]]
    control = ErrorControl(
        method=method, fdr=0.4, permutations=n_permutations, source="permutations", **options
    )
    inference = build_inference(control, target, T0, sign, 5)

    parts = [InferenceAccumulator(inference, Workspace()) for _ in range(3)]
    for part, rows in zip(parts, (slice(0, 7), slice(7, 8), slice(8, 30)), strict=True):
        block = sort_block(values[rows])
        part.update(block, T0.statistic(block, target))
    state = merge_inference_states([part.state for part in reversed(parts)])
    columns, record = compute_error_control(
        inference, control, state, iter([sort_block(values[:4]), sort_block(values[4:])]), target
    )

    def compute(table):
        if hasattr(inference.permuted_target, "weights"):  # one scale for all patterns of ties
            return inference.permuted_target.compute_statistics(sort_block(np.ascontiguousarray(table)))
        block = sort_block(np.ascontiguousarray(table))
        return -T0.loss(T0.statistic(block, target), target, sign)

    drawn = draw_permutations(target.n, n_permutations, seed=5, **options)
    # that the target of row i is that of row p(i) is that the feature of row i is that of row p⁻¹(i)
    permutes_target = hasattr(inference.permuted_target, "weights")
    orders = [np.argsort(rows) if permutes_target else rows for rows in drawn]
    own, permuted = compute(values), np.array([compute(values[:, rows]) for rows in orders]).T
    pool = np.concatenate([own, permuted.ravel()]) + 1e-11
    p = [(1 + sum(permuted[f] + 1e-11 >= own[f])) / (n_permutations + 1) for f in range(30)]
    pooled = np.array([(pool >= each).sum() / pool.size for each in own])
    q = q_in_memory(pooled, method)
    np.testing.assert_allclose(columns["p_value"], np.ceil(np.array(p) * 1e5) / 1e5, rtol=1e-3)
    np.testing.assert_allclose(columns["q_value"], q, rtol=1e-9)
    best = permuted.max(axis=0)
    family = [(1 + sum(best + 1e-11 >= own[f])) / (n_permutations + 1) for f in range(30)]
    assert columns["p_family"].tolist() == family
    assert record["source"] == "permutations"
    assert record["tests"] == sum(record["histogram"]) == 30
    assert record["passing"] == int((columns["q_value"] <= 0.4).sum()) > 0
    assert record["least_q"] == columns["q_value"].min()


TABLE = 60
SMALL = {"layers": "ub", "top": 4, "permutations": 39, "operators": "ablation"}


@pytest.fixture
def inputs(rng):
    return {name: rng.normal(size=TABLE) for name in "abc"}


def list_screens(inputs, rng):
    """List what is screened: a strong signal in the first input, as each type of target."""
    y = inputs["a"] + 0.3 * rng.normal(size=TABLE)
    times = {"time": np.exp(-y), "died": rng.integers(0, 2, TABLE)}
    return {
        "classes": (inputs, np.array(["low", "middle", "high"])[np.digitize(y, [-0.5, 0.5])], {}),
        "weights": (inputs | {"w": rng.random(TABLE) + 0.1}, y, {"weights": "w"}),
        "survival": (inputs | times, None, {"target": "time", "event": "died"}),
        "xi": (inputs, y, {"screener": "xi"}),
        "pearson": (inputs, y, {"screener": "pearson"}),
    }


@pytest.mark.parametrize("kind", ["classes", "weights", "survival", "xi", "pearson"])
def test_screens_have_p_values_among_all_formulas_whatever_the_jobs(kind, inputs, rng):
    columns, target, options = list_screens(inputs, rng)[kind]
    one, two = (symscreen.screen(columns, target, jobs=jobs, **SMALL, **options) for jobs in (1, 2))
    assert one.table.equals(two.table)
    assert one.record["error_control"] == two.record["error_control"]
    assert one.table["p_family"].iloc[0] == 1 / 40
    noise = {name: rng.permutation(values) for name, values in columns.items() if name in "abc"}
    assert symscreen.screen(columns | noise, target, **SMALL, **options).table["p_family"].min() > 0.05


SOURCES = {
    "classes": {"target": "level"},
    "weights": {"target": "y", "weights": "w"},
    "survival": {"target": "time", "event": "died"},
    "groups": {"target": "y", "groups": "site"},
    "time": {"target": "y", "time": "day"},
    "stages": {"stages": ["seen", "liked"]},
    "ranking": {"ranking": "taste"},
}


def make_table(rng):
    """Draw one table with a target of every type, all of which follow the first input."""
    inputs = {name: rng.normal(size=TABLE) for name in "abc"}
    y = inputs["a"] + 0.4 * rng.normal(size=TABLE)
    orders = np.array(["p>q>r", "q>p>r", "r>q>p"])
    more = {
        "y": y,
        "level": np.array(["low", "middle", "high"])[np.digitize(y, [-0.5, 0.5])],
        "w": rng.random(TABLE) + 0.1,
        "time": np.exp(-y),
        "died": rng.integers(0, 2, TABLE),
        "site": np.arange(TABLE) // 4,
        "day": np.arange(TABLE) * 1.0,
        "seen": (y > -0.7) * 1.0,
        "liked": (y > 0.2) * 1.0,
        "taste": orders[np.digitize(y, [-0.5, 0.5])],
    }
    return pd.DataFrame(inputs | more)


@pytest.mark.parametrize("kind", SOURCES)
def test_the_false_discovery_rate_is_the_same_for_all_jobs_chunks_and_orders_of_rows(kind, rng):
    table = make_table(rng)
    options = {"inputs": ["a", "b", "c"], "layers": "ub", "operators": "ablation", "permutations": 59}
    options |= {"fdr": 0.1, "top": 30, "max_correlation": 1.0}
    mixed = table.sample(frac=1, random_state=3)
    runs = [
        symscreen.screen(frame, **options, **SOURCES[kind], **changes)
        for frame, changes in (
            (table, {"jobs": 1}),
            (table, {"jobs": 2, "chunk_size": 13}),
            (mixed, {"jobs": 1}),
        )
    ]
    assert all(run.table.equals(runs[0].table) for run in runs)
    assert all(run.record["error_control"] == runs[0].record["error_control"] for run in runs)
    found = runs[0].table
    assert found["q_value"].between(1 / 60, 0.1).all()
    assert found["p_value"].between(1 / 60, 1.0).all()
    assert found["expression"][0].startswith(("a", "exp(a)", "log(a)")) or "a" in found["expression"][0]
    assert runs[0].record["verdict"]["by"] == "q_value"


def test_without_permutations_or_where_the_target_chose_the_space_a_false_discovery_rate_is_refused(rng):
    table = make_table(rng)
    small = {"inputs": ["a", "b", "c"], "layers": "ub", "operators": "ablation", "fdr": 0.1}
    remedies = {"classes": "is a class", "survival": "is a time", "stages": "stages", "ranking": "a ranking"}
    for kind, options in SOURCES.items():
        with pytest.raises(OptionError, match="permutations=200") as raised:
            symscreen.screen(table, **small, **options)
        assert remedies.get(kind, "cannot be combined") in str(raised.value)
    for options, words in (
        ({"pool_size": 4}, "pruning between layers"),
        ({"target": "y", "search": "race"}, "does not score every feature"),
        ({"target": "y,w"}, "several targets"),
    ):
        with pytest.raises(OptionError, match=words):
            symscreen.screen(table, permutations=9, **small | {"target": "y"} | options)


def test_why_tells_the_q_value_of_a_formula_by_permutations(rng):
    table = make_table(rng)
    options = {"inputs": ["a", "b", "c"], "layers": "ub", "operators": "ablation", "groups": "site"}
    options |= {"fdr": 0.05, "permutations": 59, "max_correlation": 1.0}
    every = symscreen.screen(table, target="y", top=10**6, **options | {"fdr": None}).table
    last = every.iloc[-1]
    found = symscreen.why(table, last["expression"], target="y", **options)
    assert (found.status, found.q_value) == ("not passing", last["q_value"])

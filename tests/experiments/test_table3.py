from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from symscreen import datasets, screen
from symscreen.experiments import table3
from symscreen.experiments.base import ExperimentSettings
from symscreen.expressions.traversal import compute_key, evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.screeners import SCREENERS

SYSTEMS = {system.name: system for system in table3._SYSTEMS}
SPACES = [(name, pool) for name, system in SYSTEMS.items() for pool in system.pools]


@pytest.fixture(scope="module", autouse=True)
def _short_chains():
    """Take few draws of BART, whose choices no test reads; `test_base` tests the chains of the small size."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(table3._SHORT_SPECS, "bart", "bart[rule=none,replicates=1,burn=5,draws=10]")
        patched.setitem(table3._SHORT_SPECS, "lasso", "lasso[folds=3]")
        yield


@pytest.fixture(scope="module")
def outcome():
    """Outcome of the small size, and its progress reports."""
    steps = []
    settings = ExperimentSettings(size="small", jobs=1, progress=lambda *step: steps.append(step))
    return table3.EXPERIMENT.run(settings), steps


def _row(outcome, system, pool="cumulative", screener="t0", sign="positive"):
    table = outcome[0].tables["choices"].set_index(["system", "pool", "screener", "sign"])
    return table.loc[system, pool, screener, sign]


def _choice(formula, **fields):
    defaults = {"system": SYSTEMS["vdp1"], "pool": "cumulative", "sign": "positive", "screener": "t0"}
    figures = {"class_size": 1, "score": 0.1, "n_features": 265, "n_shown": 265}
    return table3._FirstChoice(formula=parse_expression(formula), **defaults | figures | fields)


@pytest.mark.slow
@pytest.mark.parametrize(("system", "least"), [("glider1", 19), ("glider2", 19), ("vdp1 with id", 17)])
def test_t0_puts_the_nearest_formula_first_in_nearly_all_of_twenty_draws(monkeypatch, system, least):
    monkeypatch.setitem(table3.SIZES, "medium", replace(table3.SIZES["medium"], screeners=("t0",)))
    wanted, draws = compute_key(parse_expression(table3._EXPECTED_FIRST_CHOICES[system])), range(20)
    firsts = [
        one
        for repeat in draws
        for one in table3._find_first_choices(
            SYSTEMS[system], "cumulative", repeat, ExperimentSettings(jobs=1)
        )
        if one.sign == "positive"
    ]
    assert len(firsts) == len(draws)
    assert sum(compute_key(one.formula) == wanted for one in firsts) >= least


@pytest.mark.slow
def test_every_space_is_screened_by_every_screener_and_sign(outcome):
    table, sided = outcome[0].tables["choices"], table3._SIGNED_SCREENERS
    expected = {
        (system, pool, name, sign)
        for system, pool in SPACES
        for name in table3.SIZES["small"].screeners
        for sign in (("positive", "free") if name in sided else ("none",))
    }
    found = list(zip(table["system"], table["pool"], table["screener"], table["sign"], strict=True))
    assert len(found) == len(expected)
    assert set(found) == expected
    assert outcome[1] == [(done, len(SPACES)) for done in range(1, len(SPACES) + 1)]
    assert set(table3._SCREENER_SPECS) == set(SCREENERS) - {"crit"}  # which takes rankings alone
    assert table3.SIZES["medium"].screeners == table3.SIZES["full"].screeners == tuple(table3._SCREENER_SPECS)


@pytest.mark.slow
def test_what_is_published_stands_beside_ours(outcome):
    assert _row(outcome, "glider1")[["agrees", "in_space"]].tolist() == [True, True]
    assert _row(outcome, "glider2")[["agrees", "in_space"]].tolist() == [False, True]
    lasso = _row(outcome, "glider1", screener="lasso", sign="none")
    assert lasso[["agrees", "in_space"]].tolist() == [False, False]
    # from the cubes alone, T0 chooses a feature with the ranks of x2: equivalent to a published formula
    assert _row(outcome, "vdp1", "strict")[["agrees", "in_space"]].tolist() == [True, False]
    assert _row(outcome, "glider2", screener="stepwise", sign="none")["published"] == "failed"
    assert _row(outcome, "glider2", screener="xi", sign="none")[["published", "agrees"]].tolist() == [
        "",
        None,
    ]


@pytest.mark.slow
def test_first_choices_are_those_of_cumulative_pools_and_positive_signs_that_are_published(outcome):
    choices, firsts = (outcome[0].tables[name] for name in ("choices", "first-choices"))
    expected = [
        (row.system, row.screener, row.first_choice)
        for row in choices.itertuples()
        if row.pool == "cumulative" and row.sign in {"positive", "none"} and row.published
    ]
    assert len({system for system, *_ in expected}) == len(SYSTEMS)
    columns = (firsts[name] for name in ("system", "screener", "first_choice"))
    assert list(zip(*columns, strict=True)) == expected


@pytest.mark.slow
def test_a_positive_sign_cannot_choose_the_falling_truth(outcome):
    assert _row(outcome, "vdp2, inputs only")["first_choice"] == "x2"
    assert _row(outcome, "vdp2, inputs only", sign="free")["first_choice"] == "x1"


@pytest.mark.slow
def test_remarks_repeat_the_tables(outcome):
    remarks = outcome[0].remarks
    for system, formula in table3._EXPECTED_FIRST_CHOICES.items():
        assert (
            f"{system}: T0 (sign positive, cumulative pools) puts {formula} first in 1 of 1 draws." in remarks
        )
    reach = outcome[0].tables["reach"]
    printed = reach[reach["system"].isin(table3._TABLE_NAMES)].groupby(["system", "published"])
    for pool in ("cumulative", "strict"):
        held = printed[pool].any()
        (remark,) = (each for each in remarks if each.startswith(f"With {pool} pools"))
        assert f"make {held.sum()} of {len(held)} published" in remark
        assert [f"{formula} ({system})" in remark for system, formula in held.index] == (~held).tolist()
    choices = outcome[0].tables["choices"]
    own = choices[(choices["pool"] == "cumulative") & (choices["screener"] == "stepwise")]
    assert len(own) == len(SYSTEMS)
    listed = "; ".join(f"{row.first_choice} ({row.system})" for row in own.itertuples())
    assert remarks[-1].endswith(f"our first choices are {listed}.")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "pool"), SPACES)
def test_the_keys_of_a_space_are_those_of_all_its_features(name, pool):
    system = SYSTEMS[name]
    result = screen(
        datasets.load_strogatz(system.table_name).frame,
        layers=system.layers,
        unary=system.unary,
        binary=system.binary,
        pool=pool,
        top="all",
        jobs=1,
    )
    keys = table3._compute_keys(system, pool)
    assert len(keys) == len(result)
    some = result.expressions[:: 1 + len(result) // 100]
    assert {compute_key(each) for each in some} <= keys


@pytest.mark.slow
def test_reach_is_read_off_the_keys(outcome):
    reach = outcome[0].tables["reach"]
    for name, pool in SPACES:
        keys, here = table3._compute_keys(SYSTEMS[name], pool), reach[reach["system"] == name]
        assert here[pool].tolist() == [
            compute_key(parse_expression(reading)) in keys for reading in here["reading"]
        ]
    first = reach.drop_duplicates(["system", "screener", "published"])
    assert first["usual_precedence"].all()
    assert reach["usual_precedence"].sum() == len(first)
    # the first choice of the only draw is the published formula, so its values are the best
    (own,) = reach[(reach["system"] == "glider1") & (reach["reading"] == "sin(x1) - sin(x2)")].to_dict(
        "records"
    )
    assert [own["best_t0"], own["best_pearson"]] == pytest.approx([own["t0"], own["pearson"]])
    # the first choice of T0 has the smallest T0 of all, including the published formulas
    assert (reach.loc[reach["cumulative"], "t0"] >= reach.loc[reach["cumulative"], "best_t0"] - 1e-9).all()
    assert (reach["pearson"].abs() <= reach["best_pearson"] + 1e-9)[reach["cumulative"]].all()


def _results(operands, operators):
    """Evaluate the operations on numbers in every order."""
    found = set()
    for order in permutations(range(len(operators))):
        spans = {place: (place, place, value) for place, value in enumerate(operands)}
        for at in order:
            first, _, left = spans[at]
            _, last, right = spans[at + 1]
            value = left - right if operators[at] == "-" else left / right
            for place in range(first, last + 1):
                spans[place] = (first, last, value)
        found.add(round(spans[0][2], 9))
    return found


@pytest.mark.parametrize("operators", ["-", "-/", "/-/", "/--", "-/-", "-/-/"])
def test_readings_are_all_orders_of_the_operations(rng, operators):
    values = rng.uniform(1, 2, len(operators) + 1)
    names = [f"x{place}" for place in range(len(values))]
    printed = " ".join(
        [names[0], *(f"{sign} {name}" for sign, name in zip(operators, names[1:], strict=True))]
    )
    columns = {name: np.array([value]) for name, value in zip(names, values, strict=True)}
    several = table3._parse_readings(printed)
    assert compute_key(several[0]) == compute_key(parse_expression(printed))
    computed = [round(float(evaluate_expression(each, columns)[0]), 9) for each in several]
    assert len(computed) == len(set(computed))
    assert set(computed) == _results(values.tolist(), operators)


@pytest.mark.parametrize(
    ("one", "other", "ranks_rising", "ranks", "affine"),
    [
        ("x1 + x2", "x2 + x1", True, True, True),
        ("x1", "x1**3", True, True, False),
        ("x1", "-x1**3", False, True, False),
        ("x1", "3 - 2*x1", False, True, True),
        ("x1", "2*x1 + 1", True, True, True),
        ("x1", "x2", False, False, False),
        ("x1", "log(-x1**2)", False, False, False),
    ],
)
def test_a_screener_takes_its_class_for_one(one, other, ranks_rising, ranks, affine):
    columns = table3._get_inputs("vdp1")
    for first, second in ((one, other), (other, one)):
        found = [
            table3._is_same_feature(parse_expression(first), parse_expression(second), columns, *each)
            for each in (("t0", "positive"), ("t0", "free"), ("bart", "none"), ("scad", "none"))
        ]
        assert found == [ranks_rising, ranks, ranks, affine]


def test_choices_are_counted_by_algebra_and_by_class():
    formulas = ["x1", "x2 + x2", "x2**3", "x2*2", "x2**3", "x1**3", "2*x2"]
    row = table3._compare_with_published([_choice(each) for each in formulas], [])
    assert [row[name] for name in ("first_choice", "times", "draws")] == ["x2 + x2", 3, 7]
    assert row["share"] == pytest.approx(3 / 7)
    assert row["class_share"] == pytest.approx(5 / 7)
    met_first = table3._compare_with_published([_choice(each) for each in ("x2", "x1", "x1", "x2")], [])
    assert met_first["first_choice"] == "x2"


def test_figures_are_means_of_t0_by_its_definition_and_of_the_correlation():
    formulas = [parse_expression("x1 - x2**3"), parse_expression("x2")]
    t0, r = [], []
    for repeat in range(2):
        frame, _ = table3._add_noise("vdp1", repeat, 7)
        y = frame["target"].to_numpy()
        gap = np.abs(y[:, None] - y)
        for each in formulas:
            z = evaluate_expression(each, table3._get_inputs("vdp1"))
            wrong = (z[:, None] >= z) & (y[:, None] < y) | (z[:, None] < z) & (y[:, None] >= y)
            np.fill_diagonal(wrong, val=False)
            t0.append(2 * (gap * wrong).sum() / gap.sum())
            r.append(np.corrcoef(z, y)[0, 1])
    expected = np.column_stack((np.reshape(t0, (2, 2)).mean(axis=0), np.reshape(r, (2, 2)).mean(axis=0)))
    assert table3._average_statistics(formulas, "vdp1", 2, 7) == pytest.approx(expected)


def test_the_noise_has_its_variance_and_is_drawn_anew():
    clean = datasets.load_strogatz("glider1").frame["target"]
    noise = [table3._add_noise("glider1", repeat, 0)[0]["target"] - clean for repeat in range(50)]
    assert np.mean(np.square(noise)) == pytest.approx(0.1, rel=0.04)
    assert np.abs(np.corrcoef(noise)[np.triu_indices(50, 1)]).max() < 0.25
    others = [("glider1", 1, 0), ("glider1", 0, 1), ("vdp1", 0, 0)]
    drawn = [
        (table3._add_noise(*each)[0]["target"] - datasets.load_strogatz(each[0]).frame["target"])
        .round(9)
        .tolist()
        for each in (("glider1", 0, 0), *others)
    ]
    assert all(each != drawn[0] for each in drawn[1:])
    assert drawn[0] == noise[0].round(9).tolist()


@pytest.mark.slow
def test_trees_are_grown_for_some_draws_and_repeats_are_heeded(monkeypatch):
    monkeypatch.setattr(table3, "_SYSTEMS", (SYSTEMS["vdp2, inputs only"],))
    monkeypatch.setattr(table3, "_format_remarks", lambda *_: ())
    plan = replace(table3.SIZES["small"], screeners=("t0", "pearson", "bart"), tree_step=5)
    monkeypatch.setitem(table3.SIZES, "small", plan)
    outcome = table3.run(ExperimentSettings(size="small", repeats=6, jobs=1))
    choices = outcome.tables["choices"].set_index(["screener", "sign"])
    assert choices.loc[("bart", "none"), "draws"] == 2
    assert choices.loc[("t0", "positive"), "draws"] == 6


@pytest.mark.slow
def test_threads_change_nothing(monkeypatch):
    alone = replace(SYSTEMS["glider2"], pools=("strict",))
    plan = replace(table3.SIZES["small"], screeners=("t0", "xi", "lasso", "stepwise"), is_short=False)
    monkeypatch.setitem(table3.SIZES, "small", plan)
    one, two = (
        list(table3._find_first_choices(alone, "strict", 3, ExperimentSettings(size="small", jobs=jobs)))
        for jobs in (1, 2)
    )
    assert [(each.formula, each.score) for each in one] == [(each.formula, each.score) for each in two]


def test_every_screener_of_the_larger_sizes_takes_a_table_of_numbers():
    alone, settings = SYSTEMS["vdp2, inputs only"], ExperimentSettings(jobs=1)
    found = list(table3._find_first_choices(alone, "cumulative", 1, settings))
    trees = {"bart", "forest"}
    assert {one.screener for one in found} == set(table3.SIZES["medium"].screeners) - trees

"""Table 1: the published values, the counting rules, and which of them reproduce the printed rows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from helpers.requirements import require
from scipy import stats

from symscreen.experiments import table1
from symscreen.experiments.base import ExperimentSettings
from symscreen.experiments.table1 import (
    COUNTING_RULES,
    EXPERIMENT,
    FORMULAS,
    PUBLISHED,
    SHORT_DESIGN,
    STATED_DESIGN,
)

FUNCTIONS = (
    (lambda x: x, lambda x: 2 * np.sin(x), lambda x: 2 * np.sin(7 * x), np.sin),
    (lambda x: x, lambda x: np.sin(4 * x + 0.2), lambda x: np.sin(4 * x + 0.1), lambda x: np.sin(4 * x)),
    (lambda x: x, np.cos, lambda x: np.sin(2 * x), np.sin),
    (lambda x: x, lambda x: np.sin(4 * x), lambda x: np.sin(6 * x), lambda x: np.sin(5 * x)),
)
MOST = {"pearson": 4, "kendall": 4, "t0": 3}  # published rows that the best rule reproduces as printed


@pytest.fixture(scope="module")
def outcome():
    require("stochtree")
    return EXPERIMENT.run(ExperimentSettings(size="small"))


def row_of(outcome, block, method, design=STATED_DESIGN):
    table = outcome.tables["inclusion"]
    chosen = (table["block"] == block) & (table["method"] == method) & (table["design"] == design)
    return table[chosen].sort_values("theta")["ours"].tolist()


def table_of(design, block, repeat, seed):
    drawn = table1._draw_table(design, block, repeat, seed)
    return drawn[0], drawn[1].values  # noqa: PD011  # a NumericTarget is not a data frame


def rule_of(outcome, method, design, rule, pair="theta(x), y"):
    table = outcome.tables["rules"]
    chosen = (table["method"] == method) & (table["design"] == design) & (table["pair"] == pair)
    found = table[chosen & (table["rule"] == rule)]
    assert len(found) == 1
    return found.iloc[0]


def test_published_rows_are_whole():
    assert [[sum(row) for row in PUBLISHED[method]] for method in ("pearson", "kendall", "t0")] == [
        [100, 100, 100, 100],
        [100, 100, 100, 100],
        [300, 100, 300, 100],
    ]
    assert [row[3] for row in PUBLISHED["t0"]] == [0, 100, 100, 100]
    assert [sum(row) for row in PUBLISHED["bart local"]] == [83, 92, 44, 98]
    assert [row[3] for row in PUBLISHED["bart local"]] == [0, 83, 13, 68]
    assert [sum(row) for row in PUBLISHED["bart gmax"]] == [38, 69, 20, 77]


@pytest.mark.parametrize("block", range(4))
def test_features_are_those_of_the_paper_in_the_order_of_y(block):
    values, y = table_of(STATED_DESIGN, block, repeat=3, seed=5)
    x = values[0]
    assert values.shape == (4, 500)
    assert sorted(x) == sorted(np.random.default_rng([5, 3]).normal(size=500))
    for theta, function in enumerate(FUNCTIONS[block]):
        np.testing.assert_allclose(values[theta], function(x), atol=1e-14)
    assert (y == values[3]).all()
    assert (np.diff(values[3]) >= 0).all()


def test_the_noisy_design_adds_noise_of_its_variance():
    values, y = table_of("normal, noise variance 0.1", 0, repeat=0, seed=0)
    assert np.var(y - values[3]) == pytest.approx(0.1, rel=0.2)


def test_designs_draw_what_they_say():
    rng = np.random.default_rng(0)
    ends = {
        "uniform on [0, 3/4]": (0, 0.75),
        "uniform on [-3/4, 3/4]": (-0.75, 0.75),
        "uniform on [0, 1]": (0, 1),
    }
    for name, (low, high) in ends.items():
        x = table1.DESIGNS[name][0](rng)
        assert x.min() == pytest.approx(low, abs=0.02)
        assert x.max() == pytest.approx(high, abs=0.02)
        drawn = table1.DESIGNS[name][0](np.random.default_rng(3))
        np.testing.assert_array_equal(drawn, np.random.default_rng(3).uniform(low, high, 500))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("the best, ties shared", [0, 0.5, 0, 0.5]),
        ("the best, first of ties", [0, 1, 0, 0]),
        ("the best, all of ties", [0, 1, 0, 1]),
        ("the worst", [0, 0, 1, 0]),
        ("all but the best", [1, 0, 1, 0]),
        ("the three best", [1, 1, 0, 1]),
        ("the three best, a tie once", [1, 1, 1, 0]),
        ("the three worst", [1, 1, 1, 0]),
        ("better than half", [1, 1, 0, 1]),
    ],
)
def test_rules_count_as_their_names_say(rule, expected):
    assert COUNTING_RULES[rule](np.array([0.2, 0.0, 0.9, 0.0])).tolist() == expected


def test_every_rule_is_tested():
    assert len(COUNTING_RULES) == 9


def test_losses_are_those_of_the_definitions():
    losses = table1._compute_losses(STATED_DESIGN, 2, seed=4)
    values, y = table_of(STATED_DESIGN, 3, repeat=1, seed=4)
    x, n = values[0], y.size
    wrong = np.abs(np.subtract.outer(y, y))
    gini = wrong.sum() / (n * (n - 1))
    for theta, z in enumerate(values):
        discordant = np.sign(np.subtract.outer(z, z)) * np.sign(np.subtract.outer(y, y))
        t0 = (wrong * (1 - discordant)).sum() / (n * (n - 1))
        assert losses["t0", "theta(x), y"][1, 3, theta] == pytest.approx(t0 / gini, abs=1e-12)
        tau = stats.kendalltau(z, y).statistic
        assert losses["kendall", "theta(x), y"][1, 3, theta] == pytest.approx(1 - abs(tau), abs=1e-12)
        r = stats.pearsonr(x, z).statistic
        assert losses["pearson", "x, theta(x)"][1, 3, theta] == pytest.approx(1 - abs(r), abs=1e-9)
        tau = stats.kendalltau(x, z).statistic
        assert losses["kendall", "x, theta(x)"][1, 3, theta] == pytest.approx(1 - abs(tau), abs=1e-12)
    assert losses["t0", "x, theta(x)"][1, 3, 0] == 0.0


@pytest.mark.slow
def test_the_truth_is_chosen_with_its_copy_as_the_caption_has_it(outcome):
    for method in ("pearson", "kendall", "t0"):
        assert row_of(outcome, 1, method) == [0.0, 50.0, 0.0, 50.0]
        for block in (2, 3, 4):
            assert row_of(outcome, block, method) == [0.0, 0.0, 0.0, 100.0]


def test_the_short_range_reproduces_all_rows_but_one(outcome):
    for block, method in [(b, m) for b in (1, 2, 3, 4) for m in ("pearson", "kendall", "t0")]:
        ours = row_of(outcome, block, method, SHORT_DESIGN)
        if (block, method) == (1, "t0"):
            assert ours == [100.0, 100.0, 0.0, 100.0]
        else:
            assert ours == list(PUBLISHED[method][block - 1])


def test_rules_say_which_rows_they_reproduce(outcome):
    rules = outcome.tables["rules"]
    assert len(rules) == 3 * len(table1.DESIGNS) * 2 * len(COUNTING_RULES)
    for method, most in MOST.items():
        assert rules.loc[rules["method"] == method, "reproduced"].max() == most
    defined = rule_of(outcome, "t0", STATED_DESIGN, "the best, ties shared")
    assert [defined[f"block{b}"] <= 5 for b in (1, 2, 3, 4)] == [False, True, False, True]
    three = rule_of(outcome, "t0", STATED_DESIGN, "the three best, a tie once")
    assert [three[f"block{b}"] <= 5 for b in (1, 2, 3, 4)] == [True, False, True, False]
    short = rule_of(outcome, "t0", SHORT_DESIGN, "the best, all of ties")
    assert (short["reproduced"], short["reproduced_turned"], short["block1_turned"]) == (3, 4, 0.0)
    assert rules.loc[(rules["method"] == "t0") & (rules["design"] == STATED_DESIGN), "reproduced"].max() == 2


def test_values_are_named_by_their_block_and_formula(outcome):
    values = outcome.tables["values"]
    expected = [(block, one) for block, formulas in enumerate(FORMULAS, start=1) for one in formulas]
    for design in table1.DESIGNS:
        own = values[values["design"] == design]
        assert list(zip(own["block"], own["formula"], strict=True)) == expected


def test_copies_share_the_splits_of_their_class_and_a_merged_one_is_not_shown(outcome):
    copies = outcome.tables["copies"]
    both, one = copies[~copies["merged"]], copies[copies["merged"]].set_index("formula")
    assert both["share"].sum() == pytest.approx(1.0)
    assert one["share"].sum() == pytest.approx(1.0)
    assert one.loc["sin(x)", ["share", "gmax", "local"]].isna().all()
    assert one.loc[["x", "2*sin(x)", "2*sin(7*x)"]].notna().all(axis=None)


def test_bart_is_counted_by_its_two_rules(outcome):
    table = outcome.tables["inclusion"]
    bart = table[table["method"].str.startswith("bart")]
    assert len(bart) == 4 * 2 * 2 * 4
    assert bart["ours"].isin([0.0, 100.0]).all()  # one repeat
    wide = bart.pivot_table(index=["block", "design", "theta"], columns="method", values="ours")
    assert (wide["bart gmax"] <= wide["bart local"]).all()  # its threshold is higher


@pytest.mark.slow
def test_bart_finds_a_truth_that_has_no_near_copy(monkeypatch):
    require("stochtree")
    options = (("permutations", 10), ("replicates", 1), ("burn", 60), ("draws", 60))
    monkeypatch.setitem(table1.SIZES, "small", replace(table1.SIZES["small"], bart_options=options))
    share, gmax, local = table1._run_bart(
        STATED_DESIGN, 3, 0, ExperimentSettings(size="small", jobs=1), merged=False
    )
    assert share[3] > share[:3].max() + 0.1
    assert (gmax[3], local[3]) == (1.0, 1.0)


def test_the_first_table_sets_rows_of_the_paper_beside_ours(outcome):
    table = outcome.tables["table1"]
    assert next(iter(outcome.tables)) == "table1"
    assert list(table.columns) == ["features", "method", "published", "ours", "ours_short"]
    assert table.loc[4].tolist() == [
        ", ".join(FORMULAS[0]),
        "t0",
        "100 100 100 0",
        "0 50 0 50",
        "100 100 0 100",
    ]


def test_tables_do_not_depend_on_the_run_but_on_the_seed(outcome):
    again = {name: table1._compute_losses(name, 3, 0) for name in table1.DESIGNS}
    pd.testing.assert_frame_equal(table1._build_rules_table(again), outcome.tables["rules"])
    pd.testing.assert_frame_equal(table1._build_values_table(again), outcome.tables["values"])
    other = table1._build_values_table({name: table1._compute_losses(name, 3, 1) for name in table1.DESIGNS})
    assert not other.equals(outcome.tables["values"])


def test_repeats_and_progress_are_heeded_and_bart_stands_where_it_belongs(monkeypatch):
    require("stochtree")
    monkeypatch.setattr(table1, "_run_bart", lambda *_, **__: np.arange(12.0).reshape(3, 4))
    reports = []
    settings = ExperimentSettings(size="small", repeats=2, progress=lambda *step: reports.append(step))
    outcome = EXPERIMENT.run(settings)
    tables = outcome.tables
    assert (tables["inclusion"]["n"] == 2).all()
    table = outcome.tables["inclusion"]
    for rule in ("gmax", "local"):
        assert set(table["rule"][table["method"] == f"bart {rule}"]) == {rule}
    assert row_of(outcome, 1, "bart gmax") == [400.0, 500.0, 600.0, 700.0]
    assert row_of(outcome, 4, "bart local", SHORT_DESIGN) == [800.0, 900.0, 1000.0, 1100.0]
    assert tables["copies"].loc[5, ["share", "gmax", "local"]].tolist() == [1.0, 500.0, 900.0]
    assert reports == [(step, 9) for step in range(1, 10)]


def test_remarks_state_what_was_found(outcome):
    text = "\n".join(outcome.remarks)
    assert "3 of pearson, 2 of kendall, 2 of t0" in text
    assert "the three best, a tie once: blocks 1 and 3" in text
    assert f"over all {len(table1.DESIGNS) * 2 * len(COUNTING_RULES)} candidates: at most 3 of 4" in text
    share = outcome.tables["copies"].loc[1, "share"]
    assert f"BART puts {100 * share:.0f} and" in text

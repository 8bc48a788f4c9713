from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.config.screen_options import ScreenOptions
from symscreen.errors import OptionError
from symscreen.screening.inference.sample_splitting import SPLIT_COLUMNS, draw_row_splits
from symscreen.statistics.inference.step_down import adjust_holm

OPTIONS = {"target": "target", "layers": "ub", "unary": "cube,exp", "binary": "mul,sub"}
ROWS = 60


@pytest.fixture(name="table")
def make_table(rng):
    x = rng.uniform(1, 3, (ROWS, 3))
    target = x[:, 0] * x[:, 1] + rng.normal(size=ROWS)
    return pd.DataFrame({"x1": x[:, 0], "x2": x[:, 1], "x3": x[:, 2], "target": target})


def _take(table, split):
    """Return the rows of a screen and those of its test, in the order of rows that a screen gives them."""
    ordered = table.sort_values(["target", "x1", "x2", "x3"], ignore_index=True)
    return ordered.iloc[split.search_rows], ordered.iloc[split.test_rows]


def _test_by_hand(formulas, directions, test_rows, seed):
    """Return one-sided p-values of T0 from a screen of the test rows with these formulas alone."""
    p_values = []
    for formula, direction in zip(formulas, directions, strict=True):
        own = test_rows.assign(target=test_rows["target"] * (1 if direction == "+" else -1))
        found = symscreen.screen(own, top="all", sign="positive", seed=seed, **OPTIONS).table.set_index(
            "expression"
        )
        p_values.append(found.p_value[formula])
    return np.array(p_values)


def test_the_parts_of_a_split_are_complementary_and_differ_between_splits():
    splits = draw_row_splits(ROWS, ScreenOptions(split=0.25, splits=5, seed=3))
    assert len({split.test_rows.tobytes() for split in splits}) == 5
    for split in splits:
        assert len(split.test_rows) == 15
        assert sorted([*split.search_rows, *split.test_rows]) == list(range(ROWS))


def test_without_the_options_there_is_no_split():
    assert draw_row_splits(ROWS, ScreenOptions()) == []


def test_one_split_lists_the_formulas_of_the_other_rows_and_tests_them_by_holm(table):
    result = symscreen.screen(table, split=0.5, top=4, seed=1, **OPTIONS)
    (split,) = draw_row_splits(ROWS, ScreenOptions(split=0.5, seed=1))
    search_rows, test_rows = _take(table, split)
    alone = symscreen.screen(search_rows, top=4, seed=1, **OPTIONS)
    assert result.table[alone.table.columns].equals(alone.table)
    p_values = _test_by_hand(result.table.expression, result.table.direction, test_rows, seed=1)
    assert result.table.split_p.to_numpy() == pytest.approx(
        adjust_holm(p_values), rel=1e-3
    )  # shown p-values are rounded
    assert result.record["sample_splitting"]["test_rows"] == 30


def test_gini_and_its_interval_are_those_of_the_test_rows(table):
    result = symscreen.screen(table, split=0.5, top=1, intervals=0.9, **OPTIONS)
    (split,) = draw_row_splits(ROWS, ScreenOptions(split=0.5))
    _, test_rows = _take(table, split)
    formula = result.table.expression[0]
    found = symscreen.screen(test_rows, top="all", intervals=0.9, **OPTIONS).table.set_index("expression")
    shown = result.table[list(SPLIT_COLUMNS[1:])].iloc[0].tolist()
    assert shown == pytest.approx(found.loc[formula, ["gini", "gini_low", "gini_high"]].tolist())


def test_repeated_splits_keep_the_list_and_give_twice_the_upper_median(table):
    result = symscreen.screen(table, splits=4, split=0.4, top=3, seed=2, **OPTIONS)
    plain = symscreen.screen(table, top=3, seed=2, max_correlation=1, **OPTIONS)
    assert result.table.expression.tolist() == plain.table.expression.tolist()
    corrected = np.ones((4, 3))
    for row, split in enumerate(draw_row_splits(ROWS, ScreenOptions(splits=4, split=0.4, seed=2))):
        search_rows, test_rows = _take(table, split)
        found = symscreen.screen(search_rows, top=3, seed=2, max_correlation=1, **OPTIONS)
        theirs = found.transform(search_rows).rank().to_numpy()
        ours = result.transform(search_rows).rank().to_numpy()
        for place, formula in enumerate(result.table.expression):
            own = ours[:, [place]]
            is_equal = (own == theirs).all(axis=0) | (len(own) + 1 - own == theirs).all(axis=0)
            if is_equal.any():
                (p_value,) = _test_by_hand([formula], ["+"], test_rows, seed=2)
                corrected[row, place] = min(1.0, 3 * p_value)
    assert (corrected < 1.0).any()
    expected = np.minimum(1.0, 2.0 * np.sort(corrected, axis=0)[2])
    assert result.table.split_p.to_numpy() == pytest.approx(expected, rel=1e-3)  # shown p-values are rounded


def test_noise_is_seldom_below_the_level(rng):
    n_tables, n_claims = 150, 0
    for seed in range(n_tables):
        x = rng.normal(size=(30, 3))
        result = symscreen.screen(
            x, rng.normal(size=30), split=0.5, layers="b", binary="add,mul", top=3, seed=seed, jobs=1
        )
        n_claims += int((result.table.split_p <= 0.1).any())
    assert n_claims <= 0.1 * n_tables + 3 * np.sqrt(0.09 * n_tables)


def test_a_joint_screener_that_ranks_is_tested_by_t0(table):
    result = symscreen.screen(table, split=0.5, screener="lasso", **OPTIONS)
    assert result.record["sample_splitting"]["screener"] == "t0"
    assert result.table.split_p.min() < 0.01


def test_a_formula_that_is_undefined_on_the_test_rows_is_not_claimed():
    rng = np.random.default_rng(0)
    x, z = rng.uniform(0.5, 2.0, (2, 40))
    table = pd.DataFrame({"x": x, "z": z, "target": np.sort(z + np.log(x))})
    table[["x", "z"]] = table.loc[np.argsort(z + np.log(x)), ["x", "z"]].to_numpy()
    (split,) = draw_row_splits(40, ScreenOptions(split=0.5))
    table.loc[split.test_rows[-1], "x"] *= -1.0
    result = symscreen.screen(table, target="target", layers="ub", unary="log", binary="add", split=0.5)
    logarithm = result.table.set_index("expression").loc["z + log(x)"]
    assert logarithm.split_p == 1.0
    assert np.isnan(logarithm.split_gini)


@pytest.mark.parametrize("keywords", [{"split": 0.5}, {"splits": 3}])
def test_results_depend_neither_on_threads_nor_on_the_order_of_rows(table, keywords):
    tables = [
        symscreen.screen(each, top=4, jobs=jobs, **keywords, **OPTIONS).table
        for each, jobs in ((table, 1), (table, 2), (table.sample(frac=1, random_state=1), 1))
    ]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])


def test_equivalent_formulas_of_a_result_with_a_split_are_those_of_the_same_rows(table):
    result = symscreen.screen(table, split=0.5, top=3, **OPTIONS)
    members = symscreen.classes(result, table)
    assert set(result.table.expression) <= set(members["expression"])


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"split": 0.5, "rounds": 2}, "split= cannot be combined with rounds=2"),
        ({"splits": 5, "top": "all"}, "splits= cannot be combined with top='all'"),
        ({"split": 0.01}, "leaves 59 of 60 rows for the screen and 1 for the test"),
        ({"splits": 2}, "splits is 2; give at least 3"),
        ({"split": 1.5}, "split is 1.5; give a share from 0 to below 0.9"),
    ],
)
def test_options_without_a_meaning_are_refused(table, keywords, message):
    with pytest.raises(OptionError) as caught:
        symscreen.screen(table, **keywords, **OPTIONS)
    assert message in str(caught.value)


def test_targets_without_intervals_are_refused(table):
    table["target"] = np.where(table["target"] > 4, "a", "b")
    with pytest.raises(OptionError, match="split= requires a numeric target"):
        symscreen.screen(table, split=0.5, **OPTIONS)

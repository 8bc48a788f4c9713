"""Laws are searched among the inputs of a wide table that explain the target."""

import numpy as np
import pytest

from symscreen.backends import make_backend
from symscreen.expressions.tree import parse_expression
from symscreen.fitting.laws.chosen_inputs import choose_law_inputs, count_all_inputs
from symscreen.fitting.laws.law import Law, build_law_data
from symscreen.fitting.required_inputs import RequiredInputs
from symscreen.grammar import load_grammar

THREAD = make_backend("threads", 1)
GRAMMAR = load_grammar("standard")


def make_columns(n_inputs, n_rows=200, low=1.0, seed=0):
    rng = np.random.default_rng(seed)
    return {f"x{number:04}": rng.uniform(low, 5.0, n_rows) for number in range(n_inputs)}


def test_tables_of_up_to_nine_inputs_keep_all():
    columns = make_columns(9)
    data = build_law_data(columns, columns["x0003"] ** 2, GRAMMAR)
    assert choose_law_inputs(data, THREAD) is data


@pytest.mark.parametrize("n_inputs", [10, 60, 1_500])
def test_the_inputs_of_a_law_are_among_the_chosen(n_inputs):
    columns = make_columns(n_inputs)
    target = columns["x0003"] * columns["x0007"] / columns["x0009"] + columns["x0001"]
    chosen = choose_law_inputs(build_law_data(columns, target, GRAMMAR), THREAD)
    assert {"x0001", "x0003", "x0007", "x0009"} <= set(chosen.columns)
    assert len(chosen.columns) == 9
    assert list(chosen.columns) == sorted(chosen.columns)
    assert set(chosen.every_column) == set(columns)


def test_a_pair_without_a_main_effect_is_chosen():
    columns = make_columns(40, 300, low=-5.0)
    chosen = choose_law_inputs(build_law_data(columns, columns["x0005"] * columns["x0023"], GRAMMAR), THREAD)
    assert {"x0005", "x0023"} <= set(chosen.columns)


def test_up_to_fifteen_inputs_that_matter_are_chosen():
    columns = make_columns(40, 1_000)
    names = sorted(columns)[:20]
    target = np.sum([columns[name] for name in names], axis=0)
    chosen = choose_law_inputs(build_law_data(columns, target, GRAMMAR), THREAD)
    assert len(chosen.columns) == 15
    assert set(chosen.columns) <= set(names)


def test_required_inputs_are_kept():
    columns = make_columns(40)
    required = RequiredInputs(("x0039",), (frozenset({"x0039"}),))
    data = build_law_data(columns, columns["x0000"], GRAMMAR, required_inputs=required)
    assert "x0039" in choose_law_inputs(data, THREAD).columns


def test_the_choice_depends_on_no_order_and_no_number_of_threads():
    columns = make_columns(60, 1_500)
    target = columns["x0003"] * columns["x0007"] + columns["x0030"]
    expected = choose_law_inputs(build_law_data(columns, target, GRAMMAR), THREAD)
    rows = np.random.default_rng(1).permutation(1_500)
    shuffled = {name: columns[name][rows] for name in sorted(columns, reverse=True)}
    data = build_law_data(shuffled, target[rows], GRAMMAR)
    for jobs in (1, 2):
        chosen = choose_law_inputs(data, make_backend("threads", jobs))
        assert list(chosen.columns) == list(expected.columns)


def test_tables_with_few_rows_or_values_have_a_choice():
    rng = np.random.default_rng(0)
    for n_rows in (3, 6, 15):
        columns = {f"x{number:02}": rng.integers(0, 2, n_rows).astype(float) for number in range(30)}
        columns["x05"] = np.zeros(n_rows)
        data = build_law_data(columns, rng.normal(size=n_rows), GRAMMAR)
        assert len(choose_law_inputs(data, THREAD).columns) == 9


def test_a_law_counts_as_one_of_those_of_all_inputs():
    columns = make_columns(100)
    data = choose_law_inputs(build_law_data(columns, columns["x0003"], GRAMMAR), THREAD)
    first, second = list(data.columns)[:2]
    law = Law((parse_expression(f"{first}*{second}"),), has_intercept=True, search_size=10.0)
    # 100·99/2 pairs of inputs, of which 9·8/2 were tried
    assert count_all_inputs(law, data).search_size == pytest.approx(10.0 * (100 * 99 / 2) / (9 * 8 / 2))
    narrow = build_law_data(make_columns(5), columns["x0003"], GRAMMAR)
    assert count_all_inputs(law, narrow).search_size == pytest.approx(10.0)

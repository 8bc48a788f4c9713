"""The problems of SRBench, and the rows that its protocol makes of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from symscreen.errors import OptionError
from symscreen.experiments.srbench.problems import (
    SEEDS,
    draw_table,
    find_problems,
    list_problems,
    make_trial,
)
from symscreen.expressions.traversal import collect_columns, evaluate_expression
from symscreen.units.unit_parsing import parse_unit

PROBLEMS = {problem.name: problem for problem in list_problems()}


def test_there_are_116_problems_of_the_lectures_and_14_of_the_book():
    groups = [problem.group for problem in list_problems()]
    assert (groups.count("Feynman"), groups.count("Strogatz"), len(PROBLEMS)) == (116, 14, 130)
    assert not {"test_10", "I_26_2", "I_30_5"} & set(PROBLEMS)
    assert sum(not problem.solved_before for problem in list_problems()) == 30


@pytest.mark.parametrize("problem", [one for one in list_problems() if one.inputs], ids=lambda one: one.name)
def test_the_inputs_of_a_problem_are_the_columns_of_its_formula(problem):
    assert collect_columns(problem.expression) == {each.name for each in problem.inputs}
    assert problem.target not in {each.name for each in problem.inputs}
    assert all(each.low < each.high for each in problem.inputs)


@pytest.mark.slow
@pytest.mark.parametrize("problem", [one for one in list_problems() if one.inputs], ids=lambda one: one.name)
def test_a_law_keeps_its_value_when_the_base_units_are_rescaled(problem):
    # Each base unit becomes smaller by a factor; the number of a quantity grows by the product of the powers.
    factors = {"m": 2.0, "s": 3.0, "kg": 5.0, "A": 0.7, "K": 1.9}

    def scale(unit):
        exponents = parse_unit(unit).exponents
        return float(np.prod([factors[base] ** float(power) for base, power in exponents.items()]))

    middle = {each.name: np.array([0.4 * each.low + 0.6 * each.high]) for each in problem.inputs}
    rescaled = {each.name: middle[each.name] * scale(each.unit) for each in problem.inputs}
    expected = evaluate_expression(problem.expression, middle) * scale(problem.unit)
    np.testing.assert_allclose(evaluate_expression(problem.expression, rescaled), expected, rtol=1e-9)


def test_problems_are_found_by_short_and_by_full_names():
    found = find_problems(["feynman_I_34_8", "strogatz_vdp2", "I_34_8"])
    assert [problem.name for problem in found] == ["I_34_8", "vdp2"]
    with pytest.raises(OptionError, match="did you mean 'I_34_8'"):
        find_problems(["I_34_80"])


def test_a_table_is_uniform_over_the_ranges_and_follows_the_law():
    problem = PROBLEMS["I_40_1"]
    table = draw_table(problem, 0)
    assert table.shape == (100_000, 7)
    for each in problem.inputs:
        values = np.sort(table[each.name].to_numpy())
        uniform = each.low + (each.high - each.low) * (np.arange(100_000) + 0.5) / 100_000
        assert np.abs(values - uniform).max() < 0.02 * (each.high - each.low)  # Kolmogorov's distance
    direct = table["n_0"] * np.exp(-table["m"] * table["g"] * table["x"] / (table["kb"] * table["T"]))
    np.testing.assert_allclose(table["n"], direct, rtol=1e-12)
    assert table.equals(draw_table(problem, 0))
    assert not table.equals(draw_table(problem, 1))


@pytest.mark.slow
@pytest.mark.parametrize("problem", list_problems(), ids=lambda one: one.name)
def test_no_row_of_a_table_is_undefined(problem):
    assert np.isfinite(draw_table(problem, 0).to_numpy()).all()


def test_a_trial_has_10000_training_rows_with_replacement_and_a_quarter_for_the_test():
    problem = PROBLEMS["I_12_1"]
    trial = make_trial(problem, 0.0, SEEDS[0])
    assert (len(trial.training), len(trial.test)) == (10_000, 25_000)
    table, columns = draw_table(problem, 0), ["mu", "Nn"]
    distinct = trial.training.drop_duplicates(columns)
    # of 75,000 rows, 10,000 draws with replacement meet 9,368 different ones, ± 24
    assert len(distinct) == pytest.approx(75_000 * (1 - (1 - 1 / 75_000) ** 10_000), abs=120)
    assert len(distinct.merge(table, on=columns)) == len(distinct)
    assert not len(distinct.merge(trial.test, on=columns))


def test_small_tables_are_split_and_not_sampled():
    trial = make_trial(PROBLEMS["glider1"], 0.0, SEEDS[0])
    rows = pd.concat([trial.training, trial.test]).sort_values(["x1", "x2"], ignore_index=True)
    table = draw_table(PROBLEMS["glider1"], 0).sort_values(["x1", "x2"], ignore_index=True)
    assert (len(trial.training), len(trial.test)) == (300, 100)
    assert rows.equals(table)


@pytest.mark.parametrize("ratio", [0.001, 0.1])
def test_noise_has_its_deviation_and_is_on_the_training_target_alone(ratio):
    problem = PROBLEMS["II_2_42"]
    clean, noisy = make_trial(problem, 0.0, SEEDS[1]), make_trial(problem, ratio, SEEDS[1])
    assert noisy.test.equals(clean.test)
    target = clean.training[problem.target]
    assert noisy.training.drop(columns=problem.target).equals(clean.training.drop(columns=problem.target))
    noise = noisy.training[problem.target] - target
    deviation = ratio * np.sqrt((target**2).mean())
    assert noise.std() == pytest.approx(deviation, rel=0.03)  # the error of 10,000 rows is 0.7 %
    assert abs(noise.mean()) < 4 * deviation / 100


def test_a_trial_depends_on_its_seed_alone():
    problem = PROBLEMS["I_12_1"]
    first, again, other = (make_trial(problem, 0.01, seed) for seed in (860, 860, 5390))
    assert first.training.equals(again.training)
    assert first.test.equals(again.test)
    assert not first.training.equals(other.training)

"""Which inputs are selected: planted ones, seldom others, and the same in every order."""

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.errors import DataError, OptionError
from symscreen.screening.input_screening.input_screen import choose_level


def _make_frame(seed, n=200, d=12):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.uniform(1, 5, (n, d)), columns=[f"x{k}" for k in range(d)]), rng


def test_planted_inputs_are_selected_and_others_are_not():
    frame, rng = _make_frame(1)
    y = frame.x3 * frame.x7 + np.sin(frame.x11) + 0.1 * rng.normal(size=len(frame))
    result = symscreen.screen_inputs(frame, y)
    assert set(result.selected) == {"x3", "x7", "x11"}
    chosen = result.table[result.table.selected]
    assert (chosen.p_value <= result.level).all()
    assert (chosen.p_family <= 0.05).all()
    assert chosen["round"].tolist() == [1, 2, 3]
    assert "<table>" in result._repr_html_()
    assert f"inputs={result.selected!r}" in repr(result)


def test_a_pure_interaction_is_found_as_a_pair():
    frame, rng = _make_frame(2)
    y = (frame.x2 - 3) * (frame.x5 - 3) + 0.3 * rng.normal(size=len(frame))
    result = symscreen.screen_inputs(frame, y)
    assert set(result.selected) == {"x2", "x5"}


def test_the_share_of_noise_that_is_selected_is_about_the_level_at_most():
    n_tables, n_inputs, n_claims, n_families = 40, 6, 0, 0
    for seed in range(n_tables):
        frame, rng = _make_frame(100 + seed, n=60, d=n_inputs)
        table = symscreen.screen_inputs(frame, rng.normal(size=60), level=0.1, permutations=39).table
        n_claims += table.selected.sum()
        n_families += (table.p_family <= 0.05).any()
    n_noise = n_tables * n_inputs
    assert n_claims <= 0.1 * n_noise + 3 * np.sqrt(n_noise * 0.1 * 0.9)
    assert n_families <= 0.05 * n_tables + 3 * np.sqrt(n_tables * 0.05 * 0.95)


def test_the_order_of_rows_and_columns_and_the_threads_change_nothing():
    frame, rng = _make_frame(3)
    frame["y"] = frame.x0 / frame.x1 + 0.2 * rng.normal(size=len(frame))
    mixed = frame.sample(frac=1, random_state=0)[frame.columns[::-1]]
    first = symscreen.screen_inputs(frame, target="y", jobs=1)
    assert first.table.equals(symscreen.screen_inputs(mixed, target="y", jobs=2).table)
    assert first.selected


def test_of_two_equal_columns_one_is_selected():
    frame, rng = _make_frame(4)
    frame["copy"] = frame.x1
    result = symscreen.screen_inputs(frame, frame.x1.to_numpy() + 0.1 * rng.normal(size=len(frame)))
    assert len(result.selected) == 1
    assert result.selected[0] in {"x1", "copy"}


@pytest.mark.parametrize("seed", range(5))
def test_all_inputs_of_a_small_table_are_kept_if_all_matter(seed):
    rng = np.random.default_rng(seed)
    load, length, height = rng.uniform(1, 10, 80), rng.uniform(1, 3, 80), rng.uniform(1, 2, 80)
    target = load * (length / height) ** 3 * (1 + 0.02 * rng.normal(size=80))
    frame = pd.DataFrame({"load": load, "length": length, "height": height})
    assert set(symscreen.screen_inputs(frame, target, quiet=True).selected) == set(frame)


@pytest.mark.parametrize("level", [0.002, 0.01, 0.05])
@pytest.mark.parametrize("n_others", [0, 1, 6])
def test_an_input_that_explains_everything_is_selected_at_every_level(level, n_others, rng):
    frame = pd.DataFrame(rng.uniform(1, 5, (60, 1 + n_others)))
    result = symscreen.screen_inputs(frame, frame[0].to_numpy(), level=level, quiet=True)
    assert result.selected == ["0"]


def test_the_level_is_larger_in_tables_of_few_inputs():
    levels = [choose_level(n_inputs) for n_inputs in (1, 10, 25, 50, 1000)]
    assert levels == [0.05, 0.05, 0.02, 0.01, 0.01]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"level": 0.0}, OptionError, "level"),
        ({"permutations": 10}, OptionError, "too few for level=0.042 and 12 inputs: give at least 19"),
        ({"layers": "ub"}, OptionError, "screen_inputs has no option 'layers'"),
        ({"rows": 10}, DataError, "at least 20"),
    ],
)
def test_what_cannot_be_tested_is_refused(options, error, message):
    frame, rng = _make_frame(5, n=options.pop("rows", 40))
    with pytest.raises(error, match=message):
        symscreen.screen_inputs(frame, rng.normal(size=len(frame)), **options)

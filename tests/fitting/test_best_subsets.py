"""The best subsets of given columns, against brute force."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from helpers.fitting_cases import share_left

import symscreen
from symscreen.errors import DataError, OptionError
from symscreen.fitting.best_subsets import _round_down


@pytest.fixture
def frame(rng):
    frame = pd.DataFrame(rng.normal(size=(40, 9)), columns=[f"f{k}" for k in range(9)])
    return frame.assign(y=2.0 * frame.f3 - frame.f7 + 0.5 * frame.f1 + 0.2 * rng.normal(size=40))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_the_best_subsets_are_those_of_brute_force(frame, size):
    names = [name for name in frame if name != "y"]
    brute = sorted(
        (share_left(frame[list(subset)].to_numpy().T, frame.y.to_numpy()), subset)
        for subset in combinations(names, size)
    )
    result = symscreen.find_best_subsets(frame, size=size, n_best=5)
    assert result.table["columns"].tolist() == [subset for _, subset in brute[:5]]
    assert result.table.unexplained.to_numpy() == pytest.approx([share for share, _ in brute[:5]], rel=1e-9)
    assert result.table.r2.to_numpy() == pytest.approx(1.0 - result.table.unexplained.to_numpy())
    claimed = float(re.search(r"no other leaves less than (\S+) of", result.certificate)[1])
    assert 0.99 * brute[4][0] < claimed <= brute[4][0]
    assert f"of {len(brute)} subsets of {size} of 9 columns" in result.certificate


def test_the_models_are_least_squares_fits_whose_text_stands_in_the_table(frame):
    result = symscreen.find_best_subsets(frame, size=3, n_best=2)
    model = result.models[0]
    design = np.column_stack([np.ones(40), frame[["f1", "f3", "f7"]]])
    expected = np.linalg.lstsq(design, frame.y, rcond=None)[0]
    assert [model.intercept, *model.coefficients] == pytest.approx(expected)
    residuals = frame.y - model.predict(frame)
    assert result.table.unexplained[0] == pytest.approx(residuals.var(ddof=0) / frame.y.var(ddof=0))
    assert result.table.formula[0] == model.round_numbers(6).equation
    assert repr(result).splitlines()[1:] == [
        *(f"{row.r2:.6f}  {row.formula}" for row in result.table.itertuples()),
        result.certificate,
    ]


def test_the_order_of_rows_columns_and_threads_changes_no_bit(frame):
    expected = symscreen.find_best_subsets(frame, size=2, n_best=4, jobs=1)
    shuffled = frame.sample(frac=1.0, random_state=1)[frame.columns[::-1]]
    found = symscreen.find_best_subsets(shuffled, target="y", size=2, n_best=4, jobs=2)
    assert found.table.equals(expected.table)


def test_arrays_a_target_beside_them_and_chosen_columns_are_taken(frame):
    x, y = frame.drop(columns="y"), frame["y"]
    expected = symscreen.find_best_subsets(frame, n_best=1).table
    assert symscreen.find_best_subsets(x, y, n_best=1).table.equals(expected)
    assert symscreen.find_best_subsets(x.to_numpy(), y.to_numpy(), n_best=1).table["columns"][0] == (
        "x4",
        "x8",
    )
    chosen = symscreen.find_best_subsets(frame, target="y", inputs=["f1", "f2", "f7"], n_best=9)
    assert chosen.n_columns == 3
    assert chosen.certificate == "the table has all of 3 subsets of 2 of 3 columns"


def test_an_exact_model_has_no_intercept_of_rounding_and_names_are_shown_on_one_line(frame):
    exact = frame.assign(y=frame.f3 + 2.0 * frame.f7).rename(columns={"f3": "a\nb"})
    result = symscreen.find_best_subsets(exact, target="y", n_best=1)
    assert result.models[0].intercept == 0.0
    assert result.table.unexplained[0] < 1e-25
    assert repr(result).splitlines()[1] == "1.000000  y = `a\\nb` + 2*f7"


def test_notices_name_no_option_that_the_function_does_not_have(frame):
    coded = frame.assign(k=np.arange(40) % 3, s="text")
    notices = symscreen.find_best_subsets(coded, target="y").notices
    assert [str(notice) for notice in notices] == ["left out: 's' (text)"]


@pytest.mark.parametrize(("n_columns", "n_rows", "size"), [(2, 40, 3), (4, 5, 4)])
def test_more_columns_than_there_are_or_than_rows_determine_are_refused(frame, n_columns, n_rows, size):
    names = list(frame)[:n_columns]
    with pytest.raises(
        OptionError, match=f"size is {size}, but there are {n_columns} columns and {n_rows} rows"
    ):
        symscreen.find_best_subsets(frame[:n_rows], target="y", inputs=names, size=size)


def test_an_exact_triple_is_found_among_hundreds_of_near_copies(rng):
    base = rng.normal(size=(60, 3))
    near = base[:, 2:] + 1e-8 * rng.normal(size=(60, 300))
    columns = np.c_[base, near][:, ::-1]
    result = symscreen.find_best_subsets(columns, base.sum(axis=1), size=3, n_best=1)
    assert result.table.unexplained[0] < 1e-28


@pytest.mark.parametrize(
    ("number", "rounded"), [(0.324856, 0.324), (0.5, 0.5), (1.0, 1.0), (9.996e-31, 9.99e-31), (0.0, 0.0)]
)
def test_the_share_of_a_certificate_is_rounded_down(number, rounded):
    assert _round_down(number) == pytest.approx(rounded, rel=1e-12)
    assert _round_down(number) <= number


def test_collinear_subsets_are_left_out(frame):
    copies = frame[["f3", "y"]].assign(copy=2.0 * frame.f3 + 1.0)
    result = symscreen.find_best_subsets(copies, target="y", size=2)
    assert len(result.table) == 0
    assert result.certificate == "none of 1 subset of 2 of 2 columns was fitted, because all are collinear"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 6}, "size is 6"),
        ({"size": 0}, "size is 0"),
        ({"n_best": 0}, "n_best is 0"),
        ({"jobs": 0}, "jobs is 0"),
    ],
)
def test_options_out_of_range_are_refused(frame, options, message):
    with pytest.raises(OptionError, match=message):
        symscreen.find_best_subsets(frame, **options)


def test_too_many_subsets_are_refused_before_the_search(rng, monkeypatch):
    monkeypatch.setattr("symscreen.fitting.best_subsets._MAX_SUBSETS", {3: 83})
    frame = pd.DataFrame(rng.normal(size=(20, 10)))
    with pytest.raises(OptionError, match="9 columns have 84 subsets of 3, and at most 83 can be tried"):
        symscreen.find_best_subsets(frame, size=3)


def test_a_target_of_texts_is_refused(frame):
    with pytest.raises(DataError, match="text"):
        symscreen.find_best_subsets(frame.assign(y=["up", "down"] * 20), target="y")

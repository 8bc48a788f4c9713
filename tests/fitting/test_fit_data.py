"""From a table to a formula: what the data may be like, and the options."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.errors import ExtrapolationWarning, FormulaError, InputError, OptionError, OutputError
from symscreen.export import load_bundle

SMALL = {"operators": "ablation", "layers": "ub"}


def _texts(result):
    return sorted(map(str, result.formula.terms))


# What the data may be like


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 6, 8, 12])
def test_a_few_rows_of_noise_give_no_long_formula(n):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        result = symscreen.fit(rng.normal(size=(n, 2)), rng.normal(size=n), **SMALL)
        assert len(result.formula.terms) <= 1
        assert np.isfinite([result.formula.intercept, *result.formula.coefficients]).all()


@pytest.mark.slow
def test_noise_gives_the_mean(rng):
    # EBIC keeps the chance of a spurious term below one in ten
    results = [
        symscreen.fit(rng.normal(size=(50, 2)), rng.normal(size=50), jobs=1, **SMALL) for _ in range(10)
    ]
    assert sum(len(result.formula.terms) > 0 for result in results) <= 2
    nothing = next(result for result in results if not result.formula.terms)
    assert nothing.predict(np.zeros((2, 2))).tolist() == [nothing.formula.intercept] * 2


def test_few_rows_of_an_exact_law_are_enough():
    x = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 2.5], [5.5, 1.5], [6.0, 3.0]])
    result = symscreen.fit(x, 3 * x[:, 0] - 2 * x[:, 0] * x[:, 1] + 1, snap=True, **SMALL)
    assert result.formula.text == "1 + 3*x1 - 2*x1*x2"


def test_a_response_that_is_an_input(rng):
    x = rng.normal(size=(30, 2))
    result = symscreen.fit(x, x[:, 1], **SMALL)
    assert result.formula.equation == "y = x2"
    assert result.terms["low"][1] == pytest.approx(1.0)


def test_one_input_a_constant_input_and_copies_of_columns(rng):
    x = rng.normal(size=50)
    y = x**3 + 0.1 * rng.normal(size=50)
    alone = symscreen.fit({"a": x}, y, **SMALL)
    assert _texts(alone) == ["a**3"]
    more = symscreen.fit({"a": x, "b": np.ones(50), "c": x, "d": 2 * x}, y, **SMALL)
    assert len(more.formula.terms) == 1
    assert more.r2 == pytest.approx(alone.r2, abs=1e-9)
    with pytest.raises(InputError, match="every input is constant"):
        symscreen.fit({"b": np.ones(50)}, y, **SMALL)


def test_near_copies_of_a_column_make_no_wild_coefficients(rng):
    x = rng.normal(size=(60, 2))
    near = x[:, 0] + 1e-10 * rng.normal(size=60)
    y = 2 * x[:, 0] - x[:, 1] + 0.1 * rng.normal(size=60)
    result = symscreen.fit({"a": x[:, 0], "b": near, "c": x[:, 1]}, y, **SMALL)
    assert len(result.formula.terms) == 2
    assert np.abs(result.formula.coefficients).max() < 3


def test_a_response_of_few_values(rng):
    x = rng.integers(0, 3, (60, 2)).astype(float)
    result = symscreen.fit(x, x[:, 0] + 2 * x[:, 1], operators="basic", layers="ub", split=0.5)
    assert _texts(result) == ["x1", "x2"]


def test_a_response_far_from_zero_is_still_exact(rng):
    x = rng.uniform(0.5, 2.0, (60, 2))
    result = symscreen.fit(x, 1e7 + 3 * x[:, 0] ** 3 + x[:, 1], snap=True, **SMALL)
    assert result.formula.text == "10000000 + x2 + 3*x1**3"


# Options


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_terms": 0}, "max_terms is 0"),
        ({"max_terms": 21}, "at most 20"),
        ({"criterion": "ebik"}, "did you mean 'ebic'"),
        ({"split": 0.95}, "split is 0.95"),
        ({"split": -0.1}, "split is -0.1"),
        ({"level": 1.0}, "level is 1.0"),
        ({"level": 0.0}, "level is 0.0"),
        ({"folds": 0}, "folds is 0"),
        ({"preset": "x"}, "preset is 'x'"),
    ],
)
def test_options_without_meaning_are_refused(frame, options, words):
    with pytest.raises(OptionError, match=words):
        symscreen.fit(frame, **SMALL, **options)


@pytest.mark.slow
def test_cross_validation_and_longer_formulas(rng):
    a, b, c = x = rng.normal(size=(3, 100))
    y = 1 + 2 * a - b + 1.5 * c**3 + a * b + 3 * b * c + 0.1 * rng.normal(size=100)
    result = symscreen.fit(x.T, y, max_terms=6, criterion="cv", folds=4, jobs=2, **SMALL)
    assert {"x1", "x2", "x3**3", "x1*x2", "x2*x3"} <= set(_texts(result))
    assert len(result.record["cv_error"]) == 7
    assert result.record["cv_error"][5] < 0.1 * result.record["cv_error"][4]


def test_the_pool_may_be_strict(rng):
    x = rng.uniform(0.5, 2.0, (60, 2))
    y = (x[:, 0] * x[:, 1]) ** 3 + 0.01 * rng.normal(size=60)
    result = symscreen.fit(x, y, operators="ablation", layers="bu", pool="strict")
    assert _texts(result) == ["(x1*x2)**3"]


def test_an_operator_that_calls_another_of_the_grammar_can_be_saved(rng, tmp_path):
    (tmp_path / "own.toml").write_text(
        'unary = ["twice"]\n[define.half]\nformula = "sin(x)/2"\n[define.twice]\nformula = "half(x) + x**2"\n'
    )
    x = rng.uniform(0.5, 2.0, (40, 1))
    result = symscreen.fit(
        x, 3 * (np.sin(x[:, 0]) / 2 + x[:, 0] ** 2), operators=tmp_path / "own.toml", layers="u"
    )
    assert _texts(result) == ["twice(x1)"]
    result.save(tmp_path / "m.json")
    np.testing.assert_array_equal(load_bundle(tmp_path / "m.json").predict(x), result.predict(x))
    with pytest.raises(OutputError):
        result.save(tmp_path / "m.json")
    result.save(tmp_path / "m.json", force=True)


# Predictions outside the range of the training rows


def _draw_law(rng):
    x = rng.uniform(1.0, 2.0, (60, 3))
    return x, 3 * x[:, 0] * x[:, 1]


def test_predictions_outside_the_training_range_warn_and_are_not_clipped(rng, tmp_path):
    x, y = _draw_law(rng)
    result = symscreen.fit(x, y, layers="b")
    new = np.array([[1.5, 1.5, 100.0], [4.0, 1.5, 1.5], [1.5, 0.1, 1.5], [5.0, 9.0, 1.5]])
    with pytest.warns(ExtrapolationWarning, match=r"3 of 4 rows .*\(x1: .*, x2: ") as caught:
        predicted = result.predict(new)
    assert caught[0].filename == __file__
    np.testing.assert_allclose(predicted, 3 * new[:, 0] * new[:, 1])
    result.save(tmp_path / "m.json")
    with pytest.warns(ExtrapolationWarning) as again:
        applied = symscreen.apply_bundle(tmp_path / "m.json", new)
    assert again[0].filename == __file__
    assert str(again[0].message) == str(caught[0].message)
    np.testing.assert_array_equal(applied.to_numpy()[:, 0], predicted)


def test_rows_that_only_the_coefficients_used_are_training_rows(rng):
    x, y = _draw_law(rng)
    assert np.isfinite(symscreen.fit(x, y, layers="b", split=0.5).predict(x)).all()


def test_the_range_is_in_the_units_of_the_data(rng):
    x, y = _draw_law(rng)
    names = ["x1", "x2", "x3"]
    frame = pd.DataFrame(x, columns=names).assign(y=y)
    units = {"x1": "mm", "x2": "km", "x3": "kg", "y": "m**2"}
    result = symscreen.fit(frame, layers="b", operators="basic", units=units)
    assert result.record["input_ranges"] == {n: [frame[n].min(), frame[n].max()] for n in names[:2]}
    np.testing.assert_allclose(result.predict(frame), y)
    with pytest.warns(ExtrapolationWarning, match="1 of 60 rows"):
        result.predict(frame.assign(x1=np.r_[9.0, x[1:, 0]]))


def test_several_targets_warn_once(rng):
    x, y = _draw_law(rng)
    result = symscreen.fit(x, np.column_stack([y, 2 * y + x[:, 2] ** 2]), operators="ablation", layers="ub")
    with pytest.warns(ExtrapolationWarning, match="the row is outside") as caught:
        result.predict(np.array([[9.0, 1.5, 1.5]]))
    assert len(caught) == 1


def test_ranges_of_a_bundle_that_are_no_pairs_of_numbers_are_refused(rng, tmp_path):
    x, y = _draw_law(rng)
    result = symscreen.fit(x, y, layers="b")
    result.record["input_ranges"] = {"x1": [1.0, "high"]}
    result.save(tmp_path / "m.json")
    with pytest.raises(
        FormulaError,
        match=r"record.input_ranges, x1: expected a list of two finite numbers",
    ):
        symscreen.apply_bundle(tmp_path / "m.json", x)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_copies_and_constant_columns_do_not_disturb_a_fit(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(1, 5, (2, 200))
    target = a * b + 0.1 * rng.normal(size=200)
    for columns in ({"a": a, "a2": a, "b": b}, {"a": a, "b": b, "k": np.full(200, 2.0)}):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = symscreen.fit(columns, target, jobs=1)
        assert str(result.formula.terms[0]) in {"a*b", "a2*b"}


@pytest.mark.slow
def test_a_curve_is_found_beside_a_constant_column(rng):
    a = rng.uniform(1, 5, 200)
    result = symscreen.fit({"a": a, "k": np.full(200, 2.0)}, np.sin(a) + 0.05 * rng.normal(size=200), jobs=1)
    assert str(result.formula.terms[0]) == "sin(a)"

"""Prediction bands of fits: which rows calibrate, what they promise, and what is refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

import symscreen
from symscreen.cli.command import command
from symscreen.errors import OptionError
from symscreen.export import read_bundle
from symscreen.fitting.fit import prepare_fit
from symscreen.fitting.row_splits import choose_band_folds, choose_band_rows

SMALL = {"layers": "u[square]", "max_terms": 2, "jobs": 1}
METHODS = [{"bands": "split", "split": 0.5}, {"bands": "cv+"}]
LAWS = {
    "inside": lambda rng, x: x[:, 0] ** 2 + rng.normal(size=len(x)),
    "outside": lambda rng, x: 4.0 * np.sin(3.0 * x[:, 0]) + x[:, 1] * rng.normal(size=len(x)),
    "relative": lambda rng, x: x[:, 0] ** 2 * np.exp(0.3 * rng.normal(size=len(x))),
}


@pytest.fixture
def table(rng):
    x = rng.uniform(1.0, 3.0, (80, 2))
    return {"a": x[:, 0], "b": x[:, 1], "y": LAWS["inside"](rng, x)}


def test_the_half_width_is_an_order_statistic_of_rows_that_the_fit_does_not_see(table):
    result = symscreen.fit(table, target="y", **METHODS[0], **SMALL)
    task = prepare_fit(table, None, {"target": "y", **METHODS[0], **SMALL})
    choosing, estimating, calibrating = choose_band_rows(task)
    assert list(map(len, (choosing, estimating, calibrating))) == [40, 20, 20]
    assert sorted(np.concatenate((choosing, estimating, calibrating))) == list(range(80))
    rows = task.dataset.source_rows[calibrating]
    residuals = np.abs(table["y"] - result.predict(table))[rows]
    assert result.record["bands"]["half_width"] == pytest.approx(sorted(residuals)[math.ceil(0.9 * 21) - 1])
    changed = {**table, "y": table["y"].copy()}
    changed["y"][rows] += 0.001 * np.arange(20)  # the digest, and with it the draw, is another one
    assert not np.array_equal(
        choose_band_rows(prepare_fit(changed, None, {"target": "y", **METHODS[0], **SMALL}))[2], calibrating
    )


def test_the_folds_of_cv_plus_are_fits_of_the_rows_without_them(table):
    result = symscreen.fit(table, target="y", bands="cv+", **SMALL)
    task = prepare_fit(table, None, {"target": "y", "bands": "cv+", **SMALL})
    folds = np.empty(80, dtype=int)
    folds[task.dataset.source_rows] = choose_band_folds(task, 10)
    lower, upper, new = [], [], {"a": [1.5], "b": [2.0]}
    for fold in range(10):
        rest = {name: values[folds != fold] for name, values in table.items()}
        model = symscreen.fit(rest, target="y", **SMALL).formula
        errors = np.abs(table["y"] - model.predict(table))[folds == fold]
        lower += list(model.predict(new)[0] - errors)
        upper += list(model.predict(new)[0] + errors)
    # with 80 rows, the limits are the 8th smallest and the 73rd smallest number
    assert result.predict_interval(new)[0] == pytest.approx([sorted(lower)[7], sorted(upper)[72]])


@pytest.mark.filterwarnings("ignore::symscreen.errors.ExtrapolationWarning")
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("method", ["split", "cv+"])
def test_a_band_holds_fresh_rows_as_often_as_promised(law, method):
    # 40 tables, 10 with CV+; a table's coverage has a standard deviation of about 0.06
    shares, n_tables = [], 40 if method == "split" else 10
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        x, fresh = rng.uniform(1.0, 3.0, (2, 80, 2))
        options = {"bands": method, **SMALL, **({"split": 0.5} if method == "split" else {})}
        band = symscreen.fit(x, LAWS[law](rng, x), **options)
        limits, actual = band.predict_interval(fresh), LAWS[law](rng, fresh)
        shares.append(np.mean((limits[:, 0] <= actual) & (actual <= limits[:, 1])))
    assert np.mean(shares) == pytest.approx(0.9, abs=4 * 0.08 / math.sqrt(n_tables))


@pytest.mark.parametrize("unit", ["", " (mm)"])
@pytest.mark.parametrize("options", METHODS)
def test_a_band_is_wider_where_errors_are_larger(options, unit, rng):
    a = rng.uniform(0.1, 10.0, 200)
    table = {f"a{unit}": a, f"y{unit}": a * (1.0 + 0.05 * rng.normal(size=200))}
    units = {"units": "strict"} if unit else {}
    result = symscreen.fit(table, target=f"y{unit}", **options, **units, **SMALL)
    assert len(result.formula.terms) == 1
    low, high = result.predict_interval({f"a{unit}": [2.0, 8.0]}).T
    assert (high - low).tolist() == pytest.approx([2 * 1.645 * 0.05 * 2, 2 * 1.645 * 0.05 * 8], rel=0.35)
    assert "prediction" in str(result.band)
    if options["bands"] == "split":
        assert result.band.growth == pytest.approx(1.645 * 0.05, rel=0.35)


@pytest.mark.parametrize("law", ["inside", "relative"])
@pytest.mark.parametrize("options", METHODS)
def test_a_saved_band_is_applied_with_the_same_numbers(options, law, table, tmp_path):
    table["y"] = LAWS[law](np.random.default_rng(1), np.column_stack((table["a"], table["b"])))
    result = symscreen.fit(table, target="y", **options, **SMALL)
    path, data = tmp_path / "m.json", tmp_path / "new.csv"
    result.save(path)
    assert read_bundle(path).record["bands"] == result.record["bands"]
    new = {"a": table["a"][:3], "b": table["b"][:3]}
    found = symscreen.apply_bundle(path, new)
    assert list(found) == ["y", "y_low", "y_high"]
    assert np.array_equal(found[["y_low", "y_high"]], result.predict_interval(new))
    data.write_text(
        "a,b\n"
        + "".join(f"{a!r},{b!r}\n" for a, b in zip(*map(np.ndarray.tolist, new.values()), strict=True))
    )
    done = CliRunner().invoke(command, ["apply", str(path), str(data)])
    assert done.stdout.splitlines()[0] == "y,y_low,y_high"


@pytest.mark.parametrize("options", METHODS)
def test_the_order_of_rows_and_the_number_of_jobs_change_nothing(options, table):
    one = symscreen.fit(table, target="y", **options, **SMALL)
    reversed_rows = {name: values[::-1] for name, values in table.items()}
    other = symscreen.fit(reversed_rows, target="y", **options, **{**SMALL, "jobs": 2})
    assert json.dumps(one.record) == json.dumps(other.record)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bands": "split"}, "give split=0.5"),
        ({"bands_level": 0.8}, "is the level of a prediction band: give bands="),
        ({"bands": "split", "split": 0.15}, "6 rows are too few .* at least 9; give a larger share"),
        ({"bands": "cv+", "split": 0.5}, "cannot be combined with split"),
        ({"bands": "cv+", "time_limit": 9}, "cannot be combined with time_limit"),
        ({"bands": "cv+", "bands_level": 0.99}, "80 rows are too few .* at least 99"),
        ({"bands": "cv+", "time": "b"}, "rows in the order of time are not"),
        ({"bands": "cv+", "per": "b"}, "a fit of groups does not have it"),
        ({"bands": "cv+", "weights": "b"}, "cannot be combined with weights"),
        ({"bands": "cv+", "unsafe": "drop"}, "use unsafe='mark'"),
        ({"bands": "cv+", "target": "y,b"}, "is for one target"),
    ],
)
def test_what_has_no_valid_band_is_refused(options, message, table):
    with pytest.raises(OptionError, match=message):
        symscreen.fit(table, **{"target": "y", **SMALL, **options})


def test_a_fit_without_a_band_has_no_interval(table):
    result = symscreen.fit(table, target="y", **SMALL)
    assert result.band is None
    with pytest.raises(OptionError, match="has no prediction band"):
        result.predict_interval(table)


def test_the_regressor_has_the_band_of_the_fit(table):
    x = np.column_stack((table["a"], table["b"]))
    model = symscreen.SymbolicRegressor(layers="u[square]", max_terms=2, bands="cv+").fit(x, table["y"])
    assert np.array_equal(model.predict_interval(x), model.result_.predict_interval(x))

from __future__ import annotations

import json
import sys
from pathlib import Path as File

import numpy as np
import pytest
from helpers.requirements import require
from hypothesis import given
from hypothesis import strategies as st

from symscreen.errors import OptionError
from symscreen.linear_models import lasso_path
from symscreen.linear_models.lasso_path import standardize_features
from symscreen.linear_models.model_criteria import compute_cv_error
from symscreen.screeners.base import JointInput
from symscreen.screeners.joint.lasso import LASSO, compute_lasso_path, cross_validate_lasso
from symscreen.targets import NumericTarget

REFERENCE = File(__file__).parents[2] / "reference"


@pytest.fixture(scope="module")
def reference():
    values, target, fold = (
        np.loadtxt(REFERENCE / f"regression_{name}.csv", delimiter=",") for name in ("X", "y", "fold")
    )
    solution = np.loadtxt(REFERENCE / "glmnet_lasso.csv", delimiter=",", skiprows=1)
    return {
        "values": np.ascontiguousarray(values.T),
        "target": target,
        "fold": fold,
        "lambdas": solution[:, 0],
        "error": solution[:, 1],
        "intercepts": solution[:, 2],
        "coefficients": solution[:, 3:],
    }


def _data(rng, q=12, n=60, noise=0.3):
    values = rng.normal(size=(q, n)) + 0.5 * rng.normal(size=n)
    return values, 3 * values[2] - 2 * values[7] + noise * rng.normal(size=n)


def _shown(values, target, **rest):
    rows = np.argsort(target, kind="stable")
    return JointInput(np.ascontiguousarray(values[:, rows]), NumericTarget(target[rows]), **rest)


# ---- parity with R's glmnet


def test_the_sequence_is_that_of_r(reference):
    assert np.allclose(
        compute_lasso_path(reference["values"], reference["target"]).steps, reference["lambdas"], rtol=1e-12
    )


def test_supports_equal_those_of_r_at_every_lambda(reference):
    path = compute_lasso_path(reference["values"], reference["target"], lambdas=reference["lambdas"])
    scales = standardize_features(reference["values"], reference["target"]).scales
    # at λ_max R leaves 4e-16 of rounding where the coefficient is 0; the smallest true one is 4e-6
    theirs = np.abs(reference["coefficients"] * scales) > 1e-12
    assert np.array_equal(path.coefficients != 0, theirs)
    assert theirs.sum(axis=1).max() == 39
    # R's own figures are this far from the optimum: they break its conditions by up to 1e-3 of λ
    assert np.allclose(path.coefficients * scales, reference["coefficients"] * scales, atol=1e-4)


def test_cross_validated_error_equals_that_of_r(reference):
    cv = cross_validate_lasso(
        reference["values"], reference["target"], reference["fold"], lambdas=reference["lambdas"]
    )
    assert np.abs(cv.path.error / reference["error"] - 1).max() < 1e-4
    assert cv.min_error_step == np.argmin(reference["error"])
    assert not any(cv.n_unconverged)


@pytest.mark.slow
def test_the_glmnet_engine_reproduces_r(reference):
    require("glmnet")
    cv = cross_validate_lasso(
        reference["values"],
        reference["target"],
        reference["fold"],
        lambdas=reference["lambdas"],
        engine="glmnet",
    )
    assert np.abs(cv.path.coefficients - reference["coefficients"]).max() < 1e-10
    assert np.abs(cv.path.intercepts - reference["intercepts"]).max() < 1e-10
    assert np.abs(cv.path.error / reference["error"] - 1).max() < 1e-10


def test_a_screen_scores_features_by_the_engine_that_it_records(monkeypatch):
    engines = []

    def solve(values, target, lambdas, *, engine):
        engines.append(engine)
        return lasso_path.fit_lasso_path(values, target, lambdas, engine="sklearn")

    monkeypatch.setattr("symscreen.screeners.joint.lasso.fit_lasso_path", solve)
    values = np.random.default_rng(0).normal(size=(3, 30))
    inputs = JointInput(values, NumericTarget(np.sort(values[0])))
    scores = LASSO.replace_settings({"engine": "glmnet", "folds": 3}).score_features(inputs)
    assert scores.record["engine"] == "glmnet"
    assert set(engines) == {"glmnet"}


# ---- the path


def test_coefficients_and_intercepts_are_on_the_features_own_scale(rng):
    values, target = _data(rng)
    path = compute_lasso_path(1e3 * values + 5, target, lambdas=[1e-9])
    design = np.vstack([1e3 * values + 5, np.ones(60)]).T
    least_squares = np.linalg.lstsq(design, target, rcond=None)[0]
    assert np.allclose(path.coefficients[0], least_squares[:-1], rtol=1e-6)
    assert np.isclose(path.intercepts[0], least_squares[-1], rtol=1e-6)
    assert np.isnan(path.error).all()


@pytest.mark.slow
@given(
    st.lists(st.floats(-200, 200), min_size=12, max_size=12),
    st.lists(st.floats(-100, 100), min_size=12, max_size=12),
    st.sampled_from([1e-290, 1e-200, 1.0, 1e200]),
    st.sampled_from([0.0, 1.0, -1e9]),
)
def test_units_and_origins_of_features_and_response_do_not_matter(powers, shifts, unit, offset):
    values, target = _data(np.random.default_rng(5))
    plain = compute_lasso_path(values, target)
    scale = 10.0 ** np.array(powers)
    there = compute_lasso_path(
        (values + np.array(shifts)[:, None]) * scale[:, None], (target + offset) * unit
    )
    assert np.allclose(there.steps / unit, plain.steps, rtol=1e-6)
    with np.errstate(over="ignore", invalid="ignore"):
        back = there.coefficients * scale / unit
    known = np.isfinite(back) & (np.abs(there.coefficients) > 1e-300)
    assert np.allclose(back[known], plain.coefficients[known], atol=1e-5)
    assert np.isfinite(there.intercepts).all()


@pytest.mark.parametrize("lambdas", [[], [0.0], [-1.0], [np.nan], [np.inf]])
def test_penalties_without_meaning_are_told(lambdas):
    with pytest.raises(OptionError, match="must be positive numbers, at least one"):
        compute_lasso_path([[1.0, 2.0, 4.0]], [1.0, 2.0, 3.0], lambdas=lambdas)


def test_engines_that_are_not_there_are_told(monkeypatch):
    with pytest.raises(OptionError, match="engine is 'R'"):
        compute_lasso_path([[1.0, 2.0, 4.0]], [1.0, 2.0, 3.0], engine="R")
    monkeypatch.setitem(sys.modules, "glmnet", None)
    with pytest.raises(OptionError, match=r"pip install 'symscreen\[glmnet\]'"):
        compute_lasso_path([[1.0, 2.0, 4.0]], [1.0, 2.0, 3.0], engine="glmnet")


# ---- cross-validation


def test_the_error_is_that_of_rows_predicted_from_the_other_folds(rng):
    values, target = _data(rng)
    fold = rng.permutation(np.arange(60) // 7)
    cv = cross_validate_lasso(values, target, fold, lambdas=[1.0, 0.3, 0.1])
    squares = np.empty((3, 60))
    for label in np.unique(fold):
        out = fold == label
        path = compute_lasso_path(values[:, ~out], target[~out], lambdas=[1.0, 0.3, 0.1])
        predicted = path.coefficients @ values[:, out] + path.intercepts[:, None]
        squares[:, out] = (target[out] - predicted) ** 2
    error, standard_error = compute_cv_error(squares, fold)
    assert np.allclose(cv.path.error, error, rtol=1e-8)
    assert np.allclose(cv.standard_error, standard_error, rtol=1e-8)


def test_one_standard_error_chooses_the_larger_penalty(rng):
    cv = cross_validate_lasso(*_data(rng, noise=2), np.arange(60) % 10)
    limit = cv.path.error[cv.min_error_step] + cv.standard_error[cv.min_error_step]
    assert cv.one_se_step < cv.min_error_step
    assert cv.path.error[cv.one_se_step] <= limit < cv.path.error[: cv.one_se_step].min()
    assert cv.path.error[cv.min_error_step] == cv.path.error.min()


def test_stability_counts_the_folds(rng):
    values, target = _data(rng)
    fold = np.arange(60) % 5
    cv = cross_validate_lasso(values, target, fold, lambdas=[0.5, 0.05])
    inside = [
        compute_lasso_path(values[:, fold != k], target[fold != k], lambdas=[0.5, 0.05]).coefficients != 0
        for k in range(5)
    ]
    assert np.allclose(cv.stability, np.mean(inside, axis=0))


def test_labels_of_folds_are_only_names(rng):
    values, target = _data(rng)
    fold = np.arange(60) % 3
    one, other = (
        cross_validate_lasso(values, target, fold),
        cross_validate_lasso(values, target, np.array(["b", "c", "z"])[fold]),
    )
    assert one.path.error.tolist() == other.path.error.tolist()


@pytest.mark.parametrize("folds", [[0, 0, 0, 0], [0, 1, 0]])
def test_folds_that_do_not_fit_are_told(folds):
    with pytest.raises(OptionError, match="give the label of a fold for every row"):
        cross_validate_lasso([[1.0, 2.0, 4.0, 3.0]], [1.0, 2.0, 3.0, 5.0], folds)


# ---- the screener


@pytest.mark.parametrize("rule", ["min", "1se"])
def test_the_verdict_is_that_of_the_path(rule, rng):
    values, target = _data(rng)
    shown = _shown(values, target)
    scores = LASSO.replace_settings({"rule": rule}).score_features(shown)
    path, record = scores.path, scores.record
    step = int(np.flatnonzero(path.steps == record["lambda"])[0])
    scales = standardize_features(shown.values, shown.target.values).scales
    assert np.allclose(scores.score, path.coefficients[step] * scales)
    assert np.array_equal(scores.selected, scores.score != 0)
    assert record["selected"] == scores.selected.sum()
    assert record["lambda"] == record["lambda_min" if rule == "min" else "lambda_1se"]
    inside = path.coefficients != 0
    for j, entry in enumerate(scores.columns["lasso_entry"]):
        assert entry == path.steps[inside[:, j]][0] if inside[:, j].any() else np.isnan(entry)
    assert scores.selected[[2, 7]].all()
    assert scores.direction[[2, 7]].tolist() == [1, -1]
    assert scores.columns["lasso_stability"][[2, 7]].tolist() == [1.0, 1.0]
    assert np.argsort(scores.loss)[:2].tolist() == [2, 7]


def test_losses_order_by_coefficient_then_by_entry(rng):
    values, target = _data(rng, q=90)
    scores = LASSO.replace_settings({"rule": "1se"}).score_features(_shown(values, target))
    entry, chosen = scores.columns["lasso_entry"], scores.selected
    never = np.isnan(entry)
    assert chosen.any()
    assert (~chosen & ~never).any()
    assert never.any()
    assert np.array_equal(
        np.argsort(scores.loss[chosen], kind="stable"),
        np.argsort(-np.abs(scores.score[chosen]), kind="stable"),
    )
    later = ~chosen & ~never
    assert np.array_equal(
        np.argsort(scores.loss[later], kind="stable"), np.argsort(-entry[later], kind="stable")
    )
    assert scores.loss[chosen].max() < 1 < scores.loss[later].min()
    assert (scores.loss[never] > scores.loss[later].max()).all()
    assert (scores.direction[never] == 0).all()
    assert (scores.direction[~never] != 0).all()


def test_the_same_input_gives_the_same_bytes_and_the_seed_deals_the_folds(rng):
    values, target = _data(rng, noise=3)
    first, again, jobs, other = (
        LASSO.score_features(_shown(values, target, **rest)) for rest in ({}, {}, {"jobs": 2}, {"seed": 1})
    )
    for scores in (again, jobs):
        assert scores.loss.tobytes() == first.loss.tobytes()
        assert scores.path.error.tobytes() == first.path.error.tobytes()
        assert scores.record == first.record
    assert not np.array_equal(other.path.error, first.path.error)


def test_it_does_not_see_units_and_origins(rng):
    values, target = _data(rng)
    shown = _shown(values, target)
    copied = JointInput(shown.values * -np.logspace(-200, 200, 12)[:, None] + 0.0, shown.target)
    one, other = LASSO.score_features(shown), LASSO.score_features(copied)
    assert np.allclose(one.loss, other.loss, atol=2e-6)
    assert np.array_equal(one.direction, -other.direction)
    assert np.allclose(one.score, -other.score)


def _sound(scores, q):
    assert scores.score.shape == scores.loss.shape == scores.selected.shape == (q,)
    assert np.isfinite(scores.score).all()
    assert np.isfinite(scores.loss).all()
    assert scores.direction.dtype == np.int8
    assert np.array_equal(np.sign(scores.score[scores.selected]), scores.direction[scores.selected])
    assert np.isfinite(scores.path.error).all()
    assert "NaN" not in json.dumps(scores.record)
    assert "Infinity" not in json.dumps(scores.record)


@pytest.mark.parametrize(("q", "n"), [(1, 2), (3, 2), (1, 5), (4, 7), (40, 9), (1, 40), (60, 30)])
def test_any_shape_is_taken(q, n, rng):
    scores = LASSO.score_features(_shown(rng.normal(size=(q, n)), rng.normal(size=n)))
    _sound(scores, q)
    assert scores.record["folds"] == min(n, 10)


@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1e200, 1e305])
def test_extreme_sizes_are_taken(unit, rng):
    values, target = _data(rng)
    values *= np.logspace(-200, 200, 12)[:, None]
    scores = LASSO.score_features(_shown(values, target * unit))
    _sound(scores, 12)
    assert np.argsort(scores.loss)[:2].tolist() == [2, 7]


def test_a_large_offset_of_the_response_is_taken(rng):
    values, target = _data(rng)
    plain, offset = (
        LASSO.score_features(_shown(values, target)),
        LASSO.score_features(_shown(values, target + 1e9)),
    )
    assert np.allclose(plain.score, offset.score, atol=1e-5)


def test_features_constant_in_a_fold_and_copies_are_taken():
    rng = np.random.default_rng(0)
    values, target = _data(rng)
    once = np.zeros(60)
    once[17] = 1.0
    wide = np.where(once > 0, 1e200, rng.normal(size=60) * 1e-200)
    scores = LASSO.score_features(_shown(np.vstack([values, once, -values[2], values[7], wide]), target))
    _sound(scores, 16)
    assert scores.record["warnings"] == []
    assert set(np.argsort(scores.loss)[:2]) == {2, 7}
    assert np.isnan(scores.columns["lasso_entry"][[13, 14]]).all()


def test_without_any_signal_nothing_is_selected():
    response = NumericTarget(np.array([-1.0, -1.0, 0.0, 0.0, 1.0, 1.0]))
    scores = LASSO.score_features(JointInput(np.array([[1.0, -1.0, 1.0, -1.0, 1.0, -1.0]]), response))
    assert not scores.selected.any()
    assert (scores.loss.tolist(), scores.direction.tolist()) == ([2.0], [0])


def test_what_did_not_go_as_asked_is_said_in_words(rng, monkeypatch):
    monkeypatch.setattr(lasso_path, "_MAX_KNOTS_FACTOR", 0)
    monkeypatch.setattr(lasso_path, "_MAX_SWEEPS", 1)
    values, target = _data(rng, n=6)
    said = " ".join(LASSO.score_features(_shown(values, target)).record["warnings"])
    assert "of 100 λ on all rows" in said
    assert "of 100 λ without fold 1" in said
    assert "6 rows give 6 folds of one row each, not 10" in said


def test_the_end_of_the_path_is_told(rng):
    values = rng.normal(size=(30, 20))
    scores = LASSO.score_features(_shown(values, values[3]))
    assert "smallest at the smallest λ" in " ".join(scores.record["warnings"])


def test_the_record_names_its_options():
    assert LASSO.all_settings == {"engine": "sklearn", "folds": 10, "rule": "min"}
    assert (LASSO.name, LASSO.equivalence) == ("lasso", "affine")
    with pytest.raises(OptionError, match="rule"):
        LASSO.replace_settings({"rule": "max"})
    for text in (LASSO.summary, LASSO.assumes, LASSO.fails, LASSO.cost, LASSO.source):
        assert text


def test_capacity_falls_with_rows_and_folds():
    rows = [10, 400, 1000, 5000, 100_000]
    most = [LASSO.compute_max_features(n) for n in rows]
    assert most == sorted(most, reverse=True)
    assert LASSO.compute_max_features(400) >= 5000
    assert LASSO.compute_max_features(1000) >= 1000
    assert LASSO.replace_settings({"folds": 100}).compute_max_features(1000) < LASSO.compute_max_features(
        1000
    )
    assert LASSO.replace_settings({"engine": "glmnet"}).compute_max_features(
        1000
    ) < LASSO.compute_max_features(1000)


@pytest.mark.parametrize(("engine", "budget"), [("sklearn", 5e10), ("glmnet", 5e9)])
@pytest.mark.parametrize(("rows", "folds"), [(1000, 10), (5000, 10), (20_000, 5)])
def test_the_capacity_is_what_the_fits_of_the_folds_and_of_all_rows_have_time_for(
    engine, budget, rows, folds
):
    settings = {"engine": engine, "folds": folds}
    q = LASSO.replace_settings(settings).compute_max_features(rows)
    within, beyond = ((folds + 1) * k * rows * min(k, rows) for k in (q, q + 1))
    assert within <= budget < beyond


def test_it_takes_from_20_to_10000_features():
    assert LASSO.compute_max_features(1) == 10_000
    assert LASSO.compute_max_features(10**12) == 20

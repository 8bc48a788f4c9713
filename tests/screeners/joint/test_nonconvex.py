from __future__ import annotations

import json
from pathlib import Path as File

import numpy as np
import pytest

from symscreen.errors import OptionError
from symscreen.linear_models import nonconvex_paths
from symscreen.linear_models.lasso_path import standardize_features
from symscreen.linear_models.model_criteria import assign_folds, compute_cv_error
from symscreen.linear_models.nonconvex_paths import compute_lambda_sequence, fit_nonconvex_path
from symscreen.screeners.base import JointInput
from symscreen.screeners.joint.nonconvex import MCP, SCAD
from symscreen.targets import NumericTarget

REFERENCE = File(__file__).parents[2] / "reference"
both = pytest.mark.parametrize("screener", [SCAD, MCP], ids=["scad", "mcp"])


def _data(rng, q=12, n=60, noise=0.3):
    values = rng.normal(size=(q, n)) + 0.5 * rng.normal(size=n)
    return values, 3 * values[2] - 2 * values[7] + noise * rng.normal(size=n)


def _shown(values, target, **rest):
    rows = np.argsort(target, kind="stable")
    return JointInput(np.ascontiguousarray(values[:, rows]), NumericTarget(target[rows]), **rest)


# ---- what it finds


@both
def test_the_true_terms_come_first_with_their_signs(screener, rng):
    values, target = _data(rng)
    scores = screener.score_features(_shown(values, target))
    assert np.argsort(scores.loss)[:2].tolist() == [2, 7]
    assert scores.selected[[2, 7]].all()
    assert scores.direction[[2, 7]].tolist() == [1, -1]
    assert scores.columns[f"{screener.name}_stability"][[2, 7]].tolist() == [1, 1]
    assert np.allclose(scores.score[[2, 7]], [3, -2] * values[[2, 7]].std(axis=1), atol=0.2)


@both
def test_what_is_selected_is_not_shrunk(screener, rng):
    values, target = _data(rng, noise=0.1)
    scores = screener.replace_settings({"rule": "1se"}).score_features(_shown(values, target))
    assert np.flatnonzero(scores.selected).tolist() == [2, 7]
    step = np.flatnonzero(scores.path.steps == scores.record["lambda"])[0]
    design = np.column_stack([values[[2, 7]].T, np.ones(60)])
    least_squares = np.linalg.lstsq(design, target, rcond=None)[0]
    assert np.allclose(scores.path.coefficients[step, [2, 7]], least_squares[:2], rtol=1e-9)
    assert np.isclose(scores.path.intercepts[step], least_squares[2], rtol=1e-6)


@pytest.mark.parametrize(("screener", "equal"), [(SCAD, 100), (MCP, 97)], ids=["scad", "mcp"])
def test_the_path_is_that_of_ncvreg(screener, equal):
    values, target = (np.loadtxt(REFERENCE / f"regression_{name}.csv", delimiter=",") for name in "Xy")
    solution = np.loadtxt(REFERENCE / f"ncvreg_{screener.name}.csv", delimiter=",", skiprows=1)
    path = screener.score_features(_shown(values.T, target)).path
    assert np.allclose(path.steps, solution[:, 0], rtol=1e-12)
    near = np.abs(path.coefficients - solution[:, 2:]).max(axis=1) < 1e-6
    near &= np.abs(path.intercepts - solution[:, 1]) < 1e-6
    assert near.sum() >= equal


# ---- cross-validation


@both
@pytest.mark.parametrize(("rule", "q"), [("min", 12), ("1se", 80)])
def test_the_choice_is_that_of_a_cross_validation_by_hand(screener, rule, q, rng):
    shown = _shown(*_data(rng, q=q, noise=2.0), seed=3)
    scores = screener.replace_settings({"rule": rule, "folds": 5}).score_features(shown)
    name, gamma, n = screener.name, screener.all_settings["gamma"], shown.target.n
    full = standardize_features(shown.values, shown.target.values)
    lambdas = compute_lambda_sequence(full.features, full.target)
    fold = assign_folds(n, 5, 3)
    squares, inside = np.empty((100, n)), []
    for k in range(5):
        rest = standardize_features(shown.values[:, fold != k], shown.target.values[fold != k])
        path = fit_nonconvex_path(rest.features, rest.target, lambdas, name, gamma).coefficients
        own, intercepts = rest.unscale_coefficients(path)
        predicted = own @ shown.values[:, fold == k] + intercepts[:, None]
        squares[:, fold == k] = (shown.target.values[fold == k] - predicted) ** 2
        inside.append(path != 0)
    error, standard_error = compute_cv_error(squares, fold)
    assert np.allclose(scores.path.error, error, rtol=1e-6)
    # where all that is selected stands beyond γλ, the fit and its error stay the same from λ to λ
    best = np.flatnonzero(error <= error.min() * (1 + 1e-9))[0]
    step = best if rule == "min" else np.flatnonzero(error <= error[best] + standard_error[best])[0]
    chosen = fit_nonconvex_path(full.features, full.target, lambdas, name, gamma).coefficients[step]
    assert np.isclose(scores.record["lambda"], lambdas[step])
    assert np.isclose(scores.record["lambda_min"], lambdas[best])
    assert np.isclose(scores.record["error"], error[step])
    assert np.allclose(scores.score, chosen, atol=1e-8)
    assert np.array_equal(scores.selected, chosen != 0)
    assert np.allclose(scores.columns[f"{name}_stability"], np.mean(inside, axis=0)[step])


@both
def test_jobs_do_not_change_the_verdict_and_the_seed_deals_the_folds(screener, rng):
    values, target = _data(rng, noise=2.0)
    one, two = (screener.score_features(_shown(values, target, jobs=jobs)) for jobs in (1, 2))
    other = screener.score_features(_shown(values, target, seed=1))
    for name in ("score", "loss", "selected", "direction"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()
    assert one.path.error.tobytes() == two.path.error.tobytes()
    assert one.record == two.record
    assert one.path.error.tobytes() != other.path.error.tobytes()
    assert one.path.coefficients.tobytes() == other.path.coefficients.tobytes()


# ---- the form of the verdict


@both
def test_loss_entry_selection_and_record_agree(screener, rng):
    values, target = _data(rng, q=70, noise=3.0)
    scores = screener.score_features(_shown(values, target))
    entry, loss = scores.columns[f"{screener.name}_entry"], scores.loss
    never = np.isnan(entry)
    assert never.any()
    assert (~never & ~scores.selected).any()
    assert ((loss < 1) == scores.selected).all()
    assert ((loss == 2) == never).all()
    assert ((scores.direction == 0) == never).all()
    assert ((scores.score != 0) == scores.selected).all()
    assert entry[~never].max() < scores.path.steps[0]
    inside = scores.path.coefficients != 0
    assert np.array_equal(entry[~never], scores.path.steps[inside.argmax(axis=0)][~never])
    left_out = ~never & ~scores.selected
    assert (np.argsort(-entry[left_out], kind="stable") == np.argsort(loss[left_out], kind="stable")).all()
    record = json.loads(json.dumps(scores.record))
    assert record["selected"] == scores.selected.sum()
    assert record["gamma"] == screener.all_settings["gamma"]
    assert record["lambda"] == record["lambda_min"] <= record["lambda_1se"]
    assert record["folds"] == 10


@both
def test_gamma_changes_the_path_and_is_recorded(screener, rng):
    shown = _shown(*_data(rng, q=30, noise=3.0))
    wide = screener.replace_settings({"gamma": 20}).score_features(shown)
    assert wide.record["gamma"] == 20
    assert not np.allclose(wide.path.coefficients, screener.score_features(shown).path.coefficients)


@both
def test_settings_out_of_range_are_refused(screener):
    least = screener.options[0].min_value
    assert (least, screener.options[0].default) == {"scad": (2.001, 3.7), "mcp": (1.001, 3.0)}[screener.name]
    for name, value in (
        ("gamma", least - 0.001),
        ("gamma", "inf"),
        ("gamma", "nan"),
        ("folds", 1),
        ("rule", "max"),
    ):
        with pytest.raises(OptionError, match=name):
            screener.replace_settings({name: value})


@both
def test_more_rows_and_folds_leave_room_for_fewer_features(screener):
    most = [screener.compute_max_features(rows) for rows in (2, 100, 400, 10_000, 10**7)]
    assert most == sorted(most, reverse=True)
    assert most[2] >= 1000
    assert most[-1] >= 1
    assert screener.replace_settings({"folds": 20}).compute_max_features(
        4000
    ) < screener.compute_max_features(4000)


# ---- data of every kind


@both
def test_units_and_origins_do_not_matter(screener, rng):
    values, target = _data(rng, noise=1.0)
    plain = screener.score_features(_shown(values, target))
    scale = 10.0 ** np.linspace(-200, 200, 12)
    there = screener.score_features(_shown((values + 3) * scale[:, None], target * 1e9 + 1e12))
    assert np.allclose(there.score / 1e9, plain.score, atol=1e-5)
    assert np.allclose(there.loss, plain.loss, atol=1e-4)
    assert np.allclose(there.path.coefficients * scale / 1e9, plain.path.coefficients, atol=1e-4)
    assert np.allclose(there.path.steps / 1e9, plain.path.steps)


@both
@pytest.mark.parametrize("size", [1e-300, 1e307])
def test_a_response_near_the_ends_of_float64_gives_finite_figures(screener, size, rng):
    values, target = _data(rng)
    target /= np.abs(target).max()
    plain, there = (screener.score_features(_shown(values, target * unit)) for unit in (1.0, size))
    assert np.allclose(there.score / size, plain.score, atol=1e-6)
    assert np.array_equal(there.selected, plain.selected)
    assert np.isfinite(there.path.error).all()
    json.dumps(there.record, allow_nan=False)


@both
@pytest.mark.parametrize("n", [2, 3, 7])
def test_fewer_rows_than_folds(screener, n, rng):
    values = rng.normal(size=(4, n))
    scores = screener.score_features(_shown(values, values[0] + 0.1 * rng.normal(size=n)))
    assert scores.record["folds"] == n
    assert any(f"{n} rows give {n} folds" in warning for warning in scores.record["warnings"])
    assert np.isfinite(scores.path.error).all()
    assert np.isfinite(scores.loss).all()


@both
def test_one_feature(screener, rng):
    x = rng.normal(size=30)
    scores = screener.score_features(_shown(x[None], 1 - 2 * x + 0.1 * rng.normal(size=30)))
    assert scores.selected.tolist() == [True]
    assert (scores.loss[0], scores.direction[0]) == (0.0, -1)


@both
def test_features_that_vary_in_one_row_only(screener, rng):
    values, target = _data(rng)
    spikes = np.zeros((3, 60))
    spikes[0, 5], spikes[1, 17], spikes[2, 40] = 1.0, 1e200, 1e-200
    scores = screener.score_features(_shown(np.vstack([values, spikes + 7.0 * (spikes < 1e100)]), target))
    assert np.argsort(scores.loss)[:2].tolist() == [2, 7]
    assert np.isfinite(scores.path.error).all()


@both
def test_a_feature_from_1e_minus_200_to_1e200_does_not_spoil_the_others(screener, rng):
    values, target = _data(rng)
    wide = np.exp(np.linspace(-460, 460, 60))
    scores = screener.score_features(_shown(np.vstack([values, wide]), target))
    assert np.argsort(scores.loss)[:2].tolist() == [2, 7]
    assert np.isfinite(scores.path.error).all()


@both
def test_a_row_left_out_may_lie_as_far_as_it_likes(screener, rng):
    values, target = _data(rng)
    spiked = target * 1e-200
    spiked[5] = 1e200
    scores = screener.score_features(_shown(np.vstack([values, spiked]), target))
    assert not scores.selected.any() or not scores.selected[-1]
    assert np.isfinite(scores.path.error).all()
    json.dumps(scores.record, allow_nan=False)


@both
def test_a_response_that_no_feature_sees_leaves_all_features_equal(screener):
    x = np.tile([-1.0, 1.0], 4)
    scores = screener.score_features(_shown(x[None], np.repeat([0.0, 1.0], 4)))
    assert not scores.selected.any()
    assert scores.loss.tolist() == [2.0]
    json.dumps(scores.record, allow_nan=False)


# ---- what it says of itself


@both
def test_fits_that_do_not_converge_are_told_in_words(screener, rng, monkeypatch):
    shown = _shown(*_data(rng))
    assert not any("converge" in warning for warning in screener.score_features(shown).record["warnings"])
    monkeypatch.setattr(nonconvex_paths, "_SWEEPS_PER_NEWTON_STEP", 2)
    monkeypatch.setattr(nonconvex_paths, "_MAX_NEWTON_STEPS", 1)
    warnings = screener.score_features(shown).record["warnings"]
    assert any("did not converge at" in warning and "of 100 λ" in warning for warning in warnings)
    assert any("of the 1000 fits" in warning for warning in warnings)


@both
def test_a_choice_at_the_end_of_the_path_is_told(screener, rng):
    values, target = _data(rng, q=70, noise=0.0)
    dense = screener.score_features(_shown(values, values[:40].sum(axis=0)))
    assert any("smallest λ" in warning for warning in dense.record["warnings"])
    assert dense.record["lambda_min"] == dense.path.steps[-1]
    sparse = screener.score_features(_shown(values[:12], target + rng.normal(size=60)))
    assert not any("smallest λ" in warning for warning in sparse.record["warnings"])

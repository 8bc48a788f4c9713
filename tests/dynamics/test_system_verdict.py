"""The verdict on equations of motion: independent errors pass, and missed parts of the motion are found."""

from __future__ import annotations

import numpy as np
import pytest

import symscreen
from symscreen.dynamics.system_verdict import SystemVerdict, compute_block_p_value, judge_system

_OPTIONS = {"states": ["x", "v"], "effort": "quick", "max_terms": 1}


def _draw_normal(rng, n):
    return rng.normal(size=n)


def _draw_heavy_tails(rng, n):
    return rng.standard_t(2, size=n)


def _make_oscillator(noise, rng, n=80):
    times = np.linspace(0.0, 8.0, n)
    table = {"t": times, "x": np.cos(times), "v": -np.sin(times)}
    return {name: values + noise * rng.normal(size=n) * (name != "t") for name, values in table.items()}


@pytest.mark.parametrize("draw", [_draw_normal, _draw_heavy_tails])
def test_independent_errors_are_seldom_called_alike(rng, draw):
    p_values = [compute_block_p_value([draw(rng, 60), draw(rng, 40)]) for _ in range(400)]
    assert np.mean(np.array(p_values) < 0.01) <= 0.02
    assert np.mean(np.array(p_values) < 0.1) <= 0.13


def test_a_slow_swing_below_the_noise_is_found(rng):
    swing = 0.8 * np.sin(np.linspace(0.0, 20.0, 400))
    assert compute_block_p_value([swing + rng.normal(size=400)]) < 1e-4


def test_neither_the_order_of_runs_nor_the_scale_matters(rng):
    runs = [rng.normal(size=n) for n in (30, 50, 41)]
    expected = compute_block_p_value(runs)
    assert compute_block_p_value(runs[::-1]) == pytest.approx(expected, rel=1e-12)
    assert compute_block_p_value([1e-9 * run for run in runs]) == pytest.approx(expected, rel=1e-12)


def test_too_few_samples_are_not_tested(rng):
    assert compute_block_p_value([rng.normal(size=15)]) is None
    assert "too few" in str(SystemVerdict("untested", 7))


def test_samples_without_noise_give_an_exact_system(rng):
    result = symscreen.discover_ode(
        _make_oscillator(0.0, rng), states=["x", "v"], effort="quick", max_terms=1
    )
    assert result.verdict == "exact within the error of the integration"
    assert result.statements[0] == result.verdict
    assert result.build_record()["verdict"] == {"kind": "exact", "length": 80, "p_value": None}


def test_noisy_samples_of_the_right_equations_are_a_law_within_noise(rng):
    result = symscreen.discover_ode(
        _make_oscillator(0.02, rng), states=["x", "v"], effort="quick", max_terms=1
    )
    assert result.equations[0].endswith("*v")
    assert result.system_verdict.kind == "noise"
    assert 0.01 <= result.system_verdict.p_value <= 1.0


def test_equations_without_the_friction_do_not_follow_the_run(rng):
    times = np.linspace(0.0, 12.0, 160)
    position = np.exp(-0.15 * times) * np.cos(times)
    table = {"t": times, "x": position + 0.005 * rng.normal(size=160)}
    options = {"states": ["x"], "derivative_order": 2, "effort": "quick"}
    wrong = symscreen.discover_ode(table, max_terms=1, **options)
    assert wrong.system_verdict.kind in {"approximation", "segments"}
    assert wrong.system_verdict.length < 160
    right = symscreen.discover_ode(table, max_terms=2, **options)
    assert right.system_verdict.kind == "noise"


def test_residuals_that_swing_make_an_approximation(rng):
    result = symscreen.discover_ode(
        _make_oscillator(0.01, rng), states=["x", "v"], effort="quick", max_terms=1
    )
    moved = tuple(states + 0.02 * np.sin(np.arange(80) / 5.0) for states in result.fitted_states)
    verdict = judge_system(result.trajectories, moved, 80)
    assert verdict.kind == "approximation"
    assert verdict.p_value < 1e-3

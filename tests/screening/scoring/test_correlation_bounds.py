"""Bounds of correlations by matrix products: they leave out most features, and change no result."""

from __future__ import annotations

import numpy as np
import pytest

import symscreen
from symscreen.expansion.candidates import OperatorRange
from symscreen.expansion.validity import is_constant
from symscreen.screening.inference import error_control
from symscreen.screening.scoring import streaming
from symscreen.screening.scoring.correlation_bounds import CorrelationBounds
from symscreen.statistics.nulls.pearson_keys import encode_correlations

N_ROWS = 50
OPTIONS = {
    "screener": "pearson",
    "layers": "bb",
    "binary": "add,sub,mul,div,absdiff",
    "p_values": False,
    "budget": "none",
    "max_correlation": 1.0,
    "top": 15,
    "jobs": 1,
}


def make_columns(rng, kind):
    columns = rng.normal(size=(4, N_ROWS))
    if kind == "positive":
        columns = np.exp(columns)
    elif kind == "ties":
        columns = np.round(columns)
    elif kind == "scales":
        columns *= 10.0 ** np.array([[-150], [0], [15], [140]])
    elif kind == "tiny":
        columns *= 1e-300
    elif kind == "far from zero":
        columns += 1e9 * np.array([[1], [-1], [1], [0]])
    elif kind == "outliers":
        columns = columns / (np.abs(columns) + 1e-3) ** 4
    return dict(zip("abcd", columns, strict=True))


def screen(monkeypatch, columns, target, *, bounded, **options):
    monkeypatch.setattr(streaming, "_MIN_BOUNDED_FEATURES", 0 if bounded else np.inf)
    monkeypatch.setattr(streaming, "_FIRST_BOUNDED_CHUNK", 200)
    with np.errstate(all="ignore"):
        result = symscreen.screen(columns, target, **OPTIONS | options)
    record = {name: part for name, part in result.record.items() if name not in {"seconds", "run", "options"}}
    return result.table.to_json(double_precision=15), result.n_scored, repr(record.get("layers")), record


@pytest.mark.parametrize(
    "kind", ["normal", "positive", "ties", "scales", "tiny", "far from zero", "outliers"]
)
@pytest.mark.parametrize(
    ("options", "scale"),
    [
        ({}, 1.0),
        ({"sign": "positive", "jobs": 2}, 1e300),
        ({"pool_size": 30}, 1e-200),
        ({"p_values": True}, 1.0),
        ({"p_values": True, "sign": "positive", "fdr_method": "by", "jobs": 2}, 1e-200),
    ],
)
def test_a_screen_with_bounds_has_the_bytes_of_one_without(rng, monkeypatch, kind, options, scale):
    columns = make_columns(rng, kind)
    target = scale * (columns["a"] / np.abs(columns["a"]).max() + 0.5 * rng.normal(size=N_ROWS))
    without, bounded = (
        screen(monkeypatch, columns, target, bounded=each, **options) for each in (False, True)
    )
    assert bounded[:3] == without[:3]
    assert bounded[3].keys() == without[3].keys()


def test_most_features_are_left_out(rng, monkeypatch):
    counts = np.zeros(2, dtype=np.int64)
    find_possible = CorrelationBounds.find_possible

    def count(self, operator_range, numbers, loss_limits):
        found = find_possible(self, operator_range, numbers, loss_limits)
        counts[:] += found.is_possible.sum(), len(found.is_possible)
        return found

    monkeypatch.setattr(CorrelationBounds, "find_possible", count)
    columns = make_columns(rng, "positive")
    screen(monkeypatch, columns, np.log(columns["a"] * columns["b"]) + rng.normal(size=N_ROWS), bounded=True)
    assert 0 < counts[0] < 0.35 * counts[1]


def test_what_is_left_out_is_finite_varies_and_has_a_larger_loss(rng, monkeypatch):
    columns = make_columns(rng, "outliers")
    target, left_out = rng.normal(size=N_ROWS), []
    find_possible = CorrelationBounds.find_possible

    def check(self, operator_range, numbers, loss_limits):
        found = find_possible(self, operator_range, numbers, loss_limits)
        ufunc = self.numerics[operator_range.code]
        left, right = (each[~found.is_possible] for each in operator_range.decode(numbers))
        if len(left):
            values = ufunc(self.members[left], self.members[right])
            correlations = np.abs(np.corrcoef(self.target, values)[0, 1:])
            assert (np.ptp(values, axis=1) > 0).all()
            assert (1 - correlations > loss_limits[0]).all()
            left_out.append(len(left))
        return found

    monkeypatch.setattr(CorrelationBounds, "find_possible", check)
    screen(monkeypatch, columns, target, bounded=True)
    assert sum(left_out) > 200


@pytest.mark.parametrize("kind", ["normal", "positive", "outliers"])
@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply, np.divide])
def test_correlations_of_what_is_left_out_are_exact_up_to_their_errors(rng, ufunc, kind):
    members = np.array(list(make_columns(rng, kind).values()))
    target = rng.normal(size=N_ROWS)
    bounds = CorrelationBounds(members, (ufunc,), target, ("free",), keeps_correlations=True)
    operator_range = OperatorRange(0, "ordered", 0, 16, 0)
    found = bounds.find_possible(operator_range, np.arange(16), [0.01])
    left, right = (each[~found.is_possible] for each in operator_range.decode(np.arange(16)))
    assert len(left) >= 3
    values = ufunc(members[left], members[right]).astype(np.longdouble)
    values = values / np.abs(values).max(axis=1, keepdims=True)
    values = values - values.mean(axis=1, keepdims=True)
    centered = (target - target.mean()).astype(np.longdouble)
    exact = values @ centered / np.sqrt((values * values).sum(axis=1) * (centered @ centered))
    deviation = np.abs(found.correlations[~found.is_possible] - exact)
    assert (deviation <= found.errors[~found.is_possible]).all()


def test_p_values_that_the_bounds_do_not_decide_are_computed(rng, monkeypatch):
    columns = make_columns(rng, "normal")
    target = columns["a"] * columns["b"] + rng.normal(size=N_ROWS)
    expected = screen(monkeypatch, columns, target, bounded=False, p_values=True)

    def decide_every_third(r, errors, n_rows, sign):
        keys, is_decided = encode_correlations(r, errors, n_rows, sign)
        return keys, is_decided & (np.arange(len(r)) % 3 == 0)

    monkeypatch.setattr(error_control, "encode_correlations", decide_every_third)
    assert screen(monkeypatch, columns, target, bounded=True, p_values=True)[:3] == expected[:3]


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply, np.divide])
def test_undefined_constant_and_better_features_are_never_left_out(rng, ufunc):
    a, b = np.exp(rng.normal(size=(2, N_ROWS)))
    noise = 1.0 + 1e-15 * rng.normal(size=(6, N_ROWS))
    members = np.array([a, b, 2 * a * noise[0], noise[1] / a, 1 / b, 3 - a, 1e9 + a * 1e-7])
    members = np.vstack([members, 1e200 * members, 1e-161 * members, -members])
    target = rng.normal(size=N_ROWS)
    bounds = CorrelationBounds(members, (ufunc,), target, ("free",))
    n = len(members)
    operator_range = OperatorRange(0, "ordered", 0, n * n, 0)
    numbers = np.arange(n * n)
    is_possible = bounds.find_possible(operator_range, numbers, [0.9]).is_possible
    left, right = operator_range.decode(numbers)
    with np.errstate(all="ignore"):
        values = ufunc(members[left], members[right])
        scale = np.abs(values).max(axis=1)
        if ufunc in {np.add, np.subtract}:
            scale = np.maximum(scale, np.abs(members).max(axis=1)[np.array([left, right])].max(axis=0))
        is_invalid = ~np.isfinite(values).all(axis=1) | is_constant(
            values.min(axis=1), values.max(axis=1), scale
        )
    assert is_possible[is_invalid].all()
    assert is_invalid.sum() > 10
    left_out = values[~is_possible]
    left_out /= np.abs(left_out).max(axis=1, keepdims=True)
    assert len(left_out) > 30
    assert (np.abs(np.corrcoef(target, left_out)[0, 1:]) < 0.1).all()

"""Waves whose angle is a sum of products."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from symscreen.expressions.traversal import evaluate_expression
from symscreen.fitting.laws.law import LawData, build_law_data
from symscreen.fitting.laws.wave_sums import (
    _compute_shares,
    _list_angles,
    _list_products,
    find_waves_of_sums,
)
from symscreen.grammar import load_grammar
from symscreen.units import Units, parse_unit

STANDARD = load_grammar("standard")
PI = np.pi


def draw(rng, names, n=300):
    """Draw inputs between 1 and 5."""
    return dict(zip(names, rng.uniform(1, 5, (len(names), n)), strict=True))


def find(columns, target, grammar=STANDARD):
    """Return the terms that are found, as texts, best first."""
    with threadpool_limits(1):
        laws = find_waves_of_sums(build_law_data(columns, target, grammar))
    return [str(law.terms[0]) for law in laws]


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize(
    ("names", "law"),
    [
        ("akxwt", lambda a, k, x, w, t: a * np.sin(k * x - w * t)),
        ("akxwtf", lambda a, k, x, w, t, f: a * np.cos(k * x - w * t + f)),
        ("afpt", lambda a, f, p, t: a * np.sin(2 * PI * f * t + p)),
        ("arxst", lambda a, r, x, s, t: a * np.cos(2 * PI * (x / r - t / s))),
        ("awtcx", lambda a, w, t, c, x: a * np.sin(w * (t - x / c)) / x),
    ],
)
def test_waves_that_turn_many_times_are_found(rng, noise, names, law):
    columns = draw(rng, names)
    clean = law(**columns)
    data = build_law_data(columns, clean + noise * clean.std() * rng.normal(size=len(clean)), STANDARD)
    with threadpool_limits(1):
        found = find_waves_of_sums(data)[:3]
    truth = law(**data.columns)
    values = [evaluate_expression(each.terms[0], data.columns) for each in found]
    assert max(abs(np.corrcoef(each, truth)[0, 1]) for each in values) > 1.0 - 1e-12


def test_a_decay_and_a_phase_are_found(rng):
    columns = draw(rng, "abwtf")
    a, b, w, t, f = columns.values()
    assert find(columns, a * np.exp(-b * t) * np.cos(w * t + f))[0] == "a*cos(f + t*w)/exp(b*t)"


def test_numbers_of_two_inputs_and_a_phase_are_near_those_of_the_law(rng):
    x, z = rng.uniform(-5, 5, (2, 300))
    data = build_law_data({"x": x, "z": z}, np.sin(2.5 * x - 1.3 * z), STANDARD)
    law = find_waves_of_sums(data)[0]
    assert law.n_constants >= 2
    values = evaluate_expression(law.terms[0], data.columns)
    assert np.corrcoef(values, data.target)[0, 1] ** 2 > 0.9


def test_the_phase_of_a_single_product_is_a_fitted_number(rng):
    columns = draw(rng, "awt")
    a, w, t = columns.values()
    assert find(columns, a * np.sin(w * t + 0.75))[0].startswith("a*sin(t*w + 0.7")


def test_there_are_no_laws_for_noise_or_without_waves_sums_or_rows(rng):
    columns = draw(rng, "abc")
    target = columns["a"] * np.sin(columns["b"] + columns["c"])
    assert find(columns, rng.normal(size=300)) == []
    assert find(columns, target, load_grammar("basic")) == []
    few = {name: values[:30] for name, values in columns.items()}
    assert find(few, target[:30]) == []
    assert find(columns, target)


def test_with_units_angles_are_pure_numbers_and_factors_have_the_unit_of_the_target(rng):
    columns = draw(rng, "akxwt")
    a, k, x, w, t = columns.values()
    columns_units = {"a": "m", "k": "1/m", "x": "m", "w": "1/s", "t": "s"}
    units = Units({name: parse_unit(unit) for name, unit in columns_units.items()}, target=parse_unit("m"))
    data = build_law_data(columns, a * np.sin(k * x - w * t), STANDARD, units=units)
    laws = find_waves_of_sums(data)
    assert str(laws[0].terms[0]) == "a*sin(k*x - t*w)"
    assert all("sin(k*x" in str(law.terms[0]) or "cos(k*x" in str(law.terms[0]) for law in laws)


def test_with_units_there_is_no_law_if_no_product_has_the_unit_of_the_target(rng):
    columns = draw(rng, "axt")
    units = Units({name: parse_unit("1") for name in columns}, target=parse_unit("kg"))
    target = columns["a"] * np.sin(columns["x"] - columns["t"])
    assert find_waves_of_sums(build_law_data(columns, target, STANDARD, units=units)) == []


def test_each_angle_is_listed_once_and_equally_simple_ones_together(rng):
    columns = draw(rng, "abcd", 50)
    data = LawData(columns, rng.normal(size=50), STANDARD)
    products = _list_products(data)
    assert (1, -1, 0, 0) in products
    assert (-1, 1, 0, 0) in products
    assert (-1, -1, 0, 0) not in products
    assert all(sum(map(abs, product)) <= 3 for product in products)
    few, more = _list_angles(products, 500), _list_angles(products, 30_000)
    assert len(few) <= 500 < len(more) <= 30_000
    assert more[: len(few)] == few
    sums = {frozenset(angle) for angle in more}
    assert len(sums) == len(more)
    assert all(len({place for place, _ in angle}) == len(angle) for angle in more)
    assert _list_angles(products, 3) == []


def test_shares_are_those_of_least_squares(rng):
    angles, factors = rng.uniform(0, 20, (7, 60)), rng.normal(size=(3, 60))
    target = rng.normal(size=60)
    shares = _compute_shares(angles, factors, target)
    for m, factor in enumerate(factors):
        for q, angle in enumerate(angles):
            design = np.column_stack([factor * np.sin(angle), factor * np.cos(angle)])
            residuals = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
            assert shares[m, q] == pytest.approx(residuals @ residuals / (target @ target))
    angles[2, 5], factors[1, 0] = np.nan, np.inf
    shares = _compute_shares(angles, factors, target)
    assert np.isinf(shares[:, 2]).all()
    assert np.isinf(shares[1]).all()
    assert np.isfinite(np.delete(np.delete(shares, 2, axis=1), 1, axis=0)).all()
    assert np.isinf(_compute_shares(np.zeros((1, 60)), factors[:1], target)).all()


def test_shares_of_huge_factors_do_not_overflow(rng):
    angles, factor = rng.uniform(0, 6, (2, 60))[:1], rng.uniform(1, 2, 60)
    target = factor * np.sin(angles[0])
    with np.errstate(all="raise", under="ignore"):
        small, huge = (_compute_shares(angles, scale * factor[None], target) for scale in (1.0, 1e300))
    assert small == pytest.approx(0.0, abs=1e-12)
    assert huge == pytest.approx(0.0, abs=1e-12)

"""Figure 4: the maps as printed, statistics against definitions, and what each reading detects."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from symscreen import xi
from symscreen.experiments import figure4
from symscreen.experiments.base import ExperimentSettings
from symscreen.experiments.figure4 import (
    EXPERIMENT,
    MAPS,
    compute_maps,
    make_equally_spaced_points,
)

QUICK = ExperimentSettings(size="small")


@pytest.fixture(scope="module")
def outcome():
    return EXPERIMENT.run(QUICK)


def cell(outcome, n, variance, name, feature):
    values = outcome.tables["values"]
    chosen = (values["n"] == n) & (values["noise_variance"] == variance) & (values["map"] == name)
    found = values[chosen & (values["feature"] == feature)]
    assert len(found) == 1
    return found.iloc[0]


def t0_by_definition(theta, y):
    """Eq. 18, over ordered pairs."""
    n = len(y)
    total = 0.0
    for i in range(n):
        for j in range(n):
            wrong = (theta[i] >= theta[j] and y[i] < y[j]) + (theta[i] < theta[j] and y[i] >= y[j])
            total += 2 * abs(y[i] - y[j]) / (n * (n - 1)) * wrong if i != j else 0.0
    return total


def fourth(x):
    if x < -0.5:
        return x + 1
    if x < 0:
        return -x
    return x if x < 0.5 else -x + 1


@pytest.mark.parametrize("n", [2, 5, 50, 500])
def test_points_are_equally_spaced_and_exactly_symmetric(n):
    x = make_equally_spaced_points(n)
    assert len(x) == n
    assert (x[0], x[-1]) == (-1.0, 1.0)
    assert (x == -x[::-1]).all()
    np.testing.assert_allclose(np.diff(x), 2 / (n - 1), rtol=1e-12)


def test_noise_variances_rise_by_half_decades_to_one_digit():
    half_decades = (0.0, *(float(f"{10 ** (k / 2):.0e}") for k in range(-8, 3)))
    for size in ("medium", "full"):
        assert EXPERIMENT.sizes[size].noise_variances == half_decades
    assert set(EXPERIMENT.sizes["small"].noise_variances) < set(half_decades)


def test_maps_are_those_of_the_paper():
    x = np.array([-1.0, -0.75, -0.5, -0.2, 0.0, 0.3, 0.5, 0.9, 1.0])
    maps = compute_maps(x)
    assert list(maps) == list(MAPS)
    np.testing.assert_array_equal(maps["theta1"], x)
    np.testing.assert_array_equal(maps["theta2"], [-v if v < 0 else v for v in x])
    np.testing.assert_array_equal(maps["theta3"], -x)
    np.testing.assert_array_equal(maps["theta4"], [fourth(v) for v in x])
    np.testing.assert_array_equal(maps["theta5"], [-fourth(v) for v in x])


def test_every_map_is_even_or_odd_to_the_last_bit():
    for name, values in compute_maps(make_equally_spaced_points(500)).items():
        sign = -1 if name in {"theta1", "theta3"} else 1
        assert (values == sign * values[::-1]).all()


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("n", [50, 500])
def test_without_noise_t0_of_the_map_with_y_is_nought(outcome, n, name):
    found = cell(outcome, n, 0.0, name, "theta(x)")
    assert found["t0"] == 0.0
    assert math.isnan(found["log_t0"])
    assert found["kendall"] == pytest.approx(1.0)


@pytest.mark.parametrize("n", [50, 500])
def test_without_noise_t0_of_x_is_no_better_than_independence_unless_y_rises(outcome, n):
    expected = {"theta1": 0.0, "theta2": 1.0, "theta3": 2.0, "theta4": 1.0, "theta5": 1.0}
    for name, ratio in expected.items():
        assert cell(outcome, n, 0.0, name, "x")["t0_over_delta"] == pytest.approx(ratio, abs=1e-12)


def test_without_noise_the_cell_is_one_draw_without_an_error(outcome):
    found = cell(outcome, 50, 0.0, "theta2", "x")
    assert found["draws"] == 1
    assert math.isnan(found["t0_se"])


@pytest.mark.slow
@pytest.mark.parametrize("feature", ["x", "theta(x)"])
@pytest.mark.parametrize("name", MAPS)
def test_means_and_errors_are_those_of_the_definitions(name, feature):
    values = EXPERIMENT.run(ExperimentSettings(size="small", seed=7, repeats=3)).tables["values"]
    x = make_equally_spaced_points(50)
    theta = compute_maps(x)[name]
    z = x if feature == "x" else theta
    noise = 0.1 * np.random.default_rng([7, 50, 0]).standard_normal((3, 50))
    drawn = [theta + e for e in noise]
    expected = {
        "xi": [xi(z, y) for y in drawn],
        "pearson": [abs(stats.pearsonr(z, y).statistic) for y in drawn],
        "spearman": [abs(stats.spearmanr(z, y).statistic) for y in drawn],
        "kendall": [abs(stats.kendalltau(z, y).statistic) for y in drawn],
        "t0": [t0_by_definition(z, y) for y in drawn],
    }
    gini = [np.abs(np.subtract.outer(y, y)).sum() / (50 * 49) for y in drawn]
    expected["t0_over_delta"] = np.array(expected["t0"]) / gini
    chosen = (values["n"] == 50) & (values["noise_variance"] == 0.01) & (values["map"] == name)
    found = values[chosen & (values["feature"] == feature)].iloc[0]
    assert found["draws"] == 3
    for statistic, each in expected.items():
        assert found[statistic] == pytest.approx(np.mean(each), abs=1e-9)
        assert found[f"{statistic}_se"] == pytest.approx(np.std(each, ddof=1) / math.sqrt(3), abs=1e-9)
    assert found["log_t0"] == pytest.approx(math.log(np.mean(expected["t0"])))
    assert found["log_t0_se"] == pytest.approx(found["t0_se"] / found["t0"])


def test_only_xi_detects_all_maps_from_x_and_all_do_from_the_map(outcome):
    table = outcome.tables["detected"]
    assert len(table) == 2 * 2 * len(MAPS)
    from_map = table[table["feature"] == "theta(x)"]
    assert (from_map[["xi", "pearson", "spearman", "kendall", "t0"]] == 1.0).all(axis=None)
    from_x = table[table["feature"] == "x"].set_index("map")
    assert (from_x["xi"] == 1.0).all()
    for statistic in ("pearson", "spearman", "kendall"):
        assert (from_x.loc[["theta1", "theta3"], statistic] == 1.0).all()
        assert (from_x.loc[["theta2", "theta4", "theta5"], statistic] < 0.2).all()
    assert (from_x.loc["theta1", "t0"] == 1.0).all()
    assert (from_x.loc[["theta2", "theta3", "theta4", "theta5"], "t0"] < 0.2).all()


@pytest.mark.slow
def test_pure_noise_is_detected_at_the_level():
    x = make_equally_spaced_points(50)
    edges = figure4._compute_critical_values(compute_maps(x), 1000, 0)
    noise = 1e4 * np.random.default_rng(1).standard_normal((400, 50))
    theta = compute_maps(x)["theta4"]
    found = np.array([figure4._compute_statistics(np.stack([x, theta]), theta + e) for e in noise])
    for row in (0, 1):
        summary = figure4._summarize_draws(found[:, row], edges[0 if row == 0 else 3])
        rates = [value for name, value in summary.items() if name.startswith("detected")]
        assert len(rates) == 5
        assert all(0.01 < rate < 0.11 for rate in rates)


def test_a_feature_is_compared_with_its_own_noise(monkeypatch):
    # only θ4 as a feature passes: T0 is below its limit, the others are above
    below = np.full((5, 6), np.inf)
    below[3] = -np.inf
    below[:, 4:] *= -1
    monkeypatch.setattr(figure4, "_compute_critical_values", lambda *_: below)
    table = EXPERIMENT.run(ExperimentSettings(size="small", repeats=2)).tables["detected"]
    passes = (table["map"] == "theta4") & (table["feature"] == "theta(x)")
    for statistic in ("xi", "pearson", "spearman", "kendall", "t0"):
        assert (table[statistic] == passes).all()


@pytest.mark.slow
def test_same_seed_same_tables_and_another_seed_others(outcome):
    again = EXPERIMENT.run(ExperimentSettings(size="small", jobs=1))
    for name, table in outcome.tables.items():
        pd.testing.assert_frame_equal(table, again.tables[name])
    assert again.remarks == outcome.remarks
    other = EXPERIMENT.run(ExperimentSettings(size="small", seed=1)).tables["values"]
    noisy = other["noise_variance"] > 0
    assert (other.loc[noisy, "xi"] != outcome.tables["values"].loc[noisy, "xi"]).all()


def test_progress_is_told_to_the_end():
    reports = []
    EXPERIMENT.run(ExperimentSettings(size="small", repeats=1, progress=lambda *step: reports.append(step)))
    assert reports == [(step, 6) for step in range(1, 7)]


def test_remarks_state_what_was_found(outcome):
    text = "\n".join(outcome.remarks)
    assert "0.000, 1.000, 2.000, 1.000, 1.000" in text
    assert "0.000, 0.000, 0.000, 0.000, 0.000" in text
    assert "is not borne out" in text


def test_the_remark_on_steadiness_follows_the_figures(outcome):
    values = outcome.tables["values"].copy()
    values["t0_over_delta_se"] = values["xi_se"] / 2
    assert "is borne out" in figure4._format_steadiness(values)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "hollow"), [("of-x", 1), ("of-theta", 5)])
def test_pictures_show_every_map_and_mark_where_t0_is_nought(outcome, name, hollow):
    assert set(outcome.pictures) == {"of-x", "of-theta"}
    figure = outcome.pictures[name]()
    panels = figure.axes
    assert len(panels) == 15
    for panel in panels[5:]:
        assert len(panel.get_legend_handles_labels()[1]) == len(MAPS)
    low, high = panels[14].get_ylim()
    shown = [line.get_ydata() for line in panels[14].get_lines()]
    points = np.concatenate(shown)
    points = points[np.isfinite(points)]
    assert ((low < points) & (points < high)).all()
    marks = [line for line in panels[14].get_lines() if line.get_linestyle() == "None"]
    assert sum(len(line.get_ydata()) for line in marks) == hollow
    ticks = {text.get_text(): text.get_position()[0] for text in panels[5].get_xticklabels()}
    drawn = [ticks["0"], ticks["$10^{-2}$"], ticks["$10^{1}$"]]  # the variances of the small size
    assert panels[5].get_lines()[0].get_xdata() == pytest.approx(drawn)

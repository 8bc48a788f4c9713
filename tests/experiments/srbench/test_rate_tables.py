"""Rates of solved fits, beside the published ones."""

from __future__ import annotations

import math

import pytest
from helpers.srbench_rows import make_hit, make_miss

from symscreen.experiments.srbench.rate_tables import (
    build_cause_table,
    build_miss_table,
    build_published_table,
    build_row_table,
    build_structure_table,
    build_summary_table,
    build_verdict_table,
    count_newly_solved,
)


@pytest.fixture
def fits():
    return build_row_table(
        [
            make_hit(),
            make_miss(seed=2, seconds=70.0),
            make_hit(problem="I_6_2", seconds=4.0),
            make_miss(problem="I_40_1", seconds=6.0, r2=None),
            make_miss("wrong numbers", noise_ratio=0.1, seconds=10.0),
            make_hit(problem="vdp2", group="Strogatz"),
        ]
    )


def test_a_rate_is_the_mean_over_problems_of_the_share_of_seeds(fits):
    summary = build_summary_table(fits).set_index(["problems", "noise_ratio"])
    cell = summary.loc[("Feynman", 0.0)]
    assert cell["percent"] == pytest.approx(100 * (0.5 + 1 + 0) / 3)
    assert (cell["tried"], cell["fits"], cell["solved"]) == (3, 4, 2)
    assert (cell["seconds_median"], cell["seconds_most"], cell["over_60_s"]) == (5.0, 70.0, 1)
    assert summary.loc[("all", 0.0), "percent"] == pytest.approx(100 * 2.5 / 4)
    assert summary.loc[("Strogatz", 0.0), "percent"] == 100
    assert summary["law_percent"].equals(summary["percent"])
    assert summary.loc[("Feynman", 0.1), "percent"] == 0


def test_laws_that_the_judge_does_not_recognise_have_a_rate_of_their_own():
    fits = build_row_table(
        [make_hit(), make_miss("not recognised", seed=2), make_miss("wrong numbers", seed=3)]
    )
    summary = build_summary_table(fits)
    assert summary["percent"].tolist() == pytest.approx([100 / 3])
    assert summary["law_percent"].tolist() == pytest.approx([200 / 3])


def test_the_best_published_method_stands_beside_ours(fits):
    summary = build_summary_table(fits).set_index(["problems", "noise_ratio"])
    best = summary[["published_percent", "published_by"]]
    assert best.loc[("Feynman", 0.0)].tolist() == [55.78, "AIFeynman"]
    assert best.loc[("Strogatz", 0.0)].tolist() == [81.43, "RILS-ROLS"]
    assert best.loc[("all", 0.0)].tolist() == [74.9, "PSE"]
    assert best.loc[("all", 0.1)].tolist() == [35.6, "PySR"]


def test_with_units_the_best_is_one_that_was_given_units():
    fits = build_row_table([make_hit(units=True), make_hit(units=True, noise_ratio=0.05)])
    summary = build_summary_table(fits)
    assert summary["published_by"].tolist() == ["QDSR", ""]
    assert math.isnan(summary["published_percent"][1])


def test_every_published_method_is_listed_below_ours(fits):
    table = build_published_table(fits)
    feynman = table[table["problems"] == "Feynman"].reset_index(drop=True)
    assert feynman["method"][0] == "symscreen"
    assert list(feynman)[-2:] == ["percent_0", "percent_0.1"]
    assert {"RILS-ROLS", "PhySO", "QDSR", "Operon"} <= set(feynman["method"])
    assert feynman["percent_0"][1:].is_monotonic_decreasing
    assert feynman.set_index("method").loc["RILS-ROLS", "percent_0.1"] == 17.1


def test_methods_without_a_published_rate_come_last():
    table = build_published_table(build_row_table([make_miss(noise_ratio=0.1)]))
    assert table["method"].iloc[-1] == "QDSR"
    assert math.isnan(table["percent_0.1"].iloc[-1])
    assert table["percent_0.1"][1:-1].is_monotonic_decreasing


def test_rates_by_structure_cover_every_fit(fits):
    table = build_structure_table(fits)
    assert table["fits"].sum() == len(fits)
    cell = table.set_index(["problems", "structure", "noise_ratio"]).loc[("Feynman", "monomial", 0.0)]
    assert (cell["tried"], cell["solved"], cell["percent"]) == (1, 1, 50.0)
    assert set(table["structure"]) == {"monomial", "M0·h(M1)"}


def test_every_miss_is_counted_once_by_its_cause(fits):
    causes = build_cause_table(fits).set_index("cause")
    assert causes["misses"].sum() == len(build_miss_table(fits)) == 3
    assert causes.loc["not found", ["misses", "misses_0", "misses_0.1"]].tolist() == [2, 2, 0]
    assert causes.loc["wrong numbers", "misses_0.1"] == 1


def test_a_problem_counts_as_newly_solved_with_half_of_its_seeds(fits):
    assert count_newly_solved(fits) == (1, 1)
    more = build_row_table(
        [make_hit(problem="I_6_2"), make_miss(problem="I_6_2", seed=2), make_miss(problem="I_9_18")]
    )
    assert count_newly_solved(more) == (1, 2)
    assert count_newly_solved(build_row_table([make_miss(problem="I_6_2", noise_ratio=0.1)])) == (0, 0)


def test_verdicts_are_counted_with_the_laws_among_them():
    fits = build_row_table(
        [
            make_hit(verdict="exact"),
            make_miss("wrong numbers", verdict="noise", noise_ratio=0.1),
            make_miss("not found", verdict="noise", noise_ratio=0.1, seed=2),
            make_miss("not found", verdict="approximation", noise_ratio=0.1, seed=3),
        ]
    )
    table = build_verdict_table(fits)
    assert table.to_numpy().tolist() == [
        [0.0, "exact", 1, 1, 1],
        [0.1, "approximation", 1, 0, 0],
        [0.1, "noise", 2, 0, 1],
    ]

"""What other methods solved."""

from __future__ import annotations

import math

import pytest

from symscreen.experiments.srbench.published_rates import find_best_published, read_published_rates


def test_the_published_rates_have_the_best_of_the_field():
    rates = read_published_rates()
    strogatz = rates[(rates["method"] == "RILS-ROLS") & (rates["problems"] == "Strogatz")]
    assert strogatz["percent"].tolist() == [81.43, 70.71, 45.0, 14.29]
    assert rates.loc[rates["method"] == "PSE", "percent"].tolist() == [74.9, 54.8, 41.2, 31.1]
    assert rates["percent"].between(0, 100).all()


@pytest.mark.parametrize(
    ("problems", "ratio", "units", "best"),
    [
        ("Strogatz", 0.0, False, (81.43, "RILS-ROLS")),
        ("Strogatz", 0.001, False, (70.71, "RILS-ROLS")),
        ("Strogatz", 0.1, False, (15.0, "DSR")),
        ("Feynman", 0.0, False, (55.78, "AIFeynman")),
        ("Feynman", 0.1, True, (53.4, "PhySO")),
        ("all", 0.1, False, (35.6, "PySR")),
    ],
)
def test_the_best_method_of_a_kind(problems, ratio, units, best):
    assert find_best_published(problems, ratio, units=units) == best


def test_there_is_no_best_where_nothing_was_published():
    percent, method = find_best_published("Strogatz", 0.05)
    assert math.isnan(percent)
    assert method == ""

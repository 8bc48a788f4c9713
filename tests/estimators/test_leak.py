"""A cross-validation with the screener in its pipeline has no leak; this would catch one."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"


@pytest.fixture(scope="module")
def shown():
    return runpy.run_path(str(EXAMPLES / "screen_inside_folds.py"))


@pytest.mark.slow
def test_on_noise_only_what_was_selected_on_all_rows_looks_good(shown):
    assert shown["r2"]["noise, inside"] <= 0
    assert shown["r2"]["noise, outside"] > 0.1


def test_a_law_is_found_inside_the_folds(shown):
    assert shown["r2"]["law, inside"] > 0.8
    assert shown["search"].best_params_["symbolicscreener__layers"] == "ub"
    assert shown["search"].best_estimator_[0].get_feature_names_out()[0] == "x1*x2"


def test_the_list_of_examples_names_it():
    assert "(screen_inside_folds.py)" in (EXAMPLES / "README.md").read_text()

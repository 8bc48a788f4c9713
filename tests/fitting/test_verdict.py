from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.cli.command import run_command

SMALL = {"operators": "basic", "layers": "u"}


@pytest.fixture
def x(rng):
    return rng.uniform(1.0, 5.0, (2, 300))


def test_a_formula_that_leaves_rounding_is_exact(x):
    result = symscreen.fit({"a": x[0], "b": x[1]}, 2 * x[0] ** 2 + x[1], **SMALL)
    assert result.record["verdict"] == {"kind": "exact", "p_value": None}
    assert result.verdict.startswith("exact: ")
    assert result.record["stage"] == "subsets"


@pytest.mark.slow
def test_a_law_with_noise_is_within_noise(rng, x):
    y = 2 * x[0] ** 2 + x[1] + rng.normal(size=300)
    result = symscreen.fit({"a": x[0], "b": x[1]}, y, **SMALL)
    assert result.record["verdict"]["kind"] == "noise"
    assert result.record["verdict"]["p_value"] > 0.01
    assert result.verdict in repr(result)


@pytest.mark.parametrize(
    "options", [SMALL, SMALL | {"split": 0.5}, pytest.param({"effort": "quick"}, marks=pytest.mark.slow)]
)
def test_a_smooth_function_outside_the_grammar_is_approximated(x, options, change_effort):
    from scipy.special import jv

    change_effort("quick", pool_formulas=1000, n_law_stages=1, layer_candidates=1000)

    result = symscreen.fit({"a": x[0], "b": x[1]}, jv(0, 2 * x[0]) * x[1], **options)
    assert result.record["verdict"]["kind"] == "approximation"
    assert result.verdict.startswith("approximation: ")


def test_noise_has_no_formula(rng, x):
    result = symscreen.fit({"a": x[0], "b": x[1]}, rng.normal(size=300), **SMALL)
    assert result.record["verdict"] == {"kind": "none", "p_value": None}
    assert result.verdict == "no formula: none is better than the mean"
    assert result.record["stage"] is None


def test_of_several_targets_one_may_need_more(x):
    y = np.column_stack([x[0] + x[1], np.sin(7 * x[0]) + x[1]])
    result = symscreen.fit({"a": x[0], "b": x[1]}, y, operators="ablation", layers="u")
    assert result.record["verdict"]["kind"] == "approximation"


def test_the_verdict_is_the_second_line_of_the_command(rng, x, tmp_path, capsys):
    frame = pd.DataFrame({"a": x[0], "b": x[1], "target": x[0] + rng.normal(size=300)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert run_command(["fit", str(tmp_path / "t.csv"), "--operators", "basic", "--layers", "u"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("target = ")
    assert lines[1].startswith("law within noise: ")

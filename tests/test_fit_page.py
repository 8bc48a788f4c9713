"""What docs/fit.md shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.page_examples import run_examples

from symscreen.cli.command import run_command

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "fit.md").read_text()


def _blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_the_python_example_prints_what_the_page_tells(tmp_path):
    _, _, example = _blocks("python")
    printed = run_examples(example, tmp_path)
    told = [line.removeprefix("# ") for line in example.splitlines() if line.startswith("# ")]
    told.append(example.splitlines()[-1].partition("  # ")[2])
    assert printed.splitlines() == told


@pytest.mark.slow
def test_the_comparison_with_other_regressors_is_as_the_page_says(tmp_path, monkeypatch):
    monkeypatch.setattr("symscreen.fitting.baselines._N_TREES", 10)
    example, _, _ = _blocks("python")
    run_examples(example, tmp_path)


def test_the_best_subsets_of_screened_features_are_those_on_the_page(tmp_path):
    _, example, _ = _blocks("python")
    told = [line.removeprefix("# ") for line in example.splitlines() if line.startswith("# ")]
    assert run_examples(example, tmp_path).splitlines() == told


def test_several_targets_are_fitted_as_the_page_says(rng, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    x = rng.uniform(0.5, 2.0, (3, 40))
    alloys = pd.DataFrame(x.T, columns=["radius", "charge", "mass"])
    alloys["gap"], alloys["energy"] = x[0] * x[1] + rng.normal(0, 0.01, 40), 9 - 4 * x[0] * x[1]
    alloys.to_csv("alloys.csv", index=False)
    (line,) = [line for block in _blocks("sh") for line in block.splitlines() if "alloys.csv" in line]
    assert run_command([*line.split()[1:], "--unary", "square", "--binary", "mul"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [text.split(" = ")[0] for text in lines[:2]] == ["energy", "gap"]
    assert np.all(["charge*radius" in text for text in lines[:2]])

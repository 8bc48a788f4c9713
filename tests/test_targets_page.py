"""What docs/targets.md shows is what happens."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from symscreen.cli.command import run_command

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "targets.md").read_text()


def _blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_each_command_runs_and_fits_a_terminal(rng, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    cells = pd.DataFrame(rng.uniform(0.5, 2.0, (60, 3)), columns=["length", "mass", "time"])
    cells["kind"], cells["grade"] = rng.choice(["a", "b", "c"], 60), rng.integers(1, 4, 60)
    cells.assign(died=rng.integers(0, 2, 60)).to_csv("cells.csv", index=False)
    lines = [line for block in _blocks("sh") for line in block.splitlines()]
    assert len(lines) == 7
    for line in lines:
        assert run_command(shlex.split(line)[1:]) == 0, line
        out = capsys.readouterr().out
        assert max(map(len, out.splitlines())) <= 80, out


def test_the_gini_difference_of_a_class_is_as_told():
    n, own = 20, 6
    y = np.array([1.0] * own + [-1.0] * (n - own))
    gini = np.abs(np.subtract.outer(y, y)).sum() / (n * (n - 1))
    assert np.isclose(gini, 2 * own * (n - own) / (n * (n - 1)) * 2)

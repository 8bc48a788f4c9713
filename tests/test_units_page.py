"""What docs/units.md shows is what happens."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
from helpers.requirements import require

from symscreen.cli.command import run_command

require("pint")

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "units.md").read_text()


def _blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_each_command_runs(rng, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    mass, speed = rng.uniform(50, 500, 40), rng.uniform(10, 120, 40)
    bodies = {"mass (g)": mass, "speed (km/h)": speed, "drop [cm]": rng.uniform(20, 200, 40)}
    bodies |= {"share": rng.uniform(0, 1, 40), "energy (J)": mass * speed**2}
    pd.DataFrame(bodies).to_csv("bodies.csv", index=False)
    Path("units.toml").write_text(_blocks("toml")[0])
    lines = [line for block in _blocks("sh") for line in block.splitlines()]
    assert len(lines) == 6
    printed = []
    for line in lines:
        assert run_command(shlex.split(line)[1:]) == 0, line
        printed.append(capsys.readouterr().out)
    answer = re.search(r"^    (sin\(.*?)\n\n", PAGE, re.DOTALL | re.MULTILINE)[1]
    assert np.char.strip(printed[3].splitlines()).tolist() == np.char.strip(answer.splitlines()).tolist()
    assert "1 feature of 4 inputs scored" not in printed[0]

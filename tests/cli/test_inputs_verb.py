"""The verb `inputs`: what it prints and writes."""

import json

import numpy as np
import pandas as pd
from click.testing import CliRunner

import symscreen
from symscreen.cli.command import command


def test_the_selected_columns_are_printed_as_an_option_and_written(tmp_path):
    rng = np.random.default_rng(6)
    frame = pd.DataFrame(rng.uniform(1, 5, (100, 5)), columns=["a", "b,c", "d", "e", "f"])
    frame["y"] = frame["b,c"] * frame.d
    data, out = tmp_path / "data.csv", tmp_path / "inputs.json"
    frame.to_csv(data, index=False)
    done = CliRunner().invoke(command, ["inputs", str(data), "--jobs", "1"])
    assert done.exit_code == 0
    selected = symscreen.screen_inputs(data).selected
    assert set(selected) == {"b,c", "d"}
    text = ",".join("`b,c`" if name == "b,c" else name for name in selected)
    assert done.output.splitlines()[-1] == f"--inputs '{text}'"
    assert CliRunner().invoke(command, ["inputs", str(data), "--out", str(out)]).exit_code == 0
    assert json.loads(out.read_text())["selected"] == selected
    again = CliRunner().invoke(command, ["inputs", str(data), "--out", "-"])
    assert again.output.splitlines()[0] == "input,selected,round,gain,p_value,p_family,formula,partner"

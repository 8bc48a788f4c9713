"""What works, and what is refused in one line, where pyarrow is not installed."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.results.ranking_files import write_ranking

_CODE = """
import sys

sys.modules["pyarrow"] = None  # to import it then raises a ModuleNotFoundError
import numpy as np
import pandas as pd
import symscreen
from symscreen.cli.command import run_command
from symscreen.results.ranking_files import check_output

OPTIONS = dict(layers="u", top=3, p_values=False, jobs=1, target="y")
frame = pd.read_csv("t.csv")
strings, lists = frame.astype({"word": "string"}), {name: frame[name].tolist() for name in frame}
for source in ("t.csv", frame, strings, lists):
    result = symscreen.screen(source, **OPTIONS)
    print(result.record["data"]["digest"], result.n_scored)
array = np.column_stack([frame["x"], frame["y"]])
print(len(symscreen.screen(array, **(OPTIONS | {"target": None}))))
result.save("r.csv")
print(symscreen.load_result("r.csv").table["expression"].tolist() == result.table["expression"].tolist())
for attempt in (lambda: symscreen.screen("t.parquet", **OPTIONS), lambda: check_output("new.parquet")):
    try:
        attempt()
    except symscreen.errors.InputError as error:
        print(error)
run_command(["screen", "t.csv", "--target", "y", "--layers", "u", "--top", "3", "--out", "s.csv", "--quiet"])
"""


@pytest.mark.slow
def test_a_csv_and_frames_are_screened_to_the_same_bytes(tmp_path):
    x = np.linspace(1, 3, 30)
    frame = pd.DataFrame(
        {"day": pd.date_range("2020", periods=30).astype(str), "word": ["p", "q"] * 15, "x": x, "y": x**2}
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    run = subprocess.run(
        [sys.executable, "-c", _CODE], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    *sources, n, is_same, parquet, out = run.stdout.splitlines()[:8]
    expected = symscreen.screen(tmp_path / "t.csv", layers="u", top=3, p_values=False, jobs=1, target="y")
    assert sources == [f"{expected.record['data']['digest']} {expected.n_scored}"] * 4
    assert (n, is_same) == ("1", "True")
    assert parquet == (
        "a Parquet file is read by pyarrow, which is not installed: pip install 'symscreen[files]'"
    )
    assert out.endswith("pip install 'symscreen[files]', or write .csv")
    write_ranking(expected, tmp_path / "expected.csv")
    assert (tmp_path / "r.csv").read_bytes() == (tmp_path / "expected.csv").read_bytes()

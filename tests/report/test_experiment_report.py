from __future__ import annotations

import io
import sys

import pandas as pd

from symscreen.experiments import Experiment, ExperimentOutcome
from symscreen.report.experiment_report import explain_missing_pictures, show_outcome, write_outcome
from symscreen.report.terminal.listings import print_table


def _printed(frame) -> list[str]:
    stream = io.StringIO()
    experiment = Experiment("toy", "A toy.", "Nobody", lambda _: ExperimentOutcome({}))
    print_table(
        show_outcome(experiment, ExperimentOutcome({"first": frame, "second": frame}, remarks=("Mind.",))),
        stream,
    )
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[:3] == ["A toy.", "Nobody", ""]
    assert lines[-2:] == ["", "Mind."]
    return lines[3:-2]


def test_a_table_that_fits_is_shown_as_it_is():
    frame = pd.DataFrame({"screener": ["t0", "xi"], "aip": [1.0, 1 / 3], "gap": [float("nan"), 2.0]})
    assert [line.split() for line in _printed(frame)] == [
        ["screener", "aip", "gap"],
        ["t0", "1", "-"],
        ["xi", "0.3333", "2"],
    ]


def test_a_wide_table_of_few_rows_stands_on_its_side():
    frame = pd.DataFrame({f"a_rather_long_name_{place}": [place, place + 0.5] for place in range(9)})
    lines = [line.split() for line in _printed(frame)]
    assert lines[0] == ["a_rather_long_name_0", "0", "0.5"]
    assert lines[8] == ["a_rather_long_name_8", "8", "8.5"]


def test_long_formulas_are_folded_and_lose_nothing():
    formulas = [f"x1 + cos(x2)/x{place} - sin(x1*x2) + x1**3 - x2**3" for place in range(10)]
    frame = pd.DataFrame({"system": ["vdp1"] * 10, "published": formulas, "ours": formulas[::-1]})
    lines = _printed(frame)
    assert "…" not in "".join(lines)
    letters = "".join(lines)
    assert [letters.count(f"/x{place}") for place in range(10)] == [2] * 10
    assert letters.count("x1**3") == 20


def test_without_matplotlib_the_tables_are_written(tmp_path, monkeypatch):
    outcome = ExperimentOutcome({"first": pd.DataFrame({"a": [1]})}, pictures={"p": lambda: 1 / 0})
    experiment = Experiment("toy", "A toy.", "Nobody", lambda _: outcome)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert (
        explain_missing_pictures() == "tables only: pictures need matplotlib: pip install 'symscreen[plot]'"
    )
    written = write_outcome(experiment, outcome, tmp_path / "out")
    assert sorted(path.name for path in written) == ["toy-first.csv", "toy-remarks.txt"]

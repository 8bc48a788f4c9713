from __future__ import annotations

import io
import sys
from collections import Counter

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.experiments.base import Experiment, ExperimentOutcome
from symscreen.report.experiment_report import build_outcome_tables, explain_missing_pictures, write_outcome
from symscreen.report.terminal.listings import print_table


def _printed(frame) -> list[str]:
    stream = io.StringIO()
    experiment = Experiment("toy", "A toy.", "Nobody", lambda _: ExperimentOutcome({}), {})
    print_table(
        build_outcome_tables(
            experiment, ExperimentOutcome({"first": frame, "second": frame}, remarks=("Mind.",))
        ),
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


def test_a_long_name_beside_wide_numbers_stays_in_one_piece():
    numbers = [0.0, 0.0, 19406.0, -1.357235458933023e-154, -6.7744608604e-177]
    names = ["a", "b", "c", "d", "a_name_of_twenty_letters", "f", "g", "h"]
    frame = pd.DataFrame({"key": [f"row{row}" for row in range(5)]} | dict.fromkeys(names, numbers))
    lines = _printed(frame.assign(b=[-2.566861338822e-290] * 5))
    assert any(line.split()[0] == "a_name_of_twenty_letters" for line in lines if line.strip())


NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    n_rows=st.integers(1, 12),
    names=st.lists(st.from_regex(r"[a-z_]{1,24}", fullmatch=True), min_size=1, max_size=12, unique=True),
    data=st.data(),
)
def test_every_digit_is_shown_in_80_columns(n_rows, names, data):
    column = st.lists(NUMBERS, min_size=n_rows, max_size=n_rows)
    frame = pd.DataFrame({"key": [f"row{row}" for row in range(n_rows)]})
    frame = frame.assign(**{f"{name}{i}": data.draw(column) for i, name in enumerate(names)})
    words = " ".join(_printed(frame)).split()
    expected = Counter(f"{value:.4g}" for value in frame.iloc[:, 1:].to_numpy().ravel())
    assert Counter(word for word in words if word in expected) >= expected
    assert {*frame.columns[1:]} <= {*words}


def test_a_wide_table_of_many_rows_is_shown_in_parts_that_repeat_what_tells_the_rows_apart():
    frame = pd.DataFrame({"order": ["bu"] * 4 + ["ub"] * 4, "rows": [1, 2, 3, 4] * 2})
    frame = frame.assign(**{f"a_rather_long_name_{i}": [i + row / 8 for row in range(8)] for i in range(6)})
    heads = [line.split() for line in _printed(frame) if line.startswith("order")]
    assert [head[:2] for head in heads] == [["order", "rows"]] * 2
    assert [name for head in heads for name in head[2:]] == list(frame)[2:]


def test_without_matplotlib_the_tables_are_written(tmp_path, monkeypatch):
    outcome = ExperimentOutcome({"first": pd.DataFrame({"a": [1]})}, pictures={"p": lambda: 1 / 0})
    experiment = Experiment("toy", "A toy.", "Nobody", lambda _: outcome, {})
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert (
        explain_missing_pictures() == "tables only: pictures need matplotlib: pip install 'symscreen[plot]'"
    )
    written = write_outcome(experiment, outcome, tmp_path / "out")
    assert sorted(path.name for path in written) == ["toy-first.csv", "toy-remarks.txt"]

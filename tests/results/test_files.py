from __future__ import annotations

import csv
import json
import os
import re

import pandas as pd
import pyarrow.parquet as pq
import pytest

import symscreen
from symscreen.errors import OutputError
from symscreen.results.ranking_files import check_output, write_ranking


@pytest.fixture
def result(frame):
    return symscreen.screen(frame, layers="ub", unary="log,neg", binary="sub,div", top=8)


def test_csv_reads_back_to_the_last_bit_with_its_record_beside_it(result, tmp_path):
    paths = write_ranking(result, tmp_path / "r.csv")
    assert [path.name for path in paths] == ["r.csv", "r.csv.json"]
    back = pd.read_csv(paths[0], keep_default_na=False)
    guarded = [f"({text})" if text.startswith("-") else text for text in result.table.expression]
    assert back.expression.tolist() == guarded
    place = list(result.table.columns).index("t0") - len(result.table.columns)
    exact = [float(line.split(",")[place]) for line in paths[0].read_text().splitlines()[1:]]
    assert exact == result.table.t0.tolist()
    record = json.loads(paths[1].read_text())
    assert len(record.pop("digest")) == 64
    assert record == result.record


def test_json_and_parquet_hold_the_record_inside(result, tmp_path):
    write_ranking(result, tmp_path / "r.json")
    content = json.loads((tmp_path / "r.json").read_text())
    assert len(content["record"].pop("digest")) == 64
    assert content["record"] == result.record
    assert [row["t0"] for row in content["ranking"]] == result.table.t0.tolist()
    write_ranking(result, tmp_path / "r.parquet")
    table = pq.read_table(tmp_path / "r.parquet")
    record = json.loads(table.schema.metadata[b"symscreen"])
    assert len(record.pop("digest")) == 64
    assert record == result.record
    assert table.column("expression").to_pylist() == result.table.expression.tolist()
    assert table.column("t0").to_pylist() == result.table.t0.tolist()


def test_nothing_is_overwritten_without_force(result, tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("mine")
    with pytest.raises(OutputError, match=r"r\.csv exists and is not overwritten; .* force="):
        write_ranking(result, path)
    assert path.read_text() == "mine"
    write_ranking(result, path, force=True)
    assert path.read_text().startswith("rank,")


def test_a_record_of_another_run_is_not_overwritten_either(tmp_path):
    (tmp_path / "r.csv.json").write_text("{}")
    with pytest.raises(OutputError, match=r"r\.csv\.json exists"):
        check_output(tmp_path / "r.csv")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("r.xlsx", r"use one of \.csv, \.parquet, \.json"),
        ("r", "use one of"),
        ("missing/r.csv", "there is no folder"),
        ("folder.csv", "is a folder"),
    ],
)
def test_outputs_that_cannot_be_are_refused_before_any_work(name, message, tmp_path):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(OutputError, match=message):
        check_output(tmp_path / name)


def test_a_failed_write_leaves_nothing_behind(result, tmp_path, monkeypatch):
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OutputError, match=r"cannot be written \(No space left on device\)"):
        write_ranking(result, tmp_path / "r.json")
    assert list(tmp_path.iterdir()) == []


def test_a_ranking_and_its_record_are_written_together_or_not_at_all(result, tmp_path, monkeypatch):
    write_ranking(result, tmp_path / "r.csv")
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    own, calls = os.fsync, []

    def full(handle):
        calls.append(handle)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        own(handle)

    monkeypatch.setattr("os.fsync", full)
    result.record["options"]["top"] = 3
    with pytest.raises(OutputError, match=r"r\.csv: cannot be written \(No space left on device\)"):
        write_ranking(result, tmp_path / "r.csv", force=True)
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before


def test_a_folder_that_cannot_be_written_is_refused_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(OutputError, match=r"the folder .* cannot be written; give another one"):
        check_output(tmp_path / "r.csv")


def test_a_carriage_return_in_a_name_neither_breaks_the_file_nor_runs(tmp_path, rng):
    frame = pd.DataFrame({"x\r=1+1": rng.uniform(1, 2, 30), "y": rng.normal(size=30)})
    result = symscreen.screen(frame, layers="u", unary="log")
    write_ranking(result, tmp_path / "r.csv")
    assert pd.read_csv(tmp_path / "r.csv").expression.tolist() == result.table.expression.tolist()
    with (tmp_path / "r.csv").open(newline="") as file:
        assert [row[1] for row in csv.reader(file)][1:] == result.table.expression.tolist()


def test_the_record_is_the_same_for_any_order_of_rows_and_columns(frame):
    frame = frame.assign(b="text", a="text")
    frame.loc[3, "x1"] = float("nan")
    options = {"target": "target", "missing": "drop", "layers": "u"}
    first = symscreen.screen(frame, **options).record
    assert symscreen.screen(frame.iloc[::-1, ::-1], **options).record == first


def test_no_cell_begins_with_what_a_spreadsheet_would_run(tmp_path, rng):
    frame = pd.DataFrame({name: rng.uniform(1, 2, 30) for name in ("=cmd()", "+a", "-b", "@c", "plain")})
    frame["target"] = -frame["-b"] * frame["plain"]
    result = symscreen.screen(frame, layers="ub", unary="neg,log", binary="mul,sub", top="all")
    write_ranking(result, tmp_path / "r.csv")
    expressions = pd.read_csv(tmp_path / "r.csv").expression
    assert any(text.startswith("(-") for text in expressions)
    assert not any(re.match(r"[=+@\-]", text) for text in expressions)

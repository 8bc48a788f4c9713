"""Rows in a file of JSON lines, and what of it is used again."""

from __future__ import annotations

import json
import subprocess
from importlib.metadata import version

import msgspec
import pytest
from helpers.srbench_rows import make_hit

from symscreen.errors import DataError, OutputError
from symscreen.experiments.srbench import records
from symscreen.experiments.srbench.records import append_row, find_commit, read_rows

ROW = make_hit(noise_ratio=0.01, r2=0.5)


def _change(**fields):
    return msgspec.structs.replace(ROW, **fields)


def test_rows_are_read_as_they_were_written(tmp_path):
    path, other = tmp_path / "rows.jsonl", _change(problem="test_7", r2=None, stage="monomials")
    assert read_rows(path) == {}
    for row in (ROW, other):
        append_row(path, row)
    assert list(read_rows(path).values()) == [ROW, other]
    assert [json.loads(line)["problem"] for line in path.read_text().splitlines()] == ["I_12_1", "test_7"]


@pytest.mark.parametrize(
    "fields",
    [
        {"commit": "ba9876543210"},
        {"units": True},
        {"seed": 860},
        {"noise_ratio": 0.1},
        {"table_seed": 1},
        {"problem": "test_7"},
    ],
)
def test_a_row_of_other_options_has_another_key(fields):
    assert _change(**fields).key != ROW.key
    assert _change(seconds=9.0, solved=False).key == ROW.key


def test_rows_of_uncommitted_code_are_not_used_again(tmp_path):
    append_row(tmp_path / "rows", _change(commit="0123456789ab+"))
    assert read_rows(tmp_path / "rows") == {}


def test_the_last_row_of_a_key_counts(tmp_path):
    for row in (ROW, _change(solved=False)):
        append_row(tmp_path / "rows", row)
    assert [row.solved for row in read_rows(tmp_path / "rows").values()] == [False]


def test_a_line_that_a_killed_run_left_is_dropped(tmp_path):
    path = tmp_path / "rows"
    append_row(path, ROW)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])
    assert list(read_rows(path).values()) == [ROW]
    append_row(path, _change(seed=860))
    assert [row.seed for row in read_rows(path).values()] == [1, 860]


@pytest.mark.parametrize("line", ["not json", '{"problem": "I_12_1"}', '{"extra": 1}', "[1]"])
def test_a_file_of_something_else_is_refused_with_its_line(tmp_path, line):
    path = tmp_path / "rows"
    append_row(path, ROW)
    path.write_bytes(path.read_bytes() + f"{line}\n".encode())
    with pytest.raises(DataError, match=r"rows, line 2: not a row"):
        read_rows(path)


def test_a_file_that_cannot_be_written_is_told(tmp_path):
    with pytest.raises(OutputError, match="cannot be written"):
        append_row(tmp_path / "no" / "rows", ROW)
    with pytest.raises(DataError, match="cannot be read"):
        read_rows(tmp_path)


def test_the_commit_is_that_of_the_checkout_with_a_plus_sign_if_its_files_differ(tmp_path, monkeypatch):
    package = tmp_path / "symscreen"
    package.mkdir()
    monkeypatch.setattr(records, "_PACKAGE", package)
    assert find_commit() == version("symscreen")

    def run_git(*arguments):
        command = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    run_git("init", "-q")
    (package / "code.py").write_text("1\n")
    run_git("add", ".")
    run_git("commit", "-q", "-m", "first")
    commit = run_git("rev-parse", "HEAD")[:12]
    (tmp_path / "notes.txt").write_text("of no effect\n")
    assert find_commit() == commit
    (package / "code.py").write_text("2\n")
    assert find_commit() == f"{commit}+"

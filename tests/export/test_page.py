"""What docs/export.md shows is what happens."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from helpers.page_examples import run_examples

from symscreen.cli.command import run_command
from symscreen.export import EXPORT_FORMATS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "export.md").read_text()


@pytest.mark.slow
def test_the_python_examples_run_one_after_the_other(tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    printed = run_examples("\n".join(blocks), tmp_path).splitlines()
    for line in (
        "=IF(COUNT(B2,C2)<2,NA(),B2 - COS(C2)/B2)",
        "SIN(CAST(`flow rate` AS REAL))",
        "        return finite_or_nan(x1 - np.cos(x2)/x1)",
        "double feature(double x1, double x2)",
        "('(x1 - (cos(x2) / x1))', 'square(x1)') ('cos', 'square') ('-', '/')",
        "{'f1': 'x1 - cos(x2)/x1'}",
    ):
        assert line in printed


def test_the_commands_run(tmp_path, monkeypatch, frame):
    monkeypatch.chdir(tmp_path)
    frame.to_csv(tmp_path / "data.csv", index=False)
    (block,) = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    lines = block.splitlines()
    assert len(lines) == 6
    for line in lines:
        assert run_command(shlex.split(line)[1:]) == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert {"ranking.csv", "features.json", "columns.csv", "features.py", "model.json"} <= names


def test_the_table_lists_every_target_as_its_record_does():
    listed = dict(re.findall(r"^\| `(\w+)` \|[^|]+\|([^|]*)\|", PAGE, re.MULTILINE))
    listed = {name: outside.strip() for name, outside in listed.items() if name in EXPORT_FORMATS}
    assert list(listed) == list(EXPORT_FORMATS)
    for name in set(EXPORT_FORMATS) - {"sympy"}:
        assert listed[name] == EXPORT_FORMATS[name].undefined_value

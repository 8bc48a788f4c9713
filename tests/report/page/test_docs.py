"""What docs/report.md shows is what happens."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from helpers.page_examples import run_examples

from symscreen.cli.command import run_command

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "report.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_python_examples_run_one_after_the_other(tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 3
    run_examples("import matplotlib\nmatplotlib.use('agg')\n" + "\n".join(blocks), tmp_path)
    assert "symscreen screen glider2.csv" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_command_runs(tmp_path, monkeypatch, frame):
    monkeypatch.chdir(tmp_path)
    # the Python examples draw pictures, which take most of the time
    for module in ("html_page", "fit_page"):
        monkeypatch.setattr(f"symscreen.report.{module}.draw_inline_svg", lambda *_, **__: "")
    frame.to_csv("data.csv", index=False)
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    lines = "".join(blocks).replace("--top 200", "--top 2").splitlines()
    assert len(lines) == 5
    for line in lines:
        (tmp_path / "report.html").unlink(missing_ok=True)
        assert run_command(shlex.split(line)[1:]) == 0
    assert (tmp_path / "without-rows.html").stat().st_size > 10_000

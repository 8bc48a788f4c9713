"""What docs/estimators.md shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.slow
def test_the_page_runs_from_top_to_bottom(capsys):
    page = (ROOT / "docs" / "estimators.md").read_text()
    code = "\n".join(re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE))
    exec(compile(code.replace("KFold(5,", "KFold(2,"), "estimators.md", "exec"), {})  # noqa: S102  # our own page
    lines = capsys.readouterr().out.splitlines()
    assert float(lines[0]) > 0.9
    assert lines[1] == "['x1 - cos(x2)' 'x1']"
    assert lines[-3] == "ub"
    assert "of 5 features are undefined in some of the 10 rows and NaN there" in lines[-2]
    assert lines[-1] == "True"


def test_its_figures_are_those_of_the_example(capsys):
    import runpy

    runpy.run_path(str(ROOT / "examples" / "screen_inside_folds.py"))
    shown = dict(re.findall(r"^(\w+, \w+) +R² +(-?[0-9.]+)$", capsys.readouterr().out, re.MULTILINE))
    page = (ROOT / "docs" / "estimators.md").read_text()
    for name in ("noise, inside", "noise, outside"):
        assert f"{float(shown[name]):.2f}" in page

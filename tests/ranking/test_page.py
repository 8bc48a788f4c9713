"""What docs/rankings.md shows is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from symscreen import ranking

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "rankings.md").read_text()


def test_the_python_examples_run_one_after_the_other(tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 3
    (tmp_path / "example.py").write_text("\n".join(blocks))
    done = subprocess.run(
        [sys.executable, "-W", "error", "example.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "['tea>milk>coffee', 'coffee>milk=tea', 'milk>coffee']" in done.stdout
    assert "[1.  1.5]" in done.stdout
    assert "kemeny True" in done.stdout


def test_every_public_name_resolves():
    assert sorted(ranking.__all__) == list(ranking.__all__)
    for name in ranking.__all__:
        assert callable(getattr(ranking, name))

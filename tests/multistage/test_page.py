"""The examples in docs/multistage.md run and print what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from symscreen import multistage

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "multistage.md").read_text()


@pytest.mark.slow
def test_the_python_examples_run_one_after_the_other(tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 6
    (tmp_path / "example.py").write_text("\n".join(blocks))
    done = subprocess.run(
        [sys.executable, "-W", "error", "example.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "[[1, 1, 1], [1, -1, -1], [1, 1, -1], [1, -1, -1], [1, -1, -1], [0, 0, 0]]" in done.stdout
    assert "row 1 (user 'ann', item 'x'): 'followed' is reached but 'liked' is not" in done.stdout
    assert "[('stage0', 'stage1'), ('stage0', 'stage2'), ('stage1', 'stage2')]" in done.stdout
    assert "[0.5 0. ] 1.125" in done.stdout


def test_every_public_name_resolves():
    assert sorted(multistage.__all__) == list(multistage.__all__)
    for name in multistage.__all__:
        assert callable(getattr(multistage, name))

"""The examples in docs/multistage.md run and print what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers.page_examples import run_examples

from symscreen import multistage

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "multistage.md").read_text()


@pytest.mark.slow
def test_the_python_examples_run_one_after_the_other(tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 6
    printed = run_examples("\n".join(blocks), tmp_path)
    assert "[[1, 1, 1], [1, -1, -1], [1, 1, -1], [1, -1, -1], [1, -1, -1], [0, 0, 0]]" in printed
    assert "row 1 (user 'ann', item 'x'): 'followed' is reached but 'liked' is not" in printed
    assert "[('stage0', 'stage1'), ('stage0', 'stage2'), ('stage1', 'stage2')]" in printed
    assert "[0.5 0. ] 1.125" in printed


def test_every_public_name_resolves():
    assert sorted(multistage.__all__) == list(multistage.__all__)
    for name in multistage.__all__:
        assert callable(getattr(multistage, name))

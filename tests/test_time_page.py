"""What docs/time.md shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from symscreen.data.time_operators import MAX_WINDOW

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "time.md").read_text()


def test_the_example_prints_what_its_comments_say(capsys):
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    with pytest.warns(UserWarning, match="undefined in 2 of the 3 rows"):
        exec(block, {})  # noqa: S102  # our own page
    assert capsys.readouterr().out.splitlines() == re.findall(r"^# (.*)$", block, re.MULTILINE)


def test_the_limit_is_that_of_the_code():
    assert f"The number is at most {MAX_WINDOW}." in PAGE

"""What docs/time.md shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from symscreen.data.time_operators import MAX_WINDOW

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "time.md").read_text()


def test_the_prediction_warns_and_prints_what_its_comment_says(capsys):
    example, prediction = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    names: dict[str, object] = {}
    exec(example, names)  # noqa: S102  # our own page
    capsys.readouterr()
    with pytest.warns(UserWarning, match="undefined in 2 of the 3 rows"):
        exec(prediction, names)  # noqa: S102  # our own page
    assert capsys.readouterr().out == prediction.partition("  # ")[2]


def test_the_limit_is_that_of_the_code():
    assert f"The number is at most {MAX_WINDOW}." in PAGE

"""Several names in one text."""

from __future__ import annotations

import pytest

from symscreen.errors import OptionError
from symscreen.names import names_in


def test_names_with_commas_and_backticks():
    assert names_in("a, `b,``c` ,d e", "--x") == ("a", "b,`c", "d e")
    assert names_in("`a,`", "--x") == ("a,",)
    assert names_in("", "--x") == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,,b", "--x is 'a,,b', which names nothing"),
        ("a`b", "--x: cannot split"),
        ("a,b,", "--x is 'a,b,', which names nothing after the last comma"),
        ("a,`b,`,", "names nothing after the last comma"),
    ],
)
def test_what_cannot_be_split_is_told(text, says):
    with pytest.raises(OptionError, match=says):
        names_in(text, "--x")

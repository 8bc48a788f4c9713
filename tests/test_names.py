"""Several names in one text."""

from __future__ import annotations

import pytest

from symscreen._option_values import parse_name_list
from symscreen.errors import OptionError


def test_names_with_commas_and_backticks():
    assert parse_name_list("a, `b,``c` ,d e", "x") == ("a", "b,`c", "d e")
    assert parse_name_list("`a,`", "x") == ("a,",)
    assert parse_name_list("", "x") == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,,b", "x= is 'a,,b', which has no name"),
        ("a`b", "x=: cannot split"),
        ("a,b,", "x= is 'a,b,', which has no name after the last comma"),
        ("a,`b,`,", "has no name after the last comma"),
    ],
)
def test_what_cannot_be_split_is_told(text, says):
    with pytest.raises(OptionError, match=says):
        parse_name_list(text, "x")

from __future__ import annotations

import pytest

from symscreen.cli.command import _print_error
from symscreen.errors import InputError
from symscreen.messages import quote, truncate_message

LONG = "9" * 10**6


@pytest.mark.slow
@pytest.mark.parametrize(
    "quote",
    [
        LONG,
        repr(LONG),
        f"'{'x1 + ' * 10**5}'",
        f'"{"a b " * 10**5}"',
        "word " * 10**5,
        "'" * 10**5,
        "\x1b" * 10**5,
        "\U000e0041" * 10**5,
        "a\n" * 10**5,
    ],
    ids=str,
)
def test_a_message_is_one_short_line_and_its_end_stays(quote, capsys):
    words = f"the option is {quote}, and that is no number; give a whole one"
    assert len(str(InputError(words))) <= 280
    assert str(InputError(words)).endswith("give a whole one")
    assert str(InputError(words)).startswith("the option is ")
    assert _print_error(words, 2) == 2
    line = capsys.readouterr().err
    assert len(line) <= 300
    assert line.count("\n") == 1
    assert line[:-1].isprintable()
    assert line.endswith("give a whole one\n")


def test_what_is_quoted_is_cut_before_the_words_around_it():
    words = "a" + " and more of it" * 10
    assert truncate_message(f"{words}: {LONG!r}") == f"{words}: '{'9' * 29}…{'9' * 28}'"
    assert truncate_message("as it stands " * 20) == "as it stands " * 20


@pytest.mark.parametrize("value", [LONG, "\x1b[2J" * 99, ["x" * 99], {"a": LONG}, None, 10**99, float("nan")])
def test_a_quotation_is_short_and_on_one_line(value):
    assert len(quote(value)) <= 62
    assert quote(value).isprintable()

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscreen.report.terminal.formula_lines import wrap_formula

LONG = "exp(`worst smoothness`)*log(`worst area`) + sqrt(alpha_1)/(beta - 2*gamma**2)"


@pytest.mark.parametrize("width", range(21, 90))
def test_lines_fit_begin_with_operators_and_keep_names_whole(width):
    lines = wrap_formula(LONG, width)
    assert max(map(len, lines)) <= width
    assert re.sub(r"\s", "", "".join(lines)) == re.sub(r"\s", "", LONG)
    for line in lines:
        assert line.count("`") % 2 == 0
    for name in ("smoothness", "alpha_1", "gamma", "sqrt", "beta"):
        assert any(name in line for line in lines)


def test_a_line_ends_after_a_parenthesis_only_if_it_must():
    assert wrap_formula("log(`a long name`) + x", 30) == ["log(`a long name`) + x"]
    assert wrap_formula("log(`a long name`) + x", 18) == ["log(`a long name`)", "+ x"]
    assert wrap_formula("log(`a long name`) + x", 13) == ["log(", "`a long name`", ") + x"]


def test_a_sign_and_a_power_stay_with_their_operand():
    assert wrap_formula("-x1 + x2**-2", 9) == ["-x1", "+ x2**-2"]
    assert wrap_formula("a*(-bb)*c**3", 7) == ["a*(-bb)", "*c**3"]


def test_a_name_longer_than_a_line_is_cut_at_blanks():
    assert wrap_formula("`one two three`", 9) == ["`one two", "three`"]


@given(st.text(st.sampled_from("ab_1`+-*/() ,."), max_size=40), st.integers(1, 30))
def test_any_text_fits_and_loses_nothing_but_blanks(text, width):
    lines = wrap_formula(text, width)
    assert max(map(len, lines)) <= width
    assert re.sub(r"\s", "", "".join(lines)) == re.sub(r"\s", "", text)

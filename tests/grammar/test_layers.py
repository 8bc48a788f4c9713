from __future__ import annotations

import pytest
from helpers.strategies import BINARY, UNARY
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.errors import GrammarError, OptionError
from symscreen.grammar import OPERATORS, Layer, parse_layers
from symscreen.grammar.grammar import resolve_operators

SIN, EXP, ADD, MUL = (OPERATORS[name] for name in ("sin", "exp", "add", "mul"))
U, B = Layer("u", (SIN, EXP)), Layer("b", (ADD, MUL))


def layers(text, unary=(SIN, EXP), binary=(ADD, MUL)):
    return parse_layers(text, unary, binary, OPERATORS)


def lists(operators):
    return st.lists(st.sampled_from(operators), min_size=1, max_size=4, unique=True).map(tuple)


some_layers = st.lists(
    st.one_of(st.builds(Layer, st.just("u"), lists(UNARY)), st.builds(Layer, st.just("b"), lists(BINARY))),
    min_size=1,
    max_size=5,
).map(tuple)
separators = st.sampled_from(["", " ", "  ", ",", ", ", "\n\t"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("u", (U,)),
        ("ubb", (U, B, B)),
        (" u b  b ", (U, B, B)),
        ("u,b,b,", (U, B, B)),
        (
            "u[sin,square] b[add,sub]",
            (Layer("u", (SIN, OPERATORS["square"])), Layer("b", (ADD, OPERATORS["sub"]))),
        ),
        ("u[sin]b[ add , mul ]u", (Layer("u", (SIN,)), B, U)),
        ("u [exp]", (Layer("u", (EXP,)),)),
        ("bu[exp]b", (B, Layer("u", (EXP,)), B)),
    ],
)
def test_both_notations_and_mixtures_of_them(text, expected):
    assert layers(text) == expected


@settings(max_examples=100, deadline=None)
@given(expected=some_layers, separator=separators)
def test_layers_come_back_from_their_text(expected, separator):
    assert layers(separator.join(map(str, expected))) == expected
    spaced = separator.join(map(str, expected)).replace("[", " [ ").replace(",", " , ").replace("]", " ] ")
    assert layers(spaced) == expected


@settings(max_examples=100, deadline=None)
@given(text=st.text(alphabet="ub", min_size=1, max_size=20))
def test_letters_alone_stand_for_the_grammars_lists(text):
    assert layers(text) == tuple({"u": U, "b": B}[letter] for letter in text)


@settings(max_examples=200, deadline=None)
@given(text=st.one_of(st.text(), st.text(alphabet="ub[], sinad")))
def test_any_text_is_read_or_refused_in_one_line(text):
    message = ""
    try:
        layers(text)
    except (OptionError, GrammarError) as error:
        message = str(error)
    assert "\n" not in message


EXPECTED = "expected u or b, as in 'ub' or 'u[sin,square] b[add,sub]'"


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", OptionError, "layers is empty; give for instance layers='ub'"),
        ("  ", OptionError, "layers is empty; give for instance layers='ub'"),
        ("ubx", OptionError, f"layers, character 3: {EXPECTED}, found 'x'"),
        ("u  t", OptionError, f"layers, character 4: {EXPECTED}, found 't'"),
        ("UB", OptionError, f"layers, character 1: {EXPECTED}, found 'UB'"),
        (",u", OptionError, f"layers, character 1: {EXPECTED}, found ',u'"),
        ("u[sin", OptionError, f"layers, character 2: {EXPECTED}, found '[sin'"),
        ("u[sin][exp]", OptionError, f"layers, character 7: {EXPECTED}, found '[exp]'"),
        ("b" * 80 + "?" * 80, OptionError, f"layers, character 81: {EXPECTED}, found '{'?' * 20}'"),
        (
            "u[sine]",
            GrammarError,
            "layer 1 (u): there is no unary operator 'sine'; did you mean 'sin' or 'sinh' or",
        ),
        ("ub[mull]", GrammarError, "layer 2 (b): there is no binary operator 'mull'; did you mean 'mul'?"),
        ("u[]", GrammarError, "layer 1 (u): there is no unary operator ''; known: id, neg, abs"),
        ("u[sin,,exp]", GrammarError, "layer 1 (u): there is no unary operator ''; known: id, neg, abs"),
        ("u[add]", GrammarError, "layer 1 (u): 'add' is a binary operator; list it under binary"),
        ("b[sin]", GrammarError, "layer 1 (b): 'sin' is a unary operator; list it under unary"),
        ("u[sin, exp, sin]", GrammarError, "layer 1 (u): 'sin' is listed twice"),
    ],
)
def test_errors_say_where_and_what_is_near(text, error, message):
    with pytest.raises(error) as caught:
        layers(text)
    assert str(caught.value).startswith(message)


def test_a_letter_without_operators_is_refused():
    with pytest.raises(OptionError) as caught:
        layers("bu", unary=())
    assert str(caught.value) == "layer 2 is 'u' but there are no unary operators; give unary="
    with pytest.raises(OptionError) as caught:
        layers("ub", binary=())
    assert str(caught.value) == "layer 2 is 'b' but there are no binary operators; give binary="
    assert layers("u[sin]", unary=()) == (Layer("u", (SIN,)),)


def test_names_are_looked_up_in_the_order_given():
    assert resolve_operators(["exp", " sin "], 1, OPERATORS, "--unary") == (EXP, SIN)
    assert resolve_operators([], 2, OPERATORS, "--binary") == ()

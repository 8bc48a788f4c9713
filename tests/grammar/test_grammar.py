from __future__ import annotations

import dataclasses

import pytest

from symscreen.errors import GrammarError, OptionError
from symscreen.grammar import Grammar, load_grammar


def test_an_altered_grammar_keeps_everything_else():
    basic = load_grammar("basic")
    altered = basic.override(unary=["tan", "sin"], max_complexity=5)
    assert [operator.name for operator in altered.unary] == ["tan", "sin"]
    assert altered.max_complexity == 5
    for field in dataclasses.fields(Grammar):
        if field.name not in {"unary", "max_complexity"}:
            assert getattr(altered, field.name) is getattr(basic, field.name)


def test_altering_nothing_changes_nothing():
    physics = load_grammar("physics")
    assert vars(physics.override()) == vars(physics)


def test_operators_keep_the_costs_of_the_grammar(tmp_path):
    path = tmp_path / "costly.toml"
    path.write_text('unary = ["sin"]\nbinary = ["add"]\n[costs]\ntan = 4\n')
    assert load_grammar(path).override(unary=["tan"]).unary[0].cost == 4


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            {"unary": ["sine"]},
            GrammarError,
            "unary=: there is no unary operator 'sine'; did you mean 'sin' or",
        ),
        ({"unary": ["add"]}, GrammarError, "unary=: 'add' is a binary operator; list it under binary"),
        ({"binary": ["add", "add"]}, GrammarError, "binary=: 'add' is listed twice"),
        ({"max_complexity": 0}, OptionError, "max_complexity is 0; a single column already has complexity 1"),
    ],
)
def test_a_bad_change_is_refused(change, error, message):
    with pytest.raises(error) as caught:
        load_grammar("basic").override(**change)
    assert str(caught.value).startswith(message)


def test_operators_are_added_behind_those_of_the_grammar():
    basic = load_grammar("basic")
    more = basic.add_operators(["cos", " pow", "sqrt"])
    assert more.unary == (*basic.unary, more.operators["cos"])
    assert more.binary == (*basic.binary, more.operators["pow"])
    assert more.forbid is basic.forbid
    assert basic.add_operators([]).unary == basic.unary
    with pytest.raises(GrammarError, match="there is no operator 'cosine'; did you mean 'sin' or 'cos'"):
        basic.add_operators(["cosine"])


def test_waves_are_in_no_grammar_that_is_a_default_of_screens():
    assert {"sin", "cos", "tan"}.isdisjoint(operator.name for operator in load_grammar().unary)
    for name in ("physics", "standard", "strogatz"):
        assert {"sin", "cos"} <= {operator.name for operator in load_grammar(name).unary}


def test_layers_are_the_grammars_unless_given():
    strogatz = load_grammar("strogatz")
    assert [layer.kind for layer in strogatz.resolve_layers()] == ["b", "u", "b"]
    assert [str(layer) for layer in strogatz.resolve_layers("ub[add]")] == [
        "u[sin,cos,square,cube,inv]",
        "b[add]",
    ]


def test_altered_lists_are_what_the_letters_stand_for():
    altered = load_grammar("basic").override(unary=["tanh"], binary=["max"])
    assert list(map(str, altered.resolve_layers())) == ["u[tanh]", "b[max]"]


def test_no_operators_leave_a_letter_nothing_to_stand_for():
    with pytest.raises(OptionError, match="no unary operators"):
        load_grammar("basic").override(unary=[]).resolve_layers("ub")


def test_default_layers_without_operators_are_left_out():
    basic = load_grammar("basic")
    assert list(map(str, basic.override(unary=[], binary=["add"]).resolve_layers())) == ["b[add]"]
    assert list(map(str, basic.override(unary=["sin"], binary=[]).resolve_layers())) == ["u[sin]"]
    with pytest.raises(OptionError, match="no unary operators"):
        basic.override(unary=[], binary=[]).resolve_layers()


def test_a_grammar_cannot_be_changed_in_place():
    with pytest.raises(dataclasses.FrozenInstanceError):
        load_grammar("basic").layers = "u"

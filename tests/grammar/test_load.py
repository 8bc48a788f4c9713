from __future__ import annotations

import math
import os
import tomllib
from pathlib import Path

import numpy as np
import pytest
from helpers.requirements import needs

from symscreen.errors import GrammarError
from symscreen.grammar import OPERATORS, list_grammar_names, load_grammar
from symscreen.grammar.grammar_files import write_constants

SHIPPED = Path(__file__).resolve().parents[2] / "operators"
every_grammar = pytest.mark.parametrize("name", list_grammar_names())
SIN = 'unary = ["sin"]\n'
A = '[define.f]\nformula = "a*x"\n'


@pytest.fixture
def load(tmp_path):
    """Load a grammar file of the given content."""

    def load(content):
        path = tmp_path / "g.toml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return load_grammar(path)

    return load


@pytest.fixture
def refused(tmp_path, load):
    """Load a grammar file that must be refused, and hand back the message without its folder."""

    def message(content):
        with pytest.raises(GrammarError) as caught:
            load(content)
        text = str(caught.value)
        assert len(text.splitlines()) == 1
        assert len(text) < 500 + len(str(tmp_path))
        assert text.startswith(f"{tmp_path}/g.toml")
        return text.removeprefix(f"{tmp_path}/")

    return message


def names(operators):
    return [operator.name for operator in operators]


def test_the_grammars_that_ship():
    assert set(list_grammar_names()) == {path.stem for path in SHIPPED.iterdir() if path.suffix == ".toml"}
    assert {"basic", "ablation", "strogatz", "physics", "standard"} <= set(list_grammar_names())


@every_grammar
def test_a_shipped_grammar_is_what_its_file_says(name):
    content = tomllib.loads((SHIPPED / f"{name}.toml").read_text(encoding="utf-8"))
    grammar = load_grammar(name)
    assert grammar.name == name
    assert grammar.description.endswith(".")
    assert len(grammar.description.splitlines()) == 1
    assert names(grammar.unary) == content["unary"]
    assert names(grammar.binary) == content["binary"]
    assert write_constants(grammar.constants) == content.get("constants", [])
    assert grammar.max_complexity == content.get("max_complexity")
    assert "".join(layer.kind for layer in grammar.resolve_layers()) == content["layers"]
    assert grammar.forbid == {outer: frozenset(inner) for outer, inner in content.get("forbid", {}).items()}
    assert grammar.operators == OPERATORS


@every_grammar
def test_the_rules_of_a_shipped_grammar_are_about_its_own_operators(name):
    grammar = load_grammar(name)
    own = set(names(grammar.unary + grammar.binary)) | {"sin", "cos"}  # which `--with` may add
    for rules in (grammar.forbid, grammar.forbid_within):
        assert rules.keys() <= own
        assert frozenset().union(*rules.values()) <= own


@every_grammar
def test_a_shipped_grammar_is_loaded_by_name_and_by_path(name):
    by_path = load_grammar(SHIPPED / f"{name}.toml")
    assert by_path.name == str(SHIPPED / f"{name}.toml")
    assert vars(by_path) | {"name": name} == vars(load_grammar(name))
    assert load_grammar(str(SHIPPED / f"{name}.toml")).layers == by_path.layers


def test_the_default_is_basic():
    assert load_grammar().name == "basic"


def test_a_grammar_with_every_key(load):
    grammar = load("""
        description = "All of it."
        unary = ["sin", "gauss"]
        binary = ["add", "harmonic"]
        constants = [-1, 2, "pi"]
        layers = "u[gauss] b"
        max_complexity = 9
        [costs]
        sin = 3
        gauss = 2
        [forbid]
        sin = ["gauss"]
        [forbid_within]
        gauss = ["sin", "gauss"]
        [columns]
        sin = ["angle", "a column that these data lack"]
        [max_range]
        gauss = 4
        [define.gauss]
        formula = "exp(-x**2)"
        [define.harmonic]
        formula = "2*x*y/(x + y)"
        cost = 5
        [define.wave]
        formula = "sin(pi*gauss(x))"
    """)
    assert names(grammar.unary) == ["sin", "gauss"]
    assert names(grammar.binary) == ["add", "harmonic"]
    assert grammar.description == "All of it."
    assert grammar.constants == (-1, 2, math.pi)
    assert list(map(str, grammar.resolve_layers())) == ["u[gauss]", "b[add,harmonic]"]
    assert grammar.max_complexity == 9
    assert grammar.forbid == {"sin": {"gauss"}}
    assert grammar.forbid_within == {"gauss": {"sin", "gauss"}}
    assert grammar.columns == {"sin": {"angle", "a column that these data lack"}}
    assert grammar.max_range == {"gauss": 4.0}
    assert [operator.cost for operator in grammar.unary + grammar.binary] == [3, 2, 1, 5]
    assert grammar.operators["wave"].cost == 3 + 1 + 2  # what a definition calls costs what this grammar says
    assert grammar.operators["harmonic"].commutative
    assert grammar.operators["wave"].numeric(np.zeros(2)).round(12).tolist() == [0.0, 0.0]
    assert OPERATORS["sin"].cost == 1


@pytest.mark.parametrize(
    ("content", "layers"),
    [('unary = ["sin"]', "u"), ('binary = ["add"]', "b"), ('unary = ["sin"]\nbinary = ["add"]', "ub")],
)
def test_what_a_file_leaves_out_has_a_default(load, content, layers):
    grammar = load(content)
    assert grammar.layers == layers
    assert (grammar.description, grammar.constants, grammar.max_complexity) == ("", (), None)
    assert grammar.forbid == grammar.forbid_within == grammar.columns == grammar.max_range == {}


# fmt: off
BAD_LISTS = [
    ('', 'unary: the grammar lists no operator; give unary = […] or binary = […]'),
    ('unary = []', 'unary: the grammar lists no operator; give unary = […] or binary = […]'),
    ('unray = ["sin"]', "unray: this key is unknown; did you mean 'unary'?"),
    ('unary = "sin"', """unary: expected a list of names such as ["sin", "exp"], found 'sin'"""),
    ('unary = [1]', 'unary: expected a list of names such as ["sin", "exp"], found [1]'),
    ('unary = [["sin"]]', """unary: expected a list of names such as ["sin", "exp"], found [['sin']]"""),
    (f'unary = {list(range(9999))}', 'unary: expected a list of names such as ["sin", "exp"], found [0, 1,'),
    ('unary = ["sine"]', "unary: there is no unary operator 'sine'; did you mean 'sin' or 'sinh' or 'sign'?"),
    ('binary = ["mull"]', "binary: there is no binary operator 'mull'; did you mean 'mul'?"),
    ('unary = ["add"]', "unary: 'add' is a binary operator; list it under binary"),
    ('binary = ["sin"]', "binary: 'sin' is a unary operator; list it under unary"),
    ('unary = ["sin", "exp", "sin"]', "unary: 'sin' is listed twice"),
]
BAD_KEYS = [
    ('zzz = 1', 'zzz: this key is unknown; known: description, unary, binary, constants, layers, '),
    (r'"a\nb" = 1', r"'a\nb': this key is unknown; known: description, "),
    ('description = 1', 'description: expected a text, found 1'),
    ('max_complexity = 0', 'max_complexity: expected an integer from 1 to 1000, found 0'),
    ('max_complexity = 2.0', 'max_complexity: expected an integer from 1 to 1000, found 2.0'),
    ('max_complexity = true', 'max_complexity: expected an integer from 1 to 1000, found True'),
    ('max_complexity = 1979-05-27', 'max_complexity: expected an integer from 1 to 1000, found datetime'),
    ('constants = 1', 'constants: expected a list of integers or "pi" such as [1, "pi"], found 1'),
    ('constants = [1, 0.5]', 'constants: expected a list of integers or "pi" such as [1, "pi"], found [1, '),
    ('constants = [true]', 'constants: expected a list of integers or "pi" such as [1, "pi"], found [True]'),
    ('constants = ["tau"]', 'constants: expected a list of integers or "pi" such as [1, "pi"], found ['),
    ('constants = ["pi", 2, "pi"]', 'constants: a number is listed twice'),
    ('constants = [1, 0]', 'constants: 0 is not allowed; give integers other than 0, below'),
    ('constants = [-1000000000000000]', 'constants: -1000000000000000 is not allowed; give integers'),
    ('constants = [1, 2, 1]', 'constants: a number is listed twice'),
    ('layers = 2', 'layers: expected a text, found 2'),
    ('layers = "ux"', "layers: layers, character 2: expected u or b, as in 'ub' or 'u[sin,square]"),
    ('layers = ""', 'layers: layers is empty; give for instance layers=\'ub\''),
    ('layers = "ub"', "layers: layer 2 is 'b' but there are no binary operators; give binary="),
    ('layers = "u[tann]"', "layers: layer 1 (u): there is no unary operator 'tann'; did you mean 'tan' or"),
    ('[[costs]]\nsin = 1', "costs: expected a table, [costs], found [{'sin': 1}]"),
    ('[costs]\nsine = 1', "costs.sine: there is no operator 'sine'; did you mean 'sin' or 'sinh' or 'sign'?"),
    ('[costs]\nsin = -1', 'costs.sin: expected an integer from 0 to 1000, found -1'),
    ('[costs]\nsin = 1001', 'costs.sin: expected an integer from 0 to 1000, found 1001'),
    ('[costs]\nsin = "1"', "costs.sin: expected an integer from 0 to 1000, found '1'"),
    ('forbid = 1', 'forbid: expected a table, [forbid], found 1'),
    ('[forbid]\nsine = []', "forbid.sine: there is no operator 'sine'; did you mean 'sin' or"),
    ('[forbid]\nsin = ["cosine"]', "forbid.sin: there is no operator 'cosine'; did you mean 'sin' or 'cos'"),
    ('[forbid]\nsin = "sin"', """forbid.sin: expected a list of names such as ["sin", "exp"], found 'sin'"""),
    ('[forbid_within]\nlogg = []', "forbid_within.logg: there is no operator 'logg'; did you mean 'log'?"),
    ('[forbid_within]\nsin = ["expp"]', "forbid_within.sin: there is no operator 'expp'; did you mean"),
    ('[columns]\nsine = ["angle"]', "columns.sine: there is no operator 'sine'; did you mean 'sin' or"),
    ('[columns]\nsin = [1]', 'columns.sin: expected a list of names such as ["sin", "exp"], found [1]'),
    ('[max_range]\nexpp = 1', "max_range.expp: there is no operator 'expp'; did you mean 'exp'"),
    ('[max_range]\nexp = 0', "max_range.exp: expected a positive number such as 10, found 0"),
    ('[max_range]\nexp = inf', "max_range.exp: expected a positive number such as 10, found inf"),
    ('define = "x"', "define: expected a table, [define], found 'x'"),
    ('[define]\nf = "sin(x)"', "define.f: expected a table, [define.f], found 'sin(x)'"),
    ('[define.f]', 'define.f.formula: missing; give for instance formula = "sin(pi*x)"'),
    ('[define.f]\nformula = 1', 'define.f.formula: expected a text, found 1'),
    ('[define.f]\nformla = "x"', "define.f.formla: this key is unknown; did you mean 'formula'?"),
    ('[define.f]\nformula = "x"\ncost = 1.5', 'define.f.cost: expected an integer from 0 to 1000, found'),
    ('[define.sin]\nformula = "x"', 'define.sin: this name is in use; choose another'),
    ('[define."a b"]\nformula = "x"', "define.a b: an operator's name must be a plain identifier such as"),
    ('[define.in]\nformula = "x"', "define.in: an operator's name must be a plain identifier such as sinpi"),
    ('[define."a\\nb"]\nformula = "x"', r"'define.a\nb': an operator's name must be a plain identifier such"),
    ('[define.f]\nformula = "x + z"', "define.f.formula: 'f' is defined with 'z'; the arguments are called"),
    ('[define.f]\nformula = "x +"', "define.f.formula: formula 'x +', character 4: expected a column, a"),
    ('[define.f]\nformula = "sine(x)"', "define.f.formula: there is no operator 'sine'; did you mean 'sin'"),
    ('[define.f]\nformula = "f(x)"', "define.f.formula: there is no operator 'f'; known: id, neg, abs, "),
    ('define = {f.formula = "g(x)", g.formula = "x"}', "define.f.formula: there is no operator 'g'; known:"),
    (A + 'parameters = 1', 'define.f.parameters: expected a table, [define.f.parameters], found 1'),
    (A + 'parameters = {a = "1"}', 'define.f.parameters.a: expected a starting value, or a list of'),
    (A + 'parameters = {a = [1, true]}', 'define.f.parameters.a: expected a starting value, or a list'),
    (A + 'parameters = {a = []}', 'define.f.parameters.a: expected a starting value, or a list of'),
    (A + 'parameters = {a = [1, inf]}', "define.f.parameters: 'f' starts 'a' at a number that is not"),
    (A + 'parameters = {a = 1, b = 1}', "define.f.parameters: 'f' has a parameter 'b' that its formula does"),
    (A + 'parameters = {}', "define.f.formula: 'f' is defined with 'a'; the arguments are called x"),
    (A + 'parameters = {a = [1, 2]}\n[define.g]\nformula = "f(x)"', "define.g.formula: 'f' has parameters"),
    (A + 'parameters = {a = [1, 2]}\n[costs]\nf_1 = 2', "costs.f_1: there is no operator 'f_1'; known: id"),
    (A + 'parameters = {a = [1, 2]}\n[forbid]\ng = []', "forbid.g: there is no operator 'g'; known: id, neg"),
    (A + 'parameters = {a = [1, 2]}\n[forbid]\nff = []', "forbid.ff: there is no operator 'ff'; did you"),
    (''.join(f'[define.f{n}]\n' for n in range(201)), 'define: 201 operators; at most 200 are allowed'),
]
# fmt: on


@pytest.mark.parametrize(
    ("content", "message"), BAD_LISTS + [(SIN + bad, message) for bad, message in BAD_KEYS]
)
def test_a_bad_file_is_told_by_key_what_is_wrong_and_what_is_near(refused, content, message):
    assert refused(content).startswith(f"g.toml, {message}")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("unary = [", "not valid TOML: Invalid value (at end of document)"),
        ("unary = [sin]", "not valid TOML: Invalid value (at line 1, column 10)"),
        ('unary = ["sin"]\nunary = ["cos"]', "not valid TOML: Cannot overwrite a value (at "),
        (
            "[define.f]\n[define.f]",
            "not valid TOML: Cannot declare ('define', 'f') twice (at line 2, column 10)",
        ),
        ("a = " + "[" * 50_000, "not valid TOML: "),
        (f"constants = [{'1' * 5000}]", "not valid TOML: "),
        (b'unary = ["\xff"]', "not UTF-8 text"),
        ('unary = ["sin"]'.encode("utf-16"), "not UTF-8 text"),
        (b"\x00" * 50, "not valid TOML: Invalid statement (at line 1, column 1)"),
        (b"#" * 100_001, "larger than 100000 bytes; this is not a grammar"),
        (".".join("a" * 400) + " = 1", "not valid TOML: a line has more than 200 dots"),
    ],
)
def test_a_file_that_is_no_toml_is_told_by_name(refused, content, message):
    assert refused(content).startswith(f"g.toml: {message}")


def test_the_largest_file_is_read(load):
    assert names(load(SIN + "#" * (100_000 - len(SIN))).unary) == ["sin"]


def test_a_file_from_windows_is_read(load):
    assert names(load(b'\xef\xbb\xbfunary = ["sin"]\r\nbinary = ["add"]\r\n').binary) == ["add"]


def test_names_in_a_grammar_may_be_in_any_script(load):
    grammar = load(
        'unary = ["волна"]\n[define."волна"]\nformula = "sin(x)"\n[columns]\n"волна" = ["угол", "`"]'
    )
    assert names(grammar.unary) == ["волна"]
    assert grammar.columns == {"волна": {"угол", "`"}}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("basci", "there is no grammar 'basci'; did you mean 'basic'? (the name of a file ends with .toml)"),
        (
            "zzzz",
            "there is no grammar 'zzzz'; known: ablation, basic, dynamics, physics, standard, strogatz (the",
        ),
        (
            "",
            "there is no grammar ''; known: ablation, basic, dynamics, physics, standard, strogatz (the",
        ),
        ("../operators/basic", "there is no grammar '../operators/basic'; "),
        ("notes.txt", "there is no grammar 'notes.txt'; "),
        ("absent.toml", "absent.toml: cannot be read (No such file or directory)"),
        ("a\0.toml", "a\0.toml: cannot be read (embedded null"),
    ],
)
def test_a_grammar_that_is_not_there_is_told(source, message):
    with pytest.raises(GrammarError) as caught:
        load_grammar(source)
    assert str(caught.value).startswith(message)


def test_a_folder_is_no_grammar(tmp_path):
    folder = tmp_path / "folder.toml"
    folder.mkdir()
    with pytest.raises(GrammarError) as caught:
        load_grammar(folder)
    assert str(caught.value) == f"{folder}: cannot be read (Is a directory)"


def test_the_identity_costs_nothing(tmp_path):
    (tmp_path / "g.toml").write_text('unary = ["id"]\n[costs]\nid = 2')
    with pytest.raises(GrammarError, match=r"g\.toml, costs\.id: id does not change a formula"):
        load_grammar(tmp_path / "g.toml")


FAMILIES = """
    unary = ["bend", "decay", "sin"]
    binary = ["tilt", "add"]
"""
DEFINED = """
    [define.decay]
    formula = "exp(-a*x)"
    parameters = { a = 0.5 }
    [define.bend]
    formula = "decay(x)**n"
    parameters = { n = [2, 3.5] }
    cost = 4
    [define.tilt]
    formula = "x + k*y"
    [define.tilt.parameters]
    k = [1, -1.0]
    [costs]
    tilt = 7
    [forbid]
    sin = ["bend", "exp"]
    bend = ["bend"]
    bend_2 = ["sin"]
    [forbid_within]
    tilt = ["decay"]
    [columns]
    bend = ["x1"]
    bend_1 = ["x2"]
"""


def test_operators_with_parameters(load):
    grammar = load(FAMILIES + DEFINED)
    assert names(grammar.unary) == ["bend_1", "bend_2", "decay", "sin"]
    assert names(grammar.binary) == ["tilt_1", "tilt_2", "add"]
    assert [operator.cost for operator in grammar.unary + grammar.binary] == [4, 4, 3, 1, 7, 7, 1]
    assert [operator.commutative for operator in grammar.binary] == [True, False, True]
    bend = grammar.operators["bend_2"]
    assert bend.numeric(np.array([2.0])).tolist() == [np.exp(-1.0) ** 3.5]
    assert (bend.family.name, bend.family.values, bend.family.start_values) == (
        "bend",
        (3.5,),
        ((2,), (3.5,)),
    )
    assert grammar.forbid == {
        "sin": {"bend_1", "bend_2", "exp"},
        "bend_1": {"bend_1", "bend_2"},
        "bend_2": {"bend_1", "bend_2", "sin"},
    }
    assert grammar.forbid_within == {"tilt_1": {"decay"}, "tilt_2": {"decay"}}
    assert grammar.columns == {"bend_1": {"x1", "x2"}, "bend_2": {"x1"}}


def test_a_family_and_one_of_its_operators_are_listed_twice(refused):
    content = 'unary = ["bend", "bend_2"]' + DEFINED
    assert refused(content) == "g.toml, unary: 'bend_2' is listed twice"


def test_a_familys_name_means_all_its_operators_wherever_operators_are_listed(load):
    grammar = load(FAMILIES + 'layers = "u[bend, sin] b u[decay]"\n' + DEFINED)
    assert list(map(str, grammar.resolve_layers())) == [
        "u[bend_1,bend_2,sin]",
        "b[tilt_1,tilt_2,add]",
        "u[decay]",
    ]
    assert names(grammar.override(unary=["sin", "bend"]).unary) == ["sin", "bend_1", "bend_2"]
    with pytest.raises(GrammarError, match=r"^unary=: 'bend_2' is listed twice$"):
        grammar.override(unary=["bend_2", "bend"])
    with pytest.raises(GrammarError, match=r"^binary=: 'bend' is a unary operator; list it under unary$"):
        grammar.override(binary=["bend"])


@needs("mkfifo")
def test_a_pipe_is_no_grammar_and_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(GrammarError, match="a pipe or a device"):
        load_grammar(tmp_path / "pipe.toml")

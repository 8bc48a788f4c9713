"""Messages in each front end: the command line, functions and estimators write options in their own way."""

from __future__ import annotations

import ast
import io
import json
import logging
import pickle
import re
import warnings
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from helpers.package_sources import PACKAGE, parse_package

import symscreen
from symscreen.cli.command import VERBS, command, run_command
from symscreen.config.fields import get_option
from symscreen.config.fit_options import FitOptions
from symscreen.errors import DataError, InputError, OptionError
from symscreen.logs import LOGGER, JsonLines
from symscreen.messages import (
    COMMAND_LINE,
    ESTIMATOR,
    KEYWORD,
    Message,
    find_options,
    hint_option,
    name_option,
    name_option_column,
    name_source,
    render_message,
)
from symscreen.report.html_page import write_report
from symscreen.results.ranking_files import write_ranking

OPTION_FIELDS = {field.name: get_option(field) for field in fields(FitOptions)}
KEYWORD_MARK = re.compile(rf"\b({'|'.join(OPTION_FIELDS)}|X|outside|force)=")
FLAG_MARK = re.compile(r"(?<![\w-])--[a-z]")
REPLACED_BY_ARGUMENTS = re.compile(r"\b(target|inputs|exclude|missing|weights|groups)=")
MARKS = re.compile("[\ue000-\uf8ff]")

# wrong uses of a table with the columns x1, x2, c (text) and y, and options that the message refers to
WRONG_USES: list[tuple[dict[str, object], set[str]]] = [
    ({"search": "race", "screener": "xi"}, {"search"}),
    ({"search": "race", "top": "all"}, {"search", "top"}),
    ({"search": "sieve", "rounds": 2}, {"search", "rounds"}),
    ({"risk": 0.1}, {"search"}),
    ({"stability": 3, "rounds": 2}, {"stability", "rounds"}),
    ({"stability": 3, "top": "all"}, {"stability", "top"}),
    ({"intervals": True, "screener": "xi"}, {"intervals", "screener"}),
    ({"intervals": True, "rounds": 2}, {"intervals", "rounds"}),
    ({"fdr": 0.1, "rounds": 2}, {"fdr", "rounds"}),
    ({"permutations": 3, "screener": "lasso"}, {"permutations"}),
    ({"p_values": True, "search": "sieve"}, {"p_values", "search"}),
    ({"max_correlation": 0.9, "top": "all"}, {"max_correlation", "top"}),
    ({"max_correlation": 0.9, "rounds": 2}, {"max_correlation", "rounds"}),
    ({"max_correlation": 0.9, "stability": 3}, {"max_correlation", "stability"}),
    ({"prune_by": "t0"}, {"pool_size"}),
    ({"layers": ""}, {"layers"}),
    ({"layers": "ub", "unary": "none"}, {"unary"}),
    ({"layers": "ub", "binary": "plus"}, {"binary"}),
    ({"categorical_as": "onehot"}, {"categorical_as", "categorical"}),
    ({"categorical": ["x9"]}, {"categorical"}),
    ({"target_units": "m"}, {"target_units", "units"}),
    ({"target_type": "several"}, {"target_type", "target"}),
    ({"stage_weight": "next"}, {"stages"}),
    ({"also": "log(x1 - 9)"}, {"also"}),
    ({"max_ram": "1kB"}, {"max_ram"}),
    ({"target": "z"}, {"target"}),
    ({"target": "c", "target_type": "numeric"}, {"target"}),
    ({"target": ["y", "y"]}, {"target"}),
    ({"target": "one"}, {"target"}),
    ({"target": "y", "inputs": ["x1", "y"]}, {"inputs", "target"}),
    ({"inputs": ["x1", "gap"], "missing": "refuse"}, {"exclude", "missing"}),
    ({"inputs": ["x1", "infinite"]}, {"exclude"}),
    ({"inputs": ["x1"], "exclude": ["x1"]}, {"inputs", "exclude"}),
    ({"inputs": ["one"]}, {"inputs"}),
    ({"exclude": ["x1", "x2", "c", "one", "gap", "infinite"]}, {"inputs", "categorical_as"}),
    ({"weights": "c"}, {"weights"}),
    ({"weights": "gap"}, {"weights"}),
    ({"weights": "x1", "fdr": 0.1}, {"weights", "fdr"}),
    ({"groups": "c"}, {"groups", "stability"}),
    ({"groups": "c", "stability": 3}, {"groups"}),
    ({"groups": "x1", "fdr": 0.1}, {"groups", "fdr"}),
    ({"ranking": "c"}, {"ranking"}),
    ({"ranking": "c", "target_type": "classes"}, {"ranking", "target_type"}),
    ({"stages": ["c", "x1"]}, {"stages"}),
    ({"event": "c"}, {"event"}),
    ({"time_limit": "1h", "search": "sieve"}, {"time_limit", "search"}),
    ({"time_limit": "1h", "rounds": 2}, {"time_limit", "rounds"}),
    ({"time_limit": "1h", "stability": 3}, {"time_limit", "stability"}),
    ({"scheduler": "tcp://localhost:1", "backend": "threads"}, {"scheduler", "backend"}),
    ({"sign": "positive", "target": "c"}, {"sign"}),
    ({"search": "race", "target": "c"}, {"search"}),
    ({"rounds": 2, "target": "c"}, {"rounds"}),
]


def _format_id(each):
    """Write a case; a set has no fixed order."""
    return str(each) if isinstance(each, dict) else ",".join(sorted(each))


@pytest.fixture
def frame():
    rng = np.random.default_rng(5)
    columns = {f"x{j}": rng.uniform(0.5, 2.0, 30) for j in (1, 2)}
    columns["one"] = np.ones(30)
    columns["gap"] = np.where(np.arange(30) == 4, np.nan, columns["x1"])
    columns["infinite"] = np.where(np.arange(30) == 4, np.inf, columns["x1"])
    columns["c"] = np.array(["p", "q", "r"])[np.arange(30) % 3]
    return pd.DataFrame(columns | {"y": columns["x1"] + rng.normal(0, 0.1, 30)})


def _complete(options):
    options = {"layers": "u"} | options
    if not {"inputs", "exclude"} & options.keys():
        options["exclude"] = ["gap", "infinite"]
    return options


def _to_arguments(options):
    """Write keyword arguments as arguments of the command line."""
    arguments = []
    for name, value in options.items():
        text = ",".join(value) if isinstance(value, list) else str(value)
        arguments += [f"--{name.replace('_', '-')}{'' if value is True else f'={text}'}"]
    return arguments


@pytest.mark.slow
@pytest.mark.parametrize(("options", "named"), WRONG_USES, ids=_format_id)
def test_errors_name_options_as_the_front_end_does(options, named, frame, tmp_path, capsys):
    frame.to_csv(tmp_path / "data.csv", index=False)
    options = _complete(options)
    with pytest.raises(InputError) as raised:
        symscreen.screen(frame, **options)
    text = str(raised.value)
    assert named <= set(raised.value.options)
    assert any(mark in text for name in named for mark in (f"{name}=", name_of(name)))
    assert not FLAG_MARK.search(text)
    again = pickle.loads(pickle.dumps(raised.value))  # noqa: S301  # as from a worker process
    assert (str(again), again.options) == (text, raised.value.options)
    for shown in (text, repr(raised.value), str(again)):
        assert not MARKS.search(shown)
        assert "\\ue00" not in shown

    assert run_command(["screen", str(tmp_path / "data.csv"), *_to_arguments(options)]) == 2
    line = capsys.readouterr().err
    assert not KEYWORD_MARK.search(line), line
    assert not MARKS.search(line)
    assert any(f"--{name.replace('_', '-')}" in line for name in named), line


def name_of(option):
    return f"the column of {option}="


ESTIMATOR_USES = [
    options for options, _ in WRONG_USES if all(OPTION_FIELDS[name].estimator for name in options)
]


ESTIMATOR_CASES = [
    pytest.param(estimator, {"layers": "u"} | options, id=f"{options}-{estimator.__name__}")
    for estimator in (symscreen.SymbolicScreener, symscreen.SymbolicRegressor)
    for options in ESTIMATOR_USES
    if options.keys() <= estimator().get_params().keys()
]


@pytest.mark.parametrize(("estimator", "given"), ESTIMATOR_CASES)
def test_errors_of_estimators_name_their_arguments(estimator, given, frame):
    x = frame[["x1", "x2"]]
    with pytest.raises(InputError) as raised:
        estimator(**given).fit(x, frame["y"])
    text = str(raised.value)
    assert not FLAG_MARK.search(text), text
    assert not REPLACED_BY_ARGUMENTS.search(text), text
    assert not MARKS.search(text + repr(raised.value))
    assert "the dict" not in text


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda x, y: (x.assign(x1=np.inf), y),
            "^Input X contains infinity in 30 of 30 rows, in the column 'x1': correct",
        ),
        (lambda x, y: (x, y * 0.0), r"^X: the target 'y' is constant .*; choose another \(y\)$"),
        (lambda x, y: (x, y.where(y.index != 3)), "^y has no value in 1 of 30 rows"),
        (lambda x, y: (x.head(4), y.head(4)), "^X has 4 rows: at least 5 are needed$"),
    ],
)
def test_estimators_call_the_data_x_and_y(change, says, frame):
    x, y = change(frame[["x1", "x2"]], frame["y"])
    with pytest.raises(ValueError, match=says):
        symscreen.SymbolicScreener(layers="u").fit(x, y)


@pytest.mark.slow
def test_notices_are_written_as_the_reader_writes_options(frame, tmp_path, capsys):
    frame = frame[["x1", "x2", "y"]].rename(columns={"y": "z"})
    frame.to_csv(tmp_path / "data.csv", index=False)
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    LOGGER.addHandler(handler)
    level = LOGGER.level
    LOGGER.setLevel(logging.INFO)
    try:
        result = symscreen.screen(frame, layers="u", top=2)
    finally:
        LOGGER.setLevel(level)
        LOGGER.removeHandler(handler)
    assert result.notices == ("target: the last column, 'z'; choose another with target=",)
    assert "choose another with target=" in repr(result)
    assert "choose another with target=" in result._repr_html_()
    write_ranking(result, tmp_path / "r.csv")
    write_report(result, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "choose another with --target" in page
    kept = [
        repr(result), result._repr_html_(), stream.getvalue(), json.dumps(result.record),
        page, (tmp_path / "r.csv.json").read_text(encoding="utf-8"),
    ]  # fmt: skip
    assert not any(MARKS.search(text) or "\\ue00" in text for text in kept)
    again = pickle.loads(pickle.dumps(result.notices))  # noqa: S301  # as joblib does
    assert [render_message(each, COMMAND_LINE) for each in again] == [
        "target: the last column, 'z'; choose another with --target"
    ]

    assert run_command(["screen", str(tmp_path / "data.csv"), "--layers", "u", "--top", "2"]) == 0
    shown = capsys.readouterr()
    assert "choose another with --target" in shown.err
    assert not KEYWORD_MARK.search(shown.err + shown.out)
    assert not MARKS.search(shown.err + shown.out)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formula", "options"),
    [
        ("x1*x2", {"layers": "u"}),
        ("x1 + z", {"layers": "b", "exclude": ["z"]}),
        ("x1*x1*x1*x2", {"layers": "bb", "max_complexity": 4}),
        ("x2", {"layers": "u", "top": 1}),
        ("x2", {"layers": "u", "fdr": 0.01}),
        ("cube(x1)", {"layers": "u", "unary": "cube", "max_correlation": 0.5, "top": 1}),
        ("x2**3", {"layers": "uu", "pool_size": 1, "prune_by": "t0"}),
    ],
)
def test_explanations_are_written_as_the_reader_writes_options(formula, options, frame, tmp_path, capsys):
    frame = frame[["x1", "x2", "y"]].assign(z=frame["x1"] ** 2)
    frame.to_csv(tmp_path / "data.csv", index=False)
    text = str(symscreen.why(frame, formula, **options))
    assert not FLAG_MARK.search(text), text
    arguments = ["why", str(tmp_path / "data.csv"), formula, *_to_arguments(options)]
    assert run_command(arguments) == 0
    shown = capsys.readouterr().out
    assert not KEYWORD_MARK.search(shown), shown
    assert not MARKS.search(text + shown)
    assert FLAG_MARK.sub("", shown).count("\n") >= text.count("\n")


def test_warnings_hold_plain_texts(frame):
    x, y = frame[["x1", "x2"]], np.random.default_rng(0).permutation(frame["y"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        symscreen.SymbolicScreener(layers="u", fdr=1e-6).fit(x, y)
    assert any("fdr=1e-06" in str(each.message) for each in caught)
    assert not any(MARKS.search(str(each.message)) for each in caught)


@pytest.mark.parametrize("style", [COMMAND_LINE, KEYWORD, ESTIMATOR])
@pytest.mark.parametrize("mark", ["\ue000", "\ue001", "\ue002", "\ue000option\ue001top\ue0012\ue0012\ue002"])
def test_texts_of_users_are_no_references(mark, style):
    reference = name_option("also", f"a{mark}b") + name_option_column("weights", f"w{mark}") + mark
    texts = (reference, name_source(f"the {mark}"), hint_option("inputs", [mark, "b"]))
    for text in texts:
        assert not MARKS.search(render_message(text, style))
    assert not MARKS.search(str(DataError(reference)) + repr(DataError(reference)) + Message(reference))


@pytest.mark.parametrize(
    ("name", "value", "typed", "literal"),
    [
        ("top", None, "--top", "top="),
        ("top", "all", "--top all", "top='all'"),
        ("fdr", 0.05, "--fdr 0.05", "fdr=0.05"),
        ("fdr", np.float64(0.05), "--fdr 0.05", "fdr=0.05"),
        ("max_ram", "2GB", "--max-ram 2GB", "max_ram='2GB'"),
        ("intervals", True, "--intervals", "intervals=True"),
        ("ranking", ["a", "b c"], "--ranking 'a,b c'", "ranking=['a', 'b c']"),
        ("also", "x1 + 1", "--also 'x1 + 1'", "also='x1 + 1'"),
    ],
)
def test_values_are_written_as_they_are_given(name, value, typed, literal):
    text = name_option(name, value)
    assert render_message(text, COMMAND_LINE) == typed
    assert render_message(text, KEYWORD) == render_message(text, ESTIMATOR) == literal
    assert find_options(text) == (name,)


@pytest.mark.parametrize("refer", [name_option, hint_option, lambda name: name_option_column(name, "w")])
@pytest.mark.parametrize("name", ["--top", "max-ram", "", "top 1"])
def test_a_name_that_cannot_be_rendered_is_a_fault_of_the_program(refer, name):
    with pytest.raises(ValueError, match="is not the name of an option in Python"):
        refer(name)


def test_a_message_keeps_its_references_in_another_one():
    inner = OptionError(f"give {name_option('pool_size', 200)}")
    outer = OptionError(f"{name_option('stability')}: {inner.template}")
    assert outer.options == ("stability", "pool_size")
    assert outer.render(COMMAND_LINE) == "--stability: give --pool-size 200"
    outer.option_style = ESTIMATOR
    assert str(pickle.loads(pickle.dumps(outer))) == "stability=: give pool_size=200"  # noqa: S301  # as here


def _iterate_texts(tree):
    """List the texts of a module that are not docstrings."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, owners) and node.body]
    docstrings = {id(body[0].value) for body in bodies if isinstance(body[0], ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


@pytest.mark.slow
def test_only_the_command_line_spells_its_options():
    spelled = [
        (path.relative_to(PACKAGE).as_posix(), text)
        for path, tree in parse_package().items()
        if not {"cli", "config"} & set(path.parts)
        for text in _iterate_texts(tree)
        if re.search(r"(^|\s)--[a-z]{3}", text)
    ]
    assert spelled == [
        ("backends/dask.py", " --nthreads 1"),  # an option of the command dask
    ]


@pytest.mark.slow
def test_references_name_options_that_exist():
    verbs = [command.get_command(None, name) for name in VERBS]
    known = {"X"} | {parameter.name for verb in verbs for parameter in verb.params}
    named = {
        node.args[0].value
        for tree in parse_package().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") in {"name_option", "hint_option", "name_option_column"}
        and isinstance(node.args[0], ast.Constant)
    }
    assert len(named) > 30
    assert named <= known, named - known


def test_docstrings_of_options_do_not_spell_the_command_line():
    for name, option in OPTION_FIELDS.items():
        assert not FLAG_MARK.search(option.doc or option.help), name

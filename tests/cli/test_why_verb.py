"""`symscreen why` on the command line, and what docs/faq.md shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import symscreen
from symscreen.cli.command import run_command
from symscreen.explain import EXPLANATION_STATUSES
from symscreen.messages import COMMAND_LINE, render_message

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "faq.md").read_text()
SMALL = ["--unary", "sin,square", "--binary", "mul,add,sub"]


@pytest.fixture
def run(capsys):
    def run(*arguments):
        status = run_command([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return run


@pytest.fixture
def data(frame, tmp_path):
    path = tmp_path / "data.csv"
    frame["total"] = frame.x1 + frame.x2
    frame["k"] = 2.5
    frame.to_csv(path, index=False)
    return path


ALL = ("--max-correlation", "1")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "formula", "options", "begins"),
    [
        ("ranked", "x1*(x2 + x3)", ["--layers", "bb", *ALL], "x1*(x2 + x3) is in the space"),
        ("duplicate", "sin(x1 + x2)", ["--layers", "bu", *ALL], "sin(x1 + x2) has the values of sin(total)"),
        ("not shown", "sin(x3)*sin(x2)",
         ["--layers", "ub", "--screener", "lasso", "--prescreen", "3"],
         "sin(x3)*sin(x2) is not on the shortlist"),
        ("not generated", "sin(x1*x2)", ["--layers", "ub"], "sin(x1*x2) is not generated: it needs"),
        ("not generated", "tanh(x1)", ["--layers", "u"], "tanh(x1) is not generated: the operator tanh"),
        ("not generated", "x1*x2", ["--layers", "b", "--exclude", "x2"], "x1*x2 is not generated: the input"),
        ("undefined", "log(x1 - x2)", ["--layers", "bu", "--unary", "log"], "log(x1 - x2) is undefined in "),
        ("constant", "k*x1", ["--layers", "b"], "k*x1 is not in the space: k is"),
        ("forbidden", "sin(x1)**2*sin(sin(x2))", ["--layers", "uub"], "sin(x1)**2*sin(sin(x2)) is forbidden"),
        ("too complex", "x1*x2*x3", ["--layers", "bb", "--max-complexity", "4"], "x1*x2*x3 has complexity 5"),
        ("redundant", "x1**3*x2", ["--layers", "ubb", "--max-correlation", "0.5", "--top", "3"],
         "x1**3*x2 is left out by --max-correlation 0.5: "),
        ("unsafe", "1/(x1 - x2)",
         ["--layers", "bu", "--unary", "inv", "--binary", "sub", "--top", "100", "--unsafe", "drop"],
         "1/(x1 - x2) is left out by --unsafe drop: "),
        ("not passing", "sin(x3)", ["--layers", "ub", "--fdr", "0.001", *ALL],
          "sin(x3) does not pass --fdr 0.001"),
        ("pruned", "sin(x3)*x2", ["--layers", "ub", "--pool-size", "u:2"],
         "sin(x3)*x2 was pruned after layer 1"),
    ],
)  # fmt: skip
def test_each_answer_is_printed_as_a_sentence_of_80_columns(run, data, answer, formula, options, begins):
    with_operators = options if "--unary" in options else [*options, *SMALL]
    status, out, err = run("why", data, formula, "--target", "target", *with_operators, "--quiet")
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert out.startswith(begins)
    assert answer in EXPLANATION_STATUSES


@pytest.mark.slow
def test_a_dropped_formula_is_printed(run, data, monkeypatch):
    monkeypatch.setattr("symscreen.screening.search.modes._MIN_SURVIVORS", 8)
    monkeypatch.setattr("symscreen.screening.search.modes._SURVIVORS_PER_CLASS", 1)
    options = ["--target", "target", "--layers", "ubb", *SMALL, "--search", "sieve", "--top", 2, "--quiet"]
    status, out, _ = run("why", data, "sin(x3)*sin(x2) + sin(x3)", *options)
    assert status == 0
    assert out.startswith("sin(x3)*sin(x2) + sin(x3) was dropped by the sieve")


def test_the_command_line_says_what_python_says(run, data):
    arguments = ("--layers", "b", "--target", "target", "--screener", "t0,xi", "--max-correlation", 1)
    _, out, err = run("why", data, "x1*x2", *arguments)
    found = symscreen.why(data, "x1*x2", layers="b", target="target", screener="t0,xi", max_correlation=1)
    assert out.split() == found.text.split()
    assert all(render_message(notice, COMMAND_LINE) in err for notice in found.notices)


def test_options_of_a_screen_that_change_no_rank_are_taken(run, data):
    plain = ("why", data, "x1*x2", "--layers", "b", "--target", "target", "--max-correlation", 1, "--quiet")
    expected = run(*plain)
    assert expected[0] == 0
    for further in (
        ["--fdr-method", "by", "--p-values", "--permutations", 10**6],
        ["--class-members", 5, "--intervals"],
        ["--stability", 5, "--intervals=0.9"],
    ):
        assert run(*plain, *further) == expected
    for further in (
        ["--fdr", "0.05", "--permutations", 10**6],
        ["--max-correlation", "0.99"],
    ):  # and one line more
        status, out, err = run(*plain, *further)
        assert (status, err) == (0, "")
        assert out.startswith(expected[1])
        assert len(out.splitlines()) == len(expected[1].splitlines()) + 1
    assert run(*plain, "--stability", 5, "--groups", "x3") == run(*plain, "--exclude", "x3")


def test_a_mistake_is_one_line(run, data):
    status, out, err = run("why", data, "x1*nope", "--layers", "b")
    assert (status, out) == (2, "")
    assert err.startswith("symscreen: there is no column 'nope'")
    assert len(err.splitlines()) == 1


def test_the_help_has_examples(run):
    status, out, _ = run("why", "--help")
    assert status == 0
    assert "symscreen why data.csv" in out


def test_every_answer_is_on_the_page():
    for answer in EXPLANATION_STATUSES:
        assert f"| `{answer}` |" in PAGE


@pytest.mark.slow
def test_the_commands_of_the_page_run(run, frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame.to_csv("data.csv", index=False)
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines()]
    assert len(lines) >= 12
    for line in lines:
        quick = line.replace("--repeats 5", "--repeats 2").replace("--permutations 100", "--permutations 19")
        status, out, _ = run(*shlex.split(quick)[1:])
        assert status == 0, line
        assert out, line

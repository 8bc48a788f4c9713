from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.expressions.linear_formula import Formula
from symscreen.expressions.tree import parse_expression
from symscreen.report.terminal.listings import print_table
from symscreen.report.terminal.result_tables import build_fit_tables, format_equation

SMALL = {"operators": "ablation", "layers": "ub", "jobs": 1}


def _printed(result) -> str:
    stream = io.StringIO()
    print_table(build_fit_tables(result), stream)
    text = stream.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    return text


def _flat(text) -> str:
    return " ".join(text.split())


@pytest.fixture
def result():
    return symscreen.fit(symscreen.datasets.make_additive(n=60, noise_variance=0.1).frame, **SMALL)


def test_the_equation_is_one_line_in_the_one_notation(result):
    line = format_equation(result)
    target, text = line.split(" = ")
    assert "\n" not in line
    assert target == "target"
    short = Formula("target", *_numbers(result))
    assert parse_expression(text) == short.round_numbers(6).expression


def _numbers(result):
    return result.formula.intercept, result.formula.coefficients, result.formula.terms


def test_however_long_the_equation_stays_whole(result):
    terms = tuple(parse_expression(f"sin(x1**{power}) * x2**{power}") for power in range(2, 12))
    long = replace(result, formula=Formula("y", 1.0, (1.23456789,) * 10, terms))
    assert len(format_equation(long)) > 200
    assert format_equation(long).count("\n") == 0


def test_every_coefficient_has_its_interval(result):
    text = _printed(result)
    heading = next(line for line in text.splitlines() if line.startswith("term "))
    assert heading.split("  ")[-1].strip() == "to"
    assert "from (95 %)" in heading
    for row in result.terms.to_dict("records"):
        line = next(line for line in text.splitlines() if line.startswith(row["term"] + " "))
        assert line.split()[-3:] == [f"{row[name]:.6g}" for name in ("coefficient", "low", "high")]


def test_the_model_chosen_is_starred_once_on_the_front(result):
    text = _printed(result).split("error against complexity")[1].split("others that fit")[0]
    starred = [line for line in text.splitlines() if "  * " in line]
    assert len(starred) == 1
    assert "x1**3" in starred[0]


def test_of_a_long_front_the_part_around_the_chosen_is_shown(result):
    numbers = range(1, 31)
    front = pd.DataFrame({"complexity": numbers, "r2": [1 - 0.5**k for k in numbers], "rewritings": 0})
    front["formula"], front["chosen"] = [f"x{k}" for k in numbers], [k == 25 for k in numbers]
    text = _printed(replace(result, front=front)).split("error against")[1].split("others that")[0]
    shown = [int(line.split()[0]) for line in text.splitlines() if line[:6].strip().isdecimal()]
    assert shown == list(range(21, 29))
    assert "* x25" in text


def test_what_was_done_is_told(result):
    text = _flat(_printed(result))
    record = result.record
    tried = f"{record['models']:,} models tried, from spaces of {record['searched']:,} features together"
    assert f"{tried}; chosen by ebic" in text
    assert "the same 60 rows chose the terms" in text
    assert f"R2 = {result.r2:.6g}" in text
    split = symscreen.fit(
        symscreen.datasets.make_additive(n=60, noise_variance=0.1).frame, split=0.5, **SMALL
    )
    assert "30 rows chose the terms, 30 others gave the coefficients and this R2" in _flat(_printed(split))


def test_rivals_are_shown_where_there_are_some(result):
    assert len(result.alternatives)
    assert "others that fit about as well" in _printed(result)
    alone = replace(result, alternatives=result.alternatives.iloc[:0])
    assert "others" not in _printed(alone)


def test_names_are_printed_as_they_are(rng):
    x = rng.uniform(0.5, 2.0, (40, 2))
    columns = {"[bold]a[/bold]": x[:, 0], "b\x1b[31m :smile:": x[:, 1]}
    result = symscreen.fit(columns, 2 * x[:, 0] + x[:, 1] ** 3 + rng.normal(0, 0.01, 40), **SMALL)
    for text in (_flat(_printed(result)), format_equation(result)):
        assert "[bold]a[/bold]" in text
        assert ":smile:" in text
        assert "\x1b" not in text


def test_where_nothing_is_found_the_mean_is_shown(rng):
    result = symscreen.fit(rng.normal(size=(40, 2)), rng.normal(size=40) + 5, **SMALL)
    assert result.formula.terms == ()
    assert format_equation(result) == f"y = {result.formula.intercept:.6g}"
    text = _printed(result)
    assert "* " in text
    assert "R2 = " in text


def test_intervals_that_do_not_exist_are_told_as_such(result):
    unknown = replace(result, terms=result.terms.assign(low=np.nan, high=np.nan))
    assert "nan" in _printed(unknown)


def test_only_an_exact_formula_leaves_zero(rng):
    x = rng.uniform(1.0, 2.0, 60)
    exact = symscreen.fit({"x": x}, 2.0 * x, **SMALL)
    assert "1 - R2 = 0;" in _printed(exact)
    verdict = {"kind": "approximation", "p_value": 1e-9}
    close = replace(exact, record=exact.record | {"verdict": verdict})
    assert "R2 = 1, 1 - R2 below 1e-15;" in _printed(close)

from __future__ import annotations

import io

import pandas as pd
import pytest

import symscreen
from symscreen.grammar import OPERATORS, list_grammar_names, load_grammar
from symscreen.report.terminal.listings import (
    build_grammar_table,
    build_operator_table,
    build_plan_table,
    build_screener_table,
    print_table,
)
from symscreen.report.terminal.ranking_table import build_ranking_tables
from symscreen.screeners import SCREENERS


def _printed(content) -> str:
    stream = io.StringIO()
    print_table(content, stream)
    return stream.getvalue()


def test_a_ranking_fits_80_columns_and_says_what_was_scored(frame):
    result = symscreen.screen(frame, screener="t0,xi,kendall,spearman,pearson", layers="ub", top=5)
    text = _printed(build_ranking_tables(result))
    assert max(map(len, text.splitlines())) <= 80
    assert f"{result.n_scored:,} features of 3 inputs scored against target (60 rows)" in text
    assert "the best 5" in text
    lines = text.splitlines()
    lines = lines[next(place for place, line in enumerate(lines) if line.startswith("rank")) :]
    header = lines[0]
    assert header.split()[-7:] == ["Gini", "xi", "kendall", "spearman", "pearson", "alike", "q"]
    entries = [line.split() for line in lines if line[:4].strip().isdecimal()]
    alike = (result.table.class_size + result.table.n_redundant).tolist()
    assert [int(entry[-2]) for entry in entries] == alike
    assert "Gini: 1 is the order of the target, -1 the reverse, 0 no relation" in " ".join(text.split())


def test_column_names_reach_the_terminal_as_text(rng):
    names = ["[bold]x[/bold]", "\x1b[31mred", "a\nb", ":smile:"]
    frame = pd.DataFrame({name: rng.uniform(1, 2, 20) for name in names})
    frame["target"] = rng.normal(size=20)
    result = symscreen.screen(frame, layers="b", binary="sub", top="all")
    text = _printed(build_ranking_tables(result))
    assert "[bold]x[/bold]" in text
    assert "\x1b" not in text
    assert r"\x1b[31mred" in text
    assert r"a\nb" in text
    assert ":smile:" in text


def test_one_is_not_many_and_nothing_is_said_to_be_left(rng):
    frame = pd.DataFrame({"x": -rng.uniform(1, 2, 20), "y": rng.normal(size=20)})
    one = " ".join(
        _printed(build_ranking_tables(symscreen.screen(frame, layers="u", unary="exp", top=1))).split()
    )
    assert "2 features of 1 input scored against y (20 rows) by t0; the best 1 distinct feature:" in one
    empty = symscreen.screen(frame, layers="u", unary="log,sqrt", pool="strict")
    none = " ".join(_printed(build_ranking_tables(empty)).split())
    assert "0 features of 1 input scored against y (20 rows) by t0; no feature is left." in none
    assert "built but not scored: undefined on the data (2)." in none


@pytest.mark.slow
def test_a_plan_lists_layers_and_reasons(frame):
    text = _printed(build_plan_table(symscreen.plan(frame, layers="ub")))
    assert max(map(len, text.splitlines())) <= 80
    assert "algebraic duplicate" in " ".join(text.split())
    told = " ".join(text.split())
    assert "by structure are exact; values (domains, equal columns) can only reduce them further" in told
    assert "features to score; the pool takes" in told
    assert "without joint screeners, pruning by them, and null tables of p-values." in told


@pytest.mark.slow
@pytest.mark.parametrize("cut", [{"pool_size": 4}, {"prune_by": "t0", "pool_size": 4}, {"prune_by": "lasso"}])
def test_behind_a_cut_a_plan_promises_nothing(frame, cut):
    plan = symscreen.plan(frame, layers="ub", unary="square,sin", binary="add,mul", **cut)
    told = " ".join(_printed(build_plan_table(plan)).split())
    assert told.count("about") == 2
    assert "at most" not in told
    assert "can only reduce them further" not in told
    assert "Counts with ~ are estimates: what pruning keeps depends on the target" in told
    assert ("(no more than " in told) == ("pool_size" in cut) == (plan.max_features is not None)


@pytest.mark.parametrize("name", list_grammar_names())
def test_a_grammar_is_shown_with_its_rules(name):
    grammar = load_grammar(name)
    text = _printed(build_grammar_table(grammar))
    assert grammar.description.split()[0] in text
    for operator in grammar.unary + grammar.binary:
        assert operator.name in text


def test_every_operator_and_screener_is_listed():
    operators = _printed(build_operator_table(OPERATORS.values()))
    assert all(f"\n{name} " in operators for name in OPERATORS)
    screeners = _printed(build_screener_table(SCREENERS.values()))
    assert all(f"\n{name} " in screeners for name in SCREENERS)
    assert "Luo and Li 2024" in screeners

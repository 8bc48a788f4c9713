from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from helpers.ranking_cases import rankings
from hypothesis import given
from hypothesis import strategies as st

from symscreen.errors import DataError
from symscreen.targets.ranking_notation import (
    Rankings,
    build_rankings_from_columns,
    build_rankings_from_orders,
    format_ranking,
    parse_rankings,
)
from symscreen.targets.ranking_ranks import to_orders

NAMES = ("a", "b", "c", "d", "e", "f")


@given(rankings())
def test_what_is_written_is_read_again(rows):
    written = Rankings(rows, NAMES[: rows.shape[1]])
    read = parse_rankings(written.to_texts(), written.labels)
    assert read.labels == written.labels
    assert np.array_equal(read.ranks, written.ranks, equal_nan=True)


@given(rankings(ties=False))
def test_orders_are_read_again(rows):
    orders = [[place for place in order if place >= 0] for order in to_orders(rows).tolist()]
    read = build_rankings_from_orders(orders, labels=range(rows.shape[1]))
    assert np.array_equal(read.ranks, Rankings(rows, read.labels).ranks, equal_nan=True)


def test_labels_are_sorted_and_blanks_dropped():
    read = parse_rankings(["  tea > milk = oat milk", "milk>tea "])
    assert read.labels == ("milk", "oat milk", "tea")
    assert read.to_texts() == ["tea>milk=oat milk", "milk>tea"]


def test_labels_given_fix_the_columns():
    read = parse_rankings(["b>a"], labels=["c", "b", "a"])
    assert np.array_equal(read.ranks, [[np.nan, 1.0, 2.0]], equal_nan=True)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["a>b", "a>>b"], "row 1 of the rankings, 'a>>b', lacks a name"),
        (["a>b="], "row 0 .*lacks a name before or after '>' or '='"),
        (["a>b", ""], "row 1 of the rankings is '': a text such as"),
        (["a>b", None], "row 1 of the rankings is None"),
        ([float("nan")], "row 0 of the rankings is nan"),
        (["a>b>a"], "row 0 of the rankings names 'a' twice"),
        (["a<b"], "row 0 .*holds no '>': write the preferred label first"),
        (["a,b,c"], "holds no '>'"),
        ([], "no rankings were given"),
        ("a>b", "give a list, one text per row"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_row(texts, words):
    with pytest.raises(DataError, match=words):
        parse_rankings(texts)


def test_an_unknown_label_is_refused_with_near_ones():
    with pytest.raises(DataError, match=r"row 1 .*'coffe'.*did you mean 'coffee'\?"):
        parse_rankings(["tea>coffee", "coffe>tea"], labels=["tea", "coffee"])
    with pytest.raises(DataError, match="give a list of names"):
        parse_rankings(["a>b"], labels="ab")


def test_ties_in_orders_are_groups():
    read = build_rankings_from_orders([[3, (1, 2)], [[1, 3], 2]])
    assert (read.labels, read.to_texts()) == (("1", "2", "3"), ["3>1=2", "1=3>2"])


@pytest.mark.parametrize(
    ("orders", "words"),
    [([["a", "b"], []], "row 1 .*ranks no label"), ([["a", ("b", "a")]], "row 0 .*names 'a' twice")],
)
def test_bad_orders_are_refused(orders, words):
    with pytest.raises(DataError, match=words):
        build_rankings_from_orders(orders)


def test_columns_of_ranks_and_of_scores():
    frame = pd.DataFrame({"x": [1, 3], "y": [2, None]}, dtype="Int64")
    assert build_rankings_from_columns(frame).to_texts() == ["x>y", "x"]
    assert build_rankings_from_columns(frame, are_scores=True).to_texts() == ["y>x", "x"]


def test_bad_columns_are_refused():
    with pytest.raises(DataError, match="not a number"):
        build_rankings_from_columns({"x": ["a>b"], "y": ["b>a"]})
    with pytest.raises(DataError, match="different lengths"):
        build_rankings_from_columns({"x": [1, 2], "y": [1]})


def test_names_must_be_one_a_column_and_different():
    with pytest.raises(DataError, match="1 names were given for rankings of 2 labels"):
        Rankings([[1, 2]], ("a",))
    with pytest.raises(DataError, match="two labels are named 'a'"):
        Rankings([[1, 2]], ("a", "a"))


def test_a_text_leaves_out_what_is_missing():
    assert format_ranking([np.nan, 2, 1], ["x", "y", "z"]) == "z>y"


def test_orders_read_no_filler_and_nothing_missing_as_a_label():
    filled = to_orders([[2, 3, 1], [1, np.nan, 2]])
    with pytest.raises(DataError, match="row 1 of the rankings holds -1, which is not a label: end a list"):
        build_rankings_from_orders(filled)
    for nothing in (np.nan, None, pd.NA):
        with pytest.raises(DataError, match=r"row 0 .* which is not a label"):
            build_rankings_from_orders([["a", nothing]])
    assert build_rankings_from_orders([[1, -1, 0]], labels=[-1, 0, 1]).to_texts() == ["1>-1>0"]


@pytest.mark.parametrize(
    "orders", [None, 5, "abc", ["ab"], [1, 2], [{"a": 1}], [{"a", "b"}], [["a", ["b", [1]]]]]
)
def test_what_is_no_list_of_labels_is_refused(orders):
    with pytest.raises(DataError, match=r"list of l|not a label"):
        build_rankings_from_orders(orders)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: parse_rankings(None), "rankings are None: give a list of texts"),
        (lambda: parse_rankings(["a>b"], labels=3), "labels are 3: give a list of names"),
        (lambda: Rankings([[1, 2]], None), "labels are None"),
        (lambda: format_ranking([1, 2, 3], "ab"), "3 ranks were given with 2 names"),
        (lambda: format_ranking([1, 2], "abc"), "2 ranks were given with 3 names"),
        (lambda: format_ranking(3, "a"), "rankings have shape"),
        (lambda: build_rankings_from_columns(None), "NoneType holds no named columns"),
        (lambda: build_rankings_from_columns({}), "dict holds no named columns"),
        (lambda: build_rankings_from_columns({"a": [[1], [1, 2]], "b": [1, 2]}), "not a number"),
    ],
)
def test_odd_input_is_refused_in_words(call, words):
    with pytest.raises(DataError, match=words):
        call()


def test_unusual_labels_stand_in_backticks():
    labels = ("a>b", "c,d", "`", "x=1", " e ", "", "f-")
    written = Rankings([[1, 2, 3, 4, 4, 6, 7]], labels)
    assert written.to_texts() == ["`a>b`>`c,d`>````>`x=1`=` e `>``>`f-`"]
    assert parse_rankings(["`oat milk` > tea"]).labels == ("oat milk", "tea")


@given(st.lists(st.text("ab>=`,;- \n<→é", max_size=4), unique=True, min_size=1, max_size=5), st.data())
def test_any_labels_are_read_again(labels, data):
    ranks = data.draw(st.permutations(range(len(labels))))
    written = Rankings([ranks, np.floor(np.array(ranks) / 2)], tuple(labels))
    read = parse_rankings(written.to_texts(), labels)
    assert np.array_equal(read.ranks, written.ranks)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a -> b", "holds an arrow: '>' alone means 'is preferred to'"),
        ("a—>b", "holds an arrow"),
        ("a→b", "holds no '>'"),
        ("a>`b", "unmatched backtick"),
        ("a>b`c", "unmatched backtick"),
        ("`a`b>c", "unmatched backtick"),
        ("a>a\u202e>a", r"names 'a' twice"),
        ("\u202e>", r"row 0 of the rankings, '\\u202e>', lacks a name"),
    ],
)
def test_what_would_be_misread_is_refused(text, words):
    with pytest.raises(DataError, match=words):
        parse_rankings([text])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("(a=b)>c", "(a"), ("{a,b}>c", "{a,b}"), ("a>b,c", "b,c"), ("c>[a]", "[a]"), ("a;b>c", "a;b"),
        ("a)>b", "a)"), ("a≻b>c", "a≻b"), ("a>(b>c)", "(b"),
    ],
)  # fmt: skip
def test_marks_of_other_notations_are_no_part_of_bare_names(text, name):
    with pytest.raises(DataError) as refused:
        parse_rankings(["a>b", text])
    message = str(refused.value)
    assert message.startswith(f"row 1 of the rankings, {text!r}, has the name {name!r} with characters")
    assert message.endswith(f"write ties as a=b>c, and a name with such characters in backticks, `{name}`")
    assert parse_rankings([f"`{name}`>z"]).labels == tuple(sorted([name, "z"]))


def test_brackets_inside_a_name_are_its_own():
    assert parse_rankings(["tea (black)>milk [1]=x{2}"]).to_texts() == ["tea (black)>milk [1]=x{2}"]
    odd = Rankings([[1, 2, 3]], ("(x", "tea (hot)", "[all]"))
    assert odd.to_texts() == ["`(x`>tea (hot)>`[all]`"]
    assert parse_rankings(odd.to_texts(), odd.labels).to_texts() == odd.to_texts()

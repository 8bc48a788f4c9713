from __future__ import annotations

import numpy as np
import pytest
from helpers.strategies import expressions
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.evaluation.mp_evaluation import (
    MODERATE_ROWS,
    N_SAMPLE_ROWS,
    WIDE_ROWS,
    build_graph,
    compute_node_residues,
    compute_node_values,
    draw_residues,
    draw_rows,
    select_rows_to_check,
)
from symscreen.expressions.traversal import collect_columns, compute_key, evaluate_expression
from symscreen.expressions.tree import Constant, parse_expression

few = settings(max_examples=60, deadline=None)


@few
@given(drawn=st.lists(expressions(), min_size=1, max_size=6))
def test_values_of_many_are_the_values_of_each(drawn):
    graph = build_graph(drawn)
    values = compute_node_values(graph, draw_rows)[graph.roots]
    for expression, row in zip(drawn, values, strict=True):
        columns = {name: draw_rows(name) for name in collect_columns(expression)} or {"": draw_rows("")}
        np.testing.assert_array_equal(row, evaluate_expression(expression, columns))


@pytest.mark.slow
@few
@given(drawn=st.lists(expressions(st.sampled_from("xy")), min_size=2, max_size=6))
def test_residues_are_alike_where_keys_are(drawn):
    graph = build_graph(drawn)
    residues = compute_node_residues(graph, draw_residues)[graph.roots]
    for one, residue in zip(drawn, residues, strict=True):
        for other, further in zip(drawn, residues, strict=True):
            assert (compute_key(one) == compute_key(other)) == bool((residue == further).all())


def test_what_formulas_share_stands_once():
    graph = build_graph(
        [
            parse_expression("sin(x + y)*2"),
            parse_expression("sin(x + y)"),
            parse_expression("2 - sin(x + y)"),
            Constant(2),
        ]
    )
    assert len(graph.nodes) == 7  # x, y, x + y, sin, 2, product, difference
    assert len(set(graph.roots.tolist())) == 4
    assert [len(places) for _, places in graph.levels] == [1] * 4


def test_draws_depend_on_the_name_alone_and_lie_where_they_should():
    for name in ("x1", "", "\ud800", "a b", "N"):
        rows = draw_rows(name)
        assert np.isfinite(rows).all()
        assert (rows != 0).all()
        assert (rows[MODERATE_ROWS[1]] > 0).all()
        assert ((rows[MODERATE_ROWS[2]] > 0) & (rows[MODERATE_ROWS[2]] <= 1)).all()
        assert {-1.0, 1.0} == set(np.sign(rows[MODERATE_ROWS[0]])) == set(np.sign(rows[WIDE_ROWS]))
        assert not (rows == draw_rows(name, 1)).any()
        # 21 binary digits
        mantissa = np.frexp(rows)[0] * 2.0**21
        np.testing.assert_array_equal(mantissa, np.rint(mantissa))
    assert not (draw_rows("x1") == draw_rows("x2")).any()
    assert not (draw_residues("x1") == draw_residues("x2")).any()


def test_rows_to_check_come_from_every_range_and_are_defined(rng):
    defined = rng.random(N_SAMPLE_ROWS) < 0.5
    rows = select_rows_to_check(defined)
    assert rows == sorted(set(rows))
    assert defined[rows].all()
    assert [row for row in rows if row >= WIDE_ROWS.start] == (
        WIDE_ROWS.start + np.flatnonzero(defined[WIDE_ROWS])
    ).tolist()
    assert all(any(part.start <= row < part.stop for row in rows) for part in MODERATE_ROWS)

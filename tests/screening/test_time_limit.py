from __future__ import annotations

import json

import pytest

import symscreen
from symscreen.expansion import candidate_filter, generation

OPTIONS = {"unary": "square,sin", "binary": "add,mul", "top": 5, "seed": 1}


@pytest.fixture
def hasty(monkeypatch):
    """Make the deadline check run even for small layers."""

    def set_to(candidates):
        monkeypatch.setattr(generation, "_LONG_LAYER_CANDIDATES", candidates)
        monkeypatch.setattr(candidate_filter, "_CHECK_INTERVAL", 16)

    return set_to


def _same_ranking(one, other):
    assert one.table.equals(other.table)
    assert one.record["layers"] == other.record["layers"]
    assert one.n_scored == other.n_scored


@pytest.mark.slow
@pytest.mark.parametrize("pool", ["cumulative", "strict"])
@pytest.mark.parametrize(("long", "ended_in", "complete"), [(500, 3, "ub"), (40, 2, "u")])
def test_a_limit_while_a_layer_is_grown_leaves_the_ranking_of_the_layers_before(
    pool, long, ended_in, complete, frame, hasty
):
    hasty(long)
    asked = OPTIONS | {"pool": pool, "also": ["x1*x2*x3"]}
    part = symscreen.screen(frame, layers="ubb", time_limit=1e-9, **asked)
    _same_ranking(part, symscreen.screen(frame, layers=complete, **asked))
    partial = part.record["partial"]
    assert (partial["ended_in_layer"], partial["layers"]) == (ended_in, 3)
    assert f"while layer {ended_in} of 3 was generated" in "".join(part.notices)
    assert "give a longer time_limit=" in "".join(part.notices)


def test_a_limit_in_the_first_layer_leaves_the_inputs(frame, hasty):
    hasty(0)
    part = symscreen.screen(frame, layers="ub", time_limit=1e-9, **OPTIONS)
    assert set(part.table.expression) <= set(frame.columns)
    assert "this is the ranking of the inputs" in "".join(part.notices)


def test_the_values_of_a_long_layer_are_given_up_too(frame, monkeypatch):
    monkeypatch.setattr(generation, "_LONG_LAYER_VALUES", 0)
    part = symscreen.screen(frame, layers="ub", time_limit=1e-9, **OPTIONS)
    assert part.record["partial"]["ended_in_layer"] == 1


def test_a_limit_while_a_cut_is_made_leaves_the_layers_before(frame):
    part = symscreen.screen(frame, layers="ub", pool_size=3, time_limit=1e-9, chunk_size=2, **OPTIONS)
    assert part.record["partial"]["ended_in_layer"] == 1
    assert set(part.table.expression) <= set(frame.columns)


def test_the_same_call_with_more_time_goes_on_to_the_whole(frame, hasty, tmp_path):
    hasty(500)
    asked = OPTIONS | {"layers": "ubb", "checkpoint": tmp_path / "kept"}
    part = symscreen.screen(frame, time_limit=1e-9, **asked)
    assert part.record["partial"]["ended_in_layer"] == 3
    whole = symscreen.screen(frame, time_limit="1h", **asked)
    assert "partial" not in whole.record
    _same_ranking(whole, symscreen.screen(frame, layers="ubb", **OPTIONS))


def test_short_layers_are_always_grown(frame):
    part = symscreen.screen(frame, layers="ubb", time_limit=1e-9, chunk_size=20, **OPTIONS)
    assert "ended_in_layer" not in part.record["partial"]


def test_a_stored_result_tells_where_it_ended(frame, hasty, tmp_path):
    from symscreen.report.terminal.listings import print_table
    from symscreen.report.terminal.ranking_table import build_ranking_tables
    from symscreen.results.ranking_files import write_ranking

    hasty(500)
    part = symscreen.screen(frame, layers="ubb", time_limit=1e-9, **OPTIONS)
    write_ranking(part, str(tmp_path / "r.csv"))
    record = json.loads((tmp_path / "r.csv.json").read_text())
    assert record["partial"]["ended_in_layer"] == 3
    with (tmp_path / "shown.txt").open("w") as file:
        print_table(build_ranking_tables(part), file)
    paragraphs = (tmp_path / "shown.txt").read_text().split("\n\n")
    assert paragraphs[1].startswith("partial, 2 of 3 layers: ")  # below the verdict

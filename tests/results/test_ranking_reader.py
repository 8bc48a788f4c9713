from __future__ import annotations

import json
import os
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen._limits import CSV_PARSE_FACTOR, JSON_PARSE_FACTOR
from symscreen.errors import DataError
from symscreen.results.ranking_files import write_ranking
from symscreen.results.ranking_reader import read_ranking

ENDINGS = ("csv", "json", "parquet")


@pytest.fixture(params=[("t0,xi", "20"), ("lasso,t0", "all"), ("lasso", "all")], ids=str)
def result(request, frame):
    screener, top = request.param
    odd = frame.rename(columns={"x1": "NA", "x2": "-a, `b`\r\n", "x3": "null"})
    return symscreen.screen(
        odd, layers="ub", unary="neg,log", binary="sub", screener=screener, top=20 if top == "20" else top
    )


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_ranking_comes_back_as_it_went(result, tmp_path, ending):
    write_ranking(result, tmp_path / f"r.{ending}")
    back = read_ranking(tmp_path / f"r.{ending}")
    assert back.record == json.loads(json.dumps(result.record))
    assert list(back.table) == list(result.table)
    # in a CSV a formula that begins with a minus sign stands in parentheses
    for text, wanted in zip(back.table["expression"], result.table["expression"], strict=True):
        assert text in {wanted, f"({wanted})"}
    assert back.table["direction"].tolist() == result.table["direction"].tolist()
    for name in result.table.columns.drop(["expression", "direction"]):
        ours, theirs = (
            pd.to_numeric(table[name]).to_numpy(dtype=np.float64, na_value=np.nan)
            for table in (result.table, back.table)
        )
        np.testing.assert_array_equal(theirs, ours)


@pytest.mark.slow
def test_formulas_come_back_readable(result, tmp_path):
    from symscreen.expressions.traversal import compute_key
    from symscreen.expressions.tree import parse_expression

    write_ranking(result, tmp_path / "r.csv")
    back = read_ranking(tmp_path / "r.csv")
    names = back.record["data"]["inputs"]
    for text, expression in zip(back.table["expression"], result.expressions, strict=True):
        assert compute_key(parse_expression(text, column_names=names)) == compute_key(expression)


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_no_ranking_is_refused_in_one_line(tmp_path, ending):
    path = tmp_path / f"r.{ending}"
    for content in (b"", b"a,b\n1,2\n", b"[1, 2]", b'{"ranking": 3, "record": 4}', b"\xff\x00PAR1"):
        path.write_bytes(content)
        (tmp_path / "r.csv.json").write_bytes(b"{}")
        with pytest.raises(DataError) as error:
            read_ranking(path)
        assert "\n" not in str(error.value)
        assert path.name in str(error.value)


def test_a_lost_record_a_missing_file_and_another_ending_are_told_apart(result, tmp_path):
    write_ranking(result, tmp_path / "r.csv")
    (tmp_path / "r.csv.json").unlink()
    with pytest.raises(DataError, match=r"r\.csv\.json: cannot be read \(No such file"):
        read_ranking(tmp_path / "r.csv")
    with pytest.raises(DataError, match=r"n\.json: cannot be read"):
        read_ranking(tmp_path / "n.json")
    with pytest.raises(DataError, match=r"the file name of a ranking ends in \.csv, \.parquet, \.json"):
        read_ranking(tmp_path / "r.txt")


@pytest.mark.slow
def test_a_ranking_that_was_cut_short_is_refused(result, tmp_path):
    write_ranking(result, tmp_path / "r.csv")
    result.table.head(3).to_csv(tmp_path / "r.csv", index=False)
    with pytest.raises(DataError, match="has 3 rows, but its record reports"):
        read_ranking(tmp_path / "r.csv")


@pytest.fixture(scope="module")
def shown_by_two(shared_frame):
    return symscreen.screen(shared_frame, layers="b", binary="add", screener="t0,lasso", top="all")


@pytest.fixture
def written(shown_by_two, tmp_path):
    write_ranking(shown_by_two, tmp_path / "r.csv")
    return tmp_path / "r.csv"


@pytest.mark.slow
@pytest.mark.parametrize(
    "place", [
        "format", "shown", "scored", "options", "options.screener", "options.sign", "options.top",
        "options.rounds", "data", "data.inputs", "data.gini_mean_difference",
    ],
)  # fmt: skip
@pytest.mark.parametrize("value", ["gone", None, "x", -1, 0.0, [], {}])
def test_a_damaged_record_is_refused_in_one_line(written, place, value):
    sidecar = written.with_name("r.csv.json")
    record = json.loads(sidecar.read_text())
    *steps, last = place.split(".")
    part = record
    for step in steps:
        part = part[step]
    if value == "gone":
        del part[last]
    else:
        part[last] = value
    sidecar.write_text(json.dumps(record))
    with pytest.raises(DataError, match=place.replace(".", r"\.")) as error:
        read_ranking(written)
    assert "\n" not in str(error.value)


def by_hand(path, record=None):
    """Set the digest in the record to null, as someone does who changes a ranking on purpose."""
    sidecar = path.with_name(path.name + ".json")
    sidecar.write_text(json.dumps((record or json.loads(sidecar.read_text())) | {"digest": None}))


def test_a_lost_column_and_a_gap_are_refused(written):
    from symscreen.evaluation import evaluate

    by_hand(written)
    whole = pd.read_csv(written)
    whole.drop(columns="t0").to_csv(written, index=False)
    with pytest.raises(DataError, match="no column 't0'"):
        read_ranking(written)
    whole.drop(columns="lasso_rank").to_csv(written, index=False)
    with pytest.raises(DataError, match="no column lasso_rank"):
        evaluate(read_ranking(written), "x1")
    whole.assign(t0=whole.t0.where(whole.t0 > whole.t0.min())).to_csv(written, index=False)
    with pytest.raises(DataError, match="column t0 of the ranking has missing values"):
        evaluate(read_ranking(written), "x1")


def test_a_formula_that_is_no_text_is_refused(written):
    whole = json.loads(written.with_name("r.csv.json").read_text())
    table = pd.read_csv(written).astype(object)
    rows = table.where(table.notna(), None).to_dict("records")
    rows[0]["expression"] = None
    written.with_name("r.json").write_text(json.dumps({"record": whole, "ranking": rows}))
    with pytest.raises(DataError, match="a formula is missing"):
        read_ranking(written.with_name("r.json"))


def same(ranking, other):
    return ranking.record == other.record and ranking.table.equals(other.table)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["r.csv", "r.csv.json", "r.json", "r.parquet"])
def test_whatever_bit_changes_the_file_is_refused_or_read_as_it_was(frame, tmp_path, rng, name):
    path = tmp_path / name.replace(".csv.json", ".csv")
    write_ranking(symscreen.screen(frame, layers="b", binary="add", screener="t0,lasso", top=5), path)
    was, good = read_ranking(path), (tmp_path / name).read_bytes()
    for place in rng.choice(len(good), 60, replace=False):
        harmed = bytearray(good)
        harmed[place] ^= 1 << int(rng.integers(8))
        (tmp_path / name).write_bytes(harmed)
        with suppress(DataError):
            assert same(read_ranking(path), was), place


def test_a_figure_that_was_changed_is_told_and_may_stand_on_purpose(written):
    text = written.read_text()
    figure = text.splitlines()[1].split(",")[5]
    written.write_text(text.replace(figure, "0.125", 1))
    with pytest.raises(
        DataError, match=r'was changed after it was written.* write "digest": null in .*r\.csv\.json'
    ):
        read_ranking(written)
    by_hand(written)
    assert read_ranking(written).table["t0"][0] == 0.125


def test_ends_of_lines_and_the_layout_of_json_are_free(written):
    was = read_ranking(written)
    written.write_bytes(written.read_bytes().replace(b"\n", b"\r\n"))
    sidecar = written.with_name("r.csv.json")
    sidecar.write_text(json.dumps(json.loads(sidecar.read_text()), sort_keys=True))
    assert same(read_ranking(written), was)


def test_a_ranking_without_a_digest_or_of_another_format_is_refused(written):
    sidecar = written.with_name("r.csv.json")
    record = json.loads(sidecar.read_text())
    del record["digest"]
    sidecar.write_text(json.dumps(record))
    with pytest.raises(DataError, match="was changed after it was written"):
        read_ranking(written)
    sidecar.write_text(json.dumps(record | {"format": 2}))
    with pytest.raises(DataError, match="its record has the format 2, but this version of symscreen reads 3"):
        read_ranking(written)


@pytest.fixture
def small(frame):
    return symscreen.screen(frame, layers="u", unary="neg", top=2)


def test_a_text_that_would_not_fit_in_the_memory_allowed_is_not_read(small, tmp_path):
    for ending, grows in (("csv", CSV_PARSE_FACTOR), ("json", JSON_PARSE_FACTOR)):
        path = tmp_path / f"fits.{ending}"
        write_ranking(small, path)
        size = path.stat().st_size
        assert len(read_ranking(path, max_ram=size * grows).table)
        with pytest.raises(DataError, match="the maximum that may be read here"):
            read_ranking(path, max_ram=(size - 1) * grows)


@pytest.mark.parametrize("place", ["r.csv", "r.csv.json", "r.json", "r.parquet"])
def test_pipes_and_devices_are_no_rankings(tmp_path, place):
    (tmp_path / "r.csv").write_text("rank\n")
    (tmp_path / place).unlink(missing_ok=True)
    (tmp_path / place).symlink_to("/dev/zero")
    named = tmp_path / place.removesuffix(".json") if place == "r.csv.json" else tmp_path / place
    with pytest.raises(DataError, match="it is a pipe or a device, not a file"):
        read_ranking(named)
    if hasattr(os, "mkfifo"):
        (tmp_path / place).unlink()
        os.mkfifo(tmp_path / place)
        with pytest.raises(DataError, match="it is a pipe or a device, not a file"):
            read_ranking(named)


def test_a_record_beside_a_ranking_is_bounded(small, tmp_path, monkeypatch):
    for ending in ("csv", "parquet"):
        write_ranking(small, tmp_path / f"r.{ending}")
        assert len(read_ranking(tmp_path / f"r.{ending}").table)
    monkeypatch.setattr("symscreen.results.ranking_reader.MAX_JSON_BYTES", 100)
    for ending in ("csv", "parquet"):
        with pytest.raises(DataError, match="is not a ranking of symscreen"):
            read_ranking(tmp_path / f"r.{ending}")

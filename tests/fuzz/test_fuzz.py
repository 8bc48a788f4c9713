"""A short run of every fuzzer; the long one is benchmarks/fuzz/run.py."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from symscreen.errors import InputError
from symscreen.report.stored import read_ranking

spec = importlib.util.spec_from_file_location("harnesses", Path(__file__).with_name("harnesses.py"))
harnesses = sys.modules["harnesses"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(harnesses)


@pytest.mark.parametrize("harness", harnesses.HARNESSES)
def test_whatever_comes_is_read_or_refused(harness, rng):
    endings = [
        harnesses.ending(harness, harnesses.mutated(rng, harness, harnesses.WORDS)) for _ in range(300)
    ]
    assert "refused" in endings


@pytest.mark.parametrize("harness", harnesses.HARNESSES)
def test_the_seeds_themselves_are_read(harness):
    endings = {harnesses.ending(harness, seed) for seed in harnesses.SEEDS[harness]}
    assert "read" in endings


def refused(path):
    with pytest.raises(InputError) as caught:
        read_ranking(path)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 1000
    return str(caught.value)


def test_found_a_ranking_nested_too_deeply(tmp_path):
    (tmp_path / "r.json").write_text("[" * 10**6)
    assert "is no ranking that symscreen wrote" in refused(tmp_path / "r.json")


def test_found_a_record_that_is_a_text(tmp_path):
    (tmp_path / "r.json").write_text(json.dumps({"ranking": [{"rank": 1}], "record": "format"}))
    assert "its record is no object" in refused(tmp_path / "r.json")


def test_found_a_record_with_a_long_value(tmp_path):
    (tmp_path / "r.json").write_text(
        json.dumps({"ranking": [{"rank": 1}], "record": {"format": "9" * 10**5}})
    )
    assert "has the format" in refused(tmp_path / "r.json")


def test_found_a_parquet_ranking_whose_names_are_no_text(tmp_path):
    seed = harnesses.SEEDS["ranking-parquet"][0]
    path = tmp_path / "r.parquet"
    path.write_bytes(seed.replace(b"(-a)", b"(-\xff)"))
    assert "is no ranking that symscreen wrote" in refused(path)


def test_found_a_ranking_of_a_kind_that_arrow_cannot_read(tmp_path, monkeypatch):
    def broken(*_):
        raise pa.ArrowException("Unknown error: Wrapping (-a) failed")

    monkeypatch.setattr("symscreen.report.stored.parquet_table", broken)
    (tmp_path / "r.parquet").write_bytes(b"PAR1")
    assert "Wrapping (-a) failed" in refused(tmp_path / "r.parquet")

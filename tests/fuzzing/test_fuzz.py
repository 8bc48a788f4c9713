"""A short run of every fuzzer; the long one is the benchmark `fuzz`."""

from __future__ import annotations

import io
import json
import zipfile

import pyarrow as pa
import pytest
from fuzzing.harnesses import HARNESSES, ending
from fuzzing.mutation import mutated
from fuzzing.seeds import SEEDS
from helpers.requirements import needs

from symscreen.data import read_dataset
from symscreen.errors import InputError
from symscreen.results.ranking_reader import read_ranking

_SLOW = {"database": 40, "database-table": 60, "truth": 20, "export": 60, "checkpoint-run": 60}


_PACKAGES = {
    "workbook": "openpyxl",
    "compressed": "zstandard",
    "database": "duckdb",
    "database-table": "duckdb",
}
_EACH_HARNESS = [
    pytest.param(name, marks=[needs(_PACKAGES[name])] if name in _PACKAGES else []) for name in HARNESSES
]


@pytest.mark.slow
@pytest.mark.parametrize("harness", _EACH_HARNESS)
def test_whatever_comes_is_read_or_refused(harness, rng):
    endings = [ending(harness, mutated(rng, harness)) for _ in range(_SLOW.get(harness, 200))]
    assert "refused" in endings


@pytest.mark.parametrize("harness", _EACH_HARNESS)
def test_the_seeds_themselves_are_read(harness):
    assert "read" in {ending(harness, seed) for seed in SEEDS[harness]}


def refused(path):
    with pytest.raises(InputError) as caught:
        read_ranking(path)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 1000
    return str(caught.value)


def test_found_a_ranking_nested_too_deeply(tmp_path):
    (tmp_path / "r.json").write_text("[" * 10**6)
    assert "is not a ranking of symscreen" in refused(tmp_path / "r.json")


def test_found_a_record_that_is_a_text(tmp_path):
    (tmp_path / "r.json").write_text(json.dumps({"ranking": [{"rank": 1}], "record": "format"}))
    assert "its record is not a JSON object" in refused(tmp_path / "r.json")


def test_found_a_record_with_a_long_value(tmp_path):
    (tmp_path / "r.json").write_text(
        json.dumps({"ranking": [{"rank": 1}], "record": {"format": "9" * 10**5}})
    )
    assert "has the format" in refused(tmp_path / "r.json")


def test_found_a_parquet_ranking_whose_names_are_no_text(tmp_path):
    seed = SEEDS["ranking-parquet"][0]
    path = tmp_path / "r.parquet"
    path.write_bytes(seed.replace(b"(-a)", b"(-\xff)"))
    assert "is not a ranking of symscreen" in refused(path)


def test_found_a_ranking_of_a_kind_that_arrow_cannot_read(tmp_path, monkeypatch):
    def broken(*_):
        raise pa.ArrowException("Unknown error: Wrapping (-a) failed")

    monkeypatch.setattr("symscreen.results.ranking_reader.read_parquet", broken)
    (tmp_path / "r.parquet").write_bytes(b"PAR1")
    assert "Wrapping (-a) failed" in refused(tmp_path / "r.parquet")


def _array(header):
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header


# inputs that once ended otherwise
FOUND = [
    ("checkpoint-state", _array(b"{'descr(' "), "EOF in multi-line statement"),
    ("checkpoint-state", _array(b'{\'descr\': """'), "EOF in multi-line string"),
    ("checkpoint-state", _array(b"{'descr': ',', 'fortran_order': False, 'shape': (0,)}"), "invalid syntax"),
    (
        "checkpoint-state",
        _array(b"{'descr': '<i8', 'fortran_order': False, 'shape': (1000000000000000,)}"),
        "damaged",
    ),
    ("csv", b"ab,t,q\n,.e999,y\n", "no numeric input left"),  # an exponent without digits before it
    ("units-toml", b"a." * 499_000 + b'a = "m"', "more than 200 dots"),
    ("units-json", json.dumps({"length": "m" * 500_000}).encode(), "at most 80 are read"),
    ("units-json", json.dumps({"length": [0] * 100_000}).encode(), "a text such as"),
    ("unit", b"G**1e999", "an exponent of at most two digits"),
    ("options", b"top:" + b"9" * 5000, "give an integer"),
    ("options", b"recall:" + b"9" * 5000, "give integers"),
    ("options", b"pool_size:u:" + b"9" * 5000, "write 200, or u:50,b:200"),
    ("options", b"max-ram:" + b"9" * 400 + b"GB", "give an amount such as"),
    ("options", b"inputs:" + b"`a" * 9999, "cannot split"),
]


@pytest.mark.parametrize(("harness", "data", "words"), FOUND, ids=range(len(FOUND)))
def test_found(harness, data, words):
    with pytest.raises(InputError) as caught:
        HARNESSES[harness](data)
    assert words in str(caught.value)
    assert ending(harness, data) == "refused"


def test_found_an_archive_whose_member_has_no_name(tmp_path):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("t.csv", "a,y\n1,2\n")
    body = content.getvalue()
    start = body.rindex(b"PK\x01\x02")  # the entry of the directory; the length of its name is at byte 28
    nameless = body[: start + 28] + b"\0\0" + body[start + 30 :]
    path = tmp_path / "t.csv.zip"
    path.write_bytes(nameless)
    with pytest.raises(InputError, match="truncated or damaged"):
        read_dataset(path)


@pytest.mark.parametrize("formula", ["x1 - cbrt(x*4**j4**9**9)", "y**9*max(x,1/0)"])
def test_found_a_formula_that_sympy_could_not_evaluate(formula):
    assert ending("export", formula.encode()) == "read"

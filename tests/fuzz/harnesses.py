"""What the fuzzers throw bytes at: each harness reads them as a user's file or text would be read.

A harness returns, or raises `InputError` with one line; all else is a finding. `SEEDS` is what mutation
starts from.
"""

from __future__ import annotations

import io
import json
import tempfile
import warnings
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from symscreen.errors import InputError
from symscreen.export.bundle import bundle_as_json
from symscreen.export.formula import Formula
from symscreen.export.stored import whole_bundle_from
from symscreen.expression import key, parse, to_text
from symscreen.grammar import load_grammar
from symscreen.report.stored import read_ranking
from symscreen.table import read_table, steady

__all__ = ["HARNESSES", "SEEDS", "ending"]

_LONGEST_MESSAGE = 4000
steady._QUIET = 0.0  # who wrote the files is known


@lru_cache(maxsize=1)
def _folder() -> Path:
    shared = Path("/dev/shm")  # noqa: S108  # a million files are written: memory is kinder than a disk
    return Path(tempfile.mkdtemp(dir=shared if shared.is_dir() else None))


def _file(name: str, data: bytes) -> Path:
    path = _folder() / name
    path.write_bytes(data)
    return path


def read_csv(data: bytes) -> None:
    read_table(_file("t.csv", data))


def read_parquet(data: bytes) -> None:
    read_table(_file("t.parquet", data))


def read_feather(data: bytes) -> None:
    read_table(_file("t.feather", data))


def read_grammar(data: bytes) -> None:
    load_grammar(_file("g.toml", data))


def read_formula(data: bytes) -> None:
    tree = parse(data.decode("utf-8", "replace"))
    assert key(parse(to_text(tree))) == key(tree)


def read_bundle(data: bytes) -> None:
    whole_bundle_from(data.decode("utf-8", "replace"), "b.json")


def read_json_ranking(data: bytes) -> None:
    read_ranking(_file("r.json", data))


def read_parquet_ranking(data: bytes) -> None:
    read_ranking(_file("r.parquet", data))


def read_csv_ranking(data: bytes) -> None:
    table, _, record = data.partition(b"\n\n")
    _file("r.csv.json", record)
    read_ranking(_file("r.csv", table))


HARNESSES = {
    "csv": read_csv,
    "parquet": read_parquet,
    "feather": read_feather,
    "grammar": read_grammar,
    "formula": read_formula,
    "bundle": read_bundle,
    "ranking-json": read_json_ranking,
    "ranking-parquet": read_parquet_ranking,
    "ranking-csv": read_csv_ranking,
}


def ending(harness: str, data: bytes) -> str:
    """Run a harness and name how it ended: ``read``, ``refused``, or raise what it must not raise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            HARNESSES[harness](data)
        except InputError as error:
            message = str(error)
            # the command line puts a message on one line; it may not be a book
            assert message
            assert len(message) < _LONGEST_MESSAGE, f"a message of {len(message)} characters"
            return "refused"
    return "read"


def _seeds() -> dict[str, list[bytes]]:
    columns = {
        "b": [1.5, 2.5, 0.1, 7.0, 1e-300],
        "a": [1, 2, 3, 4, 5],
        "t": ["p", "q", None, "p", "t"],
        "y": [5, 1, 4, 2, 3],
    }
    table = pa.table(columns)
    record = {
        "format": 2,
        "digest": None,  # else no mutation would come further than that
        "shown": 2,
        "scored": 5,
        "options": {"screener": ["t0"], "sign": "free", "top": 20, "rounds": 1},
        "data": {"inputs": ["a", "b"], "gini_mean_difference": 0.5},
    }
    rows = {"rank": [1, 2], "expression": ["a*b", "(-a)"], "t0": [0.1, 0.25]}
    ranking = pd.DataFrame(rows)
    return {
        "csv": [
            b"b,a,t,y\n1,2,p,3\n4,5,q,6\n7,8,,9\n1e308,-0,x,5\n2,3,y,4\n",
            b'"a b";"c""d"\r\n1,5;2\r\n3;4\r\n5;6\r\n7;8\r\n9;1\r\n',
            b"\xef\xbb\xbfid\tx\ty\n1\tNA\t2\n2\tinf\t3\n3\t1\t4\n4\ttrue\t5\n5\t2\t6\n",
        ],
        "parquet": [_parquet(table, compression=kind) for kind in ("none", "snappy", "zstd")],
        "feather": [_feather(table, kind) for kind in (None, "zstd", "lz4")],
        "grammar": [
            (
                b'unary = ["sin", "gauss"]\nbinary = ["add"]\nconstants = [1, 2]\nlayers = "u[gauss] b"\n'
                b'[costs]\nsin = 3\n[forbid]\nsin = ["gauss"]\n[columns]\nsin = ["angle"]\n'
                b'[define.gauss]\nformula = "exp(-x**2)"\n'
            ),
            (
                b'unary = ["decay"]\n[define.decay]\nformula = "exp(-a*x)"\n'
                b"[define.decay.parameters]\na = [0.1, 1]\n"
            ),
        ],
        "formula": [
            b"x1 - cos(x2)/`my column`**2",
            b"-(x)**(2)+abs(a - b)*1e-3",
            b"9**9**9*max(x,1/y)",
            b"`a``b`+pi*floor(.5)",
        ],
        "bundle": [
            bundle_as_json([parse("x**2"), parse("sin(`a b`)/3")]).encode(),
            bundle_as_json(Formula("y", 1.0, (0.1,), (parse("x*z"),)), record={"seed": 3}).encode(),
            (
                b'{"format": 1, "symscreen": "0", "kind": "features", "inputs": ["x"], '
                b'"define": {}, "costs": {}, "features": ["x**2"]}'
            ),
        ],
        "ranking-json": [json.dumps({"record": record, "ranking": ranking.to_dict("records")}).encode()],
        "ranking-parquet": [
            _parquet(pa.Table.from_pandas(ranking).replace_schema_metadata({"symscreen": json.dumps(record)}))
        ],
        "ranking-csv": [ranking.to_csv(index=False).strip().encode() + b"\n\n" + json.dumps(record).encode()],
    }


def _parquet(table: pa.Table, **options: str) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def _feather(table: pa.Table, compression: str | None) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_file(
        sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)
    ) as writer:
        writer.write_table(table)
    return sink.getvalue()


SEEDS = _seeds()


def mutated(rng: np.random.Generator, harness: str, words: tuple[bytes, ...]) -> bytes:
    """Draw a seed and change it in a few places: bytes, words, cuts, repeats, splices."""
    seeds = SEEDS[harness]
    data = bytearray(seeds[rng.integers(len(seeds))])
    for _ in range(int(rng.integers(1, 6))):
        at = int(rng.integers(len(data) + 1))
        match int(rng.integers(8)):
            case 0 if data:
                data[at % len(data)] = int(rng.integers(256))
            case 1 if data:
                data[at % len(data)] ^= 1 << int(rng.integers(8))
            case 2:
                del data[at : at + int(rng.integers(1, 30))]
            case 3:
                data[at:at] = words[rng.integers(len(words))]
            case 4:
                start = int(rng.integers(len(data) + 1))
                data[at:at] = data[start : start + int(rng.integers(1, 40))]
            case 5:
                other = seeds[rng.integers(len(seeds))]
                data[at:] = other[int(rng.integers(len(other) + 1)) :]
            case 6 if data:
                place = at % len(data)
                data[place : place + 1] = data[place : place + 1] * int(rng.choice([2, 10, 300]))
            case _:
                size = int(rng.integers(1, 9))
                data[at : at + size] = rng.integers(256, size=size, dtype=np.uint8).tobytes()
    return bytes(data)


WORDS = (
    b"**",
    b"(",
    b")",
    b"[",
    b"]",
    b"{",
    b"}",
    b'"',
    b"'",
    b"`",
    b",",
    b";",
    b"\n",
    b"\r",
    b"\t",
    b"\0",
    b"-",
    b"1e999",
    b"9" * 20,
    b"NaN",
    b"Infinity",
    b"null",
    b"true",
    b"0x1",
    b"\xff\xff\xff\x7f",
    b"\xff" * 8,
    b"\x80",
    b"\xef\xbb\xbf",
    b"sin(",
    b"pow(",
    b"max(x,",
    b"define",
    b"= ",
    b"\\u0000",
    b"\\ud800",
    b"1_0",
    b"'''",
    b'"""',
    b"# ",
    b".",
    b"e",
    "λ".encode(),
    "\u202e".encode(),
    b"\x1b[2J",
    b"<script>",
    b"=1+1",
    b"id",
    b"[define.f]\n",
    b'formula = "x*x"\n',
)

"""What the fuzzers start from: for each reader a few whole inputs, and the words of its notation."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tempfile
import zipfile
from datetime import date
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from symscreen.export.bundle_documents import format_bundle
from symscreen.expressions.linear_formula import Formula
from symscreen.expressions.tree import parse_expression
from symscreen.grammar import OPERATORS
from symscreen.results.record import RECORD_FORMAT
from symscreen.screeners import SCREENERS
from symscreen.screening.checkpoint import dump_state
from symscreen.screening.inference.error_control import InferenceState
from symscreen.screening.scoring.streaming import StreamResult
from symscreen.screening.scoring.top_features import make_empty_features
from symscreen.statistics.inference.p_value_counts import count_p_values

__all__ = ["COMPRESSIONS", "IDENTITY", "SEEDS", "SHEET", "WORDS", "words_of", "workbook_parts"]

IDENTITY = {"symscreen": "0", "options": {"layers": "ub", "top": 20, "screener": ["t0"]}, "data": {"rows": 9}}
_COLUMNS = {
    "b": [1.5, 2.5, 0.1, 7.0, 1e-300],
    "a": [1, 2, 3, 4, 5],
    "t": ["p", "q", None, "p", "t"],
    "y": [5, 1, 4, 2, 3],
}
_RECORD = {
    "format": RECORD_FORMAT,
    "digest": None,  # else no mutation would come further than that
    "shown": 2,
    "scored": 5,
    "options": {"screener": ["t0"], "sign": "free", "top": 20, "rounds": 1},
    "grammar": {"define": {"half": "x/2"}, "costs": {"half": 1, "sin": 2}},
    "data": {"inputs": ["a", "b"], "gini_mean_difference": 0.5},
}
_RANKING = pd.DataFrame({"rank": [1, 2], "expression": ["a*half(b)", "(-a)"], "t0": [0.1, 0.25]})
_FORMULAS = (
    b"x1 - cos(x2)/`my column`**2",
    b"-(x)**(2)+abs(a - b)*1e-3",
    b"9**9**9*max(x,1/y)",
    b"`a``b`+pi*floor(.5)",
)


def _parquet(table: pa.Table, **options: str) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def _feather(table: pa.Table, compression: str | None) -> bytes:
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue()


COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst", ".zip")
SHEET = "xl/worksheets/sheet1.xml"
_CSV = b"b,a,t,y\n1,2,p,3\n4,5,q,6\n7,8,p,9\n3,1,q,5\n2,3,p,4\n"


@cache
def workbook_parts() -> dict[str, bytes]:
    """Return the members of a small workbook by name."""
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["a", "day", "word", "y"])
    for row in range(6):
        book.active.append([row + 0.5, date(2020, 1, 1 + row), "pq"[row % 2], row * row])
    content = io.BytesIO()
    book.save(content)
    with zipfile.ZipFile(content) as members:
        return {name: members.read(name) for name in members.namelist()}


def _workbook() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as members:
        for name, part in workbook_parts().items():
            members.writestr(name, part)
    return content.getvalue()


def _compressed() -> list[bytes]:
    import zstandard

    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as members:
        members.writestr("t.csv", _CSV)
    packed = (
        gzip.compress(_CSV),
        bz2.compress(_CSV),
        lzma.compress(_CSV),
        zstandard.ZstdCompressor().compress(_CSV),
        archive.getvalue(),
    )
    return [bytes([kind]) + content for kind, content in enumerate(packed)]


def _database() -> bytes:
    """Return the file of a database with two tables and a view."""
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "seed.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute("CREATE TABLE t AS SELECT range AS a, range * 2.5 AS y FROM range(20)")
            connection.execute('CREATE TABLE "u""v" AS SELECT range AS b, -range AS y FROM range(9)')
            connection.execute("CREATE VIEW w AS SELECT a, y + 1 AS y FROM t WHERE a > 2")
        return path.read_bytes()


def _states() -> list[bytes]:
    """Return a checkpoint's arrays as one file, and one after the other."""
    tally = count_p_values(np.array([0.5, 0.25, 0.25]))
    state = StreamResult(
        (make_empty_features(1),), 3, {}, InferenceState(tally, None), n_done=3, n_total=9, n_chunks=1
    )
    body = dump_state(state, "run").partition(b"\n")[2]
    with np.load(io.BytesIO(body)) as arrays:
        parts = []
        for name in arrays.files:
            sink = io.BytesIO()
            np.save(sink, arrays[name])
            parts.append(sink.getvalue())
    return [body, b"".join(parts)]


def _list_package_seeds() -> dict[str, list[bytes]]:
    """Return the seeds of readers that need a package; an entry is empty where it is not installed."""
    names = [b"t", b'u"v', b"w", b"main.t", b'main."u""v"', b"t; DROP TABLE t", b't" UNION SELECT 1']
    has_duckdb = find_spec("duckdb") is not None
    return {
        "workbook": [workbook_parts()[SHEET], _workbook()] if find_spec("openpyxl") else [],
        "compressed": _compressed() if find_spec("zstandard") else [],
        "database": [_database()] if has_duckdb else [],
        "database-table": names if has_duckdb else [],
    }


def _seeds() -> dict[str, list[bytes]]:
    table = pa.table(_COLUMNS)
    ranking = pa.Table.from_pandas(_RANKING).replace_schema_metadata({"symscreen": json.dumps(_RECORD)})
    as_csv = _RANKING.to_csv(index=False).strip().encode()
    return {
        "csv": [
            b"b,a,t,y\n1,2,p,3\n4,5,q,6\n7,8,,9\n1e308,-0,x,5\n2,3,y,4\n",
            b'"a b";"c""d"\r\n1,5;2\r\n3;4\r\n5;6\r\n7;8\r\n9;1\r\n',
            b"\xef\xbb\xbfid\tx\ty\n1\tNA\t2\n2\tinf\t3\n3\t1\t4\n4\ttrue\t5\n5\t2\t6\n",
        ],
        "text": [
            b"# made today\n# a b\n1,5 2\n2,5 3\n3,5 1\n4,5 7\n5,5 9\n",
            "sep=;\nd;p;y\nK;$;\n31.12.2020;$1.000;1 %\n1.1.2021;$2.500;2 %\n".encode("utf-16"),
            b"1.5,2020-01-31,a\n2.5,-,a\n0.5,2020-02-01,b\n3.5,2020-02-02,a\n4.5,2020-02-03,\xfc\n7,2020-02-04,a\n",
        ],
        "json": [
            b'[{"a": 1, "y": "$2"}, {"a": 2.5, "y": 3}, {"a": 4, "y": 5}, {"a": 5, "y": "4"}]',
            b'{"a": [1, 2, 3, 4, 5], "y": [2, 1, 4, 3, 5]}',
            b'{"a": 1, "y": 2}\n{"a": 2, "y": 1}\n{"a": 3, "y": 5}\n{"a": 4, "y": 3}\n{"a": 5, "y": 9}\n',
        ],
        "parquet": [_parquet(table, compression=kind) for kind in ("none", "snappy", "zstd")],
        "feather": [_feather(table, kind) for kind in (None, "zstd", "lz4")],
        "workbook": [workbook_parts()[SHEET], _workbook()],
        "compressed": _compressed(),
        "database": [_database()],
        "database-table": [
            b"t",
            b'u"v',
            b"w",
            b"main.t",
            b'main."u""v"',
            b"t; DROP TABLE t",
            b't" UNION SELECT 1',
        ],
        "label-rankings": [
            b"x,r\n1,a>b=c\n2,b>a\n3,c>`a`>b\n4,`d>`=a>b\n5,a>b\n6,b>c>a\n",
            b"x,a,b,c\n1,1,2,3\n2,2,,1\n3,1.5,1.5,3\n4,3,2,1\n5,0,0,9\n",
        ],
        "stages": [b"x,viewed,liked,followed\n1,1,1,0\n2,1,0,\n3,0,,\n4,1,1,1\n5,1,-1,-1\n6,1,1,0\n"],
        "long-stages": [
            b"user,item,viewed,liked\nann,x,1,1\nbob,x,1,0\nann,y,0,\n",
            b"user,item,reached\nann,x,liked\nbob,x,viewed\n3,y,\n",
        ],
        "other-responses": [
            b"x,c\n1,p\n2,q\n3,p\n4,q\n5,p\n6,r\n",
            b"x,y1,y2\n1,1,5\n2,2,3\n3,1,4\n4,5,2\n5,2,1\n",
            b"x,time,event\n1,5,1\n2,3,0\n3,4,1\n4,2,1\n5,1,0\n",
        ],
        "study": [
            b'[data]\nfile = "a.csv"\ntarget = "y"\ninputs = ["a", "b,c"]\nunits = {a = "mm"}\n[screen]\n',
            b'[data]\nfile = "a.csv"\n[screen]\nlayers = "u[sin] b"\ntop = 20\nscreener = ["t0", "xi"]\n',
            b'[data]\nfile = "a.csv"\n[screen]\nfdr = 0.05\npool_size = {u = 5}\nintervals = true\n',
            b'[data]\nfile = "a"\n[fit]\nalso = ["a*b"]\n[run]\njobs = 2\n[output]\nmodel = "m.json"\n',
        ],
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
        "formula": [*_FORMULAS],
        "also": [b"`x (mm)`/`t (s)`*n", b"sqrt(a)*`x (mm)`**2", b"max(a,n)+exp(-a)", b"abs(a - n)"],
        "truth": [b"2*x1**3 + 5*x3 + 10", b"x1 - cos(x2)/x1", b"exp(-x1**2)*x2", b"x1*(4 - x2/(1 + x1))"],
        "export": [*_FORMULAS],
        "unit": [b"kg*m/s**2", b"length (mm)", "W/m²".encode(), b"m s-1", b"degC", b"J/(mol*K)", b"m**(1/2)"],
        "units-toml": [b'length = "mm"\ntime = "h"\n"n" = "1"\n', b'"a b" = "kg*m/s**2"\nlength = "km"\n'],
        "units-json": [b'{"length": "mm", "time": "h", "n": "1"}', b'{"length": "\\u00b5m", "y": "J"}'],
        "options": [
            b"layers:u[sin,square] b[add,sub]",
            b"screener:t0,lasso[engine=glmnet,folds=5]",
            b"unary:sin, exp",
            b"operators:physics",
            b"prune_by:t0,xi",
            b"pool_size:u:50,b:200",
            b"max-ram:1.5GB",
            b"time-limit:1.5m",
            b"inputs:a, `b,c`",
            b"top:all",
            b"top:20",
            b"recall:20,100",
            b"noise-ratio:0,0.01",
            b"intervals:0.9",
            b"name:x1=B2\nx2=C2",
        ],
        "bundle": [
            format_bundle([parse_expression("x**2"), parse_expression("sin(`a b`)/3")]).encode(),
            format_bundle(Formula("y", 1.0, (0.1,), (parse_expression("x*z"),)), record={"seed": 3}).encode(),
            (
                b'{"format": 1, "symscreen": "0", "kind": "features", "inputs": ["x"], '
                b'"define": {"f": {"formula": "x*x", "cost": 1}}, "costs": {"sin": 2}, "features": ["f(x)"]}'
            ),
        ],
        "ranking-json": [json.dumps({"record": _RECORD, "ranking": _RANKING.to_dict("records")}).encode()],
        "ranking-parquet": [_parquet(ranking)],
        "ranking-csv": [as_csv + b"\n\n" + json.dumps(_RECORD).encode()],
        "checkpoint-state": _states(),
        "checkpoint-run": [json.dumps({"format": 1, **IDENTITY}).encode()],
        "local-page": [
            b"GET /{token}/\nhost: 127.0.0.1:8000",
            b"GET /{token}/formulas\nhost: localhost:8000",
            b"GET /{token}/points?formula=0\nhost: 127.0.0.1",
            b"GET /{token}/export?format=sql&formula=1\nhost: 127.0.0.1:8000",
            b"POST /{token}/why\nhost: 127.0.0.1\norigin: http://127.0.0.1\n\nx1**2 - `a b`",
            b"POST /{token}/why\nhost: 127.0.0.1\nsec-fetch-site: same-origin\n\nlog(x2)*x1",
        ],
    }


SEEDS = _seeds()

WORDS: tuple[bytes, ...] = (
    *(b"**", b"(", b")", b"[", b"]", b"{", b"}", b'"', b"'", b"`", b",", b";", b"\n", b"\r", b"\t", b"\0"),
    *(b"-", b"1e999", b"9" * 20, b"NaN", b"Infinity", b"null", b"true", b"0x1", b"\xff\xff\xff\x7f"),
    *(b"\xff" * 8, b"\x80", b"\xef\xbb\xbf", b"sin(", b"pow(", b"max(x,", b"define", b"= ", b"\\u0000"),
    *(b"\\ud800", b"1_0", b"'''", b'"""', b"# ", b".", b"e", "λ".encode(), "\u202e".encode(), b"\x1b[2J"),
    *(b"<script>", b"=1+1", b"id", b"[define.f]\n", b'formula = "x*x"\n', b">", b"=", b"a>b=c", b"-1"),
    *(b"1e-320", b"**(1/2)", b"9**9**9", b"1" * 400, b"9" * 5000, "²".encode(), "·".encode(), b" = ["),
)
_KEYS: dict[str, tuple[str, ...]] = {
    "bundle": (
        *('"format"', '"symscreen"', '"kind"', '"model"', '"features"', '"inputs"', '"define"', '"costs"'),
        *('"record"', '"target"', '"intercept"', '"terms"', '"coefficient"', '"expression"', '"tree"'),
        *('"domains"', '"digest"', '"formula"', '"cost"'),
    ),
    "ranking": (
        *('"record"', '"ranking"', '"format"', '"shown"', '"scored"', '"options"', '"screener"', '"sign"'),
        *('"top"', '"rounds"', '"data"', '"inputs"', '"gini_mean_difference"', '"grammar"', '"operators"'),
        *('"costs"', '"define"', '"unary"', '"binary"', '"units"', '"columns"', '"factor"', '"offset"'),
        *("expression", "rank", "t0", '"all"', '"free"'),
    ),
    "study": (
        *("[data]", "[screen]", "[fit]", "[run]", "[output]", "file", "target", "inputs", "units", "top"),
        *("layers", "pool_size", "intervals", "screener", "effort", "jobs", "report", "table", "model"),
    ),
    "grammar": (
        *("description", "unary", "binary", "constants", "layers", "max_complexity", "[costs]", "[forbid]"),
        *("[forbid_within]", "[columns]", "[define.", "formula", "cost", "parameters"),
    ),
    "unit": (
        *("kg", "mm", "degC", "degF", "delta_degC", "dB", "Np", "pH", "percent", "ppm", "rad", "bit", "eV"),
        *("kilo", "per", "squared", "cubed", "to", "µ", "Å", "°", "%", "mile", "pixel", "dot", "count"),
    ),
    "options": (
        *(
            "layers:",
            "unary:",
            "operators:",
            "screener:",
            "prune_by:",
            "pool_size:",
            "max-ram:",
            "time-limit:",
        ),
        *("inputs:", "top:", "recall:", "noise-ratio:", "intervals:", "name:", "folds=", "rule="),
        *("engine=", "GB", "min", "all"),
    ),
    "local-page": (
        *("GET ", "POST ", "HEAD ", "/{token}/", "open/", "formulas", "points", "why", "export", "?formula="),
        *("&formula=", "?format=", "csv", "numpy", "sql", "excel", "latex", "host: ", "origin: ", "\n\n"),
        *("sec-fetch-site: ", "127.0.0.1", "localhost", "%00", "%2e%2e/", "x1", "x2", "`a b`", "log("),
    ),
    "workbook": (
        *("<row r=", "<c r=", 't="s"', 't="inlineStr"', 't="b"', 't="e"', "<v>", "</v>", "<is><t>", "<f>"),
        *("<sheetData>", "</sheetData>", "<dimension ref=", "A1:XFD1048576", 's="1"', "&amp;", "&#0;"),
    ),
    "database-table": (
        *('"', "''", ";", "--", "main.", "t", "w", "u", "SELECT ", "DROP TABLE ", "INSTALL ", "COPY ", "/*"),
        *("read_csv('", "ATTACH '", "information_schema.tables", "duckdb_settings()", "pragma_version()"),
    ),
    "checkpoint-state": ("'descr': ", "'<i8'", "'<f8'", "'|O'", "'shape': ", "'fortran_order': ", "(0, 2)"),
}
_CALLING = ("formula", "also", "truth", "export", "grammar", "bundle")


def words_of(harness: str) -> tuple[bytes, ...]:
    """Return the words that are worth putting into an input of a reader."""
    named = [words for name, words in _KEYS.items() if harness.startswith(name)]
    own = [word for words in named for word in words]
    own += [f"{name}(" for name in OPERATORS] if harness in _CALLING else []
    own += [*SCREENERS, *OPERATORS] if harness == "options" else []
    return (*WORDS, *(word.encode() for word in own))

"""What the fuzzers throw bytes at: each harness reads them as a user's file or text would be read.

A harness returns, or raises `InputError` with one line; all else is a finding.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import tempfile
import warnings
import zipfile
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
import pandas as pd
from fuzzing.seeds import COMPRESSIONS, IDENTITY, SEEDS, SHEET, workbook_parts
from helpers.explorer_cases import TOKEN, store_cases

from symscreen._option_values import parse_name_list
from symscreen.cli.export import _parse_column_names
from symscreen.cli.options import parse_counts, parse_ratios
from symscreen.config.parsing import (
    parse_level_text,
    parse_memory_limit,
    parse_pool_sizes,
    parse_top_text,
    split_names,
)
from symscreen.config.screen_options import ScreenOptions
from symscreen.data import SourceFrame, read_dataset, read_frame
from symscreen.data.readers import file_bytes
from symscreen.errors import InputError
from symscreen.evaluation.truth import parse_truth
from symscreen.explorer.application import build_application
from symscreen.explorer.exploration import open_exploration
from symscreen.export import build_operators_from_record
from symscreen.export.bundle_documents import parse_bundle
from symscreen.export.formats import EXPORT_FORMATS
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import (
    collect_columns,
    compute_complexity,
    compute_key,
    evaluate_expression,
)
from symscreen.expressions.tree import parse_expression
from symscreen.grammar import load_grammar
from symscreen.multistage import read_chains
from symscreen.results.ranking_reader import read_ranking
from symscreen.screeners import parse_screeners
from symscreen.screening.checkpoint import CheckpointStore, open_checkpoint
from symscreen.screening.preparation import parse_pool_screeners
from symscreen.screening.run_control import parse_seconds
from symscreen.studies.study_file import format_study, parse_study
from symscreen.units import check_formula_units, read_units
from symscreen.units.unit_parsing import extract_header_unit, parse_unit

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["HARNESSES", "ending"]

_LONGEST_MESSAGE = 4000
_MAGIC = b"\x93NUMPY"
_ARRAYS = (
    *("0_number", "0_loss", "0_signature", "0_pearson", "0_complexity", "0_direction", "0_keys"),
    *("0_class_size", "0_scores", "tally_keys", "tally_counts", "lost", "figures"),
)


@cache
def _folder() -> Path:
    file_bytes._QUIET_PERIOD_S = 0.0  # nobody else writes the files of this folder
    shared = Path("/dev/shm")  # noqa: S108  # a million files are written: memory is kinder than a disk
    return Path(tempfile.mkdtemp(dir=shared if shared.is_dir() else None))


def _file(name: str, data: bytes) -> Path:
    path = _folder() / name
    path.write_bytes(data)
    return path


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def read_csv(data: bytes) -> None:
    read_dataset(_file("t.csv", data))


def read_text(data: bytes) -> None:
    read_dataset(_file("t.txt", data), missing="indicator")


def read_json(data: bytes) -> None:
    read_dataset(_file("t.json", data))


def read_parquet(data: bytes) -> None:
    read_dataset(_file("t.parquet", data))


def read_feather(data: bytes) -> None:
    read_dataset(_file("t.feather", data))


def read_workbook(data: bytes) -> None:
    """Read a workbook whose container is right, with the bytes as its sheet; or bytes that begin as a zip."""
    body = data
    if not data.startswith(b"PK"):
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as members:
            for name, part in workbook_parts().items():
                members.writestr(name, data if name == SHEET else part)
        body = content.getvalue()
    read_dataset(_file("t.xlsx", body))


def read_compressed(data: bytes) -> None:
    """Read a compressed file; its first byte chooses the kind."""
    read_dataset(_file(f"t.csv{COMPRESSIONS[data[0] % len(COMPRESSIONS)] if data else '.gz'}", data[1:]))


def read_database(data: bytes) -> None:
    """Read a table of a database whose file is the bytes."""
    path = _file("t.duckdb", data)
    read_dataset(f"duckdb:{path}#t")


@cache
def _database() -> Path:
    return _file("own.duckdb", SEEDS["database"][0])


def read_database_table(data: bytes) -> None:
    """Read a table of a database, whose name is the text; the database must stay as it is."""
    before = _database().read_bytes()
    try:
        read_dataset(f"duckdb:{_database()}#{_text(data)}")
    finally:
        assert _database().read_bytes() == before


def _framed(data: bytes, *beside: str) -> tuple[SourceFrame, list[str]]:
    """Read a CSV file; the columns that are none of some others stand for the response."""
    frame = read_frame(_file("r.csv", data))
    return frame, [name for name in frame.columns if name not in beside]


def read_label_rankings(data: bytes) -> None:
    frame, names = _framed(data, "x")
    read_dataset(frame, ranking=names)


def read_stages(data: bytes) -> None:
    frame, names = _framed(data, "x")
    read_dataset(frame, stages=names)


def read_other_responses(data: bytes) -> None:
    frame, names = _framed(data, "x", "event")
    if "event" in frame.columns:
        read_dataset(frame, target=names[0] if names else None, event="event")
    else:
        read_dataset(frame, target=",".join(names), target_type="several" if len(names) > 1 else "classes")


def read_long_stages(data: bytes) -> None:
    frame, names = _framed(data, "user", "item", "reached")
    cells = {name: _cells(own, frame.n) for name, own in frame.columns.items()}
    reached = "reached" if "reached" in cells else None
    read_chains(pd.DataFrame(cells), stages=["viewed", "liked"] if reached else names, reached=reached)


def _cells(column: Any, rows: int) -> Any:
    if column.numbers is not None:
        return column.numbers
    return [None] * rows if column.texts is None else column.texts.to_list()


def read_grammar(data: bytes) -> None:
    load_grammar(_file("g.toml", data))


def read_study_file(data: bytes) -> None:
    """Read a study file; what is read must be written so that it is read again."""
    study = parse_study(data, "study.toml", Path("study.toml"))
    again = parse_study(format_study(study), "study.toml", Path("study.toml"))
    assert (again.data, again.options, again.outputs) == (study.data, study.options, study.outputs)


def read_formula(data: bytes) -> None:
    tree = parse_expression(_text(data))
    assert compute_key(parse_expression(to_text(tree))) == compute_key(tree)


def read_also(data: bytes) -> None:
    """Read a formula as ``--also`` does, check its units and compute it."""
    table, units = _table_with_units()
    tree = parse_expression(_text(data), _grammar().operators, table.names)
    assert compute_complexity(tree) > 0
    evaluate_expression(tree, dict(zip(table.names, table.columns, strict=True)))
    check_formula_units([tree], units)


def read_known_formula(data: bytes) -> None:
    parse_truth(_text(data))


def write_elsewhere(data: bytes) -> None:
    """Read a formula, and write it in each language that takes it."""
    tree = parse_expression(_text(data))
    refused = []
    for target in EXPORT_FORMATS.values():
        try:
            assert target.write((tree,))
        except InputError as error:
            refused.append(error)
    if len(refused) == len(EXPORT_FORMATS):
        raise refused[0]


@cache
def _table_with_units() -> tuple[Any, Any]:
    draw = np.random.default_rng(0)
    columns = {name: draw.uniform(1, 2, 8) for name in ("x (mm)", "t (s)", "n", "a", "y")}
    return read_units(read_dataset(columns), "strict", None)


@cache
def _plain_table() -> Any:
    draw = np.random.default_rng(0)
    return read_dataset({name: draw.uniform(1, 2, 8) for name in ("length", "time", "n", "y")})


def read_unit(data: bytes) -> None:
    text = _text(data)
    if (inner := extract_header_unit(text)) is not None and inner != text:
        try:
            parse_unit(inner)
        except InputError:
            parse_unit(text)
            return
    else:
        parse_unit(text)


def read_units_toml(data: bytes) -> None:
    read_units(_plain_table(), _file("u.toml", data), None)


def read_units_json(data: bytes) -> None:
    read_units(_plain_table(), _file("u.json", data), None)


def read_bundle(data: bytes) -> None:
    parse_bundle(_text(data), "b.json")


def _read_ranking(path: Path) -> None:
    """Read a ranking and its formulas, as `export` does."""
    stored = read_ranking(path)
    operators = build_operators_from_record(stored.record)
    for text in stored.table["expression"]:
        collect_columns(parse_expression(text, operators, stored.record["data"]["inputs"]))


def read_json_ranking(data: bytes) -> None:
    _read_ranking(_file("r.json", data))


def read_parquet_ranking(data: bytes) -> None:
    _read_ranking(_file("r.parquet", data))


def read_csv_ranking(data: bytes) -> None:
    table, _, record = data.partition(b"\n\n")
    _file("r.csv.json", record)
    _read_ranking(_file("r.csv", table))


def read_state(data: bytes) -> None:
    """Read a checkpoint whose checksums are right: damage alone never comes so far."""
    body = data
    if data.startswith(_MAGIC):
        parts = [_MAGIC + part for part in data.split(_MAGIC)[1:]]
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as members:
            for name, part in zip(_ARRAYS, parts, strict=False):
                members.writestr(f"{name}.npy", part)
        body = content.getvalue()
    head = f"symscreen-checkpoint 1 run {hashlib.sha256(body).hexdigest()}\n"
    _file("s.state", head.encode() + body)
    CheckpointStore(_folder(), "run").load("s", lambda _: None, 1 << 20)


def read_run(data: bytes) -> None:
    """Read what a checkpoint says of its run."""
    path = _folder() / "kept"
    path.mkdir(exist_ok=True)
    (path / "run.json").write_bytes(data)
    with open_checkpoint(path, IDENTITY):
        pass


@cache
def _local_page() -> Any:
    """Build the local page of a small ranking with its rows."""
    folder = _folder() / "page"
    folder.mkdir()
    stored = store_cases(folder)
    return build_application(open_exploration(stored.ranking, stored.data), TOKEN)


_loop = cache(asyncio.new_event_loop)


def ask_local_page(data: bytes) -> None:
    """Send the local page a request: a line with method and address, headers, an empty line, and a body.

    `{token}` in the address is replaced by the token. No answer may be an error of the server.
    """
    head, _, body = data.partition(b"\n\n")
    first, *lines = head.decode("latin-1").split("\n")
    method, _, address = first.partition(" ")
    path, _, query = address.replace("{token}", TOKEN).partition("?")
    pairs = [line.partition(":")[::2] for line in lines]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "http",
        "method": method,
        "path": unquote(path),
        "raw_path": path.encode("latin-1"),
        "root_path": "",
        "query_string": query.encode("latin-1"),
        "headers": [
            (name.strip().lower().encode("latin-1"), value.strip().encode("latin-1")) for name, value in pairs
        ],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8000),
    }
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    _loop().run_until_complete(_local_page()(scope, receive, send))
    status = sent[0]["status"]
    assert status < 500, f"the local page answered {status}"
    if status >= 400:
        raise InputError(f"the local page answered {status}")


_grammar = cache(load_grammar)


def _option(name: str) -> Any:
    return SimpleNamespace(name=name)


_OPTIONS: dict[str, Callable[[str], object]] = {
    "layers": lambda text: _grammar().resolve_layers(text),
    "unary": lambda text: _grammar().override(unary=split_names(text), binary=None, max_complexity=None),
    "operators": load_grammar,
    "screener": parse_screeners,
    "prune_by": lambda text: parse_pool_screeners(ScreenOptions(prune_by=text, pool_size=9)),
    "pool_size": parse_pool_sizes,
    "max-ram": parse_memory_limit,
    "time-limit": parse_seconds,
    "inputs": lambda text: parse_name_list(text, "inputs"),
    "top": lambda text: parse_top_text(text, "top"),
    "recall": lambda text: parse_counts(_option("c"), _option("recall"), text),
    "noise-ratio": lambda text: parse_ratios(_option("c"), _option("noise_ratio"), text),
    "intervals": lambda text: parse_level_text(text, "intervals"),
    "name": lambda text: _parse_column_names(_option("c"), _option("name"), tuple(text.splitlines())),
}


def read_options(data: bytes) -> None:
    name, _, text = _text(data).partition(":")
    reader = _OPTIONS.get(name)
    if reader is None:
        raise InputError("no such option")
    reader(text)


HARNESSES: dict[str, Callable[[bytes], None]] = {
    "csv": read_csv,
    "text": read_text,
    "json": read_json,
    "parquet": read_parquet,
    "feather": read_feather,
    "workbook": read_workbook,
    "compressed": read_compressed,
    "database": read_database,
    "database-table": read_database_table,
    "label-rankings": read_label_rankings,
    "stages": read_stages,
    "long-stages": read_long_stages,
    "other-responses": read_other_responses,
    "grammar": read_grammar,
    "study": read_study_file,
    "formula": read_formula,
    "also": read_also,
    "truth": read_known_formula,
    "export": write_elsewhere,
    "unit": read_unit,
    "units-toml": read_units_toml,
    "units-json": read_units_json,
    "options": read_options,
    "bundle": read_bundle,
    "ranking-json": read_json_ranking,
    "ranking-parquet": read_parquet_ranking,
    "ranking-csv": read_csv_ranking,
    "checkpoint-state": read_state,
    "checkpoint-run": read_run,
    "local-page": ask_local_page,
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

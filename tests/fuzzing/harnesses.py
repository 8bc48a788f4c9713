"""What the fuzzers throw bytes at: each harness reads them as a user's file or text would be read.

A harness returns, or raises `InputError` with one line; all else is a finding.
"""

from __future__ import annotations

import hashlib
import io
import tempfile
import warnings
import zipfile
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from fuzzing.seeds import IDENTITY

from symscreen.cli.export import _read_names
from symscreen.cli.options import read_counts, read_level, read_ratios, read_top, split_names
from symscreen.errors import InputError
from symscreen.evaluation.truth import read_truth
from symscreen.export import operators_of_record
from symscreen.export.stored import whole_bundle_from
from symscreen.export.targets import TARGETS
from symscreen.expression import columns_of, complexity, evaluate, key, parse, to_text
from symscreen.grammar import load_grammar
from symscreen.multistage import read_chains
from symscreen.options import list_of_names, read_cutters, read_keep, read_memory
from symscreen.pipeline.checkpoint import Folder, opened
from symscreen.pipeline.options_running import read_seconds
from symscreen.report.stored import read_ranking
from symscreen.screeners import screeners_asked
from symscreen.table import Frame, read_frame, read_table, steady
from symscreen.units import checked_formulas, given_units
from symscreen.units.column_unit import column_unit, unit_in_header

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["HARNESSES", "ending"]

_LONGEST_MESSAGE = 4000
steady._QUIET = 0.0  # who wrote the files is known
_MAGIC = b"\x93NUMPY"
_ARRAYS = (
    *("0_number", "0_loss", "0_signature", "0_pearson", "0_complexity", "0_direction", "0_keys"),
    *("0_class_size", "0_scores", "tally_keys", "tally_counts", "lost", "figures"),
)


@cache
def _folder() -> Path:
    shared = Path("/dev/shm")  # noqa: S108  # a million files are written: memory is kinder than a disk
    return Path(tempfile.mkdtemp(dir=shared if shared.is_dir() else None))


def _file(name: str, data: bytes) -> Path:
    path = _folder() / name
    path.write_bytes(data)
    return path


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def read_csv(data: bytes) -> None:
    read_table(_file("t.csv", data))


def read_parquet(data: bytes) -> None:
    read_table(_file("t.parquet", data))


def read_feather(data: bytes) -> None:
    read_table(_file("t.feather", data))


def _framed(data: bytes, *beside: str) -> tuple[Frame, list[str]]:
    """Read a CSV file; the columns that are none of some others stand for the response."""
    frame = read_frame(_file("r.csv", data))
    return frame, [name for name in frame.columns if name not in beside]


def read_label_rankings(data: bytes) -> None:
    frame, names = _framed(data, "x")
    read_table(frame, ranking=names)


def read_stages(data: bytes) -> None:
    frame, names = _framed(data, "x")
    read_table(frame, stages=names)


def read_other_responses(data: bytes) -> None:
    frame, names = _framed(data, "x", "event")
    if "event" in frame.columns:
        read_table(frame, target=names[0] if names else None, event="event")
    else:
        read_table(frame, target=",".join(names), kind="several" if len(names) > 1 else "classes")


def read_long_stages(data: bytes) -> None:
    frame, names = _framed(data, "user", "item", "reached")
    cells = {name: _cells(own, frame.n) for name, own in frame.columns.items()}
    reached = "reached" if "reached" in cells else None
    read_chains(pd.DataFrame(cells), stages=["viewed", "liked"] if reached else names, reached=reached)


def _cells(column: Any, rows: int) -> Any:
    if column.numbers is not None:
        return column.numbers
    return [None] * rows if column.texts is None else column.texts.to_pylist()


def read_grammar(data: bytes) -> None:
    load_grammar(_file("g.toml", data))


def read_formula(data: bytes) -> None:
    tree = parse(_text(data))
    assert key(parse(to_text(tree))) == key(tree)


def read_also(data: bytes) -> None:
    """Read a formula as ``--also`` does, check its units and compute it."""
    table, units = _table_with_units()
    tree = parse(_text(data), _grammar().operators, table.names)
    assert complexity(tree) > 0
    evaluate(tree, dict(zip(table.names, table.columns, strict=True)))
    checked_formulas([tree], units)


def read_known_formula(data: bytes) -> None:
    read_truth(_text(data))


def write_elsewhere(data: bytes) -> None:
    """Read a formula, and write it in each language that takes it."""
    tree = parse(_text(data))
    refused = []
    for target in TARGETS.values():
        try:
            assert target.write((tree,))
        except InputError as error:
            refused.append(error)
    if len(refused) == len(TARGETS):
        raise refused[0]


@cache
def _table_with_units() -> tuple[Any, Any]:
    draw = np.random.default_rng(0)
    columns = {name: draw.uniform(1, 2, 8) for name in ("x (mm)", "t (s)", "n", "a", "y")}
    return given_units(read_table(columns), "strict", None)


@cache
def _plain_table() -> Any:
    draw = np.random.default_rng(0)
    return read_table({name: draw.uniform(1, 2, 8) for name in ("length", "time", "n", "y")})


def read_unit(data: bytes) -> None:
    text = _text(data)
    if (inner := unit_in_header(text)) is not None and inner != text:
        try:
            column_unit(inner)
        except InputError:
            column_unit(text)
            return
    else:
        column_unit(text)


def read_units_toml(data: bytes) -> None:
    given_units(_plain_table(), _file("u.toml", data), None)


def read_units_json(data: bytes) -> None:
    given_units(_plain_table(), _file("u.json", data), None)


def read_bundle(data: bytes) -> None:
    whole_bundle_from(_text(data), "b.json")


def _read_ranking(path: Path) -> None:
    """Read a ranking and its formulas, as `export` does."""
    stored = read_ranking(path)
    operators = operators_of_record(stored.record)
    for text in stored.table["expression"]:
        columns_of(parse(text, operators, stored.record["data"]["inputs"]))


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
    Folder(_folder(), "run").found("s", lambda _: None, 1 << 20)


def read_run(data: bytes) -> None:
    """Read what a checkpoint says of its run."""
    path = _folder() / "kept"
    path.mkdir(exist_ok=True)
    (path / "run.json").write_bytes(data)
    with opened(path, IDENTITY):
        pass


_grammar = cache(load_grammar)


def _option(name: str) -> Any:
    return SimpleNamespace(name=name)


_OPTIONS: dict[str, Callable[[str], object]] = {
    "layers": lambda text: _grammar().parsed_layers(text),
    "unary": lambda text: _grammar().altered(unary=list_of_names(text), binary=None, max_complexity=None),
    "operators": load_grammar,
    "screener": screeners_asked,
    "cut": lambda text: read_cutters(text, 9, {"rule": None}),
    "keep": read_keep,
    "max-ram": read_memory,
    "time-limit": read_seconds,
    "inputs": lambda text: split_names(_option("c"), _option("inputs"), text),
    "top": lambda text: read_top(_option("c"), _option("top"), text),
    "recall": lambda text: read_counts(_option("c"), _option("recall"), text),
    "noise-ratio": lambda text: read_ratios(_option("c"), _option("noise_ratio"), text),
    "intervals": lambda text: read_level(_option("c"), _option("intervals"), text),
    "name": lambda text: _read_names(_option("c"), _option("name"), tuple(text.splitlines())),
}


def read_options(data: bytes) -> None:
    name, _, text = _text(data).partition(":")
    reader = _OPTIONS.get(name)
    if reader is None:
        raise InputError("no such option")
    reader(text)


HARNESSES: dict[str, Callable[[bytes], None]] = {
    "csv": read_csv,
    "parquet": read_parquet,
    "feather": read_feather,
    "label-rankings": read_label_rankings,
    "stages": read_stages,
    "long-stages": read_long_stages,
    "other-responses": read_other_responses,
    "grammar": read_grammar,
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

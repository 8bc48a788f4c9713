"""Files that would blow up: long formulas, wide tables, large grammars, what unpacks to much.

python benchmarks/run.py refusal_files FOLDER
"""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from reliability.refusal_cases import FORMULAS, MILLION

from symscreen import screen
from symscreen.export.bundle_documents import format_bundle
from symscreen.expressions.tree import parse_expression
from symscreen.results.ranking_files import write_ranking

if TYPE_CHECKING:
    from pathlib import Path


_MIN_LONG_DEPTH = 100  # of formulas that the parser refuses


def prepare(folder: Path) -> None:
    """Write every file that the cases name."""
    draw = np.random.default_rng(0)
    small = pd.DataFrame(draw.uniform(1, 2, (30, 3)), columns=["x1", "x2", "y"])
    small.to_csv(folder / "t.csv", index=False)
    _formula_files(folder, small)
    _wide_tables(folder, draw)
    _grammars(folder)
    _units(folder)
    _bombs(folder)


def _formula_files(folder: Path, table: pd.DataFrame) -> None:
    """Write bundles and rankings of this version with a long formula in place of theirs."""
    write_ranking(screen(table, layers="u", unary="sin", top=1), folder / "one.csv")
    ranking = (folder / "one.csv").read_text()
    record = json.dumps(json.loads((folder / "one.csv.json").read_text()) | {"digest": None})
    expression = pd.read_csv(folder / "one.csv")["expression"][0]
    for place, text in enumerate(FORMULAS.values()):
        (folder / f"f{place}.json").write_text(_format_bundle(text))
        (folder / f"f{place}.csv").write_text(ranking.replace(f",{expression},", f",{text},"))
        (folder / f"f{place}.csv.json").write_text(record)
        defined = text.replace("x1", "x")
        (folder / f"f{place}.toml").write_text(f'unary = ["f"]\n[define.f]\nformula = "{defined}"\n')


def _format_bundle(text: str) -> str:
    """Write the bundle of a formula; the tree of a long one is sums or calls inside one another."""
    column, depth = '{"column": "x1"}', text.count("x1 + ") or text.count("(")
    if depth < _MIN_LONG_DEPTH:
        return format_bundle([parse_expression(text)])
    name, other = ("add", f", {column}") if " + " in text else ("sin", "")
    tree = f'["{name}", ' * depth + column + f"{other}]" * depth
    return format_bundle([parse_expression("x1")]).replace(column, tree)


def _wide_tables(folder: Path, draw: np.random.Generator) -> None:
    for columns, name in ((100_000, "wide"), (100_001, "wider")):
        head = ",".join(f"c{place}" for place in range(columns))
        rows = "\n".join(",".join(map(str, draw.integers(0, 99, columns))) for _ in range(6))
        (folder / f"{name}.csv").write_text(f"{head}\n{rows}\n")
    few = pd.DataFrame(draw.integers(0, 99, (30, 3)), columns=["c0", "c1", "c99999"])
    write_ranking(screen(few, layers="u", unary="sin"), folder / "of_wide.csv")
    table = pa.table({f"c{place}": draw.normal(size=6) for place in range(100_000)})
    pq.write_table(table, folder / "wide.parquet")


def _grammars(folder: Path) -> None:
    many = "".join(f"f{place}={{formula='x'}}\n" for place in range(10_000))
    (folder / "many.toml").write_text(f"[define]\n{many}")
    few = "".join(f"f{place}={{formula='x'}}\n" for place in range(4000))
    (folder / "fewer.toml").write_text(f"[define]\n{few}")
    (folder / "listed.toml").write_text("unary = [" + '"sin",' * 10_000 + "]")
    (folder / "dotted.toml").write_text(".".join("a" * 40_000) + " = 1")
    (folder / "nested.toml").write_text("unary = " + "[" * 90_000)


def _units(folder: Path) -> None:
    (folder / "dotted_units.toml").write_text(".".join("a" * 400_000) + ' = "m"')
    (folder / "long_unit.toml").write_text('x1 = "' + "m*" * 400_000 + 'm"')
    (folder / "tower_unit.toml").write_text('x1 = "m**9**9**9"')
    (folder / "nested_units.json").write_text("[" * 900_000)
    (folder / "many_units.json").write_text(json.dumps({f"c{place}": "m" for place in range(60_000)}))


def _bombs(folder: Path) -> None:
    zeros = bytes(MILLION)
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("t.csv", "w") as member:
        for _ in range(100):
            member.write(zeros)
    for ending in ("csv", "parquet", "json", "xlsx", "feather"):
        (folder / f"zip.{ending}").write_bytes(zipped.getvalue())
    packed = gzip.compress(zeros * 100)
    (folder / "gzip.csv").write_bytes(packed)
    (folder / "gzip.csv.gz").write_bytes(packed)
    runs = [pa.record_batch({"a": np.zeros(MILLION), "y": np.arange(MILLION) % 2.0})] * 40
    codes = pa.DictionaryArray.from_arrays(pa.array(np.zeros(100_000, np.int32)), pa.array(["x" * MILLION]))
    shared = [pa.record_batch({"t": codes, "y": np.arange(100_000.0)})]
    nothing = [pa.record_batch([pa.nulls(2**31 - 1)] * 2, names=["a", "y"])]
    for name, batches in (("runs", runs), ("text", shared)):
        with pq.ParquetWriter(
            folder / f"{name}.parquet", batches[0].schema, compression="zstd", store_schema=False
        ) as writer:
            for batch in batches:
                writer.write_batch(batch)
    for name, batches in (("runs", runs), ("text", shared), ("nothing", nothing)):
        options = pa.ipc.IpcWriteOptions(compression="zstd" if name != "nothing" else None)
        with pa.ipc.new_file(folder / f"{name}.feather", batches[0].schema, options=options) as writer:
            for batch in batches:
                writer.write_batch(batch)
    for endless in ("endless.csv", "endless.json", "endless.toml", "endless.parquet"):
        (folder / endless).symlink_to("/dev/zero")
    (folder / "endless.csv.json").write_text("{}")

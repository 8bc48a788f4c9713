"""A table of Parquet files that is larger than the memory allowed: time, processor time and peak memory.

``all``: 2·10⁷ rows × 20 columns, screened within 2 GB. ``tenth``: the first tenth of them, screened in the
same way. ``tenth in memory``: the same tenth, with memory for all of it. The last two are compared: their
best 20 and the scores of these. Each is a command in a process of its own, whose peak the system reports.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from measurement import collect_rows, format_number, format_table, make_parser, save_results
from speed.large_table_files import NOISE, TRUTH, write_table

from symscreen.results.ranking_reader import read_ranking

if TYPE_CHECKING:
    from collections.abc import Mapping

ROWS = 20_000_000
_OPTIONS = ["--layers", "b[add,mul,div] b[add,sub,mul,div]", "--search", "sieve", "--quiet"]
_CASES = (
    {"case": "all", "rows": ROWS, "max_ram": "2GB"},
    {"case": "tenth", "rows": ROWS // 10, "max_ram": "1.2GB"},
    {"case": "tenth in memory", "rows": ROWS // 10, "max_ram": "8GB"},
)


def screen_folder(folder: Path, max_ram: str, jobs: int) -> dict[str, Any]:
    """Screen a folder with the command; return its time, its peak memory, and its ranking."""
    with tempfile.TemporaryDirectory() as results:
        out = Path(results) / "ranking.json"
        command = [sys.executable, "-m", "symscreen", "screen", str(folder), *_OPTIONS]
        command += ["--max-ram", max_ram, "--jobs", str(jobs), "--out", str(out)]
        load, start = os.getloadavg()[0], perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"{' '.join(command)} ended with status {status}")
        return {
            "wall": perf_counter() - start,
            "processor": usage.ru_utime + usage.ru_stime,
            "peak_mb": usage.ru_maxrss / 1e3,
            "load": load,
            "jobs": jobs,
        } | _read_ranking(out)


def _read_ranking(out: Path) -> dict[str, Any]:
    """Read what a screen found from its JSON file."""
    ranking = read_ranking(out)
    table, record = ranking.table, ranking.record
    return {
        "formulas": record["search"]["features"],
        "survivors": record["search"]["survivors"],
        "large_table": record.get("large_table"),
        "digest": record["data"]["digest"],
        "expressions": list(table.expression),
        "t0": table.t0.tolist(),
        "delta": record["data"]["gini_mean_difference"],
    }


def measure_case(key: dict[str, Any], folder: Path, jobs: int) -> dict[str, Any]:
    """Measure one case with the tables of a folder."""
    return screen_folder(folder / str(key["case"]).split()[0], str(key["max_ram"]), jobs)


def compare_rankings(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Count the formulas that two rankings share, and find the largest difference of their scores, over Δ."""
    first, second = (pd.Series(each["t0"], index=each["expressions"]) for each in (one, other))
    shared = first.index.intersection(second.index)
    return {
        "shown": len(first),
        "shared": len(shared),
        "same_order": list(first.index) == list(second.index),
        "difference": float(np.abs(first[shared] - second[shared]).max()) / one["delta"],
        "same_digest": one["digest"] == other["digest"],
    }


def main(arguments: list[str]) -> None:
    """Write the tables, run the cases, and store what they took."""
    parser = make_parser(__doc__)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "large-table")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--processes", type=int, default=1, help="cases that run at the same time")
    parser.add_argument("--checkpoint", type=Path)
    options = parser.parse_args(arguments)
    for name, rows in (("tenth", ROWS // 10), ("all", ROWS)):
        if not (options.folder / name).exists():
            write_table(options.folder / name, rows)

    measure = partial(measure_case, folder=options.folder, jobs=options.jobs)
    rows = collect_rows(_CASES, measure, options.checkpoint, processes=options.processes)
    comparison = compare_rankings(rows[1], rows[2])
    head = (
        "case",
        "rows",
        "formulas",
        "--max-ram",
        "peak, MB",
        "seconds",
        "processor seconds",
        "load",
        "best",
    )
    table = format_table(
        head,
        [
            [
                row["case"],
                f"{row['rows']:,}",
                f"{row['formulas']:,}",
                row["max_ram"],
                f"{row['peak_mb']:,.0f}",
                format_number(row["wall"]),
                format_number(row["processor"]),
                format_number(row["load"], 2),
                f"`{row['expressions'][0]}`",
            ]
            for row in rows
        ],
    )
    note = (
        f"\n\nOf the best {comparison['shown']} of the tenth, {comparison['shared']} are the same both ways; "
        f"their scores differ by at most {comparison['difference']:.1e} of Δ."
    )
    save_results(
        "large_table",
        {"truth": TRUTH, "noise": NOISE, "rows": rows, "comparison": comparison},
        table + note,
        options.results,
    )

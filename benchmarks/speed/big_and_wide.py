"""What a screen does by itself with a table of many rows or many columns: its time, and what it loses.

``times``: ``symscreen screen data.csv`` on 200,000 rows × 20 columns and on 100 rows × 2,000 columns, each in
a process of its own: wall time, and processor time, which other programs on the machine change less.

``tall``: the best 20 of an exact screen of fewer rows, which a sieve is compared with. The sieve has the
rounds of 200,000 rows: it looks at 256 to 65,536 pairs of rows, and leaves as many formulas.

``wide``: the best 20 of an exact screen of fewer columns, which a pruned pool is compared with. The budget is
smaller by the number of formulas, so that the same share of them is scored as of 2,000 columns.

A formula of the true best is shown if it is in the list, and represented if a formula of the list has a rank
correlation above 0.95 with it: the list has one formula of each group of near-duplicates.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import describe_machine, format_number, format_table, make_parser, save_results
from scipy.stats import spearmanr
from tables import KINDS, make_table

import symscreen
from symscreen.config.parsing import DEFAULT_BUDGET
from symscreen.screening.search import modes, successive_halving

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

SHAPES = {"tall": (200_000, 20), "wide": (100, 2000)}
WIDE_FORMULAS = 384_000_000  # of 2,000 columns
_PLAIN = {"p_values": False, "unsafe": "keep", "quiet": True}


def make_wide_table(rows: int, columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Make a table of lognormal columns; the target is the quotient of two of them, with noise: R² is 0.8."""
    rng = np.random.default_rng(seed)
    x = rng.lognormal(0.0, 0.5, (rows, columns))
    signal = x[:, 0] / x[:, 1]
    return x, signal + 0.5 * signal.std() * rng.normal(size=rows)


def time_screen(shape: str, folder: Path) -> dict[str, Any]:
    """Time the command on a file of the shape."""
    rows, columns = SHAPES[shape]
    x, y = make_table("strong", rows, columns) if shape == "tall" else make_wide_table(rows, columns, 0)
    path = folder / f"{shape}.csv"
    names = ",".join([*(f"x{place}" for place in range(1, columns + 1)), "y"])
    np.savetxt(path, np.column_stack([x, y]), fmt="%.9g", delimiter=",", header=names, comments="")
    command = [sys.executable, "-m", "symscreen", "screen", str(path), "--quiet"]
    began, before = perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "shape": shape,
        "rows": rows,
        "columns": columns,
        "wall": perf_counter() - began,
        "processor": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "load": os.getloadavg()[0],
        "first_lines": done.stdout.split("\n\n")[0],
    }


def compare(x: np.ndarray, y: np.ndarray, **options: Any) -> dict[str, Any]:
    """Screen exactly and with other options; count what of the best 20 the second screen shows."""
    names = [f"x{place}" for place in range(1, x.shape[1] + 1)]
    columns = dict(zip(names, x.T, strict=True)) | {"y": y}
    start = process_time()
    exact = symscreen.screen(columns, target="y", search="exact", **_PLAIN)
    middle = process_time()
    other = symscreen.screen(columns, target="y", **options, **_PLAIN)
    end = process_time()
    best, shown = list(exact.table.expression), set(other.table.expression)
    ranks = spearmanr(
        np.column_stack([exact.transform(columns), other.transform(columns)]), axis=0
    ).statistic[: len(best), len(best) :]
    return {
        "formulas": exact.n_scored,
        "scored": other.n_scored,
        "wanted": len(best),
        "shown": sum(each in shown for each in best),
        "represented": int((np.abs(ranks).max(axis=1) > 0.95).sum()),
        "first": best[0] == other.table.expression[0],
        "chosen": other.record.get("budget"),
        "processor_exact": middle - start,
        "processor": end - middle,
    }


def compare_tall(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Compare the sieve with exact screens."""
    found = []
    successive_halving.MAX_PAIRS_PER_ROW *= SHAPES["tall"][0] // options.rows
    modes.MAX_SURVIVOR_VALUES = modes.MAX_SURVIVOR_VALUES * options.rows // SHAPES["tall"][0]
    for seed in range(options.draws):
        kind = KINDS[seed % len(KINDS)]
        x, y = make_table(kind, options.rows, SHAPES["tall"][1], seed)
        found.append({"seed": seed, "kind": kind, "rows": len(y), "columns": x.shape[1]})
        found[-1] |= compare(x, y, search="sieve")
        print(found[-1], flush=True)
    return found


def compare_wide(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Compare pruned pools with exact screens."""
    found = []
    share = (options.columns / SHAPES["wide"][1]) ** 2
    for seed in range(options.draws):
        x, y = make_wide_table(SHAPES["wide"][0], options.columns, seed)
        found.append({"seed": seed, "kind": "quotient", "rows": len(y), "columns": x.shape[1]})
        found[-1] |= compare(x, y, budget=int(share * DEFAULT_BUDGET))
        print(found[-1], flush=True)
    return found


def summarize(draws: list[dict[str, Any]]) -> str:
    """Make the table of comparisons: a line for each kind."""
    lines = []
    for kind in dict.fromkeys(each["kind"] for each in draws):
        those = [each for each in draws if each["kind"] == kind]
        wanted = sum(each["wanted"] for each in those)
        lines.append(
            [
                kind,
                f"{those[0]['rows']:,} × {those[0]['columns']:,}",
                len(those),
                f"{those[0]['formulas']:,}",
                f"{those[0]['scored']:,}",
                f"{sum(each['shown'] for each in those):,} of {wanted:,}",
                f"{sum(each['represented'] for each in those):,} of {wanted:,}",
                sum(each["shown"] == each["wanted"] for each in those),
                sum(each["first"] for each in those),
                format_number(sum(each["processor_exact"] for each in those) / len(those)),
                format_number(sum(each["processor"] for each in those) / len(those)),
            ]
        )
    head = (
        "table",
        "rows × columns",
        "draws",
        "formulas",
        "scored on all rows",
        "best shown",
        "best represented",
        "draws with all shown",
        "with the same first",
        "exact, processor s",
        "processor s",
    )
    return format_table(head, lines)


def main(arguments: Sequence[str]) -> None:
    """Time the command, or compare with exact screens."""
    parser = make_parser(__doc__)
    parser.add_argument("what", choices=("times", "tall", "wide"))
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--rows", type=int, default=1000, help="of tall")
    parser.add_argument("--columns", type=int, default=500, help="of wide")
    options = parser.parse_args(arguments)
    machine = describe_machine()
    if options.what != "times":
        draws = (compare_tall if options.what == "tall" else compare_wide)(options)
        found = {"machine": machine, "draws": draws}
        save_results(f"big_and_wide_{options.what}", found, summarize(draws), options.results)
        return
    with tempfile.TemporaryDirectory() as folder:
        runs = [time_screen(shape, Path(folder)) for shape in SHAPES]
    lines = [
        [
            f"{each['rows']:,} × {each['columns']:,}",
            *(format_number(each[key]) for key in ("wall", "processor", "load")),
            " ".join(each["first_lines"].split()),
        ]
        for each in runs
    ]
    head = ("rows × columns", "wall s", "processor s", "load", "first lines")
    save_results(
        "big_and_wide", {"machine": machine, "runs": runs}, format_table(head, lines), options.results
    )

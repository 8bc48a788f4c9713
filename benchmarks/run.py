"""symscreen beside its peers: both in turn, in one run, as ratios.

Each peer lives in an environment of its own, made at the first run (``peers/recipes.toml``); one that cannot
be installed is skipped. Every measurement is a whole process that times the part that counts.

Run with ``python benchmarks/run.py``, or ``--only torchsisso,kendall``.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from comparisons import COMPARISONS, SISSO, SISSO_SORT_US, SISSO_US, Comparison
from environments import interpreter
from measured import (
    HERE,
    RESULTS,
    FailedError,
    child,
    machine,
    markdown,
    number,
    ours,
    ratio_of,
    save,
    spread,
)
from tables import make

_SORTED = 20_000  # columns, for the bare sort


def each(told: dict[str, Any]) -> float:
    """Return the µs a feature."""
    return 1e6 * float(told["seconds"]) / int(told["features"])


def measured(comparison: Comparison, cache: Path, folder: Path, repeats: int | None) -> list[dict[str, Any]]:
    """Run both sides in turn; one record for each way of ours."""
    python = interpreter(comparison.recipe, cache)
    x, y = make(**comparison.table)
    table = str(folder / f"{comparison.name}.npz")
    np.savez(table, x=x, y=y)
    script, *arguments = comparison.script
    peer: list[dict[str, Any]] = []
    found: list[list[dict[str, Any]]] = [[] for _ in comparison.sides]
    for _ in range(repeats or comparison.repeats):
        peer.append(child([python, HERE / "peers" / script, *arguments, table]))
        for side, told in zip(comparison.sides, found, strict=True):
            told.append(ours(table, layers=comparison.layers, **side.options))
    return [
        _record(comparison, side.description, told, peer)
        for side, told in zip(comparison.sides, found, strict=True)
    ]


def _record(
    comparison: Comparison, what: str, told: list[dict[str, Any]], peer: list[dict[str, Any]]
) -> dict[str, Any]:
    record = {
        "comparison": comparison.name,
        "rows": comparison.table["rows"],
        "peer": comparison.description,
        "ours": f"{what}, exact, 2 threads" if "," not in what else f"{what}, 2 threads",
        "space": comparison.space,
        "versions": peer[0]["versions"],
        "features": {"peer": peer[0]["features"], "ours": told[0]["features"]},
        "seconds": {"peer": [one["seconds"] for one in peer], "ours": [one["seconds"] for one in told]},
        "us_each": {"peer": list(map(each, peer)), "ours": list(map(each, told))},
        "faster_each": ratio_of(list(map(each, peer)), list(map(each, told))),
        "peak_mb": {
            "peer": max(one["peak_mb"] for one in peer),
            "ours": max(one["peak_mb"] for one in told),
        },
    }
    if comparison.whole:
        record["faster_whole"] = ratio_of(record["seconds"]["peer"], record["seconds"]["ours"])
    return record


def against_sisso(repeats: int) -> list[dict[str, Any]]:
    """Compare with SISSO's published figures, scaled by the bare sort of the same run."""
    found: list[list[dict[str, Any]]] = [[] for _ in SISSO.sides]
    for _ in range(repeats):
        for side, told in zip(SISSO.sides, found, strict=True):
            told.append(ours(SISSO.table, sort=_SORTED, layers=SISSO.layers, **side.options))
    sorts = [one["sort_us"][1] for told in found for one in told]
    here = SISSO_US * median(sorts) / SISSO_SORT_US
    return [
        {
            "comparison": SISSO.name,
            "rows": SISSO.table["rows"],
            "peer": SISSO.what,
            "ours": f"{side.description}, 2 threads",
            "space": SISSO.space,
            "features": {"peer": 1_037_940, "ours": told[0]["features"]},
            "seconds": {"peer": [3.67], "ours": [one["seconds"] for one in told]},
            "us_each": {"peer": [here], "ours": list(map(each, told))},
            "sort_us": sorts,
            "published_us": SISSO_US,
            "faster_each": [here / each(one) for one in told],
            "faster_than_published": [SISSO_US / each(one) for one in told],
            "peak_mb": {"peer": None, "ours": max(one["peak_mb"] for one in told)},
        }
        for side, told in zip(SISSO.sides, found, strict=True)
    ]


def lines(records: list[dict[str, Any]]) -> list[list[str]]:
    """Return a table's rows."""
    found = []
    for one in records:
        peaks = one["peak_mb"]
        memory = (
            f"{peaks['ours']:,.0f}"
            if peaks["peer"] is None
            else f"{peaks['peer']:,.0f}, {peaks['ours']:,.0f}"
        )
        found.append(
            [
                one["comparison"],
                one["ours"],
                f"{one['features']['peer']:,}, {one['features']['ours']:,}",
                f"{number(median(one['us_each']['peer']))}, {number(median(one['us_each']['ours']))}",
                spread(one["faster_each"]),
                spread(one["faster_whole"]) if "faster_whole" in one else "",
                memory,
            ]
        )
    return found


def main() -> None:
    """Measure what is asked for, print the table, write the results."""
    names = [one.name for one in COMPARISONS] + [SISSO.name]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser.add_argument("--only", default=",".join(names), help="comparisons, with commas between them")
    parser.add_argument("--repeats", type=int, help="instead of each comparison's own number")
    parser.add_argument("--cache", type=Path, default=home / "symscreen-peers", help="for the environments")
    parser.add_argument("--results", type=Path, default=RESULTS, help="a folder")
    asked = parser.parse_args()
    chosen = asked.only.split(",")
    if unknown := set(chosen) - set(names):
        parser.error(f"no comparison is called {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    found = {"machine": machine(), "rows": list[dict[str, Any]](), "skipped": dict[str, str]()}
    with tempfile.TemporaryDirectory() as folder:
        for comparison in COMPARISONS:
            if comparison.name in chosen:
                try:
                    rows = measured(comparison, asked.cache, Path(folder), asked.repeats)
                except FailedError as failed:
                    found["skipped"][comparison.name] = str(failed)
                    print(f"{comparison.name}: skipped, {failed}", flush=True)
                else:
                    found["rows"] += rows
                    print(f"{comparison.name}: {rows[0]['peer']}\n  {rows[0]['space']}", flush=True)
    if SISSO.name in chosen:
        found["rows"] += against_sisso(asked.repeats or SISSO.repeats)
    head = (
        "peer",
        "ours",
        "features (peer, ours)",
        "µs each (peer, ours)",
        "faster, each",
        "faster, whole",
        "peak MB (peer, ours)",
    )
    spaces = {
        one["comparison"]: f"- {one['comparison']}: {one['peer']}. Ours: {one['space']}."
        for one in found["rows"]
    }
    skipped = [f"- {name}: skipped, {reason}." for name, reason in found["skipped"].items()]
    told = "\n".join([markdown(head, lines(found["rows"])), "", *spaces.values(), *skipped])
    save("peers", found, told, asked.results)


if __name__ == "__main__":
    main()

"""symscreen compared with its peers: both in turn, in one run, as ratios.

Each peer lives in an environment of its own, made at the first run (``peers/recipes.toml``); one that cannot
be installed is skipped. Every measurement is a whole process that times the part that counts.

``--only torchsisso,kendall`` runs some comparisons.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import (
    BENCHMARKS,
    ProcessError,
    compute_ratios,
    describe_machine,
    format_number,
    format_spread,
    format_table,
    make_parser,
    run_process,
    save_results,
    screen_in_process,
)
from peers.comparisons import COMPARISONS, SISSO, SISSO_SORT_US, SISSO_US, Comparison
from peers.environments import prepare_environment
from tables import make_table

if TYPE_CHECKING:
    from collections.abc import Sequence

_SORTED = 20_000  # columns, for the bare sort


def each(outcome: dict[str, Any]) -> float:
    """Return the µs a feature."""
    return 1e6 * float(outcome["seconds"]) / int(outcome["features"])


def measured(comparison: Comparison, cache: Path, folder: Path, repeats: int | None) -> list[dict[str, Any]]:
    """Run both sides in turn; one record for each way of ours."""
    python = prepare_environment(comparison.recipe, cache)
    x, y = make_table(**comparison.table)
    table = str(folder / f"{comparison.name}.npz")
    np.savez(table, x=x, y=y)
    script, *arguments = comparison.script
    peer: list[dict[str, Any]] = []
    found: list[list[dict[str, Any]]] = [[] for _ in comparison.sides]
    for _ in range(repeats or comparison.repeats):
        peer.append(run_process([python, BENCHMARKS / "peers" / "sides" / script, *arguments, table]))
        for side, outcome in zip(comparison.sides, found, strict=True):
            outcome.append(screen_in_process(table, layers=comparison.layers, **side.options))
    return [
        _record(comparison, side.description, outcome, peer)
        for side, outcome in zip(comparison.sides, found, strict=True)
    ]


def _record(
    comparison: Comparison, what: str, outcome: list[dict[str, Any]], peer: list[dict[str, Any]]
) -> dict[str, Any]:
    record = {
        "comparison": comparison.name,
        "rows": comparison.table["rows"],
        "peer": comparison.description,
        "ours": f"{what}, exact, 2 threads" if "," not in what else f"{what}, 2 threads",
        "space": comparison.space,
        "versions": peer[0]["versions"],
        "features": {"peer": peer[0]["features"], "ours": outcome[0]["features"]},
        "seconds": {"peer": [one["seconds"] for one in peer], "ours": [one["seconds"] for one in outcome]},
        "us_each": {"peer": list(map(each, peer)), "ours": list(map(each, outcome))},
        "faster_each": compute_ratios(list(map(each, peer)), list(map(each, outcome))),
        "peak_mb": {
            "peer": max(one["peak_mb"] for one in peer),
            "ours": max(one["peak_mb"] for one in outcome),
        },
    }
    if comparison.whole:
        record["faster_whole"] = compute_ratios(record["seconds"]["peer"], record["seconds"]["ours"])
    return record


def against_sisso(repeats: int) -> list[dict[str, Any]]:
    """Compare with SISSO's published figures, scaled by the bare sort of the same run."""
    found: list[list[dict[str, Any]]] = [[] for _ in SISSO.sides]
    for _ in range(repeats):
        for side, outcome in zip(SISSO.sides, found, strict=True):
            outcome.append(screen_in_process(SISSO.table, sort=_SORTED, layers=SISSO.layers, **side.options))
    sorts = [one["sort_us"][1] for outcome in found for one in outcome]
    here = SISSO_US * median(sorts) / SISSO_SORT_US
    return [
        {
            "comparison": SISSO.name,
            "rows": SISSO.table["rows"],
            "peer": SISSO.description,
            "ours": f"{side.description}, 2 threads",
            "space": SISSO.space,
            "features": {"peer": 1_037_940, "ours": outcome[0]["features"]},
            "seconds": {"peer": [3.67], "ours": [one["seconds"] for one in outcome]},
            "us_each": {"peer": [here], "ours": list(map(each, outcome))},
            "sort_us": sorts,
            "published_us": SISSO_US,
            "faster_each": [here / each(one) for one in outcome],
            "faster_than_published": [SISSO_US / each(one) for one in outcome],
            "peak_mb": {"peer": None, "ours": max(one["peak_mb"] for one in outcome)},
        }
        for side, outcome in zip(SISSO.sides, found, strict=True)
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
                ", ".join(format_number(median(one["us_each"][side])) for side in ("peer", "ours")),
                format_spread(one["faster_each"]),
                format_spread(one["faster_whole"]) if "faster_whole" in one else "",
                memory,
            ]
        )
    return found


def main(arguments: Sequence[str]) -> None:
    """Measure what is options for, print the table, write the results."""
    names = [one.name for one in COMPARISONS] + [SISSO.name]
    parser = make_parser(__doc__)
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser.add_argument("--only", default=",".join(names), help="comparisons, with commas between them")
    parser.add_argument("--repeats", type=int, help="instead of each comparison's own number")
    parser.add_argument("--cache", type=Path, default=home / "symscreen-peers", help="for the environments")
    options = parser.parse_args(arguments)
    chosen = options.only.split(",")
    if unknown := set(chosen) - set(names):
        parser.error(f"no comparison is called {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    found = {"machine": describe_machine(), "rows": list[dict[str, Any]](), "skipped": dict[str, str]()}
    with tempfile.TemporaryDirectory() as folder:
        for comparison in COMPARISONS:
            if comparison.name in chosen:
                try:
                    rows = measured(comparison, options.cache, Path(folder), options.repeats)
                except ProcessError as failed:
                    found["skipped"][comparison.name] = str(failed)
                    print(f"{comparison.name}: skipped, {failed}", flush=True)
                else:
                    found["rows"] += rows
                    print(f"{comparison.name}: {rows[0]['peer']}\n  {rows[0]['space']}", flush=True)
    if SISSO.name in chosen:
        found["rows"] += against_sisso(options.repeats or SISSO.repeats)
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
    outcome = "\n".join([format_table(head, lines(found["rows"])), "", *spaces.values(), *skipped])
    save_results("peers", found, outcome, options.results)

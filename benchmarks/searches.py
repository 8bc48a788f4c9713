"""Race and sieve beside the exact screen: time, and what they keep of the true best.

``times``: the top 20 of a million features at 1,000, 10,000 and 100,000 rows, all modes in turn. Where the
exact screen takes too long, it is measured on a smaller space of the same kind and taken per feature.
``recall``: many spaces of three kinds (see `tables.make`); recall is the share of the exact screen's 20
classes that the sieve and the race show too.

Run with ``python benchmarks/searches.py times`` or ``... recall``.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import median
from typing import Any

from measured import RESULTS, machine, markdown, number, ours, ratio_of, save, spread
from tables import KINDS, RATIONAL, inputs_for, make

import symscreen

LAYERS = f"{RATIONAL} {RATIONAL}"
FEATURES = 1_000_000
EXACT_FEATURES = {1000: 1_000_000, 10_000: 100_000, 100_000: 10_000}
TARGETS = {"sieve": {1000: 8, 10_000: 60}, "race": {1000: 1.5, 10_000: 10, 100_000: 80}}


def times(rows: int, kind: str, repeats: int, shrink: int) -> dict[str, Any]:
    """Measure all modes in turn."""
    told: dict[str, list[dict[str, Any]]] = {"exact": [], "race": [], "sieve": []}
    for _ in range(repeats):
        for mode, those in told.items():
            features = EXACT_FEATURES[rows] // shrink if mode == "exact" else FEATURES // shrink
            task = {"kind": kind, "rows": rows, "inputs": inputs_for(features)}
            those.append(ours(task, layers=LAYERS, screener="t0", search=mode))
    each = {mode: [1e6 * one["seconds"] / one["features"] for one in those] for mode, those in told.items()}
    return {
        "rows": rows,
        "kind": kind,
        "features": {mode: those[0]["features"] for mode, those in told.items()},
        "survivors": {mode: those[0]["survivors"] for mode, those in told.items()},
        "us_each": each,
        "faster": {mode: ratio_of(each["exact"], each[mode]) for mode in ("race", "sieve")},
        "peak_mb": {mode: max(one["peak_mb"] for one in those) for mode, those in told.items()},
    }


def timed(asked: argparse.Namespace) -> None:
    """Print and write the times."""
    found = {"machine": machine(), "rows": []}
    for rows in EXACT_FEATURES:
        # where the signal is weak a race keeps nearly all, and long columns would take hours
        for kind in ("strong", "weak") if rows == min(EXACT_FEATURES) else ("strong",):
            found["rows"].append(times(rows, kind, asked.repeats, asked.shrink))
    lines = [
        [
            f"{one['rows']:,}",
            one["kind"],
            mode,
            f"{one['features'][mode]:,}",
            f"{one['features']['exact']:,}",
            f"{one['survivors'][mode]:,}",
            number(median(one["us_each"]["exact"])),
            number(median(one["us_each"][mode])),
            spread(one["faster"][mode]),
            TARGETS[mode].get(one["rows"], ""),
            f"{one['peak_mb'][mode]:,.0f}",
        ]
        for one in found["rows"]
        for mode in ("race", "sieve")
    ]
    head = (
        "rows",
        "signal",
        "search",
        "features",
        "features, exact",
        "survivors",
        "exact, µs each",
        "µs each",
        "faster: median (range)",
        "asked",
        "peak MB",
    )
    save("searches", found, markdown(head, lines), asked.results)


def recalled(asked: argparse.Namespace) -> None:
    """Count, space by space, how many of the true best are shown."""
    found: dict[str, Any] = {"machine": machine(), "spaces": []}
    for seed in range(asked.spaces):
        kind = KINDS[seed % len(KINDS)]
        rows = (500, 1000, 2000)[seed // len(KINDS) % 3]
        x, y = make(kind, rows, inputs_for(asked.features), seed)
        one: dict[str, Any] = {"seed": seed, "kind": kind, "rows": rows}
        best: dict[str, set[str]] = {}
        for mode in ("exact", "sieve", "race"):
            start = time.perf_counter()
            result = symscreen.screen(x, y, layers=LAYERS, screener="t0", search=mode, seed=seed)
            one[f"{mode}_seconds"] = time.perf_counter() - start
            best[mode] = set(result.table.expression)
            one[f"{mode}_survivors"] = (result.record.get("search") or {}).get("survivors", result.n_scored)
            if mode == "exact":
                one["features"] = result.n_scored
            else:
                one[f"{mode}_lost"] = len(best["exact"] - best[mode])
        one["wanted"] = len(best["exact"])
        found["spaces"].append(one)
    lines = []
    for kind in (*KINDS, "all"):
        those = [one for one in found["spaces"] if kind in {one["kind"], "all"}]
        wanted = sum(one["wanted"] for one in those)
        for mode in ("sieve", "race"):
            lost = sum(one[f"{mode}_lost"] for one in those)
            share = median(one[f"{mode}_survivors"] / one["features"] for one in those)
            lines.append([kind, mode, len(those), wanted, lost, f"{1 - lost / wanted:.5f}", f"{share:.3f}"])
    head = ("spaces", "search", "number", "wanted", "lost", "recall", "survivors, median share")
    save("recall", found, markdown(head, lines), asked.results)


def main() -> None:
    """Read what is asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("times", "recall"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--shrink", type=int, default=1, help="of times: spaces smaller by this factor")
    parser.add_argument("--spaces", type=int, default=201, help="of recall")
    parser.add_argument("--features", type=int, default=100_000, help="of recall, in each space, about")
    parser.add_argument("--results", type=Path, default=RESULTS)
    asked = parser.parse_args()
    (timed if asked.what == "times" else recalled)(asked)


if __name__ == "__main__":
    main()

"""Race and sieve compared with the exact screen: time, and what they keep of the true best.

``times``: the top 20 of a million features at 1,000, 10,000 and 100,000 rows, all modes in turn. Where the
exact screen takes too long, it is measured on a smaller space of the same kind and taken per feature.
``recall``: many spaces of three kinds (see `tables.make`); recall is the share of the exact screen's 20
classes that the sieve and the race show too.

The argument is ``times`` or ``recall``.
"""

from __future__ import annotations

import time
from statistics import median
from typing import TYPE_CHECKING, Any

from measurement import (
    compute_ratios,
    describe_machine,
    format_number,
    format_spread,
    format_table,
    make_parser,
    save_results,
    screen_in_process,
)
from tables import KINDS, RATIONAL, get_input_count, make_table

import symscreen

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

LAYERS = f"{RATIONAL} {RATIONAL}"
FEATURES = 1_000_000
EXACT_FEATURES = {1000: 1_000_000, 10_000: 100_000, 100_000: 10_000}
TARGETS = {"sieve": {1000: 8, 10_000: 60}, "race": {1000: 1.5, 10_000: 10, 100_000: 80}}


def times(rows: int, kind: str, repeats: int, shrink: int) -> dict[str, Any]:
    """Measure all modes in turn."""
    outcome: dict[str, list[dict[str, Any]]] = {"exact": [], "race": [], "sieve": []}
    for _ in range(repeats):
        for mode, reports in outcome.items():
            features = EXACT_FEATURES[rows] // shrink if mode == "exact" else FEATURES // shrink
            task = {"kind": kind, "rows": rows, "inputs": get_input_count(features)}
            reports.append(screen_in_process(task, layers=LAYERS, screener="t0", search=mode))
    each = {
        mode: [1e6 * one["seconds"] / one["features"] for one in reports] for mode, reports in outcome.items()
    }
    return {
        "rows": rows,
        "kind": kind,
        "features": {mode: reports[0]["features"] for mode, reports in outcome.items()},
        "survivors": {mode: reports[0]["survivors"] for mode, reports in outcome.items()},
        "us_each": each,
        "faster": {mode: compute_ratios(each["exact"], each[mode]) for mode in ("race", "sieve")},
        "peak_mb": {mode: max(one["peak_mb"] for one in reports) for mode, reports in outcome.items()},
    }


def timed(options: argparse.Namespace) -> None:
    """Print and write the times."""
    found = {"machine": describe_machine(), "rows": []}
    for rows in EXACT_FEATURES:
        # where the signal is weak a race keeps nearly all, and long columns would take hours
        for kind in ("strong", "weak") if rows == min(EXACT_FEATURES) else ("strong",):
            found["rows"].append(times(rows, kind, options.repeats, options.shrink))
    lines = [
        [
            f"{one['rows']:,}",
            one["kind"],
            mode,
            f"{one['features'][mode]:,}",
            f"{one['features']['exact']:,}",
            f"{one['survivors'][mode]:,}",
            format_number(median(one["us_each"]["exact"])),
            format_number(median(one["us_each"][mode])),
            format_spread(one["faster"][mode]),
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
        "options",
        "peak MB",
    )
    save_results("searches", found, format_table(head, lines), options.results)


def recalled(options: argparse.Namespace) -> None:
    """Count, space by space, how many of the true best are shown."""
    found: dict[str, Any] = {"machine": describe_machine(), "spaces": []}
    for seed in range(options.spaces):
        kind = KINDS[seed % len(KINDS)]
        rows = (500, 1000, 2000)[seed // len(KINDS) % 3]
        x, y = make_table(kind, rows, get_input_count(options.features), seed)
        one: dict[str, Any] = {"seed": seed, "kind": kind, "rows": rows}
        best: dict[str, set[str]] = {}
        for mode in ("exact", "sieve", "race"):
            start = time.perf_counter()
            plain = {"p_values": False, "max_correlation": 1}
            result = symscreen.screen(x, y, layers=LAYERS, screener="t0", search=mode, seed=seed, **plain)
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
        reports = [one for one in found["spaces"] if kind in {one["kind"], "all"}]
        wanted = sum(one["wanted"] for one in reports)
        for mode in ("sieve", "race"):
            lost = sum(one[f"{mode}_lost"] for one in reports)
            share = median(one[f"{mode}_survivors"] / one["features"] for one in reports)
            lines.append([kind, mode, len(reports), wanted, lost, f"{1 - lost / wanted:.5f}", f"{share:.3f}"])
    head = ("spaces", "search", "number", "wanted", "lost", "recall", "survivors, median share")
    save_results("recall", found, format_table(head, lines), options.results)


def main(arguments: Sequence[str]) -> None:
    """Read what is options."""
    parser = make_parser(__doc__)
    parser.add_argument("what", choices=("times", "recall"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--shrink", type=int, default=1, help="of times: spaces smaller by this factor")
    parser.add_argument("--spaces", type=int, default=201, help="of recall")
    parser.add_argument("--features", type=int, default=100_000, help="of recall, in each space, about")
    options = parser.parse_args(arguments)
    (timed if options.what == "times" else recalled)(options)

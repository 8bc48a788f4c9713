"""What pages quote from the benchmarks of speed, of units and of peers.

Times of repeated runs are the fastest run's, as in the tables of the benchmarks; ratios are medians.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from measurement import format_number, format_spread, format_table

if TYPE_CHECKING:
    from collections.abc import Sequence

Results = dict[str, Any]

_PEERS = {
    "torchsisso": "TorchSISSO",
    "sisso": "SISSO 3.5, published, scaled by the sort",
    "kendall": "scipy, Kendall's τ",
    "chatterjee": "scipy, ξ column by column",
    "chatterjee-at-once": "scipy, ξ of all columns at once",
    "mutual-information": "scikit-learn, mutual information",
    "mrmr": "mRMR",
    "boruta": "Boruta",
}


def _median(values: Sequence[float], digits: int = 2) -> str:
    return format_number(statistics.median(values), digits)


def quote_million(found: Results) -> dict[str, str]:
    """Quote times a feature with two threads."""
    rows = {(one["rows"], one["screener"], one["jobs"]): one for one in found["rows"]}
    counts = sorted({count for count, _, _ in rows})

    def collect(label: str, screener: str, key: str) -> list[str]:
        if key == "us_each":
            return [label, *(format_number(min(rows[n, screener, 2][key])) for n in counts)]
        return [label, *(_median(rows[n, screener, 2][key], 3) + " ×" for n in counts)]

    table = [
        collect("T0", "T0", "us_each"),
        collect("T0 and ξ", "T0 and ξ", "us_each"),
        collect("Pearson's r", "Pearson's r", "us_each"),
        collect("T0 and ξ, against the sort", "T0 and ξ", "against_sort"),
        collect("T0, faster than with one thread", "T0", "gain"),
        collect("T0 and ξ, faster than with one thread", "T0 and ξ", "gain"),
    ]
    head = ["µs a feature, two threads", *(f"{n:,} rows" for n in counts)]
    both = [statistics.median(rows[n, "T0 and ξ", 2]["gain"]) for n in counts]
    quotes = {"two_threads": format_table(head, table)}
    quotes |= {f"t0_{n}": format_number(min(rows[n, "T0", 2]["us_each"]), 2) for n in counts}
    quotes |= {f"t0_gain_{n}": _median(rows[n, "T0", 2]["gain"]) for n in counts}
    return quotes | {
        "both_gain_least": format_number(min(both), 2),
        "both_gain_most": format_number(max(both), 2),
    }


def quote_definition(found: Results) -> dict[str, str]:
    """Quote how much slower the definition is at 1,000 rows, one thread each."""
    row = next(one for one in found["rows"] if one["rows"] == 1000 and one["jobs"] == 1)
    names = {"written": "written_us", "weighted": "weighted_us"}
    return {
        name: _median([one / own for one, own in zip(row[key], row["ours_us"], strict=True)])
        for name, key in names.items()
    }


def quote_scaling(found: Results) -> dict[str, str]:
    """Quote the largest space, and the largest of the sieve at the most rows, with two threads."""

    def find_largest(mode: str, rows: int) -> Results:
        points = [
            one for one in found["points"] if (one["mode"], one["jobs"], one["rows"]) == (mode, 2, rows)
        ]
        return max((one for one in points if one.get("seconds")), key=lambda one: one["features"])

    quotes = {}
    for name, point in (("exact", find_largest("exact", 100)), ("sieve", find_largest("sieve", 100_000))):
        quotes |= {
            f"{name}_features": format_number(point["features"] / 1e6),
            f"{name}_s": format_number(point["seconds"]),
            f"{name}_gb": format_number(point["peak_mb"] / 1000, 2),
        }
    return quotes


def quote_searches(found: Results) -> dict[str, str]:
    """Quote how much faster races and sieves are than the exact screen."""
    rows = [
        [
            f"{one['rows']:,}",
            "weak, R² 0.3" if one["kind"] == "weak" else one["kind"],
            *(f"{format_spread(one['faster'][search])} ×" for search in ("race", "sieve")),
        ]
        for one in found["rows"]
    ]
    head = ["rows", "signal", "race at 10⁻⁶, faster than exact: median (range)", "sieve"]
    return {"faster": format_table(head, rows)} | {
        f"{search}_{one['kind']}_{one['rows']}": _median(one["faster"][search])
        for one in found["rows"]
        for search in ("race", "sieve")
    }


def quote_large_table(found: Results) -> dict[str, str]:
    """Quote what screens of a table larger than memory take, and how they compare with one in memory."""
    head = ["rows", "formulas", "`--max-ram`", "peak, MB", "seconds", "processor seconds"]
    rows = [
        [
            f"{one['rows']:,}" + ("" if one["large_table"] else ", in memory"),
            f"{one['formulas']:,}",
            one["max_ram"],
            f"{one['peak_mb']:,.0f}",
            f"{one['wall']:,.0f}",
            f"{one['processor']:,.0f}",
        ]
        for one in found["rows"]
    ]
    compared = found["comparison"]
    return {
        "cases": format_table(head, rows),
        "shown": f"{compared['shown']}",
        "shared": f"{compared['shared']}",
        "difference": f"{compared['difference']:.0e}" if compared["difference"] else "0",
    }


def quote_recall(found: Results) -> dict[str, str]:
    """Quote how many of the best classes the searches lost."""
    spaces = found["spaces"]
    return {
        "spaces": f"{len(spaces):,}",
        "wanted": f"{sum(one['wanted'] for one in spaces):,}",
        "sieve_lost": f"{sum(one['sieve_lost'] for one in spaces):,}",
        "race_lost": f"{sum(one['race_lost'] for one in spaces):,}",
    }


def quote_peers(found: Results) -> dict[str, str]:
    """Quote how much faster symscreen is a feature, and in how much less memory."""
    table = []
    for one in found["rows"]:
        whole, peak = one.get("faster_whole"), one["peak_mb"]
        versions = one.get("versions", {})
        name = _PEERS.get(one["comparison"], one["comparison"])
        table.append(
            [
                " ".join([name, *(value for key, value in versions.items() if key.lower() == name.lower())]),
                one["ours"].removesuffix(", 2 threads"),
                f"{format_spread(one['faster_each'])} ×",
                f"{format_spread(whole)} ×" if whole else "",
                f"{peak['ours'] / peak['peer']:.2f}" if peak.get("peer") else "",
            ]
        )
    head = [
        "peer",
        "what of ours",
        "faster, each feature: median (range)",
        "faster, whole runs",
        "memory, ours / peer's",
    ]
    rows = {(one["comparison"], one["ours"].removesuffix(", 2 threads")): one for one in found["rows"]}
    torch, autofeat = rows["torchsisso", "T0, exact"], rows["autofeat", "T0, exact"]
    return {
        "faster": format_table(head, table),
        "torchsisso_faster": _median(torch["faster_each"]),
        "torchsisso_memory": f"1/{torch['peak_mb']['peer'] / torch['peak_mb']['ours']:.0f}",
        "torchsisso_gb": format_number(torch["peak_mb"]["peer"] / 1000, 2),
        "autofeat_features": f"{autofeat['features']['peer']:,}",
        "autofeat_s": format_number(min(autofeat["seconds"]["peer"]), 2),
        "autofeat_ours": f"{autofeat['features']['ours']:,}",
        "autofeat_ours_ms": format_number(1000 * min(autofeat["seconds"]["ours"]), 2),
    }


def quote_units(found: Results) -> dict[str, str]:
    """Quote how far units shrink each space, and what judging a candidate costs."""
    laws, judging = found["laws"], found["judging"]["nanoseconds"]
    shrunk = [law["without"]["features"] / law["strict"]["features"] for law in laws]
    law_rows = [
        [
            law["law"],
            *(f"{law[way]['features']:,}" for way in ("without", "strict", "target")),
            " and ".join(
                f"{format_number(law['without']['features'] / law[way]['features'], 2)} ×"
                for way in ("strict", "target")
            ),
            "yes" if law["strict"]["kept"] and law["target"]["kept"] else "no",
            ", ".join(str(law[way]["rank"]) for way in ("without", "strict", "target")),
        ]
        for law in laws
    ]
    head = ["law", "features", "with a unit", "in the target's", "fewer", "truth kept", "its rank, each"]
    table_rows = [
        [
            one["table"],
            one["layers"],
            one["units"],
            f"{one['without']:,}",
            f"{one['strict']:,}",
            f"{format_number(one['without'] / one['strict'], 2)} ×",
            ", ".join(f"`{term}`" for term in one["terms"]),
            "yes" if one["kept"] else "no",
        ]
        for one in found["strogatz"]
    ]
    columns = ["table", "layers", "units ascribed", "features", "with a unit", "fewer", "its terms", "kept"]
    return {
        "laws": format_table(head, law_rows),
        "strogatz": format_table(columns, table_rows),
        "least": format_number(min(shrunk), 2),
        "most": format_number(max(shrunk), 2),
        "noise": format_number(100 * found["noise"]),
        "candidates": format_number(found["judging"]["candidates"] / 1e6, 2),
        **{f"{name}_ns": _median(values) for name, values in judging.items()},
    }


def quote_first_run(found: Results) -> dict[str, str]:
    """Quote the first run, which compiles, and later ones, in seconds."""
    first, *later = (one["wall"] for one in found["runs"]["this"])
    return {"first_s": format_number(first, 2), "later_s": _median(later, 2)}


def quote_workers(found: Results) -> dict[str, str]:
    """Quote two workers against one."""
    rows = [
        [
            f"{int(count):,}",
            f"{format_spread(one['rate'])} ×",
            f"{format_number(one['best'])} ×",
            f"{format_spread(one['whole'])} ×",
        ]
        for count, one in found["two_against_one"].items()
    ]
    head = [
        "rows",
        "scoring, pairs of runs: median (range)",
        "scoring, the best runs",
        "whole runs: median (range)",
    ]
    ratios = {f"rate_{count}": _median(one["rate"], 3) for count, one in found["two_against_one"].items()}
    sent, one = found["bytes"]["1000"], found["runs"][0]
    each = one["cpu_of_workers"] / one["features"]
    return {"two_against_one": format_table(head, rows), **ratios} | {
        "sent_mb": format_number(sent["sent_once"] / 1e6, 2),
        "table_kb": format_number(sent["table"] / 1e3, 1),
        "each_us": format_number(1e6 * each, 2),
        "each_rows": f"{one['rows']:,}",
        "paper_hours": format_number(each * 1e12 / 1000 / 3600, 2),
    }


def quote_installation(found: Results) -> dict[str, str]:
    """Quote the size of an installation and the processor time of a start."""
    core, bare = found["installed"]["core"], "import numpy, pandas, sympy, numba"
    used = {name: statistics.median(one[1] for one in runs) for name, runs in found["seconds"].items()}
    return {
        "others": str(core["packages"] - 1),
        "mb": format_number(core["mb"]),
        "import_ms": format_number(1000 * used["import symscreen"], 2),
        "version_ms": format_number(1000 * used["symscreen --version"]),
        "import_share": format_number(used["import symscreen"] / used[bare], 1),
        "version_share": format_number(used["symscreen --version"] / used[bare], 1),
        "bare_s": format_number(used[bare]),
    }


def quote_ranking_screening(found: Results) -> dict[str, str]:
    """Quote the cost of a screen against rankings, compared with one against numbers."""
    names = ("complete", "incomplete")
    return {name: _median(found[f"{name}_to_numbers"]) for name in names} | {
        "rows": f"{found['rows']:,}",
        "features": f"{found['features']:,}",
        "missing": format_number(100 * found["missing"], 2),
    }


def quote_multistage(found: Results) -> dict[str, str]:
    """Quote the time of a fit of stages by the number of triples."""
    rows = [
        [
            f"{one['triples']:,}",
            one["rounds"],
            f"{format_number(one['seconds'])} s",
            f"{one['peak_mb']:,.0f} MB",
        ]
        for one in found["points"]
    ]
    return {"points": format_table(["triples", "rounds", "time", "peak memory"], rows)}


def quote_block_order(found: Results) -> dict[str, str]:
    """Quote the processor time of a feature of one block."""
    head = ["rows", "T0, µs", "T0 + ξ, µs", "T0 / 64-bit sort", "T0 / fastest sort"]
    rows = [
        [f"{one['rows']:,}", *(format_number(one[name], 2) for name in head[1:])] for one in found["rows"]
    ]
    return {"blocks": format_table(head, rows)}


def quote_candidate_filter(found: Results) -> dict[str, str]:
    """Quote the time of a candidate in layers of a million and more."""
    large = [one for one in found["rows"] if one["candidates"] > 1e6]
    times = [one[f"ns each, {threads}"] for one in large for threads in ("1 thread", "2 threads")]
    most = max(large, key=lambda one: one["peak MB"])
    return {
        "us_least": format_number(min(times) / 1000, 2),
        "us_most": format_number(max(times) / 1000, 2),
        "paper_hours_least": format_number(min(times) * 1e3 / 3600, 2),
        "paper_hours_most": format_number(max(times) * 1e3 / 3600, 2),
        "candidates": format_number(most["candidates"] / 1e6, 2),
        "mb": format_number(most["peak MB"], 2),
    }


def quote_best_subsets(found: Results) -> dict[str, str]:
    """Quote how many models a second are compared, by size of the search."""
    rows = [
        [one["search"], f"{one['models']:,}", format_number(one["10⁶ models a second of processor time"])]
        for one in found["rows"]
        if one["models"] > 1e7
    ]
    return {"rates": format_table(["search", "models", "10⁶ models a second of processor time"], rows)}


def quote_matched_pairs(found: Results) -> dict[str, str]:
    """Quote how many planted pairs were found, the time of a search without its pool, and its memory."""
    rows = [
        [
            f"{one['formulas']:,}",
            f"{100 * one['noise']:g} %",
            one["kind"],
            one["planted"],
            one["first"],
            one["among_ten"],
            one["outvoted"],
            f"{100 * one['refused_share']:.0f} %",
            f"{one['processor_s_longest']:.0f} s",
            f"{one['peak_gb']:.1f} GB",
        ]
        for one in found["summary"]
    ]
    head = [
        "formulas",
        "noise",
        "kind",
        "planted",
        "first",
        "among ten",
        "outvoted",
        "drawn anew",
        "most processor time",
        "peak",
    ]
    in_pairs = [one["wall_s"] for one in found["rows"] if one.get("jobs") == 2]
    return {"table": format_table(head, rows), "two_threads_s": f"{max(in_pairs):.0f}"}

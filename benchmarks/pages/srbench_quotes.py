"""What pages quote from the stored runs of SRBench: ``reproduction/srbench.json`` and the one with units."""

from __future__ import annotations

from typing import Any

from measurement import format_table

Results = dict[str, Any]
Row = dict[str, Any]


def quote_srbench(found: Results) -> dict[str, str]:
    """Quote the rates beside the best published ones, those by structure, the times, misses and claims."""
    outputs, remarks = found["outputs"], found["remarks"]
    percents = {
        row["noise_ratio"]: row["percent"] for row in outputs["summary"]
    }  # those of all problems are last
    return {
        "found_without_noise": f"{percents[min(percents)]:.0f}",
        "found_with_most_noise": f"{percents[max(percents)]:.0f}",
        "rates": _format_rates(outputs["summary"]),
        "structure": _format_structures(outputs["structure"]),
        "seconds": _format_seconds(outputs["summary"]),
        "misses": _format_misses(outputs["misses"]),
        "newly_solved": next(remark for remark in remarks if "no published method" in remark),
        "claims": next(remark for remark in remarks if "do not have the form" in remark),
    }


def _format_rates(summary: list[Row]) -> str:
    """Format the rates by problems and noise, each beside the best published one."""
    head = ["problems", "noise", "fits", "solved", "rate", "best published rate"]
    return format_table(
        head,
        [
            [
                f"{row['tried']} of {row['problems']}" if row["problems"] != "all" else f"all {row['tried']}",
                f"{row['noise_ratio']:g}",
                row["fits"],
                row["solved"],
                f"{row['percent']:.1f} %",
                f"{row['published_percent']:.1f} % ({row['published_by']})" if row["published_by"] else "",
            ]
            for row in summary
        ],
    )


def _format_structures(structures: list[Row]) -> str:
    """Format the solved fits by the structure of the law and by noise."""
    ratios = sorted({row["noise_ratio"] for row in structures})
    table: dict[tuple[str, str], list[str]] = {}
    for row in structures:
        names = (row["problems"], row["structure"])
        cells = table.setdefault(names, [*names, *[""] * len(ratios)])
        cells[2 + ratios.index(row["noise_ratio"])] = f"{row['solved']} of {row['fits']}"
    head = ["problems", "structure of the law", *(f"{ratio:g}" for ratio in ratios)]
    return format_table(head, list(table.values()))


def _format_seconds(summary: list[Row]) -> str:
    """Format the run times by noise, of all problems where there are two sources of problems."""
    last = summary[-1]["problems"]
    table = [
        [
            f"{row['noise_ratio']:g}",
            f"{row['seconds_median']:.1f} s",
            f"{row['seconds_most']:.0f} s",
            row["over_60_s"],
        ]
        for row in summary
        if row["problems"] == last
    ]
    return format_table(["noise", "median", "longest fit", "fits over 60 s"], table)


def _format_misses(misses: list[Row]) -> str:
    """List the missed problems by noise and cause; a number in brackets counts the seeds."""
    table = []
    for ratio in sorted({row["noise_ratio"] for row in misses}):
        for cause in dict.fromkeys(row["cause"] for row in misses):
            names = [
                row["problem"] for row in misses if row["noise_ratio"] == ratio and row["cause"] == cause
            ]
            if names:
                counts = {name: names.count(name) for name in sorted(names)}
                listed = ", ".join(
                    f"`{name}`" + (f" ({count})" if count > 1 else "") for name, count in counts.items()
                )
                table.append([f"{ratio:g}", cause, listed])
    return format_table(["noise", "cause", "problems"], table)

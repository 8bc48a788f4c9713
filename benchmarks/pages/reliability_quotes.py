"""What docs/reliability.md quotes from the benchmarks of reliability."""

from __future__ import annotations

from collections import Counter
from typing import Any

from measurement import format_number, format_table

Results = dict[str, Any]


def quote_fuzz(found: Results) -> dict[str, str]:
    """Quote what the guided fuzzer fed to each reader, and how it ended."""
    readers = found["readers"]
    rows = [
        [
            name,
            one["cpu_seconds"],
            *(f"{one[key]:,}" for key in ("inputs", "read", "refused")),
            len(one["found"]),
            one["edges"],
            f"{one['worst_seconds']:.2f} s",
            f"{one['peak_mb']} MB",
        ]
        for name, one in readers.items()
    ]
    keys = ("cpu_seconds", "inputs", "read", "refused")
    totals = {key: sum(one[key] for one in readers.values()) for key in (*keys, "seconds")}
    findings = sum(len(one["found"]) for one in readers.values())
    rows.append(["**all**", *(f"{totals[key]:,}" for key in keys), findings, "", "", ""])
    head = [
        "reader",
        "CPU seconds",
        "inputs",
        "read",
        "refused",
        "findings",
        "edges",
        "worst CPU time",
        "peak memory",
    ]
    return {
        "readers": format_table(head, rows),
        "number": str(len(readers)),
        "inputs": f"{totals['inputs']:,}",
        "millions": format_number(totals["inputs"] / 1e6, 2),
        "minutes": format_number(totals["seconds"] / 60, 2),
        "cpu_minutes": format_number(totals["cpu_seconds"] / 60, 2),
        "findings": str(findings),
    }


def quote_hostile(found: Results) -> dict[str, str]:
    """Quote how hostile inputs made by hand ended, by class."""
    cases, rows = found["cases"], list[list[object]]()
    for kind in dict.fromkeys(one["class"] for one in cases):
        rows.append([kind, *_count_ends([one for one in cases if one["class"] == kind])])
    rows.append(["**all**", *_count_ends(cases)])
    head = ["class", "inputs", "kept, inert", "refused", "otherwise"]
    return {"classes": format_table(head, rows), "inputs": f"{len(cases):,}"}


def _count_ends(cases: list[Results]) -> list[int]:
    ends = Counter(one["ended"] for one in cases)
    return [len(cases), ends["kept"], ends["refused"], len(cases) - ends["kept"] - ends["refused"]]


def quote_refusals(found: Results) -> dict[str, str]:
    """Quote how inputs that exceed a limit ended, and the most that a refusal took."""
    cases = found["cases"]
    ends = Counter(one["ended"] for one in cases)
    slowest, largest = (max(cases, key=lambda one: one[key]) for key in ("cpu_seconds", "peak_mb"))
    formulas = [one for one in cases if one["limit"].startswith("formula ") and one["ended"] == "refused"]
    nothing = found["nothing_at_all"]
    return {
        "cases": f"{len(cases):,}",
        "refused": f"{ends['refused']:,}",
        "kept": f"{ends['kept']:,}",
        "failed": f"{len(cases) - ends['refused'] - ends['kept']:,}",
        "most_s": f"{slowest['cpu_seconds']:.1f}",
        "most_mb": f"{largest['peak_mb']:,}",
        "slowest": f"{slowest['limit']}, {slowest['way']}",
        "formulas_s": f"{max(one['cpu_seconds'] for one in formulas):.2f}",
        "formulas_mb": f"{max(one['peak_mb'] for one in formulas):,}",
        "nothing_s": f"{nothing['cpu_seconds']:.2f}",
        "nothing_mb": f"{nothing['peak_mb']:,}",
    }


def quote_faults(found: Results) -> dict[str, str]:
    """Quote each fault with how often it was tried and how it ended."""
    parts = found["parts"]
    kills = parts["kills"]["kills"]
    stages = Counter(one["stage"] for one in kills)
    resumed = sum(one.get("resumed_chunks", 0) > 0 for one in kills)
    ended = ", ".join(f"{count} in {stage}" for stage, count in stages.items())
    rows = [
        [
            f"SIGKILL at a random moment ({ended}); the same command again",
            str(len(kills)),
            sum(one["survived"] for one in kills),
            f"the same bytes: {sum(one['same_bytes'] for one in kills)}; went on from kept chunks: {resumed}",
        ]
    ]
    tried = [
        _list_fault(name, one)
        for part, cases in parts.items()
        if part != "kills"
        for name, one in cases.items()
    ]
    rows += tried
    return {
        "faults": format_table(["fault", "tried", "survived", "how it ended"], rows),
        "tried": f"{sum(int(row[1]) for row in rows):,}",
        "survived": f"{sum(int(row[2]) for row in rows):,}",
        "kills": str(len(kills)),
        "half_states": str(sum(one["half_a_state"] > 0 for one in kills)),
        "left_beside": str(sum(one["left_beside"] > 0 for one in kills)),
    }


def _list_fault(name: str, one: Results) -> list[Any]:
    if "skipped" in one:
        return [name, 0, 0, one["skipped"]]
    if "status" in one:
        end = f"status {one['status']}" + (", the same bytes" if one.get("same_bytes") else "")
        return [name, 1, int(one["survived"]), end]
    counts = {
        kind: len(value) if isinstance(value, list | dict) else value
        for kind, value in one.items()
        if kind != "survived" and not isinstance(value, str)
    }
    tried = sum(counts.values())
    end = ", ".join(f"{kind}: {count}" for kind, count in counts.items() if count)
    return [name, tried, tried if one["survived"] else "**not all**", end]


def quote_soak(found: Results) -> dict[str, str]:
    """Quote the mixed runs, and how much memory stayed."""
    start, end = found["settled"]["resident_mib"]
    slope, error = found["slopes_per_hour"]["resident_mib"]
    return {
        "minutes": format_number(found["minutes"], 2),
        "rounds": f"{found['rounds']:,}",
        "runs": f"{sum(found['runs'].values()):,}",
        "wrong": str(len(found["wrong"])),
        "left": str(len(found["left"])),
        "threads": f"{found['settled']['threads'][1]:.0f}",
        "files": f"{found['settled']['open_files'][1]:.0f}",
        "start_mib": f"{start:.0f}",
        "end_mib": f"{end:.0f}",
        "mib_per_hour": f"{slope:.1f}",
        "error": f"{error:.1f}",
        "kb_per_round": f"{slope * found['minutes'] / 60 * 2**20 / 1000 / found['rounds']:.0f}",
    }


def quote_mutations(found: Results) -> dict[str, str]:
    """Quote how many mutations were tried, and how many tests noticed."""
    rows = found["mutations"]
    packages = list(dict.fromkeys(one["package"] for one in rows))
    verdicts = ("killed", "timeout", "survived", "equivalent")
    table = []
    for name in [*packages, "**all**"]:
        counts = Counter(one["verdict"] for one in rows if name in {one["package"], "**all**"})
        table.append([name, sum(counts[one] for one in verdicts), *(counts[one] for one in verdicts)])
    head = ["package", "tried", "killed", "out of time", "survived", "equivalent"]
    return {
        "packages": format_table(head, table),
        "tried": str(found["tried"]),
        "killed": str(found["killed"]),
        "survived": str(found["survived"]),
        "equivalent": str(found["equivalent"]),
        "killed_percent": f"{100 * found['killed_share']:.1f}",
        "first_survived": str(found["first_run"]["survived"]),
    }

"""What faults do to a screen: kills, full disks, limits, damaged files, data that change, a lost worker.

Every fault is a real one. A run survives it if it ends in the same bytes as an undisturbed one, or in a
refusal of one line with exit status 2, nothing half written left in its name.

It needs Linux, Dask for the lost worker, and the right to mount for the small disks. What cannot be done is
skipped and named.
"""

from __future__ import annotations

import importlib.util
import json
import resource
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import describe_machine, format_table, make_parser, save_results
from reliability.fault_cases import changing, damaged_results, damaged_states, full, read_only
from reliability.fault_kills import OPTIONS, STAGES, dask_kill, kills, ranking_of, undisturbed, write_data
from reliability.fault_memory import limited

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PARTS = ("kills", "full", "read-only", "damaged", "memory", "changing", "dask")


def measured(folder: Path, part: str, each: int, rng: np.random.Generator) -> dict[str, Any]:
    """Do the faults of one part; return kills, or cases by their names."""
    data = folder / "data.csv"
    write_data(data, 0)
    alone: dict[str, Callable[[], dict[str, Any]]] = {
        "changing": lambda: changing(folder, 300),
        "memory": lambda: limited(folder, data),
        "read-only": lambda: read_only(folder, data),
        "damaged": lambda: damaged_states(folder, data, rng, 200) | damaged_results(folder, data, rng, 100),
    }
    if part in alone:
        return alone[part]()
    times = undisturbed(folder / "undisturbed", data)
    whole = ranking_of(folder / "undisturbed")
    if part == "full":
        return full(folder, data, whole[0])
    if part == "dask":
        there = importlib.util.find_spec("distributed") is not None
        name = "a Dask worker killed while chunks are scored"
        return {name: dask_kill(folder / "dask", data, whole) if there else {"skipped": "no Dask"}}
    found: dict[str, Any] = {
        "options": OPTIONS,
        "stage_s": {stage: round(times[place + 1] - times[place], 4) for place, stage in enumerate(STAGES)},
        "kills": [],
    }
    for one in kills(folder, data, each=each, times=times, rng=rng):
        found["kills"].append(one)
        print(one, flush=True)
    return found


def table(found: dict[str, Any]) -> str:
    """Return the tables: kills by stage, then each case."""
    rows: list[list[object]] = []
    for stage in STAGES:
        there = [one for one in found["parts"].get("kills", {"kills": []})["kills"] if one["stage"] == stage]
        resumed = [f"{one['resumed_chunks']}/{one['chunks']}" for one in there if "chunks" in one]
        rows.append(
            [
                stage,
                len(there),
                sum(one["survived"] for one in there),
                sum(one["half_a_state"] for one in there),
                sum(one["record_there"] and not one["ranking_there"] for one in there),
                sum(one["ranking_there"] for one in there),
                sum(one["left_beside"] for one in there),
                ", ".join(resumed),
            ]
        )
    head = ["killed in", "kills", "survived", "half a state", "record without ranking", "ranking whole"]
    above = format_table([*head, "temporary output left", "chunks resumed"], rows)
    cases = [
        [name, one.get("skipped") or ("yes" if one["survived"] else "**no**"), _end(one)]
        for part in PARTS
        if part != "kills"
        for name, one in found["parts"].get(part, {}).items()
    ]
    return above + "\n\n" + format_table(["fault", "survived", "how it ended"], cases)


def _end(one: dict[str, Any]) -> str:
    if "status" not in one:
        kinds = ("refused", "read as it was", "taken", "other errors", "one of the two", "a mixture taken")
        kinds = (*kinds, "done", "not survived", "the last one")
        return ", ".join(f"{kind}: {_brief(one[kind])}" for kind in kinds if one.get(kind))
    same = ", the same bytes" if one.get("same_bytes") else ""
    words = one["words"].replace("|", "\\|").splitlines()
    return f"status {one['status']}{same}" + (f": `{words[-1]}`" if words else "")


def _brief(outcome: Any) -> Any:
    """Write a list of limits as how many there are, from the least to the most."""
    return f"{len(outcome)} ({outcome[0]} to {outcome[-1]})" if isinstance(outcome, list) else outcome


def main(arguments: Sequence[str]) -> None:
    """Read the options, do the faults, save what came."""
    parser = make_parser(__doc__)
    parser.add_argument("--each", type=int, default=5, help="kills in each of the four stages")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default=",".join(PARTS), help="parts, by commas; others stay as they were")
    given = parser.parse_args(arguments)
    for part in given.only.split(","):
        about, before = describe_machine(), _cpu()
        rng = np.random.default_rng([given.seed, PARTS.index(part)])
        with tempfile.TemporaryDirectory(prefix="faults") as folder:
            outcome = measured(Path(folder), part, given.each, rng)
            # messages name files: what stands in the results names no folder of this machine
            outcome = _without(outcome, folder)
        stored = given.results / "faults.json"
        found = json.loads(stored.read_bytes()) if stored.exists() else {}
        found = {"seed": given.seed, "parts": {}, "cpu_s": {}} | (found if "parts" in found else {})
        found["parts"][part], found["cpu_s"][part] = outcome, round(_cpu() - before, 1)
        save_results("faults", found | {"machine": about}, table(found), given.results)


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _without(outcome: Any, folder: str) -> Any:
    if isinstance(outcome, dict):
        return {name: _without(one, folder) for name, one in outcome.items()}
    if isinstance(outcome, list):
        return [_without(one, folder) for one in outcome]
    return outcome.replace(f"{folder}/", "") if isinstance(outcome, str) else outcome

"""Limits on the addresses and on the data of a process: a result of the same bytes, or a refusal in one line.

Each command runs under limits from far too little to plenty. It survives one if it ends with status 0 and the
bytes of a run without a limit, or with status 2 and one line, and leaves nothing in its folder but that.
"""

from __future__ import annotations

import resource
from functools import partial
from typing import TYPE_CHECKING, Any

from reliability.fault_cases import SMALL, run_of

if TYPE_CHECKING:
    from pathlib import Path

LIMITS = range(150, 3001, 50)  # MiB, for the first command; every sixth for the others
_WIDE = ["--layers", "ubb", "--operators", "physics", "--top", "100", "--max-ram", "8GB"]
_COMMANDS = {
    "screen, --max-ram 8GB": ["screen", *SMALL, "--max-ram", "8GB", "--jobs", "1"],
    "screen, all jobs": ["screen", *SMALL],
    "screen of a large space": ["screen", *_WIDE],
    "screen by lasso and forest, with p-values": [
        "screen",
        *SMALL,
        "--screener",
        "t0,lasso,forest",
        "--fdr",
        "0.1",
    ],
    "fit": ["fit", "--layers", "ub"],
}
_KINDS = {"addresses": resource.RLIMIT_AS, "data": resource.RLIMIT_DATA}


def _set(kind: int, most: int) -> None:
    resource.setrlimit(kind, (most, most))


def limited(folder: Path, data: Path, limits: range = LIMITS) -> dict[str, dict[str, Any]]:
    """Run every command under every limit."""
    found: dict[str, dict[str, Any]] = {}
    for command, given in _COMMANDS.items():
        out = folder / "limited" / ("out.json" if given[0] == "fit" else "out.csv")
        out.parent.mkdir(exist_ok=True)
        verb = [given[0], data, *given[1:], "--quiet", "--out", out]
        for name, kind in (
            _KINDS.items() if command == "screen, all jobs" else [("addresses", _KINDS["addresses"])]
        ):
            if run_of(*verb)["status"]:
                raise RuntimeError("the run without a limit failed")
            whole = _taken(out)
            ends: dict[str, Any] = {"done": [], "refused": [], "not survived": {}}
            tried = limits if command == next(iter(_COMMANDS)) else limits[::6]
            for most in tried:
                outcome = run_of(*verb, limit=partial(_set, kind, most * 2**20))
                there = _taken(out)
                if outcome["status"] == 0 and there[out.name] == whole[out.name] and len(there) == len(whole):
                    ends["done"].append(most)
                elif outcome["status"] == 2 and outcome["one_line"] and not there:
                    ends["refused"].append(most)
                    ends["the last one"] = outcome["words"]
                else:
                    ends["not survived"][most] = outcome["words"][-200:] or f"status {outcome['status']}"
                print(command, name, most, outcome["status"], outcome["words"][-100:], flush=True)
            found[f"{command}: {name} of {limits[0]} to {limits[-1]} MiB, {len(tried)} limits"] = ends | {
                "survived": not ends["not survived"]
            }
    return found


def _taken(out: Path) -> dict[str, bytes]:
    """Return what stands in the output's folder, and take it away."""
    files = {one.name: one.read_bytes() for one in out.parent.iterdir()}
    for name in files:
        (out.parent / name).unlink()
    return files

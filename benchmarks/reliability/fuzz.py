"""Fuzz every reader of files and texts: guided by coverage where atheris is asked for, else seeded mutation.

    python benchmarks/run.py fuzz --seconds 60 --seed 1            # all readers in turn, mutation
    python benchmarks/run.py fuzz formula unit --atheris --seconds 600   # two, guided by coverage

Findings go to the folder of ``--work``, with what led there. What mutation found goes to standard output as
JSON; what guided runs found is added up in ``benchmarks/results/fuzz.json`` and ``.md``.
"""

from __future__ import annotations

import faulthandler
import json
import re
import resource
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import format_table, make_parser, save_results
from reliability.guided_fuzzing import LONGEST, ROOT, fuzzed, instrumented

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

sys.path.insert(0, str(ROOT / "tests"))
_MOST_FINDINGS = 20
_MOST_STARTS = 25
_WORTH_A_START = 5  # seconds
_SUMS = ("inputs", "read", "refused", "seconds", "cpu_seconds")
_COVERED = re.compile(r"cov: (\d+) ft: (\d+)")


def main(arguments: Sequence[str]) -> None:
    """Read the options and run."""
    parser = make_parser(__doc__)
    parser.add_argument("harness", nargs="*")
    parser.add_argument("--seconds", type=float, default=60, help="for each reader")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--atheris", action="store_true")
    parser.add_argument("--work", type=Path, default=Path("fuzzed"))
    options = parser.parse_args(arguments)
    faulthandler.enable()
    run = _guided if options.atheris else _mutation
    if options.atheris:
        instrumented()  # before anything imports what is to be guided
    for name in options.harness or _readers():
        print(json.dumps(run(name, options)), flush=True)


def _readers() -> list[str]:
    from fuzzing.harnesses import HARNESSES

    return list(HARNESSES)


def _mutation(name: str, options: argparse.Namespace) -> dict[str, object]:
    from fuzzing.mutation import mutated

    rng = np.random.default_rng([options.seed, *name.encode()])
    endings = {"read": 0, "refused": 0, "finding": 0}
    worst, begun = 0.0, time.process_time()
    while time.process_time() - begun < options.seconds and endings["finding"] < _MOST_FINDINGS:
        for data in [mutated(rng, name) for _ in range(100)]:
            start = time.process_time()
            endings[_ended(name, data, options.work)] += 1
            worst = max(worst, time.process_time() - start)
    return {
        "harness": name,
        "inputs": sum(endings.values()),
        **endings,
        "cpu_seconds": round(time.process_time() - begun, 1),
        "worst_cpu_seconds": round(worst, 3),
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def _ended(name: str, data: bytes, work: Path) -> str:
    from fuzzing.harnesses import ending

    def late(*_: object) -> None:
        raise TimeoutError(f"more than {LONGEST} s")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(LONGEST)
    try:
        return ending(name, data)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        work.mkdir(exist_ok=True)
        path = work / f"{name}-{abs(hash(data)):x}"
        path.write_bytes(data)
        path.with_suffix(".txt").write_text(traceback.format_exc()[-3000:])
        return "finding"
    finally:
        signal.alarm(0)


def _guided(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Fuzz one reader in processes of their own, begun anew where an input ended one."""
    folder = options.work / name
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {}
    for start in range(_MOST_STARTS):
        left = options.seconds - found.get("seconds", 0)
        if left < _WORTH_A_START:
            break
        found = joined(found, _one_process(name, folder, left, 1 + options.seed * _MOST_STARTS + start))
    found |= {name: round(found[name]) for name in ("seconds", "cpu_seconds")}
    _save(name, found, options.results)
    return {"harness": name, **found}


def _one_process(name: str, folder: Path, seconds: float, seed: int) -> dict[str, Any]:
    outcome, ended = folder / "outcome.json", folder / "stderr.txt"
    outcome.unlink(missing_ok=True)
    status = fuzzed(name, folder, seconds, seed)
    text = ended.read_text(errors="replace")
    found = json.loads(outcome.read_text()) if outcome.exists() else {}
    covered = [tuple(map(int, one)) for one in _COVERED.findall(text)]
    found["edges"], found["features"] = max(covered, default=(0, 0))
    if status:
        last = [line for line in text.splitlines() if "ERROR: libFuzzer" in line or "Error" in line]
        what = (last or [f"exit status {status}"])[0].split("==")[-1].strip()
        found["found"] = found.get("found", {}) | {what: 0}
        ended.rename(folder / f"ended-{seed}.txt")
    return found


def joined(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Add up two runs of one reader."""
    whole = {name: one.get(name, 0) + other.get(name, 0) for name in _SUMS}
    for name in ("edges", "features", "peak_mb", "worst_seconds"):
        whole[name] = max(one.get(name, 0), other.get(name, 0))
    whole["found"] = one.get("found", {}) | other.get("found", {})
    return whole


def _save(name: str, found: dict[str, Any], folder: Path) -> None:
    """Add these results to those of earlier runs."""
    path = folder / "fuzz.json"
    rows = json.loads(path.read_text())["readers"] if path.exists() else {}
    rows[name] = joined(rows.get(name, {}), found)
    head = [
        "reader",
        "seconds",
        "CPU seconds",
        "inputs",
        "read",
        "refused",
        "findings",
        "edges",
        "worst CPU",
        "peak memory",
    ]
    lines = [
        [
            *(
                each,
                one["seconds"],
                one["cpu_seconds"],
                f"{one['inputs']:,}",
                f"{one['read']:,}",
                f"{one['refused']:,}",
            ),
            *(
                len(one["found"]),
                f"{one['edges']:,}",
                f"{one['worst_seconds']:.2f} s",
                f"{one['peak_mb']} MB",
            ),
        ]
        for each, one in rows.items()
    ]
    whole = [
        sum(one[key] for one in rows.values())
        for key in ("seconds", "cpu_seconds", "inputs", "read", "refused")
    ]
    every = sum(len(one["found"]) for one in rows.values())
    lines.append(["**all**", *(f"{one:,}" for one in whole), every, "", "", ""])
    save_results("fuzz", {"readers": rows}, format_table(head, lines), folder)

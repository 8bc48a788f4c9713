"""SIGKILL at random moments of a screen that keeps a checkpoint, and of a Dask worker.

A stage is where the last line of the run's log says that it was: *expand* from the data's preparation until
the layers are grown, *score* until the last chunk, *merge* until the result is made, *write* until the
ranking stands there. Moments are drawn within the time that a stage took undisturbed.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

STAGES = ("expand", "score", "merge", "write")
_BEGINS = ("prepared", "grown", "scored", "finished")
OPTIONS = ["--layers", "ubb", "--unary", "sqrt,log,square", "--binary", "add,mul,div", "--top", "2000"]
# As users run it, but with a state every tenth of a second instead of two seconds, so that there are many.
_RUN = """
import sys
from symscreen.screening import checkpoint
from symscreen.cli import main
checkpoint._SAVE_INTERVAL_S, checkpoint._MAX_SAVE_TIME_SHARE = 0.1, 1e9
sys.argv[0] = "symscreen"
main()
"""


def write_data(path: Path, seed: int, rows: int = 60) -> None:
    """Write a table of three inputs and a noisy response."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.5, 2.0, (rows, 3))
    y = x[:, 0] * x[:, 1] / x[:, 2] + 0.1 * rng.normal(size=rows)
    lines = [",".join(repr(float(value)) for value in row) for row in np.column_stack([x, y])]
    path.write_text("a,b,c,y\n" + "\n".join(lines) + "\n")


def command_of(folder: Path, data: Path, *more: str) -> list[str]:
    """Return the command of one run: its checkpoint, output and log are in a folder of its own."""
    kept, out, log = folder / "kept", folder / "out.csv", folder / "log.json"
    given = ["screen", data, *OPTIONS, "--quiet", "--checkpoint", kept, "--out", out, "--log-json", log]
    return [sys.executable, "-c", _RUN, *map(str, given), *more]


def started(command: list[str], **how: Any) -> subprocess.Popen[bytes]:
    """Start a run that says nothing."""
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **how)


def ranking_of(folder: Path) -> tuple[bytes, dict[str, Any]]:
    """Return the ranking's bytes, and its record without what names the run."""
    record: dict[str, Any] = json.loads((folder / "out.csv.json").read_bytes())
    for name in ("run", "jobs"):
        record["options"].pop(name)
    record.pop("digest")  # it is of those, too
    return (folder / "out.csv").read_bytes(), record


def undisturbed(folder: Path, data: Path, *more: str) -> list[float]:
    """Run to the end; return when each stage began and when the ranking stood there."""
    folder.mkdir()
    if (run := started(command_of(folder, data, *more))).wait() != 0:
        raise RuntimeError(run.communicate()[1].decode())
    times = [max(at for stage, at in _log(folder) if stage == begin) for begin in _BEGINS]
    return [*times, (folder / "out.csv").stat().st_ctime]


def _log(folder: Path) -> list[tuple[str, float]]:
    """Read the lines of a log that are whole; of the stages of scoring, the last chunk's alone."""
    try:
        lines = (folder / "log.json").read_text().splitlines(keepends=True)
    except OSError:
        return []
    outcome = [json.loads(line) for line in lines if line.endswith("\n")]
    return [(one["stage"], one["time"]) for one in outcome if one.get("done") == one.get("total")]


def kills(
    folder: Path, data: Path, *, each: int, times: list[float], rng: np.random.Generator
) -> Iterator[dict[str, Any]]:
    """Kill some runs in each stage, and start each again."""
    whole = ranking_of(folder / "undisturbed")
    for place, stage in enumerate(STAGES):
        done = tries = 0
        while done < each and tries < 4 * each:
            tries += 1
            delay = float(rng.uniform(0, times[place + 1] - times[place]))
            home = folder / f"{stage}{tries}"
            home.mkdir()
            outcome = _killed(home, data, place, delay)
            if outcome is not None:
                done += 1
                yield outcome | _again(home, data, whole)
            shutil.rmtree(home)


def _killed(home: Path, data: Path, place: int, delay: float) -> dict[str, Any] | None:
    """Kill a run a while after a stage began; None where it had ended before."""
    run = started(command_of(home, data))
    while run.poll() is None and not any(stage == _BEGINS[place] for stage, _ in _log(home)):
        time.sleep(0.001)
    time.sleep(delay)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    if run.returncode != -signal.SIGKILL:
        return None
    fell = _BEGINS.index(_log(home)[-1][0])
    files = sorted(one.name for one in home.iterdir())
    return {
        "aimed_at": STAGES[place],
        "stage": STAGES[fell],
        "delay_s": round(delay, 4),
        "states": len(list((home / "kept").glob("*.state"))),
        "half_a_state": len(list((home / "kept").glob(".*.state.*"))),
        "record_there": "out.csv.json" in files,
        "ranking_there": "out.csv" in files,
        "left_beside": sum(name.startswith(".") for name in files),
    }


def _again(home: Path, data: Path, whole: tuple[bytes, dict[str, Any]]) -> dict[str, Any]:
    """Start the same command again and compare what came, byte by byte."""
    had = (home / "out.csv").exists()
    run = started(command_of(home, data))
    words = run.communicate()[1].decode().strip()
    outcome: dict[str, Any] = {"status": run.returncode}
    if had:  # the ranking was whole already: it must stay, and the command refuse to overwrite it
        outcome["refused"] = words.count("\n") == 0 and "--force" in words
    else:
        run_of = json.loads((home / "out.csv.json").read_bytes())["options"]["run"]
        outcome |= {"chunks": run_of["chunks"], "resumed_chunks": run_of["resumed_chunks"]}
    same = ranking_of(home) == whole
    good = run.returncode == (2 if had else 0) and outcome.get("refused", True)
    return outcome | {"same_bytes": same, "survived": same and good}


def dask_kill(folder: Path, data: Path, whole: tuple[bytes, dict[str, Any]]) -> dict[str, Any]:
    """Kill one of two Dask workers while chunks are scored."""
    folder.mkdir()
    run = started(command_of(folder, data, "--backend", "dask", "--jobs", "2"))
    while run.poll() is None and not any(stage == "grown" for stage, _ in _log(folder)):
        time.sleep(0.005)
    workers: list[int] = []
    while run.poll() is None and not workers:
        workers = [pid for pid in _below(run.pid) if _is_worker(pid)]
        time.sleep(0.01)
    while run.poll() is None and not list((folder / "kept").glob("*.state")):
        time.sleep(0.01)  # until something was scored
    killed = run.poll() is None
    if killed:
        os.kill(workers[-1], signal.SIGKILL)
    words = run.communicate()[1].decode().strip()
    same = run.returncode == 0 and ranking_of(folder) == whole
    outcome = {"workers_seen": len(workers), "killed_while_running": killed, "status": run.returncode}
    return outcome | {"words": words[-300:], "same_bytes": same, "survived": same and killed}


def _below(pid: int) -> list[int]:
    """Return the processes that a process started, and those that they started."""
    try:
        own = [
            int(one)
            for task in Path(f"/proc/{pid}/task").glob("*/children")
            for one in task.read_text().split()
        ]
    except OSError:
        return []
    return own + [further for one in own for further in _below(one)]


def _is_worker(pid: int) -> bool:
    try:
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False

"""Full disks, folders that are read only, damaged files, data that change while they are read.

Each case is a function that returns what came; ``survived`` says whether that was a whole result or a refusal
in one line, with nothing left over.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reliability.fault_kills import OPTIONS, write_data

from symscreen.data import read_dataset
from symscreen.errors import DataError, OutputError
from symscreen.screening.checkpoint import load_state, open_checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np

SMALL = ["--layers", "ub", "--top", "2000"]


def run_of(
    *given: str | Path, limit: Callable[[], None] | None = None, out: int | None = None
) -> dict[str, Any]:
    """Run a verb; return how it ended, and whether in one line."""
    command = [sys.executable, "-m", "symscreen", *map(str, given)]
    done = subprocess.run(
        command,
        stdout=subprocess.DEVNULL if out is None else out,
        stderr=subprocess.PIPE,
        preexec_fn=limit,  # no thread of ours runs then
        timeout=120,
        check=False,
    )
    words = done.stderr.decode().strip()
    return {"status": done.returncode, "words": words[-600:], "one_line": "\n" not in words}


def _refused(outcome: dict[str, Any], *files: Path) -> dict[str, Any]:
    left = [str(file) for file in files if file.exists()]
    return outcome | {"left": left, "survived": outcome["status"] == 2 and outcome["one_line"] and not left}


def _filesize(most: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


@contextmanager
def _mounted(where: Path, options: str) -> Iterator[bool]:
    """Mount a small file system, where that is permitted."""
    where.mkdir()
    tried = subprocess.run(
        ["/bin/mount", "-t", "tmpfs", "-o", options, "none", where], check=False, capture_output=True
    )
    if tried.returncode:
        yield False
        return
    try:
        yield True
    finally:
        subprocess.run(["/bin/umount", where], check=True)


_NO_MOUNT = {"skipped": "mounting is not permitted here"}


def full(folder: Path, data: Path, whole: bytes) -> dict[str, dict[str, Any]]:
    """Fill the disk of the output, of standard output, of the checkpoint."""
    screen = ["screen", data, *OPTIONS]
    found: dict[str, dict[str, Any]] = {}
    with Path("/dev/full").open("wb") as device:
        found["standard output is /dev/full"] = _refused(
            run_of("screen", data, *SMALL, "--quiet", "--out", "-", out=device.fileno())
        )
    out = folder / "cut.csv"
    outcome = run_of(*screen, "--quiet", "--out", out, limit=partial(_filesize, 50_000))
    found["output, RLIMIT_FSIZE 50 kB"] = _refused(outcome, *folder.glob("*cut.csv*"))
    out = folder / "kept_cut.csv"
    kept = folder / "kept_cut"
    outcome = run_of(*screen, "--checkpoint", kept, "--out", out, limit=partial(_filesize, 2_000_000))
    found["checkpoint, RLIMIT_FSIZE 2 MB"] = _went_on(outcome, out, whole, kept)
    with _mounted(folder / "small", "size=48k") as there:
        out = folder / "small" / "out.csv"
        outcome = run_of(*screen, "--quiet", "--out", out) if there else {}
        left = list(out.parent.iterdir())
        found["output, tmpfs of 48 kB"] = _refused(outcome, *left) if there else _NO_MOUNT
    with _mounted(folder / "small_kept", "size=48k") as there:
        out, kept = folder / "small_kept.csv", folder / "small_kept" / "kept"
        outcome = run_of(*screen, "--checkpoint", kept, "--out", out) if there else {}
        found["checkpoint, tmpfs of 48 kB"] = _went_on(outcome, out, whole, kept) if there else _NO_MOUNT
    return found


def _went_on(outcome: dict[str, Any], out: Path, whole: bytes, kept: Path) -> dict[str, Any]:
    """Judge a checkpoint that cannot be written: it must not cost the result, and must be reported."""
    same = out.exists() and out.read_bytes() == whole
    said = "File too large" in outcome["words"] or "No space left" in outcome["words"]
    left = [one.name for one in kept.glob(".*")]
    good = same and said and outcome["status"] == 0 and not left
    outcome["words"] = next(
        iter(line for line in outcome["words"].splitlines() if "No space" in line or "too large" in line), ""
    )
    return outcome | {"same_bytes": same, "reported": said, "left": left, "survived": good}


def read_only(folder: Path, data: Path) -> dict[str, dict[str, Any]]:
    """Write into a folder that cannot be written."""
    screen = ["screen", data, *SMALL, "--quiet"]
    with _mounted(folder / "read_only", "ro,size=48k") as there:
        if not there:
            return {"output and checkpoint, read-only folder": _NO_MOUNT}
        out = folder / "read_only" / "out.csv"
        kept = folder / "read_only" / "kept"
        return {
            "output, read-only folder": _refused(run_of(*screen, "--out", out), out),
            "checkpoint, read-only folder": _refused(run_of(*screen, "--checkpoint", kept), kept),
        }


def _harmed(content: bytes, rng: np.random.Generator, how: str) -> bytes:
    if how == "truncated":
        return content[: int(rng.integers(len(content)))]
    changed = bytearray(content)
    changed[int(rng.integers(len(changed)))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def damaged_states(
    folder: Path, data: Path, rng: np.random.Generator, count: int
) -> dict[str, dict[str, Any]]:
    """Cut and alter what a checkpoint holds: a state, at its reader and by the command line, and run.json."""
    screen = ["screen", data, *SMALL, "--quiet", "--checkpoint", folder / "harmed"]
    if run_of(*screen)["status"]:
        raise RuntimeError("the run to be harmed failed")
    (state,) = (folder / "harmed").glob("*.state")
    about = folder / "harmed" / "run.json"
    good, named = state.read_bytes(), about.read_bytes()
    run = good.split(b" ")[2].decode()
    found: dict[str, dict[str, Any]] = {}
    for how in ("truncated", "altered"):
        read = _tried(lambda how=how: load_state(_harmed(good, rng, how), run), count, ValueError)
        found[f"checkpoint state {how}, {count} ways"] = read
        state.write_bytes(_harmed(good, rng, how))
        found[f"checkpoint state {how}, command line"] = _refused(run_of(*screen))
        state.write_bytes(good)

        def opens(how: str = how) -> None:
            about.write_bytes(_harmed(named, rng, how))
            with open_checkpoint(
                about.parent, {name: value for name, value in json.loads(named).items() if name != "format"}
            ):
                pass

        found[f"run.json {how}, {count} ways"] = _tried(opens, count, OutputError)
        about.write_bytes(named)
    return found


def _tried(trial: Callable[[], object], count: int, expected: type[Exception]) -> dict[str, Any]:
    """Count how many of many trials were refused, passed, or ended in another error."""
    ends = {"refused": 0, "taken": 0, "other errors": 0}
    for _ in range(count):
        try:
            trial()
            ends["taken"] += 1
        except expected:
            ends["refused"] += 1
        except Exception as error:  # noqa: BLE001  # that is what is looked for
            ends["other errors"] += 1
            ends["the last one"] = repr(error)[:200]
    return ends | {"survived": ends["refused"] == count}


def damaged_results(
    folder: Path, data: Path, rng: np.random.Generator, count: int
) -> dict[str, dict[str, Any]]:
    """Cut and alter a ranking of each kind and read it again: what it was or one line, never a traceback."""
    from click.testing import CliRunner

    from symscreen import read_ranking
    from symscreen.cli.command import command

    found: dict[str, dict[str, Any]] = {}
    for name in ("r.csv", "r.csv.json", "r.json", "r.parquet"):
        out = folder / name.removesuffix(".json" if name.count(".") > 1 else "")
        if (
            not out.exists()
            and run_of("screen", data, *SMALL, "--quiet", "--top", "50", "--out", out)["status"]
        ):
            raise RuntimeError("the run to be harmed failed")
        good, was = (folder / name).read_bytes(), read_ranking(out)
        for how in ("truncated", "altered"):
            ends = {"refused": 0, "read as it was": 0, "taken": 0, "other errors": 0}
            for _ in range(count):
                (folder / name).write_bytes(_harmed(good, rng, how))
                verb = [["evaluate", str(out), "--truth", "a*b/c"], ["export", str(out), "--to", "numpy"]]
                outcome = CliRunner().invoke(command, verb[int(rng.integers(2))])
                error = outcome.exception
                if error is None:
                    now = read_ranking(out)
                    as_it_was = now.record == was.record and now.table.equals(was.table)
                    end = "read as it was" if as_it_was else "taken"
                else:
                    end = "refused" if _is_refusal(error) else "other errors"
                ends[end] += 1
                if end == "other errors":
                    ends["the last one"] = repr(error)[:200]
            (folder / name).write_bytes(good)
            found[f"{name} {how}, {count} ways"] = ends | {
                "survived": not ends["other errors"] and not ends["taken"]
            }
    return found


def _is_refusal(error: BaseException) -> bool:
    from symscreen.errors import InputError

    return isinstance(error, InputError) or (isinstance(error, SystemExit) and error.code == 2)


_WAYS = ("in place", "in place, then left for 0.3 s", "in place, dates put back", "by renaming")


def changing(folder: Path, reads: int) -> dict[str, dict[str, Any]]:
    """Read a file while another thread writes two tables into it, in place or by renaming."""
    tables = []
    for seed in (1, 2):
        write_data(folder / f"table{seed}.csv", seed, rows=3000 * seed)
        tables.append((folder / f"table{seed}.csv").read_bytes())
    tables.append(tables[1].replace(b"\n0", b"\n1"))  # of the same size as the second
    (folder / "table3.csv").write_bytes(tables[2])
    known = {read_dataset(folder / f"table{seed}.csv").digest for seed in (1, 2, 3)}
    found: dict[str, dict[str, Any]] = {}
    for how in _WAYS:
        pair = tables[1:] if "dates" in how else tables[:2]
        over = threading.Event()
        writer = threading.Thread(target=_written, args=(folder, pair, how, over))
        (folder / "changing.csv").write_bytes(pair[0])
        writer.start()
        ends = {"one of the two": 0, "refused": 0, "a mixture taken": 0}
        for _ in range(reads):
            try:
                table = read_dataset(folder / "changing.csv")
            except DataError:
                ends["refused"] += 1
            else:
                ends["one of the two" if table.digest in known else "a mixture taken"] += 1
        over.set()
        writer.join()
        found[f"data rewritten {how} while read, {reads} reads"] = ends | {
            "survived": not ends["a mixture taken"]
        }
    return found


def _written(folder: Path, tables: list[bytes], how: str, over: threading.Event) -> None:
    """Write one table after the other, 8 KiB at a time, until it is over."""
    turn, place = 0, folder / "changing.csv"
    os.utime(place, (10**9, 10**9))
    while not over.is_set():
        turn += 1
        other = folder / ".changing" if how == "by renaming" else place
        with other.open("r+b" if "dates" in how else "wb", buffering=0) as file:
            for start in range(0, len(tables[turn % 2]), 8192):
                file.write(tables[turn % 2][start : start + 8192])
                if "dates" in how:
                    os.utime(other, (10**9, 10**9))
                over.wait(0.0005)
        if how == "by renaming":
            os.replace(other, place)  # noqa: PTH105
        over.wait(0.3 if "left" in how else 0.004)

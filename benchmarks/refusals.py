"""What would blow up, through the command line: how each case ended, in what time and memory.

    python benchmarks/refusals.py            # all cases
    python benchmarks/refusals.py wide       # those whose name or way holds a word; others stay as they were
    python benchmarks/refusals.py --rest     # those that an interrupted run has left

Each case is a process of its own, forked from one that has loaded symscreen: it sets its arguments, of any
length (Linux passes none above 128 KiB), and calls what the command `symscreen` calls. Figures go to
``results/refusals.json`` and ``.md`` as they come.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import chdir, redirect_stderr
from pathlib import Path
from typing import Any

from measured import RESULTS, machine, markdown, save
from refusal_cases import cases

_LIMIT = 60  # seconds of CPU
_LOADED = (
    *(
        "cli.command",
        "fitting.fit",
        "screening.plan",
        "screening.power",
        "screening.class_members",
        "explain",
    ),
    *("evaluation", "export", "results.ranking_reader", "report.terminal.result_tables"),
    "report.terminal.listings",
)


def main() -> None:
    """Try what is asked for, and write it down."""
    words = sys.argv[1:]
    for name in (*(f"symscreen.{one}" for one in _LOADED), "pint", "sympy", "pyarrow.csv", "pyarrow.parquet"):
        importlib.import_module(name)
    path = RESULTS / "refusals.json"
    known = (
        {(one["limit"], one["way"]): one for one in json.loads(path.read_text())["cases"]}
        if path.exists()
        else {}
    )
    with tempfile.TemporaryDirectory() as folder:
        files = Path(__file__).with_name("refusal_files.py")
        subprocess.run([sys.executable, files, folder], check=True)
        _warm(Path(folder))
        idle = _tried(["screen", "absent.csv"], Path(folder))
        every = list(cases())
        for limit, way, arguments in every:
            if words[:1] != ["--rest"] and words and not any(word in f"{limit} {way}" for word in words):
                continue
            if words[:1] == ["--rest"] and (limit, way) in known:
                continue
            known[limit, way] = {"limit": limit, "way": way} | _tried(arguments, Path(folder))
            if known[limit, way]["ended"] == "failed":
                print(known[limit, way], file=sys.stderr, flush=True)
            found = [known[one[:2]] for one in every if one[:2] in known]
            _write({"machine": machine(), "nothing_at_all": idle, "cases": found})


def _warm(folder: Path) -> None:
    """Refuse something by each verb here, so that what a verb loads is loaded before it is measured."""
    from symscreen.cli.command import run_command

    given = [
        *(["why", "t.csv", "("], ["screen", "t.csv", "--also", "("], ["power", "t.csv", "--truth", "("]),
        *(["evaluate", "f3.csv", "--truth", "("], ["apply", "f0.json", "t.csv"], ["classes", "f0.csv"]),
        *(["export", "f0.csv", "--to", "numpy"], ["fit", "t.csv", "--operators", "f0.toml"]),
    ]
    with chdir(folder), redirect_stderr(io.StringIO()):
        for arguments in given:
            run_command(arguments)  # what `symscreen` calls


def _write(whole: dict[str, Any]) -> None:
    with (RESULTS / "refusals.tmp").open("w") as unseen:
        shown, sys.stdout = sys.stdout, unseen
        try:
            save("refusals", whole, f"{_summary(whole)}\n\n{_table(whole['cases'])}", RESULTS)
        finally:
            sys.stdout = shown
    (RESULTS / "refusals.tmp").unlink()


def _tried(arguments: list[str], folder: Path) -> dict[str, Any]:
    """Run a command line; tell its end, time and memory."""
    sys.stdout.flush()
    process = os.fork()
    if not process:
        _become(arguments, folder)
    begun = time.monotonic()
    _, status, used = os.wait4(process, 0)
    code = os.waitstatus_to_exitcode(status)
    words = (folder / "err.txt").read_text(errors="replace").strip()
    one_line = len(words.splitlines()) == 1 and len(words) < 2000
    return {
        "ended": "kept" if code == 0 else "refused" if code == 2 and one_line else "failed",
        "status": code,
        "seconds": round(time.monotonic() - begun, 2),
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 2),
        "peak_mb": used.ru_maxrss // 1024,
        "words": words[-400:] if code else "",
    }


def _become(arguments: list[str], folder: Path) -> None:
    """Be the command line; this process ends here."""
    status: Any = 1
    try:
        os.chdir(folder)
        for handle, name, mode in (
            (0, "/dev/null", os.O_RDONLY),
            (1, "out.txt", os.O_WRONLY),
            (2, "err.txt", os.O_WRONLY),
        ):
            os.dup2(os.open(name, mode | (os.O_CREAT | os.O_TRUNC if mode else 0)), handle)
        resource.setrlimit(resource.RLIMIT_CPU, (_LIMIT, _LIMIT))
        sys.argv[1:] = arguments
        from symscreen.cli import main as command

        command()
    except SystemExit as ended:
        status = ended.code or 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _summary(whole: dict[str, Any]) -> str:
    found, idle = whole["cases"], whole["nothing_at_all"]
    ends = {name: sum(one["ended"] == name for one in found) for name in ("refused", "kept", "failed")}
    slow, large = (max(found, key=lambda one: one[key]) for key in ("cpu_seconds", "peak_mb"))
    return (
        f"{len(found)} cases: {ends['refused']} refused in one line, {ends['kept']} kept (a result, status "
        f"0), {ends['failed']} failed. Most time: {slow['cpu_seconds']} s of CPU ({slow['limit']}, "
        f"{slow['way']}). Most memory: {large['peak_mb']} MB ({large['limit']}, {large['way']}). A refusal "
        f"with nothing to read, for comparison: {idle['cpu_seconds']} s, {idle['peak_mb']} MB."
    )


def _table(found: list[dict[str, Any]]) -> str:
    rows = [
        (
            *(one["limit"], one["way"], one["ended"], one["cpu_seconds"], one["peak_mb"]),
            f"`{' '.join(one['words'].split())[:150].replace('|', '/')}`" if one["words"] else "",
        )
        for one in found
    ]
    return markdown(("limit", "way", "ended", "CPU s", "MB", "in words"), rows)


if __name__ == "__main__":
    main()

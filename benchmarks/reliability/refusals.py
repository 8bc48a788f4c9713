"""Inputs that exceed a limit, through the command line: how each case ends, with its time and memory.

    python benchmarks/run.py refusals            # all cases
    python benchmarks/run.py refusals wide       # cases whose name or way contains a word; others stay
    python benchmarks/run.py refusals --rest     # cases that an interrupted run has left

Each case runs in a process forked from one that has loaded symscreen: it sets its arguments, of any length
(Linux passes none above 128 KiB), and calls the function of the command `symscreen`. Results are saved after
each case.
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
from typing import TYPE_CHECKING, Any

from measurement import format_table, make_parser, save_results
from reliability.refusal_cases import cases

if TYPE_CHECKING:
    from collections.abc import Sequence

_LIMIT = 60  # seconds of CPU
LOADED_MODULES = (
    *("cli.screen", "fitting.fit", "screening.plan", "screening.power", "screening.class_members", "explain"),
    *("evaluation", "export", "results.ranking_reader", "report.terminal.result_tables"),
    "report.terminal.listings",
)


def main(arguments: Sequence[str]) -> None:
    """Run the cases, and save the results after each of them."""
    parser = make_parser(__doc__)
    parser.add_argument("words", nargs="*", help="only cases whose name or way contains one of these")
    parser.add_argument("--rest", action="store_true", help="only cases without a result")
    options = parser.parse_args(arguments)
    for name in (
        *(f"symscreen.{one}" for one in LOADED_MODULES),
        "pint",
        "sympy",
        "pyarrow.csv",
        "pyarrow.parquet",
    ):
        importlib.import_module(name)
    path = options.results / "refusals.json"
    known = (
        {(one["limit"], one["way"]): one for one in json.loads(path.read_text())["cases"]}
        if path.exists()
        else {}
    )
    with tempfile.TemporaryDirectory() as folder:
        write_files = (
            "from reliability.refusal_files import prepare; from pathlib import Path; prepare(Path())"
        )
        path_to_import = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        subprocess.run([sys.executable, "-c", write_files], cwd=folder, env=path_to_import, check=True)
        _warm(Path(folder))
        idle = _try_command(["screen", "absent.csv"], Path(folder))
        every = list(cases())
        for limit, way, command in every:
            if options.words and not any(word in f"{limit} {way}" for word in options.words):
                continue
            if options.rest and (limit, way) in known:
                continue
            known[limit, way] = {"limit": limit, "way": way} | _try_command(command, Path(folder))
            if known[limit, way]["ended"] == "failed":
                print(known[limit, way], file=sys.stderr, flush=True)
            found = [known[one[:2]] for one in every if one[:2] in known]
            results = {"nothing_at_all": idle, "cases": found}
            text = f"{_summary(results)}\n\n{_table(found)}"
            save_results("refusals", results, text, options.results, quiet=True)


def _warm(folder: Path) -> None:
    """Run a refusal of each verb, so that its imports are not measured later."""
    from symscreen.cli.command import run_command

    given = [
        *(["why", "t.csv", "("], ["screen", "t.csv", "--also", "("], ["power", "t.csv", "--truth", "("]),
        *(["evaluate", "f3.csv", "--truth", "("], ["apply", "f0.json", "t.csv"], ["classes", "f0.csv"]),
        *(["export", "f0.csv", "--to", "numpy"], ["fit", "t.csv", "--operators", "f0.toml"]),
    ]
    with chdir(folder), redirect_stderr(io.StringIO()):
        for arguments in given:
            run_command(arguments)  # what `symscreen` calls


def _try_command(arguments: list[str], folder: Path) -> dict[str, Any]:
    """Run a command line; return how it ended, its time and its memory."""
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
    """Run the command line in this process, and end it."""
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
    return format_table(("limit", "way", "ended", "CPU s", "MB", "in words"), rows)

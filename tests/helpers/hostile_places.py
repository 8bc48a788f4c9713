"""Hostile places and surroundings: where output is asked to go, and what a process finds around it.

A place is what ``--out`` of `screen` is given; an environment a line for the shell in which ``$S`` is the
command line. Each has how it must end, as in `hostile_cases`; ``t.csv`` is a small table.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from helpers.compile_notice import drop_compile_notice

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ENVIRONMENTS", "PLACES", "ended_in", "furnish", "surrounded"]


def furnish(folder: Path) -> None:
    """Make what the places name."""
    (folder / "folder.csv").mkdir()
    (folder / "there.csv").write_text("kept\n")
    (folder / "loop.csv").symlink_to("loop.csv")
    (folder / "dangling.csv").symlink_to("nowhere/x.csv")
    (folder / "link.csv").symlink_to("there.csv")
    (folder / "null.csv").symlink_to("/dev/null")
    os.mkfifo(folder / "pipe.csv")
    (folder / "record.csv.json").mkdir()


PLACES: dict[str, tuple[list[str], str]] = {
    "a folder": (["folder.csv"], "refused"),
    "a folder, forced": (["folder.csv", "--force"], "refused"),
    "a file that is there": (["there.csv"], "refused"),
    "a file as a folder": (["there.csv/r.csv"], "refused"),
    "a loop of links": (["loop.csv"], "refused"),
    "a link that leads nowhere": (["dangling.csv"], "refused"),
    "a link to a file": (["link.csv"], "refused"),
    "a link to a device": (["null.csv"], "refused"),
    "a pipe": (["pipe.csv"], "refused"),
    "a pipe, forced": (["pipe.csv", "--force"], "refused"),
    "a record that is a folder": (["record.csv"], "refused"),
    "no folder": (["no/such/r.csv"], "refused"),
    "a tilde": (["~/r.csv"], "refused"),
    "a variable": (["$HOME/r.csv"], "refused"),
    "a folder of the kernel": (["/proc/self/r.csv"], "refused"),
    "a device's folder": (["/dev/null/r.csv"], "refused"),
    "nothing": ([""], "refused"),
    "the folder itself": (["."], "refused"),
    "the root": (["/"], "refused"),
    "no ending": (["/dev/null"], "refused"),
    "another ending": (["r.csv.exe"], "refused"),
    "a blank behind the ending": (["r.csv "], "refused"),
    "a name too long": (["x" * 300 + ".csv"], "refused"),
    "a record's name too long": (["x" * 249 + ".csv"], "refused"),
    "as long as can be": (["x" * 246 + ".csv"], "kept"),
    "a path too long": (["x/" * 3000 + "r.csv"], "refused"),
    "a newline": (["a\nb.csv"], "kept"),
    "a carriage return": (["a\rb.csv"], "kept"),
    "an escape": (["\x1b[2J\x1b[31m.csv"], "kept"),
    "turned letters": (["\u202evsc.exe.csv"], "kept"),
    "no text": ([os.fsdecode(b"\xff\xfe.csv")], "kept"),
    "a dash": (["--out=-r.csv"], "kept"),
    "a formula": (["=1+1.csv"], "kept"),
    "a command": (["$(touch pwned).csv"], "kept"),
    "another command": (["`touch pwned`; x.csv"], "kept"),
    "a glob": (["*.csv"], "kept"),
    "up and down again": (["folder.csv/../r.csv"], "kept"),
    "the bundle's name": (["r.json", "--bundle", "r.json"], "refused"),
    "the bundle is a pipe": (["r.csv", "--bundle", "pipe.csv", "--force"], "refused"),
    "the report is a link to a device": (["r.csv", "--report", "null.csv"], "refused"),
}

_QUIET = "t.csv --layers u --unary sin --quiet"
_SCREEN = f"$S screen {_QUIET}"
_TWICE = " & ".join(f"{_SCREEN} --top {top} --out r.csv 2>/dev/null" for top in (3, 5))
ENVIRONMENTS: dict[str, tuple[str, str]] = {
    "no home": (f"env -u HOME {_SCREEN}", "kept"),
    "a home that is a file": (f"HOME=$PWD/t.csv {_SCREEN}", "kept"),
    "no PATH, no home": (f"env -i PYTHONPATH=$PYTHONPATH {_SCREEN}", "kept"),
    "no folder for temporary files": (f"TMPDIR=/no/such {_SCREEN} --out r.csv", "kept"),
    "one that cannot be written": (f"TMPDIR=/proc {_SCREEN} --out r.csv", "kept"),
    "no cache for kernels": (f"NUMBA_CACHE_DIR=/proc/x {_SCREEN}", "kept"),
    "locale C": (f"LC_ALL=C {_SCREEN} --inputs λ", "kept"),
    "locale C, not mended": (f"LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 {_SCREEN}", "kept"),
    "a locale that is not there": (f"LC_ALL=xx_YY.UTF-8 {_SCREEN}", "kept"),
    "a Turkish locale": (f"LC_ALL=tr_TR.UTF-8 LANG=tr_TR {_SCREEN}", "kept"),
    "ASCII streams": (f"PYTHONIOENCODING=ascii {_SCREEN}", "kept"),
    "Latin streams": (f"PYTHONIOENCODING=latin-1 {_SCREEN}", "kept"),
    "an argument that is no text": (f"{_SCREEN} --also \"$(printf '\\377')\"", "refused"),
    "a grammar's name that is no text": (f"{_SCREEN} --operators \"$(printf '\\377').toml\"", "refused"),
    "warnings are errors": (f"PYTHONWARNINGS=error {_SCREEN} --out r.parquet", "kept"),
    "no assertions, no docstrings": (f"PYTHONOPTIMIZE=2 {_SCREEN}", "kept"),
    "0 columns": (f"COLUMNS=0 {_SCREEN}", "kept"),
    "−3 columns": (f"COLUMNS=-3 LINES=-3 {_SCREEN}", "kept"),
    "columns that are no number": (f"COLUMNS=x LINES=y {_SCREEN}", "kept"),
    "10⁹ columns": (f"COLUMNS=999999999 {_SCREEN}", "kept"),
    "an unknown terminal": (f"TERM=nonsense {_SCREEN}", "kept"),
    "colours asked for": (f"FORCE_COLOR=1 TTY_COMPATIBLE=1 {_SCREEN}", "kept"),
    "an unknown backend of pictures": (f"MPLBACKEND=nonsense {_SCREEN} --report r.html", "refused"),
    "few files": (f"ulimit -n 24; {_SCREEN} --out r.csv", "kept"),
    "a small stack": (f"ulimit -s 512; {_SCREEN}", "kept"),
    "no modes": (f"umask 777; {_SCREEN} --out r.csv", "kept"),
    "a folder that is gone": (f"mkdir d; cd d; rmdir ../d; $S screen ../{_QUIET}", "kept"),
    "a file's end at once": ("$S screen - --quiet </dev/null", "refused"),
    "standard input closed": ("$S screen - --quiet <&-", "refused"),
    "a bundle from closed input": ("$S apply - t.csv <&-", "refused"),
    "standard output closed": (f"{_SCREEN} >&-", "refused"),
    "standard error closed": (f"{_SCREEN} --out r.csv 2>&-", "kept"),
    "all of them closed": (f"{_SCREEN} --out r.csv <&- >&- 2>&-", "refused"),
    "standard output is full": (f"{_SCREEN} >/dev/full", "refused"),
    "a reader that goes": (f"{_SCREEN} --out - | head -1 >/dev/null", "kept"),
    "a reader that never was": (f"{_SCREEN} --out - | true", "kept"),
    "no home, no temporary files, a folder that is gone": (
        f"mkdir d; cd d; rmdir ../d; env -u HOME TMPDIR=/proc $S screen ../{_QUIET} --out ../r.csv",
        "kept",
    ),
    "one file of two runs": (f"{_TWICE}; wait; $S export r.csv --to numpy >/dev/null", "kept"),
}


def surrounded(line: str, folder: Path, seconds: float = 120) -> subprocess.CompletedProcess[str]:
    """Run a line in a shell, for so many seconds at most."""
    there = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "S": f"{sys.executable} -m symscreen"}
    return subprocess.run(
        ["/bin/sh", "-c", line],
        cwd=folder,
        env=os.environ | there,
        capture_output=True,
        text=True,
        errors="backslashreplace",
        timeout=seconds,
        check=False,
    )


def ended_in(done: subprocess.CompletedProcess[str]) -> str:
    """Name how a process ended: ``kept``, ``refused``, or how it failed."""
    lines = drop_compile_notice(done.stderr).splitlines()
    if "Traceback" in done.stderr or done.returncode not in {0, 2}:
        return f"failed with status {done.returncode}"
    if done.returncode == 0:
        return "kept"
    return "refused" if len(lines) <= 1 else f"refused in {len(lines)} lines"

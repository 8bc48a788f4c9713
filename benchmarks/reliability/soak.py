"""Mixed runs for a long time, to see whether a process that screens again and again grows.

Screens, whys, evaluations, applications and listings of classes, of good and of bad input, one after another
in one process, and one of them a round in a process of its own. After each round the resident memory,
threads, open files and child processes of that process are counted. The slope is that of a least-squares
line over all but the first fifth of the time, when code is still loaded and compiled; its standard error
takes the residuals for independent, which they are not quite.

It needs Linux.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import describe_machine, format_number, format_table, make_parser, save_results
from reliability.fault_kills import write_data

from symscreen.cli.command import run_command

if TYPE_CHECKING:
    from collections.abc import Sequence

_STREAMS = (io.StringIO(), io.StringIO())
_ALL = ("--max-correlation", "1")  # near-duplicates, too: `evaluate` gives bounds only with them
_N_INTERNED = 2_000_000  # strings that come and go before the measurement
_WHAT = ("resident_mib", "threads", "open_files", "children")


def commands(folder: Path) -> list[tuple[str, list[str], int]]:
    """Return the runs of a round: what each is, its command, its exit status."""
    data, ranking, bundle = folder / "data.csv", folder / "ranking.csv", folder / "bundle.json"
    screen = ["screen", data, "--quiet", "--layers"]
    good: list[list[Any]] = [
        [*screen, "ub", "--out", ranking, "--bundle", bundle, "--class-members", "5", *_ALL, "--force"],
        [*screen, "ub", "--screener", "t0,xi", "--jobs", "2", "--top", "50"],
        [*screen, "bu", "--p-values", "--permutations", "20"],
        [*screen, "ub", "--search", "sieve"],
        [*screen, "ub", "--checkpoint", folder / "kept"],
        ["why", data, "a*b/c", "--layers", "ub"],
        ["evaluate", ranking, "--truth", "a*b/c", "--outside", "100"],
        ["apply", bundle, data],
        ["classes", ranking],
        ["classes", ranking, "--data", data, "--rank", "1"],
    ]
    bad: list[list[Any]] = [
        [*screen, "ub", "--target", "absent"],
        [*screen, "xx"],
        ["screen", folder / "damaged.csv"],
        ["screen", folder / "damaged.parquet"],
        ["why", data, "a*(b"],
        ["evaluate", folder / "damaged.json", "--truth", "a"],
        ["apply", folder / "damaged.json", data],
        ["classes", folder / "absent.csv"],
    ]
    texts = [(list(map(str, one)), 0) for one in good] + [(list(map(str, one)), 2) for one in bad]
    return [(f"{'bad' if status else 'good'} {given[0]}", given, status) for given, status in texts]


def prepare(folder: Path) -> None:
    """Write good data and damaged files."""
    write_data(folder / "data.csv", 0, rows=100)
    (folder / "damaged.csv").write_text('a,b,y\n1,2,3\n1,"2\n')
    (folder / "damaged.parquet").write_bytes(b"PAR1" + bytes(range(200)) + b"PAR1")
    (folder / "damaged.json").write_text('{"format": 1, "features": [')


def here(given: list[str]) -> int:
    """Run a command line in this process, its output thrown away.

    The streams are the same each time, as a program's are: click keeps each stream that it has written to.
    """
    for stream in _STREAMS:
        stream.seek(0)
        stream.truncate()
    with redirect_stdout(_STREAMS[0]), redirect_stderr(_STREAMS[1]):
        return run_command(given)  # what `symscreen` is, less the exit


def apart(given: list[str]) -> int:
    """Run it in a process of its own."""
    command = [sys.executable, "-m", "symscreen", *given]
    return subprocess.run(command, capture_output=True, check=False).returncode


def sample() -> tuple[float, int, int, int]:
    """Count what this process holds."""
    outcome = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    children = sum(len(task.read_text().split()) for task in Path("/proc/self/task").glob("*/children"))
    files = len(list(Path("/proc/self/fd").iterdir()))
    return int(outcome["VmRSS"].split()[0]) / 1024, int(outcome["Threads"]), files, children


def slope(times: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Return the slope of the least-squares line, a hour, and its standard error."""
    hours = (times - times.mean()) / 3600.0
    spread = float(hours @ hours)
    rate = float(hours @ values) / spread
    left = values - values.mean() - rate * hours
    return rate, float(np.sqrt(left @ left / (len(times) - 2) / spread))


def enlarge_string_table() -> None:
    """Let Python's table of interned strings reach its final size.

    Strings that come and go use up its slots. After some hundred rounds Python rebuilds the table with twice
    as many, which is a step of 7.3 MiB at a random time.
    """
    for number in range(_N_INTERNED):
        sys.intern(f"string {number}")


def soak(folder: Path, minutes: float) -> dict[str, Any]:
    """Run round after round until the time is over."""
    prepare(folder)
    runs: Counter[str] = Counter()
    for _ in range(2):  # so that the strings of the package are in the table
        for _, given, _ in commands(folder):
            here(given)
    enlarge_string_table()
    wrong: list[dict[str, Any]] = []
    samples: list[list[float]] = []
    began = time.monotonic()
    rounds = 0
    while time.monotonic() - began < 60 * minutes:
        given_now = commands(folder)
        turns = [(here, one) for one in given_now] + [(apart, given_now[rounds % len(given_now)])]
        for way, (kind, given, expected) in turns:
            if (status := way(given)) != expected:
                wrong.append({"command": given, "way": way.__name__, "status": status})
            runs[f"{kind}, {'in one process' if way is here else 'a process each'}"] += 1
        rounds += 1
        samples.append([time.monotonic() - began, *sample()])
    outcome = np.array(samples)
    settled = outcome[outcome[:, 0] > 0.2 * outcome[-1, 0]]
    slopes = {what: slope(settled[:, 0], settled[:, place]) for place, what in enumerate(_WHAT, 1)}
    return {
        "minutes": minutes,
        "rounds": rounds,
        "runs": dict(runs),
        "wrong": wrong,
        "left": sorted(one.name for one in folder.iterdir() if one.name.startswith(".")),
        "slopes_per_hour": slopes,
        "samples": {
            "columns": ["seconds", *_WHAT],
            "rows": [[round(one, 2) for one in row] for row in samples],
        },
        "settled": {
            what: [float(settled[0, place]), float(settled[-1, place])] for place, what in enumerate(_WHAT, 1)
        },
    }


def table(found: dict[str, Any]) -> str:
    """Format what was run and what grew."""
    rows = [
        [
            what.replace("_", " "),
            *(format_number(value, 4) for value in found["settled"][what]),
            f"{found['slopes_per_hour'][what][0]:+.2f} ± {found['slopes_per_hour'][what][1]:.2f}",
        ]
        for what in _WHAT
    ]
    runs = [[kind, count] for kind, count in sorted(found["runs"].items())]
    above = (
        f"{found['minutes']:g} minutes, {found['rounds']} rounds, {sum(found['runs'].values())} runs, "
        f"{len(found['wrong'])} with another exit status than expected, {len(found['left'])} temporary files."
    )
    head = ["the process", "after a fifth of the time", "at the end", "slope an hour ± standard error"]
    return "\n\n".join([above, format_table(head, rows), format_table(["runs", "count"], runs)])


def main(arguments: Sequence[str]) -> None:
    """Read the options, soak, save what came."""
    parser = make_parser(__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    given = parser.parse_args(arguments)
    about = describe_machine()
    with tempfile.TemporaryDirectory(prefix="soak") as folder:
        found = soak(Path(folder), given.minutes)
        for one in found["wrong"]:
            one["command"] = [part.replace(folder + "/", "") for part in one["command"]]
    save_results("soak", found | {"machine": about}, table(found), given.results)

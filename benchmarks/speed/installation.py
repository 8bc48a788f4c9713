"""What an installation weighs, and what start-up costs, compared with bare imports of its libraries.

A fresh virtual environment gets ``pip install .`` and then each extra in turn; the megabytes on the disk are
those of its site-packages, with the bytecode that pip compiles and without pip itself. Then four commands are
run in turn, many times, and their processor time is compared: python alone, ``import symscreen``, ``symscreen
--version``, and ``import numpy, pandas, sympy, numba``.

It needs a package index.
"""

from __future__ import annotations

import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from measurement import BENCHMARKS, describe_machine, format_number, format_table, make_parser, save_results

if TYPE_CHECKING:
    from collections.abc import Sequence

EXTRAS = ("files", "units", "plot", "report", "explore", "dask", "bart")
BARE = "import numpy, pandas, sympy, numba"
LIST = (
    "import sysconfig; from importlib import metadata; "
    "print(sysconfig.get_path('purelib')); "
    "print(*sorted({d.name for d in metadata.distributions()} - {'pip', 'setuptools', 'wheel'}))"
)


def installed(python: Path) -> dict[str, Any]:
    """Count the packages and megabytes of an environment without pip."""
    done = subprocess.run([python, "-c", LIST], capture_output=True, text=True, check=True)
    folder, names = done.stdout.splitlines()
    files = [
        file for file in Path(folder).rglob("*") if file.is_file() and not _of_pip(file.relative_to(folder))
    ]
    return {"packages": len(names.split()), "mb": sum(file.stat().st_size for file in files) / 1e6}


def _of_pip(file: Path) -> bool:
    return file.parts[0] == "pip" or file.parts[0].startswith("pip-")


def pip(python: Path, what: str) -> None:
    """Install from the checkout."""
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", what]
    subprocess.run(command, cwd=BENCHMARKS.parent, check=True)


def seconds(command: list[str | Path]) -> tuple[float, float]:
    """Run a command outside the checkout, so that the installed package is what is imported.

    Returns
    -------
    wall, processor : float
        The second hardly depends on what else the machine does.
    """
    start, before = perf_counter(), _of_children()
    subprocess.run(
        command, cwd=tempfile.gettempdir(), capture_output=True, check=True, env={"PATH": "/usr/bin:/bin"}
    )
    return perf_counter() - start, _of_children() - before


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(folder: Path, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Run the four commands in turn; the first run of each, which compiles, does not count."""
    python = folder / "bin" / "python"
    commands: dict[str, list[str | Path]] = {
        "python": [python, "-c", "pass"],
        "import symscreen": [python, "-c", "import symscreen"],
        "symscreen --version": [folder / "bin" / "symscreen", "--version"],
        BARE: [python, "-c", BARE],
    }
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name, command in commands.items():
            spent = seconds(command)
            if turn:
                found[name].append(spent)
    return found


def measured(folder: Path, rounds: int, *, extras: bool) -> dict[str, Any]:
    """Install and run."""
    named = describe_machine()
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    python = folder / "bin" / "python"
    pip(python, ".")
    steps = {"core": installed(python)}
    times = timed(folder, rounds)
    for extra in EXTRAS if extras else ():
        pip(python, f".[{extra}]")
        steps[extra] = installed(python)
    return {"machine": named, "installed": steps, "seconds": times}


def format_results(found: dict[str, Any]) -> str:
    """Write both tables."""
    steps, rows, before = found["installed"], [], {"packages": 0, "mb": 0.0}
    for name, step in steps.items():
        what = "`pip install .`" if name == "core" else f"and the extra `{name}`"
        more = step["packages"] - before["packages"]
        rows.append(
            (
                what,
                step["packages"],
                format_number(step["mb"]),
                more,
                format_number(step["mb"] - before["mb"]),
            )
        )
        before = step
    weights = format_table(("installed", "packages", "MB", "more packages", "more MB"), rows)
    bare, rows = found["seconds"][BARE], []
    for name, times in found["seconds"].items():
        ratio = statistics.median(one / other for (_, one), (_, other) in zip(times, bare, strict=True))
        wall, processor = (sorted(1000 * each[place] for each in times) for place in (0, 1))
        told_of = [
            f"{statistics.median(each):.0f} ({each[0]:.0f} to {each[-1]:.0f})" for each in (processor, wall)
        ]
        rows.append((f"`{name}`", *told_of, f"{ratio:.3f}"))
    head = (
        "a process that runs",
        "processor, ms: median (range)",
        "wall, ms",
        "of the bare imports (processor)",
    )
    starts = format_table(head, rows)
    return f"{weights}\n\n{starts}"


def main(arguments: Sequence[str]) -> None:
    """Measure and save."""
    parser = make_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--where", type=Path, help="Keep the environment in this folder.")
    parser.add_argument("--no-extras", action="store_true")
    options = parser.parse_args(arguments)
    folder = options.where or Path(tempfile.mkdtemp(prefix="lean-"))
    try:
        found = measured(folder, options.rounds, extras=not options.no_extras)
    finally:
        if options.where is None:
            shutil.rmtree(folder)
    save_results("installation", found, format_results(found), options.results)

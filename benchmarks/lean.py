"""What an installation weighs, and what starting up costs beside bare imports of what it stands on.

A fresh virtual environment gets ``pip install .`` and then each extra in turn; the megabytes on the disk are
those of its site-packages, with the bytecode that pip compiles and without pip itself. Then four commands are
run in turn, many times: python alone, ``import symscreen``, ``symscreen --version``, and ``import numpy,
pandas, sympy, numba``.

Usage: ``python benchmarks/lean.py [--rounds 21] [--where FOLDER] [--no-extras]``. It needs a package index.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from measured import HERE, machine, markdown, number, save

EXTRAS = ("units", "plot", "report", "dask", "bart")
BARE = "import numpy, pandas, sympy, numba"
LIST = (
    "import sysconfig; from importlib import metadata; "
    "print(sysconfig.get_path('purelib')); "
    "print(*sorted({d.name for d in metadata.distributions()} - {'pip', 'setuptools', 'wheel'}))"
)


def installed(python: Path) -> dict[str, Any]:
    """Tell what an environment holds beside pip: packages and megabytes."""
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
    subprocess.run(command, cwd=HERE.parent, check=True)


def seconds(command: list[str | Path]) -> float:
    """Run a command outside the checkout, so that the installed package is what is imported."""
    start = perf_counter()
    subprocess.run(
        command, cwd=tempfile.gettempdir(), capture_output=True, check=True, env={"PATH": "/usr/bin:/bin"}
    )
    return perf_counter() - start


def timed(folder: Path, rounds: int) -> dict[str, list[float]]:
    """Run the four commands in turn; the first run of each, which compiles, does not count."""
    python = folder / "bin" / "python"
    commands: dict[str, list[str | Path]] = {
        "python": [python, "-c", "pass"],
        "import symscreen": [python, "-c", "import symscreen"],
        "symscreen --version": [folder / "bin" / "symscreen", "--version"],
        BARE: [python, "-c", BARE],
    }
    found: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name, command in commands.items():
            spent = seconds(command)
            if turn:
                found[name].append(spent)
    return found


def measured(folder: Path, rounds: int, *, extras: bool) -> dict[str, Any]:
    """Install and run."""
    named = machine()
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    python = folder / "bin" / "python"
    pip(python, ".")
    steps = {"core": installed(python)}
    times = timed(folder, rounds)
    for extra in EXTRAS if extras else ():
        pip(python, f".[{extra}]")
        steps[extra] = installed(python)
    return {"machine": named, "installed": steps, "seconds": times}


def told(found: dict[str, Any]) -> str:
    """Write both tables."""
    steps, rows, before = found["installed"], [], {"packages": 0, "mb": 0.0}
    for name, step in steps.items():
        what = "`pip install .`" if name == "core" else f"and the extra `{name}`"
        more = step["packages"] - before["packages"]
        rows.append((what, step["packages"], number(step["mb"]), more, number(step["mb"] - before["mb"])))
        before = step
    weights = markdown(("installed", "packages", "MB", "more packages", "more MB"), rows)
    bare = found["seconds"][BARE]
    rows = []
    for name, times in found["seconds"].items():
        ratio = statistics.median(one / other for one, other in zip(times, bare, strict=True))
        middle, low, high = (1000 * value for value in (statistics.median(times), min(times), max(times)))
        rows.append((f"`{name}`", f"{middle:.0f} ({low:.0f} to {high:.0f})", f"{ratio:.3f}"))
    starts = markdown(("a process that runs", "ms, median (range)", "of the bare imports"), rows)
    return f"{weights}\n\n{starts}"


def main() -> None:
    """Measure and save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--where", type=Path, help="Keep the environment in this folder.")
    parser.add_argument("--no-extras", action="store_true")
    asked = parser.parse_args()
    folder = asked.where or Path(tempfile.mkdtemp(prefix="lean-"))
    try:
        found = measured(folder, asked.rounds, extras=not asked.no_extras)
    finally:
        if asked.where is None:
            shutil.rmtree(folder)
    save("lean", found, told(found))


if __name__ == "__main__":
    main()

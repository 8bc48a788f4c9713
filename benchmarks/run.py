"""Run a benchmark: ``python benchmarks/run.py NAME [OPTIONS]``; without a name, list all of them.

``--help`` after a name shows its options. Results go to ``benchmarks/results/NAME.json``, with the machine,
and the table made from them to ``NAME.md``.
"""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path

BENCHMARKS = Path(__file__).parent
QUESTIONS = ("speed", "peers", "recovery", "inference", "reliability", "pages")


def find_benchmarks() -> dict[str, Path]:
    """Find the scripts that have a function `main`, by name."""
    return {
        path.stem: path
        for question in QUESTIONS
        for path in sorted((BENCHMARKS / question).glob("*.py"))
        if "\ndef main(arguments: " in path.read_text()
    }


def main(arguments: list[str]) -> None:
    """Run a benchmark, or list all of them."""
    benchmarks = find_benchmarks()
    if not arguments:
        for name, path in benchmarks.items():
            summary = (ast.get_docstring(ast.parse(path.read_text())) or "").splitlines()[0]
            print(f"{path.parent.name:<12} {name:<18} {summary}")
        return
    name, *options = arguments
    if name not in benchmarks:
        raise SystemExit(f"there is no benchmark {name!r}; there are {', '.join(benchmarks)}")
    sys.argv[0] = name  # what a parser calls the program
    import_module(f"{benchmarks[name].parent.name}.{name}").main(options)


if __name__ == "__main__":
    main(sys.argv[1:])

"""Every hostile input made by hand, through the command line: how each class ended.

    python benchmarks/run.py hostile                  # all classes
    python benchmarks/run.py hostile surroundings     # some: printed, not written

The inputs are those of the tests (`tests/hostile_cases.py`, `tests/hostile_places.py`); surroundings are met
by processes of their own. Figures go to ``results/hostile.json`` and ``.md``.
"""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
import time
from collections import Counter
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from measurement import describe_machine, format_table, make_parser, save_results

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from helpers.hostile_cases import FILES, FORMULAS, GRAMMARS, NAMES, OPTIONS
from helpers.hostile_places import ENVIRONMENTS, PLACES, ended_in, furnish, surrounded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_LIMIT = 600  # seconds: PYTHONOPTIMIZE compiles every library anew, on a busy core
_SCREEN = ("screen", "t.csv", "--layers", "u", "--unary", "sin", "--quiet")


class _Case(NamedTuple):
    kind: str
    name: str
    due: str
    given: str | tuple[str, ...]  # a line for the shell, or arguments
    prepare: Callable[[Path], None] = lambda _: None


def main(arguments: Sequence[str]) -> None:
    """Run the cases, and save how each class ended."""
    parser = make_parser(__doc__)
    parser.add_argument("classes", nargs="*", help="only these classes of inputs; nothing is saved then")
    options = parser.parse_args(arguments)
    found = []
    for case in _cases():
        if options.classes and case.kind not in options.classes:
            continue
        with tempfile.TemporaryDirectory() as folder:
            outcome = _met(case, Path(folder))
        if outcome["ended"] != case.due:
            print(f"{case.kind}: {case.name!r}: {outcome}", file=sys.stderr)
        found.append({"class": case.kind, "name": case.name[:80], "due": case.due} | outcome)
    if options.classes:
        print(_table(found))
        return
    save_results("hostile", {"machine": describe_machine(), "cases": found}, _table(found), options.results)


def _met(case: _Case, home: Path) -> dict[str, Any]:
    """Run one input; return how it ended."""
    draw = np.random.default_rng(0)
    small = pd.DataFrame(draw.uniform(1, 2, (9, 4)), columns=["x1", "x2", "λ", "y"])
    small.to_csv(home / "t.csv", index=False)
    case.prepare(home)
    begun = time.process_time() + sum(os.times()[2:4])
    try:
        done = surrounded(case.given, home, _LIMIT) if isinstance(case.given, str) else _run(case.given, home)
        ended = ended_in(done)
    except TimeoutExpired:
        done, ended = CompletedProcess(case.given, -1, "", ""), f"no end in {_LIMIT} s"
    if _CONTROL.search(done.stdout + done.stderr):
        ended = "control characters in the output"
    took = time.process_time() + sum(os.times()[2:4]) - begun
    return {"ended": ended, "cpu_seconds": round(took, 2), "words": done.stderr.strip()[-300:]}


def _run(arguments: tuple[str, ...], home: Path) -> CompletedProcess[str]:
    from symscreen.cli.command import run_command

    out, err = io.StringIO(), io.StringIO()
    with chdir(home), redirect_stdout(out), redirect_stderr(err):
        status = run_command(list(arguments))  # what `symscreen` calls
    return CompletedProcess(arguments, status, out.getvalue(), err.getvalue())


def _cases() -> Iterator[_Case]:
    for name in NAMES:
        verb = ("screen", "n.parquet", "--target", "y", "--layers", "u", "--unary", "neg", "--top", "all")
        yield _Case(_kind_of_name(name), name, "kept", verb, partial(_named, name=name))
    for text, due in FORMULAS.items():
        yield _Case("formulas", text, due, ("why", "t.csv", "--layers", "u", "--quiet", "--", text))
    for name, content in GRAMMARS.items():
        prepare = partial(_written, name="g.toml", content=content)
        yield _Case("grammars", name, "refused", ("operators", "g.toml"), prepare)
    for name, content in FILES.items():
        prepare = partial(_written, name=name, content=content)
        for verb in (("screen", name), ("apply", name, "t.csv"), ("export", name, "--to", "numpy")):
            yield _Case("files", f"{name}, {verb[0]}", "refused", verb, prepare)
    for name, (arguments, due) in OPTIONS.items():
        yield _Case("options", name, due, (*_SCREEN, *arguments))
    for name, (arguments, due) in PLACES.items():
        given = arguments if arguments[0].startswith("--out=") else ["--out", *arguments]
        yield _Case("places of output", name, due, (*_SCREEN, *given), furnish)
    for name, (line, due) in ENVIRONMENTS.items():
        yield _Case("surroundings", name, due, line)


def _kind_of_name(name: str) -> str:
    if name.lstrip('"\n ')[:1] in tuple("=+-@＝－") and name not in {"-h", "--out=pwned"}:
        return "names: cells that spreadsheets run"
    if any(not mark.isprintable() for mark in name):
        return "names: escapes, turned and hidden letters"
    if re.search(r"[<>{}]|&lt|javascript", name):
        return "names: markup, scripts, templates"
    return "names: shells, paths, code, odd letters"


def _named(home: Path, name: str) -> None:
    draw = np.random.default_rng(0)
    values = {name.replace("\0", ""): draw.uniform(1, 2, 9), "y": draw.uniform(1, 2, 9)}
    pd.DataFrame(values).to_parquet(home / "n.parquet")


def _written(home: Path, name: str, content: str | bytes) -> None:
    (home / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def _table(found: list[dict[str, Any]]) -> str:
    rows: list[tuple[Any, ...]] = []
    for kind in dict.fromkeys(one["class"] for one in found):
        own = [one for one in found if one["class"] == kind]
        ends = Counter(one["ended"] for one in own)
        others = sum(ends.values()) - ends["kept"] - ends["refused"]
        longest = max(one["cpu_seconds"] for one in own)
        rows.append((kind, len(own), ends["kept"], ends["refused"], others, longest))
    rows.append(
        ("**all**", *(sum(row[place] for row in rows) for place in range(1, 5)), max(row[5] for row in rows))
    )
    return format_table(
        ("class", "inputs", "kept, inert", "refused in a line", "otherwise", "longest, CPU s"), rows
    )

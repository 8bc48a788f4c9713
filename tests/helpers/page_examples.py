"""Run examples of our own pages in this process, which saves the start of another; compare what they print.

``python tests/helpers/page_examples.py`` writes into the pages of ``docs/`` what their examples print today.
"""

from __future__ import annotations

import io
import re
import runpy
import shlex
import shutil
import sys
import tempfile
import warnings
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
_LINES = r"((?:(?!```).*\n)*)"
_EXAMPLE = re.compile(
    rf"^```(?:python\n(?P<code>{_LINES})```(?:\n\n```text\n(?P<text>{_LINES})```)?"
    rf"|console\n(?P<session>{_LINES})```)$",
    re.MULTILINE,
)
ELLIPSIS = "…"  # a line of it stands for any number of lines that a page leaves out


class ShownExample(NamedTuple):
    """An example of a page: Python code with the block of text after it, or a block of the terminal."""

    code: str  # empty for a block of the terminal, which has its commands in `shown`
    shown: str | None  # None for Python code without a block of text, which later code may need
    start: int  # where `shown` begins in the page


def run_examples(code: str, folder: Path) -> str:
    """Run Python code of our own pages in a folder; a warning is an error. Returns what the code prints."""
    script = folder / "example.py"
    script.write_text(code)
    printed = io.StringIO()
    with chdir(folder), redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("error")
        runpy.run_path(str(script), run_name="__main__")
    return printed.getvalue()


def list_shown_examples(page: str) -> list[ShownExample]:
    """List the examples of a page up to the last one that shows what it prints."""
    examples = []
    for match in _EXAMPLE.finditer(page):
        part = "text" if match["code"] else "session"
        examples.append(ShownExample(match["code"] or "", match[part], match.start(part)))
    while examples and examples[-1].shown is None:
        examples.pop()
    return examples


def print_examples(examples: list[ShownExample], folder: Path) -> list[str]:
    """Run examples one after the other in a folder; returns what each one prints.

    The folder gets the tables of ``data/strogatz``. The Python examples share their names. A block of the
    terminal is returned with its commands.
    """
    shutil.copytree(ROOT / "data" / "strogatz", folder / "data" / "strogatz")
    names: dict[str, object] = {"__name__": "__main__"}
    outputs = []
    with chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("error")
        for example in examples:
            printed = io.StringIO()
            with redirect_stdout(printed):
                if example.code:
                    exec(compile(example.code, "example.py", "exec"), names)  # noqa: S102  # our own page
                else:
                    _run_terminal(example.shown or "")
            outputs.append(printed.getvalue())
    return outputs


def _run_terminal(block: str) -> None:
    """Print each command of a block of the terminal, and what it prints."""
    from symscreen.cli.command import run_command

    for line in block.splitlines():
        if line.startswith("$ "):
            sys.stdout.write(f"{line}\n")
            program, *arguments = shlex.split(line.removeprefix("$ "), comments=True)
            status = run_command(arguments)
            if program != "symscreen" or status != 0:
                raise AssertionError(f"{line} ended with {status}")


def is_shown(shown: str, printed: str) -> bool:
    """Return whether a block shows what was printed, where a line of the ellipsis stands for any lines."""
    parts = [re.escape(part) for part in re.split(rf"^{ELLIPSIS}\n", shown, flags=re.MULTILINE)]
    return re.fullmatch(r"(?:.*\n)*?".join(parts), printed) is not None


def update_shown(shown: str, printed: str) -> str:
    """Return what a block should show; the ellipsis at its end stays where it was."""
    if is_shown(shown, printed):
        return shown
    if not shown.endswith(f"{ELLIPSIS}\n"):
        return printed
    n_lines = shown.count("\n") - 1
    return "\n".join([*printed.splitlines()[:n_lines], ELLIPSIS, ""])


def _update_page(path: Path) -> None:
    """Write what the examples of a page print into it."""
    page = path.read_text(encoding="utf-8")
    examples = list_shown_examples(page)
    with tempfile.TemporaryDirectory() as folder:
        outputs = print_examples(examples, Path(folder))
    for example, printed in reversed(list(zip(examples, outputs, strict=True))):
        if example.shown is not None:
            end = example.start + len(example.shown)
            page = page[: example.start] + update_shown(example.shown, printed) + page[end:]
    path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    for page_path in map(Path, sys.argv[1:] or sorted((ROOT / "docs").glob("*.md"))):
        _update_page(page_path)

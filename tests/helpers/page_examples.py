"""Run the examples of a page in this process, which saves the start of another."""

from __future__ import annotations

import io
import runpy
import warnings
from contextlib import chdir, redirect_stdout
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def run_examples(code: str, folder: Path) -> str:
    """Run Python code of our own pages in a folder; a warning is an error. Returns what the code prints."""
    script = folder / "example.py"
    script.write_text(code)
    printed = io.StringIO()
    with chdir(folder), redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("error")
        runpy.run_path(str(script), run_name="__main__")
    return printed.getvalue()

"""Run the notebooks of examples/, and compare what they show now with what is stored in them.

A stored output agrees with a new one where both have the same text, but for numbers that differ by one unit
of their last digit, and the same number of pictures. Integers must be equal.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from os import environ
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import nbformat

from symscreen._numba import COMPILE_MESSAGE

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
MAX_BYTES = 300_000  # of a notebook
_SECONDS = 300  # for a cell, on a machine that does other things too
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])")
_RELATIVE_TOLERANCE = 1e-6  # of numbers with many digits
_UNITS = 1.01  # of the last digit: one, and the rounding of their difference
_KEPT = ("text/plain", "text/html", "text/latex", "image/png")  # what is stored of an output

# What a notebook must not find of the one before: names, its folder, display options, warnings shown once.
_CLEAN = """
%reset -f
import os, sys, warnings
os.chdir({folder!r})
with warnings.catch_warnings(action="ignore"):  # this also forgets which warnings were shown
    if "pandas" in sys.modules:
        sys.modules["pandas"].reset_option("^display")
    if "matplotlib" in sys.modules:
        sys.modules["matplotlib"].rcParams.update(sys.modules["matplotlib"].rcParamsDefault)
        get_ipython().run_line_magic("matplotlib", "inline")
del os, sys, warnings
"""


def list_names() -> list[str]:
    """List the notebooks, in the order of their numbers."""
    return sorted(path.stem for path in EXAMPLES.glob("*.ipynb"))


def read_notebook(name: str) -> Any:
    """Read a notebook of examples/."""
    return nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)


def write_notebook(name: str, notebook: Any) -> None:
    """Write a notebook with its outputs, in one form: the same outputs give the same bytes."""
    text = nbformat.writes(notebook) + "\n"
    if len(text.encode()) > MAX_BYTES:
        raise ValueError(f"{name}: {len(text.encode()):,} bytes, and at most {MAX_BYTES:,} are allowed.")
    (EXAMPLES / f"{name}.ipynb").write_text(text, encoding="utf-8")


@contextmanager
def start_kernel(folder: Path) -> Iterator[Any]:
    """Start one kernel with settings of its own in a folder: imports take longer than most cells."""
    settings = {
        variable: str(folder / variable.lower())
        for variable in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR")
    }
    settings["JUPYTER_PLATFORM_DIRS"] = "1"  # else jupyter_core warns of its own move
    with patch.dict(environ, settings):
        for variable in ("MPLBACKEND", "PYTHONWARNINGS"):
            environ.pop(variable, None)
        import matplotlib.font_manager  # noqa: F401  # finds the fonts here, and not on stderr of a kernel
        from jupyter_client.kernelspec import KernelSpecManager
        from jupyter_client.manager import KernelManager

        # without folders to look into, "python3" is this interpreter, whatever kernels the machine has
        manager = KernelManager(kernel_name="python3", kernel_spec_manager=KernelSpecManager(kernel_dirs=[]))
        manager.start_kernel()
        try:
            yield manager
        finally:
            manager.shutdown_kernel(now=True)


def run_notebook(notebook: Any, kernel: Any, folder: Path) -> None:
    """Run a notebook in an empty folder without what the one before left, and replace its outputs."""
    from nbclient import NotebookClient

    metadata = nbformat.from_dict(notebook.metadata)
    clean = nbformat.v4.new_code_cell(_CLEAN.format(folder=str(folder)))
    notebook.cells.insert(0, clean)
    client = NotebookClient(
        notebook, km=kernel, timeout=_SECONDS, startup_timeout=_SECONDS, record_timing=False
    )
    try:
        client.execute()
    finally:
        client.kc.stop_channels()
        notebook.cells.remove(clean)
        notebook.metadata = metadata  # without the version of this Python
    for count, cell in enumerate((cell for cell in notebook.cells if cell.cell_type == "code"), start=1):
        cell.execution_count = count
        cell.outputs = _tidy_outputs(cell.outputs, count)


def _tidy_outputs(outputs: list[Any], count: int) -> list[Any]:
    """Join the pieces of a stream, and keep of other outputs what readers see, without metadata."""
    tidy: list[Any] = []
    for output in outputs:
        if output.get("text") == COMPILE_MESSAGE:  # only the first run on a machine writes it
            continue
        if output.output_type == "stream" and tidy and tidy[-1].get("name") == output.name:
            tidy[-1].text += output.text
            continue
        if "data" in output:
            output.data = {kind: output.data[kind] for kind in _KEPT if kind in output.data}
            output.metadata = {}
        if output.output_type == "execute_result":
            output.execution_count = count
        tidy.append(output)
    return tidy


def find_changes(stored: Any, fresh: Any) -> list[str]:
    """List where two runs of a notebook differ: the cell, and what it showed and shows."""
    changes = []
    for old, new in zip(stored.cells, fresh.cells, strict=True):
        if old.cell_type != "code":
            continue
        if len(old.outputs) != len(new.outputs):
            changes.append(
                f"{old.id}: {len(old.outputs)} outputs are stored, and now there are {len(new.outputs)}"
            )
            continue
        for one, other in zip(old.outputs, new.outputs, strict=True):
            changes.extend(f"{old.id}: {change}" for change in _compare_outputs(one, other))
    return changes


def _compare_outputs(stored: Any, fresh: Any) -> Iterator[str]:
    """Say how two outputs differ: in kind, in presence of a picture, or in text."""
    old, new = _list_texts(stored), _list_texts(fresh)
    if set(old) != set(new):
        yield f"stored as {sorted(old)}, and now {sorted(new)}"
        return
    for kind, text in old.items():
        if kind != "image/png" and not is_same_text(text, new[kind]):
            yield f"stored {_shorten(text, new[kind])}, and now {_shorten(new[kind], text)}"
            return  # one form of an output says enough


def _list_texts(output: Any) -> dict[str, str]:
    """Return the forms of an output by their kind."""
    if output.output_type == "stream":
        return {str(output.name): str(output.text)}
    if output.output_type == "error":
        return {"error": f"{output.ename}: {output.evalue}"}
    return {str(kind): str(text) for kind, text in output.data.items()}


def _shorten(text: str, other: str) -> str:
    """Return the first line that another text lacks, or the beginning."""
    lines = [line for line in text.splitlines() if line not in other.splitlines()]
    return repr((lines or [text])[0].strip()[:200])


def is_same_text(stored: str, fresh: str) -> bool:
    """Tell whether two texts agree: equal words, and numbers equal up to one unit of the last digit."""
    if _NUMBER.sub("0", stored).split() != _NUMBER.sub("0", fresh).split():  # spaces align numbers
        return False
    pairs = zip(_NUMBER.findall(stored), _NUMBER.findall(fresh), strict=True)
    return all(_is_same_number(old, new) for old, new in pairs)


def _is_same_number(stored: str, fresh: str) -> bool:
    """Tell whether two written numbers agree; integers must be equal."""
    if stored == fresh:
        return True
    unit = max(_measure_last_digit(stored), _measure_last_digit(fresh))
    difference = abs(float(stored) - float(fresh))
    largest = max(abs(float(stored)), abs(float(fresh)))
    if unit == 0:
        return difference == 0
    return difference <= max(min(_UNITS * unit, 0.1 * largest), _RELATIVE_TOLERANCE * largest)


def _measure_last_digit(number: str) -> float:
    """Return the value of one unit of the last digit, and 0 for an integer."""
    digits, _, power = number.partition("e")
    if "." not in digits and not power:
        return 0.0
    return 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))

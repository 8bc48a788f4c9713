"""Reports of experiments: the first table and the remarks for the terminal, everything as files."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.text import Text

from symscreen._atomic_io import check_writable, write_atomically
from symscreen.errors import OptionError, OutputError
from symscreen.messages import name_option
from symscreen.report.figures.precision_recall_curves import encode_png, use_default_style
from symscreen.report.terminal.listings import add_row, make_table
from symscreen.results.ranking_files import format_csv

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import pandas as pd
    from rich.console import RenderableType
    from rich.table import Table

    from symscreen.experiments.base import Experiment, ExperimentOutcome


_DIGITS = 4  # significant digits
_MAX_WIDTH = 80  # characters of a line
_MAX_TRANSPOSED_ROWS = 6  # rows of a table that is transposed if it is too wide
_MAX_UNFOLDED_WIDTH = 16  # characters of a text column that is not folded


def build_experiment_table(experiments: Iterable[Experiment]) -> RenderableType:
    """Build a table of the experiments."""
    table = make_table(("name", "left"), ("what", "fold"), ("source", "fold"))
    for experiment in experiments:
        add_row(table, (experiment.name, experiment.title, experiment.source))
    return table


def build_outcome_tables(experiment: Experiment, outcome: ExperimentOutcome) -> RenderableType:
    """Build the listing of an experiment: its title, the first table and the remarks.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    outcome : ExperimentOutcome
        The result of running it.

    Returns
    -------
    rich renderable
        Input for `print_table`.
    """
    table = _build_table(next(iter(outcome.tables.values())))
    title, remarks = Text(f"{experiment.title}\n{experiment.source}"), Text("\n".join(outcome.remarks))
    return Group(title, Text(""), table, Text(""), remarks)


def _build_table(frame: pd.DataFrame) -> RenderableType:
    """Build a table from a frame: transposed if it is wide and has few rows, else in parts if it is wide."""
    rows = [list(map(_format_cell, row)) for row in frame.itertuples(index=False)]
    lines = [[str(name) for name in frame], *rows]
    alignments = _choose_alignments(lines, [frame[name].dtype.kind in "fiub" for name in frame])
    if _compute_width(lines, range(len(lines[0])), alignments) > _MAX_WIDTH and len(rows) <= (
        _MAX_TRANSPOSED_ROWS
    ):
        lines = [list(line) for line in zip(*lines, strict=True)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        alignments = _choose_alignments(lines, [width <= _MAX_UNFOLDED_WIDTH for width in widths])
        alignments[0] = "left" if widths[0] <= _MAX_WIDTH // 2 else "fold"  # names stay in one piece
    parts = [_build_part(lines, columns, alignments) for columns in _split_columns(lines, alignments)]
    return Group(*(each for part in parts for each in (Text(""), part))) if len(parts) > 1 else parts[0]


def _choose_alignments(lines: Sequence[Sequence[str]], is_numeric: Sequence[bool]) -> list[str]:
    """Choose how columns are aligned, and which are folded because they are wide."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "right" if numeric else "fold" if width > _MAX_UNFOLDED_WIDTH else "left"
        for numeric, width in zip(is_numeric, widths, strict=True)
    ]


def _build_part(lines: Sequence[Sequence[str]], columns: Iterable[int], alignments: Sequence[str]) -> Table:
    """Build a table of some columns of the lines; the first line has the headings."""
    chosen = list(columns)
    headings = [lines[0][column] for column in chosen]
    table = make_table(*zip(headings, [alignments[column] for column in chosen], strict=True), gap=1)
    for line in lines[1:]:
        add_row(table, [line[column] for column in chosen])
    return table


def _compute_width(lines: Sequence[Sequence[str]], columns: Iterable[int], alignments: Sequence[str]) -> int:
    """Compute the least width of some columns: that of their cells, or of the heading where cells fold."""
    total = 0
    for column in columns:
        width = max(len(line[column]) for line in lines)
        if alignments[column] == "fold":
            width = max(_MAX_UNFOLDED_WIDTH, len(lines[0][column]))
        total += width + 1
    return total


def _split_columns(lines: Sequence[Sequence[str]], alignments: Sequence[str]) -> list[list[int]]:
    """Split the columns into parts that fit; each begins with the columns that identify the rows."""
    n_columns = len(lines[0])
    keys = _find_key_columns(lines, alignments)
    parts = [list(keys)]
    for column in range(len(keys), n_columns):
        if (
            len(parts[-1]) > len(keys)
            and _compute_width(lines, [*parts[-1], column], alignments) > _MAX_WIDTH
        ):
            parts.append(list(keys))
        parts[-1].append(column)
    return parts


def _find_key_columns(lines: Sequence[Sequence[str]], alignments: Sequence[str]) -> list[int]:
    """Find the first columns that identify the rows; only the first if these would take half the width."""
    for n in range(1, len(lines[0])):
        keys = list(range(n))
        if _compute_width(lines, keys, alignments) > _MAX_WIDTH // 2:
            break
        if len({tuple(line[:n]) for line in lines}) == len(lines):
            return keys
    return [0]


def _format_cell(value: Any) -> str:
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:.{_DIGITS}g}"
    return "-" if value is None else str(value)


def check_folder(folder: Path, *, force: bool = False) -> None:
    """Check, before any work is done, that results can be written to a folder.

    Raises
    ------
    OutputError
        If the parent folder is missing, the path is a file, or the folder is not empty and `force` is false.
    """
    if folder.is_dir():
        if any(folder.iterdir()) and not force:
            raise OutputError(f"{folder} is not empty; give another folder or {name_option('force')}")
        return
    check_writable(folder)


def explain_missing_pictures() -> str | None:
    """Explain, before any work is done, why no pictures can be written; None if they can.

    Returns
    -------
    str or None
    """
    try:
        use_default_style()
    except OptionError as error:
        return f"tables only: {error}"
    return None


def write_outcome(experiment: Experiment, outcome: ExperimentOutcome, folder: Path) -> list[Path]:
    """Write every table as CSV, the remarks as text and, if matplotlib is installed, every picture as PNG.

    Parameters
    ----------
    experiment : Experiment
        The experiment; each file name begins with its name.
    outcome : ExperimentOutcome
        The result of running it.
    folder : Path
        The folder; it is created if it is missing.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    OutputError
        If a file or the folder cannot be written.
    """
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be created ({error.strerror})") from None
    contents = {f"{name}.csv": format_csv(frame).encode() for name, frame in outcome.tables.items()}
    if explain_missing_pictures() is None:
        contents |= {f"{name}.png": encode_png(draw()) for name, draw in outcome.pictures.items()}
    contents["remarks.txt"] = "".join(f"{remark}\n" for remark in outcome.remarks).encode()
    written = []
    for name, content in contents.items():
        path = folder / f"{experiment.name}-{name}"
        write_atomically(path, content)
        written.append(path)
    return written

"""An experiment's outcome: its first table and its remarks for the terminal, all of it as files."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.text import Text

from symscreen._atomic_io import check_writable, write_atomically
from symscreen.errors import OptionError, OutputError
from symscreen.report.figures.precision_recall_curves import encode_png, use_default_style
from symscreen.report.terminal.listings import add_row, make_table
from symscreen.results.ranking_files import format_csv

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import pandas as pd
    from rich.console import RenderableType

    from symscreen.experiments.base import Experiment, ExperimentOutcome


__all__ = ["check_folder", "explain_missing_pictures", "show_experiments", "show_outcome", "write_outcome"]

_DIGITS = 4
_MAX_WIDTH = 80
_MAX_TRANSPOSED_ROWS = 6
_MAX_UNFOLDED_WIDTH = 16  # letters of a column that may be folded


def show_experiments(experiments: Iterable[Experiment]) -> RenderableType:
    """List the experiments."""
    table = make_table(("name", "left"), ("what", "fold"), ("source", "fold"))
    for one in experiments:
        add_row(table, (one.name, one.title, one.source))
    return table


def show_outcome(experiment: Experiment, outcome: ExperimentOutcome) -> RenderableType:
    """Lay out the first table and the remarks.

    Parameters
    ----------
    experiment : Experiment
        What was run.
    outcome : Outcome
        What it found.

    Returns
    -------
    rich renderable
        For `print_table`.
    """
    first = next(iter(outcome.tables.values()))
    parts: list[RenderableType] = [
        Text(f"{experiment.title}\n{experiment.source}"),
        Text(""),
        _build_table(first),
        Text(""),
    ]
    remarks = "\n".join(outcome.remarks)
    return Group(*parts, Text(remarks))


def _build_table(frame: pd.DataFrame) -> RenderableType:
    """Lay out a table; one of few rows that is too wide stands on its side."""
    rows = [list(map(_format_cell, row)) for row in frame.itertuples(index=False)]
    lines = [[str(name) for name in frame], *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    if sum(widths) + len(widths) > _MAX_WIDTH and len(rows) <= _MAX_TRANSPOSED_ROWS:
        lines = [list(line) for line in zip(*lines, strict=True)]
        columns = [(lines[0][0], "left"), *((heading, "right") for heading in lines[0][1:])]
    else:
        numbers = [frame[name].dtype.kind in "fiub" for name in frame]
        columns = [
            (heading, "right" if number else "fold" if width > _MAX_UNFOLDED_WIDTH else "left")
            for heading, number, width in zip(lines[0], numbers, widths, strict=True)
        ]
    table = make_table(*columns, gap=1)
    for line in lines[1:]:
        add_row(table, line)
    return table


def _format_cell(value: Any) -> str:
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:.{_DIGITS}g}"
    return "-" if value is None else str(value)


def check_folder(folder: Path, *, force: bool = False) -> None:
    """Refuse, before any work is done, a folder that could not be written to after it.

    Raises
    ------
    OutputError
        If its parent is missing, it is a file, or it holds something and `force` is not given.
    """
    if folder.is_dir():
        if any(folder.iterdir()) and not force:
            raise OutputError(f"{folder} is not empty; give another folder or --force")
        return
    check_writable(folder)


def explain_missing_pictures() -> str | None:
    """Say, before any work is done, why no pictures can be written; None where they can.

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
    """Write every table as CSV, every picture as PNG where matplotlib is there, and the remarks as text.

    Parameters
    ----------
    experiment : Experiment
        What was run; its name begins each file's.
    outcome : Outcome
        What it found.
    folder : Path
        Made where it is missing.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    OutputError
        If one cannot be written.
    """
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be made ({error.strerror})") from None
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

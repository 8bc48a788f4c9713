"""Propose a study of a table, with what a screen and a fit would choose by default."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symscreen.config.fields import get_option
from symscreen.config.screen_options import make_screen_options
from symscreen.config.study_tables import STEP_FIELDS, STUDY_FIELDS, find_tables
from symscreen.data import SourceFrame, read_frame
from symscreen.messages import COMMAND_LINE, format_names, name_option, render_message
from symscreen.screening.preparation import prepare_screen
from symscreen.studies.study import Study, relate_file
from symscreen.units import extract_header_unit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen.screening.task import ScreeningTask


MAX_LISTED_INPUTS = 200  # largest number of inputs that a study names
_FITTED_TARGET_TYPES = ("numeric", "weighted", "several")
_REPORT_PACKAGES = ("jinja2", "matplotlib")
_PACKED_SUFFIX = re.compile(r"\.(gz|bz2|zst|xz|zip)$", re.IGNORECASE)
_UNSAFE_CHARACTERS = re.compile(r"[^\w.-]+")


def propose_study(
    data: str, given: Mapping[str, Any] | None = None, folder: Path = Path()
) -> tuple[Study, dict[str, list[str]], SourceFrame]:
    r"""Propose a study of a table.

    Parameters
    ----------
    data : str
        The file of the table, or ``-`` for standard input.
    given : mapping of str to object, optional
        Options that replace the proposed ones, by name.
    folder : Path
        The folder of the study file, which file names will be relative to.

    Returns
    -------
    study : Study
        A screen, a fit if the target is numeric, and a report if the packages that draw it are installed.
    notes : dict of str to list of str
        Comments for `symscreen.studies.format_study`.
    frame : SourceFrame
        The table.

    Raises
    ------
    InputError
        If the table or an option cannot be used.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     path = Path(place, "a.csv")
    ...     _ = path.write_text("x,name,y\n" + "".join(f"{i},n{i},{i * i}\n" for i in range(9)))
    ...     study, notes, _ = propose_study(str(path), {"top": 5})
    >>> study.options["data"]["target"], study.options["data"]["inputs"], study.options["screen"]["top"]
    ('y', ['x'], 5)
    """
    given, frame = given or {}, read_frame(data)
    screen_options = {name: value for name, value in given.items() if name in STEP_FIELDS["screen"]}
    task = prepare_screen(frame, None, make_screen_options(screen_options, verb="screen"))
    tables = {"data": _propose_data_options(task, frame, given), "screen": _propose_screen_options(task)}
    notices = list(task.dataset.notices)  # a screen of named inputs does not say which columns it leaves out
    if _can_fit(task, given):
        tables["fit"] = {"effort": STUDY_FIELDS["effort"].default}
    else:
        notices.append("no formula is fitted: a fit needs a target of numbers, without groups of rows")
    outputs = {}
    if all(map(find_spec, _REPORT_PACKAGES)):
        outputs["report"] = relate_file(name_report(data), folder)
    else:
        notices.append("no report is written: it needs pip install 'symscreen[report]'")
    study = Study(relate_file(data, folder), tables, outputs, folder, notices=tuple(notices))
    return study.override(given), _write_notes(task, frame, data, given), frame


def name_report(data: str) -> str:
    """Return the name of the report of a table, in the working folder.

    Examples
    --------
    >>> name_report("in/data.csv"), name_report("data.csv.gz"), name_report("duckdb:all.db#trips")
    ('data.report.html', 'data.report.html', 'trips.report.html')
    """
    last = re.split(r"[/\\#]", data)[-1]
    stem = _PACKED_SUFFIX.sub("", last).rpartition(".")
    name = _UNSAFE_CHARACTERS.sub("_", stem[0] or stem[2]).strip("._-")
    return f"{name or 'data'}.report.html"


def _propose_data_options(
    task: ScreeningTask, frame: SourceFrame, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the target and the inputs that the screen chose, and what it does with missing values."""
    proposed: dict[str, Any] = {}
    if not {"target", "ranking", "stages"} & set(given):
        proposed["target"] = task.target.name
    names = [name for name in frame.columns if name in task.dataset.names]
    # inputs that are computed from categories are no columns of the table
    if "categorical" not in given and len(names) == len(task.dataset.names) <= MAX_LISTED_INPUTS:
        proposed["inputs"] = names
    if task.options.missing is not None:
        proposed["missing"] = task.options.missing
    return proposed


def _propose_screen_options(task: ScreeningTask) -> dict[str, Any]:
    """Return the options that decide which formulas are scored, and how."""
    names = ("operators", "layers", "screener", "top", "seed")
    values = {name: getattr(task.options, name) for name in names}
    return values | {"layers": task.options.layers or task.grammar.layers}


def _can_fit(task: ScreeningTask, given: Mapping[str, Any]) -> bool:
    """Return whether a fit takes the target and has all options of the data."""
    data_options = [name for name in given if find_tables(name) == ("data",)]
    return task.target.target_type in _FITTED_TARGET_TYPES and all(
        name in STEP_FIELDS["fit"] for name in data_options
    )


def _write_notes(
    task: ScreeningTask, frame: SourceFrame, data: str, given: Mapping[str, Any]
) -> dict[str, list[str]]:
    """Return comments on what was found in the table, and on each table of the file."""
    flag = render_message(name_option("max_ram"), COMMAND_LINE)
    notes = {
        "": [
            f"A study of {data}, which has {frame.n:,} rows and {len(frame.columns):,} columns.",
            "symscreen run STUDY.toml screens the table, fits a formula, and writes a report if named.",
            f"The keys are the options of symscreen run, written with underscores: {flag} is max_ram.",
            "Options on the command line replace those of this file. File names are relative to its folder.",
        ],
        "data": [render_message(notice, COMMAND_LINE) for notice in task.dataset.notices],
        "screen": ["Formulas are grown from the inputs, scored against the target and ranked."],
        "fit": ["A formula is fitted: a weighted sum of few features. Without this table none is."],
    }
    if "layers" not in given:
        notes["fit.layers"] = ["Without layers, the search begins with laws. Otherwise:", 'layers = "ub"']
    if "units" not in given:
        with_units = [name for name in frame.columns if extract_header_unit(name)]
        found = f"Headers with a unit: {format_names(with_units) or 'none'}."
        notes["data.units"] = [get_option(STUDY_FIELDS["units"]).help, found, 'units = "strict"']
    return notes

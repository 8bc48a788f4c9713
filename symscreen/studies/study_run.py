"""Run a study: the screen, the fit, and the files that it writes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symscreen._atomic_io import check_not_input, check_outputs_differ, check_writable
from symscreen.data import read_frame
from symscreen.fitting.fit import fit
from symscreen.messages import escape_control_chars
from symscreen.report.html_page import write_report
from symscreen.report.page_template import check_report
from symscreen.results.ranking_files import check_output, write_ranking
from symscreen.screening.screen import screen
from symscreen.studies.proposal import propose_study
from symscreen.studies.study_file import read_study

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from symscreen.data import SourceFrame
    from symscreen.fitting.search_monitor import FitProgress
    from symscreen.results.fit_result import AnyFitResult
    from symscreen.results.screen_result import ScreenResult
    from symscreen.screening.run_control import Progress
    from symscreen.studies.study import Study


@dataclass(frozen=True, eq=False)
class StudyResult:
    """The results of a study.

    Parameters
    ----------
    study : Study
        What was done.
    screen : ScreenResult or None
        The ranking; None without the table ``screen``.
    fit : FitResult, SharedFitResult, GroupedFitResult or None
        The fitted formula; None without the table ``fit``.
    written : tuple of Path
        The files that were written.
    """

    study: Study
    screen: ScreenResult | None
    fit: AnyFitResult | None
    written: tuple[Path, ...]

    def _repr_html_(self) -> str:
        parts = [part for part in (self.fit, self.screen) if part is not None]
        files = "".join(f"<p>written: {escape(escape_control_chars(str(path)))}</p>" for path in self.written)
        return "".join(part._repr_html_() for part in parts) + files


def run_study(path: str | Path, *, force: bool = False, **options: Any) -> StudyResult:
    r"""Run a study file, or the study that `symscreen init` would propose of a table.

    Parameters
    ----------
    path : str or Path
        A study file, whose name ends in ``.toml``, or the file of a table.
    force : bool
        Whether existing files may be overwritten. A file that the study reads never is.
    **options
        Options of `symscreen.screen` and `symscreen.fit`, which replace those of the file in each step that
        has them.

    Returns
    -------
    StudyResult

    Raises
    ------
    InputError
        If the study, the table or an option cannot be used, or a file exists; see its subclasses.

    Examples
    --------
    >>> import tempfile, symscreen
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     symscreen.datasets.load_strogatz("glider2").frame.to_csv(f"{folder}/data.csv", index=False)
    ...     text = '[data]\nfile = "data.csv"\n[screen]\nunary = "cos"\nbinary = "sub,div"\n'
    ...     _ = Path(folder, "study.toml").write_text(text)
    ...     result = run_study(f"{folder}/study.toml", layers="ubb", top=1)
    >>> result.screen.table.expression[0], result.screen.record["study"]["given"]
    ('x1 - cos(x2)/x1', {'layers': 'ubb', 'top': 1})
    """
    study, frame = open_study(str(path), options)
    check_study_outputs(study, str(path), force=force)
    screened = run_screen_step(study, frame)
    fitted = run_fit_step(study, frame)
    return StudyResult(study, screened, fitted, write_study_outputs(study, screened, fitted, force=force))


def open_study(path: str, given: Mapping[str, Any]) -> tuple[Study, SourceFrame]:
    """Read a study file, or propose a study of a table; read the table.

    Parameters
    ----------
    path : str
        A study file, whose name ends in ``.toml``, or the file of a table.
    given : mapping of str to object
        Options that replace those of the study, by name.

    Returns
    -------
    study : Study
    frame : SourceFrame
        The table, which is read once for all steps.
    """
    if path.lower().endswith(".toml"):
        study = read_study(path).override(given)
        return study, read_frame(study.source)
    study, _, frame = propose_study(path, given)
    return study, frame


def check_study_outputs(study: Study, path: str, *, force: bool) -> None:
    """Check, before any work is done, that all files of a study can be written and are none of its inputs.

    Raises
    ------
    OutputError
        If a file exists and `force` is not given, cannot be written, or is read by the study.
    """
    outputs = study.output_files
    check_not_input(outputs.values(), (path, *study.input_files))
    check_outputs_differ({{"table": "out"}.get(name, name): file for name, file in outputs.items()})
    if "report" in outputs:
        check_report(outputs["report"], force=force)
    if "table" in outputs:
        check_output(outputs["table"], force=force)
    if "model" in outputs:
        check_writable(Path(outputs["model"]), force=force)


def run_screen_step(
    study: Study, frame: SourceFrame, on_progress: Callable[[Progress], None] | None = None
) -> ScreenResult | None:
    """Screen the table of a study; None if the study does not."""
    if "screen" not in study.steps:
        return None
    result = screen(frame, on_progress=on_progress, **study.collect_options("screen"))
    return replace(result, record=result.record | _build_study_record(study))


def run_fit_step(
    study: Study, frame: SourceFrame, on_progress: Callable[[FitProgress], None] | None = None
) -> AnyFitResult | None:
    """Fit a formula to the table of a study; None if the study does not."""
    if "fit" not in study.steps:
        return None
    result = fit(frame, on_progress=on_progress, **study.collect_options("fit"))
    return replace(result, record=result.record | _build_study_record(study))


def _build_study_record(study: Study) -> dict[str, Any]:
    """Return the part of a record that says which file and which further options a run came from."""
    return {"study": dict(study.record)} if study.record else {}


def write_study_outputs(
    study: Study,
    screened: ScreenResult | None,
    fitted: AnyFitResult | None,
    *,
    force: bool,
) -> tuple[Path, ...]:
    """Write the files of a study; return their paths."""
    outputs, written = study.output_files, []
    if screened is not None and "table" in outputs:
        written += write_ranking(screened, outputs["table"], force=force)
    if fitted is not None and "model" in outputs:
        fitted.save(outputs["model"], force=force)
        written.append(Path(outputs["model"]))
    if screened is not None and "report" in outputs:
        write_report(screened, outputs["report"], data=study.source, fit=fitted, force=force)
        written.append(Path(outputs["report"]))
    return tuple(written)

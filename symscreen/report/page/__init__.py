"""A result as one page of HTML that needs nothing else: no network, no fonts, no other file."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from symscreen.errors import OptionError, OutputError
from symscreen.export.written import check_free, write_whole
from symscreen.report.curves import plain_style
from symscreen.report.page.content import page_content

if TYPE_CHECKING:
    import jinja2

    from symscreen.result import ScreenResult

__all__ = ["check_report", "report_html", "write_report"]

_HERE = Path(__file__).parent
_ENDINGS = (".html", ".htm")


def check_report(path: str | Path, *, force: bool = False) -> None:
    """Refuse, before any work is done, a report that could not be written after it.

    Parameters
    ----------
    path : str or Path
        Where it is to go.
    force : bool
        Whether an existing file may be overwritten.

    Raises
    ------
    OutputError
        If the ending is neither ``.html`` nor ``.htm``, the folder is missing, or the file exists.
    OptionError
        If jinja2 or matplotlib is not installed.

    Examples
    --------
    >>> check_report("report.pdf")
    Traceback (most recent call last):
    ...
    symscreen.errors.OutputError: report.pdf: a report is one page of HTML; give a name that ends in .html
    """
    path = Path(path)
    if path.suffix.lower() not in _ENDINGS:
        raise OutputError(f"{path}: a report is one page of HTML; give a name that ends in .html")
    check_free(path, force=force)
    _templates()
    plain_style()


def write_report(result: ScreenResult, path: str | Path, *, data: str = "DATA", force: bool = False) -> None:
    """Write a report, the whole file or nothing.

    Parameters
    ----------
    result : ScreenResult
        What `symscreen.screen` returned.
    path : str or Path
        A name that ends in ``.html``.
    data : str
        The data's file, for the command that repeats the run.
    force : bool
        Whether an existing file may be overwritten.

    Raises
    ------
    OutputError, OptionError
        As of `check_report`; or if the file cannot be written.
    """
    check_report(path, force=force)
    page = report_html(result, data=data).encode(errors="backslashreplace")
    write_whole(Path(path), page, force=force)


def report_html(result: ScreenResult, *, data: str = "DATA") -> str:
    """Lay out a report.

    Parameters
    ----------
    result : ScreenResult
        What `symscreen.screen` returned.
    data : str
        The data's file, for the command that repeats the run.

    Returns
    -------
    str
        The page; equal results give equal bytes. It allows its own script only, by its digest, and loads
        nothing.

    Raises
    ------
    OptionError
        If jinja2 or matplotlib is not installed.
    """
    template = _templates().get_template("page.html.j2")
    script = (_HERE / "page.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    style = (_HERE / "page.css").read_text(encoding="utf-8")
    return template.render(page_content(result, data), script=script, digest=digest, style=style)


def _templates() -> jinja2.Environment:
    try:
        import jinja2
    except ImportError:
        raise OptionError("a report needs jinja2: pip install 'symscreen[report]'") from None
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

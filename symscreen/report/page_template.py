"""Render the templates of HTML pages, and write pages to files."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symscreen._atomic_io import check_writable, write_atomically
from symscreen.errors import OptionError, OutputError
from symscreen.report.figures.precision_recall_curves import use_default_style

if TYPE_CHECKING:
    from collections.abc import Mapping

    import jinja2


_TEMPLATE_FOLDER = Path(__file__).parent / "template"
_REPORT_SUFFIXES = (".html", ".htm")


def check_report(path: str | Path, *, force: bool = False) -> None:
    """Check, before any work is done, that a report can be written.

    Parameters
    ----------
    path : str or Path
        The file name.
    force : bool
        Whether to overwrite an existing file.

    Raises
    ------
    OutputError
        If the suffix is neither ``.html`` nor ``.htm``, the folder is missing, or the file exists.
    OptionError
        If jinja2 or matplotlib is not installed.

    Examples
    --------
    >>> check_report("report.pdf")
    Traceback (most recent call last):
    ...
    symscreen.errors.OutputError: report.pdf: a report is an HTML page; give a name that ends in .html
    """
    path = Path(path)
    if path.suffix.lower() not in _REPORT_SUFFIXES:
        raise OutputError(f"{path}: a report is an HTML page; give a name that ends in .html")
    check_writable(path, force=force)
    _load_templates()
    use_default_style()


def write_page(page: str, path: str | Path, *, force: bool = False) -> None:
    """Write a page to a file, completely or not at all."""
    write_atomically(Path(path), page.encode(errors="backslashreplace"), force=force)


def render_page(template_name: str, content: Mapping[str, Any]) -> str:
    """Render a template with the variables of `content`.

    Returns
    -------
    str
        The page. Its content security policy allows only its own script (by digest), and it loads no other
        files.

    Raises
    ------
    OptionError
        If jinja2 is not installed.
    """
    template = _load_templates().get_template(template_name)
    script = (_TEMPLATE_FOLDER / "page.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    style = (_TEMPLATE_FOLDER / "page.css").read_text(encoding="utf-8")
    return template.render(content, script=script, digest=digest, style=style)


def _load_templates() -> jinja2.Environment:
    """Load the templates of pages.

    Raises
    ------
    OptionError
        If jinja2 is not installed.
    """
    try:
        import jinja2
    except ImportError:
        raise OptionError("a report needs jinja2: pip install 'symscreen[report]'") from None
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATE_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

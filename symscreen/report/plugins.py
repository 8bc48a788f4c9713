"""What other packages bring, laid out for a terminal: each with its origin, what is broken in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from symscreen.backends import BACKENDS
from symscreen.errors import OptionError
from symscreen.plugins import plugins
from symscreen.report.terminal import show_screeners
from symscreen.screeners import further_screeners

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["further_listed"]


def further_listed() -> RenderableType:
    """Lay out the screeners and backends of other packages; nothing where there are none.

    Returns
    -------
    rich renderable
        Screeners are imported to be described; what cannot be has one line that says why.
    """
    parts: list[RenderableType] = []
    for label, screener in further_screeners().items():
        if isinstance(screener, OptionError):
            parts.append(Text(f"\nnot usable: {screener}"))
        else:
            parts += [Text(f"\n{label}"), show_screeners([screener])]
    for plugin in plugins("backend", BACKENDS):
        told = f"not usable: {plugin.clash}" if plugin.clash else f"backend {plugin.name} ({plugin.origin})"
        parts.append(Text(f"\n{told}"))
    return Group(*parts)

"""Marks in Markdown pages: what a page quotes from a results file stands beside a comment with its key.

A figure stands before its mark, ``0.8<!--=million.t0_400-->``. A table, or anything longer, stands in a block
between ``<!--begin=million.two_threads-->`` and ``<!--end-->``. A key is a results file below
``benchmarks/results`` without its ending, a full stop, and the name of a quote.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

FIGURE = re.compile(r"(?P<value>[^\s|(*\[<>]+)<!--=(?P<key>[^\s<>]+?)-->")
BLOCK = re.compile(r"<!--begin=(?P<key>[^\s<>]+?)-->\n\n(?P<value>.*?)\n\n<!--end-->", re.DOTALL)
_ANY_MARK = re.compile(r"<!--(?:=|begin=|end)")
_CODE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


class MarkError(Exception):
    """A mark that cannot be read; the text says where and why."""


def list_quotes(page: str) -> dict[str, set[str]]:
    """List the keys of a page, each with the texts that stand for it."""
    found: dict[str, set[str]] = {}
    for pattern in (FIGURE, BLOCK):
        for match in pattern.finditer(page):
            found.setdefault(match["key"], set()).add(match["value"])
    return found


def fill_page(page: str, look_up: Callable[[str], str]) -> str:
    """Write what the results files say beside each mark of a page.

    Parameters
    ----------
    page : str
        The Markdown text.
    look_up : callable
        Maps a key to the text of its quote.

    Returns
    -------
    str
        The page with the texts of the results files.

    Raises
    ------
    MarkError
        If a comment looks like a mark and cannot be read as one.
    """
    check_marks(page)
    page = FIGURE.sub(lambda match: f"{look_up(match['key'])}<!--={match['key']}-->", page)
    return BLOCK.sub(
        lambda match: f"<!--begin={match['key']}-->\n\n{look_up(match['key'])}\n\n<!--end-->", page
    )


def remove_quotes(page: str) -> str:
    """Remove code blocks and what marks stand for; lines keep their numbers."""

    def keep_lines(match: re.Match[str]) -> str:
        return "\n" * match[0].count("\n")

    return FIGURE.sub("", BLOCK.sub(keep_lines, _CODE.sub(keep_lines, page)))


def check_marks(page: str) -> None:
    """Refuse a page with an incomplete mark: no value before it, no end, or no empty line around it."""
    rest = remove_quotes(page)
    match = _ANY_MARK.search(re.sub(r"`[^`\n]*`", "", rest))
    if match is not None:
        line = rest[: rest.find(match[0])].count("\n") + 1
        raise MarkError(
            f"line {line}: {match[0]} is no complete mark; write a figure directly before its mark, and a "
            f"block between <!--begin=KEY--> and <!--end--> with an empty line on either side of the text"
        )

"""Formulas in cells of terminal tables: long ones are wrapped at operators, not within names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.measure import Measurement
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, ConsoleOptions


_TOKEN = re.compile(r"`(?:[^`]|``)*`|\*\*|\w[\w.]*|\s+|.")
_OPERATORS = ("+", "-", "*", "/")
_MIN_WIDTH = 12  # characters that a column of formulas has at least


def wrap_formula(text: str, width: int) -> list[str]:
    """Break a formula into lines.

    Parameters
    ----------
    text : str
        A formula in the notation of symscreen.
    width : int
        Maximum number of characters in a line.

    Returns
    -------
    list of str
        Lines begin with an operator. Where this is not enough, a line also ends after an opening parenthesis;
        only a name that is longer than a line is divided.

    Examples
    --------
    >>> wrap_formula("sqrt(alpha)*log(beta) + gamma", 14)
    ['sqrt(alpha)', '*log(beta)', '+ gamma']
    >>> wrap_formula("log(`a long name`)", 13)
    ['log(', '`a long name`', ')']
    """
    lines = [""]
    for piece in _split_at_operators(text):
        for part in [piece] if len(piece.strip()) <= width else _split_long_piece(piece, width):
            if len(lines[-1]) + len(part.rstrip()) <= width:
                lines[-1] += part
            else:
                lines[-1] = lines[-1].rstrip()
                lines.append(part.lstrip())
    return [line.rstrip() for line in lines if line.strip()] or [""]


def measure_longest_name(text: str) -> int:
    """Return the length of the longest name or number of a formula.

    Examples
    --------
    >>> measure_longest_name("log(`a long name`) + x")
    13
    """
    return max(map(len, _TOKEN.findall(text)), default=0)


def _split_at_operators(text: str) -> Iterator[str]:
    """Yield the pieces of a formula, each but the first from a binary operator on."""
    piece, previous = "", ""
    for token in _TOKEN.findall(text):
        if token in _OPERATORS and (previous.isalnum() or previous in {"_", "`", ")"}):
            kept = piece.rstrip()
            yield kept
            piece = piece[len(kept) :]
        piece += token
        previous = previous if token.isspace() else token[-1]
    yield piece


def _split_long_piece(piece: str, width: int) -> Iterator[str]:
    """Yield parts of a piece that end after an opening parenthesis; names that are still too long are cut."""
    part = ""
    for token in _TOKEN.findall(piece):
        if part.strip() and (part[-1] in "(," or len((part + token).strip()) > width):
            yield part
            part = ""
        part += token
        while len(part) > width:
            blank = part.rfind(" ", 1, width + 1)
            end = blank if blank > 0 else width
            yield part[:end]
            part = part[end:]
    yield part


@dataclass(frozen=True)
class FormulaCell:
    """A formula that wraps to the width of its column."""

    text: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        del console
        yield Text("\n".join(wrap_formula(self.text, options.max_width)))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        del console
        longest = max(len(self.text), 1)
        return Measurement(min(longest, _MIN_WIDTH, options.max_width), longest).with_maximum(
            options.max_width
        )

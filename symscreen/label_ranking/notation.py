"""The notation of one ranking: `>` (is preferred to), `=` (is tied with), backticks about unusual names."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from symscreen.errors import TableError
from symscreen.label_ranking.ranks import as_rankings, orders_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    Groups = list[list[str]]

__all__ = ["first_repeated", "groups_of", "quote_label", "refuse_repeated", "text_of"]

_OTHER_MARKS = "<≻→,;|"  # what other notations part labels with
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_NAME = re.compile(r"\s*(?:`((?:[^`]|``)*)`\s*|([^`>=]*))([>=]|$)")
_SHOWN = 60  # characters of a text in a message


def quote_label(label: str) -> str:
    """Write a label as texts of rankings have it: bare, or in backticks where it would be misread.

    Parameters
    ----------
    label : str
        Any text.

    Returns
    -------
    str
        In backticks, those inside doubled, if it is empty, has blanks at an end, ends in a dash, holds a
        backtick or a mark that parts labels in some notation, begins with a bracket, or has one whose other
        half is not there.

    Examples
    --------
    >>> quote_label("oat milk"), quote_label("a>b"), quote_label("`")
    ('oat milk', '`a>b`', '````')
    """
    unusual = not label or label != label.strip() or label.endswith(("-", "–", "—"))
    if unusual or any(mark in label for mark in "`>=") or _groups(label):
        return "`" + label.replace("`", "``") + "`"
    return label


def text_of(ranks: ArrayLike, labels: Sequence[str]) -> str:
    """Write one ranking as a text that `read_rankings` reads.

    Parameters
    ----------
    ranks : array-like, shape (k,)
        A ranking; labels that are missing are left out.
    labels : sequence of str, length k
        Names.

    Returns
    -------
    str
        With `>` between labels and `=` between tied ones, these in the order of their columns; names as
        `quote_label` writes them.

    Raises
    ------
    TableError
        If the ranks are none, or names are not one for each.

    Examples
    --------
    >>> text_of([2.5, 1.0, float("nan"), 2.5], "abcd")
    'b>a=d'
    >>> text_of([1, 2], ["sugar = 0", "milk"])
    '`sugar = 0`>milk'
    """
    one: Any = [ranks]
    row = as_rankings(one)
    if row.shape[1] != len(labels):
        raise TableError(
            f"{row.shape[1]} ranks were given with {len(labels)} names: give one name for each rank"
        )
    order = [place for place in orders_of(row)[0].tolist() if place >= 0]
    marks = ["=" if row[0, one] == row[0, two] else ">" for one, two in pairwise(order)]
    return "".join(
        quote_label(str(labels[place])) + mark for place, mark in zip(order, [*marks, ""], strict=True)
    )


def groups_of(text: Any, row: int) -> Groups:
    """Read one text into groups of tied labels, the preferred first.

    Parameters
    ----------
    text : str
        Such as ``a>b=c``; blanks around names are dropped.
    row : int
        Its number, for messages.

    Returns
    -------
    list of lists of str

    Raises
    ------
    TableError
        If it is no ranking.

    Examples
    --------
    >>> groups_of("a > `b>c` = d", 0)
    [['a'], ['b>c', 'd']]
    """
    if not isinstance(text, str) or not text.strip():
        raise TableError(f"row {row} of the rankings is {text!r}: a text such as 'a>b>c' is needed")
    where = f"row {row} of the rankings, {text.strip()[:_SHOWN]!r},"
    groups: Groups = [[]]
    bare: list[str] = []
    place, mark = 0, ">"
    while mark:
        match = _NAME.match(text, place)
        if match is None:
            raise TableError(
                f"{where} has a backtick that opens or closes no name: write an unusual name as `a>b`, and a "
                "backtick inside as two"
            )
        name = _name(match, where)
        bare += [name] if match[1] is None else []
        groups[-1].append(name)
        place, mark = match.end(), match[3]
        if mark == ">":
            groups.append([])
    strange = next(filter(_groups, bare), None)
    if strange is not None and len(groups) == 1 and any(mark in strange for mark in _OTHER_MARKS):
        raise TableError(f"{where} holds no '>': write the preferred label first, 'a>b=c>d'")
    if strange is not None:
        raise TableError(
            f"{where} has the name {strange!r}, whose marks part or group labels elsewhere, and mean nothing "
            f"here: write ties as a=b>c, and a name that has such marks in backticks, {quote_label(strange)}"
        )
    refuse_repeated(groups, row)
    return groups


def _groups(name: str) -> bool:
    """Tell whether marks in a name part or group labels in other notations; `tea (black)` is a name."""
    waiting: list[str] = []
    for letter in name:
        if letter in _BRACKETS.values():
            waiting.append(letter)
        elif letter in _BRACKETS and (not waiting or waiting.pop() != _BRACKETS[letter]):
            return True
    return bool(waiting) or name[:1] in _BRACKETS.values() or any(mark in name for mark in _OTHER_MARKS)


def _name(match: re.Match[str], where: str) -> str:
    quoted, bare, mark = match.groups()
    if quoted is not None:
        return str(quoted).replace("``", "`")
    name = str(bare).strip()
    if not name:
        raise TableError(f"{where} lacks a name beside '>' or '=': write 'a>b=c>d'")
    if mark == ">" and bare.endswith(("-", "–", "—")):
        raise TableError(
            f"{where} holds an arrow: '>' alone means 'is preferred to'; write 'a>b', and a name that "
            f"ends in a dash in backticks, `{name}`"
        )
    return name


def refuse_repeated(groups: Groups, row: int) -> None:
    """Refuse a ranking that names a label twice."""
    repeated = first_repeated([name for tied in groups for name in tied])
    if repeated is not None:
        raise TableError(f"row {row} of the rankings names {repeated!r} twice: a label has one position")


def first_repeated(names: Sequence[str]) -> str | None:
    """Return the first name that came before, if one did."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None

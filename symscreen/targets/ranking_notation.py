"""The notation of one ranking: `>` (is preferred to), `=` (is tied with), backticks about unusual names.

Readers of rankings: texts such as `a>b=c>d`, lists of labels in order, columns of ranks or scores.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import isnan
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import DataError, suggest
from symscreen.targets.ranking_ranks import to_float_array, to_mid_ranks, to_orders

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    TiedGroups = list[list[str]]

__all__ = [
    "Rankings",
    "build_rankings_from_columns",
    "build_rankings_from_orders",
    "check_unique_labels",
    "find_duplicate",
    "format_ranking",
    "parse_ranking",
    "parse_rankings",
    "quote_label",
]

_FOREIGN_MARKS = "<≻→,;|"  # what other notations part labels with
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_NAME_PATTERN = re.compile(r"\s*(?:`((?:[^`]|``)*)`\s*|([^`>=]*))([>=]|$)")
_MAX_EXCERPT_CHARS = 60  # characters of a text in a message


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
    if unusual or any(mark in label for mark in "`>=") or _has_foreign_marks(label):
        return "`" + label.replace("`", "``") + "`"
    return label


def format_ranking(ranks: ArrayLike, labels: Sequence[str]) -> str:
    """Write one ranking as a text that `parse_rankings` reads.

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
    >>> format_ranking([2.5, 1.0, float("nan"), 2.5], "abcd")
    'b>a=d'
    >>> format_ranking([1, 2], ["sugar = 0", "milk"])
    '`sugar = 0`>milk'
    """
    one: Any = [ranks]
    row = to_mid_ranks(one)
    if row.shape[1] != len(labels):
        raise DataError(
            f"{row.shape[1]} ranks were given with {len(labels)} names: give one name for each rank"
        )
    order = [place for place in to_orders(row)[0].tolist() if place >= 0]
    marks = ["=" if row[0, one] == row[0, two] else ">" for one, two in pairwise(order)]
    return "".join(
        quote_label(str(labels[place])) + mark for place, mark in zip(order, [*marks, ""], strict=True)
    )


def parse_ranking(text: Any, row: int) -> TiedGroups:
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
    >>> parse_ranking("a > `b>c` = d", 0)
    [['a'], ['b>c', 'd']]
    """
    if not isinstance(text, str) or not text.strip():
        raise DataError(f"row {row} of the rankings is {text!r}: a text such as 'a>b>c' is needed")
    where = f"row {row} of the rankings, {text.strip()[:_MAX_EXCERPT_CHARS]!r},"
    groups: TiedGroups = [[]]
    bare: list[str] = []
    place, mark = 0, ">"
    while mark:
        match = _NAME_PATTERN.match(text, place)
        if match is None:
            raise DataError(
                f"{where} has a backtick that opens or closes no name: write an unusual name as `a>b`, and a "
                "backtick inside as two"
            )
        name = _parse_name(match, where)
        bare += [name] if match[1] is None else []
        groups[-1].append(name)
        place, mark = match.end(), match[3]
        if mark == ">":
            groups.append([])
    strange = next(filter(_has_foreign_marks, bare), None)
    if strange is not None and len(groups) == 1 and any(mark in strange for mark in _FOREIGN_MARKS):
        raise DataError(f"{where} holds no '>': write the preferred label first, 'a>b=c>d'")
    if strange is not None:
        raise DataError(
            f"{where} has the name {strange!r}, whose marks part or group labels elsewhere, and mean nothing "
            f"here: write ties as a=b>c, and a name that has such marks in backticks, {quote_label(strange)}"
        )
    check_unique_labels(groups, row)
    return groups


def _has_foreign_marks(name: str) -> bool:
    """Tell whether marks in a name part or group labels in other notations; `tea (black)` is a name."""
    waiting: list[str] = []
    for letter in name:
        if letter in _BRACKETS.values():
            waiting.append(letter)
        elif letter in _BRACKETS and (not waiting or waiting.pop() != _BRACKETS[letter]):
            return True
    return bool(waiting) or name[:1] in _BRACKETS.values() or any(mark in name for mark in _FOREIGN_MARKS)


def _parse_name(match: re.Match[str], location: str) -> str:
    quoted, bare, mark = match.groups()
    if quoted is not None:
        return str(quoted).replace("``", "`")
    name = str(bare).strip()
    if not name:
        raise DataError(f"{location} lacks a name beside '>' or '=': write 'a>b=c>d'")
    if mark == ">" and bare.endswith(("-", "–", "—")):
        raise DataError(
            f"{location} holds an arrow: '>' alone means 'is preferred to'; write 'a>b', and a name that "
            f"ends in a dash in backticks, `{name}`"
        )
    return name


def check_unique_labels(groups: TiedGroups, row: int) -> None:
    """Refuse a ranking that names a label twice."""
    repeated = find_duplicate([name for tied in groups for name in tied])
    if repeated is not None:
        raise DataError(f"row {row} of the rankings names {repeated!r} twice: a label has one position")


def find_duplicate(names: Sequence[str]) -> str | None:
    """Return the first name that came before, if one did."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


@dataclass(frozen=True, eq=False)
class Rankings:
    """Rankings with the names of what is ranked.

    Parameters
    ----------
    ranks : array-like, shape (n, k)
        Kept as `to_mid_ranks` writes them: mid-ranks, NaN for a label that is missing.
    labels : tuple of str, length k
        One name a column, all different.

    Raises
    ------
    TableError
        If the ranks are none, or names are repeated, or not one for each column.

    Examples
    --------
    >>> Rankings([[2, 1, 3]], ("x", "y", "z")).texts()
    ['y>x>z']
    """

    ranks: NDArray[np.float64]
    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "ranks", to_mid_ranks(self.ranks))
        object.__setattr__(self, "labels", tuple(_to_names(self.labels)))
        if len(self.labels) != self.ranks.shape[1]:
            raise DataError(
                f"{len(self.labels)} names were given for rankings of {self.ranks.shape[1]} labels: "
                "give one for each column"
            )
        repeated = find_duplicate(self.labels)
        if repeated is not None:
            raise DataError(f"two labels are named {repeated!r}: rename one")

    def to_texts(self) -> list[str]:
        """Write every ranking as a text that `parse_rankings` reads."""
        return [format_ranking(row, self.labels) for row in self.ranks]


def parse_rankings(texts: Iterable[str], labels: Sequence[str] | None = None) -> Rankings:
    """Read rankings written with `>` (is preferred to) and `=` (is tied with).

    Parameters
    ----------
    texts : iterable of str
        One a row, such as ``"a>b=c>d"``; blanks around names are dropped, and a name in backticks is read as
        it stands, a backtick inside doubled. A label that other rows show and this one does not is missing:
        its position is unknown.
    labels : sequence of str, optional
        The labels allowed, in the order of the columns wanted; else those met, sorted by name.

    Returns
    -------
    Rankings
        Columns in the order of its labels.

    Raises
    ------
    TableError
        If a text cannot be read; with the number of its row, counted from 0.

    Examples
    --------
    >>> read = parse_rankings(["a>b=c", " c > a "])
    >>> read.labels, read.ranks.tolist()
    (('a', 'b', 'c'), [[1.0, 2.5, 2.5], [2.0, nan, 1.0]])
    """
    if isinstance(texts, str):
        raise DataError(f"rankings are one text, {texts[:40]!r}: give a list of texts, one a row")
    if not hasattr(texts, "__iter__"):
        raise DataError(f"rankings are {texts!r}: give a list of texts such as 'a>b>c', one a row")
    rows = [parse_ranking(text, row) for row, text in enumerate(texts)]
    names = (
        _to_names(labels)
        if labels is not None
        else sorted({one for row in rows for two in row for one in two})
    )
    return _build_rankings(rows, names)


def build_rankings_from_orders(
    orders: Iterable[Iterable[Any]], labels: Sequence[Any] | None = None
) -> Rankings:
    """Read rankings given as lists of labels, the most preferred first.

    Parameters
    ----------
    orders : iterable of iterables
        Each a list of labels (texts or numbers); labels in a list, tuple or set of their own are tied.
        A list may be shorter than others: the labels it lacks are missing. What `to_orders` writes after the
        last label, −1, is refused unless `labels` holds it, and so is NaN: cut such rows.
    labels : sequence, optional
        The labels allowed, in the order of the columns wanted; else those met, sorted.

    Returns
    -------
    Rankings
        Its labels are texts.

    Raises
    ------
    TableError
        If a list is empty, repeats a label, holds an unknown one or what is none; with the number of its row,
        from 0.

    Examples
    --------
    >>> read = build_rankings_from_orders([["b", "a", "c"], [("c", "a"), "b"]])
    >>> read.texts()
    ['b>a>c', 'a=c>b']
    """
    if isinstance(orders, str) or not hasattr(orders, "__iter__"):
        raise DataError(f"rankings are {orders!r}: give a list of lists of labels, one a row")
    known = None if labels is None else _to_list(labels)
    rows = [_parse_order(order, row, known or []) for row, order in enumerate(orders)]
    if known is None:
        met = {one for row in rows for tied in row for one in tied}
        known = sorted(met, key=lambda one: (isinstance(one, str), one))
    named = [[[str(one) for one in tied] for tied in row] for row in rows]
    for row, groups in enumerate(named):
        check_unique_labels(groups, row)
    return _build_rankings(named, _to_names(known))


def build_rankings_from_columns(columns: Mapping[str, ArrayLike], *, are_scores: bool = False) -> Rankings:
    """Read rankings from one column of ranks, or of scores, for each label.

    Parameters
    ----------
    columns : mapping of str to array-like, shape (n,)
        As a dict or a pandas frame holds them, by the labels' names.
    scores : bool
        Whether larger is preferred, as in scores; else smaller is, as in ranks.

    Returns
    -------
    Rankings
        Columns in the order given.

    Raises
    ------
    TableError
        If values are no numbers, infinite, or a row ranks no label.

    Examples
    --------
    >>> build_rankings_from_columns({"tea": [0.9, 0.2], "milk": [0.4, 0.2]}, scores=True).texts()
    ['tea>milk', 'tea=milk']
    """
    if not hasattr(columns, "keys") or not len(columns):
        raise DataError(
            f"{type(columns).__name__} holds no named columns: give a dict or a data frame with one column a "
            "label; a plain array is read by as_rankings"
        )
    names = _to_names(list(columns))
    parts = [to_float_array(columns[name]) for name in columns]
    if len({part.shape for part in parts}) != 1:
        raise DataError("the columns of the rankings have different lengths: give one value a row in each")
    values = np.stack(parts, axis=-1)
    return Rankings(-values if are_scores else values, tuple(names))


def _build_rankings(rows: list[TiedGroups], names: list[str]) -> Rankings:
    """Put rows of tied groups into columns."""
    if not rows:
        raise DataError("no rankings were given: at least one row is needed")
    column = {name: place for place, name in enumerate(names)}
    ranks = np.full((len(rows), len(names)), np.nan)
    for row, groups in enumerate(rows):
        for place, tied in enumerate(groups):
            for name in tied:
                if name not in column:
                    raise DataError(
                        f"row {row} of the rankings names the label {name!r}, "
                        f"which is none of those given{suggest(name, names)}"
                    )
                ranks[row, column[name]] = place
    return Rankings(ranks, tuple(names))


def _parse_order(order: Any, row: int, allowed: list[Any]) -> list[list[Any]]:
    """Read one list of labels into groups of tied ones."""
    ordered = hasattr(order, "__iter__") and not isinstance(order, (str, bytes, set, frozenset, Mapping))
    if not ordered:
        raise DataError(
            f"row {row} of the rankings is {str(order)[:40]!r}, which is no list of labels in order: give "
            "['b', 'a', 'c']; texts such as 'b>a>c' are read by read_rankings"
        )
    groups = [
        list(one) if isinstance(one, (list, tuple, set, frozenset)) else [one]
        for one in (order.tolist() if isinstance(order, np.ndarray) else order)
    ]
    if not groups or not all(groups):
        raise DataError(f"row {row} of the rankings ranks no label, or ties none: drop such rows and ties")
    for one in (one for tied in groups for one in tied):
        number = isinstance(one, Real)
        is_label = isinstance(one, str) or (number and not isnan(one) and (one != -1 or one in allowed))
        if not is_label:
            raise DataError(
                f"row {row} of the rankings holds {one!r}, which is no label: end a list at its last label, "
                "and leave out those that are missing; labels are texts or numbers"
            )
    return groups


def _to_names(labels: Sequence[Any]) -> list[str]:
    return [str(label) for label in _to_list(labels)]


def _to_list(labels: Any) -> list[Any]:
    if isinstance(labels, str) or not hasattr(labels, "__iter__"):
        raise DataError(f"labels are {labels!r}: give a list of names, ['a', 'b']")
    return list(labels)

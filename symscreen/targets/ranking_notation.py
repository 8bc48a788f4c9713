"""Read and write rankings: texts such as ``a>b=c>d``, lists of labels in order, columns of ranks or scores.

In a text, ``>`` means "is preferred to" and ``=`` means "is tied with". Labels with special characters are
written in backticks.
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

from symscreen.errors import DataError
from symscreen.messages import suggest
from symscreen.targets.ranking_ranks import to_float_array, to_mid_ranks, to_orders

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    TiedGroups = list[list[str]]


_FOREIGN_SEPARATORS = "<≻→,;|"  # separators of labels in other notations
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_DASHES = ("-", "–", "—")
_NAME_PATTERN = re.compile(r"\s*(?:`((?:[^`]|``)*)`\s*|([^`>=]*))([>=]|$)")
_MAX_EXCERPT_CHARS = 60  # characters of a text that a message quotes
_MAX_VALUE_CHARS = 40  # characters of any other value that a message quotes


def quote_label(label: str) -> str:
    """Write a label as in the text of a ranking, in backticks where necessary.

    Parameters
    ----------
    label : str
        Any text.

    Returns
    -------
    str
        The label in backticks, with inner backticks doubled, if it is empty, starts or ends with a blank,
        ends with a dash, contains a backtick or a separator of this or another notation, starts with a
        bracket, or contains an unmatched bracket. Otherwise the label itself.

    Examples
    --------
    >>> quote_label("oat milk"), quote_label("a>b"), quote_label("`")
    ('oat milk', '`a>b`', '````')
    """
    is_unusual = not label or label != label.strip() or label.endswith(_DASHES)
    if is_unusual or any(mark in label for mark in "`>=") or _has_foreign_marks(label):
        return "`" + label.replace("`", "``") + "`"
    return label


def format_ranking(ranks: ArrayLike, labels: Sequence[str]) -> str:
    """Write one ranking as a text that `parse_rankings` reads.

    Parameters
    ----------
    ranks : array-like, shape (k,)
        A ranking. Labels with rank NaN are left out.
    labels : sequence of str, length k
        Names of the labels.

    Returns
    -------
    str
        Labels as written by `quote_label`, separated by `>`, or by `=` if tied. Tied labels keep the order of
        their columns.

    Raises
    ------
    DataError
        If the ranks are not valid, or their number differs from the number of names.

    Examples
    --------
    >>> format_ranking([2.5, 1.0, float("nan"), 2.5], "abcd")
    'b>a=d'
    >>> format_ranking([1, 2], ["sugar = 0", "milk"])
    '`sugar = 0`>milk'
    """
    table: Any = [ranks]
    row = to_mid_ranks(table)
    if row.shape[1] != len(labels):
        raise DataError(
            f"{row.shape[1]} ranks were given with {len(labels)} names: give one name for each rank"
        )
    order = [index for index in to_orders(row)[0].tolist() if index >= 0]
    marks = ["=" if row[0, first] == row[0, second] else ">" for first, second in pairwise(order)]
    return "".join(
        quote_label(str(labels[index])) + mark for index, mark in zip(order, [*marks, ""], strict=True)
    )


def parse_ranking(text: Any, row: int) -> TiedGroups:
    """Parse the text of one ranking into groups of tied labels, most preferred first.

    Parameters
    ----------
    text : str
        A text such as ``a>b=c``. Blanks around names are removed.
    row : int
        Row number, for messages.

    Returns
    -------
    list of lists of str

    Raises
    ------
    DataError
        If the text is not a ranking.

    Examples
    --------
    >>> parse_ranking("a > `b>c` = d", 0)
    [['a'], ['b>c', 'd']]
    """
    if not isinstance(text, str) or not text.strip():
        raise DataError(f"row {row} of the rankings is {text!r}: a text such as 'a>b>c' is needed")
    location = f"row {row} of the rankings, {text.strip()[:_MAX_EXCERPT_CHARS]!r},"
    groups: TiedGroups = [[]]
    unquoted_names: list[str] = []
    position, mark = 0, ">"
    while mark:
        match = _NAME_PATTERN.match(text, position)
        if match is None:
            raise DataError(
                f"{location} has an unmatched backtick: write an unusual name as `a>b`, and double a "
                "backtick inside a name"
            )
        name = _parse_name(match, location)
        unquoted_names += [name] if match[1] is None else []
        groups[-1].append(name)
        position, mark = match.end(), match[3]
        if mark == ">":
            groups.append([])
    foreign_name = next(filter(_has_foreign_marks, unquoted_names), None)
    if (
        foreign_name is not None
        and len(groups) == 1
        and any(mark in foreign_name for mark in _FOREIGN_SEPARATORS)
    ):
        raise DataError(f"{location} holds no '>': write the preferred label first, 'a>b=c>d'")
    if foreign_name is not None:
        raise DataError(
            f"{location} has the name {foreign_name!r} with characters that separate or group labels in "
            "other notations, but not here: write ties as a=b>c, and a name with such characters in "
            f"backticks, {quote_label(foreign_name)}"
        )
    check_unique_labels(groups, row)
    return groups


def _has_foreign_marks(name: str) -> bool:
    """Return whether a text has marks of other notations; the brackets of `tea (black)` are valid."""
    open_brackets: list[str] = []
    for character in name:
        if character in _BRACKETS.values():
            open_brackets.append(character)
        elif character in _BRACKETS and (not open_brackets or open_brackets.pop() != _BRACKETS[character]):
            return True
    return (
        bool(open_brackets)
        or name[:1] in _BRACKETS.values()
        or any(mark in name for mark in _FOREIGN_SEPARATORS)
    )


def _parse_name(match: re.Match[str], location: str) -> str:
    """Return the name matched by `_NAME_PATTERN`, without backticks."""
    quoted, bare, mark = match.groups()
    if quoted is not None:
        return str(quoted).replace("``", "`")
    name = str(bare).strip()
    if not name:
        raise DataError(f"{location} lacks a name before or after '>' or '=': write 'a>b=c>d'")
    if mark == ">" and bare.endswith(_DASHES):
        raise DataError(
            f"{location} holds an arrow: '>' alone means 'is preferred to'; write 'a>b', and a name that "
            f"ends with a dash in backticks, `{name}`"
        )
    return name


def check_unique_labels(groups: TiedGroups, row: int) -> None:
    """Check that a ranking does not repeat a label.

    Parameters
    ----------
    groups : list of lists of str
        Groups of tied labels.
    row : int
        Row number, for the message.

    Raises
    ------
    DataError
        If a label is repeated.
    """
    duplicate = find_duplicate([name for group in groups for name in group])
    if duplicate is not None:
        raise DataError(f"row {row} of the rankings names {duplicate!r} twice: a label has one position")


def find_duplicate(names: Sequence[str]) -> str | None:
    """Return the first repeated name, or None."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


@dataclass(frozen=True, eq=False)
class Rankings:
    """Rankings and the names of the labels.

    Parameters
    ----------
    ranks : array-like, shape (n, k)
        Ranks; stored as mid-ranks with NaN for missing labels (see `to_mid_ranks`).
    labels : tuple of str, length k
        Distinct names, one per column.

    Raises
    ------
    DataError
        If the ranks are not valid, or the names are repeated or differ in number from the columns.

    Examples
    --------
    >>> Rankings([[2, 1, 3]], ("x", "y", "z")).to_texts()
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
        duplicate = find_duplicate(self.labels)
        if duplicate is not None:
            raise DataError(f"two labels are named {duplicate!r}: rename one")

    def to_texts(self) -> list[str]:
        """Write each ranking as a text that `parse_rankings` reads."""
        return [format_ranking(row, self.labels) for row in self.ranks]


def parse_rankings(texts: Iterable[str], labels: Sequence[str] | None = None) -> Rankings:
    """Parse rankings written with `>` (is preferred to) and `=` (is tied with).

    Parameters
    ----------
    texts : iterable of str
        One text per row, such as ``"a>b=c>d"``. Blanks around names are removed. A name in backticks is taken
        literally, except that a doubled backtick is a single one. A label that occurs only in other rows is
        missing in this row: its position is unknown.
    labels : sequence of str, optional
        The allowed labels, in the order of the columns. By default all labels that occur, sorted by name.

    Returns
    -------
    Rankings
        Columns in the order of its labels.

    Raises
    ------
    DataError
        If a text cannot be parsed. The message gives the row number, counted from 0.

    Examples
    --------
    >>> rankings = parse_rankings(["a>b=c", " c > a "])
    >>> rankings.labels, rankings.ranks.tolist()
    (('a', 'b', 'c'), [[1.0, 2.5, 2.5], [2.0, nan, 1.0]])
    """
    if isinstance(texts, str):
        raise DataError(f"rankings are one text, {texts[:_MAX_VALUE_CHARS]!r}: give a list, one text per row")
    if not hasattr(texts, "__iter__"):
        raise DataError(f"rankings are {texts!r}: give a list of texts such as 'a>b>c', one per row")
    rows = [parse_ranking(text, row) for row, text in enumerate(texts)]
    names = (
        _to_names(labels)
        if labels is not None
        else sorted({name for groups in rows for group in groups for name in group})
    )
    return _build_rankings(rows, names)


def build_rankings_from_orders(
    orders: Iterable[Iterable[Any]], labels: Sequence[Any] | None = None
) -> Rankings:
    """Build rankings from lists of labels, most preferred first.

    Parameters
    ----------
    orders : iterable of iterables
        One list of labels (text or numbers) per row. Labels in a nested list, tuple or set are tied. Labels
        that a list does not contain are missing. The padding of `to_orders` (−1, unless it is one of
        `labels`) and NaN are not allowed: cut the lists instead.
    labels : sequence, optional
        The allowed labels, in the order of the columns. By default all labels that occur, sorted.

    Returns
    -------
    Rankings
        The labels are converted to text.

    Raises
    ------
    DataError
        If a list is empty, repeats a label, or contains an unknown or invalid label. The message gives the
        row number, counted from 0.

    Examples
    --------
    >>> rankings = build_rankings_from_orders([["b", "a", "c"], [("c", "a"), "b"]])
    >>> rankings.to_texts()
    ['b>a>c', 'a=c>b']
    """
    if isinstance(orders, str) or not hasattr(orders, "__iter__"):
        raise DataError(f"rankings are {orders!r}: give a list of lists of labels, one per row")
    known = None if labels is None else _to_list(labels)
    rows = [_parse_order(order, row, known or []) for row, order in enumerate(orders)]
    if known is None:
        distinct = {label for groups in rows for group in groups for label in group}
        known = sorted(distinct, key=lambda label: (isinstance(label, str), label))
    named_rows = [[[str(label) for label in group] for group in groups] for groups in rows]
    for row, groups in enumerate(named_rows):
        check_unique_labels(groups, row)
    return _build_rankings(named_rows, _to_names(known))


def build_rankings_from_columns(columns: Mapping[str, ArrayLike], *, are_scores: bool = False) -> Rankings:
    """Build rankings from one column of ranks or scores per label.

    Parameters
    ----------
    columns : mapping of str to array-like, shape (n,)
        Columns by label, as in a dict or a pandas DataFrame. NaN for a missing label.
    are_scores : bool
        True if larger values are preferred (scores), False if smaller values are preferred (ranks).

    Returns
    -------
    Rankings
        Columns in the given order.

    Raises
    ------
    DataError
        If values are not numbers or are infinite, or a row ranks no label.

    Examples
    --------
    >>> columns = {"tea": [0.9, 0.2], "milk": [0.4, 0.2]}
    >>> build_rankings_from_columns(columns, are_scores=True).to_texts()
    ['tea>milk', 'tea=milk']
    """
    if not hasattr(columns, "keys") or not len(columns):
        raise DataError(
            f"{type(columns).__name__} holds no named columns: give a dict or a data frame with one column "
            "per label; a plain array is read by to_mid_ranks"
        )
    names = _to_names(list(columns))
    parts = [to_float_array(columns[name]) for name in columns]
    if len({part.shape for part in parts}) != 1:
        raise DataError("the columns of the rankings have different lengths: give one value per row in each")
    values = np.stack(parts, axis=-1)
    return Rankings(-values if are_scores else values, tuple(names))


def _build_rankings(rows: list[TiedGroups], names: list[str]) -> Rankings:
    """Convert rows of tied groups to columns of ranks."""
    if not rows:
        raise DataError("no rankings were given: at least one row is needed")
    column = {name: position for position, name in enumerate(names)}
    ranks = np.full((len(rows), len(names)), np.nan)
    for row, groups in enumerate(rows):
        for position, group in enumerate(groups):
            for name in group:
                if name not in column:
                    raise DataError(
                        f"row {row} of the rankings names the label {name!r}, "
                        f"which is not in the given labels{suggest(name, names)}"
                    )
                ranks[row, column[name]] = position
    return Rankings(ranks, tuple(names))


def _parse_order(order: Any, row: int, allowed: list[Any]) -> list[list[Any]]:
    """Convert one list of labels to groups of tied labels."""
    is_ordered = hasattr(order, "__iter__") and not isinstance(order, (str, bytes, set, frozenset, Mapping))
    if not is_ordered:
        raise DataError(
            f"row {row} of the rankings is {str(order)[:_MAX_VALUE_CHARS]!r}, not a list of labels: give "
            "['b', 'a', 'c']; texts such as 'b>a>c' are read by parse_rankings"
        )
    groups = [
        list(item) if isinstance(item, (list, tuple, set, frozenset)) else [item]
        for item in (order.tolist() if isinstance(order, np.ndarray) else order)
    ]
    if not groups or not all(groups):
        raise DataError(f"row {row} of the rankings ranks no label, or has an empty tie: drop it")
    for label in (label for group in groups for label in group):
        is_valid_number = isinstance(label, Real) and not isnan(label) and (label != -1 or label in allowed)
        if not (isinstance(label, str) or is_valid_number):
            raise DataError(
                f"row {row} of the rankings holds {label!r}, which is not a label: end a list at its last "
                "label, and leave out missing ones; labels are texts or numbers"
            )
    return groups


def _to_names(labels: Sequence[Any]) -> list[str]:
    """Convert labels to text."""
    return [str(label) for label in _to_list(labels)]


def _to_list(labels: Any) -> list[Any]:
    """Check that labels are a collection, and return them as a list."""
    if isinstance(labels, str) or not hasattr(labels, "__iter__"):
        raise DataError(f"labels are {labels!r}: give a list of names, ['a', 'b']")
    return list(labels)

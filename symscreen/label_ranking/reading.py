"""Readers of rankings: texts such as `a>b=c>d`, lists of labels in order, columns of ranks or scores."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import TableError, nearest, printable
from symscreen.label_ranking.ranks import as_rankings, numbers_of, orders_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    Groups = list[list[str]]

__all__ = ["Rankings", "rankings_of_columns", "rankings_of_orders", "read_rankings", "text_of"]


@dataclass(frozen=True, eq=False)
class Rankings:
    """Rankings with the names of what is ranked.

    Parameters
    ----------
    ranks : array-like, shape (n, k)
        Kept as `as_rankings` writes them: mid-ranks, NaN for a label that is missing.
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
        object.__setattr__(self, "ranks", as_rankings(self.ranks))
        object.__setattr__(self, "labels", tuple(self.labels))
        if len(self.labels) != self.ranks.shape[1]:
            raise TableError(
                f"{len(self.labels)} names were given for rankings of {self.ranks.shape[1]} labels: "
                "give one for each column"
            )
        repeated = _first_repeated(self.labels)
        if repeated is not None:
            raise TableError(f"two labels are named {printable(repeated)!r}: rename one")

    def texts(self) -> list[str]:
        """Write every ranking as a text that `read_rankings` reads."""
        return [text_of(row, self.labels) for row in self.ranks]


def read_rankings(texts: Iterable[str], labels: Sequence[str] | None = None) -> Rankings:
    """Read rankings written with `>` (is preferred to) and `=` (is tied with).

    Parameters
    ----------
    texts : iterable of str
        One a row, such as ``"a>b=c>d"``; blanks around names are dropped. A label that other rows show and
        this one does not is missing: its position is unknown.
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
    >>> read = read_rankings(["a>b=c", " c > a "])
    >>> read.labels, read.ranks.tolist()
    (('a', 'b', 'c'), [[1.0, 2.5, 2.5], [2.0, nan, 1.0]])
    """
    if isinstance(texts, str):
        raise TableError(f"rankings are one text, {printable(texts[:40])!r}: give a list of texts, one a row")
    rows = [_groups_of(text, row) for row, text in enumerate(texts)]
    names = (
        _names(labels) if labels is not None else sorted({one for row in rows for two in row for one in two})
    )
    return _placed(rows, names)


def rankings_of_orders(orders: Iterable[Iterable[Any]], labels: Sequence[Any] | None = None) -> Rankings:
    """Read rankings given as lists of labels, the most preferred first.

    Parameters
    ----------
    orders : iterable of iterables
        Each a list of labels (texts or numbers); labels in a list, tuple or set of their own are tied.
        A list may be shorter than others: the labels it lacks are missing.
    labels : sequence, optional
        The labels allowed, in the order of the columns wanted; else those met, sorted.

    Returns
    -------
    Rankings
        Its labels are texts.

    Raises
    ------
    TableError
        If a list is empty, repeats a label or holds an unknown one; with the number of its row, from 0.

    Examples
    --------
    >>> read = rankings_of_orders([["b", "a", "c"], [("c", "a"), "b"]])
    >>> read.texts()
    ['b>a>c', 'a=c>b']
    """
    rows = [
        [list(one) if isinstance(one, (list, tuple, set)) else [one] for one in order] for order in orders
    ]
    if labels is None:
        met = {one for row in rows for tied in row for one in tied}
        labels = sorted(met, key=lambda one: (isinstance(one, str), one))
    named = [[[str(one) for one in tied] for tied in row] for row in rows]
    for row, groups in enumerate(named):
        if not any(groups):
            raise TableError(f"row {row} of the rankings ranks no label: drop such rows")
        _refuse_repeated(groups, row)
    return _placed(named, _names(labels))


def rankings_of_columns(columns: Mapping[str, ArrayLike], *, scores: bool = False) -> Rankings:
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
    >>> rankings_of_columns({"tea": [0.9, 0.2], "milk": [0.4, 0.2]}, scores=True).texts()
    ['tea>milk', 'tea=milk']
    """
    names = _names(list(columns))
    parts = [numbers_of(columns[name]) for name in columns]
    if len({part.shape for part in parts}) != 1:
        raise TableError("the columns of the rankings have different lengths: give one value a row in each")
    values = np.stack(parts, axis=-1)
    return Rankings(-values if scores else values, tuple(names))


def text_of(ranks: ArrayLike, labels: Sequence[str]) -> str:
    """Write one ranking as a text.

    Parameters
    ----------
    ranks : array-like, shape (k,)
        A ranking; labels that are missing are left out.
    labels : sequence of str, length k
        Names.

    Returns
    -------
    str
        With `>` between labels and `=` between tied ones, these in the order of their columns.

    Examples
    --------
    >>> text_of([2.5, 1.0, np.nan, 2.5], "abcd")
    'b>a=d'
    """
    row = as_rankings(np.asarray(ranks)[None, :])
    order = [place for place in orders_of(row)[0].tolist() if place >= 0]
    marks = ["=" if row[0, one] == row[0, two] else ">" for one, two in pairwise(order)]
    return "".join(labels[place] + mark for place, mark in zip(order, [*marks, ""], strict=True))


def _groups_of(text: Any, row: int) -> Groups:
    if not isinstance(text, str) or not text.strip():
        raise TableError(f"row {row} of the rankings is {text!r}: a text such as 'a>b>c' is needed")
    groups = [[name.strip() for name in tied.split("=")] for tied in text.split(">")]
    shown = printable(text.strip()[:60])
    if not all(name for tied in groups for name in tied):
        raise TableError(
            f"row {row} of the rankings, {shown!r}, lacks a name beside '>' or '=': write 'a>b=c>d'"
        )
    if len(groups) == 1 and any(mark in text for mark in "<≻,;|"):
        raise TableError(
            f"row {row} of the rankings, {shown!r}, holds no '>': write the preferred label first, 'a>b=c>d'"
        )
    _refuse_repeated(groups, row)
    return groups


def _refuse_repeated(groups: Groups, row: int) -> None:
    repeated = _first_repeated([name for tied in groups for name in tied])
    if repeated is not None:
        raise TableError(
            f"row {row} of the rankings names {printable(repeated)!r} twice: a label has one position"
        )


def _placed(rows: list[Groups], names: list[str]) -> Rankings:
    """Put rows of tied groups into columns."""
    if not rows:
        raise TableError("no rankings were given: at least one row is needed")
    column = {name: place for place, name in enumerate(names)}
    ranks = np.full((len(rows), len(names)), np.nan)
    for row, groups in enumerate(rows):
        for place, tied in enumerate(groups):
            for name in tied:
                if name not in column:
                    raise TableError(
                        f"row {row} of the rankings names the label {printable(name)!r}, "
                        f"which is none of those given{nearest(name, names)}"
                    )
                ranks[row, column[name]] = place
    return Rankings(ranks, tuple(names))


def _names(labels: Sequence[Any]) -> list[str]:
    if isinstance(labels, str):
        raise TableError(f"labels are one text, {labels!r}: give a list of names")
    return [str(label) for label in labels]


def _first_repeated(names: Sequence[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None

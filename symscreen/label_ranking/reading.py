"""Readers of rankings: texts such as `a>b=c>d`, lists of labels in order, columns of ranks or scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import TableError, nearest
from symscreen.label_ranking.notation import first_repeated, groups_of, refuse_repeated, text_of
from symscreen.label_ranking.ranks import as_rankings, numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    Groups = list[list[str]]

__all__ = ["Rankings", "rankings_of_columns", "rankings_of_orders", "read_rankings"]


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
        object.__setattr__(self, "labels", tuple(_names(self.labels)))
        if len(self.labels) != self.ranks.shape[1]:
            raise TableError(
                f"{len(self.labels)} names were given for rankings of {self.ranks.shape[1]} labels: "
                "give one for each column"
            )
        repeated = first_repeated(self.labels)
        if repeated is not None:
            raise TableError(f"two labels are named {repeated!r}: rename one")

    def texts(self) -> list[str]:
        """Write every ranking as a text that `read_rankings` reads."""
        return [text_of(row, self.labels) for row in self.ranks]


def read_rankings(texts: Iterable[str], labels: Sequence[str] | None = None) -> Rankings:
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
    >>> read = read_rankings(["a>b=c", " c > a "])
    >>> read.labels, read.ranks.tolist()
    (('a', 'b', 'c'), [[1.0, 2.5, 2.5], [2.0, nan, 1.0]])
    """
    if isinstance(texts, str):
        raise TableError(f"rankings are one text, {texts[:40]!r}: give a list of texts, one a row")
    if not hasattr(texts, "__iter__"):
        raise TableError(f"rankings are {texts!r}: give a list of texts such as 'a>b>c', one a row")
    rows = [groups_of(text, row) for row, text in enumerate(texts)]
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
        A list may be shorter than others: the labels it lacks are missing. What `orders_of` writes after the
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
    >>> read = rankings_of_orders([["b", "a", "c"], [("c", "a"), "b"]])
    >>> read.texts()
    ['b>a>c', 'a=c>b']
    """
    if isinstance(orders, str) or not hasattr(orders, "__iter__"):
        raise TableError(f"rankings are {orders!r}: give a list of lists of labels, one a row")
    known = None if labels is None else _listed(labels)
    rows = [_groups_in(order, row, known or []) for row, order in enumerate(orders)]
    if known is None:
        met = {one for row in rows for tied in row for one in tied}
        known = sorted(met, key=lambda one: (isinstance(one, str), one))
    named = [[[str(one) for one in tied] for tied in row] for row in rows]
    for row, groups in enumerate(named):
        refuse_repeated(groups, row)
    return _placed(named, _names(known))


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
    if not hasattr(columns, "keys") or not len(columns):
        raise TableError(
            f"{type(columns).__name__} holds no named columns: give a dict or a data frame with one column a "
            "label; a plain array is read by as_rankings"
        )
    names = _names(list(columns))
    parts = [numbers_of(columns[name]) for name in columns]
    if len({part.shape for part in parts}) != 1:
        raise TableError("the columns of the rankings have different lengths: give one value a row in each")
    values = np.stack(parts, axis=-1)
    return Rankings(-values if scores else values, tuple(names))


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
                        f"row {row} of the rankings names the label {name!r}, "
                        f"which is none of those given{nearest(name, names)}"
                    )
                ranks[row, column[name]] = place
    return Rankings(ranks, tuple(names))


def _groups_in(order: Any, row: int, allowed: list[Any]) -> list[list[Any]]:
    """Read one list of labels into groups of tied ones."""
    ordered = hasattr(order, "__iter__") and not isinstance(order, (str, bytes, set, frozenset, Mapping))
    if not ordered:
        raise TableError(
            f"row {row} of the rankings is {str(order)[:40]!r}, which is no list of labels in order: give "
            "['b', 'a', 'c']; texts such as 'b>a>c' are read by read_rankings"
        )
    groups = [
        list(one) if isinstance(one, (list, tuple, set, frozenset)) else [one]
        for one in (order.tolist() if isinstance(order, np.ndarray) else order)
    ]
    if not groups or not all(groups):
        raise TableError(f"row {row} of the rankings ranks no label, or ties none: drop such rows and ties")
    for one in (one for tied in groups for one in tied):
        number = isinstance(one, Real)
        is_label = isinstance(one, str) or (number and not isnan(one) and (one != -1 or one in allowed))
        if not is_label:
            raise TableError(
                f"row {row} of the rankings holds {one!r}, which is no label: end a list at its last label, "
                "and leave out those that are missing; labels are texts or numbers"
            )
    return groups


def _names(labels: Sequence[Any]) -> list[str]:
    return [str(label) for label in _listed(labels)]


def _listed(labels: Any) -> list[Any]:
    if isinstance(labels, str) or not hasattr(labels, "__iter__"):
        raise TableError(f"labels are {labels!r}: give a list of names, ['a', 'b']")
    return list(labels)

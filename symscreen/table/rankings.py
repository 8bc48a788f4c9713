"""Rankings in a source: one column of texts such as `a>b>c`, or a column of ranks for each label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from symscreen.errors import TableError
from symscreen.label_ranking import numbers_of, quote_label, read_rankings
from symscreen.table.choose import require
from symscreen.table.wording import count, first_rows, listed, quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import ArrayLike, NDArray

    from symscreen.table.source import Frame

    Values = NDArray[np.float64]

__all__ = ["Ranked", "by_case_alone", "given_ranking", "is_ranking", "ranking_in"]

_FEW = 3  # rows, or a hundredth of those of the other label: a slip rather than a label
_MOST_LABELS = 100  # 4950 pairs, each of which is compared with every feature


class Ranked(NamedTuple):
    """What every row of a source ranks; labels in the order of their names."""

    name: str
    labels: tuple[str, ...]
    ranks: Values  # (n, k): any numbers in the order of the ranks; NaN where a label is missing

    @property
    def shown(self) -> Values:
        """A column that has no value where a row ranks no label; shape (n,)."""
        return np.where(np.isnan(self.ranks).all(axis=1), np.nan, 0.0)


def is_ranking(y: Any) -> bool:
    """Tell whether a response that is given beside a source holds several columns, and so ranks.

    Examples
    --------
    >>> is_ranking([[1, 2], [2, 1]]), is_ranking([1.5, 2.5]), is_ranking(None)
    (True, False, False)
    """
    shape = getattr(y, "shape", None)
    if shape is None:
        try:
            shape = np.shape(y)
        except ValueError:  # ragged: refused where it is read
            return False
    return len(shape) == 2 and shape[1] > 1


def ranking_in(frame: Frame, names: Collection[str], exclude: Collection[str]) -> Ranked:
    """Read the ranking of a source.

    Parameters
    ----------
    frame : Frame
        The source.
    names : collection of str
        One column of texts, or one of ranks or scores for each label, at least two.
    exclude : collection of str
        Columns that the user leaves out.

    Returns
    -------
    Ranked
        Scores instead of ranks reverse all orders, which changes no sign-free statistic.

    Raises
    ------
    TableError
        If there is no such column, it is excluded, or does not hold what is needed.

    Examples
    --------
    >>> from symscreen.table.source import read_frame
    >>> ranked = ranking_in(read_frame({"taste": ["tea>milk", None, "milk>tea"]}), ["taste"], [])
    >>> ranked.labels, ranked.ranks.tolist()
    (('milk', 'tea'), [[2.0, 1.0], [nan, nan], [1.0, 2.0]])
    """
    require(frame, names, "--ranking")
    for name in names:
        if name in exclude:
            raise TableError(f"{frame.where}: {quoted(name)} is in both --ranking and --exclude: keep one")
    return _of_texts(frame, *names) if len(names) == 1 else _of_columns(frame, sorted(names))


def by_case_alone(ranked: Ranked) -> list[str]:
    """Tell of labels in very few rows that differ from another only by case, and may be slips.

    Parameters
    ----------
    ranked : Ranked
        What a source ranks.

    Returns
    -------
    list of str
        A line for people for each such label.

    Examples
    --------
    >>> ranks = np.array([[1.0, np.nan, 2.0], [1.0, np.nan, 2.0], [np.nan, 1.0, 2.0]])
    >>> print(*by_case_alone(Ranked("y", ("cof", "Cof", "tea"), ranks)))
    'y': the label 'Cof' is in 1 row and differs from 'cof', in 2 rows, only by case: one label, or two?
    """
    met: dict[str, list[tuple[int, str]]] = {}
    for label, shown in zip(ranked.labels, (~np.isnan(ranked.ranks)).sum(axis=0).tolist(), strict=True):
        met.setdefault(label.casefold(), []).append((shown, label))
    notices = []
    for alike in met.values():
        most, usual = max(alike)
        notices += [
            f"{quoted(ranked.name)}: the label {quoted(label)} is in {count(rows, 'row')} and differs from "
            f"{quoted(usual)}, in {count(most, 'row')}, only by case: one label, or two?"
            for rows, label in alike
            if rows < most and rows <= max(_FEW, most // 100)
        ]
    return notices


def given_ranking(y: ArrayLike, frame: Frame, inputs: Sequence[str]) -> Ranked:
    """Check a ranking that comes beside the source.

    Parameters
    ----------
    y : array or data frame of shape (n, k)
        Ranks or scores; a frame names the labels, else they are called 1 to k.
    frame : Frame
        The source, of n rows.
    inputs : sequence of str
        The names that are taken.

    Returns
    -------
    Ranked

    Raises
    ------
    TableError
        If it does not have a row for each row of the source, or holds what is no number.
    """
    shape = np.shape(y)
    if shape[0] != frame.n:
        raise TableError(
            f"y has shape {shape}: one ranking is needed for each of the {frame.n} rows of {frame.where}"
        )
    ranks = numbers_of(y)
    given: Any = getattr(y, "columns", range(1, shape[1] + 1))
    labels = [str(label) for label in given]
    if len(set(labels)) < len(labels):
        raise TableError("two columns of y have one name: rename one")
    name = "y"
    while name in inputs:
        name += "_"
    order = sorted(range(len(labels)), key=labels.__getitem__)
    return _checked(frame, Ranked(name, tuple(labels[place] for place in order), ranks[:, order]))


def _of_texts(frame: Frame, name: str) -> Ranked:
    column = frame.columns[name]
    if column.texts is None:
        raise TableError(
            f"{frame.where}: the column {quoted(name)} of --ranking holds {column.holds}: name a column of "
            "texts such as a>b>c, or two or more columns of ranks"
        )
    texts = [text if text and text.strip() else None for text in column.texts.to_pylist()]
    distinct = list(dict.fromkeys(text for text in texts if text is not None))
    if not any(">" in text for text in distinct):
        raise TableError(
            f"{frame.where}: the column {quoted(name)} of --ranking holds no '>': write the preferred label "
            "first, a>b=c>d"
        )
    labels: set[str] = set()
    for text in distinct:
        try:
            labels.update(read_rankings([text]).labels)
        except TableError as error:
            row = f"{frame.where}: row {texts.index(text) + 1} of {quoted(name)}"
            raise TableError(row + str(error).removeprefix("row 0 of the rankings")) from None
    _refuse_many(frame, len(labels))
    read = read_rankings(distinct)
    places = {text: place for place, text in enumerate(distinct)}
    nothing = np.full((1, len(read.labels)), np.nan)
    rows = np.array([-1 if text is None else places[text] for text in texts])
    return Ranked(name, read.labels, np.concatenate([read.ranks, nothing])[rows])


def _of_columns(frame: Frame, names: list[str]) -> Ranked:
    columns = []
    for name in names:
        column = frame.columns[name]
        if column.numbers is None:
            raise TableError(
                f"{frame.where}: the column {quoted(name)} of --ranking holds {column.holds}: several "
                "columns hold ranks or scores, one for each label; name a column of texts such as a>b>c alone"
            )
        columns.append(column.numbers)
    return _checked(frame, Ranked(",".join(map(quote_label, names)), tuple(names), np.column_stack(columns)))


def _checked(frame: Frame, ranked: Ranked) -> Ranked:
    _refuse_many(frame, len(ranked.labels))
    infinite = np.isinf(ranked.ranks)
    if infinite.any():
        where = [label for label, own in zip(ranked.labels, infinite.T, strict=True) if own.any()]
        rows = first_rows(np.asarray(infinite.any(axis=1)))
        raise TableError(
            f"{frame.where}: ranks are infinite in {rows} ({listed(where)}): leave empty what is missing"
        )
    return ranked


def _refuse_many(frame: Frame, labels: int) -> None:
    if labels > _MOST_LABELS:
        raise TableError(
            f"{frame.where}: the ranking has {labels:,} labels, more than {_MOST_LABELS}: all pairs of them "
            "would be compared; rank fewer, or groups of them"
        )

"""Users, or items: their numerical features scaled to [0, 1] and the levels of their categorical ones.

The name itself is a categorical variable too, unless that is switched off: with it a user has effects of his
own besides those of his features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import TableError, nearest, printable
from symscreen.multistage.chains import refuse_unhashable, shown

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["Coded", "Side", "indexed", "learn_side", "places_among"]

_NONE = "\0missing"  # the level of a categorical feature that a row does not tell


@dataclass(frozen=True, eq=False)
class Coded:
    """Users or items in numbers.

    Parameters
    ----------
    numeric : float64 array, shape (n, p)
        u_i or v_j, in [0, 1].
    levels : int64 array, shape (n, d)
        s_ih or o_jh, from 0; −1 for a level that training did not show.
    """

    numeric: Values
    levels: Whole


@dataclass(frozen=True, eq=False)
class Side:
    """What training told about one side, users or items.

    Parameters
    ----------
    kind : str
        "user" or "item".
    called : str
        The column of names in a table of features, as in the long table.
    names : object array, shape (n,)
        Sorted.
    coded : Coded
        Their features.
    numeric_names : tuple of str, length p
        Numerical features.
    low, width : float64 arrays, shape (p,)
        The least value of each in training, and the range; 1 where all are equal.
    variables : tuple of str, length d
        Categorical variables, the name itself first.
    known : tuple of object arrays, length d
        The levels of each, sorted.
    by_name : bool
        Whether the name is a variable.
    """

    kind: str
    called: str
    names: NDArray[np.object_]
    coded: Coded
    numeric_names: tuple[str, ...]
    low: Values
    width: Values
    variables: tuple[str, ...]
    known: tuple[NDArray[np.object_], ...]
    by_name: bool

    def places(self, asked: NDArray[np.object_]) -> Whole:
        """Find names among those of training; −1 for one that is not."""
        return places_among(self.names, asked)

    def code(self, asked: NDArray[np.object_], features: pd.DataFrame | None) -> Coded:
        """Put names into numbers: those of training by what was learnt, others by their features.

        Parameters
        ----------
        asked : object array, shape (m,)
            All different.
        features : data frame or None
            Of those that training did not show, at least; rows of others are not looked at.

        Returns
        -------
        Coded
            Of the m names.

        Raises
        ------
        TableError
            If one is new and has no features though others had, or differs from one of training by its type
            alone.
        """
        places = self.places(asked)
        new = places < 0
        self._refuse_other_types(asked[new])
        numeric, levels = self.coded.numeric[places], self.coded.levels[places]
        if new.any() and (self.numeric_names or len(self.variables) > self.by_name):
            if features is None:
                raise TableError(
                    f"{self.kind} {shown(asked[new][0])} is not of the fit: give {self.kind}_features for it"
                )
            table = indexed(features, self.kind, self.called)
            for name in (*self.numeric_names, *self.variables[self.by_name :]):
                if name not in table.columns:
                    raise TableError(
                        f"{self.kind}_features has no column {printable(str(name))!r}, as fit had"
                    )
            rows = _rows_for(table, asked[new], self.kind)
            chosen = table.iloc[rows]
            numeric[new] = self.scaled(chosen, rows)
            for h in range(int(self.by_name), len(self.variables)):
                levels[new, h] = places_among(self.known[h], _level_column(chosen[self.variables[h]]))
        if self.by_name:
            levels[new, 0] = -1
        return Coded(numeric, levels)

    def _refuse_other_types(self, new: NDArray[np.object_]) -> None:
        """Refuse new names that are written as one of training, but are of another type: 3 and "3"."""
        if not len(new):
            return
        texts = {str(name): name for name in self.names}
        for name in new:
            known = texts.get(str(name))
            if known is not None:
                raise TableError(
                    f"{self.kind} {shown(name)} is of type {type(name).__name__}, and fit had {shown(known)} "
                    f"of type {type(known).__name__}: give {self.kind}s as the same type"
                )

    def scaled(self, table: pd.DataFrame, rows: Whole) -> Values:
        """Scale numerical features as training was; what lies outside its range is put on the edge."""
        values = _numbers(table, self.numeric_names, self.kind, rows)
        with np.errstate(over="ignore"):  # infinitely far outside is outside
            return np.clip((values - self.low) / self.width, 0.0, 1.0)


def learn_side(
    kind: str,
    column: NDArray[np.object_],
    features: pd.DataFrame | None,
    *,
    called: str,
    by_name: bool,
    ignore_extra: bool,
) -> tuple[Side, Whole]:
    """Learn the users, or items, of a table.

    Parameters
    ----------
    kind : {"user", "item"}
        For messages.
    column : object array, shape (R,)
        The names in the long table.
    features : data frame or None
        One row for each, with a column `called` or the names as its index. Numbers are numerical features;
        what else (texts, categories, truth values) is categorical. The order of columns makes no difference.
    called : str
        The column of names, as in the long table.
    by_name : bool
        Whether the name is a categorical variable.
    ignore_extra : bool
        Whether rows of features may be of names that the long table does not have.

    Returns
    -------
    side : Side
        What was learnt.
    places : int64 array, shape (R,)
        The place of each row's name in it.

    Raises
    ------
    TableError
        If features are missing, repeated, not finite, or of names that the table does not have; names the
        row, counted from 1.
    """
    import pandas as pd

    places, names = pd.factorize(column, sort=True)
    names = np.asarray(names, dtype=object)
    empty = np.empty((len(names), 0))
    numeric_names: tuple[str, ...] = ()
    low = width = np.empty(0)
    variables, known, levels = [], [], []
    if by_name:
        variables.append(kind)
        known.append(names)
        levels.append(np.arange(len(names)))
    if features is not None:
        table = indexed(features, kind, called)
        table = table[sorted(table.columns)]  # the order of columns must not change what is drawn for them
        _refuse_extra(table, names, kind, ignore_extra=ignore_extra)
        rows = _rows_for(table, names, kind, column)
        chosen = table.iloc[rows]
        numeric_names = tuple(name for name in table.columns if _is_number(table[name]))
        values = _numbers(chosen, numeric_names, kind, rows)
        low, width = values.min(axis=0), _ranges(values, numeric_names, kind)
        width = np.where(width > 0, width, 1.0)
        empty = (values - low) / width
        for name in table.columns:
            if name not in numeric_names:
                codes, found = pd.factorize(_level_column(chosen[name]), sort=True)
                variables.append(name)
                known.append(np.asarray(found, dtype=object))
                levels.append(codes)
    if not variables and not numeric_names:
        raise TableError(
            f"nothing tells one {kind} from another: give {kind}_features, or use {kind}_effects"
        )
    stacked = np.stack(levels, axis=1) if levels else np.empty((len(names), 0), dtype=np.int64)
    coded = Coded(empty, stacked.astype(np.int64))
    side = Side(
        kind, called, names, coded, numeric_names, low, width, tuple(variables), tuple(known), by_name
    )
    return side, np.asarray(places, dtype=np.int64)


def indexed(features: Any, kind: str, called: str) -> pd.DataFrame:
    """Index a table of features by names: those of its column `called`, or else its index."""
    import pandas as pd

    if not isinstance(features, pd.DataFrame):
        raise TableError(
            f"{kind}_features is a {type(features).__name__}: give a data frame, one row a {kind}"
        )
    columns = [str(name) for name in features.columns]
    again = next((name for place, name in enumerate(columns) if name in columns[:place]), None)
    if again is not None:
        raise TableError(f"{kind}_features has the column {printable(again)!r} twice: keep one")
    if called in features.columns:
        refuse_unhashable(features[called], called, f" of {kind}_features")
        table = features.set_index(called)
    else:
        _refuse_nameless(features, kind, called)
        table = features
    table = table.set_axis([str(name) for name in table.columns], axis=1)
    twice = table.index.duplicated()
    if twice.any():
        row = int(np.flatnonzero(twice)[0])
        raise TableError(
            f"row {row + 1} of {kind}_features: {kind} {shown(table.index[row])} has a row before it"
        )
    return table


def _refuse_nameless(features: pd.DataFrame, kind: str, called: str) -> None:
    """Refuse features whose index only numbers their rows: to join by it would mix everybody up."""
    import pandas as pd

    index = features.index
    numbered = isinstance(index, pd.RangeIndex) and index.name is None and len(index) > 0
    if numbered or isinstance(index, pd.MultiIndex) or index.name not in {None, called}:
        known = nearest(called, [str(one) for one in features.columns])
        raise TableError(
            f"{kind}_features has no column {printable(called)!r}{known}: name the column of {kind}s as the "
            f"table does, or make it the index"
        )


def _refuse_extra(table: pd.DataFrame, names: NDArray[np.object_], kind: str, *, ignore_extra: bool) -> None:
    unknown = places_among(names, table.index.to_numpy(dtype=object)) < 0
    if unknown.any() and not ignore_extra:
        row = int(np.flatnonzero(unknown)[0])
        raise TableError(
            f"row {row + 1} of {kind}_features: {kind} {shown(table.index[row])} is not in the table; "
            'drop such rows, or set extra_features="ignore"'
        )


def _rows_for(
    table: pd.DataFrame, names: NDArray[np.object_], kind: str, column: NDArray[np.object_] | None = None
) -> Whole:
    places = places_among(table.index.to_numpy(dtype=object), names)
    if (places < 0).any():
        missing = set(names[places < 0])
        first = names[places < 0][0]
        where = ""
        if column is not None:
            row = next(row for row, name in enumerate(column) if name in missing)
            first, where = column[row], f"row {row + 1}: "
        raise TableError(f"{where}{kind} {shown(first)} has no row in {kind}_features: add one")
    return places


def _is_number(column: pd.Series) -> bool:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return bool(is_numeric_dtype(column)) and not is_bool_dtype(column)


def _numbers(table: pd.DataFrame, names: tuple[str, ...], kind: str, rows: Whole) -> Values:
    from pandas.api.types import is_complex_dtype

    if not names:
        return np.empty((len(table), 0))
    columns = [table[name] for name in names]
    for name, column in zip(names, columns, strict=True):
        if not _is_number(column):
            raise TableError(f"{kind}_features: {printable(name)!r} holds no numbers, as it did in fit")
        if is_complex_dtype(column):
            raise TableError(f"{kind}_features: {printable(name)!r} is complex; give real numbers")
    values = np.stack([column.to_numpy(dtype=np.float64, na_value=np.nan) for column in columns], axis=1)
    wrong = ~np.isfinite(values)
    if wrong.any():
        at, places = np.nonzero(wrong)
        first = int(np.argmin(rows[at]))  # rows of the values are sorted by name
        row, place = int(at[first]), int(places[first])
        raise TableError(
            f"row {rows[row] + 1} of {kind}_features: {printable(names[place])!r} of {kind} "
            f"{shown(table.index[row])} is {values[row, place]}; give a finite number"
        )
    return values


def _ranges(values: Values, names: tuple[str, ...], kind: str) -> Values:
    with np.errstate(over="ignore"):
        found = np.ptp(values, axis=0)
    for name, one in zip(names, found, strict=True):
        if not np.isfinite(one):
            raise TableError(
                f"{kind}_features: the range of {printable(name)!r} overflows; divide it by a large number"
            )
    return np.asarray(found, dtype=np.float64)


def _level_column(column: pd.Series) -> NDArray[np.object_]:
    """Write levels as text, so that they can be sorted whatever they are."""
    return np.array(
        [_NONE if missing else str(one) for one, missing in zip(column, column.isna(), strict=True)],
        dtype=object,
    )


def places_among(known: NDArray[np.object_], asked: NDArray[np.object_]) -> Whole:
    """Find values among those known, all different; −1 for one that is not there."""
    import pandas as pd

    return np.asarray(pd.Index(known).get_indexer(pd.Index(asked)), dtype=np.int64)

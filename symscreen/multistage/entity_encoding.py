"""Users, or items: their numerical features scaled to [0, 1] and the levels of their categorical ones.

The name itself is a categorical variable too, unless that is switched off: with it a user has effects of his
own besides those of his features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import DataError, escape_control_chars, suggest
from symscreen.multistage.chains import check_hashable, format_value

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from symscreen._typing import Integers, Values


__all__ = ["EncodedEntities", "EntityEncoder", "find_indices", "fit_entity_encoder", "index_by_name"]

_MISSING_LEVEL = "\0missing"  # the level of a categorical feature that a row does not tell


@dataclass(frozen=True, eq=False)
class EncodedEntities:
    """Users or items in numbers.

    Parameters
    ----------
    numeric : float64 array, shape (n, p)
        u_i or v_j, in [0, 1].
    levels : int64 array, shape (n, d)
        s_ih or o_jh, from 0; −1 for a level that training did not show.
    """

    numeric: Values
    level_codes: Integers


@dataclass(frozen=True, eq=False)
class EntityEncoder:
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
    name_column: str
    names: NDArray[np.object_]
    encoded: EncodedEntities
    numeric_names: tuple[str, ...]
    numeric_min: Values
    numeric_range: Values
    categorical_names: tuple[str, ...]
    known_levels: tuple[NDArray[np.object_], ...]
    has_name_effects: bool

    def find_name_indices(self, queries: NDArray[np.object_]) -> Integers:
        """Find names among those of training; −1 for one that is not."""
        return find_indices(self.names, queries)

    def encode(self, queries: NDArray[np.object_], features: pd.DataFrame | None) -> EncodedEntities:
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
        places = self.find_name_indices(queries)
        new = places < 0
        self._check_name_types(queries[new])
        numeric, levels = self.encoded.numeric[places], self.encoded.level_codes[places]
        if new.any() and (self.numeric_names or len(self.categorical_names) > self.has_name_effects):
            if features is None:
                raise DataError(
                    f"{self.kind} {format_value(queries[new][0])} is not of the fit: give "
                    f"{self.kind}_features for it"
                )
            table = index_by_name(features, self.kind, self.name_column)
            for name in (*self.numeric_names, *self.categorical_names[self.has_name_effects :]):
                if name not in table.columns:
                    raise DataError(
                        f"{self.kind}_features has no column {escape_control_chars(str(name))!r}, as fit had"
                    )
            rows = _find_rows(table, queries[new], self.kind)
            chosen = table.iloc[rows]
            numeric[new] = self.scale(chosen, rows)
            for h in range(int(self.has_name_effects), len(self.categorical_names)):
                levels[new, h] = find_indices(
                    self.known_levels[h], _format_levels(chosen[self.categorical_names[h]])
                )
        if self.has_name_effects:
            levels[new, 0] = -1
        return EncodedEntities(numeric, levels)

    def _check_name_types(self, new_names: NDArray[np.object_]) -> None:
        """Refuse new names that are written as one of training, but are of another type: 3 and "3"."""
        if not len(new_names):
            return
        texts = {str(name): name for name in self.names}
        for name in new_names:
            known = texts.get(str(name))
            if known is not None:
                raise DataError(
                    f"{self.kind} {format_value(name)} is of type {type(name).__name__}, and fit had "
                    f"{format_value(known)} "
                    f"of type {type(known).__name__}: give {self.kind}s as the same type"
                )

    def scale(self, table: pd.DataFrame, rows: Integers) -> Values:
        """Scale numerical features as training was; what lies outside its range is put on the edge."""
        values = _extract_numeric(table, self.numeric_names, self.kind, rows)
        with np.errstate(over="ignore"):  # infinitely far outside is outside
            return np.clip((values - self.numeric_min) / self.numeric_range, 0.0, 1.0)


def fit_entity_encoder(
    kind: str,
    row_names: NDArray[np.object_],
    features: pd.DataFrame | None,
    *,
    name_column: str,
    has_name_effects: bool,
    ignore_extra: bool,
) -> tuple[EntityEncoder, Integers]:
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

    places, names = pd.factorize(row_names, sort=True)
    names = np.asarray(names, dtype=object)
    empty = np.empty((len(names), 0))
    numeric_names: tuple[str, ...] = ()
    low = width = np.empty(0)
    variables, known, levels = [], [], []
    if has_name_effects:
        variables.append(kind)
        known.append(names)
        levels.append(np.arange(len(names)))
    if features is not None:
        table = index_by_name(features, kind, name_column)
        table = table[sorted(table.columns)]  # the order of columns must not change what is drawn for them
        _check_extra_rows(table, names, kind, ignore_extra=ignore_extra)
        rows = _find_rows(table, names, kind, row_names)
        chosen = table.iloc[rows]
        numeric_names = tuple(name for name in table.columns if _is_numeric(table[name]))
        values = _extract_numeric(chosen, numeric_names, kind, rows)
        low, width = values.min(axis=0), _compute_ranges(values, numeric_names, kind)
        width = np.where(width > 0, width, 1.0)
        empty = (values - low) / width
        for name in table.columns:
            if name not in numeric_names:
                codes, found = pd.factorize(_format_levels(chosen[name]), sort=True)
                variables.append(name)
                known.append(np.asarray(found, dtype=object))
                levels.append(codes)
    if not variables and not numeric_names:
        raise DataError(f"nothing tells one {kind} from another: give {kind}_features, or use {kind}_effects")
    stacked = np.stack(levels, axis=1) if levels else np.empty((len(names), 0), dtype=np.int64)
    coded = EncodedEntities(empty, stacked.astype(np.int64))
    side = EntityEncoder(
        kind,
        name_column,
        names,
        coded,
        numeric_names,
        low,
        width,
        tuple(variables),
        tuple(known),
        has_name_effects,
    )
    return side, np.asarray(places, dtype=np.int64)


def index_by_name(features: Any, kind: str, name_column: str) -> pd.DataFrame:
    """Index a table of features by names: those of its column `called`, or else its index."""
    import pandas as pd

    if not isinstance(features, pd.DataFrame):
        raise DataError(
            f"{kind}_features is a {type(features).__name__}: give a data frame, one row a {kind}"
        )
    columns = [str(name) for name in features.columns]
    again = next((name for place, name in enumerate(columns) if name in columns[:place]), None)
    if again is not None:
        raise DataError(f"{kind}_features has the column {escape_control_chars(again)!r} twice: keep one")
    if name_column in features.columns:
        check_hashable(features[name_column], name_column, f" of {kind}_features")
        table = features.set_index(name_column)
    else:
        _check_has_names(features, kind, name_column)
        table = features
    table = table.set_axis([str(name) for name in table.columns], axis=1)
    twice = table.index.duplicated()
    if twice.any():
        row = int(np.flatnonzero(twice)[0])
        raise DataError(
            f"row {row + 1} of {kind}_features: {kind} {format_value(table.index[row])} has a row before it"
        )
    return table


def _check_has_names(features: pd.DataFrame, kind: str, name_column: str) -> None:
    """Refuse features whose index only numbers their rows: to join by it would mix everybody up."""
    import pandas as pd

    index = features.index
    numbered = isinstance(index, pd.RangeIndex) and index.name is None and len(index) > 0
    if numbered or isinstance(index, pd.MultiIndex) or index.name not in {None, name_column}:
        known = suggest(name_column, [str(one) for one in features.columns])
        raise DataError(
            f"{kind}_features has no column {escape_control_chars(name_column)!r}{known}: name the column "
            f"of {kind}s as the "
            f"table does, or make it the index"
        )


def _check_extra_rows(
    table: pd.DataFrame, names: NDArray[np.object_], kind: str, *, ignore_extra: bool
) -> None:
    unknown = find_indices(names, table.index.to_numpy(dtype=object)) < 0
    if unknown.any() and not ignore_extra:
        row = int(np.flatnonzero(unknown)[0])
        raise DataError(
            f"row {row + 1} of {kind}_features: {kind} {format_value(table.index[row])} is not in the table; "
            'drop such rows, or set extra_features="ignore"'
        )


def _find_rows(
    table: pd.DataFrame, names: NDArray[np.object_], kind: str, row_names: NDArray[np.object_] | None = None
) -> Integers:
    places = find_indices(table.index.to_numpy(dtype=object), names)
    if (places < 0).any():
        missing = set(names[places < 0])
        first = names[places < 0][0]
        where = ""
        if row_names is not None:
            row = next(row for row, name in enumerate(row_names) if name in missing)
            first, where = row_names[row], f"row {row + 1}: "
        raise DataError(f"{where}{kind} {format_value(first)} has no row in {kind}_features: add one")
    return places


def _is_numeric(column: pd.Series) -> bool:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return bool(is_numeric_dtype(column)) and not is_bool_dtype(column)


def _extract_numeric(table: pd.DataFrame, names: tuple[str, ...], kind: str, rows: Integers) -> Values:
    from pandas.api.types import is_complex_dtype

    if not names:
        return np.empty((len(table), 0))
    columns = [table[name] for name in names]
    for name, column in zip(names, columns, strict=True):
        if not _is_numeric(column):
            raise DataError(
                f"{kind}_features: {escape_control_chars(name)!r} holds no numbers, as it did in fit"
            )
        if is_complex_dtype(column):
            raise DataError(f"{kind}_features: {escape_control_chars(name)!r} is complex; give real numbers")
    values = np.stack([column.to_numpy(dtype=np.float64, na_value=np.nan) for column in columns], axis=1)
    wrong = ~np.isfinite(values)
    if wrong.any():
        at, places = np.nonzero(wrong)
        first = int(np.argmin(rows[at]))  # rows of the values are sorted by name
        row, place = int(at[first]), int(places[first])
        raise DataError(
            f"row {rows[row] + 1} of {kind}_features: {escape_control_chars(names[place])!r} of {kind} "
            f"{format_value(table.index[row])} is {values[row, place]}; give a finite number"
        )
    return values


def _compute_ranges(values: Values, names: tuple[str, ...], kind: str) -> Values:
    with np.errstate(over="ignore"):
        found = np.ptp(values, axis=0)
    for name, one in zip(names, found, strict=True):
        if not np.isfinite(one):
            raise DataError(
                f"{kind}_features: the range of {escape_control_chars(name)!r} overflows; divide it by a "
                "large number"
            )
    return np.asarray(found, dtype=np.float64)


def _format_levels(column: pd.Series) -> NDArray[np.object_]:
    """Write levels as text, so that they can be sorted whatever they are."""
    return np.array(
        [_MISSING_LEVEL if missing else str(one) for one, missing in zip(column, column.isna(), strict=True)],
        dtype=object,
    )


def find_indices(known: NDArray[np.object_], queries: NDArray[np.object_]) -> Integers:
    """Find values among those known, all different; −1 for one that is not there."""
    import pandas as pd

    return np.asarray(pd.Index(known).get_indexer(pd.Index(queries)), dtype=np.int64)

"""Encode users or items: numerical features scaled to [0, 1], and levels of categorical variables.

By default the name is also a categorical variable. A user then has individual effects in addition to the
effects of the features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from symscreen.errors import DataError
from symscreen.messages import escape_control_chars, suggest
from symscreen.multistage.chains import check_hashable, format_value

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from symscreen._typing import Integers, Values


_MISSING_LEVEL = "\0missing"  # level of a missing categorical value


@dataclass(frozen=True, eq=False)
class EncodedEntities:
    """Encoded features of n users or items.

    Parameters
    ----------
    numeric : float64 array, shape (n, p)
        Numerical features u_i or v_j, in [0, 1].
    level_codes : int64 array, shape (n, d)
        Levels s_ih or o_jh of the categorical variables, from 0; −1 for a level unseen in training.
    """

    numeric: Values
    level_codes: Integers


class EncodedColumn(NamedTuple):
    """A column of R names: m distinct entities; the entity of each row, and its index in training or −1."""

    entities: EncodedEntities
    codes: Integers
    training_indices: Integers


@dataclass(frozen=True, eq=False)
class EntityEncoder:
    """Encoder of users or items, fitted to the training rows.

    Parameters
    ----------
    kind : str
        "user" or "item".
    name_column : str
        Column of names in a table of features, and in the long table.
    names : object array, shape (n,)
        Sorted names of training.
    encoded : EncodedEntities
        Their encoded features.
    numeric_names : tuple of str, length p
        Numerical features.
    numeric_min, numeric_range : float64 arrays, shape (p,)
        Minimum and range of each numerical feature in training. The range of a constant feature is set to 1.
    categorical_names : tuple of str, length d
        Categorical variables; the name itself is the first if `has_name_effects`.
    known_levels : tuple of object arrays, length d
        Sorted levels of each categorical variable.
    has_name_effects : bool
        Whether the name is a categorical variable.
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
        """Find the indices of names among those of training; −1 for new names."""
        return find_indices(self.names, queries)

    def encode(self, queries: NDArray[np.object_], features: pd.DataFrame | None) -> EncodedEntities:
        """Encode names: those of training by their stored features, new ones by a table of features.

        Parameters
        ----------
        queries : object array, shape (m,)
            Distinct names.
        features : data frame or None
            Features of the new names. Rows of other names are ignored.

        Returns
        -------
        EncodedEntities
            Encoded features of the m names.

        Raises
        ------
        DataError
            If a new name has no features although the fit had features, or differs from a name of training
            only by its type.
        """
        indices = self.find_name_indices(queries)
        is_new = indices < 0
        self._check_name_types(queries[is_new])
        numeric, level_codes = self.encoded.numeric[indices], self.encoded.level_codes[indices]
        if is_new.any() and (self.numeric_names or len(self.categorical_names) > self.has_name_effects):
            if features is None:
                raise DataError(
                    f"{self.kind} {format_value(queries[is_new][0])} is not in the training table: give "
                    f"{self.kind}_features for it"
                )
            table = index_by_name(features, self.kind, self.name_column)
            for name in (*self.numeric_names, *self.categorical_names[self.has_name_effects :]):
                if name not in table.columns:
                    raise DataError(
                        f"{self.kind}_features has no column {escape_control_chars(str(name))!r}, which fit "
                        "used"
                    )
            rows = _find_rows(table, queries[is_new], self.kind)
            chosen = table.iloc[rows]
            numeric[is_new] = self.scale(chosen, rows)
            for h in range(int(self.has_name_effects), len(self.categorical_names)):
                level_codes[is_new, h] = find_indices(
                    self.known_levels[h], _format_levels(chosen[self.categorical_names[h]])
                )
        if self.has_name_effects:
            level_codes[is_new, 0] = -1
        return EncodedEntities(numeric, level_codes)

    def encode_column(self, row_names: NDArray[np.object_], features: pd.DataFrame | None) -> EncodedColumn:
        """Encode the m distinct names of a column of R names; see `encode`."""
        import pandas as pd

        codes, distinct = pd.factorize(row_names)
        names = np.asarray(distinct, dtype=object)
        return EncodedColumn(self.encode(names, features), codes, self.find_name_indices(names)[codes])

    def _check_name_types(self, new_names: NDArray[np.object_]) -> None:
        """Raise DataError for a new name that equals one of training as text but not in type: 3 and "3"."""
        if not len(new_names):
            return
        names_by_text = {str(name): name for name in self.names}
        for name in new_names:
            known = names_by_text.get(str(name))
            if known is not None:
                raise DataError(
                    f"{self.kind} {format_value(name)} is of type {type(name).__name__}, and fit had "
                    f"{format_value(known)} of type {type(known).__name__}: "
                    f"give {self.kind}s as the same type"
                )

    def scale(self, table: pd.DataFrame, rows: Integers) -> Values:
        """Scale numerical features (m, p) by their range in training and clip them to [0, 1]."""
        values = _extract_numeric(table, self.numeric_names, self.kind, rows)
        with np.errstate(over="ignore"):  # infinite values are clipped
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
    """Fit an encoder to the users or items of a table.

    Parameters
    ----------
    kind : {"user", "item"}
        Name of the side, for messages.
    row_names : object array, shape (R,)
        Name in each row of the long table.
    features : data frame or None
        One row per name. The names are in the column `name_column` or in the index. Numeric columns are
        numerical features; all others (text, categories, booleans) are categorical. The order of the columns
        does not matter.
    name_column : str
        Column of names, as in the long table.
    has_name_effects : bool
        Whether the name is a categorical variable.
    ignore_extra : bool
        Whether to ignore features of names that are not in the long table.

    Returns
    -------
    encoder : EntityEncoder
        The fitted encoder.
    indices : int64 array, shape (R,)
        Index of the name of each row in `encoder.names`.

    Raises
    ------
    DataError
        If features are missing, repeated, not finite, or of names that are not in the table. The message
        names the row, counted from 1.
    """
    import pandas as pd

    indices, names = pd.factorize(row_names, sort=True)
    names = np.asarray(names, dtype=object)
    numeric = np.empty((len(names), 0))
    numeric_names: tuple[str, ...] = ()
    numeric_min = numeric_range = np.empty(0)
    categorical_names, known_levels, level_codes = [], [], []
    if has_name_effects:
        categorical_names.append(kind)
        known_levels.append(names)
        level_codes.append(np.arange(len(names)))
    if features is not None:
        table = index_by_name(features, kind, name_column)
        table = table[sorted(table.columns)]  # the random initial factors must not depend on the order
        _check_extra_rows(table, names, kind, ignore_extra=ignore_extra)
        rows = _find_rows(table, names, kind, row_names)
        chosen = table.iloc[rows]
        numeric_names = tuple(name for name in table.columns if _is_numeric(table[name]))
        values = _extract_numeric(chosen, numeric_names, kind, rows)
        numeric_min, numeric_range = values.min(axis=0), _compute_ranges(values, numeric_names, kind)
        numeric_range = np.where(numeric_range > 0, numeric_range, 1.0)
        numeric = (values - numeric_min) / numeric_range
        for name in table.columns:
            if name not in numeric_names:
                codes, distinct = pd.factorize(_format_levels(chosen[name]), sort=True)
                categorical_names.append(name)
                known_levels.append(np.asarray(distinct, dtype=object))
                level_codes.append(codes)
    if not categorical_names and not numeric_names:
        raise DataError(
            f"{kind}s have no features and no effects: give {kind}_features, or set {kind}_effects"
        )
    stacked = np.stack(level_codes, axis=1) if level_codes else np.empty((len(names), 0), dtype=np.int64)
    encoded = EncodedEntities(numeric, stacked.astype(np.int64))
    encoder = EntityEncoder(
        kind,
        name_column,
        names,
        encoded,
        numeric_names,
        numeric_min,
        numeric_range,
        tuple(categorical_names),
        tuple(known_levels),
        has_name_effects,
    )
    return encoder, np.asarray(indices, dtype=np.int64)


def index_by_name(features: Any, kind: str, name_column: str) -> pd.DataFrame:
    """Index a table of features by its column `name_column`, or check the names in its index.

    Raises
    ------
    DataError
        If `features` is not a data frame, has a column twice, lacks the names, or has a name twice.
    """
    import pandas as pd

    if not isinstance(features, pd.DataFrame):
        raise DataError(
            f"{kind}_features is a {type(features).__name__}: give a data frame with one row per {kind}"
        )
    columns = [str(name) for name in features.columns]
    duplicate = next((name for i, name in enumerate(columns) if name in columns[:i]), None)
    if duplicate is not None:
        raise DataError(f"{kind}_features has the column {escape_control_chars(duplicate)!r} twice: keep one")
    if name_column in features.columns:
        check_hashable(features[name_column], name_column, f" of {kind}_features")
        table = features.set_index(name_column)
    else:
        _check_has_names(features, kind, name_column)
        table = features
    table = table.set_axis([str(name) for name in table.columns], axis=1)
    is_duplicate = table.index.duplicated()
    if is_duplicate.any():
        row = int(np.flatnonzero(is_duplicate)[0])
        raise DataError(
            f"row {row + 1} of {kind}_features: {kind} {format_value(table.index[row])} has an earlier row"
        )
    return table


def _check_has_names(features: pd.DataFrame, kind: str, name_column: str) -> None:
    """Raise DataError if the index only numbers the rows: joining by it would mix up the names."""
    import pandas as pd

    index = features.index
    is_row_number = isinstance(index, pd.RangeIndex) and index.name is None and len(index) > 0
    if is_row_number or isinstance(index, pd.MultiIndex) or index.name not in {None, name_column}:
        known = suggest(name_column, [str(column) for column in features.columns])
        raise DataError(
            f"{kind}_features has no column {escape_control_chars(name_column)!r}{known}: name the column "
            f"of {kind}s as in the table, or make it the index"
        )


def _check_extra_rows(
    table: pd.DataFrame, names: NDArray[np.object_], kind: str, *, ignore_extra: bool
) -> None:
    """Raise DataError for features of names that are not in the table, unless they are ignored."""
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
    """Find the row of each name in a table of features, (n,); raise DataError if one is absent."""
    rows = find_indices(table.index.to_numpy(dtype=object), names)
    if (rows < 0).any():
        missing = set(names[rows < 0])
        first = names[rows < 0][0]
        location = ""
        if row_names is not None:
            row = next(row for row, name in enumerate(row_names) if name in missing)
            first, location = row_names[row], f"row {row + 1}: "
        raise DataError(f"{location}{kind} {format_value(first)} has no row in {kind}_features: add one")
    return rows


def _is_numeric(column: pd.Series) -> bool:
    """Return whether a column is numeric and not boolean."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return bool(is_numeric_dtype(column)) and not is_bool_dtype(column)


def _extract_numeric(table: pd.DataFrame, names: tuple[str, ...], kind: str, rows: Integers) -> Values:
    """Extract p finite numerical features, (m, p); `rows` (m,) are the rows that messages name."""
    from pandas.api.types import is_complex_dtype

    if not names:
        return np.empty((len(table), 0))
    columns = [table[name] for name in names]
    for name, column in zip(names, columns, strict=True):
        if not _is_numeric(column):
            raise DataError(
                f"{kind}_features: {escape_control_chars(name)!r} is not numeric, but it was in fit"
            )
        if is_complex_dtype(column):
            raise DataError(f"{kind}_features: {escape_control_chars(name)!r} is complex; give real numbers")
    values = np.stack([column.to_numpy(dtype=np.float64, na_value=np.nan) for column in columns], axis=1)
    invalid = ~np.isfinite(values)
    if invalid.any():
        bad_rows, bad_columns = np.nonzero(invalid)
        first_bad = int(np.argmin(rows[bad_rows]))  # the values are sorted by name, not by row
        i, j = int(bad_rows[first_bad]), int(bad_columns[first_bad])
        raise DataError(
            f"row {rows[i] + 1} of {kind}_features: {escape_control_chars(names[j])!r} of {kind} "
            f"{format_value(table.index[i])} is {values[i, j]}; give a finite number"
        )
    return values


def _compute_ranges(values: Values, names: tuple[str, ...], kind: str) -> Values:
    """Compute the range of each column of values (n, p); raise DataError if one overflows."""
    with np.errstate(over="ignore"):
        ranges = np.ptp(values, axis=0)
    for name, value_range in zip(names, ranges, strict=True):
        if not np.isfinite(value_range):
            raise DataError(
                f"{kind}_features: the range of {escape_control_chars(name)!r} overflows; divide it by a "
                "large number"
            )
    return np.asarray(ranges, dtype=np.float64)


def _format_levels(column: pd.Series) -> NDArray[np.object_]:
    """Convert levels to text, so that levels of mixed types can be sorted."""
    return np.array(
        [
            _MISSING_LEVEL if missing else str(level)
            for level, missing in zip(column, column.isna(), strict=True)
        ],
        dtype=object,
    )


def find_indices(known: NDArray[np.object_], queries: NDArray[np.object_]) -> Integers:
    """Find the index of each query among distinct known values; −1 if absent."""
    import pandas as pd

    return np.asarray(pd.Index(known).get_indexer(pd.Index(queries)), dtype=np.int64)

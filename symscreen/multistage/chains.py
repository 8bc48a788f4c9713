"""A long table of users, items and the stages they reached, checked: Y_t = −1 ⇒ Y_{t+1} = −1."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import DataError, OptionError, escape_control_chars, suggest
from symscreen.targets.stages import check_stage_names, find_first_violation, find_stage_index

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from symscreen._typing import Outcomes


__all__ = [
    "Chains",
    "check_hashable",
    "check_stage_names",
    "find_stage_index",
    "format_value",
    "read_chains",
    "read_known_outcomes",
    "read_name_column",
    "read_stage_columns",
]


@dataclass(frozen=True, eq=False)
class Chains:
    """Which user met which item, and how far each meeting went.

    Parameters
    ----------
    users, items : object arrays, shape (R,)
        Names, one a row of the table.
    outcomes : int8 array, shape (R, T + 1)
        Y: +1 reached, −1 not reached, 0 not observed. What a chain implies of what is missing is not filled
        in: knowing only that later stages were not reached would tilt what is learnt of them.
    stages : tuple of str, length T + 1
        Their names, the first one first.
    """

    users: NDArray[np.object_]
    items: NDArray[np.object_]
    outcomes: Outcomes
    stages: tuple[str, ...]

    def select_rows(self, selection: NDArray[Any]) -> Chains:
        """Take some rows, by their numbers or by a mask."""
        return Chains(self.users[selection], self.items[selection], self.outcomes[selection], self.stages)


def read_chains(
    table: pd.DataFrame,
    *,
    stages: Sequence[str],
    user: str = "user",
    item: str = "item",
    reached: str | None = None,
) -> Chains:
    """Read a long table: one row for each meeting of a user with an item.

    Parameters
    ----------
    table : data frame
        With columns of users and items, and either one column a stage (1, True for reached; 0, −1, False for
        not reached; missing for not observed) or one column that names the last stage reached.
    stages : sequence of str
        The stages in their order, two at least.
    user, item : str
        Columns.
    reached : str, optional
        The column with the last stage reached: a stage's name or its number from 0, −1 for none, missing
        where nothing was observed. Without it there is one column for each stage.

    Returns
    -------
    Chains
        Rows as in the table.

    Raises
    ------
    TableError
        If a column is missing, a value has no meaning, or a chain breaks its rule; names the first such row,
        counted from 1.
    OptionError
        If stages are fewer than two, or repeated, or one column is given two meanings.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"user": ["ann", "bob"], "item": ["x", "x"], "last": ["liked", "viewed"]})
    >>> read_chains(table, stages=["viewed", "liked", "followed"], reached="last").outcomes.tolist()
    [[1, 1, -1], [1, -1, -1]]
    """
    if not isinstance(stages, Iterable):
        raise OptionError(f"stages are {stages!r}: give the names of two at least, the first one first")
    names = check_stage_names(stages)
    _check_distinct_columns({"user": user, "item": item, "reached": reached}, names)
    taken = [_get_column(table, column) for column in ([reached] if reached is not None else names)]
    users, items = (read_name_column(table, column) for column in (user, item))
    if not len(users):
        raise DataError("the table has no rows: nothing can be learnt from it")
    if reached is not None:
        outcomes = _parse_last_stage_column(taken[0], reached, names)
    else:
        outcomes = np.stack([_parse_stage_column(*one) for one in zip(taken, names, strict=True)], axis=1)
        _check_chain(outcomes, names, users, items)
    return Chains(users, items, outcomes, names)


def read_stage_columns(columns: pd.DataFrame) -> Outcomes:
    """Read columns of stages, in the order of their columns, and check the chain.

    Parameters
    ----------
    columns : data frame, shape (R, T + 1)
        As the columns of stages in `read_chains`.

    Returns
    -------
    int8 array, shape (R, T + 1)
        Y; 0 where missing.

    Raises
    ------
    TableError
        As `read_chains` does.

    Examples
    --------
    >>> import pandas as pd
    >>> read_stage_columns(pd.DataFrame({"viewed": [1, 1], "liked": [1, None]})).tolist()
    [[1, 1], [1, 0]]
    """
    names = check_stage_names([str(name) for name in columns.columns])
    outcomes = np.stack(
        [_parse_stage_column(columns.iloc[:, t], name) for t, name in enumerate(names)], axis=1
    )
    _check_chain(outcomes, names)
    return outcomes


def read_known_outcomes(table: pd.DataFrame, stages: tuple[str, ...], reached: str | None) -> Outcomes:
    """Read as much as a table tells of stages, or implies; 0 for what it does not.

    Parameters
    ----------
    table : data frame
        That may have columns of stages, or one of the last stage reached.
    stages : tuple of str
        Their names.
    reached : str or None
        The column with the last stage reached.

    Returns
    -------
    int8 array, shape (R, T + 1)
        Y; −1 wherever a stage before was not reached.

    Raises
    ------
    TableError
        If a value has no meaning or a chain breaks its rule; names the first such row, counted from 1.
    """
    if reached is not None and reached in table.columns:
        return _parse_last_stage_column(_get_column(table, reached), reached, stages)
    found = np.zeros((len(table), len(stages)), dtype=np.int8)
    for t, name in enumerate(stages):
        if reached is None and name in table.columns:
            found[:, t] = _parse_stage_column(_get_column(table, name), name)
    _check_chain(found, stages)
    found[np.logical_or.accumulate(found == -1, axis=1)] = -1
    return found


def check_hashable(column: pd.Series, name: str, context: str = "") -> None:
    """Refuse cells that hold lists and the like, which name nothing."""
    if column.dtype != object:
        return
    for row, value in enumerate(column):
        try:
            hash(value)
        except TypeError:
            raise DataError(
                f"row {row + 1}{context}: {escape_control_chars(str(name))!r} is {format_value(value)}; "
                "give a text or a number"
            ) from None


def read_name_column(table: pd.DataFrame, name: str) -> NDArray[np.object_]:
    """Take the names of users or items; refuse a column that is not there, and a row that names nobody."""
    from pandas.api.types import is_complex_dtype

    column = _get_column(table, name)
    if is_complex_dtype(column) or any(isinstance(one, complex) for one in column.unique()):
        raise DataError(
            f"{escape_control_chars(str(name))!r} holds complex numbers, which name nobody: give texts"
        )
    missing = column.isna().to_numpy()
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise DataError(f"row {row + 1}: {escape_control_chars(name)!r} is missing; name it or drop the row")
    return np.asarray(column.to_numpy(dtype=object))


def _get_column(table: pd.DataFrame, name: str) -> pd.Series:
    """Take a column that is there, once, and whose cells can be compared."""
    _check_data_frame(table)
    if not isinstance(name, Hashable):
        raise OptionError(f"{format_value(name)} names no column: give a text")
    times = int((table.columns == name).sum())
    if not times:
        known = suggest(str(name), [str(one) for one in table.columns])
        raise DataError(f"the table has no column {escape_control_chars(str(name))!r}{known}")
    if times > 1:
        raise DataError(
            f"the table has the column {escape_control_chars(str(name))!r} {times} times: keep one"
        )
    column = table[name]
    check_hashable(column, name)
    return column


def _check_distinct_columns(columns: dict[str, Any], stages: tuple[str, ...]) -> None:
    """Refuse one column for two things, such as users and items."""
    taken: dict[Hashable, str] = {} if columns["reached"] is not None else dict.fromkeys(stages, "a stage")
    for meaning, name in columns.items():
        if name is None or not isinstance(name, Hashable):
            continue
        if name in taken:
            raise OptionError(f"{meaning} is {format_value(name)}, and so is {taken[name]}: give two columns")
        taken[name] = meaning


def _check_data_frame(table: Any) -> None:
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        raise DataError(f"the table is a {type(table).__name__}: a data frame is needed")


def _parse_stage_column(column: pd.Series, name: str) -> Outcomes:
    import pandas as pd

    codes, values = pd.factorize(column)
    meanings = np.zeros(len(values) + 1, dtype=np.int8)  # the last, which −1 finds, is what is missing
    for place, value in enumerate(values):
        meaning = _parse_outcome(value)
        if meaning is None:
            row = int(np.flatnonzero(codes == place)[0])
            raise DataError(
                f"row {row + 1}: {escape_control_chars(name)!r} is {format_value(value)}; "
                "give 1 for reached, 0 for not reached, or nothing for not observed"
            )
        meanings[place] = meaning
    return meanings[codes]


def _parse_outcome(value: Any) -> int | None:
    if not isinstance(value, int | float | np.number | np.bool_):
        return None
    return 1 if value == 1 else -1 if value in {0, -1} else None


def _parse_last_stage_column(column: pd.Series, name: str, stages: tuple[str, ...]) -> Outcomes:
    import pandas as pd

    codes, values = pd.factorize(column)
    meanings = np.zeros((len(values) + 1, len(stages)), dtype=np.int8)
    for place, value in enumerate(values):
        at = _parse_last_stage(value, stages)
        if at is None:
            row = int(np.flatnonzero(codes == place)[0])
            known = suggest(str(value), stages)
            raise DataError(
                f"row {row + 1}: {escape_control_chars(name)!r} is {format_value(value)}, which is no "
                f"stage{known}"
            )
        meanings[place] = np.where(np.arange(len(stages)) <= at, 1, -1)
    return meanings[codes]


def _parse_last_stage(value: Any, stages: tuple[str, ...]) -> int | None:
    if isinstance(value, str):
        return stages.index(value) if value in stages else None
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return None
    return int(value) if float(value).is_integer() and -1 <= value < len(stages) else None


def _check_chain(outcomes: Outcomes, stages: tuple[str, ...], users: Any = None, items: Any = None) -> None:
    broken = find_first_violation(outcomes)
    if broken is None:
        return
    row, earlier, later = broken
    who = "" if users is None else f" (user {format_value(users[row])}, item {format_value(items[row])})"
    raise DataError(
        f"row {row + 1}{who}: {escape_control_chars(stages[later])!r} is reached but "
        f"{escape_control_chars(stages[earlier])!r} is "
        "not; each stage needs those before it: mend the row, or leave out what was not observed"
    )


def format_value(value: Any) -> str:
    """Write a value for a message, on one line and not too long."""
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return escape_control_chars(text if len(text) <= 40 else text[:39] + "…")

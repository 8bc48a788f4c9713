"""Read and check long tables of users, items and the stages they reached: Y_t = −1 ⇒ Y_{t+1} = −1."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import DataError, OptionError
from symscreen.messages import escape_control_chars, suggest
from symscreen.targets.stages import check_stage_names, find_first_violation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from symscreen._typing import Outcomes


@dataclass(frozen=True, eq=False)
class Chains:
    """Users, items and observed outcomes of a long table with R rows.

    Parameters
    ----------
    users, items : object arrays, shape (R,)
        Names of the user and the item of each row.
    outcomes : int8 array, shape (R, T + 1)
        Outcomes Y: +1 reached, −1 not reached, 0 not observed. Missing outcomes that the chain implies are
        not filled in: only negative outcomes can be implied for later stages, which would bias the fit.
    stages : tuple of str, length T + 1
        Names of the stages in order.
    """

    users: NDArray[np.object_]
    items: NDArray[np.object_]
    outcomes: Outcomes
    stages: tuple[str, ...]


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
        Columns of users and items, and either one column per stage (1 or True: reached; 0, −1 or False: not
        reached; missing: not observed) or one column with the last stage reached.
    stages : sequence of str
        Names of the stages in order, at least two.
    user, item : str
        Columns of users and items.
    reached : str, optional
        Column with the last stage reached: the name of a stage, its index from 0, −1 for none, or missing if
        nothing was observed. Default: one column per stage.

    Returns
    -------
    Chains
        Rows in the order of the table.

    Raises
    ------
    DataError
        If a column is missing, a value is invalid or a row reaches a stage without an earlier one. The
        message names the first such row, counted from 1.
    OptionError
        If there are fewer than two stages, a stage is repeated, or a column is given twice.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"user": ["ann", "bob"], "item": ["x", "x"], "last": ["liked", "viewed"]})
    >>> read_chains(table, stages=["viewed", "liked", "followed"], reached="last").outcomes.tolist()
    [[1, 1, -1], [1, -1, -1]]
    """
    if not isinstance(stages, Iterable):
        raise OptionError(f"stages are {stages!r}: give the names of at least two stages, in order")
    names = check_stage_names(stages)
    _check_distinct_columns({"user": user, "item": item, "reached": reached}, names)
    columns = [_get_column(table, name) for name in ([reached] if reached is not None else names)]
    users, items = (read_name_column(table, name) for name in (user, item))
    if not len(users):
        raise DataError("the table has no rows")
    if reached is not None:
        outcomes = _parse_last_stage_column(columns[0], reached, names)
    else:
        outcomes = np.stack(
            [_parse_stage_column(column, name) for column, name in zip(columns, names, strict=True)], axis=1
        )
        _check_chain(outcomes, names, users, items)
    return Chains(users, items, outcomes, names)


def read_stage_columns(columns: pd.DataFrame) -> Outcomes:
    """Read one column per stage, in the order of the columns, and check the chain.

    Parameters
    ----------
    columns : data frame, shape (R, T + 1)
        Columns of stages; see `read_chains`.

    Returns
    -------
    int8 array, shape (R, T + 1)
        Outcomes Y; 0 where missing.

    Raises
    ------
    DataError
        See `read_chains`.

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
    """Read the outcomes that a table states or implies.

    Parameters
    ----------
    table : data frame
        Table that may have columns of stages, or the column `reached`, R rows.
    stages : tuple of str
        Names of the stages in order.
    reached : str or None
        Column with the last stage reached.

    Returns
    -------
    int8 array, shape (R, T + 1)
        Outcomes Y: −1 also at all stages after one that was not reached, 0 if unknown.

    Raises
    ------
    DataError
        If a value is invalid or a row reaches a stage without an earlier one. The message names the first
        such row, counted from 1.
    """
    if reached is not None and reached in table.columns:
        return _parse_last_stage_column(_get_column(table, reached), reached, stages)
    outcomes = np.zeros((len(table), len(stages)), dtype=np.int8)
    for t, name in enumerate(stages):
        if reached is None and name in table.columns:
            outcomes[:, t] = _parse_stage_column(_get_column(table, name), name)
    _check_chain(outcomes, stages)
    outcomes[np.logical_or.accumulate(outcomes == -1, axis=1)] = -1
    return outcomes


def check_hashable(column: pd.Series, name: str, context: str = "") -> None:
    """Check that all cells hold hashable values; a list, for example, is not hashable.

    Raises
    ------
    DataError
        For the first cell with another value.
    """
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
    """Return a column of names.

    Raises
    ------
    DataError
        If the column is absent, or a name is missing or a complex number.
    """
    from pandas.api.types import is_complex_dtype

    column = _get_column(table, name)
    if is_complex_dtype(column) or any(isinstance(value, complex) for value in column.unique()):
        raise DataError(
            f"{escape_control_chars(str(name))!r} holds complex numbers, which are not valid names: give text"
        )
    missing = column.isna().to_numpy()
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise DataError(f"row {row + 1}: {escape_control_chars(name)!r} is missing; name it or drop the row")
    return np.asarray(column.to_numpy(dtype=object))


def _get_column(table: pd.DataFrame, name: str) -> pd.Series:
    """Return the only column with a name; its cells must be hashable."""
    _check_data_frame(table)
    if not isinstance(name, Hashable):
        raise OptionError(f"{format_value(name)} is not a column name: give text")
    n_columns = int((table.columns == name).sum())
    if not n_columns:
        known = suggest(str(name), [str(column) for column in table.columns])
        raise DataError(f"the table has no column {escape_control_chars(str(name))!r}{known}")
    if n_columns > 1:
        raise DataError(
            f"the table has the column {escape_control_chars(str(name))!r} {n_columns} times: keep one"
        )
    column = table[name]
    check_hashable(column, name)
    return column


def _check_distinct_columns(columns: dict[str, Any], stages: tuple[str, ...]) -> None:
    """Raise OptionError if one column is given for two roles, such as users and items."""
    roles: dict[Hashable, str] = {} if columns["reached"] is not None else dict.fromkeys(stages, "a stage")
    for role, name in columns.items():
        if name is None or not isinstance(name, Hashable):
            continue
        if name in roles:
            raise OptionError(f"{role} is {format_value(name)}, and so is {roles[name]}: give two columns")
        roles[name] = role


def _check_data_frame(table: Any) -> None:
    """Raise DataError unless the table is a data frame."""
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        raise DataError(f"the table is a {type(table).__name__}: give a data frame")


def _parse_stage_column(column: pd.Series, name: str) -> Outcomes:
    """Parse a column of one stage to outcomes (R,): 1, −1, and 0 where missing."""
    hint = "; give 1 for reached, 0 for not reached, or leave it empty if not observed"
    outcomes, codes = _parse_values(column, name, _parse_outcome, lambda value: hint)  # noqa: ARG005
    return np.asarray(outcomes, dtype=np.int8)[codes]


def _parse_last_stage_column(column: pd.Series, name: str, stages: tuple[str, ...]) -> Outcomes:
    """Parse a column of last stages to outcomes (R, T + 1)."""
    last_stages, codes = _parse_values(
        column,
        name,
        lambda value: _parse_last_stage(value, stages),
        lambda value: f", which is not a stage{suggest(str(value), stages)}",
    )
    outcomes = np.where(np.arange(len(stages)) <= np.array(last_stages)[:, None], 1, -1)
    outcomes[-1] = 0
    return outcomes.astype(np.int8)[codes]


def _parse_values(
    column: pd.Series, name: str, parse: Callable[[Any], int | None], explain: Callable[[Any], str]
) -> tuple[list[int], NDArray[np.int64]]:
    """Parse the distinct values of a column; return them, with 0 for a missing one as the last, and codes."""
    import pandas as pd

    codes, values = pd.factorize(column)  # missing values have the code −1, the last entry
    parsed = []
    for code, value in enumerate(values):
        number = parse(value)
        if number is None:
            row = int(np.flatnonzero(codes == code)[0])
            cell = f"{escape_control_chars(name)!r} is {format_value(value)}"
            raise DataError(f"row {row + 1}: {cell}{explain(value)}")
        parsed.append(number)
    return [*parsed, 0], codes


def _parse_outcome(value: Any) -> int | None:
    """Parse one cell to 1 or −1; None if it is invalid."""
    if not isinstance(value, int | float | np.number | np.bool_):
        return None
    return 1 if value == 1 else -1 if value in {0, -1} else None


def _parse_last_stage(value: Any, stages: tuple[str, ...]) -> int | None:
    """Parse one cell to the index of the last stage, −1 for none; None if it is invalid."""
    if isinstance(value, str):
        return stages.index(value) if value in stages else None
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return None
    return int(value) if float(value).is_integer() and -1 <= value < len(stages) else None


def _check_chain(outcomes: Outcomes, stages: tuple[str, ...], users: Any = None, items: Any = None) -> None:
    """Raise DataError for the first row that reaches a stage without an earlier one."""
    violation = find_first_violation(outcomes)
    if violation is None:
        return
    row, earlier, later = violation
    entity = "" if users is None else f" (user {format_value(users[row])}, item {format_value(items[row])})"
    raise DataError(
        f"row {row + 1}{entity}: {escape_control_chars(stages[later])!r} is reached but "
        f"{escape_control_chars(stages[earlier])!r} is not; each stage requires the earlier ones: "
        "correct the row, or leave stages empty that were not observed"
    )


def format_value(value: Any) -> str:
    """Format a value for a message: one line of at most 40 characters."""
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return escape_control_chars(text if len(text) <= 40 else text[:39] + "…")

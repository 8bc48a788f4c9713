"""The target of an estimator, of any type, as columns that the options of a screen name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_array, column_or_1d

from symscreen._option_values import split_column_names
from symscreen.errors import DataError, OptionError
from symscreen.estimators.base import check_unique_columns, make_unique_name
from symscreen.messages import suggest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Names


def build_target_columns(
    y: Any,
    taken_names: Collection[str],
    *,
    event: str | None = None,
    ranking: Names | None = None,
    stages: Names | None = None,
    target_type: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Name the columns of a target, and return the options by which a screen reads them.

    Parameters
    ----------
    y : array or data frame of shape (n,) or (n, k), or structured array of shape (n,)
        Numbers or classes; k targets; a structured array with a field of booleans (whether the event
        happened) and one of numbers (when), as in scikit-survival.
    taken_names : collection of str
        The names of inputs, which no column of the target gets.
    event : str, optional
        The field or column of y that says whether the event happened; the other one holds the times.
    ranking : str or sequence of str, optional
        The name of a column of texts such as ``a>b=c``; or the names of two or more labels whose ranks are
        the columns of y.
    stages : str or sequence of str, optional
        The names of the columns of a chain of stages, the first stage first.
    target_type : str, optional
        The type that the user gave: with ``"several"`` two columns are always two targets.

    Returns
    -------
    columns : dict of str to array, each of shape (n,)
    options : dict of str to object
        ``target``, ``event``, ``ranking`` or ``stages`` of `symscreen.screen`.

    Raises
    ------
    ValueError
        By scikit-learn, if y is not finite or has more than two dimensions.
    OptionError
        If two target types are given.
    DataError
        If y lacks a column that is named, or shares a name with an input.

    Examples
    --------
    >>> y = np.array([(True, 3.5), (False, 5.0)], dtype=[("died", bool), ("days", float)])
    >>> columns, options = build_target_columns(y, ["x1"])
    >>> options, columns["days"].tolist()
    ({'target': 'days', 'event': 'died'}, [3.5, 5.0])
    """
    named = {"event": event, "ranking": ranking, "stages": stages}
    asked = [name for name, value in named.items() if value is not None]
    if len(asked) > 1:
        raise OptionError(f"both {asked[0]} and {asked[1]} are given: the target is one of them, not both")
    fields = _get_fields(y)
    if stages is not None:
        names = list(split_column_names(stages, "stages"))
        return _check_free_names(_select_columns(y, fields, names, "stages"), taken_names), {"stages": names}
    if ranking is not None:
        names = [ranking] if isinstance(ranking, str) else [str(name) for name in ranking]
        columns = _check_free_names(_select_columns(y, fields, names, "ranking"), taken_names)
        return columns, {"ranking": ranking if isinstance(ranking, str) else names}
    if event is not None or getattr(getattr(y, "dtype", None), "names", None):
        return _build_survival_columns(fields, event, taken_names)
    if target_type is None:
        _check_not_survival(
            fields, "give event={event!r} or a structured array; for two targets say target_type='several'"
        )
    return _build_plain_columns(y, fields, taken_names)


def build_numeric_targets(y: Any, taken_names: Collection[str]) -> dict[str, NDArray[np.float64]]:
    """Name the columns of a numeric target, one or several.

    Parameters
    ----------
    y : array or data frame of shape (n,) or (n, K)
        A series or a frame names them; otherwise they are y, or y1 to yK.
    taken_names : collection of str
        The names of inputs, which no column of the target gets.

    Returns
    -------
    dict of str to float64 array, each of shape (n,)
        In the order of the columns.

    Raises
    ------
    ValueError
        By scikit-learn, if y is not finite, not numeric, or has more than two dimensions.
    DataError
        If columns of y share a name, or one of several has the name of an input.

    Examples
    --------
    >>> list(build_numeric_targets(np.eye(3)[:, :2], ["x", "y1"]))
    ['y1_', 'y2']
    """
    if fields := getattr(getattr(y, "dtype", None), "names", None):
        raise DataError(
            f"y has the fields {', '.join(map(repr, fields))}: a regressor takes a column of numbers, or "
            "several; SymbolicScreener takes times until an event"
        )
    check_unique_columns(y, "y")
    check_no_missing(y)
    _check_not_survival(_get_fields(y), "take SymbolicScreener; for two targets make the booleans numbers")
    _check_not_text(y)
    values = check_array(y, ensure_2d=False, dtype="float64", ensure_min_samples=0, input_name="y")
    names = getattr(y, "columns", None)
    if values.ndim == 1 or values.shape[1] == 1:
        given = getattr(y, "name", None) if names is None else next(iter(names))
        return {make_unique_name("y" if given is None else str(given), taken_names): values.reshape(-1)}
    if names is None:
        return _name_columns(values, taken_names)
    return _check_free_names(dict(zip(map(str, names), values.T, strict=True)), taken_names)


def _check_not_text(y: Any) -> None:
    """Refuse texts that are no numbers."""
    try:
        np.asarray(y).astype(np.float64)
    except ValueError as error:
        if "could not convert string" in str(error):
            raise DataError(
                "y holds text, and a regressor predicts numbers: encode y as numbers, or predict classes by "
                "SymbolicClassifier"
            ) from None
    except TypeError:
        pass  # scikit-learn says what is wrong


def _name_columns(values: NDArray[Any], taken_names: Collection[str]) -> dict[str, NDArray[Any]]:
    """Name the columns of an array y1, y2 and so on."""
    return {make_unique_name(f"y{place}", taken_names): own for place, own in enumerate(values.T, start=1)}


def _get_fields(y: Any) -> dict[str, Any] | None:
    """Return the columns of a target that has names; None if it has none."""
    names = getattr(getattr(y, "dtype", None), "names", None) or getattr(y, "columns", None)
    if names is None:
        return None
    check_unique_columns(y, "y")
    return {str(name): np.asarray(y[name]) for name in names}


def _select_columns(
    y: Any, fields: Mapping[str, Any] | None, names: Sequence[str], option: str
) -> dict[str, Any]:
    """Return the columns that an option names: of a frame by name, of an array by position."""
    if fields is not None:
        absent = [name for name in names if name not in fields]
        if absent:
            raise DataError(f"y has no column {absent[0]!r} for {option}{suggest(absent[0], fields)}")
        idle = [name for name in fields if name not in names]
        if idle:
            raise DataError(
                f"y has a column {idle[0]!r} that {option} does not name: name it or leave it out"
            )
        return {name: fields[name] for name in names}
    cells = np.asarray(y) if hasattr(y, "shape") else np.array(y, dtype=object)
    cells = cells[:, None] if cells.ndim == 1 else cells
    if cells.ndim != 2 or cells.shape[1] != len(names):
        raise DataError(f"y has shape {cells.shape}, and {option} names {len(names)} columns of it")
    return dict(zip(names, np.asarray(cells).T, strict=True))


def _check_free_names(columns: dict[str, Any], taken_names: Collection[str]) -> dict[str, Any]:
    """Reject names that inputs have."""
    for name in columns:
        if name in taken_names:
            raise DataError(f"{name!r} is the name of a column of y and of X: rename one or leave it out")
    return columns


def _build_survival_columns(
    fields: Mapping[str, Any] | None, event: str | None, taken_names: Collection[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read times until an event."""
    if fields is None:
        raise OptionError(
            f"event {event!r} names a column of y, and y has no names: give a structured array or a data "
            "frame of two columns, whether the event was met and when"
        )
    if event is None:
        flags = [name for name, own in fields.items() if own.dtype.kind == "b"]
        event = flags[0] if len(flags) == 1 else None
    if event is None or len(fields) != 2:
        raise DataError(
            f"y has the fields {', '.join(map(repr, fields))}: a time until an event takes two, of booleans "
            "(whether the event was met) and of numbers (when)"
        )
    if event not in fields:
        raise DataError(f"y has no column {event!r} for event{suggest(event, fields)}")
    time = next(name for name in fields if name != event)
    return _check_free_names(dict(fields), taken_names), {"target": time, "event": event}


def _build_plain_columns(
    y: Any, fields: Mapping[str, Any] | None, taken_names: Collection[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read one target or several."""
    check_no_missing(y)
    values = check_array(y, ensure_2d=False, dtype=None, ensure_min_samples=0, input_name="y")
    if values.ndim == 2 and values.shape[1] > 1:
        if fields is not None:
            return _check_free_names(dict(fields), taken_names), {"target": list(fields)}
        columns = _name_columns(values, taken_names)
        return columns, {"target": list(columns)}
    given = next(iter(fields)) if fields else getattr(y, "name", None)
    name = make_unique_name("y" if given is None else str(given), taken_names)
    return {name: column_or_1d(values, warn=True)}, {"target": name}


def _check_not_survival(fields: Mapping[str, Any] | None, advice: str) -> None:
    """Reject a column of events and one of times as two targets."""
    if fields is None or len(fields) != 2:
        return
    event = next((name for name, own in fields.items() if own.dtype.kind == "b"), None)
    time = next((name for name, own in fields.items() if own.dtype.kind in "iuf"), None)
    if event is not None and time is not None:
        raise DataError(
            f"y has a column of booleans, {event!r}, and one of numbers, {time!r}: for a time until an event "
            + advice.format(event=event)
        )


def check_no_missing(y: Any) -> None:
    """Reject missing values of pandas, which cannot be compared.

    Raises
    ------
    DataError
        If a value is missing.
    """
    if hasattr(y, "isna"):
        missing = np.asarray(y.isna())
        rows = int(missing.reshape(len(missing), -1).any(axis=1).sum())
        if rows:
            raise DataError(f"y has no value in {rows} of {len(missing)} rows: leave these rows out")

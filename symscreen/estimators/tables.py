"""The inputs that scikit-learn hands to an estimator, as columns with names: numbers and categories."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, validate_data

from symscreen.errors import TableError, nearest
from symscreen.estimators.inputs import named_columns, names_in_formulas
from symscreen.table import levels_in, read_frame

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

__all__ = ["input_columns", "levels_of", "names_of", "warn_of_unseen"]

_SHOWN = 3


def input_columns(
    estimator: Any,
    X: Any,  # noqa: N803  # scikit-learn's name
    categorical: Sequence[str] = (),
    *,
    reset: bool,
) -> dict[str, Any]:
    """Check inputs as scikit-learn does, and take their columns apart.

    Parameters
    ----------
    estimator : object
        Whose `n_features_in_` and `feature_names_in_` are set, or held against.
    X : array or data frame of shape (n, d)
        The inputs; finite but for categories.
    categorical : sequence of str
        Columns whose values are levels: words or numbers, none of them missing.
    reset : bool
        Whether to set these attributes.

    Returns
    -------
    dict of str to array, each of shape (n,)
        float64, but for categories, which are objects.

    Raises
    ------
    ValueError
        As of scikit-learn.
    TableError
        If `categorical` names no column, or a row has no category.
    """
    fewest = 2 if reset else 1
    if categorical and not hasattr(X, "shape"):
        X = np.array(X, dtype=object)  # noqa: N806  # a list of rows
    if not categorical or issparse(X) or len(X.shape) != 2:  # which are refused there
        values = validate_data(estimator, X, reset=reset, dtype="float64", ensure_min_samples=fewest)
        return named_columns(values, names_of(estimator))
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    names = names_of(estimator)
    for name in categorical:
        if name not in names:
            raise TableError(f"X has no column {name!r} for categorical{nearest(name, names)}")
    cells = {name: np.asarray(_columns(X, place)) for place, name in enumerate(names)}
    plain = [place for place, name in enumerate(names) if name not in categorical]
    found = {name: own.astype(object) for name, own in cells.items()}
    if plain:
        check = {"estimator": estimator, "input_name": "X", "ensure_min_samples": fewest}
        values = check_array(_columns(X, plain), dtype="float64", **check)
        found |= named_columns(values, [names[place] for place in plain])
    return found


def names_of(estimator: Any) -> list[str]:
    """Return what the columns that an estimator saw are called in formulas."""
    return names_in_formulas(getattr(estimator, "feature_names_in_", None), estimator.n_features_in_)


def _columns(X: Any, places: int | list[int]) -> Any:  # noqa: N803  # as above
    return X.iloc[:, places] if hasattr(X, "iloc") else X[:, places]


def levels_of(columns: Mapping[str, Any], categorical: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Read the levels of columns of categories.

    Parameters
    ----------
    columns : mapping of str to array
        As of `input_columns`.
    categorical : sequence of str
        Whose.

    Returns
    -------
    dict of str to tuple of str

    Raises
    ------
    TableError
        If a row has no category.

    Examples
    --------
    >>> levels_of({"c": np.array(["p", "q", "p"], dtype=object)}, ["c"])
    {'c': ('p', 'q')}
    """
    found = {}
    for name in categorical:
        levels, places = levels_in(read_frame({name: columns[name]}), name)
        missing = int(np.isnan(places).sum())
        if missing:
            raise TableError(
                f"X has no category in {missing} of {len(places)} rows of {name!r}: fill them, for example "
                "with a level of their own"
            )
        found[name] = levels
    return found


def warn_of_unseen(
    columns: Mapping[str, Any], levels: Mapping[str, tuple[str, ...]], used: Collection[str]
) -> None:
    """Warn of levels that were not seen before: what stands for each level known is 0 there.

    Parameters
    ----------
    columns : mapping of str to array
        New rows.
    levels : mapping of str to tuple of str
        Those known.
    used : collection of str
        Columns that matter.

    Warns
    -----
    UserWarning
        With counts, and some of the levels.
    """
    for name in (each for each in levels if each in used):
        found, places = levels_in(read_frame({name: columns[name]}), name)
        new = [place for place, level in enumerate(found) if level not in levels[name]]
        rows = int(np.isin(places, new).sum())
        if rows:
            shown = ", ".join(repr(found[place]) for place in new[:_SHOWN])
            more = f" and {len(new) - _SHOWN} more" if len(new) > _SHOWN else ""
            warnings.warn(
                f"{rows} of {len(places)} rows have levels of {name!r} that fit did not see ({shown}{more}): "
                "gates and indicators of the levels known are 0 there",
                stacklevel=3,
            )

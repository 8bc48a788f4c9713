"""The inputs that scikit-learn hands to an estimator, as columns with names: numbers and categories."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, validate_data

from symscreen.errors import TableError, nearest
from symscreen.estimators.inputs import named_columns, names_in_formulas
from symscreen.expression import columns_of
from symscreen.table import derived_from, levels_in, read_frame

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from symscreen.expression import Expression
    from symscreen.table import Derived

__all__ = [
    "derived_of",
    "input_columns",
    "levels_of",
    "listed_names",
    "names_of",
    "used_columns",
    "warn_of_unseen",
]

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


def listed_names(given: str | Sequence[str] | None) -> list[str]:
    """Return one name, or several, or none, as a list.

    Examples
    --------
    >>> listed_names("kind"), listed_names(["kind", "site"]), listed_names(None)
    (['kind'], ['kind', 'site'], [])
    """
    return [given] if isinstance(given, str) else [str(name) for name in given or ()]


def derived_of(expressions: Iterable[Expression], names: Collection[str]) -> dict[str, Derived]:
    """Return what those inputs of formulas that categories came to are computed from.

    Parameters
    ----------
    expressions : iterable of Expression
        The formulas.
    names : collection of str
        The columns that an estimator saw.

    Returns
    -------
    dict of str to Derived
        By the input's name.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> derived_of([parse("a + `a·1[c = p]`")], ["a", "c"])
    {'a·1[c = p]': Derived(x='a', column='c', level='p')}
    """
    used = set[str]().union(*map(columns_of, expressions)) - set(names)
    found = {name: derived_from(name, names) for name in sorted(used)}
    return {name: made for name, made in found.items() if made is not None}


def used_columns(expressions: Sequence[Expression], names: Collection[str]) -> set[str]:
    """Return the columns that formulas are made of, those of their categories among them.

    Parameters
    ----------
    expressions, names
        As of `derived_of`.

    Returns
    -------
    set of str

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> sorted(used_columns([parse("b + `a·1[c = p]`")], ["a", "b", "c", "d"]))
    ['a', 'b', 'c']
    """
    used, derived = set[str]().union(*map(columns_of, expressions)), derived_of(expressions, names)
    return (used - set(derived)).union(*({made.column, made.x or made.column} for made in derived.values()))


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

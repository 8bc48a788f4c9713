"""What scikit-learn hands to an estimator, as the core takes it: columns with names, and nothing unasked.

The inputs that scikit-learn hands to an estimator, as columns with names: numbers and categories.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import _num_samples, check_array, check_consistent_length, validate_data

from symscreen.data import LevelIndicator, read_frame, read_levels
from symscreen.errors import DataError, InputError, OptionError
from symscreen.expressions.traversal import collect_columns
from symscreen.messages import ESTIMATOR, suggest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from dataclasses import Field

    from numpy.typing import NDArray

    from symscreen.expressions.tree import Expression


@contextmanager
def raise_estimator_errors() -> Iterator[None]:
    """Let errors name the arguments of an estimator: X, y, sample_weight, groups and its parameters."""
    try:
        yield
    except InputError as error:
        error.option_style = ESTIMATOR
        raise


def set_parameters(
    estimator: object, parameter_fields: Sequence[Field[Any]], parameters: Mapping[str, Any]
) -> None:
    """Set the parameters of an estimator as attributes, unchanged, as scikit-learn expects it.

    Parameters
    ----------
    estimator : object
        The estimator.
    parameter_fields : sequence of dataclasses.Field
        Its parameters, with defaults.
    parameters : mapping of str to object
        The values given.

    Raises
    ------
    TypeError
        If a name is not one of a parameter, as Python raises for every function.
    """
    defaults = {field.name: field.default for field in parameter_fields}
    for name in parameters:
        if name not in defaults:
            raise TypeError(f"{type(estimator).__name__} has no parameter {name!r}{suggest(name, defaults)}")
    for name, value in (defaults | dict(parameters)).items():
        setattr(estimator, name, value)


def get_formula_names(feature_names: Iterable[object] | None, n_features: int) -> list[str]:
    """Return what columns are called in formulas.

    Parameters
    ----------
    feature_names : iterable of str or None
        The names of a data frame's columns, of any marks; None for an array's.
    n_features : int
        How many columns there are.

    Returns
    -------
    list of str
        The names given; x1, x2, … where there are none.

    Examples
    --------
    >>> get_formula_names(["a b", "c"], 2), get_formula_names(None, 2)
    (['a b', 'c'], ['x1', 'x2'])
    """
    return (
        [f"x{place + 1}" for place in range(n_features)]
        if feature_names is None
        else list(map(str, feature_names))
    )


def check_unique_columns(frame: Any, argument: str = "X") -> None:
    """Refuse a data frame in which columns share a name: no formula could tell them apart.

    Parameters
    ----------
    frame : array or data frame
        Whose names are looked at, if it has any.
    argument : str
        What the user calls it.

    Raises
    ------
    TableError
        With the name.
    """
    names = list(map(str, getattr(frame, "columns", ())))
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise DataError(
            f"{argument} has more than one column named {twice[0]!r}: rename or remove the others"
        )


def split_columns(values: NDArray[np.float64], names: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Take the columns of an array apart.

    Examples
    --------
    >>> import numpy as np
    >>> split_columns(np.eye(2), ["a", "b"])["b"].tolist()
    [0.0, 1.0]
    """
    return dict(zip(names, values.T, strict=True))


def check_input_features(
    input_features: Sequence[str], feature_names_in: Iterable[object] | None, n_features: int
) -> None:
    """Refuse names that are not those of the columns.

    Parameters
    ----------
    input_features : sequence of str
        The names for `get_feature_names_out`.
    feature_names_in : iterable of str or None
        Those that `fit` saw.
    n_features : int
        How many columns it saw.

    Raises
    ------
    TableError
        In scikit-learn's own words, which its checks look for.
    """
    if feature_names_in is not None and list(input_features) != list(map(str, feature_names_in)):
        raise DataError("input_features is not equal to feature_names_in_: give none, or the same names")
    if twice := [name for name in dict.fromkeys(input_features) if list(input_features).count(name) > 1]:
        raise DataError(
            f"input_features holds {twice[0]!r} more than once: give each column a name of its own"
        )
    if len(input_features) != n_features:
        raise DataError(
            f"input_features should have length equal to number of features ({n_features}), got "
            f"{len(input_features)}"
        )


def reject_unknown_kwargs(estimator: str, kwargs: Mapping[str, Any], known: Sequence[str] = ()) -> None:
    """Refuse what `fit` was given and would not heed.

    Parameters
    ----------
    estimator : str
        Its name, for the message.
    kwargs : mapping
        Further arguments by name; None stands for nothing given.
    known : sequence of str
        Names that would have been right.

    Raises
    ------
    OptionError
        If there is any.

    Examples
    --------
    >>> reject_unknown_kwargs("SymbolicScreener", {"weights": [1.0]}, ["sample_weight", "groups"])
    Traceback (most recent call last):
    ...
    symscreen.errors.OptionError: fit of SymbolicScreener takes no 'weights'; did you mean 'sample_weight'?
    """
    for name, value in kwargs.items():
        if value is not None and name == "sample_weight" and name not in known:
            raise OptionError(
                f"{estimator} takes no sample_weight: its search, choice and intervals count each row once; "
                "leave it out, or put SymbolicScreener and a linear model that take it into a pipeline"
            )
        if value is not None:
            raise OptionError(f"fit of {estimator} takes no {name!r}{suggest(name, known)}")


def check_row_weights(sample_weight: Any, X: Any) -> NDArray[np.float64] | None:  # noqa: N803  # scikit-learn's name
    """Check weights as scikit-learn does.

    Parameters
    ----------
    sample_weight : array-like of shape (n,), number, or None
        Finite, not negative; a number is the weight of every row.
    X : array or data frame of shape (n, d)
        Whose rows they are of.

    Returns
    -------
    float64 array, shape (n,), or None

    Raises
    ------
    ValueError
        As of scikit-learn, if they are not finite numbers, or are not as many as rows.
    TableError
        If they are no line of numbers, one is negative, or all are zero.

    Examples
    --------
    >>> check_row_weights([1, 2], [[0.0], [1.0]]).tolist()
    [1.0, 2.0]
    """
    if sample_weight is None:
        return None
    weights = check_array(
        sample_weight, ensure_2d=False, dtype="float64", ensure_min_samples=0, input_name="sample_weight"
    )
    if weights.ndim == 0:
        weights = np.full(_num_samples(X), weights)
    check_consistent_length(X, weights)
    if weights.ndim != 1:
        raise DataError(f"sample_weight has shape {weights.shape}: one number for each row is needed")
    if (weights < 0.0).any():
        row = int(np.flatnonzero(weights < 0.0)[0])
        raise DataError(f"sample_weight is {weights[row]:g} in row {row}: give numbers of at least 0")
    if not weights.any():
        raise DataError("sample_weight is zero in every row: no row is left")
    return np.asarray(weights)


_MAX_SHOWN_LEVELS = 3


def check_input_columns(
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
        return split_columns(values, get_input_names(estimator))
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    names = get_input_names(estimator)
    for name in categorical:
        if name not in names:
            raise DataError(f"X has no column {name!r} for categorical{suggest(name, names)}")
    cells = {name: np.asarray(_take_columns(X, place)) for place, name in enumerate(names)}
    plain = [place for place, name in enumerate(names) if name not in categorical]
    found = {name: own.astype(object) for name, own in cells.items()}
    if plain:
        check = {"estimator": estimator, "input_name": "X", "ensure_min_samples": fewest}
        values = check_array(_take_columns(X, plain), dtype="float64", **check)
        found |= split_columns(values, [names[place] for place in plain])
    return found


def get_input_names(estimator: Any) -> list[str]:
    """Return what the columns that an estimator saw are called in formulas."""
    return get_formula_names(getattr(estimator, "feature_names_in_", None), estimator.n_features_in_)


def to_name_list(names: str | Sequence[str] | None) -> list[str]:
    """Return one name, or several, or none, as a list.

    Examples
    --------
    >>> to_name_list("kind"), to_name_list(["kind", "site"]), to_name_list(None)
    (['kind'], ['kind', 'site'], [])
    """
    return [names] if isinstance(names, str) else [str(name) for name in names or ()]


def find_categorical_features(
    expressions: Iterable[Expression], input_names: Collection[str], levels: Mapping[str, Sequence[str]]
) -> dict[str, LevelIndicator]:
    """Return what those inputs of formulas that categories came to are computed from.

    Parameters
    ----------
    expressions : iterable of Expression
        The formulas.
    input_names : collection of str
        The columns that an estimator saw.
    levels : mapping of str to sequence of str
        The levels of each categorical column.

    Returns
    -------
    dict of str to LevelIndicator
        By the input's name.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> find_categorical_features([parse_expression("a + `a·1[c = p]`")], ["a", "c"], {"c": ["p", "q"]})
    {'a·1[c = p]': LevelIndicator(column='c', level='p', gated_column='a')}
    """
    used = collect_columns(*expressions) - set(input_names)
    indicators = (
        LevelIndicator(column, level, gated_column)
        for column, column_levels in levels.items()
        for level in column_levels
        for gated_column in (None, *input_names)
    )
    return {indicator.name: indicator for indicator in indicators if indicator.name in used}


def find_used_columns(
    expressions: Sequence[Expression], input_names: Collection[str], levels: Mapping[str, Sequence[str]]
) -> set[str]:
    """Return the columns that formulas are made of, those of their categories among them.

    Parameters
    ----------
    expressions, input_names, levels
        As of `find_categorical_features`.

    Returns
    -------
    set of str

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> sorted(find_used_columns([parse_expression("b + `a·1[c = p]`")], ["a", "b", "c", "d"],
    ...     {"c": ["p"]}))
    ['a', 'b', 'c']
    """
    derived = find_categorical_features(expressions, input_names, levels)
    return set(collect_columns(*expressions) - set(derived)).union(
        *({indicator.column, indicator.gated_column or indicator.column} for indicator in derived.values())
    )


def _take_columns(X: Any, indices: int | list[int]) -> Any:  # noqa: N803  # as above
    return X.iloc[:, indices] if hasattr(X, "iloc") else X[:, indices]


def get_category_levels(columns: Mapping[str, Any], categorical: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Read the levels of columns of categories.

    Parameters
    ----------
    columns : mapping of str to array
        As of `check_input_columns`.
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
    >>> get_category_levels({"c": np.array(["p", "q", "p"], dtype=object)}, ["c"])
    {'c': ('p', 'q')}
    """
    found = {}
    for name in categorical:
        levels, places = read_levels(read_frame({name: columns[name]}), name)
        missing = int(np.isnan(places).sum())
        if missing:
            raise DataError(
                f"X has no category in {missing} of {len(places)} rows of {name!r}: fill them, for example "
                "with a level of their own"
            )
        found[name] = levels
    return found


def warn_unseen_levels(
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
        found, places = read_levels(read_frame({name: columns[name]}), name)
        new = [place for place, level in enumerate(found) if level not in levels[name]]
        rows = int(np.isin(places, new).sum())
        if rows:
            shown = ", ".join(repr(found[place]) for place in new[:_MAX_SHOWN_LEVELS])
            more = f" and {len(new) - _MAX_SHOWN_LEVELS} more" if len(new) > _MAX_SHOWN_LEVELS else ""
            warnings.warn(
                f"{rows} of {len(places)} rows have levels of {name!r} that fit did not see ({shown}{more}): "
                "gates and indicators of the levels known are 0 there",
                stacklevel=3,
            )

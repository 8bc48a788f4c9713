"""What scikit-learn hands to an estimator, as the core takes it: columns with names, and nothing unasked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symscreen.errors import OptionError, TableError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["named_columns", "names_in_formulas", "refuse_further", "require_distinct", "require_names"]


def names_in_formulas(given: Iterable[object] | None, count: int) -> list[str]:
    """Return what columns are called in formulas.

    Parameters
    ----------
    given : iterable of str or None
        The names of a data frame's columns, of any marks; None for an array's.
    count : int
        How many columns there are.

    Returns
    -------
    list of str
        The names given; x1, x2, … where there are none.

    Examples
    --------
    >>> names_in_formulas(["a b", "c"], 2), names_in_formulas(None, 2)
    (['a b', 'c'], ['x1', 'x2'])
    """
    return [f"x{place + 1}" for place in range(count)] if given is None else list(map(str, given))


def require_distinct(frame: Any, said: str = "X") -> None:
    """Refuse a data frame in which columns share a name: no formula could tell them apart.

    Parameters
    ----------
    frame : array or data frame
        Whose names are looked at, if it has any.
    said : str
        What the user calls it.

    Raises
    ------
    TableError
        With the name.
    """
    names = list(map(str, getattr(frame, "columns", ())))
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise TableError(f"{said} has more than one column named {twice[0]!r}: rename or remove the others")


def named_columns(values: NDArray[np.float64], names: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Take the columns of an array apart.

    Examples
    --------
    >>> import numpy as np
    >>> named_columns(np.eye(2), ["a", "b"])["b"].tolist()
    [0.0, 1.0]
    """
    return dict(zip(names, values.T, strict=True))


def require_names(asked: Sequence[str], seen: Iterable[object] | None, count: int) -> None:
    """Refuse names that are not those of the columns.

    Parameters
    ----------
    asked : sequence of str
        The names for `get_feature_names_out`.
    seen : iterable of str or None
        Those that `fit` saw.
    count : int
        How many columns it saw.

    Raises
    ------
    TableError
        In scikit-learn's own words, which its checks look for.
    """
    if seen is not None and list(asked) != list(map(str, seen)):
        raise TableError("input_features is not equal to feature_names_in_: give none, or the same names")
    if len(asked) != count:
        raise TableError(
            f"input_features should have length equal to number of features ({count}), got {len(asked)}"
        )


def refuse_further(estimator: str, given: Mapping[str, Any], known: Sequence[str] = ()) -> None:
    """Refuse what `fit` was given and would not heed.

    Parameters
    ----------
    estimator : str
        Its name, for the message.
    given : mapping
        Further arguments by name; None stands for nothing given.
    known : sequence of str
        Names that would have been right.

    Raises
    ------
    OptionError
        If there is any.

    Examples
    --------
    >>> refuse_further("SymbolicScreener", {"sample_weight": [1.0]})
    Traceback (most recent call last):
    ...
    symscreen.errors.OptionError: SymbolicScreener takes no sample_weight: every row counts once; \
leave it out, or repeat rows whose weights are whole numbers
    """
    for name, value in given.items():
        if value is None:
            continue
        if name == "sample_weight":
            raise OptionError(
                f"{estimator} takes no sample_weight: every row counts once; leave it out, or "
                "repeat rows whose weights are whole numbers"
            )
        raise OptionError(f"fit of {estimator} takes no {name!r}{nearest(name, known)}")

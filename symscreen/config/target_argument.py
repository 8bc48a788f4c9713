"""The argument y if it is also a column of the table: its name, or the column itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from symscreen._option_values import split_column_names
from symscreen.errors import OptionError
from symscreen.messages import name_option, quote

if TYPE_CHECKING:
    from symscreen.config.screen_options import ScreenOptions

    AnyOptions = TypeVar("AnyOptions", bound=ScreenOptions)


def read_target_argument(X: Any, y: Any, options: AnyOptions) -> tuple[Any, AnyOptions]:  # noqa: N803  # as in `screen`
    """Read y as the name of a column, or leave its column out of the inputs.

    Parameters
    ----------
    X, y
        As for `symscreen.screen`. A text is the name of the target's column.
    options : ScreenOptions
        The options of a screen, or of a fit.

    Returns
    -------
    y : object
        None if `y` was a name.
    options : ScreenOptions
        With the name as `target`; or with `exclude` of the column that `y` is, if `y` was taken from a data
        frame that still has it: ``screen(frame, frame["target"])``.

    Raises
    ------
    OptionError
        If y is a name, and `target` is given, too.

    Examples
    --------
    >>> import pandas as pd
    >>> from symscreen.config.screen_options import ScreenOptions
    >>> frame = pd.DataFrame({"x": [1.0, 2.0], "z": [3.0, 1.0]})
    >>> read_target_argument(frame, "z", ScreenOptions())[1].target
    'z'
    >>> read_target_argument(frame, frame["z"], ScreenOptions())[1].exclude
    ('z',)
    """
    if isinstance(y, str):
        if options.target is not None:
            raise OptionError(
                f"y is {quote(y)}, and {name_option('target')} is given, too: name the target once"
            )
        return None, replace(options, target=y)
    name = getattr(y, "name", None)
    if isinstance(name, str) and options.inputs is None and _has_column(X, name, y):
        excluded = split_column_names(options.exclude, "exclude")
        if name not in excluded:
            return y, replace(options, exclude=(*excluded, name))
    return y, options


def _has_column(X: Any, name: str, y: Any) -> bool:  # noqa: N803
    """Return whether a data frame has a column of this name and of the values of y."""
    columns = getattr(X, "columns", None)
    if columns is None or isinstance(columns, dict) or list(columns).count(name) != 1:
        return False
    own, given = np.asarray(X[name]), np.asarray(y)
    if own.shape != given.shape:
        return False
    is_equal = own == given
    is_missing = (own != own) & (given != given)  # noqa: PLR0124  # NaN differs from itself, None does not
    return bool(np.all(is_equal | is_missing))

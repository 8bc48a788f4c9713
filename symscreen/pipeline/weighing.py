"""Rows that weigh differently (`--weights`): what weights go with, and what they are refused beside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symscreen.errors import OptionError
from symscreen.response import KINDS
from symscreen.table import frame_with, row_weights

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from symscreen.pipeline.screen_options import ScreenOptions
    from symscreen.response import Kind

__all__ = ["weighed"]

_TRUST = ("p_values", "fdr", "permutations", "intervals", "stability", "groups")


def weighed(
    X: Any,  # noqa: N803  # as in `screen`
    options: ScreenOptions,
    kind: Kind,
) -> tuple[Any, NDArray[np.float64] | None, Kind]:
    """Read what rows weigh, if a column says so, or refuse weights where they have no plain meaning.

    Parameters
    ----------
    X : object
        As of `symscreen.screen`.
    options : ScreenOptions
        Of the screen.
    kind : Kind
        What the response is without them.

    Returns
    -------
    X : object
        What can be read again.
    weights : float64 array, shape (n,), or None
        By row of the source; None where no column is named, or all rows weigh the same: that is no weights.
    kind : Kind
        ``"weighted"``; what it was where all rows that weigh anything weigh the same.

    Raises
    ------
    OptionError
        If rows weigh differently, and the response is no column of numbers, or something is asked for that
        takes rows to count alike.
    TableError
        If there is no such column, or it holds other than weights.
    """
    name = options.weights
    if name is None:
        return X, None, kind
    frame = frame_with(X, name, "--weights")
    weights = row_weights(frame, name)
    if (weights == weights[0]).all():
        return frame, None, kind
    if kind != "numeric":
        raise OptionError(
            f"--weights {name} cannot be had with {KINDS[kind]}: only of a numeric response it is known what "
            "they mean; leave it out"
        )
    for other in _TRUST:
        if getattr(options, other) not in {None, False}:
            raise OptionError(
                f"--{other.replace('_', '-')} cannot be had with --weights {name}: what it infers takes all "
                "rows to count alike; leave one of them out"
            )
    some = weights[weights > 0.0]
    return frame, weights, "numeric" if (some == some[0]).all() else "weighted"

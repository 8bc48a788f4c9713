"""Columns of categories turned into inputs before a screen reads its table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from symscreen.table import (
    Frame,
    check_categorical,
    choose_inputs,
    derived_from,
    levels_by_column,
    read_frame,
    target_named,
    target_names,
    with_categories,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen.pipeline.screen_options import ScreenOptions
    from symscreen.table import Derived

__all__ = ["derived_inputs", "levels_told", "with_categorical"]


def with_categorical(X: Any, y: object, options: ScreenOptions) -> tuple[Any, ScreenOptions]:  # noqa: N803
    """Add the columns that categories come to, and leave their own columns out.

    Parameters
    ----------
    X, y
        As of `symscreen.screen`.
    options : ScreenOptions
        The options as given.

    Returns
    -------
    X : object
        A Frame with more columns, or what was given where no column is categorical.
    options : ScreenOptions
        With the inputs and exclusions that this comes to.

    Raises
    ------
    InputError
        If a column cannot be used as categories.
    """
    categorical, how = _listed(options.categorical), options.categorical_as
    check_categorical(categorical, how)
    if not categorical:
        return X, options
    frame, exclude = read_frame(X), _listed(options.exclude)
    taken = [*target_names(frame, options.target), *_listed(options.ranking), *_listed(options.stages)]
    if y is None and not taken:
        taken = [target_named(frame, None, exclude)[0]]
    taken += [] if options.event is None else [options.event]
    apart = [name for name in (options.groups, options.weights) if name is not None]
    left_out = [*exclude, *categorical, *apart]
    picked = None if options.inputs is None else [x for x in _listed(options.inputs) if x not in categorical]
    passing: list[str] = []
    if how == "gate":
        passing, _ = choose_inputs(frame, taken, picked, left_out)
    frame, names = with_categories(frame, categorical, how, passing, [*taken, *exclude])
    inputs = None if picked is None else [*picked, *names]
    return frame, replace(options, inputs=inputs, exclude=[*exclude, *categorical])


def levels_told(frame: Frame, options: ScreenOptions) -> dict[str, Any]:
    """Return what the record tells of categories beside the options: the levels, which exports need.

    Parameters
    ----------
    frame : Frame
        What `with_categorical` gave.
    options : ScreenOptions
        The options as given.

    Returns
    -------
    dict
        Empty where no column is categorical.
    """
    categorical = _listed(options.categorical)
    return {"levels": levels_by_column(frame, categorical)} if categorical else {}


def derived_inputs(
    X: Any,  # noqa: N803  # as in `with_categorical`
    names: Sequence[str],
    categorical: str | Sequence[str] | None,
) -> dict[str, Derived]:
    """Say what inputs that categories came to are computed from.

    Parameters
    ----------
    X : object
        What `with_categorical` returned.
    names : sequence of str
        The inputs of a table made of it.
    categorical : str or sequence of str or None
        The option, as given.

    Returns
    -------
    dict of str to Derived
        By the input's name.
    """
    own = set(_listed(categorical))
    if not own or not isinstance(X, Frame):
        return {}
    found = {name: derived_from(name, X.columns) for name in names}
    return {name: made for name, made in found.items() if made is not None and made.column in own}


def _listed(names: str | Sequence[str] | None) -> list[str]:
    return [] if names is None else [names] if isinstance(names, str) else [str(name) for name in names]

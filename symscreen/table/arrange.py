"""Tables whose response is a class, several targets, or a time until an event, in canonical order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.response import Response
from symscreen.response.classes import ClassesResponse
from symscreen.response.several import several_of
from symscreen.response.survival import SurvivalResponse
from symscreen.response.weighted import WeightedResponse, scaled_weights
from symscreen.table.record import canonical_order, in_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen.table.record import Inputs, Table
    from symscreen.table.targets import Classes, Survival

    Values = NDArray[np.float64]

__all__ = ["arranged_classes", "arranged_several", "arranged_survival"]


def arranged_classes(
    inputs: Inputs, given: Classes, *, kept: NDArray[np.bool_], notices: Sequence[str]
) -> Table:
    """Put columns and rows of a table whose response is a class into canonical order.

    Parameters
    ----------
    inputs : dict of str to float64 array, each of shape (m,)
        The input columns of the source, finite in the rows kept.
    given : Classes
        The class of each of its m rows, known in the rows kept. Classes without a row kept are left out.
    kept : bool array, shape (m,)
        The rows that the table takes; the others count as dropped.
    notices : sequence of str
        For people.

    Returns
    -------
    Table

    Raises
    ------
    TableError
        If the rows are of one class.
    """
    rows = np.flatnonzero(kept)
    there, codes = np.unique(given.codes[rows], return_inverse=True)
    classes = tuple(given.classes[int(code)] for code in there)
    order = _by_inputs(inputs, rows, codes[None].astype(np.float64))
    response = ClassesResponse(codes[order].astype(np.int64), classes, given.name)
    return in_order(inputs, rows[order], response, kept, notices)


def arranged_several(
    inputs: Inputs, targets: dict[str, Values], *, kept: NDArray[np.bool_], notices: Sequence[str]
) -> Table:
    """Put columns and rows of a table with several targets into canonical order.

    Parameters
    ----------
    inputs, kept, notices
        As of `arranged_classes`.
    targets : dict of str to float64 array, each of shape (m,)
        Finite in the rows kept.

    Returns
    -------
    Table

    Raises
    ------
    TableError
        If a target is constant.
    """
    rows = np.flatnonzero(kept)
    values = np.stack([targets[name][rows] for name in sorted(targets)])
    order = _by_inputs(inputs, rows, values)
    response = several_of(dict(zip(sorted(targets), values[:, order], strict=True)))
    return in_order(inputs, rows[order], response, kept, notices)


def arranged_survival(
    inputs: Inputs, given: Survival, *, kept: NDArray[np.bool_], notices: Sequence[str]
) -> Table:
    """Put columns and rows of a table whose response is a time until an event into canonical order.

    Parameters
    ----------
    inputs, kept, notices
        As of `arranged_classes`.
    given : Survival
        Times and events of its m rows, known in the rows kept.

    Returns
    -------
    Table

    Raises
    ------
    TableError
        If no two rows are comparable.
    """
    rows = np.flatnonzero(kept)
    times, events = given.times[rows], given.events[rows] == 1.0
    columns = [inputs[each][rows] for each in sorted(inputs)]
    order = canonical_order([1.0 - events, *columns], times)
    response = SurvivalResponse(times[order] + 0.0, events[order], given.name, given.event)
    return in_order(inputs, rows[order], response, kept, notices)


def arranged_weighted(
    inputs: Inputs,
    response: Values,
    name: str,
    weights: Values,
    *,
    kept: NDArray[np.bool_],
    notices: Sequence[str],
) -> Table:
    """Put columns and rows of a table whose rows have weights into canonical order.

    Parameters
    ----------
    inputs, response, name, kept, notices
        As of `arranged`.
    weights : float64 array, shape (m,)
        Positive in the rows kept.

    Returns
    -------
    Table

    Raises
    ------
    TableError
        If the response is constant.
    """
    rows = np.flatnonzero(kept)
    own = scaled_weights(weights[rows])
    columns = [inputs[each][rows] for each in sorted(inputs)]
    order = canonical_order([*columns, own], response[rows])
    plain = Response(response[rows][order] + 0.0, name)
    return in_order(inputs, rows[order], WeightedResponse(plain, own[order]), kept, notices)


def _by_inputs(inputs: Inputs, rows: NDArray[np.intp], held: Values) -> NDArray[np.intp]:
    """Order rows by the inputs, ties by what they hold."""
    columns = [inputs[each][rows] for each in sorted(inputs)]
    return canonical_order([*columns[1:], *held], columns[0])

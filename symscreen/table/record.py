"""The table that a screen works on, in the one order that makes its results independent of the source's."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.label_ranking import Rankings
from symscreen.label_ranking.row_order import rows_by_content
from symscreen.response import Response
from symscreen.response.classes import ClassesResponse
from symscreen.response.kinds import AnyResponse, NumericResponse, numbers, numeric
from symscreen.response.rankings import RankingResponse
from symscreen.response.several import SeveralResponse, some_of
from symscreen.response.stages import StagesResponse
from symscreen.response.survival import SurvivalResponse
from symscreen.response.weighted import WeightedResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen.table.rankings import Ranked
    from symscreen.table.stages import Staged

    Inputs = dict[str, NDArray[np.float64]]

__all__ = [
    "Table",
    "arranged",
    "arranged_rankings",
    "arranged_stages",
    "canonical_order",
    "in_order",
    "some_rows",
    "with_inputs",
    "with_response",
]


@dataclass(frozen=True, eq=False)
class Table:
    """Inputs and response of a screen, in canonical order.

    Columns stand in the order of their names (by code point), rows in ascending order of the response,
    ties in the order of the inputs. Where the response is a ranking, rows stand in the order of the inputs,
    ties in an order of the rankings that the names of labels do not decide (`rows_by_content`). Where it is a
    chain of stages, a class or several targets, rows stand in the order of the inputs, too, ties in that of
    what the rows hold; where it is a time until an event, in the order of the times, events
    first. Two sources that differ only in the order of their rows or columns give the same bytes.

    Parameters
    ----------
    names : tuple of str, length d
        The inputs' names, exactly as the source writes them.
    columns : float64 array, shape (d, n), C-contiguous
        One row per input. Finite; no negative zeros.
    response : AnyResponse
        The response of n rows, values in ascending order where it is numeric.
    rows : int64 array, shape (n,)
        For each row here, its number in the source: 0 for the first data row.
    notices : tuple of str
        What was decided or left out, and why: one line each, for people.
    dropped : int
        The number of rows dropped: for missing values, or because no pair of stages counts them.
    digest : str
        SHA-256, in hexadecimal, of the names, the response's name and all values in canonical order.

    Examples
    --------
    >>> from symscreen.table import read_table
    >>> table = read_table({"y": [5, 4, 3, 2, 1], "b": [1, 2, 3, 4, 9], "a": [0, 0, 1, 1, 2]})
    >>> table.names, table.columns.shape, table.rows.tolist()
    (('a', 'b'), (2, 5), [4, 3, 2, 1, 0])
    """

    names: tuple[str, ...]
    columns: NDArray[np.float64]
    response: AnyResponse
    rows: NDArray[np.int64]
    notices: tuple[str, ...]
    dropped: int
    digest: str

    @property
    def numeric(self) -> Response:
        """The response of a table that must have a numeric one; another is refused."""
        return numeric(self.response, "this")

    @property
    def numbers(self) -> NumericResponse:
        """The response of a table that must have one of numbers, or several; another is refused."""
        return numbers(self.response, "this")


def arranged(
    inputs: Inputs,
    response: NDArray[np.float64],
    name: str,
    *,
    kept: NDArray[np.bool_],
    notices: Sequence[str],
) -> Table:
    """Put columns and rows into canonical order.

    Parameters
    ----------
    inputs : dict of str to float64 array, each of shape (m,)
        The input columns of the source, finite in the rows kept.
    response : float64 array, shape (m,)
        The response column, finite in the rows kept.
    name : str
        The response's name.
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
        If the response is constant.

    Examples
    --------
    >>> x, y = np.array([1.0, 2.0, 3.0]), np.array([3.0, 1.0, 2.0])
    >>> arranged({"x": x}, y, "y", kept=np.array([True, False, True]), notices=()).columns.tolist()
    [[3.0, 1.0]]
    """
    names = tuple(sorted(inputs))
    rows = np.flatnonzero(kept)
    order = rows[canonical_order([inputs[each][rows] for each in names], response[rows])]
    return in_order(inputs, order, Response(response[order] + 0.0, name), kept, notices)


def arranged_rankings(
    inputs: Inputs, ranked: Ranked, *, kept: NDArray[np.bool_], notices: Sequence[str]
) -> Table:
    """Put columns and rows of a table whose response is a ranking into canonical order.

    Parameters
    ----------
    inputs : dict of str to float64 array, each of shape (m,)
        The input columns of the source, finite in the rows kept.
    ranked : Ranked
        What its m rows rank, at least one label in the rows kept.
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
        If no two labels are ordered both ways.
    """
    rows = np.flatnonzero(kept)
    known = Rankings(ranked.ranks[rows], ranked.labels)
    columns = [inputs[each][rows] for each in sorted(inputs)]
    by_inputs = canonical_order(columns[1:], columns[0])
    new = np.zeros(rows.size - 1, dtype=np.bool_)  # one column at a time: there may be 100,000 of them
    for column in columns:
        own = column[by_inputs]
        new |= own[1:] != own[:-1]
    groups = np.empty(rows.size, dtype=np.int64)
    groups[by_inputs] = np.concatenate([[0], np.cumsum(new)])
    order = rows_by_content(groups, known.ranks)
    response = RankingResponse(Rankings(known.ranks[order], known.labels), ranked.name)
    return in_order(inputs, rows[order], response, kept, notices)


def arranged_stages(
    inputs: Inputs, staged: Staged, *, kept: NDArray[np.bool_], notices: Sequence[str]
) -> Table:
    """Put columns and rows of a table whose response is a chain of stages into canonical order.

    Parameters
    ----------
    inputs : dict of str to float64 array, each of shape (m,)
        The input columns of the source, finite in the rows kept.
    staged : Staged
        How far its m rows have gone.
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
        If all rows, or none, go on to some stage.
    """
    rows = np.flatnonzero(kept)
    outcomes = staged.outcomes[rows]
    columns = [inputs[each][rows] for each in sorted(inputs)]
    order = canonical_order([*columns[1:], *outcomes.T.astype(np.float64)], columns[0])
    response = StagesResponse(outcomes[order], staged.stages, staged.weights)
    return in_order(inputs, rows[order], response, kept, notices)


def in_order(
    inputs: Inputs,
    order: NDArray[np.intp],
    response: AnyResponse,
    kept: NDArray[np.bool_],
    notices: Sequence[str],
) -> Table:
    """Make a table of rows of a source, whose order is known."""
    names = tuple(sorted(inputs))
    columns = np.empty((len(names), order.size))
    for row, each in zip(columns, names, strict=True):
        np.add(inputs[each][order], 0.0, out=row)  # -0.0 + 0.0 is 0.0
    return Table(
        names=names,
        columns=columns,
        response=response,
        rows=order.astype(np.int64),
        notices=tuple(notices),
        dropped=int(kept.size - order.size),
        digest=_digest(names, columns, response),
    )


def some_rows(table: Table, rows: NDArray[np.int64]) -> Table:
    """Return a table of some of the rows.

    Parameters
    ----------
    table : Table
        The data.
    rows : int64 array
        Which rows of it.

    Returns
    -------
    Table

    Raises
    ------
    TableError
        If the response is constant in these rows, or they are fewer than two.
    """
    inputs = dict(zip(table.names, table.columns, strict=True))
    kept = np.zeros(table.response.n, dtype=np.bool_)
    kept[rows] = True
    if isinstance(table.response, SeveralResponse):
        response = some_of(table.response, np.flatnonzero(kept))
        # rows stand in the order of the inputs, and some of them do so, too
        part = in_order(inputs, np.flatnonzero(kept), response, kept, table.notices)
        return replace(part, rows=table.rows[part.rows], dropped=table.dropped)
    part = arranged(inputs, table.numeric.values, table.response.name, kept=kept, notices=table.notices)
    return replace(part, rows=table.rows[part.rows], dropped=table.dropped)


def with_inputs(table: Table, names: Sequence[str]) -> Table:
    """Return a table of some of the inputs, at least one of them."""
    inputs = {name: table.columns[table.names.index(name)] for name in names}
    every = np.ones(table.response.n, dtype=np.bool_)
    part = arranged(inputs, table.numeric.values, table.response.name, kept=every, notices=table.notices)
    return replace(part, rows=table.rows[part.rows], dropped=table.dropped)


def with_response(table: Table, values: NDArray[np.float64]) -> Table:
    """Put another response in the place of a table's own, and the rows into its order.

    Parameters
    ----------
    table : Table
        The data.
    values : float64 array, shape (n,)
        The new response, in the order of the table's rows.

    Returns
    -------
    Table
        Of the same rows.

    Raises
    ------
    TableError
        If the new response is constant.
    """
    inputs = dict(zip(table.names, table.columns, strict=True))
    every = np.ones(len(values), dtype=np.bool_)
    moved = arranged(inputs, values, table.response.name, kept=every, notices=table.notices)
    return replace(moved, rows=table.rows[moved.rows], dropped=table.dropped)


def canonical_order(columns: list[NDArray[np.float64]], response: NDArray[np.float64]) -> NDArray[np.intp]:
    """Order rows by what comes first, the response as a rule, then by the columns from first to last."""
    order = np.argsort(response, kind="stable")
    if (np.diff(response[order]) > 0).all():
        return order  # no tie is left for the columns to break, and there may be 100,000 of them
    return np.lexsort((*reversed(columns), response))


def _digest(names: tuple[str, ...], columns: NDArray[np.float64], response: AnyResponse) -> str:
    # JSON, because names may hold any separator
    told: list[object] = [names, response.name, columns.shape]
    values: NDArray[np.generic]
    if isinstance(response, RankingResponse):
        told.append(response.labels)
        values = response.ranks
    elif isinstance(response, StagesResponse):
        told += [response.stages, response.weights.tolist()]
        values = response.outcomes
    elif isinstance(response, ClassesResponse):
        told.append(response.classes)
        values = response.codes
    elif isinstance(response, SurvivalResponse):
        told.append(response.event)
        values = np.stack([response.times, response.events.astype(np.float64)])
    elif isinstance(response, SeveralResponse):
        told.append(response.names)
        values = response.values
    elif isinstance(response, WeightedResponse):
        told.append("weighted")
        values = np.stack([response.values, response.weights])
    else:
        values = response.values
    hashed = hashlib.sha256(json.dumps(told).encode())
    for each in (columns, values):
        hashed.update(np.ascontiguousarray(each, dtype="<f8").data)
    return hashed.hexdigest()

"""The table that a screen works on, in the one order that makes its results independent of the source's.

Tables whose response is a class, several targets, or a time until an event, in canonical order.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.targets import NumericTarget
from symscreen.targets.multiclass import MulticlassTarget
from symscreen.targets.multioutput import MultiOutputTarget, build_multi_output_target, take_target_rows
from symscreen.targets.ranking import RankingTarget
from symscreen.targets.ranking_notation import Rankings
from symscreen.targets.ranking_ranks import sort_rows_by_content
from symscreen.targets.registry import (
    RegressionTarget,
    Target,
    require_numeric_target,
    require_regression_target,
)
from symscreen.targets.stages import StagesTarget
from symscreen.targets.survival import SurvivalTarget
from symscreen.targets.weighted import WeightedTarget, normalize_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.data.target_columns import ClassData, RankingData, StageData, SurvivalData

    Inputs = dict[str, NDArray[np.float64]]

__all__ = [
    "Dataset",
    "build_multi_output_dataset",
    "build_multiclass_dataset",
    "build_numeric_dataset",
    "build_ordered_dataset",
    "build_ranking_dataset",
    "build_stages_dataset",
    "build_survival_dataset",
    "replace_target",
    "sort_canonically",
    "take_inputs",
    "take_rows",
]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Inputs and response of a screen, in canonical order.

    Columns stand in the order of their names (by code point), rows in ascending order of the response,
    ties in the order of the inputs. Where the response is a ranking, rows stand in the order of the inputs,
    ties in an order of the rankings that the names of labels do not decide (`sort_rows_by_content`). Where
    it is a
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
    >>> from symscreen.data import read_dataset
    >>> table = read_dataset({"y": [5, 4, 3, 2, 1], "b": [1, 2, 3, 4, 9], "a": [0, 0, 1, 1, 2]})
    >>> table.names, table.columns.shape, table.rows.tolist()
    (('a', 'b'), (2, 5), [4, 3, 2, 1, 0])
    """

    names: tuple[str, ...]
    columns: NDArray[np.float64]
    target: Target
    source_rows: NDArray[np.int64]
    notices: tuple[str, ...]
    n_dropped: int
    digest: str

    @property
    def numeric_target(self) -> NumericTarget:
        """The response of a table that must have a numeric one; another is refused."""
        return require_numeric_target(self.target, "this")

    @property
    def regression_target(self) -> RegressionTarget:
        """The response of a table that must have one of numbers, or several; another is refused."""
        return require_regression_target(self.target, "this")


def build_numeric_dataset(
    inputs: Inputs,
    target: NDArray[np.float64],
    name: str,
    *,
    row_mask: NDArray[np.bool_],
    notices: Sequence[str],
) -> Dataset:
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
    >>> build_numeric_dataset({"x": x}, y, "y", row_mask=np.array([True, False, True]),
    ...     notices=()).columns.tolist()
    [[3.0, 1.0]]
    """
    names = tuple(sorted(inputs))
    rows = np.flatnonzero(row_mask)
    order = rows[sort_canonically([inputs[each][rows] for each in names], target[rows])]
    return build_ordered_dataset(inputs, order, NumericTarget(target[order] + 0.0, name), row_mask, notices)


def build_ranking_dataset(
    inputs: Inputs, ranking_data: RankingData, *, row_mask: NDArray[np.bool_], notices: Sequence[str]
) -> Dataset:
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
    rows = np.flatnonzero(row_mask)
    known = Rankings(ranking_data.ranks[rows], ranking_data.labels)
    columns = [inputs[each][rows] for each in sorted(inputs)]
    by_inputs = sort_canonically(columns[1:], columns[0])
    new = np.zeros(rows.size - 1, dtype=np.bool_)  # one column at a time: there may be 100,000 of them
    for column in columns:
        own = column[by_inputs]
        new |= own[1:] != own[:-1]
    groups = np.empty(rows.size, dtype=np.int64)
    groups[by_inputs] = np.concatenate([[0], np.cumsum(new)])
    order = sort_rows_by_content(groups, known.ranks)
    response = RankingTarget(Rankings(known.ranks[order], known.labels), ranking_data.name)
    return build_ordered_dataset(inputs, rows[order], response, row_mask, notices)


def build_stages_dataset(
    inputs: Inputs, stage_data: StageData, *, row_mask: NDArray[np.bool_], notices: Sequence[str]
) -> Dataset:
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
    rows = np.flatnonzero(row_mask)
    outcomes = stage_data.outcomes[rows]
    columns = [inputs[each][rows] for each in sorted(inputs)]
    order = sort_canonically([*columns[1:], *outcomes.T.astype(np.float64)], columns[0])
    response = StagesTarget(outcomes[order], stage_data.stages, stage_data.weights)
    return build_ordered_dataset(inputs, rows[order], response, row_mask, notices)


def build_ordered_dataset(
    inputs: Inputs,
    order: NDArray[np.intp],
    target: Target,
    row_mask: NDArray[np.bool_],
    notices: Sequence[str],
) -> Dataset:
    """Make a table of rows of a source, whose order is known."""
    names = tuple(sorted(inputs))
    columns = np.empty((len(names), order.size))
    for row, each in zip(columns, names, strict=True):
        np.add(inputs[each][order], 0.0, out=row)  # -0.0 + 0.0 is 0.0
    return Dataset(
        names=names,
        columns=columns,
        target=target,
        source_rows=order.astype(np.int64),
        notices=tuple(notices),
        n_dropped=int(row_mask.size - order.size),
        digest=_compute_digest(names, columns, target),
    )


def take_rows(dataset: Dataset, rows: NDArray[np.int64]) -> Dataset:
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
    inputs = dict(zip(dataset.names, dataset.columns, strict=True))
    kept = np.zeros(dataset.target.n, dtype=np.bool_)
    kept[rows] = True
    if isinstance(dataset.target, MultiOutputTarget):
        response = take_target_rows(dataset.target, np.flatnonzero(kept))
        # rows stand in the order of the inputs, and some of them do so, too
        part = build_ordered_dataset(inputs, np.flatnonzero(kept), response, kept, dataset.notices)
        return replace(part, source_rows=dataset.source_rows[part.source_rows], n_dropped=dataset.n_dropped)
    part = build_numeric_dataset(
        inputs, dataset.numeric_target.values, dataset.target.name, row_mask=kept, notices=dataset.notices
    )
    return replace(part, source_rows=dataset.source_rows[part.source_rows], n_dropped=dataset.n_dropped)


def take_inputs(dataset: Dataset, names: Sequence[str]) -> Dataset:
    """Return a table of some of the inputs, at least one of them."""
    inputs = {name: dataset.columns[dataset.names.index(name)] for name in names}
    every = np.ones(dataset.target.n, dtype=np.bool_)
    part = build_numeric_dataset(
        inputs, dataset.numeric_target.values, dataset.target.name, row_mask=every, notices=dataset.notices
    )
    return replace(part, source_rows=dataset.source_rows[part.source_rows], n_dropped=dataset.n_dropped)


def replace_target(dataset: Dataset, values: NDArray[np.float64]) -> Dataset:
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
    inputs = dict(zip(dataset.names, dataset.columns, strict=True))
    every = np.ones(len(values), dtype=np.bool_)
    moved = build_numeric_dataset(
        inputs, values, dataset.target.name, row_mask=every, notices=dataset.notices
    )
    return replace(moved, source_rows=dataset.source_rows[moved.source_rows], n_dropped=dataset.n_dropped)


def sort_canonically(
    further_keys: list[NDArray[np.float64]], first_key: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Order rows by what comes first, the response as a rule, then by the columns from first to last."""
    order = np.argsort(first_key, kind="stable")
    if (np.diff(first_key[order]) > 0).all():
        return order  # no tie is left for the columns to break, and there may be 100,000 of them
    return np.lexsort((*reversed(further_keys), first_key))


def _compute_digest(names: tuple[str, ...], columns: NDArray[np.float64], target: Target) -> str:
    # JSON, because names may hold any separator
    told: list[object] = [names, target.name, columns.shape]
    values: NDArray[np.generic]
    if isinstance(target, RankingTarget):
        told.append(target.labels)
        values = target.ranks
    elif isinstance(target, StagesTarget):
        told += [target.stages, target.weights.tolist()]
        values = target.outcomes
    elif isinstance(target, MulticlassTarget):
        told.append(target.classes)
        values = target.codes
    elif isinstance(target, SurvivalTarget):
        told.append(target.event)
        values = np.stack([target.times, target.events.astype(np.float64)])
    elif isinstance(target, MultiOutputTarget):
        told.append(target.names)
        values = target.values
    elif isinstance(target, WeightedTarget):
        told.append("weighted")
        values = np.stack([target.values, target.weights])
    else:
        values = target.values
    hashed = hashlib.sha256(json.dumps(told).encode())
    for each in (columns, values):
        hashed.update(np.ascontiguousarray(each, dtype="<f8").data)
    return hashed.hexdigest()


def build_multiclass_dataset(
    inputs: Inputs, class_data: ClassData, *, row_mask: NDArray[np.bool_], notices: Sequence[str]
) -> Dataset:
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
    rows = np.flatnonzero(row_mask)
    there, codes = np.unique(class_data.codes[rows], return_inverse=True)
    classes = tuple(class_data.classes[int(code)] for code in there)
    order = _sort_by_inputs(inputs, rows, codes[None].astype(np.float64))
    response = MulticlassTarget(codes[order].astype(np.int64), classes, class_data.name)
    return build_ordered_dataset(inputs, rows[order], response, row_mask, notices)


def build_multi_output_dataset(
    inputs: Inputs, targets: dict[str, Values], *, row_mask: NDArray[np.bool_], notices: Sequence[str]
) -> Dataset:
    """Put columns and rows of a table with several targets into canonical order.

    Parameters
    ----------
    inputs, kept, notices
        As of `build_multiclass_dataset`.
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
    rows = np.flatnonzero(row_mask)
    values = np.stack([targets[name][rows] for name in sorted(targets)])
    order = _sort_by_inputs(inputs, rows, values)
    response = build_multi_output_target(dict(zip(sorted(targets), values[:, order], strict=True)))
    return build_ordered_dataset(inputs, rows[order], response, row_mask, notices)


def build_survival_dataset(
    inputs: Inputs, survival_data: SurvivalData, *, row_mask: NDArray[np.bool_], notices: Sequence[str]
) -> Dataset:
    """Put columns and rows of a table whose response is a time until an event into canonical order.

    Parameters
    ----------
    inputs, kept, notices
        As of `build_multiclass_dataset`.
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
    rows = np.flatnonzero(row_mask)
    times, events = survival_data.times[rows], survival_data.events[rows] == 1.0
    columns = [inputs[each][rows] for each in sorted(inputs)]
    order = sort_canonically([1.0 - events, *columns], times)
    response = SurvivalTarget(times[order] + 0.0, events[order], survival_data.name, survival_data.event)
    return build_ordered_dataset(inputs, rows[order], response, row_mask, notices)


def build_weighted_dataset(
    inputs: Inputs,
    target: Values,
    name: str,
    weights: Values,
    *,
    row_mask: NDArray[np.bool_],
    notices: Sequence[str],
) -> Dataset:
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
    rows = np.flatnonzero(row_mask)
    own = normalize_weights(weights[rows])
    columns = [inputs[each][rows] for each in sorted(inputs)]
    order = sort_canonically([*columns, own], target[rows])
    plain = NumericTarget(target[rows][order] + 0.0, name)
    return build_ordered_dataset(inputs, rows[order], WeightedTarget(plain, own[order]), row_mask, notices)


def _sort_by_inputs(inputs: Inputs, rows: NDArray[np.intp], tie_breakers: Values) -> NDArray[np.intp]:
    """Order rows by the inputs, ties by what they hold."""
    columns = [inputs[each][rows] for each in sorted(inputs)]
    return sort_canonically([*columns[1:], *tie_breakers], columns[0])

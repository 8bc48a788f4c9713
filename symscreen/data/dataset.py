"""The dataset of a screen and its canonical order, which makes results independent of the source's order.

`Dataset` is immutable. One builder per target type sorts rows and inputs into canonical order.
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


@dataclass(frozen=True, eq=False)
class Dataset:
    """Inputs and target of a screen, in canonical order.

    Inputs are sorted by name (code points). The order of the rows depends on the target type:

    - numeric, weighted: by the target in ascending order, ties by the inputs (then by the weight);
    - ranking: by the inputs, ties by the rankings, independent of the label names (`sort_rows_by_content`);
    - stages, classes, several outputs: by the inputs, ties by the target;
    - survival: by the times, events first, then by the inputs.

    Two sources that differ only in the order of rows or columns result in identical bytes.

    Parameters
    ----------
    names : tuple of str, length d
        Names of the inputs, as in the source.
    columns : float64 array, shape (d, n), C-contiguous
        One row per input. All values are finite, without negative zeros.
    target : Target
        The target of the n rows.
    source_rows : int64 array, shape (n,)
        Row number of each row in the source, from 0 for the first data row.
    notices : tuple of str
        One line per automatic decision, for example columns left out.
    n_dropped : int
        Number of source rows that are not in the dataset.
    digest : str
        Hexadecimal SHA-256 of the names, the target's metadata and all values in canonical order.

    Examples
    --------
    >>> from symscreen.data import read_dataset
    >>> dataset = read_dataset({"y": [5, 4, 3, 2, 1], "b": [1, 2, 3, 4, 9], "a": [0, 0, 1, 1, 2]})
    >>> dataset.names, dataset.columns.shape, dataset.source_rows.tolist()
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
    def columns_by_name(self) -> dict[str, NDArray[np.float64]]:
        """The columns of the inputs by name, each of shape (n,)."""
        return dict(zip(self.names, self.columns, strict=True))

    @property
    def numeric_target(self) -> NumericTarget:
        """The target, which must be numeric; raises OptionError otherwise."""
        return require_numeric_target(self.target, "this")

    @property
    def regression_target(self) -> RegressionTarget:
        """The target, which must be numeric with one or several outputs; raises OptionError otherwise."""
        return require_regression_target(self.target, "this")


def build_numeric_dataset(
    inputs: Inputs,
    target: NDArray[np.float64],
    name: str,
    *,
    row_mask: NDArray[np.bool_],
    notices: Sequence[str],
) -> Dataset:
    """Build a dataset with a numeric target.

    Parameters
    ----------
    inputs : dict of str to float64 array, each of shape (m,)
        The input columns of the source, finite in the used rows.
    target : float64 array, shape (m,)
        The target column, finite in the used rows.
    name : str
        Name of the target.
    row_mask : bool array, shape (m,)
        True for the rows to use; the others count as dropped.
    notices : sequence of str
        Lines for `Dataset.notices`.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        If the target is constant.

    Examples
    --------
    >>> x, y = np.array([1.0, 2.0, 3.0]), np.array([3.0, 1.0, 2.0])
    >>> build_numeric_dataset({"x": x}, y, "y", row_mask=np.array([True, False, True]),
    ...     notices=()).columns.tolist()
    [[3.0, 1.0]]
    """
    names = tuple(sorted(inputs))
    rows = np.flatnonzero(row_mask)
    order = rows[sort_canonically([inputs[input_name][rows] for input_name in names], target[rows])]
    return build_ordered_dataset(inputs, order, NumericTarget(target[order] + 0.0, name), row_mask, notices)


def build_ranking_dataset(
    inputs: Inputs, ranking_data: RankingData, *, row_mask: NDArray[np.bool_], notices: Sequence[str]
) -> Dataset:
    """Build a dataset whose target is a ranking.

    Parameters
    ----------
    inputs : dict of str to float64 array, each of shape (m,)
        The input columns of the source, finite in the used rows.
    ranking_data : RankingData
        The rankings of the m rows. Each used row ranks at least one label.
    row_mask : bool array, shape (m,)
        True for the rows to use; the others count as dropped.
    notices : sequence of str
        Lines for `Dataset.notices`.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        If no two labels are ordered both ways.
    """
    rows = np.flatnonzero(row_mask)
    rankings = Rankings(ranking_data.ranks[rows], ranking_data.labels)
    columns = [inputs[name][rows] for name in sorted(inputs)]
    input_order = sort_canonically(columns[1:], columns[0])
    starts_group = np.zeros(rows.size - 1, dtype=np.bool_)
    for column in columns:  # one column at a time, because there may be 100,000 of them
        values = column[input_order]
        starts_group |= values[1:] != values[:-1]
    groups = np.empty(rows.size, dtype=np.int64)
    groups[input_order] = np.concatenate([[0], np.cumsum(starts_group)])
    order = sort_rows_by_content(groups, rankings.ranks)
    target = RankingTarget(Rankings(rankings.ranks[order], rankings.labels), ranking_data.name)
    return build_ordered_dataset(inputs, rows[order], target, row_mask, notices)


def build_stages_dataset(
    inputs: Inputs, stage_data: StageData, *, row_mask: NDArray[np.bool_], notices: Sequence[str]
) -> Dataset:
    """Build a dataset whose target is a chain of stages.

    Parameters
    ----------
    inputs : dict of str to float64 array, each of shape (m,)
        The input columns of the source, finite in the used rows.
    stage_data : StageData
        The outcomes of the m rows.
    row_mask : bool array, shape (m,)
        True for the rows to use; the others count as dropped.
    notices : sequence of str
        Lines for `Dataset.notices`.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        If all rows, or none, reach some stage.
    """
    rows = np.flatnonzero(row_mask)
    outcomes = stage_data.outcomes[rows]
    order = _sort_by_inputs(inputs, rows, outcomes.T.astype(np.float64))
    target = StagesTarget(outcomes[order], stage_data.stages, stage_data.weights)
    return build_ordered_dataset(inputs, rows[order], target, row_mask, notices)


def build_ordered_dataset(
    inputs: Inputs,
    order: NDArray[np.intp],
    target: Target,
    row_mask: NDArray[np.bool_],
    notices: Sequence[str],
) -> Dataset:
    """Build a dataset from source rows in a given order.

    Parameters
    ----------
    inputs : dict of str to float64 array, each of shape (m,)
        The input columns of the source.
    order : intp array, shape (n,)
        The source rows to use, in canonical order.
    target : Target
        The target, in the same order.
    row_mask : bool array, shape (m,)
        Only its size is used, to count dropped rows.
    notices : sequence of str
        Lines for `Dataset.notices`.

    Returns
    -------
    Dataset
    """
    names = tuple(sorted(inputs))
    columns = np.empty((len(names), order.size))
    for output, name in zip(columns, names, strict=True):
        np.add(inputs[name][order], 0.0, out=output)  # + 0.0 replaces −0.0 by 0.0
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
    """Return a dataset of some of the rows.

    Parameters
    ----------
    dataset : Dataset
        A dataset with a numeric target, of one or several outputs.
    rows : int64 array
        Indices of its rows, in any order.

    Returns
    -------
    Dataset
        The rows in canonical order. The number of dropped rows is unchanged.

    Raises
    ------
    DataError
        If the target is constant in these rows, or there are fewer than two.
    """
    inputs = dict(zip(dataset.names, dataset.columns, strict=True))
    row_mask = np.zeros(dataset.target.n, dtype=np.bool_)
    row_mask[rows] = True
    if isinstance(dataset.target, MultiOutputTarget):
        # The rows are in the order of the inputs, and so is every subset of them.
        order = np.flatnonzero(row_mask)
        target = take_target_rows(dataset.target, order)
        return _keep_source(dataset, build_ordered_dataset(inputs, order, target, row_mask, dataset.notices))
    return _rebuild_numeric(dataset, inputs, dataset.numeric_target.values, row_mask)


def take_inputs(dataset: Dataset, names: Sequence[str]) -> Dataset:
    """Return a dataset of some of the inputs.

    Parameters
    ----------
    dataset : Dataset
        A dataset with a numeric target.
    names : sequence of str
        At least one of its inputs.

    Returns
    -------
    Dataset
        The rows are sorted again, because the inputs break ties of the target.
    """
    inputs = {name: dataset.columns[dataset.names.index(name)] for name in names}
    return _rebuild_numeric(dataset, inputs, dataset.numeric_target.values)


def replace_target(dataset: Dataset, values: NDArray[np.float64]) -> Dataset:
    """Replace the target of a dataset and sort its rows accordingly.

    Parameters
    ----------
    dataset : Dataset
        The dataset.
    values : float64 array, shape (n,)
        The new target, in the order of the dataset's rows.

    Returns
    -------
    Dataset
        The same rows in their new canonical order.

    Raises
    ------
    DataError
        If the new target is constant.
    """
    return _rebuild_numeric(dataset, dict(zip(dataset.names, dataset.columns, strict=True)), values)


def _rebuild_numeric(
    dataset: Dataset, inputs: Inputs, values: Values, row_mask: NDArray[np.bool_] | None = None
) -> Dataset:
    """Build a dataset from inputs and target values of shape (n,) in the row order of another dataset."""
    mask = np.ones(len(values), dtype=np.bool_) if row_mask is None else row_mask
    part = build_numeric_dataset(inputs, values, dataset.target.name, row_mask=mask, notices=dataset.notices)
    return _keep_source(dataset, part)


def _keep_source(dataset: Dataset, part: Dataset) -> Dataset:
    """Refer the rows of a derived dataset to the source of the original dataset."""
    return replace(part, source_rows=dataset.source_rows[part.source_rows], n_dropped=dataset.n_dropped)


def sort_canonically(
    further_keys: list[NDArray[np.float64]], first_key: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Sort rows by a first key, usually the target, and break ties by further keys.

    Parameters
    ----------
    further_keys : list of float64 arrays, each of shape (n,)
        Keys that break ties, in order of precedence.
    first_key : float64 array, shape (n,)
        The first key.

    Returns
    -------
    intp array, shape (n,)
        The stable order of the rows.
    """
    order = np.argsort(first_key, kind="stable")
    if (np.diff(first_key[order]) > 0).all():
        return order  # no ties: skip the further keys (up to 100,000)
    return np.lexsort((*reversed(further_keys), first_key))


def _compute_digest(names: tuple[str, ...], columns: NDArray[np.float64], target: Target) -> str:
    """Return the SHA-256 of names (as JSON, because they may contain any separator) and values."""
    metadata: list[object] = [names, target.name, columns.shape]
    values: NDArray[np.generic]
    if isinstance(target, RankingTarget):
        metadata.append(target.labels)
        values = target.ranks
    elif isinstance(target, StagesTarget):
        metadata += [target.stages, target.weights.tolist()]
        values = target.outcomes
    elif isinstance(target, MulticlassTarget):
        metadata.append(target.classes)
        values = target.codes
    elif isinstance(target, SurvivalTarget):
        metadata.append(target.event)
        values = np.stack([target.times, target.events.astype(np.float64)])
    elif isinstance(target, MultiOutputTarget):
        metadata.append(target.names)
        values = target.values
    elif isinstance(target, WeightedTarget):
        metadata.append("weighted")
        values = np.stack([target.values, target.weights])
    else:
        values = target.values
    digest = hashlib.sha256(json.dumps(metadata).encode())
    for array in (columns, values):
        digest.update(np.ascontiguousarray(array, dtype="<f8").data)
    return digest.hexdigest()


def build_multiclass_dataset(
    inputs: Inputs, class_data: ClassData, *, row_mask: NDArray[np.bool_], notices: Sequence[str]
) -> Dataset:
    """Build a dataset whose target is a class.

    Parameters
    ----------
    inputs : dict of str to float64 array, each of shape (m,)
        The input columns of the source, finite in the used rows.
    class_data : ClassData
        The class of each of the m rows, known in the used rows. Classes without a used row are removed.
    row_mask : bool array, shape (m,)
        True for the rows to use; the others count as dropped.
    notices : sequence of str
        Lines for `Dataset.notices`.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        If all used rows have the same class.
    """
    rows = np.flatnonzero(row_mask)
    used_codes, codes = np.unique(class_data.codes[rows], return_inverse=True)
    classes = tuple(class_data.classes[int(code)] for code in used_codes)
    order = _sort_by_inputs(inputs, rows, codes[None].astype(np.float64))
    target = MulticlassTarget(codes[order].astype(np.int64), classes, class_data.name)
    return build_ordered_dataset(inputs, rows[order], target, row_mask, notices)


def build_multi_output_dataset(
    inputs: Inputs, targets: dict[str, Values], *, row_mask: NDArray[np.bool_], notices: Sequence[str]
) -> Dataset:
    """Build a dataset with several numeric outputs.

    Parameters
    ----------
    inputs : dict of str to float64 array, each of shape (m,)
        The input columns of the source, finite in the used rows.
    targets : dict of str to float64 array, each of shape (m,)
        The outputs, finite in the used rows.
    row_mask : bool array, shape (m,)
        True for the rows to use; the others count as dropped.
    notices : sequence of str
        Lines for `Dataset.notices`.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        If an output is constant.
    """
    rows = np.flatnonzero(row_mask)
    values = np.stack([targets[name][rows] for name in sorted(targets)])
    order = _sort_by_inputs(inputs, rows, values)
    target = build_multi_output_target(dict(zip(sorted(targets), values[:, order], strict=True)))
    return build_ordered_dataset(inputs, rows[order], target, row_mask, notices)


def build_survival_dataset(
    inputs: Inputs, survival_data: SurvivalData, *, row_mask: NDArray[np.bool_], notices: Sequence[str]
) -> Dataset:
    """Build a dataset whose target is a time until an event.

    Parameters
    ----------
    inputs : dict of str to float64 array, each of shape (m,)
        The input columns of the source, finite in the used rows.
    survival_data : SurvivalData
        Times and events of the m rows, known in the used rows.
    row_mask : bool array, shape (m,)
        True for the rows to use; the others count as dropped.
    notices : sequence of str
        Lines for `Dataset.notices`.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        If no two rows are comparable.
    """
    rows = np.flatnonzero(row_mask)
    times, events = survival_data.times[rows], survival_data.events[rows] == 1.0
    columns = [inputs[name][rows] for name in sorted(inputs)]
    order = sort_canonically([1.0 - events, *columns], times)
    target = SurvivalTarget(times[order] + 0.0, events[order], survival_data.name, survival_data.event)
    return build_ordered_dataset(inputs, rows[order], target, row_mask, notices)


def build_weighted_dataset(
    inputs: Inputs,
    target: Values,
    name: str,
    weights: Values,
    *,
    row_mask: NDArray[np.bool_],
    notices: Sequence[str],
) -> Dataset:
    """Build a dataset with a numeric target and row weights.

    Parameters
    ----------
    inputs : dict of str to float64 array, each of shape (m,)
        The input columns of the source, finite in the used rows.
    target : float64 array, shape (m,)
        The target column, finite in the used rows.
    name : str
        Name of the target.
    weights : float64 array, shape (m,)
        Row weights, positive in the used rows.
    row_mask : bool array, shape (m,)
        True for the rows to use; the others count as dropped.
    notices : sequence of str
        Lines for `Dataset.notices`.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        If the target is constant.
    """
    rows = np.flatnonzero(row_mask)
    normalized_weights = normalize_weights(weights[rows])
    columns = [inputs[input_name][rows] for input_name in sorted(inputs)]
    order = sort_canonically([*columns, normalized_weights], target[rows])
    numeric_target = NumericTarget(target[rows][order] + 0.0, name)
    return build_ordered_dataset(
        inputs, rows[order], WeightedTarget(numeric_target, normalized_weights[order]), row_mask, notices
    )


def _sort_by_inputs(inputs: Inputs, rows: NDArray[np.intp], tie_breakers: Values) -> NDArray[np.intp]:
    """Sort rows by the inputs and break ties by keys of shape (K, n)."""
    columns = [inputs[name][rows] for name in sorted(inputs)]
    return sort_canonically([*columns[1:], *tie_breakers], columns[0])

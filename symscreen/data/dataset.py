"""The dataset of a screen and its canonical order, which makes results independent of the source's order.

`Dataset` is immutable. The target's type sorts the rows, see `symscreen.targets`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.targets import NumericTarget
from symscreen.targets.registry import require_numeric_target, require_regression_target

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen._typing import Flags, Integers, Values
    from symscreen.data.column_types import DerivedColumn
    from symscreen.targets import Target
    from symscreen.targets.base import TargetBuilder
    from symscreen.targets.registry import RegressionTarget


@dataclass(frozen=True, eq=False)
class Dataset:
    """Inputs and target of a screen, in canonical order.

    Inputs are sorted by name (code points), rows as the target's type requires.

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
    indicators : mapping of str to DerivedColumn
        How the inputs are computed that are derived from other columns, by name.
    filled_cells : mapping of str to bool array, each of shape (n,)
        The rows in which an input was missing and is filled, by name.

    Examples
    --------
    >>> from symscreen.data import read_dataset
    >>> dataset = read_dataset({"y": [5, 4, 3, 2, 1], "b": [1, 2, 3, 4, 9], "a": [0, 0, 1, 1, 2]})
    >>> dataset.names, dataset.columns.shape, dataset.source_rows.tolist()
    (('a', 'b'), (2, 5), [4, 3, 2, 1, 0])
    """

    names: tuple[str, ...]
    columns: Values
    target: Target
    source_rows: Integers
    notices: tuple[str, ...]
    n_dropped: int
    digest: str
    indicators: Mapping[str, DerivedColumn] = field(default_factory=dict)
    filled_cells: Mapping[str, Flags] = field(default_factory=dict)

    @property
    def columns_by_name(self) -> dict[str, Values]:
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


def build_dataset(
    inputs: Mapping[str, Values], build_target: TargetBuilder, row_mask: Flags, notices: Sequence[str] = ()
) -> Dataset:
    """Build a dataset from the used rows of a source.

    Parameters
    ----------
    inputs : dict of str to float64 array, each of shape (m,)
        The input columns of the source, finite in the used rows.
    build_target : callable
        Builds the target from the used rows, see `symscreen.targets.base.TargetColumns`.
    row_mask : bool array, shape (m,)
        True for the rows to use; the others count as dropped.
    notices : sequence of str
        Lines for `Dataset.notices`; those of the target are appended.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        If nothing can be ranked against the target in these rows, for example because it is constant.

    Examples
    --------
    >>> x, y = np.array([1.0, 2.0, 3.0]), np.array([3.0, 1.0, 2.0])
    >>> def build(inputs, rows):
    ...     return NumericTarget.build(inputs, y[rows], "y")
    >>> build_dataset({"x": x}, build, np.array([True, False, True])).columns.tolist()
    [[3.0, 1.0]]
    """
    names, rows = tuple(sorted(inputs)), np.flatnonzero(row_mask)
    order, target = build_target([inputs[name][rows] for name in names], rows)
    columns = np.empty((len(names), order.size))
    for output, name in zip(columns, names, strict=True):
        np.add(inputs[name][rows[order]], 0.0, out=output)  # + 0.0 replaces −0.0 by 0.0
    return Dataset(
        names=names,
        columns=columns,
        target=target,
        source_rows=rows[order].astype(np.int64),
        notices=(*notices, *target.notices),
        n_dropped=int(row_mask.size - order.size),
        digest=_compute_digest(names, columns, target),
    )


def take_rows(dataset: Dataset, rows: Integers) -> Dataset:
    """Return a dataset of some of the rows.

    Parameters
    ----------
    dataset : Dataset
        A dataset.
    rows : int64 array
        Indices of its rows, in any order.

    Returns
    -------
    Dataset
        The rows in canonical order. The number of dropped rows is unchanged.

    Raises
    ------
    DataError
        If nothing can be ranked against the target in these rows, for example because it is constant.
    """
    row_mask = np.zeros(dataset.target.n, dtype=np.bool_)
    row_mask[rows] = True
    return _rebuild(dataset, dataset.names, dataset.target.take_rows, row_mask)


def take_inputs(dataset: Dataset, names: Sequence[str]) -> Dataset:
    """Return a dataset of some of the inputs, at least one.

    The rows are sorted again, because the inputs break ties of the target.
    """
    return _rebuild(dataset, names, dataset.target.take_rows)


def replace_target(dataset: Dataset, values: Values) -> Dataset:
    """Replace the target of a dataset by a numeric one and sort its rows accordingly.

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
    return _rebuild(
        dataset,
        dataset.names,
        lambda inputs, rows: NumericTarget.build(inputs, values[rows], dataset.target.name),
    )


def _rebuild(
    dataset: Dataset, names: Sequence[str], build_target: TargetBuilder, row_mask: Flags | None = None
) -> Dataset:
    """Build a dataset from inputs and rows of another one; its rows refer to the same source."""
    columns = dataset.columns_by_name
    inputs = {name: columns[name] for name in names}
    mask = np.ones(dataset.target.n, dtype=np.bool_) if row_mask is None else row_mask
    part = build_dataset(inputs, build_target, mask)
    return replace(
        part,
        source_rows=dataset.source_rows[part.source_rows],
        notices=dataset.notices,
        n_dropped=dataset.n_dropped,
        indicators={name: each for name, each in dataset.indicators.items() if name in inputs},
        filled_cells={
            name: cells[part.source_rows] for name, cells in dataset.filled_cells.items() if name in inputs
        },
    )


def encode_digest_metadata(names: Sequence[str], shape: tuple[int, ...], target: Target) -> bytes:
    """Encode what precedes the values in a digest, as JSON, because names may contain any separator."""
    return json.dumps([names, target.name, shape, *target.digest_metadata]).encode()


def _compute_digest(names: tuple[str, ...], columns: Values, target: Target) -> str:
    """Return the SHA-256 of the names and of the values, column by column, then those of the target."""
    digest = hashlib.sha256(encode_digest_metadata(names, columns.shape, target))
    for array in (columns, target.data):
        digest.update(np.ascontiguousarray(array, dtype="<f8").data)
    return digest.hexdigest()

"""Multi-output targets: several numeric outputs of the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from symscreen.targets.numeric import NumericTarget
from symscreen.targets.ranking_notation import quote_label

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.targets.numeric import TargetType


@dataclass(frozen=True, eq=False)
class MultiOutputTarget:
    """A target of K numeric outputs.

    Parameters
    ----------
    outputs : tuple of NumericTarget, length K
        The outputs in the order of their names, each with ascending values.
    sort_order : int32 array, shape (K, n)
        Row index of each sorted value of an output.
    sorted_positions : int32 array, shape (K, n)
        Position of each row among the sorted values of an output; the inverse of `sort_order`.

    Examples
    --------
    >>> y = build_multi_output_target({"a": np.array([3.0, 1.0, 2.0]), "b": np.array([0.0, 0.0, 1.0])})
    >>> y.name, y.sort_order.tolist(), y.outputs[0].values.tolist()
    ('a,b', [[1, 2, 0], [0, 1, 2]], [1.0, 2.0, 3.0])
    """

    outputs: tuple[NumericTarget, ...]
    sort_order: NDArray[np.int32]
    sorted_positions: NDArray[np.int32]
    target_type: ClassVar[TargetType] = "several"

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.sort_order.shape[1])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return tuple(output.name for output in self.outputs)

    @property
    def name(self) -> str:
        """Names of all outputs, separated by commas, for messages and results."""
        return ",".join(map(quote_label, self.names))

    @property
    def values(self) -> NDArray[np.float64]:
        """Values in the order of the rows; shape (K, n)."""
        return np.stack(
            [
                output.values[positions]
                for output, positions in zip(self.outputs, self.sorted_positions, strict=True)
            ]
        )


def build_multi_output_target(outputs: dict[str, NDArray[np.float64]]) -> MultiOutputTarget:
    """Build a multi-output target by sorting the values of each output; ties keep the order of the rows.

    Parameters
    ----------
    outputs : dict of str to float64 array, each of shape (n,)
        Finite values by name.

    Returns
    -------
    MultiOutputTarget

    Raises
    ------
    DataError
        If an output is constant.
    """
    names = sorted(outputs)
    sort_order = np.stack([np.argsort(outputs[name], kind="stable") for name in names]).astype(np.int32)
    sorted_positions = np.argsort(sort_order, axis=1, kind="stable").astype(np.int32)
    sorted_outputs = (
        NumericTarget(outputs[name][order] + 0.0, name) for name, order in zip(names, sort_order, strict=True)
    )
    return MultiOutputTarget(tuple(sorted_outputs), sort_order, sorted_positions)


def select_output(target: MultiOutputTarget, index: int) -> MultiOutputTarget:
    """Return one output as a multi-output target with K = 1.

    Parameters
    ----------
    target : MultiOutputTarget
        The target.
    index : int
        Index of the output, 0 ≤ index < K.

    Returns
    -------
    MultiOutputTarget
        The rows keep their order.
    """
    selected = slice(index, index + 1)
    return MultiOutputTarget(
        target.outputs[selected], target.sort_order[selected], target.sorted_positions[selected]
    )


def take_target_rows(target: MultiOutputTarget, rows: NDArray[np.int64]) -> MultiOutputTarget:
    """Return a multi-output target of some of the rows.

    Parameters
    ----------
    target : MultiOutputTarget
        The target.
    rows : int64 array, shape (m,)
        Row indices, in the order of the result.

    Returns
    -------
    MultiOutputTarget

    Raises
    ------
    DataError
        If an output is constant in these rows.

    Examples
    --------
    >>> y = build_multi_output_target({"a": np.array([3.0, 1.0, 2.0]), "b": np.array([0.0, 0.0, 1.0])})
    >>> take_target_rows(y, np.array([0, 2])).values.tolist()
    [[3.0, 2.0], [0.0, 1.0]]
    """
    return build_multi_output_target(dict(zip(target.names, target.values[:, rows], strict=True)))

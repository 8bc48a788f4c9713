"""Several numeric responses at once, that rows of one order are scored against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from symscreen.targets.numeric import NumericTarget
from symscreen.targets.ranking_notation import quote_label

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.targets.numeric import TargetType


__all__ = ["MultiOutputTarget", "build_multi_output_target", "select_output", "take_target_rows"]


@dataclass(frozen=True, eq=False)
class MultiOutputTarget:
    """K numeric responses of n rows.

    Parameters
    ----------
    targets : tuple of Response, length K
        Each with its values ascending; in the order of their names.
    rows : int32 array, shape (K, n)
        Which row each value of a target is of.
    places : int32 array, shape (K, n)
        Where among the values of a target each row stands: the inverse.

    Examples
    --------
    >>> y = build_multi_output_target({"a": np.array([3.0, 1.0, 2.0]), "b": np.array([0.0, 0.0, 1.0])})
    >>> y.name, y.rows.tolist(), y.targets[0].values.tolist()
    ('a,b', [[1, 2, 0], [0, 1, 2]], [1.0, 2.0, 3.0])
    """

    outputs: tuple[NumericTarget, ...]
    sort_order: NDArray[np.int32]
    sorted_positions: NDArray[np.int32]
    target_type: ClassVar[TargetType] = "several"

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.sort_order.shape[1])

    @property
    def names(self) -> tuple[str, ...]:
        """What each target is called."""
        return tuple(target.name for target in self.outputs)

    @property
    def name(self) -> str:
        """What they are called together, for messages and results."""
        return ",".join(map(quote_label, self.names))

    @property
    def values(self) -> NDArray[np.float64]:
        """The targets by row; shape (K, n)."""
        return np.stack([own.values[at] for own, at in zip(self.outputs, self.sorted_positions, strict=True)])


def build_multi_output_target(outputs: dict[str, NDArray[np.float64]]) -> MultiOutputTarget:
    """Put the values of each target in ascending order; ties keep the order of the rows.

    Parameters
    ----------
    targets : dict of str to float64 array, each of shape (n,)
        By name; finite.

    Returns
    -------
    SeveralResponse

    Raises
    ------
    TableError
        If one of them is constant.
    """
    names = sorted(outputs)
    rows = np.stack([np.argsort(outputs[name], kind="stable") for name in names]).astype(np.int32)
    places = np.argsort(rows, axis=1, kind="stable").astype(np.int32)
    ordered = (NumericTarget(outputs[name][own] + 0.0, name) for name, own in zip(names, rows, strict=True))
    return MultiOutputTarget(tuple(ordered), rows, places)


def select_output(target: MultiOutputTarget, index: int) -> MultiOutputTarget:
    """Return one of the targets, as the only one of several, with the rows in their order."""
    own = slice(index, index + 1)
    return MultiOutputTarget(target.outputs[own], target.sort_order[own], target.sorted_positions[own])


def take_target_rows(target: MultiOutputTarget, rows: NDArray[np.int64]) -> MultiOutputTarget:
    """Return several targets of some rows, in the order given.

    Examples
    --------
    >>> y = build_multi_output_target({"a": np.array([3.0, 1.0, 2.0]), "b": np.array([0.0, 0.0, 1.0])})
    >>> take_target_rows(y, np.array([0, 2])).values.tolist()
    [[3.0, 2.0], [0.0, 1.0]]
    """
    return build_multi_output_target(dict(zip(target.names, target.values[:, rows], strict=True)))

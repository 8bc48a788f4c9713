"""Rankings whose median is constant on six cells of two features: Clémençon and others (2017), §5.1.

The paper names no partition, only that it has K = 6 cells and that a tree of depth 3 has them. Here they are
the cells of a grid of two by three, each of the same probability, so that every greedy order of its cuts
stays within depth 3. A numeric feature is uniform on [0, 1]; a categorical one has two levels to a cell's
side, without an order: which codes belong together is drawn with the partition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError
from symscreen.ranking.generators.drawing import check_drawing

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CELLS", "SETTINGS", "Partition", "piecewise_partition"]

SETTINGS = {1: (False, False), 2: (False, True), 3: (True, True)}  # whether each feature is categorical
CELLS = 6  # K
_SIDES = (2, 3)  # of the grid
_LEVELS = 2  # of a categorical feature, to a side


@dataclass(frozen=True, eq=False)
class Partition:
    """A partition of the input space in six cells, and the median ranking of each.

    Parameters
    ----------
    categorical : tuple of bool
        Whether each of the two features is categorical: integer codes, stored as float64.
    sides : tuple of int64 array
        For each categorical feature the side of the grid that each code belongs to; empty for numeric ones.
    medians : float64 array, shape (6, k)
        σ1 … σ6, ranks; two cells may have the same.
    """

    categorical: tuple[bool, bool]
    sides: tuple[NDArray[np.int64], NDArray[np.int64]]
    medians: NDArray[np.float64]

    def inputs(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw n inputs, shape (n, 2): uniform on [0, 1], or uniform over the codes."""
        check_drawing(rng, n)
        columns = [
            rng.integers(codes.size, size=n).astype(np.float64) if categorical else rng.random(n)
            for categorical, codes in zip(self.categorical, self.sides, strict=True)
        ]
        return np.stack(columns, axis=1)

    def cells(self, x: NDArray[np.float64]) -> NDArray[np.int64]:
        """Tell the cell of each input, 0 … 5; shape (n,)."""
        first, second = (
            codes[column.astype(np.int64)] if codes.size else _side(column, count)
            for codes, count, column in zip(self.sides, _SIDES, x.T, strict=True)
        )
        return np.asarray(first * _SIDES[1] + second)

    def truth(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Tell the median ranking at each input; shape (n, k)."""
        return self.medians[self.cells(x)]


def _side(column: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Cut [0, 1] into parts of the same width."""
    return np.minimum(column * count, count - 1).astype(np.int64)


def piecewise_partition(setting: int, k: int, rng: np.random.Generator) -> Partition:
    """Draw a partition of one of the three settings, with a median for each cell.

    Parameters
    ----------
    setting : {1, 2, 3}
        Both features numeric; one numeric, one categorical; both categorical.
    k : int
        Labels, n in the paper.
    rng : numpy.random.Generator
        What draws the medians, each of the k! rankings with the same probability, and the codes' sides.

    Returns
    -------
    Partition
        The constant set of a trial is its truth; a noisy one is `mallows` about it.

    Raises
    ------
    OptionError
        If there is no such setting.

    Examples
    --------
    >>> import numpy as np
    >>> from symscreen.ranking.generators import mallows
    >>> rng = np.random.default_rng(0)
    >>> partition = piecewise_partition(1, 5, rng)
    >>> x = partition.inputs(1000, rng)
    >>> noisy = mallows(partition.truth(x), 2.0, 1000, rng)
    >>> x.shape, noisy.shape, len(np.unique(partition.cells(x)))
    ((1000, 2), (1000, 5), 6)
    """
    if setting not in SETTINGS:
        raise OptionError(f"there is no setting {setting!r}; known: 1, 2, 3")
    check_drawing(rng)
    medians = np.array([rng.permutation(k) + 1.0 for _ in range(CELLS)])
    first, second = (
        rng.permutation(np.repeat(np.arange(side), _LEVELS)) if categorical else np.empty(0, dtype=np.int64)
        for categorical, side in zip(SETTINGS[setting], _SIDES, strict=True)
    )
    return Partition(SETTINGS[setting], (first, second), medians)

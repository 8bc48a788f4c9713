"""`TextCells`: the cells of a column of text, each distinct text stored once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class TextCells:
    """The cells of a column of text.

    Parameters
    ----------
    distinct : sequence of str
        The distinct texts in the order in which they first appear.
    codes : int64 array of shape (n,)
        The index of each cell's text in `distinct`; −1 where a cell is missing.

    Examples
    --------
    >>> cells = TextCells.from_objects(["b", None, "b", "a"])
    >>> cells.distinct, cells.codes.tolist(), cells.to_list()
    (['b', 'a'], [0, -1, 0, 1], ['b', None, 'b', 'a'])
    """

    distinct: Sequence[str]
    codes: NDArray[np.int64]

    @classmethod
    def from_objects(cls, values: Any) -> TextCells:
        """Encode n texts; None, NaN and pandas.NA are missing."""
        import pandas as pd

        codes, distinct = pd.factorize(np.asarray(values, dtype=object))
        return cls([str(text) for text in distinct], codes.astype(np.int64))

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def n_missing(self) -> int:
        """The number of missing cells."""
        return int((self.codes < 0).sum())

    def count_cells(self) -> NDArray[np.int64]:
        """Count how often each distinct text occurs, and last how many cells are missing."""
        return np.bincount(self.codes % (len(self.distinct) + 1), minlength=len(self.distinct) + 1)

    def find_first_row(self, is_sought: Sequence[bool]) -> int:
        """Return the first row whose text is sought; `is_sought` has one value for each distinct text."""
        return int(np.argmax(np.array([*is_sought, False])[self.codes]))

    def to_list(self) -> list[str | None]:
        """Return the n cells, None where missing."""
        texts = np.array([*self.distinct, None], dtype=object)
        cells: list[str | None] = texts[self.codes].tolist()  # -1 is the last one, None
        return cells

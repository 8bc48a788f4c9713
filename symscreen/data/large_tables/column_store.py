"""`ColumnStore`: columns of numbers in files of a temporary folder, read when they are needed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING
from weakref import finalize

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from symscreen._typing import Values


_VALUE_BYTES = 8


class ColumnStore(Mapping[str, "Values"]):
    """Columns by name, float64 arrays of shape (n,), each in a file of its own.

    The folder is removed by `close`, and at the latest when the store is no longer used.

    Examples
    --------
    >>> store = ColumnStore()
    >>> store.append("x", np.array([1.0, 2.0]))
    >>> store.append("x", np.array([3.0]))
    >>> store["x"].tolist(), store.read("x", 1, 3).tolist()
    ([1.0, 2.0, 3.0], [2.0, 3.0])
    >>> store.close()
    """

    def __init__(self) -> None:
        self._folder = Path(mkdtemp(prefix="symscreen-columns-"))
        self._remove_folder = finalize(self, rmtree, self._folder, ignore_errors=True)
        self._paths: dict[str, Path] = {}
        self._n_made = 0

    def append(self, name: str, values: Values) -> None:
        """Append values of shape (m,) to a column, which is made if it is new."""
        if name not in self._paths:
            self._paths[name] = self._folder / f"{self._n_made}.f8"
            self._n_made += 1
        path = self._paths[name]
        with path.open("ab") as file:
            np.ascontiguousarray(values, dtype=np.float64).tofile(file)

    def read(self, name: str, start: int, stop: int) -> Values:
        """Read the rows from `start` to `stop` of a column."""
        return np.fromfile(self._paths[name], np.float64, max(stop - start, 0), offset=start * _VALUE_BYTES)

    def remove(self, name: str) -> None:
        """Remove a column."""
        self._paths.pop(name).unlink()

    def select(self, names: Sequence[str]) -> Mapping[str, Values]:
        """Return some of the columns, which are read one at a time."""
        return _SelectedColumns(self, tuple(names))

    def __getitem__(self, name: str) -> Values:
        return np.fromfile(self._paths[name], np.float64)

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def close(self) -> None:
        """Remove the folder."""
        self._remove_folder()


class _SelectedColumns(Mapping[str, "Values"]):
    """Some columns of a store."""

    def __init__(self, store: ColumnStore, names: tuple[str, ...]) -> None:
        self._store, self._names = store, names

    def __getitem__(self, name: str) -> Values:
        return self._store[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

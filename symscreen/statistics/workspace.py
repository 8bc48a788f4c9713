"""Scratch arrays that one thread reuses from block to block.

A new array of a megabyte is mapped and unmapped by the operating system each time. Touching its pages costs
as much as sorting its content.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from threading import local
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray


@dataclass(frozen=True, eq=False)
class Workspace:
    """Named scratch arrays of one thread.

    An array is overwritten when its name is requested again.

    Parameters
    ----------
    buffers : dict of str to uint8 array
        The allocated memory of each name.
    arrays : dict of str to array
        The last array of each name.
    """

    buffers: dict[str, NDArray[np.uint8]] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)

    def get_array(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return an array with arbitrary content.

        Parameters
        ----------
        name : str
            The name of the buffer.
        shape : tuple of int
            The shape of the array.
        dtype : dtype
            The type of its elements.

        Returns
        -------
        array
            C-contiguous; valid until the name is requested again.

        Examples
        --------
        >>> workspace = Workspace()
        >>> first = workspace.get_array("keys", (4, 2), np.uint32)
        >>> np.shares_memory(first, workspace.get_array("keys", (3, 2), np.uint32))
        True
        """
        last = self.arrays.get(name)
        if last is not None and last.shape == shape and last.dtype == dtype:
            return last
        dtype = np.dtype(dtype)
        size = prod(shape) * dtype.itemsize
        if name not in self.buffers or self.buffers[name].size < size:
            self.buffers[name] = np.empty(size, dtype=np.uint8)
        self.arrays[name] = self.buffers[name][:size].view(dtype).reshape(shape)
        return self.arrays[name]


class ThreadWorkspaces:
    """One workspace per thread, freed when the thread ends or this object is deleted.

    Examples
    --------
    >>> workspaces = ThreadWorkspaces()
    >>> workspaces.get() is workspaces.get()
    True
    """

    def __init__(self) -> None:
        self._local = local()

    def get(self) -> Workspace:
        """Return the workspace of the calling thread."""
        if not hasattr(self._local, "workspace"):
            self._local.workspace = Workspace()
        workspace: Workspace = self._local.workspace
        return workspace

    def __reduce__(self) -> tuple[type[ThreadWorkspaces], tuple[()]]:
        """Pickle as an empty object: scratch arrays are not sent to other processes."""
        return ThreadWorkspaces, ()

"""Arrays that one thread uses again from block to block.

A fresh array of a megabyte is mapped and given back by the system each time: touching its pages costs as
much as sorting what it holds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from threading import local
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray


__all__ = ["ThreadWorkspaces", "Workspace"]


@dataclass(frozen=True, eq=False)
class Workspace:
    """Room for the arrays of one block after another, in one thread.

    What is made in it is overwritten by the next of the same name.

    Parameters
    ----------
    held : dict of str to uint8 array
        What there is so far, by name.
    given : dict of str to array
        What was made in it last.
    """

    buffers: dict[str, NDArray[np.uint8]] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)

    def get_array(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return an array with arbitrary content.

        Parameters
        ----------
        name : str
            Whose room it is.
        shape : tuple of int
            Of the array.
        dtype : dtype
            Of the array.

        Returns
        -------
        array
            C-contiguous; valid until the name is asked for again.

        Examples
        --------
        >>> room = Room()
        >>> first = room.empty("keys", (4, 2), np.uint32)
        >>> np.shares_memory(first, room.empty("keys", (3, 2), np.uint32))
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
    """A room for each thread that asks; it goes when the thread ends, or when these do.

    Examples
    --------
    >>> rooms = ThreadWorkspaces()
    >>> rooms.own() is rooms.own()
    True
    """

    def __init__(self) -> None:
        self._local = local()

    def get(self) -> Workspace:
        """Return the room of the thread that asks."""
        if not hasattr(self._local, "workspace"):
            self._local.room = Workspace()
        room: Workspace = self._local.room
        return room

    def __reduce__(self) -> tuple[type[ThreadWorkspaces], tuple[()]]:
        """Go empty to another process."""
        return ThreadWorkspaces, ()

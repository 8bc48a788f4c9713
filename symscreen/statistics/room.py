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

__all__ = ["Room", "Rooms"]


@dataclass(frozen=True, eq=False)
class Room:
    """Room for the arrays of one block after another, in one thread.

    What is made in it is overwritten by the next of the same name.

    Parameters
    ----------
    held : dict of str to uint8 array
        What there is so far, by name.
    given : dict of str to array
        What was made in it last.
    """

    held: dict[str, NDArray[np.uint8]] = field(default_factory=dict)
    given: dict[str, NDArray[Any]] = field(default_factory=dict)

    def empty(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
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
        last = self.given.get(name)
        if last is not None and last.shape == shape and last.dtype == dtype:
            return last
        dtype = np.dtype(dtype)
        size = prod(shape) * dtype.itemsize
        if name not in self.held or self.held[name].size < size:
            self.held[name] = np.empty(size, dtype=np.uint8)
        self.given[name] = self.held[name][:size].view(dtype).reshape(shape)
        return self.given[name]


class Rooms:
    """A room for each thread that asks; it goes when the thread ends, or when these do.

    Examples
    --------
    >>> rooms = Rooms()
    >>> rooms.own() is rooms.own()
    True
    """

    def __init__(self) -> None:
        self._local = local()

    def own(self) -> Room:
        """Return the room of the thread that asks."""
        if not hasattr(self._local, "room"):
            self._local.room = Room()
        room: Room = self._local.room
        return room

    def __reduce__(self) -> tuple[type[Rooms], tuple[()]]:
        """Go empty to another process."""
        return Rooms, ()

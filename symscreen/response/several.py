"""Several numeric responses at once, that rows of one order are scored against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from symscreen.label_ranking import quote_label
from symscreen.response import Response

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.response import Kind

__all__ = ["SeveralResponse", "alone", "several_of"]


@dataclass(frozen=True, eq=False)
class SeveralResponse:
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
    >>> y = several_of({"a": np.array([3.0, 1.0, 2.0]), "b": np.array([0.0, 0.0, 1.0])})
    >>> y.name, y.rows.tolist(), y.targets[0].values.tolist()
    ('a,b', [[1, 2, 0], [0, 1, 2]], [1.0, 2.0, 3.0])
    """

    targets: tuple[Response, ...]
    rows: NDArray[np.int32]
    places: NDArray[np.int32]
    kind: ClassVar[Kind] = "several"

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.rows.shape[1])

    @property
    def names(self) -> tuple[str, ...]:
        """What each target is called."""
        return tuple(target.name for target in self.targets)

    @property
    def name(self) -> str:
        """What they are called together, for messages and results."""
        return ",".join(map(quote_label, self.names))

    @property
    def values(self) -> NDArray[np.float64]:
        """The targets by row; shape (K, n)."""
        return np.stack([own.values[at] for own, at in zip(self.targets, self.places, strict=True)])


def several_of(targets: dict[str, NDArray[np.float64]]) -> SeveralResponse:
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
    names = sorted(targets)
    rows = np.stack([np.argsort(targets[name], kind="stable") for name in names]).astype(np.int32)
    places = np.argsort(rows, axis=1, kind="stable").astype(np.int32)
    ordered = (Response(targets[name][own] + 0.0, name) for name, own in zip(names, rows, strict=True))
    return SeveralResponse(tuple(ordered), rows, places)


def alone(response: SeveralResponse, place: int) -> SeveralResponse:
    """Return one of the targets, as the only one of several, with the rows in their order."""
    own = slice(place, place + 1)
    return SeveralResponse(response.targets[own], response.rows[own], response.places[own])

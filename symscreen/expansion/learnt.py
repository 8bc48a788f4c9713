"""What is learnt of features where all their values are at hand, and kept when the values are not."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion.prune import projection
from symscreen.grammar import in_domain
from symscreen.once import once

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.grammar import Domain

__all__ = ["Learnt", "learnt_of"]

_AT_A_TIME = 1 << 17  # values looked at together


@dataclass(frozen=True, eq=False)
class Learnt:
    """Facts about features over all rows, one an entry of every array.

    Parameters
    ----------
    low, high : float64 arrays, shape (q,)
        The smallest and largest value.
    least : float64 array, shape (q,)
        The smallest magnitude.
    line : float64 array, shape (q,)
        Where `projection` puts the feature, so that copies are found.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    least: NDArray[np.float64]
    line: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.low)

    @once
    def scale(self) -> NDArray[np.float64]:
        """The largest magnitude of each feature's values, shape (q,)."""
        return np.asarray(np.maximum(-self.low, self.high))

    def take(self, places: NDArray[np.int64]) -> Learnt:
        """Return what is learnt of the features at some places."""
        return Learnt(*(getattr(self, field.name)[places] for field in fields(self)))

    def joined(self, *more: Learnt) -> Learnt:
        """Return this and what is learnt of more features behind these."""
        parts = (self, *more)
        return Learnt(
            *(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(self))
        )

    def within(self, domain: Domain) -> NDArray[np.bool_]:
        """Say of each feature whether all its values lie in a domain; shape (q,).

        Examples
        --------
        >>> from symscreen.grammar import Domain
        >>> learnt_of(np.array([[1.0, 2.0], [0.0, 0.5]])).within(Domain.NONZERO).tolist()
        [True, False]
        """
        # a domain is a range, maybe without 0: the ends, and 0 where it is a value, tell for all values
        telling = np.column_stack((self.low, self.high, np.where(self.least == 0, 0.0, self.high)))
        return in_domain(telling, domain)


def learnt_of(values: NDArray[np.float64]) -> Learnt:
    """Learn from values.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        One feature a row, finite.

    Returns
    -------
    Learnt

    Examples
    --------
    >>> learnt_of(np.array([[-3.0, 2.0]])).scale.tolist()
    [3.0]
    """
    q, n = values.shape
    least = np.empty(q)
    for first in range(0, q, step := max(1, _AT_A_TIME // n)):
        least[first : first + step] = np.abs(values[first : first + step]).min(axis=1)
    return Learnt(values.min(axis=1), values.max(axis=1), least, projection(values))

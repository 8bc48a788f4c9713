"""A response that is a chain of stages, and the pairs of stages that rank statistics compare features with.

For every pair t′ < t, whether a row that is at stage t′ reaches stage t is a binary response of the rows with
Y_t′ = +1 and Y_t observed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from symscreen.errors import TableError, printable
from symscreen.once import once
from symscreen.response.binary import BinaryResponses, binary_responses
from symscreen.response.stage_chains import observed_pairs, stage_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.response import Kind

__all__ = ["StagesResponse"]


@dataclass(frozen=True, eq=False)
class StagesResponse:
    """A response of n rows, each of which has gone some way along T + 1 stages.

    Parameters
    ----------
    outcomes : int8 array, shape (n, T + 1)
        Y: +1 reached, −1 not reached, 0 not observed; Y_t = −1 ⇒ Y_{t+1} ≠ +1.
    stages : tuple of str, length T + 1
        Their names, the first one first.
    weights : float64 array, shape (T(T + 1)/2,)
        w_{t′t} ≥ 0, in the order of `symscreen.response.stage_chains.stage_pairs`.

    Raises
    ------
    TableError
        If, of the rows that are at an earlier stage, all or none reach some later one.

    Examples
    --------
    >>> outcomes = np.array([[1, 1, 1], [1, 1, -1], [1, -1, -1], [1, -1, 0]], dtype=np.int8)
    >>> y = StagesResponse(outcomes, ("viewed", "liked", "followed"), np.ones(3))
    >>> y.binary.signs.tolist(), y.pairs
    ([[1, -1, 0, 0], [1, -1, -1, 0], [1, 1, -1, -1]], [(1, 2), (0, 2), (0, 1)])
    """

    outcomes: NDArray[np.int8]
    stages: tuple[str, ...]
    weights: NDArray[np.float64]
    kind: ClassVar[Kind] = "stages"

    def __post_init__(self) -> None:
        told_apart = {later for _, later in self.pairs}
        for later in sorted({later for _, later in self.asked} - told_apart):
            reached, observed = self._met(later)
            how, shown = "all" if reached else "none", printable(repr(self.stages[later]))
            raise TableError(
                f"{how} of the {observed} rows that are at a stage before {shown} reach it: nothing can be "
                "ranked against that; leave it out of --stages"
            )

    def _met(self, later: int) -> tuple[int, int]:
        """Count the rows at a stage that is asked to lead here: those that get here, and those observed."""
        own = self.outcomes[:, later]
        asked = [present for present, stage in self.asked if stage == later]
        before = (self.outcomes[:, asked] == 1).any(axis=1)
        return int((before & (own == 1)).sum()), int((before & (own != 0)).sum())

    @property
    def name(self) -> str:
        """What it is called, for messages and results."""
        return ",".join(self.stages)

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.outcomes)

    @once
    def binary(self) -> BinaryResponses:
        """Whether rows at one stage reach a later one: the pairs of stages that can tell features apart."""
        counts = observed_pairs(self.outcomes).T
        later = self.outcomes.T[[pair[1] for pair in stage_pairs(len(self.stages) - 1)]]
        return binary_responses(np.where(counts, later, 0).astype(np.int8), self.weights)

    @property
    def asked(self) -> list[tuple[int, int]]:
        """The pairs of stages (t′, t) that have a weight."""
        every = stage_pairs(len(self.stages) - 1)
        return [pair for pair, weight in zip(every, self.weights, strict=True) if weight > 0]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of stages (t′, t) that are compared, in the order of `binary`: not all rows go them."""
        every = stage_pairs(len(self.stages) - 1)
        return [every[place] for place in self.binary.places]

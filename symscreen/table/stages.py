"""Chains of stages in a source: a column of 1 and 0 for each stage, in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen.errors import TableError
from symscreen.response.stage_chains import first_break, observed_pairs
from symscreen.table.choose import require
from symscreen.table.wording import count, quoted

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from symscreen.response.stages import StagesResponse
    from symscreen.table.source import Frame

__all__ = ["Staged", "idle_pairs", "stages_in"]

_MEANING = "give 1 for reached, 0 for not reached, or nothing for not observed"


class Staged(NamedTuple):
    """How far along the stages every row of a source has gone."""

    stages: tuple[str, ...]
    outcomes: NDArray[np.int8]  # (n, T + 1): +1 reached, −1 not reached, 0 not observed
    weights: NDArray[np.float64]  # (P,): w_{t′t}, in the order of `stage_pairs`

    @property
    def met(self) -> NDArray[np.bool_]:
        """The rows that count for a pair of stages: those at one from which a later one was observed."""
        return np.asarray(observed_pairs(self.outcomes)[:, self.weights > 0].any(axis=1))


def stages_in(
    frame: Frame, stages: tuple[str, ...], weights: NDArray[np.float64], exclude: Collection[str]
) -> Staged:
    """Read the stages of a source, and check the chain.

    Parameters
    ----------
    frame : Frame
        The source.
    stages : tuple of str
        Columns of 1 (reached) and 0 or −1 (not reached), nothing where not observed; the first stage first.
    weights : float64 array, shape (P,)
        What each pair of them weighs.
    exclude : collection of str
        Columns that the user leaves out.

    Returns
    -------
    Staged

    Raises
    ------
    TableError
        If there is no such column, it is excluded, holds something else or nothing, or if a row reaches a
        stage but not one before it; the first such row is named, counted from 1.

    Examples
    --------
    >>> from symscreen.table.source import read_frame
    >>> frame = read_frame({"viewed": [1, 1, 0], "liked": [1, 0, None]})
    >>> stages_in(frame, ("viewed", "liked"), np.ones(1), []).outcomes.tolist()
    [[1, 1], [1, -1], [-1, 0]]
    """
    require(frame, stages, "--stages")
    for name in stages:
        if name in exclude:
            raise TableError(f"{frame.where}: {quoted(name)} is in both --stages and --exclude: keep one")
    outcomes = np.stack([_outcomes(frame, name) for name in stages], axis=1)
    broken = first_break(outcomes)
    if broken is not None:
        row, earlier, later = broken
        raise TableError(
            f"{frame.where}: row {row + 1} reaches {quoted(stages[later])} but not "
            f"{quoted(stages[earlier])}: each stage needs those before it; mend the row, or the order of "
            "--stages, or leave empty what was not observed"
        )
    return Staged(stages, outcomes, weights)


def idle_pairs(response: StagesResponse) -> list[str]:
    """Tell of the pairs of stages that were asked for, but that all rows go, or none.

    Parameters
    ----------
    response : StagesResponse
        The response.

    Returns
    -------
    list of str
        A line for people, if there are such.
    """
    stages, known = response.stages, response.pairs
    idle = [f"{quoted(stages[a])} to {quoted(stages[b])}" for a, b in response.asked if (a, b) not in known]
    return [f"left out: the pairs of stages that all rows go, or none: {', '.join(idle)}"] if idle else []


def _outcomes(frame: Frame, name: str) -> NDArray[np.int8]:
    column = frame.columns[name]
    if column.numbers is None:
        raise TableError(
            f"{frame.where}: the column {quoted(name)} of --stages holds {column.holds}: {_MEANING}"
        )
    if not column.numeric:
        raise TableError(
            f"{frame.where}: the stage {quoted(name)} is observed in none of {count(frame.n, 'row')}: leave "
            "it out of --stages"
        )
    values = column.numbers
    strange = ~(np.isnan(values) | np.isin(values, (-1.0, 0.0, 1.0)))
    if strange.any():
        row = int(np.flatnonzero(strange)[0])
        raise TableError(
            f"{frame.where}: row {row + 1} of {quoted(name)} holds {values[row]:g}, which is no outcome of a "
            f"stage: {_MEANING}"
        )
    return np.where(np.isnan(values), 0, np.where(values == 1.0, 1, -1)).astype(np.int8)

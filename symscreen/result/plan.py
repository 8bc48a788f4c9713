"""What a screen would do: features per layer and the memory of the pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symscreen.expansion import LayerCount, Space

__all__ = ["Plan", "plan_of"]


@dataclass(frozen=True)
class Plan:
    """What a screen would do.

    Parameters
    ----------
    layers : tuple of LayerCount
        The inputs and each layer.
    features : int
        Features of the space: exact for structure, an upper bound for what values will prune.
    memory : int
        Bytes that the pool would take at most.
    notices : tuple of str
        What a reader should know of the data.
    """

    layers: tuple[LayerCount, ...]
    features: int
    memory: int
    notices: tuple[str, ...]


def plan_of(space: Space, rows: int, notices: tuple[str, ...]) -> Plan:
    """Make the plan of a space that was expanded without values.

    Parameters
    ----------
    space : Space
        Counted by structure.
    rows : int
        The rows of the table.
    notices : tuple of str
        Passed on.

    Returns
    -------
    Plan
    """
    return Plan(space.counts, space.size, len(space.pool) * rows * 8, notices)

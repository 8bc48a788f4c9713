"""What a screen would do: features per layer and the memory of the pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symscreen.result.record import count_record

if TYPE_CHECKING:
    from symscreen.expansion import LayerCount, Space

__all__ = ["LayerPlan", "Plan", "plan_of"]


@dataclass(frozen=True)
class LayerPlan:
    """What a layer would make.

    Parameters
    ----------
    layer : int
        0 for the inputs, then 1, 2, …
    kind : str
        ``inputs``, ``u`` or ``b``.
    generated : int
        Candidates.
    pruned : dict of str to int
        How many structure leaves out, by reason.
    features : int
        Features in the pool, or for the last layer in the space, after this layer.
    """

    layer: int
    kind: str
    generated: int
    pruned: dict[str, int]
    features: int


@dataclass(frozen=True)
class Plan:
    """What a screen would do.

    Parameters
    ----------
    layers : tuple of LayerPlan
        The inputs and each layer.
    features : int
        Features of the space: exact for structure, an upper bound for what values will prune.
    memory : int
        Bytes that the pool would take at most.
    notices : tuple of str
        What a reader should know of the data.
    """

    layers: tuple[LayerPlan, ...]
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
    layers = tuple(_layer_plan(count) for count in space.counts)
    return Plan(layers, space.size, len(space.pool) * rows * 8, notices)


def _layer_plan(count: LayerCount) -> LayerPlan:
    return LayerPlan(**count_record(count))

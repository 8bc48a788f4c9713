"""A cut between two layers: of the features that a layer has made, those that the next is applied to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion.fates import Fate
from symscreen.expansion.layer import added
from symscreen.expansion.space import LayerCount, Space

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from symscreen.expansion.layer import PoolKind
    from symscreen.expansion.pool import Pool
    from symscreen.grammar import Layer

__all__ = ["Cut", "cut_pool"]


@dataclass(frozen=True, eq=False)
class Cut:
    """What stays of a space.

    Parameters
    ----------
    numbers : int64 array, shape (k,)
        The features that stay; inputs stay beside them.
    lost : mapping of Fate to int
        How many of the layer's candidates had no use once their values were known.
    """

    numbers: NDArray[np.int64]
    lost: Mapping[Fate, int]


def cut_pool(space: Space, layer: Layer, cut: Cut, pool_kind: PoolKind) -> tuple[Pool, LayerCount]:
    """Make the pool that the next layer is applied to.

    Parameters
    ----------
    space : Space
        What a layer has made of a pool.
    layer : Layer
        That layer.
    cut : Cut
        What stays of it, inputs and constants apart, which always stay.
    pool_kind : {"cumulative", "strict"}
        As in `expand`; what a strict pool's layer has replaced cannot stay.

    Returns
    -------
    Pool
        Older features first, then the new ones, each in the order of their numbers.
    LayerCount
        With what was cut among the reasons.
    """
    pool, numbers = space.pool, np.unique(cut.numbers)
    number = len(space.counts) - 1
    older = space.base[numbers[numbers < len(space.base)]]
    inputs = space.base[pool.nodes.layer[space.base] == 0]
    stay = np.unique(np.concatenate((pool.constants, inputs, older)))
    fresh = numbers[numbers >= space.at_hand] - space.at_hand
    grown, lost = added(
        pool, layer, pool_kind, stay=stay, candidates=space.candidates, numbers=fresh, number=number
    )
    lost = Counter({Fate.NUMERIC_DUPLICATE: lost[Fate.NUMERIC_DUPLICATE]}) + Counter(cut.lost)
    scored = space.size - sum(cut.lost.values())
    lost[Fate.CUT] = scored - lost[Fate.NUMERIC_DUPLICATE] - len(grown.features)
    pruned = Counter(space.counts[-1].pruned) + lost
    return grown, LayerCount(number, layer.kind, space.candidates.total, dict(pruned), len(grown.features))

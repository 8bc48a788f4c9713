"""Expansion: grammar and columns to a numbered space of features."""

from symscreen.expansion.chunks import Block, blocks_of
from symscreen.expansion.cut import Cut
from symscreen.expansion.fates import REASONS, Fate
from symscreen.expansion.grow import expand
from symscreen.expansion.layer import PoolKind, require
from symscreen.expansion.prune import numeric_copies
from symscreen.expansion.space import LayerCount, Space

__all__ = [
    "REASONS",
    "Block",
    "Cut",
    "Fate",
    "LayerCount",
    "PoolKind",
    "Space",
    "blocks_of",
    "expand",
    "numeric_copies",
    "require",
]

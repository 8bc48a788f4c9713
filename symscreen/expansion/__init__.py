"""Expansion: grammar and columns to a numbered space of features."""

from symscreen.expansion.chunks import Block, block_bytes, blocks_of, rows_per_block
from symscreen.expansion.cut import Cut
from symscreen.expansion.fates import REASONS, Fate, judging_bytes
from symscreen.expansion.given import given_formulas
from symscreen.expansion.grow import expand
from symscreen.expansion.in_time import OutOfTime, ends_at, untimed
from symscreen.expansion.layer import PoolKind
from symscreen.expansion.learnt import learnt_of
from symscreen.expansion.memory import amount, fits, require, resident
from symscreen.expansion.orders import bytes_of_orders, bytes_of_so_many, with_orders
from symscreen.expansion.outlook import Outlook, foresee
from symscreen.expansion.prune import equal_to_rounding, numeric_copies
from symscreen.expansion.reordered import with_rows
from symscreen.expansion.space import LayerCount, Space

__all__ = [
    "REASONS",
    "Block",
    "Cut",
    "Fate",
    "LayerCount",
    "OutOfTime",
    "Outlook",
    "PoolKind",
    "Space",
    "amount",
    "block_bytes",
    "blocks_of",
    "bytes_of_orders",
    "bytes_of_so_many",
    "ends_at",
    "equal_to_rounding",
    "expand",
    "fits",
    "foresee",
    "given_formulas",
    "judging_bytes",
    "learnt_of",
    "numeric_copies",
    "require",
    "resident",
    "rows_per_block",
    "untimed",
    "with_orders",
    "with_rows",
]

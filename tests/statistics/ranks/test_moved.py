"""Blocks whose rows are put in another order."""

from __future__ import annotations

import numpy as np

from symscreen.statistics.ranks.sorted_block import permute_block_rows, sort_block


def test_it_is_what_sorting_anew_gives(rng):
    values = np.concatenate([rng.normal(size=(3, 50)), rng.integers(0, 5, (4, 50)).astype(float)])
    rows = rng.permutation(50).astype(np.int32)
    places = np.argsort(rows).astype(np.int32)
    got, anew = permute_block_rows(sort_block(values), rows, places), sort_block(values[:, rows].copy())
    assert (got.values == anew.values).all()
    assert (got.order == anew.order).all()
    assert (got.tied == anew.tied).all()

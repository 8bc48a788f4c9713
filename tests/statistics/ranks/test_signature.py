from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from symscreen.statistics.ranks.sorted_block import (
    compute_affine_signatures,
    compute_rank_signatures,
    sort_block,
)

blocks = arrays(np.float64, (12, 5), elements=st.integers(0, 3).map(float))


@pytest.mark.slow
@given(blocks)
def test_rank_signatures_are_equal_exactly_for_equal_ranks(values):
    ordered = sort_block(values)
    signatures = compute_rank_signatures(ordered, mirrored=False)
    same = (ordered.doubled_ranks[:, None] == ordered.doubled_ranks[None]).all(axis=2)
    assert np.array_equal(signatures[:, None] == signatures[None], same)


@given(blocks)
def test_mirrored_rank_signatures_join_a_feature_and_its_mirror_image(values):
    ordered = sort_block(values)
    signatures = compute_rank_signatures(ordered, mirrored=True)
    ranks = ordered.doubled_ranks
    same = (ranks[:, None] == ranks[None]).all(axis=2) | (ranks[:, None] == 12 - ranks[None]).all(axis=2)
    assert np.array_equal(signatures[:, None] == signatures[None], same)


def test_rank_signatures_of_many_features_do_not_collide(rng):
    signatures = compute_rank_signatures(sort_block(rng.normal(size=(20_000, 30))), mirrored=True)
    assert len(np.unique(signatures)) == 20_000


def test_affine_copies_share_a_signature_and_others_do_not(rng):
    z = rng.normal(size=(500, 40))
    signature = compute_affine_signatures(z, mirrored=True)
    assert len(np.unique(signature)) == 500
    assert np.array_equal(compute_affine_signatures(-3.0 * z + 7.0, mirrored=True), signature)
    assert np.array_equal(
        compute_affine_signatures(2.5 * z - 1.0, mirrored=False), compute_affine_signatures(z, mirrored=False)
    )
    assert not (
        compute_affine_signatures(-z, mirrored=False) == compute_affine_signatures(z, mirrored=False)
    ).any()

from __future__ import annotations

import numpy as np
import pytest
from helpers.expansion_oracles import problems
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.config.screen_options import SpaceOptions
from symscreen.expansion import expand, feature_values
from symscreen.expansion.feature_values import compute_node_values
from symscreen.expansion.nodes import build_expression
from symscreen.expressions.traversal import evaluate_expression


@settings(max_examples=60)
@given(problems(), st.data(), st.sampled_from([8, 200, 1 << 20]), st.integers(1, 9))
def test_nodes_have_the_values_of_their_expressions(problem, data, tile, at_a_time):
    pool = expand(*problem.arguments, recompute_pool=True, options=SpaceOptions()).pool
    # members are computable; of nodes that have left the pool some are, too: those they are made of
    members = pool.member_nodes.tolist()
    # a strict pool may be empty
    places = st.lists(st.sampled_from(members), max_size=20) if members else st.just([])
    wanted = np.array(data.draw(places), dtype=np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feature_values, "_TILE_BYTES", tile)
        patch.setattr(feature_values, "_MIN_ROWS", 1)
        patch.setattr(feature_values, "_BATCH_NODES", at_a_time)
        found = compute_node_values(pool.symbols, pool.all_nodes, wanted, problem.columns)
    assert found.shape == (len(wanted), problem.columns.shape[1])
    for node, row in zip(wanted.tolist(), found, strict=True):
        tree = build_expression(pool.symbols, pool.all_nodes, node)
        assert evaluate_expression(tree, problem.by_name).tobytes() == row.tobytes()

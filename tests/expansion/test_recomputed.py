from __future__ import annotations

import numpy as np
import pytest
from expansion.brute_force import problems
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.expansion import expand, recomputed
from symscreen.expansion.nodes import expression_of
from symscreen.expansion.recomputed import values_of
from symscreen.expression import evaluate


@settings(max_examples=60)
@given(problems(), st.data(), st.sampled_from([8, 200, 1 << 20]), st.integers(1, 9))
def test_nodes_have_the_values_of_their_expressions(problem, data, tile, at_a_time):
    pool = expand(*problem.arguments, thin=True).pool
    # members are computable; of nodes that have left the pool some are, too: those they are made of
    place = st.sampled_from(pool.members.tolist())
    wanted = np.array(data.draw(st.lists(place, max_size=20)), dtype=np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recomputed, "_TILE_BYTES", tile)
        patch.setattr(recomputed, "_FEWEST_ROWS", 1)
        patch.setattr(recomputed, "_AT_A_TIME", at_a_time)
        found = values_of(pool.structure, pool.all_nodes, wanted, problem.columns)
    assert found.shape == (len(wanted), problem.columns.shape[1])
    for node, row in zip(wanted.tolist(), found, strict=True):
        tree = expression_of(pool.structure, pool.all_nodes, node)
        assert evaluate(tree, problem.by_name).tobytes() == row.tobytes()

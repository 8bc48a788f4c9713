from __future__ import annotations

from fractions import Fraction

import numpy as np

from symscreen.fitting.laws.unit_lattice import list_dimensionless_groups


def test_groups_have_no_unit_and_contain_no_smaller_group(rng):
    for _ in range(50):
        vectors = rng.integers(-2, 3, (6, 3))
        groups = np.array(list_dimensionless_groups(vectors.tolist()))
        if len(groups):
            assert not (groups @ vectors).any()
        supports = [frozenset(np.flatnonzero(group).tolist()) for group in groups]
        assert len(set(supports)) == len(supports)
        assert not any(first < second for first in supports for second in supports)


def test_the_groups_span_all_that_have_no_unit(rng):
    # small exponents, so no group has a power beyond the limit
    for _ in range(50):
        vectors = rng.integers(-1, 2, (5, 2))
        groups = np.array(list_dimensionless_groups(vectors.tolist())).reshape(-1, 5)
        assert np.linalg.matrix_rank(groups) == 5 - np.linalg.matrix_rank(vectors)


def test_the_order_of_the_inputs_has_no_effect_on_the_set_of_groups(rng):
    vectors = [[Fraction(int(x), 2) for x in row] for row in rng.integers(-2, 3, (6, 3))]
    order = rng.permutation(6)
    inverse = np.argsort(order)
    permuted = [
        tuple(group[place] for place in inverse)
        for group in list_dimensionless_groups([vectors[place] for place in order])
    ]
    normal = {max(group, tuple(-power for power in group)) for group in list_dimensionless_groups(vectors)}
    assert {max(group, tuple(-power for power in group)) for group in permuted} == normal

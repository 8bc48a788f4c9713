from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.statistics.inference.max_t import count_exchangeable_groups, draw_group_permutation


def test_each_permutation_that_keeps_groups_together_is_drawn_as_often(rng):
    groups = np.array([1, 0, 1, 0, 2])
    drawn = Counter(tuple(draw_group_permutation(groups, rng).tolist()) for _ in range(1600))
    # the pairs may trade places, and each may be turned round; the fifth row stays
    assert len(drawn) == 2 * 2 * 2
    assert all(rows[4] == 4 for rows in drawn)
    assert all(sorted(rows) == list(range(5)) for rows in drawn)
    assert all(groups[rows[0]] == groups[rows[2]] != groups[rows[1]] == groups[rows[3]] for rows in drawn)
    assert all(140 <= count <= 260 for count in drawn.values())
    assert count_exchangeable_groups(groups) == 2


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [[3] * 8, [2, 3] * 4])
def test_by_groups_noise_of_groups_is_found_no_more_often_than_said(sizes, rng, monkeypatch):
    # these p-values come from shuffles, and a null table of full size takes most of the time
    monkeypatch.setattr("symscreen.statistics.nulls.linear_rank_table._N_PERMUTATIONS", 20_000)
    monkeypatch.setattr("symscreen.statistics.nulls.linear_rank_table._N_MOVES", 20_000)
    site = np.repeat(np.arange(8), sizes)
    found = np.zeros(2)
    for repeat in range(20):
        effects = rng.normal(size=(4, 8))[:, site]
        frame = pd.DataFrame(effects.T + 0.01 * rng.normal(size=(len(site), 4)), columns=list("abcy"))
        options = {"target": "y", "layers": "u", "unary": "id", "permutations": 39, "seed": repeat, "top": 1}
        for at, own in enumerate(("site", None) if repeat < 10 else ("site",)):
            data = frame.assign(site=site) if own else frame
            table = symscreen.screen(data, groups=own, **options).table
            found[at] += table.p_family[0] <= 0.1
    # 0.1 is 2 of 20 and 1 of 10; rows taken one by one find one of three features of groups far more often
    assert found[0] <= 5
    assert found[1] >= 5

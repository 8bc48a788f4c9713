from __future__ import annotations

import numpy as np
import pytest
from helpers.screening_oracles import Whole, loss_of, space_of, table_of
from scipy.stats import rankdata

from symscreen.backends import Threads
from symscreen.screeners import SCREENERS
from symscreen.screening.scoring.rank_counting import compute_ranks


@pytest.mark.parametrize("sign", ["free", "positive"])
@pytest.mark.parametrize("name", ["t0", "xi", "kendall", "pearson"])
def test_places_are_those_of_the_whole_ranking(name, sign, rng):
    table = table_of(rng)
    whole = Whole.of(table, space_of(table))
    loss = np.round(loss_of(name, whole.values, whole.y, sign), 11)
    expected = rankdata(loss, method="min").astype(int)
    order = rng.permutation(len(loss))
    for jobs, chunk_size in ((1, 7), (2, 3), (1, 10**6)):
        places = compute_ranks(
            whole.space,
            table.target,
            SCREENERS[name],
            sign,
            whole.values[order],
            backend=Threads(jobs),
            chunk_size=chunk_size,
        )
        assert places.tolist() == expected[order].tolist()


def test_a_feature_from_elsewhere_stands_where_it_would(rng):
    table = table_of(rng)
    space = space_of(table)
    options = {"backend": Threads(1), "chunk_size": 9}
    y = table.target.values
    ask = np.stack([y, rng.permutation(y)])
    first, other = compute_ranks(space, table.target, SCREENERS["t0"], "free", ask, **options)
    assert first == 1
    assert 1 < other <= space.size + 1
    assert compute_ranks(space, table.target, SCREENERS["t0"], "free", ask[:0], **options).tolist() == []

from __future__ import annotations

from dataclasses import replace

import numpy as np
from helpers.screening_oracles import Whole, space_of, table_of

from symscreen.backends import Threads
from symscreen.screeners import PEARSON
from symscreen.screening.scoring.block_scoring import Scorer, TopKSpec
from symscreen.screening.scoring.final_classes import add_margin, finalize_features
from symscreen.screening.scoring.streaming import score_stream


def test_classes_that_are_equal_up_to_rounding_are_one_and_the_simplest_stands_for_them(rng):
    table = table_of(rng, rows=20, inputs=2)
    space = space_of(table, "b[mul] u[log] b[add]", "basic", unary=("log",), binary=("add", "mul"))
    whole = Whole.of(table, space)
    keep = TopKSpec(0, "affine", mirrored=True, limit=add_margin(100))
    kept = score_stream(Scorer(space, table.target, (PEARSON,), "free", (keep,)), Threads(1), 9).top_features[
        0
    ]
    # as if rounding had split every class
    apart = whole.space.get_metadata(whole.numbers)
    split = kept.take(np.zeros(len(whole.numbers), dtype=np.int64))
    split = replace(
        split,
        number=whole.numbers,
        signature=np.arange(len(whole.numbers), dtype=np.uint64),
        complexity=apart.complexity,
        keys=apart.keys,
        class_size=np.ones(len(whole.numbers), dtype=np.int64),
    )
    settled = finalize_features(split, space, 100)
    assert settled.class_size.sum() == len(whole.numbers)
    values = space.compute_values(settled.number)
    for number, own in zip(whole.numbers, whole.values, strict=True):
        near = np.isclose(values, own, rtol=1e-12, atol=0).all(axis=1)
        assert near.sum() == 1
        simplest = settled.complexity[near][0]
        assert simplest <= space.get_metadata(np.array([number])).complexity[0]
    assert len(settled) < len(whole.numbers)
    assert len(finalize_features(split, space, 2)) == 2

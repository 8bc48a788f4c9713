from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscreen.errors import OptionError
from symscreen.multistage import (
    compute_class_weights,
    list_stage_pairs,
    mask_observed_pairs,
    parse_pair_weights,
)
from symscreen.multistage.factor_model import compute_remaining_mass, select_pairs

STAGES = ("viewed", "liked", "followed", "bought")


@given(st.integers(1, 6), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_remainders_are_what_they_are_defined_to_be_and_in_order(last, k, seed):
    q = np.random.default_rng(seed).chisquare(1, size=(last, k))
    rests, pairs = compute_remaining_mass(q), list_stage_pairs(last)
    for rest, (present, later) in zip(rests, pairs, strict=True):
        assert np.allclose(rest, 1.0 - q[present:later].sum(axis=0))
        if (present, later + 1) in pairs:
            assert (rests[pairs.index((present, later + 1))] <= rest).all()
        if (present + 1, later) in pairs:
            assert (rests[pairs.index((present + 1, later))] >= rest).all()


def test_weights_are_named_or_given():
    pairs = list_stage_pairs(3)
    assert parse_pair_weights("all", STAGES).tolist() == [1.0] * 6
    assert [pair for pair, w in zip(pairs, parse_pair_weights("next", STAGES), strict=True) if w] == [
        (0, 1),
        (1, 2),
        (2, 3),
    ]
    assert [pair for pair, w in zip(pairs, parse_pair_weights("last", STAGES), strict=True) if w] == [
        (0, 3),
        (1, 3),
        (2, 3),
    ]
    table = np.arange(16.0).reshape(4, 4)
    assert parse_pair_weights(table, STAGES).tolist() == [table[pair] for pair in pairs]
    assert parse_pair_weights({("viewed", 2): 3.0, (0, "liked"): 1.0}, STAGES).tolist() == [
        1.0,
        3.0,
        0,
        0,
        0,
        0,
    ]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("lst", "did you mean 'last'"),
        ({("liked", "viewed"): 1.0}, "the first stage must come before the second"),
        ({"liked": 1.0}, "give pairs of stages"),
        ({("viewed", "lked"): 1.0}, "stage 'lked' is unknown; did you mean 'liked'"),
        ({("viewed", "liked"): -1.0}, "give numbers ≥ 0"),
        (np.zeros((4, 4)), "not all of them 0"),
        (np.ones((2, 2)), "give \\(4, 4\\)"),
    ],
)
def test_weights_without_meaning_are_refused(asked, words):
    with pytest.raises(OptionError, match=words):
        parse_pair_weights(asked, STAGES)


def test_rows_count_where_the_present_stage_was_reached_and_the_later_one_observed(rng):
    y = rng.choice(np.array([-1, 0, 1], dtype=np.int8), size=(50, 4))
    counted = mask_observed_pairs(y)
    for p, (present, later) in enumerate(list_stage_pairs(3)):
        assert counted[:, p].tolist() == [row[present] == 1 and row[later] != 0 for row in y.tolist()]


def test_class_weights_balance_and_average_one(rng):
    reached = np.minimum.accumulate(np.where(rng.random((300, 3)) < [1.0, 0.4, 0.3], 1, -1), axis=1).astype(
        np.int8
    )
    counted, weights = mask_observed_pairs(reached), compute_class_weights(reached)
    for p, (_, later) in enumerate(list_stage_pairs(2)):
        sizes = [(counted[:, p] & (reached[:, later] == sign)).sum() for sign in (-1, 1)]
        assert weights[p, 0] * sizes[0] == pytest.approx(weights[p, 1] * sizes[1])
        assert (weights[p] * sizes).sum() == pytest.approx(sum(sizes))


def test_pairs_are_asked_for_by_either_end():
    assert select_pairs(None, None, STAGES) == list(range(6))
    assert [list_stage_pairs(3)[p] for p in select_pairs("liked", None, STAGES)] == [(1, 2), (1, 3)]
    assert [list_stage_pairs(3)[p] for p in select_pairs(None, 2, STAGES)] == [(0, 2), (1, 2)]
    assert [list_stage_pairs(3)[p] for p in select_pairs("liked", "bought", STAGES)] == [(1, 3)]
    with pytest.raises(OptionError, match="no pair leads from stage 'followed' to stage 'liked'"):
        select_pairs("followed", "liked", STAGES)

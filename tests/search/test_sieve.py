from __future__ import annotations

import numpy as np
import pytest
from search.spaces import KINDS, best_members, drawn, losses_of, space_of

from symscreen.backends import Threads
from symscreen.expansion import Fate
from symscreen.screeners import PEARSON, T0, XI
from symscreen.search.sieve import Wanted, restricted, sieve


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_come_through(rng, kind):
    for _ in range(12):
        x, response = drawn(rng, kind, inputs=6)
        space = space_of(x)
        best = best_members(space, response, 5)
        passed = sieve(space, response, Wanted(T0, "free", 5), enough=100, rng=rng, backend=Threads(1))
        assert np.isin(best, passed.numbers).all()
        assert len(passed.numbers) < 0.5 * (space.size - space.at_hand)


@pytest.mark.parametrize("screener", [XI, PEARSON])
def test_other_screeners_are_sieved_by_samples_of_rows(rng, screener):
    x, response = drawn(rng, "strong", rows=1500, inputs=6)
    space = space_of(x)
    numbers, losses, _ = losses_of(space, response, screener)
    passed = sieve(space, response, Wanted(screener, "free", 5), enough=100, rng=rng, backend=Threads(1))
    assert {one.kind for one in passed.rounds} == {"rows"}
    assert np.isin(numbers[losses.argsort()[:3]], passed.numbers).all()
    assert len(passed.numbers) < 0.5 * len(numbers)


@pytest.mark.parametrize("sign", ["free", "positive"])
def test_a_free_sign_alone_keeps_what_falls(rng, sign):
    x, response = drawn(rng, "strong", inputs=6)
    space = space_of(x)
    numbers, free, _ = losses_of(space, response)
    _, rising, _ = losses_of(space, response, sign="positive")
    falling = numbers[(free < 0.2) & (rising > 1.0)]
    passed = sieve(space, response, Wanted(T0, sign, 5), enough=100, rng=rng, backend=Threads(1))
    assert len(falling) > 3
    assert np.isin(falling, passed.numbers).any() == (sign == "free")


def test_a_sieve_is_the_same_for_every_backend(rng):
    x, response = drawn(rng, inputs=6)
    space = space_of(x)
    one, other = (
        sieve(
            space, response, Wanted(T0, "free", 5), enough=50, rng=np.random.default_rng(2), backend=backend
        )
        for backend in (Threads(1), Threads(2))
    )
    assert one.rounds == other.rounds
    assert one.numbers.tolist() == other.numbers.tolist()


def test_a_small_space_is_kept_whole(rng):
    x, response = drawn(rng)
    space = space_of(x)
    passed = sieve(space, response, Wanted(T0, "free", 5), enough=space.size, rng=rng, backend=Threads(1))
    assert passed.rounds == ()
    assert passed.numbers is None


def test_a_rare_class_may_be_missing_from_a_sample_of_rows(rng):
    x, _ = drawn(rng, rows=5000, inputs=5)
    from symscreen.response import Response

    response = Response(np.concatenate((np.zeros(4997), np.ones(3))))
    space = space_of(x)
    passed = sieve(space, response, Wanted(XI, "free", 5), enough=100, rng=rng, backend=Threads(1))
    assert len(passed.numbers) >= 100


def test_a_restricted_space_keeps_its_numbers(rng):
    x, _ = drawn(rng)
    space = space_of(x)
    kept = np.flatnonzero(space.fates == Fate.KEPT)[[3, 10, 40]]
    left = restricted(space, kept)
    assert left.size == space.at_hand + 3
    found = np.concatenate([block.numbers for block in left.blocks(left.at_hand, left.total)])
    assert found.tolist() == (kept + space.at_hand).tolist()
    assert (space.fates[kept] == Fate.KEPT).all()
    assert left.expression(int(found[0])) == space.expression(int(found[0]))

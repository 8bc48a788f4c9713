from __future__ import annotations

import numpy as np
import pytest
from helpers.search_cases import KINDS, best_members, drawn, losses_of, space_of

from symscreen.backends import Threads
from symscreen.expansion import CandidateStatus
from symscreen.screeners import PEARSON, T0, XI
from symscreen.screening.search import successive_halving
from symscreen.screening.search.successive_halving import SearchGoal, restrict_space, run_successive_halving


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_best_come_through(rng, kind):
    for _ in range(12):
        x, response = drawn(rng, kind, inputs=6)
        space = space_of(x)
        best = best_members(space, response, 5)
        passed = run_successive_halving(
            space, response, SearchGoal(T0, "free", 5), min_survivors=100, rng=rng, backend=Threads(1)
        )
        assert np.isin(best, passed.numbers).all()
        assert len(passed.numbers) < 0.5 * (space.size - space.n_materialized)


@pytest.mark.parametrize("screener", [XI, PEARSON])
def test_other_screeners_are_sieved_by_samples_of_rows(rng, screener):
    x, response = drawn(rng, "strong", rows=1500, inputs=6)
    space = space_of(x)
    numbers, losses, _ = losses_of(space, response, screener)
    passed = run_successive_halving(
        space, response, SearchGoal(screener, "free", 5), min_survivors=100, rng=rng, backend=Threads(1)
    )
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
    passed = run_successive_halving(
        space, response, SearchGoal(T0, sign, 5), min_survivors=100, rng=rng, backend=Threads(1)
    )
    assert len(falling) > 3
    assert np.isin(falling, passed.numbers).any() == (sign == "free")


def test_a_sieve_is_the_same_for_every_backend(rng):
    x, response = drawn(rng, inputs=6)
    space = space_of(x)
    one, other = (
        run_successive_halving(
            space,
            response,
            SearchGoal(T0, "free", 5),
            min_survivors=50,
            rng=np.random.default_rng(2),
            backend=backend,
        )
        for backend in (Threads(1), Threads(2))
    )
    assert one.rounds == other.rounds
    assert one.numbers.tolist() == other.numbers.tolist()


def test_a_small_space_is_kept_whole(rng):
    x, response = drawn(rng)
    space = space_of(x)
    passed = run_successive_halving(
        space, response, SearchGoal(T0, "free", 5), min_survivors=space.size, rng=rng, backend=Threads(1)
    )
    assert passed.rounds == ()
    assert passed.numbers is None


def test_a_sample_of_rows_in_which_the_response_hardly_varies_drops_nothing(rng):
    x, _ = drawn(rng, rows=5000, inputs=5)
    from symscreen.targets import NumericTarget

    response = NumericTarget(np.concatenate((np.zeros(4997), np.ones(3))))
    space = space_of(x)
    passed = run_successive_halving(
        space, response, SearchGoal(XI, "free", 5), min_survivors=100, rng=rng, backend=Threads(1)
    )
    assert passed.numbers is None


def test_a_restricted_space_keeps_its_numbers(rng):
    x, _ = drawn(rng)
    space = space_of(x)
    kept = np.flatnonzero(space.statuses == CandidateStatus.KEPT)[[3, 10, 40]]
    left = restrict_space(space, kept)
    assert left.size == space.n_materialized + 3
    found = np.concatenate([block.numbers for block in left.evaluate_range(left.n_materialized, left.total)])
    assert found.tolist() == (kept + space.n_materialized).tolist()
    assert (space.statuses[kept] == CandidateStatus.KEPT).all()
    assert left.build_expression(int(found[0])) == space.build_expression(int(found[0]))


def test_rounds_that_look_at_few_pairs_keep_more(rng, monkeypatch):
    monkeypatch.setattr(successive_halving, "_EARLY_SIZE", 1024)
    x, response = drawn(rng, "strong", rows=1500, inputs=6)
    space = space_of(x)
    passed = run_successive_halving(
        space,
        response,
        SearchGoal(T0, "free", 5),
        min_survivors=40,
        early_survivors=200,
        rng=rng,
        backend=Threads(1),
    )
    early = [one.survivors for one in passed.rounds if one.looked_at <= 1024]
    assert min(early) >= 200
    assert 40 <= len(passed.numbers) < 100
    assert np.isin(best_members(space, response, 5), passed.numbers).all()

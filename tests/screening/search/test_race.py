from __future__ import annotations

import numpy as np
import pytest
from helpers.search_cases import KINDS, best_members, drawn, losses_of, space_of
from scipy.stats import binom

from symscreen.backends import Threads
from symscreen.config.screen_options import SpaceOptions
from symscreen.screeners import T0
from symscreen.screening.search import race
from symscreen.screening.search.race import race_to_loss, run_race
from symscreen.screening.search.successive_halving import SearchGoal

SPACES = 100
RISK = 0.05


@pytest.fixture(autouse=True)
def _to_the_end(monkeypatch):
    """Let races of small spaces go on for as long as pairs are cheaper than exact scores."""
    monkeypatch.setattr(race, "_ENOUGH_SURVIVORS", 0)


def _lost(rng, kind, sign, race_of) -> tuple[bool, float]:
    x, response = drawn(rng, kind)
    space = space_of(x)
    best = best_members(space, response, 5, sign)
    passed = race_of(space, response, SearchGoal(T0, sign, 5))
    if passed.numbers is None:
        return False, 1.0
    return not np.isin(best, passed.numbers).all(), len(passed.numbers) / len(losses_of(space, response)[0])


@pytest.mark.slow
@pytest.mark.parametrize("sign", ["free", "positive"])
def test_over_hundreds_of_spaces_the_best_are_lost_no_more_often_than_stated(rng, sign):
    found = [
        _lost(rng, KINDS[number % 3], sign, lambda *a: run_race(*a, risk=RISK, rng=rng, backend=Threads(1)))
        for number in range(SPACES)
    ]
    lost, left = np.array(found).T
    assert lost.sum() <= SPACES * RISK
    assert left.mean() < 0.6  # else nothing was risked
    assert (left < 1).mean() > 0.6


@pytest.mark.slow
def test_the_count_of_losses_would_show_a_bound_that_is_too_bold(rng):
    def bold(space, response, wanted):
        _, losses, classes = losses_of(space, response)
        beat = np.sort(losses[np.unique(classes, return_index=True)[1]])[4]
        return race_to_loss(
            space,
            response,
            wanted,
            loss_threshold=float(beat),
            log_confidence=0.05,
            rng=rng,
            backend=Threads(1),
        )

    lost = sum(_lost(rng, KINDS[number % 3], "free", bold)[0] for number in range(60))
    assert lost > 60 * RISK


@pytest.mark.slow
@pytest.mark.parametrize("log_odds", [1.0, 2.0])
def test_one_class_is_lost_in_one_round_no_more_often_than_stated(rng, log_odds):
    x, response = drawn(rng, "strong", rows=128)
    space = space_of(x)
    numbers, losses, _ = losses_of(space, response)
    one = numbers[losses.argsort()[3]]
    draws, lost = 400, 0
    for _ in range(draws):
        passed = race_to_loss(
            space,
            response,
            SearchGoal(T0, "free", len(numbers)),  # so many are wanted that one round is all
            loss_threshold=float(np.sort(losses)[3]),
            log_confidence=log_odds,
            rng=rng,
            backend=Threads(1),
        )
        assert len(passed.rounds) == 1
        lost += one not in passed.numbers
    assert lost <= binom.ppf(0.999, draws, np.exp(-log_odds))


def test_a_race_is_the_same_for_every_backend(rng):
    x, response = drawn(rng, rows=600, inputs=6)
    space = space_of(x)
    found = [
        run_race(
            space,
            response,
            SearchGoal(T0, "free", 5),
            risk=0.01,
            rng=np.random.default_rng(1),
            backend=backend,
        )
        for backend in (Threads(1), Threads(2))
    ]
    assert found[0].rounds == found[1].rounds
    assert found[0].numbers.tolist() == found[1].numbers.tolist()


def test_rounds_tell_what_they_did(rng):
    x, response = drawn(rng, rows=600, inputs=6)
    space = space_of(x)
    passed = run_race(space, response, SearchGoal(T0, "free", 5), risk=0.01, rng=rng, backend=Threads(1))
    assert len(passed.rounds) > 1
    looked_at = [one.looked_at for one in passed.rounds]
    assert looked_at == [looked_at[0] * 2**k for k in range(len(looked_at))]
    assert [one.features for one in passed.rounds[1:]] == [one.survivors for one in passed.rounds[:-1]]
    assert passed.rounds[-1].survivors == len(passed.numbers)
    limits = [one.limit for one in passed.rounds]
    assert limits == sorted(limits, reverse=True)


def test_a_race_ends_when_few_are_left(rng, monkeypatch):
    x, response = drawn(rng, rows=600, inputs=6)
    space, goal = space_of(x), SearchGoal(T0, "free", 5)
    monkeypatch.setattr(race, "_ENOUGH_SURVIVORS", 10**6)
    ended = run_race(space, response, goal, risk=0.01, rng=np.random.default_rng(1), backend=Threads(1))
    assert len(ended.rounds) == 1
    monkeypatch.setattr(race, "_ENOUGH_SURVIVORS", 0)
    passed = run_race(space, response, goal, risk=0.01, rng=np.random.default_rng(1), backend=Threads(1))
    assert passed.rounds[0] == ended.rounds[0]
    assert set(passed.numbers) <= set(ended.numbers)


def test_where_the_response_is_noise_nothing_is_dropped(rng):
    x, response = drawn(rng, rows=300)
    x = rng.permuted(x, axis=1)
    space = space_of(x)
    passed = run_race(space, response, SearchGoal(T0, "free", 5), risk=1e-6, rng=rng, backend=Threads(1))
    assert passed.rounds == ()
    assert passed.numbers is None


def test_thin_pools_race_alike(rng):
    x, response = drawn(rng, rows=600, inputs=6)
    found = []
    for thin in (False, True):
        from symscreen.expansion import expand
        from symscreen.grammar import load_grammar

        grammar = load_grammar("basic").override(unary=["square", "log"], binary=["add", "mul"])
        names = [f"x{place}" for place in range(1, 7)]
        space = expand(
            names, x, grammar, grammar.resolve_layers("ub"), recompute_pool=thin, options=SpaceOptions()
        )
        found.append(
            run_race(
                space,
                response,
                SearchGoal(T0, "free", 5),
                risk=0.01,
                rng=np.random.default_rng(1),
                backend=Threads(1),
            )
        )
    assert found[0].rounds == found[1].rounds
    assert found[0].numbers.tolist() == found[1].numbers.tolist()

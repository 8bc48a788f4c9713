from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.errors import DataError, OptionError
from symscreen.results.ranking_files import format_ranking_csv
from symscreen.screening.inference.stability import HalfSampling, bound_false_selections, draw_half_samples

SMALL = {"layers": "ub", "unary": "cube,log", "binary": "mul,sub"}


def test_pairs_are_complementary_halves_and_groups_are_whole(rng):
    unit = rng.integers(0, 9, 70)
    halves = list(draw_half_samples(HalfSampling(5, unit, "site"), seed=3))
    assert len(halves) == 10
    for first, second in zip(halves[::2], halves[1::2], strict=True):
        assert not set(unit[first]) & set(unit[second])
        assert len(set(unit[first])) == len(set(unit[second])) == 4
        for half in (first, second):
            assert set(half) == set(np.flatnonzero(np.isin(unit, unit[half])))
    assert len({half.tobytes() for half in halves}) > 2


def _by_hand(frame, shown, pairs, seed, **options):
    """Screen each half with the public function, and look for the ranks of what is shown there."""
    ordered = frame.sort_values(["target", "x1", "x2", "x3"], ignore_index=True)
    counts, chosen = np.zeros(len(shown)), []
    for rows in draw_half_samples(HalfSampling(pairs, np.arange(len(frame)), None), seed):
        part = ordered.iloc[rows]
        half = symscreen.screen(part, seed=seed, max_correlation=1, **options)
        chosen.append(half.table.class_size.sum())
        theirs, ours = (one.transform(part).rank().to_numpy() for one in (half, shown))
        mirror = len(part) + 1 - theirs
        for k, own in enumerate(ours.T[:, :, None]):
            counts[k] += bool(((own == theirs).all(axis=0) | (own == mirror).all(axis=0)).any())
    return counts / (2 * pairs), np.mean(chosen)


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"pool_size": 4}, {"screener": "xi,t0"}])
def test_shares_are_those_of_screens_of_the_halves(frame, changes):
    options = SMALL | {"top": 6, "target": "target"} | changes
    result = symscreen.screen(frame, stability=2, seed=2, **options)
    shares, chosen = _by_hand(
        frame, symscreen.screen(frame, seed=2, max_correlation=1, **options), 2, 2, **options
    )
    assert result.table.stability.tolist() == shares.tolist()
    told = result.record["stability"]
    assert told["features_selected"] == chosen
    assert told["features"] == result.n_scored
    assert told["false_at_most"]["0.9"] == pytest.approx(chosen**2 / (0.8 * result.n_scored))
    assert 0 < shares.max() <= 1


def test_a_strong_feature_is_stable_and_noise_is_not(rng):
    x = rng.uniform(1, 2, (80, 4))
    frame = pd.DataFrame(x, columns=list("abcd")).assign(y=x[:, 0] * x[:, 1] + rng.normal(0, 0.01, 80))
    result = symscreen.screen(frame, stability=5, layers="b", binary="mul,sub", top=3).table
    assert (result.expression[0], result.stability[0]) == ("a*b", 1.0)
    noise = frame.assign(y=rng.normal(size=80))
    assert symscreen.screen(noise, stability=5, layers="b", binary="mul,sub", top=3).table.stability.max() < 1


@pytest.mark.slow
def test_jobs_chunks_and_the_order_of_rows_do_not_change_a_byte(frame, rng):
    sites = frame.assign(site=rng.choice(list("pqrstu"), 60))
    options = SMALL | {"top": 5, "stability": 3, "groups": "site", "target": "target"}
    first = symscreen.screen(sites, **options)
    assert first.record["stability"]["units"] == 6
    mixed = sites.iloc[rng.permutation(60)]
    assert format_ranking_csv(symscreen.screen(mixed, jobs=2, chunk_size=9, **options)) == format_ranking_csv(
        first
    )
    plain = symscreen.screen(frame, **SMALL, top=5, max_correlation=1, p_values=False)
    assert "stability" not in json.dumps(plain.record)
    assert plain.table.equals(first.table.drop(columns="stability"))
    members = symscreen.classes(first, mixed, class_members=99)
    assert members.groupby("rank").size().tolist() == first.table.class_size.tolist()


def test_numbers_may_be_groups_and_are_no_input(frame):
    blocks = frame.assign(block=np.arange(60) // 10)
    result = symscreen.screen(blocks, stability=2, groups="block", target="target", layers="u", top=2)
    assert result.record["data"]["inputs"] == ["x1", "x2", "x3"]


def test_formulas_of_ones_own_that_are_constant_in_a_half_are_left_out_there(rng):
    x = rng.uniform(1, 2, 20)
    spike = np.zeros(20)
    spike[3] = 1.0
    frame = pd.DataFrame({"x": x, "s": spike, "y": x + 9 * spike})
    result = symscreen.screen(frame, layers="u", unary="cube", also="x + 9*s", stability=3, top=1)
    assert result.table.expression[0] == "x + 9*s"
    assert 0.0 <= result.table.stability[0] <= 1.0


def test_the_bound_is_the_theorems():
    assert bound_false_selections(10, 1000, 1.0) == pytest.approx(0.1)
    assert bound_false_selections(10, 1000, 0.75) == pytest.approx(0.2)


def test_what_has_no_meaning_is_refused_with_the_reason(frame):
    def told(message, error=OptionError, **options):
        with pytest.raises(error, match=message):
            symscreen.screen(options.pop("data", frame), target="target", layers="u", **options)

    told("stability is 0", stability=0)
    told("is not used: give stability=, intervals= or permutations=", groups="x1")
    told("give top= a number", stability=2, top="all")
    told("cannot be combined with rounds=2", stability=2, rounds=2)
    told("has 2 groups, too few", stability=2, groups="g", data=frame.assign(g=np.arange(60) % 2))
    told("no column 'sit' for groups=; did you mean 'site'", DataError, stability=2, groups="sit",
         data=frame.assign(site="a"))  # fmt: skip
    gaps = frame.assign(site=["a", None] * 30)
    told("has no label in", DataError, stability=2, groups="site", data=gaps)
    step = frame.assign(target=np.arange(60) == 3)
    told("half 2 cannot be screened|half 1 cannot be screened", stability=1, data=step)
    told("too few to halve", stability=2, data=frame.head(8))

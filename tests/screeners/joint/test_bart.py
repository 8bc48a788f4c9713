from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from symscreen import datasets
from symscreen.errors import DataError, OptionError
from symscreen.screeners.base import JointInput
from symscreen.screeners.checks import check_screener
from symscreen.screeners.joint import bart
from symscreen.screeners.joint.bart import BART, compute_thresholds, sample_inclusion
from symscreen.targets import NumericTarget

QUICK = {"burn": 60, "draws": 40, "replicates": 3, "permutations": 10}


def _quick(**settings):
    return BART.replace_settings(QUICK | settings)


def _shown(rng, features=6, rows=60, **options):
    """Noise, and of two features the sum with noise as the response."""
    values = rng.normal(size=(features, rows))
    y = values[0] + values[1] + rng.normal(0, 0.1, rows)
    order = np.argsort(y)
    return JointInput(np.ascontiguousarray(values[:, order]), NumericTarget(y[order]), **options)


def _same(one, other):
    return (
        one.score.tobytes() == other.score.tobytes()
        and one.selected.tolist() == other.selected.tolist()
        and all(one.columns[name].tobytes() == other.columns[name].tobytes() for name in one.columns)
    )


@pytest.mark.slow
def test_it_keeps_its_promises():
    check_screener(_quick(burn=100, draws=50))


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["local", "gmax", "gse"])
def test_a_rule_selects_what_the_response_depends_on(rng, rule):
    scores = _quick(rule=rule, burn=200, draws=100, permutations=20).score_features(_shown(rng, features=10))
    assert scores.selected[:2].all()
    assert scores.selected.sum() <= 3
    assert set(np.argsort(scores.loss)[:2]) == {0, 1}
    assert np.array_equal(scores.selected, scores.score > scores.columns["bart_threshold"])


@pytest.mark.slow
def test_the_figures_are_those_of_the_sampled_shares(rng):
    shown = _shown(rng)
    own, permuted = sample_inclusion(shown, _quick(alpha=0.2).all_settings)
    scores = _quick(alpha=0.2).score_features(shown)
    assert [each.shape for each in own] == [(40, 6)] * 3
    assert permuted.shape == (10, 6)
    drawn = np.concatenate(own)
    assert scores.score == pytest.approx(drawn.mean(axis=0))
    assert (drawn < scores.columns["bart_low"]).mean() <= 0.025
    assert (drawn > scores.columns["bart_high"]).mean() <= 0.025
    assert np.array_equal(scores.columns["bart_threshold"], compute_thresholds(permuted, "gse", 0.2))
    assert scores.loss == pytest.approx(1 - scores.score, abs=1e-9)


@pytest.mark.slow
def test_without_a_rule_nothing_is_permuted_or_selected(rng):
    shown = _shown(rng)
    scores = _quick(rule="none").score_features(shown)
    assert "bart_threshold" not in scores.columns
    assert not scores.selected.any()
    assert np.array_equal(scores.score, _quick().score_features(shown).score)


@pytest.mark.slow
def test_the_seed_decides_and_the_processes_do_not(rng, monkeypatch):
    monkeypatch.setattr(bart, "_MIN_PARALLEL_TIME_S", 0.0)
    shown = _shown(rng)
    alone = _quick().score_features(shown)
    assert _same(_quick().score_features(JointInput(shown.values, shown.target, jobs=2)), alone)
    other = _quick().score_features(JointInput(shown.values, shown.target, seed=1))
    assert not np.array_equal(other.score, alone.score)


@pytest.mark.slow
def test_permutations_are_the_same_whatever_the_replicates(rng):
    shown = _shown(rng)
    _, few = sample_inclusion(shown, _quick(replicates=1).all_settings)
    own, many = sample_inclusion(shown, _quick(replicates=3).all_settings)
    assert np.array_equal(few, many)
    assert len({each.tobytes() for each in own}) == 3


@pytest.mark.slow
def test_members_of_a_rank_class_are_one_and_the_same(rng):
    shown = _shown(rng)
    copies = np.exp(shown.values)
    copies[::2] *= -1
    assert _same(_quick().score_features(JointInput(copies, shown.target)), _quick().score_features(shown))


@pytest.mark.slow
def test_a_feature_that_only_falls_is_split_on_like_one_that_only_rises():
    shown = _shown(np.random.default_rng(0))
    falls, rises = shown.values.copy(), shown.values.copy()
    falls[2], rises[2] = -shown.target.values, shown.target.values
    scores = _quick().score_features(JointInput(falls, shown.target))
    assert np.argmax(scores.score) == 2
    assert _same(scores, _quick().score_features(JointInput(rises, shown.target)))


@pytest.mark.slow
def test_the_unit_of_the_response_does_not_matter(rng):
    shown = _shown(rng)
    plain = _quick().score_features(shown)
    for exponent in (-900, 900):
        scaled = NumericTarget(np.ldexp(shown.target.values, exponent))
        assert _same(_quick().score_features(JointInput(shown.values, scaled)), plain)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [3, 4, 10, 11])
def test_few_rows_are_enough_to_split(rng, rows):
    scores = _quick().score_features(_shown(rng, features=4, rows=rows))
    assert scores.score.sum() == pytest.approx(1.0)


def test_two_rows_are_refused(rng):
    with pytest.raises(DataError, match="at least 3 rows to split, and the table has 2"):
        _quick().score_features(_shown(rng, rows=2))


@pytest.mark.slow
def test_one_feature_has_all_the_splits_and_the_record_says_so(rng):
    scores = _quick().score_features(_shown(rng, features=2))
    assert not scores.record["warnings"]
    shown = JointInput(rng.normal(size=(1, 30)), NumericTarget(np.sort(rng.normal(size=30))))
    scores = _quick().score_features(shown)
    assert scores.score[0] == pytest.approx(1.0, abs=0.01)
    assert "one feature" in scores.record["warnings"][0]


def test_a_missing_stochtree_is_told(rng, monkeypatch):
    monkeypatch.setitem(sys.modules, "stochtree", None)
    with pytest.raises(OptionError, match=r"pip install 'symscreen\[bart\]'"):
        _quick().score_features(_shown(rng))


def test_it_takes_fewer_features_of_more_rows_and_never_none():
    taken = [BART.compute_max_features(rows) for rows in (100, 1000, 10_000, 1_000_000)]
    assert taken == sorted(taken, reverse=True)
    assert taken[0] > taken[-1] >= 50
    assert _quick(draws=10, burn=0).compute_max_features(100) < BART.compute_max_features(100)


@pytest.mark.parametrize(("rows", "leaf"), [(3, 1), (4, 1), (5, 2), (8, 3), (10, 4), (11, 5), (200, 5)])
def test_a_leaf_has_five_rows_or_as_many_as_allow_a_split(rows, leaf, monkeypatch):
    given = []

    class Model:
        forest_container_mean = SimpleNamespace(get_forest_split_counts=lambda _, q: np.ones(q))

        def sample(self, **options):
            given.append(options["mean_forest_params"])

    monkeypatch.setitem(sys.modules, "stochtree", SimpleNamespace(BARTModel=Model))
    chain = bart._Chain(np.arange(float(rows)), 0, keep_draws=False)
    bart._sample_chain(np.ones((rows, 2)), chain, _quick().all_settings)
    assert [one["min_samples_leaf"] for one in given] == [leaf]


@pytest.mark.parametrize(
    ("jobs", "seconds", "processes"), [(1, 9, 0), (2, 0.9, 0), (2, 9, 2), (3, 9, 3), (9, 9, 4)]
)
def test_long_chains_run_in_as_many_processes_as_jobs_and_chains(jobs, seconds, processes, monkeypatch):
    used = []

    class Parallel:
        def __init__(self, n_jobs, **_):
            used.append(n_jobs)

        def __call__(self, tasks):
            return [function(*arguments, **options) for function, arguments, options in tasks]

    monkeypatch.setattr("joblib.Parallel", Parallel)
    monkeypatch.setattr(bart, "_estimate_chain_seconds", lambda *_: float(seconds))
    monkeypatch.setattr(bart, "_sample_chain", lambda _, chain, __: chain)
    found = bart._sample_chains(np.ones((5, 2)), ["a", "b", "c", "d"], {}, jobs)
    assert found == ["a", "b", "c", "d"]
    assert used == [processes] * (processes > 0)


def test_a_chain_takes_longer_with_more_rows_features_trees_and_steps():
    settings = {"trees": 20, "burn": 100, "draws": 400}
    times = [
        bart._estimate_chain_seconds(100, 20, settings),
        bart._estimate_chain_seconds(1000, 20, settings),
        bart._estimate_chain_seconds(1000, 200, settings),
        bart._estimate_chain_seconds(1000, 200, settings | {"trees": 40}),
        bart._estimate_chain_seconds(1000, 200, settings | {"trees": 40, "draws": 900}),
    ]
    assert times == sorted(set(times))
    assert times[0] > 0.0


@pytest.mark.slow
def test_of_the_additive_model_both_inputs_are_kept_and_the_idle_one_is_not():
    frame = datasets.make_additive(n=100, noise_variance=0.01, seed=3).frame.sort_values("target")
    x1, x2, x3 = (frame[name].to_numpy() for name in ("x1", "x2", "x3"))
    # one feature a rank class of the space bu
    values = np.array([x1, x2, x3, x1 + x2, x1 + x3, x2 + x3, x1 * x2, x1 * x3, x2 * x3])
    shown = JointInput(values, NumericTarget(frame["target"].to_numpy()))
    scores = BART.replace_settings(
        {"rule": "local", "burn": 300, "draws": 100, "replicates": 4, "permutations": 20}
    ).score_features(shown)
    assert scores.selected[2]
    assert scores.selected[0] or scores.selected[4]
    assert not scores.selected[[1, 3, 5, 6, 8]].any()


@pytest.mark.slow
def test_longer_chains_narrow_the_inclusion_under_permutation(rng):
    shown = _shown(rng, features=8)
    spread = [
        sample_inclusion(shown, _quick(depth=10, replicates=1, draws=draws, permutations=20).all_settings)[1]
        .std(axis=0)
        .mean()
        for draws in (20, 240)
    ]
    assert spread[1] < 0.6 * spread[0]

from __future__ import annotations

import numpy as np
import pytest

from symscreen.errors import OptionError
from symscreen.screeners.base import JointInput, transform_to_ranks
from symscreen.screeners.checks import check_screener
from symscreen.screeners.joint import forest
from symscreen.screeners.joint.crit import CRIT, build_ranking_sample, compute_dispersion
from symscreen.screeners.joint.forest import (
    FOREST,
    RankingForestSettings,
    compute_impurity_importance,
    compute_permutation_importance,
)
from symscreen.targets.ranking import RankingTarget
from symscreen.targets.ranking_notation import Rankings
from symscreen.targets.ranking_ranks import compute_pair_signs

LABELS = ("a", "b", "c")
QUICK_FOREST = FOREST.replace_settings({"trees": 20, "rounds": 8})


def _shown(rng, *, features=8, rows=120, missing=0.0, **options):
    """Noise with ties; three labels are ranked by features 0 and 1; the effect of 1 is not monotone."""
    values = np.round(rng.normal(size=(features, rows)), 1)
    worth = np.column_stack([2 * values[0], values[1] ** 2 - 1, np.zeros(rows)])
    ranks = -(worth + rng.normal(0, 0.2, worth.shape))
    ranks[rng.random(rows) < missing, 1] = np.nan
    return JointInput(values, RankingTarget(Rankings(ranks, LABELS)), **options)


def _bytes(scores):
    return [array.tobytes() for array in (scores.score, scores.loss, scores.selected)]


@pytest.mark.slow
def test_it_keeps_its_promises():
    check_screener(CRIT)
    assert CRIT.target_types == ("ranking",)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_what_decides_the_rankings_is_important(rng, missing):
    scores = CRIT.score_features(_shown(rng, missing=missing))
    assert set(np.argsort(scores.loss)[:2]) == {0, 1}
    assert scores.selected[:2].all()
    assert scores.score.sum() == pytest.approx(scores.record["explained"])
    assert 0.5 < scores.score.sum() <= 1.0
    assert not scores.direction.any()


def test_one_split_removes_what_it_removes_by_definition(rng):
    whole = _shown(rng)
    shown = JointInput(whole.values[:1], whole.target)
    scores = CRIT.replace_settings({"depth": 1, "gain": 0.0}).score_features(shown)
    signs = compute_pair_signs(shown.target.ranks)

    def dispersion(rows):
        p = (signs[rows] < 0).mean(axis=0) + (signs[rows] == 0).mean(axis=0) / 2
        return len(rows) * (p * (1 - p)).sum()

    order = np.argsort(shown.values[0])
    z, rows = shown.values[0][order], len(order)
    cuts = [cut for cut in range(5, rows - 4) if z[cut - 1] < z[cut]]
    best = min(dispersion(order[:cut]) + dispersion(order[cut:]) for cut in cuts)
    assert scores.score[0] == pytest.approx(1 - best / dispersion(order), abs=1e-9)


@pytest.mark.slow
def test_members_of_a_rank_class_are_one_and_the_same(rng):
    shown = _shown(rng)
    copies = np.exp(shown.values)
    copies[1::2] *= -1
    for one in (CRIT, QUICK_FOREST):
        assert _bytes(one.score_features(JointInput(copies, shown.target))) == _bytes(
            one.score_features(shown)
        )


def test_the_order_of_labels_does_not_matter(rng):
    shown = _shown(rng)
    turned = RankingTarget(Rankings(shown.target.ranks[:, ::-1], LABELS))
    assert _bytes(CRIT.score_features(JointInput(shown.values, turned))) == _bytes(CRIT.score_features(shown))


@pytest.mark.slow
@pytest.mark.parametrize("importance", ["permutation", "impurity"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_forest_of_rankings_confirms_what_matters(rng, importance, missing):
    shown = _shown(rng, missing=missing, seed=5)
    screener = QUICK_FOREST.replace_settings({"importance": importance})
    scores = screener.score_features(shown)
    assert set(np.argsort(scores.loss)[:2]) == {0, 1}
    assert scores.selected[:2].all()
    assert scores.selected.sum() <= 3
    assert _bytes(screener.score_features(JointInput(shown.values, shown.target, 5, 2))) == _bytes(scores)
    assert _bytes(screener.score_features(JointInput(shown.values, shown.target, 6))) != _bytes(scores)


def test_who_is_missing_teaches_the_forest_nothing(rng):
    """A label is missing where the first feature is high: a forest that read 0 would split there."""
    values = rng.normal(size=(3, 200))
    ranks = np.column_stack([np.where(rng.random(200) < 0.9, -1.0, 1.0), np.zeros(200), 3 * values[1]])
    ranks[values[0] > 0, 0] = np.nan
    sample = build_ranking_sample(transform_to_ranks(values), RankingTarget(Rankings(ranks, LABELS)))
    for importance in (compute_impurity_importance, compute_permutation_importance):
        found = importance(sample, RankingForestSettings(np.random.SeedSequence(1), 30, 1.0, 1))
        assert found[1] > 5 * np.abs(found[[0, 2]]).max()


def test_the_dispersion_is_that_of_its_definition(rng):
    ranks = rng.normal(size=(30, 3))
    ranks[:5, 0] = np.nan
    sample = build_ranking_sample(np.ones((30, 1)), RankingTarget(Rankings(ranks, LABELS)))
    expected = 0.0
    for i, j in ((0, 1), (0, 2), (1, 2)):
        both = ~np.isnan(ranks[:, i]) & ~np.isnan(ranks[:, j])
        p = (ranks[both, i] < ranks[both, j]).mean()
        expected += both.sum() * p * (1 - p) / 30
    assert compute_dispersion(sample) == pytest.approx(expected)


def test_it_takes_from_20_to_5000_features_as_many_as_ten_minutes_allow():
    for depth in (5, 10):
        screener = CRIT.replace_settings({"depth": depth})
        assert screener.compute_max_features(10**6) == 600 // (0.2 * depth)
        assert screener.compute_max_features(10) == 5000
        assert screener.compute_max_features(10**9) == 20


def test_the_gain_may_be_the_whole_dispersion_and_no_more(rng):
    assert not CRIT.replace_settings({"gain": 1.0}).score_features(_shown(rng)).selected.any()
    with pytest.raises(OptionError, match="gain"):
        CRIT.replace_settings({"gain": 1.0 + 1e-9})


def test_a_split_must_remove_the_share_of_the_dispersion_that_gain_states(rng):
    shown = _shown(rng)
    stump = CRIT.replace_settings({"depth": 1, "gain": 0.0}).score_features(shown)
    share = stump.record["explained"]
    assert 0.05 < share < 0.8
    for gain, leaves in ((share - 1e-9, 2), (share + 1e-9, 1)):
        settings = {"depth": 1, "gain": gain}
        assert CRIT.replace_settings(settings).score_features(shown).record["leaves"] == leaves


def test_permutation_importance_is_a_share_of_the_variance_of_the_observed_signs(rng, monkeypatch):
    shown = _shown(rng, missing=0.3)
    sample = build_ranking_sample(transform_to_ranks(shown.values), shown.target)
    signs, observed = sample.signs.astype(float), sample.observed
    means = (signs * observed).sum(axis=0) / observed.sum(axis=0)
    variance = ((signs - means) ** 2)[observed].mean()
    errors = [np.arange(8.0), None, np.full(8, 3.0)]
    monkeypatch.setattr(forest, "_map_trees", lambda *_: errors)
    settings = RankingForestSettings(np.random.SeedSequence(0), 3, 0.5, 1)
    found = compute_permutation_importance(sample, settings)
    np.testing.assert_allclose(found, (np.arange(8.0) + 3.0) / 2 / variance, rtol=1e-12)
    errors[2] = None  # one tree is enough
    found = compute_permutation_importance(sample, settings)
    np.testing.assert_allclose(found, np.arange(8.0) / variance, rtol=1e-12)

from __future__ import annotations

import json
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from symscreen.errors import OptionError
from symscreen.linear_models import best_subset
from symscreen.linear_models.model_criteria import assign_folds
from symscreen.screeners.base import JointInput
from symscreen.screeners.joint import stepwise
from symscreen.screeners.joint.stepwise import STEPWISE
from symscreen.targets import NumericTarget

DIRECTIONS = ("forward", "backward", "exhaustive")
CRITERIA = ("cp", "bic", "aic", "cv")

every_direction = pytest.mark.parametrize("direction", DIRECTIONS)
every_criterion = pytest.mark.parametrize("criterion", CRITERIA)


def _shown(x, y, seed=0):
    rows = np.argsort(y, kind="stable")
    return JointInput(np.ascontiguousarray(x[:, rows]), NumericTarget(y[rows]), seed)


def _judge(shown, **settings):
    scores = STEPWISE.replace_settings(settings).score_features(shown)
    q = len(shown.values)
    step = scores.columns["stepwise_step"]
    for figures in (scores.score, scores.loss):
        assert figures.shape == (q,)
        assert np.isfinite(figures).all()
    assert scores.selected.dtype == np.bool_
    assert scores.direction.dtype == np.int8
    assert scores.selected.sum() == scores.record["size"]
    assert (scores.score[~scores.selected] == 0.0).all()
    assert (scores.direction[np.isnan(step)] == 0).all()
    # the chosen come first, those never on the path last and alike
    assert scores.loss[scores.selected].max(initial=0.0) < scores.loss[~scores.selected].min(initial=np.inf)
    assert np.unique(scores.loss[np.isnan(step)]).size <= 1
    assert scores.loss[~np.isnan(step)].max(initial=0.0) < scores.loss[np.isnan(step)].min(initial=np.inf)
    json.dumps(scores.record, allow_nan=False)
    return scores


def _chosen(scores):
    return np.flatnonzero(scores.selected).tolist()


def _easy(rng, q=12, n=60):
    x = rng.normal(size=(q, n)) + rng.normal(size=(1, n))
    return x, 3 * x[2] - 2 * x[7] + x[5] + 0.1 * rng.normal(size=n)


def _ablation(rng, n=80):
    """Sums and products of three inputs and their cubes: 24 features, three of them in others' span."""
    u = rng.uniform(0, 1, (3, n))
    pairs = [(i, j) for i in range(3) for j in range(i, 3)]
    both = [u[i] + u[j] for i, j in pairs] + [u[i] * u[j] for i, j in pairs]
    return np.array(both + [one**3 for one in both]), 2 * u[0] ** 3 + 5 * u[2] + 10


def test_its_options():
    assert [option.name for option in STEPWISE.options] == ["direction", "criterion", "max_size", "folds"]
    assert STEPWISE.all_settings == {"direction": "forward", "criterion": "bic", "max_size": 20, "folds": 10}
    with pytest.raises(OptionError, match="did you mean 'backward'"):
        STEPWISE.replace_settings({"direction": "backwards"})


def test_what_it_can_take():
    sizes = {direction: STEPWISE.replace_settings({"direction": direction}) for direction in DIRECTIONS}
    assert sizes["forward"].compute_max_features(400) >= 1000
    assert 40 <= sizes["exhaustive"].compute_max_features(400) <= 60
    assert sizes["backward"].compute_max_features(100) == 98
    assert sizes["backward"].replace_settings({"criterion": "cv"}).compute_max_features(100) == 88
    assert all(one.compute_max_features(2) >= 1 for one in sizes.values())


@every_direction
@every_criterion
def test_it_finds_an_easy_truth(direction, criterion, rng):
    x, y = _easy(rng)
    scores = _judge(_shown(x, y), direction=direction, criterion=criterion)
    assert {2, 5, 7} <= set(_chosen(scores))
    assert scores.direction[[2, 5, 7]].tolist() == [1, 1, -1]
    assert scores.score[2] == pytest.approx(3 * x[2].std() / y.std(), rel=0.05)


def test_forward_ranks_by_entry(rng):
    x, y = _easy(rng)
    scores = _judge(_shown(x, y))
    step = scores.columns["stepwise_step"]
    assert sorted(step.tolist()) == list(range(1, 13))
    assert np.argsort(scores.loss).tolist() == np.argsort(step).tolist()
    single = [np.corrcoef(one, y)[0, 1] ** 2 for one in x]
    assert step[np.argmax(single)] == 1


def test_exhaustive_ranks_by_the_first_best_model_that_holds_a_feature(rng):
    x, _ = _easy(rng, q=8)
    y = x[0] + x[1] + 0.5 * x[2] + rng.normal(size=60)
    scores = _judge(_shown(x, y), direction="exhaustive", max_size=4)
    models = [_best_subset(x, y, size) for size in range(1, 5)]
    first = [next((size for size, model in enumerate(models, 1) if j in model), np.nan) for j in range(8)]
    assert np.array_equal(scores.columns["stepwise_step"], first, equal_nan=True)


def _fit(x, y, model):
    design = np.column_stack([np.ones(y.size), *x[list(model)]])
    coefficients = np.linalg.lstsq(design, y, rcond=None)[0]
    return coefficients, float(((y - design @ coefficients) ** 2).sum())


def _best_subset(x, y, size):
    return min(combinations(range(len(x)), size), key=lambda model: _fit(x, y, model)[1])


def test_exhaustive_takes_the_best_bic_of_all_models(rng):
    x, _ = _easy(rng, q=8, n=30)
    y = x[0] - x[3] + 0.7 * x[5] + rng.normal(size=30)
    models = [model for size in range(9) for model in combinations(range(8), size)]
    bic = [30 * np.log(_fit(x, y, model)[1] / 30) + len(model) * np.log(30) for model in models]
    scores = _judge(_shown(x, y), direction="exhaustive")
    assert _chosen(scores) == list(models[int(np.argmin(bic))])


def test_cp_takes_its_noise_from_the_full_model(rng):
    x, y = _easy(rng, q=8, n=40)
    record = _judge(_shown(x, y), criterion="cp").record
    noise = _fit(x, y, range(8))[1] / (40 - 9)
    assert record["noise_share"] == pytest.approx(noise / ((y - y.mean()) ** 2).sum())
    null = ((y - y.mean()) ** 2).sum() / noise - 40 + 2
    assert record["criterion_by_size"][0] == pytest.approx(null)
    assert record["criterion_by_size"][8] == pytest.approx(9.0)
    assert "all features" in record["noise_from"]


def test_cp_with_more_features_than_rows_says_where_its_noise_is_from(rng):
    x = rng.normal(size=(40, 30))
    scores = _judge(_shown(x, 3 * x[4] + 0.1 * rng.normal(size=30)), criterion="cp")
    assert scores.record["noise_from"] == "the largest forward model (14 independent)"
    assert scores.selected[4]


@every_direction
def test_the_path_holds_the_models_on_the_features_own_scales(direction, rng):
    x, y = _easy(rng)
    x = x * 10.0 ** rng.integers(-3, 4, (12, 1)) + 5.0
    scores = _judge(_shown(x, y), direction=direction, max_size=6)
    path = scores.path
    assert path.steps.tolist() == list(range(7))
    assert np.isnan(path.error).all()
    for size, (coefficients, intercept) in enumerate(zip(path.coefficients, path.intercepts, strict=True)):
        model = np.flatnonzero(coefficients)
        assert model.size == size
        expected, rss = _fit(x, y, model)
        assert np.append(intercept, coefficients[model]) == pytest.approx(expected, rel=1e-6, abs=1e-8)
        total = ((y - y.mean()) ** 2).sum()
        assert scores.record["rss_share_by_size"][size] == pytest.approx(rss / total, rel=1e-9)


def test_cross_validation_runs_the_whole_path_in_each_fold(rng):
    x, _ = _easy(rng, q=10, n=30)
    y = np.sort(x[1] + x[2] + rng.normal(size=30))
    dealt = assign_folds(30, 5, seed=3)
    squares = np.zeros((4, 30))
    for fold in range(5):
        train, out, model = dealt != fold, dealt == fold, []
        for size in range(4):
            coefficients, _ = _fit(x[:, train], y[train], model)
            predicted = coefficients[0] + coefficients[1:] @ x[model][:, out]
            squares[size, out] = (y[out] - predicted) ** 2
            others = [j for j in range(10) if j not in model]
            model.append(min(others, key=lambda j: _fit(x[:, train], y[train], [*model, j])[1]))
    scores = _judge(JointInput(x, NumericTarget(y), seed=3), criterion="cv", max_size=3, folds=5)
    assert scores.path.error == pytest.approx(squares.mean(axis=1))
    assert scores.record["size"] == np.argmin(squares.mean(axis=1))


def test_where_a_fold_has_no_larger_model_its_largest_is_judged(rng):
    y = np.sort(rng.normal(size=20))
    x = np.stack([y + rng.normal(size=20), np.arange(20) == 19.0])
    dealt = assign_folds(20, 4, seed=0)
    squares = np.zeros((3, 20))
    for fold in range(4):
        train, out = dealt != fold, dealt == fold
        able = [j for j in range(2) if np.ptp(x[j, train]) > 0]  # the second is constant without its one row
        order = sorted(able, key=lambda j: _fit(x[:, train], y[train], [j])[1])
        for size in range(3):
            model = order[:size]
            coefficients, _ = _fit(x[:, train], y[train], model)
            squares[size, out] = (y[out] - coefficients[0] - coefficients[1:] @ x[model][:, out]) ** 2
    scores = _judge(JointInput(x, NumericTarget(y)), criterion="cv", folds=4)
    assert scores.path.error == pytest.approx(squares.mean(axis=1))


@every_direction
def test_the_direction_of_a_feature_is_the_sign_with_which_it_entered(direction, rng):
    x, y = _easy(rng)
    scores = _judge(_shown(x, y), direction=direction, max_size=10)
    step = scores.columns["stepwise_step"]
    passed_over = np.flatnonzero(~scores.selected & (step <= 10))
    assert passed_over.size
    for j in passed_over:
        assert scores.direction[j] == np.sign(scores.path.coefficients[int(step[j]), j])
    assert (scores.direction[scores.selected] == np.sign(scores.score[scores.selected])).all()


@pytest.mark.slow
@every_direction
def test_cross_validation_does_not_chase_rounding(direction, rng):
    for _ in range(10):
        x = rng.normal(size=(10, 30)) + rng.normal(size=(1, 30))
        scores = _judge(_shown(x, x[2] - 2.0 * x[6]), direction=direction, criterion="cv", max_size=6)
        assert _chosen(scores) == [2, 6]


@every_direction
@every_criterion
def test_a_noise_free_response_takes_no_more_than_the_truth(direction, criterion):
    x, y = _ablation(np.random.default_rng(0))
    scores = _judge(_shown(x, y), direction=direction, criterion=criterion)
    assert _chosen(scores) == [5, 12]  # x3 + x3 and (x1 + x1)³
    assert scores.path.coefficients[2, [5, 12]] == pytest.approx([2.5, 0.25])
    assert scores.path.intercepts[2] == pytest.approx(10.0)
    assert any("2 features fit the target up to rounding" in one for one in scores.record["warnings"])


@pytest.mark.slow
@every_direction
@every_criterion
def test_exactly_collinear_features_do_no_harm(direction, criterion, rng):
    x, y = _ablation(rng)
    x = np.concatenate([x, 2.0 * x[:3] + 1.0, x[3:6] - x[6:9]])
    scores = _judge(_shown(x, y + rng.normal(size=80)), direction=direction, criterion=criterion, max_size=8)
    centered = x[scores.selected] - x[scores.selected].mean(axis=1, keepdims=True)
    assert np.linalg.matrix_rank(centered, tol=1e-9) == scores.record["size"]
    if direction == "backward":
        kept = sorted(set(range(30)) - set(scores.record["set_aside"]))
        centered = x - x.mean(axis=1, keepdims=True)
        assert np.linalg.matrix_rank(centered[kept], tol=1e-9) == len(kept) == 21


@every_direction
def test_copies_of_what_is_chosen_are_named_and_the_first_is_chosen(direction, rng):
    x, y = _easy(rng)
    scores = _judge(_shown(np.concatenate([x, -3.0 * x[:8]]), y), direction=direction)
    chosen = _chosen(scores)
    assert {2, 5, 7} <= set(chosen) <= set(range(12))
    assert scores.record["in_span_of_chosen"] == [j + 12 for j in chosen if j < 8]


@pytest.mark.slow
@every_direction
@every_criterion
@pytest.mark.parametrize(("q", "n"), [(1, 2), (5, 2), (1, 3), (6, 3), (3, 4), (30, 12), (1, 30)])
def test_any_shape_is_taken(direction, criterion, q, n, rng):
    scores = _judge(
        _shown(rng.normal(size=(q, n)), rng.normal(size=n)),
        direction=direction,
        criterion=criterion,
        max_size=4,
    )
    assert scores.record["size"] <= (n - 1) // 2
    assert bool(scores.record["warnings"]) or n > 3 or scores.record["size"] == 0


@pytest.mark.slow
@every_direction
@every_criterion
@pytest.mark.parametrize("size", [1e-200, 1e-8, 1e200])
def test_the_verdict_does_not_depend_on_scales(direction, criterion, size, rng):
    x, y = _easy(rng)
    here = _judge(_shown(x, y), direction=direction, criterion=criterion, max_size=5)
    scaled = x * (size ** rng.uniform(-1, 1, 12))[:, None]
    for there in (_shown(scaled, y), _shown(x, y * size), _shown(x + 1e6, y - 1e6)):
        scores = _judge(there, direction=direction, criterion=criterion, max_size=5)
        assert _chosen(scores) == _chosen(here)
        assert np.array_equal(scores.columns["stepwise_step"], here.columns["stepwise_step"], equal_nan=True)
        assert scores.score == pytest.approx(here.score, rel=1e-6)


def test_an_offset_that_hides_a_feature_keeps_it_out(rng):
    x, y = _easy(rng)
    x[4] = x[4] * 1e-9 + 1e9  # constant up to rounding
    x[4, 0] += 1e-6
    assert np.isnan(_judge(_shown(x, y), max_size=12).columns["stepwise_step"][4])


@every_direction
def test_it_depends_neither_on_the_order_of_features_nor_on_the_run(direction, rng):
    x, y = _easy(rng)
    y = y + rng.normal(size=60)
    order = rng.permutation(12)
    one, again, other = (
        _judge(_shown(block, y), direction=direction, criterion="cv", max_size=6)
        for block in (x, x, x[order])
    )
    assert one.loss.tolist() == again.loss.tolist()
    assert one.record == again.record
    assert one.loss[order].tolist() == other.loss.tolist()
    assert one.score[order] == pytest.approx(other.score)


def test_warnings_tell_what_bounds_the_choice(rng):
    x, y = _easy(rng)
    limited = _judge(_shown(x, y), max_size=2).record["warnings"]
    assert limited[0].startswith("the criterion decreases up to 2 features, the maximum: raise max_size, or")
    validated = _judge(_shown(x, y), max_size=2, criterion="cv").record["warnings"]
    assert validated[0].endswith("the maximum: raise max_size")
    few = _judge(_shown(x[:, :12], y[:12]), direction="backward")
    assert "12 features are too many for 12 rows" in few.record["warnings"][0]
    assert few.record["set_aside"] == []


def test_too_many_features_for_a_search_are_told_and_still_judged(rng, monkeypatch):
    # its memory would grow with the square of the features
    monkeypatch.setattr(best_subset, "search_subsets", None)
    x = rng.normal(size=(400, 30))
    scores = _judge(
        _shown(x, 3 * x[5] - x[9] + 0.1 * rng.normal(size=30)), direction="exhaustive", max_size=3
    )
    assert {5, 9} <= set(_chosen(scores))
    assert scores.record["warnings"][0].startswith("models of more than 0 features are the best found")


@pytest.mark.parametrize(("share", "is_exact"), [(1.0, True), (1.0 + 1e-9, False)])
def test_a_fit_is_exact_at_the_floor_and_not_above_it(share, is_exact):
    problem = SimpleNamespace(n=40, rss_floor=1e-24)
    trace = SimpleNamespace(rss=np.array([1.0, 0.5, share * 1e-24]))
    path = SimpleNamespace(coefficients=np.zeros((3, 2)), intercepts=np.zeros(3))
    warnings = stepwise._collect_warnings(problem, trace, path, 2, {"max_size": 20, "criterion": "bic"})
    told = "2 features fit the target up to rounding: larger models are not distinguished"
    assert warnings == [told] * is_exact


def test_a_coefficient_beyond_any_float_is_told(rng):
    x, y = _easy(rng)
    x[2] *= 1e-200
    warnings = _judge(_shown(x, y * 1e200)).record["warnings"]
    assert warnings == ["coefficients overflow in the units of the features: scale the data"]


def test_the_default_is_forward_selection_by_bic_which_may_miss_the_best_subset_of_all(rng):
    # y is exactly x0 − x1; their sum with noise correlates more with y than either of them
    common = 5 * rng.normal(size=200)
    difference = rng.normal(size=200)
    x = np.array([common + difference, common - difference, 2 * difference + rng.normal(size=200)])
    shown = _shown(x, x[0] - x[1])
    default = _judge(shown)
    assert (
        default.columns["stepwise_step"].tolist()
        == _judge(shown, direction="forward", criterion="bic").columns["stepwise_step"].tolist()
    )
    assert default.columns["stepwise_step"][2] == 1
    assert _chosen(_judge(shown, max_size=2)) != [0, 1]
    assert _chosen(_judge(shown, direction="exhaustive", max_size=2)) == [0, 1]


@pytest.mark.parametrize("rows", [7, 8])
def test_the_size_that_the_rows_allow_is_half_of_them(rng, rows):
    x, y = rng.normal(size=(9, rows)), rng.normal(size=rows)
    scores = _judge(_shown(x, y), criterion="aic")
    assert scores.record["size"] == 3
    assert scores.record["warnings"] == [
        f"the criterion decreases up to 3 features; {rows} rows do not allow more"
    ]


def test_losses_are_steps_and_the_rest_follow_the_last_step_twice(rng):
    scores = _judge(_shown(*_easy(rng, q=30, n=40)), max_size=8)
    step = scores.columns["stepwise_step"]
    assert np.isnan(step).any()
    assert (~scores.selected & ~np.isnan(step)).any()
    last = np.nanmax(step)
    expected = np.where(np.isnan(step), 2 * last + 1, step + last * ~scores.selected)
    np.testing.assert_array_equal(scores.loss, expected)

from __future__ import annotations

import random
import re
from dataclasses import replace

import numpy as np
import pytest
from helpers.requirements import require

import symscreen
from symscreen.errors import OptionError
from symscreen.screeners import (
    PEARSON,
    SCREENERS,
    T0,
    XI,
    CoefficientPath,
    JointScores,
    JointScreener,
    ScreenerOption,
    check_screener,
    checks,
)
from symscreen.screeners.base import compute_correlation_loss, compute_sign_direction
from symscreen.statistics.ranks.correlations import compute_correlations, compute_pearson

LIGHT = {"permutations": 5, "trees": 20, "draws": 200, "burn": 100, "replicates": 1, "iterations": 10}


def _light(screener):
    """Take settings that cost less, where a screener has them."""
    if not isinstance(screener, JointScreener):
        return screener
    options = {option.name: option for option in screener.options}
    least = {name: max(value, options[name].min_value) for name, value in LIGHT.items() if name in options}
    return screener.replace_settings({name: int(value) for name, value in least.items()})


@pytest.mark.slow
@pytest.mark.parametrize(
    "screener",
    [
        pytest.param(screener, id=name)
        for name, screener in SCREENERS.items()
        if name not in {"bart", "forest"}  # joint/test_bart.py and joint/test_forest.py check them
    ],
)
def test_every_screener_keeps_its_promises(screener):
    requirement = getattr(screener, "requirement", None)
    if requirement is not None:
        require(requirement[0])
    check_screener(_light(screener), rng_seed=1)


def test_it_is_public():
    assert symscreen.check_screener is check_screener


def _broken(screener, promise):
    with pytest.raises(AssertionError, match=re.escape(promise)):
        check_screener(screener)


# Column screeners


def _statistic(change):
    return lambda ordered, response: change(T0.statistic(ordered, response), ordered, response)


def _moody():
    calls = []

    def statistic(ordered, response):
        calls.append(1)
        return T0.statistic(ordered, response) * (1 + 1e-15 * len(calls))

    return statistic


def _spoil(ordered):
    ordered.values[0] += 1.0
    return 0.0


def _naive_pearson(ordered, response):
    z = ordered.values - ordered.values.mean(axis=1, keepdims=True)
    y = response.values - response.values.mean()
    with np.errstate(all="ignore"):
        size = (z**4).sum(axis=1) ** 0.25
        r = (z * y).sum(axis=1) / size
        return r / ((y * y).sum() / (y**4).sum() ** 0.25)


NAIVE = {
    "statistic": _naive_pearson,
    "loss": compute_correlation_loss,
    "equivalence": "affine",
    "score": lambda s, _: s,
}


def _several_only(ordered, response):
    if len(ordered.values) == 1 and len(response.values) == 60:
        raise IndexError("one is too few")
    return T0.statistic(ordered, response)


@pytest.mark.parametrize(
    ("changes", "promise"),
    [
        ({"name": "two words"}, "its name is one word"),
        ({"name": "a,b"}, "its name is one word"),
        ({"name": ""}, "its name is one word"),
        ({"name": "class_size"}, "not one of the reserved column names"),
        ({"equivalence": "nothing"}, "its equivalence is ranks or affine"),
        ({"target_types": ()}, "target_types is a tuple of at least one of numeric, ranking"),
        ({"target_types": "numeric"}, "such as ('numeric',), and not 'numeric'"),
        ({"target_types": ("numerical",)}, "and not ('numerical',)"),
        ({"fails": ""}, "fails is one line"),
        ({"source": "a\nb"}, "source is one line"),
        ({"statistic": _several_only}, "fails (among noise): IndexError('one is too few')"),
        ({"statistic": _statistic(lambda s, *_: s.astype(np.float32))}, "statistics are 8 finite float64"),
        ({"statistic": _statistic(lambda s, *_: s[:-1])}, "its statistics are 8 finite float64"),
        ({"statistic": _statistic(lambda s, *_: s * np.nan)}, "its statistics are 8 finite float64"),
        ({"statistic": _statistic(lambda s, *_: s.tolist())}, "its statistics are 8 finite float64"),
        ({"statistic": _moody()}, "the same input gives the same bytes"),
        ({"statistic": _statistic(lambda s, ordered, _: s + 0 * _spoil(ordered))}, "not change its input"),
        ({"statistic": _statistic(lambda s, *_: s * (1 - 1e-9 * len(s)))}, "does not depend on the others"),
        (NAIVE, "8 finite float64 (features of the sizes 1e-150 and 1e150)"),
        (
            {"statistic": compute_pearson, "loss": compute_correlation_loss},
            "features with the same ranks have the same bytes",
        ),
        ({"statistic": _statistic(lambda s, *_: s + 0.01)}, "mirrored ranks give exactly the negative"),
        ({"loss": lambda s, r, _: T0.loss(s, r, "positive")}, "(falling among noise)"),
        ({"loss": lambda s, r, sign: -T0.loss(s, r, sign)}, "the target ranks first, sign free"),
        ({"loss": lambda s, r, sign: T0.loss(s, r, sign) + 0.5}, "the loss of the target is near 0"),
        ({"loss": lambda s, r, sign: 0.5 * T0.loss(s, r, sign)}, "the mean loss of noise, sign positive"),
        ({"loss": lambda s, r, sign: T0.loss(s, r, sign)[:, None]}, "its losses are 8 finite float64"),
        ({"loss": lambda s, r, sign: np.log(0 * T0.loss(s, r, sign) - 1)}, "its losses are"),
        ({"loss_from_score": lambda s, scale, _: s / scale}, "from the score is the loss, sign free"),
        ({"loss_from_score": lambda s, scale, _: 1 - abs(1 - s / scale)}, "is the loss, sign positive"),
        ({"score": lambda s, _: s > 0}, "its scores are 8 finite float64"),
        ({"score": lambda s, _: s * np.inf}, "its scores are 8 finite float64"),
        ({"direction": lambda s: np.sign(s)}, "directions are int8, -1, 0 or 1"),  # noqa: PLW0108
        ({"direction": lambda s: 2 * compute_sign_direction(s)}, "directions are int8, -1, 0 or 1"),
        ({"direction": lambda s: -compute_sign_direction(s)}, "the direction of the target is right"),
        ({"name": "q_value"}, "not one of the reserved column names"),
        ({"rank_weights": lambda r: r.values[:-1]}, "its weights are 60 finite float64"),
        ({"rank_weights": lambda r: -r.values}, "its loss decreases with the weighted sum of ranks"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_column_screener_that_breaks_a_promise_is_caught(changes, promise):
    _broken(replace(T0, **changes), promise)


def test_a_loss_that_is_wrong_for_positive_signs_alone_is_caught():
    def loss(statistics, target, sign):
        return T0.loss(statistics if sign == "free" else -statistics, target, sign)

    _broken(replace(T0, loss=loss), "the target ranks first, sign positive")


def test_features_are_checked_at_scales_from_1e_minus_150_to_1e150():
    assert np.unique(checks._SCALES).tolist() == [1e-150, 1.0, 1e150]


def find_target(cases, text):
    (found,) = (case.target for case in cases if text in case.description)
    return found


def test_cases_of_rankings_and_stages_have_the_targets_that_they_describe(rng):
    rankings = list(checks._generate_ranking_cases(rng))
    five = find_target(rankings, "five rows")
    assert five.ranks.tolist() == [[1, 2], [1, 2], [2, 1], [2, 1], [2, 1]]
    tied = find_target(rankings, "rankings with ties").ranks
    has_tie = np.array([len(set(row)) < len(row) for row in tied])
    assert has_tie.tolist() == [row % 5 == 0 for row in range(len(tied))]
    assert (tied[::5, 0] == tied[::5, 1]).all()
    stages = find_target(checks._generate_stages_cases(rng), "five rows")
    assert stages.outcomes.tolist() == [[1, 1, 1], [1, 1, -1], [1, -1, -1], [1, -1, -1], [1, 0, 0]]


def test_the_weights_of_weighted_cases_are_the_whole_numbers_from_1_to_8(rng):
    weights = next(checks._generate_weighted_cases(rng)).target.weights
    assert np.unique(weights).tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("loss", [0.75, 1.25])
def test_the_mean_loss_of_noise_may_be_a_quarter_from_1_and_no_more(loss, rng):
    def fix_loss(value):
        return replace(T0, loss=lambda statistics, _, __: np.full(len(statistics), value))

    checks._check_noise_loss(fix_loss(loss), rng)
    with pytest.raises(AssertionError, match="the mean loss of noise"):
        checks._check_noise_loss(fix_loss(loss + (loss - 1.0) * 1e-9), rng)


def test_the_capacity_is_asked_for_few_and_for_many_rows():
    asked = []

    def capacity(rows, settings):
        asked.append(rows)
        return SCREENERS["stepwise"].capacity(rows, settings)

    checks._check_options(replace(SCREENERS["stepwise"], capacity=capacity))
    assert asked == [5, 100, 1_000_000]


def test_a_screener_that_is_not_blind_to_affine_copies_is_caught():
    affine = replace(PEARSON, name="own")
    check_screener(affine)
    scaled = replace(
        affine,
        statistic=lambda ordered, r: (
            compute_pearson(ordered, r) * (0.9 + 0.1 * np.tanh(np.ptp(ordered.values, axis=1)))
        ),
    )
    _broken(scaled, "affine copies have the same statistic and loss")
    # x and -x
    lopsided = replace(affine, loss=lambda r, response, sign: 1 - np.where(r > 0, r, -0.999 * r))  # noqa: ARG005
    _broken(lopsided, "a feature and its negative have the same loss")


def test_a_mirrored_loss_must_be_the_same_to_the_last_bit():
    # A last bit that depends on the position only is the same for a feature and its mirror image.
    other = replace(XI, loss=lambda xi, r, sign: XI.loss(xi, r, sign) + 1e-16 * np.arange(len(xi)))
    check_screener(other)
    # A last bit that only falling features get is not.
    bit = replace(
        T0,
        loss=lambda s, r, sign: T0.loss(s, r, sign) * np.where((s < 0) & (sign == "free"), 1 + 1e-15, 1.0),
    )
    _broken(bit, "with a free sign mirrored ranks have the same loss")


# Joint screeners


def _judge(shown, settings):
    """Score by |correlation|."""
    y = shown.target.values
    r = compute_correlations(shown.values, y / np.abs(y).max())
    q = len(r)
    rng = np.random.default_rng(shown.seed)
    return JointScores(
        score=r,
        loss=1.0 - np.abs(r),
        selected=np.abs(r) > 0.5,
        direction=np.sign(r).astype(np.int8),
        columns={"own_entry": np.where(np.abs(r) > 0.5, r, np.nan)},
        path=CoefficientPath(np.arange(2.0), np.zeros((2, q)), np.zeros(2), np.full(2, np.nan)),
        record={"seed": shown.seed, "drawn": rng.random(), "share": settings["share"], "warnings": []},
    )


def _joint(**changes):
    words = dict.fromkeys(("summary", "assumes", "fails", "cost", "source"), "made up")
    own = {
        "name": "own",
        "score_function": _judge,
        "capacity": lambda rows, settings: 50,  # noqa: ARG005
        "equivalence": "affine",
        "options": (ScreenerOption("share", 0.5, "a share", min_value=0, max_value=1),),
    }
    return JointScreener(**own | words | changes)


def _spoiled(**changes):
    """Spoil some parts of a good verdict."""

    def judge(shown, settings):
        scores = _judge(shown, settings)
        return replace(
            scores, **{part: change(getattr(scores, part), shown) for part, change in changes.items()}
        )

    return _joint(score_function=judge)


def _after(work):
    """Score correctly, and do something wrong in addition."""

    def judge(shown, settings):
        found = work(shown)
        return replace(_judge(shown, settings), record={"found": found})

    return _joint(score_function=judge)


def _writes(array):
    array[..., 0] -= 1e-3
    return 0


def _refuses(condition):
    def judge(shown, settings):
        if condition(*shown.values.shape):
            raise ValueError("not these")
        return _judge(shown, settings)

    return _joint(score_function=judge)


def _naive(shown, settings):
    z, y = shown.values, shown.target.values
    with np.errstate(all="ignore"):
        r = (z * y).sum(axis=1) / (z**4).sum(axis=1) ** 0.25
    r = np.nan_to_num(r / (np.abs(r).max() + 1.0), posinf=0.0, neginf=0.0)
    return replace(_judge(shown, settings), loss=1 - np.abs(r))


def _nested(path, steps, q):
    return replace(path, coefficients=np.zeros((steps, q)))


def test_a_joint_screener_that_keeps_its_promises_passes():
    check_screener(_joint())
    check_screener(_joint(capacity=lambda rows, settings: max(1, rows - 2)))  # noqa: ARG005
    check_screener(_joint(capacity=lambda rows, settings: 1))  # noqa: ARG005


@pytest.mark.slow
@pytest.mark.parametrize(
    ("screener", "promise"),
    [
        (_joint(name="own rule"), "its name is one word"),
        (_joint(name="rank"), "not one of the reserved column names"),
        (_joint(cost=""), "cost is one line"),
        (_joint(equivalence="signs"), "its equivalence is ranks or affine"),
        (_joint(options=(ScreenerOption("share", 2.0, "a share", max_value=1),)), "accepts its own default"),
        (
            _joint(options=(ScreenerOption("share", 1, "a share", choices=("1", "2")),)),
            "accepts its own default",
        ),
        (_joint(capacity=lambda rows, settings: rows / 2), "its capacity is an integer"),  # noqa: ARG005
        (_joint(capacity=lambda rows, settings: 100 // rows), "its capacity is an integer"),  # noqa: ARG005
        (_joint(score_function=lambda shown, settings: None), "it returns JointScores"),  # noqa: ARG005
        (_spoiled(score=lambda s, _: s.astype(np.float32)), "score is 8 finite float64"),
        (_spoiled(score=lambda s, _: s[1:]), "score is 8 finite float64"),
        (_spoiled(score=lambda s, _: s * np.nan), "score is 8 finite float64"),
        (_spoiled(loss=lambda s, _: s * np.inf), "loss is 8 finite float64"),
        (_spoiled(loss=lambda s, _: -s), "the target ranks first (among noise)"),
        (_spoiled(loss=lambda s, _: 0 * s), "the target ranks first (among noise)"),
        (_spoiled(selected=lambda s, _: s.astype(int)), "selected is 8 bool"),
        (_spoiled(selected=lambda s, _: np.flatnonzero(s)), "selected is 8 bool"),
        (_spoiled(direction=lambda s, _: s.astype(float)), "direction is int8"),
        (_spoiled(direction=lambda s, _: 3 * s), "direction is int8, -1, 0 or 1"),
        (_spoiled(direction=lambda s, _: np.abs(s)), "direction of the target is right (falling"),
        (_spoiled(columns=lambda c, _: {"entry": c["own_entry"]}), "columns begin with its name"),
        (_spoiled(columns=lambda c, _: {"own_selected": c["own_entry"]}), "are not ['own_rank', 'own_sel"),
        (_spoiled(columns=lambda c, _: {"own_entry": c["own_entry"][1:]}), "own_entry is 8 float64"),
        (_spoiled(columns=lambda c, _: {"own_entry": c["own_entry"] > 0}), "own_entry is 8 float64"),
        (_spoiled(columns=lambda c, _: {"own_entry": c["own_entry"] * np.inf}), "own_entry is not infinite"),
        (_spoiled(record=lambda r, _: r | {"k": np.int64(3)}), "its record contains only plain values"),
        (_spoiled(record=lambda r, _: r | {"k": np.nan}), "its record contains only plain values"),
        (_spoiled(record=lambda r, _: r | {"k": (1, 2)}), "its record contains only plain values"),
        (_spoiled(path=lambda p, _: _nested(p, 3, 8)), "its path has one row of coefficients"),
        (_spoiled(path=lambda p, _: _nested(p, 2, 7)), "its path has one row of coefficients"),
        (_after(lambda shown: _writes(shown.values)), "it does not change its input"),
        (_after(lambda shown: _writes(shown.target.values)), "it does not change its input"),
        (_after(lambda _: np.random.random()), "same input and seed give the same bytes"),  # noqa: NPY002
        (_after(lambda _: random.random()), "same input and seed give the same bytes"),  # noqa: S311
        (_after(lambda shown: shown.jobs), "does not depend on the number of jobs"),
        (_refuses(lambda q, n: q == 1), "fails (one feature alone): ValueError('not these')"),  # noqa: ARG005
        (_refuses(lambda q, n: q > n), "fails (more features than rows)"),
        (_refuses(lambda q, n: n < 10), "fails (five rows)"),  # noqa: ARG005
        (_joint(score_function=_naive), "the target ranks first (features of the sizes 1e-150 and 1e150)"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_joint_screener_that_breaks_a_promise_is_caught(screener, promise):
    _broken(screener, promise)


@pytest.mark.parametrize(("rows", "passes"), [(6, True), (21, False)])
def test_a_joint_screener_may_refuse_a_handful_of_rows_in_words(rows, passes):
    def judge(shown, settings):
        if shown.target.n < rows:
            raise OptionError(f"own needs {rows} rows")
        return _judge(shown, settings)

    if passes:
        check_screener(_joint(score_function=judge))
    else:
        _broken(_joint(score_function=judge), "(more features than rows): OptionError('own needs 21 rows')")


def test_both_generators_of_the_user_are_set_to_one_seed_once(monkeypatch):
    seeds = {"random": [], "numpy": []}
    monkeypatch.setattr("random.seed", seeds["random"].append)
    monkeypatch.setattr("numpy.random.seed", seeds["numpy"].append)
    check_screener(SCREENERS["stepwise"])
    assert seeds["random"] == seeds["numpy"]
    assert len(set(seeds["random"])) == 1


def test_the_users_own_random_numbers_stay_as_they_were():
    np.random.seed(7)  # noqa: NPY002
    random.seed(7)
    before = np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002
    check_screener(_joint())
    assert (np.random.get_state()[1].tolist(), random.getstate()) == before  # noqa: NPY002

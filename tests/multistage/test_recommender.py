from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from symscreen.errors import DataError, OptionError
from symscreen.multistage import (
    MonotoneChainRecommender,
    compute_error_rates,
    count_inconsistencies,
    simulate_chains,
    tune,
)
from symscreen.multistage._kernels import LOSS_CODES
from symscreen.multistage.baselines import BASELINES
from symscreen.multistage.block_fitting import Penalties, build_problem, compute_objective
from symscreen.targets.stages import list_stage_pairs


@pytest.fixture
def simulated():
    """Small chains with four stages and two categorical features per side."""
    return simulate_chains(
        n_users=30, n_items=25, n_stages=3, user_levels=(4, 3), item_levels=(5,), n_factors=5, random_state=5
    )


def _features(simulated, rng):
    """Add a numerical feature to the categorical ones."""
    users, items = simulated.user_features, simulated.item_features
    return {
        "user_features": users.assign(age=rng.integers(18, 80, len(users))),
        "item_features": items.assign(price=rng.lognormal(size=len(items)), size=1.0),
    }


def _model(simulated, **options):
    good = {"n_factors": 6, "random_state": 0, "max_iter": 8}
    return MonotoneChainRecommender(simulated.stages, **(good | options))


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["hinge", "psi", "logistic"])
@pytest.mark.parametrize(
    "weights", [{}, {"stage_weight": "next", "class_weight": "balanced"}, {"stage_weight": "last"}]
)
def test_the_loss_never_rises_and_is_the_one_of_the_paper(simulated, rng, loss, weights):
    given = _features(simulated, rng)
    steps = []
    model = _model(simulated, loss=loss, callback=steps.append, **weights).fit(simulated.table, **given)
    losses = np.array([step.loss for step in model.trace_])
    assert (np.diff(losses) <= 1e-12 * losses[:-1]).all()
    assert losses[-1] < losses[0]
    assert steps == model.trace_
    names = [step.block for step in steps[1:] if step.iteration == 1]
    assert names == ["A", "a1", "a2", "a3", "B", "b1", "b2", "q1", "q2", "q3"]


@pytest.mark.parametrize("loss", LOSS_CODES)
def test_the_loss_told_is_the_loss_by_definition(simulated, loss):
    model = _model(simulated, loss=loss, lambda_levels=0.003, lambda_stages=0.02).fit(simulated.table)
    f, y = model.decision_function(simulated.table), simulated.outcomes
    total = 0.0
    for p, (present, later) in enumerate(list_stage_pairs(3)):
        rows = y[:, present] == 1
        u = y[rows, later] * f[rows, p]
        v = {"hinge": np.maximum(0, 1 - u), "psi": np.clip(1 - u, 0, 1), "logistic": np.log1p(np.exp(-u))}[
            loss
        ]
        total += v.sum()
    parts = model.factors_
    total = total / len(y) + 0.003 * sum(
        (t**2).sum() for side in (parts.users, parts.items) for t in side.tables
    )
    assert model.trace_[-1].loss == pytest.approx(total + 0.02 * (parts.q**2).sum(), rel=1e-9)


def test_blocks_are_solved_to_what_is_asked(simulated):
    """With a small tolerance, no small step of a single block improves the objective."""
    options = {"block_tol": 1e-9, "block_sweeps": 2000, "max_iter": 300, "tol": 1e-9, "loss": "logistic"}
    model = _model(simulated, n_factors=2, lambda_levels=0.01, lambda_stages=0.01, **options).fit(
        simulated.table
    )
    places = tuple(
        side.find_name_indices(simulated.table[side.kind].to_numpy(object))
        for side in (model.users_, model.items_)
    )
    coded = (model.users_.encoded, model.items_.encoded)
    problem = build_problem(coded, places, simulated.outcomes, np.ones((6, 2)), float(len(simulated.table)))
    penalties = Penalties(0.001, 0.01, 0.01)
    best = compute_objective(problem, model.factors_, penalties, LOSS_CODES["logistic"])
    for block in (model.factors_.q, model.factors_.users.tables[0], model.factors_.items.tables[0]):
        for place in np.ndindex(block.shape):
            kept = block[place]
            for step in (-1e-4, 1e-4):
                block[place] = max(kept + step, 0.0)
                assert (
                    compute_objective(problem, model.factors_, penalties, LOSS_CODES["logistic"])
                    >= best - 1e-7
                )
            block[place] = kept


@pytest.mark.parametrize("loss", LOSS_CODES)
def test_no_prediction_contradicts_another(simulated, rng, loss):
    given = _features(simulated, rng)
    model = _model(simulated, loss=loss, max_iter=3, extra_features="ignore")
    model.fit(simulated.select_part("test"), **given)
    f = model.decision_function(simulated.table, **given)
    assert count_inconsistencies(np.where(f > 0, 1, -1)) == (0.0, 0, 0, 0)
    place = {pair: p for p, pair in enumerate(list_stage_pairs(3))}
    for (present, later), p in place.items():  # the scores themselves are ordered exactly
        if (present, later + 1) in place:
            assert (f[:, p] >= f[:, place[present, later + 1]]).all()
        if (present + 1, later) in place:
            assert (f[:, p] <= f[:, place[present + 1, later]]).all()


@pytest.mark.slow
def test_threads_and_the_order_of_rows_change_no_byte(simulated, rng):
    given = _features(simulated, rng)
    one = _model(simulated).fit(simulated.table, **given)
    mixed = simulated.table.iloc[rng.permutation(len(simulated.table))]
    turned = {name: table.iloc[::-1] for name, table in given.items()}
    for jobs, table, features in ((2, simulated.table, given), (3, mixed, turned)):
        two = _model(simulated, n_jobs=jobs).fit(table, **features)
        assert [step.loss for step in one.trace_] == [step.loss for step in two.trace_]
        f = [model.decision_function(simulated.table).tobytes() for model in (one, two)]
        assert f[0] == f[1]
    other = _model(simulated, random_state=1).fit(simulated.table, **given)
    assert other.trace_[0].loss != one.trace_[0].loss


def test_it_is_cloned_pickled_and_goes_on(simulated):
    model = _model(simulated, max_iter=2, tol=1e-9, warm_start=True).fit(simulated.table)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301  # what was just written
    assert np.array_equal(again.decision_function(simulated.table), model.decision_function(simulated.table))
    assert not hasattr(clone(model), "factors_")
    assert clone(model).get_params() == model.get_params()
    before = model.trace_[-1].loss
    model.fit(simulated.table)
    assert model.trace_[0].loss == pytest.approx(before, rel=1e-12)
    assert model.trace_[-1].loss < before
    with pytest.raises(OptionError, match="as many factors and stages"):
        model.set_params(n_factors=3).fit(simulated.table)


def test_warm_start_keeps_levels_by_name(simulated):
    model = _model(simulated, warm_start=True).fit(simulated.table[simulated.table.user > 0])
    kept = model.factors_.users.tables[0].copy()
    model.set_params(max_iter=1, callback=None)
    from symscreen.multistage.block_fitting import draw_factors, transfer_factors

    fresh_model = _model(simulated).fit(simulated.table)
    sides = (fresh_model.users_, fresh_model.items_)
    fresh = draw_factors(sides, 6, 3, np.random.RandomState(0))
    start = transfer_factors(fresh, sides, model.factors_, (model.users_, model.items_))
    assert np.array_equal(start.users.tables[0][1:], kept)
    assert np.array_equal(start.users.tables[0][0], fresh.users.tables[0][0])


def test_present_stages_that_were_not_reached_lead_nowhere(simulated):
    model = _model(simulated).fit(simulated.table)
    signs, f = model.predict(simulated.table), model.decision_function(simulated.table)
    for p, (present, _) in enumerate(list_stage_pairs(3)):
        reached = simulated.outcomes[:, present] == 1
        assert (signs[~reached, p] == -1).all()
        assert np.array_equal(signs[reached, p], np.where(f[reached, p] > 0, 1, -1))
    bare = model.predict(simulated.table[["user", "item"]], present="stage1", stage="stage3")
    assert np.array_equal(bare, np.where(f[:, model.pairs_.index(("stage1", "stage3"))] > 0, 1, -1))
    assert model.score(simulated.table) == 1 - compute_error_rates(signs, simulated.outcomes).overall


def test_new_users_are_predicted_from_their_features(simulated, rng):
    given = _features(simulated, rng)
    model = _model(simulated, user_effects=False).fit(simulated.table, **given)
    users = given["user_features"]
    twin = users[users.user == 3].assign(user="new")
    table = pd.DataFrame({"user": [3, "new"], "item": [7, 7]})
    f = model.decision_function(table, user_features=twin)
    assert np.array_equal(f[0], f[1])  # without effects of names, equal features are equal users
    unknown = twin.assign(user_level1="never seen", age=1e6)
    assert np.isfinite(model.decision_function(table, user_features=unknown)).all()
    with pytest.raises(DataError, match="user 'new' is not in the training table: give user_features"):
        model.predict(table)
    with pytest.raises(DataError, match="user 'new' has no row in user_features"):
        model.predict(table, user_features=users)
    plain = _model(simulated).fit(simulated.table)  # without features, a new user has the mean effect
    mean = plain.factors_.users.tables[0].mean(axis=0)
    b, q = plain.factors_.items.tables[0][7], plain.factors_.q
    assert plain.decision_function(table)[1, 0] == pytest.approx((mean * b * (1 - q[0])).sum())


def test_recommended_items_are_the_best_unseen_ones(simulated):
    part = simulated.table[simulated.table.item + simulated.table.user > 20]
    model = _model(simulated).fit(part)
    found = model.recommend(7, "stage2", 5)
    seen = set(part[part.user == 7].item)
    rest = [item for item in sorted(set(part.item)) if item not in seen]
    f = model.decision_function(pd.DataFrame({"user": 7, "item": rest}), present=0, stage=2)
    best = sorted(zip(-f, rest, strict=True))[:5]
    assert found.item.tolist() == [item for _, item in best]
    assert found.score.tolist() == [-score for score, _ in best]
    assert len(model.recommend(7, "stage2", 100, seen=True)) == part.item.nunique()
    with pytest.raises(OptionError, match="stage 'stag2' is unknown; did you mean 'stage2'"):
        model.recommend(7, "stag2")


def test_features_that_do_not_fit_are_refused(simulated, rng):
    given = _features(simulated, rng)
    users, table = given["user_features"], simulated.table
    extra = pd.concat([users, users.iloc[:1].assign(user=99)])
    model = _model(simulated, max_iter=1)
    with pytest.raises(
        DataError, match="row 31 of user_features: user 99 is not in the table; drop such rows"
    ):
        model.fit(table, user_features=extra)
    model.set_params(extra_features="ignore").fit(table, user_features=extra)
    with pytest.raises(DataError, match="row 51: user 2 has no row in user_features"):
        model.fit(table, user_features=users[users.user != 2])
    with pytest.raises(DataError, match="row 31 of user_features: user 4 has an earlier row"):
        model.fit(table, user_features=pd.concat([users, users[users.user == 4]]))
    with pytest.raises(DataError, match="row 6 of user_features: 'age' of user 5 is nan"):
        model.fit(table, user_features=users.assign(age=users.age.where(users.user != 5)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"stage3": None}, "nothing is observed at stage 'stage3'"),
        ({"stage0": None}, "nothing is observed at stage 'stage0'"),
        ({"stage0": 0, "stage1": 0, "stage2": 0, "stage3": 0}, "nothing is observed at stage 'stage1'"),
    ],
)
def test_stages_without_observations_are_refused(simulated, change, words):
    with pytest.raises(DataError, match=words):
        _model(simulated).fit(simulated.table.assign(**change))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lambda_levels": 0.0}, "lambda_levels is 0.0: give a number above 0"),
        ({"n_factors": 2.5}, "n_factors is 2.5: give an integer"),
        ({"loss": "hinges"}, "did you mean 'hinge'"),
        ({"class_weight": "balance"}, "did you mean 'balanced'"),
        ({"normalization": "none"}, "normalization is 'none'; known: grid, observed"),
        ({"extra_features": "warn"}, "extra_features is 'warn'"),
        ({"n_jobs": 0}, "n_jobs is 0: give an integer ≥ 1, an integer up to -1, or None"),
        ({"n_jobs": "x"}, "n_jobs is 'x': give an integer"),
        ({"stage_weight": [["a"]]}, "stage_weight is .*: give numbers"),
        ({"stage_weight": {(0, 1): "x"}}, "stage_weight is .*: give numbers"),
        ({"stages": None}, "stages are None: give the names of at least two stages"),
    ],
)
def test_options_without_meaning_are_refused(simulated, options, words):
    with pytest.raises(OptionError, match=words):
        _model(simulated).set_params(**options).fit(simulated.table)


def test_nothing_is_predicted_before_the_fit(simulated):
    with pytest.raises(NotFittedError):
        _model(simulated).predict(simulated.table)


def test_the_grid_is_the_observed_where_everything_was_observed(simulated):
    one, two = (_model(simulated, normalization=name).fit(simulated.table) for name in ("observed", "grid"))
    assert one.trace_ == two.trace_


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2])
def test_a_planted_model_is_recovered(seed):
    """Use the logistic loss: the minimum of the hinge loss is not the Bayes rule (docs/multistage.md)."""
    made = simulate_chains(
        reading="exact",
        n_users=30,
        n_items=30,
        n_factors=4,
        n_rows=10_000,
        shares=(0.8, 0.0, 0.2),
        random_state=seed,
    )
    errors = []
    for rows in (1000, 8000):
        model = _model(
            made, n_factors=8, max_iter=60, lambda_levels=1e-4, lambda_stages=1e-4, loss="logistic"
        )
        model.fit(made.select_part("training").iloc[:rows])
        predicted = np.where(model.decision_function(made.table) > 0, 1, -1)
        errors.append(made.compute_expected_error(predicted, "test"))
    assert errors[1] < errors[0]
    assert errors[1] - made.compute_bayes_error("test") < 0.02


def test_tuning_keeps_what_errs_least_on_the_rows_set_aside(simulated):
    parts = simulated.select_part("test"), simulated.select_part("validation")
    found = tune(_model(simulated, max_iter=4), *parts, n_factors=[2, 4], lambdas=[0.001, 0.05], n_jobs=2)
    assert len(found.table) == 8
    assert 1 - found.model.score(parts[1]) == found.table.error.min()
    best = found.table.loc[found.table.error.idxmin()]
    assert found.model.n_factors == best.n_factors
    assert found.model.lambda_stages == best.lambda_stages
    with pytest.raises(OptionError, match="at least one value"):
        tune(_model(simulated), *parts, lambdas=[])


def test_of_several_starts_the_best_is_kept(simulated):
    steps = []
    model = _model(simulated, n_factors=3, n_init=3, callback=steps.append).fit(simulated.table)
    ends = [
        one.loss
        for one, two in zip(steps, [*steps[1:], None], strict=True)
        if two is None or two.iteration == 0
    ]
    assert len(set(ends)) == 3
    assert model.trace_[-1].loss == min(ends)
    assert _model(simulated, n_factors=3).fit(simulated.table).trace_[-1].loss == ends[0]


def test_progress_is_shown_where_it_is_asked_for(simulated, capsys):
    _model(simulated, max_iter=2, tol=1e-9).fit(simulated.table)
    assert capsys.readouterr().err == ""
    _model(simulated, max_iter=2, tol=1e-9, verbose=True).fit(simulated.table)
    captured = capsys.readouterr()
    assert "iteration 2, block q3: loss" in captured.err
    assert captured.out == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["recommender", "OSVM"])
def test_features_are_joined_by_the_columns_of_the_estimator(simulated, rng, name):
    given, called = _features(simulated, rng), {"user": "reader", "item": "article"}

    def fitted(table, features, **columns):
        made = {"recommender": _model}.get(name)
        model = (
            made(simulated, **columns)
            if made
            else BASELINES[name].make(simulated.stages, random_state=0, **columns)
        )
        return model.fit(table, **features)

    given = {side: one.sample(frac=1.0, random_state=1) for side, one in given.items()}
    renamed = {side: one.rename(columns=called) for side, one in given.items()}
    plain = fitted(simulated.table, given)
    table = simulated.table.rename(columns=called)
    other = fitted(table, renamed, **called)
    assert other.items_.numeric_names == ("price", "size")
    f = plain.decision_function(simulated.table)
    assert np.array_equal(other.decision_function(table), f)
    new = {
        side: one.iloc[:1].assign(**{c: "new"})
        for (side, one), c in zip(renamed.items(), called.values(), strict=True)
    }
    scored = other.decision_function(pd.DataFrame({"reader": ["new"], "article": ["new"]}), **new)
    assert np.isfinite(scored).all()
    by_index = {
        side: one.set_index(c) for (side, one), c in zip(renamed.items(), called.values(), strict=True)
    }
    assert np.array_equal(fitted(table, by_index, **called).decision_function(table), f)
    with pytest.raises(DataError, match="item_features has no column 'article'"):
        fitted(table, {"item_features": given["item_features"].reset_index(drop=True)}, **called)


def test_new_items_are_recommended_whatever_their_column_is_called(simulated, rng):
    called = {"user": "reader", "item": "article"}
    table, given = simulated.table.rename(columns=called), _features(simulated, rng)
    items = given["item_features"].rename(columns=called)
    model = _model(simulated, item="article", user="reader").fit(table, item_features=items)
    more = items.iloc[:2].assign(article=["new", "newer"])
    found = model.recommend(3, "stage1", 100, seen=True, item_features=more)
    assert {"new", "newer"} < set(found.item)
    assert len(found) == table.article.nunique() + 2
    with pytest.raises(DataError, match="item_features has no column 'article'"):
        model.recommend(3, "stage1", item_features=more.rename(columns={"article": "item"}))


def test_what_the_table_tells_ends_the_chain_and_must_not_break_it(simulated):
    model = _model(simulated, max_iter=2).fit(simulated.table)
    row = pd.DataFrame({"user": [1], "item": [1], "stage0": [0], "stage1": [None]})
    assert (model.predict(row) == -1).all()
    with pytest.raises(DataError, match="row 1: 'stage1' is reached but 'stage0' is not"):
        model.predict(row.assign(stage1=1))


def test_ranges_that_overflow_and_complex_numbers_are_refused(simulated):
    users, table = simulated.user_features, simulated.table
    model = _model(simulated, max_iter=1)
    with pytest.raises(DataError, match="the range of 'huge' overflows"):
        model.fit(table, user_features=users.assign(huge=np.where(users.user > 3, 1.7e308, -1.7e308)))
    with pytest.raises(DataError, match="'z' is complex; give real numbers"):
        model.fit(table, user_features=users.assign(z=1j))
    twice = pd.concat([users, users[["user_level1"]]], axis=1)
    with pytest.raises(DataError, match="has the column 'user_level1' twice"):
        model.fit(table, user_features=twice)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (np.eye(2), "the table is a ndarray: give a data frame"),
        (None, "the table is a NoneType: give a data frame"),
        ({"user": [1]}, "the table is a dict: give a data frame"),
    ],
)
def test_only_data_frames_are_tables(simulated, table, words):
    with pytest.raises(DataError, match=words):
        _model(simulated).fit(table)
    with pytest.raises(DataError, match=words):
        _model(simulated, max_iter=1).fit(simulated.table).predict(table)


def test_a_warm_start_needs_the_same_stages_and_numbers(simulated, rng):
    given = {"item_features": _features(simulated, rng)["item_features"]}
    model = _model(simulated, max_iter=1, warm_start=True).fit(simulated.table, **given)
    other = {"item_features": given["item_features"].rename(columns={"price": "cost"})}
    with pytest.raises(OptionError, match="the same features"):
        model.fit(simulated.table, **other)
    names = ["a", "b", "c", "d"]
    table = simulated.table.rename(columns=dict(zip(simulated.stages, names, strict=True)))
    with pytest.raises(OptionError, match="with the same stages, not stage0, stage1"):
        model.set_params(stages=names).fit(table, **given)


def test_nothing_is_tuned_on_rows_that_tell_nothing(simulated):
    parts = simulated.table, simulated.table.assign(**dict.fromkeys(simulated.stages))
    with pytest.raises(DataError, match="no validation row has an observed stage"):
        tune(_model(simulated), *parts)
    with pytest.raises(OptionError, match="n_jobs is 0"):
        tune(_model(simulated), simulated.table, simulated.table, n_jobs=0)

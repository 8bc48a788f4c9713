from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from symscreen.experiments.base import ExperimentSettings
from symscreen.experiments.multistage_comparison import ARTICLES_EXPERIMENT as ARTICLES
from symscreen.experiments.multistage_comparison import (
    ARTICLES_SIZES,
    FEATURES_ONLY_READINGS,
    FEATURES_READING,
    LAMBDAS,
    READINGS,
    RECOMMENDER,
    RECOMMENDER_COMMON_LEVEL,
    SIMULATION_EXPERIMENT,
    SIMULATION_SIZES,
    ComparisonPlan,
    average_runs,
    build_article_chains,
    build_comparison_data,
    compute_improvements,
    evaluate_method,
    format_order,
    make_methods,
    run_article_folds,
    simulate_reading,
    use_features_only,
)
from symscreen.multistage.article_sharing import generate_article_sharing
from symscreen.multistage.baselines import BASELINES


@pytest.fixture(scope="module")
def outcome():
    articles = ARTICLES_SIZES["small"]
    one_penalty = replace(articles, grids=replace(articles.grids, lambdas=LAMBDAS[:1], grid_step=100))
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(ARTICLES_SIZES, "small", one_penalty)
        return SIMULATION_EXPERIMENT.run(ExperimentSettings(size="small", jobs=1, repeats=1))


@pytest.mark.slow
def test_ours_never_contradicts_itself_and_a_rival_does(outcome):
    table = outcome.tables["errors"].set_index("method")
    ours = [name for name in table.index if name not in BASELINES]
    assert len(ours) == 3
    assert (table.loc[ours, "inconsistent"] == 0).all()
    assert table.loc[list(BASELINES), "inconsistent"].max() > 0
    assert (outcome.tables["articles"].set_index("method").loc[ours, "inconsistent"] == 0).all()
    assert table["overall"].between(0, 0.5).all()
    assert table["overall"].is_monotonic_increasing


@pytest.mark.slow
def test_every_reading_tells_its_positives(outcome):
    table = outcome.tables["positives"].set_index("reading")
    assert list(table.index) == list(READINGS)
    assert (table["stage0"] == 1).all()
    assert (table["stage1"] > table["stage2"]).all()
    assert table.loc["summed, deviation", "stage2"] < table.loc["chained, deviation", "stage2"]
    assert table.loc["chained, deviation", "bayes_error"] < table.loc["chained, variance", "bayes_error"]


@pytest.mark.slow
def test_the_small_size_says_that_it_runs_one_reading(outcome):
    assert set(outcome.tables["readings"]["reading"]) == {"chained, deviation"}
    assert outcome.remarks[0].startswith(
        "Readings run, with the number of seeds: chained, deviation (1). Not run: "
    )
    assert all(name in outcome.remarks[0] for name in READINGS)
    assert "every" not in SIMULATION_EXPERIMENT.title


@pytest.mark.slow
def test_every_reading_is_run_with_the_whole_grids(monkeypatch):
    """Replace the fits to record which grids and features they would use."""
    calls = []

    def noted(method, case):
        calls.append((len(method.settings), case.features.get("user_features")))
        figures = ("overall", "e01", "e02", "e12", "balanced", "b01", "b02", "b12", "inconsistent")
        return dict.fromkeys(figures, 0.1) | {"alike": False, "chosen": ""}

    module = "symscreen.experiments.multistage_comparison"
    monkeypatch.setattr(f"{module}.evaluate_method", noted)
    plan = replace(SIMULATION_SIZES["full"], share_seeds=1, articles=None)
    monkeypatch.setitem(SIMULATION_SIZES, "full", plan)
    reports = []
    settings = ExperimentSettings(size="full", jobs=1, repeats=1, progress=lambda *step: reports.append(step))
    found = SIMULATION_EXPERIMENT.run(settings)
    # one step for each reading, and the last for the articles
    assert reports == [(step, len(READINGS) + 1) for step in range(1, len(READINGS) + 2)]
    assert list(found.tables["readings"]["reading"].unique()) == list(READINGS)
    assert "Not run" not in found.remarks[0]
    grids = [9, 9, 9, *(len(one.grid) for one in BASELINES.values())]
    assert [size for size, _ in calls] == grids * len(READINGS)
    with_features = sum(users is not None for _, users in calls)
    of_levels = sum("user_levels" in options for options in READINGS.values())
    assert with_features == len(grids) * of_levels - len(
        FEATURES_ONLY_READINGS
    )  # where SVD uses only two names


def test_a_row_told_by_its_features_has_no_effects_of_its_own():
    name = next(iter(FEATURES_ONLY_READINGS))
    made = simulate_reading(name, ExperimentSettings(size="small"), 0)
    case, of_two_names = build_comparison_data(name, made)
    assert of_two_names.features == {}
    first = made.user_features.set_index("user")["user_level1"]
    assert list(of_two_names.test["user"]) == [first[user] for user in case.test["user"]]
    assert len(of_two_names.test) == len(case.test)
    for method, one in make_methods(made.stages, ComparisonPlan(), 0).items():
        used = use_features_only(one)
        taken = used.model.get_params()
        assert (taken["user_effects"], taken["item_effects"]) == (
            (True, True) if method == "SVD" else (False, False)
        )


def test_where_users_and_items_share_levels_ours_is_before_a_model_for_each_pair_of_stages():
    made = simulate_reading(FEATURES_READING, ExperimentSettings(), 0)
    case, _ = build_comparison_data(FEATURES_READING, made)
    found = make_methods(made.stages, ComparisonPlan(), 0)
    settings = {RECOMMENDER: {"lambda_levels": 0.005}, "SVM": {"learner__C": 1.0}}
    error = {
        name: evaluate_method(found[name]._replace(settings=[one]), case)["overall"]
        for name, one in settings.items()
    }
    assert error[RECOMMENDER] < 0.95 * error["SVM"]


def test_two_names_are_all_that_other_readings_have():
    made = simulate_reading("chained, features of 20 and 10 levels", ExperimentSettings(size="small"), 0)
    case, of_two_names = build_comparison_data("chained, features of 20 and 10 levels", made)
    assert case is of_two_names


@pytest.mark.slow
def test_improvements_stand_beside_the_published(outcome):
    table = outcome.tables["improvements"]
    assert set(table["method"]) == {RECOMMENDER, RECOMMENDER_COMMON_LEVEL}
    published = table[table["method"] == RECOMMENDER].set_index("quantity")["published"].dropna().to_dict()
    expected = {"GradBoost": 0.43, "OSVM": 0.22, "SVM": 0.20, "DeepNN": 0.13}
    assert published == {f"improvement over {name}": value for name, value in expected.items()}
    assert any("published improvements imply" in remark for remark in outcome.remarks)


def test_improvements_are_paired():
    runs = pd.DataFrame(
        [{"run": run, "method": name, "overall": 0.2 + run / 10} for run in (0, 1) for name in BASELINES]
        + [{"run": run, "method": RECOMMENDER, "overall": 0.1 + run / 10} for run in (0, 1)]
    )
    found = compute_improvements(runs, [RECOMMENDER]).set_index("quantity").loc["improvement over SVM"]
    assert found["ours"] == pytest.approx((0.5 + 1 / 3) / 2)
    assert found["difference"] == pytest.approx(0.1)
    assert found["difference_se"] == pytest.approx(0.0, abs=1e-12)


def test_three_features_a_side_have_100_100_and_50_or_40_levels():
    for name, options in FEATURES_ONLY_READINGS.items():
        assert options["user_levels"] == (100, 100, 50)
        assert options["item_levels"] == (100, 100, 40)
        assert f"{options['n_rows']:,} rows" in name
        assert options["n_users"] == options["n_items"] == options["n_rows"]


def test_the_plan_of_the_full_size_has_the_papers_grids():
    found = make_methods(["a", "b"], ComparisonPlan(features="free"), 0)
    sizes = {name: len(one.settings) for name, one in found.items()}
    assert sizes[RECOMMENDER] == 27
    assert {name: sizes[name] for name in BASELINES} == {
        name: len(one.grid) for name, one in BASELINES.items()
    }
    assert found[RECOMMENDER].model.n_factors == 20
    assert len(make_methods(["a", "b"], ComparisonPlan(), 0)[RECOMMENDER].settings) == 9


def test_articles_are_read_from_files_where_given(tmp_path, monkeypatch):
    errors = ("overall", "e01", "e02", "e12", "balanced", "b01", "b02", "b12", "inconsistent")
    drawn = np.random.default_rng(0)
    monkeypatch.setattr(
        "symscreen.experiments.multistage_comparison.evaluate_method",
        lambda *_: dict(zip(errors, drawn.random(9), strict=True)) | {"alike": False, "chosen": ""},
    )

    made = generate_article_sharing(share=0.006, random_state=0)
    made.articles.to_csv(tmp_path / "shared_articles.csv", index=False)
    made.interactions.to_csv(tmp_path / "users_interactions.csv", index=False)
    found = ARTICLES.run(ExperimentSettings(size="small", data=tmp_path))
    assert found.remarks[0].startswith("The article-sharing data: ")
    table = found.tables["articles"]
    assert table["balanced"].is_monotonic_increasing
    assert len(found.tables["folds"]) == 2 * len(table)
    assert format_order(table, "balanced").startswith(table.loc[0, "method"])


def test_inner_folds_divide_the_training_rows_of_each_outer_fold_anew(monkeypatch):
    cases = []
    module = "symscreen.experiments.multistage_comparison"
    monkeypatch.setattr(f"{module}.make_methods", lambda *_: {"ours": None})
    monkeypatch.setattr(f"{module}.evaluate_method", lambda _, case: cases.append(case) or {})
    chains = build_article_chains(*generate_article_sharing(share=0.006, random_state=0))
    run_article_folds(chains, ComparisonPlan(), (3, 2), 5)
    rows = set(chains.table.itertuples(index=False, name=None))
    inner_rows = []
    for case in cases:
        test, *inner = (
            set(each.itertuples(index=False, name=None))
            for each in (case.test, *(held_out for _, held_out in case.splits))
        )
        assert test | inner[0] | inner[1] == rows
        assert len(test) + len(inner[0]) + len(inner[1]) == len(rows)
        inner_rows.append(inner[0])
    shared = inner_rows[0] & inner_rows[1]
    assert 0.1 < len(shared) / len(inner_rows[0]) < 0.6


def test_means_have_standard_errors():
    figures = ("overall", "e01", "e02", "e12", "balanced", "b01", "b02", "b12", "inconsistent")
    runs = pd.DataFrame([{"method": "m", "alike": False} | dict.fromkeys(figures, v) for v in (0.1, 0.3)])
    found = average_runs(runs).iloc[0]
    assert found["overall"] == pytest.approx(0.2)
    assert found["b12_se"] == pytest.approx(np.std([0.1, 0.3], ddof=1) / np.sqrt(2))

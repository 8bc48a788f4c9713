"""A fit beside other regressors: nested cross-validation of the whole search, on the same folds."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import symscreen
from symscreen.cli.command import command
from symscreen.config.space_options import build_layer_schedule
from symscreen.errors import OptionError
from symscreen.fitting.baselines import compare_by_default
from symscreen.fitting.fit import prepare_fit
from symscreen.fitting.laws import search
from symscreen.fitting.search_part import SearchPart
from symscreen.fitting.search_stages import run_model_search
from symscreen.linear_models.model_criteria import assign_folds

OPTIONS = {"operators": "ablation", "layers": "u", "jobs": 1}


@pytest.fixture
def frame(rng):
    """Sixty rows, sorted by the target as those of a fit are."""
    import pandas as pd

    a, b = rng.uniform(0.5, 2.0, (2, 60))
    made = pd.DataFrame({"a": a, "b": b, "y": 3 * a**3 - b + rng.normal(0, 0.5, 60)})
    return made.sort_values("y", ignore_index=True)


def compute_r2(target, predicted):
    return 1.0 - ((target - predicted) ** 2).sum() / ((target - target.mean()) ** 2).sum()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::symscreen.errors.ExtrapolationWarning")
def test_the_figures_are_those_of_nested_cross_validation(frame):
    found = symscreen.compare_baselines(frame, **OPTIONS)
    folds = assign_folds(60, 5, seed=0)
    predicted = np.empty(60)
    for fold in range(5):
        training, test = frame[folds != fold], frame[folds == fold]
        predicted[folds == fold] = symscreen.fit(training, **OPTIONS).predict(test)
    assert found.r2["formula"] == pytest.approx(compute_r2(frame["y"], predicted), abs=1e-12)
    ridge = make_pipeline(StandardScaler(), RidgeCV(alphas=np.logspace(-3.0, 3.0, 13)))
    predicted = cross_val_predict(ridge, frame[["a", "b"]].to_numpy(), frame["y"], cv=PredefinedSplit(folds))
    assert found.r2["ridge"] == pytest.approx(compute_r2(frame["y"], predicted), abs=1e-9)
    assert list(found.r2) == ["formula", "ridge", "gradient boosting", "random forest"]
    assert found.table["r2"].tolist() == list(found.r2.values())


@pytest.mark.slow
def test_rows_outside_the_domain_of_the_formula_are_counted_and_have_the_mean(monkeypatch, frame):
    monkeypatch.setattr("symscreen.fitting.baselines.predict_on_dataset", lambda *_: np.full(60, np.nan))
    found = symscreen.compare_baselines(frame, **OPTIONS)
    assert found.n_undefined == 60
    assert found.r2["formula"] == pytest.approx(0.0, abs=0.1)
    assert str(found).endswith("(undefined in 60 rows)")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_folds": 1}, "60 rows are too few for a comparison in 1 folds"),
        ({"n_folds": 16}, "60 rows are too few for a comparison in 16 folds"),
        (
            {"target": "y,b"},
            "fits of several targets are not compared",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(frame, change, message):
    with pytest.raises(OptionError, match=message):
        symscreen.compare_baselines(frame, **(OPTIONS | change))


def run_fit_verb(frame, folder, *arguments):
    frame.to_csv(folder / "t.csv", index=False)
    done = CliRunner().invoke(command, ["fit", str(folder / "t.csv"), "--quiet", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


SMALL = ("--operators", "ablation", "--layers", "u")


@pytest.mark.slow
def test_the_command_line_repeats_the_whole_search_on_request(frame, tmp_path, monkeypatch):
    monkeypatch.setattr("symscreen.fitting.baselines._N_TREES", 5)
    plain = run_fit_verb(frame, tmp_path, *SMALL, "--no-baselines")
    compared = run_fit_verb(frame, tmp_path, *SMALL, "--baselines")
    assert compared.startswith(plain)
    last = " ".join(compared.removeprefix(plain).split())
    assert last == f"{symscreen.compare_baselines(frame, **OPTIONS)}."
    assert last.startswith("R2 of 5-fold cross-validation: formula ")


@pytest.mark.slow
def test_the_command_line_compares_small_tables_by_default_below_the_formula(
    frame, tmp_path, monkeypatch, default_comparison
):
    plain = run_fit_verb(frame, tmp_path, *SMALL)
    monkeypatch.setattr("symscreen.cli.fit.compare_by_default", default_comparison)
    monkeypatch.setattr("symscreen.fitting.baselines._N_TREES", 5)
    compared = run_fit_verb(frame, tmp_path, *SMALL)
    assert compared.startswith(plain)
    assert max(map(len, compared.splitlines()[1:])) <= 80
    last = " ".join(compared.removeprefix(plain).split())
    assert last.startswith("R2 of 5-fold cross-validation: formula ")
    assert last.endswith("(subsets); --baselines repeats the whole search.")
    assert run_fit_verb(frame, tmp_path, *SMALL, "--no-baselines") == plain


def make_result(stage="subsets", sizes=(10.0,), kind="noise"):
    """A result of a fit, of which a comparison by default reads the record alone."""
    return SimpleNamespace(record={"stage": stage, "search_sizes": list(sizes), "verdict": {"kind": kind}})


@pytest.mark.parametrize(
    ("change", "result", "reason"),
    [
        ({}, make_result(kind="exact"), "the formula is exact."),
        ({}, make_result(sizes=(10.0, 4e6)), "its terms were chosen from 4,000,000 features; "),
        ({"effort": "thorough"}, make_result(), "its search takes long; "),
        ({"criterion": "cv"}, make_result(), "its search takes long; "),
        ({"time_limit": "1h"}, make_result(), "the time of the search is limited; "),
    ],
)
def test_a_rule_on_the_fit_and_its_options_decides_about_the_comparison(frame, change, result, reason):
    task = prepare_fit(frame, None, OPTIONS | change)
    assert str(compare_by_default(task, result)).startswith(f"Not compared with other regressors: {reason}")


def test_tables_of_too_many_or_too_few_values_are_not_compared_by_default(frame, monkeypatch):
    task = prepare_fit(frame.head(19), None, OPTIONS)
    assert "19 rows are too few for 5 folds" in str(compare_by_default(task, make_result()))
    monkeypatch.setattr("symscreen.fitting.baselines.MAX_DEFAULT_VALUES", 119)
    task = prepare_fit(frame, None, OPTIONS)
    assert "60 rows x 2 inputs are more than 119 values" in str(compare_by_default(task, make_result()))


def test_what_cannot_be_compared_is_left_out_by_default(frame):
    assert compare_by_default(prepare_fit(frame, None, OPTIONS | {"target": "y,b"}), None) == ""
    frame["c"] = list("xyz") * 20
    assert compare_by_default(prepare_fit(frame, None, {"per": "c", "jobs": 1}), None) == ""


def test_where_no_formula_is_better_the_mean_of_the_other_rows_is_compared(frame, monkeypatch):
    monkeypatch.setattr("symscreen.fitting.baselines._make_baselines", dict)
    found = compare_by_default(prepare_fit(frame, None, OPTIONS), make_result(None, (), "none"))
    folds, y = assign_folds(60, 5, seed=0), frame["y"].to_numpy()
    predicted = np.array([y[folds != fold].mean() for fold in folds])
    assert found.r2 == {"formula": pytest.approx(compute_r2(y, predicted), abs=1e-12)}
    assert found.note.startswith("Its formula is the mean in each fold")


def test_other_regressors_do_not_depend_on_the_units_of_the_columns(frame, monkeypatch):
    monkeypatch.setattr("symscreen.fitting.baselines._N_TREES", 3)
    found, scaled = (
        compare_by_default(prepare_fit(table, None, OPTIONS), make_result(None, (), "none"))
        for table in (frame, frame.assign(a=frame["a"] * 2.0**900, y=frame["y"] * 2.0**-900))
    )
    assert scaled.r2 == pytest.approx(found.r2, abs=1e-6)


def test_a_fold_that_cannot_be_fitted_leaves_out_the_comparison(frame, monkeypatch):
    def refuse(*_):
        raise OptionError("the rows are too few")

    monkeypatch.setattr("symscreen.fitting.baselines.run_fit", refuse)
    found = compare_by_default(prepare_fit(frame, None, OPTIONS), make_result())
    assert found == "Not compared with other regressors: the rows are too few."


def test_a_part_of_a_search_runs_the_stage_that_found_the_law_and_no_other(frame, monkeypatch):
    frame["y"] = 3 * frame["a"] ** 2 / frame["b"] * np.exp(0.01 * np.sin(np.arange(60)))
    stages = search._STAGES
    forbidden = [stage._replace(search=None) for stage in stages if stage.name != "power products"]
    monkeypatch.setattr(search, "_STAGES", (*forbidden[:1], stages[0], *forbidden[1:]))
    task = prepare_fit(frame, None, {"operators": "basic", "jobs": 1})
    found = run_model_search(replace(task, search_part=SearchPart("power products", 10.0)), [])
    assert set(found.stages.values()) == {"power products"}
    assert min(found.models.values()) < 1e-3


def test_a_part_of_a_search_has_no_larger_space_than_the_formula_was_chosen_from(frame):
    task = prepare_fit(frame, None, OPTIONS | {"layers": "ub"})
    schedule = build_layer_schedule(task.grammar, None)
    whole = run_model_search(replace(task, layer_schedule=schedule[:3]), [])
    first = run_model_search(replace(task, layer_schedule=schedule[:1]), [])
    part = SearchPart("subsets", float(first.n_features))
    repeated = run_model_search(replace(task, layer_schedule=schedule[:3], search_part=part), [])
    assert repeated.n_features == first.n_features < whole.n_features

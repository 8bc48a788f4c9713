"""A fit beside other regressors: nested cross-validation of the whole search, on the same folds."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import symscreen
from symscreen.cli.command import command
from symscreen.errors import OptionError
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


@pytest.mark.slow
def test_the_command_line_compares_on_request(frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    asked = ["fit", str(tmp_path / "t.csv"), "--operators", "ablation", "--layers", "u", "--quiet"]
    plain = CliRunner().invoke(command, asked)
    compared = CliRunner().invoke(command, [*asked, "--baselines"])
    assert compared.output.startswith(plain.output)
    last = compared.output.splitlines()[-1]
    assert last == str(symscreen.compare_baselines(frame, **OPTIONS))
    assert last.startswith("R2 of 5-fold cross-validation: formula 1.00, ridge 0.9")

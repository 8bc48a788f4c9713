"""How the features of a screen do on rows that it did not see, beside the raw columns.

Each table is cut into five folds. In each, ridge regression is fitted on the ten features of
`symscreen.SymbolicScreener` and on the raw columns of the other rows, both standardized; its R² is computed
on the fold. Classes have logistic regression and accuracy. Features that are unsafe on new rows are left out,
as by default.

It takes a few minutes of one core.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from measurement import format_table, make_parser, save_results
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import symscreen

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sklearn.pipeline import Pipeline

FOLDS, FEATURES, SEED = 5, 10, 0
SCREENER: dict[str, Any] = {"top": FEATURES, "max_correlation": 0.95, "jobs": 1}
HEAD = ("table", "rows", "columns", "raw columns", "features", "worst fold: features - raw")


def make_housing(rng: np.random.Generator, n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Make a table with the columns of California housing: skewed, correlated, with a capped target."""
    income = rng.lognormal(1.2, 0.45, n)
    rooms = 3.0 + 0.6 * income + rng.gamma(2.0, 0.5, n)
    columns = {
        "income": income,
        "age": rng.uniform(1.0, 52.0, n),
        "rooms": rooms,
        "bedrooms": rooms / rng.uniform(3.5, 6.0, n),
        "population": rng.lognormal(7.0, 0.7, n),
        "occupancy": 1.0 + rng.lognormal(0.6, 0.3, n),
        "latitude": rng.uniform(32.5, 42.0, n),
        "longitude": rng.uniform(-124.3, -114.3, n),
    }
    frame = pd.DataFrame(columns)
    distance = np.hypot(frame["latitude"] - 34.0, frame["longitude"] + 118.2)
    price = 0.45 * income + 1.2 * rooms / frame["occupancy"] / 3.0 + 1.5 * np.exp(-distance / 2.0)
    return frame, np.minimum(price + rng.normal(0.0, 0.5, n), 5.0).to_numpy()


def make_law(rng: np.random.Generator, n: int, kind: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Make a table of a law and of columns without influence, with noise."""
    if kind == "ratio":
        x = pd.DataFrame(rng.uniform(0.5, 5.0, (n, 5)), columns=list("abcde"))
        y = x["a"] * x["b"] / x["c"]
    elif kind == "signed":
        x = pd.DataFrame(rng.normal(size=(n, 6)), columns=list("abcdef"))
        y = x["a"] * x["b"] + x["c"] ** 2 - x["d"]
    elif kind == "power":
        x = pd.DataFrame(rng.lognormal(0.0, 0.8, (n, 4)), columns=list("abcd"))
        y = np.log(x["a"] * x["b"] ** 2) + np.sqrt(x["c"])
    elif kind == "heavy":
        x = pd.DataFrame(rng.standard_t(3.0, (n, 6)), columns=list("abcdef"))
        y = 2.0 * x["a"] - x["b"] + 0.5 * np.abs(x["c"])
    else:
        x = pd.DataFrame(rng.uniform(0.0, 3.0, (n, 5)), columns=list("abcde"))
        y = np.exp(-x["a"]) * x["b"] + 0.3 * x["c"]
    return x, (y + 0.3 * y.std() * rng.normal(size=n)).to_numpy()


def iterate_tables() -> Iterator[tuple[str, pd.DataFrame, np.ndarray, bool]]:
    """Yield the name, the columns and the target of each table, and whether that has classes."""
    for name, load in (
        ("diabetes", load_diabetes),
        ("wine", load_wine),
        ("breast cancer", load_breast_cancer),
    ):
        data = load(as_frame=True)
        yield name, data.data, data.target.to_numpy(), name != "diabetes"
    yield "housing", *make_housing(np.random.default_rng(SEED), 2000), False
    for number, kind in enumerate(("ratio", "signed", "power", "heavy", "decay"), start=1):
        yield kind, *make_law(np.random.default_rng(SEED + number), 300, kind), False


def score_folds(model: Pipeline, x: pd.DataFrame, y: np.ndarray, folds: Sequence[Any]) -> list[float]:
    """Score a model on each fold; NaN where its features have no finite values there."""
    scores = []
    for training, test in folds:
        fitted = clone(model)
        try:
            fitted.fit(x.iloc[training], y[training])
            scores.append(float(fitted.score(x.iloc[test], y[test])))
        except ValueError:  # a feature is NaN or infinite in a row
            scores.append(float("nan"))
    return scores


def measure_table(x: pd.DataFrame, y: np.ndarray, *, has_classes: bool) -> dict[str, list[float]]:
    """Score ridge or logistic regression on raw columns and on the features of a screen."""
    splitter = StratifiedKFold if has_classes else KFold
    folds = list(splitter(FOLDS, shuffle=True, random_state=SEED).split(x, y))
    learner = LogisticRegressionCV(max_iter=2000) if has_classes else RidgeCV(np.logspace(-3, 4, 15))
    target_type = "classes" if has_classes else None
    screener = symscreen.SymbolicScreener(**SCREENER, target_type=target_type)
    return {
        "raw": score_folds(make_pipeline(StandardScaler(), learner), x, y, folds),
        "features": score_folds(make_pipeline(screener, StandardScaler(), learner), x, y, folds),
    }


def main(arguments: list[str]) -> None:
    """Measure and save."""
    where = make_parser(__doc__).parse_args(arguments).results
    warnings.simplefilter("ignore")
    rows, found = [], {}
    for name, x, y, has_classes in iterate_tables():
        found[name] = measure_table(x, y, has_classes=has_classes)
        raw, features = (np.array(found[name][way]) for way in ("raw", "features"))
        worst = f"{(features - raw).min():+.3f}"
        rows.append((name, len(x), x.shape[1], f"{raw.mean():.3f}", f"{features.mean():.3f}", worst))
        print(rows[-1], flush=True)
    measured = {"tables": found, "settings": SCREENER | {"folds": FOLDS}}
    save_results("new_rows", measured, format_table(HEAD, rows), where)

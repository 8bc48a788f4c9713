"""Screening inside the folds of a cross-validation, and what it looks like outside them.

The response chooses which formulas become features. Where rows that test a model took part in that choice,
the test is no test: on pure noise it still shows a model. Run the cells in an editor that knows ``# %%``, or
the whole with ``python screen_inside_folds.py``.
"""

# %% A law with noise, and noise alone, of the same inputs
from __future__ import annotations

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import symscreen

rng = np.random.default_rng(7)
inputs = rng.uniform(-1, 1, size=(100, 20))
noise = rng.normal(size=100)
law = 3 * inputs[:, 0] * inputs[:, 1] + inputs[:, 2] ** 2 + 0.2 * noise

# %% A pipeline: each fold screens its own training rows, then fits a model on what it found
screener = symscreen.SymbolicScreener(
    layers="ub",
    unary="id,square,abs",
    binary="mul,sub",
    screener="pearson",  # what follows is linear
    top=20,
    max_correlation=0.8,
    n_jobs=1,
)
model = make_pipeline(StandardScaler(), RidgeCV(np.logspace(0, 3, 7)))
pipeline = make_pipeline(screener, model)
folds = KFold(5, shuffle=True, random_state=0)


def inside(y: np.ndarray) -> float:
    """Return the mean R² over folds where each fold screens for itself."""
    return float(cross_val_score(pipeline, inputs, y, cv=folds).mean())


def outside(y: np.ndarray) -> float:
    """Return it where all rows, those that test too, chose the features: the mistake."""
    features = screener.fit_transform(inputs, y)
    return float(cross_val_score(model, features, y, cv=folds).mean())


r2 = {
    "law, inside": inside(law),
    "law, outside": outside(law),
    "noise, inside": inside(noise),
    "noise, outside": outside(noise),
}
for name, value in r2.items():
    print(f"{name:<15} R² {value:6.3f}")

# %% Options of the screen are chosen in the same way: by folds inside
grid = {"symbolicscreener__layers": ["u", "ub"], "symbolicscreener__top": [5, 20]}
search = GridSearchCV(pipeline, grid, cv=folds).fit(inputs, law)
print(search.best_params_)
print(search.best_estimator_[0].get_feature_names_out()[:3])

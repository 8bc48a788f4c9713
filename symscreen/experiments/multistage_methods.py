"""The comparison of the multistage recommender with baselines (Dai, Shen and Pan, tables 2 and 3).

The tables of the paper are not available. Its text states improvements of the overall error over each
baseline, as fractions of the baseline's error, and ranges; `PUBLISHED_IMPROVEMENTS` has them.

The text describes the simulation but has lost its subscripts, so `READINGS` lists interpretations. What is
left of the sizes, "= 50, m = m = 100, and m = 40", has three readings:

- 100 users share 50 levels, and 100 items share 40;
- these features are used in addition to the names of users and items, which are the first columns of s and o
  and the only ones that SVD receives;
- there are three features per side, with 100, 100, 50 and 100, 100, 40 levels, and rows are identified by
  these features alone. The text does not state the number of rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from symscreen.evaluation import compute_mean_and_error
from symscreen.multistage import (
    MonotoneChainRecommender,
    compute_error_rates,
    count_inconsistencies,
    simulate_chains,
)
from symscreen.multistage.baselines import BASELINES
from symscreen.multistage.baselines.catalog import list_baseline_settings
from symscreen.multistage.tuning import search_settings
from symscreen.targets.stages import list_stage_pairs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen.experiments.base import ExperimentSettings
    from symscreen.multistage import SimulatedChains
    from symscreen.multistage.base import ChainEstimator


# relative reductions of the overall error
PUBLISHED_IMPROVEMENTS = {"GradBoost": 0.43, "OSVM": 0.22, "SVM": 0.20, "DeepNN": 0.13, "SVD": math.nan}
N_REPLICATIONS = 50  # simulated tables per reading in the paper


def compute_implied_errors(baseline_errors: dict[str, float]) -> dict[str, float]:
    """Compute the error of the recommender that the published improvements imply.

    Parameters
    ----------
    baseline_errors : dict of str to float
        Overall error of each baseline.

    Returns
    -------
    dict of str to float
        (1 − improvement) · error; NaN for a baseline without a published improvement. On data like those of
        the paper, the values agree.

    Examples
    --------
    >>> compute_implied_errors({"GradBoost": 0.3, "SVM": 0.2})
    {'GradBoost': 0.171, 'SVM': 0.16000000000000003}
    """
    return {name: (1.0 - PUBLISHED_IMPROVEMENTS[name]) * error for name, error in baseline_errors.items()}


SHOWN_COLUMNS = ["method", "overall", "se_overall", "e01", "e02", "e12", "balanced", "inconsistent"]

_ERROR_COLUMNS = ("overall", "e01", "e02", "e12", "balanced", "b01", "b02", "b12", "inconsistent")


def average_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Average the errors over runs.

    Parameters
    ----------
    runs : data frame
        One row per run and method: `run`, `method`, the errors and `inconsistent`.

    Returns
    -------
    data frame
        One row per method, sorted by overall error, with a standard error ``se_…`` of each mean.
    """
    rows = []
    for method, method_runs in runs.groupby("method", sort=False):
        row: dict[str, Any] = {"method": method, "runs": len(method_runs)}
        for name in _ERROR_COLUMNS:
            row[name], row[f"se_{name}"] = compute_mean_and_error(
                method_runs[name].to_numpy(dtype=np.float64)
            )
        rows.append(row | {"alike": float(method_runs["alike"].mean())})
    return pd.DataFrame(rows).sort_values("overall", kind="stable", ignore_index=True)


def compute_improvements(runs: pd.DataFrame, ours: Sequence[str], column: str = "overall") -> pd.DataFrame:
    """Compare our methods with each baseline, paired by run.

    Parameters
    ----------
    runs : data frame
        See `average_runs`.
    ours : sequence of str
        Names of our methods.
    column : str
        Error to compare.

    Returns
    -------
    data frame
        One row per method of ours and baseline: the published improvement, the mean of
        (baseline − ours)/baseline over runs, and the mean difference, both with standard errors.
    """
    wide = runs.pivot_table(index="run", columns="method", values=column, sort=False)
    rows = []
    for our_method, (baseline, published) in product(ours, PUBLISHED_IMPROVEMENTS.items()):
        difference = (wide[baseline] - wide[our_method]).to_numpy(dtype=np.float64)
        gain, gain_error = compute_mean_and_error(difference / wide[baseline].to_numpy(dtype=np.float64))
        mean, error = compute_mean_and_error(difference)
        row = {"ours": our_method, "rival": baseline, "published": published}
        rows.append(row | {"gain": gain, "se": gain_error, "difference": mean, "se_difference": error})
    return pd.DataFrame(rows)


def format_order(table: pd.DataFrame, column: str = "overall") -> str:
    """Format the methods in the order of an error, the smallest first."""
    ranked = table.sort_values(column, kind="stable")
    return " < ".join(
        f"{name} {error:.3f}" for name, error in zip(ranked["method"], ranked[column], strict=True)
    )


LAMBDAS = (0.001, 0.005, 0.01)
RECOMMENDER = "ours"
RECOMMENDER_COMMON_LEVEL = "ours, common level"
_RECOMMENDER_GRID_SUM = "ours, sum over n·m"
_NETWORK_DEPTHS = {"few": (1, 3), "all": (1, 2, 3, 5, 7, 9, 11)}


@dataclass(frozen=True)
class ComparisonPlan:
    """Extent of the tuning grids and fits.

    Parameters
    ----------
    factors : int
        Number of factors K of the recommender.
    balanced : bool
        Whether to balance the classes.
    features : {"none", "tied", "free"}
        λ_1 of the recommender: not varied, equal to λ_2, or varied independently.
    depths : {"all", "few"}
        Depths of the networks: those of the paper, or 1 and 3.
    epochs : int
        Maximum epochs of the networks.
    grid_step : int
        Use every `grid_step`-th value of the grids of the baselines.
    rounds : int
        Maximum rounds of SVD.
    lambdas : tuple of float
        Values of each λ of the recommender.
    """

    factors: int = 20
    balanced: bool = False
    features: str = "none"
    depths: str = "all"
    epochs: int = 200
    grid_step: int = 1
    rounds: int = 300
    lambdas: tuple[float, ...] = LAMBDAS


def shorten_plan(plan: ComparisonPlan) -> ComparisonPlan:
    """Reduce a plan to a size that only shows that it runs.

    Parameters
    ----------
    plan : ComparisonPlan
        Plan of the full size.

    Returns
    -------
    ComparisonPlan
        The plan with small grids and few epochs and rounds.
    """
    return replace(plan, depths="few", epochs=10, grid_step=6, rounds=20, lambdas=LAMBDAS[:2])


@dataclass(frozen=True, eq=False)
class ComparisonData:
    """Tables to fit and evaluate methods on.

    Parameters
    ----------
    stages : sequence of str
        Names of the stages in order.
    training : data frame
        Rows to which the selected setting is fitted.
    splits : sequence of (data frame, data frame)
        Training and validation tables that select the setting.
    test : data frame
        Rows on which predictions are evaluated.
    features : mapping of str to data frame or None
        `user_features` and `item_features`.
    """

    stages: Sequence[str]
    training: pd.DataFrame
    splits: Sequence[tuple[pd.DataFrame, pd.DataFrame]]
    test: pd.DataFrame
    features: Mapping[str, pd.DataFrame | None] = field(default_factory=dict)


class ComparedMethod(NamedTuple):
    """An estimator, its grid of settings, and whether all users and items share an additional level."""

    model: ChainEstimator
    settings: list[dict[str, Any]]
    has_common_level: bool


def make_methods(stages: Sequence[str], plan: ComparisonPlan, seed: int) -> dict[str, ComparedMethod]:
    """Make all methods by name: our three first, then the baselines.

    Parameters
    ----------
    stages : sequence of str
        Names of the stages in order.
    plan : ComparisonPlan
        Extent of the grids and fits.
    seed : int
        Seed of the fits.

    Returns
    -------
    dict of str to ComparedMethod
        The methods. "ours, common level" has an additional categorical variable of users and of items with
        one level that all share: a mean around which the other levels vary.
    """
    options: dict[str, Any] = {"class_weight": "balanced" if plan.balanced else None, "random_state": seed}
    settings = _list_recommender_settings(plan)
    methods = {}
    for name in (RECOMMENDER, RECOMMENDER_COMMON_LEVEL, _RECOMMENDER_GRID_SUM):
        normalization = "grid" if name == _RECOMMENDER_GRID_SUM else "observed"
        model = MonotoneChainRecommender(
            stages, n_factors=plan.factors, normalization=normalization, **options
        )
        methods[name] = ComparedMethod(model, settings, has_common_level=name == RECOMMENDER_COMMON_LEVEL)
    for name, baseline in BASELINES.items():
        values: Any = baseline.grid[:: plan.grid_step]
        model = baseline.make(stages, **options)
        if name == "DeepNN":
            values = [(32,) * depth for depth in _NETWORK_DEPTHS[plan.depths]]
            model.set_params(learner__max_iter=plan.epochs)
        if name == "SVD":
            model.set_params(max_iter=plan.rounds)
        methods[name] = ComparedMethod(model, list_baseline_settings(name, values), has_common_level=False)
    return methods


def _list_recommender_settings(plan: ComparisonPlan) -> list[dict[str, Any]]:
    """List the settings of λ_1, λ_2 and λ_3."""
    names = ("lambda_features", "lambda_levels", "lambda_stages")
    if plan.features == "free":
        grid = list(product(plan.lambdas, repeat=3))
    else:
        grid = [(levels, levels, stages) for levels, stages in product(plan.lambdas, repeat=2)]
    return [dict(zip(names, values, strict=True)) for values in grid]


def evaluate_method(method: ComparedMethod, data: ComparisonData) -> dict[str, Any]:
    """Tune a method, fit it and evaluate it on the test table.

    Parameters
    ----------
    method : ComparedMethod
        Method with its grid.
    data : ComparisonData
        Tables.

    Returns
    -------
    dict
        `overall` and one error per pair, such as ``e01``; the class-balanced errors `balanced` and ``b01``;
        `inconsistent`, the fraction of inconsistent test rows; `chosen`, the setting; `alike`, whether all
        test rows have the same predictions.
    """
    features: dict[str, Any] = dict(data.features)
    if method.has_common_level:
        features = {f"{kind}_features": _add_common_level(kind, data) for kind in ("user", "item")}
    search_result = search_settings(method.model, method.settings, data.splits, **features)
    setting, model = search_result.best_setting, search_result.model
    if len(data.splits) > 1:  # otherwise it is already fitted to the training rows
        model = model.set_params(**setting).fit(data.training, **features)
    predicted = model.predict(data.test[["user", "item"]], **features)
    outcomes = np.where(data.test[list(data.stages)].to_numpy() == 1, 1, -1).astype(np.int8)
    errors, pairs = compute_error_rates(predicted, outcomes), list_stage_pairs(len(data.stages) - 1)
    errors_by_name: dict[str, Any] = {"overall": errors.overall, "balanced": errors.balanced}
    for (present, later), plain, fair in zip(pairs, errors.by_pair, errors.balanced_by_pair, strict=True):
        errors_by_name |= {f"e{present}{later}": float(plain), f"b{present}{later}": float(fair)}
    alike = bool((predicted == predicted[0]).all())
    return errors_by_name | {
        "inconsistent": count_inconsistencies(predicted).share,
        "chosen": str(setting),
        "alike": alike,
    }


def _add_common_level(kind: str, data: ComparisonData) -> pd.DataFrame:
    """Add a categorical feature with one level to the features of users or items."""
    features = data.features.get(f"{kind}_features")
    if features is None:
        tables = [data.training, data.test, *(validation for _, validation in data.splits)]
        features = pd.DataFrame({kind: pd.concat([table[kind] for table in tables]).unique()})
    return features.assign(common="all")


def _build_three_feature_options(n_rows: int) -> dict[str, Any]:
    """Return the options under which every row has a distinct user and item with three features each."""
    levels = {"user_levels": (100, 100, 50), "item_levels": (100, 100, 40)}
    return {"n_users": n_rows, "n_items": n_rows, "n_rows": n_rows, **levels}


MAIN_READING = "chained, deviation"
FEATURES_READING = "chained, features of 50 and 40 levels"
FEATURES_ONLY_READINGS: Mapping[str, Mapping[str, Any]] = {
    "chained, three features a side, 10,000 rows": _build_three_feature_options(10_000),
    "chained, three features a side, 20,000 rows": _build_three_feature_options(20_000),
}
READINGS: Mapping[str, Mapping[str, Any]] = {  # options of `simulate_chains`
    MAIN_READING: {"reading": "chained"},
    FEATURES_READING: {"user_levels": (50,), "item_levels": (40,)},
    "chained, variance": {"reading": "chained", "noise_is": "variance"},
    "summed, deviation": {"reading": "summed"},
    "summed, variance": {"reading": "summed", "noise_is": "variance"},
    "chained, deviation 0.1 for all": {"reading": "chained", "relative_noise": False},
    "summed, deviation 0.1 for all": {"reading": "summed", "relative_noise": False},
    "chained, 50 × 50, 10,000 rows": {"n_users": 50, "n_items": 50, "n_rows": 10_000},
    "chained, 100 × 100, 50,000 rows": {"n_rows": 50_000},
    "chained, beside names features of 50 and 40 levels": {
        "user_levels": (50,),
        "item_levels": (40,),
        "own_factors": True,
    },
    "chained, features of 20 and 10 levels": {"user_levels": (20, 10), "item_levels": (20, 10)},
    **FEATURES_ONLY_READINGS,
    "exact": {"reading": "exact"},
}


def simulate_reading(name: str, settings: ExperimentSettings, seed: int) -> SimulatedChains:
    """Simulate one table.

    Parameters
    ----------
    name : str
        Key of `READINGS`.
    settings : ExperimentSettings
        Seed of the experiment. The quick size has 40 × 40 users and items.
    seed : int
        Seed of this table.

    Returns
    -------
    SimulatedChains
        The table. The same seeds give the same table.
    """
    small = {"n_users": 40, "n_items": 40} if settings.quick else {}
    options = dict(READINGS[name]) | small
    return simulate_chains(**options, random_state=np.random.default_rng([settings.seed, seed]))


def build_comparison_data(name: str, chains: SimulatedChains) -> tuple[ComparisonData, ComparisonData]:
    """Split simulated chains into training, validation and test tables.

    Parameters
    ----------
    name : str
        Key of `READINGS`.
    chains : SimulatedChains
        Table of this reading.

    Returns
    -------
    ComparisonData, ComparisonData
        Data for all methods except SVD, and for SVD. SVD uses only the names of users and items. If rows are
        identified by their features alone, the names for SVD are the levels of the first feature of each
        side.
    """
    features = {"user_features": chains.user_features, "item_features": chains.item_features}
    parts = {part: chains.select_part(part) for part in ("training", "validation", "test")}
    data = _combine_parts(chains.stages, parts, features)
    if name not in FEATURES_ONLY_READINGS:
        return data, data
    return data, _combine_parts(
        chains.stages, {part: _name_by_first_feature(table, features) for part, table in parts.items()}, {}
    )


def use_features_only(method: ComparedMethod) -> ComparedMethod:
    """Remove the effects of the names of users and items, so that a method uses only features.

    Parameters
    ----------
    method : ComparedMethod
        Any method.

    Returns
    -------
    ComparedMethod
        The changed method. SVD is returned unchanged: it has no other effects.
    """
    model = method.model
    if type(model).__name__ == "StagePairFactors":
        return method
    return method._replace(model=model.set_params(user_effects=False, item_effects=False))


def _combine_parts(
    stages: list[str], parts: Mapping[str, pd.DataFrame], features: Mapping[str, Any]
) -> ComparisonData:
    """Build comparison data with one split from its parts."""
    split = (parts["training"], parts["validation"])
    return ComparisonData(stages, parts["training"], [split], parts["test"], features)


def _name_by_first_feature(table: pd.DataFrame, features: Mapping[str, Any]) -> pd.DataFrame:
    """Replace the names of users and items by the level of their first feature."""
    names = {
        kind: table[kind].map(features[f"{kind}_features"].set_index(kind)[f"{kind}_level1"])
        for kind in ("user", "item")
    }
    return table.assign(**names)

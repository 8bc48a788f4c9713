"""Published figures of the multistage recommender (Dai, Shen and Pan): what the text tells of tables 2 and 3.

The tables themselves are not at hand; the text gives improvements of the overall error over each rival, in
per cent of the rival's error, and ranges.

Figures of many runs of several methods: means beside what is published, and improvements run by run.

The methods compared on chains of stages: how each is tuned, fitted and judged.

The simulation of Dai, Shen and Pan as its text may be read, and the tables that methods get of it.

The text has lost its subscripts. What is left of the sizes, "= 50, m = m = 100, and m = 40", may mean that
100 users share 50 levels and 100 items 40; that these features stand beside the names of users and items, the
first columns of s and o, which SVD is given; or three features a side, of 100, 100, 50 and 100, 100, 40
levels, by which alone a row is told. How many rows there were it does not tell.
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


__all__ = [
    "FEATURES_ONLY_READINGS",
    "FEATURES_READING",
    "LAMBDAS",
    "MAIN_READING",
    "N_REPLICATIONS",
    "PUBLISHED_IMPROVEMENTS",
    "READINGS",
    "RECOMMENDER",
    "RECOMMENDER_COMMON_LEVEL",
    "SHOWN_COLUMNS",
    "ComparedMethod",
    "ComparisonData",
    "ComparisonPlan",
    "average_runs",
    "build_comparison_data",
    "compute_implied_errors",
    "compute_improvements",
    "evaluate_method",
    "format_order",
    "make_methods",
    "shorten_plan",
    "simulate_reading",
    "use_features_only",
]

PUBLISHED_IMPROVEMENTS = {"GradBoost": 0.43, "OSVM": 0.22, "SVM": 0.20, "DeepNN": 0.13, "SVD": math.nan}
N_REPLICATIONS = 50


def compute_implied_errors(baseline_errors: dict[str, float]) -> dict[str, float]:
    """Compute the error that the published improvements ask of the recommender, given those of the rivals.

    Parameters
    ----------
    rivals : dict of str to float
        Overall errors.

    Returns
    -------
    dict of str to float
        (1 − improvement) · error; NaN for a rival without a published improvement. Where data are as in the
        paper, they agree.

    Examples
    --------
    >>> compute_implied_errors({"GradBoost": 0.3, "SVM": 0.2})
    {'GradBoost': 0.171, 'SVM': 0.16000000000000003}
    """
    return {name: (1.0 - PUBLISHED_IMPROVEMENTS[name]) * error for name, error in baseline_errors.items()}


SHOWN_COLUMNS = ["method", "overall", "se_overall", "e01", "e02", "e12", "balanced", "inconsistent"]

_ERROR_COLUMNS = ("overall", "e01", "e02", "e12", "balanced", "b01", "b02", "b12", "inconsistent")


def average_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Average errors over runs.

    Parameters
    ----------
    runs : data frame
        One row for each run and method: `run`, `method`, the errors and `inconsistent`.

    Returns
    -------
    data frame
        One row a method, the least overall error first, with a standard error ``se_…`` for each figure.
    """
    rows = []
    for method, own in runs.groupby("method", sort=False):
        row: dict[str, Any] = {"method": method, "runs": len(own)}
        for name in _ERROR_COLUMNS:
            row[name], row[f"se_{name}"] = compute_mean_and_error(own[name].to_numpy(dtype=np.float64))
        rows.append(row | {"alike": float(own["alike"].mean())})
    return pd.DataFrame(rows).sort_values("overall", kind="stable", ignore_index=True)


def compute_improvements(runs: pd.DataFrame, ours: Sequence[str], column: str = "overall") -> pd.DataFrame:
    """Compare ours with each rival, run by run.

    Parameters
    ----------
    runs : data frame
        As for `means`.
    ours : sequence of str
        Methods that are compared with the others.
    figure : str
        Which error.

    Returns
    -------
    data frame
        For each of ours and each rival: the published improvement, the mean of (rival − ours)/rival over runs
        with its standard error, and the mean difference with its.
    """
    wide = runs.pivot_table(index="run", columns="method", values=column, sort=False)
    rows = []
    for own in ours:
        for rival in PUBLISHED_IMPROVEMENTS:
            difference = (wide[rival] - wide[own]).to_numpy(dtype=np.float64)
            gain, gain_error = compute_mean_and_error(difference / wide[rival].to_numpy(dtype=np.float64))
            mean, error = compute_mean_and_error(difference)
            row = {"ours": own, "rival": rival, "published": PUBLISHED_IMPROVEMENTS[rival]}
            rows.append(row | {"gain": gain, "se": gain_error, "difference": mean, "se_difference": error})
    return pd.DataFrame(rows)


def format_order(table: pd.DataFrame, column: str = "overall") -> str:
    """Write the order of methods by an error, the least first."""
    ranked = table.sort_values(column, kind="stable")
    return " < ".join(
        f"{name} {error:.3f}" for name, error in zip(ranked["method"], ranked[column], strict=True)
    )


LAMBDAS = (0.001, 0.005, 0.01)
RECOMMENDER, RECOMMENDER_COMMON_LEVEL, _RECOMMENDER_GRID_SUM = (
    "ours",
    "ours, common level",
    "ours, sum over n·m",
)
_NETWORK_DEPTHS = {"few": (1, 3), "all": (1, 2, 3, 5, 7, 9, 11)}


@dataclass(frozen=True)
class ComparisonPlan:
    """How much is tried.

    Parameters
    ----------
    factors : int
        K of ours.
    balanced : bool
        Whether classes weigh inversely to their numbers.
    features : {"none", "tied", "free"}
        Of λ_1: not varied, equal to λ_2, or varied by itself.
    depths : {"all", "few"}
        Of networks: the paper's, or 1 and 3.
    epochs : int
        Of networks.
    thin : int
        Of the rivals' grids every which value is tried.
    rounds : int
        Of SVD, at most.
    lambdas : tuple of float
        Values of each λ of ours.
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
    """Leave of a plan what shows that it runs.

    Parameters
    ----------
    plan : Plan
        Of the full size.

    Returns
    -------
    Plan
        With small grids, and few epochs and rounds.
    """
    return replace(plan, depths="few", epochs=10, grid_step=6, rounds=20, lambdas=LAMBDAS[:2])


@dataclass(frozen=True, eq=False)
class ComparisonData:
    """Tables to learn from and to be judged on.

    Parameters
    ----------
    stages : sequence of str
        The stages.
    training : data frame
        What the chosen setting is fitted to.
    splits : sequence of (data frame, data frame)
        Training and validation, by which settings are chosen.
    test : data frame
        What is predicted.
    features : mapping of str to data frame or None
        `user_features` and `item_features`.
    """

    stages: Sequence[str]
    training: pd.DataFrame
    splits: Sequence[tuple[pd.DataFrame, pd.DataFrame]]
    test: pd.DataFrame
    features: Mapping[str, pd.DataFrame | None] = field(default_factory=dict)


class ComparedMethod(NamedTuple):
    """An estimator, the settings among which validation chooses, and whether all share one more level."""

    model: ChainEstimator
    settings: list[dict[str, Any]]
    has_common_level: bool


def make_methods(stages: Sequence[str], plan: ComparisonPlan, seed: int) -> dict[str, ComparedMethod]:
    """Give every method by its name, ours first.

    Parameters
    ----------
    stages : sequence of str
        The stages.
    plan : Plan
        How much is tried.
    seed : int
        Of all that is random in fits.

    Returns
    -------
    dict of str to Method
        Three of ours, and the rivals. "ours, common level" has one more categorical variable of users and of
        items, with one level that all share: a mean about which the others vary.
    """
    more: dict[str, Any] = {"class_weight": "balanced" if plan.balanced else None, "random_state": seed}
    settings = _list_recommender_settings(plan)
    found = {}
    for name in (RECOMMENDER, RECOMMENDER_COMMON_LEVEL, _RECOMMENDER_GRID_SUM):
        over = "grid" if name == _RECOMMENDER_GRID_SUM else "observed"
        model = MonotoneChainRecommender(stages, n_factors=plan.factors, normalization=over, **more)
        found[name] = ComparedMethod(model, settings, has_common_level=name == RECOMMENDER_COMMON_LEVEL)
    for name, rival in BASELINES.items():
        values: Any = rival.grid[:: plan.grid_step]
        model = rival.make(stages, **more)
        if name == "DeepNN":
            values = [(32,) * depth for depth in _NETWORK_DEPTHS[plan.depths]]
            model.set_params(learner__max_iter=plan.epochs)
        if name == "SVD":
            model.set_params(max_iter=plan.rounds)
        found[name] = ComparedMethod(model, list_baseline_settings(name, values), has_common_level=False)
    return found


def _list_recommender_settings(plan: ComparisonPlan) -> list[dict[str, Any]]:
    names = ("lambda_features", "lambda_levels", "lambda_stages")
    if plan.features == "free":
        grid = list(product(plan.lambdas, repeat=3))
    else:
        grid = [(two, two, three) for two, three in product(plan.lambdas, repeat=2)]
    return [dict(zip(names, one, strict=True)) for one in grid]


def evaluate_method(method: ComparedMethod, data: ComparisonData) -> dict[str, Any]:
    """Tune a method, fit it and judge it on the test table.

    Parameters
    ----------
    method : Method
        What is tried.
    case : Case
        On which tables.

    Returns
    -------
    dict
        `overall` and one error a pair, such as ``e01``; the same class-balanced, `balanced` and ``b01``;
        `inconsistent`, the share of test rows; `chosen`, the setting; `alike`, whether every test row is
        predicted alike.
    """
    features: dict[str, Any] = dict(data.features)
    if method.has_common_level:
        features = {f"{kind}_features": _add_common_level(kind, data) for kind in ("user", "item")}
    searched = search_settings(method.model, method.settings, data.splits, **features)
    setting = searched.settings[searched.best_index]
    if len(data.splits) == 1:
        model = searched.models[searched.best_index]  # fitted to the training rows already
    else:
        model = searched.models[searched.best_index].set_params(**setting).fit(data.training, **features)
    predicted = model.predict(data.test[["user", "item"]], **features)
    outcomes = np.where(data.test[list(data.stages)].to_numpy() == 1, 1, -1).astype(np.int8)
    errors, pairs = compute_error_rates(predicted, outcomes), list_stage_pairs(len(data.stages) - 1)
    found: dict[str, Any] = {"overall": errors.overall, "balanced": errors.balanced}
    for (present, later), plain, fair in zip(pairs, errors.by_pair, errors.balanced_by_pair, strict=True):
        found |= {f"e{present}{later}": float(plain), f"b{present}{later}": float(fair)}
    alike = bool((predicted == predicted[0]).all())
    return found | {
        "inconsistent": count_inconsistencies(predicted).share,
        "chosen": str(setting),
        "alike": alike,
    }


def _add_common_level(kind: str, data: ComparisonData) -> pd.DataFrame:
    import pandas as pd

    given = data.features.get(f"{kind}_features")
    if given is None:
        tables = [data.training, data.test, *(validation for _, validation in data.splits)]
        given = pd.DataFrame({kind: pd.concat([one[kind] for one in tables]).unique()})
    return given.assign(common="all")


def _build_three_feature_options(n_rows: int) -> dict[str, Any]:
    """Name the options under which every row has a user and an item of its own, of three features each."""
    levels = {"user_levels": (100, 100, 50), "item_levels": (100, 100, 40)}
    return {"n_users": n_rows, "n_items": n_rows, "n_rows": n_rows, **levels}


MAIN_READING = "chained, deviation"
FEATURES_READING = "chained, features of 50 and 40 levels"
FEATURES_ONLY_READINGS: Mapping[str, Mapping[str, Any]] = {
    "chained, three features a side, 10,000 rows": _build_three_feature_options(10_000),
    "chained, three features a side, 20,000 rows": _build_three_feature_options(20_000),
}
READINGS: Mapping[str, Mapping[str, Any]] = {  # what `simulate_chains` is told
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
    """Generate one table.

    Parameters
    ----------
    name : str
        One of READINGS.
    settings : Settings
        Of the experiment: its own seed; the quick size has 40 × 40.
    seed : int
        Of this table.

    Returns
    -------
    SimulatedChains
        The same for the same seeds.
    """
    small = {"n_users": 40, "n_items": 40} if settings.quick else {}
    options = dict(READINGS[name]) | small
    return simulate_chains(**options, random_state=np.random.default_rng([settings.seed, seed]))


def build_comparison_data(name: str, chains: SimulatedChains) -> tuple[ComparisonData, ComparisonData]:
    """Cut generated chains into the tables that methods learn from and are judged on.

    Parameters
    ----------
    name : str
        One of READINGS.
    made : SimulatedChains
        Its table.

    Returns
    -------
    Case, Case
        For all methods but SVD, and for SVD, which knows two names a row: where a row is told by its
        features, the levels of the first on each side.
    """
    features = {"user_features": chains.user_features, "item_features": chains.item_features}
    parts = {part: chains.select_part(part) for part in ("training", "validation", "test")}
    case = _combine_parts(chains.stages, parts, features)
    if name not in FEATURES_ONLY_READINGS:
        return case, case
    return case, _combine_parts(
        chains.stages, {part: _name_by_first_feature(one, features) for part, one in parts.items()}, {}
    )


def use_features_only(method: ComparedMethod) -> ComparedMethod:
    """Leave out a method's effects of each user and item, so that features alone tell of a row.

    Parameters
    ----------
    method : Method
        Any.

    Returns
    -------
    Method
        SVD, which has no other effects, as it was.
    """
    model = method.model
    if type(model).__name__ == "StagePairFactors":
        return method
    return method._replace(model=model.set_params(user_effects=False, item_effects=False))


def _combine_parts(
    stages: list[str], parts: Mapping[str, pd.DataFrame], features: Mapping[str, Any]
) -> ComparisonData:
    split = (parts["training"], parts["validation"])
    return ComparisonData(stages, parts["training"], [split], parts["test"], features)


def _name_by_first_feature(table: pd.DataFrame, features: Mapping[str, Any]) -> pd.DataFrame:
    """Name users and items by the level of their first feature."""
    named = {
        kind: table[kind].map(features[f"{kind}_features"].set_index(kind)[f"{kind}_level1"])
        for kind in ("user", "item")
    }
    return table.assign(**named)

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
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from symscreen.evaluation import compute_mean_and_error
from symscreen.experiments.base import (
    Experiment,
    ExperimentOutcome,
    ExperimentSettings,
    average_draws,
    compare_with_published,
    run_tasks,
)
from symscreen.multistage import (
    MonotoneChainRecommender,
    compute_error_rates,
    count_inconsistencies,
    simulate_chains,
)
from symscreen.multistage.article_sharing import (
    STAGES,
    build_article_chains,
    generate_article_sharing,
    read_article_sharing,
)
from symscreen.multistage.baselines import BASELINES, StagePairFactors
from symscreen.multistage.baselines.catalog import list_baseline_settings
from symscreen.multistage.tuning import search_settings
from symscreen.targets.stages import list_stage_pairs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen._option_values import ExperimentSize
    from symscreen._typing import ProgressCallback
    from symscreen.multistage import SimulatedChains
    from symscreen.multistage.article_sharing import ArticleSharingData
    from symscreen.multistage.base import ChainEstimator


# published relative reductions of the overall error by the recommender
PUBLISHED_IMPROVEMENTS = {"GradBoost": 0.43, "OSVM": 0.22, "SVM": 0.20, "DeepNN": 0.13, "SVD": math.nan}
N_REPLICATIONS = 50  # simulated tables per reading in the paper

SHOWN_COLUMNS = ["method", "overall", "overall_se", "e01", "e02", "e12", "balanced", "inconsistent"]

_ERROR_COLUMNS = ("overall", "e01", "e02", "e12", "balanced", "b01", "b02", "b12", "inconsistent")

LAMBDAS = (0.001, 0.005, 0.01)
RECOMMENDER = "ours"
RECOMMENDER_COMMON_LEVEL = "ours, common level"
# by name: the parameters of a recommender that are not the default
_RECOMMENDERS: dict[str, dict[str, Any]] = {
    RECOMMENDER: {},
    RECOMMENDER_COMMON_LEVEL: {},
    "ours, sum over n·m": {"normalization": "grid"},
}
_NETWORK_DEPTHS = {"few": (1, 3), "all": (1, 2, 3, 5, 7, 9, 11)}

MAIN_READING = "chained, deviation"
FEATURES_READING = "chained, features of 50 and 40 levels"

_SHOWN_ARTICLE_COLUMNS = ["method", "balanced", "balanced_se", "b01", "b02", "b12", "overall", "inconsistent"]

_MAIN_READINGS = (MAIN_READING, FEATURES_READING)


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


def average_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Average the errors over runs.

    Parameters
    ----------
    runs : data frame
        One row per run and method: `run`, `method`, the errors and `inconsistent`.

    Returns
    -------
    data frame
        One row per method, sorted by overall error, with a standard error ``…_se`` of each mean.
    """
    table = average_draws(runs, ["method"], _ERROR_COLUMNS, "runs")
    alike = runs.groupby("method", sort=False)["alike"].mean().to_numpy(dtype=np.float64)
    return table.assign(alike=alike).sort_values("overall", kind="stable", ignore_index=True)


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
        One row per method of ours and baseline: the published improvement, the mean over runs of
        (baseline − ours)/baseline, and the mean difference, both with standard errors.
    """
    wide = runs.pivot_table(index="run", columns="method", values=column, sort=False)
    rows = []
    for our_method, (baseline, published) in product(ours, PUBLISHED_IMPROVEMENTS.items()):
        difference = (wide[baseline] - wide[our_method]).to_numpy(dtype=np.float64)
        gains = difference / wide[baseline].to_numpy(dtype=np.float64)
        result = compare_with_published(f"improvement over {baseline}", published, gains)
        mean, error = compute_mean_and_error(difference)
        rows.append({"method": our_method} | result | {"difference": mean, "difference_se": error})
    return pd.DataFrame(rows)


def format_order(table: pd.DataFrame, column: str = "overall") -> str:
    """Format the methods in the order of an error, the smallest first."""
    ranked = table.sort_values(column, kind="stable")
    return " < ".join(
        f"{name} {error:.3f}" for name, error in zip(ranked["method"], ranked[column], strict=True)
    )


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
    grids: dict[str, Any] = {name: baseline.grid[:: plan.grid_step] for name, baseline in BASELINES.items()}
    grids["DeepNN"] = [(32,) * depth for depth in _NETWORK_DEPTHS[plan.depths]]
    table: dict[str, tuple[ChainEstimator, list[dict[str, Any]]]] = {
        name: (MonotoneChainRecommender(n_factors=plan.factors, **changes), _list_recommender_settings(plan))
        for name, changes in _RECOMMENDERS.items()
    } | {name: (BASELINES[name].create(), list_baseline_settings(name, grids[name])) for name in BASELINES}
    limits = {"DeepNN": {"learner__max_iter": plan.epochs}, "SVD": {"max_iter": plan.rounds}}
    options = {"stages": stages, "class_weight": "balanced" if plan.balanced else None, "random_state": seed}
    return {
        name: ComparedMethod(
            model.set_params(**options, **limits.get(name, {})), settings, name == RECOMMENDER_COMMON_LEVEL
        )
        for name, (model, settings) in table.items()
    }


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
        ``overall`` and one error per pair, such as ``e01``; the class-balanced errors ``balanced`` and
        ``b01``; ``inconsistent``, the fraction of inconsistent test rows; ``chosen``, the setting; ``alike``,
        whether all test rows have the same predictions.
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
        Size and seed of the experiment. The small size has 40 × 40 users and items.
    seed : int
        Seed of this table.

    Returns
    -------
    SimulatedChains
        The table. The same seeds give the same table.
    """
    options = dict(READINGS[name]) | dict(settings.choose_plan(SIMULATION_SIZES).table_options)
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
    if isinstance(model, StagePairFactors):
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


@dataclass(frozen=True, slots=True)
class _ArticlesSize:
    """Share of the article-sharing data that is generated, numbers of folds, and extent of the grids."""

    share: float
    outer_folds: int
    inner_folds: int
    grids: ComparisonPlan


_ARTICLES_PLAN = ComparisonPlan(7, balanced=True, features="free", epochs=20)
ARTICLES_SIZES: Mapping[ExperimentSize, _ArticlesSize] = {
    "small": _ArticlesSize(0.006, 2, 2, shorten_plan(replace(_ARTICLES_PLAN, features="tied"))),
    "medium": _ArticlesSize(
        0.03, 5, 3, replace(_ARTICLES_PLAN, features="tied", depths="few", epochs=30, grid_step=2)
    ),
    "full": _ArticlesSize(1.0, 5, 3, _ARTICLES_PLAN),
}


def run_articles(settings: ExperimentSettings) -> ExperimentOutcome:
    """Compare the methods by class-balanced error on users and articles.

    Parameters
    ----------
    settings : ExperimentSettings
        `data`: folder with ``shared_articles.csv`` and ``users_interactions.csv``. Without it, files with the
        same columns are generated: at the full size with the same counts, at the others with a share of them.

    Returns
    -------
    ExperimentOutcome
        ``articles``: mean errors over the outer folds. ``improvements``: of our methods over each baseline,
        paired by fold. ``errors``: all means with standard errors. ``folds``: all errors of every fold.

    Raises
    ------
    DataError
        If a file is missing or cannot be read.
    """
    size = settings.choose_plan(ARTICLES_SIZES)
    if settings.data is not None:
        chains = read_article_sharing(settings.data)
    else:
        chains = build_article_chains(*generate_article_sharing(share=size.share, random_state=settings.seed))
    folds = (size.outer_folds, size.inner_folds)
    runs = run_article_folds(chains, size.grids, folds, settings.seed, settings.report_progress)
    errors = average_runs(runs).sort_values("balanced", kind="stable", ignore_index=True)
    tables = {
        "articles": errors[_SHOWN_ARTICLE_COLUMNS],
        "improvements": compute_improvements(runs, (RECOMMENDER, RECOMMENDER_COMMON_LEVEL), "balanced"),
        "errors": errors,
        "folds": runs,
    }
    return ExperimentOutcome(
        tables, remarks=(format_article_remark(chains, tables["articles"], settings.data is not None),)
    )


def run_article_folds(
    chains: ArticleSharingData,
    plan: ComparisonPlan,
    folds: tuple[int, int],
    seed: int,
    on_progress: ProgressCallback | None = None,
) -> pd.DataFrame:
    """Tune by inner folds and evaluate on outer folds.

    Parameters
    ----------
    chains : ArticleSharingData
        Chains of users and articles.
    plan : ComparisonPlan
        Extent of the grids and fits.
    folds : (int, int)
        Numbers of outer and inner folds.
    seed : int
        Seed of folds and fits.
    on_progress : callable, optional
        Called with (outer folds done, outer folds).

    Returns
    -------
    data frame
        One row per outer fold and method.
    """
    table = chains.table
    features = {"user_features": chains.user_features, "item_features": chains.item_features}
    fold_index = _draw_folds(len(table), folds[0], [seed, 0])

    def evaluate_fold(fold: int) -> list[dict[str, Any]]:
        training = table[fold_index != fold].reset_index(drop=True)
        inner_index = _draw_folds(len(training), folds[1], [seed, 1 + fold])
        splits = [
            (training[inner_index != inner_fold], training[inner_index == inner_fold])
            for inner_fold in range(folds[1])
        ]
        data = ComparisonData(STAGES, training, splits, table[fold_index == fold], features)
        return [
            {"run": fold, "method": name} | evaluate_method(method, data)
            for name, method in make_methods(STAGES, plan, seed).items()
        ]

    results = run_tasks(evaluate_fold, range(folds[0]), 1, on_progress)
    return pd.DataFrame([row for fold_rows in results for row in fold_rows])


def format_article_remark(chains: ArticleSharingData, table: pd.DataFrame, is_real: bool) -> str:  # noqa: FBT001
    """Describe the data and the order of the methods."""
    reached = chains.table[list(STAGES)].mean()
    n_users, n_items = len(chains.user_features), len(chains.item_features)
    sizes = f"{n_users} users, {n_items} articles, {len(chains.table)} pairs"
    source = (
        "The article-sharing data" if is_real else "Generated files in the format of the article-sharing data"
    )
    return (
        f"{source}: {sizes}; {reached['like']:.1%} liked, {reached['follow']:.1%} followed, "
        f"{chains.n_skipped} of them with an event that skips a stage. By class-balanced error: "
        f"{format_order(table, 'balanced')}. The paper reports, on the real data, improvements of 75.3 to "
        "8.2 % and baselines that are inconsistent in 13.7 to 0.98 % of the rows."
    )


def _draw_folds(n_rows: int, n_folds: int, seed: list[int]) -> np.ndarray:
    """Assign rows to folds of equal size at random; return the fold of each row, (n_rows,)."""
    return np.random.default_rng(seed).permutation(np.arange(n_rows) % n_folds)


ARTICLES_EXPERIMENT = Experiment(
    name="multistage-articles",
    title="Articles viewed, liked and followed: nested folds, class-balanced errors",
    source="Dai, Shen and Pan, table 3",
    run=run_articles,
    sizes=ARTICLES_SIZES,
    supported_settings=("data",),
)


@dataclass(frozen=True, slots=True)
class _SimulationSize:
    """Extent of the simulation.

    Parameters
    ----------
    repeats : int
        Number of seeds of the main readings.
    main_readings, other_readings : tuple of str
        Keys of `READINGS`. The others have half as many seeds, at most `max_other_seeds`.
    max_other_seeds : int
        See above.
    share_seeds : int
        Number of seeds for the fractions of rows that reach each stage.
    table_options : tuple of (str, int)
        Options of `simulate_chains` in place of those of a reading.
    is_short : bool
        Whether grids are small, and epochs and rounds few.
    articles : str or None
        Size of the comparison on generated article-sharing data; None for no such comparison.
    """

    repeats: int
    main_readings: tuple[str, ...]
    other_readings: tuple[str, ...]
    max_other_seeds: int
    share_seeds: int
    table_options: tuple[tuple[str, int], ...] = ()
    is_short: bool = False
    articles: ExperimentSize | None = None


SIMULATION_SIZES: Mapping[ExperimentSize, _SimulationSize] = {
    "small": _SimulationSize(
        2, (MAIN_READING,), (), 1, 2, (("n_users", 40), ("n_items", 40)), is_short=True, articles="small"
    ),
    "medium": _SimulationSize(3, _MAIN_READINGS, (), 1, 10),
    "full": _SimulationSize(
        N_REPLICATIONS,
        _MAIN_READINGS,
        tuple(name for name in READINGS if name not in _MAIN_READINGS),
        10,
        10,
        articles="medium",
    ),
}


def run_simulation(settings: ExperimentSettings) -> ExperimentOutcome:
    """Compare the recommender with the baselines on simulated chains.

    Parameters
    ----------
    settings : ExperimentSettings
        `repeats`: number of seeds of the main reading (chained, noise of 0.1 standard deviations, all pairs
        of 100 users and 100 items) and of the same with categorical features. Other readings, at the full
        size only, have half as many seeds, at most 10.

    Returns
    -------
    ExperimentOutcome
        ``simulation``: mean errors per pair of stages and overall, and the fraction of inconsistent rows.
        ``improvements``: of our methods over each baseline under each reading, published and paired.
        ``readings``: all methods under each reading, with the number of `runs`. ``positives``: the fraction
        of rows that reach each stage, and the Bayes error, under every reading. ``errors``: all errors,
        class-balanced too, with standard errors. ``articles``: class-balanced errors on generated
        article-sharing data; not at the medium size, where ``multistage-articles`` has them. ``seeds``: every
        run. The first remark lists the readings that were run.
    """
    size = settings.choose_plan(SIMULATION_SIZES)
    n_other_seeds = max(1, min(size.repeats // 2, size.max_other_seeds))
    tasks = [(name, seed) for name in size.main_readings for seed in range(size.repeats)]
    tasks += [(name, seed) for name in size.other_readings for seed in range(n_other_seeds)]
    results = run_tasks(
        partial(_compare_methods, settings=settings),
        tasks,
        settings.jobs,
        lambda done, total: settings.report_progress(done, total + 1),
    )
    rows = [row for task_rows in results for row in task_rows]
    runs = pd.DataFrame(rows)
    main = runs[runs["reading"] == MAIN_READING]
    tables = {
        "simulation": average_runs(main)[SHOWN_COLUMNS],
        "improvements": _compute_improvements_by_reading(runs),
        "readings": _average_by_reading(runs),
        "positives": _average_stage_shares(settings, size.share_seeds),
        "errors": average_runs(main),
        "seeds": runs,
    }
    remarks = _format_remarks(tables)
    if size.articles is not None:
        outcome = run_articles(replace(settings, size=size.articles, repeats=None, progress=None))
        tables["articles"] = outcome.tables["errors"]
        remarks += outcome.remarks
    settings.report_progress(len(tasks) + 1, len(tasks) + 1)
    return ExperimentOutcome(tables, remarks=remarks)


def _compare_methods(reading_and_seed: tuple[str, int], settings: ExperimentSettings) -> list[dict[str, Any]]:
    """Evaluate every method on one simulated table."""
    name, seed = reading_and_seed
    chains = simulate_reading(name, settings, seed)
    data, svd_data = build_comparison_data(name, chains)
    is_short = settings.choose_plan(SIMULATION_SIZES).is_short
    plan = shorten_plan(ComparisonPlan()) if is_short else ComparisonPlan()
    rows = []
    for method_name, method in make_methods(chains.stages, plan, seed).items():
        changed = use_features_only(method) if name in FEATURES_ONLY_READINGS else method
        errors = evaluate_method(changed, svd_data if method_name == "SVD" else data)
        rows.append({"reading": name, "run": seed, "method": method_name} | errors)
    return rows


def _average_by_reading(runs: pd.DataFrame) -> pd.DataFrame:
    """Average the errors over the runs of each reading."""
    parts = [
        average_runs(reading_runs).assign(reading=name)
        for name, reading_runs in runs.groupby("reading", sort=False)
    ]
    columns = ["reading", "method", "runs", "overall", "overall_se", "e01", "e02", "e12", "balanced"]
    return pd.concat(parts, ignore_index=True)[[*columns, "inconsistent", "alike"]]


def _compute_improvements_by_reading(runs: pd.DataFrame) -> pd.DataFrame:
    """Compute the improvements over the runs of each reading; ``reading`` is the first column."""
    parts = [
        compute_improvements(reading_runs, (RECOMMENDER, RECOMMENDER_COMMON_LEVEL)).assign(reading=name)
        for name, reading_runs in runs.groupby("reading", sort=False)
    ]
    improvements = pd.concat(parts, ignore_index=True)
    return improvements[["reading", *(name for name in improvements if name != "reading")]]


def _average_stage_shares(settings: ExperimentSettings, n_seeds: int) -> pd.DataFrame:
    """Average the fraction of rows that reach each stage, and the Bayes error, per reading."""
    rows = []
    for name in READINGS:
        tables = [simulate_reading(name, settings, seed) for seed in range(n_seeds)]
        shares = np.mean([chains.compute_stage_shares() for chains in tables], axis=0)
        row: dict[str, Any] = {"reading": name, "seeds": len(tables)}
        row |= {f"stage{t}": float(share) for t, share in enumerate(shares)}
        rows.append(
            row | {"bayes_error": float(np.mean([chains.compute_bayes_error("test") for chains in tables]))}
        )
    return pd.DataFrame(rows)


def _format_readings_run(table: pd.DataFrame) -> str:
    """List the readings that were run, and those that were not."""
    runs = table.groupby("reading", sort=False)["runs"].first()
    readings_run = "; ".join(f"{name} ({count})" for name, count in runs.items())
    skipped = [name for name in READINGS if name not in runs.index]
    not_run = f" Not run: {'; '.join(skipped)}." if skipped else ""
    return f"Readings run, with the number of seeds: {readings_run}.{not_run}"


def _format_remarks(tables: dict[str, pd.DataFrame]) -> tuple[str, ...]:
    """Format the remarks on the tables."""
    table = tables["simulation"].set_index("method")
    overall = table["overall"]
    implied = compute_implied_errors({name: float(overall[name]) for name in BASELINES})
    implied_errors = ", ".join(
        f"{name} {error:.3f}" for name, error in implied.items() if not math.isnan(error)
    )
    orders = [
        f"{name}: {format_order(reading_table)}"
        for name, reading_table in tables["readings"].groupby("reading", sort=False)
    ]
    inconsistent = table["inconsistent"]
    max_ours = inconsistent[list(_RECOMMENDERS)].max()
    others = ", ".join(f"{name} {inconsistent[name]:.2%}" for name in BASELINES)
    return (
        _format_readings_run(tables["readings"]),
        f"Errors of ours that the published improvements imply, by baseline: {implied_errors}.",
        f"Inconsistent rows: ours {max_ours:.2%}; {others}.",
        *(f"Order, {order}." for order in orders),
    )


SIMULATION_EXPERIMENT = Experiment(
    name="multistage",
    title="Chains of three stages: the recommender and five baselines on readings of the simulation",
    source="Dai, Shen and Pan, table 2",
    run=run_simulation,
    sizes=SIMULATION_SIZES,
    supported_settings=("repeats",),
)

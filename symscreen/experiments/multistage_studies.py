"""Studies of the multistage recommender: the simulation of Dai, Shen and Pan, and the article-sharing data.

`run_simulation` compares all methods with their full grids under every reading of the simulation. The quick
size runs only the main reading. `run_articles` compares them by nested cross-validation on the
article-sharing data, or on generated files of the same format.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from symscreen.backends import Threads, count_available_cores
from symscreen.experiments.base import Experiment, ExperimentOutcome, ExperimentSettings
from symscreen.experiments.multistage_methods import (
    FEATURES_ONLY_READINGS,
    FEATURES_READING,
    MAIN_READING,
    N_REPLICATIONS,
    READINGS,
    RECOMMENDER,
    RECOMMENDER_COMMON_LEVEL,
    SHOWN_COLUMNS,
    ComparisonData,
    ComparisonPlan,
    average_runs,
    build_comparison_data,
    compute_implied_errors,
    compute_improvements,
    evaluate_method,
    format_order,
    make_methods,
    shorten_plan,
    simulate_reading,
    use_features_only,
)
from symscreen.multistage.article_sharing import (
    STAGES,
    build_article_chains,
    generate_article_sharing,
    read_article_sharing,
)
from symscreen.multistage.baselines import BASELINES

if TYPE_CHECKING:
    from symscreen._typing import ProgressCallback
    from symscreen.multistage.article_sharing import ArticleSharingData


_N_FACTORS, _OUTER_FOLDS, _INNER_FOLDS = 7, 5, 3
_QUICK_SHARE = 0.006  # of the article-sharing data
_SHOWN_COLUMNS = ["method", "balanced", "se_balanced", "b01", "b02", "b12", "overall", "inconsistent"]


def run_articles(settings: ExperimentSettings) -> ExperimentOutcome:
    """Compare the methods by class-balanced error on users and articles.

    Parameters
    ----------
    settings : ExperimentSettings
        `data`: folder with ``shared_articles.csv`` and ``users_interactions.csv``. Without it, files with the
        same columns and counts are generated. The quick size uses a small share of them and 2 × 2 folds.

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
    if settings.data is not None:
        chains = read_article_sharing(settings.data)
    else:
        share = _QUICK_SHARE if settings.quick else 1.0
        chains = build_article_chains(*generate_article_sharing(share=share, random_state=settings.seed))
    plan = ComparisonPlan(_N_FACTORS, balanced=True, features="free", epochs=20)
    if settings.quick:
        plan = shorten_plan(replace(plan, features="tied"))
    folds = (2, 2) if settings.quick else (_OUTER_FOLDS, _INNER_FOLDS)
    runs = run_article_folds(chains, plan, folds, settings.seed, settings.report_progress)
    errors = average_runs(runs).sort_values("balanced", kind="stable", ignore_index=True)
    tables = {
        "articles": errors[_SHOWN_COLUMNS],
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
    on_progress: ProgressCallback,
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
    on_progress : callable
        Called with (outer folds done, outer folds).

    Returns
    -------
    data frame
        One row per outer fold and method.
    """
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    table, rows = chains.table, []
    features = {"user_features": chains.user_features, "item_features": chains.item_features}
    fold_index = _draw_folds(len(table), folds[0], [seed, 0])
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for fold in range(folds[0]):
            training = table[fold_index != fold].reset_index(drop=True)
            inner_index = _draw_folds(len(training), folds[1], [seed, 1 + fold])
            splits = [
                (training[inner_index != inner_fold], training[inner_index == inner_fold])
                for inner_fold in range(folds[1])
            ]
            data = ComparisonData(STAGES, training, splits, table[fold_index == fold], features)
            for name, method in make_methods(STAGES, plan, seed).items():
                rows.append({"run": fold, "method": name} | evaluate_method(method, data))
            on_progress(fold + 1, folds[0])
    return pd.DataFrame(rows)


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
    supported_settings=("data",),
)


_ARTICLE_SHARE = 0.03  # of the article-sharing data; the experiment multistage-articles uses all of them
_MAX_READING_SEEDS, _STAGE_SHARE_SEEDS = 10, 10  # simulated tables per reading


def run_simulation(settings: ExperimentSettings) -> ExperimentOutcome:
    """Compare the recommender with the baselines on simulated chains.

    Parameters
    ----------
    settings : ExperimentSettings
        `repeats`: number of seeds, 50 by default, of the main reading (chained, noise of 0.1 standard
        deviations, all pairs of 100 users and 100 items) and of the same with categorical features. Other
        readings have half as many seeds, at most 10. The quick size has 40 × 40 users and items, two seeds
        and small grids.

    Returns
    -------
    ExperimentOutcome
        ``simulation``: mean errors per pair of stages and overall, and the fraction of inconsistent rows.
        ``improvements``: of our methods over each baseline under each reading, published and paired.
        ``readings``: all methods under each reading, with the number of `runs`. ``positives``: the fraction
        of rows that reach each stage, and the Bayes error, under every reading. ``errors``: all errors,
        class-balanced too, with standard errors. ``articles``: class-balanced errors on generated
        article-sharing data. ``seeds``: every run. The first remark lists the readings that were run.
    """
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    repeats = settings.repeats or (2 if settings.quick else N_REPLICATIONS)
    n_other_seeds = max(1, min(repeats // 2, _MAX_READING_SEEDS))
    main_readings = (MAIN_READING,) if settings.quick else (MAIN_READING, FEATURES_READING)
    tasks = [(name, seed) for name in main_readings for seed in range(repeats)]
    if not settings.quick:
        others = [name for name in READINGS if name not in main_readings]
        tasks += [(name, seed) for name in others for seed in range(n_other_seeds)]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        backend, rows = Threads(settings.jobs or count_available_cores()), []
        for done, results in enumerate(
            backend.map(partial(_compare_methods, settings=settings), tasks), start=1
        ):
            rows += results
            settings.report_progress(done, len(tasks) + 1)
    runs = pd.DataFrame(rows)
    main = runs[runs["reading"] == MAIN_READING]
    tables = {
        "simulation": average_runs(main)[SHOWN_COLUMNS],
        "improvements": _compute_improvements_by_reading(runs),
        "readings": _average_by_reading(runs),
        "positives": _average_stage_shares(settings),
        "errors": average_runs(main),
    }
    articles, remark = _compare_on_articles(settings)
    settings.report_progress(len(tasks) + 1, len(tasks) + 1)
    return ExperimentOutcome(
        tables | {"articles": articles, "seeds": runs}, remarks=(*_format_remarks(tables), remark)
    )


def _compare_methods(reading_and_seed: tuple[str, int], settings: ExperimentSettings) -> list[dict[str, Any]]:
    """Evaluate every method on one simulated table."""
    name, seed = reading_and_seed
    chains = simulate_reading(name, settings, seed)
    data, svd_data = build_comparison_data(name, chains)
    plan = shorten_plan(ComparisonPlan()) if settings.quick else ComparisonPlan()
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
    columns = ["reading", "method", "runs", "overall", "se_overall", "e01", "e02", "e12", "balanced"]
    return pd.concat(parts, ignore_index=True)[[*columns, "inconsistent", "alike"]]


def _compute_improvements_by_reading(runs: pd.DataFrame) -> pd.DataFrame:
    """Compute the improvements over the runs of each reading; `reading` is the first column."""
    parts = [
        compute_improvements(reading_runs, (RECOMMENDER, RECOMMENDER_COMMON_LEVEL)).assign(reading=name)
        for name, reading_runs in runs.groupby("reading", sort=False)
    ]
    improvements = pd.concat(parts, ignore_index=True)
    return improvements[["reading", *(name for name in improvements if name != "reading")]]


def _average_stage_shares(settings: ExperimentSettings) -> pd.DataFrame:
    """Average the fraction of rows that reach each stage, and the Bayes error, per reading."""
    rows = []
    for name in READINGS:
        seeds = range(2 if settings.quick else _STAGE_SHARE_SEEDS)
        tables = [simulate_reading(name, settings, seed) for seed in seeds]
        shares = np.mean([chains.compute_stage_shares() for chains in tables], axis=0)
        row: dict[str, Any] = {"reading": name, "seeds": len(tables)}
        row |= {f"stage{t}": float(share) for t, share in enumerate(shares)}
        rows.append(
            row | {"bayes_error": float(np.mean([chains.compute_bayes_error("test") for chains in tables]))}
        )
    return pd.DataFrame(rows)


def _compare_on_articles(settings: ExperimentSettings) -> tuple[pd.DataFrame, str]:
    """Compare the methods on a small share of generated article data; return the errors and a remark."""
    share, folds = (_QUICK_SHARE, (2, 2)) if settings.quick else (_ARTICLE_SHARE, (5, 3))
    plan = ComparisonPlan(7, balanced=True, features="tied", depths="few", epochs=30, grid_step=2)
    chains = build_article_chains(*generate_article_sharing(share=share, random_state=settings.seed))
    plan = shorten_plan(plan) if settings.quick else plan
    runs = run_article_folds(chains, plan, folds, settings.seed, lambda done, total: None)  # noqa: ARG005
    table = average_runs(runs).sort_values("balanced", kind="stable", ignore_index=True)
    return table, format_article_remark(chains, table, is_real=False)


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
    max_ours = inconsistent[[name for name in table.index if name.startswith("ours")]].max()
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
    supported_settings=("repeats",),
)

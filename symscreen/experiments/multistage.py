"""Chains of three stages: the simulation of Dai, Shen and Pan as it may be read, and the rivals.

Every method has its whole grid under every reading. The quick size runs the main reading alone.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from symscreen.backends import Threads, available_cores
from symscreen.experiments.base import Experiment, Outcome, Settings
from symscreen.experiments.multistage_articles import article_remark, article_runs
from symscreen.experiments.multistage_figures import SHOWN, improvements, means, order_of
from symscreen.experiments.multistage_methods import COMMON, OURS, Plan, judged, methods, shortened
from symscreen.experiments.multistage_published import REPLICATIONS, implied_errors
from symscreen.experiments.multistage_readings import (
    BY_FEATURES,
    MAIN,
    READINGS,
    WITH_FEATURES,
    cases,
    simulated,
    told_by_features,
)
from symscreen.multistage.article_sharing import article_chains
from symscreen.multistage.generated_articles import generate_article_sharing
from symscreen.multistage.rivals import RIVALS

__all__ = ["EXPERIMENT", "READINGS", "run"]

_SHARE, _QUICK_SHARE = 0.03, 0.006  # of the article-sharing data; multistage-articles has them whole
_MOST_FOR_READINGS, _SEEDS_FOR_SHARES = 10, 10


def run(settings: Settings) -> Outcome:
    """Compare the recommender with its rivals on generated chains.

    Parameters
    ----------
    settings : Settings
        `repeats`: seeds of the main reading (chained, 0.1 a standard deviation, every one of 100 users meets
        every one of 100 items), and of the same with categorical features, 50 by default; other readings have
        half as many, 10 at most. The quick size has 40 × 40, two seeds, and small grids.

    Returns
    -------
    Outcome
        ``simulation``: mean errors for each pair of stages and overall, and the share of inconsistent rows;
        ``errors`` has all figures, class-balanced too, with their standard errors. ``improvements``: of ours
        over each rival under each reading, published and paired. ``readings``: all methods under each reading
        that was run, with the number of `runs`. ``positives``: the share that reaches each stage, and the
        Bayes error, under every reading. ``articles``: class-balanced errors on generated article-sharing
        data. ``seeds``: every run. The first remark says which readings were run.
    """
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    repeats = settings.repeats or (2 if settings.quick else REPLICATIONS)
    few = max(1, min(repeats // 2, _MOST_FOR_READINGS))
    often = (MAIN,) if settings.quick else (MAIN, WITH_FEATURES)
    asked = [(name, seed) for name in often for seed in range(repeats)]
    if not settings.quick:
        asked += [(name, seed) for name in READINGS if name not in often for seed in range(few)]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        backend, rows = Threads(settings.jobs or available_cores()), []
        for done, found in enumerate(backend.map(partial(_compared, settings=settings), asked), start=1):
            rows += found
            settings.step(done, len(asked) + 1)
    runs = pd.DataFrame(rows)
    main = runs[runs["reading"] == MAIN]
    tables = {
        "simulation": means(main)[SHOWN],
        "improvements": _improvements(runs),
        "readings": _by_reading(runs),
        "positives": _positives(settings),
        "errors": means(main),
    }
    articles, remark = _articles(settings)
    settings.step(len(asked) + 1, len(asked) + 1)
    return Outcome(tables | {"articles": articles, "seeds": runs}, remarks=(*_remarks(tables), remark))


def _compared(asked: tuple[str, int], settings: Settings) -> list[dict[str, Any]]:
    """Run every method on one generated table."""
    name, seed = asked
    made = simulated(name, settings, seed)
    case, of_two_names = cases(name, made)
    plan = shortened(Plan()) if settings.quick else Plan()
    rows = []
    for method, one in methods(made.stages, plan, seed).items():
        used = told_by_features(one) if name in BY_FEATURES else one
        found = judged(used, of_two_names if method == "SVD" else case)
        rows.append({"reading": name, "run": seed, "method": method} | found)
    return rows


def _by_reading(runs: pd.DataFrame) -> pd.DataFrame:
    parts = [means(own).assign(reading=name) for name, own in runs.groupby("reading", sort=False)]
    columns = ["reading", "method", "runs", "overall", "se_overall", "e01", "e02", "e12", "balanced"]
    return pd.concat(parts, ignore_index=True)[[*columns, "inconsistent", "alike"]]


def _improvements(runs: pd.DataFrame) -> pd.DataFrame:
    parts = [
        improvements(own, (OURS, COMMON)).assign(reading=name)
        for name, own in runs.groupby("reading", sort=False)
    ]
    found = pd.concat(parts, ignore_index=True)
    return found[["reading", *(name for name in found if name != "reading")]]


def _positives(settings: Settings) -> pd.DataFrame:
    rows = []
    for name in READINGS:
        seeds = range(2 if settings.quick else _SEEDS_FOR_SHARES)
        made = [simulated(name, settings, seed) for seed in seeds]
        shares = np.mean([one.positives() for one in made], axis=0)
        row: dict[str, Any] = {"reading": name, "seeds": len(made)}
        row |= {f"stage{t}": float(share) for t, share in enumerate(shares)}
        rows.append(row | {"bayes_error": float(np.mean([one.bayes_error("test") for one in made]))})
    return pd.DataFrame(rows)


def _articles(settings: Settings) -> tuple[pd.DataFrame, str]:
    share, folds = (_QUICK_SHARE, (2, 2)) if settings.quick else (_SHARE, (5, 3))
    plan = Plan(7, balanced=True, features="tied", depths="few", epochs=30, thin=2)
    chains = article_chains(*generate_article_sharing(share=share, random_state=settings.seed))
    plan = shortened(plan) if settings.quick else plan
    runs = article_runs(chains, plan, folds, settings.seed, lambda done, total: None)  # noqa: ARG005
    table = means(runs).sort_values("balanced", kind="stable", ignore_index=True)
    return table, article_remark(chains, table, real=False)


def _readings_run(table: pd.DataFrame) -> str:
    """Say which readings were run, and which not."""
    runs = table.groupby("reading", sort=False)["runs"].first()
    told = "; ".join(f"{name} ({count})" for name, count in runs.items())
    rest = [name for name in READINGS if name not in runs.index]
    left = f" Not run: {'; '.join(rest)}." if rest else ""
    return f"Readings run, with the number of seeds: {told}.{left}"


def _remarks(tables: dict[str, pd.DataFrame]) -> tuple[str, ...]:
    table = tables["simulation"].set_index("method")
    overall = table["overall"]
    implied = implied_errors({name: float(overall[name]) for name in RIVALS})
    told = ", ".join(f"{name} {error:.3f}" for name, error in implied.items() if not math.isnan(error))
    orders = [f"{name}: {order_of(own)}" for name, own in tables["readings"].groupby("reading", sort=False)]
    inconsistent = table["inconsistent"]
    ours = inconsistent[[name for name in table.index if name.startswith("ours")]].max()
    others = ", ".join(f"{name} {inconsistent[name]:.2%}" for name in RIVALS)
    return (
        _readings_run(tables["readings"]),
        f"Error that the published improvements ask of ours, from our runs of the rivals: {told}.",
        f"Inconsistent rows: ours {ours:.2%}; {others}.",
        *(f"Order, {one}." for one in orders),
    )


EXPERIMENT = Experiment(
    name="multistage",
    title="Chains of three stages: the recommender and five rivals on the simulation as it may be read",
    source="Dai, Shen and Pan, table 2",
    run=run,
    takes=("repeats",),
)

"""Figure 6 of Luo and Li (2024): three features chosen on the additive model, and the time of choosing."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from symscreen import datasets
from symscreen.evaluation import aip, choose, mean_and_error
from symscreen.experiments.ablation import ORDERS, SCREENERS, screening
from symscreen.experiments.base import Experiment, Outcome, Settings
from symscreen.pipeline.screening import screen
from symscreen.report.curves import plain_style
from symscreen.response import Response
from symscreen.screeners import JointScreener, Shown, screeners_asked
from symscreen.statistics.order import order_features

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from symscreen.screeners import AnyScreener

__all__ = ["EXPERIMENT", "run"]

_NAMES = ("t0", "bart", "lasso", "scad", "stepwise")  # the paper's
_VARIANCES = (0.0, 0.01, 0.1, 1.0)
_ROWS = (50, 100, 200)
_QUICK_VARIANCES, _QUICK_ROWS = (0.0, 0.1), (100,)
_REPEATS, _QUICK_REPEATS = 50, 1
_TIMED = 5  # screenings of the middle time
_STYLES = (("o", "-"), ("s", "--"), ("^", "-."), ("D", ":"), ("v", (0, (5, 1, 1, 1))))


def run(settings: Settings) -> Outcome:
    """Let each method choose three features, and count how many are correct; time each on the same matrix.

    Parameters
    ----------
    settings : Settings
        `repeats` tables for each order, noise variance and number of rows, 50 by default.

    Returns
    -------
    Outcome
        ``beside``: one row an order, number of rows and noise variance, one column a screener.
        ``aip``: for each order, rows, noise variance and screener the average inclusion probability (§6.2)
        with its standard error; ``seconds``: the median time to score the 24 or 42 features, which differs
        from run to run. A picture for each order.
    """
    variances = _QUICK_VARIANCES if settings.quick else _VARIANCES
    sizes = _QUICK_ROWS if settings.quick else _ROWS
    cells = [(order, n, variance) for order in ORDERS for n in sizes for variance in variances]
    repeats = settings.repeats or (_QUICK_REPEATS if settings.quick else _REPEATS)
    rows = []
    for place, (order, n, variance) in enumerate(cells):
        found: dict[str, list[float]] = {name: [] for name in _NAMES}
        for number in range(repeats):
            seed = settings.seed + number
            data = datasets.additive(n=n, noise_variance=variance, seed=seed)
            each = screening(order, data, _NAMES, seed=seed, jobs=settings.jobs)
            for name in _NAMES:
                found[name].append(aip(choose(each.losses[name]), each.correct))
            settings.step(place * repeats + number + 1, len(cells) * repeats)
        for name, shares in found.items():
            mean, error = mean_and_error(shares)
            cell = {"order": order, "rows": n, "noise_variance": variance, "screener": name}
            rows.append(cell | {"repeats": len(shares), "aip": mean, "aip_se": error})
    frame = pd.DataFrame(rows)
    tables = {"beside": _beside(frame), "aip": frame, "seconds": _seconds(settings)}
    pictures = {order: partial(_picture, tables["aip"], order) for order in ORDERS}
    return Outcome(tables, pictures, _remarks(tables))


def _beside(aip: pd.DataFrame) -> pd.DataFrame:
    """Set the methods beside each other."""
    rows = []
    for (order, n, variance), cell in aip.groupby(["order", "rows", "noise_variance"]):
        means = dict(zip(cell["screener"], cell["aip"], strict=True))
        rows.append({"order": order, "rows": n, "noise_variance": variance, **means})
    return pd.DataFrame(rows)


def _seconds(settings: Settings) -> pd.DataFrame:
    """Time each method on one matrix of features, on one thread."""
    rows = []
    for order in ORDERS:
        data = datasets.additive(n=100, noise_variance=0.01, seed=settings.seed)
        result = screen(data.frame, operators="ablation", layers=order, pool="strict", top="all")
        by_response = np.argsort(data.frame["target"].to_numpy(), kind="stable")
        values = np.ascontiguousarray(result.transform(data.frame).to_numpy()[by_response].T)
        response = Response(data.frame["target"].to_numpy()[by_response])
        for one in screeners_asked([SCREENERS[name] for name in _NAMES]):
            times = []
            for _ in range(1 if settings.quick else _TIMED):
                start = time.perf_counter()
                _score(one, values, response, settings.seed)
                times.append(time.perf_counter() - start)
            rows.append(
                {
                    "order": order,
                    "features": len(values),
                    "screener": one.name,
                    "seconds": float(np.median(times)),
                }
            )
    return pd.DataFrame(rows)


def _score(one: AnyScreener, values: np.ndarray, response: Response, seed: int) -> None:
    if isinstance(one, JointScreener):
        one.verdict(Shown(values, response, seed=seed))
    else:
        one.statistic(order_features(values), response)


def _remarks(tables: dict[str, pd.DataFrame]) -> tuple[str, ...]:
    mean = tables["aip"].groupby("screener")["aip"].mean().sort_values(ascending=False)
    seconds = tables["seconds"].groupby("screener")["seconds"].mean().sort_values()
    rule = (
        "Three features each, those of least loss; what ties at the edge counts in shares. T0: least T0, "
        "positive sign. BART: largest inclusion. LASSO, SCAD: largest standardised coefficient at the "
        "cross-validated λ, then the first on the path. Stepwise: largest standardised coefficient of those "
        "selected forward, then the order of entry."
    )
    return (
        rule,
        "Mean over all cells: " + ", ".join(f"{name} {value:.3f}" for name, value in mean.items()) + ".",
        "Seconds for 24 and 42 features of 100 rows: "
        + ", ".join(f"{name} {value:.2g}" for name, value in seconds.items())
        + ". The paper: T0 is the fastest, then LASSO; BART is among the slowest. "
        f"Here {seconds.index[0]} is the fastest, {seconds.index[-1]} the slowest.",
    )


def _picture(table: pd.DataFrame, order: str) -> Figure:
    """Draw the average inclusion probability against the noise, one panel a number of rows."""
    own = table[table["order"] == order]
    sizes, variances = own["rows"].unique(), own["noise_variance"].unique()
    with plain_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(max(5.6, 2.8 * len(sizes) + 0.4), 3.6), dpi=150, layout="constrained")
        panels = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
        for panel, n in zip(panels, sizes, strict=True):
            for name, (marker, dashes) in zip(_NAMES, _STYLES, strict=True):
                here = own[(own["rows"] == n) & (own["screener"] == name)]
                panel.errorbar(
                    range(len(variances)),
                    here["aip"],
                    yerr=here["aip_se"],
                    marker=marker,
                    linestyle=dashes,
                    label=name,
                    capsize=2,
                    clip_on=False,
                )
            panel.set_xticks(range(len(variances)), [f"{variance:g}" for variance in variances])
            panel.set_ylim(0.0, 1.03)
            panel.set_title(f"n = {n}")
            panel.set_xlabel("noise variance")
        panels[0].set_ylabel("average inclusion probability")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(_NAMES), frameon=False)
        figure.suptitle(f"layers {order}")
    return figure


EXPERIMENT = Experiment(
    name="figure6",
    title="Three features chosen on the additive model by five methods, and the time of choosing",
    source="Luo and Li 2024, figure 6 and §6.2",
    run=run,
    extras=("bart",),
    takes=("repeats",),
)

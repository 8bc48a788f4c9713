"""Ranking median regression on simulated data: Clémençon and others (2017), §5.1 and table 1.

The paper does not say what partition it has; ours is described in `symscreen.ranking.generators.piecewise`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from symscreen.backends import Threads, available_cores
from symscreen.evaluation import mean_and_error
from symscreen.experiments.base import Experiment, Outcome, Settings
from symscreen.experiments.rmr_baseline import cluster_modes
from symscreen.ranking import ConsensusRankingTree, KemenyNeighbors, kendall_distance
from symscreen.ranking.generators import mallows, mallows_mean_distance, piecewise_partition
from symscreen.ranking.generators.piecewise import CELLS, SETTINGS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.ranking.generators import Partition

    Values = NDArray[np.float64]

__all__ = ["EXPERIMENT", "run"]

_LABELS = (3, 5, 8)  # n
_PHI = {"constant": np.inf, "mallows 2": 2.0, "mallows 1": 1.0}
_ROWS, _TRAIN = 1000, 0.7  # N
_DEPTH, _LEAF, _NEIGHBORS = 3, 0.1, 5
_REPEATS, _QUICK_REPEATS, _QUICK_LABELS = 50, 1, (3, 5)
_METHODS = ("crit", "knn", "baseline")


@dataclass(frozen=True, slots=True)
class _Trial:
    setting: int
    labels: int
    repeat: int


def run(settings: Settings) -> Outcome:
    """Draw partitions and rankings, and let three methods learn them.

    Parameters
    ----------
    settings : Settings
        `repeats` trials, 50 by default, for each of three settings and three numbers of labels. The quick
        size has one trial each, and no more than 5 labels.

    Returns
    -------
    Outcome
        ``risk``: by set, setting and number of labels the mean distance of a test row's ranking from the
        prediction, on average over trials, with standard errors; and what the true medians have, below which
        no rule can be expected. ``recovered``: the share of test rows for which a method predicts the true
        median of their cell.
    """
    from threadpoolctl import threadpool_limits

    repeats = settings.repeats or (_QUICK_REPEATS if settings.quick else _REPEATS)
    labels = _QUICK_LABELS if settings.quick else _LABELS
    trials = [_Trial(*each) for each in product(SETTINGS, labels, range(repeats))]
    rows: list[dict[str, Any]] = []
    with threadpool_limits(1):
        backend = Threads(settings.jobs or available_cores())
        for number, found in enumerate(backend.map(lambda trial: _tried(trial, settings.seed), trials)):
            rows += found
            settings.step(number + 1, len(trials))
    frame = pd.DataFrame(rows)
    tables = {"risk": _risk(frame), "recovered": _recovered(frame)}
    return Outcome(tables, remarks=_remarks(tables))


def _tried(trial: _Trial, seed: int) -> list[dict[str, Any]]:
    """Draw one trial's partition, inputs and three sets, and fit all methods on each."""
    rng = np.random.default_rng([seed, trial.setting, trial.labels, trial.repeat])
    partition = piecewise_partition(trial.setting, trial.labels, rng)
    x = partition.inputs(_ROWS, rng)
    truth = partition.truth(x)
    order = rng.permutation(_ROWS)
    train, test = np.split(order, [int(_TRAIN * _ROWS)])
    rows = []
    for name, phi in _PHI.items():
        ranks = mallows(truth, phi, _ROWS, rng)
        for method in _METHODS:
            predicted = _predicted(method, partition, (x[train], ranks[train], x[test]), seed + trial.repeat)
            risk = kendall_distance(predicted, ranks[test]).mean()
            same = (predicted == truth[test]).all(axis=1).mean()
            cell = {"set": name, "setting": trial.setting, "labels": trial.labels, "repeat": trial.repeat}
            rows.append(cell | {"method": method, "risk": float(risk), "recovered": float(same)})
    return rows


def _predicted(method: str, partition: Partition, rows: tuple[Values, Values, Values], seed: int) -> Values:
    """Learn from inputs and rankings, and predict rankings at other inputs."""
    x, ranks, new = rows
    if method == "crit":
        tree = ConsensusRankingTree(
            max_depth=_DEPTH,
            min_samples_leaf=int(_LEAF * len(x)),
            categorical_features=np.flatnonzero(partition.categorical).tolist() or None,
        )
        return np.asarray(tree.fit(x, ranks).predict(new))
    near, new_near = _coordinates(partition, x), _coordinates(partition, new)
    if method == "knn":
        return np.asarray(KemenyNeighbors(n_neighbors=_NEIGHBORS).fit(near, ranks).predict(new_near))
    return cluster_modes(near, ranks, CELLS, seed).predict(new_near)


def _coordinates(partition: Partition, x: Values) -> Values:
    """Give categorical features one coordinate a level: distances between codes mean nothing."""
    columns: list[Values] = []
    for column, codes in zip(x.T, partition.sides, strict=True):
        levels = range(codes.size)
        columns += [(column == level).astype(np.float64) for level in levels] if codes.size else [column]
    return np.stack(columns, axis=1)


def _risk(frame: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for setting, labels, name in product(SETTINGS, frame["labels"].unique(), _PHI):
        own = frame[(frame["setting"] == setting) & (frame["labels"] == labels) & (frame["set"] == name)]
        row = {"set": name, "setting": setting, "labels": labels}
        errors = {}
        for method in _METHODS:
            risks = own.loc[own["method"] == method, "risk"].to_numpy(dtype=np.float64)
            row[method], errors[f"{method}_se"] = mean_and_error(risks)
        rows.append(row | {"true_medians": mallows_mean_distance(_PHI[name], int(labels))} | errors)
    return pd.DataFrame(rows)


def _recovered(frame: pd.DataFrame) -> pd.DataFrame:
    keys = ["setting", "labels", "set"]
    table = frame.pivot_table("recovered", keys, "method", sort=False).reset_index()
    table.columns.name = None
    return table[["set", "setting", "labels", *_METHODS]]


def _remarks(tables: dict[str, pd.DataFrame]) -> tuple[str, ...]:
    risk, recovered = tables["risk"], tables["recovered"]
    wins = [
        f"{name}: {int((own['crit'] < own['knn']).sum())} and {int((own['crit'] < own['baseline']).sum())}"
        for name, own in risk.groupby("set", sort=False)
    ]
    shares = [
        f"{name} " + ", ".join(f"{method} {own[method].mean():.2f}" for method in _METHODS)
        for name, own in recovered.groupby("set", sort=False)
    ]
    first = risk[(risk["setting"] == 1) & (risk["set"] == "mallows 2")]
    asked = ", ".join(
        f"{row['labels']} labels {row['crit']:.3f}, {row['knn']:.3f}, {row['baseline']:.3f}"
        for row in first.to_dict("records")
    )
    reading = (
        "The partition is ours (a grid of two by three), for the paper names none: its figures cannot be met "
        "one by one. Its words can: CRIT and k-NN recover the true partition where φ is about 2 or more."
    )
    cells = len(risk) // len(_PHI)
    return (
        reading,
        f"Setting 1, φ = 2, risk of CRIT, k-NN and the baseline: {asked}.",
        f"Of {cells} cells CRIT has a lower risk than k-NN and than the baseline in: {'; '.join(wins)}.",
        f"Share of test rows with the true median predicted: {'; '.join(shares)}.",
    )


EXPERIMENT = Experiment(
    name="rmr-simulated",
    title="Ranking median regression on six cells: CRIT, nearest neighbours, and clusters with Plackett-Luce",
    source="Clémençon, Korba and Sibony 2018, §5.1 and table 1",
    run=run,
    takes=("repeats",),
)

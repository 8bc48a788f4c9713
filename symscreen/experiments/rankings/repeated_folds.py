"""Repeated cross-validation of learners of rankings, as Fotakis and others (2022), appendix B, have it.

Every fold is the test set once; a test row is judged by Kendall's coefficient of the prediction and the true
ranking; the figures are the mean and the standard deviation, over all folds of all repeats, of a fold's mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.label_ranking import kendall_tau, order_list_tau

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from symscreen._typing import Values
    from symscreen.backends import Threads

    LearnerFactory = Callable[[int], Any]

__all__ = ["FoldScores", "RankedSet", "cross_validate"]


@dataclass(frozen=True, eq=False)
class RankedSet:
    """Rows to learn from and to be judged on.

    Parameters
    ----------
    x : float64 array, shape (n, d)
        Inputs.
    observed : float64 array, shape (n, k)
        Complete rankings to train on.
    truth : float64 array, shape (n, k)
        Complete rankings to be judged on: the observed ones, or those without noise.
    """

    x: Values
    observed: Values
    truth: Values


@dataclass(frozen=True, slots=True)
class FoldScores:
    """Means and standard deviations over folds.

    Parameters
    ----------
    tau, tau_sd : float
        Of Kendall's coefficient of rank vectors.
    order_list_tau, order_list_tau_sd : float
        Of the coefficient of lists of labels in order, which the published tables have.
    """

    tau: float
    tau_sd: float
    order_list_tau: float
    order_list_tau_sd: float


def cross_validate(
    data: RankedSet,
    learners: Mapping[str, LearnerFactory],
    *,
    folds: int,
    repeats: int,
    seed: int,
    backend: Threads,
) -> dict[str, FoldScores]:
    """Judge learners on the same folds.

    Parameters
    ----------
    data : RankedSet
        The rows.
    learners : mapping of str to callable
        By name: from a seed to an estimator that has not been fitted.
    folds, repeats : int
        Of how many folds, divided how often.
    seed : int
        Of the divisions; a learner's is this one, plus the number of the fold.
    backend : Threads
        Where a fold of a learner is one task.

    Returns
    -------
    dict of str to FoldFigures
        By name.
    """
    from sklearn.model_selection import RepeatedKFold

    splitter = RepeatedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
    splits = list(splitter.split(data.x))
    tasks = list(product(learners, range(len(splits))))

    def evaluate_fold(task: tuple[str, int]) -> tuple[float, float]:
        name, number = task
        train, test = splits[number]
        model = learners[name](seed + number).fit(data.x[train], data.observed[train])
        predicted, truth = model.predict(data.x[test]), data.truth[test]
        return float(kendall_tau(predicted, truth).mean()), float(order_list_tau(predicted, truth).mean())

    found = np.array(list(backend.map(evaluate_fold, tasks))).reshape(len(learners), len(splits), 2)
    means, spreads = found.mean(axis=1), found.std(axis=1)
    return {
        name: FoldScores(float(mean[0]), float(spread[0]), float(mean[1]), float(spread[1]))
        for name, mean, spread in zip(learners, means, spreads, strict=True)
    }

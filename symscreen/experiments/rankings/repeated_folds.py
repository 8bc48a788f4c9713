"""Repeated cross-validation of label-ranking learners (Fotakis and others 2022, appendix B).

Every fold is the test set once. A test row is scored by Kendall's coefficient of the predicted and the true
ranking. The results are the mean and the standard deviation of the fold means, over all folds of all repeats.
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


@dataclass(frozen=True, eq=False)
class RankedSet:
    """A label-ranking data set with n rows, d inputs and k labels.

    Parameters
    ----------
    x : float64 array, shape (n, d)
        Inputs.
    observed : float64 array, shape (n, k)
        Complete rankings (ranks of the labels) for training.
    truth : float64 array, shape (n, k)
        Complete rankings for evaluation: the observed ones, or those without noise.
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
        Kendall's coefficient of rank vectors.
    order_list_tau, order_list_tau_sd : float
        Kendall's coefficient of order lists, which the published tables report.
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
    """Evaluate learners on the same folds.

    Parameters
    ----------
    data : RankedSet
        The data.
    learners : mapping of str to callable
        Functions by name from a seed to an unfitted estimator.
    folds, repeats : int
        Number of folds, and number of divisions into folds.
    seed : int
        Seed of the divisions. The seed of a learner is this plus the index of the fold.
    backend : Threads
        Backend that runs one task per learner and fold.

    Returns
    -------
    dict of str to FoldScores
        Scores by learner.
    """
    from sklearn.model_selection import RepeatedKFold

    splitter = RepeatedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
    splits = list(splitter.split(data.x))
    tasks = list(product(learners, range(len(splits))))

    def evaluate_fold(task: tuple[str, int]) -> tuple[float, float]:
        name, fold = task
        train, test = splits[fold]
        model = learners[name](seed + fold).fit(data.x[train], data.observed[train])
        predicted, truth = model.predict(data.x[test]), data.truth[test]
        return float(kendall_tau(predicted, truth).mean()), float(order_list_tau(predicted, truth).mean())

    scores = np.array(list(backend.map(evaluate_fold, tasks))).reshape(len(learners), len(splits), 2)
    means, deviations = scores.mean(axis=1), scores.std(axis=1)
    return {
        name: FoldScores(float(mean[0]), float(deviation[0]), float(mean[1]), float(deviation[1]))
        for name, mean, deviation in zip(learners, means, deviations, strict=True)
    }

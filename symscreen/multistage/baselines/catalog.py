"""The baselines by name, with the grids over which the paper tunes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symscreen.errors import OptionError
from symscreen.messages import suggest
from symscreen.multistage.baselines.matrix_factorization import StagePairFactors
from symscreen.multistage.baselines.stagewise_classifiers import (
    OrdinalStageSVM,
    StagePairClassifier,
    make_boosted_trees,
    make_linear_svm,
    make_relu_network,
)
from symscreen.multistage.tuning import search_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from symscreen.multistage.base import ChainEstimator
    from symscreen.multistage.tuning import TuningResult


_STRENGTH_GRID = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0, 500.0)


@dataclass(frozen=True)
class Baseline:
    """A baseline of the paper.

    Parameters
    ----------
    create : callable
        Function that returns an unfitted estimator.
    parameter : str
        Name of the tuned parameter.
    grid : tuple
        Values of the parameter in the paper.
    """

    create: Callable[[], ChainEstimator]
    parameter: str
    grid: tuple[Any, ...]

    def make(self, stages: Sequence[str], **options: Any) -> ChainEstimator:
        """Make an unfitted estimator of some stages with some parameters."""
        model: ChainEstimator = self.create().set_params(stages=stages, **options)
        return model


def _make_boosted_trees_baseline() -> StagePairClassifier:
    return StagePairClassifier(learner=make_boosted_trees())


def _make_linear_svm_baseline() -> StagePairClassifier:
    return StagePairClassifier(learner=make_linear_svm())


def _make_relu_network_baseline() -> StagePairClassifier:
    return StagePairClassifier(learner=make_relu_network())


BASELINES: Mapping[str, Baseline] = {
    "SVD": Baseline(StagePairFactors, "strength", _STRENGTH_GRID),
    "GradBoost": Baseline(
        _make_boosted_trees_baseline,
        "learner__max_features",
        (0.001, 0.005, 0.2, 0.4, 0.6, 0.8, 1.0),
    ),
    "SVM": Baseline(_make_linear_svm_baseline, "learner__C", _STRENGTH_GRID),
    "DeepNN": Baseline(
        _make_relu_network_baseline,
        "learner__hidden_layer_sizes",
        tuple((32,) * depth for depth in (1, 2, 3, 5, 7, 9, 11)),
    ),
    "OSVM": Baseline(OrdinalStageSVM, "cost", _STRENGTH_GRID),
}


def list_baseline_settings(name: str, values: Sequence[Any] | None = None) -> list[dict[str, Any]]:
    """List the settings of a baseline's grid.

    Parameters
    ----------
    name : str
        Key of `BASELINES`.
    values : sequence, optional
        Values of its parameter. Default: those of the paper.

    Returns
    -------
    list of dict
        One setting per value.

    Raises
    ------
    OptionError
        If the name is unknown.

    Examples
    --------
    >>> list_baseline_settings("SVM", [1.0, 5.0])
    [{'learner__C': 1.0}, {'learner__C': 5.0}]
    """
    if name not in BASELINES:
        raise OptionError(f"unknown baseline {name!r}{suggest(name, BASELINES)}")
    baseline = BASELINES[name]
    return [{baseline.parameter: value} for value in (baseline.grid if values is None else values)]


def tune_baseline(
    name: str,
    stages: Sequence[str],
    training: pd.DataFrame,
    validation: pd.DataFrame,
    *,
    values: Sequence[Any] | None = None,
    user_features: pd.DataFrame | None = None,
    item_features: pd.DataFrame | None = None,
    n_jobs: int | None = None,
    **options: Any,
) -> TuningResult:
    """Fit a baseline with every value of its grid and select the one with the smallest error over all pairs.

    Parameters
    ----------
    name : {"SVD", "GradBoost", "SVM", "DeepNN", "OSVM"}
        Name of the baseline.
    stages : sequence of str
        Names of the stages in order.
    training, validation, user_features, item_features, n_jobs
        See `tune`.
    values : sequence, optional
        Values of its parameter. Default: those of the paper.
    **options
        Parameters of the estimator, such as ``class_weight`` and ``random_state``.

    Returns
    -------
    TuningResult
        The best model and all errors. If there is a tie, the first value wins.

    Raises
    ------
    OptionError
        If the name is unknown or there are no values to try.

    Examples
    --------
    >>> from symscreen.multistage import simulate_chains
    >>> chains = simulate_chains(n_users=20, n_items=20, random_state=0)
    >>> tables = chains.select_part("training"), chains.select_part("validation")
    >>> result = tune_baseline("OSVM", chains.stages, *tables, values=[0.1, 1.0], random_state=0)
    >>> result.table.columns.tolist(), len(result.table)
    (['cost', 'error'], 2)
    """
    settings = list_baseline_settings(name, values)
    model = BASELINES[name].make(stages, **options)
    features = {"user_features": user_features, "item_features": item_features}
    return search_settings(model, settings, [(training, validation)], n_jobs=n_jobs, **features)

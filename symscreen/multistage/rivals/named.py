"""The rivals by name, with the grids over which the paper tunes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symscreen.errors import OptionError, nearest
from symscreen.multistage.rivals.boosting import boosted_trees
from symscreen.multistage.rivals.factors import StagePairFactors
from symscreen.multistage.rivals.network import relu_network
from symscreen.multistage.rivals.ordinal import OrdinalStageSVM
from symscreen.multistage.rivals.pairwise import StagePairClassifier
from symscreen.multistage.rivals.svm import linear_svm
from symscreen.multistage.tuning import search, tuned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from symscreen.multistage.rivals.base import ChainRival
    from symscreen.multistage.tuning import Tuned

__all__ = ["RIVALS", "Rival", "rival_settings", "tune_rival"]

_STRENGTHS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0, 500.0)


@dataclass(frozen=True)
class Rival:
    """One of the paper's.

    Parameters
    ----------
    make : callable
        Stages and options to an estimator of chains.
    parameter : str
        What is tuned.
    grid : tuple
        Its values.
    """

    make: Callable[..., ChainRival]
    parameter: str
    grid: tuple[Any, ...]


def _svm(stages: Sequence[str], **more: Any) -> ChainRival:
    return StagePairClassifier(stages, learner=linear_svm(), **more)


def _boosting(stages: Sequence[str], **more: Any) -> ChainRival:
    return StagePairClassifier(stages, learner=boosted_trees(), **more)


def _network(stages: Sequence[str], **more: Any) -> ChainRival:
    return StagePairClassifier(stages, learner=relu_network(), **more)


def _factors(stages: Sequence[str], *, random_state: Any = None, **more: Any) -> ChainRival:  # noqa: ARG001
    return StagePairFactors(stages, **more)


RIVALS: Mapping[str, Rival] = {
    "SVD": Rival(_factors, "strength", _STRENGTHS),
    "GradBoost": Rival(_boosting, "learner__max_features", (0.001, 0.005, 0.2, 0.4, 0.6, 0.8, 1.0)),
    "SVM": Rival(_svm, "learner__C", _STRENGTHS),
    "DeepNN": Rival(
        _network, "learner__hidden_layer_sizes", tuple((32,) * depth for depth in (1, 2, 3, 5, 7, 9, 11))
    ),
    "OSVM": Rival(OrdinalStageSVM, "cost", _STRENGTHS),
}


def rival_settings(name: str, values: Sequence[Any] | None = None) -> list[dict[str, Any]]:
    """List the settings of a rival's grid.

    Parameters
    ----------
    name : str
        A key of `RIVALS`.
    values : sequence, optional
        Of its parameter; the paper's by default.

    Returns
    -------
    list of dict
        One a value.

    Raises
    ------
    OptionError
        If the name is unknown.

    Examples
    --------
    >>> rival_settings("SVM", [1.0, 5.0])
    [{'learner__C': 1.0}, {'learner__C': 5.0}]
    """
    if name not in RIVALS:
        raise OptionError(f"there is no rival {name!r}{nearest(name, RIVALS)}")
    rival = RIVALS[name]
    return [{rival.parameter: value} for value in (rival.grid if values is None else values)]


def tune_rival(
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
) -> Tuned:
    """Fit a rival with every value of its grid, and keep the one that errs least over all pairs.

    Parameters
    ----------
    name : {"SVD", "GradBoost", "SVM", "DeepNN", "OSVM"}
        Which.
    stages : sequence of str
        The stages.
    training, validation, user_features, item_features, n_jobs
        As for `tune`.
    values : sequence, optional
        Of the rival's parameter; the paper's grid by default.
    **options
        Of the estimator, such as ``class_weight`` and ``random_state``.

    Returns
    -------
    Tuned
        Of values that are equally good, the one tried first.

    Raises
    ------
    OptionError
        If the name is unknown, or there is nothing to try.

    Examples
    --------
    >>> from symscreen.multistage import simulate_chains
    >>> made = simulate_chains(n_users=20, n_items=20, random_state=0)
    >>> rows = made.taken("training"), made.taken("validation")
    >>> found = tune_rival("OSVM", made.stages, *rows, values=[0.1, 1.0], random_state=0)
    >>> found.table.columns.tolist(), len(found.table)
    (['cost', 'error'], 2)
    """
    settings = rival_settings(name, values)
    model = RIVALS[name].make(stages, **options)
    given = {"user_features": user_features, "item_features": item_features}
    return tuned(search(model, settings, [(training, validation)], n_jobs=n_jobs, **given))

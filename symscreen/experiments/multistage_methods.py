"""The methods compared on chains of stages: how each is tuned, fitted and judged."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from symscreen.multistage import MonotoneChainRecommender, inconsistency, misclassification, stage_pairs
from symscreen.multistage.rivals import RIVALS
from symscreen.multistage.rivals.named import rival_settings
from symscreen.multistage.tuning import search

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from symscreen.multistage.estimator import ChainEstimator

__all__ = ["COMMON", "LAMBDAS", "OURS", "Case", "Method", "Plan", "judged", "methods", "shortened"]

LAMBDAS = (0.001, 0.005, 0.01)
OURS, COMMON, _GRID = "ours", "ours, common level", "ours, sum over n·m"
_DEPTHS = {"few": (1, 3), "all": (1, 2, 3, 5, 7, 9, 11)}


@dataclass(frozen=True)
class Plan:
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
    thin: int = 1
    rounds: int = 300
    lambdas: tuple[float, ...] = LAMBDAS


def shortened(plan: Plan) -> Plan:
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
    return replace(plan, depths="few", epochs=10, thin=6, rounds=20, lambdas=LAMBDAS[:2])


@dataclass(frozen=True, eq=False)
class Case:
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


class Method(NamedTuple):
    """An estimator, the settings among which validation chooses, and whether all share one more level."""

    model: ChainEstimator
    settings: list[dict[str, Any]]
    common: bool


def methods(stages: Sequence[str], plan: Plan, seed: int) -> dict[str, Method]:
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
    settings = _ours(plan)
    found = {}
    for name in (OURS, COMMON, _GRID):
        over = "grid" if name == _GRID else "observed"
        model = MonotoneChainRecommender(stages, n_factors=plan.factors, normalization=over, **more)
        found[name] = Method(model, settings, common=name == COMMON)
    for name, rival in RIVALS.items():
        values: Any = rival.grid[:: plan.thin]
        model = rival.make(stages, **more)
        if name == "DeepNN":
            values = [(32,) * depth for depth in _DEPTHS[plan.depths]]
            model.set_params(learner__max_iter=plan.epochs)
        if name == "SVD":
            model.set_params(max_iter=plan.rounds)
        found[name] = Method(model, rival_settings(name, values), common=False)
    return found


def _ours(plan: Plan) -> list[dict[str, Any]]:
    names = ("lambda_features", "lambda_levels", "lambda_stages")
    if plan.features == "free":
        grid = list(product(plan.lambdas, repeat=3))
    else:
        grid = [(two, two, three) for two, three in product(plan.lambdas, repeat=2)]
    return [dict(zip(names, one, strict=True)) for one in grid]


def judged(method: Method, case: Case) -> dict[str, Any]:
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
    features: dict[str, Any] = dict(case.features)
    if method.common:
        features = {f"{kind}_features": _with_common(kind, case) for kind in ("user", "item")}
    searched = search(method.model, method.settings, case.splits, **features)
    setting = searched.settings[searched.best]
    if len(case.splits) == 1:
        model = searched.models[searched.best]  # fitted to the training rows already
    else:
        model = searched.models[searched.best].set_params(**setting).fit(case.training, **features)
    predicted = model.predict(case.test[["user", "item"]], **features)
    outcomes = np.where(case.test[list(case.stages)].to_numpy() == 1, 1, -1).astype(np.int8)
    errors, pairs = misclassification(predicted, outcomes), stage_pairs(len(case.stages) - 1)
    found: dict[str, Any] = {"overall": errors.overall, "balanced": errors.balanced}
    for (present, later), plain, fair in zip(pairs, errors.pairs, errors.balanced_pairs, strict=True):
        found |= {f"e{present}{later}": float(plain), f"b{present}{later}": float(fair)}
    alike = bool((predicted == predicted[0]).all())
    return found | {"inconsistent": inconsistency(predicted).share, "chosen": str(setting), "alike": alike}


def _with_common(kind: str, case: Case) -> pd.DataFrame:
    import pandas as pd

    given = case.features.get(f"{kind}_features")
    if given is None:
        tables = [case.training, case.test, *(validation for _, validation in case.splits)]
        given = pd.DataFrame({kind: pd.concat([one[kind] for one in tables]).unique()})
    return given.assign(common="all")

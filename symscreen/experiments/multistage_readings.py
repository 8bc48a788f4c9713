"""The simulation of Dai, Shen and Pan as its text may be read, and the tables that methods get of it.

The text has lost its subscripts. What is left of the sizes, "= 50, m = m = 100, and m = 40", may mean that
100 users share 50 levels and 100 items 40; that these features stand beside the names of users and items, the
first columns of s and o, which SVD is given; or three features a side, of 100, 100, 50 and 100, 100, 40
levels, by which alone a row is told. How many rows there were it does not tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.experiments.multistage_methods import Case
from symscreen.multistage import simulate_chains

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from symscreen.experiments.base import Settings
    from symscreen.experiments.multistage_methods import Method
    from symscreen.multistage import SimulatedChains

__all__ = ["BY_FEATURES", "MAIN", "READINGS", "WITH_FEATURES", "cases", "simulated", "told_by_features"]


def _three_features(rows: int) -> dict[str, Any]:
    """Name the options under which every row has a user and an item of its own, of three features each."""
    levels = {"user_levels": (100, 100, 50), "item_levels": (100, 100, 40)}
    return {"n_users": rows, "n_items": rows, "n_rows": rows, **levels}


MAIN = "chained, deviation"
WITH_FEATURES = "chained, features of 50 and 40 levels"
BY_FEATURES: Mapping[str, Mapping[str, Any]] = {
    "chained, three features a side, 10,000 rows": _three_features(10_000),
    "chained, three features a side, 20,000 rows": _three_features(20_000),
}
READINGS: Mapping[str, Mapping[str, Any]] = {  # what `simulate_chains` is told
    MAIN: {"reading": "chained"},
    WITH_FEATURES: {"user_levels": (50,), "item_levels": (40,)},
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
    **BY_FEATURES,
    "exact": {"reading": "exact"},
}


def simulated(name: str, settings: Settings, seed: int) -> SimulatedChains:
    """Generate one table.

    Parameters
    ----------
    name : str
        One of READINGS.
    settings : Settings
        Of the experiment: its own seed; the quick size has 40 × 40.
    seed : int
        Of this table.

    Returns
    -------
    SimulatedChains
        The same for the same seeds.
    """
    small = {"n_users": 40, "n_items": 40} if settings.quick else {}
    options = dict(READINGS[name]) | small
    return simulate_chains(**options, random_state=np.random.default_rng([settings.seed, seed]))


def cases(name: str, made: SimulatedChains) -> tuple[Case, Case]:
    """Cut generated chains into the tables that methods learn from and are judged on.

    Parameters
    ----------
    name : str
        One of READINGS.
    made : SimulatedChains
        Its table.

    Returns
    -------
    Case, Case
        For all methods but SVD, and for SVD, which knows two names a row: where a row is told by its
        features, the levels of the first on each side.
    """
    features = {"user_features": made.user_features, "item_features": made.item_features}
    parts = {part: made.taken(part) for part in ("training", "validation", "test")}
    case = _case(made.stages, parts, features)
    if name not in BY_FEATURES:
        return case, case
    return case, _case(made.stages, {part: _first(one, features) for part, one in parts.items()}, {})


def told_by_features(method: Method) -> Method:
    """Leave out a method's effects of each user and item, so that features alone tell of a row.

    Parameters
    ----------
    method : Method
        Any.

    Returns
    -------
    Method
        SVD, which has no other effects, as it was.
    """
    model = method.model
    if type(model).__name__ == "StagePairFactors":
        return method
    return method._replace(model=model.set_params(user_effects=False, item_effects=False))


def _case(stages: list[str], parts: Mapping[str, pd.DataFrame], features: Mapping[str, Any]) -> Case:
    split = (parts["training"], parts["validation"])
    return Case(stages, parts["training"], [split], parts["test"], features)


def _first(table: pd.DataFrame, features: Mapping[str, Any]) -> pd.DataFrame:
    """Name users and items by the level of their first feature."""
    named = {
        kind: table[kind].map(features[f"{kind}_features"].set_index(kind)[f"{kind}_level1"])
        for kind in ("user", "item")
    }
    return table.assign(**named)

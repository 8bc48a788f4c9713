"""Where a fit starts: random factors, or those of the fit before as far as names agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError
from symscreen.multistage.features import places_among
from symscreen.multistage.model import Effects, Factors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.multistage.features import Side

    Values = NDArray[np.float64]

__all__ = ["continued", "random_factors"]


def random_factors(sides: tuple[Side, Side], factors: int, last: int, rng: np.random.RandomState) -> Factors:
    """Draw factors such that (a ∘ b)ᵀ1 is 1 on average.

    Parameters
    ----------
    sides : (Side, Side)
        Users and items.
    factors, last : int
        K and T.
    rng : RandomState
        Of the draws.

    Returns
    -------
    Factors
        a and b uniform with mean 1/√K, shared among their parts; q uniform on [0, 1]: the rests of single
        stages are positive, those of many negative.
    """
    users, items = (_random_effects(side, factors, rng) for side in sides)
    return Factors(users, items, rng.uniform(size=(last, factors)))


def continued(
    fresh: Factors, sides: tuple[Side, Side], before: Factors, sides_before: tuple[Side, Side]
) -> Factors:
    """Put the factors of a fit before into fresh ones, level by level.

    Parameters
    ----------
    fresh : Factors
        Of the fit to come; kept for levels that the one before did not have.
    sides, sides_before : (Side, Side)
        Users and items of either.
    before : Factors
        Of the fit before.

    Returns
    -------
    Factors
        Of the shapes of `fresh`.

    Raises
    ------
    OptionError
        If K, T or the features have changed.
    """
    shapes = [(f.q.shape, f.users.matrix.shape, f.items.matrix.shape) for f in (fresh, before)]
    variables = [[(side.numeric_names, side.variables) for side in pair] for pair in (sides, sides_before)]
    if shapes[0] != shapes[1] or variables[0] != variables[1]:
        raise OptionError(
            "warm_start goes on from a fit with as many factors and stages and the same features: "
            "set warm_start=False to begin anew"
        )
    effects = []
    old, new = (before.users, before.items), (fresh.users, fresh.items)
    for i in (0, 1):
        tables = []
        for h, table in enumerate(new[i].tables):
            places = places_among(sides_before[i].known[h], sides[i].known[h])
            tables.append(np.where(places[:, None] >= 0, old[i].tables[h][places], table))
        effects.append(Effects(old[i].matrix.copy(), tuple(tables)))
    return Factors(effects[0], effects[1], before.q.copy())


def _random_effects(side: Side, factors: int, rng: np.random.RandomState) -> Effects:
    p, parts = len(side.numeric_names), len(side.variables) + bool(side.numeric_names)
    top = 2.0 / (np.sqrt(factors) * parts)
    matrix = rng.uniform(0.0, 2.0 * top / max(p, 1), size=(factors, p))
    return Effects(matrix, tuple(rng.uniform(0.0, top, size=(len(known), factors)) for known in side.known))

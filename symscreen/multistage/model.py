"""Non-negative additive latent factors: f_{t′,t}(x_ij) = (a_i ∘ b_j)ᵀ (1 − Σ_{l=t′+1..t} q_l), eq. (8).

a_i = A u_i + Σ_h a_{h, s_ih} and b_j = B v_j + Σ_h b_{h, o_jh}; all of A, B, a, b, q are ≥ 0, so that f falls
with t and grows with t′.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.multistage.pairs import remainders

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.multistage.features import Coded

    Values = NDArray[np.float64]

__all__ = ["Effects", "Factors", "embedded", "scores"]


@dataclass(frozen=True, eq=False)
class Effects:
    """What one side's features do: A and a of users, or B and b of items.

    Parameters
    ----------
    matrix : float64 array, shape (K, p)
        A or B.
    tables : tuple of float64 arrays, shapes (L_h, K)
        a_h or b_h: one row a level.
    """

    matrix: Values
    tables: tuple[Values, ...]

    @property
    def typical(self) -> tuple[Values, ...]:
        """Of each variable the mean over levels: what a level has that training did not show."""
        return tuple(table.mean(axis=0) for table in self.tables)

    def squares(self) -> tuple[float, float]:
        """Return ‖A‖² and ‖a‖²."""
        return float((self.matrix**2).sum()), float(sum((table**2).sum() for table in self.tables))


@dataclass(frozen=True, eq=False)
class Factors:
    """All that is learnt.

    Parameters
    ----------
    users, items : Effects
        A, a and B, b.
    q : float64 array, shape (T, K)
        Stage effects.
    """

    users: Effects
    items: Effects
    q: Values

    def copied(self) -> Factors:
        """Copy every array."""
        sides = [
            Effects(one.matrix.copy(), tuple(t.copy() for t in one.tables))
            for one in (self.users, self.items)
        ]
        return Factors(sides[0], sides[1], self.q.copy())


def embedded(effects: Effects, coded: Coded) -> Values:
    """Compute a_i or b_j.

    Parameters
    ----------
    effects : Effects
        Of K factors.
    coded : Coded
        n users or items.

    Returns
    -------
    float64 array, shape (n, K)
        ≥ 0.
    """
    found = np.zeros((len(coded.numeric), len(effects.matrix)))
    for j in range(coded.numeric.shape[1]):  # one by one: a fixed order, and no BLAS
        found += coded.numeric[:, j, None] * effects.matrix[:, j]
    for table, mean, levels in zip(effects.tables, effects.typical, coded.levels.T, strict=True):
        found += np.where(levels[:, None] >= 0, table[levels], mean)
    return found


def scores(
    users: Values,
    items: Values,
    q: Values,
    user_places: NDArray[np.integer],
    item_places: NDArray[np.integer],
    pairs: list[int],
) -> Values:
    """Compute f_{t′,t}, eq. (8).

    Parameters
    ----------
    users, items : float64 arrays, shapes (n, K), (m, K)
        a_i and b_j.
    q : float64 array, shape (T, K)
        Stage effects.
    user_places, item_places : integer arrays, shape (R,)
        Which user and item a row has.
    pairs : list of int
        Places in the order of `stage_pairs`.

    Returns
    -------
    float64 array, shape (R, len(pairs))
        Rounding keeps both orders: every pair is summed in the same order, and each term of one is at most
        the other's, so that the sums are.
    """
    found = np.empty((len(user_places), len(pairs)))
    _fill(users, items, remainders(q)[pairs], user_places, item_places, found)
    return found


@kernel
def _fill(
    users: Values,
    items: Values,
    rests: Values,
    user_places: NDArray[np.integer],
    item_places: NDArray[np.integer],
    found: Values,
) -> None:
    for row in range(found.shape[0]):
        a, b = users[user_places[row]], items[item_places[row]]
        for p in range(found.shape[1]):
            total = 0.0
            for k in range(a.size):
                total += (a[k] * b[k]) * rests[p, k]
            found[row, p] = total

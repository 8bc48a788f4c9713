"""Latent factors of users and items for each pair of stages: an SVD of what was observed.

With r = 1 for a stage reached and 0 for one not reached, of the observed cells (i, j)::

    ½ Σ (r_ij − μ − c_i − d_j − M_ij)² + λ (½‖c‖² + ½‖d‖² + ‖M‖_*)   over M of rank ≤ K

is made small. The nuclear norm ‖M‖_* is the least ½(‖P‖² + ‖Q‖²) with M = P Qᵀ: so this is the regularised
factorisation of Koren (2008). It is found by soft thresholding the singular values of M filled with what was
observed, again and again (Mazumder, Hastie and Tibshirani 2010).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from symscreen.multistage.options import positive, whole
from symscreen.multistage.pairs import observed_pairs, stage_pairs
from symscreen.multistage.rivals.base import ChainRival

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen.multistage.rivals.encoding import Rows

    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["StagePairFactors"]

_NOTHING = 1e-9  # of a rating
_DIGITS = 9  # kept of a score: ARPACK's last ones depend on where its arrays lie in memory


class _Fitted(NamedTuple):
    """μ, c (n,), d (m,), and M = left @ right, (n, K) and (K, m)."""

    mean: float
    users: Values
    items: Values
    left: Values
    right: Values

    def ratings(self, user: Whole, item: Whole) -> Values:
        """Predict cells; −1 stands for who is new, who has no effects."""
        old_user, old_item = user >= 0, item >= 0
        product = np.einsum("rk,rk->r", self.left[user], self.right.T[item])
        return np.asarray(
            self.mean
            + np.where(old_user, self.users[user], 0.0)
            + np.where(old_item, self.items[item], 0.0)
            + np.where(old_user & old_item, product, 0.0)
        )


class StagePairFactors(ChainRival):
    """Fit latent factors of the names of users and items for each pair of stages.

    Parameters
    ----------
    stages, user, item, reached, user_effects, item_effects, extra_features
        As for `MonotoneChainRecommender`; features are checked, and not used.
    class_weight : {"balanced"} or None
        Whether `score` is balanced: ratings are fitted without weights, as in the paper.
    n_factors : int
        K.
    strength : float
        λ > 0.
    max_iter, tol : int, float
        Rounds at most; it ends when M changes by less than this share of its norm.

    Attributes
    ----------
    models_ : list
        One a pair.
    stages_, pairs_, users_, items_
        As of `MonotoneChainRecommender`.

    Examples
    --------
    >>> from symscreen.multistage import simulate_chains
    >>> made = simulate_chains(n_users=20, n_items=20, random_state=0)
    >>> model = StagePairFactors(made.stages, strength=0.5, n_factors=5).fit(made.table)
    >>> model.score(made.table) > 0.8
    True
    """

    def __init__(
        self,
        stages: Sequence[str] = (),
        *,
        strength: float = 1.0,
        n_factors: int = 20,
        max_iter: int = 30,
        tol: float = 1e-3,
        user: str = "user",
        item: str = "item",
        reached: str | None = None,
        class_weight: str | None = None,
        user_effects: bool = True,
        item_effects: bool = True,
        extra_features: str = "error",
    ) -> None:
        self.stages = stages
        self.strength = strength
        self.n_factors = n_factors
        self.max_iter = max_iter
        self.tol = tol
        self.user = user
        self.item = item
        self.reached = reached
        self.class_weight = class_weight
        self.user_effects = user_effects
        self.item_effects = item_effects
        self.extra_features = extra_features

    def _learn(self, rows: Rows, outcomes: NDArray[np.int8], weights: Values) -> None:  # noqa: ARG002
        strength, tolerance = positive("strength", self.strength), positive("tol", self.tol)
        factors, rounds = whole("n_factors", self.n_factors), whole("max_iter", self.max_iter)
        shape = (len(self.users_.names), len(self.items_.names))
        counted = observed_pairs(outcomes)
        self.models_ = []
        for p, (_, later) in enumerate(stage_pairs(outcomes.shape[1] - 1)):
            own = np.flatnonzero(counted[:, p])
            ratings = (outcomes[own, later] > 0).astype(np.float64)
            cells = (rows.user[own], rows.item[own])
            self.models_.append(_fitted(cells, ratings, shape, factors, strength, rounds, tolerance))

    def _scores(self, rows: Rows, pair: int) -> Values:
        ratings = self.models_[pair].ratings(rows.user, rows.item)
        return np.asarray(np.round(ratings - 0.5, _DIGITS))


def _fitted(
    cells: tuple[Whole, Whole],
    ratings: Values,
    shape: tuple[int, int],
    factors: int,
    strength: float,
    rounds: int,
    tolerance: float,
) -> _Fitted:
    user, item = cells
    rank = min(factors, min(shape) - 1)
    mean = float(ratings.mean()) if ratings.size else 0.0
    nothing = (np.zeros((shape[0], 1)), np.zeros((1, shape[1])))
    found = _Fitted(mean, np.zeros(shape[0]), np.zeros(shape[1]), *nothing)
    for _ in range(rounds if ratings.size else 0):
        # one effect given the other: Σ (r − rest) / (count + λ)
        rest = ratings - found.ratings(user, item)
        users = _damped(user, rest + found.users[user], shape[0], strength)
        items = _damped(item, rest + found.users[user] - users[user] + found.items[item], shape[1], strength)
        found = found._replace(users=users, items=items)
        if rank < 1:
            continue
        rest = ratings - found.ratings(user, item)
        if np.abs(rest).max() < _NOTHING and not found.right.any():
            break  # all ratings are alike; ARPACK takes no matrix of zeros
        left, right = _thresholded(found, cells, rest, rank, strength)
        change = _distance((left, right), (found.left, found.right))
        found = found._replace(left=left, right=right)
        if change <= tolerance * np.sqrt((right**2).sum()):
            break
    return found


def _damped(group: Whole, values: Values, size: int, strength: float) -> Values:
    sums = np.bincount(group, weights=values, minlength=size)
    return np.asarray(sums / (np.bincount(group, minlength=size) + strength))


def _thresholded(
    found: _Fitted, cells: tuple[Whole, Whole], rest: Values, rank: int, strength: float
) -> tuple[Values, Values]:
    """Return the singular vectors of M + rest, left ones with length 1, right ones times max(σ − λ, 0)."""
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import LinearOperator, svds

    shape = (len(found.users), len(found.items))
    sparse = csr_array((rest, cells), shape=shape)
    turned: Any = sparse.T.tocsr()
    filled = LinearOperator(
        shape,
        matvec=lambda v: sparse @ v + found.left @ (found.right @ v),
        rmatvec=lambda v: turned @ v + found.right.T @ (found.left.T @ v),
        dtype=np.float64,
    )
    start = np.linspace(1.0, 2.0, min(shape))  # ARPACK's own would be random
    left, sizes, right = svds(filled, k=rank, v0=start)
    return left, np.maximum(sizes - strength, 0.0)[:, None] * right


def _distance(one: tuple[Values, Values], two: tuple[Values, Values]) -> float:
    """Return the Frobenius norm of the difference of two products, without forming them."""
    left, right = np.hstack([one[0], -two[0]]), np.vstack([one[1], two[1]])
    return float(np.sqrt(max(((left.T @ left) * (right @ right.T)).sum(), 0.0)))

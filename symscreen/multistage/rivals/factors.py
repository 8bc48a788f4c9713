"""Latent factors of users and items for each pair of stages: an SVD of what was observed.

With r = 1 for a stage reached and 0 for one not reached, of the observed cells (i, j)::

    ½ Σ (r_ij − μ − c_i − d_j − M_ij)² + λ (½‖c‖² + ½‖d‖² + ‖M‖_*)   over M of rank ≤ K

is made small; the sum is over rows: a cell that was observed n_ij times counts n_ij times. The nuclear norm
‖M‖_* is the least ½(‖P‖² + ‖Q‖²) with M = P Qᵀ: so this is the regularised factorisation of Koren (2008). It
is found by proximal steps: with L = max n_ij, the singular values of M + (sums of rests)/L are thresholded
by λ/L. With no cell observed twice that is soft-impute (Mazumder, Hastie and Tibshirani 2010); where L > 2,
a step of 1 would lead away from the minimum. Steps have momentum (Beck and Teboulle 2009), which is dropped
wherever the objective would rise with it.
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
    """μ, c (n,), d (m,), and M = left @ right, (n, K) and (K, m); how many rounds were made."""

    mean: float
    users: Values
    items: Values
    left: Values
    right: Values
    rounds: int = 0

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
        Rounds at most; it ends when c, d and M change in a round (M's change counts L times) by at most this
        share of their norm.

    Attributes
    ----------
    models_ : list
        One a pair.
    n_iter_ : list of int
        Rounds made for each pair; `max_iter` where the tolerance was not met.
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
        max_iter: int = 300,
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
        self.n_iter_ = [one.rounds for one in self.models_]

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
    rank = min(factors, min(shape) - 1)
    mean = float(ratings.mean()) if ratings.size else 0.0
    nothing = (np.zeros((shape[0], 1)), np.zeros((1, shape[1])))
    found = before = _Fitted(mean, np.zeros(shape[0]), np.zeros(shape[1]), *nothing)
    if not ratings.size:
        return found
    repeats = _most_repeats(cells, shape)
    least, t = _objective(found, cells, ratings, strength), 1.0
    for done in range(1, rounds + 1):
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
        momentum = (t - 1.0) / following
        new = _stepped(_ahead(found, before, momentum), cells, ratings, rank, strength, repeats)
        value = _objective(new, cells, ratings, strength)
        if value > least and momentum > 0.0:
            following = 1.0
            new = _stepped(found, cells, ratings, rank, strength, repeats)
            value = _objective(new, cells, ratings, strength)
        before, found, least, t = found, new._replace(rounds=done), value, following
        if _change(found, before, repeats) <= tolerance * _norm(found):
            break
    return found


def _most_repeats(cells: tuple[Whole, Whole], shape: tuple[int, int]) -> int:
    """Count L, how often the commonest cell was observed: the Lipschitz constant of the squares' gradient."""
    return int(np.unique(cells[0] * shape[1] + cells[1], return_counts=True)[1].max())


def _objective(found: _Fitted, cells: tuple[Whole, Whole], ratings: Values, strength: float) -> float:
    """Compute what is made small; left vectors are orthonormal, so that rows of `right` have lengths σ."""
    rest = ratings - found.ratings(*cells)
    effects = 0.5 * float((found.users**2).sum() + (found.items**2).sum())
    nuclear = float(np.sqrt((found.right**2).sum(axis=1)).sum())
    return 0.5 * float((rest**2).sum()) + strength * (effects + nuclear)


def _ahead(found: _Fitted, before: _Fitted, momentum: float) -> _Fitted:
    """Go on in the direction of the last round."""
    if momentum <= 0.0:
        return found
    return found._replace(
        users=found.users + momentum * (found.users - before.users),
        items=found.items + momentum * (found.items - before.items),
        left=np.hstack([found.left, before.left]),
        right=np.vstack([(1.0 + momentum) * found.right, -momentum * before.right]),
    )


def _stepped(
    found: _Fitted, cells: tuple[Whole, Whole], ratings: Values, rank: int, strength: float, repeats: int
) -> _Fitted:
    """Make c best, then d, then take one proximal step of M."""
    user, item = cells
    # one effect given the other: Σ (r − rest) / (count + λ)
    rest = ratings - found.ratings(user, item)
    users = _damped(user, rest + found.users[user], len(found.users), strength)
    rest += found.users[user] - users[user]
    items = _damped(item, rest + found.items[item], len(found.items), strength)
    rest += found.items[item] - items[item]
    found = found._replace(users=users, items=items)
    if rank < 1 or (np.abs(rest).max() < _NOTHING and not found.right.any()):
        return found  # all ratings are alike; ARPACK takes no matrix of zeros
    left, right = _thresholded(found, cells, rest / repeats, rank, strength / repeats)
    return found._replace(left=left, right=right)


def _change(found: _Fitted, before: _Fitted, repeats: int) -> float:
    of_products = repeats * _distance((found.left, found.right), (before.left, before.right))
    effects = ((found.users - before.users) ** 2).sum() + ((found.items - before.items) ** 2).sum()
    return float(np.sqrt(of_products**2 + effects))


def _norm(found: _Fitted) -> float:
    return float(np.sqrt((found.right**2).sum() + (found.users**2).sum() + (found.items**2).sum()))


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

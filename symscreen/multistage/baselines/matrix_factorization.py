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

from symscreen.multistage.baselines.base import ChainBaseline
from symscreen.multistage.option_checks import check_positive, check_positive_integer
from symscreen.targets.stages import list_stage_pairs, mask_observed_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Integers, Values
    from symscreen.multistage.baselines.base import EncodedRows


__all__ = ["StagePairFactors"]

_RATING_TOLERANCE = 1e-9  # of a rating
_SCORE_DIGITS = 9  # kept of a score: ARPACK's last ones depend on where its arrays lie in memory


class _FittedFactors(NamedTuple):
    """μ, c (n,), d (m,), and M = left @ right, (n, K) and (K, m); how many rounds were made."""

    mean: float
    users: Values
    items: Values
    left: Values
    right: Values
    rounds: int = 0

    def predict_ratings(self, user: Integers, item: Integers) -> Values:
        """Predict cells; −1 stands for who is new, who has no effects."""
        old_user, old_item = user >= 0, item >= 0
        product = np.einsum("rk,rk->r", self.left[user], self.right.T[item])
        return np.asarray(
            self.mean
            + np.where(old_user, self.users[user], 0.0)
            + np.where(old_item, self.items[item], 0.0)
            + np.where(old_user & old_item, product, 0.0)
        )


class StagePairFactors(ChainBaseline):
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

    def _fit_rows(self, rows: EncodedRows, outcomes: NDArray[np.int8], weights: Values) -> None:  # noqa: ARG002
        strength, tolerance = check_positive("strength", self.strength), check_positive("tol", self.tol)
        factors, rounds = (
            check_positive_integer("n_factors", self.n_factors),
            check_positive_integer("max_iter", self.max_iter),
        )
        shape = (len(self.users_.names), len(self.items_.names))
        counted = mask_observed_pairs(outcomes)
        self.models_ = []
        for p, (_, later) in enumerate(list_stage_pairs(outcomes.shape[1] - 1)):
            own = np.flatnonzero(counted[:, p])
            ratings = (outcomes[own, later] > 0).astype(np.float64)
            cells = (rows.user[own], rows.item[own])
            self.models_.append(_fit_factors(cells, ratings, shape, factors, strength, rounds, tolerance))
        self.n_iter_ = [one.rounds for one in self.models_]

    def _score_rows(self, rows: EncodedRows, pair: int) -> Values:
        ratings = self.models_[pair].predict_ratings(rows.user, rows.item)
        return np.asarray(np.round(ratings - 0.5, _SCORE_DIGITS))


def _fit_factors(
    cells: tuple[Integers, Integers],
    ratings: Values,
    shape: tuple[int, int],
    n_factors: int,
    strength: float,
    max_rounds: int,
    tolerance: float,
) -> _FittedFactors:
    rank = min(n_factors, min(shape) - 1)
    mean = float(ratings.mean()) if ratings.size else 0.0
    nothing = (np.zeros((shape[0], 1)), np.zeros((1, shape[1])))
    found = before = _FittedFactors(mean, np.zeros(shape[0]), np.zeros(shape[1]), *nothing)
    if not ratings.size:
        return found
    repeats = _count_max_repeats(cells, shape)
    least, t = _compute_objective(found, cells, ratings, strength), 1.0
    for done in range(1, max_rounds + 1):
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
        momentum = (t - 1.0) / following
        new = _take_step(_extrapolate(found, before, momentum), cells, ratings, rank, strength, repeats)
        value = _compute_objective(new, cells, ratings, strength)
        if value > least and momentum > 0.0:
            following = 1.0
            new = _take_step(found, cells, ratings, rank, strength, repeats)
            value = _compute_objective(new, cells, ratings, strength)
        before, found, least, t = found, new._replace(rounds=done), value, following
        if _compute_change(found, before, repeats) <= tolerance * _compute_norm(found):
            break
    return found


def _count_max_repeats(cells: tuple[Integers, Integers], shape: tuple[int, int]) -> int:
    """Count L, how often the commonest cell was observed: the Lipschitz constant of the squares' gradient."""
    return int(np.unique(cells[0] * shape[1] + cells[1], return_counts=True)[1].max())


def _compute_objective(
    current: _FittedFactors, cells: tuple[Integers, Integers], ratings: Values, strength: float
) -> float:
    """Compute what is made small; left vectors are orthonormal, so that rows of `right` have lengths σ."""
    rest = ratings - current.predict_ratings(*cells)
    effects = 0.5 * float((current.users**2).sum() + (current.items**2).sum())
    nuclear = float(np.sqrt((current.right**2).sum(axis=1)).sum())
    return 0.5 * float((rest**2).sum()) + strength * (effects + nuclear)


def _extrapolate(current: _FittedFactors, previous: _FittedFactors, momentum: float) -> _FittedFactors:
    """Go on in the direction of the last round."""
    if momentum <= 0.0:
        return current
    return current._replace(
        users=current.users + momentum * (current.users - previous.users),
        items=current.items + momentum * (current.items - previous.items),
        left=np.hstack([current.left, previous.left]),
        right=np.vstack([(1.0 + momentum) * current.right, -momentum * previous.right]),
    )


def _take_step(
    current: _FittedFactors,
    cells: tuple[Integers, Integers],
    ratings: Values,
    rank: int,
    strength: float,
    repeats: int,
) -> _FittedFactors:
    """Make c best, then d, then take one proximal step of M."""
    user, item = cells
    # one effect given the other: Σ (r − rest) / (count + λ)
    rest = ratings - current.predict_ratings(user, item)
    users = _compute_damped_means(user, rest + current.users[user], len(current.users), strength)
    rest += current.users[user] - users[user]
    items = _compute_damped_means(item, rest + current.items[item], len(current.items), strength)
    rest += current.items[item] - items[item]
    current = current._replace(users=users, items=items)
    if rank < 1 or (np.abs(rest).max() < _RATING_TOLERANCE and not current.right.any()):
        return current  # all ratings are alike; ARPACK takes no matrix of zeros
    left, right = _threshold_singular_values(current, cells, rest / repeats, rank, strength / repeats)
    return current._replace(left=left, right=right)


def _compute_change(current: _FittedFactors, previous: _FittedFactors, repeats: int) -> float:
    of_products = repeats * _compute_product_distance(
        (current.left, current.right), (previous.left, previous.right)
    )
    effects = ((current.users - previous.users) ** 2).sum() + ((current.items - previous.items) ** 2).sum()
    return float(np.sqrt(of_products**2 + effects))


def _compute_norm(current: _FittedFactors) -> float:
    return float(np.sqrt((current.right**2).sum() + (current.users**2).sum() + (current.items**2).sum()))


def _compute_damped_means(group: Integers, values: Values, size: int, strength: float) -> Values:
    sums = np.bincount(group, weights=values, minlength=size)
    return np.asarray(sums / (np.bincount(group, minlength=size) + strength))


def _threshold_singular_values(
    current: _FittedFactors, cells: tuple[Integers, Integers], residuals: Values, rank: int, strength: float
) -> tuple[Values, Values]:
    """Return the singular vectors of M + rest, left ones with length 1, right ones times max(σ − λ, 0)."""
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import LinearOperator, svds

    shape = (len(current.users), len(current.items))
    sparse = csr_array((residuals, cells), shape=shape)
    turned: Any = sparse.T.tocsr()
    filled = LinearOperator(
        shape,
        matvec=lambda v: sparse @ v + current.left @ (current.right @ v),
        rmatvec=lambda v: turned @ v + current.right.T @ (current.left.T @ v),
        dtype=np.float64,
    )
    start = np.linspace(1.0, 2.0, min(shape))  # ARPACK's own would be random
    left, sizes, right = svds(filled, k=rank, v0=start)
    return left, np.maximum(sizes - strength, 0.0)[:, None] * right


def _compute_product_distance(first: tuple[Values, Values], second: tuple[Values, Values]) -> float:
    """Return the Frobenius norm of the difference of two products, without forming them."""
    left, right = np.hstack([first[0], -second[0]]), np.vstack([first[1], second[1]])
    return float(np.sqrt(max(((left.T @ left) * (right @ right.T)).sum(), 0.0)))

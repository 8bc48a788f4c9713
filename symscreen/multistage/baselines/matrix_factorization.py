"""Latent factors of users and items for each pair of stages: a regularised SVD of the observed cells.

With r = 1 for a stage reached and 0 for one not reached, it minimises over the observed cells (i, j)::

    ½ Σ (r_ij − μ − c_i − d_j − M_ij)² + λ (½‖c‖² + ½‖d‖² + ‖M‖_*)   over M of rank ≤ K

The sum is over rows: a cell that was observed n_ij times counts n_ij times. The nuclear norm ‖M‖_* is the
minimum of ½(‖P‖² + ‖Q‖²) over M = P Qᵀ, so this is the regularised factorisation of Koren (2008).

The solver takes proximal steps. With L = max n_ij, it thresholds the singular values of
M + (sums of residuals)/L by λ/L. If no cell is observed twice, this is soft-impute (Mazumder, Hastie and
Tibshirani 2010). If L > 2, a step of 1 would diverge. Steps have momentum (Beck and Teboulle 2009), which is
dropped whenever it would increase the objective.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from symscreen._parameters import POSITIVE, POSITIVE_INTEGER
from symscreen.multistage.base import ChainEstimator
from symscreen.targets.stages import list_stage_pairs, mask_observed_pairs

if TYPE_CHECKING:
    from symscreen._parameters import Constraints
    from symscreen._typing import Integers, Values
    from symscreen.multistage.base import TrainingRows
    from symscreen.multistage.entity_encoding import EncodedColumn


_RATING_TOLERANCE = 1e-9  # residuals of ratings below this count as 0
_SCORE_DIGITS = 9  # decimals of a score: the last digits of ARPACK depend on the alignment of its arrays


class _FittedFactors(NamedTuple):
    """μ, c (n,), d (m,), M = left @ right with shapes (n, K) and (K, m), and the number of rounds done."""

    mean: float
    users: Values
    items: Values
    left: Values
    right: Values
    rounds: int = 0

    def predict_ratings(self, user: Integers, item: Integers) -> Values:
        """Predict R cells, (R,). An index of −1 is a new user or item without effects."""
        known_user, known_item = user >= 0, item >= 0
        product = np.einsum("rk,rk->r", self.left[user], self.right.T[item])
        return np.asarray(
            self.mean
            + np.where(known_user, self.users[user], 0.0)
            + np.where(known_item, self.items[item], 0.0)
            + np.where(known_user & known_item, product, 0.0)
        )


@dataclass(eq=False, repr=False, kw_only=True)
class StagePairFactors(ChainEstimator):
    """Latent factors of user and item names, fitted separately for each pair of stages.

    Parameters
    ----------
    stages, user, item, reached, user_effects, item_effects, extra_features
        See `MonotoneChainRecommender`. Features are validated but not used.
    class_weight : {"balanced"} or None
        Whether `score` is class-balanced. The fit is not weighted, as in the paper.
    random_state
        Ignored: the fit is deterministic.
    n_factors : int
        Maximum rank K of M.
    strength : float
        Penalty λ > 0.
    max_iter : int
        Maximum number of rounds.
    tol : float
        Stop when a round changes c, d and M by at most this fraction of their norm. The change of M is
        multiplied by L.

    Attributes
    ----------
    models_ : list
        One fit per pair of stages.
    n_iter_ : list of int
        Rounds done for each pair; `max_iter` if the tolerance was not met.
    stages_, pairs_, users_, items_
        See `MonotoneChainRecommender`.

    Examples
    --------
    >>> from symscreen.multistage import simulate_chains
    >>> chains = simulate_chains(n_users=20, n_items=20, random_state=0)
    >>> model = StagePairFactors(chains.stages, strength=0.5, n_factors=5).fit(chains.table)
    >>> model.score(chains.table) > 0.8
    True
    """

    strength: float = 1.0
    n_factors: int = 20
    max_iter: int = 300
    tol: float = 1e-3

    _parameter_constraints: ClassVar[Constraints] = {
        **dict.fromkeys(("strength", "tol"), (POSITIVE,)),
        **dict.fromkeys(("n_factors", "max_iter"), (POSITIVE_INTEGER,)),
    }

    def _fit_rows(self, rows: TrainingRows) -> None:
        """Fit one factorisation per pair of stages; the weights are not used."""
        self._store_encoders(rows)
        shape = (len(rows.users.names), len(rows.items.names))
        outcomes, observed = rows.outcomes, mask_observed_pairs(rows.outcomes)
        self.models_ = []
        for p, (_, later) in enumerate(list_stage_pairs(outcomes.shape[1] - 1)):
            indices = np.flatnonzero(observed[:, p])
            ratings = (outcomes[indices, later] > 0).astype(np.float64)
            cells = (rows.user[indices], rows.item[indices])
            self.models_.append(
                _fit_factors(cells, ratings, shape, self.n_factors, self.strength, self.max_iter, self.tol)
            )
        self.n_iter_ = [model.rounds for model in self.models_]

    def _score_rows(self, users: EncodedColumn, items: EncodedColumn, pairs: list[int]) -> Values:
        """Score R rows by the predicted rating minus ½, (R, pairs)."""
        cells = (users.training_indices, items.training_indices)
        ratings = np.stack([self.models_[p].predict_ratings(*cells) for p in pairs], axis=1)
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
    """Fit an (n, m) matrix of ratings from R observed cells by accelerated proximal gradient descent."""
    rank = min(n_factors, min(shape) - 1)
    mean = float(ratings.mean()) if ratings.size else 0.0
    zero_product = (np.zeros((shape[0], 1)), np.zeros((1, shape[1])))
    current = previous = _FittedFactors(mean, np.zeros(shape[0]), np.zeros(shape[1]), *zero_product)
    if not ratings.size:
        return current
    # L, the most observations of one cell: the Lipschitz constant of the gradient of M
    max_repeats = int(np.unique(cells[0] * shape[1] + cells[1], return_counts=True)[1].max())
    objective, t = _compute_objective(current, cells, ratings, strength), 1.0
    for n_rounds in range(1, max_rounds + 1):
        next_t = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
        momentum = (t - 1.0) / next_t
        new = _take_step(
            _extrapolate(current, previous, momentum), cells, ratings, rank, strength, max_repeats
        )
        value = _compute_objective(new, cells, ratings, strength)
        if value > objective and momentum > 0.0:
            next_t = 1.0
            new = _take_step(current, cells, ratings, rank, strength, max_repeats)
            value = _compute_objective(new, cells, ratings, strength)
        previous, current, objective, t = current, new._replace(rounds=n_rounds), value, next_t
        if _compute_change(current, previous, max_repeats) <= tolerance * _compute_norm(current):
            break
    return current


def _compute_objective(
    current: _FittedFactors, cells: tuple[Integers, Integers], ratings: Values, strength: float
) -> float:
    """Compute the objective. The left vectors are orthonormal, so the rows of `right` have the norms σ."""
    residuals = ratings - current.predict_ratings(*cells)
    effects = 0.5 * float((current.users**2).sum() + (current.items**2).sum())
    nuclear = float(np.sqrt((current.right**2).sum(axis=1)).sum())
    return 0.5 * float((residuals**2).sum()) + strength * (effects + nuclear)


def _extrapolate(current: _FittedFactors, previous: _FittedFactors, momentum: float) -> _FittedFactors:
    """Extrapolate from the previous round through the current one."""
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
    """Minimise over c, then over d, then take one proximal step in M."""
    user, item = cells
    # each effect minimises the objective given all else: Σ (residuals + effect) / (count + λ)
    residuals = ratings - current.predict_ratings(user, item)
    users = _compute_damped_means(user, residuals + current.users[user], len(current.users), strength)
    residuals += current.users[user] - users[user]
    items = _compute_damped_means(item, residuals + current.items[item], len(current.items), strength)
    residuals += current.items[item] - items[item]
    current = current._replace(users=users, items=items)
    if rank < 1 or (np.abs(residuals).max() < _RATING_TOLERANCE and not current.right.any()):
        return current  # all ratings are equal, and ARPACK rejects a matrix of zeros
    left, right = _threshold_singular_values(current, cells, residuals / repeats, rank, strength / repeats)
    return current._replace(left=left, right=right)


def _compute_change(current: _FittedFactors, previous: _FittedFactors, repeats: int) -> float:
    """Compute the norm of the change of (c, d, L·M)."""
    product_change = repeats * _compute_product_distance(
        (current.left, current.right), (previous.left, previous.right)
    )
    effects = ((current.users - previous.users) ** 2).sum() + ((current.items - previous.items) ** 2).sum()
    return float(np.sqrt(product_change**2 + effects))


def _compute_norm(current: _FittedFactors) -> float:
    """Compute the norm of (c, d, M)."""
    return float(np.sqrt((current.right**2).sum() + (current.users**2).sum() + (current.items**2).sum()))


def _compute_damped_means(group: Integers, values: Values, size: int, strength: float) -> Values:
    """Compute Σ values / (count + λ) per group, (size,)."""
    sums = np.bincount(group, weights=values, minlength=size)
    return np.asarray(sums / (np.bincount(group, minlength=size) + strength))


def _threshold_singular_values(
    current: _FittedFactors, cells: tuple[Integers, Integers], residuals: Values, rank: int, strength: float
) -> tuple[Values, Values]:
    """Return the left singular vectors of M + residuals, and the right ones times max(σ − λ, 0)."""
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import LinearOperator, svds

    shape = (len(current.users), len(current.items))
    sparse = csr_array((residuals, cells), shape=shape)
    transposed: Any = sparse.T.tocsr()
    filled = LinearOperator(
        shape,
        matvec=lambda v: sparse @ v + current.left @ (current.right @ v),
        rmatvec=lambda v: transposed @ v + current.right.T @ (current.left.T @ v),
        dtype=np.float64,
    )
    initial_vector = np.linspace(1.0, 2.0, min(shape))  # the default of ARPACK is random
    left, singular_values, right = svds(filled, k=rank, v0=initial_vector)
    return left, np.maximum(singular_values - strength, 0.0)[:, None] * right


def _compute_product_distance(first: tuple[Values, Values], second: tuple[Values, Values]) -> float:
    """Compute the Frobenius norm of the difference of two products without forming them."""
    left, right = np.hstack([first[0], -second[0]]), np.vstack([first[1], second[1]])
    return float(np.sqrt(max(((left.T @ left) * (right @ right.T)).sum(), 0.0)))

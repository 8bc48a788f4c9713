"""Non-negative additive latent factor model, and the convex blocks in which it is fitted.

The score of a user i and an item j for the pair of stages (t′, t) is, by eq. (8)::

    f_{t′,t}(x_ij) = (a_i ∘ b_j)ᵀ (1 − Σ_{l=t′+1..t} q_l)
    a_i = A u_i + Σ_h a_{h, s_ih},   b_j = B v_j + Σ_h b_{h, o_jh}

All of A, B, a, b and q are ≥ 0. The score therefore decreases in t and increases in t′.

The fit solves the blocks A, a_h, B, b_h and q_r in turn, eqs. (13) to (18). With all other blocks fixed, f is
linear in a block: f_e = x_eᵀβ + d_e. A block with the penalty λ‖β‖² is a problem of
`symscreen.multistage.weighted_svm` with the costs c_e = w_e/(2 λ n). A block of levels has one problem per
level.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError
from symscreen.multistage._kernels import SvmTerms, fill_scores, solve_groups
from symscreen.targets.stages import (
    find_stage_index,
    list_stage_pairs,
    mask_observed_pairs,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Outcomes, Values
    from symscreen.multistage._kernels import Indices
    from symscreen.multistage.entity_encoding import EncodedEntities

_CHUNKS_PER_THREAD = 8  # chunks of groups per thread: balances groups of very different sizes


def compute_remaining_mass(q: Values) -> Values:
    """Compute 1 − Σ_{l=t′+1..t} q_l for every pair of stages.

    Parameters
    ----------
    q : float64 array, shape (T, K)
        Stage effects q_1 … q_T ≥ 0.

    Returns
    -------
    float64 array, shape (P, K)
        One row per pair, in the order of `list_stage_pairs`. Each sum runs from t down to t′ + 1, so even
        with rounding the mass never increases for an earlier t′ or a later t.

    Examples
    --------
    >>> compute_remaining_mass(np.array([[0.25], [0.5]])).tolist()
    [[0.75], [0.25], [0.5]]
    """
    remaining = []
    for present, later in list_stage_pairs(len(q)):
        total = np.zeros(q.shape[1])
        for stage in range(later, present, -1):
            total = total + q[stage - 1]
        remaining.append(1.0 - total)
    return np.array(remaining)


def compute_class_weights(outcomes: Outcomes) -> Values:
    """Compute class weights per pair of stages, inversely proportional to the class sizes.

    Parameters
    ----------
    outcomes : int8 array, shape (R, T + 1)
        Outcomes Y: +1 reached, −1 not reached, 0 not observed.

    Returns
    -------
    float64 array, shape (P, 2)
        Weights n/(2 n_class) of the classes −1 and +1, where n is the number of observations of the pair.
        They average 1 over the observations. A pair with only one observed class has the weights 1.

    Examples
    --------
    >>> compute_class_weights(np.array([[1, -1], [1, -1], [1, -1], [1, 1]], dtype=np.int8)).round(3).tolist()
    [[0.667, 2.0]]
    """
    observed = mask_observed_pairs(outcomes)
    weights = np.ones((observed.shape[1], 2))
    for p, (_, later) in enumerate(list_stage_pairs(outcomes.shape[1] - 1)):
        sizes = np.array([(observed[:, p] & (outcomes[:, later] == sign)).sum() for sign in (-1, 1)])
        if sizes.all():
            weights[p] = sizes.sum() / (2.0 * sizes)
    return weights


def select_pairs(present: Any, stage: Any, stages: Sequence[str]) -> list[int]:
    """Find the pairs that start at stage `present` and end at stage `stage`; None selects all.

    Returns
    -------
    list of int
        Indices of the pairs in the order of `list_stage_pairs`.

    Raises
    ------
    OptionError
        If a stage is unknown or no pair matches.
    """
    start = None if present is None else find_stage_index(present, stages)
    end = None if stage is None else find_stage_index(stage, stages)
    pairs = list_stage_pairs(len(stages) - 1)
    selected = [p for p, pair in enumerate(pairs) if start in {None, pair[0]} and end in {None, pair[1]}]
    if not selected:
        raise OptionError(f"no pair leads from stage {present!r} to stage {stage!r}: {' < '.join(stages)}")
    return selected


@dataclass(frozen=True, eq=False)
class EmbeddingParameters:
    """Parameters that map features to embeddings: A and a for users, B and b for items.

    Parameters
    ----------
    matrix : float64 array, shape (K, p)
        Effects of the p numerical features, A or B.
    tables : tuple of float64 arrays, shapes (L_h, K)
        Effects of the levels of each categorical variable, a_h or b_h. One row per level.
    """

    matrix: Values
    tables: tuple[Values, ...]

    @property
    def level_means(self) -> tuple[Values, ...]:
        """Mean effect of the levels of each variable, (K,) each. Used for levels unseen in training."""
        return tuple(table.mean(axis=0) for table in self.tables)

    def compute_squared_norms(self) -> tuple[float, float]:
        """Return ‖A‖² and ‖a‖²."""
        return float((self.matrix**2).sum()), float(sum((table**2).sum() for table in self.tables))


@dataclass(frozen=True, eq=False)
class LatentFactors:
    """All fitted parameters of the model.

    Parameters
    ----------
    users, items : EmbeddingParameters
        A and a; B and b.
    q : float64 array, shape (T, K)
        Stage effects q_1 … q_T.
    """

    users: EmbeddingParameters
    items: EmbeddingParameters
    q: Values

    def copy(self) -> LatentFactors:
        """Return a deep copy."""
        sides = [
            EmbeddingParameters(parameters.matrix.copy(), tuple(table.copy() for table in parameters.tables))
            for parameters in (self.users, self.items)
        ]
        return LatentFactors(sides[0], sides[1], self.q.copy())


def compute_embeddings(parameters: EmbeddingParameters, encoded: EncodedEntities) -> Values:
    """Compute the embeddings a_i or b_j.

    Parameters
    ----------
    parameters : EmbeddingParameters
        Parameters with K factors.
    encoded : EncodedEntities
        Encoded features of n users or items.

    Returns
    -------
    float64 array, shape (n, K)
        Embeddings ≥ 0.
    """
    embeddings = np.zeros((len(encoded.numeric), len(parameters.matrix)))
    for j in range(encoded.numeric.shape[1]):  # column by column, not by BLAS: fixes the order of the sum
        embeddings += encoded.numeric[:, j, None] * parameters.matrix[:, j]
    for table, mean, levels in zip(
        parameters.tables, parameters.level_means, encoded.level_codes.T, strict=True
    ):
        embeddings += np.where(levels[:, None] >= 0, table[levels], mean)
    return embeddings


def compute_scores(
    users: Values,
    items: Values,
    q: Values,
    user_indices: NDArray[np.integer],
    item_indices: NDArray[np.integer],
    pairs: list[int],
) -> Values:
    """Compute the scores f_{t′,t} of eq. (8).

    Parameters
    ----------
    users, items : float64 arrays, shapes (n, K), (m, K)
        Embeddings a_i and b_j.
    q : float64 array, shape (T, K)
        Stage effects.
    user_indices, item_indices : integer arrays, shape (R,)
        User and item of each row.
    pairs : list of int
        Indices of pairs in the order of `list_stage_pairs`.

    Returns
    -------
    float64 array, shape (R, len(pairs))
        Scores. Rounding preserves their order over t′ and t: all pairs sum their K terms in the same order,
        and the terms of one pair are bounded by those of the other.
    """
    scores = np.empty((len(user_indices), len(pairs)))
    fill_scores(users, items, compute_remaining_mass(q)[pairs], user_indices, item_indices, scores)
    return scores


@dataclass(frozen=True)
class BlockSolverOptions:
    """Accuracy and parallelism of the block solver.

    Parameters
    ----------
    loss : int
        `HINGE`, `PSI` or `LOGISTIC` of `symscreen.multistage._kernels`.
    tolerance : float
        Duality gap at which to stop, as a fraction of the objective.
    max_sweeps : int
        Maximum number of sweeps over the terms.
    n_threads : int
        Number of threads. Does not affect the result.
    """

    loss: int
    tolerance: float
    max_sweeps: int
    n_threads: int


@dataclass(frozen=True, eq=False)
class CoordinateBlock:
    """The terms of one block of coefficients, sorted by group. It keeps its duals between iterations.

    Parameters
    ----------
    order : int32 array, shape (M,)
        Indices of the block's terms among the N terms of the fit. The terms of a group are contiguous.
    starts : int64 array, shape (G + 1,)
        First term of each group, and M.
    left_index, right_index : int32 arrays, shape (M,)
        Rows of inputs of each term. `right_index` may be empty.
    y : int8 array, shape (M,)
        Signs ±1.
    cost : float64 array, shape (M,)
        Costs c_e.
    duals : float64 array, shape (M,)
        Dual variables γ_e, updated by `solve_block`.
    """

    order: Indices
    starts: NDArray[np.int64]
    left_index: Indices
    right_index: Indices
    y: NDArray[np.int8]
    cost: Values
    duals: Values


def group_terms(
    groups: NDArray[np.integer],
    n_groups: int,
    left_index: Indices,
    right_index: Indices,
    y: NDArray[np.int8],
    cost: Values,
) -> CoordinateBlock:
    """Build a block from the groups of its terms.

    Parameters
    ----------
    groups : integer array, shape (N,)
        Group of each term; negative for terms outside the block.
    n_groups : int
        Number of groups G.
    left_index, right_index, y, cost
        See `CoordinateBlock`, for all N terms.

    Returns
    -------
    CoordinateBlock
        The block with duals of 0. Terms keep their order within a group.
    """
    selected = np.flatnonzero(groups >= 0)
    order = selected[np.argsort(groups[selected], kind="stable")].astype(np.int32)
    starts = np.concatenate(([0], np.cumsum(np.bincount(groups[order], minlength=n_groups))))
    selected_right = right_index[order] if right_index.size else right_index
    return CoordinateBlock(
        order, starts, left_index[order], selected_right, y[order], cost[order], np.zeros(order.size)
    )


def solve_block(
    block: CoordinateBlock,
    left: Values,
    right: Values,
    coefficients: Values,
    fitted: Values,
    solver_options: BlockSolverOptions,
) -> None:
    """Solve a block. Its objective never increases.

    Parameters
    ----------
    block : CoordinateBlock
        M terms in G groups.
    left, right : float64 arrays, shapes (·, K), (·, p)
        Rows of inputs.
    coefficients : float64 array, shape (G, K) or (G, K·p)
        Initial coefficients. Updated in place.
    fitted : float64 array, shape (N,)
        Scores f of all terms of the fit. Those of the block are updated in place.
    solver_options : BlockSolverOptions
        Accuracy and number of threads.
    """
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    terms = SvmTerms(
        left,
        right,
        (left * left).sum(axis=1),
        (right * right).sum(axis=1),
        block.left_index,
        block.right_index,
        block.y,
        block.cost,
    )
    n_groups, n_terms = len(coefficients), block.order.size
    block_fitted, diagnostics = fitted[block.order], np.empty((n_groups, 3))
    offsets, low = np.empty(n_terms), np.empty(n_terms)

    def solve_span(span: tuple[int, int]) -> None:
        solve_groups(
            terms,
            block.starts,
            span,
            solver_options.loss,
            solver_options.tolerance,
            solver_options.max_sweeps,
            coefficients,
            block_fitted,
            block.duals,
            offsets,
            low,
            diagnostics,
        )

    spans = _split_groups(block.starts, solver_options.n_threads)
    if len(spans) == 1:
        solve_span(spans[0])
    else:
        with ThreadPoolExecutor(solver_options.n_threads) as threads:
            list(threads.map(solve_span, spans))
    fitted[block.order] = block_fitted


def _split_groups(starts: NDArray[np.int64], n_threads: int) -> list[tuple[int, int]]:
    """Split G groups into contiguous spans with about equally many terms."""
    n_groups = len(starts) - 1
    if n_threads == 1 or n_groups == 1:
        return [(0, n_groups)]
    cuts = np.searchsorted(starts, np.linspace(0, starts[-1], _CHUNKS_PER_THREAD * n_threads + 1)[1:-1])
    edges = np.unique(np.concatenate(([0], np.minimum(cuts, n_groups), [n_groups]))).tolist()
    return list(pairwise(edges))

"""Pairs of a present and a later stage: which there are, what they weigh, what they ask of q.

Non-negative additive latent factors: f_{t′,t}(x_ij) = (a_i ∘ b_j)ᵀ (1 − Σ_{l=t′+1..t} q_l), eq. (8).

a_i = A u_i + Σ_h a_{h, s_ih} and b_j = B v_j + Σ_h b_{h, o_jh}; all of A, B, a, b, q are ≥ 0, so that f falls
with t and grows with t′.

The blocks of the fit: A, a_h, B, b_h and q_r, each a drifted SVM (or one a level), eqs. (13) to (18).

With everything else fixed, f is linear in a block: f_e = x_eᵀβ + d_e. A block that is penalised by λ‖β‖² is
the problem of `symscreen.multistage.weighted_svm` with costs c_e = w_e/(2 λ n).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen._numba import compile_kernel
from symscreen.errors import OptionError
from symscreen.multistage._kernels import SvmTerms
from symscreen.multistage.weighted_svm import solve_groups
from symscreen.targets.stages import (
    find_stage_index,
    list_stage_pairs,
    mask_observed_pairs,
    parse_pair_weights,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Outcomes, Values
    from symscreen.multistage.entity_encoding import EncodedEntities

    Indices = NDArray[np.int32]

__all__ = [
    "BlockSolverOptions",
    "CoordinateBlock",
    "EmbeddingParameters",
    "LatentFactors",
    "compute_class_weights",
    "compute_embeddings",
    "compute_remaining_mass",
    "compute_scores",
    "group_terms",
    "list_stage_pairs",
    "mask_observed_pairs",
    "parse_pair_weights",
    "select_pairs",
    "solve_block",
]


def compute_remaining_mass(q: Values) -> Values:
    """Compute 1 − Σ_{l=t′+1..t} q_l for every pair.

    Parameters
    ----------
    q : float64 array, shape (T, K)
        Stage effects q_1 … q_T ≥ 0.

    Returns
    -------
    float64 array, shape (P, K)
        In the order of `list_stage_pairs`. Each sum is taken from t down to t′ + 1: so it is never less,
        rounding included, for an earlier t′ or a later t.

    Examples
    --------
    >>> compute_remaining_mass(np.array([[0.25], [0.5]])).tolist()
    [[0.75], [0.25], [0.5]]
    """
    found = []
    for present, later in list_stage_pairs(len(q)):
        total = np.zeros(q.shape[1])
        for stage in range(later, present, -1):
            total = total + q[stage - 1]
        found.append(1.0 - total)
    return np.array(found)


def compute_class_weights(outcomes: Outcomes) -> Values:
    """Weigh the two classes of each pair inversely to their numbers.

    Parameters
    ----------
    outcomes : int8 array, shape (R, T + 1)
        Y.

    Returns
    -------
    float64 array, shape (P, 2)
        Of −1 and of +1: n/(2 n_class) with n observations of the pair, so that weights average 1; 1 where
        only one class was observed.

    Examples
    --------
    >>> compute_class_weights(np.array([[1, -1], [1, -1], [1, -1], [1, 1]], dtype=np.int8)).round(3).tolist()
    [[0.667, 2.0]]
    """
    counted = mask_observed_pairs(outcomes)
    found = np.ones((counted.shape[1], 2))
    for p, (_, later) in enumerate(list_stage_pairs(outcomes.shape[1] - 1)):
        sizes = np.array([(counted[:, p] & (outcomes[:, later] == sign)).sum() for sign in (-1, 1)])
        if sizes.all():
            found[p] = sizes.sum() / (2.0 * sizes)
    return found


def select_pairs(present: Any, stage: Any, stages: Sequence[str]) -> list[int]:
    """Find the pairs from a present stage, to a later stage, or both; all without either.

    Returns
    -------
    list of int
        Places in the order of `list_stage_pairs`.
    """
    start = None if present is None else find_stage_index(present, stages)
    end = None if stage is None else find_stage_index(stage, stages)
    pairs = list_stage_pairs(len(stages) - 1)
    found = [p for p, pair in enumerate(pairs) if start in {None, pair[0]} and end in {None, pair[1]}]
    if not found:
        raise OptionError(f"no pair leads from stage {present!r} to stage {stage!r}: {' < '.join(stages)}")
    return found


@dataclass(frozen=True, eq=False)
class EmbeddingParameters:
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
    def level_means(self) -> tuple[Values, ...]:
        """Of each variable the mean over levels: what a level has that training did not show."""
        return tuple(table.mean(axis=0) for table in self.tables)

    def compute_squared_norms(self) -> tuple[float, float]:
        """Return ‖A‖² and ‖a‖²."""
        return float((self.matrix**2).sum()), float(sum((table**2).sum() for table in self.tables))


@dataclass(frozen=True, eq=False)
class LatentFactors:
    """All that is learnt.

    Parameters
    ----------
    users, items : Effects
        A, a and B, b.
    q : float64 array, shape (T, K)
        Stage effects.
    """

    users: EmbeddingParameters
    items: EmbeddingParameters
    q: Values

    def copy(self) -> LatentFactors:
        """Copy every array."""
        sides = [
            EmbeddingParameters(one.matrix.copy(), tuple(t.copy() for t in one.tables))
            for one in (self.users, self.items)
        ]
        return LatentFactors(sides[0], sides[1], self.q.copy())


def compute_embeddings(parameters: EmbeddingParameters, encoded: EncodedEntities) -> Values:
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
    found = np.zeros((len(encoded.numeric), len(parameters.matrix)))
    for j in range(encoded.numeric.shape[1]):  # one by one: a fixed order, and no BLAS
        found += encoded.numeric[:, j, None] * parameters.matrix[:, j]
    for table, mean, levels in zip(
        parameters.tables, parameters.level_means, encoded.level_codes.T, strict=True
    ):
        found += np.where(levels[:, None] >= 0, table[levels], mean)
    return found


def compute_scores(
    users: Values,
    items: Values,
    q: Values,
    user_indices: NDArray[np.integer],
    item_indices: NDArray[np.integer],
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
        Places in the order of `list_stage_pairs`.

    Returns
    -------
    float64 array, shape (R, len(pairs))
        Rounding keeps both orders: every pair is summed in the same order, and each term of one is at most
        the other's, so that the sums are.
    """
    found = np.empty((len(user_indices), len(pairs)))
    _fill_scores(users, items, compute_remaining_mass(q)[pairs], user_indices, item_indices, found)
    return found


@compile_kernel
def _fill_scores(
    users: Values,
    items: Values,
    remaining_mass: Values,
    user_indices: NDArray[np.integer],
    item_indices: NDArray[np.integer],
    out: Values,
) -> None:
    for row in range(out.shape[0]):
        a, b = users[user_indices[row]], items[item_indices[row]]
        for p in range(out.shape[1]):
            total = 0.0
            for k in range(a.size):
                total += (a[k] * b[k]) * remaining_mass[p, k]
            out[row, p] = total


_CHUNKS_PER_THREAD = 8  # of levels, for each thread: some levels have far more terms than others


@dataclass(frozen=True)
class BlockSolverOptions:
    """How well a block is solved, and with how many threads.

    Parameters
    ----------
    loss : int
        See `symscreen.multistage._kernels`.
    tolerance : float
        Of the duality gap, as a share of the objective.
    sweeps : int
        Over the terms, at most.
    jobs : int
        Threads; their number changes no result.
    """

    loss: int
    tolerance: float
    max_sweeps: int
    n_threads: int


@dataclass(frozen=True, eq=False)
class CoordinateBlock:
    """The terms of a block, put into groups; kept from one iteration to the next, with its duals.

    Parameters
    ----------
    order : int32 array, shape (M,)
        Which terms of the fit there are, those of a group side by side.
    starts : int64 array, shape (G + 1,)
        Where groups begin.
    lefts, rights : int32 arrays, shape (M,)
        The rows of inputs of each term; `rights` may be empty.
    y : int8 array, shape (M,)
        Signs.
    cost : float64 array, shape (M,)
        c_e.
    gamma : float64 array, shape (M,)
        Duals, changed by `solve_block`.
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
    """Put terms into groups.

    Parameters
    ----------
    groups : integer array, shape (N,)
        The group of each term; below 0 for a term that the block does not touch.
    sizes : int
        G.
    lefts, rights, y, cost
        As of `Block`, for all N terms.

    Returns
    -------
    Block
        In each group terms stand in the order in which they came.
    """
    touched = np.flatnonzero(groups >= 0)
    order = touched[np.argsort(groups[touched], kind="stable")].astype(np.int32)
    starts = np.concatenate(([0], np.cumsum(np.bincount(groups[order], minlength=n_groups))))
    there = right_index[order] if right_index.size else right_index
    return CoordinateBlock(
        order, starts, left_index[order], there, y[order], cost[order], np.zeros(order.size)
    )


def solve_block(
    block: CoordinateBlock,
    left: Values,
    right: Values,
    coefficients: Values,
    fitted: Values,
    solver_options: BlockSolverOptions,
) -> None:
    """Solve a block; its objective does not rise.

    Parameters
    ----------
    block : Block
        M terms in G groups.
    left, right : float64 arrays, shapes (·, K), (·, p)
        Rows of inputs.
    coefficients : float64 array, shape (G, K) or (G, K·p)
        Where to start; changed in place.
    fitted : float64 array, shape (N,)
        f of all terms of the fit; those of the block are changed in place.
    precision : Precision
        How well.
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
    groups, m = len(coefficients), block.order.size
    mine, drift, low, told = fitted[block.order], np.empty(m), np.empty(m), np.empty((groups, 3))

    def solve_span(span: tuple[int, int]) -> None:
        solve_groups(
            terms,
            block.starts,
            span,
            solver_options.loss,
            solver_options.tolerance,
            solver_options.max_sweeps,
            coefficients,
            mine,
            block.duals,
            drift,
            low,
            told,
        )

    spans = _split_groups(block.starts, solver_options.n_threads)
    if len(spans) == 1:
        solve_span(spans[0])
    else:
        with ThreadPoolExecutor(solver_options.n_threads) as threads:
            list(threads.map(solve_span, spans))
    fitted[block.order] = mine


def _split_groups(starts: NDArray[np.int64], n_threads: int) -> list[tuple[int, int]]:
    """Cut groups into runs of about as many terms."""
    groups = len(starts) - 1
    if n_threads == 1 or groups == 1:
        return [(0, groups)]
    cuts = np.searchsorted(starts, np.linspace(0, starts[-1], _CHUNKS_PER_THREAD * n_threads + 1)[1:-1])
    edges = np.unique(np.concatenate(([0], np.minimum(cuts, groups), [groups]))).tolist()
    return list(pairwise(edges))

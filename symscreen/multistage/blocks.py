"""The blocks of the fit: A, a_h, B, b_h and q_r, each a drifted SVM (or one a level), eqs. (13) to (18).

With everything else fixed, f is linear in a block: f_e = x_eᵀβ + d_e. A block that is penalised by λ‖β‖² is
the problem of `symscreen.multistage.descent` with costs c_e = w_e/(2 λ n).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from symscreen.multistage.descent import Terms, solve_groups

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Places = NDArray[np.int32]

__all__ = ["Block", "Precision", "grouped_by", "solve_block"]

_CHUNKS = 8  # of levels, for each thread: some levels have far more terms than others


@dataclass(frozen=True)
class Precision:
    """How well a block is solved, and with how many threads.

    Parameters
    ----------
    loss : int
        See `symscreen.multistage.losses`.
    tolerance : float
        Of the duality gap, as a share of the objective.
    sweeps : int
        Over the terms, at most.
    jobs : int
        Threads; their number changes no result.
    """

    loss: int
    tolerance: float
    sweeps: int
    jobs: int


@dataclass(frozen=True, eq=False)
class Block:
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

    order: Places
    starts: NDArray[np.int64]
    lefts: Places
    rights: Places
    y: NDArray[np.int8]
    cost: Values
    gamma: Values


def grouped_by(
    groups: NDArray[np.integer], sizes: int, lefts: Places, rights: Places, y: NDArray[np.int8], cost: Values
) -> Block:
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
    starts = np.concatenate(([0], np.cumsum(np.bincount(groups[order], minlength=sizes))))
    there = rights[order] if rights.size else rights
    return Block(order, starts, lefts[order], there, y[order], cost[order], np.zeros(order.size))


def solve_block(
    block: Block, left: Values, right: Values, coefficients: Values, fitted: Values, precision: Precision
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
    terms = Terms(
        left,
        right,
        (left * left).sum(axis=1),
        (right * right).sum(axis=1),
        block.lefts,
        block.rights,
        block.y,
        block.cost,
    )
    groups, m = len(coefficients), block.order.size
    mine, drift, low, told = fitted[block.order], np.empty(m), np.empty(m), np.empty((groups, 3))

    def work(span: tuple[int, int]) -> None:
        solve_groups(
            terms,
            block.starts,
            span,
            precision.loss,
            precision.tolerance,
            precision.sweeps,
            coefficients,
            mine,
            block.gamma,
            drift,
            low,
            told,
        )

    spans = _spans(block.starts, precision.jobs)
    if len(spans) == 1:
        work(spans[0])
    else:
        with ThreadPoolExecutor(precision.jobs) as threads:
            list(threads.map(work, spans))
    fitted[block.order] = mine


def _spans(starts: NDArray[np.int64], jobs: int) -> list[tuple[int, int]]:
    """Cut groups into runs of about as many terms."""
    groups = len(starts) - 1
    if jobs == 1 or groups == 1:
        return [(0, groups)]
    cuts = np.searchsorted(starts, np.linspace(0, starts[-1], _CHUNKS * jobs + 1)[1:-1])
    edges = np.unique(np.concatenate(([0], np.minimum(cuts, groups), [groups]))).tolist()
    return list(pairwise(edges))

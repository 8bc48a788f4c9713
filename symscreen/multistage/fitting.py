"""Algorithm 1: the blocks A, a, B, b, q in turn, until the loss of eq. (9) stops falling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen.multistage.blocks import Block, grouped_by, solve_block
from symscreen.multistage.losses import losses_of
from symscreen.multistage.model import embedded
from symscreen.multistage.pairs import observed_pairs, remainders, stage_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from symscreen.multistage.blocks import Precision
    from symscreen.multistage.features import Coded
    from symscreen.multistage.model import Effects, Factors

    Values = NDArray[np.float64]
    Places = NDArray[np.int32]

__all__ = ["Penalties", "Problem", "Step", "descend", "loss_now", "problem_of"]


class Step(NamedTuple):
    """The loss after one block."""

    iteration: int  # from 1; 0 is the start
    block: str
    loss: float


class Penalties(NamedTuple):
    """λ of eq. (9): of A and B, of a and b, of q."""

    matrices: float
    levels: float
    stages: float


@dataclass(frozen=True, eq=False)
class Problem:
    """What is fitted: one term for each observation of each pair of stages.

    Parameters
    ----------
    users, items : Coded
        Features of n users and m items.
    user, item : int32 arrays, shape (R,)
        Of each row.
    row, pair : int32 arrays, shape (N,)
        Of each term; terms of a row stand side by side.
    y : int8 array, shape (N,)
        Y_ijt.
    weight : float64 array, shape (N,)
        w_{t′t}, times the weight of its class, over the number by which eq. (9) divides.
    last : int
        T.
    """

    users: Coded
    items: Coded
    user: Places
    item: Places
    row: Places
    pair: Places
    y: NDArray[np.int8]
    weight: Values
    last: int


def problem_of(
    sides: tuple[Coded, Coded],
    places: tuple[NDArray[np.int64], NDArray[np.int64]],
    outcomes: NDArray[np.int8],
    weights: Values,
    divisor: float | None,
) -> Problem:
    """List the terms of eq. (9).

    Parameters
    ----------
    sides : (Coded, Coded)
        Users and items.
    places : (int64 array, int64 array), shape (R,)
        The user and the item of each row.
    outcomes : int8 array, shape (R, T + 1)
        Y.
    weights : float64 array, shape (P, 2)
        Of each pair, for Y_t = −1 and +1; pairs of weight 0 are left out.
    divisor : float or None
        What the sum is divided by; None for the sum of the weights.

    Returns
    -------
    Problem
        In the order of the rows.
    """
    last = outcomes.shape[1] - 1
    later = np.array([t for _, t in stage_pairs(last)])
    row, pair = (one.astype(np.int32) for one in np.nonzero(observed_pairs(outcomes) & weights.any(axis=1)))
    y = outcomes[row, later[pair]]
    weight = weights[pair, (y > 0).astype(np.int64)]
    weight = weight / (weight.sum() if divisor is None else divisor)
    user, item = (one.astype(np.int32) for one in places)
    return Problem(*sides, user, item, row, pair, y, weight, last)


def descend(
    problem: Problem,
    factors: Factors,
    penalties: Penalties,
    precision: Precision,
    *,
    tolerance: float,
    iterations: int,
    tell: Callable[[Step], None],
) -> tuple[int, bool]:
    """Improve factors block by block.

    Parameters
    ----------
    problem : Problem
        What is fitted.
    factors : Factors
        Where to start; changed in place.
    penalties : Penalties
        λ_1, λ_2, λ_3.
    precision : Precision
        Of each block.
    tolerance : float
        Stop when the loss falls in an iteration by less than this share of itself.
    iterations : int
        At most.
    tell : callable
        Called with the loss at the start and after each block.

    Returns
    -------
    iterations : int
        How many were made.
    converged : bool
        Whether the tolerance was met.
    """
    descent = _Descent(problem, factors, penalties, precision)
    loss = descent.loss()
    tell(Step(0, "start", loss))
    for iteration in range(1, iterations + 1):
        before = loss
        for name in descent.blocks():
            loss = descent.loss()
            tell(Step(iteration, name, loss))
        if before - loss < tolerance * before:
            return iteration, True
        descent.refresh()  # what rounding has added to the fitted values is dropped
    return iterations, False


def loss_now(problem: Problem, factors: Factors, penalties: Penalties, loss: int) -> float:
    """Compute the loss of eq. (9) from nothing but the factors.

    Parameters
    ----------
    problem, factors, penalties
        As for `descend`.
    loss : int
        See `symscreen.multistage.losses`.

    Returns
    -------
    float
        ≥ 0.
    """
    return _total(problem, factors, penalties, _fitted(problem, factors), loss)


class _Descent:
    """The state of a fit: factors, what they fit, and the terms of each block with its duals."""

    def __init__(
        self, problem: Problem, factors: Factors, penalties: Penalties, precision: Precision
    ) -> None:
        self._problem, self._factors = problem, factors
        self._penalties, self._precision = penalties, precision
        self._pairs = len(stage_pairs(problem.last))
        own = [problem.user[problem.row], problem.item[problem.row]]
        sides = (problem.users, problem.items)
        self._sides = [
            self._side_blocks(sides[i], own[i], own[1 - i] * np.int32(self._pairs) + problem.pair)
            for i in (0, 1)
        ]
        self._stages = [self._stage_block(r) for r in range(1, problem.last + 1)]
        self.refresh()

    def refresh(self) -> None:
        """Compute anew what the factors fit."""
        self._fitted = _fitted(self._problem, self._factors)

    def loss(self) -> float:
        """Compute the loss of eq. (9)."""
        return _total(self._problem, self._factors, self._penalties, self._fitted, self._precision.loss)

    def blocks(self) -> Iterator[str]:
        """Solve one block after another, A, a, B, b, q, and tell the name of each."""
        yield from self._solve_side(0, "A", "a")
        yield from self._solve_side(1, "B", "b")
        yield from self._solve_stages()

    def _side_blocks(self, coded: Coded, own: Places, lefts: Places) -> tuple[Block | None, list[Block]]:
        """Return the block of A or B, if there are numerical features, and those of a_h or b_h."""
        problem, none = self._problem, np.empty(0, dtype=np.int32)
        costs = [problem.weight / (2.0 * one) for one in self._penalties]
        matrix = None
        if coded.numeric.shape[1]:
            matrix = grouped_by(np.zeros(len(own), dtype=np.int8), 1, lefts, own, problem.y, costs[0])
        tables = [
            grouped_by(levels[own], int(levels.max()) + 1, lefts, none, problem.y, costs[1])
            for levels in coded.levels.T
        ]
        return matrix, tables

    def _stage_block(self, r: int) -> Block:
        """Return the block of q_r: the pairs with t′ < r ≤ t."""
        problem = self._problem
        touches = np.array([present < r <= later for present, later in stage_pairs(problem.last)])
        groups = np.where(touches[problem.pair], 0, -1).astype(np.int8)
        cost = problem.weight / (2.0 * self._penalties.stages)
        return grouped_by(groups, 1, problem.row, np.empty(0, dtype=np.int32), problem.y, cost)

    def _solve_side(self, i: int, matrix_name: str, table_name: str) -> Iterator[str]:
        coded = (self._problem.users, self._problem.items)[i]
        effects: Effects = (self._factors.users, self._factors.items)[i]
        others = self._embedded(1 - i)
        # the inputs of a_i in f are b_j ∘ (1 − Σ q): one row for each item and pair
        left = (others[:, None, :] * remainders(self._factors.q)).reshape(-1, others.shape[1])
        matrix, tables = self._sides[i]
        if matrix is not None:
            beta = effects.matrix.reshape(1, -1).copy()
            solve_block(matrix, left, coded.numeric, beta, self._fitted, self._precision)
            effects.matrix[:] = beta.reshape(effects.matrix.shape)
            yield matrix_name
        for h, (block, table) in enumerate(zip(tables, effects.tables, strict=True)):
            solve_block(block, left, np.empty((0, 0)), table, self._fitted, self._precision)
            yield f"{table_name}{h + 1}"

    def _solve_stages(self) -> Iterator[str]:
        problem, q = self._problem, self._factors.q
        a, b = self._embedded(0), self._embedded(1)
        left = -(a[problem.user] * b[problem.item])  # f = (a ∘ b)ᵀ1 − Σ_r (a ∘ b)ᵀq_r
        for r, block in enumerate(self._stages):
            solve_block(block, left, np.empty((0, 0)), q[r : r + 1], self._fitted, self._precision)
            yield f"q{r + 1}"

    def _embedded(self, i: int) -> Values:
        sides = ((self._factors.users, self._problem.users), (self._factors.items, self._problem.items))
        return embedded(*sides[i])


def _fitted(problem: Problem, factors: Factors) -> Values:
    from symscreen.multistage.model import scores

    a, b = embedded(factors.users, problem.users), embedded(factors.items, problem.items)
    every = list(range(len(stage_pairs(problem.last))))
    all_pairs = scores(a, b, factors.q, problem.user, problem.item, every)
    return all_pairs[problem.row, problem.pair]


def _total(problem: Problem, factors: Factors, penalties: Penalties, fitted: Values, loss: int) -> float:
    (big_a, small_a), (big_b, small_b) = factors.users.squares(), factors.items.squares()
    observed = float((problem.weight * losses_of(problem.y * fitted, loss)).sum())
    return (
        observed
        + penalties.matrices * (big_a + big_b)
        + penalties.levels * (small_a + small_b)
        + penalties.stages * float((factors.q**2).sum())
    )

"""Algorithm 1: the blocks A, a, B, b, q in turn, until the loss of eq. (9) stops falling.

What is told while a fit goes on: a trace, a callback, a bar.

Fits from several starts, of which the one with the least loss is kept.

Where a fit starts: random factors, or those of the fit before as far as names agree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from symscreen.errors import OptionError
from symscreen.multistage._kernels import HINGE, PSI, compute_losses
from symscreen.multistage.entity_encoding import find_indices
from symscreen.multistage.factor_model import (
    CoordinateBlock,
    EmbeddingParameters,
    LatentFactors,
    compute_embeddings,
    compute_remaining_mass,
    group_terms,
    solve_block,
)
from symscreen.targets.stages import list_stage_pairs, mask_observed_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType
    from typing import Self

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.multistage.entity_encoding import EncodedEntities, EntityEncoder
    from symscreen.multistage.factor_model import BlockSolverOptions

    Indices = NDArray[np.int32]

__all__ = [
    "FitAttempt",
    "FitProblem",
    "FitProgress",
    "FitStep",
    "Penalties",
    "build_problem",
    "compute_objective",
    "descend",
    "draw_factors",
    "fit_from_starts",
    "transfer_factors",
]


class FitStep(NamedTuple):
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
class FitProblem:
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

    users: EncodedEntities
    items: EncodedEntities
    user_index: Indices
    item_index: Indices
    row_index: Indices
    pair_index: Indices
    y: NDArray[np.int8]
    weight: Values
    last_stage: int


def build_problem(
    encoded: tuple[EncodedEntities, EncodedEntities],
    indices: tuple[NDArray[np.int64], NDArray[np.int64]],
    outcomes: NDArray[np.int8],
    weights: Values,
    divisor: float | None,
) -> FitProblem:
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
    later = np.array([t for _, t in list_stage_pairs(last)])
    row, pair = (
        one.astype(np.int32) for one in np.nonzero(mask_observed_pairs(outcomes) & weights.any(axis=1))
    )
    y = outcomes[row, later[pair]]
    weight = weights[pair, (y > 0).astype(np.int64)]
    weight = weight / (weight.sum() if divisor is None else divisor)
    user, item = (one.astype(np.int32) for one in indices)
    return FitProblem(*encoded, user, item, row, pair, y, weight, last)


def descend(
    problem: FitProblem,
    factors: LatentFactors,
    penalties: Penalties,
    solver_options: BlockSolverOptions,
    *,
    tolerance: float,
    iterations: int,
    on_step: Callable[[FitStep], None],
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
    descent = _BlockDescent(problem, factors, penalties, solver_options)
    loss = descent.compute_loss()
    on_step(FitStep(0, "start", loss))
    for iteration in range(1, iterations + 1):
        before = loss
        for name in descent.solve_blocks():
            loss = descent.compute_loss()
            on_step(FitStep(iteration, name, loss))
        if before - loss < tolerance * before:
            return iteration, True
        descent.refresh()  # what rounding has added to the fitted values is dropped
    return iterations, False


def compute_objective(problem: FitProblem, factors: LatentFactors, penalties: Penalties, loss: int) -> float:
    """Compute the loss of eq. (9) from nothing but the factors.

    Parameters
    ----------
    problem, factors, penalties
        As for `descend`.
    loss : int
        See `symscreen.multistage._kernels`.

    Returns
    -------
    float
        ≥ 0.
    """
    return _compute_objective_from_fitted(
        problem, factors, penalties, _compute_fitted_values(problem, factors), loss
    )


class _BlockDescent:
    """The state of a fit: factors, what they fit, and the terms of each block with its duals."""

    def __init__(
        self,
        problem: FitProblem,
        factors: LatentFactors,
        penalties: Penalties,
        solver_options: BlockSolverOptions,
    ) -> None:
        self._problem, self._factors = problem, factors
        self._penalties, self._solver_options = penalties, solver_options
        self._n_pairs = len(list_stage_pairs(problem.last_stage))
        own = [problem.user_index[problem.row_index], problem.item_index[problem.row_index]]
        sides = (problem.users, problem.items)
        self._entity_blocks = [
            self._build_entity_blocks(
                sides[i], own[i], own[1 - i] * np.int32(self._n_pairs) + problem.pair_index
            )
            for i in (0, 1)
        ]
        self._stage_blocks = [self._build_stage_block(r) for r in range(1, problem.last_stage + 1)]
        self.refresh()

    def refresh(self) -> None:
        """Compute anew what the factors fit."""
        self._fitted_values = _compute_fitted_values(self._problem, self._factors)

    def compute_loss(self) -> float:
        """Compute the loss of eq. (9)."""
        return _compute_objective_from_fitted(
            self._problem, self._factors, self._penalties, self._fitted_values, self._solver_options.loss
        )

    def solve_blocks(self) -> Iterator[str]:
        """Solve one block after another, A, a, B, b, q, and tell the name of each."""
        yield from self._solve_entity(0, "A", "a")
        yield from self._solve_entity(1, "B", "b")
        yield from self._solve_stages()

    def _build_entity_blocks(
        self, encoded: EncodedEntities, own_index: Indices, left_index: Indices
    ) -> tuple[CoordinateBlock | None, list[CoordinateBlock]]:
        """Return the block of A or B, if there are numerical features, and those of a_h or b_h."""
        problem, none = self._problem, np.empty(0, dtype=np.int32)
        costs = [problem.weight / (2.0 * one) for one in self._penalties]
        matrix = None
        if encoded.numeric.shape[1]:
            matrix = group_terms(
                np.zeros(len(own_index), dtype=np.int8), 1, left_index, own_index, problem.y, costs[0]
            )
        tables = [
            group_terms(levels[own_index], int(levels.max()) + 1, left_index, none, problem.y, costs[1])
            for levels in encoded.level_codes.T
        ]
        return matrix, tables

    def _build_stage_block(self, r: int) -> CoordinateBlock:
        """Return the block of q_r: the pairs with t′ < r ≤ t."""
        problem = self._problem
        touches = np.array([present < r <= later for present, later in list_stage_pairs(problem.last_stage)])
        groups = np.where(touches[problem.pair_index], 0, -1).astype(np.int8)
        cost = problem.weight / (2.0 * self._penalties.stages)
        return group_terms(groups, 1, problem.row_index, np.empty(0, dtype=np.int32), problem.y, cost)

    def _solve_entity(self, i: int, matrix_name: str, table_name: str) -> Iterator[str]:
        coded = (self._problem.users, self._problem.items)[i]
        effects: EmbeddingParameters = (self._factors.users, self._factors.items)[i]
        others = self._compute_own_embeddings(1 - i)
        # the inputs of a_i in f are b_j ∘ (1 − Σ q): one row for each item and pair
        left = (others[:, None, :] * compute_remaining_mass(self._factors.q)).reshape(-1, others.shape[1])
        matrix, tables = self._entity_blocks[i]
        if matrix is not None:
            beta = effects.matrix.reshape(1, -1).copy()
            solve_block(matrix, left, coded.numeric, beta, self._fitted_values, self._solver_options)
            effects.matrix[:] = beta.reshape(effects.matrix.shape)
            yield matrix_name
        for h, (block, table) in enumerate(zip(tables, effects.tables, strict=True)):
            solve_block(block, left, np.empty((0, 0)), table, self._fitted_values, self._solver_options)
            yield f"{table_name}{h + 1}"

    def _solve_stages(self) -> Iterator[str]:
        problem, q = self._problem, self._factors.q
        a, b = self._compute_own_embeddings(0), self._compute_own_embeddings(1)
        left = -(a[problem.user_index] * b[problem.item_index])  # f = (a ∘ b)ᵀ1 − Σ_r (a ∘ b)ᵀq_r
        for r, block in enumerate(self._stage_blocks):
            solve_block(
                block, left, np.empty((0, 0)), q[r : r + 1], self._fitted_values, self._solver_options
            )
            yield f"q{r + 1}"

    def _compute_own_embeddings(self, i: int) -> Values:
        sides = ((self._factors.users, self._problem.users), (self._factors.items, self._problem.items))
        return compute_embeddings(*sides[i])


def _compute_fitted_values(problem: FitProblem, factors: LatentFactors) -> Values:
    from symscreen.multistage.factor_model import compute_scores

    a, b = compute_embeddings(factors.users, problem.users), compute_embeddings(factors.items, problem.items)
    every = list(range(len(list_stage_pairs(problem.last_stage))))
    all_pairs = compute_scores(a, b, factors.q, problem.user_index, problem.item_index, every)
    return all_pairs[problem.row_index, problem.pair_index]


def _compute_objective_from_fitted(
    problem: FitProblem, factors: LatentFactors, penalties: Penalties, fitted: Values, loss: int
) -> float:
    (big_a, small_a), (big_b, small_b) = (
        factors.users.compute_squared_norms(),
        factors.items.compute_squared_norms(),
    )
    observed = float((problem.weight * compute_losses(problem.y * fitted, loss)).sum())
    return (
        observed
        + penalties.matrices * (big_a + big_b)
        + penalties.levels * (small_a + small_b)
        + penalties.stages * float((factors.q**2).sum())
    )


class FitProgress:
    """A callable for `descend` that keeps every step and tells whoever asked.

    Parameters
    ----------
    trace : list of Step
        Steps are appended to it.
    rounds : int
        How many there may be.
    callback : callable or None
        Called with each step.
    show : bool
        Whether to show a bar on standard error.
    """

    def __init__(
        self,
        trace: list[FitStep],
        max_rounds: int,
        callback: Callable[[FitStep], None] | None,
        *,
        show_bar: bool,
    ) -> None:
        self._trace, self._max_rounds, self._callback, self._show_bar = trace, max_rounds, callback, show_bar
        self._bar: Any = None

    def __enter__(self) -> Self:
        if self._show_bar:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
            self._bar = Progress(*columns, console=Console(stderr=True))
            self._bar.start()
            self._task = self._bar.add_task("starting", total=self._max_rounds)
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, step: FitStep) -> None:
        """Keep a step, and tell of it."""
        self._trace.append(step)
        if self._bar is not None:
            words = f"iteration {step.iteration}, block {step.block}: loss {step.loss:.6g}"
            self._bar.update(self._task, description=words, completed=max(step.iteration - 1, 0))
        if self._callback is not None:
            self._callback(step)


@dataclass(frozen=True, eq=False)
class FitAttempt:
    """One fit.

    Parameters
    ----------
    factors : Factors
        Where it ended.
    trace : list of Step
        The loss at the start and after each block.
    rounds : int
        Rounds made.
    converged : bool
        Whether the tolerance was met.
    """

    factors: LatentFactors
    trace: list[FitStep]
    n_rounds: int
    converged: bool


def fit_from_starts(
    problem: FitProblem,
    starts: Iterable[LatentFactors],
    penalties: Penalties,
    solver_options: BlockSolverOptions,
    *,
    tolerance: float,
    max_rounds: int,
    hinge_first: bool,
    callback: Callable[[FitStep], Any] | None,
    show_bar: bool,
) -> FitAttempt:
    """Fit from each start; keep the best.

    Parameters
    ----------
    problem, penalties, precision
        As for `descend`.
    starts : iterable of Factors
        One at least; changed in place.
    tolerance, rounds : float, int
        When each fit stops.
    hinge_first : bool
        Whether a fit of the ψ-loss begins from the hinge's solution, which leads near a good local minimum.
    callback, show
        As for `Progress`.

    Returns
    -------
    Attempt
        The first of equals.
    """
    found = []
    for factors in starts:
        trace: list[FitStep] = []
        limits: dict[str, Any] = {"tolerance": tolerance, "iterations": max_rounds}
        if solver_options.loss == PSI and hinge_first:
            descend(
                problem,
                factors,
                penalties,
                replace(solver_options, loss=HINGE),
                on_step=_ignore_step,
                **limits,
            )
        with FitProgress(trace, max_rounds, callback, show_bar=show_bar) as tell:
            ended = descend(problem, factors, penalties, solver_options, on_step=tell, **limits)
        found.append(FitAttempt(factors, trace, *ended))
    return min(found, key=lambda one: one.trace[-1].loss)


def _ignore_step(step: FitStep) -> None:
    """Tell nobody."""


def draw_factors(
    encoders: tuple[EntityEncoder, EntityEncoder], n_factors: int, last_stage: int, rng: np.random.RandomState
) -> LatentFactors:
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
    users, items = (_draw_embedding_parameters(side, n_factors, rng) for side in encoders)
    return LatentFactors(users, items, rng.uniform(size=(last_stage, n_factors)))


def transfer_factors(
    fresh: LatentFactors,
    encoders: tuple[EntityEncoder, EntityEncoder],
    previous: LatentFactors,
    previous_encoders: tuple[EntityEncoder, EntityEncoder],
) -> LatentFactors:
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
    shapes = [(f.q.shape, f.users.matrix.shape, f.items.matrix.shape) for f in (fresh, previous)]
    variables = [
        [(side.numeric_names, side.categorical_names) for side in pair]
        for pair in (encoders, previous_encoders)
    ]
    if shapes[0] != shapes[1] or variables[0] != variables[1]:
        raise OptionError(
            "warm_start goes on from a fit with as many factors and stages and the same features: "
            "set warm_start=False to begin anew"
        )
    effects = []
    old, new = (previous.users, previous.items), (fresh.users, fresh.items)
    for i in (0, 1):
        tables = []
        for h, table in enumerate(new[i].tables):
            places = find_indices(previous_encoders[i].known_levels[h], encoders[i].known_levels[h])
            tables.append(np.where(places[:, None] >= 0, old[i].tables[h][places], table))
        effects.append(EmbeddingParameters(old[i].matrix.copy(), tuple(tables)))
    return LatentFactors(effects[0], effects[1], previous.q.copy())


def _draw_embedding_parameters(
    encoder: EntityEncoder, n_factors: int, rng: np.random.RandomState
) -> EmbeddingParameters:
    p, parts = len(encoder.numeric_names), len(encoder.categorical_names) + bool(encoder.numeric_names)
    top = 2.0 / (np.sqrt(n_factors) * parts)
    matrix = rng.uniform(0.0, 2.0 * top / max(p, 1), size=(n_factors, p))
    return EmbeddingParameters(
        matrix, tuple(rng.uniform(0.0, top, size=(len(known), n_factors)) for known in encoder.known_levels)
    )

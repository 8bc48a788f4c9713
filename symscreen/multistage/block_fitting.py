"""Block descent that fits the multistage recommender (Algorithm 1).

The blocks A, a, B, b and q are solved in turn until the loss of eq. (9) stops decreasing. Each block is
convex (see `symscreen.multistage.factor_model`), so the loss never increases.

Lemma 3 of the paper says that the end of the descent is a stationary point of the loss. This needs a
differentiable loss, such as the logistic one. The hinge and the ψ-loss have kinks that tie blocks together:
f_{t′,t} depends on the sum q_{t′+1} + … + q_t. The descent may therefore end where no block alone can lower
the loss, but a joint move of q_1 and q_2 can.

- `build_problem` lists the terms of eq. (9).
- `draw_factors` draws random initial factors; `transfer_factors` takes them from a previous fit (warm start).
- `fit_from_starts` fits from several starts and returns the fit with the smallest loss. `open_step_reporter`
  reports each step to a trace, a callback and a progress bar.
"""

from __future__ import annotations

from contextlib import contextmanager
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
    compute_scores,
    group_terms,
    solve_block,
)
from symscreen.targets.stages import list_stage_pairs, mask_observed_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.multistage._kernels import Indices
    from symscreen.multistage.entity_encoding import EncodedEntities, EntityEncoder
    from symscreen.multistage.factor_model import BlockSolverOptions


class FitStep(NamedTuple):
    """The loss after one block was solved."""

    iteration: int  # from 1; 0 for the initial factors
    block: str
    loss: float


class Penalties(NamedTuple):
    """Penalties λ_1, λ_2, λ_3 of eq. (9): of A and B, of a and b, and of q."""

    matrices: float
    levels: float
    stages: float


@dataclass(frozen=True, eq=False)
class FitProblem:
    """The terms of eq. (9): one per observation of each pair of stages.

    Parameters
    ----------
    users, items : EncodedEntities
        Features of n users and m items.
    user_index, item_index : int32 arrays, shape (R,)
        User and item of each row.
    row_index, pair_index : int32 arrays, shape (N,)
        Row and pair of stages of each term. The terms of a row are contiguous.
    y : int8 array, shape (N,)
        Outcome Y_ijt of each term, ±1.
    weight : float64 array, shape (N,)
        w_{t′t} times the class weight, divided by the divisor of eq. (9).
    last_stage : int
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
    encoded : (EncodedEntities, EncodedEntities)
        Encoded users and items.
    indices : (int64 array, int64 array), shape (R,)
        User and item of each row.
    outcomes : int8 array, shape (R, T + 1)
        Outcomes Y: +1 reached, −1 not reached, 0 not observed.
    weights : float64 array, shape (P, 2)
        Weights of each pair for Y_t = −1 and +1. Pairs with the weights 0 are left out.
    divisor : float or None
        Divisor of the sum. None: the sum of the weights.

    Returns
    -------
    FitProblem
        The terms, in the order of the rows.
    """
    last = outcomes.shape[1] - 1
    later = np.array([t for _, t in list_stage_pairs(last)])
    row, pair = (
        array.astype(np.int32) for array in np.nonzero(mask_observed_pairs(outcomes) & weights.any(axis=1))
    )
    y = outcomes[row, later[pair]]
    weight = weights[pair, (y > 0).astype(np.int64)]
    weight = weight / (weight.sum() if divisor is None else divisor)
    user, item = (array.astype(np.int32) for array in indices)
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
    """Minimise the loss of eq. (9) block by block.

    Parameters
    ----------
    problem : FitProblem
        The terms.
    factors : LatentFactors
        Initial factors. Updated in place.
    penalties : Penalties
        λ_1, λ_2 and λ_3.
    solver_options : BlockSolverOptions
        Accuracy of each block.
    tolerance : float
        Stop when an iteration reduces the loss by less than this fraction of it.
    iterations : int
        Maximum number of iterations over all blocks.
    on_step : callable
        Called with a `FitStep` at the start and after each block.

    Returns
    -------
    iterations : int
        Number of iterations done.
    converged : bool
        Whether the tolerance was met.
    """
    descent = _BlockDescent(problem, factors, penalties, solver_options)
    loss = descent.compute_loss()
    on_step(FitStep(0, "start", loss))
    for iteration in range(1, iterations + 1):
        previous_loss = loss
        for name in descent.solve_blocks():
            loss = descent.compute_loss()
            on_step(FitStep(iteration, name, loss))
        if previous_loss - loss < tolerance * previous_loss:
            return iteration, True
        descent.refresh()  # drop the rounding errors that the updates of the fitted values accumulated
    return iterations, False


def compute_objective(problem: FitProblem, factors: LatentFactors, penalties: Penalties, loss: int) -> float:
    """Compute the loss of eq. (9) from the factors alone.

    Parameters
    ----------
    problem, factors, penalties
        See `descend`.
    loss : int
        `HINGE`, `PSI` or `LOGISTIC` of `symscreen.multistage._kernels`.

    Returns
    -------
    float
        The loss, ≥ 0.
    """
    return _compute_objective_from_fitted(
        problem, factors, penalties, _compute_fitted_values(problem, factors), loss
    )


class _BlockDescent:
    """State of a fit: the factors, their fitted values (N,), and the blocks with their duals."""

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
        entity_index = [problem.user_index[problem.row_index], problem.item_index[problem.row_index]]
        encoded = (problem.users, problem.items)
        self._entity_blocks = [
            self._build_entity_blocks(
                encoded[i],
                entity_index[i],
                entity_index[1 - i] * np.int32(self._n_pairs) + problem.pair_index,
            )
            for i in (0, 1)
        ]
        self._stage_blocks = [self._build_stage_block(stage) for stage in range(1, problem.last_stage + 1)]
        self.refresh()

    def refresh(self) -> None:
        """Recompute the fitted values from the factors."""
        self._fitted_values = _compute_fitted_values(self._problem, self._factors)

    def compute_loss(self) -> float:
        """Compute the loss of eq. (9)."""
        return _compute_objective_from_fitted(
            self._problem, self._factors, self._penalties, self._fitted_values, self._solver_options.loss
        )

    def solve_blocks(self) -> Iterator[str]:
        """Solve the blocks A, a, B, b, q in this order; yield the name of each block after it is solved."""
        yield from self._solve_entity(0, "A", "a")
        yield from self._solve_entity(1, "B", "b")
        yield from self._solve_stages()

    def _build_entity_blocks(
        self, encoded: EncodedEntities, own_index: Indices, left_index: Indices
    ) -> tuple[CoordinateBlock | None, list[CoordinateBlock]]:
        """Return the block of A or B (None without numerical features) and the blocks of a_h or b_h."""
        problem, no_index = self._problem, np.empty(0, dtype=np.int32)
        costs = [problem.weight / (2.0 * penalty) for penalty in self._penalties]
        matrix = None
        if encoded.numeric.shape[1]:
            matrix = group_terms(
                np.zeros(len(own_index), dtype=np.int8), 1, left_index, own_index, problem.y, costs[0]
            )
        tables = [
            group_terms(levels[own_index], int(levels.max()) + 1, left_index, no_index, problem.y, costs[1])
            for levels in encoded.level_codes.T
        ]
        return matrix, tables

    def _build_stage_block(self, r: int) -> CoordinateBlock:
        """Return the block of q_r, with the terms of the pairs t′ < r ≤ t."""
        problem = self._problem
        contains_r = np.array(
            [present < r <= later for present, later in list_stage_pairs(problem.last_stage)]
        )
        groups = np.where(contains_r[problem.pair_index], 0, -1).astype(np.int8)
        cost = problem.weight / (2.0 * self._penalties.stages)
        return group_terms(groups, 1, problem.row_index, np.empty(0, dtype=np.int32), problem.y, cost)

    def _solve_entity(self, i: int, matrix_name: str, table_name: str) -> Iterator[str]:
        """Solve the blocks of users (i = 0) or items (i = 1); yield their names."""
        encoded = (self._problem.users, self._problem.items)[i]
        parameters: EmbeddingParameters = (self._factors.users, self._factors.items)[i]
        other_embeddings = self._compute_embeddings(1 - i)
        # eq. (8): the inputs of a_i are b_j ∘ (1 − Σ q), one row per item and pair of stages
        left = other_embeddings[:, None, :] * compute_remaining_mass(self._factors.q)
        left = left.reshape(-1, other_embeddings.shape[1])
        matrix, tables = self._entity_blocks[i]
        if matrix is not None:
            beta = parameters.matrix.reshape(1, -1).copy()
            solve_block(matrix, left, encoded.numeric, beta, self._fitted_values, self._solver_options)
            parameters.matrix[:] = beta.reshape(parameters.matrix.shape)
            yield matrix_name
        for h, (block, table) in enumerate(zip(tables, parameters.tables, strict=True)):
            solve_block(block, left, np.empty((0, 0)), table, self._fitted_values, self._solver_options)
            yield f"{table_name}{h + 1}"

    def _solve_stages(self) -> Iterator[str]:
        """Solve the blocks q_1 … q_T; yield their names."""
        problem, q = self._problem, self._factors.q
        a, b = self._compute_embeddings(0), self._compute_embeddings(1)
        left = -(a[problem.user_index] * b[problem.item_index])  # eq. (8): f = (a ∘ b)ᵀ1 − Σ_r (a ∘ b)ᵀq_r
        for r, block in enumerate(self._stage_blocks):
            solve_block(
                block, left, np.empty((0, 0)), q[r : r + 1], self._fitted_values, self._solver_options
            )
            yield f"q{r + 1}"

    def _compute_embeddings(self, i: int) -> Values:
        """Compute the embeddings of users (i = 0), (n, K), or items (i = 1), (m, K)."""
        arguments = ((self._factors.users, self._problem.users), (self._factors.items, self._problem.items))
        return compute_embeddings(*arguments[i])


def _compute_fitted_values(problem: FitProblem, factors: LatentFactors) -> Values:
    """Compute the scores f of all terms, (N,)."""
    a, b = compute_embeddings(factors.users, problem.users), compute_embeddings(factors.items, problem.items)
    all_pairs = list(range(len(list_stage_pairs(problem.last_stage))))
    scores = compute_scores(a, b, factors.q, problem.user_index, problem.item_index, all_pairs)
    return scores[problem.row_index, problem.pair_index]


def _compute_objective_from_fitted(
    problem: FitProblem, factors: LatentFactors, penalties: Penalties, fitted: Values, loss: int
) -> float:
    """Compute the loss of eq. (9) from the fitted values (N,) and the penalties."""
    user_matrix, user_levels = factors.users.compute_squared_norms()
    item_matrix, item_levels = factors.items.compute_squared_norms()
    data_loss = float((problem.weight * compute_losses(problem.y * fitted, loss)).sum())
    return (
        data_loss
        + penalties.matrices * (user_matrix + item_matrix)
        + penalties.levels * (user_levels + item_levels)
        + penalties.stages * float((factors.q**2).sum())
    )


@contextmanager
def open_step_reporter(
    trace: list[FitStep], max_rounds: int, callback: Callable[[FitStep], Any] | None, *, show_bar: bool
) -> Iterator[Callable[[FitStep], None]]:
    """Yield a step callback of `descend` that fills the trace, calls the user's callback and moves a bar."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not show_bar) as bar:
        task = bar.add_task("starting", total=max_rounds)

        def report(step: FitStep) -> None:
            trace.append(step)
            if show_bar:
                text = f"iteration {step.iteration}, block {step.block}: loss {step.loss:.6g}"
                bar.update(task, description=text, completed=max(step.iteration - 1, 0))
            if callback is not None:
                callback(step)

        yield report


@dataclass(frozen=True, eq=False)
class FitAttempt:
    """The fit from one start.

    Parameters
    ----------
    factors : LatentFactors
        Fitted factors.
    trace : list of FitStep
        Loss at the start and after each block.
    n_rounds : int
        Number of rounds done.
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
    """Fit from each start and return the fit with the smallest loss.

    Parameters
    ----------
    problem, penalties, solver_options
        See `descend`.
    starts : iterable of LatentFactors
        Initial factors, at least one. Updated in place.
    tolerance, max_rounds : float, int
        Stopping rule of each fit.
    hinge_first : bool
        Whether to fit the ψ-loss from the solution of the hinge loss, which is close to a good local minimum.
    callback, show_bar
        See `open_step_reporter`.

    Returns
    -------
    FitAttempt
        The best fit; of ties, the first.
    """
    attempts = []
    for factors in starts:
        trace: list[FitStep] = []
        limits: dict[str, Any] = {"tolerance": tolerance, "iterations": max_rounds}
        if solver_options.loss == PSI and hinge_first:
            hinge = replace(solver_options, loss=HINGE)
            descend(problem, factors, penalties, hinge, on_step=lambda step: None, **limits)  # noqa: ARG005
        with open_step_reporter(trace, max_rounds, callback, show_bar=show_bar) as report:
            n_rounds_and_converged = descend(
                problem, factors, penalties, solver_options, on_step=report, **limits
            )
        attempts.append(FitAttempt(factors, trace, *n_rounds_and_converged))
    return min(attempts, key=lambda attempt: attempt.trace[-1].loss)


def draw_factors(
    encoders: tuple[EntityEncoder, EntityEncoder], n_factors: int, last_stage: int, rng: np.random.RandomState
) -> LatentFactors:
    """Draw random factors such that (a ∘ b)ᵀ1 is 1 on average.

    Parameters
    ----------
    encoders : (EntityEncoder, EntityEncoder)
        Encoders of users and items.
    n_factors, last_stage : int
        K and T.
    rng : RandomState
        Random number generator.

    Returns
    -------
    LatentFactors
        Embeddings a and b are uniform with the mean 1/√K, divided equally among their parts. q is uniform on
        [0, 1]: 1 − Σ q_l is positive for a single stage and negative for many stages.
    """
    users, items = (_draw_embedding_parameters(encoder, n_factors, rng) for encoder in encoders)
    return LatentFactors(users, items, rng.uniform(size=(last_stage, n_factors)))


def transfer_factors(
    fresh: LatentFactors,
    encoders: tuple[EntityEncoder, EntityEncoder],
    previous: LatentFactors,
    previous_encoders: tuple[EntityEncoder, EntityEncoder],
) -> LatentFactors:
    """Copy the factors of a previous fit into fresh ones, matching levels by name.

    Parameters
    ----------
    fresh : LatentFactors
        Random factors of the new fit. Kept for levels that the previous fit does not have.
    encoders, previous_encoders : (EntityEncoder, EntityEncoder)
        Encoders of users and items of the new and the previous fit.
    previous : LatentFactors
        Factors of the previous fit.

    Returns
    -------
    LatentFactors
        Factors with the shapes of `fresh`.

    Raises
    ------
    OptionError
        If K, T or the features differ between the fits.
    """
    shapes = [
        (factors.q.shape, factors.users.matrix.shape, factors.items.matrix.shape)
        for factors in (fresh, previous)
    ]
    variables = [
        [(encoder.numeric_names, encoder.categorical_names) for encoder in pair]
        for pair in (encoders, previous_encoders)
    ]
    if shapes[0] != shapes[1] or variables[0] != variables[1]:
        raise OptionError(
            "warm_start requires a previous fit with as many factors and stages and the same features: "
            "set warm_start=False to start from random factors"
        )
    parameters = []
    old, new = (previous.users, previous.items), (fresh.users, fresh.items)
    for i in (0, 1):
        tables = []
        for h, table in enumerate(new[i].tables):
            indices = find_indices(previous_encoders[i].known_levels[h], encoders[i].known_levels[h])
            tables.append(np.where(indices[:, None] >= 0, old[i].tables[h][indices], table))
        parameters.append(EmbeddingParameters(old[i].matrix.copy(), tuple(tables)))
    return LatentFactors(parameters[0], parameters[1], previous.q.copy())


def _draw_embedding_parameters(
    encoder: EntityEncoder, n_factors: int, rng: np.random.RandomState
) -> EmbeddingParameters:
    """Draw the parameters of one side; the parts of an embedding have equal means."""
    n_numeric, n_parts = (
        len(encoder.numeric_names),
        len(encoder.categorical_names) + bool(encoder.numeric_names),
    )
    upper = 2.0 / (np.sqrt(n_factors) * n_parts)
    matrix = rng.uniform(0.0, 2.0 * upper / max(n_numeric, 1), size=(n_factors, n_numeric))
    return EmbeddingParameters(
        matrix,
        tuple(rng.uniform(0.0, upper, size=(len(levels), n_factors)) for levels in encoder.known_levels),
    )

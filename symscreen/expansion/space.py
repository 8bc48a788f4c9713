"""Formulas of the user's own, scored with the rest of the space.

A space: the features of the last pool, numbered, with the last layer left to be streamed.

The same space over the same rows in another order, for a response that puts them in another order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.errors import FormulaError
from symscreen.expansion.feature_values import (
    FeatureBlock,
    compute_block_size,
    evaluate_candidates,
    evaluate_range,
)
from symscreen.expansion.nodes import FeatureMetadata, build_expression
from symscreen.expansion.pruning import CandidateStatus
from symscreen.expansion.validity import is_constant
from symscreen.expressions.tree import (
    Call,
    apply_operator,
    compute_complexity,
    compute_key,
    evaluate_expression,
    to_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.expansion.candidates import Candidates
    from symscreen.expansion.pool import Pool
    from symscreen.expressions.tree import Expression
    from symscreen.statistics.ranks.monotone_order import MonotoneParents
    from symscreen.statistics.workspace import Workspace


__all__ = ["LayerCount", "Space", "UserFormulas", "evaluate_user_formulas", "permute_space_rows"]


@dataclass(frozen=True, eq=False)
class UserFormulas:
    """Given formulas with their values.

    Parameters
    ----------
    expressions : tuple of Expression
        The formulas; no two with the same canonical key.
    values : float64 array, shape (g, n)
        Finite, and constant in no row; n is 0 while only counting.
    """

    expressions: tuple[Expression, ...]
    values: NDArray[np.float64]

    @lockfree_cached_property
    def metadata(self) -> FeatureMetadata:
        """The metadata of the formulas."""
        keys = [compute_key(expression) for expression in self.expressions]
        return FeatureMetadata(
            complexity=np.array(
                [compute_complexity(expression) for expression in self.expressions], dtype=np.int32
            ),
            layer=np.zeros(len(keys), dtype=np.int16),
            keys=np.array(keys, dtype=np.uint64).reshape(-1, 2),
        )


def evaluate_user_formulas(
    expressions: Sequence[Expression],
    columns: Mapping[str, NDArray[np.float64]] | None,
    existing_keys: NDArray[np.uint64],
) -> UserFormulas:
    """Compute the user's formulas.

    Parameters
    ----------
    expressions : sequence of Expression
        The formulas; of several that are equal by algebra the first is kept.
    columns : mapping of str to float64 array, shape (n,), or None
        The inputs; None to count only.
    known : uint64 array, shape (k, 2)
        Keys of features that the space has without them.

    Returns
    -------
    Given
        Those that the space has not.

    Raises
    ------
    FormulaError
        If a formula is constant, or undefined in some row.
    """
    unique: dict[tuple[int, int], Expression] = {}
    for expression in expressions:
        own = compute_key(expression)
        if not (existing_keys == np.array(own, dtype=np.uint64)).all(axis=1).any():
            unique.setdefault(own, expression)
    chosen = tuple(unique.values())
    if columns is None:
        return UserFormulas(chosen, np.empty((len(chosen), 0)))
    values = np.empty((len(chosen), len(next(iter(columns.values())))))
    for place, expression in enumerate(chosen):
        values[place] = _compute_valid_values(expression, columns)
    return UserFormulas(chosen, values)


def _compute_valid_values(
    expression: Expression, columns: Mapping[str, NDArray[np.float64]]
) -> NDArray[np.float64]:
    values = evaluate_expression(expression, columns)
    bad = int(np.isnan(values).sum())
    if bad:
        raise FormulaError(f"--also {to_text(expression)!r} is undefined in {bad} of {len(values)} rows")
    sized = [values]
    if isinstance(expression, Call) and expression.operator.cancels:
        sized += [evaluate_expression(argument, columns) for argument in expression.arguments]
    if is_constant(values.min(), values.max(), np.abs(sized).max()):
        raise FormulaError(f"--also {to_text(expression)!r} is constant on these data")
    return values


_SPARSE_FACTOR = 16


@dataclass(frozen=True, slots=True)
class LayerCount:
    """What a layer made.

    Parameters
    ----------
    layer : int
        0 for the inputs, then 1, 2, …
    kind : str
        ``inputs``, ``u`` or ``b``.
    generated : int
        Candidates.
    pruned : dict of Fate to int
        How many were left out, by reason.
    features : int
        Features in the pool, or for the last layer in the space, after this layer.
    """

    layer: int
    kind: str
    n_generated: int
    n_excluded: dict[CandidateStatus, int]
    n_features: int


@dataclass(frozen=True, eq=False)
class Space:
    """All features of the last pool: those at hand, and the last layer's candidates.

    Features are numbered: first those of the older pool that belong to the space, then the formulas that the
    user gave, then the candidates.

    Parameters
    ----------
    pool : Pool
        What the last layer is applied to.
    base : int64 array, shape (b,)
        The places in the pool of the older features that belong to the space: all features of a cumulative
        pool, none of a strict one.
    given : Given
        The user's own formulas.
    candidates : Candidates
        The last layer.
    fates : uint8 array, shape (candidates.total,)
        What is known of each candidate before values are computed.
    counts : tuple of LayerCount
        One for the inputs and one for each layer. The last counts what structure and domains tell.
    ended_in : int or None
        The layer in which the time was over. It and those behind it are not in the space, which has no
        candidates then.
    """

    pool: Pool
    pool_indices: NDArray[np.int64]
    user_formulas: UserFormulas
    candidates: Candidates
    statuses: NDArray[np.uint8]
    layer_counts: tuple[LayerCount, ...]
    stopped_at_layer: int | None = None

    @property
    def n_rows(self) -> int:
        """How many rows each feature has; 0 while only counting."""
        return self.pool.n_rows

    @property
    def n_materialized(self) -> int:
        """How many features come before the candidates."""
        return len(self.pool_indices) + len(self.user_formulas.expressions)

    @property
    def total(self) -> int:
        """How many numbers there are."""
        return self.n_materialized + self.candidates.total

    @lockfree_cached_property
    def size(self) -> int:
        """How many features there are, undefined and constant ones of the last layer included."""
        return self.total - int(np.count_nonzero(self.statuses))  # of the fates only `KEPT` is 0

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The numbers that are features, as far as structure and domains tell; shape (size,)."""
        new = self.n_materialized + np.flatnonzero(self.statuses == CandidateStatus.KEPT)
        return np.concatenate((np.arange(self.n_materialized), new))

    def split_chunks(self, size: int) -> list[tuple[int, int]]:
        """Cut the numbers into ranges of so many, or where few are features, of so many features.

        The plan is the same for every backend.
        """
        if _SPARSE_FACTOR * self.size >= self.total:
            return [(start, min(start + size, self.total)) for start in range(0, self.total, size)]
        starts = [0, *self.numbers[size::size].tolist()]
        return list(zip(starts, [*starts[1:], self.total], strict=True))

    def evaluate_range(
        self, start: int, stop: int, workspace: Workspace | None = None
    ) -> Iterator[FeatureBlock]:
        """Compute the features of a range of numbers, block by block, in order.

        In a room, the values of a block are overwritten by the next.
        """
        yield from self._evaluate_materialized(np.arange(start, min(stop, self.n_materialized)))
        shift = self.n_materialized
        first, last = max(start - shift, 0), max(stop - shift, 0)
        for block in evaluate_range(
            self.candidates, self.pool, self.statuses, first, last, workspace=workspace
        ):
            yield replace(block, numbers=block.numbers + shift)

    def evaluate_features(self, numbers: NDArray[np.int64]) -> Iterator[FeatureBlock]:
        """Compute some features, block by block; their numbers must ascend."""
        shift = self.n_materialized
        old = int(np.searchsorted(numbers, shift))
        yield from self._evaluate_materialized(numbers[:old])
        for block in evaluate_candidates(self.candidates, self.pool, numbers[old:] - shift):
            yield replace(block, numbers=block.numbers + shift)

    def _evaluate_materialized(self, numbers: NDArray[np.int64]) -> Iterator[FeatureBlock]:
        step = compute_block_size(max(1, self.n_rows))
        for first in range(0, len(numbers), step):
            some = numbers[first : first + step]
            yield FeatureBlock(
                some, self._get_materialized_values(some), {}, self._find_monotone_parents(some)
            )

    def _find_monotone_parents(self, numbers: NDArray[np.int64]) -> MonotoneParents | None:
        places = np.full(len(numbers), -1)
        old = numbers < len(self.pool_indices)
        places[old] = self.pool_indices[numbers[old]]
        return self.pool.find_monotone_parents(places)

    def _get_materialized_values(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        old = numbers[numbers < len(self.pool_indices)]
        given = numbers[numbers >= len(self.pool_indices)] - len(self.pool_indices)
        return np.concatenate(
            (self.pool.compute_values(self.pool_indices[old]), self.user_formulas.values[given])
        )

    def build_expression(self, number: int) -> Expression:
        """Build the expression of a feature."""
        structure, nodes, members = self.pool.symbols, self.pool.all_nodes, self.pool.member_nodes
        if number < len(self.pool_indices):
            return build_expression(structure, nodes, int(members[self.pool_indices[number]]))
        if number < self.n_materialized:
            return self.user_formulas.expressions[number - len(self.pool_indices)]
        codes, left, right = self.candidates.locate(np.array([number - self.n_materialized]))
        operator = structure.operators[codes[0]]
        places = left if operator.arity == 1 else (left[0], right[0])
        return apply_operator(
            operator, *(build_expression(structure, nodes, int(members[place])) for place in places)
        )

    def get_metadata(self, numbers: NDArray[np.int64]) -> FeatureMetadata:
        """Return the metadata of features, in the order of the numbers."""
        old, new = (
            np.flatnonzero(numbers < self.n_materialized),
            np.flatnonzero(numbers >= self.n_materialized),
        )
        located = self.candidates.locate(numbers[new] - self.n_materialized)
        made = self.pool.apply_operators(*located, layer=len(self.layer_counts) - 1).metadata
        if not len(old):
            return made
        return (
            self._materialized_metadata.take(numbers[old])
            .concatenate(made)
            .take(np.argsort(np.concatenate((old, new))))
        )

    @lockfree_cached_property
    def _materialized_metadata(self) -> FeatureMetadata:
        return self.pool.nodes.take(self.pool_indices).metadata.concatenate(self.user_formulas.metadata)

    def compute_values(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Compute features' values again, shape (m, n); for the few that are kept, all of them of use."""
        out = np.empty((len(numbers), self.n_rows))
        order, done = np.argsort(numbers, kind="stable"), 0
        for block in self.evaluate_features(numbers[order]):
            assert not any(block.n_invalid.values())  # noqa: S101  # what was scored can be computed again
            out[order[done : done + len(block.numbers)]] = block.values
            done += len(block.numbers)
        return out


def permute_space_rows(space: Space, permutation: NDArray[np.int64]) -> Space:
    """Put the rows of a space that is grown into another order.

    Parameters
    ----------
    space : Space
        With values.
    rows : int64 array, shape (n,)
        A permutation: the first row of the new space is row ``rows[0]`` of the old one.

    Returns
    -------
    Space
        The same features with the same numbers, to the bit those of a space grown over rows in this order.
    """
    pool = space.pool
    moved = replace(
        pool,
        values=None if pool.values is None else pool.values[:, permutation],
        columns=None if pool.columns is None else pool.columns[:, permutation],
        sort_orders=None,  # those of the old rows
    )
    return replace(
        space,
        pool=moved,
        user_formulas=replace(space.user_formulas, values=space.user_formulas.values[:, permutation]),
    )

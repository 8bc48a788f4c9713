"""A space: numbered features, namely members of the last pool, user formulas and the last layer.

The values of the last layer are not stored. They are computed block by block when the space is streamed.
`permute_space_rows` reorders the rows of a space without growing it again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.errors import FormulaError
from symscreen.expansion._kernels import CandidateStatus
from symscreen.expansion.feature_values import (
    FeatureBlock,
    compute_block_size,
    evaluate_candidates,
    evaluate_range,
)
from symscreen.expansion.nodes import FeatureMetadata, build_expression
from symscreen.expansion.validity import is_constant
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import compute_complexity, compute_key, evaluate_expression
from symscreen.expressions.tree import Call, apply_operator
from symscreen.messages import name_option

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.expansion.candidates import Candidates
    from symscreen.expansion.feature_values import CandidateTest
    from symscreen.expansion.pool import Pool
    from symscreen.expressions.tree import Expression
    from symscreen.statistics.ranks.sorted_block import MonotoneParents
    from symscreen.statistics.workspace import Workspace

_SPARSE_FACTOR = 16  # numbers per feature above which chunks are counted in features


@dataclass(frozen=True, eq=False)
class UserFormulas:
    """Formulas given by the user, with their values.

    Parameters
    ----------
    expressions : tuple of Expression
        The formulas, with distinct canonical keys.
    values : float64 array, shape (g, n)
        Values, finite and not constant. n is 0 if the space is only counted.
    """

    expressions: tuple[Expression, ...]
    values: NDArray[np.float64]

    @lockfree_cached_property
    def metadata(self) -> FeatureMetadata:
        """The metadata of the formulas."""
        keys = list(map(compute_key, self.expressions))
        return FeatureMetadata(
            complexity=np.array(list(map(compute_complexity, self.expressions)), dtype=np.int32),
            layer=np.zeros(len(keys), dtype=np.int16),
            keys=np.array(keys, dtype=np.uint64).reshape(-1, 2),
        )


def evaluate_user_formulas(
    expressions: Sequence[Expression],
    columns: Mapping[str, NDArray[np.float64]] | None,
    existing_keys: NDArray[np.uint64],
) -> UserFormulas:
    """Evaluate the user's formulas.

    Parameters
    ----------
    expressions : sequence of Expression
        The formulas. If several are algebraically equal, the first is kept.
    columns : mapping of str to float64 array, shape (n,), or None
        The inputs by name. None if the space is only counted.
    existing_keys : uint64 array, shape (k, 2)
        Keys of features that the space already has. Formulas with one of these keys are dropped.

    Returns
    -------
    UserFormulas

    Raises
    ------
    FormulaError
        If a formula is constant, or undefined in some row.
    """
    unique: dict[tuple[int, int], Expression] = {}
    for expression in expressions:
        key = compute_key(expression)
        if not (existing_keys == np.array(key, dtype=np.uint64)).all(axis=1).any():
            unique.setdefault(key, expression)
    formulas = tuple(unique.values())
    if columns is None:
        return UserFormulas(formulas, np.empty((len(formulas), 0)))
    values = np.empty((len(formulas), len(next(iter(columns.values())))))
    for row, expression in enumerate(formulas):
        values[row] = _compute_valid_values(expression, columns)
    return UserFormulas(formulas, values)


def _compute_valid_values(
    expression: Expression, columns: Mapping[str, NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Evaluate a formula, shape (n,); raise an error if it is undefined in some row or constant."""
    values = evaluate_expression(expression, columns)
    n_undefined = int(np.isnan(values).sum())
    if n_undefined:
        raise FormulaError(
            f"{name_option('also', to_text(expression))} is undefined in {n_undefined} of {len(values)} rows"
        )
    operands = [values]
    if isinstance(expression, Call) and expression.operator.cancels:
        operands += [evaluate_expression(argument, columns) for argument in expression.arguments]
    if is_constant(values.min(), values.max(), np.abs(operands).max()):
        raise FormulaError(f"{name_option('also', to_text(expression))} is constant on these data")
    return values


@dataclass(frozen=True, slots=True)
class LayerCount:
    """Counts of a layer.

    Parameters
    ----------
    layer : int
        Number of the layer. 0 for the inputs.
    kind : str
        ``inputs``, ``u`` or ``b``.
    n_generated : int
        Number of candidates.
    n_excluded : dict of CandidateStatus to int
        Number of excluded candidates by reason.
    n_features : int
        Number of features after this layer: in the pool or, for the last layer, in the space.
    """

    layer: int
    kind: str
    n_generated: int
    n_excluded: dict[CandidateStatus, int]
    n_features: int


@dataclass(frozen=True, eq=False)
class Space:
    """All features of the last pool and the candidates of the last layer.

    Features are numbered: first the older features of the pool that belong to the space, then the user's
    formulas, then the candidates.

    Parameters
    ----------
    pool : Pool
        The pool that the last layer is applied to.
    pool_indices : int64 array, shape (b,)
        Indices of the pool members that belong to the space: all features of a cumulative pool, none of a
        strict one.
    user_formulas : UserFormulas
        The user's formulas.
    candidates : Candidates
        Candidates of the last layer.
    statuses : uint8 array, shape (candidates.total,)
        Status of each candidate before values are computed.
    layer_counts : tuple of LayerCount
        Counts of the inputs and of each layer. Those of the last layer are based on structure and domains
        only.
    stopped_at_layer : int or None
        The layer at which the deadline was exceeded. The space has no candidates then, and ends with the
        layer before.
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
        """Number of rows; 0 if the space is only counted."""
        return self.pool.n_rows

    @property
    def n_materialized(self) -> int:
        """Number of features before the candidates."""
        return len(self.pool_indices) + len(self.user_formulas.expressions)

    @property
    def total(self) -> int:
        """Number of feature numbers, including those of excluded candidates."""
        return self.n_materialized + self.candidates.total

    @lockfree_cached_property
    def size(self) -> int:
        """Number of features, including undefined and constant ones of the last layer."""
        return self.total - int(np.count_nonzero(self.statuses))  # only the status `KEPT` is 0

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Numbers of the features according to structure and domains; shape (size,)."""
        new = self.n_materialized + np.flatnonzero(self.statuses == CandidateStatus.KEPT)
        return np.concatenate((np.arange(self.n_materialized), new))

    def split_chunks(self, size: int) -> list[tuple[int, int]]:
        """Split the numbers into ranges of `size` numbers or, if few are features, of `size` features.

        The ranges do not depend on the backend.
        """
        if _SPARSE_FACTOR * self.size >= self.total:
            return [(start, min(start + size, self.total)) for start in range(0, self.total, size)]
        starts = [0, *self.numbers[size::size].tolist()]
        return list(zip(starts, [*starts[1:], self.total], strict=True))

    def evaluate_range(
        self,
        start: int,
        stop: int,
        workspace: Workspace | None = None,
        is_needed: CandidateTest | None = None,
    ) -> Iterator[FeatureBlock]:
        """Compute the features of a range of numbers, block by block, in order.

        With a workspace, the values of a block are overwritten by the next block. Candidates of the last
        layer that are not needed are left out, see `symscreen.expansion.feature_values.evaluate_range`.
        """
        yield from self._evaluate_materialized(np.arange(start, min(stop, self.n_materialized)))
        shift = self.n_materialized
        first, last = max(start - shift, 0), max(stop - shift, 0)
        for block in evaluate_range(
            self.candidates,
            self.pool,
            self.statuses,
            first,
            last,
            workspace=workspace,
            is_needed=is_needed,
        ):
            yield replace(block, numbers=block.numbers + shift)

    def evaluate_features(self, numbers: NDArray[np.int64]) -> Iterator[FeatureBlock]:
        """Compute features, block by block; the numbers must be ascending."""
        shift = self.n_materialized
        n_old = int(np.searchsorted(numbers, shift))
        yield from self._evaluate_materialized(numbers[:n_old])
        for block in evaluate_candidates(self.candidates, self.pool, numbers[n_old:] - shift):
            yield replace(block, numbers=block.numbers + shift)

    def _evaluate_materialized(self, numbers: NDArray[np.int64]) -> Iterator[FeatureBlock]:
        """Yield members of the pool and user formulas, block by block."""
        step = compute_block_size(max(1, self.n_rows))
        for first in range(0, len(numbers), step):
            block_numbers = numbers[first : first + step]
            values = self._get_materialized_values(block_numbers)
            yield FeatureBlock(block_numbers, values, {}, self._find_monotone_parents(block_numbers))

    def _find_monotone_parents(self, numbers: NDArray[np.int64]) -> MonotoneParents | None:
        """Find the members whose row order features before the candidates share."""
        indices = np.full(len(numbers), -1)
        old = numbers < len(self.pool_indices)
        indices[old] = self.pool_indices[numbers[old]]
        return self.pool.find_monotone_parents(indices)

    def _get_materialized_values(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the values, shape (m, n), of features before the candidates, in ascending order."""
        pool_numbers = numbers[numbers < len(self.pool_indices)]
        user_indices = numbers[numbers >= len(self.pool_indices)] - len(self.pool_indices)
        pool_values = self.pool.compute_values(self.pool_indices[pool_numbers])
        if not len(user_indices):
            return pool_values  # joining would copy all values once more
        return np.concatenate((pool_values, self.user_formulas.values[user_indices]))

    def build_expression(self, number: int) -> Expression:
        """Build the expression of a feature."""
        symbols, nodes, members = self.pool.symbols, self.pool.all_nodes, self.pool.member_nodes
        if number < len(self.pool_indices):
            return build_expression(symbols, nodes, int(members[self.pool_indices[number]]))
        if number < self.n_materialized:
            return self.user_formulas.expressions[number - len(self.pool_indices)]
        codes, left, right = self.candidates.locate(np.array([number - self.n_materialized]))
        operator = symbols.operators[codes[0]]
        arguments = left if operator.arity == 1 else (left[0], right[0])
        return apply_operator(
            operator, *(build_expression(symbols, nodes, int(members[argument])) for argument in arguments)
        )

    def get_metadata(self, numbers: NDArray[np.int64]) -> FeatureMetadata:
        """Return the metadata of features, in the order of the numbers."""
        is_old = numbers < self.n_materialized
        old, new = np.flatnonzero(is_old), np.flatnonzero(~is_old)
        located = self.candidates.locate(numbers[new] - self.n_materialized)
        new_metadata = self.pool.apply_operators(*located, layer=len(self.layer_counts) - 1).metadata
        if not len(old):
            return new_metadata
        metadata = self._materialized_metadata.take(numbers[old]).concatenate(new_metadata)
        return metadata.take(np.argsort(np.concatenate((old, new))))

    @lockfree_cached_property
    def _materialized_metadata(self) -> FeatureMetadata:
        """Metadata of the features before the candidates."""
        return self.pool.nodes.take(self.pool_indices).metadata.concatenate(self.user_formulas.metadata)

    def compute_values(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Compute the values of valid features, shape (m, n), in the order of the numbers."""
        out = np.empty((len(numbers), self.n_rows))
        order, n_done = np.argsort(numbers, kind="stable"), 0
        for block in self.evaluate_features(numbers[order]):
            assert not any(block.n_invalid.values())  # noqa: S101  # scored features have valid values
            out[order[n_done : n_done + len(block.numbers)]] = block.values
            n_done += len(block.numbers)
        return out


def permute_space_rows(space: Space, permutation: NDArray[np.int64]) -> Space:
    """Permute the rows of a space.

    Parameters
    ----------
    space : Space
        A space with values.
    permutation : int64 array, shape (n,)
        Row ``i`` of the new space is row ``permutation[i]`` of the old one.

    Returns
    -------
    Space
        The same features with the same numbers. Bit-identical to a space grown from the permuted rows.
    """
    pool = space.pool
    permuted_pool = replace(
        pool,
        values=None if pool.values is None else pool.values[:, permutation],
        columns=None if pool.columns is None else pool.columns[:, permutation],
        sort_orders=None,  # these refer to the old rows
    )
    return replace(
        space,
        pool=permuted_pool,
        user_formulas=replace(space.user_formulas, values=space.user_formulas.values[:, permutation]),
    )

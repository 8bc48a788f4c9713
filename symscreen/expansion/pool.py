"""The pool that the next layer is applied to: nodes, with their values or the means to recompute them.

A pool stores the values of all its members, or it only stores the inputs. In the second case it keeps
summary statistics of each member (`FeatureStats`) and recomputes values on demand.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.expansion.feature_values import compute_node_values
from symscreen.expansion.nodes import CONSTANT, NodeArray, SymbolTable, make_leaf_nodes
from symscreen.expansion.operator_tasks import compute_pool_units
from symscreen.expansion.sort_orders import SortOrders, is_monotone
from symscreen.expansion.validity import FeatureStats, compute_feature_stats
from symscreen.grammar import Domain, Operator
from symscreen.statistics.ranks.sorted_block import MonotoneParents

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from symscreen.expansion.operator_tasks import PoolUnits
    from symscreen.grammar import Grammar
    from symscreen.units import Units


NODE_BYTES = 250  # bytes of structure and metadata per node, including copies made while building


@dataclass(frozen=True, eq=False)
class Pool:
    """Constants followed by features, in a fixed order.

    Parameters
    ----------
    symbols : SymbolTable
        The symbols that the nodes refer to.
    all_nodes : NodeArray
        All nodes ever made: members of the pool and arguments of members.
    member_nodes : int64 array, shape (q,)
        Index of each member among all nodes.
    values : float64 array, shape (q, n), or None
        Values of the members. None if they are recomputed, or if the space is only counted.
    applied_counts : mapping of Operator to int
        For each operator, the size of the prefix of the pool that it has been applied to.
    columns : float64 array, shape (d, n), or None
        The inputs, if values are recomputed.
    feature_stats : FeatureStats or None
        Statistics of the members' values. None if the space is only counted.
    sort_orders : SortOrders or None
        Row order of each member, if functions of the members will reuse it.
    units : Units or None
        Units of the inputs, if every formula must have a unit.
    """

    symbols: SymbolTable
    all_nodes: NodeArray
    member_nodes: NDArray[np.int64]
    values: NDArray[np.float64] | None
    applied_counts: Mapping[Operator, int] = field(default_factory=dict)
    columns: NDArray[np.float64] | None = None
    feature_stats: FeatureStats | None = None
    sort_orders: SortOrders | None = None
    units: Units | None = None

    def __len__(self) -> int:
        return len(self.member_nodes)

    @property
    def recomputes_values(self) -> bool:
        """Whether the values of members are recomputed from the inputs on demand."""
        return self.values is None and self.columns is not None

    @property
    def n_rows(self) -> int:
        """Number of rows; 0 if the space is only counted."""
        stored = self.columns if self.values is None else self.values
        return 0 if stored is None else int(stored.shape[1])

    @lockfree_cached_property
    def nodes(self) -> NodeArray:
        """The members' nodes, in the order of the pool."""
        return self.all_nodes.take(self.member_nodes)

    @lockfree_cached_property
    def member_units(self) -> PoolUnits | None:
        """The units of the members; None without units."""
        if self.units is None:
            return None
        return compute_pool_units(self.units, self.symbols, self.all_nodes, self.member_nodes)

    @lockfree_cached_property
    def constant_indices(self) -> NDArray[np.int64]:
        """Indices of the members that are constants."""
        return np.flatnonzero(self.nodes.operator == CONSTANT)

    @lockfree_cached_property
    def feature_indices(self) -> NDArray[np.int64]:
        """Indices of the members that are features."""
        return np.flatnonzero(self.nodes.operator != CONSTANT)

    @property
    def max_abs(self) -> NDArray[np.float64]:
        """Maximum magnitude of each member's values; shape (q,)."""
        assert self.feature_stats is not None  # noqa: S101  # used only if values are computed
        return self.feature_stats.max_abs

    def compute_at_rows(
        self, rows: NDArray[np.int64], indices: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Compute members at given rows.

        Parameters
        ----------
        rows : int64 array, shape (m,)
            Row indices.
        indices : int64 array, shape (k,), optional
            Indices of the members. Default: all members.

        Returns
        -------
        float64 array, shape (k, m) or (q, m), C-contiguous
            Values, including those of constants. Bit-identical to those of a pool that stores its values.
        """
        if self.values is not None:
            if indices is None:
                return np.take(self.values, rows, axis=1)
            return self.values[indices[:, None], rows]
        assert self.columns is not None  # noqa: S101  # not called while only counting
        members = self.member_nodes if indices is None else self.member_nodes[indices]
        return compute_node_values(self.symbols, self.all_nodes, members, np.take(self.columns, rows, axis=1))

    def compute_values(self, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the values, shape (m, n), of the members at the given indices."""
        if self.values is not None:
            return self.values[indices]
        assert self.columns is not None  # noqa: S101  # as above
        return compute_node_values(self.symbols, self.all_nodes, self.member_nodes[indices], self.columns)

    def get_operands(
        self, left: NDArray[np.int64], right: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the values of the arguments of candidates.

        Parameters
        ----------
        left, right : int64 arrays, shape (m,)
            Indices of the arguments in the pool.

        Returns
        -------
        float64 array, shape (k, n)
            Values over all rows. If they are recomputed, each argument occurs once.
        int64 arrays, shape (m,)
            Row of each left and of each right argument in that array.
        """
        if self.values is not None:
            return self.values, left, right
        unique_indices, positions = np.unique(np.concatenate((left, right)), return_inverse=True)
        return self.compute_values(unique_indices), positions[: len(left)], positions[len(left) :]

    def find_monotone_parents(
        self, indices: NDArray[np.int64], operator: Operator | None = None
    ) -> MonotoneParents | None:
        """Find the pool members whose row order can be reused, with or without an operator applied.

        Parameters
        ----------
        indices : int64 array, shape (m,)
            Indices of the members. −1 for none.
        operator : Operator, optional
            Unary operator that is applied to the members.

        Returns
        -------
        MonotoneParents or None
            None if no row order is known or preserved.
        """
        if self.sort_orders is None or self.values is None or self.feature_stats is None:
            return None
        if operator is not None:
            low, high = self.feature_stats.low[indices], self.feature_stats.high[indices]
            indices = np.where(is_monotone(operator, low, high), indices, -1)
            if (indices < 0).all():
                return None
        return MonotoneParents(self.values, self.sort_orders.order, self.sort_orders.tied, indices)

    def estimate_bytes(self, size: int) -> int:
        """Estimate the additional memory in bytes to make the next pool, with `size` new features."""
        row_bytes = 0 if self.values is None else self.values[:1].nbytes
        return len(self) * NODE_BYTES + size * (row_bytes + NODE_BYTES)

    def compute_domain_masks(
        self, operators: tuple[Operator, ...]
    ) -> dict[str, tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
        """Return, for each operator with a domain, which members may be its left and right arguments."""
        if self.feature_stats is None:
            return {}
        inside = {domain: self.feature_stats.is_in_domain(domain) for op in operators for domain in op.domain}
        return {
            operator.name: (inside[operator.domain[0]], inside[operator.domain[-1]])
            for operator in operators
            if any(domain is not Domain.REAL for domain in operator.domain)
        }

    def compute_range_masks(self, max_ranges: Mapping[str, float]) -> dict[str, NDArray[np.bool_]]:
        """Return, for each operator with a maximum range, which members have no wider one."""
        if self.feature_stats is None:
            return {}
        ranges = self.feature_stats.high - self.feature_stats.low
        return {name: ranges <= max_range for name, max_range in max_ranges.items()}

    def select(self, indices: NDArray[np.int64]) -> Pool:
        """Return the pool of the given members; only for a pool that no operator has been applied to."""
        values = None if self.values is None else self.values[indices]
        feature_stats = None if self.feature_stats is None else self.feature_stats.take(indices)
        return replace(
            self, member_nodes=self.member_nodes[indices], values=values, feature_stats=feature_stats
        )

    def extend(
        self,
        carried_over: NDArray[np.int64],
        new_nodes: NodeArray,
        values: NDArray[np.float64] | None,
        applied_counts: Mapping[Operator, int],
        feature_stats: FeatureStats | None = None,
    ) -> Pool:
        """Return the next pool.

        Parameters
        ----------
        carried_over : int64 array, shape (s,)
            Indices of the members to keep.
        new_nodes : NodeArray
            Members to append.
        values : float64 array, shape (s + len(new_nodes), n), or None
            Values of both, if the pool stores values.
        applied_counts : mapping of Operator to int
            See `Pool`.
        feature_stats : FeatureStats or None
            Statistics of both.
        """
        members = np.concatenate(
            (self.member_nodes[carried_over], len(self.all_nodes) + np.arange(len(new_nodes)))
        )
        return Pool(
            self.symbols,
            self.all_nodes.concatenate(new_nodes),
            members,
            values,
            applied_counts,
            self.columns,
            feature_stats=feature_stats,
            units=self.units,
        )

    def apply_operators(
        self, codes: NDArray[np.int64], left: NDArray[np.int64], right: NDArray[np.int64], layer: int
    ) -> NodeArray:
        """Make the nodes of operators applied to members.

        Parameters
        ----------
        codes, left, right : int64 arrays, shape (m,)
            Operator codes and indices of the arguments in the pool.
        layer : int
            Number of the layer.

        Returns
        -------
        NodeArray
            The result of `id` is the member's own node.
        """
        pool, operators = self.nodes, self.symbols.operators
        cost = np.array([operator.cost for operator in operators], dtype=np.int32)[codes]
        unary = np.array([operator.arity == 1 for operator in operators])[codes]
        keys = np.empty((len(codes), 2), dtype=np.uint64)
        for code in sorted(set(codes.tolist())):
            has_code, operator = codes == code, operators[code]
            arguments = (left[has_code],) if operator.arity == 1 else (left[has_code], right[has_code])
            keys[has_code] = operator.compute_fingerprint(*(pool.keys[argument] for argument in arguments))
        nodes = NodeArray(
            operator=codes.astype(np.int16),
            left=self.member_nodes[left].astype(np.int32),
            right=self.member_nodes[right].astype(np.int32),
            complexity=cost
            + pool.complexity[left]
            + np.where(unary, 0, pool.complexity[right]).astype(np.int32),
            layer=np.full(len(codes), layer, dtype=np.int16),
            keys=keys,
            operator_mask=pool.operator_mask[left]
            | pool.operator_mask[right]
            | (np.uint64(1) << codes.astype(np.uint64)),
            allowed_mask=pool.allowed_mask[left] & pool.allowed_mask[right],
        )
        identity = np.array([operator.name == "id" for operator in operators])[codes]
        if not identity.any():
            return nodes
        return nodes.replace_at(np.flatnonzero(identity), pool.take(left[identity]))


def build_first_pool(
    symbols: SymbolTable,
    grammar: Grammar,
    columns: NDArray[np.float64] | None,
    *,
    recompute_pool: bool = False,
    units: Units | None = None,
) -> Pool:
    """Build the pool of layer 0: the constants of the grammar and the inputs.

    Parameters
    ----------
    symbols : SymbolTable
        The symbols that the nodes will refer to.
    grammar : Grammar
        The rules.
    columns : float64 array, shape (d, n), or None
        Values of the inputs.
    recompute_pool : bool
        Whether this pool and those grown from it store no values except the inputs.
    units : Units, optional
        Units of the inputs, if every formula must have a unit.

    Returns
    -------
    Pool
    """
    nodes = make_leaf_nodes(symbols, grammar)
    members = np.arange(len(nodes))
    if columns is None:
        return Pool(symbols, nodes, members, None, units=units)
    constant_values = np.repeat(
        np.array(symbols.constants, dtype=np.float64)[:, None], columns.shape[1], axis=1
    )
    feature_stats = compute_feature_stats(constant_values).concatenate(compute_feature_stats(columns))
    if recompute_pool:
        return Pool(symbols, nodes, members, None, columns=columns, feature_stats=feature_stats, units=units)
    values = np.concatenate((constant_values, columns))
    return Pool(symbols, nodes, members, values, feature_stats=feature_stats, units=units)

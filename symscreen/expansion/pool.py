"""The pool that the next layer is applied to: nodes, and their values or what they are computed from.

A pool holds the values of its members, or it is thin: it then holds the inputs, and of each member only what
was learnt when all its values were at hand.
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
from symscreen.statistics.ranks.monotone_order import MonotoneParents

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from symscreen.expansion.operator_tasks import PoolUnits
    from symscreen.grammar import Grammar
    from symscreen.units import Units


__all__ = ["NODE_BYTES", "Pool", "build_first_pool"]

NODE_BYTES = 250  # of structure and metadata, while they are put together


@dataclass(frozen=True, eq=False)
class Pool:
    """Features, and constants before them, in a fixed order.

    Parameters
    ----------
    structure : Structure
        What the nodes refer to.
    all_nodes : Nodes
        Every node ever made, members of the pool or arguments of such.
    members : int64 array, shape (q,)
        The places of the pool's members among all nodes.
    values : float64 array, shape (q, n), or None
        The members' values; None in a thin pool, and while only counting.
    tried : mapping of Operator to int
        For each operator, the size of the prefix of the pool that it has been applied to already.
    columns : float64 array, shape (d, n), or None
        The inputs of a thin pool.
    learnt : Learnt or None
        What is known of the members' values; None while only counting.
    orders : Orders or None
        The order of the rows under each member, where functions of it will follow it.
    units : Units or None
        Those of the inputs, where every formula must have a unit.
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
        """Whether members are computed again from the inputs wherever their values are needed."""
        return self.values is None and self.columns is not None

    @property
    def n_rows(self) -> int:
        """How many rows each member has; 0 while only counting."""
        held = self.columns if self.values is None else self.values
        return 0 if held is None else int(held.shape[1])

    @lockfree_cached_property
    def nodes(self) -> NodeArray:
        """The members' nodes, in the order of the pool."""
        return self.all_nodes.take(self.member_nodes)

    @lockfree_cached_property
    def member_units(self) -> PoolUnits | None:
        """The members' units, where there are some."""
        if self.units is None:
            return None
        return compute_pool_units(self.units, self.symbols, self.all_nodes, self.member_nodes)

    @lockfree_cached_property
    def constant_indices(self) -> NDArray[np.int64]:
        """The places in the pool that are constants."""
        return np.flatnonzero(self.nodes.operator == CONSTANT)

    @lockfree_cached_property
    def feature_indices(self) -> NDArray[np.int64]:
        """The places in the pool that are features, not constants."""
        return np.flatnonzero(self.nodes.operator != CONSTANT)

    @property
    def max_abs(self) -> NDArray[np.float64]:
        """The largest magnitude of each member's values; shape (q,)."""
        assert self.feature_stats is not None  # noqa: S101  # asked for only where values are computed
        return self.feature_stats.max_abs

    def compute_at_rows(
        self, rows: NDArray[np.int64], indices: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Compute members at some rows.

        Parameters
        ----------
        rows : int64 array, shape (m,)
            Row numbers.
        places : int64 array, shape (k,), optional
            Which members; all of them by default.

        Returns
        -------
        float64 array, shape (k, m) or (q, m), C-contiguous
            Constants included. To the bit what a pool that holds its values has there.
        """
        if self.values is not None:
            if indices is None:
                return np.take(self.values, rows, axis=1)
            return self.values[indices[:, None], rows]
        assert self.columns is not None  # noqa: S101  # not asked for while only counting
        members = self.member_nodes if indices is None else self.member_nodes[indices]
        return compute_node_values(self.symbols, self.all_nodes, members, np.take(self.columns, rows, axis=1))

    def compute_values(self, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the values of the members at some places over all rows, shape (m, n)."""
        if self.values is not None:
            return self.values[indices]
        assert self.columns is not None  # noqa: S101  # as above
        return compute_node_values(self.symbols, self.all_nodes, self.member_nodes[indices], self.columns)

    def get_operands(
        self, left: NDArray[np.int64], right: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        """Provide the values of candidates' arguments.

        Parameters
        ----------
        left, right : int64 arrays, shape (m,)
            The arguments' places in the pool.

        Returns
        -------
        float64 array, shape (k, n)
            Values over all rows; where they are not held, each argument once.
        int64 arrays, shape (m,)
            Where each left and each right argument is in them.
        """
        if self.values is not None:
            return self.values, left, right
        places, which = np.unique(np.concatenate((left, right)), return_inverse=True)
        return self.compute_values(places), which[: len(left)], which[len(left) :]

    def find_monotone_parents(
        self, indices: NDArray[np.int64], operator: Operator | None = None
    ) -> MonotoneParents | None:
        """Say whose orders members, or a unary operator applied to them, may follow.

        Parameters
        ----------
        places : int64 array, shape (m,)
            The members.
        operator : Operator, optional
            What is applied to them; nothing by default.

        Returns
        -------
        Following or None
            None where no order is known, or none is kept.
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
        """Predict the memory that the making of the next pool, of so many features, takes beside this one."""
        row = 0 if self.values is None else self.values[:1].nbytes
        return len(self) * NODE_BYTES + size * (row + NODE_BYTES)

    def compute_domain_masks(
        self, operators: tuple[Operator, ...]
    ) -> dict[str, tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
        """Say, for each operator with a domain, which members may be its left and right argument."""
        if self.feature_stats is None:
            return {}
        inside = {domain: self.feature_stats.is_in_domain(domain) for op in operators for domain in op.domain}
        return {
            operator.name: (inside[operator.domain[0]], inside[operator.domain[-1]])
            for operator in operators
            if any(domain is not Domain.REAL for domain in operator.domain)
        }

    def select(self, indices: NDArray[np.int64]) -> Pool:
        """Return the pool of the members at some places; for a pool that no operator has been applied to."""
        values = None if self.values is None else self.values[indices]
        learnt = None if self.feature_stats is None else self.feature_stats.take(indices)
        return replace(self, member_nodes=self.member_nodes[indices], values=values, feature_stats=learnt)

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
        stay : int64 array, shape (s,)
            The places in the pool of the members that stay.
        new : Nodes
            The members that come behind them.
        values : float64 array, shape (s + len(new), n), or None
            The values of both, where the pool holds values.
        tried : mapping of Operator to int
            As of a pool.
        learnt : Learnt or None
            What is known of both.
        """
        members = np.concatenate(
            (self.member_nodes[carried_over], len(self.all_nodes) + np.arange(len(new_nodes)))
        )
        nodes, units = self.all_nodes.concatenate(new_nodes), self.units
        return Pool(
            self.symbols,
            nodes,
            members,
            values,
            applied_counts,
            self.columns,
            feature_stats=feature_stats,
            units=units,
        )

    def apply_operators(
        self, codes: NDArray[np.int64], left: NDArray[np.int64], right: NDArray[np.int64], layer: int
    ) -> NodeArray:
        """Make the nodes of operators applied to members.

        Parameters
        ----------
        codes, left, right : int64 arrays, shape (m,)
            The operators' codes and the places of their arguments in the pool.
        layer : int
            The layer that makes them.

        Returns
        -------
        Nodes
            An `id` of a member is that member's own node again.
        """
        pool, operators = self.nodes, self.symbols.operators
        cost = np.array([operator.cost for operator in operators], dtype=np.int32)[codes]
        unary = np.array([operator.arity == 1 for operator in operators])[codes]
        keys = np.empty((len(codes), 2), dtype=np.uint64)
        for code in sorted(set(codes.tolist())):
            mine, operator = codes == code, operators[code]
            arguments = (left[mine],) if operator.arity == 1 else (left[mine], right[mine])
            keys[mine] = operator.compute_fingerprint(*(pool.keys[argument] for argument in arguments))
        made = NodeArray(
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
            return made
        return made.replace_at(np.flatnonzero(identity), pool.take(left[identity]))


def build_first_pool(
    symbols: SymbolTable,
    grammar: Grammar,
    columns: NDArray[np.float64] | None,
    *,
    recompute_pool: bool = False,
    units: Units | None = None,
) -> Pool:
    """Make the pool of layer 0: the grammar's constants and the inputs.

    Parameters
    ----------
    structure : Structure
        What the nodes will refer to.
    grammar : Grammar
        The rules.
    columns : float64 array, shape (d, n), or None
        The inputs' values.
    thin : bool
        Whether this pool, and what grows of it, holds no other values than these.
    units : Units, optional
        Those of the inputs, where every formula must have a unit.

    Returns
    -------
    Pool
    """
    nodes = make_leaf_nodes(symbols, grammar)
    members = np.arange(len(nodes))
    if columns is None:
        return Pool(symbols, nodes, members, None, units=units)
    numbers = np.repeat(np.array(symbols.constants, dtype=np.float64)[:, None], columns.shape[1], axis=1)
    learnt = compute_feature_stats(numbers).concatenate(compute_feature_stats(columns))
    if recompute_pool:
        return Pool(symbols, nodes, members, None, columns=columns, feature_stats=learnt, units=units)
    values = np.concatenate((numbers, columns))
    return Pool(symbols, nodes, members, values, feature_stats=learnt, units=units)

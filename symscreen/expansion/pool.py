"""The pool that the next layer is applied to: nodes, and their values where they are computed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion.nodes import CONSTANT, Nodes, Structure, leaves
from symscreen.grammar import Domain, Operator, in_domain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from symscreen.grammar import Grammar

__all__ = ["Pool", "first_pool"]

_NODE_BYTES = 250  # of structure and metadata, while they are put together


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
        The members' values; None while only counting.
    tried : mapping of Operator to int
        For each operator, the size of the prefix of the pool that it has been applied to already.
    """

    structure: Structure
    all_nodes: Nodes
    members: NDArray[np.int64]
    values: NDArray[np.float64] | None
    tried: Mapping[Operator, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.members)

    @cached_property
    def nodes(self) -> Nodes:
        """The members' nodes, in the order of the pool."""
        return self.all_nodes.take(self.members)

    @cached_property
    def constants(self) -> NDArray[np.int64]:
        """The places in the pool that are constants."""
        return np.flatnonzero(self.nodes.operator == CONSTANT)

    @cached_property
    def features(self) -> NDArray[np.int64]:
        """The places in the pool that are features, not constants."""
        return np.flatnonzero(self.nodes.operator != CONSTANT)

    @cached_property
    def scale(self) -> NDArray[np.float64]:
        """The largest magnitude of each member's values; shape (q,)."""
        assert self.values is not None  # noqa: S101  # asked for only where values are computed
        return np.asarray(np.maximum(-self.values.min(axis=1), self.values.max(axis=1)))

    def bytes_with(self, size: int) -> int:
        """Predict the memory that this pool and the making of the next, of so many features, take."""
        row = 0 if self.values is None else self.values[:1].nbytes
        return len(self) * (row + _NODE_BYTES) + size * (2 * row + _NODE_BYTES)

    def defined(
        self, operators: tuple[Operator, ...]
    ) -> dict[str, tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
        """Say, for each operator with a domain, which members may be its left and right argument."""
        if self.values is None:
            return {}
        inside = {domain: in_domain(self.values, domain) for op in operators for domain in op.domain}
        return {
            operator.name: (inside[operator.domain[0]], inside[operator.domain[-1]])
            for operator in operators
            if any(domain is not Domain.REAL for domain in operator.domain)
        }

    def grown(
        self,
        stay: NDArray[np.int64],
        new: Nodes,
        values: NDArray[np.float64] | None,
        tried: Mapping[Operator, int],
    ) -> Pool:
        """Return the next pool.

        Parameters
        ----------
        stay : int64 array, shape (s,)
            The places in the pool of the members that stay.
        new : Nodes
            The members that come behind them.
        values : float64 array, shape (s + len(new), n), or None
            The values of both.
        tried : mapping of Operator to int
            As of a pool.
        """
        members = np.concatenate((self.members[stay], len(self.all_nodes) + np.arange(len(new))))
        return Pool(self.structure, self.all_nodes.joined(new), members, values, tried)

    def applied(
        self, codes: NDArray[np.int64], left: NDArray[np.int64], right: NDArray[np.int64], layer: int
    ) -> Nodes:
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
        pool, operators = self.nodes, self.structure.operators
        cost = np.array([operator.cost for operator in operators], dtype=np.int32)[codes]
        unary = np.array([operator.arity == 1 for operator in operators])[codes]
        keys = np.empty((len(codes), 2), dtype=np.uint64)
        for code in sorted(set(codes.tolist())):
            mine, operator = codes == code, operators[code]
            arguments = (left[mine],) if operator.arity == 1 else (left[mine], right[mine])
            keys[mine] = operator.key(*(pool.keys[argument] for argument in arguments))
        made = Nodes(
            operator=codes.astype(np.int16),
            left=self.members[left].astype(np.int32),
            right=self.members[right].astype(np.int32),
            complexity=cost
            + pool.complexity[left]
            + np.where(unary, 0, pool.complexity[right]).astype(np.int32),
            layer=np.full(len(codes), layer, dtype=np.int16),
            keys=keys,
            inside=pool.inside[left] | pool.inside[right] | (np.uint64(1) << codes.astype(np.uint64)),
            allowed=pool.allowed[left] & pool.allowed[right],
        )
        identity = np.array([operator.name == "id" for operator in operators])[codes]
        if not identity.any():
            return made
        return made.replaced(np.flatnonzero(identity), pool.take(left[identity]))


def first_pool(structure: Structure, grammar: Grammar, columns: NDArray[np.float64] | None) -> Pool:
    """Make the pool of layer 0: the grammar's constants and the inputs.

    Parameters
    ----------
    structure : Structure
        What the nodes will refer to.
    grammar : Grammar
        The rules.
    columns : float64 array, shape (d, n), or None
        The inputs' values.

    Returns
    -------
    Pool
    """
    nodes = leaves(structure, grammar)
    values = None
    if columns is not None:
        numbers = np.array(structure.constants, dtype=np.float64)
        values = np.concatenate((np.repeat(numbers[:, None], columns.shape[1], axis=1), columns))
    return Pool(structure, nodes, np.arange(len(nodes)), values)

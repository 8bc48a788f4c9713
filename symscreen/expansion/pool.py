"""The pool that the next layer is applied to: nodes, and their values or what they are computed from.

A pool holds the values of its members, or it is thin: it then holds the inputs, and of each member only what
was learnt when all its values were at hand.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion.learnt import Learnt, learnt_of
from symscreen.expansion.meanings import units_of
from symscreen.expansion.nodes import CONSTANT, Nodes, Structure, leaves
from symscreen.expansion.orders import Orders, keeps_order
from symscreen.expansion.recomputed import values_of
from symscreen.grammar import Domain, Operator
from symscreen.once import once
from symscreen.statistics.follow import Following

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from symscreen.expansion.meanings import PoolUnits
    from symscreen.grammar import Grammar
    from symscreen.units import Units

__all__ = ["NODE_BYTES", "Pool", "first_pool"]

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

    structure: Structure
    all_nodes: Nodes
    members: NDArray[np.int64]
    values: NDArray[np.float64] | None
    tried: Mapping[Operator, int] = field(default_factory=dict)
    columns: NDArray[np.float64] | None = None
    learnt: Learnt | None = None
    orders: Orders | None = None
    units: Units | None = None

    def __len__(self) -> int:
        return len(self.members)

    @property
    def thin(self) -> bool:
        """Whether members are computed again from the inputs wherever their values are needed."""
        return self.values is None and self.columns is not None

    @property
    def rows(self) -> int:
        """How many rows each member has; 0 while only counting."""
        held = self.columns if self.values is None else self.values
        return 0 if held is None else int(held.shape[1])

    @once
    def nodes(self) -> Nodes:
        """The members' nodes, in the order of the pool."""
        return self.all_nodes.take(self.members)

    @once
    def measures(self) -> PoolUnits | None:
        """The members' units, where there are some."""
        if self.units is None:
            return None
        return units_of(self.units, self.structure, self.all_nodes, self.members)

    @once
    def constants(self) -> NDArray[np.int64]:
        """The places in the pool that are constants."""
        return np.flatnonzero(self.nodes.operator == CONSTANT)

    @once
    def features(self) -> NDArray[np.int64]:
        """The places in the pool that are features, not constants."""
        return np.flatnonzero(self.nodes.operator != CONSTANT)

    @property
    def scale(self) -> NDArray[np.float64]:
        """The largest magnitude of each member's values; shape (q,)."""
        assert self.learnt is not None  # noqa: S101  # asked for only where values are computed
        return self.learnt.scale

    def at(self, rows: NDArray[np.int64], places: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
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
            if places is None:
                return np.take(self.values, rows, axis=1)
            return self.values[places[:, None], rows]
        assert self.columns is not None  # noqa: S101  # not asked for while only counting
        members = self.members if places is None else self.members[places]
        return values_of(self.structure, self.all_nodes, members, np.take(self.columns, rows, axis=1))

    def computed(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the values of the members at some places over all rows, shape (m, n)."""
        if self.values is not None:
            return self.values[places]
        assert self.columns is not None  # noqa: S101  # as above
        return values_of(self.structure, self.all_nodes, self.members[places], self.columns)

    def operands(
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
        return self.computed(places), which[: len(left)], which[len(left) :]

    def following(self, places: NDArray[np.int64], operator: Operator | None = None) -> Following | None:
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
        if self.orders is None or self.values is None or self.learnt is None:
            return None
        if operator is not None:
            low, high = self.learnt.low[places], self.learnt.high[places]
            places = np.where(keeps_order(operator, low, high), places, -1)
            if (places < 0).all():
                return None
        return Following(self.values, self.orders.order, self.orders.tied, places)

    def bytes_with(self, size: int) -> int:
        """Predict the memory that the making of the next pool, of so many features, takes beside this one."""
        row = 0 if self.values is None else self.values[:1].nbytes
        return len(self) * NODE_BYTES + size * (row + NODE_BYTES)

    def defined(
        self, operators: tuple[Operator, ...]
    ) -> dict[str, tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
        """Say, for each operator with a domain, which members may be its left and right argument."""
        if self.learnt is None:
            return {}
        inside = {domain: self.learnt.within(domain) for op in operators for domain in op.domain}
        return {
            operator.name: (inside[operator.domain[0]], inside[operator.domain[-1]])
            for operator in operators
            if any(domain is not Domain.REAL for domain in operator.domain)
        }

    def only(self, places: NDArray[np.int64]) -> Pool:
        """Return the pool of the members at some places; for a pool that no operator has been applied to."""
        values = None if self.values is None else self.values[places]
        learnt = None if self.learnt is None else self.learnt.take(places)
        return replace(self, members=self.members[places], values=values, learnt=learnt)

    def grown(
        self,
        stay: NDArray[np.int64],
        new: Nodes,
        values: NDArray[np.float64] | None,
        tried: Mapping[Operator, int],
        learnt: Learnt | None = None,
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
        members = np.concatenate((self.members[stay], len(self.all_nodes) + np.arange(len(new))))
        nodes, units = self.all_nodes.joined(new), self.units
        return Pool(self.structure, nodes, members, values, tried, self.columns, learnt=learnt, units=units)

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


def first_pool(
    structure: Structure,
    grammar: Grammar,
    columns: NDArray[np.float64] | None,
    *,
    thin: bool = False,
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
    nodes = leaves(structure, grammar)
    members = np.arange(len(nodes))
    if columns is None:
        return Pool(structure, nodes, members, None, units=units)
    numbers = np.repeat(np.array(structure.constants, dtype=np.float64)[:, None], columns.shape[1], axis=1)
    learnt = learnt_of(numbers).joined(learnt_of(columns))
    if thin:
        return Pool(structure, nodes, members, None, columns=columns, learnt=learnt, units=units)
    values = np.concatenate((numbers, columns))
    return Pool(structure, nodes, members, values, learnt=learnt, units=units)

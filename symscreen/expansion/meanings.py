"""Which candidates have a unit: a layer's operators before the units of a pool's members.

Members with the same unit are one kind. Whether an operator may take two kinds comes to comparing two small
integers for the shipped operators, and to a table of kinds by kinds for those that formulas define.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.expansion.nodes import COLUMN, CONSTANT
from symscreen.expansion.walk import KEPT, run_of
from symscreen.grammar.measures import Measure, measured

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.expansion.nodes import Nodes, Structure
    from symscreen.grammar import Operator
    from symscreen.units import Units

    Bytes = NDArray[np.uint8]
    Exponents = NDArray[np.int64]
    Kinds = NDArray[np.int32]

__all__ = ["NO_UNIT", "OTHER_UNITS", "Meaning", "PoolUnits", "units_of"]

NO_UNIT, OTHER_UNITS = 8, 9  # as of `Fate`
_TOGETHER = 1 << 20  # pairs of kinds whose units are worked out together


@dataclass(frozen=True, eq=False)
class PoolUnits:
    """The units of a pool's members.

    Parameters
    ----------
    kinds : int32 array, shape (q,)
        Each member's kind: a unit or, for constants, a number.
    exponents : int64 array, shape (k, D)
        Of each kind, as of `Measure`.
    number : float64 array, shape (k,)
        Of each kind.
    target : int64 array, shape (D,), or None
        The unit asked for.
    """

    kinds: Kinds
    exponents: Exponents
    number: NDArray[np.float64]
    target: Exponents | None

    @property
    def asked(self) -> NDArray[np.bool_]:
        """Whether each member has the unit asked for; shape (q,)."""
        assert self.target is not None  # noqa: S101  # else nobody asks
        return np.asarray((self.exponents == self.target).all(axis=1)[self.kinds])

    def meaning(self, operator: Operator) -> Meaning | None:
        """Say which members an operator may take; None for all of them."""
        kinds, target = len(self.exponents), self.target
        rule = operator.units.kind
        if operator.arity == 1:
            fates = self._fates(measured(operator, self._at(np.arange(kinds))))
            return Meaning(_same(self.kinds), NO_UNIT, fates[self.kinds]) if fates.any() else None
        if rule == "like":
            other = np.zeros(kinds, dtype=np.uint8)
            if target is not None:
                other[(self.exponents != target).any(axis=1)] = OTHER_UNITS
            units = _numbered(self.exponents)[0][self.kinds]
            return Meaning(np.stack([units, units]), NO_UNIT, other[self.kinds])
        if rule in {"product", "quotient"}:
            if target is None:
                return None
            # a·b is in T where the unit of a is T less that of b; a/b, where it is T and that of b
            partner = target - self.exponents if rule == "product" else target + self.exponents
            units = _numbered(np.concatenate((self.exponents, partner)))[0]
            sides = np.stack([units[:kinds][self.kinds], units[kinds:][self.kinds]])
            return Meaning(sides, OTHER_UNITS, np.zeros(len(self.kinds), dtype=np.uint8))
        return Meaning(np.stack([self.kinds] * 2), NO_UNIT, None, self._table(operator))

    def _at(self, kinds: NDArray[np.integer]) -> Measure:
        return Measure(self.exponents[kinds], self.number[kinds], np.ones(len(kinds), dtype=np.bool_))

    def _fates(self, found: Measure) -> Bytes:
        """Say what becomes of candidates with these units."""
        right = True if self.target is None else (found.exponents == self.target).all(axis=-1)
        return np.where(found.sound, np.where(right, KEPT, OTHER_UNITS), NO_UNIT).astype(np.uint8)

    def _table(self, operator: Operator) -> Bytes:
        """Work out the fates of all pairs of kinds, by left and right, and by right and left."""
        kinds = len(self.exponents)
        table = np.empty((kinds, kinds), dtype=np.uint8)
        for first in range(0, kinds, step := max(1, _TOGETHER // kinds)):
            left = np.arange(first, min(first + step, kinds))
            pairs = np.meshgrid(left, np.arange(kinds), indexing="ij")
            found = measured(operator, *(self._at(each.ravel()) for each in pairs))
            fates = self._fates(found)
            table[left] = np.broadcast_to(fates, pairs[0].size).reshape(pairs[0].shape)
        return np.stack([table.T, table])


@dataclass(frozen=True, eq=False)
class Meaning:
    """What units say of an operator's candidates.

    Parameters
    ----------
    kinds : int32 array, shape (2, q)
        What is compared, of each member as left and as right argument.
    unequal : int
        The fate of candidates whose arguments differ in it.
    equal : uint8 array, shape (q,), or None
        The fates of the others, by the left argument or, where arguments have like units, by either.
    table : uint8 array, shape (2, k, k), or None
        Instead: fates by the kinds of the argument that stays and of the one that moves along a run, where
        the left one moves and where the right one does.
    """

    kinds: Kinds
    unequal: int
    equal: Bytes | None
    table: Bytes | None = None

    def mark(self, first: int, stop: int, pairs: int, fates: Bytes) -> None:
        """Fill in what becomes of a range of candidates, counted from the operator's first pair."""
        if self.table is not None:
            _look_up(first, stop, pairs, self.kinds, self.table, fates)
        elif self.equal is not None:
            _compare(first, stop, pairs, self.kinds, self.unequal, self.equal, fates)


def units_of(units: Units, structure: Structure, nodes: Nodes, members: NDArray[np.int64]) -> PoolUnits:
    """Work out the units of a pool's members.

    Parameters
    ----------
    units : Units
        Those of the inputs.
    structure : Structure
        What the nodes refer to.
    nodes : Nodes
        All nodes, each with a unit.
    members : int64 array, shape (q,)
        The places of the members among them.

    Returns
    -------
    PoolUnits
    """
    number = np.full(len(nodes), np.nan)
    exponents = np.zeros((len(nodes), len(units.symbols)), dtype=np.int64)
    columns, constants = nodes.operator == COLUMN, nodes.operator == CONSTANT
    own = [units.columns.get(name) for name in structure.names]
    vectors = np.array([exponents[0] if unit is None else units.exponents(unit) for unit in own])
    exponents[columns] = vectors.reshape(len(own), -1)[nodes.left[columns]]
    number[constants] = np.array(structure.constants, dtype=np.float64)[nodes.left[constants]]
    made = np.flatnonzero(nodes.operator >= 0)
    steps = nodes.layer[made].astype(np.int64) * len(structure.operators) + nodes.operator[made]
    for step in np.unique(steps):  # arguments are of earlier layers
        places = made[steps == step]
        operator = structure.operators[int(nodes.operator[places[0]])]
        sides = [nodes.left[places]] if operator.arity == 1 else [nodes.left[places], nodes.right[places]]
        sound = np.ones(len(places), dtype=np.bool_)
        found = measured(operator, *(Measure(exponents[side], number[side], sound) for side in sides))
        exponents[places] = found.exponents
    whole = np.column_stack((exponents[members], np.nan_to_num(number[members], nan=-0.5).view(np.int64)))
    kinds, first = _numbered(whole)
    target = None if units.target is None else units.exponents(units.target)
    return PoolUnits(kinds, exponents[members[first]], number[members[first]], target)


def _numbered(rows: Exponents) -> tuple[Kinds, NDArray[np.int64]]:
    """Give equal rows one number; return each row's, and the first row of each number."""
    rows = np.column_stack((np.zeros(len(rows), dtype=np.int64), rows))  # numpy refuses rows of nothing
    _, first, numbers = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return numbers.reshape(-1).astype(np.int32), first


def _same(kinds: Kinds) -> Kinds:
    return np.zeros((2, len(kinds)), dtype=np.int32)


@kernel
def _compare(
    first: int, stop: int, pairs: int, kinds: Kinds, unequal: int, equal: Bytes, fates: Bytes
) -> None:
    t = first
    while t < stop:
        side, moving, staying, n = run_of(pairs, t)
        n, done = min(n, stop - t), t - first
        kind = kinds[1 - side, staying]
        moves, otherwise, found = kinds[side, moving:], equal[moving:], fates[done : done + n]
        for k in range(n):
            fate = otherwise[k] if moves[k] == kind else np.uint8(unequal)
            found[k] = fate if found[k] == KEPT else found[k]
        t += n


@kernel
def _look_up(first: int, stop: int, pairs: int, kinds: Kinds, table: Bytes, fates: Bytes) -> None:
    t = first
    while t < stop:
        side, moving, staying, n = run_of(pairs, t)
        n, done = min(n, stop - t), t - first
        row, moves, found = (
            table[side, kinds[1 - side, staying]],
            kinds[side, moving:],
            fates[done : done + n],
        )
        for k in range(n):
            found[k] = row[moves[k]] if found[k] == KEPT else found[k]
        t += n

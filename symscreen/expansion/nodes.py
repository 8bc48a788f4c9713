"""The features of a pool as a struct of arrays: structure and metadata, no values.

A node is an input, a constant, or an operator over older nodes. Rules about a node's insides are bit sets
over the layers' operators, so that a whole layer of candidates is judged by a few array operations.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import GrammarError
from symscreen.expressions.tree import Column, Constant, Expression, apply_operator
from symscreen.grammar import fingerprint as fp

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import NDArray

    from symscreen.grammar import Grammar, Layer, Operator


__all__ = [
    "COLUMN",
    "CONSTANT",
    "FeatureMetadata",
    "NodeArray",
    "SymbolTable",
    "build_expression",
    "build_symbol_table",
    "make_leaf_nodes",
]

COLUMN, CONSTANT = -1, -2
_MAX_OPERATORS = 64


@dataclass(frozen=True, eq=False)
class SymbolTable:
    """What the nodes refer to by number.

    Parameters
    ----------
    names : tuple of str
        The inputs.
    constants : tuple of int
        The constants of the pool.
    operators : tuple of Operator
        All operators of all layers; a node's ``operator`` is a place in here.
    """

    input_names: tuple[str, ...]
    constants: tuple[int, ...]
    operators: tuple[Operator, ...]

    def get_code(self, operator: Operator) -> int:
        """Return an operator's place."""
        return self.operators.index(operator)


@dataclass(frozen=True, eq=False)
class FeatureMetadata:
    """The metadata of some features, one an entry of every array.

    Parameters
    ----------
    complexity : int32 array, shape (q,)
    layer : int16 array, shape (q,)
        The layer that made the feature; 0 for the inputs and for formulas that the user gave.
    keys : uint64 array, shape (q, 2)
        Canonical keys.
    """

    complexity: NDArray[np.int32]
    layer: NDArray[np.int16]
    keys: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.complexity)

    def take(self, indices: NDArray[np.int64]) -> Self:
        """Return the features at some places."""
        return type(self)(*(getattr(self, field.name)[indices] for field in fields(self)))

    def concatenate(self, more: Self) -> Self:
        """Return these features and more behind them."""
        pairs = ((getattr(self, field.name), getattr(more, field.name)) for field in fields(self))
        return type(self)(*(np.concatenate(pair) for pair in pairs))


@dataclass(frozen=True, eq=False)
class NodeArray(FeatureMetadata):
    """Features with their structure; constants are nodes too.

    Parameters
    ----------
    complexity, layer, keys
        As of all features.
    operator : int16 array, shape (q,)
        The operator's place in the structure, or `COLUMN`, or `CONSTANT`.
    left, right : int32 arrays, shape (q,)
        The arguments' nodes; for leaves, ``left`` is the place of the name or constant. Unary nodes repeat
        ``left`` in ``right``.
    inside : uint64 array, shape (q,)
        Bit set of the operators anywhere in the node.
    allowed : uint64 array, shape (q,)
        Bit set of the operators that may touch every column of the node.
    """

    operator: NDArray[np.int16]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    operator_mask: NDArray[np.uint64]
    allowed_mask: NDArray[np.uint64]

    @property
    def metadata(self) -> FeatureMetadata:
        """The metadata alone."""
        return FeatureMetadata(self.complexity, self.layer, self.keys)

    def replace_at(self, indices: NDArray[np.int64], others: NodeArray) -> NodeArray:
        """Return these nodes with others in some places."""
        where = np.arange(len(self))
        where[indices] = len(self) + np.arange(len(indices))
        return self.concatenate(others).take(where)


def build_symbol_table(names: Sequence[str], grammar: Grammar, layers: Sequence[Layer]) -> SymbolTable:
    """Collect the operators of all layers.

    Raises
    ------
    GrammarError
        If there are more than 64.
    """
    operators = tuple(dict.fromkeys(operator for layer in layers for operator in layer.operators))
    if len(operators) > _MAX_OPERATORS:
        raise GrammarError(
            f"the layers use {len(operators)} operators; at most {_MAX_OPERATORS} can be tracked"
        )
    return SymbolTable(tuple(names), grammar.constants, operators)


def build_operator_mask(names: frozenset[str], symbols: SymbolTable) -> np.uint64:
    """Return the bit set of the operators with these names."""
    return np.uint64(
        sum(1 << code for code, operator in enumerate(symbols.operators) if operator.name in names)
    )


def make_leaf_nodes(symbols: SymbolTable, grammar: Grammar) -> NodeArray:
    """Make nodes of the constants and, behind them, of the inputs."""
    constants, names = symbols.constants, symbols.input_names
    q = len(constants) + len(names)
    places = [*range(len(constants)), *range(len(names))]
    everything = (1 << len(symbols.operators)) - 1
    allowed = [everything] * len(constants)
    for name in names:
        barred = frozenset(operator for operator, columns in grammar.columns.items() if name not in columns)
        allowed.append(everything & ~int(build_operator_mask(barred, symbols)))
    keys = [fp.encode_number(value) for value in constants] + [fp.encode_column(name) for name in names]
    return NodeArray(
        operator=np.array([CONSTANT] * len(constants) + [COLUMN] * len(names), dtype=np.int16),
        left=np.array(places, dtype=np.int32),
        right=np.array(places, dtype=np.int32),
        complexity=np.ones(q, dtype=np.int32),
        layer=np.zeros(q, dtype=np.int16),
        keys=np.array(keys, dtype=np.uint64).reshape(q, 2),
        operator_mask=np.zeros(q, dtype=np.uint64),
        allowed_mask=np.array(allowed, dtype=np.uint64),
    )


def build_expression(symbols: SymbolTable, nodes: NodeArray, node: int) -> Expression:
    """Build a node's expression.

    Parameters
    ----------
    structure : Structure
        What the numbers mean.
    nodes : Nodes
        All nodes.
    node : int
        The place of the one wanted.

    Returns
    -------
    Expression
    """
    code, left, right = int(nodes.operator[node]), int(nodes.left[node]), int(nodes.right[node])
    if code == COLUMN:
        return Column(symbols.input_names[left])
    if code == CONSTANT:
        return Constant(symbols.constants[left])
    operator = symbols.operators[code]
    arguments = (left,) if operator.arity == 1 else (left, right)
    return apply_operator(operator, *(build_expression(symbols, nodes, argument) for argument in arguments))

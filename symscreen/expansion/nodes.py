"""The features of a pool as a struct of arrays: structure and metadata, without values.

A node is an input, a constant, or an operator applied to older nodes. The operators inside a node are stored
as bit sets, so that a few array operations apply the grammar's nesting rules to all candidates of a layer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.data import NO_INDICATORS
from symscreen.errors import GrammarError
from symscreen.expressions.tree import Column, Constant, Expression, apply_operator
from symscreen.grammar import fingerprint as fp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from numpy.typing import NDArray

    from symscreen.data import DerivedColumn
    from symscreen.grammar import Grammar, Layer, Operator


COLUMN, CONSTANT = -1, -2  # operator codes of leaf nodes
_MAX_OPERATORS = 64  # bits of an operator mask


@dataclass(frozen=True, eq=False)
class SymbolTable:
    """The inputs, constants and operators that nodes refer to by index.

    Parameters
    ----------
    input_names : tuple of str
        Names of the inputs.
    constants : tuple of float
        Constants of the pool.
    operators : tuple of Operator
        All operators of all layers. A node's ``operator`` is an index into this tuple.
    indicators : mapping of str to DerivedColumn
        How the inputs are computed that are derived from categorical columns.
    """

    input_names: tuple[str, ...]
    constants: tuple[float, ...]
    operators: tuple[Operator, ...]
    indicators: Mapping[str, DerivedColumn] = field(default_factory=dict)

    def get_code(self, operator: Operator) -> int:
        """Return the index of an operator."""
        return self.operators.index(operator)


@dataclass(frozen=True, eq=False)
class FeatureMetadata:
    """Metadata of features, as parallel arrays.

    Parameters
    ----------
    complexity : int32 array, shape (q,)
        Complexity of each feature.
    layer : int16 array, shape (q,)
        Layer that made the feature. 0 for inputs and for formulas given by the user.
    keys : uint64 array, shape (q, 2)
        Canonical keys.
    """

    complexity: NDArray[np.int32]
    layer: NDArray[np.int16]
    keys: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.complexity)

    def take(self, indices: NDArray[np.int64]) -> Self:
        """Return the features at the given indices."""
        return type(self)(*(getattr(self, field.name)[indices] for field in fields(self)))

    def concatenate(self, more: Self) -> Self:
        """Return these features followed by more."""
        pairs = ((getattr(self, field.name), getattr(more, field.name)) for field in fields(self))
        return type(self)(*(np.concatenate(pair) for pair in pairs))


def sort_features(keys: NDArray[np.uint64], *criteria: NDArray[Any]) -> NDArray[np.int64]:
    """Return the indices that sort features: by the first criterion, then the next, last by canonical key.

    This is the one order of features. `keys` has shape (k, 2); each criterion has shape (k,), and smaller
    is better. Without another criterion than complexity, the simplest feature comes first. The keys of
    different formulas differ, so the order is total and does not depend on the order of the features.

    Examples
    --------
    >>> keys = np.array([[7, 1], [5, 2], [5, 1]], dtype=np.uint64)
    >>> sort_features(keys, np.array([0.5, 0.5, 0.5]), np.array([3, 4, 4])).tolist()
    [0, 2, 1]
    """
    return np.lexsort((keys[:, 1], keys[:, 0], *reversed(criteria)))


def rank_features(keys: NDArray[np.uint64], *criteria: NDArray[Any]) -> NDArray[np.int64]:
    """Return the place of each feature, from 0, in the order of `sort_features`."""
    return np.argsort(sort_features(keys, *criteria))


@dataclass(frozen=True, eq=False)
class NodeArray(FeatureMetadata):
    """Features with their structure. Constants are nodes too.

    Parameters
    ----------
    complexity, layer, keys
        See `FeatureMetadata`.
    operator : int16 array, shape (q,)
        Index of the operator in the symbol table, or `COLUMN`, or `CONSTANT`.
    left, right : int32 arrays, shape (q,)
        Nodes of the arguments. For a leaf, ``left`` is the index of the name or constant. For a unary node,
        ``right`` equals ``left``.
    operator_mask : uint64 array, shape (q,)
        Bit set of the operators anywhere in the node.
    allowed_mask : uint64 array, shape (q,)
        Bit set of the operators that may be applied to every column of the node.
    """

    operator: NDArray[np.int16]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    operator_mask: NDArray[np.uint64]
    allowed_mask: NDArray[np.uint64]

    @property
    def metadata(self) -> FeatureMetadata:
        """The metadata without the structure."""
        return FeatureMetadata(self.complexity, self.layer, self.keys)

    def replace_at(self, indices: NDArray[np.int64], others: NodeArray) -> NodeArray:
        """Return these nodes with the nodes at `indices` replaced."""
        source = np.arange(len(self))
        source[indices] = len(self) + np.arange(len(indices))
        return self.concatenate(others).take(source)


def build_symbol_table(
    names: Sequence[str],
    grammar: Grammar,
    layers: Sequence[Layer],
    indicators: Mapping[str, DerivedColumn] = NO_INDICATORS,
) -> SymbolTable:
    """Collect the operators of all layers.

    Parameters
    ----------
    names : sequence of str
        Names of the inputs.
    grammar : Grammar
        Provides the constants.
    layers : sequence of Layer
        The layers to apply.
    indicators : mapping of str to DerivedColumn
        How the inputs are computed that are derived from categorical columns.

    Returns
    -------
    SymbolTable

    Raises
    ------
    GrammarError
        If the layers use more than 64 operators.
    """
    operators = tuple(dict.fromkeys(operator for layer in layers for operator in layer.operators))
    if len(operators) > _MAX_OPERATORS:
        raise GrammarError(
            f"the layers use {len(operators)} operators; at most {_MAX_OPERATORS} can be tracked"
        )
    return SymbolTable(tuple(names), grammar.constants, operators, indicators)


def build_operator_mask(names: frozenset[str], symbols: SymbolTable) -> np.uint64:
    """Return the bit set of the operators with these names."""
    return np.uint64(
        sum(1 << code for code, operator in enumerate(symbols.operators) if operator.name in names)
    )


def make_leaf_nodes(symbols: SymbolTable, grammar: Grammar) -> NodeArray:
    """Make the nodes of the constants, followed by those of the inputs."""
    constants, names = symbols.constants, symbols.input_names
    q = len(constants) + len(names)
    indices = [*range(len(constants)), *range(len(names))]
    all_operators = (1 << len(symbols.operators)) - 1
    allowed = [all_operators] * len(constants)
    for name in names:
        forbidden = frozenset(
            operator for operator, columns in grammar.columns.items() if name not in columns
        )
        allowed.append(all_operators & ~int(build_operator_mask(forbidden, symbols)))
    keys = [fp.encode_number(value) for value in constants] + [fp.encode_column(name) for name in names]
    return NodeArray(
        operator=np.array([CONSTANT] * len(constants) + [COLUMN] * len(names), dtype=np.int16),
        left=np.array(indices, dtype=np.int32),
        right=np.array(indices, dtype=np.int32),
        complexity=np.ones(q, dtype=np.int32),
        layer=np.zeros(q, dtype=np.int16),
        keys=np.array(keys, dtype=np.uint64).reshape(q, 2),
        operator_mask=np.zeros(q, dtype=np.uint64),
        allowed_mask=np.array(allowed, dtype=np.uint64),
    )


def build_expression(symbols: SymbolTable, nodes: NodeArray, node: int) -> Expression:
    """Build the expression of a node.

    Parameters
    ----------
    symbols : SymbolTable
        The symbols that the nodes refer to.
    nodes : NodeArray
        All nodes.
    node : int
        Index of the node.

    Returns
    -------
    Expression
    """
    code, left, right = int(nodes.operator[node]), int(nodes.left[node]), int(nodes.right[node])
    if code == COLUMN:
        name = symbols.input_names[left]
        return Column(name, symbols.indicators.get(name))
    if code == CONSTANT:
        return Constant(symbols.constants[left])
    operator = symbols.operators[code]
    arguments = (left,) if operator.arity == 1 else (left, right)
    return apply_operator(operator, *(build_expression(symbols, nodes, argument) for argument in arguments))

"""A grammar: a named set of operators with the rules by which formulas may be built."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from symscreen.errors import OptionError
from symscreen.grammar.layers import named_operators, parse_layers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen.grammar.layers import Layer
    from symscreen.grammar.operator import Operator

__all__ = ["Grammar"]


@dataclass(frozen=True, eq=False)
class Grammar:
    """Operators and rules.

    Parameters
    ----------
    name : str
        The grammar's name, or the path of its file.
    operators : mapping of str to Operator
        All that layers and formulas may name, with this grammar's costs: what ships and what it defines.
    unary, binary : tuple of Operator
        What ``u`` and ``b`` stand for.
    description : str
        One line.
    layers : str
        The default of ``--layers``.
    constants : tuple of int
        Numbers that stand in every pool beside the features.
    max_complexity : int or None
        The highest complexity of a feature.
    forbid : mapping of str to frozenset of str
        Outer operator to those that may not stand directly inside it.
    forbid_within : mapping of str to frozenset of str
        Outer operator to those that may not stand anywhere inside it.
    columns : mapping of str to frozenset of str
        Operator to the only columns that it may touch.
    """

    name: str
    operators: Mapping[str, Operator]
    unary: tuple[Operator, ...]
    binary: tuple[Operator, ...]
    description: str = ""
    layers: str = "ub"
    constants: tuple[int, ...] = ()
    max_complexity: int | None = None
    forbid: Mapping[str, frozenset[str]] = field(default_factory=dict)
    forbid_within: Mapping[str, frozenset[str]] = field(default_factory=dict)
    columns: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def __repr__(self) -> str:
        unary, binary = (" ".join(one.name for one in each) or "none" for each in (self.unary, self.binary))
        return f"<Grammar {self.name}: unary {unary}; binary {binary}; layers {self.layers}>"

    def altered(
        self,
        *,
        unary: Sequence[str] | None = None,
        binary: Sequence[str] | None = None,
        max_complexity: int | None = None,
    ) -> Grammar:
        """Return this grammar with other operator lists or another cap; its rules stay.

        Raises
        ------
        GrammarError
            If an operator is unknown, of the other arity, or listed twice.
        OptionError
            If the cap is below 1.
        """
        if max_complexity is not None and max_complexity < 1:
            raise OptionError(f"max_complexity is {max_complexity}; a single column already has complexity 1")
        return replace(
            self,
            unary=self.unary if unary is None else named_operators(unary, 1, self.operators, "--unary"),
            binary=self.binary if binary is None else named_operators(binary, 2, self.operators, "--binary"),
            max_complexity=self.max_complexity if max_complexity is None else max_complexity,
        )

    def parsed_layers(self, text: str | None = None) -> tuple[Layer, ...]:
        """Read ``--layers`` with this grammar's operators; None stands for its own default."""
        return parse_layers(self.layers if text is None else text, self.unary, self.binary, self.operators)

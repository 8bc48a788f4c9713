"""Operators, grammars, and the notation of formulas."""

from symscreen.grammar.builtin_operators import CORE_OPERATORS, EXTRA_OPERATORS, OPERATORS
from symscreen.grammar.grammar import Grammar, Layer, parse_layers
from symscreen.grammar.grammar_files import list_grammar_names, load_grammar
from symscreen.grammar.operator import Domain, Monotonicity, Operator, UnitRule, is_in_domain

__all__ = [
    "CORE_OPERATORS",
    "EXTRA_OPERATORS",
    "OPERATORS",
    "Domain",
    "Grammar",
    "Layer",
    "Monotonicity",
    "Operator",
    "UnitRule",
    "is_in_domain",
    "list_grammar_names",
    "load_grammar",
    "parse_layers",
]

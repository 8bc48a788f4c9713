"""Operators, grammars and the one formula notation."""

from symscreen.grammar.built_in import BUILT_IN, FURTHER, OPERATORS
from symscreen.grammar.grammar import Grammar
from symscreen.grammar.layers import Layer, parse_layers
from symscreen.grammar.load import grammar_names, load_grammar
from symscreen.grammar.operator import Domain, Monotone, Operator, UnitRule, in_domain

__all__ = [
    "BUILT_IN",
    "FURTHER",
    "OPERATORS",
    "Domain",
    "Grammar",
    "Layer",
    "Monotone",
    "Operator",
    "UnitRule",
    "grammar_names",
    "in_domain",
    "load_grammar",
    "parse_layers",
]

"""What users give as options, read into exact types, or refused before any work starts."""

from symscreen.options.screening import PRESCREEN, check_capacity, check_kind, read_cutters, read_search
from symscreen.options.space import idle_rules, read_grammar, read_keep, read_schedule
from symscreen.options.values import (
    at_least_1,
    check_sign,
    formula_texts,
    list_of_names,
    parse_bytes,
    read_limit,
    read_memory,
)

__all__ = [
    "PRESCREEN",
    "at_least_1",
    "check_capacity",
    "check_kind",
    "check_sign",
    "formula_texts",
    "idle_rules",
    "list_of_names",
    "parse_bytes",
    "read_cutters",
    "read_grammar",
    "read_keep",
    "read_limit",
    "read_memory",
    "read_schedule",
    "read_search",
]

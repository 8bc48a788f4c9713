"""A model and features that tests save as bundles."""

from __future__ import annotations

from symscreen.expressions.linear_formula import Formula
from symscreen.expressions.tree import parse_expression

MODEL = Formula("y", 1.5, (2.0, -0.1), (parse_expression("x1**3"), parse_expression("`a b`/x1")))
FEATURES = (parse_expression("x1**3"), parse_expression("log(`a b`)"))

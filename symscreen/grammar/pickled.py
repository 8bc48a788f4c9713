"""Operators as pickles hold them: by name or by definition, for most of their functions have no name."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from symscreen.grammar.built_in import OPERATORS
from symscreen.grammar.define import defined_again
from symscreen.grammar.operator import Operator

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["reduced"]


def reduced(operator: Operator) -> tuple[Callable[..., Operator], tuple[object, ...]]:
    """Say how to make an operator again.

    Parameters
    ----------
    operator : Operator
        Shipped, perhaps with another cost; defined by a formula; or made by a program.

    Returns
    -------
    callable
        What makes it.
    tuple
        Of these arguments. Of an operator that a program made, they are its fields: its functions must be
        ones that `pickle` finds by name.

    Examples
    --------
    >>> make, arguments = reduced(OPERATORS["sin"])
    >>> arguments, make(*arguments) is OPERATORS["sin"]
    (('sin', 1), True)
    """
    shipped = OPERATORS.get(operator.name)
    if shipped is not None and replace(shipped, cost=operator.cost) == operator:
        return _shipped, (operator.name, operator.cost)
    if operator.calls:
        told = (operator.name, operator.summary, operator.cost, operator.calls, operator.family)
        return defined_again, told
    return Operator, tuple(getattr(operator, each.name) for each in fields(operator))


def _shipped(name: str, cost: int) -> Operator:
    operator = OPERATORS[name]
    return operator if operator.cost == cost else replace(operator, cost=cost)

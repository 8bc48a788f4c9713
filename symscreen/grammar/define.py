"""New operators from formulas: what ``[define.NAME]`` of a grammar file means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import GrammarError, nearest
from symscreen.grammar import fingerprint as fp
from symscreen.grammar.formula import parse_formula
from symscreen.grammar.operator import Domain, Operator, UnitRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from symscreen.grammar.formula import Syntax

__all__ = ["define_operator", "finite_or_nan", "look_up", "sympy_number"]

_ARGUMENTS = ("x", "y")
_MAX_STEPS = 200


def finite_or_nan(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn infinities into NaN, so that no later operator makes a number of them (1/(1/0) is not 0)."""
    return np.where(np.isfinite(values), values, np.nan)


def sympy_number(value: float) -> Any:
    """Return a number as sympy has it: whole numbers and π exact, others with all their digits."""
    import sympy

    if value == np.pi:
        return sympy.pi
    return sympy.Integer(value) if isinstance(value, int) else sympy.Float(value, 17)


def look_up(name: str, arity: int, operators: Mapping[str, Operator]) -> Operator:
    """Find an operator by name and check that it takes this many arguments.

    Raises
    ------
    GrammarError
        If there is none of that name, with near matches, or it takes another number of arguments.
    """
    operator = operators.get(name)
    if operator is None:
        raise GrammarError(f"there is no operator {name!r}{nearest(name, operators)}")
    if operator.arity != arity:
        takes = "one argument" if operator.arity == 1 else "two arguments"
        raise GrammarError(f"the operator {name!r} takes {takes}, {arity} given")
    return operator


def define_operator(
    name: str, formula: str, operators: Mapping[str, Operator], *, cost: int | None = None
) -> Operator:
    """Make an operator from a formula of other operators.

    Parameters
    ----------
    name : str
        A plain identifier that no operator has.
    formula : str
        In the one notation, with the arguments ``x`` and, for a binary operator, ``y``; ``pi`` is π.
    operators : mapping
        The operators that the formula may call.
    cost : int, optional
        Its cost; by default the sum of the costs inside.

    Returns
    -------
    Operator
        Outside its domain, at any step inside, its numeric form gives NaN.

    Raises
    ------
    GrammarError
        If the formula uses other names, unknown operators, no argument, or, by way of the operators that
        it calls, more than 200 shipped ones.
    FormulaError
        If the formula does not parse.

    Examples
    --------
    >>> from symscreen.grammar.built_in import OPERATORS
    >>> gauss = define_operator("gauss", "exp(-x**2)", OPERATORS)
    >>> gauss.arity, gauss.cost, gauss.numeric(np.array([0.0, 1.0])).round(3).tolist()
    (1, 3, [1.0, 0.368])
    """
    tree = parse_formula(formula)
    names = _names(tree)
    if unknown := sorted(names - {*_ARGUMENTS, "pi"}):
        raise GrammarError(f"{name!r} is defined with {unknown[0]!r}; the arguments are called x and y")
    if "x" not in names:
        raise GrammarError(f"{name!r} is defined without its argument x")
    arity = 2 if "y" in names else 1
    called = list(_called(tree, operators))
    # definitions may call one another, and each can double what the last one costs to compute
    steps = sum(operator.steps for operator in called)
    if steps > _MAX_STEPS:
        raise GrammarError(f"{name!r} comes to {steps} operators, one inside another; at most {_MAX_STEPS}")
    symbolic = _compose(tree, operators, lambda operator: operator.symbolic, sympy_number)
    key = _compose(tree, operators, lambda operator: operator.key, fp.of_number)
    numeric = _compose(tree, operators, _checked, np.float64)
    x, y = fp.of_column("x"), fp.of_column("y")
    return Operator(
        name,
        arity,
        numeric=numeric,
        symbolic=symbolic,
        fingerprint=key,
        domain=(Domain.REAL,) * arity,
        units=UnitRule("composed"),
        summary=formula,
        cost=sum(operator.cost for operator in called) if cost is None else cost,
        steps=steps,
        commutative=arity == 2 and bool((key(x, y) == key(y, x)).all()),
    )


def _names(tree: Syntax) -> set[str]:
    if tree.kind in {"name", "column"}:
        return {str(tree.value)}
    return set().union(*(_names(argument) for argument in tree.arguments))


def _called(tree: Syntax, operators: Mapping[str, Operator]) -> Iterator[Operator]:
    if tree.kind == "call":
        yield look_up(str(tree.value), len(tree.arguments), operators)
        for argument in tree.arguments:
            yield from _called(argument, operators)


def _checked(operator: Operator) -> Callable[..., NDArray[np.float64]]:
    return lambda *arguments: finite_or_nan(operator.numeric(*arguments))


def _compose(
    tree: Syntax,
    operators: Mapping[str, Operator],
    form: Callable[[Operator], Callable[..., Any]],
    number: Callable[[float], Any],
) -> Callable[..., Any]:
    """Chain one form (numeric, symbolic, fingerprint) of the operators that a formula calls."""
    if tree.kind == "call":
        apply = form(look_up(str(tree.value), len(tree.arguments), operators))
        parts = [_compose(argument, operators, form, number) for argument in tree.arguments]
        return lambda *arguments: apply(*(part(*arguments) for part in parts))
    if tree.value in _ARGUMENTS:
        place = _ARGUMENTS.index(str(tree.value))
        return lambda *arguments: arguments[place]
    value = number(np.pi if isinstance(tree.value, str) else tree.value)
    return lambda *_: value

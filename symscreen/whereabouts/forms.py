"""Other ways to write a formula, by sympy: for a space may hold one of them, or reach it in fewer layers.

The sympy form is built from our own tree and walked back into one; no text is read. What sympy might take
long over is not given to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symscreen.errors import FormulaError
from symscreen.expression import Apply, Constant, columns_of, complexity, key, to_sympy

if TYPE_CHECKING:
    from symscreen.expression import Expression

__all__ = ["other_forms"]

_LARGEST = 40
_HIGHEST_DEGREE = 8
_MOST_COLUMNS = 6
_DEGREES = {"square": 2, "cube": 3}


def other_forms(expression: Expression) -> list[Expression]:
    """Write a formula in other ways: factored, expanded, over one denominator.

    Parameters
    ----------
    expression : Expression
        The formula.

    Returns
    -------
    list of Expression
        Equal to it by their canonical keys, and written otherwise; none where the formula is large.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> [str(form) for form in other_forms(parse("a*b + a*c"))]
    ['a*(b + c)']
    >>> other_forms(parse("9**9**9*a"))
    []
    """
    if complexity(expression) > _LARGEST or len(columns_of(expression)) > _MOST_COLUMNS:
        return []
    if _degree(expression) > _HIGHEST_DEGREE:
        return []
    import sympy

    form = to_sympy(expression)
    own, found = key(expression), {expression: None}
    for rewrite in (sympy.factor, sympy.expand, sympy.together):
        other = _written(rewrite, form, expression)
        if other is not None and key(other) == own:
            found.setdefault(other)
    return list(found)[1:]


def _written(rewrite: Any, form: Any, expression: Expression) -> Expression | None:
    import sympy

    from symscreen.evaluation.from_sympy import from_sympy
    from symscreen.expression import Column

    columns = {sympy.Symbol(name): Column(name) for name in columns_of(expression)}
    try:
        return from_sympy(rewrite(form), columns)
    except (FormulaError, sympy.PolynomialError):
        return None


def _degree(expression: Expression) -> float:
    """Bound the degree of a formula as a polynomial of its leaves and functions; infinite where unknown."""
    if not isinstance(expression, Apply):
        return 1.0
    name, inner = expression.operator.name, [_degree(each) for each in expression.arguments]
    if name == "pow":
        exponent = expression.arguments[1]
        if not isinstance(exponent, Constant) or not float(exponent.value).is_integer():
            return float("inf")
        return inner[0] * abs(exponent.value)
    if name in {"mul", "div"}:
        return sum(inner)
    return max(inner) * _DEGREES.get(name, 1)

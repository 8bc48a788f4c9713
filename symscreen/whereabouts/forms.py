"""Other ways to write a formula, by sympy: for a space may reach one of them in fewer layers.

The sympy form is built from our own tree and walked back into one; no text is read. sympy sees polynomials of
low degree and their quotients only: functions stand for themselves as symbols, and what it might take long
over is not given to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from symscreen.errors import FormulaError
from symscreen.evaluation.from_sympy import from_sympy
from symscreen.expression import Apply, Column, Constant, apply, complexity, key, to_sympy

if TYPE_CHECKING:
    from symscreen.expression import Expression

__all__ = ["other_forms"]

_LARGEST = 40
_HIGHEST_DEGREE = 12
_MOST_SYMBOLS = 6
_RATIONAL = frozenset({"neg", "square", "cube", "inv", "add", "sub", "mul", "div"})
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
    >>> [str(form) for form in other_forms(parse("a*b + a*log(c)"))]
    ['a*(b + log(c))']
    >>> other_forms(parse("9**9**9*a"))
    []
    """
    symbols: dict[Expression, Column] = {}
    rational = _with_symbols(expression, symbols)
    few = complexity(rational) <= _LARGEST and len(symbols) <= _MOST_SYMBOLS
    if not few or not isinstance(rational, Apply) or _degree(rational) > _HIGHEST_DEGREE:
        return []
    import sympy

    form = to_sympy(rational)
    meant = {sympy.Symbol(symbol.name): part for part, symbol in symbols.items()}
    own, found = key(expression), {expression: None}
    for rewrite in (sympy.factor, sympy.expand, sympy.together):
        try:
            other = from_sympy(rewrite(form), meant)
        except (FormulaError, sympy.PolynomialError):
            continue
        if key(other) == own:
            found.setdefault(other)
    return list(found)[1:]


def _with_symbols(expression: Expression, symbols: dict[Expression, Column]) -> Expression:
    """Put a symbol in the place of whatever is no sum, product, quotient or power of others."""
    if isinstance(expression, Constant):
        return expression
    if isinstance(expression, Apply) and expression.operator.name in _RATIONAL:
        return apply(expression.operator, *(_with_symbols(each, symbols) for each in expression.arguments))
    return symbols.setdefault(expression, Column(f"part {len(symbols)}"))


def _degree(expression: Expression) -> int:
    """Bound the degree of a rational formula, above and below the line together."""
    if not isinstance(expression, Apply):
        return 1
    name, inner = expression.operator.name, [_degree(each) for each in expression.arguments]
    # a sum of quotients has the product of their denominators below the line
    return sum(inner) if len(inner) == 2 else inner[0] * _DEGREES.get(name, 1)

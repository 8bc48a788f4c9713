"""One row of a ranking: a formula with its scores, and how its direction is written."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from symscreen.expressions.printing import to_latex, to_mathml, to_text
from symscreen.messages import escape_control_chars

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen.expressions.tree import Expression


_DIGITS = 5  # significant digits of displayed scores


@dataclass(frozen=True, eq=False)
class RankedFeature:
    r"""A formula of a ranking: ``result[0]`` is the best one.

    Parameters
    ----------
    expression : Expression
        The formula as a tree.
    row : mapping of str to object
        The columns of the ranking: ``rank``, ``complexity``, ``direction``, the scores and others.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.load_strogatz("glider2")
    >>> best = symscreen.screen(data.frame, layers="ubb", unary="cos", binary="sub,div", top=1)[0]
    >>> best.text, best.rank
    ('x1 - cos(x2)/x1', 1)
    >>> print(best.to_latex(), "=", best.to_sympy())
    x_{1} - \frac{\cos\left(x_{2}\right)}{x_{1}} = x1 - cos(x2)/x1
    """

    expression: Expression
    row: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The formula in the notation of symscreen."""
        return to_text(self.expression)

    @property
    def rank(self) -> int:
        """The rank, from 1."""
        return int(self.row["rank"])

    def to_latex(self, digits: int = 4) -> str:
        """Format the formula as LaTeX, without dollar signs.

        Parameters
        ----------
        digits : int
            Significant digits of fitted constants, from 1 to 17.

        Returns
        -------
        str
        """
        return to_latex(self.expression, digits)

    def to_sympy(self) -> Any:
        """Convert the formula to sympy. The symbols have the names of the columns.

        Returns
        -------
        sympy expression
        """
        from symscreen.expressions.sympy_conversion import to_sympy

        return to_sympy(self.expression)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        facts = [f"{name} {_format_value(value)}" for name, value in self._facts.items()]
        return escape_control_chars(f"<RankedFeature {self.rank}: {self.text}; {', '.join(facts)}>")

    def _repr_latex_(self) -> str:
        return f"${self.to_latex()}$"

    def _repr_html_(self) -> str:
        facts = (
            f"{escape(escape_control_chars(name))} {escape(_format_value(value))}"
            for name, value in self._facts.items()
        )
        return f"<p>{to_mathml(self.expression)}</p><p>rank {self.rank}; {'; '.join(facts)}</p>"

    @property
    def _facts(self) -> dict[str, Any]:
        return {
            name: value
            for name, value in self.row.items()
            if name not in {"rank", "expression"} and value is not None and value == value  # noqa: PLR0124  # NaN
        }


def _format_value(value: Any) -> str:
    return f"{value:.{_DIGITS}g}" if isinstance(value, float) else escape_control_chars(str(value))


def format_direction(sign: int) -> str:
    """Format the direction of a feature: ``+`` for 1, ``-`` for −1, and nothing for 0.

    Examples
    --------
    >>> [format_direction(sign) for sign in (1, -1, 0)]
    ['+', '-', '']
    """
    return {1: "+", -1: "-"}.get(sign, "")

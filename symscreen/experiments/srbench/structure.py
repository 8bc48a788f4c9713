"""Structure of a law: a monomial, a sum of monomials, a function of one monomial, or another.

In logarithmic coordinates u_i = log x_i, the gradient of log|y| is constant if y is a monomial c·Π x_i^a_i.
If y = M0(x)·h(M1(x)) with monomials M0 and M1, the gradient is a + φ·b with a number φ that depends on the
row: the gradients of many rows, less their mean, have rank one. The reverse holds as well, because a
gradient field a + φ·b has a φ that depends on Σ b_i·u_i alone.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from symscreen.experiments.srbench.problems import Problem, draw_table
from symscreen.expressions.sympy_conversion import build_exact_form
from symscreen.expressions.traversal import evaluate_expression

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from symscreen.expressions.tree import Expression

Structure = Literal["monomial", "sum of monomials", "M0·h(M1)", "other"]
STRUCTURES: tuple[Structure, ...] = ("monomial", "sum of monomials", "M0·h(M1)", "other")

_RESPONSE_POWERS = (1, -1, 2, -2)
_MAX_MONOMIALS = 3
_N_ROWS = 400
_STEP = 1e-3  # step of log x in a central difference with five points
# smallest singular value of the gradients, relative to the largest, that counts for the rank
_RANK_TOLERANCE = 1e-5


@lru_cache(maxsize=256)
def find_structure(problem: Problem) -> Structure:
    """Find the structure of the truth of a problem.

    Parameters
    ----------
    problem : Problem
        The problem.

    Returns
    -------
    {"monomial", "sum of monomials", "M0·h(M1)", "other"}
        The first that holds: y = c·Π x^a; one of y, 1/y, y² and 1/y² is a sum of at most three monomials;
        y = M0(x)·h(M1(x)) with monomials M0 and M1; none of these.

    Examples
    --------
    >>> from symscreen.experiments.srbench.problems import find_problems
    >>> [find_structure(each) for each in find_problems(["I_18_4", "I_27_6", "I_34_8", "I_40_1"])]
    ['other', 'sum of monomials', 'monomial', 'M0·h(M1)']
    """
    n_monomials = count_monomials(problem.expression)
    if n_monomials == 1:
        return "monomial"
    if n_monomials is not None:
        return "sum of monomials"
    table = draw_table(problem, 0).drop(columns=problem.target).iloc[:_N_ROWS]
    rows = {str(name): table[name].to_numpy() for name in table}
    return "M0·h(M1)" if compute_gradient_rank(problem.expression, rows) <= 1 else "other"


def count_monomials(expression: Expression) -> int | None:
    """Count the monomials of the shortest sum among y, 1/y, y² and 1/y².

    Parameters
    ----------
    expression : Expression
        A formula for positive inputs.

    Returns
    -------
    int or None
        None if no response is a sum of at most three monomials.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> [count_monomials(parse_expression(text)) for text in ("2*x/y**2", "1/(1/x + 2/y)", "sin(x)*y")]
    [1, 2, None]
    """
    import sympy

    names = _collect_names(expression)
    symbols = {name: sympy.Symbol(name, positive=True) for name in names}
    form = build_exact_form(expression, symbols)
    counts = [
        len(terms)
        for power in _RESPONSE_POWERS
        if all(map(_is_monomial, terms := sympy.Add.make_args(sympy.expand(form**power))))
    ]
    return min((count for count in counts if count <= _MAX_MONOMIALS), default=None)


def _collect_names(expression: Expression) -> list[str]:
    """Collect the names of the columns, sorted."""
    from symscreen.expressions.traversal import collect_columns

    return sorted(collect_columns(expression))


def _is_monomial(form: Any) -> bool:
    """Return whether a sympy form is a product of a number and powers of symbols."""
    import sympy

    return all(
        factor.is_number
        or factor.is_Symbol
        or (factor.is_Pow and factor.base.is_Symbol and factor.exp.is_Rational)
        for factor in sympy.Mul.make_args(form)
    )


def compute_gradient_rank(expression: Expression, rows: Mapping[str, NDArray[np.float64]]) -> int:
    """Compute the rank of the gradients of log|y| in log x over rows, less their mean.

    Parameters
    ----------
    expression : Expression
        A formula.
    rows : mapping of str to float64 array, shape (n,)
        Inputs. Rows in which an input is not positive, or |y| is in its lowest quarter, are left out.

    Returns
    -------
    int
        0 for a monomial, 1 for M0·h(M1), 2 for M0·h(M1, M2), and so on.
    """
    names = _collect_names(expression)
    logs = {name: np.log(rows[name]) for name in names if (rows[name] > 0).all()}
    if len(logs) < len(names):
        return len(names)
    value = np.abs(evaluate_expression(expression, dict(rows)))
    is_large = value >= np.quantile(value, 0.25)
    logs = {name: values[is_large] for name, values in logs.items()}
    gradients = np.array([_differentiate(expression, logs, name) for name in names])
    gradients = gradients[:, np.isfinite(gradients).all(axis=0)]
    centered = gradients - gradients.mean(axis=1, keepdims=True)
    scale = np.linalg.norm(gradients)
    return int((np.linalg.svd(centered, compute_uv=False) > _RANK_TOLERANCE * scale).sum())


def _differentiate(
    expression: Expression, logs: Mapping[str, NDArray[np.float64]], name: str
) -> NDArray[np.float64]:
    """Differentiate log|y| in the logarithm of an input by five-point differences."""

    def evaluate_shifted(shift: float) -> NDArray[np.float64]:
        shifted = {other: np.exp(values + shift * (other == name)) for other, values in logs.items()}
        with np.errstate(divide="ignore"):
            return np.log(np.abs(evaluate_expression(expression, shifted)))

    near = evaluate_shifted(_STEP) - evaluate_shifted(-_STEP)
    far = evaluate_shifted(2 * _STEP) - evaluate_shifted(-2 * _STEP)
    return (8.0 * near - far) / (12.0 * _STEP)

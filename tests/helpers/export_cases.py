"""Formulas and rows on which every export is run against symscreen's own values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import Call, Column, Constant
from symscreen.grammar import OPERATORS
from symscreen.grammar.custom_operators import replace_infinities

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.expressions.tree import Expression

ROWS, FORMULAS = 1000, 50
NAMES = ("x1", "flow rate", 'say "hi"; DROP TABLE t; --', "*/ λ` system('x')")
_STEPS = [operator for operator in OPERATORS.values() if operator.name != "id"]
_SHARE_DEFINED = 0.3


def drawn_rows(rng: np.random.Generator) -> dict[str, NDArray[np.float64]]:
    """Four columns: one of any sign, two positive, one of integers with zeros among them."""
    values = (
        rng.normal(0, 1.5, ROWS),
        rng.uniform(0.2, 3.0, ROWS),
        rng.lognormal(0, 0.5, ROWS),
        rng.integers(-3, 4, ROWS).astype(np.float64),
    )
    return dict(zip(NAMES, values, strict=True))


def drawn_formulas(
    rng: np.random.Generator, rows: Mapping[str, NDArray[np.float64]], without: Sequence[str] = ()
) -> list[Expression]:
    """Fifty formulas in which every operator heads at least one.

    A formula that rounding inside moves by more than a fifth of what is allowed, such as the sine of a large
    number, says nothing of an export and is drawn again; so is one that is undefined in most rows.
    """
    steps = [operator for operator in _STEPS if operator.name not in without]
    found: list[Expression] = []
    while len(found) < FORMULAS:
        root = steps[len(found) % len(steps)]
        candidate = Call(root, tuple(_drawn(rng, steps, 2) for _ in range(root.arity)))
        ours = evaluate_expression(candidate, rows)
        with np.errstate(all="ignore"):
            others = [_rounded(candidate, rows, rng) for _ in range(4)]
        steady = all(np.allclose(one, ours, rtol=2e-13, atol=1e-14, equal_nan=True) for one in others)
        if (
            steady
            and np.isfinite(ours).mean() > _SHARE_DEFINED
            and to_text(candidate) not in map(to_text, found)
        ):
            found.append(candidate)
    return found


def _drawn(rng: np.random.Generator, steps: Sequence, depth: int) -> Expression:
    kind = rng.integers(0, 8)
    if depth == 0 or kind < 2:
        return Column(str(rng.choice(NAMES)))
    if kind == 2:
        return Constant(float(rng.choice([-2.5, -1, 0.1, 0.5, 2, 3, 1e-5])))
    step = steps[int(rng.integers(len(steps)))]
    return Call(step, tuple(_drawn(rng, steps, depth - 1) for _ in range(step.arity)))


def _rounded(expression: Expression, rows: Mapping, rng: np.random.Generator) -> NDArray[np.float64]:
    """Evaluate with two units of rounding error after every step."""
    match expression:
        case Column(name):
            return rows[name]
        case Constant(value):
            return np.full(ROWS, float(value))
        case Call(operator, arguments):
            values = replace_infinities(operator.numeric(*(_rounded(one, rows, rng) for one in arguments)))
            return values * (1 + rng.uniform(-4e-16, 4e-16, ROWS))


def worst_difference(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> float:
    """The largest difference, relative to the value or, near 0, to 0.01; infinite where one is undefined."""
    if (np.isnan(ours) != np.isnan(theirs)).any():
        return float("inf")
    gap = np.abs(ours - theirs) / np.maximum(np.abs(ours), 0.01)
    return float(np.nanmax(gap, initial=0.0))

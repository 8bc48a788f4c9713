"""Formulas of the user's own, scored with the rest of the space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import FormulaError
from symscreen.expansion.nodes import Features
from symscreen.expansion.prune import constant
from symscreen.expression import Apply, complexity, evaluate, key, to_text
from symscreen.once import once

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.expression import Expression

__all__ = ["Given", "given_formulas"]


@dataclass(frozen=True, eq=False)
class Given:
    """Given formulas with their values.

    Parameters
    ----------
    expressions : tuple of Expression
        The formulas; no two with the same canonical key.
    values : float64 array, shape (g, n)
        Finite, and constant in no row; n is 0 while only counting.
    """

    expressions: tuple[Expression, ...]
    values: NDArray[np.float64]

    @once
    def features(self) -> Features:
        """The metadata of the formulas."""
        keys = [key(expression) for expression in self.expressions]
        return Features(
            complexity=np.array([complexity(expression) for expression in self.expressions], dtype=np.int32),
            layer=np.zeros(len(keys), dtype=np.int16),
            keys=np.array(keys, dtype=np.uint64).reshape(-1, 2),
        )


def given_formulas(
    expressions: Sequence[Expression],
    columns: Mapping[str, NDArray[np.float64]] | None,
    known: NDArray[np.uint64],
) -> Given:
    """Compute the user's formulas.

    Parameters
    ----------
    expressions : sequence of Expression
        The formulas; of several that are equal by algebra the first is kept.
    columns : mapping of str to float64 array, shape (n,), or None
        The inputs; None to count only.
    known : uint64 array, shape (k, 2)
        Keys of features that the space has without them.

    Returns
    -------
    Given
        Those that the space has not.

    Raises
    ------
    FormulaError
        If a formula is constant, or undefined in some row.
    """
    unique: dict[tuple[int, int], Expression] = {}
    for expression in expressions:
        own = key(expression)
        if not (known == np.array(own, dtype=np.uint64)).all(axis=1).any():
            unique.setdefault(own, expression)
    chosen = tuple(unique.values())
    if columns is None:
        return Given(chosen, np.empty((len(chosen), 0)))
    values = np.empty((len(chosen), len(next(iter(columns.values())))))
    for place, expression in enumerate(chosen):
        values[place] = _useful_values(expression, columns)
    return Given(chosen, values)


def _useful_values(expression: Expression, columns: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    values = evaluate(expression, columns)
    bad = int(np.isnan(values).sum())
    if bad:
        raise FormulaError(f"--also {to_text(expression)!r} is undefined in {bad} of {len(values)} rows")
    sized = [values]
    if isinstance(expression, Apply) and expression.operator.cancels:
        sized += [evaluate(argument, columns) for argument in expression.arguments]
    if constant(values.min(), values.max(), np.abs(sized).max()):
        raise FormulaError(f"--also {to_text(expression)!r} is constant on these data")
    return values

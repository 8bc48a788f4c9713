"""Data that all rounds of a search for inputs share: functions of inputs, the target, and permuted rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.grammar import OPERATORS
from symscreen.screening.input_screening.column_functions import build_column_functions, build_polynomials

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen._typing import Rows, Values
    from symscreen.backends import Backend
    from symscreen.grammar import Grammar, Operator
    from symscreen.screening.input_screening.column_functions import ColumnFunctions

_OPERATORS = ("square", "inv", "sqrt", "log", "exp", "sin", "cos")  # besides those of the grammar
_NORMAL_SCALE = 1.4826  # from the median absolute deviation to the standard deviation of normal values


@dataclass(frozen=True, eq=False)
class InputTable:
    """What all rounds share.

    Parameters
    ----------
    functions : ColumnFunctions
        The formulas of single inputs.
    polynomials : float64 array, shape (d, degree, n)
        The polynomials of the inputs for models.
    targets : tuple of float64 arrays, each of shape (n,)
        The target on its scales.
    permutations : int32 array, shape (B, n)
        The permutations of the rows.
    backend : Backend
        Where the work runs.
    """

    functions: ColumnFunctions
    polynomials: Values
    targets: tuple[Values, ...]
    permutations: Rows
    backend: Backend

    @property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return len(self.polynomials)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.polynomials.shape[2])


def list_unary_operators(grammar: Grammar) -> list[Operator]:
    """List the unary operators: the usual ones, then the others of the grammar."""
    names = dict.fromkeys([*_OPERATORS, *(operator.name for operator in grammar.unary)])
    return [grammar.operators.get(name) or OPERATORS[name] for name in names if name != "id"]


def build_input_table(
    columns: Values,
    names: Sequence[str],
    target: Values,
    operators: Sequence[Operator],
    permutations: Rows,
    backend: Backend,
) -> InputTable:
    """Build what the rounds share from columns (d, n), a target (n,) and permutations of the rows (B, n)."""
    return InputTable(
        functions=build_column_functions(columns, names, operators),
        polynomials=build_polynomials(columns),
        targets=scale_target(target),
        permutations=permutations,
        backend=backend,
    )


def draw_permutations(n_rows: int, n_permutations: int, generator: np.random.Generator) -> Rows:
    """Draw permutations of rows, shape (B, n)."""
    drawn = [generator.permutation(n_rows) for _ in range(n_permutations)]
    return np.stack(drawn).astype(np.int32)


def scale_target(values: Values) -> tuple[Values, Values]:
    """Return the target as it is and on a scale on which outliers are close, both with variance 1.

    The second scale is asinh of the distance from the median in standard deviations of the bulk.
    """
    largest = float(np.abs(values).max())
    scaled = values / largest
    centered = scaled - np.median(scaled)
    spread = _NORMAL_SCALE * float(np.median(np.abs(centered))) or float(np.abs(centered).mean())
    compressed: Values = np.asarray(np.arcsinh(centered / spread), dtype=np.float64)
    return _standardize(scaled), _standardize(compressed)


def _standardize(values: Values) -> Values:
    """Give values (n,) mean 0 and variance 1; a constant becomes 0."""
    centered = values - values.mean()
    spread = float(centered.std())
    return np.asarray(centered / spread) if spread > 0.0 else centered

"""The formula that terms make on the rows of a table: its coefficients, its predictions, what it leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.export import Formula
from symscreen.expression import evaluate
from symscreen.models.inference import estimates_of, snapped
from symscreen.response.several import SeveralResponse
from symscreen.statistics.gram import unit_rows
from symscreen.statistics.least_squares import unexplained_shares

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from symscreen.expression import Expression
    from symscreen.models.inference import Estimates
    from symscreen.table import Table

__all__ = ["columns_of", "determined", "estimated", "predicted", "share_left", "targets_of", "terms_on"]

_ROUNDING = 1e-13  # of the response's largest magnitude: an intercept below it is none


def columns_of(table: Table) -> dict[str, NDArray[np.float64]]:
    """Return the inputs of a table by name."""
    return dict(zip(table.names, table.columns, strict=True))


def targets_of(table: Table) -> dict[str, NDArray[np.float64]]:
    """Return the targets of a table by name, each of shape (n,), by row."""
    response = table.numbers
    if isinstance(response, SeveralResponse):
        return dict(zip(response.names, response.values, strict=True))
    return {response.name: response.values}


def terms_on(terms: Sequence[Expression], table: Table) -> NDArray[np.float64]:
    """Evaluate terms on a table's rows, shape (k, n); NaN where a term is undefined."""
    columns = columns_of(table)
    return np.array([evaluate(term, columns) for term in terms]).reshape(len(terms), table.response.n)


def determined(values: ArrayLike) -> bool:
    """Say whether rows determine the coefficients of terms.

    Parameters
    ----------
    values : array, shape (k, n)
        The terms.

    Returns
    -------
    bool
        Whether they are defined in all rows, independent there, and leave a degree of freedom.

    Examples
    --------
    >>> x = np.arange(5.0)
    >>> [determined(values) for values in ([x, x**2], [x, 3 - x], x ** [[1], [2], [3], [4]])]
    [True, False, False]
    """
    values = np.asarray(values, dtype=np.float64)
    k, n = values.shape
    if k > n - 2 or not np.isfinite(values).all():
        return False
    shares = unexplained_shares(unit_rows(values), np.zeros(n), np.arange(k)[None, :])
    return bool(np.isfinite(shares[0]))


def estimated(
    terms: Sequence[Expression], table: Table, level: float, *, snap: bool
) -> tuple[tuple[Formula, Estimates, bool], ...]:
    """Fit the coefficients of terms on a table's rows, for each target by itself.

    Parameters
    ----------
    terms : sequence of Expression
        Their coefficients must be determined.
    table : Table
        The rows, with one target or several.
    level : float
        Coverage of the intervals.
    snap : bool
        Whether to try simple numbers.

    Returns
    -------
    tuple of (Formula, Estimates, bool)
        For each target: its formula, in which an intercept that is rounding is 0, and of several targets a
        coefficient, too; the estimates as fitted; and whether the formula's coefficients are simple numbers
        instead.
    """
    values, targets = terms_on(terms, table), targets_of(table)
    return tuple(
        _estimated(terms, values, name, target, level, snap=snap, shared=len(targets) > 1)
        for name, target in targets.items()
    )


def _estimated(
    terms: Sequence[Expression],
    values: NDArray[np.float64],
    name: str,
    target: NDArray[np.float64],
    level: float,
    *,
    snap: bool,
    shared: bool,
) -> tuple[Formula, Estimates, bool]:
    estimates = estimates_of(values, target, level)
    simple = snapped(estimates, values, target) if snap else None
    numbers = estimates.coefficients if simple is None else simple
    # a term that is there for another target's sake may be nothing to this one; one's own never is
    sizes = np.abs(values).max(axis=1) if shared else np.full(len(values), np.inf)
    reach = np.abs(numbers) * np.concatenate(([1.0], sizes))
    numbers = np.where(reach <= _ROUNDING * np.abs(target).max(), 0.0, numbers)
    formula = Formula(name, float(numbers[0]), tuple(numbers[1:].tolist()), tuple(terms))
    return formula, estimates, simple is not None


def predicted(formula: Formula, table: Table) -> NDArray[np.float64]:
    """Predict the response on a table's rows, shape (n,); NaN where a term is undefined."""
    total = np.full(table.response.n, formula.intercept)
    for coefficient, values in zip(formula.coefficients, terms_on(formula.terms, table), strict=True):
        total = total + coefficient * values
    return total


def share_left(formula: Formula, table: Table) -> float:
    """Return RSS/TSS of a formula of one of the targets on a table's rows."""
    actual = targets_of(table)[formula.target]
    _, exponent = np.frexp(np.abs(actual).max())  # near 1 squares neither overflow nor vanish
    target, other = (np.ldexp(one, -int(exponent)) for one in (actual, predicted(formula, table)))
    return float(((other - target) ** 2).mean() / target.var())

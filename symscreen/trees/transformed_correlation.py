"""Linear correlations of transformed inputs with the target (Luo and Li 2024, Remark 16)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import DataError
from symscreen.trees.decisions import check_column, check_target

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from symscreen._typing import Values


@dataclass(frozen=True, slots=True)
class TransformedCorrelation:
    """Correlations of an input, its transformation and the target.

    Parameters
    ----------
    direct : float
        ρ_{θx,y}.
    with_input : float
        ρ_{θx,x}.
    of_input : float
        ρ_{x,y}.
    """

    direct: float
    with_input: float
    of_input: float

    @property
    def product(self) -> float:
        """ρ_{θx,x}·ρ_{x,y}, which equals ρ_{θx,y} where E[y | x] is linear in x."""
        return self.with_input * self.of_input

    @property
    def excess(self) -> float:
        """ρ_{θx,y} minus the product: the correlation of θx with the part of y that is not linear in x."""
        return self.direct - self.product


def compare_transformed_correlations(
    transformed: ArrayLike, x: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None
) -> TransformedCorrelation:
    """Compute ρ_{θx,y}, and the product ρ_{θx,x}·ρ_{x,y} that Remark 16 says it equals.

    Parameters
    ----------
    transformed : array_like, shape (n,)
        Values θ(x).
    x, y : array_like, shape (n,)
        Input and target; n ≥ 2.
    weights : array_like, shape (n,), optional
        Weights, proportional to the probabilities of the rows. By default all are equal.

    Returns
    -------
    TransformedCorrelation

    Raises
    ------
    DataError
        If the columns are not finite, have different lengths or are constant, or the weights are invalid.

    Notes
    -----
    Luo and Li (2024), Remark 16, after Daniels (1944): ρ_{θx,y} = ρ_{θx,x}·ρ_{x,y} for any transformation θ,
    so that no transformation increases the correlation. This needs an assumption that the remark does not
    state. With y = a + b·x + e, where the line is the least-squares line of y on x::

        ρ_{θx,y} − ρ_{θx,x}·ρ_{x,y} = Cov(θx, e)/(sd(θx)·sd(y))

    It is 0 for every θ if and only if E[e | x] = 0, that is if E[y | x] is linear in x, as for jointly normal
    x and y. If E[y | x] is not linear, transformations can increase the correlation, up to the correlation
    ratio at θ(x) = E[y | x]; symbolic screening depends on it. In a sample, e and θx are seldom exactly
    uncorrelated, and the two sides differ by an amount of the order 1/√n.

    Examples
    --------
    A target that is linear in x, with noise of mean 0 at each x; then the square of x, for which the remark
    does not hold.

    >>> x = np.array([-1.0, -1.0, 0.0, 0.0, 1.0, 1.0, 3.0, 3.0])
    >>> line = compare_transformed_correlations(x**3, x, 2 * x + np.tile([-1.0, 1.0], 4))
    >>> round(line.direct, 4), round(line.product, 4)
    (0.8579, 0.8579)
    >>> square = compare_transformed_correlations(x**2, x, x**2)
    >>> round(square.direct, 4), round(square.product, 4)
    (1.0, 0.7617)
    """
    target = check_target(y)
    columns = [
        check_column(transformed, "transformed", target.size),
        check_column(x, "x", target.size),
        target,
    ]
    masses = np.ones(target.size) if weights is None else check_column(weights, "weights", target.size)
    if (masses < 0.0).any() or not masses.any():
        raise DataError("the weights must not be negative, and one must be positive")
    order = np.lexsort((masses, *columns))  # sums do not depend on the row order
    order = order[masses[order] > 0.0]
    shares = masses[order] / masses[order].sum()
    units = [
        _standardize(column[order], shares, name)
        for column, name in zip(columns, ("transformed", "x", "y"), strict=True)
    ]
    z, inputs, outputs = units
    direct, with_input, of_input = (
        float(np.clip((shares * a * b).sum(), -1.0, 1.0))
        for a, b in ((z, outputs), (z, inputs), (inputs, outputs))
    )
    return TransformedCorrelation(direct, with_input, of_input)


def _standardize(column: Values, shares: Values, name: str) -> Values:
    """Subtract the weighted mean of a column (n,) and divide by its standard deviation."""
    if column.min() == column.max():
        raise DataError(f"{name} is constant: it has no correlation")
    scaled = column / np.abs(column).max()  # squares do not overflow
    centered = scaled - (shares * scaled).sum()
    return np.asarray(centered / np.sqrt((shares * centered * centered).sum()))

"""The scale of logarithms, on which power products are linear, with the exponents that units leave free.

With units, the exponents of the inputs lie on a lattice (`symscreen.fitting.laws.unit_lattice`). The
logarithm of a product with the unit of the target is subtracted from log|y|. The logarithms of dimensionless
products remain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.fitting.laws.unit_lattice import build_unit_lattice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.fitting.laws.unit_lattice import UnitLattice
    from symscreen.units import Units


_TOLERANCE = 1e-6  # largest difference of equal exponents of base units
_MIN_WEIGHT = 1e-6


@dataclass(frozen=True, eq=False)
class LogScale:
    """The logarithms of a target and its inputs, with weights.

    Parameters
    ----------
    target : float64 array, shape (n,)
        log|y|, or 0 where y is 0.
    weights : float64 array, shape (n,)
        |y|, relative to the largest.
    design : float64 array, shape (n, k + 1)
        A column of ones and log|x| of each input without zeros.
    names : tuple of str
        The k inputs.
    units : Units, optional
        Units of the inputs and of the target.
    """

    target: Values
    weights: Values
    design: Values
    names: tuple[str, ...]
    units: Units | None = None

    def take(self, rows: NDArray[np.int64]) -> LogScale:
        """Return the given rows."""
        return replace(self, target=self.target[rows], weights=self.weights[rows], design=self.design[rows])

    @property
    def lattice(self) -> UnitLattice | None:
        """The exponents that the units allow; None if the units do not restrict those of the target."""
        if self.units is None:
            return None
        lattice = build_unit_lattice(self.units, self.names)
        return lattice if lattice.decides_target else None

    @lockfree_cached_property
    def free_design(self) -> Values:
        """A column of ones and the logarithms of d products whose exponents are free, shape (n, d + 1)."""
        lattice = self.lattice
        if lattice is None:
            return self.design
        return np.column_stack([self.design[:, :1], self.design[:, 1:] @ lattice.free_directions])

    @property
    def target_powers(self) -> Values:
        """Real exponents of a product with the unit of the target, shape (k,); 0 without units."""
        lattice = self.lattice
        if lattice is None or lattice.target is None:
            return np.zeros(len(self.names))
        return lattice.target @ lattice.inverse

    @lockfree_cached_property
    def free_target(self) -> Values:
        """log|y| without the logarithm of a product with its unit, shape (n,)."""
        return self.target if self.lattice is None else self.target - self.design[:, 1:] @ self.target_powers

    def remove_units(self, logarithms: Values, units: Values | None) -> Values:
        """Subtract from logarithms of formulas those of products with the same units.

        Parameters
        ----------
        logarithms : float64 array, shape (q, n)
            log|A| of each formula.
        units : float64 array, shape (q, D), or None
            Exponents of the units of the formulas; None if they are dimensionless.

        Returns
        -------
        float64 array, shape (q, n)
            NaN for formulas whose unit no product of the inputs has.
        """
        lattice = self.lattice
        if lattice is None or units is None or not units.any():
            return logarithms
        powers = units @ lattice.inverse
        is_reachable = (np.abs(powers @ lattice.vectors - units) <= _TOLERANCE).all(axis=1)
        powers[~is_reachable] = np.nan
        return np.asarray(logarithms - powers @ self.design[:, 1:].T)


def compute_log_scale(columns: Mapping[str, Values], target: Values, units: Units | None = None) -> LogScale:
    """Compute the logarithms of a target and of the inputs without zeros."""
    names = tuple(name for name, values in columns.items() if (values != 0.0).all())
    logs = [np.log(np.abs(columns[name])) for name in names]
    is_zero = target == 0.0
    magnitude = np.abs(target)
    return LogScale(
        target=np.where(is_zero, 0.0, np.log(np.where(is_zero, 1.0, magnitude))),
        weights=magnitude / magnitude.max() if magnitude.any() else magnitude,
        design=np.column_stack([np.ones(len(target)), *logs]),
        names=names,
        units=units,
    )


def linearize_log_scale(scale: LogScale, target: Values, prediction: Values) -> LogScale:
    """Replace log|y| by its linear approximation about predictions ŷ, log|ŷ| + (y − ŷ)/ŷ.

    Its errors are those of y divided by ŷ, also where y is smaller than its noise and log|y| says nothing.

    Parameters
    ----------
    scale : LogScale
        The scale of the target.
    target, prediction : float64 array, shape (n,)
        The target y and the predictions ŷ.

    Returns
    -------
    LogScale
        The weights are |ŷ|, relative to the largest; 0 where |ŷ| is less than 10⁻⁶ of it.
    """
    weights = np.abs(prediction) / np.abs(prediction).max()
    is_used = weights > _MIN_WEIGHT
    about = np.where(is_used, prediction, 1.0)
    linear = np.log(np.abs(about)) + (target - about) / about
    return replace(scale, target=np.where(is_used, linear, 0.0), weights=np.where(is_used, weights, 0.0))

"""Losses V of a margin u = y·f, and their sums.

- hinge: V(u) = max(0, 1 − u);
- psi: V(u) = min(1, max(0, 1 − u)) (Shen et al. 2003), the hinge cut off at 1: not convex;
- logistic: V(u) = log(1 + exp(−u)).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.errors import OptionError, nearest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

__all__ = ["HINGE", "LOGISTIC", "LOSSES", "PSI", "loss_code", "loss_of", "losses_of"]

HINGE, PSI, LOGISTIC = 0, 1, 2
LOSSES = {"hinge": HINGE, "psi": PSI, "logistic": LOGISTIC}


def loss_code(name: str) -> int:
    """Find the number by which kernels know a loss.

    Parameters
    ----------
    name : {"hinge", "psi", "logistic"}
        Of the loss.

    Returns
    -------
    int
        `HINGE`, `PSI` or `LOGISTIC`.

    Raises
    ------
    OptionError
        If there is none of that name.

    Examples
    --------
    >>> loss_code("psi") == PSI
    True
    """
    if not isinstance(name, str) or name not in LOSSES:
        raise OptionError(f"loss is {name!r}{nearest(str(name), LOSSES)}")
    return LOSSES[name]


@kernel
def loss_of(u: float, loss: int) -> float:
    """Return V(u) at one margin."""
    if loss == LOGISTIC:
        return max(-u, 0.0) + float(np.log1p(np.exp(-abs(u))))
    if loss == PSI:
        return min(1.0, max(0.0, 1.0 - u))
    return max(0.0, 1.0 - u)


def losses_of(margins: Values, loss: int) -> Values:
    """Return V(u) of many margins.

    Parameters
    ----------
    margins : float64 array
        u = y·f.
    loss : int
        `HINGE`, `PSI` or `LOGISTIC`.

    Returns
    -------
    float64 array
        Of the same shape, ≥ 0.

    Examples
    --------
    >>> losses_of(np.array([-2.0, 0.5, 3.0]), HINGE).tolist(), losses_of(np.array([-2.0, 0.5]), PSI).tolist()
    ([3.0, 0.5, 0.0], [1.0, 0.5])
    """
    if loss == LOGISTIC:
        return np.asarray(np.logaddexp(0.0, -margins), dtype=np.float64)
    hinge = np.maximum(0.0, 1.0 - margins)
    return np.minimum(hinge, 1.0) if loss == PSI else hinge

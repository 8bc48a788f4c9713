"""What a null distribution is: p-values of features that have nothing to do with the response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from symscreen.screeners.base import Sign
    from symscreen.statistics.order import Ordered

__all__ = ["Null"]


class Null(Protocol):
    """P-values of one response's features under independence.

    A feature's p-value is a function of that feature, the response and the seed alone, whatever block it
    comes in. Under a free sign it is two-sided, and the same for mirrored ranks; under a positive one it is
    one-sided, small where the feature rises with the response. Of two features with the same ties the better
    statistic never has the larger p-value.
    """

    def __call__(self, ordered: Ordered, statistics: NDArray[np.float64], sign: Sign) -> NDArray[np.float64]:
        """Compute the p-values of a block.

        Parameters
        ----------
        ordered : Ordered
            m features over the response's n rows, none constant.
        statistics : float64 array, shape (m,)
            What the screener's `statistic` gave for them.
        sign : {"free", "positive"}
            Two-sided, or one-sided in the good direction.

        Returns
        -------
        float64 array, shape (m,)
            In (0, 1]; never 0, never NaN.
        """

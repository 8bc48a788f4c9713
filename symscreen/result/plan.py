"""What a screen would do: features per layer, the memory at its peak, and how long it would take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symscreen.expansion import LayerCount

__all__ = ["Plan"]


@dataclass(frozen=True)
class Plan:
    """What a screen would do.

    Parameters
    ----------
    layers : tuple of LayerCount
        The inputs and each layer.
    exact : int
        How many of these, from the first, were counted; the rest are estimates of what is too long to be
        counted in a moment, or stands behind a cut. What the first of the rest generates is exact.
    features : int
        Features of the space: exact for structure where all layers are, an upper bound for what values will
        prune.
    most : int or None
        Features of the space are no more, whatever is left out; None where nobody can tell, behind a cut
        that keeps as many as it likes.
    cut : bool
        Whether a layer is cut before the next is applied; what stays depends on the response.
    memory : int
        Bytes that the values of the pool would take at most; 0 where they would be computed again from the
        inputs.
    peak : int
        Bytes that the process would hold at most; roughly, where features are estimated.
    seconds : pair of float
        From how long to how long it would take on this machine. The two differ for a race only: how early
        features drop out depends on the response. Without joint screeners, those that cut among them, and
        null tables of p-values.
    jobs : int
        In how many threads.
    notices : tuple of str
        What a reader should know of the data.
    """

    layers: tuple[LayerCount, ...]
    exact: int
    features: int
    most: int | None
    cut: bool
    memory: int
    peak: int
    seconds: tuple[float, float]
    jobs: int
    notices: tuple[str, ...]

"""Models of one feature out of very many with a few of a small core, all tried.

Where the exact formula holds one deep term and one or two simple ones, the deep one is among too many for
exhaustive subsets, but one of them with every subset of a core of simple features is affordable: after the
products with the core, a feature with a pair of 40 costs 780 closed forms.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError
from symscreen.statistics.gram import DETERMINANT, LANES, PIVOT, products, unit_rows, unit_tile
from symscreen.statistics.least_squares import by_fit, unexplained_shares
from symscreen.statistics.shared_scan import scan_shared
from symscreen.statistics.subset_scan import PADDING, Best, Left, Limits, scan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen.statistics.gram import Gram

__all__ = ["CoreModels", "merged", "scan_core"]

_BLUR = 1e-5  # of R²: inner products are good to about 1e-15, and to 1e-15 / PIVOT after a small pivot


@dataclass(frozen=True, eq=False)
class CoreModels:
    """Models of one feature of a stream and a subset of the core, best first; one model a feature.

    Parameters
    ----------
    features : int64 array, shape (k,)
        Numbers in the stream.
    subsets : int32 array, shape (k, size)
        Numbers in the core, ascending.
    unexplained : float64 array, shape (k,)
        RSS/‖y − ȳ‖² = 1 − R².
    """

    features: NDArray[np.int64]
    subsets: NDArray[np.int32]
    unexplained: NDArray[np.float64]


def scan_core(
    block: NDArray[np.float64],
    core: Gram,
    *,
    sizes: Sequence[int] = (0, 1, 2),
    keep: int = 100,
    first: int = 0,
    beat: Sequence[float] = (),
    jobs: int = 1,
) -> list[CoreModels]:
    """Find the best model of each streamed feature with a subset of the core, and keep the best features.

    Parameters
    ----------
    block : float64 array, shape (m, n)
        One row a feature of the stream; finite, any scale.
    core : Gram
        s features and the target, or K targets, over the same n rows.
    sizes : sequence of int
        Sizes of the core's subsets, 0 to 3; all s(s−1)…/size! subsets of each size are tried.
    keep : int
        How many features, for each size.
    first : int
        The number of the block's first feature in the stream.
    beat : sequence of float
        For each size, leave out what leaves more than this share unexplained: the worst that the caller
        holds of earlier blocks. It saves time and changes no merged answer.
    jobs : int
        Threads; the answer is the same to the bit for any number, and for any cut of the stream into blocks
        once the blocks' models are `merged`.

    Returns
    -------
    list of CoreModels
        One for each of the sizes.

    Raises
    ------
    OptionError
        If a size or the number to keep is out of range.

    Notes
    -----
    What is collinear is as in `best_models`. The scan sees inner products only, good to about
    1e-15/determinant in R²: of a feature's subsets that differ by less, any may be named. The 2·keep + 56
    best features are fitted again on the columns with their subsets. Where the core alone explains the
    target, every feature does with it, and which are returned is deterministic and no more.

    Examples
    --------
    >>> from symscreen.statistics.gram import gram_of
    >>> x = np.random.default_rng(0).normal(size=(30, 50))
    >>> core = gram_of(x[:10], x[2] - 3 * x[7] + x[25])
    >>> found = scan_core(x[10:], core, sizes=[2], keep=1)[0]
    >>> found.features.tolist(), found.subsets.tolist(), bool(found.unexplained[0] < 1e-28)
    ([15], [[2, 7]], True)
    """
    if not set(sizes) <= {0, 1, 2, 3}:
        raise OptionError(
            f"subsets of {list(sizes)} features of the core were asked for; give sizes from 0 to 3"
        )
    if keep < 1:
        raise OptionError(f"{keep} features are to be kept; give at least 1")
    best = _scanned(block, core, sizes, jobs)
    bars = beat or [np.inf] * len(sizes)
    return [
        _fitted(block, core, size, keep, bar, found, first)
        for size, bar, found in zip(sizes, bars, best, strict=True)
    ]


def merged(parts: Sequence[CoreModels], keep: int) -> CoreModels:
    """Merge the models of several blocks, of subsets of one size.

    Parameters
    ----------
    parts : sequence of CoreModels
        Of distinct features.
    keep : int
        How many to keep.

    Returns
    -------
    CoreModels
        By what they leave unexplained; those whose residual norms agree to 12 decimals by number.
    """
    features = np.concatenate([part.features for part in parts])
    unexplained = np.concatenate([part.unexplained for part in parts])
    best = by_fit(unexplained, features)[:keep]
    best = best[np.isfinite(unexplained[best])]
    subsets = np.concatenate([part.subsets for part in parts])
    return CoreModels(features[best], subsets[best], unexplained[best])


def _scanned(block: NDArray[np.float64], core: Gram, sizes: Sequence[int], jobs: int) -> list[Best]:
    """Find each feature's best subsets by inner products, as places among the strongest of the core."""
    strongest = core.strongest
    s, (m, n) = len(strongest), block.shape
    apart = s + -s % PADDING + PADDING  # where the lanes begin, on a whole vector
    rows = np.vstack([core.columns[strongest], core.target])
    kernel = scan if core.target.ndim == 1 else scan_shared
    found = [Best(np.full(m, -np.inf), np.zeros(m, dtype=np.int64)) for _ in sizes]
    starts = iter(range(0, m, LANES))

    def drain(_: int) -> None:
        tile, with_core = np.empty((n, LANES)), np.empty((len(rows), LANES))
        known = np.zeros((s, apart + LANES))
        known[:, :s] = core.products[np.ix_(strongest, strongest)]
        pivots, with_target = (
            np.zeros(known.shape[1]),
            np.zeros((*core.with_target.shape[:-1], known.shape[1])),
        )
        pivots[:s], with_target[..., :s] = np.diagonal(known), core.with_target[..., strongest]
        left, limits = Left(known, pivots, with_target, 0.0, 1.0, 0), Limits(PIVOT, DETERMINANT)
        for start in starts:  # one iterator feeds all threads
            here = slice(start, min(start + LANES, m))
            pivots[apart:] = unit_tile(block[here], tile)
            products(rows, tile, with_core)
            known[:, apart:] = with_core[:s]
            with_target[..., apart:] = with_core[s] if with_target.ndim == 1 else with_core[s:]
            for size, best in zip(sizes, found, strict=True):
                kernel(size + 1, 0, s, apart, left, limits, Best(best.scores[here], best.codes[here]))

    with ThreadPoolExecutor(jobs, thread_name_prefix="symscreen") as executor:
        try:
            list(executor.map(drain, range(jobs)))
        finally:
            deque(starts, maxlen=0)  # after an interrupt the threads find no more work
    return found


def _fitted(
    block: NDArray[np.float64], core: Gram, size: int, keep: int, bar: float, found: Best, first: int
) -> CoreModels:
    """Fit the best by inner products again on the columns, and keep the best of these."""
    strongest = core.strongest
    s = len(strongest)
    most = 2 * keep + 56
    least = -1.0 if len(block) <= most else np.partition(found.scores, -most)[-most]
    best = np.flatnonzero(found.scores >= max(least, 1.0 - bar - _BLUR, -1.0))
    best = best[np.lexsort((best, -found.scores[best]))][:most]
    digits = [found.codes[best] // s**power % s for power in reversed(range(size))]
    subsets = (
        np.stack([strongest[digit] for digit in digits], axis=1) if size else np.empty((len(best), 0), int)
    )
    columns = np.vstack([core.columns, unit_rows(block[best])])
    members = np.column_stack([subsets, s + np.arange(len(best))])
    unexplained = unexplained_shares(columns, core.target, members)
    found_here = CoreModels(first + best, np.sort(subsets, axis=1).astype(np.int32), unexplained)
    return merged([found_here], keep)

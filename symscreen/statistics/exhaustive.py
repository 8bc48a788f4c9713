"""The best models of one to four features among all that there are (exhaustive L0)."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError
from symscreen.statistics.gram import DETERMINANT, PIVOT
from symscreen.statistics.least_squares import by_fit, unexplained_shares
from symscreen.statistics.shared_scan import scan_shared
from symscreen.statistics.subset_scan import PADDING, Best, Left, Limits, scan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from symscreen.statistics.gram import Gram

__all__ = ["best_models"]

_TASKS = 64  # shares of the work: enough that threads end together
_MOST_FEATURES = 50_000  # a code of four digits to this base stays below 2⁶³


def best_models(
    gram: Gram, size: int, keep: int, jobs: int = 1
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Find the models of one size that leave the least of the target unexplained, among all subsets.

    Parameters
    ----------
    gram : Gram
        q ≤ 50,000 features and a target, or K targets that one model is wanted for. Copies of a feature make
        models of their own: merge them before.
    size : int
        Features in a model, 1 to 4; all q(q−1)…(q−size+1)/size! subsets are tried.
    keep : int
        How many models, at least 1.
    jobs : int
        Threads; the answer is the same to the bit for any number.

    Returns
    -------
    members : int32 array, shape (k, size)
        The features of each model, ascending; k < keep where there are no more subsets.
    unexplained : float64 array, shape (k,)
        RSS/‖y − ȳ‖² = 1 − R² of each, computed on the columns, ascending: an exact formula leaves about
        1e-31. Of K targets, each with coefficients of its own, it is the mean. Models whose residual norms
        agree to 12 decimals of ‖y − ȳ‖ are ordered by their members.

    Raises
    ------
    OptionError
        If the size, the number to keep or the number of features is out of range.

    Notes
    -----
    Collinear subsets are left out: where, the strongest |c| first, a feature keeps a share below `PIVOT` when
    those before it are removed, or where the determinant of the correlation matrix is below `DETERMINANT`.

    The scan sees inner products only, good to about 1e-15/determinant in R², so 4·keep + 256 finalists are
    fitted again on the columns: a model is missed if rounding places it that many too low. Where more models
    than that fit exactly, such as all supersets of an exact pair, those returned do, but which of them is
    deterministic and no more.

    Examples
    --------
    >>> from symscreen.statistics.gram import gram_of
    >>> x = np.random.default_rng(0).normal(size=(20, 50))
    >>> members, unexplained = best_models(gram_of(x, 2 * x[3] - x[11]), size=2, keep=1)
    >>> members.tolist(), bool(unexplained[0] < 1e-28)
    ([[3, 11]], True)
    """
    q = len(gram.columns)
    if size not in {1, 2, 3, 4}:
        raise OptionError(f"models of {size} features were asked for; give a size from 1 to 4")
    if keep < 1:
        raise OptionError(f"{keep} models are to be kept; give at least 1")
    if q > _MOST_FEATURES:
        raise OptionError(f"{q} features are too many to try all subsets; give at most {_MOST_FEATURES}")
    models = gram.strongest[_scanned(gram, size, 4 * keep + 256, jobs)]
    unexplained = unexplained_shares(gram.columns, gram.target, models)
    models = np.sort(models, axis=1)
    best = by_fit(unexplained, *models.T)[:keep]
    best = best[np.isfinite(unexplained[best])]
    return models[best].astype(np.int32), unexplained[best]


def _scanned(gram: Gram, size: int, most: int, jobs: int) -> NDArray[np.int64]:
    """Return the best by inner products, shape (≤ most, size): ascending places among the strongest."""
    strongest = gram.strongest
    q = len(strongest)
    wide = q + PADDING
    products = np.zeros((q, wide))
    products[:, :q] = gram.products[np.ix_(strongest, strongest)]
    pivots, with_target = np.zeros(wide), np.zeros((*gram.with_target.shape[:-1], wide))
    pivots[:q], with_target[..., :q] = np.diagonal(products), gram.with_target[..., strongest]
    kernel = scan if with_target.ndim == 1 else scan_shared
    left, limits = Left(products, pivots, with_target, 0.0, 1.0, 0), Limits(PIVOT, DETERMINANT)
    shares = _shares(q, size)

    def drain(_: int) -> Best:
        best = Best(np.full(most, -np.inf), np.full(most, np.iinfo(np.int64).max))
        for first, last in shares:  # one iterator feeds all threads; each has a heap of its own
            kernel(size, first, last, 0, left, limits, best)
        return best

    with ThreadPoolExecutor(jobs, thread_name_prefix="symscreen") as executor:
        try:
            kept = list(executor.map(drain, range(jobs)))
        finally:
            deque(shares, maxlen=0)  # after an interrupt the threads find no more work
    scores, codes = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    best = np.lexsort((codes, -scores))[:most]
    found = codes[best][np.isfinite(scores[best])]
    return np.stack([found // q**power % q for power in reversed(range(size))], axis=1)


def _shares(q: int, size: int) -> Iterator[tuple[int, int]]:
    """Cut the range of a model's first feature into shares with about as many models each."""
    models = np.array([comb(q - first, size) for first in range(q + 1)], dtype=np.float64)
    cuts = np.searchsorted(-models, -models[0] * np.linspace(1.0, 0.0, _TASKS + 1))
    return iter([(int(a), int(b)) for a, b in pairwise(cuts) if a < b])

"""Models of one feature out of very many with a few of a small core, all tried.

Where the exact formula holds one deep term and one or two simple ones, the deep one is among too many for
exhaustive subsets, but one of them with every subset of a core of simple features is affordable: after the
products with the core, a feature with a pair of 40 costs 780 closed forms.

The best models of one to four features among all that there are (exhaustive L0).
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError
from symscreen.linear_models._kernels import (
    PADDING,
    CollinearityLimits,
    SchurState,
    TopModels,
    scan_subsets,
    scan_subsets_multioutput,
)
from symscreen.linear_models.gram import (
    MIN_DETERMINANT,
    MIN_PIVOT,
    TILE_FEATURES,
    argsort_models,
    compute_products,
    compute_unexplained_shares,
    fill_normalized_tile,
    normalize_rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen.linear_models.gram import GramMatrix


__all__ = ["CoreSubsetModels", "find_best_models", "merge_core_models", "search_core_subsets"]

_R2_TOLERANCE = (
    1e-5  # of R²: inner products are good to about 1e-15, and to 1e-15 / PIVOT after a small pivot
)


@dataclass(frozen=True, eq=False)
class CoreSubsetModels:
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


def search_core_subsets(
    block: NDArray[np.float64],
    core: GramMatrix,
    *,
    sizes: Sequence[int] = (0, 1, 2),
    keep: int = 100,
    first_feature: int = 0,
    max_unexplained: Sequence[float] = (),
    jobs: int = 1,
) -> list[CoreSubsetModels]:
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
    What is collinear is as in `find_best_models`. The scan sees inner products only, good to about
    1e-15/determinant in R²: of a feature's subsets that differ by less, any may be named. The 2·keep + 56
    best features are fitted again on the columns with their subsets. Where the core alone explains the
    target, every feature does with it, and which are returned is deterministic and no more.

    Examples
    --------
    >>> from symscreen.linear_models.gram import compute_gram
    >>> x = np.random.default_rng(0).normal(size=(30, 50))
    >>> core = compute_gram(x[:10], x[2] - 3 * x[7] + x[25])
    >>> found = search_core_subsets(x[10:], core, sizes=[2], keep=1)[0]
    >>> found.features.tolist(), found.subsets.tolist(), bool(found.unexplained[0] < 1e-28)
    ([15], [[2, 7]], True)
    """
    if not set(sizes) <= {0, 1, 2, 3}:
        raise OptionError(
            f"subsets of {list(sizes)} features of the core were asked for; give sizes from 0 to 3"
        )
    if keep < 1:
        raise OptionError(f"{keep} features are to be kept; give at least 1")
    best = _scan_block(block, core, sizes, jobs)
    bars = max_unexplained or [np.inf] * len(sizes)
    return [
        _refit_best(block, core, size, keep, bar, found, first_feature)
        for size, bar, found in zip(sizes, bars, best, strict=True)
    ]


def merge_core_models(parts: Sequence[CoreSubsetModels], keep: int) -> CoreSubsetModels:
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
    best = argsort_models(unexplained, features)[:keep]
    best = best[np.isfinite(unexplained[best])]
    subsets = np.concatenate([part.subsets for part in parts])
    return CoreSubsetModels(features[best], subsets[best], unexplained[best])


def _scan_block(
    block: NDArray[np.float64], core: GramMatrix, sizes: Sequence[int], jobs: int
) -> list[TopModels]:
    """Find each feature's best subsets by inner products, as places among the strongest of the core."""
    strongest = core.strength_order
    s, (m, n) = len(strongest), block.shape
    apart = s + -s % PADDING + PADDING  # where the lanes begin, on a whole vector
    rows = np.vstack([core.columns[strongest], core.target])
    kernel = scan_subsets if core.target.ndim == 1 else scan_subsets_multioutput
    found = [TopModels(np.full(m, -np.inf), np.zeros(m, dtype=np.int64)) for _ in sizes]
    starts = iter(range(0, m, TILE_FEATURES))

    def scan_tiles(_: int) -> None:
        tile, with_core = np.empty((n, TILE_FEATURES)), np.empty((len(rows), TILE_FEATURES))
        known = np.zeros((s, apart + TILE_FEATURES))
        known[:, :s] = core.products[np.ix_(strongest, strongest)]
        pivots, with_target = (
            np.zeros(known.shape[1]),
            np.zeros((*core.target_products.shape[:-1], known.shape[1])),
        )
        pivots[:s], with_target[..., :s] = np.diagonal(known), core.target_products[..., strongest]
        left, limits = (
            SchurState(known, pivots, with_target, 0.0, 1.0, 0),
            CollinearityLimits(MIN_PIVOT, MIN_DETERMINANT),
        )
        for start in starts:  # one iterator feeds all threads
            here = slice(start, min(start + TILE_FEATURES, m))
            pivots[apart:] = fill_normalized_tile(block[here], tile)
            compute_products(rows, tile, with_core)
            known[:, apart:] = with_core[:s]
            with_target[..., apart:] = with_core[s] if with_target.ndim == 1 else with_core[s:]
            for size, best in zip(sizes, found, strict=True):
                kernel(size + 1, 0, s, apart, left, limits, TopModels(best.scores[here], best.codes[here]))

    with ThreadPoolExecutor(jobs, thread_name_prefix="symscreen") as executor:
        try:
            list(executor.map(scan_tiles, range(jobs)))
        finally:
            deque(starts, maxlen=0)  # after an interrupt the threads find no more work
    return found


def _refit_best(
    block: NDArray[np.float64],
    core: GramMatrix,
    size: int,
    keep: int,
    max_unexplained: float,
    scan_result: TopModels,
    first_feature: int,
) -> CoreSubsetModels:
    """Fit the best by inner products again on the columns, and keep the best of these."""
    strongest = core.strength_order
    s = len(strongest)
    most = 2 * keep + 56
    least = -1.0 if len(block) <= most else np.partition(scan_result.scores, -most)[-most]
    best = np.flatnonzero(scan_result.scores >= max(least, 1.0 - max_unexplained - _R2_TOLERANCE, -1.0))
    best = best[np.lexsort((best, -scan_result.scores[best]))][:most]
    digits = [scan_result.codes[best] // s**power % s for power in reversed(range(size))]
    subsets = (
        np.stack([strongest[digit] for digit in digits], axis=1) if size else np.empty((len(best), 0), int)
    )
    columns = np.vstack([core.columns, normalize_rows(block[best])])
    members = np.column_stack([subsets, s + np.arange(len(best))])
    unexplained = compute_unexplained_shares(columns, core.target, members)
    found_here = CoreSubsetModels(
        first_feature + best, np.sort(subsets, axis=1).astype(np.int32), unexplained
    )
    return merge_core_models([found_here], keep)


_N_TASKS = 64  # shares of the work: enough that threads end together
_MAX_FEATURES = 50_000  # a code of four digits to this base stays below 2⁶³


def find_best_models(
    gram: GramMatrix, size: int, keep: int, jobs: int = 1
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
    >>> from symscreen.linear_models.gram import compute_gram
    >>> x = np.random.default_rng(0).normal(size=(20, 50))
    >>> members, unexplained = find_best_models(compute_gram(x, 2 * x[3] - x[11]), size=2, keep=1)
    >>> members.tolist(), bool(unexplained[0] < 1e-28)
    ([[3, 11]], True)
    """
    q = len(gram.columns)
    if size not in {1, 2, 3, 4}:
        raise OptionError(f"models of {size} features were asked for; give a size from 1 to 4")
    if keep < 1:
        raise OptionError(f"{keep} models are to be kept; give at least 1")
    if q > _MAX_FEATURES:
        raise OptionError(f"{q} features are too many to try all subsets; give at most {_MAX_FEATURES}")
    models = gram.strength_order[_scan_subsets(gram, size, 4 * keep + 256, jobs)]
    unexplained = compute_unexplained_shares(gram.columns, gram.target, models)
    models = np.sort(models, axis=1)
    best = argsort_models(unexplained, *models.T)[:keep]
    best = best[np.isfinite(unexplained[best])]
    return models[best].astype(np.int32), unexplained[best]


def _scan_subsets(gram: GramMatrix, size: int, n_models: int, jobs: int) -> NDArray[np.int64]:
    """Return the best by inner products, shape (≤ most, size): ascending places among the strongest."""
    strongest = gram.strength_order
    q = len(strongest)
    wide = q + PADDING
    products = np.zeros((q, wide))
    products[:, :q] = gram.products[np.ix_(strongest, strongest)]
    pivots, with_target = np.zeros(wide), np.zeros((*gram.target_products.shape[:-1], wide))
    pivots[:q], with_target[..., :q] = np.diagonal(products), gram.target_products[..., strongest]
    kernel = scan_subsets if with_target.ndim == 1 else scan_subsets_multioutput
    left, limits = (
        SchurState(products, pivots, with_target, 0.0, 1.0, 0),
        CollinearityLimits(MIN_PIVOT, MIN_DETERMINANT),
    )
    shares = _split_work(q, size)

    def scan_shares(_: int) -> TopModels:
        best = TopModels(np.full(n_models, -np.inf), np.full(n_models, np.iinfo(np.int64).max))
        for first, last in shares:  # one iterator feeds all threads; each has a heap of its own
            kernel(size, first, last, 0, left, limits, best)
        return best

    with ThreadPoolExecutor(jobs, thread_name_prefix="symscreen") as executor:
        try:
            kept = list(executor.map(scan_shares, range(jobs)))
        finally:
            deque(shares, maxlen=0)  # after an interrupt the threads find no more work
    scores, codes = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    best = np.lexsort((codes, -scores))[:n_models]
    found = codes[best][np.isfinite(scores[best])]
    return np.stack([found // q**power % q for power in reversed(range(size))], axis=1)


def _split_work(q: int, size: int) -> Iterator[tuple[int, int]]:
    """Cut the range of a model's first feature into shares with about as many models each."""
    models = np.array([comb(q - first, size) for first in range(q + 1)], dtype=np.float64)
    cuts = np.searchsorted(-models, -models[0] * np.linspace(1.0, 0.0, _N_TASKS + 1))
    return iter([(int(a), int(b)) for a, b in pairwise(cuts) if a < b])

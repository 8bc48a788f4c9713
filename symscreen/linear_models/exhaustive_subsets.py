"""Exhaustive L0 search: the best models of one to five features among all subsets.

A variant combines each feature of a large stream with all subsets of a small core. An exact formula often has
one complex term and one or two simple ones. There are too many complex terms for exhaustive subsets, but one
of them with every subset of a core of simple features is affordable: after the products with the core, a
feature with all pairs of 40 costs 780 closed forms.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from math import comb
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from symscreen.errors import OptionError
from symscreen.linear_models._kernels import (
    PADDING,
    CollinearityLimits,
    PartTable,
    SchurState,
    TopModels,
    scan_streamed_features,
    scan_subsets,
)
from symscreen.linear_models.gram import (
    MIN_DETERMINANT,
    MIN_PIVOT,
    TILE_FEATURES,
    argsort_models,
    compute_unexplained_shares,
    normalize_rows,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen.linear_models.gram import GramMatrix


# Error of R². Products are accurate to 1e-15, or to 1e-15 / MIN_PIVOT after a small pivot.
_R2_TOLERANCE = 1e-5
_TILES_PER_TASK = 64  # tiles of streamed features that a thread scans in one call
_N_TASKS = 64  # tasks of one search: enough for threads to finish together
# number of models for which a search takes less time than starting threads
_MAX_MODELS_OF_ONE_THREAD = 100_000
_LIMITS = CollinearityLimits(MIN_PIVOT, MIN_DETERMINANT)
_Result = TypeVar("_Result")
# by size: largest number of features, so that codes to this base stay below 2⁶³
_MAX_FEATURES = {1: 50_000, 2: 50_000, 3: 50_000, 4: 50_000, 5: 6_000}


@dataclass(frozen=True, eq=False)
class RequiredParts:
    """Parts that every model must have in at least one of its features, such as inputs.

    Parameters
    ----------
    required : int
        The parts, as bits; positive.
    parts : int64 array, shape (q,)
        The parts of each feature, or of each feature of the core.
    streamed_parts : int64 array, shape (m,)
        The parts of each streamed feature.
    """

    required: int
    parts: NDArray[np.int64]
    streamed_parts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class CoreSubsetModels:
    """Models of one streamed feature and a subset of the core, best first; one model per feature.

    Parameters
    ----------
    features : int64 array, shape (k,)
        Indices of the features in the stream.
    subsets : int32 array, shape (k, size)
        Indices of the other features in the core, ascending.
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
    required_parts: RequiredParts | None = None,
) -> list[CoreSubsetModels]:
    """Find the best model of each streamed feature with a subset of the core, and return the best features.

    Parameters
    ----------
    block : float64 array, shape (m, n)
        One feature of the stream per row; finite, any scale.
    core : GramMatrix
        s features and the target, or K targets, over the same n rows.
    sizes : sequence of int
        Sizes of the core's subsets, 0 to 3. All s(s−1)…/size! subsets of each size are tried.
    keep : int
        Number of features to return for each size.
    first_feature : int
        The index of the block's first feature in the stream.
    max_unexplained : sequence of float
        For each size, omit models with a larger unexplained share, usually the worst that the caller has from
        earlier blocks. This saves time and does not change the merged result.
    jobs : int
        Number of threads. The result is identical to the bit for any number, and after `merge_core_models`
        for any division of the stream into blocks.
    required_parts : RequiredParts, optional
        Parts that each model must have. Features without an allowed model are not returned.

    Returns
    -------
    list of CoreSubsetModels
        One for each of the sizes.

    Raises
    ------
    OptionError
        If a size or `keep` is out of range.

    Notes
    -----
    Collinearity is defined as in `find_best_models`. The scan uses inner products only, which are accurate to
    about 1e-15/determinant in R². Among subsets of a feature that differ by less, any may be returned. The
    2·keep + 56 best features are fitted again on the columns with their subsets. If the core alone explains
    the target, every feature does with it; the choice among them is then deterministic but arbitrary.

    Examples
    --------
    >>> from symscreen.linear_models.gram import compute_gram
    >>> x = np.random.default_rng(0).normal(size=(30, 50))
    >>> core = compute_gram(x[:10], x[2] - 3 * x[7] + x[25])
    >>> models = search_core_subsets(x[10:], core, sizes=[2], keep=1)[0]
    >>> models.features.tolist(), models.subsets.tolist(), bool(models.unexplained[0] < 1e-28)
    ([15], [[2, 7]], True)
    """
    if not set(sizes) <= {0, 1, 2, 3}:
        raise OptionError(f"the sizes of core subsets must be from 0 to 3: they are {list(sizes)}")
    if keep < 1:
        raise OptionError(f"the number of features to keep must be at least 1: it is {keep}")
    thresholds = max_unexplained or [np.inf] * len(sizes)
    best = _scan_block(block, core, sizes, thresholds, jobs, required_parts)
    return [
        _refit_best(block, core, size, keep, threshold, scan_result, first_feature)
        for size, threshold, scan_result in zip(sizes, thresholds, best, strict=True)
    ]


def merge_core_models(parts: Sequence[CoreSubsetModels], keep: int) -> CoreSubsetModels:
    """Merge the models of several blocks, for subsets of one size.

    Parameters
    ----------
    parts : sequence of CoreSubsetModels
        Models of distinct features.
    keep : int
        Number of models to return.

    Returns
    -------
    CoreSubsetModels
        By ascending unexplained share; models whose residual norms agree to 12 decimals by feature index.
    """
    features = np.concatenate([part.features for part in parts])
    unexplained = np.concatenate([part.unexplained for part in parts])
    best = argsort_models(unexplained, features)[:keep]
    best = best[np.isfinite(unexplained[best])]
    subsets = np.concatenate([part.subsets for part in parts])
    return CoreSubsetModels(features[best], subsets[best], unexplained[best])


def _scan_block(
    block: NDArray[np.float64],
    core: GramMatrix,
    sizes: Sequence[int],
    thresholds: Sequence[float],
    jobs: int,
    required_parts: RequiredParts | None,
) -> list[TopModels]:
    """Find each feature's best subsets by inner products, as positions in the core's strength order.

    Features without a subset that reaches the threshold of its size have a score below the lowest useful one.
    """
    s, m = len(core.columns), len(block)
    stream_start = s + -s % PADDING + PADDING  # the first column of streamed features, aligned to a vector
    rows = np.vstack([core.columns[core.strength_order], core.target])
    # most features never reach the score that earlier blocks have set, so that few models are stored
    lowest = [np.nextafter(_compute_min_score(threshold), -np.inf) for threshold in thresholds]
    scores = np.tile(np.array(lowest)[:, None], (1, m))
    codes = np.zeros(scores.shape, dtype=np.int64)
    nothing = np.zeros(0, dtype=np.int64)
    starts = iter(range(0, m, _TILES_PER_TASK * TILE_FEATURES))

    def scan_tiles(_: int) -> None:
        """Scan parts of the block until none is left."""
        state = _build_schur_state(core, stream_start + TILE_FEATURES)
        for start in starts:  # one iterator for all threads
            part = slice(start, start + _TILES_PER_TASK * TILE_FEATURES)
            parts = PartTable(0, nothing, nothing)
            if required_parts is not None:
                core_parts = required_parts.parts[core.strength_order]
                parts = PartTable(required_parts.required, core_parts, required_parts.streamed_parts[part])
            own_scores, own_codes = scores[:, part].copy(), codes[:, part].copy()
            scan_streamed_features(
                np.ascontiguousarray(block[part]),
                rows,
                np.array(sizes, dtype=np.int64),
                stream_start,
                state,
                _LIMITS,
                own_scores,
                own_codes,
                parts,
            )
            scores[:, part], codes[:, part] = own_scores, own_codes

    run_threads(scan_tiles, starts, jobs)
    return [TopModels(*models) for models in zip(scores, codes, strict=True)]


def _compute_min_score(max_unexplained: float) -> float:
    """Return the R² of inner products below which a model cannot have such an unexplained share."""
    return 1.0 - max_unexplained - _R2_TOLERANCE


def _make_top_models(
    scores: NDArray[np.float64],
    codes: NDArray[np.int64],
    size: int,
    gram: GramMatrix,
    required_parts: RequiredParts | None,
) -> TopModels:
    """Make the top models of one size; parts of features are in the strength order."""
    if required_parts is None:
        return TopModels(scores, codes)
    parts = required_parts.parts[gram.strength_order]
    return TopModels(scores, codes, size, required_parts.required, parts, required_parts.streamed_parts)


def _build_schur_state(gram: GramMatrix, width: int) -> SchurState:
    """Return the correlations in the strength order, before any elimination, with zeros up to the width."""
    strongest = gram.strength_order
    s = len(strongest)
    products, pivots = np.zeros((s, width)), np.zeros(width)
    target_products = np.zeros((len(gram.target), width))
    products[:, :s] = gram.products[np.ix_(strongest, strongest)]
    pivots[:s], target_products[:, :s] = np.diagonal(products), gram.target_products[:, strongest]
    return SchurState(products, pivots, target_products, 0.0, 1.0, 0)


def run_threads(scan: Callable[[int], _Result], tasks: Iterator[object], jobs: int) -> list[_Result]:
    """Run a function that consumes the tasks once in each thread; after an interrupt, no task is left."""
    if jobs == 1:
        return [scan(0)]
    with ThreadPoolExecutor(jobs, thread_name_prefix="symscreen") as executor:
        try:
            return list(executor.map(scan, range(jobs)))
        finally:
            deque(tasks, maxlen=0)


def _refit_best(
    block: NDArray[np.float64],
    core: GramMatrix,
    size: int,
    keep: int,
    max_unexplained: float,
    scan_result: TopModels,
    first_feature: int,
) -> CoreSubsetModels:
    """Fit the best models by inner products again on the columns, and return the best of these."""
    strongest = core.strength_order
    s = len(strongest)
    n_refit = 2 * keep + 56
    min_score = -1.0 if len(block) <= n_refit else np.partition(scan_result.scores, -n_refit)[-n_refit]
    lowest = max(min_score, _compute_min_score(max_unexplained), -1.0)
    best = np.flatnonzero(scan_result.scores >= lowest)
    best = best[np.lexsort((best, -scan_result.scores[best]))][:n_refit]
    digits = [scan_result.codes[best] // s**power % s for power in reversed(range(size))]
    subsets = (
        np.stack([strongest[digit] for digit in digits], axis=1) if size else np.empty((len(best), 0), int)
    )
    columns = np.vstack([core.columns, normalize_rows(block[best])])
    members = np.column_stack([subsets, s + np.arange(len(best))])
    unexplained = compute_unexplained_shares(columns, core.target, members)
    models = CoreSubsetModels(first_feature + best, np.sort(subsets, axis=1).astype(np.int32), unexplained)
    return merge_core_models([models], keep)


def find_best_models(
    gram: GramMatrix,
    size: int,
    keep: int,
    jobs: int = 1,
    required_parts: RequiredParts | None = None,
    *,
    n_refitted: int = 0,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Find the models of one size with the smallest unexplained share among all subsets.

    Parameters
    ----------
    gram : GramMatrix
        q ≤ 50,000 features, or 6,000 for models of five, and a target, or K targets that share one model.
        Copies of a feature form separate models; merge them first.
    size : int
        Number of features in a model, 1 to 5. All q(q−1)…(q−size+1)/size! subsets are tried.
    keep : int
        Number of models to return, at least 1.
    jobs : int
        Number of threads. The result is identical to the bit for any number.
    required_parts : RequiredParts, optional
        Parts that each model must have. Other models are skipped.
    n_refitted : int
        Number of models that are fitted again on the columns. It is at least 4·keep + 256.

    Returns
    -------
    members : int32 array, shape (k, size)
        The features of each model, ascending; k < keep if there are no more subsets.
    unexplained : float64 array, shape (k,)
        RSS/‖y − ȳ‖² = 1 − R² of each model, computed on the columns, ascending. For an exact formula it is
        about 1e-31. With K targets, each with its own coefficients, it is the mean. Models whose residual
        norms agree to 12 decimals of ‖y − ȳ‖ are sorted by their members.

    Raises
    ------
    OptionError
        If the size, `keep` or the number of features is out of range.

    Notes
    -----
    Collinear subsets are skipped. In a collinear subset, sorted by descending |c|, the share of a feature's
    variance that those before it leave unexplained is below `MIN_PIVOT`, or the determinant of the
    correlation matrix is below `MIN_DETERMINANT`.

    The scan uses inner products only, which are accurate to about 1e-15/determinant in R². Therefore many
    models are fitted again on the columns. A model is missed only if rounding moves it down by that many
    ranks. If more models than that fit exactly, such as all supersets of an exact pair, the choice among them
    is deterministic but arbitrary.

    Examples
    --------
    >>> from symscreen.linear_models.gram import compute_gram
    >>> x = np.random.default_rng(0).normal(size=(20, 50))
    >>> members, unexplained = find_best_models(compute_gram(x, 2 * x[3] - x[11]), size=2, keep=1)
    >>> members.tolist(), bool(unexplained[0] < 1e-28)
    ([[3, 11]], True)
    """
    q = len(gram.columns)
    if size not in _MAX_FEATURES:
        raise OptionError(f"the size of a model must be from 1 to 5: it is {size}")
    if keep < 1:
        raise OptionError(f"the number of models to keep must be at least 1: it is {keep}")
    if q > _MAX_FEATURES[size]:
        raise OptionError(
            f"all subsets can be tried for at most {_MAX_FEATURES[size]} features: there are {q}"
        )
    models = gram.strength_order[
        _scan_subsets(gram, size, max(4 * keep + 256, n_refitted), jobs, required_parts)
    ]
    unexplained = compute_unexplained_shares(gram.columns, gram.target, models)
    models = np.sort(models, axis=1)
    best = argsort_models(unexplained, *models.T)[:keep]
    best = best[np.isfinite(unexplained[best])]
    return models[best].astype(np.int32), unexplained[best]


def _scan_subsets(
    gram: GramMatrix, size: int, n_models: int, jobs: int, required_parts: RequiredParts | None
) -> NDArray[np.int64]:
    """Return the best models by inner products, shape (≤ n_models, size): positions in the strength order."""
    q = len(gram.columns)
    state = _build_schur_state(gram, q + PADDING)
    tasks = _split_work(q, size)

    def scan_tasks(_: int) -> TopModels:
        """Scan tasks until none is left; return the best models of this thread."""
        scores, codes = np.full(n_models, -np.inf), np.full(n_models, np.iinfo(np.int64).max)
        best = _make_top_models(scores, codes, size, gram, required_parts)
        for first, last in tasks:  # one iterator for all threads
            scan_subsets(size, first, last, 0, state, _LIMITS, best)
        return best

    n_threads = jobs if comb(q, size) > _MAX_MODELS_OF_ONE_THREAD else 1
    results = run_threads(scan_tasks, tasks, n_threads)
    scores = np.concatenate([result.scores for result in results])
    codes = np.concatenate([result.codes for result in results])
    best = np.lexsort((codes, -scores))[:n_models]
    best_codes = codes[best][np.isfinite(scores[best])]
    return np.stack([best_codes // q**power % q for power in reversed(range(size))], axis=1)


def _split_work(q: int, size: int) -> Iterator[tuple[int, int]]:
    """Divide the range of a model's first feature into tasks with about equal numbers of models."""
    models = np.array([comb(q - first, size) for first in range(q + 1)], dtype=np.float64)
    cuts = np.searchsorted(-models, -models[0] * np.linspace(1.0, 0.0, _N_TASKS + 1))
    return iter([(int(a), int(b)) for a, b in pairwise(cuts) if a < b])

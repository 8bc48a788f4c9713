"""Select the best or the simplest features of a space as the candidate terms of models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion import sort_features
from symscreen.screeners import PEARSON, T0, XI, Screener, make_multioutput_screener
from symscreen.screening.scoring.block_scoring import Scorer, make_mirrored_spec
from symscreen.screening.scoring.final_classes import add_margin, finalize_features
from symscreen.screening.scoring.streaming import compute_chunk_size, score_stream
from symscreen.screening.scoring.top_features import merge_rankings
from symscreen.statistics.ranks.sorted_block import compute_affine_signatures

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.targets.registry import RegressionTarget


_CHUNK_CANDIDATES = 1 << 17  # candidates sorted by complexity at a time
_BLOCK_FEATURES = 256  # features computed at a time
_FORMULAS_PER_FEATURE = 4  # formulas examined per feature wanted; with constants half of them are copies


def find_top_features(
    space: Space, target: RegressionTarget, limit: int, backend: Backend
) -> NDArray[np.int64]:
    """Find the best features of a space: the union of the best by Pearson's correlation, T0 and ξ.

    Parameters
    ----------
    space : Space
        The space with values.
    target : RegressionTarget
        The target. For a multi-output target, the mean of the losses counts.
    limit : int
        Maximum number of features.
    backend : Backend
        Backend that scores the chunks.

    Returns
    -------
    int64 array, shape (k,)
        Numbers of the features, best first, without affine copies.
    """
    screeners: tuple[Screener, ...] = (PEARSON, T0, XI)
    if target.combines_outputs:
        screeners = tuple(make_multioutput_screener(screener, "mean") for screener in screeners)
    specs = tuple(make_mirrored_spec(index, "affine", add_margin(limit)) for index in range(len(screeners)))
    scorer = Scorer(space, target, screeners, "free", specs)
    result = score_stream(scorer, backend, compute_chunk_size(space.n_rows))
    rankings = [finalize_features(features, space, limit) for features in result.top_features]
    return merge_rankings(rankings, limit).number


def find_simplest_features(space: Space, limit: int) -> NDArray[np.int64]:
    """Find the simplest features of a space.

    Parameters
    ----------
    space : Space
        The space with values.
    limit : int
        Maximum number of features.

    Returns
    -------
    int64 array, shape (k,)
        Numbers of the features by complexity, then by canonical key, without affine copies. Only the
        4·limit simplest formulas are examined.
    """
    simplest = np.zeros(0, dtype=np.int64)
    valid_numbers, n_kept = space.numbers, _FORMULAS_PER_FEATURE * limit
    for start in range(0, len(valid_numbers), _CHUNK_CANDIDATES):
        candidates = np.concatenate((simplest, valid_numbers[start : start + _CHUNK_CANDIDATES]))
        features = space.get_metadata(candidates)
        if len(candidates) > n_kept:  # the order by keys takes long, so more complex formulas leave before it
            largest = np.partition(features.complexity, n_kept - 1)[n_kept - 1]
            is_simple = features.complexity <= largest
            candidates, features = candidates[is_simple], features.take(np.flatnonzero(is_simple))
        simplest = candidates[sort_features(features.keys, features.complexity)[:n_kept]]
    return _drop_affine_copies(space, simplest, limit)


def _drop_affine_copies(space: Space, numbers: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """Return the first `limit` valid features that are not affine copies of earlier ones."""
    selected: list[int] = []
    seen: set[int] = set()
    for start in range(0, len(numbers), _BLOCK_FEATURES):
        block_numbers = numbers[start : start + _BLOCK_FEATURES]
        blocks = list(space.evaluate_features(np.sort(block_numbers)))
        valid_numbers = np.concatenate([block.numbers for block in blocks]).tolist()
        signatures = compute_affine_signatures(
            np.concatenate([block.values for block in blocks]),
            mirrored=True,  # a term's coefficient has either sign
        ).tolist()
        signature_of = dict(zip(valid_numbers, signatures, strict=True))
        for number in block_numbers.tolist():
            # features with undefined or constant values are missing in the blocks
            signature = signature_of.get(number)
            if signature is not None and signature not in seen:
                seen.add(signature)
                selected.append(number)
        if len(selected) >= limit:
            break
    return np.array(selected[:limit], dtype=np.int64)

"""Pairs of a present and a later stage: which there are, what they weigh, what they ask of q."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError
from symscreen.response.stage_chains import observed_pairs, pair_weights, place_of_stage, stage_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Outcomes = NDArray[np.int8]

__all__ = ["asked_of", "class_weights", "observed_pairs", "pair_weights", "remainders", "stage_pairs"]


def remainders(q: Values) -> Values:
    """Compute 1 − Σ_{l=t′+1..t} q_l for every pair.

    Parameters
    ----------
    q : float64 array, shape (T, K)
        Stage effects q_1 … q_T ≥ 0.

    Returns
    -------
    float64 array, shape (P, K)
        In the order of `stage_pairs`. Each sum is taken from t down to t′ + 1: so it is never less, rounding
        included, for an earlier t′ or a later t.

    Examples
    --------
    >>> remainders(np.array([[0.25], [0.5]])).tolist()
    [[0.75], [0.25], [0.5]]
    """
    found = []
    for present, later in stage_pairs(len(q)):
        total = np.zeros(q.shape[1])
        for stage in range(later, present, -1):
            total = total + q[stage - 1]
        found.append(1.0 - total)
    return np.array(found)


def class_weights(outcomes: Outcomes) -> Values:
    """Weigh the two classes of each pair inversely to their numbers.

    Parameters
    ----------
    outcomes : int8 array, shape (R, T + 1)
        Y.

    Returns
    -------
    float64 array, shape (P, 2)
        Of −1 and of +1: n/(2 n_class) with n observations of the pair, so that weights average 1; 1 where
        only one class was observed.

    Examples
    --------
    >>> class_weights(np.array([[1, -1], [1, -1], [1, -1], [1, 1]], dtype=np.int8)).round(3).tolist()
    [[0.667, 2.0]]
    """
    counted = observed_pairs(outcomes)
    found = np.ones((counted.shape[1], 2))
    for p, (_, later) in enumerate(stage_pairs(outcomes.shape[1] - 1)):
        sizes = np.array([(counted[:, p] & (outcomes[:, later] == sign)).sum() for sign in (-1, 1)])
        if sizes.all():
            found[p] = sizes.sum() / (2.0 * sizes)
    return found


def asked_of(present: Any, stage: Any, stages: Sequence[str]) -> list[int]:
    """Find the pairs from a present stage, to a later stage, or both; all without either.

    Returns
    -------
    list of int
        Places in the order of `stage_pairs`.
    """
    start = None if present is None else place_of_stage(present, stages)
    end = None if stage is None else place_of_stage(stage, stages)
    pairs = stage_pairs(len(stages) - 1)
    found = [p for p, pair in enumerate(pairs) if start in {None, pair[0]} and end in {None, pair[1]}]
    if not found:
        raise OptionError(f"no pair leads from stage {present!r} to stage {stage!r}: {' < '.join(stages)}")
    return found

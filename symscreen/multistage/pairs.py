"""Pairs of a present and a later stage: which there are, what they weigh, what they ask of q."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Outcomes = NDArray[np.int8]

__all__ = ["asked_of", "class_weights", "observed_pairs", "pair_weights", "remainders", "stage_pairs"]

_NAMED = ("all", "next", "last")


def stage_pairs(last: int) -> list[tuple[int, int]]:
    """List the pairs (t′, t) with 0 ≤ t′ < t ≤ T, by t′ and then by t.

    Parameters
    ----------
    last : int
        T ≥ 1.

    Returns
    -------
    list of (int, int)
        T(T + 1)/2 of them: the order of columns wherever pairs are columns.

    Examples
    --------
    >>> stage_pairs(2)
    [(0, 1), (0, 2), (1, 2)]
    """
    return [(present, later) for present in range(last) for later in range(present + 1, last + 1)]


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


def observed_pairs(outcomes: Outcomes) -> NDArray[np.bool_]:
    """Say which rows count for which pair: Y_t′ = +1, and Y_t is observed.

    Parameters
    ----------
    outcomes : int8 array, shape (R, T + 1)
        Y: ±1, or 0 where missing.

    Returns
    -------
    bool array, shape (R, P)
        In the order of `stage_pairs`.

    Examples
    --------
    >>> observed_pairs(np.array([[1, -1, -1], [1, 1, 0]], dtype=np.int8)).tolist()
    [[True, True, False], [True, False, False]]
    """
    pairs = stage_pairs(outcomes.shape[1] - 1)
    return np.stack([(outcomes[:, a] == 1) & (outcomes[:, b] != 0) for a, b in pairs], axis=1)


def pair_weights(asked: Any, stages: Sequence[str]) -> Values:
    """Read the weights w_{t′t}.

    Parameters
    ----------
    asked : {"all", "next", "last"}, mapping or array-like of shape (T + 1, T + 1)
        1 for every pair; for t = t′ + 1 alone; for t = T alone; a mapping from pairs of names or numbers of
        stages, 0 for what it leaves out; or a table whose entry [t′, t] is the weight.
    stages : sequence of str
        Their names.

    Returns
    -------
    float64 array, shape (P,)
        ≥ 0, in the order of `stage_pairs`.

    Raises
    ------
    OptionError
        If it has no meaning.

    Examples
    --------
    >>> pair_weights("next", ("viewed", "liked", "followed")).tolist()
    [1.0, 0.0, 1.0]
    >>> pair_weights({("viewed", "followed"): 2.0}, ("viewed", "liked", "followed")).tolist()
    [0.0, 2.0, 0.0]
    """
    last = len(stages) - 1
    pairs = stage_pairs(last)
    if isinstance(asked, str):
        if asked not in _NAMED:
            raise OptionError(f"stage_weight is {asked!r}{nearest(asked, _NAMED)}")
        chosen = {
            "all": pairs,
            "next": [(t, t + 1) for t in range(last)],
            "last": [(t, last) for t in range(last)],
        }
        return np.array([float(pair in chosen[asked]) for pair in pairs])
    if isinstance(asked, Mapping):
        weights = np.zeros(len(pairs))
        for key, weight in asked.items():
            weights[pairs.index(_pair(key, stages))] = weight
    else:
        table = np.asarray(asked, dtype=np.float64)
        if table.shape != (last + 1, last + 1):
            raise OptionError(f"stage_weight has shape {table.shape}: give ({last + 1}, {last + 1}), [t′, t]")
        weights = np.array([table[pair] for pair in pairs])
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise OptionError(f"stage_weight gives {weights.tolist()}: give numbers ≥ 0, not all of them 0")
    return weights


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
    from symscreen.multistage.chains import place_of_stage

    start = None if present is None else place_of_stage(present, stages)
    end = None if stage is None else place_of_stage(stage, stages)
    pairs = stage_pairs(len(stages) - 1)
    found = [p for p, pair in enumerate(pairs) if start in {None, pair[0]} and end in {None, pair[1]}]
    if not found:
        raise OptionError(f"no pair leads from stage {present!r} to stage {stage!r}: {' < '.join(stages)}")
    return found


def _pair(key: Any, stages: Sequence[str]) -> tuple[int, int]:
    from symscreen.multistage.chains import place_of_stage

    if not (isinstance(key, tuple) and len(key) == 2):
        raise OptionError(f"stage_weight has the key {key!r}: give pairs of stages, (present, later)")
    present, later = (place_of_stage(one, stages) for one in key)
    if present >= later:
        raise OptionError(f"stage_weight has the pair {key!r}: the first stage must come before the second")
    return present, later

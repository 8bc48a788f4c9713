"""What a chain of stages is: outcomes with Y_t = −1 ⇒ Y_{t+1} = −1, and the pairs (t′, t) with t′ < t."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError, nearest, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Outcomes = NDArray[np.int8]

__all__ = [
    "STAGE_WEIGHTS",
    "first_break",
    "observed_pairs",
    "pair_weights",
    "place_of_stage",
    "stage_names",
    "stage_pairs",
]

STAGE_WEIGHTS = ("all", "next", "last")


def stage_names(stages: Sequence[str]) -> tuple[str, ...]:
    """Check the names of stages.

    Parameters
    ----------
    stages : sequence of str
        The first stage first.

    Returns
    -------
    tuple of str, length T + 1

    Raises
    ------
    OptionError
        If they are fewer than two, or one is given twice.

    Examples
    --------
    >>> stage_names(["viewed", "liked"])
    ('viewed', 'liked')
    """
    names = (stages,) if isinstance(stages, str) else tuple(stages)
    if len(names) < 2 or not all(isinstance(name, str) for name in names):
        raise OptionError(f"stages are {names!r}: give the names of two at least, the first one first")
    for place, name in enumerate(names):
        if name in names[:place]:
            raise OptionError(f"stage {printable(name)!r} is given twice")
    return names


def place_of_stage(stage: Any, stages: Sequence[str]) -> int:
    """Find a stage by its name or number.

    Raises
    ------
    OptionError
        If there is no such stage, with near matches.
    """
    if isinstance(stage, str) and stage in stages:
        return list(stages).index(stage)
    whole = isinstance(stage, int | np.integer) and not isinstance(stage, bool)
    if whole and 0 <= stage < len(stages):
        return int(stage)
    raise OptionError(f"stage {stage!r} is unknown{nearest(str(stage), stages)}")


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


def first_break(outcomes: Outcomes) -> tuple[int, int, int] | None:
    """Find the first row that breaks the chain: it reaches a stage, but not one before it.

    Parameters
    ----------
    outcomes : int8 array, shape (R, T + 1)
        Y: ±1, or 0 where missing.

    Returns
    -------
    row, earlier, later : int, or None
        The first stage there that was not reached, and the first one behind it that was. None where every
        row obeys.

    Examples
    --------
    >>> first_break(np.array([[1, 1, -1], [1, -1, 1]], dtype=np.int8))
    (1, 1, 2)
    """
    ended = np.logical_or.accumulate(outcomes == -1, axis=1)
    broken = ended & (outcomes == 1)
    if not broken.any():
        return None
    row = int(np.flatnonzero(broken.any(axis=1))[0])
    later = int(np.flatnonzero(broken[row])[0])
    return row, int(np.flatnonzero(outcomes[row, :later] == -1)[0]), later


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
        if asked not in STAGE_WEIGHTS:
            raise OptionError(f"stage_weight is {asked!r}{nearest(asked, STAGE_WEIGHTS)}")
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


def _pair(key: Any, stages: Sequence[str]) -> tuple[int, int]:
    if not (isinstance(key, tuple) and len(key) == 2):
        raise OptionError(f"stage_weight has the key {key!r}: give pairs of stages, (present, later)")
    present, later = (place_of_stage(one, stages) for one in key)
    if present >= later:
        raise OptionError(f"stage_weight has the pair {key!r}: the first stage must come before the second")
    return present, later

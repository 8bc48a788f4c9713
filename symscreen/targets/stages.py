"""What a chain of stages is: outcomes with Y_t = −1 ⇒ Y_{t+1} = −1, and the pairs (t′, t) with t′ < t.

A response that is a chain of stages, and the pairs of stages that rank statistics compare features with.

For every pair t′ < t, whether a row that is at stage t′ reaches stage t is a binary response of the rows with
Y_t′ = +1 and Y_t observed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.errors import DataError, OptionError, escape_control_chars, suggest
from symscreen.targets.binary import BinaryTargets, build_binary_targets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Outcomes, Values
    from symscreen.targets.numeric import TargetType


__all__ = [
    "STAGE_WEIGHTS",
    "StagesTarget",
    "check_stage_names",
    "find_first_violation",
    "find_stage_index",
    "list_stage_pairs",
    "mask_observed_pairs",
    "parse_pair_weights",
]

STAGE_WEIGHTS = ("all", "next", "last")


def check_stage_names(stages: Sequence[str]) -> tuple[str, ...]:
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
    >>> check_stage_names(["viewed", "liked"])
    ('viewed', 'liked')
    """
    names = (stages,) if isinstance(stages, str) else tuple(stages)
    if len(names) < 2 or not all(isinstance(name, str) for name in names):
        raise OptionError(f"stages are {names!r}: give the names of two at least, the first one first")
    for place, name in enumerate(names):
        if name in names[:place]:
            raise OptionError(f"stage {escape_control_chars(name)!r} is given twice")
    return names


def find_stage_index(stage: Any, stages: Sequence[str]) -> int:
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
    raise OptionError(f"stage {stage!r} is unknown{suggest(str(stage), stages)}")


def list_stage_pairs(last_stage: int) -> list[tuple[int, int]]:
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
    >>> list_stage_pairs(2)
    [(0, 1), (0, 2), (1, 2)]
    """
    return [(present, later) for present in range(last_stage) for later in range(present + 1, last_stage + 1)]


def mask_observed_pairs(outcomes: Outcomes) -> NDArray[np.bool_]:
    """Say which rows count for which pair: Y_t′ = +1, and Y_t is observed.

    Parameters
    ----------
    outcomes : int8 array, shape (R, T + 1)
        Y: ±1, or 0 where missing.

    Returns
    -------
    bool array, shape (R, P)
        In the order of `list_stage_pairs`.

    Examples
    --------
    >>> mask_observed_pairs(np.array([[1, -1, -1], [1, 1, 0]], dtype=np.int8)).tolist()
    [[True, True, False], [True, False, False]]
    """
    pairs = list_stage_pairs(outcomes.shape[1] - 1)
    return np.stack([(outcomes[:, a] == 1) & (outcomes[:, b] != 0) for a, b in pairs], axis=1)


def find_first_violation(outcomes: Outcomes) -> tuple[int, int, int] | None:
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
    >>> find_first_violation(np.array([[1, 1, -1], [1, -1, 1]], dtype=np.int8))
    (1, 1, 2)
    """
    ended = np.logical_or.accumulate(outcomes == -1, axis=1)
    broken = ended & (outcomes == 1)
    if not broken.any():
        return None
    row = int(np.flatnonzero(broken.any(axis=1))[0])
    later = int(np.flatnonzero(broken[row])[0])
    return row, int(np.flatnonzero(outcomes[row, :later] == -1)[0]), later


def parse_pair_weights(stage_weight: Any, stages: Sequence[str]) -> Values:
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
        ≥ 0, in the order of `list_stage_pairs`.

    Raises
    ------
    OptionError
        If it has no meaning.

    Examples
    --------
    >>> parse_pair_weights("next", ("viewed", "liked", "followed")).tolist()
    [1.0, 0.0, 1.0]
    >>> parse_pair_weights({("viewed", "followed"): 2.0}, ("viewed", "liked", "followed")).tolist()
    [0.0, 2.0, 0.0]
    """
    last = len(stages) - 1
    pairs = list_stage_pairs(last)
    if isinstance(stage_weight, str):
        if stage_weight not in STAGE_WEIGHTS:
            raise OptionError(f"stage_weight is {stage_weight!r}{suggest(stage_weight, STAGE_WEIGHTS)}")
        chosen = {
            "all": pairs,
            "next": [(t, t + 1) for t in range(last)],
            "last": [(t, last) for t in range(last)],
        }
        return np.array([float(pair in chosen[stage_weight]) for pair in pairs])
    if isinstance(stage_weight, Mapping):
        weights = np.zeros(len(pairs))
        for key, weight in stage_weight.items():
            weights[pairs.index(_parse_pair(key, stages))] = weight
    else:
        table = np.asarray(stage_weight, dtype=np.float64)
        if table.shape != (last + 1, last + 1):
            raise OptionError(f"stage_weight has shape {table.shape}: give ({last + 1}, {last + 1}), [t′, t]")
        weights = np.array([table[pair] for pair in pairs])
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise OptionError(f"stage_weight gives {weights.tolist()}: give numbers ≥ 0, not all of them 0")
    return weights


def _parse_pair(key: Any, stages: Sequence[str]) -> tuple[int, int]:
    if not (isinstance(key, tuple) and len(key) == 2):
        raise OptionError(f"stage_weight has the key {key!r}: give pairs of stages, (present, later)")
    present, later = (find_stage_index(one, stages) for one in key)
    if present >= later:
        raise OptionError(f"stage_weight has the pair {key!r}: the first stage must come before the second")
    return present, later


@dataclass(frozen=True, eq=False)
class StagesTarget:
    """A response of n rows, each of which has gone some way along T + 1 stages.

    Parameters
    ----------
    outcomes : int8 array, shape (n, T + 1)
        Y: +1 reached, −1 not reached, 0 not observed; Y_t = −1 ⇒ Y_{t+1} ≠ +1.
    stages : tuple of str, length T + 1
        Their names, the first one first.
    weights : float64 array, shape (T(T + 1)/2,)
        w_{t′t} ≥ 0, in the order of `symscreen.targets.stages.list_stage_pairs`.

    Raises
    ------
    TableError
        If, of the rows that are at an earlier stage, all or none reach some later one.

    Examples
    --------
    >>> outcomes = np.array([[1, 1, 1], [1, 1, -1], [1, -1, -1], [1, -1, 0]], dtype=np.int8)
    >>> y = StagesTarget(outcomes, ("viewed", "liked", "followed"), np.ones(3))
    >>> y.binary.signs.tolist(), y.pairs
    ([[1, -1, 0, 0], [1, -1, -1, 0], [1, 1, -1, -1]], [(1, 2), (0, 2), (0, 1)])
    """

    outcomes: NDArray[np.int8]
    stages: tuple[str, ...]
    weights: NDArray[np.float64]
    target_type: ClassVar[TargetType] = "stages"

    def __post_init__(self) -> None:
        told_apart = {later for _, later in self.pairs}
        for later in sorted({later for _, later in self.weighted_pairs} - told_apart):
            reached, observed = self._count_reached(later)
            how, shown = "all" if reached else "none", escape_control_chars(repr(self.stages[later]))
            raise DataError(
                f"{how} of the {observed} rows that are at a stage before {shown} reach it: nothing can be "
                "ranked against that; leave it out of --stages"
            )

    def _count_reached(self, later: int) -> tuple[int, int]:
        """Count the rows at a stage that is asked to lead here: those that get here, and those observed."""
        own = self.outcomes[:, later]
        asked = [present for present, stage in self.weighted_pairs if stage == later]
        before = (self.outcomes[:, asked] == 1).any(axis=1)
        return int((before & (own == 1)).sum()), int((before & (own != 0)).sum())

    @property
    def name(self) -> str:
        """What it is called, for messages and results."""
        return ",".join(self.stages)

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.outcomes)

    @lockfree_cached_property
    def binary_targets(self) -> BinaryTargets:
        """Whether rows at one stage reach a later one: the pairs of stages that can tell features apart."""
        counts = mask_observed_pairs(self.outcomes).T
        later = self.outcomes.T[[pair[1] for pair in list_stage_pairs(len(self.stages) - 1)]]
        return build_binary_targets(np.where(counts, later, 0).astype(np.int8), self.weights)

    @property
    def weighted_pairs(self) -> list[tuple[int, int]]:
        """The pairs of stages (t′, t) that have a weight."""
        every = list_stage_pairs(len(self.stages) - 1)
        return [pair for pair, weight in zip(every, self.weights, strict=True) if weight > 0]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of stages (t′, t) that are compared, in the order of `binary`: not all rows go them."""
        every = list_stage_pairs(len(self.stages) - 1)
        return [every[place] for place in self.binary_targets.indices]

"""Chains of stages, decomposed into binary targets of pairs of stages.

The outcome Y_t of stage t is +1 (reached), −1 (not reached) or 0 (not observed), with
Y_t = −1 ⇒ Y_{t+1} ≠ +1. For every pair t′ < t, whether a row at stage t′ reaches stage t is a binary
target, observed in the rows with Y_t′ = +1 and Y_t ≠ 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.errors import DataError, OptionError
from symscreen.messages import escape_control_chars, name_option, suggest
from symscreen.targets.binary import BinaryTargets, build_binary_targets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Outcomes, Values
    from symscreen.targets.numeric import TargetType


STAGE_WEIGHTS = ("all", "next", "last")


def check_stage_names(stages: Sequence[str]) -> tuple[str, ...]:
    """Check the names of stages.

    Parameters
    ----------
    stages : sequence of str
        Names in the order of the stages.

    Returns
    -------
    tuple of str, length T + 1

    Raises
    ------
    OptionError
        If there are fewer than two names, or a name is repeated.

    Examples
    --------
    >>> check_stage_names(["viewed", "liked"])
    ('viewed', 'liked')
    """
    names = (stages,) if isinstance(stages, str) else tuple(stages)
    if len(names) < 2 or not all(isinstance(name, str) for name in names):
        raise OptionError(f"stages are {names!r}: give the names of at least two stages, in their order")
    for index, name in enumerate(names):
        if name in names[:index]:
            raise OptionError(f"stage {escape_control_chars(name)!r} is given twice")
    return names


def find_stage_index(stage: Any, stages: Sequence[str]) -> int:
    """Return the index of a stage that is given by name or index.

    Parameters
    ----------
    stage : str or int
        Name or index of the stage.
    stages : sequence of str, length T + 1
        Names of the stages.

    Returns
    -------
    int
        Index from 0 to T.

    Raises
    ------
    OptionError
        If the stage does not exist. The message suggests similar names.
    """
    if isinstance(stage, str) and stage in stages:
        return list(stages).index(stage)
    is_integer = isinstance(stage, int | np.integer) and not isinstance(stage, bool)
    if is_integer and 0 <= stage < len(stages):
        return int(stage)
    raise OptionError(f"stage {stage!r} is unknown{suggest(str(stage), stages)}")


def list_stage_pairs(last_stage: int) -> list[tuple[int, int]]:
    """List the pairs (t′, t) with 0 ≤ t′ < t ≤ T, sorted by t′ and then by t.

    Parameters
    ----------
    last_stage : int
        T ≥ 1.

    Returns
    -------
    list of (int, int)
        T(T + 1)/2 pairs, in the order used for all arrays over pairs.

    Examples
    --------
    >>> list_stage_pairs(2)
    [(0, 1), (0, 2), (1, 2)]
    """
    return [(present, later) for present in range(last_stage) for later in range(present + 1, last_stage + 1)]


def mask_observed_pairs(outcomes: Outcomes) -> NDArray[np.bool_]:
    """Find the rows in which a pair of stages is observed: Y_t′ = +1 and Y_t ≠ 0.

    Parameters
    ----------
    outcomes : int8 array, shape (n, T + 1)
        Y: ±1, or 0 if not observed.

    Returns
    -------
    bool array, shape (n, P)
        Columns in the order of `list_stage_pairs`.

    Examples
    --------
    >>> mask_observed_pairs(np.array([[1, -1, -1], [1, 1, 0]], dtype=np.int8)).tolist()
    [[True, True, False], [True, False, False]]
    """
    pairs = list_stage_pairs(outcomes.shape[1] - 1)
    return np.stack(
        [(outcomes[:, present] == 1) & (outcomes[:, later] != 0) for present, later in pairs], axis=1
    )


def find_first_violation(outcomes: Outcomes) -> tuple[int, int, int] | None:
    """Find the first row that reaches a stage but not an earlier one.

    Parameters
    ----------
    outcomes : int8 array, shape (n, T + 1)
        Y: ±1, or 0 if not observed.

    Returns
    -------
    row, earlier, later : int, or None
        The row, its first stage that was not reached, and the first later stage that was. None if there is
        no such row.

    Examples
    --------
    >>> find_first_violation(np.array([[1, 1, -1], [1, -1, 1]], dtype=np.int8))
    (1, 1, 2)
    """
    has_ended = np.logical_or.accumulate(outcomes == -1, axis=1)
    is_violation = has_ended & (outcomes == 1)
    if not is_violation.any():
        return None
    row = int(np.flatnonzero(is_violation.any(axis=1))[0])
    later = int(np.flatnonzero(is_violation[row])[0])
    return row, int(np.flatnonzero(outcomes[row, :later] == -1)[0]), later


def parse_pair_weights(stage_weight: Any, stages: Sequence[str]) -> Values:
    """Parse the weights w_{t′t} of the pairs of stages.

    Parameters
    ----------
    stage_weight : {"all", "next", "last"}, mapping or array-like of shape (T + 1, T + 1)
        ``"all"``: 1 for every pair. ``"next"``: 1 for t = t′ + 1. ``"last"``: 1 for t = T. A mapping from
        pairs of names or indices to weights; pairs that are not listed have weight 0. An array whose element
        [t′, t] is the weight.
    stages : sequence of str, length T + 1
        Names of the stages.

    Returns
    -------
    float64 array, shape (P,)
        Weights ≥ 0, in the order of `list_stage_pairs`.

    Raises
    ------
    OptionError
        If the weights are not valid.

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
    """Parse a pair of stages, which are given by name or index."""
    if not (isinstance(key, tuple) and len(key) == 2):
        raise OptionError(f"stage_weight has the key {key!r}: give pairs of stages, (present, later)")
    present, later = (find_stage_index(stage, stages) for stage in key)
    if present >= later:
        raise OptionError(f"stage_weight has the pair {key!r}: the first stage must come before the second")
    return present, later


@dataclass(frozen=True, eq=False)
class StagesTarget:
    """A target that says how far each row has advanced along T + 1 stages.

    Parameters
    ----------
    outcomes : int8 array, shape (n, T + 1)
        Y: +1 reached, −1 not reached, 0 not observed; Y_t = −1 ⇒ Y_{t+1} ≠ +1.
    stages : tuple of str, length T + 1
        Names of the stages, in their order.
    weights : float64 array, shape (T(T + 1)/2,)
        w_{t′t} ≥ 0, in the order of `list_stage_pairs`.

    Raises
    ------
    DataError
        If some stage is reached by all or none of the rows that are at an earlier stage.

    Examples
    --------
    >>> outcomes = np.array([[1, 1, 1], [1, 1, -1], [1, -1, -1], [1, -1, 0]], dtype=np.int8)
    >>> y = StagesTarget(outcomes, ("viewed", "liked", "followed"), np.ones(3))
    >>> y.binary_targets.signs.tolist(), y.pairs
    ([[1, -1, 0, 0], [1, -1, -1, 0], [1, 1, -1, -1]], [(1, 2), (0, 2), (0, 1)])
    """

    outcomes: NDArray[np.int8]
    stages: tuple[str, ...]
    weights: NDArray[np.float64]
    target_type: ClassVar[TargetType] = "stages"

    def __post_init__(self) -> None:
        informative_stages = {later for _, later in self.pairs}
        for later in sorted({later for _, later in self.weighted_pairs} - informative_stages):
            reached, observed = self._count_reached(later)
            quantity, quoted_stage = (
                "all" if reached else "none",
                escape_control_chars(repr(self.stages[later])),
            )
            raise DataError(
                f"{quantity} of the {observed} rows that are at a stage before {quoted_stage} reach it: "
                f"nothing can be ranked against that; leave it out of {name_option('stages')}"
            )

    def _count_reached(self, later: int) -> tuple[int, int]:
        """Count the rows at an earlier, weighted stage that reach this stage, and those observed at it."""
        outcomes = self.outcomes[:, later]
        earlier_stages = [present for present, stage in self.weighted_pairs if stage == later]
        is_earlier = (self.outcomes[:, earlier_stages] == 1).any(axis=1)
        return int((is_earlier & (outcomes == 1)).sum()), int((is_earlier & (outcomes != 0)).sum())

    @property
    def name(self) -> str:
        """Names of all stages, separated by commas, for messages and results."""
        return ",".join(self.stages)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.outcomes)

    @lockfree_cached_property
    def binary_targets(self) -> BinaryTargets:
        """One binary target per informative pair of stages with a weight."""
        is_observed = mask_observed_pairs(self.outcomes).T
        later = self.outcomes.T[[pair[1] for pair in list_stage_pairs(len(self.stages) - 1)]]
        return build_binary_targets(np.where(is_observed, later, 0).astype(np.int8), self.weights)

    @property
    def weighted_pairs(self) -> list[tuple[int, int]]:
        """Pairs of stages (t′, t) with positive weight."""
        all_pairs = list_stage_pairs(len(self.stages) - 1)
        return [pair for pair, weight in zip(all_pairs, self.weights, strict=True) if weight > 0]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Informative pairs of stages (t′, t) with positive weight, in the order of `binary_targets`."""
        all_pairs = list_stage_pairs(len(self.stages) - 1)
        return [all_pairs[index] for index in self.binary_targets.indices]

"""Chains of stages, decomposed into binary targets of pairs of stages.

The outcome Y_t of stage t is +1 (reached), −1 (not reached) or 0 (not observed). If Y_t = −1, then
Y_{t+1} ≠ +1. For every pair t′ < t, whether a row at stage t′ reaches stage t is a binary target. It is
observed in the rows with Y_t′ = +1 and Y_t ≠ 0.

Stages are read from one column each, of 1, 0 or missing. Rows are sorted by the inputs, ties by the outcomes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.errors import DataError, OptionError
from symscreen.messages import (
    escape_control_chars,
    format_count,
    name_option,
    name_option_column,
    quote,
    suggest,
)
from symscreen.statistics.ranks.binary_targets import BinaryTargets, build_binary_targets
from symscreen.targets.base import BinaryDecomposedTarget, RowFilter, TargetColumns, sort_canonically

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Outcomes, Values
    from symscreen.data.target_source import TargetSource
    from symscreen.targets.base import RowIndices


STAGE_WEIGHTS = ("all", "next", "last")
_MAX_LISTED = 6  # pairs of stages that a summary names
_OUTCOME_HINT = "give 1 for reached, 0 for not reached, or nothing for not observed"


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
class StagesTarget(BinaryDecomposedTarget):
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
    target_type: ClassVar[str] = "stages"
    prefix: ClassVar[str] = "the stages "
    option: ClassVar[str] = "stages"
    description: ClassVar[str] = "a chain of stages"
    refusal: ClassVar[str] = "does not support stages targets"
    sign_conflict: ClassVar[tuple[str, str]] = (name_option("stages"), "with all pairs of stages alike")

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

    @classmethod
    def matches(cls, source: TargetSource) -> bool:
        """Return whether the option `stages` is given."""
        return source.stages is not None

    @classmethod
    def list_columns(cls, source: TargetSource) -> tuple[list[str], list[str]]:
        """List the columns of the option `stages`.

        Raises
        ------
        DataError
            If a column does not exist, or is excluded.
        """
        names = check_stage_names([str(name) for name in source.stages or ()])
        source.require_columns(names, name_option("stages"))
        for name in names:
            if name in source.exclude:
                raise DataError(
                    f"{source.origin}: {quote(name)} is in both {name_option('stages')} and "
                    f"{name_option('exclude')}: keep one"
                )
        return list(names), []

    @classmethod
    def read(cls, source: TargetSource) -> TargetColumns:
        """Read the outcomes of the stages.

        Raises
        ------
        DataError
            If a row reaches a stage without all earlier ones, or a cell is not an outcome.
        """
        stages = tuple(source.columns)
        weights = parse_pair_weights(source.stage_weight, stages)
        outcomes = np.stack([_read_outcomes(source, name) for name in stages], axis=1)
        violation = find_first_violation(outcomes)
        if violation is not None:
            row, earlier, later = violation
            raise DataError(
                f"{source.origin}: row {row + 1} reaches {quote(stages[later])} but not "
                f"{quote(stages[earlier])}: each stage requires all earlier ones; correct the row or the "
                f"order of {name_option('stages')}, or leave unobserved stages empty"
            )
        has_transition = np.asarray(mask_observed_pairs(outcomes)[:, weights > 0].any(axis=1))
        return TargetColumns(
            {},
            lambda inputs, rows: cls.build(inputs, outcomes[rows], stages, weights),
            row_filter=RowFilter(has_transition, "without an observed transition between stages"),
        )

    @classmethod
    def build(
        cls, inputs: Sequence[Values], outcomes: Outcomes, stages: tuple[str, ...], weights: Values
    ) -> tuple[RowIndices, StagesTarget]:
        """Sort rows with outcomes of shape (n, T + 1); return the order and the target."""
        order = sort_canonically([*inputs[1:], *outcomes.T.astype(np.float64)], inputs[0])
        return order, cls(outcomes[order], stages, weights)

    def take_rows(self, inputs: Sequence[Values], rows: RowIndices) -> tuple[RowIndices, StagesTarget]:
        """Build the target of some of the rows."""
        return self.build(inputs, self.outcomes[rows], self.stages, self.weights)

    @classmethod
    def build_example(cls, z: Values) -> StagesTarget:
        """Build a target that a feature determines."""
        at = np.quantile(z, [0.0, 0.3, 0.6])  # 70 % reach the second of three stages, 40 % the third
        return cls(np.where(z[:, None] >= at, 1, -1).astype(np.int8), ("a", "b", "c"), np.ones(3))

    @property
    def notices(self) -> list[str]:
        """Name the pairs of stages with positive weight in which all rows, or none, advance."""
        left_out = [
            f"{quote(self.stages[earlier])} to {quote(self.stages[later])}"
            for earlier, later in self.weighted_pairs
            if (earlier, later) not in self.pairs
        ]
        text = f"left out: the pairs of stages in which all rows advance, or none: {', '.join(left_out)}"
        return [text] if left_out else []

    @property
    def name(self) -> str:
        """Names of all stages, separated by commas, for messages and results."""
        return ",".join(self.stages)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.outcomes)

    @property
    def data(self) -> Outcomes:
        """The outcomes; shape (n, T + 1)."""
        return self.outcomes

    @property
    def digest_metadata(self) -> list[object]:
        """The names of the stages and the weights of their pairs."""
        return [self.stages, self.weights.tolist()]

    @property
    def record(self) -> dict[str, Any]:
        """The names of the stages and, for each pair compared, its rows, successes and weight."""
        binary, names = self.binary_targets, self.stages
        pairs = [
            {
                "present": names[present],
                "later": names[later],
                "rows": int(binary.n_observed[index]),
                "reached": int((binary.signs[index] == 1).sum()),
                "weight": float(binary.weights[index]),
            }
            for index, (present, later) in enumerate(self.pairs)
        ]
        order = sorted(range(len(pairs)), key=self.pairs.__getitem__)
        return {"stages": {"names": list(names), "pairs": [pairs[index] for index in order]}}

    @lockfree_cached_property
    def binary_targets(self) -> BinaryTargets:
        """One binary target per informative pair of stages with a weight."""
        is_observed = mask_observed_pairs(self.outcomes).T
        later = self.outcomes.T[[pair[1] for pair in list_stage_pairs(len(self.stages) - 1)]]
        return build_binary_targets(np.where(is_observed, later, 0).astype(np.int8), self.weights)

    @classmethod
    def explain_directions(cls, data: Mapping[str, Any]) -> str | None:
        """Explain the column of directions."""
        del data
        return "dir.: + increases with every pair of stages, - decreases; empty if they disagree."

    @classmethod
    def explain_gini(cls, data: Mapping[str, Any], options: Mapping[str, Any]) -> str:
        """Explain the scale of the Gini correlation."""
        del data, options
        return "mean over pairs of stages, weighted by their rows; 1 separates who goes on, 0 does not"

    @classmethod
    def describe_target(cls, data: Mapping[str, Any], options: Mapping[str, Any]) -> list[str]:
        """Describe the pairs of stages."""
        del options
        pairs = data["stages"]["pairs"]
        listed = "; ".join(
            f"{escape_control_chars(pair['present'])} to {escape_control_chars(pair['later'])} "
            f"{pair['reached']:,} of {pair['rows']:,}"
            for pair in pairs[:_MAX_LISTED]
        )
        more = f"; and {len(pairs) - _MAX_LISTED} more" if len(pairs) > _MAX_LISTED else ""
        count = f"{format_count(len(pairs), 'pair')} of stages"
        rows = "how many rows at the first go on to the second"
        return [f"{count}, and {rows}: {listed}{more}."]

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


def _read_outcomes(source: TargetSource, name: str) -> NDArray[np.int8]:
    """Read one stage as 1 (reached), −1 (not reached) or 0 (not observed); shape (n,)."""
    column = source.get_column(name)
    if column.numbers is None:
        raise DataError(
            f"{source.origin}: {name_option_column('stages', name)} holds {column.description}: "
            f"{_OUTCOME_HINT}"
        )
    if not column.is_numeric:
        raise DataError(
            f"{source.origin}: the stage {quote(name)} is observed in none of "
            f"{format_count(source.n, 'row')}: leave it out of {name_option('stages')}"
        )
    values = column.numbers
    is_invalid = ~(np.isnan(values) | np.isin(values, (-1.0, 0.0, 1.0)))
    if is_invalid.any():
        row = int(np.flatnonzero(is_invalid)[0])
        raise DataError(
            f"{source.origin}: row {row + 1} of {quote(name)} holds {values[row]:g}, which is not an outcome "
            f"of a stage: {_OUTCOME_HINT}"
        )
    return np.where(np.isnan(values), 0, np.where(values == 1.0, 1, -1)).astype(np.int8)

"""The interface of a target type: everything that the package asks of a target.

Each type is one class in one file of this package, and one line in `symscreen.targets.registry`. The class
says how the target is found and read in a source, how its rows are ordered, and what the statistics need.
Kernels are imported where they are called: ``symscreen --help`` must not load a compiler.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.errors import OptionError
from symscreen.messages import name_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Flags, Values
    from symscreen.data.target_source import TargetSource
    from symscreen.statistics.inference.order_uncertainty import OrderUncertainty
    from symscreen.statistics.ranks.binary_targets import BinaryTargets
    from symscreen.statistics.ranks.sorted_block import SortedBlock

    RowIndices = NDArray[np.intp]
    # inputs of the used rows in the order of their names, and the used rows of the source -> the canonical
    # order of the used rows, and the target in this order
    TargetBuilder = Callable[[Sequence[Values], RowIndices], tuple[RowIndices, "Target"]]


TargetType = str  # a key of `TARGET_TYPES`


class RowFilter(NamedTuple):
    """Rows that a target can use."""

    is_used: Flags
    reason: str  # completes "3 rows of 20 …"
    ignores_missing: bool = False  # whether the other rows may have missing values


@dataclass(frozen=True)
class TargetColumns:
    """A target as it is read from a source, before rows are selected.

    Parameters
    ----------
    required : dict of str to float64 array, each of shape (n,)
        Columns that need a value in every used row; NaN where it is missing.
    build : callable
        Builds the target from the used rows.
    notices : sequence of str
        Lines for `Dataset.notices`.
    row_filter : RowFilter, optional
        Which rows the target can use; all by default.
    """

    required: Mapping[str, Values]
    build: TargetBuilder
    notices: Sequence[str] = ()
    row_filter: RowFilter | None = None


class ColumnScreener(Protocol):
    """What a target needs of a column screener (`symscreen.screeners.Screener`)."""

    @property
    def name(self) -> str:
        """The name in the user interface."""

    @property
    def statistic(self) -> Callable[[SortedBlock, Any], Values]:
        """Maps (features, target) to statistics, shape (m,)."""

    @property
    def score(self) -> Callable[[Values, Any], Values]:
        """Maps (statistics, target) to scores, shape (m,)."""


class Target(ABC):
    """What formulas are scored against. The rows are in canonical order.

    Class attributes
    ----------------
    target_type : str
        The key of the type in `TARGET_TYPES`.
    option : str
        The name of the option that names the target's columns, for messages.
    prefix : str
        The words that precede the target's name in a summary.
    description : str
        The type for messages, with its article.
    refusal : str
        Completes "the screener xi …" where a screener does not support the type. ``{supported}`` is replaced
        by the targets that the screener does support.
    pool_screeners : str
        The default screeners that prune the pool.
    sign_conflict : tuple of (str, str) or None
        None if a feature can rise or fall with the target. Otherwise ``sign="positive"`` is an error: what
        conflicts with it, and why.
    supports_inference : bool
        Whether null distributions, half-samples, races and residual rounds apply: they need one number per
        row.
    accepts_weights : bool
        Whether it is known what row weights mean for the type.
    has_signed_gini : bool
        Whether the Gini correlation is negative for a feature that falls with the target.
    combines_outputs : bool
        Whether screeners score each of several outputs as a numeric target and combine the losses.
    """

    target_type: ClassVar[str]
    option: ClassVar[str] = "target"
    prefix: ClassVar[str] = ""
    description: ClassVar[str]
    refusal: ClassVar[str]
    pool_screeners: ClassVar[str] = "t0"
    sign_conflict: ClassVar[tuple[str, str] | None] = None
    supports_inference: ClassVar[bool] = False
    accepts_weights: ClassVar[bool] = False
    combines_outputs: ClassVar[bool] = False
    has_signed_gini: ClassVar[bool] = True

    # ---- reading

    @classmethod
    @abstractmethod
    def matches(cls, source: TargetSource) -> bool:
        """Return whether the options and columns of a source describe a target of this type."""

    @classmethod
    def list_columns(cls, source: TargetSource) -> tuple[list[str], list[str]]:
        """List the columns of the source that hold the target, and notices; by default one column."""
        return source.choose_column()

    @classmethod
    @abstractmethod
    def read(cls, source: TargetSource) -> TargetColumns:
        """Read the target from a source whose columns and inputs are chosen."""

    @abstractmethod
    def take_rows(self, inputs: Sequence[Values], rows: RowIndices) -> tuple[RowIndices, Target]:
        """Build the target of some of the rows, as `TargetColumns.build` does from rows of the source."""

    @classmethod
    @abstractmethod
    def build_example(cls, z: Values) -> Target:
        """Build a target that an ascending feature determines, shape (n,) with n ≥ 20, to check screeners."""

    @property
    def notices(self) -> list[str]:
        """Lines for `Dataset.notices` that depend on the used rows."""
        return []

    # ---- identity

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the target, for messages and results."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the outputs; one for most types."""
        return (self.name,)

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def data(self) -> NDArray[Any]:
        """The numbers that define the target, in one array."""

    @property
    def digest_metadata(self) -> list[object]:
        """What defines the target besides its name and `data`."""
        return []

    @property
    def record(self) -> dict[str, Any]:
        """The part of a run's record that only this type has; its key is the type."""
        return {}

    # ---- what reports say, from the entry ``data`` of a record

    @classmethod
    def explain_directions(cls, data: Mapping[str, Any]) -> str | None:
        """Explain the column of directions; None if the target has none."""
        del data
        return "dir.: + increases with the target, - decreases."

    @classmethod
    def explain_gini(cls, data: Mapping[str, Any], options: Mapping[str, Any]) -> str:
        """Explain the scale of the Gini correlation 1 − T0/Δ in a phrase."""
        del data, options
        return "1 is the order of the target, -1 the reverse, 0 no relation"

    @classmethod
    def describe_target(cls, data: Mapping[str, Any], options: Mapping[str, Any]) -> list[str]:
        """Describe the target in sentences, if there is more to say than its name."""
        del data, options
        return []

    # ---- what screens need

    @property
    @abstractmethod
    def gini_mean_difference(self) -> float:
        """Δ > 0: T0 lies in [0, 2Δ] and has mean Δ under independence."""

    @abstractmethod
    def compute_alignment(self, ordered: SortedBlock) -> Values:
        """Compute |Pearson's correlation| of m features with the target, which orders equivalent features."""

    def find_directions(self, ordered: SortedBlock, directions: NDArray[np.int8]) -> NDArray[np.int8]:
        """Return +1, −1 or 0 for m features that rise, fall or neither; `directions` are the screener's."""
        del ordered
        return directions

    def compute_extra_columns(
        self,
        scores: Mapping[str, Values],
        blocks: Iterable[SortedBlock],
        screeners: Sequence[ColumnScreener],
    ) -> dict[str, Values]:
        """Compute the columns of a ranking that only this type has, from the scores of k features.

        `blocks` are the features in the order of the ranking, `screeners` the requested column screeners.
        """
        del scores, blocks, screeners
        return {}

    @property
    def n_labels(self) -> int:
        """Number of labels that a row orders; 2 unless the target is a ranking."""
        return 2

    @property
    def is_untied(self) -> bool:
        """Whether one feature can order the rows exactly as the target does."""
        return True

    @property
    def tie_groups(self) -> NDArray[np.int64] | None:
        """Index of the group of rows with equal targets, shape (n,), if only those rows are exchangeable."""
        return None

    def bound_t0(self, uncertainty: OrderUncertainty) -> tuple[float, float]:
        """Return the smallest and largest T0 of a feature of uncertain order; NaN if they are unknown."""
        del uncertainty
        return float("nan"), float("nan")

    @classmethod
    def check_options(cls, sign: str, search: str, rounds: int) -> None:
        """Check that the options of a screen have a meaning for the type.

        Raises
        ------
        OptionError
            If an option has no meaning.
        """
        if sign == "positive" and cls.sign_conflict is not None:
            option, reason = cls.sign_conflict
            raise OptionError(
                f"{name_option('sign', 'positive')} has no meaning with {option}: a feature does not "
                f"rise or fall {reason}; leave it out"
            )
        if cls.supports_inference:
            return
        if search == "race":
            raise OptionError(
                f"{name_option('search', 'race')} has no bound for {cls.description}, only for a numeric "
                f"target: use {name_option('search', 'exact')}"
            )
        if search != "exact":
            raise OptionError(
                f"{name_option('search', search)} drops features by a sample of the rows of a numeric "
                f"target, and {cls.description} is none: use {name_option('search', 'exact')}"
            )
        if rounds > 1:
            raise OptionError(
                f"{name_option('rounds', rounds)} needs a numeric target, because it screens what a "
                f"model leaves; {cls.description} is screened in one round"
            )


class BinaryDecomposedTarget(Target):
    """A target that is a set of binary targets, each over the rows that it observes."""

    has_signed_gini: ClassVar[bool] = False

    @property
    @abstractmethod
    def binary_targets(self) -> BinaryTargets:
        """The informative binary targets."""

    def compute_ranking_metric(self, ordered: SortedBlock) -> Values:
        """Compute Δ − T0 of m features."""
        from symscreen.statistics.ranks.t0 import compute_binary_ranking_metric

        return compute_binary_ranking_metric(ordered, self.binary_targets)

    @lockfree_cached_property
    def gini_mean_difference(self) -> float:
        """Δ, the weighted mean over the binary targets; T0 lies in [0, Δ]."""
        from symscreen.statistics.ranks.t0 import compute_mean_gini_difference

        return compute_mean_gini_difference(self.binary_targets)

    def compute_alignment(self, ordered: SortedBlock) -> Values:
        """Compute the weighted mean of |Pearson's correlation| with the signs."""
        from symscreen.statistics.ranks.correlations import compute_binary_correlations

        return compute_binary_correlations(ordered.values, self.binary_targets)

    def find_directions(self, ordered: SortedBlock, directions: NDArray[np.int8]) -> NDArray[np.int8]:
        """Return the direction on which all binary targets agree, else 0."""
        from symscreen.statistics.ranks.t0 import find_common_direction

        del directions
        return find_common_direction(ordered, self.binary_targets)


def sort_canonically(further_keys: Sequence[Values], first_key: Values) -> RowIndices:
    """Sort rows by a first key, usually the target, and break ties by further keys.

    Parameters
    ----------
    further_keys : sequence of float64 arrays, each of shape (n,)
        Keys that break ties, in order of precedence.
    first_key : float64 array, shape (n,)
        The first key.

    Returns
    -------
    intp array, shape (n,)
        The stable order of the rows.
    """
    order = np.argsort(first_key, kind="stable")
    if (np.diff(first_key[order]) > 0).all():
        return order  # no ties: skip the further keys (up to 100,000)
    return np.lexsort((*reversed(further_keys), first_key))

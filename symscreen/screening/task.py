"""`ScreeningTask`: the data and the options of a screen, with everything that was read from both.

Engines receive a `ScreeningTask`, or one of its parts. They read the value of an option from `task.options`
where they use it. No other object repeats the options.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from symscreen.config.parsing import DEFAULT_MAX_CORRELATION, DEFAULT_PRESCREEN
from symscreen.config.screen_options import ScreenOptions
from symscreen.expressions.input_ranges import build_box
from symscreen.screeners import JointScreener, Screener, select_prescreeners
from symscreen.screening.run_control import DEFAULT_RUN_CONTROL, RunControl
from symscreen.screening.scoring.streaming import compute_chunk_size
from symscreen.units import convert_to_base_units

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Integers
    from symscreen.backends import Backend
    from symscreen.data import Dataset
    from symscreen.data.large_tables.large_table import LargeTable
    from symscreen.data.row_order import RowOrder
    from symscreen.expressions.tree import Expression
    from symscreen.grammar import Grammar, Layer
    from symscreen.results.screen_verdict import Obstacle
    from symscreen.screeners import AnyScreener
    from symscreen.screening.budget import BudgetChoice
    from symscreen.screening.inference.error_control import ErrorControl
    from symscreen.screening.search.modes import SearchMode
    from symscreen.targets import Target
    from symscreen.units import Units

_DEFAULT_RISK = 1e-6  # probability that a race loses any of the best classes
# Distinct features are selected from a longer list of classes. Its length per feature that is wanted lies
# between these two numbers, and depends on the number of rows.
_MIN_WIDENING = 16
_MAX_WIDENING = 128
_EXAMINED_VALUES = 1 << 24  # values of the features of that list; they limit its length between both numbers
MAX_EXAMINED = 1 << 16  # largest number of classes from which distinct features are selected


@dataclass(frozen=True, eq=False)
class RowGroups:
    """Rows that belong together: the column of labels, and the group of each row, from 0, shape (n,)."""

    column: str
    group_ids: NDArray[np.int64]

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.group_ids.max(initial=-1)) + 1


@dataclass(frozen=True, eq=False, kw_only=True)
class ScreeningTask:
    """All that a screen needs.

    Parameters
    ----------
    dataset : Dataset
        The data, with notices.
    grammar : Grammar
        Operators and rules.
    layers : tuple of Layer
        The layers that are applied.
    backend : Backend
        Where the work runs.
    screeners : tuple of Screener or JointScreener
        The screeners; the first one ranks. Empty in a fit.
    options : ScreenOptions
        The options as the user gave them, checked.
    formulas : sequence of Expression
        Formulas that the user adds to the space.
    units : Units or None
        Units of the columns. If given, every formula must have a unit.
    pool_screeners : tuple of Screener or JointScreener
        The screeners that prune the pool between layers; empty for no pruning.
    max_bytes : int or None
        Memory limit in bytes.
    run_control : RunControl
        Progress, deadlines and checkpoint.
    error_control : ErrorControl or None
        p-values and permutations; None for neither.
    p_value_obstacle : Obstacle or None
        Why there are no p-values; None if they are computed.
    large_table : LargeTable or None
        The table on disk from which the rows of the dataset were sampled; None if the dataset has all rows.
    sampling_limit : int or None
        A memory limit in bytes with which the dataset would be a sample; None if it is one or cannot be.
    row_groups : RowGroups or None
        Rows that belong together; None if rows are independent.
    row_order : RowOrder or None
        The order of the rows of the source in time; None if they have none.
    budget_choice : BudgetChoice or None
        What the budget of the screen required; None if it required nothing.
    test_dataset : Dataset or None
        The rows that test the formulas shown; the dataset does not have them. None without one split.
    box : mapping of str to sequence of two floats
        The range of each input in which formulas must be safe, in the units of the data
        (`symscreen.expressions.input_ranges.build_box`).
    record : mapping
        The options for the record, with what was read from them.
    """

    dataset: Dataset
    grammar: Grammar
    layers: tuple[Layer, ...]
    backend: Backend
    screeners: tuple[AnyScreener, ...] = ()
    options: ScreenOptions = field(default_factory=ScreenOptions)
    formulas: Sequence[Expression] = ()
    units: Units | None = None
    pool_screeners: tuple[AnyScreener, ...] = ()
    max_bytes: int | None = None
    run_control: RunControl = DEFAULT_RUN_CONTROL
    error_control: ErrorControl | None = None
    p_value_obstacle: Obstacle | None = None
    large_table: LargeTable | None = None
    sampling_limit: int | None = None
    row_groups: RowGroups | None = None
    row_order: RowOrder | None = None
    budget_choice: BudgetChoice | None = None
    test_dataset: Dataset | None = None
    box: Mapping[str, Sequence[float]] = field(default_factory=dict)
    record: Mapping[str, Any] = field(default_factory=dict)

    def change_options(self, **changes: Any) -> Self:
        """Return the task with other values of some options."""
        return replace(self, options=replace(self.options, **changes))

    @property
    def runs(self) -> tuple[Integers, ...] | None:
        """The rows of the dataset in each run, in the order of time; None if rows have no order."""
        return None if self.row_order is None else self.row_order.take(self.dataset.source_rows).runs

    @property
    def input_box(self) -> Mapping[str, Sequence[float]]:
        """The box in the units of the data; that of the rows where none is given."""
        return self.box or build_box(self.dataset.columns_by_name, {})

    @property
    def base_box(self) -> dict[str, tuple[float, float]]:
        """The box in base units, in which formulas are computed."""
        ends = {name: np.array(each, dtype=np.float64) for name, each in self.input_box.items()}
        converted = convert_to_base_units(ends, None if self.units is None else self.units.record)
        return {name: (float(low), float(high)) for name, (low, high) in converted.items()}

    @property
    def target(self) -> Target:
        """The target of the dataset."""
        return self.dataset.target

    @property
    def full_target(self) -> Target:
        """The target of all rows of the table, also where the dataset is a sample of them."""
        return self.dataset.target if self.large_table is None else self.large_table.target

    @property
    def search(self) -> SearchMode:
        """The search mode."""
        return self.options.search or "exact"

    @property
    def limit(self) -> int | None:
        """Number of distinct features to report; None for all features, unmerged."""
        return self.options.top if isinstance(self.options.top, int) else None

    @property
    def max_correlation(self) -> float:
        """The rank correlation above which a feature is a near-duplicate of a better one; 1 for no limit.

        By default near-duplicates stay where the list is compared with others (rounds, stability, splits),
        where it has every feature, and where a joint screener ranks, which selects among them itself.
        """
        options = self.options
        if options.max_correlation is not None:
            return options.max_correlation
        is_repeated = options.stability is not None or options.splits is not None
        is_compared = options.rounds > 1 or is_repeated or self.limit is None
        ranks_jointly = not self.screeners or isinstance(self.screeners[0], JointScreener)
        return 1.0 if is_compared or ranks_jointly else DEFAULT_MAX_CORRELATION

    @property
    def is_selective(self) -> bool:
        """Whether features are left out of the ranking and the next best take their places."""
        return self.limit is not None and (self.max_correlation < 1.0 or self.options.unsafe == "drop")

    @property
    def n_examined(self) -> int | None:
        """Number of classes from which the features are first selected; None for all features.

        It does not depend on the memory or the number of threads. A longer list is made if it is too short.
        """
        if self.limit is None or not self.is_selective:
            return self.limit
        n_fitting = _EXAMINED_VALUES // max(1, self.target.n)
        widened = max(_MIN_WIDENING * self.limit, min(_MAX_WIDENING * self.limit, n_fitting))
        return min(widened, max(MAX_EXAMINED, self.limit))

    @property
    def prescreen(self) -> int:
        """Number of features on the shortlists of joint screeners."""
        return DEFAULT_PRESCREEN if self.options.prescreen is None else self.options.prescreen

    @property
    def chunk_size(self) -> int:
        """Number of candidates per task of the backend."""
        return self.options.chunk_size or compute_chunk_size(self.target.n)

    @property
    def risk(self) -> float:
        """The probability at which a race may lose any of the best classes."""
        return _DEFAULT_RISK if self.options.risk is None else self.options.risk

    @property
    def column_screeners(self) -> tuple[Screener, ...]:
        """The requested column screeners; the prescreeners if there are none."""
        requested = tuple(screener for screener in self.screeners if isinstance(screener, Screener))
        return requested or self.prescreeners

    @property
    def prescreeners(self) -> tuple[Screener, ...]:
        """The column screeners that choose the shortlists."""
        return select_prescreeners(self.screeners, self.target.target_type)

    @property
    def joint_screeners(self) -> tuple[JointScreener, ...]:
        """The requested joint screeners."""
        return tuple(screener for screener in self.screeners if isinstance(screener, JointScreener))

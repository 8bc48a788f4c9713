"""The budget of a screen: choose a faster search and pruning where exact scoring would take too long.

The cost of exact scoring is the number of formulas times the number of rows. Fewer than 64 rows count as 64,
because a formula has a cost of its own. Where the cost exceeds the option `budget`, a fixed rule chooses. It
depends on the data's shape and the options alone, never on a clock, the memory or the number of threads:

1. A table of many rows is sieved: a formula is then evaluated on few rows, however many there are.
2. Where even this exceeds the budget, because there are too many formulas, the pool is pruned: the best K
   inputs and the best K features of each layer stay. K is the largest number, to two digits, that fits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from symscreen.config.conflicts import check_conflicts
from symscreen.errors import OptionError
from symscreen.expansion import (
    CandidateStatus,
    bound_space_size,
    build_pruned_size_model,
    estimate_space_size,
)
from symscreen.results.budget_note import count_cost_rows
from symscreen.screening.inference.error_control import parse_error_control
from symscreen.screening.scoring.score_space import make_search_goals
from symscreen.screening.search.modes import compute_min_survivors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from symscreen.expansion import SpaceSizeEstimate
    from symscreen.screening.search.modes import SearchMode
    from symscreen.screening.task import ScreeningTask


# Time of a formula in all rounds on pairs of rows, and in all rounds on samples of rows. It is given as the
# number of rows whose exact scoring takes as long.
_PAIR_ROUND_ROWS = 64
_ROW_ROUND_ROWS = 512
_MIN_SIEVE_FACTOR = 4  # a sieve must save at least this factor in each formula, and in their number
_MIN_POOL_SIZE = 20  # smallest number of features that are kept; the budget does not change it
_MAX_POOL_SIZE = 1 << 40


@dataclass(frozen=True, eq=False)
class BudgetChoice:
    """What a screen does because exact scoring would exceed its budget.

    Parameters
    ----------
    budget : int
        The budget: formulas times rows.
    size : SpaceSizeEstimate
        Size of the space that exact scoring would take.
    n_rows : int
        Number of rows of the table.
    search : {"exact", "sieve"} or None
        The search; None if no option allows to save anything.
    pool_sizes : mapping of str to int, or None
        The numbers of features that stay in the pool, by kind of layer; None if it is not pruned.
    """

    budget: int
    size: SpaceSizeEstimate
    n_rows: int
    search: SearchMode | None
    pool_sizes: Mapping[str, int] | None

    @property
    def record(self) -> dict[str, Any]:
        """The record: the limit, what exact scoring would take, and the options chosen."""
        return {
            "limit": self.budget,
            "formulas": self.size.n_features,
            "is_counted": self.size.n_exact == len(self.size.layer_counts),
            "rows": self.n_rows,
            "search": self.search,
            "pool_size": None if self.pool_sizes is None else dict(self.pool_sizes),
        }


def choose_search(task: ScreeningTask) -> BudgetChoice | None:
    """Choose a search and a pruning by the fixed rule of this module.

    Parameters
    ----------
    task : ScreeningTask
        The screen as the user described it.

    Returns
    -------
    BudgetChoice or None
        None if exact scoring is within the budget, or if the user named a search or no budget.
    """
    budget, n_rows = task.options.budget, task.target.n
    cost_rows = count_cost_rows(n_rows)
    if not isinstance(budget, int) or task.options.search is not None:
        return None
    size = _estimate_costly_size(task, budget)
    if size is None:
        return None
    if task.limit is None:  # every feature is shown, so every feature is scored
        return BudgetChoice(budget, size, n_rows, None, None)
    is_prunable = not task.pool_screeners and _allows(task, pool_size=_MIN_POOL_SIZE)
    sieve_rows = _find_sieve_rows(task)
    cost_per_formula = cost_rows if sieve_rows is None else sieve_rows
    pool_sizes: dict[str, int] = {}
    n_formulas = size.n_features
    if is_prunable and n_formulas * cost_per_formula > budget:
        pool_sizes, n_formulas = _find_pool_sizes(task, budget, cost_per_formula)
    search: SearchMode | None = "exact" if pool_sizes else None
    if sieve_rows is not None and n_formulas * cost_rows > budget and _is_sieve_useful(task, n_formulas):
        search = "sieve"
    return BudgetChoice(budget, size, n_rows, search, pool_sizes or None)


def _estimate_costly_size(task: ScreeningTask, budget: int) -> SpaceSizeEstimate | None:
    """Estimate the size of the space; None if exact scoring is within the budget."""
    space = (task.dataset.names, task.grammar, task.layers, task.options.pool)
    bound = bound_space_size(*space, options=task.options, units=task.units)
    if bound * count_cost_rows(task.target.n) <= budget:  # the usual case, which costs no counting
        return None
    size = estimate_space_size(
        *space, options=task.options, map_function=task.backend.map, units=task.units, also=task.formulas
    )
    return size if size.n_features * count_cost_rows(task.target.n) > budget else None


def _find_sieve_rows(task: ScreeningTask) -> int | None:
    """Return the cost of a formula in the rounds of a sieve, in rows; None if no sieve is useful."""
    if not _allows(task, search="sieve"):
        return None
    is_pairwise = all(screener.is_pairwise for screener in task.prescreeners)
    n_equivalent = _PAIR_ROUND_ROWS if is_pairwise else _ROW_ROUND_ROWS
    return n_equivalent if task.target.n >= _MIN_SIEVE_FACTOR * n_equivalent else None


def _is_sieve_useful(task: ScreeningTask, n_formulas: int) -> bool:
    """Return whether a sieve drops most formulas: it keeps a minimum for each screener."""
    n_kept = sum(compute_min_survivors(goal, task.target.n) for goal in make_search_goals(task))
    return n_formulas >= _MIN_SIEVE_FACTOR * n_kept


def _find_pool_sizes(task: ScreeningTask, budget: int, cost_per_formula: int) -> tuple[dict[str, int], int]:
    """Find the largest pool sizes that fit the budget; return them and the number of formulas."""
    model = build_pruned_size_model(
        task.dataset.names,
        task.grammar,
        task.layers,
        task.options.pool,
        options=task.options,
        map_function=task.backend.map,
        units=task.units,
    )
    kinds = ["inputs", *dict.fromkeys(layer.kind for layer in task.layers[:-1])]

    def compute_cost(pool_size: int) -> int:
        counts = model.estimate(dict.fromkeys(kinds, pool_size)).layer_counts
        # the features of earlier layers are scored over all rows before they are pruned
        n_before = sum(
            count.n_features + count.n_excluded.get(CandidateStatus.PRUNED, 0) for count in counts[:-1]
        )
        return n_before * count_cost_rows(task.target.n) + counts[-1].n_features * cost_per_formula

    pool_size = _round_down(_find_largest(lambda size: compute_cost(size) <= budget))
    if pool_size >= len(task.dataset.names):
        kinds.remove("inputs")
    pool_sizes = dict.fromkeys(kinds, pool_size)
    return pool_sizes, model.estimate(pool_sizes).n_features


def _find_largest(fits: Callable[[int], bool]) -> int:
    """Find the largest pool size that fits; `fits` is true up to some number."""
    low, high = _MIN_POOL_SIZE, 2 * _MIN_POOL_SIZE
    while high < _MAX_POOL_SIZE and fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _round_down(number: int) -> int:
    """Round down to two digits.

    Examples
    --------
    >>> _round_down(967), _round_down(1234), _round_down(20)
    (960, 1200, 20)
    """
    unit = int(10 ** max(0, len(str(number)) - 2))
    return number // unit * unit


def _allows(task: ScreeningTask, **changes: Any) -> bool:
    """Return whether the other options of a screen allow a search, or a pruning."""
    options = replace(task.options, **changes)
    try:
        check_conflicts(options)
        task.target.check_options(options.sign, options.search or "exact", options.rounds)
        parse_error_control(
            options,
            ranking_screener=task.screeners[0],
            target_type=task.target.target_type,
            has_pruning=options.pool_size is not None,
        )
    except OptionError:
        return False
    return True

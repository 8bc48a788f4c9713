"""Describe in a sentence or two what a screen did because of its budget, from its record."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from symscreen.messages import Message, name_option

if TYPE_CHECKING:
    from collections.abc import Mapping


# Exact scoring of a formula takes this many seconds of two cores, times n log₂ n: measured for 100 to 200,000
# rows on a machine of 2026 (``benchmarks/run.py big_and_wide``), with a margin.
_SECONDS_PER_STEP = 2e-9
_MIN_COST_ROWS = 64  # fewer rows cost as much, because a formula has a cost of its own
_MIN_MINUTES, _MIN_HOURS, _MIN_DAYS = 60, 5400, 172_800  # seconds from which a time is written in these units


def count_cost_rows(n_rows: int) -> int:
    """Return the number of rows that a formula of a table of `n_rows` rows costs.

    Examples
    --------
    >>> count_cost_rows(6), count_cost_rows(1_000)
    (64, 1000)
    """
    return max(n_rows, _MIN_COST_ROWS)


def format_budget_note(record: Mapping[str, Any]) -> Message:
    """Say what exact scoring would take, and what the screen did instead.

    Parameters
    ----------
    record : mapping
        The record of a screen, or of a plan: at least its part ``budget``.

    Returns
    -------
    Message
        Empty if exact scoring was within the budget.

    Examples
    --------
    >>> choice = {"limit": 10**9, "formulas": 38360, "is_counted": True, "rows": 200_000}
    >>> print(format_budget_note({"budget": choice | {"search": "sieve", "pool_size": None}}))
    Exact scoring would take 38,360 formulas × 200,000 rows = 7.7e9, about 5 min of two cores, and the budget
    is 1e9. Instead a sieve drops most formulas on samples of the rows; search='exact' scores all.
    """
    choice = record.get("budget")
    if choice is None:
        return Message("")
    cost_rows = count_cost_rows(choice["rows"])
    cells = choice["formulas"] * cost_rows
    few_rows = "" if cost_rows == choice["rows"] else f" (fewer than {cost_rows} cost as much)"
    formulas = (
        f"{choice['formulas']:,}"
        if choice["is_counted"]
        else f"about {format_rounded_count(choice['formulas'])}"
    )
    cost = (
        f"{formulas} formulas × {cost_rows:,} rows{few_rows} = {format_rounded_count(cells)}, about "
        f"{format_duration(_estimate_seconds(cells, cost_rows))} of two cores"
    )
    limit = format_rounded_count(choice["limit"])
    if choice["search"] is None:
        return Message(
            f"Exact scoring takes {cost}. The budget is {limit}, but the other options need every formula."
        )
    deeds = []
    if choice["pool_size"] is not None:
        deeds.append(_describe_pruning(choice["pool_size"]))
    if choice["search"] == "sieve":
        deeds.append("a sieve drops most formulas on samples of the rows")
    return Message(
        f"Exact scoring would take {cost}, and the budget is {limit}. Instead {' and '.join(deeds)}; "
        f"{name_option('search', 'exact')} scores all."
    )


def _describe_pruning(pool_size: Mapping[str, int]) -> str:
    """Describe what stays in the pool."""
    number = f"{max(pool_size.values()):,}"
    layers = "after each layer but the last"
    if "inputs" not in pool_size:
        return f"only the best {number} features are kept {layers}"
    if len(pool_size) == 1:
        return f"only the best {number} inputs are used"
    return f"only the best {number} inputs are used and the best {number} features are kept {layers}"


def _estimate_seconds(cells: int, n_rows: int) -> float:
    """Estimate the seconds that two cores take for a number of formulas × rows."""
    return _SECONDS_PER_STEP * cells * max(1.0, math.log2(n_rows))


def format_rounded_count(number: int) -> str:
    """Format a large number to two digits.

    Examples
    --------
    >>> format_rounded_count(7_672_000_000), format_rounded_count(10**9), format_rounded_count(5000)
    ('7.7e9', '1e9', '5,000')
    """
    if number < 10**6:
        return f"{number:,}"
    mantissa, exponent = f"{number:.1e}".split("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent)}"


def format_duration(seconds: float) -> str:
    """Format a time to one or two digits.

    Examples
    --------
    >>> format_duration(0.2), format_duration(270), format_duration(86_400)
    ('1 s', '4 min', '24 h')
    """
    if seconds < _MIN_MINUTES:
        return f"{max(1, round(seconds))} s"
    if seconds < _MIN_HOURS:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:,.0f} h" if seconds < _MIN_DAYS else f"{seconds / 86_400:,.0f} days"

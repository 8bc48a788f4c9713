"""Search laws with one or two formulas of a deep pool, which has far more formulas on fewer rows.

Matched pairs cost as much as a sort of the pool, so they can be searched in a pool of 10⁷ formulas. To fit
into memory, it has the values of few rows only; laws are fitted on all rows. The deep pool adds to the other
searches and replaces none: few rows of noisy data say less.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from symscreen._limits import check_memory
from symscreen.fitting.laws.matched_pairs import find_matched_pairs
from symscreen.messages import name_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from symscreen.fitting.laws.law import Law, LawData


_N_ROWS = 48  # number of rows of the deep pool: those on which values are compared, so none is stored twice
_N_RANKED_FORMULAS = 200_000  # number of simplest formulas whose pairs are ranked if no law is exact
_BYTES_PER_FORMULA = 1_000  # memory of a formula in the pool and in the searches
# memory of the exponents of up to eleven base units, twice while they are joined
_UNIT_BYTES_PER_FORMULA = 200
_OTHER_BYTES = 300_000_000  # memory of the blocks of candidates


def find_laws_of_deep_pool(
    data: LawData, n_formulas: int, should_stop: Callable[[], bool] | None = None
) -> list[Law]:
    """Find sums and products of one or two formulas of a deep pool.

    Parameters
    ----------
    data : LawData
        Inputs, target and grammar.
    n_formulas : int
        Maximum number of formulas.
    should_stop : callable, optional
        Returns whether the search must end. While the pool grows, it then finds nothing; later, it does not
        rank pairs.

    Returns
    -------
    list of Law
        As those of `find_matched_pairs`, without third terms of sums; none if there are more inputs than half
        of the rows of the pool.

    Examples
    --------
    >>> import numpy as np
    >>> from symscreen.fitting.laws.law import LawData
    >>> from symscreen.grammar import load_grammar
    >>> rng = np.random.default_rng(0)
    >>> columns = dict(zip("uv", rng.uniform(1, 5, (2, 200))))
    >>> u, v = columns.values()
    >>> data = LawData(columns, 2 + np.exp(u - v) - 5 * np.sqrt(u + v), load_grammar("basic"), pool_limit=100)
    >>> sorted(str(term) for term in find_laws_of_deep_pool(data, 20_000)[-1].terms)
    ['exp(u - v)', 'sqrt(u + v)']
    """
    deep = replace(
        data,
        pool_limit=n_formulas,
        max_pool_rows=_N_ROWS,
        n_third_terms=0,
        max_ranked_formulas=_N_RANKED_FORMULAS,
        should_stop=should_stop,
    )
    if 2 * len(data.columns) > _N_ROWS:
        return []
    is_stopped = len(deep.pool) < n_formulas and deep.is_over
    return [] if is_stopped else find_matched_pairs(deep)


def estimate_deep_bytes(n_formulas: int, *, has_units: bool = False) -> int:
    """Estimate the memory of the search with a deep pool, in bytes."""
    unit_bytes = _UNIT_BYTES_PER_FORMULA if has_units else 0
    return n_formulas * (_BYTES_PER_FORMULA + unit_bytes) + _OTHER_BYTES


def check_deep_memory(n_formulas: int, max_bytes: int | None, *, has_units: bool = False) -> None:
    """Raise an error if a deep pool would exceed the memory limit.

    Parameters
    ----------
    n_formulas : int
        Maximum number of formulas.
    max_bytes : int or None
        The most that the process may hold; None for no limit.
    has_units : bool
        Whether the inputs have units, which the pool stores for each formula.

    Raises
    ------
    MemoryLimitError
        If the deep pool would exceed it.
    """
    check_memory(
        estimate_deep_bytes(n_formulas, has_units=has_units),
        max_bytes,
        f"a pool of {n_formulas:,} formulas",
        [f"use {name_option('effort', 'default')}"],
    )

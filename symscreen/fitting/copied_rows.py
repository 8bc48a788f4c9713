"""Find rows that are copies of other rows, which a criterion would count as independent observations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.fitting.coefficients import get_targets
from symscreen.messages import Message, name_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen._typing import Values
    from symscreen.data import Dataset


_MIN_SHARE = 0.01  # smallest share of copied rows that counts
_MIN_RATIO = 100.0  # smallest ratio of the pairs of equal rows to those that chance gives
_MIN_PAIRS = 3.0  # number of pairs of equal rows that must exceed this multiple


def count_copied_rows(columns: Sequence[Values]) -> int:
    """Count the rows that equal an earlier row, if chance does not explain them; 0 otherwise.

    Parameters
    ----------
    columns : sequence of float64 array, shape (n,)
        The inputs and the target.

    Returns
    -------
    int
        0 also if these are fewer than one row in a hundred.

    Notes
    -----
    If columns are independent, two rows are equal with probability Π_c q_c, where q_c is the probability that
    two different rows are equal in column c. Rows of integers, or of levels of a design, may be equal by
    chance.

    Examples
    --------
    >>> x, y = np.random.default_rng(0).normal(size=(2, 50))
    >>> count_copied_rows([np.tile(x, 2), np.tile(y, 2)])
    50
    >>> count_copied_rows([x, y]), count_copied_rows([np.repeat([0.0, 1.0], 25), np.tile([1.0, 2.0], 25)])
    (0, 0)
    """
    n = len(columns[0])
    different, counts = np.unique(np.column_stack(columns), axis=0, return_counts=True)
    n_copies = n - len(counts)
    if n_copies < _MIN_SHARE * n:
        return 0
    n_pairs = float((counts * (counts - 1.0)).sum()) / 2.0
    m, chance = len(different), n * (n - 1.0) / 2.0
    for values in different.T:
        numbers = np.unique(values, return_counts=True)[1]
        chance *= float((numbers * (numbers - 1.0)).sum()) / max(m * (m - 1.0), 1.0)
    return n_copies if n_pairs > _MIN_RATIO * chance + _MIN_PAIRS else 0


def format_copy_notice(dataset: Dataset) -> list[Message]:
    """Say how many rows are copies of others; empty if there are none."""
    n_copies = count_copied_rows([*dataset.columns, *get_targets(dataset).values()])
    if not n_copies:
        return []
    rows = "1 row equals an earlier row" if n_copies == 1 else f"{n_copies:,} rows equal an earlier row"
    return [
        Message(
            f"{rows} in all inputs and the target: copies are counted as independent rows, so the formula "
            f"may be too complex and the intervals too narrow; remove the copies, or give them less weight "
            f"({name_option('weights')})"
        )
    ]

"""Choose the inputs of a table that laws are searched among.

The searches for laws try products, sums and curves of all inputs. With many inputs they take long. Their
pools have a limited number of formulas, so they then lack larger formulas of the few inputs of a law.

Where a table has more than nine inputs, the rounds of `symscreen.screening.input_screening` choose some. Each
round adds the input whose best formula explains most of what is left, and pairs are tried where no input
explains anything. All inputs that are better than chance are chosen, up to 15. If they are fewer than nine,
the next best follow. The inputs are chosen by the target, so a law of such a table counts as one of more.
"""

from __future__ import annotations

from dataclasses import replace
from math import lgamma
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.traversal import collect_inputs
from symscreen.screening.input_screening.column_functions import build_polynomials
from symscreen.screening.input_screening.forward_search import choose_best_inputs
from symscreen.screening.input_screening.input_table import (
    build_input_table,
    draw_permutations,
    list_unary_operators,
    scale_target,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.backends import Backend
    from symscreen.fitting.laws.law import Law, LawData


_N_CHOSEN, _MAX_CHOSEN = 9, 15
_MAX_COMPARED_INPUTS = 1_000  # inputs of the rounds; of more, those with the best polynomials
_MAX_ROWS = 1_000
_N_PERMUTATIONS = 39
_EXPECTED_FALSE = 0.5  # expected number of inputs that do not matter and look better than chance
_SEED = 0
_BLOCK_VALUES = 1 << 22  # values of the columns whose polynomials are computed together


def choose_law_inputs(data: LawData, backend: Backend) -> LawData:
    """Return the data with the inputs that explain most of the target.

    Parameters
    ----------
    data : LawData
        Inputs, target and grammar.
    backend : Backend
        Where the work runs.

    Returns
    -------
    LawData
        The data itself if it has at most nine inputs. Required inputs are always kept.

    Examples
    --------
    >>> from symscreen.backends import make_backend
    >>> from symscreen.fitting.laws.law import build_law_data
    >>> from symscreen.grammar import load_grammar
    >>> rng = np.random.default_rng(0)
    >>> columns = {f"x{number:02}": rng.uniform(1, 5, 200) for number in range(40)}
    >>> data = build_law_data(columns, columns["x07"] * columns["x30"], load_grammar("basic"))
    >>> chosen = choose_law_inputs(data, make_backend("threads", 1))
    >>> len(chosen.columns), {"x07", "x30"} <= set(chosen.columns)
    (9, True)
    """
    names = tuple(data.columns)
    if len(names) <= _N_CHOSEN:
        return data
    from threadpoolctl import threadpool_limits

    rows = data.select_rows(_MAX_ROWS)
    columns = np.stack([values[rows] for values in data.columns.values()])
    target = data.target[rows]
    with threadpool_limits(1, user_api="blas"):  # or rounding would depend on the number of threads
        compared = _select_compared(columns, target)
        table = build_input_table(
            columns[compared],
            [names[index] for index in compared.tolist()],
            target,
            list_unary_operators(data.grammar),
            draw_permutations(len(rows), _N_PERMUTATIONS, np.random.default_rng(_SEED)),
            backend,
        )
        chosen = choose_best_inputs(table, _N_CHOSEN, _MAX_CHOSEN, _EXPECTED_FALSE / len(names))
    best = [names[index] for index in compared[chosen].tolist()]
    required = set[str]() if data.required_inputs is None else set().union(*data.required_inputs.columns)
    columns_kept = {name: data.columns[name] for name in sorted({*required, *best})}
    return replace(data, columns=columns_kept, all_columns=data.columns)


def _select_compared(columns: Values, target: Values) -> NDArray[np.int64]:
    """Select the columns, shape (d, n), whose polynomials are best correlated with the target; ascending."""
    d, n = columns.shape
    if d <= _MAX_COMPARED_INPUTS:
        return np.arange(d)
    targets = np.stack(scale_target(target))
    step = max(1, _BLOCK_VALUES // n)
    scores = np.empty(d)
    for start in range(0, d, step):
        polynomials = build_polynomials(columns[start : start + step])
        scores[start : start + step] = np.abs(polynomials @ targets.T).max(axis=(1, 2))
    return np.sort(np.argsort(-scores, kind="stable")[:_MAX_COMPARED_INPUTS])


def count_all_inputs(law: Law, data: LawData) -> Law:
    """Count the laws of all inputs in the search size of a law, not only those of the chosen ones.

    A law of m inputs might have had any m of all inputs, so its search size is multiplied by the ratio of
    the numbers of these sets.
    """
    n_chosen, n_all = len(data.columns), len(data.every_column)
    n_used = len([name for name in collect_inputs(law.terms) if name in data.columns])
    growth = np.exp(_count_log_sets(n_all, n_used) - _count_log_sets(n_chosen, n_used))
    return replace(law, search_size=law.search_size * float(growth))


def _count_log_sets(n: int, k: int) -> float:
    """Return the logarithm of the number of sets of k out of n."""
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)

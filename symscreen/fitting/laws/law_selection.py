"""Shared parts of searches for laws: the rows that they use, and the choice among the laws they find."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.traversal import compute_complexity, rebuild_expression
from symscreen.expressions.tree import Constant
from symscreen.statistics.spread_places import select_spread_places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen.fitting.laws.law import Law, LawData
    from symscreen.grammar import Grammar


FITTED_EXACT_SHARE = 1e-18
"""RSS/TSS up to which a law is exact while constants are still fitted; the final fit leaves less."""

FORM_SHARE_DIGITS = 6
"""Significant digits of RSS/TSS: laws with equal shares are forms of one law."""

PLAIN_OPERATORS = frozenset({"square", "cube", "pow", "inv", "mul", "div", "add"})
"""Operators of products and sums, which need only ``mul``, ``div`` and ``add`` in the grammar."""

_MAX_LAWS = 60
_FORMS_PER_FIT = 4  # laws with equal shares and equally many constants


def list_operator_names(grammar: Grammar) -> frozenset[str]:
    """Return the names of the operators of a grammar."""
    return frozenset(operator.name for operator in (*grammar.unary, *grammar.binary))


def select_spread_rows(data: LawData, limit: int) -> NDArray[np.int64]:
    """Return at most `limit` rows that are spread evenly over the sorted targets.

    Rows of equal targets are sorted by the inputs in `LawData.columns`. `LawData.select_rows` sorts nothing.
    So it gives other rows if the target is not sorted, or if only some inputs of the table are searched.
    """
    order = np.lexsort((*data.columns.values(), data.target))
    return np.asarray(order[select_spread_places(len(order), limit)])


def round_share(share: float) -> float:
    """Round a share RSS/TSS to the digits that are compared; shares that are rounding are 0."""
    return 0.0 if share < FITTED_EXACT_SHARE else float(f"{share:.{FORM_SHARE_DIGITS}g}")


def select_laws(found: Sequence[tuple[float, Law]], n_sizes: int) -> list[Law]:
    """Return the best laws in the order of their shares, the simplest first among equal ones.

    Parameters
    ----------
    found : sequence of (float, Law)
        Rounded shares RSS/TSS, and laws.
    n_sizes : int
        Number of sizes. For each number of constants, at most 60/`n_sizes` laws are kept. So simple laws stay
        in the list although those with more constants always fit better.

    Returns
    -------
    list of Law
        At most 60 laws. If laws differ in fitted constants only, the best one is kept. If laws have equal
        shares, the four simplest are kept.
    """
    ordered = sorted(
        found, key=lambda pair: (pair[0], compute_law_complexity(pair[1]), format_shape(pair[1]))
    )
    counts: dict[int, int] = {}
    n_forms: dict[tuple[float, int], int] = {}
    known: set[str] = set()
    kept = []
    for share, law in ordered:
        shape, size = format_shape(law), len(law.terms) + law.n_constants
        is_full = (
            counts.get(size, 0) >= _MAX_LAWS // n_sizes or n_forms.get((share, size), 0) >= _FORMS_PER_FIT
        )
        if shape in known or is_full:
            continue
        n_forms[share, size] = n_forms.get((share, size), 0) + 1
        known.add(shape)
        counts[size] = counts.get(size, 0) + 1
        kept.append(law)
    return kept[:_MAX_LAWS]


def compute_law_complexity(law: Law) -> int:
    """Return the complexity of all terms together."""
    return sum(map(compute_complexity, law.terms))


def format_shape(law: Law) -> str:
    """Return a text that is equal for laws that differ in fitted constants only."""
    shapes = [
        str(rebuild_expression(term, number=lambda number: Constant(0.5) if number.fitted else number))
        for term in law.terms
    ]
    return " + ".join(sorted(shapes)) + (" + c" if law.has_intercept else "")

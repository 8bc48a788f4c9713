"""Forward selection of terms on inner products, without an intercept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.linear_models.gram import GramMatrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen._typing import Values


_MAX_PASSES = 6  # over all terms of a subset that are exchanged
_MIN_PIVOT = 1e-9  # share of a term that the others must leave


def build_gram(rows: Values, target: Values) -> GramMatrix:
    """Build the inner products of rows, shape (q, n), and a target, scaled to norm 1 and not centred."""
    columns = rows / np.linalg.norm(rows, axis=1)[:, None]
    unit_target = (target / np.linalg.norm(target))[None, :]
    return GramMatrix(columns, unit_target, columns @ columns.T, unit_target @ columns.T)


def find_best_pair(gram: GramMatrix) -> tuple[int, int]:
    """Return the pair of terms that explains most, from the closed form of R²."""
    c, g = gram.target_products[0], gram.products
    determinant = 1.0 - g * g
    gains = c[:, None] ** 2 + c**2 - 2.0 * g * np.outer(c, c)
    with np.errstate(all="ignore"):
        shares = np.where(determinant > _MIN_PIVOT, gains / determinant, -np.inf)
    np.fill_diagonal(shares, -np.inf)
    first, second = np.unravel_index(int(np.argmax(shares)), shares.shape)
    return int(first), int(second)


def select_forward(gram: GramMatrix, start: Sequence[int], n_terms: int) -> list[int]:
    """Add the most useful term again and again to a start."""
    c = gram.target_products[0].copy()
    pivots = np.diagonal(gram.products).copy()  # share of each term that the members leave
    factors: list[Values] = []  # rows of the Cholesky factor of the members
    members: list[int] = []
    for step in range(min(n_terms, len(c))):
        with np.errstate(all="ignore"):
            gains = np.where(pivots > _MIN_PIVOT, c**2 / pivots, 0.0)
        k = start[step] if step < len(start) else int(np.argmax(gains))
        if gains[k] <= 0.0:
            break
        row = gram.products[k].copy()
        for factor in factors:
            row -= factor[k] * factor
        row /= np.sqrt(pivots[k])
        c -= row * row[k] * c[k] / pivots[k]
        pivots -= row**2
        pivots[k] = 0.0
        factors.append(row)
        members.append(k)
    return members


def exchange_terms(gram: GramMatrix, members: Sequence[int]) -> list[int]:
    """Replace one term of a subset after another by the most useful term, until none changes.

    Forward selection may begin with a term that only resembles two others. The explained share never falls.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b, c = rng.normal(size=(3, 50))
    >>> gram = build_gram(np.array([a, b, c, a + b]), a - 0.9 * c)
    >>> sorted(exchange_terms(gram, [2, 3]))
    [0, 2]
    """
    chosen = list(members)
    for _ in range(_MAX_PASSES):
        before = set(chosen)
        for member in tuple(chosen):
            rest = [other for other in chosen if other != member]
            changed = select_forward(gram, rest, len(chosen))
            if len(changed) == len(chosen):
                chosen = changed
        if set(chosen) == before:
            break
    return chosen

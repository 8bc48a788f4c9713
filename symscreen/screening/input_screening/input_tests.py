"""The test of one round: the best formulas of each input against the best of permuted copies of all inputs.

A formula of input j is f(x_j), or f(x_j)·h with h a function of the inputs selected before. Its statistic is
the correlation of f(x_j) with r·h, where r is what the model of the selected inputs leaves of the target.
Permuting the rows of r·h is the same as permuting the rows of all other inputs together. So the copies cost
one matrix product. Each kind of formulas is measured in standard deviations of its best copy, and the largest
of these distances counts. The copies of all inputs together give the p-value of one input. The best copy of
each permutation gives the p-value for the whole family of inputs (max-T; Westfall and Young 1993).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen.screening.input_screening.polynomial_model import fit_polynomials

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Flags, Integers, Rows, Values
    from symscreen.screening.input_screening.input_table import InputTable

    SingleValues = NDArray[np.float32]

_PARTNER_DEGREE = 3  # polynomials of a selected input in products
_BLOCK_COLUMNS = 256  # permuted vectors in a matrix product, about
FITTED = -1  # the partner of a product with the model itself
ALONE = -2  # the partner of a formula of one input


class FormulaKind(NamedTuple):
    """Formulas that are compared with each other: the vectors r·h, shape (m, n), and the partner of each."""

    vectors: SingleValues
    partners: tuple[int, ...]


class RoundTest(NamedTuple):
    """What a round says of the inputs that are not selected.

    Parameters
    ----------
    distances : float64 array, shape (d,)
        The largest distance of each input from the copies; -inf of selected inputs.
    p_values : float64 array, shape (d,)
        The share of copies of inputs whose best formula is as good; 1 of selected inputs.
    family_p_values : float64 array, shape (d,)
        The share of permutations in which the best copy of all inputs is as good; 1 of selected inputs.
    correlations : float64 array, shape (d,)
        The absolute correlation of the best formula.
    best_functions, partners : int64 array, shape (d,)
        The function of the best formula, and its partner.
    """

    distances: Values
    p_values: Values
    family_p_values: Values
    correlations: Values
    best_functions: Integers
    partners: Integers


def compute_residuals(table: InputTable, selected: Sequence[int]) -> list[Values]:
    """Compute what a model of the selected inputs leaves of the target, on each scale."""
    chosen = table.polynomials[list(selected)]
    return [model.residual for model in fit_polynomials(chosen, table.targets)]


def build_kinds(table: InputTable, selected: Sequence[int]) -> list[FormulaKind]:
    """Build the kinds of formulas of a round: for each scale formulas of one input, and products."""
    chosen = table.polynomials[list(selected)]
    kinds = []
    for residual, fitted in fit_polynomials(chosen, table.targets):
        kinds.append(FormulaKind(_normalize_rows(residual[None]), (ALONE,)))
        if selected:
            factors = chosen[:, :_PARTNER_DEGREE].reshape(-1, table.n_rows)
            partners = tuple(index for index in selected for _ in range(_PARTNER_DEGREE))
            products = np.vstack([residual * factors, residual * fitted])
            kinds.append(FormulaKind(_normalize_rows(products), (*partners, FITTED)))
    return kinds


def _normalize_rows(vectors: Values) -> SingleValues:
    """Centre vectors (m, n) and give them length 1; a constant one becomes 0."""
    centered = vectors - vectors.mean(axis=1, keepdims=True)
    lengths = np.sqrt((centered * centered).sum(axis=1, keepdims=True))
    return np.asarray(
        np.divide(centered, lengths, out=np.zeros_like(centered), where=lengths > 0.0), np.float32
    )


def test_round(table: InputTable, selected: Sequence[int]) -> RoundTest:
    """Test all inputs that are not selected."""
    kinds = build_kinds(table, selected)
    is_open = ~np.isin(table.functions.owners, list(selected))
    values = table.functions.values[is_open]
    d = table.n_inputs
    shape = (len(kinds), d)
    best, functions, partners = np.zeros(shape), np.zeros(shape, np.int64), np.full(shape, ALONE)
    copies = np.empty((len(kinds), len(table.permutations), d), np.float32)
    numbers, owners = np.flatnonzero(is_open), table.functions.owners[is_open]
    for k, kind in enumerate(kinds):
        correlations = np.abs(values @ kind.vectors.T)
        best_vectors = correlations.argmax(axis=1)
        best_values = correlations[np.arange(len(values)), best_vectors]
        order = np.lexsort((np.arange(len(values)), -best_values))[::-1]  # the best of an input comes last
        best[k, owners[order]] = best_values[order]
        functions[k, owners[order]] = numbers[order]
        partners[k, owners[order]] = np.array(kind.partners)[best_vectors[order]]
        copies[k] = _compute_copies(table, is_open, kind.vectors)
    maxima = copies.max(axis=2).astype(np.float64)
    centers = maxima.mean(axis=1)[:, None]
    spreads = np.maximum(maxima.std(axis=1), np.finfo(np.float64).tiny)[:, None]
    distances = (best - centers) / spreads
    winners = distances.argmax(axis=0)
    null = ((copies - centers[:, None]) / spreads[:, None]).max(axis=0)
    every = np.arange(d)
    own = distances[winners, every]
    own[list(selected)] = -np.inf
    found = best[winners, every], functions[winners, every], partners[winners, every]
    return RoundTest(own, *_compute_p_values(own, null), *found)


def _compute_p_values(distances: Values, copies: Values) -> tuple[Values, Values]:
    """Compute p-values of inputs (d,) and for their family from the distances of copies, shape (B, d)."""
    is_open = ~np.isneginf(distances)
    p_values, family = np.ones(len(distances)), np.ones(len(distances))
    for null, target in ((copies[:, is_open].ravel(), p_values), (copies.max(axis=1), family)):
        n_better = len(null) - np.searchsorted(np.sort(null), distances[is_open])
        target[is_open] = (1.0 + n_better) / (1.0 + len(null))
    return p_values, family


@dataclass(frozen=True, eq=False)
class _CopyScores:
    """Computes the best correlation of each input with a kind of formulas, under some permutations."""

    values: SingleValues
    starts: Integers
    vectors: SingleValues
    permutations: Rows

    def __call__(self, chunk: tuple[int, int]) -> SingleValues:
        first, last = chunk
        rows = self.permutations[first:last]
        permuted = self.vectors[:, rows].transpose(1, 0, 2).reshape(-1, rows.shape[1])
        correlations = self.values @ permuted.T
        np.abs(correlations, out=correlations)
        best = np.maximum.reduceat(correlations, self.starts, axis=0)
        return np.asarray(best.reshape(len(best), len(rows), -1).max(axis=2).T, dtype=np.float32)


def _compute_copies(table: InputTable, is_open: Flags, vectors: SingleValues) -> SingleValues:
    """Compute the best correlation of each input under each permutation, (B, d); 0 without open functions."""
    n_permutations = len(table.permutations)
    copies = np.zeros((n_permutations, table.n_inputs), np.float32)
    owners = table.functions.owners[is_open]
    if not len(owners):
        return copies
    inputs, starts = np.unique(owners, return_index=True)
    step = max(1, _BLOCK_COLUMNS // len(vectors))
    chunks = [(at, min(at + step, n_permutations)) for at in range(0, n_permutations, step)]
    compute = _CopyScores(table.functions.values[is_open], starts, vectors, table.permutations)
    copies[:, inputs] = np.concatenate(list(table.backend.map(compute, chunks)))
    return copies


def mask_selected(n_inputs: int, selected: Sequence[int]) -> Flags:
    """Return which inputs are not selected, shape (d,)."""
    mask = np.ones(n_inputs, dtype=np.bool_)
    mask[list(selected)] = False
    return mask

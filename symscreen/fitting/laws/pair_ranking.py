"""Rank all pairs of formulas by how much of a noisy response they explain together.

Two formulas A and B explain the response well where their directions, without the response and the nuisance
columns, are close to each other. A principal component analysis turns the directions so that a few leading
coordinates contain most of their differences. These coordinates bound what a pair can explain, so that most
pairs are left out after a few products, and none wrongly. The comparison ends early where more than 200 pairs
per formula pass these bounds, which happens with strong noise. The remaining pairs are then not compared.

Blocks of formulas are compared in rounds. The blocks of a round may run at the same time, since each begins
with the scores that the rounds before have left. So the number of threads has no effect on what is found.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.fitting.laws._kernels import N_LEADING, N_MIDDLE, scan_pairs
from symscreen.fitting.laws.parallel import map_in_threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.fitting.laws.direction_groups import FormulaBlocks


_MAX_CLASS = 8  # classes of cotangents: each is twice as large as the one before
_FIRST_CLASS = 2.0**-2
_MIN_DIRECTION = 1e-7  # norm of what is left of a formula, below which it is rounding
_BUDGET_PER_FORMULA = 200  # pairs that are compared in more than the leading coordinates
_BLOCK_FORMULAS = 10_000
_SCANNED_FORMULAS = 2_000  # formulas of a block whose pairs are scanned
_BLOCKS_OF_ROUND = 8
_MIN_MISSING = 1e-14  # what two directions differ by at least, up to rounding


@dataclass(frozen=True, eq=False)
class _Directions:
    """Formulas as directions without a response, and their angles to the response.

    Parameters
    ----------
    indices : int64 array, shape (q,)
        The formulas.
    directions : float32 array, shape (q, m)
        Unit vectors.
    cotangents : float64 array, shape (q,)
        Cotangents of the angles between formulas and response.
    """

    indices: NDArray[np.int64]
    directions: NDArray[np.float32]
    cotangents: Values


def rank_pairs(
    blocks: FormulaBlocks,
    response: Values,
    nuisance: Values,
    complexity: NDArray[np.int64],
    n_ranked: int,
    jobs: int = 1,
) -> tuple[list[int], list[tuple[int, int]]]:
    """Rank formulas and pairs of formulas by n·log(1 + F)/2 − k·log(n)/2 − log N.

    F = R²/(1 − R²) is what k formulas explain of the response besides the nuisance columns. N is the
    number of formulas, or pairs, that are not more complex.

    Parameters
    ----------
    blocks : FormulaBlocks
        Formulas with values on m rows.
    response : float64 array, shape (m,)
        The response.
    nuisance : float64 array, shape (m, r)
        The nuisance columns.
    complexity : int64 array
        Complexity of all formulas of the pool.
    n_ranked : int
        Maximum number of formulas, and of pairs.
    jobs : int
        Number of threads.

    Returns
    -------
    list of int
        The best formulas, best first.
    list of (int, int)
        The best pairs, best first. Each has a better score than the best formula alone.
    """
    if not response.any():
        return [], []
    basis = np.linalg.qr(nuisance)[0]
    remainder = response / np.abs(response).max()
    for _ in range(2):
        remainder = remainder - basis @ (basis.T @ remainder)
    n_rows, total = len(response), np.linalg.norm(remainder)
    if total <= _MIN_DIRECTION * np.linalg.norm(response / np.abs(response).max()):
        return [], []
    formulas = _compute_directions(blocks, np.column_stack([basis, remainder / total]), jobs)
    if not len(formulas.indices):
        return [], []
    counts = np.bincount(complexity).astype(np.float64)
    singles_penalty = np.log(n_rows) / 2.0 + np.log(np.maximum(np.cumsum(counts), 1.0))
    n_pairs = np.cumsum(np.convolve(counts, counts)) / 2.0
    pairs_penalty = np.log(n_rows) + np.log(np.maximum(n_pairs, 1.0))
    own = complexity[formulas.indices]
    scores = 0.5 * n_rows * np.log1p(formulas.cotangents**2) - singles_penalty[own]
    order = np.lexsort((formulas.indices, -scores))[:n_ranked]
    singles = formulas.indices[order[scores[order] > 0.0]].tolist()
    best = max(0.0, float(scores.max()))
    if formulas.directions.shape[1] < N_MIDDLE:
        padding = N_MIDDLE - formulas.directions.shape[1]
        formulas = _Directions(
            formulas.indices, np.pad(formulas.directions, ((0, 0), (0, padding))), formulas.cotangents
        )
    return singles, _scan(formulas, own, pairs_penalty, n_rows, np.full(n_ranked, best), jobs)


def rank_pairs_again(
    pairs: Sequence[tuple[int, int]],
    block: tuple[NDArray[np.int64], Values],
    response: Values,
    nuisance: Values,
    complexity: NDArray[np.int64],
    n_ranked: int,
) -> list[tuple[int, int]]:
    """Rank given pairs by the score of `rank_pairs`, on other rows.

    Parameters
    ----------
    pairs : sequence of (int, int)
        The pairs.
    block : (int64 array, float64 array)
        Indices of all formulas of the pairs, shape (b,), ascending, and their values, shape (b, m).
    response, nuisance, complexity, n_ranked
        See `rank_pairs`.

    Returns
    -------
    list of (int, int)
        The best pairs, best first. Pairs with a formula that the nuisance columns explain are left out.
    """
    basis = np.linalg.qr(nuisance)[0]
    remainder = response - basis @ (basis.T @ response)
    formulas = _compute_directions([block], np.column_stack([basis, remainder / np.linalg.norm(remainder)]))
    both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    both = both[np.isin(both, formulas.indices).all(axis=1)]
    first, second = np.searchsorted(formulas.indices, both).T
    u, v = formulas.cotangents[first], formulas.cotangents[second]
    missing = np.empty(len(both))
    signs = np.empty(len(both))
    for start in range(0, len(both), _BLOCK_FORMULAS):
        part = slice(start, start + _BLOCK_FORMULAS)
        a, b = formulas.directions[first[part]], formulas.directions[second[part]]
        signs[part] = np.where(np.einsum("ij,ij->i", a, b) < 0.0, -1.0, 1.0)
        squares = ((a - signs[part, None].astype(np.float32) * b) ** 2).sum(axis=1, dtype=np.float64)
        missing[part] = np.maximum(0.5 * squares, _MIN_MISSING)
    explained = ((u - signs * v) ** 2 + 2.0 * missing * signs * u * v) / (missing * (2.0 - missing))
    n_pairs = np.cumsum(np.convolve(*2 * (np.bincount(complexity).astype(np.float64),))) / 2.0
    penalties = np.log(np.maximum(n_pairs, 1.0))[complexity[both].sum(axis=1)]
    scores = 0.5 * len(response) * np.log1p(explained) - penalties
    order = np.lexsort((both[:, 1], both[:, 0], -scores))[:n_ranked]
    return [tuple(pair) for pair in both[order].tolist()]


def _compute_directions(blocks: FormulaBlocks, basis: Values, jobs: int = 1) -> _Directions:
    """Project nuisance columns and response, which is the last column, out of formulas."""

    def project(place: int) -> tuple[NDArray[np.int64], NDArray[np.float32], Values]:
        """Return the formulas of a block, their directions, and their cotangents."""
        indices, values = blocks[place]
        magnitudes = np.maximum(values.max(axis=1), -values.min(axis=1))
        scaled = values / np.where(magnitudes > 0.0, magnitudes, 1.0)[:, None]
        sizes = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
        shares = scaled @ basis
        scaled -= shares @ basis.T
        scaled -= (scaled @ basis) @ basis.T
        norms = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
        kept = norms > _MIN_DIRECTION * sizes
        directions = scaled[kept] / norms[kept, None]
        return indices[kept], directions.astype(np.float32), shares[kept, -1] / norms[kept]

    found = map_in_threads(project, range(len(blocks)), jobs)
    return _Directions(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def _scan(
    formulas: _Directions,
    complexity: NDArray[np.int64],
    penalties: Values,
    n_rows: int,
    scores: Values,
    jobs: int,
) -> list[tuple[int, int]]:
    """Scan the pairs of formulas, and return those that exceed the initial scores, best first."""
    _rotate(formulas.directions, jobs)
    cotangents = formulas.cotangents
    classes = np.log2(np.maximum(np.abs(cotangents), 1e-9) / _FIRST_CLASS)
    labels = complexity * (_MAX_CLASS + 1) + np.clip(np.ceil(classes), 0, _MAX_CLASS).astype(np.int64)
    order = np.lexsort((formulas.indices, np.abs(formulas.directions[:, 0]), labels))
    starts = np.flatnonzero(np.r_[True, np.diff(labels[order]) > 0, True])
    coordinates = formulas.directions[order]
    arrays = (
        coordinates,
        np.ascontiguousarray(coordinates[:, :N_LEADING].T),
        _compute_tails(coordinates),
        cotangents[order].astype(np.float32),
        starts,
        complexity[order[starts[:-1]]],
        penalties,
    )
    pairs = np.full((len(scores), 2), -1)
    budget = _BUDGET_PER_FORMULA * len(order)
    blocks = list(pairwise([*range(0, len(order), _SCANNED_FORMULAS), len(order)]))
    with ThreadPoolExecutor(jobs, thread_name_prefix="symscreen") as executor:
        for start in range(0, len(blocks), _BLOCKS_OF_ROUND):
            block_budget = budget if len(blocks) == 1 else budget // _BLOCKS_OF_ROUND
            submitted = [
                executor.submit(_scan_block, arrays, n_rows, block, block_budget, scores)
                for block in blocks[start : start + _BLOCKS_OF_ROUND]
            ]
            found = [each.result() for each in submitted]
            scores, pairs = _merge_best(scores, pairs, found)
            if any(budget_left < 0 for _, _, budget_left in found):
                break
            budget -= sum(block_budget - budget_left for _, _, budget_left in found)
    is_found = pairs[:, 0] >= 0
    indices = np.sort(formulas.indices[order[pairs[is_found]]], axis=1)
    ranking = np.lexsort((indices[:, 1], indices[:, 0], -scores[is_found]))
    return [tuple(pair) for pair in indices[ranking].tolist()]


def _scan_block(
    arrays: tuple[NDArray[Any], ...], n_rows: int, block: tuple[int, int], budget: int, scores: Values
) -> tuple[Values, NDArray[np.int64], int]:
    """Scan the pairs of a block, and return the scores of new pairs, these, and the rest of the budget."""
    own_scores, pairs = scores.copy(), np.full((len(scores), 2), -1)
    budget_left = scan_pairs(*arrays, n_rows, *block, budget, own_scores, pairs)
    is_new = pairs[:, 0] >= 0
    return own_scores[is_new], pairs[is_new], budget_left


def _merge_best(
    scores: Values, pairs: NDArray[np.int64], found: Sequence[tuple[Values, NDArray[np.int64], int]]
) -> tuple[Values, NDArray[np.int64]]:
    """Return the best of all scores, as many as before, with their pairs."""
    all_scores = np.concatenate([scores, *(own for own, _, _ in found)])
    all_pairs = np.concatenate([pairs, *(own for _, own, _ in found)])
    best = np.lexsort((all_pairs[:, 1], all_pairs[:, 0], -all_scores))[: len(scores)]
    return all_scores[best], all_pairs[best]


def _rotate(directions: NDArray[np.float32], jobs: int) -> None:
    """Rotate unit vectors in place to their principal components, the leading one first."""
    products = (directions.T @ directions).astype(np.float64)
    components = np.linalg.eigh(products)[1][:, ::-1].astype(np.float32)

    def rotate_block(start: int) -> None:
        """Rotate the vectors of a block in place."""
        block = directions[start : start + _BLOCK_FORMULAS]
        block[:] = block @ components

    map_in_threads(rotate_block, range(0, len(directions), _BLOCK_FORMULAS), jobs)


def _compute_tails(coordinates: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the norms of the coordinates after the leading ones and after the middle, shape (2, q)."""
    tails = np.empty((2, len(coordinates)), dtype=np.float32)
    for start in range(0, len(coordinates), _BLOCK_FORMULAS):
        block = coordinates[start : start + _BLOCK_FORMULAS]
        for row, place in zip(tails, (N_LEADING, N_MIDDLE), strict=True):
            row[start : start + _BLOCK_FORMULAS] = np.sqrt(
                np.einsum("ij,ij->i", block[:, place:], block[:, place:])
            )
    return tails

"""Find formulas that are affine copies of others: f = a + b·t with b ≠ 0, by value and by algebra.

Two formulas are compared where both are defined, at random rows (`symscreen.evaluation.mp_evaluation`). Three
tests are combined:

- *by value*, in double precision for all pairs at once: within each range of rows the correlation of f and t
  is ±1 with an unexplained share of at most 10⁻⁹. Chance may cause false positives. Cancellation of large
  numbers may cause false negatives, so agreement within one range is enough for the third test.
- *by residues*: (f_i − f_1)/(f_2 − f_1) is equal for f and t at four random points of a finite field. This
  proves the identity with an error probability of 10⁻³⁵, but only for functions that are rational in x,
  sin(x), log(x), ….
- *by digits*: (f_i − f_1)(t_j − t_1) = (f_j − f_1)(t_i − t_1) at rational points, with at least 50 digits
  left after cancellation. No formula that a screen can generate agrees by chance.

A formula that passes the first two tests is a copy. A formula that passes only one of them, or the first one
within one range, is a copy if it passes the third. `find_affine_copies_in_space` selects the few features of
a space that may be copies, without building formulas.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from symscreen.evaluation.mp_evaluation import (
    MODERATE_ROWS,
    WIDE_ROWS,
    bound_numerical_error,
    build_graph,
    compute_node_residues,
    compute_node_values,
    compute_precise_value,
    draw_residues,
    draw_rows,
    select_rows_to_check,
)
from symscreen.expressions.traversal import evaluate_expression
from symscreen.grammar import fingerprint as fp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Flags, Values
    from symscreen.evaluation.mp_evaluation import ExpressionGraph, ValueCache
    from symscreen.expansion import Space
    from symscreen.expressions.tree import Expression


BLOCK_EXPRESSIONS = 4096  # formulas compared at once
_MAX_PAIRS = 1 << 20  # pairs compared at once
_MIN_ROWS = 4  # fewest rows that define an affine map
_MAX_UNEXPLAINED_SHARE = 1e-9  # largest 1 − r² of a copy
_ROUNDING_TOLERANCE = 1e-13  # of standardised sums, per row


@dataclass(frozen=True, eq=False)
class _ComparisonData:
    """Formulas with the data for their comparison.

    Parameters
    ----------
    graph : ExpressionGraph
        Graph of the formulas.
    nodes : int64 array, shape (q,)
        Nodes of the distinct formulas.
    values : float64 array, shape (q, N_SAMPLE_ROWS)
        NaN where undefined.
    residues : uint64 array, shape (q, 2)
        The two ratios (f_i − f_1)/(f_2 − f_1), i = 3, 4: equal for affine copies, 0 for constants.
    cache : dict
        Cache of `compute_precise_value`.
    """

    graph: ExpressionGraph
    nodes: NDArray[np.int64]
    values: Values
    residues: NDArray[np.uint64]
    cache: ValueCache = field(default_factory=dict)


def find_any_affine_copies(expressions: Sequence[Expression], formulas: tuple[Expression, ...]) -> Flags:
    """Find the formulas that are affine copies of one of several other formulas.

    Parameters
    ----------
    expressions : sequence of Expression, length k
        Formulas to test.
    formulas : tuple of Expression
        Formulas that they may be copies of. A constant formula has no copies.

    Returns
    -------
    bool array, shape (k,)

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> features = [parse_expression("sin(x)**2"), parse_expression("sin(2*x)"),
    ...     parse_expression("1 - 3*cos(x)**2")]
    >>> find_any_affine_copies(features, (parse_expression("cos(x)**2"),)).tolist()
    [True, False, True]
    """
    is_copy = np.zeros(len(expressions), dtype=np.bool_)
    if not formulas:
        return is_copy
    from threadpoolctl import threadpool_limits

    reference = _prepare_formulas(formulas)
    # Products of thin matrices: several BLAS threads are 30 times slower than one.
    with threadpool_limits(1):
        block_size = min(BLOCK_EXPRESSIONS, max(1, _MAX_PAIRS // len(formulas)))
        for start in range(0, len(expressions), block_size):
            graph = build_graph(expressions[start : start + block_size])
            distinct, inverse = np.unique(graph.roots, return_inverse=True)
            is_copy[start : start + block_size] = _find_copies(
                _prepare_comparison(graph, distinct), reference
            )[inverse]
    return is_copy


@lru_cache(maxsize=32)
def _prepare_formulas(formulas: tuple[Expression, ...]) -> _ComparisonData:
    """Prepare the comparison data of reference formulas."""
    graph = build_graph(formulas)
    return _prepare_comparison(graph, np.unique(graph.roots))


def _prepare_comparison(graph: ExpressionGraph, nodes: NDArray[np.int64]) -> _ComparisonData:
    """Compute values and residue ratios of q nodes of a graph."""
    values = compute_node_values(graph, draw_rows)[nodes]
    points = compute_node_residues(graph, draw_residues)[nodes].reshape(-1, 4)
    steps = fp.subtract(points[:, 1:], points[:, :1])
    ratios = fp.divide(steps[:, 1:], steps[:, :1])
    return _ComparisonData(graph, nodes, values, ratios)


def _find_copies(features: _ComparisonData, formulas: _ComparisonData) -> Flags:
    """Combine the three tests, shape (q,)."""
    by_value, by_some_values = _match_by_value(features.values, formulas.values)
    by_residues = (features.residues[:, None] == formulas.residues).all(axis=2)
    is_copy: Flags = (by_value & by_residues).any(axis=1)
    is_candidate = by_some_values | by_residues
    for feature in np.flatnonzero(is_candidate.any(axis=1) & ~is_copy):
        for formula in np.flatnonzero(is_candidate[feature]):
            if _is_precise_copy(features, int(feature), formulas, int(formula)):
                is_copy[feature] = True
                break
    return is_copy


def _match_by_value(features: Values, formulas: Values) -> tuple[Flags, Flags]:
    """Test all pairs by value: whether they agree in all ranges of rows, and in one; both shape (q, t)."""
    is_consistent = np.ones((len(features), len(formulas)), dtype=np.bool_)
    is_tested, agrees_once = np.zeros_like(is_consistent), np.zeros_like(is_consistent)
    for rows in MODERATE_ROWS:
        is_informative, agrees = _compare_correlations(features[:, rows], formulas[:, rows])
        is_tested |= is_informative
        agrees_once |= is_informative & agrees
        is_consistent &= agrees
    # Some formulas, such as those with large constants, vary only over the wide rows.
    remaining = np.flatnonzero((is_consistent & ~is_tested).any(axis=1))
    is_informative, agrees = _compare_correlations(features[remaining, WIDE_ROWS], formulas[:, WIDE_ROWS])
    is_consistent[remaining] &= is_tested[remaining] | agrees
    is_tested[remaining] |= is_informative
    agrees_once[remaining] |= is_informative & agrees
    return is_consistent & is_tested, agrees_once


def _compare_correlations(features: Values, formulas: Values) -> tuple[Flags, Flags]:
    """Compare all features, shape (q, rows), with all formulas, shape (t, rows), over some rows.

    Returns
    -------
    is_informative, agrees : bool arrays, shape (q, t)
        Whether enough rows are defined for both and the formula varies over them, and whether the rows are
        consistent with f = a + b·t.
    """
    (f, f_defined), (t, t_defined) = _standardize(features), _standardize(formulas)
    # sums over the rows that are defined for both
    n = f_defined @ t_defined.T
    enough = n >= _MIN_ROWS
    n = np.maximum(n, 1)
    f_sum, t_sum = f @ t_defined.T, f_defined @ t.T
    f_square = (f * f) @ t_defined.T - f_sum * f_sum / n
    t_square = f_defined @ (t * t).T - t_sum * t_sum / n
    product = f @ t.T - f_sum * t_sum / n
    f_varies, t_varies = f_square > _ROUNDING_TOLERANCE * n, t_square > _ROUNDING_TOLERANCE * n
    # 1 − r² ≤ 10⁻⁹, r² = product²/(f_square · t_square)
    unexplained = f_square * t_square - product * product
    close = unexplained <= _MAX_UNEXPLAINED_SHARE * f_square * t_square + _ROUNDING_TOLERANCE * n * n
    agrees = np.where(f_varies & t_varies, close, f_varies == t_varies)
    return enough & t_varies, ~enough | agrees


def _standardize(values: Values) -> tuple[Values, Values]:
    """Standardise the defined values of each row (0 where undefined); return them and the mask as float64."""
    defined = np.isfinite(values)
    count = np.maximum(defined.sum(axis=1, keepdims=True), 1)
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.where(defined, values, 0.0)
        values = values / np.maximum(np.abs(values).max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        centered = np.where(defined, values - values.sum(axis=1, keepdims=True) / count, 0.0)
        scale = np.sqrt((centered * centered).sum(axis=1, keepdims=True) / count)
    # deviations of equal numbers are rounding errors
    centered = np.where(scale > 1e-13, centered / np.maximum(scale, 1e-13), 0.0)
    return centered, defined.astype(np.float64)


def _is_precise_copy(
    features: _ComparisonData, feature: int, formulas: _ComparisonData, formula: int
) -> bool:
    """Test one pair by digits."""
    defined = np.isfinite(features.values[feature]) & np.isfinite(formulas.values[formula])
    points: list[_Point] = []
    for row in select_rows_to_check(defined):
        f = compute_precise_value(features.graph, int(features.nodes[feature]), row, features.cache)
        t = compute_precise_value(formulas.graph, int(formulas.nodes[formula]), row, formulas.cache)
        if f is not None and t is not None:
            points.append(_Point(f[0], bound_numerical_error(f[1]), t[0], bound_numerical_error(t[1])))
            # the first rows already exclude most false positives
            if len(points) == _MIN_ROWS and not _is_affine(_subtract_reference(points)):
                return False
    if len(points) < _MIN_ROWS:
        return False
    steps = _subtract_reference(points)
    farthest = _find_farthest(steps)
    is_sloped = abs(farthest.t) > farthest.t_error and abs(farthest.f) > farthest.f_error
    return bool(is_sloped and _is_affine(steps))


class _Point(NamedTuple):
    """Values of a feature and a formula in one row with bounds on their rounding errors."""

    f: Any
    f_error: Any
    t: Any
    t_error: Any


def _subtract_reference(points: Sequence[_Point]) -> list[_Point]:
    """Subtract the point with the smallest numbers, so that no other point loses digits."""
    reference = min(points, key=lambda point: point.f_error + point.t_error)
    return [
        _Point(
            p.f - reference.f, p.f_error + reference.f_error, p.t - reference.t, p.t_error + reference.t_error
        )
        for p in points
    ]


def _find_farthest(steps: Sequence[_Point]) -> _Point:
    """Return the point with the largest formula value."""
    return max(steps, key=lambda step: abs(step.t))


def _is_affine(steps: Sequence[_Point]) -> bool:
    """Test whether the points are consistent with f = a + b·t within rounding errors."""
    farthest = _find_farthest(steps)
    # (f_i − f_1)(t_j − t_1) = (f_j − f_1)(t_i − t_1)
    return all(
        abs(step.f * farthest.t - farthest.f * step.t)
        <= step.f_error * abs(farthest.t)
        + farthest.t_error * abs(step.f)
        + farthest.f_error * abs(step.t)
        + step.t_error * abs(farthest.f)
        for step in steps
    )


def find_affine_copies_in_space(
    space: Space, formulas: Sequence[Expression], columns: Mapping[str, NDArray[np.float64]]
) -> NDArray[np.int64]:
    """Find the features of a space whose values are affine copies of one of several formulas.

    Formulas that agree on the rows of a table may differ elsewhere. `symscreen.evaluation.find_affine_copies`
    decides by algebra, but is slow. This function selects the few candidates for it and misses no copy.

    Parameters
    ----------
    space : Space
        Space with values.
    formulas : sequence of Expression
        Formulas to search for.
    columns : mapping of str to float64 array, shape (n,)
        Input columns by name, with rows in the order of the space.

    Returns
    -------
    int64 array
        Feature numbers in ascending order.
    """
    units = _standardize_formulas(formulas, columns)
    numbers = [np.empty(0, dtype=np.int64)]
    if not len(units):
        return numbers[0]
    for block in space.evaluate_range(0, space.total):
        z = block.values - block.values.mean(axis=1, keepdims=True)
        z /= np.abs(z).max(axis=1, keepdims=True)  # avoids overflow and underflow of the squares
        norms = np.einsum("ij,ij->i", z, z)
        explained_shares = (z @ units.T) ** 2 / norms[:, None]
        numbers.append(block.numbers[(explained_shares >= 1.0 - _MAX_UNEXPLAINED_SHARE).any(axis=1)])
    return np.concatenate(numbers)


def _standardize_formulas(
    formulas: Sequence[Expression], columns: Mapping[str, NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Compute unit vectors of the formulas' values; undefined or constant formulas are skipped."""
    rows = len(next(iter(columns.values())))
    units = [np.empty((0, rows))]
    for formula in formulas:
        values = evaluate_expression(formula, columns)
        values = values - values.mean()
        scale = float(np.abs(values).max())
        if np.isfinite(scale) and scale > 0.0:
            values = values / scale
            units.append((values / np.sqrt(values @ values))[None])
    return np.concatenate(units)

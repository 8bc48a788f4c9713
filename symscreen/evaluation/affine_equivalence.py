"""Equal up to an affine map: f = a + b·t with b ≠ 0, by value and by algebra.

Two formulas are compared where both are defined, at rows drawn at random
(`symscreen.evaluation.mp_evaluation`), and three tests are put together:

- *by value*, in double precision and for all at once: within each range of rows the correlation of f and t is
  ±1 but for 10⁻⁹. Rounding spoils the test where large numbers cancel, and chance can pass it.
- *by residues*: (f_i − f_1)/(f_2 − f_1) is the same for f and t in four random points of a finite field. That
  proves the identity, up to a chance of 10⁻³⁵, but knows only what is rational in x, sin(x), log(x), …
- *by digits*: (f_i − f_1)(t_j − t_1) = (f_j − f_1)(t_i − t_1) at rational points, to 50 digits and more after
  all that cancels. No chance agreement of a formula that a screen can grow survives it.

A formula that passes the first two is a copy; one that passes one of them is, if it passes the third.

The few features of a space that may be copies of a formula, found without building any formula.
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
from symscreen.expressions.tree import evaluate_expression
from symscreen.grammar import fingerprint as fp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Flags, Values
    from symscreen.evaluation.mp_evaluation import ExpressionGraph, ValueCache
    from symscreen.expansion import Space
    from symscreen.expressions.tree import Expression


__all__ = ["BLOCK_EXPRESSIONS", "find_affine_copies_in_space", "find_any_affine_copies"]

BLOCK_EXPRESSIONS = 4096
_MAX_PAIRS = 1 << 20
_MIN_ROWS = 4
_MAX_UNEXPLAINED_SHARE = 1e-9
_ROUNDING_TOLERANCE = 1e-13


@dataclass(frozen=True, eq=False)
class _ComparisonData:
    """Formulas with what they are compared by.

    Parameters
    ----------
    graph : Graph
        Of the distinct ones, q.
    values : float64 array, shape (q, ROWS)
        NaN where undefined.
    residues : uint64 array, shape (q, 2)
        The two ratios (f_i − f_1)/(f_2 − f_1), i = 3, 4: alike for affine copies, 0 for constants.
    memory : dict
        Of `compute_precise_value`.
    """

    graph: ExpressionGraph
    nodes: NDArray[np.int64]
    values: Values
    residues: NDArray[np.uint64]
    cache: ValueCache = field(default_factory=dict)


def find_any_affine_copies(expressions: Sequence[Expression], formulas: tuple[Expression, ...]) -> Flags:
    """Say which formulas are affine copies of one of several others.

    Parameters
    ----------
    expressions : sequence of Expression, length k
        The formulas.
    targets : tuple of Expression
        What they may be copies of. A target that is constant has no copies.

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
    found = np.zeros(len(expressions), dtype=np.bool_)
    if not formulas:
        return found
    from threadpoolctl import threadpool_limits

    others = _prepare_formulas(formulas)
    # products of thin matrices: more threads of BLAS are thirty times slower
    with threadpool_limits(1):
        size = min(BLOCK_EXPRESSIONS, max(1, _MAX_PAIRS // len(formulas)))
        for start in range(0, len(expressions), size):
            graph = build_graph(expressions[start : start + size])
            distinct, which = np.unique(graph.roots, return_inverse=True)
            found[start : start + size] = _find_copies(_prepare_comparison(graph, distinct), others)[which]
    return found


@lru_cache(maxsize=32)
def _prepare_formulas(formulas: tuple[Expression, ...]) -> _ComparisonData:
    graph = build_graph(formulas)
    return _prepare_comparison(graph, np.unique(graph.roots))


def _prepare_comparison(graph: ExpressionGraph, nodes: NDArray[np.int64]) -> _ComparisonData:
    values = compute_node_values(graph, draw_rows)[nodes]
    points = compute_node_residues(graph, draw_residues)[nodes].reshape(-1, 4)
    steps = fp.subtract(points[:, 1:], points[:, :1])
    ratios = fp.divide(steps[:, 1:], steps[:, :1])
    return _ComparisonData(graph, nodes, values, ratios)


def _find_copies(features: _ComparisonData, formulas: _ComparisonData) -> Flags:
    by_value = _match_by_value(features.values, formulas.values)
    by_residues = (features.residues[:, None] == formulas.residues).all(axis=2)
    found: Flags = (by_value & by_residues).any(axis=1)
    for feature in np.flatnonzero((by_value | by_residues).any(axis=1) & ~found):
        for target in np.flatnonzero(by_value[feature] | by_residues[feature]):
            if _is_precise_copy(features, int(feature), formulas, int(target)):
                found[feature] = True
                break
    return found


def _match_by_value(features: Values, formulas: Values) -> Flags:
    fits = np.ones((len(features), len(formulas)), dtype=np.bool_)
    told = np.zeros_like(fits)
    for rows in MODERATE_ROWS:
        left = np.flatnonzero(fits.any(axis=1))
        informs, agrees = _compare_correlations(features[left, rows], formulas[:, rows])
        told[left] |= informs
        fits[left] &= agrees
    # a formula of numbers in the hundreds, say, is constant or infinite anywhere else
    left = np.flatnonzero((fits & ~told).any(axis=1))
    informs, agrees = _compare_correlations(features[left, WIDE_ROWS], formulas[:, WIDE_ROWS])
    fits[left] &= told[left] | agrees
    told[left] |= informs
    return fits & told


def _compare_correlations(features: Values, formulas: Values) -> tuple[Flags, Flags]:
    """Compare all features with all targets over some rows.

    Returns
    -------
    informs, agrees : bool arrays, shape (q, t)
        Whether enough rows are defined for both and not all alike, and whether nothing in them speaks against
        f = a + b·t.
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
    defined = np.isfinite(values)
    count = np.maximum(defined.sum(axis=1, keepdims=True), 1)
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.where(defined, values, 0.0)
        values = values / np.maximum(np.abs(values).max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        centred = np.where(defined, values - values.sum(axis=1, keepdims=True) / count, 0.0)
        scale = np.sqrt((centred * centred).sum(axis=1, keepdims=True) / count)
    # what is left of equal numbers is rounding
    centred = np.where(scale > 1e-13, centred / np.maximum(scale, 1e-13), 0.0)
    return centred, defined.astype(np.float64)


def _is_precise_copy(
    features: _ComparisonData, feature: int, formulas: _ComparisonData, formula: int
) -> bool:
    defined = np.isfinite(features.values[feature]) & np.isfinite(formulas.values[formula])
    points: list[_Point] = []
    for row in select_rows_to_check(defined):
        f = compute_precise_value(features.graph, int(features.nodes[feature]), row, features.cache)
        t = compute_precise_value(formulas.graph, int(formulas.nodes[formula]), row, formulas.cache)
        if f is not None and t is not None:
            points.append(_Point(f[0], bound_numerical_error(f[1]), t[0], bound_numerical_error(t[1])))
            # most of what only looks alike is found out by the first few
            if len(points) == _MIN_ROWS and not _is_affine(_subtract_reference(points)):
                return False
    if len(points) < _MIN_ROWS:
        return False
    steps = _subtract_reference(points)
    far = _find_farthest(steps)
    sloped = abs(far.t) > far.t_error and abs(far.f) > far.f_error
    return bool(sloped and _is_affine(steps))


class _Point(NamedTuple):
    """A feature's and a target's value in one row, with bounds of their rounding errors."""

    f: Any
    f_error: Any
    t: Any
    t_error: Any


def _subtract_reference(points: Sequence[_Point]) -> list[_Point]:
    """Subtract the point whose numbers are smallest, in which those of no other are lost."""
    first = min(points, key=lambda point: point.f_error + point.t_error)
    return [
        _Point(p.f - first.f, p.f_error + first.f_error, p.t - first.t, p.t_error + first.t_error)
        for p in points
    ]


def _find_farthest(steps: Sequence[_Point]) -> _Point:
    return max(steps, key=lambda step: abs(step.t))


def _is_affine(steps: Sequence[_Point]) -> bool:
    """Say whether nothing but rounding speaks against f = a + b·t."""
    far = _find_farthest(steps)
    # (f_i − f_1)(t_j − t_1) = (f_j − f_1)(t_i − t_1)
    return all(
        abs(step.f * far.t - far.f * step.t)
        <= step.f_error * abs(far.t)
        + far.t_error * abs(step.f)
        + far.f_error * abs(step.t)
        + step.t_error * abs(far.f)
        for step in steps
    )


def find_affine_copies_in_space(
    space: Space, formulas: Sequence[Expression], columns: Mapping[str, NDArray[np.float64]]
) -> NDArray[np.int64]:
    """Find the features of a space whose values are affine copies of one of some formulas.

    What agrees on the rows of a table may differ elsewhere: `symscreen.evaluation.find_affine_copies` decides
    by algebra, and is slow; this finds the few that are worth asking about, and misses none of them.

    Parameters
    ----------
    space : Space
        With values.
    wanted : sequence of Expression
        The formulas.
    columns : mapping of str to float64 array, shape (n,)
        The inputs by name, in the order of the space's rows.

    Returns
    -------
    int64 array
        The numbers of the features found, ascending.
    """
    targets = _standardize_formulas(formulas, columns)
    found = [np.empty(0, dtype=np.int64)]
    if not len(targets):
        return found[0]
    for block in space.evaluate_range(0, space.total):
        z = block.values - block.values.mean(axis=1, keepdims=True)
        z /= np.abs(z).max(axis=1, keepdims=True)  # squares of the largest and smallest numbers stay numbers
        size = np.einsum("ij,ij->i", z, z)
        share = (z @ targets.T) ** 2 / size[:, None]
        found.append(block.numbers[(share >= 1.0 - _MAX_UNEXPLAINED_SHARE).any(axis=1)])
    return np.concatenate(found)


def _standardize_formulas(
    formulas: Sequence[Expression], columns: Mapping[str, NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Centre and scale the values of formulas; those that are undefined or constant on the rows are none."""
    rows = len(next(iter(columns.values())))
    units = [np.empty((0, rows))]
    for formula in formulas:
        values = evaluate_expression(formula, columns)
        values = values - values.mean()
        size = float(np.abs(values).max())
        if np.isfinite(size) and size > 0.0:
            values = values / size
            units.append((values / np.sqrt(values @ values))[None])
    return np.concatenate(units)

"""Look up a formula in a space: by its canonical key, by its values, and part by part.

The module also finds the first part of a formula that is undefined or constant on the data, and builds
equivalent forms of a formula with sympy, because a space may generate one of them with fewer layers. The
sympy expression is built from the expression tree and converted back; no text is parsed. It contains only
polynomials of low degree and their quotients. Functions are replaced by symbols, and large formulas are
skipped, because sympy might need very long.

`GeneratedSpace` keeps a space together with the features that were pruned between its layers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import FormulaError
from symscreen.expansion import CandidateStatus, sort_features
from symscreen.expansion.nodes import build_expression
from symscreen.expansion.validity import (
    compute_projection,
    is_cancellation_noise,
    is_constant,
    is_equal_to_rounding,
)
from symscreen.expressions.printing import to_text
from symscreen.expressions.sympy_conversion import from_sympy, to_sympy
from symscreen.expressions.traversal import (
    collect_columns,
    compute_complexity,
    compute_key,
    evaluate_expression,
    fold_expression,
    iterate_postorder,
)
from symscreen.expressions.tree import Call, Column, Constant, apply_operator
from symscreen.screening.space_generation import generate_presorted_space

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from symscreen._typing import Numbers
    from symscreen.backends import Backend
    from symscreen.expansion import PoolPruning, Space
    from symscreen.expansion.candidates import OperatorRange
    from symscreen.expansion.pool import Pool
    from symscreen.expressions.tree import Expression
    from symscreen.screening.task import ScreeningTask

    Columns = Mapping[str, NDArray[np.float64]]

_MAX_COMPLEXITY = 40  # largest complexity of a formula that sympy rewrites
_MAX_DEGREE = 12  # largest sum of the degrees of numerator and denominator
_MAX_SYMBOLS = 6  # largest number of columns and functions in such a formula
_RATIONAL_OPERATORS = frozenset({"neg", "square", "cube", "inv", "add", "sub", "mul", "div"})
_POWER_DEGREES = {"square": 2, "cube": 3}

_BATCH_CANDIDATES = 1 << 17  # candidates whose keys are computed together
_AFFINE_TOLERANCE = 1e-9  # largest error of an affine copy, relative to the range; rounding gives about 1e-15

_PROJECTION_TOLERANCE = 2e-9  # projections of features that are equal up to rounding are closer than this


@dataclass(frozen=True, slots=True)
class DomainViolation:
    """A part of a formula that is outside its domain.

    Parameters
    ----------
    part : Expression
        The innermost such part.
    n_rows : int
        Number of rows in which it is undefined.
    row : int
        Index of one of these rows.
    argument_values : dict of str to float
        Values of its arguments in that row.
    """

    part: Expression
    n_rows: int
    row: int
    argument_values: dict[str, float]


def find_undefined_part(expression: Expression, columns: Columns) -> DomainViolation | None:
    """Find the innermost part of a formula that is undefined, or not finite, in some row.

    Parameters
    ----------
    expression : Expression
        The formula.
    columns : mapping of str to float64 array, shape (n,)
        The inputs.

    Returns
    -------
    DomainViolation or None
        None if the formula is defined in every row.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> violation = find_undefined_part(parse_expression("1 + log(a - 1)"), {"a": np.array([3.0, 0.5])})
    >>> str(violation.part), violation.n_rows, violation.row, violation.argument_values
    ('log(a - 1)', 1, 1, {'a - 1': -0.5})
    """
    for part in iterate_postorder(expression):
        undefined_rows = np.flatnonzero(np.isnan(evaluate_expression(part, columns)))
        if len(undefined_rows):
            row = int(undefined_rows[0])
            arguments = part.arguments if isinstance(part, Call) else ()
            values = {
                to_text(argument): float(evaluate_expression(argument, columns)[row])
                for argument in arguments
            }
            return DomainViolation(part, len(undefined_rows), row, values)
    return None


def is_constant_on(expression: Expression, columns: Columns) -> bool:
    """Return whether a formula that is defined in every row is constant up to rounding.

    Parameters
    ----------
    expression : Expression
        The formula.
    columns : mapping of str to float64 array, shape (n,)
        The inputs.

    Returns
    -------
    bool
        Result of the same tests that candidates have to pass.
    """
    if not collect_columns(expression):
        return True
    values = evaluate_expression(expression, columns)[None]
    low, high = values.min(axis=1), values.max(axis=1)
    if is_constant(low, high, np.maximum(np.abs(low), np.abs(high)))[0]:
        return True
    if not (isinstance(expression, Call) and expression.operator.cancels):
        return False
    terms = np.abs([evaluate_expression(term, columns) for term in expression.arguments]).max(axis=0)[None]
    # a formula that may be rounding noise of its terms is tested row by row
    suspect = is_constant(low, high, terms.max(axis=1))[0]
    return bool(suspect and is_cancellation_noise(values, terms)[0])


def format_constant_part(expression: Expression, columns: Columns) -> str:
    """Return the innermost constant part that contains a column; the formula itself if there is none."""
    parts = (part for part in iterate_postorder(expression) if collect_columns(part))
    constant_part = next((part for part in parts if is_constant_on(part, columns)), expression)
    return to_text(constant_part)


def describe_domain_violation(
    expression: Expression, columns: Columns, row_numbers: NDArray[np.int64]
) -> dict[str, Any]:
    """Describe where a formula is outside its domain, with row numbers of the source.

    Parameters
    ----------
    expression : Expression
        The formula.
    columns : mapping of str to float64 array, shape (n,)
        The inputs.
    row_numbers : int64 array, shape (n,)
        Row number in the source of each row, from 0.

    Returns
    -------
    dict
        Fields of an `Explanation`. Empty if the formula is defined in every row.
    """
    violation = find_undefined_part(expression, columns)
    if violation is None:
        return {}
    names = sorted(collect_columns(violation.part))
    column_values = {to_text(Column(name)): float(columns[name][violation.row]) for name in names}
    return {
        "part": to_text(violation.part),
        "n_undefined_rows": violation.n_rows,
        "example_row": int(row_numbers[violation.row]) + 1,
        "argument_values": violation.argument_values | column_values,
    }


def build_equivalent_forms(expression: Expression) -> list[Expression]:
    """Build equivalent forms of a formula: factored, expanded, and over a common denominator.

    Parameters
    ----------
    expression : Expression
        The formula.

    Returns
    -------
    list of Expression
        Other expressions with the same canonical key. Empty if the formula is large.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> [str(form) for form in build_equivalent_forms(parse_expression("a*b + a*log(c)"))]
    ['a*(b + log(c))']
    >>> build_equivalent_forms(parse_expression("9**9**9*a"))
    []
    """
    symbols: dict[Expression, Column] = {}
    rational = _replace_with_symbols(expression, symbols)
    is_small = compute_complexity(rational) <= _MAX_COMPLEXITY and len(symbols) <= _MAX_SYMBOLS
    if not is_small or not isinstance(rational, Call) or _bound_degree(rational) > _MAX_DEGREE:
        return []
    import sympy

    sympy_form = to_sympy(rational)
    parts_by_symbol = {sympy.Symbol(symbol.name): part for part, symbol in symbols.items()}
    key, forms = compute_key(expression), {expression: None}
    for rewrite in (sympy.factor, sympy.expand, sympy.together):
        try:
            other = from_sympy(rewrite(sympy_form), parts_by_symbol)
            is_equal = compute_key(other) == key
        except (FormulaError, ValueError, sympy.PolynomialError):  # a product of constants may overflow
            continue
        if is_equal:
            forms.setdefault(other)
    return list(forms)[1:]


def _replace_with_symbols(expression: Expression, symbols: dict[Expression, Column]) -> Expression:
    """Replace every part that is not a sum, product, quotient or power by a symbol."""
    if isinstance(expression, Constant):
        return expression
    if isinstance(expression, Call) and expression.operator.name in _RATIONAL_OPERATORS:
        return apply_operator(
            expression.operator,
            *(_replace_with_symbols(argument, symbols) for argument in expression.arguments),
        )
    return symbols.setdefault(expression, Column(f"part {len(symbols)}"))


def _bound_degree(expression: Expression) -> int:
    """Return an upper bound of the degree of a rational formula, numerator and denominator together."""
    # the denominator of a sum of quotients is the product of their denominators
    return fold_expression(
        expression,
        column=lambda _: 1,
        number=lambda _: 1,
        call=lambda call, degrees: sum(degrees) * _POWER_DEGREES.get(call.operator.name, 1),
    )


@dataclass(frozen=True, eq=False)
class KeyMatches:
    """Candidates and features of a space that are algebraically equal to a formula.

    Parameters
    ----------
    features : int64 array, shape (k,)
        Numbers of those that are features according to structure and domains. At most one.
    excluded : int64 array, shape (p,)
        Numbers of candidates that were excluded.
    """

    features: Numbers
    excluded: Numbers


@dataclass(frozen=True, eq=False)
class _KeyMatcher:
    """Finds a key in a range of candidates of one operator."""

    space: Space
    key: NDArray[np.uint64]

    def __call__(self, task: tuple[OperatorRange, int, int]) -> Numbers:
        """Return the numbers of the matching candidates in the space."""
        operator_range, first, stop = task
        numbers = np.arange(first, stop)
        pool, operator = self.space.pool, self.space.pool.symbols.operators[operator_range.code]
        arguments = operator_range.decode(numbers)[: operator.arity]
        keys = operator.compute_fingerprint(
            *(pool.nodes.keys.take(argument, axis=0) for argument in arguments)
        )
        matches: Numbers = self.space.n_materialized + numbers[(keys == self.key).all(axis=1)]
        return matches


def find_by_key(space: Space, canonical_key: tuple[int, int], backend: Backend) -> KeyMatches:
    """Look up a canonical key in a space, including excluded candidates.

    Parameters
    ----------
    space : Space
        The space.
    canonical_key : pair of int
        Result of `symscreen.expressions.traversal.compute_key` for the formula.
    backend : Backend
        Where keys are computed.

    Returns
    -------
    KeyMatches
    """
    key = np.array(canonical_key, dtype=np.uint64)
    materialized = np.arange(space.n_materialized)
    matches = [materialized[(space.get_metadata(materialized).keys == key).all(axis=1)]]
    tasks = [
        (operator_range, first, min(first + _BATCH_CANDIDATES, operator_range.stop))
        for operator_range in space.candidates.operator_ranges
        for first in range(operator_range.start, operator_range.stop, _BATCH_CANDIDATES)
    ]
    matches += backend.map(_KeyMatcher(space, key), tasks)
    numbers = np.concatenate(matches)
    candidates = np.maximum(numbers - space.n_materialized, 0)
    is_feature = numbers < space.n_materialized
    if len(space.statuses):
        is_feature |= space.statuses[candidates] == CandidateStatus.KEPT
    return KeyMatches(numbers[is_feature], numbers[~is_feature])


@dataclass(frozen=True, eq=False)
class _ValueMatcher:
    """Finds, in a range, features with given values, and affine copies of them."""

    space: Space
    values: NDArray[np.float64]

    def __call__(self, chunk: tuple[int, int]) -> tuple[Numbers, Numbers]:
        """Return the numbers of equal features and of affine copies."""
        low, high, middle = _select_three_rows(self.values)
        wanted = (self.values[middle] - self.values[low]) / (self.values[high] - self.values[low])
        empty = np.zeros(0, dtype=np.int64)
        equal, copies = [empty], [empty]
        for block in self.space.evaluate_range(*chunk):
            first, last, between = (block.values[:, row] for row in (low, high, middle))
            with np.errstate(all="ignore"):
                near = np.abs((between - first) / (last - first) - wanted) <= 1e-6
            near |= np.abs(last - self.values[high]) <= _AFFINE_TOLERANCE * np.abs(self.values[high])
            rows = np.flatnonzero(near)
            values = block.values[rows]
            is_equal = is_equal_to_rounding(values, np.broadcast_to(self.values, values.shape))
            equal.append(block.numbers[rows[is_equal]])
            copies.append(block.numbers[rows[~is_equal & _is_affine(values, self.values, low, high)]])
        return np.concatenate(equal), np.concatenate(copies)


def _select_three_rows(values: NDArray[np.float64]) -> tuple[int, int, int]:
    """Return rows with the lowest value, the highest value, and a value far from both."""
    low, high = int(values.argmin()), int(values.argmax())
    distance = np.minimum(values - values[low], values[high] - values)
    return low, high, int(distance.argmax())


def _is_affine(
    candidates: NDArray[np.float64], values: NDArray[np.float64], low: int, high: int
) -> NDArray[np.bool_]:
    """Return which candidates z, shape (m, n), satisfy values = a·z + b with a ≠ 0."""
    span = values[high] - values[low]
    with np.errstate(all="ignore"):
        slope = span / (candidates[:, high] - candidates[:, low])
        fitted = slope[:, None] * (candidates - candidates[:, low : low + 1]) + values[low]
        max_error = np.abs(fitted - values).max(axis=1)
    return np.asarray(max_error <= _AFFINE_TOLERANCE * span)


def find_by_values(
    space: Space, values: NDArray[np.float64], backend: Backend, chunk_size: int
) -> tuple[Numbers, Numbers]:
    """Look up values in a space.

    Parameters
    ----------
    space : Space
        The space, with values.
    values : float64 array, shape (n,)
        Values, finite and not constant.
    backend : Backend
        Where features are computed.
    chunk_size : int
        Number of candidates per task.

    Returns
    -------
    equal, copies : int64 arrays
        Numbers of the features that are equal up to rounding, and of those that differ only by a factor and
        an offset.
    """
    empty = np.zeros(0, dtype=np.int64)
    results = [(empty, empty), *backend.map(_ValueMatcher(space, values), space.split_chunks(chunk_size))]
    equal, copies = (np.concatenate(parts) for parts in zip(*results, strict=True))
    return equal, copies


def pick_simplest(space: Space, numbers: Numbers) -> int:
    """Return the simplest of some features; ties are broken by canonical key."""
    features = space.get_metadata(numbers)
    return int(numbers[sort_features(features.keys, features.complexity)[0]])


@dataclass(frozen=True, eq=False)
class PrunedFeature:
    """A feature that was pruned between layers.

    Parameters
    ----------
    layer : int
        The layer after which it was pruned.
    space : Space
        The space that was pruned.
    number : int
        Number of the feature in that space.
    """

    layer: int
    space: Space
    number: int


@dataclass(frozen=True, eq=False)
class GeneratedSpace:
    """A space and the pruning steps that led to it.

    Parameters
    ----------
    task : ScreeningTask
        The screen.
    space : Space
        The space that the screen scores.
    prunings : tuple of (Space, PoolPruning)
        The spaces that were pruned, with what was kept of each.
    """

    task: ScreeningTask
    space: Space
    prunings: tuple[tuple[Space, PoolPruning], ...]

    @property
    def columns(self) -> Mapping[str, NDArray[np.float64]]:
        """The inputs by name."""
        return self.task.dataset.columns_by_name

    def find_equivalent(self, part: Expression) -> Expression | None:
        """Return the expression that the pool of the last layer has, or had, for a part of a formula.

        Parameters
        ----------
        part : Expression
            A part that is defined in every row.

        Returns
        -------
        Expression or None
            Equal to the part algebraically, or in its values up to rounding. None if there is none.
        """
        pool = self.space.pool
        key = np.array(compute_key(part), dtype=np.uint64)
        members = np.flatnonzero((pool.nodes.keys == key).all(axis=1))
        if len(members):
            simplest = members[np.argmin(pool.nodes.complexity[members])]
            return build_expression(pool.symbols, pool.all_nodes, int(pool.member_nodes[simplest]))
        if self.task.options.pool == "strict":  # members may have been replaced, but their nodes are kept
            nodes = np.flatnonzero((pool.all_nodes.keys == key).all(axis=1))
            if len(nodes):
                simplest = nodes[np.argmin(pool.all_nodes.complexity[nodes])]
                return build_expression(pool.symbols, pool.all_nodes, int(simplest))
        node = _find_member_by_values(pool, evaluate_expression(part, self.columns))
        return None if node is None else build_expression(pool.symbols, pool.all_nodes, node)

    def find_pruned(self, part: Expression) -> PrunedFeature | None:
        """Find the last pruning step that removed a part of a formula.

        Parameters
        ----------
        part : Expression
            A part that is defined in every row and not in the final pool.

        Returns
        -------
        PrunedFeature or None
        """
        task = self.task
        for space, pruning in reversed(self.prunings):
            matches = find_by_key(space, compute_key(part), task.backend).features
            if not len(matches):
                values = evaluate_expression(part, self.columns)
                matches, _ = find_by_values(space, values, task.backend, task.chunk_size)
            if len(matches) and not np.isin(matches, pruning.numbers).any():
                return PrunedFeature(len(space.layer_counts) - 1, space, pick_simplest(space, matches))
        return None


def _find_member_by_values(pool: Pool, values: NDArray[np.float64]) -> int | None:
    """Return the node of the pool member with given values, shape (n,); None if there is none."""
    assert pool.feature_stats is not None  # noqa: S101  # scored spaces have values
    near = np.flatnonzero(
        np.abs(pool.feature_stats.projection - compute_projection(values[None])[0]) <= _PROJECTION_TOLERANCE
    )
    near = near[np.isin(near, pool.feature_indices)]
    near_values = pool.compute_values(near)
    matches = (
        near[is_equal_to_rounding(near_values, np.broadcast_to(values, near_values.shape))]
        if len(near)
        else near
    )
    return int(pool.member_nodes[matches[0]]) if len(matches) else None


def generate_with_prunings(task: ScreeningTask) -> GeneratedSpace:
    """Generate the space of a screen, and keep the pruning steps."""
    prunings: list[tuple[Space, PoolPruning]] = []
    space, _ = generate_presorted_space(
        task, lambda pruned_space, pruning: prunings.append((pruned_space, pruning))
    )
    return GeneratedSpace(task, space, tuple(prunings))

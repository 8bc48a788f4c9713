"""The parts of a formula, and the first of them that the data do not allow.

Other ways to write a formula, by sympy: for a space may reach one of them in fewer layers.

The sympy form is built from our own tree and walked back into one; no text is read. sympy sees polynomials of
low degree and their quotients only: functions stand for themselves as symbols, and what it might take long
over is not given to it.

Which feature of a space a formula is: by its canonical key, else by its values.

A space with the cuts that led to it, and what it holds in the place of a formula's part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import FormulaError
from symscreen.expansion import CandidateStatus
from symscreen.expansion.nodes import build_expression
from symscreen.expansion.validity import (
    compute_projection,
    is_cancellation_noise,
    is_constant,
    is_equal_to_rounding,
)
from symscreen.expressions.sympy_conversion import from_sympy
from symscreen.expressions.tree import (
    Call,
    Column,
    Constant,
    apply_operator,
    collect_columns,
    compute_complexity,
    compute_key,
    evaluate_expression,
    to_sympy,
    to_text,
)
from symscreen.screening.residual_rounds import build_space

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from symscreen._typing import Numbers
    from symscreen.backends import Backend
    from symscreen.data import Dataset
    from symscreen.expansion import PoolPruning, Space
    from symscreen.expansion.candidates import OperatorRange
    from symscreen.expansion.pool import Pool
    from symscreen.expressions.tree import Expression
    from symscreen.screening.residual_rounds import ScreenConfig

    Columns = Mapping[str, NDArray[np.float64]]

__all__ = [
    "DomainViolation",
    "GeneratedSpace",
    "KeyMatches",
    "PrunedFeature",
    "build_equivalent_forms",
    "describe_domain_violation",
    "find_by_key",
    "find_by_values",
    "find_undefined_part",
    "format_constant_part",
    "generate_with_prunings",
    "is_constant_on",
    "iterate_subexpressions",
    "pick_simplest",
]


def iterate_subexpressions(expression: Expression) -> Iterator[Expression]:
    """Yield a formula's parts, arguments before what is made of them, itself last.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> [str(part) for part in parts_of(parse_expression("log(a - b)"))]
    ['a', 'b', 'a - b', 'log(a - b)']
    """
    if isinstance(expression, Call):
        for argument in expression.arguments:
            yield from iterate_subexpressions(argument)
    yield expression


@dataclass(frozen=True, slots=True)
class DomainViolation:
    """A part that leaves its domain.

    Parameters
    ----------
    part : Expression
        The innermost such part.
    rows : int
        In how many rows it is undefined.
    row : int
        One of them, a place in the table.
    values : dict of str to float
        Its arguments there.
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
    Outside or None
        None where the formula is defined in every row.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> found = find_undefined_part(parse_expression("1 + log(a - 1)"), {"a": np.array([3.0, 0.5])})
    >>> str(found.part), found.rows, found.row, found.values
    ('log(a - 1)', 1, 1, {'a - 1': -0.5})
    """
    for part in iterate_subexpressions(expression):
        bad = np.flatnonzero(np.isnan(evaluate_expression(part, columns)))
        if len(bad):
            row = int(bad[0])
            arguments = part.arguments if isinstance(part, Call) else ()
            values = {to_text(each): float(evaluate_expression(each, columns)[row]) for each in arguments}
            return DomainViolation(part, len(bad), row, values)
    return None


def is_constant_on(expression: Expression, columns: Columns) -> bool:
    """Say whether a formula that is defined in every row is constant up to rounding.

    Parameters
    ----------
    expression : Expression
        The formula.
    columns : mapping of str to float64 array, shape (n,)
        The inputs.

    Returns
    -------
    bool
        By the tests that a candidate has to pass.
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
    # the few that might be the rounding of their terms are looked at row by row
    suspect = is_constant(low, high, terms.max(axis=1))[0]
    return bool(suspect and is_cancellation_noise(values, terms)[0])


def format_constant_part(expression: Expression, columns: Columns) -> str:
    """Name the innermost part that holds a column and is constant; the formula itself where no part is."""
    parts = (part for part in iterate_subexpressions(expression) if collect_columns(part))
    found = next((part for part in parts if is_constant_on(part, columns)), expression)
    return to_text(found)


def describe_domain_violation(
    expression: Expression, columns: Columns, row_numbers: NDArray[np.int64]
) -> dict[str, Any]:
    """Say where a formula leaves its domain, in the source's own rows.

    Parameters
    ----------
    expression : Expression
        The formula.
    columns : mapping of str to float64 array, shape (n,)
        The inputs.
    rows : int64 array, shape (n,)
        The source's number of each row, from 0.

    Returns
    -------
    dict
        The facts of a `Explanation`; empty where the formula is defined in every row.
    """
    found = find_undefined_part(expression, columns)
    if found is None:
        return {}
    names = sorted(collect_columns(found.part))
    used = {to_text(Column(name)): float(columns[name][found.row]) for name in names}
    return {
        "part": to_text(found.part),
        "n_undefined_rows": found.n_rows,
        "example_row": int(row_numbers[found.row]) + 1,
        "argument_values": found.argument_values | used,
    }


_MAX_COMPLEXITY = 40
_MAX_DEGREE = 12
_MAX_SYMBOLS = 6
_RATIONAL_OPERATORS = frozenset({"neg", "square", "cube", "inv", "add", "sub", "mul", "div"})
_POWER_DEGREES = {"square": 2, "cube": 3}


def build_equivalent_forms(expression: Expression) -> list[Expression]:
    """Write a formula in other ways: factored, expanded, over one denominator.

    Parameters
    ----------
    expression : Expression
        The formula.

    Returns
    -------
    list of Expression
        Equal to it by their canonical keys, and written otherwise; none where the formula is large.

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
    few = compute_complexity(rational) <= _MAX_COMPLEXITY and len(symbols) <= _MAX_SYMBOLS
    if not few or not isinstance(rational, Call) or _bound_degree(rational) > _MAX_DEGREE:
        return []
    import sympy

    form = to_sympy(rational)
    meant = {sympy.Symbol(symbol.name): part for part, symbol in symbols.items()}
    own, found = compute_key(expression), {expression: None}
    for rewrite in (sympy.factor, sympy.expand, sympy.together):
        try:
            other = from_sympy(rewrite(form), meant)
        except (FormulaError, sympy.PolynomialError):
            continue
        if compute_key(other) == own:
            found.setdefault(other)
    return list(found)[1:]


def _replace_with_symbols(expression: Expression, symbols: dict[Expression, Column]) -> Expression:
    """Put a symbol in the place of whatever is no sum, product, quotient or power of others."""
    if isinstance(expression, Constant):
        return expression
    if isinstance(expression, Call) and expression.operator.name in _RATIONAL_OPERATORS:
        return apply_operator(
            expression.operator, *(_replace_with_symbols(each, symbols) for each in expression.arguments)
        )
    return symbols.setdefault(expression, Column(f"part {len(symbols)}"))


def _bound_degree(expression: Expression) -> int:
    """Bound the degree of a rational formula, above and below the line together."""
    if not isinstance(expression, Call):
        return 1
    name, inner = expression.operator.name, [_bound_degree(each) for each in expression.arguments]
    # a sum of quotients has the product of their denominators below the line
    return sum(inner) if len(inner) == 2 else inner[0] * _POWER_DEGREES.get(name, 1)


_BATCH_CANDIDATES = 1 << 17  # candidates whose keys are worked out together
_AFFINE_TOLERANCE = 1e-9  # of the range: two affine copies agree to about 1e-15


@dataclass(frozen=True, eq=False)
class KeyMatches:
    """The candidates and features of a space that are equal to a formula by algebra.

    Parameters
    ----------
    kept : int64 array, shape (k,)
        Those that are features, as far as structure and domains tell: one at most, or a feature at hand and
        none; their numbers.
    pruned : int64 array, shape (p,)
        Candidates left out; their numbers in the space.
    """

    features: Numbers
    excluded: Numbers


@dataclass(frozen=True, eq=False)
class _KeyMatcher:
    """Finds a key among the candidates of a range of one operator."""

    space: Space
    key: NDArray[np.uint64]

    def __call__(self, task: tuple[OperatorRange, int, int]) -> Numbers:
        """Return candidates' numbers in the space."""
        segment, first, stop = task
        numbers = np.arange(first, stop)
        pool, operator = self.space.pool, self.space.pool.symbols.operators[segment.code]
        places = segment.decode(numbers)[: operator.arity]
        keys = operator.compute_fingerprint(*(pool.nodes.keys.take(place, axis=0) for place in places))
        found: Numbers = self.space.n_materialized + numbers[(keys == self.key).all(axis=1)]
        return found


def find_by_key(space: Space, canonical_key: tuple[int, int], backend: Backend) -> KeyMatches:
    """Look a canonical key up in a space, candidates that were left out included.

    Parameters
    ----------
    space : Space
        The space.
    own : pair of int
        What `symscreen.expressions.tree.compute_key` says of the formula.
    backend : Backend
        Where keys are worked out.

    Returns
    -------
    ByKey
    """
    key = np.array(canonical_key, dtype=np.uint64)
    at_hand = np.arange(space.n_materialized)
    found = [at_hand[(space.get_metadata(at_hand).keys == key).all(axis=1)]]
    tasks = [
        (segment, first, min(first + _BATCH_CANDIDATES, segment.start + segment.count))
        for segment in space.candidates.operator_ranges
        for first in range(segment.start, segment.start + segment.count, _BATCH_CANDIDATES)
    ]
    found += backend.map(_KeyMatcher(space, key), tasks)
    numbers = np.concatenate(found)
    new = np.maximum(numbers - space.n_materialized, 0)
    kept = numbers < space.n_materialized
    if len(space.statuses):
        kept |= space.statuses[new] == CandidateStatus.KEPT
    return KeyMatches(numbers[kept], numbers[~kept])


@dataclass(frozen=True, eq=False)
class _ValueMatcher:
    """Finds, in a range, features with some values, and affine copies of them."""

    space: Space
    values: NDArray[np.float64]

    def __call__(self, chunk: tuple[int, int]) -> tuple[Numbers, Numbers]:
        """Return the numbers of both."""
        low, high, middle = _select_three_rows(self.values)
        wanted = (self.values[middle] - self.values[low]) / (self.values[high] - self.values[low])
        none = np.zeros(0, dtype=np.int64)
        equal, copies = [none], [none]
        for block in self.space.evaluate_range(*chunk):
            first, last, between = (block.values[:, row] for row in (low, high, middle))
            with np.errstate(all="ignore"):
                near = np.abs((between - first) / (last - first) - wanted) <= 1e-6
            near |= np.abs(last - self.values[high]) <= _AFFINE_TOLERANCE * np.abs(self.values[high])
            places = np.flatnonzero(near)
            some = block.values[places]
            same = is_equal_to_rounding(some, np.broadcast_to(self.values, some.shape))
            equal.append(block.numbers[places[same]])
            copies.append(block.numbers[places[~same & _is_affine(some, self.values, low, high)]])
        return np.concatenate(equal), np.concatenate(copies)


def _select_three_rows(values: NDArray[np.float64]) -> tuple[int, int, int]:
    """Choose a row with the least value, one with the largest, and one that is far from both."""
    low, high = int(values.argmin()), int(values.argmax())
    far = np.minimum(values - values[low], values[high] - values)
    return low, high, int(far.argmax())


def _is_affine(
    candidates: NDArray[np.float64], values: NDArray[np.float64], low: int, high: int
) -> NDArray[np.bool_]:
    """Say which features are a·z + b of some values z, a not 0."""
    span = values[high] - values[low]
    with np.errstate(all="ignore"):
        slope = span / (candidates[:, high] - candidates[:, low])
        fitted = slope[:, None] * (candidates - candidates[:, low : low + 1]) + values[low]
        gap = np.abs(fitted - values).max(axis=1)
    return np.asarray(gap <= _AFFINE_TOLERANCE * span)


def find_by_values(
    space: Space, values: NDArray[np.float64], backend: Backend, chunk_size: int
) -> tuple[Numbers, Numbers]:
    """Look values up in a space.

    Parameters
    ----------
    space : Space
        The space, with values.
    values : float64 array, shape (n,)
        Finite and not constant.
    backend : Backend
        Where features are computed.
    chunk_size : int
        Candidates a task.

    Returns
    -------
    equal, copies : int64 arrays
        The numbers of the features that are equal to them up to rounding, and of those that differ by a
        factor and an offset.
    """
    none = np.zeros(0, dtype=np.int64)
    found = [(none, none), *backend.map(_ValueMatcher(space, values), space.split_chunks(chunk_size))]
    equal, copies = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return equal, copies


def pick_simplest(space: Space, numbers: Numbers) -> int:
    """Choose the simplest of some features, of equally simple ones the first by canonical key."""
    features = space.get_metadata(numbers)
    return int(numbers[np.lexsort((features.keys[:, 1], features.keys[:, 0], features.complexity))[0]])


_PROJECTION_TOLERANCE = 2e-9  # on the line of `projection`, features equal up to rounding stand closer


@dataclass(frozen=True, eq=False)
class PrunedFeature:
    """A feature that a cut took.

    Parameters
    ----------
    layer : int
        After which layer.
    space : Space
        What was cut.
    number : int
        The feature's number there.
    """

    layer: int
    space: Space
    number: int


@dataclass(frozen=True, eq=False)
class GeneratedSpace:
    """A space, and how it was grown.

    Parameters
    ----------
    table : Table
        The data.
    job : Job
        The screen.
    space : Space
        What the screen scores.
    cuts : tuple of (Space, Cut)
        The spaces that were cut on the way, with what stayed of each.
    """

    dataset: Dataset
    config: ScreenConfig
    space: Space
    prunings: tuple[tuple[Space, PoolPruning], ...]

    @property
    def columns(self) -> Mapping[str, NDArray[np.float64]]:
        """The inputs by name."""
        return dict(zip(self.dataset.names, self.dataset.columns, strict=True))

    def find_equivalent(self, part: Expression) -> Expression | None:
        """Return what the pool of the last layer has, or had, in the place of a formula's part.

        Parameters
        ----------
        part : Expression
            Defined in every row.

        Returns
        -------
        Expression or None
            Equal to it by algebra or, up to rounding, by its values; None where there is nothing.
        """
        pool = self.space.pool
        own = np.array(compute_key(part), dtype=np.uint64)
        members = np.flatnonzero((pool.nodes.keys == own).all(axis=1))
        if len(members):
            simplest = members[np.argmin(pool.nodes.complexity[members])]
            return build_expression(pool.symbols, pool.all_nodes, int(pool.member_nodes[simplest]))
        if (
            self.config.pool_kind == "strict"
        ):  # it has dropped what its members are made of, but for their nodes
            nodes = np.flatnonzero((pool.all_nodes.keys == own).all(axis=1))
            if len(nodes):
                simplest = nodes[np.argmin(pool.all_nodes.complexity[nodes])]
                return build_expression(pool.symbols, pool.all_nodes, int(simplest))
        place = _find_member_by_values(pool, evaluate_expression(part, self.columns))
        return None if place is None else build_expression(pool.symbols, pool.all_nodes, place)

    def find_pruned(self, part: Expression) -> PrunedFeature | None:
        """Find the last cut that took a formula's part.

        Parameters
        ----------
        part : Expression
            Defined in every row, and not in the pool any more.

        Returns
        -------
        Lost or None
        """
        request = self.config.scoring
        for space, cut in reversed(self.prunings):
            kept = find_by_key(space, compute_key(part), request.backend).features
            if not len(kept):
                values = evaluate_expression(part, self.columns)
                kept, _ = find_by_values(space, values, request.backend, request.chunk_size)
            if len(kept) and not np.isin(kept, cut.numbers).any():
                return PrunedFeature(len(space.layer_counts) - 1, space, pick_simplest(space, kept))
        return None


def _find_member_by_values(pool: Pool, values: NDArray[np.float64]) -> int | None:
    """Find the node of a member of a pool with some values."""
    assert pool.feature_stats is not None  # noqa: S101  # a space that is scored has values
    near = np.flatnonzero(
        np.abs(pool.feature_stats.projection - compute_projection(values[None])[0]) <= _PROJECTION_TOLERANCE
    )
    near = near[np.isin(near, pool.feature_indices)]
    found = pool.compute_values(near)
    same = near[is_equal_to_rounding(found, np.broadcast_to(values, found.shape))] if len(near) else near
    return int(pool.member_nodes[same[0]]) if len(same) else None


def generate_with_prunings(dataset: Dataset, config: ScreenConfig) -> GeneratedSpace:
    """Grow the space of a job, and keep what was cut.

    Parameters
    ----------
    table : Table
        The data.
    job : Job
        The screen.

    Returns
    -------
    Grown
    """
    cuts: list[tuple[Space, PoolPruning]] = []
    space, _ = build_space(dataset, config, lambda before, cut: cuts.append((before, cut)))
    return GeneratedSpace(dataset, config, space, tuple(cuts))

"""Find laws y = M(x) · θ^q · h(s·θ)^p with a number s inside h, such as 1/(exp(0.16·v/(k·T)) − 1).

θ is a product of powers of the inputs, as in `symscreen.fitting.laws.single_index`. Among rows of similar θ,
log|y| is linear in the logarithms of the inputs, which gives the exponents of M for every h. They are
determined up to a power of θ. Many functions h and scales s, with simple exponents p and q, are then compared
on the scale of y at the cost of matrix products. So noise disturbs less than in fits of free exponents.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.expressions.traversal import (
    collect_operator_names,
    compute_complexity,
    evaluate_expression,
    iterate_calls,
    iterate_postorder,
    rebuild_expression,
)
from symscreen.expressions.tree import Column, Constant, apply_operator
from symscreen.fitting.laws.exponents import count_allowed_exponents
from symscreen.fitting.laws.formula_pool import grow_formula_pool
from symscreen.fitting.laws.law import Law
from symscreen.fitting.laws.law_selection import list_operator_names
from symscreen.fitting.laws.power_expressions import build_power_product, list_column_powers
from symscreen.fitting.laws.refinement import count_fitted_constants
from symscreen.fitting.laws.unit_lattice import find_null_space
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.expressions.tree import Call, Expression
    from symscreen.fitting.laws.law import LawData
    from symscreen.fitting.laws.log_scale import LogScale
    from symscreen.grammar import Grammar


INDEX_NAME = "θ"
"""Name of the only variable of h."""

FUNCTION_POWERS = tuple(Fraction(*each) for each in ((1, 1), (-1, 1), (1, 2), (-1, 2), (2, 1), (-2, 1)))
"""Exponents p of h."""

_N_FORMULAS = 500  # number of formulas of one variable, among which h is searched
_EQUAL_CORRELATION = 1.0 - 1e-10  # correlation of functions that differ only by a power and a factor
_SCALE_RATIO = 1.3  # ratio of neighbouring scales
_GEOMETRIC_SCALES = _SCALE_RATIO ** np.arange(-13, 14)  # scales s, relative to the inverse of a mean θ
_N_FREQUENCIES = 64  # number of scales of waves, in steps of a quarter of a period over the range of θ
_INDEX_POWERS = tuple(Fraction(numerator, 2) for numerator in range(-8, 9))  # exponents q of θ
_N_REFINED = 60  # functions h for each θ whose scales are refined
_N_REFINEMENTS = 4  # rounds in which scales are refined
_N_NEAR = 9  # scales that a round tries around the best one
_MAX_GRID_ROWS = 300  # largest number of rows on which all functions are compared at all scales
_MAX_REFINED_ROWS = 2_000  # largest number of rows in the last rounds of refinement
_N_LAWS = 4  # laws that are returned for each θ and complexity of h
_MAX_ROUNDING = 0.2  # largest distance of an exponent of M from a multiple of 1/2
_WAVES = frozenset({"sin", "cos", "tan"})
_TRANSCENDENTAL = _WAVES | {"exp", "log", "tanh", "asin", "acos"}


@dataclass(frozen=True, eq=False)
class _ScaledFunction:
    """A function h with its scale s and exponent p, the exponent q, and the share of y² that they leave."""

    function: Expression
    scale: float
    power: Fraction
    index_power: Fraction
    share: float


def find_scaled_index_laws(
    index: Sequence[Fraction], n_indices: float, data: LawData, scale: LogScale
) -> list[Law]:
    """Find laws y = c · M(x) · θ^q · h(s·θ)^p with a fitted number s.

    Parameters
    ----------
    index : sequence of Fraction
        Exponents in θ of the inputs without zeros; at least one is not 0.
    n_indices : float
        Number of products θ that this one was chosen from.
    data : LawData
        Inputs, target and grammar.
    scale : LogScale
        The logarithms of target and inputs.

    Returns
    -------
    list of Law
        Laws without an intercept, whose s is marked as fitted; best first. There are at most four for each
        complexity of h.

    Examples
    --------
    >>> from symscreen.expressions.traversal import iterate_constants
    >>> from symscreen.fitting.laws.law import LawData
    >>> from symscreen.fitting.laws.log_scale import compute_log_scale
    >>> from symscreen.grammar import load_grammar
    >>> rng = np.random.default_rng(0)
    >>> n, v = rng.uniform(1, 3, (2, 300))
    >>> target, grammar = n * np.tanh(0.7 * v), load_grammar("standard")
    >>> data = LawData({"n": n, "v": v}, target, grammar, pool_limit=2000)
    >>> scale = compute_log_scale(data.columns, data.target)
    >>> laws = find_scaled_index_laws([Fraction(0), Fraction(1)], 1.0, data, scale)
    >>> (number,) = (each for each in iterate_constants(laws[0].terms[0]) if each.fitted)
    >>> print(round(number.value, 3))
    0.7
    """
    outer = estimate_outer_exponents(index, scale)
    if outer is None:
        return []
    search = _IndexSearch(index, outer, data, scale)
    laws = (search.build_law(candidate, n_indices) for candidate in search.find_candidates())
    return [law for law in laws if law is not None and data.allows(law)]


def estimate_outer_exponents(index: Sequence[Fraction], scale: LogScale) -> list[Fraction] | None:
    """Estimate the exponents of M from rows of similar θ.

    Parameters
    ----------
    index : sequence of Fraction
        Exponents of θ.
    scale : LogScale
        The logarithms of target and inputs.

    Returns
    -------
    list of Fraction or None
        Multiples of 1/2. One input of θ has the exponent 0, because M is determined up to a power of θ. None
        if the estimates are not close to multiples of 1/2.
    """
    powers = np.array([float(power) for power in index])
    n = len(scale.target)
    n_bins = max(1, min(100, n // 15))
    order = np.argsort(scale.design[:, 1:] @ powers, kind="stable")
    bins = np.arange(n) * n_bins // n
    weights = scale.weights[order] ** 2
    directions = np.eye(len(powers)) if scale.lattice is None else scale.lattice.free_directions
    # M is determined up to a power of θ: one direction less is free
    directions = directions @ find_null_space((directions.T @ powers)[:, None])
    columns = np.column_stack([(scale.design[:, 1:] @ directions)[order], scale.free_target[order]])
    totals = np.maximum(np.bincount(bins, weights, n_bins), 1e-300)
    for k in range(columns.shape[1]):
        columns[:, k] -= (np.bincount(bins, weights * columns[:, k], n_bins) / totals)[bins]
    estimates = scale.target_powers
    if directions.shape[1]:
        root = np.sqrt(weights)[:, None]
        solution, _, rank, _ = np.linalg.lstsq(
            columns[:, :-1] * root, columns[:, -1] * root[:, 0], rcond=None
        )
        if rank < directions.shape[1]:
            return None
        estimates = estimates + directions @ solution
    omitted = min(np.flatnonzero(powers), key=lambda k: (abs(powers[k]), k))
    estimates = estimates - estimates[omitted] / powers[omitted] * powers
    exponents = [Fraction(round(2.0 * value), 2) for value in estimates.tolist()]
    distances = [abs(value - float(power)) for value, power in zip(estimates, exponents, strict=True)]
    if max(distances) > _MAX_ROUNDING:
        return None
    return exponents


@lru_cache(maxsize=8)
def list_functions(grammar: Grammar) -> tuple[Expression, ...]:
    """Return the simple functions h of one variable.

    If functions differ only by powers of h and of the variable, one of them is returned. Functions for which
    a scale has the effect of a power, such as exp(θ), have no scale of their own and are left out. So are
    exponentials, logarithms, waves and their inverses inside each other, and functions in which the variable
    occurs twice, except for the hyperbolic sine and cosine.
    """
    # numbers other than 1 are scales
    one = tuple(value for value in grammar.constants if value == 1.0)
    variable = np.exp(np.linspace(np.log(0.05), np.log(4.0), 101))
    pool = grow_formula_pool({INDEX_NAME: variable}, replace(grammar, constants=one), _N_FORMULAS)
    grown = [
        function
        for function in map(pool.build_expression, range(len(pool)))
        if sum(isinstance(part, Column) for part in iterate_postorder(function)) == 1
        and not any(map(_is_superfluous, iterate_calls(function)))
    ]
    functions: list[Expression] = []
    directions = np.empty((0, len(variable)))
    for function in (*grown, *_build_hyperbolic_functions(grammar)):
        own, other = (_compute_direction(function, factor * variable) for factor in (1.0, 1.3))
        if own is None or other is None or abs(own @ other) > _EQUAL_CORRELATION:
            continue
        if (np.abs(directions @ own) > _EQUAL_CORRELATION).any():
            continue
        functions.append(function)
        directions = np.vstack([directions, own])
    return tuple(functions)


def _build_hyperbolic_functions(grammar: Grammar) -> list[Expression]:
    """Build exp(θ) ± exp(−θ) with the operators of a grammar."""
    names = list_operator_names(grammar)
    if not {"exp", "sub"} <= names:
        return []
    rising, falling = (
        apply_operator(OPERATORS["exp"], argument)
        for argument in (Column(INDEX_NAME), apply_operator(OPERATORS["neg"], Column(INDEX_NAME)))
    )
    return [apply_operator(OPERATORS[name], rising, falling) for name in ("add", "sub") if name in names]


@lru_cache(maxsize=1024)
def _is_symmetric(function: Expression) -> bool:
    """Return whether a function is even or odd, so that negative scales have nothing to add."""
    variable = np.linspace(0.1, 1.4, 30)
    with np.errstate(all="ignore"):
        values, mirrored = (
            np.abs(evaluate_expression(function, {INDEX_NAME: sign * variable})) for sign in (1, -1)
        )
    return bool(np.allclose(values, mirrored, rtol=1e-9, atol=0.0))


def _is_superfluous(call: Call) -> bool:
    """Return whether a part of a function is 1/θ or a nesting that is left out."""
    name, arguments = call.operator.name, call.arguments
    if name == "inv" and arguments[0] == Column(INDEX_NAME):
        return True  # 1/θ is tried as a separate variable
    return name in _TRANSCENDENTAL and bool(collect_operator_names(*arguments) & _TRANSCENDENTAL)


def _compute_direction(function: Expression, variable: Values) -> Values | None:
    """Return log|h| without its part in 1 and log θ, of norm 1; None if nothing is left."""
    values = evaluate_expression(function, {INDEX_NAME: variable})
    if not np.isfinite(values).all() or not values.all():
        return None
    logs = np.log(np.abs(values))
    basis = np.linalg.qr(np.column_stack([np.ones(len(variable)), np.log(variable)]))[0]
    remainder = logs - basis @ (basis.T @ logs)
    norm = float(np.linalg.norm(remainder))
    return None if norm <= 1e-9 * (1.0 + float(np.linalg.norm(logs))) else remainder / norm


@dataclass(frozen=True, eq=False)
class _Rows:
    """θ and y on some rows, shape (m,), and M·θ^q for all q, shape (17, m)."""

    variable: Values
    target: Values
    outer_products: Values

    @lockfree_cached_property
    def target_products(self) -> Values:
        """M·θ^q·y for all q, shape (17, m)."""
        return self.outer_products * self.target

    @lockfree_cached_property
    def outer_squares(self) -> Values:
        """(M·θ^q)² for all q, shape (17, m)."""
        return self.outer_products**2

    @lockfree_cached_property
    def target_square(self) -> float:
        """Σ y²."""
        return float(self.target @ self.target)

    @property
    def is_valid(self) -> bool:
        """Whether θ varies, and it and at least one product are defined in all rows."""
        is_defined = np.isfinite(self.variable).all() and self.variable.all() and np.ptp(self.variable) > 0.0
        return bool(is_defined and np.isfinite(self.outer_products).all(axis=1).any())


class _IndexSearch:
    """The search of h for one θ and M."""

    def __init__(
        self, index: Sequence[Fraction], outer: Sequence[Fraction], data: LawData, scale: LogScale
    ) -> None:
        self.data, self.scale, self.names, self.outer = data, scale, scale.names, outer
        self.functions = list_functions(data.grammar)
        self.index_powers = list(index)
        self.index = build_power_product(list_column_powers(zip(scale.names, index, strict=True)))
        self.few_rows = self._take(data.pool_rows)

    def _take(self, rows: NDArray[np.int64]) -> _Rows:
        """Evaluate θ and M·θ^q on some rows."""
        columns = {name: values[rows] for name, values in self.data.columns.items()}
        products = [
            evaluate_expression(self._build_outer_product(power), columns) * np.ones(len(rows))
            for power in _INDEX_POWERS
        ]
        return _Rows(evaluate_expression(self.index, columns), self.data.target[rows], np.array(products))

    def _list_outer_powers(self, index_power: Fraction) -> list[Fraction]:
        """Return the exponents of the inputs in M·θ^q."""
        return [own + index_power * power for own, power in zip(self.outer, self.index_powers, strict=True)]

    def _build_outer_product(self, index_power: Fraction) -> Expression:
        """Build M·θ^q; the number 1 without inputs."""
        powers = self._list_outer_powers(index_power)
        return build_power_product(list_column_powers(zip(self.names, powers, strict=True)))

    def find_candidates(self) -> list[_ScaledFunction]:
        """Return the best functions with their scales and exponents, best first."""
        if not self.few_rows.is_valid:
            return []
        magnitude = float(np.exp(np.log(np.abs(self.few_rows.variable)).mean()))
        geometric = np.asarray(_GEOMETRIC_SCALES / magnitude, dtype=np.float64)
        step = np.pi / 2.0 / float(np.ptp(self.few_rows.variable))
        frequencies: Values = np.concatenate([geometric, step * np.arange(1, _N_FREQUENCIES + 1)])
        candidates = []
        grid_rows = self._take(self.data.select_rows(_MAX_GRID_ROWS))
        for function in self.functions:
            scales = frequencies if collect_operator_names(function) & _WAVES else geometric
            if not _is_symmetric(function):
                scales = np.concatenate([scales, -scales])
            candidates += self._compare(function, scales, 2, grid_rows)
        best = sorted(candidates, key=lambda candidate: candidate.share)[:_N_REFINED]
        more_rows = self._take(self.data.select_rows(_MAX_REFINED_ROWS))
        width = 1.0
        for place in range(_N_REFINEMENTS):
            rows = self.few_rows if place < _N_REFINEMENTS // 2 else more_rows
            best = list(self._refine(best, width, step, rows))
            width *= 2.0 / (_N_NEAR - 1)
        counts: dict[int, int] = {}
        chosen, known = [], set()
        for each in sorted(best, key=lambda each: (each.share, compute_complexity(each.function))):
            key = (each.function, round(each.scale * magnitude, 3))
            size = compute_complexity(each.function)
            if key not in known and counts.get(size, 0) < _N_LAWS:
                known.add(key)
                counts[size] = counts.get(size, 0) + 1
                chosen.append(each)
        return chosen

    def _refine(
        self, candidates: Sequence[_ScaledFunction], width: float, step: float, rows: _Rows
    ) -> Iterator[_ScaledFunction]:
        """Try scales around that of each candidate, up to the next one of the grid times a width."""
        for candidate in candidates:
            distance = width * min(step, abs(candidate.scale) * (_SCALE_RATIO - 1.0))
            near: Values = candidate.scale + distance * np.linspace(-1.0, 1.0, _N_NEAR)
            yield from self._compare(
                candidate.function,
                near,
                1,
                rows,
                (candidate.power,),
                _INDEX_POWERS if rows is self.few_rows else (candidate.index_power,),
            )

    def _compare(
        self,
        function: Expression,
        scales: Values,
        n_kept: int,
        rows: _Rows | None = None,
        powers: Sequence[Fraction] = FUNCTION_POWERS,
        index_powers: Sequence[Fraction] = _INDEX_POWERS,
    ) -> list[_ScaledFunction]:
        """Return a function with its best scales and exponents q for each exponent p.

        The share is that of Σ y² which y = c·M·θ^q·h(s·θ)^p leaves with the best c.
        """
        rows = self.few_rows if rows is None else rows
        target_products, outer_squares = rows.target_products, rows.outer_squares
        if index_powers is not _INDEX_POWERS:
            places = [_INDEX_POWERS.index(power) for power in index_powers]
            target_products, outer_squares = target_products[places], outer_squares[places]
        n_scales = len(scales)
        shares = np.full((len(powers), len(index_powers), n_scales), np.inf)
        with np.errstate(all="ignore"):
            arguments = (scales[:, None] * rows.variable).ravel()
            values = evaluate_expression(function, {INDEX_NAME: arguments}).reshape(n_scales, -1)
            for place, power in enumerate(powers):
                raised = _raise(values, power)
                products = raised @ target_products.T
                squares = raised**2 @ outer_squares.T
                shares[place] = 1.0 - (products**2 / squares / rows.target_square).T
        shares = np.where(np.isfinite(shares), shares, np.inf)
        candidates = []
        for p, of_power in enumerate(shares):
            best_of_scale = of_power.min(axis=0)
            for chosen in np.argsort(best_of_scale, kind="stable")[:n_kept].tolist():
                if np.isfinite(best_of_scale[chosen]):
                    q = int(np.argmin(of_power[:, chosen]))
                    share = float(best_of_scale[chosen])
                    candidates.append(
                        _ScaledFunction(function, float(scales[chosen]), powers[p], index_powers[q], share)
                    )
        return candidates

    def build_law(self, candidate: _ScaledFunction, n_indices: float) -> Law | None:
        """Build the law of a candidate; None if it is undefined in some row."""
        argument = apply_operator(OPERATORS["mul"], Constant(candidate.scale, fitted=True), self.index)
        function = rebuild_expression(candidate.function, column=lambda _: argument)
        powers = self._list_outer_powers(candidate.index_power)
        if any(power.denominator > 2 for power in powers):
            return None
        outer = list_column_powers(zip(self.names, powers, strict=True))
        term = build_power_product([*outer, (function, candidate.power)])
        if not np.isfinite(evaluate_expression(term, self.data.columns)).all():
            return None
        n_functions = len(self.functions) * len(FUNCTION_POWERS)
        return Law(
            (term,),
            has_intercept=False,
            search_size=n_indices * n_functions * count_allowed_exponents(powers, self.scale),
            n_constants=count_fitted_constants(term),
        )


def _raise(values: Values, power: Fraction) -> Values:
    """Raise values to a power of 1, 2 or 1/2, or their inverses."""
    if power.denominator == 2:
        raised = np.sqrt(values)
    else:
        raised = values if abs(power.numerator) == 1 else values**2
    return 1.0 / raised if power < 0 else raised

"""Find sums and products of curves of two inputs, such as y = a + b·exp(−p·x) + c·log(z + q).

A curve has one constant inside, see `symscreen.fitting.laws.curve_shapes`. The laws are

    y/C = b₀ + b₁·φ(x) + b₂·ψ(z) + b₃·w    and    y/C = b₀ + b₁·φ(x)·ψ(z),

where C is a power product that the data show to be a factor of y, or 1, and w is another input or nothing.

Constants are tried on grids. The best coefficients of all pairs of two grids follow from a few products of
matrices. The best pairs of shapes are fitted on the scale of y/C.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.tree import Column, Constant
from symscreen.fitting.laws.curve_fits import MAX_VALUE, improve_constants, solve_terms
from symscreen.fitting.laws.curve_shapes import apply_by_name, get_range, list_simple_shapes
from symscreen.fitting.laws.law_selection import (
    list_operator_names,
    round_share,
    select_laws,
    select_spread_rows,
)
from symscreen.fitting.laws.sum_laws import build_sum_law, find_rounding_terms
from symscreen.fitting.laws.target_scales import SCALES, build_response, find_most_factors, predict_target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from symscreen._typing import Flags, Values
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.curve_shapes import CurveShape
    from symscreen.fitting.laws.law import Law, LawData
    from symscreen.fitting.laws.target_scales import Powers, Response


_MIN_ROWS = 20  # number of rows that the search needs
_MAX_ROWS = 250  # largest number of rows that the search uses
_MAX_INPUTS = 6  # largest number of inputs whose pairs are tried
_N_FIRST_STEPS = 2  # Gauss-Newton steps of the first fit
_N_STARTED = 120  # pairs of shapes that have a first fit
_N_STEPS = 12  # steps of the second fit, which only the best ones have
_N_FITTED = 40  # pairs of shapes that have a second fit
_N_SIZES = 3  # numbers of coefficients and constants among which the laws are divided
_MIN_LEFT = 1e-10  # share of a curve's square that the other terms must leave
_MAX_CONTRIBUTION = 1e4  # largest value of a term relative to the response; larger terms nearly cancel out


@dataclass(frozen=True, eq=False)
class _Curves:
    """The curves of an input: for each shape the constants of its grid, shape (g, 1), and the values."""

    name: str
    shapes: list[CurveShape]
    constants: list[Values]
    values: list[Values]


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two curves with their constants, shape (2,), and what is added; the curves are multiplied or added."""

    response: Response
    names: tuple[str, str]
    shapes: tuple[CurveShape, CurveShape]
    constants: Values
    added: str | None
    is_product: bool
    n_tried: int
    has_intercept: bool = True


def find_curve_pairs(data: LawData) -> list[Law]:
    """Find the best sums and products of curves of two inputs with a constant inside each curve.

    Parameters
    ----------
    data : LawData
        Inputs, target and grammar. With units, there are no laws, because the constants would have units.

    Returns
    -------
    list of Law
        Laws whose inner constants are marked as fitted, best first, with and without an intercept.

    Examples
    --------
    >>> from symscreen.fitting.laws.law import LawData
    >>> from symscreen.grammar import load_grammar
    >>> x, z = np.random.default_rng(0).uniform(1, 5, (2, 200))
    >>> target = 2 * np.exp(-0.4 * x) + 3 * np.log(z + 0.7)
    >>> law = find_curve_pairs(LawData({"x": x, "z": z}, target, load_grammar("basic")))[0]
    >>> [term.operator.name for term in law.terms]
    ['exp', 'log']
    """
    if data.units is not None or len(data.target) < _MIN_ROWS or not 2 <= len(data.columns) <= _MAX_INPUTS:
        return []
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return _PairSearch(data).find_laws()


class _PairSearch:
    """The search of one problem on some of its rows."""

    def __init__(self, data: LawData) -> None:
        self.data = data
        self.operators = list_operator_names(data.grammar)
        rows = select_spread_rows(data, _MAX_ROWS)
        self.columns = {name: values[rows] for name, values in data.columns.items()}
        self.target = data.target[rows]
        centered = self.target - self.target.mean()
        self.total = float(centered @ centered)
        self.n_pairs = 0

    def find_laws(self) -> list[Law]:
        """Return the best laws of all pairs of inputs."""
        ranked = [each for response in self._list_responses() for each in self._rank_pairs(response)]
        ranked.sort(key=lambda each: each[0])
        started = [self._fit(pair, _N_FIRST_STEPS) for _, pair in ranked[:_N_STARTED]]
        started.sort(key=lambda each: each[0])
        fitted = [
            self._fit(replace(pair, has_intercept=has_intercept), _N_STEPS)
            for _, pair in started[:_N_FITTED]
            for has_intercept in (True, False)
        ]
        return select_laws([law for each in fitted for law in self._write_laws(*each)], _N_SIZES)

    def _list_responses(self) -> Iterator[Response]:
        """Yield y, and y/C if the data show a factor C that leaves two other inputs."""
        (scale,) = (each for each in SCALES if each.inverse_name == "id")
        factored = find_most_factors((self.columns, self.target), (self.data.columns, self.data.target))
        powers = {name: power for name, power in factored.items() if power}
        choices: list[Powers] = [{}, powers] if powers else [{}]
        for chosen in choices:
            response = build_response(scale, chosen, self.columns, self.target)
            if response is not None and len(self.columns) - len(response.powers) >= 2:
                yield response

    def _rank_pairs(self, response: Response) -> Iterator[tuple[float, _Pair]]:
        """Yield the best constants of each pair of shapes, with the share of the response that is left."""
        names = [
            name for name, x in self.columns.items() if name not in response.powers and get_range(x) > 0.0
        ]
        for is_product in (False, True):
            curves = {name: self._evaluate_curves(name, has_factors=is_product) for name in names}
            for first, second in combinations(names, 2):
                added: list[str | None] = [None]
                if not is_product:
                    added += [name for name in names if name not in {first, second}]
                for other in added:
                    yield from self._rank_shapes(response, curves[first], curves[second], other, is_product)

    def _evaluate_curves(self, name: str, *, has_factors: bool) -> _Curves:
        """Evaluate the curves of an input on the grids of their constants."""
        x = self.columns[name]
        curves = _Curves(name, [], [], [])
        for shape in list_simple_shapes(x, has_factors=has_factors):
            if not shape.operators <= self.operators:
                continue
            constants = shape.list_constants(x)
            with np.errstate(all="ignore"):
                (values,) = shape.evaluate(x, constants)
            is_used = (np.abs(values) < MAX_VALUE).all(axis=1) & (values.max(axis=1) > values.min(axis=1))
            if is_used.any():
                curves.shapes.append(shape)
                curves.constants.append(constants[is_used])
                # the scale of a curve has no effect, and squares must not overflow
                used = values[is_used]
                curves.values.append(used / np.abs(used).max(axis=1, keepdims=True))
        return curves

    def _rank_shapes(
        self, response: Response, first: _Curves, second: _Curves, added: str | None, is_product: bool
    ) -> Iterator[tuple[float, _Pair]]:
        """Yield the best constants of each pair of shapes of two inputs."""
        base = np.vstack([np.ones(len(self.target)), *([self.columns[added]] if added else [])])
        compute = _compute_product_shares if is_product else _compute_sum_shares
        for i, j in product(range(len(first.shapes)), range(len(second.shapes))):
            shares = compute(first.values[i], second.values[j], base, response)
            self.n_pairs += 1
            place = int(np.argmin(shares))
            if not np.isfinite(shares.flat[place]):
                continue
            rows = divmod(place, shares.shape[1])
            shapes = first.shapes[i], second.shapes[j]
            grids = first.constants[i], second.constants[j]
            constants = np.array([float(grid[row, 0]) for grid, row in zip(grids, rows, strict=True)])
            n_tried = 1
            for shape, grid in zip(shapes, grids, strict=True):
                n_tried *= len(grid) if shape.is_local else 1
            yield (
                float(shares.flat[place]),
                _Pair(response, (first.name, second.name), shapes, constants, added, is_product, n_tried),
            )

    def _make_term_function(self, pair: _Pair) -> Callable[[Values], Values]:
        """Make the function that maps constants, shape (g, 2), to the terms, shape (g, m, n)."""
        x, z = (self.columns[name] for name in pair.names)
        base = [np.ones(len(x))] if pair.has_intercept else []
        base += [self.columns[pair.added]] if pair.added else []

        def evaluate_terms(constants: Values) -> Values:
            with np.errstate(all="ignore"):
                (first,) = pair.shapes[0].evaluate(x, constants[:, :1])
                (second,) = pair.shapes[1].evaluate(z, constants[:, 1:])
                curves = [first * second] if pair.is_product else [first, second]
            return np.stack([*(np.broadcast_to(each, first.shape) for each in base), *curves], axis=1)

        return evaluate_terms

    def _fit(self, pair: _Pair, n_steps: int) -> tuple[float, _Pair]:
        """Fit the constants in some steps; return the share RSS/TSS, which is infinite if that fails."""
        evaluate_terms, response = self._make_term_function(pair), pair.response
        target = response.values * response.weights
        constants = improve_constants(pair.constants, evaluate_terms, target, response.weights, n_steps)
        fitted = replace(pair, constants=constants)
        term_values = evaluate_terms(constants[None])[0]
        coefficients = solve_terms(term_values * response.weights, target)
        if coefficients is None:
            return np.inf, fitted
        contributions = np.abs(term_values * coefficients[:, None] * response.weights).max()
        residuals = self.target - predict_target(response, coefficients @ term_values)
        share = float(residuals @ residuals) / self.total
        is_usable = np.isfinite(share) and contributions <= _MAX_CONTRIBUTION * np.abs(target).max()
        return (share if is_usable else np.inf), fitted

    def _write_laws(self, share: float, pair: _Pair) -> Iterator[tuple[float, Law]]:
        """Yield a fitted pair as a law, with the rounded share, if the grammar allows it."""
        if not np.isfinite(share):
            return
        response = pair.response
        term_values = self._make_term_function(pair)(pair.constants[None])[0]
        coefficients = solve_terms(term_values * response.weights, response.values * response.weights)
        if coefficients is None:
            return
        if find_rounding_terms(term_values * coefficients[:, None])[int(pair.has_intercept) :].any():
            return
        curves = [
            shape.build(Column(name), pair.constants[[k]], np.ones(1))[0]
            for k, (name, shape) in enumerate(zip(pair.names, pair.shapes, strict=True))
        ]
        if pair.is_product:
            curves = [apply_by_name("mul", *curves)]
        terms: list[Expression] = [Constant(1)] if pair.has_intercept else []
        terms += [*([Column(pair.added)] if pair.added else []), *curves]
        law = build_sum_law(response, terms, coefficients, float(self.n_pairs) * pair.n_tried)
        if law is not None and self.data.allows(law):
            yield round_share(share), replace(law, n_constants=law.n_constants + len(pair.names))


def _compute_sum_shares(first: Values, second: Values, base: Values, response: Response) -> Values:
    """Compute the shares that sums of two curves and the base leave of a response, shape (g, h).

    Parameters
    ----------
    first, second : float64 array, shapes (g, n) and (h, n)
        Curves of two inputs.
    base : float64 array, shape (m, n)
        Terms that are always added.
    response : Response
        The response and its weights.
    """
    basis = np.linalg.qr((base * response.weights).T)[0]

    def project(values: Values) -> tuple[Values, Flags]:
        """Project the base out of weighted values, shape (q, n); return also which are distinct from it."""
        weighted = values * response.weights
        left = weighted - (weighted @ basis) @ basis.T
        squares = (left**2).sum(axis=1)
        return left, np.asarray(squares > _MIN_LEFT * (weighted**2).sum(axis=1))

    (target,), _ = project(response.values[None])
    left, is_left = project(first)
    right, is_right = project(second)
    a, b, crossed = left @ target, right @ target, left @ right.T
    own, other = (left**2).sum(axis=1)[:, None], (right**2).sum(axis=1)[None]
    with np.errstate(all="ignore"):
        determinant = own * other - crossed**2
        gain = (a[:, None] ** 2 * other - 2.0 * np.outer(a, b) * crossed + b[None] ** 2 * own) / determinant
    is_distinct = is_left[:, None] & is_right[None] & (determinant > _MIN_LEFT * own * other)
    return np.where(is_distinct, 1.0 - gain / float(target @ target), np.inf)


def _compute_product_shares(first: Values, second: Values, base: Values, response: Response) -> Values:
    """Compute the shares that products of two curves and an intercept leave of a response, shape (g, h)."""
    del base  # it is the number 1
    weights = response.weights
    ones = weights / np.linalg.norm(weights)
    target = response.values * weights
    target = target - (target @ ones) * ones
    explained = (first * (target * weights)) @ second.T
    means = (first * (ones * weights)) @ second.T
    squares = (first**2 * weights**2) @ (second**2).T
    left = squares - means**2
    with np.errstate(all="ignore"):
        gain = explained**2 / left
    return np.where(left > _MIN_LEFT * squares, 1.0 - gain / float(target @ target), np.inf)

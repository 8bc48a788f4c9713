"""Find laws with a curve of one input and free constants inside it, such as y = a + b·exp(−c·t).

A curve φ(x) has up to three constants inside, see `symscreen.fitting.laws.curve_shapes`. The law is linear in
a scale t of the target, as in `symscreen.fitting.laws.transformed_sums`:

    t(y/C) = Σ bₖ·Bₖ + b·A·φ(x).

C is a power product that the data show to be a factor of y. A is 1, another input or its inverse, or the
product, quotient or difference of two others, or an input plus a constant. The terms Bₖ are the number 1, x
itself and other inputs, at most two of them. On the scale of y, they are also functions of one input, such as
z², and products of two others. So 1/y finds the logistic curve K/(1 + b·exp(−r·t)), and log y
finds Gompertz's K·exp(−b·exp(−c·t)).

The constants inside are tried on a grid. All combinations of one grid cost a product of matrices, because the
other coefficients are those of least squares. The best of each kind are fitted on the scale of the response.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import Call, Column, Constant
from symscreen.fitting.laws.curve_fits import MAX_VALUE, are_usable, improve_constants, solve_terms
from symscreen.fitting.laws.curve_shapes import add_number, apply_by_name, get_range, list_shapes
from symscreen.fitting.laws.law_selection import (
    PLAIN_OPERATORS,
    list_operator_names,
    round_share,
    select_laws,
    select_spread_rows,
)
from symscreen.fitting.laws.sum_laws import build_sum_law, find_rounding_terms
from symscreen.fitting.laws.target_scales import (
    SCALES,
    build_response,
    find_most_factors,
    predict_target,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.curve_shapes import CurveShape
    from symscreen.fitting.laws.law import Law, LawData
    from symscreen.fitting.laws.target_scales import Powers, Response


_MIN_ROWS = 12  # number of rows that the search needs
_MAX_ROWS = 250  # largest number of rows that the search uses
# names of the functions g; the target is transformed by the inverse of g
_INVERSE_NAMES = frozenset({"id", "inv", "exp", "sqrt", "inverse sqrt"})
_MAX_INPUTS = 8  # largest number of inputs of a table in which other inputs are factors A or terms B
# functions of one input that are terms B on the scale of y
_BASE_FUNCTIONS = ("square", "cube", "inv", "sqrt", "log")
_MAX_PAIRED_INPUTS = 3  # largest number of other inputs whose pairs, or shifted values, are factors A
# The size of a combination is the number of its coefficients and constants.
_N_PER_SIZE = 120  # combinations of each size that are fitted in a few steps
_N_FIRST_STEPS = 2  # Gauss-Newton steps of the first fit of a combination
_N_STEPS = 12  # Gauss-Newton steps of the second fit, which only the best combinations have
_N_FITTED_PER_SIZE = 40  # combinations of each size that may have a second fit
_MAX_RSS_RATIO = 100.0  # largest RSS for a second fit, relative to the least of this and smaller sizes
_N_SIZES = 6  # number of sizes among which the laws that are returned are divided
_MAX_CONTRIBUTION = 1e5  # largest value of a term relative to the response; larger terms nearly cancel out
_MIN_LEFT = 1e-10  # share of a curve's square that the terms B must leave


@dataclass(frozen=True, eq=False)
class _Combination:
    """A response, an input, its curve with the best constants of `n_tried`, a factor A, and the terms B.

    With `is_shifted`, the factor is A plus a constant.
    """

    response: Response
    name: str
    shape: CurveShape
    constants: Values
    n_tried: int
    factor: Expression | None
    base: tuple[Expression, ...]
    is_shifted: bool

    @property
    def n_constants(self) -> int:
        """Number of fitted constants inside the term of the curve."""
        return self.shape.n_constants + self.is_shifted

    @property
    def size(self) -> int:
        """Number of coefficients and constants."""
        return len(self.base) + 1 + self.n_constants

    @property
    def has_plain_base(self) -> bool:
        """Whether the terms B are inputs and the number 1."""
        return _is_plain(self.base)


@dataclass(frozen=True, eq=False)
class _Parts:
    """What curves of one input may be combined with, for one response.

    Parameters
    ----------
    response : Response
        The response.
    factors : list of Expression or None
        The factors A; None is the number 1.
    factor_values : float64 array, shape (f, n)
        Their values.
    terms : list of Expression
        The terms B.
    term_values : float64 array, shape (q, n)
        Their values.
    remainders : list of _ResponseRemainder
        What each set of terms leaves of the response.
    """

    response: Response
    factors: list[Expression | None]
    factor_values: Values
    terms: list[Expression]
    term_values: Values
    remainders: list[_ResponseRemainder]


def find_curves(
    data: LawData,
    *,
    factor: str | None = None,
    n_per_size: int = _N_PER_SIZE,
    excluded_shapes: frozenset[str] = frozenset(),
) -> list[Law]:
    """Find the best laws t(y/C) = Σ bₖ·Bₖ + b·A·φ(x) with a curve φ of one input.

    Parameters
    ----------
    data : LawData
        Inputs, target and grammar. The laws have the operators of the grammar only. With units, there are
        none, because the constants inside would have units.
    factor : str, optional
        An input that is known to be the factor C. By default C is estimated.
    n_per_size : int, default 120
        Number of combinations of each number of coefficients and constants that are fitted.
    excluded_shapes : frozenset of str
        Names of curves that are left out.

    Returns
    -------
    list of Law
        Laws whose inner constants are marked as fitted, best first.

    Examples
    --------
    >>> from symscreen.fitting.laws.law import LawData
    >>> from symscreen.grammar import load_grammar
    >>> t = np.linspace(0.0, 5.0, 100)
    >>> data = LawData({"t": t}, 1.7 + 3.1 * np.exp(-1.4 * t), load_grammar("basic"))
    >>> laws = find_curves(data)
    >>> str(laws[0].terms[0])[:10], laws[0].has_intercept
    ('exp(-1.4*t', True)
    """
    if data.units is not None or len(data.target) < _MIN_ROWS:
        return []
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return _CurveSearch(data, factor, excluded_shapes).find_laws(n_per_size)


class _CurveSearch:
    """The search of one problem on some of its rows."""

    def __init__(self, data: LawData, factor: str | None, excluded_shapes: frozenset[str]) -> None:
        self.data, self.factor, self.excluded_shapes = data, factor, excluded_shapes
        self.operators = list_operator_names(data.grammar)
        rows = select_spread_rows(data, _MAX_ROWS)
        self.columns = {name: values[rows] for name, values in data.columns.items()}
        self.target = data.target[rows]
        centered = self.target - self.target.mean()
        self.total = float(centered @ centered)
        choices = self._choose_factors() if factor is None else [{factor: Fraction(1)}]
        self.responses = list(self._list_responses(choices))
        # those with a plain base, and all others: a law of a plain base is not charged for the others
        self.n_combinations = {True: 0, False: 0}

    def _choose_factors(self) -> list[Powers]:
        """Return the exponents of no factor C and, if there is one, of the power product that is one."""
        factored = find_most_factors((self.columns, self.target), (self.data.columns, self.data.target))
        powers = {name: power for name, power in factored.items() if power}
        return [{}, powers] if powers and len(factored) < len(self.columns) else [{}]

    def _list_responses(self, choices: Sequence[Powers]) -> Iterator[Response]:
        """Yield the responses in all scales with each factor C."""
        for scale, chosen in product(SCALES, choices):
            if (
                scale.inverse_name in _INVERSE_NAMES
                and set(scale.operators) - PLAIN_OPERATORS <= self.operators
            ):
                response = build_response(scale, chosen, self.columns, self.target)
                if response is not None:
                    yield response

    def find_laws(self, n_per_size: int) -> list[Law]:
        """Return the best laws of all inputs, curves and responses."""
        # by size; those with a plain base come first, so that the many others do not displace them
        ranked: dict[tuple[int, bool], list[tuple[float, _Combination]]] = {}
        for name, x in self.columns.items():
            if get_range(x) <= 0.0 or name == self.factor:
                continue
            parts = [self._list_parts(name, response) for response in self.responses]
            for shape in list_shapes(x):
                if shape.operators <= self.operators and shape.name not in self.excluded_shapes:
                    for share, combination in self._rank_shape(name, shape, parts):
                        key = combination.size, not combination.has_plain_base
                        ranked.setdefault(key, []).append((share, combination))
        selected = [
            _order_different(each)[: n_per_size // 2 if is_other else n_per_size]
            for (_, is_other), each in sorted(ranked.items(), key=lambda item: item[0])
        ]
        found = [self._write_law(share, each) for share, each in self._fit_combinations(selected)]
        laws = select_laws([law for law in found if law is not None], _N_SIZES)
        return [*laws, *(replace(law, has_intercept=False) for law in laws if law.has_intercept)]

    def _rank_shape(
        self, name: str, shape: CurveShape, parts: Sequence[_Parts]
    ) -> Iterator[tuple[float, _Combination]]:
        """Yield the best constants of a curve for each response, factor and base, with the share left."""
        x = self.columns[name]
        constants = shape.list_constants(x)
        with np.errstate(all="ignore"):
            curves = shape.evaluate(x, constants)
            is_used = (np.abs(curves) < MAX_VALUE).all(axis=(0, 2))
        constants, curves = constants[is_used], curves[:, is_used]
        if not len(constants):
            return
        squares = np.stack([curves[i] * curves[j] for i in range(len(curves)) for j in range(i, len(curves))])
        for part in parts:
            response, factors = part.response, part.factors
            weights = response.weights**2 * part.factor_values
            values = np.vstack([response.values, part.term_values])
            products = curves @ (weights[:, None] * values).reshape(-1, len(x)).T
            products = products.reshape(*curves.shape[:2], len(factors), len(values))
            variants = [(products, squares @ (weights * part.factor_values).T, factors, False)]
            inputs = [place for place, factor in enumerate(factors) if isinstance(factor, Column)]
            if len(curves) == 1 and 0 < len(inputs) <= _MAX_PAIRED_INPUTS:
                shifted = _shift_factors(products, squares, weights[inputs], response.weights, inputs)
                variants.append((*shifted, [factors[place] for place in inputs], True))
            for remainder, (own, norms, chosen, is_shifted) in product(part.remainders, variants):
                base = tuple(part.terms[k] for k in remainder.base)
                self.n_combinations[_is_plain(base)] += len(chosen)
                places, shares = remainder.find_best_constants(own, norms)
                for factor, place, share in zip(chosen, places.tolist(), shares.tolist(), strict=True):
                    if np.isfinite(share):
                        best = constants[place]
                        yield (
                            share,
                            _Combination(
                                response, name, shape, best, len(constants), factor, base, is_shifted
                            ),
                        )

    def _list_parts(self, name: str, response: Response) -> _Parts:
        """List the factors A and the terms B (1, the input itself and other inputs) of an input."""
        n = len(self.target)
        others = [each for each in self.columns if each != name and each not in response.powers]
        if len(self.columns) > _MAX_INPUTS:
            others = []
        factors: list[Expression | None] = [None]
        for other in others:
            factors.append(Column(other))
            if (self.columns[other] != 0.0).all():
                factors.append(apply_by_name("inv", Column(other)))
        if len(others) <= _MAX_PAIRED_INPUTS:
            factors += self._pair_inputs(others)
        terms: list[Expression] = [Constant(1), *map(Column, (name, *others))]
        if response.scale.inverse_name == "id" and self.factor is None:
            terms += self._list_base_functions((name, *others))
        factor_values, term_values = (
            np.array([self._evaluate(each) for each in expressions]).reshape(-1, n)
            for expressions in (factors, terms)
        )
        remainders = [_ResponseRemainder(response, term_values, base) for base in _list_bases(len(terms))]
        return _Parts(response, factors, factor_values, terms, term_values, remainders)

    def _list_base_functions(self, names: Sequence[str]) -> list[Expression]:
        """Return functions of inputs, and products and quotients of all but the first, that are defined."""
        functions = [name for name in _BASE_FUNCTIONS if name in self.operators]
        found = [apply_by_name(function, Column(name)) for name in names for function in functions]
        values = [self._evaluate(each) for each in found]
        defined = [each for each, own in zip(found, values, strict=True) if are_usable(own)]
        others = names[1:]
        if len(others) > _MAX_PAIRED_INPUTS:
            return defined
        pairs = self._pair_inputs(others)
        return [
            *defined,
            *(each for each in pairs if isinstance(each, Call) and each.operator.name in {"mul", "div"}),
        ]

    def _pair_inputs(self, names: Sequence[str]) -> list[Expression]:
        """Return products, quotients and differences of two inputs that are defined in all rows."""
        pairs = [(Column(first), Column(second)) for first, second in combinations(names, 2)]
        found = [apply_by_name(name, *pair) for name in ("mul", "sub") for pair in pairs]
        found += [
            apply_by_name("div", *each)
            for first, second in pairs
            for each in ((first, second), (second, first))
        ]
        values = [self._evaluate(each) for each in found]
        return [each for each, own in zip(found, values, strict=True) if np.isfinite(own).all() and own.any()]

    def _evaluate(self, expression: Expression | None) -> Values:
        """Evaluate a factor or a term on the rows, shape (n,); no factor is the number 1."""
        ones = np.ones(len(self.target))
        return ones if expression is None else evaluate_expression(expression, self.columns) * ones

    def _fit_combinations(
        self, selected: Sequence[Sequence[_Combination]]
    ) -> list[tuple[float, _Combination]]:
        """Fit the constants inside curves, and return the shares RSS/TSS on the scale of y.

        The groups have rising sizes. After a few steps, only the best of each size are fitted further, if
        they are near the best of their size and of the smaller ones. Most curves have a wrong shape, and the
        steps of their fits are small.
        """
        fitted = []
        least = np.inf
        for group in selected:
            started = [self._fit_constants(each, _N_FIRST_STEPS) for each in group]
            started.sort(key=lambda pair: pair[0])
            least = min([least, *(share for share, _ in started[:1])])
            for place, (share, combination) in enumerate(started):
                is_near = (
                    place < _N_FITTED_PER_SIZE and share <= _MAX_RSS_RATIO * least and np.isfinite(share)
                )
                fitted.append(self._fit_constants(combination, _N_STEPS) if is_near else started[place])
        return fitted

    def _fit_constants(self, combination: _Combination, n_steps: int) -> tuple[float, _Combination]:
        """Fit the constants inside a curve in some steps; return the share RSS/TSS on the scale of y.

        The share is infinite if the curve cannot be fitted.
        """
        response, evaluate_terms = combination.response, self._make_term_function(combination)
        target = response.values * response.weights
        constants = improve_constants(
            combination.constants, evaluate_terms, target, response.weights, n_steps
        )
        fitted = replace(combination, constants=constants)
        term_values = evaluate_terms(constants[None])[0]
        coefficients = solve_terms(term_values * response.weights, target)
        if coefficients is None:
            return np.inf, fitted
        residuals = self.target - predict_target(response, coefficients @ term_values)
        share = float(residuals @ residuals) / self.total if are_usable(residuals) else np.inf
        return share, fitted

    def _write_law(self, share: float, combination: _Combination) -> tuple[float, Law] | None:
        """Write a fitted combination as a law, with the rounded share; None if it is not usable."""
        if not np.isfinite(share):
            return None
        response, weights = combination.response, combination.response.weights
        target = response.values * weights
        term_values = self._make_term_function(combination)(combination.constants[None])[0]
        coefficients = solve_terms(term_values * weights, target)
        if coefficients is None:
            return None
        contributions = term_values * coefficients[:, None]
        if find_rounding_terms(contributions).any():
            return None  # the law without these terms is a candidate, too
        if np.abs(contributions * weights).max() > _MAX_CONTRIBUTION * np.abs(target).max():
            return None
        law = self._build_law(combination, coefficients)
        return None if law is None else (round_share(share), law)

    def _make_term_function(self, combination: _Combination) -> Callable[[Values], Values]:
        """Make the function that maps constants, shape (g, k), to the terms and curves, shape (g, m, n)."""
        x, shape = self.columns[combination.name], combination.shape
        factor = self._evaluate(combination.factor)
        base = [self._evaluate(term) for term in combination.base]

        def evaluate_terms(constants: Values) -> Values:
            with np.errstate(all="ignore"):
                curves = shape.evaluate(x, constants)
                scaled = curves * factor
            curves = np.concatenate([curves, scaled]) if combination.is_shifted else scaled
            return np.stack([*(np.broadcast_to(term, curves.shape[1:]) for term in base), *curves], axis=1)

        return evaluate_terms

    def _build_law(self, combination: _Combination, coefficients: Values) -> Law | None:
        """Write a combination as a law; None if the grammar does not allow it."""
        n_base, factor = len(combination.base), combination.factor
        curve_coefficients = coefficients[n_base:]
        if combination.is_shifted and factor is not None:
            factor = add_number(factor, float(curve_coefficients[0] / curve_coefficients[1]))
            curve_coefficients = curve_coefficients[1:]
        curve, coefficient = combination.shape.build(
            Column(combination.name), combination.constants, curve_coefficients
        )
        if factor is not None:
            curve = apply_by_name("mul", factor, curve)
        numbers = np.array([*coefficients[:n_base], coefficient])
        n_combinations = float(self.n_combinations[True])
        if not combination.has_plain_base:
            n_combinations += self.n_combinations[False]
        law = build_sum_law(
            combination.response,
            [*combination.base, curve],
            numbers,
            n_combinations * (combination.n_tried if combination.shape.is_local else 1),
        )
        if law is None:
            return None
        law = replace(law, n_constants=law.n_constants + combination.n_constants)
        return law if self.data.allows(law) else None


def _is_plain(base: Sequence[Expression]) -> bool:
    """Return whether terms are inputs and numbers."""
    return not any(isinstance(term, Call) for term in base)


def _shift_factors(
    products: Values, squares: Values, weights: Values, response_weights: Values, inputs: Sequence[int]
) -> tuple[Values, Values]:
    """Return the products and norms of a curve φ and of u·φ, for the factors u at some places.

    Parameters
    ----------
    products : float64 array, shape (1, g, f, 1 + q)
        Weighted products of φ, times each factor, with the response and all terms; the first factor is 1.
    squares : float64 array, shape (1, g, n)
        φ².
    weights : float64 array, shape (u, n)
        The squared weights of the response, times u.
    response_weights : float64 array, shape (n,)
        The weights of the response.
    inputs : sequence of int
        The places of the factors u.

    Returns
    -------
    float64 array, shape (2, g, u, 1 + q)
        The products of both curves.
    float64 array, shape (3, g, u)
        The products of the curves with each other.
    """
    plain = response_weights**2
    alone = np.repeat(products[:, :, :1], len(inputs), axis=2)
    with np.errstate(all="ignore"):
        crossed = (
            np.broadcast_to(plain, weights.shape),
            weights,
            weights**2 / np.where(plain > 0.0, plain, np.inf),
        )
    norms = np.stack([squares[0] @ each.T for each in crossed])
    return np.concatenate([alone, products[:, :, inputs]]), norms


def _order_different(candidates: Sequence[tuple[float, _Combination]]) -> list[_Combination]:
    """Order combinations: the best of each shape, input and scale, then the second best."""
    counts: dict[tuple[str, str, str], int] = {}
    ranked = []
    for share, combination in sorted(candidates, key=lambda pair: pair[0]):
        kind = (combination.shape.name, combination.name, combination.response.scale.inverse_name)
        counts[kind] = counts.get(kind, 0) + 1
        ranked.append((counts[kind], share, combination))
    ranked.sort(key=lambda each: each[:2])
    return [combination for _, _, combination in ranked]


def _list_bases(n_terms: int) -> list[tuple[int, ...]]:
    """Return the sets of terms B: at most one input, without and with the number 1."""
    return [(), (0,), *((k,) for k in range(1, n_terms)), *((0, k) for k in range(1, n_terms))]


class _ResponseRemainder:
    """What the terms of a base leave of a response, and of curves."""

    def __init__(self, response: Response, term_values: Values, base: Sequence[int]) -> None:
        weighted = response.values * response.weights
        self.total = self.remaining = float(weighted @ weighted)
        self.base, self.with_response = list(base), np.empty(0)
        self.inverse: Values = np.empty((0, 0))
        if base:
            base_values: Values = term_values[self.base] * response.weights
            self.inverse = np.asarray(np.linalg.pinv(base_values @ base_values.T), dtype=np.float64)
            self.with_response = base_values @ weighted
            self.remaining -= float(self.with_response @ self.inverse @ self.with_response)

    def find_best_constants(self, products: Values, norms: Values) -> tuple[NDArray[np.int64], Values]:
        """Find the constants of the grid that leave least.

        Parameters
        ----------
        products : float64 array, shape (w, g, f, 1 + q)
            Weighted products of the curves, times each factor, with the response and all terms.
        norms : float64 array, shape (w·(w + 1)/2, g, f)
            Weighted products of these curves with each other.

        Returns
        -------
        int64 array, shape (f,)
            The places in the grid.
        float64 array, shape (f,)
            The shares of the weighted square of the response that are left; infinite if no curve is distinct
            from the base.
        """
        targets, own = products[..., 0], norms
        if self.base:
            with_curves = products[..., [1 + k for k in self.base]]
            targets = targets - with_curves @ (self.inverse @ self.with_response)
            pairs = [(i, j) for i in range(len(products)) for j in range(i, len(products))]
            explained = [((with_curves[i] @ self.inverse) * with_curves[j]).sum(axis=-1) for i, j in pairs]
            own = norms - np.array(explained)
        with np.errstate(all="ignore"):
            if len(products) == 1:
                gain = targets[0] ** 2 / own[0]
                is_distinct = own[0] > _MIN_LEFT * norms[0]
            else:
                first, second = targets
                determinant = own[0] * own[2] - own[1] ** 2
                gain = first**2 * own[2] - 2.0 * first * second * own[1] + second**2 * own[0]
                gain = gain / determinant
                is_distinct = determinant > _MIN_LEFT * norms[0] * norms[2]
        gain = np.where(is_distinct & np.isfinite(gain), gain, -np.inf)
        places = np.argmax(gain, axis=0)
        best = np.take_along_axis(gain, places[None], axis=0)[0]
        return places, np.maximum(self.remaining - best, 0.0) / self.total

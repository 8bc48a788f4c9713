"""Curves φ(x) of one input with up to three constants inside, and the constants that are tried."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.tree import Constant, apply_operator
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Callable

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression


# Constants inside curves that are tried. Rates, frequencies and dampings are divided by the range of the
# input. Shifts, centres and widths are multiplied by it.
_RATES = np.geomspace(0.05, 50.0, 24)  # changes over the range from 5 % to a factor of e⁵⁰
_FREQUENCIES = np.linspace(np.pi / 2.0, 40.0 * np.pi, 80)  # steps of a quarter of a period over the range
_DAMPINGS = np.array([-8.0, -4.0, -2.0, -1.0, -0.5, 0.5, 1.0, 2.0])
_EXPONENTS = np.array([each for each in np.arange(-32, 33) / 8.0 if each not in {-1.0, 0.0, 1.0}])
_SHIFTED_EXPONENTS = np.array([-3.0, -2.0, -1.5, -0.75, 0.25, 0.75, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0])
_POSITIVE_EXPONENTS = np.linspace(0.25, 4.0, 16)
_SHIFTS = np.geomspace(0.01, 22.0, 20)  # distances beyond an end of the range
# shifts that do not depend on the range, because many laws have 1 + x
_SIMPLE_SHIFTS = np.array([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0])
_CENTERS = np.linspace(-0.3, 1.3, 33)  # distances from the smallest input
_WIDTHS = np.geomspace(0.026, 2.25, 12)


@dataclass(frozen=True, eq=False)
class CurveShape:
    """A family of curves of one input.

    Parameters
    ----------
    name : str
        Its name.
    operators : frozenset of str
        Operators that the grammar must have.
    list_constants : callable
        Maps an input, shape (n,), to the constants that are tried, shape (g, k).
    evaluate : callable
        Maps an input and constants, shape (g, k), to values, shape (w, g, n): w curves that are added with
        free coefficients.
    build : callable
        Maps an input, constants, shape (k,), and coefficients, shape (w,), to the curve and its coefficient.
    n_constants : int
        Number of fitted constants inside the curve.
    is_local : bool
        Whether the curve may be a wave, a step or a peak at any place: noise resembles one of many of these.
    """

    name: str
    operators: frozenset[str]
    list_constants: Callable[[Values], Values]
    evaluate: Callable[[Values, Values], Values]
    build: Callable[[Expression, Values, Values], tuple[Expression, float]]
    n_constants: int
    is_local: bool = False


def _build_number(value: float) -> Constant:
    """Build a fitted constant."""
    return Constant(float(value), fitted=True)


def apply_by_name(name: str, *arguments: Expression) -> Expression:
    """Apply an operator by its name."""
    return apply_operator(OPERATORS[name], *arguments)


def add_number(x: Expression, offset: float) -> Expression:
    """Build x + offset with a fitted constant."""
    return apply_by_name("add" if offset >= 0.0 else "sub", x, _build_number(abs(offset)))


def _scale(number: float, expression: Expression) -> Expression:
    """Build number·expression with a fitted constant."""
    return apply_by_name("mul", _build_number(number), expression)


def get_range(x: Values) -> float:
    """Return the largest value minus the smallest one."""
    return float(np.ptp(x))


def _list_rates(x: Values) -> Values:
    """Return the rates p of exp(p·x), shape (g, 1)."""
    return np.concatenate([-_RATES, _RATES])[:, None] * (1.0 / get_range(x))


def _list_pairs(first: Values, second: Values) -> Values:
    """Return all pairs, shape (g, 2)."""
    return np.array(list(product(first.tolist(), second.tolist())))


def _list_shifts(x: Values) -> Values:
    """Return the offsets p with x + p > 0, shape (g, 1)."""
    simple = _SIMPLE_SHIFTS[_SIMPLE_SHIFTS + x.min() > 0.0]
    return np.concatenate([simple, _SHIFTS * get_range(x) - x.min()])[:, None]


def _list_poles(x: Values) -> Values:
    """Return the offsets p with x + p > 0, and those with x + p < 0, shape (g, 1)."""
    simple = _SIMPLE_SHIFTS[(_SIMPLE_SHIFTS + x.min() > 0.0) | (_SIMPLE_SHIFTS + x.max() < 0.0)]
    distances = _SHIFTS * get_range(x)
    return np.concatenate([simple, distances - x.min(), -distances - x.max()])[:, None]


def _list_peaks(x: Values) -> Values:
    """Return centres and inverse squares of widths, shape (g, 2)."""
    return _list_pairs(x.min() + _CENTERS * get_range(x), np.asarray((_WIDTHS * get_range(x)) ** -2.0))


def _list_steps(x: Values) -> Values:
    """Return centres and inverse widths, shape (g, 2)."""
    return _list_pairs(x.min() + _CENTERS * get_range(x), 1.0 / (_WIDTHS * get_range(x)))


def _list_stretched(x: Values) -> Values:
    """Return the constants p and q of (p·x)^q in an exponential, shape (g, 2)."""
    rising = _list_pairs(_RATES / x.max(), _POSITIVE_EXPONENTS)
    falling = _list_pairs(_RATES / x.min(), -_POSITIVE_EXPONENTS)
    return np.concatenate([rising, falling])


def _list_hill(x: Values) -> Values:
    """Return the constants p and q of (p·x)^q where it is 1 within the inputs, shape (g, 2)."""
    return _list_pairs(1.0 / np.geomspace(x.min(), x.max(), 16), _POSITIVE_EXPONENTS)


def _list_scaled_powers(x: Values) -> Values:
    """Return the constants p and q of (p·x)^q, rising and falling, shape (g, 2)."""
    rising = _list_hill(x)
    return np.concatenate([rising, rising * np.array([1.0, -1.0])])


def _list_growths(x: Values) -> Values:
    """Return the constants p and q of exp(p·(x − q)), shape (g, 2)."""
    rates = np.concatenate([-_RATES[4::2], _RATES[4::2]]) / get_range(x)
    return _list_pairs(rates, x.min() + _CENTERS[::4] * get_range(x))


def _list_shifted_powers(x: Values, *, is_mirrored: bool) -> Values:
    """Return the constants p and q of (x + p)^q, or those of (p − x)^q, shape (g, 2)."""
    return _list_pairs(_list_shifts(-x if is_mirrored else x)[:, 0], _SHIFTED_EXPONENTS)


def _build_mirrored_power(x: Expression, constants: Values) -> Expression:
    """Build (p − x)^q."""
    base = apply_by_name("sub", _build_number(constants[0]), x)
    return apply_by_name("pow", base, _build_number(constants[1]))


def _build_scaled_power(x: Expression, constants: Values) -> Expression:
    """Build (p·x)^q."""
    return apply_by_name("pow", _scale(constants[0], x), _build_number(constants[1]))


def _add_one(expression: Expression) -> Expression:
    """Build 1 + expression."""
    return apply_by_name("add", Constant(1), expression)


def _list_waves(x: Values) -> Values:
    """Return angular frequencies, shape (g, 1)."""
    return (_FREQUENCIES / get_range(x))[:, None]


def _list_damped(x: Values) -> Values:
    """Return angular frequencies and rates, shape (g, 2)."""
    return _list_pairs(_FREQUENCIES[1::2] / get_range(x), _DAMPINGS / get_range(x))


def _evaluate_waves(x: Values, constants: Values) -> Values:
    """Evaluate sin(p·x) and cos(p·x), shape (2, g, n)."""
    angles = constants[:, :1] * x
    return np.stack([np.sin(angles), np.cos(angles)])


def _evaluate_damped(x: Values, constants: Values) -> Values:
    """Evaluate exp(q·x)·sin(p·x) and exp(q·x)·cos(p·x), shape (2, g, n)."""
    return _evaluate_waves(x, constants) * np.exp(constants[:, 1:] * x)


def _list_two_rates(x: Values) -> Values:
    """Return pairs of different rates, shape (g, 2)."""
    rates = np.concatenate([-_RATES, _RATES]) / get_range(x)
    return np.array(list(combinations(rates.tolist(), 2)))


def _evaluate_two_exponentials(x: Values, constants: Values) -> Values:
    """Evaluate exp(p·x) and exp(q·x), shape (2, g, n)."""
    return np.exp(constants.T[:, :, None] * x)


def _build_two_exponentials(
    x: Expression, constants: Values, coefficients: Values
) -> tuple[Expression, float]:
    """Build exp(p·x) + b·exp(q·x) and its coefficient."""
    first, second = (apply_by_name("exp", _scale(rate, x)) for rate in constants.tolist())
    ratio = float(coefficients[1] / coefficients[0])
    scaled = _scale(abs(ratio), second)
    return apply_by_name("add" if ratio >= 0.0 else "sub", first, scaled), float(coefficients[0])


def _build_line(x: Expression, constants: Values, coefficients: Values) -> tuple[Expression, float]:
    """Build x + p and its coefficient."""
    del constants
    return add_number(x, float(coefficients[0] / coefficients[1])), float(coefficients[1])


def _build_wave(x: Expression, constants: Values, coefficients: Values) -> tuple[Expression, float]:
    """Build sin(p·x + q) and its amplitude, which is positive."""
    amplitude, phase = float(np.hypot(*coefficients)), float(np.arctan2(coefficients[1], coefficients[0]))
    return apply_by_name("sin", add_number(_scale(constants[0], x), phase)), amplitude


def _build_damped(x: Expression, constants: Values, coefficients: Values) -> tuple[Expression, float]:
    """Build exp(q·x)·sin(p·x + r) and its amplitude, which is positive."""
    wave, amplitude = _build_wave(x, constants, coefficients)
    return apply_by_name("mul", apply_by_name("exp", _scale(constants[1], x)), wave), amplitude


def _build_damping(x: Expression, constants: Values, wave: str) -> Expression:
    """Build exp(q·x)·sin(p·x), or the cosine."""
    damping = apply_by_name("exp", _scale(constants[1], x))
    return apply_by_name("mul", damping, apply_by_name(wave, _scale(constants[0], x)))


def _build_peak(x: Expression, constants: Values) -> Expression:
    """Build p·(x − q)² from the constants (q, p)."""
    return _scale(constants[1], apply_by_name("square", add_number(x, -constants[0])))


def _make_plain_shape(name: str) -> CurveShape:
    """Make a shape without constants from an operator; curves with constants must do better than it."""
    return _make_shape(
        name,
        name,
        lambda _: np.empty((1, 0)),
        lambda x, _: OPERATORS[name].numeric(x)[None],
        lambda x, _: apply_by_name(name, x),
        0,
    )


def _make_shape(
    name: str,
    operators: str,
    list_constants: Callable[[Values], Values],
    evaluate: Callable[[Values, Values], Values],
    build: Callable[[Expression, Values], Expression],
    n_constants: int = 1,
    *,
    is_local: bool = False,
) -> CurveShape:
    """Make a shape with a single curve; `evaluate` takes constants of shape (k, g, 1)."""
    return CurveShape(
        name,
        frozenset(operators.split()),
        list_constants,
        lambda x, constants: evaluate(x, constants.T[:, :, None])[None],
        lambda x, constants, coefficients: (build(x, constants), float(coefficients[0])),
        n_constants,
        is_local,
    )


_POSITIVE_SHAPES = (
    _make_shape(
        "power", "mul exp log", lambda _: _EXPONENTS[:, None], lambda x, c: x ** c[0],
        lambda x, c: apply_by_name("pow", x, _build_number(c[0])),
    ),
    _make_shape(
        "stretched exponential", "mul exp log", _list_stretched, lambda x, c: np.exp(-((c[0] * x) ** c[1])),
        lambda x, c: apply_by_name("exp", apply_by_name("neg", _build_scaled_power(x, c))), 2,
    ),
    _make_shape(
        "Hill", "mul add div exp log", _list_hill, lambda x, c: 1.0 / (1.0 + (c[0] * x) ** c[1]),
        lambda x, c: apply_by_name("inv", _add_one(_build_scaled_power(x, c))), 2,
    ),
    _make_shape(
        "logarithm of a power", "mul add exp log", _list_scaled_powers,
        lambda x, c: np.log1p((c[0] * x) ** c[1]),
        lambda x, c: apply_by_name("log", _add_one(_build_scaled_power(x, c))), 2,
    ),
)  # fmt: skip
_SHAPES = (
    *map(_make_plain_shape, ("inv", "square", "sqrt", "log", "exp")),
    _make_shape(
        "exponential", "mul exp", _list_rates, lambda x, c: np.exp(c[0] * x),
        lambda x, c: apply_by_name("exp", _scale(c[0], x)),
    ),
    _make_shape(
        "damped line", "mul exp", _list_rates, lambda x, c: x * np.exp(c[0] * x),
        lambda x, c: apply_by_name("mul", x, apply_by_name("exp", _scale(c[0], x))),
    ),
    _make_shape(
        "sine", "mul sin", _list_waves, lambda x, c: np.sin(c[0] * x),
        lambda x, c: apply_by_name("sin", _scale(c[0], x)), is_local=True,
    ),
    _make_shape(
        "cosine", "mul cos", _list_waves, lambda x, c: np.cos(c[0] * x),
        lambda x, c: apply_by_name("cos", _scale(c[0], x)), is_local=True,
    ),
    _make_shape(
        "damped sine", "mul sin exp", _list_damped, lambda x, c: np.sin(c[0] * x) * np.exp(c[1] * x),
        lambda x, c: _build_damping(x, c, "sin"), 2, is_local=True,
    ),
    _make_shape(
        "damped cosine", "mul cos exp", _list_damped, lambda x, c: np.cos(c[0] * x) * np.exp(c[1] * x),
        lambda x, c: _build_damping(x, c, "cos"), 2, is_local=True,
    ),
    CurveShape(
        "two exponentials",
        frozenset({"mul", "add", "sub", "exp"}),
        _list_two_rates,
        _evaluate_two_exponentials,
        _build_two_exponentials,
        3,
    ),
    CurveShape(
        "line",
        frozenset({"add", "sub"}),
        lambda _: np.empty((1, 0)),
        lambda x, _: np.stack([np.ones((1, len(x))), x[None]]),
        _build_line,
        1,
    ),
    CurveShape(
        "wave",
        frozenset({"mul", "add", "sin"}),
        _list_waves,
        _evaluate_waves,
        _build_wave,
        2,
        is_local=True,
    ),
    CurveShape(
        "damped wave",
        frozenset({"mul", "add", "sin", "exp"}),
        _list_damped,
        _evaluate_damped,
        _build_damped,
        3,
        is_local=True,
    ),
    _make_shape(
        "logarithm", "add log", _list_shifts, lambda x, c: np.log(x + c[0]),
        lambda x, c: apply_by_name("log", add_number(x, c[0])),
    ),
    _make_shape(
        "logarithm of an exponential", "mul add sub exp log", _list_growths,
        lambda x, c: np.log1p(np.exp(c[0] * (x - c[1]))),
        lambda x, c: apply_by_name(
            "log", _add_one(apply_by_name("exp", _scale(c[0], add_number(x, -c[1]))))
        ), 2,
    ),
    _make_shape(
        "pole", "add div", _list_poles, lambda x, c: 1.0 / (x + c[0]),
        lambda x, c: apply_by_name("inv", add_number(x, c[0])),
    ),
    _make_shape(
        "root", "add sqrt", _list_shifts, lambda x, c: np.sqrt(x + c[0]),
        lambda x, c: apply_by_name("sqrt", add_number(x, c[0])),
    ),
    _make_shape(
        "shifted power", "mul add exp log", lambda x: _list_shifted_powers(x, is_mirrored=False),
        lambda x, c: (x + c[0]) ** c[1],
        lambda x, c: apply_by_name("pow", add_number(x, c[0]), _build_number(c[1])), 2,
    ),
    _make_shape(
        "mirrored power", "mul sub exp log", lambda x: _list_shifted_powers(x, is_mirrored=True),
        lambda x, c: (c[0] - x) ** c[1], _build_mirrored_power, 2,
    ),
    _make_shape(
        "step", "sub mul tanh", _list_steps, lambda x, c: np.tanh(c[1] * (x - c[0])),
        lambda x, c: apply_by_name("tanh", _scale(c[1], add_number(x, -c[0]))), 2, is_local=True,
    ),
    _make_shape(
        "Gaussian peak", "sub mul exp", _list_peaks, lambda x, c: np.exp(-c[1] * (x - c[0]) ** 2),
        lambda x, c: apply_by_name("exp", _build_peak(x, np.array([c[0], -c[1]]))), 2, is_local=True,
    ),
    _make_shape(
        "Lorentz peak", "sub add mul div", _list_peaks, lambda x, c: 1.0 / (1.0 + c[1] * (x - c[0]) ** 2),
        lambda x, c: apply_by_name("inv", _add_one(_build_peak(x, c))), 2, is_local=True,
    ),
)  # fmt: skip


_FACTORS = (
    _make_shape(
        "approach", "mul sub exp", _list_rates, lambda x, c: 1.0 - np.exp(c[0] * x),
        lambda x, c: apply_by_name("sub", Constant(1), apply_by_name("exp", _scale(c[0], x))),
    ),
    _make_shape(
        "fraction", "add div", _list_poles, lambda x, c: x / (x + c[0]),
        lambda x, c: apply_by_name("div", x, add_number(x, c[0])),
    ),
)  # fmt: skip


def list_simple_shapes(x: Values, *, has_factors: bool) -> tuple[CurveShape, ...]:
    """Return the shapes of single curves of an input, shape (n,), with one constant.

    With `has_factors`, those follow that only differ from the others as factors of a product.
    """
    shapes = [each for each in list_shapes(x) if each.n_constants == 1 and each.name != "line"]
    return (*shapes, *(_FACTORS if has_factors else ()))


def list_shapes(x: Values) -> tuple[CurveShape, ...]:
    """Return the shapes of curves of an input, shape (n,); powers of positive inputs only."""
    return (*_SHAPES, *(_POSITIVE_SHAPES if x.min() > 0.0 else ()))

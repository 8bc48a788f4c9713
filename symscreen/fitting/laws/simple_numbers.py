"""Numbers that laws contain: integers, fractions, square roots and multiples of π."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.printing import to_text
from symscreen.expressions.tree import Call, Constant
from symscreen.fitting.laws.power_expressions import build_power_product

if TYPE_CHECKING:
    from symscreen._typing import Flags, Values
    from symscreen.expressions.tree import Expression


_MAX_INTEGER = 100
_MAX_PART = 12  # largest numerator and denominator of a fraction
# Factors of simple numbers with their costs in bits.
_FACTORS = {
    1.0: 0.0,
    math.pi: 3.0,
    1.0 / math.pi: 3.0,
    math.pi**2: 4.0,
    1.0 / math.pi**2: 4.0,
    **{math.sqrt(k): 5.0 for k in (2, 3, 5, 6, 7, 10)},
}
_PI_FACTORS = {1.0: 0, math.pi: 1, 1.0 / math.pi: -1, math.pi**2: 2, 1.0 / math.pi**2: -2}  # powers of π
_SAME_NUMBER = 1e-12  # relative difference of numbers that differ by rounding
_BITS_OF_DOUBLE = 52.0
EVIDENT_LEVEL = 0.999  # level of the tests of numbers that are hardly near their estimates by chance
_MAX_ERRORS = 3.29  # standard errors of such a number from its estimate: the normal quantile of this level
# Largest expected number of equally simple numbers in the interval by chance: for small integers and
# fractions such as 2/3, for other fractions and multiples of π, and for multiples of roots, which are rare.
_MAX_COINCIDENCES, _MAX_OTHER_COINCIDENCES, _MAX_ROOT_COINCIDENCES = 0.5, 0.25, 0.05
_SMALL_COST = 4.0  # largest cost of a small integer or fraction, in bits


@dataclass(frozen=True, slots=True)
class _SimpleNumber:
    """The number numerator/denominator·factor, and its cost in bits."""

    numerator: int
    denominator: int
    factor: float
    cost: float

    @property
    def value(self) -> float:
        """The number."""
        return self.numerator / self.denominator * self.factor

    @property
    def max_coincidences(self) -> float:
        """The expected number of equally simple numbers in an interval up to which this one is used."""
        if self.factor not in _PI_FACTORS:
            return _MAX_ROOT_COINCIDENCES
        is_small = self.factor == 1.0 and self.cost <= _SMALL_COST
        return _MAX_COINCIDENCES if is_small else _MAX_OTHER_COINCIDENCES


@cache
def _list_numbers() -> tuple[_SimpleNumber, ...]:
    """Return all positive simple numbers, ascending; of equal ones, the simplest."""
    fractions = {(p, 1) for p in range(1, _MAX_INTEGER + 1)}
    fractions |= {
        (p, q) for p in range(1, _MAX_PART + 1) for q in range(2, _MAX_PART + 1) if math.gcd(p, q) == 1
    }
    simplest: dict[float, _SimpleNumber] = {}
    for p, q in sorted(fractions):
        for factor, cost in _FACTORS.items():
            own = math.log2(p) + (1.0 + math.log2(q) if q > 1 else 0.0) + cost
            number = _SimpleNumber(p, q, factor, own)
            known = simplest.get(number.value)
            if known is None or own < known.cost:
                simplest[number.value] = number
    for p in range(1, 100):
        n_digits = len(str(p).rstrip("0"))
        for q in (10, 100):  # 0.7 and 0.07; measured numbers are as often decimals as fractions
            number = _SimpleNumber(p, q, 1.0, 1.0 + n_digits * math.log2(10.0))
            known = simplest.get(number.value)
            if known is None or number.cost < known.cost:
                simplest[number.value] = number
    return tuple(simplest[value] for value in sorted(simplest))


@cache
def _build_table() -> tuple[Values, Values, Values]:
    """Return all positive simple numbers, ascending, their costs in bits, and limits of coincidences."""
    numbers = _list_numbers()
    return (
        np.array([number.value for number in numbers]),
        np.array([number.cost for number in numbers]),
        np.array([number.max_coincidences for number in numbers]),
    )


@cache
def _select_rational() -> Flags:
    """Return which of the simple numbers are integers or fractions."""
    return np.array([number.factor == 1.0 for number in _list_numbers()])


def find_simple_numbers(
    value: float, radius: float, keep: int = 3, *, error: float = 0.0, is_rational: bool = False
) -> list[float]:
    """Return the simplest numbers near a value.

    Parameters
    ----------
    value : float
        The value.
    radius : float
        Largest distance of a number from the value.
    keep : int
        Maximum number of results.
    error : float
        The standard error of the value. If it is positive, numbers outside of the radius are returned too
        where the odds are for them, see Notes.
    is_rational : bool
        Whether multiples of π and of roots are left out, which no law has as exponents.

    Returns
    -------
    list of float
        Simplest first: integers up to 100, fractions of integers up to 12, their products with π, π², 1/π,
        1/π² and square roots, and decimals with two digits. Numbers are left out if others as simple are
        expected within the radius by chance: 0.5 of them, 0.25 for multiples of π and fractions such as 3/7,
        or 0.05 for multiples of roots. Empty if the value does not differ from 0 by more than the radius.

    Notes
    -----
    One true number in twenty is outside of a 95 % interval. A number as simple as 1 is hardly near the value
    by chance, so it may be as far as the 99.9 % interval reaches if the odds are for it. These are the
    density of a normal estimate around the number, against a uniform density of numbers from half to twice
    the value, times the prior probability 1/m² of the number, where m numbers of this range are as simple:
    complex numbers are less likely as a class, and the class has more of them.

    Examples
    --------
    >>> [find_simple_numbers(*each, keep=1) for each in ((1.98, 0.05), (6.2832, 1e-4), (1.234567, 1e-9))]
    [[2.0], [6.283185307179586], []]
    >>> find_simple_numbers(1.007, 0.005, error=0.0025), find_simple_numbers(1.02, 0.005, error=0.0025)
    ([1.0], [])
    >>> find_simple_numbers(3.1416, 1e-4, keep=1), find_simple_numbers(3.1416, 1e-4, is_rational=True)
    ([3.141592653589793], [])
    """
    size = abs(value)
    if not radius < size or not math.isfinite(size):
        return []
    numbers, costs, limits = _build_table()
    if is_rational:
        chosen = _select_rational()
        numbers, costs, limits = numbers[chosen], costs[chosen], limits[chosen]
    distances = np.abs(numbers - size)
    near = np.flatnonzero(distances <= max(radius, _MAX_ERRORS * error))
    around = costs[(numbers >= size / 2.0) & (numbers <= size * 2.0)]
    order = near[np.lexsort((distances[near], costs[near]))]
    found: list[float] = []
    for index in order.tolist():
        n_as_simple, distance = int((around <= costs[index]).sum()), float(distances[index])
        if distance <= radius:
            is_likely = n_as_simple * 2.0 * radius <= float(limits[index]) * 1.5 * size
        else:
            is_likely = _compute_odds(distance, error, n_as_simple, size) > 1.0
        if is_likely:
            found.append(math.copysign(float(numbers[index]), value))
        if len(found) == keep:
            break
    return found


def _compute_odds(distance: float, error: float, n_as_simple: int, size: float) -> float:
    """Return the odds of a simple number against any number from half to twice the size of an estimate."""
    density = math.exp(-((distance / error) ** 2) / 2.0) / (error * math.sqrt(2.0 * math.pi))
    return density / max(n_as_simple, 1) ** 2 * 1.5 * size


def measure_number(value: float) -> float:
    """Return the cost of a number in bits: how many simple numbers there are, as a power of two.

    Parameters
    ----------
    value : float
        The number; its sign costs nothing, since coefficients have any sign.

    Returns
    -------
    float
        0 for 0 and ±1, log₂ p for an integer p up to 100, and more for fractions and multiples of π or
        roots. For any other number, the bits of a double.

    Examples
    --------
    >>> [measure_number(value) for value in (1.0, -8.0, 0.5, 4 * math.pi, 1.2345)]
    [0.0, 3.0, 2.0, 5.0, 52.0]
    """
    if value == 0.0:
        return 0.0
    number = _find_number(value)
    return _BITS_OF_DOUBLE if number is None else number.cost


def is_simple_number(value: float) -> bool:
    """Return whether a number is 0 or a simple number up to rounding."""
    return value == 0.0 or _find_number(value) is not None


def _find_number(value: float) -> _SimpleNumber | None:
    """Return the simplest number that equals |value| up to rounding, or None."""
    values, costs, _ = _build_table()
    near = np.flatnonzero(np.abs(values - abs(value)) <= _SAME_NUMBER * abs(value))
    return _list_numbers()[near[np.argmin(costs[near])]] if len(near) else None


def name_number(value: float) -> str:
    """Return a number as a fraction or a multiple of π, or an empty text if `write_number` gives a decimal.

    Examples
    --------
    >>> name_number(2 * math.pi), name_number(0.25)
    ('2*pi', '')
    """
    number = write_number(value)
    return to_text(number) if isinstance(number, Call) else ""


def write_number(value: float) -> Expression:
    """Write a number as a formula: fractions as quotients, and multiples of π with π.

    Parameters
    ----------
    value : float
        The number.

    Returns
    -------
    Expression
        A plain number if it is whole, has at most three decimals, or is not simple.

    Examples
    --------
    >>> print(write_number(-0.25), write_number(2 / 3), write_number(-2 * math.pi), write_number(1 / math.pi))
    -0.25 2/3 -2*pi 1/pi
    """
    if abs(1000.0 * value - round(1000.0 * value)) <= _SAME_NUMBER * abs(1000.0 * value):
        rounded = round(value, 3)
        return Constant(int(rounded) if rounded.is_integer() else rounded)
    number = _find_number(value)
    if number is None or number.factor not in _PI_FACTORS:
        return Constant(value)
    power = _PI_FACTORS[number.factor]
    numerator = Constant(int(math.copysign(number.numerator, value)))
    denominator = Constant(number.denominator)
    powers = {numerator: Fraction(1), denominator: Fraction(-1), Constant(math.pi): Fraction(power)}
    kept = [(base, exponent) for base, exponent in powers.items() if exponent and base != Constant(1)]
    return build_power_product(kept)

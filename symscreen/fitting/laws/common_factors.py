"""Choose how a product of powers of sums is written: m/sqrt(1 - v**2/c**2) rather than c*m/sqrt(c**2 - v**2).

A common factor of the summands can be moved out of a sum, M·(a + b)^p = M·d^p·(a/d + b/d)^p. The values stay
the same, so the searches do not distinguish these forms.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from math import gcd, lcm
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from symscreen.expressions.traversal import compute_complexity, evaluate_expression
from symscreen.expressions.tree import Call, Constant, apply_operator
from symscreen.fitting.laws.power_expressions import build_power_product
from symscreen.fitting.laws.power_products import scale_exponent
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.grammar import Operator

    Powers = dict[Expression, Fraction]  # exponents by base


_EXPONENTS = {
    "square": Fraction(2),
    "cube": Fraction(3),
    "sqrt": Fraction(1, 2),
    "cbrt": Fraction(1, 3),
    "inv": Fraction(-1),
}
_MAX_SUMS = 3  # sums from which factors are moved together
_TOLERANCE = 1e-9  # largest difference of equal formulas, relative to the largest value


def move_common_factors(term: Expression, columns: Mapping[str, Values]) -> Expression:
    """Write a product of powers of sums in its simplest form.

    Parameters
    ----------
    term : Expression
        Any formula. Only products of powers are rewritten.
    columns : mapping of str to float64 array, shape (n,)
        The inputs by name. The values of both forms must agree on them.

    Returns
    -------
    Expression
        The form with the smallest complexity. With a root of a sum, the form with the smallest exponents
        outside of sums comes first, and then the one with 1 ± a/b under the root, because laws such as
        m/√(1 − v²/c²) have quotients of like quantities there. The term itself if no form is simpler. Powers
        of exponentials become exponentials: exp(−x/2) rather than 1/√(exp(x)).

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> columns = {"m": np.array([1.0, 2.0]), "v": np.array([0.5, 1.0]), "c": np.array([2.0, 3.0])}
    >>> print(move_common_factors(parse_expression("c*m/sqrt(c**2 - v**2)"), columns))
    m/sqrt(1 - v**2/c**2)
    >>> print(move_common_factors(parse_expression("m*v*(c/v + 1)"), columns))
    m*(c + v)
    >>> print(move_common_factors(parse_expression("m*v**2 - m*c**2 + m*v*c"), columns))
    m*(v**2 - c**2 + c*v)
    >>> print(move_common_factors(parse_expression("m*sqrt(1 + 2/(c/v - 1))"), columns))
    m*sqrt((1 + v/c)/(1 - v/c))
    >>> print(move_common_factors(parse_expression("m*(1/c + 2*v/3)/(1/c + v/3)"), columns))
    m*(3 + 2*c*v)/(3 + c*v)
    """
    start = _join_fractions(_merge_exponentials(term, columns), columns)
    term = _find_simplest_form(start, columns)
    if term is start:
        return term
    while True:  # further moves must make the formula shorter, and keep roots of 1 ± a/b
        form = _find_simplest_form(term, columns)
        (*_, n_unscaled, size), (*_, n_known, known_size) = (
            _build_key(each, collect_powers(each)) for each in (form, term)
        )
        if size >= known_size or n_unscaled > n_known:
            return term
        term = form


def _find_simplest_form(term: Expression, columns: Mapping[str, Values]) -> Expression:
    """Write a product in its simplest form with at most one factor moved out of each sum."""
    powers = collect_powers(term)
    sums = [base for base in powers if is_sum(base)][:_MAX_SUMS]
    if not sums:
        return term
    forms = [powers]
    for base in sums:
        forms += [form for known in forms for form in _list_forms(known, base)]
        forms += _list_forms_of_long_sum(powers, base)
    forms += [form for known in forms for form in _clear_fractions(known)]
    best, best_key = term, _build_key(term, powers)
    for form in forms[1:]:
        product = build_power_product(sort_powers(form))
        key = _build_key(product, form)
        if key < best_key and _agree(product, term, columns):
            best, best_key = product, key
    return best


def _merge_exponentials(term: Expression, columns: Mapping[str, Values]) -> Expression:
    """Write exp(u)^p as exp(p·u)."""
    powers = collect_powers(term)
    merged: Powers = {}
    for base, power in powers.items():
        scaled = None if power == 1 else scale_exponent(base, power, float(power))
        new_base, new_power = (base, power) if scaled is None else (scaled, Fraction(1))
        merged[new_base] = merged.get(new_base, Fraction(0)) + new_power
    if merged == powers:
        return term
    product = build_power_product(sort_powers({base: power for base, power in merged.items() if power}))
    return product if _agree(product, term, columns) else term


def _join_fractions(term: Expression, columns: Mapping[str, Values]) -> Expression:
    """Write each factor 1 + 2/(x - 1) of a product as (x + 1)/(x - 1)."""
    powers = collect_powers(term)
    for base in [base for base in powers if is_sum(base)]:
        powers = _join_fraction(powers, base) or powers
    if powers == collect_powers(term):
        return term
    product = build_power_product(sort_powers(powers))
    return product if _agree(product, term, columns) else term


def negate_term(term: Expression) -> Expression | None:
    """Return −term without a minus sign; None if no factor is a difference or the logarithm of a quotient.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(negate_term(parse_expression("a/(1 - exp(b))")))
    a/(exp(b) - 1)
    >>> print(negate_term(parse_expression("a*log(b/c)")))
    a*log(c/b)
    """
    powers = collect_powers(term)
    for base, power in powers.items():
        negated = _negate_base(base)
        if negated is not None and power.denominator == 1 and power.numerator % 2:
            rest = {each: own for each, own in powers.items() if each != base}
            return build_power_product(sort_powers(rest | {negated: power}))
    return None


def _negate_base(base: Expression) -> Expression | None:
    """Return −base for a difference, reversed, and for the logarithm of a quotient, with its inverse."""
    if not isinstance(base, Call):
        return None
    if base.operator.name == "sub":
        return apply_operator(base.operator, *reversed(base.arguments))
    inner = base.arguments[0]
    if base.operator.name == "log" and isinstance(inner, Call):
        if inner.operator.name == "div":
            return apply_operator(base.operator, apply_operator(inner.operator, *reversed(inner.arguments)))
        if inner.operator.name == "inv":
            return apply_operator(base.operator, inner.arguments[0])
    return None


def collect_powers(term: Expression) -> Powers:
    """Write a formula as a product of powers; any other formula is a base with the exponent 1.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> powers = collect_powers(parse_expression("x*sqrt(x*y)/z**2"))
    >>> {str(base): str(power) for base, power in powers.items()}
    {'x': '3/2', 'y': '1/2', 'z': '-2'}
    """
    powers: defaultdict[Expression, Fraction] = defaultdict(Fraction)
    for base, power in _iterate_powers(term, Fraction(1)):
        powers[base] += power
    return {base: power for base, power in powers.items() if power and base != Constant(1)}


def _iterate_powers(term: Expression, power: Fraction) -> Iterator[tuple[Expression, Fraction]]:
    """Yield the bases and exponents of a product, from left to right."""
    name = term.operator.name if isinstance(term, Call) else ""
    if isinstance(term, Call) and name in {"mul", "div"}:
        left, right = term.arguments
        yield from _iterate_powers(left, power)
        yield from _iterate_powers(right, power if name == "mul" else -power)
    elif isinstance(term, Call) and name == "neg":
        yield from _iterate_negated(term, power)
    elif isinstance(term, Call) and name in _EXPONENTS:
        yield from _iterate_powers(term.arguments[0], power * _EXPONENTS[name])
    elif isinstance(term, Call) and name == "pow" and _is_whole(term.arguments[1]):
        exponent = term.arguments[1]
        assert isinstance(exponent, Constant)  # noqa: S101  # it is whole
        yield from _iterate_powers(term.arguments[0], power * int(exponent.value))
    else:
        yield term, power


def _iterate_negated(term: Call, power: Fraction) -> Iterator[tuple[Expression, Fraction]]:
    """Yield the factors of −x, with the sign moved into a difference if there is one."""
    factors = list(_iterate_powers(term.arguments[0], Fraction(1)))
    for place, (base, exponent) in enumerate(factors):
        if isinstance(base, Call) and base.operator.name == "sub" and abs(exponent) == 1:
            factors[place] = apply_operator(base.operator, *reversed(base.arguments)), exponent
            yield from ((each, power * own) for each, own in factors)
            return
    yield term, power


def _is_whole(exponent: Expression) -> bool:
    return isinstance(exponent, Constant) and not exponent.fitted and float(exponent.value).is_integer()


def is_sum(base: Expression) -> TypeGuard[Call]:
    """Return whether a formula is a sum or difference."""
    return isinstance(base, Call) and base.operator.name in {"add", "sub"}


def _list_forms(powers: Powers, base: Expression) -> Iterator[Powers]:
    """Yield the product with a common factor d moved out of a sum, for each simple d."""
    assert is_sum(base)  # noqa: S101
    if base not in powers:  # another sum became equal to it
        return
    left, right = map(collect_powers, base.arguments)
    shared = {
        each: min(left.get(each, Fraction(0)), right.get(each, Fraction(0)))
        for each in dict.fromkeys([*left, *right])
    }
    single: list[Powers] = [{each: power} for part in (left, right) for each, power in part.items()]
    tried: list[Powers] = [{}]
    for divisor in (left, right, shared, *single):
        factors: Powers = {
            each: power for each, power in divisor.items() if power and not isinstance(each, Constant)
        }
        if factors in tried:
            continue
        tried.append(factors)
        summands = [build_power_product(sort_powers(_divide(part, factors))) for part in (left, right)]
        yield _replace_sum(powers, base, factors, apply_operator(base.operator, *summands))


def _list_forms_of_long_sum(powers: Powers, base: Expression) -> Iterator[Powers]:
    """Yield the product with the common factor of three or more summands moved out of their sum."""
    summands = list(_iterate_summands(base))
    parts = [collect_powers(part) for _, part in summands]
    factors: Powers = {}
    for each in parts[0]:
        powers_of_each = [part.get(each, Fraction(0)) for part in parts]
        power = max(min(powers_of_each), Fraction(0)) + min(max(powers_of_each), Fraction(0))
        if power and not isinstance(each, Constant):
            factors[each] = power
    if len(parts) < 3 or not factors:
        return
    total: Expression | None = None
    for (operator, _), part in zip(summands, parts, strict=True):
        quotient = build_power_product(sort_powers(_divide(part, factors)))
        total = quotient if total is None else apply_operator(operator, total, quotient)
    assert total is not None  # noqa: S101  # there are summands
    yield _replace_sum(powers, base, factors, total)


def _iterate_summands(base: Expression) -> Iterator[tuple[Operator, Expression]]:
    """Yield the summands of a + b − c from left to right, each with the operator before it."""
    rest, later = base, []
    while is_sum(rest):
        later.append((rest.operator, rest.arguments[1]))
        rest = rest.arguments[0]
    yield OPERATORS["add"], rest
    yield from reversed(later)


def _replace_sum(powers: Powers, base: Expression, factors: Powers, new_base: Expression) -> Powers:
    """Replace a sum in a product by factors times another sum."""
    changed = {each: power for each, power in powers.items() if each != base}
    for each, power in factors.items():
        changed[each] = changed.get(each, Fraction(0)) + power * powers[base]
    if new_base != Constant(1):
        changed[new_base] = changed.get(new_base, Fraction(0)) + powers[base]
    return {each: power for each, power in changed.items() if power}


def _clear_fractions(powers: Powers) -> Iterator[Powers]:
    """Yield a quotient of two sums without fractions in them: (3 + 2*u)/(3 - u) for (1 + 2*u/3)/(1 - u/3)."""
    sums = [(base, power) for base, power in powers.items() if is_sum(base)]
    if len(sums) != 2 or sums[0][1] != -sums[1][1]:
        return
    parts = [collect_powers(part) for base, _ in sums for part in base.arguments]
    lowest = {
        each: min(part.get(each, Fraction(0)) for part in parts)
        for each in dict.fromkeys(each for part in parts for each in part)
        if not isinstance(each, Constant)
    }
    negative: Powers = {each: power for each, power in lowest.items() if power < 0}
    numbers = [_compute_number(part) for part in parts]
    known = [number for number in numbers if number is not None]
    if len(known) < len(parts):
        return
    scale = Fraction(lcm(*(number.denominator for number in known)))
    scale /= gcd(*(int(number * scale) for number in known))
    if scale == 1 and not negative:
        return
    cleared = [_multiply(part, number * scale, negative) for part, number in zip(parts, known, strict=True)]
    changed = {each: power for each, power in powers.items() if not is_sum(each)}
    for place, (base, power) in enumerate(sums):
        new_base = apply_operator(base.operator, *cleared[2 * place : 2 * place + 2])
        changed[new_base] = changed.get(new_base, Fraction(0)) + power
    yield {each: power for each, power in changed.items() if power}


def _join_fraction(powers: Powers, base: Expression) -> Powers | None:
    """Write 1 + 2/(x - 1) as (x + 1)/(x - 1), for any sum that is such a quotient; None for other sums."""
    assert is_sum(base)  # noqa: S101
    parts = [(1, collect_powers(base.arguments[0]))]
    parts.append((1 if base.operator.name == "add" else -1, collect_powers(base.arguments[1])))
    parts.sort(key=lambda each: any(not isinstance(factor, Constant) for factor in each[1]))
    (number_sign, number_part), (fraction_sign, fraction) = parts  # the number comes first
    bases = [each for _, part in parts for each in part if not isinstance(each, Constant)]
    number, factor = _compute_number(number_part), _compute_number(fraction)
    if number is None or factor is None or len(bases) != 1:
        return None
    (below,) = bases
    split = _split_number(below) if is_sum(below) and fraction[below] == -1 else None
    if split is None:
        return None
    x, x_sign, k = split
    slope, rest = number_sign * number * x_sign, number_sign * number * k + fraction_sign * factor
    if abs(slope) != 1 or abs(rest) not in {0, abs(k)} or (slope < 0 and rest <= 0):
        return None
    numerator = x if rest == 0 else _build_line(x, int(slope), int(rest))
    return _replace_sum(powers, base, {numerator: Fraction(1), below: Fraction(-1)}, Constant(1))


def _split_number(base: Call) -> tuple[Expression, int, int] | None:
    """Return x, the sign of x, and k of x + k, x - k or k - x with an integer k; None for other sums."""
    left, right = base.arguments
    sign = 1 if base.operator.name == "add" else -1
    for number, other, number_sign, other_sign in ((right, left, sign, 1), (left, right, 1, sign)):
        if isinstance(number, Constant) and not number.fitted and float(number.value).is_integer():
            return other, other_sign, number_sign * int(number.value)
    return None


def _build_line(x: Expression, slope: int, number: int) -> Expression:
    """Build x + number or number - x, with the positive part first."""
    if slope < 0:
        return apply_operator(OPERATORS["sub"], Constant(number), x)
    return apply_operator(OPERATORS["add" if number > 0 else "sub"], x, Constant(abs(number)))


def _compute_number(powers: Powers) -> Fraction | None:
    """Return the product of the numbers of a product; None if it is not a fraction of integers."""
    total = Fraction(1)
    for base, power in powers.items():
        if isinstance(base, Constant):
            if base.fitted or not float(base.value).is_integer() or power.denominator != 1:
                return None
            total *= Fraction(int(base.value)) ** int(power)
    return total


def _multiply(powers: Powers, number: Fraction, divisor: Powers) -> Expression:
    """Build a product with another number, divided by powers of bases that are no numbers."""
    rest: Powers = {base: power for base, power in powers.items() if not isinstance(base, Constant)}
    factor: Powers = {} if number == 1 else {Constant(int(number)): Fraction(1)}
    return build_power_product(sort_powers(factor | _divide(rest, divisor)))


def _divide(powers: Powers, factors: Powers) -> Powers:
    """Divide a product by another."""
    quotient = dict(powers)
    for base, power in factors.items():
        quotient[base] = quotient.get(base, Fraction(0)) - power
    return {base: power for base, power in quotient.items() if power}


def sort_powers(powers: Powers) -> list[tuple[Expression, Fraction]]:
    """Sort factors: numbers first, then by complexity and name."""
    if len(powers) < 2:
        return list(powers.items())
    keys = [(not isinstance(base, Constant), compute_complexity(base)) for base in powers]
    # names take long to write, so they are written where the rest of the key does not decide
    texts = [str(base) if keys.count(key) > 1 else "" for base, key in zip(powers, keys, strict=True)]
    order = sorted(range(len(keys)), key=lambda place: (*keys[place], texts[place]))
    factors = list(powers.items())
    return [factors[place] for place in order]


def _build_key(term: Expression, powers: Powers) -> tuple[int, Fraction, int, int]:
    """Return the sort key of a form.

    The first three parts are 0 unless there is a root of a sum: the number of roots such as √(1/a² − 1/b²),
    the sum of the exponents outside of sums, and the number of roots without a number and a quotient less
    than it. The last part is the complexity.
    """
    roots = [base for base, power in powers.items() if is_sum(base) and power.denominator != 1]
    outside = [
        abs(power)
        for base, power in powers.items()
        if roots and not is_sum(base) and not isinstance(base, Constant)
    ]
    n_unscaled = sum(not _is_scaled(root) for root in roots)
    n_inverse = sum(map(_is_sum_of_inverses, roots))
    return n_inverse, sum(outside, start=Fraction(0)), n_unscaled, compute_complexity(term)


def _is_sum_of_inverses(base: Expression) -> bool:
    """Return whether no summand has a column above the fraction bar, and none is a number."""
    if not isinstance(base, Call):
        return False
    parts = [
        {each: power for each, power in collect_powers(part).items() if not isinstance(each, Constant)}
        for part in base.arguments
    ]
    return all(part and max(part.values()) < 0 for part in parts)


def _is_scaled(base: Expression) -> bool:
    """Return whether a sum is a number plus a quotient, or minus a quotient."""
    if not isinstance(base, Call):
        return False
    left, right = base.arguments
    return isinstance(left, Constant) or (base.operator.name == "add" and isinstance(right, Constant))


def _agree(form: Expression, term: Expression, columns: Mapping[str, Values]) -> bool:
    """Return whether two formulas have the same finite values."""
    with np.errstate(all="ignore"):
        values, expected = (evaluate_expression(each, columns) for each in (form, term))
    if not np.isfinite(values).all():
        return False
    return bool(np.abs(values - expected).max() <= _TOLERANCE * np.abs(expected).max())

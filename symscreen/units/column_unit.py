"""One unit, read by pint: its factor to base units, exactly, and the exponents of these."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from symscreen.errors import OptionError, nearest
from symscreen.units.customary import (
    DIFFERENCES,
    TWO_MEANINGS,
    customary,
    offset_in_product,
    spelt_as_pint_does,
    stands_alone,
    two_meanings,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["ColumnUnit", "column_unit", "converted", "is_exact", "unit_in_header", "written"]

_LONGEST = 80
_EXACT = 1 << 53
_OPENS = {")": "(", "]": "["}
_PURE = frozenset({"", "1", "-", "dimensionless"})
_SYMBOLS = {
    "[mass]": "kg", "[length]": "m", "[time]": "s", "[current]": "A", "[temperature]": "K",
    "[substance]": "mol", "[luminosity]": "cd",
}  # fmt: skip
# m s-1 is m s**-1, as meteorologists write; other letters for signs that pint knows
_SIGNED = re.compile(r"(?<=[^\W\d])(-\d)")
_RAISED = re.compile("[⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+")
# m3 is m**3; other figures behind letters are rather a name's, as in T1 and CO2
_BEHIND = re.compile(r"(?<!\w)([^\W\d_]+)([2-4])(?![\w.])")
_LETTERS = str.maketrans("·⋅×−μ\u2126^⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "***-µΩ^+-0123456789")
# numbers are small, stand above units and nowhere else: what pint computes of others may never end
_POWER = re.compile(
    r"(\*\*|\^)\s*(\(\s*[-+]?\d{1,2}(\.\d{1,2})?\s*(/\s*\d{1,2}\s*)?\)|[-+]?\d{1,2}(\.\d{1,2})?)(?![\d.])(?!\s*(\*\*|\^))"
)
_GROUP = re.compile(r"\)\s*(\*\*|\^)")
_NUMBER = re.compile(r"(?<!\w)[\d.]")


@dataclass(frozen=True, slots=True)
class ColumnUnit:
    """What a unit is in base units (m, kg, s, A, K, mol, cd).

    Parameters
    ----------
    given : str
        As it was written.
    factor, offset : Fraction
        A value v in it is ``factor·v + offset`` in base units.
    exponents : mapping of str to Fraction
        The base units' symbols with their exponents, none of them 0; empty for a pure number.
    remark : str
        What a reader should know of how it was read.
    """

    given: str
    factor: Fraction
    offset: Fraction
    exponents: Mapping[str, Fraction]
    remark: str = ""

    @property
    def base(self) -> str:
        """The unit in base units, ``"kg*m**2/s**2"``; ``"1"`` for a pure number."""
        return written(self.exponents)

    @property
    def converts(self) -> bool:
        """Whether values change."""
        return self.factor != 1 or self.offset != 0


def unit_in_header(name: str) -> str | None:
    """Return what stands in brackets at the end of a column's name, with the brackets inside these.

    Examples
    --------
    >>> unit_in_header("length (mm)"), unit_in_header("work [N*m]"), unit_in_header("x1")
    ('mm', 'N*m', None)
    >>> unit_in_header("c [J/(kg*K)]")
    'J/(kg*K)'
    """
    text = name.rstrip()
    if not text.endswith(tuple(_OPENS)):
        return None
    awaited: list[str] = []
    for place in range(len(text) - 1, -1, -1):
        mark = text[place]
        if mark in _OPENS:
            awaited.append(_OPENS[mark])
        elif mark in "([" and mark != awaited.pop():
            return None
        if not awaited:
            return text[place + 1 : -1].strip()
    return None


def column_unit(text: str) -> ColumnUnit:
    """Read a unit.

    Parameters
    ----------
    text : str
        Any unit that pint knows, ``"mm"``, ``"kg*m/s**2"``, ``"W/m²"``, ``"µg/m3"``, ``"degC"``; ``"1"``,
        ``"-"`` or nothing for a pure number. So are percentages (``"wt%"``), parts (``"ppm"``), and what is
        on a logarithmic scale (``"pH"``, ``"dB"``), which the remark tells. At most 80 characters.

    Returns
    -------
    ColumnUnit

    Raises
    ------
    OptionError
        If pint is not installed or does not know the unit, if it can mean two things, as ``degC*m`` and
        ``ppt`` can, if a logarithmic scale or a unit of its own stands in a product, as in ``pH/min``, or
        values in it are no multiples of values in base units, save for an offset.

    Examples
    --------
    >>> unit = column_unit("km/h")
    >>> unit.factor, unit.base
    (Fraction(5, 18), 'm/s')
    """
    told = text.strip()
    if told in _PURE:
        return ColumnUnit(told, Fraction(1), Fraction(0), {})
    if len(told) > _LONGEST:
        raise OptionError(f"the unit {told[:20]!r}… has {len(told)} characters; at most {_LONGEST} are read")
    if (known := customary(told)) is not None:
        return ColumnUnit(told, known[0], Fraction(0), {}, known[1])
    if (meanings := two_meanings(told)) is not None:
        raise OptionError(f"the unit {told!r} {TWO_MEANINGS}, {meanings}")
    spelt = spelt_as_pint_does(told)
    if (alone := stands_alone(spelt)) is not None:
        raise OptionError(f"the unit {told!r} cannot be read: {alone}")
    plain = _RAISED.sub(r"**\g<0>", spelt).translate(_LETTERS)
    plain = _SIGNED.sub(r"**\1", plain)
    registry = _registry()
    plain = _with_powers(plain, registry)
    if not _is_fair(plain):
        raise _unknown(told, "numbers stand above a unit only, as in m**2, and have two digits at most")
    try:
        unit = registry.parse_units(plain)
        _, base = registry.get_base_units(unit)
        zero, one, two = (
            Fraction(registry.Quantity(Fraction(value), unit).to(base).magnitude) for value in (0, 1, 2)
        )
        exponents = {_symbol(name): Fraction(power) for name, power in unit.dimensionality.items()}
        for symbol in exponents:
            registry.parse_units(symbol)  # a dimension without a base unit, as that of a dot, has no name
    except Exception as error:  # noqa: BLE001  # pint lets whatever its tokenizer raises through
        raise _unknown(told, _reason(error, registry)) from None
    if two - one != one - zero or one == zero:
        raise _unknown(told, "its values are no multiples of values in base units")
    kept = {name: power for name, power in exponents.items() if power}
    return ColumnUnit(told, one - zero, zero, kept, _of_offsets(told, plain))


def _with_powers(plain: str, registry: Any) -> str:
    """Write m3 as m**3, where pint does not know m3 and knows m."""

    def powered(match: re.Match[str]) -> str:
        known = not _knows(match[0], registry) and _knows(match[1], registry)
        return f"{match[1]}**{match[2]}" if known else match[0]

    return _BEHIND.sub(powered, plain)


def _knows(word: str, registry: Any) -> bool:
    try:
        return word in registry
    except Exception:  # noqa: BLE001  # pint lets whatever its tokenizer raises through
        return False


def _of_offsets(told: str, plain: str) -> str:
    """Refuse a product with a unit that has a 0 of its own; say of a quotient how it was read."""
    registry = _registry()
    written_so = registry.Quantity(1, registry.parse_units(plain, as_delta=False))
    powers = {name: Fraction(power) for name, power in written_so.unit_items()}
    offsets = frozenset(
        name for name in powers if registry.Quantity(Fraction(0), name).to_base_units().magnitude
    )
    wrong = offset_in_product(powers, offsets)
    if wrong is not None:
        raise OptionError(
            f"the unit {told!r} {TWO_MEANINGS}, for {wrong} has a 0 of its own: write it with K where "
            f"temperatures are meant, and bring the values there, or with delta_{wrong} where differences are"
        )
    alone = list(powers.values()) == [1]
    return DIFFERENCES if offsets and not alone else ""


def written(exponents: Mapping[str, Fraction]) -> str:
    """Write a unit, ``"kg*m**2/s**2"``; pint reads it, too.

    Examples
    --------
    >>> written({"s": Fraction(-1, 2), "m": Fraction(1)}), written({"s": Fraction(-1)}), written({})
    ('m/s**(1/2)', '1/s', '1')
    """
    above = [_power(name, power) for name, power in sorted(exponents.items()) if power > 0]
    below = [_power(name, -power) for name, power in sorted(exponents.items()) if power < 0]
    return "/".join(["*".join(above) or "1", *below])


def converted(values: NDArray[np.float64], factor: Fraction, offset: Fraction) -> NDArray[np.float64]:
    """Bring values into base units, rounded as seldom as can be.

    Examples
    --------
    >>> import numpy as np
    >>> converted(np.array([5.0]), Fraction(1, 1000), Fraction(0)).tolist()
    [0.005]
    """
    # whole numbers where there are such: 5 mm are 5/1000 m, not 5 times the float 0.001
    whole = is_exact(factor)
    values = values * factor.numerator / factor.denominator if whole else values * float(factor)
    return values + float(offset) if offset else values


def is_exact(factor: Fraction) -> bool:
    """Say whether both numbers of a factor are exact as floating-point numbers."""
    return max(abs(factor.numerator), factor.denominator) < _EXACT


def _power(name: str, power: Fraction) -> str:
    if power == 1:
        return name
    return f"{name}**{power}" if power.denominator == 1 else f"{name}**({power})"


def _symbol(dimension: str) -> str:
    return _SYMBOLS.get(dimension, dimension.strip("[]"))


def _is_fair(text: str) -> bool:
    bare = _POWER.sub("", text)
    bare = re.sub(r"^\s*1\s*/", "", bare)
    others = any(mark.isdigit() and not mark.isascii() for mark in text)
    return not (others or _NUMBER.search(bare) or len(_GROUP.findall(text)) > 1) and text.isprintable()


def _reason(error: Exception, registry: Any) -> str:
    """Say what pint found: its own words, and those of its tokenizer, speak of registries and statements."""
    unknown = getattr(error, "unit_names", None)
    word = unknown if isinstance(unknown, str) else str(next(iter(unknown or ("",))))
    if word and not word.startswith("delta_"):  # no one writes differences of decibels; pint looks for them
        close = nearest(word, registry)
        return f"pint knows no unit {word!r}{close if 'did you mean' in close else ''}"
    if word or isinstance(error, TypeError):  # a logarithm of an exact number
        return (
            "it is of a scale whose values are no multiples of values in base units, as those of logarithms"
        )
    return "it is no product of units and their powers"


def _unknown(text: str, why: str) -> OptionError:
    reason = " ".join(why.split())
    return OptionError(
        f"the unit {text!r} cannot be read: {reason}; write it as pint does, such as kg*m/s**2"
    )


@cache
def _registry() -> Any:
    """Make pint's registry, with exact factors; once, for it takes most of a second."""
    try:
        import pint
    except ImportError:
        raise OptionError("units need pint: pip install 'symscreen[units]'") from None
    return pint.UnitRegistry(non_int_type=Fraction)

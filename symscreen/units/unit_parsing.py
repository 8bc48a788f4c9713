"""What people write in the place of a unit that pint does not know, or takes for another.

One unit, read by pint: its factor to base units, exactly, and the exponents of these.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from symscreen.errors import OptionError, suggest

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray


__all__ = [
    "AMBIGUITY_TEXT",
    "DIFFERENCES_REMARK",
    "ColumnUnit",
    "convert_to_base",
    "explain_ambiguity",
    "explain_not_composable",
    "extract_header_unit",
    "find_offset_unit",
    "format_unit",
    "is_exact",
    "normalize_unit_text",
    "parse_dimensionless_name",
    "parse_unit",
]

DIFFERENCES_REMARK = "degrees in it are differences of temperature"
AMBIGUITY_TEXT = "can mean two things"

_LOGARITHMIC = re.compile(
    r"p(?:H|OH|I|K[abwid]?\d?|IC50|EC50)(?: units?)?"
    r"|-?\s*(?:log\d*|ln|lg)\s*(?:[PDSK]|\((?:[^()]|\([^()]*\))*\))?"
    r"|dB\w{0,4}|bels?|Np|nepers?|mag|magnitudes?|phon"
)
_ARBITRARY = re.compile(
    r"a\.\s*u\.?|arb(?:itrary|\.)?\s*(?:u\.?|units?)|r\.\s*u\.?|relative units?", re.IGNORECASE
)
_ARBITRARY_WITHIN = re.compile(rf"(?<!\w)(?:{_ARBITRARY.pattern})(?!\w)", re.IGNORECASE)
_IN_PRODUCT = "has no unit in a product; write 1, for a pure number"
_DIMENSIONLESS_NAME = re.compile(
    r"(?i:unitless|no units?|none|n/a|fractions?|ratio)|na|NA|Na"
)  # and nA is an ampere
_SHARE_BASIS = r"(?:mol|mole|wt|weight|mass|vol|volume|at|atom|m/m|w/w|v/v|w/v)\.?"
_PERCENT = re.compile(
    rf"{_SHARE_BASIS}[ -]?(?:%|percent|pct)|(?:%|percent|pct)\s*(?:{_SHARE_BASIS}|RH|rh)|pct"
)
_PERCENT_WITHIN = re.compile(rf"(?<!\w)(?:{_PERCENT.pattern})(?!\w)")
_PARTS_PER_POWERS: Mapping[str, int] = {"permil": 3, "permille": 3, "ppm": 6, "ppb": 9}
_PARTS_WITH_BASIS = re.compile(r"(ppm|ppb|ppt)[vwm]")
_AMBIGUOUS = {
    "ppt": "parts per thousand or per trillion: write permil, or pptv",
    "RH": "a share or a percentage: write %RH or 1",
}
_AMBIGUOUS_IN_PRODUCT = {
    "ppt": "parts per thousand or per trillion: write permille, as in permille/min, or ppm",
    "RH": "a share or a percentage: write % or 1 in its place, as in %/h or 1/h",
}
_WORD = re.compile(r"[^\W\d_]\w*")
_TORQUE = re.compile(r"(?<!\w)([kMGmµμ]?N)([mc]?m)(?!\w)")  # pint's Nm is the number of a yarn
_TORQUE_POWER = re.compile(r"(?<!\w)[kMGmµμ]?N[mc]?m(?=\s*(?:\*\*|\^)|-?\d|[⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹])")
_TEMPERATURES = (
    (re.compile(r"℃|[°º˚]\s*C|deg(?:rees?|\.)?\s+C(?:elsius)?|Celsius|oC"), "degC"),
    (re.compile(r"℉|[°º˚]\s*F|deg(?:rees?|\.)?\s+F(?:ahrenheit)?|Fahrenheit|oF"), "degF"),
)


def parse_dimensionless_name(text: str) -> tuple[Fraction, str] | None:
    """Read the name of a pure number.

    Parameters
    ----------
    text : str
        What stands in the place of a unit.

    Returns
    -------
    tuple of Fraction and str, or None
        Its factor, and what a reader should know of it, if anything; None where it is no such name.

    Examples
    --------
    >>> parse_dimensionless_name("pH"), parse_dimensionless_name("wt%"), parse_dimensionless_name("mm")
    ((Fraction(1, 1), 'on a logarithmic scale, taken as a pure number'), (Fraction(1, 100), ''), None)
    """
    if _LOGARITHMIC.fullmatch(text):
        return Fraction(1), "on a logarithmic scale, taken as a pure number"
    if _ARBITRARY.fullmatch(text):
        return Fraction(1), "in units of its own, taken as a pure number"
    if _DIMENSIONLESS_NAME.fullmatch(text):
        return Fraction(1), ""
    if _PERCENT.fullmatch(text):
        return Fraction(1, 100), ""
    of_what = _PARTS_WITH_BASIS.fullmatch(text)
    if of_what is not None or text in _PARTS_PER_POWERS:
        power = {**_PARTS_PER_POWERS, "ppt": 12}[text if of_what is None else of_what[1]]
        return Fraction(1, 10**power), ""
    return None


def explain_ambiguity(text: str) -> str | None:
    """Say what a name can mean that is none of one unit, alone or in a product; None for any other.

    Examples
    --------
    >>> explain_ambiguity("RH/h")
    'a share or a percentage: write % or 1 in its place, as in %/h or 1/h'
    """
    if text in _AMBIGUOUS:
        return _AMBIGUOUS[text]
    if (found := _TORQUE_POWER.search(text)) is not None:
        force = _TORQUE.sub(r"\1*\2", found[0])
        return f"a power of {found[0]} or of its metre: write it out, as ({force})**2 or {force}**2"
    words = _WORD.findall(_PERCENT_WITHIN.sub("", text))
    return next((_AMBIGUOUS_IN_PRODUCT[word] for word in words if word in _AMBIGUOUS), None)


def explain_not_composable(text: str) -> str | None:
    """Say why a product has no unit: what is on a scale of its own stands in it.

    Parameters
    ----------
    text : str
        What `customary` does not know, as `normalize_unit_text` writes it.

    Returns
    -------
    str or None
        None where there is no such name.

    Examples
    --------
    >>> explain_not_composable("pH/min")
    "'pH' is on a logarithmic scale, and has no unit in a product; write 1, for a pure number"
    >>> explain_not_composable("m/min")
    """
    logarithm = next((word for word in _WORD.findall(text) if _LOGARITHMIC.fullmatch(word)), None)
    if logarithm is not None:
        return f"{logarithm!r} is on a logarithmic scale, and {_IN_PRODUCT}"
    if (own := _ARBITRARY_WITHIN.search(text)) is not None:
        return f"{own[0]!r} is a unit of its own, and {_IN_PRODUCT}"
    return None


def normalize_unit_text(text: str) -> str:
    """Write degrees of temperature, percentages and torques in the letters that pint reads.

    Examples
    --------
    >>> normalize_unit_text("deg C"), normalize_unit_text("J/(kg °C)")
    ('degC', 'J/(kg degC)')
    >>> normalize_unit_text("wt%/min"), normalize_unit_text("kNm/rad")
    ('percent/min', '(kN*m)/rad')
    """
    for pattern, name in _TEMPERATURES:
        if pattern.fullmatch(text):
            return name
    text = re.sub(r"[°º˚]\s*([CF])\b", r"deg\1", text)
    return _TORQUE.sub(r"(\1*\2)", _PERCENT_WITHIN.sub("percent", text))


def find_offset_unit(powers: Mapping[str, Fraction], offsets: frozenset[str]) -> str | None:
    """Find a unit with a 0 of its own, such as degC, where its 0 would matter.

    Parameters
    ----------
    powers : mapping of str to Fraction
        The units as they were written, with their exponents.
    offsets : frozenset of str
        Those of them with a 0 of their own.

    Returns
    -------
    str or None
        The unit; None where there is none, where it stands alone, and in quotients: degC/min, J/degC and
        their like speak of differences, which have no 0.

    Examples
    --------
    >>> one = frozenset({"degC"})
    >>> find_offset_unit({"degC": Fraction(1), "m": Fraction(1)}, one)
    'degC'
    >>> find_offset_unit({"degC": Fraction(1), "min": Fraction(-1)}, one)
    """
    for name in sorted(offsets):
        power = powers[name]
        others = [other for unit, other in powers.items() if unit != name]
        if power > 0 and (power != 1 or any(other > 0 for other in others)):
            return name
    return None


_MAX_UNIT_CHARS = 80
_MAX_EXACT_INTEGER = 1 << 53
_OPENING_BRACKETS = {")": "(", "]": "["}
_DIMENSIONLESS = frozenset({"", "1", "-", "dimensionless"})
_SYMBOLS = {
    "[mass]": "kg", "[length]": "m", "[time]": "s", "[current]": "A", "[temperature]": "K",
    "[substance]": "mol", "[luminosity]": "cd",
}  # fmt: skip
# m s-1 is m s**-1, as meteorologists write; other letters for signs that pint knows
_SIGNED_EXPONENT = re.compile(r"(?<=[^\W\d])(-\d)")
_SUPERSCRIPTS = re.compile("[⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+")
# m3 is m**3; other figures behind letters are rather a name's, as in T1 and CO2
_TRAILING_EXPONENT = re.compile(r"(?<!\w)([^\W\d_]+)([2-4])(?![\w.])")
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

    text: str
    factor: Fraction
    offset: Fraction
    exponents: Mapping[str, Fraction]
    remark: str = ""

    @property
    def base(self) -> str:
        """The unit in base units, ``"kg*m**2/s**2"``; ``"1"`` for a pure number."""
        return format_unit(self.exponents)

    @property
    def changes_values(self) -> bool:
        """Whether values change."""
        return self.factor != 1 or self.offset != 0


def extract_header_unit(name: str) -> str | None:
    """Return what stands in brackets at the end of a column's name, with the brackets inside these.

    Examples
    --------
    >>> extract_header_unit("length (mm)"), extract_header_unit("work [N*m]"), extract_header_unit("x1")
    ('mm', 'N*m', None)
    >>> extract_header_unit("c [J/(kg*K)]")
    'J/(kg*K)'
    """
    text = name.rstrip()
    if not text.endswith(tuple(_OPENING_BRACKETS)):
        return None
    awaited: list[str] = []
    for place in range(len(text) - 1, -1, -1):
        mark = text[place]
        if mark in _OPENING_BRACKETS:
            awaited.append(_OPENING_BRACKETS[mark])
        elif mark in "([" and mark != awaited.pop():
            return None
        if not awaited:
            return text[place + 1 : -1].strip()
    return None


def parse_unit(text: str) -> ColumnUnit:
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
    >>> unit = parse_unit("km/h")
    >>> unit.factor, unit.base
    (Fraction(5, 18), 'm/s')
    """
    told = text.strip()
    if told in _DIMENSIONLESS:
        return ColumnUnit(told, Fraction(1), Fraction(0), {})
    if len(told) > _MAX_UNIT_CHARS:
        raise OptionError(
            f"the unit {told[:20]!r}… has {len(told)} characters; at most {_MAX_UNIT_CHARS} are read"
        )
    if (known := parse_dimensionless_name(told)) is not None:
        return ColumnUnit(told, known[0], Fraction(0), {}, known[1])
    if (meanings := explain_ambiguity(told)) is not None:
        raise OptionError(f"the unit {told!r} {AMBIGUITY_TEXT}, {meanings}")
    spelt = normalize_unit_text(told)
    if (alone := explain_not_composable(spelt)) is not None:
        raise OptionError(f"the unit {told!r} cannot be read: {alone}")
    plain = _SUPERSCRIPTS.sub(r"**\g<0>", spelt).translate(_LETTERS)
    plain = _SIGNED_EXPONENT.sub(r"**\1", plain)
    registry = _get_registry()
    plain = _expand_powers(plain, registry)
    if not _is_parsable(plain):
        raise _build_unit_error(
            told, "numbers stand above a unit only, as in m**2, and have two digits at most"
        )
    try:
        unit = registry.parse_units(plain)
        _, base = registry.get_base_units(unit)
        zero, one, two = (
            Fraction(registry.Quantity(Fraction(value), unit).to(base).magnitude) for value in (0, 1, 2)
        )
        exponents = {_get_symbol(name): Fraction(power) for name, power in unit.dimensionality.items()}
        for symbol in exponents:
            registry.parse_units(symbol)  # a dimension without a base unit, as that of a dot, has no name
    except Exception as error:  # noqa: BLE001  # pint lets whatever its tokenizer raises through
        raise _build_unit_error(told, _explain_parse_error(error, registry)) from None
    if two - one != one - zero or one == zero:
        raise _build_unit_error(told, "its values are no multiples of values in base units")
    kept = {name: power for name, power in exponents.items() if power}
    return ColumnUnit(told, one - zero, zero, kept, _check_offsets(told, plain))


def _expand_powers(text: str, registry: Any) -> str:
    """Write m3 as m**3, where pint does not know m3 and knows m."""

    def expand_power(match: re.Match[str]) -> str:
        known = not _is_known_unit(match[0], registry) and _is_known_unit(match[1], registry)
        return f"{match[1]}**{match[2]}" if known else match[0]

    return _TRAILING_EXPONENT.sub(expand_power, text)


def _is_known_unit(word: str, registry: Any) -> bool:
    try:
        return word in registry
    except Exception:  # noqa: BLE001  # pint lets whatever its tokenizer raises through
        return False


def _check_offsets(original_text: str, normalized_text: str) -> str:
    """Refuse a product with a unit that has a 0 of its own; say of a quotient how it was read."""
    registry = _get_registry()
    written_so = registry.Quantity(1, registry.parse_units(normalized_text, as_delta=False))
    powers = {name: Fraction(power) for name, power in written_so.unit_items()}
    offsets = frozenset(
        name for name in powers if registry.Quantity(Fraction(0), name).to_base_units().magnitude
    )
    wrong = find_offset_unit(powers, offsets)
    if wrong is not None:
        raise OptionError(
            f"the unit {original_text!r} {AMBIGUITY_TEXT}, for {wrong} has a 0 of its own: write it with K "
            "where "
            f"temperatures are meant, and bring the values there, or with delta_{wrong} where differences are"
        )
    alone = list(powers.values()) == [1]
    return DIFFERENCES_REMARK if offsets and not alone else ""


def format_unit(exponents: Mapping[str, Fraction]) -> str:
    """Write a unit, ``"kg*m**2/s**2"``; pint reads it, too.

    Examples
    --------
    >>> written({"s": Fraction(-1, 2), "m": Fraction(1)}), written({"s": Fraction(-1)}), written({})
    ('m/s**(1/2)', '1/s', '1')
    """
    above = [_format_power(name, power) for name, power in sorted(exponents.items()) if power > 0]
    below = [_format_power(name, -power) for name, power in sorted(exponents.items()) if power < 0]
    return "/".join(["*".join(above) or "1", *below])


def convert_to_base(values: NDArray[np.float64], factor: Fraction, offset: Fraction) -> NDArray[np.float64]:
    """Bring values into base units, rounded as seldom as can be.

    Examples
    --------
    >>> import numpy as np
    >>> convert_to_base(np.array([5.0]), Fraction(1, 1000), Fraction(0)).tolist()
    [0.005]
    """
    # whole numbers where there are such: 5 mm are 5/1000 m, not 5 times the float 0.001
    whole = is_exact(factor)
    values = values * factor.numerator / factor.denominator if whole else values * float(factor)
    return values + float(offset) if offset else values


def is_exact(factor: Fraction) -> bool:
    """Say whether both numbers of a factor are exact as floating-point numbers."""
    return max(abs(factor.numerator), factor.denominator) < _MAX_EXACT_INTEGER


def _format_power(name: str, power: Fraction) -> str:
    if power == 1:
        return name
    return f"{name}**{power}" if power.denominator == 1 else f"{name}**({power})"


def _get_symbol(dimension: str) -> str:
    return _SYMBOLS.get(dimension, dimension.strip("[]"))


def _is_parsable(text: str) -> bool:
    bare = _POWER.sub("", text)
    bare = re.sub(r"^\s*1\s*/", "", bare)
    others = any(mark.isdigit() and not mark.isascii() for mark in text)
    return not (others or _NUMBER.search(bare) or len(_GROUP.findall(text)) > 1) and text.isprintable()


def _explain_parse_error(error: Exception, registry: Any) -> str:
    """Say what pint found: its own words, and those of its tokenizer, speak of registries and statements."""
    unknown = getattr(error, "unit_names", None)
    word = unknown if isinstance(unknown, str) else str(next(iter(unknown or ("",))))
    if word and not word.startswith("delta_"):  # no one writes differences of decibels; pint looks for them
        close = suggest(word, registry)
        return f"pint knows no unit {word!r}{close if 'did you mean' in close else ''}"
    if word or isinstance(error, TypeError):  # a logarithm of an exact number
        return (
            "it is of a scale whose values are no multiples of values in base units, as those of logarithms"
        )
    return "it is no product of units and their powers"


def _build_unit_error(text: str, why: str) -> OptionError:
    reason = " ".join(why.split())
    return OptionError(
        f"the unit {text!r} cannot be read: {reason}; write it as pint does, such as kg*m/s**2"
    )


@cache
def _get_registry() -> Any:
    """Make pint's registry, with exact factors; once, for it takes most of a second."""
    try:
        import pint
    except ImportError:
        raise OptionError("units need pint: pip install 'symscreen[units]'") from None
    return pint.UnitRegistry(non_int_type=Fraction)

"""Parse units with pint: the exact factor to base units, and the exponents of the base units.

Texts that pint does not know or interprets differently are handled first: percentages and parts (``wt%``,
``ppm``), logarithmic scales (``pH``), arbitrary units, temperatures (``°C``) and torques (``Nm``).
Ambiguous texts are rejected.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from symscreen.errors import OptionError
from symscreen.grammar.dimensions import EXPONENT_DENOMINATOR
from symscreen.messages import find_close_names, suggest_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray


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
# nA is a nanoampere.
_DIMENSIONLESS_NAME = re.compile(r"(?i:unitless|no units?|none|n/a|fractions?|ratio)|na|NA|Na")
_SHARE_BASIS = r"(?:mol|mole|wt|weight|mass|vol|volume|at|atom|m/m|w/w|v/v|w/v)\.?"
_PERCENT = re.compile(
    rf"{_SHARE_BASIS}[ -]?(?:%|percent|pct)|(?:%|percent|pct)\s*(?:{_SHARE_BASIS}|RH|rh)|pct"
)
_PERCENT_WITHIN = re.compile(rf"(?<!\w)(?:{_PERCENT.pattern})(?!\w)")
_PARTS_PER_POWERS: Mapping[str, int] = {"permil": 3, "permille": 3, "ppm": 6, "ppb": 9}
_PARTS_WITH_BASIS = re.compile(r"(ppm|ppb|ppt)[vwm]")
_AMBIGUOUS = {
    "ppt": "parts per thousand or per trillion: write permil, or pptv",
    "RH": "a fraction or a percentage: write %RH or 1",
}
_AMBIGUOUS_IN_PRODUCT = {
    "ppt": "parts per thousand or per trillion: write permille, as in permille/min, or ppm",
    "RH": "a fraction or a percentage: write % or 1 instead, as in %/h or 1/h",
}
_WORD = re.compile(r"[^\W\d_]\w*")
_TORQUE = re.compile(r"(?<!\w)([kMGmµμ]?N)([mc]?m)(?!\w)")  # pint reads Nm as a measure of yarn
_TORQUE_POWER = re.compile(r"(?<!\w)[kMGmµμ]?N[mc]?m(?=\s*(?:\*\*|\^)|-?\d|[⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹])")
_TEMPERATURES = (
    (re.compile(r"℃|[°º˚]\s*C|deg(?:rees?|\.)?\s+C(?:elsius)?|Celsius|oC"), "degC"),
    (re.compile(r"℉|[°º˚]\s*F|deg(?:rees?|\.)?\s+F(?:ahrenheit)?|Fahrenheit|oF"), "degF"),
)

_MAX_UNIT_CHARS = 80
_MAX_EXACT_INTEGER = 1 << 53  # all integers below are exact in float64
_OPENING_BRACKETS = {")": "(", "]": "["}
_DIMENSIONLESS = frozenset({"", "1", "-", "dimensionless"})
_SYMBOLS = {
    "[mass]": "kg", "[length]": "m", "[time]": "s", "[current]": "A", "[temperature]": "K",
    "[substance]": "mol", "[luminosity]": "cd",
}  # fmt: skip
# "m s-1" means m s**-1, as in meteorology.
_SIGNED_EXPONENT = re.compile(r"(?<=[^\W\d])(-\d)")
_SUPERSCRIPTS = re.compile("[⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+")
# "m3" means m**3. Other digits after letters are usually part of a name, as in T1 and CO2.
_TRAILING_EXPONENT = re.compile(r"(?<!\w)([^\W\d_]+)([2-4])(?![\w.])")
_CHARACTER_MAP = str.maketrans("·⋅×−μ\u2126^⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "***-µΩ^+-0123456789")
# Numbers may only be small exponents, because pint may not terminate for others, such as 1e999.
_POWER = re.compile(
    r"(\*\*|\^)\s*(\(\s*[-+]?\d{1,2}(\.\d{1,2})?\s*(/\s*\d{1,2}\s*)?\)|[-+]?\d{1,2}(\.\d{1,2})?)(?![\d._]|[eE][-+]?\d)(?!\s*(\*\*|\^))"
)
_GROUP = re.compile(r"\)\s*(\*\*|\^)")
_NUMBER = re.compile(r"(?<!\w)[\d.]")


def parse_dimensionless_name(text: str) -> tuple[Fraction, str] | None:
    """Parse a text that means a dimensionless quantity, such as a percentage.

    Parameters
    ----------
    text : str
        The text in the place of a unit.

    Returns
    -------
    tuple of Fraction and str, or None
        The factor to a pure number, and a remark that may be empty. None for any other text.

    Examples
    --------
    >>> parse_dimensionless_name("pH"), parse_dimensionless_name("wt%"), parse_dimensionless_name("mm")
    ((Fraction(1, 1), 'on a logarithmic scale, taken as a pure number'), (Fraction(1, 100), ''), None)
    """
    if _LOGARITHMIC.fullmatch(text):
        return Fraction(1), "on a logarithmic scale, taken as a pure number"
    if _ARBITRARY.fullmatch(text):
        return Fraction(1), "in arbitrary units, taken as a pure number"
    if _DIMENSIONLESS_NAME.fullmatch(text):
        return Fraction(1), ""
    if _PERCENT.fullmatch(text):
        return Fraction(1, 100), ""
    parts = _PARTS_WITH_BASIS.fullmatch(text)
    if parts is not None or text in _PARTS_PER_POWERS:
        power = {**_PARTS_PER_POWERS, "ppt": 12}[text if parts is None else parts[1]]
        return Fraction(1, 10**power), ""
    return None


def explain_ambiguity(text: str) -> str | None:
    """Explain why a text is ambiguous as a unit, alone or in a product; None if it is not.

    Parameters
    ----------
    text : str
        The text in the place of a unit.

    Returns
    -------
    str or None

    Examples
    --------
    >>> explain_ambiguity("RH/h")
    'a fraction or a percentage: write % or 1 instead, as in %/h or 1/h'
    """
    if text in _AMBIGUOUS:
        return _AMBIGUOUS[text]
    if (torque := _TORQUE_POWER.search(text)) is not None:
        force = _TORQUE.sub(r"\1*\2", torque[0])
        return f"a power of {torque[0]} or of its metre: write it out, as ({force})**2 or {force}**2"
    words = _WORD.findall(_PERCENT_WITHIN.sub("", text))
    return next((_AMBIGUOUS_IN_PRODUCT[word] for word in words if word in _AMBIGUOUS), None)


def explain_not_composable(text: str) -> str | None:
    """Explain why a product has no unit: a factor is on a logarithmic scale or in arbitrary units.

    Parameters
    ----------
    text : str
        A text that `parse_dimensionless_name` does not know, as written by `normalize_unit_text`.

    Returns
    -------
    str or None
        None if the factor does not exist.

    Examples
    --------
    >>> explain_not_composable("pH/min")
    "'pH' is on a logarithmic scale, and has no unit in a product; write 1, for a pure number"
    >>> explain_not_composable("m/min")
    """
    logarithm = next((word for word in _WORD.findall(text) if _LOGARITHMIC.fullmatch(word)), None)
    if logarithm is not None:
        return f"{logarithm!r} is on a logarithmic scale, and {_IN_PRODUCT}"
    if (match := _ARBITRARY_WITHIN.search(text)) is not None:
        return f"{match[0]!r} is an arbitrary unit, and {_IN_PRODUCT}"
    return None


def normalize_unit_text(text: str) -> str:
    """Rewrite temperatures, percentages and torques in the notation of pint.

    Parameters
    ----------
    text : str
        A unit.

    Returns
    -------
    str

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
    """Find a unit with an offset, such as degC, in a product in which the offset matters.

    Parameters
    ----------
    powers : mapping of str to Fraction
        The units as written, with their exponents.
    offsets : frozenset of str
        The units among them that have an offset.

    Returns
    -------
    str or None
        The unit. None if the unit does not exist, if it stands alone, or in quotients: degC/min, J/degC and
        similar units refer to temperature differences, to which the offset does not apply.

    Examples
    --------
    >>> offsets = frozenset({"degC"})
    >>> find_offset_unit({"degC": Fraction(1), "m": Fraction(1)}, offsets)
    'degC'
    >>> find_offset_unit({"degC": Fraction(1), "min": Fraction(-1)}, offsets)
    """
    for name in sorted(offsets):
        power = powers[name]
        others = [other for unit, other in powers.items() if unit != name]
        if power > 0 and (power != 1 or any(other > 0 for other in others)):
            return name
    return None


class AmbiguousUnitError(OptionError):
    """A unit that can mean two things."""


class MissingPintError(OptionError):
    """A unit that cannot be parsed because pint is not installed."""


@dataclass(frozen=True, slots=True)
class ColumnUnit:
    """A unit in terms of the base units m, kg, s, A, K, mol and cd.

    Parameters
    ----------
    text : str
        The unit as it was written.
    factor, offset : Fraction
        A value v in this unit is ``factor·v + offset`` in base units.
    exponents : mapping of str to Fraction
        Nonzero exponents of the base units; empty if dimensionless.
    remark : str
        Why the unit is taken as a pure number, if that is not obvious.
    degrees_are_differences : bool
        Whether the unit is a quotient with degrees, such as degC/min: they are temperature differences.
    """

    text: str
    factor: Fraction
    offset: Fraction
    exponents: Mapping[str, Fraction]
    remark: str = ""
    degrees_are_differences: bool = False

    @property
    def base(self) -> str:
        """The unit in base units, such as ``"kg*m**2/s**2"``; ``"1"`` if dimensionless."""
        return format_unit(self.exponents)

    @property
    def changes_values(self) -> bool:
        """Whether values change in the conversion to base units."""
        return self.factor != 1 or self.offset != 0


def extract_header_unit(name: str) -> str | None:
    """Return the text in brackets at the end of a column's name, including nested brackets.

    Parameters
    ----------
    name : str
        Name of a column.

    Returns
    -------
    str or None
        None if the name does not end with balanced brackets.

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
    open_brackets: list[str] = []
    for position in range(len(text) - 1, -1, -1):
        character = text[position]
        if character in _OPENING_BRACKETS:
            open_brackets.append(_OPENING_BRACKETS[character])
        elif character in "([" and character != open_brackets.pop():
            return None
        if not open_brackets:
            return text[position + 1 : -1].strip()
    return None


def parse_unit(text: str) -> ColumnUnit:
    """Parse a unit.

    Parameters
    ----------
    text : str
        A unit that pint knows, such as ``"mm"``, ``"kg*m/s**2"``, ``"W/m²"``, ``"µg/m3"`` or ``"degC"``.
        ``"1"``, ``"-"``, an empty text, percentages (``"wt%"``), parts (``"ppm"``) and logarithmic scales
        (``"pH"``, ``"dB"``) are dimensionless; a remark says so for logarithmic scales. At most 80
        characters.

    Returns
    -------
    ColumnUnit

    Raises
    ------
    OptionError
        If pint is not installed or does not know the unit; if the text is ambiguous, such as ``degC*m`` and
        ``ppt``; if a logarithmic scale or an arbitrary unit is part of a product, such as ``pH/min``; or if
        values in the unit are not linear functions of values in base units.

    Examples
    --------
    >>> unit = parse_unit("km/h")
    >>> unit.factor, unit.base
    (Fraction(5, 18), 'm/s')
    """
    stripped = text.strip()
    if stripped in _DIMENSIONLESS:
        return ColumnUnit(stripped, Fraction(1), Fraction(0), {})
    if len(stripped) > _MAX_UNIT_CHARS:
        raise OptionError(
            f"the unit {stripped[:20]!r}… has {len(stripped)} characters; at most {_MAX_UNIT_CHARS} are read"
        )
    if (dimensionless := parse_dimensionless_name(stripped)) is not None:
        return ColumnUnit(stripped, dimensionless[0], Fraction(0), {}, dimensionless[1])
    if (ambiguity := explain_ambiguity(stripped)) is not None:
        raise _build_ambiguity_error(stripped, ambiguity)
    normalized = normalize_unit_text(stripped)
    if (reason := explain_not_composable(normalized)) is not None:
        raise OptionError(f"the unit {stripped!r} cannot be read: {reason}")
    pint_text = _SUPERSCRIPTS.sub(r"**\g<0>", normalized).translate(_CHARACTER_MAP)
    pint_text = _SIGNED_EXPONENT.sub(r"**\1", pint_text)
    registry = _get_registry()
    pint_text = _expand_powers(pint_text, registry)
    if not _is_parsable(pint_text):
        raise _build_unit_error(
            stripped, "a number can only be an exponent of at most two digits, as in m**2"
        )
    try:
        unit = registry.parse_units(pint_text)
        _, base = registry.get_base_units(unit)
        zero, one, two = (
            Fraction(registry.Quantity(Fraction(value), unit).to(base).magnitude) for value in (0, 1, 2)
        )
        exponents = {_get_symbol(name): Fraction(power) for name, power in unit.dimensionality.items()}
        for symbol in exponents:
            registry.parse_units(symbol)  # fails for a dimension without a base unit, such as a dot's
    except Exception as error:  # noqa: BLE001  # pint does not catch the errors of its tokenizer
        raise _build_unit_error(stripped, _explain_parse_error(error, registry)) from None
    if two - one != one - zero or one == zero:
        raise _build_unit_error(stripped, "its values are not multiples of values in base units")
    nonzero = {name: power for name, power in exponents.items() if power}
    degrees_are_differences = _check_offsets(stripped, pint_text)
    return ColumnUnit(stripped, one - zero, zero, nonzero, degrees_are_differences=degrees_are_differences)


def _expand_powers(text: str, registry: Any) -> str:
    """Write m3 as m**3 if pint knows m but not m3."""

    def expand_power(match: re.Match[str]) -> str:
        is_power = not _is_known_unit(match[0], registry) and _is_known_unit(match[1], registry)
        return f"{match[1]}**{match[2]}" if is_power else match[0]

    return _TRAILING_EXPONENT.sub(expand_power, text)


def _is_known_unit(word: str, registry: Any) -> bool:
    """Check whether pint knows a word."""
    try:
        return word in registry
    except Exception:  # noqa: BLE001  # pint does not catch the errors of its tokenizer
        return False


def _check_offsets(original_text: str, normalized_text: str) -> bool:
    """Reject a product with an offset unit; check whether the text is a quotient with one."""
    registry = _get_registry()
    quantity = registry.Quantity(1, registry.parse_units(normalized_text, as_delta=False))
    powers = {name: Fraction(power) for name, power in quantity.unit_items()}
    offsets = frozenset(
        name for name in powers if registry.Quantity(Fraction(0), name).to_base_units().magnitude
    )
    offset_unit = find_offset_unit(powers, offsets)
    if offset_unit is not None:
        raise _build_ambiguity_error(
            original_text,
            f"because {offset_unit} has an offset: write it with K for temperatures, and convert the values, "
            f"or with delta_{offset_unit} for temperature differences",
        )
    stands_alone = list(powers.values()) == [1]
    return bool(offsets) and not stands_alone


def format_unit(exponents: Mapping[str, Fraction]) -> str:
    """Format exponents of base units as a text such as ``"kg*m**2/s**2"``, which pint can parse.

    Parameters
    ----------
    exponents : mapping of str to Fraction
        Nonzero exponents by symbol.

    Returns
    -------
    str

    Examples
    --------
    >>> format_unit({"s": Fraction(-1, 2), "m": Fraction(1)}), format_unit({})
    ('m/s**(1/2)', '1')
    >>> format_unit({"s": Fraction(-1)})
    '1/s'
    """
    numerator = [_format_power(name, power) for name, power in sorted(exponents.items()) if power > 0]
    denominator = [_format_power(name, -power) for name, power in sorted(exponents.items()) if power < 0]
    return "/".join(["*".join(numerator) or "1", *denominator])


def convert_to_base(values: NDArray[np.float64], factor: Fraction, offset: Fraction) -> NDArray[np.float64]:
    """Convert values to base units with as few roundings as possible.

    Parameters
    ----------
    values : float64 array
        Values in the unit, of any shape.
    factor, offset : Fraction
        The conversion, see `ColumnUnit`.

    Returns
    -------
    float64 array
        ``factor·values + offset``.

    Examples
    --------
    >>> import numpy as np
    >>> convert_to_base(np.array([5.0]), Fraction(1, 1000), Fraction(0)).tolist()
    [0.005]
    """
    # With integers where possible: 5 mm are 5/1000 m, not 5 times the float 0.001.
    exact = is_exact(factor)
    values = values * factor.numerator / factor.denominator if exact else values * float(factor)
    return values + float(offset) if offset else values


def is_exact(factor: Fraction) -> bool:
    """Check whether the numerator and the denominator of a factor are exact in float64."""
    return max(abs(factor.numerator), factor.denominator) < _MAX_EXACT_INTEGER


def build_unit_record(unit: ColumnUnit) -> dict[str, str]:
    """Build the entry of a unit in the metadata of a run."""
    return {
        "given": unit.text,
        "base": unit.base,
        "factor": str(unit.factor),
        "offset": str(unit.offset),
    }


def format_scaled_exponents(exponents: NDArray[np.int64], symbols: Sequence[str]) -> str:
    """Format exponents of shape (D,), times `EXPONENT_DENOMINATOR`, as a unit of the D given symbols."""
    powers = zip(symbols, exponents.tolist(), strict=True)
    return format_unit({name: Fraction(power, EXPONENT_DENOMINATOR) for name, power in powers if power})


def _format_power(name: str, power: Fraction) -> str:
    """Format a power of a base unit."""
    if power == 1:
        return name
    return f"{name}**{power}" if power.denominator == 1 else f"{name}**({power})"


def _get_symbol(dimension: str) -> str:
    """Return the base unit of a dimension of pint, such as kg for [mass]."""
    return _SYMBOLS.get(dimension, dimension.strip("[]"))


def _is_parsable(text: str) -> bool:
    """Check that all numbers in a unit are small exponents."""
    rest = _POWER.sub("", text)
    rest = re.sub(r"^\s*1\s*/", "", rest)
    has_other_digits = any(character.isdigit() and not character.isascii() for character in text)
    return (
        not (has_other_digits or _NUMBER.search(rest) or len(_GROUP.findall(text)) > 1) and text.isprintable()
    )


def _explain_parse_error(error: Exception, registry: Any) -> str:
    """Explain an error of pint, whose own messages refer to its registry and tokenizer."""
    unknown = getattr(error, "unit_names", None)
    word = unknown if isinstance(unknown, str) else str(next(iter(unknown or ("",))))
    if word and not word.startswith("delta_"):  # pint also looks for delta_ units that were not written
        return f"pint knows no unit {word!r}{suggest_names(find_close_names(word, registry))}"
    if word or isinstance(error, TypeError):  # a logarithm of an exact number
        return "its scale is not linear in base units, like a logarithmic one"
    return "it is not a product of units and their powers"


def _build_ambiguity_error(text: str, reason: str) -> AmbiguousUnitError:
    """Build the error for a unit with two meanings."""
    return AmbiguousUnitError(f"the unit {text!r} can mean two things, {reason}")


def _build_unit_error(text: str, why: str) -> OptionError:
    """Build the error for a unit that cannot be parsed."""
    reason = " ".join(why.split())
    return OptionError(
        f"the unit {text!r} cannot be read: {reason}; write it as pint does, such as kg*m/s**2"
    )


@cache
def _get_registry() -> Any:
    """Create pint's registry with exact factors, once because it takes most of a second."""
    try:
        import pint
    except ImportError:
        raise MissingPintError("units need pint: pip install 'symscreen[units]'") from None
    return pint.UnitRegistry(non_int_type=Fraction)

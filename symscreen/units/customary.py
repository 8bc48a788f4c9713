"""What people write in the place of a unit that pint does not know, or takes for another."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "DIFFERENCES",
    "TWO_MEANINGS",
    "customary",
    "offset_in_product",
    "spelt_as_pint_does",
    "stands_alone",
    "two_meanings",
]

DIFFERENCES = "degrees in it are differences of temperature"
TWO_MEANINGS = "can mean two things"

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
_PURE = re.compile(r"(?i:unitless|no units?|none|n/a|fractions?|ratio)|na|NA|Na")  # and nA is an ampere
_OF_WHAT = r"(?:mol|mole|wt|weight|mass|vol|volume|at|atom|m/m|w/w|v/v|w/v)\.?"
_PERCENT = re.compile(rf"{_OF_WHAT}[ -]?(?:%|percent|pct)|(?:%|percent|pct)\s*(?:{_OF_WHAT}|RH|rh)|pct")
_PERCENT_WITHIN = re.compile(rf"(?<!\w)(?:{_PERCENT.pattern})(?!\w)")
_PARTS: Mapping[str, int] = {"permil": 3, "permille": 3, "ppm": 6, "ppb": 9}
_PARTS_OF_WHAT = re.compile(r"(ppm|ppb|ppt)[vwm]")
_TWO = {
    "ppt": "parts per thousand or per trillion: write permil, or pptv",
    "RH": "a share or a percentage: write %RH or 1",
}
_TWO_IN_PRODUCT = {
    "ppt": "parts per thousand or per trillion: write permille, as in permille/min, or ppm",
    "RH": "a share or a percentage: write % or 1 in its place, as in %/h or 1/h",
}
_WORD = re.compile(r"[^\W\d_]\w*")
_FORCE = re.compile(r"(?<!\w)([kMGmµμ]?N)([mc]?m)(?!\w)")  # pint's Nm is the number of a yarn
_RAISED_FORCE = re.compile(r"(?<!\w)[kMGmµμ]?N[mc]?m(?=\s*(?:\*\*|\^)|-?\d|[⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹])")
_TEMPERATURES = (
    (re.compile(r"℃|[°º˚]\s*C|deg(?:rees?|\.)?\s+C(?:elsius)?|Celsius|oC"), "degC"),
    (re.compile(r"℉|[°º˚]\s*F|deg(?:rees?|\.)?\s+F(?:ahrenheit)?|Fahrenheit|oF"), "degF"),
)


def customary(text: str) -> tuple[Fraction, str] | None:
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
    >>> customary("pH"), customary("wt%"), customary("mm")
    ((Fraction(1, 1), 'on a logarithmic scale, taken as a pure number'), (Fraction(1, 100), ''), None)
    """
    if _LOGARITHMIC.fullmatch(text):
        return Fraction(1), "on a logarithmic scale, taken as a pure number"
    if _ARBITRARY.fullmatch(text):
        return Fraction(1), "in units of its own, taken as a pure number"
    if _PURE.fullmatch(text):
        return Fraction(1), ""
    if _PERCENT.fullmatch(text):
        return Fraction(1, 100), ""
    of_what = _PARTS_OF_WHAT.fullmatch(text)
    if of_what is not None or text in _PARTS:
        power = {**_PARTS, "ppt": 12}[text if of_what is None else of_what[1]]
        return Fraction(1, 10**power), ""
    return None


def two_meanings(text: str) -> str | None:
    """Say what a name can mean that is none of one unit, alone or in a product; None for any other.

    Examples
    --------
    >>> two_meanings("RH/h")
    'a share or a percentage: write % or 1 in its place, as in %/h or 1/h'
    """
    if text in _TWO:
        return _TWO[text]
    if (found := _RAISED_FORCE.search(text)) is not None:
        force = _FORCE.sub(r"\1*\2", found[0])
        return f"a power of {found[0]} or of its metre: write it out, as ({force})**2 or {force}**2"
    words = _WORD.findall(_PERCENT_WITHIN.sub("", text))
    return next((_TWO_IN_PRODUCT[word] for word in words if word in _TWO), None)


def stands_alone(text: str) -> str | None:
    """Say why a product has no unit: what is on a scale of its own stands in it.

    Parameters
    ----------
    text : str
        What `customary` does not know, as `spelt_as_pint_does` writes it.

    Returns
    -------
    str or None
        None where there is no such name.

    Examples
    --------
    >>> stands_alone("pH/min")
    "'pH' is on a logarithmic scale, and has no unit in a product; write 1, for a pure number"
    >>> stands_alone("m/min")
    """
    logarithm = next((word for word in _WORD.findall(text) if _LOGARITHMIC.fullmatch(word)), None)
    if logarithm is not None:
        return f"{logarithm!r} is on a logarithmic scale, and {_IN_PRODUCT}"
    if (own := _ARBITRARY_WITHIN.search(text)) is not None:
        return f"{own[0]!r} is a unit of its own, and {_IN_PRODUCT}"
    return None


def spelt_as_pint_does(text: str) -> str:
    """Write degrees of temperature, percentages and torques in the letters that pint reads.

    Examples
    --------
    >>> spelt_as_pint_does("deg C"), spelt_as_pint_does("J/(kg °C)")
    ('degC', 'J/(kg degC)')
    >>> spelt_as_pint_does("wt%/min"), spelt_as_pint_does("kNm/rad")
    ('percent/min', '(kN*m)/rad')
    """
    for pattern, name in _TEMPERATURES:
        if pattern.fullmatch(text):
            return name
    text = re.sub(r"[°º˚]\s*([CF])\b", r"deg\1", text)
    return _FORCE.sub(r"(\1*\2)", _PERCENT_WITHIN.sub("percent", text))


def offset_in_product(powers: Mapping[str, Fraction], offsets: frozenset[str]) -> str | None:
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
    >>> offset_in_product({"degC": Fraction(1), "m": Fraction(1)}, one)
    'degC'
    >>> offset_in_product({"degC": Fraction(1), "min": Fraction(-1)}, one)
    """
    for name in sorted(offsets):
        power = powers[name]
        others = [other for unit, other in powers.items() if unit != name]
        if power > 0 and (power != 1 or any(other > 0 for other in others)):
            return name
    return None

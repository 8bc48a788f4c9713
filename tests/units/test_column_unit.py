from __future__ import annotations

import re
import string
from fractions import Fraction

import numpy as np
import pytest
from helpers.requirements import require
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.errors import OptionError
from symscreen.units.unit_parsing import (
    ColumnUnit,
    convert_to_base,
    extract_header_unit,
    format_unit,
    parse_unit,
)

pint = require("pint")


@pytest.mark.parametrize(
    ("text", "factor", "base"),
    [
        ("mm", Fraction(1, 1000), "m"),
        ("inch", Fraction(127, 5000), "m"),
        ("km/h", Fraction(5, 18), "m/s"),
        ("J", 1, "kg*m**2/s**2"),
        ("W/m²", 1, "kg/s**3"),
        ("W·m⁻²", 1, "kg/s**3"),
        ("m s-1", 1, "m/s"),
        ("kg m-3", 1, "kg/m**3"),
        ("hPa", 100, "kg/m/s**2"),
        ("m**0.5", 1, "m**(1/2)"),
        ("m**(1/2)", 1, "m**(1/2)"),
        ("s^-2", 1, "1/s**2"),
        ("1/s", 1, "1/s"),
        ("V", 1, "kg*m**2/A/s**3"),
        ("degC/m", 1, "K/m"),
        ("(m/s)**2", 1, "m**2/s**2"),
        ("mol/L", 1000, "mol/m**3"),
        ("%", Fraction(1, 100), "1"),
        ("mmHg", None, "kg/m/s**2"),
        ("µm", Fraction(1, 10**6), "m"),
        ("μm", Fraction(1, 10**6), "m"),
        ("J/(kg*degC)", 1, "m**2/K/s**2"),
        ("W/(m**2*K)", 1, "kg/K/s**3"),
        ("m2/(V·s)", 1, "A*s**2/kg"),
        ("µg/m3", Fraction(1, 10**9), "kg/m**3"),
        ("kWh/m2", 3_600_000, "kg/s**2"),
        ("ft2", Fraction(3048, 10000) ** 2, "m**2"),
        ("W/(m2 K4)", 1, "kg/K**4/s**3"),
        ("kg m2 s-2", 1, "kg*m**2/s**2"),
        ("Nm", 1, "kg*m**2/s**2"),
        ("kNm/rad", 1000, "kg*m**2/s**2"),
        ("J/Nm", 1, "1"),
        ("nA", Fraction(1, 10**9), "A"),
        ("", 1, "1"),
        ("-", 1, "1"),
        ("1", 1, "1"),
    ],
)
def test_units_come_to_base_units_with_exact_factors(text, factor, base):
    unit = parse_unit(text)
    assert factor is None or unit.factor == factor
    assert (unit.offset, unit.base, unit.text) == (0, base, text)


def test_temperatures_have_an_offset_and_angles_are_pure_numbers():
    celsius, fahrenheit, degree = map(parse_unit, ("degC", "°F", "degree"))
    assert (celsius.factor, celsius.offset, celsius.base) == (1, Fraction("273.15"), "K")
    assert fahrenheit.factor * 212 + fahrenheit.offset == Fraction("373.15")
    assert degree.base == "1"
    assert float(degree.factor * 180) == np.pi


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("mmm", "pint knows no unit 'mmm'"),
        ("left", "pint knows no unit 'left'"),
        ("dB/m", "'dB' is on a logarithmic scale, and has no unit in a product"),
        ("decade", "its scale is not linear in base units"),
        ("m2**9", "a number can only be an exponent"),
        ("CO2", "pint knows no unit 'CO2'"),
        ("T1", "pint knows no unit 'T1'"),
        ("10 m", "a number can only be an exponent"),
        ("9**9**9 m", "a number can only be an exponent"),
        ("m**9**9**9", "a number can only be an exponent"),
        ("m**(9)**9", "a number can only be an exponent"),
        ("m**999999999", "a number can only be an exponent"),
        ("(9)**(9)**(9)", "a number can only be an exponent"),
        ("((mm**99)**99)**99", "a number can only be an exponent"),
        ("mm⁹⁹⁹⁹⁹⁹⁹", "a number can only be an exponent"),
        ("m**٣", "a number can only be an exponent"),
        ("m**", "cannot be read"),
        ("a b\0", "cannot be read"),
        ("__import__('os')", "cannot be read"),
        ("m" * 90, "90 characters; at most 80 are read"),
    ],
)
def test_what_is_no_unit_is_told(text, why):
    with pytest.raises(OptionError, match=re.escape(why)):
        parse_unit(text)


@settings(max_examples=300)
@given(st.text(st.sampled_from("mskg JN°²⁻¹·*^/()-+.0123456789 " + string.ascii_letters), max_size=14))
def test_any_text_is_a_unit_or_refused(text):
    try:
        unit = parse_unit(text)
    except OptionError:
        return
    again = parse_unit(unit.base)
    assert (again.factor, again.offset, again.exponents) == (1, 0, unit.exponents)


@given(st.dictionaries(st.sampled_from(["m", "kg", "s"]), st.fractions(-9, 9, max_denominator=9)))
def test_what_is_written_is_read_again(exponents):
    exponents = {name: power for name, power in exponents.items() if power}
    assert parse_unit(format_unit(exponents)).exponents == exponents


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("length (mm)", "mm"),
        ("length [mm]", "mm"),
        ("a (b) [N*m] ", "N*m"),
        ("length", None),
        ("(mm) length", None),
        ("f(x) [m/(s)]", "m/(s)"),
        ("v (J/(kg*degC))", "J/(kg*degC)"),
        ("v [J/(kg*degC)]", "J/(kg*degC)"),
        ("v (1/(Pa*s)) ", "1/(Pa*s)"),
        ("v (log10(CFU/mL))", "log10(CFU/mL)"),
        ("a (b) ((m/s)*(kg))", "(m/s)*(kg)"),
        ("x ((m)", "m"),
        ("x (m))", None),
        ("share [0, 1)", None),
        ("", None),
        ("x ()", ""),
        ("x (mm]", None),
    ],
)
def test_headers_end_in_units(name, unit):
    assert extract_header_unit(name) == unit


def test_brackets_without_end_are_read_in_one_pass():
    many = 200_000
    assert extract_header_unit("x " + "(" * many + ")" * many) == "(" * (many - 1) + ")" * (many - 1)
    assert extract_header_unit("x " + "[(" * many + ")" * many) is None
    assert extract_header_unit("x " + "()" * many) == ""
    assert parse_unit("(" * 39 + "m" + ")" * 39).base == "m"
    with pytest.raises(OptionError, match="at most 80 are read"):
        parse_unit("(" * many + ")" * many)


@given(st.floats(-1e9, 1e9), st.sampled_from([Fraction(1, 1000), Fraction(127, 5000), Fraction(5, 18)]))
def test_values_are_converted_within_two_roundings(value, factor):
    found = Fraction(convert_to_base(np.array([value]), factor, Fraction(0))[0])
    exact = Fraction(value) * factor
    assert abs(found - exact) <= abs(exact) * Fraction(2, 2**52) + Fraction(5e-324)


def test_a_unit_tells_whether_it_converts():
    assert not ColumnUnit("m", Fraction(1), Fraction(0), {"m": Fraction(1)}).changes_values
    assert ColumnUnit("degC", Fraction(1), Fraction("273.15"), {"K": Fraction(1)}).changes_values

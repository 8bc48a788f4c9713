from __future__ import annotations

from fractions import Fraction

import pytest

import symscreen
from symscreen.errors import OptionError
from symscreen.units.column_unit import column_unit

pytest.importorskip("pint", reason="units need pint")


@pytest.mark.parametrize(
    "text",
    [
        "pH",
        "pOH",
        "pKa",
        "pKa1",
        "pI",
        "pIC50",
        "pH units",
        "dB",
        "dBm",
        "dBA",
        "Np",
        "mag",
        "logP",
        "log10",
        "ln",
    ],
)
def test_logarithmic_scales_are_pure_numbers_with_a_word(text):
    unit = column_unit(text)
    assert (unit.factor, unit.offset, unit.base) == (1, 0, "1")
    assert unit.remark == "on a logarithmic scale, taken as a pure number"


@pytest.mark.parametrize(
    ("text", "factor"),
    [
        *(
            (one, Fraction(1, 100))
            for one in ("%", "wt%", "wt. %", "mol%", "mol %", "vol%", "at%", "% v/v", "%RH")
        ),
        ("permil", Fraction(1, 10**3)),
        ("ppm", Fraction(1, 10**6)),
        ("ppmv", Fraction(1, 10**6)),
        ("ppb", Fraction(1, 10**9)),
        ("pptv", Fraction(1, 10**12)),
        ("unitless", 1),
        ("None", 1),
        ("ratio", 1),
    ],
)
def test_percentages_and_parts_are_pure_numbers_with_their_factor(text, factor):
    unit = column_unit(text)
    assert (unit.factor, unit.offset, unit.base, unit.remark) == (factor, 0, "1", "")


@pytest.mark.parametrize("text", ["a.u.", "a. u.", "arb. u.", "arb. units", "arbitrary units"])
def test_arbitrary_units_are_pure_numbers_with_a_word(text):
    assert column_unit(text).base == "1"
    assert column_unit(text).remark == "in units of its own, taken as a pure number"


@pytest.mark.parametrize("text", ["°C", "º C", "℃", "deg C", "degrees C", "Celsius", "oC", "degC"])
def test_degrees_celsius_are_not_coulombs(text):
    unit = column_unit(text)
    assert (unit.factor, unit.offset, unit.base) == (1, Fraction("273.15"), "K")


def test_degrees_fahrenheit_too():
    assert {column_unit(text).offset for text in ("°F", "℉", "deg F", "Fahrenheit")} == {Fraction(45967, 180)}


@pytest.mark.parametrize("text", ["degC*m", "degC**2", "m*°C", "degC*m/s", "degF*s", "degC**0.5"])
def test_a_product_in_which_a_0_would_matter_is_refused(text):
    with pytest.raises(OptionError, match=r"can mean two things, .*delta_deg"):
        column_unit(text)


@pytest.mark.parametrize(
    ("text", "base"),
    [("degC/min", "K/s"), ("J/(kg*degC)", "m**2/K/s**2"), ("1/°C", "1/K"), ("delta_degC*m", "K*m")],
)
def test_in_quotients_degrees_are_differences(text, base):
    unit = column_unit(text)
    assert (unit.base, unit.offset) == (base, 0)
    assert ("differences" in unit.remark) == ("delta" not in text)


@pytest.mark.parametrize(("text", "mend"), [("ppt", "write permil, or pptv"), ("RH", "write %RH or 1")])
def test_names_of_two_things_are_refused_with_a_mend(text, mend):
    with pytest.raises(OptionError, match=mend):
        column_unit(text)


def test_picohenry_has_other_names():
    assert column_unit("picohenry").factor == Fraction(1, 10**12)
    assert column_unit("nH").base == column_unit("H").base != "1"


def test_a_chemists_headers_are_read_and_told(rng):
    data = {
        name: rng.uniform(1, 9, 30) for name in ("acidity (pH)", "share (wt%)", "slope (degC/min)", "w (kg)")
    }
    data["y"] = rng.normal(size=30)
    result = symscreen.screen(data, layers="b", binary="add,mul", units="strict", top="all")
    told = "; ".join(result.notices)
    assert "'acidity (pH)' is on a logarithmic scale, taken as a pure number" in told
    assert "'slope (degC/min)' is in degC/min: degrees in it are differences of temperature" in told
    units = dict(zip(result.table.expression, result.table.unit, strict=True))
    assert units["`acidity (pH)`"] == units["`share (wt%)`"] == "1"
    assert result.record["units"]["columns"]["share (wt%)"]["factor"] == "1/100"


def test_a_header_of_two_meanings_ends_the_run_and_names_the_column(rng):
    data = {"a (degC*m)": rng.normal(size=9), "b (m)": rng.normal(size=9), "y": rng.normal(size=9)}
    with pytest.raises(OptionError, match=r"^'a \(degC\*m\)': the unit 'degC\*m' can mean two things"):
        symscreen.screen(data, layers="b", units="strict")

from __future__ import annotations

from fractions import Fraction

import pytest
from helpers.requirements import require

import symscreen
from symscreen.errors import OptionError
from symscreen.units.unit_parsing import AmbiguousUnitError, parse_unit

require("pint")


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
    unit = parse_unit(text)
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
    unit = parse_unit(text)
    assert (unit.factor, unit.offset, unit.base, unit.remark) == (factor, 0, "1", "")


@pytest.mark.parametrize("text", ["a.u.", "a. u.", "arb. u.", "arb. units", "arbitrary units"])
def test_arbitrary_units_are_pure_numbers_with_a_word(text):
    assert parse_unit(text).base == "1"
    assert parse_unit(text).remark == "in arbitrary units, taken as a pure number"


@pytest.mark.parametrize("text", ["°C", "º C", "℃", "deg C", "degrees C", "Celsius", "oC", "degC"])
def test_degrees_celsius_are_not_coulombs(text):
    unit = parse_unit(text)
    assert (unit.factor, unit.offset, unit.base) == (1, Fraction("273.15"), "K")


def test_degrees_fahrenheit_too():
    assert {parse_unit(text).offset for text in ("°F", "℉", "deg F", "Fahrenheit")} == {Fraction(45967, 180)}


@pytest.mark.parametrize("text", ["degC*m", "degC**2", "m*°C", "degC*m/s", "degF*s", "degC**0.5"])
def test_a_product_in_which_a_0_would_matter_is_refused(text):
    with pytest.raises(AmbiguousUnitError, match=r"can mean two things, .*delta_deg"):
        parse_unit(text)


@pytest.mark.parametrize(
    ("text", "base"),
    [("degC/min", "K/s"), ("J/(kg*degC)", "m**2/K/s**2"), ("1/°C", "1/K"), ("delta_degC*m", "K*m")],
)
def test_in_quotients_degrees_are_differences(text, base):
    unit = parse_unit(text)
    assert (unit.base, unit.offset) == (base, 0)
    assert unit.degrees_are_differences == ("delta" not in text)
    assert unit.remark == ""


@pytest.mark.parametrize(("text", "mend"), [("ppt", "write permil, or pptv"), ("RH", "write %RH or 1")])
def test_names_of_two_things_are_refused_with_a_mend(text, mend):
    with pytest.raises(AmbiguousUnitError, match=mend):
        parse_unit(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("pH/min", "'pH' is on a logarithmic scale, and has no unit in a product; write 1"),
        ("1/pH", "'pH' is on a logarithmic scale"),
        ("log10(CFU/mL)/(h)", "'log10' is on a logarithmic scale"),
        ("a.u./s", "'a.u.' is an arbitrary unit, and has no unit in a product; write 1"),
        ("m*arb. units", "'arb. units' is an arbitrary unit"),
        ("RH/h", "can mean two things, a fraction or a percentage: write % or 1 instead"),
        ("ppt/min", "can mean two things, parts per thousand or per trillion: write permille"),
        ("Nm²", r"can mean two things, a power of Nm or of its metre: write it out, as \(N\*m\)\*\*2 or"),
        ("Nm2/kg2", "can mean two things, a power of Nm"),
    ],
)
def test_no_product_is_made_of_what_has_a_meaning_of_its_own(text, told):
    with pytest.raises(OptionError, match=told):
        parse_unit(text)


@pytest.mark.parametrize("text", ["%/h", "wt%/h", "mol%/h", "pct/h", "%RH/h"])
def test_percentages_go_into_products(text):
    unit = parse_unit(text)
    assert (unit.factor, unit.base) == (Fraction(1, 360_000), "1/s")


def test_headers_of_rates_of_logarithms_are_told_and_taken_as_pure_numbers(rng):
    names = ("acid (pH/min)", "signal (a.u./s)", "torque (Nm)", "c (J/(kg*degC))", "load (log10(CFU/mL))")
    data = {name: rng.uniform(1, 2, 12) for name in names} | {"y": rng.normal(size=12)}
    result = symscreen.screen(data, layers="u", unary="square", units="strict", top="all")
    assert (
        "no unit given, taken as pure numbers: 'acid (pH/min)', 'signal (a.u./s)'; pint knows no unit in "
        "'acid (pH/min)', 'signal (a.u./s)'"
    ) in result.notices
    told = "; ".join(result.notices)
    assert "'torque (Nm)' in kg*m**2/s**2" in told
    assert "'c (J/(kg*degC))' in m**2/K/s**2" in told
    assert "'load (log10(CFU/mL))' is on a logarithmic scale" in told


def test_picohenry_has_other_names():
    assert parse_unit("picohenry").factor == Fraction(1, 10**12)
    assert parse_unit("nH").base == parse_unit("H").base != "1"


def test_a_chemists_headers_are_read_and_told(rng):
    data = {
        name: rng.uniform(1, 9, 30) for name in ("acidity (pH)", "share (wt%)", "slope (degC/min)", "w (kg)")
    }
    data["y"] = rng.normal(size=30)
    result = symscreen.screen(data, layers="b", binary="add,mul", units="strict", top="all")
    told = "; ".join(result.notices)
    assert "'acidity (pH)' is on a logarithmic scale, taken as a pure number" in told
    assert "'slope (degC/min)' is in degC/min: its degrees are temperature differences" in told
    units = dict(zip(result.table.expression, result.table.unit, strict=True))
    assert units["`acidity (pH)`"] == units["`share (wt%)`"] == "1"
    assert result.record["units"]["columns"]["share (wt%)"]["factor"] == "1/100"


def test_a_header_of_two_meanings_ends_the_run_and_names_the_column(rng):
    data = {"a (degC*m)": rng.normal(size=9), "b (m)": rng.normal(size=9), "y": rng.normal(size=9)}
    with pytest.raises(AmbiguousUnitError, match=r"^'a \(degC\*m\)': the unit 'degC\*m' can mean two things"):
        symscreen.screen(data, layers="b", units="strict")


def test_a_header_that_quotes_an_error_is_a_remark(rng):
    names = ("a (mm)", "b (pip install)", "c (can mean two things)")
    data = {name: rng.uniform(1, 2, 12) for name in names} | {"y": rng.normal(size=12)}
    result = symscreen.screen(data, layers="u", unary="square", units="strict", top="all")
    assert "pint knows no unit in 'b (pip install)', 'c (can mean two things)'" in "; ".join(result.notices)

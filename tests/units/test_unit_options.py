from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from helpers.requirements import require

from symscreen.data import read_dataset
from symscreen.errors import DataError, OptionError
from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.units import convert_to_base_units, convert_to_original_units, read_units

require("pint")


@pytest.fixture
def table():
    columns = {
        "a (mm)": [1.0, 2, 3, 4, 5],
        "b [degC]": [0.0, 10, 20, 30, 40],
        "c (left)": [3.0, 1, 2, 5, 4],
        "d": [1.0, 2, 3, 5, 4],
        "e (J)": [1.0, 2, 3, 4, 5],
    }
    return read_dataset(columns)


def _refused(message, error=OptionError):
    return pytest.raises(error, match=re.escape(message))


@pytest.mark.parametrize("units", [None, "ignore"])
def test_without_units_a_table_stays_the_same_object(table, units):
    assert read_units(table, units, None) == (table, None)


def test_headers_tell_units_and_columns_come_to_base_units(table):
    converted, units = read_units(table, "strict", None)
    assert converted.names == table.names
    assert converted.columns.tolist() == [
        [0.001, 0.002, 0.003, 0.004, 0.005],
        [273.15, 283.15, 293.15, 303.15, 313.15],
        *table.columns[2:].tolist(),
    ]
    assert converted.digest == table.digest
    assert converted.notices[len(table.notices) :] == (
        "units: formulas are computed in base units: 'a (mm)' from mm to m, 'b [degC]' from degC to K",
        "no unit given, taken as pure numbers: 'c (left)', 'd'; pint knows no unit in 'c (left)'",
    )
    assert units.record == {
        "columns": {
            "a (mm)": {"given": "mm", "base": "m", "factor": "1/1000", "offset": "0"},
            "b [degC]": {"given": "degC", "base": "K", "factor": "1", "offset": "5463/20"},
            "e (J)": {"given": "J", "base": "kg*m**2/s**2", "factor": "1", "offset": "0"},
        },
        "target_units": None,
    }


@pytest.mark.parametrize("kind", ["mapping", "toml", "json"])
def test_a_file_or_mapping_goes_before_headers(table, kind, tmp_path):
    told = {"a (mm)": "cm", "d": "kg", "z": "s"}
    path = tmp_path / f"units.{kind}"
    text = (
        json.dumps(told)
        if kind == "json"
        else "".join(f'"{name}" = "{unit}"\n' for name, unit in told.items())
    )
    path.write_text(text)
    converted, units = read_units(table, told if kind == "mapping" else path, "kJ")
    assert converted.columns[0].tolist() == [0.01, 0.02, 0.03, 0.04, 0.05]
    assert {name: unit.base for name, unit in units.columns.items()} == {
        "a (mm)": "m", "b [degC]": "K", "d": "kg", "e (J)": "kg*m**2/s**2",
    }  # fmt: skip
    assert units.record["target_units"]["base"] == "kg*m**2/s**2"
    assert converted.notices[-1].startswith("units of 'z' are not used: no such input")


def test_new_rows_are_converted_as_the_record_tells(table):
    converted, units = read_units(table, "strict", None)
    by_name = dict(zip(table.names, table.columns, strict=True))
    found = convert_to_base_units(by_name, json.loads(json.dumps(units.record)))
    assert all((found[name] == converted.columns[place]).all() for place, name in enumerate(table.names))
    assert convert_to_base_units(by_name, None) == by_name


def test_formulas_on_given_units_have_the_same_bits(rng):
    told = {"x": "mm", "t": "degF", "a": "degree", "v": "km/h", "m": "kg"}
    table = read_dataset({name: rng.normal(size=40) for name in [*told, "y"]})
    converted, units = read_units(table, told, None)
    record = json.loads(json.dumps(units.record))
    formulas = [parse_expression(text) for text in ("x*v", "t", "sin(a)", "m*v**2", "x + 2*x", "y0")]
    raw, base = (
        dict(zip((*table.names, "y0"), [*one.columns, one.columns[0]], strict=True))
        for one in (table, converted)
    )
    raw["y0"] = base["y0"]
    for given, own in zip(convert_to_original_units(formulas, record), formulas, strict=True):
        assert (evaluate_expression(given, raw) == evaluate_expression(own, base)).all()
        assert parse_expression(str(given)) == given
    assert convert_to_original_units(formulas, None) == tuple(formulas)


@pytest.mark.parametrize(
    ("units", "target", "message"),
    [
        ("strct", None, "units is 'strct'; did you mean 'strict'?"),
        (7, None, "units is 7; give strict"),
        (None, "J", "target_units= requires units"),
        ("ignore", "J", "target_units= requires units"),
        ({"a (mm)": 3}, None, "units, a (mm): expected a text such as 'mm', found 3"),
        ({"a (mm)": "mmm"}, None, "'a (mm)': the unit 'mmm' cannot be read"),
        ("strict", "jule", "the unit 'jule' cannot be read"),
        ("none.toml", None, "none.toml: cannot be read (No such file"),
    ],
)
def test_what_cannot_be_used_is_told(table, units, target, message):
    with _refused(message):
        read_units(table, units, target)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("u.toml", b'a = "m', "not valid TOML"),
        ("u.toml", b"\xff", "not UTF-8 text"),
        ("u.toml", b"a = 1", "u.toml, a: expected a text such as 'mm', found 1"),
        ("u.json", b"[1]", "u.json: expected an object, found [1]"),
        ("u.json", b"[" * 100_000, "not valid JSON"),
        ("u.json", b" " * 1_000_001, "larger than 1000000 bytes"),
    ],
)
def test_files_that_are_none_of_units_are_told(table, tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with _refused(message):
        read_units(table, tmp_path / name, None)


def test_a_table_without_any_unit_is_refused():
    table = read_dataset({"a (x y z)": [1.0, 2, 3, 4, 5], "b": [1.0, 2, 3, 5, 4]})
    with _refused(
        "no column has a unit; pint knows no unit in 'a (x y z)': write it into a column's name, "
        "'length (mm)', or give it (units=)"
    ):
        read_units(table, "strict", None)


def test_values_that_overflow_in_base_units_are_told():
    table = read_dataset({"a (km)": [1.0, 2, 3, 4, 1e306], "b": [1.0, 2, 3, 5, 4]})
    with _refused("the column 'a (km)' overflows when km is converted to m", DataError):
        read_units(table, "strict", None)


@pytest.mark.slow
def test_pint_is_imported_only_where_units_are_asked_for_and_without_it_the_line_to_type_is_told():
    code = (
        "import sys, symscreen\n"
        "frame = {'a (mm)': [1, 2, 3, 4, 5], 'y': [2, 1, 3, 4, 5]}\n"
        "symscreen.screen(frame, layers='u')\n"
        "print('pint' in sys.modules)\n"
        "sys.modules['pint'] = None\n"
        "try:\n    symscreen.screen(frame, layers='u', units='strict')\n"
        "except symscreen.errors.OptionError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["False", "units need pint: pip install 'symscreen[units]'"]


def test_small_values_are_no_infinities():
    columns = convert_to_base_units(
        {"x": np.array([5e-324])}, {"columns": {"x": {"factor": "1/1000", "offset": "0"}}}
    )
    assert columns["x"].tolist() == [0.0]


def test_a_target_unit_of_another_kind_than_that_of_the_heading_is_noticed():
    columns = {"a (mm)": [1.0, 2.0, 3.0, 4.0, 5.0], "p (kPa)": [2.0, 4.0, 7.0, 8.0, 9.0]}
    for given, is_noticed in (("s", True), ("bar", False), ("kPa", False)):
        converted, _ = read_units(read_dataset(columns, target="p (kPa)"), "strict", given)
        found = [each for each in converted.notices if "cannot be converted" in each]
        assert bool(found) == is_noticed
        assert all("'kPa' of 'p (kPa)'" in each and "to 's'" in each for each in found)

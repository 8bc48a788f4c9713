"""Columns that categories come to, in every language: each is run beside symscreen's own values."""

from __future__ import annotations

import ctypes
import re
import sqlite3
import subprocess

import numpy as np
import pandas as pd
import pytest
from helpers.requirements import require

import symscreen
from symscreen.cli.command import run_command
from symscreen.errors import FormulaError, OptionError, OutputError
from symscreen.export import (
    LevelIndicator,
    build_indicators_from_record,
    export_formulas,
    load_bundle,
    to_c,
    to_duckdb,
    to_excel,
    to_matlab,
    to_numpy,
    to_pysr,
    to_sql,
    to_sqlite,
)
from symscreen.export.source import find_column_types
from symscreen.expressions.linear_formula import evaluate_formulas
from symscreen.expressions.traversal import define_columns
from symscreen.expressions.tree import parse_expression

# what a level may be called: quotes, comments, formulas, other alphabets, signs of other levels
LEVELS = [
    "p", "P", "it's", 'say "hi"', "'; DROP TABLE t; --", "*/ system(); /*", "??/", "a\\nb", "a\nb\t", "=1+1",
    "-1", "1", "λ 名前 𝒳", "%s%n", "{0}", " p", "p ", "q = 1]", "x·1[c = p]", "`${x}`", "0" * 300,
]  # fmt: skip
TEXTS = [*LEVELS, None, "", "  "]
NUMBERS = [1.0, 2.5, -3.0, 1e-7, 0.1]


@pytest.fixture
def rows(rng) -> pd.DataFrame:
    n = len(TEXTS)
    frame = pd.DataFrame({"x": rng.normal(size=n), "flow rate": rng.uniform(1, 2, n)})
    frame["c"] = np.array(TEXTS, dtype=object)
    frame["a = b"] = rng.choice([*NUMBERS, np.nan], n)
    frame.loc[5, "x"] = np.nan
    return frame


def gate(column, level, passes=None):
    title = f"{column} = {level if isinstance(level, str) else f'{level:g}'}"
    return (title if passes is None else f"{passes}·1[{title}]"), LevelIndicator(column, level, passes)


GATES = dict(
    [gate("c", level, "x") for level in LEVELS]
    + [gate("c", level) for level in LEVELS]
    + [gate("a = b", level, "flow rate") for level in NUMBERS]
    + [gate("a = b", level) for level in NUMBERS]
)


def quoted(name):
    return "`" + name.replace("`", "``") + "`"


def formulas():
    """One formula a derived column, and some of several."""
    plain = [f"2*{quoted(name)} - 1" for name in GATES]
    both = [f"{quoted(f'x·1[c = {level}]')}*`flow rate` + `a = b = 2.5`/3" for level in LEVELS[:4]]
    return [define_columns(parse_expression(text), GATES) for text in [*plain, *both, "x - `flow rate`"]]


def by_numpy(write, given, rows, tmp_path):
    del tmp_path
    space = {}
    exec(compile(write(given, indicators=GATES), "exported", "exec"), space)  # noqa: S102  # of this file's own formulas
    return [space[f"feature_{place + 1}"](rows) for place in range(len(given))]


def by_c(write, given, rows, tmp_path):
    compiler = require("compiler")
    source = tmp_path / "exported.c"
    source.write_text(write(given, indicators=GATES), encoding="ascii")
    flags = [
        "-std=c99",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-unused-parameter",
        "-Wno-unused-function",
    ]
    subprocess.run([compiler, *flags, "-shared", "-fPIC", "-o", f"{source}.so", source, "-lm"], check=True)
    loaded = ctypes.CDLL(f"{source}.so")
    kinds = {
        "a = b": ctypes.c_double,
        "c": ctypes.c_char_p,
        "flow rate": ctypes.c_double,
        "x": ctypes.c_double,
    }
    assert re.search(r"double feature_1\((.*)\)", source.read_text())[1].count("const char *") == 1
    cells = [rows[name].tolist() for name in kinds]
    cells[1] = [None if pd.isna(one) else one.encode() for one in rows["c"]]
    out = []
    for place in range(len(given)):
        function = getattr(loaded, f"feature_{place + 1}")
        function.restype, function.argtypes = ctypes.c_double, list(kinds.values())
        out.append([function(*row) for row in zip(*cells, strict=True)])
    return out


def by_sqlite(write, given, rows, tmp_path):
    del tmp_path
    kinds = {"x": "REAL", "flow rate": "REAL", "a = b": "REAL", "c": "TEXT COLLATE NOCASE"}
    with sqlite3.connect(":memory:") as database:
        rows.astype(object).where(rows.notna(), None).to_sql("t", database, index=False, dtype=kinds)
        asked = [f"SELECT {write(one, indicators=GATES)} FROM t ORDER BY rowid" for one in given]  # noqa: S608
        return [[cell for (cell,) in database.execute(one)] for one in asked]


def by_duckdb(write, given, rows, tmp_path):
    del tmp_path
    duckdb = require("duckdb")
    with duckdb.connect() as database:
        database.register("t", rows)
        found = database.execute(f"SELECT {write(given, indicators=GATES)} FROM t").fetchnumpy()  # noqa: S608
    return [np.ma.filled(np.ma.asarray(column, dtype=np.float64), np.nan) for column in found.values()]


def by_excel(write, given, rows, tmp_path):
    del tmp_path
    library = require("formulas")
    cells = {"x": "A2", "flow rate": "B2", "c": "C2", "a = b": "D2"}
    names = {cell: name for name, cell in cells.items()}
    out = []
    for one in given:
        text = write(one, indicators=GATES, names={name: cells[name] for name in needed(one)})
        assert "\n" not in text
        assert text.isascii()
        function = library.Parser().ast(text)[1].compile()
        asked = [rows[names[cell]] for cell in function.inputs]
        values = (function(*("" if pd.isna(one) else one for one in row)) for row in zip(*asked, strict=True))
        found = (np.asarray(value, dtype=object).ravel()[0] for value in values)
        out.append([float(value) if isinstance(value, int | float) else np.nan for value in found])
    return out


def needed(formula):
    from symscreen.expressions.traversal import collect_columns

    return tuple(sorted(find_column_types(sorted(collect_columns(formula)), GATES)))


def by_octave(write, given, rows, tmp_path):
    octave = require("octave")
    (tmp_path / "features.m").write_text(write(given, indicators=GATES), encoding="ascii")
    numbers = rows[["a = b", "flow rate", "x"]].to_numpy(dtype=float)
    np.savetxt(tmp_path / "rows.txt", numbers, fmt="%.17g")
    codes = ["".join(f"{byte} " for byte in ("" if pd.isna(one) else one).encode()) for one in rows["c"]]
    cells = "; ".join(f"char([{each}])" for each in codes)
    code = (
        f"r = load('rows.txt'); c = {{{cells}}}; v = features(r(:,1), c, r(:,2), r(:,3)); "
        "f = fopen('out.bin', 'w'); fwrite(f, v, 'double'); fclose(f);"
    )
    (tmp_path / "run.m").write_text(code)
    subprocess.run(
        [octave, "--no-gui", "--norc", "--quiet", "run.m"], cwd=tmp_path, capture_output=True, check=False
    )
    return np.fromfile(tmp_path / "out.bin").reshape(len(given), -1)


RUNS = {
    "numpy": (by_numpy, to_numpy),
    "c": (by_c, to_c),
    "sqlite": (by_sqlite, to_sqlite),
    "duckdb": (by_duckdb, to_duckdb),
    "sql in duckdb": (by_duckdb, to_sql),
    "excel": (by_excel, to_excel),
    "matlab": (by_octave, to_matlab),
}


@pytest.mark.slow
@pytest.mark.parametrize(("run", "write"), RUNS.values(), ids=RUNS)
def test_levels_of_any_name_are_told_apart(run, write, rows, tmp_path):
    given = formulas()
    ours = evaluate_formulas(given, rows)
    assert np.isnan(ours[0]).sum() > 3
    theirs = np.array(run(write, given, rows, tmp_path), dtype=np.float64)
    np.testing.assert_allclose(theirs, ours, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("passes", [None, "flow rate"])
def test_duckdb_takes_nan_and_infinity_in_a_column_of_levels_for_missing(passes):
    # a NaN of a pandas frame is NULL in DuckDB, and a NaN of its own tables is not
    duckdb = require("duckdb")
    name, _ = gate("a = b", 2.5, passes)
    formula = define_columns(parse_expression(f"2*{quoted(name)} - 1"), GATES)
    cells = ["2.5", "1", "NULL", "'nan'", "'inf'", "'-inf'"]
    with duckdb.connect() as database:
        database.execute('CREATE TABLE t ("a = b" DOUBLE, "flow rate" DOUBLE)')
        database.execute(f"INSERT INTO t VALUES {', '.join(f'({cell}, 1)' for cell in cells)}")  # noqa: S608
        found = database.execute(f"SELECT {to_duckdb(formula, indicators=GATES)} FROM t").fetchall()  # noqa: S608
    assert [value for (value,) in found] == [1.0, -1.0, None, None, None, None]


@pytest.fixture
def screened(rng):
    frame = pd.DataFrame(rng.uniform(0.5, 2.0, (60, 2)), columns=["x1", "x2"])
    frame["c"] = rng.choice(["p", "it's"], 60)
    frame["n"] = rng.choice([1, 2.5], 60)
    frame["y"] = np.where(frame.c == "p", frame.x1 + frame.x2, frame.x2)
    return frame


@pytest.mark.slow
@pytest.mark.parametrize("how", ["gate", "onehot"])
def test_a_screens_exports_need_the_columns_of_the_data(screened, how, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    screened.to_csv("d.csv", index=False)
    asked = [
        "--categorical",
        "c,n",
        "--categorical-as",
        how,
        "--layers",
        "b",
        "--binary",
        "add,mul",
        "--quiet",
    ]
    assert run_command(["screen", "d.csv", *asked, "--top", "9", "--out", "r.csv", "--bundle", "b.json"]) == 0
    result = symscreen.screen(
        screened, categorical=["c", "n"], categorical_as=how, layers="b", binary="add,mul", top=9
    )
    ours = result.transform(screened).to_numpy().T
    texts = []
    for name in ("r.csv", "b.json"):
        capsys.readouterr()
        assert run_command(["export", name, "--to", "sqlite"]) == 0
        texts.append(capsys.readouterr().out)
    assert texts == [export_formulas(result, "sqlite") + "\n"] * 2
    with sqlite3.connect(":memory:") as database:
        screened.to_sql("t", database, index=False)
        found = pd.read_sql(f"SELECT {texts[0]} FROM t", database)  # noqa: S608
    np.testing.assert_allclose(found.to_numpy().T, ours, rtol=1e-12)
    applied = symscreen.apply_bundle("b.json", screened)
    np.testing.assert_array_equal(applied.to_numpy().T, ours)
    assert export_formulas(load_bundle("b.json"), "c") == export_formulas(result, "c")
    assert build_indicators_from_record(result.record) == result.data.indicators
    guesses = to_pysr(result)
    assert guesses.make_frame(screened).notna().all(axis=None)


def test_without_gates_a_column_is_taken_by_its_name():
    assert '"x·1[c = p]"' in to_sql(parse_expression("`x·1[c = p]`"))
    with pytest.raises(OptionError, match="no formula needs a column 'x·1"):
        export_formulas(
            parse_expression("`c = p`"),
            "sql",
            indicators={"c = p": LevelIndicator("c", "p")},
            names={"x·1[c = p]": "z"},
        )
    named = export_formulas(
        parse_expression("`c = p`"),
        "sql",
        indicators={"c = p": LevelIndicator("c", "p")},
        names={"c": "kind"},
    )
    assert "\"kind\" = 'p'" in named


@pytest.mark.parametrize("write", [to_c, to_sqlite, to_excel, to_matlab])
def test_a_level_that_no_text_can_be_is_refused(write):
    for level in ("a\ud800", "a\0b"):
        if write is to_matlab and "\0" in level:
            continue  # MATLAB's texts hold any code
        with pytest.raises(OutputError, match=r"the level .* cannot be written in"):
            write(parse_expression("`c = p`"), indicators={"c = p": LevelIndicator("c", level)})


def test_a_column_is_of_words_or_of_numbers():
    gates = {"c = p": LevelIndicator("c", "p"), "c = 1": LevelIndicator("c", 1.0)}
    with pytest.raises(OutputError, match="'c' is used both as numbers and as categories of texts"):
        to_c(parse_expression("`c = p` + `c = 1`"), indicators=gates)


@pytest.mark.parametrize(
    "change",
    [
        {"levels": None},
        {"levels": {"c": 3}},
        {"levels": {"c": [None]}},
        {"levels": {"q·1[c": ["p"], "c": ["p"]}},
    ],
)
def test_a_record_that_was_changed_is_refused(change):
    options = {"categorical": ["c"], "categorical_as": "gate", "levels": {"c": ["p"]}}
    record = {"options": options | change, "data": {"inputs": ["x·1[q·1[c = p]]", "x·1[q·1[c = p]"]}}
    if change.get("levels") == {"q·1[c": ["p"], "c": ["p"]}:
        record["data"]["inputs"] = ["x", "x·1[q", "x·1[q·1[c = p]"]
    with pytest.raises(FormulaError, match="derived columns cannot be read"):
        build_indicators_from_record(record)

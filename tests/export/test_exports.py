from __future__ import annotations

import ctypes
import json
import re
import sqlite3
import subprocess
import sys
from numbers import Real

import numpy as np
import pytest
from helpers.export_cases import FORMULAS, NAMES, ROWS, drawn_formulas, drawn_rows, worst_difference
from helpers.requirements import require
from helpers.strategies import expressions
from hypothesis import given, settings

from symscreen.errors import OutputError
from symscreen.export import to_c, to_duckdb, to_excel, to_matlab, to_numpy, to_sql, to_sqlite
from symscreen.expressions.linear_formula import Formula
from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import parse_expression

# rows that make infinities and NaN inside: an export must not make numbers of them again
EDGES = np.array([0.0, -0.0, 1.0, -1.0, 800.0, -800.0, 1e308, -1e308, 1e-320, np.inf, -np.inf, np.nan, 0.5])
FORGETFUL = [
    "1/(1/x)", "1/exp(x)", "exp(-1/x)", "tanh(exp(x))", "atan(1/x)", "erf(1/x)", "sign(1/x)",
    "min(1/x, 1)", "max(1, 1/x)", "max(log(x), 0)", "(log(x))**0", "1**log(x)", "x**(-1)", "0**x",
    "1/(x*x)", "1/(x + x)", "1/(x - 1)", "1/x**3", "1/x**2", "2/sinh(x)", "sqrt(x)**2", "min(asin(x), 2)",
    "max(acos(x), 2)", "sign(sqrt(x))", "cos(1/x)", "floor(1/x)", "1/asinh(1/x)", "cbrt(1/x)", "sin(x)",
    "x", "abs(1/x - x)", "1/cosh(x)", "(-2)**x", "x**0.5", "x**0", "sign(sin(1/x))", "max(sin(1/x), -2)",
]  # fmt: skip


def run_numpy(formulas, rows, tmp_path):
    (tmp_path / "exported.py").write_text(to_numpy(formulas), encoding="ascii")
    np.savez(tmp_path / "rows.npz", **{str(place): column for place, column in enumerate(rows.values())})
    (tmp_path / "names.json").write_text(json.dumps(list(rows)))
    code = (
        "import json, numpy as np, exported, pathlib\n"
        "rows = dict(zip(json.loads(pathlib.Path('names.json').read_text()), np.load('rows.npz').values()))\n"
        f"functions = [getattr(exported, f'feature_{{n + 1}}') for n in range({len(formulas)})]\n"
        "n = len(next(iter(rows.values())))\n"
        "np.save('out.npy', [np.broadcast_to(function(rows), n) for function in functions])\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=tmp_path, check=True)
    return np.load(tmp_path / "out.npy")


def run_c(formulas, rows, tmp_path):
    compiler = require("compiler")
    (tmp_path / "exported.c").write_text(to_c(formulas), encoding="ascii")
    library = tmp_path / "exported.so"
    # -Wconversion would be the reader's choice; what is warned of by default and by -Wall is an error
    flags = [
        "-std=c99",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Wno-unused-parameter",
        "-Wno-unused-function",
        "-Werror",
    ]
    command = [compiler, *flags, "-Werror", "-shared", "-fPIC", "-o", library, tmp_path / "exported.c", "-lm"]
    subprocess.run(command, check=True)
    loaded = ctypes.CDLL(str(library))
    used = re.search(r"double feature_1\((.*)\)", (tmp_path / "exported.c").read_text())[1].count("double")
    columns = [rows[name] for name in sorted(rows)]
    assert used == len(columns)
    out = np.empty((len(formulas), len(columns[0])))
    for place in range(len(formulas)):
        function = getattr(loaded, f"feature_{place + 1}")
        function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * used
        out[place] = [function(*row) for row in zip(*columns, strict=True)]
    return out


def run_sqlite(write):
    def run(formulas, rows, tmp_path):
        with sqlite3.connect(tmp_path / "rows.db") as database:
            named = ", ".join(f"`{name.replace('`', '``')}` REAL" for name in rows)
            database.execute(f"CREATE TABLE t (row INTEGER, {named})")
            marks = ", ".join("?" * (len(rows) + 1))
            database.executemany(
                f"INSERT INTO t VALUES ({marks})",  # noqa: S608  # marks only
                zip(range(ROWS), *(column.tolist() for column in rows.values()), strict=False),
            )
            # a statement holds 2,000 columns at most and a nest of 1,000: one formula at a time
            columns = [
                [cell for (cell,) in database.execute(f"SELECT {write(one)} FROM t ORDER BY row")]  # noqa: S608
                for one in formulas
            ]
            assert database.execute("SELECT count(*) FROM t").fetchone() == (len(columns[0]),)
        return np.array(columns, dtype=np.float64)

    return run


def run_duckdb(write):
    def run(formulas, rows, tmp_path):
        duckdb = require("duckdb")
        import pandas as pd

        del tmp_path
        frame = pd.DataFrame(rows)
        with duckdb.connect() as database:
            database.register("t", frame)
            found = database.execute(f"SELECT {write(formulas)} FROM t").fetchnumpy()  # noqa: S608
        arrays = [np.ma.filled(np.ma.asarray(column, dtype=np.float64), np.nan) for column in found.values()]
        assert next(iter(found)) == str(formulas[0])
        return np.array(arrays)

    return run


def run_octave(formulas, rows, tmp_path):
    octave = require("octave")
    (tmp_path / "features.m").write_text(to_matlab(formulas), encoding="ascii")
    np.savetxt(tmp_path / "rows.txt", np.column_stack([rows[name] for name in sorted(rows)]), fmt="%.17g")
    code = (
        "r = load('rows.txt'); c = num2cell(r, 1); v = features(c{:}); "
        "f = fopen('out.bin', 'w'); fwrite(f, v, 'double'); fclose(f);"
    )
    # some builds end with an error of their own after all is done: what counts is the file
    command = [octave, "--no-gui", "--norc", "--quiet", "--eval", code]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    return np.fromfile(tmp_path / "out.bin").reshape(len(formulas), -1)


def run_excel(formulas, rows, tmp_path):
    library = require("formulas")
    del tmp_path
    cells = {name: f"{'ABCD'[place]}2" for place, name in enumerate(rows)}
    number = len(next(iter(rows.values())))
    out = np.full((len(formulas), number), np.nan)
    for place, formula in enumerate(formulas):
        text = to_excel(formula, names=cells)
        # a column at a time is quick, but not through what counts or compares whole ranges
        row_by_row = re.search(r"MIN\(|MAX\(|ERF\(", text) is not None
        if not row_by_row:
            text = "=" + text.partition("NA(),")[2][:-1] if "COUNT(" in text else text
        function = library.Parser().ast(text)[1].compile()
        columns = [rows[{cell: name for name, cell in cells.items()}[cell]] for cell in function.inputs]
        if not columns:
            out[place] = np.asarray(function()).ravel()[0]
            continue
        steps = zip(*columns, strict=True) if row_by_row else [columns]
        found = np.concatenate([np.asarray(function(*values), dtype=object).ravel() for values in steps])
        out[place] = [value if isinstance(value, Real) else np.nan for value in found]
    return out


no_erf, neither = ("erf",), ("erf", "asinh")
RUNS = {
    "numpy": (run_numpy, ()),
    "sqlite": (run_sqlite(to_sqlite), no_erf),
    "sql in sqlite": (run_sqlite(to_sql), neither),
    "duckdb": (run_duckdb(to_duckdb), no_erf),
    "sql in duckdb": (run_duckdb(to_sql), neither),
    "c": (run_c, ()),
    "matlab": (run_octave, ()),
    "excel": (run_excel, ()),
}


@pytest.mark.slow
@pytest.mark.parametrize(("run", "without"), RUNS.values(), ids=RUNS)
def test_fifty_formulas_over_all_operators_agree_to_twelve_digits(run, without, rng, tmp_path):
    rows = drawn_rows(rng)
    formulas = drawn_formulas(rng, rows, without)
    number = 150 if run is run_excel else ROWS  # `formulas` computes some of them a row at a time
    rows = {name: values[:number] for name, values in rows.items()}
    theirs = run(formulas, rows, tmp_path)
    assert theirs.shape == (FORMULAS, number)
    ours = np.array([evaluate_expression(formula, rows) for formula in formulas])
    worst = [worst_difference(*each) for each in zip(ours, theirs, strict=True)]
    assert max(worst) <= 1e-12, str(formulas[int(np.argmax(worst))])


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in RUNS if name != "excel"])
def test_what_is_undefined_inside_stays_undefined(name, tmp_path):
    run, without = RUNS[name]
    formulas = [parse_expression(text) for text in FORGETFUL if not any(f"{one}(" in text for one in without)]
    rows = {"x": EDGES}
    theirs = run(formulas, rows, tmp_path)
    for formula, values in zip(formulas, theirs, strict=True):
        ours = evaluate_expression(formula, rows)
        assert np.isnan(values).tolist() == np.isnan(ours).tolist(), str(formula)
        assert worst_difference(ours, values) <= 1e-12, str(formula)


def test_excel_gives_errors_where_a_formula_is_undefined_or_a_cell_is_empty():
    library = require("formulas")
    for text in ("1/x", "log(x)", "(-8*x)**(1/3)", "0**x", "asin(x + 2)"):
        ours = np.isnan(evaluate_expression(parse_expression(text), {"x": EDGES[:4]}))
        function = library.Parser().ast(to_excel(parse_expression(text)))[1].compile()
        theirs = [np.asarray(function(value)).ravel()[0] for value in EDGES[:4]]
        assert [not isinstance(value, Real) for value in theirs] == ours.tolist(), text
    assert to_excel(parse_expression("x*y")).startswith("=IF(COUNT(A2,B2)<2,NA(),")


@settings(max_examples=60, deadline=None)
@given(formula=expressions())
def test_any_tree_becomes_python_that_compiles_or_is_refused(formula):
    for write in (to_numpy, to_c, to_matlab, to_sql, to_sqlite, to_duckdb, to_excel):
        try:
            text = write(formula)
        except OutputError:
            continue
        if write is to_numpy:
            compile(text, "exported", "exec")
        if write in {to_numpy, to_c, to_matlab}:
            assert text.isascii()
            assert not set(text) - {chr(code) for code in range(32, 127)} - {"\n"}


HOSTILE = [
    '"; DROP TABLE t; --', "`; DROP TABLE t; --", "*/ int main(void){system();} /*", "??/\n", "\\\nx",
    "=cmd|' /C'!A0", "${x}",
    "')+__import__('os').abort()+('", "coding: utf-7", "\n%{\nsystem('x')\n%}", "x\r\nimport os", "\u2028",
    "{0}", "%s", "for", "exp", "NAN", "_", "1x", "é", "x" * 300, "@SUM(A1)", "'", "a'||'b",
]  # fmt: skip


HOSTILE_RUNS = {name: RUNS[name] for name in ("numpy", "sqlite", "duckdb", "c", "matlab")}


@pytest.mark.slow
@pytest.mark.parametrize(("run", "without"), HOSTILE_RUNS.values(), ids=HOSTILE_RUNS)
def test_hostile_names_are_names_and_nothing_else(run, without, tmp_path):
    del without
    rows = {name: np.linspace(0.5, 2.0, 4) * (place + 1) for place, name in enumerate(HOSTILE)}
    formula = parse_expression(" + ".join(f"exp(-`{name.replace('`', '``')}`)" for name in HOSTILE))
    ours = evaluate_expression(formula, rows)
    # twice, for some runs need several features
    theirs = run([formula, formula], rows, tmp_path)
    np.testing.assert_allclose(theirs, [ours, ours], rtol=1e-12)
    assert re.fullmatch(r"[A-Z0-9=(),<+*^ -]+", to_excel(formula))


def test_hostile_targets_are_told_in_a_comment_only(tmp_path):
    model = Formula("*/ system(); /*\n%}\nimport os", 1.0, (2.0,), (parse_expression("x1"),))
    assert to_c(model).count("*/") == to_c(model).count("/*") == 2
    for write in (to_numpy, to_matlab):
        assert not re.search(r"^\s*(import os|%\})", write(model), re.MULTILINE)
    (tmp_path / "model.py").write_text(to_numpy(model))
    code = "import model; assert model.model({'x1': 3.0}) == 7.0"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


@pytest.mark.parametrize(
    ("write", "text", "message"),
    [
        (to_sql, "erf(x)", r"'erf\(x\)' cannot be written in standard SQL, which has no erf; choose another"),
        (to_sqlite, "1 + erf(x)", "SQLite, which has no erf"),
        (to_duckdb, "erf(x)", "DuckDB, which has no erf"),
        (to_sql, "asinh(x)", "standard SQL, which has no asinh"),
        (to_sql, "``", "'' is not a valid column name in standard SQL"),
        (to_sqlite, "`a\0b`", r"'a\\x00b' is not a valid column name in SQLite"),
        (to_duckdb, "a + A", "the columns 'A' and 'a' are the same in DuckDB, which ignores case"),
        (to_excel, "1e308*x", "the number 1e.308 cannot be written in Excel: its numbers range from"),
        (to_excel, "x*" * 2000 + "x", "cannot|characters"),
        (to_numpy, "log(0 - 1) + x", r"is undefined in every row, because 'log\(-1\)' is undefined"),
    ],
)
def test_what_a_language_cannot_say_is_refused_with_the_reason(write, text, message):
    with pytest.raises(OutputError, match=message):
        write(_long(text) if text.startswith("x*x*") else parse_expression(text))


def _long(text):
    terms = tuple(parse_expression("x**3*y**0.3") for _ in range(text.count("*") // 10))
    return Formula("y", 0.0, tuple(1.0 + place for place in range(len(terms))), terms)


@pytest.mark.parametrize(
    "cell", ["=A1", "A0", "XFE1", "A1048577", "a1", "A1:B2", "Sheet!A1", "A1)+1", "", "A1\n", "１A"]
)
def test_only_cells_stand_for_inputs_in_excel(cell):
    with pytest.raises(OutputError, match=r"is not a cell reference \(column 'x'\); write it as B2"):
        to_excel(parse_expression("x"), names={"x": cell})
    assert (
        to_excel(parse_expression("x"), names={"x": "$XFD$1048576"})
        == "=IF(COUNT($XFD$1048576)<1,NA(),$XFD$1048576)"
    )


def test_a_model_is_the_sum_that_it_predicts():
    model = Formula("y", 1.5, (2.0, -0.25), (parse_expression("x1**3"), parse_expression("`flow rate`/x1")))
    rows = {"x1": np.array([1.0, 2.0, 0.0]), "flow rate": np.array([3.0, 5.0, 1.0])}
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE t (x1 INTEGER, `flow rate` INTEGER)")
        database.executemany("INSERT INTO t VALUES (?, ?)", [(1, 3), (2, 5), (0, 1)])
        found = [cell for (cell,) in database.execute(f"SELECT {to_sqlite(model)} FROM t")]  # noqa: S608
    assert found[2] is None
    with pytest.warns(UserWarning, match="undefined in 1"):
        np.testing.assert_allclose(found[:2], model.predict(rows)[:2], rtol=1e-13)
    assert "def model(columns):" in to_numpy(model)
    assert NAMES[0] in to_c(model)


@pytest.mark.slow
def test_a_model_of_many_terms_needs_no_deep_stack():
    terms = tuple(parse_expression(f"x{place}*y") for place in range(400))
    model = Formula("y", 1.0, tuple(float(place + 2) for place in range(400)), terms)
    for write in (to_numpy, to_sqlite):
        assert "x399" in write(model)

"""Screens of rows in the order of time: operators of time, from the options to the files and back."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.cli.command import run_command
from symscreen.config.option_record import format_command
from symscreen.errors import DataError, FormulaError, OptionError
from symscreen.export import build_indicators_from_record
from symscreen.export.bundle_documents import format_bundle, parse_bundle
from symscreen.expressions.printing import to_text
from symscreen.expressions.tree import parse_expression
from symscreen.results.ranking_files import write_ranking
from symscreen.screening.stored_screens import load_result

OPTIONS = {
    "target": "y",
    "time": "t",
    "trajectory": "run",
    "unary": "lag1,lag2,diff,mean3",
    "binary": "mul",
    "layers": "b",
    "top": 8,
    "jobs": 1,
}


@pytest.fixture(scope="module")
def table():
    """Two runs of 30 rows with y = 3*lag2(x)*z, whose rows are shuffled."""
    rng = np.random.default_rng(4)
    runs = []
    for run, start in (("a", 0.0), ("b", 7.0)):
        x, z = rng.normal(size=30).cumsum(), rng.uniform(1.0, 2.0, 30)
        y = 3.0 * np.concatenate(([5.0, -5.0], x[:-2])) * z
        t = start + rng.uniform(0.5, 1.5, 30).cumsum()
        runs.append(pd.DataFrame({"t": t, "run": run, "x": x, "z": z, "y": y}))
    return pd.concat(runs).sample(frac=1.0, random_state=1)


@pytest.fixture(scope="module")
def result(table):
    return symscreen.screen(table, **OPTIONS)


@pytest.fixture(scope="module")
def fitted(table):
    options = {name: value for name, value in OPTIONS.items() if name != "top"}
    return symscreen.fit(table, effort="quick", **options)


def test_the_law_is_found_with_notices_of_rows_left_out_and_of_their_dependence(result):
    assert result.table["expression"][0] == "lag2(x)*z"
    assert result.notices == (
        "left out: 4 rows of 60 at the start of runs; the operators of time need 2 rows before a row",
        (
            "neighbours in time are alike: for the best formula, 56 rows tell about as much as 14 "
            "independent rows would"
        ),
    )
    assert result.record["data"]["inputs"] == sorted(
        ["x", "z", *(f"{operator}({name})" for operator in OPTIONS["unary"].split(",") for name in "xz")]
    )
    assert "null distributions assume independent rows" in str(result.verdict)


def test_results_depend_on_the_order_of_neither_rows_nor_columns(table, result):
    turned = table.iloc[::-1, ::-1]
    again = symscreen.screen(turned, **OPTIONS)
    assert again.table.equals(result.table)
    assert again.record == result.record


def test_features_of_new_rows_see_nothing_of_later_rows(table, result, fitted):
    past = (table["t"] <= table["t"].median()).to_numpy()
    changed = table.assign(
        t=table["t"].where(past, table["t"] + 1.0),
        x=table["x"].where(past, 1e3),
        z=table["z"].where(past, -1e3),
    )
    for source in (result, fitted):
        before, after = (_apply(source, rows) for rows in (table, changed))
        np.testing.assert_array_equal(after[past], before[past])
        np.testing.assert_array_equal(_apply(source, table[past]), before[past])
        assert not np.array_equal(after, before, equal_nan=True)


def _apply(source, rows):
    """Return the features of a screen, or the predictions of a fit, with a row for each row."""
    with warnings.catch_warnings(action="ignore"):  # of undefined rows, and of values outside of the box
        return np.asarray(source.transform(rows) if hasattr(source, "transform") else source.predict(rows))


def test_permutations_are_shifts_in_time(table):
    options = {**OPTIONS, "permutations": 60}
    shifted = symscreen.screen(table, **options)
    assert shifted.record["error_control"]["runs"] == 2
    assert "by 60 circular shifts of the target" in str(shifted.verdict)
    assert shifted.table["p_family"][0] <= 0.05
    assert symscreen.screen(table[::-1], **options).table.equals(shifted.table)


def test_a_result_comes_back_from_its_file_and_says_its_command(table, result, tmp_path):
    write_ranking(result, tmp_path / "r.csv")
    back = load_result(tmp_path / "r.csv", table)
    assert back.expressions == result.expressions
    assert back.data is not None
    without_data = load_result(tmp_path / "r.csv")
    np.testing.assert_array_equal(_apply(without_data, table), _apply(result, table))
    command = format_command(result.record)
    assert "--time t --trajectory run" in command
    assert "--unary id,lag1,lag2,diff,mean3" in command


def test_a_bundle_needs_the_columns_of_times_and_runs(table, fitted, tmp_path):
    assert fitted.formula.round_numbers(3).equation == "y = 3*lag2(x)*z"
    fitted.save(tmp_path / "m.json")
    with pytest.warns(UserWarning, match=re.escape("undefined in 4 of the 60 rows")):
        values = symscreen.apply_bundle(tmp_path / "m.json", table)["y"]
    is_known = ~np.isnan(values.to_numpy())
    np.testing.assert_allclose(values[is_known], table["y"][is_known], rtol=1e-9)
    with pytest.raises(DataError, match=re.escape("no column 't' for the formula's lag2(x)")):
        symscreen.apply_bundle(tmp_path / "m.json", table.drop(columns="t"))
    ready = table.drop(columns=["t", "run"]).assign(**{"lag2(x)": 1.0})
    np.testing.assert_allclose(symscreen.apply_bundle(tmp_path / "m.json", ready)["y"], 3.0 * table["z"])


def test_an_altered_operator_of_time_is_refused(fitted, result):
    text = format_bundle(fitted.formula)
    for changed, message in (("lag0", "needs a number"), ("eval", "there is no operator of time 'eval'")):
        with pytest.raises(FormulaError, match=f"the bundle, indicators: .*{message}"):
            parse_bundle(text.replace('"operator": "lag2"', f'"operator": "{changed}"'), "the bundle")
    options = {**result.record["options"], "time_columns": {"lag2(x)": {"column": "x", "operator": "eval"}}}
    with pytest.raises(FormulaError, match="derived columns cannot be read"):
        build_indicators_from_record({**result.record, "options": options})


def test_the_past_of_the_target_is_an_input_where_it_is_named(table):
    options = {**OPTIONS, "inputs": ["x", "lag1(y)"], "unary": "lag1"}
    assert symscreen.screen(table, **options).record["data"]["inputs"] == ["lag1(x)", "lag1(y)", "x"]
    with pytest.raises(DataError, match=re.escape("'diff(y)' holds the target of its own row")):
        symscreen.screen(table, **{**options, "unary": "diff", "inputs": ["x", "diff(y)"]})


def test_formulas_with_operators_of_time_are_read_as_they_are_written():
    for text in ("lag1(x)*z", "sin(mean7(`a b`))", "diff(x)**2"):
        assert to_text(parse_expression(text)) == text
    assert parse_expression("`lag1(x)`") == parse_expression("lag1(x)")
    for text in ("lag1(x*z)", "diff(2)", "lag1(x, z)"):
        with pytest.raises(FormulaError, match="acts on one column, not on a formula"):
            parse_expression(text)
    with pytest.raises(FormulaError, match="needs a number from 1 to 1000"):
        parse_expression("lag0(x)")


def test_a_fit_of_the_features_needs_the_table(table, result):
    with pytest.raises(OptionError, match=r"fit needs X here: .* times are no part of it"):
        result.fit()
    options = {name: OPTIONS[name] for name in ("target", "time", "trajectory", "unary")}
    fitted = result.fit(table, layers="u", effort="quick", **options)
    assert fitted.formula.round_numbers(3).equation == "y = 3*lag2(x)*z"


def test_why_knows_columns_of_operators_of_time(table):
    options = {name: value for name, value in OPTIONS.items() if name != "top"}
    assert symscreen.why(table, "z*lag2(x)", **options).status == "ranked"
    with pytest.raises(FormulaError, match=re.escape("there is no column 'lag3(x)'; did you mean 'lag2(x)'")):
        symscreen.why(table, "lag3(x)", **options)


def test_a_grammar_file_may_list_operators_of_time(table, tmp_path, capsys):
    path = tmp_path / "dynamic.toml"
    path.write_text('unary = ["square", "lag2"]\nbinary = ["mul"]\nlayers = "ub"\n')
    options = {name: value for name, value in OPTIONS.items() if name not in {"unary", "binary", "layers"}}
    assert symscreen.screen(table, operators=path, **options).table["expression"][0] == "lag2(x)*z"
    assert run_command(["operators", str(path)]) == 0
    assert "of time: lag2" in capsys.readouterr().out
    path.write_text('unary = ["lag2"]\n[define.lag2]\nformula = "x + 1"\n')
    with pytest.raises(symscreen.errors.GrammarError, match="this name is in use"):
        symscreen.screen(table, operators=path, **options)

"""Units from the data to the result, through Python and the command line."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from helpers.requirements import require

import symscreen
from symscreen.cli.command import command
from symscreen.errors import InputError
from symscreen.screening.screen import run_screen
from symscreen.screening.stored_screens import prepare_from_record
from symscreen.units import Units, compute_unit, parse_unit

require("pint")

OPTIONS = {"layers": "ub", "unary": ["square", "sin", "sqrt"], "binary": ["add", "mul", "div"]}


@pytest.fixture
def moving(rng):
    """Bodies with known kinetic energy; lengths have two units, so that prefixes matter."""
    mass, speed = rng.uniform(1, 5, 60), rng.uniform(10, 100, 60)
    short, long = rng.uniform(1, 9, 60), rng.uniform(1, 9, 60)
    return pd.DataFrame({
        "mass (g)": mass, "speed (km/h)": speed, "width (cm)": short, "height [mm]": long,
        "share": rng.uniform(0, 1, 60), "energy (J)": mass * speed**2 / 2,
    })  # fmt: skip


@pytest.mark.slow
def test_only_formulas_with_a_unit_are_scored_and_told_with_it(moving):
    options = OPTIONS | {"unary": ["square", "sin"], "binary": ["add", "div"]}
    result = symscreen.screen(moving, units="strict", top="all", **options)
    units = Units(
        {name: parse_unit(column["given"]) for name, column in result.record["units"]["columns"].items()}
    )
    assert result.table["unit"].tolist() == [compute_unit(one, units) for one in result.expressions]
    assert result.table["unit"].notna().all()
    whole = symscreen.screen(moving, top="all", **options)
    assert "unit" not in whole.table
    assert "units" not in whole.record
    meant = {
        text
        for text, one in zip(whole.table["expression"], whole.expressions, strict=True)
        if compute_unit(one, units) is not None
    }
    assert set(result.table["expression"]) == meant
    pruned = [layer["pruned"].get("no unit", 0) for layer in result.record["layers"]]
    assert pruned[0] == 0
    assert min(pruned[1:]) > 0


@pytest.mark.slow
def test_prefixes_are_reconciled_in_screen_and_on_new_rows(moving):
    result = symscreen.screen(
        moving, units="strict", also=["`width (cm)` + `height [mm]`"], top="all", **OPTIONS
    )
    values = result.transform(moving)["`width (cm)` + `height [mm]`"]
    assert np.allclose(values, moving["width (cm)"] / 100 + moving["height [mm]"] / 1000, rtol=1e-15)
    lengths = moving[["width (cm)", "height [mm]"]].assign(y=values)
    found = symscreen.screen(lengths, units="strict", layers="b", binary=["add"], top=1).table
    assert (found.expression[0], found.t0[0], found.unit[0]) == ("`height [mm]` + `width (cm)`", 0.0, "m")
    assert symscreen.screen(lengths, layers="b", binary=["add"], top=1).table.t0[0] > 0


@pytest.mark.slow
def test_target_units_leave_what_is_measured_in_them(moving):
    result = symscreen.screen(moving, units="strict", target_units="mJ", **OPTIONS)
    assert set(result.table["unit"]) == {"kg*m**2/s**2"}
    assert result.table.expression[0] == "`mass (g)`*`speed (km/h)`**2"
    last = result.record["layers"][-1]
    before = result.record["layers"][-2]["features"]
    assert last["pruned"]["other units than the target's"] > 0
    assert before + last["generated"] - sum(last["pruned"].values()) == last["features"] == result.n_scored
    planned = symscreen.plan(moving, units="strict", target_units="mJ", **OPTIONS)
    assert planned.n_features == result.n_scored


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{"jobs": 1}, {"chunk_size": 7}, {"search": "sieve"}, {"rounds": 2}, {"pool_size": 9}]
)
def test_units_hold_however_the_space_is_searched(moving, options):
    given = {"units": "strict", "target_units": "J", **OPTIONS}
    result = symscreen.screen(moving, **given, **options)
    assert set(result.table["unit"]) == {"kg*m**2/s**2"}
    if not options.keys() & {"search", "rounds", "pool_size"}:
        pd.testing.assert_frame_equal(result.table, symscreen.screen(moving, **given).table)


def test_exports_of_rankings_results_and_bundles_are_for_the_columns_as_they_came(
    moving, tmp_path, monkeypatch, capsys
):
    from symscreen.cli.command import run_command
    from symscreen.export import export_formulas

    monkeypatch.chdir(tmp_path)
    moving.to_csv("d.csv", index=False)
    words = ["--units", "strict", "--layers", "b", "--binary", "add,mul", "--top", "4", "--quiet"]
    assert run_command(["screen", "d.csv", *words, "--out", "r.csv", "--bundle", "b.json"]) == 0
    result = symscreen.screen(moving, units="strict", layers="b", binary="add,mul", top=4)
    texts = [export_formulas(result, "numpy")]
    for name in ("r.csv", "b.json"):
        capsys.readouterr()
        assert run_command(["export", name, "--to", "numpy"]) == 0
        texts.append(capsys.readouterr().out.removesuffix("\n"))
    assert {text.strip() for text in texts} == {texts[0].strip()}
    space = {}
    exec(compile(texts[0], "exported", "exec"), space)  # noqa: S102  # of this file's own formulas
    ours = result.transform(moving).to_numpy().T
    theirs = [space[f"feature_{place + 1}"](moving) for place in range(4)]
    np.testing.assert_allclose(theirs, ours, rtol=1e-12)
    assert symscreen.load_result("r.csv").table["unit"].tolist() == result.table["unit"].tolist()


def test_row_and_column_order_change_nothing(moving, rng):
    one = symscreen.screen(moving, target="energy (J)", units="strict", **OPTIONS)
    shuffled = moving.iloc[rng.permutation(60)][list(rng.permutation(moving.columns))]
    pd.testing.assert_frame_equal(
        one.table, symscreen.screen(shuffled, target="energy (J)", units="strict", **OPTIONS).table
    )


def test_own_operators_of_a_grammar_have_the_units_of_their_definition(moving, tmp_path):
    grammar = tmp_path / "own.toml"
    grammar.write_text(
        'unary = ["gauss"]\nbinary = ["kinetic", "div"]\nlayers = "b u"\n'
        '[define.gauss]\nformula = "exp(-x**2)"\n[define.kinetic]\nformula = "x*y**2/2"\n'
    )
    result = symscreen.screen(moving, operators=grammar, units="strict", top="all")
    by_text = dict(zip(result.table["expression"], result.table["unit"], strict=True))
    assert by_text["kinetic(`mass (g)`, `speed (km/h)`)"] == "kg*m**2/s**2"
    assert by_text["gauss(`height [mm]`/`width (cm)`)"] == "1"
    assert "gauss(`height [mm]`)" not in by_text
    assert by_text["gauss(share)"] == "1"


def test_rankings_take_units_too(rng):
    frame = pd.DataFrame({"a (m)": rng.uniform(1, 2, 30), "b (s)": rng.uniform(1, 2, 30)})
    ranks = pd.DataFrame({"p": frame["a (m)"], "q": frame["b (s)"], "r": 1.5})
    result = symscreen.screen(frame, ranks, units="strict", layers="b", binary=["div", "add"])
    assert set(result.table["unit"]) <= {"m", "s", "m/s", "s/m", "1"}


def _run(*arguments):
    return CliRunner().invoke(command, [str(one) for one in arguments], standalone_mode=False)


@pytest.mark.slow
def test_the_command_line_tells_units(moving, tmp_path):
    data = tmp_path / "moving.csv"
    moving.to_csv(data, index=False)
    common = [data, "--layers", "ub", "--unary", "square", "--binary", "add,mul", "--units", "strict"]
    shown = _run("screen", *common, "--target-units", "J", "--out", tmp_path / "r.csv")
    assert shown.exception is None
    assert "kg*m**2/s**2" in shown.output
    assert "other units than the target's" in shown.output
    assert "units: formulas are computed in base units: 'height [mm]' from mm to m" in shown.output
    assert list(pd.read_csv(tmp_path / "r.csv")["unit"]) == ["kg*m**2/s**2"]
    record = json.loads((tmp_path / "r.csv.json").read_text())
    assert record["units"]["columns"]["mass (g)"]["factor"] == "1/1000"
    planned = _run("plan", *common)
    assert "no unit" in planned.output


def test_an_own_formula_without_a_unit_is_refused(moving):
    with pytest.raises(InputError, match=r"has no unit: sin\(.*sin takes a pure number, but `mass"):
        symscreen.screen(moving, units="strict", also="sin(`mass (g)`)", **OPTIONS)


@pytest.mark.parametrize(
    ("formula", "options", "answer", "headline"),
    [
        (
            "`mass (g)` + share",
            {},
            "no unit",
            "has no unit: `mass (g)` + share: add requires equal units, but",
        ),
        ("sin(`mass (g)`)*share", {}, "no unit", "sin takes a pure number, but `mass (g)` is in kg."),
        (
            "`mass (g)`/share",
            {"target_units": "J"},
            "other units",
            "is in kg, but the target is in kg*m**2/s**2",
        ),
        ("`mass (g)`/share", {}, "ranked", "is in the space: rank"),
        ("(share + `mass (g)`) - `mass (g)`", {}, "ranked", "is in the space as share: rank"),
    ],
)
def test_why_names_what_units_have_against_a_formula(moving, formula, options, answer, headline):
    found = symscreen.why(moving, formula, units="strict", **options, **OPTIONS)
    assert found.status == answer
    assert headline in found.text.splitlines()[0]


def test_a_bundle_holds_for_the_units_of_the_data(moving, tmp_path):
    data, bundle = tmp_path / "moving.csv", tmp_path / "b.json"
    moving.to_csv(data, index=False)
    options = [
        "--layers",
        "ub",
        "--unary",
        "square",
        "--binary",
        "add,mul",
        "--units",
        "strict",
        "--top",
        "5",
    ]
    assert _run("screen", data, *options, "--bundle", bundle).exception is None
    result = symscreen.screen(data, units="strict", layers="ub", unary="square", binary="add,mul", top=5)
    applied = symscreen.apply_bundle(bundle, moving)
    assert (applied.to_numpy() == result.transform(moving).to_numpy()).all()


def test_a_screen_is_made_again_with_its_units(moving):
    file = {"mass (g)": "kg", "share": "m"}  # other than the headers say
    result = symscreen.screen(moving, units=file, target_units="kg*m", **OPTIONS)
    assert result.record["options"]["units"]["share"] == "m"
    again = prepare_from_record(json.loads(json.dumps(result.record)), moving)
    assert again.units.record == result.record["units"]
    without_p_values = result.table.drop(columns=["p_value", "q_value"])  # a replay computes none
    pd.testing.assert_frame_equal(run_screen(again).table, without_p_values)

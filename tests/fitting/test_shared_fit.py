"""Fits of several targets: one set of terms, and coefficients for each."""

from __future__ import annotations

import json
from itertools import combinations
from math import log

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from helpers.fitting_cases import every_feature, found_in, space_of
from linear_models.test_shared_scan import mean_share

import symscreen
from symscreen.cli.command import command, run_command
from symscreen.data import read_dataset, take_rows
from symscreen.errors import DataError, FormulaError, OptionError
from symscreen.export import export_formulas, format_bundle, load_bundle
from symscreen.expressions.linear_formula import SharedFormula
from symscreen.expressions.traversal import compute_complexity, evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.fitting import fit_constants, score_models

SMALL = {"operators": "ablation", "layers": "ub"}


@pytest.fixture
def two(rng):
    """Two targets of the same two features; x3 plays no part."""
    x = rng.uniform(0.5, 2.0, (3, 60))
    frame = pd.DataFrame(dict(zip(("x1", "x2", "x3"), x, strict=True)))
    shared = frame.x1**3, frame.x1 * frame.x2
    noise = rng.normal(0, 0.1, (2, 60))
    return frame.assign(
        a=4 + 2 * shared[0] - shared[1] + noise[0], b=1000 * (shared[0] + 3 * shared[1] + noise[1])
    )


def _texts(result):
    return sorted(map(str, result.formula.terms))


# The terms


@pytest.mark.parametrize("layers", ["u", "b"])
def test_the_best_models_of_every_size_are_those_of_brute_force(two, layers):
    table = read_dataset(two, target=["a", "b"], target_type="several")
    space = space_of(table, layers)
    found = found_in([space], table, max_terms=3)
    _, values = every_feature(space)
    for size in (1, 2, 3):
        best = min(mean_share(values[list(some)], table.target.values) for some in _independent(values, size))
        left = min(share for members, share in found.models.items() if len(members) == size)
        assert left == pytest.approx(best, rel=1e-9)


def _independent(values, size):
    for some in combinations(range(len(values)), size):
        if size == 1 or np.linalg.cond(np.corrcoef(values[list(some)])) < 1e9:
            yield some


@pytest.mark.parametrize("noise", [0.3, 1.0, 3.0])
def test_the_model_chosen_is_that_of_the_criterion_over_all_subsets(rng, noise):
    x = rng.uniform(0.5, 2.0, (3, 60))
    frame = pd.DataFrame(x.T, columns=["x1", "x2", "x3"])
    frame = frame.assign(a=x[0] ** 3 - x[1], b=50 * (x[1] + x[2] ** 3))
    frame[["a", "b"]] += noise * rng.normal(size=(60, 2)) * [1.0, 50.0]
    result = symscreen.fit(frame, target="a,b", operators="ablation", layers="u")
    texts = [f"x{k}" for k in (1, 2, 3)] + [f"x{k}**3" for k in (1, 2, 3)]
    values = np.vstack([x, x**3])
    scored = []
    for size in range(5):
        for some in combinations(range(6), size):
            share = mean_share(values[list(some)].reshape(size, 60), frame[["a", "b"]].to_numpy().T)
            score = 120 * log(share) + 2 * (size + 1) * log(60) + 2 * size * log(6)
            lengths = sum(compute_complexity(parse_expression(texts[place])) for place in some) + size
            scored.append((score, lengths, sorted(texts[place] for place in some)))
    near = [one for one in scored if one[0] <= min(scored)[0] + 2]
    assert _texts(result) == min(near, key=lambda one: (one[1], one[0]))[2]


def test_in_a_large_space_a_deep_term_and_a_simple_one_are_found(rng):
    x = rng.uniform(0.5, 2.0, (3, 50))
    deep, simple = x[0] * x[1] / (x[0] + x[2]), x[1]
    frame = pd.DataFrame(x.T, columns=["x1", "x2", "x3"]).assign(
        a=3 * deep - simple, b=1e-6 * (deep + 2 * simple)
    )
    table = read_dataset(frame, target=["a", "b"], target_type="several")
    found = found_in([space_of(table, "bb", "strogatz")], table, exhaustive_features=20)
    assert found.has_exact_model


def test_the_shared_terms_are_found_and_the_coefficients_are_least_squares(two):
    result = symscreen.fit(two, target="a,b", **SMALL)
    assert isinstance(result, symscreen.SharedFitResult)
    assert result.targets == ("a", "b")
    assert _texts(result) == ["x1**3", "x1*x2"]
    columns = {name: two[name].to_numpy() for name in ("x1", "x2", "x3")}
    design = np.vstack(
        [np.ones(60), *(evaluate_expression(term, columns) for term in result.formula.terms)]
    ).T
    for name in ("a", "b"):
        expected, rss, *_ = np.linalg.lstsq(design, two[name], rcond=None)
        np.testing.assert_allclose(result.terms[f"coefficient[{name}]"], expected, rtol=1e-9)
        assert result.r2[name] == pytest.approx(1 - rss[0] / (two[name].var(ddof=0) * 60), abs=1e-12)
        assert (result.terms[f"low[{name}]"] < result.terms[f"coefficient[{name}]"]).all()
        alone = symscreen.fit(two.drop(columns="b" if name == "a" else "a"), target=name, **SMALL)
        if _texts(alone) == _texts(result):
            assert result.formula.get_formula(name).coefficients == pytest.approx(alone.formula.coefficients)


def test_the_mean_share_is_told_and_the_criterion_counts_every_number(two):
    table = read_dataset(two, target=["a", "b"], target_type="several")
    found = found_in([space_of(table, "u")], table)
    for one in score_models(found, 60, "ebic", 2):
        k = len(one.term_indices)
        assert one.score == pytest.approx(
            120 * log(one.unexplained_share)
            + 2 * (k + 1) * log(60)
            + 2 * k * log(found.terms.search_sizes[0] if k else 1) * 120 / (120 - 2 * (k + 1))
        )
    result = symscreen.fit(two, target="a,b", **SMALL)
    chosen = result.front[result.front["chosen"]].iloc[0]
    assert chosen["r2"] == pytest.approx(np.mean(list(result.r2.values())), abs=1e-12)
    assert chosen["features"] == ", ".join(map(str, result.formula.terms))


def test_of_one_target_nothing_changes_by_the_count_of_targets(rng):
    x = rng.uniform(0.5, 2.0, (2, 40))
    table = read_dataset({"x1": x[0], "x2": x[1]}, y=x[0] ** 3 + rng.normal(0, 0.3, 40))
    found = found_in([space_of(table, "u")], table)
    assert score_models(found, 40, "ebic") == score_models(found, 40, "ebic", 1)


def test_units_of_targets_and_the_order_of_anything_do_not_matter(two, rng):
    result = symscreen.fit(two, target="a,b", **SMALL)
    scaled = symscreen.fit(two.assign(a=1e-9 * two.a + 5), target="b,a", **SMALL)
    assert scaled.formula.terms == result.formula.terms
    assert scaled.r2 == pytest.approx(result.r2, abs=1e-9)
    moved = two.iloc[rng.permutation(60), [4, 2, 0, 3, 1]]
    again = symscreen.fit(moved, target=["b", "a"], jobs=1, **SMALL)
    assert again.formula == result.formula
    pd.testing.assert_frame_equal(again.terms, result.terms, check_exact=True)


def test_targets_may_come_beside_the_rows(two):
    x = two[["x1", "x2", "x3"]]
    named = symscreen.fit(x, two[["b", "a"]], **SMALL)
    assert named.formula == symscreen.fit(two, target="a,b", **SMALL).formula
    unnamed = symscreen.fit(x.to_numpy(), two[["a", "b"]].to_numpy(), **SMALL)
    assert unnamed.targets == ("y1", "y2")
    np.testing.assert_array_equal(unnamed.predict(x.to_numpy()), named.predict(x))


def test_a_target_that_is_noise_costs_a_share_and_no_more(two):
    rng = np.random.default_rng(1)
    result = symscreen.fit(two.assign(c=rng.normal(size=60)), target="a,b,c", **SMALL)
    assert _texts(result) == ["x1**3", "x1*x2"]
    assert result.r2["c"] < 0.3
    assert min(result.r2["a"], result.r2["b"]) > 0.99


def test_exact_formulas_of_both_and_simple_numbers(rng):
    x = rng.uniform(0.5, 2.0, (2, 30))
    frame = pd.DataFrame({"x1": x[0], "x2": x[1], "a": 0.5 * x[0] ** 3 - x[1], "b": 10 + 3 * x[1]})
    result = symscreen.fit(frame, target="a,b", snap=True, **SMALL)
    assert result.formula.equations == ("a = -x2 + 0.5*x1**3", "b = 10 + 3*x2")
    assert list(result.r2.values()) == [1.0, 1.0]
    assert result.notices == ()


def test_more_than_four_terms_come_from_the_paths_of_every_target(rng):
    x = rng.normal(size=(6, 80))
    frame = pd.DataFrame(x.T, columns=[f"x{k}" for k in range(1, 7)])
    frame = frame.assign(
        a=x[:5].sum(axis=0) + rng.normal(0, 0.1, 80),
        b=x[1:6].sum(axis=0) - 2 * x[0] + rng.normal(0, 0.1, 80),
    )
    result = symscreen.fit(frame, target="a,b", unary="id", layers="u", max_terms=6)
    assert _texts(result) == [f"x{k}" for k in range(1, 7)]


def test_a_constant_inside_a_term_is_shared(rng):
    decay = '[define.decay]\nformula = "exp(-a*x)"\nparameters = { a = [0.1, 1, 10] }\n'
    from symscreen.grammar import OPERATORS
    from symscreen.grammar.custom_operators import define_family

    (decays,) = define_family("decay", "exp(-a*x)", {"a": [1]}, OPERATORS)
    t = np.linspace(0, 3, 40)
    shape = np.exp(-1.7 * t)
    targets = np.stack([3 + 2 * shape, 1e6 - 5e5 * shape]) + [[0.0], [1.0]] * rng.normal(0, 1e-3, (2, 40))
    fitted, share = fit_constants([parse_expression("decay(t)", {"decay": decays})], {"t": t}, targets)
    assert fitted[0].arguments[0].arguments[0].value == pytest.approx(-1.7, rel=1e-6)
    assert share < 1e-15
    assert decay.startswith("[define")


# Rows


def test_rows_kept_from_the_search_give_the_coefficients_of_all_targets(two):
    result = symscreen.fit(two, target="a,b", split=0.5, **SMALL)
    assert result.record["rows_choosing"] + result.record["rows_estimating"] == 60
    assert _texts(result) == ["x1**3", "x1*x2"]


def test_some_rows_of_several_targets_stay_in_order(two):
    table = read_dataset(two, target=["a", "b"], target_type="several")
    rows = np.array([40, 3, 17, 5, 6, 30])
    part = take_rows(table, rows)
    other = read_dataset(two.iloc[np.sort(table.source_rows[rows])], target=["a", "b"], target_type="several")
    np.testing.assert_array_equal(part.columns, other.columns)
    np.testing.assert_array_equal(part.target.values, other.target.values)
    (a, _) = part.regression_target.values  # noqa: PD011  # no frame
    np.testing.assert_array_equal(two.a.to_numpy()[part.source_rows], a)


def test_cross_validation_averages_shares_of_each_variance(two):
    result = symscreen.fit(
        two, target="a,b", criterion="cv", folds=4, operators="ablation", layers="u", max_terms=2
    )
    errors = result.record["cv_error"]
    assert errors[0] == pytest.approx(1.0, rel=0.2)
    scaled = symscreen.fit(
        two.assign(b=two.b / 1e5),
        target="a,b",
        criterion="cv",
        folds=4,
        operators="ablation",
        layers="u",
        max_terms=2,
    )
    assert scaled.record["cv_error"] == pytest.approx(errors, rel=1e-9)
    assert len(result.formula.terms) == int(np.argmin(errors))


def test_cuts_go_by_the_mean_over_targets(two):
    result = symscreen.fit(two, target="a,b", operators="ablation", layers="ub", pool_size=4)
    assert result.record["prune_by"] == ["t0", "xi"]
    assert _texts(result) == ["x1**3", "x1*x2"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"target": "a,a"}, "target= names 'a' twice"),
        ({"target": "a,nope"}, "nope"),
        ({"target": "a,b", "preset": "ibart"}, "bart"),
        ({"target": "a,b", "prune_by": "lasso"}, "lasso"),
    ],
)
def test_what_several_targets_do_not_go_with_is_told(two, options, says):
    with pytest.raises((OptionError, DataError), match=says) as told:
        symscreen.fit(two, **{**SMALL, **options})
    assert "\n" not in str(told.value)


# What is made of them


def test_saved_formulas_come_back_and_are_applied(two, tmp_path):
    result = symscreen.fit(two, target="a,b", **SMALL)
    result.save(tmp_path / "m.json")
    assert load_bundle(tmp_path / "m.json") == result.formula
    applied = symscreen.apply_bundle(tmp_path / "m.json", two)
    assert list(applied) == ["a", "b"]
    np.testing.assert_array_equal(applied.to_numpy(), result.predict(two))
    kept = json.loads((tmp_path / "m.json").read_text())
    assert (kept["kind"], kept["targets"], len(kept["terms"])) == ("models", ["a", "b"], 2)
    assert format_bundle(result.formula) == format_bundle(load_bundle(tmp_path / "m.json"))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda kept: kept.update(intercepts=[1.0]), "targets"),
        (lambda kept: kept.update(targets=["a", "a"]), "targets"),
        (lambda kept: kept.update(targets="ab"), "targets"),
        (
            lambda kept: kept["terms"][0].update(coefficients=[1.0]),
            r"coefficients: expected 2 numbers, one per target, found 1",
        ),
        (lambda kept: kept["terms"][0].update(coefficients=[1.0, "2"]), "a list of finite numbers"),
        (lambda kept: kept["terms"][0].update(coefficients=[1.0, 2.5]), "digest"),
        (lambda kept: kept.update(intercept=2.0), "intercept"),
    ],
)
def test_a_bundle_that_was_changed_is_refused(tmp_path, change, says):
    both = SharedFormula(("a", "b"), (1.0, 0.0), ((2.0,), (-1.0,)), (parse_expression("x1**3"),))
    kept = json.loads(format_bundle(both))
    change(kept)
    (tmp_path / "m.json").write_text(json.dumps(kept))
    with pytest.raises(FormulaError, match=says) as told:
        load_bundle(tmp_path / "m.json")
    assert "\n" not in str(told.value)


def test_a_shared_formula_holds_together():
    terms = (parse_expression("x1"), parse_expression("log(x2)"))
    both = SharedFormula(("a", "b"), (1, -0.0), ((2, 3.0), (np.float64(0.5), -1)), terms)
    assert both.equations == ("a = 1 + 2*x1 + 3*log(x2)", "b = 0.5*x1 - log(x2)")
    assert both.get_formula("b").predict({"x1": [2.0], "x2": [1.0]}).tolist() == [1.0]
    assert "gathered" in both._repr_latex_()
    assert both.complexity == both.get_formula("a").complexity
    part = SharedFormula(("a", "b"), (0.0, 1.0), ((2.0, 0.0), (0.0, 0.0)), terms)
    assert part.equations == ("a = 2*x1", "b = 1")
    assert part.predict({"x1": [1.0], "x2": [-1.0]}).tolist() == [[2.0, 1.0]]
    assert part.complexity == both.complexity
    with pytest.raises(FormulaError, match="no target 'c'"):
        both.get_formula("c")
    with pytest.raises(FormulaError, match="2 targets with 1 intercepts"):
        SharedFormula(("a", "b"), (1.0,), ((2.0, 3.0),), terms)
    with pytest.raises(FormulaError, match="is repeated"):
        SharedFormula(("a", "a"), (1.0, 1.0), ((2.0, 3.0), (2.0, 3.0)), terms)
    with pytest.raises(FormulaError, match="2 terms with 1 coefficients"):
        SharedFormula(("a",), (1.0,), ((2.0,),), terms)
    with pytest.warns(UserWarning, match=r"undefined in 1 of the 2 rows and NaN there; 'log\(x2\)' in 1"):
        assert np.isnan(both.predict({"x1": [1.0, 1.0], "x2": [-1.0, 1.0]})).tolist() == [
            [True] * 2,
            [False] * 2,
        ]


def test_source_in_other_languages_gives_the_same_values(two):
    result = symscreen.fit(two, target="a,b", **SMALL)
    space: dict = {}
    exec(compile(export_formulas(result, "numpy"), "m", "exec"), space)  # noqa: S102  # our own text
    columns = {name: two[name].to_numpy() for name in ("x1", "x2")}
    for place, name in enumerate(result.targets, start=1):
        np.testing.assert_allclose(
            space[f"model_{place}"](columns), result.predict(two)[:, place - 1], rtol=1e-12
        )
        assert f'AS "{name}"' in result.export("sql")
        assert f"model_{place}" in result.export("c")
    assert result.export("latex").count("\n") == 1
    assert len(result.export("sympy").splitlines()) == len(result.export("excel").splitlines()) == 2


def test_the_command_line_prints_a_line_and_a_column_for_each_target(two, tmp_path, capsys):
    data, bundle = tmp_path / "two.csv", tmp_path / "m.json"
    two.to_csv(data, index=False)
    asked = ["fit", str(data), "--target", "a,b", "--operators", "ablation", "--layers", "ub"]
    assert run_command([*asked, "--out", str(bundle)]) == 0
    out, err = capsys.readouterr()
    result = symscreen.fit(data, target="a,b", **SMALL)
    lines = out.splitlines()
    assert tuple(lines[:2]) == result.formula.round_numbers(6).equations
    assert max(map(len, lines[2:])) <= 80
    heading = next(line for line in lines if line.startswith("term "))
    assert heading.split() == ["term", "a", "b"]
    coefficient = result.terms["coefficient[b]"][1]
    assert any(f"{coefficient:.6g} ± " in line for line in lines)
    assert f"a: R2 = {result.r2['a']:.6g}" in out
    assert "too narrow" in err
    assert run_command(["apply", str(bundle), str(data)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "a,b"
    shown = CliRunner().invoke(command, ["export", str(bundle), "--to", "sqlite"])
    assert shown.output.count(" AS ") >= 2


def test_many_targets_with_long_names_fit_a_terminal(rng, tmp_path, capsys):
    x = rng.uniform(0.5, 2.0, 40)
    names = [f"a very long name of target {k}" for k in range(7)]
    frame = pd.DataFrame(
        {"x1": x} | {name: (k + 1) * x + rng.normal(0, 0.1, 40) for k, name in enumerate(names)}
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert run_command(["fit", str(tmp_path / "t.csv"), "--target", ",".join(names), "--layers", "u"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines[7:])) <= 80


def test_it_shows_itself(two):
    result = symscreen.fit(two.rename(columns={"a": "a<b>"}), target=["a<b>", "b"], **SMALL)
    assert "SharedFitResult" in repr(result)
    page = result._repr_html_()
    assert "a&lt;b&gt;" in page
    assert "<b>" not in page.replace("coefficient[", "")


def test_names_that_steer_a_terminal_are_shown_as_text(two, tmp_path, capsys):
    hostile = two.rename(columns={"a": "=a\x1b[2J\n", "x1": "x\x9b1"})
    result = symscreen.fit(hostile, target=["=a\x1b[2J\n", "b"], **SMALL)
    marks = {"\x1b", "\x9b"}
    assert not marks & set(repr(result) + result._repr_html_() + result._repr_latex_())
    hostile.to_csv(tmp_path / "t.csv", index=False)
    asked = ["fit", str(tmp_path / "t.csv"), "--target", "`=a\x1b[2J\n`,b", "--operators", "ablation"]
    assert run_command([*asked, "--layers", "u"]) == 0
    out, err = capsys.readouterr()
    assert not marks & set(out + err)
    assert len(out.splitlines()[1].split(" = ")) == 2

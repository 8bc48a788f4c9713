from __future__ import annotations

import json
import re
from functools import cache

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.config.parsing import parse_bytes
from symscreen.data import read_dataset
from symscreen.errors import (
    DataError,
    ExtrapolationWarning,
    FormulaError,
    GrammarError,
    MemoryLimitError,
    OptionError,
)
from symscreen.expressions.traversal import collect_columns, compute_key, evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.results.ranking_files import format_ranking_csv
from symscreen.screeners import SCREENERS, Screener

GLIDER = {"layers": "ubb", "unary": "cos,id", "binary": "sub,div"}
SMALL = {"operators": "ablation", "layers": "ub"}


@pytest.fixture(scope="module")
def glider():
    return symscreen.datasets.load_strogatz("glider2").frame


def _ranking(*args, **options) -> bytes:
    return format_ranking_csv(symscreen.screen(*args, **options)).encode()


def test_glider2_is_named_by_its_true_formula(glider):
    result = symscreen.screen(glider, top=5, **GLIDER)
    first = result.table.iloc[0]
    truth = {
        "+": compute_key(parse_expression("x1 - cos(x2)/x1")),
        "-": compute_key(parse_expression("cos(x2)/x1 - x1")),
    }
    assert compute_key(result.expressions[0]) == truth[first.direction]
    delta = result.scale
    assert min(first.t0, 2 * delta - first.t0) <= 1e-12 * delta


@pytest.mark.slow
@pytest.mark.parametrize("screener", ["t0,xi", "xi", "pearson,spearman", "kendall"])
def test_jobs_and_chunks_do_not_change_a_byte(glider, screener):
    few, space = glider.head(60), GLIDER | {"layers": "bub", "unary": "cos"}
    expected = _ranking(few, screener=screener, **space)
    for options in [{"jobs": 1, "chunk_size": 7}, {"jobs": 2, "chunk_size": 20}, {"chunk_size": 10**6}]:
        assert _ranking(few, screener=screener, **space, **options) == expected, options


@pytest.mark.slow
@pytest.mark.parametrize("top", [20, "all"])
@pytest.mark.parametrize("screener", ["t0,xi,kendall,spearman,pearson", "pearson"])
def test_the_order_of_rows_and_columns_does_not_change_a_byte(frame, screener, top, rng):
    frame = pd.concat([frame, frame.iloc[:10]])  # duplicated rows as well
    options = {"screener": screener, "top": top, "layers": "ub", "target": "target"}
    options |= {"unary": "neg,log", "binary": "mul,sub"}
    expected = _ranking(frame, **options)
    shuffled = frame.sample(frac=1, random_state=int(rng.integers(1 << 30)))
    assert _ranking(shuffled[list(rng.permutation(frame.columns))], **options) == expected


@pytest.fixture(scope="module")
def every_feature(glider):
    """Return what gives the ranking of every feature for a sign; each is computed once."""
    return cache(lambda sign: symscreen.screen(glider, top="all", sign=sign, **GLIDER))


@pytest.mark.slow
@pytest.mark.parametrize("sign", ["free", "positive"])
def test_the_streamed_top_equals_that_of_the_whole_matrix(glider, every_feature, sign):
    options = GLIDER | {"sign": sign, "screener": "t0"}
    streamed = symscreen.screen(glider, top=100, chunk_size=50, max_correlation=1, **options).table
    every = every_feature(sign)
    # class and order computed anew from the matrix of all features
    columns = {name: glider[name].to_numpy() for name in ("x1", "x2")}
    y = glider["target"].to_numpy()
    matrix = np.column_stack([evaluate_expression(expression, columns) for expression in every.expressions])
    scores = symscreen.t0(matrix, y)
    delta = symscreen.t0(-y, y) / 2
    loss = np.round(np.minimum(scores, 2 * delta - scores) / delta if sign == "free" else scores / delta, 11)
    ranks = pd.DataFrame(matrix).rank().to_numpy()
    mirror = len(y) + 1 - ranks
    classes = {}
    for k in np.argsort(loss, kind="stable"):
        own = ranks[:, k].tobytes()
        name = min(own, mirror[:, k].tobytes()) if sign == "free" else own
        classes.setdefault(name, []).append(k)
    assert len(streamed) == min(100, len(classes))
    best = sorted(classes.values(), key=lambda members: loss[members[0]])[: len(streamed)]
    assert np.allclose(streamed.t0.map(lambda t: min(t, 2 * delta - t)) if sign == "free" else streamed.t0,
                       [loss[members[0]] * delta for members in best], atol=1e-9)  # fmt: skip
    shown = {min(ranks[:, k].tobytes(), mirror[:, k].tobytes()) if sign == "free" else ranks[:, k].tobytes():
             every.table.expression[k] for members in best for k in members}  # fmt: skip
    sizes = {every.table.expression[k]: len(members) for members in best for k in members}
    assert len(shown) == len(best)
    assert streamed.class_size.tolist() == [sizes[text] for text in streamed.expression]


@pytest.mark.slow
def test_every_feature_is_kept_unmerged_on_request(glider, every_feature):
    result = every_feature("free")
    assert len(result) == result.n_scored == result.record["layers"][-1]["features"]
    merged = symscreen.screen(glider, top=10**6, max_correlation=1, **GLIDER)
    assert merged.table.class_size.sum() == result.n_scored
    leaders = result.table.expression[result.table.class_size == 1]
    assert set(leaders) <= set(merged.table.expression)


def test_a_noise_free_response_is_named_by_its_exact_form(rng):
    x = rng.uniform(1, 2, 80)
    frame = pd.DataFrame({"x": x, "z": rng.uniform(1, 2, 80), "y": np.exp(x)})
    result = symscreen.screen(frame, layers="u", unary="exp,square,log,inv,cube", top=2)
    assert result.table.expression[0] == "exp(x)"
    assert result.table.class_size[0] == 6  # x and five monotone transforms, 1/x mirrored


def test_rising_is_shown_before_falling_among_twins(glider):
    result = symscreen.screen(glider, top=20, **GLIDER)
    assert result.table.direction[0] == "+"


def test_positive_sign_asks_for_the_order_itself(rng):
    x = rng.uniform(1, 2, 50)
    frame = pd.DataFrame({"x": x, "z": rng.normal(size=50), "y": -x})
    assert (
        symscreen.screen(frame, layers="u", unary="neg", sign="positive", top=1).table.expression[0] == "-x"
    )
    free = symscreen.screen(frame, layers="u", unary="neg", sign="free", top=1).table
    assert (free.expression[0], free.direction[0]) == ("x", "-")


COLUMNS = ["rank", "expression", "complexity", "layer", "direction"]


@pytest.mark.parametrize("screener", [name for name, one in SCREENERS.items() if isinstance(one, Screener)])
def test_each_column_screener_can_rank(frame, screener):
    plain = {"p_values": False, "max_correlation": 1, "unsafe": "keep"}
    table = symscreen.screen(frame, screener=screener, layers="ub", top=10, **plain).table
    gini = ["gini"] if screener == "t0" else []
    assert list(table.columns) == [*COLUMNS, screener, *gini, "class_size"]
    strength = (
        table[screener]
        if screener == "xi"
        else (table[screener] if screener == "t0" else table[screener].abs())
    )
    if screener == "t0":
        delta = symscreen.screen(frame, layers="u", top=1).scale
        strength = -np.minimum(strength, 2 * delta - strength)
    assert (np.diff(strength) <= 1e-12).all()


@pytest.mark.slow
@pytest.mark.parametrize("screener", ["lasso", "scad", "mcp", "stepwise"])
def test_each_joint_screener_can_rank(frame, screener):
    result = symscreen.screen(frame, screener=screener, **SMALL, top=10)
    table, ruling = result.table, result.joint_results[screener].table
    own = list(result.joint_results[screener].scores.columns)
    assert own
    assert list(table.columns) == [*COLUMNS, screener, "class_size", f"{screener}_selected", *own]
    assert table[screener].notna().all()
    chosen = table[f"{screener}_selected"].tolist()
    assert chosen[0] is True
    assert chosen == sorted(chosen, reverse=True)
    # the ranking is the head of the verdict, whose own table orders equals as they were shown
    by_name = ruling.set_index("expression")
    for name in ("score", *own):
        shown = screener if name == "score" else name
        assert np.array_equal(table[shown], by_name.loc[table["expression"], name], equal_nan=True)
    assert result.record["joint"][screener]["shown"] == len(ruling) == 48 - 6  # x + x, x**3 + x**3


def test_affine_copies_are_one_class_for_pearson(rng):
    x = rng.uniform(1, 2, 60)
    frame = pd.DataFrame({"x": x, "y": x**2 + rng.normal(0, 0.1, 60)})
    table = symscreen.screen(
        frame,
        screener="pearson",
        layers="ub",
        unary="square,neg",
        binary="add",
        top=50,
        max_correlation=1,
    ).table
    sizes = dict(zip(table.expression, table.class_size, strict=True))
    assert sizes["x"] >= 3  # x, −x, x + x
    assert sizes["x**2"] >= 2


def test_formulas_of_the_user_join_the_space(frame):
    plain = symscreen.screen(frame, layers="u", unary="log", top="all")
    also = ["x1**2 + x2/x3", "log(x1)", "sin(x1)*2", "x1"]
    result = symscreen.screen(frame, layers="u", unary="log", also=also, top="all")
    assert result.n_scored == plain.n_scored + 2  # log(x1) and x1 were there already
    assert result.table.expression[0] == "x1**2 + x2/x3"
    assert result.table.layer[0] == 0


def test_transform_computes_the_features_of_new_rows(frame):
    result = symscreen.screen(frame, layers="ub", top=5)
    new = frame.sample(frac=1, random_state=1)[["x3", "x2", "x1"]]
    features = result.transform(new)
    assert features.shape == (60, 5)
    assert features.index.equals(new.index)
    assert features.columns.tolist() == result.table.expression.tolist()
    for text, expression in zip(features.columns, result.expressions, strict=True):
        columns = {name: new[name].to_numpy() for name in ("x1", "x2", "x3")}
        assert np.array_equal(features[text], evaluate_expression(expression, columns))


def test_transform_warns_with_counts_outside_the_domain(rng):
    frame = pd.DataFrame({"x": rng.uniform(1, 2, 30)})
    frame["y"] = np.log(frame.x)
    result = symscreen.screen(frame, layers="u", unary="log", top=1)
    undefined = r"1 of 1 features are undefined in some of the 3 rows .* 'log\(x\)' in 2"
    with (
        pytest.warns(ExtrapolationWarning, match="2 of 3 rows are outside the box of the inputs"),
        pytest.warns(UserWarning, match=undefined),
    ):
        values = result.transform(pd.DataFrame({"x": [-1.0, 0.0, 1.0]}))
    assert np.isnan(values["log(x)"][:2]).all()
    with pytest.raises(DataError, match="'x'"):
        result.transform(pd.DataFrame({"q": [1.0]}))


def test_odd_column_names_come_back_as_they_went_in(rng):
    names = ["a b", "N", "E", "I", "lambda", "λ", "sin", "pi", "x`y", "=1+1", "", "target?"]
    frame = pd.DataFrame({name: rng.uniform(1, 2, 40) for name in names})
    frame["target"] = rng.normal(size=40)
    result = symscreen.screen(frame, layers="b", binary="mul", top="all")
    found = {name for expression in result.expressions for name in collect_columns(expression)}
    assert found == set(names)
    for text, expression in zip(result.table.expression, result.expressions, strict=True):
        assert parse_expression(text, column_names=names) == expression


def test_the_record_says_how_it_was_made(frame):
    result = symscreen.screen(frame, layers="ub", top=3)
    record = result.record
    assert record["symscreen"] == symscreen.__version__
    assert record["data"]["rows"] == 60
    assert re.fullmatch("[0-9a-f]{64}", record["data"]["digest"])
    assert record["options"]["layers"].startswith("u[square,sqrt")
    assert record["scored"] == result.n_scored
    for layer in record["layers"]:
        assert layer["generated"] >= sum(layer["pruned"].values())
    last = record["layers"][-1]
    older = record["layers"][-2]["features"]
    assert last["features"] == older + last["generated"] - sum(last["pruned"].values())


def test_keeping_every_feature_is_refused_where_it_cannot_fit(frame, monkeypatch):
    monkeypatch.setattr("symscreen.screening.memory_estimate._RESULT_ROW_BYTES", 10**9)
    with pytest.raises(MemoryLimitError, match=r"keeping \d+ features would take .* ask for fewer with top="):
        symscreen.screen(frame, layers="b", top="all", max_ram="2GB")


def test_a_column_rule_that_fits_no_column_is_told(frame, tmp_path):
    (tmp_path / "g.toml").write_text('unary = ["log", "sin"]\n[columns]\nlog = ["x11"]\nsin = ["x2", "x9"]')
    result = symscreen.screen(frame, operators=tmp_path / "g.toml", top=1)
    expected = "the grammar lets log touch only columns that the table lacks; did you mean 'x1'?"
    assert result.notices[-1] == expected


def test_the_record_holds_the_rules_of_a_grammar_file(frame, tmp_path):
    rules = (
        'unary = ["wave"]\nbinary = ["add"]\nconstants = [2, "pi"]\n[costs]\nadd = 3\n'
        '[forbid]\nwave = ["add"]\n[define.wave]\nformula = "sin(pi*x)"'
    )
    (tmp_path / "g.toml").write_text(rules)
    record = symscreen.screen(frame, operators=tmp_path / "g.toml", top=1).record["grammar"]
    assert record["unary"] == ["wave"]
    assert record["define"] == {"wave": "sin(pi*x)"}
    assert record["costs"] == {"add": 3, "wave": 2}
    assert record["forbid"] == {"wave": ["add"]}
    assert record["constants"] == [2, "pi"]


def test_equal_data_have_equal_digests(frame):
    digest = symscreen.screen(frame, layers="u").record["data"]["digest"]
    assert symscreen.screen(frame.iloc[::-1], layers="u").record["data"]["digest"] == digest
    frame.loc[0, "x1"] += 1e-9
    assert symscreen.screen(frame, layers="u").record["data"]["digest"] != digest


@pytest.mark.slow
def test_arrays_and_dicts_are_tables_too(frame):
    expected = _ranking(frame, layers="ub")
    x, y = frame[["x1", "x2", "x3"]].to_numpy(), frame["target"].to_numpy()
    assert _ranking(x, y, layers="ub") == expected
    assert _ranking({name: frame[name].to_list() for name in frame}, layers="ub") == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layers", "d", "count"), [("bu", 3, 24), ("ub", 3, 42), ("bu", 2, 12), ("ub", 2, 20)]
)
def test_counts_of_the_ablation_grammar(layers, d, count, rng):
    x, y = rng.uniform(size=(30, d)), rng.normal(size=30)
    options = {"operators": "ablation", "pool": "strict", "layers": layers}
    assert symscreen.plan(x, y, **options).n_features == count
    assert symscreen.screen(x, y, **options).n_scored == count


@pytest.mark.slow
def test_a_plan_bounds_what_a_screen_finds(frame):
    planned = symscreen.plan(frame, layers="ubb", unary="log,sqrt", binary="sub,div")
    result = symscreen.screen(frame, layers="ubb", unary="log,sqrt", binary="sub,div", top=1)
    assert result.n_scored <= planned.n_features
    assert [layer.kind for layer in planned.layers] == ["inputs", "u", "b", "b"]


def test_scale_is_gini_mean_difference(frame):
    result = symscreen.screen(frame, layers="u", top=1)
    table = read_dataset(frame)
    assert result.scale == table.target.gini_mean_difference


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"top": 0}, OptionError, "top is 0; give an integer"),
        ({"top": "some"}, OptionError, "top is 'some'"),
        ({"sign": "both"}, OptionError, "sign is 'both'"),
        ({"jobs": 0}, OptionError, "jobs is 0; give an integer of at least 1"),
        ({"chunk_size": -1}, OptionError, "chunk_size is -1"),
        ({"jobs": "2"}, OptionError, "jobs is '2'"),
        ({"chunk_size": 1.5}, OptionError, "chunk_size is 1.5"),
        ({"max_complexity": "3"}, OptionError, "max_complexity is '3'"),
        ({"layers": "u" * 51}, OptionError, "51 layers; at most 50"),
        ({"pool": "deep"}, OptionError, "pool is 'deep'"),
        ({"screener": "t1"}, OptionError, "there is no screener 't1'; known: t0, xi"),
        ({"screener": "t0,lasso[fold=5]"}, OptionError, "has no option 'fold'; did you mean 'folds'?"),
        ({"screener": "t0", "rule": "1se"}, OptionError, "none of the screeners t0 has an option 'rule'"),
        ({"screener": "lasso", "engine": "R"}, OptionError, "lasso: engine is 'R'; known: sklearn, glmnet"),
        ({"screener": "lasso", "prescreen": 0}, OptionError, "prescreen is 0; give an integer of at"),
        ({"screener": "lasso", "prescreen": 10**7}, OptionError, "but lasso takes at most 10,000 features"),
        ({"pool_size": "many"}, OptionError, "pool_size is 'many'; write 200, or u:50,b:200"),
        ({"pool_size": 0.5}, OptionError,
         "pool_size is 0.5; give an integer of at least 1, or u:50,b:200"),
        ({"prune_by": "t0"}, OptionError,
         "pruned by t0: say how many features stay, for instance pool_size=200"),
        ({"prune_by": "t7", "pool_size": 5}, OptionError, "there is no screener 't7'"),
        ({"rounds": 0}, OptionError, "rounds is 0; give an integer of at least 1"),
        ({"rounds": 6}, OptionError, "rounds is 6; give at most 5"),
        ({"seed": -1}, OptionError, "seed is -1; give an integer of at least 0"),
        ({"layers": "ua"}, OptionError, "character 2: expected u or b"),
        ({"layers": " "}, OptionError, "layers is empty"),
        ({"unary": "sine"}, GrammarError, "unary=: there is no unary operator 'sine'; did you mean 'sin'"),
        ({"binary": "sin"}, GrammarError, "'sin' is a unary operator"),
        ({"operators": "basics"}, GrammarError, "no grammar 'basics'; did you mean 'basic'"),
        ({"max_complexity": 0}, OptionError, "max_complexity is 0"),
        ({"max_ram": "much"}, OptionError, "max_ram is 'much'; give an amount such as 2GB"),
        ({"max_ram": "10kB", "layers": "ubb"}, MemoryLimitError, "10.0 kB are allowed: raise max_ram="),
        ({"also": "x1 +"}, FormulaError, "expected a column"),
        ({"also": "x9"}, FormulaError, "no column 'x9'; known: x1, x2, x3"),
        ({"also": "log(x1 - 100)"}, FormulaError, "undefined in 60 of 60 rows"),
        ({"also": "x1 - x1"}, FormulaError, "constant on these data"),
        ({"target": "y9"}, DataError, "y9"),
    ],
)  # fmt: skip
def test_bad_options_are_told(frame, options, error, message):
    with pytest.raises(error, match=re.escape(message)):
        symscreen.screen(frame, **options)


@pytest.mark.parametrize(
    ("text", "size"),
    [("2GB", 2 * 10**9), ("500 mb", 5 * 10**8), ("1.5g", 1_500_000_000), (4096, 4096), ("64KiB", 64000)],
)
def test_amounts_of_memory(text, size):
    assert parse_bytes(text) == size


JOINT_RUNS = {
    "lasso": {"screener": "t0,lasso", "prescreen": 9},
    "lasso first": {"screener": "lasso[folds=5],t0", "prescreen": 9, "top": "all"},
    "scad, positive": {"screener": "scad[folds=5]", "prescreen": 6, "sign": "positive", "top": 4},
    "stepwise": {"screener": "stepwise[criterion=cv],pearson", "prescreen": 9, "top": 5},
    "kept": {"layers": "ubub", "pool_size": 5, "screener": "t0,xi"},
    "kept by kind": {"layers": "ubu", "pool_size": "b:3", "prune_by": "pearson", "top": "all"},
    "prune_by": {"layers": "ubu", "prune_by": "lasso", "rule": "1se", "prescreen": 20},
    "rounds": {"screener": "t0,lasso[folds=5]", "rounds": 3, "prescreen": 9, "top": 5},
    "rounds of joint": {
        "screener": "stepwise,t0",
        "rounds": 2,
        "layers": "ubu",
        "pool_size": 4,
        "prescreen": 9,
    },
}
each_run = pytest.mark.parametrize("options", JOINT_RUNS.values(), ids=JOINT_RUNS)


@pytest.fixture(scope="module")
def joint_results(shared_frame):
    """The results of all these runs with one thread."""
    return {
        name: symscreen.screen(shared_frame, **SMALL | {"jobs": 1} | options)
        for name, options in JOINT_RUNS.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", JOINT_RUNS)
def test_no_joint_screener_cut_or_round_hangs_on_jobs_or_chunks(frame, joint_results, name):
    expected, options = joint_results[name], SMALL | {"jobs": 1} | JOINT_RUNS[name]
    for changes in ({"chunk_size": 5}, {"jobs": 2, "chunk_size": 17}):
        found = symscreen.screen(frame, **options | changes)
        assert format_ranking_csv(found) == format_ranking_csv(expected)
        assert (found.agreement is None) == (expected.agreement is None)
        assert found.agreement is None or found.agreement.equals(expected.agreement)
        same = ("layers", "scored", "joint", "pool_pruning", "rounds", "shown")
        assert {key: found.record.get(key) for key in same} == {key: expected.record.get(key) for key in same}


@pytest.mark.slow
@each_run
def test_no_joint_screener_cut_or_round_hangs_on_the_order_of_rows_or_columns(frame, options, rng):
    frame = pd.concat([frame, frame.iloc[:5]])  # duplicated rows as well
    options = SMALL | {"target": "target"} | options
    expected = symscreen.screen(frame, **options)
    shuffled = frame.sample(frac=1, random_state=int(rng.integers(1 << 30)))
    found = symscreen.screen(shuffled[list(rng.permutation(frame.columns))], **options)
    assert format_ranking_csv(found) == format_ranking_csv(expected)
    assert found.record == expected.record


def test_joint_screeners_may_have_settings_and_short_ones(frame):
    long = symscreen.screen(frame, screener="lasso[rule=1se,folds=5],t0", **SMALL)
    short = symscreen.screen(frame, screener="lasso[folds=5],t0", rule="1se", **SMALL)
    assert format_ranking_csv(short) == format_ranking_csv(long)
    settings = long.record["joint"]["lasso"]["settings"]
    assert settings == {"engine": "sklearn", "folds": 5, "rule": "1se"}
    assert format_ranking_csv(long) != format_ranking_csv(
        symscreen.screen(frame, screener="lasso,t0", **SMALL)
    )


@pytest.mark.slow
def test_the_seed_deals_the_folds(frame):
    def entries(seed):
        return symscreen.screen(frame, screener="lasso", seed=seed, **SMALL).record["joint"]["lasso"]["error"]

    assert entries(1) == entries(1)
    assert entries(1) != entries(2)


def test_prescreen_says_how_many_are_shown(frame):
    result = symscreen.screen(frame, screener="t0,lasso", prescreen=7, top="all", **SMALL)
    joint = result.record["joint"]["lasso"]
    assert (joint["shown"], joint["chosen_by"], joint["merged"]) == (7, ["t0"], "affine copies")
    assert len(result.joint_results["lasso"].expressions) == 7
    named = set(result.joint_results["lasso"].table["expression"])
    scored = result.table[result.table["lasso"].notna()]
    assert named <= set(scored["expression"])
    assert scored["lasso_rank"].notna().all()
    # only the shortlist and its affine copies have a score
    values = result.transform(frame)
    for text in set(scored["expression"]) - named:
        assert max(abs(np.corrcoef(values[text], values[other])[0, 1]) for other in named) > 1 - 1e-12


def test_five_screeners_stand_in_one_table_with_their_agreement(frame):
    names = ["t0", "xi", "lasso", "scad", "stepwise"]
    result = symscreen.screen(frame, screener=",".join(names), pool="strict", **SMALL)
    assert result.n_scored == 42
    assert list(result.table.columns[5:11]) == ["t0", "gini", *names[1:]]
    assert [f"{name}_rank" in result.table for name in names] == [True] * 5
    assert len(result.agreement) == 10
    assert (result.agreement["features"] <= 42).all()
    assert (result.agreement["top"] == min(20, len(result), result.agreement["features"][0] // 2)).all()
    assert result.agreement["overlap"].between(0, 1).all()
    assert result.agreement["kendall"].between(-1, 1).all()


@pytest.mark.slow
@pytest.mark.parametrize("kept", [1, 4, 10])
def test_keep_cuts_the_pool_between_layers(frame, kept):
    result = symscreen.screen(frame, pool_size=kept, operators="ablation", layers="ubu", top="all")
    layers = result.record["layers"]
    assert [cut["chosen"] for cut in result.record["pool_pruning"]] == [
        min(kept, result.record["pool_pruning"][0]["scored"]),
        kept,
    ]
    for cut, layer in zip(result.record["pool_pruning"], layers[1:], strict=False):
        assert layer["features"] <= kept + 3  # plus the inputs
        assert ("pruned between layers" in " ".join(layer["pruned"])) == (cut["scored"] > layer["features"])
    whole = symscreen.screen(frame, operators="ablation", layers="ubu", top="all")
    assert set(result.table["expression"]) < set(whole.table["expression"])
    assert result.record["options"]["pool_size"] == {"u": kept, "b": kept}
    assert result.record["options"]["prune_by"] == ["t0", "xi"]


def test_a_kind_of_layer_that_is_not_named_is_not_cut(frame):
    options = {"p_values": False, "layers": "ub", "unary": "neg,square", "binary": "add,mul", "top": "all"}
    assert format_ranking_csv(symscreen.screen(frame, pool_size="b:2", **options)) == format_ranking_csv(
        symscreen.screen(frame, **options)
    )


def test_a_joint_cut_keeps_what_it_selects(frame):
    result = symscreen.screen(frame, prune_by="stepwise", operators="ablation", layers="ubu", top="all")
    for cut, layer in zip(result.record["pool_pruning"], result.record["layers"][1:], strict=False):
        assert cut["screeners"] == ["stepwise"]
        assert cut["verdicts"]["stepwise"]["settings"]["direction"] == "forward"
        assert layer["features"] <= cut["chosen"] + 3
    assert result.record["options"]["pool_size"] is None


@pytest.mark.slow
def test_records_of_every_kind_of_run_are_plain_values(joint_results):
    for result in joint_results.values():
        record = result.record
        assert json.loads(json.dumps(record, allow_nan=False)) == record


def test_a_notebook_shows_the_notices_and_runs_none_of_them(frame):
    odd = frame.assign(**{"<b>id</b>": ["a", "b"] * 30})
    result = symscreen.screen(odd, target="target", layers="u", top=2)
    shown = result._repr_html_()
    assert "2 shown of" in shown
    assert "&lt;b&gt;id&lt;/b&gt;" in shown
    assert "<b>" not in shown
    fitted = symscreen.fit(odd, target="target", layers="u")
    assert fitted.notices
    assert "&lt;b&gt;id&lt;/b&gt;" in fitted._repr_html_()

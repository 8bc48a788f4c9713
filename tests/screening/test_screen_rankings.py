"""Screens with a ranking as the target, from a table to files and the terminal."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import symscreen
from symscreen.cli.command import VERBS, command
from symscreen.errors import DataError, OptionError
from symscreen.evaluation import evaluate
from symscreen.expressions.traversal import evaluate_expression
from symscreen.messages import COMMAND_LINE
from symscreen.results.ranking_files import format_ranking_csv, write_ranking
from symscreen.targets.ranking_ranks import compute_pair_signs

LABELS = ["milk", "tea", "coffee", "water"]
SPACE = {"layers": "ub", "unary": "square,log", "binary": "sub,mul"}


def _planted(rng, rows=90, missing=0.0):
    """Rankings of four labels by what each is worth where x1 * x3 is large; some labels missing."""
    x = pd.DataFrame(rng.uniform(0.5, 2.0, (rows, 4)), columns=["x1", "x2", "x3", "x4"])
    z = (x.x1 * x.x3).to_numpy()
    at = np.quantile(z, [0.5, 0.4, 0.6, 0.5])
    worth = np.array([0.0, 1.0, 2.0, 4.0]) * (z[:, None] - at) + rng.normal(0, 0.1, (rows, 4))
    ranks = np.argsort(np.argsort(-worth, axis=1), axis=1) + 1.0
    ranks[rng.random(ranks.shape) < missing] = np.nan
    ranks[np.isnan(ranks).all(axis=1), 0] = 1.0
    return x, ranks


@pytest.fixture
def planted(rng):
    return _planted(rng)


def _framed(x, ranks):
    return x.assign(**dict(zip(LABELS, ranks.T, strict=True)))


def _bytes(*args, **options):
    return format_ranking_csv(symscreen.screen(*args, **{**SPACE, "top": 10, **options}))


@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_the_planted_feature_comes_first(rng, missing):
    x, ranks = _planted(rng, 200, missing)
    result = symscreen.screen(_framed(x, ranks), ranking=LABELS, **SPACE)
    assert result.table.expression[0] == "x1*x3"
    assert set(result.table.direction) == {""}
    assert 0 < result.table.t0[0] < 0.5 * result.scale


@pytest.mark.slow
def test_the_ranking_is_that_of_the_definition(planted):
    x, ranks = planted
    every = symscreen.screen(x, ranks, top="all", **SPACE)
    columns = {name: x[name].to_numpy() for name in x}
    signs = compute_pair_signs(ranks).astype(float)
    expected, gini = [], []
    for signs_of_pair in signs.T:
        half = symscreen.t0(-signs_of_pair, signs_of_pair) / 2
        t0 = np.array(
            [symscreen.t0(evaluate_expression(one, columns), signs_of_pair) for one in every.expressions]
        )
        expected.append(np.minimum(t0, 2 * half - t0))
        gini.append(half)
    assert every.table.t0.to_numpy() == pytest.approx(np.mean(expected, axis=0), abs=1e-12)
    assert every.scale == pytest.approx(np.mean(gini), abs=1e-12)
    assert (np.diff(every.table.t0) >= -1e-10).all()


def test_members_of_a_class_stand_by_their_mean_correlation(planted):
    x, ranks = planted
    every = symscreen.screen(x[["x1"]], ranks, top="all", layers="u", unary="square,log,exp,inv")
    columns = {"x1": x.x1.to_numpy()}
    signs = compute_pair_signs(ranks)
    strength = [
        np.mean([abs(np.corrcoef(evaluate_expression(one, columns), own)[0, 1]) for own in signs.T])
        for one in every.expressions
    ]
    assert len(strength) == 5
    assert strength == sorted(strength, reverse=True)
    best = symscreen.screen(x[["x1"]], ranks, layers="u", unary="square,log,exp,inv").table
    assert best.expression.tolist() == [every.table.expression[0]]
    assert best.class_size.tolist() == [5]


@pytest.mark.slow
@pytest.mark.parametrize("screener", ["t0", "t0,crit", "crit"])
@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_nothing_but_the_data_decides(rng, screener, missing):
    x, ranks = _planted(rng, 60, missing)
    frame = _framed(x.round(1), ranks)  # includes rows with equal inputs
    options = {"ranking": LABELS, "screener": screener}
    expected = _bytes(frame, **options)
    assert _bytes(frame, **options | {"jobs": 2, "chunk_size": 7}) == expected
    shuffled = frame.sample(frac=1, random_state=3)[list(rng.permutation(frame.columns))]
    assert _bytes(shuffled, **options | {"jobs": 1, "ranking": LABELS[::-1]}) == expected
    scores = frame.assign(**{label: -frame[label] for label in LABELS})
    assert _bytes(scores, **options) == expected
    renamed = frame.rename(columns=dict(zip(LABELS, "pqrs", strict=True)))
    assert _bytes(renamed, **options | {"ranking": list("srqp")}) == expected


def test_forests_do_not_depend_on_threads(rng):
    frame = _framed(*_planted(rng, 60))
    one, two = (
        _bytes(frame, ranking=LABELS, screener="t0,forest[trees=10,rounds=5]", jobs=jobs, prescreen=10)
        for jobs in (1, 2)
    )
    assert one == two


def test_the_record_tells_of_the_rankings(planted):
    x, ranks = planted
    ranks[0], ranks[1, 2:], ranks[2, :2] = [1, 1, 2, np.nan], np.nan, 0.0
    record = symscreen.screen(_framed(x, ranks), ranking=LABELS, **SPACE).record
    ranking = record["data"]["ranking"]
    assert ranking["labels"] == sorted(LABELS)
    assert (ranking["complete"], ranking["incomplete"], ranking["tied"]) == (87, 2, 2)
    assert ranking["pairs"] == 6
    assert ranking["rows_a_pair"] == [88, 89]
    assert record["options"]["ranking"] == LABELS
    assert record["data"]["target"] == "coffee,milk,tea,water"
    assert json.loads(json.dumps(record)) == record


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".csv", ".json", ".parquet"])
def test_a_file_is_read_back(tmp_path, planted, ending):
    result = symscreen.screen(*planted, top="all", screener="t0,crit", **SPACE)
    write_ranking(result, tmp_path / f"r{ending}")
    stored = symscreen.read_ranking(tmp_path / f"r{ending}")
    assert stored.record == result.record
    assert stored.table.t0.tolist() == result.table.t0.tolist()
    assert set(stored.table.direction) == {""}
    with pytest.raises(OptionError, match="screened against a ranking: only a screen of a numeric target"):
        evaluate(stored, truth="x1*x3")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"screener": "xi"}, "xi does not support ranking targets; t0, crit and forest do"),
        ({"screener": "t0,lasso[folds=5]"}, "lasso does not support ranking"),
        ({"prune_by": "xi", "pool_size": 5}, "xi does not support ranking targets"),
        ({"prune_by": "lasso"}, "lasso does not support ranking"),
        ({"sign": "positive"}, "sign='positive' has no meaning with ranking="),
        ({"search": "race"}, "search='race' has no bound for a ranking"),
        (
            {"search": "sieve"},
            "search='sieve' drops features by a sample .* numeric target, and a ranking is none",
        ),
        ({"rounds": 2}, "rounds=2 needs a numeric target"),
        ({"target": "x1"}, "both ranking= and target="),
    ],
)
def test_what_needs_a_numeric_response_is_refused_before_any_work(options, says):
    with pytest.raises(OptionError, match=says):
        symscreen.screen("no such file", ranking="pref", **options)
    if not {"prune_by", "rounds"} & set(options):
        with pytest.raises(OptionError, match=says):
            symscreen.plan("no such file", ranking="pref", **options)


def test_what_needs_a_ranking_refuses_numbers(frame):
    with pytest.raises(OptionError, match="crit supports only ranking targets"):
        symscreen.screen(frame, screener="crit")
    with pytest.raises(OptionError, match="crit supports only ranking"):
        symscreen.fit(frame, prune_by="crit")


def test_cuts_are_by_t0_alone(rng):
    frame = _framed(*_planted(rng))
    result = symscreen.screen(
        frame, ranking=LABELS, layers="bu", unary="square", binary="mul", pool_size=6, top=3
    )
    assert result.record["pool_pruning"][0]["screeners"] == ["t0"]
    by_tree = symscreen.screen(
        frame, ranking=LABELS, layers="bu", unary="square", binary="mul", prune_by="crit"
    )
    assert "x1*x3" in set(by_tree.table.expression)


def test_joint_screeners_alone_are_shown_the_best_by_t0(planted):
    result = symscreen.screen(*planted, screener="crit", **SPACE)
    assert result.record["joint"]["crit"]["chosen_by"] == ["t0"]
    assert result.table.crit_selected[0]
    assert "x1*x3" in result.joint_results["crit"].table.expression.head(3).tolist()


@pytest.mark.slow
def test_the_plan_is_that_of_a_numeric_response(planted):
    x, ranks = planted
    assert symscreen.plan(x, ranks, **SPACE).n_features == symscreen.plan(x, ranks[:, 0], **SPACE).n_features


def _run(*arguments):
    done = CliRunner().invoke(command, [str(each) for each in arguments])
    return done.output


@pytest.mark.slow
def test_the_command_line_reads_texts_and_columns(tmp_path, planted):
    x, ranks = planted
    texts = [">".join(np.array(LABELS)[np.argsort(row)]) for row in ranks]
    x.assign(pref=texts).to_csv(tmp_path / "texts.csv", index=False)
    _framed(x, ranks).to_csv(tmp_path / "columns.csv", index=False)
    space = ["--layers", "ub", "--unary", "square,log", "--binary", "sub,mul", "--out", "-", "--quiet"]
    of_texts = _run("screen", tmp_path / "texts.csv", "--ranking", "pref", *space)
    assert of_texts.splitlines()[1].split(",")[1] == "x1*x3"
    assert _run("screen", tmp_path / "columns.csv", "--ranking", ",".join(LABELS), *space) == of_texts
    planned = _run("plan", tmp_path / "texts.csv", "--ranking", "pref", "--layers", "u")
    assert "features to score" in planned


def test_the_terminal_says_what_was_ranked_and_shows_no_direction(tmp_path, planted):
    x, ranks = planted
    _framed(x, ranks).to_csv(tmp_path / "t.csv", index=False)
    out = _run(
        "screen", tmp_path / "t.csv", "--ranking", ",".join(LABELS), "--layers", "u", "--screener", "t0"
    )
    words = " ".join(out.split())
    assert "scored against the rankings coffee,milk,tea,water (90 rows) by t0" in words
    assert "rankings of 4 labels (coffee, milk, tea, water); 6 pairs compared, each in 90 rows" in words
    assert "rows: 90 complete, 0 incomplete, 0 tied" in words
    assert "Gini: mean over pairs of labels, in the better direction of each" in words
    assert "dir." not in out


def test_the_screeners_verb_says_which_responses_each_takes():
    out = " ".join(_run("screeners").split())
    assert "takes a numeric target or a ranking" in out
    assert "takes a ranking" in out


def test_fit_says_that_it_takes_no_ranking(tmp_path):
    done = CliRunner().invoke(command, ["fit", str(tmp_path / "t.csv"), "--ranking", "pref"])
    assert isinstance(done.exception, OptionError)
    message = str(done.exception)
    assert "fit needs a numeric target" in message
    for verb in VERBS:  # the verbs that the message names, and no other, take one
        takes = any(
            one.name == "ranking" and not one.hidden for one in command.get_command(None, verb).params
        )
        assert takes == (
            verb in message.partition("is a ranking:")[2].partition(" take one")[0].replace(",", "").split()
        ), verb


def test_unusual_labels_are_quoted_and_controls_escaped_once(tmp_path, rng):
    x, w = rng.normal(size=(2, 20))
    order = np.where(x > 0, "`a,b`>te\u202ea", "te\u202ea>`a,b`")
    pd.DataFrame({"x": x, "w": w, "pref": order, "arrow": "a -> \u202eb"}).to_csv(tmp_path / "t.csv")
    table = str(tmp_path / "t.csv")
    out = _run("screen", table, "--ranking", "pref", "--inputs", "x,w", "--layers", "u")
    assert r"rankings of 2 labels (`a,b`, te\u202ea);" in " ".join(out.split())
    with pytest.raises(DataError) as refused:
        symscreen.screen(table, ranking="arrow")
    assert r"row 1 of 'arrow', 'a -> \u202eb', holds an arrow: '>' alone means" in str(refused.value)


@pytest.mark.parametrize("names", [",", "a,,b", " ,a"])
def test_names_between_two_commas_are_asked_for(names):
    done = CliRunner().invoke(command, ["screen", "t.csv", "--ranking", names])
    assert isinstance(done.exception, OptionError)
    assert f"--ranking is {names!r}, which has no name between two commas" in done.exception.render(
        COMMAND_LINE
    )


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_forests_do_not_depend_on_names_where_inputs_are_equal(rng, missing):
    x, ranks = _planted(rng, 60, missing)
    frame = _framed(x[["x1", "x3"]].round(0), ranks)  # nine different rows at most
    options = {"screener": "t0,forest[trees=10,rounds=5]", "prescreen": 10}
    expected = _bytes(frame, ranking=LABELS, **options)
    for names in ("srqp", "qpsr"):
        renamed = frame.rename(columns=dict(zip(LABELS, names, strict=True)))
        assert _bytes(renamed, ranking=list(names), **options) == expected
    scores = frame.assign(**{label: -frame[label] for label in LABELS})
    assert _bytes(scores.sample(frac=1, random_state=1), ranking=LABELS, **options) == expected

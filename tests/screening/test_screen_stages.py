"""Screens with a chain of stages as the target, from a table to files and the terminal."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import symscreen
from symscreen.cli.command import command
from symscreen.errors import OptionError
from symscreen.evaluation import evaluate
from symscreen.expressions.traversal import evaluate_expression
from symscreen.results.ranking_files import format_ranking_csv, write_ranking

STAGES = ["viewed", "liked", "followed"]
SPACE = {"layers": "ub", "unary": "square,log", "binary": "sub,mul"}


def _planted(rng, rows=150, missing=0.0):
    """Who goes on depends on x1 * x3 at every stage; some later stages were not observed."""
    frame = pd.DataFrame(rng.uniform(0.5, 2.0, (rows, 4)), columns=["x1", "x2", "x3", "x4"])
    z = (frame.x1 * frame.x3).to_numpy()
    reached = rng.random(rows) < 0.9
    for stage, at in zip(STAGES, (None, 1.1, 1.6), strict=True):
        if at is not None:
            reached = reached & (z + rng.normal(0, 0.2, rows) > at)
        frame[stage] = reached.astype(float)
    for stage in STAGES[1:]:
        frame.loc[rng.random(rows) < missing, stage] = np.nan
    return frame


def _by_definition(z, outcomes, weights):
    """The mean of min(T0_p, 2Δ_p − T0_p) over pairs of stages, by the rows that count; and what it is of."""
    total = delta = mass = 0.0
    for (present, later), weight in weights.items():
        own, reached = outcomes[STAGES[present]], outcomes[STAGES[later]]
        counts = (own == 1) & reached.notna()
        signs = np.where(reached[counts] == 1, 1.0, -1.0)
        if len(set(signs)) < 2:
            continue
        gini = symscreen.t0(-signs, signs) / 2
        t0 = symscreen.t0(z[counts.to_numpy()], signs)
        total += weight * counts.sum() * min(t0, 2 * gini - t0)
        delta += weight * counts.sum() * gini
        mass += weight * counts.sum()
    return total / mass, delta / mass


def _areas(z, outcomes):
    """Twice the area under the curve, less 1, of each pair: above 0 where the feature rises."""
    found = []
    for present, later in combinations(STAGES, 2):
        at = outcomes[present] == 1
        up, down = z[at & (outcomes[later] == 1)], z[at & (outcomes[later] == 0)]
        found.append(np.sign(up[:, None] - down[None, :]).sum())
    return np.array(found)


def _bytes(frame, **options):
    return format_ranking_csv(symscreen.screen(frame, **{"stages": STAGES, **SPACE, "top": 10, **options}))


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_planted_feature_comes_first_and_rises(rng, missing):
    result = symscreen.screen(_planted(rng, 300, missing), stages=STAGES, **SPACE)
    assert result.table.expression[0] == "x1*x3"
    assert result.table.direction[0] == "+"
    assert 0 < result.table.t0[0] < 0.5 * result.scale


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize(
    ("stage_weight", "weights"),
    [
        ("all", {(0, 1): 1, (0, 2): 1, (1, 2): 1}),
        ("next", {(0, 1): 1, (1, 2): 1}),
        ("last", {(0, 2): 1, (1, 2): 1}),
        ({("viewed", "liked"): 0.3, ("liked", "followed"): 2}, {(0, 1): 0.3, (1, 2): 2}),
    ],
)
def test_the_score_is_the_definition_pair_by_pair(rng, missing, stage_weight, weights):
    frame = _planted(rng, 80, missing)
    frame["x2"] = frame.x2.round(1)
    every = symscreen.screen(
        frame, stages=STAGES, stage_weight=stage_weight, top="all", layers="b", binary="sub,mul"
    )
    columns = {name: frame[name].to_numpy() for name in ("x1", "x2", "x3", "x4")}
    expected = [
        _by_definition(evaluate_expression(one, columns), frame[STAGES], weights) for one in every.expressions
    ]
    assert every.table.t0.to_numpy() == pytest.approx([t0 for t0, _ in expected], abs=1e-12)
    assert every.scale == pytest.approx(expected[0][1], abs=1e-12)
    assert (np.diff(every.table.t0) >= -1e-10).all()


def test_the_direction_is_the_one_that_all_pairs_agree_on(rng):
    frame = _planted(rng, 60)
    every = symscreen.screen(frame, stages=STAGES, top="all", layers="b", binary="sub,mul")
    columns = {name: frame[name].to_numpy() for name in ("x1", "x2", "x3", "x4")}
    expected = []
    for one in every.expressions:
        areas = _areas(evaluate_expression(one, columns), frame[STAGES])
        expected.append("+" if (areas >= 0).all() else "-" if (areas <= 0).all() else "")
    assert every.table.direction.tolist() == expected
    assert set(expected) == {"+", "-", ""}


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_nothing_but_the_data_decides(rng, missing):
    frame = _planted(rng, 90, missing)
    frame[["x1", "x2", "x3", "x4"]] = frame[["x1", "x2", "x3", "x4"]].round(1)
    expected = _bytes(frame)
    for changed in ({"jobs": 1}, {"jobs": 2}, {"chunk_size": 7}, {"stages": "viewed, liked, followed"}):
        assert _bytes(frame, **changed) == expected
    shuffled = frame.sample(frac=1, random_state=3)
    assert _bytes(shuffled[list(rng.permutation(frame.columns))]) == expected
    idle = frame.tail(1).assign(viewed=0.0, liked=0.0, followed=0.0, x1=77.0)
    assert _bytes(pd.concat([frame, idle])) == expected


def test_one_pair_is_a_binary_response(rng):
    frame = _planted(rng)
    chosen = frame[frame.viewed == 1]
    signs = np.where(chosen.liked == 1, 1.0, -1.0)
    of_stages = symscreen.screen(frame, stages=["viewed", "liked"], exclude=["followed"], top="all", **SPACE)
    of_signs = symscreen.screen(chosen[["x1", "x2", "x3", "x4"]], signs, top="all", **SPACE)
    found = of_stages.table.set_index("expression").t0
    raw = of_signs.table.set_index("expression").t0
    assert found.sort_index().to_numpy() == pytest.approx(
        np.minimum(raw, 2 * of_signs.scale - raw).sort_index().to_numpy(), abs=1e-12
    )


def test_the_record_tells_of_the_stages(rng):
    frame = _planted(rng)
    record = symscreen.screen(frame, stages=STAGES, stage_weight="next", **SPACE).record
    seen, liked = frame[frame.viewed == 1], frame[frame.liked == 1]
    first, second = record["data"]["stages"]["pairs"]
    assert record["data"]["stages"]["names"] == STAGES
    assert first == {
        "present": "viewed",
        "later": "liked",
        "rows": len(seen),
        "reached": int(seen.liked.sum()),
        "weight": 1.0,
    }
    assert (second["rows"], second["reached"]) == (len(liked), int(liked.followed.sum()))
    assert (record["options"]["stages"], record["options"]["stage_weight"]) == (STAGES, "next")
    assert json.loads(json.dumps(record)) == record


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".csv", ".json", ".parquet"])
def test_a_file_is_read_back(rng, tmp_path, ending):
    result = symscreen.screen(_planted(rng, 60), stages=STAGES, top="all", **SPACE)
    write_ranking(result, tmp_path / f"r{ending}")
    stored = symscreen.read_ranking(tmp_path / f"r{ending}")
    assert stored.record == result.record
    assert stored.table.t0.tolist() == result.table.t0.tolist()
    assert stored.table.direction.tolist() == result.table.direction.tolist()
    with pytest.raises(
        OptionError, match="screened against a chain of stages: only a screen of a numeric target"
    ):
        evaluate(stored, truth="x1*x3")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"screener": "xi"}, "xi does not support stages targets; t0 does"),
        ({"screener": "t0,crit"}, "crit does not support stages"),
        ({"prune_by": "xi", "pool_size": 5}, "xi does not support stages targets"),
        ({"sign": "positive"}, "sign='positive' has no meaning with stages="),
        ({"search": "race"}, "search='race' has no bound for a chain of stages"),
        (
            {"search": "sieve"},
            "search='sieve' drops features by a sample .* numeric target, and a chain of stages is none",
        ),
        ({"rounds": 2}, "a chain of stages is screened in one round"),
        ({"target": "x1"}, "both stages= and target="),
        ({"stage_weight": "lst"}, "stage_weight is 'lst'; did you mean 'last'"),
    ],
)
def test_what_has_no_meaning_is_refused_before_any_work(options, says):
    with pytest.raises(OptionError, match=says):
        symscreen.screen("no such file", stages=STAGES, **options)
    if not {"prune_by", "rounds"} & set(options):
        with pytest.raises(OptionError, match=says):
            symscreen.plan("no such file", stages=STAGES, **options)


def test_cuts_are_by_t0_alone(rng):
    result = symscreen.screen(
        _planted(rng), stages=STAGES, layers="bu", unary="square", binary="mul", pool_size=6, top=3
    )
    assert result.record["pool_pruning"][0]["screeners"] == ["t0"]
    assert result.table.expression[0] in {"x1*x3", "x1**2*x3**2"}


def _run(*arguments):
    return CliRunner().invoke(command, [str(each) for each in arguments])


@pytest.mark.slow
def test_the_command_line_screens_and_plans(rng, tmp_path):
    frame = _planted(rng, missing=0.1)
    frame.to_csv(tmp_path / "t.csv", index=False)
    options = [tmp_path / "t.csv", "--stages", ",".join(STAGES), "--layers", "ub", "--stage-weight", "last"]
    space = ["--unary", "square,log", "--binary", "sub,mul"]
    written = _run("screen", *options, *space, "--top", 10, "--out", "-", "--quiet").output
    assert written == _bytes(frame, stage_weight="last")
    assert "features to score" in _run("plan", *options).output
    words = " ".join(_run("screen", *options, *space).output.split())
    assert "scored against the stages viewed,liked,followed (" in words
    assert (
        "2 pairs of stages, and how many rows at the first go on to the second: viewed to followed" in words
    )
    assert "Gini: mean over pairs of stages, weighted by their rows" in words


def test_fit_says_that_it_takes_no_stages(tmp_path):
    done = _run("fit", tmp_path / "t.csv", "--stages", "viewed,liked")
    assert isinstance(done.exception, OptionError)
    assert "fit needs a numeric target, and --stages viewed,liked is a chain of stages" in str(done.exception)

"""Screens against classes, several targets and times until an event, from a table to the terminal."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from targets.test_survival import pairs_by_definition

import symscreen
from symscreen.cli.command import command
from symscreen.errors import DataError, OptionError
from symscreen.evaluation import evaluate
from symscreen.expressions.traversal import evaluate_expression
from symscreen.results.ranking_files import format_ranking_csv, write_ranking
from symscreen.screening.stored_screens import prepare_from_record

SPACE = {"layers": "ub", "unary": "square", "binary": "sub,mul"}
KINDS = {
    "classes": {"target": "level"},
    "several": {"target": ["a", "b"]},
    "survival": {"target": "time", "event": "died"},
}


def _planted(rng, rows=90):
    """All responses come from x1 * x3; four levels of it, two targets, and times that some rows outlast."""
    frame = pd.DataFrame(rng.uniform(0.5, 2.0, (rows, 3)), columns=["x1", "x2", "x3"])
    z = (frame.x1 * frame.x3).to_numpy()
    levels = np.digitize(z + rng.normal(0, 0.05, rows), [1.0, 1.5])
    lasted, seen = z + rng.normal(0, 0.1, rows).clip(-0.2), rng.uniform(0.5, 4.0, rows)
    return frame.assign(
        level=np.array(["low", "middle", "high"])[levels],
        a=z + rng.normal(0, 0.1, rows),
        b=3 - z**2 + rng.normal(0, 0.1, rows),
        time=np.round(np.minimum(lasted, seen), 1).clip(0),
        died=lasted <= seen,
    )


def _own(frame, kind):
    """The columns that a target type needs."""
    responses = {"classes": ["level"], "several": ["a", "b"], "survival": ["time", "died"]}
    return frame[["x1", "x2", "x3", *responses[kind]]]


def _run(frame, kind, **options):
    return symscreen.screen(_own(frame, kind), **{**KINDS[kind], **SPACE, "top": 10, **options})


def _features(result, frame):
    columns = {name: frame[name].to_numpy() for name in ("x1", "x2", "x3")}
    return [evaluate_expression(each, columns) for each in result.expressions]


@pytest.mark.parametrize("kind", KINDS)
def test_the_planted_feature_comes_first_and_its_direction_is_told(rng, kind):
    result = _run(_planted(rng), kind)
    assert result.table.expression[0] in {"x1*x3", "x1**2*x3**2"}  # which have the same ranks
    assert result.table.direction[0] == {"classes": "", "several": "", "survival": "+"}[kind]


def test_t0_of_classes_is_the_mean_over_one_and_the_rest(rng):
    frame = _planted(rng)
    result = _run(frame, "classes", top="all")
    for z, found in zip(_features(result, frame), result.table.t0, strict=True):
        expected = 0.0
        for level in ("low", "middle", "high"):
            own = (frame.level == level).to_numpy(float)
            gini = symscreen.t0(own, own) + symscreen.t0(-own, own)
            t0 = symscreen.t0(z, own)
            expected += min(t0, gini - t0) / 3
        assert found == pytest.approx(expected, abs=1e-12)


def test_of_two_classes_it_is_a_mann_whitney_count(rng):
    frame = _planted(rng)
    frame["level"] = np.where(frame.level == "low", "no", "yes")
    result = _run(frame, "classes", top="all", screener="t0,xi")
    yes, n = (frame.level == "yes").to_numpy(), len(frame)
    for z, row in zip(_features(result, frame), result.table.to_dict("records"), strict=True):
        u = np.sign(z[yes][:, None] - z[~yes][None, :]).sum()
        assert row["t0"] == pytest.approx(result.scale - 2 * abs(u) / (n * (n - 1)), abs=1e-12)
        assert row["direction"] == ("+" if u > 0 else "-" if u < 0 else "")
    numbers = symscreen.screen(
        frame[["x1", "x2", "x3"]], yes.astype(float), **SPACE, top="all", screener="t0,xi"
    ).table.set_index("expression")
    own = result.table.set_index("expression").loc[numbers.index]
    assert own.xi.tolist() == pytest.approx(numbers.xi.tolist(), abs=1e-12)
    free = np.minimum(numbers.t0, 2 * result.scale - numbers.t0)
    assert own.t0.tolist() == pytest.approx(free.tolist(), abs=1e-12)  # that of the column 1[y = c]


def test_columns_by_target_are_what_each_target_alone_gives(rng):
    frame = _planted(rng)
    both = _run(frame, "several", top="all", screener="t0,kendall").table.set_index("expression")
    for name in ("a", "b"):
        alone = symscreen.screen(
            frame[["x1", "x2", "x3", name]], target=name, **SPACE, top="all", screener="t0,kendall"
        )
        own = alone.table.set_index("expression").loc[both.index]
        share = own.t0 / alone.scale
        assert both[f"t0[{name}]"].tolist() == pytest.approx(np.minimum(share, 2 - share).tolist(), abs=1e-12)
        assert both[f"kendall[{name}]"].tolist() == pytest.approx(own.kendall.abs().tolist(), abs=1e-12)
    assert both.t0.tolist() == pytest.approx(((both["t0[a]"] + both["t0[b]"]) / 2).tolist(), abs=1e-12)
    worst = _run(frame, "several", top="all", aggregate="worst").table
    assert worst.t0.tolist() == pytest.approx(worst[["t0[a]", "t0[b]"]].max(axis=1).tolist(), abs=1e-12)


def test_survival_reports_harrells_c_over_comparable_pairs(rng):
    frame = _planted(rng, 50)
    result = _run(frame, "survival", top="all")
    pairs = list(pairs_by_definition(frame.time.to_numpy(), frame.died.to_numpy()))
    assert result.record["data"]["survival"]["comparable"] == len(pairs)
    for z, found in zip(_features(result, frame), result.table.harrell_c, strict=True):
        right = np.mean([1.0 if z[j] > z[i] else 0.5 if z[j] == z[i] else 0.0 for i, j in pairs])
        assert found == pytest.approx(right, abs=1e-12)
    rising = _run(frame, "survival", sign="positive").table
    assert (rising.harrell_c.diff().dropna() <= 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_rows_columns_jobs_and_chunks_change_nothing(rng, kind):
    frame = _planted(rng)
    first = format_ranking_csv(_run(frame, kind))
    shuffled = frame.sample(frac=1, random_state=1)[list(frame.columns[::-1])]
    assert format_ranking_csv(_run(shuffled, kind)) == first
    assert format_ranking_csv(_run(frame, kind, jobs=1, chunk_size=7)) == first


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ending", [".csv", ".json", ".parquet"])
def test_a_file_is_read_back_and_the_screen_made_again(rng, tmp_path, kind, ending):
    frame = _planted(rng, 60)
    result = _run(frame, kind, pool_size=6)
    write_ranking(result, tmp_path / f"r{ending}")
    stored = symscreen.read_ranking(tmp_path / f"r{ending}")
    assert stored.record == result.record == json.loads(json.dumps(result.record))
    assert list(stored.table.columns) == list(result.table.columns)
    assert stored.table.t0.tolist() == result.table.t0.tolist()
    again = prepare_from_record(stored.record, _own(frame, kind))
    assert again.dataset.digest == result.record["data"]["digest"]
    assert again.record["target"] == result.record["options"]["target"]
    with pytest.raises(OptionError, match="only a screen of a numeric target can be evaluated"):
        evaluate(stored, truth="x1*x3")


def test_a_response_beside_the_data_is_the_same(rng):
    frame = _planted(rng)
    inputs = frame[["x1", "x2", "x3"]]
    for kind, y, more in (
        ("classes", frame.level, {}),
        ("several", frame[["a", "b"]], {"target_type": "several"}),
    ):
        result = symscreen.screen(inputs, y, **SPACE, top=10, **more)
        pd.testing.assert_frame_equal(result.table, _run(frame, kind).table)
    result = symscreen.screen(inputs.assign(died=frame.died), frame.time, event="died", **SPACE, top=10)
    pd.testing.assert_frame_equal(result.table, _run(frame, "survival").table)
    ranked = symscreen.screen(inputs, frame[["a", "b"]], **SPACE)
    assert "ranking" in ranked.record["data"]


def test_numbers_are_classes_only_where_that_is_asked_for(rng):
    frame = _planted(rng).assign(level=lambda own: own.level.map({"low": 1, "middle": 2, "high": 10}))
    plain, classes = _run(frame, "classes"), _run(frame, "classes", target_type="classes")
    assert "classes" not in plain.record["data"]
    assert classes.record["data"]["classes"]["names"] == ["1", "2", "10"]
    with pytest.raises(DataError, match="the target 'level' holds text; numbers are needed"):
        _run(_planted(rng), "classes", target_type="numeric")


def test_rows_without_a_class_or_an_event_are_missing_values(rng):
    for kind, name in (("classes", "level"), ("survival", "died"), ("several", "b")):
        frame = _planted(rng)
        frame[name] = frame[name].astype(object).where(frame.index != 4, None)
        with pytest.raises(DataError, match=f"1 row of 90 with missing values .*'{name}'"):
            _run(frame, kind, missing="refuse")
        assert _run(frame, kind).record["data"]["rows"] == 89


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            {"target": "level", "screener": "kendall"},
            "kendall does not support classes targets; t0 and xi do",
        ),
        ({"target": "level", "sign": "positive"}, "sign='positive' has no meaning with classes"),
        ({"target": "level", "search": "race"}, "search='race' has no bound for a class"),
        ({"target": "level", "rounds": 2}, "a class is screened in one round"),
        ({"target": "level", "p_values": True}, "p_values= is not available: the target is a class"),
        (
            {"target": "a,b", "screener": "t0,lasso"},
            "lasso does not support multi-output targets; t0,",
        ),
        ({"target": "a,a"}, "target= names 'a' twice"),
        ({"target": "a,c"}, "no column 'c' for target="),
        ({"target": "a,level"}, "the target 'level' holds text; numbers are needed"),
        (
            {"target": "a,b", "target_type": "classes"},
            r"2 targets \(target=\['a', 'b'\]\), but target_type='classes'",
        ),
        ({"target": "a", "target_type": "several"}, "target_type='several' needs several targets"),
        ({"target": "a", "target_type": "clases"}, "did you mean 'classes'"),
        ({"target": "a,b", "aggregate": "best"}, "aggregate is 'best'; known: mean, worst$"),
        ({"target": "time", "event": "ded"}, "no column 'ded' for event=; did you mean 'died'"),
        ({"target": "time", "event": "time"}, "'time' is in both event= and target="),
        ({"target": "time", "event": "x1"}, "'x1' holds .*: give 1 where the event was observed"),
        ({"target": "a,b", "event": "died"}, r"2 targets \(target=\['a', 'b'\]\), and event='died'"),
        (
            {"target": "time", "event": "died", "screener": "xi"},
            "xi does not support survival targets; t0 does",
        ),
        ({"event": "died", "ranking": "level"}, "both ranking= and event="),
        ({"event": "died", "target_type": "classes"}, "both event= and target_type='classes'"),
    ],
)
def test_mistakes_are_told_in_a_line(rng, options, says):
    with pytest.raises((OptionError, DataError), match=says) as raised:
        symscreen.screen(_planted(rng, 20), **SPACE, **options)
    assert "\n" not in str(raised.value)


def test_a_fit_takes_targets_of_numbers(rng, tmp_path):
    frame = _planted(rng, 20)
    with pytest.raises(DataError, match="'level'"):
        symscreen.fit(frame, target="a,level")
    with pytest.raises(DataError, match="the target 'level' holds text; numbers are needed"):
        symscreen.fit(frame, target="level")
    done = CliRunner().invoke(command, ["fit", str(tmp_path / "t.csv"), "--event", "died"])
    assert "fit needs a numeric target, and --event died is one of times until an event" in str(
        done.exception
    )


def test_many_classes_and_one_are_refused(rng):
    frame = _planted(rng, 240)
    with pytest.raises(DataError, match="'level' holds 120 classes in 240 rows, more than 100"):
        _run(frame.assign(level=[f"name {k // 2}" for k in range(240)]), "classes")
    with pytest.raises(DataError, match=r"all 240 rows are of one class of 'level' \('p'\)"):
        _run(frame.assign(level="p"), "classes")


@pytest.mark.parametrize("kind", KINDS)
def test_why_tells_where_a_formula_stands(rng, kind):
    frame = _planted(rng, 40)
    explanation = symscreen.why(_own(frame, kind), "x1*x3", **KINDS[kind], **SPACE, max_correlation=1)
    assert "x1*x3 is in the space: rank 1 among" in str(explanation) or "x1**2*x3**2" in str(explanation)


def test_negative_times_are_refused(rng):
    frame = _planted(rng)
    frame.loc[2, "time"] = -1.0
    with pytest.raises(
        DataError, match="row 3 of 'time' holds -1, but a time until an event cannot be negative"
    ):
        _run(frame, "survival")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_command_line_screens_and_plans(rng, tmp_path, kind):
    frame = _planted(rng)
    _own(frame, kind).to_csv(tmp_path / "t.csv", index=False)
    asked = {"classes": ["--target", "level"], "several": ["--target", "a,b"]}
    asked["survival"] = ["--target", "time", "--event", "died"]
    options = [str(tmp_path / "t.csv"), *asked[kind], "--layers", "ub", "--unary", "square"]
    options += ["--binary", "sub,mul"]
    done = CliRunner().invoke(command, ["screen", *options, "--top", "10", "--out", "-", "--quiet"])
    assert done.output == format_ranking_csv(_run(frame, kind))
    assert "features to score" in CliRunner().invoke(command, ["plan", *options]).output
    words = " ".join(CliRunner().invoke(command, ["screen", *options]).output.split())
    for part in {
        "classes": [
            "scored against the classes of level (",
            "3 classes with their numbers of rows: high",
            "each against the rest",
        ],
        "several": ["scored against the targets a,b (", "Gini[a] Gini[b]", "Gini: mean over the targets"],
        "survival": [
            "scored against the time until the event, time (",
            "pairs of rows are comparable",
            "harrell_c",
        ],
    }[kind]:
        assert part in words

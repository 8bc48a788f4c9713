"""Features that are unsafe on new rows: marked, left out and replaced, counted by reason."""

import io
import json
import warnings

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.cli.command import run_command
from symscreen.errors import ExtrapolationWarning, OptionError
from symscreen.expressions.input_ranges import build_box
from symscreen.expressions.safety import SafetyAnalysis
from symscreen.report.terminal.listings import print_table
from symscreen.report.terminal.ranking_table import build_ranking_tables
from symscreen.screening.inference.feature_safety import count_reasons

SPACE = {"layers": "ub", "unary": "inv,sqrt,log", "binary": "add,sub,mul,div"}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(5)
    a, c = rng.uniform(1.0, 3.0, 120), rng.uniform(0.5, 2.0, 120)
    b = rng.uniform(0.2, 2.0, 120) * rng.choice([-1.0, 1.0], 120)  # 1/b is defined in these rows
    return pd.DataFrame({"a": a, "b": b, "c": c, "target": a / c + 0.2 / b + 0.1 * rng.normal(size=120)})


def format_ranking(result):
    """Return what the terminal shows."""
    file = io.StringIO()
    print_table(build_ranking_tables(result), file)
    return file.getvalue()


def find_reasons(result, frame, ranges=None):
    """Analyze each formula shown on its own."""
    columns = {name: frame[name].to_numpy() for name in "abc"}
    analysis = SafetyAnalysis(build_box(columns, ranges or {}))
    return [analysis.analyze(expression).reason for expression in result.expressions]


def test_marks_are_the_reasons_of_the_features_shown(frame):
    result = symscreen.screen(frame, **SPACE, top=30)
    reasons = find_reasons(result, frame)
    assert list(result.table["unsafe"]) == reasons
    assert result.record["safety"] == {"examined": 30, "unsafe": count_reasons(reasons)}
    assert 0 < sum(map(bool, reasons)) < 30


@pytest.mark.slow
def test_dropped_features_are_replaced_by_the_next_best(frame):
    everything = symscreen.screen(frame, **SPACE, top=400, max_correlation=1)
    safe = [
        str(expression)
        for expression, reason in zip(everything.expressions, find_reasons(everything, frame), strict=True)
        if not reason
    ]
    for top in (1, 7, 25):
        result = symscreen.screen(frame, **SPACE, top=top, unsafe="drop", max_correlation=1)
        assert list(result.table["expression"]) == safe[:top]
        assert "unsafe" not in result.table
        assert sum(result.record["safety"]["unsafe"].values()) == result.record["safety"]["examined"] - top


@pytest.mark.slow
def test_the_list_is_the_same_with_any_chunks_and_order_of_rows_and_columns(frame):
    plain = symscreen.screen(frame, **SPACE, top=12, unsafe="drop", max_correlation=0.95)
    other = frame.sample(frac=1, random_state=1)[["target", "c", "b", "a"]]
    again = symscreen.screen(
        other, target="target", **SPACE, top=12, unsafe="drop", max_correlation=0.95, chunk_size=7, jobs=2
    )
    pd.testing.assert_frame_equal(plain.table, again.table)
    assert plain.record["safety"] == again.record["safety"]


def test_redundant_and_unsafe_features_are_left_out_together(frame):
    result = symscreen.screen(frame, **SPACE, top=10, unsafe="drop", max_correlation=0.9)
    assert not any(find_reasons(result, frame))
    ranks = result.transform(frame).rank().corr().abs().to_numpy()
    assert (ranks[~np.eye(len(ranks), dtype=bool)] <= 0.9 + 1e-9).all()
    assert result.record["redundancy"]["cap"] == 0.9


def test_features_are_kept_without_a_look_where_the_option_says_so(frame):
    kept = symscreen.screen(frame, **SPACE, top=30, unsafe="keep")
    marked = symscreen.screen(frame, **SPACE, top=30)
    assert "unsafe" not in kept.table
    assert "safety" not in kept.record
    pd.testing.assert_frame_equal(kept.table, marked.table.drop(columns="unsafe"))


@pytest.mark.slow
def test_a_list_of_all_features_has_all_safe_ones(frame):
    marked = symscreen.screen(frame, **SPACE, top="all")
    dropped = symscreen.screen(frame, **SPACE, top="all", unsafe="drop")
    safe = [
        str(each)
        for each, reason in zip(marked.expressions, find_reasons(marked, frame), strict=True)
        if not reason
    ]
    assert list(dropped.table["expression"]) == safe


def test_safe_features_of_three_rounds_keep_their_rounds_and_their_places_alone(frame):
    space = {"layers": "b", "binary": "add,mul,div", "top": "all", "rounds": 3}
    dropped = symscreen.screen(frame, **space, unsafe="drop").table
    marked = symscreen.screen(frame, **space).table
    safe = marked[marked["unsafe"] == ""].drop(columns="unsafe").reset_index(drop=True)
    assert len(safe) < len(marked)
    assert set(safe["round"]) == {1, 2, 3}
    columns = ["round", "place_alone", "expression"]
    pd.testing.assert_frame_equal(dropped[columns], safe[columns])


def test_each_round_is_filled_up_with_safe_features(frame):
    plain = symscreen.screen(frame, **SPACE, top=15, unsafe="drop", max_correlation=1)
    result = symscreen.screen(frame, **SPACE, top=15, unsafe="drop", rounds=2)
    assert not any(find_reasons(result, frame))
    # a feature of both rounds is listed in the one that ranks it higher
    in_first = set(result.table.expression[result.table["round"] == 1])
    in_second = set(result.table.expression[result.table["round"] == 2])
    assert in_first | in_second >= set(plain.table.expression)
    assert len(in_second) <= 15
    assert len(result.table) > 15
    counts = result.record["safety"]
    assert counts["examined"] > plain.record["safety"]["examined"]
    assert set(result.record["rounds"][1]["model"]) <= set(plain.table.expression)


def test_ranges_of_the_user_decide(frame):
    wide = symscreen.screen(frame, **SPACE, top=30, ranges={"a": (-1, 5), "b": (0.1, 2)})
    assert list(wide.table.get("unsafe", [""] * 30)) == find_reasons(
        wide, frame, {"a": (-1, 5), "b": (0.1, 2)}
    )
    assert wide.record["box"]["a"] == [-1.0, 5.0]
    with pytest.raises(OptionError, match="names 'z', no input"):
        symscreen.screen(frame, **SPACE, ranges={"z": (0, 1)})
    with pytest.raises(OptionError, match="two numbers, the lowest value first"):
        symscreen.screen(frame, **SPACE, ranges={"a": (2, 1)})


def test_new_rows_outside_of_the_box_are_told_or_clipped(frame):
    result = symscreen.screen(frame, **SPACE, top=3, unsafe="drop")
    assert result.transform(frame).notna().all(axis=None)  # the rows of the screen are inside
    names, box = list(result.record["box"]), result.record["box"]
    far = frame.assign(**dict.fromkeys(names, -1e3)).head(4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result.transform(far)
    assert caught[0].category is ExtrapolationWarning
    assert str(caught[0].message).startswith("4 of 4 rows are outside the box of the inputs (")
    clipped = result.transform(far, clip=True)
    at_end = frame.assign(**{name: box[name][0] for name in names}).head(4)
    pd.testing.assert_frame_equal(clipped, result.transform(at_end))
    assert np.isfinite(clipped.to_numpy()).all()


def test_clipped_rows_have_values_whatever_they_are(frame, rng):
    result = symscreen.screen(frame, **SPACE, top=20, unsafe="drop")
    rows = pd.DataFrame({name: rng.standard_cauchy(300) * 10.0 ** rng.integers(-9, 9, 300) for name in "abc"})
    assert np.isfinite(result.transform(rows, clip=True).to_numpy()).all()


@pytest.mark.slow
def test_the_transformer_drops_unsafe_features_by_default(frame):
    inputs, y = frame[["a", "b", "c"]], frame["target"]
    screener = symscreen.SymbolicScreener(**SPACE, top=8).fit(inputs, y)
    by_hand = symscreen.screen(frame, **SPACE, top=8, unsafe="drop")
    assert list(screener.get_feature_names_out()) == list(by_hand.table["expression"])
    keeps = symscreen.SymbolicScreener(**SPACE, top=30, unsafe="mark").fit(inputs, y)
    assert "unsafe" in keeps.ranking_
    clips = symscreen.SymbolicScreener(**SPACE, top=8, clip=True).fit(inputs, y)
    assert np.isfinite(clips.transform(inputs * 1e6)).all()


def test_a_transformer_that_finds_no_safe_feature_says_so(frame):
    screener = symscreen.SymbolicScreener(layers="u", unary="inv", pool="strict", top=3)
    with pytest.warns(UserWarning, match="none is proved safe on new rows"):
        screener.fit(frame[["b"]], frame["target"])
    assert screener.transform(frame[["b"]]).shape == (len(frame), 0)


def test_the_terminal_marks_and_counts(frame):
    marked = symscreen.screen(frame, **SPACE, top=30)
    text = format_ranking(marked)
    counts = ", ".join(f"{n} {reason}" for reason, n in marked.record["safety"]["unsafe"].items())
    assert f"!: unsafe, it may be undefined or unbounded on new rows ({counts});" in " ".join(text.split())
    assert sum("!" in line for line in text.splitlines()) >= sum(map(bool, marked.table["unsafe"]))
    dropped = format_ranking(symscreen.screen(frame, **SPACE, top=30, unsafe="drop"))
    assert "left out as unsafe on new rows:" in dropped
    assert "!:" not in dropped


def test_why_names_the_reason_and_a_point(frame):
    space = SPACE | {"max_correlation": 1.0}
    found = symscreen.why(frame, "1/b", **space)
    assert (found.status, found.unsafe) == ("ranked", "pole")
    assert abs(found.unsafe_point["b"]) < 1e-9
    assert "unsafe on new rows: pole: it has no finite value at b = " in found.text
    left_out = symscreen.why(frame, "1/b", **space, unsafe="drop", top=100)
    assert left_out.status == "unsafe"
    assert left_out.text.startswith("1/b is left out by unsafe='drop': 1/b is unsafe.")
    safe = symscreen.why(frame, "a/c", **space, unsafe="drop")
    assert (safe.status, safe.unsafe) == ("ranked", "")


@pytest.mark.slow
def test_files_and_bundles_hold_reasons_and_box(frame, tmp_path, capsys):
    data = tmp_path / "d.csv"
    frame.to_csv(data, index=False)
    space = ["--layers", "ub", "--unary", "inv,sqrt,log", "--binary", "add,sub,mul,div"]
    out, bundle = tmp_path / "r.csv", tmp_path / "f.json"
    assert (
        run_command(["screen", str(data), *space, "--top", "30", "--out", str(out), "--bundle", str(bundle)])
        == 0
    )
    loaded = symscreen.load_result(out)
    assert list(loaded.table["unsafe"]) == list(symscreen.screen(frame, **SPACE, top=30).table["unsafe"])
    far = tmp_path / "far.csv"
    (frame * 50).to_csv(far, index=False)
    capsys.readouterr()
    assert run_command(["apply", str(bundle), str(far)]) == 0
    assert "rows are outside the box of the inputs" in capsys.readouterr().err
    assert run_command(["apply", str(bundle), str(far), "--clip"]) == 0
    assert "outside the box" not in capsys.readouterr().err
    saved = json.loads(bundle.read_text())
    assert saved["record"]["box"] == symscreen.screen(frame, **SPACE, top=30).record["box"]


def test_the_command_line_reads_ranges(frame, tmp_path, capsys):
    data = tmp_path / "d.csv"
    frame.to_csv(data, index=False)
    arguments = ["screen", str(data), "--layers", "u", "--unary", "log", "--binary", "add"]
    assert run_command([*arguments, "--ranges", "a=-1:5,c=0.1:2", "--unsafe", "drop"]) == 0
    shown = capsys.readouterr().out
    assert "log(c)" in shown
    assert "log(a)" not in shown
    assert run_command([*arguments, "--ranges", "a=-1"]) == 2
    assert "write A=LOW:HIGH" in capsys.readouterr().err

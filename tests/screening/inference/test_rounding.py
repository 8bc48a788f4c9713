import io
import json

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.report.columns import build_headings
from symscreen.report.terminal.listings import print_table
from symscreen.report.terminal.ranking_table import build_ranking_tables
from symscreen.report.terminal.reading_notes import explain_rounding_marks
from symscreen.screening.inference.numerical_error import NUMERICAL_ERROR_COLUMNS

NOISY = {"layers": "bu", "binary": "add,mul", "unary": "sin"}


@pytest.fixture
def noisy(rng) -> pd.DataFrame:
    """One column near 1e100, two of one decimal, and what follows their sum."""
    b, c = rng.normal(size=(2, 300)).round(1)
    return pd.DataFrame(
        {"a": rng.uniform(1, 9, 300) * 1e100, "b": b, "c": c, "y": b + c + rng.normal(size=300)}
    )


def shown(result) -> str:
    out = io.StringIO()
    print_table(build_ranking_tables(result), out)
    return " ".join(out.getvalue().split())


def test_noise_is_marked_and_the_rest_is_not(noisy):
    result = symscreen.screen(noisy, top="all", **NOISY)
    by_name = result.table.set_index("expression")
    noise = [name for name in by_name.index if name.startswith("sin(a")]
    assert "sin(a)" in noise
    assert by_name.loc["sin(a)", "uncertain_rows"] == 0  # its argument is exact
    assert (by_name.loc["sin(a*b)", ["uncertain_rows", "score_error"]] > [250, 0.3 * result.scale]).all()
    assert by_name.loc[["a", "b", "c"], "uncertain_rows"].tolist() == [0, 0, 0]
    told = result.record["rounding"]
    assert told == {
        "looked_at": len(result),
        "uncertain": int((by_name["uncertain_rows"] > 0).sum()),
        "marked": int((by_name["score_error"] > 1e-3 * result.scale).sum()),
    }
    assert 0 < told["marked"] < told["uncertain"] < len(result)
    assert [heading.name for heading in build_headings(result)][-3:] == [*NUMERICAL_ERROR_COLUMNS, "unsafe"]
    assert f"rounding errors affect the scores of {told['marked']} reported features" in result.notices[-1]


def test_the_terminal_marks_noise_and_tells_of_slighter_cases(noisy):
    result = symscreen.screen(noisy, top="all", **NOISY)
    text = shown(result)
    # one more in the legend, and one in the note
    assert f"{text.count('~') - 2}" == f"{result.record['rounding']['marked']}"
    assert "~: rounding decides the order of up to 300 rows of it" in text
    assert "other feature" in text
    (line,) = explain_rounding_marks([{"uncertain_rows": 1, "score_error": 1e-5}], result.record)
    told = "rounding decides the order of up to 1 row of 1 feature"
    assert line == f"{told}, which changes t0 by at most 1e-05."


def test_ordinary_tables_know_nothing_of_it(frame):
    result = symscreen.screen(frame, layers="ub", screener="t0,xi,pearson")
    assert not set(NUMERICAL_ERROR_COLUMNS) & set(result.table)
    assert "rounding" not in result.record
    assert "uncertain" not in shown(result)


@pytest.mark.slow
def test_marks_are_the_same_however_the_work_is_done(noisy):
    columns = ["expression", *NUMERICAL_ERROR_COLUMNS]
    plain = symscreen.screen(noisy, target="y", **NOISY)
    for other, options in (
        (noisy, {"jobs": 2, "chunk_size": 3}),
        (noisy.sample(frac=1, random_state=1), {}),
        (noisy[["y", "c", "a", "b"]], {"target": "y"}),
    ):
        found = symscreen.screen(other, **{"target": "y", **NOISY, **options})
        pd.testing.assert_frame_equal(found.table[columns], plain.table[columns])


def test_files_hold_the_columns(noisy, tmp_path):
    from symscreen.results.ranking_files import write_ranking
    from symscreen.results.ranking_reader import read_ranking

    result = symscreen.screen(noisy, **NOISY)
    for name in ("a.csv", "a.json", "a.parquet"):
        write_ranking(result, tmp_path / name)
        stored = read_ranking(tmp_path / name)
        for column in NUMERICAL_ERROR_COLUMNS:
            np.testing.assert_array_equal(
                stored.table[column].astype(float), result.table[column].astype(float)
            )
    row = json.loads((tmp_path / "a.json").read_text())["ranking"][0]
    assert isinstance(row["uncertain_rows"], int)


def test_each_round_is_looked_at_against_its_own_rows(noisy):
    result = symscreen.screen(noisy, rounds=2, top=20, layers="bu", binary="mul", unary="sin")
    uncertain = result.table[result.table["uncertain_rows"] > 0]
    assert set(result.table["round"]) == {1, 2}
    assert any("sin(a*" in text for text in uncertain["expression"])


def test_of_a_very_long_ranking_the_head_is_looked_at(noisy, monkeypatch):
    monkeypatch.setattr("symscreen.screening.inference.numerical_error._MAX_FEATURES_OF_FULL_RANKING", 12)
    result = symscreen.screen(noisy, top="all", layers="ub", unary="sin,square", binary="add,sub,mul")
    assert result.table["uncertain_rows"].notna().sum() == 12
    assert "NaN" not in shown(result)


def test_split_ties_move_any_score_of_ranks_by_what_is_known(noisy):
    result = symscreen.screen(noisy, layers="b", binary="add", screener="kendall", top="all")
    (row,) = result.table[result.table["expression"] == "b + c"].to_dict("records")
    tied = (noisy["b"] + noisy["c"]).round(1)
    assert row["uncertain_rows"] > 0
    assert row["score_error"] == pytest.approx(
        abs(tied.corr(noisy["y"], "kendall") - row["kendall"]), abs=1e-12
    )


def test_why_tells_what_a_ranking_does(noisy):
    plain = symscreen.screen(noisy, top="all", **NOISY).table.set_index("expression")
    found = symscreen.why(noisy, "sin(a*b)", **NOISY)
    assert found.uncertain_rows == plain.loc["sin(a*b)", "uncertain_rows"]
    assert found.score_error == plain.loc["sin(a*b)", "score_error"]
    assert (
        f"uncertain: rounding errors decide the order of {found.uncertain_rows} of 300 rows; the exact t0 may"
        in found.text
    )
    assert "uncertain" not in symscreen.why(noisy, "sin(a)", **NOISY).text
    by_xi = symscreen.why(noisy, "sin(a*b)", screener="xi", **NOISY)
    assert "how much the exact xi may differ is unknown" in by_xi.text

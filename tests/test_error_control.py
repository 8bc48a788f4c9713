"""Error control from end to end: what a screen shows, writes and says of it."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from helpers.screening_oracles import normal_null

import symscreen
from symscreen.cli.command import run_command
from symscreen.errors import OptionError
from symscreen.report.terminal.listings import print_table
from symscreen.report.terminal.ranking_table import build_ranking_tables
from symscreen.results.ranking_files import write_ranking
from symscreen.screeners import T0

SMALL = {"operators": "ablation", "layers": "ub", "screener": replace(T0, null_distribution=normal_null)}


def _printed(result) -> str:
    stream = io.StringIO()
    print_table(build_ranking_tables(result), stream)
    assert max(map(len, stream.getvalue().splitlines())) <= 80
    return stream.getvalue()


def _flat(text) -> str:
    return " ".join(text.split())


@pytest.fixture
def noise(frame, rng):
    return frame.assign(target=rng.normal(size=len(frame)))


def test_the_figures_stand_after_the_size_of_the_class(frame):
    result = symscreen.screen(frame, p_values=True, permutations=19, top=5, **SMALL)
    columns = list(result.table.columns)
    figures = ["p_value", "q_value", "p_family"]
    assert columns[columns.index("class_size") :] == ["class_size", *figures, "n_redundant"]
    assert result.table.p_value.is_monotonic_increasing
    assert (result.table.p_family == 0.05).all()
    told = result.record["error_control"]
    assert sum(told.pop("histogram")) == result.n_scored
    passing = told.pop("passing")
    least = told.pop("least_q")
    assert 0 < passing <= result.n_scored
    assert 0 < least <= result.table.q_value.min()
    assert not told.pop("best_is_bound")
    assert told == {
        "source": "null distribution",
        "method": "bh",
        "tests": result.n_scored,
        "permutations": 19,
        "fdr": None,
        "rate": 0.05,
    }
    assert result.record["options"]["permutations"] == 19
    assert result.record["options"]["p_values"] is True


def test_p_values_are_there_unless_they_are_turned_off(frame):
    result = symscreen.screen(frame, p_values=False, top=3, max_correlation=1, **SMALL)
    assert list(result.table.columns)[-1] == "class_size"
    assert "error_control" not in result.record
    assert result.record["options"]["p_values"] is False
    by_itself = symscreen.screen(frame, top=3, max_correlation=1, **SMALL)
    assert list(by_itself.table.columns)[-2:] == ["p_value", "q_value"]
    assert by_itself.record["options"]["p_values"] is None


def test_what_passes_is_shown(frame):
    every = symscreen.screen(frame, p_values=True, top=10**6, max_correlation=1, **SMALL).table
    some = symscreen.screen(frame, fdr=1e-9, top=10**6, max_correlation=1, **SMALL)
    passing = every[every.q_value <= 1e-9].reset_index(drop=True)
    pd.testing.assert_frame_equal(some.table, passing)
    assert 0 < len(passing) < len(every)
    all_of_them = symscreen.screen(frame, p_values=True, top="all", **SMALL).table
    count = int((all_of_them.q_value <= 1e-9).sum())
    assert some.record["error_control"]["passing"] == count
    head = _flat(_printed(some))
    rate = f"{count:,} of {some.n_scored:,} formulas do better than noise (false discovery rate 1e-07 %)."
    assert head.startswith(rate)
    assert f"by t0; the best {len(some)} features:" in head
    assert list(some.table.expression) == [
        symscreen.expressions.printing.to_text(expression) for expression in some.expressions
    ]


def test_where_nothing_passes_the_best_are_shown(noise):
    result = symscreen.screen(noise, fdr=0.01, fdr_method="by", top=4, **SMALL)
    assert len(result) == 4
    least = result.record["error_control"]["least_q"]
    assert least > 0.01
    first_line = _printed(result).split("\n\n")[0]
    words = f"has a q-value of {least:.2g}, above the limit of 0.01."
    assert words in _flat(first_line)
    assert "q-values: Benjamini-Yekutieli over all " in _flat(_printed(result))


def test_what_passes_may_not_be_among_the_best(frame):
    def shy_of_the_best(response, seed):
        plain = normal_null(response, seed)

        def p_values(ordered, statistics, sign):
            p = plain(ordered, statistics, sign)
            return np.where(p < 1e-9, 1.0, p)

        return p_values

    options = SMALL | {"screener": replace(T0, null_distribution=shy_of_the_best)}
    result = symscreen.screen(frame, fdr=0.01, top=1, **options)
    assert result.table.q_value[0] == 1.0
    text = _flat(_printed(result))
    assert "do better than noise (false discovery rate 1 %). None of them is shown." in text
    assert "the best 1 distinct feature:" in text


def test_later_rounds_have_no_figures(frame):
    result = symscreen.screen(frame, p_values=True, permutations=9, rounds=2, top=4, **SMALL)
    later = result.table["round"] == 2
    for name in ("p_value", "q_value", "p_family"):
        assert result.table.loc[later, name].isna().all()
        assert result.table.loc[~later, name].notna().all()
    assert _printed(result)


def test_cuts_leave_the_figures_out_with_a_word(frame):
    result = symscreen.screen(frame, pool_size=4, top=3, **SMALL)
    assert "p_value" not in result.table
    assert (
        result.verdict == "No verdict: there are no p-values, because pruning between layers used the target."
    )
    with pytest.raises(OptionError, match="pruning between layers"):
        symscreen.screen(frame, fdr=0.1, pool_size=4, **SMALL)


def test_the_terminal_shows_two_digits_and_says_how_to_read_them(frame):
    result = symscreen.screen(frame, p_values=True, permutations=19, top=5, **SMALL)
    text = _printed(result)
    header = next(line for line in text.splitlines() if line.startswith("rank"))
    assert header.split() == ["rank", "expression", "compl.", "Gini", "alike", "q", "p", "all"]
    for row in result.table.to_dict("records"):
        assert f"{row['q_value']:.2g}" in text
    flat = _flat(text)
    assert "q: false discovery rate; p all: p-value among all formulas" in flat
    assert "p all: how often noise is as good anywhere in the space, by 19 permutations" in flat


def test_files_are_the_same_whatever_the_jobs_and_chunks(frame, tmp_path):
    written = set()
    for place, changes in enumerate(({"jobs": 1}, {"jobs": 2, "chunk_size": 17}, {"jobs": 2})):
        result = symscreen.screen(
            frame.sample(frac=1, random_state=place), p_values=True, permutations=30, **SMALL, **changes
        )
        write_ranking(result, tmp_path / f"{place}.csv")
        record = json.loads((tmp_path / f"{place}.csv.json").read_text())
        written.add(((tmp_path / f"{place}.csv").read_bytes(), json.dumps(record["error_control"])))
    assert len(written) == 1


def test_the_command_line_controls_errors(rng, monkeypatch, capsysbinary):
    def run(*arguments):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(csv.encode())))
        status = run_command(arguments)
        return status, *(text.decode() for text in capsysbinary.readouterr())

    x, z = rng.uniform(0.5, 2.0, (2, 8))
    csv = pd.DataFrame({"x": x, "z": z, "y": x * z + rng.normal(0, 1e-3, 8)}).to_csv(index=False)
    options = ("--operators", "ablation", "--layers", "b", "--jobs", "1", "--out", "-", "--quiet")
    status, out, err = run("screen", "-", *options, "--permutations", "49", "--fdr", "0.5")
    assert (status, err) == (0, "")
    table = pd.read_csv(io.StringIO(out))
    assert list(table.columns)[-4:] == ["p_value", "q_value", "p_family", "n_redundant"]
    # of 8! orders of the rows few are so near that of the response
    assert table.p_value[0] < 1e-3
    assert (table.q_value <= 0.5).all()
    status, _, err = run("screen", "-", *options, "--fdr", "0.05", "--search", "race")
    assert status == 2
    assert "--fdr 0.05 is not available: --search race does not score every feature" in err

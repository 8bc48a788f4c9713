from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

import symscreen
from symscreen.errors import InputError, MemoryLimitError, OptionError
from symscreen.screening import large_tables
from symscreen.screening import screen as screen_module

if TYPE_CHECKING:
    from pathlib import Path

OPTIONS = {"layers": "b", "binary": "add,mul,div", "top": 4, "jobs": 1, "max_ram": "3GB"}
N_ROWS = 3000


@pytest.fixture
def small_memory(monkeypatch, tmp_path) -> Path:
    """Every table counts as larger than memory, samples are small, and temporary files have a folder."""
    monkeypatch.setattr(large_tables, "_COPIES", 10**9)
    monkeypatch.setattr(large_tables, "SAMPLE_ROWS", 500)
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def frame(rng) -> pd.DataFrame:
    data = pd.DataFrame(rng.uniform(0.5, 2.0, (N_ROWS, 5)), columns=list("abcde"))
    data["y"] = data.a * data.b + 0.2 * data.c + rng.normal(0, 0.1, N_ROWS)
    data.loc[[1, 5], "e"] = np.nan
    return data


def write(frame: pd.DataFrame, folder: Path, *, n_files: int = 1, group: int = 10_000) -> str:
    folder.mkdir()
    for place, rows in enumerate(np.array_split(np.arange(len(frame)), n_files)):
        frame.iloc[rows].to_parquet(folder / f"{place}.parquet", row_group_size=group, index=False)
    return str(folder)


def test_rows_files_and_row_groups_have_no_effect_on_a_byte(frame, small_memory, tmp_path):
    shuffled = frame.sample(frac=1, random_state=2)
    one = symscreen.screen(write(frame, tmp_path / "one"), **OPTIONS)
    other = symscreen.screen(
        write(shuffled, tmp_path / "other", n_files=3, group=70), **{**OPTIONS, "jobs": 2, "chunk_size": 7}
    )
    assert one.table.to_json(double_precision=15) == other.table.to_json(double_precision=15)
    assert one.record["large_table"] == other.record["large_table"] | {"bytes": 8 * frame.size}
    assert one.record["search"] == other.record["search"]
    assert one.record["data"] == other.record["data"]
    assert list(small_memory.iterdir()) == []


@pytest.mark.parametrize("screener", ["t0", "pearson"])
@pytest.mark.parametrize("digits", [1, 15])  # with and without ties
def test_finalists_have_the_scores_of_the_table_in_memory(frame, request, tmp_path, screener, digits):
    frame = frame.round(digits)
    source = write(frame, tmp_path / "t", n_files=2)
    options = {**OPTIONS, "screener": screener}
    exact = symscreen.screen(source, search="exact", p_values=False, **options)
    request.getfixturevalue("small_memory")
    sampled = symscreen.screen(source, **options)
    assert sampled.table.expression.tolist() == exact.table.expression.tolist()
    assert sampled.table[screener].tolist() == exact.table[screener].tolist()
    assert sampled.table.direction.tolist() == exact.table.direction.tolist()
    assert sampled.scale == exact.scale
    assert sampled.record["data"] == exact.record["data"]
    assert sampled.record["large_table"]["sample_rows"] < 520


def test_near_duplicates_that_a_sample_does_not_decide_are_those_of_all_rows(rng, request, tmp_path):
    frame = pd.DataFrame(rng.normal(size=(N_ROWS, 4)), columns=list("abcd"))
    frame["y"] = 3 * frame.a + frame.b + 0.3 * frame.c * frame.d
    source = write(frame, tmp_path / "t")
    options = OPTIONS | {"binary": "add,mul"}
    in_memory = options | {"search": "exact", "p_values": False}
    limit = float(spearmanr(frame.a + frame.b, frame.a).statistic)
    limits = (limit - 1e-6, limit + 1e-6)
    exact = [symscreen.screen(source, **in_memory | {"max_correlation": each}) for each in limits]
    assert exact[0].table.expression.tolist() != exact[1].table.expression.tolist()
    request.getfixturevalue("small_memory")
    for expected, each in zip(exact, limits, strict=True):
        sampled = symscreen.screen(source, **options | {"max_correlation": each})
        assert sampled.table.expression.tolist() == expected.table.expression.tolist()


@pytest.mark.usefixtures("small_memory")
def test_a_sample_of_all_rows_gives_the_sieve_in_memory(frame, monkeypatch, tmp_path):
    monkeypatch.setattr(large_tables, "SAMPLE_ROWS", N_ROWS)
    source = write(frame, tmp_path / "t")
    sampled = symscreen.screen(source, **OPTIONS)
    monkeypatch.undo()
    sieved = symscreen.screen(source, search="sieve", **OPTIONS)
    columns = ["expression", "complexity", "direction", "t0", "class_size"]
    pd.testing.assert_frame_equal(sampled.table[columns], sieved.table[columns], check_exact=True)
    assert sampled.record["search"] == sieved.record["search"]


@pytest.mark.usefixtures("small_memory")
def test_features_that_other_rows_leave_undefined_are_left_out(frame, tmp_path):
    frame = frame.dropna()
    frame["b"] = frame.a + frame.b
    frame["y"] = np.log(frame.b - frame.a)
    row = int(np.argsort(frame.y.to_numpy())[1500])  # which is not in the sample
    frame.iloc[row, [0, 1]] = [1.5, 1.4]  # neither is extreme
    source = write(frame, tmp_path / "t")
    result = symscreen.screen(
        source, **{**OPTIONS, "layers": "bu", "binary": "sub", "unary": "log", "seed": 1}
    )
    assert result.record["large_table"]["undefined"] >= 1
    assert not any("log(b - a)" in each for each in result.table.expression)
    assert any("undefined in some of the other rows" in each for each in result.notices)


@pytest.mark.usefixtures("small_memory")
def test_a_notice_states_the_rule(frame, tmp_path):
    result = symscreen.screen(write(frame, tmp_path / "t"), **OPTIONS)
    rows = result.record["large_table"]["sample_rows"]
    assert any(
        f"3,000 rows × 6 columns × 8 bytes are 144.0 kB, more than a quarter of max_ram='3GB': formulas are "
        f"screened on {rows} of the rows, and the best are scored on all" in each
        for each in result.notices
    )
    assert "dropped: 2 rows of 3000 with missing values" in " ".join(result.notices)
    assert result.record["data"]["rows"] == 2998


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("search", "exact"),
        ("screener", "t0,xi"),
        ("screener", "lasso"),
        ("top", "all"),
        ("missing", "impute"),
        ("stability", 10),
        ("permutations", 20),
        ("weights", "a"),
        ("target", ["a", "b"]),
        ("target_type", "classes"),
    ],
)
def test_what_needs_all_rows_is_refused_in_a_line(frame, small_memory, tmp_path, option, value):
    with pytest.raises(OptionError, match="a screen of a sample of the rows does not have") as caught:
        symscreen.screen(write(frame, tmp_path / "t"), **{**OPTIONS, option: value})
    assert "\n" not in str(caught.value)
    assert list(small_memory.iterdir()) == []


@pytest.mark.usefixtures("small_memory")
def test_operators_of_time_are_refused_and_not_ignored(frame, tmp_path):
    with pytest.raises(OptionError, match="lag1 needs the order of the rows"):
        symscreen.screen(write(frame, tmp_path / "t"), **OPTIONS, unary="lag1,square")


@pytest.mark.usefixtures("small_memory")
def test_the_least_memory_is_named(frame, tmp_path):
    with pytest.raises(MemoryLimitError, match=r"takes 1\.0 GB for a few columns: allow max_ram='1\.0 GB'"):
        symscreen.screen(write(frame, tmp_path / "t"), **{**OPTIONS, "max_ram": "500MB"})


def test_a_table_that_does_not_fit_after_all_names_a_limit_with_which_it_is_sampled(
    frame, monkeypatch, tmp_path
):
    def refuse(_task):
        raise MemoryLimitError("too much")

    source = write(frame, tmp_path / "t")
    monkeypatch.setattr(screen_module, "run_rounds", refuse)
    monkeypatch.setattr(large_tables, "_COPIES", 10**4)
    with pytest.raises(MemoryLimitError, match=r"^too much; or screen a sample .*: max_ram='1438MB'$"):
        symscreen.screen(source, **OPTIONS)
    with pytest.raises(MemoryLimitError, match=r"^too much$"):
        symscreen.screen(source, **OPTIONS | {"rounds": 2})
    monkeypatch.undo()


def test_an_error_after_reading_leaves_nothing_behind(frame, small_memory, tmp_path):
    with pytest.raises(InputError):
        symscreen.screen(write(frame, tmp_path / "t"), also="a*unknown", **OPTIONS)
    assert list(small_memory.iterdir()) == []


def test_a_race_and_user_formulas_work_on_a_sample(frame, small_memory, tmp_path):
    result = symscreen.screen(write(frame, tmp_path / "t"), search="race", also="a*b + c/5", **OPTIONS)
    assert result.table.expression[0] == "a*b + c/5"
    assert result.record["search"]["mode"] == "race"
    assert list(small_memory.iterdir()) == []


def test_a_plan_tells_the_passes(frame, small_memory, tmp_path):
    plan = symscreen.plan(write(frame, tmp_path / "t"), **OPTIONS)
    passes = plan.large_table
    assert (passes.n_rows, passes.n_finalists, passes.n_threads) == (2998, 36, 1)
    assert passes.disk_bytes == 8 * frame.size
    assert plan.seconds[0] >= passes.read_seconds + passes.finalist_seconds
    assert "Two passes over 2,998 rows. The first puts the columns onto the disk" in str(plan)
    assert list(small_memory.iterdir()) == []


def test_a_table_that_fits_is_read_in_memory(frame, tmp_path):
    result = symscreen.screen(write(frame, tmp_path / "t"), **OPTIONS)
    assert "large_table" not in result.record

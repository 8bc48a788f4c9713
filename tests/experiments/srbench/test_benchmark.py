"""`symscreen reproduce srbench`: which fits it runs, which it takes from its file, and what it says."""

from __future__ import annotations

import pytest
from helpers.srbench_rows import make_hit, make_miss

from symscreen.errors import OptionError, OutputError
from symscreen.experiments.base import ExperimentSettings, check_settings
from symscreen.experiments.registry import EXPERIMENTS
from symscreen.experiments.srbench import benchmark
from symscreen.experiments.srbench.benchmark import EXPERIMENT, SIZES, list_tasks
from symscreen.experiments.srbench.problems import SEEDS, list_problems
from symscreen.experiments.srbench.records import append_row, read_rows


@pytest.fixture
def fake(monkeypatch):
    """Stand in for the fits: all are solved but those of I_40_1. Returns what was run."""
    ran = []

    def run_trial(problem, noise_ratio, seed, _, *, units, table_seed, commit, jobs):
        del jobs
        ran.append((problem.name, noise_ratio, seed))
        make_row = make_miss if problem.name == "I_40_1" else make_hit
        return make_row(
            problem=problem.name,
            group=problem.group,
            noise_ratio=noise_ratio,
            seed=seed,
            units=units,
            table_seed=table_seed,
            commit=commit,
        )

    monkeypatch.setattr(benchmark, "run_trial", run_trial)
    monkeypatch.setattr(benchmark, "find_commit", lambda: "c0")
    return ran


def test_the_small_size_is_every_third_problem_by_name():
    names = sorted(problem.name for problem in list_problems())
    assert SIZES["small"].problems == tuple(names[::3])
    assert len(SIZES["small"].problems) == 44
    tasks = list_tasks(ExperimentSettings(size="small"))
    assert len(tasks) == 44 * 2
    assert {(task.noise_ratio, task.seed) for task in tasks} == {(0.0, SEEDS[0]), (0.01, SEEDS[0])}


def test_the_medium_size_has_one_seed_of_the_lectures_and_three_of_the_book():
    tasks = list_tasks(ExperimentSettings())
    assert len(tasks) == 116 * 4 + 14 * 4 * 3
    assert len(list_tasks(ExperimentSettings(size="full"))) == 130 * 4 * 10
    assert len(list_tasks(ExperimentSettings(repeats=2))) == 130 * 4 * 2


def test_fits_are_listed_problem_by_problem():
    settings = ExperimentSettings(problems=("test_7", "I_34_8"), noise_ratios=(0.0, 0.1), repeats=2)
    assert [(task.problem.name, task.noise_ratio, task.seed) for task in list_tasks(settings)] == [
        (name, ratio, seed) for name in ("I_34_8", "test_7") for ratio in (0.0, 0.1) for seed in SEEDS[:2]
    ]


def test_with_units_only_problems_that_have_some_are_tried():
    tasks = list_tasks(ExperimentSettings(units=True, noise_ratios=(0.0,)))
    assert len(tasks) == 116
    with pytest.raises(OptionError, match="have no units"):
        list_tasks(ExperimentSettings(units=True, problems=("vdp2",)))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"repeats": 11}, "SRBench has 10 seeds"),
        ({"noise_ratios": (-0.1,)}, "noise ratio"),
        ({"problems": ("I_99",)}, "no problem 'I_99'"),
    ],
)
def test_what_the_benchmark_does_not_have_is_refused(settings, says):
    with pytest.raises(OptionError, match=says):
        list_tasks(ExperimentSettings(**settings))


def test_a_run_continues_from_its_file(fake, tmp_path):
    path = tmp_path / "rows.jsonl"
    settings = ExperimentSettings(problems=("I_34_8", "I_40_1"), noise_ratios=(0.0, 0.1), checkpoint=path)
    first = EXPERIMENT.run(settings)
    assert len(fake) == 4
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + lines[2][:30])  # killed while the third row was written
    fake.clear()
    second = EXPERIMENT.run(settings)
    assert fake == [("I_40_1", 0.0, SEEDS[0]), ("I_40_1", 0.1, SEEDS[0])]
    assert path.read_bytes() == b"".join(lines)
    for name, table in first.tables.items():
        assert table.equals(second.tables[name])
    assert first.remarks == second.remarks


def test_rows_of_another_commit_or_of_units_are_run_again(fake, tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl"
    settings = {"problems": ("I_34_8",), "noise_ratios": (0.0,), "checkpoint": path}
    for changes in ({}, {"units": True}, {"seed": 1}):
        EXPERIMENT.run(ExperimentSettings(**settings, **changes))
    monkeypatch.setattr(benchmark, "find_commit", lambda: "c1")
    EXPERIMENT.run(ExperimentSettings(**settings))
    assert len(fake) == 4
    assert len(read_rows(path)) == 4


@pytest.mark.usefixtures("fake")
def test_each_row_is_in_the_file_before_the_next_fit(tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl"
    original = benchmark.run_trial

    def stop_at_the_second(problem, *arguments, **options):
        if problem.name == "I_40_1":
            raise KeyboardInterrupt
        return original(problem, *arguments, **options)

    monkeypatch.setattr(benchmark, "run_trial", stop_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        EXPERIMENT.run(
            ExperimentSettings(problems=("I_34_8", "I_40_1"), noise_ratios=(0.0,), checkpoint=path)
        )
    assert [row.problem for row in read_rows(path).values()] == ["I_34_8"]


def test_a_file_that_cannot_be_written_is_told_before_any_fit(fake, tmp_path):
    with pytest.raises(OutputError, match="there is no folder"):
        EXPERIMENT.run(ExperimentSettings(size="small", checkpoint=tmp_path / "no" / "rows"))
    assert not fake


def test_the_tables_and_remarks_say_what_was_missed_and_why(fake):
    outcome = EXPERIMENT.run(ExperimentSettings(problems=("I_34_8", "I_6_2", "I_40_1"), noise_ratios=(0.0,)))
    assert fake
    summary = outcome.tables["summary"]
    assert summary["percent"].tolist() == [pytest.approx(200 / 3)]
    assert outcome.tables["misses"]["problem"].tolist() == ["I_40_1"]
    text = "\n".join(outcome.remarks)
    assert "Missed at 0: the law was not found: I_40_1." in text
    assert "at 0: monomial 1 of 1, M0·h(M1) 1 of 2." in text
    assert "Of 1 problems tried that no published method of this list solved without noise, 1 are" in text
    assert "at most 2.0 s; 0 of 3 took more than 60 s" in text


def test_other_experiments_refuse_its_options():
    for settings, option in (
        ({"problems": ("I_34_8",)}, "problems"),
        ({"units": True}, "units"),
        ({"checkpoint": "rows"}, "checkpoint"),
    ):
        with pytest.raises(OptionError, match=f"figure4 does not support .*{option}"):
            check_settings(EXPERIMENTS["figure4"], ExperimentSettings(**settings))
        check_settings(EXPERIMENT, ExperimentSettings(**settings))


def test_a_file_from_before_is_kept(fake, tmp_path):
    path = tmp_path / "rows.jsonl"
    other = make_hit(problem="test_7", commit="older")
    append_row(path, other)
    EXPERIMENT.run(ExperimentSettings(problems=("I_34_8",), noise_ratios=(0.0,), checkpoint=path))
    assert fake == [("I_34_8", 0.0, SEEDS[0])]
    assert [row.problem for row in read_rows(path).values()] == ["test_7", "I_34_8"]

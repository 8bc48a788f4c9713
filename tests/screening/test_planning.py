from __future__ import annotations

import re

import pandas as pd
import pytest

import symscreen
from symscreen.errors import MemoryLimitError, OptionError
from symscreen.results.budget_note import format_duration
from symscreen.screening import space_generation

OPTIONS = {"layers": "ub", "unary": "square,log", "binary": "add,mul"}


@pytest.fixture
def wide(rng) -> pd.DataFrame:
    data = pd.DataFrame(rng.uniform(0.5, 2.0, (300, 12)), columns=[f"x{place}" for place in range(12)])
    data["y"] = data.x0 * data.x1 + rng.normal(0, 0.1, 300)
    return data


@pytest.mark.slow
def test_a_plan_counts_as_the_screen_does(wide):
    plan = symscreen.plan(wide, **OPTIONS)
    result = symscreen.screen(wide, **OPTIONS)
    assert plan.n_features == result.n_scored
    assert plan.pool_bytes == 8 * 300 * plan.layers[1].n_features
    assert plan.peak_bytes > plan.pool_bytes
    low, high = plan.seconds
    assert 0.0 < low == high


@pytest.mark.slow
def test_a_race_may_take_as_long_as_scoring_everything(wide):
    low, high = symscreen.plan(wide, search="race", **OPTIONS).seconds
    assert 0.0 < low <= high
    one, other = symscreen.plan(wide, search="sieve", **OPTIONS).seconds
    assert one == other


def test_options_are_checked_as_in_a_screen(wide):
    with pytest.raises(OptionError, match="leave it out, or use search='race'"):
        symscreen.plan(wide, risk=0.1)
    with pytest.raises(OptionError, match="top is 0"):
        symscreen.plan(wide, top=0)
    with pytest.raises(OptionError, match="jobs is 0"):
        symscreen.plan(wide, jobs=0)


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["_POOL_MEMORY_SHARE", "_LARGE_POOL_BYTES"])
def test_a_pool_that_would_take_much_memory_is_not_held_in_a_search(limit, wide, monkeypatch):
    assert symscreen.plan(wide, search="sieve", **OPTIONS).pool_bytes > 0
    expected = symscreen.screen(wide, search="sieve", **OPTIONS)
    monkeypatch.setattr(space_generation, limit, 0)
    assert symscreen.plan(wide, search="sieve", **OPTIONS).pool_bytes == 0
    assert symscreen.plan(wide, **OPTIONS).pool_bytes > 0  # an exact screen needs it
    recompute_options = []
    expand = space_generation.expand

    def log_option(*args, **options):
        recompute_options.append(options.get("recompute_pool"))
        return expand(*args, **options)

    monkeypatch.setattr(space_generation, "expand", log_option)
    found = symscreen.screen(wide, search="sieve", **OPTIONS)
    assert True in recompute_options
    assert found.table.equals(expected.table)
    assert found.record["search"] == expected.record["search"]


@pytest.mark.slow
def test_what_cannot_fit_is_refused_with_the_peak_and_ways_out(wide):
    with pytest.raises(MemoryLimitError, match=r"raise max_ram= to (at least )?\d") as refused:
        symscreen.screen(wide, layers="ubb", max_ram="60MB")
    assert re.search(r"\d+(\.\d)? [MG]B", str(refused.value))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.01, "1 s"), (59.4, "59 s"), (61.0, "1 min"), (5000.0, "83 min"), (7200.0, "2 h"), (1e6, "12 days")],
)
def test_times_are_told_roughly(seconds, text):
    assert format_duration(seconds) == text


@pytest.mark.slow
def test_plan_takes_every_option_of_screen(wide, tmp_path):
    from click.testing import CliRunner

    from symscreen.cli.command import command

    screen, plan = (command.get_command(None, verb) for verb in ("screen", "plan"))
    assert [option.name for option in plan.params] == [option.name for option in screen.params]
    wide.to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "out.csv").write_text("there already")
    options = ["--layers", "u", "--also", "x0*x1", "--pool-size", "9", "--rounds", "2", "--seed", "3"]
    options += ["--class-members", "3", "--chunk-size", "50", "--checkpoint", tmp_path / "kept"]
    options += ["--out", tmp_path / "out.csv", "--bundle", tmp_path / "b.json"]
    options += ["--report", tmp_path / "r.html"]
    done = CliRunner().invoke(command, ["plan", str(tmp_path / "data.csv"), *map(str, options)])
    assert done.exit_code == 0, done.output
    assert "features to score" in done.output
    assert sorted(one.name for one in tmp_path.iterdir()) == ["data.csv", "out.csv"]


@pytest.mark.slow
def test_formulas_of_the_users_own_and_groups_are_counted(wide):
    wide["x11"] = (wide["x11"] * 20).round()
    asked = OPTIONS | {"layers": "u", "also": ["x0*x1*x2"], "groups": "x11", "stability": 2}
    assert symscreen.plan(wide, **asked).n_features == symscreen.screen(wide, **asked).n_scored


def test_what_is_done_several_times_takes_so_much_longer(wide, monkeypatch):
    from symscreen.screening import plan as planning

    monkeypatch.setattr(planning, "_estimate_seconds", lambda *_, **__: (2.0, 3.0, 3.0))
    assert symscreen.plan(wide, rounds=3, **OPTIONS).seconds == (6.0, 9.0)
    assert symscreen.plan(wide, stability=4, **OPTIONS).seconds == (10.0, 15.0)


def test_a_misspelt_option_is_refused_with_the_near_one(wide):
    with pytest.raises(OptionError, match="plan has no option 'layer'; did you mean 'layers'"):
        symscreen.plan(wide, layer="ub")

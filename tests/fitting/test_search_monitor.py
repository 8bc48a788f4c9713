"""The time limit and the progress of a fit."""

from __future__ import annotations

import io
import math
import sys
from dataclasses import replace

import numpy as np
import pytest

import symscreen
from symscreen import FitProgress
from symscreen.cli.output import show_fit_progress
from symscreen.errors import OptionError
from symscreen.fitting import search_monitor
from symscreen.fitting.effort import EFFORTS
from symscreen.fitting.search_monitor import SearchMonitor
from symscreen.report.terminal.listings import print_table
from symscreen.report.terminal.result_tables import build_fit_tables

LAYERS = {"operators": "ablation", "layers": "ub"}
N = 60


@pytest.fixture
def frame(rng):
    columns = dict(zip(("u", "v"), rng.uniform(1.0, 4.0, (2, N)), strict=True))
    return columns | {"y": columns["u"] ** 3 - columns["u"] * columns["v"] + 0.1 * rng.normal(size=N)}


@pytest.fixture(autouse=True)
def _small_pool(monkeypatch):
    """Make the searches for laws quick."""
    monkeypatch.setitem(EFFORTS, "default", replace(EFFORTS["default"], pool_formulas=1000))


@pytest.fixture
def end_after(monkeypatch):
    """Return a function that lets the time of the next fit end after a number of looks at the clock."""

    def set_clock(n_looks):
        looks = []

        def monotonic():
            looks.append(None)
            return math.inf if len(looks) > n_looks else 0.0

        monkeypatch.setattr(search_monitor, "monotonic", monotonic)
        return looks

    return set_clock


def hide_limits(record):
    return {name: value for name, value in record.items() if name != "partial"}


def test_a_tiny_time_limit_still_gives_a_formula_and_says_what_was_left_out(frame):
    result = symscreen.fit(frame, target="y", operators="basic", time_limit=1e-9)
    assert result.is_partial
    assert {"power products", "matched pairs", "layers ub"} <= set(
        result.record["partial"]["stages_left_out"]
    )
    assert result.record["partial"]["stages_cut_short"] == []
    assert result.formula.terms
    assert result.r2 > 0.9
    notice = next(notice for notice in result.notices if notice.startswith("partial: "))
    assert "left out power products and" in notice
    assert "a longer time_limit= may change the formula" in notice
    assert len(notice) < 150


def test_a_time_limit_does_not_say_that_noise_has_no_formula(rng):
    x, y = rng.normal(size=(N, 2)), rng.normal(size=N)
    whole, part = (symscreen.fit(x, y, time_limit=limit, **LAYERS) for limit in (None, 1e-9))
    assert whole.formula.terms == part.formula.terms == ()
    assert whole.verdict == "no formula: none is better than the mean"
    assert part.verdict == "no formula found within the time limit"
    assert not any("no formula is better" in notice for notice in part.notices)


def test_a_time_limit_that_is_not_reached_changes_nothing(frame):
    whole, limited = (symscreen.fit(frame, target="y", time_limit=limit, **LAYERS) for limit in (None, "1h"))
    assert limited.formula == whole.formula
    assert limited.record == whole.record
    assert limited.notices == whole.notices
    assert not limited.is_partial


@pytest.mark.slow
def test_wherever_the_time_ends_the_result_is_in_order_and_more_time_explains_no_less(frame, end_after):
    options = {"target": "y", "operators": "ablation", "max_terms": 6}
    looks = end_after(math.inf)
    whole = symscreen.fit(frame, time_limit="1h", **options)
    n_looks, shares, left_out = len(looks), [], []
    assert n_looks > 5
    for n in range(0, n_looks + 1, 8):
        end_after(n)
        result = symscreen.fit(frame, time_limit="1h", **options)
        shares.append(result.front.r2.max())
        left_out.append(len(result.record.get("partial", {}).get("stages_left_out", ())))
    assert shares == sorted(shares)
    assert left_out == sorted(left_out, reverse=True)
    assert left_out[0] > 0
    end_after(n_looks)
    again = symscreen.fit(frame, time_limit="1h", **options)
    assert (again.formula, again.record) == (whole.formula, whole.record)


@pytest.mark.slow
def test_the_scan_of_a_large_space_ends_between_blocks(frame, end_after, monkeypatch):
    monkeypatch.setattr("symscreen.fitting.subset_search._BATCH_VALUES", 1)
    options = {"target": "y", "operators": "basic", "layers": "bub"}
    looks = end_after(math.inf)
    whole = symscreen.fit(frame, time_limit="1h", **options)
    end_after(len(looks) - 1)
    part = symscreen.fit(frame, time_limit="1h", **options)
    assert part.record["partial"] == {"stages_left_out": [], "stages_cut_short": ["layers bub"]}
    assert part.record["searched"] < whole.record["searched"]
    assert part.record["models"] < whole.record["models"]
    assert "the time limit ended layers bub early" in " ".join(part.notices)


@pytest.mark.slow
def test_without_time_for_cross_validation_ebic_chooses(frame, end_after):
    options = {"target": "y", "criterion": "cv", "folds": 3, **LAYERS}
    looks = end_after(math.inf)
    whole = symscreen.fit(frame, time_limit="1h", **options)
    assert whole.record["cv_error"] is not None
    for n in (0, len(looks) - 1):
        end_after(n)
        part = symscreen.fit(frame, time_limit="1h", **options)
        assert "cross-validation" in part.record["partial"]["stages_left_out"]
        assert part.record["cv_error"] is None
        print_table(build_fit_tables(part), stream := io.StringIO())
        shown = " ".join(stream.getvalue().split())
        assert "The time limit left out a part of the search." in shown
        assert "features together; chosen by ebic " in shown


def test_a_required_input_is_kept_within_a_time_limit(frame):
    result = symscreen.fit(frame, target="y", operators="basic", must_use="v", time_limit=1e-9)
    assert result.is_partial
    assert any("v" in str(term) for term in result.formula.terms)


@pytest.mark.parametrize("limit", [0, -1, "soon", "0s"])
def test_what_is_no_time_is_refused(frame, limit):
    with pytest.raises(OptionError, match=r"time_limit=.* is not a time above 0, such as 60s"):
        symscreen.fit(frame, target="y", time_limit=limit)


@pytest.mark.slow
def test_progress_names_the_stages_and_better_formulas_replace_the_first(frame, run_only_stages):
    run_only_stages("power products", "transformed sums", "matched pairs")
    reports = []
    watched = symscreen.fit(frame, target="y", operators="ablation", on_progress=reports.append)
    assert all(isinstance(report, FitProgress) for report in reports)
    stages = [*dict.fromkeys(report.stage for report in reports)]
    assert stages[:2] == ["layers u", "power products"]
    assert {"power products", "matched pairs", "layers u", "layers ub"} <= set(stages)
    shares = [report.r2 for report in reports if report.r2 is not None]
    assert shares[0] > 0.0
    assert shares[0] < shares[-1]
    formulas = [report.formula for report in reports if report.formula is not None]
    assert formulas[-1] == watched.formula.round_numbers(6).equation
    plain = symscreen.fit(frame, target="y", operators="ablation")
    assert (plain.formula, plain.record, plain.notices) == (watched.formula, watched.record, watched.notices)


def test_progress_of_several_targets_shows_all_formulas(frame):
    reports = []
    frame["z"] = 2.0 * frame["u"] ** 3 + 1.0
    symscreen.fit(frame, target="y,z", on_progress=reports.append, **LAYERS)
    assert all(f"{name} = " in reports[-1].formula for name in "yz")


def test_no_formula_is_shown_for_noise(rng):
    reports = []
    symscreen.fit(rng.normal(size=(N, 2)), rng.normal(size=N), on_progress=reports.append, **LAYERS)
    assert {report.formula for report in reports} == {None}
    assert str(reports[-1]) == reports[-1].stage


def test_what_cannot_be_called_is_refused(frame):
    with pytest.raises(OptionError, match="on_progress is 'loud'; give a function"):
        symscreen.fit(frame, target="y", on_progress="loud")


def test_a_monitor_without_a_deadline_leaves_nothing_out():
    monitor = SearchMonitor()
    assert monitor.start("layers u")
    assert not monitor.should_stop()
    assert monitor.build_record() == {}


class Terminal(io.StringIO):
    """A standard error that is a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize(("stream", "quiet"), [(io.StringIO, False), (Terminal, True)])
def test_nothing_is_shown_in_a_pipe_or_quietly(stream, quiet, monkeypatch):
    monkeypatch.setattr(sys, "stderr", shown := stream())
    with show_fit_progress(quiet=quiet) as listener:
        assert listener is None
    assert shown.getvalue() == ""


def test_a_terminal_shows_the_stage_and_the_best_formula_and_no_control_characters(monkeypatch):
    monkeypatch.setattr(sys, "stderr", shown := Terminal())
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    with show_fit_progress(quiet=False) as listener:
        listener(FitProgress("single index", "y = \x1b[2J*2", 0.987654))
    assert "single index" in shown.getvalue()
    assert "R2 0.987654  y = \\x1b[2J*2" in shown.getvalue()


def test_an_interrupted_fit_tells_the_best_formula(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    def interrupt():
        with show_fit_progress(quiet=False) as listener:
            listener(FitProgress("single index", "y = 2*x", 0.5))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert capsys.readouterr().err.endswith("symscreen: best so far: R2 0.5  y = 2*x\n")


def test_the_numbers_of_a_progress_are_finite(frame):
    reports = []
    symscreen.fit(frame, target="y", on_progress=reports.append, **LAYERS)
    assert np.isfinite([report.r2 for report in reports if report.r2 is not None]).all()

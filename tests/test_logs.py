from __future__ import annotations

import errno
import io
import json
import logging
from importlib import import_module

import pytest
from helpers.requirements import needs

import symscreen
from symscreen.cli.command import run_command
from symscreen.logs import LOGGER, JsonLines, LogStream


def test_it_is_quiet_until_somebody_listens(frame, capsys):
    symscreen.screen(frame, layers="u", top=1)
    assert capsys.readouterr() == ("", "")


def test_stages_come_in_order_with_their_figures(frame, caplog):
    with caplog.at_level(logging.INFO, logger="symscreen"):
        result = symscreen.screen(frame, layers="u", top=1)
    stages = [(record.stage, record.figures) for record in caplog.records]
    names = [name for name, _ in stages]
    assert names[:2] == ["prepared", "grown"]
    assert set(names[2:-1]) == {"scored"}
    assert stages[-1] == ("finished", {"scored": result.n_scored, "shown": 1})
    assert stages[0][1]["rows"] == 60


def test_the_command_line_writes_json_lines_and_leaves_no_handler(frame, tmp_path):
    frame.to_csv(tmp_path / "data.csv", index=False)
    before = list(LOGGER.handlers)
    command = ["screen", str(tmp_path / "data.csv"), "--layers", "u", "--quiet", "--log-json"]
    assert run_command([*command, str(tmp_path / "log")]) == 0
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [lines[0]["stage"], lines[-1]["stage"]] == ["prepared", "finished"]
    assert all({"time", "level"} <= line.keys() for line in lines)
    assert LOGGER.handlers == before
    assert run_command([*command, str(tmp_path / "no" / "log")]) == 2


@needs("dev-full")
def test_a_log_on_a_full_disk_costs_a_line_and_not_the_ranking(frame, tmp_path, capsys):
    frame.to_csv(tmp_path / "data.csv", index=False)
    before, out = list(LOGGER.handlers), tmp_path / "r.csv"
    command = ["screen", str(tmp_path / "data.csv"), "--layers", "u", "--quiet", "--out", str(out)]
    assert run_command([*command, "--log-json", "/dev/full"]) == 0
    complaint = capsys.readouterr().err
    assert complaint.count("\n") == 1
    assert "/dev/full': the log could not be written to its end (No space left on device)" in complaint
    assert LOGGER.handlers == before
    told = out.read_bytes()
    assert run_command([*command, "--force"]) == 0
    assert out.read_bytes() == told


class _Full(io.StringIO):
    """Holds one line; what is more is refused when it is written, or when it is closed."""

    def __init__(self, when):
        super().__init__()
        self.when, self.asked = when, 0

    def write(self, text):
        self.asked += 1
        if self.when == "written" and self.asked > 1:
            raise OSError(errno.ENOSPC, "full")
        return super().write(text)

    def close(self):
        if self.when == "closed":
            raise OSError(errno.ENOSPC, "full")
        super().close()


@pytest.mark.parametrize(("when", "asked"), [("written", 2), ("closed", 3), ("never", 3)])
def test_a_stream_that_cannot_be_written_is_left_alone_and_says_why(when, asked, capsys):
    stream = _Full(when)
    handler = LogStream(stream)
    for _ in range(3):
        handler.handle(logging.makeLogRecord({"msg": "grown"}))
    failure = handler.close_stream()
    assert stream.asked == asked
    assert (None if failure is None else failure.errno) == (None if when == "never" else errno.ENOSPC)
    assert capsys.readouterr() == ("", "")


def test_a_record_that_is_no_json_is_told_as_logging_tells_it(capsys):
    handler = LogStream(io.StringIO())
    handler.setFormatter(JsonLines())
    handler.handle(logging.makeLogRecord({"stage": "grown", "figures": {"features": object()}}))
    assert handler.failure is None
    assert "not JSON serializable" in capsys.readouterr().err


def test_a_hostile_name_stays_one_line_of_json():
    record = logging.makeLogRecord({"levelname": "INFO", "stage": 'a"\n\x1b', "figures": {"x": "\r\n"}})
    line = JsonLines().format(record)
    assert "\n" not in line
    assert "\x1b" not in line
    assert json.loads(line)["stage"] == 'a"\n\x1b'


def test_an_interrupt_tells_the_best_so_far(frame, tmp_path, capsys, monkeypatch):
    frame.to_csv(tmp_path / "data.csv", index=False)
    screen = import_module("symscreen.cli.screen")
    own = screen.show_progress

    def interrupted(*, quiet):
        return _Interrupting(own(quiet=quiet))

    monkeypatch.setattr(screen, "show_progress", interrupted)
    options = ["--layers", "ub", "--jobs", "1", "--chunk-size", "100"]
    assert run_command(["screen", str(tmp_path / "data.csv"), *options]) == 130
    complaint = capsys.readouterr().err.splitlines()
    assert "best so far, of " in complaint[0]
    assert "t0 0." in complaint[0]
    assert complaint[-1] == "symscreen: interrupted"


class _Interrupting:
    """Lets some chunks pass, and then interrupts as ctrl-C does."""

    def __init__(self, context):
        self._context, self._left = context, 4

    def __enter__(self):
        tell = self._context.__enter__()

        def deadly(standing):
            tell(standing)
            self._left -= 1
            if not self._left:
                raise KeyboardInterrupt

        return deadly

    def __exit__(self, *error):
        return self._context.__exit__(*error)

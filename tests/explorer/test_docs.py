"""What docs/explore.md and SECURITY.md say is what the code does."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from symscreen.cli.command import run_command
from symscreen.explorer import application, row_points, security
from symscreen.explorer.ranking_exploration import MAX_FORMULAS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "explore.md").read_text(encoding="utf-8")
PROMISES = " ".join((ROOT / "SECURITY.md").read_text(encoding="utf-8").split())


def test_the_limits_are_those_of_the_code():
    assert f"lists up to {MAX_FORMULAS} formulas and draws up to {row_points.MAX_POINTS} rows" in PAGE
    assert f"A typed formula has at most {application.MAX_TYPED_BYTES} bytes" in PROMISES
    assert f"token of {8 * security._TOKEN_BYTES} bits" in PROMISES
    assert f"listens on {security.LOOPBACK} and nowhere else" in PROMISES


@pytest.mark.slow
def test_the_commands_run(tmp_path, monkeypatch, frame):
    served = []
    monkeypatch.setattr("symscreen.explorer.server.serve", lambda *given, **_: served.append(given))
    monkeypatch.chdir(tmp_path)
    frame.to_csv("data.csv", index=False)
    lines = "".join(re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)).splitlines()
    assert len(lines) == 5
    for line in lines:
        words = shlex.split(line.replace("ssh -L 8123:127.0.0.1:8123 remote ", "").replace("200", "5"))
        assert run_command(words[1:]) == 0
    assert len(served) == 3

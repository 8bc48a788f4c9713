"""The verb `explore`: its address, its refusals, and how it ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from helpers.explorer_cases import store_cases
from helpers.interruptible import start_interruptible
from helpers.requirements import needs

from symscreen.cli.command import run_command


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    return store_cases(tmp_path_factory.mktemp("explore"))


@pytest.fixture
def served(monkeypatch):
    """Collect what the verb would serve."""
    calls = []

    def serve(exploration, *, port, opens_browser, announce):
        announce("http://127.0.0.1:1/t/")
        calls.append((exploration, port, opens_browser))

    monkeypatch.setattr("symscreen.explorer.server.serve", serve)
    return calls


def test_the_address_is_the_only_line_of_output(stored, served, capsys):
    assert (
        run_command(["explore", stored.ranking, "--data", stored.data, "--no-browser", "--port", "8123"]) == 0
    )
    shown = capsys.readouterr()
    assert shown.out == "http://127.0.0.1:1/t/\n"
    assert shown.err == "symscreen: the page is open until you press Ctrl-C\n"
    ((exploration, port, opens_browser),) = served
    assert (port, opens_browser) == (8123, False)
    assert exploration.describe()["has_rows"] is True


def test_by_default_a_browser_is_opened_on_a_free_port(stored, served, capsys):
    assert run_command(["explore", stored.model, "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert served[0][1:] == (0, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no.json"], "no.json"),
        (["r.json", "--data", "no.csv"], "no.csv"),
        (["r.json", "--port", "70000"], "70000 is not in the range"),
        (["r.json", "--host", "example"], "No such option '--host'"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_line(stored, served, capsys, monkeypatch, arguments, words):
    monkeypatch.chdir(Path(stored.ranking).parent)
    assert run_command(["explore", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert len(error.splitlines()) == 1
    assert served == []


def test_without_its_packages_it_says_what_to_install(stored, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "symscreen.explorer.server", raising=False)
    assert run_command(["explore", stored.ranking]) == 2
    assert "pip install 'symscreen[explore]'" in capsys.readouterr().err


def test_a_port_that_is_taken_is_refused(stored, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert run_command(["explore", stored.ranking, "--no-browser", "--port", port]) == 2
    error = capsys.readouterr().err
    assert f"--port {port} cannot be used" in error
    assert len(error.splitlines()) == 1


@pytest.mark.slow
@needs("posix")
@needs("proc")
def test_a_run_listens_on_the_loopback_address_logs_nothing_and_ends_with_0(stored):
    words = [
        sys.executable,
        "-m",
        "symscreen",
        "explore",
        stored.ranking,
        "--data",
        stored.data,
        "--no-browser",
    ]
    with start_interruptible(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        address = process.stdout.readline().strip()
        origin, port = address.rsplit("/", 2)[0], int(address.split(":")[2].split("/")[0])
        with urllib.request.urlopen(address + "formulas") as answer:  # noqa: S310  # its own address
            assert answer.headers["Server"] is None
            assert answer.status == 200
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{origin}/formulas")  # noqa: S310  # its own address
        sockets = Path("/proc/net/tcp").read_text().splitlines()
        listening = {line.split()[1] for line in sockets if line.split()[3] == "0A"}
        assert f"0100007F:{port:04X}" in listening
        assert f"00000000:{port:04X}" not in listening
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out == ""
    assert err == "symscreen: the page is open until you press Ctrl-C\n"


@pytest.mark.slow
@needs("posix")
def test_the_browser_gets_a_code_and_not_the_token(stored, tmp_path):
    browser = tmp_path / "browser"
    browser.write_text(
        f'#!/bin/sh\necho "$1" > {tmp_path}/told.tmp\nmv {tmp_path}/told.tmp {tmp_path}/told\n'
    )
    browser.chmod(0o755)
    words = [sys.executable, "-m", "symscreen", "explore", stored.ranking, "--quiet"]
    surroundings = os.environ | {"BROWSER": f"{browser} %s"}
    with start_interruptible(words, stdout=subprocess.PIPE, text=True, env=surroundings) as process:
        address = process.stdout.readline().strip()
        while not (tmp_path / "told").exists():
            assert process.poll() is None
        told = (tmp_path / "told").read_text().strip()
        assert address.split("/")[3] not in told
        with urllib.request.urlopen(told) as answer:  # noqa: S310  # its own address
            assert answer.url == address
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(told)  # noqa: S310  # its own address
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 0

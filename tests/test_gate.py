"""The gate installs what tests need, and says what it could not install."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest
from helpers.requirements import DATA_VARIABLE, REQUIREMENTS, Requirement, needs

pytestmark = needs("posix")
SCRIPT = Path(__file__).resolve().parents[1] / ".ci" / "install_requirements.py"
PACKAGE = Requirement("the package nowhere", lambda: None, "pip install nowhere", pip="nowhere")

APT_GET = """#!/bin/sh
echo "$@" >> LOG
case "$@" in
  *octave) echo > FOLDER/octave; /bin/chmod +x FOLDER/octave;;
  *chromium) echo "E: Unable to locate package chromium" >&2; exit 100;;
esac
"""
PIP = """#!/bin/sh
echo "$@" >> LOG
echo "ERROR: No matching distribution found" >&2
exit 1
"""


@pytest.fixture
def gate(tmp_path, monkeypatch):
    """Load the script where the only programs are an apt-get and a pip that note their arguments."""
    spec = importlib.util.spec_from_file_location("install_requirements", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setattr(sys, "path", [*sys.path])
    spec.loader.exec_module(module)
    some = {name: REQUIREMENTS[name] for name in ("chromium", "octave", "ode-strogatz")} | {
        "nowhere": PACKAGE
    }
    monkeypatch.setattr(module, "REQUIREMENTS", some)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    for name, text in (("apt-get", APT_GET), ("python", PIP)):
        file = tmp_path / name
        file.write_text(text.replace("LOG", str(tmp_path / "log")).replace("FOLDER", str(tmp_path)))
        file.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    return module


def read_log(folder):
    path = folder / "log"
    return path.read_text().splitlines() if path.exists() else []


def test_what_is_missing_is_installed_and_what_cannot_be_had_is_named_with_the_reason(gate, tmp_path, capsys):
    assert gate.install_missing() == ["chromium", "nowhere"]
    out, err = capsys.readouterr()
    assert out == ""
    lost = "cannot be had; tests that need it are skipped"
    assert err.splitlines() == [
        f"Chromium {lost}: E: Unable to locate package chromium",
        f"the package nowhere {lost}: ERROR: No matching distribution found",
        f"{DATA_VARIABLE} is not set; tests on published data are skipped",
    ]
    update, chromium, octave, pip = read_log(tmp_path)
    assert update.endswith(" update")
    assert chromium.endswith(" install --yes --no-install-recommends chromium")
    assert octave.endswith(" install --yes --no-install-recommends octave")
    assert pip == "-m pip install --quiet --disable-pip-version-check nowhere"


def test_what_is_there_is_not_installed_again(gate, tmp_path, monkeypatch, capsys):
    (tmp_path / "chromium").write_text("")
    (tmp_path / "chromium").chmod(0o755)
    monkeypatch.delitem(gate.REQUIREMENTS, "nowhere")
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    assert gate.install_missing() == []
    assert capsys.readouterr() == ("", "")
    assert [line.split()[-1] for line in read_log(tmp_path)] == ["update", "octave"]
    assert gate.install_missing() == []
    assert len(read_log(tmp_path)) == 2


def test_one_kind_is_installed_alone_and_in_silence(gate, tmp_path, capsys):
    gate.install_kinds(gate.find_missing(), ["programs"])
    assert [line.split()[-1] for line in read_log(tmp_path)] == ["update", "chromium", "octave"]
    gate.install_kinds(gate.find_missing(), ["packages"])
    assert [line.split()[-1] for line in read_log(tmp_path)][3:] == ["nowhere"]
    assert capsys.readouterr() == ("", "")


def test_programs_need_root(gate, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert gate.install_missing() == ["chromium", "octave", "nowhere"]
    assert "Octave cannot be had; tests that need it are skipped: apt-get and root are needed\n" in (
        capsys.readouterr().err
    )
    assert [line.split()[-1] for line in read_log(tmp_path)] == ["nowhere"]


def test_an_extra_is_installed_from_this_checkout(gate, tmp_path, monkeypatch):
    extra = Requirement("the package nowhere", lambda: None, "pip", pip=".[nowhere]")
    monkeypatch.setattr(gate, "REQUIREMENTS", {"nowhere": extra})
    assert gate.install_missing() == ["nowhere"]
    assert read_log(tmp_path) == ["-m pip install --quiet --disable-pip-version-check --editable .[nowhere]"]


def test_an_installer_that_hangs_is_given_up(gate, monkeypatch):
    monkeypatch.setattr(gate, "_TIME_LIMIT_S", 0.2)
    assert gate.run_installer("/bin/sleep", "30") == "/bin/sleep took more than 0.2 s"


UV = """#!/bin/sh
echo "uv $@" >> LOG
exit STATUS
"""


@pytest.mark.parametrize(("status", "n_lines"), [("0", 1), ("1", 3)])
def test_uv_installs_all_packages_at_once_and_pip_what_it_cannot(
    gate, tmp_path, monkeypatch, status, n_lines
):
    uv = tmp_path / "uv"
    uv.write_text(UV.replace("LOG", str(tmp_path / "log")).replace("STATUS", status))
    uv.chmod(0o755)
    extra = Requirement("the package elsewhere", lambda: None, "pip", pip=".[elsewhere]")
    monkeypatch.setattr(gate, "REQUIREMENTS", {"nowhere": PACKAGE, "elsewhere": extra})
    gate.install_missing()
    lines = read_log(tmp_path)
    assert lines[0].endswith("-r pyproject.toml --extra=elsewhere nowhere")
    assert [line.startswith("-m pip install") for line in lines[1:]] == [True] * (n_lines - 1)

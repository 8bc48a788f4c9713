"""Grammars and data reach an installed wheel, and work in an editable install too."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROBE = (
    "import symscreen; from symscreen.grammar import list_grammar_names; "
    "from symscreen._resources import find_resource_folder; "
    "print(symscreen.load_grammar('strogatz').constants, *list_grammar_names()); "
    "print(len(symscreen.datasets.load_strogatz('vdp2').frame), find_resource_folder('operators'))"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = "from hatchling.build import build_wheel; import sys; print(build_wheel(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", build, folder], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return folder / done.stdout.splitlines()[-1]


def test_the_wheel_carries_every_grammar_and_table_and_the_manual_page(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    for source, inside in (("operators", "_operators"), ("data", "_data")):
        for file in (ROOT / source).rglob("*.*"):
            if "__pycache__" not in file.parts:
                assert f"symscreen/{inside}/{file.relative_to(ROOT / source).as_posix()}" in names
    assert "symscreen/py.typed" in names
    assert any(name.endswith(".data/data/share/man/man1/symscreen.1") for name in names)
    assert not any("test" in name.split("/")[0] for name in names)


@pytest.mark.slow
def test_a_wheel_built_again_has_the_same_bytes(tmp_path):
    build = "from hatchling.build import build_wheel; import sys; print(build_wheel(sys.argv[1]))"
    bytes_ = set()
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000", "PYTHONHASHSEED": "random"}
        done = subprocess.run(
            [sys.executable, "-c", build, tmp_path / place],
            cwd=ROOT, env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        bytes_.add((tmp_path / place / done.stdout.splitlines()[-1]).read_bytes())
    assert len(bytes_) == 1


@pytest.mark.slow
def test_an_installed_wheel_finds_them(wheel, tmp_path):
    # the wheel unpacked is what an installer lays down; dependencies come from this environment
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    lines = _probe(tmp_path, str(tmp_path / "site"))
    assert lines[0] == "(1, 2) ablation basic dynamics physics standard strogatz"
    assert lines[1] == f"400 {tmp_path / 'site' / 'symscreen' / '_operators'}"


@pytest.mark.slow
def test_an_editable_install_finds_them(tmp_path):
    build = "from hatchling.build import build_editable; import sys; print(build_editable(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", build, tmp_path], cwd=ROOT, capture_output=True, text=True, check=True
    )
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    find = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(
        subprocess.run([python, "-c", find], capture_output=True, text=True, check=True).stdout.strip()
    )
    zipfile.ZipFile(tmp_path / done.stdout.splitlines()[-1]).extractall(site)
    (site / "dependencies.pth").write_text(
        "\n".join(path for path in sys.path if path.endswith("site-packages"))
    )
    lines = _probe(tmp_path, "", python)
    assert lines[1] == f"400 {ROOT / 'operators'}"


def _probe(folder: Path, path: str, python: str | Path = sys.executable) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [python, "-c", PROBE], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_the_version_is_that_of_the_project():
    import symscreen

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert symscreen.__version__ == project["version"]
    assert f"## {project['version']}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_citation_names_the_version_and_the_licence_of_the_package():
    fields = dict(re.findall(r"^([a-z-]+): (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert fields["version"] == project["version"]
    assert fields["license"] == project["license"]
    assert f"  - name: {project['authors'][0]['name']}\n" in (ROOT / "CITATION.cff").read_text()
    assert not {"url", "doi", "repository-code"} & set(fields)  # the project has none yet


def test_the_gate_runs_a_first_command_from_the_wheel_alone():
    assert re.search(r"^make docs check wheel\b", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    recipe = re.search(r"^wheel: .*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    assert re.findall(r"make-environment,(.*)\)$", recipe, re.MULTILINE) == [".env-wheel,dist/wheel/*.whl"]
    command = recipe.splitlines()[-1].strip()
    assert command.startswith("cd .env-wheel && bin/symscreen screen ")  # no module of the checkout is there

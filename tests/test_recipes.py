"""The recipes for a conda package and a container say what pyproject.toml says."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
RECIPE = (ROOT / "recipe" / "recipe.yaml").read_text()
CONTAINER = (ROOT / "Containerfile").read_text()


def _read_list(key):
    """Read the items below a key of the recipe."""
    block = re.search(rf"^ *{key}:\n((?: +- .*\n)+)", RECIPE, re.MULTILINE)[1]
    return [line.strip().removeprefix("- ") for line in block.splitlines()]


def _write_as_conda(requirement):
    return re.sub(r"^([\w-]+)(?=[<>=])", r"\1 ", requirement)


def test_the_recipe_requires_what_the_package_requires():
    run, host = _read_list("run"), _read_list("host")
    python = f"python {PROJECT['requires-python']}"
    assert run == [python, *map(_write_as_conda, PROJECT["dependencies"])]
    assert host == [python, "pip", *map(_write_as_conda, PYPROJECT["build-system"]["requires"])]


def test_the_recipe_describes_the_package():
    assert f'  version: "{PROJECT["version"]}"\n' in RECIPE
    assert f'  summary: "{PROJECT["description"]}"\n' in RECIPE
    assert f"  license: {PROJECT['license']}\n" in RECIPE
    assert f"      - symscreen = {PROJECT['scripts']['symscreen']}\n" in RECIPE
    assert "://" not in RECIPE  # the project has no address yet


def test_the_container_has_a_python_and_extras_that_the_package_knows():
    assert re.search(r"^FROM .*/python:(.*)-slim$", CONTAINER, re.MULTILINE)[1] in PROJECT["requires-python"]
    extras = re.search(r"^ARG EXTRAS=(.*)$", CONTAINER, re.MULTILINE)[1].split(",")
    assert set(extras) <= set(PROJECT["optional-dependencies"])


@pytest.mark.slow
def test_the_files_that_the_container_copies_build_the_whole_package(tmp_path):
    for line in re.findall(r"^COPY (.*)$", CONTAINER, re.MULTILINE):
        *sources, target = line.split()
        place = tmp_path / target.lstrip("/")
        for source in sources:
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, place)
    build = "from hatchling.build import build_wheel; import sys; print(build_wheel(sys.argv[1]))"
    names = []
    for folder in (tmp_path / "source", ROOT):
        done = subprocess.run(
            [sys.executable, "-c", build, tmp_path], cwd=folder, capture_output=True, text=True, check=True
        )
        names.append(set(zipfile.ZipFile(tmp_path / done.stdout.splitlines()[-1]).namelist()))
    assert names[0] == names[1]


def test_the_page_on_installation_names_both_and_says_that_none_was_built():
    page = (ROOT / "docs" / "install.md").read_text()
    for name in ("recipe/recipe.yaml", "Containerfile"):
        assert f"`{name}`" in page
    assert page.count("the gate builds none") == 2

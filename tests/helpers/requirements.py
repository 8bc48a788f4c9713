"""What a test may need that a machine may lack, and the one way to skip a test.

``REQUIREMENTS`` lists every reason for which a test may be skipped. Tests ask with `require` or `needs` and
never call ``pytest.skip``; tests/test_requirements.py checks it. With ``--require-real`` a skip is a failure,
except where the requirement's ``optional_because`` says why not. This file imports only the standard library,
because ``.ci/install_requirements.py`` reads it too.
"""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

DATA_VARIABLE = "SYMSCREEN_TEST_DATA"

_OTHER_SYSTEM = "it belongs to the operating system, and no installation adds it"


@dataclass(frozen=True)
class Requirement:
    """Something that a test needs.

    ``find`` returns what the machine has (a program's path, a module, a folder, or True), or None. ``remedy``
    says how to get it. ``apt`` and ``pip`` are what these installers call it. ``optional_because`` is why
    ``--require-real`` accepts a skip; the empty text means that it does not.
    """

    what: str
    find: Callable[[], Any]
    remedy: str
    apt: str = ""
    pip: str = ""
    optional_because: str = ""

    @property
    def skip_reason(self) -> str:
        """The text with which pytest skips a test."""
        return f"it needs {self.what} ({self.remedy})"


def _list_program(what: str, commands: tuple[str, ...], apt: str) -> Requirement:
    def find() -> str | None:
        return next(filter(None, map(shutil.which, commands)), None)

    return Requirement(what, find, f"apt-get install {apt}", apt=apt)


def _list_package(module: str, pip: str) -> Requirement:
    def find() -> Any:
        return None if find_spec(module) is None else importlib.import_module(module)

    editable = "-e " if pip.startswith(".") else ""
    return Requirement(f"the package {module}", find, f"pip install {editable}'{pip}'", pip=pip)


def _list_data(folder: str, what: str) -> Requirement:
    given = os.environ.get(DATA_VARIABLE)

    def find() -> Path | None:
        path = Path(given or "", folder)
        return path if given and path.is_dir() else None

    return Requirement(
        f"{what}, {folder}/",
        find,
        f"set {DATA_VARIABLE} to the folder that has it",
        optional_because="" if given else f"{DATA_VARIABLE} is not set, and the data may not be shipped",
    )


def _list_system_part(what: str, is_there: Callable[[], bool]) -> Requirement:
    return Requirement(what, lambda: is_there() or None, "run on Linux", optional_because=_OTHER_SYSTEM)


REQUIREMENTS: dict[str, Requirement] = {
    # programs
    "chromium": _list_program("Chromium", ("chromium", "chromium-browser", "google-chrome"), "chromium"),
    "octave": _list_program("Octave", ("octave-cli", "octave"), "octave"),
    "groff": _list_program("groff", ("groff",), "groff"),
    "compiler": _list_program("a C compiler", ("cc", "gcc"), "gcc"),
    # packages beside the extra `test`
    "formulas": _list_package("formulas", ".[test-exports]"),
    "glmnet": _list_package("glmnet", ".[glmnet]"),
    "polars": _list_package("polars", "polars"),
    # packages of the extra `test`, which an environment made otherwise may lack
    "axe": _list_package("axe_core_python", "axe-core-python>=0.1"),
    "calamine": _list_package("python_calamine", ".[files]"),
    "distributed": _list_package("distributed", ".[dask]"),
    "duckdb": _list_package("duckdb", ".[files]"),
    "matplotlib": _list_package("matplotlib", ".[plot]"),
    "openpyxl": _list_package("openpyxl", ".[files]"),
    "pint": _list_package("pint", ".[units]"),
    "pip": _list_package("pip", "pip"),
    "playwright": _list_package("playwright", "playwright>=1.50"),
    "stochtree": _list_package("stochtree", ".[bart]"),
    "zstandard": _list_package("zstandard", ".[files]"),
    # published data
    "gss-jobs": _list_data("gss-jobs", "the survey of jobs (GSS)"),
    "label-ranking": _list_data("label-ranking", "the published label-ranking data"),
    "ode-strogatz": _list_data("ode-strogatz", "the ODE-Strogatz benchmark's files"),
    # parts of the operating system
    "fcntl": _list_system_part("locks of files by fcntl", lambda: find_spec("fcntl") is not None),
    "linux": _list_system_part("Linux", lambda: sys.platform.startswith("linux")),
    "mkfifo": _list_system_part("named pipes", lambda: hasattr(os, "mkfifo")),
    "posix": _list_system_part("POSIX (paths, shells, SIGKILL)", lambda: sys.platform != "win32"),
    "dev-full": _list_system_part("the device /dev/full", Path("/dev/full").exists),
    "proc": _list_system_part("/proc", Path("/proc/self/status").is_file),
}


def require(name: str) -> Any:
    """Return what ``REQUIREMENTS[name]`` finds; skip the test, or the module, where it finds nothing."""
    import pytest

    found = REQUIREMENTS[name].find()
    if found is None:
        pytest.skip(REQUIREMENTS[name].skip_reason, allow_module_level=True)
    return found


def needs(name: str) -> Any:
    """Mark a test, or a module, to be skipped where ``REQUIREMENTS[name]`` finds nothing."""
    import pytest

    requirement = REQUIREMENTS[name]
    return pytest.mark.skipif(requirement.find() is None, reason=requirement.skip_reason)


def find_requirement(skip_reason: str) -> str | None:
    """Return the name of the requirement with this reason, as pytest reports it; None where it has none."""
    text = skip_reason.removeprefix("Skipped: ")
    return next((name for name, one in REQUIREMENTS.items() if one.skip_reason == text), None)

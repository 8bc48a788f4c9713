"""What must not be imported before it is used: start-up stays fast because of it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from symscreen.cli.command import VERBS

HEAVY = (
    "numpy", "sympy", "sklearn", "scipy", "scipy.special", "numba", "pandas", "pyarrow", "rich", "dask",
    "distributed",
)  # fmt: skip


def _loaded(code: str) -> set[str]:
    report = f"{code}\nimport sys\nprint(*(n for n in {HEAVY!r} if n in sys.modules))"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()) if done.stdout.strip() else set()


def test_importing_the_package_loads_nothing_heavy():
    assert _loaded("import symscreen; symscreen.__version__; dir(symscreen)") == set()


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["--help"], ["--version"], *([verb, "--help"] for verb in VERBS)])
def test_help_loads_nothing_heavy(arguments):
    assert _loaded(f"from symscreen.cli.command import run_command; run_command({arguments!r})") == set()


@pytest.mark.slow
def test_a_screen_needs_no_sympy_no_functions_of_scipy_and_no_dask():
    code = "import symscreen\ndata = symscreen.datasets.load_strogatz('vdp1')\n"
    code += "symscreen.screen(data.frame, layers='ub', top=2)"
    assert _loaded(code).isdisjoint({"sympy", "scipy.special", "sklearn", "dask", "distributed"})


def test_every_public_name_resolves():
    import symscreen

    for name in symscreen.__all__:
        assert getattr(symscreen, name) is not None
        assert name in dir(symscreen)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = symscreen.nonsense

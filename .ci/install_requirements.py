"""Install the programs and packages that tests need and this machine lacks.

Programs come from apt-get, where this runs as root. Packages go into the environment of the Python that runs
this. What cannot be had is named on standard error with the reason. Only the names, separated by commas, go
to standard output: ``make test-all UNAVAILABLE=names`` then skips the tests that need them.

``install_requirements.py programs`` and ``install_requirements.py packages`` install one kind, as far as it
can be had, and print nothing. They may run at the same time, beside other work.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT / "tests"))

from helpers.requirements import DATA_VARIABLE, REQUIREMENTS, Requirement  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_TIME_LIMIT_S = 300
_APT_OPTIONS = ("-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=20", "-o", "DPkg::Lock::Timeout=60")
_KINDS = ("programs", "packages")


def run_installer(*command: str) -> str:
    """Run an installer, and return why it failed; the empty text where it did not."""
    surroundings = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command,
            cwd=CHECKOUT,
            env=surroundings,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIME_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{command[0]} took more than {_TIME_LIMIT_S} s"
    if done.returncode == 0:
        return ""
    return ((done.stderr or done.stdout).strip().splitlines() or [f"status {done.returncode}"])[-1]


def install_programs(names: list[str]) -> dict[str, str]:
    """Install Debian packages, and return why each that failed did."""
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return dict.fromkeys(names, "apt-get and root are needed")
    if names:
        run_installer("apt-get", *_APT_OPTIONS, "update")  # if it fails, what apt-get knew before may do
    command = ("apt-get", *_APT_OPTIONS, "install", "--yes", "--no-install-recommends")
    return {name: run_installer(*command, name) for name in names}  # one failure does not stop the others


def install_packages(names: list[str]) -> dict[str, str]:
    """Install Python packages, or what an extra of this checkout needs, and return why each that failed did.

    uv installs them at once, where the environment has it; what it cannot install is left to pip.
    """
    uv = Path(sys.executable).with_name("uv")
    extras = [name.removeprefix(".[").removesuffix("]") for name in names if name.startswith(".[")]
    others = [name for name in names if not name.startswith(".[")]
    if names and uv.exists():
        from_checkout = ("-r", "pyproject.toml", *(f"--extra={name}" for name in extras)) if extras else ()
        command = (str(uv), "pip", "install", "--quiet", "--python", sys.executable)
        if not run_installer(*command, *from_checkout, *others):
            return dict.fromkeys(names, "")
    command = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    editable = {name: ("--editable",) if name.startswith(".") else () for name in names}
    return {name: run_installer(*command, *editable[name], name) for name in names}


def install_kinds(missing: Mapping[str, Requirement], kinds: Collection[str] = _KINDS) -> dict[str, str]:
    """Install programs, packages or both, and return why each that failed did."""
    reasons: dict[str, str] = {}
    if "programs" in kinds:
        reasons |= install_programs(sorted({one.apt for one in missing.values() if one.apt}))
    if "packages" in kinds:
        reasons |= install_packages(sorted({one.pip for one in missing.values() if one.pip}))
    importlib.invalidate_caches()
    return reasons


def find_missing() -> dict[str, Requirement]:
    """Return what can be installed and is not there."""
    return {name: one for name, one in REQUIREMENTS.items() if one.find() is None and (one.apt or one.pip)}


def install_missing() -> list[str]:
    """Install what is missing, and return the names of the requirements that still are."""
    missing = find_missing()
    reasons = install_kinds(missing)
    unavailable = [name for name, one in missing.items() if one.find() is None]
    for name in unavailable:
        one = missing[name]
        reason = reasons[one.apt or one.pip]
        print(f"{one.what} cannot be had; tests that need it are skipped: {reason}", file=sys.stderr)
    if DATA_VARIABLE not in os.environ:
        print(f"{DATA_VARIABLE} is not set; tests on published data are skipped", file=sys.stderr)
    return unavailable


if __name__ == "__main__":
    if sys.argv[1:]:
        install_kinds(find_missing(), sys.argv[1:])
    else:
        print(",".join(install_missing()))

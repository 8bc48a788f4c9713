"""Peers' environments: each made once, in a folder of its own, from its recipe."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measurement import ProcessError

if TYPE_CHECKING:
    from collections.abc import Sequence

_PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1")
_UNREACHED = ("NewConnectionError", "ConnectTimeout", "name resolution", "No route to host")
_LIMIT = 1800  # seconds that an installation may take


def prepare_environment(peer: str, cache: Path) -> Path:
    """Return the Python of a peer's environment, which is made if it is not there.

    Parameters
    ----------
    peer : str
        A heading of ``peers/recipes.toml``.
    cache : Path
        Where environments lie.

    Returns
    -------
    Path

    Raises
    ------
    ProcessError
        If it cannot be installed; the text is one word.
    """
    recipe = tomllib.loads((Path(__file__).with_name("recipes.toml")).read_text())[peer]
    home = cache / peer
    python, stamp = home / "bin" / "python", home / "recipe.json"
    if stamp.exists() and json.loads(stamp.read_text()) == recipe:
        return python
    print(f"making {home}", file=sys.stderr, flush=True)
    _run([sys.executable, "-m", "venv", "--clear", str(home)])
    for package in recipe.get("first", ()):
        _run([str(python), *_PIP, "--no-deps", package])
    _run([str(python), *_PIP, *recipe["packages"]])
    stamp.write_text(json.dumps(recipe))
    return python


def _run(command: Sequence[str]) -> None:
    settings: dict[str, Any] = {"capture_output": True, "text": True, "timeout": _LIMIT}
    try:
        done = subprocess.run(command, check=False, **settings)
    except subprocess.TimeoutExpired as expired:
        raise ProcessError("slow") from expired
    if done.returncode != 0:
        raise ProcessError("offline" if any(word in done.stderr for word in _UNREACHED) else "uninstallable")

"""What other processes do in tests. Each process imports this file, so it imports little."""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path


def run_until_killed(module: str, name: str, count: str, command: list[str]) -> None:
    """Run a command that saves its state after every chunk and is killed in a call of a function.

    That is the count-th call, or the one whose last argument is a file of that name.
    """
    from symscreen.cli.command import run_command
    from symscreen.screening import checkpoint

    checkpoint._SAVE_INTERVAL_S, checkpoint._MAX_SAVE_TIME_SHARE = 0.0, 1e9
    home: Any = importlib.import_module(module)
    for part in name.split(".")[:-1]:
        home = getattr(home, part)
    own, calls = getattr(home, name.rsplit(".", maxsplit=1)[-1]), []

    def deadly(*given: Any, **named: Any) -> Any:
        calls.append(1)
        if str(len(calls)) == count or (given and str(given[-1]).endswith("/" + count)):
            os.kill(os.getpid(), signal.SIGKILL)
        return own(*given, **named)

    setattr(home, name.rsplit(".", maxsplit=1)[-1], deadly)
    sys.exit(run_command(command))


def predict_from_pickles(folder: Path) -> None:
    """Read a screener, a model and inputs, and write what the two compute of the inputs."""
    screener, model, inputs = (
        pickle.loads((folder / f"{name}.pickle").read_bytes())  # noqa: S301  # our own
        for name in ("screener", "model", "inputs")
    )
    np.save(folder / "features.npy", screener.transform(inputs))
    np.save(folder / "predicted.npy", model.predict(inputs))

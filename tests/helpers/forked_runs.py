"""What other processes do in tests. Each process imports this file, so it imports little."""

from __future__ import annotations

import importlib
import json
import os
import pickle
import re
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np


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


def estimate_and_measure_peak(
    rows: int, inputs: int, options: dict[str, Any], target: Path, *, recompute: bool
) -> None:
    """Estimate the peak memory from the size of a space and when the space is there, then screen it.

    Both estimates and the peak are written to a file.
    """
    import symscreen
    from symscreen._limits import read_resident_bytes
    from symscreen.expansion import estimate_space_size
    from symscreen.screening import residual_rounds, space_generation
    from symscreen.screening.memory_estimate import (
        estimate_memory,
        estimate_presort_bytes,
        estimate_scoring_bytes,
    )

    estimates = []
    generate_presorted_space, check_memory = (
        residual_rounds.generate_presorted_space,
        space_generation.check_scoring_memory,
    )
    generate = space_generation.expand

    def estimate_counted(task: Any) -> Any:
        size = estimate_space_size(task.dataset.names, task.grammar, task.layers, options=task.options)
        estimates.append(estimate_memory(size, task.target.n, task, recompute_pool=recompute).compute_peak())
        return generate_presorted_space(task)

    def estimate_generated(space: Any, task: Any) -> None:
        total = space.candidates.total
        scoring = estimate_scoring_bytes(space.n_rows, task, n_features=space.size, n_candidates=total)
        orders = 0 if recompute else estimate_presort_bytes(space, space.n_rows, task)
        estimates.append(read_resident_bytes() + orders + scoring)
        check_memory(space, task)

    def expand_and_recompute(*given: Any, **named: Any) -> Any:
        return generate(*given, **(named | {"recompute_pool": recompute}))

    residual_rounds.generate_presorted_space, space_generation.check_scoring_memory = (
        estimate_counted,
        estimate_generated,
    )
    space_generation.expand = expand_and_recompute
    rng = np.random.default_rng(1)
    x = rng.uniform(0.5, 2.0, (rows, inputs))
    symscreen.screen(x, x[:, 0] * x[:, 1] + rng.normal(0, 0.1, rows), **options)
    # not ru_maxrss, which a process inherits from its parent
    peak = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    assert peak is not None
    target.write_text(json.dumps([estimates, int(peak[1]) * 1024]))

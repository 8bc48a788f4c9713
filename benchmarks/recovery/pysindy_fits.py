"""What pysindy finds in the trajectories of a system, with terms of the same library.

The terms of symscreen's library that have no constant inside are given to pysindy, the simplest first:
10, 25, 60 or 150 of them. For each size of the library and each of many thresholds, the equations are
compared with the true ones. Reported is what is best for pysindy: the size and the threshold with the most
right equations.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import BENCHMARKS, run_process

from symscreen.dynamics.smoothing import smooth_trajectories
from symscreen.dynamics.term_library import build_term_library
from symscreen.dynamics.trajectories import read_trajectories
from symscreen.dynamics.weak_form import build_weak_form
from symscreen.expressions.traversal import fold_expression, iterate_constants
from symscreen.grammar import load_grammar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symscreen.expressions.tree import Expression

SIZES = (10, 25, 60, 150)
THRESHOLDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
_SIDE = BENCHMARKS / "peers" / "sides" / "pysindy_equations.py"
_POOL = 500


def list_terms(table: dict[str, np.ndarray], states: Sequence[str]) -> list[Expression]:
    """List the simplest terms of the library of a table that have no constant inside."""
    trajectories = read_trajectories(table, time="t", states=states, trajectory="run")
    columns = build_weak_form(trajectories, smooth_trajectories(trajectories)).columns
    library = build_term_library(columns, load_grammar("dynamics"), _POOL)
    order = np.argsort(library.complexities, kind="stable")
    terms = [library.expressions[place] for place in order]
    return [each for each in terms if not any(iterate_constants(each))][: SIZES[-1]]


def write_postfix(term: Expression, states: Sequence[str]) -> list[int | str]:
    """Write a term without numbers in postfix notation: places of states, and names of functions."""
    return fold_expression(
        term,
        column=lambda name: [states.index(name)],
        number=lambda _: [],
        call=lambda call, arguments: [*(step for each in arguments for step in each), call.operator.name],
    )


def find_with_pysindy(
    table: dict[str, np.ndarray],
    states: Sequence[str],
    python: Path,
    judge: Callable[[int, np.ndarray], tuple[bool, float | None]],
) -> list[dict[str, Any]]:
    """Return pysindy's best equations by method.

    Parameters
    ----------
    table : dict of str to array
        The samples.
    states : sequence of str
        The states.
    python : Path
        The Python of pysindy's environment.
    judge : callable
        Maps the place of a state and its rates at all samples to whether they are right, and the error.

    Returns
    -------
    list of dict
        For each method and state: ``is_right`` and ``error``, and the tuned ``size`` and ``threshold``.
    """
    terms = [write_postfix(each, states) for each in list_terms(table, states)]
    runs = [table["run"] == run for run in np.unique(table["run"])]
    with tempfile.TemporaryDirectory() as folder:
        task, arrays = Path(folder) / "task.json", Path(folder) / "runs.npz"
        task.write_text(json.dumps({"terms": terms, "sizes": SIZES, "thresholds": THRESHOLDS}))
        stacked = np.array([np.column_stack([table[name][each] for name in states]) for each in runs])
        np.savez(arrays, times=table["t"][runs[0]], runs=stacked)
        report = run_process([python, _SIDE, task, arrays])
    records = []
    for method in ("weak form", "smoothed derivatives"):
        best: list[dict[str, Any]] = []
        for found in report["found"]:
            if found["method"] != method:
                continue
            judged = [judge(place, np.array(rates)) for place, rates in enumerate(found["rates"])]
            new = [
                {
                    "method": f"pysindy, {method}",
                    "is_right": is_right,
                    "error": error,
                    "size": found["size"],
                    "threshold": found["threshold"],
                }
                for is_right, error in judged
            ]
            if not best or sum(one["is_right"] for one in new) > sum(one["is_right"] for one in best):
                best = new
        records += best
    return records

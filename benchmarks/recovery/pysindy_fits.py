"""What pysindy finds in the trajectories of a system, with terms of the same library.

pysindy has no terms with a constant inside that is fitted. It is given the basic terms of symscreen's
library (monomials up to degree 3, sines and cosines of the states) and the true terms, with the true
constants inside them. This library is smaller than symscreen's, which makes the search easier. pysindy fits
it by its weak form and from smoothed derivatives, with three widths of either, with its usual ridge penalty
and with nearly none, and with nine thresholds. Terms whose coefficients it prints as 0 are left out. All
equations are compared with the true ones. Reported is the setting with the most right equations of the
system: who does not know the truth cannot tune pysindy better.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import BENCHMARKS, run_process

from symscreen.dynamics.smoothing import smooth_trajectories
from symscreen.dynamics.term_library import build_term_library, list_basic_terms
from symscreen.dynamics.trajectories import read_trajectories
from symscreen.dynamics.weak_form import build_weak_form
from symscreen.expressions.traversal import (
    evaluate_expression,
    fold_expression,
    iterate_constants,
)
from symscreen.expressions.tree import parse_expression
from symscreen.grammar import load_grammar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from symscreen.expressions.tree import Expression

THRESHOLDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0)
_MOST_TERMS = 8  # of an equation that may have a true form, which has at most four
_SIDE = BENCHMARKS / "peers" / "sides" / "pysindy_equations.py"
_POOL = 200
_SAME = 1.0 - 1e-12  # cosine of the angle between terms that are multiples of each other


def list_terms(
    table: dict[str, np.ndarray], states: Sequence[str], true_terms: Sequence[str]
) -> list[Expression]:
    """List the basic terms of the library of a table, and the true terms that are not multiples of them."""
    trajectories = read_trajectories(table, time="t", states=states, trajectory="run")
    columns = build_weak_form(trajectories, smooth_trajectories(trajectories)).columns
    library = build_term_library(columns, load_grammar("dynamics"), _POOL)
    basic = [library.expressions[place] for place in list_basic_terms(library)]
    terms = [term for term in basic if not any(iterate_constants(term))]
    units = [_normalize(term, columns) for term in terms]
    return terms + [
        term
        for term in map(parse_expression, true_terms)
        if all(abs(unit @ _normalize(term, columns)) < _SAME for unit in units)
    ]


def _normalize(term: Expression, columns: Mapping[str, np.ndarray]) -> np.ndarray:
    values = evaluate_expression(term, columns)
    return values / np.linalg.norm(values)


def write_postfix(term: Expression, states: Sequence[str]) -> list[int | float | str]:
    """Write a term in postfix notation: places of states, constants, and names of functions."""
    return fold_expression(
        term,
        column=lambda name: [states.index(name)],
        number=lambda number: [float(number.value)],
        call=lambda call, arguments: [*(step for each in arguments for step in each), call.operator.name],
    )


def find_with_pysindy(
    table: dict[str, np.ndarray],
    states: Sequence[str],
    true_terms: Sequence[str],
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
    true_terms : sequence of str
        The terms of all true equations.
    python : Path
        The Python of pysindy's environment.
    judge : callable
        Maps the place of a state and its rates at all samples to whether they are right, and the error.

    Returns
    -------
    list of dict
        For each method and state: ``is_right`` and ``error``, and the tuned setting.
    """
    terms = [write_postfix(term, states) for term in list_terms(table, states, true_terms)]
    runs = [table["run"] == run for run in np.unique(table["run"])]
    with tempfile.TemporaryDirectory() as folder:
        task, arrays = Path(folder) / "task.json", Path(folder) / "runs.npz"
        task.write_text(json.dumps({"terms": terms, "thresholds": THRESHOLDS}))
        stacked = np.array([np.column_stack([table[name][each] for name in states]) for each in runs])
        np.savez(arrays, times=table["t"][runs[0]], runs=stacked)
        report = run_process([python, _SIDE, task, arrays])
    records = []
    for method in ("weak form", "smoothed derivatives"):
        best: list[dict[str, Any]] = []
        for found in report["found"]:
            if found["method"] != method:
                continue
            judged = [
                judge(place, np.array(rates)) if n_terms <= _MOST_TERMS else (False, None)
                for place, (rates, n_terms) in enumerate(zip(found["rates"], found["n_terms"], strict=True))
            ]
            setting = {name: found[name] for name in ("width", "ridge", "threshold")}
            new = [
                {"method": f"pysindy, {method}", "is_right": is_right, "error": error, **setting}
                for is_right, error in judged
            ]
            if not best or sum(one["is_right"] for one in new) > sum(one["is_right"] for one in best):
                best = new
        records += best
    return records

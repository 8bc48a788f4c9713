"""pysindy: equations from trajectories, by the weak form and from smoothed derivatives, for many thresholds.

Run as ``python pysindy_equations.py TASK.json RUNS.npz``. The task says which terms there are, in postfix
notation: a number is the place of a state, a text the name of a function. The last line has the right-hand
sides of all states at all samples, by method, size of the library and threshold.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pysindy as ps
from side_report import print_report

if TYPE_CHECKING:
    from collections.abc import Callable

FUNCTIONS: dict[str, tuple[int, Callable[..., Any]]] = {
    "add": (2, np.add),
    "sub": (2, np.subtract),
    "mul": (2, np.multiply),
    "div": (2, np.divide),
    **{
        name: (1, getattr(np, name)) for name in ("square", "sqrt", "exp", "log", "sin", "cos", "tan", "tanh")
    },
    "cube": (1, lambda a: a * a * a),
    "inv": (1, np.reciprocal),
}


def make_function(steps: list[int | str]) -> Callable[..., Any]:
    """Make the function of all states that a term in postfix notation describes."""

    def compute(*states: Any) -> Any:
        stack: list[Any] = []
        for step in steps:
            if isinstance(step, int):
                stack.append(states[step])
            else:
                n, function = FUNCTIONS[step]
                arguments = [stack.pop() for _ in range(n)][::-1]
                stack.append(function(*arguments))
        return stack[0] + 0.0

    return compute


def main() -> None:
    """Fit all combinations of method, library and threshold."""
    warnings.simplefilter("ignore")
    task = json.loads(Path(sys.argv[1]).read_text())
    with np.load(sys.argv[2]) as arrays:
        times, runs = arrays["times"], [*arrays["runs"]]  # runs of shape (samples, states)
    samples = np.concatenate(runs)
    start = time.perf_counter()
    found = []
    for size in task["sizes"]:
        functions = [make_function(steps) for steps in task["terms"][:size]]
        # an arity is read from the signature: all states are given by name
        names = [f"s{place}" for place in range(samples.shape[1])]
        given = [_fix_arity(each, len(names)) for each in functions]
        plain = ps.CustomLibrary(library_functions=given, include_bias=True)
        features = np.asarray(plain.fit_transform(samples))
        for method in ("weak form", "smoothed derivatives"):
            library, options = plain, {"differentiation_method": ps.SmoothedFiniteDifference()}
            if method == "weak form":
                library = ps.WeakPDELibrary(
                    function_library=ps.CustomLibrary(library_functions=given, include_bias=True),
                    derivative_order=0,
                    spatiotemporal_grid=times,
                    K=100,
                )
                options = {}
            for threshold in task["thresholds"]:
                try:
                    model = ps.SINDy(
                        optimizer=ps.STLSQ(threshold=threshold, normalize_columns=False),
                        feature_library=library,
                        **options,
                    )
                    model.fit(runs, t=times)
                    rates = features @ np.asarray(model.coefficients()).T
                except (ValueError, np.linalg.LinAlgError):
                    continue
                found.append(
                    {"method": method, "size": size, "threshold": threshold, "rates": rates.T.tolist()}
                )
    print_report(time.perf_counter() - start, len(found), "pysindy", "numpy", "scipy", found=found)


def _fix_arity(function: Callable[..., Any], n: int) -> Callable[..., Any]:
    """Give a function of any number of states the signature that pysindy counts."""

    def compute_two(x: Any, y: Any) -> Any:
        return function(x, y)

    def compute_three(x: Any, y: Any, z: Any) -> Any:
        return function(x, y, z)

    return compute_two if n == 2 else compute_three


if __name__ == "__main__":
    main()

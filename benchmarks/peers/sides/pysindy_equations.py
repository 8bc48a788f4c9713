"""pysindy: equations from trajectories, by the weak form and from smoothed derivatives, for many settings.

Run as ``python pysindy_equations.py TASK.json RUNS.npz``. The task has the terms in postfix notation: an
integer is the place of a state, a text the name of a function, and another number a constant. The last line
has the right-hand sides of all states at all samples, for each setting of pysindy.

pysindy builds the regression once for each width. Its optimizer then solves it for all thresholds, as
`pysindy.SINDy.fit` does for one.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # matrices are small

import numpy as np
import pysindy as ps
from side_report import print_report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Step = int | float | str

SEED = 0  # of the centres of the test functions, which pysindy draws
HALF_WIDTHS = (0.03, 0.05, 0.1)  # of test functions, relative to the length of a run; the default is 0.05
N_TEST_FUNCTIONS = 100  # in a run; the default
RIDGES = (0.05, 1e-5)  # the default, and nearly none
DECIMALS = 3  # to which pysindy prints coefficients; terms whose coefficients are 0 then are left out
WINDOWS = (5, 11, 21)  # samples of the Savitzky-Golay filter; the default is 11
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
    "neg": (1, np.negative),
    "pow": (2, np.power),
}


class KeptProblem(ps.STLSQ):
    """An optimizer that keeps the regression that `pysindy.SINDy.fit` builds."""

    def fit(self, x: Any, y: Any, **options: Any) -> KeptProblem:
        """Keep the terms and the left sides, and solve as usual."""
        self.terms, self.left_sides = np.asarray(x), np.asarray(y)
        super().fit(x, y, **options)
        return self


def make_function(steps: list[Step]) -> Callable[..., Any]:
    """Make the function of all states that a term in postfix notation describes."""

    def compute(*states: Any) -> Any:
        stack: list[Any] = []
        for step in steps:
            if isinstance(step, int):
                stack.append(states[step])
            elif isinstance(step, float):
                stack.append(step)
            else:
                n, function = FUNCTIONS[step]
                arguments = [stack.pop() for _ in range(n)][::-1]
                stack.append(function(*arguments))
        return stack[0] + 0.0

    return compute


def list_methods(times: Any, terms: list[Callable[..., Any]]) -> Iterator[tuple[str, float, Any, Any]]:
    """Yield each method with its width, a library of the terms, and what differentiates."""

    def make_library() -> Any:
        return ps.CustomLibrary(library_functions=terms, include_bias=True)

    for half_width in HALF_WIDTHS:
        np.random.seed(SEED)  # noqa: NPY002  # pysindy draws from numpy's global generator
        library = ps.WeakPDELibrary(
            function_library=make_library(),
            derivative_order=0,
            spatiotemporal_grid=times,
            H_xt=half_width * (times[-1] - times[0]),
            K=N_TEST_FUNCTIONS,
        )
        yield "weak form", half_width, library, None
    for window in WINDOWS:
        smoother = ps.SmoothedFiniteDifference(smoother_kws={"window_length": window, "polyorder": 3})
        yield "smoothed derivatives", window, make_library(), smoother


def main() -> None:
    """Fit all combinations of method, library and setting."""
    warnings.simplefilter("ignore")
    task = json.loads(Path(sys.argv[1]).read_text())
    with np.load(sys.argv[2]) as arrays:
        times, runs = arrays["times"], [*arrays["runs"]]  # runs of shape (samples, states)
    samples = np.concatenate(runs)
    start = time.perf_counter()
    found = []
    # an arity is read from the signature: all states are given by name
    terms = [_fix_arity(make_function(steps), samples.shape[1]) for steps in task["terms"]]
    features = np.asarray(ps.CustomLibrary(terms, include_bias=True).fit_transform(samples))
    for method, width, library, smoother in list_methods(times, terms):
        kept = KeptProblem()
        options = {} if smoother is None else {"differentiation_method": smoother}
        ps.SINDy(optimizer=kept, feature_library=library, **options).fit(runs, t=times)
        known = set()
        for ridge, threshold in product(RIDGES, task["thresholds"]):
            optimizer = ps.STLSQ(threshold=threshold, alpha=ridge)
            try:
                optimizer.fit(kept.terms, kept.left_sides)
            except (ValueError, np.linalg.LinAlgError):
                continue
            coefficients = np.asarray(optimizer.coef_)
            coefficients = np.where(np.round(coefficients, DECIMALS) == 0.0, 0.0, coefficients)
            if coefficients.tobytes() in known:
                continue
            known.add(coefficients.tobytes())
            found.append(
                {
                    "method": method,
                    "width": width,
                    "ridge": ridge,
                    "threshold": threshold,
                    "n_terms": np.count_nonzero(coefficients, axis=1).tolist(),
                    "rates": (features @ coefficients.T).T.tolist(),
                }
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

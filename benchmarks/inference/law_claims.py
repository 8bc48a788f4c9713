"""What `fit` says where there is no law: on noise, and on smooth functions that no formula equals.

* ``noise``: inputs and target are independent. A fit claims a formula unless it returns the mean.
* ``smooth``: the target is a special function of one input, or of a product of two. The verdict is right if
  it is ``approximation``, and wrong if it is ``exact``. With noise, a formula that is as good as the function
  within the noise may be called a law within noise, but never exact.

About an hour of processor time.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import collect_rows, format_table, make_parser, save_results
from scipy import special

import symscreen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Values = NDArray[np.float64]

ROWS = (100, 1_000)
REPEATS = 100
NOISE_RATIOS = (0.0, 0.01)  # standard deviation over the root mean square
N_SMOOTH_ROWS = 1_000
INPUTS: dict[str, Callable[[np.random.Generator, int], Values]] = {
    "uniform": lambda rng, n: rng.uniform(1.0, 5.0, n),
    "normal": lambda rng, n: rng.normal(size=n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "five levels": lambda rng, n: rng.integers(1, 6, n).astype(float),
}
TARGETS: dict[str, Callable[[np.random.Generator, int], Values]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "normal, mean 10": lambda rng, n: rng.normal(10.0, 1.0, n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "Student, 3": lambda rng, n: rng.standard_t(3.0, n),
}
FUNCTIONS: dict[str, tuple[Callable[[Values], Values], float, float]] = {
    "J0": (special.j0, 0.5, 10.0),
    "J1": (special.j1, 0.5, 10.0),
    "erf": (special.erf, 0.1, 2.0),
    "gamma": (special.gamma, 0.5, 4.0),
    "Airy": (lambda x: special.airy(x)[0], -4.0, 2.0),
    "dilogarithm": (special.spence, 0.2, 3.0),
    "Lambert W": (lambda x: special.lambertw(x).real, 0.2, 5.0),
    "elliptic K": (special.ellipk, 0.05, 0.95),
}


def list_noise_keys(repeats: int) -> Iterator[dict[str, Any]]:
    """List the fits of noise; the kinds of inputs and targets, and 2 to 5 inputs, take turns."""
    cases = list(product(INPUTS, TARGETS, range(2, 6)))
    for n in ROWS:
        for repeat in range(repeats):
            inputs, target, n_inputs = cases[repeat * 7 % len(cases)]
            yield {"n": n, "repeat": repeat, "inputs": inputs, "n_inputs": n_inputs, "target": target}


def fit_noise(key: dict[str, Any]) -> dict[str, Any]:
    """Fit noise."""
    n = key["n"]
    rng = np.random.default_rng([23, n, key["repeat"]])
    columns = {f"x{place}": INPUTS[key["inputs"]](rng, n) for place in range(1, key["n_inputs"] + 1)}
    return describe_fit(symscreen.fit(columns, TARGETS[key["target"]](rng, n), jobs=1))


def list_smooth_keys() -> Iterator[dict[str, Any]]:
    """List the fits of each function of one input, and of a product of two with an idle third one."""
    for noise_ratio, function, form in product(NOISE_RATIOS, FUNCTIONS, ("f(x)", "f(x*z)")):
        yield {"function": function, "form": form, "noise_ratio": noise_ratio}


def fit_function(key: dict[str, Any]) -> dict[str, Any]:
    """Fit a smooth function."""
    function, low, high = FUNCTIONS[key["function"]]
    rng = np.random.default_rng([29, list(FUNCTIONS).index(key["function"]), len(key["form"])])
    argument = rng.uniform(low, high, N_SMOOTH_ROWS)
    if key["form"] == "f(x)":
        columns = {"x": argument}
    else:
        z = rng.uniform(0.5, 2.0, N_SMOOTH_ROWS)
        columns = {"x": argument / z, "z": z, "idle": rng.uniform(1.0, 5.0, N_SMOOTH_ROWS)}
    target = function(argument)
    size = key["noise_ratio"] * float(np.sqrt(np.mean(target**2)))
    return describe_fit(symscreen.fit(columns, target + size * rng.normal(size=N_SMOOTH_ROWS), jobs=1))


def describe_fit(result: Any) -> dict[str, Any]:
    """Return what a fit says."""
    verdict = result.record["verdict"]
    return {
        "verdict": verdict["kind"],
        "p_value": verdict["p_value"],
        "unexplained_share": 1.0 - result.r2,
        "stage": result.record["stage"],
        "formula": result.formula.round_numbers(3).equation,
    }


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = make_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=REPEATS, help="fits of noise for each number of rows")
    parser.add_argument("--checkpoint", type=Path, help="a file of results from which a run continues")
    parser.add_argument("--processes", type=int, default=1, help="fits that run at the same time")
    chosen = parser.parse_args(arguments)
    noise = collect_rows(
        list_noise_keys(chosen.repeats), fit_noise, chosen.checkpoint, processes=chosen.processes
    )
    smooth = collect_rows(list_smooth_keys(), fit_function, chosen.checkpoint, processes=chosen.processes)
    groups = {f"noise, {n:,} rows": [row for row in noise if row["n"] == n] for n in ROWS}
    for ratio in NOISE_RATIOS:
        name = f"smooth functions, noise {ratio:g}"
        groups[name] = [row for row in smooth if row["noise_ratio"] == ratio]
    summary = [{"target": name, **count_verdicts(rows)} for name, rows in groups.items()]
    found = {
        "summary": summary,
        "claims": [row for row in noise if row["verdict"] != "none"],
        "smooth": smooth,
    }
    head = ["target", "fits", "formulas", "approximation", "law within noise", "exact"]
    save_results(
        "law_claims", found, format_table(head, [list(row.values()) for row in summary]), chosen.results
    )


def count_verdicts(rows: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Count the fits, those with a formula, and what they say of it."""
    kinds = [row["verdict"] for row in rows]
    counts = {kind: kinds.count(kind) for kind in ("approximation", "noise", "exact")}
    return {"fits": len(kinds), "formulas": len(kinds) - kinds.count("none"), **counts}

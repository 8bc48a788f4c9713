"""What `fit` says where there is no law: on noise, and on smooth functions that no formula equals.

* ``noise``: inputs and target are independent. A fit claims a formula unless it returns the mean.
* ``smooth``: the target is a special function of one input, or of a product of two. The verdict is right if
  it is ``approximation``, and wrong if it is ``exact``. With noise, a formula that is as good as the function
  within the noise may be called a law within noise, but never exact.

About an hour of processor time.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import format_table, make_parser, save_results
from scipy import special

import symscreen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

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


def count_claims(n: int, repeats: int) -> dict[str, Any]:
    """Fit noise; the kinds of inputs and targets, and 2 to 5 inputs, take turns."""
    cases = list(product(INPUTS, TARGETS, range(2, 6)))
    claims = []
    for repeat in range(repeats):
        kind, target_kind, n_inputs = cases[repeat * 7 % len(cases)]
        rng = np.random.default_rng([23, n, repeat])
        columns = {f"x{place}": INPUTS[kind](rng, n) for place in range(1, n_inputs + 1)}
        result = symscreen.fit(columns, TARGETS[target_kind](rng, n), jobs=1)
        if result.record["verdict"]["kind"] != "none":
            case = {"inputs": kind, "n_inputs": n_inputs, "target": target_kind}
            claims.append(case | {"formula": result.formula.round_numbers(3).equation})
    return {"n": n, "fits": repeats, "claims": len(claims), "cases": claims}


def judge_functions(noise_ratio: float) -> Iterable[dict[str, Any]]:
    """Fit each function of one input, and of a product of two with an idle third one."""
    for name, (function, low, high) in FUNCTIONS.items():
        for form in ("f(x)", "f(x*z)"):
            rng = np.random.default_rng([29, list(FUNCTIONS).index(name), len(form)])
            argument = rng.uniform(low, high, N_SMOOTH_ROWS)
            if form == "f(x)":
                columns = {"x": argument}
            else:
                z = rng.uniform(0.5, 2.0, N_SMOOTH_ROWS)
                columns = {"x": argument / z, "z": z, "idle": rng.uniform(1.0, 5.0, N_SMOOTH_ROWS)}
            target = function(argument)
            size = noise_ratio * float(np.sqrt(np.mean(target**2)))
            result = symscreen.fit(columns, target + size * rng.normal(size=N_SMOOTH_ROWS), jobs=1)
            verdict = result.record["verdict"]
            yield {
                "function": name,
                "form": form,
                "noise_ratio": noise_ratio,
                "verdict": verdict["kind"],
                "p_value": verdict["p_value"],
                "unexplained_share": 1.0 - result.r2,
                "formula": result.formula.round_numbers(3).equation,
            }


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = make_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=REPEATS, help="fits of noise for each number of rows")
    chosen = parser.parse_args(arguments)
    noise = [count_claims(n, chosen.repeats) for n in ROWS]
    smooth = [each for noise_ratio in NOISE_RATIOS for each in judge_functions(noise_ratio)]
    counts = [[f"noise, {each['n']:,} rows", each["fits"], each["claims"], "", "", ""] for each in noise]
    for noise_ratio in NOISE_RATIOS:
        kinds = [each["verdict"] for each in smooth if each["noise_ratio"] == noise_ratio]
        claimed = [kinds.count(kind) for kind in ("approximation", "noise", "exact")]
        name = f"smooth functions, noise {noise_ratio:g}"
        counts.append([name, len(kinds), len(kinds) - kinds.count("none"), *claimed])
    head = ["target", "fits", "formulas", "approximation", "law within noise", "exact"]
    save_results("law_claims", {"noise": noise, "smooth": smooth}, format_table(head, counts), chosen.results)

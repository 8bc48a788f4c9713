"""How often the 95 % intervals of T0 and Γ hold the truth, at 200 rows, for θ and, of T0, for −θ."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import describe_machine, format_table, make_parser, save_results

from symscreen.statistics.inference.t0_interval import compute_t0_intervals
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.statistics.ranks.t0 import compute_gini_mean_difference, compute_t0
from symscreen.targets import NumericTarget

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Values = NDArray[np.float64]

ROWS, MANY = 200, 1_000_000
CASES: dict[str, Callable[[np.random.Generator, Values], Values]] = {
    "θ + N(0, 1)": lambda rng, x: x + rng.normal(size=x.size),
    "θ³ + N(0, 1)": lambda rng, x: x**3 + rng.normal(size=x.size),
    "|θ| + N(0, 0.5)": lambda rng, x: np.abs(x) + 0.5 * rng.normal(size=x.size),
    "θ + lognormal, σ = 1": lambda rng, x: x + rng.lognormal(size=x.size),
    "θ + t, 2.2 degrees": lambda rng, x: x + rng.standard_t(2.2, size=x.size),
    "θ + N(0, 0.0002)": lambda rng, x: x + 2e-4 * rng.normal(size=x.size),
    "θ + N(0, 0.001)": lambda rng, x: x + 1e-3 * rng.normal(size=x.size),
    "θ + N(0, 0.01)": lambda rng, x: x + 0.01 * rng.normal(size=x.size),
    "θ, one row of 200 is noise": lambda rng, x: _slipped(rng, x, 0.005),
    "θ, ten rows of 200 are noise": lambda rng, x: _slipped(rng, x, 0.05),
    "θ + N(0, 0.01), one row of 200 is noise": lambda rng, x: (
        _slipped(rng, x, 0.005) + 0.01 * rng.normal(size=x.size)
    ),
}


def _slipped(rng: np.random.Generator, x: Values, chance: float) -> Values:
    """Draw the rows anew that slip, each by the same chance."""
    return np.where(rng.random(x.size) < chance, rng.normal(size=x.size), x)


def drawn(case: str, rng: np.random.Generator, n: int) -> tuple[Values, NumericTarget]:
    """Draw a sample, its rows in the order of the response."""
    x = rng.normal(size=n)
    y = CASES[case](rng, x)
    order = np.argsort(y, kind="stable")
    return x[order][None], NumericTarget(y[order])


def truth(case: str, rng: np.random.Generator) -> tuple[float, float]:
    """Estimate T0 and Γ of the population from four samples of a million rows."""
    t0, delta = [], []
    for _ in range(4):
        x, y = drawn(case, rng, MANY)
        t0.append(float(compute_t0(sort_block(x), y)[0]))
        delta.append(compute_gini_mean_difference(y))
    return float(np.mean(t0)), 1.0 - float(np.sum(t0) / np.sum(delta))


def main(arguments: Sequence[str]) -> None:
    """Count intervals that hold the truth."""
    parser = make_parser(__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    options = parser.parse_args(arguments)
    found: dict[str, Any] = {"machine": describe_machine(), "samples": options.samples, "rows": []}
    for number, case in enumerate(CASES):
        rng = np.random.default_rng([number, ROWS])
        t0, gamma = truth(case, rng)
        reverse = t0 / (1.0 - gamma) * (1.0 + gamma)  # T0 of −θ is 2Δ − T0
        held = np.zeros(3)
        for _ in range(options.samples):
            x, y = drawn(case, rng, ROWS)
            own = compute_t0_intervals(np.concatenate((x, -x)), y)
            held += [
                own.low[0] <= t0 <= own.high[0],
                own.low[1] <= reverse <= own.high[1],
                own.gini_low[0] <= gamma <= own.gini_high[0],
            ]
        rates = (held / options.samples).tolist()
        found["rows"].append(
            {
                "case": case,
                "t0": t0,
                "gamma": gamma,
                "t0_held": rates[0],
                "t0_of_reverse_held": rates[1],
                "gamma_held": rates[2],
            }
        )
    error = 100.0 * math.sqrt(0.05 * 0.95 / options.samples)
    lines = [
        [
            one["case"],
            f"{one['t0']:.4f}",
            f"{100 * one['t0_held']:.1f} ± {error:.1f}",
            f"{100 * one['t0_of_reverse_held']:.1f} ± {error:.1f}",
            f"{one['gamma']:.4f}",
            f"{100 * one['gamma_held']:.1f} ± {error:.1f}",
        ]
        for one in found["rows"]
    ]
    head = ("response", "T0", "held by its interval, %", "of −θ, %", "Γ", "held by its interval, %")
    save_results("coverage", found, format_table(head, lines), options.results)

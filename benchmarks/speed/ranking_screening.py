"""What a screen against rankings costs compared with one against numbers: the same rows, the same features.

Products of two of 447 inputs, squares and the inputs themselves: 100,575 features of 500 rows. The response
is x1*x2 with noise, or rankings of five labels by scores that are linear in x1*x2 and cross each other at
other values of it, complete and with every fifth label missing. All three are screened in turn, in one
process with one thread, after a screen of each that compiles the kernels. Processor time is compared, and
ratios are of neighbours in time, so that other work on the machine matters little. The planted feature must
come first.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import (
    compute_ratios,
    describe_machine,
    format_number,
    format_spread,
    format_table,
    make_parser,
    save_results,
)

import symscreen
from symscreen.targets.ranking_ranks import to_mid_ranks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Values = NDArray[np.float64]

ROWS, INPUTS, LABELS = 500, 447, 5
MISSING, NOISE = 0.2, 0.1
PLANTED = "x1*x2"
AIM = 3.0  # times the cost of a numeric response, at most


def responses(x: Values, rng: np.random.Generator) -> dict[str, Values]:
    """Make the numeric response and both kinds of rankings of the same rows."""
    z = x[:, 0] * x[:, 1]
    slopes = np.arange(LABELS, dtype=float)
    crossings = np.quantile(z, rng.uniform(0.3, 0.7, LABELS))
    ranks = to_mid_ranks(-slopes * (z[:, None] - crossings) - rng.normal(0.0, NOISE, (ROWS, LABELS)))
    some = np.where(rng.random(ranks.shape) < MISSING, np.nan, ranks)
    some[np.isnan(some).all(axis=1), 0] = 1.0
    return {"numbers": z + rng.normal(0.0, NOISE, ROWS), "complete": ranks, "incomplete": to_mid_ranks(some)}


def screened(x: Values, y: Values) -> tuple[float, int]:
    """Screen once; return the processor time and how many features were scored."""
    start = time.process_time()
    plain = {"p_values": False, "max_correlation": 1}
    result = symscreen.screen(x, y, layers="b", binary="mul", screener="t0", jobs=1, **plain)
    seconds = time.process_time() - start
    first = result.table["expression"].iloc[0]
    if first != PLANTED:
        raise SystemExit(f"{first} came first, and {PLANTED} was planted")
    return seconds, result.n_scored


def measured_rounds(rounds: int, seed: int) -> dict[str, Any]:
    """Screen against all responses in turn, several times."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.5, 2.0, (ROWS, INPUTS))
    known = responses(x, rng)
    seconds: dict[str, list[float]] = {name: [] for name in known}
    features = 0
    for round_ in range(rounds + 1):
        for name, y in known.items():
            took, features = screened(x, y)
            if round_:  # the first compiles
                seconds[name].append(took)
    return {"rows": ROWS, "features": features, "labels": LABELS, "missing": MISSING, "seconds": seconds}


def main(arguments: Sequence[str]) -> None:
    """Measure, and write what was found."""
    parser = make_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    named = describe_machine()
    found = measured_rounds(options.repeats, options.seed)
    seconds = found["seconds"]
    rows = []
    for name, own in seconds.items():
        ratios = compute_ratios(own, seconds["numbers"])
        found[f"{name}_to_numbers"] = ratios
        each = format_number(1e6 * min(own) / found["features"])
        rows.append([name, f"{found['features']:,}", format_spread(own), each, format_spread(ratios)])
    head = ("response", "features", "s of one core", "µs a feature, at best", "to numbers")
    note = (
        f"Screens by T0, {ROWS} rows; rankings of {LABELS} labels, incomplete ones lack a fifth. {PLANTED} "
        f"was planted and comes first in every screen. The aim is {AIM:g} times the cost of numbers at most."
    )
    save_results(
        "ranking_screening",
        {"machine": named, **found},
        f"{format_table(head, rows)}\n\n{note}",
        options.results,
    )

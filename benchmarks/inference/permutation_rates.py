"""P- and q-values by permutations where no null distribution is known, by type of target.

A space is all pairs of the inputs by +, −, × and ÷. On tables of noise, no input is related to the target. On
the others the first input is, so a formula without it is a false discovery. The cost of a screen is measured
without p-values, with max-T alone, and with p- and q-values, too. About fifteen minutes.
"""

from __future__ import annotations

import math
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import collect_rows, describe_machine, format_table, make_parser, save_results

import symscreen

if TYPE_CHECKING:
    from collections.abc import Callable

    from symscreen._typing import Values

    Columns = dict[str, Any]
    Maker = Callable[[np.random.Generator, Values], tuple[Columns, dict[str, Any]]]

ROWS, GROUP_ROWS, INPUTS, PERMUTATIONS, LEVEL = 60, 4, 12, 199, 0.05
NOISE_TABLES, SIGNAL_TABLES = 600, 150
COST_ROWS, COST_INPUTS, COST_PERMUTATIONS = 400, 40, 200


def _cut(values: Values, *limits: float) -> Values:
    """Cut values at quantiles; return the numbers of the parts."""
    return np.digitize(values, np.quantile(values, limits))


def _draw_time_series(rng: np.random.Generator, n: int) -> Values:
    """Draw a stationary series whose neighbours have a correlation of 0.6."""
    series = rng.normal(size=n)
    for row in range(1, n):
        series[row] = 0.6 * series[row - 1] + 0.8 * series[row]
    return series


def _draw_survival(rng: np.random.Generator, signal: Values) -> Columns:
    """Draw times to an event, of which about a third are censored."""
    n = len(signal)
    times, limits = rng.exponential(size=n) * np.exp(signal), rng.exponential(2.0, size=n)
    return {"time": np.minimum(times, limits), "died": times <= limits}


def _draw_stages(rng: np.random.Generator, signal: Values) -> Columns:
    """Draw two stages, of which only rows at the first can reach the second."""
    n = len(signal)
    viewed = _cut(signal + rng.normal(size=n), 0.3) == 1
    return {"viewed": viewed * 1.0, "liked": (viewed & (signal + rng.normal(size=n) > 0)) * 1.0}


def _draw_rankings(rng: np.random.Generator, signal: Values) -> list[str]:
    """Draw rankings of three labels, of which the signal lifts the first and lowers the last."""
    utilities = rng.normal(size=(len(signal), 3)) + signal[:, None] * np.array([1.0, 0.0, -1.0])
    return [">".join(np.array(["p", "q", "r"])[np.argsort(-row)]) for row in utilities]


TARGETS: dict[str, Maker] = {
    "weighted rows": lambda rng, signal: (
        {"y": signal + rng.normal(size=len(signal)), "w": rng.exponential(size=len(signal))},
        {"target": "y", "weights": "w"},
    ),
    "groups of rows": lambda rng, signal: (
        {
            "y": signal
            + np.repeat(rng.normal(size=len(signal) // GROUP_ROWS), GROUP_ROWS)
            + rng.normal(size=len(signal)),
            "site": np.repeat(np.arange(len(signal) // GROUP_ROWS), GROUP_ROWS),
        },
        {"target": "y", "groups": "site"},
    ),
    "rows in time": lambda rng, signal: (
        {"y": signal + _draw_time_series(rng, len(signal)), "t": np.arange(len(signal))},
        {"target": "y", "time": "t"},
    ),
    "three classes": lambda rng, signal: (
        {"level": np.array(["a", "b", "c"])[_cut(signal + rng.normal(size=len(signal)), 0.3, 0.7)]},
        {"target": "level"},
    ),
    "times to an event": lambda rng, signal: (
        _draw_survival(rng, signal),
        {"target": "time", "event": "died"},
    ),
    "rankings of three labels": lambda rng, signal: (
        {"taste": _draw_rankings(rng, signal)},
        {"ranking": "taste"},
    ),
    "two stages": lambda rng, signal: (_draw_stages(rng, signal), {"stages": ["viewed", "liked"]}),
}


def draw_table(
    rng: np.random.Generator, target: str, *, n_rows: int, n_inputs: int, strength: float
) -> tuple[Columns, dict[str, Any]]:
    """Draw a table, and the options of its screen. The target follows the first input by `strength`."""
    inputs: Columns = {}
    for number in range(1, n_inputs + 1):
        kind = number % 3  # the first input is normal
        inputs[f"x{number}"] = (
            rng.integers(1, 6, n_rows) * 1.0 if kind == 0
            else rng.normal(size=n_rows) if kind == 1
            else rng.lognormal(size=n_rows)
        )  # fmt: skip
        if kind == 1 and target == "groups of rows":  # alike within a group, too
            inputs[f"x{number}"] = np.repeat(rng.normal(size=n_rows // GROUP_ROWS), GROUP_ROWS)
        if kind == 1 and target == "rows in time":
            inputs[f"x{number}"] = _draw_time_series(rng, n_rows)
    columns, options = TARGETS[target](rng, strength * inputs["x1"])
    return inputs | columns, {"inputs": list(inputs), "layers": "b"} | options


def count_claims(key: dict[str, Any]) -> dict[str, Any]:
    """Screen tables of noise: how many p-values, best q-values and max-T p-values are at most 0.05."""
    found = {"p_values": 0, "tests": 0, "bh": 0, "by": 0, "family": 0}
    for number in range(key["tables"]):
        rng = np.random.default_rng([41, list(TARGETS).index(key["target"]), number])
        data, options = draw_table(rng, key["target"], n_rows=ROWS, n_inputs=INPUTS, strength=0.0)
        result = _screen(data, options, top=1, permutations=PERMUTATIONS, seed=number)
        control = result.record["error_control"]
        found["p_values"] += control["histogram"][0]
        found["tests"] += control["tests"]
        found["bh"] += int(control["least_q"] <= LEVEL)
        found["by"] += int(control["least_q"] * _compute_by_factor(control["tests"]) <= LEVEL)
        found["family"] += int(result.table["p_family"].min() <= LEVEL)
    return found


def count_discoveries(key: dict[str, Any]) -> dict[str, Any]:
    """Screen tables whose target follows one input: what is found, and which share of it is false."""
    shares: dict[str, list[float]] = {"bh": [], "by": [], "family": []}
    n_found: dict[str, int] = dict.fromkeys(shares, 0)
    n_features = n_true = n_wrong = 0
    for number in range(key["tables"]):
        rng = np.random.default_rng([43, list(TARGETS).index(key["target"]), number])
        data, options = draw_table(rng, key["target"], n_rows=ROWS, n_inputs=INPUTS, strength=1.0)
        table = _screen(data, options, top="all", permutations=PERMUTATIONS, seed=number).table
        is_true = table["expression"].str.contains(r"\bx1\b").to_numpy()
        n_features, n_true = n_features + len(table), n_true + int(is_true.sum())
        factor = _compute_by_factor(len(table))
        passing = {
            "bh": table["q_value"] <= LEVEL,
            "by": table["q_value"] * factor <= LEVEL,
            "family": table["p_family"] <= LEVEL,
        }
        for method, passes in passing.items():
            n_false = int((passes & ~is_true).sum())
            shares[method].append(n_false / max(1, int(passes.sum())))
            n_found[method] += int(passes.sum())
        n_wrong += int((passing["family"] & ~is_true).any())
    return {
        "features": n_features,
        "true": n_true,
        "found": n_found,
        "false_share": {method: float(np.mean(each)) for method, each in shares.items()},
        "error": {method: float(np.std(each) / math.sqrt(len(each))) for method, each in shares.items()},
        "family_wrong": n_wrong,
    }


def measure_cost(key: dict[str, Any]) -> dict[str, Any]:
    """Measure the processor time of a screen, in seconds: the least of two."""
    rng = np.random.default_rng([47, list(TARGETS).index(key["target"])])
    data, options = draw_table(rng, key["target"], n_rows=COST_ROWS, n_inputs=COST_INPUTS, strength=0.5)
    kinds: dict[str, dict[str, Any]] = {
        "plain": {"p_values": False},
        "max_t": {"p_values": False, "permutations": COST_PERMUTATIONS},
        "q_values": {"permutations": COST_PERMUTATIONS},
    }
    seconds: dict[str, float] = {}
    for kind, changes in kinds.items():
        changed = options | changes
        if key["target"] == "groups of rows" and kind == "plain":  # groups without a use are refused
            changed["groups"] = None
        taken = []
        for _ in range(2):
            start = process_time()
            result = _screen(data, changed, top=20)
            taken.append(process_time() - start)
        seconds[kind] = min(taken)
    return {"seconds": seconds, "scored": result.n_scored}


def _screen(data: Columns, options: dict[str, Any], **changes: Any) -> symscreen.ScreenResult:
    """Screen all pairs by four operators, on one thread."""
    return symscreen.screen(
        data, binary=["add", "sub", "mul", "div"], max_correlation=1.0, jobs=1, **options, **changes
    )


def _compute_by_factor(n_features: int) -> float:
    """Compute the factor between q-values of Benjamini-Yekutieli and of Benjamini-Hochberg."""
    return math.fsum(1.0 / k for k in range(1, n_features + 1))


MEASUREMENTS = {"noise": count_claims, "signal": count_discoveries, "cost": measure_cost}


def measure(key: dict[str, Any]) -> dict[str, Any]:
    """Measure one target."""
    return MEASUREMENTS[key["measurement"]](key)


def _format_noise(row: dict[str, Any]) -> list[str]:
    shares = [row["p_values"] / row["tests"], *(row[name] / row["tables"] for name in ("family", "bh", "by"))]
    return [row["target"], f"{row['tables']:,}", *(f"{100 * share:.1f}" for share in shares)]


def _format_signal(row: dict[str, Any]) -> list[str]:
    tables = row["tables"]
    cells = [row["target"], f"{tables:,}", f"{row['features'] / tables:,.0f}", f"{row['true'] / tables:,.0f}"]
    for method in ("bh", "by"):
        cells.append(f"{100 * row['false_share'][method]:.1f} ± {100 * row['error'][method]:.1f}")
        cells.append(f"{row['found'][method] / tables:.1f}")
    return [*cells, f"{100 * row['family_wrong'] / tables:.1f}", f"{row['found']['family'] / tables:.1f}"]


def _format_cost(row: dict[str, Any]) -> list[str]:
    seconds = row["seconds"]
    return [
        row["target"],
        f"{row['scored']:,}",
        *(f"{seconds[kind]:.2f}" for kind in ("plain", "max_t", "q_values")),
    ]


NOISE_HEAD = ["target", "tables", "p ≤ 0.05, %", "max-T claims, %", "bh claims, %", "by claims, %"]
SIGNAL_HEAD = [
    "target", "tables", "features", "with the input", "bh, FDR %", "bh finds", "by, FDR %", "by finds",
    "max-T, any false %", "max-T finds",
]  # fmt: skip
COST_HEAD = ["target", "features", "no permutations, s", "max-T, s", "max-T and q-values, s"]


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = make_parser(__doc__)
    parser.add_argument("--noise-tables", type=int, default=NOISE_TABLES, help="for each target")
    parser.add_argument("--signal-tables", type=int, default=SIGNAL_TABLES, help="for each target")
    parser.add_argument("--processes", type=int, default=1, help="targets computed at the same time")
    parser.add_argument("--checkpoint", type=Path, help="a file of results from which a run continues")
    chosen = parser.parse_args(arguments)
    numbers = {"noise": chosen.noise_tables, "signal": chosen.signal_tables, "cost": 1}
    keys = [
        {"measurement": measurement, "target": target, "tables": number}
        for measurement, number in numbers.items()
        for target in TARGETS
    ]
    rows = collect_rows(keys, measure, chosen.checkpoint, processes=chosen.processes)
    found = {
        "machine": describe_machine(),
        "level": LEVEL,
        "data_rows": ROWS,
        "permutations": PERMUTATIONS,
        "cost_rows": COST_ROWS,
        "cost_permutations": COST_PERMUTATIONS,
        "rows": rows,
    }
    tables = [
        (title, head, [format_row(row) for row in rows if row["measurement"] == measurement])
        for title, measurement, head, format_row in (
            ("Noise", "noise", NOISE_HEAD, _format_noise),
            ("One true input", "signal", SIGNAL_HEAD, _format_signal),
            ("Cost", "cost", COST_HEAD, _format_cost),
        )
    ]
    parts = [f"## {title}\n\n{format_table(head, lines)}" for title, head, lines in tables]
    save_results("permutation_rates", found, "\n\n".join(parts), chosen.results)

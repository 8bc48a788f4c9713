"""How often `symscreen ode` finds the right differential equations from trajectories alone.

The seven systems of ODE-Strogatz are integrated accurately from four starts each, to t = 10. Noise is added,
with a share of each state's standard deviation. Then five systems of textbooks follow with 1 % of noise. The
defaults run; only the columns are named. An equation counts where constants of the true form exist with which
it equals the equation found, as printed with six digits, on the samples up to 1e-9. Their errors are relative
to the true constants.

pysindy gets the same samples of ODE-Strogatz; see `pysindy_fits`. ``--no-pysindy`` leaves it out.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import collect_rows, format_table, make_parser, save_results
from peers.environments import prepare_environment
from recovery.pysindy_fits import find_with_pysindy
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares

import symscreen

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    Rate = Callable[..., Any]

MATCH, DEGENERATE = 1e-9, 0.99
DIGITS = 6  # of the numbers of an equation, as it is printed
HEAD = (
    "system",
    "samples of a run",
    "noise",
    "method",
    "right form",
    "largest error",
    "seconds of CPU",
    "seconds",
    "equation found, or setting",
)


@dataclass(frozen=True)
class TrueSystem:
    """A system: states, right-hand sides of states and constants, the true constants, starts and times.

    The true terms are those that pysindy is given.
    """

    states: tuple[str, ...]
    rates: tuple[Rate, ...]
    constants: tuple[tuple[float, ...], ...]
    starts: tuple[tuple[float, ...], ...]
    end: float = 10.0
    samples: int = 100
    options: dict[str, Any] | None = None
    terms: tuple[str, ...] = ()


STROGATZ = {
    "bacres": TrueSystem(
        ("x", "y"),
        (
            lambda s, c: c[0] + c[1] * s[0] + c[2] * s[0] * s[1] / (1 + c[3] * s[0] ** 2),
            lambda s, c: c[0] + c[1] * s[0] * s[1] / (1 + c[2] * s[0] ** 2),
        ),
        ((20, -1, -1, 0.5), (10, -1, 0.5)),
        ((9.0150, 12.8015), (3.4854, 13.0701), (5.8139, 9.9362), (5.8020, 9.7927)),
        terms=("x", "x*y/(1 + 0.5*x**2)"),
    ),
    "barmag": TrueSystem(
        ("x", "y"),
        (
            lambda s, c: c[0] * np.sin(s[0] - s[1]) + c[1] * np.sin(s[0]),
            lambda s, c: c[0] * np.sin(s[1] - s[0]) + c[1] * np.sin(s[1]),
        ),
        ((0.5, -1), (0.5, -1)),
        ((4.2646, 4.7610), (4.6692, 2.4644), (4.1185, 1.0756), (4.4362, 0.2000)),
        terms=("sin(x - y)", "sin(x)", "sin(y)"),
    ),
    "glider": TrueSystem(
        ("x", "y"),
        (
            lambda s, c: c[0] * s[0] ** 2 + c[1] * np.sin(s[1]),
            lambda s, c: c[0] * s[0] + c[1] * np.cos(s[1]) / s[0],
        ),
        ((-0.05, -1), (1, -1)),
        ((5.6033, 1.8551), (2.4655, 0.8722), (5.3577, -1.3228), (4.5135, 0.3466)),
        terms=("x**2", "sin(y)", "x", "cos(y)/x"),
    ),
    "lv": TrueSystem(
        ("x", "y"),
        (
            lambda s, c: c[0] * s[0] + c[1] * s[0] * s[1] + c[2] * s[0] ** 2,
            lambda s, c: c[0] * s[1] + c[1] * s[0] * s[1] + c[2] * s[1] ** 2,
        ),
        ((3, -2, -1), (2, -1, -1)),
        ((1, 3), (4, 1), (8, 2), (3, 3)),
        terms=("x", "x*y", "x**2", "y", "y**2"),
    ),
    "predprey": TrueSystem(
        ("x", "y"),
        (
            lambda s, c: c[0] * s[0] + c[1] * s[0] ** 2 + c[2] * s[0] * s[1] / (1 + c[3] * s[0]),
            lambda s, c: c[0] * s[0] * s[1] / (1 + c[1] * s[0]) + c[2] * s[1] ** 2,
        ),
        ((4, -1, -1, 1), (1, 1, -0.075)),
        ((4.8607, 11.5069), (6.5810, 11.4336), (5.7534, 8.7785), (5.8048, 11.6491)),
        terms=("x", "x**2", "x*y/(1 + x)", "y**2"),
    ),
    "shearflow": TrueSystem(
        ("x", "y"),
        (
            lambda s, c: c[0] * np.cos(s[0]) / np.tan(s[1]),
            lambda s, c: (c[0] * np.cos(s[1]) ** 2 + c[1] * np.sin(s[1]) ** 2) * np.sin(s[0]),
        ),
        ((1,), (1, 0.1)),
        ((-1.4016, -1.4257), (-2.5313, 1.0162), (1.2241, -0.5746), (2.8288, -1.4626)),
        terms=("cos(x)/tan(y)", "sin(x)*cos(y)**2", "sin(x)*sin(y)**2"),
    ),
    "vdp": TrueSystem(
        ("x", "y"),
        (
            lambda s, c: c[0] * s[1] + c[1] * s[0] ** 3 + c[2] * s[0],
            lambda s, c: c[0] * s[0],
        ),
        ((10, -10 / 3, 10 / 3), (-0.1,)),
        ((0.3573, 0.2167), (0.6773, 0.7360), (0.0100, 0.3559), (0.2400, 0.9276)),
        terms=("x", "y", "x**3"),
    ),
}
TEXTBOOKS = {
    "Lorenz": TrueSystem(
        ("x", "y", "z"),
        (
            lambda s, c: c[0] * s[0] + c[1] * s[1],
            lambda s, c: c[0] * s[0] + c[1] * s[1] + c[2] * s[0] * s[2],
            lambda s, c: c[0] * s[0] * s[1] + c[1] * s[2],
        ),
        ((-10, 10), (28, -1, -1), (1, -8 / 3)),
        ((-8, 7, 27),),
        samples=1000,
    ),
    "Van der Pol": TrueSystem(
        ("x", "y"),
        (lambda s, c: c[0] * s[1], lambda s, c: c[0] * s[1] + c[1] * s[0] ** 2 * s[1] + c[2] * s[0]),
        ((1,), (1.5, -1.5, -1)),
        ((0.5, 0.0), (2.5, 1.0)),
        end=20.0,
        samples=400,
    ),
    "Lotka-Volterra": TrueSystem(
        ("x", "y"),
        (lambda s, c: c[0] * s[0] + c[1] * s[0] * s[1], lambda s, c: c[0] * s[1] + c[1] * s[0] * s[1]),
        ((1.1, -0.4), (-0.4, 0.1)),
        ((10, 5),),
        end=30.0,
        samples=300,
    ),
    "driven pendulum": TrueSystem(
        ("angle", "speed", "drive"),
        (
            lambda s, c: c[0] * s[1],
            lambda s, c: c[0] * np.sin(s[0]) + c[1] * s[1] + c[2] * s[2],
        ),
        ((1,), (-2, -0.3, 0.8)),
        ((0.3, 0.0), (1.5, 0.5)),
        end=30.0,
        samples=400,
        options={"states": ["angle", "speed"], "inputs": ["drive"]},
    ),
    "SIR": TrueSystem(
        ("S", "I", "R"),
        (
            lambda s, c: c[0] * s[0] * s[1],
            lambda s, c: c[0] * s[0] * s[1] + c[1] * s[1],
            lambda s, c: c[0] * s[1],
        ),
        ((-0.9,), (0.9, -0.25), (0.25,)),
        ((0.99, 0.01, 0.0),),
        end=40.0,
        samples=200,
    ),
}

SYSTEMS = STROGATZ | TEXTBOOKS


def simulate(system: TrueSystem, samples: int, noise: float, seed: int) -> dict[str, np.ndarray]:
    """Return the table of all runs with noise; a drive is cos(0.9·t) and has none."""
    rng = np.random.default_rng(seed)
    measured = (system.options or {}).get("states", list(system.states))
    times = np.linspace(0.0, system.end, samples)
    columns: dict[str, list[np.ndarray]] = {name: [] for name in ("run", "t", *system.states)}
    for run, start in enumerate(system.starts):

        def rate(time: float, state: np.ndarray) -> list[float]:
            full = [*state, np.cos(0.9 * time)]
            return [f(full, c) for f, c in zip(system.rates, system.constants, strict=True)]

        solution = solve_ivp(rate, (0.0, system.end), start, t_eval=times, rtol=1e-10, atol=1e-12)
        columns["run"].append(np.full(samples, float(run)))
        columns["t"].append(times)
        for name, values in zip(system.states, [*solution.y, np.cos(0.9 * times)], strict=False):
            columns[name].append(values)
    table = {name: np.concatenate(parts) for name, parts in columns.items()}
    for name in measured:
        table[name] = table[name] + noise * table[name].std() * rng.standard_normal(len(table[name]))
    return table


def judge(
    rate: Rate, truth: Sequence[float], states: np.ndarray, found: np.ndarray
) -> tuple[bool, float | None]:
    """Say whether an equation found has the true form, and how far its constants are from the true ones."""
    scale = float(np.sqrt((found**2).mean())) or 1.0
    start = np.array(truth, dtype=float)
    best = least_squares(
        lambda c: (rate(states, c) - found) / scale, start, x_scale=np.abs(start), xtol=1e-15, ftol=1e-15
    )
    if not np.sqrt((best.fun**2).mean()) < MATCH:
        return False, None
    error = float(np.abs(best.x / start - 1.0).max())
    return (True, error) if error < DEGENERATE else (False, None)  # a limit of the form is another form


def find_with_symscreen(key: dict[str, Any]) -> list[dict[str, Any]]:
    """Discover one system; return a record of each equation."""
    system = SYSTEMS[key["system"]]
    table = simulate(system, key["samples"], key["noise"], key["seed"])
    options = {"states": list(system.states), "trajectory": "run", **(system.options or {})}
    wall, start = time.perf_counter(), time.process_time()
    result = symscreen.discover_ode(table, time="t", **options)
    seconds, wall = time.process_time() - start, time.perf_counter() - wall
    states = np.array([table[each] for each in system.states])
    rates = [formula.round_numbers(DIGITS).predict(table) for formula in result.formulas]
    records = []
    for place, rate in enumerate(system.rates):
        is_right, error = judge(rate, system.constants[place], states, rates[place])
        record = {
            "method": "symscreen",
            "is_right": is_right,
            "error": error,
            "cpu_s": seconds,
            "wall_s": wall,
        }
        records.append(record | {"found": result.equations[place]})
    return records


def find_with_peer(key: dict[str, Any], python: Path) -> list[dict[str, Any]]:
    """Let pysindy fit one system; return a record of each equation and method."""
    system = SYSTEMS[key["system"]]
    table = simulate(system, key["samples"], key["noise"], key["seed"])
    states = np.array([table[each] for each in system.states])

    def judge_rates(place: int, rates: np.ndarray) -> tuple[bool, float | None]:
        return judge(system.rates[place], system.constants[place], states, rates)

    return find_with_pysindy(table, system.states, system.terms, python, judge_rates)


def list_keys(given: argparse.Namespace) -> list[dict[str, Any]]:
    """List what is run: systems and noises of each side."""
    names = given.systems.split(",")
    tables = [
        {"system": name, "samples": given.samples, "noise": float(noise), "seed": given.seed}
        for noise in given.noise.split(",")
        for name in names
        if name in STROGATZ
    ]
    textbooks = [
        {"system": name, "samples": TEXTBOOKS[name].samples, "noise": 0.01, "seed": given.seed}
        for name in names
        if name in TEXTBOOKS
    ]
    peers = [] if given.no_pysindy else [{"side": "pysindy"} | each for each in tables]
    return [{"side": "symscreen"} | each for each in (*tables, *textbooks)] + peers


def main(arguments: list[str]) -> None:
    """Run the systems, and save the records and a table."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser = make_parser(__doc__)
    parser.add_argument("--noise", default="0,0.01,0.05", help="shares of noise for ODE-Strogatz")
    parser.add_argument("--samples", type=int, default=100, help="samples of a run for ODE-Strogatz")
    parser.add_argument("--systems", default=",".join(SYSTEMS), help="which systems")
    parser.add_argument("--seed", type=int, default=0, help="seed of the noise")
    parser.add_argument("--no-pysindy", action="store_true", help="leave pysindy out")
    parser.add_argument("--cache", type=Path, default=home / "symscreen-peers", help="for the environment")
    parser.add_argument("--checkpoint", type=Path, help="a file of results from which a run continues")
    given = parser.parse_args(arguments)
    python = None if given.no_pysindy else prepare_environment("pysindy", given.cache)

    def compute(key: dict[str, Any]) -> dict[str, Any]:
        is_own = python is None or key["side"] == "symscreen"
        found = find_with_symscreen(key) if is_own else find_with_peer(key, python)
        for each in found:
            print(*key.values(), *each.values(), flush=True)
        return {"equations": found}

    records = [
        {
            **{name: value for name, value in row.items() if name not in {"side", "equations"}},
            "is_strogatz": row["system"] in STROGATZ,
            **each,
        }
        for row in collect_rows(list_keys(given), compute, given.checkpoint)
        for each in row["equations"]
    ]
    save_results("equations_of_motion", {"records": records}, write_table(records), given.results)


def write_table(records: Sequence[dict[str, Any]]) -> str:
    """Write one line for each equation and method."""
    rows = [
        (
            each["system"],
            each["samples"],
            f"{100 * each['noise']:g} %",
            each["method"],
            "yes" if each["is_right"] else "no",
            "" if each["error"] is None else f"{100 * each['error']:.2g} %",
            f"{each['cpu_s']:.0f}" if "cpu_s" in each else "",
            f"{each['wall_s']:.0f}" if "wall_s" in each else "",
            f"`{each['found']}`" if "found" in each else _write_setting(each),
        )
        for each in records
    ]
    return format_table(HEAD, rows)


def _write_setting(record: dict[str, Any]) -> str:
    """Write the setting of pysindy that had the most right equations."""
    return f"width {record['width']:g}, ridge {record['ridge']:g}, threshold {record['threshold']:g}"

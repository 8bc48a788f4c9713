"""Make the fourteen ODE-Strogatz tables: seven systems of two states, each with x' and with y' as target.

Run as ``python data/strogatz/make.py``; it writes the CSV files beside itself. Where the equations, the
starts and the integrator come from stands in ``data/README.md``.

The bytes are the same on every machine. Sums, products and quotients of floats are; ``sin``, ``cos`` and
``**`` of numpy and of the C library are not (their last digit follows the processor), so none is used here.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from pathlib import Path
from typing import NamedTuple

Rate = Callable[[float, float], float]
State = tuple[float, float]

STEP = 0.1
SAMPLES = 100


class System(NamedTuple):
    """x' = f(x, y), y' = g(x, y), and the four states at t = 0."""

    f: Rate
    g: Rate
    starts: tuple[State, State, State, State]


def sin(x: float) -> float:
    """Sine of a few turns at most, from its series in 40 digits."""
    return alternating_series(Decimal(x), 1, x)


def cos(x: float) -> float:
    """Cosine of a few turns at most, from its series in 40 digits."""
    return alternating_series(Decimal(1), 0, x)


def alternating_series(term: Decimal, order: int, x: float) -> float:
    """Add x^k/k! with alternating signs from a first term on, k = order, order + 2, …; round once."""
    with localcontext(prec=40):
        minus_square = -Decimal(x) * Decimal(x)
        total = Decimal(0)
        while abs(term) > Decimal("1e-36"):
            total += term
            order += 2
            term *= minus_square / (order * (order - 1))
        return float(total)


SYSTEMS = {
    "bacres": System(
        f=lambda x, y: 20 - x - x * y / (1 + 0.5 * x * x),
        g=lambda x, y: 10 - x * y / (1 + 0.5 * x * x),
        starts=(
            (9.01502740318998, 12.8015055992981),
            (3.48540194192317, 13.0700662237925),
            (5.81391692721814, 9.936214985790382),
            (5.80195472817425, 9.79266054660331),
        ),
    ),
    "barmag": System(
        f=lambda x, y: 0.5 * sin(x - y) - sin(x),
        g=lambda x, y: 0.5 * sin(y - x) - sin(y),
        starts=(
            (4.26461875246862, 4.76102165511013),
            (4.66923900501058, 2.46443504621593),
            (4.1184890487447, 1.07559768164234),
            (4.43621840643643, 0.200011672644315),
        ),
    ),
    "glider": System(
        f=lambda x, y: -0.05 * x * x - sin(y),
        g=lambda x, y: x - cos(y) / x,
        starts=(
            (5.603272452842469, 1.8551204022395),
            (2.46553213651184, 0.872156816895428),
            (5.35766048171177, -1.32283061311855),
            (4.51350174933492, 0.346591870877256),
        ),
    ),
    "lv": System(
        f=lambda x, y: 3 * x - 2 * x * y - x * x,
        g=lambda x, y: 2 * y - x * y - y * y,
        starts=((1.0, 3.0), (4.0, 1.0), (8.0, 2.0), (3.0, 3.0)),
    ),
    "predprey": System(
        f=lambda x, y: x * (4 - x - y / (1 + x)),
        g=lambda x, y: y * (x / (1 + x) - 0.075 * y),
        starts=(
            (4.86070775030401, 11.5069474930959),
            (6.58096270030409, 11.4336027281584),
            (5.75343217591914, 8.77853103772431),
            (5.80475500292961, 11.6491125241285),
        ),
    ),
    "shearflow": System(
        f=lambda x, y: cos(x) * cos(y) / sin(y),
        g=lambda x, y: (cos(y) * cos(y) + 0.1 * sin(y) * sin(y)) * sin(x),
        starts=(
            (-1.40163422326322, -1.42574462518204),
            (-2.53129567286853, 1.01617273721913),
            (1.22414434129968, -0.5745989297785539),
            (2.82882856222944, -1.462580773342),
        ),
    ),
    "vdp": System(
        f=lambda x, y: 10 * (y - (x * x * x - x) / 3),
        g=lambda x, _: -x / 10,
        starts=(
            (0.35730070503580397, 0.21669793236700896),
            (0.677280004283046, 0.7360147137408308),
            (0.0100185705081634, 0.3559143141937729),
            (0.23995458300156305, 0.9276087313632232),
        ),
    ),
}


def step(system: System, x: float, y: float) -> State:
    """Go from t to t + h: Euler's rule in x, Bogacki and Shampine's third-order rule in y.

    The published tables were made so. An accurate solver gives other states, and another benchmark.
    """
    dx = system.f(x, y)
    k1 = system.g(x, y)
    k2 = system.g(x + STEP * dx / 2, y + STEP * k1 / 2)
    k3 = system.g(x + 3 * STEP * dx / 4, y + 3 * STEP * k2 / 4)
    return x + STEP * dx, y + STEP * (2 * k1 + 3 * k2 + 4 * k3) / 9


def states(system: System) -> list[State]:
    """Sample the four trajectories at t = 0, 0.1, …, 9.9, one after the other: 400 states."""
    rows = []
    for x, y in system.starts:
        state = (x, y)
        for _ in range(SAMPLES):
            rows.append(state)
            state = step(system, *state)
    return rows


def write_all(folder: Path) -> list[Path]:
    """Write the fourteen tables into a folder that exists, and return their paths."""
    written = []
    for name, system in SYSTEMS.items():
        rows = states(system)
        for number, rate in enumerate((system.f, system.g), start=1):
            lines = [f"{x!r},{y!r},{rate(x, y)!r}\n" for x, y in rows]
            path = folder / f"{name}{number}.csv"
            path.write_text("x1,x2,target\n" + "".join(lines), encoding="ascii", newline="\n")
            written.append(path)
    return written


if __name__ == "__main__":
    for path in write_all(Path(__file__).resolve().parent):
        print(path.name)

"""By how much units shrink a space, what that does to the truth's rank, and the cost of units.

Five physical formulas, of data drawn from a stated seed with noise and inputs that play no part, are screened
without units, with ``units="strict"``, and with ``target_units`` besides. Constants that have a unit (R, the
Coulomb constant, G) are no inputs: they go with the target's unit. The fourteen ODE-Strogatz tables are
dimensionless; to them the units below are ascribed, under which every term of every truth has a unit, and
their spaces are counted. The cost is that of judging one large layer with units and without.

It takes a few minutes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from measurement import (
    describe_machine,
    format_number,
    format_spread,
    format_table,
    make_parser,
    save_results,
)

import symscreen
from symscreen.backends import Threads
from symscreen.config.screen_options import SpaceOptions
from symscreen.datasets import list_strogatz_names
from symscreen.expansion import expand
from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.grammar import load_grammar
from symscreen.units import Units, parse_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

SEED, ROWS, NOISE = 20, 100, 0.1
SCREEN: dict[str, Any] = {"layers": "ubb", "unary": ["square", "sqrt", "exp", "log"], "top": 2000}


@dataclass(frozen=True)
class Law:
    """A formula, its inputs with units and ranges, and what the response is measured in."""

    name: str
    truth: str
    inputs: dict[str, tuple[str, float, float]]
    target: str


LAWS = (
    Law("ideal gas, p = nRT/V", "amount*temperature/volume",
        {"amount": ("mol", 0.5, 5), "temperature": ("K", 250, 400), "volume": ("L", 5, 50),
         "thickness": ("mm", 1, 9)}, "kPa/molar_gas_constant"),
    Law("Coulomb, F = kqQ/r²", "q*Q/r**2",
        {"q": ("nC", 1, 9), "Q": ("µC", 1, 9), "r": ("cm", 5, 50), "mass": ("g", 1, 50)},
        "N/coulomb_constant"),
    Law("drag, F = cρAv²/2", "density*v**2*(area*c)",
        {"density": ("kg/m**3", 0.8, 1.3), "v": ("km/h", 20, 200), "area": ("m**2", 0.5, 3),
         "c": ("1", 0.2, 1.2), "mass": ("t", 0.8, 3)}, "N"),
    Law("pendulum, T = 2π√(l/g)", "sqrt(l)/sqrt(g)",
        {"l": ("cm", 20, 200), "g": ("m/s**2", 1.6, 25), "mass": ("g", 50, 500), "angle": ("degree", 1, 9)},
        "s"),
    Law("Kepler, T = 2π√(a³/GM)", "a*(sqrt(a)/sqrt(M))",
        {"a": ("Gm", 50, 800), "M": ("kg", 1e30, 4e30), "radius": ("km", 2e3, 7e4), "e": ("1", 0.01, 0.3)},
        "day*gravitational_constant**0.5"),
)  # fmt: skip

# v: speed; θ: angle, a pure number; what is added to a number is scaled by that number's unit, hence pure
STROGATZ: dict[str, tuple[dict[str, str], str]] = {
    "glider": ({"x1": "m/s"}, "speed in m/s, angle"),
    "lv": ({"x1": "1/m**2", "x2": "1/m**2"}, "animals per m²"),
    "vdp": ({"x1": "V", "x2": "A"}, "voltage, current"),
    "bacres": ({"x2": "mol/L"}, "nutrient in half-saturations, oxygen in mol/L"),
    "predprey": ({"x2": "1/m**2"}, "prey in half-saturations, predators per m²"),
    "barmag": ({}, "angles"),
    "shearflow": ({}, "angles"),
}
TERMS = {
    "bacres1": ["x1", "x1*x2/(2 + x1**2)"],
    "bacres2": ["x1*x2/(2 + x1**2)"],
    "barmag1": ["sin(x1 - x2)", "sin(x1)"],
    "barmag2": ["sin(x2 - x1)", "sin(x2)"],
    "glider1": ["x1**2", "sin(x2)"],
    "glider2": ["x1", "cos(x2)/x1"],
    "lv1": ["x1", "x1*x2", "x1**2"],
    "lv2": ["x2", "x1*x2", "x2**2"],
    "predprey1": ["x1", "x1**2", "x1*(x2/(1 + x1))"],
    "predprey2": ["x2*(x1/(1 + x1))", "x2**2"],
    "shearflow1": ["cos(x1)*(cos(x2)/sin(x2))"],
    "shearflow2": ["sin(x1)*cos(x2)**2", "sin(x1)*sin(x2)**2"],
    "vdp1": ["x2", "x1**3", "x1"],
    "vdp2": ["x1"],
}


def table_of(law: Law) -> tuple[pd.DataFrame, dict[str, str]]:
    """Draw a law's inputs, and its response with multiplicative noise."""
    rng = np.random.default_rng([SEED, LAWS.index(law)])
    frame = pd.DataFrame({name: rng.uniform(low, high, ROWS) for name, (_, low, high) in law.inputs.items()})
    exact = evaluate_expression(parse_expression(law.truth), {name: frame[name].to_numpy() for name in frame})
    frame["target"] = exact / exact.mean() * (1 + NOISE * rng.standard_normal(ROWS))
    return frame, {name: unit for name, (unit, _, _) in law.inputs.items()}


def law_found(law: Law) -> dict[str, Any]:
    """Screen a law in three ways."""
    frame, units = table_of(law)
    found: dict[str, Any] = {"law": law.name, "truth": law.truth, "target_units": law.target, "units": units}
    truth = evaluate_expression(parse_expression(law.truth), {name: frame[name].to_numpy() for name in frame})
    own = symscreen.t0(truth, frame["target"].to_numpy())
    ways = {"without": {}, "strict": {"units": units}, "target": {"units": units, "target_units": law.target}}
    for way, options in ways.items():
        start = time.perf_counter()
        result = symscreen.screen(frame, **SCREEN, **options)
        seconds = time.perf_counter() - start
        loss = np.minimum(result.table["t0"], 2 * result.scale - result.table["t0"])
        tolerance = 1e-12 * result.scale
        there = len(loss) < SCREEN["top"] or float(own) <= float(loss.max()) + tolerance
        found[way] = {
            "features": result.n_scored,
            "no_unit": sum(layer["pruned"].get("no unit", 0) for layer in result.record["layers"]),
            "rank": int((loss < float(own) - tolerance).sum()) + 1 if there else None,
            "best": result.table.expression[0],
            "seconds": round(seconds, 2),
        }
        if options:  # what the space has already does not join it
            joined = symscreen.screen(frame, **SCREEN, **options, also=[law.truth])
            found[way]["kept"] = joined.n_scored == result.n_scored
        print(law.name, way, found[way], flush=True)
    return found


def strogatz_counted(name: str) -> dict[str, Any]:
    """Count the space of a Strogatz table with the units ascribed to it, and look for the truth's terms."""
    ascribed, words = STROGATZ[name.rstrip("12")]
    grammar = load_grammar("strogatz")
    depth = "bub" if name.startswith("barmag") else "ubb"
    layers = grammar.resolve_layers(depth)
    units = Units({column: parse_unit(text) for column, text in ascribed.items()})
    terms = [parse_expression(text) for text in TERMS[name]]
    sizes = []
    for own in (None, units):
        space = expand(["x1", "x2"], None, grammar, layers, units=own, options=SpaceOptions())
        # what the space has already does not join it
        joined = expand(["x1", "x2"], None, grammar, layers, units=own, also=terms, options=SpaceOptions())
        sizes.append((space.size, joined.size == space.size))
    return {
        "table": name, "units": words, "terms": TERMS[name], "without": sizes[0][0], "strict": sizes[1][0],
        "kept": sizes[1][1], "there": sizes[0][1], "layers": depth,
    }  # fmt: skip


def judging_cost(inputs: int, repeats: int) -> dict[str, Any]:
    """Time the judging of a layer of + − × ÷ on inputs of six units, by processor time, with and without."""
    names = [f"x{place}" for place in range(inputs)]
    every = ["m", "s", "kg", "m/s", "J", "1"]
    units = {name: parse_unit(every[place % len(every)]) for place, name in enumerate(names)}
    grammar = replace(load_grammar("basic").add_operators(("sin", "cos")), max_range={})
    layers = grammar.resolve_layers("b[add,sub,mul,div]")
    ways = {"without": None, "strict": Units(units), "target": Units(units, parse_unit("N"))}
    times: dict[str, list[float]] = {way: [] for way in ways}
    candidates = 0
    for turn in range(repeats + 1):  # the first compiles
        for way, own in ways.items():
            start = time.process_time()
            space = expand(
                names,
                None,
                grammar,
                layers,
                "strict",
                units=own,
                map_function=Threads(1).map,
                options=SpaceOptions(),
            )
            if turn:
                times[way].append((time.process_time() - start) / space.candidates.total * 1e9)
            candidates = space.candidates.total
    return {"candidates": candidates, "nanoseconds": times}


def main(arguments: Sequence[str]) -> None:
    """Measure, print and save."""
    parser = make_parser(__doc__)
    parser.add_argument("--inputs", type=int, default=2000, help="of the layer that is judged")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(arguments)
    named = describe_machine()
    laws = [law_found(law) for law in LAWS]
    tables = [strogatz_counted(name) for name in list_strogatz_names()]
    cost = judging_cost(options.inputs, options.repeats)
    first = format_table(
        ("law", "features", "with a unit", "in the target's", "fewer", "truth kept", "its rank, each"),
        [
            (
                law["law"],
                *(f"{law[way]['features']:,}" for way in ("without", "strict", "target")),
                " and ".join(
                    f"{format_number(law['without']['features'] / law[way]['features'], 2)} ×"
                    for way in ("strict", "target")
                ),
                "yes" if law["strict"]["kept"] and law["target"]["kept"] else "no",
                ", ".join(
                    str(law[way]["rank"] or f"> {SCREEN['top']}") for way in ("without", "strict", "target")
                ),
            )
            for law in laws
        ],
    )
    second = format_table(
        ("table", "layers", "units ascribed", "features", "with a unit", "fewer", "its terms", "kept"),
        [
            (
                one["table"], one["layers"], one["units"], f"{one['without']:,}", f"{one['strict']:,}",
                f"{format_number(one['without'] / one['strict'], 2)} ×",
                ", ".join(f"`{term}`" for term in one["terms"]),
                "yes" if one["kept"] else "not there without units" if not one["there"] else "no",
            )
            for one in tables
        ],
    )  # fmt: skip
    third = format_table(
        ("candidates judged", *cost["nanoseconds"]),
        [
            (
                f"{cost['candidates']:,}",
                *(f"{format_spread(each)} ns" for each in cost["nanoseconds"].values()),
            )
        ],
    )
    save_results(
        "units",
        {"machine": named, "seed": SEED, "rows": ROWS, "noise": NOISE, "laws": laws, "strogatz": tables,
         "judging": cost},
        f"{first}\n\n{second}\n\n{third}",
        options.results,
    )  # fmt: skip

"""Error rates over a whole dependent space: max-T and q-values on noise, their exactness, and what they cost.

* ``noise``: the response is fixed, the inputs are drawn anew; every feature of a space of three layers is
  noise, and all of them depend on each other. The family-wise error of max-T, and the false discovery rate,
  which is here the chance that anything is found at all.
* ``signal``: one input follows the response, the others are noise. The mean share of features without that
  input among those found, and the chance that max-T finds any.
* ``exact``: q-values of a streamed space against those from all p-values in memory, bit by bit.
* ``cost``: a screen with p-values, and one with 200 permutations, against a plain one, in one process.

Five minutes of processor time.
"""

from __future__ import annotations

import time
from dataclasses import replace
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
from tables import RATIONAL, make_table

import symscreen
from symscreen.backends import Threads
from symscreen.config.screen_options import SpaceOptions
from symscreen.data import read_dataset
from symscreen.expansion import expand
from symscreen.expressions.traversal import collect_columns
from symscreen.grammar import load_grammar
from symscreen.screeners import T0, Screener
from symscreen.screening.inference.error_control import ErrorControl, build_inference
from symscreen.screening.scoring.block_scoring import Scorer, TopKSpec
from symscreen.screening.scoring.streaming import compute_chunk_size, score_stream
from symscreen.statistics.inference.p_value_counts import (
    compute_harmonic_number,
    compute_q_values,
    decode_p_values,
    encode_p_values,
)
from symscreen.targets import NumericTarget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen.statistics.nulls.null_table import NullDistribution

    Values = NDArray[np.float64]

ROWS, LEVEL, PERMUTATIONS = 50, 0.05, 99
UNARY, BINARY = ("square", "abs"), ("add", "sub", "mul")
KINDS = ("normal", "lognormal, σ = 2", "Cauchy", "five levels")


def response_of(kind: str) -> NumericTarget:
    """Draw one response of a kind; it stays fixed."""
    rng = np.random.default_rng([7, KINDS.index(kind)])
    y = {
        "normal": rng.normal(size=ROWS),
        "lognormal, σ = 2": rng.lognormal(0.0, 2.0, ROWS),
        "Cauchy": rng.standard_cauchy(ROWS),
        "five levels": rng.integers(0, 5, ROWS).astype(float),
    }[kind]
    return NumericTarget(np.sort(y))


def prepared(null: NullDistribution) -> Screener:
    """Return T0 with a null distribution that is made already: that of a response with these values."""
    return replace(T0, null_distribution=lambda response, seed: null)  # noqa: ARG005  # the protocol's names


def noise(kind: str, repeats: int) -> dict[str, Any]:
    """Count the spaces of noise in which anything is found."""
    response = response_of(kind)
    assert T0.null_distribution is not None  # noqa: S101
    screener = prepared(T0.null_distribution(response, 0))
    grammar = load_grammar("basic").override(unary=UNARY, binary=BINARY)
    found = {"max-T": 0, "bh": 0, "by": 0}
    features = []
    for repeat in range(repeats):
        x = np.random.default_rng([8, KINDS.index(kind), repeat]).normal(size=(2, ROWS))
        table = read_dataset({"x1": x[0], "x2": x[1], "y": response.values})
        space = expand(
            table.names,
            table.columns,
            grammar,
            grammar.resolve_layers("ubb"),
            "cumulative",
            options=SpaceOptions(),
        )
        control = ErrorControl(permutations=PERMUTATIONS)
        watch = build_inference(control, table.target, screener, "free", repeat)
        assert watch is not None and watch.permuted_target is not None  # noqa: S101, PT018
        own = np.column_stack((watch.permuted_target.weights, watch.permuted_target.permuted_weights))
        watch = replace(watch, permuted_target=replace(watch.permuted_target, permuted_weights=own))
        keep = TopKSpec(0, "ranks", mirrored=True, limit=1)
        scorer = Scorer(space, table.target, (screener,), "free", (keep,), inference=watch)
        seen = score_stream(scorer, Threads(1), compute_chunk_size(ROWS)).inference_state
        assert seen.max_statistics is not None  # noqa: S101
        as_good = int((seen.max_statistics[1:] >= seen.max_statistics[0] * (1 - 1e-12)).sum())
        found["max-T"] += (1 + as_good) / (PERMUTATIONS + 1) <= LEVEL
        for method in ("bh", "by"):
            found[method] += bool((compute_q_values(seen.p_value_counts, method) <= LEVEL).any())
        features.append(seen.p_value_counts.total)
    rates = {name: count / repeats for name, count in found.items()}
    return {"response": kind, "repeats": repeats, "features": float(np.mean(features)), "rates": rates}


def signal(repeats: int) -> dict[str, Any]:
    """Average the share of false discoveries where one of three inputs follows the response."""
    response = response_of("normal")
    assert T0.null_distribution is not None  # noqa: S101
    screener = prepared(T0.null_distribution(response, 0))
    shares: dict[str, list[float]] = {"bh": [], "by": [], "max-T": []}
    counts: dict[str, list[int]] = {"bh": [], "by": [], "max-T": []}
    features = []
    for repeat in range(repeats):
        x = np.random.default_rng([9, repeat]).normal(size=(ROWS, 3))
        x[:, 0] += 0.8 * response.values
        result = symscreen.screen(
            x,
            response.values,
            layers="ubb",
            unary=["square"],
            binary=list(BINARY),
            screener=screener,
            top="all",
            p_values=True,
            permutations=PERMUTATIONS,
            seed=repeat,
            jobs=1,
        )
        features.append(result.n_scored)
        false = np.array(["x1" not in collect_columns(one) for one in result.expressions])
        q = result.table.q_value.to_numpy()
        scale = compute_harmonic_number(result.n_scored)
        passing = {
            "bh": q <= LEVEL,
            "by": q * scale <= LEVEL,  # as `adjusted` has it, up to a last bit
            "max-T": result.table.p_family.to_numpy() <= LEVEL,
        }
        for name, good in passing.items():
            counts[name].append(int(good.sum()))
            share = (false & good).sum() / max(1, good.sum())
            shares[name].append(float((false & good).any() if name == "max-T" else share))
    return {
        "repeats": repeats,
        "features": float(np.mean(features)),
        "rates": {name: float(np.mean(own)) for name, own in shares.items()},
        "errors": {name: float(np.std(own) / np.sqrt(repeats)) for name, own in shares.items()},
        "found": {name: float(np.mean(own)) for name, own in counts.items()},
    }


def exact(inputs: int) -> dict[str, Any]:
    """Compare q-values of a streamed space with those of all p-values in memory."""
    x, y = make_table("weak", 100, inputs)
    every: list[Values] = []
    assert T0.null_distribution is not None  # noqa: S101
    null = T0.null_distribution(NumericTarget(np.sort(y)), 0)

    def recorded(ordered: Any, statistics: Values, sign: Any) -> Values:
        every.append(null(ordered, statistics, sign))
        return every[-1]

    equal = {}
    for method in ("bh", "by"):
        every.clear()
        result = symscreen.screen(
            x,
            y,
            layers=f"{RATIONAL} {RATIONAL}",
            screener=prepared(recorded),
            p_values=True,
            fdr_method=method,
            top=1000,
            max_correlation=1,
            jobs=1,
        )
        p = np.sort(decode_p_values(encode_p_values(np.concatenate(every)[: result.n_scored])))
        scale = len(p) * (compute_harmonic_number(len(p)) if method == "by" else 1.0)
        q = scale * p / np.arange(1, len(p) + 1)
        q = np.minimum(np.minimum.accumulate(q[::-1])[::-1], 1.0)
        own = q[np.searchsorted(p, result.table.p_value.to_numpy())]
        equal[method] = int((own.view(np.int64) == result.table.q_value.to_numpy().view(np.int64)).sum())
    return {"features": result.n_scored, "compared": len(result), "equal": equal}


def cost(inputs: int, repeats: int) -> dict[str, Any]:
    """Time a plain screen, one with p-values and one with permutations, in turn."""
    x, y = make_table("weak", 400, inputs)
    start = time.process_time()
    assert T0.null_distribution is not None  # noqa: S101
    screener = prepared(T0.null_distribution(NumericTarget(np.sort(y)), 0))
    made = time.process_time() - start
    options: dict[str, dict[str, Any]] = {
        "plain": {"p_values": False},
        "p_values": {"p_values": True},
        "permutations": {"p_values": False, "permutations": 200},
    }
    wall: dict[str, list[float]] = {name: [] for name in options}
    processor: dict[str, list[float]] = {name: [] for name in options}
    for repeat in range(repeats + 1):
        for name, settings in options.items():
            begun = time.perf_counter(), time.process_time()
            result = symscreen.screen(
                x,
                y,
                layers=f"{RATIONAL} {RATIONAL}",
                screener=screener,
                max_correlation=1,
                jobs=2,
                **settings,
            )
            ended = time.perf_counter(), time.process_time()
            if repeat:  # the first compiles
                wall[name].append(ended[0] - begun[0])
                processor[name].append(ended[1] - begun[1])
    return {"features": result.n_scored, "null_s": made, "wall_s": wall, "processor_s": processor}


def _percent(rate: float, error: float) -> str:
    return f"{100 * rate:.1f} ± {100 * error:.1f}"


def _on_null(took: dict[str, Any]) -> str:
    return (
        f"{took['features']:,} features; the null distribution, made once a response, took "
        f"{format_number(took['null_s'], 2)} s of processor time."
    )


def _tables(found: dict[str, Any]) -> str:
    rows = []
    for one in found["noise"]:
        rates = one["rates"]
        errors = {name: (rate * (1 - rate) / one["repeats"]) ** 0.5 for name, rate in rates.items()}
        cells = [_percent(rates[name], errors[name]) for name in ("max-T", "bh", "by")]
        rows.append([one["response"], one["repeats"], format_number(one["features"]), *cells])
    one = found["signal"]
    cells = [_percent(one["rates"][name], one["errors"][name]) for name in ("max-T", "bh", "by")]
    rows.append(["normal, one input follows it", one["repeats"], format_number(one["features"]), *cells])
    head = ("response", "spaces", "features", "max-T, any false %", "BH, FDR %", "BY, FDR %")
    same, took = found["exact"], found["cost"]
    lines = [
        format_table(head, rows),
        f"± one Monte-Carlo standard error; nominal {100 * LEVEL:g} %, {ROWS} rows, {PERMUTATIONS} "
        f"permutations. With the signal, of {format_number(one['features'])} features "
        + ", ".join(f"{format_number(one['found'][name])} pass {name}" for name in ("max-T", "bh", "by"))
        + " in mean.",
        f"Streamed q-values equal those of all {same['features']:,} p-values in memory to the last bit: "
        + ", ".join(f"{count:,} of {same['compared']:,} ({name})" for name, count in same["equal"].items())
        + "; of the p-values as written, and for c·N·p / rank computed in this order.",
        format_table(
            ("400 rows, two threads", "wall time / plain", "processor time / plain"),
            [
                [
                    words,
                    *(
                        format_spread(compute_ratios(took[clock][name], took[clock]["plain"]))
                        for clock in ("wall_s", "processor_s")
                    ),
                ]
                for name, words in (
                    ("p_values", "p- and q-values"),
                    ("permutations", "max-T, 200 permutations"),
                )
            ],
        ),
        _on_null(took),
    ]
    return "\n\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    """Measure everything and write it down."""
    parser = make_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=800, help="Spaces of noise a response.")
    parser.add_argument("--signals", type=int, default=200, help="Spaces with a signal.")
    parser.add_argument("--inputs", type=int, default=16, help="Of the large space.")
    options = parser.parse_args(arguments)
    found: dict[str, Any] = {"machine": describe_machine()}
    found["cost"] = cost(options.inputs, 5)
    found["exact"] = exact(options.inputs)
    found["signal"] = signal(options.signals)
    found["noise"] = [noise(kind, options.repeats) for kind in KINDS]
    save_results("error_rates", found, _tables(found), options.results)

"""What a screen says by default: on noise, about a planted law, and how many formulas of its list differ.

* ``noise``: how often a table of noise gets the verdict that nothing does better than noise.
* ``planted``: how often the first formula is the planted one, with a verdict that it does better. A law is
  two terms of two inputs, joined by an operator, and half of the variance of the target is noise. The law is
  in the default space, so it can come first. Where it does not, ``is_outscored`` says whether the first
  formula has a higher Gini correlation with the target than the law has.
* ``distinct``: how many of the 20 formulas shown are distinct, and how many have waves.
* ``costs``: what p-values and the search for distinct formulas take, where ``--costs`` asks for it, because
  it needs an idle machine.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from measurement import collect_rows, describe_machine, format_table, make_parser, save_results
from reliability.new_rows import make_housing
from sklearn import datasets

import symscreen
from symscreen.expressions.traversal import iterate_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Values = np.ndarray

_ROWS = 200
_TERMS: dict[str, Callable[[Values], Values]] = {
    "{}": lambda x: x,
    "{}**2": np.square,
    "sqrt({})": np.sqrt,
    "(1/{})": lambda x: 1.0 / x,
    "log({})": np.log,
    "exp({})": np.exp,
}
_OPERATORS: dict[str, Callable[[Values, Values], Values]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}
# Terms and operators by kind of inputs: what is defined, and has a variance.
_SHAPES = {
    "uniform": (tuple(_TERMS), tuple(_OPERATORS)),
    "normal": (("{}", "{}**2"), ("+", "-", "*")),
    "lognormal": (("{}", "{}**2", "sqrt({})", "(1/{})", "log({})"), tuple(_OPERATORS)),
}
_MAX_CORRELATION = 0.95
_N_SHOWN = 20
_WIDE = 8  # inputs from which a table of noise is screened by one layer


class Planted(NamedTuple):
    """A table with a planted law, and the law."""

    frame: pd.DataFrame
    values: Values
    law: str
    kind: str


def draw_noise(seed: int) -> tuple[pd.DataFrame, str]:
    """Draw a table of noise of 30 to 500 rows and 3 to 20 inputs; return it and the layers of its screen."""
    rng = np.random.default_rng([1, seed])
    n_rows = int(np.exp(rng.uniform(np.log(30), np.log(500))))
    n_inputs = int(rng.integers(3, 21))
    x = rng.normal(size=(n_rows, n_inputs)) if seed % 2 else rng.uniform(0.1, 3.0, (n_rows, n_inputs))
    y = rng.lognormal(size=n_rows) if seed % 3 == 0 else rng.normal(size=n_rows)
    names = [f"x{index}" for index in range(1, n_inputs + 1)]
    return pd.DataFrame(x, columns=names).assign(y=y), "ub" if n_inputs < _WIDE else "b"


def draw_planted(seed: int) -> Planted:
    """Draw a table of 200 rows and four to eight inputs with a planted law at R² 0.5."""
    rng = np.random.default_rng([2, seed])
    n_inputs = int(rng.integers(4, 9))
    kind = tuple(_SHAPES)[rng.integers(len(_SHAPES))]
    shape = (n_inputs, _ROWS)
    inputs = {
        "uniform": lambda: rng.uniform(0.5, 2.5, shape),
        "normal": lambda: rng.normal(size=shape),
        "lognormal": lambda: rng.lognormal(0.0, 0.5, shape),
    }[kind]()
    terms, operators = _SHAPES[kind]
    chosen = rng.choice(n_inputs, 2, replace=False)
    first, second = rng.choice(terms, 2)
    operator = rng.choice(operators)
    values = _OPERATORS[operator](_TERMS[first](inputs[chosen[0]]), _TERMS[second](inputs[chosen[1]]))
    names = [f"x{index}" for index in range(1, n_inputs + 1)]
    frame = pd.DataFrame(dict(zip(names, inputs, strict=True)))
    target = values + rng.normal(size=_ROWS) * values.std()
    law = f"{first} {operator} {second}".format(*(names[index] for index in chosen))
    return Planted(frame.assign(y=target), values, law, kind)


def list_keys(question: str, n_tables: int) -> list[dict[str, Any]]:
    """List the tables of a question."""
    return [{"question": question, "seed": seed} for seed in range(n_tables)]


def judge_noise(key: dict[str, Any]) -> dict[str, Any]:
    """Return the kind of the verdict on a table of noise."""
    frame, layers = draw_noise(key["seed"])
    result = symscreen.screen(frame, target="y", layers=layers, quiet=True)
    return {"verdict": result.record["verdict"]["kind"]}


def judge_planted(key: dict[str, Any]) -> dict[str, Any]:
    """Return |ρ| of the first formula with the planted law, and the verdict."""
    planted = draw_planted(key["seed"])
    result = symscreen.screen(planted.frame, target="y", quiet=True)
    law = planted.values  # noqa: PD011  # no frame
    first = result.transform(planted.frame).iloc[:, 0]
    correlation = abs(float(first.rank().corr(pd.Series(law).rank())))
    is_signal = result.record["verdict"]["kind"] == "signal"
    target = planted.frame["y"].to_numpy()
    own = abs(1.0 - symscreen.t0(law[:, None], target)[0] / _compute_gini_difference(target))
    return {
        "kind": planted.kind,
        "law": planted.law,
        "first": str(result.table.expression[0]),
        "correlation": correlation,
        "is_signal": is_signal,
        "is_found": is_signal and correlation >= _MAX_CORRELATION,
        "is_outscored": bool(abs(result.table.gini[0]) > own),
    }


def _compute_gini_difference(target: Values) -> float:
    """Compute Gini's mean difference: half of T0 of the reversed order."""
    return float(symscreen.t0(-target[:, None], target)[0]) / 2.0


def load_tables() -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield tables of scikit-learn and generated ones, with the target in the last column."""
    for load in (datasets.load_diabetes, datasets.load_wine, datasets.load_breast_cancer):
        frame = load(as_frame=True).frame
        yield load.__name__.removeprefix("load_"), frame
    inputs, price = make_housing(np.random.default_rng(0), 2000)
    yield "housing", inputs.assign(target=price)
    rng = np.random.default_rng(3)
    makers = {
        "friedman1": datasets.make_friedman1,
        "friedman2": datasets.make_friedman2,
        "friedman3": datasets.make_friedman3,
    }
    for name, make in makers.items():
        x, y = make(n_samples=400, noise=1.0, random_state=0)
        yield name, _to_frame(x, y)
    yield (
        "correlated",
        _to_frame(rng.normal(size=(300, 1)) + 0.3 * rng.normal(size=(300, 6)), rng.normal(size=300)),
    )
    x = rng.lognormal(size=(500, 5))
    yield "lognormal", _to_frame(x, x[:, 0] * x[:, 1] + rng.normal(size=500))


def _to_frame(x: Values, y: Values) -> pd.DataFrame:
    return pd.DataFrame(x, columns=[f"x{index}" for index in range(x.shape[1])]).assign(target=y)


def count_waves(result: symscreen.ScreenResult) -> int:
    """Count the formulas shown that have a sine or a cosine."""
    return sum(
        any(call.operator.name in {"sin", "cos"} for call in iterate_calls(expression))
        for expression in result.expressions
    )


def count_distinct(result: symscreen.ScreenResult, frame: pd.DataFrame) -> int:
    """Count the formulas shown of which none correlates above 0.95 with an earlier one that was counted."""
    correlations = np.abs(np.corrcoef(result.transform(frame).rank().to_numpy().T))
    kept: list[int] = []
    for index in range(len(result)):
        if all(correlations[index, other] <= _MAX_CORRELATION + 1e-9 for other in kept):
            kept.append(index)
    return len(kept)


def measure_cost(n_inputs: int, layers: str) -> dict[str, Any]:
    """Measure screens of 400 rows with and without p-values and distinct formulas, the median of three."""
    rng = np.random.default_rng(4)
    x = rng.uniform(0.5, 2.5, (400, n_inputs))
    frame = _to_frame(x, x[:, 0] * x[:, 1] + rng.normal(size=400))
    plain = {"p_values": False, "max_correlation": 1}
    settings = {
        "plain": plain,
        "distinct": {"p_values": False},
        "p_values": {"max_correlation": 1},
        "default": {},
    }
    seconds: dict[str, Any] = {}
    for name, options in settings.items():
        times = []
        for _ in range(3):
            start = time.perf_counter()
            result = symscreen.screen(frame, layers=layers, quiet=True, jobs=2, **options)
            times.append(time.perf_counter() - start)
        seconds[name] = float(np.median(times))
    return {"features": result.n_scored, **seconds}


def main(arguments: Sequence[str]) -> None:
    """Answer the four questions."""
    parser = make_parser(__doc__)
    parser.add_argument("--noise", type=int, default=200, help="tables of noise")
    parser.add_argument("--planted", type=int, default=120, help="tables with a law")
    parser.add_argument("--costs", action="store_true", help="also measure times")
    parser.add_argument("--checkpoint", type=Path, help="a file of JSON lines for the answers so far")
    options = parser.parse_args(arguments)
    noise = collect_rows(list_keys("noise", options.noise), judge_noise, options.checkpoint)
    planted = collect_rows(list_keys("planted", options.planted), judge_planted, options.checkpoint)
    lists = []
    for name, frame in load_tables():
        result = symscreen.screen(frame, target=str(frame.columns[-1]), quiet=True)
        counts = {"distinct": count_distinct(result, frame), "waves": count_waves(result)}
        lists.append({"table": name, "shown": len(result), **counts})
    costs = [measure_cost(*space) for space in ((5, "ub"), (17, "ub"), (36, "ub")) if options.costs]
    found = {
        "machine": describe_machine(),
        "noise": noise,
        "planted": planted,
        "distinct": lists,
        "costs": costs,
    }
    save_results("first_answer", found, _format_answers(found), options.results)


def _format_answers(found: dict[str, Any]) -> str:
    """Format the answers as a table."""
    noise, planted = found["noise"], found["planted"]
    n_nothing = sum(one["verdict"] == "noise" for one in noise)
    groups = {"the first 30": planted[:30], "all": planted}
    groups |= {f"{kind} inputs": [one for one in planted if one["kind"] == kind] for kind in _SHAPES}
    missed = [one for one in planted if not one["is_found"]]
    n_outscored = sum(one["is_outscored"] for one in missed)
    rows = [
        ["noise with the verdict that nothing is better", f"{n_nothing} of {len(noise)}"],
        *(
            [f"planted laws found, {name}", f"{sum(one['is_found'] for one in group)} of {len(group)}"]
            for name, group in groups.items()
        ),
        ["laws not found that the first formula outscores", f"{n_outscored} of {len(missed)}"],
        *(
            [f"distinct, with waves: {one['table']}", f"{one['distinct']}, {one['waves']} of {one['shown']}"]
            for one in found["distinct"]
        ),
        *(
            [
                f"{cost['features']:,} features: plain, distinct, p-values, both",
                ", ".join(f"{cost[name]:.2f} s" for name in ("plain", "distinct", "p_values", "default")),
            ]
            for cost in found["costs"]
        ),
    ]
    return format_table(("question", "answer"), rows)

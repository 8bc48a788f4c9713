"""What a screen says by default: on noise, about a planted law, and how many formulas of its list differ.

Four questions: how often a table of noise gets the verdict that nothing does better than noise; how often the
first formula is the planted one, with a verdict that it does better; how many of the 20 formulas shown are
distinct; and what p-values and the search for distinct formulas cost.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from measurement import describe_machine, format_table, make_parser, save_results
from sklearn import datasets

import symscreen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Values = np.ndarray

_LAWS: tuple[Callable[[dict[str, Values]], Values], ...] = (
    lambda x: x["a"] * x["b"],
    lambda x: x["a"] / x["b"],
    lambda x: x["a"] ** 2 + x["b"],
    lambda x: np.log(x["a"]) - x["c"],
    lambda x: np.sqrt(x["a"]) * x["c"],
    lambda x: x["a"] - x["b"],
)
_MAX_CORRELATION = 0.95
_N_SHOWN = 20
_WIDE = 8  # inputs from which a table of noise is screened by one layer


def draw_noise(seed: int) -> tuple[pd.DataFrame, str]:
    """Draw a table of noise of 30 to 500 rows and 3 to 20 inputs; return it and the layers of its screen."""
    rng = np.random.default_rng([1, seed])
    n_rows = int(np.exp(rng.uniform(np.log(30), np.log(500))))
    n_inputs = int(rng.integers(3, 21))
    x = rng.normal(size=(n_rows, n_inputs)) if seed % 2 else rng.uniform(0.1, 3.0, (n_rows, n_inputs))
    y = rng.lognormal(size=n_rows) if seed % 3 == 0 else rng.normal(size=n_rows)
    names = [f"x{index}" for index in range(1, n_inputs + 1)]
    return pd.DataFrame(x, columns=names).assign(y=y), "ub" if n_inputs < _WIDE else "b"


def draw_planted(seed: int) -> tuple[pd.DataFrame, Values]:
    """Draw a table of 200 rows and six inputs with a planted law at R² 0.5; return the law's values, too."""
    rng = np.random.default_rng([2, seed])
    columns = dict(zip("abcdef", rng.uniform(0.5, 2.5, (6, 200)), strict=True))
    values = _LAWS[seed % len(_LAWS)](columns)
    return pd.DataFrame(columns | {"y": values + rng.normal(size=200) * values.std()}), values


def judge_noise(seed: int) -> str:
    """Return the kind of the verdict on a table of noise."""
    frame, layers = draw_noise(seed)
    return str(symscreen.screen(frame, target="y", layers=layers, quiet=True).record["verdict"]["kind"])


def judge_planted(seed: int) -> tuple[bool, float]:
    """Return whether the verdict is a signal, and |ρ| of the first formula with the planted one."""
    frame, values = draw_planted(seed)
    result = symscreen.screen(frame, target="y", quiet=True)
    first = result.transform(frame).iloc[:, 0].rank()
    return result.record["verdict"]["kind"] == "signal", abs(float(first.corr(pd.Series(values).rank())))


def load_tables() -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield tables of scikit-learn and generated ones, with the target in the last column."""
    for load in (datasets.load_diabetes, datasets.load_wine, datasets.load_breast_cancer):
        frame = load(as_frame=True).frame
        yield load.__name__.removeprefix("load_"), frame
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
    parser.add_argument("--planted", type=int, default=30, help="tables with a law")
    options = parser.parse_args(arguments)
    kinds = [judge_noise(seed) for seed in range(options.noise)]
    planted = [judge_planted(seed) for seed in range(options.planted)]
    lists = {
        name: count_distinct(symscreen.screen(frame, target=str(frame.columns[-1]), quiet=True), frame)
        for name, frame in load_tables()
    }
    costs = [measure_cost(*space) for space in ((5, "ub"), (17, "ub"), (36, "ub"))]
    found: dict[str, Any] = {
        "machine": describe_machine(),
        "noise": {"tables": len(kinds), "nothing": sum(kind == "noise" for kind in kinds)},
        "planted": {
            "tables": len(planted),
            "found": sum(is_signal and rho >= _MAX_CORRELATION for is_signal, rho in planted),
        },
        "distinct": lists,
        "costs": costs,
    }
    rows = [
        ["tables of noise said to be noise", f"{found['noise']['nothing']} of {len(kinds)}"],
        ["planted laws first, said to be better", f"{found['planted']['found']} of {len(planted)}"],
        *([f"distinct of {_N_SHOWN}, {name}", str(count)] for name, count in lists.items()),
        *(
            [
                f"{cost['features']:,} features: plain, distinct, p-values, both",
                ", ".join(f"{cost[name]:.2f} s" for name in ("plain", "distinct", "p_values", "default")),
            ]
            for cost in costs
        ),
    ]
    save_results("first_answer", found, format_table(("question", "answer"), rows), options.results)

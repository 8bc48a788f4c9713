"""Table 3 of Luo and Li (2024): which feature each screener puts first on four ODE-Strogatz tables.

y is the table's target plus N(0, 0.1), n = 400. A screener's *first choice* is the feature that symscreen
ranks first by it:

    column screeners    the least loss; features that the screener cannot tell apart are shown as the one that
                        correlates best with y, then the simplest
    lasso, scad, mcp    the largest |coefficient| at λ.min, features on one scale; where none is selected, the
                        first on the path
    stepwise            the first to enter forward selection
    bart, forest        the largest share of the splits; the largest permutation importance

Joint screeners are shown these spaces whole, copies merged as suits them (in the quick size BART sees the 50
best). The paper leaves three things open. *Brackets*: ``cos(x2)/x2 − x1 − x2`` is in no such space as it
stands, so each way to bracket a printed formula is a reading of it. *vdp2's operators*: slashes are printed,
which may mean those of vdp1 or none; both are run, as are both kinds of pool. *"or x2"*, in a second line
under T0's row, is read as vdp1's: x2 has the mirrored ranks of x1³ − x2³ − x1³.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen import datasets
from symscreen.expansion import expand
from symscreen.experiments.base import Experiment, Outcome, Settings
from symscreen.expression import evaluate, key, parse, to_text
from symscreen.grammar import load_grammar
from symscreen.pipeline.screening import screen
from symscreen.response import Response
from symscreen.result.classes import signatures_of
from symscreen.screeners import SCREENERS
from symscreen.statistics.correlation import pearson_of
from symscreen.statistics.order import order_features
from symscreen.statistics.t0 import gini_mean_difference, t0_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from symscreen.expansion import PoolKind
    from symscreen.expression import Expression
    from symscreen.screeners import Sign

    Columns = Mapping[str, NDArray[np.float64]]

__all__ = ["EXPERIMENT", "run"]

_VARIANCE = 0.1
_REPEATS, _QUICK_REPEATS = 50, 1
_SLOW = 5  # trees are grown for every fifth draw of the noise
_POOLS: tuple[PoolKind, ...] = ("cumulative", "strict")
_DATA = ("glider1", "glider2", "vdp1", "vdp2")


@dataclass(frozen=True, slots=True)
class _System:
    """A table with operators, an order of layers, and kinds of pools."""

    name: str
    data: str
    layers: str
    unary: tuple[str, ...]
    binary: tuple[str, ...] = ()
    pools: tuple[PoolKind, ...] = _POOLS

    def published(self, screener: str) -> tuple[str, ...]:
        printed = _PUBLISHED.get(screener)
        return tuple(printed[_DATA.index(self.data)].split(" or ")) if printed else ()


_SYSTEMS = (
    _System("glider1", "glider1", "ub", ("sin", "square"), ("add", "sub")),
    _System("glider2", "glider2", "ubb", ("cos", "id"), ("sub", "div")),
    _System("vdp1", "vdp1", "ubb", ("cube",), ("add", "sub")),
    _System("vdp1 with id", "vdp1", "ubb", ("cube", "id"), ("add", "sub")),
    _System("vdp2", "vdp2", "ubb", ("cube",), ("add", "sub")),
    _System("vdp2, inputs only", "vdp2", "u", ("id",), pools=("cumulative",)),
)

# as printed, a column a table
_PUBLISHED = {
    "bart": ("x2**2", "cos(x2) / x2 - x1 - x2", "x1**3 + x2**3 - x2**3", "x2"),
    "lasso": ("sin(x1) / sin(x2)", "cos(x2) / x2 - x1 - x2", "x2**3", "x2"),
    "scad": ("x2**2", "x1", "x2**3", "x2"),
    "t0": (
        "sin(x1) - sin(x2) or sin(x1) - x1",
        "x1 - cos(x1) / cos(x2) - x1",
        "x1**3 - x2**3 - x1**3 or x2",
        "x2",
    ),
}
# what is nearest to the truth without coefficients: T0 is to put it first (sign positive, cumulative pools)
_WANTED = {
    "glider1": "sin(x1) - sin(x2)",
    "glider2": "x1 - cos(x2)/x1",
    "vdp1 with id": "x1 - x1**3 + 2*x2",
}

_SIDED = frozenset({"t0", "pearson", "kendall", "spearman"})
# a first choice needs no rule, and so no permutations; 50 trees as in the paper's other experiments
_FULL = {name: name for name in SCREENERS} | {
    "bart": "bart[rule=none,trees=50,replicates=5,burn=500,draws=250]",
    "forest": "forest[rule=none,trees=100]",
}
_SMALL = {"lasso": "lasso[folds=5]", "bart": "bart[rule=none,replicates=1,burn=30,draws=20]"}
_QUICK = {
    name: _SMALL.get(name, name) for name in ("t0", "xi", "pearson", "lasso", "scad", "stepwise", "bart")
}
_TREES = frozenset({"bart", "forest"})


@dataclass(frozen=True, eq=False)
class _Choice:
    """What a screener puts first under one draw of the noise."""

    system: _System
    pool: PoolKind
    sign: str
    screener: str
    formula: Expression
    class_size: int
    score: float  # T0 as a share of Δ
    features: int
    shown: int


_Cells = dict[tuple[str, str, str, str], list[_Choice]]  # by system, pool, screener and sign
_Row = dict[str, Any]


def _readings(printed: str) -> tuple[Expression, ...]:
    """Bracket a chain of operations, with spaces around each operator, in every way: different by algebra.

    Examples
    --------
    >>> [str(each) for each in _readings("x1 - cos(x2) / x1")]  # the usual precedence first
    ['x1 - cos(x2)/x1', '(x1 - cos(x2))/x1']
    """
    found: dict[tuple[int, int], Expression] = {}
    for text in (printed, *_bracketed(printed.split())):
        expression = parse(text)
        found.setdefault(key(expression), expression)
    return tuple(found.values())


def _bracketed(parts: Sequence[str]) -> Iterator[str]:
    if len(parts) == 1:
        yield parts[0]
    for at in range(1, len(parts), 2):
        for left in _bracketed(parts[:at]):
            for right in _bracketed(parts[at + 1 :]):
                yield f"({left} {parts[at]} {right})"


def _alike(one: Expression, other: Expression, columns: Columns, screener: str, sign: str) -> bool:
    """Say whether a screener takes two features for one: equal by algebra, or of one class on these rows.

    Examples
    --------
    >>> x, cube, columns = parse("x"), parse("-x**3"), {"x": np.array([1.0, 2.0, 4.0])}
    >>> [_alike(x, cube, columns, *each) for each in (("t0", "free"), ("t0", "positive"), ("lasso", "none"))]
    [True, False, False]
    """
    if key(one) == key(other):
        return True
    values = np.array([evaluate(each, columns) for each in (one, other)])
    if not np.isfinite(values).all():
        return False
    blind_to, mirrored = SCREENERS[screener].blind_to, sign != "positive"
    first, second = signatures_of(order_features(values), blind_to, mirrored=mirrored).tolist()
    return bool(first == second)


def run(settings: Settings) -> Outcome:
    """Screen each table under draws of the noise, and set the first choices beside the published ones.

    Parameters
    ----------
    settings : Settings
        ``repeats`` draws of the noise, 50 by default; trees are grown for every fifth.

    Returns
    -------
    Outcome
        ``first-choices``: cumulative pools, positive sign, beside what is published. ``choices``, by
        system, pool, sign and screener: the formula that most draws put first, ``times`` by
        algebra, ``class_share`` with those that the screener cannot tell from it. ``reach``, by system,
        published formula and reading: whether the spaces hold it, its mean T0/Δ and Pearson's r, and the
        mean of the least T0/Δ and the largest |r| with cumulative pools.
    """
    import pandas as pd

    repeats = settings.repeats or (_QUICK_REPEATS if settings.quick else _REPEATS)
    spaces = [(system, pool) for system in _SYSTEMS for pool in system.pools]
    cells: _Cells = {}
    for place, (system, pool) in enumerate(spaces):
        for repeat in range(repeats):
            for one in _first_choices(system, pool, repeat, settings):
                cells.setdefault((system.name, pool, one.screener, one.sign), []).append(one)
            settings.step(place * repeats + repeat + 1, len(spaces) * repeats)
    reach = [row for system in _SYSTEMS for row in _reached(system, cells, repeats, settings.seed)]
    choices = [_beside_published(cell, reach) for cell in cells.values()]
    frame = pd.DataFrame(choices)
    papers = (frame["pool"] == "cumulative") & (frame["sign"] != "free") & (frame["published"] != "")
    beside = frame.loc[papers, ["system", "screener", "published", "first_choice", "share", "agrees"]]
    tables = {"first-choices": beside, "choices": frame, "reach": pd.DataFrame(reach)}
    return Outcome(tables, remarks=tuple(_remarks(cells, choices, reach)))


def _noisy(data: str, repeat: int, seed: int) -> tuple[pd.DataFrame, int]:
    """Add noise to a table's target; return it with a seed for the screeners. All spaces share the draws."""
    frame = datasets.strogatz(data).frame
    rng = np.random.default_rng([seed, _DATA.index(data), repeat])
    noise = np.sqrt(_VARIANCE) * rng.standard_normal(len(frame))
    return frame.assign(target=frame["target"] + noise), int(rng.integers(2**31))


def _inputs(data: str) -> dict[str, NDArray[np.float64]]:
    frame = datasets.strogatz(data).frame
    return {name: frame[name].to_numpy() for name in ("x1", "x2")}


def _first_choices(system: _System, pool: PoolKind, repeat: int, settings: Settings) -> Iterator[_Choice]:
    frame, seed = _noisy(system.data, repeat, settings.seed)
    for name, spec in (_QUICK if settings.quick else _FULL).items():
        if name in _TREES and repeat % _SLOW:
            continue
        signs: tuple[Sign, ...] = ("positive", "free") if name in _SIDED else ("free",)
        for sign in signs:
            space: _Row = {
                "layers": system.layers,
                "unary": system.unary,
                "binary": system.binary,
                "pool": pool,
            }
            result = screen(frame, **space, screener=spec, sign=sign, top=1, seed=seed, jobs=settings.jobs)
            ruling, first = result.rulings.get(name), result.table.iloc[0]
            yield _Choice(
                system,
                pool,
                sign if name in _SIDED else "none",
                name,
                result.expressions[0],
                class_size=int(first["class_size"]),
                score=float(first[name]) / (result.scale if name == "t0" else 1.0),
                features=result.scored,
                shown=result.scored if ruling is None else len(ruling.expressions),
            )


def _beside_published(cell: Sequence[_Choice], reach: Sequence[_Row]) -> _Row:
    """Set what most draws put first, of several formulas the one met first, beside what is published."""
    keys = [key(one.formula) for one in cell]
    ((most, times),) = Counter(keys).most_common(1)
    first = cell[keys.index(most)]
    system, screener, columns = first.system, first.screener, _inputs(first.system.data)

    def same(other: Expression) -> bool:
        return _alike(first.formula, other, columns, screener, first.sign)

    read = [each for each in reach if (each["system"], each["screener"]) == (system.name, screener)]
    return {
        "system": system.name,
        "pool": first.pool,
        "sign": first.sign,
        "screener": screener,
        "first_choice": to_text(first.formula),
        "times": times,
        "draws": len(cell),
        "share": times / len(cell),
        "class_share": sum(same(one.formula) for one in cell) / len(cell),
        "class_size": first.class_size,
        "features": first.features,
        "shown": first.shown,
        "published": "failed" if screener == "stepwise" else " or ".join(system.published(screener)),
        "in_space": any(each[first.pool] for each in read) if read else None,
        "agrees": any(same(parse(each["reading"])) for each in read) if read else None,
    }


def _reached(system: _System, cells: _Cells, repeats: int, seed: int) -> Iterator[_Row]:
    """Look for each reading of each published formula in the spaces of a system."""
    held = {pool: _keys(system, pool) for pool in system.pools}
    best = [
        np.mean([abs(one.score) for one in cells[system.name, "cumulative", screener, sign]])
        for screener, sign in (("t0", "positive"), ("pearson", "free"))
    ]
    for screener in _PUBLISHED:
        for text, several in ((text, _readings(text)) for text in system.published(screener)):
            figures = _figures(several, system.data, repeats, seed)
            for place, reading in enumerate(several):
                yield {
                    "system": system.name,
                    "screener": screener,
                    "published": text,
                    "reading": to_text(reading),
                    "usual_precedence": place == 0,
                    **{pool: key(reading) in held[pool] if pool in held else None for pool in _POOLS},
                    "t0": figures[place, 0],
                    "best_t0": best[0],
                    "pearson": figures[place, 1],
                    "best_pearson": best[1],
                }


def _keys(system: _System, pool: PoolKind) -> set[tuple[int, int]]:
    """Compute the canonical keys of all features of a space, by structure alone."""
    grammar = load_grammar("basic").altered(unary=system.unary, binary=system.binary)
    space = expand(("x1", "x2"), None, grammar, grammar.parsed_layers(system.layers), pool)
    return {(first, second) for first, second in space.features(space.numbers).keys.tolist()}


def _figures(formulas: Sequence[Expression], data: str, repeats: int, seed: int) -> NDArray[np.float64]:
    """Compute T0/Δ and Pearson's r of formulas, each the mean over the draws; shape (formulas, 2)."""
    values = np.array([evaluate(each, _inputs(data)) for each in formulas])
    total = np.zeros((len(formulas), 2))
    for repeat in range(repeats):
        target = _noisy(data, repeat, seed)[0]["target"].to_numpy()
        rows = np.argsort(target)
        response = Response(target[rows])
        ordered = order_features(np.ascontiguousarray(values[:, rows]))
        share = t0_of(ordered, response) / gini_mean_difference(response)
        total += np.column_stack((share, pearson_of(ordered, response)))
    return total / repeats


def _remarks(cells: _Cells, choices: Sequence[_Row], reach: Sequence[_Row]) -> Iterator[str]:
    def draws(system: str, sign: str, formula: str) -> str:
        cell = cells[system, "cumulative", "t0", sign]
        return f"{sum(key(one.formula) == key(parse(formula)) for one in cell)} of {len(cell)} draws"

    for name, formula in _WANTED.items():
        times = draws(name, "positive", formula)
        yield f"{name}: T0 (sign positive, cumulative pools) puts {formula} first in {times}."
    yield from _of_reach([row for row in reach if row["system"] in _DATA])
    ours = [row for row in choices if row["pool"] == "cumulative" and row["sign"] != "free"]
    for system in _SYSTEMS:
        yield _against_published([row for row in ours if row["system"] == system.name], reach)
    x2, alone = next(row["t0"] for row in reach if row["system"] == "vdp2"), "vdp2, inputs only"
    yield (
        "vdp2's truth falls in x1 and is weaker than the noise. Among the inputs alone T0 puts x2 first in "
        f"{draws(alone, 'positive', 'x2')} with a positive sign, for x2 falls less (T0/Δ {x2:.2f}; 1 is "
        f"independence), and x1 in {draws(alone, 'free', 'x1')} with a free sign. vdp1's operators turn x1 "
        f"round: x2 is first in {draws('vdp2', 'positive', 'x2')}."
    )
    firsts = [f"{row['first_choice']} ({row['system']})" for row in ours if row["screener"] == "stepwise"]
    yield f"Stepwise selection failed for the authors; ours begins with {'; '.join(firsts)}."


def _of_reach(reach: Sequence[_Row]) -> Iterator[str]:
    """Say which published formulas the printed operators cannot make."""
    formulas: dict[str, list[_Row]] = {}
    for row in reach:
        formulas.setdefault(f"{row['published']} ({row['system']})", []).append(row)
    for pool in _POOLS:
        lacking = [name for name, rows in formulas.items() if not any(row[pool] for row in rows)]
        yield (
            f"With {pool} pools the printed operators make {len(formulas) - len(lacking)} of {len(formulas)} "
            f"published formulas, whatever the brackets; not {', '.join(lacking) or 'none'}."
        )
    bracketed = [name for name, rows in formulas.items() if not rows[0]["cumulative"]]
    yield f"By the usual precedence cumulative pools lack {', '.join(bracketed) or 'none'}."


def _against_published(ours: Sequence[_Row], reach: Sequence[_Row]) -> str:
    """Say which screeners choose as published, and of the others why not."""
    system = ours[0]["system"]
    told = [f"as published choose {', '.join(row['screener'] for row in ours if row['agrees']) or 'none'}"]
    for row in (row for row in ours if row["agrees"] is False):
        where = (system, row["screener"], True)
        held = [each for each in reach if (each["system"], each["screener"], each["cumulative"]) == where]
        why = "which is not in the space"
        if held and row["screener"] == "t0":
            least = min(each["t0"] for each in held)
            why = f"of T0/Δ {least:.2f} where the least is {held[0]['best_t0']:.2f}"
        elif held:
            largest = max(abs(each["pearson"]) for each in held)
            why = f"of |r| {largest:.2f} where the largest is {held[0]['best_pearson']:.2f}"
        times = f"{row['times']} of {row['draws']}"
        told.append(f"{row['screener']} {row['first_choice']} ({times}), not {row['published']}, {why}")
    return f"{system}, sign positive, cumulative pools: {'; '.join(told)}."


EXPERIMENT = Experiment(
    name="table3",
    title="First choices on four ODE-Strogatz tables with noise of variance 0.1",
    source="Luo and Li (2024), Table 3",
    run=run,
    extras=("bart",),
    takes=("repeats",),
)

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
from symscreen.experiments.base import Experiment, ExperimentOutcome, ExperimentSettings
from symscreen.expressions.tree import compute_key, evaluate_expression, parse_expression, to_text
from symscreen.grammar import load_grammar
from symscreen.screeners import SCREENERS
from symscreen.screening.scoring.top_features import compute_signatures
from symscreen.screening.screen import screen
from symscreen.statistics.ranks.correlations import compute_pearson
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.statistics.ranks.t0 import compute_gini_mean_difference, compute_t0
from symscreen.targets import NumericTarget

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from symscreen.expansion import PoolKind
    from symscreen.expressions.tree import Expression
    from symscreen.screeners import Sign

    Columns = Mapping[str, NDArray[np.float64]]

__all__ = ["EXPERIMENT", "run"]

_NOISE_VARIANCE = 0.1
_REPEATS, _QUICK_REPEATS = 50, 1
_TREE_DRAW_STEP = 5  # trees are grown for every fifth draw of the noise
_POOL_KINDS: tuple[PoolKind, ...] = ("cumulative", "strict")
_TABLE_NAMES = ("glider1", "glider2", "vdp1", "vdp2")


@dataclass(frozen=True, slots=True)
class _System:
    """A table with operators, an order of layers, and kinds of pools."""

    name: str
    table_name: str
    layers: str
    unary: tuple[str, ...]
    binary: tuple[str, ...] = ()
    pools: tuple[PoolKind, ...] = _POOL_KINDS

    def get_published(self, screener: str) -> tuple[str, ...]:
        printed = _PUBLISHED.get(screener)
        return tuple(printed[_TABLE_NAMES.index(self.table_name)].split(" or ")) if printed else ()


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
_EXPECTED_FIRST_CHOICES = {
    "glider1": "sin(x1) - sin(x2)",
    "glider2": "x1 - cos(x2)/x1",
    "vdp1 with id": "x1 - x1**3 + 2*x2",
}

_SIGNED_SCREENERS = frozenset({"t0", "pearson", "kendall", "spearman"})
# a first choice needs no rule, and so no permutations; 50 trees as in the paper's other experiments
_SCREENER_SPECS = {name: name for name in SCREENERS} | {
    "bart": "bart[rule=none,trees=50,replicates=5,burn=500,draws=250]",
    "forest": "forest[rule=none,trees=100]",
}
_QUICK_OPTIONS = {"lasso": "lasso[folds=5]", "bart": "bart[rule=none,replicates=1,burn=30,draws=20]"}
_QUICK_SCREENER_SPECS = {
    name: _QUICK_OPTIONS.get(name, name)
    for name in ("t0", "xi", "pearson", "lasso", "scad", "stepwise", "bart")
}
_TREE_SCREENERS = frozenset({"bart", "forest"})


@dataclass(frozen=True, eq=False)
class _FirstChoice:
    """What a screener puts first under one draw of the noise."""

    system: _System
    pool: PoolKind
    sign: str
    screener: str
    formula: Expression
    class_size: int
    score: float  # T0 as a share of Δ
    n_features: int
    n_shown: int


_ChoiceCells = dict[tuple[str, str, str, str], list[_FirstChoice]]  # by system, pool, screener and sign
_Row = dict[str, Any]


def _parse_readings(printed: str) -> tuple[Expression, ...]:
    """Bracket a chain of operations, with spaces around each operator, in every way: different by algebra.

    Examples
    --------
    >>> [str(each) for each in _parse_readings("x1 - cos(x2) / x1")]  # the usual precedence first
    ['x1 - cos(x2)/x1', '(x1 - cos(x2))/x1']
    """
    found: dict[tuple[int, int], Expression] = {}
    for text in (printed, *_bracket(printed.split())):
        expression = parse_expression(text)
        found.setdefault(compute_key(expression), expression)
    return tuple(found.values())


def _bracket(parts: Sequence[str]) -> Iterator[str]:
    if len(parts) == 1:
        yield parts[0]
    for at in range(1, len(parts), 2):
        for left in _bracket(parts[:at]):
            for right in _bracket(parts[at + 1 :]):
                yield f"({left} {parts[at]} {right})"


def _is_same_feature(
    expression: Expression, other: Expression, columns: Columns, screener: str, sign: str
) -> bool:
    """Say whether a screener takes two features for one: equal by algebra, or of one class on these rows.

    Examples
    --------
    >>> x, cube, columns = parse_expression("x"), parse_expression("-x**3"), {"x": np.array([1.0, 2.0, 4.0])}
    >>> [_alike(x, cube, columns, *each) for each in (("t0", "free"), ("t0", "positive"), ("lasso", "none"))]
    [True, False, False]
    """
    if compute_key(expression) == compute_key(other):
        return True
    values = np.array([evaluate_expression(each, columns) for each in (expression, other)])
    if not np.isfinite(values).all():
        return False
    blind_to, mirrored = SCREENERS[screener].equivalence, sign != "positive"
    first, second = compute_signatures(sort_block(values), blind_to, mirrored=mirrored).tolist()
    return bool(first == second)


def run(settings: ExperimentSettings) -> ExperimentOutcome:
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
    cells: _ChoiceCells = {}
    for place, (system, pool) in enumerate(spaces):
        for repeat in range(repeats):
            for one in _find_first_choices(system, pool, repeat, settings):
                cells.setdefault((system.name, pool, one.screener, one.sign), []).append(one)
            settings.report_progress(place * repeats + repeat + 1, len(spaces) * repeats)
    reach = [row for system in _SYSTEMS for row in _find_readings(system, cells, repeats, settings.seed)]
    choices = [_compare_with_published(cell, reach) for cell in cells.values()]
    frame = pd.DataFrame(choices)
    papers = (frame["pool"] == "cumulative") & (frame["sign"] != "free") & (frame["published"] != "")
    beside = frame.loc[papers, ["system", "screener", "published", "first_choice", "share", "agrees"]]
    tables = {"first-choices": beside, "choices": frame, "reach": pd.DataFrame(reach)}
    return ExperimentOutcome(tables, remarks=tuple(_format_remarks(cells, choices, reach)))


def _add_noise(table_name: str, repeat: int, seed: int) -> tuple[pd.DataFrame, int]:
    """Add noise to a table's target; return it with a seed for the screeners. All spaces share the draws."""
    frame = datasets.load_strogatz(table_name).frame
    rng = np.random.default_rng([seed, _TABLE_NAMES.index(table_name), repeat])
    noise = np.sqrt(_NOISE_VARIANCE) * rng.standard_normal(len(frame))
    return frame.assign(target=frame["target"] + noise), int(rng.integers(2**31))


def _get_inputs(table_name: str) -> dict[str, NDArray[np.float64]]:
    frame = datasets.load_strogatz(table_name).frame
    return {name: frame[name].to_numpy() for name in ("x1", "x2")}


def _find_first_choices(
    system: _System, pool: PoolKind, repeat: int, settings: ExperimentSettings
) -> Iterator[_FirstChoice]:
    frame, seed = _add_noise(system.table_name, repeat, settings.seed)
    for name, spec in (_QUICK_SCREENER_SPECS if settings.quick else _SCREENER_SPECS).items():
        if name in _TREE_SCREENERS and repeat % _TREE_DRAW_STEP:
            continue
        signs: tuple[Sign, ...] = ("positive", "free") if name in _SIGNED_SCREENERS else ("free",)
        for sign in signs:
            space: _Row = {
                "layers": system.layers,
                "unary": system.unary,
                "binary": system.binary,
                "pool": pool,
            }
            result = screen(frame, **space, screener=spec, sign=sign, top=1, seed=seed, jobs=settings.jobs)
            ruling, first = result.joint_results.get(name), result.table.iloc[0]
            yield _FirstChoice(
                system,
                pool,
                sign if name in _SIGNED_SCREENERS else "none",
                name,
                result.expressions[0],
                class_size=int(first["class_size"]),
                score=float(first[name]) / (result.scale if name == "t0" else 1.0),
                n_features=result.n_scored,
                n_shown=result.n_scored if ruling is None else len(ruling.expressions),
            )


def _compare_with_published(cell: Sequence[_FirstChoice], reach: Sequence[_Row]) -> _Row:
    """Set what most draws put first, of several formulas the one met first, beside what is published."""
    keys = [compute_key(one.formula) for one in cell]
    ((most, times),) = Counter(keys).most_common(1)
    first = cell[keys.index(most)]
    system, screener, columns = first.system, first.screener, _get_inputs(first.system.table_name)

    def is_same(other: Expression) -> bool:
        return _is_same_feature(first.formula, other, columns, screener, first.sign)

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
        "class_share": sum(is_same(one.formula) for one in cell) / len(cell),
        "class_size": first.class_size,
        "features": first.n_features,
        "shown": first.n_shown,
        "published": "failed" if screener == "stepwise" else " or ".join(system.get_published(screener)),
        "in_space": any(each[first.pool] for each in read) if read else None,
        "agrees": any(is_same(parse_expression(each["reading"])) for each in read) if read else None,
    }


def _find_readings(system: _System, cells: _ChoiceCells, repeats: int, seed: int) -> Iterator[_Row]:
    """Look for each reading of each published formula in the spaces of a system."""
    held = {pool: _compute_keys(system, pool) for pool in system.pools}
    best = [
        np.mean([abs(one.score) for one in cells[system.name, "cumulative", screener, sign]])
        for screener, sign in (("t0", "positive"), ("pearson", "free"))
    ]
    for screener in _PUBLISHED:
        for text, several in ((text, _parse_readings(text)) for text in system.get_published(screener)):
            figures = _average_statistics(several, system.table_name, repeats, seed)
            for place, reading in enumerate(several):
                yield {
                    "system": system.name,
                    "screener": screener,
                    "published": text,
                    "reading": to_text(reading),
                    "usual_precedence": place == 0,
                    **{
                        pool: compute_key(reading) in held[pool] if pool in held else None
                        for pool in _POOL_KINDS
                    },
                    "t0": figures[place, 0],
                    "best_t0": best[0],
                    "pearson": figures[place, 1],
                    "best_pearson": best[1],
                }


def _compute_keys(system: _System, pool: PoolKind) -> set[tuple[int, int]]:
    """Compute the canonical keys of all features of a space, by structure alone."""
    grammar = load_grammar("basic").override(unary=system.unary, binary=system.binary)
    space = expand(("x1", "x2"), None, grammar, grammar.resolve_layers(system.layers), pool)
    return {(first, second) for first, second in space.get_metadata(space.numbers).keys.tolist()}


def _average_statistics(
    formulas: Sequence[Expression], table_name: str, repeats: int, seed: int
) -> NDArray[np.float64]:
    """Compute T0/Δ and Pearson's r of formulas, each the mean over the draws; shape (formulas, 2)."""
    values = np.array([evaluate_expression(each, _get_inputs(table_name)) for each in formulas])
    total = np.zeros((len(formulas), 2))
    for repeat in range(repeats):
        target = _add_noise(table_name, repeat, seed)[0]["target"].to_numpy()
        rows = np.argsort(target)
        response = NumericTarget(target[rows])
        ordered = sort_block(np.ascontiguousarray(values[:, rows]))
        share = compute_t0(ordered, response) / compute_gini_mean_difference(response)
        total += np.column_stack((share, compute_pearson(ordered, response)))
    return total / repeats


def _format_remarks(cells: _ChoiceCells, choices: Sequence[_Row], reach: Sequence[_Row]) -> Iterator[str]:
    def format_draws(system: str, sign: str, formula: str) -> str:
        cell = cells[system, "cumulative", "t0", sign]
        return f"{sum(compute_key(one.formula) == compute_key(parse_expression(formula)) for one in cell)} of {len(cell)} draws"

    for name, formula in _EXPECTED_FIRST_CHOICES.items():
        times = format_draws(name, "positive", formula)
        yield f"{name}: T0 (sign positive, cumulative pools) puts {formula} first in {times}."
    yield from _format_reach([row for row in reach if row["system"] in _TABLE_NAMES])
    ours = [row for row in choices if row["pool"] == "cumulative" and row["sign"] != "free"]
    for system in _SYSTEMS:
        yield _format_agreement([row for row in ours if row["system"] == system.name], reach)
    x2, alone = next(row["t0"] for row in reach if row["system"] == "vdp2"), "vdp2, inputs only"
    yield (
        "vdp2's truth falls in x1 and is weaker than the noise. Among the inputs alone T0 puts x2 first in "
        f"{format_draws(alone, 'positive', 'x2')} with a positive sign, for x2 falls less (T0/Δ {x2:.2f}; 1 "
        "is "
        f"independence), and x1 in {format_draws(alone, 'free', 'x1')} with a free sign. vdp1's operators "
        "turn x1 "
        f"round: x2 is first in {format_draws('vdp2', 'positive', 'x2')}."
    )
    firsts = [f"{row['first_choice']} ({row['system']})" for row in ours if row["screener"] == "stepwise"]
    yield f"Stepwise selection failed for the authors; ours begins with {'; '.join(firsts)}."


def _format_reach(reach: Sequence[_Row]) -> Iterator[str]:
    """Say which published formulas the printed operators cannot make."""
    formulas: dict[str, list[_Row]] = {}
    for row in reach:
        formulas.setdefault(f"{row['published']} ({row['system']})", []).append(row)
    for pool in _POOL_KINDS:
        lacking = [name for name, rows in formulas.items() if not any(row[pool] for row in rows)]
        yield (
            f"With {pool} pools the printed operators make {len(formulas) - len(lacking)} of {len(formulas)} "
            f"published formulas, whatever the brackets; not {', '.join(lacking) or 'none'}."
        )
    bracketed = [name for name, rows in formulas.items() if not rows[0]["cumulative"]]
    yield f"By the usual precedence cumulative pools lack {', '.join(bracketed) or 'none'}."


def _format_agreement(choices: Sequence[_Row], reach: Sequence[_Row]) -> str:
    """Say which screeners choose as published, and of the others why not."""
    system = choices[0]["system"]
    told = [f"as published choose {', '.join(row['screener'] for row in choices if row['agrees']) or 'none'}"]
    for row in (row for row in choices if row["agrees"] is False):
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
    supported_settings=("repeats",),
)

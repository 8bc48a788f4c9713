"""Table 3 of Luo and Li (2024): the first choice of each screener on four ODE-Strogatz tables.

y is the target of the table plus N(0, 0.1), n = 400. The *first choice* of a screener is the feature that
symscreen ranks first:

    column screeners    the smallest loss; of features that the screener cannot distinguish, the one with the
                        largest correlation with y, then the simplest
    lasso, scad, mcp    the largest |coefficient| at λ.min, with standardised features; if none is selected,
                        the first on the path
    stepwise            the first to enter forward selection (regsubsets of the paper searches all subsets)
    bart, forest        the largest share of the splits; the largest permutation importance

BART has 50 trees, whose depth its prior alone limits (`symscreen.experiments.base.write_bart_spec`). Joint
screeners receive the whole spaces, with equivalent features merged for each.

The paper leaves three points open. *Brackets*: ``cos(x2)/x2 − x1 − x2`` is not in the space as printed, so
each bracketing of a printed formula is a reading of it. *Operators of vdp2*: slashes are printed, which may
mean those of vdp1 or none; both are run, with both kinds of pool. *"or x2"*, in a second line below the row
of T0, is read as that of vdp1: x2 has the mirrored ranks of x1³ − x2³ − x1³.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen import datasets
from symscreen.config.screen_options import SpaceOptions
from symscreen.expansion import expand
from symscreen.experiments.base import Experiment, ExperimentOutcome, ExperimentSettings, write_bart_spec
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import compute_key, evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.grammar import load_grammar
from symscreen.screeners import SCREENERS, Screener
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

    from symscreen._option_values import ExperimentSize
    from symscreen.expansion import PoolKind
    from symscreen.expressions.tree import Expression
    from symscreen.screeners import Sign

    Columns = Mapping[str, NDArray[np.float64]]


_NOISE_VARIANCE = 0.1
_POOL_KINDS: tuple[PoolKind, ...] = ("cumulative", "strict")
_TABLE_NAMES = ("glider1", "glider2", "vdp1", "vdp2")

# as the paper prints them, one column per table
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
# the formulas closest to the truth without coefficients; T0 should rank them first (positive sign, cumulative
# pools)
_EXPECTED_FIRST_CHOICES = {
    "glider1": "sin(x1) - sin(x2)",
    "glider2": "x1 - cos(x2)/x1",
    "vdp1 with id": "x1 - x1**3 + 2*x2",
}

_SIGNED_SCREENERS = frozenset(
    name
    for name, screener in SCREENERS.items()
    if isinstance(screener, Screener) and screener.direction(np.ones(1)).any()
)
# a first choice needs no selection rule and no permutations
_SCREENER_SPECS = {
    name: name for name, screener in SCREENERS.items() if "numeric" in screener.target_types
} | {
    "bart": write_bart_spec(is_short=False),
    "forest": "forest[rule=none,trees=100]",
}
_SHORT_SPECS = {"lasso": "lasso[folds=5]", "bart": write_bart_spec(is_short=True)}
_TREE_SCREENERS = frozenset({"bart", "forest"})

_Row = dict[str, Any]


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
        """Return the published formulas of a screener; none if it is not in the table of the paper."""
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


@dataclass(frozen=True, slots=True)
class _Table3Plan:
    """Draws of the noise, how many lie between two that trees are fitted for, screeners, and their specs."""

    repeats: int
    tree_step: int
    screeners: tuple[str, ...] = tuple(_SCREENER_SPECS)
    is_short: bool = False

    def get_spec(self, screener: str) -> str:
        """Return the specification of a screener."""
        short = _SHORT_SPECS.get(screener, screener)
        return short if self.is_short else _SCREENER_SPECS[screener]


SIZES: Mapping[ExperimentSize, _Table3Plan] = {
    "small": _Table3Plan(1, 1, ("t0", "xi", "pearson", "lasso", "scad", "stepwise", "bart"), is_short=True),
    "medium": _Table3Plan(20, 5),
    "full": _Table3Plan(50, 5),
}


@dataclass(frozen=True, eq=False)
class _FirstChoice:
    """The feature that a screener ranks first under one draw of the noise."""

    system: _System
    pool: PoolKind
    sign: str
    screener: str
    formula: Expression
    class_size: int
    score: float  # T0/Δ for t0, else the score of the screener
    n_features: int
    n_shown: int


_ChoiceCells = dict[tuple[str, str, str, str], list[_FirstChoice]]  # by system, pool, screener and sign


def _parse_readings(printed: str) -> tuple[Expression, ...]:
    """Parse a chain of operations, with spaces around the operators, in all bracketings that differ in value.

    Examples
    --------
    >>> [str(reading) for reading in _parse_readings("x1 - cos(x2) / x1")]  # the usual precedence first
    ['x1 - cos(x2)/x1', '(x1 - cos(x2))/x1']
    """
    readings: dict[tuple[int, int], Expression] = {}
    for text in (printed, *_bracket(printed.split())):
        expression = parse_expression(text)
        readings.setdefault(compute_key(expression), expression)
    return tuple(readings.values())


def _bracket(parts: Sequence[str]) -> Iterator[str]:
    """Yield all bracketings of alternating operands and operators."""
    if len(parts) == 1:
        yield parts[0]
    for i in range(1, len(parts), 2):
        for left in _bracket(parts[:i]):
            for right in _bracket(parts[i + 1 :]):
                yield f"({left} {parts[i]} {right})"


def _is_same_feature(
    expression: Expression, other: Expression, columns: Columns, screener: str, sign: str
) -> bool:
    """Return whether a screener cannot distinguish two features: equal by algebra, or in one class here.

    Examples
    --------
    >>> x, cube, columns = parse_expression("x"), parse_expression("-x**3"), {"x": np.array([1.0, 2.0, 4.0])}
    >>> cases = (("t0", "free"), ("t0", "positive"), ("lasso", "none"))
    >>> [_is_same_feature(x, cube, columns, screener, sign) for screener, sign in cases]
    [True, False, False]
    """
    if compute_key(expression) == compute_key(other):
        return True
    values = np.array([evaluate_expression(feature, columns) for feature in (expression, other)])
    if not np.isfinite(values).all():
        return False
    rule = SCREENERS[screener]
    mirrored = rule.merges_mirrored("positive" if sign == "positive" else "free")
    first, second = compute_signatures(sort_block(values), rule.equivalence, mirrored=mirrored).tolist()
    return bool(first == second)


def run(settings: ExperimentSettings) -> ExperimentOutcome:
    """Screen each table under draws of the noise, and compare the first choices with the published ones.

    Parameters
    ----------
    settings : ExperimentSettings
        `repeats`: number of draws of the noise. Trees are fitted for some of them, such as every fifth.

    Returns
    -------
    ExperimentOutcome
        ``first-choices``: cumulative pools, positive sign, ours and published. ``choices``, by system, pool,
        sign and screener: the formula that most draws rank first; ``times`` counts draws with the same
        formula by algebra, ``class_share`` also those that the screener cannot distinguish from it.
        ``reach``, by system, published formula and reading: whether the spaces contain it, its mean T0/Δ and
        Pearson's r, and the means of the smallest T0/Δ and the largest |r| with cumulative pools.
    """
    import pandas as pd

    repeats = settings.choose_plan(SIZES).repeats
    spaces = [(system, pool) for system in _SYSTEMS for pool in system.pools]
    cells: _ChoiceCells = {}
    for (system, pool), repeat in settings.track(product(spaces, range(repeats))):
        for choice in _find_first_choices(system, pool, repeat, settings):
            cells.setdefault((system.name, pool, choice.screener, choice.sign), []).append(choice)
    reach = [row for system in _SYSTEMS for row in _find_readings(system, cells, repeats, settings.seed)]
    choices = [_compare_with_published(cell, reach) for cell in cells.values()]
    frame = pd.DataFrame(choices)
    is_comparable = (frame["pool"] == "cumulative") & (frame["sign"] != "free") & (frame["published"] != "")
    compared = frame.loc[
        is_comparable, ["system", "screener", "published", "first_choice", "share", "agrees"]
    ]
    tables = {"first-choices": compared, "choices": frame, "reach": pd.DataFrame(reach)}
    return ExperimentOutcome(tables, remarks=tuple(_format_remarks(cells, choices, reach)))


def _add_noise(table_name: str, repeat: int, seed: int) -> tuple[pd.DataFrame, int]:
    """Add noise to the target of a table; return it and a seed for the screeners. Spaces share draws."""
    frame = datasets.load_strogatz(table_name).frame
    rng = np.random.default_rng([seed, _TABLE_NAMES.index(table_name), repeat])
    noise = np.sqrt(_NOISE_VARIANCE) * rng.standard_normal(len(frame))
    return frame.assign(target=frame["target"] + noise), int(rng.integers(2**31))


def _get_inputs(table_name: str) -> dict[str, NDArray[np.float64]]:
    """Return the noise-free inputs of a table."""
    frame = datasets.load_strogatz(table_name).frame
    return {name: frame[name].to_numpy() for name in ("x1", "x2")}


def _find_first_choices(
    system: _System, pool: PoolKind, repeat: int, settings: ExperimentSettings
) -> Iterator[_FirstChoice]:
    """Find the first choice of every screener under one draw of the noise."""
    frame, seed = _add_noise(system.table_name, repeat, settings.seed)
    plan = settings.choose_plan(SIZES)
    for name in plan.screeners:
        if name in _TREE_SCREENERS and repeat % plan.tree_step:
            continue
        spec = plan.get_spec(name)
        signs: tuple[Sign, ...] = ("positive", "free") if name in _SIGNED_SCREENERS else ("free",)
        for sign in signs:
            space: _Row = {"layers": system.layers, "unary": system.unary, "binary": system.binary}
            options: _Row = {"screener": spec, "sign": sign, "seed": seed, "jobs": settings.jobs}
            options |= {"top": 1, "max_correlation": 1, "p_values": False}  # the first choice itself
            result = screen(frame, pool=pool, **space, **options)
            joint_result, first = result.joint_results.get(name), result.table.iloc[0]
            yield _FirstChoice(
                system,
                pool,
                sign if name in _SIGNED_SCREENERS else "none",
                name,
                result.expressions[0],
                class_size=int(first["class_size"]),
                score=float(first[name]) / (result.scale if name == "t0" else 1.0),
                n_features=result.n_scored,
                n_shown=result.n_scored if joint_result is None else len(joint_result.expressions),
            )


def _compare_with_published(cell: Sequence[_FirstChoice], reach: Sequence[_Row]) -> _Row:
    """Compare the most frequent first choice (of ties, the first) with the published formulas."""
    keys = [compute_key(choice.formula) for choice in cell]
    ((most_frequent, times),) = Counter(keys).most_common(1)
    first = cell[keys.index(most_frequent)]
    system, screener, columns = first.system, first.screener, _get_inputs(first.system.table_name)

    def is_same(other: Expression) -> bool:
        return _is_same_feature(first.formula, other, columns, screener, first.sign)

    readings = [
        reading for reading in reach if (reading["system"], reading["screener"]) == (system.name, screener)
    ]
    return {
        "system": system.name,
        "pool": first.pool,
        "sign": first.sign,
        "screener": screener,
        "first_choice": to_text(first.formula),
        "times": times,
        "draws": len(cell),
        "share": times / len(cell),
        "class_share": sum(is_same(choice.formula) for choice in cell) / len(cell),
        "class_size": first.class_size,
        "features": first.n_features,
        "shown": first.n_shown,
        "published": "failed" if screener == "stepwise" else " or ".join(system.get_published(screener)),
        "in_space": any(reading[first.pool] for reading in readings) if readings else None,
        "agrees": any(is_same(parse_expression(reading["reading"])) for reading in readings)
        if readings
        else None,
    }


def _find_readings(system: _System, cells: _ChoiceCells, repeats: int, seed: int) -> Iterator[_Row]:
    """Find each reading of each published formula in the spaces of a system."""
    space_keys = {pool: _compute_keys(system, pool) for pool in system.pools}
    best_scores = [
        np.mean([abs(choice.score) for choice in cells[system.name, "cumulative", screener, sign]])
        for screener, sign in (("t0", "positive"), ("pearson", "free"))
    ]
    for screener in _PUBLISHED:
        for text, readings in ((text, _parse_readings(text)) for text in system.get_published(screener)):
            means = _average_statistics(readings, system.table_name, repeats, seed)
            for i, reading in enumerate(readings):
                yield {
                    "system": system.name,
                    "screener": screener,
                    "published": text,
                    "reading": to_text(reading),
                    "usual_precedence": i == 0,
                    **{
                        pool: compute_key(reading) in space_keys[pool] if pool in space_keys else None
                        for pool in _POOL_KINDS
                    },
                    "t0": means[i, 0],
                    "best_t0": best_scores[0],
                    "pearson": means[i, 1],
                    "best_pearson": best_scores[1],
                }


def _compute_keys(system: _System, pool: PoolKind) -> set[tuple[int, int]]:
    """Compute the canonical keys of all features of a space from its structure."""
    grammar = load_grammar("basic").override(unary=system.unary, binary=system.binary)
    space = expand(
        ("x1", "x2"), None, grammar, grammar.resolve_layers(system.layers), pool, options=SpaceOptions()
    )
    return {(first, second) for first, second in space.get_metadata(space.numbers).keys.tolist()}


def _average_statistics(
    formulas: Sequence[Expression], table_name: str, repeats: int, seed: int
) -> NDArray[np.float64]:
    """Average T0/Δ and Pearson's r of m formulas over the draws of the noise, (m, 2)."""
    values = np.array([evaluate_expression(formula, _get_inputs(table_name)) for formula in formulas])
    total = np.zeros((len(formulas), 2))
    for repeat in range(repeats):
        target = _add_noise(table_name, repeat, seed)[0]["target"].to_numpy()
        rows = np.argsort(target)
        sorted_target = NumericTarget(target[rows])
        ordered = sort_block(np.ascontiguousarray(values[:, rows]))
        ratio = compute_t0(ordered, sorted_target) / compute_gini_mean_difference(sorted_target)
        total += np.column_stack((ratio, compute_pearson(ordered, sorted_target)))
    return total / repeats


def _format_remarks(cells: _ChoiceCells, choices: Sequence[_Row], reach: Sequence[_Row]) -> Iterator[str]:
    """Format the remarks on the tables."""

    def format_draws(system: str, sign: str, formula: str) -> str:
        cell, key = cells[system, "cumulative", "t0", sign], compute_key(parse_expression(formula))
        return f"{sum(compute_key(choice.formula) == key for choice in cell)} of {len(cell)} draws"

    for name, formula in _EXPECTED_FIRST_CHOICES.items():
        times = format_draws(name, "positive", formula)
        yield f"{name}: T0 (sign positive, cumulative pools) puts {formula} first in {times}."
    yield from _format_reach([row for row in reach if row["system"] in _TABLE_NAMES])
    ours = [row for row in choices if row["pool"] == "cumulative" and row["sign"] != "free"]
    for system in _SYSTEMS:
        yield _format_agreement([row for row in ours if row["system"] == system.name], reach)
    x2, alone = next(row["t0"] for row in reach if row["system"] == "vdp2"), "vdp2, inputs only"
    yield (
        "The truth of vdp2 decreases in x1 and is weaker than the noise. Among the inputs alone, T0 puts x2 "
        f"first in {format_draws(alone, 'positive', 'x2')} with a positive sign, because x2 decreases less "
        f"(T0/Δ {x2:.2f}; 1 means independence), and x1 in {format_draws(alone, 'free', 'x1')} with a free "
        "sign. The operators of vdp1 can reverse x1: x2 is first in "
        f"{format_draws('vdp2', 'positive', 'x2')}."
    )
    firsts = [f"{row['first_choice']} ({row['system']})" for row in ours if row["screener"] == "stepwise"]
    yield f"Stepwise selection failed for the authors; our first choices are {'; '.join(firsts)}."


def _format_reach(reach: Sequence[_Row]) -> Iterator[str]:
    """Say which published formulas the printed operators cannot express."""
    formulas: dict[str, list[_Row]] = {}
    for row in reach:
        formulas.setdefault(f"{row['published']} ({row['system']})", []).append(row)
    for pool in _POOL_KINDS:
        missing = [name for name, rows in formulas.items() if not any(row[pool] for row in rows)]
        yield (
            f"With {pool} pools the printed operators make {len(formulas) - len(missing)} of {len(formulas)} "
            f"published formulas under some bracketing; missing: {', '.join(missing) or 'none'}."
        )
    bracketed = [name for name, rows in formulas.items() if not rows[0]["cumulative"]]
    yield f"With the usual precedence, cumulative pools lack {', '.join(bracketed) or 'none'}."


def _format_agreement(choices: Sequence[_Row], reach: Sequence[_Row]) -> str:
    """Say which screeners choose as published, and why the others do not."""
    system = choices[0]["system"]
    statements = [f"as published: {', '.join(row['screener'] for row in choices if row['agrees']) or 'none'}"]
    for row in (row for row in choices if row["agrees"] is False):
        key = (system, row["screener"], True)
        readings = [r for r in reach if (r["system"], r["screener"], r["cumulative"]) == key]
        reason = "which is not in the space"
        if readings and row["screener"] == "t0":
            least = min(reading["t0"] for reading in readings)
            reason = f"with T0/Δ {least:.2f} (smallest: {readings[0]['best_t0']:.2f})"
        elif readings:
            largest = max(abs(reading["pearson"]) for reading in readings)
            reason = f"with |r| {largest:.2f} (largest: {readings[0]['best_pearson']:.2f})"
        times = f"{row['times']} of {row['draws']}"
        statements.append(
            f"{row['screener']}: {row['first_choice']} ({times}) instead of {row['published']}, {reason}"
        )
    return f"{system}, sign positive, cumulative pools: {'; '.join(statements)}."


EXPERIMENT = Experiment(
    name="table3",
    title="First choices on four ODE-Strogatz tables with noise of variance 0.1",
    source="Luo and Li (2024), Table 3",
    run=run,
    sizes=SIZES,
    extras=("bart",),
    supported_settings=("repeats",),
)

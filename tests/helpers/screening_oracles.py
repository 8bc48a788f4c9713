"""Brute-force oracles for a small space: all features at once, by scipy and the definitions."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from helpers.statistic_oracles import xi_by_adjacency
from scipy.stats import kendalltau, norm, pearsonr, rankdata, spearmanr

from symscreen.backends import Threads
from symscreen.config.screen_options import ScreenOptions, SpaceOptions
from symscreen.data import read_dataset
from symscreen.expansion import expand
from symscreen.expressions.traversal import compute_complexity, compute_key, evaluate_expression
from symscreen.grammar import load_grammar
from symscreen.screeners import SCREENERS, JointScores, JointScreener, ScreenerOption
from symscreen.screening.scoring.score_space import score_space
from symscreen.screening.task import ScreeningTask


def table_of(rng, rows=30, inputs=3):
    """Build a dataset of positive inputs, the last one with ties, and a noisy target."""
    columns = {f"x{index}": rng.uniform(0.5, 2.0, rows) for index in range(1, inputs)}
    columns[f"x{inputs}"] = rng.integers(1, 6, rows).astype(float)
    y = 2 * columns["x1"] ** 3 + 5 * columns[f"x{inputs}"] + rng.normal(0, 0.5, rows)
    return read_dataset(columns | {"y": y})


def space_of(table, layers="ub", operators="ablation", pool="cumulative", also=(), **changes):
    """Generate the space of a dataset with a changed grammar."""
    grammar = load_grammar(operators).override(**changes)
    parsed = grammar.resolve_layers(layers)
    return expand(table.names, table.columns, grammar, parsed, pool, also=also, options=SpaceOptions())


def wide_space_of(table):
    """Generate about two hundred features, many of them mirrored or with the same ranks."""
    return space_of(table, "ub", "basic", unary=("neg", "cube", "log"), binary=("sub", "mul"))


def steep_of(rng):
    """Build features of few rank classes, whose members have very different Pearson correlations."""
    x = rng.uniform(0.5, 2.0, (4, 20))
    columns = {f"x{index}": column for index, column in enumerate(x, 1)}
    table = read_dataset(columns | {"y": np.exp(12 * x[3])})
    space = space_of(table, "u b[sub] u[exp]", "basic", unary=("log", "cube", "exp"), binary=("sub",))
    return Whole.of(table, space)


FIELDS = {field.name for field in fields(ScreeningTask)}


def change_task(task, *, limit=0, jobs=None, **changes):
    """Return a task with other options, other fields, or another limit (None for all features)."""
    if limit != 0:
        changes["top"] = "all" if limit is None else limit
    if jobs is not None:
        changes.setdefault("backend", Threads(jobs))
    own = {name: value for name, value in changes.items() if name in FIELDS}
    options = {name: value for name, value in changes.items() if name not in FIELDS}
    return replace(task, **own).change_options(**options)


def request_of(*screeners, table=None, layers="ub", operators="ablation", **changes):
    """Build the task of a screen that shows near-duplicates; without a table, of a small one."""
    grammar = load_grammar(operators)
    task = ScreeningTask(
        dataset=read_dataset({"x": np.arange(9.0), "y": np.arange(9.0)}) if table is None else table,
        grammar=grammar,
        layers=grammar.resolve_layers(layers),
        screeners=tuple(SCREENERS[item] if isinstance(item, str) else item for item in screeners),
        backend=Threads(1),
        options=ScreenOptions(prescreen=1000, chunk_size=1 << 14, max_correlation=1),
    )
    return change_task(task, **changes)


def score(space, table, task):
    """Score a space of a dataset."""
    return score_space(space, replace(task, dataset=table))


def normal_null(response, seed):
    """Approximate the null distribution of T0 without ties by a normal distribution."""
    del seed
    n = response.n
    scale = 4 / (n * (n - 1)) * np.sqrt(response.values.var() * n * n * (n + 1) / 12)

    def p_values(ordered, statistics, sign):
        assert len(ordered.values) == len(statistics)
        return 2 * norm.sf(abs(statistics / scale)) if sign == "free" else norm.sf(statistics / scale)

    return p_values


def values_of(table, space):
    """Compute the numbers and values of all valid features of a space from their expressions."""
    by_name = dict(zip(table.names, table.columns, strict=True))
    numbers = [number for block in space.evaluate_range(0, space.total) for number in block.numbers.tolist()]
    return np.array(numbers), np.array(
        [evaluate_expression(space.build_expression(number), by_name) for number in numbers]
    )


def loss_of(name, values, y, sign="free"):
    """Compute the losses of features by scipy and the definitions; smaller is better."""
    if name == "xi":
        return 1 - np.array([xi_by_adjacency(row, y) for row in values])
    if name == "t0":  # Γ = cov(y, R(θ)) / cov(y, R(y)), Schechtman and Yitzhaki 1987
        centered = y - y.mean()
        r = np.array([centered @ rankdata(row) for row in values]) / (centered @ rankdata(y))
    else:
        correlation = {"kendall": kendalltau, "spearman": spearmanr, "pearson": pearsonr}[name]
        r = np.array([correlation(row, y).statistic for row in values])
    return 1 - (np.abs(r) if sign == "free" else r)


def classes_of(values, merged, *, mirrored=True):
    """Return the class index of each feature: same ranks, or affine copies."""
    values = np.asarray(values)
    keys = np.empty_like(values)
    n_classes = 0
    indices = []
    for row in values:
        if merged == "ranks":
            key = rankdata(row)
            forms = [key, len(row) + 1 - key] if mirrored else [key]
        else:
            key = (row - row.mean()) / row.std()
            forms = [key, -key] if mirrored else [key]
        equal = [(np.abs(keys[:n_classes] - form) <= 1e-9).all(axis=1) for form in forms]
        matches = np.flatnonzero(np.any(equal, axis=0))
        if len(matches):
            indices.append(int(matches[0]))
        else:
            keys[n_classes] = key
            indices.append(n_classes)
            n_classes += 1
    return np.array(indices)


@dataclass
class Whole:
    """A space with the numbers and values of all its features."""

    table: Any
    space: Any
    numbers: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, table, space):
        return cls(table, space, *values_of(table, space))

    @property
    def y(self):
        return self.table.target.values

    def order(self, loss, directions=None):
        """Sort indices by loss, then by the order of the members of a class."""
        expressions = [self.space.build_expression(number) for number in self.numbers.tolist()]
        strength = np.abs([pearsonr(row, self.y).statistic for row in self.values])
        r = np.array([(self.y - self.y.mean()) @ rankdata(row) for row in self.values])
        direction = np.where(r >= 0, 1, -1) if directions is None else directions
        return sorted(
            range(len(loss)),
            key=lambda k: (
                round(loss[k], 11),
                -round(strength[k], 11),
                compute_complexity(expressions[k]),
                -direction[k],
                compute_key(expressions[k]),
            ),
        )

    def best(self, loss, merged, limit=None, directions=None, *, mirrored=True):
        """Return the indices of the best members of the best classes, and the class sizes."""
        classes = classes_of(self.values, merged, mirrored=mirrored)
        best: dict[int, int] = {}
        for k in self.order(loss, directions):
            best.setdefault(int(classes[k]), k)
        chosen = list(best.values())[:limit]
        return chosen, [int((classes == classes[k]).sum()) for k in chosen]


def fake(name="fake", blind_to="affine", most=10**6, chosen=2, log=None, judge=None):
    """Build a joint screener that scores by |correlation| and logs its inputs."""

    def correlate(shown, settings):
        del settings
        if log is not None:
            log.append(shown)
        y = shown.target.values
        r = np.array([pearsonr(row, y).statistic for row in shown.values])
        selected = np.zeros(len(r), dtype=bool)
        selected[np.argsort(-np.abs(r), kind="stable")[:chosen]] = True
        return JointScores(
            score=r,
            loss=1 - np.abs(r),
            selected=selected,
            direction=np.sign(r).astype(np.int8),
            columns={f"{name}_rank2": np.where(selected, r**2, np.nan)},
            record={"q": len(r), "seed": shown.seed, "jobs": shown.jobs},
        )

    words = dict.fromkeys(("summary", "assumes", "fails", "cost", "source"), "made up")
    return JointScreener(
        name=name,
        score_function=judge or correlate,
        capacity=lambda rows, settings: most,  # noqa: ARG005
        equivalence=blind_to,
        options=(ScreenerOption("strength", 1.0, "of nothing", min_value=0.0, max_value=9.0),),
        **words,
    )

"""Fit ODE-Strogatz tables with noise, and decide whether the formula is the truth.

SRBench (La Cava and others 2021, Contemporary Symbolic Regression Methods and their Relative Performance,
definition 4.1) calls a model f a symbolic solution of the truth g if f is not constant, and g − f = a or
f/g = b ≠ 0 for constants a, b. It rounds the numbers of f to three decimals, sets those below 10⁻⁴ to 0,
simplifies the difference and the ratio by sympy, and rounds their numbers again.

This module proves identities instead. Let f = c_0 + Σ_k c_k·t_k, with c rounded in the same way and terms
with c_k = 0 left out:

1. *structure*: there are numbers β with g = β_0 + Σ_k β_k·t_k as functions, and β_k ≠ 0 for k ≥ 1. They are
   fitted to g without noise and converted to fractions. The identity is then proved in a finite field, or
   checked to 50 digits (`symscreen.evaluation.find_affine_copies`).
2. *exact*: in addition, |c_k − β_k| < 0.0005 for each k ≥ 1, so the rounded difference is constant; or
   c_k = b·β_k for all k ≥ 0, so the ratio is constant.

sympy's ``simplify`` finds most of these identities, but not all, and sometimes runs out of time; SRBench then
counts a true formula as wrong. On the test cases of this module both rules agree.

`compute_truth_criterion` and `diagnose_miss` explain a miss: the search did not find the truth, or the data
favour another formula.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen import datasets
from symscreen.backends import Threads
from symscreen.config.screen_options import ScreenOptions
from symscreen.config.space_options import build_layer_schedule
from symscreen.data import read_dataset
from symscreen.evaluation import (
    Truth,
    average_precision,
    compute_first_correct_rank,
    compute_recall_at,
    find_affine_copies,
    find_affine_copies_in_space,
    find_correct_features,
    list_term_sums,
    parse_truth,
)
from symscreen.expressions.printing import to_text
from symscreen.expressions.sympy_conversion import build_number
from symscreen.expressions.traversal import collect_columns, evaluate_expression
from symscreen.expressions.tree import apply_operator, parse_expression
from symscreen.fitting import estimate_coefficients, get_input_columns
from symscreen.fitting.fit import fit
from symscreen.grammar import OPERATORS, load_grammar
from symscreen.linear_models.model_criteria import compute_search_penalty
from symscreen.results.fit_result import FitResult
from symscreen.screeners import PEARSON, T0, XI, parse_screeners
from symscreen.screeners.column.correlation import SPEARMAN
from symscreen.screening.scoring.score_space import score_space
from symscreen.screening.space_generation import generate_space
from symscreen.screening.task import ScreeningTask
from symscreen.statistics.ranks.sorted_block import sort_block

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from symscreen.data import Dataset
    from symscreen.expansion import Space
    from symscreen.expressions.linear_formula import Formula
    from symscreen.expressions.tree import Expression
    from symscreen.screening.scoring.joint_screening import JointResult
    from symscreen.targets import NumericTarget


_ZERO_THRESHOLD = 1e-4  # SRBench: smaller numbers are 0
_DECIMALS = 3
_MAX_DIFFERENCE = 0.5 * 10.0**-_DECIMALS
_RELATIVE_TOLERANCE = 1e-12
_N_ROWS = 200
_MAX_UNEXPLAINED_SHARE = 1e-18  # share of the truth's variance up to which a difference is rounding
_MAX_DENOMINATOR = 10_000

GRAMMAR = "strogatz"
_N_FRESH_ROWS = 10_000
_MAX_TARGET_RATIO = 10.0  # fresh rows with a larger |truth|/max|target| are close to a pole

MAX_TIE_DIFFERENCE = 2.0
"""Difference of the criterion within which `symscreen.fit` chooses the simpler model."""

COLUMN_SCREENERS = (T0, XI, PEARSON, SPEARMAN)
JOINT_SCREENER = "lasso"
_SHORTLIST_SIZE = 1000  # best features by T0 that the joint screener receives
_LOSS_DIGITS = 12  # decimals: rounding noise must not break ties


@dataclass(frozen=True, slots=True)
class Equality:
    """Result of comparing a formula with the truth.

    Parameters
    ----------
    structure : bool
        Whether the formula equals the truth with other coefficients.
    exact : bool
        Whether the formula is the truth by SRBench's rule.
    """

    structure: bool
    exact: bool


def compare_formula(formula: Formula, truth: str) -> Equality:
    """Compare a fitted formula with the truth.

    Parameters
    ----------
    formula : Formula
        Weighted sum of terms. Numbers inside the terms come from a grammar and are not rounded.
    truth : str
        Formula in the same columns, defined for inputs between ½ and 3.

    Returns
    -------
    Equality
        Result of the comparison.

    Examples
    --------
    >>> from symscreen.expressions.linear_formula import Formula
    >>> from symscreen.expressions.tree import parse_expression
    >>> shear = (parse_expression("sin(x1)"), parse_expression("cos(x1 + x2)/sin(x2)"))
    >>> compare_formula(Formula("y", 0.2, (1.0002, 0.9996), shear), "cos(x1)/tan(x2)")
    Equality(structure=True, exact=True)
    >>> compare_formula(Formula("y", 0.2, (1.002, 0.9996), shear), "cos(x1)/tan(x2)")
    Equality(structure=True, exact=False)
    """
    rounded, truth_expression = round_coefficients(formula), parse_expression(truth, OPERATORS)
    if not rounded.terms:
        return Equality(structure=False, exact=False)
    fitted = _find_coefficients(truth_expression, rounded.terms)
    if fitted is None:
        return Equality(structure=False, exact=False)
    coefficients, true_coefficients = np.array([rounded.intercept, *rounded.coefficients]), np.array(fitted)
    has_constant_difference = np.abs(coefficients - true_coefficients)[1:].max() < _MAX_DIFFERENCE
    ratio = coefficients[1] / true_coefficients[1]
    has_constant_ratio = (
        np.abs(coefficients - ratio * true_coefficients) <= _RELATIVE_TOLERANCE * np.abs(coefficients)
    ).all()
    return Equality(structure=True, exact=bool(has_constant_difference or has_constant_ratio))


def round_coefficients(formula: Formula) -> Formula:
    """Round the coefficients as SRBench does, and leave out terms whose coefficient becomes 0.

    Parameters
    ----------
    formula : Formula
        Fitted formula.

    Returns
    -------
    Formula
        Formula with coefficients of three decimals.

    Examples
    --------
    >>> from symscreen.expressions.linear_formula import Formula
    >>> from symscreen.expressions.tree import parse_expression
    >>> terms = (parse_expression("x1"), parse_expression("x2"))
    >>> print(round_coefficients(Formula("y", 0.00009, (3.14159, 0.0004), terms)))
    3.142*x1
    """
    rounded = [_round_coefficient(coefficient) for coefficient in formula.coefficients]
    nonzero = [i for i, coefficient in enumerate(rounded) if coefficient != 0.0]
    return replace(
        formula,
        intercept=_round_coefficient(formula.intercept),
        coefficients=tuple(rounded[i] for i in nonzero),
        terms=tuple(formula.terms[i] for i in nonzero),
    )


def _round_coefficient(coefficient: float) -> float:
    """Round one coefficient."""
    return 0.0 if abs(coefficient) < _ZERO_THRESHOLD else round(coefficient, _DECIMALS)


@lru_cache(maxsize=1024)  # many fits of one table have the same terms
def _find_coefficients(truth: Expression, terms: tuple[Expression, ...]) -> tuple[float, ...] | None:
    """Find β with truth = β_0 + Σ β_k·t_k and β_k ≠ 0 for k ≥ 1; None if there is none."""
    names = sorted(collect_columns(truth).union(*(collect_columns(term) for term in terms)))
    rng = np.random.default_rng(0)
    rows = {name: rng.uniform(0.5, 3.0, _N_ROWS) for name in names}
    target, values = (
        evaluate_expression(truth, rows),
        np.array([evaluate_expression(term, rows) for term in terms]),
    )
    if not np.isfinite(values).all():
        return None
    design = np.vstack([np.ones(_N_ROWS), values]).T
    norms = np.linalg.norm(design, axis=0)
    coefficients, _, rank, _ = np.linalg.lstsq(design / norms, target, rcond=None)
    residual = target - design / norms @ coefficients
    coefficients = coefficients + np.linalg.lstsq(design / norms, residual, rcond=None)[0]
    residual = target - design / norms @ coefficients
    centered = target - target.mean()
    coefficients = coefficients / norms
    if rank <= len(terms) or residual @ residual > _MAX_UNEXPLAINED_SHARE * (centered @ centered):
        return None
    fractions = [
        Fraction(coefficient).limit_denominator(_MAX_DENOMINATOR) for coefficient in coefficients.tolist()
    ]
    if not all(fractions[1:]) or not find_affine_copies([_sum_terms(fractions[1:], terms)], truth)[0]:
        return None
    return tuple(map(float, fractions))


def _sum_terms(weights: Sequence[Fraction], terms: Sequence[Expression]) -> Expression:
    """Build the expression of a weighted sum of terms."""
    total: Expression | None = None
    for weight, term in zip(weights, terms, strict=True):
        weighted = apply_operator(OPERATORS["mul"], build_number(weight), term)
        total = weighted if total is None else apply_operator(OPERATORS["add"], total, weighted)
    assert total is not None  # noqa: S101  # there is at least one term
    return total


@dataclass(frozen=True, slots=True)
class Recovery:
    """Result of one fit.

    Parameters
    ----------
    formula : Formula
        Formula from `symscreen.fit` with ``snap=True``.
    structure, exact : bool
        See `Equality`.
    r2 : float
        1 − RSS/TSS on fresh rows of the noise-free truth.
    criterion : float
        EBIC of the chosen model.
    n_searched : int
        Number of features tried.
    seconds : float
        Run time of the fit.
    """

    formula: Formula
    structure: bool
    exact: bool
    r2: float
    criterion: float
    n_searched: int
    seconds: float


def add_target_noise(system: str, noise_ratio: float, seed: int) -> pd.DataFrame:
    """Add noise to the target of a table.

    Parameters
    ----------
    system : str
        Name from `symscreen.datasets.list_strogatz_names`.
    noise_ratio : float
        Standard deviation of the normal noise over the root mean square of the target (SRBench).
    seed : int
        Seed. The draw depends on it and on the table, not on the ratio.

    Returns
    -------
    pandas.DataFrame
        All 400 rows.

    Examples
    --------
    >>> quiet, loud = (add_target_noise("lv1", ratio, seed=3)["target"] for ratio in (0.0, 0.1))
    >>> round(float((loud - quiet).std() / (quiet**2).mean() ** 0.5), 2)
    0.1
    """
    frame = datasets.load_strogatz(system).frame
    clean = frame["target"].to_numpy()
    rng = np.random.default_rng([seed, datasets.list_strogatz_names().index(system)])
    deviation = noise_ratio * np.sqrt((clean * clean).mean())
    return frame.assign(target=clean + deviation * rng.standard_normal(len(clean)))


def measure_recovery(system: str, frame: pd.DataFrame, layers: str | None) -> Recovery:
    """Fit a table on one thread, and compare the formula with the truth.

    Parameters
    ----------
    system : str
        Name of the table.
    frame : pandas.DataFrame
        The table, with or without noise.
    layers : str or None
        Layers to search; see `symscreen.fit`.

    Returns
    -------
    Recovery
        Result of the fit.
    """
    start = time.perf_counter()
    result = fit(frame, operators=GRAMMAR, layers=layers, snap=True, jobs=1)
    assert isinstance(result, FitResult)  # noqa: S101  # there is one target
    seconds = time.perf_counter() - start
    equality = compare_formula(result.formula, datasets.load_strogatz(system).truth)
    chosen = result.front[result.front["chosen"]].iloc[0]
    return Recovery(
        formula=result.formula,
        structure=equality.structure,
        exact=equality.exact,
        r2=compute_fresh_r2(system, result.formula),
        criterion=float(chosen["ebic"]),
        n_searched=int(result.record["searched"]),
        seconds=seconds,
    )


def compute_fresh_r2(system: str, formula: Formula) -> float:
    """Predict the noise-free truth on 10,000 fresh rows, uniform over the range of each input.

    Parameters
    ----------
    system : str
        Name of the table.
    formula : Formula
        Formula to evaluate.

    Returns
    -------
    float
        R². Rows where |truth| exceeds ten times the largest |target| of the table are left out: they are
        close to a pole, and a few of them would dominate. −∞ if the formula is undefined in a remaining row.
    """
    data = datasets.load_strogatz(system)
    rows = _draw_fresh_rows(data.frame)
    truth = evaluate_expression(parse_expression(data.truth), rows)
    is_regular = np.abs(truth) <= _MAX_TARGET_RATIO * np.abs(data.frame["target"]).max()
    rows, truth = {name: values[is_regular] for name, values in rows.items()}, truth[is_regular]
    residual = formula.intercept - truth
    for coefficient, term in zip(formula.coefficients, formula.terms, strict=True):
        residual = residual + coefficient * evaluate_expression(term, rows)
    if not np.isfinite(residual).all():
        return float("-inf")
    centered = truth - truth.mean()
    return float(1.0 - (residual @ residual) / (centered @ centered))


def _draw_fresh_rows(frame: pd.DataFrame) -> dict[str, NDArray[np.float64]]:
    """Draw 10,000 rows of inputs uniformly over their ranges."""
    rng = np.random.default_rng(0)
    return {
        name: rng.uniform(frame[name].min(), frame[name].max(), _N_FRESH_ROWS)
        for name in frame.columns.drop("target")
    }


def diagnose_miss(chosen: float, truth: float) -> str:
    """Find the cause of a miss.

    Parameters
    ----------
    chosen, truth : float
        EBIC of the chosen model, and of the terms of the truth fitted to the same rows.

    Returns
    -------
    str
        ``data`` if the truth is worse by more than 2 points, ``tie`` if both are within 2 points, and
        ``search`` if the truth is better by more: it would have been chosen had it been found.

    Examples
    --------
    >>> diagnose_miss(-10.0, -3.0), diagnose_miss(-10.0, -11.0), diagnose_miss(-10.0, -13.0)
    ('data', 'tie', 'search')
    """
    if truth > chosen + MAX_TIE_DIFFERENCE:
        return "data"
    return "tie" if truth >= chosen - MAX_TIE_DIFFERENCE else "search"


def compute_truth_criterion(system: str, frame: pd.DataFrame, layers: str | None) -> float:
    """Compute the criterion of the terms of the truth on a table with noise.

    Parameters
    ----------
    system : str
        Name of the table.
    frame : pandas.DataFrame
        The table with noise.
    layers : str or None
        Layers that were searched; see `symscreen.fit`.

    Returns
    -------
    float
        The EBIC of the model with k terms, n·log(1 − R²) + (k + 1)·log n + 2·Σ_j log p_j·n/(n − k − 1), where
        p_j is the size of the first space of the search that contains term j
        (`symscreen.fitting.score_models`); infinite if none does.
    """
    term_sizes = _find_term_space_sizes(system, layers)
    rows = {name: frame[name].to_numpy() for name in frame.columns.drop("target")}
    values = np.array([evaluate_expression(term, rows) for term, _ in term_sizes])
    unexplained_share = estimate_coefficients(values, frame["target"].to_numpy()).unexplained_share
    n, n_parameters = len(frame), len(term_sizes) + 1
    search_penalty = compute_search_penalty(sum(log(size) for _, size in term_sizes), n, n_parameters)
    return n * log(unexplained_share) + n_parameters * log(n) + search_penalty


def make_task(dataset: Dataset, layers: str | None = None, **changes: Any) -> ScreeningTask:
    """Make the task of a screen with the paper's grammar."""
    grammar = load_grammar(GRAMMAR)
    task = ScreeningTask(
        dataset=dataset, grammar=grammar, layers=grammar.resolve_layers(layers), backend=Threads(1)
    )
    return replace(task, **changes)


@lru_cache(maxsize=64)
def _find_term_space_sizes(system: str, layers: str | None) -> tuple[tuple[Expression, float], ...]:
    """Return the terms of the truth as the search writes them, each with the size of its first space."""
    data = datasets.load_strogatz(system)
    recovery = measure_recovery(system, data.frame, layers)
    terms = recovery.formula.terms if recovery.structure else parse_truth(data.truth).terms
    table = read_dataset(data.frame, target="target", inputs=None, exclude=(), missing="refuse", y=None)
    columns = dict(zip(table.names, table.columns, strict=True))
    grammar = load_grammar(GRAMMAR)
    sizes: dict[int, float] = {}
    for space_layers in build_layer_schedule(grammar, layers):
        if len(sizes) == len(terms):
            break
        space, _ = generate_space(make_task(table), space_layers)
        for i, term in enumerate(terms):
            if i not in sizes and len(find_affine_copies_in_space(space, [term], columns)):
                sizes[i] = float(space.size)
    return tuple((term, sizes.get(i, float("inf"))) for i, term in enumerate(terms))


@dataclass(frozen=True, eq=False)
class CorrectFeatures:
    """The correct features of a space.

    Parameters
    ----------
    n_features : int
        Number of features, including undefined and constant ones of the last layer.
    truth : Truth
        The truth of the table.
    correct : int64 array, shape (c,), ascending
        Numbers of the features that are correct by the criterion ``terms``.
    formulas : tuple of str, length c
        Their formulas.
    term_copies : tuple of int64 array
        For each additive term of the truth, the numbers of its affine copies; empty if the space has none.
    """

    n_features: int
    truth: Truth
    correct: NDArray[np.int64]
    formulas: tuple[str, ...]
    term_copies: tuple[NDArray[np.int64], ...]


@dataclass(frozen=True, eq=False)
class ScreenerPerformance:
    """Ranking of a space by one screener.

    Parameters
    ----------
    average_precision, recall_20, recall_100 : float
        Measures by the criterion ``terms``; NaN if the space has no correct feature.
    ranks : tuple of float
        Rank of the best feature of each term of the truth (mid-rank of ties); NaN if there is none.
    class_ranks : tuple of float
        The same, with tied features counted as one.
    """

    average_precision: float
    recall_20: float
    recall_100: float
    ranks: tuple[float, ...]
    class_ranks: tuple[float, ...]


@lru_cache(maxsize=64)
def list_correct_features(system: str, layers: str) -> CorrectFeatures:
    """Find the terms of the truth in a space of the noise-free table. Noise does not change the features.

    Parameters
    ----------
    system : str
        Name from `symscreen.datasets.list_strogatz_names`.
    layers : str
        Layers of the space.

    Returns
    -------
    CorrectFeatures
        The correct features.
    """
    data = datasets.load_strogatz(system)
    table = _read_dataset(data.frame)
    return _match_truth(generate_space(make_task(table, layers))[0], table, parse_truth(data.truth))


def _match_truth(space: Space, dataset: Dataset, truth: Truth) -> CorrectFeatures:
    """Find the features of a space that are correct, and the copies of each term."""
    candidates = find_affine_copies_in_space(space, list_term_sums(truth), get_input_columns(dataset))
    expressions = [space.build_expression(number) for number in candidates.tolist()]
    correct_indices = np.flatnonzero(find_correct_features(expressions, truth, "terms"))
    expressions = [expressions[i] for i in correct_indices.tolist()]
    return CorrectFeatures(
        n_features=space.size,
        truth=truth,
        correct=candidates[correct_indices],
        formulas=tuple(map(to_text, expressions)),
        term_copies=tuple(
            candidates[correct_indices][find_affine_copies(expressions, term)] for term in truth.terms
        ),
    )


def screen_space(
    system: str, frame: pd.DataFrame, layers: str, *, joint: bool, seed: int
) -> tuple[dict[str, ScreenerPerformance], float]:
    """Score every feature of a space on one thread, and evaluate the rankings.

    Parameters
    ----------
    system : str
        Name of the table.
    frame : pandas.DataFrame
        The table, with or without noise.
    layers : str
        Layers of the space.
    joint : bool
        Whether to run the joint screener on the best thousand features by T0.
    seed : int
        Seed of the folds of the joint screener.

    Returns
    -------
    dict of str to ScreenerPerformance
        Performance by screener, with free sign.
    float
        Seconds to generate and score the space.
    """
    correct_features = list_correct_features(system, layers)
    table = _read_dataset(frame)
    start = time.perf_counter()
    space = generate_space(make_task(table, layers))[0]
    joint_result = _run_joint_screener(space, table, seed) if joint else None
    numbers, losses = _score_blocks(space, table.numeric_target, joint_result)
    seconds = time.perf_counter() - start
    if correct_features.formulas != tuple(
        to_text(space.build_expression(number)) for number in correct_features.correct.tolist()
    ):
        # the numbers of the features differ only if rounding merged other features
        correct_features = _match_truth(space, table, correct_features.truth)
    return {
        name: _measure_screener(loss, numbers, correct_features) for name, loss in losses.items()
    }, seconds


def _read_dataset(frame: pd.DataFrame) -> Dataset:
    """Read a table with all inputs."""
    return read_dataset(frame, target="target", inputs=None, exclude=(), missing="refuse", y=None)


def _score_blocks(
    space: Space, target: NumericTarget, joint_result: JointResult | None
) -> tuple[NDArray[np.int64], dict[str, NDArray[np.float64]]]:
    """Score the features block by block; return their numbers (q,) and the losses by screener, (q,) each.

    The loss of the joint screener is NaN for features without an equivalent in its shortlist.
    """
    numbers: list[NDArray[np.int64]] = []
    losses: dict[str, list[NDArray[np.float64]]] = defaultdict(list)
    for block in space.evaluate_range(0, space.total):
        if not len(block.numbers):
            continue
        numbers.append(block.numbers)
        ordered = sort_block(block.values)
        for screener in COLUMN_SCREENERS:
            loss = screener.loss(screener.statistic(ordered, target), target, "free")
            losses[screener.name].append(np.round(loss, _LOSS_DIGITS))
        if joint_result is not None:
            positions = joint_result.shortlist.find_positions(ordered)
            losses[JOINT_SCREENER].append(
                np.where(positions >= 0, joint_result.scores.loss[positions], np.nan)
            )
    return np.concatenate(numbers), {name: np.concatenate(parts) for name, parts in losses.items()}


def _run_joint_screener(space: Space, dataset: Dataset, seed: int) -> JointResult:
    """Run the joint screener on a shortlist."""
    task = make_task(
        dataset,
        screeners=parse_screeners(("t0", JOINT_SCREENER)),
        options=ScreenOptions(top=1, prescreen=_SHORTLIST_SIZE, seed=seed),
    )
    return score_space(space, task).joint_results[JOINT_SCREENER]


def _measure_screener(
    loss: NDArray[np.float64], numbers: NDArray[np.int64], correct_features: CorrectFeatures
) -> ScreenerPerformance:
    """Evaluate the ranking of the features `numbers` (q,) by their losses (q,)."""
    is_correct = np.isin(numbers, correct_features.correct)
    is_copy = [np.isin(numbers, term) for term in correct_features.term_copies]
    _, class_index = np.unique(loss, return_inverse=True)
    return ScreenerPerformance(
        average_precision=average_precision(loss, is_correct),
        recall_20=compute_recall_at(loss, is_correct, 20),
        recall_100=compute_recall_at(loss, is_correct, 100),
        ranks=tuple(compute_first_correct_rank(loss, term) for term in is_copy),
        class_ranks=tuple(
            float(1 + class_index[term].min()) if term.any() else float("nan") for term in is_copy
        ),
    )

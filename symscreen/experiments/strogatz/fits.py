"""Whether a fitted formula is the truth: SRBench's rule, with identities decided rather than simplified.

La Cava and others (2021), Contemporary Symbolic Regression Methods and their Relative Performance,
definition 4.1: a model f is a symbolic solution of the truth g if it is not constant, and g − f = a or
f/g = b ≠ 0 for constants a, b. SRBench rounds the numbers of f to three decimals, takes those below 10⁻⁴ for
0, and lets sympy simplify difference and ratio, whose numbers it rounds again.

Here, with f = c_0 + Σ_k c_k·t_k, c rounded in the same way and terms with c_k = 0 left out:

1. *structure*: there are numbers β with g = β_0 + Σ_k β_k·t_k as functions, and β_k ≠ 0 for k ≥ 1. They are
   fitted to g without noise and taken for fractions; the identity is then proved in a finite field, or
   checked to 50 digits (`symscreen.evaluation.find_affine_copies`).
2. *exact*: besides, |c_k − β_k| < 0.0005 for each k ≥ 1, so that the difference, rounded, is a constant; or
   c_k = b·β_k for all k ≥ 0, so that the ratio is.

sympy's ``simplify`` finds most of such identities, not all, and not always in time: where it gives up,
SRBench counts a true formula as wrong. On the cases of this module's tests the two rules agree.

One ODE-Strogatz table with noise, fitted: whether the formula is the truth, and how it predicts.

Why a fit missed the truth: the search never met it, or the data speak for another formula.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import log
from typing import TYPE_CHECKING

import numpy as np

from symscreen import datasets
from symscreen.config.space_options import build_layer_schedule
from symscreen.data import read_dataset
from symscreen.evaluation import find_affine_copies, find_affine_copies_in_space, parse_truth
from symscreen.expressions.sympy_conversion import build_number
from symscreen.expressions.tree import apply_operator, collect_columns, evaluate_expression, parse_expression
from symscreen.fitting import estimate_coefficients
from symscreen.fitting.fit import fit
from symscreen.grammar import OPERATORS, load_grammar
from symscreen.results.fit_result import FitResult
from symscreen.screening.space_generation import GenerationConfig, generate_space

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from symscreen.expressions.linear_formula import Formula
    from symscreen.expressions.tree import Expression


__all__ = [
    "GRAMMAR",
    "MAX_TIE_DIFFERENCE",
    "Equality",
    "Recovery",
    "add_target_noise",
    "compare_formula",
    "compute_fresh_r2",
    "compute_truth_criterion",
    "diagnose_miss",
    "measure_recovery",
    "round_coefficients",
]

_ZERO_THRESHOLD = 1e-4  # SRBench: a number below it is 0
_DECIMALS = 3
_MAX_DIFFERENCE = 0.5 * 10.0**-_DECIMALS
_RELATIVE_TOLERANCE = 1e-12
_N_ROWS = 200
_MAX_UNEXPLAINED_SHARE = (
    1e-18  # of the truth's variance: rounding of the fit; the identity is proved afterwards
)
_MAX_DENOMINATOR = 10_000


@dataclass(frozen=True, slots=True)
class Equality:
    """How a formula stands to the truth.

    Parameters
    ----------
    structure : bool
        With other coefficients it is the truth.
    exact : bool
        It is the truth, by SRBench's rule.
    """

    structure: bool
    exact: bool


def compare_formula(formula: Formula, truth: str) -> Equality:
    """Compare a fitted formula with the truth.

    Parameters
    ----------
    formula : Formula
        A weighted sum of terms; the terms' own numbers are those of a grammar and not rounded.
    truth : str
        In the one notation, in the same columns; defined for inputs between ½ and 3.

    Returns
    -------
    Equality

    Examples
    --------
    >>> from symscreen.export import Formula
    >>> from symscreen.expressions.tree import parse_expression
    >>> shear = (parse_expression("sin(x1)"), parse_expression("cos(x1 + x2)/sin(x2)"))
    >>> compared(Formula("y", 0.2, (1.0002, 0.9996), shear), "cos(x1)/tan(x2)")
    Equality(structure=True, exact=True)
    >>> compared(Formula("y", 0.2, (1.002, 0.9996), shear), "cos(x1)/tan(x2)")
    Equality(structure=True, exact=False)
    """
    shown, law = round_coefficients(formula), parse_expression(truth, OPERATORS)
    if not shown.terms:
        return Equality(structure=False, exact=False)
    found = _find_coefficients(law, shown.terms)
    if found is None:
        return Equality(structure=False, exact=False)
    own, numbers = np.array([shown.intercept, *shown.coefficients]), np.array(found)
    difference = np.abs(own - numbers)[1:].max() < _MAX_DIFFERENCE
    ratio = own[1] / numbers[1]
    proportion = (np.abs(own - ratio * numbers) <= _RELATIVE_TOLERANCE * np.abs(own)).all()
    return Equality(structure=True, exact=bool(difference or proportion))


def round_coefficients(formula: Formula) -> Formula:
    """Round the coefficients as SRBench does, and leave out the terms whose coefficient becomes 0.

    Examples
    --------
    >>> from symscreen.export import Formula
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(round_coefficients(Formula("y", 0.00009, (3.14159, 0.0004), (parse_expression("x1"),
    ...     parse_expression("x2")))))
    3.142*x1
    """
    rounded = [_round_coefficient(coefficient) for coefficient in formula.coefficients]
    kept = [place for place, coefficient in enumerate(rounded) if coefficient != 0.0]
    return replace(
        formula,
        intercept=_round_coefficient(formula.intercept),
        coefficients=tuple(rounded[place] for place in kept),
        terms=tuple(formula.terms[place] for place in kept),
    )


def _round_coefficient(coefficient: float) -> float:
    return 0.0 if abs(coefficient) < _ZERO_THRESHOLD else round(coefficient, _DECIMALS)


@lru_cache(maxsize=1024)  # many fits of one table have the same terms
def _find_coefficients(truth: Expression, terms: tuple[Expression, ...]) -> tuple[float, ...] | None:
    """Return β with law = β_0 + Σ β_k·t_k and β_k ≠ 0 for k ≥ 1; None where there are no such numbers."""
    names = sorted(collect_columns(truth).union(*(collect_columns(term) for term in terms)))
    rng = np.random.default_rng(0)
    rows = {name: rng.uniform(0.5, 3.0, _N_ROWS) for name in names}
    aim, values = (
        evaluate_expression(truth, rows),
        np.array([evaluate_expression(term, rows) for term in terms]),
    )
    if not np.isfinite(values).all():
        return None
    design = np.vstack([np.ones(_N_ROWS), values]).T
    size = np.linalg.norm(design, axis=0)
    numbers, _, rank, _ = np.linalg.lstsq(design / size, aim, rcond=None)
    left = aim - design / size @ numbers
    numbers = numbers + np.linalg.lstsq(design / size, left, rcond=None)[0]
    left = aim - design / size @ numbers
    around = aim - aim.mean()
    numbers = numbers / size
    if rank <= len(terms) or left @ left > _MAX_UNEXPLAINED_SHARE * (around @ around):
        return None
    fractions = [Fraction(one).limit_denominator(_MAX_DENOMINATOR) for one in numbers.tolist()]
    if not all(fractions[1:]) or not find_affine_copies([_sum_terms(fractions[1:], terms)], truth)[0]:
        return None
    return tuple(map(float, fractions))


def _sum_terms(weights: Sequence[Fraction], terms: Sequence[Expression]) -> Expression:
    total: Expression | None = None
    for weight, term in zip(weights, terms, strict=True):
        part = apply_operator(OPERATORS["mul"], build_number(weight), term)
        total = part if total is None else apply_operator(OPERATORS["add"], total, part)
    assert total is not None  # noqa: S101  # there is a term
    return total


GRAMMAR = "strogatz"
_N_FRESH_ROWS = 10_000
_MAX_TARGET_RATIO = 10.0  # times the table's largest response: a fresh row beyond it is next to a pole


@dataclass(frozen=True, slots=True)
class Recovery:
    """One fit.

    Parameters
    ----------
    formula : Formula
        As `symscreen.fit` gave it with ``snap=True``.
    structure, exact : bool
        As of `symscreen.experiments.strogatz.fits.Equality`.
    r2 : float
        1 − RSS/TSS on fresh rows of the noise-free truth.
    criterion : float
        EBIC of the model chosen.
    searched : int
        How many features were tried.
    seconds : float
        Of the fit.
    """

    formula: Formula
    structure: bool
    exact: bool
    r2: float
    criterion: float
    n_searched: int
    seconds: float


def add_target_noise(system: str, noise_ratio: float, seed: int) -> pd.DataFrame:
    """Add noise to the response of a table.

    Parameters
    ----------
    system : str
        A name of `symscreen.datasets.list_strogatz_names`.
    noise_ratio : float
        Standard deviation of the normal noise over the root mean square of the response (SRBench).
    seed : int
        The draw depends on it and on the table, not on the ratio.

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
    spread = noise_ratio * np.sqrt((clean * clean).mean())
    return frame.assign(target=clean + spread * rng.standard_normal(len(clean)))


def measure_recovery(system: str, frame: pd.DataFrame, layers: str | None) -> Recovery:
    """Fit a table, on one thread, and compare what comes with the truth.

    Parameters
    ----------
    system : str
        Whose truth.
    frame : pandas.DataFrame
        Its table, with or without noise.
    layers : str or None
        As of `symscreen.fit`.

    Returns
    -------
    Recovery
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
        Whose truth and ranges.
    formula : Formula
        What predicts.

    Returns
    -------
    float
        R². Rows where the truth is ten times the table's largest response, next to a pole, are left out: a
        few of them would outweigh all others. −∞ where the formula is undefined in one of the rest.
    """
    data = datasets.load_strogatz(system)
    rows = _draw_fresh_rows(data.frame)
    truth = evaluate_expression(parse_expression(data.truth), rows)
    usual = np.abs(truth) <= _MAX_TARGET_RATIO * np.abs(data.frame["target"]).max()
    rows, truth = {name: values[usual] for name, values in rows.items()}, truth[usual]
    left = formula.intercept - truth
    for coefficient, term in zip(formula.coefficients, formula.terms, strict=True):
        left = left + coefficient * evaluate_expression(term, rows)
    if not np.isfinite(left).all():
        return float("-inf")
    around = truth - truth.mean()
    return float(1.0 - (left @ left) / (around @ around))


def _draw_fresh_rows(frame: pd.DataFrame) -> dict[str, NDArray[np.float64]]:
    rng = np.random.default_rng(0)
    return {
        name: rng.uniform(frame[name].min(), frame[name].max(), _N_FRESH_ROWS)
        for name in frame.columns.drop("target")
    }


MAX_TIE_DIFFERENCE = 2.0
"""Points of the criterion within which `symscreen.fit` takes the simpler model."""


def diagnose_miss(chosen: float, truth: float) -> str:
    """Say what stopped a fit.

    Parameters
    ----------
    chosen, truth : float
        EBIC of the model chosen, and of the truth's terms with coefficients fitted to the same rows.

    Returns
    -------
    str
        ``data`` where the truth is worse by more than 2 points, ``tie`` where the two are within 2, and
        ``search`` where the truth is better by more, so that it would have been chosen had it been met.

    Examples
    --------
    >>> diagnose_miss(-10.0, -3.0), diagnose_miss(-10.0, -11.0), diagnose_miss(-10.0, -13.0)
    ('data', 'tie', 'search')
    """
    if truth > chosen + MAX_TIE_DIFFERENCE:
        return "data"
    return "tie" if truth >= chosen - MAX_TIE_DIFFERENCE else "search"


def compute_truth_criterion(system: str, frame: pd.DataFrame, layers: str | None) -> float:
    """Compute the criterion of the truth's own terms on a table with noise.

    Parameters
    ----------
    system : str
        Whose truth.
    frame : pandas.DataFrame
        Its table with noise.
    layers : str or None
        What was searched, as of `symscreen.fit`.

    Returns
    -------
    float
        EBIC = n·log(1 − R²) + (k + 1)·log n + 2·Σ_j log p_j, k terms, p_j the size of the first space of the
        search that holds term j (`symscreen.fitting.score_models`); infinite where none does.
    """
    prices = _find_term_space_sizes(system, layers)
    rows = {name: frame[name].to_numpy() for name in frame.columns.drop("target")}
    values = np.array([evaluate_expression(term, rows) for term, _ in prices])
    share = estimate_coefficients(values, frame["target"].to_numpy()).unexplained_share
    searched = 2 * sum(log(price) for _, price in prices)
    return len(frame) * log(share) + (len(prices) + 1) * log(len(frame)) + searched


@lru_cache(maxsize=64)
def _find_term_space_sizes(system: str, layers: str | None) -> tuple[tuple[Expression, float], ...]:
    """Return the truth as the search writes it, each term with the size of the first space that holds it."""
    data = datasets.load_strogatz(system)
    clean = measure_recovery(system, data.frame, layers)
    terms = clean.formula.terms if clean.structure else parse_truth(data.truth).terms
    table = read_dataset(data.frame, target="target", inputs=None, exclude=(), missing="refuse", y=None)
    columns = dict(zip(table.names, table.columns, strict=True))
    grammar = load_grammar(GRAMMAR)
    prices: dict[int, float] = {}
    for space_layers in build_layer_schedule(grammar, layers):
        if len(prices) == len(terms):
            break
        growth = GenerationConfig(grammar, "cumulative", (), None, None, None)
        space, _ = generate_space(table, growth, space_layers)
        for place, term in enumerate(terms):
            if place not in prices and len(find_affine_copies_in_space(space, [term], columns)):
                prices[place] = float(space.size)
    return tuple((term, prices.get(place, float("inf"))) for place, term in enumerate(terms))

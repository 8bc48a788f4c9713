"""Theorems 10 and 13 at work: the ranking regret of CART and BART against the number of rows."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from symscreen.errors import DataError, OptionError, suggest
from symscreen.trees.decision import (
    compute_ranking_metric,
    compute_ranking_regret,
    compute_regret_bound,
    rank_rows,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from symscreen._typing import Values

    ScoringFunction = Callable[[Values], Values]

__all__ = ["InputDesign", "Learner", "compute_sine_scores", "measure_regret"]

Learner = Literal["cart", "bart", "bart_draws"]
InputDesign = Literal["random", "regular"]

_MIN_ROWS = 10


def compute_sine_scores(inputs: Values) -> Values:
    """Compute the scoring function of the demonstration, Σ_k sin(2π x_k + k): additive, smooth, bounded.

    Parameters
    ----------
    inputs : float64 array, shape (N, d)
        In [0, 1].

    Returns
    -------
    float64 array, shape (N,)

    Examples
    --------
    >>> compute_sine_scores(np.array([[0.25, 0.0]])).round(4).tolist()
    [1.8415]
    """
    return np.asarray(np.sin(2 * np.pi * inputs + np.arange(inputs.shape[1])).sum(axis=1))


def measure_regret(
    learners: Sequence[Learner] = ("cart", "bart", "bart_draws"),
    *,
    rows: Sequence[int] = (50, 100, 200, 400, 800),
    repeats: int = 5,
    noise_variance: float = 0.25,
    scoring: ScoringFunction = compute_sine_scores,
    inputs: int = 2,
    design: InputDesign = "random",
    seed: int = 0,
) -> pd.DataFrame:
    """Measure T(r_B) − T(r) of trees fitted to more and more rows.

    Parameters
    ----------
    learners : sequence of {"cart", "bart", "bart_draws"}
        A regression tree whose depth grows with N; the posterior mean of BART; and the single draws of that
        posterior, whose regrets are averaged.
    rows : sequence of int
        The sizes N, each at least 10.
    repeats : int
        Tables drawn for each size, at least 1.
    noise_variance : float
        σ² of the normal noise, in the response's squared unit; not negative.
    scoring : callable
        f_B: inputs of shape (N, d) in [0, 1] to N scores, not constant.
    inputs : int
        d.
    design : {"random", "regular"}
        Inputs drawn anew and uniformly (Theorem 10), or the points of a Halton sequence, the same in every
        repeat (Theorem 13).
    seed : int
        Not negative; the same seed gives the same frame, and one size or learner more changes no other.

    Returns
    -------
    pandas.DataFrame
        One row for each learner and N: `learner`, `rows`, `regret` (mean over the repeats, in the response's
        unit), `standard_error` (of that mean; NaN with one repeat), `share` (regret over Δ = T(r_B): 0 is the
        best ranking, 1 a random one) and `bound` (of eq. 30 or 38, averaged in the same way).

    Raises
    ------
    OptionError
        If an option is out of range, a learner is unknown, or stochtree is not installed for BART.
    TableError
        If the scoring function does not give one finite number a row, or only one number.

    Notes
    -----
    Luo and Li (2024), Theorem 10 and Corollary 11 (CART: a complete tree of depth K, with K growing and
    2^K·log²N·log(Nd)/N → 0; here K = 1 + ⌊½·log2 N⌋) and Theorem 13 (BART: the posterior of T(r_B) − T(r_f)
    contracts to 0; its rate is printed with the α of the splitting probability where the Hölder exponent ν is
    meant). Rankings are of the fitted rows, as in the theorems, and tied scores count half. Theorem 13 fixes
    the number of trees and splits with probability α^depth; stochtree's prior, 0.95·(1 + depth)^−2, is
    Chipman, George and McCulloch's (2010). What one sees is that the regret falls, not how fast it must.

    Examples
    --------
    >>> found = measure_regret(["cart"], rows=[50, 800], repeats=3)
    >>> bool(found.regret[1] < found.regret[0] < found.bound[0])
    True
    """
    import pandas as pd

    _check_options(
        learners,
        rows,
        noise_variance,
        design,
        {"repeats": (repeats, 1), "inputs": (inputs, 1), "seed": (seed, 0)},
    )
    figures: dict[tuple[str, int], list[tuple[float, float, float]]] = {}
    for n in rows:
        for repeat in range(repeats):
            rng = np.random.default_rng([seed, n, repeat])
            x = _draw_inputs(n, inputs, design, rng)
            means = _compute_means(scoring, x)
            y = means + np.sqrt(noise_variance) * rng.standard_normal(n)
            best = compute_ranking_metric(rank_rows(means), means)  # T(r_B)
            for learner, fits in _fit_learners(learners, x, y, int(rng.integers(2**31))).items():
                regret = float(np.mean([compute_ranking_regret(fit, means) for fit in fits]))
                bound = float(np.mean([compute_regret_bound(fit, means) for fit in fits]))
                figures.setdefault((learner, n), []).append((regret, regret / best, bound))
    records = []
    for learner in learners:
        for n in rows:
            tried = np.array(figures[learner, n])
            error = tried[:, 0].std(ddof=1) / np.sqrt(repeats) if repeats > 1 else np.nan
            regret, share, bound = tried.mean(axis=0)
            records.append((learner, n, regret, error, share, bound))
    return pd.DataFrame(records, columns=["learner", "rows", "regret", "standard_error", "share", "bound"])


def _check_options(
    learners: Sequence[str],
    rows: Sequence[int],
    noise_variance: float,
    design: str,
    minimums: Mapping[str, tuple[int, int]],
) -> None:
    for name, given, known in (
        *(("learner", learner, get_args(Learner)) for learner in learners),
        ("design", design, get_args(InputDesign)),
    ):
        if given not in known:
            raise OptionError(f"no {name} is called {given!r}{suggest(str(given), known)}")
    for name, (value, at_least) in minimums.items():
        if value < at_least:
            raise OptionError(f"{name} is {value}; give at least {at_least}")
    if min(rows, default=_MIN_ROWS) < _MIN_ROWS:
        raise OptionError(f"{min(rows)} rows are too few to grow a tree on; give at least {_MIN_ROWS}")
    if not 0 <= noise_variance < np.inf:
        raise OptionError(f"the noise variance is {noise_variance}; give a number from 0 up")
    if not {"bart", "bart_draws"}.isdisjoint(learners) and find_spec("stochtree") is None:
        raise OptionError("the learner bart needs stochtree: pip install 'symscreen[bart]'")


def _draw_inputs(n_rows: int, n_inputs: int, design: str, rng: np.random.Generator) -> Values:
    if design == "random":
        return rng.random((n_rows, n_inputs))
    from scipy.stats import qmc

    return np.asarray(qmc.Halton(d=n_inputs, scramble=False).random(n_rows))


def _compute_means(scoring: ScoringFunction, x: Values) -> Values:
    means = np.asarray(scoring(x), dtype=np.float64)
    if means.shape != (len(x),) or not np.isfinite(means).all() or means.min() == means.max():
        raise DataError(
            f"the scoring function gives shape {means.shape} for {len(x)} rows, or no two finite numbers; "
            "it must give one finite number a row, and not one for all"
        )
    return means


def _fit_learners(learners: Sequence[str], x: Values, y: Values, seed: int) -> dict[str, list[Values]]:
    """Fit what was asked for; return the scores of the rows, one column for each scoring function."""
    fits = {}
    if "cart" in learners:
        fits["cart"] = [_fit_cart(x, y, seed)]
    if not {"bart", "bart_draws"}.isdisjoint(learners):
        draws = _fit_bart(x, y, seed)
        fits["bart"], fits["bart_draws"] = [draws.mean(axis=0)], list(draws)
    return fits


def _fit_cart(x: Values, y: Values, seed: int) -> Values:
    from sklearn.tree import DecisionTreeRegressor

    depth = 1 + int(np.log2(len(y)) / 2)  # 2^K is about 2√N leaves
    tree = DecisionTreeRegressor(max_depth=depth, random_state=seed).fit(x, y)
    return np.asarray(tree.predict(x), dtype=np.float64)


def _fit_bart(x: Values, y: Values, seed: int) -> Values:
    """Sample the posterior; return its draws at the rows, shape (draws, N)."""
    from stochtree import BARTModel

    model = BARTModel()
    model.sample(
        X_train=x,
        y_train=y,
        num_gfr=0,
        num_burnin=200,
        num_mcmc=100,
        general_params={"random_seed": seed, "num_threads": 1},
        mean_forest_params={"num_trees": 50},
    )
    return np.ascontiguousarray(np.asarray(model.y_hat_train, dtype=np.float64).T)

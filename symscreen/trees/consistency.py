"""Ranking regret of CART and BART as the number of rows grows (Luo and Li 2024, Theorems 10 and 13)."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from symscreen.errors import DataError, OptionError
from symscreen.messages import suggest
from symscreen.trees.decisions import (
    compute_ranking_metric,
    compute_ranking_regret,
    compute_regret_bound,
    rank_rows,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    from symscreen._typing import Values

    ScoringFunction = Callable[[Values], Values]


Learner = Literal["cart", "bart", "bart_draws"]
InputDesign = Literal["random", "regular"]

_MIN_ROWS = 10  # fewest rows to which the trees are fitted


def compute_sine_scores(inputs: Values) -> Values:
    """Compute the default scoring function of `measure_regret`: Σ_k sin(2π x_k + k).

    The function is additive, smooth and bounded.

    Parameters
    ----------
    inputs : float64 array, shape (N, d)
        Input values in [0, 1].

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
    """Measure the ranking regret T(r_B) − T(r) of trees fitted to growing numbers of rows.

    Parameters
    ----------
    learners : sequence of {"cart", "bart", "bart_draws"}
        "cart" is a regression tree whose depth grows with N. "bart" is the posterior mean of BART.
        "bart_draws" averages the regrets of the single posterior draws of BART.
    rows : sequence of int
        Numbers of rows N, each at least 10.
    repeats : int
        Number of tables drawn for each N, at least 1.
    noise_variance : float
        Variance σ² of the normal noise, in squared units of the target; at least 0.
    scoring : callable
        The Bayes scoring function f_B. It maps inputs of shape (N, d) in [0, 1] to N scores and is not
        constant.
    inputs : int
        Number of inputs d, at least 1.
    design : {"random", "regular"}
        "random" draws uniform inputs anew for each repeat (Theorem 10). "regular" uses the points of a Halton
        sequence, the same in every repeat (Theorem 13).
    seed : int
        Random seed, at least 0. Adding a size or a learner does not change the rows of the others.

    Returns
    -------
    pandas.DataFrame
        One row per learner and N with the columns `learner`, `rows`, `regret` (mean over the repeats, in
        units of the target), `standard_error` (of that mean; NaN for one repeat), `share` (regret divided by
        Δ = T(r_B): 0 for the best ranking, 1 for a random one) and `bound` (eq. 30 or 38, averaged in the
        same way).

    Raises
    ------
    OptionError
        If an option is out of range, a learner is unknown, or stochtree is not installed for BART.
    DataError
        If the scoring function does not return one finite number per row, or is constant.

    Notes
    -----
    Luo and Li (2024), Theorem 10 and Corollary 11, treat CART: a complete tree of depth K, where K grows and
    2^K·log²N·log(Nd)/N → 0. Here K = 1 + ⌊½·log2 N⌋. Theorem 13 treats BART: the posterior of T(r_B) − T(r_f)
    contracts to 0. The printed rate contains the α of the splitting probability in place of the Hölder
    exponent ν. As in the theorems, the fitted rows are ranked; tied scores count half. Theorem 13 fixes the
    number of trees and splits with probability α^depth; the prior of stochtree, 0.95·(1 + depth)^−2, is that
    of Chipman, George and McCulloch (2010). The simulation shows that the regret decreases; it does not
    verify the rate. `compute_cart_regret_tail` and `compute_bart_rate` compute the bounds.

    Examples
    --------
    >>> result = measure_regret(["cart"], rows=[50, 800], repeats=3)
    >>> bool(result.regret[1] < result.regret[0] < result.bound[0])
    True
    """
    import pandas as pd

    _check_names(learners, design)
    for name, number, minimum in (("repeats", repeats, 1), ("inputs", inputs, 1), ("seed", seed, 0)):
        if number < minimum:
            raise OptionError(f"{name} is {number}; give at least {minimum}")
    if min(rows, default=_MIN_ROWS) < _MIN_ROWS:
        raise OptionError(f"{min(rows)} rows are too few to grow a tree; give at least {_MIN_ROWS}")
    if not 0 <= noise_variance < np.inf:
        raise OptionError(f"the noise variance is {noise_variance}; give a finite number of at least 0")
    results: dict[tuple[str, int], list[tuple[float, float, float]]] = {}
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
                results.setdefault((learner, n), []).append((regret, regret / best, bound))
    records = []
    for learner in learners:
        for n in rows:
            repeat_results = np.array(results[learner, n])
            error = repeat_results[:, 0].std(ddof=1) / np.sqrt(repeats) if repeats > 1 else np.nan
            regret, share, bound = repeat_results.mean(axis=0)
            records.append((learner, n, regret, error, share, bound))
    return pd.DataFrame(records, columns=["learner", "rows", "regret", "standard_error", "share", "bound"])


def _check_names(learners: Sequence[str], design: str) -> None:
    """Raise `OptionError` for an unknown learner or design, or for BART without stochtree."""
    for name, value, known in (
        *(("learner", learner, get_args(Learner)) for learner in learners),
        ("design", design, get_args(InputDesign)),
    ):
        if value not in known:
            raise OptionError(f"unknown {name} {value!r}{suggest(str(value), known)}")
    if not {"bart", "bart_draws"}.isdisjoint(learners) and find_spec("stochtree") is None:
        raise OptionError("the learner bart needs stochtree: pip install 'symscreen[bart]'")


def _draw_inputs(n_rows: int, n_inputs: int, design: str, rng: np.random.Generator) -> Values:
    """Draw random inputs or take the first points of a Halton sequence, shape (n_rows, n_inputs)."""
    if design == "random":
        return rng.random((n_rows, n_inputs))
    from scipy.stats import qmc

    return np.asarray(qmc.Halton(d=n_inputs, scramble=False).random(n_rows))


def _compute_means(scoring: ScoringFunction, x: Values) -> Values:
    """Evaluate the scoring function at the rows of `x` and check the result, shape (N,)."""
    means = np.asarray(scoring(x), dtype=np.float64)
    if means.shape != (len(x),) or not np.isfinite(means).all() or means.min() == means.max():
        raise DataError(
            f"the scoring function returned shape {means.shape} for {len(x)} rows, values that are not "
            "finite, or a constant; it must return one finite number per row and must not be constant"
        )
    return means


def _fit_learners(learners: Sequence[str], x: Values, y: Values, seed: int) -> dict[str, list[Values]]:
    """Fit the requested learners; return for each a list of score vectors of shape (N,)."""
    fits = {}
    if "cart" in learners:
        fits["cart"] = [_fit_cart(x, y, seed)]
    if not {"bart", "bart_draws"}.isdisjoint(learners):
        draws = _fit_bart(x, y, seed)
        fits["bart"], fits["bart_draws"] = [draws.mean(axis=0)], list(draws)
    return fits


def _fit_cart(x: Values, y: Values, seed: int) -> Values:
    """Fit a regression tree; return its predictions for the rows, shape (N,)."""
    from sklearn.tree import DecisionTreeRegressor

    depth = 1 + int(np.log2(len(y)) / 2)  # 2^K is about 2√N leaves
    tree = DecisionTreeRegressor(max_depth=depth, random_state=seed).fit(x, y)
    return np.asarray(tree.predict(x), dtype=np.float64)


def _fit_bart(x: Values, y: Values, seed: int) -> Values:
    """Sample the BART posterior; return its draws at the rows, shape (draws, N)."""
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

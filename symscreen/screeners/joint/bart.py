"""BART: the splits of a Bayesian sum of trees on each feature (Chipman, George and McCulloch 2010).

Let p_j be the share of the splits on feature j (its inclusion), and p*_bj the same after the b-th permutation
of the target. A feature is selected if p_j exceeds

    Local        the (1 − α) quantile of its own p*_bj
    Global Max   the (1 − α) quantile of max_j p*_bj
    Global SE    m_j + C·s_j, mean and standard deviation of its p*_bj, with the smallest C such that in a
                 share 1 − α of the permutations p*_bj ≤ m_j + C·s_j for all j together

(Bleich, Kapelner, George and Jensen 2014, Ann. Appl. Stat. 8, 1750-1781, section 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from symscreen.errors import DataError, OptionError
from symscreen.screeners.base import JointScores, JointScreener, ScreenerOption, transform_to_ranks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.screeners.base import JointInput


InclusionRule = Literal["local", "gmax", "gse"]

_MIN_LEAF_ROWS = 5  # minimum rows of a leaf, as in bartMachine and stochtree
_STEPS_PER_FEATURE = 20  # tree updates per feature of a chain; with fewer its shares are noise
_MAX_CORE_TIME_S = 600.0
_MIN_PARALLEL_TIME_S = 4.0  # starting a process takes two seconds


def compute_split_shares(counts: NDArray[np.integer]) -> Values:
    """Convert the number of splits of each draw to shares.

    Parameters
    ----------
    counts : int array, shape (draws, q)
        Number of splits on each feature.

    Returns
    -------
    float64 array, shape (draws, q)
        Rows with sum 1, or 0 for a draw without splits.

    Examples
    --------
    >>> compute_split_shares(np.array([[3, 1], [0, 0]])).tolist()
    [[0.75, 0.25], [0.0, 0.0]]
    """
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))


def compute_credible_interval(draws: Values, level: float = 0.95) -> tuple[Values, Values]:
    """Compute the central posterior interval of each feature's share.

    Parameters
    ----------
    draws : float64 array, shape (draws, q)
        The shares of each draw, of all chains.
    level : float
        The probability of the interval, in (0, 1).

    Returns
    -------
    low, high : float64 arrays, shape (q,)

    Examples
    --------
    >>> low, high = compute_credible_interval(np.linspace(0, 1, 101)[:, None])
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (0.025, 0.975)
    """
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


def compute_thresholds(permuted_shares: Values, rule: InclusionRule, alpha: float) -> Values:
    """Compute the threshold that each feature's inclusion must exceed.

    Parameters
    ----------
    permuted_shares : float64 array, shape (b, q)
        Inclusion after b permutations of the target; b ≥ 2.
    rule : {"local", "gmax", "gse"}
        The rule.
    alpha : float
        The level α, in (0, 1).

    Returns
    -------
    float64 array, shape (q,)
        Quantiles are order statistics: at most a share α of the permutations exceeds them.

    Examples
    --------
    >>> permuted = np.array([[0.1, 0.9], [0.2, 0.8], [0.3, 0.7], [0.4, 0.6]])
    >>> compute_thresholds(permuted, "local", alpha=0.25).tolist(), compute_thresholds(permuted, "gmax",
    ...     alpha=0.25).tolist()
    ([0.3, 0.8], [0.8, 0.8])
    """
    if rule == "local":
        return _compute_quantile(permuted_shares, alpha)
    if rule == "gmax":
        return np.full(permuted_shares.shape[1], _compute_quantile(permuted_shares.max(axis=1), alpha))
    mean, spread = permuted_shares.mean(axis=0), permuted_shares.std(axis=0, ddof=1)
    # A feature with a constant share is within the bound for any C.
    z_scores = np.where(spread > 0, (permuted_shares - mean) / np.where(spread > 0, spread, 1.0), 0.0)
    return np.asarray(mean + _compute_quantile(z_scores.max(axis=1), alpha) * spread)


def _compute_quantile(values: Values, alpha: float) -> Values:
    """Compute the (1 − α) quantile over the permutations as an order statistic."""
    return np.asarray(np.quantile(values, 1.0 - alpha, axis=0, method="inverted_cdf"))


def compute_chain_agreement(means: Values) -> float | None:
    """Compute the agreement of chains with different seeds.

    Parameters
    ----------
    means : float64 array, shape (chains, q)
        The inclusion of each chain.

    Returns
    -------
    float or None
        The mean correlation of two chains; None if it is undefined.

    Examples
    --------
    >>> compute_chain_agreement(np.array([[0.1, 0.3, 0.6], [0.2, 0.3, 0.5]])) > 0.99
    True
    """
    if min(means.shape) < 2 or (np.ptp(means, axis=1) == 0).any():
        return None
    centered = means - means.mean(axis=1, keepdims=True)
    unit = centered / np.sqrt((centered * centered).sum(axis=1, keepdims=True))
    pairs = np.triu_indices(len(means), 1)
    return float((unit[pairs[0]] * unit[pairs[1]]).sum(axis=1).mean())


@dataclass(frozen=True, eq=False)
class _Chain:
    """One run of the sampler.

    Parameters
    ----------
    target : float64 array, shape (n,)
        The target, possibly permuted.
    seed : int
        The seed of the sampler.
    keep_draws : bool
        Whether to return the shares of every draw instead of their mean.
    """

    target: Values
    seed: int
    keep_draws: bool


def sample_inclusion(inputs: JointInput, settings: Mapping[str, Any]) -> tuple[list[Values], Values]:
    """Sample the inclusion of features with the target and with permutations of it.

    Parameters
    ----------
    inputs : JointInput
        Features and target; n ≥ 3.
    settings : mapping
        All settings of `BART`; with the rule "none" nothing is permuted.

    Returns
    -------
    replicates : list of float64 array, shape (draws, q)
        For each replicate, the share of the splits on each feature in every draw.
    permuted : float64 array, shape (permutations, q)
        The mean share on each feature under each permutation.

    Raises
    ------
    OptionError
        If stochtree is not installed.
    DataError
        If there are fewer than three rows.
    """
    n = inputs.values.shape[1]
    if find_spec("stochtree") is None:
        raise OptionError("the screener bart needs stochtree: pip install 'symscreen[bart]'")
    if n < 3:
        raise DataError(f"bart needs at least 3 rows to split, and the table has {n}; remove bart")
    # stochtree ignores the largest value of a node if it comes first, and features that only fall. Rows
    # sorted by the target would let this depend on the target, so they are shuffled.
    rows = _make_generator(inputs.seed, 0).permutation(n)
    centered, _ = inputs.numeric_target.centered_values
    target = centered[inputs.numeric_target.tie_groups][rows]
    shares = _sample_chains(
        transform_to_ranks(inputs.values)[rows],
        _plan_chains(target, inputs.seed, settings),
        settings,
        inputs.jobs,
    )
    replicates, permuted = shares[: settings["replicates"]], shares[settings["replicates"] :]
    return replicates, np.concatenate(permuted) if permuted else np.empty((0, len(inputs.values)))


def _score_features(inputs: JointInput, settings: Mapping[str, Any]) -> JointScores:
    """Score features by their mean inclusion over the replicates; select by the rule."""
    q = len(inputs.values)
    replicates, permuted = sample_inclusion(inputs, settings)
    means = np.array([shares.mean(axis=0) for shares in replicates])
    inclusion = means.mean(axis=0)
    low, high = compute_credible_interval(np.concatenate(replicates))
    columns = {"bart_low": low, "bart_high": high}
    selected = np.zeros(q, dtype=np.bool_)
    if len(permuted):
        columns["bart_threshold"] = compute_thresholds(permuted, settings["rule"], settings["alpha"])
        selected = inclusion > columns["bart_threshold"]
    return JointScores(
        score=inclusion,
        loss=np.round(1.0 - inclusion, 9),
        selected=selected,
        direction=np.zeros(q, dtype=np.int8),
        columns=columns,
        record={
            "rule": settings["rule"],
            "selected": int(selected.sum()),
            "replicate_agreement": compute_chain_agreement(means),
            "warnings": [] if q > 1 else ["all splits are on one feature: inclusion is uninformative"],
        },
    )


def _make_generator(seed: int, *spawn_key: int) -> np.random.Generator:
    """Create an independent generator for each key."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=spawn_key))


def _plan_chains(target: Values, seed: int, settings: Mapping[str, Any]) -> list[_Chain]:
    """Plan replicates and permutations, each with its own seed, so that their numbers are independent."""
    replicates = [
        _Chain(target, _draw_sampler_seed(_make_generator(seed, 1, i)), keep_draws=True)
        for i in range(settings["replicates"])
    ]
    permuted = []
    for i in range(0 if settings["rule"] == "none" else settings["permutations"]):
        rng = _make_generator(seed, 2, i)
        permuted.append(_Chain(rng.permutation(target), _draw_sampler_seed(rng), keep_draws=False))
    return replicates + permuted


def _draw_sampler_seed(rng: np.random.Generator) -> int:
    """Draw a seed for stochtree, which accepts non-negative 32-bit integers."""
    return int(rng.integers(2**31))


def _sample_chains(
    design: Values, chains: Sequence[_Chain], settings: Mapping[str, Any], jobs: int
) -> list[Values]:
    """Run all chains, in processes if they take long enough: the sampler holds the interpreter's lock.

    Returns
    -------
    list of float64 array, shape (draws, q) or (1, q)
        The result of `_sample_chain` for each chain.
    """
    n, q = design.shape
    jobs = min(jobs, len(chains))
    if jobs < 2 or len(chains) * _estimate_chain_seconds(n, q, settings) < _MIN_PARALLEL_TIME_S:
        return _run_chains(design, chains, settings)
    import joblib

    # These processes import only this module, and are reused by the next call.
    parts = joblib.Parallel(n_jobs=jobs, max_nbytes=None)(
        joblib.delayed(_run_chains)(design, chains[first::jobs], settings) for first in range(jobs)
    )
    return [parts[i % jobs][i // jobs] for i in range(len(chains))]


def _run_chains(design: Values, chains: Sequence[_Chain], settings: Mapping[str, Any]) -> list[Values]:
    """Run some chains in this process."""
    return [_sample_chain(design, chain, settings) for chain in chains]


def _sample_chain(design: Values, chain: _Chain, settings: Mapping[str, Any]) -> Values:
    """Run one chain; return the shares of the splits, shape (draws, q), or their mean, shape (1, q)."""
    from stochtree import BARTModel

    n, q = design.shape
    model = BARTModel()
    model.sample(
        X_train=design,
        y_train=chain.target,
        num_gfr=0,
        num_burnin=settings["burn"],
        num_mcmc=settings["draws"],
        general_params={"random_seed": chain.seed, "num_threads": 1},
        mean_forest_params={
            "num_trees": settings["trees"],
            "max_depth": settings["depth"],
            "min_samples_leaf": min(_MIN_LEAF_ROWS, (n - 1) // 2),
        },
    )
    forests = model.forest_container_mean
    shares = compute_split_shares(
        np.array([forests.get_forest_split_counts(i, q) for i in range(settings["draws"])])
    )
    return shares if chain.keep_draws else shares.mean(axis=0, keepdims=True)


def _count_chains(settings: Mapping[str, Any]) -> int:
    """Count the replicates and permutations."""
    return int(settings["replicates"] + (0 if settings["rule"] == "none" else settings["permutations"]))


def _estimate_chain_seconds(n_rows: int, n_features: int, settings: Mapping[str, Any]) -> float:
    """Estimate the time of one chain; fitted to 100 to 10,000 rows and 24 to 1000 features."""
    steps = settings["trees"] * (settings["burn"] + settings["draws"])
    return float(1e-6 * steps * (1 + n_rows / 40 + n_features / 200))


def _estimate_capacity(n_rows: int, settings: Mapping[str, Any]) -> int:
    """Estimate the number of features that take `_MAX_CORE_TIME_S` on one core."""
    steps = settings["trees"] * (settings["burn"] + settings["draws"])
    in_time = 200 * (_MAX_CORE_TIME_S * 1e6 / (steps * _count_chains(settings)) - 1 - n_rows / 40)
    return int(np.clip(in_time, 50, max(50, steps // _STEPS_PER_FEATURE)))


BART = JointScreener(
    name="bart",
    score_function=_score_features,
    capacity=_estimate_capacity,
    equivalence="ranks",
    options=(
        ScreenerOption(
            "rule",
            "gse",
            "threshold of the inclusion: a feature's own permutations (local), the largest of all (gmax), or "
            "standard errors that cover all together (gse; Bleich et al. 2014); none only ranks",
            choices=("local", "gmax", "gse", "none"),
        ),
        ScreenerOption("alpha", 0.05, "level of the rule", min_value=0.001, max_value=0.5),
        ScreenerOption("permutations", 50, "number of permutations of the target for the rule", min_value=10),
        ScreenerOption("replicates", 20, "number of fits with different seeds to average", min_value=1),
        ScreenerOption(
            "trees",
            20,
            "number of trees in the sum; few, so that features compete",
            min_value=1,
            max_value=1000,
        ),
        ScreenerOption(
            "depth",
            1,
            "maximum depth of a tree, in splits; 1 scores features independently of interactions, which are "
            "features themselves, and 10 is the default for pruning, when they are not yet features",
            min_value=1,
            max_value=20,
        ),
        ScreenerOption("burn", 2000, "number of discarded draws", min_value=0),
        ScreenerOption("draws", 500, "number of draws", min_value=10),
    ),
    requirement=("stochtree", "bart"),
    pruning_defaults={"rule": "local", "depth": 10, "burn": 500, "replicates": 5},
    summary="share of the splits on the feature in a Bayesian sum of trees",
    assumes="the target is a sum of functions of few of the features, of any shape, plus normal noise",
    fails="near copies share their inclusion; features that act only in interactions need depth=3 or more",
    cost="0.2 s per fit of 100 rows, proportional to rows; 20 fits, 50 more for a rule, shared by the jobs",
    source="Chipman, George and McCulloch 2010; Bleich, Kapelner, George and Jensen 2014; stochtree",
)

"""BART: how often a sum of trees splits on each feature (Chipman, George and McCulloch 2010)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError
from symscreen.screeners.inclusion import thresholds
from symscreen.screeners.joint import JointScreener, Option, Verdict
from symscreen.statistics.order import order_features

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.screeners.joint import Shown

    Values = NDArray[np.float64]

__all__ = ["BART"]

_CREDIBLE = 0.95


@dataclass(frozen=True, eq=False)
class _Chain:
    """One sampler's work: the response it sees, and the seed of its randomness."""

    target: Values
    seed: int


def _judge(shown: Shown, settings: Mapping[str, Any]) -> Verdict:
    q, n = shown.values.shape
    if n < 3:
        raise OptionError(f"bart needs at least 3 rows; the table has {n}")
    seeds = np.random.SeedSequence(shown.seed).spawn(3)
    target = np.array(shown.response.values)
    fits = [_Chain(target, seed) for seed in _integers(seeds[0], settings["replicates"])]
    rule = settings["rule"]
    if rule != "none":
        shuffle = np.random.default_rng(seeds[1])
        null = _integers(seeds[2], settings["permutations"])
        fits += [_Chain(shuffle.permutation(target), seed) for seed in null]
    draws = _sampled(_design(shown), fits, settings, shown.jobs)
    own = np.concatenate(draws[: settings["replicates"]])
    inclusion = own.mean(axis=0)
    low, high = np.quantile(own, [(1 - _CREDIBLE) / 2, (1 + _CREDIBLE) / 2], axis=0)
    columns = {"bart_low": low, "bart_high": high}
    selected = np.zeros(q, dtype=np.bool_)
    if rule != "none":
        permuted = np.array([each.mean(axis=0) for each in draws[settings["replicates"] :]])
        columns["bart_threshold"] = thresholds(permuted, rule, settings["alpha"])
        selected = inclusion > columns["bart_threshold"]
    return Verdict(
        score=inclusion,
        loss=np.round(1.0 - inclusion, 9),
        selected=selected,
        direction=np.zeros(q, dtype=np.int8),
        columns=columns,
        record={
            "rule": rule,
            "selected": int(selected.sum()),
            "replicate_agreement": _agreement(draws[: settings["replicates"]]),
            "warnings": [],
        },
    )


def _integers(seed: np.random.SeedSequence, count: int) -> list[int]:
    return [int(state) for state in seed.generate_state(count) >> 1]  # the sampler takes a signed 32-bit seed


def _design(shown: Shown) -> Values:
    """Return the mid-ranks of the features, shape (n, q): members of a rank class are one and the same."""
    return np.ascontiguousarray(order_features(shown.values).doubled_ranks.T / 2.0)


def _sampled(design: Values, fits: Sequence[_Chain], settings: Mapping[str, Any], jobs: int) -> list[Values]:
    """Fit each chain; the sampler releases the interpreter's lock, so that threads are enough.

    Returns
    -------
    list of float64 array, shape (draws, q)
        The share of the splits on each feature, draw by draw; zeros in a draw without splits.
    """
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as threads:
        return list(threads.map(lambda chain: _inclusion(design, chain, settings), fits))


def _inclusion(design: Values, chain: _Chain, settings: Mapping[str, Any]) -> Values:
    try:
        from stochtree import BARTModel
    except ImportError:
        raise OptionError("the screener bart needs stochtree: pip install 'symscreen[bart]'") from None

    model = BARTModel()
    spread = float(np.abs(chain.target - chain.target.mean()).max())
    model.sample(
        X_train=design,
        y_train=(chain.target - chain.target.mean()) / spread,
        num_gfr=0,
        num_burnin=settings["burn"],
        num_mcmc=settings["draws"],
        general_params={"random_seed": chain.seed, "num_threads": 1},
        mean_forest_params={"num_trees": settings["trees"], "max_depth": settings["depth"]},
    )
    q = design.shape[1]
    forests = model.forest_container_mean
    counts = np.array(
        [forests.get_forest_split_counts(draw, q) for draw in range(settings["draws"])], dtype=np.float64
    )
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)


def _agreement(replicates: Sequence[Values]) -> float | None:
    """Return the mean correlation of inclusion between replicates, where there are several."""
    means = np.array([each.mean(axis=0) for each in replicates])
    if len(means) < 2 or means.shape[1] < 2 or (np.ptp(means, axis=1) == 0).any():
        return None
    return float(np.corrcoef(means)[np.triu_indices(len(means), 1)].mean())


def _capacity(rows: int, settings: Mapping[str, Any]) -> int:
    del settings
    # a draw costs in proportion to rows and hardly to features; counting splits does to features
    return max(100, 1_000_000 // max(rows, 1000))


BART = JointScreener(
    name="bart",
    judge=_judge,
    capacity=_capacity,
    blind_to="ranks",
    options=(
        Option(
            "rule",
            "gse",
            "which inclusion is more than chance: a feature's own permutations, the largest of all, or "
            "standard errors that cover all together (Bleich et al. 2014); none only ranks",
            choices=("local", "gmax", "gse", "none"),
        ),
        Option("alpha", 0.05, "the rule's level", least=0.001, most=0.5),
        Option("permutations", 50, "permutations of the response for the rule", least=10),
        Option("replicates", 10, "fits from other seeds whose inclusion is averaged", least=1),
        Option("trees", 20, "trees in the sum; few, so that features compete", least=1, most=1000),
        Option(
            "depth",
            1,
            "splits from root to leaf, at most; with 1 each feature speaks for itself, for interactions are "
            "features already",
            least=1,
            most=20,
        ),
        Option("burn", 2000, "draws thrown away", least=0),
        Option("draws", 500, "draws kept", least=10),
    ),
    needs=("stochtree", "bart"),
    summary="share of the splits of a Bayesian sum of trees that are on the feature",
    assumes="the response is a function of few of the features shown, of any shape, plus normal noise",
    fails="near copies share their inclusion; with little noise left it splits on whatever is near the truth",
    cost="a quarter of a second a fit of 100 rows; the rules take 50 fits more, shared by the threads",
    source="Chipman, George and McCulloch 2010; Bleich, Kapelner, George and Jensen 2014; stochtree",
)

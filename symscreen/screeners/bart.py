"""BART: how often a Bayesian sum of trees splits on each feature (Chipman, George and McCulloch 2010)."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError, TableError
from symscreen.screeners.inclusion import agreement, credible_interval, shares, thresholds
from symscreen.screeners.joint import JointScreener, Option, Verdict
from symscreen.screeners.rank_view import rank_view

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.screeners.joint import Shown

    Values = NDArray[np.float64]

__all__ = ["BART", "sample_inclusion"]

_LEAF = 5  # rows in a leaf at least, as bartMachine and stochtree have it
_PROPOSED = 20  # a chain proposes splits on each feature about half as often, or its shares are noise
_PATIENCE = 600.0  # seconds of one core
_WORTH_PROCESSES = 4.0  # seconds of one core; to start a process takes two


@dataclass(frozen=True, eq=False)
class _Chain:
    """One run of the sampler.

    Parameters
    ----------
    target : float64 array, shape (n,)
        The response that it sees.
    seed : int
        Of its randomness.
    every_draw : bool
        Whether the shares of every draw are wanted, or their mean only.
    """

    target: Values
    seed: int
    every_draw: bool


def sample_inclusion(shown: Shown, settings: Mapping[str, Any]) -> tuple[list[Values], Values]:
    """Sample which features a sum of trees splits on, with the response and with permutations of it.

    Parameters
    ----------
    shown : Shown
        Features and response; n ≥ 3.
    settings : mapping
        All settings of `BART`; without a rule nothing is permuted.

    Returns
    -------
    own : list of float64 array, shape (draws, q)
        For each replicate, the share of the splits on each feature, draw by draw.
    permuted : float64 array, shape (permutations, q)
        The mean share on each feature under each permutation.

    Raises
    ------
    OptionError
        If stochtree is not installed.
    TableError
        If there are fewer than three rows.
    """
    n = shown.values.shape[1]
    if find_spec("stochtree") is None:
        raise OptionError("the screener bart needs stochtree: pip install 'symscreen[bart]'")
    if n < 3:
        raise TableError(f"bart needs at least 3 rows to split, and the table has {n}; leave bart out")
    # stochtree passes over the largest value in a node where it comes first, and over a feature that only
    # falls: rows in the order of the response would make that a matter of the response
    rows = _generator(shown.seed, 0).permutation(n)
    groups, _ = shown.numeric.centred
    target = groups[shown.numeric.group][rows]
    drawn = _sampled(
        rank_view(shown.values)[rows], _chains(target, shown.seed, settings), settings, shown.jobs
    )
    own, permuted = drawn[: settings["replicates"]], drawn[settings["replicates"] :]
    return own, np.concatenate(permuted) if permuted else np.empty((0, len(shown.values)))


def _judge(shown: Shown, settings: Mapping[str, Any]) -> Verdict:
    q = len(shown.values)
    own, permuted = sample_inclusion(shown, settings)
    means = np.array([each.mean(axis=0) for each in own])
    inclusion = means.mean(axis=0)
    low, high = credible_interval(np.concatenate(own))
    columns = {"bart_low": low, "bart_high": high}
    selected = np.zeros(q, dtype=np.bool_)
    if len(permuted):
        columns["bart_threshold"] = thresholds(permuted, settings["rule"], settings["alpha"])
        selected = inclusion > columns["bart_threshold"]
    return Verdict(
        score=inclusion,
        loss=np.round(1.0 - inclusion, 9),
        selected=selected,
        direction=np.zeros(q, dtype=np.int8),
        columns=columns,
        record={
            "rule": settings["rule"],
            "selected": int(selected.sum()),
            "replicate_agreement": agreement(means),
            "warnings": [] if q > 1 else ["all splits are on the one feature shown: inclusion says nothing"],
        },
    )


def _generator(seed: int, *place: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=place))


def _chains(target: Values, seed: int, settings: Mapping[str, Any]) -> list[_Chain]:
    """Plan the replicates, then the permutations, each of its own seed: more of one leaves the other be."""
    own = [
        _Chain(target, _sampler_seed(_generator(seed, 1, place)), every_draw=True)
        for place in range(settings["replicates"])
    ]
    permuted = []
    for place in range(0 if settings["rule"] == "none" else settings["permutations"]):
        rng = _generator(seed, 2, place)
        permuted.append(_Chain(rng.permutation(target), _sampler_seed(rng), every_draw=False))
    return own + permuted


def _sampler_seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))  # stochtree takes a 32-bit integer, and a negative one as none


def _sampled(
    design: Values, chains: Sequence[_Chain], settings: Mapping[str, Any], jobs: int
) -> list[Values]:
    """Run all chains, in processes where worth their start: the sampler holds the interpreter's lock.

    Returns
    -------
    list of float64 array, shape (draws, q) or (1, q)
        What `_inclusion` returns, chain by chain.
    """
    n, q = design.shape
    jobs = min(jobs, len(chains))
    if jobs < 2 or len(chains) * _seconds(n, q, settings) < _WORTH_PROCESSES:
        return _run(design, chains, settings)
    import joblib

    # these processes import this module and nothing of the caller's, and stay for the next call
    parts = joblib.Parallel(n_jobs=jobs, max_nbytes=None)(
        joblib.delayed(_run)(design, chains[first::jobs], settings) for first in range(jobs)
    )
    return [parts[place % jobs][place // jobs] for place in range(len(chains))]


def _run(design: Values, chains: Sequence[_Chain], settings: Mapping[str, Any]) -> list[Values]:
    return [_inclusion(design, chain, settings) for chain in chains]


def _inclusion(design: Values, chain: _Chain, settings: Mapping[str, Any]) -> Values:
    """Sample once; return the share of the splits on each feature, draw by draw or on average."""
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
            "min_samples_leaf": min(_LEAF, (n - 1) // 2),
        },
    )
    forests = model.forest_container_mean
    drawn = shares(np.array([forests.get_forest_split_counts(i, q) for i in range(settings["draws"])]))
    return drawn if chain.every_draw else drawn.mean(axis=0, keepdims=True)


def _fits(settings: Mapping[str, Any]) -> int:
    return int(settings["replicates"] + (0 if settings["rule"] == "none" else settings["permutations"]))


def _seconds(rows: int, features: int, settings: Mapping[str, Any]) -> float:
    """Estimate the time of one chain: measured at 100 to 10,000 rows and 24 to 1000 features."""
    steps = settings["trees"] * (settings["burn"] + settings["draws"])
    return float(1e-6 * steps * (1 + rows / 40 + features / 200))


def _capacity(rows: int, settings: Mapping[str, Any]) -> int:
    steps = settings["trees"] * (settings["burn"] + settings["draws"])
    in_time = 200 * (_PATIENCE * 1e6 / (steps * _fits(settings)) - 1 - rows / 40)
    return int(np.clip(in_time, 50, max(50, steps // _PROPOSED)))


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
        Option("replicates", 20, "fits from other seeds whose inclusion is averaged", least=1),
        Option("trees", 20, "trees in the sum; few, so that features compete", least=1, most=1000),
        Option(
            "depth",
            1,
            "most splits from root to leaf; with 1 each feature speaks for itself, for interactions are "
            "features already, and 10 where it cuts, for there they are still to come",
            least=1,
            most=20,
        ),
        Option("burn", 2000, "draws thrown away", least=0),
        Option("draws", 500, "draws kept", least=10),
    ),
    needs=("stochtree", "bart"),
    to_cut={"rule": "local", "depth": 10, "burn": 500, "replicates": 5},
    summary="share of the splits of a Bayesian sum of trees that are on the feature",
    assumes="the response is a sum of few of the features shown, each of any shape, plus normal noise",
    fails="near copies share their inclusion; what acts only together with another needs depth=3 or more",
    cost="0.2 s a fit of 100 rows, in proportion to rows; 20 fits, for a rule 50 more, shared by the jobs",
    source="Chipman, George and McCulloch 2010; Bleich, Kapelner, George and Jensen 2014; stochtree",
)

"""What noise does to label ranking: Fotakis and others (2022), figures 1 and 2.

The text gives every label ten informative features. The published set of the family SFN has five, which all
labels share, and its Mallows noise moves lists of labels, not positions: both are tried, for what the figures
show depends on them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from symscreen.backends import Threads, available_cores
from symscreen.experiments.base import Experiment, Outcome, Settings
from symscreen.experiments.lr_noise_pictures import draw_levels
from symscreen.experiments.lr_noise_published import published_sets
from symscreen.experiments.lr_noise_sets import DEVIATIONS, SPREADS, noisy_sets
from symscreen.experiments.repeated_folds import RankedSet, cross_validated
from symscreen.ranking import HonestForest, LabelwiseRegressor
from symscreen.ranking.generators import lfn, sfn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from symscreen.experiments.lr_noise_sets import NoisySet
    from symscreen.experiments.repeated_folds import Learner
    from symscreen.ranking.generators import Oracle

    Values = NDArray[np.float64]

__all__ = ["EXPERIMENT", "LEARNERS", "run"]

_FAMILIES: dict[
    str, Callable[[np.random.Generator], Oracle]
] = {  # ten features a label, as the text says, or five for all, as the published set has
    "SFN": sfn,
    "LFN": lfn,
    "SFN published": partial(sfn, as_published=True),
    "LFN published": partial(lfn, as_published=True),
}
_ROWS, _FOLDS, _REPEATS = 10_000, 10, 5
_SHALLOW, _TREES = 5, 50


@dataclass(frozen=True)
class _Plan:
    families: tuple[str, ...] = tuple(_FAMILIES)
    rows: int = _ROWS
    deviations: tuple[float, ...] = DEVIATIONS
    spreads: tuple[float, ...] = SPREADS
    folds: int = _FOLDS
    repeats: int = _REPEATS
    trees: int = _TREES


_QUICK = _Plan(("SFN", "SFN published"), 400, (0.02,), (1.0,), 2, 1, 5)


def _tree(seed: int, depth: int | None) -> Any:
    from sklearn.tree import DecisionTreeRegressor

    return LabelwiseRegressor(DecisionTreeRegressor(max_depth=depth, random_state=seed))


def _forest(seed: int, trees: int) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return LabelwiseRegressor(RandomForestRegressor(n_estimators=trees, random_state=seed))


def _honest_forest(seed: int, trees: int) -> Any:
    return HonestForest(base="breiman", n_estimators=trees, random_state=seed)


LEARNERS = ("shallow", "full", "forests", "honest")


def _learners(trees: int) -> Mapping[str, Learner]:
    makers = (
        partial(_tree, depth=_SHALLOW),
        partial(_tree, depth=None),
        partial(_forest, trees=trees),
        partial(_honest_forest, trees=trees),
    )
    return dict(zip(LEARNERS, makers, strict=True))


def run(settings: Settings) -> Outcome:
    """Train on noisy rankings, and compare predictions with the noiseless ones.

    Parameters
    ----------
    settings : Settings
        `repeats` of ten folds, 5 by default. `data`: a folder with the published sets of the family SFN, to
        be measured, not trained on. The quick size has two families,
        400 rows, one level of each noise, two folds once, and 5 trees.

    Returns
    -------
    Outcome
        ``beside``: by figure, family and operator the mean coefficient of each learner (shallow trees, full
        trees, forests, honest forests), and β. ``summary``: the same one by one, with the coefficient of
        order lists and the mean ratio to β. ``sets``: for every set, with α and β, of rank vectors and of
        order lists. ``published_sets``, where data are given: whether the published Mallows sets follow that
        model in the distance of rank vectors, or of order lists. A picture for each figure and family.
    """
    from threadpoolctl import threadpool_limits

    plan = _QUICK if settings.quick else _Plan()
    repeats, learners = settings.repeats or plan.repeats, _learners(plan.trees)
    total = len(plan.families) * (len(plan.deviations) + 3 * len(plan.spreads))
    rows: list[dict[str, Any]] = []
    with threadpool_limits(1):
        backend = Threads(settings.jobs or available_cores())
        for done, (family, x, truth, noisy) in enumerate(_drawn(plan, settings.seed)):
            found = cross_validated(
                RankedSet(x, noisy.ranks, truth),
                learners,
                folds=plan.folds,
                repeats=repeats,
                seed=settings.seed,
                backend=backend,
            )
            rows += [_cell(family, noisy) | {"learner": name} | asdict(one) for name, one in found.items()]
            settings.step(done + 1, total)
    sets = pd.DataFrame(rows)
    tables = {"beside": _beside(sets), "summary": _summary(sets), "sets": sets}
    if settings.data is not None:
        tables["published_sets"] = published_sets(settings.data)
    pictures = {
        f"figure{figure}-{family.lower().replace(' ', '-')}": partial(draw_levels, sets, figure, family)
        for figure, family in product((1, 2), plan.families)
    }
    return Outcome(tables, pictures, _remarks(tables))


def _drawn(plan: _Plan, seed: int) -> Iterator[tuple[str, Values, Values, NoisySet]]:
    """Go through the noisy sets of all families; a family has one score function and one table of inputs."""
    for number, name in enumerate(plan.families):
        rng = np.random.default_rng([seed, 0, number])
        oracle = _FAMILIES[name](rng)
        x = oracle.inputs(plan.rows, rng)
        for noisy in noisy_sets(oracle, x, plan.deviations, plan.spreads, seed + 1000 * number):
            yield name, x, oracle.truth(x), noisy


def _cell(family: str, noisy: NoisySet) -> dict[str, Any]:
    return {
        "figure": noisy.figure,
        "family": family,
        "operator": noisy.operator,
        "parameter": noisy.parameter,
        "alpha": noisy.alpha,
        "beta": noisy.beta,
        "order_list_beta": noisy.order_list_beta,
    }


def _beside(sets: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for key, own in sets.groupby(["figure", "family", "operator"], sort=False):
        row = dict(zip(("figure", "family", "operator"), key, strict=True)) | {"beta": own["beta"].mean()}
        rows.append(row | {name: own.loc[own["learner"] == name, "tau"].mean() for name in LEARNERS})
    return pd.DataFrame(rows)


def _summary(sets: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for key, own in sets.groupby(["figure", "family", "operator", "learner"], sort=False):
        row = dict(zip(("figure", "family", "operator", "learner"), key, strict=True))
        row |= {"sets": len(own), "alpha": own["alpha"].mean(), "beta": own["beta"].mean()}
        row |= {"tau": own["tau"].mean(), "order_list_tau": own["order_list_tau"].mean()}
        rows.append(row | {"tau_to_beta": (own["tau"] / own["beta"]).mean()})
    return pd.DataFrame(rows)


def _remarks(tables: dict[str, pd.DataFrame]) -> tuple[str, ...]:
    """Test what the text says of the figures, which are curves without numbers."""
    sets = tables["sets"]
    reading = (
        "The figures are curves without numbers; what the text says of them is tested. All is trained on "
        "noisy rankings and judged on the noiseless ones."
    )
    remarks = [reading]
    remarks += [_first_figure(str(family), own) for family, own in sets.groupby("family", sort=False)]
    remarks += [_second_figure(str(family), own) for family, own in sets.groupby("family", sort=False)]
    if "published_sets" in tables:
        remarks.append(_of_published(tables["published_sets"]))
    return tuple(remarks)


def _first_figure(family: str, sets: pd.DataFrame) -> str:
    own = sets[sets["figure"] == 1]
    found = [
        f"{name} {cell['tau'].mean():.3f} and {(cell['tau'] / cell['beta']).mean():.3f}"
        for name, cell in own.groupby("learner", sort=False)
    ]
    return (
        f"Figure 1, {family}: in the paper full trees fit the noise (τ/β about 1), while shallow trees and "
        f"forests stay near τ = 1. Mean τ and τ/β here: {', '.join(found)}."
    )


def _second_figure(family: str, sets: pd.DataFrame) -> str:
    own = sets[sets["figure"] == 2]
    means = own.pivot_table("tau", "learner", "operator", sort=False)
    beta = {kind: cell["beta"].mean() for kind, cell in own.groupby("operator")}
    listed = {kind: cell["order_list_beta"].mean() for kind, cell in own.groupby("operator")}
    told = []
    for kind in ("mallows", "order-list mallows"):
        behind = int((means[kind] < means["gaussian"]).sum())
        told.append(
            f"{kind} noise is worse for {behind} of {len(means)} learners, its mean β being {beta[kind]:.3f} "
            f"in rank vectors and {listed[kind]:.3f} in order lists"
        )
    return (
        f"Figure 2, {family}: in the paper Mallows noise is worse than Gaussian of the same α, though its β "
        f"is higher. Here {'; '.join(told)}; Gaussian noise has {beta['gaussian']:.3f} and "
        f"{listed['gaussian']:.3f}."
    )


def _of_published(sets: pd.DataFrame) -> str:
    ranks, lists = (
        float((sets[kind] - sets["expected_distance"]).abs().max())
        for kind in ("rank_distance", "order_list_distance")
    )
    nearer = "order lists" if lists < ranks else "rank vectors"
    return (
        f"The {len(sets)} published Mallows sets: their mean distance from the noiseless rankings is at most "
        f"{ranks:.2f} from the model's in rank vectors, and {lists:.2f} in order lists; they were drawn in "
        f"{nearer}. What is exchanged then are labels with neighbouring numbers, wherever they stand."
    )


EXPERIMENT = Experiment(
    name="lr-noise",
    title="Label ranking from noisy rankings: shallow and full trees, forests, honest forests",
    source="Fotakis, Kalavasis and Psaroudaki 2022, figures 1 and 2",
    run=run,
    takes=("repeats", "data"),
)

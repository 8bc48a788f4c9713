"""The noisy sets of Fotakis and others (2022), figures 1 and 2: scores disturbed, or rankings disturbed.

Figure 1 adds Gaussian noise, truncated to ±1/4, of fifty deviations. Figure 2 sets the Mallows model, whose
center is the noiseless ranking, beside Gaussian noise of the same α. The deviations of figure 1, i/2000, are
those of the authors' published code.

The published Mallows sets of Fotakis and others (2022), measured: what distance they were drawn in.

Figures 1 and 2 of Fotakis and others (2022): coefficients against the level of noise.

What noise does to label ranking: Fotakis and others (2022), figures 1 and 2.

The text gives every label ten informative features. The published set of the family SFN has five, which all
labels share, and its Mallows noise moves lists of labels, not positions: both are tried, for what the figures
show depends on them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from symscreen.backends import Threads, count_available_cores
from symscreen.errors import DataError
from symscreen.experiments.base import Experiment, ExperimentOutcome, ExperimentSettings
from symscreen.experiments.rankings.repeated_folds import RankedSet, cross_validate
from symscreen.label_ranking import HonestForest, LabelwiseRegressor, kendall_distance, order_list_tau
from symscreen.label_ranking.generators import (
    compute_mallows_mean_distance,
    compute_mallows_probability,
    draw_lfn_oracle,
    draw_mallows,
    draw_sfn_oracle,
    inconsistency,
    kendall_gap,
    make_truncated_gaussian_noise,
)
from symscreen.report.figures.precision_recall_curves import use_default_style
from symscreen.targets.ranking_ranks import to_orders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.experiments.rankings.repeated_folds import LearnerFactory
    from symscreen.label_ranking.generators import RankingOracle


__all__ = [
    "EXPERIMENT",
    "LEARNER_NAMES",
    "MALLOWS_THETAS",
    "NOISE_DEVIATIONS",
    "PUBLISHED_FILE",
    "NoisySet",
    "draw_levels",
    "draw_order_list_mallows",
    "find_matching_deviation",
    "generate_noisy_sets",
    "measure_published_sets",
    "run",
]

NOISE_DEVIATIONS = tuple(number / 2000 for number in range(1, 51))
MALLOWS_THETAS = tuple(round(0.6 + 0.2 * number, 1) for number in range(20))  # θ
_MAX_DEVIATION = 5.0  # twenty bounds: as good as uniform
_MAX_BISECTIONS = 30


@dataclass(frozen=True, eq=False)
class NoisySet:
    """Observed rankings of one noise, and how noisy they are.

    Parameters
    ----------
    figure : int
        1 or 2.
    operator : {"gaussian", "mallows", "order-list mallows"}
        What was disturbed, and how.
    parameter : float
        The deviation, or θ.
    ranks : float64 array, shape (n, k)
        What is observed.
    alpha, beta, order_list_beta : float
        The share of rankings that are not the noiseless ones; the mean coefficient with these, of rank
        vectors and of order lists.
    """

    figure: int
    operator: str
    parameter: float
    ranks: Values
    alpha: float
    beta: float
    order_list_beta: float


def generate_noisy_sets(
    oracle: RankingOracle, x: Values, deviations: tuple[float, ...], thetas: tuple[float, ...], seed: int
) -> Iterator[NoisySet]:
    """Disturb the rankings of given inputs in every way of both figures.

    Parameters
    ----------
    oracle : Oracle
        Without noise.
    x : float64 array, shape (n, d)
        Inputs.
    deviations : tuple of float
        Of figure 1.
    spreads : tuple of float
        θ of figure 2.
    seed : int
        From which each set's noise is drawn, independently of the other sets.

    Yields
    ------
    NoisySet
        Figure 1, then for each θ the Mallows set, that of order lists, and Gaussian noise of the same α.
    """
    truth = oracle.compute_true_ranks(x)
    for number, sd in enumerate(deviations):
        yield _measure_set(1, "gaussian", sd, _draw_gaussian(oracle, x, sd, [seed, 1, number]), truth)
    for number, theta in enumerate(thetas):
        drawn = draw_mallows(truth, theta, len(truth), np.random.default_rng([seed, 2, number]))
        plain = _measure_set(2, "mallows", theta, drawn, truth)
        yield plain
        listed = draw_order_list_mallows(truth, theta, np.random.default_rng([seed, 3, number]))
        yield _measure_set(2, "order-list mallows", theta, listed, truth)
        sd = find_matching_deviation(oracle, x, plain.alpha, [seed, 4, number])
        yield _measure_set(2, "gaussian", sd, _draw_gaussian(oracle, x, sd, [seed, 4, number]), truth)


def draw_order_list_mallows(truth: Values, theta: float, rng: np.random.Generator) -> Values:
    """Draw rankings whose *lists of labels in order* follow a Mallows model about the noiseless lists.

    Parameters
    ----------
    truth : float64 array, shape (n, k)
        Complete ranks without ties.
    theta : float
        θ.
    rng : numpy.random.Generator
        What draws them.

    Returns
    -------
    float64 array, shape (n, k)
        Ranks. Likely are exchanges of labels whose numbers are neighbours, wherever they stand, and not of
        labels that stand side by side: the published Mallows sets are of this kind.
    """
    lists = draw_mallows(to_orders(truth) + 1.0, theta, len(truth), rng)
    return np.asarray(np.argsort(lists, axis=1, kind="stable") + 1.0, dtype=np.float64)


def find_matching_deviation(oracle: RankingOracle, x: Values, alpha: float, seed: list[int]) -> float:
    """Find the deviation of Gaussian noise that has a given α-inconsistency at given inputs.

    Parameters
    ----------
    oracle : Oracle
        Without noise.
    x : float64 array, shape (n, d)
        Inputs.
    alpha : float
        The share of rankings wanted that are not the noiseless ones.
    seed : list of int
        Of the noise, the same at every deviation, so that α rises steadily.

    Returns
    -------
    float
        By halving; the widest that is tried where no deviation gives as much.
    """
    truth = oracle.compute_true_ranks(x)
    low, high = 0.0, _MAX_DEVIATION
    if inconsistency(_draw_gaussian(oracle, x, high, seed), truth) <= alpha:
        return high
    for _ in range(_MAX_BISECTIONS):
        middle = np.sqrt(low * high) if low > 0.0 else high / 16.0
        if inconsistency(_draw_gaussian(oracle, x, middle, seed), truth) < alpha:
            low = middle
        else:
            high = middle
        if high < 1e-9:
            break
    return float(high)


def _draw_gaussian(oracle: RankingOracle, x: Values, sd: float, seed: list[int]) -> Values:
    return replace(oracle, noise_sampler=make_truncated_gaussian_noise(sd)).observe(
        x, np.random.default_rng(seed)
    )


def _measure_set(figure: int, operator: str, parameter: float, ranks: Values, truth: Values) -> NoisySet:
    alpha, beta = inconsistency(ranks, truth), kendall_gap(ranks, truth)
    return NoisySet(
        figure, operator, parameter, ranks, alpha, beta, float(order_list_tau(ranks, truth).mean())
    )


PUBLISHED_FILE = "SFN_mallows_rankings.csv.gz"


def measure_published_sets(folder: Path) -> pd.DataFrame:
    """Compare the published rankings with the Mallows model.

    Parameters
    ----------
    folder : Path
        Which holds `FILE`: a column ``original`` and one for each noisy set, in the order of θ = 0.6 … 4.4;
        a cell has the digits of the labels in order, best first.

    Returns
    -------
    pandas.DataFrame
        By set: θ, α and the model's α, the mean distance of rank vectors and of order lists from the
        noiseless ones, and the model's.

    Raises
    ------
    TableError
        If the file is missing or has other columns.
    """
    path = folder / PUBLISHED_FILE
    try:
        frame = pd.read_csv(path, dtype=str)
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file; give the folder that holds it") from None
    names = [name for name in frame if name != "original"]
    if "original" not in frame or len(names) != len(MALLOWS_THETAS):
        raise DataError(f"{path} must hold a column 'original' and {len(MALLOWS_THETAS)} noisy ones")
    original = _parse_orders(frame["original"])
    rows = []
    for theta, name in zip(MALLOWS_THETAS, names, strict=True):
        noisy, k = _parse_orders(frame[name]), original.shape[1]
        center = np.arange(1.0, k + 1.0)
        rows.append(
            {
                "set": name,
                "theta": theta,
                "alpha": inconsistency(noisy, original),
                "expected_alpha": 1.0 - float(compute_mallows_probability([center], center, theta)[0]),
                "rank_distance": float(
                    kendall_distance(_invert_orders(noisy), _invert_orders(original)).mean()
                ),
                "order_list_distance": float(kendall_distance(noisy, original).mean()),
                "expected_distance": compute_mallows_mean_distance(theta, k),
            }
        )
    return pd.DataFrame(rows)


def _parse_orders(texts: pd.Series[str]) -> NDArray[np.float64]:
    return np.array([[float(letter) for letter in text] for text in texts])


def _invert_orders(orders: NDArray[np.float64]) -> NDArray[np.float64]:
    """Tell the positions of labels that are listed in order: the inverse permutation."""
    return np.asarray(np.argsort(orders, axis=1) + 1.0, dtype=np.float64)


_STYLES = (("o", "-"), ("s", "--"), ("^", "-."), ("D", ":"))


def draw_levels(sets: pd.DataFrame, figure: int, family: str) -> Figure:
    """Draw the mean coefficient of each learner.

    Parameters
    ----------
    sets : pandas.DataFrame
        The table of that name.
    figure : {1, 2}
        Against α and against β; or against α, one panel an operator.
    family : {"SFN", "LFN"}
        Whose sets.

    Returns
    -------
    matplotlib Figure
        Two panels, or three. The thin grey line is β.
    """
    own = sets[(sets["figure"] == figure) & (sets["family"] == family)]
    panels = [("alpha", "gaussian"), ("beta", "gaussian")]
    if figure == 2:
        panels = [("alpha", operator) for operator in ("mallows", "order-list mallows", "gaussian")]
    with use_default_style():
        from matplotlib.figure import Figure

        drawn = Figure(figsize=(3.2 * len(panels), 3.4), dpi=150, layout="constrained")
        axes = drawn.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axis, (level, operator) in zip(axes, panels, strict=True):
            _draw_panel(axis, own[own["operator"] == operator], level)
            axis.set_xlabel({"alpha": "α", "beta": "β"}[level])
            axis.set_title(operator)
        axes[0].set_ylabel("mean kτ")
        handles, labels = axes[0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
        drawn.suptitle(family)
    return drawn


def _draw_panel(axis: Axes, sets: pd.DataFrame, level: str) -> None:
    for (name, own), (marker, dashes) in zip(sets.groupby("learner", sort=False), _STYLES, strict=True):
        sorted_ = own.sort_values(level)
        axis.plot(
            sorted_[level], sorted_["tau"], marker=marker, markersize=3, linestyle=dashes, label=str(name)
        )
    levels = sets.drop_duplicates(level).sort_values(level)
    axis.plot(levels[level], levels["beta"], color="0.6", linewidth=0.8)


_FAMILIES: dict[
    str, Callable[[np.random.Generator], RankingOracle]
] = {  # ten features a label, as the text says, or five for all, as the published set has
    "SFN": draw_sfn_oracle,
    "LFN": draw_lfn_oracle,
    "SFN published": partial(draw_sfn_oracle, as_published=True),
    "LFN published": partial(draw_lfn_oracle, as_published=True),
}
_N_ROWS, _N_FOLDS, _REPEATS = 10_000, 10, 5
_SHALLOW_DEPTH, _N_TREES = 5, 50


@dataclass(frozen=True)
class _NoisePlan:
    families: tuple[str, ...] = tuple(_FAMILIES)
    n_rows: int = _N_ROWS
    deviations: tuple[float, ...] = NOISE_DEVIATIONS
    thetas: tuple[float, ...] = MALLOWS_THETAS
    n_folds: int = _N_FOLDS
    repeats: int = _REPEATS
    n_trees: int = _N_TREES


_QUICK_PLAN = _NoisePlan(("SFN", "SFN published"), 400, (0.02,), (1.0,), 2, 1, 5)


def _make_tree(seed: int, depth: int | None) -> Any:
    from sklearn.tree import DecisionTreeRegressor

    return LabelwiseRegressor(DecisionTreeRegressor(max_depth=depth, random_state=seed))


def _make_forest(seed: int, trees: int) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return LabelwiseRegressor(RandomForestRegressor(n_estimators=trees, random_state=seed))


def _make_honest_forest(seed: int, trees: int) -> Any:
    return HonestForest(base="breiman", n_estimators=trees, random_state=seed)


LEARNER_NAMES = ("shallow", "full", "forests", "honest")


def _make_learners(n_trees: int) -> Mapping[str, LearnerFactory]:
    makers = (
        partial(_make_tree, depth=_SHALLOW_DEPTH),
        partial(_make_tree, depth=None),
        partial(_make_forest, trees=n_trees),
        partial(_make_honest_forest, trees=n_trees),
    )
    return dict(zip(LEARNER_NAMES, makers, strict=True))


def run(settings: ExperimentSettings) -> ExperimentOutcome:
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

    plan = _QUICK_PLAN if settings.quick else _NoisePlan()
    repeats, learners = settings.repeats or plan.repeats, _make_learners(plan.n_trees)
    total = len(plan.families) * (len(plan.deviations) + 3 * len(plan.thetas))
    rows: list[dict[str, Any]] = []
    with threadpool_limits(1):
        backend = Threads(settings.jobs or count_available_cores())
        for done, (family, x, truth, noisy) in enumerate(_draw_noisy_sets(plan, settings.seed)):
            found = cross_validate(
                RankedSet(x, noisy.ranks, truth),
                learners,
                folds=plan.n_folds,
                repeats=repeats,
                seed=settings.seed,
                backend=backend,
            )
            rows += [
                _build_cell(family, noisy) | {"learner": name} | asdict(one) for name, one in found.items()
            ]
            settings.report_progress(done + 1, total)
    sets = pd.DataFrame(rows)
    tables = {"beside": _build_comparison_table(sets), "summary": _build_summary_table(sets), "sets": sets}
    if settings.data is not None:
        tables["published_sets"] = measure_published_sets(settings.data)
    pictures = {
        f"figure{figure}-{family.lower().replace(' ', '-')}": partial(draw_levels, sets, figure, family)
        for figure, family in product((1, 2), plan.families)
    }
    return ExperimentOutcome(tables, pictures, _format_remarks(tables))


def _draw_noisy_sets(plan: _NoisePlan, seed: int) -> Iterator[tuple[str, Values, Values, NoisySet]]:
    """Go through the noisy sets of all families; a family has one score function and one table of inputs."""
    for number, name in enumerate(plan.families):
        rng = np.random.default_rng([seed, 0, number])
        oracle = _FAMILIES[name](rng)
        x = oracle.input_sampler(plan.n_rows, rng)
        for noisy in generate_noisy_sets(oracle, x, plan.deviations, plan.thetas, seed + 1000 * number):
            yield name, x, oracle.compute_true_ranks(x), noisy


def _build_cell(family: str, noisy: NoisySet) -> dict[str, Any]:
    return {
        "figure": noisy.figure,
        "family": family,
        "operator": noisy.operator,
        "parameter": noisy.parameter,
        "alpha": noisy.alpha,
        "beta": noisy.beta,
        "order_list_beta": noisy.order_list_beta,
    }


def _build_comparison_table(sets: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for key, own in sets.groupby(["figure", "family", "operator"], sort=False):
        row = dict(zip(("figure", "family", "operator"), key, strict=True)) | {"beta": own["beta"].mean()}
        rows.append(row | {name: own.loc[own["learner"] == name, "tau"].mean() for name in LEARNER_NAMES})
    return pd.DataFrame(rows)


def _build_summary_table(sets: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for key, own in sets.groupby(["figure", "family", "operator", "learner"], sort=False):
        row = dict(zip(("figure", "family", "operator", "learner"), key, strict=True))
        row |= {"sets": len(own), "alpha": own["alpha"].mean(), "beta": own["beta"].mean()}
        row |= {"tau": own["tau"].mean(), "order_list_tau": own["order_list_tau"].mean()}
        rows.append(row | {"tau_to_beta": (own["tau"] / own["beta"]).mean()})
    return pd.DataFrame(rows)


def _format_remarks(tables: dict[str, pd.DataFrame]) -> tuple[str, ...]:
    """Test what the text says of the figures, which are curves without numbers."""
    sets = tables["sets"]
    reading = (
        "The figures are curves without numbers; what the text says of them is tested. All is trained on "
        "noisy rankings and judged on the noiseless ones."
    )
    remarks = [reading]
    remarks += [
        _format_figure1_remark(str(family), own) for family, own in sets.groupby("family", sort=False)
    ]
    remarks += [
        _format_figure2_remark(str(family), own) for family, own in sets.groupby("family", sort=False)
    ]
    if "published_sets" in tables:
        remarks.append(_format_published_remark(tables["published_sets"]))
    return tuple(remarks)


def _format_figure1_remark(family: str, sets: pd.DataFrame) -> str:
    own = sets[sets["figure"] == 1]
    found = [
        f"{name} {cell['tau'].mean():.3f} and {(cell['tau'] / cell['beta']).mean():.3f}"
        for name, cell in own.groupby("learner", sort=False)
    ]
    return (
        f"Figure 1, {family}: in the paper full trees fit the noise (τ/β about 1), while shallow trees and "
        f"forests stay near τ = 1. Mean τ and τ/β here: {', '.join(found)}."
    )


def _format_figure2_remark(family: str, sets: pd.DataFrame) -> str:
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


def _format_published_remark(sets: pd.DataFrame) -> str:
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
    supported_settings=("repeats", "data"),
)

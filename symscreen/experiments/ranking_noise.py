"""Label ranking from noisy rankings: Fotakis and others (2022), figures 1 and 2.

Figure 1 adds Gaussian noise, truncated to ±1/4, to the scores, with fifty standard deviations. These are
i/2000, as in the authors' published code. Figure 2 compares the Mallows model, centred at the noiseless
ranking, with Gaussian noise of the same α.

The text gives every label ten informative features. The published set of the family SFN has five features
that all labels share, and its Mallows noise disturbs order lists instead of rank vectors. Both variants are
run, because the results depend on them. `measure_published_sets` measures which distance the published
Mallows sets were drawn in.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from symscreen.errors import DataError
from symscreen.experiments.base import Experiment, ExperimentOutcome, ExperimentSettings
from symscreen.experiments.ranking_benchmarks import RankedSet, cross_validate
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

    from symscreen._option_values import ExperimentSize
    from symscreen._typing import Values
    from symscreen.experiments.ranking_benchmarks import LearnerFactory
    from symscreen.label_ranking.generators import RankingOracle


NOISE_DEVIATIONS = tuple(number / 2000 for number in range(1, 51))
MALLOWS_THETAS = tuple(round(0.6 + 0.2 * number, 1) for number in range(20))  # θ = 0.6 … 4.4
_MAX_DEVIATION = 5.0  # twenty times the bound of the noise: practically uniform
_MAX_BISECTIONS = 30

PUBLISHED_FILE = "SFN_mallows_rankings.csv.gz"

_STYLES = (("o", "-"), ("s", "--"), ("^", "-."), ("D", ":"))

# ten features per label, as in the text, or five for all labels, as in the published set
_FAMILIES: dict[str, Callable[[np.random.Generator], RankingOracle]] = {
    "SFN": draw_sfn_oracle,
    "LFN": draw_lfn_oracle,
    "SFN published": partial(draw_sfn_oracle, as_published=True),
    "LFN published": partial(draw_lfn_oracle, as_published=True),
}
_SHALLOW_DEPTH = 5

_SFN_FAMILIES = ("SFN", "SFN published")

LEARNER_NAMES = ("shallow", "full", "forests", "honest")


@dataclass(frozen=True, eq=False)
class NoisySet:
    """Observed rankings under one noise, and the amount of noise.

    Parameters
    ----------
    figure : int
        1 or 2.
    operator : {"gaussian", "mallows", "order-list mallows"}
        Type of the noise.
    parameter : float
        Standard deviation, or θ.
    ranks : float64 array, shape (n, k)
        Observed ranks.
    alpha : float
        Fraction of rankings that differ from the noiseless ones.
    beta, order_list_beta : float
        Mean Kendall coefficient with the noiseless rankings, of rank vectors and of order lists.
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
    """Add every noise of both figures to the rankings of given inputs.

    Parameters
    ----------
    oracle : RankingOracle
        Oracle without noise.
    x : float64 array, shape (n, d)
        Inputs.
    deviations : tuple of float
        Standard deviations of figure 1.
    thetas : tuple of float
        θ of figure 2.
    seed : int
        Seed. The noise of each set is independent.

    Yields
    ------
    NoisySet
        The sets of figure 1. Then for each θ: Mallows noise, Mallows noise of order lists, and Gaussian noise
        with the α of the first.
    """
    truth = oracle.compute_true_ranks(x)
    for i, sd in enumerate(deviations):
        yield _measure_set(1, "gaussian", sd, _draw_gaussian(oracle, x, sd, [seed, 1, i]), truth)
    for i, theta in enumerate(thetas):
        ranks = draw_mallows(truth, theta, len(truth), np.random.default_rng([seed, 2, i]))
        mallows_set = _measure_set(2, "mallows", theta, ranks, truth)
        yield mallows_set
        order_list_ranks = draw_order_list_mallows(truth, theta, np.random.default_rng([seed, 3, i]))
        yield _measure_set(2, "order-list mallows", theta, order_list_ranks, truth)
        sd = find_matching_deviation(oracle, x, mallows_set.alpha, [seed, 4, i])
        yield _measure_set(2, "gaussian", sd, _draw_gaussian(oracle, x, sd, [seed, 4, i]), truth)


def draw_order_list_mallows(truth: Values, theta: float, rng: np.random.Generator) -> Values:
    """Draw rankings whose *order lists* follow a Mallows model centred at the noiseless lists.

    Parameters
    ----------
    truth : float64 array, shape (n, k)
        Complete ranks without ties.
    theta : float
        θ of the Mallows model.
    rng : numpy.random.Generator
        Random number generator.

    Returns
    -------
    float64 array, shape (n, k)
        Ranks. Likely swaps are those of labels with adjacent numbers at any position, not of labels at
        adjacent positions. The published Mallows sets are of this kind.
    """
    lists = draw_mallows(to_orders(truth) + 1.0, theta, len(truth), rng)
    return np.asarray(np.argsort(lists, axis=1, kind="stable") + 1.0, dtype=np.float64)


def find_matching_deviation(oracle: RankingOracle, x: Values, alpha: float, seed: list[int]) -> float:
    """Find the standard deviation of Gaussian noise that has a given α-inconsistency at given inputs.

    Parameters
    ----------
    oracle : RankingOracle
        Oracle without noise.
    x : float64 array, shape (n, d)
        Inputs.
    alpha : float
        Target fraction of rankings that differ from the noiseless ones.
    seed : list of int
        Seed of the noise. It is the same at every deviation, so α increases with the deviation.

    Returns
    -------
    float
        Standard deviation, by bisection; the largest one tried if none reaches `alpha`.
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
    """Draw rankings with truncated Gaussian noise of the scores, (n, k)."""
    return replace(oracle, noise_sampler=make_truncated_gaussian_noise(sd)).observe(
        x, np.random.default_rng(seed)
    )


def _measure_set(figure: int, operator: str, parameter: float, ranks: Values, truth: Values) -> NoisySet:
    """Compute the inconsistency and the mean coefficients of observed ranks (n, k)."""
    alpha, beta = inconsistency(ranks, truth), kendall_gap(ranks, truth)
    return NoisySet(
        figure, operator, parameter, ranks, alpha, beta, float(order_list_tau(ranks, truth).mean())
    )


def measure_published_sets(folder: Path) -> pd.DataFrame:
    """Compare the published Mallows rankings with the Mallows model.

    Parameters
    ----------
    folder : Path
        Folder with `PUBLISHED_FILE`: a column ``original`` and one column per noisy set, in the order of
        θ = 0.6 … 4.4. A cell has the digits of the labels in order, best first.

    Returns
    -------
    pandas.DataFrame
        By set: θ, α and the expected α, the mean distances from the noiseless rankings of rank vectors and of
        order lists, and the expected distance.

    Raises
    ------
    DataError
        If the file is missing or has other columns.
    """
    path = folder / PUBLISHED_FILE
    try:
        frame = pd.read_csv(path, dtype=str)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; give the folder that contains it") from None
    names = [name for name in frame if name != "original"]
    if "original" not in frame or len(names) != len(MALLOWS_THETAS):
        raise DataError(f"{path} must have a column 'original' and {len(MALLOWS_THETAS)} noisy ones")
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
    """Parse texts of k digits to order lists (n, k)."""
    return np.array([[float(digit) for digit in text] for text in texts])


def _invert_orders(orders: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert order lists (n, k) to ranks: the inverse permutations."""
    return np.asarray(np.argsort(orders, axis=1) + 1.0, dtype=np.float64)


def draw_levels(sets: pd.DataFrame, figure: int, family: str) -> Figure:
    """Draw the mean coefficient of each learner against the noise level.

    Parameters
    ----------
    sets : pandas.DataFrame
        The table ``sets``.
    figure : {1, 2}
        1: panels against α and against β. 2: panels against α, one per type of noise.
    family : {"SFN", "LFN"}
        Family of sets.

    Returns
    -------
    matplotlib Figure
        Two or three panels. The thin grey line is β.
    """
    shown = sets[(sets["figure"] == figure) & (sets["family"] == family)]
    panels = [("alpha", "gaussian"), ("beta", "gaussian")]
    if figure == 2:
        panels = [("alpha", operator) for operator in ("mallows", "order-list mallows", "gaussian")]
    with use_default_style():
        from matplotlib.figure import Figure

        canvas = Figure(figsize=(3.2 * len(panels), 3.4), dpi=150, layout="constrained")
        axes = canvas.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axis, (level, operator) in zip(axes, panels, strict=True):
            _draw_panel(axis, shown[shown["operator"] == operator], level)
            axis.set_xlabel({"alpha": "α", "beta": "β"}[level])
            axis.set_title(operator)
        axes[0].set_ylabel("mean kτ")
        handles, labels = axes[0].get_legend_handles_labels()
        canvas.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
        canvas.suptitle(family)
    return canvas


def _draw_panel(axis: Axes, sets: pd.DataFrame, level: str) -> None:
    """Draw one line per learner, and β."""
    for (name, learner_sets), (marker, dashes) in zip(
        sets.groupby("learner", sort=False), _STYLES, strict=True
    ):
        ordered = learner_sets.sort_values(level)
        axis.plot(
            ordered[level], ordered["tau"], marker=marker, markersize=3, linestyle=dashes, label=str(name)
        )
    levels = sets.drop_duplicates(level).sort_values(level)
    axis.plot(levels[level], levels["beta"], color="0.6", linewidth=0.8)


@dataclass(frozen=True, slots=True)
class _NoisePlan:
    """Divisions into folds, folds, families, rows, trees, and the levels of the noise."""

    repeats: int
    n_folds: int
    n_rows: int
    n_trees: int
    families: tuple[str, ...] = tuple(_FAMILIES)
    deviations: tuple[float, ...] = NOISE_DEVIATIONS
    thetas: tuple[float, ...] = MALLOWS_THETAS


SIZES: Mapping[ExperimentSize, _NoisePlan] = {
    "small": _NoisePlan(1, 2, 400, 5, _SFN_FAMILIES, (0.02,), (1.0,)),
    "medium": _NoisePlan(
        1, 2, 5000, 20, _SFN_FAMILIES, (0.001, 0.005, 0.01, 0.015, 0.025), (0.6, 1.4, 2.6, 4.4)
    ),
    "full": _NoisePlan(5, 10, 10_000, 50),
}


def _make_learners(n_trees: int) -> Mapping[str, LearnerFactory]:
    """Return the learners by name, as functions of a seed."""
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.tree import DecisionTreeRegressor

    def make_tree(seed: int, depth: int | None) -> Any:
        return LabelwiseRegressor(DecisionTreeRegressor(max_depth=depth, random_state=seed))

    makers: tuple[LearnerFactory, ...] = (
        lambda seed: make_tree(seed, _SHALLOW_DEPTH),
        lambda seed: make_tree(seed, None),
        lambda seed: LabelwiseRegressor(RandomForestRegressor(n_estimators=n_trees, random_state=seed)),
        lambda seed: HonestForest(base="breiman", n_estimators=n_trees, random_state=seed),
    )
    return dict(zip(LEARNER_NAMES, makers, strict=True))


def run(settings: ExperimentSettings) -> ExperimentOutcome:
    """Train on noisy rankings, and compare predictions with the noiseless ones.

    Parameters
    ----------
    settings : ExperimentSettings
        `repeats`: number of divisions into folds. `data`: folder with the published sets of the family SFN,
        which are measured but not trained on.

    Returns
    -------
    ExperimentOutcome
        ``beside``: by figure, family and type of noise, the mean coefficient of each learner (shallow trees,
        full trees, forests, honest forests), and β. ``summary``: the same in one row per learner, with the
        coefficient of order lists and the mean ratio to β. ``sets``: every set, with α and β of rank vectors
        and order lists. ``published_sets``, if data are given: whether the published Mallows sets follow the
        model in the distance of rank vectors or of order lists. One picture per figure and family.
    """
    plan = settings.choose_plan(SIZES)
    learners = _make_learners(plan.n_trees)
    total = len(plan.families) * (len(plan.deviations) + 3 * len(plan.thetas))
    rows: list[dict[str, Any]] = []
    for done, (family, x, truth, noisy) in enumerate(_draw_noisy_sets(plan, settings.seed), start=1):
        data = RankedSet(x, noisy.ranks, truth)
        scores = cross_validate(
            data, learners, folds=plan.n_folds, repeats=plan.repeats, seed=settings.seed, jobs=settings.jobs
        )
        rows += [
            {"figure": noisy.figure, "family": family}
            | {name: value for name, value in vars(noisy).items() if name not in {"figure", "ranks"}}
            | {"learner": name}
            | asdict(fold_scores)
            for name, fold_scores in scores.items()
        ]
        settings.report_progress(done, total)
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
    """Generate the noisy sets of all families. A family has one score function and one table of inputs."""
    for i, name in enumerate(plan.families):
        rng = np.random.default_rng([seed, 0, i])
        oracle = _FAMILIES[name](rng)
        x = oracle.input_sampler(plan.n_rows, rng)
        for noisy in generate_noisy_sets(oracle, x, plan.deviations, plan.thetas, seed + 1000 * i):
            yield name, x, oracle.compute_true_ranks(x), noisy


def _build_comparison_table(sets: pd.DataFrame) -> pd.DataFrame:
    """Average the coefficients over the sets of each figure, family and noise; one column per learner."""
    keys = ["figure", "family", "operator"]
    groups = sets.pivot_table("tau", keys, "learner", sort=False)
    return sets.groupby(keys, sort=False)[["beta"]].mean().join(groups[list(LEARNER_NAMES)]).reset_index()


def _build_summary_table(sets: pd.DataFrame) -> pd.DataFrame:
    """Average the coefficients over the sets of each figure, family, type of noise and learner."""
    measures = ["alpha", "beta", "tau", "order_list_tau", "tau_to_beta"]
    groups = sets.assign(tau_to_beta=sets["tau"] / sets["beta"]).groupby(
        ["figure", "family", "operator", "learner"], sort=False
    )
    return groups.size().to_frame("sets").join(groups[measures].mean()).reset_index()


def _format_remarks(tables: dict[str, pd.DataFrame]) -> tuple[str, ...]:
    """Compare the results with the statements of the text: the figures are curves without numbers."""
    sets = tables["sets"]
    families = list(sets.groupby("family", sort=False))
    remarks = [
        (
            "The figures are curves without numbers, so the statements of the text are tested. All learners "
            "are trained on noisy rankings and evaluated on the noiseless ones."
        ),
        *(_format_figure1_remark(str(family), family_sets) for family, family_sets in families),
        *(_format_figure2_remark(str(family), family_sets) for family, family_sets in families),
    ]
    if "published_sets" in tables:
        remarks.append(_format_published_remark(tables["published_sets"]))
    return tuple(remarks)


def _format_figure1_remark(family: str, sets: pd.DataFrame) -> str:
    """Compare one family with the statement on figure 1."""
    figure_sets = sets[sets["figure"] == 1]
    means = [
        f"{name} {cell['tau'].mean():.3f} and {(cell['tau'] / cell['beta']).mean():.3f}"
        for name, cell in figure_sets.groupby("learner", sort=False)
    ]
    return (
        f"Figure 1, {family}: in the paper full trees fit the noise (τ/β about 1), while shallow trees and "
        f"forests stay near τ = 1. Mean τ and τ/β here: {', '.join(means)}."
    )


def _format_figure2_remark(family: str, sets: pd.DataFrame) -> str:
    """Compare one family with the statement on figure 2."""
    figure_sets = sets[sets["figure"] == 2]
    means = figure_sets.pivot_table("tau", "learner", "operator", sort=False)
    beta = {operator: cell["beta"].mean() for operator, cell in figure_sets.groupby("operator")}
    order_list_beta = {
        operator: cell["order_list_beta"].mean() for operator, cell in figure_sets.groupby("operator")
    }
    comparisons = []
    for operator in ("mallows", "order-list mallows"):
        n_worse = int((means[operator] < means["gaussian"]).sum())
        comparisons.append(
            f"{operator} noise is worse for {n_worse} of {len(means)} learners, with a mean β of "
            f"{beta[operator]:.3f} in rank vectors and {order_list_beta[operator]:.3f} in order lists"
        )
    return (
        f"Figure 2, {family}: in the paper Mallows noise is worse than Gaussian noise of the same α, "
        f"although its β is higher. Here {'; '.join(comparisons)}; Gaussian noise has "
        f"{beta['gaussian']:.3f} and {order_list_beta['gaussian']:.3f}."
    )


def _format_published_remark(sets: pd.DataFrame) -> str:
    """Say which distance the published Mallows sets follow."""
    ranks, lists = (
        float((sets[column] - sets["expected_distance"]).abs().max())
        for column in ("rank_distance", "order_list_distance")
    )
    nearer = "order lists" if lists < ranks else "rank vectors"
    return (
        f"The {len(sets)} published Mallows sets: their mean distance from the noiseless rankings is at most "
        f"{ranks:.2f} from the model's in rank vectors, and {lists:.2f} in order lists; they were drawn in "
        f"{nearer}. Noise of order lists swaps labels with adjacent numbers at any position."
    )


EXPERIMENT = Experiment(
    name="lr-noise",
    title="Label ranking from noisy rankings: shallow and full trees, forests, honest forests",
    source="Fotakis, Kalavasis and Psaroudaki 2022, figures 1 and 2",
    run=run,
    sizes=SIZES,
    supported_settings=("repeats", "data"),
)

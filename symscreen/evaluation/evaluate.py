"""Evaluate a ranking of features against a known formula.

`evaluate` computes precision and recall metrics of a complete ranking, `evaluate_bounds` computes sharp
bounds for a truncated one. `get_ranking_losses` recovers the losses by which each screener orders the
features from the columns and the record of a ranking.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from symscreen.errors import DataError, OptionError
from symscreen.evaluation.precision_recall import (
    average_precision,
    compute_expected_average_precision,
    compute_first_correct_rank,
    compute_precision_recall_curve,
    compute_recall_at,
    pr_auc,
    roc_auc,
)
from symscreen.evaluation.truncated_rankings import (
    build_truncated_ranking,
    compute_average_precision_bounds,
    compute_first_correct_bounds,
    compute_pr_auc_bounds,
    compute_recall_bounds,
    compute_roc_auc_bounds,
)
from symscreen.evaluation.truth import CRITERIA, Truth, find_correct_features, parse_truth
from symscreen.expressions.tree import parse_printed_expression
from symscreen.grammar import OPERATORS
from symscreen.messages import hint_option, name_option, suggest
from symscreen.screeners import Screener, get_screener
from symscreen.targets.registry import find_recorded_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from symscreen.evaluation.precision_recall import PrecisionRecallCurve
    from symscreen.evaluation.truncated_rankings import TruncatedRanking
    from symscreen.evaluation.truth import Criterion
    from symscreen.expressions.tree import Expression
    from symscreen.grammar import Operator
    from symscreen.screeners import AnyScreener, Sign

_METRICS: Mapping[str, Callable[[NDArray[np.float64], NDArray[np.bool_]], float]] = {
    "average_precision": average_precision,
    "pr_auc": pr_auc,
    "roc_auc": roc_auc,
    "first_correct": compute_first_correct_rank,
}
_BOUNDS: Mapping[str, Callable[[TruncatedRanking], tuple[float, float]]] = {
    "average_precision": compute_average_precision_bounds,
    "pr_auc": compute_pr_auc_bounds,
    "roc_auc": compute_roc_auc_bounds,
    "first_correct": compute_first_correct_bounds,
}


class RankedResult(Protocol):
    """A ranking with its record: a `ScreenResult`, or the result of `read_ranking`."""

    @property
    def table(self) -> pd.DataFrame:
        """Table with one row per feature."""
        ...

    @property
    def record(self) -> dict[str, Any]:
        """Metadata of the screen."""
        ...


def compute_losses(
    columns: Mapping[str, NDArray[np.float64]],
    screeners: Sequence[AnyScreener],
    sign: Sign,
    scale: float,
) -> dict[str, NDArray[np.float64]]:
    """Compute the losses of each screener from the columns of a ranking.

    Parameters
    ----------
    columns : mapping of str to float64 array, shape (k,)
        Columns of a ranking: the score of each column screener, and the ``…_rank`` of each joint screener.
    screeners : sequence of Screener or JointScreener
        Screeners of the ranking.
    sign : {"free", "positive"}
        Whether falling features are as good as rising ones.
    scale : float
        Gini's mean difference Δ of the target; positive.

    Returns
    -------
    dict of str to float64 array, shape (k,)
        Smaller losses are better. They are rounded to 12 decimals, so that mirrored features tie; NaN for a
        feature that was not passed to a joint screener. Joint screeners without ranks are omitted.

    Examples
    --------
    >>> from symscreen.screeners import T0
    >>> compute_losses({"t0": np.array([0.5, 3.5, 2.0])}, [T0], "free", scale=2.0)["t0"].tolist()
    [0.25, 0.25, 1.0]
    """
    losses: dict[str, NDArray[np.float64]] = {}
    for screener in screeners:
        if isinstance(screener, Screener):
            losses[screener.name] = np.round(
                screener.loss_from_score(columns[screener.name], scale, sign), 12
            )
        elif f"{screener.name}_rank" in columns:
            losses[screener.name] = columns[f"{screener.name}_rank"]
    return losses


def get_input_names(record: Mapping[str, Any]) -> list[str]:
    """Return the names of the inputs of a ranking."""
    names: list[str] = record["data"]["inputs"]
    return names


def get_expressions(result: RankedResult, operators: Mapping[str, Operator]) -> Sequence[Expression]:
    """Return the formulas of a ranking; they are parsed from its table if the result has none."""
    expressions: Sequence[Expression] | None = getattr(result, "expressions", None)
    if expressions is not None:
        return expressions
    names = get_input_names(result.record)
    return [parse_printed_expression(text, operators, names) for text in result.table["expression"]]


def get_ranking_losses(result: RankedResult) -> dict[str, NDArray[np.float64]]:
    """Return the losses by which each screener of a ranking orders the features.

    Parameters
    ----------
    result : ScreenResult or StoredRanking
        Ranking.

    Returns
    -------
    dict of str to float64 array, shape (k,)
        Losses by screener, in the order of the table. Smaller losses are better; NaN for a feature that was
        not passed to a joint screener. A joint screener is omitted if it is the only one and the ranking is
        merged.

    Raises
    ------
    OptionError
        If a screener is unknown.
    DataError
        If scores or ranks are missing.
    """
    record, table = result.record, result.table
    names = record["options"]["screener"]
    screeners = [get_screener(name) for name in names]
    columns = {
        column: table[column].to_numpy(dtype=np.float64, na_value=np.nan)
        for name in names
        for column in (name, f"{name}_rank")
        if column in table
    }
    for name, screener in zip(names, screeners, strict=True):
        is_complete, is_joint = record["options"]["top"] == "all", not isinstance(screener, Screener)
        if is_joint and is_complete and f"{name}_rank" not in columns:
            raise DataError(f"the ranking has no column {name}_rank; repeat the screen")
        if not is_joint and np.isnan(columns[name]).any():
            raise DataError(f"the column {name} of the ranking has missing values; repeat the screen")
    scale = float(record["data"]["gini_mean_difference"])
    return compute_losses(columns, screeners, record["options"]["sign"], scale)


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of the order of a ranking.

    Parameters
    ----------
    kind : {"average_precision", "pr_auc", "roc_auc", "recall", "first_correct"}
        What it measures.
    k : int or None
        The number K of recall at K; None for the other kinds.

    Examples
    --------
    >>> Metric("roc_auc").name, Metric("recall", 20).name, Metric("recall", 20).bound_names
    ('roc_auc', 'recall_20', ('recall_20_low', 'recall_20_high'))
    """

    kind: Literal["average_precision", "pr_auc", "roc_auc", "recall", "first_correct"]
    k: int | None = None

    @property
    def name(self) -> str:
        """The column of an evaluation's table."""
        return self.kind if self.k is None else f"{self.kind}_{self.k}"

    @property
    def bound_names(self) -> tuple[str, str]:
        """The columns of the lower and of the upper bound."""
        return f"{self.name}_low", f"{self.name}_high"


def _list_metrics(recall: Sequence[int]) -> tuple[Metric, ...]:
    """List the metrics in the order of `compute_metrics`."""
    return (
        Metric("average_precision"),
        Metric("pr_auc"),
        Metric("roc_auc"),
        *(Metric("recall", k) for k in dict.fromkeys(recall)),
        Metric("first_correct"),
    )


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Metrics of a ranking with respect to a known formula.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per screener: ``screener``, ``features``, ``correct``, ``share`` (of correct features) and the
        metrics of `compute_metrics`.
    curves : dict of str to PrecisionRecallCurve
        Precision-recall curve of each screener.
    truth : Truth
        The formula, its active inputs and its terms.
    criterion : {"active", "terms", "exact"}
        Criterion of correctness.
    correct : bool array, shape (k,)
        Which rows of the ranking are correct.
    metrics : tuple of Metric
        The metrics in the order of the table.
    has_bounds : bool
        Whether the table has bounds of each metric, see `evaluate_bounds`.
    """

    table: pd.DataFrame
    curves: dict[str, PrecisionRecallCurve]
    truth: Truth
    criterion: Criterion
    correct: NDArray[np.bool_]
    metrics: tuple[Metric, ...]
    has_bounds: bool = False

    @property
    def correct_share(self) -> float:
        """Share of correct features in the space."""
        return float(self.table["share"].iloc[0])

    @property
    def chance_average_precision(self) -> float:
        """Expected average precision of a random order; slightly above the share of correct features."""
        first = self.table.iloc[0]
        return compute_expected_average_precision(int(first["features"]), int(first["correct"]))

    def __repr__(self) -> str:
        return f"<Evaluation: {self.criterion}>\n{self.table.to_string(index=False)}"

    def _repr_html_(self) -> str:
        return str(self.table.to_html(index=False))


def evaluate(
    result: RankedResult,
    truth: str | Truth,
    criterion: Criterion = "active",
    *,
    recall: Sequence[int] = (20, 100),
    operators: Mapping[str, Operator] = OPERATORS,
) -> Evaluation:
    """Evaluate a ranking of a complete space against a known formula.

    Parameters
    ----------
    result : ScreenResult or StoredRanking
        Ranking of all features, not merged: created with ``top="all"`` in one round.
    truth : str or Truth
        True formula in terms of the input columns.
    criterion : {"active", "terms", "exact"}
        Criterion of correctness; see `symscreen.evaluation.CRITERIA`.
    recall : sequence of int
        Values K of recall at K.
    operators : mapping of str to Operator
        Operators that formulas may contain.

    Returns
    -------
    Evaluation

    Raises
    ------
    OptionError
        If the ranking does not contain all features of its space, so that the metrics are unknown (see
        `evaluate_bounds`), or the criterion is unknown.
    FormulaError
        If the truth is invalid or constant.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.make_additive(n=50, noise_variance=0)
    >>> result = symscreen.screen(data.frame, operators="ablation", layers="bu", pool="strict", top="all")
    >>> evaluation = evaluate(result, data.truth)
    >>> evaluation.table[["screener", "features", "correct", "share"]].to_numpy().tolist()
    [['t0', 24, 12, 0.5]]
    """
    parsed_truth, correct = _find_correct_rows(result, truth, criterion, operators)
    _check_target(result.record)
    _check_complete(result.record)
    losses = get_ranking_losses(result)
    rows, curves = [], {}
    for name, loss in losses.items():
        rows.append(
            {
                "screener": name,
                **_count_correct(correct.size, int(correct.sum())),
                **compute_metrics(loss, correct, recall),
            }
        )
        curves[name] = compute_precision_recall_curve(loss, correct)
    import pandas as pd

    metrics = _list_metrics(recall)
    return Evaluation(pd.DataFrame(rows), curves, parsed_truth, criterion, correct, metrics)


def evaluate_bounds(
    result: RankedResult,
    truth: str | Truth,
    criterion: Criterion = "active",
    *,
    outside: int,
    recall: Sequence[int] = (20, 100),
    operators: Mapping[str, Operator] = OPERATORS,
) -> Evaluation:
    """Compute bounds of the metrics of a truncated ranking, or of one with one feature per class.

    Parameters
    ----------
    result, truth, criterion, recall, operators
        See `evaluate`.
    outside : int
        Number of correct features that the ranking does not contain: members of its classes and features
        beyond its end.

    Returns
    -------
    Evaluation
        Metrics of the first screener, since the best features of other screeners may be missing. Each metric
        has a lower and an upper bound, ``…_low`` and ``…_high``. Each bound is attained by some placement of
        the hidden features. There are no curves.

    Raises
    ------
    OptionError
        If the first screener is a joint screener, there are several rounds, near-duplicates were left out,
        or `outside` exceeds the number of hidden features.
    FormulaError
        If the truth is invalid or constant.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.make_additive(n=50, noise_variance=0)
    >>> options = {"operators": "ablation", "layers": "bu", "pool": "strict", "max_correlation": 1}
    >>> result = symscreen.screen(data.frame, top=5, **options)
    >>> table = evaluate_bounds(result, data.truth, outside=7).table
    >>> bool((table.average_precision_low <= table.average_precision_high).all())
    True
    """
    parsed_truth, correct = _find_correct_rows(result, truth, criterion, operators)
    _check_target(result.record)
    _check_rounds(result.record)
    if "redundancy" in result.record:
        raise OptionError(
            "the ranking leaves out near-duplicates that are better than the last feature shown, so there "
            f"are no bounds: screen with {name_option('max_correlation', 1)}"
        )
    screener = result.record["options"]["screener"][0]
    if not isinstance(get_screener(screener), Screener):
        raise OptionError(
            f"{screener} scores only some features of a space: bounds need a column screener in first place"
        )
    is_complete = result.record["options"]["top"] == "all"
    ranking = build_truncated_ranking(
        get_ranking_losses(result)[screener],
        correct,
        n_features=_get_space_size(result.record),
        n_hidden_correct=outside,
        class_size=None if is_complete else result.table["class_size"].to_numpy(dtype=np.int64),
    )
    metrics = _list_metrics(recall)
    row: dict[str, float | str] = {
        "screener": screener,
        **_count_correct(ranking.n_features, ranking.n_correct),
    }
    for metric in metrics:
        row |= zip(metric.bound_names, _compute_bounds(metric, ranking), strict=True)
    import pandas as pd

    return Evaluation(pd.DataFrame([row]), {}, parsed_truth, criterion, correct, metrics, has_bounds=True)


def _compute_metric(metric: Metric, loss: NDArray[np.float64], correct: NDArray[np.bool_]) -> float:
    """Compute a metric of q features; losses and marks have shape (q,)."""
    return (
        _METRICS[metric.kind](loss, correct)
        if metric.k is None
        else compute_recall_at(loss, correct, metric.k)
    )


def _compute_bounds(metric: Metric, ranking: TruncatedRanking) -> tuple[float, float]:
    """Compute the bounds of a metric of a truncated ranking."""
    return _BOUNDS[metric.kind](ranking) if metric.k is None else compute_recall_bounds(ranking, metric.k)


def compute_metrics(
    loss: NDArray[np.float64], correct: NDArray[np.bool_], recall: Sequence[int] = (20, 100)
) -> dict[str, float]:
    """Compute all metrics of the order of one screener.

    Parameters
    ----------
    loss : float64 array, shape (q,)
        Smaller losses are better; NaN for a feature that was not scored.
    correct : bool array, shape (q,)
        Which features are correct.
    recall : sequence of int
        Values K of recall at K.

    Returns
    -------
    dict of str to float
        ``average_precision``, ``pr_auc`` (trapezoidal rule), ``roc_auc``, ``recall_K`` and ``first_correct``
        (rank of the first correct feature).

    Examples
    --------
    >>> metrics = compute_metrics(np.array([0.1, 0.2, 0.3]), np.array([True, False, True]), recall=[1])
    >>> {name: round(value, 3) for name, value in metrics.items()}
    {'average_precision': 0.833, 'pr_auc': 0.792, 'roc_auc': 0.5, 'recall_1': 0.5, 'first_correct': 1.0}
    """
    return {metric.name: _compute_metric(metric, loss, correct) for metric in _list_metrics(recall)}


def _count_correct(n_features: int, n_correct: int) -> dict[str, float]:
    """Build the columns with the numbers of features and of correct features."""
    share = n_correct / n_features if n_features else float("nan")
    return {"features": n_features, "correct": n_correct, "share": share}


def _find_correct_rows(
    result: RankedResult, truth: str | Truth, criterion: Criterion, operators: Mapping[str, Operator]
) -> tuple[Truth, NDArray[np.bool_]]:
    """Parse the truth and find the correct rows of the ranking, shape (k,)."""
    if criterion not in CRITERIA:
        raise OptionError(f"criterion is {criterion!r}{suggest(str(criterion), CRITERIA)}")
    names = get_input_names(result.record)
    parsed_truth = truth if isinstance(truth, Truth) else parse_truth(truth, names, operators)
    return parsed_truth, find_correct_features(get_expressions(result, operators), parsed_truth, criterion)


def _check_target(record: Mapping[str, Any]) -> None:
    """Raise `OptionError` unless the target is numeric."""
    target_type = find_recorded_type(record["data"])
    if not target_type.supports_inference:
        raise OptionError(
            f"the features were screened against {target_type.description}: only a screen of a numeric "
            "target can be evaluated against a truth"
        )


def _check_rounds(record: Mapping[str, Any]) -> None:
    """Raise `OptionError` for a ranking of several rounds."""
    if record["options"]["rounds"] > 1:
        raise OptionError(
            "the ranking has several rounds, whose scores refer to different targets; screen in one round"
        )


def _get_space_size(record: Mapping[str, Any]) -> int:
    """Return the number of features screened, including those that a search dropped without a score."""
    return int(record.get("search", {}).get("features", record["scored"]))


def _check_complete(record: Mapping[str, Any]) -> None:
    """Raise `OptionError` for a ranking without some features of its space."""
    _check_rounds(record)
    if record["options"]["top"] != "all" or record["shown"] != record["scored"]:
        raise OptionError(
            f"the ranking contains {record['shown']:,} of {_get_space_size(record):,} features screened, "
            f"but precision and recall need all of them: screen with {name_option('search', 'exact')} "
            f"{name_option('top', 'all')}, or give the number of correct features that are not "
            f"shown{hint_option('outside')} for bounds"
        )

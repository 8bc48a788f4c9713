"""A ranking, as it is shown and written, back to its formulas and to what they are ordered by.

A ranking against a known formula: where the correct features stand, screener by screener.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from symscreen.errors import DataError, OptionError, suggest
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
from symscreen.expressions.tree import parse_expression
from symscreen.grammar import OPERATORS
from symscreen.screeners import Screener, get_screener
from symscreen.targets import TARGET_TYPE_DESCRIPTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from symscreen.evaluation.precision_recall import PrecisionRecallCurve
    from symscreen.evaluation.truth import Criterion
    from symscreen.expressions.tree import Expression
    from symscreen.grammar import Operator
    from symscreen.screeners import AnyScreener, Sign


__all__ = [
    "Evaluation",
    "RankedResult",
    "compute_losses",
    "compute_metrics",
    "evaluate",
    "evaluate_bounds",
    "get_expressions",
    "get_input_names",
    "get_ranking_losses",
]


class RankedResult(Protocol):
    """A ranking with its record: a `ScreenResult`, or what `read_ranking` returns."""

    @property
    def table(self) -> pd.DataFrame:
        """One row a feature."""
        ...

    @property
    def record(self) -> dict[str, Any]:
        """How it was made."""
        ...


def compute_losses(
    columns: Mapping[str, NDArray[np.float64]],
    screeners: Sequence[AnyScreener],
    sign: Sign,
    scale: float,
) -> dict[str, NDArray[np.float64]]:
    """Return each screener's losses.

    Parameters
    ----------
    columns : mapping of str to float64 array, shape (k,)
        A ranking's columns: for each column screener its score under its name, for each joint one its
        ``…_rank``.
    screeners : sequence of Screener or JointScreener
        Those asked for.
    sign : {"free", "positive"}
        Whether falling was as good as rising.
    scale : float
        Δ, Gini's mean difference of the response; positive.

    Returns
    -------
    dict of str to float64 array, shape (k,)
        Ascending is better; rounded to 12 digits, so that mirrored features tie; NaN where a joint screener
        was not shown a feature. A joint screener without ranks is left out.

    Examples
    --------
    >>> from symscreen.screeners import T0
    >>> compute_losses({"t0": np.array([0.5, 3.5, 2.0])}, [T0], "free", scale=2.0)["t0"].tolist()
    [0.25, 0.25, 1.0]
    """
    losses: dict[str, NDArray[np.float64]] = {}
    for one in screeners:
        if isinstance(one, Screener):
            losses[one.name] = np.round(one.loss_from_score(columns[one.name], scale, sign), 12)
        elif f"{one.name}_rank" in columns:
            losses[one.name] = columns[f"{one.name}_rank"]
    return losses


def get_input_names(record: Mapping[str, Any]) -> list[str]:
    """Return the names of the inputs of a ranking."""
    names: list[str] = record["data"]["inputs"]
    return names


def get_expressions(result: RankedResult, operators: Mapping[str, Operator]) -> Sequence[Expression]:
    """Return a ranking's formulas: those at hand, else as its table has them."""
    at_hand: Sequence[Expression] | None = getattr(result, "expressions", None)
    if at_hand is not None:
        return at_hand
    names = get_input_names(result.record)
    return [parse_expression(text, operators, names) for text in result.table["expression"]]


def get_ranking_losses(result: RankedResult) -> dict[str, NDArray[np.float64]]:
    """Return what each screener of a ranking orders features by.

    Parameters
    ----------
    result : ScreenResult or StoredRanking
        The ranking.

    Returns
    -------
    dict of str to float64 array, shape (k,)
        By screener, in the order of the table; ascending is better, NaN where a joint screener was not shown
        a feature. A joint screener is left out where the ranking is merged and it is the only one.

    Raises
    ------
    OptionError
        If a screener is unknown.
    TableError
        If scores or ranks are missing that a ranking has.
    """
    record, table = result.record, result.table
    names = record["options"]["screener"]
    screeners = [get_screener(name) for name in names]
    columns = {
        str(name): table[name].to_numpy(dtype=np.float64, na_value=np.nan)
        for name in table
        if name in names or str(name).endswith("_rank")
    }
    for name, screener in zip(names, screeners, strict=True):
        every, joint = record["options"]["top"] == "all", not isinstance(screener, Screener)
        if joint and every and f"{name}_rank" not in columns:
            raise DataError(f"the ranking has lost its column {name}_rank; screen again")
        if not joint and np.isnan(columns[name]).any():
            raise DataError(f"the ranking's column {name} has gaps; screen again")
    scale = float(record["data"]["gini_mean_difference"])
    return compute_losses(columns, screeners, record["options"]["sign"], scale)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """How well a ranking keeps what is known to be true.

    Parameters
    ----------
    table : pandas.DataFrame
        One row a screener: ``screener``, ``features``, ``correct``, ``share`` (of correct features), then the
        figures of `compute_metrics`.
    curves : dict of str to Curve
        Precision against recall, by screener.
    truth : Truth
        The formula, its active inputs and its terms.
    criterion : {"active", "terms", "exact"}
        What counts as correct.
    correct : bool array, shape (k,)
        Which rows of the ranking are correct.
    """

    table: pd.DataFrame
    curves: dict[str, PrecisionRecallCurve]
    truth: Truth
    criterion: Criterion
    correct: NDArray[np.bool_]

    @property
    def correct_share(self) -> float:
        """The share of correct features in the space."""
        return float(self.table["share"].iloc[0])

    @property
    def chance_average_precision(self) -> float:
        """What a random order has as its average precision, on average: a little more than the share."""
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
    """Measure a ranking of a whole space against a known formula.

    Parameters
    ----------
    result : ScreenResult or StoredRanking
        With every feature, unmerged: made with ``top="all"`` in one round.
    truth : str or Truth
        The true formula, in the columns of the table.
    criterion : {"active", "terms", "exact"}
        What counts as correct; see `symscreen.evaluation.CRITERIA`.
    recall : sequence of int
        The K of recall at K.
    operators : mapping of str to Operator
        Those that formulas may call.

    Returns
    -------
    Evaluation

    Raises
    ------
    OptionError
        If the ranking does not hold every feature of its space, for then the figures are unknown (`bounded`
        says what can be said), or the criterion is unknown.
    FormulaError
        If the truth cannot be read, or is constant.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.additive(n=50, noise_variance=0)
    >>> result = symscreen.screen(data.frame, operators="ablation", layers="bu", pool="strict", top="all")
    >>> found = evaluate(result, data.truth)
    >>> found.table[["screener", "features", "correct", "share"]].to_numpy().tolist()
    [['t0', 24, 12, 0.5]]
    """
    known, good = _find_correct_rows(result, truth, criterion, operators)
    _check_target(result.record)
    _check_complete(result.record)
    losses = get_ranking_losses(result)
    rows, curves = [], {}
    for name, loss in losses.items():
        rows.append(
            {
                "screener": name,
                **_count_correct(good.size, int(good.sum())),
                **compute_metrics(loss, good, recall),
            }
        )
        curves[name] = compute_precision_recall_curve(loss, good)
    import pandas as pd

    return Evaluation(pd.DataFrame(rows), curves, known, criterion, good)


def evaluate_bounds(
    result: RankedResult,
    truth: str | Truth,
    criterion: Criterion = "active",
    *,
    outside: int,
    recall: Sequence[int] = (20, 100),
    operators: Mapping[str, Operator] = OPERATORS,
) -> Evaluation:
    """Bound the figures of a ranking that shows only its best features, or one feature of each class.

    Parameters
    ----------
    result, truth, criterion, recall, operators
        As in `evaluate`.
    outside : int
        How many of the features that the ranking does not show are correct: members of its classes, and
        those beyond its end.

    Returns
    -------
    Evaluation
        Of the first screener alone, for the others' best may not be shown: each figure as ``…_low`` and
        ``…_high``, which some placement of the hidden features reaches. No curves.

    Raises
    ------
    OptionError
        If a joint screener ranks, there are several rounds, or `outside` is more than all that is hidden.
    FormulaError
        If the truth cannot be read, or is constant.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.additive(n=50, noise_variance=0)
    >>> result = symscreen.screen(data.frame, operators="ablation", layers="bu", pool="strict", top=5)
    >>> figures = evaluate_bounds(result, data.truth, outside=7).table
    >>> bool((figures.average_precision_low <= figures.average_precision_high).all())
    True
    """
    known, good = _find_correct_rows(result, truth, criterion, operators)
    _check_target(result.record)
    _check_rounds(result.record)
    first = result.record["options"]["screener"][0]
    if not isinstance(get_screener(first), Screener):
        raise OptionError(f"{first} sees few features of a space: bounds need a column screener that ranks")
    every = result.record["options"]["top"] == "all"
    seen = build_truncated_ranking(
        get_ranking_losses(result)[first],
        good,
        n_features=_get_space_size(result.record),
        n_hidden_correct=outside,
        class_size=None if every else result.table["class_size"].to_numpy(dtype=np.int64),
    )
    pairs = {
        "average_precision": compute_average_precision_bounds(seen),
        "pr_auc": compute_pr_auc_bounds(seen),
        "roc_auc": compute_roc_auc_bounds(seen),
        **{f"recall_{k}": compute_recall_bounds(seen, k) for k in recall},
        "first_correct": compute_first_correct_bounds(seen),
    }
    row: dict[str, float | str] = {"screener": first, **_count_correct(seen.n_features, seen.n_correct)}
    for name, (low, high) in pairs.items():
        row |= {f"{name}_low": low, f"{name}_high": high}
    import pandas as pd

    return Evaluation(pd.DataFrame([row]), {}, known, criterion, good)


def compute_metrics(
    loss: NDArray[np.float64], correct: NDArray[np.bool_], recall: Sequence[int] = (20, 100)
) -> dict[str, float]:
    """Compute every figure of one screener's order.

    Parameters
    ----------
    loss : float64 array, shape (q,)
        Ascending is better; NaN where a feature was not judged.
    good : bool array, shape (q,)
        Which features are correct.
    recall : sequence of int
        The K of recall at K.

    Returns
    -------
    dict of str to float
        ``average_precision``, ``pr_auc`` (trapezoid), ``roc_auc``, ``recall_K`` and ``first_correct`` (the
        rank of the first correct feature).

    Examples
    --------
    >>> figures = compute_metrics(np.array([0.1, 0.2, 0.3]), np.array([True, False, True]), recall=[1])
    >>> {name: round(figure, 3) for name, figure in figures.items()}
    {'average_precision': 0.833, 'pr_auc': 0.792, 'roc_auc': 0.5, 'recall_1': 0.5, 'first_correct': 1.0}
    """
    return {
        "average_precision": average_precision(loss, correct),
        "pr_auc": pr_auc(loss, correct),
        "roc_auc": roc_auc(loss, correct),
        **{f"recall_{k}": compute_recall_at(loss, correct, k) for k in recall},
        "first_correct": compute_first_correct_rank(loss, correct),
    }


def _count_correct(n_features: int, n_correct: int) -> dict[str, float]:
    share = n_correct / n_features if n_features else float("nan")
    return {"features": n_features, "correct": n_correct, "share": share}


def _find_correct_rows(
    result: RankedResult, truth: str | Truth, criterion: Criterion, operators: Mapping[str, Operator]
) -> tuple[Truth, NDArray[np.bool_]]:
    """Read the truth, and say which rows of the ranking are correct."""
    if criterion not in CRITERIA:
        raise OptionError(f"criterion is {criterion!r}{suggest(str(criterion), CRITERIA)}")
    names = get_input_names(result.record)
    known = truth if isinstance(truth, Truth) else parse_truth(truth, names, operators)
    return known, find_correct_features(get_expressions(result, operators), known, criterion)


def _check_target(record: Mapping[str, Any]) -> None:
    for kind, words in TARGET_TYPE_DESCRIPTIONS.items():
        if kind in record["data"]:
            raise OptionError(
                f"the features were screened against {words}, which no one formula makes: only a screen of a "
                "numeric response can be measured against a truth"
            )


def _check_rounds(record: Mapping[str, Any]) -> None:
    if record["options"]["rounds"] > 1:
        raise OptionError(
            "the ranking has several rounds, whose scores stand on different responses; screen in one round"
        )


def _get_space_size(record: Mapping[str, Any]) -> int:
    """Return how many features were screened, those included that a search dropped unscored."""
    return int(record.get("search", {}).get("features", record["scored"]))


def _check_complete(record: Mapping[str, Any]) -> None:
    """Refuse a ranking that does not hold every feature of its space."""
    _check_rounds(record)
    if record["options"]["top"] != "all" or record["shown"] != record["scored"]:
        raise OptionError(
            f"the ranking shows {record['shown']:,} of {_get_space_size(record):,} features screened, and "
            "precision and recall need them all: screen with --search exact --top all, or say how many of "
            "those not shown are correct (--outside N) for bounds"
        )

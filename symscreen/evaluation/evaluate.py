"""A ranking against a known formula: where the correct features stand, screener by screener."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError, nearest
from symscreen.evaluation.bounds import (
    average_precision_bounds,
    first_correct_bounds,
    pr_auc_bounds,
    recall_at_bounds,
    roc_auc_bounds,
    truncated,
)
from symscreen.evaluation.criteria import CRITERIA, correct
from symscreen.evaluation.precision_recall import (
    average_precision,
    curve_of,
    expected_average_precision,
    first_correct,
    pr_auc,
    recall_at,
    roc_auc,
)
from symscreen.evaluation.ranked import expressions_in, inputs_in, losses_of_ranking
from symscreen.evaluation.truth import Truth, read_truth
from symscreen.grammar import OPERATORS
from symscreen.response import KINDS
from symscreen.screeners import Screener, screener_named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from symscreen.evaluation.criteria import Criterion
    from symscreen.evaluation.precision_recall import Curve
    from symscreen.evaluation.ranked import Ranked
    from symscreen.grammar import Operator

__all__ = ["Evaluation", "bounded", "evaluate", "figures_of"]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """How well a ranking keeps what is known to be true.

    Parameters
    ----------
    table : pandas.DataFrame
        One row a screener: ``screener``, ``features``, ``correct``, ``share`` (of correct features), then the
        figures of `figures_of`.
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
    curves: dict[str, Curve]
    truth: Truth
    criterion: Criterion
    correct: NDArray[np.bool_]

    @property
    def share(self) -> float:
        """The share of correct features in the space."""
        return float(self.table["share"].iloc[0])

    @property
    def by_chance(self) -> float:
        """What a random order has as its average precision, on average: a little more than the share."""
        first = self.table.iloc[0]
        return expected_average_precision(int(first["features"]), int(first["correct"]))

    def __repr__(self) -> str:
        return f"<Evaluation: {self.criterion}>\n{self.table.to_string(index=False)}"

    def _repr_html_(self) -> str:
        return str(self.table.to_html(index=False))


def evaluate(
    result: Ranked,
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
    known, good = _judged(result, truth, criterion, operators)
    _check_response(result.record)
    _check_complete(result.record)
    losses = losses_of_ranking(result)
    rows, curves = [], {}
    for name, loss in losses.items():
        rows.append(
            {"screener": name, **_counts(good.size, int(good.sum())), **figures_of(loss, good, recall)}
        )
        curves[name] = curve_of(loss, good)
    import pandas as pd

    return Evaluation(pd.DataFrame(rows), curves, known, criterion, good)


def bounded(
    result: Ranked,
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
    >>> figures = bounded(result, data.truth, outside=7).table
    >>> bool((figures.average_precision_low <= figures.average_precision_high).all())
    True
    """
    known, good = _judged(result, truth, criterion, operators)
    _check_response(result.record)
    _check_rounds(result.record)
    first = result.record["options"]["screener"][0]
    if not isinstance(screener_named(first), Screener):
        raise OptionError(f"{first} sees few features of a space: bounds need a column screener that ranks")
    every = result.record["options"]["top"] == "all"
    seen = truncated(
        losses_of_ranking(result)[first],
        good,
        features=_size_of_space(result.record),
        hidden_correct=outside,
        class_size=None if every else result.table["class_size"].to_numpy(dtype=np.int64),
    )
    pairs = {
        "average_precision": average_precision_bounds(seen),
        "pr_auc": pr_auc_bounds(seen),
        "roc_auc": roc_auc_bounds(seen),
        **{f"recall_{k}": recall_at_bounds(seen, k) for k in recall},
        "first_correct": first_correct_bounds(seen),
    }
    row: dict[str, float | str] = {"screener": first, **_counts(seen.features, seen.correct)}
    for name, (low, high) in pairs.items():
        row |= {f"{name}_low": low, f"{name}_high": high}
    import pandas as pd

    return Evaluation(pd.DataFrame([row]), {}, known, criterion, good)


def figures_of(
    loss: NDArray[np.float64], good: NDArray[np.bool_], recall: Sequence[int] = (20, 100)
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
    >>> figures = figures_of(np.array([0.1, 0.2, 0.3]), np.array([True, False, True]), recall=[1])
    >>> {name: round(figure, 3) for name, figure in figures.items()}
    {'average_precision': 0.833, 'pr_auc': 0.792, 'roc_auc': 0.5, 'recall_1': 0.5, 'first_correct': 1.0}
    """
    return {
        "average_precision": average_precision(loss, good),
        "pr_auc": pr_auc(loss, good),
        "roc_auc": roc_auc(loss, good),
        **{f"recall_{k}": recall_at(loss, good, k) for k in recall},
        "first_correct": first_correct(loss, good),
    }


def _counts(features: int, number: int) -> dict[str, float]:
    share = number / features if features else float("nan")
    return {"features": features, "correct": number, "share": share}


def _judged(
    result: Ranked, truth: str | Truth, criterion: Criterion, operators: Mapping[str, Operator]
) -> tuple[Truth, NDArray[np.bool_]]:
    """Read the truth, and say which rows of the ranking are correct."""
    if criterion not in CRITERIA:
        raise OptionError(f"criterion is {criterion!r}{nearest(str(criterion), CRITERIA)}")
    names = inputs_in(result.record)
    known = truth if isinstance(truth, Truth) else read_truth(truth, names, operators)
    return known, correct(expressions_in(result, operators), known, criterion)


def _check_response(record: Mapping[str, Any]) -> None:
    for kind, words in KINDS.items():
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


def _size_of_space(record: Mapping[str, Any]) -> int:
    """Return how many features were screened, those included that a search dropped unscored."""
    return int(record.get("search", {}).get("features", record["scored"]))


def _check_complete(record: Mapping[str, Any]) -> None:
    """Refuse a ranking that does not hold every feature of its space."""
    _check_rounds(record)
    if record["options"]["top"] != "all" or record["shown"] != record["scored"]:
        raise OptionError(
            f"the ranking shows {record['shown']:,} of {_size_of_space(record):,} features screened, and "
            "precision and recall need them all: screen with --search exact --top all, or say how many of "
            "those not shown are correct (--outside N) for bounds"
        )

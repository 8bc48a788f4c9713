"""Many screeners over the same features: the rank that each gives, and how far they agree.

A joint screener's verdict with the features that it was shown, for people and programs.

What a screen returns.

How a result is looked at: given to it from above, because what draws stands above what is drawn.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from symscreen._repr import format_repr
from symscreen.data import read_columns
from symscreen.errors import OptionError, escape_control_chars
from symscreen.expressions.tree import collect_columns, evaluate_expression, to_text
from symscreen.units import compute_unit, convert_to_base_units

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from symscreen.data import Dataset
    from symscreen.expansion import Space
    from symscreen.expressions.tree import Expression
    from symscreen.screeners import AnyScreener, JointScores
    from symscreen.screening.scoring.joint_screening import JointResult
    from symscreen.screening.scoring.score_space import ScoringResult
    from symscreen.units import Units


__all__ = [
    "JointScreenerResult",
    "Renderers",
    "ResultPlots",
    "ScreenResult",
    "ScreenerComparison",
    "build_joint_screener_result",
    "build_screen_result",
    "compare_screeners",
    "compute_agreement",
    "is_flagged",
]

_FLAGGED_SCORE_SHARE = 1e-3  # of the scale of the score
_FLAGGED_ROW_SHARE = 0.01  # of the rows


def is_flagged(n_unsafe_rows: float, score_error: float, *, n: int, scale: float) -> bool:
    """Say whether a feature is marked as unsafe where people read: rounding decides more than a little.

    Parameters
    ----------
    rows, by : float
        As of `NumericalErrorEstimate`; NaN where they are not known.
    n : int
        The rows there are.
    scale : float
        Of the first screener's score: Δ of T0, 1 of a coefficient.

    Returns
    -------
    bool
        Whether the score may move by more than a thousandth of its scale, or where that is not known, whether
        more than a hundredth of the rows are unsafe.

    Examples
    --------
    >>> is_flagged(40, 1e-5, n=100, scale=1.0), is_flagged(40, float("nan"), n=100, scale=1.0)
    (False, True)
    """
    if not n_unsafe_rows > 0:
        return False
    return (
        score_error > _FLAGGED_SCORE_SHARE * scale
        if score_error == score_error
        else n_unsafe_rows > _FLAGGED_ROW_SHARE * n
    )  # not NaN


@dataclass(frozen=True, eq=False)
class ScreenerComparison:
    """The ranks that screeners give to the same features.

    Parameters
    ----------
    ranks : dict of str to float64 array, shape (q,)
        For each screener, how many features it puts before each, plus 1; NaN where it was not shown one.
    last : dict of str to float64 array, shape (q,)
        The same with ties counted before: the worst rank that a tied feature can have.
    """

    ranks: dict[str, NDArray[np.float64]]
    worst_ranks: dict[str, NDArray[np.float64]]


def compare_screeners(losses: dict[str, NDArray[np.float64]]) -> ScreenerComparison:
    """Rank features by each screener's losses.

    Parameters
    ----------
    losses : dict of str to float64 array, shape (q,)
        Ascending is better; NaN where a screener was not shown a feature.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> compared({"a": np.array([0.1, 0.5, 0.1])}).ranks["a"].tolist()
    [1.0, 3.0, 1.0]
    """
    ranks: dict[str, NDArray[np.float64]] = {}
    last: dict[str, NDArray[np.float64]] = {}
    for name, loss in losses.items():
        known = np.sort(loss[~np.isnan(loss)])
        seen = np.where(np.isnan(loss), np.nan, 0.0)
        ranks[name] = seen + np.searchsorted(known, loss, side="left").astype(np.float64) + 1.0
        last[name] = seen + np.searchsorted(known, loss, side="right").astype(np.float64)
    return ScreenerComparison(ranks, last)


def compute_agreement(comparison: ScreenerComparison, top: int) -> pd.DataFrame:
    """Say how far each two screeners agree.

    Parameters
    ----------
    comparison : Comparison
        Their ranks.
    top : int
        K, the size of the head of a ranking; of few features half of them, for all of them are always common.

    Returns
    -------
    pandas.DataFrame
        One row a pair of screeners: ``first``, ``second``, ``features`` (how many both ranked), ``kendall``
        (τ-b of the two rankings of these; NaN where one ties them all), ``top`` (K), ``overlap`` (of the
        features that one or the other has surely among its best K, the share that both have; NaN where ties
        leave none).

    Examples
    --------
    >>> ranks = compared({"a": np.array([0.1, 0.2, 0.3]), "b": np.array([1.0, 2.0, 3.0])})
    >>> agreement(ranks, top=2)[["kendall", "top", "overlap"]].to_numpy().tolist()
    [[1.0, 1.0, 1.0]]
    """
    import pandas as pd

    names = list(comparison.ranks)
    rows = []
    for place, first in enumerate(names):
        for second in names[place + 1 :]:
            a, b = comparison.ranks[first], comparison.ranks[second]
            both = ~np.isnan(a) & ~np.isnan(b)
            features = int(both.sum())
            best = max(1, min(top, features // 2))
            heads = [(comparison.worst_ranks[name] <= best) & both for name in (first, second)]
            either = int((heads[0] | heads[1]).sum())
            overlap = int((heads[0] & heads[1]).sum()) / either if either else np.nan
            rows.append((first, second, features, _kendall(a[both], b[both]), best, overlap))
    return pd.DataFrame(rows, columns=["first", "second", "features", "kendall", "top", "overlap"])


def _kendall(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    from scipy.stats import kendalltau

    return float(kendalltau(a, b).statistic)


@dataclass(frozen=True, eq=False)
class JointScreenerResult:
    """What a joint screener says of each feature that it was shown.

    Parameters
    ----------
    expressions : tuple of Expression, length q
        The features shown, best first by the screener that chose them.
    verdict : Verdict
        In the same order; its path, where there is one, holds every fit.
    """

    expressions: tuple[Expression, ...]
    scores: JointScores

    def __repr__(self) -> str:
        chosen = int(self.scores.selected.sum())
        head = f"<Ruling: {chosen:,} selected of {len(self.expressions):,} features>"
        return format_repr(head, (), {"table": self.table})

    @property
    def table(self) -> pd.DataFrame:
        """Return one row a feature shown, best first: expression, score, selected, further figures."""
        import pandas as pd

        verdict = self.scores
        frame = pd.DataFrame(
            {
                "expression": [to_text(expression) for expression in self.expressions],
                "score": verdict.score,
                "selected": verdict.selected,
                **verdict.columns,
            }
        )
        return frame.iloc[verdict.loss.argsort(kind="stable")].reset_index(drop=True)


def build_joint_screener_result(space: Space, joint_result: JointResult) -> JointScreenerResult:
    """Name the features that a joint screener was shown."""
    numbers = joint_result.shortlist.features.number.tolist()
    return JointScreenerResult(
        tuple(space.build_expression(number) for number in numbers), joint_result.scores
    )


_AGREEMENT_TOP_K = 20  # of a ranking of all features: what another screener agrees on


@dataclass(frozen=True, eq=False)
class ScreenResult:
    """A ranking of features and how it was made.

    Parameters
    ----------
    table : pandas.DataFrame
        One row a class of features (a feature, where all were asked for), best first, with the columns
        ``rank``, ``expression``, ``complexity``, ``layer``, ``direction``, one for each screener,
        ``class_size``, and where they can be had: ``p_value``, ``q_value`` (over all features scored, not
        only those shown; a p-value has four significant digits, rounded up), ``p_family``; ``t0_se``,
        ``t0_low``, ``t0_high``, ``gamma``, ``gamma_low``, ``gamma_high``, where intervals were asked for;
        ``unit``, where units were given.
    expressions : tuple of Expression
        The features, in the order of the table.
    scored : int
        How many features were scored.
    scale : float
        Δ, Gini's mean difference of the response: T0 lies between 0 and 2Δ.
    record : dict
        How the result was made: version, options, data digest, counts by layer and reason.
    notices : tuple of str
        What a reader should know: columns left out, rows dropped.
    agreement : pandas.DataFrame or None
        Where several screeners were asked for, how far each two agree on the features compared: ``first``,
        ``second``, ``features``, ``kendall``, ``top`` (K), ``overlap`` (of their best K). The ``…_rank``
        columns of the table are the ranks among the same features.
    rulings : dict of str to Ruling
        What each joint screener says of the features that it was shown, in the first round.
    data : Table or None
        The rows that were screened, from which `plot` and reports draw. No file and no pickle holds them.
    views : Views or None
        What draws the result.
    """

    table: pd.DataFrame
    expressions: tuple[Expression, ...]
    n_scored: int
    scale: float
    record: dict[str, Any]
    notices: tuple[str, ...]
    agreement: pd.DataFrame | None = None
    joint_results: dict[str, JointScreenerResult] = field(default_factory=dict)
    data: Dataset | None = None
    renderers: Renderers | None = None

    def __len__(self) -> int:
        return len(self.expressions)

    def __repr__(self) -> str:
        head = f"<ScreenResult: {len(self):,} shown of {self.n_scored:,} features scored>"
        return format_repr(head, self.notices, {"table": self.table})

    def __getstate__(self) -> dict[str, Any]:
        # what is passed on holds formulas and scores: not the rows of a table that may be private
        return {**self.__dict__, "data": None}

    @property
    def plot(self) -> ResultPlots:
        """Pictures as matplotlib axes: ``scores()``, ``funnel()``, ``feature(rank)`` and others.

        Each takes an ``ax`` to draw on; without one it makes a figure of its own.

        Raises
        ------
        OptionError
            If the result was put together by hand.
        """
        if self.renderers is None:
            raise OptionError("this result was not made by symscreen.screen, which is what gives it pictures")
        return self.renderers.plot(self)

    def _repr_latex_(self) -> str | None:
        return None if self.renderers is None else self.renderers.latex(self)

    def _repr_html_(self) -> str:
        if self.renderers is not None:
            return self.renderers.html(self)
        head = f"<p>{len(self)} shown of {self.n_scored} features scored</p>"
        notices = "".join(f"<p>{escape(escape_control_chars(notice))}</p>" for notice in self.notices)
        table = self.table.assign(expression=list(map(escape_control_chars, self.table["expression"])))
        return head + notices + str(table.to_html(index=False))

    def transform(self, rows: Any) -> pd.DataFrame:
        """Compute the features of the ranking on new rows.

        Parameters
        ----------
        rows : path, pandas.DataFrame, dict of columns, or array of shape (m, d)
            New data with the inputs that the features need; an array has columns x1 … xd.

        Returns
        -------
        pandas.DataFrame, shape (m, k)
            One column a feature, named by its expression, with the index of `rows` if that is a frame; NaN
            in rows outside a feature's domain.

        Raises
        ------
        TableError
            If an input is missing or not numeric.

        Warns
        -----
        UserWarning
            If a feature is undefined in some of the rows, with the count.

        Examples
        --------
        >>> import symscreen
        >>> data = symscreen.datasets.strogatz("glider2")
        >>> result = symscreen.screen(data.frame, layers="ub", unary=["cos"], binary=["div"], top=1)
        >>> result.transform(data.frame.head(2)).shape
        (2, 1)
        """
        import pandas as pd

        names = sorted(frozenset().union(*map(collect_columns, self.expressions)))
        columns = convert_to_base_units(read_columns(rows, names), self.record.get("units"))
        computed = {
            to_text(expression): evaluate_expression(expression, columns) for expression in self.expressions
        }
        index = rows.index if isinstance(rows, pd.DataFrame) else None
        frame = pd.DataFrame(computed, index=index)
        undefined = {name: int(np.isnan(values).sum()) for name, values in computed.items()}
        if any(undefined.values()):
            worst = max(undefined, key=lambda name: undefined[name])
            some = sum(count > 0 for count in undefined.values())
            warnings.warn(
                f"{some} of {len(computed)} features are undefined in some of the {len(frame)} rows "
                f"and NaN there; {worst!r} in {undefined[worst]}",
                stacklevel=2,
            )
        return frame


def build_screen_result(
    rounds: Sequence[tuple[Space, ScoringResult, NDArray[np.int64]]],
    screeners: Sequence[AnyScreener],
    record: dict[str, Any],
    *,
    scale: float,
    notices: tuple[str, ...],
    target_ranks: NDArray[np.int64] | None = None,
    units: Units | None = None,
) -> ScreenResult:
    """Turn what was kept into what a user sees.

    Parameters
    ----------
    rounds : sequence of (Space, Screened, int64 array)
        What each round found in its space, and the places of what is shown of it; one round as a rule.
    screeners : sequence of Screener or JointScreener
        Those asked for; the first one ranks.
    record : dict
        The run's record.
    scale : float
        Δ of the response.
    notices : tuple of str
        For people.
    places : int64 array, optional
        Where each feature of several rounds stands by the response itself.
    units : Units, optional
        Those of the inputs: each feature's is then told.

    Returns
    -------
    ScreenResult
        Round by round.
    """
    import pandas as pd

    frames: list[pd.DataFrame] = []
    expressions: list[Expression] = []
    for number, (space, found, shown) in enumerate(rounds, start=1):
        kept = found.features.take(shown)
        own = [space.build_expression(feature) for feature in kept.number.tolist()]
        columns: dict[str, Any] = {
            "expression": [to_text(expression) for expression in own],
            "complexity": kept.complexity,
            "layer": space.get_metadata(kept.number).layer,
            "direction": [{1: "+", -1: "-"}.get(int(sign), "") for sign in kept.direction],
        }
        columns |= {one.name: kept.scores[:, place] for place, one in enumerate(screeners)}
        columns["class_size"] = kept.class_size
        if units is not None:
            columns["unit"] = [compute_unit(expression, units) for expression in own]
        columns |= {name: values[shown] for name, values in found.extra_columns.items()}
        frame = pd.DataFrame(columns)
        if len(rounds) > 1:
            frame.insert(4, "round", number)
        frames.append(frame)
        expressions += own
    table = pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]
    if target_ranks is not None:
        table.insert(list(table.columns).index("round") + 1, "place_alone", target_ranks)
    table.insert(0, "rank", range(1, len(table) + 1))
    record = {**record, "shown": len(table)}
    first = rounds[0][1]
    best = (
        _AGREEMENT_TOP_K
        if record["options"]["top"] == "all"
        else min(len(first.features), record["options"]["top"])
    )
    together = None if first.comparison is None else compute_agreement(first.comparison, best)
    if together is not None and len(together):
        rows = together.astype(object).where(together.notna(), None).to_dict("records")
        record["agreement"] = [{str(name): value for name, value in row.items()} for row in rows]
    rulings = {
        name: build_joint_screener_result(rounds[0][0], ruling)
        for name, ruling in first.joint_results.items()
    }
    return ScreenResult(
        table, tuple(expressions), record["scored"], scale, record, notices, together, rulings
    )


class ResultPlots(Protocol):
    """The pictures of one result, as matplotlib axes; see `symscreen.report.figures.screen_figures.Plots`."""

    def scores(self, ax: Axes | None = None) -> Axes:
        """Draw the scores of the first screener, best first."""
        ...

    def funnel(self, ax: Axes | None = None) -> Axes:
        """Draw what each layer generated, pruned and kept."""
        ...

    def feature(self, rank: int, ax: Axes | None = None) -> Axes:
        """Draw the response against a feature, with its rank curve."""
        ...

    def agreement(self, ax: Axes | None = None) -> Axes:
        """Draw how far the screeners agree."""
        ...

    def redundancy(self, ax: Axes | None = None) -> Axes:
        """Draw how alike the features shown are."""
        ...

    def p_values(self, ax: Axes | None = None) -> Axes:
        """Draw a histogram of p-values."""
        ...


@dataclass(frozen=True)
class Renderers:
    """What a result needs to be looked at in a notebook.

    Parameters
    ----------
    plot : callable
        From a result to its pictures.
    html, latex : callable
        From a result to what a notebook shows of it.
    """

    plot: Callable[[ScreenResult], ResultPlots]
    html: Callable[[ScreenResult], str]
    latex: Callable[[ScreenResult], str]

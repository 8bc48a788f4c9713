"""The result of a screen: the ranking, and the scores of joint screeners.

A result is displayed by `Renderers` that are passed in, because the package that draws figures imports this
one.
"""

from __future__ import annotations

import operator
import warnings
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, SupportsIndex, overload

import numpy as np

from symscreen._repr import format_repr, format_summary
from symscreen.data import read_columns
from symscreen.errors import OptionError
from symscreen.expressions.input_ranges import keep_in_box
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import collect_columns, collect_indicators, evaluate_expression
from symscreen.messages import describe_missing_attribute, escape_control_chars, format_count, quote
from symscreen.results.budget_note import format_budget_note
from symscreen.results.ranked_feature import RankedFeature, format_direction
from symscreen.results.ranking_files import write_ranking
from symscreen.results.screen_verdict import build_verdict_record, format_verdict
from symscreen.results.screener_agreement import compute_agreement
from symscreen.units import compute_unit, convert_to_base_units

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from symscreen.data import Dataset
    from symscreen.expansion import Space
    from symscreen.expressions.tree import Expression
    from symscreen.messages import Message
    from symscreen.results.fit_result import AnyFitResult
    from symscreen.screeners import AnyScreener, JointScores
    from symscreen.screening.scoring.joint_screening import JointResult
    from symscreen.screening.scoring.score_space import ScoringResult
    from symscreen.units import Units


_FIT_HINT = "a screen ranks formulas; result.fit() returns a model that predicts"
_ATTRIBUTE_HINTS = {
    **dict.fromkeys(("predict", "predict_proba", "score"), _FIT_HINT),
    **dict.fromkeys(("coef_", "formula", "equation"), "the coefficients are those of result.fit()"),
    **dict.fromkeys(("columns", "head", "iloc", "loc", "to_csv"), "the ranking is the frame result.table"),
    **dict.fromkeys(("features", "formulas"), "the formulas are in result.expressions and result.table"),
}
_AGREEMENT_TOP_K = 20  # K of the comparison of screeners if the ranking contains all features


@dataclass(frozen=True, eq=False)
class JointScreenerResult:
    """Scores of a joint screener for each feature of its shortlist.

    Parameters
    ----------
    expressions : tuple of Expression, length q
        The shortlist, best first by the column screeners.
    scores : JointScores
        The scores in the same order. Their path, if there is one, contains every fit.
    """

    expressions: tuple[Expression, ...]
    scores: JointScores

    def __repr__(self) -> str:
        n_selected = int(self.scores.selected.sum())
        head = f"<JointScreenerResult: {n_selected:,} selected of {len(self.expressions):,} features>"
        return format_repr(head, (), {"table": self.table})

    @property
    def table(self) -> pd.DataFrame:
        """One row per feature, best first: expression, score, selected, and the screener's own columns."""
        import pandas as pd

        frame = pd.DataFrame(
            {
                "expression": [to_text(expression) for expression in self.expressions],
                "score": self.scores.score,
                "selected": self.scores.selected,
                **self.scores.columns,
            }
        )
        return frame.iloc[self.scores.loss.argsort(kind="stable")].reset_index(drop=True)


def build_joint_screener_result(space: Space, joint_result: JointResult) -> JointScreenerResult:
    """Build the public result of a joint screener, with expressions instead of feature numbers."""
    numbers = joint_result.shortlist.features.number.tolist()
    return JointScreenerResult(
        tuple(space.build_expression(number) for number in numbers), joint_result.scores
    )


@dataclass(frozen=True, eq=False)
class ScreenResult:
    """A ranking of features with a record of how it was computed.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per distinct feature (per feature, if all were requested), best first. Columns: ``rank``,
        ``expression``, ``complexity``, ``layer``, ``direction``, one for each screener, ``class_size``, and
        if available ``p_value``, ``q_value`` (over all scored features, not only the reported ones; a p-value
        has four significant digits, rounded up), ``p_is_bound`` (where some are upper bounds),
        ``p_family``; with intervals ``t0_se``, ``t0_low``, ``t0_high``, ``gini_low``, ``gini_high``; with
        units ``unit``. With the screener t0 ``gini`` is the Gini correlation 1 − T0/Δ.
    expressions : tuple of Expression
        The features, in the order of the table.
    n_scored : int
        Number of features that were scored.
    scale : float
        Δ, Gini's mean difference of the target. T0 lies between 0 and 2Δ.
    record : dict
        How the result was computed: version, options, data digest, counts by layer and reason.
    notices : tuple of str
        Notices for the user, for example about excluded columns and dropped rows.
    agreement : pandas.DataFrame or None
        With several screeners, the agreement of each pair on the compared features: ``first``, ``second``,
        ``features``, ``kendall``, ``top`` (K), ``overlap`` (of their best K). The ``…_rank`` columns of the
        table are the ranks among the same features.
    joint_results : dict of str to JointScreenerResult
        Scores of each joint screener for its shortlist, in the first round.
    data : Dataset or None
        The screened rows, which `plot` and reports use. They are not saved to files or pickles.
    renderers : Renderers or None
        Functions that display the result.
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

    @overload
    def __getitem__(self, index: SupportsIndex) -> RankedFeature: ...
    @overload
    def __getitem__(self, index: slice) -> list[RankedFeature]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> RankedFeature | list[RankedFeature]:
        """Return a formula with its scores, or several: ``result[0]`` is the best one.

        Parameters
        ----------
        index : int or slice
            As for a list.

        Raises
        ------
        IndexError
            If there is no such row.
        OptionError
            If the index is neither an integer nor a slice.
        """
        if isinstance(index, slice):
            return [self[place] for place in range(len(self))[index]]
        if not isinstance(index, SupportsIndex):
            raise OptionError(
                f"a result is indexed by integers, from 0, and {quote(index)} is none: the columns are in "
                "result.table"
            )
        try:
            place = range(len(self))[index]
        except IndexError:
            raise IndexError(
                f"there is no feature {operator.index(index)}: the result has {len(self)}, from 0"
            ) from None
        row = {str(name): value for name, value in self.table.iloc[place].items()}
        return RankedFeature(self.expressions[place], row)

    if not TYPE_CHECKING:  # a type checker would take every name for an attribute

        def __getattr__(self, name: str) -> NoReturn:
            message = describe_missing_attribute(self, name, _ATTRIBUTE_HINTS)
            raise AttributeError(message, name=name, obj=self)

    def __repr__(self) -> str:
        head = f"<ScreenResult: {len(self):,} shown of {self.n_scored:,} features scored>"
        return format_repr(head, self._statements, {"table": self.table})

    @property
    def budget_note(self) -> Message:
        """What the screen did because exact scoring would have exceeded its budget; empty otherwise.

        The part ``budget`` of the record has the numbers, and the search and pool sizes that were chosen.
        """
        return format_budget_note(self.record)

    @property
    def verdict(self) -> Message:
        """Whether the formulas do better than noise, in one or two sentences.

        It is derived from the q-values of all features scored at the false discovery rate `fdr`, 5 % by
        default, or from permutations where there are no q-values. Without either it says why there is no
        verdict. The part ``verdict`` of the record has the kind and the numbers.
        """
        return format_verdict(self.record, self.table)

    def __getstate__(self) -> dict[str, Any]:
        # a pickle contains formulas and scores, but not the rows, which may be private
        return {**self.__dict__, "data": None}

    @property
    def plot(self) -> ResultPlots:
        """Figures as matplotlib axes: ``scores()``, ``funnel()``, ``feature(rank)`` and others.

        Each method takes an optional ``ax`` to draw on. By default it creates a new figure.

        Raises
        ------
        OptionError
            If the result has no renderers, because it was not created by `symscreen.screen`.
        """
        if self.renderers is None:
            raise OptionError("only a result of symscreen.screen has plots")
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

    def summary(self) -> str:
        """Write what was scored, what the budget required, the verdict, the notices and all rows as text.

        Returns
        -------
        str
            Lines without a trailing newline.
        """
        data = self.record["data"]
        heading = (
            f"{self.n_scored:,} features of {format_count(len(data['inputs']), 'input')} scored against "
            f"{data['target']} in {data['rows']:,} rows by {', '.join(self.record['options']['screener'])}; "
            f"{len(self):,} shown"
        )
        return format_summary(heading, self._statements, {"ranking": self.table})

    @property
    def _statements(self) -> tuple[str, ...]:
        """What texts of the result begin with."""
        return tuple(filter(None, (self.budget_note, self.verdict, *self.notices)))

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Save the ranking with its record; `symscreen.load_result` and ``symscreen report`` read it.

        Parameters
        ----------
        path : str or Path
            A file name that ends in ``.csv`` (the record is written to ``NAME.csv.json``), ``.parquet`` or
            ``.json``.
        force : bool
            Whether existing files may be overwritten.

        Raises
        ------
        OutputError
            If a file cannot be written, or exists and `force` is not set.
        """
        write_ranking(self, path, force=force)

    def report(self, path: str | Path, *, force: bool = False) -> None:
        """Write the report, one HTML page without other files: short for `symscreen.write_report`.

        Parameters
        ----------
        path : str or Path
            A file name that ends in ``.html``.
        force : bool
            Whether an existing file may be overwritten.

        Raises
        ------
        OutputError
            If the file cannot be written, or exists and `force` is not set.
        OptionError
            If the extra ``report`` is not installed.
        """
        import symscreen  # results are below reports: the public function connects them

        symscreen.write_report(self, path, force=force)

    def fit(
        self,
        X: Any = None,  # noqa: N803  # as in `screen`
        y: Any = None,
        **options: Any,
    ) -> AnyFitResult:
        """Fit a formula with these features as guesses: short for ``symscreen.fit(X, y, also=result)``.

        Parameters
        ----------
        X, y
            The data, as in `symscreen.fit`; by default the rows of the screen.
        **options
            Options of `symscreen.fit`.

        Returns
        -------
        FitResult, SharedFitResult or GroupedFitResult

        Raises
        ------
        OptionError
            If there are no data, or the screen had units, categories or times, which a fit needs to know.
        InputError
            As `symscreen.fit`.

        Examples
        --------
        >>> import symscreen
        >>> data = symscreen.datasets.load_strogatz("glider2")
        >>> result = symscreen.screen(data.frame, layers="ubb", unary="cos", binary="sub,div", top=1)
        >>> fitted = result.fit(unary="cos", binary="sub,div", layers="u", snap=True)
        >>> fitted.formula.equation
        'target = x1 - cos(x2)/x1'
        """
        import symscreen  # results are below fits: the public function connects them

        if X is None:
            X, y = self._get_rows()  # noqa: N806
        return symscreen.fit(X, y, also=self, **options)

    def _get_rows(self) -> tuple[pd.DataFrame, pd.DataFrame | pd.Series[float]]:
        """Return the inputs and the target of the screen."""
        import pandas as pd

        data, options = self.data, self.record["options"]
        if data is None or self.record.get("units") or options.get("categorical") or options.get("time"):
            raise OptionError(
                "fit needs X here: a copy of a result has no data, and units, categories and times are no "
                "part of it"
            )
        target = data.regression_target
        frame = pd.DataFrame(dict(zip(target.names, np.atleast_2d(target.values), strict=True)))
        return pd.DataFrame(data.columns_by_name), frame if len(target.names) > 1 else frame.iloc[:, 0]

    def transform(self, rows: Any, *, clip: bool = False) -> pd.DataFrame:
        """Compute the features of the ranking on new rows.

        Parameters
        ----------
        rows : path, pandas.DataFrame, dict of columns, or array of shape (m, d)
            Data with the inputs of the features. The columns of an array are x1 … xd.
        clip : bool
            Whether to move inputs outside of the box to its nearest end. The box is the range of each input
            in the screened rows, widened by a tenth, or what the option `ranges` gave.

        Returns
        -------
        pandas.DataFrame, shape (m, k)
            One column per feature, named by its expression, with the index of `rows` if that is a DataFrame.
            NaN in rows outside the domain of a feature.

        Raises
        ------
        DataError
            If an input is missing or not numeric.

        Warns
        -----
        ExtrapolationWarning
            If inputs are outside of the box, and are not clipped.
        UserWarning
            If a feature is undefined in some of the rows, with the number of rows.

        Examples
        --------
        >>> import symscreen
        >>> data = symscreen.datasets.load_strogatz("glider2")
        >>> result = symscreen.screen(data.frame, layers="ub", unary=["cos"], binary=["div"], top=1)
        >>> result.transform(data.frame.head(2)).shape
        (2, 1)
        """
        import pandas as pd

        names = sorted(frozenset().union(*map(collect_columns, self.expressions)))
        columns = read_columns(rows, names, collect_indicators(self.expressions))
        columns = keep_in_box(columns, self.record.get("box"), clip=clip, stacklevel=3)
        columns = convert_to_base_units(columns, self.record.get("units"))
        values = {
            to_text(expression): evaluate_expression(expression, columns) for expression in self.expressions
        }
        index = rows.index if isinstance(rows, pd.DataFrame) else None
        frame = pd.DataFrame(values, index=index)
        n_undefined = {name: int(np.isnan(column).sum()) for name, column in values.items()}
        if any(n_undefined.values()):
            worst = max(n_undefined, key=lambda name: n_undefined[name])
            n_features = sum(count > 0 for count in n_undefined.values())
            warnings.warn(
                f"{n_features} of {len(values)} features are undefined in some of the {len(frame)} rows "
                f"and NaN there; {worst!r} in {n_undefined[worst]}",
                stacklevel=2,
            )
        return frame


def build_screen_result(
    rounds: Sequence[tuple[Space, ScoringResult, NDArray[np.int64], float]],
    screeners: Sequence[AnyScreener],
    record: dict[str, Any],
    *,
    scale: float,
    notices: tuple[str, ...],
    target_ranks: NDArray[np.int64] | None = None,
    units: Units | None = None,
) -> ScreenResult:
    """Build the public result of a screen.

    Parameters
    ----------
    rounds : sequence of (Space, ScoringResult, int64 array, float)
        For each round its space, its result, the indices of the features to report, and Δ of its target.
    screeners : sequence of Screener or JointScreener
        The requested screeners. The first one orders the ranking.
    record : dict
        The run's record.
    scale : float
        Δ of the target.
    notices : tuple of str
        Notices for the user.
    target_ranks : int64 array, optional
        With several rounds, rank of each reported feature by the original target.
    units : Units, optional
        Units of the inputs. If given, the table has the unit of each feature.

    Returns
    -------
    ScreenResult
        Rows are ordered by round.
    """
    import pandas as pd

    parts = [_build_round_table(*part, screeners=screeners, units=units) for part in rounds]
    table = pd.concat([frame for frame, _ in parts], ignore_index=True) if len(parts) > 1 else parts[0][0]
    if len(parts) > 1:
        table.insert(4, "round", np.repeat(np.arange(1, len(parts) + 1), [len(frame) for frame, _ in parts]))
    if target_ranks is not None:
        table.insert(list(table.columns).index("round") + 1, "place_alone", target_ranks)
    table.insert(0, "rank", range(1, len(table) + 1))
    first_space, first_result, _, _ = rounds[0]
    verdict = build_verdict_record(
        record.get("error_control"),
        table,
        first_result.p_value_obstacle,
        screener=screeners[0].name,
        n_rows=record["data"]["rows"],
    )
    record = {**record, "shown": len(table), "verdict": verdict}
    agreement = None
    if first_result.comparison is not None:
        top = record["options"]["top"]
        k = _AGREEMENT_TOP_K if top == "all" else min(len(first_result.features), top)
        agreement = compute_agreement(first_result.comparison, k)
        if len(agreement):
            rows = agreement.astype(object).where(agreement.notna(), None).to_dict("records")
            record["agreement"] = [{str(name): value for name, value in row.items()} for row in rows]
    joint_results = {
        name: build_joint_screener_result(first_space, joint_result)
        for name, joint_result in first_result.joint_results.items()
    }
    expressions = tuple(expression for _, part in parts for expression in part)
    return ScreenResult(
        table, expressions, record["scored"], scale, record, notices, agreement, joint_results
    )


def _build_round_table(
    space: Space,
    result: ScoringResult,
    shown_indices: NDArray[np.int64],
    scale: float,
    *,
    screeners: Sequence[AnyScreener],
    units: Units | None,
) -> tuple[pd.DataFrame, list[Expression]]:
    """Build the table of the reported features of a round, and their formulas."""
    import pandas as pd

    features = result.features.take(shown_indices)
    expressions = [space.build_expression(number) for number in features.number.tolist()]
    columns: dict[str, Any] = {
        "expression": list(map(to_text, expressions)),
        "complexity": features.complexity,
        "layer": space.get_metadata(features.number).layer,
        "direction": [format_direction(int(sign)) for sign in features.direction],
    }
    for index, screener in enumerate(screeners):
        columns[screener.name] = features.scores[:, index]
        if screener.name == "t0":
            columns["gini"] = 1.0 - features.scores[:, index] / scale
    columns["class_size"] = features.class_size
    if units is not None:
        columns["unit"] = [compute_unit(expression, units) for expression in expressions]
    columns |= {name: values[shown_indices] for name, values in result.extra_columns.items()}
    return pd.DataFrame(columns), expressions


class ResultPlots(Protocol):
    """Figures of one result as matplotlib axes; see `symscreen.report.figures.screen_figures.Plots`."""

    def scores(self, ax: Axes | None = None) -> Axes:
        """Draw the scores of the first screener, best first."""
        ...

    def funnel(self, ax: Axes | None = None) -> Axes:
        """Draw how many candidates each layer generated, pruned and kept."""
        ...

    def feature(self, rank: int, ax: Axes | None = None) -> Axes:
        """Draw the target against a feature, with its rank curve."""
        ...

    def agreement(self, ax: Axes | None = None) -> Axes:
        """Draw the agreement of the screeners."""
        ...

    def redundancy(self, ax: Axes | None = None) -> Axes:
        """Draw the correlations of the reported features."""
        ...

    def p_values(self, ax: Axes | None = None) -> Axes:
        """Draw a histogram of p-values."""
        ...


@dataclass(frozen=True)
class Renderers:
    """Functions that display a result.

    Parameters
    ----------
    plot : callable
        Maps a result to its figures.
    html, latex : callable
        Map a result to its representation in a notebook.
    """

    plot: Callable[[ScreenResult], ResultPlots]
    html: Callable[[ScreenResult], str]
    latex: Callable[[ScreenResult], str]

"""The columns of a ranking: one description for the terminal, the HTML page and notebooks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from symscreen.messages import escape_control_chars
from symscreen.screeners import SCREENERS
from symscreen.targets.multioutput import format_target_column, list_recorded_outputs
from symscreen.targets.registry import find_recorded_type
from symscreen.targets.survival import HARRELL_C

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd

    from symscreen.results.screen_result import ScreenResult

SCORES, ALIKE = "scores", "alike"
GINI_HEADING = "Gini"

# a page shows these in its own way, or in the cell of another column
_OMITTED_COLUMNS = {
    "rank", "expression", "gini", "gini_low", "gini_high", "t0_se", "t0_low", "t0_high", "n_redundant",
}  # fmt: skip

# a page folds these, and every column that `COLUMNS` does not know
_DETAIL_COLUMNS = {
    "layer", "place_alone", "p_is_bound", "split_low", "split_high", "unsafe", "uncertain_rows",
    "score_error",
}  # fmt: skip

_P_VALUES = {"p_value", "q_value", "p_family", "split_p"}
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def is_missing(value: Any) -> bool:
    """Check for None, NaN and pandas' missing value."""
    import pandas as pd

    return bool(pd.isna(value))


def format_number(value: Any, form: str) -> str:
    """Format a number of a terminal table; a dash if it is missing."""
    return "-" if is_missing(value) else format(value, form)


def format_integer(value: Any) -> str:
    """Format an integer, which may be stored as a float, of a terminal table."""
    return "-" if is_missing(value) else f"{int(value):,}"


def format_score(value: Any) -> str:
    """Format a score of a terminal table, to five digits."""
    return format_number(value, ".5g")


def format_p_value(value: Any) -> str:
    """Format a p- or q-value of a terminal table, to two digits."""
    return format_number(value, ".2g")


@dataclass(frozen=True, slots=True)
class RankingColumn:
    """A column of a ranking.

    Parameters
    ----------
    name : str
        The column of the result's table.
    short : str
        The heading in the terminal, which does not show the column if this is empty.
    heading : str
        The heading on a page; the name in words if this is empty.
    meaning : str
        The explanation on a page.
    write : callable
        Formats a cell for the terminal.
    alignment : {"left", "right", "fold"}
        The alignment in the terminal.
    """

    name: str
    short: str = ""
    heading: str = ""
    meaning: str = ""
    write: Callable[[Any], str] = str
    alignment: Literal["left", "right", "fold"] = "right"


# In the order of the terminal. `SCORES` holds the place of the columns of the screeners, with gini for t0,
# and `ALIKE` that of the number of features that each one represents.
COLUMNS = {
    column.name: column
    for column in (
        RankingColumn("rank", "rank"),
        RankingColumn("expression", "expression", alignment="fold"),
        RankingColumn("complexity", "compl.", "compl.", "the complexity of the formula"),
        RankingColumn("layer", meaning="the layer that generated it"),
        RankingColumn(
            "direction", "dir.", "dir.", "+ increases with the target, − decreases", alignment="left"
        ),
        RankingColumn(
            "round",
            "round",
            meaning="the round that found it; later rounds screen the residuals of the best model so far",
        ),
        RankingColumn(
            "place_alone", "alone", "", "its place in the first round, among all features", format_integer
        ),
        RankingColumn(SCORES),
        RankingColumn(HARRELL_C, HARRELL_C, write=format_score),
        RankingColumn(
            ALIKE,
            "alike",
            "alike",
            "the number of formulas that it represents: itself, those that are equivalent to it on these "
            "data, and its near-duplicates among the formulas examined",
            format_integer,
        ),
        RankingColumn(
            "p_value",
            heading="p",
            meaning="the probability of a score as good if the feature were unrelated to the target",
        ),
        RankingColumn(
            "q_value",
            "q",
            "q",
            "the false discovery rate of this feature and all better ones, over all features scored",
            format_p_value,
        ),
        RankingColumn(
            "p_is_bound",
            meaning="whether p and q are upper bounds, because values of the feature repeat",
        ),
        RankingColumn(
            "p_family",
            "p all",
            "",
            "the share of permuted targets for which the best of the whole space is as good",
            format_p_value,
        ),
        RankingColumn(
            "stability",
            "stab.",
            "",
            "how often it, or one with the same ranks, was among the best on half-samples",
            "{:.2f}".format,
        ),
        RankingColumn(
            "split_p",
            "p split",
            "p split",
            "the p-value on rows that did not choose the formula, corrected for the number of formulas shown",
            format_p_value,
        ),
        RankingColumn(
            "split_gini",
            "Γ split",
            "",
            "the Gini correlation on rows that did not choose the formula",
            "{:.3f}".format,
        ),
        RankingColumn("split_low", meaning="the lower end of the interval of Γ on these rows"),
        RankingColumn("split_high", meaning="the upper end of the interval of Γ on these rows"),
        RankingColumn("unit", "unit", "", "the unit of its values", alignment="left"),
        RankingColumn(
            "unsafe",
            meaning="why it may be undefined or unbounded on new rows, within the box of the inputs; empty "
            "if it is proved safe",
        ),
        RankingColumn("uncertain_rows", meaning="the number of rows whose order is decided by rounding"),
        RankingColumn(
            "score_error",
            meaning="a bound on the difference between the first score and that of exact arithmetic",
        ),
    )
}


def get_screener_names(result: ScreenResult) -> list[str]:
    """Return the names of the screeners of a result, the one that ranks first."""
    names: list[str] = result.record["options"]["screener"]
    return names


def find_interval_columns(result: ScreenResult, name: str) -> tuple[str, str] | None:
    """Return the names of the two columns of a screener's intervals; None if the table has none."""
    low, high = f"{name}_low", f"{name}_high"
    return (low, high) if {low, high} <= set(result.table.columns) else None


@dataclass(frozen=True, slots=True)
class ScoreColumn:
    """The scores of a screener by all targets, or by one of several.

    Parameters
    ----------
    screener : str
        The name of the screener.
    target : str or None
        The target; None for the scores that rank.
    """

    screener: str
    target: str | None = None

    @property
    def name(self) -> str:
        """The column of the result's table."""
        return self.screener if self.target is None else format_target_column(self.screener, self.target)

    @property
    def is_gini(self) -> bool:
        """Whether the Gini correlation stands for the scores."""
        return self.screener == "t0"


def list_target_scores(result: ScreenResult, screener: str) -> list[ScoreColumn]:
    """List the columns of the scores of a screener by each of several targets."""
    columns = [ScoreColumn(screener, target) for target in list_recorded_outputs(result.record["data"])]
    return [column for column in columns if column.name in result.table]


@dataclass(frozen=True, slots=True)
class ColumnHeading:
    """The heading of a column of a page: its name in the table, its text and its explanation.

    A page folds the details away, so that its table is not too wide. `score` says whose scores the column
    has; None for other columns.
    """

    name: str
    text: str
    meaning: str
    is_detail: bool = False
    score: ScoreColumn | None = None


@dataclass(frozen=True, slots=True)
class EstimateText:
    """The text of an estimate and of the ends of its interval, which are empty without one."""

    value: str
    low: str = ""
    high: str = ""

    @property
    def interval(self) -> str:
        """The interval; empty without one."""
        return f"{self.low} to {self.high}" if self.low else ""

    @property
    def line(self) -> str:
        """The estimate, with its interval in parentheses."""
        return f"{self.value} ({self.interval})" if self.low else self.value

    def typeset(self) -> EstimateText:
        """Write minus signs for hyphens, as a page does."""
        return EstimateText(*(text.replace("-", "−") for text in (self.value, self.low, self.high)))


@dataclass(frozen=True, slots=True)
class TableCell:
    """The text of a cell of a page and its sort key, which is empty for a missing value.

    A narrow cell shows `main`, and below it `notes`, in place of the text.
    """

    text: str
    sort_key: str
    main: str = ""
    notes: tuple[str, ...] = ()


def count_represented(result: ScreenResult) -> list[int]:
    """Count the formulas that each feature represents, with itself: equivalent ones and near-duplicates."""
    counts = result.table["class_size"]
    if "n_redundant" in result.table:
        counts = counts + result.table["n_redundant"]
    return [int(count) for count in counts]


def format_gini(value: Any) -> str:
    """Format a Gini correlation to three decimals; only one of exactly 1 or -1 has none."""
    if is_missing(value):
        return "-"
    return f"{value:g}" if abs(value) == 1.0 else f"{value:.3f}"


def format_gini_estimate(row: Mapping[Any, Any], result: ScreenResult) -> EstimateText:
    """Format the Gini correlation of a row of a ranking with its interval, if there is one."""
    value = format_gini(row["gini"])
    if "gini_low" not in result.table or is_missing(row["gini_low"]):
        return EstimateText(value)
    return EstimateText(value, f"{row['gini_low']:.2f}", f"{row['gini_high']:.2f}")


def format_score_heading(column: ScoreColumn, result: ScreenResult) -> str:
    """Return the heading of the scores of a screener: that of T0 is the Gini correlation."""
    if not column.is_gini:
        return escape_control_chars(column.name)
    if column.target is not None:
        return escape_control_chars(format_target_column(GINI_HEADING, column.target))
    level = result.record.get("intervals", {}).get("level")
    return GINI_HEADING if level is None else f"{GINI_HEADING} ({100 * level:g} %)"


def build_headings(result: ScreenResult) -> list[ColumnHeading]:
    """Build the headings of a result's columns, except rank and formula, in the order of the table.

    The interval, the rank and the selection mark of a screener are part of the cell of its score. The Gini
    correlation stands for T0.
    """
    names = get_screener_names(result)
    merged = {f"{name}{suffix}" for name in names for suffix in ("_rank", "_selected")}
    blank = set() if (result.table["direction"] != "").any() else {"direction"}
    is_signed = "gini" in result.table and find_recorded_type(result.record["data"]).has_signed_gini
    details = _DETAIL_COLUMNS | ({"direction"} if is_signed else set())
    score_columns = [*map(ScoreColumn, names), *list_target_scores(result, "t0")]
    scores = {column.name: column for column in score_columns}
    headings = []
    for name in map(str, result.table.columns):
        if name in _OMITTED_COLUMNS | merged | blank:
            continue
        column = COLUMNS.get(ALIKE if name == "class_size" else name, RankingColumn(name))
        score = scores.get(name)
        text = column.heading or escape_control_chars(name.replace("_", " "))
        headings.append(
            ColumnHeading(
                name,
                text if score is None else format_score_heading(score, result),
                column.meaning or _explain_score(result, name),
                name in details or (score is None and name not in (*COLUMNS, "class_size")),
                score,
            )
        )
    return headings


def build_cells(result: ScreenResult, headings: list[ColumnHeading], index: int) -> list[TableCell]:
    """Format one row of the ranking for a page, with a cell for each heading."""
    row, represented = result.table.iloc[index], count_represented(result)[index]
    return [_build_heading_cell(result, row, heading, represented) for heading in headings]


def _build_heading_cell(
    result: ScreenResult, row: pd.Series[Any], heading: ColumnHeading, represented: int
) -> TableCell:
    """Format a cell of a column of a page."""
    name, score = heading.name, heading.score
    if score is not None:
        return _build_score_cell(result, row, score)
    if name == "class_size":
        return _build_cell(represented)
    if name == "split_gini" and not is_missing(row[name]):
        low, high = (f"{row[bound]:.2f}" for bound in ("split_low", "split_high"))
        estimate = EstimateText(format_gini(row[name]), low, high)
        return replace(_build_cell(row[name]), main=estimate.value, notes=(estimate.typeset().interval,))
    cell = _build_cell(row[name])
    return replace(cell, main=_format_page_p_value(row[name])) if name in _P_VALUES else cell


def format_typeset_number(value: float, digits: int) -> str:
    """Format a number for a page: very small and very large ones have a power of ten.

    Examples
    --------
    >>> format_typeset_number(6e-58, 2), format_typeset_number(-0.0417, 2)
    ('6.0×10⁻⁵⁸', '−0.042')
    >>> format_typeset_number(1754321.0, 3), format_typeset_number(21700.0, 4)
    ('1.75×10⁶', '21,700')
    """
    text = f"{value:.{digits}g}"
    if "e" in text and 1.0 <= abs(value) < 1e6:
        text = f"{value:,.0f}"
    elif "e" in text:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        text = f"{mantissa}×10{str(int(exponent)).translate(_SUPERSCRIPTS)}"
    return text.replace("-", "−")


def _format_page_p_value(value: Any) -> str:
    """Format a p- or q-value for a page, to two digits."""
    return "–" if is_missing(value) else format_typeset_number(value, 2)


def _build_score_cell(result: ScreenResult, row: pd.Series[Any], column: ScoreColumn) -> TableCell:
    """Format a score with its interval, rank and selection mark."""
    name = column.name
    if column.target is not None:
        return TableCell(format_gini(1.0 - row[name]).replace("-", "−"), repr(1.0 - float(row[name])))
    if column.is_gini:
        return _add_rank_and_mark(_build_gini_cell(result, row), row, name)
    return _add_rank_and_mark(_build_plain_score_cell(result, row, name), row, name)


def _build_gini_cell(result: ScreenResult, row: pd.Series[Any]) -> TableCell:
    """Format the Gini correlation with its interval."""
    estimate = format_gini_estimate(row.to_dict(), result).typeset()
    notes = (estimate.interval,) if estimate.interval else ()
    return TableCell(estimate.line, repr(float(row["gini"])), estimate.value, notes)


def _build_plain_score_cell(result: ScreenResult, row: pd.Series[Any], name: str) -> TableCell:
    """Format the score of a screener, with the same number of decimals in its whole column if that fits."""
    cell, bounds = _build_cell(row[name]), find_interval_columns(result, name)
    if is_missing(row[name]):
        return cell
    scores = abs(result.table[name].to_numpy(dtype=float))
    scores = scores[scores > 0.0]  # comparisons with missing scores are false
    is_unit_scale = ((scores >= 0.0005) & (scores < 10.0)).all()
    main = f"{row[name]:.3f}".replace("-", "−") if is_unit_scale else cell.text
    notes: tuple[str, ...] = ()
    if bounds is not None and not is_missing(row[bounds[0]]):
        estimate = EstimateText(main, *(f"{row[bound]:.3g}" for bound in bounds))
        notes = (estimate.typeset().interval,)
    return replace(cell, main=main, notes=notes)


def _add_rank_and_mark(cell: TableCell, row: pd.Series[Any], name: str) -> TableCell:
    """Add the rank of a score, which is then the sort key, and a selection mark."""
    if not cell.sort_key:
        return cell
    text, sort_key, notes = cell.text, cell.sort_key, cell.notes
    rank = _build_cell(row.get(f"{name}_rank"))
    if rank.sort_key:
        text, sort_key = f"{text} ({rank.text})", rank.sort_key
        notes = (*notes, f"rank {rank.text}")
    mark = " ✓" if row.get(f"{name}_selected") is True else ""
    return TableCell(f"{text}{mark}", sort_key, f"{cell.main or cell.text}{mark}", notes)


def _build_cell(value: Any) -> TableCell:
    import pandas as pd

    if is_missing(value):
        return TableCell("–", "")
    if isinstance(value, str):
        return TableCell("−" if value == "-" else escape_control_chars(value), escape_control_chars(value))
    if pd.api.types.is_bool(value):
        return TableCell("yes" if value else "no", str(int(value)))
    if pd.api.types.is_integer(value):
        return TableCell(f"{value:,}", str(value))
    return TableCell(f"{value:.4g}".replace("-", "−"), repr(float(value)))


def _explain_score(result: ScreenResult, name: str) -> str:
    """Explain the column of a screener; empty for other columns."""
    if name not in get_screener_names(result):
        return ""
    summary = SCREENERS[name].summary if name in SCREENERS else ""
    meaning = [_explain_gini(result) if name == "t0" else summary]
    if f"{name}_rank" in result.table:
        meaning.append("(in parentheses) its rank among the features compared")
    if f"{name}_selected" in result.table:
        meaning.append("✓ selected")
    return "; ".join(filter(None, meaning))


def _explain_gini(result: ScreenResult) -> str:
    """Explain the Gini correlation, and its interval if there is one."""
    data = result.record["data"]
    meaning = find_recorded_type(data).explain_gini(data, result.record["options"])
    interval = "; its interval ignores that the formulas were selected" if "gini_low" in result.table else ""
    return f"the Gini correlation: {meaning}{interval}"

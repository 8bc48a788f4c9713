"""The columns of a ranking: one description for the terminal, the HTML page and notebooks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from symscreen.messages import escape_control_chars
from symscreen.screeners import SCREENERS
from symscreen.targets.survival import HARRELL_C

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from symscreen.results.screen_result import ScreenResult


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


SCORES, GAMMA = "scores", "gamma"
# In the order of the terminal; `SCORES` holds the place of the columns of the screeners.
COLUMNS = {
    column.name: column
    for column in (
        RankingColumn("rank", "rank"),
        RankingColumn("expression", "expression", alignment="fold"),
        RankingColumn("complexity", "compl.", "compl.", "the formula's complexity"),
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
            "class_size",
            "class",
            "class",
            "the number of features that are equivalent to it on these data: the same or mirrored ranks, for "
            "linear screeners affine copies",
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
            "p_family",
            "p all",
            "",
            "the share of permuted targets for which the best of the whole space is as good",
            format_p_value,
        ),
        RankingColumn("t0_se", meaning="the standard error of t0"),
        RankingColumn(
            GAMMA,
            meaning="1 − t0/Δ: 1 is the order of the target, −1 the reverse, 0 no relation; its interval is "
            "for a feature chosen in advance",
        ),
        RankingColumn(
            "n_redundant", "for", "", "the number of near-duplicates that it represents", format_integer
        ),
        RankingColumn(
            "stability",
            "stab.",
            "",
            "how often it, or one of its class, was among the best on half-samples",
            "{:.2f}".format,
        ),
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
_OMITTED_COLUMNS = {"rank", "expression"}  # a page shows them in its own way


def get_screener_names(result: ScreenResult) -> list[str]:
    """Return the names of the screeners of a result, the one that ranks first."""
    names: list[str] = result.record["options"]["screener"]
    return names


def find_interval_columns(result: ScreenResult, name: str) -> tuple[str, str] | None:
    """Return the names of the two columns of a screener's intervals; None if the table has none."""
    low, high = f"{name}_low", f"{name}_high"
    return (low, high) if {low, high} <= set(result.table.columns) else None


@dataclass(frozen=True, slots=True)
class ColumnHeading:
    """The heading of a column of a page: its name in the table, its text and its explanation."""

    name: str
    text: str
    meaning: str


@dataclass(frozen=True, slots=True)
class TableCell:
    """The text of a cell of a page and its sort key, which is empty for a missing value."""

    text: str
    sort_key: str


def build_headings(result: ScreenResult) -> list[ColumnHeading]:
    """Build the headings of a result's columns, except rank and formula, in the order of the table.

    The rank, the interval and the selection mark of a screener are part of the cell of its score, and gamma's
    interval is part of gamma's cell.
    """
    merged = {name for pair in _collect_interval_columns(result).values() for name in pair}
    merged |= {f"{name}{suffix}" for name in get_screener_names(result) for suffix in ("_rank", "_selected")}
    blank = set() if (result.table["direction"] != "").any() else {"direction"}
    described = {name: COLUMNS.get(name, RankingColumn(name)) for name in map(str, result.table.columns)}
    return [
        ColumnHeading(
            name,
            column.heading or escape_control_chars(name.replace("_", " ")),
            column.meaning or _explain_score(result, name),
        )
        for name, column in described.items()
        if name not in _OMITTED_COLUMNS | merged | blank
    ]


def build_cells(result: ScreenResult, headings: list[ColumnHeading], index: int) -> list[TableCell]:
    """Format one row of the ranking for a page, with a cell for each heading."""
    row, screeners = result.table.iloc[index], get_screener_names(result)
    bounds = _collect_interval_columns(result)
    return [
        _build_score_cell(row, heading.name, bounds.get(heading.name))
        if heading.name in screeners or heading.name in bounds
        else _build_cell(row[heading.name])
        for heading in headings
    ]


def _build_score_cell(row: pd.Series[Any], name: str, bounds: tuple[str, str] | None) -> TableCell:
    """Format a score with its interval, its rank and a selection mark; the sort key is the rank, if any."""
    cell = _build_cell(row[name])
    if not cell.sort_key:
        return cell
    text, sort_key = cell.text, cell.sort_key
    if bounds is not None:
        low, high = (_build_cell(row[bound]).text for bound in bounds)
        text += f" [{low}, {high}]"
    rank = _build_cell(row.get(f"{name}_rank"))
    if rank.sort_key:
        text, sort_key = f"{text} ({rank.text})", rank.sort_key
    return TableCell(f"{text} ✓" if row.get(f"{name}_selected") is True else text, sort_key)


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


def _collect_interval_columns(result: ScreenResult) -> dict[str, tuple[str, str]]:
    pairs = {name: find_interval_columns(result, name) for name in (*get_screener_names(result), GAMMA)}
    return {name: pair for name, pair in pairs.items() if pair is not None}


def _explain_score(result: ScreenResult, name: str) -> str:
    """Explain the column of a screener; empty for other columns."""
    if name not in get_screener_names(result):
        return ""
    summary = SCREENERS[name].summary if name in SCREENERS else ""
    meaning = [_explain_t0_scale(result) if name == "t0" else summary]
    if f"{name}_rank" in result.table:
        meaning.append("(in parentheses) its rank among the features compared")
    if f"{name}_selected" in result.table:
        meaning.append("✓ selected")
    return "; ".join(filter(None, meaning))


def _explain_t0_scale(result: ScreenResult) -> str:
    """Describe the scale of T0; for rankings and stages only one end is good."""
    delta = result.scale
    if {"ranking", "stages"} & set(result.record["data"]):
        return f"0 is best, {delta:.5g} no relation"
    free = "; both ends are good" if result.record["options"]["sign"] == "free" else ""
    return f"0 is the order of the target, {2 * delta:.5g} the reverse, {delta:.5g} no relation{free}"

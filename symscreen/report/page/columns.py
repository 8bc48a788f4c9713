"""The columns of the ranking on a page: how each is headed, what it means, how its cells are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symscreen.errors import printable
from symscreen.report.pictures.scores import interval_columns
from symscreen.screeners import SCREENERS

if TYPE_CHECKING:
    import pandas as pd

    from symscreen.result import ScreenResult

__all__ = ["Cell", "Heading", "cells_of", "headings_of"]

_HEADINGS = {
    "complexity": "compl.",
    "direction": "dir.",
    "class_size": "class",
    "p_value": "p",
    "q_value": "q",
}
_MEANINGS = {
    "complexity": "the formula's complexity",
    "layer": "the layer that generated it",
    "direction": "+ rises with the response, − falls",
    "class_size": "how many features the first screener cannot tell from this one on these data",
    "p_value": "the chance of a score as good if the feature were unrelated to the response",
    "q_value": "the false discovery rate of this feature and all better ones, over all features scored",
    "p_family": "the share of permuted responses for which the best of the whole space is as good",
    "t0_se": "the standard error of t0",
    "gamma": "1 − t0/Δ: 1 has the order of the response, −1 the reverse, 0 none; its interval as of a "
    "feature chosen beforehand",
    "stability": "how often it, or one of its class, was among the best on half-samples",
    "stands_for": "how many near-duplicates it stands for",
    "unit": "the unit of its values",
    "unsafe_rows": "in how many rows rounding decides where the row stands",
    "unsafe_by": "how far the first score may be from that of exact arithmetic",
    "round": "which round found it; later ones screen what the best model of those before leaves",
    "place_alone": "its place in the first round, among all features",
}
_UNHEADED = {"rank", "expression"}


@dataclass(frozen=True, slots=True)
class Heading:
    """A column's heading.

    Parameters
    ----------
    name : str
        The column of the result's table.
    text : str
        What stands above it.
    meaning : str
        What it tells; may be empty.
    """

    name: str
    text: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: what is read, and by what it is sorted (empty where there is nothing)."""

    text: str
    value: str


def headings_of(result: ScreenResult) -> list[Heading]:
    """Head the columns that a result has, but rank and formula.

    Parameters
    ----------
    result : ScreenResult
        A result.

    Returns
    -------
    list of Heading
        In the order of the table. A screener's rank, its interval and whether it selects a feature stand in
        the cell of its score, gamma's interval in gamma's.
    """
    beside = {name for pair in _bounds(result).values() for name in pair}
    beside |= {f"{name}{more}" for name in _screeners(result) for more in ("_rank", "_selected")}
    blank = {"direction"} if not (result.table["direction"] != "").any() else set()
    return [
        Heading(name, _HEADINGS.get(name, printable(name.replace("_", " "))), _meaning(result, name))
        for name in map(str, result.table.columns)
        if name not in _UNHEADED | beside | blank
    ]


def cells_of(result: ScreenResult, headings: list[Heading], place: int) -> list[Cell]:
    """Write one row of the ranking, a cell for each heading."""
    row, bounds, screeners = result.table.iloc[place], _bounds(result), _screeners(result)
    return [
        _score(row, heading.name, bounds.get(heading.name))
        if heading.name in screeners or heading.name in bounds
        else _cell(row[heading.name])
        for heading in headings
    ]


def _score(row: pd.Series[Any], name: str, bounds: tuple[str, str] | None) -> Cell:
    """Write a score, its interval, its rank and a mark where the feature is selected; sorted by the rank."""
    cell = _cell(row[name])
    if not cell.value:
        return cell
    text, value = cell.text, cell.value
    if bounds is not None:
        low, high = (_cell(row[bound]).text for bound in bounds)
        text += f" [{low}, {high}]"
    rank = _cell(row.get(f"{name}_rank"))
    if rank.value:
        text, value = f"{text} ({rank.text})", rank.value
    return Cell(f"{text} ✓" if row.get(f"{name}_selected") is True else text, value)


def _screeners(result: ScreenResult) -> list[str]:
    names: list[str] = result.record["options"]["screener"]
    return names


def _bounds(result: ScreenResult) -> dict[str, tuple[str, str]]:
    pairs = {name: interval_columns(result, name) for name in (*_screeners(result), "gamma")}
    return {name: pair for name, pair in pairs.items() if pair is not None}


def _meaning(result: ScreenResult, name: str) -> str:
    if name in _MEANINGS:
        return _MEANINGS[name]
    if name not in _screeners(result):
        return ""
    meaning = [_t0_scale(result) if name == "t0" else SCREENERS[name].summary if name in SCREENERS else ""]
    if f"{name}_rank" in result.table:
        meaning.append("(in parentheses) its rank among the features compared")
    if f"{name}_selected" in result.table:
        meaning.append("✓ selected")
    return "; ".join(filter(None, meaning))


def _t0_scale(result: ScreenResult) -> str:
    """Say where T0 lies; of rankings and stages its scale has one end only."""
    delta = result.scale
    if {"ranking", "stages"} & set(result.record["data"]):
        return f"0 tells all, {delta:.5g} nothing"
    free = "; either end is good" if result.record["options"]["sign"] == "free" else ""
    return f"0 has the order of the response, {2 * delta:.5g} the reverse, {delta:.5g} no relation{free}"


def _cell(value: Any) -> Cell:
    import pandas as pd

    if bool(pd.isna(value)):
        return Cell("–", "")
    if isinstance(value, str):
        return Cell("−" if value == "-" else printable(value), printable(value))
    if pd.api.types.is_bool(value):
        return Cell("yes" if value else "no", str(int(value)))
    if pd.api.types.is_integer(value):
        return Cell(f"{value:,}", str(value))
    return Cell(f"{value:.4g}".replace("-", "−"), repr(float(value)))

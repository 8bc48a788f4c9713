"""Notes below a ranking: near-duplicates, stability, groups, marks, further options."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from symscreen.messages import escape_control_chars, name_option
from symscreen.report.columns import is_missing
from symscreen.results.rounding_flag import is_rounding_flagged
from symscreen.targets.registry import find_recorded_type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_TRUST_OPTIONS = ("fdr", "permutations", "stability", "max_correlation", "intervals", "splits")
_MIN_INPUTS = 3  # number of inputs from which on a list may be full of inputs without an effect


def explain_trust_columns(record: Mapping[str, Any]) -> list[str]:
    """Describe near-duplicates that a limit of the user leaves out, stability, splits, groups of intervals.

    Parameters
    ----------
    record : mapping
        The record of the result.

    Returns
    -------
    list of str
    """
    lines = []
    if "redundancy" in record and record["options"].get("max_correlation") is not None:
        distinct = record["redundancy"]
        lines.append(
            f"left out of the list: features whose rank correlation with a better one is above "
            f"{distinct['cap']:g}; a file ({name_option('out')}) lists {_describe_listed(distinct)}."
        )
    if "stability" in record:
        lines.append(_explain_stability(record["stability"]))
    if "sample_splitting" in record:
        lines.append(_explain_split(record["sample_splitting"]))
    if "groups" in record.get("intervals", {}):
        groups = escape_control_chars(record["intervals"]["groups"])
        lines.append(f"the intervals leave out groups by {groups}.")
    return lines


def _describe_listed(distinct: Mapping[str, Any]) -> str:
    """Say whether the record lists all near-duplicates, or only the best of very many."""
    n_listed = distinct["listed_at_most"]
    is_full = any(len(each["features"]) == n_listed for each in distinct["shown"])
    return f"the best {n_listed:,} of each" if is_full else "them"


def suggest_diagnostics(record: Mapping[str, Any]) -> list[str]:
    """Suggest the diagnostic options if all of them are available and none was used.

    Parameters
    ----------
    record : mapping
        The record of the result.

    Returns
    -------
    list of str
        At most three lines. All but the first are for tables of at least three inputs.
    """
    options, data = record["options"], record["data"]
    is_numeric = find_recorded_type(data).supports_inference
    is_exact = options["search"] == "exact" and options["rounds"] == 1 and not options["prune_by"]
    is_plain = options["screener"][0] == "t0" and options["top"] != "all"
    has_diagnostics = (
        any(options.get(name) is not None for name in _TRUST_OPTIONS) or "sample_splitting" in record
    )
    if not (is_numeric and is_exact and is_plain) or "partial" in record or has_diagnostics:
        return []
    suggested: list[tuple[str, Any]] = [("permutations", 200)]
    if options.get("time") is None:  # the others assume independent rows
        suggested += [("stability", 10), ("intervals", True)]
    lines = [f"more on reliability: {', '.join(name_option(*each) for each in suggested)}."]
    if len(data["inputs"]) >= _MIN_INPUTS:
        if "xi" not in options["screener"]:
            lines.append(f"curves with an optimum: {name_option('screener', 'xi')}.")
        lines.append("a formula may rank high by some of its inputs alone; fit leaves out the others.")
    return lines


def _explain_stability(metadata: Mapping[str, Any]) -> str:
    """Explain the column of stability, with the bound on false selections if there is one."""
    halves = f"{2 * metadata['pairs']:,} half-samples"
    if metadata["groups"] is not None:
        halves += f" (of {metadata['units']:,} groups by {escape_control_chars(metadata['groups'])})"
    text = f"stab.: the share of {halves} in which it, or one with the same ranks, is among the best."
    if "0.9" not in metadata["false_at_most"]:
        return text
    return (
        f"{text} Of the features that a half-sample selects no more often than chance, at most "
        f"{metadata['false_at_most']['0.9']:.2g} are expected to have a share of 0.9 or more (Shah and "
        "Samworth 2013)."
    )


def _explain_split(metadata: Mapping[str, Any]) -> str:
    """Explain the p-values of rows that did not choose the formulas."""
    rows = f"{metadata['test_rows']:,} rows that the screen did not use"
    if "splits" in metadata:
        rows = f"the rows that the screens of {metadata['splits']:,} splits did not use"
    return (
        f"p split: tested on {rows}, for all formulas shown together. With probability of at least 0.95, no "
        "formula without relation to the target has 0.05 or less. With 1, these rows show no relation."
    )


def format_rounding_mark(row: Mapping[Any, Any], record: Mapping[str, Any]) -> str:
    """Return ``~`` for a feature whose score is substantially affected by rounding, else an empty string.

    Parameters
    ----------
    row : mapping
        A row of the ranking.
    record : mapping
        The record of the result.

    Returns
    -------
    str

    Examples
    --------
    >>> record = {"data": {"rows": 50, "gini_mean_difference": 2.0}, "options": {"screener": ["t0"]}}
    >>> format_rounding_mark({"uncertain_rows": 50, "score_error": 1.9}, record)
    '~'
    """
    rows, score_error = _get_rounding_figures(row)
    data, ranking_screener = record["data"], record["options"]["screener"][0]
    scale = data["gini_mean_difference"] if ranking_screener == "t0" else 1.0
    return "~" if is_rounding_flagged(rows, score_error, n=data["rows"], scale=scale) else ""


def explain_rounding_marks(rows: Sequence[Mapping[Any, Any]], record: Mapping[str, Any]) -> list[str]:
    """Explain the mark of uncertain features, and mention features that rounding affects only slightly.

    Parameters
    ----------
    rows : sequence of mapping
        The rows of the ranking that are shown.
    record : mapping
        The record of the result.

    Returns
    -------
    list of str
        At most two lines; empty if rounding affects no feature shown.
    """
    ranking_screener, lines = record["options"]["screener"][0], []
    figures = [(*_get_rounding_figures(row), format_rounding_mark(row, record)) for row in rows]
    if max_count := max((count for count, _, mark in figures if mark), default=0.0):
        lines.append(
            f"~: rounding decides the order of up to {_format_row_count(max_count)} of it; a file "
            f"({name_option('out')}) has uncertain_rows and score_error."
        )
    slight = [(count, error) for count, error, mark in figures if count > 0 and not mark]
    if slight:
        max_count, errors = max(count for count, _ in slight), [error for _, error in slight]
        others = f"{len(slight):,} {'other ' if lines else ''}feature{'' if len(slight) == 1 else 's'}"
        effect = ""
        if not any(map(math.isnan, errors)):
            effect = f", which changes {ranking_screener} by at most {max(errors):.2g}"
        lines.append(
            f"rounding decides the order of up to {_format_row_count(max_count)} of {others}{effect}."
        )
    return lines


def format_safety_mark(row: Mapping[Any, Any]) -> str:
    """Return ``!`` for a feature that is unsafe on new rows, else an empty string.

    Examples
    --------
    >>> format_safety_mark({"unsafe": "pole"}), format_safety_mark({"unsafe": ""}), format_safety_mark({})
    ('!', '', '')
    """
    reason = row.get("unsafe", "")
    return "" if is_missing(reason) or not reason else "!"


def explain_safety(rows: Sequence[Mapping[Any, Any]], record: Mapping[str, Any]) -> list[str]:
    """Explain the mark of unsafe features, or say how many were left out; by reason.

    Parameters
    ----------
    rows : sequence of mapping
        The rows of the ranking that are shown.
    record : mapping
        The record of the result.

    Returns
    -------
    list of str
        At most one line; empty if all features are safe.
    """
    unsafe = record.get("safety", {}).get("unsafe", {})
    if not unsafe:
        return []
    if record["options"].get("unsafe") == "drop":
        counts = ", ".join(f"{count:,} {reason}" for reason, count in unsafe.items())
        return [f"left out as unsafe on new rows: {counts}."]
    reasons = [str(row["unsafe"]) for row in rows if format_safety_mark(row)]
    counts = ", ".join(f"{reasons.count(reason):,} {reason}" for reason in unsafe if reason in reasons)
    if not counts:
        return []
    drop = name_option("unsafe", "drop")
    return [f"!: unsafe, it may be undefined or unbounded on new rows ({counts}); {drop} leaves them out."]


def _format_row_count(count: float) -> str:
    return f"{count:,.0f} {'row' if count == 1 else 'rows'}"


def _get_rounding_figures(row: Mapping[Any, Any]) -> tuple[float, float]:
    """Return the number of uncertain rows and the score error of a row, NaN if missing."""
    values: tuple[Any, Any] = (row.get("uncertain_rows"), row.get("score_error"))
    n_rows, score_error = (math.nan if is_missing(value) else float(value) for value in values)
    return n_rows, score_error

"""Lines on how to read a ranking whose response is a class, several targets, or a time until an event.

How to read what tells how far a ranking can be trusted: near-duplicates left out, stability, intervals.

How a ranking tells of features whose scores rounding decides: a mark, and lines on how to read it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from symscreen.errors import escape_control_chars
from symscreen.results.screen_result import is_flagged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


__all__ = [
    "describe_target",
    "explain_trust_columns",
    "explain_unsafe_marks",
    "format_direction_legend",
    "format_intervals",
    "format_target_prefix",
    "format_unsafe_mark",
    "suggest_diagnostics",
]

_MAX_LISTED = 6


def format_target_prefix(data: Mapping[str, Any]) -> str:
    """Say what kind of response features were scored against, before its name; empty for numbers.

    Parameters
    ----------
    data : mapping
        What the record of a run tells of its data.

    Returns
    -------
    str
    """
    words = {
        "ranking": "the rankings ",
        "stages": "the stages ",
        "classes": "the classes of ",
        "several": "the targets ",
        "survival": "the time until the event, ",
    }
    return next((told for kind, told in words.items() if kind in data), "")


def format_direction_legend(data: Mapping[str, Any]) -> str | None:
    """Say how to read directions; None where there are none.

    Parameters
    ----------
    data : mapping
        As of `against`.

    Returns
    -------
    str or None
    """
    if "ranking" in data:
        return None
    if "stages" in data:
        return "dir.: + rises with every pair of stages, - falls; none where they disagree."
    if "several" in data:
        return "dir.: + rises with every target, - falls; none where they disagree."
    if "classes" in data:
        names = data["classes"]["names"]
        return f"dir.: + is higher in {escape_control_chars(names[1])}, - lower." if len(names) == 2 else None
    if "survival" in data:
        return "dir.: + lasts longer where it is higher, - shorter."
    return "dir.: + rises with the response, - falls."


def describe_target(data: Mapping[str, Any], options: Mapping[str, Any], delta: float) -> list[str]:
    """Tell of the response, and what its T0 is of.

    Parameters
    ----------
    data : mapping
        As of `against`.
    options : mapping
        The options of the run.
    delta : float
        Δ.

    Returns
    -------
    list of str
        Empty for kinds that others tell of.
    """
    t0 = "t0" in options["screener"]
    if "classes" in data:
        names, rows = data["classes"]["names"], data["classes"]["rows"]
        pairs = list(zip(names, rows, strict=True))[:_MAX_LISTED]
        shown = ", ".join(f"{escape_control_chars(name)} {count:,}" for name, count in pairs)
        more = f" and {len(rows) - _MAX_LISTED} more" if len(rows) > _MAX_LISTED else ""
        mean = "" if len(rows) == 2 else "the mean over classes of one against the rest; "
        scale = f"t0: {mean}0 tells the classes apart, {delta:.5g} does not."
        return [f"{len(rows)} classes, and their rows: {shown}{more}.", *([scale] if t0 else [])]
    if "several" in data:
        how = "mean over" if options["across"] == "mean" else "worst of"
        scale = f"t0: the {how} targets, each in units of its own Δ and without a sign; 0 is best, 1 none."
        return [scale] if t0 else [f"{options['screener'][0]}: the {how} targets, without a sign."]
    if "survival" in data:
        told = data["survival"]
        met = f"{escape_control_chars(told['event'])} was met in {told['met']:,} of {data['rows']:,} rows"
        share = "t0: twice the share of comparable pairs in which the higher one lasted shorter"
        return [
            f"{met}; {told['comparable']:,} pairs of rows are comparable.",
            f"{share}; 1 is none. harrell_c: 1 - t0/2.",
        ]
    if "weighted" in data:
        rows = data["weighted"]["effective_rows"]
        by = escape_control_chars(options["weights"])
        return [f"{data['rows']:,} rows weigh as {by} says: as much as {rows:,.1f} of one weight would."]
    return []


_TRUST_OPTIONS = ("fdr", "permutations", "stability", "distinct", "intervals")


def explain_trust_columns(record: Mapping[str, Any]) -> list[str]:
    """Explain the columns that only some rankings have.

    Parameters
    ----------
    record : mapping
        Of the result.

    Returns
    -------
    list of str
        Lines for people; none where there are no such columns.
    """
    lines = []
    if "distinct" in record:
        told = record["distinct"]
        lines.append(
            f"for: how many left out it stands for, whose rank correlation with it is above {told['cap']:g}; "
            f"a file (--out) names {_describe_listed(told['shown'])}."
        )
    if "stability" in record:
        lines.append(_explain_stability(record["stability"]))
    return lines


def _describe_listed(representatives: Sequence[Mapping[str, Any]]) -> str:
    """Say whether the record names all near-duplicates: of very many it holds the best."""
    most = max(
        (len(one["features"]) for one in representatives if one["stands_for"] > len(one["features"])),
        default=0,
    )
    return f"the best {most:,} of each" if most else "them"


def format_intervals(
    rows: Sequence[Mapping[Any, Any]], record: Mapping[str, Any]
) -> tuple[str, list[str], str] | None:
    """Write the intervals of Γ that a ranking shows.

    Parameters
    ----------
    rows : sequence of mapping
        Of the ranking.
    record : mapping
        Of the result.

    Returns
    -------
    tuple of str, list of str and str, or None
        The column's heading and cells, and how to read it; None where there are no intervals.
    """
    if "intervals" not in record:
        return None
    heading = f"gamma {100 * record['intervals']['level']:g} %"
    ends = [(row["gamma_low"], row["gamma_high"]) for row in rows]
    between = " to " if any(low < 0 for low, _ in ends) else "-"
    delta, told = record["data"]["gini_mean_difference"], record["intervals"]
    by = f", by leaving out groups by {escape_control_chars(told['groups'])}" if "groups" in told else ""
    legend = (
        f"{heading}: the interval of gamma = 1 - t0/{delta:.5g}, as of a feature chosen beforehand{by}: it "
        "takes no account of the selection."
    )
    return heading, [f"{low:.2f}{between}{high:.2f}" for low, high in ends], legend


def suggest_diagnostics(record: Mapping[str, Any]) -> list[str]:
    """Name the options that tell how far to trust a ranking, where all of them can be had and none was asked.

    Parameters
    ----------
    record : mapping
        Of the result.

    Returns
    -------
    list of str
        One line, or none.
    """
    options, data = record["options"], record["data"]
    numeric = not data.keys() & {"ranking", "stages", "classes", "several", "survival", "weighted"}
    whole = options["search"] == "exact" and options["rounds"] == 1 and not options["cut"]
    plain = options["screener"][0] == "t0" and options["top"] != "all" and not options["p_values"]
    if (
        not (numeric and whole and plain)
        or "partial" in record
        or any(options.get(name) is not None for name in _TRUST_OPTIONS)
    ):
        return []
    return ["how far to trust it: --fdr 0.05, --permutations 200, --stability 10, --intervals."]


def _explain_stability(metadata: Mapping[str, Any]) -> str:
    halves = f"{2 * metadata['pairs']:,} half-samples"
    if metadata["groups"] is not None:
        halves += f" (of {metadata['units']:,} groups by {escape_control_chars(metadata['groups'])})"
    text = f"stab.: the share of {halves} in which its class is among the best."
    if "0.9" not in metadata["false_at_most"]:
        return text
    return (
        f"{text} Of the features that a half selects no more often than chance would, at most "
        f"{metadata['false_at_most']['0.9']:.2g} are expected to have a share of 0.9 or more (Shah and "
        "Samworth "
        "2013)."
    )


def format_unsafe_mark(row: Mapping[Any, Any], record: Mapping[str, Any]) -> str:
    """Return ``~`` for a feature whose score rounding decides by more than a little, else nothing.

    Parameters
    ----------
    row : mapping
        Of the ranking.
    record : mapping
        Of the result.

    Returns
    -------
    str

    Examples
    --------
    >>> record = {"data": {"rows": 50, "gini_mean_difference": 2.0}, "options": {"screener": ["t0"]}}
    >>> format_unsafe_mark({"unsafe_rows": 50, "unsafe_by": 1.9}, record), format_unsafe_mark({}, record)
    ('~', '')
    """
    rows, by = _get_unsafe_figures(row)
    data, first = record["data"], record["options"]["screener"][0]
    scale = data["gini_mean_difference"] if first == "t0" else 1.0
    return "~" if is_flagged(rows, by, n=data["rows"], scale=scale) else ""


def explain_unsafe_marks(rows: Sequence[Mapping[Any, Any]], record: Mapping[str, Any]) -> list[str]:
    """Explain the mark of unsafe features, and tell of those that are too slightly so for one.

    Parameters
    ----------
    rows : sequence of mapping
        Of the ranking, those that are shown.
    record : mapping
        Of the result.

    Returns
    -------
    list of str
        At most two lines; none where rounding decides nothing of what is shown.
    """
    first, lines = record["options"]["screener"][0], []
    unsafe = [(*_get_unsafe_figures(row), format_unsafe_mark(row, record)) for row in rows]
    if most := max((count for count, _, mark in unsafe if mark), default=0.0):
        lines.append(
            f"~: unsafe: rounding decides up to {_format_row_count(most)} of it; a file (--out) has "
            "unsafe_rows and "
            "unsafe_by."
        )
    slight = [(count, by) for count, by, mark in unsafe if count > 0 and not mark]
    if slight:
        most, bounds = max(count for count, _ in slight), [by for _, by in slight]
        others = f"{len(slight):,} {'other ' if lines else ''}feature{'' if len(slight) == 1 else 's'}"
        moves = "" if any(map(math.isnan, bounds)) else f", which moves {first} by at most {max(bounds):.2g}"
        lines.append(f"rounding decides up to {_format_row_count(most)} of {others}{moves}.")
    return lines


def _format_row_count(count: float) -> str:
    return f"{count:,.0f} {'row' if count == 1 else 'rows'}"


def _get_unsafe_figures(row: Mapping[Any, Any]) -> tuple[float, float]:
    """Return the two figures of a row, NaN where they are missing."""
    import pandas as pd

    rows: Any = row.get("unsafe_rows")
    by: Any = row.get("unsafe_by")
    return math.nan if bool(pd.isna(rows)) else float(rows), math.nan if bool(pd.isna(by)) else float(by)

"""Lines on how to read a ranking whose response is a class, several targets, or a time until an event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symscreen.errors import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["against", "direction_legend", "read_response"]

_FEW = 6


def against(data: Mapping[str, Any]) -> str:
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


def direction_legend(data: Mapping[str, Any]) -> str | None:
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
        return f"dir.: + is higher in {printable(names[1])}, - lower." if len(names) == 2 else None
    if "survival" in data:
        return "dir.: + lasts longer where it is higher, - shorter."
    return "dir.: + rises with the response, - falls."


def read_response(data: Mapping[str, Any], options: Mapping[str, Any], delta: float) -> list[str]:
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
        pairs = list(zip(names, rows, strict=True))[:_FEW]
        shown = ", ".join(f"{printable(name)} {count:,}" for name, count in pairs)
        more = f" and {len(rows) - _FEW} more" if len(rows) > _FEW else ""
        mean = "" if len(rows) == 2 else "the mean over classes of one against the rest; "
        scale = f"t0: {mean}0 tells the classes apart, {delta:.5g} does not."
        return [f"{len(rows)} classes, and their rows: {shown}{more}.", *([scale] if t0 else [])]
    if "several" in data:
        how = "mean over" if options["across"] == "mean" else "worst of"
        scale = f"t0: the {how} targets, each in units of its own Δ and without a sign; 0 is best, 1 none."
        return [scale] if t0 else [f"{options['screener'][0]}: the {how} targets, without a sign."]
    if "survival" in data:
        told = data["survival"]
        met = f"{printable(told['event'])} was met in {told['met']:,} of {data['rows']:,} rows"
        share = "t0: twice the share of comparable pairs in which the higher one lasted shorter"
        return [
            f"{met}; {told['comparable']:,} pairs of rows are comparable.",
            f"{share}; 1 is none. harrell_c: 1 - t0/2.",
        ]
    if "weighted" in data:
        rows = data["weighted"]["effective_rows"]
        by = printable(options["weights"])
        return [f"{data['rows']:,} rows weigh as {by} says: as much as {rows:,.1f} of one weight would."]
    return []

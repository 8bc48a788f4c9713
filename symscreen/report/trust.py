"""How to read what tells how far a ranking can be trusted: near-duplicates left out, stability, intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symscreen.errors import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["intervals_shown", "offers", "read_trust"]

_ASKED = ("fdr", "permutations", "stability", "distinct", "intervals")


def read_trust(record: Mapping[str, Any]) -> list[str]:
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
            f"a file (--out) names {_named(told['shown'])}."
        )
    if "stability" in record:
        lines.append(_stability(record["stability"]))
    return lines


def _named(shown: Sequence[Mapping[str, Any]]) -> str:
    """Say whether the record names all near-duplicates: of very many it holds the best."""
    most = max((len(one["features"]) for one in shown if one["stands_for"] > len(one["features"])), default=0)
    return f"the best {most:,} of each" if most else "them"


def intervals_shown(
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
    by = f", by leaving out groups by {printable(told['groups'])}" if "groups" in told else ""
    legend = (
        f"{heading}: the interval of gamma = 1 - t0/{delta:.5g}, as of a feature chosen beforehand{by}: it "
        "takes no account of the selection."
    )
    return heading, [f"{low:.2f}{between}{high:.2f}" for low, high in ends], legend


def offers(record: Mapping[str, Any]) -> list[str]:
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
        or any(options.get(name) is not None for name in _ASKED)
    ):
        return []
    return ["how far to trust it: --fdr 0.05, --permutations 200, --stability 10, --intervals."]


def _stability(told: Mapping[str, Any]) -> str:
    halves = f"{2 * told['pairs']:,} half-samples"
    if told["groups"] is not None:
        halves += f" (of {told['units']:,} groups by {printable(told['groups'])})"
    text = f"stab.: the share of {halves} in which its class is among the best."
    if "0.9" not in told["false_at_most"]:
        return text
    return (
        f"{text} Of the features that a half selects no more often than chance would, at most "
        f"{told['false_at_most']['0.9']:.2g} are expected to have a share of 0.9 or more (Shah and Samworth "
        "2013)."
    )

"""How to read what tells how far a ranking can be trusted: near-duplicates left out, stability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symscreen.errors import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["read_trust"]


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
            "a file (--out) names them."
        )
    if "stability" in record:
        lines.append(_stability(record["stability"]))
    return lines


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

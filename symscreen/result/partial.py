"""What is told of a screen that a time limit ended before it had looked at all of its space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen.expansion import Space
    from symscreen.result.merging import Streamed

__all__ = ["partial_in_brief", "partial_record", "partial_told"]


def partial_record(space: Space, outcome: Streamed | None, layers: int) -> dict[str, Any]:
    """Say for the record where a screen ended.

    Parameters
    ----------
    space : Space
        What was scored.
    outcome : Streamed or None
        What came of it.
    layers : int
        How many layers were asked for.

    Returns
    -------
    dict
        Empty where nothing is missing. ``ended_in_layer`` tells in which layer, from 1, the time was over
        while the space was grown: it and those behind it are missing.
    """
    if outcome is None or (outcome.complete and space.ended_in is None):
        return {}
    told: dict[str, Any] = {"candidates_looked_at": outcome.done, "candidates": outcome.total}
    if space.ended_in is not None:
        told |= {"ended_in_layer": space.ended_in, "layers": layers}
    return {"partial": told}


def partial_told(partial: Mapping[str, Any]) -> str:
    """Tell people where a screen ended.

    Parameters
    ----------
    partial : mapping
        The part ``partial`` of a run's record.

    Returns
    -------
    str

    Examples
    --------
    >>> partial_told({"candidates_looked_at": 9, "candidates": 9, "ended_in_layer": 3, "layers": 3})
    'partial: time ran out while layer 3 of 3 was grown; this is the ranking of the 2 layers before'
    """
    looked, of = partial["candidates_looked_at"], partial["candidates"]
    if "ended_in_layer" not in partial:
        return (
            f"partial: time ran out when {looked:,} of {of:,} candidates had been looked at, in their fixed "
            "order; the others are not in this ranking"
        )
    layer = partial["ended_in_layer"]
    before = "the inputs" if layer == 1 else f"the {_layers(layer - 1)} before"
    some = "" if looked == of else f", of which {looked:,} of {of:,} features were looked at"
    return (
        f"partial: time ran out while layer {layer} of {partial['layers']} was grown; this is the ranking of "
        f"{before}{some}"
    )


def _layers(number: int) -> str:
    return "layer" if number == 1 else f"{number} layers"


def partial_in_brief(partial: Mapping[str, Any] | None) -> str:
    """Tell it in few words, before the number of features.

    Examples
    --------
    >>> partial_in_brief({"candidates_looked_at": 60, "candidates": 1000})
    'partial, 60 of 1,000 candidates: '
    >>> partial_in_brief(None)
    ''
    """
    if partial is None:
        return ""
    if "ended_in_layer" in partial:
        return f"partial, {partial['ended_in_layer'] - 1} of {_layers(partial['layers'])}: "
    return f"partial, {partial['candidates_looked_at']:,} of {partial['candidates']:,} candidates: "

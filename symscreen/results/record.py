"""Record of a run: everything that shows how a result was computed, and that repeats the run.

A record contains plain values only, ready for JSON, and no time, so that equal runs have equal records. If a
time limit stopped a run early, the part ``partial`` describes where.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.expansion import EXCLUSION_REASONS, CandidateStatus
from symscreen.grammar import OPERATORS
from symscreen.grammar.grammar_files import write_constants
from symscreen.messages import Message, name_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen.data import Dataset
    from symscreen.expansion import LayerCount, Space
    from symscreen.grammar import Grammar
    from symscreen.screening.scoring.streaming import StreamResult
    from symscreen.targets import Target


RECORD_FORMAT = 3

LIST_LIMITS = {
    "shortlist": "those that the joint screeners were shown",
    "search": "those that the search kept",
    "finalists": "those that were scored on all rows",
    "time_limit": "a longer list would take longer than the time limit",
    "length": "the longest list that is made",
}


def build_partial_record(space: Space, stream_result: StreamResult | None, n_layers: int) -> dict[str, Any]:
    """Build the record of where a time limit stopped a screen.

    Parameters
    ----------
    space : Space
        The space that was scored.
    stream_result : StreamResult or None
        Its result.
    n_layers : int
        Number of requested layers.

    Returns
    -------
    dict
        Empty if the screen is complete. ``ended_in_layer``, from 1, is the layer that was being generated
        when the time ran out; it and all later layers are missing.
    """
    if stream_result is None or (stream_result.is_complete and space.stopped_at_layer is None):
        return {}
    partial: dict[str, Any] = {
        "candidates_looked_at": stream_result.n_done,
        "candidates": stream_result.n_total,
    }
    if space.stopped_at_layer is not None:
        partial |= {"ended_in_layer": space.stopped_at_layer, "layers": n_layers}
    return {"partial": partial}


def format_partial_notice(partial: Mapping[str, Any]) -> str:
    """Format the notice about where a time limit stopped a screen.

    Parameters
    ----------
    partial : mapping
        The part ``partial`` of a run's record.

    Returns
    -------
    str

    Examples
    --------
    >>> format_partial_notice({"candidates_looked_at": 9, "candidates": 9, "ended_in_layer": 3, "layers": 3})
    'partial: time ran out while layer 3 of 3 was generated; this is the ranking of the 2 layers before'
    """
    n_done, n_total = partial["candidates_looked_at"], partial["candidates"]
    if "ended_in_layer" not in partial:
        return (
            f"partial: time ran out after {n_done:,} of {n_total:,} candidates, in their fixed order; the "
            "others are not in this ranking"
        )
    layer = partial["ended_in_layer"]
    previous = "the inputs" if layer == 1 else f"the {_format_layers(layer - 1)} before"
    coverage = "" if n_done == n_total else f", {n_done:,} of whose {n_total:,} features were processed"
    return (
        f"partial: time ran out while layer {layer} of {partial['layers']} was generated; this is the "
        f"ranking of {previous}{coverage}"
    )


def format_selection_notice(record: Mapping[str, Any]) -> Message | None:
    """Format the notice that a list has fewer features than were asked for.

    Parameters
    ----------
    record : mapping
        The record of a run, with the number of features selected.

    Returns
    -------
    Message or None
        None if the list is full, or has all features.
    """
    selection, n_wanted = record.get("selection"), record["options"]["top"]
    if selection is None:
        return None
    n_listed, n_selected = selection["listed"], selection["selected"]
    if n_selected in {n_wanted, n_listed}:
        return None
    if selection["limit"] is not None:
        reason = f"only the best {n_listed:,} were examined ({LIST_LIMITS[selection['limit']]})"
        adjective = "distinct " if "redundancy" in record else ""
        return Message(f"{n_selected:,} of {n_wanted:,} {adjective}features are shown: {reason}")
    reasons = []
    if "redundancy" in record:
        option = name_option("max_correlation", record["redundancy"]["cap"])
        reasons.append(f"near-duplicates of them ({option})")
    if record.get("safety", {}).get("unsafe") and record["options"].get("unsafe") == "drop":
        reasons.append(f"unsafe on new rows ({name_option('unsafe', 'drop')})")
    return Message(
        f"{n_selected:,} of {n_wanted:,} features are shown: the others of all {n_listed:,} are "
        f"{' or '.join(reasons)}"
    )


def _format_layers(n_layers: int) -> str:
    """Format a number of layers; 1 without the number."""
    return "layer" if n_layers == 1 else f"{n_layers} layers"


def format_partial_summary(partial: Mapping[str, Any] | None) -> str:
    """Format where a screen stopped as a short prefix to the number of features.

    Examples
    --------
    >>> format_partial_summary({"candidates_looked_at": 60, "candidates": 1000})
    'partial, 60 of 1,000 candidates: '
    >>> format_partial_summary(None)
    ''
    """
    if partial is None:
        return ""
    if "ended_in_layer" in partial:
        return f"partial, {partial['ended_in_layer'] - 1} of {_format_layers(partial['layers'])}: "
    return f"partial, {partial['candidates_looked_at']:,} of {partial['candidates']:,} candidates: "


def build_layer_record(count: LayerCount) -> dict[str, Any]:
    """Build the record of a layer, with the exclusion reasons in words.

    Parameters
    ----------
    count : LayerCount
        Counts of the layer.

    Returns
    -------
    dict
    """
    return {
        "layer": count.layer,
        "kind": count.kind,
        "generated": count.n_generated,
        "pruned": {EXCLUSION_REASONS[status]: number for status, number in count.n_excluded.items()},
        "features": count.n_features,
    }


def build_grammar_record(grammar: Grammar) -> dict[str, Any]:
    """Build the record of a grammar: its operators, rules, and differences from the built-in operators.

    Parameters
    ----------
    grammar : Grammar
        The grammar.

    Returns
    -------
    dict
        With the keys of a grammar file.
    """
    default_costs = {name: operator.cost for name, operator in OPERATORS.items()}
    costs = {name: operator.cost for name, operator in grammar.operators.items()}
    return {
        "unary": [operator.name for operator in grammar.unary],
        "binary": [operator.name for operator in grammar.binary],
        "constants": write_constants(grammar.constants),
        "max_complexity": grammar.max_complexity,
        "costs": {name: cost for name, cost in costs.items() if default_costs.get(name) != cost},
        "define": {name: grammar.operators[name].summary for name in costs if name not in default_costs},
        **{
            rule: {name: sorted(others) for name, others in getattr(grammar, rule).items()}
            for rule in ("forbid", "forbid_within", "columns")
        },
        "max_range": dict(grammar.max_range),
        **(
            {"time_operators": [operator.name for operator in grammar.time_operators]}
            if grammar.time_operators
            else {}
        ),
    }


@lru_cache(maxsize=1)  # reading it takes longer than the rest of the record
def _read_version() -> str:
    """Read the version of the installed package."""
    return metadata.version("symscreen")


def build_run_record(
    dataset: Dataset,
    space: Space,
    grammar: Grammar,
    options: Mapping[str, Any],
    *,
    n_scored: int,
    n_invalid: Mapping[CandidateStatus, int],
    extra_record: Mapping[str, Any] | None = None,
    target: Target | None = None,
) -> dict[str, Any]:
    """Build the record of a run.

    Parameters
    ----------
    dataset : Dataset
        The data.
    space : Space
        The space that was scored.
    grammar : Grammar
        The grammar. It is recorded in full, because its file may change.
    options : mapping
        The user's options.
    n_scored : int
        Number of features that were scored.
    n_invalid : mapping of CandidateStatus to int
        Counts of the features of the last layer that were excluded after their values were computed.
    extra_record : mapping, optional
        Parts that only some runs have: joint screeners, pruning, rounds and others.
    target : Target, optional
        The target of all rows, where the dataset is a sample of them.

    Returns
    -------
    dict
        Plain values, ready for JSON.
    """
    target = dataset.target if target is None else target
    layers = [build_layer_record(count) for count in space.layer_counts]
    pruned = layers[-1]["pruned"]
    for status, number in n_invalid.items():
        if number:
            pruned[EXCLUSION_REASONS[status]] = pruned.get(EXCLUSION_REASONS[status], 0) + number
    # a search computes only the features that it keeps: how many others are defined is unknown
    layers[-1]["features"] = space.size - sum(n_invalid.values())
    return {
        "format": RECORD_FORMAT,
        "symscreen": _read_version(),
        "numpy": np.__version__,
        "options": dict(options),
        "grammar": build_grammar_record(grammar),
        "data": {
            "digest": dataset.digest,
            "rows": target.n,
            "rows_dropped": dataset.n_dropped,
            "target": target.name,
            "gini_mean_difference": target.gini_mean_difference,
            "inputs": list(dataset.names),
            **target.record,
        },
        "layers": layers,
        "scored": n_scored,
        **(extra_record or {}),
    }

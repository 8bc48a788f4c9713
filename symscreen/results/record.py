"""What is told of a screen that a time limit ended before it had looked at all of its space.

The run's record: everything needed to tell how a result was made and to make it again.
"""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.expansion import EXCLUSION_REASONS, CandidateStatus
from symscreen.grammar import OPERATORS
from symscreen.statistics.ranks.t0 import compute_gini_mean_difference
from symscreen.targets.multiclass import MulticlassTarget
from symscreen.targets.multioutput import MultiOutputTarget
from symscreen.targets.ranking import RankingTarget
from symscreen.targets.stages import StagesTarget
from symscreen.targets.survival import SurvivalTarget
from symscreen.targets.weighted import WeightedTarget

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen.data import Dataset
    from symscreen.expansion import LayerCount, Space
    from symscreen.grammar import Grammar
    from symscreen.screening.scoring.streaming import StreamResult
    from symscreen.targets.registry import Target


__all__ = [
    "RECORD_FORMAT",
    "build_grammar_record",
    "build_layer_record",
    "build_partial_record",
    "build_run_record",
    "format_partial_notice",
    "format_partial_summary",
]


def build_partial_record(space: Space, stream_result: StreamResult | None, n_layers: int) -> dict[str, Any]:
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
    if stream_result is None or (stream_result.is_complete and space.stopped_at_layer is None):
        return {}
    told: dict[str, Any] = {"candidates_looked_at": stream_result.n_done, "candidates": stream_result.n_total}
    if space.stopped_at_layer is not None:
        told |= {"ended_in_layer": space.stopped_at_layer, "layers": n_layers}
    return {"partial": told}


def format_partial_notice(partial: Mapping[str, Any]) -> str:
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
    >>> format_partial_notice({"candidates_looked_at": 9, "candidates": 9, "ended_in_layer": 3, "layers": 3})
    'partial: time ran out while layer 3 of 3 was grown; this is the ranking of the 2 layers before'
    """
    looked, of = partial["candidates_looked_at"], partial["candidates"]
    if "ended_in_layer" not in partial:
        return (
            f"partial: time ran out when {looked:,} of {of:,} candidates had been looked at, in their fixed "
            "order; the others are not in this ranking"
        )
    layer = partial["ended_in_layer"]
    before = "the inputs" if layer == 1 else f"the {_format_layers(layer - 1)} before"
    some = "" if looked == of else f", of which {looked:,} of {of:,} features were looked at"
    return (
        f"partial: time ran out while layer {layer} of {partial['layers']} was grown; this is the ranking of "
        f"{before}{some}"
    )


def _format_layers(n_layers: int) -> str:
    return "layer" if n_layers == 1 else f"{n_layers} layers"


def format_partial_summary(partial: Mapping[str, Any] | None) -> str:
    """Tell it in few words, before the number of features.

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


RECORD_FORMAT = 2  # of 1, which is still read, a file's record has no digest


def build_layer_record(count: LayerCount) -> dict[str, Any]:
    """Write a layer's counts with the reasons in words.

    Parameters
    ----------
    count : LayerCount
        A layer's counts.

    Returns
    -------
    dict
    """
    return {
        "layer": count.layer,
        "kind": count.kind,
        "generated": count.n_generated,
        "pruned": {EXCLUSION_REASONS[fate]: number for fate, number in count.n_excluded.items()},
        "features": count.n_features,
    }


def build_grammar_record(grammar: Grammar) -> dict[str, Any]:
    """Write out what a grammar adds to the shipped operators.

    Parameters
    ----------
    grammar : Grammar
        A grammar.

    Returns
    -------
    dict
        With the keys of a grammar file.
    """
    shipped = {name: operator.cost for name, operator in OPERATORS.items()}
    costs = {name: operator.cost for name, operator in grammar.operators.items()}
    return {
        "unary": [operator.name for operator in grammar.unary],
        "binary": [operator.name for operator in grammar.binary],
        "constants": list(grammar.constants),
        "max_complexity": grammar.max_complexity,
        "costs": {name: cost for name, cost in costs.items() if shipped.get(name) != cost},
        "define": {name: grammar.operators[name].summary for name in costs if name not in shipped},
        **{
            rule: {name: sorted(others) for name, others in getattr(grammar, rule).items()}
            for rule in ("forbid", "forbid_within", "columns")
        },
    }


def build_run_record(
    dataset: Dataset,
    space: Space,
    grammar: Grammar,
    options: Mapping[str, Any],
    *,
    n_scored: int,
    n_invalid: Mapping[CandidateStatus, int],
    extra_record: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Collect the record of a run.

    Parameters
    ----------
    table : Table
        The data.
    space : Space
        The space that was scored.
    grammar : Grammar
        The rules, which are written out: a grammar's file may change.
    options : mapping
        The options as given.
    scored : int
        How many features were scored.
    lost : mapping of Fate to int
        What the values of the last layer's candidates told.
    further : mapping, optional
        What only some runs have: joint screeners' verdicts, cuts, rounds.

    Returns
    -------
    dict
        Of plain values, ready for JSON. It holds no time, so that equal runs have equal records.
    """
    layers = [build_layer_record(count) for count in space.layer_counts]
    pruned = layers[-1]["pruned"]
    for fate, number in n_invalid.items():
        if number:
            pruned[EXCLUSION_REASONS[fate]] = pruned.get(EXCLUSION_REASONS[fate], 0) + number
    # a search computes only what it keeps: of the rest it is not known how many are defined
    layers[-1]["features"] = space.size - sum(n_invalid.values())
    return {
        "format": RECORD_FORMAT,
        "symscreen": metadata.version("symscreen"),
        "numpy": np.__version__,
        "options": dict(options),
        "grammar": build_grammar_record(grammar),
        "data": {
            "digest": dataset.digest,
            "rows": dataset.target.n,
            "rows_dropped": dataset.n_dropped,
            "target": dataset.target.name,
            "gini_mean_difference": compute_gini_mean_difference(dataset.target),
            "inputs": list(dataset.names),
            **_describe_ranking(dataset.target),
            **_describe_stages(dataset.target),
            **_describe_target(dataset.target),
        },
        "layers": layers,
        "scored": n_scored,
        **(extra_record or {}),
    }


def _describe_ranking(target: Target) -> dict[str, Any]:
    """Tell what a ranking ranks, how many rows of each kind there are, and how many count for a pair."""
    if not isinstance(target, RankingTarget):
        return {}
    counted = target.binary_targets.n_observed
    return {
        "ranking": {
            "labels": list(target.labels),
            **target.completeness_counts,
            "pairs": len(counted),
            "rows_a_pair": [int(counted[0]), int(counted[-1])],
        }
    }


def _describe_stages(target: Target) -> dict[str, Any]:
    """Tell which pairs of stages were compared, what each weighs, and how many rows go each."""
    if not isinstance(target, StagesTarget):
        return {}
    binary, names = target.binary_targets, target.stages
    told = [
        {
            "present": names[present],
            "later": names[later],
            "rows": int(binary.n_observed[place]),
            "reached": int((binary.signs[place] == 1).sum()),
            "weight": float(binary.weights[place]),
        }
        for place, (present, later) in enumerate(target.pairs)
    ]
    order = sorted(range(len(told)), key=target.pairs.__getitem__)
    return {"stages": {"names": list(names), "pairs": [told[place] for place in order]}}


def _describe_target(target: Target) -> dict[str, Any]:
    """Tell of classes their rows, of several targets each one's Δ, of survival and weights what is known."""
    if isinstance(target, MulticlassTarget):
        return {"classes": {"names": list(target.classes), "rows": target.class_counts.tolist()}}
    if isinstance(target, MultiOutputTarget):
        each = {target.name: compute_gini_mean_difference(target) for target in target.outputs}
        return {"several": {"gini_mean_difference": each}}
    if isinstance(target, SurvivalTarget):
        met = int(target.events.sum())
        return {"survival": {"event": target.event, "met": met, "comparable": target.n_comparable_pairs}}
    if isinstance(target, WeightedTarget):
        return {"weighted": {"effective_rows": target.effective_sample_size}}
    return {}

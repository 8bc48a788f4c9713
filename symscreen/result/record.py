"""The run's record: everything needed to tell how a result was made and to make it again."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.expansion import REASONS, Fate
from symscreen.grammar import OPERATORS
from symscreen.response.classes import ClassesResponse
from symscreen.response.rankings import RankingResponse
from symscreen.response.several import SeveralResponse
from symscreen.response.stages import StagesResponse
from symscreen.response.survival import SurvivalResponse
from symscreen.response.weighted import WeightedResponse
from symscreen.statistics.t0 import gini_mean_difference

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen.expansion import LayerCount, Space
    from symscreen.grammar import Grammar
    from symscreen.response.kinds import AnyResponse
    from symscreen.table import Table

__all__ = ["RECORD_FORMAT", "count_record", "grammar_record", "run_record"]

RECORD_FORMAT = 2  # of 1, which is still read, a file's record has no digest


def count_record(count: LayerCount) -> dict[str, Any]:
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
        "generated": count.generated,
        "pruned": {REASONS[fate]: number for fate, number in count.pruned.items()},
        "features": count.features,
    }


def grammar_record(grammar: Grammar) -> dict[str, Any]:
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


def run_record(
    table: Table,
    space: Space,
    grammar: Grammar,
    options: Mapping[str, Any],
    *,
    scored: int,
    lost: Mapping[Fate, int],
    further: Mapping[str, Any] | None = None,
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
    layers = [count_record(count) for count in space.counts]
    pruned = layers[-1]["pruned"]
    for fate, number in lost.items():
        if number:
            pruned[REASONS[fate]] = pruned.get(REASONS[fate], 0) + number
    # a search computes only what it keeps: of the rest it is not known how many are defined
    layers[-1]["features"] = space.size - sum(lost.values())
    return {
        "format": RECORD_FORMAT,
        "symscreen": metadata.version("symscreen"),
        "numpy": np.__version__,
        "options": dict(options),
        "grammar": grammar_record(grammar),
        "data": {
            "digest": table.digest,
            "rows": table.response.n,
            "rows_dropped": table.dropped,
            "target": table.response.name,
            "gini_mean_difference": gini_mean_difference(table.response),
            "inputs": list(table.names),
            **_of_ranking(table.response),
            **_of_stages(table.response),
            **_of_target(table.response),
        },
        "layers": layers,
        "scored": scored,
        **(further or {}),
    }


def _of_ranking(response: AnyResponse) -> dict[str, Any]:
    """Tell what a ranking ranks, how many rows of each kind there are, and how many count for a pair."""
    if not isinstance(response, RankingResponse):
        return {}
    counted = response.binary.counted
    return {
        "ranking": {
            "labels": list(response.labels),
            **response.counts,
            "pairs": len(counted),
            "rows_a_pair": [int(counted[0]), int(counted[-1])],
        }
    }


def _of_stages(response: AnyResponse) -> dict[str, Any]:
    """Tell which pairs of stages were compared, what each weighs, and how many rows go each."""
    if not isinstance(response, StagesResponse):
        return {}
    binary, names = response.binary, response.stages
    told = [
        {
            "present": names[present],
            "later": names[later],
            "rows": int(binary.counted[place]),
            "reached": int((binary.signs[place] == 1).sum()),
            "weight": float(binary.weights[place]),
        }
        for place, (present, later) in enumerate(response.pairs)
    ]
    order = sorted(range(len(told)), key=response.pairs.__getitem__)
    return {"stages": {"names": list(names), "pairs": [told[place] for place in order]}}


def _of_target(response: AnyResponse) -> dict[str, Any]:
    """Tell of classes their rows, of several targets each one's Δ, of survival and weights what is known."""
    if isinstance(response, ClassesResponse):
        return {"classes": {"names": list(response.classes), "rows": response.sizes.tolist()}}
    if isinstance(response, SeveralResponse):
        each = {target.name: gini_mean_difference(target) for target in response.targets}
        return {"several": {"gini_mean_difference": each}}
    if isinstance(response, SurvivalResponse):
        met = int(response.events.sum())
        return {"survival": {"event": response.event, "met": met, "comparable": response.comparable}}
    if isinstance(response, WeightedResponse):
        return {"weighted": {"effective_rows": response.effective_rows}}
    return {}

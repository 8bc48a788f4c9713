"""What the record tells of a screen's options: defaults filled in, later ones only where they are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symscreen.grammar import grammar_names
from symscreen.options import formula_texts, list_of_names
from symscreen.plugins import origins
from symscreen.response.several import SeveralResponse
from symscreen.screeners import SCREENERS, JointScreener

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen.pipeline.rounds import Job
    from symscreen.pipeline.screen_options import ScreenOptions
    from symscreen.screeners import AnyScreener
    from symscreen.table import Table

__all__ = ["written"]


def written(options: ScreenOptions, table: Table, job: Job) -> dict[str, Any]:
    """Write the options for the record, defaults filled in."""
    ranking, request = options.ranking, job.request
    several = isinstance(table.response, SeveralResponse)
    asked: dict[str, Any] = {
        "target_kind": options.target_kind,
        "event": options.event,
        "across": options.across if several else None,
        "categorical": _list_of(options.categorical) or None,
        "categorical_as": options.categorical_as if options.categorical else None,
        "distinct": options.distinct,
        "stability": options.stability,
        "groups": options.groups,
        "weights": options.weights,
        "plugins": _from_other_packages(options, job) or None,
        "units": None if job.units is None else {name: one.given for name, one in job.units.columns.items()},
        "target_units": options.target_units,
    }
    return {
        "target": list(table.response.names)
        if isinstance(table.response, SeveralResponse)
        else table.response.name,
        "ranking": None if ranking is None else [ranking] if isinstance(ranking, str) else list(ranking),
        **_written_stages(options),
        "inputs": None if options.inputs is None else list(options.inputs),
        "exclude": list(options.exclude),
        "missing": options.missing,
        "layers": " ".join(map(str, job.layers)),
        "operators": str(options.operators),
        "pool": options.pool,
        "screener": [one.name for one in request.screeners],
        "settings": _settings(request.screeners),
        "prescreen": request.prescreen,
        "sign": options.sign,
        "top": "all" if request.limit is None else request.limit,
        "max_complexity": options.max_complexity,
        "also": list(formula_texts(options.also)),
        "keep": job.keeps,
        "cut": [one.name for one in job.cutters],
        "cut_settings": _settings(job.cutters),
        "rounds": int(options.rounds),
        "search": request.search.mode,
        "risk": request.search.risk if request.search.mode == "race" else None,
        "p_values": request.control is not None and request.control.p_values,
        "fdr": options.fdr,
        "fdr_method": options.fdr_method,
        "permutations": options.permutations,
        "seed": int(options.seed),
        "jobs": None if options.jobs is None else int(options.jobs),
        "chunk_size": options.chunk_size,
        # later options are written only where they are given, so that other records stay as they were
        **{name: value for name, value in asked.items() if value is not None},
    }


def _list_of(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _from_other_packages(options: ScreenOptions, job: Job) -> dict[str, str]:
    """Return the origin of each screener and grammar that another package brought."""
    names = [one.name for one in (*job.request.screeners, *job.cutters)]
    grammars = [name for name in (str(options.operators),) if not name.endswith(".toml")]
    return origins("screener", names, SCREENERS) | origins("grammar", grammars, grammar_names())


def _written_stages(options: ScreenOptions) -> dict[str, Any]:
    """Write the stages, in their order; of weights that have no name the record holds those of each pair."""
    if options.stages is None:
        return {"stages": None, "stage_weight": None}
    weight = options.stage_weight
    return {
        "stages": [str(name) for name in list_of_names(options.stages)],
        "stage_weight": weight if isinstance(weight, str) else "given",
    }


def _settings(screeners: Sequence[AnyScreener]) -> dict[str, dict[str, Any]]:
    """Return every setting of the joint screeners, given or not: defaults may change."""
    return {one.name: dict(one.all_settings) for one in screeners if isinstance(one, JointScreener)}

"""What the record tells of a screen's options: defaults filled in, later ones only where they are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symscreen.config.parsing import parse_names, to_tuple
from symscreen.grammar import list_grammar_names
from symscreen.plugins import collect_origins
from symscreen.screeners import SCREENERS, JointScreener
from symscreen.targets.multioutput import MultiOutputTarget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen.config.screen_options import ScreenOptions
    from symscreen.data import Dataset
    from symscreen.screeners import AnyScreener
    from symscreen.screening.residual_rounds import ScreenConfig


__all__ = ["build_options_record"]


def build_options_record(options: ScreenOptions, dataset: Dataset, config: ScreenConfig) -> dict[str, Any]:
    """Write the options for the record, defaults filled in."""
    ranking, request = options.ranking, config.scoring
    several = isinstance(dataset.target, MultiOutputTarget)
    asked: dict[str, Any] = {
        "target_kind": options.target_kind,
        "event": options.event,
        "across": options.across if several else None,
        "categorical": _to_list(options.categorical) or None,
        "categorical_as": options.categorical_as if options.categorical else None,
        "distinct": options.distinct,
        "stability": options.stability,
        "groups": options.groups,
        "weights": options.weights,
        "plugins": _find_plugin_origins(options, config) or None,
        "units": None
        if config.units is None
        else {name: one.text for name, one in config.units.columns.items()},
        "target_units": options.target_units,
    }
    return {
        "target": list(dataset.target.names)
        if isinstance(dataset.target, MultiOutputTarget)
        else dataset.target.name,
        "ranking": None if ranking is None else [ranking] if isinstance(ranking, str) else list(ranking),
        **_build_stages_record(options),
        "inputs": None if options.inputs is None else list(options.inputs),
        "exclude": list(options.exclude),
        "missing": options.missing,
        "layers": " ".join(map(str, config.layers)),
        "operators": str(options.operators),
        "pool": options.pool,
        "screener": [one.name for one in request.screeners],
        "settings": _collect_settings(request.screeners),
        "prescreen": request.prescreen,
        "sign": options.sign,
        "top": "all" if request.limit is None else request.limit,
        "max_complexity": options.max_complexity,
        "also": list(to_tuple(options.also)),
        "keep": config.pool_sizes,
        "cut": [one.name for one in config.pool_screeners],
        "cut_settings": _collect_settings(config.pool_screeners),
        "rounds": int(options.rounds),
        "search": request.search.mode,
        "risk": request.search.risk if request.search.mode == "race" else None,
        "p_values": request.error_control is not None and request.error_control.p_values,
        "fdr": options.fdr,
        "fdr_method": options.fdr_method,
        "permutations": options.permutations,
        "seed": int(options.seed),
        "jobs": None if options.jobs is None else int(options.jobs),
        "chunk_size": options.chunk_size,
        # later options are written only where they are given, so that other records stay as they were
        **{name: value for name, value in asked.items() if value is not None},
    }


def _to_list(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _find_plugin_origins(options: ScreenOptions, config: ScreenConfig) -> dict[str, str]:
    """Return the origin of each screener and grammar that another package brought."""
    names = [one.name for one in (*config.scoring.screeners, *config.pool_screeners)]
    grammars = [name for name in (str(options.operators),) if not name.endswith(".toml")]
    return collect_origins("screener", names, SCREENERS) | collect_origins(
        "grammar", grammars, list_grammar_names()
    )


def _build_stages_record(options: ScreenOptions) -> dict[str, Any]:
    """Write the stages, in their order; of weights that have no name the record holds those of each pair."""
    if options.stages is None:
        return {"stages": None, "stage_weight": None}
    weight = options.stage_weight
    return {
        "stages": [str(name) for name in parse_names(options.stages)],
        "stage_weight": weight if isinstance(weight, str) else "given",
    }


def _collect_settings(screeners: Sequence[AnyScreener]) -> dict[str, dict[str, Any]]:
    """Return every setting of the joint screeners, given or not: defaults may change."""
    return {one.name: dict(one.all_settings) for one in screeners if isinstance(one, JointScreener)}

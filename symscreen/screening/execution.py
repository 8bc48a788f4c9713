"""Run a prepared screen: workers, checkpoint, and assembly of the result and its notices."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib import metadata
from typing import TYPE_CHECKING, Any

from symscreen.backends import Dask
from symscreen.logs import log_event
from symscreen.messages import Message, name_option
from symscreen.report.notebook import VIEWS
from symscreen.results.record import (
    build_grammar_record,
    build_partial_record,
    build_run_record,
    format_partial_notice,
)
from symscreen.results.screen_result import ScreenResult, build_screen_result
from symscreen.screening.checkpoint import open_checkpoint
from symscreen.screening.class_members import build_members_record, list_class_members
from symscreen.screening.inference.intervals import add_intervals
from symscreen.screening.inference.numerical_error import flag_numerical_errors
from symscreen.screening.inference.redundancy import run_non_redundant_rounds
from symscreen.screening.inference.stability import add_stability
from symscreen.screening.residual_rounds import build_extra_record
from symscreen.statistics.nulls.xi_null import build_xi_null, is_dominated_by_one_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from symscreen.expansion import Space
    from symscreen.screening.checkpoint import CheckpointStore
    from symscreen.screening.preparation import PreparedScreen
    from symscreen.screening.residual_rounds import RoundResult, ScreenConfig


_RESULT_NEUTRAL_OPTIONS = ("jobs", "chunk_size")  # options that do not affect the saved state


def run_screen(prepared: PreparedScreen) -> ScreenResult:
    """Run a prepared screen.

    Parameters
    ----------
    prepared : PreparedScreen
        Output of `symscreen.screening.preparation.prepare_screen`.

    Returns
    -------
    ScreenResult

    Raises
    ------
    OutputError
        If the checkpoint folder is not available or belongs to another run.
    """
    log_event(
        "prepared",
        rows=prepared.dataset.target.n,
        inputs=len(prepared.dataset.names),
        digest=prepared.dataset.digest,
    )
    with open_run(prepared) as run:
        result = _build_result(prepared, run)
    log_event("finished", scored=result.n_scored, shown=len(result))
    return result


def _build_result(prepared: PreparedScreen, run: RunContext) -> ScreenResult:
    """Run all rounds of a screen and the requested analyses, and build the result with its record."""
    dataset, config = prepared.dataset, run.config
    round_results, redundancy_record = run_non_redundant_rounds(
        dataset, config, prepared.rounds, prepared.max_correlation
    )
    space, first = round_results[0].space, round_results[0].scoring_result
    extra_record = build_extra_record(round_results, config)
    extra_record |= build_partial_record(space, first.stream_result, len(config.layers))
    if redundancy_record is not None:
        extra_record["distinct"] = redundancy_record
    if prepared.half_sampling is not None:
        round_results[0], extra_record["stability"] = add_stability(
            dataset, config, round_results[0], prepared.half_sampling
        )
    if prepared.confidence_level is not None:
        round_results[0], extra_record["intervals"] = add_intervals(
            round_results[0], prepared.confidence_level, prepared.row_groups
        )
    round_results, numerical_error_record = flag_numerical_errors(round_results, dataset, config)
    extra_record |= numerical_error_record
    if prepared.members is not None:
        extra_record["classes"] = build_members_record(
            list_class_members(round_results, config.scoring, prepared.members), prepared.members
        )
    record = build_run_record(
        dataset,
        space,
        config.grammar,
        prepared.options | run.build_run_options(round_results),
        n_scored=first.n_scored,
        n_invalid=first.n_invalid,
        extra_record=extra_record,
    )
    result = build_screen_result(
        [(each.space, each.scoring_result, each.shown_indices) for each in round_results],
        config.scoring.screeners,
        record,
        scale=dataset.target.gini_mean_difference,
        units=config.units,
        notices=(
            *dataset.notices,
            *round_results[-1].notices,
            *run.format_notices(round_results),
            *_format_null_notices(prepared),
            *_format_numerical_error_notices(numerical_error_record),
        ),
        target_ranks=round_results[-1].target_ranks,
    )
    return replace(result, data=dataset, renderers=VIEWS)


def _format_numerical_error_notices(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a notice if rounding decides part of the score of a reported feature."""
    count = record.get("rounding", {}).get("marked", 0)
    if not count:
        return ()
    features = "1 reported feature" if count == 1 else f"{count:,} reported features"
    return (f"rounding errors affect the scores of {features}: see unsafe_rows and unsafe_by",)


def _format_null_notices(prepared: PreparedScreen) -> tuple[str, ...]:
    """Return a notice if all p-values are 1 because the null distribution of xi is unknown."""
    scoring = prepared.config.scoring
    error_control, null = scoring.error_control, getattr(scoring.screeners[0], "null_distribution", None)
    if (
        error_control is None
        or not error_control.p_values
        or null is not build_xi_null
        or not is_dominated_by_one_value(prepared.dataset.numeric_target)
    ):
        return ()
    notice = (
        "all p-values are 1: nine tenths of the target are one value, and the null distribution of xi is not "
        f"known for such a target; use {name_option('screener', 't0')}, whose null distribution is known"
    )
    return (Message(notice),)


@dataclass(frozen=True, eq=False)
class RunContext:
    """A screen that is running.

    Parameters
    ----------
    config : ScreenConfig
        The configuration of the screen, with the checkpoint store in its run control.
    checkpoint : CheckpointStore or None
        Where the states of the streams are saved.
    """

    config: ScreenConfig
    checkpoint: CheckpointStore | None

    def build_run_options(self, round_results: Sequence[RoundResult]) -> dict[str, Any]:
        """Return the record of how this run was executed; empty without Dask and checkpoint."""
        backend, run = self.config.scoring.backend, dict[str, Any]()
        if isinstance(backend, Dask):
            run["backend"] = {"name": backend.name, **backend.metadata}
        if self.checkpoint is not None:
            streams = [each.scoring_result.stream_result for each in round_results]
            run["chunks"] = sum(stream.n_chunks for stream in streams if stream is not None)
            run["resumed_chunks"] = sum(stream.n_resumed_chunks for stream in streams if stream is not None)
        return {"run": run} if run else {}

    def format_notices(self, round_results: Sequence[RoundResult]) -> tuple[str, ...]:
        """Return notices about resumption, partial results and failed checkpoint saves."""
        notices = []
        for round_result in round_results:
            space, stream_result = round_result.space, round_result.scoring_result.stream_result
            if stream_result is not None and stream_result.n_resumed_chunks:
                notices.append(
                    f"resumed from a checkpoint: {stream_result.n_resumed_chunks:,} chunks were done before"
                )
            record = build_partial_record(space, stream_result, len(self.config.layers))
            if record:
                notice = format_partial_notice(record["partial"]) + self._format_resume_hint(space)
                notices.append(Message(notice))
        if self.checkpoint is not None and self.checkpoint.failure is not None:
            notices.append(f"the checkpoint is not up to date: {self.checkpoint.failure}")
        return tuple(notices)

    def _format_resume_hint(self, space: Space) -> str:
        """Return how to continue a run that a time limit ended."""
        if space.stopped_at_layer is not None:
            return (
                f"; layers are generated anew in each run: give a longer {name_option('time_limit')}, or "
                "omit it"
            )
        return "" if self.checkpoint is None else "; run the same command again to resume"


@contextmanager
def open_run(prepared: PreparedScreen) -> Iterator[RunContext]:
    """Open the resources of a running screen and close them when it ends for any reason.

    Parameters
    ----------
    prepared : PreparedScreen
        Output of `symscreen.screening.preparation.prepare_screen`.

    Yields
    ------
    RunContext

    Raises
    ------
    OutputError
        If the checkpoint folder is not available or belongs to another run.
    """
    config, checkpoint = prepared.config, None
    with ExitStack() as stack:
        if isinstance(config.scoring.backend, Dask):
            stack.callback(config.scoring.backend.close)
        if prepared.checkpoint_path is not None:
            checkpoint = stack.enter_context(
                open_checkpoint(prepared.checkpoint_path, _describe_run(prepared))
            )
            run_control = replace(config.scoring.run_control, checkpoint=checkpoint)
            config = replace(config, scoring=replace(config.scoring, run_control=run_control))
        yield RunContext(config, checkpoint)


def _describe_run(prepared: PreparedScreen) -> dict[str, Any]:
    """Return everything that the bytes of a saved state depend on."""
    dataset = prepared.dataset
    packages = ("symscreen", "numpy", "numba", "scipy")
    return {
        "versions": {package: metadata.version(package) for package in packages},
        "options": {
            name: value for name, value in prepared.options.items() if name not in _RESULT_NEUTRAL_OPTIONS
        },
        "grammar": build_grammar_record(prepared.config.grammar),
        "data": {"digest": dataset.digest, "rows": dataset.target.n, "inputs": list(dataset.names)},
    }

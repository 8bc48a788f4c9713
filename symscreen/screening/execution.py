"""A screen while it runs: its workers, its checkpoint, and what of them is told when it is over."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib import metadata
from typing import TYPE_CHECKING, Any

from symscreen.backends import Dask
from symscreen.logs import log_event
from symscreen.report.notebook import VIEWS
from symscreen.results.record import (
    build_grammar_record,
    build_partial_record,
    build_run_record,
    format_partial_notice,
)
from symscreen.results.screen_result import ScreenResult
from symscreen.results.screen_result import build_screen_result as ranking_of
from symscreen.screening.checkpoint import open_checkpoint
from symscreen.screening.class_members import build_members_record, list_class_members
from symscreen.screening.inference.intervals import add_intervals
from symscreen.screening.inference.numerical_error import flag_numerical_errors
from symscreen.screening.inference.redundancy import run_non_redundant_rounds
from symscreen.screening.inference.stability import add_stability
from symscreen.screening.residual_rounds import build_extra_record
from symscreen.statistics.nulls.xi_null import build_xi_null, is_dominated_by_one_value
from symscreen.statistics.ranks.t0 import compute_gini_mean_difference
from symscreen.targets import NumericTarget

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from symscreen.expansion import Space
    from symscreen.screening.checkpoint import CheckpointStore
    from symscreen.screening.preparation import PreparedScreen
    from symscreen.screening.residual_rounds import RoundResult, ScreenConfig


__all__ = ["RunContext", "open_run", "run_screen"]

_RESULT_NEUTRAL_OPTIONS = ("jobs", "chunk_size")  # options that change no byte of what is kept


def run_screen(prepared: PreparedScreen) -> ScreenResult:
    """Run a screen that is ready.

    Parameters
    ----------
    ready : Prepared
        What `symscreen.screening.preparation.prepare_screen` made of data and options.

    Returns
    -------
    ScreenResult

    Raises
    ------
    OutputError
        If its checkpoint cannot be had, or is that of another run.
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
    table, job = prepared.dataset, run.config
    found, thinner = run_non_redundant_rounds(table, job, prepared.rounds, prepared.max_correlation)
    space, first = found[0].space, found[0].scoring_result
    further = build_extra_record(found, job) | build_partial_record(
        space, first.stream_result, len(job.layers)
    )
    if thinner is not None:
        further["distinct"] = thinner
    if prepared.half_sampling is not None:
        found[0], further["stability"] = add_stability(table, job, found[0], prepared.half_sampling)
    if prepared.confidence_level is not None:
        found[0], further["intervals"] = add_intervals(
            found[0], prepared.confidence_level, prepared.row_groups
        )
    found, unsafe = flag_numerical_errors(found, table, job)
    further |= unsafe
    if prepared.members is not None:
        further["classes"] = build_members_record(
            list_class_members(found, job.scoring, prepared.members), prepared.members
        )
    record = build_run_record(
        table,
        space,
        job.grammar,
        prepared.options | run.build_run_options(found),
        n_scored=first.n_scored,
        n_invalid=first.n_invalid,
        extra_record=further,
    )
    result = ranking_of(
        [(each.space, each.scoring_result, each.shown_indices) for each in found],
        job.scoring.screeners,
        record,
        scale=compute_gini_mean_difference(table.target),
        units=job.units,
        notices=(
            *table.notices,
            *found[-1].notices,
            *run.format_notices(found),
            *_format_null_notices(prepared),
            *_format_numerical_error_notices(unsafe),
        ),
        target_ranks=found[-1].target_ranks,
    )
    return replace(result, data=table, renderers=VIEWS)


def _format_numerical_error_notices(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Say that features are shown whose scores are, in part, noise of rounding."""
    count = record.get("rounding", {}).get("marked", 0)
    if not count:
        return ()
    features = "1 feature" if count == 1 else f"{count:,} features"
    return (f"rounding decides scores of {features} shown: see unsafe_rows and unsafe_by",)


def _format_null_notices(prepared: PreparedScreen) -> tuple[str, ...]:
    """Say why p-values are 1 where the null distribution is not known."""
    request, response = prepared.config.scoring, prepared.dataset.target
    control, null = request.error_control, getattr(request.screeners[0], "null_distribution", None)
    if (
        control is None
        or not control.p_values
        or null is not build_xi_null
        or not isinstance(response, NumericTarget)
    ):
        return ()
    if not is_dominated_by_one_value(response):
        return ()
    known = "for so many rows the null distribution of xi is then not known; --screener t0 has one"
    return (f"p-values are 1: nine tenths of the response are one value, and {known}",)


@dataclass(frozen=True, eq=False)
class RunContext:
    """A screen that runs.

    Parameters
    ----------
    job : Job
        What is done.
    folder : Folder or None
        Where its state is kept.
    """

    config: ScreenConfig
    checkpoint: CheckpointStore | None

    def build_run_options(self, round_results: Sequence[RoundResult]) -> dict[str, Any]:
        """Return what the record's options tell of how this very run went; empty for a plain one."""
        backend, run = self.config.scoring.backend, dict[str, Any]()
        if isinstance(backend, Dask):
            run["backend"] = {"name": backend.name, **backend.metadata}
        if self.checkpoint is not None:
            outcomes = [each.scoring_result.stream_result for each in round_results]
            run["chunks"] = sum(one.n_chunks for one in outcomes if one is not None)
            run["resumed_chunks"] = sum(one.n_resumed_chunks for one in outcomes if one is not None)
        return {"run": run} if run else {}

    def format_notices(self, round_results: Sequence[RoundResult]) -> tuple[str, ...]:
        """Return what people should know of it."""
        notices = []
        for space, outcome in ((each.space, each.scoring_result.stream_result) for each in round_results):
            if outcome is not None and outcome.n_resumed_chunks:
                notices.append(
                    f"went on from a checkpoint: {outcome.n_resumed_chunks:,} chunks were done before"
                )
            told = build_partial_record(space, outcome, len(self.config.layers))
            if told:
                notices.append(format_partial_notice(told["partial"]) + self._format_resume_hint(space))
        if self.checkpoint is not None and self.checkpoint.failure is not None:
            notices.append(f"the checkpoint stands where it last could be written: {self.checkpoint.failure}")
        return tuple(notices)

    def _format_resume_hint(self, space: Space) -> str:
        """Say how a run that a time limit ended is gone on with."""
        if space.stopped_at_layer is not None:
            return "; layers are grown anew each time: give a longer --time-limit, or leave it out"
        return "" if self.checkpoint is None else "; the same command goes on from there"


@contextmanager
def open_run(prepared: PreparedScreen) -> Iterator[RunContext]:
    """Open what a screen needs while it runs, and close it however it ends.

    Parameters
    ----------
    ready : Prepared
        A screen that is ready.

    Yields
    ------
    Run

    Raises
    ------
    OutputError
        If the checkpoint cannot be had, or is that of another run.
    """
    job, folder = prepared.config, None
    with ExitStack() as stack:
        if isinstance(job.scoring.backend, Dask):
            stack.callback(job.scoring.backend.close)
        if prepared.checkpoint_path is not None:
            folder = stack.enter_context(open_checkpoint(prepared.checkpoint_path, _describe_run(prepared)))
            course = replace(job.scoring.run_control, checkpoint=folder)
            job = replace(job, scoring=replace(job.scoring, run_control=course))
        yield RunContext(job, folder)


def _describe_run(prepared: PreparedScreen) -> dict[str, Any]:
    """Say what a run is: whatever its bytes depend on."""
    table = prepared.dataset
    packages = ("symscreen", "numpy", "numba", "scipy")
    return {
        "versions": {package: metadata.version(package) for package in packages},
        "options": {
            name: value for name, value in prepared.options.items() if name not in _RESULT_NEUTRAL_OPTIONS
        },
        "grammar": build_grammar_record(prepared.config.grammar),
        "data": {"digest": table.digest, "rows": table.target.n, "inputs": list(table.names)},
    }

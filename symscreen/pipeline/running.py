"""A screen while it runs: its workers, its checkpoint, and what of them is told when it is over."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib import metadata
from typing import TYPE_CHECKING, Any

from symscreen.backends import Dask
from symscreen.logs import stage
from symscreen.pipeline.checkpoint import opened
from symscreen.pipeline.confidence import with_intervals
from symscreen.pipeline.membership import member_table
from symscreen.pipeline.rounding import with_rounding
from symscreen.pipeline.rounds import record_of
from symscreen.pipeline.stability import with_stability
from symscreen.pipeline.thinning import rounds_thinned
from symscreen.report.notebook import VIEWS
from symscreen.response import Response
from symscreen.result import (
    ScreenResult,
    grammar_record,
    members_record,
    partial_record,
    partial_told,
    run_record,
)
from symscreen.result import ranking as ranking_of
from symscreen.statistics.t0 import gini_mean_difference
from symscreen.statistics.xi_null import too_few_beside_one, xi_null

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from symscreen.expansion import Space
    from symscreen.pipeline.checkpoint import Folder
    from symscreen.pipeline.preparation import Prepared
    from symscreen.pipeline.rounds import Job, Round

__all__ = ["Run", "running", "screened_as"]

_FREE = ("jobs", "chunk_size")  # options that change no byte of what is kept


def screened_as(ready: Prepared) -> ScreenResult:
    """Run a screen that is ready.

    Parameters
    ----------
    ready : Prepared
        What `symscreen.pipeline.preparation.prepared` made of data and options.

    Returns
    -------
    ScreenResult

    Raises
    ------
    OutputError
        If its checkpoint cannot be had, or is that of another run.
    """
    stage("prepared", rows=ready.table.response.n, inputs=len(ready.table.names), digest=ready.table.digest)
    with running(ready) as run:
        result = _result(ready, run)
    stage("finished", scored=result.scored, shown=len(result))
    return result


def _result(ready: Prepared, run: Run) -> ScreenResult:
    table, job = ready.table, run.job
    found, thinner = rounds_thinned(table, job, ready.rounds, ready.distinct)
    space, first = found[0].space, found[0].screened
    further = record_of(found, job) | partial_record(space, first.outcome, len(job.layers))
    if thinner is not None:
        further["distinct"] = thinner
    if ready.halving is not None:
        found[0], further["stability"] = with_stability(table, job, found[0], ready.halving)
    if ready.level is not None:
        found[0], further["intervals"] = with_intervals(found[0], ready.level, ready.grouping)
    found, unsafe = with_rounding(found, table, job)
    further |= unsafe
    if ready.members is not None:
        further["classes"] = members_record(member_table(found, job.request, ready.members), ready.members)
    record = run_record(
        table,
        space,
        job.grammar,
        ready.options | run.told(found),
        scored=first.scored,
        lost=first.lost,
        further=further,
    )
    result = ranking_of(
        [(each.space, each.screened, each.shown) for each in found],
        job.request.screeners,
        record,
        scale=gini_mean_difference(table.response),
        units=job.units,
        notices=(
            *table.notices,
            *found[-1].notices,
            *run.notices(found),
            *_of_null(ready),
            *_of_rounding(unsafe),
        ),
        places=found[-1].places,
    )
    return replace(result, data=table, views=VIEWS)


def _of_rounding(told: Mapping[str, Any]) -> tuple[str, ...]:
    """Say that features are shown whose scores are, in part, noise of rounding."""
    count = told.get("rounding", {}).get("marked", 0)
    if not count:
        return ()
    features = "1 feature" if count == 1 else f"{count:,} features"
    return (f"rounding decides scores of {features} shown: see unsafe_rows and unsafe_by",)


def _of_null(ready: Prepared) -> tuple[str, ...]:
    """Say why p-values are 1 where the null distribution is not known."""
    request, response = ready.job.request, ready.table.response
    control, null = request.control, getattr(request.screeners[0], "null", None)
    if control is None or not control.p_values or null is not xi_null or not isinstance(response, Response):
        return ()
    if not too_few_beside_one(response):
        return ()
    known = "for so many rows the null distribution of xi is then not known; --screener t0 has one"
    return (f"p-values are 1: nine tenths of the response are one value, and {known}",)


@dataclass(frozen=True, eq=False)
class Run:
    """A screen that runs.

    Parameters
    ----------
    job : Job
        What is done.
    folder : Folder or None
        Where its state is kept.
    """

    job: Job
    folder: Folder | None

    def told(self, found: Sequence[Round]) -> dict[str, Any]:
        """Return what the record's options tell of how this very run went; empty for a plain one."""
        backend, run = self.job.request.backend, dict[str, Any]()
        if isinstance(backend, Dask):
            run["backend"] = {"name": backend.name, **backend.told}
        if self.folder is not None:
            outcomes = [each.screened.outcome for each in found]
            run["chunks"] = sum(one.chunks for one in outcomes if one is not None)
            run["resumed_chunks"] = sum(one.resumed for one in outcomes if one is not None)
        return {"run": run} if run else {}

    def notices(self, found: Sequence[Round]) -> tuple[str, ...]:
        """Return what people should know of it."""
        notices = []
        for space, outcome in ((each.space, each.screened.outcome) for each in found):
            if outcome is not None and outcome.resumed:
                notices.append(f"went on from a checkpoint: {outcome.resumed:,} chunks were done before")
            told = partial_record(space, outcome, len(self.job.layers))
            if told:
                notices.append(partial_told(told["partial"]) + self._way_on(space))
        if self.folder is not None and self.folder.failure is not None:
            notices.append(f"the checkpoint stands where it last could be written: {self.folder.failure}")
        return tuple(notices)

    def _way_on(self, space: Space) -> str:
        """Say how a run that a time limit ended is gone on with."""
        if space.ended_in is not None:
            return "; layers are grown anew each time: give a longer --time-limit, or leave it out"
        return "" if self.folder is None else "; the same command goes on from there"


@contextmanager
def running(ready: Prepared) -> Iterator[Run]:
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
    job, folder = ready.job, None
    with ExitStack() as stack:
        if isinstance(job.request.backend, Dask):
            stack.callback(job.request.backend.close)
        if ready.checkpoint is not None:
            folder = stack.enter_context(opened(ready.checkpoint, _identity(ready)))
            course = replace(job.request.course, keeper=folder)
            job = replace(job, request=replace(job.request, course=course))
        yield Run(job, folder)


def _identity(ready: Prepared) -> dict[str, Any]:
    """Say what a run is: whatever its bytes depend on."""
    table = ready.table
    packages = ("symscreen", "numpy", "numba", "scipy")
    return {
        "versions": {package: metadata.version(package) for package in packages},
        "options": {name: value for name, value in ready.options.items() if name not in _FREE},
        "grammar": grammar_record(ready.job.grammar),
        "data": {"digest": table.digest, "rows": table.response.n, "inputs": list(table.names)},
    }

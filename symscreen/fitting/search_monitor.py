"""Watch a search: report its stages and the best formula so far, and end it in order at a time limit."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any

from symscreen.expressions.linear_formula import build_shared_formula
from symscreen.fitting.coefficients import get_targets
from symscreen.fitting.formula_fits import fit_formulas
from symscreen.fitting.model_selection import score_models, select_model
from symscreen.fitting.required_inputs import keep_required_inputs
from symscreen.messages import Message, name_option

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from symscreen.fitting.model_selection import ScoredModel
    from symscreen.fitting.search_stages import FitTask
    from symscreen.fitting.subset_search import ModelSearchResult

    FitProgressListener = Callable[["FitProgress"], None]


_DIGITS = 6  # significant digits of the numbers in formulas
_MAX_NAMED_STAGES = 2  # stages that a notice names


@dataclass(frozen=True, slots=True)
class FitProgress:
    """Progress of a fit.

    Parameters
    ----------
    stage : str
        Name of the stage that runs.
    formula : str or None
        The best formula so far, ``target = …``, with its numbers rounded to six digits. Formulas of several
        targets are separated by semicolons. None while no formula is better than the mean.
    r2 : float or None
        R² of this formula, in [0, 1]; with several targets, the mean.

    Examples
    --------
    >>> print(FitProgress("single index", "y = 2*x", 0.98))
    single index, best R2 0.98: y = 2*x
    >>> print(FitProgress("power products", None, None))
    power products
    """

    stage: str
    formula: str | None
    r2: float | None

    def __str__(self) -> str:
        """Format the progress as one line."""
        if self.formula is None or self.r2 is None:
            return self.stage
        return f"{self.stage}, best R2 {self.r2:.6g}: {self.formula}"


class SearchMonitor:
    """Reports the stages of a search, and ends it in order at a deadline.

    Parameters
    ----------
    deadline : float, optional
        Time, as returned by `time.monotonic`, after which no further stage starts.
    describe_best : callable, optional
        Returns the best model of a search, with its formula and R², for progress reports.
    listener : callable, optional
        Called with a `FitProgress` when a stage starts, and when there is a better formula.
    """

    def __init__(
        self,
        deadline: float | None = None,
        describe_best: Callable[[ModelSearchResult], tuple[ScoredModel, str, float] | None] | None = None,
        listener: FitProgressListener | None = None,
    ) -> None:
        self._deadline, self._describe_best, self._listener = deadline, describe_best, listener
        self._stage = ""
        self._best: tuple[ScoredModel, str, float] | None = None
        self.stages_left_out: list[str] = []
        self.stages_cut_short: list[str] = []

    @property
    def has_listener(self) -> bool:
        """Whether there is a listener."""
        return self._listener is not None

    @property
    def is_partial(self) -> bool:
        """Whether the deadline left out a stage or a part of one."""
        return bool(self.stages_left_out or self.stages_cut_short)

    @property
    def is_over(self) -> bool:
        """Whether the deadline has passed."""
        return self._deadline is not None and monotonic() > self._deadline

    def start(self, stage: str, *, is_needed: bool = False) -> bool:
        """Start a stage and report it; return False if the time is over and the stage is not needed."""
        if not is_needed and self.is_over:
            self.leave_out(stage)
            return False
        self._stage = stage
        self._notify()
        return True

    def leave_out(self, stage: str) -> None:
        """Note that a stage does not run."""
        if stage not in self.stages_left_out:
            self.stages_left_out.append(stage)

    def should_stop(self) -> bool:
        """Return whether the stage that runs must end before its next block; note that it was cut short."""
        if not self.is_over:
            return False
        if self._stage not in self.stages_cut_short:
            self.stages_cut_short.append(self._stage)
        return True

    @property
    def reports_models(self) -> bool:
        """Whether better models are reported to a listener."""
        return self._listener is not None and self._describe_best is not None

    def report(self, found: ModelSearchResult) -> None:
        """Report the best model of a search if it is better than those before."""
        if not self.reports_models or self._describe_best is None:
            return
        described = self._describe_best(found)
        if described is not None and (self._best is None or described[0].score < self._best[0].score):
            self._best = described
            self._notify()

    def watch_fold(self) -> SearchMonitor:
        """Return a monitor with the same deadline that reports nothing."""
        return SearchMonitor(self._deadline)

    def build_record(self) -> dict[str, Any]:
        """Build the record of what the time limit left out; empty if the search is complete."""
        if not self.is_partial:
            return {}
        partial = {"stages_left_out": self.stages_left_out, "stages_cut_short": self.stages_cut_short}
        return {"partial": {name: [*stages] for name, stages in partial.items()}}

    def _notify(self) -> None:
        if self._listener is not None:
            _, formula, r2 = self._best or (None, None, None)
            self._listener(FitProgress(self._stage, formula, r2))


def build_monitor(fit: FitTask) -> SearchMonitor:
    """Build the monitor of the search of a fit; the dataset has the rows of the search."""

    def describe_best(found: ModelSearchResult) -> tuple[ScoredModel, str, float] | None:
        dataset = fit.dataset
        found = keep_required_inputs(found, fit.required_inputs)
        if not found.models:
            return None
        best = select_model(score_models(found, fit.count_rows(dataset), "ebic", len(get_targets(dataset))))
        if not best.term_indices:
            return None
        fits = fit_formulas(
            [found.terms.expressions[index] for index in best.term_indices],
            dataset,
            fit.options.level,
            snap=fit.options.snap,
            has_intercept=best.has_intercept,
            row_weights=fit.get_row_weights(dataset),
        )
        formulas = [formula for formula, _, _ in fits]
        shared = build_shared_formula(formulas).round_numbers(_DIGITS)
        return best, "; ".join(shared.equations), 1.0 - best.unexplained_share

    return SearchMonitor(fit.run_control.deadline, describe_best, fit.on_progress)


def format_partial_fit_notice(partial: Mapping[str, Sequence[str]]) -> Message:
    """Format the notice about what the time limit of a fit left out.

    Parameters
    ----------
    partial : mapping
        The part ``partial`` of the record of a fit.

    Returns
    -------
    Message

    Examples
    --------
    >>> partial = {"stages_left_out": ["layers b", "layers u", "paths"], "stages_cut_short": []}
    >>> str(format_partial_fit_notice(partial))
    'partial: the time limit left out layers b and 2 others; a longer time_limit= may change the formula'
    """
    left_out, cut_short = partial["stages_left_out"], partial["stages_cut_short"]
    parts = [f"left out {_join(left_out)}"] if left_out else []
    parts += [f"ended {_join(cut_short)} early"] if cut_short else []
    limit = name_option("time_limit")
    return Message(f"partial: the time limit {' and '.join(parts)}; a longer {limit} may change the formula")


def _join(stages: Sequence[str]) -> str:
    """Name the first stage, and the second one or the number of the others."""
    others = stages[1:] if len(stages) <= _MAX_NAMED_STAGES else [f"{len(stages) - 1} others"]
    return " and ".join([stages[0], *others])

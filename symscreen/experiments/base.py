"""What an experiment is: a name, where it comes from, and a function from settings to an outcome."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING

from symscreen.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import pandas as pd
    from matplotlib.figure import Figure

    StepCallback = Callable[[int, int], None]

__all__ = ["Experiment", "ExperimentOutcome", "ExperimentSettings", "check_settings"]

_EXTRA_MODULES = {"bart": "stochtree", "plot": "matplotlib"}  # by the extra that brings it


@dataclass(frozen=True, slots=True)
class ExperimentSettings:
    """How an experiment is to be run.

    Parameters
    ----------
    quick : bool
        A small size, seconds instead of minutes: shows that it runs, not what the figures are.
    seed : int
        From which all that is random is drawn; not negative.
    repeats : int, optional
        How many tables are drawn, or how often noise is; by default the experiment's own number.
    noise_ratios : tuple of float, optional
        Where an experiment adds noise by ratio: its standard deviation over the root mean square of the
        response.
    jobs : int, optional
        Threads; by default all cores. The figures do not depend on it, the seconds do.
    data : Path, optional
        A folder with data that symscreen does not ship, where an experiment reads some.
    progress : callable, optional
        Called with (steps done, steps in all).
    """

    quick: bool = False
    seed: int = 0
    repeats: int | None = None
    noise_ratios: tuple[float, ...] | None = None
    jobs: int | None = None
    data: Path | None = None
    progress: StepCallback | None = None

    def report_progress(self, done: int, total: int) -> None:
        """Tell how far the experiment is, where someone wants to know."""
        if self.progress is not None:
            self.progress(done, total)


@dataclass(frozen=True, eq=False)
class ExperimentOutcome:
    """What an experiment found.

    Parameters
    ----------
    tables : mapping of str to pandas.DataFrame
        By name, the first for the terminal: published figures beside ours, flat columns, ready for CSV.
    pictures : mapping of str to callable
        By name: each draws and returns a matplotlib Figure, and imports matplotlib only when called.
    remarks : tuple of str
        What a reader must know: what agrees with the paper, what does not, and why.
    """

    tables: Mapping[str, pd.DataFrame]
    pictures: Mapping[str, Callable[[], Figure]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Experiment:
    """A table or figure of a paper that can be made again.

    Parameters
    ----------
    name : str
        As users type it.
    title : str
        One line.
    source : str
        The paper and its table or figure.
    run : callable
        Settings to an Outcome: no input or output, the same figures for the same settings.
    extras : tuple of str
        The package's extras that it needs, such as ``"bart"``.
    takes : tuple of str
        Which of ``repeats``, ``noise_ratios`` and ``data`` it heeds.
    needs : str
        What the folder of data must hold, for an experiment that has nothing to do without it.
    """

    name: str
    title: str
    source: str
    run: Callable[[ExperimentSettings], ExperimentOutcome]
    extras: tuple[str, ...] = ()
    supported_settings: tuple[str, ...] = ()
    required_data: str = ""


def check_settings(experiment: Experiment, settings: ExperimentSettings) -> None:
    """Refuse, before any work starts, settings that an experiment does not heed, or an extra that is missing.

    Parameters
    ----------
    experiment : Experiment
        What is to be run.
    settings : Settings
        How.

    Raises
    ------
    OptionError
        If a setting would have no effect, the folder of data is missing, or an extra is not installed.
    """
    options = {
        "repeats": ("--seeds", settings.repeats),
        "noise_ratios": ("--noise-ratio", settings.noise_ratios),
        "data": ("--data", settings.data),
    }
    for name, (option, value) in options.items():
        if value is not None and name not in experiment.supported_settings:
            raise OptionError(f"{experiment.name} has no use for {option}; leave it out")
    if experiment.required_data and settings.data is None:
        raise OptionError(f"{experiment.name} needs --data DIR, a folder with {experiment.required_data}")
    if settings.data is not None and not settings.data.is_dir():
        raise OptionError(f"--data {settings.data}: there is no such folder")
    for extra in experiment.extras:
        if find_spec(_EXTRA_MODULES[extra]) is None:
            raise OptionError(
                f"{experiment.name} needs {_EXTRA_MODULES[extra]}; pip install 'symscreen[{extra}]' brings it"
            )

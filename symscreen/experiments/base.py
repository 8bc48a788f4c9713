"""Experiments: a name, a source, and a function from settings to an outcome."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING

from symscreen.errors import OptionError
from symscreen.messages import hint_option, name_option

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import pandas as pd
    from matplotlib.figure import Figure

    from symscreen._typing import ProgressCallback


_EXTRA_MODULES = {"bart": "stochtree", "plot": "matplotlib"}  # by the extra that installs it


@dataclass(frozen=True, slots=True)
class ExperimentSettings:
    """Settings of a run.

    Parameters
    ----------
    quick : bool
        Run at a small size, in seconds instead of minutes. It shows that the experiment runs; the numbers
        differ.
    seed : int
        Seed of all random draws, ≥ 0.
    repeats : int, optional
        Number of tables, or of draws of the noise. Default: set by the experiment.
    noise_ratios : tuple of float, optional
        Noise levels: standard deviation of the noise over the root mean square of the target.
    jobs : int, optional
        Number of threads. Default: all cores. Affects only measured times.
    data : Path, optional
        Folder with data that symscreen does not ship.
    progress : callable, optional
        Called with (steps done, total steps).
    """

    quick: bool = False
    seed: int = 0
    repeats: int | None = None
    noise_ratios: tuple[float, ...] | None = None
    jobs: int | None = None
    data: Path | None = None
    progress: ProgressCallback | None = None

    def report_progress(self, done: int, total: int) -> None:
        """Call the progress callback, if there is one."""
        if self.progress is not None:
            self.progress(done, total)


@dataclass(frozen=True, eq=False)
class ExperimentOutcome:
    """Results of an experiment.

    Parameters
    ----------
    tables : mapping of str to pandas.DataFrame
        Flat tables by name; the first is shown in the terminal. They compare published and reproduced
        numbers.
    pictures : mapping of str to callable
        Functions by name that draw and return a matplotlib Figure. They import matplotlib only when called.
    remarks : tuple of str
        Notes for the reader: what agrees with the paper, what does not, and why.
    """

    tables: Mapping[str, pd.DataFrame]
    pictures: Mapping[str, Callable[[], Figure]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Experiment:
    """A table or figure of a paper that can be reproduced.

    Parameters
    ----------
    name : str
        Name on the command line.
    title : str
        Title of one line.
    source : str
        The paper and its table or figure.
    run : callable
        Function from `ExperimentSettings` to `ExperimentOutcome`. It has no side effects, and the same
        settings give the same numbers.
    extras : tuple of str
        Required extras of the package, such as ``"bart"``.
    supported_settings : tuple of str
        Which of ``repeats``, ``noise_ratios`` and ``data`` have an effect.
    required_data : str
        Required contents of the folder of data; empty if no data are required.
    """

    name: str
    title: str
    source: str
    run: Callable[[ExperimentSettings], ExperimentOutcome]
    extras: tuple[str, ...] = ()
    supported_settings: tuple[str, ...] = ()
    required_data: str = ""


def check_settings(experiment: Experiment, settings: ExperimentSettings) -> None:
    """Check settings before any work starts.

    Parameters
    ----------
    experiment : Experiment
        Experiment to run.
    settings : ExperimentSettings
        Settings to check.

    Raises
    ------
    OptionError
        If a setting would have no effect, the folder of data is missing, or an extra is not installed.
    """
    options = {
        "repeats": ("seeds", settings.repeats),
        "noise_ratios": ("noise_ratio", settings.noise_ratios),
        "data": ("data", settings.data),
    }
    for name, (option, value) in options.items():
        if value is not None and name not in experiment.supported_settings:
            raise OptionError(f"{experiment.name} does not support {name_option(option)}; leave it out")
    if experiment.required_data and settings.data is None:
        raise OptionError(
            f"{experiment.name} needs a folder{hint_option('data')} with {experiment.required_data}"
        )
    if settings.data is not None and not settings.data.is_dir():
        raise OptionError(f"{name_option('data', settings.data)}: no such folder")
    for extra in experiment.extras:
        if find_spec(_EXTRA_MODULES[extra]) is None:
            raise OptionError(
                f"{experiment.name} needs {_EXTRA_MODULES[extra]}; "
                f"install it with pip install 'symscreen[{extra}]'"
            )

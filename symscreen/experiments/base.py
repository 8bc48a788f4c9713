"""Experiments: a name, a source, and a function from settings to an outcome; tasks and averages of draws."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, fields, is_dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import numpy as np

from symscreen._option_values import ExperimentSize
from symscreen.backends import Threads, count_available_cores
from symscreen.errors import OptionError
from symscreen.evaluation import compute_mean_and_error
from symscreen.messages import hint_option, name_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import pandas as pd
    from _typeshed import DataclassInstance
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from symscreen._typing import ProgressCallback


Item = TypeVar("Item")
Result = TypeVar("Result")
Plan = TypeVar("Plan", bound="DataclassInstance")
EXPERIMENT_SIZES: tuple[ExperimentSize, ...] = get_args(ExperimentSize)

_EXTRA_MODULES = {"bart": "stochtree", "plot": "matplotlib"}  # by extra: a module that it installs

# BART as its authors have it: a node of depth d splits with the prior probability 0.95/(1 + d)² (Chipman,
# George and McCulloch 2010, equation 7), so that ten splits in a row are never reached. Luo and Li have
# 50 trees.
BART_TREES = {"trees": 50, "depth": 10}
_BART_CHAINS = {"replicates": 5, "burn": 250, "draws": 1000}  # the default chains of bartMachine
_SHORT_BART_CHAINS = {"replicates": 2, "burn": 100, "draws": 200}

_MAX_LISTED_VALUES = 6  # largest number of values of a tuple that the description of a size lists


@dataclass(frozen=True, slots=True)
class ExperimentSettings:
    """Settings of a run.

    Parameters
    ----------
    size : {"small", "medium", "full"}
        How much is run; `Experiment.sizes` has the numbers. ``small`` takes seconds and only shows that the
        experiment runs. ``medium`` takes minutes and shows the published result. ``full`` is as published.
        The fits of ``srbench`` take longer, in its medium size hours.
    seed : int
        Seed of all random draws, ≥ 0.
    repeats : int, optional
        Number of tables, or of draws of the noise. Default: set by the size.
    noise_ratios : tuple of float, optional
        Noise levels: standard deviation of the noise over the root mean square of the target.
    jobs : int, optional
        Number of threads. Default: all cores. Affects only measured times.
    data : Path, optional
        Folder with data that symscreen does not ship.
    problems : tuple of str, optional
        Names of the problems of a benchmark. Default: set by the size.
    units : bool
        Whether fits are given the units of the columns.
    checkpoint : Path, optional
        File of results, from which a run that was stopped continues.
    progress : callable, optional
        Called with (steps done, total steps).
    """

    size: ExperimentSize = "medium"
    seed: int = 0
    repeats: int | None = None
    noise_ratios: tuple[float, ...] | None = None
    jobs: int | None = None
    data: Path | None = None
    problems: tuple[str, ...] | None = None
    units: bool = False
    checkpoint: Path | None = None
    progress: ProgressCallback | None = None

    def report_progress(self, done: int, total: int) -> None:
        """Call the progress callback, if there is one."""
        if self.progress is not None:
            self.progress(done, total)

    def choose_plan(self, sizes: Mapping[ExperimentSize, Plan]) -> Plan:
        """Return the plan of the size, with the user's repeats, noise ratios and problems if given.

        Parameters
        ----------
        sizes : mapping of str to dataclass
            The sizes of an experiment.

        Returns
        -------
        dataclass
            The plan. A user's number of repeats replaces each field whose name ends in ``repeats``.
        """
        plan = sizes[self.size]
        names = [each.name for each in fields(plan)]
        changes: dict[str, Any] = {}
        if self.repeats is not None:
            changes |= dict.fromkeys([name for name in names if name.endswith("repeats")], self.repeats)
        given = {"noise_ratios": self.noise_ratios, "problems": self.problems}
        changes |= {name: value for name, value in given.items() if value is not None and name in names}
        return replace(plan, **changes)

    def track(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items, and report progress after each."""
        all_items = list(items)
        for done, item in enumerate(all_items, start=1):
            yield item
            self.report_progress(done, len(all_items))


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
    sizes : mapping of str to dataclass
        What each size runs: one dataclass of plain numbers and names for ``small``, ``medium`` and ``full``.
    extras : tuple of str
        Required extras of the package, such as ``"bart"``.
    supported_settings : tuple of str
        Which of ``repeats``, ``noise_ratios``, ``data``, ``problems``, ``units`` and ``checkpoint`` have an
        effect.
    required_data : str
        Required contents of the folder of data; empty if no data are required.
    """

    name: str
    title: str
    source: str
    run: Callable[[ExperimentSettings], ExperimentOutcome]
    sizes: Mapping[ExperimentSize, Any]
    extras: tuple[str, ...] = ()
    supported_settings: tuple[str, ...] = ()
    required_data: str = ""


def describe_size(experiment: Experiment, settings: ExperimentSettings) -> str:
    """Describe the size of a run in one line, and name the other sizes.

    Parameters
    ----------
    experiment : Experiment
        Experiment to run.
    settings : ExperimentSettings
        Settings of the run.

    Returns
    -------
    str
        Message with references to options, for `symscreen.messages.render_message`.
    """
    plan = settings.choose_plan(experiment.sizes)
    others = " or ".join(name_option("size", size) for size in EXPERIMENT_SIZES if size != settings.size)
    return f"size {settings.size}: {_format_plan(plan)}. For another size: {others}."


def _format_plan(plan: DataclassInstance) -> str:
    """Format the fields of a plan that are set."""
    values = ((each.name, getattr(plan, each.name)) for each in fields(plan))
    return ", ".join(
        f"{name} {_format_value(value)}" for name, value in values if value not in (None, False, ())
    )


def _format_value(value: object) -> str:
    """Format a number, a name, or a tuple; a long tuple by its length."""
    if isinstance(value, tuple):
        if len(value) > _MAX_LISTED_VALUES:
            return f"({len(value)} of them)"
        return "; ".join(map(_format_value, value))
    if is_dataclass(value) and not isinstance(value, type):
        return f"({_format_plan(value)})"
    return f"{value:g}" if isinstance(value, float) else str(value)


def write_bart_spec(*, is_short: bool) -> str:
    """Write the screener BART of the experiments that rank features by their inclusion.

    Parameters
    ----------
    is_short : bool
        Sample two short chains instead of five long ones. The trees are the same.

    Returns
    -------
    str
        A screener with its settings: `BART_TREES`, no selection rule, and the chains.

    Examples
    --------
    >>> write_bart_spec(is_short=False)
    'bart[rule=none,trees=50,depth=10,replicates=5,burn=250,draws=1000]'
    """
    settings = {"rule": "none"} | BART_TREES | (_SHORT_BART_CHAINS if is_short else _BART_CHAINS)
    return f"bart[{','.join(f'{name}={value}' for name, value in settings.items())}]"


def run_tasks(
    function: Callable[[Item], Result],
    tasks: Iterable[Item],
    jobs: int | None,
    on_progress: ProgressCallback | None = None,
) -> list[Result]:
    """Run tasks on threads, with one thread for each; return the results in the order of the tasks."""
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    all_tasks, results = list(tasks), []
    # limit threads here, not in the tasks: concurrent tasks would reset each other's limits
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        backend = Threads(jobs or count_available_cores())
        for done, result in enumerate(backend.map(function, all_tasks), start=1):
            results.append(result)
            if on_progress is not None:
                on_progress(done, len(all_tasks))
    return results


def average_draws(
    draws: pd.DataFrame, keys: Sequence[str], measures: Sequence[str], count: str = "n"
) -> pd.DataFrame:
    """Average measures over the draws of each cell.

    Parameters
    ----------
    draws : pandas.DataFrame
        One row per cell and draw.
    keys : sequence of str
        Columns that identify a cell.
    measures : sequence of str
        Columns to average.
    count : str
        Name of the column of the number of draws.

    Returns
    -------
    pandas.DataFrame
        One row per cell in the order of the first draws: the keys, the number of draws, and the mean of each
        measure with its standard error ``…_se``, which is NaN for a single draw.
    """
    import pandas as pd

    rows = []
    for key, cell in draws.groupby(list(keys), sort=False):
        row: dict[str, Any] = dict(zip(keys, key, strict=True)) | {count: len(cell)}
        for name in measures:
            row[name], row[f"{name}_se"] = compute_mean_and_error(cell[name].to_numpy(dtype=np.float64))
        rows.append(row)
    return pd.DataFrame(rows)


def compare_with_published(quantity: str, published: float, draws: ArrayLike) -> dict[str, Any]:
    """Build the row of a quantity: the published value, our mean over n draws, and its standard error."""
    values = np.asarray(draws, dtype=np.float64)
    mean, error = compute_mean_and_error(values)
    return {"quantity": quantity, "published": published, "ours": mean, "se": error, "n": values.size}


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
        "problems": ("problems", settings.problems),
        "units": ("units", settings.units or None),
        "checkpoint": ("checkpoint", settings.checkpoint),
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

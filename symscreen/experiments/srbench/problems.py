"""The 130 problems of SRBench, and the rows of a trial: tables, split, sample and noise.

116 problems are laws of the Feynman lectures and bonus laws (Udrescu and Tegmark 2020), whose inputs are
uniform on a range each; 14 are the tables of ODE-Strogatz. ``data/README.md`` has the sources of formulas,
ranges and units. The tables of the benchmark are not shipped: `draw_table` draws others from the same
distributions.
"""

from __future__ import annotations

import csv
import zlib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from symscreen import datasets
from symscreen._resources import find_resource_folder
from symscreen.errors import OptionError
from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.messages import suggest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from symscreen.expressions.tree import Expression

ProblemGroup = Literal["Feynman", "Strogatz"]

SEEDS = (23654, 15795, 860, 5390, 16850, 29910, 4426, 21962, 14423, 28020)
"""The seeds of the ten trials of SRBench."""

_N_TABLE_ROWS = 100_000
_TEST_SHARE = 0.25
_MAX_TRAINING_ROWS = 10_000
_STROGATZ_TARGET = "target"


@dataclass(frozen=True, slots=True)
class ProblemInput:
    """An input of a problem: its range, and its unit as text.

    Parameters
    ----------
    name : str
        Name of the column.
    low, high : float
        Ends of the uniform distribution.
    unit : str
        A unit that `symscreen.fit` reads; ``"1"`` of a pure number.
    """

    name: str
    low: float
    high: float
    unit: str


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem with a known formula.

    Parameters
    ----------
    name : str
        Name in SRBench without the prefix ``feynman_`` or ``strogatz_``.
    group : {"Feynman", "Strogatz"}
        Source of the problem.
    target : str
        Name of the target.
    unit : str
        Unit of the target.
    truth : str
        True formula in symscreen's notation.
    inputs : tuple of ProblemInput
        The inputs. Empty for ODE-Strogatz, whose rows are trajectories.
    solved_before : bool
        Whether one of SRBench's methods, RILS-ROLS or PhySO solved it without noise.
    """

    name: str
    group: ProblemGroup
    target: str
    unit: str
    truth: str
    inputs: tuple[ProblemInput, ...] = ()
    solved_before: bool = True

    @property
    def expression(self) -> Expression:
        """The true formula as a tree."""
        return parse_expression(self.truth)

    @property
    def units(self) -> dict[str, str]:
        """Units of the inputs and of the target; empty if the problem has none."""
        return (
            {each.name: each.unit for each in self.inputs} | {self.target: self.unit} if self.inputs else {}
        )


@dataclass(frozen=True, eq=False)
class Trial:
    """The rows of one fit.

    Parameters
    ----------
    training : pandas.DataFrame
        Inputs, and the target with noise.
    test : pandas.DataFrame
        Inputs, and the target without noise.
    """

    training: pd.DataFrame
    test: pd.DataFrame


@cache
def list_problems() -> tuple[Problem, ...]:
    """List the problems in the order of their names, first those from the Feynman lectures.

    Returns
    -------
    tuple of Problem

    Examples
    --------
    >>> problems = list_problems()
    >>> len(problems), problems[0].name, problems[0].truth
    (130, 'III_10_19', 'mom*sqrt(Bx**2+By**2+Bz**2)')
    """
    inputs: dict[str, list[ProblemInput]] = {}
    for row in read_facts("inputs.csv"):
        each = ProblemInput(row["input"], float(row["low"]), float(row["high"]), row["unit"])
        inputs.setdefault(row["problem"], []).append(each)
    feynman = [
        Problem(
            row["problem"],
            "Feynman",
            row["target"],
            row["unit"],
            row["formula"],
            tuple(inputs[row["problem"]]),
            row["solved_before"] == "yes",
        )
        for row in read_facts("problems.csv")
    ]
    strogatz = [
        Problem(name, "Strogatz", _STROGATZ_TARGET, "1", datasets.load_strogatz(name).truth)
        for name in datasets.list_strogatz_names()
    ]
    return (*sorted(feynman, key=lambda each: each.name), *strogatz)


def read_facts(name: str) -> list[dict[str, str]]:
    """Read a shipped table of facts about SRBench.

    Parameters
    ----------
    name : {"problems.csv", "inputs.csv", "published.csv"}
        Name of the file.

    Returns
    -------
    list of dict of str to str
        A mapping from columns to texts for each row.
    """
    path = find_resource_folder("data") / "srbench" / name
    with path.open(newline="", encoding="ascii") as file:
        return list(csv.DictReader(file))


def find_problems(names: Iterable[str]) -> tuple[Problem, ...]:
    """Find problems by name, with or without SRBench's prefix.

    Parameters
    ----------
    names : iterable of str
        Names such as ``"I_34_8"`` or ``"feynman_I_34_8"``.

    Returns
    -------
    tuple of Problem
        Each problem once, in the order of `list_problems`.

    Raises
    ------
    OptionError
        If a problem does not exist.
    """
    known = {problem.name: problem for problem in list_problems()}
    chosen = set()
    for name in names:
        short = name.strip().removeprefix("feynman_").removeprefix("strogatz_")
        if short not in known:
            raise OptionError(f"SRBench has no problem {name!r}{suggest(short, known)}")
        chosen.add(short)
    return tuple(problem for name, problem in known.items() if name in chosen)


def draw_table(problem: Problem, table_seed: int) -> pd.DataFrame:
    """Draw the table of a problem: 100,000 rows of uniform inputs, or the rows of ODE-Strogatz.

    Parameters
    ----------
    problem : Problem
        The problem.
    table_seed : int
        Seed of the draw, which also depends on the name of the problem.

    Returns
    -------
    pandas.DataFrame
        Inputs and the target without noise.
    """
    if problem.group == "Strogatz":
        return datasets.load_strogatz(problem.name).frame
    generator = _make_generator(problem, table_seed)
    columns = {each.name: generator.uniform(each.low, each.high, _N_TABLE_ROWS) for each in problem.inputs}
    return pd.DataFrame(columns | {problem.target: evaluate_expression(problem.expression, columns)})


def make_trial(problem: Problem, noise_ratio: float, seed: int, table_seed: int = 0) -> Trial:
    """Split the table of a problem, and add noise to the training target.

    Parameters
    ----------
    problem : Problem
        The problem.
    noise_ratio : float
        Standard deviation of the normal noise over the root mean square of the training target.
    seed : int
        Seed of the split, the sample and the noise; `SEEDS` has those of SRBench. The draws do not depend on
        the ratio.
    table_seed : int
        Seed of the table.

    Returns
    -------
    Trial
        The trial. A quarter of the rows is for the test. If there are more than 10,000 training rows, 10,000
        of them are drawn with replacement.

    Examples
    --------
    >>> (problem,) = find_problems(["I_12_1"])
    >>> trial = make_trial(problem, 0.1, SEEDS[0])
    >>> trial.training.shape, trial.test.shape
    ((10000, 3), (25000, 3))
    """
    table = draw_table(problem, table_seed)
    generator = _make_generator(problem, seed, table_seed)
    rows = generator.permutation(len(table))
    n_test = round(_TEST_SHARE * len(table))
    test_rows, training_rows = rows[:n_test], rows[n_test:]
    if len(training_rows) > _MAX_TRAINING_ROWS:
        training_rows = generator.choice(training_rows, _MAX_TRAINING_ROWS, replace=True)
    training = table.iloc[training_rows].reset_index(drop=True)
    clean = training[problem.target].to_numpy()
    deviation = noise_ratio * compute_rms(clean)
    noisy = clean + deviation * generator.standard_normal(len(clean))
    return Trial(
        training.assign(**{problem.target: noisy}), table.iloc[np.sort(test_rows)].reset_index(drop=True)
    )


def compute_rms(values: NDArray[np.float64]) -> float:
    """Compute the root mean square."""
    return float(np.sqrt((values * values).mean()))


def _make_generator(problem: Problem, *seeds: int) -> np.random.Generator:
    """Make a generator from the name of a problem and seeds."""
    return np.random.default_rng([zlib.crc32(problem.name.encode()), *seeds])

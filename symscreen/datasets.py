"""Tables whose true formula is known: the shipped ODE-Strogatz tables, and the paper's additive model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen._resources import find_resource_folder
from symscreen.errors import OptionError
from symscreen.messages import suggest

if TYPE_CHECKING:
    import pandas as pd


__all__ = ["BenchmarkDataset", "list_strogatz_names", "load_strogatz", "make_additive"]

# x1 and x2 are the state (x, y); ...1 gives x', ...2 gives y'. Sources: data/README.md.
_STROGATZ_FORMULAS = {
    "bacres1": "20 - x1 - x1*x2/(1 + 0.5*x1**2)",
    "bacres2": "10 - x1*x2/(1 + 0.5*x1**2)",
    "barmag1": "0.5*sin(x1 - x2) - sin(x1)",
    "barmag2": "0.5*sin(x2 - x1) - sin(x2)",
    "glider1": "-0.05*x1**2 - sin(x2)",
    "glider2": "x1 - cos(x2)/x1",
    "lv1": "3*x1 - 2*x1*x2 - x1**2",
    "lv2": "2*x2 - x1*x2 - x2**2",
    "predprey1": "x1*(4 - x1 - x2/(1 + x1))",
    "predprey2": "x2*(x1/(1 + x1) - 0.075*x2)",
    "shearflow1": "cos(x1)/tan(x2)",
    "shearflow2": "(cos(x2)**2 + 0.1*sin(x2)**2)*sin(x1)",
    "vdp1": "10*(x2 - (x1**3 - x1)/3)",
    "vdp2": "-x1/10",
}


@dataclass(frozen=True, eq=False)
class BenchmarkDataset:
    """A table and the formula that made its target.

    Parameters
    ----------
    name : str
        What the table is called.
    frame : pandas.DataFrame
        The inputs, then the target as the last column; all float64.
    truth : str
        The true formula in the columns of `frame`, without the noise, in symscreen's notation.
    target : str
        The name of the target's column.
    """

    name: str
    frame: pd.DataFrame
    truth: str
    target: str = "target"


def list_strogatz_names() -> tuple[str, ...]:
    """List the fourteen ODE-Strogatz tables.

    Returns
    -------
    tuple of str
        The names that `load_strogatz` takes, always in the same order.

    Examples
    --------
    >>> len(list_strogatz_names()), list_strogatz_names()[:3]
    (14, ('bacres1', 'bacres2', 'barmag1'))
    """
    return tuple(_STROGATZ_FORMULAS)


def load_strogatz(name: str) -> BenchmarkDataset:
    """Read a shipped ODE-Strogatz table.

    Parameters
    ----------
    name : str
        A system and 1 for x' or 2 for y', such as ``"glider2"``; see `list_strogatz_names`.

    Returns
    -------
    Dataset
        400 rows of ```x1```, ```x2``` (the state) and ``target`` (its rate), dimensionless and without noise.

    Raises
    ------
    OptionError
        If the table does not exist.

    Notes
    -----
    The systems are from Strogatz, *Nonlinear Dynamics and Chaos*; the starts and the integrator are those of
    the ODE-Strogatz benchmark (La Cava et al. 2021, SRBench). ``data/README.md`` has the particulars.

    Examples
    --------
    >>> glider = load_strogatz("glider2")
    >>> glider.truth, glider.frame.shape, list(glider.frame)
    ('x1 - cos(x2)/x1', (400, 3), ['x1', 'x2', 'target'])
    """
    if name not in _STROGATZ_FORMULAS:
        raise OptionError(f"no ODE-Strogatz table is called {name!r}{suggest(name, _STROGATZ_FORMULAS)}")
    import pandas as pd

    path = find_resource_folder("data") / "strogatz" / f"{name}.csv"
    # not pandas.read_csv: older versions may miss the last bit, newer ones warn if disabled
    rows = np.loadtxt(path, delimiter=",", skiprows=1, encoding="ascii")
    return BenchmarkDataset(
        name, pd.DataFrame(rows, columns=["x1", "x2", "target"]), _STROGATZ_FORMULAS[name]
    )


def make_additive(n: int = 100, noise_variance: float = 0.01, seed: int = 0) -> BenchmarkDataset:
    """Draw from the additive model y = 2·x1³ + 5·x3 + 10 + e, in which x2 plays no part.

    Parameters
    ----------
    n : int
        The number of rows, at least 1.
    noise_variance : float
        The variance of e, finite and not negative, in squared units of y.
    seed : int
        Seeds numpy's ``default_rng``; not negative. The inputs depend on `seed` and `n` alone, so tables of
        another variance have the same inputs, and the same noise up to its scale.

    Returns
    -------
    Dataset
        n rows of ``x1``, ``x2``, ``x3``, independent and uniform on [0, 1), and of `target`. The noise
        e ~ N(0, `noise_variance`) is added to the target.

    Raises
    ------
    OptionError
        If `n`, `noise_variance` or `seed` is out of its range.

    Notes
    -----
    Eq. 19 of Luo & Li (2024), Ranking Perspective for Tree-based Methods with Applications to Symbolic
    Feature Selection; the paper takes n = 100 and the variances 0, 0.01 and 0.1.

    Examples
    --------
    >>> quiet = make_additive(n=3, noise_variance=0)
    >>> quiet.truth, list(quiet.frame)
    ('2*x1**3 + 5*x3 + 10', ['x1', 'x2', 'x3', 'target'])
    """
    if n < 1:
        raise OptionError(f"n is {n}, but a table has rows: give 1 or more")
    if not (math.isfinite(noise_variance) and noise_variance >= 0):
        raise OptionError(
            f"noise_variance is {noise_variance}, but a variance is finite and not negative: give 0 or more"
        )
    if seed < 0:
        raise OptionError(f"seed is {seed}, but numpy's seeds are not negative: give 0 or more")
    import pandas as pd

    generator = np.random.default_rng(seed)
    inputs = generator.random((n, 3))
    noise = math.sqrt(noise_variance) * generator.standard_normal(n)
    frame = pd.DataFrame(inputs, columns=["x1", "x2", "x3"])
    frame["target"] = 2 * inputs[:, 0] ** 3 + 5 * inputs[:, 2] + 10 + noise
    return BenchmarkDataset("additive", frame, "2*x1**3 + 5*x3 + 10")

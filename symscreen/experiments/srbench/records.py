"""Rows of a run, one for each fit, in a JSON-lines file from which a run continues."""

from __future__ import annotations

import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from symscreen.errors import DataError, OutputError

_PACKAGE = Path(__file__).resolve().parents[2]
_COMMIT_DIGITS = 12
_UNCOMMITTED = "+"  # mark at the end of a commit: the package differs from that commit

RowKey = tuple[str, float, int, bool, int, str]
"""Problem, noise ratio, seed, units, seed of the table, and commit."""


class TrialRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The result of one fit.

    Parameters
    ----------
    problem : str
        Name of the problem.
    group : str
        ``Feynman`` or ``Strogatz``.
    noise_ratio : float
        Standard deviation of the noise over the root mean square of the training target.
    seed : int
        Seed of the split, the sample and the noise.
    units : bool
        Whether the fit was given units.
    table_seed : int
        Seed of the table.
    commit : str
        Commit of the package, or its version outside a checkout.
    solved : bool
        Whether the formula is the truth by SRBench's rule.
    reason : str
        The judge's reason, see `symscreen.experiments.srbench.judge.Judgement`; empty if it was not asked.
    cause : str
        Cause of a miss, see `symscreen.experiments.srbench.misses`; empty of a solved fit.
    r2 : float or None
        R² on the test rows, which have no noise; None if the formula is undefined in one.
    seconds : float
        Run time of the fit.
    stage : str or None
        Stage of the search that found the formula, if the result says so.
    formula : str
        The formula of the fit, or the error.
    truth : str
        The true formula.
    verdict : str
        What the fit says of its formula: ``exact``, ``noise`` (a law within noise), ``approximation`` or
        ``none``; empty if it failed.
    """

    problem: str
    group: str
    noise_ratio: float
    seed: int
    units: bool
    table_seed: int
    commit: str
    solved: bool
    reason: str
    cause: str
    r2: float | None
    seconds: float
    stage: str | None
    formula: str
    truth: str
    verdict: str = ""

    @property
    def key(self) -> RowKey:
        """What a row is found by."""
        return self.problem, self.noise_ratio, self.seed, self.units, self.table_seed, self.commit


def read_rows(path: Path) -> dict[RowKey, TrialRow]:
    """Read the rows of earlier runs.

    Parameters
    ----------
    path : Path
        A JSON-lines file. It need not exist.

    Returns
    -------
    dict
        Rows by key, the last one of each. Rows of uncommitted code are left out, because the code may have
        changed since. A last line without an end, which a killed run leaves, is left out as well.

    Raises
    ------
    DataError
        If the file cannot be read, or a line is not a row.
    """
    if not path.exists():
        return {}
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    rows = {}
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line, type=TrialRow)
        except msgspec.DecodeError as error:
            raise DataError(
                f"{path}, line {number}: not a row of this benchmark ({error}); give another file"
            ) from None
        if not row.commit.endswith(_UNCOMMITTED):
            rows[row.key] = row
    return rows


def append_row(path: Path, row: TrialRow) -> None:
    """Append a row to a file.

    Parameters
    ----------
    path : Path
        A JSON-lines file; it is created if it is missing. An incomplete last line is removed first.
    row : TrialRow
        The row.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    try:
        with path.open("ab+") as file:
            _remove_incomplete_line(file)
            file.write(msgspec.json.encode(row) + b"\n")
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from None


def _remove_incomplete_line(file: Any) -> None:
    """Cut a file after its last complete line."""
    file.seek(0)
    content = file.read()
    end = content.rfind(b"\n") + 1
    if end < len(content):
        file.truncate(end)
    file.seek(end)


def find_commit() -> str:
    """Find the commit of the package.

    Returns
    -------
    str
        Twelve digits of the commit, with a plus sign if files of the package differ from it. Outside a
        checkout, the version of the package.
    """
    commit = _run_git("rev-parse", "HEAD")[:_COMMIT_DIGITS]
    if not commit or not (_PACKAGE.parent / ".git").exists():
        return version("symscreen")
    changed = _run_git("status", "-s", "--", str(_PACKAGE), str(_PACKAGE.parent / "data"))
    return f"{commit}{_UNCOMMITTED}" if changed else commit


def _run_git(*arguments: str) -> str:
    """Run git in the folder of the package; return its output, empty if it fails."""
    try:
        done = subprocess.run(  # noqa: S603  # no argument comes from a user
            ["git", "-C", str(_PACKAGE), *arguments],  # noqa: S607  # the user's git
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""

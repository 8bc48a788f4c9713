"""The result of a search for differential equations."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen._atomic_io import write_atomically
from symscreen._repr import format_repr, format_result_html, format_summary
from symscreen.data import read_columns
from symscreen.dynamics.simulation import integrate_system
from symscreen.dynamics.trajectories import Run
from symscreen.errors import DataError, OptionError
from symscreen.expressions.linear_formula import SharedFormula
from symscreen.expressions.printing import format_equation_html, to_text
from symscreen.expressions.system_formula import SystemFormula
from symscreen.expressions.traversal import compute_key
from symscreen.grammar import OPERATORS
from symscreen.messages import format_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from numpy.typing import ArrayLike

    from symscreen._typing import Values
    from symscreen.dynamics.equations import System
    from symscreen.dynamics.system_verdict import SystemVerdict
    from symscreen.dynamics.trajectories import Trajectories
    from symscreen.expressions.linear_formula import Formula
    from symscreen.expressions.tree import Expression
    from symscreen.grammar import Operator
    from symscreen.report.figures.system_figures import SystemPlots


_DIGITS = 6  # significant digits of numbers in displayed equations


@dataclass(frozen=True, eq=False, repr=False)
class OdeResult:
    """The equations of motion of a system.

    Parameters
    ----------
    trajectories : Trajectories
        The samples.
    system : System
        The chosen system, with constants fitted to all samples.
    fitted_states : tuple of float64 array, shape (s, n)
        For each run, the solution of the equations at the samples.
    covariance : float64 array, shape (p, p)
        Covariance of the constants, given the form of the equations.
    residuals : dict of str to float
        For each measured state, the root mean square of the residuals, which estimates the noise.
    prediction_errors : dict of str to float or None, or None
        For each measured state, the error of the forecast of the held-out stretches, relative to the standard
        deviation of the state. The constants were not yet fitted to these stretches. None where the forecast
        grows without limit, and everywhere if no samples were held out.
    stability : tuple of tuple of float
        For each term of each equation, the share of half-samples on which the best of the proposed equations
        has the term.
    alternatives : tuple of tuple of float and System
        The best systems, with the difference of their score from the best; the chosen one is the first.
    level : float
        Coverage of the intervals.
    system_verdict : SystemVerdict
        Whether the equations are exact, a law within noise, or an approximation.
    notices : tuple of str
        Notices for the user.
    operators : mapping of str to Operator
        The operators of the grammar.
    record : dict
        The options, and what was found.
    """

    trajectories: Trajectories
    system: System
    fitted_states: tuple[Values, ...] = field(repr=False)
    covariance: Values
    residuals: dict[str, float]
    prediction_errors: dict[str, float | None] | None
    stability: tuple[tuple[float, ...], ...]
    alternatives: tuple[tuple[float, System], ...]
    level: float
    system_verdict: SystemVerdict
    notices: tuple[str, ...]
    operators: Mapping[str, Operator] = field(repr=False)
    record: dict[str, Any] = field(repr=False)

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The right-hand sides, in the order of the states; the target of each is its left side."""
        return self._build_formulas(self.system)

    def _build_formulas(self, system: System) -> tuple[Formula, ...]:
        return tuple(
            each.build_formula(self.trajectories.format_derivative(each.state)) for each in system.equations
        )

    @property
    def plot(self) -> SystemPlots:
        """Figures as matplotlib axes: ``trajectories()``, ``phase()`` and ``residuals()``.

        Each method takes an optional ``ax`` to draw on. By default it creates a new figure.
        """
        from symscreen.report.figures.system_figures import SystemPlots

        return SystemPlots(self)

    @property
    def system_formula(self) -> SystemFormula:
        """The equations as one object, which bundles contain."""
        formulas = self.formulas
        terms: dict[tuple[int, int], Expression] = {}
        for formula in formulas:
            terms |= {compute_key(term): term for term in formula.terms}
        coefficients = tuple(
            tuple(
                sum(
                    value
                    for value, term in zip(formula.coefficients, formula.terms, strict=True)
                    if compute_key(term) == key
                )
                for key in terms
            )
            for formula in formulas
        )
        rates = SharedFormula(
            tuple(formula.target for formula in formulas),
            tuple(formula.intercept for formula in formulas),
            coefficients,
            tuple(terms.values()),
        )
        data = self.trajectories
        return SystemFormula(rates, data.time, data.measured_states, data.order, data.trajectory)

    @property
    def equations(self) -> tuple[str, ...]:
        """The equations as text, such as ``dx/dt = -0.5*x``, with six significant digits."""
        return self._write_equations(self.system)

    def _write_equations(self, system: System) -> tuple[str, ...]:
        return tuple(
            f"{formula.target} = {formula.round_numbers(_DIGITS).text}"
            for formula in self._build_formulas(system)
        )

    @property
    def constants(self) -> pd.DataFrame:
        """The constants: ``equation``, ``term``, ``place``, ``value``, ``low``, ``high`` and ``stability``.

        The place is ``coefficient`` or ``inside`` the term. The intervals hold for the chosen form. The
        stability is the share of half-samples that choose the term; it is missing for constants inside terms.
        """
        import pandas as pd
        from scipy.special import ndtri

        factor = float(ndtri(0.5 + self.level / 2.0))
        errors = factor * np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        rows, place = [], 0
        for equation, shares in zip(self.system.equations, self.stability, strict=True):
            left = self.trajectories.format_derivative(equation.state)
            kinds: list[tuple[str, str, float]] = [
                (to_text(term), "coefficient", share)
                for term, share in zip(equation.terms, shares, strict=True)
            ]
            kinds += [("", "inside", np.nan)] * (len(equation.constants) - len(equation.terms))
            for (term, kind, share), value in zip(kinds, equation.constants.tolist(), strict=True):
                error = float(errors[place])
                rows.append((left, term, kind, value, value - error, value + error, share))
                place += 1
        columns = ["equation", "term", "place", "value", "low", "high", "stability"]
        return pd.DataFrame(rows, columns=columns)

    @property
    def alternative_systems(self) -> pd.DataFrame:
        """The best systems: ``difference`` of the score, ``complexity`` and ``equations``."""
        import pandas as pd

        rows = [
            (difference, system.complexity, "; ".join(self._write_equations(system)))
            for difference, system in self.alternatives
        ]
        return pd.DataFrame(rows, columns=["difference", "complexity", "equations"])

    def predict(self, rows: Any) -> Values:
        """Compute the derivatives at given states.

        Parameters
        ----------
        rows : path, pandas.DataFrame, dict of columns, or array of shape (m, s)
            The states and inputs; in a system of second order also the first derivatives, ``dx_dt``.

        Returns
        -------
        float64 array, shape (m, d)
            The right-hand sides in the order of the states.
        """
        columns = read_columns(rows, self.trajectories.column_names)
        n = len(next(iter(columns.values())))
        with np.errstate(all="ignore"):
            rates = self.system.rates(columns, self.system.constants.tolist())
        d = len(self.trajectories.measured_states)
        return np.column_stack([np.broadcast_to(rate, n) for rate in rates[len(rates) - d :]])

    def simulate(
        self, times: ArrayLike, start: Mapping[str, float], inputs: Mapping[str, ArrayLike] | None = None
    ) -> pd.DataFrame:
        """Integrate the equations from a start state.

        Parameters
        ----------
        times : array_like, shape (n,)
            Ascending times; the start state holds at the first.
        start : mapping of str to float
            Value of each state; in a system of second order also of the first derivatives.
        inputs : mapping of str to array_like, shape (n,), optional
            The inputs at these times, except the time itself.

        Returns
        -------
        pandas.DataFrame
            The time and the states; NaN where the solution grows without limit.

        Raises
        ------
        DataError
            If the times are not one row of ascending numbers.
        OptionError
            If the start value of a state, or an input, is missing.
        """
        import pandas as pd

        grid = np.asarray(times, dtype=np.float64)
        if grid.ndim != 1 or len(grid) == 0 or not (np.diff(grid) > 0.0).all():
            raise DataError("times must be one row of ascending numbers")
        names = self.trajectories.system_states
        given = {self.trajectories.time: grid, **(inputs or {})}
        missing = [name for name in names if name not in start]
        missing += [name for name in self.trajectories.inputs if name not in given]
        if missing:
            raise OptionError(f"simulate needs values of {format_names(missing)}")
        values = {name: np.asarray(given[name], dtype=np.float64) for name in self.trajectories.inputs}
        run = Run("", grid, np.empty((0, len(grid))), values)
        state = np.array([float(start[name]) for name in names])
        states = integrate_system(self.system, state, grid, run.interpolate_inputs if values else None)
        return pd.DataFrame({self.trajectories.time: grid, **dict(zip(names, states, strict=True))})

    def to_sympy(self) -> dict[str, Any]:
        """Return the right-hand sides as sympy expressions, by left side."""
        return {formula.target: formula.to_sympy() for formula in self.formulas}

    def to_latex(self, digits: int = 4) -> str:
        """Write the system as LaTeX, one equation per line, without dollar signs."""
        lines = []
        for formula, equation in zip(self.formulas, self.system.equations, strict=True):
            left = _format_latex_derivative(self.trajectories, equation.state)
            lines.append(f"{left} = {formula.to_latex(digits)}")
        return " \\\\\n".join(lines)

    def _repr_latex_(self) -> str:
        body = self.to_latex().replace(" = ", " &= ")
        return f"$\\begin{{aligned}}\n{body}\n\\end{{aligned}}$"

    def export(self, export_format: str) -> str:
        """Write the right-hand sides in another language, one function for each equation in their order.

        Parameters
        ----------
        export_format : str
            One of `symscreen.export.EXPORT_FORMATS` that writes several formulas, such as ``"numpy"`` or
            ``"c"``.

        Returns
        -------
        str
        """
        from symscreen.export import export_formulas

        expressions = [formula.expression for formula in self.formulas]
        return export_formulas(expressions, export_format, operators={**OPERATORS, **self.operators})

    def build_record(self) -> dict[str, Any]:
        """Return what was found, and how, as plain values for JSON."""
        return {
            **self.record,
            "equations": {formula.target: formula.text for formula in self.formulas},
            "constants": [
                {**row, "stability": row["stability"] if row["place"] == "coefficient" else None}
                for row in self.constants.to_dict(orient="records")
            ],
            "verdict": self.system_verdict.build_record(),
            "noise": self.residuals,
            "prediction_errors": self.prediction_errors,
            "alternatives": self.alternative_systems.to_dict(orient="records"),
            "notices": list(self.notices),
        }

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Save the record as JSON; an existing file is overwritten with `force` only."""
        write_atomically(Path(path), self.to_json().encode(), force=force)

    def save_bundle(self, path: str | Path, *, force: bool = False) -> None:
        """Save the equations as a bundle, which ``symscreen apply`` integrates on new runs.

        Parameters
        ----------
        path : str or Path
            Name of the file; ``-`` is standard output.
        force : bool
            Whether an existing file may be overwritten.
        """
        from symscreen.export import save_bundle

        operators = {**OPERATORS, **self.operators}
        save_bundle(self.system_formula, path, operators=operators, record=self.build_record(), force=force)

    def report(self, path: str | Path, *, force: bool = False) -> None:
        """Write one HTML page, without other files, with the equations, the pictures and the tables.

        Parameters
        ----------
        path : str or Path
            Name of the file, which ends in ``.html``.
        force : bool
            Whether an existing file may be overwritten.
        """
        from symscreen.report.system_page import write_system_report

        write_system_report(self, path, force=force)

    def to_json(self) -> str:
        """Write the record as JSON."""
        return json.dumps(self.build_record(), indent=2) + "\n"

    def summary(self) -> str:
        """Write the equations, the noise, the constants and the alternatives as text."""
        return format_summary(
            "\n".join(self.equations),
            self.statements,
            {"constants": self.constants, "alternatives": self.alternative_systems},
        )

    @property
    def verdict(self) -> str:
        """Whether the equations are exact, a law within noise, or an approximation, in one line."""
        return str(self.system_verdict)

    @property
    def statements(self) -> tuple[str, ...]:
        """The verdict and the details."""
        return (self.verdict, *self.details)

    @property
    def details(self) -> tuple[str, ...]:
        """What the result says of its equations besides the verdict: residuals, forecast and notices."""
        noise = ", ".join(f"{value:.3g} in {name}" for name, value in self.residuals.items())
        lines = [f"residuals: {noise}"]
        if self.prediction_errors is not None:
            errors = ", ".join(
                f"{name} grows without limit"
                if each is None
                else f"{100.0 * each:.3g} % of the spread of {name}"
                for name, each in self.prediction_errors.items()
            )
            lines.append(f"error of the forecast of held-out samples: {errors}")
        return (*lines, *self.notices)

    def _repr_html_(self) -> str:
        rounded = [formula.round_numbers(_DIGITS) for formula in self.formulas]
        typeset = "".join(format_equation_html(each.target, each.expression) for each in rounded)
        return typeset + format_result_html(self.equations, self.statements, self.constants)

    def __repr__(self) -> str:
        head = f"<{type(self).__name__}: {'; '.join(self.equations)}>"
        return format_repr(head, self.statements, {"constants": self.constants})


def _format_latex_derivative(trajectories: Trajectories, state: str) -> str:
    """Write the left side of an equation as LaTeX."""
    from symscreen.expressions.printing import format_column_latex

    time = format_column_latex(trajectories.time)
    if trajectories.order == 1:
        return f"\\frac{{d {format_column_latex(state)}}}{{d {time}}}"
    measured = trajectories.measured_states[trajectories.velocities.index(state)]
    return f"\\frac{{d^2 {format_column_latex(measured)}}}{{d {time}^2}}"

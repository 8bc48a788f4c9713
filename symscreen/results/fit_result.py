"""Results of a fit: the formula, the uncertainty of its coefficients, and alternative models.

`FitResult` is for one target, `SharedFitResult` for several targets that share their terms, and
`GroupedFitResult` for groups of rows with constants of their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from symscreen._repr import format_repr, format_result_html, format_summary
from symscreen.errors import OptionError
from symscreen.expressions.grouped_formula import GroupedFormula, predict_model
from symscreen.expressions.linear_formula import Formula, SharedFormula
from symscreen.messages import escape_control_chars, format_count, name_option, quote
from symscreen.units import convert_to_original_units

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from symscreen.data import Dataset
    from symscreen.export.prediction_band import PredictionBand
    from symscreen.grammar import Operator

    AnyFitResult: TypeAlias = "FitResult | SharedFitResult | GroupedFitResult"


_VERDICTS = {
    "none": "no formula: none is better than the mean",
    "exact": "exact: the formula leaves nothing but rounding",
    "noise": "law within noise: no sign that residuals depend on inputs",
    "approximation": "approximation: the residuals depend on the inputs",
}
LAW_VERDICTS = frozenset({"exact", "noise"})  # the kinds of verdicts on a formula that may be the law
MAX_ALTERNATIVES = 10  # models in the table of alternatives
_NOTHING_YET = "no formula found within the time limit"
_DIGITS = 6  # significant digits of numbers in displayed formulas and tables
_MAX_NAMED = 3  # coefficients that the verdict names
_MIN_UNEXPLAINED = 1e-12  # 1 − R² below which R² is written as 1
_MANY_DIGITS_FROM = 0.99  # R² from which on more digits are written


def to_original_units(formula: Formula, record: Mapping[str, Any]) -> Formula:
    """Convert a model in base units, with the record ``units`` of a fit, to the original units.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> record = {
    ...     "columns": {"x": {"factor": "1/1000", "offset": "0"}},
    ...     "targets": {"y": {"factor": "1000", "offset": "0"}},
    ... }
    >>> print(to_original_units(Formula("y", 500.0, (4e6,), (parse_expression("x**2"),)), record).equation)
    y = 0.5 + 4000*(x/1000)**2
    """
    unit = record["targets"][formula.target]
    factor, offset = float(Fraction(unit["factor"])), float(Fraction(unit["offset"]))
    return Formula(
        formula.target,
        (formula.intercept - offset) / factor,
        tuple(coefficient / factor for coefficient in formula.coefficients),
        convert_to_original_units(formula.terms, record),
    )


class FitFigures(Protocol):
    """Figures of one fit as matplotlib axes; see `symscreen.report.figures.fit_figures.FitPlots`."""

    def predictions(self, ax: Axes | None = None, *, target: str | None = None) -> Axes:
        """Draw the observed target against the predictions."""
        ...

    def residuals(self, ax: Axes | None = None, *, target: str | None = None) -> Axes:
        """Draw the residuals against the predictions."""
        ...

    def front(self, ax: Axes | None = None) -> Axes:
        """Draw the error of each model of the Pareto front against its complexity."""
        ...

    def dependence(self, name: str, ax: Axes | None = None, *, target: str | None = None) -> Axes:
        """Draw how the prediction depends on one input."""
        ...

    def term(self, number: int, ax: Axes | None = None, *, target: str | None = None) -> Axes:
        """Draw how the prediction depends on one term."""
        ...

    def _repr_html_(self) -> str:
        """Show the predictions in a notebook."""
        ...


def describe_fit_verdict(record: Mapping[str, Any]) -> str:
    """Describe the verdict in the record of a fit, in one line."""
    verdict = record["verdict"]
    kind, p_value = verdict["kind"], verdict["p_value"]
    if "undetermined" in verdict:
        part = escape_control_chars(verdict["undetermined"])
        if p_value is not None:
            return f"approximation: too few rows determine the numbers of {part}"
        return f"approximation: it leaves only rounding, but the rows do not determine {part}"
    if "polynomial" in verdict:
        rival = f"a polynomial of degree {verdict['polynomial']}"
        return f"approximation: it leaves only rounding, but so does {rival} with fewer digits"
    text = _NOTHING_YET if kind == "none" and "partial" in record else _VERDICTS[kind]
    if "numbers" in verdict and "units" not in record:
        names = [f"{value:.{_DIGITS}g} is {name}" for value, name in verdict["numbers"][:_MAX_NAMED]]
        text = f"{text}; {', '.join(names)}"
    if p_value is None:
        return text
    level = f", level {100 * verdict['level']:g} %" if "level" in verdict else ""
    return f"{text} (p = {p_value:.2g}{level})"


def format_r2(value: float, digits: int = 3) -> str:
    """Write R² with as many digits as tell it from 1.

    Examples
    --------
    >>> [format_r2(value) for value in (0.5, 0.99912345, 1.0)], format_r2(0.876, 2)
    (['0.500', '0.999123', '1'], '0.88')
    """
    if value >= 1.0 - _MIN_UNEXPLAINED:
        return "1"
    if value >= _MANY_DIGITS_FROM:
        digits += min(9, -1 - math.floor(math.log10(1.0 - value)))
    return f"{value:.{digits}f}"


@dataclass(frozen=True, eq=False)
class _BaseFitResult:
    """What fits of one target and of several targets have in common."""

    formula: Formula | SharedFormula | GroupedFormula
    terms: pd.DataFrame
    front: pd.DataFrame
    alternatives: pd.DataFrame
    r2: float | dict[str, float]
    notices: tuple[str, ...]
    record: dict[str, Any]
    operators: Mapping[str, Operator] = field(default_factory=dict, repr=False)
    data: Dataset | None = field(default=None, repr=False)
    draw: Callable[[AnyFitResult], FitFigures] | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        # a pickle contains formulas and figures of merit, but not the rows, which may be private
        return {**self.__dict__, "data": None}

    @property
    def plot(self) -> FitFigures:
        """Figures as matplotlib axes: ``predictions()``, ``residuals()``, ``front()`` and two more.

        ``dependence(name)`` shows how the prediction depends on an input, and ``term(number)`` on a term.

        Each method takes an optional ``ax`` to draw on. By default it creates a new figure.

        Raises
        ------
        OptionError
            If the result was not created by `symscreen.fit`.
        """
        if self.draw is None:
            raise OptionError("only a result of symscreen.fit has plots")
        return self.draw(cast("AnyFitResult", self))

    def summary(self) -> str:
        """Write the formula, its verdict, the coefficients, the front and the alternatives as text.

        Returns
        -------
        str
            Lines without a trailing newline.
        """
        r2 = {"": self.r2} if isinstance(self.r2, float) else self.r2
        quality = [f"R² {f'of {name} ' if name else ''}= {value:.6g}" for name, value in r2.items()]
        heading = "\n".join([*self._rounded_equations, *quality])
        tables = {"terms": self.terms, "front": self.front, "alternatives": self.alternatives}
        return format_summary(heading, self._statements, tables)

    def __repr__(self) -> str:
        head = f"<{type(self).__name__}: {'; '.join(self._rounded_equations)}>"
        return format_repr(head, self._statements, {"terms": self.terms, "front": self.front})

    def _repr_html_(self) -> str:
        picture = "" if self.draw is None else self.plot._repr_html_()
        return format_result_html(self._rounded_equations, self._statements, self.terms) + picture

    def _repr_latex_(self) -> str:
        return self.formula._repr_latex_()  # a notebook calls this method on the object that it displays

    @property
    def _rounded_equations(self) -> tuple[str, ...]:
        rounded = self.formula.round_numbers(_DIGITS)
        return rounded.equations if isinstance(rounded, SharedFormula) else (rounded.equation,)

    @property
    def _statements(self) -> tuple[str, ...]:
        """What the result says of its formula, and the notices."""
        return (*self.claims, *self.notices)

    @property
    def claims(self) -> tuple[str, ...]:
        """What the result says of its formula: verdict, units, other formulas, exclusion and band."""
        band = None if self.band is None else str(self.band)
        parts = (self._describe_base_units(), self._describe_others(), self.exclusion, band)
        return (self.verdict, *(each for each in parts if each is not None))

    def _describe_base_units(self) -> str | None:
        """Say which columns of the formula have other units than those given; None if none has."""
        record = self.record.get("units")
        if not record or self.record["verdict"]["kind"] == "none":
            return None
        used = {name: record["columns"].get(name) for name in self.record["input_ranges"]}
        converted = [
            f"{quote(name)} in {unit['base']}"
            for name, unit in {**record["targets"], **used}.items()
            if unit is not None and (unit["factor"], unit["offset"]) != ("1", "0")
        ]
        return f"the formula is for base units: {', '.join(converted)}" if converted else None

    def _describe_others(self) -> str | None:
        """Say how many formulas fit about as well as a law within noise; None if there are none."""
        n_others = len(self.alternatives)
        if self.record["verdict"]["kind"] != "noise" or not n_others:
            return None
        fit = "fits" if n_others == 1 else "fit"
        count = format_count(n_others, "other formula")
        at_least = "at least " if n_others == MAX_ALTERNATIVES else ""
        return f"{at_least}{count} {fit} about as well, and may differ on other rows"

    @property
    def band(self) -> PredictionBand | None:
        """The prediction band, if the option `bands` was given; its text says what it promises."""
        from symscreen.export.prediction_band import read_prediction_band

        return read_prediction_band(self.record, "the record")

    @property
    def is_partial(self) -> bool:
        """Whether a time limit left out a part of the search.

        The part ``partial`` of the record says which one. The result then depends on the speed of the
        machine.
        """
        return "partial" in self.record

    @property
    def verdict(self) -> str:
        """What the formula is: exact, a law within noise, an approximation, or none; one line.

        The record has its kind and, unless the formula is exact, the p-value of the tests of lack of fit.
        They test whether neighbouring rows have similar residuals, see `symscreen.fitting.lack_of_fit`. A
        formula with a part that the rows do not determine is an approximation, also if it leaves nothing.
        Coefficients of an exact formula are named, such as 1/(2*pi).
        """
        return describe_fit_verdict(self.record)

    @property
    def exclusion(self) -> str | None:
        """Which formulas of a single term do not fit better than an error; one line.

        The part ``exclusion`` of the record has the largest complexity up to which every formula f was tried,
        the number of different ones, and the smallest √(1 − R²) of y = c₀ + c₁·f, or a lower bound of it.
        None if no law was searched, an exact formula was found, or there are units or row weights.
        """
        excluded = self.record.get("exclusion")
        if excluded is None:
            return None
        share = Decimal(excluded["error"]) ** 2
        if share <= 0:
            return None
        rounded = share.quantize(Decimal(10) ** (share.adjusted() - 1), rounding=ROUND_FLOOR)
        tried = (
            f"no single term without fitted numbers inside, up to complexity {excluded['complexity']} "
            f"({excluded['formulas']:,} tried),"
        )
        return f"{tried} has 1 - R2 below {float(rounded):.2g}"

    @property
    def formula_in_original_units(self) -> Formula | SharedFormula | GroupedFormula:
        """The formula, or the formulas, in the original units of the columns and the targets."""
        units = self.record.get("units")
        return (
            self.formula
            if units is None or isinstance(self.formula, GroupedFormula)
            else self.formula.map_models(partial(to_original_units, record=units))
        )

    def predict(self, rows: Any, *, clip: bool = False) -> NDArray[np.float64]:
        """Predict the target or the targets on new rows.

        Parameters
        ----------
        rows : path, pandas.DataFrame, dict of columns, or array of shape (m, d)
            Data with the inputs of the formula, in the units of the fitted data. The columns of an array are
            x1 … xd.
        clip : bool
            Whether to move inputs outside of the box to its nearest end. The box is the range of each input
            in the training rows, widened by a tenth, or what the option `ranges` gave.

        Returns
        -------
        float64 array, shape (m,), or (m, K) with several targets
            Predictions in the original units of the targets; NaN in rows outside the domain of a term.

        Warns
        -----
        ExtrapolationWarning
            If inputs are outside the range of the training rows. The message names the inputs and gives the
            number of rows. With `clip` it does not warn.
        UserWarning
            If predictions are NaN. The message gives the number of rows.
        """
        return predict_model(
            self.formula_in_original_units,
            rows,
            stacklevel=3,
            input_ranges=self.record["input_ranges"],
            clip_box=self.record["box"] if clip else None,
        )

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Save the formula or the formulas as a bundle that ``symscreen apply`` reads.

        Parameters
        ----------
        path : str or Path
            Name of the file; ``-`` is standard output.
        force : bool
            Whether an existing file may be overwritten.
        """
        from symscreen.export import save_bundle
        from symscreen.grammar import OPERATORS

        operators = {**OPERATORS, **self.operators}
        save_bundle(
            self.formula_in_original_units, path, operators=operators, record=self.record, force=force
        )

    def report(self, path: str | Path, *, data: str = "DATA", force: bool = False) -> None:
        """Write one HTML page, without other files, with the formula, its pictures and its tables.

        Parameters
        ----------
        path : str or Path
            Name of the file, which ends in ``.html``.
        data : str
            The name of the data file, for the command that uses the formula.
        force : bool
            Whether an existing file may be overwritten.
        """
        import symscreen  # results are below reports: the public function connects them

        symscreen.write_report(cast("AnyFitResult", self), path, data=data, force=force)

    def export(
        self, export_format: str, *, names: Mapping[str, str] | None = None, digits: int | None = None
    ) -> str:
        """Write the formula or the formulas in another language, for columns in their original units.

        Parameters
        ----------
        export_format : str
            One of `symscreen.export.EXPORT_FORMATS`: ``"numpy"``, ``"sql"``, ``"c"``, …
        names : mapping of str to str, optional
            Names or cell references of columns in the output, by column.
        digits : int, optional
            Significant digits of coefficients in ``"latex"``, 4 by default. The other formats write every
            digit.

        Returns
        -------
        str
        """
        from symscreen.export import export_formulas

        return export_formulas(self, export_format, names=names, digits=digits)


@dataclass(frozen=True, eq=False, repr=False)
class FitResult(_BaseFitResult):
    """A fitted formula with the evidence for and against it.

    Parameters
    ----------
    formula : Formula
        The selected model: text, sympy, LaTeX, predictions. If units were given, its columns and target are
        in base units.
    terms : pandas.DataFrame
        One row for the intercept and one per term: ``term``, ``coefficient``, ``low``, ``high`` (confidence
        interval), ``complexity``; with units also ``unit``, the unit of the coefficient.
    front : pandas.DataFrame
        The Pareto front of error and complexity, simplest first, and the selected model: ``complexity``,
        ``terms``, ``r2``, the criterion, ``rewritings``, ``stage`` (that found it; empty for the mean),
        ``formula``, ``chosen``.
    alternatives : pandas.DataFrame
        Other formulas that the criterion cannot distinguish from the best one, with the same columns.
    r2 : float
        1 − RSS/TSS of the formula on the rows that its coefficients were fitted on.
    notices : tuple of str
        Notices for the user.
    record : dict
        How the fit was computed.
    operators : mapping of str to Operator
        Operators of the grammar, for `save`. A definition may use others that occur in no term.
    data : Dataset or None
        The rows of the fit, in base units if there are units, which `plot` uses. They are not saved to files
        or pickles.
    draw : callable or None
        Makes the figures of a result.
    """

    formula: Formula
    r2: float

    @property
    def numbers(self) -> pd.DataFrame:
        """The simple numbers of the formula and those inside terms, with their estimates.

        One row per number: ``term``, ``place`` (``coefficient``, or ``inside`` the term), ``number``, its
        ``estimate`` as if it were free, ``low``, ``high`` (confidence interval), ``p_value`` of the
        hypothesis that a simple number is right, and its ``name`` if it is a fraction or a multiple of π. A
        number inside that was fitted has no p-value. Fitted coefficients are in `terms`. The table is empty
        if the formula is exact.
        """
        import pandas as pd

        columns = ["term", "place", "number", "estimate", "low", "high", "p_value", "name"]
        return pd.DataFrame(self.record.get("numbers", []), columns=columns)

    def predict_interval(self, rows: Any, *, clip: bool = False) -> NDArray[np.float64]:
        """Compute the prediction band on new rows; the fit needs the option `bands`.

        The rows of the table and a new row must be exchangeable, for example independent draws from one
        distribution. `band` says what is promised then.

        Parameters
        ----------
        rows : path, pandas.DataFrame, dict of columns, or array of shape (m, d)
            Data with the inputs, as in `predict`. Those of a CV+ band are all inputs that the model of a fold
            has.
        clip : bool
            As in `predict`.

        Returns
        -------
        float64 array, shape (m, 2)
            The lower and the upper limit, in the original units of the target. NaN where an input is missing.
            Where the formula is undefined, a split band is NaN. A CV+ band is infinite where too many of its
            models are undefined.

        Raises
        ------
        OptionError
            If the fit has no band.

        Warns
        -----
        ExtrapolationWarning
            As in `predict`. The promise does not hold for such rows alone.
        UserWarning
            As in `predict`.

        Examples
        --------
        >>> import numpy as np
        >>> import symscreen
        >>> rng = np.random.default_rng(0)
        >>> x, noise = rng.uniform(1.0, 3.0, 200), rng.uniform(-1.0, 1.0, 200)
        >>> result = symscreen.fit({"x": x}, x**2 + noise, layers="u[square]", split=0.5, bands="split")
        >>> result.record["bands"]["rows"], result.predict_interval({"x": [2.0]}).round(1).tolist()
        (50, [[3.0, 4.9]])
        """
        band = self.band
        if band is None:
            raise OptionError(
                f"the fit has no prediction band: fit with {name_option('bands', 'cv+')}, or with "
                f"{name_option('bands', 'split')} and {name_option('split', 0.5)}"
            )
        ranges, box = self.record["input_ranges"], self.record["box"] if clip else None
        formula = cast("Formula", self.formula_in_original_units)
        predictions = predict_model(formula, rows, stacklevel=3, input_ranges=ranges, clip_box=box)
        return band.compute_limits(
            formula, predictions, rows, stacklevel=3, input_ranges=ranges, clip_box=box
        )

    def _repr_html_(self) -> str:
        from symscreen.expressions.printing import format_equation_html

        rounded = self.formula.round_numbers(_DIGITS)
        return format_equation_html(rounded.target, rounded.expression) + super()._repr_html_()


@dataclass(frozen=True, eq=False, repr=False)
class SharedFitResult(_BaseFitResult):
    """Fitted formulas of several targets with the same terms.

    Parameters
    ----------
    formula : SharedFormula
        The selected model; `formula.get_formula("a")` is the formula of one target.
    terms : pandas.DataFrame
        One row for the intercept and one per term: ``term``; for each target such as a ``coefficient[a]``,
        ``low[a]`` and ``high[a]`` (confidence interval), with units also ``unit[a]``; ``complexity``.
    front : pandas.DataFrame
        The Pareto front of error and complexity, simplest first, and the selected model: ``complexity``,
        ``terms``, ``r2`` (mean over targets), the criterion, ``rewritings``, ``stage``, ``features``,
        ``chosen``.
    alternatives : pandas.DataFrame
        Other models that the criterion cannot distinguish from the best one, with the same columns.
    r2 : dict of str to float
        1 − RSS/TSS of each target's formula on the rows that its coefficients were fitted on.
    notices : tuple of str
        Notices for the user.
    record : dict
        How the fit was computed.
    operators : mapping of str to Operator
        Operators of the grammar, for `save`. A definition may use others that occur in no term.
    data : Dataset or None
        The rows of the fit, in base units if there are units, which `plot` uses. They are not saved to files
        or pickles.
    draw : callable or None
        Makes the figures of a result.
    """

    formula: SharedFormula
    r2: dict[str, float]

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of the targets, in the order of the columns of the predictions."""
        return self.formula.targets


@dataclass(frozen=True, eq=False, repr=False)
class GroupedFitResult(_BaseFitResult):
    """A formula that groups of rows share, with the constants that differ from group to group.

    Parameters
    ----------
    formula : GroupedFormula
        The selected model; `formula.get_formula("steel")` is the formula of one group.
    constants : pandas.DataFrame
        One row for each group: the column of the groups, ``rows``, and for each constant that varies, such as
        a, its value ``a``, its standard error ``a_se`` and its interval, ``a_low`` and ``a_high``.
    terms : pandas.DataFrame
        One row for each coefficient and each fitted constant inside a term: ``term``, ``place``
        (``coefficient`` or ``inside``), ``constant`` (the name of one that varies, such as ``a[material]``),
        ``coefficient``, ``low`` and ``high`` (the value and its interval; of a constant that varies, the mean
        of the groups, without an interval), ``spread`` (the standard deviation between groups), and
        ``complexity``.
    front : pandas.DataFrame
        The Pareto front of error and complexity, simplest first, and the selected model, with the columns of
        `FitResult`.
    alternatives : pandas.DataFrame
        Other formulas that the criterion cannot distinguish from the best one, with the same columns.
    r2 : float
        1 − RSS/TSS of the formula on all rows, with the mean of all rows for TSS.
    notices : tuple of str
        Notices for the user.
    record : dict
        How the fit was computed. ``record["groups"]`` has what a new group is shrunk toward.
    operators : mapping of str to Operator
        Operators of the grammar, for `save`.
    data : Dataset or None
        The rows of the fit, which are not saved to files or pickles.
    draw : None
        There are no figures.
    """

    formula: GroupedFormula
    r2: float
    constants: pd.DataFrame = field(kw_only=True)

    def summary(self) -> str:
        """Write the formula, its verdict, the constants of the groups and the tables as text.

        Returns
        -------
        str
            Lines without a trailing newline.
        """
        heading = "\n".join([*self._rounded_equations, f"R² = {self.r2:.6g}"])
        tables = {"constants": self.constants, "terms": self.terms, "front": self.front}
        return format_summary(heading, self._statements, tables | {"alternatives": self.alternatives})

    def __repr__(self) -> str:
        head = f"<{type(self).__name__}: {'; '.join(self._rounded_equations)}>"
        return format_repr(head, self._statements, {"constants": self.constants, "front": self.front})

    def _repr_html_(self) -> str:
        return format_result_html(
            self._rounded_equations, self._statements, self.constants, self.formula.column
        )

"""A fitted model on the page: its formula, its predictions next to the target, and exports."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.data import read_frame
from symscreen.errors import DataError, OptionError
from symscreen.explorer.exploration import ExportedText, check_export, check_number, list_exports
from symscreen.explorer.row_points import RowTable, build_points
from symscreen.export import apply_bundle, build_indicators_from_record, export_formulas, read_bundle
from symscreen.expressions.grouped_formula import GroupedFormula
from symscreen.expressions.linear_formula import Formula, SharedFormula
from symscreen.expressions.printing import format_mathml_body
from symscreen.expressions.traversal import collect_inputs
from symscreen.expressions.tree import Column
from symscreen.messages import COMMAND_LINE, escape_control_chars, name_option, quote, render_message
from symscreen.results.fit_result import describe_fit_verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen._typing import Values
    from symscreen.data import SourceFrame
    from symscreen.export.bundle_documents import Bundle


_DIGITS = 6  # significant digits of fitted numbers
_FORMATS = ("numpy", "sql", "excel", "latex")


def open_model(path: str, data: str | None = None) -> ModelExploration:
    """Open a bundle that `fit` saved.

    Raises
    ------
    FormulaError
        If the file is not a bundle, or is damaged.
    OptionError
        If the bundle holds no model.
    DataError
        If the data lack the target, or a column that the model needs.
    """
    bundle = read_bundle(path)
    if not isinstance(bundle.formulas, Formula | SharedFormula | GroupedFormula):
        raise OptionError(
            f"{quote(path)} holds no model of a target; give a ranking of screen, or a bundle of fit"
        )
    if data is None:
        return ModelExploration(bundle)
    frame = read_frame(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # rows outside of the box are drawn as they are
        predictions = apply_bundle(bundle, frame)
    exploration = ModelExploration(
        bundle, frame, {str(name): predictions[name].to_numpy(np.float64) for name in predictions}
    )
    for formula in exploration.formulas:
        exploration.get_target(formula.target)
    return exploration


@dataclass(frozen=True, eq=False)
class ModelExploration:
    """A model, with its predictions if data are given.

    Parameters
    ----------
    bundle : Bundle
        The model.
    frame : SourceFrame or None
        The data; None without.
    predictions : mapping of str to float64 array, each of shape (n,), or None
        The prediction of each target; NaN where it is undefined.
    """

    bundle: Bundle
    frame: SourceFrame | None = None
    predictions: Mapping[str, Values] | None = None

    @cached_property
    def formulas(self) -> tuple[Formula | GroupedFormula, ...]:
        """The formula of each target."""
        formulas = self.bundle.formulas
        if isinstance(formulas, SharedFormula):
            return formulas.formulas
        assert isinstance(formulas, Formula | GroupedFormula)  # noqa: S101  # checked by `open_model`
        return (formulas,)

    def describe(self) -> dict[str, Any]:
        """Return the formulas, and what is said of the model."""
        names = ", ".join(escape_control_chars(formula.target) for formula in self.formulas)
        return {
            "title": f"Model of {names}",
            "verdict": self._describe_verdict(),
            "summary": self._summarize(),
            "notices": [] if self.frame is None else [*map(escape_control_chars, self.frame.notices)],
            "columns": [{"text": "compl.", "meaning": "the complexity of the formula"}],
            "formulas": [self._describe_formula(number) for number in range(len(self.formulas))],
            "loss_name": "1 − R²",
            "has_rows": self.frame is not None,
            "can_explain": False,
            "exports": list_exports(self._formats),
        }

    def _describe_verdict(self) -> str:
        """Describe the verdict of the fit; empty if the bundle has no record of one."""
        # the digest of a bundle does not cover its record, so that may hold anything
        with suppress(KeyError, TypeError, ValueError):
            return escape_control_chars(describe_fit_verdict(self.bundle.record))
        return ""

    def trace(self, number: int) -> dict[str, Any] | None:
        """Return the target next to the prediction of a formula; None without rows."""
        check_number(number, len(self.formulas))
        if self.frame is None or self.predictions is None:
            return None
        formula = self.formulas[number]
        used = [name for name in _list_inputs(formula) if self._find_numbers(name) is not None]
        names = [*used, *(name for name in self.frame.columns if name not in used and name != formula.target)]
        columns = {name: self._find_numbers(name) for name in names}
        table = RowTable(
            formula.target,
            self.get_target(formula.target),
            {name: numbers for name, numbers in columns.items() if numbers is not None},
            np.arange(1, self.frame.n + 1),
        )
        predicted = self.predictions[formula.target]
        return build_points(
            table, predicted, predicted, used, axis_name="prediction", curve_name="prediction"
        )

    def explain(self, text: str) -> dict[str, Any]:
        """Refuse a typed formula, because a model has no list in which it could stand.

        Raises
        ------
        OptionError
            For every text.
        """
        del text
        raise OptionError("a typed formula is looked up in a ranking, and this is a model")

    def export(self, format_name: str, number: int) -> ExportedText:
        """Write one formula in a language."""
        suffix = check_export(format_name, number, self._formats, len(self.formulas))
        text = export_formulas(
            self.formulas[number],
            format_name,
            operators=self.bundle.operators,
            indicators=build_indicators_from_record(self.bundle.record),
        )
        return ExportedText(text, f"model-{number + 1}{suffix}")

    @property
    def _formats(self) -> tuple[str, ...]:
        # constants by group have one formula for each group in the other languages
        return ("latex",) if isinstance(self.bundle.formulas, GroupedFormula) else _FORMATS

    def get_target(self, name: str) -> Values:
        """Return the observed target, shape (n,).

        Raises
        ------
        DataError
            If the data have no such column of numbers.
        """
        numbers = self._find_numbers(name)
        if numbers is None:
            raise DataError(
                f"the data have no column of numbers {quote(name)}, the target of the model; give the data "
                "that were fitted, or new rows with the target"
            )
        return numbers

    def _find_numbers(self, name: str) -> Values | None:
        """Return a column of the data; None if it is none of numbers."""
        column = None if self.frame is None else self.frame.columns.get(name)
        return None if column is None else column.numbers

    def _summarize(self) -> list[str]:
        """Return sentences on the data."""
        if self.frame is None:
            option = render_message(name_option("data", "DATA"), COMMAND_LINE)
            return [f"The data are not here: {option} shows the rows next to the prediction."]
        return [f"The model is shown next to the target in {self.frame.n:,} rows."]

    def _describe_formula(self, number: int) -> dict[str, Any]:
        """Return one formula of the list."""
        formula = self.formulas[number]
        shown = formula.round_numbers(_DIGITS)
        expression = (shown.form if isinstance(shown, GroupedFormula) else shown).expression
        sides = format_mathml_body(Column(formula.target)), format_mathml_body(expression, _DIGITS)
        r2 = self._compute_r2(formula.target)
        facts = [("compl.", str(formula.complexity), "the complexity of the formula")]
        if r2 is not None:
            facts.append(("R²", f"{r2:.6g}".replace("-", "−"), "the share of the variance in these rows"))
        return {
            "rank": number + 1,
            "text": escape_control_chars(shown.equation),
            "markup": f"<math>{'<mo>=</mo>'.join(sides)}</math>",
            "complexity": formula.complexity,
            "loss": None if r2 is None else 1.0 - r2,
            "cells": [{"text": str(formula.complexity), "key": str(formula.complexity)}],
            "facts": [{"name": name, "value": value, "meaning": meaning} for name, value, meaning in facts],
        }

    def _compute_r2(self, target: str) -> float | None:
        """Return R² in the rows that have a target and a prediction; None if it is undefined."""
        if self.predictions is None:
            return None
        y, predicted = self.get_target(target), self.predictions[target]
        known = np.isfinite(y) & np.isfinite(predicted)
        spread = float(((y[known] - y[known].mean()) ** 2).sum()) if known.any() else 0.0
        return 1.0 - float(((y[known] - predicted[known]) ** 2).sum()) / spread if spread > 0 else None


def _list_inputs(formula: Formula | GroupedFormula) -> tuple[str, ...]:
    """Return the names of the columns that a formula needs."""
    return formula.inputs if isinstance(formula, GroupedFormula) else collect_inputs(formula.terms)

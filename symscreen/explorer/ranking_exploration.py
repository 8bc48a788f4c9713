"""A ranking on the page: the list, the rows of a formula, typed formulas, and exports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import InputError, OptionError
from symscreen.evaluation.evaluate import get_ranking_losses
from symscreen.explain.explain import FormulaExplainer
from symscreen.explorer.exploration import CSV_FORMAT, ExportedText, check_export, check_number, list_exports
from symscreen.explorer.row_points import RowTable, build_points
from symscreen.export import export_formulas
from symscreen.expressions.printing import to_mathml, to_text
from symscreen.expressions.traversal import collect_columns, evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.messages import COMMAND_LINE, escape_control_chars, name_option, render_message
from symscreen.report.columns import build_cells, build_headings, get_screener_names
from symscreen.report.figures.feature import compute_rank_curve, has_scatters
from symscreen.results.ranking_files import format_ranking_csv
from symscreen.results.ranking_reader import report_damaged_record
from symscreen.screening.stored_screens import load_result, prepare_from_record
from symscreen.statistics.ranks.sorted_values import compute_midranks
from symscreen.targets.registry import find_recorded_type

if TYPE_CHECKING:
    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.report.columns import ColumnHeading
    from symscreen.results.screen_result import ScreenResult
    from symscreen.screening.task import ScreeningTask


MAX_FORMULAS = 1000  # formulas on the page
_MAX_COLUMNS = 4  # columns of the list next to rank and formula; the others are shown of one formula
_FORMATS = (CSV_FORMAT, "numpy", "sql", "excel", "latex")
_RANK_CURVE = "rank curve"


def open_ranking(path: str, data: str | None = None) -> RankingExploration:
    """Open a ranking from its file; `symscreen.screening.stored_screens.load_result` has the errors."""
    result = load_result(path)
    if data is None:
        return RankingExploration(result)
    with report_damaged_record(path):
        task = prepare_from_record(result.record, data)
    notices = (*task.dataset.notices, *result.notices)
    return RankingExploration(replace(result, data=task.dataset, notices=notices), task, data)


@dataclass(frozen=True, eq=False)
class RankingExploration:
    """A ranking, with the screen that made it if its data are given.

    Parameters
    ----------
    result : ScreenResult
        The ranking.
    task : ScreeningTask or None
        The screen, made ready again; None without data.
    source : str
        The name of the data.
    """

    result: ScreenResult
    task: ScreeningTask | None = None
    source: str = ""

    def describe(self) -> dict[str, Any]:
        """Return the list of formulas, and what is said of the result."""
        result, record = self.result, self.result.record
        headings = build_headings(result)
        listed = _choose_columns(result, headings)
        first = get_screener_names(result)[0]
        losses = get_ranking_losses(result).get(first)
        return {
            "title": f"Formulas for {escape_control_chars(record['data']['target'])}",
            "verdict": escape_control_chars(render_message(result.verdict, COMMAND_LINE)),
            "summary": self._summarize(),
            "notices": [escape_control_chars(render_message(each, COMMAND_LINE)) for each in result.notices],
            "columns": [
                {"text": heading.text, "meaning": heading.meaning}
                for heading in headings
                if heading.name in listed
            ],
            "formulas": [
                self._describe_formula(number, headings, listed, losses) for number in range(self._n_shown)
            ],
            "loss_name": f"loss by {escape_control_chars(first)}",
            "has_rows": self._table is not None,
            "can_explain": self.task is not None,
            "exports": list_exports(_FORMATS),
        }

    def trace(self, number: int) -> dict[str, Any] | None:
        """Return the points of a formula and its rank curve; None without rows or a numeric target."""
        check_number(number, self._n_shown)
        direction = {"+": 1, "-": -1}.get(self.result.table["direction"].iloc[number])
        return self._trace(self.result.expressions[number], direction)

    def explain(self, text: str) -> dict[str, Any]:
        """Say where a typed formula stands, as `symscreen.why`; trace it if it is defined in all rows.

        Raises
        ------
        OptionError
            If the page has no rows.
        FormulaError
            If the text is not a formula of these inputs.
        """
        if self.task is None:
            option = name_option("data", "DATA")
            raise OptionError(f"a typed formula needs the rows: start again with {option}")
        with self._lock:  # an answer may take the memory of a screen
            explanation = self._explainer.explain(text)
        expression = parse_expression(text, self.task.grammar.operators)
        found_as = explanation.found_as or to_text(expression)
        ranks = np.flatnonzero(self.result.table["expression"] == found_as)
        return {
            "status": explanation.status,
            "lines": [
                escape_control_chars(line)
                for line in render_message(explanation.text, COMMAND_LINE).splitlines()
            ],
            "text": escape_control_chars(explanation.formula),
            "markup": to_mathml(expression),
            "listed": int(ranks[0]) if len(ranks) and ranks[0] < self._n_shown else None,
            "points": self._trace_typed(text, explanation.direction),
        }

    def export(self, format_name: str, number: int) -> ExportedText:
        """Write one formula in a language, or the whole ranking as CSV."""
        suffix = check_export(format_name, number, _FORMATS, self._n_shown)
        if format_name == CSV_FORMAT:
            return ExportedText(format_ranking_csv(self.result), f"ranking{suffix}")
        chosen = replace(
            self.result,
            table=self.result.table.iloc[number : number + 1],
            expressions=self.result.expressions[number : number + 1],
        )
        return ExportedText(export_formulas(chosen, format_name), f"formula-{number + 1}{suffix}")

    @property
    def _n_shown(self) -> int:
        return min(MAX_FORMULAS, len(self.result))

    @cached_property
    def _lock(self) -> Lock:
        return Lock()

    @cached_property
    def _explainer(self) -> FormulaExplainer:
        assert self.task is not None  # noqa: S101  # the caller checks it
        return FormulaExplainer(self.task, self.source)

    @cached_property
    def _table(self) -> RowTable | None:
        """The rows that are drawn; None without data or with a target that is not one column of numbers."""
        if not has_scatters(self.result):
            return None
        data: Any = self.result.data
        unit_note = "Numbers are in base units." if self.result.record.get("units") else ""
        return RowTable(
            data.target.name, data.target.values, data.columns_by_name, data.source_rows + 1, unit_note
        )

    def _summarize(self) -> list[str]:
        """Return sentences on what was screened and what the page lacks."""
        result, data = self.result, self.result.record["data"]
        names = ", ".join(map(escape_control_chars, get_screener_names(result)))
        target = f"{find_recorded_type(data).prefix}{escape_control_chars(data['target'])}"
        scored = f"{result.n_scored:,} formulas of {len(data['inputs']):,} inputs"
        lines = [
            f"{scored} were scored against {target} in {data['rows']:,} rows, by {names}.",
            f"{len(result):,} of them are in the ranking.",
        ]
        if len(result) > MAX_FORMULAS:
            lines.append(f"The best {MAX_FORMULAS:,} are on this page.")
        if self.task is None:
            option = render_message(name_option("data", "DATA"), COMMAND_LINE)
            lines.append(f"The data are not here: {option} shows rows and answers for typed formulas.")
        elif self._table is None:
            lines.append("The target is not one column of numbers, so rows are not drawn.")
        return lines

    def _describe_formula(
        self, number: int, headings: list[ColumnHeading], listed: set[str], losses: Values | None
    ) -> dict[str, Any]:
        """Return one formula of the list."""
        expression, row = self.result.expressions[number], self.result.table.iloc[number]
        cells = build_cells(self.result, headings, number)
        loss = float(row["rank"]) if losses is None else float(losses[number])
        return {
            "rank": int(row["rank"]),
            "text": escape_control_chars(to_text(expression)),
            "markup": to_mathml(expression),
            "complexity": int(row["complexity"]),
            "loss": loss if np.isfinite(loss) else None,
            "cells": [
                {"text": cell.text, "key": cell.sort_key}
                for heading, cell in zip(headings, cells, strict=True)
                if heading.name in listed
            ],
            "facts": [
                {"name": heading.text, "value": cell.text, "meaning": heading.meaning}
                for heading, cell in zip(headings, cells, strict=True)
                if cell.text
            ],
        }

    def _trace(self, expression: Expression, direction: int | None) -> dict[str, Any] | None:
        """Return the points of a formula that is defined in all rows."""
        table = self._table
        if table is None:
            return None
        values = evaluate_expression(expression, table.inputs)
        curve = compute_rank_curve(values, table.target, direction) if direction else None
        return build_points(
            table,
            values,
            curve,
            collect_columns(expression),
            axis_name=escape_control_chars(to_text(expression)),
            curve_name=_RANK_CURVE,
        )

    def _trace_typed(self, text: str, direction: int) -> dict[str, Any] | None:
        """Return the points of a typed formula; None if it needs other columns or is undefined in a row."""
        if self.task is None or self._table is None:
            return None
        try:
            expression = parse_expression(text, self.task.grammar.operators, self.task.dataset.names)
            values = evaluate_expression(expression, self._table.inputs)
        except InputError:
            return None
        if values.shape != self._table.target.shape or not np.isfinite(values).all():
            return None
        return self._trace(expression, direction or _find_direction(values, self._table.target))


def _find_direction(values: Values, target: Values) -> int:
    """Return whether a formula rises (1) or falls (-1) with the target, by the ranks of its rows; else 0."""
    ranks = compute_midranks(values)
    return int(np.sign(((ranks - ranks.mean()) * (target - target.mean())).sum()))


def _choose_columns(result: ScreenResult, headings: list[ColumnHeading]) -> set[str]:
    """Choose the columns of the list: complexity, scores, and what is known of chance."""
    evidence = ["q_value", "p_family", "split_p", "stability", "unit"]
    wanted = ["complexity", *get_screener_names(result), *evidence]
    present = {heading.name for heading in headings}
    return {*[name for name in wanted if name in present][:_MAX_COLUMNS]}

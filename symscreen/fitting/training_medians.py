"""Fill missing values of inputs in a fit with the medians of the rows that the search sees."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from symscreen.data.column_types import FilledColumn, LevelIndicator
from symscreen.data.missing_values import build_imputation_record, refill_inputs
from symscreen.messages import Message, name_option, quote
from symscreen.units import convert_to_original_values

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from symscreen.data.column_types import DerivedColumn
    from symscreen.fitting.search_stages import FitTask


_MAX_SHOWN_INPUTS = 10


def fill_from_rows(task: FitTask, rows: NDArray[np.int64]) -> FitTask:
    """Fill missing values of all rows with the medians of some rows, those from which a model is found."""
    if not task.dataset.filled_cells:
        return task
    dataset, medians = refill_inputs(task.dataset, rows)
    fills = convert_to_original_values(medians, task.units_record)
    filled = {
        name: each
        for name, each in dataset.indicators.items()
        if isinstance(each, FilledColumn | LevelIndicator)
    }
    indicators: dict[str, DerivedColumn] = {
        **dataset.indicators,
        **{name: replace(filled[name], fill=fills[name]) for name in fills},
    }
    record = dict(task.categories_record or {})
    record["options"] = {**record.get("options", {}), **build_imputation_record(indicators)}
    return replace(task, dataset=replace(dataset, indicators=indicators), categories_record=record)


def format_median_notice(task: FitTask) -> tuple[str, ...]:
    """Say which medians replace missing values where some rows are kept from the search."""
    fills = [each for each in task.dataset.indicators.values() if isinstance(each, FilledColumn)]
    if not fills or task.options.split == 0:
        return ()
    shown = [f"{quote(each.column)} ({each.fill:g})" for each in fills[:_MAX_SHOWN_INPUTS]]
    if n_more := len(fills) - len(shown):
        shown.append(f"{n_more} more")
    split = name_option("split", task.options.split)
    return (Message(f"the medians are those of the rows that the search sees ({split}): {', '.join(shown)}"),)

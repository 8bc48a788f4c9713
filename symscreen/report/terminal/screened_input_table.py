"""The terminal table of a search for the inputs that matter."""

from __future__ import annotations

import math
import shlex
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from symscreen.config.parsing import write_names
from symscreen.messages import COMMAND_LINE, escape_control_chars, format_count, name_option, render_message
from symscreen.report.terminal.listings import add_row, make_notes, make_table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from symscreen.messages import OptionStyle
    from symscreen.screening.input_screening.input_screen import InputScreenResult

_SMALL_P_VALUE = 0.001
_SHOWN_OTHERS = 3  # inputs that are not selected, the nearest ones


def build_screened_input_table(
    result: InputScreenResult, style: OptionStyle = COMMAND_LINE
) -> RenderableType:
    """Build a table of the selected inputs, and of the nearest others.

    Parameters
    ----------
    result : InputScreenResult
        The result of `symscreen.screen_inputs`.
    style : OptionStyle
        How the notes write options.

    Returns
    -------
    rich renderable
        Input for `print_table`.
    """
    n_inputs, n_selected = len(result.table), len(result.selected)
    head = f"{n_selected} of {format_count(n_inputs, 'input')} selected, on {result.n_rows:,} rows"
    table = make_table(
        ("input", "left"),
        ("round", "right"),
        ("gain", "right"),
        ("p-value", "right"),
        ("p, family", "right"),
        ("best formula", "fold"),
    )
    for row in result.table.head(n_selected + _SHOWN_OTHERS).to_dict("records"):
        with_partner = f"{row['formula']}, with {row['partner']}" if row["partner"] else row["formula"]
        number = row["round"] or "-"
        p_values = [_format_p_value(row[name]) for name in ("p_value", "p_family")]
        add_row(table, (row["input"], number, f"{row['gain']:.3f}", *p_values, with_partner))
    return Group(
        Text(head),
        Text(""),
        table,
        Text(""),
        make_notes(_explain(result), style),
        *_write_option(result, style),
    )


def _explain(result: InputScreenResult) -> list[str]:
    """Explain the columns of the table."""
    columns = (
        "round: when an input was selected; - was not. gain: the share of what the other selected inputs "
        "leave of the target that its best formula explains."
    )
    n_expected = f"{result.level * len(result.table):.2g}"
    p_value = (
        f"p-value: compared with {result.permutations} permuted copies of each input; those up to "
        f"{name_option('level', result.level)} are selected. If no input had an effect, about {n_expected} "
        "of them would be. An input that is not selected may still matter: a test on few rows misses small "
        "effects."
    )
    family = (
        "p, family: compared with the best copy of all inputs; one of at most 0.05 is hardly there by chance."
    )
    return [columns, p_value, family]


def _format_p_value(p_value: float) -> str:
    """Write a p-value with two digits, and at most four decimals, rounded up.

    So a value above the level is not shown as the level.
    """
    decimals = max(2, 1 - math.floor(math.log10(p_value))) if p_value >= _SMALL_P_VALUE else 4
    return f"{math.ceil(round(p_value * 10**decimals, 6)) / 10**decimals:.{decimals}f}"


def _write_option(result: InputScreenResult, style: OptionStyle) -> list[RenderableType]:
    """Write the selected inputs as other verbs, or functions, take them."""
    if not result.selected:
        return []
    if style is COMMAND_LINE:
        option = render_message(name_option("inputs"), style)
        text = f"{option} {shlex.quote(write_names(result.selected))}"
    else:
        text = f"inputs={result.selected!r}"
    return [Text(""), Text(escape_control_chars(text), no_wrap=True, overflow="ignore")]

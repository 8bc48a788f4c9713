"""The verb `inputs`: find the columns of a table that matter."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from symscreen.cli.options import (
    GroupedCommand,
    add_options,
    complete_files,
    force_option,
    reject_target_types,
)
from symscreen.cli.output import check_output_path, list_input_files, print_notices, write_output

if TYPE_CHECKING:
    from symscreen.screening.input_screening.input_screen import InputScreenResult


@click.command(cls=GroupedCommand)
@click.argument("data", shell_complete=complete_files)
@click.option(
    "--level",
    metavar="P",
    type=float,
    help="The expected share of inputs that do not matter but are selected: by default 0.05 in tables of up "
    "to 10 inputs, down to 0.01 from 50 inputs on.",
)
@add_options(
    "inputs",
    help_texts={
        "inputs": "Test these columns only.",
        "permutations": "The number of permuted copies of the inputs; 99 by default, more for few inputs.",
        "seed": "The seed of the permutations.",
    },
)
@click.option(
    "-o", "--out", metavar="FILE", help="Write all inputs as .csv or .json; - is CSV on standard output."
)
@force_option
@reject_target_types
def inputs(data: str, out: str | None, *, force: bool, quiet: bool, **options: Any) -> None:
    """Find the columns that matter, before formulas are searched.

    Each column is judged by its best formula, alone and multiplied by functions of others. It is compared
    with the best formulas of permuted copies of all columns. The last line printed is an option that the
    other verbs take.

    \b
    Examples:
      symscreen inputs data.csv
      symscreen inputs data.csv --target y --exclude id --out inputs.csv
      symscreen inputs data.csv --level 0.001 --permutations 499
    """
    from symscreen.report.terminal.listings import print_table
    from symscreen.report.terminal.screened_input_table import build_screened_input_table
    from symscreen.screening.input_screening.input_screen import screen_inputs

    check_output_path(out, list_input_files(data, options), force=force)
    result = screen_inputs(data, **options)
    print_notices(result.notices, quiet=quiet)
    if write_output(out, _format_output(result, out), force=force, quiet=quiet):
        print_table(build_screened_input_table(result))


def _format_output(result: InputScreenResult, out: str | None) -> str:
    """Write a result as JSON for a name that ends so, else its table as CSV."""
    from symscreen.results.ranking_files import escape_spreadsheet, format_csv

    if out is not None and out.lower().endswith(".json"):
        content = {
            "selected": result.selected,
            "level": result.level,
            "n_rows": result.n_rows,
            "permutations": result.permutations,
            "inputs": result.table.to_dict("records"),
        }
        return json.dumps(content, ensure_ascii=False, indent=1) + "\n"
    texts = {name: result.table[name].map(escape_spreadsheet) for name in ("input", "formula", "partner")}
    return format_csv(result.table.assign(**texts))

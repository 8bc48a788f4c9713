"""The verbs `fit` and `apply`: find a formula, and compute a saved one on new data."""

from __future__ import annotations

from typing import Any

import click

from symscreen.cli.options import GroupedCommand, add_options, force_option, reject_target_types
from symscreen.cli.output import (
    check_output_path,
    list_input_files,
    print_notices,
    show_fit_progress,
    show_warnings_as_notices,
    write_output,
)
from symscreen.config.screen_options import FitOptions


@click.command(cls=GroupedCommand)
@click.argument("data")
@add_options("fit", FitOptions)
@click.option("--out", metavar="FILE", help="Save the formula as a bundle (.json) for symscreen apply.")
@force_option
@reject_target_types
def fit(data: str, out: str | None, *, force: bool, quiet: bool, **options: Any) -> None:
    """Find a formula: a weighted sum of few features.

    It prints the formula, its coefficients with intervals, and models that fit about as well.

    \b
    Examples:
      symscreen fit data.csv
      symscreen fit data.csv --layers bub --split 0.5 --out model.json
      symscreen fit data.csv --effort quick
      symscreen fit data.csv --effort thorough --time-limit 1h
      symscreen fit data.csv --target a,b --layers ub
      symscreen fit data.csv --categorical site --layers ub
      symscreen apply model.json new.csv
    """
    from symscreen.fitting.fit import fit as run_fit
    from symscreen.report.terminal.listings import print_table
    from symscreen.report.terminal.result_tables import (
        format_equation,
        format_equations,
        show_fit,
        show_shared_fit,
    )
    from symscreen.results.fit_result import SharedFitResult

    check_output_path(out, list_input_files(data, options), force=force)
    with show_fit_progress(quiet=quiet) as on_progress:
        result = run_fit(data, on_progress=on_progress, **options)
    print_notices(result.notices, quiet=quiet)
    if out is not None:
        result.save(out, force=force)
        if out == "-":
            return
        print_notices((f"written: {out}",), quiet=quiet)
    # equations are never folded: programs read them, too
    if isinstance(result, SharedFitResult):
        click.echo("\n".join([*format_equations(result), result.verdict]))
        print_table(show_shared_fit(result))
        return
    excluded = [] if result.exclusion is None else [result.exclusion]
    click.echo("\n".join([format_equation(result), result.verdict, *excluded]))
    print_table(show_fit(result))


@click.command()
@click.argument("bundle")
@click.argument("data")
@click.option("--out", metavar="FILE", default="-", show_default=True, help="A .csv; - is standard output.")
@force_option
def apply(bundle: str, data: str, out: str, *, force: bool) -> None:
    """Compute a saved formula, or saved features, on new data.

    \b
    Example:
      symscreen apply model.json new.csv --out predicted.csv
    """
    from symscreen.data import read_frame
    from symscreen.export import apply_bundle
    from symscreen.results.ranking_files import format_csv

    check_output_path(out, (bundle, data), force=force)
    frame = read_frame(data)
    print_notices(frame.notices, quiet=False)
    with show_warnings_as_notices():
        values = apply_bundle(bundle, frame)
    write_output(out, format_csv(values), force=force)

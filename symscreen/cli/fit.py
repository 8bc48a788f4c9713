"""The verbs `fit` and `apply`: find a formula, and compute a saved one on new data."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

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

if TYPE_CHECKING:
    from symscreen.config.keyword_types import FitKeywords
    from symscreen.results.fit_result import FitResult, SharedFitResult


@click.command(cls=GroupedCommand)
@click.argument("data")
@add_options("fit", FitOptions)
@click.option("--out", metavar="FILE", help="Save the formula as a bundle (.json) for symscreen apply.")
@click.option(
    "--baselines",
    is_flag=True,
    help="Also compare the fit with ridge regression, gradient boosting and a random forest, by "
    "cross-validation of the whole search. It takes five times as long as the fit.",
)
@force_option
@reject_target_types
def fit(data: str, out: str | None, *, baselines: bool, force: bool, quiet: bool, **options: Any) -> None:
    """Find a formula: a weighted sum of few features.

    It prints the formula, its coefficients with intervals, and models that fit about as well.

    \b
    Examples:
      symscreen fit data.csv
      symscreen fit data.csv --layers bub --split 0.5 --out model.json
      symscreen fit data.csv --effort quick --baselines
      symscreen fit data.csv --effort thorough --time-limit 1h
      symscreen fit data.csv --target a,b --layers ub
      symscreen fit data.csv --categorical site --layers ub
      symscreen apply model.json new.csv
    """
    from symscreen.fitting.baselines import compare_task
    from symscreen.fitting.fit import prepare_fit
    from symscreen.fitting.procedure import run_fit

    check_output_path(out, list_input_files(data, options), force=force)
    with show_fit_progress(quiet=quiet) as on_progress:
        task = prepare_fit(data, None, cast("FitKeywords", options))
        result = run_fit(replace(task, on_progress=on_progress))
    print_notices(result.notices, quiet=quiet)
    if out is not None:
        result.save(out, force=force)
        if out == "-":
            return
        print_notices((f"written: {out}",), quiet=quiet)
    print_fit(result)
    if baselines:
        click.echo(str(compare_task(task)))


def print_fit(result: FitResult | SharedFitResult) -> None:
    """Print the formula, or the formulas, of a fit, and the tables below."""
    from symscreen.report.terminal.listings import print_table
    from symscreen.report.terminal.result_tables import (
        format_equation,
        format_equations,
        show_fit,
        show_shared_fit,
    )
    from symscreen.results.fit_result import SharedFitResult

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
@click.option("--clip", is_flag=True, help="Move inputs outside of their box to its nearest end.")
@force_option
def apply(bundle: str, data: str, out: str, *, clip: bool, force: bool) -> None:
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
        values = apply_bundle(bundle, frame, clip=clip)
    write_output(out, format_csv(values), force=force)

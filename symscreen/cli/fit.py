"""The verbs `fit` and `apply`: find a formula, and compute a saved one on new data."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import click

from symscreen.cli.options import (
    GroupedCommand,
    GroupedOption,
    add_options,
    complete_files,
    force_option,
    reject_target_types,
)
from symscreen.cli.output import (
    check_output_path,
    list_input_files,
    print_notices,
    show_fit_progress,
    show_warnings_as_notices,
    write_output,
)
from symscreen.config.fit_options import FitOptions
from symscreen.errors import OptionError
from symscreen.messages import COMMAND_LINE, render_message

if TYPE_CHECKING:
    import pandas as pd

    from symscreen.config.keyword_types import FitKeywords
    from symscreen.data import SourceFrame
    from symscreen.export.bundle_documents import Bundle
    from symscreen.fitting.search_monitor import FitProgress, FitProgressListener
    from symscreen.fitting.search_stages import FitTask
    from symscreen.results.fit_result import AnyFitResult, FitResult


@click.command(cls=GroupedCommand)
@click.argument("data", shell_complete=complete_files)
@add_options("fit", FitOptions)
@click.option("-o", "--out", metavar="FILE", help="Save the formula as a bundle (.json) for symscreen apply.")
@click.option(
    "--report",
    metavar="FILE",
    shell_complete=complete_files,
    help="Write a report as one .html file.",
)
@click.option(
    "--baselines/--no-baselines",
    cls=GroupedOption,
    everyday=False,
    default=None,
    help="Compare the fit with ridge regression, gradient boosting and a random forest, by cross-validation. "
    "By default up to 20,000 values (rows times inputs), where each fold repeats the stage that found the "
    "formula. With --baselines, each fold repeats the whole search, which takes five times as long as the "
    "fit.",
)
@force_option
@reject_target_types
def fit(
    data: str,
    out: str | None,
    report: str | None,
    *,
    baselines: bool | None,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Find the law of a target, with its constants and a verdict.

    It prints the formula, its coefficients with intervals, models that fit about as well, and how well other
    regressors predict the same rows.

    \b
    Examples:
      symscreen fit data.csv
      symscreen fit data.csv --layers bub --split 0.5 --out model.json
      symscreen fit data.csv --effort quick --baselines
      symscreen fit data.csv --no-baselines --report law.html
      symscreen fit data.csv --effort thorough --time-limit 1h
      symscreen fit data.csv --target a,b --layers ub
      symscreen fit data.csv --categorical site --layers ub
      symscreen fit data.csv --split 0.5 --bands split --out model.json
      symscreen fit data.csv --per material --out model.json
      symscreen apply model.json new.csv
    """
    from symscreen.fitting.baselines import check_comparable
    from symscreen.fitting.fit import prepare_fit
    from symscreen.fitting.procedure import run_fit
    from symscreen.report.terminal.listings import make_notes, print_table

    for path in (out, report):
        check_output_path(path, list_input_files(data, options), force=force)
    if report is not None:
        _check_report_option(report, out, force=force)
    if baselines and options["per"] is not None:
        raise OptionError("--baselines cannot be combined with --per: leave one of them out")
    with show_fit_progress(quiet=quiet) as on_progress:
        task = prepare_fit(data, None, cast("FitKeywords", options))
        if baselines:
            check_comparable(task)
        result = run_fit(replace(task, on_progress=on_progress))
    print_notices(result.notices, quiet=quiet)
    if report is not None:
        result.report(report, data=data, force=force)
        print_notices((f"written: {report}",), quiet=quiet)
    if out is not None:
        result.save(out, force=force)
        if out == "-":
            return
        print_notices((f"written: {out}",), quiet=quiet)
    print_fit(result)
    if baselines is not False:
        with show_fit_progress(quiet=quiet) as on_progress:
            listener = None if on_progress is None else partial(report_with_formula, on_progress, result)
            watched = replace(task, on_progress=listener)
            lines = compare_on_request(watched) if baselines else compare_by_default(watched, result)
        if lines:
            click.echo()
            print_table(make_notes(lines))


def _check_report_option(report: str, out: str | None, *, force: bool) -> None:
    """Check, before any work is done, that the report can be written, and to a file of its own."""
    from symscreen.report.page_template import check_report

    if report == out:
        raise OptionError("--out and --report are the same; give them different names")
    check_report(report, force=force)


def report_with_formula(listener: FitProgressListener, result: AnyFitResult, report: FitProgress) -> None:
    """Report the progress of a comparison with the formula of the fit, which an interruption then shows."""
    from symscreen.report.terminal.result_tables import format_equation

    fitted = cast("FitResult", result)  # results of other types are not compared
    listener(replace(report, formula=format_equation(fitted), r2=fitted.r2))


def compare_on_request(task: FitTask) -> list[str]:
    """Compare a fit with other regressors, with the whole search in each fold; return lines to print."""
    from symscreen.fitting import baselines

    return [f"{baselines.compare_task(task)}."]


def compare_by_default(task: FitTask, result: AnyFitResult) -> list[str]:
    """Compare a fit with other regressors where a comparison is quick; return lines to print."""
    from symscreen.fitting import baselines

    found = baselines.compare_by_default(task, result)
    lines = [found] if isinstance(found, str) else [f"{found}.", found.note]
    return [render_message(line, COMMAND_LINE) for line in lines if line]


def print_fit(result: AnyFitResult) -> None:
    """Print the formula, or the formulas, of a fit, and the tables below."""
    from symscreen.report.terminal.listings import make_notes, print_table
    from symscreen.report.terminal.result_tables import (
        build_fit_tables,
        build_grouped_fit_tables,
        build_shared_fit_tables,
        format_equation,
        format_equations,
    )
    from symscreen.results.fit_result import GroupedFitResult, SharedFitResult

    # equations are never folded: programs read them, too
    if isinstance(result, SharedFitResult):
        click.echo("\n".join([*format_equations(result), result.verdict]))
        print_table(build_shared_fit_tables(result))
        return
    if isinstance(result, GroupedFitResult):
        click.echo("\n".join([format_equation(result), result.verdict]))
        print_table(build_grouped_fit_tables(result))
        return
    verdict, *others = result.claims
    click.echo("\n".join([format_equation(result), verdict]))
    if others:
        print_table(make_notes(others))
    print_table(build_fit_tables(result))


@click.command()
@click.argument("bundle", shell_complete=complete_files)
@click.argument("data", shell_complete=complete_files)
@click.option(
    "-o", "--out", metavar="FILE", default="-", show_default=True, help="A .csv; - is standard output."
)
@click.option("--clip", is_flag=True, help="Move inputs outside of their box to its nearest end.")
@click.option(
    "--adapt",
    metavar="FILE",
    help="Fit the constants of new groups to these rows first, of a model with constants by group.",
)
@click.option("--adapted", metavar="FILE", help="Save the model that --adapt gives as a bundle (.json).")
@force_option
def apply(
    bundle: str, data: str, out: str, adapt: str | None, adapted: str | None, *, clip: bool, force: bool
) -> None:
    """Compute a saved formula, or saved features, on new data.

    A model of y with a prediction band has the columns y_low and y_high, too. Saved equations of motion are
    integrated from the first row of each run.

    \b
    Examples:
      symscreen apply model.json new.csv --out predicted.csv
      symscreen apply model.json new.csv --adapt few.csv --adapted model2.json
    """
    from symscreen.data import read_frame
    from symscreen.results.ranking_files import format_csv

    inputs = (bundle, data) if adapt is None else (bundle, data, adapt)
    check_output_path(out, inputs, force=force)
    check_output_path(adapted, inputs, force=force)
    if adapted is not None and adapt is None:
        raise OptionError("--adapted saves what --adapt gives: give the rows of the new groups with --adapt")
    frame = read_frame(data)
    print_notices(frame.notices, quiet=False)
    source: Any = bundle if adapt is None else _adapt_bundle(bundle, adapt, adapted, force=force)
    with show_warnings_as_notices():
        values = _compute_values(source, frame, clip=clip)
    write_output(out, format_csv(values), force=force, quiet=False)


def _compute_values(source: Any, frame: SourceFrame, *, clip: bool) -> pd.DataFrame:
    """Compute formulas, or integrate equations of motion."""
    from symscreen.dynamics.prediction import integrate_runs
    from symscreen.export import apply_bundle, read_bundle
    from symscreen.export.bundle_documents import Bundle
    from symscreen.expressions.system_formula import SystemFormula

    bundle = source if isinstance(source, Bundle) else read_bundle(source)
    if not isinstance(bundle.formulas, SystemFormula):
        # standard input can be read once; of a file, messages have the name
        return apply_bundle(bundle if source == "-" else source, frame, clip=clip)
    if clip:
        raise OptionError("--clip is for formulas, and the bundle holds differential equations; leave it out")
    return integrate_runs(bundle.formulas, frame)


def _adapt_bundle(bundle: str, rows: str, adapted: str | None, *, force: bool) -> Bundle:
    """Fit the constants of new groups to rows; return the bundle with the adapted formula."""
    from symscreen.export import read_bundle, save_bundle
    from symscreen.fitting.grouped.adaptation import adapt

    loaded = replace(read_bundle(bundle), formulas=adapt(bundle, rows))
    if adapted is not None:
        save_bundle(loaded.formulas, adapted, operators=loaded.operators, record=loaded.record, force=force)
    return loaded

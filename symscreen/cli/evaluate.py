"""The verbs for data whose true formula is known: measure a ranking, re-run a paper's experiment."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from symscreen.cli.options import parse_counts, parse_ratios
from symscreen.cli.output import list_input_files, open_progress_bar, print_notices, write_stdout
from symscreen.errors import OptionError
from symscreen.messages import suggest


@click.command()
@click.argument("result")
@click.option("--truth", metavar="EXPR", required=True, help="The formula that made the response.")
@click.option(
    "--criterion",
    metavar="NAME",
    default="active",
    show_default=True,
    help="What counts as correct: active, terms or exact.",
)
@click.option(
    "--recall", metavar="K,…", default="20,100", show_default=True, callback=parse_counts, help="Recall at K."
)
@click.option(
    "--outside",
    metavar="N",
    type=int,
    help="Correct features that the ranking does not show: bounds for a truncated one.",
)
@click.option(
    "--operators", metavar="NAME|FILE", default="basic", help="The grammar, where it defines its own."
)
@click.option("--out", metavar="FILE", help="Write the figures as .csv; - is standard output.")
@click.option("--picture", metavar="FILE", help="Draw precision against recall: .png or .svg.")
@click.option("--force", is_flag=True, help="Overwrite existing output.")
def evaluate(
    result: str,
    operators: str,
    outside: int | None,
    out: str | None,
    picture: str | None,
    *,
    force: bool,
    **options: Any,
) -> None:
    """Measure a ranking against a known formula: PR-AUC and recovery.

    \b
    Examples:
      symscreen screen data.csv --layers ub --top all --out ranking.csv
      symscreen evaluate ranking.csv --truth "2*x1**3 + 5*x3" --picture curves.png
      symscreen evaluate ranking.csv --truth "x1 - cos(x2)/x1" --criterion exact
    """
    from symscreen import evaluation
    from symscreen._atomic_io import check_not_input, check_outputs_differ, check_writable, write_atomically
    from symscreen.grammar import load_grammar
    from symscreen.report.figures.precision_recall_curves import check_picture, draw_curves, encode_figure
    from symscreen.report.terminal.listings import print_table
    from symscreen.report.terminal.result_tables import show_evaluation
    from symscreen.results.ranking_files import format_csv
    from symscreen.results.ranking_reader import read_ranking

    check_not_input((out, picture), list_input_files(result, {"operators": operators}))
    check_outputs_differ({"out": out, "picture": picture})
    if out is not None and out != "-":
        check_writable(Path(out), force=force)
    if picture is not None:
        if outside is not None:
            raise OptionError("--picture draws a whole ranking; with --outside there are bounds only")
        check_picture(picture)
        check_writable(Path(picture), force=force)
    ranking, options["operators"] = read_ranking(result), load_grammar(operators).operators
    if outside is None:
        found = evaluation.evaluate(ranking, **options)
    else:
        found = evaluation.evaluate_bounds(ranking, outside=outside, **options)
    if picture is not None:
        write_atomically(
            Path(picture), encode_figure(draw_curves(found.curves, found.correct_share), picture), force=force
        )
    if out == "-":
        write_stdout(format_csv(found.table))
        return
    if out is not None:
        write_atomically(Path(out), format_csv(found.table).encode(), force=force)
    print_table(show_evaluation(found, evaluation.CRITERIA[found.criterion]), sys.stdout)


@click.command()
@click.argument("name", required=False)
@click.option("--quick", is_flag=True, help="A small size, in seconds: shows that it runs.")
@click.option(
    "--seeds", "repeats", metavar="N", type=click.IntRange(min=1), help="How many tables are drawn."
)
@click.option(
    "--noise-ratio",
    "noise_ratios",
    metavar="R,…",
    callback=parse_ratios,
    help="The noise's standard deviation over the response's root mean square.",
)
@click.option(
    "--seed", metavar="S", type=click.IntRange(min=0), default=0, show_default=True, help="The first seed."
)
@click.option(
    "--jobs", metavar="N", type=click.IntRange(min=1), help="Threads; the figures do not depend on it."
)
@click.option(
    "--data",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="A folder with data that symscreen does not ship, for experiments that read some.",
)
@click.option("--out", metavar="DIR", help="Write tables as CSV and pictures as PNG into a folder.")
@click.option("--force", is_flag=True, help="Write into a folder that is not empty.")
@click.option("--quiet", is_flag=True, help="No progress.")
def reproduce(name: str | None, out: str | None, *, force: bool, quiet: bool, **options: Any) -> None:
    """Re-run an experiment of a paper and print it beside the published figures.

    \b
    Examples:
      symscreen reproduce
      symscreen reproduce figure5 --quick
      symscreen reproduce strogatz --noise-ratio 0,0.01 --seeds 3 --out results
      symscreen reproduce lr-benchmarks --data label-ranking
    """
    from symscreen.experiments import ExperimentSettings, check_settings
    from symscreen.experiments.registry import EXPERIMENTS
    from symscreen.report.experiment_report import (
        check_folder,
        explain_missing_pictures,
        show_experiments,
        show_outcome,
        write_outcome,
    )
    from symscreen.report.terminal.listings import print_table

    if name is None:
        print_table(show_experiments(EXPERIMENTS.values()), sys.stdout)
        return
    if name not in EXPERIMENTS:
        raise OptionError(f"there is no experiment {name!r}{suggest(name, EXPERIMENTS)}")
    experiment = EXPERIMENTS[name]
    check_settings(experiment, ExperimentSettings(**options))
    if out is not None:
        check_folder(Path(out), force=force)
        if (lacking := explain_missing_pictures()) is not None:
            print_notices((lacking,), quiet=quiet)
    with open_progress_bar(quiet=quiet) as progress:
        outcome = experiment.run(ExperimentSettings(progress=progress, **options))
    if out is not None:
        written = write_outcome(experiment, outcome, Path(out))
        print_notices((f"written: {len(written)} files in {out}",), quiet=quiet)
    print_table(show_outcome(experiment, outcome), sys.stdout)

"""The verb `evaluate`: compare a ranking with a known formula."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from symscreen.cli.options import complete_files, force_option, parse_counts
from symscreen.cli.output import check_output_path, list_input_files, write_output
from symscreen.errors import OptionError


@click.command()
@click.argument("result", shell_complete=complete_files)
@click.option("--truth", metavar="EXPR", required=True, help="The formula that made the target.")
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
@click.option("-o", "--out", metavar="FILE", help="Write the figures as .csv; - is standard output.")
@click.option("--picture", metavar="FILE", help="Draw precision against recall: .png or .svg.")
@force_option
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
    from symscreen._atomic_io import check_not_input, check_outputs_differ, check_writable, write_atomically
    from symscreen.evaluation import CRITERIA, evaluate_bounds
    from symscreen.evaluation import evaluate as evaluate_ranking
    from symscreen.grammar import load_grammar
    from symscreen.report.figures.precision_recall_curves import check_picture, draw_curves, encode_figure
    from symscreen.report.terminal.listings import print_table
    from symscreen.report.terminal.result_tables import build_evaluation_table
    from symscreen.results.ranking_files import format_csv
    from symscreen.results.ranking_reader import read_ranking

    inputs = list_input_files(result, {"operators": operators})
    check_not_input((picture,), inputs)
    check_outputs_differ({"out": out, "picture": picture})
    check_output_path(out, inputs, force=force)
    if picture is not None:
        if outside is not None:
            raise OptionError("--picture draws a whole ranking; with --outside there are bounds only")
        check_picture(picture)
        check_writable(Path(picture), force=force)
    ranking, options["operators"] = read_ranking(result), load_grammar(operators).operators
    if outside is None:
        evaluation = evaluate_ranking(ranking, **options)
    else:
        evaluation = evaluate_bounds(ranking, outside=outside, **options)
    if picture is not None:
        figure = draw_curves(evaluation.curves, evaluation.correct_share)
        write_atomically(Path(picture), encode_figure(figure, picture), force=force)
    if write_output(out, format_csv(evaluation.table), force=force):
        print_table(build_evaluation_table(evaluation, CRITERIA[evaluation.criterion]))

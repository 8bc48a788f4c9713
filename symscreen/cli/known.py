"""The verbs for data whose true formula is known: measure a ranking, re-run a paper's experiment."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from symscreen.cli.options import read_counts, read_ratios
from symscreen.cli.output import emit, files_of, notify, progress_bar
from symscreen.errors import OptionError, nearest

__all__ = ["evaluate", "reproduce"]


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
    "--recall", metavar="K,…", default="20,100", show_default=True, callback=read_counts, help="Recall at K."
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
    from symscreen.export import check_apart, check_free, check_outputs_differ, write_whole
    from symscreen.grammar import load_grammar
    from symscreen.report.curves import check_picture, draw_curves, picture_of
    from symscreen.report.evaluated import show_evaluation
    from symscreen.report.files import frame_as_csv
    from symscreen.report.stored import read_ranking
    from symscreen.report.terminal import print_table

    check_apart((out, picture), files_of(result, {"operators": operators}))
    check_outputs_differ({"--out": out, "--picture": picture})
    if out is not None and out != "-":
        check_free(Path(out), force=force)
    if picture is not None:
        if outside is not None:
            raise OptionError("--picture draws a whole ranking; with --outside there are bounds only")
        check_picture(picture)
        check_free(Path(picture), force=force)
    ranking, options["operators"] = read_ranking(result), load_grammar(operators).operators
    if outside is None:
        found = evaluation.evaluate(ranking, **options)
    else:
        found = evaluation.bounded(ranking, outside=outside, **options)
    if picture is not None:
        write_whole(Path(picture), picture_of(draw_curves(found.curves, found.share), picture), force=force)
    if out == "-":
        emit(frame_as_csv(found.table))
        return
    if out is not None:
        write_whole(Path(out), frame_as_csv(found.table).encode(), force=force)
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
    callback=read_ratios,
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
    from symscreen.experiments import Settings, check_settings
    from symscreen.experiments.registry import EXPERIMENTS
    from symscreen.report.outcome import (
        check_folder,
        lacks_pictures,
        show_experiments,
        show_outcome,
        write_outcome,
    )
    from symscreen.report.terminal import print_table

    if name is None:
        print_table(show_experiments(EXPERIMENTS.values()), sys.stdout)
        return
    if name not in EXPERIMENTS:
        raise OptionError(f"there is no experiment {name!r}{nearest(name, EXPERIMENTS)}")
    experiment = EXPERIMENTS[name]
    check_settings(experiment, Settings(**options))
    if out is not None:
        check_folder(Path(out), force=force)
        if (lacking := lacks_pictures()) is not None:
            notify((lacking,), quiet=quiet)
    with progress_bar(quiet=quiet) as progress:
        outcome = experiment.run(Settings(progress=progress, **options))
    if out is not None:
        written = write_outcome(experiment, outcome, Path(out))
        notify((f"written: {len(written)} files in {out}",), quiet=quiet)
    print_table(show_outcome(experiment, outcome), sys.stdout)

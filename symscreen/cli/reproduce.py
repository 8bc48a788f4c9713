"""The verb `reproduce`: run an experiment of a paper again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import click

from symscreen._option_values import ExperimentSize, parse_name_list
from symscreen.cli.options import parse_ratios
from symscreen.cli.output import open_progress_bar, print_notices
from symscreen.errors import OptionError
from symscreen.messages import suggest


def _parse_problems(
    ctx: click.Context, parameter: click.Parameter, text: str | None
) -> tuple[str, ...] | None:
    """Read names of problems, ``I_34_8,test_7``."""
    del ctx, parameter
    return None if text is None else parse_name_list(text, "problems")


@click.command()
@click.argument("name", required=False)
@click.option(
    "--size",
    type=click.Choice(get_args(ExperimentSize)),
    default="medium",
    show_default=True,
    help="small: seconds, to see that it runs. medium: minutes, shows the published result. full: as "
    "published. srbench takes longer.",
)
@click.option(
    "--seeds", "repeats", metavar="N", type=click.IntRange(min=1), help="How many tables are drawn."
)
@click.option(
    "--noise-ratio",
    "--noise",
    "noise_ratios",
    metavar="R,…",
    callback=parse_ratios,
    help="The noise's standard deviation over the target's root mean square.",
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
@click.option(
    "--problems",
    metavar="NAME,…",
    callback=_parse_problems,
    help="The problems of a benchmark, such as I_34_8,test_7.",
)
@click.option("--units", is_flag=True, help="Give the fits of a benchmark the units of its columns.")
@click.option(
    "--checkpoint",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Append each result to this file of JSON lines: the same command continues from there.",
)
@click.option("-o", "--out", metavar="DIR", help="Write tables as CSV and pictures as PNG into a folder.")
@click.option("--force", is_flag=True, help="Write into a folder that is not empty.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def reproduce(name: str | None, out: str | None, *, force: bool, quiet: bool, **options: Any) -> None:
    """Re-run an experiment of a paper.

    Its figures are printed next to the published ones. Without a name, the experiments are listed.

    \b
    Examples:
      symscreen reproduce
      symscreen reproduce figure5 --size small
      symscreen reproduce strogatz --noise-ratio 0,0.01 --seeds 3 --out results
      symscreen reproduce lr-benchmarks --data label-ranking
      symscreen reproduce srbench --noise 0,0.1 --units --checkpoint rows.jsonl
    """
    from symscreen.experiments.base import ExperimentSettings, check_settings, describe_size
    from symscreen.experiments.registry import EXPERIMENTS
    from symscreen.report.experiment_report import (
        build_experiment_table,
        build_outcome_tables,
        check_folder,
        explain_missing_pictures,
        write_outcome,
    )
    from symscreen.report.terminal.listings import print_table

    if name is None:
        print_table(build_experiment_table(EXPERIMENTS.values()))
        return
    if name not in EXPERIMENTS:
        raise OptionError(f"there is no experiment {name!r}{suggest(name, EXPERIMENTS)}")
    experiment = EXPERIMENTS[name]
    settings = ExperimentSettings(**options)
    check_settings(experiment, settings)
    if out is not None:
        check_folder(Path(out), force=force)
        if (reason := explain_missing_pictures()) is not None:
            print_notices((reason,), quiet=quiet)
    print_notices((describe_size(experiment, settings),), quiet=quiet)
    with open_progress_bar(quiet=quiet) as progress:
        outcome = experiment.run(replace(settings, progress=progress))
    if out is not None:
        written = write_outcome(experiment, outcome, Path(out))
        print_notices((f"written: {len(written)} files in {out}",), quiet=quiet)
    print_table(build_outcome_tables(experiment, outcome))

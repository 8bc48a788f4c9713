"""The verb that lists the members of classes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from symscreen.cli.output import open_progress_bar, print_notices, write_stdout
from symscreen.errors import OptionError
from symscreen.messages import escape_control_chars

if TYPE_CHECKING:
    import pandas as pd


@click.command()
@click.argument("result")
@click.option("--data", metavar="DATA", help="The data that were screened; else what is stored is listed.")
@click.option("--rank", metavar="R", type=int, help="The class of this rank only.")
@click.option(
    "--members",
    metavar="K",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="How many members of each class to list at most.",
)
@click.option(
    "--spellings",
    metavar="K",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="How many other ways of writing each member to list at most; needs --data.",
)
@click.option("--out", metavar="FILE", help="Write the members as .csv; - is standard output.")
@click.option("--force", is_flag=True, help="Overwrite existing output.")
@click.option("--max-ram", metavar="SIZE", help="Memory that may be used, such as 2GB.")
@click.option("--jobs", metavar="N", type=int, help="Threads; the answer does not depend on it.")
@click.option("--quiet", is_flag=True, help="No progress and no notices.")
def classes(
    result: str,
    *,
    data: str | None,
    rank: int | None,
    members: int,
    spellings: int,
    out: str | None,
    force: bool,
    max_ram: str | None,
    jobs: int | None,
    quiet: bool,
) -> None:
    """List what stands behind each feature shown: the members of its class.

    \b
    Examples:
      symscreen screen data.csv --layers ub --members 10 --out ranking.csv
      symscreen classes ranking.csv
      symscreen classes ranking.csv --data data.csv --rank 1 --members 100
    """
    from symscreen._atomic_io import check_not_input, check_writable, write_atomically
    from symscreen.report.terminal.listings import print_table
    from symscreen.report.terminal.result_tables import format_members_csv, show_classes
    from symscreen.results.ranking_reader import read_ranking, report_damaged_record
    from symscreen.screening import class_members as pipeline_classes
    from symscreen.screening.class_members import RELATIONS

    check_not_input((out,), (result, data))
    if out is not None and out != "-":
        check_writable(Path(out), force=force)
    stored = read_ranking(result, max_ram)
    if rank is not None and not 1 <= rank <= len(stored.table):
        raise OptionError(f"--rank is {rank}; the ranking has {len(stored.table)} entries")
    with open_progress_bar(quiet=quiet) as progress, report_damaged_record(result):
        found = pipeline_classes.classes(
            stored,
            data,
            members=members,
            spellings=spellings,
            jobs=jobs,
            max_ram=max_ram,
            progress=progress,
        )
    if rank is not None:
        found, notices = _select_class(found, rank, list(stored.table["expression"])[rank - 1])
        print_notices(notices, quiet=quiet)
    text = format_members_csv(found)
    if out == "-":
        write_stdout(text)
        return
    if out is not None:
        write_atomically(Path(out), text.encode(errors="backslashreplace"), force=force)
        print_notices((f"written: {out}",), quiet=quiet)
    print_table(show_classes(found, RELATIONS), sys.stdout)


def _select_class(
    class_members: pd.DataFrame, rank: int, formula: str
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the class of one entry: its own, or, where all features are shown, the one it is in."""
    own = class_members[class_members["rank"] == rank].reset_index(drop=True)
    if len(own):
        return own, ()
    inside = class_members[
        class_members["expression"].isin([formula, formula.removeprefix("(").removesuffix(")")])
    ]
    if not len(inside):
        raise OptionError(
            f"--rank {rank}, {escape_control_chars(formula)}, is a member of a class of which fewer members "
            "are listed: "
            "give a larger --members"
        )
    head = int(inside["rank"].iloc[0])
    whole = class_members[class_members["rank"] == head].reset_index(drop=True)
    return whole, (f"rank {rank}, {escape_control_chars(formula)}, is a member of the class of rank {head}",)

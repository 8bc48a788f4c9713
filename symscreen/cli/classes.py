"""The verb `classes`: list the members of the equivalence classes of a ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from symscreen.cli.options import complete_files, force_option
from symscreen.cli.output import check_output_path, open_progress_bar, print_notices, write_output
from symscreen.errors import OptionError
from symscreen.messages import escape_control_chars

if TYPE_CHECKING:
    import pandas as pd


@click.command()
@click.argument("result", shell_complete=complete_files)
@click.option("--data", metavar="DATA", help="The data that were screened; else what is stored is listed.")
@click.option("--rank", metavar="R", type=int, help="The equivalence class of this rank only.")
@click.option(
    "--class-members",
    metavar="K",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="How many members of each equivalence class to list at most.",
)
@click.option(
    "--equivalent-forms",
    metavar="K",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="How many other ways of writing each member to list at most; needs --data.",
)
@click.option("-o", "--out", metavar="FILE", help="Write the members as .csv; - is standard output.")
@force_option
@click.option("--max-ram", metavar="SIZE", help="Memory that may be used, such as 2GB.")
@click.option("-j", "--jobs", metavar="N", type=int, help="Threads; the answer does not depend on it.")
@click.option("-q", "--quiet", is_flag=True, help="No progress and no notices.")
def classes(
    result: str,
    *,
    data: str | None,
    rank: int | None,
    out: str | None,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """List the other forms of each feature of a ranking.

    They are the members of its equivalence class.

    \b
    Examples:
      symscreen screen data.csv --layers ub --class-members 10 --out ranking.csv
      symscreen classes ranking.csv
      symscreen classes ranking.csv --data data.csv --rank 1 --class-members 100
    """
    from symscreen.report.terminal.listings import print_table
    from symscreen.report.terminal.result_tables import build_class_table, format_members_csv
    from symscreen.results.ranking_reader import read_ranking, report_damaged_record
    from symscreen.screening.class_members import RELATIONS
    from symscreen.screening.class_members import classes as list_classes

    check_output_path(out, (result, data), force=force)
    ranking = read_ranking(result, options["max_ram"])
    if rank is not None and not 1 <= rank <= len(ranking.table):
        raise OptionError(f"--rank is {rank}; the ranking has {len(ranking.table)} entries")
    with open_progress_bar(quiet=quiet) as progress, report_damaged_record(result):
        members = list_classes(ranking, data, progress=progress, **options)
    if rank is not None:
        members, notices = _select_class(members, rank, list(ranking.table["expression"])[rank - 1])
        print_notices(notices, quiet=quiet)
    if write_output(out, format_members_csv(members), force=force, quiet=quiet):
        print_table(build_class_table(members, RELATIONS))


def _select_class(
    class_members: pd.DataFrame, rank: int, formula: str
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the equivalence class of an entry, or the one that contains it where all features are shown."""
    own = class_members[class_members["rank"] == rank].reset_index(drop=True)
    if len(own):
        return own, ()
    inside = class_members[
        class_members["expression"].isin([formula, formula.removeprefix("(").removesuffix(")")])
    ]
    if not len(inside):
        raise OptionError(
            f"--rank {rank}, {escape_control_chars(formula)}, is a member of an equivalence class "
            "of more members than are listed: give a larger --class-members"
        )
    head = int(inside["rank"].iloc[0])
    whole = class_members[class_members["rank"] == head].reset_index(drop=True)
    return whole, (f"rank {rank}, {escape_control_chars(formula)}, is equivalent to rank {head}",)

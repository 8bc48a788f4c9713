"""The verb `apply`: a saved formula, or saved features, on new data."""

from __future__ import annotations

import click

from symscreen.cli.options import force_option
from symscreen.cli.output import check_output_path, write_output


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
    from symscreen.export import apply_bundle
    from symscreen.results.ranking_files import format_csv

    check_output_path(out, (bundle, data), force=force)
    write_output(out, format_csv(apply_bundle(bundle, data)), force=force)

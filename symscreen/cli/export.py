"""The verb `export`: write formulas in other languages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from symscreen.cli.options import complete_files, force_option
from symscreen.cli.output import check_output_path, write_output
from symscreen.errors import DataError, FormulaError, OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen.data import DerivedColumn
    from symscreen.grammar import Operator


def _parse_column_names(
    ctx: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> dict[str, str]:
    """Read ``COLUMN=NAME``; the last ``=`` separates the two."""
    del ctx, parameter
    names: dict[str, str] = {}
    for text in texts:
        column, separator, name = text.rpartition("=")
        if not separator:
            raise OptionError(f"--name is {text!r}; write COLUMN=NAME, such as x1=B2")
        if column in names:
            raise OptionError(f"--name names {column!r} twice")
        names[column] = name
    return names


@click.command()
@click.argument("result", shell_complete=complete_files)
@click.option(
    "--to",
    "format_name",
    metavar="FORMAT",
    required=True,
    help="numpy, sql, sqlite, duckdb, c, excel, matlab, latex or sympy.",
)
@click.option(
    "--rank", metavar="K", type=click.IntRange(min=1), help="This feature alone; else all that there are."
)
@click.option(
    "--group", metavar="NAME", help="The formula of this group, of a model with constants by group."
)
@click.option(
    "--name",
    "names",
    metavar="COLUMN=NAME",
    multiple=True,
    callback=_parse_column_names,
    help="What a column is called there, or its cell; may be repeated.",
)
@click.option("--digits", metavar="D", type=int, help="Of fitted numbers in latex, 1 to 17; else 4.")
@click.option("-o", "--out", metavar="FILE", default="-", show_default=True, help="- is standard output.")
@force_option
def export(
    result: str,
    format_name: str,
    rank: int | None,
    names: dict[str, str],
    out: str,
    *,
    group: str | None,
    digits: int | None,
    force: bool,
) -> None:
    """Write a ranking's or a bundle's formulas in another language.

    \b
    Examples:
      symscreen export ranking.csv --to sql --rank 1
      symscreen export model.json --to excel --name x1=B2 --name x2=C2
      symscreen export features.json --to c --out features.c
    """
    from symscreen.export import export_formulas
    from symscreen.expressions.grouped_formula import GroupedFormula

    check_output_path(out, (result,), force=force)
    formulas, operators, gates = _read_formulas(result, rank)
    if group is not None:
        if not isinstance(formulas, GroupedFormula):
            raise OptionError(f"--group is for constants by group, and {result} has none; leave it out")
        formulas = formulas.get_formula(group)
    elif isinstance(formulas, GroupedFormula) and format_name not in {"latex", "sympy"}:
        raise OptionError(
            f"{format_name} has no constants by group: choose one with --group {formulas.groups[0]}"
        )
    text = export_formulas(
        formulas, format_name, names=names, operators=operators, indicators=gates, digits=digits
    )
    write_output(out, text if text.endswith("\n") else f"{text}\n", force=force)


def _read_formulas(
    path: str, rank: int | None
) -> tuple[Any, Mapping[str, Operator], Mapping[str, DerivedColumn]]:
    """Read what a screen or a fit has written: a ranking or a bundle."""
    from symscreen.export import build_indicators_from_record, read_bundle
    from symscreen.expressions.grouped_formula import GroupedFormula
    from symscreen.expressions.linear_formula import Formula, SharedFormula
    from symscreen.expressions.system_formula import SystemFormula
    from symscreen.results.ranking_files import TABLE_SUFFIXES

    if Path(path).suffix.lower() in TABLE_SUFFIXES:
        return _read_ranking_formulas(path, rank)
    try:
        bundle = read_bundle(path)
    except FormulaError:
        try:  # a ranking may be a .json too
            return _read_ranking_formulas(path, rank)
        except DataError:
            pass
        raise
    gates = build_indicators_from_record(bundle.record)
    formulas = bundle.formulas.rates if isinstance(bundle.formulas, SystemFormula) else bundle.formulas
    if isinstance(formulas, Formula | SharedFormula | GroupedFormula):
        if rank is not None:
            raise OptionError(f"--rank is for features, and {path} holds a model; leave it out")
        return formulas, bundle.operators, gates
    return (
        (formulas if rank is None else _select_rank(formulas, rank, path)),
        bundle.operators,
        gates,
    )


def _read_ranking_formulas(
    path: str, rank: int | None
) -> tuple[Any, Mapping[str, Operator], Mapping[str, DerivedColumn]]:
    from symscreen.export import build_indicators_from_record, build_operators_from_record
    from symscreen.expressions.tree import parse_printed_expression
    from symscreen.results.ranking_reader import read_ranking
    from symscreen.units import convert_to_original_units

    stored = read_ranking(path)
    operators = build_operators_from_record(stored.record)
    texts = stored.table["expression"].tolist()
    chosen = texts if rank is None else [_select_rank(texts, rank, path)]
    parsed = tuple(
        parse_printed_expression(text, operators, stored.record["data"]["inputs"]) for text in chosen
    )
    formulas = convert_to_original_units(parsed, stored.record.get("units"))
    return (formulas if rank is None else formulas[0]), operators, build_indicators_from_record(stored.record)


def _select_rank(formulas: Any, rank: int, path: str) -> Any:
    if rank > len(formulas):
        raise OptionError(f"--rank is {rank}, and {path} holds {len(formulas)} features")
    return formulas[rank - 1]

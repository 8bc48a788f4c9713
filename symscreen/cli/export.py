"""What leaves for elsewhere: the verb that writes formulas in other languages, and the bundles of screens."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from symscreen.cli.output import emit, notify
from symscreen.errors import FormulaError, OptionError, TableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen.export import Gate
    from symscreen.grammar import Operator
    from symscreen.result import ScreenResult

__all__ = ["bundle_option", "check_bundle", "export", "write_bundle"]

_RANKINGS = (".csv", ".parquet")

bundle_option = click.option(
    "--bundle", metavar="FILE", help="Save the features shown as a bundle (.json) for symscreen apply."
)


def check_bundle(bundle: str | None, *, force: bool) -> None:
    """Refuse, before any work is done, a bundle that could not be written after it."""
    from symscreen.export import check_free

    if bundle is None:
        return
    if bundle == "-":
        raise OptionError("--bundle needs a file's name: standard output is the ranking's")
    check_free(Path(bundle), force=force)


def write_bundle(result: ScreenResult, bundle: str | None, *, force: bool, quiet: bool) -> None:
    """Save the features of a ranking, with the run's record."""
    from symscreen.export import operators_of_record, save_bundle
    from symscreen.units import in_given_units

    if bundle is None:
        return
    operators = operators_of_record(result.record)
    formulas = in_given_units(result.expressions, result.record.get("units"))
    save_bundle(formulas, bundle, operators=operators, record=result.record, force=force)
    notify((f"written: {bundle}",), quiet=quiet)


def _read_names(ctx: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """Read ``COLUMN=NAME``; the last ``=`` parts the two."""
    del ctx
    names: dict[str, str] = {}
    for text in texts:
        column, mark, name = text.rpartition("=")
        if not mark:
            raise OptionError(f"--{parameter.name} is {text!r}; write COLUMN=NAME, such as x1=B2")
        if column in names:
            raise OptionError(f"--{parameter.name} names {column!r} twice")
        names[column] = name
    return names


@click.command()
@click.argument("result")
@click.option(
    "--to",
    "target",
    metavar="TARGET",
    required=True,
    help="numpy, sql, sqlite, duckdb, c, excel, matlab, latex or sympy.",
)
@click.option(
    "--rank", metavar="K", type=click.IntRange(min=1), help="This feature alone; else all that there are."
)
@click.option(
    "--name",
    "name",
    metavar="COLUMN=NAME",
    multiple=True,
    callback=_read_names,
    help="What a column is called there, or its cell; may be repeated.",
)
@click.option("--digits", metavar="D", type=int, help="Of fitted numbers in latex, 1 to 17; else 4.")
@click.option("--out", metavar="FILE", default="-", show_default=True, help="- is standard output.")
@click.option("--force", is_flag=True, help="Overwrite existing output.")
def export(
    result: str,
    target: str,
    rank: int | None,
    name: dict[str, str],
    out: str,
    *,
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
    from symscreen.export import check_apart, check_free, exported, write_whole

    check_apart((out,), (result,))
    if out != "-":
        check_free(Path(out), force=force)
    formulas, operators, gates = _formulas_in(result, rank)
    text = exported(formulas, target, names=name, operators=operators, gates=gates, digits=digits)
    text = text if text.endswith("\n") else f"{text}\n"
    if out == "-":
        emit(text)
        return
    write_whole(Path(out), text.encode(errors="backslashreplace"), force=force)


def _formulas_in(path: str, rank: int | None) -> tuple[Any, Mapping[str, Operator], Mapping[str, Gate]]:
    """Read what a screen or a fit has written: a ranking or a bundle."""
    from symscreen.export import Formula, SharedFormula, gates_of_record, read_bundle

    if Path(path).suffix.lower() in _RANKINGS:
        return _ranked(path, rank)
    try:
        bundle = read_bundle(path)
    except FormulaError:
        try:  # a ranking may be a .json too
            return _ranked(path, rank)
        except TableError:
            pass
        raise
    gates = gates_of_record(bundle.record)
    if isinstance(bundle.thing, Formula | SharedFormula):
        if rank is not None:
            raise OptionError(f"--rank is for features, and {path} holds a model; leave it out")
        return bundle.thing, bundle.operators, gates
    return (bundle.thing if rank is None else _one(bundle.thing, rank, path)), bundle.operators, gates


def _ranked(path: str, rank: int | None) -> tuple[Any, Mapping[str, Operator], Mapping[str, Gate]]:
    from symscreen.export import gates_of_record, operators_of_record
    from symscreen.expression import parse
    from symscreen.report.stored import read_ranking
    from symscreen.units import in_given_units

    stored = read_ranking(path)
    operators = operators_of_record(stored.record)
    texts = stored.table["expression"].tolist()
    chosen = texts if rank is None else [_one(texts, rank, path)]
    parsed = tuple(parse(text, operators, stored.record["data"]["inputs"]) for text in chosen)
    formulas = in_given_units(parsed, stored.record.get("units"))
    return (formulas if rank is None else formulas[0]), operators, gates_of_record(stored.record)


def _one(formulas: Any, rank: int, path: str) -> Any:
    if rank > len(formulas):
        raise OptionError(f"--rank is {rank}, and {path} holds {len(formulas)} features")
    return formulas[rank - 1]

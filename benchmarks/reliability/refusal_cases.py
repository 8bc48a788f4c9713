"""Command lines that meet what would blow up; the files that they name are `refusal_files`'."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MILLION = 10**6
FORMULAS = {
    "formula of 10⁶ characters": "x1 + " * 250_000 + "x1",
    "formula nested 10⁵ deep, parentheses": "(" * 100_000 + "x1" + ")" * 100_000,
    "formula nested 10⁵ deep, calls": "sin(" * 100_000 + "x1" + ")" * 100_000,
    "9**9**9": "9**9**9*x1",
    "x1**9**9**9": "x1**9**9**9",
    "exp(exp(exp(exp(9))))": "exp(exp(exp(exp(9))))*x1",
}
TARGETS = ("numpy", "sql", "latex", "sympy")
_SMALL = ("--layers", "ub", "--unary", "sin", "--binary", "add", "--quiet")
_UNITS = (
    *("dotted_units.toml", "long_unit.toml", "tower_unit.toml", "nested_units.json", "many_units.json"),
    "endless.toml",
)


def cases() -> Iterator[tuple[str, str, list[str]]]:
    """List what is tried.

    Yields
    ------
    limit, verb : str
        What is met, and by which way.
    arguments : list of str
        Of the command line.
    """
    yield from _of_formulas()
    yield from _of_tables()
    yield from _of_grammars()
    for file in _UNITS:
        yield f"units file {file}", "screen --units", ["screen", "t.csv", "--units", file, *_SMALL]
    yield (
        "unit of 10⁶ characters",
        "screen --target-units",
        [*("screen", "t.csv", "--units", "strict", "--target-units", "m*" * 500_000 + "m", *_SMALL)],
    )
    yield "layers of 10⁶ characters", "screen --layers", ["screen", "t.csv", "--layers", "u" * MILLION]
    yield "layers of 10⁶ characters", "fit --layers", ["fit", "t.csv", "--layers", "u" * MILLION]
    yield (
        "screener of 10⁶ characters",
        "screen --screener",
        ["screen", "t.csv", "--screener", "t0," * 333_333],
    )
    yield "10⁶ names", "screen --inputs", ["screen", "t.csv", "--inputs", "x1," * 333_333 + "x2"]
    yield from _of_bombs()


def _of_formulas() -> Iterator[tuple[str, str, list[str]]]:
    for place, (name, text) in enumerate(FORMULAS.items()):
        bundle, ranking, grammar = f"f{place}.json", f"f{place}.csv", f"f{place}.toml"
        yield name, "why", ["why", "t.csv", *_SMALL, "--", text]
        yield name, "screen --also", ["screen", "t.csv", "--also", text, *_SMALL]
        yield name, "evaluate --truth", ["evaluate", "one.csv", "--truth", text]
        yield name, "power --truth", ["power", "t.csv", "--truth", text, "--repeats", "2", *_SMALL]
        yield name, "apply, bundle", ["apply", bundle, "t.csv"]
        for target in TARGETS:
            yield name, f"export --to {target}, bundle", ["export", bundle, "--to", target]
        yield name, "export, ranking", ["export", ranking, "--to", "numpy"]
        yield name, "evaluate, ranking", ["evaluate", ranking, "--truth", "x1"]
        yield name, "classes, ranking", ["classes", ranking]
        yield name, "operators, grammar", ["operators", grammar]
        yield name, "fit --operators", ["fit", "t.csv", "--operators", grammar, "--layers", "u", "--quiet"]


def _of_tables() -> Iterator[tuple[str, str, list[str]]]:
    for file in ("wide.csv", "wide.parquet", "wider.csv"):
        name = f"table of {'100,001' if file == 'wider.csv' else '100,000'} columns, {file}"
        yield name, "screen", ["screen", file, "--layers", "b", "--quiet"]
        if file != "wide.csv":
            continue
        yield name, "plan", ["plan", file, "--layers", "ub", "--quiet"]
        yield name, "why", ["why", file, "c1 + c2", "--layers", "b", "--quiet"]
        yield name, "fit", ["fit", file, "--quiet"]
        yield name, "power", ["power", file, "--truth", "c1*c2", "--repeats", "2", "--layers", "b", "--quiet"]
        yield name, "apply", ["apply", "f3.json", file]
        yield name, "classes --data", ["classes", "of_wide.csv", "--data", file]


def _of_grammars() -> Iterator[tuple[str, str, list[str]]]:
    for file in ("many.toml", "fewer.toml", "listed.toml", "dotted.toml", "nested.toml", "endless.toml"):
        yield f"grammar {file}", "operators", ["operators", file]
        yield f"grammar {file}", "screen", ["screen", "t.csv", "--operators", file, "--quiet"]
        if file == "many.toml":
            yield f"grammar {file}", "plan", ["plan", "t.csv", "--operators", file]
            yield f"grammar {file}", "why", ["why", "t.csv", "x1", "--operators", file]
            yield f"grammar {file}", "fit", ["fit", "t.csv", "--operators", file]
            yield f"grammar {file}", "power", ["power", "t.csv", "--truth", "x1", "--operators", file]
            yield f"grammar {file}", "evaluate", ["evaluate", "f3.csv", "--truth", "x1", "--operators", file]


def _of_bombs() -> Iterator[tuple[str, str, list[str]]]:
    tables = ("zip.csv", "zip.parquet", "zip.feather", "zip.xlsx", "gzip.csv", "gzip.csv.gz", "runs.parquet",
              "text.parquet", "runs.feather", "text.feather", "nothing.feather", "endless.csv")  # fmt: skip
    for file in tables:
        yield f"bomb {file}", "screen", ["screen", file, "--quiet"]
        if file in {"zip.csv", "runs.parquet", "text.parquet", "nothing.feather"}:
            yield f"bomb {file}", "fit", ["fit", file, "--quiet"]
            yield f"bomb {file}", "why", ["why", file, "a", "--quiet"]
            yield f"bomb {file}", "power", ["power", file, "--truth", "a", "--quiet"]
            yield f"bomb {file}", "apply", ["apply", "f3.json", file]
    for file in ("zip.csv", "zip.parquet", "zip.json", "runs.parquet", "text.parquet", "endless.csv",
                 "endless.json", "endless.parquet"):  # fmt: skip
        yield f"bomb {file}", "export, ranking", ["export", file, "--to", "numpy"]
        yield f"bomb {file}", "evaluate, ranking", ["evaluate", file, "--truth", "x1"]
        yield f"bomb {file}", "classes, ranking", ["classes", file]
    for file in ("zip.json", "endless.json"):
        yield f"bomb {file}", "apply, bundle", ["apply", file, "t.csv"]

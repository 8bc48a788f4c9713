"""Which inputs are selected on the set-up of PAN+SR, with 50 irrelevant columns for each true one.

Tables are drawn from the 116 Feynman problems of SRBench. Irrelevant columns are uniform on the ranges of the
true inputs. Noise is normal, with the variance of the law over the signal-to-noise ratio. Total Sobol indices
are Jansen's estimator on 100,000 rows. Tables are added until the time is up. ``--bart K`` runs BART with the
rule gse on the first K tables, too; it takes minutes for each.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import describe_machine, format_table, make_parser, save_results

import symscreen
from symscreen.experiments.srbench.problems import list_problems
from symscreen.expressions.traversal import evaluate_expression

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen.experiments.srbench.problems import Problem

ROWS, RATIOS = (500, 1000, 2000), (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
IRRELEVANT, SOBOL_ROWS, MIN_INDEX, SEED = 50, 100_000, 0.05, 2025


def compute_total_indices(problem: Problem, generator: np.random.Generator) -> tuple[list[float], float]:
    """Estimate the total Sobol index of each input (Jansen 1999), and the variance of the law."""
    first, second = (
        {each.name: generator.uniform(each.low, each.high, SOBOL_ROWS) for each in problem.inputs}
        for _ in range(2)
    )
    values = evaluate_expression(problem.expression, first)
    variance = float(values.var())
    indices = []
    for each in problem.inputs:
        changed = evaluate_expression(problem.expression, first | {each.name: second[each.name]})
        indices.append(float(((values - changed) ** 2).mean()) / (2.0 * variance))
    return indices, variance


def measure_table(number: int, *, with_bart: bool) -> dict[str, Any]:
    """Draw a table, and select its inputs."""
    generator = np.random.default_rng([SEED, number])
    problems = [each for each in list_problems() if each.group == "Feynman"]
    problem = problems[int(generator.integers(len(problems)))]
    n, ratio = int(generator.choice(ROWS)), float(generator.choice(RATIOS))
    indices, variance = compute_total_indices(problem, generator)
    true = {each.name: generator.uniform(each.low, each.high, n) for each in problem.inputs}
    clean = evaluate_expression(problem.expression, true)
    y = clean + generator.normal(size=n) * np.sqrt(variance / ratio)
    others = {
        f"irrelevant{k}": generator.uniform(each.low, each.high, n)
        for k, each in enumerate(each for _ in range(IRRELEVANT) for each in problem.inputs)
    }
    names = [each.name for each in problem.inputs]
    row: dict[str, Any] = {
        "problem": problem.name, "rows": n, "ratio": ratio, "columns": len(true) + len(others),
        "indices": [round(index, 4) for index in indices],
    }  # fmt: skip
    started = time.perf_counter()
    selected = symscreen.screen_inputs(true | others, y, jobs=1, seed=number).selected
    row |= {
        "seconds": round(time.perf_counter() - started, 3),
        "selected": [name in selected for name in names],
    }
    row["false_positives"] = len(set(selected) - set(names))
    if with_bart:
        started = time.perf_counter()
        chosen = select_by_bart(true | others, y, number)
        row |= {"bart_seconds": round(time.perf_counter() - started, 1)}
        row |= {"bart_selected": [name in chosen for name in names]}
        row["bart_false_positives"] = len(set(chosen) - set(names))
    return row


def select_by_bart(columns: dict[str, Any], y: Any, seed: int) -> list[str]:
    """Select the inputs whose inclusion by BART exceeds the threshold of the rule gse."""
    table = symscreen.screen(
        columns, y, layers="u", unary="id", screener="bart[rule=gse]", top="all", prescreen=len(columns),
        p_values=False, seed=seed, jobs=1, search="exact",
    ).table  # fmt: skip
    return [str(name) for name in table["expression"][table["bart"] > table["bart_threshold"]]]


def summarize(rows: Sequence[dict[str, Any]], prefix: str = "") -> dict[str, Any]:
    """Count the true inputs found and the false positives of some tables."""
    found = [pair for row in rows for pair in zip(row["indices"], row[f"{prefix}selected"], strict=True)]
    large = [hit for index, hit in found if index >= MIN_INDEX]
    false = [row[f"{prefix}false_positives"] for row in rows]
    seconds = [row[f"{prefix}seconds"] for row in rows]
    return {
        "tables": len(rows), "large": len(large), "large_found": sum(large), "true": len(found),
        "true_found": sum(hit for _, hit in found),
        "irrelevant": sum(row["columns"] - len(row["indices"]) for row in rows),
        "false_positives": sum(false), "tables_with_false": sum(each > 0 for each in false),
        "median_seconds": float(np.median(seconds)), "largest_seconds": max(seconds),
    }  # fmt: skip


def format_share(part: int, whole: int) -> str:
    """Write a count and its share."""
    return f"{part} of {whole} ({100 * part / max(whole, 1):.1f} %)"


def format_summary(label: str, counts: dict[str, Any]) -> list[str]:
    """Write the rates as a row of the table."""
    return [
        label,
        str(counts["tables"]),
        format_share(counts["large_found"], counts["large"]),
        format_share(counts["true_found"], counts["true"]),
        f"{counts['false_positives']} of {counts['irrelevant']:,}",
        str(counts["tables_with_false"]),
        f"{counts['median_seconds']:.1f} ({counts['largest_seconds']:.1f})",
    ]


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = make_parser(__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="when no table is added any more")
    parser.add_argument("--tables", type=int, default=500, help="tables at most")
    parser.add_argument("--bart", type=int, default=0, help="on how many of the first tables BART runs, too")
    chosen = parser.parse_args(arguments)
    started, rows = time.perf_counter(), list[dict[str, Any]]()
    while len(rows) < chosen.tables and time.perf_counter() - started < chosen.seconds:
        rows.append(measure_table(len(rows), with_bart=len(rows) < chosen.bart))
    groups = {f"{ratio:g}": [row for row in rows if row["ratio"] == ratio] for ratio in RATIOS}
    groups |= {"2 and more": [row for row in rows if row["ratio"] >= 2.0], "all": rows}
    summaries = {label: summarize(own) for label, own in groups.items() if own}
    compared = [row for row in rows if "bart_selected" in row]
    if compared:
        summaries["symscreen, where BART ran"] = summarize(compared)
        summaries["BART"] = summarize(compared, "bart_")
    head = [
        "signal to noise", "tables", f"found, total index ≥ {MIN_INDEX}", "all inputs", "false positives",
        "tables with one", "seconds, median (largest)",
    ]  # fmt: skip
    lines = [format_summary(label, counts) for label, counts in summaries.items()]
    found = {"machine": describe_machine(), "summaries": summaries, "rows": rows}
    save_results("inputs", found, format_table(head, lines), chosen.results)

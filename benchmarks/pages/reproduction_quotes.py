"""What docs/reproduction.md quotes from the stored runs of the papers' experiments.

A function maps the content of ``results/reproduction/NAME.json`` to texts by name. `quote_run` adds the line
that says how a table was made: the command, the date, the commit, the machine and the time.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from measurement import format_number, format_table
from pages.srbench_quotes import quote_srbench

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Results = dict[str, Any]
Row = dict[str, Any]

_FIGURE4_STATISTICS = ("xi", "pearson", "spearman", "kendall", "t0")
_NAMES = {"t0": "T0", "bart": "BART", "lasso": "LASSO", "scad": "SCAD", "mcp": "MCP", "xi": "ξ"} | {
    name: name.capitalize() for name in ("kendall", "spearman", "pearson")
}


def quote_run(found: Results, quote: Callable[[Results], dict[str, str]]) -> dict[str, str]:
    """Quote a run: its command, and what `quote` adds to it."""
    machine = found["machine"]
    run = (
        f"`{found['command']}`, {machine['date']}, commit {found['commit']}, {machine['cores']} cores of an "
        f"{machine['cpu']}"
    )
    if "cpu_seconds" in found:
        run += f", {found['cpu_seconds']:.0f} s of processor time"
    return {"run": f"*{run}.*"} | quote(found)


def _select(rows: Iterable[Row], **values: Any) -> list[Row]:
    """Select the rows with these values."""
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def _format(value: float | None, digits: int = 3) -> str:
    """Format a number with decimals; nothing for a missing one."""
    return "" if value is None else f"{value:.{digits}f}"


def _list(values: Iterable[float | None], digits: int = 2) -> str:
    """Format numbers with commas between them."""
    return ", ".join(_format(value, digits) for value in values)


def quote_figure4(found: Results) -> dict[str, str]:
    """Quote the statistics without noise, the detections at small noise and the spread at large noise."""
    values, detected = found["outputs"]["values"], found["outputs"]["detected"]
    plain = [
        [
            f"{row['feature']} and y",
            row["formula"],
            *(
                _format(row[name] + 0.0, 2)
                for name in ("xi", "pearson", "spearman", "kendall", "t0_over_delta", "t0")
            ),
        ]
        for feature in ("x", "theta(x)")
        for row in _select(values, n=50, feature=feature, noise_variance=0)
    ]
    large = _select(values, n=50, feature="x", noise_variance=10, map="theta2")[0]
    draws = large["draws"] ** 0.5
    rows = [
        [
            f"{row['feature']} and y",
            row["formula"],
            row["published"],
            *(_format(row[name], 2) for name in _FIGURE4_STATISTICS),
        ]
        for row in _select(detected, n=50)
    ]
    head = ["between", "θ(x)", "ξ", "Pearson", "Spearman", "Kendall"]
    return {
        "plain": format_table([*head, "T0/Δ", "T0"], plain),
        "detected": format_table([*head[:2], "published", *head[2:], "T0"], rows),
        **{f"sd_{name}": _format(large[f"{name}_se"] * draws) for name in ("xi", "t0_over_delta")},
    }


def quote_table1(found: Results) -> dict[str, str]:
    """Quote the inclusions, published and ours, the rows that each rule reproduces, and the copies."""
    rows = found["outputs"]["table1"]
    table = [
        [row[name] for name in ("features", "method", "published", "ours", "ours_short")] for row in rows
    ]
    head = ["θ1, θ2, θ3, **θ4**", "method", "published", "ours, x ~ N(0, 1)", "ours, x uniform on [0, 3/4]"]
    rules = _select(found["outputs"]["rules"], pair="theta(x), y")
    short = [
        [
            rule,
            *(
                _count_reproduced(rules, method, "uniform on [0, 3/4]", rule)
                for method in ("pearson", "kendall", "t0")
            ),
        ]
        for rule in ("the best, first of ties", "the best, all of ties", "the best, ties shared")
    ]
    normal = _select(rules, method="t0", design="normal")
    t0 = [row for row in found["outputs"]["rules"] if row["method"] == "t0"]
    copies = {row["formula"]: row for row in found["outputs"]["copies"] if row["merged"] == "False"}
    merged = {row["formula"]: row for row in found["outputs"]["copies"] if row["merged"] == "True"}
    return {
        "inclusion": format_table(head, table),
        "short_range": format_table(["rows reproduced of 4", "Pearson", "Kendall", "T0"], short),
        **_quote_ratios(found["outputs"]["values"]),
        "n_tables": str(_select(found["outputs"]["inclusion"], method="t0")[0]["n"]),
        "n_bart_tables": str(_select(found["outputs"]["inclusion"], method="bart local")[0]["n"]),
        "n_t0_candidates": str(len(t0)),
        "n_rules": str(len({row["rule"] for row in t0})),
        "most_normal": str(max(row["reproduced"] for row in normal)),
        "most": str(max(row["reproduced"] for row in t0)),
        "copy_share": f"{100 * copies['sin(x)']['share']:.0f}",
        "other_share": f"{100 * copies['2*sin(x)']['share']:.0f}",
        "merged_gmax": f"{merged['2*sin(x)']['gmax']:.0f}",
    }


def _quote_ratios(values: Sequence[Row]) -> dict[str, str]:
    """Quote T0/Δ of two features that no threshold separates as published."""
    wanted = {"ratio_sin_7x": (1, "2*sin(7*x)"), "ratio_x": (2, "x")}
    return {
        name: _format(_select(values, design="normal", block=block, formula=formula)[0]["t0_over_delta"], 2)
        for name, (block, formula) in wanted.items()
    }


def _count_reproduced(rules: Sequence[Row], method: str, design: str, rule: str) -> int:
    """Count the published rows that a rule reproduces."""
    (row,) = _select(rules, method=method, design=design, rule=rule)
    return int(row["reproduced"])


def quote_figure5(found: Results) -> dict[str, str]:
    """Quote the mean average precisions, and the areas of T0 and BART."""
    rows = found["outputs"]["average-precision"]
    cells = [name for name in rows[0] if name != "screener"]
    order = sorted(rows, key=lambda row: -sum(row[name] for name in cells))
    table = [
        [_NAMES.get(row["screener"], row["screener"]), *(_format(row[name]) for name in cells)]
        for row in order
    ]
    areas = found["outputs"]["areas"]
    boxes = [
        [
            f"`{order}`, {variance:g}",
            *(
                _format(_select(areas, order=order, noise_variance=variance, screener=name)[0][measure])
                for measure in ("pr_auc", "paper_pr_auc", "paper_auc")
                for name in ("t0", "bart")
            ),
        ]
        for order in ("bu", "ub")
        for variance in (0, 0.01, 0.1)
    ]
    head = [
        "order, σ²",
        "PR-AUC: T0",
        "BART",
        "three chosen, PR-AUC: T0",
        "BART",
        "three chosen, ROC: T0",
        "BART",
    ]
    errors = [row["average_precision_se"] for row in areas]
    return {
        "precision": format_table(
            ["screener", *(f"`{name.split()[0]}`, {name.split()[1]}" for name in cells)], table
        ),
        "areas": format_table(head, boxes),
        "largest_error": _format(max(errors)),
        "n": str(areas[0]["n"]),
        "statements": _format_remarks(found["remarks"][1:3]),
        **{
            f"least_aip_{name}": _format(min(row["aip"] for row in _select(areas, screener=name)), 2)
            for name in ("t0", "bart")
        },
    }


def _format_remarks(remarks: Iterable[str]) -> str:
    """Format remarks of a run as a list."""
    return "\n".join(f"- {remark}" for remark in remarks)


def quote_figure6(found: Results) -> dict[str, str]:
    """Quote the inclusion probabilities and the times."""
    rows = found["outputs"]["beside"]
    names = [name for name in rows[0] if name not in {"order", "rows", "noise_variance"}]
    table = [
        [
            f"`{row['order']}`",
            row["rows"],
            f"{row['noise_variance']:g}",
            *(_format(row[name], 2) for name in names),
        ]
        for row in rows
    ]
    seconds = found["outputs"]["seconds"]
    means = {
        _NAMES.get(name, name): _compute_mean(_select(seconds, screener=name), "seconds") for name in names
    }
    means = dict(sorted(means.items(), key=lambda one: one[1]))
    return {
        "inclusion": format_table(["order", "n", "σ²", *(_NAMES.get(name, name) for name in names)], table),
        "n": str(found["outputs"]["aip"][0]["n"]),
        "means": _format_remarks(found["remarks"][1:2]),
        "seconds": format_table(
            list(means), [[f"{format_number(1000 * mean, 2)} ms" for mean in means.values()]]
        ),
    }


def quote_table3(found: Results) -> dict[str, str]:
    """Quote the first choices, published and ours."""
    rows = found["outputs"]["choices"]
    shown = ("glider1", "glider2", "vdp1 with id", "vdp2, inputs only")
    table = []
    for name in ("t0", "bart", "lasso", "scad", "stepwise"):
        cells = []
        for system in shown:
            (row,) = [
                one
                for one in _select(rows, system=system, pool="cumulative", screener=name)
                if one["sign"] != "free"
            ]
            cells.append(f"{row['first_choice']} ({row['times']}/{row['draws']})")
        published = [_find_published(rows, system, name) for system in shown]
        table += [
            [f"{_NAMES.get(name, name)}, published", *published],
            [f"{_NAMES.get(name, name)}, ours", *cells],
        ]
    others = [
        ("vdp2, inputs only", "cumulative", "free"),
        *((one, "strict", "positive") for one in ("glider2", "vdp1")),
    ]
    other_rows = [
        [system, f"{pool} pools, sign {sign}", f"{row['first_choice']} ({row['times']}/{row['draws']})"]
        for system, pool, sign in others
        for row in _select(rows, system=system, pool=pool, screener="t0", sign=sign)
    ]
    most_draws = max(row["draws"] for row in rows)
    vdp2 = _select(rows, system="vdp2", pool="cumulative", draws=most_draws)
    head = ["table", "screener", "published", "T0/Δ", "least T0/Δ", "abs. r", "largest abs. r"]
    return {
        "choices": format_table(["", *shown], table),
        "others": format_table(["table", "T0 with", "first choice"], other_rows),
        "reach": format_table(head, _list_reach(found["outputs"]["reach"])),
        "most_times_vdp2": str(max(row["times"] for row in vdp2)),
        "draws": str(most_draws),
    }


def _list_reach(reach: Sequence[Row]) -> list[list[str]]:
    """List the published formulas of three tables with the best of their readings in the space."""
    rows = []
    for key in dict.fromkeys((row["system"], row["screener"], row["published"]) for row in reach):
        system, screener, published = key
        readings = _select(reach, system=system, screener=screener, published=published, cumulative="True")
        if system not in {"glider1", "glider2", "vdp1"}:
            continue
        cells = ["not in the space", "", "", ""]
        if readings:
            values = (
                min(row["t0"] for row in readings),
                readings[0]["best_t0"],
                max(abs(row["pearson"]) for row in readings),
                readings[0]["best_pearson"],
            )
            cells = [_format(value, 2) for value in values]
        rows.append([system, _NAMES.get(screener, screener), published, *cells])
    return rows


def _find_published(rows: Sequence[Row], system: str, screener: str) -> str:
    """Find the published first choice."""
    published = _select(rows, system=system, screener=screener)[0]["published"]
    return published or ""


def quote_strogatz(found: Results) -> dict[str, str]:
    """Quote the recovered equations by noise ratio, and the systems that were missed."""
    rows = found["outputs"]["summary"]
    table = [
        [f"{row['noise_ratio']:g}", f"{row['exact']:g}", f"{row['structure']:g}", _format_published(row)]
        for row in rows
    ]
    misses = found["outputs"]["misses"]
    head = [
        "noise ratio",
        "exact, of 14",
        "structure, of 14",
        "best published method on these sets, exact",
    ]
    causes = {cause: sum(row["stopped_by"] == cause for row in misses) for cause in ("data", "tie", "search")}
    return {
        "summary": format_table(head, table),
        "missed": ", ".join(dict.fromkeys(row["system"] for row in misses)) or "none",
        "n_misses": str(len(misses)),
        "draws": str(rows[-1]["draws"]),
        "misses": _format_remarks(found["remarks"][1:2]),
        "terms": _format_remarks(found["remarks"][2:5]),
        **{f"n_{cause}": str(count) for cause, count in causes.items()},
    }


def _format_published(row: Row) -> str:
    """Format the best published result, ``81.4 % of fits (RILS-ROLS)``."""
    percent, method = row["published_percent"], row["published_by"]
    return f"{percent:.1f} % of fits ({method})" if method else ""


def quote_noise(found: Results) -> dict[str, str]:
    """Quote the means of both figures, the levels of figure 1, and the published Mallows sets."""
    learners = ("shallow", "full", "forests", "honest")
    beside = [
        [row["figure"], row["family"], row["operator"], *(_format(row[name]) for name in ("beta", *learners))]
        for row in found["outputs"]["beside"]
    ]
    sets = _select(found["outputs"]["sets"], figure=1, family="SFN published")
    levels = []
    for parameter in sorted({row["parameter"] for row in sets}):
        cells = {row["learner"]: row for row in _select(sets, parameter=parameter)}
        first = cells["shallow"]
        levels.append(
            [
                f"{parameter:g}",
                _format(first["alpha"], 2),
                _format(first["beta"]),
                *(_format(cells[name]["tau"]) for name in learners),
            ]
        )
    published = found["outputs"].get("published_sets", [])
    far = (
        {
            column: max(abs(row[column] - row["expected_distance"]) for row in published)
            for column in ("rank_distance", "order_list_distance")
        }
        if published
        else {}
    )
    head = ["shallow", "full", "forests", "honest forests"]
    betas = [row for row in found["outputs"]["sets"] if row["figure"] == 2]
    order_lists = {
        f"{short}_{operator.replace('-list mallows', '')}": _compute_mean(chosen, "order_list_beta")
        for family, short in (("SFN", "ten"), ("SFN published", "five"))
        for operator in ("mallows", "order-list mallows", "gaussian")
        if (chosen := _select(betas, family=family, operator=operator, learner="full"))
    }
    return {
        "beside": format_table(["figure", "family", "noise", "β", *head], beside),
        "levels": format_table(["deviation", "α", "β", *head], levels),
        **{f"far_{column}": _format(value, 2) for column, value in far.items()},
        **{f"order_list_beta_{name}": _format(value) for name, value in order_lists.items()},
    }


def quote_ranking_benchmarks(found: Results) -> dict[str, str]:
    """Quote tables 4 and 5: the published coefficients and ours."""
    rows = found["outputs"]["beside"]
    names = [name for name in rows[0] if name not in {"set", "folds"}]
    table = [[row["set"], row["folds"], *(row[name] for name in names)] for row in rows]
    figures = [row for row in found["outputs"]["figures"] if row["published"] is not None]
    distance = {
        column: sum(abs(row[column] - row["published"]) for row in figures) / len(figures)
        for column in ("order_list_tau", "tau")
    }
    by_learner = [
        [
            name,
            *(
                _format(_compute_mean(_select(figures, learner=name), column))
                for column in ("published", "order_list_tau", "tau")
            ),
        ]
        for name in names
    ]
    far = max(figures, key=lambda row: abs(row["order_list_tau"] - row["published"]))
    within = sum(abs(row["order_list_tau"] - row["published"]) <= 0.03 for row in figures)
    return {
        "beside": format_table(["set", "folds", *names], table),
        "means": format_table(
            ["learner", "published", "ours, order lists", "ours, rank vectors"], by_learner
        ),
        "distance_order_lists": _format(distance["order_list_tau"]),
        "distance_ranks": _format(distance["tau"]),
        "n_sets": str(len(rows)),
        "n_cells": str(len(figures)),
        "n_within": str(within),
        "farthest": f"{far['set']}, {far['learner']}: {far['published']:.2f} and {far['order_list_tau']:.3f}",
    }


def _compute_mean(rows: Sequence[Row], column: str) -> float:
    """Compute the mean of a column."""
    return float(sum(row[column] for row in rows) / len(rows))


def quote_median_regression(found: Results) -> dict[str, str]:
    """Quote the risks of CRIT, k-NN and the baseline, and the true medians that they predict."""
    risk, recovered = found["outputs"]["risk"], found["outputs"]["recovered"]
    methods = ("crit", "knn", "baseline")
    table = []
    for row in _select(risk, set="constant"):
        cells = [row["setting"], row["labels"]]
        for name in ("constant", "mallows 2", "mallows 1"):
            (own,) = _select(risk, set=name, setting=row["setting"], labels=row["labels"])
            cells.append(_list((own[method] for method in methods), 3))
            if name != "constant":
                cells.append(_format(own["true_medians"]))
        table.append(cells)
    head = ["setting", "labels", "constant", "φ = 2", "least, φ = 2", "φ = 1", "least, φ = 1"]
    shares = {
        (name, method): [row[method] for row in _select(recovered, set=name)]
        for name in ("mallows 2", "mallows 1")
        for method in methods
    }
    wins = {
        name: sum(row["crit"] < row["knn"] for row in _select(risk, set=name))
        for name in ("constant", "mallows 2", "mallows 1")
    }
    errors = {name: max(row[f"{name}_se"] for row in risk) for name in methods}
    spread = [
        [
            f"φ = {name.split()[1]}",
            *(
                f"{100 * min(shares[name, method]):.0f} to {100 * max(shares[name, method]):.0f}"
                for method in methods
            ),
            wins[name],
        ]
        for name in ("mallows 2", "mallows 1")
    ]
    return {
        "risk": format_table(head, table),
        "recovered": format_table(["", "CRIT", "k-NN", "baseline", "CRIT before k-NN, of 9"], spread),
        "n": str(risk[0]["n"]),
        "wins_constant": str(wins["constant"]),
        **{f"largest_error_{name}": _format(value, 2) for name, value in errors.items()},
    }


def quote_survey(found: Results) -> dict[str, str]:
    """Quote the risks and the importance of the attributes."""
    risk = {row["quantity"]: row for row in found["outputs"]["risk"]}
    names = {"crit": "CRIT", "constant": "the best constant ranking", "knn": "3-NN"}
    table = [
        [text, _format(risk[name]["published"]), f"{risk[name]['ours']:.3f} ({risk[name]['se']:.3f})"]
        for name, text in names.items()
    ]
    shares = ", ".join(
        f"{row['attribute']} {100 * row['share']:.0f} %" for row in found["outputs"]["importance"][:5]
    )
    consensus = {row["group"]: row for row in found["outputs"]["consensus"]}
    return {
        "risk": format_table(["", "published", "ours (standard error)"], table),
        "importance": f"{shares}.",
        "gain": _format(risk["constant"]["ours"] - risk["crit"]["ours"]),
        "loss_of_knn": _format(risk["knn"]["ours"] - risk["constant"]["ours"]),
        "all_rows": f"{consensus['all']['rows']:,}",
        "complete_rows": f"{consensus['complete']['rows']:,}",
        "all_risk": _format(consensus["all"]["risk"]),
        "complete_risk": _format(consensus["complete"]["risk"]),
    }


def quote_multistage(found: Results) -> dict[str, str]:
    """Quote the errors under both readings, the improvements, and the stages that rows reach."""
    readings = found["outputs"]["readings"]
    quotes = {}
    for reading, short in (
        ("chained, features of 50 and 40 levels", "features"),
        ("chained, deviation", "names"),
    ):
        rows = sorted(_select(readings, reading=reading), key=lambda row: row["overall"])
        quotes[f"{short}_errors"] = _format_error_table(rows, "overall")
        quotes[f"{short}_seeds"] = str(rows[0]["runs"])
        gains = _select(found["outputs"]["improvements"], reading=reading, method="ours")
        table = [
            [
                row["quantity"].removeprefix("improvement over "),
                "not told" if row["published"] is None else f"{100 * row['published']:.0f} %",
                f"{100 * row['ours']:.1f} % ({100 * row['se']:.1f})",
                f"{row['difference']:.3f} ({row['difference_se']:.3f})",
            ]
            for row in gains
        ]
        quotes[f"{short}_gains"] = format_table(
            ["over", "published", "ours (s.e.)", "difference of errors (s.e.)"], table
        )
    stages = [
        [row["reading"], _format(row["stage1"]), _format(row["stage2"]), _format(row["bayes_error"])]
        for row in found["outputs"]["positives"]
    ]
    return quotes | {"stages": format_table(["reading", "stage 1", "stage 2", "Bayes error"], stages)}


def _format_error_table(rows: Sequence[Row], measure: str) -> str:
    """Format the errors of all methods."""
    table = [
        [
            row["method"],
            *(_format(row[name]) for name in ("e01", "e02", "e12")),
            f"{row[measure]:.3f} ({row[f'{measure}_se']:.3f})",
            _format(row["balanced"]),
            f"{100 * row['inconsistent']:.1f} %",
        ]
        for row in rows
    ]
    return format_table(
        ["", "(0, 1)", "(0, 2)", "(1, 2)", "overall (s.e.)", "class-balanced", "inconsistent"], table
    )


def quote_articles(found: Results) -> dict[str, str]:
    """Quote the class-balanced errors on generated article-sharing data."""
    rows = found["outputs"]["articles"]
    table = [
        [
            row["method"],
            *(_format(row[name]) for name in ("b01", "b02", "b12")),
            f"{row['balanced']:.3f} ({row['balanced_se']:.3f})",
            f"{100 * row['inconsistent']:.1f} %",
        ]
        for row in rows
    ]
    data = found["remarks"][0].partition(". By class-balanced error")[0].partition(": ")[2]
    head = ["", "(0, 1)", "(0, 2)", "(1, 2)", "mean (s.e.)", "inconsistent"]
    return {"errors": format_table(head, table), "data": f"{data}."}


REPRODUCTION_QUOTES: dict[str, Callable[[Results], dict[str, str]]] = {
    f"reproduction/{name}": partial(quote_run, quote=quote)
    for name, quote in {
        "figure4": quote_figure4,
        "table1": quote_table1,
        "figure5": quote_figure5,
        "figure6": quote_figure6,
        "table3": quote_table3,
        "strogatz": quote_strogatz,
        "srbench": quote_srbench,
        "srbench-units": quote_srbench,
        "lr-noise": quote_noise,
        "lr-benchmarks": quote_ranking_benchmarks,
        "rmr-simulated": quote_median_regression,
        "gss": quote_survey,
        "multistage": quote_multistage,
        "multistage-articles": quote_articles,
    }.items()
}

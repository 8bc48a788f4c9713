"""What docs/trust-evidence.md quotes from the benchmarks of inference."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Any

from measurement import compute_ratios, format_number, format_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Results = dict[str, Any]

_LIGHT = ("normal", "lognormal, σ = 2", "Cauchy")
_FEW_ROWS = (12, 20)
_DECIMALS = {0.05: 3, 0.01: 3, 0.001: 3, 1e-4: 2, 1e-5: 1}


def quote_coverage(found: Results) -> dict[str, str]:
    """Quote how often intervals contain the truth."""
    keys = ("t0_held", "t0_of_reverse_held", "gamma_held")
    rows = [
        [one["case"].replace("|", "\\|"), *(f"{100 * one[key]:.1f} %" for key in keys)]
        for one in found["rows"]
    ]
    return {
        "held": format_table(["target", "T0", "T0 of −θ", "Γ"], rows),
        "samples": f"{found['samples']:,}",
        "error": f"{100 * math.sqrt(0.05 * 0.95 / found['samples']):.1f}",
    }


def quote_nulls(found: Results) -> dict[str, str]:
    """Quote the range of rates under independence over nominal, by groups of targets and numbers of rows."""
    levels = found["levels"]

    def format_range(label: str, counts: str, chosen: Callable[[Results], bool]) -> list[str]:
        rows = [one for one in found["rows"] if chosen(one)]
        cells = []
        for place, level in enumerate(levels):
            rates = [one["screeners"]["t0"]["below"][place] / one["p_values"] / level for one in rows]
            cells.append(f"{min(rates):.{_DECIMALS[level]}f} to {max(rates):.{_DECIMALS[level]}f}")
        return [label, counts, *cells]

    most = sorted({one["n"] for one in found["rows"]} - set(_FEW_ROWS))
    many, few = ", ".join(map(str, most)), ", ".join(map(str, _FEW_ROWS))
    p_values = found["rows"][0]["p_values"]
    errors = [f"± {math.sqrt((1 - level) / (level * p_values)):.{_DECIMALS[level]}f}" for level in levels]
    table = [
        format_range(
            "normal, lognormal (σ = 2), Cauchy",
            many,
            lambda one: one["kind"] in _LIGHT and one["n"] in most,
        ),
        format_range("all ten kinds", many, lambda one: one["n"] in most),
        format_range("all ten kinds", few, lambda one: one["n"] in _FEW_ROWS),
        ["*error of counting*", "", *errors],
    ]
    return {
        "ranges": format_table(["targets", "rows", *(f"{level:g}" for level in levels)], table),
        "p_values": f"{p_values:,}",
    }


def quote_null_tables(found: Results) -> dict[str, str]:
    """Quote the median spread of p-values between seeds, in percent, and the seconds of a table."""

    def quote(level: float) -> str:
        place = found["levels"].index(level)
        spreads = [row["spread"][place] for row in found["rows"] if row["spread"][place] is not None]
        return format_number(100 * statistics.median(spreads), 2)

    seconds = sorted(row["seconds"] for row in found["rows"])
    return {
        "at_5_percent": quote(0.05),
        "at_1_permille": quote(1e-3),
        "at_1e_10": quote(1e-10),
        "seconds": f"{statistics.median(seconds):.2f}",
        "most_seconds": f"{seconds[-1]:.2f}",
    }


def quote_tied_nulls(found: Results) -> dict[str, str]:
    """Quote the rates for each pattern of ties over those of the exact permutation test.

    A cell of the study counts if the exact test has p-values that small. Where no cell has, there is a dash.
    The last two quotes are the rate at the smallest level over all cells, divided by it, and its error.
    """
    levels, cells_of_study = found["levels"], found["rows"]
    rows, all_ratios = [], list[float]()
    for pattern in dict.fromkeys(one["feature"] for one in cells_of_study):
        cells = []
        for place in range(len(levels)):
            ratios = [
                one["below"][place] / one["exact_below"][place]
                for one in cells_of_study
                if one["feature"] == pattern and one["exact_below"][place]
            ]
            cells.append(f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else "–")
            all_ratios += ratios
        rows.append([pattern, *cells])
    p_values = cells_of_study[0]["p_values"]
    errors = [f"± {math.sqrt((1 - level) / (level * p_values)):.3f}" for level in levels]
    table = format_table(
        ["features", *(f"{level:g}" for level in levels)], [*rows, ["*error of counting*", *errors]]
    )
    expected = levels[-1] * p_values * len(cells_of_study)
    rate = sum(one["below"][-1] for one in cells_of_study) / expected
    return {
        "ratios": table,
        "least": f"{min(all_ratios):.2f}",
        "most": f"{max(all_ratios):.2f}",
        "p_values": f"{p_values:,}",
        "mean_rate": f"{rate:.2f}",
        "mean_error": f"{math.sqrt((1 - levels[-1]) / expected):.2f}",
    }


def quote_family_rates(found: Results) -> dict[str, str]:
    """Quote how often max-T p-values call noise better than noise, by type of target."""
    rows = [[one["target"], f"{100 * one['claims'] / one['tables']:.1f}"] for one in found["rows"]]
    tables = found["rows"][0]["tables"]
    return {
        "rates": format_table(["target", "a formula is called better than noise, %"], rows),
        "tables": f"{tables:,}",
        "error": f"{100 * math.sqrt(found['level'] * (1 - found['level']) / tables):.1f}",
    }


def quote_permutation_rates(found: Results) -> dict[str, str]:
    """Quote the rates of p- and q-values by permutations, and what they cost."""
    noise, signal, cost = (
        [row for row in found["rows"] if row["measurement"] == name] for name in ("noise", "signal", "cost")
    )
    noise_rows = [
        [
            row["target"],
            f"{100 * row['p_values'] / row['tests']:.1f}",
            *(f"{100 * row[name] / row['tables']:.1f}" for name in ("family", "bh", "by")),
        ]
        for row in noise
    ]
    signal_rows = [
        [
            row["target"],
            *(
                f"{100 * row['false_share'][method]:.1f} ± {100 * row['error'][method]:.1f}"
                for method in ("bh", "by")
            ),
            f"{100 * row['family_wrong'] / row['tables']:.1f}",
            *(f"{row['found'][method] / row['tables']:.0f}" for method in ("bh", "by", "family")),
        ]
        for row in signal
    ]
    cost_rows = [
        [row["target"], *(f"{row['seconds'][kind]:.2f}" for kind in ("plain", "max_t", "q_values"))]
        for row in cost
    ]
    noise_head = ["target", "p ≤ 0.05, %", "max-T claims, %", "bh claims, %", "by claims, %"]
    signal_head = [
        "target",
        "bh, FDR %",
        "by, FDR %",
        "max-T, any false %",
        "bh finds",
        "by finds",
        "max-T finds",
    ]
    cost_head = ["target", "no permutations, s", "max-T, s", "with q-values, s"]
    tables, level = noise[0]["tables"], found["level"]
    return {
        "noise": format_table(noise_head, noise_rows),
        "signal": format_table(signal_head, signal_rows),
        "cost": format_table(cost_head, cost_rows),
        "level": f"{100 * level:g}",
        "rows": f"{found['data_rows']}",
        "permutations": f"{found['permutations']}",
        "noise_tables": f"{tables:,}",
        "noise_error": f"{100 * math.sqrt(level * (1 - level) / tables):.1f}",
        "signal_tables": f"{signal[0]['tables']:,}",
        "signal_error": f"{100 * math.sqrt(level * (1 - level) / signal[0]['tables']):.1f}",
        "features": f"{noise[0]['tests'] / tables:,.0f}",
        "true": f"{signal[0]['true'] / signal[0]['tables']:,.0f}",
        "cost_features": f"{cost[0]['scored']:,}",
        "cost_rows": f"{found['cost_rows']:,}",
        "cost_permutations": f"{found['cost_permutations']}",
    }


def quote_splitting(found: Results) -> dict[str, str]:
    """Quote how often rows kept from a screen are right about the formula that was chosen."""
    rows = [
        [
            row["target"],
            str(row["rows"]),
            str(row["splits"] or 1),
            "" if row["covered"] is None else f"{100 * row['covered'] / row['tables']:.1f}",
            f"{100 * row['claims'] / row['tables']:.1f}",
        ]
        for row in found["rows"]
    ]
    head = ["target", "rows", "splits", "intervals that cover, %", "tables with a false claim, %"]
    return {
        "rates": format_table(head, rows),
        "tables": f"{found['rows'][0]['tables']:,}",
        "population": f"{found['population']:,}",
    }


def quote_selection_bootstrap(found: Results) -> dict[str, str]:
    """Quote how often intervals of a bootstrap cover the formula that was chosen."""
    methods = {
        "percentile": "percentile, repeated choice, %",
        "reversed": "reflected, repeated choice, %",
        "fixed": "percentile, one choice, %",
    }
    rows = [
        [
            row["target"],
            str(row["rows"]),
            *(f"{100 * row[method] / row['tables']:.1f}" for method in methods),
        ]
        for row in found["rows"]
    ]
    return {
        "rates": format_table(["target", "rows", *methods.values()], rows),
        "tables": f"{found['rows'][0]['tables']:,}",
        "replicates": str(found["rows"][0]["replicates"]),
        "bar": f"{100 * found['bar']:.0f}",
        "level": f"{100 * found['level']:.0f}",
    }


def quote_autocorrelation(found: Results) -> dict[str, str]:
    """Quote how often independent series in time are called related."""
    rows = [
        [f"{row['phi']:g}", *(f"{100 * row[name] / row['tables']:.1f}" for name in ("ordinary", "shifts"))]
        for row in found["rows"]
    ]
    head = ["correlation of neighbours", "ordinary p-values, %", "circular shifts, %"]
    return {"rates": format_table(head, rows), "rows": str(found["table_rows"])}


def quote_diabetes_p_values(found: Results) -> dict[str, str]:
    """Quote p-values over those of permutations on the diabetes table."""
    quantiles = found["quantiles"]
    return {
        "features": f"{found['features']:,}",
        "compared": f"{found['compared']:,}",
        "permutations": f"{found['permutations']:,}",
        "least": f"{quantiles['0']:.2f}",
        "most": f"{quantiles['1']:.2f}",
    }


def _compute_rate(line: Results, place: int, level: float) -> float:
    """Compute the mean of the tables' rates, over nominal."""
    return statistics.mean(table[place] for table in line["below"]) / line["p_values"] / level


def quote_xi_nulls(found: Results) -> dict[str, str]:
    """Quote the rates of ξ over nominal for untied features, by pattern of ties in the target."""
    levels = found["levels"][:2]
    lines = [one for one in found["rows"] if one["features"] == "untied" and one["n"] > 50]
    counts = sorted({one["n"] for one in lines})

    def list_rates(chosen: Iterable[Results]) -> list[str]:
        by_count = {one["n"]: one for one in chosen}
        return [
            ", ".join(f"{_compute_rate(by_count[n], place, level):.2f}" for place, level in enumerate(levels))
            for n in counts
        ]

    rows = [
        [response, *list_rates(one for one in lines if one["response"] == response)]
        for response in dict.fromkeys(one["response"] for one in lines)
    ]
    totals = {one["n"]: one["p_values"] for one in lines}
    errors = [
        ", ".join(f"{math.sqrt((1 - level) / (level * totals[n])):.2f}" for level in levels) for n in counts
    ]
    head = ["target", f"{counts[0]} rows: 0.05, 0.01", *(f"{n:,}" for n in counts[1:])]
    times = [one["set_up_seconds"] for one in found["rows"]]
    return {
        "set_up_most": format_number(max(times), 2),
        "rates": format_table(head, [*rows, ["*error of counting, ±*", *errors]]),
        "compared": f"{sum(one['compared'] for one in found['exact']):,}",
    }


def quote_error_rates(found: Results) -> dict[str, str]:
    """Quote error rates over a space, what passes, and the cost of p-values and permutations."""
    names = ("max-T", "bh", "by")
    rows = []
    for one in found["noise"]:
        errors = {name: math.sqrt(rate * (1 - rate) / one["repeats"]) for name, rate in one["rates"].items()}
        rows.append(_list_error_rates(one["response"], one, errors, names))
    signal, took, same = found["signal"], found["cost"], found["exact"]
    rows.append(_list_error_rates("normal, one input follows it", signal, signal["errors"], names))
    head = ["target", "spaces", "features", "max-T, any false %", "BH, FDR %", "BY, FDR %"]
    p_values, permutations = (
        sorted(compute_ratios(took["processor_s"][name], took["processor_s"]["plain"]))
        for name in ("p_values", "permutations")
    )
    return {
        "rates": format_table(head, rows),
        "features": f"{signal['features']:,.0f}",
        **{f"found_{name}": f"{count:,.0f}" for name, count in signal["found"].items()},
        "streamed": f"{same['features']:,}",
        **{f"equal_{name}": f"{count:,}" for name, count in same["equal"].items()},
        "p_values_cost": format_number(statistics.median(p_values)),
        "p_values_least": format_number(p_values[0]),
        "p_values_most": format_number(p_values[-1]),
        "permutations_cost": format_number(statistics.median(permutations), 2),
        "permutations_least": format_number(permutations[0], 2),
        "permutations_most": format_number(permutations[-1], 2),
    }


def _list_error_rates(
    label: str, one: Results, errors: dict[str, float], names: Sequence[str]
) -> list[object]:
    cells = [f"{100 * one['rates'][name]:.1f} ± {100 * errors[name]:.1f}" for name in names]
    return [label, one["repeats"], f"{one['features']:,.0f}", *cells]


def quote_law_claims(found: Results) -> dict[str, str]:
    """Quote what fits say of noise, and of smooth functions that no formula equals."""
    head = ["target", "fits", "a formula", "approximation", "law within noise", "exact"]
    return {"summary": format_table(head, [list(row.values()) for row in found["summary"]])}


def quote_bands(found: Results) -> dict[str, str]:
    """Quote how often prediction bands hold fresh rows."""
    rows = [
        [
            row["method"],
            row["law"],
            row["band_rows"],
            f"{row['tables']:,}",
            f"{100 * row['coverage']:.1f} ± {100 * row['error']:.1f} %",
            f"{math.floor(1000 * row['guarantee']) / 10:.1f} %",
            f"{100 * row['lowest_twentieth']:.1f} %",
        ]
        for row in found["summary"]
    ]
    head = ["method", "law", "rows of the band", "tables", "coverage", "guarantee", "5 % of tables are below"]
    return {
        "coverage": format_table(head, rows),
        "fresh": f"{found['fresh_rows']:,}",
        "level": f"{100 * found['level']:g}",
    }


def quote_inputs(found: Results) -> dict[str, str]:
    """Quote which true inputs are selected, and how many irrelevant ones, beside BART."""
    labels = {
        "0.5": "signal to noise 0.5",
        "1": "signal to noise 1",
        "2 and more": "signal to noise 2 to 20",
        "symscreen, where BART ran": "the tables on which BART ran",
        "BART": "BART on these tables",
    }
    rows = []
    for key, label in labels.items():
        counts = found["summaries"][key]
        rows.append(
            [
                label,
                f"{counts['tables']}",
                f"{counts['large_found']} of {counts['large']}",
                f"{counts['true_found']} of {counts['true']}",
                f"{100 * counts['false_positives'] / counts['irrelevant']:.1f} %",
                f"{counts['median_seconds']:.1f}",
            ]
        )
    head = [
        "", "tables", "found, total index ≥ 0.05", "found, all inputs", "irrelevant inputs selected",
        "seconds, median",
    ]  # fmt: skip
    return {"rates": format_table(head, rows)}


def quote_comparison(found: Results) -> dict[str, str]:
    """Quote cross-validated R² of fits by the default comparison and by repetition of the whole search."""
    compared = [row for row in found["rows"] if row["default"] is not None]
    names = ("ridge", "gradient boosting", "random forest")
    rows = [
        [
            row["table"],
            f"{row['rows']:,}",
            row["columns"],
            row["effort"],
            *(f"{row[way]['formula']:z.2f}" for way in ("default", "nested")),
            *(f"{row['nested'][name]:z.2f}" for name in names),
        ]
        for row in compared
    ]
    differences = [abs(row["default"]["formula"] - row["nested"]["formula"]) for row in compared]
    head = ["table", "rows", "inputs", "effort", "formula, by default", "formula, whole search", *names]
    return {
        "tables": format_table(head, rows),
        "largest": f"{max(differences):.3f}",
        "close": f"{sum(each <= 0.03 for each in differences)}",
        "number": f"{len(compared)}",
        "cost": f"{statistics.median(row['default_s'] / row['fit_s'] for row in compared):.2f}",
    }


def quote_first_answer(found: Results) -> dict[str, str]:
    """Quote the verdicts on noise, how often planted laws come first, and how many formulas are distinct."""
    noise, planted = found["noise"], found["planted"]
    missed = [one for one in planted if not one["is_found"]]
    kinds = list(dict.fromkeys(sorted(one["kind"] for one in planted)))
    groups = {"the first 30 tables": planted[:30]}
    groups |= {f"{kind} inputs": [one for one in planted if one["kind"] == kind] for kind in kinds}
    groups |= {"all tables": planted}
    rows = [
        [
            name,
            len(group),
            sum(one["is_found"] for one in group),
            sum(one["is_signal"] for one in group),
            f"{statistics.median(one['correlation'] for one in group):.3f}",
        ]
        for name, group in groups.items()
    ]
    head = [
        "tables with a law",
        "number",
        "law first",
        "verdict of a signal",
        "median correlation of the first",
    ]
    distinct = [[one["table"], one["shown"], one["distinct"], one["waves"]] for one in found["distinct"]]
    return {
        "noise_tables": f"{len(noise)}",
        "noise_nothing": f"{sum(one['verdict'] == 'noise' for one in noise)}",
        "planted": format_table(head, rows),
        "missed": f"{len(missed)}",
        "outscored": f"{sum(one['is_outscored'] for one in missed)}",
        "least_correlation": f"{min(one['correlation'] for one in missed):.2f}" if missed else "",
        "distinct": format_table(["table", "formulas shown", "distinct", "with waves"], distinct),
    }

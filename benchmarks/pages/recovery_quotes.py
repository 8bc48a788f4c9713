"""What pages quote from the benchmarks of recovery."""

from __future__ import annotations

import statistics
from typing import Any

from measurement import format_number, format_table

Results = dict[str, Any]


def quote_shared_terms(found: Results) -> dict[str, str]:
    """Quote how often two targets show their terms, fitted together and alone."""
    head = ["rows", "noise", "together", "one alone", "both alone", "sharing nothing: together", "both alone"]
    rows = [
        [one["rows"], f"{one['noise']:g}", *(f"{100 * rate:.0f} %" for rate in one["rates"])]
        for one in found["found"]
    ]
    return {"rates": format_table(head, rows), "trials": str(found["trials"])}


def quote_wide_tables(found: Results) -> dict[str, str]:
    """Quote how many laws are found among columns that have nothing to do with them."""
    rows = [
        [
            f"{one['width']:,}" if one["width"] else "those of the law",
            f"{one['found']} of {one['laws']}",
            f"{one['time_ratio']:.1f}",
            f"{one['claims']} of {one['noise']}" if one["noise"] else "",
        ]
        for one in found["summary"]
    ]
    return {"summary": format_table(["columns", "laws found", "time", "formulas for noise"], rows)}


def quote_label_ranking(found: Results) -> dict[str, str]:
    """Quote τ of the default learner, and on how many sets it is at or above the best published figure."""
    summary = found["summary"]
    return {
        "sets": str(summary["sets"]),
        "tau": f"{summary['tau']:.3f}",
        "above": str(summary["at_or_above"]),
        "above_unrounded": str(summary["at_or_above_unrounded"]),
    }


def quote_strogatz(found: Results) -> dict[str, str]:
    """Quote how many equations are found, and the time of a fit."""
    rows, seconds = found["rows"], [one["s"] for one in found["rows"]]
    return {
        "exact": str(sum(one["exact"] == "yes" for one in rows)),
        "tables": str(len(rows)),
        "least_s": format_number(min(seconds), 2),
        "most_s": format_number(max(seconds), 2),
    }


def quote_residual_rounds(found: Results) -> dict[str, str]:
    """Quote in how many seeds the second round has the weak term first, and its rank in one round."""
    rows = found["rows"]
    single = [one["rank in one round"] for one in rows if one["rank in one round"]]
    return {
        "first": str(sum(one["rank in the second round"] == 1 for one in rows)),
        "seeds": str(len(rows)),
        "median": f"{statistics.median(single):g}",
        "least": str(min(single)),
        "most": str(max(single)),
    }


def quote_bart_additive(found: Results) -> dict[str, str]:
    """Quote how many tables each rule gets right."""
    head = list(found["rows"][0])
    rows = [[f"{one[key]:.3f}" if key == "agreement" else one[key] for key in head] for one in found["rows"]]
    return {"right": format_table(head, rows)}


def quote_bart_trees(found: Results) -> dict[str, str]:
    """Quote the mean average precision with trees and with stumps."""
    rows = [
        [
            f"`{one['order']}`, {one['noise_variance']:g}",
            *(f"{one[name]:.3f} ± {one[f'{name}_se']:.3f}" for name in ("trees", "stumps")),
        ]
        for one in found["rows"]
    ]
    return {
        "precision": format_table(["order, σ²", "`depth=10`", "`depth=1`"], rows),
        "tables": str(found["rows"][0]["tables"]),
    }


def quote_deep_formulas(found: Results) -> dict[str, str]:
    """Quote the size of the space, the time, and how often both terms are in the first formula."""
    rows = found["rows"]
    terms = [name for name in rows[0] if name.startswith("rank of ")]
    return {
        "features": format_number(statistics.median(one["features"] for one in rows), 2),
        "most_s": format_number(max(one["s"] for one in rows), 2),
        "first": str(sum(all(one[term] == 1 for term in terms) for one in rows)),
        "seeds": str(len(rows)),
        "fit_s": format_number(max(one["fit, s"] for one in rows), 2),
    }


def quote_equations_of_motion(found: Results) -> dict[str, str]:
    """Quote how many right-hand sides are right, ours and pysindy's, and the largest error of constants."""
    records = found["records"]
    peers = sorted({one["method"] for one in records} - {"symscreen"})
    tables = [one for one in records if one["is_strogatz"]]
    rows = []
    for noise in sorted({one["noise"] for one in tables}):
        here = [one for one in tables if one["noise"] == noise]
        own = [one for one in here if one["method"] == "symscreen"]
        right = [one for one in own if one["is_right"]]
        largest = max((one["error"] for one in right), default=0.0)
        of_peers = [[one["is_right"] for one in here if one["method"] == peer] for peer in peers]
        counts = [f"{sum(each)} of {len(each)}" for each in of_peers]
        rows.append([f"{100 * noise:g} %", f"{len(right)} of {len(own)}", f"{100 * largest:.2g} %", *counts])
    others = [one for one in records if not one["is_strogatz"]]
    others_right = [one for one in others if one["is_right"]]
    seconds = [one["cpu_s"] for one in tables if one["method"] == "symscreen"]
    return {
        "strogatz": format_table(["noise", "right forms", "largest error of a constant", *peers], rows),
        "least_s": format_number(min(seconds), 2),
        "most_s": format_number(max(seconds), 2),
        "textbooks": str(len(others)),
        "textbooks_right": str(len(others_right)),
        "textbooks_error": f"{100 * max((one['error'] for one in others_right), default=0.0):.2g}",
    }


def quote_groups(found: Results) -> dict[str, str]:
    """Quote how often one form was found for groups, what the intervals held, and the cost of many groups."""
    rows, seconds = found["found"], found["seconds_by_groups"]
    return {
        "draws": str(len(rows)),
        "found": str(sum(one["found"] for one in rows)),
        "ignoring": str(sum(one["found_ignoring"] for one in rows)),
        "held": f"{100 * sum(one['hits'] for one in rows) / sum(one['constants'] for one in rows):.1f}",
        "cost": format_number(seconds["40"] / seconds["1"], 2),
    }

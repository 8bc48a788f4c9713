"""The members of classes as a table for the terminal.

What data can find, as a table for the terminal.

A fit's result for the terminal: the formula, its coefficients, the front, the rivals.

A fit of several targets for the terminal: one column of coefficients for each.

An evaluation as a table for the terminal, with a word on what each figure says.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.text import Text

from symscreen.errors import escape_control_chars
from symscreen.report.terminal.listings import add_row, make_table
from symscreen.results.ranking_files import escape_spreadsheet, format_csv

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    import pandas as pd
    from rich.console import RenderableType
    from rich.table import Table

    from symscreen.evaluation import Evaluation
    from symscreen.results.fit_result import FitResult, SharedFitResult
    from symscreen.screening.power import PowerResult


__all__ = [
    "describe_rows",
    "format_equation",
    "format_equations",
    "format_members_csv",
    "show_classes",
    "show_evaluation",
    "show_fit",
    "show_models",
    "show_power",
    "show_shared_fit",
]


def show_classes(members: pd.DataFrame, meanings: Mapping[str, str]) -> RenderableType:
    """Lay out the members of classes.

    Parameters
    ----------
    members : pandas.DataFrame
        What `symscreen.classes` returned.
    meanings : mapping of str to str
        What each relation means, in a few words.

    Returns
    -------
    rich renderable
        For `print_table`.
    """
    if not len(members):
        return Text("no class is shown.")
    table = make_table(
        ("rank", "right"),
        ("class", "right"),
        ("expression", "fold"),
        ("compl.", "right"),
        ("dir.", "left"),
        ("relation", "left"),
    )
    for row in members.to_dict("records"):
        head = row["member"] == 1
        add_row(
            table,
            (
                f"{row['rank']}" if head else "",
                f"{row['class_size']:,}" if head else "",
                row["expression"],
                row["complexity"],
                row["direction"],
                row["relation"],
            ),
        )
        for text in row.get("also_written", ()):
            add_row(table, ("", "", f"= {text}", "", "", ""))
    return Group(table, Text(""), Text("\n".join(_explain_relations(members, meanings))))


def format_members_csv(members: pd.DataFrame) -> str:
    """Return the members of classes as CSV text, formulas inert for spreadsheets.

    Parameters
    ----------
    members : pandas.DataFrame
        What `symscreen.classes` returned.

    Returns
    -------
    str
        Other ways of writing a member stand in one cell, with semicolons between them.
    """
    told = members.assign(expression=list(map(escape_spreadsheet, members.expression)))
    if "also_written" in told:
        told["also_written"] = ["; ".join(map(escape_spreadsheet, texts)) for texts in told["also_written"]]
    return format_csv(told)


def _explain_relations(members: pd.DataFrame, meanings: Mapping[str, str]) -> list[str]:
    """Say what the relations mean, and what is not listed."""
    occur = set(members.relation)
    lines = [f"{name}: {meaning}." for name, meaning in meanings.items() if name in occur]
    if "also_written" in members and members.also_written.map(len).any():
        lines.append("=: another way of writing it, equal by algebra, and so left out of the space.")
    in_all = int(members.loc[members.member == 1, "class_size"].sum())
    if in_all > len(members):
        lines.append(f"{len(members):,} of {in_all:,} members are listed; --members K lists more.")
    return lines


_HALF = 0.5


def show_power(power: PowerResult) -> RenderableType:
    """Lay out how often a planted formula is found.

    Parameters
    ----------
    power : Power
        What `symscreen.power` returned.

    Returns
    -------
    rich renderable
        For `print_table`.
    """
    size = "features" if power.n_features is None else f"{power.n_features:,} features"
    among = f"the best {power.top:,} classes of {size} by {power.screener}"
    head = [
        f"planted: {escape_control_chars(power.truth)}, on {power.n_rows:,} rows",
        f"looked for: {escape_control_chars(power.feature)}, among {among}",
    ]
    if power.closest_member and power.closest_member != power.feature:
        head.append(f"the space holds it as {escape_control_chars(power.closest_member)} ({power.relation})")
    table = make_table(
        ("noise ratio", "right"),
        ("repeats", "right"),
        ("found", "right"),
        ("95 % interval", "left"),
        ("median rank", "right"),
        ("mean rank", "right"),
    )
    for row in power.table.to_dict("records"):
        interval = f"{row['low']:.3f} to {row['high']:.3f}" if row["low"] < row["high"] else "certain"
        ranks = (_format_rank(row["median_rank"]), _format_rank(row["mean_rank"]))
        add_row(
            table, (f"{row['noise_ratio']:g}", row["repeats"], f"{row['probability']:.3f}", interval, *ranks)
        )
    return Group(Text("\n".join(head)), Text(""), table, Text(""), Text("\n".join(_explain_power(power))))


def _format_rank(rank: float) -> str:
    return "cut" if math.isinf(rank) else f"{rank:,.1f}".removesuffix(".0")


def _explain_power(power: PowerResult) -> list[str]:
    found = "found: the share of repeats in which its class is among the best"
    noise = "noise ratio: the noise's standard deviation over the root mean square of the planted values"
    lines = [f"{found}; {noise}."]
    if power.half_power_noise is None:
        return [*lines, "not lost: it is found in at least half of the repeats at every noise ratio tried."]
    low, high = power.half_power_noise
    chances = power.table["probability"]
    if high == 0.0:
        lines.append("not found even without noise: other classes fit the truth as well, or better.")
        if (chances >= _HALF).any():
            lines.append("what finds it at larger noise is chance: many classes are among the best there.")
    elif low == high:
        lines.append(
            f"lost at a noise ratio of about {low:.3g}: beyond, less than half of the repeats find it."
        )
    elif low == 0.0 and high == power.table["noise_ratio"].iloc[0]:
        every = bool((chances < _HALF).all())
        lines.append(
            f"lost at every noise ratio tried, from {high:g} on."
            if every
            else f"lost at {high:g}, the smallest noise ratio tried, and found at larger ones by chance only."
        )
    else:
        lines.append(f"lost between the noise ratios {low:g} and {high:g}: try some between them.")
    if any(map(math.isinf, power.table["median_rank"])):
        lines.append("cut: a cut between layers (--keep) has lost it.")
    return lines


_EQUATION_DIGITS = 6
_MAX_FRONT_ROWS = 8
_MAX_ALTERNATIVES = 5


def format_equation(result: FitResult) -> str:
    """Write ``target = formula`` on one line, in the one notation, numbers to six digits.

    Parameters
    ----------
    result : FitResult
        What `symscreen.fit` returned.

    Returns
    -------
    str
        Without control characters.
    """
    return escape_control_chars(result.formula.round_numbers(_EQUATION_DIGITS).equation)


def show_fit(result: FitResult) -> RenderableType:
    """Lay out what stands below the formula: its coefficients, the front, the rivals.

    Parameters
    ----------
    result : FitResult
        What `symscreen.fit` returned.

    Returns
    -------
    rich renderable
        For `print_table`.
    """
    left = f"R2 = {result.r2:.6g}, 1 - R2 = {1 - result.r2:.3g}"
    told = Text(f"{left}; {describe_rows(result)}.")
    return Group(Text(""), _build_coefficient_table(result), Text(""), told, Text(""), *show_models(result))


def show_models(result: FitResult | SharedFitResult) -> list[RenderableType]:
    """Lay out the front around the model chosen, and its rivals.

    Parameters
    ----------
    result : FitResult or SharedFitResult
        What `symscreen.fit` returned.

    Returns
    -------
    list of rich renderables
    """
    record = result.record
    parts: list[RenderableType] = [
        Text("error against complexity (* the formula chosen):"),
        _build_model_table(_select_around_chosen(result.front)),
    ]
    if len(result.alternatives):
        parts += [
            Text(""),
            Text("others that fit about as well:"),
            _build_model_table(result.alternatives.head(_MAX_ALTERNATIVES)),
        ]
    parts.append(Text(""))
    parts.append(
        Text(
            f"{record['models']:,} models of {record['searched']:,} features tried; chosen by "
            f"{record['criterion']}. same: how many more models of as many terms leave as much."
        )
    )
    return parts


def _build_coefficient_table(result: FitResult) -> RenderableType:
    level = f"{100 * result.record['level']:g} %"
    measured = [("unit", "right")] if "unit" in result.terms else []
    numbers = [("coefficient", "right"), (f"from ({level})", "right"), ("to", "right")]
    table = make_table(("term", "fold"), *numbers, *measured)
    for row in result.terms.to_dict("records"):
        cells = [f"{row[name]:.{_EQUATION_DIGITS}g}" for name in ("coefficient", "low", "high")]
        add_row(table, (row["term"], *cells, *(row[name] for name, _ in measured)))
    return table


def describe_rows(result: FitResult | SharedFitResult) -> str:
    """Say which rows chose the terms, and which gave the coefficients."""
    record = result.record
    if record["split"]:
        return (
            f"{record['rows_choosing']:,} rows chose the terms, {record['rows_estimating']:,} others "
            "gave the coefficients and this R2"
        )
    return f"the same {record['rows_choosing']:,} rows chose the terms"


def _select_around_chosen(front: pd.DataFrame) -> pd.DataFrame:
    """Return the part of the front around the model chosen."""
    place = int(front["chosen"].to_numpy().argmax())
    start = max(0, min(place - _MAX_FRONT_ROWS // 2, len(front) - _MAX_FRONT_ROWS))
    return front.iloc[start : start + _MAX_FRONT_ROWS]


def _build_model_table(models: pd.DataFrame) -> RenderableType:
    what = "formula" if "formula" in models else "features"
    table = make_table(("compl.", "right"), ("1 - R2", "right"), ("same", "right"), (what, "fold"))
    for row in models.to_dict("records"):
        star = "* " if row.get("chosen") else ""
        left = f"{max(1.0 - row['r2'], 0.0):.3g}"
        add_row(table, (row["complexity"], left, row["rewritings"], star + row[what]))
    return table


_COEFFICIENT_DIGITS = 6
_MAX_TARGETS_PER_TABLE = 3  # targets: more do not fit into 80 columns beside the terms
_MAX_NAME_WIDTH = 18  # letters of a target's name above its column


def format_equations(result: SharedFitResult) -> tuple[str, ...]:
    """Write ``target = formula`` of each target, as `format_equation` does of one."""
    return tuple(map(escape_control_chars, result.formula.round_numbers(_COEFFICIENT_DIGITS).equations))


def show_shared_fit(result: SharedFitResult) -> RenderableType:
    """Lay out what stands below the formulas: the coefficients of each target, the front, the rivals.

    Parameters
    ----------
    result : SharedFitResult
        What `symscreen.fit` returned.

    Returns
    -------
    rich renderable
        For `print_table`.
    """
    level = f"{100 * result.record['level']:g} %"
    parts: list[RenderableType] = [Text("")]
    for start in range(0, len(result.targets), _MAX_TARGETS_PER_TABLE):
        parts += [
            _build_shared_coefficient_table(result, result.targets[start : start + _MAX_TARGETS_PER_TABLE]),
            Text(""),
        ]
    parts += [
        Text(f"{escape_control_chars(name)}: R2 = {share:.6g}, 1 - R2 = {1 - share:.3g}")
        for name, share in result.r2.items()
    ]
    told = f"{describe_rows(result)}. Below, 1 - R2 is the mean over targets."
    parts += [Text(f"± is half of a {level} interval; {told}"), Text("")]
    return Group(*parts, *show_models(result))


def _build_shared_coefficient_table(result: SharedFitResult, targets: Sequence[str]) -> Table:
    table = make_table(("term", "fold"), *((_shorten_name(name), "right") for name in targets))
    measured = f"unit[{targets[0]}]" in result.terms
    for row in result.terms.to_dict("records"):
        add_row(table, (row["term"], *(_format_coefficient(row, name) for name in targets)))
        if measured:
            add_row(table, ("", *(row[f"unit[{name}]"] for name in targets)))
    return table


def _format_coefficient(row: dict[Hashable, Any], name: str) -> str:
    number, half = row[f"coefficient[{name}]"], (row[f"high[{name}]"] - row[f"low[{name}]"]) / 2
    return f"{number:.{_COEFFICIENT_DIGITS}g} ± {half:.2g}"


def _shorten_name(name: str) -> str:
    shown = escape_control_chars(name)
    return shown if len(shown) <= _MAX_NAME_WIDTH else f"{shown[: _MAX_NAME_WIDTH - 1]}…"


_HEADINGS = {
    "average_precision": "AP",
    "pr_auc": "PR-AUC",
    "roc_auc": "ROC-AUC",
    "first_correct": "first",
}


def show_evaluation(evaluation: Evaluation, meaning: str) -> RenderableType:
    """Lay out the figures of each screener.

    Parameters
    ----------
    evaluation : Evaluation
        What `symscreen.evaluation.evaluate` or `bounded` returned.
    meaning : str
        One line on what counts as correct.

    Returns
    -------
    rich renderable
        For `print_table`.
    """
    rows = evaluation.table.to_dict("records")
    first = rows[0]
    figures = [str(name) for name in evaluation.table.columns if str(name) not in _COUNT_COLUMNS]
    names = list(dict.fromkeys(name.removesuffix("_low").removesuffix("_high") for name in figures))
    table = make_table(("screener", "left"), *((_format_heading(name), "right") for name in names))
    for row in rows:
        if figures == names:
            add_row(table, [row["screener"], *(_format_number(row[name]) for name in names)])
            continue
        for ending, word in (("low", "at least"), ("high", "at most")):
            cells = [_format_number(row[f"{name}_{ending}"]) for name in names]
            add_row(table, [f"{row['screener']}, {word}", *cells])
    terms = ", ".join(map(str, evaluation.truth.terms)) or "more than 64"
    share = f" ({first['share']:.3g} of all)" if first["features"] else ""
    head = [
        f"{first['correct']:,} of {first['features']:,} features are correct{share}: {meaning}",
        escape_control_chars(f"truth: {evaluation.truth.expression}; terms: {terms}"),
    ]
    reading = _explain_figures(names, evaluation.chance_average_precision)
    return Group(Text("\n".join(head)), Text(""), table, Text(""), Text(reading))


_COUNT_COLUMNS = {"screener", "features", "correct", "share"}


def _format_heading(name: str) -> str:
    return _HEADINGS.get(name, name.replace("recall_", "R@"))


def _format_number(value: object) -> str:
    number = float(str(value))
    return "-" if math.isnan(number) else f"{number:.4g}"


def _explain_figures(names: Sequence[str], random_baseline: float) -> str:
    words = {
        "average_precision": f"AP: average precision; 1 at best, {_format_number(random_baseline)} on average by chance.",
        "pr_auc": "PR-AUC: the same area by the trapezoid.",
        "roc_auc": "ROC-AUC: 0.5 for a random order.",
        "first_correct": "first: the rank of the first correct feature.",
    }
    lines = [words[name] for name in names if name in words]
    if any(name.startswith("recall_") for name in names):
        lines.append("R@K: the share of the correct features among the best K.")
    return " ".join(lines)
